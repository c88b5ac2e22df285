//! Finds variables that are used before they are declared, before anything of the batch runs, as SQL Server does.
//! It looks at tokens: the scope of a variable is the rest of the batch from its DECLARE on, whatever the blocks.

use std::collections::HashSet;

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::{Declaration, Execute, ExecuteWhat, InsertSource, Stmt, StmtKind};
use syntax::lexer::{Tok, tokenize_with};
use types::SqlError;

use super::BatchParam;
use catalog::fold_name;

/// Positions where an `@name` token is something else than the use of a variable, and where variables begin.
#[derive(Default)]
struct Places {
    /// (start, name) of declarations.
    declared: Vec<(u32, CompactString)>,
    /// Spans of modules: they have their own variables.
    modules: Vec<(u32, u32)>,
    /// Spans of EXEC with named arguments, and the names.
    arguments: Vec<(u32, u32, HashSet<CompactString>)>,
    /// Spans of statements whose INTO names no table.
    scalar_into: Vec<(u32, u32)>,
}

/// Words after which a variable is a table.
const TABLE_WORDS: [&str; 6] = ["FROM", "JOIN", "INTO", "UPDATE", "DELETE", "INSERT"];

/// 137 or 1087 for the first variable that is used before it exists.
pub fn check(
    text: &str,
    stmts: &[Stmt],
    params: &[BatchParam],
    settings: ParseSettings,
) -> Result<(), SqlError> {
    match undeclared(text, stmts, params, settings).into_iter().next() {
        None => Ok(()),
        Some(Use { shown, line, table }) => {
            let (number, kind) = if table { (1087, "table") } else { (137, "scalar") };
            let text = format!("Must declare the {kind} variable \"{shown}\".");
            Err(SqlError::new(number, 15, 2, text).at_line(line))
        }
    }
}

/// Where a variable is used that does not exist.
pub struct Use<'t> {
    /// As it is written there.
    pub shown: &'t str,
    pub line: u32,
    /// It stands for a table.
    pub table: bool,
}

/// All uses of variables before they are declared, in the order of the text.
pub fn undeclared<'t>(
    text: &'t str,
    stmts: &[Stmt],
    params: &[BatchParam],
    settings: ParseSettings,
) -> Vec<Use<'t>> {
    let mut uses = Vec::new();
    // Most texts need no second look at their tokens.
    if !text.contains('@') {
        return uses;
    }
    let tokens = tokenize_with(text, settings);
    if !tokens.list.iter().any(|t| matches!(t.kind, Tok::Variable)) {
        return uses;
    }
    let mut places = Places::default();
    places.block(stmts);
    let mut known: HashSet<CompactString> = params.iter().map(|(name, _)| fold_name(name)).collect();
    for (i, token) in tokens.list.iter().enumerate() {
        if !matches!(token.kind, Tok::Variable) {
            continue;
        }
        let name = fold_name(token.span.text(text));
        if name.starts_with("@@") {
            continue;
        }
        let at = token.span.start;
        if places.declared.iter().any(|(start, declared)| *start <= at && *declared == name) {
            known.insert(name.clone());
        }
        let next = tokens.list.get(i + 1).map(|t| t.span.text(text));
        if known.contains(&name) || places.is_other(at, &name, next) {
            continue;
        }
        let shown = token.span.text(text);
        let before = i.checked_sub(1).map_or("", |at| tokens.list[at].span.text(text));
        let table = TABLE_WORDS.iter().any(|word| before.eq_ignore_ascii_case(word))
            && !places.scalar_into.iter().any(|(start, end)| (*start..*end).contains(&at));
        uses.push(Use { shown, line: token.span.line, table });
    }
    uses
}

impl Places {
    fn is_other(&self, at: u32, name: &CompactString, next: Option<&str>) -> bool {
        let inside = |&(start, end): &(u32, u32)| start <= at && at < end;
        if self.modules.iter().any(inside) {
            return true;
        }
        next == Some("=")
            && self
                .arguments
                .iter()
                .any(|(start, end, names)| inside(&(*start, *end)) && names.contains(name))
    }

    fn block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let span = (stmt.span.start, stmt.span.end);
        match &stmt.kind {
            StmtKind::Declare(list) => {
                for item in list {
                    let (Declaration::Scalar { name, span, .. }
                    | Declaration::Table { name, span, .. }
                    | Declaration::Cursor { name, span }) = item;
                    self.declared.push((span.start, fold_name(name)));
                }
            }
            StmtKind::Fetch(_) | StmtKind::ExecuteAs { .. } => self.scalar_into.push(span),
            StmtKind::If { then, otherwise, .. } => {
                self.stmt(then);
                if let Some(otherwise) = otherwise {
                    self.stmt(otherwise);
                }
            }
            StmtKind::While { body, .. } => self.stmt(body),
            StmtKind::Block(body) => self.block(body),
            StmtKind::TryCatch { body, catch } => {
                self.block(body);
                self.block(catch);
            }
            StmtKind::Execute(execute) => self.execute(execute, span),
            StmtKind::Insert(insert) => {
                if let InsertSource::Execute(execute) = &insert.source {
                    self.execute(execute, span);
                }
            }
            StmtKind::CreateProcedure(_)
            | StmtKind::CreateFunction(_)
            | StmtKind::CreateTrigger(_)
            | StmtKind::CreateView(_) => self.modules.push(span),
            _ => {}
        }
    }

    fn execute(&mut self, execute: &Execute, (start, end): (u32, u32)) {
        let (ExecuteWhat::Procedure { args, .. }
        | ExecuteWhat::ProcedureVariable { args, .. }
        | ExecuteWhat::Text { args, .. }) = &execute.what;
        let names: HashSet<_> = args.iter().filter_map(|a| a.name.as_ref()).map(|n| fold_name(n)).collect();
        if !names.is_empty() {
            self.arguments.push((start, end, names));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::DataType;

    fn number(text: &str) -> Option<(i32, u32)> {
        let stmts = syntax::parse(text).unwrap();
        let params = [("@p".into(), Some(DataType::Int))];
        check(text, &stmts, &params, ParseSettings::default()).err().map(|e| (e.number, e.line))
    }

    #[test]
    fn uses_before_declaration() {
        assert_eq!(number("select @p"), None);
        assert_eq!(number("declare @a int = 1, @b int = @a\nselect @A + @b"), None);
        assert_eq!(number("select 1\nselect @a\ndeclare @a int"), Some((137, 2)));
        assert_eq!(number("while 1 = 0 begin declare @x int end set @x = 2"), None);
        assert_eq!(number("exec sp_x @name = 5, @other = @p"), None);
        assert_eq!(number("exec sp_x @name = @q"), Some((137, 1)));
        assert_eq!(number("print '@a'"), None);
    }
}

//! Finds variables that are used before they are declared, before anything of the batch runs, as
//! SQL Server does. It looks at tokens: the scope of a variable is the rest of the batch from its
//! DECLARE on, whatever the blocks. Guarantee: the time is that of the text (but for the logarithm
//! of the number of modules and calls in it).

use std::collections::{HashMap, HashSet};

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::{Declaration, Execute, ExecuteWhat, InsertSource, Stmt, StmtKind};
use syntax::lexer::{Tok, tokenize_while};
use types::{SqlError, msg};

use super::program::BatchParam;
use catalog::fold_name;
use session::asking::{Asking, GoOn};

/// Positions where an `@name` token is something else than the use of a variable, and where
/// variables begin.
#[derive(Default)]
struct Places {
    /// Where a name is declared first.
    declared: HashMap<CompactString, u32>,
    /// Spans of modules: they have their own variables.
    modules: Spans<()>,
    /// Spans of EXEC with named arguments, and the names.
    arguments: Spans<HashSet<CompactString>>,
    /// Spans of statements whose INTO names no table.
    scalar_into: Spans<()>,
}

/// Spans of statements of which none is within another one, in the order of the text.
struct Spans<T>(Vec<(u32, u32, T)>);

impl<T> Default for Spans<T> {
    fn default() -> Self {
        Spans(Vec::new())
    }
}

impl<T> Spans<T> {
    fn push(&mut self, (start, end): (u32, u32), with: T) {
        debug_assert!(self.0.last().is_none_or(|(_, before, _)| *before <= start), "in order");
        self.0.push((start, end, with));
    }

    /// What belongs to the span that has this place in it.
    fn at(&self, at: u32) -> Option<&T> {
        let behind = self.0.partition_point(|(start, ..)| *start <= at);
        let (_, end, with) = self.0[..behind].last()?;
        (at < *end).then_some(with)
    }
}

/// Words after which a variable is a table.
const TABLE_WORDS: [&str; 6] = ["FROM", "JOIN", "INTO", "UPDATE", "DELETE", "INSERT"];

/// 137 or 1087 for the first variable that is used before it exists; the errors of `go_on`.
pub fn check(
    text: &str,
    stmts: &[Stmt],
    params: &[BatchParam],
    settings: ParseSettings,
    go_on: GoOn<'_>,
) -> Result<(), SqlError> {
    match undeclared(text, stmts, params, settings, go_on)?.into_iter().next() {
        None => Ok(()),
        Some(Use { shown, line, table }) => {
            let message =
                if table { msg::UNDECLARED_TABLE_VARIABLE } else { msg::UNDECLARED_VARIABLE };
            Err(SqlError::of(message, [&shown]).at_line(line))
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
///
/// # Errors
/// Those of `go_on`, which is asked again and again.
pub fn undeclared<'t>(
    text: &'t str,
    stmts: &[Stmt],
    params: &[BatchParam],
    settings: ParseSettings,
    go_on: GoOn<'_>,
) -> Result<Vec<Use<'t>>, SqlError> {
    let mut uses = Vec::new();
    // Most texts need no second look at their tokens.
    if !text.contains('@') {
        return Ok(uses);
    }
    let asking = Asking::new(go_on);
    let Some(tokens) = tokenize_while(text, settings, &|| asking.wanted()) else {
        return Err(asking.failed());
    };
    if !tokens.list.iter().any(|t| matches!(t.kind, Tok::Variable)) {
        return Ok(uses);
    }
    let mut places = Places::default();
    places.block(stmts, &asking)?;
    let known: HashSet<CompactString> = params.iter().map(|(name, _)| fold_name(name)).collect();
    for (i, token) in tokens.list.iter().enumerate() {
        asking.step()?;
        if !matches!(token.kind, Tok::Variable) {
            continue;
        }
        let name = fold_name(token.span.text(text));
        if name.starts_with("@@") {
            continue;
        }
        let at = token.span.start;
        if places.declared.get(&name).is_some_and(|start| *start <= at) {
            continue;
        }
        let next = tokens.list.get(i + 1).map(|t| t.span.text(text));
        if known.contains(&name) || places.is_other(at, &name, next) {
            continue;
        }
        let shown = token.span.text(text);
        let before = i.checked_sub(1).map_or("", |at| tokens.list[at].span.text(text));
        let table = TABLE_WORDS.iter().any(|word| before.eq_ignore_ascii_case(word))
            && places.scalar_into.at(at).is_none();
        uses.push(Use { shown, line: token.span.line, table });
    }
    Ok(uses)
}

impl Places {
    fn is_other(&self, at: u32, name: &CompactString, next: Option<&str>) -> bool {
        self.modules.at(at).is_some()
            || next == Some("=") && self.arguments.at(at).is_some_and(|names| names.contains(name))
    }

    fn block(&mut self, stmts: &[Stmt], asking: &Asking<'_>) -> Result<(), SqlError> {
        stmts.iter().try_for_each(|stmt| self.stmt(stmt, asking))
    }

    fn stmt(&mut self, stmt: &Stmt, asking: &Asking<'_>) -> Result<(), SqlError> {
        asking.step()?;
        let span = (stmt.span.start, stmt.span.end);
        match &stmt.kind {
            StmtKind::Declare(list) => {
                for item in list {
                    let (Declaration::Scalar { name, span, .. }
                    | Declaration::Table { name, span, .. }
                    | Declaration::Cursor { name, span }) = item;
                    asking.step()?;
                    self.declared.entry(fold_name(name)).or_insert(span.start);
                }
            }
            StmtKind::Fetch(_) | StmtKind::ExecuteAs { .. } => self.scalar_into.push(span, ()),
            StmtKind::If { then, otherwise, .. } => {
                self.stmt(then, asking)?;
                if let Some(otherwise) = otherwise {
                    self.stmt(otherwise, asking)?;
                }
            }
            StmtKind::While { body, .. } => self.stmt(body, asking)?,
            StmtKind::Block(body) => self.block(body, asking)?,
            StmtKind::TryCatch { body, catch } => {
                self.block(body, asking)?;
                self.block(catch, asking)?;
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
            | StmtKind::CreateView(_) => self.modules.push(span, ()),
            _ => {}
        }
        Ok(())
    }

    fn execute(&mut self, execute: &Execute, span: (u32, u32)) {
        let (ExecuteWhat::Procedure { args, .. }
        | ExecuteWhat::ProcedureVariable { args, .. }
        | ExecuteWhat::Text { args, .. }) = &execute.what;
        let names: HashSet<_> =
            args.iter().filter_map(|a| a.name.as_ref()).map(|n| fold_name(n)).collect();
        if !names.is_empty() {
            self.arguments.push(span, names);
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
        check(text, &stmts, &params, ParseSettings::default(), &|| Ok(()))
            .err()
            .map(|e| (e.number, e.line))
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
        let calls = "exec sp_x @a = 1 exec sp_y @b = 2, @c = 3 if 1 = 1 exec sp_z @d = 4";
        assert_eq!(number(calls), None);
        assert_eq!(number(&format!("{calls}\nexec sp_y @b = 2, @e = @c")), Some((137, 2)));
        assert_eq!(
            number("declare @x int\ndeclare @y int set @y = @x\nset @z = 1"),
            Some((137, 3))
        );
    }

    #[test]
    fn a_check_that_is_cancelled_ends() {
        let text: String =
            (0..2_000).map(|i| format!("declare @v{i} int set @v{i} = 1 ")).collect();
        let stmts = syntax::parse(&text).unwrap();
        let asked = std::cell::Cell::new(0);
        let until = |last: usize| {
            asked.set(0);
            let go_on = || {
                asked.set(asked.get() + 1);
                if asked.get() < last { Ok(()) } else { Err(catalog::errors::cancelled()) }
            };
            check(&text, &stmts, &[], ParseSettings::default(), &go_on).err().map(|e| e.number)
        };
        assert_eq!(until(usize::MAX), None);
        let all = asked.get();
        assert!(all > 30, "{all}");
        for last in 1..=all {
            assert_eq!((until(last), asked.get()), (Some(3617), last));
        }
    }
}

//! What the statements of a function may be: nothing that anybody outside could notice.

use syntax::ast::{
    CreateFunction, Execute, ExecuteWhat, FunctionBody, InsertSource, Output, Stmt, StmtKind,
    Target,
};
use syntax::lexer::{Tok, tokenize};
use types::{SqlError, msg};

use catalog::fold_name;

/// Functions that give another value at each call.
const SIDE_EFFECTS: [&str; 3] = ["newid", "newsequentialid", "rand"];

/// Looks through the statements of a function.
///
/// # Errors
/// 443 a side effect, 444 a query for the client, 455 no RETURN at the end, 178 RETURN with a value
/// where there is none, 2772 a temporary table.
pub fn check(text: &str, function: &CreateFunction) -> Result<(), SqlError> {
    let (body, scalar) = match &function.body {
        FunctionBody::Scalar { body, .. } => (body, true),
        FunctionBody::Table { body, .. } => (body, false),
        FunctionBody::Inline(_) => return Ok(()),
    };
    body.iter()
        .try_for_each(|stmt| statement(stmt, scalar).map_err(|e| e.at_line(stmt.span.line)))?;
    if !body.last().is_some_and(ends_with_return) {
        return Err(SqlError::of(msg::FUNCTION_WITHOUT_RETURN, [])
            .at_line(body.last().map_or(1, |stmt| stmt.span.line)));
    }
    tokens(text)
}

/// Calls and names that no statement shows by itself.
fn tokens(text: &str) -> Result<(), SqlError> {
    let tokens = tokenize(text).list;
    for (at, token) in
        tokens.iter().enumerate().filter(|(_, t)| matches!(t.kind, Tok::Word | Tok::Quoted))
    {
        let word = fold_name(token.span.text(text));
        let called = tokens.get(at + 1).is_some_and(|next| next.kind == Tok::LParen);
        let qualified = at.checked_sub(1).is_some_and(|before| tokens[before].kind == Tok::Dot);
        if called && !qualified && SIDE_EFFECTS.contains(&word.as_str()) {
            return Err(side_effect(&word, 1).at_line(token.span.line));
        }
        if word.starts_with('#') || word.starts_with("[#") {
            return Err(SqlError::of(msg::TEMPORARY_TABLE_IN_FUNCTION, []).at_line(token.span.line));
        }
    }
    Ok(())
}

fn ends_with_return(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::Block(body) => body.last().is_some_and(ends_with_return),
        _ => false,
    }
}

fn statement(stmt: &Stmt, scalar: bool) -> Result<(), SqlError> {
    let all = |list: &[Stmt]| list.iter().try_for_each(|stmt| statement(stmt, scalar));
    match &stmt.kind {
        StmtKind::Block(body) => all(body),
        StmtKind::If { then, otherwise, .. } => {
            statement(then, scalar)?;
            otherwise.as_deref().map_or(Ok(()), |otherwise| statement(otherwise, scalar))
        }
        StmtKind::While { body, .. } => statement(body, scalar),
        StmtKind::Return(value) if !scalar && value.is_some() => {
            Err(SqlError::of(msg::RETURN_VALUE_NOT_ALLOWED, []))
        }
        StmtKind::Return(None) if scalar => {
            Err(SqlError::of(msg::FUNCTION_RETURN_WITHOUT_VALUE, []))
        }
        StmtKind::Return(_)
        | StmtKind::Declare(_)
        | StmtKind::SetVariable(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Goto(_)
        | StmtKind::Label(_)
        | StmtKind::DeclareCursor(_)
        | StmtKind::OpenCursor(_)
        | StmtKind::Fetch(_)
        | StmtKind::CloseCursor(_)
        | StmtKind::Deallocate(_) => Ok(()),
        StmtKind::Select(query) if query.body.first_select().into.is_some() => {
            Err(side_effect("SELECT INTO", 15))
        }
        StmtKind::Select(query) if assigns(query) => Ok(()),
        StmtKind::Select(_) => Err(SqlError::of(msg::SELECT_IN_FUNCTION, [])),
        StmtKind::Insert(insert) => {
            if let InsertSource::Execute(_) = insert.source {
                return Err(side_effect("INSERT EXEC", 14));
            }
            change("INSERT", &insert.target, &insert.output)
        }
        StmtKind::Update(update) => change("UPDATE", &update.target, &update.output),
        StmtKind::Delete(delete) => change("DELETE", &delete.target, &delete.output),
        StmtKind::Merge(merge) => change("MERGE", &merge.target, &merge.output),
        StmtKind::Execute(execute) => called(execute),
        other => Err(side_effect(word(other), 14)),
    }
}

/// A procedure may be called where the function is made: that it is none of the few that a function
/// may call is found when it runs.
fn called(execute: &Execute) -> Result<(), SqlError> {
    match execute.what {
        ExecuteWhat::Text { .. } => Err(side_effect("EXECUTE STRING", 14)),
        ExecuteWhat::Procedure { .. } | ExecuteWhat::ProcedureVariable { .. } => Ok(()),
    }
}

fn assigns(query: &syntax::ast::Query) -> bool {
    use syntax::ast::SelectItem;
    query.body.first_select().items.iter().any(|item| matches!(item, SelectItem::Assign { .. }))
}

/// A change is one of a table variable.
fn change(word: &str, target: &Target, output: &[Output]) -> Result<(), SqlError> {
    let own = |target: &Target| matches!(target, Target::Variable(_));
    if !own(target) {
        return Err(side_effect(word, 15));
    }
    match output.iter().find(|output| !output.into.as_ref().is_some_and(|into| own(&into.target))) {
        Some(output) if output.into.is_some() => Err(side_effect("OUTPUT INTO", 15)),
        Some(_) => Err(SqlError::of(msg::SELECT_IN_FUNCTION, []).state(3)),
        None => Ok(()),
    }
}

fn side_effect(what: &str, state: u8) -> SqlError {
    SqlError::of(msg::SIDE_EFFECT_IN_FUNCTION, [&what]).state(state)
}

/// As SQL Server names a statement that no function has.
fn word(kind: &StmtKind) -> &'static str {
    match kind {
        StmtKind::Print(_) => "PRINT",
        StmtKind::RaisError(_) => "RAISERROR",
        StmtKind::Throw(_) => "THROW",
        StmtKind::WaitFor(_) => "WAITFOR",
        StmtKind::TryCatch { .. } => "BEGIN TRY",
        StmtKind::SetOption(_) => "SET OPTION ON",
        StmtKind::BeginTransaction(_) => "BEGIN TRANSACTION",
        StmtKind::Commit(_) => "COMMIT TRANSACTION",
        StmtKind::Rollback(_) => "ROLLBACK TRANSACTION",
        StmtKind::SaveTransaction(_) => "SAVEPOINT",
        StmtKind::Use(_) => "USE DATABASE",
        StmtKind::Truncate(_) => "TRUNCATE TABLE",
        StmtKind::CreateTable(_) => "CREATE TABLE",
        StmtKind::AlterTable(_) => "ALTER TABLE",
        StmtKind::CreateIndex(_) => "CREATE INDEX",
        StmtKind::Drop(_) => "DROP OBJECT",
        StmtKind::DropIndex(_) => "DROP INDEX",
        StmtKind::ExecuteAs { .. } => "EXECUTE AS",
        StmtKind::Revert { .. } => "REVERT",
        StmtKind::BulkInsert(_) | StmtKind::InsertBulk(_) => "BULK INSERT",
        StmtKind::Command(command) => command.words,
        StmtKind::Dbcc(_) => "DBCC",
        _ => "STATEMENT",
    }
}

//! Parameters that a batch uses and nobody declares: which they are.
//! Guarantee: each is there once, in the order of the text.

use std::collections::HashSet;

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::{ObjectName, QueryBody, Stmt, StmtKind};
use types::SqlError;

use super::declared;
use super::program::BatchParam;
use catalog::fold_name;
use exec::asking::GoOn;

/// The parameters of a batch in the order in which they first stand in it.
///
/// # Errors
/// 11508 one that is used twice, 1087 one that stands for a table, 11526 a temporary table that the
/// batch makes; those of `go_on`.
pub fn names(
    text: &str,
    stmts: &[Stmt],
    params: &[BatchParam],
    settings: ParseSettings,
    go_on: GoOn<'_>,
) -> Result<Vec<CompactString>, SqlError> {
    if let Some(stmt) = stmts.iter().find_map(makes_temporary) {
        let shown = stmt.span.text(text);
        let text =
            format!("The metadata could not be determined because statement '{shown}' uses a temp table.");
        return Err(SqlError::new(11526, 16, 1, text).at_line(stmt.span.line));
    }
    let mut names: Vec<CompactString> = Vec::new();
    let mut seen = HashSet::new();
    for used in declared::undeclared(text, stmts, params, settings, go_on)? {
        if used.table {
            let text = format!("Must declare the table variable \"{}\".", used.shown);
            return Err(SqlError::new(1087, 15, 2, text).at_line(used.line));
        }
        if !seen.insert(fold_name(used.shown)) {
            let text = format!(
                "The undeclared parameter '{}' is used more than once in the batch being analyzed.",
                used.shown
            );
            return Err(SqlError::new(11508, 16, 1, text).at_line(used.line));
        }
        names.push(used.shown.into());
    }
    Ok(names)
}

/// The statement within this one that makes a temporary table.
fn makes_temporary(stmt: &Stmt) -> Option<&Stmt> {
    let temporary = |name: &ObjectName| name.name.value.starts_with('#');
    let into =
        |body: &QueryBody| body.first_select().into.as_ref().is_some_and(|into| temporary(&into.table));
    match &stmt.kind {
        StmtKind::CreateTable(table) => temporary(&table.name).then_some(stmt),
        StmtKind::Select(query) => into(&query.body).then_some(stmt),
        StmtKind::If { then, otherwise, .. } => {
            makes_temporary(then).or_else(|| otherwise.as_deref().and_then(makes_temporary))
        }
        StmtKind::While { body, .. } => makes_temporary(body),
        StmtKind::Block(body) => body.iter().find_map(makes_temporary),
        StmtKind::TryCatch { body, catch } => body.iter().chain(catch).find_map(makes_temporary),
        _ => None,
    }
}

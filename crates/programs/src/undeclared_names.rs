//! Parameters that a batch uses and nobody declares: which they are.
//! Guarantee: each is there once, in the order of the text.

use std::collections::HashSet;

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::{Stmt, StmtKind};
use syntax::lexer::{Tok, tokenize_while};
use types::{SqlError, msg};

use super::declared;
use super::program::BatchParam;
use catalog::fold_name;
use session::asking::{Asking, GoOn};

/// The parameters of a batch in the order in which they first stand in it.
///
/// # Errors
/// 11508 for one that is used twice, 1087 for one that stands for a table, 11526 for a temporary
/// table; those of `go_on`.
pub fn names(
    text: &str,
    stmts: &[Stmt],
    params: &[BatchParam],
    settings: ParseSettings,
    go_on: GoOn<'_>,
) -> Result<Vec<CompactString>, SqlError> {
    if let Some(stmt) = first_with_temporary(text, stmts, settings, go_on)? {
        let shown = stmt.span.text(text);
        return Err(SqlError::of(msg::METADATA_TEMPORARY_TABLE, [&shown]).at_line(stmt.span.line));
    }
    let mut names: Vec<CompactString> = Vec::new();
    let mut seen = HashSet::new();
    for used in declared::undeclared(text, stmts, params, settings, go_on)? {
        if used.table {
            return Err(
                SqlError::of(msg::UNDECLARED_TABLE_VARIABLE, [&used.shown]).at_line(used.line)
            );
        }
        if !seen.insert(fold_name(used.shown)) {
            return Err(SqlError::of(msg::PARAMETER_USED_TWICE, [&used.shown]).at_line(used.line));
        }
        names.push(used.shown.into());
    }
    Ok(names)
}

/// Reserved words before a name that is that of a procedure, or of a column of the result.
const NOT_TABLES: [&str; 5] = ["EXEC", "EXECUTE", "PROC", "PROCEDURE", "AS"];

/// The first statement that names a temporary table, one that there is or that it makes: SQL Server
/// describes none, and drivers have other ways then.
fn first_with_temporary<'s>(
    text: &str,
    stmts: &'s [Stmt],
    settings: ParseSettings,
    go_on: GoOn<'_>,
) -> Result<Option<&'s Stmt>, SqlError> {
    // Most texts need no look at their tokens.
    if !text.contains('#') {
        return Ok(None);
    }
    let asking = Asking::new(go_on);
    let Some(tokens) = tokenize_while(text, settings, &|| asking.wanted()) else {
        return Err(asking.failed());
    };
    let names_table = |at: usize| {
        let shown = tokens.list[at].span.text(text);
        let before = at.checked_sub(1).map(|before| &tokens.list[before]);
        let word =
            before.filter(|token| token.kind == Tok::Reserved).map(|token| token.span.text(text));
        let is_name = match tokens.list[at].kind {
            Tok::Word => shown.starts_with('#'),
            Tok::Quoted => shown.get(1..).is_some_and(|name| name.starts_with('#')),
            _ => false,
        };
        is_name
            && word
                .is_none_or(|word| !NOT_TABLES.iter().any(|other| other.eq_ignore_ascii_case(word)))
    };
    let places: Vec<u32> = (0..tokens.list.len())
        .filter(|at| names_table(*at))
        .map(|at| tokens.list[at].span.start)
        .collect();
    Ok(stmts.iter().find_map(|stmt| innermost(stmt, &places)))
}

/// The innermost statement of this one that has one of the places in it; `places` are in order.
fn innermost<'s>(stmt: &'s Stmt, places: &[u32]) -> Option<&'s Stmt> {
    let within = |from: u32, to: u32| {
        let first = places.partition_point(|place| *place < from);
        places.get(first).is_some_and(|place| *place < to)
    };
    if !within(stmt.span.start, stmt.span.end) {
        return None;
    }
    match &stmt.kind {
        // It is the name of a procedure.
        StmtKind::Execute(_) => None,
        StmtKind::If { then, otherwise, .. } => {
            if within(stmt.span.start, then.span.start) {
                return Some(stmt);
            }
            innermost(then, places)
                .or_else(|| otherwise.as_deref().and_then(|o| innermost(o, places)))
        }
        StmtKind::While { body, .. } => {
            if within(stmt.span.start, body.span.start) {
                Some(stmt)
            } else {
                innermost(body, places)
            }
        }
        StmtKind::Block(body) => body.iter().find_map(|stmt| innermost(stmt, places)),
        StmtKind::TryCatch { body, catch } => {
            body.iter().chain(catch).find_map(|stmt| innermost(stmt, places))
        }
        _ => Some(stmt),
    }
}

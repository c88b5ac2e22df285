//! The history of a system-versioned table: the rows that a change deletes, and those that it
//! changes as they were, go to the history table with the time of the transaction as the end of
//! their period. Guarantees: only the engine writes to a history (13559 to 13562); a transaction
//! that began before a row did cannot end it (13535).

use std::sync::Arc;

use super::key_test::KeyTest;
use super::keys::{Cascade, parse, query};
use super::{CompileCascade, TableChange};
use crate::values::full_name;
use bind::env::{CompileEnv, VarScope};
use bind::module::{CHANGED_ROWS, ChangedTable};
use bind::period::TIME;
use catalog::Catalog;
use catalog::names::quote;
use logical::rights::Chain;
use session::state::changes::Action;
use types::{SqlError, msg};

/// The steps that a history adds to a change.
pub struct History {
    pub writes: Cascade,
    pub test: KeyTest,
}

/// Refuses a change of a history by a statement of a user.
///
/// # Errors
/// 13559 to 13562.
pub fn check_no_history(env: &CompileEnv<'_>, change: &TableChange<'_>) -> Result<(), SqlError> {
    if !change.table.temporal.is_history() || env.chain == Chain::Trusted {
        return Ok(());
    }
    let message = match (change.verb, change.action) {
        ("MERGE", _) => msg::MERGE_INTO_HISTORY,
        (_, Action::Insert) => msg::INSERT_INTO_HISTORY,
        (_, Action::Delete) => msg::DELETE_FROM_HISTORY,
        (_, Action::Update) => msg::UPDATE_OF_HISTORY,
    };
    Err(SqlError::of(message, [&full_name(change.db, change.table)]))
}

/// The steps for a change of a versioned table, where it ends periods.
///
/// # Errors
/// Those of binding them.
pub fn compile(
    env: &CompileEnv<'_>,
    catalog: &Catalog,
    change: &TableChange<'_>,
    compile_cascade: CompileCascade,
) -> Result<Option<History>, SqlError> {
    let TableChange { db, table, action, .. } = change;
    let Some(history) = table.temporal.history().filter(|_| *action != Action::Insert) else {
        return Ok(None);
    };
    let lost = || SqlError::internal("a table has lost its history");
    let history = catalog.by_id.get(&history).ok_or_else(lost)?;
    let (start, end) = table.period().ok_or_else(lost)?;
    let vars = VarScope::new();
    let changes = ChangedTable {
        table: Arc::clone(table),
        deleted: true,
        inserted: *action == Action::Update,
        instead_of: None,
        rows: CHANGED_ROWS,
    };
    let env = &CompileEnv { vars: &vars, values: &[], changes: Some(changes), ..env.clone() };
    let names: Vec<String> = table.columns.iter().map(|c| quote(&c.name)).collect();
    let time = quote(TIME);
    let mut values = names.clone();
    values[end].clone_from(&time);
    let text = format!(
        "INSERT INTO {}.{}.{} ({}) SELECT {} FROM deleted",
        quote(&db.name()),
        quote(&history.schema),
        quote(&history.name),
        names.join(", "),
        values.join(", ")
    );
    let writes = Cascade::new(compile_cascade(&parse(&text)?, env)?);
    let broken =
        query(&format!("SELECT TOP (1) 1 AS x FROM deleted WHERE {} > {time}", names[start]), env)?;
    Ok(Some(History {
        writes,
        test: KeyTest::new(
            broken,
            SqlError::of(msg::VERSIONED_CHANGE_TOO_EARLY, [&full_name(db, table)]),
        ),
    }))
}

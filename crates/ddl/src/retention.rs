//! HISTORY_RETENTION_PERIOD: rows of a history go whose period ended longer ago. It is DML as any
//! other, so it is logged, and locks as it does.

use std::sync::Arc;

use catalog::names::quote;
use catalog::temporal::{Retention, Temporal};
use catalog::{Db, TableDef};
use dml::compile_dml;
use exec::operators::context::ExecCtx;
use session::state::SessionCore;
use types::{SqlError, Value};

use super::own_queries::with_env;
use super::versioned::history_of;

/// Rows of one transaction in the background.
const PIECE: u64 = 4096;

/// The versioned tables of a database whose histories are not kept for ever.
pub fn tables(db: &Db) -> Vec<Arc<TableDef>> {
    let limited = |table: &&Arc<TableDef>| {
        matches!(table.temporal, Temporal::Current { retention: Some(_), .. })
    };
    db.catalog().by_id.values().filter(limited).cloned().collect()
}

/// Deletes what is too old in the history of a table, as a part of the running statement; at most
/// so many rows. Returns how many they were.
///
/// # Errors
/// Those of the change.
pub fn delete(
    core: &mut SessionCore,
    db: &Arc<Db>,
    table: &TableDef,
    most: Option<u64>,
) -> Result<u64, SqlError> {
    let Temporal::Current { retention: Some(Retention { count, unit }), .. } = table.temporal
    else {
        return Ok(0);
    };
    let (Some(history), Some((_, end))) = (history_of(db, table), table.period()) else {
        return Ok(0);
    };
    let text = format!(
        "DELETE {} FROM {}.{}.{} WHERE {} < DATEADD({}, -{count}, SYSUTCDATETIME())",
        most.map_or(String::new(), |most| format!("TOP ({most})")),
        quote(&db.name()),
        quote(&history.schema),
        quote(&history.name),
        quote(&table.columns[end].name),
        unit.word(),
    );
    let stmts = syntax::parse(&text).map_err(catalog::errors::syntax_error)?;
    let stmt = stmts.first().ok_or_else(|| SqlError::internal("a change is no statement"))?;
    let plan = with_env(core, db, |env, _| compile_dml(stmt, env))?;
    let rowcount = std::mem::take(&mut core.options.rowcount);
    let mut ignored: Vec<Vec<Value>> = Vec::new();
    let result = plan.run(&mut ExecCtx { session: core, vars: &mut [] }, &mut ignored, None);
    core.options.rowcount = rowcount;
    result
}

/// Deletes what is too old in the histories of a database, in transactions of their own. One that
/// fails keeps no other from its turn.
///
/// # Errors
/// The first of those of the changes; a cancel.
pub fn clean(core: &mut SessionCore, db: &Arc<Db>) -> Result<(), SqlError> {
    let mut first = Ok(());
    for table in tables(db) {
        core.check_cancel()?;
        first = first.and(clean_table(core, db, &table));
    }
    first
}

fn clean_table(core: &mut SessionCore, db: &Arc<Db>, table: &TableDef) -> Result<(), SqlError> {
    loop {
        core.check_cancel()?;
        core.begin_statement(false)?;
        let result = delete(core, db, table, Some(PIECE));
        if core.end_statement(result)? < PIECE {
            return Ok(());
        }
    }
}

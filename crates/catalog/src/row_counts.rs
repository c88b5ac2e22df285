//! Row counts that survive a stop: noted when a database is closed, read when it is opened, kept up by the changes in between. After
//! a crash they are those of the last clean stop and what has changed since the start: good enough to estimate with, never shown
//! as a count.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use txn::Durability;
use types::{SqlError, Value};

use crate::store::StoreError;
use crate::systables::SysTable;
use crate::{Db, TableDef, errors};

/// `TableState::rows` of a table that has not been counted: so far below zero that changes cannot bring it above.
pub const UNKNOWN: i64 = i64::MIN / 2;

/// Rows of a table as far as can be told without counting them; `None` when nothing is known.
#[inline]
pub fn estimate(table: &TableDef) -> Option<i64> {
    let rows = table.state.rows.load(Ordering::Relaxed);
    if rows >= 0 {
        return Some(rows);
    }
    let noted = table.state.noted.load(Ordering::Relaxed);
    (noted >= 0).then(|| (noted + (rows - UNKNOWN)).max(0))
}

/// Notes the counts that have changed since they were last noted. The database is being closed.
///
/// # Errors
/// What the log says.
pub fn note(db: &Arc<Db>) -> Result<(), SqlError> {
    let open = db.open()?;
    let catalog = db.catalog();
    let changed = catalog.by_id.values().filter_map(|table| {
        let rows = estimate(table)?;
        (table.state.noted.load(Ordering::Relaxed) != rows).then_some((table, rows))
    });
    let changed: Vec<_> = changed.collect();
    if changed.is_empty() {
        return Ok(());
    }
    let run = || -> Result<(), StoreError> {
        let mut txn = open.storage.begin(0)?;
        for (table, rows) in &changed {
            let row = [Value::Int(table.object_id), Value::BigInt(*rows)];
            open.trees.put(&mut txn, SysTable::RowCounts, &row)?;
        }
        txn.commit(Durability::Delayed)?;
        Ok(())
    };
    run().map_err(|e| errors::store_error(db, e))?;
    changed.iter().for_each(|(table, rows)| table.state.noted.store(*rows, Ordering::Relaxed));
    Ok(())
}

//! What is written when a database is closed, so that the next start knows it: counts of rows,
//! statistics of columns. All of it can be found out again: where it cannot be written, nothing is
//! lost but time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use txn::Durability;
use types::{SqlError, Value};

use crate::row_counts::estimate;
use crate::statistics::{self, Statistics, StatisticsOrigin, store};
use crate::store::StoreError;
use crate::systables::SysTable;
use crate::{Db, errors};

/// Notes the counts that have changed since they were last noted. The database is being closed.
///
/// # Errors
/// What the log says.
pub fn note_rows(db: &Arc<Db>) -> Result<(), SqlError> {
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

/// Writes what was measured since the last time. The database is being closed.
///
/// # Errors
/// What the log says.
pub fn note_statistics(db: &Arc<Db>) -> Result<(), SqlError> {
    let open = db.open()?;
    let catalog = db.catalog();
    let changed: Vec<_> =
        catalog.by_id.values().filter(|t| t.state.statistics.take_unwritten()).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let run = || -> Result<(), StoreError> {
        let mut txn = open.storage.begin(0)?;
        for table in &changed {
            store::delete(&open.trees, &mut txn, table.object_id, None)?;
            let wanted =
                |s: &Arc<Statistics>| s.measured.is_some() || s.origin == StatisticsOrigin::User;
            for statistics in statistics::all(table).into_iter().filter(wanted) {
                store::write(&open.trees, &mut txn, table, &statistics)?;
            }
        }
        txn.commit(Durability::Delayed)?;
        Ok(())
    };
    run().map_err(|e| errors::store_error(db, e))
}

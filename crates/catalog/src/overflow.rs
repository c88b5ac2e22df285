//! Tables of databases that an earlier version made get the unit for values that do not fit their
//! rows when the database is opened.
//! Guarantee: a crash in between leaves a table with its unit or without it, and no unit without a
//! table. Where there is no room a table stays as it is, and a row of it that does not fit is error
//! 511 as it was.

use std::sync::Arc;

use txn::{Database, Durability, ErrorKind, TxnError};

use crate::change::UnitRef;
use crate::counters::Counters;
use crate::load::overflow_row;
use crate::store::{StoreError, SysTrees};
use crate::systables::SysTable;
use crate::{Catalog, TableDef, pending};

/// Gives every table of the catalog that may need it its unit; whether there was one. The
/// definitions are to be loaded again then.
///
/// # Errors
/// I/O and the log's errors.
pub fn add_units(
    storage: &Arc<Database>,
    trees: &SysTrees,
    counters: &Counters,
    catalog: &Catalog,
) -> Result<bool, StoreError> {
    let mut added = false;
    for table in catalog.by_id.values().filter(|t| t.overflow.is_none() && t.may_overflow()) {
        match add_unit(storage, trees, counters, table) {
            Ok(()) => added = true,
            Err(StoreError::Txn(e)) if is_full(&e) => break,
            Err(e) => return Err(e),
        }
    }
    Ok(added)
}

fn is_full(e: &TxnError) -> bool {
    matches!(e.kind(), ErrorKind::FilegroupFull | ErrorKind::LogFull | ErrorKind::DiskFull)
}

fn add_unit(
    storage: &Arc<Database>,
    trees: &SysTrees,
    counters: &Counters,
    table: &TableDef,
) -> Result<(), StoreError> {
    let filegroup = table.storage.filegroup;
    let reserved = storage.reserve_unit(filegroup)?;
    let id = counters.next_unit(storage, trees)?;
    let unit = UnitRef { unit: id, first_iam: reserved.first_iam(), filegroup };
    pending::list_created(storage, trees, &unit)?;
    storage.make_unit(id, reserved)?;
    let mut txn = storage.begin(0)?;
    pending::keep(&mut txn, trees, &unit)?;
    trees.put(&mut txn, SysTable::Indexes, &overflow_row(table, id, unit.first_iam))?;
    txn.commit(Durability::Full)?;
    Ok(())
}

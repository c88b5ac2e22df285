//! Storage that is to be freed: the table of pending drops, and the work that empties it.
//!
//! A unit is listed there before it is made, in a transaction of its own; the transaction that
//! creates it takes it off the list. A rollback or a crash puts it back, so nothing leaks. A unit
//! that is dropped is put on the list by the transaction that drops it. Whatever is on the list
//! when a database is opened is freed. tempdb has no list: it is made again at each start, and
//! nobody opens what a crash has left.

use std::sync::Arc;

use access::ReadMode;
use pages::{PageId, UnitId};
use txn::{Database, Durability, Txn};
use types::Value;

use super::store::{StoreError, SysTrees};
use super::systables::SysTable;
use crate::OverflowUnit;
use crate::index_row::forget_place;

/// An allocation unit that a statement created or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitRef {
    pub unit: UnitId,
    pub first_iam: PageId,
    pub filegroup: u16,
}

impl UnitRef {
    /// A unit of values that do not fit their rows, once it is made.
    pub fn of(unit: &OverflowUnit) -> Option<UnitRef> {
        let made =
            |first_iam| UnitRef { unit: unit.unit(), first_iam, filegroup: unit.filegroup() };
        unit.first_iam().map(made)
    }
}

fn row(unit: &UnitRef) -> [Value; 4] {
    [
        Value::BigInt(unit.unit.0.into()),
        Value::Int(unit.first_iam.file.into()),
        Value::BigInt(unit.first_iam.page.into()),
        Value::SmallInt(unit.filegroup as i16),
    ]
}

/// Lists a unit that is about to be made, at once and whatever becomes of the caller's transaction.
/// Freeing one that was not made after all does nothing.
pub fn list_created(
    storage: &Arc<Database>,
    trees: &SysTrees,
    unit: &UnitRef,
) -> Result<(), StoreError> {
    if storage.env().scratch {
        return Ok(());
    }
    let mut txn = storage.begin(0)?;
    trees.put(&mut txn, SysTable::PendingDrops, &row(unit))?;
    // The unit is made by a record after this commit, so it need not be durable first.
    txn.commit(Durability::Delayed)?;
    Ok(())
}

/// The transaction keeps the unit: it leaves the list when the transaction commits.
pub fn keep(txn: &mut Txn, trees: &SysTrees, unit: &UnitRef) -> Result<(), StoreError> {
    if txn.database().env().scratch {
        return Ok(txn.begin_writing()?);
    }
    trees.delete(txn, SysTable::PendingDrops, &row(unit)).map(drop)
}

/// The transaction drops the unit: it goes on the list when the transaction commits.
pub fn list_dropped(txn: &mut Txn, trees: &SysTrees, unit: &UnitRef) -> Result<(), StoreError> {
    if txn.database().env().scratch {
        return Ok(txn.begin_writing()?);
    }
    trees.put(txn, SysTable::PendingDrops, &row(unit))
}

/// Units on the list. Only right when no transaction is changing it: while the database is being
/// opened.
pub fn listed(trees: &SysTrees) -> Result<Vec<UnitRef>, StoreError> {
    let rows = trees.rows(SysTable::PendingDrops, &[], ReadMode::Dirty)?;
    let number = |v: &Value| v.as_i64().unwrap_or(0);
    Ok(rows
        .iter()
        .map(|row| UnitRef {
            unit: UnitId(number(&row[0]) as u32),
            first_iam: PageId { file: number(&row[1]) as u16, page: number(&row[2]) as u32 },
            filegroup: number(&row[3]) as u16,
        })
        .collect())
}

/// Frees a unit and takes it off the list.
pub fn free(storage: &Arc<Database>, trees: &SysTrees, unit: &UnitRef) -> Result<(), StoreError> {
    let _work = storage.background_work();
    storage.free_unit(unit.unit, unit.first_iam)?;
    if storage.env().scratch {
        return Ok(());
    }
    let mut txn = storage.begin(0)?;
    trees.delete(&mut txn, SysTable::PendingDrops, &row(unit))?;
    forget_place(&mut txn, trees, unit.unit)?;
    txn.commit(Durability::Delayed)?;
    Ok(())
}

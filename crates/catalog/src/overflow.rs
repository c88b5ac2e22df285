//! The units of values that do not fit their rows. A table that may have such values gets a number
//! for its unit when it is made or changed so; the unit itself is made when the first value comes.
//!
//! It is made, and its place noted (`index_row.rs`), in a transaction of its own: others write
//! to it whatever becomes of the transaction that was the first, and that one may have the rows of
//! the table's definition. A change of the definition writes the place into it, too; the note stays
//! until the unit is freed.
//!
//! Guarantee: a unit that is made has its note or is on the list of pending drops; one of a table
//! that was never committed is freed by the rollback, after a crash when the database is opened.

use std::collections::HashSet;
use std::sync::Arc;

use pages::{PageId, UnitId};
use txn::{Database, Durability};

use crate::db::OpenStorage;
use crate::index_row::{NotedUnit, note_place, noted_units};
use crate::pending::UnitRef;
use crate::store::{StoreError, SysTrees};
use crate::{Catalog, OverflowUnit, pending};

/// Makes a unit, unless it is made. No rollback takes it back, and none needs to.
///
/// # Errors
/// No room in the filegroup; I/O and the log's errors. There is no unit then; or it waits, on the
/// list of pending drops, for the next call to note it: its number is not used twice.
pub fn make(open: &OpenStorage, unit: &OverflowUnit) -> Result<(), StoreError> {
    let (storage, trees) = (&open.storage, &open.trees);
    let at = |first_iam| UnitRef { unit: unit.unit(), first_iam, filegroup: unit.filegroup() };
    let make = || -> Result<PageId, StoreError> {
        let reserved = storage.reserve_unit(unit.filegroup())?;
        let first_iam = reserved.first_iam();
        pending::list_created(storage, trees, &at(first_iam))?;
        storage.make_unit(unit.unit(), reserved)?;
        Ok(first_iam)
    };
    unit.make_once(make, |first_iam| keep(storage, trees, &at(first_iam)))
}

/// Takes a unit off the list of pending drops and notes where it begins.
fn keep(storage: &Arc<Database>, trees: &SysTrees, made: &UnitRef) -> Result<(), StoreError> {
    if storage.env().scratch {
        return Ok(());
    }
    let mut txn = storage.begin(0)?;
    pending::keep(&mut txn, trees, made)?;
    let UnitRef { unit, first_iam, filegroup } = *made;
    note_place(&mut txn, trees, NotedUnit { unit, first_iam, filegroup })?;
    // What is in the unit is logged after this commit, so it need not be durable first.
    txn.commit(Durability::Delayed)?;
    Ok(())
}

/// Units whose places are noted and that no table of the catalog has: the transactions of their
/// tables were rolled back a moment ago, or a crash has ended them. One that is dropped is also on
/// the list of pending drops.
///
/// # Errors
/// I/O and damage.
pub fn lost_units(trees: &SysTrees, catalog: &Catalog) -> Result<Vec<UnitRef>, StoreError> {
    let noted = noted_units(trees)?;
    if noted.is_empty() {
        return Ok(Vec::new());
    }
    let units = catalog.by_id.values().filter_map(|table| table.overflow.as_ref());
    let named: HashSet<UnitId> = units.map(OverflowUnit::unit).collect();
    let lost = noted.into_iter().filter(|noted| !named.contains(&noted.unit));
    Ok(lost
        .map(|NotedUnit { unit, first_iam, filegroup }| UnitRef { unit, first_iam, filegroup })
        .collect())
}

/// Frees them. Nobody is making or dropping a table.
///
/// # Errors
/// I/O and the log's errors.
pub fn free_lost(
    storage: &Arc<Database>,
    trees: &SysTrees,
    catalog: &Catalog,
) -> Result<(), StoreError> {
    for unit in lost_units(trees, catalog)? {
        pending::free(storage, trees, &unit)?;
    }
    Ok(())
}

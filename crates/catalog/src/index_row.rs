//! Rows of the system table of indexes: of indexes and heaps, of units for values that do not fit
//! their rows, and of the places of such units.
//!
//! Where a unit of values that do not fit begins is no part of its table's definition: it is noted
//! when the unit is made, whatever becomes of the definition, under the unit's number, half of
//! which stands below 0 in the place of an object_id.

use std::collections::HashMap;

use access::ReadMode;
use pages::{PageId, UnitId};
use txn::Txn;
use types::Value;

use crate::rows::{bigint, damaged, page_id};
use crate::store::{StoreError, SysTrees};
use crate::systables::SysTable;
use crate::{IndexDef, OVERFLOW_INDEX_ID, OVERFLOW_PLACE_ID, TableDef};

/// The row of an index or heap of a table.
pub(crate) fn index_row(object_id: i32, index: &IndexDef) -> Vec<Value> {
    let constraint = index.primary_key.or(index.unique_constraint);
    let name = if index.name.is_empty() { Value::Null } else { Value::str(&index.name) };
    vec![
        Value::Int(object_id),
        Value::Int(index.index_id),
        name,
        Value::BigInt(index.unit.0.into()),
        Value::Int(index.first_iam.file.into()),
        Value::BigInt(index.first_iam.page.into()),
        Value::Int(index.root.file.into()),
        Value::BigInt(index.root.page.into()),
        Value::Bit(index.unique),
        constraint.map_or(Value::Null, Value::Int),
        Value::TinyInt(index.fill_factor),
        Value::SmallInt(index.filegroup as i16),
        Value::Int(index.options.bits()),
        index.filter.as_ref().map_or(Value::Null, |filter| Value::Int(filter.object_id)),
    ]
}

/// The row that names a table's unit of values that do not fit their rows; without a page where it
/// is still to be made.
pub(crate) fn overflow_row(table: &TableDef, unit: UnitId, first_iam: PageId) -> Vec<Value> {
    let heap = IndexDef::heap(unit, first_iam, table.storage.filegroup);
    index_row(table.object_id, &IndexDef { index_id: OVERFLOW_INDEX_ID, ..heap })
}

/// A unit of values that do not fit, as it is noted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotedUnit {
    pub unit: UnitId,
    pub first_iam: PageId,
    pub filegroup: u16,
}

/// Notes where a unit begins.
pub(crate) fn note_place(
    txn: &mut Txn,
    trees: &SysTrees,
    noted: NotedUnit,
) -> Result<(), StoreError> {
    let heap = IndexDef::heap(noted.unit, noted.first_iam, noted.filegroup);
    let (key, index_id) = key_of(noted.unit);
    let row = index_row(key, &IndexDef { index_id, ..heap });
    trees.put(txn, SysTable::Indexes, &row)
}

/// Forgets where a unit begins that is no more, if it was noted.
pub(crate) fn forget_place(
    txn: &mut Txn,
    trees: &SysTrees,
    unit: UnitId,
) -> Result<(), StoreError> {
    let (key, index_id) = key_of(unit);
    trees.delete(txn, SysTable::Indexes, &[Value::Int(key), Value::Int(index_id)]).map(drop)
}

/// What stands for a unit in the places of an object_id and an index_id: no object has a number
/// below 0, and two units share one there.
fn key_of(unit: UnitId) -> (i32, i32) {
    let (pair, second) = ((unit.0 / 2) as i32, (unit.0 % 2) as i32);
    (-1 - pair, OVERFLOW_PLACE_ID - second)
}

fn noted(row: &[Value]) -> Result<NotedUnit, StoreError> {
    let unit = u32::try_from(bigint(row, 3)?).map_err(|_| damaged("unit", 0))?;
    let filegroup = u16::try_from(bigint(row, 11)?).map_err(|_| damaged("filegroup", 0))?;
    Ok(NotedUnit { unit: UnitId(unit), first_iam: page_id(row, 4)?, filegroup })
}

/// Takes the places of units out of the rows of the table, which come by their first column.
pub(crate) fn take_places(
    rows: &mut HashMap<i32, Vec<Vec<Value>>>,
) -> Result<HashMap<UnitId, PageId>, StoreError> {
    let keys: Vec<i32> = rows.keys().copied().filter(|key| *key < 0).collect();
    let mut places = HashMap::new();
    for row in keys.iter().filter_map(|key| rows.remove(key)).flatten() {
        let noted = noted(&row)?;
        places.insert(noted.unit, noted.first_iam);
    }
    Ok(places)
}

/// All units whose places are noted.
pub(crate) fn noted_units(trees: &SysTrees) -> Result<Vec<NotedUnit>, StoreError> {
    let rows = trees.rows_below(SysTable::Indexes, &[Value::Int(0)], ReadMode::Dirty)?;
    rows.iter().map(|row| noted(row)).collect()
}

/// The numbers of all units of values that do not fit, made or not.
pub(crate) fn overflow_numbers(trees: &SysTrees) -> Result<Vec<u32>, StoreError> {
    let rows = trees.rows(SysTable::Indexes, &[], ReadMode::Dirty)?;
    let of_units =
        rows.iter().filter(|row| row.get(1).and_then(Value::as_i64).is_some_and(|id| id < 0));
    Ok(of_units.filter_map(|row| u32::try_from(bigint(row, 3).ok()?).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All numbers of units have places of their own, which no object has.
    #[test]
    fn every_number_has_its_own_place() {
        let numbers =
            [0, 1, 2, 3, 100, 101, i32::MAX as u32, i32::MAX as u32 + 1, u32::MAX - 1, u32::MAX];
        let keys: std::collections::HashSet<(i32, i32)> =
            numbers.iter().map(|number| key_of(UnitId(*number))).collect();
        assert_eq!(keys.len(), numbers.len());
        assert!(keys.iter().all(|(key, index_id)| *key < 0 && *index_id <= OVERFLOW_PLACE_ID));
    }
}

//! Numbers that are never given twice: ids of objects and alias types, and row versions; and those
//! of allocation units, which are never given to two units at a time. They are reserved in blocks
//! in a system table, so that a crash skips some and repeats none.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use access::ReadMode;
use pages::{TxnId, UnitId};
use parking_lot::Mutex;
use txn::{Database, Durability};
use types::Value;

use crate::index_row::overflow_numbers;
use crate::store::{StoreError, SysTrees};
use crate::systables::{
    COUNTER_OBJECTS, COUNTER_ROW_VERSIONS, COUNTER_TYPES, COUNTER_UNITS, FIRST_USER_UNIT, SysTable,
};

/// Numbers reserved at a time.
const BLOCK: i64 = 64;
/// Row versions reserved at a time.
const ROW_VERSIONS: i64 = 4096;
/// The first one, as in SQL Server's new databases.
const FIRST_ROW_VERSION: i64 = 2001;
/// Transactions with row versions that are kept before those that have ended are looked for.
const KEPT_TXNS: usize = 64;
/// object_ids look like SQL Server's: a step through all positive numbers.
const FIRST_OBJECT_ID: i64 = 245_575_913;
const OBJECT_ID_STEP: i64 = 16_000_057;
const OBJECT_IDS: i64 = i32::MAX as i64;
/// user_type_ids of alias types begin above sysname's: old views show them as smallint.
const FIRST_TYPE_ID: i64 = 257;

#[derive(Debug, Default, Clone, Copy)]
struct Counter {
    next: i64,
    reserved: i64,
}

/// The counters of an open database.
#[derive(Debug, Default)]
pub struct Counters {
    units: Mutex<UnitNumbers>,
    objects: Mutex<Counter>,
    types: Mutex<Counter>,
    row_versions: Mutex<RowVersions>,
}

/// Numbers of allocation units have 32 bits, and at a thousand temporary tables per second they
/// last for days. The counter goes on; the numbers come in rounds. From the second round on those
/// of units that are there, or still to be freed, are left out.
///
/// All that names a unit by its number is gone four billion units later (queues of background work,
/// locks, records of transactions that run), but for the unit itself and the list of pending drops.
#[derive(Debug, Default)]
struct UnitNumbers {
    counter: Counter,
    /// Numbers that nothing has, as far as they are known.
    free: Range<u32>,
}

/// Numbers of a round.
const ROUND: i64 = u32::MAX as i64 - FIRST_USER_UNIT;

/// The unit's number that a value of the counter stands for.
fn number_of(n: i64) -> u32 {
    let number = FIRST_USER_UNIT + (n - FIRST_USER_UNIT) % ROUND;
    u32::try_from(number).unwrap_or(FIRST_USER_UNIT as u32)
}

/// The first numbers from there on that are not in use; empty at the end of the round.
fn gap_from(used: &BTreeSet<u32>, from: u32) -> Range<u32> {
    let mut start = from;
    while start < u32::MAX && used.contains(&start) {
        start += 1;
    }
    start..used.range(start..).next().copied().unwrap_or(u32::MAX)
}

/// Row versions and the transactions that have them.
#[derive(Debug, Default)]
struct RowVersions {
    counter: Counter,
    /// The first one of each transaction that may still be running.
    first: HashMap<TxnId, i64>,
}

impl Counters {
    /// As the system table says.
    pub fn load(trees: &SysTrees) -> Result<Counters, StoreError> {
        let counters = Counters::default();
        counters.units.lock().counter =
            Counter { next: FIRST_USER_UNIT, reserved: FIRST_USER_UNIT };
        *counters.types.lock() = Counter { next: FIRST_TYPE_ID, reserved: FIRST_TYPE_ID };
        counters.row_versions.lock().counter =
            Counter { next: FIRST_ROW_VERSION, reserved: FIRST_ROW_VERSION };
        for row in trees.rows(SysTable::Counters, &[], ReadMode::Dirty)? {
            let value = row[1].as_i64().unwrap_or(0);
            let counter = Counter { next: value, reserved: value };
            match row[0].as_i64() {
                Some(id) if id == i64::from(COUNTER_UNITS) => {
                    counters.units.lock().counter = counter
                }
                Some(id) if id == i64::from(COUNTER_OBJECTS) => *counters.objects.lock() = counter,
                Some(id) if id == i64::from(COUNTER_TYPES) => *counters.types.lock() = counter,
                Some(id) if id == i64::from(COUNTER_ROW_VERSIONS) => {
                    counters.row_versions.lock().counter = counter;
                }
                _ => {}
            }
        }
        Ok(counters)
    }

    /// A new allocation unit's number.
    pub fn next_unit(
        &self,
        storage: &Arc<Database>,
        trees: &SysTrees,
    ) -> Result<UnitId, StoreError> {
        let mut units = self.units.lock();
        loop {
            let n = next(&mut units.counter, COUNTER_UNITS, storage, trees)?;
            let number = number_of(n);
            if n < FIRST_USER_UNIT + ROUND || units.free.contains(&number) {
                return Ok(UnitId(number));
            }
            let mut used = storage.store().units_in_use().map_err(txn::TxnError::from)?;
            used.extend(crate::pending::listed(trees)?.iter().map(|unit| unit.unit.0));
            used.extend(overflow_numbers(trees)?);
            units.free = gap_from(&used, number);
            // The value that stands for the first free number, or for the first of the next round.
            units.counter.next = n + i64::from(units.free.start - number);
        }
    }

    /// A new object_id.
    pub fn next_object(
        &self,
        storage: &Arc<Database>,
        trees: &SysTrees,
    ) -> Result<i32, StoreError> {
        let n = next(&mut self.objects.lock(), COUNTER_OBJECTS, storage, trees)?;
        let id = (FIRST_OBJECT_ID + n * OBJECT_ID_STEP) % OBJECT_IDS;
        // 0 is no object, and small numbers are the schemas'.
        Ok(i32::try_from(id.max(100)).unwrap_or(100))
    }

    /// A new alias type's user_type_id.
    pub fn next_type(&self, storage: &Arc<Database>, trees: &SysTrees) -> Result<i32, StoreError> {
        let n = next(&mut self.types.lock(), COUNTER_TYPES, storage, trees)?;
        i32::try_from(n)
            .map_err(|_| StoreError::Sql(types::SqlError::internal("numbers of types are used up")))
    }

    /// The first of `count` new row versions for a transaction.
    pub(crate) fn next_row_versions(
        &self,
        txn: TxnId,
        count: i64,
        storage: &Arc<Database>,
        trees: &SysTrees,
    ) -> Result<i64, StoreError> {
        let mut versions = self.row_versions.lock();
        let needed = versions.counter.next.saturating_add(count);
        if needed > versions.counter.reserved {
            // Values may be seen (OUTPUT, @@DBTS) before anything that uses them is durable.
            let reserved = needed.saturating_add(ROW_VERSIONS);
            reserve(
                &mut versions.counter,
                COUNTER_ROW_VERSIONS,
                reserved,
                Durability::Full,
                storage,
                trees,
            )?;
        }
        let first = versions.counter.next;
        versions.counter.next = needed;
        if versions.first.len() >= KEPT_TXNS {
            versions.first.retain(|txn, _| storage.txns().is_active(*txn));
        }
        versions.first.entry(txn).or_insert(first);
        Ok(first)
    }

    /// The row version that was given last.
    pub(crate) fn last_row_version(&self) -> i64 {
        self.row_versions.lock().counter.next - 1
    }

    /// The first row version of a transaction that is running, or the next one when none has any.
    pub(crate) fn min_active_row_version(&self, storage: &Arc<Database>) -> i64 {
        let mut versions = self.row_versions.lock();
        versions.first.retain(|txn, _| storage.txns().is_active(*txn));
        versions.first.values().copied().min().unwrap_or(versions.counter.next)
    }
}

fn next(
    counter: &mut Counter,
    id: i32,
    storage: &Arc<Database>,
    trees: &SysTrees,
) -> Result<i64, StoreError> {
    if counter.next >= counter.reserved {
        // What uses the numbers is logged after this commit, so it need not be durable first.
        reserve(counter, id, counter.next + BLOCK, Durability::Delayed, storage, trees)?;
    }
    let n = counter.next;
    counter.next += 1;
    Ok(n)
}

/// Notes that numbers below `reserved` may be given.
fn reserve(
    counter: &mut Counter,
    id: i32,
    reserved: i64,
    durability: Durability,
    storage: &Arc<Database>,
    trees: &SysTrees,
) -> Result<(), StoreError> {
    let mut txn = storage.begin(0)?;
    trees.put(&mut txn, SysTable::Counters, &[Value::Int(id), Value::BigInt(reserved)])?;
    txn.commit(durability)?;
    counter.reserved = reserved;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_units_come_in_rounds() {
        let first = FIRST_USER_UNIT as u32;
        assert_eq!(
            (number_of(FIRST_USER_UNIT), number_of(FIRST_USER_UNIT + ROUND)),
            (first, first)
        );
        assert_eq!(number_of(FIRST_USER_UNIT + ROUND - 1), u32::MAX - 1);
        let used = BTreeSet::from([first, first + 1, 5000, u32::MAX - 1]);
        assert_eq!(gap_from(&used, first), first + 2..5000);
        assert_eq!(gap_from(&used, 4000), 4000..5000);
        assert_eq!(gap_from(&used, 5000), 5001..u32::MAX - 1);
        assert!(gap_from(&used, u32::MAX - 1).is_empty(), "the next round begins");
    }
}

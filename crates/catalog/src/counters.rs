//! Numbers that are never given twice: object ids and allocation units. They are reserved in blocks in a system table,
//! so that a crash skips some and repeats none.

use std::sync::Arc;

use access::ReadMode;
use pages::UnitId;
use parking_lot::Mutex;
use txn::{Database, Durability};
use types::Value;

use crate::store::{StoreError, SysTrees};
use crate::systables::{COUNTER_OBJECTS, COUNTER_UNITS, FIRST_USER_UNIT, SysTable};

/// Numbers reserved at a time.
const BLOCK: i64 = 64;
/// object_ids look like SQL Server's: a step through all positive numbers.
const FIRST_OBJECT_ID: i64 = 245_575_913;
const OBJECT_ID_STEP: i64 = 16_000_057;
const OBJECT_IDS: i64 = i32::MAX as i64;

#[derive(Debug, Default, Clone, Copy)]
struct Counter {
    next: i64,
    reserved: i64,
}

/// The counters of an open database.
#[derive(Debug, Default)]
pub struct Counters {
    units: Mutex<Counter>,
    objects: Mutex<Counter>,
}

impl Counters {
    /// As the system table says.
    pub fn load(trees: &SysTrees) -> Result<Counters, StoreError> {
        let counters = Counters::default();
        *counters.units.lock() = Counter { next: FIRST_USER_UNIT, reserved: FIRST_USER_UNIT };
        for row in trees.rows(SysTable::Counters, &[], ReadMode::Dirty)? {
            let value = row[1].as_i64().unwrap_or(0);
            let counter = Counter { next: value, reserved: value };
            match row[0].as_i64() {
                Some(id) if id == i64::from(COUNTER_UNITS) => *counters.units.lock() = counter,
                Some(id) if id == i64::from(COUNTER_OBJECTS) => *counters.objects.lock() = counter,
                _ => {}
            }
        }
        Ok(counters)
    }

    /// A new allocation unit's number.
    pub fn next_unit(&self, storage: &Arc<Database>, trees: &SysTrees) -> Result<UnitId, StoreError> {
        let n = next(&self.units, COUNTER_UNITS, storage, trees)?;
        u32::try_from(n)
            .map(UnitId)
            .map_err(|_| StoreError::Sql(types::SqlError::internal("allocation unit numbers are used up")))
    }

    /// A new object_id.
    pub fn next_object(&self, storage: &Arc<Database>, trees: &SysTrees) -> Result<i32, StoreError> {
        let n = next(&self.objects, COUNTER_OBJECTS, storage, trees)?;
        let id = (FIRST_OBJECT_ID + n * OBJECT_ID_STEP) % OBJECT_IDS;
        // 0 is no object, and small numbers are the schemas'.
        Ok(i32::try_from(id.max(100)).unwrap_or(100))
    }
}

fn next(
    counter: &Mutex<Counter>,
    id: i32,
    storage: &Arc<Database>,
    trees: &SysTrees,
) -> Result<i64, StoreError> {
    let mut counter = counter.lock();
    if counter.next >= counter.reserved {
        let reserved = counter.next + BLOCK;
        let mut txn = storage.begin(0)?;
        trees.put(&mut txn, SysTable::Counters, &[Value::Int(id), Value::BigInt(reserved)])?;
        // What uses the numbers is logged after this commit, so it need not be durable first.
        txn.commit(Durability::Delayed)?;
        counter.reserved = reserved;
    }
    let n = counter.next;
    counter.next += 1;
    Ok(n)
}

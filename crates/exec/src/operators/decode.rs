//! Rows of base tables and entries of indexes as values: the condition's columns are decoded first,
//! the others only for rows that satisfy it.
//! The condition is the plan's `pred`, or what a scan has in its place; what the bytes of a base
//! row or of an entry tell of it is asked before values are made. Guarantee: a large value is read
//! only if there is memory for it.

use super::RowSet;
use super::condition::RowTest;
use super::rt::Rt;
use access::{IndexEntry, Rid};
use expr::large::HeldMemory;
use expr::{ConditionResult, Pred};
use plan::nodes::ScanPlan;
use storage::{Base, IndexStore, RowPlace, corrupt_row};
use types::{Corrupt, SqlError, Value};

/// Decodes an entry of a covering index into slots; false when the condition rejects it, nothing
/// when a wanted value did not fit the entry: the base row has it.
#[inline]
pub(super) fn entry_into(
    plan: &ScanPlan,
    test: RowTest<'_>,
    index: &IndexStore,
    entry: IndexEntry<'_>,
    rt: &mut Rt<'_, '_>,
    slots: &mut [Value],
) -> Result<Option<bool>, SqlError> {
    let told = test.tell_entry(index, entry);
    if told == ConditionResult::NotTrue {
        return Ok(Some(false));
    }
    let decode = |wanted: &[u16], slots: &mut [Value]| match index.decode(entry, wanted, slots) {
        Ok(()) => Ok(true),
        Err(Corrupt::OffRow { .. }) => Ok(false),
        Err(e) => Err(corrupt_row(&plan.store.table, &e)),
    };
    if told == ConditionResult::True && plan.only_tested {
        slots[..plan.tested].fill(Value::Null);
    } else {
        if !decode(&plan.index_columns[..plan.tested], slots)? {
            return Ok(None);
        }
        if told == ConditionResult::Nothing
            && let Some(pred) = test.pred
            && !pred.is_true(slots, rt)?
        {
            return Ok(Some(false));
        }
    }
    if !decode(&plan.index_columns[plan.tested..], &mut slots[plan.tested..])? {
        return Ok(None);
    }
    if plan.locator {
        slots[plan.columns.len()] = index_locator(index, entry, plan)?;
    }
    Ok(Some(true))
}

/// Whether an index's entry satisfies what it tells of the conditions; `room` is for its values. An
/// entry that lacks one of them, because it did not fit, passes: the base row is asked.
#[inline]
pub(super) fn entry_passes(
    plan: &ScanPlan,
    index: &IndexStore,
    entry: IndexEntry<'_>,
    rt: &mut Rt<'_, '_>,
    room: &mut Vec<Value>,
) -> Result<bool, SqlError> {
    let Some(test) = &plan.entry else { return Ok(true) };
    room.resize(test.places.len(), Value::Null);
    match index.decode(entry, &test.places, room) {
        Ok(()) => test.pred.is_true(room, rt),
        Err(Corrupt::OffRow { .. }) => Ok(true),
        Err(e) => Err(corrupt_row(&plan.store.table, &e)),
    }
}

/// Decodes a base row into a new row, unless the condition rejects it: first what the condition
/// needs, then the rest. Where the row's bytes tell what the condition says, no value is made for
/// it.
#[inline]
pub(super) fn base_row(
    plan: &ScanPlan,
    test: RowTest<'_>,
    bytes: &[u8],
    locator: Option<Value>,
    rt: &mut Rt<'_, '_>,
    out: &mut RowSet,
) -> Result<(), SqlError> {
    let told = test.tell(plan, bytes);
    if told == ConditionResult::NotTrue {
        return Ok(());
    }
    let pred = test.pred.filter(|_| told == ConditionResult::Nothing);
    if out.takes_stored() && locator.is_none() {
        return stored_row(plan, (pred, told), bytes, rt, out);
    }
    let filled = base_row_into(plan, (pred, told), bytes, locator, rt, out.push_row());
    if !out.or_pop(filled)? {
        out.pop_row();
    }
    Ok(())
}

/// Whether a base row has all its values in it.
fn stays_stored(plan: &ScanPlan, bytes: &[u8]) -> Result<bool, SqlError> {
    if !plan.store.has_outside() {
        return Ok(true);
    }
    let table = &plan.store.table;
    table.layout.has_pointer(bytes).map(|pointer| !pointer).map_err(|e| corrupt_row(table, &e))
}

/// Adds a base row as it is stored, or its values where some are outside it, unless the condition
/// rejects it. What its bytes have told of the condition comes with what is left to be tested.
#[inline(never)]
fn stored_row(
    plan: &ScanPlan,
    (pred, told): (Option<&Pred>, ConditionResult),
    bytes: &[u8],
    rt: &mut Rt<'_, '_>,
    out: &mut RowSet,
) -> Result<(), SqlError> {
    let slots = out.push_row();
    let tested = match pred {
        None => Ok(true),
        Some(pred) => match read_columns(plan, bytes, &plan.columns[..plan.tested], rt, slots) {
            Ok(()) => pred.is_true(slots, rt),
            Err(e) => Err(e),
        },
    };
    if !out.or_pop(tested)? {
        out.pop_row();
        return Ok(());
    }
    let stays = stays_stored(plan, bytes);
    if out.or_pop(stays)? {
        out.store(bytes);
        return Ok(());
    }
    // The condition has been tested.
    let filled = base_row_into(plan, (None, told), bytes, None, rt, out.row_mut(out.len() - 1));
    out.or_pop(filled).map(drop)
}

/// Columns of a base row.
#[inline(always)]
fn read_columns(
    plan: &ScanPlan,
    bytes: &[u8],
    wanted: &[u16],
    rt: &mut Rt<'_, '_>,
    slots: &mut [Value],
) -> Result<(), SqlError> {
    if plan.store.lob.is_some() {
        return read_large_columns(plan, bytes, wanted, rt, slots);
    }
    plan.store.columns_read(&plan.db, plan.mode, bytes, wanted, slots)
}

/// Columns of a base row, large values among them only if there is memory for them and for the
/// bytes that they are read as.
#[inline(never)]
fn read_large_columns(
    plan: &ScanPlan,
    bytes: &[u8],
    wanted: &[u16],
    rt: &mut Rt<'_, '_>,
    slots: &mut [Value],
) -> Result<(), SqlError> {
    let large = plan.store.large_bytes(bytes, wanted);
    let mut held = HeldMemory::default();
    held.add(large.saturating_mul(2), rt)?;
    let read = plan.store.columns_read(&plan.db, plan.mode, bytes, wanted, slots);
    held.release(rt);
    read
}

/// Decodes a base row into slots; false when the condition rejects it. What its bytes have told of
/// the condition comes with what is left to be tested.
#[inline]
fn base_row_into(
    plan: &ScanPlan,
    (pred, told): (Option<&Pred>, ConditionResult),
    bytes: &[u8],
    locator: Option<Value>,
    rt: &mut Rt<'_, '_>,
    slots: &mut [Value],
) -> Result<bool, SqlError> {
    if told == ConditionResult::True && plan.only_tested {
        slots[..plan.tested].fill(Value::Null);
    } else {
        // Without a condition there is nothing to be read before the rest.
        if plan.tested > 0 {
            read_columns(plan, bytes, &plan.columns[..plan.tested], rt, slots)?;
        }
        if let Some(pred) = pred
            && !pred.is_true(slots, rt)?
        {
            return Ok(false);
        }
    }
    read_columns(plan, bytes, &plan.columns[plan.tested..], rt, &mut slots[plan.tested..])?;
    if let Some(locator) = locator {
        slots[plan.columns.len()] = locator;
    }
    Ok(true)
}

/// Where the row is that an entry of an index leads to.
#[inline]
pub(super) fn index_place<'e>(
    index: &IndexStore,
    entry: IndexEntry<'e>,
    plan: &ScanPlan,
) -> Result<RowPlace<'e>, SqlError> {
    let damaged = |e: &Corrupt| corrupt_row(&plan.store.table, e);
    let locator = index.locator(entry).map_err(|e| damaged(&e))?;
    match (&plan.store.base, <[u8; 8]>::try_from(locator)) {
        (Base::Heap(_), Ok(rid)) => Ok(RowPlace::Rid(Rid::from_bytes(rid))),
        (Base::Heap(_), Err(_)) => Err(damaged(&Corrupt::Value { column: index.columns.len() })),
        (Base::Tree(_), _) => Ok(RowPlace::Key(locator)),
    }
}

/// The same as a value of the plan.
pub(super) fn index_locator(
    index: &IndexStore,
    entry: IndexEntry<'_>,
    plan: &ScanPlan,
) -> Result<Value, SqlError> {
    index_place(index, entry, plan).map(RowPlace::value)
}

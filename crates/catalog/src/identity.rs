//! Identity values: given from memory, reserved in blocks in a system table, so that a crash skips
//! some and repeats none. A rollback gives no value back.

use std::sync::Arc;

use access::ReadMode;
use syntax::ast::Identity;
use txn::Durability;
use types::{DataType, SqlError, Value, msg};

use super::systables::SysTable;
use super::{IdentityState, TableDef};
use crate::Db;
use crate::errors;

/// Values reserved at a time.
const BLOCK: i64 = 1000;

/// Seed and increment of a column of this name and type.
///
/// # Errors
/// 2749 the type is no whole number, 2752, 2753 what they cannot be.
pub fn of_clause(identity: &Identity, name: &str, ty: DataType) -> Result<(i64, i64), SqlError> {
    if !ty.is_integer() && !matches!(ty, DataType::Decimal { scale: 0, .. }) {
        return Err(SqlError::of(msg::IDENTITY_TYPE, [&name]));
    }
    let seed =
        identity.seed.parse::<i64>().map_err(|_| SqlError::of(msg::IDENTITY_SEED, [&name]))?;
    let increment = identity.increment.parse::<i64>().ok().filter(|n| *n != 0);
    Ok((seed, increment.ok_or_else(|| SqlError::of(msg::IDENTITY_INCREMENT, [&name]))?))
}

/// The first of `count` new values of a table's identity column; the others follow in steps of the
/// increment.
///
/// Errors: 8115 past the end of bigint (the column's own type is the caller's check); what the log
/// says.
#[inline]
pub fn next(db: &Arc<Db>, table: &TableDef, count: u64) -> Result<i64, SqlError> {
    let Some((seed, step)) = table.columns.iter().find_map(|c| c.identity) else {
        return Err(SqlError::internal("the table has no identity column"));
    };
    let mut state = table.state.identity.lock();
    let overflow = || SqlError::of(msg::ARITHMETIC_OVERFLOW, [&"IDENTITY", &"bigint"]);
    let first = match state.last {
        None => seed,
        Some(last) => last.checked_add(step).ok_or_else(overflow)?,
    };
    let more = i64::try_from(count.max(1) - 1)
        .ok()
        .and_then(|n| n.checked_mul(step))
        .ok_or_else(overflow)?;
    let last = first.checked_add(more).ok_or_else(overflow)?;
    if !is_reserved(&state, last, step) {
        reserve(db, table, &mut state, last, step)?;
    }
    state.last = Some(last);
    Ok(first)
}

/// An explicit value was inserted under IDENTITY_INSERT: later values go on after it.
pub fn used(db: &Arc<Db>, table: &TableDef, value: i64) -> Result<(), SqlError> {
    let Some((_, step)) = table.columns.iter().find_map(|c| c.identity) else { return Ok(()) };
    let mut state = table.state.identity.lock();
    let ahead = match state.last {
        None => true,
        Some(last) if step > 0 => value > last,
        Some(last) => value < last,
    };
    if ahead {
        if !is_reserved(&state, value, step) {
            reserve(db, table, &mut state, value, step)?;
        }
        state.last = Some(value);
    }
    Ok(())
}

/// Whether a value can be given without a note of it on disk.
fn is_reserved(state: &IdentityState, value: i64, step: i64) -> bool {
    state.last.is_some() && if step > 0 { value <= state.reserved } else { value >= state.reserved }
}

/// Sets the value that was given last (`None`: starts over with the seed): DBCC CHECKIDENT, clean
/// close.
pub fn set(db: &Arc<Db>, table: &TableDef, last: Option<i64>) -> Result<(), SqlError> {
    let mut state = table.state.identity.lock();
    write(db, table, last)?;
    *state = IdentityState { last, reserved: last.unwrap_or(0) };
    Ok(())
}

/// The database is being closed: what was reserved and not given is given back, so that the next
/// value follows the last one, or is the seed when TRUNCATE TABLE has started the counter over.
/// `quiet`: no transaction is open; one might have truncated the table and give its rows back.
pub fn settle(db: &Arc<Db>, table: &TableDef, quiet: bool) -> Result<(), SqlError> {
    if table.columns.iter().all(|c| c.identity.is_none()) {
        return Ok(());
    }
    let state = *table.state.identity.lock();
    let settled = match state.last {
        Some(last) => last == state.reserved,
        None => !quiet || stored(db, table)?.is_none(),
    };
    if settled { Ok(()) } else { set(db, table, state.last) }
}

fn reserve(
    db: &Arc<Db>,
    table: &TableDef,
    state: &mut IdentityState,
    needed: i64,
    step: i64,
) -> Result<(), SqlError> {
    // Nothing given yet, but values reserved: TRUNCATE TABLE started the counter over and may still
    // be rolled back, here or by a crash. The reservation of the rows that would come back stays.
    if state.last.is_none()
        && let Some(stored) = stored(db, table)?
        && (if step > 0 { needed <= stored } else { needed >= stored })
    {
        state.reserved = stored;
        return Ok(());
    }
    let reserved = needed.saturating_add(step.saturating_mul(BLOCK));
    write(db, table, Some(reserved))?;
    state.reserved = reserved;
    Ok(())
}

/// The reservation on disk.
fn stored(db: &Arc<Db>, table: &TableDef) -> Result<Option<i64>, SqlError> {
    let open = db.open()?;
    let rows =
        open.trees.rows(SysTable::Identities, &[Value::Int(table.object_id)], ReadMode::Dirty);
    let rows = rows.map_err(|e| errors::store_error(db, e))?;
    Ok(rows.first().and_then(|row| row.get(1)).and_then(|v| v.as_i64()))
}

/// In a transaction of its own: the value outlives a rollback of the statement that took it.
fn write(db: &Arc<Db>, table: &TableDef, last: Option<i64>) -> Result<(), SqlError> {
    let open = db.open()?;
    let run = || -> Result<(), super::store::StoreError> {
        let mut txn = open.storage.begin(0)?;
        let id = Value::Int(table.object_id);
        match last {
            Some(last) => {
                open.trees.put(&mut txn, SysTable::Identities, &[id, Value::BigInt(last)])?;
            }
            None => {
                open.trees.delete(&mut txn, SysTable::Identities, &[id])?;
            }
        }
        // Rows with the values are logged after this commit, so it need not be durable first.
        txn.commit(Durability::Delayed)?;
        Ok(())
    };
    run().map_err(|e| errors::store_error(db, e))
}

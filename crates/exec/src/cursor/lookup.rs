//! A row of a cursor by the locators of its base rows, as they are now.

use access::{ReadMode, RowBatch, RowName};
use catalog::errors::db_error;
use logical::hints::RowLocks;
use pages::UnitId;
use plan::cursor::{CursorPlan, CursorTable};
use storage::left::{EndedTxns, is_own};
use storage::write::{Locator, read_current};
use storage::{Base, TableMode};
use txn::{Grant, LockDuration, LockMode};
use types::{SqlError, Value};

use super::{FetchMode, FetchedRow};
use crate::masked_errors;
use crate::operators::context::ExecCtx;
use crate::operators::rt::Rt;
use session::state::cursors::CurrentRow;

/// Reads the base rows and makes the row of them; false when one of them is gone. The tables are
/// locked.
///
/// # Errors
/// Those of expressions and of the storage; 1205, 1222.
pub fn look_up(
    plan: &CursorPlan,
    ctx: &mut ExecCtx<'_>,
    locators: &[Value],
    how: FetchMode,
    out: &mut FetchedRow,
) -> Result<bool, SqlError> {
    let Some(made) = &plan.row else {
        return Err(SqlError::internal("a cursor that keeps no locators"));
    };
    let mut slots: Vec<Value> = Vec::new();
    let (mut tables, mut batch) = (Vec::new(), RowBatch::new());
    for (table, locator) in plan.tables.iter().zip(locators) {
        let start = slots.len();
        slots.resize(start + table.columns.len(), Value::Null);
        if locator.is_null() {
            debug_assert!(table.outer, "a row without a place");
            continue;
        }
        if !base_row(table, ctx, locator, how.locks, &mut batch)? {
            return Ok(false);
        }
        let wanted = &table.columns;
        table.store.columns_read(
            &table.db,
            table.mode,
            batch.row(0),
            wanted,
            &mut slots[start..],
        )?;
        if how.updatable {
            tables.push(current_row(table, locator, batch.row(0)));
        }
    }
    let mut rt = Rt::new(ctx, plan.needs());
    for e in &made.exprs {
        let value = e
            .eval(&slots, &mut rt)
            .map_err(|e| masked_errors::of_statement(rt.session(), plan.needs(), e))?;
        slots.push(value);
    }
    out.row.clear();
    out.row.extend(made.output.iter().map(|slot| slots[*slot].clone()));
    out.tables = tables;
    Ok(true)
}

/// A row that positioned changes can go to.
pub fn current_row(table: &CursorTable, locator: &Value, bytes: &[u8]) -> CurrentRow {
    CurrentRow {
        db: table.db.id(),
        table: table.store.table.object_id,
        locator: locator.clone(),
        image: bytes.to_vec(),
        written: None,
    }
}

/// Reads a base row in the way of its table, or locks it for a change and reads it as it is; false
/// when it is gone.
pub fn base_row(
    table: &CursorTable,
    ctx: &mut ExecCtx<'_>,
    locator: &Value,
    scroll_lock: bool,
    batch: &mut RowBatch,
) -> Result<bool, SqlError> {
    let (db, store) = (&table.db, &table.store);
    if store.has_outside() {
        // To the end of the statement: values outside the row are read after it, and after its lock
        // was given back.
        ctx.session.snapshot(db)?;
    }
    let own = RowLocks::until_changed(LockMode::U);
    let locks = if scroll_lock { Some(own) } else { table.locks };
    if let Some(locks) = locks {
        ctx.session.shows_newest(db)?;
        let txn = ctx.session.txn(db)?;
        let place = Locator::of(locator)?;
        let (unit, name): (UnitId, RowName<'_>) = match (&store.base, &place) {
            (Base::Heap(heap), Locator::Rid(rid)) => (heap.unit_id(), RowName::Rid(*rid)),
            (Base::Tree(tree), Locator::Key(key)) => (tree.unit_id(), RowName::Key(key)),
            _ => return Err(SqlError::internal("a locator of another table")),
        };
        let read =
            |batch: &mut RowBatch| storage::fetch(db, store, locator, ReadMode::Current, batch);
        let free = txn.row_is_free(unit, name, locks.mode);
        let grant = if !free && read(batch)? && is_own(txn, batch, 0) {
            Grant::Held
        } else {
            let until =
                if locks.hold { LockDuration::Transaction } else { LockDuration::GivenBack };
            let grant = txn.lock_row(unit, name, locks.mode, !locks.read_past, until);
            grant.map_err(|e| db_error(db, &e))?
        };
        if grant == Grant::Busy {
            return Ok(false);
        }
        let found = EndedTxns::default().row((db, txn), !locks.read_past, batch, read);
        if grant == Grant::New {
            txn.unlock_row(unit, name);
        }
        return found;
    }
    match table.mode {
        TableMode::Snapshot => {
            let guard = ctx.session.snapshot(db)?;
            storage::fetch(db, store, locator, guard.mode(), batch)
        }
        TableMode::Dirty => storage::fetch(db, store, locator, ReadMode::Dirty, batch),
        TableMode::Current => {
            ctx.session.shows_newest(db)?;
            let txn = ctx.session.txn(db)?;
            read_current(db, txn, store, locator, batch)
        }
    }
}

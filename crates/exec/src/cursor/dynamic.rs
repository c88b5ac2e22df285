//! Dynamic: nothing is kept but the place of the last row in the index that is read. Each fetch
//! goes on from there in a snapshot of its own, so that it sees what has been changed and committed
//! since.

use access::RowBatch;
use plan::cursor::{CursorPlan, driving_scan};
use plan::nodes::{Path, ScanPlan};
use storage::write::{Locator, entry_key};
use types::{SqlError, Value};

use super::lookup::{base_row, current_row, look_up};
use super::{FetchMode, FetchTarget, FetchedRow, Status};
use crate::operators::RowSet;
use crate::operators::context::ExecCtx;
use crate::operators::query::{RunningQuery, lock_tables};
use crate::operators::rt::ScanPlace;

/// Where it stands.
#[derive(Clone)]
pub enum CursorPlace {
    Before,
    On(Vec<u8>),
    After,
}

pub struct DynamicCursor {
    pub place: CursorPlace,
    batch: RowSet,
}

impl DynamicCursor {
    pub fn open(plan: &CursorPlan, ctx: &mut ExecCtx<'_>) -> Result<DynamicCursor, SqlError> {
        lock_tables(plan.needs(), ctx)?;
        Ok(DynamicCursor { place: CursorPlace::Before, batch: RowSet::default() })
    }

    pub fn fetch(
        &mut self,
        plan: &CursorPlan,
        ctx: &mut ExecCtx<'_>,
        to: FetchTarget,
        how: FetchMode,
        out: &mut FetchedRow,
    ) -> Result<Status, SqlError> {
        lock_tables(plan.needs(), ctx)?;
        match to {
            FetchTarget::Next => self.step(plan, ctx, true, how, out),
            FetchTarget::Prior => self.step(plan, ctx, false, how, out),
            FetchTarget::First => {
                self.place = CursorPlace::Before;
                self.step(plan, ctx, true, how, out)
            }
            FetchTarget::Last => {
                self.place = CursorPlace::After;
                self.step(plan, ctx, false, how, out)
            }
            FetchTarget::Relative(0) => self.again(plan, ctx, how, out),
            FetchTarget::Relative(n) => {
                let mut status = Status::End;
                for _ in 0..n.unsigned_abs() {
                    ctx.session.check_cancel()?;
                    status = self.step(plan, ctx, n > 0, how, out)?;
                    if status == Status::End {
                        break;
                    }
                }
                Ok(status)
            }
            FetchTarget::Absolute(_) => Err(SqlError::internal("a dynamic cursor numbers no rows")),
        }
    }

    /// The next row in a direction.
    fn step(
        &mut self,
        plan: &CursorPlan,
        ctx: &mut ExecCtx<'_>,
        forward: bool,
        how: FetchMode,
        out: &mut FetchedRow,
    ) -> Result<Status, SqlError> {
        let end = if forward { CursorPlace::After } else { CursorPlace::Before };
        let mut key = match (&self.place, forward) {
            (CursorPlace::After, true) | (CursorPlace::Before, false) => return Ok(Status::End),
            (CursorPlace::On(key), _) => Some(key.clone()),
            _ => None,
        };
        loop {
            let place = ScanPlace { key, inclusive: false, reverse: !forward, most: 1 };
            let Some(found) = self.find(plan, ctx, place, how, out)? else {
                self.place = end;
                return Ok(Status::End);
            };
            self.place = CursorPlace::On(found.key.clone());
            if found.there {
                return Ok(Status::Row);
            }
            // It was deleted before it could be locked: there is another one after it.
            ctx.session.check_cancel()?;
            key = Some(found.key);
        }
    }

    /// The row that it stands on, as it is now.
    fn again(
        &mut self,
        plan: &CursorPlan,
        ctx: &mut ExecCtx<'_>,
        how: FetchMode,
        out: &mut FetchedRow,
    ) -> Result<Status, SqlError> {
        let CursorPlace::On(key) = &self.place else { return Ok(Status::End) };
        let key = key.clone();
        let place = ScanPlace { key: Some(key.clone()), inclusive: true, reverse: false, most: 1 };
        Ok(match self.find(plan, ctx, place, how, out)? {
            Some(found) if found.key == key && found.there => Status::Row,
            _ => Status::Missing,
        })
    }

    fn find(
        &mut self,
        plan: &CursorPlan,
        ctx: &mut ExecCtx<'_>,
        place: ScanPlace,
        how: FetchMode,
        out: &mut FetchedRow,
    ) -> Result<Option<FoundKey>, SqlError> {
        let mut running = RunningQuery::start_from(&*plan.query, ctx, place);
        if !running.next(ctx, &mut self.batch)? {
            return Ok(None);
        }
        let (Some(scan), Some(table)) = (driving_scan(&plan.query.plan), plan.tables.first())
        else {
            return Err(SqlError::internal("a dynamic cursor without its scan"));
        };
        let row = self.batch.row_mut(0);
        let (locator, values) =
            row.split_last_mut().ok_or_else(|| SqlError::internal("a row without a place"))?;
        let mut base = RowBatch::new();
        let key = key_of(scan, ctx, locator, &mut base, table)?;
        if how.locks {
            let there = look_up(plan, ctx, std::slice::from_ref(locator), how, out)?;
            return Ok(Some(FoundKey { key, there }));
        }
        out.row.clear();
        out.row.extend(values.iter_mut().map(std::mem::take));
        out.tables.clear();
        if how.updatable {
            // The same snapshot as the scan's: it is there.
            let there = !base.is_empty() || base_row(table, ctx, locator, false, &mut base)?;
            if there {
                out.tables.push(current_row(table, locator, base.row(0)));
            }
        }
        Ok(Some(FoundKey { key, there: true }))
    }
}

struct FoundKey {
    key: Vec<u8>,
    /// It could be locked and read.
    there: bool,
}

/// The key of a row in the structure that the scan reads; `base` gets the row where it had to be
/// read for that.
fn key_of(
    scan: &ScanPlan,
    ctx: &mut ExecCtx<'_>,
    locator: &Value,
    base: &mut RowBatch,
    table: &plan::cursor::CursorTable,
) -> Result<Vec<u8>, SqlError> {
    let Path::Index { index, .. } = &scan.path else {
        return Ok(Locator::of(locator)?.bytes());
    };
    let index = &scan.store.indexes[*index];
    if !base_row(table, ctx, locator, false, base)? {
        return Err(SqlError::internal("a row that is not behind its index entry"));
    }
    let mut values = vec![Value::Null; scan.store.table.columns.len()];
    for (column, _) in &index.def.key {
        values[*column] = scan.store.column(&scan.db, base.row(0), *column)?;
    }
    let mut key = Vec::new();
    entry_key(index, &values, &Locator::of(locator)?.bytes(), &mut key);
    Ok(key)
}

//! Keyset: the locators of the rows are kept, in the order of the query; each fetch reads the rows
//! as they are then. Guarantee: a locator of a heap's row stays that row's: the snapshot of the
//! opening is held, and no place whose ghost it can see is used again.

use std::sync::Arc;

use plan::cursor::CursorPlan;
use storage::Base;
use txn::SnapshotGuard;
use types::{SqlError, Value};

use super::lookup::look_up;
use super::rows::CursorRows;
use super::{FetchMode, FetchTarget, FetchedRow, Status};
use crate::operators::context::ExecCtx;
use crate::operators::query::lock_tables;

pub struct Keyset {
    keys: CursorRows,
    locators: Vec<Value>,
    _heaps: Vec<Arc<SnapshotGuard>>,
}

impl Keyset {
    pub fn fill(plan: &CursorPlan, ctx: &mut ExecCtx<'_>) -> Result<Keyset, SqlError> {
        let mut heaps = Vec::new();
        lock_tables(plan.needs(), ctx)?;
        for table in plan.tables.iter().filter(|table| matches!(table.store.base, Base::Heap(_))) {
            heaps.push(ctx.session.snapshot(&table.db)?);
        }
        let keys = CursorRows::fill(plan, ctx)?;
        Ok(Keyset { keys, locators: Vec::new(), _heaps: heaps })
    }

    pub fn len(&self) -> i64 {
        self.keys.len()
    }

    pub fn at(&self) -> i64 {
        self.keys.at()
    }

    pub fn stand_on(&mut self, at: i64) {
        self.keys.stand_on(at);
    }

    pub fn fetch(
        &mut self,
        plan: &CursorPlan,
        ctx: &mut ExecCtx<'_>,
        to: FetchTarget,
        how: FetchMode,
        out: &mut FetchedRow,
    ) -> Result<Status, SqlError> {
        if !self.keys.go(to) {
            return Ok(Status::End);
        }
        lock_tables(plan.needs(), ctx)?;
        self.keys.read(plan.tables.len(), &mut self.locators)?;
        let found = look_up(plan, ctx, &self.locators, how, out)?;
        Ok(if found { Status::Row } else { Status::Missing })
    }
}

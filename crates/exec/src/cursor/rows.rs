//! Static: a copy of the rows, in memory as far as the memory of queries goes, then in a temporary
//! file.

use plan::cursor::CursorPlan;
use types::{SqlError, Value, pack_row};

use super::{FetchTarget, FetchedRow, Status, target};
use crate::operators::RowSet;
use crate::operators::context::ExecCtx;
use crate::operators::query::{RunningQuery, lock_tables};
use crate::operators::row_store::{Cursor, RowStore};

pub struct CursorRows {
    rows: RowStore,
    reader: Cursor,
    at: i64,
}

impl CursorRows {
    pub fn new(rows: RowStore) -> CursorRows {
        CursorRows { rows, reader: Cursor::default(), at: 0 }
    }

    /// Runs the query to its end, or to the number of rows that SET ROWCOUNT allows.
    pub fn fill(plan: &CursorPlan, ctx: &mut ExecCtx<'_>) -> Result<CursorRows, SqlError> {
        lock_tables(plan.needs(), ctx)?;
        let host = ctx.session.host();
        let share = ctx.session.shared.grants.add(ctx.session.query_memory()).share();
        let mut rows = RowStore::new(host.run_files().clone(), share);
        let most = match ctx.session.options.rowcount {
            0 => usize::MAX,
            n => usize::try_from(n).unwrap_or(usize::MAX),
        };
        let mut running = RunningQuery::start(&*plan.query, ctx);
        let (mut batch, mut packed) = (RowSet::default(), Vec::new());
        while rows.len() < most && running.next(ctx, &mut batch)? {
            ctx.session.check_cancel()?;
            for i in 0..batch.len().min(most - rows.len()) {
                packed.clear();
                pack_row(batch.row(i), &mut packed);
                rows.push(&packed)?;
            }
        }
        Ok(CursorRows::new(rows))
    }

    pub fn len(&self) -> i64 {
        self.rows.len() as i64
    }

    pub fn at(&self) -> i64 {
        self.at
    }

    /// Stands on a row, or before the first or after the last.
    pub fn stand_on(&mut self, at: i64) {
        self.at = at.clamp(0, self.len() + 1);
    }

    /// Moves to a row; false when it is none.
    pub fn go(&mut self, to: FetchTarget) -> bool {
        self.at = target(self.at, self.len(), to);
        (1..=self.len()).contains(&self.at)
    }

    /// Reads the row that it stands on.
    pub fn read(&mut self, width: usize, row: &mut Vec<Value>) -> Result<(), SqlError> {
        row.clear();
        row.resize(width, Value::Null);
        self.rows.read((self.at - 1) as usize, &mut self.reader, row)
    }

    pub fn fetch(
        &mut self,
        plan: &CursorPlan,
        to: FetchTarget,
        out: &mut FetchedRow,
    ) -> Result<Status, SqlError> {
        if !self.go(to) {
            return Ok(Status::End);
        }
        out.tables.clear();
        self.read(plan.columns.len(), &mut out.row)?;
        Ok(Status::Row)
    }
}

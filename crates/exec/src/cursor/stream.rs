//! Fast forward: the query runs as far as it is fetched and is suspended in between. It reads in
//! the snapshot of its opening.

use std::sync::Arc;

use plan::QueryPlan;
use plan::cursor::CursorPlan;
use types::SqlError;

use super::{FetchedRow, Status};
use crate::operators::RowSet;
use crate::operators::context::ExecCtx;
use crate::operators::query::{RunningQuery, lock_tables};

pub struct Stream {
    running: RunningQuery<Arc<QueryPlan>>,
    batch: RowSet,
    at: usize,
    ended: bool,
}

impl Stream {
    pub fn open(plan: &CursorPlan, ctx: &mut ExecCtx<'_>) -> Result<Stream, SqlError> {
        lock_tables(plan.needs(), ctx)?;
        let mut running = RunningQuery::start_suspendable(plan.query.clone(), ctx);
        let mut batch = RowSet::default();
        // The snapshot is taken by the first rows, and they belong to the moment of OPEN.
        let ended = !running.next(ctx, &mut batch)?;
        if ended {
            batch.truncate(0);
        }
        running.acknowledge(ctx.session)?;
        Ok(Stream { running, batch, at: 0, ended })
    }

    pub fn next(
        &mut self,
        ctx: &mut ExecCtx<'_>,
        out: &mut FetchedRow,
    ) -> Result<Status, SqlError> {
        if self.at >= self.batch.len() && !self.refill(ctx)? {
            return Ok(Status::End);
        }
        let row = self.batch.row_mut(self.at);
        self.at += 1;
        out.tables.clear();
        out.row.clear();
        out.row.extend(row.iter_mut().map(std::mem::take));
        Ok(Status::Row)
    }

    fn refill(&mut self, ctx: &mut ExecCtx<'_>) -> Result<bool, SqlError> {
        if self.ended {
            return Ok(false);
        }
        // After an error there are no more rows.
        self.ended = true;
        (self.at, _) = (0, self.batch.truncate(0));
        lock_tables(&self.running.query().needs, ctx)?;
        let more = self.running.next(ctx, &mut self.batch)?;
        if more {
            self.running.acknowledge(ctx.session)?;
            ctx.session.acknowledge_reads()?;
            self.ended = false;
        }
        Ok(more)
    }
}

//! Running a compiled query.

use super::RowSet;
use super::context::{ExecCtx, RowSink};
use super::open::open;
use super::rt::Rt;
use crate::query::{Needs, QueryPlan};
use types::{SqlError, Value};

impl Needs {
    /// Locks the tables for a statement.
    pub fn lock(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        for used in &self.tables {
            ctx.session.lock_table(&used.db, &used.table, used.lock)?;
        }
        Ok(())
    }
}

impl QueryPlan {
    /// Runs the query; returns how many rows it gave (or assigned from).
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        self.needs.lock(ctx)?;
        let limit = match ctx.session.options.rowcount {
            0 => u64::MAX,
            n => n,
        };
        let mut rt = Rt::new(ctx, &self.needs);
        let mut op = open(&self.plan);
        let mut batch = RowSet::default();
        let mut count = 0;
        while count < limit && op.next(&mut rt, &mut batch)? {
            if self.assignments.is_empty() {
                rt.session().acknowledge_reads()?;
            }
            for i in 0..batch.len() {
                if count == limit {
                    break;
                }
                count += 1;
                if self.assignments.is_empty() {
                    out.row(batch.row(i))?;
                } else {
                    self.assign(batch.row(i), &mut rt)?;
                }
            }
        }
        Ok(count)
    }

    fn assign(&self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        for (slot, e) in &self.assignments {
            let value = e.eval(row, rt)?;
            rt.set_var(*slot, value);
        }
        Ok(())
    }
}

//! Rows behind the entries of an index where their order does not matter: many entries are read
//! first, then the rows in the order in which they lie.
//! Guarantee: what is given before an error of a row is whole, as it is where rows come one by one.

use super::super::decode::{base_row, entry_passes, index_place};
use super::super::pending::NextRow;
use super::super::rows_first::is_of_a_row;
use super::super::{BATCH, RowSet};
use super::{MOST, Scan, may_be_long, read_mode};
use crate::operators::rt::Rt;
use plan::nodes::{Path, ScanPlan};
use types::SqlError;

impl Scan {
    /// The next rows.
    pub(super) fn looked_up(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let (most, long) = (self.most.min(out.most()), may_be_long(plan));
        let mut bytes = 0;
        while out.len() < most && bytes < MOST {
            if self.pending.is_empty() && !self.gather(plan, rt)? {
                break;
            }
            let (mode, before) = (read_mode(&self.guard, plan.mode), out.len());
            // The entry and its row are versions of one moment: the row is there.
            let next = self.pending.read_next(plan, mode, &mut self.lookup)?;
            if let NextRow::Found(place) = next {
                let test = self.condition.of_rows(plan);
                let locator = plan.locator.then(|| place.value());
                base_row(plan, test, self.lookup.row(0), locator, rt, out)?;
            }
            if long && out.len() > before {
                bytes += self.long_row(plan, rt, out)?;
            }
        }
        if self.grows {
            self.most = (self.most * 2).min(BATCH);
        }
        Ok(!out.is_empty())
    }

    /// Reads entries until enough rows are to be looked up; false when there are none.
    fn gather(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let Path::Index { index, .. } = &plan.path else {
            return Err(SqlError::internal("rows are looked up without an index"));
        };
        let index = &plan.store.indexes[*index];
        // Few are read where few are wanted.
        let few = (self.most < BATCH).then_some(self.most);
        self.pending.begin(few, rt);
        while !self.pending.is_full() {
            if self.at >= self.batch.len() {
                rt.check_cancel()?;
                if !self.page(plan, rt)? {
                    break;
                }
                continue;
            }
            let i = self.at;
            self.at += 1;
            if self.batch.is_ghost(i) {
                continue;
            }
            match entry_passes(plan, index, self.batch.entry(i), rt, &mut self.tested) {
                Ok(true) => self.pending.push(index_place(index, self.batch.entry(i), plan)?),
                Ok(false) => {}
                Err(error) if self.pending.is_empty() || !is_of_a_row(&error) => return Err(error),
                Err(error) => {
                    // Behind the rows that are to be looked up.
                    self.failure = Some(error);
                    break;
                }
            }
        }
        self.pending.order(plan)?;
        Ok(!self.pending.is_empty())
    }
}

//! Lookup: the base rows of locators, many together in the order in which they lie; conditions are
//! tested on the row. Guarantee: a row comes from the snapshot that its locator was read in, so
//! only a dirty read can miss one.

use super::condition::RowTest;
use super::decode::base_row;
use super::large::{LargeRows, MOST};
use super::pending::{NextRow, Pending};
use super::rows_first::is_of_a_row;
use super::scan::read_mode;
use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use access::RowBatch;
use plan::nodes::{Node, Plan, ScanPlan};
use std::sync::Arc;
use storage::{RowPlace, TableMode};
use txn::SnapshotGuard;
use types::SqlError;
use types::row::has_overflow;

/// The operator.
pub struct Lookup {
    input: Box<dyn Operator>,
    locators: RowSet,
    pending: Pending,
    /// What failed behind the locators that are to be looked up.
    failure: Option<SqlError>,
    guard: Option<Arc<SnapshotGuard>>,
    row: RowBatch,
    /// The large values of a batch.
    large: LargeRows,
}

impl Lookup {
    /// Over an input of one column.
    pub fn new(input: Box<dyn Operator>) -> Lookup {
        Lookup {
            input,
            locators: RowSet::default(),
            pending: Pending::default(),
            failure: None,
            guard: None,
            row: RowBatch::new(),
            large: LargeRows::default(),
        }
    }

    /// Takes locators from the input until enough are to be looked up; false when there are none.
    fn gather(
        &mut self,
        input: &Plan,
        scan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
    ) -> Result<bool, SqlError> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        self.pending.begin(None, rt);
        while !self.pending.is_full() {
            rt.check_cancel()?;
            match self.input.next(input, rt, &mut self.locators) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if self.pending.is_empty() || !is_of_a_row(&error) => return Err(error),
                Err(error) => {
                    self.failure = Some(error);
                    break;
                }
            }
            for at in 0..self.locators.len() {
                self.pending.push(RowPlace::of(&self.locators.row(at)[0])?);
            }
        }
        self.pending.order(scan)?;
        Ok(!self.pending.is_empty())
    }
}

impl Operator for Lookup {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Lookup { input, scan } = &plan.node else { return Err(other_node()) };
        debug_assert!(
            scan.mode != TableMode::Current && scan.locks.is_none(),
            "rows of several moments"
        );
        out.reset(scan.width());
        self.large.begin();
        let (mut enough, mut bytes) = (false, 0);
        if self.guard.is_none() && (scan.mode == TableMode::Snapshot || scan.store.has_outside()) {
            self.guard = Some(rt.snapshot(&scan.db)?);
        }
        while !out.is_full() && !enough {
            if self.pending.is_empty() && !self.gather(input, scan, rt)? {
                break;
            }
            let mode = read_mode(&self.guard, scan.mode);
            let before = out.len();
            let next = self.pending.read_next(scan, mode, &mut self.row)?;
            if let NextRow::Found(place) = next {
                base_row(
                    scan,
                    RowTest::of_values(scan.pred.as_ref()),
                    self.row.row(0),
                    scan.locator.then(|| place.value()),
                    rt,
                    out,
                )?;
                if out.len() > before {
                    bytes += self.row.row(0).len();
                    enough = bytes >= MOST;
                    if scan.store.lob.is_some() || has_overflow(self.row.row(0)) {
                        enough |= self.large.add(out.row(out.len() - 1), rt)?;
                    }
                }
            }
        }
        Ok(!out.is_empty())
    }
}

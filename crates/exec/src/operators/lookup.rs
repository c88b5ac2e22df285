//! Lookup: the base rows of locators, in the order in which the input gives those; conditions are tested on the row.
//! Guarantee: a row comes from the snapshot that its locator was read in, so only a dirty read can miss one.

use super::decode::base_row;
use super::large::{LargeRows, MOST};
use super::scan::read_mode;
use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use access::RowBatch;
use plan::nodes::{Node, Plan};
use std::sync::Arc;
use storage::TableMode;
use txn::SnapshotGuard;
use types::SqlError;
use types::row::has_overflow;

/// The operator.
pub struct Lookup {
    input: Box<dyn Operator>,
    locators: RowSet,
    at: usize,
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
            at: 0,
            guard: None,
            row: RowBatch::new(),
            large: LargeRows::default(),
        }
    }
}

impl Operator for Lookup {
    fn next(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let Node::Lookup { input, scan } = &plan.node else { return Err(other_node()) };
        debug_assert!(scan.mode != TableMode::Current && scan.locks.is_none(), "rows of several moments");
        out.reset(scan.width());
        self.large.begin();
        let (mut enough, mut bytes) = (false, 0);
        if self.guard.is_none() && (scan.mode == TableMode::Snapshot || scan.store.has_outside()) {
            self.guard = Some(rt.snapshot(&scan.db)?);
        }
        while !out.is_full() && !enough {
            if self.at >= self.locators.len() {
                rt.check_cancel()?;
                self.at = 0;
                if !self.input.next(input, rt, &mut self.locators)? {
                    self.locators.truncate(0);
                    break;
                }
            }
            let locator = &self.locators.row(self.at)[0];
            self.at += 1;
            let mode = read_mode(&self.guard, scan.mode);
            let before = out.len();
            if storage::fetch(&scan.db, &scan.store, locator, mode, &mut self.row)? {
                base_row(scan, self.row.row(0), scan.locator.then(|| locator.clone()), rt, out)?;
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

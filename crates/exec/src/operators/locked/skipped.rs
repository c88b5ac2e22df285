//! Seeks past a column under locks: the ranges of a value are found when those of the value before
//! it have been read and locked.
//!
//! With range locks no further value can come in between two. The gap that begins where a value was
//! looked for is locked up to the first key that stays, and only then is the next value read: it
//! lies in what is locked, or is that key. Backward it is the gap below the value before. The ranges
//! of a value lock their own gaps.

use super::{LockedScan, ranges};
use crate::operators::rt::Rt;
use crate::operators::skip::SEEN;
use access::{BTree, Direction, ReadMode, RowBatch};
use plan::nodes::ScanPlan;
use storage::access_error;
use storage::keys::borrowed;
use types::SqlError;

impl LockedScan {
    /// Puts the ranges of the next value, if there is one, among those that are to be read.
    pub(super) fn look_for_value(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: &BTree,
    ) -> Result<(), SqlError> {
        let Some(mut skip) = self.skip.take() else { return Ok(()) };
        rt.check_cancel()?;
        let Some(left) = skip.left().cloned() else { return Ok(()) };
        if skip.is_vain() {
            self.rest.push(left);
            return Ok(());
        }
        let direction = if plan.backward { Direction::Backward } else { Direction::Forward };
        let next = |batch: &mut RowBatch, few: u16| {
            let cursor = tree.cursor(borrowed(&left.lower), borrowed(&left.upper), direction);
            let found = cursor.beginning_with(few).next_batch(ReadMode::Current, batch);
            found.map_err(|e| access_error(&plan.db, e))
        };
        if self.locks.range && !self.whole {
            // A row is locked before its entry, which may be the one at which the gap ends.
            if next(&mut self.batch, 1)? {
                self.lock_rows_behind(plan, rt, 1)?;
            }
            let from = if plan.backward { ranges::behind(&left.upper) } else { Some(left.lower.clone()) };
            self.lock_gap(plan, rt, tree, from)?;
        }
        if !next(&mut skip.seen, SEEN)? {
            return Ok(());
        }
        match skip.take(plan.backward) {
            Some(found) => {
                self.set_ranges(plan, found);
                self.skip = Some(skip);
            }
            None => self.rest.extend(skip.left().cloned()),
        }
        Ok(())
    }
}

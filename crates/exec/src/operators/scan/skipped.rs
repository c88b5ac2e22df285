//! Seeks past columns: the ranges of a value are found when those of the value before it have been
//! read.
//! Guarantee: a value that the scan's version of the index does not have costs nothing.

use super::super::skip::SEEN;
use super::{Scan, read_mode, tree_of};
use crate::operators::rt::Rt;
use crate::operators::seek;
use access::Direction;
use plan::nodes::ScanPlan;
use storage::access_error;
use storage::keys::borrowed;
use types::SqlError;

impl Scan {
    /// The next range that is to be read; none at the end.
    pub(super) fn next_range(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
    ) -> Result<Option<seek::Range>, SqlError> {
        if let Some(range) = self.rest.pop() {
            return Ok(Some(range));
        }
        let Some(mut skip) = self.skip.take() else { return Ok(None) };
        rt.check_cancel()?;
        let (Some(left), Some(tree)) = (skip.left(), tree_of(plan)) else { return Ok(None) };
        if skip.is_vain() {
            return Ok(Some(left.clone()));
        }
        let direction = if self.backward { Direction::Backward } else { Direction::Forward };
        let mut cursor = tree.cursor(borrowed(&left.lower), borrowed(&left.upper), direction);
        cursor = cursor.beginning_with(SEEN);
        let (mode, fail) = (read_mode(&self.guard, plan.mode), |e| access_error(&plan.db, e));
        if !cursor.next_batch(mode, &mut skip.seen).map_err(fail)? {
            return Ok(None);
        }
        let taken = skip.take(&mut cursor, mode, self.backward).map_err(fail)?;
        self.passed.add(skip.seen.take_writers());
        let Some(mut ranges) = taken else { return Ok(skip.left().cloned()) };
        if !self.backward {
            ranges.reverse();
        }
        (self.rest, self.skip) = (ranges, Some(skip));
        Ok(self.rest.pop())
    }
}

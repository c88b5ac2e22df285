//! The first row of a scan under locks that leave the rows around it to others, where it alone is
//! wanted: MAX of a key with UPDLOCK (`plan::rewrite::min_max`).
//! Guarantee: when the row is given, nothing lay before it at a moment at which it was locked
//! already: of two sessions that number rows by it, the second one sees what the first one made.

use super::{LockedRows, LockedScan};
use crate::operators::RowSet;
use crate::operators::rt::Rt;
use plan::nodes::{Path, ScanPlan};
use storage::Base;
use types::SqlError;

impl LockedScan {
    /// The first row, which is locked then: what came before it while it was waited for would be
    /// missed, so it is looked for again until it is the one that was found before. False: there is
    /// none.
    pub(super) fn first(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let mut known = None;
        while self.following(plan, rt, out)? {
            let rows = match (&plan.path, &plan.store.base) {
                (Path::Index { index, .. }, _) => {
                    LockedRows::Tree(&plan.store.indexes[*index].tree)
                }
                (_, Base::Tree(tree)) => LockedRows::Tree(tree),
                (_, Base::Heap(heap)) => LockedRows::Heap(heap),
            };
            let found = rows.name(&self.batch, self.given);
            if known.as_ref() == Some(&found) {
                self.settled = true;
                return Ok(true);
            }
            known = Some(found);
            out.reset(plan.width());
            (self.at, self.end, self.from, self.again) = (0, 0, None, false);
            (self.begun, self.cursor, self.skip) = (false, None, None);
            self.rest.clear();
            self.source = Some(self.start(plan, rt)?);
        }
        Ok(false)
    }
}

//! Seeks past columns under locks: the ranges of a value are found when those of the value before
//! it have been read and locked. Of several columns a value is one combination of theirs.
//!
//! Guarantee with range locks: until the transaction ends no row comes in that the seek would have
//! found. Let K be the key of such a row, v its value, and i the range of v that K lies in. Rows
//! come in below a key that is there, and who brings one in asks for the lock of that key, the
//! first one behind K (or the end of the index): K cannot come in if that lock is held.
//!
//! 1. v was visited. Range i of v was read as any range is: each key in it is locked, and so is all
//!    that follows up to the first live key behind it. The first key behind K is one of these.
//! 2. v was not visited. Forward, let w be the last value before v that was visited, and u the next
//!    one that was (or none). When what follows w was searched, the search began behind all keys of
//!    w, and each key from there on was locked up to the first that stays (live, and not the
//!    transaction's own), or to the end of the index; only then was the first key read, which gave
//!    u. So the first key behind w then was of u, and no key with a value between was there: K
//!    would come in below that first key, which is locked. Before the first value the search began
//!    where the range of the whole seek does. Backward the same lock begins at the first key of the
//!    value before (at the end of the range for the first one), before the last key below it is
//!    read: what comes in between that key and the value before comes in below the key that is
//!    locked.
//! 3. A key that was locked may go: a ghost, a row of the transaction's own that it takes back. Its
//!    gap is then part of that of the key behind it, which is locked as well: a search for a place
//!    to rest does not end at one that may go.
//! 4. Where the search has been given up for reading what is left as one range, that range is
//!    locked as any other; where the table is locked, nothing else has to be.
//!
//! Rows are locked where they qualify; of the others the first key of each value, and the one
//! behind each of its ranges. The first key of a value has to be: it keeps out values that are not
//! there.

use super::{LockedScan, ranges};
use crate::operators::rt::Rt;
use crate::operators::skip::SEEN;
use access::{BTree, Direction, ReadMode};
use plan::nodes::{Path, ScanPlan};
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
        let fail = |e| access_error(&plan.db, e);
        let cursor = |few: u16| {
            tree.cursor(borrowed(&left.lower), borrowed(&left.upper), direction).beginning_with(few)
        };
        if self.locks.range && !self.whole {
            // A row is locked before its entry, which may be the one at which the gap ends.
            let is_entry = matches!(plan.path, Path::Index { .. });
            if is_entry && cursor(1).next_batch(ReadMode::Current, &mut self.batch).map_err(fail)? {
                self.lock_rows_behind(plan, rt, 1)?;
            }
            let from =
                if plan.backward { ranges::behind(&left.upper) } else { Some(left.lower.clone()) };
            self.lock_gap(plan, rt, tree, from)?;
        }
        let mut cursor = cursor(SEEN);
        if !cursor.next_batch(ReadMode::Current, &mut skip.seen).map_err(fail)? {
            return Ok(());
        }
        let found = skip.take(&mut cursor, ReadMode::Current, plan.backward).map_err(fail)?;
        self.passed.add(skip.seen.take_writers());
        match found {
            Some(found) => {
                self.set_ranges(plan, found);
                self.skip = Some(skip);
            }
            None => self.rest.extend(skip.left().cloned()),
        }
        Ok(())
    }
}

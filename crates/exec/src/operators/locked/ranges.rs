//! Ranges of keys that a locked scan reads, one after another, a step of keys at a time: keys and
//! gaps are locked until a pass finds nothing that is not, or the pages tell that the next one
//! would not (`Cursor::is_as_read`).

use super::{LockedScan, LockedSource, Name};
use crate::operators::rt::Rt;
use crate::operators::skip::SeekPastColumn;
use crate::operators::{BATCH, seek};
use access::{BTree, Cursor, Direction, ReadMode, RowBatch, RowName};
use pages::TxnId;
use plan::nodes::{ScanPlan, SeekSpec};
use std::ops::Bound;
use storage::access_error;
use storage::left::WriterState;
use storage::left::wait;
use txn::Grant;
use types::{KeyPart, SqlError};

/// What a pass over the entries of a leaf has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeafPass {
    /// All were locked before, and as their writers had left them: they stay as they were read.
    Settled,
    /// All are locked now, and were as their writers had left them.
    Locked,
    /// Somebody was changing one.
    Waited,
}

impl LeafPass {
    /// Of entries that were as their writers had `left` them, and were locked `before`.
    fn of(left: bool, before: bool) -> LeafPass {
        match (left, before) {
            (true, true) => LeafPass::Settled,
            (true, false) => LeafPass::Locked,
            (false, _) => LeafPass::Waited,
        }
    }
}

/// A pass over the keys of a gap.
struct GapPass {
    /// The live key at which the gap ends, or the end.
    last: Name,
    pass: LeafPass,
    /// The batch at hand has all of its keys.
    whole: bool,
}

impl LockedScan {
    /// The first range of a seek; the others are kept.
    pub(super) fn sought(
        &mut self,
        plan: &ScanPlan,
        tree: &BTree,
        (spec, parts): (&SeekSpec, &[KeyPart]),
        rt: &mut Rt<'_, '_>,
    ) -> Result<LockedSource, SqlError> {
        match &spec.behind {
            Some(behind) => self.skip = SeekPastColumn::of(spec, behind, parts, rt)?,
            None => {
                let ranges = seek::ranges(spec, parts, rt)?;
                self.set_ranges(plan, ranges);
            }
        }
        self.next_range(plan, rt, tree.clone())
    }

    /// These ranges, in the order of their keys, are to be read next.
    pub(super) fn set_ranges(&mut self, plan: &ScanPlan, mut ranges: Vec<seek::Range>) {
        if !plan.backward {
            ranges.reverse();
        }
        self.rest = ranges;
    }

    fn next_range(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: BTree,
    ) -> Result<LockedSource, SqlError> {
        if self.rest.is_empty() {
            self.look_for_value(plan, rt, &tree)?;
        }
        // What was done for the gap beside the range before is to be done for this one.
        (self.begun, self.cursor) = (false, None);
        Ok(self.rest.pop().map_or(LockedSource::Done, |range| LockedSource::Range { tree, range }))
    }

    /// The next leaf of a range or of the ranges after it.
    pub(super) fn ranges_page(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: BTree,
        range: seek::Range,
    ) -> Result<(bool, LockedSource), SqlError> {
        let mut source = LockedSource::Range { tree: tree.clone(), range };
        while let LockedSource::Range { range, .. } = source {
            let (found, next) = self.range_page(plan, rt, tree.clone(), range)?;
            if found {
                return Ok((true, next));
            }
            source = self.next_range(plan, rt, tree.clone())?;
            if matches!(source, LockedSource::Range { .. }) {
                rt.session().run.scanned(&plan.db, &plan.store.table);
            }
        }
        Ok((false, LockedSource::Done))
    }

    /// The next leaf of a range, its gaps locked when they are to be.
    fn range_page(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: BTree,
        mut range: seek::Range,
    ) -> Result<(bool, LockedSource), SqlError> {
        let backward = plan.backward;
        let begins = self.locks.range && !self.whole && backward;
        if begins && !std::mem::replace(&mut self.begun, true) {
            self.lock_gap(plan, rt, &tree, behind(&range.upper))?;
        }
        // So many entries of the earlier pass are locked, and were as their writers had left them.
        let mut locked = None;
        loop {
            rt.check_cancel()?;
            let gaps = self.locks.range && !self.whole;
            let direction = if backward { Direction::Backward } else { Direction::Forward };
            let (lower, upper) =
                (storage::keys::borrowed(&range.lower), storage::keys::borrowed(&range.upper));
            let kept = self.cursor.take();
            let goes_on = kept.is_some();
            let mut cursor = kept.unwrap_or_else(|| tree.cursor(lower, upper, direction));
            if gaps {
                cursor.at_most(self.step as u16);
            }
            self.ended.reads(rt.session().txn(&plan.db)?);
            let more = cursor.next_batch(ReadMode::Current, &mut self.batch);
            let more = more.map_err(|e| access_error(&plan.db, e))?;
            if !more {
                if gaps && !backward {
                    self.lock_gap(plan, rt, &tree, behind(&range.upper))?;
                    // A row may have come in before the gap was locked.
                    let mut cursor = tree.cursor(lower, upper, direction).beginning_with(1);
                    let more = cursor.next_batch(ReadMode::Current, &mut self.batch);
                    if more.map_err(|e| access_error(&plan.db, e))? {
                        continue;
                    }
                }
                return Ok((false, LockedSource::Done));
            }
            self.end = self.batch.len();
            if gaps {
                self.end = self.end.min(self.step);
                if locked != Some(self.end) || !self.batch.begins_as(&self.earlier, self.end) {
                    self.lock_rows_behind(plan, rt, self.end)?;
                    let pass = self.lock_page(plan, rt, &tree)?;
                    // When the table was locked in place of what was left of the page, that may
                    // have changed since the page was read.
                    if self.whole || !self.stays_as_read(plan, pass, &cursor, goes_on)? {
                        locked = (pass == LeafPass::Locked).then_some(self.end);
                        std::mem::swap(&mut self.batch, &mut self.earlier);
                        continue;
                    }
                }
                self.wanted = self.wanted.saturating_sub(self.end);
                self.step = if self.wanted > 0 { self.wanted } else { (self.step * 2).min(BATCH) };
                if !backward && self.end == self.batch.len() {
                    self.cursor = Some(cursor);
                }
            } else {
                // What was read before the table was locked may have changed.
                self.rows_behind.clear();
                self.cursor = Some(cursor);
            }
            let last = self.batch.key(self.end - 1).to_vec();
            match backward {
                true => range.upper = Bound::Excluded(last),
                false => range.lower = Bound::Excluded(last),
            }
            return Ok((true, LockedSource::Range { tree, range }));
        }
    }

    /// Whether the page at hand, whose first keys a pass has locked, is what a search for it would
    /// find under these locks. Keys that were locked before the page was read are what it has of
    /// them. One that is locked since may have changed before that, and others may have come in
    /// below it: on the leaf, or at the end of the one before where that was read on the way. A
    /// cursor that goes on has read that one earlier than any of this.
    fn stays_as_read(
        &self,
        plan: &ScanPlan,
        pass: LeafPass,
        cursor: &Cursor,
        goes_on: bool,
    ) -> Result<bool, SqlError> {
        let same = match pass {
            LeafPass::Settled if !goes_on => return Ok(true),
            LeafPass::Settled => cursor.came_as_read(),
            LeafPass::Locked => cursor.is_as_read(&self.batch),
            LeafPass::Waited => return Ok(false),
        };
        same.map_err(|e| access_error(&plan.db, e))
    }

    /// Range-locks the first keys of the page at hand and waits for their writers.
    fn lock_page(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: &BTree,
    ) -> Result<LeafPass, SqlError> {
        let batch = std::mem::take(&mut self.batch);
        let pass = self.lock_entries(plan, rt, tree, &batch);
        self.batch = batch;
        let mut pass = pass?;
        if pass != LeafPass::Waited
            && !plan.backward
            && let Some(last) = self.end.checked_sub(1)
            && !self.anchor(plan, rt, tree, last)?
        {
            pass = LeafPass::Locked;
        }
        Ok(pass)
    }

    fn lock_entries(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: &BTree,
        batch: &RowBatch,
    ) -> Result<LeafPass, SqlError> {
        let mode = self.locks.mode.with_gap();
        let (mut before, mut left) = (true, true);
        // A writer who runs is waited for before the gap is locked in which he may have more to do.
        for i in 0..self.end {
            left &= self.had_ended(plan, rt, batch.header(i).txn)?;
        }
        for i in 0..self.end {
            let key = RowName::Key(batch.key(i));
            before &= self.lock(plan, rt, tree.unit_id(), key, mode)? == Grant::Held;
        }
        Ok(LeafPass::of(left, before))
    }

    /// The scan goes on behind key `last` of the page at hand. One that may leave the index, a
    /// ghost or an entry of the reader's own, takes the lock of the gap below it along: so all that
    /// follows is locked up to the first key that stays. True when it was before.
    fn anchor(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: &BTree,
        last: usize,
    ) -> Result<bool, SqlError> {
        let own = self.txn(plan, rt)?.id();
        if !self.batch.is_ghost(last) && self.batch.header(last).txn != own {
            return Ok(true);
        }
        let key = self.batch.key(last);
        let locked = match &self.locked_to {
            Some(Name::Key(to)) => key < to.as_slice(),
            Some(Name::End) => true,
            _ => false,
        };
        let from = Bound::Excluded(key.to_vec());
        if locked { Ok(true) } else { self.lock_gap(plan, rt, tree, Some(from)) }
    }

    /// Whether the writer of a row had ended when it was read; waits for it where it still runs.
    pub(super) fn had_ended(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        writer: TxnId,
    ) -> Result<bool, SqlError> {
        let txn = rt.session().txn(&plan.db)?;
        let left = self.ended.left_by(txn, writer);
        if left == WriterState::NotYet {
            wait(&plan.db, txn, writer)?;
            self.ended.add(writer);
        }
        Ok(left == WriterState::ForGood)
    }

    /// Locks the gap that begins at `from`: every key down to the first that is committed and live,
    /// and that one. `None`: only the gap above the last key. True when all of it was locked
    /// before.
    pub(super) fn lock_gap(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: &BTree,
        from: Option<Bound<Vec<u8>>>,
    ) -> Result<bool, SqlError> {
        let mode = self.locks.mode.with_gap();
        if self.whole {
            return Ok(true);
        }
        let Some(from) = from else {
            return Ok(self.lock(plan, rt, tree.unit_id(), RowName::End, mode)? == Grant::Held);
        };
        let mut batch = RowBatch::new();
        let mut before = true;
        loop {
            rt.check_cancel()?;
            let cursor =
                tree.cursor(storage::keys::borrowed(&from), Bound::Unbounded, Direction::Forward);
            let mut cursor = cursor.beginning_with(1);
            let mut gap = self.lock_to_live(plan, rt, tree, &mut cursor, &mut batch)?;
            if gap.last == Name::End {
                let held = self.lock(plan, rt, tree.unit_id(), RowName::End, mode)? == Grant::Held;
                if !held && gap.pass == LeafPass::Settled {
                    gap.pass = LeafPass::Locked;
                }
            } else if gap.pass == LeafPass::Locked && gap.whole {
                let same = cursor.is_as_read(&batch).map_err(|e| access_error(&plan.db, e))?;
                if same {
                    (before, gap.pass) = (false, LeafPass::Settled);
                }
            }
            if gap.pass == LeafPass::Settled {
                self.locked_to = Some(gap.last);
                return Ok(before);
            }
            before = false;
        }
    }

    /// One pass of [`LockedScan::lock_gap`].
    fn lock_to_live(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: &BTree,
        cursor: &mut Cursor,
        batch: &mut RowBatch,
    ) -> Result<GapPass, SqlError> {
        let (mut left, mut before, mut whole) = (true, true, true);
        loop {
            rt.check_cancel()?;
            self.ended.reads(rt.session().txn(&plan.db)?);
            if !cursor
                .next_batch(ReadMode::Current, batch)
                .map_err(|e| access_error(&plan.db, e))?
            {
                return Ok(GapPass { last: Name::End, pass: LeafPass::of(left, before), whole });
            }
            for i in 0..batch.len() {
                let (key, mode) = (RowName::Key(batch.key(i)), self.locks.mode.with_gap());
                let writer = batch.header(i).txn;
                left &= self.had_ended(plan, rt, writer)?;
                before &= self.lock(plan, rt, tree.unit_id(), key, mode)? == Grant::Held;
                // A ghost is removed some time, one's own entry by a rollback: they do not end a
                // gap for long.
                if !batch.is_ghost(i) && writer != self.txn(plan, rt)?.id() {
                    let last = Name::Key(batch.key(i).to_vec());
                    return Ok(GapPass { last, pass: LeafPass::of(left, before), whole });
                }
            }
            whole = false;
        }
    }
}

/// Where the keys begin that lie after a range.
pub(super) fn behind(upper: &Bound<Vec<u8>>) -> Option<Bound<Vec<u8>>> {
    match upper {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(Bound::Excluded(key.clone())),
        Bound::Excluded(key) => Some(Bound::Included(key.clone())),
    }
}

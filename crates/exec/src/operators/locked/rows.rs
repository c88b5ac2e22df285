//! How the rows of a page are given out by a scan that locks them.
//!
//! - Where the table or the range is locked, nobody can have changed what was read: the rows are
//!   given as they are.
//! - A row that is to stay locked is looked at first. The condition rejects most rows without a
//!   lock; one that it accepts is locked, and given as it was read if nothing on its page has
//!   changed meanwhile.
//! - A row that is locked only while it is read (READ COMMITTED by locks) is given if its writer
//!   had ended before it was read and nobody has locked it since: the lock itself would tell no
//!   more.
//!
//! A row that the transaction has changed itself is given without a lock where those who have
//! locked it wait for the transaction.
//!
//! Any other row is locked first and read by itself then, under its lock; it may have to be waited
//! for, and what is left of its page is read again, as it is where a row turns out to have gone: it
//! may lie farther on under another key. A scan that is suspended between rows reads
//! each of them by itself, and so are rows read that have values outside them.
//!
//! Entries of an index, and the rows behind them: [`super::entries`].

use super::{LockedRows, LockedScan, LockedSource, Name};
use crate::operators::RowSet;
use crate::operators::decode::base_row;
use crate::operators::rt::Rt;
use crate::operators::scan::locator_of;
use access::RowBatch;
use pages::{TxnId, UnitId};
use plan::nodes::{Path, ScanPlan};
use std::ops::Bound;
use storage::left::is_own;
use storage::write::Locator;
use storage::{Base, access_error};
use txn::{Grant, LockMode};
use types::row::has_overflow;
use types::{SqlError, Value};

/// What came of a row as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowOutcome {
    /// It was given, or is not wanted.
    Done,
    /// It is to be read by itself.
    Alone,
    /// The same, and what comes after it is to be read again: somebody is changing rows of the
    /// page.
    Again,
}

impl LockedScan {
    /// So many rows may be given at once: a statement that wants no more of them locks no more, and
    /// a run that is suspended reads them when they are wanted. What is sure is locked already, the
    /// rows behind entries too.
    pub(super) fn most(&self, rt: &Rt<'_, '_>, out: &RowSet) -> usize {
        let several = (self.whole || self.sure || self.is_momentary()) && !rt.is_suspendable();
        if several { out.most() } else { 1 }
    }

    /// Whether a row is locked only while it is read.
    pub(super) fn is_momentary(&self) -> bool {
        !self.locks.hold && self.locks.mode == LockMode::S
    }

    /// Deals with the next row of the page; false: only after the rows in `out` have been taken.
    pub(super) fn give(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let i = self.at;
        let given = self.as_read(plan, i, rt, out)?;
        if given != RowOutcome::Done && !out.is_empty() {
            // Perhaps they are enough, and nobody needs to be waited for.
            self.held = None;
            return Ok(false);
        }
        (self.at, self.given, self.moved) = (i + 1, i, false);
        if given != RowOutcome::Done {
            self.row(plan, i, rt, out)?;
        }
        // What has gone from here may have come in behind, under another key.
        let moved =
            self.moved && !self.sure && matches!(self.source, Some(LockedSource::Range { .. }));
        if (given == RowOutcome::Again || moved) && !self.locks.read_past {
            self.read_behind(plan, rt, i)?;
        }
        Ok(true)
    }

    /// Gives row `i` as it was read, if that can be.
    fn as_read(
        &mut self,
        plan: &ScanPlan,
        i: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<RowOutcome, SqlError> {
        let covering = matches!(plan.path, Path::Index { covering: true, .. });
        // A value outside that a row has lost meanwhile may be gone. Entries have none.
        let outside = plan.store.lob.is_some() && !covering;
        if !self.sure && (rt.is_suspendable() || outside) {
            return Ok(RowOutcome::Alone);
        }
        let writer = self.batch.header(i).txn;
        if !self.ended.is_below(writer)
            && !self.ended.is_settled(rt.session().txn(&plan.db)?, writer)
        {
            return Ok(RowOutcome::Again);
        }
        if self.batch.is_ghost(i) {
            return Ok(RowOutcome::Done);
        }
        match &plan.path {
            Path::Index { index, covering: true, .. } => {
                return self.covered(plan, i, *index, rt, out);
            }
            Path::Index { index, .. } => return self.entry(plan, i, *index, rt, out),
            _ => {}
        }
        if !self.sure && has_overflow(self.batch.row(i)) {
            return Ok(RowOutcome::Alone);
        }
        let before = out.len();
        let locator = locator_of(plan, || match &plan.store.base {
            Base::Heap(_) => Locator::Rid(self.batch.rid(i)).value(),
            Base::Tree(_) => Value::bytes(self.batch.key(i).to_vec()),
        });
        base_row(plan, self.condition.of_rows(plan), self.batch.row(i), locator, rt, out)?;
        if self.sure || out.len() == before {
            return Ok(RowOutcome::Done);
        }
        let rows = match &plan.store.base {
            Base::Heap(heap) => LockedRows::Heap(heap),
            Base::Tree(tree) => LockedRows::Tree(tree),
        };
        self.keep_as_read(plan, &rows, i, rt, out)
    }

    /// Row `i` of the page, which is the last one in `out`, stays there if it can be locked as it
    /// was read.
    pub(super) fn keep_as_read(
        &mut self,
        plan: &ScanPlan,
        rows: &LockedRows<'_>,
        i: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<RowOutcome, SqlError> {
        let locked = self.lock_as_read(plan, rows, i, rt);
        let locked = out.or_pop(locked)?;
        if locked != Some(RowOutcome::Done) {
            out.pop_row();
        }
        Ok(locked.unwrap_or(RowOutcome::Done))
    }

    /// Locks row `i`, which the condition has accepted; nothing where it is in use and to be
    /// skipped.
    fn lock_as_read(
        &mut self,
        plan: &ScanPlan,
        rows: &LockedRows<'_>,
        i: usize,
        rt: &mut Rt<'_, '_>,
    ) -> Result<Option<RowOutcome>, SqlError> {
        let (unit, name) = (rows.unit(), rows.name(&self.batch, i));
        let txn = rt.session().txn(&plan.db)?;
        if is_own(txn, &self.batch, i) && !txn.row_is_free(unit, name.as_ref(), self.locks.mode) {
            return Ok(Some(RowOutcome::Done));
        }
        if self.is_momentary() {
            let free = txn.row_is_free(unit, name.as_ref(), self.locks.mode);
            return Ok(Some(if free { RowOutcome::Done } else { RowOutcome::Again }));
        }
        if self.batch.is_forwarded(i) {
            return Ok(Some(RowOutcome::Alone));
        }
        let grant = self.lock(plan, rt, unit, name.as_ref(), self.locks.mode)?;
        if grant == Grant::Busy {
            return Ok(None);
        }
        let same = rows.is_as_read(&self.batch).map_err(|e| access_error(&plan.db, e))?;
        if !same {
            // It stays locked while it is read by itself: who has waited for it long has it now.
            self.held = Some(grant);
            return Ok(Some(RowOutcome::Again));
        }
        self.leave(plan, rt, (unit, &name, grant), true)?;
        Ok(Some(RowOutcome::Done))
    }

    /// What comes after row `i` of the page is read again: there was perhaps a wait since it was
    /// read.
    fn read_behind(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        i: usize,
    ) -> Result<(), SqlError> {
        let txn = rt.session().txn(&plan.db)?;
        // Of a page of one row, what comes after it is the next page: what is known would never
        // end.
        self.ended.forget_many();
        for other in i..self.batch.len() {
            // Who has ended by now has ended before the next read.
            self.ended.left_by(txn, self.batch.header(other).txn);
        }
        match &mut self.source {
            Some(LockedSource::Heap(scan)) => {
                scan.again();
                self.from = Some((self.batch.page(), u32::from(self.batch.slot(i)) + 1));
            }
            Some(LockedSource::Range { range, .. }) => {
                let key = Bound::Excluded(self.batch.key(i).to_vec());
                if plan.backward {
                    range.upper = key;
                } else {
                    range.lower = key;
                }
            }
            _ => {}
        }
        (self.at, self.end, self.again, self.cursor) = (0, 0, true, None);
        Ok(())
    }

    /// Locks a row and reads its newest version into `into`. False: it is deleted, or skipped, and
    /// not locked.
    pub(super) fn locked_row(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        rows: &LockedRows<'_>,
        name: &Name,
        into: &mut RowBatch,
    ) -> Result<Option<Grant>, SqlError> {
        let unit = rows.unit();
        let grant = match self.held.take() {
            Some(grant) => grant,
            None if self.is_own_and_locked(plan, rt, rows, name, into)? => Grant::Held,
            None => self.lock(plan, rt, unit, name.as_ref(), self.locks.mode)?,
        };
        if grant == Grant::Busy {
            return Ok(None);
        }
        let near = &mut self.near;
        let read = |into: &mut RowBatch| {
            near.fetch(rows, name, into).map_err(|e| access_error(&plan.db, e))
        };
        let txn = rt.session().txn(&plan.db)?;
        self.alone.forget_many();
        let found = self.alone.row((&plan.db, txn), !self.locks.read_past, into, read);
        if let Ok(true) = found {
            return Ok(Some(grant));
        }
        self.moved = true;
        self.leave(plan, rt, (unit, name, grant), false)?;
        found.map(|_| None)
    }

    /// Whether a row is the transaction's own and somebody else has locked it. `into` is for the
    /// row.
    fn is_own_and_locked(
        &self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        rows: &LockedRows<'_>,
        name: &Name,
        into: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        let txn = rt.session().txn(&plan.db)?;
        if txn.id() == TxnId(0) || txn.row_is_free(rows.unit(), name.as_ref(), self.locks.mode) {
            return Ok(false);
        }
        let found = rows.fetch(name, into).map_err(|e| access_error(&plan.db, e))?;
        Ok(found && is_own(txn, into, 0))
    }

    /// A row that was locked for this scan has been read: it stays locked if it was given out and
    /// the scan holds its locks, or if none may come in beside it. Else it is given back, unless a
    /// subquery of the condition, which reads the same table, holds it.
    pub(super) fn leave(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        (unit, name, grant): (UnitId, &Name, Grant),
        given: bool,
    ) -> Result<(), SqlError> {
        if self.whole || self.locks.range {
            return Ok(());
        }
        let txn = rt.session().txn(&plan.db)?;
        if given && self.locks.hold {
            txn.keep_row(unit, name.as_ref());
            self.count(plan, rt, grant)?;
        } else if grant == Grant::New {
            txn.unlock_row(unit, name.as_ref());
        }
        Ok(())
    }

    /// Locks and reads row `i` of the page at hand and adds it to `out`, unless the condition
    /// rejects it.
    fn row(
        &mut self,
        plan: &ScanPlan,
        i: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        // A ghost may have been brought back by a rollback since the page was read.
        let (mut entry, mut lookup) =
            (std::mem::take(&mut self.entry), std::mem::take(&mut self.lookup));
        let result = match (&plan.path, &plan.store.base) {
            (Path::Index { index, .. }, _) => {
                self.indexed(plan, (i, *index), rt, (&mut entry, &mut lookup), out)
            }
            (_, Base::Heap(heap)) => self
                .base(
                    plan,
                    rt,
                    &LockedRows::Heap(heap),
                    &Name::Rid(self.batch.rid(i)),
                    &mut lookup,
                    out,
                )
                .map(drop),
            (_, Base::Tree(tree)) => {
                let name = Name::Key(self.batch.key(i).to_vec());
                let read =
                    self.base(plan, rt, &LockedRows::Tree(tree), &name, &mut lookup, out).map(drop);
                self.moved |= lookup.header(0).txn != self.batch.header(i).txn;
                read
            }
        };
        (self.entry, self.lookup) = (entry, lookup);
        result
    }

    /// A row of the heap or clustered index; whether it was given out.
    pub(super) fn base(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        rows: &LockedRows<'_>,
        name: &Name,
        lookup: &mut RowBatch,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Some(grant) = self.locked_row(plan, rt, rows, name, lookup)? else { return Ok(false) };
        self.given_row(plan, rt, (rows, name, grant), lookup, out)
    }

    /// A row that is locked and was read; whether it was given out.
    pub(super) fn given_row(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        (rows, name, grant): (&LockedRows<'_>, &Name, Grant),
        lookup: &RowBatch,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let locator = locator_of(plan, || match name {
            Name::Rid(rid) => Locator::Rid(*rid).value(),
            Name::Key(key) => Value::bytes(key.clone()),
            Name::End => Value::Null,
        });
        let before = out.len();
        let filled = base_row(plan, self.condition.of_rows(plan), lookup.row(0), locator, rt, out);
        let given = filled.is_ok() && out.len() > before;
        self.leave(plan, rt, (rows.unit(), name, grant), given)?;
        filled.map(|()| given)
    }
}

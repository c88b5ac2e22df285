//! Newest versions of rows, as UPDATE and DELETE read the rows that they are to change.
//!
//! A page is read, and only then it is known whose rows are on it. What a transaction has left that
//! was running when the page was read tells nothing: its rows may have other values, be deleted, or
//! be there again a moment later. The scan stops at the first such row, waits for who is changing
//! it, and reads what is left of the page again.
//! Guarantees: a row is judged only as its writer has left it; no row of the page is judged by what
//! was there before a wait; a page is read once more for each wait, not for each row; the session
//! hears who has written what was read, also where a row fails.

use super::super::decode::{base_row, entry_passes, index_place};
use super::{MOST, Scan, ScanSource, locator_of, may_be_long, tree_of};
use crate::operators::RowSet;
use crate::operators::rt::Rt;
use crate::operators::seek;
use access::ReadMode;
use pages::{PageId, TxnId};
use plan::nodes::{Path, ScanPlan};
use std::ops::Bound;
use storage::left::{AwaitedWriters, EndedTxns};
use storage::{TableMode, access_error};
use txn::Txn;
use types::SqlError;

/// What a scan of newest versions keeps.
#[derive(Default)]
pub(super) struct Newest {
    /// Which writers had ended before the page was read.
    ended: EndedTxns,
    /// The range whose pages are read.
    pub range: Option<seek::Range>,
    /// A page of a heap that is read again: what comes before this slot has been dealt with.
    from: Option<(PageId, u32)>,
    /// The page at hand is read again.
    again: bool,
}

/// What of a page is read again.
#[derive(Clone, Copy, Debug)]
pub enum ReadAgain {
    /// A row, by its number in the page, and what comes after it.
    From(usize),
    /// What comes after it.
    Behind(usize),
}

impl Scan {
    /// Before a page is read.
    pub(super) fn look(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        if plan.mode == TableMode::Current {
            let newest = self.newest.get_or_insert_with(Box::default);
            if !std::mem::take(&mut newest.again) {
                newest.ended.forget_many();
            }
            newest.ended.reads(rt.session().txn(&plan.db)?);
        }
        Ok(())
    }

    /// The first row of the page that has not been dealt with.
    pub fn first(&self) -> usize {
        self.at
    }

    /// Whether row `i` of the page is as its writer has left it.
    #[inline]
    pub fn is_settled(&self, i: usize, txn: &Txn) -> bool {
        self.was_left(self.batch.header(i).txn, txn)
    }

    fn was_left(&self, writer: TxnId, txn: &Txn) -> bool {
        self.newest.as_ref().is_none_or(|newest| newest.ended.is_settled(txn, writer))
    }

    /// Adds the next rows to `out`, and tells the session who has written what was read. It does so
    /// before an error, too: the rows before it may be all that the statement wants.
    pub(super) fn newest_rows(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        let added = self.add_newest(plan, rt, out);
        let writers = self.take_writers();
        let told = rt.session().has_read(&plan.db, writers, !plan.locator);
        added.and(told)
    }

    fn add_newest(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        let (most, long) = (self.most.min(out.most()), may_be_long(plan));
        let mut bytes = 0;
        while out.len() < most && bytes < MOST {
            if self.at >= self.batch.len() {
                rt.check_cancel()?;
                if !self.page(plan, rt)? {
                    break;
                }
                continue;
            }
            let (i, before) = (self.at, out.len());
            if self.newest_row(plan, i, rt, out)? {
                self.at += 1;
                if long && out.len() > before {
                    bytes += self.long_row(plan, rt, out)?;
                }
            } else if !out.is_empty() || !self.settle(plan, rt, i, AwaitedWriters::First)? {
                // Perhaps what there is is enough, and nobody needs to be waited for.
                break;
            }
        }
        Ok(())
    }

    /// Adds row `i` of the page to `out`, unless the condition rejects it. False, and nothing has
    /// happened: it, or the row behind the entry, is not settled.
    pub(super) fn newest_row(
        &mut self,
        plan: &ScanPlan,
        i: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        if !self.is_settled(i, rt.session().txn(&plan.db)?) {
            return Ok(false);
        }
        if self.batch.is_ghost(i) {
            return Ok(true);
        }
        let Path::Index { index, .. } = &plan.path else {
            return self.row(plan, i, rt, out).map(|()| true);
        };
        let index = &plan.store.indexes[*index];
        if !entry_passes(plan, index, self.batch.entry(i), rt, &mut self.tested)? {
            return Ok(true);
        }
        let place = index_place(index, self.batch.entry(i), plan)?;
        let (of, beside) = ((&*plan.db, &*plan.store), &mut self.pending.beside);
        if !storage::fetch_beside(of, beside, place, ReadMode::Current, &mut self.lookup)? {
            // Entry and row have gone since.
            return Ok(true);
        }
        if !self.was_left(self.lookup.header(0).txn, rt.session().txn(&plan.db)?) {
            return Ok(false);
        }
        if !self.lookup.is_ghost(0) {
            let test = self.condition.of_rows(plan);
            base_row(plan, test, self.lookup.row(0), locator_of(plan, || place.value()), rt, out)?;
        }
        Ok(true)
    }

    /// Row `i` is not settled: waits for those who are changing rows of the page and reads it again
    /// from there on. False at the end of the scan.
    ///
    /// # Errors
    /// 1205, 1222, a cancel; those of the storage.
    pub fn settle(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        i: usize,
        awaited: AwaitedWriters,
    ) -> Result<bool, SqlError> {
        let txn = rt.session().txn(&plan.db)?;
        if let Some(newest) = &mut self.newest {
            let (batch, lookup) = (&self.batch, &self.lookup);
            // The row behind the entry, which may be settled itself.
            let behind = matches!(plan.path, Path::Index { .. }).then(|| lookup.header(0).txn);
            let writers = behind.into_iter().chain((i..batch.len()).map(|i| batch.header(i).txn));
            newest.ended.settle((&plan.db, txn), writers, awaited)?;
        }
        self.read_again(plan, rt, ReadAgain::From(i))
    }

    /// Reads what is left of the page again; false at the end of the scan.
    ///
    /// # Errors
    /// A cancel; those of the storage.
    pub fn read_again(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        again: ReadAgain,
    ) -> Result<bool, SqlError> {
        rt.check_cancel()?;
        let (i, behind) = match again {
            ReadAgain::From(i) => (i, false),
            ReadAgain::Behind(i) => (i, true),
        };
        match &mut self.source {
            Some(ScanSource::Heap(scan)) => {
                scan.again();
                let slot = u32::from(self.batch.slot(i)) + u32::from(behind);
                if let Some(newest) = &mut self.newest {
                    newest.from = Some((self.batch.page(), slot));
                }
            }
            Some(ScanSource::Tree(_)) => {
                let range = self.newest.as_ref().and_then(|newest| newest.range.clone());
                let (Some(tree), Some(mut range)) = (tree_of(plan), range) else {
                    return Err(SqlError::internal("a scan of an index without its range"));
                };
                let key = self.batch.key(i).to_vec();
                let place = if behind { Bound::Excluded(key) } else { Bound::Included(key) };
                if self.backward {
                    range.upper = place;
                } else {
                    range.lower = place;
                }
                let source = self.cursor(tree, range);
                self.source = Some(source);
            }
            _ => return if behind { Ok(false) } else { self.point_again(plan, i, rt) },
        }
        if let Some(newest) = &mut self.newest {
            newest.again = true;
        }
        self.page(plan, rt)
    }

    /// The one row that there can be, again.
    fn point_again(
        &mut self,
        plan: &ScanPlan,
        i: usize,
        rt: &mut Rt<'_, '_>,
    ) -> Result<bool, SqlError> {
        let Some(tree) = tree_of(plan) else { return Ok(false) };
        let key = self.batch.key(i).to_vec();
        self.look(plan, rt)?;
        self.at = 0;
        tree.fetch(&key, ReadMode::Current, &mut self.batch).map_err(|e| access_error(&plan.db, e))
    }

    /// After a page has been read: the rows that were dealt with before it was read again are
    /// passed by.
    pub(super) fn pass_by(&mut self) {
        let Some(newest) = &mut self.newest else { return };
        if let Some((page, slot)) = newest.from.take()
            && self.batch.page() == page
        {
            let mut rows = 0..self.batch.len();
            let first = rows.find(|i| u32::from(self.batch.slot(*i)) >= slot);
            self.at = first.unwrap_or(self.batch.len());
        }
    }
}

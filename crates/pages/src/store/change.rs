//! Changes of pages: a record goes to the log, then its operations are applied to the latched pages
//! with its LSN.
//!
//! Guarantee: what is applied is what was logged. A record in the log that cannot be applied takes
//! the database offline: a page without it must not be written.

use super::Store;
use crate::error::PageError;
use crate::id::PageId;
use crate::op::{ApplyCtx, PageOp, RowPatch, apply, apply_patch};
use crate::pool::PageMut;
use crate::record::{RecordBuilder, RecordSink, RecordView};
use smallvec::{SmallVec, smallvec};
use wal::Lsn;

impl Store {
    /// Makes a change: appends the record through `sink` and applies its operations to the pages,
    /// which must be exactly the latched pages that the record names.
    ///
    /// # Errors
    /// What the sink says (log full or offline): nothing has changed then. A record that does not
    /// fit its pages is a fault of the caller, found too late to undo: the store goes offline.
    pub fn change(
        &self,
        sink: &mut dyn RecordSink,
        rec: &mut RecordBuilder,
        pages: &mut [&mut PageMut<'_>],
    ) -> Result<Lsn, PageError> {
        self.check_online()?;
        // A page may be changed in part then, and nobody may see or write it.
        let _guard = self.fails_on_panic("pages were changed");
        // Before the append: a checkpoint that begins in between must see the pages as dirty.
        if pages.iter().any(|page| !self.inner.is_dirty(page.frame())) {
            let at = self.log.end();
            for page in pages.iter() {
                self.inner.mark_dirty(page.frame(), at);
            }
        }
        let lsn = sink.append(rec)?;
        if let Err(e) = self.apply_to(lsn, rec, pages) {
            self.fail(&e);
            return Err(e);
        }
        Ok(lsn)
    }

    /// As [`Store::change`], for a record of [`RecordBuilder::update_in`], which is the patch of
    /// one row of this page. It is compiled for the sink, with what it calls: many statements are
    /// one such change.
    ///
    /// # Errors
    /// As [`Store::change`].
    #[inline]
    pub fn change_row<S: RecordSink>(
        &self,
        sink: &mut S,
        rec: &mut RecordBuilder,
        page: &mut PageMut<'_>,
        patch: &RowPatch<'_>,
    ) -> Result<Lsn, PageError> {
        self.check_online()?;
        let _guard = self.fails_on_panic("a page was changed");
        if !self.inner.is_dirty(page.frame()) {
            self.inner.mark_dirty(page.frame(), self.log.end());
        }
        let lsn = sink.append(rec)?;
        debug_assert!(is_patch(rec, page.page_id(), patch), "a record says what it was built from");
        let ctx = ApplyCtx { lsn, txn: rec.txn(), index: 0 };
        if let Err(e) = apply_patch(page.page_mut(), patch, &ctx) {
            return Err(self.fail_at(lsn, page.page_id(), e));
        }
        page.page_mut().set_lsn(lsn);
        Ok(lsn)
    }

    /// A change is in the log that its page does not take.
    #[cold]
    fn fail_at(&self, lsn: Lsn, page: PageId, error: PageError) -> PageError {
        let error = at_lsn(lsn, page, error);
        self.fail(&error);
        error
    }

    fn apply_to(
        &self,
        lsn: Lsn,
        rec: &RecordBuilder,
        pages: &mut [&mut PageMut<'_>],
    ) -> Result<(), PageError> {
        if let ([page], Some((id, op))) = (&mut *pages, rec.only())
            && page.page_id() == id
            && !page.is_blank()
        {
            debug_assert!(is_all_of(rec, id, &op), "a record says what it was built from");
            let ctx = ApplyCtx { lsn, txn: rec.txn(), index: 0 };
            apply(page.page_mut(), id, &op, &ctx).map_err(|e| at_lsn(lsn, id, e))?;
            page.page_mut().set_lsn(lsn);
            return Ok(());
        }
        let view = RecordView::decode(rec.bytes())?;
        if let [page] = pages {
            return self.apply_to_one(lsn, &view, page);
        }
        let mut last = 0;
        let mut touched: SmallVec<[bool; 16]> = smallvec![false; pages.len()];
        for op in view.ops() {
            let op = op?;
            if pages.get(last).is_none_or(|p| p.page_id() != op.page) {
                let found = pages.iter().position(|p| p.page_id() == op.page);
                last = found.ok_or(PageError::Apply {
                    lsn,
                    page: op.page,
                    what: "the page is not latched",
                })?;
            }
            let ctx = ApplyCtx { lsn, txn: view.txn(), index: op.index };
            let page = &mut *pages[last];
            if page.is_blank() && !op.op.rebuilds_page() && !touched[last] {
                return Err(PageError::Apply {
                    lsn,
                    page: op.page,
                    what: "a fresh page is not formatted first",
                });
            }
            apply(page.page_mut(), op.page, &op.op, &ctx).map_err(|e| at_lsn(lsn, op.page, e))?;
            if op.op.rebuilds_page() {
                self.formatted(page);
            }
            touched[last] = true;
        }
        for (i, page) in pages.iter_mut().enumerate() {
            if touched[i] {
                page.page_mut().set_lsn(lsn);
            }
        }
        Ok(())
    }

    /// A page has been formatted under its latch.
    fn formatted(&self, page: &mut PageMut<'_>) {
        self.inner.mark_formatted(page.frame());
        if page.is_blank() {
            // It was asked for when it was of no unit yet.
            self.inner.count_lookup(page.frame());
            page.filled();
        }
    }

    /// As [`Store::apply_to`], for a record of one page.
    #[inline]
    fn apply_to_one(
        &self,
        lsn: Lsn,
        view: &RecordView<'_>,
        page: &mut PageMut<'_>,
    ) -> Result<(), PageError> {
        let (id, mut touched) = (page.page_id(), false);
        for op in view.ops() {
            let op = op?;
            if op.page != id {
                return Err(PageError::Apply {
                    lsn,
                    page: op.page,
                    what: "the page is not latched",
                });
            }
            if page.is_blank() && !op.op.rebuilds_page() && !touched {
                return Err(PageError::Apply {
                    lsn,
                    page: id,
                    what: "a fresh page is not formatted first",
                });
            }
            let ctx = ApplyCtx { lsn, txn: view.txn(), index: op.index };
            apply(page.page_mut(), id, &op.op, &ctx).map_err(|e| at_lsn(lsn, id, e))?;
            if op.op.rebuilds_page() {
                self.formatted(page);
            }
            touched = true;
        }
        if touched {
            page.page_mut().set_lsn(lsn);
        }
        Ok(())
    }
}

/// Whether decoding the record gives this patch and no other operation.
fn is_patch(rec: &RecordBuilder, page: PageId, patch: &RowPatch<'_>) -> bool {
    let op = RecordView::decode(rec.bytes())
        .ok()
        .and_then(|view| view.ops().next()?.ok().map(|op| op.op));
    let Some(op @ PageOp::Update { slot, flags, at, before, new_bytes, .. }) = op else {
        return false;
    };
    let same = (slot, flags, at) == (patch.slot, patch.flags, patch.at);
    same && before.len() == patch.old_len
        && new_bytes == patch.new_bytes
        && is_all_of(rec, page, &op)
}

/// Whether decoding the record gives this operation and no other.
fn is_all_of(rec: &RecordBuilder, page: PageId, op: &PageOp<'_>) -> bool {
    let view = RecordView::decode(rec.bytes());
    view.is_ok_and(|view| {
        let mut ops = view.ops();
        let first = ops.next().is_some_and(|first| {
            first.is_ok_and(|first| first.page == page && first.index == 0 && first.op == *op)
        });
        first && ops.next().is_none() && view.txn() == rec.txn()
    })
}

pub(crate) fn at_lsn(lsn: Lsn, page: PageId, e: PageError) -> PageError {
    match e {
        PageError::Corrupt { what, .. } => PageError::Apply { lsn, page, what },
        e => e,
    }
}

//! Free extents of file 1 that a large checkpoint borrows for the images of the pages that it
//! writes (see `dwb::loan`).
//!
//! # Guarantees
//! - The log records that freed them are durable: after a crash they are still free.
//! - No page of them is dirty or on its way to the file, and nobody gets them before they are given
//!   back.
//! - At most a quarter of what is free is lent.

use super::Store;
use crate::dwb::{BATCH_IMAGES, LOAN_IMAGES, LOAN_RUNS};
use crate::error::PageError;
use crate::id::{EXTENT_PAGES, PageId};
use crate::pool::key_page;
use parking_lot::MutexGuard;
use std::ops::Range;
use std::sync::atomic::Ordering;

const PRIMARY: u16 = 1;
/// A checkpoint of fewer pages finds room in the area.
const WORTH: usize = 3 * BATCH_IMAGES;
/// Fewer runs are of no use.
pub(crate) const LEAST_RUNS: usize = 4;

/// Extents of file 1 that are lent to a checkpoint.
pub(crate) struct LentExtents<'a> {
    runs: Vec<Range<u32>>,
    /// Most images of a batch.
    pub images: usize,
    /// What is kept because it cannot be given back yet.
    kept: MutexGuard<'a, Vec<Range<u32>>>,
}

impl Store {
    /// Lends extents to a checkpoint of so many pages if it is worth it and nobody has any.
    ///
    /// # Errors
    /// The log; a failed write of the area, which takes the store offline.
    pub(crate) fn lend_extents(&self, pages: usize) -> Result<Option<LentExtents<'_>>, PageError> {
        let Some(mut kept) = self.dwb().borrower.try_lock() else { return Ok(None) };
        if !kept.is_empty() {
            let runs = std::mem::take(&mut *kept);
            self.sync_files()?;
            self.end_loan(LentExtents { runs, images: 0, kept })?;
            // The next checkpoint may borrow again.
            return Ok(None);
        }
        if pages <= WORTH {
            return Ok(None);
        }
        let wanted = pages.div_ceil(LOAN_RUNS).min(LOAN_IMAGES);
        let (images, runs) = self.set_aside(wanted);
        let runs = self.unwritten(runs);
        if runs.len() < LEAST_RUNS {
            self.take_back(&runs);
            return Ok(None);
        }
        self.log().flush_all().inspect_err(|_| self.take_back(&runs))?;
        let pages =
            |run: &Range<u32>| (run.start * EXTENT_PAGES, (run.end - run.start) * EXTENT_PAGES);
        let named: Vec<(u32, u32)> = runs.iter().map(pages).collect();
        let primary = self.file(PageId::new(PRIMARY, 0))?;
        match self.dwb().lend(&primary, &named) {
            Ok(()) => Ok(Some(LentExtents { runs, images, kept })),
            // Nothing is borrowed, and nothing lies in the extents that the page may name.
            Err(e) if self.goes_on_after(&e) => {
                self.take_back(&runs);
                Ok(None)
            }
            Err(e) => {
                self.fail(&e);
                Err(e)
            }
        }
    }

    /// Those of the runs without a page that is dirty or being written: an extent that was freed a
    /// moment ago may have some, and their write would destroy an image. The others are given back.
    /// No page of a free extent becomes dirty.
    fn unwritten(&self, runs: Vec<Range<u32>>) -> Vec<Range<u32>> {
        let mut dirty = vec![false; runs.len()];
        self.each_dirty(|key| {
            let id = key_page(key);
            let run = runs.iter().position(|run| run.contains(&(id.page / EXTENT_PAGES)));
            if let Some(run) = run.filter(|_| id.file == PRIMARY) {
                dirty[run] = true;
            }
        });
        let (dirty, clean): (Vec<_>, Vec<_>) =
            runs.into_iter().zip(dirty).partition(|(_, dirty)| *dirty);
        let runs = |list: Vec<(Range<u32>, bool)>| {
            list.into_iter().map(|(run, _)| run).collect::<Vec<_>>()
        };
        self.take_back(&runs(dirty));
        runs(clean)
    }

    /// Ends a loan if it can be ended: an extent with the only whole image of a page is kept, and a
    /// later checkpoint ends the loan. All other homes of its batches are durable.
    ///
    /// # Errors
    /// A failed sync, a failed write of the area; the store is offline then.
    pub(crate) fn end_loan(&self, lent: LentExtents<'_>) -> Result<(), PageError> {
        let LentExtents { runs, mut kept, .. } = lent;
        if self.dwb().is_lent_stuck() {
            *kept = runs;
            return Ok(());
        }
        let primary = self.file(PageId::new(PRIMARY, 0))?;
        match self.dwb().end_loan(&primary) {
            Ok(()) => self.take_back(&runs),
            Err(e) if self.goes_on_after(&e) => *kept = runs,
            Err(e) => {
                self.fail(&e);
                return Err(e);
            }
        }
        Ok(())
    }

    /// Up to [`LOAN_RUNS`] runs for so many images each, or for as many as a quarter of what is
    /// free has room for, and that number. None before the maps say what is free. A map that cannot
    /// be read is for whoever needs an extent to report.
    fn set_aside(&self, wanted: usize) -> (usize, Vec<Range<u32>>) {
        let none = (0, Vec::new());
        if !self.alloc.settled.load(Ordering::Acquire) {
            return none;
        }
        let Ok(space) = self.file(PageId::new(PRIMARY, 0)).and_then(|file| self.space(&file))
        else {
            return none;
        };
        let mut space = space.lock();
        let quarter = space.free() / 4 / LOAN_RUNS as u64;
        let extents = (wanted as u32 + 1)
            .div_ceil(EXTENT_PAGES)
            .min(u32::try_from(quarter).unwrap_or(u32::MAX));
        let images = wanted.min((extents * EXTENT_PAGES).saturating_sub(1) as usize);
        // The area has room for such batches as well.
        if images < wanted.min(BATCH_IMAGES + 1) {
            return none;
        }
        (images, (0..LOAN_RUNS).map_while(|_| space.lend(extents)).collect())
    }

    fn take_back(&self, runs: &[Range<u32>]) {
        if let Some(space) = self.alloc.space.lock().get(&PRIMARY).cloned() {
            let mut space = space.lock();
            runs.iter().for_each(|run| space.end_loan(run));
        }
    }
}

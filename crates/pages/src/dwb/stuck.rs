//! Pages whose homes could not be written: the device refused the write, and the store goes on.
//!
//! The home of such a page may be torn, so its image stays in the area, and its batch is not over.
//! Nobody writes the page in the ordinary way before that image has gone home
//! ([`Doublewrite::is_stuck`]): whoever tries again writes the image from the area, which needs no
//! room there. In the pool the page stays dirty meanwhile, whatever the image has of its changes.
//!
//! # Guarantees
//! - A batch with a stuck page keeps its slots until the page is home and durable, over a restart
//!   too.
//! - While such a batch lives, redo begins no later than the oldest change that was missing on disk
//!   when its write failed ([`Doublewrite::hold`]): the floor of later batches stays below it, so
//!   the area may have outdated images of other pages, and redo brings every page up to date that
//!   is repaired from one.

use super::{AreaState, BatchStage, Doublewrite, ProtectedBatch, SLOTS};
use crate::error::PageError;
use crate::files::DataFile;
use crate::id::PageId;
use disk::DiskError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::Lsn;

/// A page whose home could not be written.
#[derive(Clone, Debug)]
pub(crate) struct StuckPage {
    pub page: PageId,
    pub home: Arc<DataFile>,
    /// Lower bound of the records whose effect the image has and the file has not.
    pub rec_lsn: Lsn,
    /// Why.
    pub cause: DiskError,
}

/// The same, and where its image is.
#[derive(Clone, Debug)]
pub(crate) struct Stuck {
    pub of: StuckPage,
    batch: u64,
    /// Pages from the area's start on.
    pub slot: usize,
}

impl Doublewrite {
    /// The homes of a batch are written, but for these pages; `hold` is the oldest change that is
    /// missing on disk.
    pub fn keep(&self, batch: ProtectedBatch, pages: Vec<StuckPage>, hold: Option<Lsn>) {
        let mut area = self.area.lock();
        let AreaState { batches, stuck, .. } = &mut *area;
        if let Some(batch) = batches.iter_mut().find(|b| b.number == batch.0) {
            for of in pages {
                let at = batch.pages.iter().position(|page| *page == of.page);
                debug_assert!(at.is_some(), "{} is not in its batch", of.page);
                let slot = batch.slots.start + 1 + at.unwrap_or(0);
                stuck.insert(of.page, Stuck { of, batch: batch.number, slot });
            }
            (batch.stage, batch.hold) = (BatchStage::Stuck, hold);
        }
        self.stuck.store(area.stuck.len(), Ordering::Release);
        drop(area);
        self.changed.notify_all();
    }

    /// Whether the page's home could not be written, and has not been since.
    #[inline]
    pub fn is_stuck(&self, page: PageId) -> bool {
        self.stuck.load(Ordering::Acquire) > 0 && self.area.lock().stuck.contains_key(&page)
    }

    /// The stuck pages.
    pub fn stuck(&self) -> Vec<Stuck> {
        if self.stuck.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.area.lock().stuck.values().cloned().collect()
    }

    /// Why pages are stuck, if any are.
    pub fn stuck_error(&self) -> Option<PageError> {
        if self.stuck.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.area.lock().stuck_error()
    }

    /// The page is home, or has none any more.
    pub fn unstuck(&self, page: PageId) {
        let mut area = self.area.lock();
        if let Some(gone) = area.stuck.remove(&page) {
            area.settle(gone.batch);
        }
        self.stuck.store(area.stuck.len(), Ordering::Release);
        drop(area);
        self.changed.notify_all();
    }

    /// The file is given up: nothing is to be written to it any more.
    pub fn forget_file(&self, id: u16) {
        for stuck in self.stuck().into_iter().filter(|stuck| stuck.of.page.file == id) {
            self.unstuck(stuck.of.page);
            let mut area = self.area.lock();
            if let Some(batch) = area.batches.iter_mut().find(|batch| batch.number == stuck.batch) {
                batch.homes.retain(|home| home.spec.id != id);
            }
        }
    }

    /// Where redo has to begin at the latest because of stuck pages.
    pub fn hold(&self) -> Option<Lsn> {
        self.area.lock().live().filter_map(|batch| batch.hold).min()
    }

    /// The homes that are written by now are durable: no batch whose pages all went home in the end
    /// holds anything back.
    ///
    /// # Errors
    /// A failed sync.
    pub fn end_holds(&self) -> Result<(), PageError> {
        let area = self.area.lock();
        if area.live().any(|batch| batch.stage == BatchStage::Home && batch.hold.is_some()) {
            drop(self.free(area)?);
        }
        Ok(())
    }

    /// Whether borrowed extents have the only good image of a page.
    pub fn is_lent_stuck(&self) -> bool {
        self.area
            .lock()
            .batches
            .iter()
            .any(|b| b.slots.start >= SLOTS && b.stage == BatchStage::Stuck)
    }

    /// None of the batch's homes was written, nor will be: its image was not made durable.
    pub(super) fn cancel(&self, number: u64) {
        let mut area = self.area.lock();
        if let Some(batch) = area.batches.iter_mut().find(|batch| batch.number == number) {
            batch.stage = BatchStage::Over;
            batch.homes.clear();
        }
        drop(area);
        self.changed.notify_all();
    }
}

impl AreaState {
    pub(super) fn stuck_error(&self) -> Option<PageError> {
        let first = &self.stuck.values().next()?.of;
        Some(PageError::Unwritten {
            page: first.page,
            pages: self.stuck.len(),
            cause: first.cause.clone(),
        })
    }

    /// A page of the batch is no longer stuck: it may have been the last.
    fn settle(&mut self, number: u64) {
        if self.stuck.values().any(|stuck| stuck.batch == number) {
            return;
        }
        if let Some(batch) = self.batches.iter_mut().find(|batch| batch.number == number) {
            batch.stage = BatchStage::Home;
        }
    }

    /// A place as near to the area's end as possible for a few images that may stay long; none in
    /// its first half, which is left to batches that come and go.
    pub(super) fn place_at_end(&self, need: usize) -> Option<usize> {
        let free =
            |slot: usize| self.live().all(|b| b.slots.end <= slot || slot + need <= b.slots.start);
        (SLOTS / 2..=super::LOAN_SLOT.checked_sub(need)?).rev().find(|&slot| free(slot))
    }
}

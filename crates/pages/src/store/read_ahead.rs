//! Which pages of a store are read before they are wanted: those of a list that are neither in the
//! pool nor on their way to it. The threads of the pool read them; for want of a thread the caller
//! does. Guarantee: a list takes no more frames than an eighth of the pool.

use super::Store;
use crate::error::PageError;
use crate::files::DataFile;
use crate::id::PageId;
use crate::pool::{ClaimedPages, PREFETCH_PAGES, PendingReads, ReadTally, key_of, trace};
use std::sync::Arc;

impl Store {
    /// Reads those of the pages that are not in the pool, in flight together as far as the devices
    /// take them: adjacent ones by one request. Damage is not reported here but when the page is
    /// read; pages that are gone with their file or its end are passed over.
    ///
    /// # Errors
    /// I/O.
    pub fn prefetch(&self, pages: &[PageId]) -> Result<(), PageError> {
        self.start_reads(pages, true).wait()
    }

    /// The same for a scan, without waiting: its pages make room first. Failed reads are found by
    /// the thread that reads the page.
    pub fn read_ahead(&self, pages: &[PageId]) {
        // Mostly all of them are here: that costs a look at each, and nothing is made for it.
        let missing = |id: &PageId| !self.inner().contains(key_of(self.number(), *id));
        if let Some(first) = pages.iter().position(missing) {
            drop(self.start_reads(&pages[first..], true));
        }
    }

    /// As [`Store::read_ahead`], of pages that are mostly in the pool; how many are not.
    pub fn read_missing(&self, pages: &[PageId]) -> usize {
        let is_missing = |id: &PageId| !self.inner().contains(key_of(self.number(), *id));
        let missing: Vec<PageId> = pages.iter().copied().filter(is_missing).collect();
        if !missing.is_empty() {
            self.read_ahead(&missing);
        }
        missing.len()
    }

    /// The same for pages that will be wanted soon.
    #[must_use]
    pub fn start_prefetch(&self, pages: &[PageId]) -> PendingReads {
        self.start_reads(pages, false)
    }

    fn start_reads(&self, pages: &[PageId], scan: bool) -> PendingReads {
        let tally = Arc::<ReadTally>::default();
        let mut rest = pages;
        while !rest.is_empty() {
            let (claimed, taken) = self.claim(rest, scan, &tally);
            rest = &rest[taken..];
            if let Some(claimed) = claimed
                && let Err(claimed) = self.inner().reads.give(claimed, self.inner_arc())
            {
                claimed.read();
            }
        }
        PendingReads(tally)
    }

    /// Frames that one list may hold: a thread that waits for a frame may need one of them.
    fn most_claimed(&self) -> usize {
        (self.inner().frames.len() as usize / 8).clamp(8, PREFETCH_PAGES)
    }

    /// Takes frames for the first of the pages, as far as these are not in the pool; with how many
    /// pages that has seen to.
    fn claim(
        &self,
        pages: &[PageId],
        scan: bool,
        tally: &Arc<ReadTally>,
    ) -> (Option<ClaimedPages>, usize) {
        let pool = self.inner();
        let most = self.most_claimed();
        let mut files: Vec<Arc<DataFile>> = Vec::new();
        let mut claimed = Vec::new();
        let mut taken = 0;
        for &id in pages {
            if claimed.len() >= most {
                break;
            }
            taken += 1;
            let key = key_of(self.number(), id);
            if pool.contains(key) {
                continue;
            }
            let file = match files.iter().position(|file| file.spec.id == id.file) {
                Some(file) => file,
                None => {
                    let Ok(file) = self.file(id) else { continue };
                    files.push(file);
                    files.len() - 1
                }
            };
            if id.page >= files[file].pages() {
                continue;
            }
            match pool.claim(key, scan) {
                Some(Some(frame)) => claimed.push((frame, id, file)),
                Some(None) => {}
                None => {
                    // No frame for the others either.
                    taken = pages.len();
                    break;
                }
            }
        }
        if claimed.is_empty() {
            return (None, taken);
        }
        trace::ahead(claimed.len());
        let pool = Arc::clone(self.inner_arc());
        (Some(ClaimedPages::new(pool, self.number(), files, claimed, tally)), taken)
    }
}

//! Pages with ghosts that the cleanup's queue does not know: scans meet what was queued when a
//! process ended, and nodes of indexes take their ghosts along to other pages. A hint that is lost
//! costs nothing but another meeting.

use super::Store;
use crate::id::{PageId, TxnId, UnitId};
use crate::page::Page;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Hints that are kept at most; the cleanup takes them every second or so.
const MOST: usize = 4096;

/// What scans have met.
#[derive(Debug, Default)]
pub(crate) struct GhostHints {
    /// Every snapshot sees every transaction below.
    horizon: AtomicU64,
    pages: Mutex<HashSet<(UnitId, PageId)>>,
}

impl Store {
    /// A reader tells of a page that has ghosts. It counts if all rows of the page are older than
    /// the cleanup's horizon: other ghosts are in its queue.
    #[inline]
    pub fn note_ghosts(&self, page: &Page) {
        if page.ghost_count() > 0 && page.newest_writer().0 < self.ghosts.horizon.load(Relaxed) {
            let mut pages = self.ghosts.pages.lock();
            if pages.len() < MOST {
                pages.insert((page.unit(), page.id()));
            }
        }
    }

    /// Ghosts have come to this page from another one, under which they were queued.
    pub fn ghosts_moved(&self, page: &Page) {
        if page.ghost_count() > 0 {
            let mut pages = self.ghosts.pages.lock();
            if pages.len() < MOST {
                pages.insert((page.unit(), page.id()));
            }
        }
    }

    /// The pages that were told of since the last call. `horizon`: every snapshot sees every
    /// transaction below.
    pub fn take_ghosts(&self, horizon: TxnId) -> Vec<(UnitId, PageId)> {
        self.ghosts.horizon.store(horizon.0, Relaxed);
        self.ghosts.pages.lock().drain().collect()
    }
}

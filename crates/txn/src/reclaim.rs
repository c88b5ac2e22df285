//! Space that nobody needs any more goes back to the filegroups: extents whose pages are all free,
//! and, when an allocation has found no room, everything that is on its way to that at once.
//!
//! Ghosts that a crash has made the cleanup forget are looked for only then, page by page through
//! the files. A statement does that for a limited time; the cleanup thread goes on with it.
//! Guarantee: nothing that a snapshot, a rollback or a check may need is given back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pages::{ExtentId, PFS_ALLOCATED, PFS_IAM, Page, PageError, PageId, PageType, TxnId, UnitId};

use crate::background_state::SweepAt;
use crate::database::Database;
use crate::error::TxnError;

/// How long a statement looks for forgotten ghosts, and the cleanup thread each time.
const STATEMENT_SWEEP: Duration = Duration::from_secs(2);
const ROUND_SWEEP: Duration = Duration::from_millis(100);
/// After so long there may be forgotten ghosts again.
const SWEEP_AGAIN: Duration = Duration::from_secs(600);
/// So many extents are more than what the units of one statement have taken ahead of need, usually.
const SOME_EXTENTS: u64 = 16;
/// How long a clean stop removes ghosts.
const STOP_CLEANING: Duration = Duration::from_secs(1);

/// Whether the cleanup has something to do on a page: ghosts, or a page of a heap or a leaf that is
/// empty.
fn wants_cleanup(page: &Page) -> bool {
    match page.page_type() {
        Some(PageType::Data) => page.ghost_count() > 0 || page.free_bytes() >= BODY,
        Some(PageType::Index) if page.level() == 0 && !page.root().is_none() => {
            page.ghost_count() > 0 || (page.slot_count() == 0 && page.root() != page.id())
        }
        _ => false,
    }
}

/// Free bytes of a page without rows, if its slots do not count.
const BODY: usize = pages::PAGE_SIZE - pages::HEADER_SIZE - 1024;

impl Database {
    /// Gives extents of open units back to their filegroups; returns how many. `all`: also those
    /// that were taken ahead of need.
    ///
    /// # Errors
    /// The database is not online; damaged pages, I/O, the log's errors.
    pub fn release_extents(&self, all: bool) -> Result<u64, TxnError> {
        let wanted: Vec<UnitId> = {
            let units = self.open_units();
            units.open.values().filter(|u| all || u.may_release()).map(pages::Unit::id).collect()
        };
        let mut released = 0;
        for id in wanted {
            self.check_online()?;
            let _work = self.background_work();
            // The table of units stays locked, so that the unit's extents are not freed under this.
            let units = self.open_units();
            let Some(unit) = units.open.get(&id) else { continue };
            released += self.store().release_idle(unit, all)?;
        }
        Ok(released)
    }

    /// An allocation has found no room: what is about to give space back is done now, by this
    /// thread or by the one that is at it. Whether the filegroup has more room then than the caller
    /// can have given back itself. No latch may be held.
    ///
    /// # Errors
    /// The database is not online; damaged pages, I/O, the log's errors.
    pub fn reclaim(self: &Arc<Self>, filegroup: u16) -> Result<bool, TxnError> {
        let before = self.free_extents(filegroup)?;
        self.free_pending()?;
        if before > SOME_EXTENTS || self.free_extents(filegroup)? > before {
            return Ok(true);
        }
        let end = Instant::now() + STATEMENT_SWEEP;
        while self.sweep_some(end)? {
            self.free_pending()?;
            if self.free_extents(filegroup)? > before {
                return Ok(true);
            }
            if Instant::now() >= end {
                break;
            }
        }
        // The caller's own units have some, too.
        self.release_extents(true)?;
        Ok(self.free_extents(filegroup)? > before + SOME_EXTENTS)
    }

    /// Does at once what is known to give space back: dropped units, ghosts, discarded values,
    /// extents without pages.
    ///
    /// # Errors
    /// As [`Database::reclaim`].
    pub fn free_pending(self: &Arc<Self>) -> Result<(), TxnError> {
        self.run_deferred();
        self.clean_ghosts()?;
        self.free_discarded()?;
        self.release_extents(false).map(drop)
    }

    /// Looks through the whole database for ghosts that the cleanup has forgotten, and does what
    /// gives space back. For maintenance: it reads every page in use.
    ///
    /// # Errors
    /// As [`Database::reclaim`].
    pub fn free_forgotten(self: &Arc<Self>) -> Result<(), TxnError> {
        *self.sweep().at.lock() = SweepAt::NotBegun;
        while self.sweep_some(Instant::now() + STATEMENT_SWEEP)? {
            self.free_pending()?;
        }
        self.free_pending()?;
        self.release_extents(true).map(drop)
    }

    fn free_extents(&self, filegroup: u16) -> Result<u64, PageError> {
        let store = self.store();
        let files = store.files().into_iter().filter(|file| file.spec.filegroup == filegroup);
        files.map(|file| store.free_in_front(file.spec.id)).sum()
    }

    /// The cleanup thread goes on with a search that a statement has begun.
    pub(crate) fn go_on_sweeping(&self) -> Result<(), TxnError> {
        if matches!(*self.sweep().at.lock(), SweepAt::At(..)) {
            self.sweep_some(Instant::now() + ROUND_SWEEP)?;
        }
        Ok(())
    }

    /// Looks through some extents for pages that the cleanup has something to do on, and queues
    /// them. False: all have been looked through.
    fn sweep_some(&self, end: Instant) -> Result<bool, TxnError> {
        let mut at = self.sweep().at.lock();
        let (file, mut extent) = match *at {
            SweepAt::Done(when) if when.elapsed() < SWEEP_AGAIN => return Ok(false),
            SweepAt::Done(_) => (0, 0),
            SweepAt::NotBegun => (0, 0),
            SweepAt::At(file, extent) => (file, extent),
        };
        let mut ids: Vec<u16> = self.store().files().iter().map(|f| f.spec.id).collect();
        ids.sort_unstable();
        for id in ids.into_iter().filter(|id| *id >= file) {
            if id != file {
                extent = 0;
            }
            for next in self.store().allocated_extents(id)? {
                if next.extent < extent {
                    continue;
                }
                if Instant::now() >= end {
                    *at = SweepAt::At(id, next.extent);
                    return Ok(true);
                }
                self.check_online()?;
                self.sweep_extent(next)?;
            }
        }
        *at = SweepAt::Done(Instant::now());
        Ok(true)
    }

    fn sweep_extent(&self, extent: ExtentId) -> Result<(), TxnError> {
        let store = self.store();
        let pages: Vec<PageId> = extent.pages().collect();
        let mut used = Vec::new();
        for page in pages {
            if store.pfs_byte(page)? & (PFS_ALLOCATED | PFS_IAM) == PFS_ALLOCATED {
                used.push(page);
            }
        }
        store.prefetch(&used)?;
        for id in used {
            // A page that cannot be read is found by the statement that needs it.
            let Ok(page) = store.read_scan(id) else { continue };
            if wants_cleanup(&page) {
                let unit = page.unit();
                drop(page);
                self.ghosts().add(TxnId(0), vec![(unit, id)]);
            }
        }
        Ok(())
    }

    /// A clean stop: no transaction is open, so all ghosts can go. What there is no time for is
    /// found by scans later.
    pub(crate) fn tidy_up(&self) {
        if self.has_background() {
            // A failure that matters has taken the database offline.
            drop(self.clean_ghosts_until(Some(Instant::now() + STOP_CLEANING)));
            drop(self.release_extents(false));
        }
    }
}

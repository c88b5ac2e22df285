//! How often pages of allocation units were freed while the database is open: a thread that
//! remembers a page by its id, with no latch on it, finds out whether that page may be another one
//! by now.
//!
//! Guarantees: between two equal counts of a unit none of its pages was freed, provided that the
//! first count was read under a latch of the page that is remembered. Units share counters, so a
//! count may differ although nothing of this unit was freed.

use super::Store;
use crate::id::UnitId;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters; a power of two. Units are numbered one after the other, so those that are in use
/// together rarely share one.
const COUNTERS: usize = 64;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct FreedPages([AtomicU64; COUNTERS]);

impl Default for FreedPages {
    fn default() -> FreedPages {
        FreedPages([const { AtomicU64::new(0) }; COUNTERS])
    }
}

impl FreedPages {
    fn of(&self, unit: UnitId) -> &AtomicU64 {
        &self.0[unit.0 as usize % COUNTERS]
    }
}

impl Store {
    /// A number that is another one once a page of the unit was freed. To be read under a latch of
    /// the page that is to be found again.
    #[must_use]
    pub fn freed_count(&self, unit: UnitId) -> u64 {
        self.freed.of(unit).load(Ordering::Relaxed)
    }

    /// Pages of the unit are being freed. To be called under their exclusive latches: who latches
    /// such a page afterwards, or one that was linked to it afterwards, sees another count.
    pub fn note_freed(&self, unit: UnitId) {
        self.freed.of(unit).fetch_add(1, Ordering::Relaxed);
    }
}

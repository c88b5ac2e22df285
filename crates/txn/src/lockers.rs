//! Where transactions hold locks on rows: a count by unit, which writers ask before they ask for
//! locks.

use std::sync::atomic::{AtomicU32, Ordering};

use pages::UnitId;

/// Counters of a database; units share them. A power of two.
const SLOTS: usize = 1024;
/// How many transactions hold row locks, by unit.
pub(crate) struct Lockers(Box<[AtomicU32]>);

impl Default for Lockers {
    fn default() -> Self {
        Lockers((0..SLOTS).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Lockers {
    fn slot(&self, unit: UnitId) -> &AtomicU32 {
        &self.0[unit.0 as usize % SLOTS]
    }

    /// Whether there may be any. The latch under which a writer asks orders this against
    /// [`Lockers::add`].
    pub fn any(&self, unit: UnitId) -> bool {
        self.slot(unit).load(Ordering::SeqCst) != 0
    }

    pub fn add(&self, unit: UnitId) {
        self.slot(unit).fetch_add(1, Ordering::SeqCst);
    }

    pub fn remove(&self, unit: UnitId) {
        let before = self.slot(unit).fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "a locker left that had not come");
    }
}

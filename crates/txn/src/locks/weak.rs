//! Locks of tables that go beside one another (SCH-S, IS, IU, IX), where nobody wants to exclude
//! them: each owner keeps its own at its own place, and no two write one line of memory. Most
//! transactions lock their tables in no other way.
//!
//! Guarantees:
//! - While anybody holds or wants a table in a mode that excludes one of these (S, X, SCH-M and the
//!   like), all locks of the table are in the lock table, where requests wait and deadlocks are
//!   found.
//! - A lock is at one of the two places, never at both and never at none.
//!
//! Whoever excludes counts itself first, and then moves what owners keep, each under its own mutex.
//! An owner looks at the count under the same mutex before it keeps a lock: either it is moved, or
//! it finds the count. An owner that comes later finds it too, as it is entered under the mutex of
//! the list that is gone through. The order of mutexes is: list, owner, bucket.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::lists::{LockInfo, LockStatus};
use super::manager::LockManager;
use super::modes::LockMode;
use super::names::{FastBuild, OwnerId, Resource, What, Who};

/// Counters of those who exclude; tables share them. A power of two.
const PARTS: usize = 1024;

/// Locks that an owner keeps at most: it looks through them.
const MOST: usize = 16;

/// A lock that an owner keeps.
#[derive(Debug, Clone, Copy)]
struct WeakLock {
    who: Who,
    resource: Resource,
    mode: LockMode,
}

/// What one owner keeps, of one database. On lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct WeakLocks {
    db: u16,
    kept: Mutex<SmallVec<[WeakLock; 4]>>,
}

/// Owners that keep locks, and how many exclude them.
#[derive(Debug)]
pub(super) struct Keepers {
    /// How many hold or want something of this part in a mode that excludes.
    excluding: Box<[AtomicU32]>,
    /// By database.
    owners: Mutex<HashMap<u16, Vec<Arc<WeakLocks>>>>,
}

impl Default for Keepers {
    fn default() -> Self {
        let excluding = (0..PARTS).map(|_| AtomicU32::new(0)).collect();
        Keepers { excluding, owners: Mutex::default() }
    }
}

impl Keepers {
    fn part(&self, r: &Resource) -> &AtomicU32 {
        &self.excluding[FastBuild::default().hash_one(r) as usize % PARTS]
    }

    /// Whether nobody is counted.
    #[cfg(test)]
    pub fn is_quiet(&self) -> bool {
        self.excluding.iter().all(|count| count.load(SeqCst) == 0)
    }
}

fn is_table(r: &Resource) -> bool {
    matches!(r.what, What::Table(_))
}

fn goes_beside(mode: LockMode) -> bool {
    matches!(mode, LockMode::SchS | LockMode::IS | LockMode::IU | LockMode::IX)
}

/// Whether an owner may keep such a lock.
#[inline]
pub(super) fn is_weak(r: &Resource, mode: LockMode) -> bool {
    is_table(r) && goes_beside(mode)
}

/// Whether such a lock excludes some that owners keep.
#[inline]
pub(super) fn excludes(r: &Resource, mode: LockMode) -> bool {
    is_table(r) && !goes_beside(mode)
}

impl WeakLocks {
    /// The database whose locks it keeps.
    #[inline]
    pub fn db(&self) -> u16 {
        self.db
    }

    /// Takes a lock away; false: it is not here.
    #[inline]
    pub fn remove(&self, r: &Resource) -> bool {
        let mut kept = self.kept.lock();
        let at = kept.iter().position(|lock| lock.resource == *r);
        at.map(|at| kept.swap_remove(at)).is_some()
    }
}

impl LockManager {
    /// An owner will keep locks of a database.
    pub(super) fn enter_keepers(&self, db: u16) -> Arc<WeakLocks> {
        let own = Arc::new(WeakLocks { db, kept: Mutex::default() });
        self.keepers.owners.lock().entry(db).or_default().push(own.clone());
        own
    }

    /// It keeps none any more.
    pub(super) fn leave_keepers(&self, own: &Arc<WeakLocks>) {
        let mut owners = self.keepers.owners.lock();
        let Some(list) = owners.get_mut(&own.db) else { return };
        if let Some(at) = list.iter().position(|one| Arc::ptr_eq(one, own)) {
            list.swap_remove(at);
        }
        if list.is_empty() {
            owners.remove(&own.db);
        }
    }

    /// Keeps a lock that `who` does not hold; false: somebody excludes it, or there is no room, and
    /// the lock table is to be asked.
    #[inline]
    pub(super) fn keep_weak(&self, own: &WeakLocks, who: Who, resource: Resource, mode: LockMode) -> bool {
        let mut kept = own.kept.lock();
        let may = kept.len() < MOST && self.keepers.part(&resource).load(SeqCst) == 0;
        if may {
            kept.push(WeakLock { who, resource, mode });
        }
        may
    }

    /// Moves a lock that an owner keeps, if it does, into the lock table.
    pub(super) fn move_weak(&self, own: &WeakLocks, resource: &Resource) {
        let mut kept = own.kept.lock();
        if let Some(at) = kept.iter().position(|lock| lock.resource == *resource) {
            let lock = kept.swap_remove(at);
            self.bucket(resource).entry(*resource).take_over(lock.who, lock.mode);
        }
    }

    /// Somebody will ask for a table in a mode that excludes: until [`LockManager::end_excluding`]
    /// all its locks are in the lock table.
    #[cold]
    pub(super) fn begin_excluding(&self, r: &Resource) {
        self.keepers.part(r).fetch_add(1, SeqCst);
        let owners = self.keepers.owners.lock();
        for own in owners.get(&r.db).into_iter().flatten() {
            self.move_weak(own, r);
        }
    }

    /// It neither holds nor wants it any more.
    #[cold]
    pub(super) fn end_excluding(&self, r: &Resource) {
        let before = self.keepers.part(r).fetch_sub(1, SeqCst);
        debug_assert!(before > 0, "more have ended than begun");
    }

    /// What owners keep, for lists.
    pub(super) fn list_weak(&self, db: Option<u16>) -> Vec<LockInfo> {
        let owners = self.keepers.owners.lock();
        let wanted = owners.iter().filter(|(of, _)| db.is_none_or(|db| db == **of));
        let mut out = Vec::new();
        for own in wanted.flat_map(|(_, list)| list) {
            out.extend(own.kept.lock().iter().map(|lock| LockInfo {
                resource: lock.resource,
                mode: lock.mode,
                status: LockStatus::Grant,
                owner: lock.who.id,
                session: lock.who.session,
                waited_us: 0,
            }));
        }
        out
    }

    /// The mode in which `owner` keeps a lock.
    pub(super) fn mode_kept(&self, owner: OwnerId, r: &Resource) -> Option<LockMode> {
        if !is_table(r) {
            // Nobody keeps it: not all owners are asked for the mode of an application lock.
            return None;
        }
        let owners = self.keepers.owners.lock();
        owners.get(&r.db)?.iter().find_map(|own| {
            let kept = own.kept.lock();
            kept.iter().find(|lock| lock.who.id == owner && lock.resource == *r).map(|lock| lock.mode)
        })
    }
}

/// Which locks a list has already: one that is moved meanwhile is listed once.
pub(super) fn listed(list: &[LockInfo]) -> HashSet<(OwnerId, Resource), FastBuild> {
    list.iter().map(|lock| (lock.owner, lock.resource)).collect()
}

#[cfg(test)]
#[path = "weak_tests.rs"]
mod tests;

//! Locks of tables that go beside one another (SCH-S, IS, IU, IX), where nobody wants to exclude
//! them: they are kept in places of which each session has one, among a fixed number, so that
//! sessions at work rarely write one line of memory. Most transactions lock their tables in no
//! other way.
//!
//! Guarantees:
//! - While anybody holds or wants a table in a mode that excludes one of these (S, X, SCH-M and the
//!   like), all locks of the table are in the lock table, where requests wait and deadlocks are
//!   found.
//! - A lock is at one of the two, never at both and never at none.
//! - Whoever excludes looks at a bounded number of places and locks, however many sessions there
//!   are, and at nothing of sessions that hold no such lock.
//!
//! Whoever excludes counts itself first, and then moves what is kept of the table, place by place,
//! each under its mutex. An owner looks at the count under the same mutex before it keeps a lock:
//! either it is moved, or it finds the count. A place that is used for the first time is noted
//! before that look: whoever excludes and has not found the note was counted before. So it is with
//! the places of a database, which are found or made under one mutex. The order of mutexes is:
//! place, bucket; that of the databases is held for no other.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::lists::{LockInfo, LockStatus};
use super::manager::LockManager;
use super::modes::LockMode;
use super::names::{FastBuild, LockRequester, LockTarget, OwnerId, Resource};

/// Counters of those who exclude; tables share them. A power of two.
const PARTS: usize = 1024;

/// Places of a database: bits of a word.
const PLACES: usize = 64;

/// Locks of a place at most: they are looked through.
const MOST: usize = 32;

/// A lock that an owner keeps.
#[derive(Debug, Clone, Copy)]
struct WeakLock {
    who: LockRequester,
    resource: Resource,
    mode: LockMode,
}

impl WeakLock {
    fn is_of(&self, who: LockRequester, r: &Resource) -> bool {
        self.who.id == who.id && self.resource == *r
    }
}

/// Locks of the sessions that share it. On lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct LockPlace(Mutex<SmallVec<[WeakLock; 4]>>);

/// What is kept of the tables of a database. On lines of its own: it is read for each lock, and
/// references to it are counted.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct WeakLocks {
    db: u16,
    /// Places that something was kept in, as bits. None is taken back: it is soon written no more.
    used: AtomicU64,
    places: Box<[LockPlace]>,
}

/// The owners that keep locks, and how many exclude them.
#[derive(Debug)]
pub(super) struct LockKeepers {
    /// How many hold or want something of this part in a mode that excludes.
    excluding: Box<[AtomicU32]>,
    /// The places of each database, as long as there are owners that use them.
    databases: Mutex<HashMap<u16, Weak<WeakLocks>>>,
}

impl Default for LockKeepers {
    fn default() -> Self {
        let excluding = (0..PARTS).map(|_| AtomicU32::new(0)).collect();
        LockKeepers { excluding, databases: Mutex::default() }
    }
}

impl LockKeepers {
    fn part(&self, r: &Resource) -> &AtomicU32 {
        &self.excluding[FastBuild::default().hash_one(r) as usize % PARTS]
    }

    /// The places of a database, if owners use them.
    fn of(&self, db: u16) -> Option<Arc<WeakLocks>> {
        self.databases.lock().get(&db).and_then(Weak::upgrade)
    }

    /// Whether nobody is counted.
    #[cfg(test)]
    pub fn is_quiet(&self) -> bool {
        self.excluding.iter().all(|count| count.load(SeqCst) == 0)
    }
}

fn is_table(r: &Resource) -> bool {
    matches!(r.what, LockTarget::Table(_))
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
    fn new(db: u16) -> WeakLocks {
        let places = (0..PLACES).map(|_| LockPlace::default()).collect();
        WeakLocks { db, used: AtomicU64::new(0), places }
    }

    /// The database whose locks it keeps.
    #[inline]
    pub fn db(&self) -> u16 {
        self.db
    }

    /// Which place an owner has: its session's.
    #[inline]
    fn at(who: LockRequester) -> usize {
        let number = if who.session > 0 { u64::from(who.session) } else { who.id.0 };
        (number % PLACES as u64) as usize
    }

    /// The places that something was kept in.
    fn used(&self) -> impl Iterator<Item = &LockPlace> {
        let used = self.used.load(SeqCst);
        self.places
            .iter()
            .enumerate()
            .filter(move |(at, _)| used & (1 << *at) != 0)
            .map(|(_, place)| place)
    }

    /// Takes a lock away; false: it is not here.
    #[inline]
    pub fn remove(&self, who: LockRequester, r: &Resource) -> bool {
        let mut kept = self.places[Self::at(who)].0.lock();
        let at = kept.iter().position(|lock| lock.is_of(who, r));
        at.map(|at| kept.swap_remove(at)).is_some()
    }
}

impl LockManager {
    /// An owner will keep locks of a database: as long as it has this.
    pub(super) fn enter_keepers(&self, db: u16) -> Arc<WeakLocks> {
        let mut databases = self.keepers.databases.lock();
        if let Some(known) = databases.get(&db).and_then(Weak::upgrade) {
            return known;
        }
        databases.retain(|_, of| of.strong_count() > 0);
        let made = Arc::new(WeakLocks::new(db));
        databases.insert(db, Arc::downgrade(&made));
        made
    }

    /// Keeps a lock that `who` does not hold; false: somebody excludes it, or there is no room, and
    /// the lock table is to be asked.
    #[inline]
    pub(super) fn keep_weak(
        &self,
        own: &WeakLocks,
        who: LockRequester,
        resource: Resource,
        mode: LockMode,
    ) -> bool {
        let at = WeakLocks::at(who);
        if own.used.load(SeqCst) & (1 << at) == 0 {
            own.used.fetch_or(1 << at, SeqCst);
        }
        let mut kept = own.places[at].0.lock();
        let may = kept.len() < MOST && self.keepers.part(&resource).load(SeqCst) == 0;
        if may {
            kept.push(WeakLock { who, resource, mode });
        }
        may
    }

    /// Moves a lock that `who` keeps, if it still does, into the lock table.
    pub(super) fn move_weak(&self, own: &WeakLocks, who: LockRequester, resource: &Resource) {
        let mut kept = own.places[WeakLocks::at(who)].0.lock();
        if let Some(at) = kept.iter().position(|lock| lock.is_of(who, resource)) {
            let lock = kept.swap_remove(at);
            self.bucket(resource).entry(*resource).take_over(lock.who, lock.mode);
        }
    }

    /// Somebody will ask for a table in a mode that excludes: until [`LockManager::end_excluding`]
    /// all its locks are in the lock table.
    #[cold]
    pub(super) fn begin_excluding(&self, r: &Resource) {
        self.keepers.part(r).fetch_add(1, SeqCst);
        let Some(of) = self.keepers.of(r.db) else { return };
        for place in of.used() {
            place.0.lock().retain(|lock| {
                let stays = lock.resource != *r;
                if !stays {
                    self.bucket(r).entry(*r).take_over(lock.who, lock.mode);
                }
                stays
            });
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
        let of: Vec<Arc<WeakLocks>> =
            self.keepers.databases.lock().values().filter_map(Weak::upgrade).collect();
        let mut out = Vec::new();
        for of in of.iter().filter(|of| db.is_none_or(|db| db == of.db)) {
            for place in of.used() {
                out.extend(place.0.lock().iter().map(|lock| LockInfo {
                    resource: lock.resource,
                    mode: lock.mode,
                    status: LockStatus::Grant,
                    owner: lock.who.id,
                    session: lock.who.session,
                    waited_us: 0,
                }));
            }
        }
        out
    }

    /// The mode in which `owner` keeps a lock.
    pub(super) fn mode_kept(&self, owner: OwnerId, r: &Resource) -> Option<LockMode> {
        if !is_table(r) {
            // Nobody keeps it: no place is looked at for the mode of an application lock.
            return None;
        }
        let of = self.keepers.of(r.db)?;
        of.used().find_map(|place| {
            let kept = place.0.lock();
            kept.iter()
                .find(|lock| lock.who.id == owner && lock.resource == *r)
                .map(|lock| lock.mode)
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

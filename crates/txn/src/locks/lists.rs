//! What others may see of the lock table: who holds and waits, for the system views.
//! Guarantee: each list is put together resource by resource, with one short mutex at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::manager::LockManager;
use super::modes::LockMode;
use super::names::{FastBuild, LockRequester, OwnerId, Resource};
use super::waits::{Verdict, Waiter};
use super::weak::listed;

/// State of a request in sys.dm_tran_locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockStatus {
    /// Held.
    Grant,
    /// Waiting in the queue.
    Wait,
    /// Held in a weaker mode, waiting for a stronger one.
    Convert,
}

/// A row of sys.dm_tran_locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockInfo {
    /// What is locked.
    pub resource: Resource,
    /// Held or asked mode.
    pub mode: LockMode,
    /// Held or waiting.
    pub status: LockStatus,
    /// The owner.
    pub owner: OwnerId,
    /// The session of the owner.
    pub session: u32,
    /// Microseconds waited so far; 0 for a held lock.
    pub waited_us: u64,
}

/// A request that is blocked, for sys.dm_os_waiting_tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Who waits.
    pub who: LockRequester,
    /// For what.
    pub resource: Resource,
    /// In which mode.
    pub mode: LockMode,
    /// How long so far.
    pub waited: Duration,
    /// Who has to give way first: one of those that hold it, or who is ahead in the queue and
    /// conflicts.
    pub blocker: Option<LockRequester>,
}

/// Two holders that conflict with a mode: of whoever asks, one is another.
type ConflictingHolders = [Option<LockRequester>; 2];

impl LockManager {
    /// Everything held and waited for, for sys.dm_tran_locks. `db` limits to one database.
    pub fn list(&self, db: Option<u16>) -> Vec<LockInfo> {
        // What owners keep may be moved into the buckets meanwhile, never back.
        let mut out = self.list_weak(db);
        let listed = listed(&out);
        for bucket in &self.buckets {
            for (resource, entry) in
                bucket.lock().iter().filter(|(r, _)| db.is_none_or(|d| d == r.db))
            {
                let holders =
                    entry.holders.iter().filter(|g| !listed.contains(&(g.who.id, *resource)));
                out.extend(holders.map(|g| LockInfo {
                    resource: *resource,
                    mode: g.mode,
                    status: LockStatus::Grant,
                    owner: g.who.id,
                    session: g.who.session,
                    waited_us: 0,
                }));
                out.extend(entry.queue.values().map(|w| LockInfo {
                    resource: *resource,
                    mode: w.mode,
                    status: if w.conversion { LockStatus::Convert } else { LockStatus::Wait },
                    owner: w.owner,
                    session: w.session,
                    waited_us: w.since.elapsed().as_micros() as u64,
                }));
            }
        }
        out
    }

    /// The mode in which `owner` holds `resource`.
    pub fn mode_held(&self, owner: OwnerId, resource: &Resource) -> Option<LockMode> {
        // As in a list.
        let kept = self.mode_kept(owner, resource);
        kept.or_else(|| {
            self.bucket(resource).get(resource).and_then(|entry| entry.holders.mode_of(owner))
        })
    }

    /// How many requests are blocked.
    pub fn waiting_count(&self) -> usize {
        self.waiting.lock().len()
    }

    /// The requests that are blocked, as they are now.
    pub(super) fn waiters(&self) -> Vec<Arc<Waiter>> {
        let mut waiters: Vec<Arc<Waiter>> = self.waiting.lock().values().cloned().collect();
        waiters.retain(|w| w.verdict() == Verdict::Waiting);
        waiters
    }

    /// The requests that are blocked, longest first, and the owner that each waits for.
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut waiters = self.waiters();
        waiters.sort_by_key(|w| w.since);
        let mut known: HashMap<(Resource, LockMode), ConflictingHolders, FastBuild> =
            HashMap::default();
        let describe = |w: &Arc<Waiter>| Waiting {
            who: w.who(),
            resource: w.resource,
            mode: w.mode,
            waited: w.since.elapsed(),
            blocker: w.blocker.or_else(|| {
                let conflicting = known
                    .entry((w.resource, w.mode))
                    .or_insert_with(|| self.conflicting(w.resource, w.mode));
                conflicting
                    .iter()
                    .flatten()
                    .find(|who| who.id != w.owner)
                    .copied()
                    .or_else(|| self.ahead(w))
            }),
        };
        waiters.iter().map(describe).collect()
    }

    fn conflicting(&self, resource: Resource, mode: LockMode) -> ConflictingHolders {
        let bucket = self.bucket(&resource);
        let Some(entry) = bucket.get(&resource) else { return [None; 2] };
        let mut holders = entry.holders.iter().filter(|g| !g.mode.compatible(mode)).map(|g| g.who);
        [holders.next(), holders.next()]
    }

    fn ahead(&self, w: &Waiter) -> Option<LockRequester> {
        if w.conversion {
            return None;
        }
        let bucket = self.bucket(&w.resource);
        let mut ahead =
            bucket.get(&w.resource)?.queue.range(..w.queue_key()).rev().map(|(_, ahead)| ahead);
        Some(ahead.find(|ahead| !ahead.mode.compatible(w.mode))?.who())
    }
}

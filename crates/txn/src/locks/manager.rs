//! The lock manager: a table of a fixed number of buckets, each with its own mutex, and the
//! register of who waits.
//! Guarantees: a request that can be granted takes one short mutex; one that waits is registered
//! before it blocks, so that a cancel, a database that goes offline and the search for deadlocks
//! find it.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, MutexGuard};

use super::bucket::Bucket;
use super::deadlock_report::Deadlock;
use super::modes::LockMode;
use super::monitor::Monitor;
use super::names::{FastBuild, LockRequester, LockTarget, Node, OwnerId, Resource};
use super::table::LockAnswer;
use super::waits::{LockError, LockWaitStat, LockWaits, Verdict, WaitArgs, Waiter};
use super::weak::LockKeepers;
use crate::apart::Apart;
use pages::TxnId;

/// A power of two. Each bucket is short unless one owner holds very many keys.
pub(super) const BUCKETS: usize = 8192;

/// What is told of each deadlock that was broken.
type DeadlockListener = Box<dyn Fn(&Deadlock) + Send + Sync>;

/// The account from which locks take their memory.
pub trait LockMemory: Send + Sync {
    /// Takes bytes for an owner that then holds `own`; false when there are not so many.
    fn take(&self, bytes: usize, own: usize) -> bool;
    /// Gives bytes back.
    fn give(&self, bytes: usize);
}

/// The lock table of an instance.
pub struct LockManager {
    pub(super) buckets: Box<[Mutex<Bucket>]>,
    /// What owners keep of tables beside the buckets.
    pub(super) keepers: LockKeepers,
    /// Who waits, by node and ticket: the edges of the graph of waits start here.
    pub(super) waiting: Mutex<BTreeMap<(Node, u64), Arc<Waiter>>>,
    /// Databases that went offline: nobody may wait in them.
    dead: Mutex<Vec<u16>>,
    pub(super) monitor: Monitor,
    /// Held while deadlocks are looked for.
    pub(super) searching: Mutex<()>,
    pub(super) listener: OnceLock<DeadlockListener>,
    pub(super) me: Weak<LockManager>,
    /// Each transaction takes one.
    next_owner: Apart<AtomicU64>,
    next_ticket: AtomicU64,
    pub(super) waits: LockWaits,
    /// Whether what this thread does is to stop.
    interrupted: OnceLock<fn() -> bool>,
    /// Where owners of many locks take memory.
    memory: OnceLock<Box<dyn LockMemory>>,
}

impl std::fmt::Debug for LockManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockManager")
            .field("waiting", &self.waiting.lock().len())
            .finish_non_exhaustive()
    }
}

impl LockManager {
    /// An empty lock table.
    pub fn new() -> Arc<Self> {
        Arc::new_cyclic(|me| LockManager {
            buckets: (0..BUCKETS).map(|_| Mutex::default()).collect(),
            keepers: LockKeepers::default(),
            waiting: Mutex::default(),
            dead: Mutex::default(),
            monitor: Monitor::default(),
            searching: Mutex::new(()),
            listener: OnceLock::new(),
            me: me.clone(),
            next_owner: Apart::new(AtomicU64::new(1)),
            next_ticket: AtomicU64::new(1),
            waits: LockWaits::default(),
            interrupted: OnceLock::new(),
            memory: OnceLock::new(),
        })
    }

    /// What tells a thread that is about to wait whether what it does is to stop: one that is
    /// cancelled before its wait begins does not wait. The first call holds.
    pub fn set_interrupted(&self, interrupted: fn() -> bool) {
        // A second one would be the same function.
        let _ = self.interrupted.set(interrupted);
    }

    /// Where owners of many locks take memory; without one there is no bound. The first call holds.
    pub fn set_memory(&self, memory: Box<dyn LockMemory>) {
        // A second one would be of the same instance.
        let _ = self.memory.set(memory);
    }

    pub(super) fn memory(&self) -> Option<&dyn LockMemory> {
        self.memory.get().map(|memory| &**memory)
    }

    /// What is told of each deadlock, by the thread that broke it. It must not wait for locks. The
    /// first call holds.
    pub fn set_deadlock_listener(&self, listener: impl Fn(&Deadlock) + Send + Sync + 'static) {
        // A second one would be of the same instance.
        let _ = self.listener.set(Box::new(listener));
    }

    /// A new identity for a transaction or session.
    pub fn new_owner(&self) -> OwnerId {
        OwnerId(self.next_owner.fetch_add(1, Relaxed))
    }

    pub(super) fn bucket(&self, r: &Resource) -> MutexGuard<'_, Bucket> {
        let h = FastBuild::default().hash_one(r);
        self.buckets[h as usize % BUCKETS].lock()
    }

    /// Locks `resource` for `who` and returns the mode held then (the join with what was held
    /// before). Waits as `args` say.
    pub fn lock(
        &self,
        who: LockRequester,
        resource: Resource,
        mode: LockMode,
        args: WaitArgs,
    ) -> Result<LockMode, LockError> {
        let mut bucket = self.bucket(&resource);
        let entry = bucket.entry(resource);
        let (mode, conversion) = match entry.ask(who, mode) {
            LockAnswer::Held(mode) => return Ok(mode),
            LockAnswer::MustWait { mode, conversion } => (mode, conversion),
        };
        if args.timeout_ms == 0 {
            self.waits.timeouts.fetch_add(1, Relaxed);
            return Err(LockError::Timeout { resource });
        }
        // The ticket is taken under the bucket's mutex: in a queue tickets ascend in order of
        // arrival.
        let mut waiter =
            Waiter::new(&who, resource, mode, args, self.next_ticket.fetch_add(1, Relaxed));
        waiter.conversion = conversion;
        let waiter = Arc::new(waiter);
        entry.queue.insert(waiter.clone());
        drop(bucket);
        self.block(&waiter).map(|()| mode)
    }

    /// Locks `resource` for `who` if that needs no wait; the mode held then.
    pub fn try_lock(
        &self,
        who: LockRequester,
        resource: Resource,
        mode: LockMode,
    ) -> Option<LockMode> {
        match self.bucket(&resource).entry(resource).ask(who, mode) {
            LockAnswer::Held(mode) => Some(mode),
            LockAnswer::MustWait { .. } => None,
        }
    }

    /// Whether others hold `resource` in a mode that forbids `mode` to `owner`. Does not wait.
    pub fn conflicts(&self, owner: OwnerId, resource: Resource, mode: LockMode) -> bool {
        let bucket = self.bucket(&resource);
        bucket
            .get(&resource)
            .is_some_and(|e| e.holders.others_mask(owner) & !mode.compatible_mask() != 0)
    }

    /// Waits until transaction `txn` has ended. `mark` is called once the wait is certain to be
    /// noticed: it makes the transaction call [`LockManager::txn_ended`] when it ends and returns
    /// who runs it, or None when it has ended already.
    pub fn wait_txn(
        &self,
        who: LockRequester,
        db: u16,
        txn: TxnId,
        args: WaitArgs,
        mark: impl FnOnce() -> Option<LockRequester>,
    ) -> Result<(), LockError> {
        let resource = Resource { db, what: LockTarget::Txn(txn) };
        let mut bucket = self.bucket(&resource);
        let Some(blocker) = mark() else { return Ok(()) };
        debug_assert_ne!(blocker.id, who.id, "a transaction waits for itself");
        if args.timeout_ms == 0 {
            self.waits.timeouts.fetch_add(1, Relaxed);
            return Err(LockError::Timeout { resource });
        }
        let ticket = self.next_ticket.fetch_add(1, Relaxed);
        let mut waiter = Waiter::new(&who, resource, LockMode::X, args, ticket);
        waiter.blocker = Some(blocker);
        let waiter = Arc::new(waiter);
        bucket.entry(resource).queue.insert(waiter.clone());
        drop(bucket);
        self.block(&waiter)
    }

    /// Wakes all that wait for `txn`.
    pub fn txn_ended(&self, db: u16, txn: TxnId) {
        let resource = Resource { db, what: LockTarget::Txn(txn) };
        let mut bucket = self.bucket(&resource);
        let Some(i) = bucket.find(&resource) else { return };
        let queue = std::mem::take(&mut bucket.at(i).queue);
        bucket.tidy(i);
        drop(bucket);
        for w in queue.values() {
            w.decide(Verdict::Granted);
        }
    }

    fn block(&self, waiter: &Arc<Waiter>) -> Result<(), LockError> {
        let key = (waiter.node(), waiter.ticket);
        self.waiting.lock().insert(key, waiter.clone());
        // A thread that cancels sets its flag and then looks for waiters: either it finds this one,
        // or it finds the flag.
        let interrupted = self.interrupted.get().is_some_and(|interrupted| interrupted());
        if interrupted || self.dead.lock().contains(&waiter.resource.db) {
            waiter.decide(Verdict::Cancelled);
        }
        let mut verdict = waiter.wait(|| self.ask_monitor());
        if verdict == Verdict::Waiting {
            // Timed out, unless somebody decides in this moment.
            verdict =
                if waiter.decide(Verdict::Cancelled) { Verdict::Waiting } else { waiter.verdict() };
        }
        self.waiting.lock().remove(&key);
        self.waits.add(waiter.mode, waiter.since.elapsed());
        let resource = waiter.resource;
        if verdict == Verdict::Granted {
            return Ok(());
        }
        self.leave_queue(waiter);
        Err(match verdict {
            Verdict::Victim => LockError::Deadlock { resource, session: waiter.session },
            Verdict::Cancelled => LockError::Cancelled { resource },
            _ => {
                self.waits.timeouts.fetch_add(1, Relaxed);
                LockError::Timeout { resource }
            }
        })
    }

    fn leave_queue(&self, waiter: &Waiter) {
        let mut bucket = self.bucket(&waiter.resource);
        let Some(i) = bucket.find(&waiter.resource) else { return };
        bucket.at(i).leave(waiter);
        bucket.tidy(i);
    }

    /// Gives `resource` back. Nothing happens when `owner` does not hold it.
    pub fn unlock(&self, owner: OwnerId, resource: Resource) {
        let mut bucket = self.bucket(&resource);
        let Some(i) = bucket.find(&resource) else { return };
        bucket.at(i).give_back(owner);
        bucket.tidy(i);
    }

    /// Ends the waits of a session's transactions (KILL, attention). True when a wait was ended.
    pub fn cancel(&self, session: u32) -> bool {
        let node = Node::of_session(session);
        let list: Vec<_> = self
            .waiting
            .lock()
            .range((node, 0)..=(node, u64::MAX))
            .map(|(_, w)| w.clone())
            .collect();
        list.iter().filter(|w| w.decide(Verdict::Cancelled)).count() > 0
    }

    /// The database is opened again.
    pub(crate) fn revive_database(&self, db: u16) {
        self.dead.lock().retain(|d| *d != db);
    }

    /// Ends all waits in a database, present and future: it went offline, nobody will release
    /// anything.
    pub(crate) fn cancel_database(&self, db: u16) {
        self.dead.lock().push(db);
        let list: Vec<_> =
            self.waiting.lock().values().filter(|w| w.resource.db == db).cloned().collect();
        for w in list {
            w.decide(Verdict::Cancelled);
        }
    }

    /// Wait totals per LCK_M_* type, only those that occurred.
    pub fn wait_stats(&self) -> Vec<LockWaitStat> {
        self.waits.list()
    }

    /// Sets the wait totals to zero (DBCC SQLPERF ... CLEAR).
    pub fn clear_wait_stats(&self) {
        self.waits.clear();
    }

    /// Deadlocks broken and timeouts given since the start.
    pub fn counters(&self) -> (u64, u64) {
        (self.waits.deadlocks.load(Relaxed), self.waits.timeouts.load(Relaxed))
    }
}

impl Drop for LockManager {
    fn drop(&mut self) {
        self.monitor.stop();
    }
}

//! The lock table, a fixed number of buckets each with its own mutex, and the queues.
//! Guarantees: new requests are granted strictly in order of arrival; a conversion waits only for the holders it
//! conflicts with; no waiter is forgotten when a holder or a waiter in front of it leaves.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use super::waits::{LockError, LockWaitStat, LockWaits, Verdict, WaitArgs, Waiter};
use super::{FastBuild, LockMode, OwnerId, Resource, What};
use pages::TxnId;

/// A power of two. Each bucket is short unless one owner holds very many keys.
const BUCKETS: usize = 8192;

/// Who asks for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Who {
    /// Identity of the holder.
    pub id: OwnerId,
    /// The session to show in lists.
    pub session: u32,
}

#[derive(Debug)]
struct Grant {
    who: Who,
    mode: LockMode,
}

/// One locked resource.
#[derive(Debug, Default)]
struct Entry {
    granted: SmallVec<[Grant; 2]>,
    /// The modes in `granted`, as bits.
    mask: u32,
    /// Conversions first, then new requests, each in order of arrival.
    queue: VecDeque<Arc<Waiter>>,
}

/// The locked resources of one hash bucket. The last one that became idle stays, so that a lock that is taken and given
/// back again and again moves nothing.
#[derive(Debug, Default)]
struct Bucket(Vec<(Resource, Entry)>);

impl Bucket {
    fn find(&mut self, r: &Resource) -> Option<usize> {
        self.0.iter().position(|(at, _)| at == r)
    }

    fn get(&mut self, r: &Resource) -> Option<&mut Entry> {
        self.0.iter_mut().find(|(at, _)| at == r).map(|(_, e)| e)
    }

    fn entry(&mut self, r: Resource) -> &mut Entry {
        let at = match self.find(&r) {
            Some(i) => i,
            None => match self.0.iter().position(|(_, e)| e.is_idle()) {
                Some(i) => {
                    self.0[i].0 = r;
                    i
                }
                None => {
                    self.0.push((r, Entry::default()));
                    self.0.len() - 1
                }
            },
        };
        &mut self.0[at].1
    }

    fn tidy(&mut self, i: usize) {
        if self.0.len() > 1 && self.0[i].1.is_idle() {
            self.0.swap_remove(i);
        }
    }
}

/// The lock table of an instance.
pub struct LockManager {
    buckets: Box<[Mutex<Bucket>]>,
    /// The waiting owners: the edges of the wait-for graph start here.
    waiting: Mutex<HashMap<OwnerId, Arc<Waiter>, FastBuild>>,
    /// Databases that went offline: nobody may wait in them.
    dead: Mutex<Vec<u16>>,
    /// One search for deadlocks at a time.
    detector: Mutex<()>,
    next_owner: AtomicU64,
    next_ticket: AtomicU64,
    waits: LockWaits,
    /// Whether what this thread does is to stop.
    interrupted: OnceLock<fn() -> bool>,
}

impl std::fmt::Debug for LockManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockManager").field("waiting", &self.waiting.lock().len()).finish_non_exhaustive()
    }
}

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
    /// Who.
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
    pub owner: OwnerId,
    /// Its session.
    pub session: u32,
    /// For what.
    pub resource: Resource,
    /// In which mode.
    pub mode: LockMode,
    /// How long so far.
    pub waited: std::time::Duration,
    /// Owners that must give way first.
    pub blockers: Vec<OwnerId>,
}

impl Entry {
    fn position(&self, owner: OwnerId) -> Option<usize> {
        self.granted.iter().position(|g| g.who.id == owner)
    }

    fn others_mask(&self, owner: OwnerId) -> u32 {
        self.granted.iter().filter(|g| g.who.id != owner).fold(0, |m, g| m | g.mode.bit())
    }

    fn may_hold(&self, owner: OwnerId, mode: LockMode, conversion: bool) -> bool {
        let others = if conversion { self.others_mask(owner) } else { self.mask };
        others & !mode.compatible_mask() == 0
    }

    fn grant(&mut self, who: Who, mode: LockMode) {
        match self.position(who.id) {
            Some(i) => {
                self.granted[i].mode = mode;
                self.remask();
            }
            None => {
                self.granted.push(Grant { who, mode });
                self.mask |= mode.bit();
            }
        }
    }

    fn remask(&mut self) {
        self.mask = self.granted.iter().fold(0, |m, g| m | g.mode.bit());
    }

    fn enqueue(&mut self, w: Arc<Waiter>) {
        if w.conversion {
            let at = self.queue.iter().take_while(|q| q.conversion).count();
            self.queue.insert(at, w);
        } else {
            self.queue.push_back(w);
        }
    }

    /// Grants whatever has become possible.
    fn promote(&mut self) {
        let mut i = 0;
        while i < self.queue.len() {
            let w = self.queue[i].clone();
            if self.may_hold(w.owner, w.mode, w.conversion) {
                self.queue.remove(i);
                if w.decide(Verdict::Granted) {
                    self.grant(Who { id: w.owner, session: w.session }, w.mode);
                }
            } else if w.conversion {
                i += 1; // another conversion may still fit
            } else {
                break;
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.granted.is_empty() && self.queue.is_empty()
    }
}

impl Default for LockManager {
    fn default() -> Self {
        Self::new()
    }
}

impl LockManager {
    /// An empty lock table.
    pub fn new() -> Self {
        LockManager {
            buckets: (0..BUCKETS).map(|_| Mutex::default()).collect(),
            waiting: Mutex::default(),
            dead: Mutex::default(),
            detector: Mutex::new(()),
            next_owner: AtomicU64::new(1),
            next_ticket: AtomicU64::new(1),
            waits: LockWaits::default(),
            interrupted: OnceLock::new(),
        }
    }

    /// What tells a thread that is about to wait whether what it does is to stop: one that is cancelled before its wait begins does
    /// not wait. The first call holds.
    pub fn set_interrupted(&self, interrupted: fn() -> bool) {
        // A second one would be the same function.
        let _ = self.interrupted.set(interrupted);
    }

    /// A new identity for a transaction or session.
    pub fn new_owner(&self) -> OwnerId {
        OwnerId(self.next_owner.fetch_add(1, Relaxed))
    }

    fn bucket(&self, r: &Resource) -> MutexGuard<'_, Bucket> {
        use std::hash::{BuildHasher, BuildHasherDefault};
        let h = BuildHasherDefault::<super::FastHash>::default().hash_one(r);
        self.buckets[h as usize % BUCKETS].lock()
    }

    /// Locks `resource` for `who` and returns the mode held then (the join with what was held before).
    /// Waits as `args` say.
    pub fn lock(
        &self,
        who: Who,
        resource: Resource,
        mode: LockMode,
        args: WaitArgs,
    ) -> Result<LockMode, LockError> {
        let mut bucket = self.bucket(&resource);
        let entry = bucket.entry(resource);
        let held = entry.position(who.id).map(|i| entry.granted[i].mode);
        let target = held.map_or(mode, |h| h.join(mode));
        if held == Some(target) {
            return Ok(target);
        }
        let conversion = held.is_some();
        if (conversion || entry.queue.is_empty()) && entry.may_hold(who.id, target, conversion) {
            entry.grant(who, target);
            return Ok(target);
        }
        if args.timeout_ms == 0 {
            self.waits.timeouts.fetch_add(1, Relaxed);
            return Err(LockError::Timeout { resource });
        }
        let mut waiter = Waiter::new(&who, resource, target, args, self.next_ticket.fetch_add(1, Relaxed));
        waiter.conversion = conversion;
        let waiter = Arc::new(waiter);
        entry.enqueue(waiter.clone());
        drop(bucket);
        self.block(&waiter).map(|()| target)
    }

    /// Whether others hold `resource` in a mode that forbids `mode` to `owner`. Does not wait.
    pub fn conflicts(&self, owner: OwnerId, resource: Resource, mode: LockMode) -> bool {
        let mut bucket = self.bucket(&resource);
        bucket.get(&resource).is_some_and(|e| e.others_mask(owner) & !mode.compatible_mask() != 0)
    }

    /// Waits until transaction `txn` has ended. `mark` is called once the wait is registered: it makes the transaction
    /// call [`LockManager::txn_ended`] when it ends and returns who runs it, or None when it has ended already.
    pub fn wait_txn(
        &self,
        who: Who,
        db: u16,
        txn: TxnId,
        args: WaitArgs,
        mark: impl FnOnce() -> Option<OwnerId>,
    ) -> Result<(), LockError> {
        let resource = Resource { db, what: What::Txn(txn) };
        let mut bucket = self.bucket(&resource);
        let Some(blocker) = mark() else { return Ok(()) };
        debug_assert_ne!(blocker, who.id, "a transaction waits for itself");
        if args.timeout_ms == 0 {
            self.waits.timeouts.fetch_add(1, Relaxed);
            return Err(LockError::Timeout { resource });
        }
        let mut waiter =
            Waiter::new(&who, resource, LockMode::X, args, self.next_ticket.fetch_add(1, Relaxed));
        waiter.blocker = Some(blocker);
        let waiter = Arc::new(waiter);
        bucket.entry(resource).queue.push_back(waiter.clone());
        drop(bucket);
        self.block(&waiter)
    }

    /// Wakes all that wait for `txn`.
    pub fn txn_ended(&self, db: u16, txn: TxnId) {
        let resource = Resource { db, what: What::Txn(txn) };
        let mut bucket = self.bucket(&resource);
        let Some(i) = bucket.find(&resource) else { return };
        let queue = std::mem::take(&mut bucket.0[i].1.queue);
        bucket.tidy(i);
        drop(bucket);
        for w in queue {
            w.decide(Verdict::Granted);
        }
    }

    fn block(&self, waiter: &Arc<Waiter>) -> Result<(), LockError> {
        self.waiting.lock().insert(waiter.owner, waiter.clone());
        // Who cancels sets his flag and then looks for waiters: either he finds this one, or it finds the flag.
        let interrupted = self.interrupted.get().is_some_and(|interrupted| interrupted());
        if interrupted || self.dead.lock().contains(&waiter.resource.db) {
            waiter.decide(Verdict::Cancelled);
        }
        let mut verdict = waiter.wait(|| self.break_deadlocks(waiter));
        if verdict == Verdict::Waiting {
            // Timed out, unless somebody decides in this moment.
            verdict = if waiter.decide(Verdict::Cancelled) { Verdict::Waiting } else { waiter.verdict() };
        }
        self.waiting.lock().remove(&waiter.owner);
        self.waits.add(waiter.mode, waiter.since.elapsed());
        let resource = waiter.resource;
        if verdict == Verdict::Granted {
            return Ok(());
        }
        self.leave_queue(waiter);
        Err(match verdict {
            Verdict::Victim => LockError::Deadlock { resource },
            Verdict::Cancelled => LockError::Cancelled { resource },
            _ => {
                self.waits.timeouts.fetch_add(1, Relaxed);
                LockError::Timeout { resource }
            }
        })
    }

    fn leave_queue(&self, waiter: &Arc<Waiter>) {
        let mut bucket = self.bucket(&waiter.resource);
        let Some(i) = bucket.find(&waiter.resource) else { return };
        let entry = &mut bucket.0[i].1;
        entry.queue.retain(|q| !Arc::ptr_eq(q, waiter));
        // Nobody is granted a transaction: those that wait for it wait for its end.
        if waiter.blocker.is_none() {
            entry.promote();
        }
        bucket.tidy(i);
    }

    /// Gives `resource` back. Nothing happens when `owner` does not hold it.
    pub fn unlock(&self, owner: OwnerId, resource: Resource) {
        let mut bucket = self.bucket(&resource);
        let Some(i) = bucket.find(&resource) else { return };
        let entry = &mut bucket.0[i].1;
        if let Some(at) = entry.position(owner) {
            entry.granted.swap_remove(at);
            entry.remask();
            entry.promote();
        }
        bucket.tidy(i);
    }

    /// Ends the waits of a session's transactions (KILL, attention). True when a wait was ended.
    pub fn cancel(&self, session: u32) -> bool {
        let list: Vec<_> = self.waiting.lock().values().filter(|w| w.session == session).cloned().collect();
        list.iter().filter(|w| w.decide(Verdict::Cancelled)).count() > 0
    }

    /// The database is opened again.
    pub fn revive_database(&self, db: u16) {
        self.dead.lock().retain(|d| *d != db);
    }

    /// Ends all waits in a database, present and future: it went offline, nobody will release anything.
    pub fn cancel_database(&self, db: u16) {
        self.dead.lock().push(db);
        let list: Vec<_> = self.waiting.lock().values().filter(|w| w.resource.db == db).cloned().collect();
        for w in list {
            w.decide(Verdict::Cancelled);
        }
    }

    /// The owners that `w` waits for now.
    fn blockers(&self, w: &Waiter) -> Vec<OwnerId> {
        if let Some(b) = w.blocker {
            return vec![b];
        }
        let mut bucket = self.bucket(&w.resource);
        let Some(entry) = bucket.get(&w.resource) else { return Vec::new() };
        let holders = entry.granted.iter().filter(|g| g.who.id != w.owner && !g.mode.compatible(w.mode));
        let mut list: Vec<OwnerId> = holders.map(|g| g.who.id).collect();
        if !w.conversion {
            let ahead = entry.queue.iter().take_while(|q| q.ticket != w.ticket);
            list.extend(ahead.map(|q| q.owner).filter(|o| *o != w.owner));
        }
        list
    }

    fn waits_now(&self, owner: OwnerId) -> Option<Arc<Waiter>> {
        self.waiting.lock().get(&owner).filter(|w| w.verdict() == Verdict::Waiting).cloned()
    }

    /// Looks for cycles through `start` and ends each by choosing a victim.
    fn break_deadlocks(&self, start: &Arc<Waiter>) {
        let _one = self.detector.lock();
        // Bounded: a cycle that dissolves while it is being confirmed does not count as broken.
        for _ in 0..16 {
            let Some(cycle) = self.find_cycle(start) else { return };
            if !self.still_there(&cycle) {
                continue;
            }
            let victim = cycle
                .iter()
                .min_by_key(|w| (w.args.priority, w.args.log_bytes, std::cmp::Reverse(w.ticket)))
                .cloned();
            let Some(victim) = victim else { return };
            if victim.decide(Verdict::Victim) {
                self.waits.deadlocks.fetch_add(1, Relaxed);
            }
            if Arc::ptr_eq(&victim, start) {
                return;
            }
        }
    }

    /// Depth-first search along "waits for" from `start` back to its owner.
    fn find_cycle(&self, start: &Arc<Waiter>) -> Option<Vec<Arc<Waiter>>> {
        let mut seen: HashMap<OwnerId, (), FastBuild> = HashMap::default();
        let mut path: Vec<(Arc<Waiter>, Vec<OwnerId>)> = vec![(start.clone(), self.blockers(start))];
        while let Some((_, next)) = path.last_mut() {
            let Some(owner) = next.pop() else {
                path.pop();
                continue;
            };
            if owner == start.owner {
                return Some(path.into_iter().map(|(w, _)| w).collect());
            }
            if seen.insert(owner, ()).is_some() {
                continue;
            }
            if let Some(w) = self.waits_now(owner) {
                let next = self.blockers(&w);
                path.push((w, next));
            }
        }
        None
    }

    /// The search looks at one resource after the other. The cycle is real when every edge is still there and every
    /// waiter has waited in one go since it was found: a waiter neither takes nor releases locks.
    fn still_there(&self, cycle: &[Arc<Waiter>]) -> bool {
        let edges = cycle.iter().zip(cycle.iter().cycle().skip(1));
        edges.into_iter().all(|(a, b)| self.blockers(a).contains(&b.owner))
            && cycle.iter().all(|w| w.verdict() == Verdict::Waiting)
    }

    /// Everything held and waited for, for sys.dm_tran_locks. `db` limits to one database.
    pub fn list(&self, db: Option<u16>) -> Vec<LockInfo> {
        let mut out = Vec::new();
        for bucket in &self.buckets {
            for (resource, entry) in bucket.lock().0.iter().filter(|(r, _)| db.is_none_or(|d| d == r.db)) {
                out.extend(entry.granted.iter().map(|g| LockInfo {
                    resource: *resource,
                    mode: g.mode,
                    status: LockStatus::Grant,
                    owner: g.who.id,
                    session: g.who.session,
                    waited_us: 0,
                }));
                out.extend(entry.queue.iter().map(|w| LockInfo {
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

    /// The waiters, longest first, and what each waits for.
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut waiters: Vec<Arc<Waiter>> = self.waiting.lock().values().cloned().collect();
        waiters.retain(|w| w.verdict() == Verdict::Waiting);
        waiters.sort_by_key(|w| w.since);
        let describe = |w: &Arc<Waiter>| Waiting {
            owner: w.owner,
            session: w.session,
            resource: w.resource,
            mode: w.mode,
            waited: w.since.elapsed(),
            blockers: self.blockers(w),
        };
        waiters.iter().map(describe).collect()
    }

    /// For each waiter: its session and the sessions' owners that block it (blocking_session_id).
    pub fn blocking(&self, owner: OwnerId) -> Vec<OwnerId> {
        self.waits_now(owner).map_or_else(Vec::new, |w| self.blockers(&w))
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

//! The transaction table: ids, active transactions, snapshots in use, what they hold back.
//! Guarantees: ids ascend in the order in which transactions appear to snapshots; a snapshot sees a transaction if and
//! only if it had left the table when the snapshot was taken; no log that a live snapshot or transaction may need is
//! below [`TxnTable::log_hold`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::locks::{LockError, LockManager, OwnerId, WaitArgs, manager::Who};
use access::Snapshot;
use pages::{PageId, TxnId};
use wal::Lsn;

/// What the log knows of a running transaction. Its mutex is held while the transaction appends, so that a checkpoint
/// that locks it sees either the record or a transaction that will append after the checkpoint's beginning.
#[derive(Debug, Clone, Copy, Default)]
pub struct TxnLog {
    /// Its first record.
    pub begin: Lsn,
    /// Its newest record; undo starts here.
    pub last: Lsn,
    /// The newest record that marks a savepoint.
    pub savepoint: Lsn,
    /// Records written.
    pub records: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Bytes of log kept free for its rollback.
    pub reserved: u64,
    /// Pages that its rollback may have to add, and the page that was counted last.
    pub undo_pages: u64,
    pub shrunk: PageId,
    /// The record that ends it (commit or abort) is in the log.
    pub ended: bool,
}

/// A transaction that has written.
#[derive(Debug)]
pub struct TxnShared {
    /// Its id.
    pub id: TxnId,
    /// Who runs it, in the lock manager.
    pub owner: OwnerId,
    /// The session that runs it.
    pub session: u32,
    /// When it first wrote.
    pub began: SystemTime,
    /// Its trace in the log.
    pub log: Mutex<TxnLog>,
}

#[derive(Debug)]
struct Active {
    id: TxnId,
    /// A bound from below of the LSN of its first record.
    hold: Lsn,
    owner: OwnerId,
    /// Somebody waits for its end.
    waited: bool,
    shared: Arc<TxnShared>,
}

/// Live snapshots with one `xmin`.
#[derive(Debug)]
struct Bucket {
    xmin: TxnId,
    hold: Lsn,
    live: u64,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    /// Ascending by id.
    active: Vec<Active>,
    /// Ascending by xmin and by hold: both only grow with time.
    buckets: VecDeque<Bucket>,
    /// Number of the first bucket since the start.
    first_bucket: u64,
    /// The newest fully durable commit.
    newest_commit: Lsn,
}

/// Why the log cannot be truncated further than [`TxnTable::log_hold`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The oldest transaction that has written.
    Transaction(TxnId),
    /// The oldest snapshot.
    Snapshot,
}

/// The receipt of a snapshot: its place in the registry and what it may have seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    bucket: u64,
    /// The newest durable commit that the snapshot may have seen: answers wait until this is durable.
    pub commit: Lsn,
}

/// All transactions and snapshots of one database.
#[derive(Debug)]
pub struct TxnTable {
    db: u16,
    locks: Arc<LockManager>,
    inner: Mutex<Inner>,
    /// Every id below has ended. Lags behind only downwards.
    oldest: AtomicU64,
}

impl TxnTable {
    /// A table whose next transaction gets the id `next` (at least 1).
    pub fn new(db: u16, locks: Arc<LockManager>, next: TxnId) -> Self {
        let next = next.0.max(1);
        let inner = Inner { next, ..Inner::default() };
        TxnTable { db, locks, inner: Mutex::new(inner), oldest: AtomicU64::new(next) }
    }

    /// Recovery: ids up to `id` have been used.
    pub(crate) fn saw(&self, id: TxnId) {
        let mut t = self.inner.lock();
        t.next = t.next.max(id.0 + 1);
        self.publish_oldest(&t);
    }

    fn publish_oldest(&self, t: &Inner) {
        self.oldest.store(t.active.first().map_or(t.next, |a| a.id.0), Ordering::Release);
    }

    /// Gives an id and makes the transaction active. `log_end` is read before anybody can see it.
    pub(crate) fn begin(&self, who: Who, log_end: impl FnOnce() -> Lsn) -> Arc<TxnShared> {
        let began = SystemTime::now();
        let mut t = self.inner.lock();
        let id = TxnId(t.next);
        t.next += 1;
        let shared =
            Arc::new(TxnShared { id, owner: who.id, session: who.session, began, log: Mutex::default() });
        let hold = log_end();
        t.active.push(Active { id, hold, owner: who.id, waited: false, shared: shared.clone() });
        shared
    }

    /// Recovery: a loser comes back to life to be undone.
    pub(crate) fn resume(&self, who: Who, id: TxnId, log: TxnLog) -> Arc<TxnShared> {
        let shared = Arc::new(TxnShared {
            id,
            owner: who.id,
            session: who.session,
            began: SystemTime::now(),
            log: Mutex::new(log),
        });
        let mut t = self.inner.lock();
        t.next = t.next.max(id.0 + 1);
        let at = t.active.partition_point(|a| a.id < id);
        t.active
            .insert(at, Active { id, hold: log.begin, owner: who.id, waited: false, shared: shared.clone() });
        self.publish_oldest(&t);
        shared
    }

    /// Takes a transaction out of the table and wakes those that wait for it. From here on new snapshots see it.
    /// `commit` is the LSN that readers of its work have to wait for.
    pub(crate) fn end(&self, id: TxnId, commit: Option<Lsn>) {
        let mut t = self.inner.lock();
        let Ok(at) = t.active.binary_search_by_key(&id, |a| a.id) else {
            debug_assert!(false, "transaction {} ended twice", id.0);
            return;
        };
        let gone = t.active.remove(at);
        if let Some(lsn) = commit {
            t.newest_commit = t.newest_commit.max(lsn);
        }
        if at == 0 {
            self.publish_oldest(&t);
        }
        drop(t);
        if gone.waited {
            self.locks.txn_ended(self.db, id);
        }
    }

    /// Has `id` written and not yet ended?
    pub fn is_active(&self, id: TxnId) -> bool {
        if id.0 < self.oldest.load(Ordering::Acquire) {
            return false;
        }
        self.inner.lock().active.binary_search_by_key(&id, |a| a.id).is_ok()
    }

    /// Every transaction below this id has ended.
    pub fn all_ended_below(&self) -> TxnId {
        TxnId(self.oldest.load(Ordering::Acquire))
    }

    /// Waits until `txn` has ended; at once if it has.
    pub fn wait_for(&self, who: Who, txn: TxnId, args: WaitArgs) -> Result<(), LockError> {
        self.locks.wait_txn(who, self.db, txn, args, || {
            let mut t = self.inner.lock();
            let at = t.active.binary_search_by_key(&txn, |a| a.id).ok()?;
            t.active[at].waited = true;
            Some(t.active[at].owner)
        })
    }

    /// Takes a snapshot for `own` (0: has written nothing) into `into` and registers it until [`TxnTable::release`].
    pub fn snapshot(&self, own: TxnId, into: &mut Snapshot, log_end: impl FnOnce() -> Lsn) -> Ticket {
        let mut t = self.inner.lock();
        into.renew(own, TxnId(t.next), t.active.iter().map(|a| a.id));
        // The registry counts the own transaction as well: it is in `active` until it ends.
        let xmin = t.active.first().map_or(TxnId(t.next), |a| a.id);
        let commit = t.newest_commit;
        match t.buckets.back_mut() {
            Some(b) if b.xmin == xmin => b.live += 1,
            _ => {
                let hold = t.active.iter().map(|a| a.hold).min().unwrap_or_else(log_end);
                t.buckets.push_back(Bucket { xmin, hold, live: 1 });
            }
        }
        Ticket { bucket: t.first_bucket + t.buckets.len() as u64 - 1, commit }
    }

    /// Ends a snapshot.
    pub fn release(&self, ticket: Ticket) {
        let mut t = self.inner.lock();
        let at = (ticket.bucket - t.first_bucket) as usize;
        debug_assert!(t.buckets.get(at).is_some_and(|b| b.live > 0), "snapshot released twice");
        if let Some(b) = t.buckets.get_mut(at) {
            b.live -= 1;
        }
        while t.buckets.front().is_some_and(|b| b.live == 0) {
            t.buckets.pop_front();
            t.first_bucket += 1;
        }
    }

    /// Every live and future snapshot sees every transaction below: their ghosts can go.
    pub fn oldest_xmin(&self) -> TxnId {
        let t = self.inner.lock();
        let active = t.active.first().map_or(TxnId(t.next), |a| a.id);
        t.buckets.front().map_or(active, |b| b.xmin.min(active))
    }

    /// The oldest log that transactions and snapshots need, and for whom; None when nobody needs any.
    pub fn log_hold(&self) -> Option<(Lsn, Holder)> {
        let t = self.inner.lock();
        let txn = t.active.iter().min_by_key(|a| a.hold).map(|a| (a.hold, Holder::Transaction(a.id)));
        let snap = t.buckets.front().map(|b| (b.hold, Holder::Snapshot));
        match (txn, snap) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        }
    }

    /// The running transactions that have written, oldest first.
    pub fn active(&self) -> Vec<Arc<TxnShared>> {
        self.inner.lock().active.iter().map(|a| a.shared.clone()).collect()
    }

    /// The id that the next writing transaction gets.
    pub fn next_id(&self) -> TxnId {
        TxnId(self.inner.lock().next)
    }

    /// The newest fully durable commit; zero before the first.
    pub fn newest_commit(&self) -> Lsn {
        self.inner.lock().newest_commit
    }

    /// Live snapshots.
    pub fn snapshots(&self) -> u64 {
        self.inner.lock().buckets.iter().map(|b| b.live).sum()
    }

    /// The lock table of the instance.
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.locks
    }

    /// The id of the database within the lock table.
    pub fn db(&self) -> u16 {
        self.db
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lsn(n: u32) -> Lsn {
        Lsn { vlf: 1, block: n, slot: 1 }
    }

    fn table() -> (TxnTable, Who) {
        let locks = Arc::new(LockManager::new());
        let who = Who { id: locks.new_owner(), session: 51 };
        (TxnTable::new(1, locks, TxnId(10)), who)
    }

    #[test]
    fn snapshots_see_what_ended_before_them() {
        let (t, who) = table();
        let a = t.begin(who, || lsn(1));
        let b = t.begin(who, || lsn(2));
        assert_eq!((a.id, b.id), (TxnId(10), TxnId(11)));
        let mut s = Snapshot::default();
        let k1 = t.snapshot(TxnId(0), &mut s, || lsn(99));
        assert!(s.sees(TxnId(9)) && !s.sees(a.id) && !s.sees(b.id) && !s.sees(TxnId(12)));
        t.end(b.id, Some(lsn(5)));
        let mut s2 = Snapshot::default();
        let k2 = t.snapshot(a.id, &mut s2, || lsn(99));
        assert!(s2.sees(a.id) && s2.sees(b.id) && !s.sees(b.id));
        assert_eq!((k1.commit, k2.commit), (Lsn::ZERO, lsn(5)));
        assert!(t.is_active(a.id) && !t.is_active(b.id) && !t.is_active(TxnId(3)));
        t.release(k1);
        t.release(k2);
        t.end(a.id, None);
        assert_eq!(t.snapshots(), 0);
        assert_eq!(t.next_id(), TxnId(12));
    }

    #[test]
    fn holds_follow_the_oldest_transaction_and_snapshot() {
        let (t, who) = table();
        assert_eq!(t.log_hold(), None);
        let a = t.begin(who, || lsn(1));
        let mut s = Snapshot::default();
        let k1 = t.snapshot(TxnId(0), &mut s, || lsn(99));
        let b = t.begin(who, || lsn(3));
        t.end(a.id, Some(lsn(4)));
        // The snapshot still needs what the first transaction overwrote.
        assert_eq!(t.log_hold(), Some((lsn(1), Holder::Snapshot)));
        assert_eq!(t.oldest_xmin(), a.id);
        let k2 = t.snapshot(TxnId(0), &mut s, || lsn(99));
        t.release(k1);
        assert_eq!(t.log_hold(), Some((lsn(3), Holder::Transaction(b.id))));
        assert_eq!(t.oldest_xmin(), b.id);
        t.end(b.id, None);
        assert_eq!(t.log_hold(), Some((lsn(3), Holder::Snapshot)));
        t.release(k2);
        assert_eq!(t.log_hold(), None);
        assert_eq!(t.oldest_xmin(), TxnId(12));
        // With nobody active a snapshot holds the end of the log.
        let k3 = t.snapshot(TxnId(0), &mut s, || lsn(50));
        assert_eq!(t.log_hold(), Some((lsn(50), Holder::Snapshot)));
        t.release(k3);
    }

    #[test]
    fn registry_agrees_with_a_list_of_snapshots() {
        let (t, who) = table();
        let mut rng = fastrand::Rng::with_seed(7);
        let mut active: Vec<(TxnId, Lsn)> = Vec::new();
        let mut live: Vec<(Ticket, TxnId, Lsn)> = Vec::new();
        for step in 1..5000u32 {
            match rng.u32(0..4) {
                0 => {
                    let x = t.begin(who, || lsn(step));
                    active.push((x.id, lsn(step)));
                }
                1 if !active.is_empty() => {
                    let (id, _) = active.remove(rng.usize(0..active.len()));
                    t.end(id, Some(lsn(step)));
                }
                2 => {
                    let mut s = Snapshot::default();
                    let k = t.snapshot(TxnId(0), &mut s, || lsn(step));
                    let xmin = active.iter().map(|a| a.0).min().unwrap_or(t.next_id());
                    let hold = active.iter().map(|a| a.1).min().unwrap_or(lsn(step));
                    assert_eq!(s.xmin(), xmin);
                    live.push((k, xmin, hold));
                }
                _ if !live.is_empty() => t.release(live.swap_remove(rng.usize(0..live.len())).0),
                _ => {}
            }
            let xmin = live.iter().map(|l| l.1).chain(active.iter().map(|a| a.0)).min();
            assert_eq!(t.oldest_xmin(), xmin.unwrap_or(t.next_id()));
            let hold = live.iter().map(|l| l.2).chain(active.iter().map(|a| a.1)).min();
            // A bucket keeps the hold of its first snapshot: never above what is needed.
            assert_eq!(t.log_hold().is_some(), hold.is_some());
            assert!(t.log_hold().map(|h| h.0) <= hold);
            assert_eq!(t.snapshots(), live.len() as u64);
        }
    }
}

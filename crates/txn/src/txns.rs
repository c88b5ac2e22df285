//! The transaction table: ids, running transactions, snapshots in use, what they hold back.
//! Guarantees: ids ascend in the order in which transactions appear to snapshots; a snapshot sees a
//! transaction if and only if it had ended when the snapshot was taken, whenever it is asked; no
//! log that a live snapshot or transaction may need is below [`TxnTable::log_hold`]; a snapshot
//! costs the same however many transactions run.
//!
//! Transactions begin and end under one lock, which readers never take. What an end sets, it sets
//! in this order: the newest durable commit (`live::Clock`), the end's number in the ring
//! (`EndRing`), the clock's number, the oldest running ids. So whoever finds that a transaction has
//! ended, in whichever way, finds the commit that an answer made from its work has to wait for; and
//! a reader who has found the clock's number finds the ends of all transactions up to it. A
//! transaction that has no number up to the snapshot's when it is asked about will get a larger
//! one: answers do not change.

mod running;

use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::end_ring::EndRing;
use crate::live::{Clock, LiveSnapshots, SnapshotPlace};
use crate::locks::{LockError, LockManager, LockRequester, OwnerId, WaitArgs};
use crate::settled::Settled;
use access::{Endings, Snapshot};
use pages::{PageId, TxnId};
use running::{ActiveTxn, RunningTxns};
use wal::Lsn;

/// What the log knows of a running transaction. Its mutex is held while the transaction appends, so
/// that a checkpoint that locks it sees either the record or a transaction that will append after
/// the checkpoint's beginning.
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

/// Ids whose ends are looked up without a lock: 128 KB.
const RING: usize = 16 * 1024;

#[derive(Debug, Default)]
struct TxnTableState {
    next: u64,
    running: RunningTxns,
}

/// Why the log cannot be truncated further than [`TxnTable::log_hold`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogHolder {
    /// The oldest transaction that has written.
    Transaction(TxnId),
    /// The oldest snapshot.
    Snapshot,
}

/// The receipt of a snapshot: its place in the registry and what it may have seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    place: SnapshotPlace,
    /// The newest durable commit that the snapshot may have seen, or an earlier record of the same
    /// log block: answers wait until this is durable.
    pub commit: Lsn,
}

/// The shared part of a transaction, where that of a former one was unless somebody still looks at
/// it: a checkpoint, a view.
fn in_place_of(spare: Option<Arc<TxnShared>>, new: TxnShared) -> Arc<TxnShared> {
    let Some(mut shared) = spare else { return Arc::new(new) };
    match Arc::get_mut(&mut shared) {
        Some(place) => *place = new,
        None => shared = Arc::new(new),
    }
    shared
}

/// All transactions and snapshots of one database.
#[derive(Debug)]
pub struct TxnTable {
    db: u16,
    locks: Arc<LockManager>,
    inner: Mutex<TxnTableState>,
    clock: Clock,
    ring: EndRing,
    live: LiveSnapshots,
    settled: Settled,
}

impl TxnTable {
    /// A table whose next transaction gets the id `next` (at least 1).
    pub fn new(db: u16, locks: Arc<LockManager>, next: TxnId) -> Self {
        TxnTable::with_ring(db, locks, next, RING)
    }

    fn with_ring(db: u16, locks: Arc<LockManager>, next: TxnId, size: usize) -> Self {
        let next = next.0.max(1);
        TxnTable {
            db,
            locks,
            inner: Mutex::new(TxnTableState { next, ..TxnTableState::default() }),
            clock: Clock::new(next),
            ring: EndRing::new(size, next),
            live: LiveSnapshots::default(),
            settled: Settled::new(next),
        }
    }

    /// Recovery: ids up to `id` have been used.
    pub(crate) fn saw(&self, id: TxnId) {
        self.jump(&mut self.inner.lock(), id);
    }

    fn jump(&self, t: &mut TxnTableState, used: TxnId) {
        if used.0 >= t.next {
            t.next = used.0 + 1;
            self.ring.jump(t.next);
            self.clock.begun(t.next);
            self.publish_oldest(t);
        }
    }

    fn publish_oldest(&self, t: &TxnTableState) {
        let (oldest, second) = match t.running.first() {
            None => (t.next, t.next + 1),
            Some(first) => (first.id.0, t.running.second().map_or(t.next, |id| id.0)),
        };
        self.clock.set_oldest(oldest, second);
    }

    /// As [`TxnTable::begin_in`] without a transaction of before.
    #[cfg(test)]
    pub(crate) fn begin(
        &self,
        who: LockRequester,
        log_end: impl FnOnce() -> Lsn,
    ) -> Arc<TxnShared> {
        self.begin_in(None, who, log_end)
    }

    /// Gives an id and makes the transaction active. `log_end` is read before anybody can see it.
    /// `spare`: the shared part of a transaction that has ended, whose place the new one takes if
    /// nobody else has it any more.
    pub(crate) fn begin_in(
        &self,
        spare: Option<Arc<TxnShared>>,
        who: LockRequester,
        log_end: impl FnOnce() -> Lsn,
    ) -> Arc<TxnShared> {
        let began = SystemTime::now();
        let mut t = self.inner.lock();
        let id = TxnId(t.next);
        t.next += 1;
        let new =
            TxnShared { id, owner: who.id, session: who.session, began, log: Mutex::default() };
        let shared = in_place_of(spare, new);
        let hold = log_end();
        self.ring.begin(id.0, || self.live.questions());
        if t.running.first().is_none() {
            self.clock.raise_hold(hold);
        }
        t.running.push(ActiveTxn {
            id,
            hold,
            owner: who.id,
            waited: false,
            shared: shared.clone(),
        });
        // The oldest two stay what they are: where there were less, the new one's id has stood for
        // it.
        self.clock.begun(t.next);
        shared
    }

    /// Recovery: a loser comes back to life to be undone.
    pub(crate) fn resume(&self, who: LockRequester, id: TxnId, log: TxnLog) -> Arc<TxnShared> {
        let shared = Arc::new(TxnShared {
            id,
            owner: who.id,
            session: who.session,
            began: SystemTime::now(),
            log: Mutex::new(log),
        });
        let mut t = self.inner.lock();
        self.jump(&mut t, id);
        self.ring.bring_back(id.0);
        let (hold, owner) = (log.begin, who.id);
        t.running.insert(ActiveTxn { id, hold, owner, waited: false, shared: shared.clone() });
        self.clock.lower_hold(t.running.first().map_or(hold, |a| a.hold));
        self.publish_oldest(&t);
        // Now: who looks between the two would find again that it has ended.
        self.settled.lower(id);
        shared
    }

    /// Takes a transaction out of the table and wakes those that wait for it. From here on new
    /// snapshots see it. `last` is its last record (zero: it has none); `durable`: readers of its
    /// work have to wait for that.
    pub(crate) fn end(&self, id: TxnId, last: Lsn, durable: bool) {
        let mut t = self.inner.lock();
        let Some(gone) = t.running.remove(id) else {
            debug_assert!(false, "transaction {} ended twice", id.0);
            return;
        };
        if durable {
            self.clock.raise_commit(last);
        }
        let end = self.clock.next_end();
        self.ring.end(id.0, end);
        self.clock.ended(end);
        // With nobody left, what begins later writes after this.
        self.clock.raise_hold(t.running.first().map_or(last, |a| a.hold));
        self.publish_oldest(&t);
        drop(t);
        if gone.waited {
            self.locks.txn_ended(self.db, id);
        }
    }

    /// Has `id` written and not yet ended?
    pub fn is_active(&self, id: TxnId) -> bool {
        id.0 >= self.clock.oldest() && id.0 < self.clock.next() && self.ring.is_running(id.0)
    }

    /// Every transaction below this id has ended.
    pub fn all_ended_below(&self) -> TxnId {
        TxnId(self.clock.oldest())
    }

    /// Every transaction below this id has ended, and those of them that committed fully durably
    /// are on disk, as far as was known when this was looked at last.
    #[inline]
    pub(crate) fn settled_below(&self) -> TxnId {
        self.settled.below()
    }

    /// The same, after a look at what has become durable since.
    pub(crate) fn look_for_settled(&self, is_durable: impl Fn(Lsn) -> bool) -> TxnId {
        self.settled.look(&self.clock, is_durable)
    }

    /// Waits until `txn` has ended; at once if it has.
    pub fn wait_for(
        &self,
        who: LockRequester,
        txn: TxnId,
        args: WaitArgs,
    ) -> Result<(), LockError> {
        self.locks.wait_txn(who, self.db, txn, args, || {
            let mut t = self.inner.lock();
            let active = t.running.get_mut(txn)?;
            active.waited = true;
            Some(LockRequester { id: active.owner, session: active.shared.session })
        })
    }

    /// Takes a snapshot for `own` (0: has written nothing) and registers it until
    /// [`TxnTable::release`]. `stays`: it is kept for longer than a statement.
    pub fn snapshot(&self, own: TxnId, stays: bool) -> (Snapshot, Ticket) {
        let (snapshot, place) = self.live.take(&self.clock, own, stays);
        (snapshot, Ticket { place, commit: self.clock.commit() })
    }

    /// Ends a snapshot and takes another.
    pub fn renew(&self, former: Ticket, own: TxnId) -> (Snapshot, Ticket) {
        let (snapshot, place) = self.live.retake(former.place, &self.clock, own);
        (snapshot, Ticket { place, commit: self.clock.commit() })
    }

    /// Ends a snapshot.
    pub fn release(&self, ticket: Ticket) {
        self.live.release(ticket.place);
    }

    /// Who answers the questions of snapshots.
    pub fn endings(&self) -> &dyn Endings {
        &self.ring
    }

    /// Every live and future snapshot sees every transaction below: their ghosts can go.
    pub(crate) fn oldest_xmin(&self) -> TxnId {
        let mut oldest = self.clock.oldest();
        self.live.each(|s| oldest = oldest.min(s.xmin));
        TxnId(oldest)
    }

    /// The oldest log that transactions and snapshots need, and what needs it; None when nobody
    /// needs any.
    pub fn log_hold(&self) -> Option<(Lsn, LogHolder)> {
        let t = self.inner.lock();
        let txn = t.running.first().map(|a| (a.hold, LogHolder::Transaction(a.id)));
        let mut least = None;
        self.live.each(|s| least = Some(least.map_or(s.hold, |least: u64| least.min(s.hold))));
        let snap = least.map(|key| (Lsn::of_key(key), LogHolder::Snapshot));
        match (txn, snap) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        }
    }

    /// Snapshots that are taken from now on need no log from before now, if nobody runs.
    pub(crate) fn note_log_end(&self, log_end: impl FnOnce() -> Lsn) {
        let t = self.inner.lock();
        if t.running.first().is_none() {
            self.clock.raise_hold(log_end());
        }
    }

    /// The running transactions that have written, oldest first.
    pub fn active(&self) -> Vec<Arc<TxnShared>> {
        self.inner.lock().running.iter().map(|a| a.shared.clone()).collect()
    }

    /// The id that the next writing transaction gets.
    pub fn next_id(&self) -> TxnId {
        TxnId(self.clock.next())
    }

    /// The newest fully durable commit, or an earlier record of the same log block; zero before the
    /// first.
    pub(crate) fn newest_commit(&self) -> Lsn {
        self.clock.commit()
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
#[path = "txns_tests.rs"]
mod tests;

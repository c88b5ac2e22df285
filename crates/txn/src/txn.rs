//! One transaction: its identity, its log chain, its locks, its end. Guarantees: nothing is logged
//! before the first change; a failed append leaves the transaction able to roll back; rows and
//! locks are free once the commit record is in the log buffer, the caller is answered when it is
//! durable; a transaction that is dropped is rolled back.

mod commit;
mod row_locks;
mod undo;
mod write;

use row_locks::RowLocks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use pages::{LatestUpdates, PageError, PageId, RecordKind, TxnId, UnitId, boundary_record};
use wal::Lsn;

use crate::database::{Database, Deferred, Status};
use crate::error::TxnError;
use crate::locks::{LockMode, LockOwner, LockTarget, Resource, WaitArgs};
use crate::sink::append_at_any_cost;
use crate::snapshot::SnapshotGuard;
use crate::txns::{TxnLog, TxnShared};

/// A place in a transaction to which it can return.
#[derive(Debug, Clone, Copy)]
pub struct Savepoint {
    lsn: Lsn,
    deferred: usize,
    /// Log that was kept free for the rollback of what came before.
    reserved: u64,
}

/// The end of a transaction's chain of records.
#[derive(Debug, Clone, Copy, Default)]
struct NewestRecord {
    lsn: Lsn,
    reserved: u64,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The commit record; zero for a transaction that wrote nothing.
    pub lsn: Lsn,
    /// The answer waited for the log.
    pub durable: bool,
}

/// A transaction. Used by one thread at a time.
pub struct Txn {
    db: Arc<Database>,
    shared: Option<Arc<TxnShared>>,
    /// The shared part of the transaction that was here before: room for this one's.
    spare: Option<Arc<TxnShared>>,
    /// Locks of this transaction.
    pub locks: LockOwner,
    /// How it waits: LOCK_TIMEOUT and DEADLOCK_PRIORITY; and the log that the session's other
    /// transactions have written.
    pub wait: WaitArgs,
    ghosts: Vec<(UnitId, PageId)>,
    deferred: Vec<Deferred>,
    doomed: bool,
    ended: bool,
    /// Another database decides on it.
    prepared: bool,
    /// Its newest record and what is kept free for its rollback: as in the shared part, which only
    /// this thread changes.
    newest: NewestRecord,
    latest: LatestUpdates,
    pub(crate) waited: AtomicBool,
    /// Its locks on rows.
    pub(crate) rows: RowLocks,
}

impl std::fmt::Debug for Txn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Txn")
            .field("id", &self.id())
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

/// The time as it is kept in begin, commit and checkpoint records: microseconds since 1970, UTC,
/// little-endian.
pub(crate) fn time_bytes() -> [u8; 8] {
    now_us().to_le_bytes()
}

/// Now, in microseconds since 1970, UTC.
pub(crate) fn now_us() -> u64 {
    micros(SystemTime::now())
}

fn micros(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

impl Database {
    /// Begins a transaction for `session`, which waits for locks without end.
    #[inline]
    pub fn begin(self: &Arc<Self>, session: u32) -> Result<Txn, TxnError> {
        self.begin_waiting(session, WaitArgs::default())
    }

    /// Begins a transaction for `session`, which waits as `wait` says.
    #[inline]
    pub fn begin_waiting(self: &Arc<Self>, session: u32, wait: WaitArgs) -> Result<Txn, TxnError> {
        self.check_online()?;
        self.counters().begins();
        Ok(Txn::new(self.clone(), session, wait))
    }
}

impl Txn {
    #[inline]
    pub(crate) fn new(db: Arc<Database>, session: u32, wait: WaitArgs) -> Txn {
        let locks = LockOwner::new(db.locks().clone(), session);
        Txn {
            db,
            shared: None,
            spare: None,
            locks,
            wait,
            ghosts: Vec::new(),
            deferred: Vec::new(),
            doomed: false,
            ended: false,
            prepared: false,
            newest: NewestRecord::default(),
            latest: LatestUpdates::default(),
            waited: AtomicBool::new(false),
            rows: RowLocks::default(),
        }
    }

    /// Begins the next transaction of the session in the place of this one, which has ended: that
    /// takes no memory, and no reference to what all sessions share. False, and nothing has
    /// happened: it has not ended, or the database is not online.
    #[inline]
    pub fn begin_again(&mut self, wait: WaitArgs) -> bool {
        if !self.ended || self.prepared || self.db.status() != Status::Online {
            return false;
        }
        self.db.counters().begins();
        self.locks.begin_again();
        self.wait = wait;
        // A transaction that has only read leaves what the one before it had.
        if let Some(shared) = self.shared.take() {
            self.spare = Some(shared);
            (self.newest, self.latest) = (NewestRecord::default(), LatestUpdates::default());
        }
        self.ghosts.clear();
        self.deferred.clear();
        (self.doomed, self.ended) = (false, false);
        self.waited = AtomicBool::new(false);
        true
    }

    /// Recovery: takes up a transaction that was running when the database died.
    pub(crate) fn resume(db: Arc<Database>, id: TxnId, log: TxnLog) -> Txn {
        let mut t = Txn::new(db, 0, WaitArgs::default());
        t.newest = NewestRecord { lsn: log.last, reserved: log.reserved };
        t.shared = Some(t.db.txns().resume(t.locks.who(), id, log));
        t
    }

    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// The id; `TxnId(0)` before the first change.
    #[inline]
    pub fn id(&self) -> TxnId {
        self.shared.as_ref().map_or(TxnId(0), |s| s.id)
    }

    /// The id, which the transaction gets now if it has changed nothing yet: for what is given to
    /// it before its first change.
    ///
    /// # Errors
    /// The log is full or has failed.
    pub fn begun(&mut self) -> Result<TxnId, TxnError> {
        if self.shared.is_none() {
            self.begin()?;
        }
        Ok(self.id())
    }

    pub(crate) fn shared(&self) -> Option<Arc<TxnShared>> {
        self.shared.clone()
    }

    /// Has it changed anything (or begun to)?
    #[inline]
    pub fn has_written(&self) -> bool {
        self.shared.is_some()
    }

    /// Its trace in the log so far.
    pub fn log_state(&self) -> TxnLog {
        self.shared.as_ref().map_or_else(TxnLog::default, |s| *s.log.lock())
    }

    /// Only a rollback is possible any more (a failed rollback to a savepoint, a deadlock).
    pub(crate) fn is_doomed(&self) -> bool {
        self.doomed
    }

    pub(crate) fn wait_args(&self) -> WaitArgs {
        WaitArgs { log_bytes: self.log_state().bytes + self.wait.log_bytes, ..self.wait }
    }

    /// Locks something of this database until the end of the transaction.
    #[inline]
    pub fn lock(&mut self, what: LockTarget, mode: LockMode) -> Result<(), TxnError> {
        let r = Resource { db: self.db.id(), what };
        if self.locks.holds(&r, mode, false) {
            return Ok(());
        }
        let args = self.wait_args();
        Ok(self.locks.lock(r, mode, args)?)
    }

    /// Locks something of this database until [`LockOwner::end_statement`].
    #[inline]
    pub fn lock_statement(&mut self, what: LockTarget, mode: LockMode) -> Result<(), TxnError> {
        let r = Resource { db: self.db.id(), what };
        if self.locks.holds(&r, mode, true) {
            return Ok(());
        }
        let args = self.wait_args();
        Ok(self.locks.lock_statement(r, mode, args)?)
    }

    /// Waits until the writer of a row has ended. No latch may be held.
    pub fn wait_for(&self, other: TxnId) -> Result<(), TxnError> {
        debug_assert_ne!(other, self.id());
        self.waited.store(true, Relaxed);
        Ok(self.db.txns().wait_for(self.locks.who(), other, self.wait_args())?)
    }

    /// Whether [`Txn::take_waited`] would say so.
    #[inline]
    pub fn has_waited(&self) -> bool {
        self.waited.load(Relaxed)
    }

    /// It has seen what others have committed without a wait and without a snapshot: from now on it
    /// is as if it had waited for them.
    pub fn sees_newest(&self) {
        self.waited.store(true, Relaxed);
    }

    /// Whether it has waited for another transaction since this was asked last: it may have seen
    /// work that is not durable.
    pub fn take_waited(&self) -> bool {
        self.waited.load(Relaxed) && self.waited.swap(false, Relaxed)
    }

    /// A snapshot that sees this transaction's own work.
    pub fn snapshot(&self) -> SnapshotGuard {
        SnapshotGuard::take(self.db.clone(), self.id(), false)
    }

    /// The same, to be kept for longer than a statement.
    pub fn lasting_snapshot(&self) -> SnapshotGuard {
        SnapshotGuard::take(self.db.clone(), self.id(), true)
    }

    /// Runs `work` once the transaction has committed; forgotten when it (or the part since a
    /// savepoint) is rolled back.
    pub fn defer(&mut self, work: Deferred) {
        self.deferred.push(work);
    }

    /// Gives it its id now, if it has none: what it writes later is its own also for snapshots that
    /// it takes before.
    ///
    /// # Errors
    /// Those of the log.
    pub fn begin_writing(&mut self) -> Result<(), TxnError> {
        if self.shared.is_none() {
            self.db.check_online()?;
            self.begin()?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), PageError> {
        let spare = self.spare.take();
        let log = self.db.log();
        let s = self.db.txns().begin_in(spare, self.locks.who(), || log.end());
        let rec = boundary_record(RecordKind::Begin, s.id, Lsn::ZERO, micros(s.began));
        let mut l = s.log.lock();
        match log.append_begin(&[&rec]) {
            Ok((lsn, reserved)) => {
                (l.begin, l.last, l.records, l.bytes) = (lsn, lsn, 1, rec.len() as u64);
                l.reserved = reserved;
                self.newest = NewestRecord { lsn, reserved };
            }
            Err(e) => {
                // Nothing in the log names the id: it is given up as if it had never been.
                l.ended = true;
                drop(l);
                self.db.txns().end(s.id, Lsn::ZERO, false);
                return Err(e.into());
            }
        }
        drop(l);
        self.shared = Some(s);
        Ok(())
    }

    /// Appends a record that ends the transaction, out of the space kept for it.
    fn append_end(&self, s: &TxnShared, kind: RecordKind) -> Result<Lsn, TxnError> {
        self.append_end_as(s, |id, prev| Ok(boundary_record(kind, id, prev, now_us())))
    }

    /// As [`Txn::append_end`] the record that `make` makes of its id and its newest record.
    pub(crate) fn append_last(
        &mut self,
        make: impl FnOnce(TxnId, Lsn) -> Result<Vec<u8>, TxnError>,
    ) -> Result<Lsn, TxnError> {
        let s = self
            .shared
            .as_deref()
            .ok_or(TxnError::Invalid("a transaction without changes ends"))?;
        self.append_end_as(s, make)
    }

    /// The commit record of a transaction in one database.
    pub(crate) fn append_commit(&mut self) -> Result<Lsn, TxnError> {
        let s = self
            .shared
            .as_deref()
            .ok_or(TxnError::Invalid("a transaction without changes ends"))?;
        self.append_end(s, RecordKind::Commit)
    }

    fn append_end_as<R: AsRef<[u8]>>(
        &self,
        s: &TxnShared,
        make: impl FnOnce(TxnId, Lsn) -> Result<R, TxnError>,
    ) -> Result<Lsn, TxnError> {
        // A database that failed may be open again already: its log is no longer ours to write.
        self.db.check_online()?;
        let mut l = s.log.lock();
        let rec = make(s.id, l.last)?;
        let rec = rec.as_ref();
        let lsn = append_at_any_cost(self.db.log(), rec, 0)?;
        l.last = lsn;
        l.records += 1;
        l.bytes += rec.len() as u64;
        l.ended = true;
        let reserved = std::mem::take(&mut l.reserved);
        self.db.store().forget_undo_pages(std::mem::take(&mut l.undo_pages));
        drop(l);
        self.db.log().release_reserve(reserved);
        Ok(lsn)
    }

    /// A place to return to, free of cost: for a statement that may fail.
    #[inline]
    pub fn mark(&self) -> Savepoint {
        let NewestRecord { lsn, reserved } = self.newest;
        Savepoint { lsn, deferred: self.deferred.len(), reserved }
    }

    /// Log that taking back what was done since the place may take, in bytes: how much there is to
    /// take back.
    pub fn undo_bytes(&self, since: &Savepoint) -> u64 {
        self.newest.reserved.saturating_sub(since.reserved)
    }

    /// The commit record is in the log: rows and locks are free. `durable`: readers of its work
    /// wait for the record.
    pub(crate) fn leave_table(&mut self, commit: Lsn, durable: bool) {
        self.db.counters().commits();
        let id = self.id();
        self.db.txns().end(id, commit, durable);
        self.finish();
        self.db.ghosts().add(id, std::mem::take(&mut self.ghosts));
    }

    /// What was deferred until the commit.
    pub(crate) fn run_deferred_work(&mut self) {
        self.db.after_commit(std::mem::take(&mut self.deferred));
    }

    /// Whether it has ended, in whichever way: only then it may be dropped without a rollback.
    pub fn is_over(&self) -> bool {
        self.ended
    }

    /// It has ended with its database: it stays in the table, and its rows are not free.
    pub(crate) fn set_over(&mut self) {
        self.ended = true;
    }

    pub(crate) fn set_prepared(&mut self, prepared: bool) {
        self.prepared = prepared;
    }

    /// Ends a transaction that has written nothing and is to do nothing afterwards, as
    /// [`Txn::commit`] does. False, and nothing has happened: it is another one.
    #[inline]
    pub fn end_unwritten(&mut self) -> bool {
        let unwritten = self.shared.is_none() && !self.doomed && self.deferred.is_empty();
        if unwritten {
            self.finish();
        }
        unwritten
    }

    fn finish(&mut self) {
        self.ended = true;
        self.locks.release_all();
        self.rows.forget(self.db.lockers());
    }

    /// At the end of a statement: in SIMPLE, waits for the checkpoint that makes room when the log
    /// is nearly full.
    pub fn throttle(&self) {
        self.db.throttle();
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        if !self.ended && self.prepared {
            // A panic between the preparation and the decision: a restart learns what became of it.
            let cause = PageError::Offline {
                cause: "the commit over several databases was not finished".into(),
            };
            self.db.fail("commit", &cause.into());
        } else if !self.ended {
            self.roll_back_dropped();
        }
        self.rows.forget(self.db.lockers());
    }
}

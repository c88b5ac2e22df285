//! An open database: page store, log, transactions, background tasks, and the state it is in.
//! Guarantees: nobody gets a database before recovery has finished; after a failure that may lose
//! data it answers every change with the cause and is repaired only by opening it again; closing it
//! leaves nothing to redo.

mod deferred;
mod errands;
mod settings;
mod status;
mod units;

pub use deferred::Deferred;
pub use errands::Errand;
pub use status::Status;
pub(crate) use units::Units;

use deferred::DeferredQueue;
use errands::Errands;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering, fence};
use std::sync::{Arc, Weak};

use disk::Disk;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pages::{
    BufferPool, CleanEnd, FreeingPaused, InstanceHome, PageError, RecordBuilder, RecordSink, Store,
    TxnId,
};
use wal::{Log, Lsn};

use crate::background::{Bell, Threads};
use crate::background_state::{Discards, Flusher, GhostQueue, Sweep};
use crate::checkpoint_state::Checkpointer;
use crate::counters::TxnCounters;
use crate::error::{ErrorKind, TxnError};
use crate::lockers::Lockers;
use crate::locks::LockManager;
use crate::options::{BackgroundPace, DbState, RecoveryModel};
use crate::outcomes::{Coordinator, Outcomes};
use crate::recovery_report::RecoveryReport;
use crate::sink::append_system;
use crate::txns::TxnTable;

/// What all databases of an instance share, and this one's number in it.
#[derive(Clone)]
pub struct Env {
    /// Where the files are.
    pub disk: Arc<dyn Disk>,
    /// The buffer pool.
    pub pool: Arc<BufferPool>,
    /// The lock table.
    pub locks: Arc<LockManager>,
    /// The database id.
    pub db: u16,
    /// Pace of the background tasks.
    pub pace: BackgroundPace,
    /// The instance, and where the database's files are.
    pub home: InstanceHome,
    /// The database is rebuilt at each start: nobody waits for its log to be durable.
    pub scratch: bool,
    /// What became of transactions over several databases of the instance.
    pub outcomes: Arc<Outcomes>,
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env")
            .field("db", &self.db)
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}

/// What a panic in a background thread means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterPanic {
    /// The database fails: without the thread, log is not flushed or not freed, and what it was
    /// doing is in an unknown state.
    Fail,
    /// The next round goes on with what is left to do. Where pages or the log were being changed
    /// the database has failed already.
    GoOn,
}

/// No background work changes rows or extents while this is held, and no allocation frees dropped
/// units.
#[derive(Debug)]
pub struct HeldBackground<'a> {
    _work: RwLockWriteGuard<'a, ()>,
    _freeing: FreeingPaused<'a>,
}

/// One database.
pub struct Database {
    env: Env,
    log: Arc<Log>,
    store: Arc<Store>,
    txns: TxnTable,
    settings: RwLock<DbState>,
    /// The setting and its window again, for commits, which must not wait for the lock of
    /// `settings`.
    delayed: AtomicU8,
    window_ms: AtomicU32,
    window_kb: AtomicU32,
    /// The recovery model is SIMPLE.
    simple: AtomicBool,
    status: AtomicU8,
    cause: Mutex<Option<String>>,
    recovery: Mutex<RecoveryReport>,
    checkpointer: Checkpointer,
    ghosts: GhostQueue,
    units: RwLock<Units>,
    discards: Discards,
    /// Held shared by each step of background work that changes structures, exclusively by a thread
    /// that must see none of it.
    background: RwLock<()>,
    deferred: DeferredQueue,
    sweep: Sweep,
    /// Rung when ghosts or deferred work may be waiting.
    cleaner: Arc<Bell>,
    flusher: Flusher,
    counters: TxnCounters,
    threads: Threads,
    errands: Errands,
    /// Where transactions hold locks on rows.
    lockers: Lockers,
    /// Its decisions for other databases.
    coordinator: Arc<Coordinator>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("db", &self.env.db)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl Database {
    pub(crate) fn assemble(
        env: Env,
        log: Arc<Log>,
        store: Arc<Store>,
        next: TxnId,
        settings: DbState,
    ) -> Arc<Database> {
        let db = Arc::new(Database {
            txns: TxnTable::new(env.db, env.locks.clone(), next),
            env,
            log,
            store,
            delayed: AtomicU8::new(settings.delayed as u8),
            window_ms: AtomicU32::new(settings.window.ms),
            window_kb: AtomicU32::new(settings.window.kb),
            simple: AtomicBool::new(settings.recovery_model == RecoveryModel::Simple),
            settings: RwLock::new(settings),
            status: AtomicU8::new(Status::Recovering as u8),
            cause: Mutex::default(),
            recovery: Mutex::default(),
            checkpointer: Checkpointer::default(),
            ghosts: GhostQueue::default(),
            units: RwLock::default(),
            discards: Discards::default(),
            background: RwLock::default(),
            deferred: DeferredQueue::default(),
            sweep: Sweep::default(),
            cleaner: Arc::default(),
            flusher: Flusher::default(),
            counters: TxnCounters::default(),
            threads: Threads::default(),
            errands: Errands::default(),
            lockers: Lockers::default(),
            coordinator: Arc::default(),
        });
        // A waiter for a lock is told of a failure when it happens, not when the holder meets it.
        let fail = |weak: Weak<Database>, during: &'static str, cause: String| {
            if let Some(db) = weak.upgrade() {
                db.fail(during, &PageError::Offline { cause }.into());
            }
        };
        let weak = Arc::downgrade(&db);
        db.log.on_failure(move |cause| fail(weak.clone(), "log", cause.to_string()));
        let weak = Arc::downgrade(&db);
        db.store.on_failure(move |cause| fail(weak.clone(), "storage", cause.to_owned()));
        db
    }

    /// Opens for work and starts the background threads.
    pub(crate) fn go_online(self: &Arc<Self>, report: RecoveryReport) -> Result<(), TxnError> {
        *self.recovery.lock() = report;
        self.txns.note_log_end(|| self.log.end());
        // Whoever opens a database has its log read and its parts of other databases' transactions
        // ended.
        self.join_outcomes();
        self.env.outcomes.recovered(self.store.database());
        self.set_status(Status::Online);
        if !self.env.pace.background {
            return Ok(());
        }
        let (pace, db) = (&self.env.pace, self.env.db);
        self.spawn(
            &format!("checkpoint-{db}"),
            &self.checkpointer.bell,
            Some(std::time::Duration::from_millis(250)),
            AfterPanic::Fail,
            |d| {
                d.checkpoint_round();
            },
        )?;
        let every = Some(pace.ghost_interval);
        self.spawn(&format!("cleanup-{db}"), &self.cleaner, every, AfterPanic::GoOn, |d| {
            d.run_deferred();
            // A failure that matters has taken the database offline; any other page is met again by
            // the next delete.
            drop(d.clean_ghosts());
            // What fails here is tried again in the next round.
            drop(d.free_discarded());
            drop(d.release_extents(false));
            drop(d.go_on_sweeping());
        })?;
        let bell = &self.flusher.bell;
        self.spawn(&format!("log-flush-{db}"), bell, None, AfterPanic::Fail, |d| d.flush_round())
    }

    /// A thread that runs `round` whenever its bell rings or `every` has passed. It does not keep
    /// the database alive.
    pub(crate) fn spawn(
        self: &Arc<Self>,
        name: &str,
        bell: &Arc<Bell>,
        every: Option<std::time::Duration>,
        after_panic: AfterPanic,
        round: fn(&Arc<Database>),
    ) -> Result<(), TxnError> {
        let (weak, bell): (Weak<Database>, Arc<Bell>) = (Arc::downgrade(self), bell.clone());
        let (own, thread) = (bell.clone(), name.to_owned());
        let body = move || {
            while own.wait(every) {
                let Some(db) = weak.upgrade() else { return };
                if catch_unwind(AssertUnwindSafe(|| round(&db))).is_err()
                    && db.panicked(&thread, after_panic)
                {
                    return;
                }
            }
        };
        let started = self.threads.start(name, bell, body);
        started.map_err(|e| {
            PageError::Offline { cause: format!("thread {name} cannot be started: {e}") }.into()
        })
    }

    /// A round of a background thread has panicked. True if the thread has to end.
    fn panicked(&self, thread: &str, after: AfterPanic) -> bool {
        let cause = format!("the thread {thread} has panicked");
        match after {
            AfterPanic::Fail => self.fail(thread, &PageError::Offline { cause }.into()),
            AfterPanic::GoOn => self.report(&cause),
        }
        after == AfterPanic::Fail
    }

    /// Its decisions can be asked for from now on.
    pub(crate) fn join_outcomes(&self) {
        self.env.outcomes.register(self.store.database(), self.env.db, self.coordinator.clone());
    }

    /// Recovery gives it up before it has appended anything: its files are free for another
    /// attempt.
    pub(crate) fn give_up_recovery(&self, cause: &str) {
        self.set_status(Status::Suspect);
        self.store.abandon(cause);
        // Nothing was appended.
        drop(self.log.close());
        self.store.release_files();
    }

    /// How many decisions it keeps because other databases may have to ask for them.
    pub fn decisions_kept(&self) -> usize {
        self.coordinator.kept()
    }

    pub(crate) fn coordinator(&self) -> &Arc<Coordinator> {
        &self.coordinator
    }

    /// Tells the error log, if there is one.
    pub(crate) fn report(&self, text: &str) {
        if let Some(sink) = self.log.sink() {
            sink.failed(text);
        }
    }

    pub(crate) fn flusher(&self) -> &Flusher {
        &self.flusher
    }

    /// The database id.
    pub fn id(&self) -> u16 {
        self.env.db
    }

    /// What it shares with the other databases.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Its log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Its pages.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Its transactions and snapshots.
    pub fn txns(&self) -> &TxnTable {
        &self.txns
    }

    /// The lock table of the instance.
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.env.locks
    }

    pub(crate) fn lockers(&self) -> &Lockers {
        &self.lockers
    }

    /// Counters of its transactions.
    pub fn counters(&self) -> &TxnCounters {
        &self.counters
    }

    /// Memory of what is known of units, of pages with ghosts and of work after commits: about. The
    /// account of memory asks, wherever its caller may be.
    pub fn bookkeeping_memory(&self) -> usize {
        const OPEN_UNIT: usize = 64;
        self.store.unit_memory()
            + self.units.read_recursive().open.len() * OPEN_UNIT
            + self.ghosts.memory()
            + self.deferred.memory()
    }

    /// Pages that wait for ghost cleanup.
    pub fn ghosts(&self) -> &GhostQueue {
        &self.ghosts
    }

    pub(crate) fn discards(&self) -> &Discards {
        &self.discards
    }

    /// To be held for a step of background work that changes rows or extents (a page's ghosts, a
    /// value's pages, a unit's extents). Waits while [`Database::hold_background`] is in force; not
    /// to be taken twice by one thread.
    pub fn background_work(&self) -> RwLockReadGuard<'_, ()> {
        self.background.read()
    }

    /// Waits for the running steps of background work; none begins while this is held. For checks,
    /// which report half-seen changes as damage.
    pub fn hold_background(&self) -> HeldBackground<'_> {
        HeldBackground { _work: self.background.write(), _freeing: self.store.pause_freeing() }
    }

    pub(crate) fn deferred(&self) -> &DeferredQueue {
        &self.deferred
    }

    pub(crate) fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    pub(crate) fn checkpointer(&self) -> &Checkpointer {
        &self.checkpointer
    }

    pub(crate) fn pace(&self) -> &BackgroundPace {
        &self.env.pace
    }

    /// What the last recovery did.
    pub fn recovery_report(&self) -> RecoveryReport {
        *self.recovery.lock()
    }

    /// Bytes of log written since the database was opened.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log.stats().record_bytes
    }

    pub(crate) fn errands(&self) -> &Errands {
        &self.errands
    }

    /// Whether its background threads run.
    pub(crate) fn has_background(&self) -> bool {
        self.env.pace.background
    }

    /// Appends a record of the system.
    pub(crate) fn append_system(&self, rec: &mut RecordBuilder) -> Result<Lsn, PageError> {
        self.check_online()?;
        rec.stamp(TxnId::SYSTEM, Lsn::ZERO);
        append_system(&self.log, rec.bytes(), self.status() == Status::Recovering)
    }

    /// A sink for records of the system.
    pub(crate) fn system_sink(&self) -> SystemWriter<'_> {
        SystemWriter(self)
    }

    pub(crate) fn after_commit(self: &Arc<Self>, work: Vec<Deferred>) {
        if work.is_empty() {
            return;
        }
        {
            let mut units = self.units.write();
            for &(id, _) in work.iter().flat_map(|w| &w.units) {
                units.open.remove(&id);
                units.freed.insert(id);
            }
        }
        // No cleanup works in them any more, so an allocation that finds no space may free them.
        for &(id, first_iam) in work.iter().flat_map(|w| &w.units) {
            self.store.doom_unit(id, first_iam);
        }
        self.deferred.add(work);
        self.cleaner.poke();
    }

    /// Makes everything durable that is in the log buffers (sp_flush_log).
    pub fn flush_log(&self) -> Result<(), TxnError> {
        Ok(self.log.flush_all()?)
    }

    /// Gives up a database that failed, before its files are opened again: a session that still
    /// holds it can neither commit nor write a page or a log block when this returns.
    pub fn abandon(&self) {
        let cause = PageError::Offline { cause: "its files are being reopened".into() };
        self.fail("reopen", &cause.into());
        self.threads.stop();
        self.store.abandon("its files are being reopened");
        // A log that failed cannot be flushed; recovery finds its end.
        drop(self.log.close());
        self.store.release_files();
    }

    /// Closes the database: nothing is to be redone or undone when it is opened next. Fails with
    /// [`TxnError::Busy`] while transactions that have written are running. Afterwards its files
    /// are free for others.
    pub fn close(&self) -> Result<(), TxnError> {
        self.check_online()?;
        let active = self.txns.active().len();
        if active > 0 {
            return Err(TxnError::Busy { active });
        }
        self.threads.stop();
        self.coordinator.settle();
        self.tidy_up();
        let next = self.txns.next_id();
        let done = match self.checkpoint_as(true) {
            // Nothing is lost without it: the next recovery begins at an earlier one, or redoes the
            // pages that the device refuses.
            Err(e) if e.kind() == ErrorKind::LogFull || e.is_unwritten() => None,
            done => Some(done?),
        };
        self.set_status(Status::Offline);
        // A delayed commit that still found the database online is in the log by now: closing the
        // log makes it durable.
        fence(Ordering::SeqCst);
        let closed = self.log.close();
        // Nothing has been changed since the checkpoint: the pages are whole without the log.
        let marked = match (&closed, done) {
            (Ok(()), Some(done)) if self.txns.next_id() == next && self.has_written_all() => {
                self.store.mark_closed(CleanEnd { end: done.lsn, next_txn: next.0 })
            }
            _ => Ok(()),
        };
        self.store.release_files();
        self.env.outcomes.unregister(self.store.database(), self.env.db, &self.coordinator);
        closed?;
        Ok(marked?)
    }
}

impl Database {
    /// Whether no page is changed that is not written. In this order: the pages of a store that
    /// fails may be forgotten.
    fn has_written_all(&self) -> bool {
        self.store.dirty_pages() == 0 && self.store.check_online().is_ok()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.threads.stop();
    }
}

/// Appends records of the system; holds no transaction.
#[derive(Debug)]
pub struct SystemWriter<'a>(&'a Database);

impl RecordSink for SystemWriter<'_> {
    fn append(&mut self, rec: &mut RecordBuilder) -> Result<Lsn, PageError> {
        self.0.append_system(rec)
    }
}

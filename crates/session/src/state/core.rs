//! What statements need of their session while they run: current database, transactions, options,
//! counters, the error that CATCH shows. It knows nothing of batches; `Session` drives it.

use std::any::Any;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use compact_str::CompactString;
use memory::{Clerk, Reservation};
use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;
use txn::WaitArgs;
use types::{SqlError, Value};

use super::activity::Activity;
use super::app_locks::AppLocks;
use super::before_answer::BeforeAnswer;
use super::bulk::BulkLoad;
use super::caller::Caller;
use super::changes::{ChangedRows, FiredTriggers};
use super::cursors::{Cursors, SharedCursors};
use super::handles::Handles;
use super::holdings::{Holding, Holdings};
use super::host::Host;
use super::profile::Profile;
use super::running_module::RunningModule;
use super::scans::Scans;
use super::transactions::Transactions;
use crate::output::{SessionChange, Sink};
use crate::query_memory::{Grants, QueryMemory};
use access::RowBatch;
use bind::env::TempTables;
use bind::set_options::CurrentOptions;
use catalog::Db;
use catalog::TableDef;
use catalog::change::DdlChange;
use catalog::db::DbUse;
use expr::Parsed;
use expr::functions::math::random_bits;
use expr::random::Random;
use logical::rights::Chain;

/// State that others may look at or touch while the session runs: KILL, DMVs.
#[derive(Debug, Default)]
pub struct SessionShared {
    /// Number of the session, as the lock manager knows it.
    pub number: u32,
    /// Set by KILL and by a client's attention; polled by everything that can take long.
    pub cancel: AtomicBool,
    /// Set with `cancel` by a client's attention alone: the batch ends, its transaction stays
    /// unless XACT_ABORT is on.
    pub attention: AtomicBool,
    /// Set by KILL: the session is over.
    pub killed: AtomicBool,
    /// A batch runs right now.
    pub running: AtomicBool,
    /// principal_id of the login; 0 for a session of the program itself.
    pub login_id: AtomicI32,
    /// A request of the client is announced or runs: a cancel is for it, even before its batch
    /// begins.
    pub expected: AtomicBool,
    /// Held while a cancel finds out whether it is for anything, and while a request is announced
    /// or over.
    pub cancelling: Mutex<()>,
    /// Current database.
    pub db: AtomicI64,
    /// @@TRANCOUNT.
    pub open_transactions: AtomicU64,
    /// When it became 1: microseconds since 1970.
    pub tran_began: AtomicU64,
    /// Batches so far.
    pub batches: AtomicU64,
    /// Owner of the locks that the session may be waiting for.
    pub lock_owner: AtomicU64,
    /// The isolation level of its newest transaction, as sys.dm_exec_sessions numbers it; 0 before
    /// the first.
    pub isolation: AtomicU8,
    /// What the session calls itself.
    pub names: Mutex<Names>,
    /// What it does right now.
    pub activity: Activity,
    /// Its cursors.
    pub cursors: SharedCursors,
    /// The memory that its statements have been granted.
    pub grants: Grants,
    /// Who serves the session's client, if somebody does.
    pub watcher: OnceLock<Weak<dyn SessionWatcher>>,
    /// Wakes a pause of the session that is to stop.
    pub pause: Pause,
}

/// What the server that runs a session's requests wants to know of it.
pub trait SessionWatcher: Send + Sync {
    /// The request that runs begins to wait for something that may take long: a lock, WAITFOR.
    /// Called by the thread that runs it.
    fn begins_to_wait(&self);
    /// KILL has ended the session, or what ends sessions in the way of KILL.
    fn killed(&self);
}

/// Where a session's thread pauses until its time has come or somebody ends the pause.
#[derive(Debug, Default)]
pub struct Pause {
    lock: Mutex<()>,
    ended: Condvar,
}

impl SessionShared {
    /// Pauses until `end`, or until the session is to stop.
    pub fn pause_until(&self, end: Instant) {
        if Instant::now() >= end {
            return;
        }
        self.begins_to_wait();
        let mut lock = self.pause.lock.lock();
        while !self.cancel.load(Ordering::Acquire) {
            if self.pause.ended.wait_until(&mut lock, end).timed_out() {
                return;
            }
        }
    }

    /// Ends a pause of the session. Whoever calls this has set `cancel` before.
    pub fn end_pause(&self) {
        // Under the lock: a pause that has found `cancel` unset waits already.
        let _lock = self.pause.lock.lock();
        self.pause.ended.notify_all();
    }

    /// The thread that runs the session's request begins to wait.
    pub fn begins_to_wait(&self) {
        if let Some(watcher) = self.watcher() {
            watcher.begins_to_wait();
        }
    }

    /// Who serves the session's client.
    pub fn watcher(&self) -> Option<Arc<dyn SessionWatcher>> {
        self.watcher.get().and_then(Weak::upgrade)
    }

    /// A request begins. A cancel from before is forgotten unless it was for this request, or is
    /// KILL's.
    pub fn begins(&self) {
        // Announced before the batch was given to this thread, or not at all.
        if !self.expected.load(Ordering::Acquire) {
            self.attention.store(false, Ordering::Release);
            self.cancel.store(false, Ordering::Release);
        }
        self.running.store(true, Ordering::Release);
        // KILL may have come before. Everybody sees what is stored above before KILL is looked for:
        // else KILL might be missed here while `runs_after_kill` misses the request, or while its
        // cancel is taken back above.
        fence(Ordering::SeqCst);
        if self.killed.load(Ordering::Acquire) {
            self.cancel.store(true, Ordering::Release);
        }
        self.activity.starts();
        // Only the session's own thread counts.
        self.batches.store(self.batches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The session is over: the request that runs is to stop, and none begins any more.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        // Before the cancel: see `begins`.
        fence(Ordering::SeqCst);
        self.cancel.store(true, Ordering::Release);
    }

    /// Whether a request of a session runs that was seen to be killed. Once this is false it stays
    /// so: a request that begins finds out that the session is over, and does nothing.
    pub fn runs_after_kill(&self) -> bool {
        // See `begins`.
        fence(Ordering::SeqCst);
        self.running.load(Ordering::Acquire)
    }
}

/// What a client says of itself.
#[derive(Clone, Debug)]
pub struct Names {
    pub app: CompactString,
    pub host: CompactString,
    pub login: CompactString,
    /// When the session began, as datetime.
    pub login_time: Value,
    /// The network connection that it came by.
    pub connection: Option<Arc<NetworkConnection>>,
}

/// endpoint_id of the dedicated administrator connection.
pub const DEDICATED_ENDPOINT: i32 = 1;
/// endpoint_id of all other connections over the network.
pub const TCP_ENDPOINT: i32 = 4;

/// A session's network connection, as sys.dm_exec_connections shows it.
#[derive(Clone, Debug)]
pub struct NetworkConnection {
    /// The client's address and the server's.
    pub client: SocketAddr,
    pub server: SocketAddr,
    /// The endpoint, as sys.endpoints numbers them.
    pub endpoint: i32,
    /// All of it is encrypted, not the login alone.
    pub encrypted: bool,
    /// Version of TDS as the protocol numbers it.
    pub protocol: u32,
    /// Bytes of a packet.
    pub packet_size: u32,
    /// The client's library.
    pub library: CompactString,
    /// The client's process.
    pub process: u32,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            app: CompactString::const_new("ringwood"),
            host: CompactString::const_new("localhost"),
            login: CompactString::const_new("sa"),
            login_time: catalog::clock::now(),
            connection: None,
        }
    }
}

/// What has become of a transaction, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEvent {
    Began(u64),
    Committed(u64),
    RolledBack(u64),
}

/// Room that is kept from one statement that reads or changes one row to the next, so that it
/// allocates nothing.
#[derive(Default)]
pub struct PointRoom {
    pub key: Vec<u8>,
    /// Values of the row's columns.
    pub values: Vec<Value>,
    /// The row as it was read.
    pub batch: RowBatch,
}

impl PointRoom {
    /// Takes the session's, or makes one.
    #[inline]
    pub fn take(session: &mut SessionCore) -> Box<PointRoom> {
        session.point.take().unwrap_or_default()
    }

    /// Gives it back to the session.
    #[inline]
    pub fn give(mut self: Box<PointRoom>, session: &mut SessionCore) {
        self.tidy();
        session.point = Some(self);
    }

    /// Gives back what is too large to be kept by a session that may be idle for long.
    #[inline]
    fn tidy(&mut self) {
        for value in &mut self.values {
            if let Value::Str(_) | Value::Bytes(_) = value
                && value.heap_bytes() > MOST_KEPT
            {
                *value = Value::Null;
            }
        }
    }
}

/// Bytes of a document that a session keeps for the next statement.
const MOST_PARSED: usize = 16 << 20;

/// Bytes of a value that a session keeps for the next one.
const MOST_KEPT: usize = 1 << 10;

/// The part of a session that a running statement sees.
pub struct SessionCore {
    host: Arc<Host>,
    /// The instance as the layer above knows it.
    instance: Box<dyn Any + Send + Sync>,
    db: DbUse,
    /// The databases that scopes go back to which a USE inside of them has left.
    pub(super) kept_uses: Vec<DbUse>,
    spid: i32,
    pub shared: Arc<SessionShared>,
    /// SET options.
    pub options: CurrentOptions,
    /// @@ROWCOUNT of the last statement.
    pub rowcount: u64,
    /// @@ERROR of the last statement.
    pub error_number: i32,
    /// @@IDENTITY: last identity value of the session, NULL before the first.
    pub last_identity: Option<i64>,
    /// SCOPE_IDENTITY(): last identity value of the current scope.
    pub scope_identity: Option<i64>,
    /// The values that were taken last of sequences, by database and object_id.
    pub sequence_values: Vec<((i32, i32), i64)>,
    /// CONTEXT_INFO().
    pub context_info: Value,
    /// SESSION_CONTEXT: values by lower-case key, and whether they may not be set again.
    pub session_context: HashMap<CompactString, (Value, bool)>,
    /// sp_xml_preparedocument: documents by their numbers.
    pub xml_documents: HashMap<i32, Arc<str>>,
    /// RAND().
    pub random: Random,
    /// @@TRANCOUNT.
    pub trancount: u32,
    /// Number of the transaction, for clients; 0 without one.
    pub transaction: u64,
    /// Beginnings and ends of transactions that the client has not been told yet.
    pub untold: SmallVec<[TransactionEvent; 2]>,
    /// EVENTDATA() of the trigger that runs, if a definition has fired it.
    pub event_data: Option<Arc<str>>,
    /// What the statement has to say when it has ended, each once.
    pub notes: Vec<SqlError>,
    /// Only ROLLBACK is left: XACT_STATE() = -1.
    pub doomed: bool,
    /// Errors of the CATCH blocks that are being run, the innermost last.
    pub caught: Vec<SqlError>,
    /// @@NESTLEVEL: EXEC levels above this one.
    pub nest_level: u32,
    pub transactions: Transactions,
    /// What must be durable before the client is told.
    pub(super) before_answer: Arc<BeforeAnswer>,
    /// Whoever sends the answers waits for the log.
    pub(super) answers_held: bool,
    /// How many of the statements that run wait at once all the same.
    pub(super) at_once: u32,
    /// @@TRANCOUNT around INSERT ... EXECUTE, while it runs what it calls.
    pub insert_exec: Option<u32>,
    /// What INSERT BULK has announced.
    pub pending_bulk: Option<Box<BulkLoad>>,
    /// Procedures that are being described under FMTONLY: object_id and database.
    pub described: Vec<(i32, i32)>,
    /// Prepared statements.
    pub handles: Handles,
    /// The session's temporary tables.
    pub temps: TempTables,
    /// Its cursors.
    pub cursors: Cursors,
    /// The rows that `inserted` and `deleted` mean in what runs now.
    pub changes: Option<Arc<ChangedRows>>,
    /// Triggers that the running statement has called for.
    pub fired: Vec<FiredTriggers>,
    /// Triggers that are running, the innermost last, by object_id and database.
    pub running_triggers: Vec<(i32, i32)>,
    /// The time of the transaction that a statement was last by itself, behind the transaction's
    /// number.
    own_time: (u64, u64),
    /// Definitions that only the running statement sees: see `catalog::rebuild`.
    pub private_tables: Vec<Arc<TableDef>>,
    /// What sp_getapplock has got.
    pub app_locks: AppLocks,
    /// Counters of the running statement, when it is profiled.
    pub profile: Option<Box<Profile>>,
    /// Its scans, when they are counted.
    pub scans: Option<Box<Scans>>,
    /// What it keeps of the batches that it ran last: their bindings, of which only `batch` knows
    /// more.
    pub kept_bindings: Option<Box<dyn Any + Send + Sync>>,
    /// Charged for what the session keeps between statements.
    pub holdings: Holdings,
    /// Charged for large values that expressions work with.
    pub values: Reservation,
    /// The document that a method of xml has read last.
    pub parsed: Option<Arc<Parsed>>,
    /// What a statement works in that reads or changes one row.
    pub point: Option<Box<PointRoom>>,
    /// Client's names, for APP_NAME(), HOST_NAME(), SUSER_SNAME().
    pub app_name: CompactString,
    pub host_name: CompactString,
    pub login: CompactString,
    /// Who runs the statements.
    pub caller: Caller,
    /// How deep EXECUTE AS was when the running scope began: REVERT goes no further.
    pub acting_floor: usize,
    /// Whose module runs.
    pub chain: Chain,
    /// The module whose statements run; `None` in a batch, dynamic SQL included.
    pub module: Option<RunningModule>,
    /// Memory for the session's queries that others do not share.
    pub own_memory: Option<Arc<QueryMemory>>,
}

impl SessionCore {
    /// What a statement has to say besides its rows, when it has ended.
    pub fn note(&mut self, note: SqlError) {
        if self.notes.iter().all(|known| known.number != note.number) {
            self.notes.push(note);
        }
    }

    /// A new session of a host, in a database of it. `instance`: what [`SessionCore::instance_of`]
    /// gives.
    pub fn new(
        host: Arc<Host>,
        instance: Box<dyn Any + Send + Sync>,
        db: Arc<Db>,
        spid: i32,
        shared: Arc<SessionShared>,
    ) -> SessionCore {
        shared.db.store(db.id().into(), Ordering::Relaxed);
        let names = shared.names.lock().clone();
        let holdings = Holdings::new(host.memory());
        let values = Reservation::new(host.memory(), Clerk::QueryExecution);
        SessionCore {
            host,
            instance,
            db: DbUse::of(db, spid),
            kept_uses: Vec::new(),
            spid,
            shared,
            options: CurrentOptions::default(),
            rowcount: 0,
            error_number: 0,
            last_identity: None,
            scope_identity: None,
            sequence_values: Vec::new(),
            context_info: Value::Null,
            session_context: HashMap::new(),
            xml_documents: HashMap::new(),
            random: Random::new((random_bits() >> 33) as i64),
            trancount: 0,
            transaction: 0,
            untold: SmallVec::new(),
            event_data: None,
            notes: Vec::new(),
            doomed: false,
            caught: Vec::new(),
            nest_level: 0,
            transactions: Transactions::default(),
            before_answer: Arc::default(),
            answers_held: false,
            at_once: 0,
            insert_exec: None,
            pending_bulk: None,
            described: Vec::new(),
            handles: Handles::default(),
            temps: TempTables::default(),
            cursors: Cursors::default(),
            changes: None,
            fired: Vec::new(),
            running_triggers: Vec::new(),
            own_time: (0, 0),
            private_tables: Vec::new(),
            app_locks: AppLocks::default(),
            profile: None,
            scans: None,
            kept_bindings: None,
            values,
            parsed: None,
            holdings,
            point: None,
            app_name: names.app,
            host_name: names.host,
            login: names.login,
            caller: Caller::system(),
            acting_floor: 0,
            chain: Chain::None,
            module: None,
            own_memory: None,
        }
    }

    /// A scan of a table begins.
    #[inline]
    pub fn scanned(&mut self, db: &Arc<Db>, table: &Arc<TableDef>) {
        if let Some(scans) = &mut self.scans {
            scans.add(db, table);
        }
    }

    /// The instance as statements see it.
    #[inline]
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// The memory that its statements take their grants of: the session's own, or that of all.
    pub fn query_memory(&self) -> &Arc<QueryMemory> {
        self.own_memory.as_ref().unwrap_or_else(|| self.host.query_memory())
    }

    /// The instance as the layer above has given it.
    #[inline]
    pub fn instance_of<T: 'static>(&self) -> Option<&T> {
        self.instance.downcast_ref()
    }

    /// The current database.
    #[inline]
    pub fn db(&self) -> &Arc<Db> {
        self.db.database()
    }

    /// Makes another database the current one; gives the one before.
    pub(super) fn replace_db(&mut self, db: DbUse) -> DbUse {
        std::mem::replace(&mut self.db, db)
    }

    /// @@SPID.
    #[inline]
    pub fn spid(&self) -> i32 {
        self.spid
    }

    /// @@TRANCOUNT.
    #[inline]
    pub fn trancount(&self) -> u32 {
        self.trancount
    }

    /// The error that ERROR_NUMBER() and its kin show: of the innermost CATCH block that runs.
    #[inline]
    pub fn error(&self) -> Option<&SqlError> {
        self.caught.last()
    }

    /// Sets @@TRANCOUNT, for others to see too.
    #[inline]
    pub fn set_trancount(&mut self, n: u32) {
        if self.trancount == 0 && n > 0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.shared.tran_began.store(now.as_micros() as u64, Ordering::Relaxed);
        }
        self.trancount = n;
        self.shared.open_transactions.store(n.into(), Ordering::Relaxed);
    }

    /// When the session's transaction began, in microseconds since 1970, UTC: BEGIN TRANSACTION,
    /// else the moment at which the statement that is its own transaction asked for it first.
    pub fn transaction_time(&mut self) -> u64 {
        if self.trancount > 0 {
            return self.shared.tran_began.load(Ordering::Relaxed);
        }
        let number = self.transactions.open.first().map_or(0, |open| open.txn.locks.id().0);
        match self.own_time {
            (of, time) if of == number && number != 0 => time,
            _ => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                self.own_time = (number, now.as_micros() as u64);
                self.own_time.1
            }
        }
    }

    /// The session's transaction begins.
    #[inline]
    pub fn transaction_began(&mut self) {
        self.transaction = self.host.next_transaction();
        self.untold.push(TransactionEvent::Began(self.transaction));
    }

    /// The session's transaction, if there is one, has ended.
    pub fn transaction_ended(&mut self, committed: bool) {
        match std::mem::take(&mut self.transaction) {
            0 => {}
            number if committed => self.untold.push(TransactionEvent::Committed(number)),
            number => self.untold.push(TransactionEvent::RolledBack(number)),
        }
    }

    /// Tells the client what has become of transactions.
    #[inline]
    pub fn tell_transactions(&mut self, sink: &mut dyn Sink) -> Result<(), SqlError> {
        if self.untold.is_empty() { Ok(()) } else { self.tell_untold(sink) }
    }

    #[cold]
    fn tell_untold(&mut self, sink: &mut dyn Sink) -> Result<(), SqlError> {
        for event in std::mem::take(&mut self.untold) {
            sink.changed(&match event {
                TransactionEvent::Began(number) => SessionChange::TransactionBegan(number),
                TransactionEvent::Committed(number) => SessionChange::TransactionCommitted(number),
                TransactionEvent::RolledBack(number) => {
                    SessionChange::TransactionRolledBack(number)
                }
            })?;
        }
        Ok(())
    }

    /// XACT_STATE(): 1 a transaction can go on, -1 it can only roll back, 0 none.
    pub fn xact_state(&self) -> i16 {
        match (self.trancount, self.doomed) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    /// Whether someone asked this session to stop: poll it once per page or batch of rows.
    #[inline]
    pub fn cancelled(&self) -> bool {
        self.shared.cancel.load(Ordering::Relaxed)
    }

    /// Whether the transaction outlives the end of its batch that a cancel brought about: the
    /// client sent an attention, and neither KILL, XACT_ABORT nor a client that went away asks for
    /// more.
    pub fn keeps_transaction(&self) -> bool {
        let shared = &self.shared;
        self.cancelled()
            && shared.attention.load(Ordering::Acquire)
            && !shared.killed.load(Ordering::Acquire)
            && !self.options.xact_abort
    }

    /// Whether the statement may go on: it was not told to stop, and what it has allocated fits in
    /// the instance's memory.
    ///
    /// # Errors
    /// 3617 when cancelled; 701.
    #[inline]
    pub fn check_cancel(&self) -> Result<(), SqlError> {
        if self.cancelled() {
            return Err(catalog::errors::cancelled());
        }
        memory::meter::check().map_err(|_| catalog::errors::out_of_memory())
    }

    /// Keeps a document that was read, in the place of the one before, if there is memory for it.
    pub fn keep_document(&mut self, parsed: &Arc<Parsed>) {
        self.parsed = None;
        if self.holdings.set(Holding::ParsedDocument, parsed.heap_bytes()).is_ok() {
            self.parsed = Some(parsed.clone());
        } else {
            self.holdings
                .remove(Holding::ParsedDocument, self.holdings.of(Holding::ParsedDocument));
        }
    }

    /// A statement has ended: a large document is not kept for the next one.
    #[inline]
    pub fn drop_large_document(&mut self) {
        if self.parsed.is_some() && self.holdings.of(Holding::ParsedDocument) > MOST_PARSED {
            self.parsed = None;
            self.holdings
                .remove(Holding::ParsedDocument, self.holdings.of(Holding::ParsedDocument));
        }
    }

    /// A statement ended well.
    #[inline]
    pub fn succeeded(&mut self, rows: u64) {
        self.rowcount = rows;
        self.error_number = 0;
    }

    /// Keeps a change of schema until the transaction ends.
    pub fn remember_ddl(&mut self, change: DdlChange) {
        self.transactions.ddl.push(change);
    }

    /// LOCK_TIMEOUT and DEADLOCK_PRIORITY also hold for transactions that are open.
    pub fn apply_wait_options(&mut self) {
        let wait = self.wait_args();
        for open in &mut self.transactions.open {
            open.txn.wait = wait;
        }
        self.transactions.share_log_bytes();
    }

    /// How the session waits for a lock that is none of its open transactions'.
    pub fn wait_args(&self) -> WaitArgs {
        WaitArgs {
            timeout_ms: self.options.lock_timeout.into(),
            priority: self.options.deadlock_priority.clamp(-10, 10) as i8,
            log_bytes: self.transactions.log_bytes(),
        }
    }
}

impl Drop for SessionCore {
    fn drop(&mut self) {
        self.rollback_all();
        self.settle_undo();
        // Nobody is told of it any more; what was committed last is not left to the next flush, and
        // who gets an application lock of the session finds it durable.
        let _ = self.settle();
        self.app_locks.release_session();
        self.host.session_ended(&self.shared);
    }
}

//! An instance: its folder, databases, sessions, settings and error log.
//! Guarantees: one instance per folder at a time; a database that cannot be opened does not keep the others from it;
//! a clean close leaves nothing to recover.

pub mod clock;
pub mod counters;
pub mod credentials;
mod data_files;
pub mod db;
pub mod errorlog;
pub mod files;
pub(crate) mod msdb;
pub mod paths;
pub mod registry;
pub mod restore;
pub mod settings;
pub mod status;
pub mod waits;
pub mod watch;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use disk::{Disk, DiskError, DiskLock};
use pages::PageWait;
use pages::{BufferPool, PoolOptions};
use parking_lot::{Mutex, RwLock};
use txn::backup::UrlDevices;
use txn::{LockManager, Pace};
use types::{SqlError, Value};

pub use db::Db;
use errorlog::ErrorLog;
use paths::Paths;
use registry::RegistryError;
use waits::LogWaits;

use crate::batch::cache::BatchCache;
use crate::context::fold_name;
use crate::errors;
use crate::session::Session;
use crate::session::core::SessionShared;

/// database_id of master.
pub const MASTER: i32 = 1;
/// database_id of tempdb, which is made anew at each start.
pub const TEMPDB: i32 = 2;
/// First database_id of user databases.
pub const FIRST_USER_DB: i32 = 5;
/// System databases that are made at first start, with their ids.
const SYSTEM: [(&str, i32); 3] = [("master", MASTER), ("tempdb", TEMPDB), ("msdb", 4)];
/// Names that no user database may have.
const RESERVED: [&str; 5] = ["master", "tempdb", "model", "msdb", "resource"];
/// session_ids up to here are the system's.
const FIRST_SPID: i32 = 51;
/// Trace flag: no checkpoint begins by itself.
const TRACE_HOLD_CHECKPOINTS: i32 = 3505;
/// Least memory for pages.
const MIN_POOL: u64 = 8 << 20;

/// Memory for pages, had before the instance that uses it is opened.
pub struct PageMemory {
    pool: BufferPool,
    bytes: u64,
}

impl PageMemory {
    /// Memory that the system gives page by page as it is used.
    ///
    /// # Errors
    /// [`InstanceError::Memory`] when so much cannot be had.
    pub fn new(bytes: u64) -> Result<PageMemory, InstanceError> {
        PageMemory::with(bytes, false)
    }

    /// Memory that is taken from the system now: what is done later no longer pays for it. A second or more for a gigabyte.
    ///
    /// # Errors
    /// As for [`PageMemory::new`].
    pub fn committed(bytes: u64) -> Result<PageMemory, InstanceError> {
        PageMemory::with(bytes, true)
    }

    fn with(bytes: u64, commit: bool) -> Result<PageMemory, InstanceError> {
        let bytes = bytes.max(MIN_POOL);
        let pool = BufferPool::new(PoolOptions { bytes, commit, ..PoolOptions::default() });
        Ok(PageMemory { pool: pool.map_err(|e| InstanceError::Memory(e.to_string()))?, bytes })
    }
}

/// How an instance is opened.
#[derive(Clone, Debug)]
pub struct InstanceOptions {
    /// Its folder; made when it is not there.
    pub data_dir: PathBuf,
    /// Memory for pages in bytes; a quarter of the machine's when `None`.
    pub memory_bytes: Option<u64>,
    /// Memory that one sort may hold before it goes to run files, in bytes; an eighth of the machine's, at most 1 GB,
    /// when `None`.
    pub sort_bytes: Option<usize>,
    /// Drive letter to folder, for Windows paths in statements.
    pub volumes: HashMap<char, PathBuf>,
    /// Trace flags: 1800 aligns log writes to 4096 bytes, 3505 keeps checkpoints from beginning by themselves.
    pub trace_flags: Vec<i32>,
    /// Where the files are.
    pub disk: Arc<dyn Disk>,
    /// Pace of the databases' background tasks.
    pub pace: Pace,
    /// What makes backup devices of URLs; `None`: BACKUP and RESTORE know none.
    pub url_devices: Option<Arc<dyn UrlDevices>>,
}

impl InstanceOptions {
    /// Options for a folder of the file system, all else as usual.
    pub fn new(data_dir: impl Into<PathBuf>) -> InstanceOptions {
        let data_dir = data_dir.into();
        // Absolute, so that a path below it means the same to the disk and to a person, whatever the current folder is.
        let data_dir = std::path::absolute(&data_dir).unwrap_or(data_dir);
        InstanceOptions {
            disk: Arc::new(disk::OsDisk::new(&data_dir)),
            data_dir,
            memory_bytes: None,
            sort_bytes: None,
            volumes: HashMap::new(),
            trace_flags: Vec::new(),
            pace: Pace::default(),
            url_devices: None,
        }
    }
}

impl Default for InstanceOptions {
    /// The folder `ringwood-data` under the current one.
    fn default() -> Self {
        InstanceOptions::new("ringwood-data")
    }
}

/// Why an instance could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Another instance has the folder.
    #[error("the folder {} is in use by another instance", .0.display())]
    InUse(PathBuf),
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The list of databases cannot be read.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The list of credentials is damaged.
    #[error("the file of credentials is damaged: {0}")]
    Credentials(String),
    /// No memory for the buffer pool, or an option out of range.
    #[error("{0}")]
    Memory(String),
    /// master could not be made or opened.
    #[error("the system database master cannot be opened: {0}")]
    Master(String),
}

/// A running instance.
pub struct Instance {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) paths: Paths,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) locks: Arc<LockManager>,
    pub(crate) log_waits: Arc<LogWaits>,
    /// (number, microseconds) of the buffer pool's waits at the last CLEAR.
    page_waits_base: Mutex<[(u64, u64); PageWait::ALL.len()]>,
    pub(crate) pace: Pace,
    /// Makes backup devices of URLs.
    pub(crate) url_devices: Option<Arc<dyn UrlDevices>>,
    credentials: credentials::Credentials,
    memory_bytes: u64,
    sort_bytes: usize,
    /// Number of the next run file of a sort.
    next_run_file: AtomicU64,
    trace_flags: RwLock<BTreeSet<i32>>,
    databases: RwLock<BTreeMap<i32, Arc<Db>>>,
    /// Held while the list of databases changes.
    pub(crate) changing: Mutex<()>,
    /// Files that are being made or removed, as the registry has them.
    pending: Mutex<Vec<registry::Pending>>,
    sessions: Mutex<BTreeMap<i32, Weak<SessionShared>>>,
    next_spid: AtomicI32,
    /// Batches of sessions that have ended.
    ended_batches: AtomicU64,
    error_log: Arc<ErrorLog>,
    batches: BatchCache,
    started: Value,
    born: Instant,
    /// Where others look in.
    watch: Mutex<Option<watch::Watch>>,
    closed: AtomicBool,
    /// Held while it is closed.
    closing: Mutex<()>,
    /// SHUTDOWN was asked for.
    shutdown: AtomicBool,
    /// Held until the instance is closed.
    folder_lock: Mutex<Option<DiskLock>>,
}

impl Instance {
    /// Opens the instance of a folder and all its databases; makes it when the folder is empty.
    ///
    /// # Errors
    /// The folder is in use or cannot be written, the list of databases is damaged, master cannot be opened.
    pub fn open(options: InstanceOptions) -> Result<Arc<Instance>, InstanceError> {
        Instance::open_with(options, None)
    }

    /// The same in memory that was had before, whatever the options say of memory for pages.
    ///
    /// # Errors
    /// As for [`Instance::open`].
    pub fn open_in(options: InstanceOptions, memory: PageMemory) -> Result<Arc<Instance>, InstanceError> {
        Instance::open_with(options, Some(memory))
    }

    fn open_with(
        options: InstanceOptions,
        memory: Option<PageMemory>,
    ) -> Result<Arc<Instance>, InstanceError> {
        let InstanceOptions {
            data_dir,
            memory_bytes,
            sort_bytes,
            volumes,
            trace_flags,
            disk,
            pace,
            url_devices,
        } = options;
        disk.create_dir_all(&data_dir)?;
        let lock = disk.lock_exclusive(&data_dir.join("instance.lock")).map_err(|e| match e {
            DiskError::Locked { .. } => InstanceError::InUse(data_dir.clone()),
            e => e.into(),
        })?;
        let memory = match memory {
            Some(memory) => memory,
            None => PageMemory::new(memory_bytes.unwrap_or_else(|| machine_memory() / 4))?,
        };
        let error_log = Arc::new(ErrorLog::new(disk.clone(), data_dir.join("log")));
        let credentials = credentials::Credentials::open(disk.clone(), &data_dir)?;
        let instance = Arc::new(Instance {
            disk,
            paths: Paths::new(data_dir, volumes),
            pool: Arc::new(memory.pool),
            locks: Arc::new(LockManager::new()),
            log_waits: Arc::default(),
            page_waits_base: Mutex::default(),
            // Its own flag: options may be used for several instances.
            pace: Pace {
                checkpoints_held: Arc::new(AtomicBool::new(pace.checkpoints_held.load(Ordering::Relaxed))),
                ..pace
            },
            url_devices,
            credentials,
            memory_bytes: memory.bytes,
            sort_bytes: sort_bytes.unwrap_or_else(crate::exec::memory::sort_budget),
            next_run_file: AtomicU64::new(1),
            trace_flags: RwLock::default(),
            databases: RwLock::default(),
            changing: Mutex::new(()),
            pending: Mutex::default(),
            sessions: Mutex::default(),
            next_spid: AtomicI32::new(FIRST_SPID),
            ended_batches: AtomicU64::new(0),
            error_log,
            batches: BatchCache::default(),
            started: clock::now(),
            born: Instant::now(),
            watch: Mutex::new(None),
            closed: AtomicBool::new(false),
            closing: Mutex::new(()),
            shutdown: AtomicBool::new(false),
            folder_lock: Mutex::new(Some(lock)),
        });
        trace_flags.into_iter().for_each(|flag| instance.set_trace_flag(flag, true));
        instance.start()?;
        msdb::ensure(&instance);
        Ok(instance)
    }

    fn start(&self) -> Result<(), InstanceError> {
        let version = env!("CARGO_PKG_VERSION");
        self.error_log.write("Server", &format!("Ringwood {version} is starting."));
        self.error_log.write("Server", &format!("Buffer pool: {} MB.", self.memory_bytes >> 20));
        let errors = Arc::downgrade(&self.error_log);
        disk::on_io_fallback(move |reason| {
            if let Some(errors) = errors.upgrade() {
                errors.write("Server", &format!("Data files are read and written by threads: {reason}."));
            }
        });
        let registry::Registry { mut entries, pending } = registry::read(&*self.disk, self.paths.root())?;
        *self.pending.lock() = pending;
        let tempdb = entries.iter().position(|e| e.id == TEMPDB).map(|at| entries.remove(at));
        self.forget_tempdb(tempdb.as_ref());
        let opened: Vec<Arc<Db>> = std::thread::scope(|scope| {
            let threads: Vec<_> = entries
                .iter()
                .map(|entry| (entry, scope.spawn(move || self.open_entry(entry.clone()))))
                .collect();
            threads
                .into_iter()
                .map(|(entry, thread)| {
                    thread.join().unwrap_or_else(|_| {
                        let cause = "a system assertion failed while it was opened".to_string();
                        Db::down(entry.clone(), db::DbStatus::Suspect, cause, self.error_log.clone())
                    })
                })
                .collect()
        });
        self.databases.write().extend(opened.into_iter().map(|db| (db.id(), db)));
        self.settle_files();
        for (name, id) in SYSTEM {
            if self.db_by_id(id).is_none() {
                let before = tempdb.as_ref().filter(|_| id == TEMPDB);
                self.make_system_database(name, id, before).map_err(|e| InstanceError::Master(e.message))?;
            }
        }
        match self.db_by_id(MASTER) {
            Some(master) => master
                .check_usable()
                .map_err(|e| InstanceError::Master(master.cause().unwrap_or(e.message)))?,
            None => return Err(InstanceError::Master("it is missing".into())),
        }
        self.error_log.write("Server", "Ringwood is ready.");
        Ok(())
    }

    /// A new session in master.
    ///
    /// # Errors
    /// 6005 when the instance is shutting down.
    pub fn session(self: &Arc<Self>) -> Result<Session, SqlError> {
        if self.closed.load(Ordering::Acquire) || self.shutdown_requested() {
            return Err(errors::shutting_down());
        }
        let master = self.db_by_id(MASTER).ok_or_else(|| errors::no_database("master"))?;
        let spid = self.next_spid.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new(SessionShared::default());
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| session.strong_count() > 0);
        sessions.insert(spid, Arc::downgrade(&shared));
        drop(sessions);
        Ok(Session::new(self.clone(), master, spid, shared))
    }

    /// Closes all databases cleanly: everything hardened and checkpointed. Sessions that still run get errors.
    ///
    /// # Errors
    /// Of the first database that could not be closed; the next start recovers it.
    pub fn close(&self) -> Result<(), SqlError> {
        // Whoever comes second returns when it is closed, not before: the end of the process may follow.
        let _one = self.closing.lock();
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.close_to_view();
        self.error_log.write("Server", "Ringwood is shutting down.");
        let mut first = None;
        for db in self.databases() {
            if let Err(e) = self.close_database(&db) {
                self.error_log
                    .write("Server", &format!("'{}' was not closed cleanly: {}", db.name(), e.message));
                first.get_or_insert(e);
            }
        }
        self.error_log.save();
        drop(self.folder_lock.lock().take());
        first.map_or(Ok(()), Err)
    }

    // ---- what it has ----

    /// The database of a name.
    pub fn find_db(&self, name: &str) -> Option<Arc<Db>> {
        let folded = fold_name(name);
        self.databases.read().values().find(|db| fold_name(&db.name()) == folded).cloned()
    }

    /// The database of an id.
    pub fn db_by_id(&self, id: i32) -> Option<Arc<Db>> {
        self.databases.read().get(&id).cloned()
    }

    /// The database of a name; 911 when there is none.
    pub fn database(&self, name: &str) -> Result<Arc<Db>, SqlError> {
        self.find_db(name).ok_or_else(|| errors::no_database(name))
    }

    /// All databases by id.
    pub fn databases(&self) -> Vec<Arc<Db>> {
        self.databases.read().values().cloned().collect()
    }

    pub(crate) fn add_database(&self, db: Arc<Db>) {
        self.databases.write().insert(db.id(), db);
    }

    pub(crate) fn remove_database(&self, id: i32) {
        self.databases.write().remove(&id);
    }

    /// The least id that no database has.
    pub(crate) fn free_database_id(&self) -> i32 {
        let databases = self.databases.read();
        (FIRST_USER_DB..).find(|id| !databases.contains_key(id)).unwrap_or(i32::MAX)
    }

    /// Whether a name belongs to the system.
    pub fn is_reserved_name(name: &str) -> bool {
        RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
    }

    /// Running sessions by spid.
    pub(crate) fn sessions(&self) -> Vec<(i32, Arc<SessionShared>)> {
        let sessions = self.sessions.lock();
        sessions.iter().filter_map(|(spid, session)| session.upgrade().map(|s| (*spid, s))).collect()
    }

    /// Ends all sessions as KILL does: their batches stop at the next statement or wait, and roll back.
    pub fn end_sessions(&self) {
        for (_, session) in self.sessions() {
            self.end_session(&session);
        }
    }

    /// Ends all sessions but one.
    pub(crate) fn end_other_sessions(&self, but: &SessionShared) {
        for (_, session) in self.sessions() {
            if !std::ptr::eq(Arc::as_ptr(&session), but) {
                self.end_session(&session);
            }
        }
    }

    pub(crate) fn end_session(&self, session: &SessionShared) {
        session.killed.store(true, Ordering::Release);
        session.cancel.store(true, Ordering::Release);
        self.wake(session);
    }

    pub(crate) fn session_ended(&self, session: &SessionShared) {
        self.ended_batches.fetch_add(session.batches.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Batches since the start.
    pub fn batches_run(&self) -> u64 {
        let running = self.sessions().iter().map(|(_, s)| s.batches.load(Ordering::Relaxed)).sum::<u64>();
        self.ended_batches.load(Ordering::Relaxed) + running
    }

    /// Sessions since the start.
    pub fn logins(&self) -> u64 {
        (self.next_spid.load(Ordering::Relaxed) - FIRST_SPID).max(0) as u64
    }

    /// Ends the lock wait of a session that is to stop.
    pub(crate) fn wake(&self, session: &SessionShared) {
        let owner = session.lock_owner.load(Ordering::Acquire);
        if owner != 0 {
            self.locks.cancel(txn::locks::OwnerId(owner));
        }
    }

    /// Compiled batches.
    pub fn batches(&self) -> &BatchCache {
        &self.batches
    }

    /// What CREATE CREDENTIAL has made.
    pub fn credentials(&self) -> &credentials::Credentials {
        &self.credentials
    }

    /// The error log.
    pub fn error_log(&self) -> &ErrorLog {
        &self.error_log
    }

    pub(crate) fn error_log_arc(&self) -> &Arc<ErrorLog> {
        &self.error_log
    }

    /// Buffer pool of all databases.
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    pub(crate) fn cleared_page_waits(&self) -> [(u64, u64); PageWait::ALL.len()] {
        *self.page_waits_base.lock()
    }

    /// The buffer pool's counters only grow: clearing them means to remember where they were.
    pub(crate) fn clear_page_waits(&self) {
        let now = PageWait::ALL.map(|wait| {
            let w = self.pool.waits().get(wait);
            (w.count, w.total_us)
        });
        *self.page_waits_base.lock() = now;
    }

    /// Lock table of all databases.
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.locks
    }

    /// When it was opened, as datetime.
    pub fn started(&self) -> &Value {
        &self.started
    }

    /// Memory for pages in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Memory that one sort may hold, in bytes.
    pub(crate) fn sort_memory(&self) -> usize {
        self.sort_bytes
    }

    /// A number that no other run file of a sort has.
    pub(crate) fn next_run_file(&self) -> u64 {
        self.next_run_file.fetch_add(1, Ordering::Relaxed)
    }

    /// Trace flags that are on.
    pub fn trace_flags(&self) -> Vec<i32> {
        self.trace_flags.read().iter().copied().collect()
    }

    pub(crate) fn set_trace_flag(&self, flag: i32, on: bool) {
        if flag == TRACE_HOLD_CHECKPOINTS {
            self.pace.checkpoints_held.store(on, Ordering::Relaxed);
        }
        let mut flags = self.trace_flags.write();
        if on {
            flags.insert(flag);
        } else {
            flags.remove(&flag);
        }
    }

    pub(crate) fn has_trace_flag(&self, flag: i32) -> bool {
        self.trace_flags.read().contains(&flag)
    }

    /// SHUTDOWN was asked for: whoever runs the instance closes it.
    pub fn shutdown_requested(&self) -> bool {
        self.shutdown.load(Ordering::Acquire)
    }

    pub(crate) fn request_shutdown(&self) {
        self.shutdown.store(true, Ordering::Release);
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("root", &self.paths.root()).finish_non_exhaustive()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // What could not be closed is in the error log and is recovered at the next start.
        let _ = self.close();
    }
}

/// The machine's memory in bytes; 4 GB where it cannot be told.
pub(crate) fn machine_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(4 << 20) << 10
}

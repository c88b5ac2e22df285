//! An instance: its folder, databases, sessions, settings and error log.
//! Guarantees: one instance per folder at a time; a database that cannot be opened does not keep the others from it;
//! a clean close leaves nothing to recover.

pub(crate) mod attach;
pub mod credentials;
mod data_files;
mod file_errors;
pub mod file_specs;
pub mod files;
mod identity;
mod of_session;
pub mod paths;
pub mod restore;
pub mod waits;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use disk::{Disk, DiskError, DiskLock, ReadOnlyDisk};
use pages::PageWait;
use pages::{BufferPool, PoolOptions};
use parking_lot::{Mutex, RwLock};
use txn::backup::UrlDevices;
use txn::{LockManager, Pace};
use types::{SqlError, Value};

use catalog::errorlog::ErrorLog;
use catalog::registry::RegistryError;
use catalog::{Db, MASTER, TEMPDB, clock, db, registry};
use identity::Identity;
use paths::Paths;
use waits::LogWaits;

pub(crate) use of_session::OfInstance;

use crate::security::logins::Logins;
use catalog::errors;
use exec::host::{Above, Host};
use exec::operators::memory::QueryMemory;
use exec::state::activity;
use exec::state::core::SessionShared;

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
    /// Memory of all queries' sorts, hashes and kept rows together, in bytes; a quarter of the machine's, at least 1 GB, when
    /// `None`.
    pub query_bytes: Option<usize>,
    /// Memory that one operator of a query may hold before it goes to run files, in bytes; an eighth of the machine's, at
    /// most 1 GB, when `None`.
    pub operator_bytes: Option<usize>,
    /// Memory that one statement may hold, in bytes: its sorts and joins go to run files beyond, what cannot is error 701. As much as
    /// `query_bytes` when `None`.
    pub statement_bytes: Option<usize>,
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
    /// Change nothing in the folder, which may be one that cannot be written: databases that were stopped cleanly are open
    /// for reading, changes are error 3906, tempdb is in the system's folder for temporary files.
    pub read_only: bool,
    /// An error when the folder has no instance yet, instead of making one.
    pub must_exist: bool,
    /// What is told of each line of the error log.
    pub log_echo: Option<catalog::errorlog::Echo>,
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
            query_bytes: None,
            operator_bytes: None,
            statement_bytes: None,
            volumes: HashMap::new(),
            trace_flags: Vec::new(),
            pace: Pace::default(),
            url_devices: None,
            read_only: false,
            must_exist: false,
            log_echo: None,
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
    #[error("the folder {} is in use by {}", .0.display(), disk::who(*.1))]
    InUse(PathBuf, Option<u32>),
    /// What was given as the folder is a file.
    #[error("{} is a file, not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// No instance was ever in the folder, and none shall be made.
    #[error("there are no databases in the folder {}", .0.display())]
    NoInstance(PathBuf),
    /// The folder cannot be written.
    #[error(
        "the folder {} cannot be written: {}. It can be opened read-only", .0.display(), .1
    )]
    NotWritable(PathBuf, String),
    /// The file with the instance's identity cannot be read.
    #[error("the file {} is damaged: without it the folder gets a new identity, and files outside of it must be attached again", .0.display())]
    Identity(PathBuf),
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
    /// What statements see of it: databases, memory for queries, error log.
    host: Arc<Host>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) paths: Paths,
    identity: Identity,
    /// Where the folder was when its registry had absolute paths, if it is somewhere else now.
    folder_before: Option<PathBuf>,
    /// Where files can be made in a folder that is only read.
    read_only: Option<PathBuf>,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) locks: Arc<LockManager>,
    pub(crate) log_waits: Arc<LogWaits>,
    /// (number, microseconds) of the buffer pool's waits at the last CLEAR.
    page_waits_base: Mutex<[(u64, u64); PageWait::ALL.len()]>,
    pub(crate) pace: Pace,
    /// Makes backup devices of URLs.
    pub(crate) url_devices: Option<Arc<dyn UrlDevices>>,
    credentials: credentials::Credentials,
    pub(crate) authentication: Logins,
    memory_bytes: u64,
    trace_flags: RwLock<BTreeSet<i32>>,
    /// Held while the list of databases changes.
    pub(crate) changing: Mutex<()>,
    /// Files that are being made or removed, as the registry has them.
    pending: Mutex<Vec<registry::Pending>>,
    sessions: Mutex<BTreeMap<i32, Weak<SessionShared>>>,
    /// The number that the next session gets if it is free.
    next_spid: AtomicI32,
    /// Sessions since the start.
    logins: AtomicU64,
    batches: OnceLock<Box<dyn BatchTexts>>,
    started: Value,
    pub(crate) born: Instant,
    /// Where others look in.
    /// The thread that lets other processes look in, until the instance is closed.
    pub(crate) watch: Mutex<Option<Box<dyn Send>>>,
    closed: AtomicBool,
    /// Held while it is closed.
    closing: Mutex<()>,
    /// SHUTDOWN was asked for.
    shutdown: AtomicBool,
    /// Held until the instance is closed.
    folder_lock: Mutex<Option<DiskLock>>,
}

/// The cache of compiled batches, as far as the instance needs it. The crate's upper half makes it.
pub(crate) trait BatchTexts: Any + Send + Sync {
    /// Forgets everything.
    fn clear(&self);

    /// The text of a kept batch that `test` wants.
    fn find_text(&self, test: &dyn Fn(&str) -> bool) -> Option<Arc<str>>;

    /// Batches compiled since the start.
    fn compilations(&self) -> u64;

    /// Texts kept.
    fn kept(&self) -> usize;
}

/// Locks whose waits end, or do not begin, when the session of their thread is to stop.
fn lock_manager() -> Arc<LockManager> {
    let locks = LockManager::new();
    locks.set_interrupted(activity::interrupted);
    Arc::new(locks)
}

impl Instance {
    /// Opens the instance of a folder and all its databases, in memory that was had before if there is some; makes it when
    /// the folder is empty. No session has run in it yet.
    ///
    /// # Errors
    /// The folder is in use or cannot be written, the list of databases is damaged, master cannot be opened.
    pub(crate) fn open_databases(
        options: InstanceOptions,
        memory: Option<PageMemory>,
        above: &'static dyn Above,
    ) -> Result<Arc<Instance>, InstanceError> {
        let InstanceOptions {
            data_dir,
            memory_bytes,
            query_bytes,
            operator_bytes,
            statement_bytes,
            log_echo,
            volumes,
            trace_flags,
            disk,
            pace,
            url_devices,
            read_only,
            must_exist,
        } = options;
        let lock = lock_folder(&*disk, &data_dir, read_only, must_exist)?;
        let registry = registry::read(&*disk, &data_dir)?;
        let folder_before = registry.folder_before.clone().filter(|before| *before != data_dir);
        let (disk, read_only): (Arc<dyn Disk>, _) = if read_only {
            let overlaid = ReadOnlyDisk::new(disk)?;
            let scratch = overlaid.scratch().to_path_buf();
            (Arc::new(overlaid), Some(scratch))
        } else {
            (disk, None)
        };
        let known = registry.folder_before.as_deref();
        let identity = identity::establish(&*disk, &data_dir, known, read_only.is_none())?;
        let memory = match memory {
            Some(memory) => memory,
            None => PageMemory::new(memory_bytes.unwrap_or_else(|| machine_memory() / 4))?,
        };
        let error_log = Arc::new(ErrorLog::new(disk.clone(), data_dir.join("log")).with_echo(log_echo));
        let credentials = credentials::Credentials::open(disk.clone(), &data_dir)?;
        let query_memory = QueryMemory::new(
            query_bytes.unwrap_or_else(query_budget),
            operator_bytes.unwrap_or_else(operator_budget),
        )
        .with_statement(statement_bytes.unwrap_or(usize::MAX));
        let host = Arc::new(Host::new(above, disk.clone(), error_log, query_memory));
        let instance = Arc::new(Instance {
            host,
            disk,
            paths: Paths::new(data_dir, volumes),
            identity,
            folder_before,
            read_only,
            pool: Arc::new(memory.pool),
            locks: lock_manager(),
            log_waits: Arc::default(),
            page_waits_base: Mutex::default(),
            // Its own flag: options may be used for several instances.
            pace: Pace {
                checkpoints_held: Arc::new(AtomicBool::new(pace.checkpoints_held.load(Ordering::Relaxed))),
                ..pace
            },
            url_devices,
            credentials,
            authentication: Logins::default(),
            memory_bytes: memory.bytes,
            trace_flags: RwLock::default(),
            changing: Mutex::new(()),
            pending: Mutex::default(),
            sessions: Mutex::default(),
            next_spid: AtomicI32::new(FIRST_SPID),
            logins: AtomicU64::new(0),
            batches: OnceLock::new(),
            started: clock::now(),
            born: Instant::now(),
            watch: Mutex::new(None),
            closed: AtomicBool::new(false),
            closing: Mutex::new(()),
            shutdown: AtomicBool::new(false),
            folder_lock: Mutex::new(Some(lock)),
        });
        trace_flags.into_iter().for_each(|flag| instance.set_trace_flag(flag, true));
        instance.start(registry)?;
        Ok(instance)
    }

    fn start(&self, registry: registry::Registry) -> Result<(), InstanceError> {
        let version = env!("CARGO_PKG_VERSION");
        self.error_log().write("Server", &format!("Ringwood {version} is starting."));
        self.error_log().write("Server", &format!("Buffer pool: {} MB.", self.memory_bytes >> 20));
        let errors = Arc::downgrade(self.error_log());
        disk::on_io_fallback(move |reason| {
            if let Some(errors) = errors.upgrade() {
                errors.write("Server", &format!("Data files are read and written by threads: {reason}."));
            }
        });
        if let Some(news) = &self.identity.news {
            self.error_log().write("Server", news);
        }
        let registry::Registry { mut entries, pending, folder_before } = registry;
        *self.pending.lock() = pending;
        let tempdb = entries.iter().position(|e| e.id == TEMPDB).map(|at| entries.remove(at));
        let tempdb = self.forget_tempdb(tempdb, &entries);
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
                        Db::down(entry.clone(), db::DbStatus::Suspect, cause, self.error_log().clone())
                    })
                })
                .collect()
        });
        opened.into_iter().for_each(|db| self.add_database(db));
        if !self.is_read_only() {
            self.settle_files(folder_before.is_some());
        }
        for (name, id) in SYSTEM {
            // In a folder that is only read tempdb alone is made.
            if self.db_by_id(id).is_some() || (self.is_read_only() && id != TEMPDB) {
                continue;
            }
            let made = match tempdb.as_ref().filter(|_| id == TEMPDB) {
                Some(before) => self.make_system_database(name, id, Some(before)).or_else(|e| {
                    let text =
                        format!("tempdb goes into the folder: it cannot be where it was: {}", e.message);
                    self.error_log().write("Server", &text);
                    self.make_system_database(name, id, None)
                }),
                None => self.make_system_database(name, id, None),
            };
            made.map_err(|e| InstanceError::Master(e.message))?;
        }
        match self.db_by_id(MASTER) {
            Some(master) => master
                .check_usable()
                .map_err(|e| InstanceError::Master(master.cause().unwrap_or(e.message)))?,
            None => return Err(InstanceError::Master("it is missing".into())),
        }
        self.error_log().write("Server", "Ringwood is ready.");
        Ok(())
    }

    /// A number and the public part of a new session, which begins in the returned database: master.
    ///
    /// # Errors
    /// 6005 when the instance is shutting down.
    pub(crate) fn enter(&self) -> Result<(Arc<Db>, i32, Arc<SessionShared>), SqlError> {
        if self.closed.load(Ordering::Acquire) || self.shutdown_requested() {
            return Err(errors::shutting_down());
        }
        let master = self.db_by_id(MASTER).ok_or_else(|| errors::no_database("master"))?;
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| session.strong_count() > 0);
        let spid = self.free_spid(&sessions);
        let shared = Arc::new(SessionShared { number: spid as u32, ..SessionShared::default() });
        sessions.insert(spid, Arc::downgrade(&shared));
        drop(sessions);
        self.logins.fetch_add(1, Ordering::Relaxed);
        Ok((master, spid, shared))
    }

    /// The next number that no session has. Numbers come again only after all others: a view that was read a moment ago does
    /// not speak of another session.
    fn free_spid(&self, sessions: &BTreeMap<i32, Weak<SessionShared>>) -> i32 {
        loop {
            let spid = self.next_spid.load(Ordering::Relaxed);
            // session_id is a smallint. With all of them in use, which no limit on connections allows, it goes on above.
            let full = sessions.len() >= (i16::MAX as i32 - FIRST_SPID) as usize;
            let next = if spid >= i16::MAX.into() && !full { FIRST_SPID } else { spid + 1 };
            self.next_spid.store(next, Ordering::Relaxed);
            if !sessions.contains_key(&spid) {
                return spid;
            }
        }
    }

    /// Closes all databases cleanly: everything durable and checkpointed. Sessions that still run get errors.
    ///
    /// # Errors
    /// Of the first database that could not be closed; the next start recovers it.
    pub fn close(&self) -> Result<(), SqlError> {
        // A second caller returns when it is closed, not before: the end of the process may follow.
        let _one = self.closing.lock();
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.close_to_view();
        self.error_log().write("Server", "Ringwood is shutting down.");
        let mut first = None;
        for db in self.databases() {
            if let Err(e) = self.close_database(&db) {
                self.error_log()
                    .write("Server", &format!("'{}' was not closed cleanly: {}", db.name(), e.message));
                first.get_or_insert(e);
            }
        }
        self.error_log().save();
        // What could not be closed is written no more: its files may be opened by others from now on.
        for db in self.databases() {
            if let Some(storage) = db.storage_if_open()
                && storage.status() != txn::Status::Offline
            {
                storage.abandon();
            }
        }
        drop(self.folder_lock.lock().take());
        first.map_or(Ok(()), Err)
    }

    /// Whether the folder is only read.
    pub fn is_read_only(&self) -> bool {
        self.read_only.is_some()
    }

    /// Error 3906 when the folder is only read: for statements that change what belongs to no single database.
    pub(crate) fn check_writable(&self) -> Result<(), SqlError> {
        if self.is_read_only() { Err(errors::read_only("master")) } else { Ok(()) }
    }

    /// The instance's id, which its files name.
    pub fn id(&self) -> pages::InstanceId {
        self.identity.id
    }

    /// Where a database's files are, and whose they may be.
    pub(crate) fn home(&self, entry: &registry::DbEntry) -> pages::Home {
        // While it is being restored the database's own list is ahead of the registry, or behind it: it says what is there.
        let data = entry.files.iter().filter(|f| !f.log && !entry.restoring);
        pages::Home {
            instance: self.identity.id,
            folder: self.paths.root().to_path_buf(),
            folder_before: self.folder_before.clone(),
            places: data.map(|f| (f.file_id, f.path.clone())).collect(),
            only_named: self.identity.copy,
            take: false,
        }
    }

    // ---- what it has ----

    /// What statements see of it.
    #[inline]
    pub(crate) fn host(&self) -> &Arc<Host> {
        &self.host
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

    /// Batches since the start.
    pub fn batches_run(&self) -> u64 {
        let running = self.sessions().iter().map(|(_, s)| s.batches.load(Ordering::Relaxed)).sum::<u64>();
        self.host.ended_batches() + running
    }

    /// Sessions since the start.
    pub fn logins(&self) -> u64 {
        self.logins.load(Ordering::Relaxed)
    }

    /// Ends the lock wait of a session that is to stop.
    pub(crate) fn wake(&self, session: &SessionShared) {
        self.locks.cancel(session.number);
    }

    /// The cache of compiled batches, made by `make` at the first call.
    pub(crate) fn batches_or(&self, make: fn() -> Box<dyn BatchTexts>) -> &dyn BatchTexts {
        &**self.batches.get_or_init(make)
    }

    /// Forgets all compiled batches: DBCC FREEPROCCACHE, a database went or was renamed.
    pub fn forget_batches(&self) {
        if let Some(batches) = self.batches.get() {
            batches.clear();
        }
    }

    /// The text of a kept batch that `test` wants.
    pub fn find_batch_text(&self, test: &dyn Fn(&str) -> bool) -> Option<Arc<str>> {
        self.batches.get().and_then(|batches| batches.find_text(test))
    }

    /// Batches compiled since the start.
    pub fn compilations(&self) -> u64 {
        self.batches.get().map_or(0, |batches| batches.compilations())
    }

    /// Texts of batches that are kept compiled.
    pub fn kept_batches(&self) -> usize {
        self.batches.get().map_or(0, |batches| batches.kept())
    }

    /// What CREATE CREDENTIAL has made.
    pub fn credentials(&self) -> &credentials::Credentials {
        &self.credentials
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

    /// Most bytes that queries have held at once.
    pub fn peak_query_memory(&self) -> usize {
        self.query_memory().peak()
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

    /// SHUTDOWN was asked for: the program that runs the instance closes it.
    pub fn shutdown_requested(&self) -> bool {
        self.shutdown.load(Ordering::Acquire)
    }

    pub(crate) fn request_shutdown(&self) {
        self.shutdown.store(true, Ordering::Release);
    }
}

/// An instance is what statements see of it, and what it takes to open, change and close that.
impl Deref for Instance {
    type Target = Host;

    #[inline]
    fn deref(&self) -> &Host {
        &self.host
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

/// Makes sure of the folder and locks it.
fn lock_folder(
    disk: &dyn Disk,
    folder: &Path,
    read_only: bool,
    must_exist: bool,
) -> Result<DiskLock, InstanceError> {
    let name = folder.join("instance.lock");
    let there = || disk.exists(&folder.join(registry::FILE_NAME));
    if (read_only || must_exist) && !there().or_else(not_a_folder)? {
        return Err(match disk.list(folder) {
            Err(DiskError::Io { code: 20, .. }) => InstanceError::NotAFolder(folder.to_path_buf()),
            _ => InstanceError::NoInstance(folder.to_path_buf()),
        });
    }
    let locked = match read_only {
        true => disk.lock_shared(&name),
        false => disk.create_dir_all(folder).and_then(|()| disk.lock_exclusive(&name)),
    };
    locked.map_err(|e| match e {
        DiskError::Locked { holder, .. } => InstanceError::InUse(folder.to_path_buf(), holder),
        DiskError::NotAFolder { path } => InstanceError::NotAFolder(path),
        // EPERM, EACCES, EROFS
        DiskError::Io { code: 1 | 13 | 30, text, .. } if !read_only => {
            InstanceError::NotWritable(folder.to_path_buf(), text)
        }
        e => e.into(),
    })
}

/// What lies below a file does not exist.
fn not_a_folder(e: DiskError) -> Result<bool, DiskError> {
    if matches!(e, DiskError::Io { code: 20, .. }) { Ok(false) } else { Err(e) }
}

/// Least memory for queries.
const QUERY_MIN: usize = 1 << 30;
/// Least and most bytes that one operator holds before it goes to disk.
const OPERATOR_MIN: usize = 16 << 20;
const OPERATOR_MAX: usize = 1 << 30;

/// Memory for queries: a quarter of the machine's.
fn query_budget() -> usize {
    usize::try_from(machine_memory() / 4).unwrap_or(usize::MAX).max(QUERY_MIN)
}

/// Bytes that one operator may hold: an eighth of the machine's memory, at most 1 GB.
fn operator_budget() -> usize {
    usize::try_from(machine_memory() / 8).unwrap_or(OPERATOR_MAX).clamp(OPERATOR_MIN, OPERATOR_MAX)
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

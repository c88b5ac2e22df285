//! An instance: its folder, databases, sessions, settings and error log.
//! Guarantees: one instance per folder at a time; a database that cannot be opened does not keep the others from it;
//! a clean close leaves nothing to recover.

pub(crate) mod attach;
pub(crate) mod boot_text;
pub mod credentials;
mod data_files;
pub mod figures;
pub(crate) mod file_errors;
pub mod file_specs;
pub mod files;
mod identity;
pub(crate) mod kept;
mod of_session;
mod open_error;
mod options;
pub mod paths;
pub mod restore;
pub(crate) mod sessions;
pub mod waits;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use disk::{Disk, DiskError, DiskLock, ReadOnlyDisk};
use pages::BufferPool;
use pages::PageWait;
use parking_lot::{Mutex, RwLock};
use txn::backup::UrlDevices;
use txn::{LockManager, Outcomes, Pace};
use types::{SqlError, Value};

use catalog::errorlog::ErrorLog;
use catalog::{MASTER, TEMPDB, clock, registry};
use identity::Identity;
use paths::Paths;
use waits::LogWaits;

pub(crate) use of_session::OfInstance;
pub(crate) use options::machine_memory;
pub use options::{InstanceError, InstanceOptions, PageMemory};
use options::{operator_budget, query_budget};

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
/// Trace flag: no checkpoint begins by itself.
const TRACE_HOLD_CHECKPOINTS: i32 = 3505;

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
    /// What became of transactions over several databases.
    pub(crate) outcomes: Arc<Outcomes>,
    pub(crate) log_waits: Arc<LogWaits>,
    /// (number, microseconds) of the buffer pool's waits at the last CLEAR.
    page_waits_base: Mutex<[(u64, u64); PageWait::ALL.len()]>,
    pub(crate) pace: Pace,
    /// Makes backup devices of URLs.
    pub(crate) url_devices: Option<Arc<dyn UrlDevices>>,
    credentials: credentials::Credentials,
    /// What else it keeps in files of their own.
    lists: kept::Lists,
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
    /// What the server that clients connect to counts, if there is one.
    packets: OnceLock<Arc<dyn figures::Packets>>,
    /// What sp_monitor found last.
    monitored: Mutex<figures::Figures>,
    batches: OnceLock<Box<dyn BatchTexts>>,
    started: Value,
    pub(crate) born: Instant,
    /// Where others look in.
    /// The thread that lets other processes look in, until the instance is closed.
    pub(crate) watch: Mutex<Option<Box<dyn Send>>>,
    /// The thread that does what is to be done at times.
    pub(crate) chores: Mutex<Option<Box<dyn Send>>>,
    /// Procedures that were started with it.
    launched: Mutex<Vec<sessions::Launched>>,
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
            chore_period: _,
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
        let lists = kept::Lists::new(disk.clone(), &data_dir);
        let credentials = credentials::Credentials::of(&lists).map_err(InstanceError::Credentials)?;
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
            outcomes: Arc::default(),
            log_waits: Arc::default(),
            page_waits_base: Mutex::default(),
            // Its own flag: options may be used for several instances.
            pace: Pace {
                checkpoints_held: Arc::new(AtomicBool::new(pace.checkpoints_held.load(Ordering::Relaxed))),
                ..pace
            },
            url_devices,
            credentials,
            lists,
            authentication: Logins::default(),
            memory_bytes: memory.bytes,
            trace_flags: RwLock::default(),
            changing: Mutex::new(()),
            pending: Mutex::default(),
            sessions: Mutex::default(),
            next_spid: AtomicI32::new(sessions::FIRST_SPID),
            logins: AtomicU64::new(0),
            packets: OnceLock::new(),
            monitored: Mutex::default(),
            batches: OnceLock::new(),
            started: clock::now(),
            born: Instant::now(),
            watch: Mutex::new(None),
            chores: Mutex::default(),
            launched: Mutex::default(),
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
        self.open_all(&entries).into_iter().for_each(|db| self.add_database(db));
        self.outcomes.settle();
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
            made.map_err(|e| InstanceError::Master(e.into_message()))?;
        }
        match self.db_by_id(MASTER) {
            Some(master) => master
                .check_usable()
                .map_err(|e| InstanceError::Master(master.cause().unwrap_or(e.into_message())))?,
            None => return Err(InstanceError::Master("it is missing".into())),
        }
        self.error_log().write("Server", "Ringwood is ready.");
        Ok(())
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
        // Not while the lock is held: the thread may be looking.
        let chores = self.chores.lock().take();
        drop(chores);
        self.end_launched();
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

    /// Its objects of one kind.
    pub(crate) fn kept<T: kept::Keep>(&self) -> Result<Arc<kept::Kept<T>>, SqlError> {
        Ok(self.lists.of()?)
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

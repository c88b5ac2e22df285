//! An instance of Ringwood: its folder, databases, files, settings, messages, principals and error
//! log, and which sessions there are. Entry points: [`InstanceCore`], [`OfInstance`] (from a
//! session to its instance), [`permit`] (which files a statement may open). Guarantees: one
//! instance per folder at a time; a database that cannot be opened does not keep the others from
//! it; a clean close leaves nothing to recover.

pub mod attach;
mod batches;
pub mod boot_text;
mod budget;
pub mod bulk_file;
pub mod catalog_locks;
pub mod configuration;
pub mod credentials;
mod data_files;
pub mod deadlocks;
pub mod encoding;
pub mod figures;
pub mod file_errors;
pub mod file_specs;
pub mod files;
mod identity;
pub mod lost_list;
pub mod mend;
pub mod messages;
mod of_session;
mod open_error;
mod options;
pub mod own_files;
pub mod permit;
pub mod persisted;
pub mod restore;
pub mod scoped;
pub mod security;
mod session_waits;
pub mod sessions;
mod shutdown;
pub mod start;
pub mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use memory::MemoryAccount;

use disk::{Disk, DiskLock, ReadOnlyDisk};
use pages::BufferPool;
use pages::PageWait;
use parking_lot::{Mutex, RwLock};
use txn::backup::UrlDevices;
use txn::{BackgroundPace, LockManager, Outcomes};
use types::{SqlError, Value};

use catalog::errorlog::ErrorLog;
use catalog::{MASTER, MODEL, TEMPDB, clock, registry};
use identity::Identity;
use permit::Paths;
use waits::LogWaits;

use budget::Budget;
pub use budget::resident;
pub use of_session::OfInstance;
pub use options::{InstanceError, InstanceOptions, PageMemory, machine_memory};
pub use start::is_made;

use crate::security::logins::Logins;
use catalog::db::errors;
use programs::cache::BatchCache;
use session::query_memory::QueryMemory;
use session::state::activity;
use session::state::core::SessionShared;
use session::state::host::{Host, Upcalls};

/// System databases that are made at first start, with their ids.
pub const SYSTEM: [(&str, i32); 4] =
    [("master", MASTER), ("tempdb", TEMPDB), ("model", MODEL), ("msdb", 4)];
/// Names that no user database may have.
const RESERVED: [&str; 5] = ["master", "tempdb", "model", "msdb", "resource"];
/// Trace flag: no checkpoint begins by itself.
const TRACE_HOLD_CHECKPOINTS: i32 = 3505;

/// Trace flag: requests are timed by phase.
const TRACE_REQUEST_PHASES: i32 = 15_001;

/// A running instance, without its sessions: what statements and views work on.
pub struct InstanceCore {
    /// What statements see of it: databases, memory for queries, error log.
    host: Arc<Host>,
    pub disk: Arc<dyn Disk>,
    pub paths: Paths,
    policy: permit::FilePolicy,
    identity: Identity,
    /// Where the folder was when its registry had absolute paths, if it is somewhere else now.
    folder_before: Option<PathBuf>,
    /// Where files can be made in a folder that is only read.
    read_only: Option<PathBuf>,
    pub pool: Arc<BufferPool>,
    pub locks: Arc<LockManager>,
    /// The newest deadlocks.
    pub deadlocks: deadlocks::Deadlocks,
    /// What became of transactions over several databases.
    pub outcomes: Arc<Outcomes>,
    pub log_waits: Arc<LogWaits>,
    /// (number, microseconds) of the buffer pool's waits at the last CLEAR.
    page_waits_base: Mutex<[(u64, u64); PageWait::ALL.len()]>,
    pub(crate) pace: BackgroundPace,
    /// Makes backup devices of URLs.
    pub url_devices: Option<Arc<dyn UrlDevices>>,
    credentials: credentials::Credentials,
    /// What else it keeps in files of their own.
    lists: persisted::PersistedLists,
    pub authentication: Logins,
    pool_bytes: u64,
    trace_flags: RwLock<BTreeSet<i32>>,
    /// Held while the list of databases changes.
    pub changing: Mutex<()>,
    /// Changes of databases that wait for sessions.
    pub session_waits: session_waits::SessionWaits,
    /// Files that are being made or removed, as the registry has them.
    pending: Mutex<Vec<registry::PendingFile>>,
    sessions: Mutex<BTreeMap<i32, Weak<SessionShared>>>,
    /// The number that the next session gets if it is free.
    next_spid: AtomicI32,
    /// Sessions since the start.
    logins: AtomicU64,
    /// What the server that clients connect to counts, if there is one.
    packets: OnceLock<Arc<dyn figures::Packets>>,
    /// Whether the server's dedicated administrator connection can be reached from other machines.
    remote_admin: AtomicBool,
    /// What sp_monitor found last.
    monitored: Mutex<figures::InstanceFigures>,
    /// Compiled batches.
    batches: Arc<BatchCache>,
    started: Value,
    pub born: Instant,
    /// The thread that lets other processes look in, until the instance is closed.
    pub watch: Mutex<Option<Box<dyn Send>>>,
    /// The thread that does what is to be done at times.
    pub chores: Mutex<Option<Box<dyn Send>>>,
    /// Procedures that were started with it.
    launched: Mutex<Vec<sessions::LaunchedProcedure>>,
    closed: AtomicBool,
    /// Held while it is closed.
    closing: Mutex<()>,
    /// SHUTDOWN was asked for.
    shutdown: AtomicBool,
    /// Who is told of it.
    shutdown_heard: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Held until the instance is closed.
    folder_lock: Mutex<Option<DiskLock>>,
    /// What was found damaged at the start and what was done about it: told to administrators who
    /// log in.
    notices: Mutex<Vec<String>>,
}

/// Locks whose waits end, or do not begin, when the session of their thread is to stop.
fn lock_manager(memory: &Arc<MemoryAccount>) -> Arc<LockManager> {
    let locks = LockManager::new();
    budget::charge_locks(memory, &locks);
    locks.set_interrupted(activity::interrupted);
    locks
}

impl InstanceCore {
    /// Opens the instance of a folder and all its databases, in memory that was had before if there
    /// is some; makes it when the folder is empty. No session has run in it yet.
    ///
    /// # Errors
    /// The folder is in use or cannot be written, the list of databases is damaged, master cannot
    /// be opened.
    pub fn open_databases(
        options: InstanceOptions,
        memory: Option<PageMemory>,
        above: &'static dyn Upcalls,
    ) -> Result<Arc<InstanceCore>, InstanceError> {
        let budget = Budget::new(&options, memory.as_ref().map(|memory| memory.bytes));
        let account = budget.account(options.own_process);
        let InstanceOptions {
            data_dir,
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
            allowed_folders,
            protected_files,
            ..
        } = options;
        let lock = start::lock_folder(&*disk, &data_dir, read_only, must_exist)?;
        let (disk, read_only): (Arc<dyn Disk>, _) = if read_only {
            let overlaid = ReadOnlyDisk::new(disk)?;
            let scratch = overlaid.scratch().to_path_buf();
            (Arc::new(overlaid), Some(scratch))
        } else {
            (disk, None)
        };
        let paths = Paths::new(data_dir.clone(), volumes);
        let start::KnownFolder { registry, identity, news } =
            start::read_known(&*disk, &paths, read_only.is_none())?;
        let folder_before = registry.folder_before.clone().filter(|before| *before != data_dir);
        let memory = match memory {
            Some(memory) => memory,
            None => PageMemory::new(budget.pool)?,
        };
        let error_log =
            Arc::new(ErrorLog::new(disk.clone(), data_dir.join("log")).with_echo(log_echo));
        let lists = persisted::PersistedLists::new(
            disk.clone(),
            &data_dir,
            error_log.clone(),
            read_only.is_none(),
        );
        let credentials =
            credentials::Credentials::of(&lists).map_err(InstanceError::Credentials)?;
        let query_memory = QueryMemory::new(budget.query, budget.operator)
            .with_statement(statement_bytes.unwrap_or(usize::MAX))
            .with_account(account);
        let host = Arc::new(Host::new(above, disk.clone(), error_log, query_memory));
        budget::connect(host.memory(), &memory.pool);
        budget::count_logs(&host);
        budget::count_databases(&host);
        let locks = lock_manager(host.memory());
        let batches = BatchCache::new(host.memory());
        let instance = Arc::new(InstanceCore {
            host,
            disk,
            paths,
            policy: permit::FilePolicy { allowed: allowed_folders, protected: protected_files },
            identity,
            folder_before,
            read_only,
            pool: Arc::new(memory.pool),
            locks,
            deadlocks: deadlocks::Deadlocks::default(),
            outcomes: Arc::default(),
            log_waits: Arc::default(),
            page_waits_base: Mutex::default(),
            // Its own flag: options may be used for several instances.
            pace: BackgroundPace {
                checkpoints_held: Arc::new(AtomicBool::new(
                    pace.checkpoints_held.load(Ordering::Relaxed),
                )),
                ..pace
            },
            url_devices,
            credentials,
            lists,
            authentication: Logins::default(),
            pool_bytes: memory.bytes,
            trace_flags: RwLock::default(),
            changing: Mutex::new(()),
            session_waits: session_waits::SessionWaits::default(),
            pending: Mutex::default(),
            sessions: Mutex::default(),
            next_spid: AtomicI32::new(sessions::FIRST_SPID),
            logins: AtomicU64::new(0),
            packets: OnceLock::new(),
            remote_admin: AtomicBool::new(false),
            monitored: Mutex::default(),
            batches,
            started: clock::now(),
            born: Instant::now(),
            watch: Mutex::new(None),
            chores: Mutex::default(),
            launched: Mutex::default(),
            closed: AtomicBool::new(false),
            closing: Mutex::new(()),
            shutdown: AtomicBool::new(false),
            shutdown_heard: OnceLock::new(),
            folder_lock: Mutex::new(Some(lock)),
            notices: Mutex::new(news),
        });
        trace_flags.into_iter().for_each(|flag| instance.set_trace_flag(flag, true));
        instance.start(registry)?;
        Ok(instance)
    }

    /// Closes all databases cleanly: everything durable and checkpointed. Sessions that still run
    /// get errors.
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
                self.error_log().write(
                    "Server",
                    &format!("'{}' was not closed cleanly: {}", db.name(), e.message),
                );
                first.get_or_insert(e);
            }
        }
        self.error_log().save();
        // What could not be closed is written no more: its files may be opened by others from now
        // on.
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

    /// Ends `Instance::open_to_view`: afterwards nobody but the callers holds the instance, so that
    /// dropping it closes it before that returns.
    pub fn close_to_view(&self) {
        let watch = self.watch.lock().take();
        drop(watch);
    }

    /// Whether the folder is only read.
    pub fn is_read_only(&self) -> bool {
        self.read_only.is_some()
    }

    /// Error 3906 when the folder is only read: for statements that change what belongs to no
    /// single database.
    pub fn check_writable(&self) -> Result<(), SqlError> {
        if self.is_read_only() { Err(errors::read_only("master")) } else { Ok(()) }
    }

    /// The instance's id, which its files name.
    pub fn id(&self) -> pages::InstanceId {
        self.identity.id
    }

    /// Where a database's files are, and whose they may be.
    pub fn home(&self, entry: &registry::DbEntry) -> pages::InstanceHome {
        // While it is being restored the database's own list is ahead of the registry, or behind
        // it: it says what is there.
        let data = entry.files.iter().filter(|f| !f.log && !entry.restoring);
        pages::InstanceHome {
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
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Whether a name belongs to the system.
    pub fn is_reserved_name(name: &str) -> bool {
        RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
    }

    /// Its objects of one kind.
    pub fn kept<T: persisted::Persisted>(
        &self,
    ) -> Result<Arc<persisted::PersistedObjects<T>>, SqlError> {
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

    pub fn cleared_page_waits(&self) -> [(u64, u64); PageWait::ALL.len()] {
        *self.page_waits_base.lock()
    }

    /// The buffer pool's counters only grow: clearing them means to remember where they were.
    pub fn clear_page_waits(&self) {
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

    /// Most memory for pages in bytes.
    pub fn pool_bytes(&self) -> u64 {
        self.pool_bytes
    }

    /// The account of its memory.
    pub fn memory(&self) -> &Arc<MemoryAccount> {
        self.host.memory()
    }

    /// What the error log says of memory at the start.
    fn memory_line(&self) -> String {
        let megabytes = |bytes: u64| bytes >> 20;
        let (all, pool) = (megabytes(self.memory().target() as u64), megabytes(self.pool_bytes));
        format!("Memory: {all} MB, buffer pool at most {pool} MB.")
    }

    /// Most bytes that queries have held at once.
    pub fn peak_query_memory(&self) -> usize {
        self.query_memory().peak()
    }

    /// Trace flags that are on.
    pub fn trace_flags(&self) -> Vec<i32> {
        self.trace_flags.read().iter().copied().collect()
    }

    pub fn set_trace_flag(&self, flag: i32, on: bool) {
        if flag == TRACE_HOLD_CHECKPOINTS {
            self.pace.checkpoints_held.store(on, Ordering::Relaxed);
        }
        if flag == TRACE_REQUEST_PHASES {
            self.request_phases().switch(on);
        }
        let mut flags = self.trace_flags.write();
        if on {
            flags.insert(flag);
        } else {
            flags.remove(&flag);
        }
    }

    pub fn has_trace_flag(&self, flag: i32) -> bool {
        self.trace_flags.read().contains(&flag)
    }
}

/// An instance is what statements see of it, and what it takes to open, change and close that.
impl Deref for InstanceCore {
    type Target = Host;

    #[inline]
    fn deref(&self) -> &Host {
        &self.host
    }
}

impl std::fmt::Debug for InstanceCore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("root", &self.paths.root()).finish_non_exhaustive()
    }
}

impl Drop for InstanceCore {
    fn drop(&mut self) {
        // What could not be closed is in the error log and is recovered at the next start.
        let _ = self.close();
    }
}

//! How an instance is opened: its options, the memory that it gets, and why it could not be opened.
//! Guarantee: what is not said follows from the machine's memory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use disk::{Disk, DiskError};
use pages::{BufferPool, PoolOptions};
use txn::BackgroundPace;
use txn::backup::UrlDevices;

use catalog::registry::RegistryError;

/// Least memory for pages.
const MIN_POOL: u64 = 8 << 20;

/// Memory for pages, had before the instance that uses it is opened.
pub struct PageMemory {
    pub(super) pool: BufferPool,
    pub(super) bytes: u64,
}

impl PageMemory {
    /// Memory that the system gives page by page as it is used.
    ///
    /// # Errors
    /// [`InstanceError::Memory`] when so much cannot be had.
    pub fn new(bytes: u64) -> Result<PageMemory, InstanceError> {
        PageMemory::with(bytes, false)
    }

    /// Memory that is taken from the system now: what is done later no longer pays for it. A second
    /// or more for a gigabyte.
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
    /// Memory of all that the instance holds, in bytes: pages get what others leave. Half of the
    /// machine's when neither this nor `memory_bytes` is given.
    pub process_bytes: Option<u64>,
    /// The process is the instance's alone: its resident memory is looked at, and `process_bytes`
    /// is meant for all of it.
    pub own_process: bool,
    /// Most memory for pages in bytes, with room for others beside it; `process_bytes` decides when
    /// `None`.
    pub memory_bytes: Option<u64>,
    /// Memory of all queries' sorts, hashes and kept rows together, in bytes; a quarter of the
    /// machine's, at least 1 GB, when `None`, and never more than three quarters of
    /// `process_bytes`.
    pub query_bytes: Option<usize>,
    /// Memory that one operator of a query may hold before it goes to run files, in bytes; an
    /// eighth of the machine's, at most 1 GB, when `None`.
    pub operator_bytes: Option<usize>,
    /// Memory that one statement may hold, in bytes: its sorts and joins go to run files beyond,
    /// what cannot is error 701. As much as `query_bytes` when `None`.
    pub statement_bytes: Option<usize>,
    /// Drive letter to folder, for Windows paths in statements.
    pub volumes: HashMap<char, PathBuf>,
    /// Trace flags: 1800 aligns log writes to 4096 bytes, 3505 keeps checkpoints from beginning by
    /// themselves, 4022 keeps the procedures of a start from running, 15001 times requests by
    /// phase.
    pub trace_flags: Vec<i32>,
    /// Where the files are.
    pub disk: Arc<dyn Disk>,
    /// Pace of the databases' background tasks.
    pub pace: BackgroundPace,
    /// How often the instance looks what there is to do without being asked; what is older than its
    /// retention is looked for at first and then every 60th time.
    pub chore_period: Duration,
    /// What makes backup devices of URLs; `None`: BACKUP and RESTORE know none.
    pub url_devices: Option<Arc<dyn UrlDevices>>,
    /// Change nothing in the folder, which may be one that cannot be written: databases that were
    /// stopped cleanly are open for reading, changes are error 3906, tempdb is in the system's
    /// folder for temporary files.
    pub read_only: bool,
    /// An error when the folder has no instance yet, instead of making one.
    pub must_exist: bool,
    /// Folders in which statements of who is no sysadmin may name files, besides the instance's own
    /// and its volumes.
    pub allowed_folders: Vec<PathBuf>,
    /// Files that no statement opens, besides those that the instance keeps in its folder: keys,
    /// files with passwords.
    pub protected_files: Vec<PathBuf>,
    /// What is told of each line of the error log.
    pub log_echo: Option<catalog::errorlog::Echo>,
}

impl InstanceOptions {
    /// Options for a folder of the file system, all else as usual.
    pub fn new(data_dir: impl Into<PathBuf>) -> InstanceOptions {
        let data_dir = data_dir.into();
        // Absolute, so that a path below it means the same to the disk and to a person, whatever
        // the current folder is.
        let data_dir = std::path::absolute(&data_dir).unwrap_or(data_dir);
        InstanceOptions {
            disk: Arc::new(disk::OsDisk::new(&data_dir)),
            data_dir,
            process_bytes: None,
            own_process: false,
            memory_bytes: None,
            query_bytes: None,
            operator_bytes: None,
            statement_bytes: None,
            volumes: HashMap::new(),
            trace_flags: Vec::new(),
            pace: BackgroundPace::default(),
            chore_period: Duration::from_secs(60),
            url_devices: None,
            read_only: false,
            must_exist: false,
            allowed_folders: Vec::new(),
            protected_files: Vec::new(),
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
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The list of databases cannot be read.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The list of credentials is damaged, or cannot be read.
    #[error("credentials: {0}")]
    Credentials(super::persisted::KeptError),
    /// No memory for the buffer pool, or an option out of range.
    #[error("{0}")]
    Memory(String),
    /// Another version has made the folder, which is as it was.
    #[error("the databases of this folder are those of another version: {0}")]
    OtherVersion(String),
    /// master could not be made or opened.
    #[error(
        "the system database master cannot be opened: {0}. `ringwood repair` tells what can be done about it"
    )]
    Master(String),
}

/// The machine's memory in bytes; 4 GB where it cannot be told.
pub fn machine_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(4 << 20) << 10
}

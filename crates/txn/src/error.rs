//! The one error of this crate and of what lies below it, with the kinds that an engine answers
//! differently. Guarantees: every error has one SQL Server number; an error never hides that a
//! database went offline.

use std::path::PathBuf;
use std::sync::Arc;

use access::AccessError;
use disk::{DiskError, Op};
use pages::{PageError, TxnId};
use wal::{LogError, Lsn};

use crate::global::GlobalId;
use crate::locks::LockError;
use crate::options::LogReuseWait;
use crate::outcomes::InDoubt;

/// What can go wrong in a database.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TxnError {
    /// Rows, pages or the log below; `kind()` says what it means.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The page store.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A file.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A lock was not given.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The log is lost, and the database was not closed cleanly: nothing can replace it (1813).
    #[error("the log cannot be rebuilt because the database was not closed cleanly")]
    NotClosed,
    /// The log is full (9002).
    #[error("the transaction log is full due to '{}' and the holdup lsn is {lsn}", reason.name())]
    LogFull { reason: LogReuseWait, lsn: Lsn },
    /// Restart recovery failed (3414).
    #[error("recovery of the database failed at {phase} (log record {lsn}): {cause}")]
    Recovery { phase: &'static str, lsn: Lsn, cause: String },
    /// Transactions over several databases are prepared, and the databases that decide on them
    /// cannot say how (3437).
    #[error("{}", show_doubts(.0))]
    InDoubt(Arc<[InDoubt]>),
    /// The coordinator of a transaction over several databases has failed before its decision was
    /// certain.
    #[error(
        "the outcome of the transaction with the UOW {{{0}}} is unknown until the database that decides on it has been recovered"
    )]
    Undecided(GlobalId),
    /// The transaction may only be rolled back (3930).
    #[error("transaction {} cannot be committed and can only be rolled back", .0.0)]
    Doomed(TxnId),
    /// The database cannot be closed: transactions are running.
    #[error("{active} transaction{} still running", if *.active == 1 { " is" } else { "s are" })]
    Busy { active: usize },
    /// A backup or another change of the list of files is running (3023).
    #[error("a backup or another change of the database's files is running")]
    FilesBusy,
    /// The boot page does not describe a database of this program.
    #[error("'{}' is not a database: {what}", path.display())]
    NotADatabase { path: PathBuf, what: &'static str },
    /// A parameter out of its range.
    #[error("{0}")]
    Invalid(&'static str),
}

fn show_doubts(list: &[InDoubt]) -> String {
    let one = |doubt: &InDoubt| {
        format!("UOW {{{}}}, decided by database '{}'", doubt.prepared.id, doubt.prepared.name)
    };
    let list: Vec<String> = list.iter().map(one).collect();
    format!(
        "the completion status of transactions over several databases is not known: {}",
        list.join(", ")
    )
}

/// What an error means to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The log cannot be written any more (9001).
    LogNotAvailable,
    /// The log is full (9002).
    LogFull,
    /// A log record or block is damaged (9015).
    LogCorrupt,
    /// Log that was durable is missing (9004).
    LogDamaged,
    /// The operating system refused an I/O (823).
    Io,
    /// A page is damaged (824).
    Corrupt,
    /// No buffer frame (802).
    NoFrames,
    /// The filegroup is full (1105).
    FilegroupFull,
    /// A file could not be grown or cut: the disk is full, or the system has refused (5149).
    DiskFull,
    /// Deadlock victim (1205).
    Deadlock,
    /// LOCK_TIMEOUT passed (1222).
    LockTimeout,
    /// There is no memory for more locks (1204).
    NoLockMemory,
    /// The wait was cancelled (3617 to the engine: attention).
    Cancelled,
    /// Recovery failed, the database is suspect (3414).
    RecoveryFailed,
    /// Another database has to say what became of a transaction (3437).
    InDoubt,
    /// The transaction can only be rolled back (3930).
    Doomed,
    /// The row is too long (511).
    RowTooLong,
    /// The key is too long (1946).
    KeyTooLong,
    /// A file is missing, taken or foreign (5120 and the like).
    File,
    /// A backup or another change of the list of files is running (3023).
    FilesBusy,
    /// Everything else: a bug or a damaged structure (5242).
    Internal,
}

impl ErrorKind {
    /// SQL Server's error number.
    pub fn number(self) -> i32 {
        match self {
            ErrorKind::LogNotAvailable => 9001,
            ErrorKind::LogFull => 9002,
            ErrorKind::LogCorrupt => 9015,
            ErrorKind::LogDamaged => 9004,
            ErrorKind::Io => 823,
            ErrorKind::Corrupt => 824,
            ErrorKind::NoFrames => 802,
            ErrorKind::FilegroupFull => 1105,
            ErrorKind::DiskFull => 5149,
            ErrorKind::Deadlock => 1205,
            ErrorKind::LockTimeout => 1222,
            ErrorKind::NoLockMemory => 1204,
            ErrorKind::Cancelled => 3617,
            ErrorKind::RecoveryFailed => 3414,
            ErrorKind::InDoubt => 3437,
            ErrorKind::Doomed => 3930,
            ErrorKind::RowTooLong => 511,
            ErrorKind::KeyTooLong => 1946,
            ErrorKind::File => 5120,
            ErrorKind::FilesBusy => 3023,
            ErrorKind::Internal => 5242,
        }
    }
}

impl TxnError {
    /// What it means to the caller.
    pub fn kind(&self) -> ErrorKind {
        match self {
            TxnError::Access(e) => of_access(e),
            TxnError::Page(e) => of_page(e),
            TxnError::Log(e) => of_log(e),
            TxnError::Disk(e) => of_disk(e),
            TxnError::Lock(LockError::Timeout { .. }) => ErrorKind::LockTimeout,
            TxnError::Lock(LockError::Deadlock { .. }) => ErrorKind::Deadlock,
            TxnError::Lock(LockError::Cancelled { .. }) => ErrorKind::Cancelled,
            TxnError::Lock(LockError::NoMemory { .. }) => ErrorKind::NoLockMemory,
            TxnError::LogFull { .. } => ErrorKind::LogFull,
            TxnError::Recovery { .. } => ErrorKind::RecoveryFailed,
            TxnError::InDoubt(_) => ErrorKind::InDoubt,
            TxnError::Undecided(_) => ErrorKind::LogNotAvailable,
            TxnError::Doomed(_) => ErrorKind::Doomed,
            TxnError::NotADatabase { .. } | TxnError::NotClosed => ErrorKind::File,
            TxnError::FilesBusy => ErrorKind::FilesBusy,
            TxnError::Busy { .. } | TxnError::Invalid(_) => ErrorKind::Internal,
        }
    }

    /// SQL Server's error number.
    pub fn number(&self) -> i32 {
        self.kind().number()
    }

    /// The device refuses to write some pages; the database goes on.
    pub fn is_unwritten(&self) -> bool {
        matches!(self, TxnError::Page(PageError::Unwritten { .. }))
    }
}

fn of_access(e: &AccessError) -> ErrorKind {
    match e {
        AccessError::Page(e) => of_page(e),
        AccessError::RowTooLong { .. } => ErrorKind::RowTooLong,
        AccessError::KeyTooLong { .. } => ErrorKind::KeyTooLong,
        _ => ErrorKind::Internal,
    }
}

fn of_page(e: &PageError) -> ErrorKind {
    match e {
        PageError::Log(e) => of_log(e),
        PageError::Disk(e) => of_disk(e),
        PageError::Unwritten { .. } => ErrorKind::Io,
        PageError::Corrupt { .. } | PageError::Checksum { .. } | PageError::WrongPage { .. } => {
            ErrorKind::Corrupt
        }
        PageError::Record { .. } | PageError::Apply { .. } => ErrorKind::LogCorrupt,
        PageError::NoFrames => ErrorKind::NoFrames,
        PageError::FilegroupFull { .. } => ErrorKind::FilegroupFull,
        PageError::NotADataFile { .. }
        | PageError::OtherFormat { .. }
        | PageError::Foreign { .. } => ErrorKind::File,
        PageError::Offline { .. } => ErrorKind::LogNotAvailable,
        _ => ErrorKind::Internal,
    }
}

fn of_log(e: &LogError) -> ErrorKind {
    match e {
        LogError::Full { .. } => ErrorKind::LogFull,
        LogError::Offline { .. } => ErrorKind::LogNotAvailable,
        LogError::Disk(e) => of_disk(e),
        LogError::NotALog { .. } => ErrorKind::File,
        LogError::Missing { .. } => ErrorKind::LogDamaged,
        LogError::Corrupt { .. } | LogError::NoRecord { .. } => ErrorKind::LogCorrupt,
        LogError::RecordTooLarge { .. } | LogError::Option { .. } => ErrorKind::Internal,
    }
}

fn of_disk(e: &DiskError) -> ErrorKind {
    match e {
        DiskError::NoSpace { .. } | DiskError::FileLimit { .. } => ErrorKind::DiskFull,
        DiskError::Io { op: Op::Allocate | Op::SetLength, .. } => ErrorKind::DiskFull,
        DiskError::NotFound { .. } | DiskError::Exists { .. } | DiskError::Locked { .. } => {
            ErrorKind::File
        }
        _ => ErrorKind::Io,
    }
}

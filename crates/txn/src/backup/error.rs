//! What can go wrong with a backup or a restore. Guarantees: each error has SQL Server's number;
//! the caller adds 3013, which ends every failed BACKUP and RESTORE.

use std::path::PathBuf;

use disk::DiskError;
use wal::{LogError, Lsn};

use crate::TxnError;

/// An error of BACKUP or RESTORE.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BackupError {
    /// The database below: log, pages, files.
    #[error(transparent)]
    Database(#[from] TxnError),
    /// The device cannot be opened (3201).
    #[error("cannot open backup device '{device}': {cause}")]
    Open { device: String, cause: DiskError },
    /// The device holds something, takes no second set, and FORMAT was not said (3296).
    #[error("'{device}' exists, and nothing can be appended to it")]
    Exists { device: String },
    /// Writing failed (3202).
    #[error("write on '{device}' failed: {cause}")]
    Write { device: String, cause: DiskError },
    /// Reading failed, or the device ends within a backup set (3203).
    #[error("read on '{device}' failed: {cause}")]
    Read { device: String, cause: DiskError },
    /// The device ends within a backup set (3203, end of file).
    #[error("read on '{device}' failed: the end of the file was reached within a backup set")]
    CutOff { device: String },
    /// The device holds no backup (3242).
    #[error("the file on device '{device}' is not a backup set of this program")]
    NotBackup { device: String },
    /// It is a backup, but its structure is damaged (3241).
    #[error("the media family on device '{device}' is incorrectly formed: {what}")]
    Malformed { device: String, what: &'static str },
    /// A version before or after this one made it, whose databases this one does not open (3169).
    #[error(
        "the backup set on device '{device}' has format {found}, and only format {known} can be restored"
    )]
    Version { device: String, found: u16, known: u16 },
    /// A checksum within a backup set is wrong (3189).
    #[error("damage to the backup set was detected on device '{device}'")]
    Damaged { device: String },
    /// No backup set with this number (4038).
    #[error("cannot find file ID {position} on device '{device}'")]
    NoSet { device: String, position: u16 },
    /// The media set has more families than devices were named (3132).
    #[error("the media set has {need} media families but only {given} are provided")]
    Families { need: u16, given: u16 },
    /// A device belongs to another media set, or is named twice (3227-like).
    #[error("the media family on device '{device}' does not belong to the media set of the others")]
    OtherMedia { device: String },
    /// A page of the database is damaged (3043).
    #[error("a checksum error was detected on page {page} of file '{file}'")]
    BadPage { page: String, file: String },
    /// Another backup of the database is running (3023).
    #[error("another backup or file operation on the database is running")]
    Busy,
    /// BACKUP LOG while the recovery model is SIMPLE (4208).
    #[error("BACKUP LOG is not allowed while the recovery model is SIMPLE")]
    Simple,
    /// BACKUP LOG without a full backup (4214).
    #[error("there is no current database backup")]
    NoFullBackup,
    /// BACKUP ... WITH DIFFERENTIAL without a full backup (3035).
    #[error("there is no current database backup to be the base of a differential one")]
    NoBase,
    /// The differential does not fit the restored full backup (3136).
    #[error("the database has not been restored to the base of this differential backup")]
    OtherBase,
    /// The set belongs to another database (3154).
    #[error("the backup set holds a backup of another database")]
    OtherDatabase,
    /// The set is of another kind than the statement wants (3117-like; `full`: a full backup is
    /// wanted).
    #[error("the backup set is of another kind")]
    OtherKind,
    /// No restore is going on in the database (3117).
    #[error("no files are ready to roll forward")]
    NotReady,
    /// The log of a restoring database is missing (4333).
    #[error("the database cannot be recovered because the log was not restored")]
    NoLog,
    /// The set begins after the end of what is restored (4305).
    #[error(
        "the log in this backup set begins at LSN {first}, which is too recent; one that includes {need} is needed"
    )]
    TooRecent { first: Lsn, need: Lsn },
    /// The set ends before the end of what is restored (4326).
    #[error(
        "the log in this backup set ends at LSN {last}, which is too early; one that includes {need} is needed"
    )]
    TooEarly { last: Lsn, need: Lsn },
    /// The set belongs to another recovery fork (4330).
    #[error("the backup set is on a recovery path that is inconsistent with the database")]
    OtherFork,
    /// The database has passed the point of STOPAT already (4335).
    #[error("the database is already rolled forward beyond the point of STOPAT")]
    PassedStop,
    /// STOPAT is before the end of a backup of pages, which is all or nothing.
    #[error("the stop point lies before the end of the backup")]
    StopsInside,
    /// A data file that the log adds has no place to go (3156).
    #[error("file '{name}' cannot be restored to '{}'", path.display())]
    NoPlace { name: String, path: PathBuf },
    /// A data file that the log adds cannot be made (3156).
    #[error("file '{name}' cannot be restored to '{}': {cause}", path.display())]
    CannotMake { name: String, path: PathBuf, cause: DiskError },
    /// The caller gave up.
    #[error("the operation was cancelled")]
    Cancelled,
}

impl BackupError {
    /// SQL Server's error number.
    pub fn number(&self) -> i32 {
        match self {
            BackupError::Database(e) => e.number(),
            BackupError::Open { .. } => 3201,
            BackupError::Exists { .. } => 3296,
            BackupError::Write { .. } => 3202,
            BackupError::Read { .. } | BackupError::CutOff { .. } => 3203,
            BackupError::NotBackup { .. } => 3242,
            BackupError::Malformed { .. } => 3241,
            BackupError::Version { .. } => 3169,
            BackupError::Damaged { .. } => 3189,
            BackupError::NoSet { .. } => 4038,
            BackupError::Families { .. } => 3132,
            BackupError::OtherMedia { .. } => 3227,
            BackupError::BadPage { .. } => 3043,
            BackupError::Busy => 3023,
            BackupError::Simple => 4208,
            BackupError::NoFullBackup => 4214,
            BackupError::NoBase => 3035,
            BackupError::OtherBase => 3136,
            BackupError::OtherDatabase => 3154,
            BackupError::OtherKind | BackupError::NotReady => 3117,
            BackupError::NoLog => 4333,
            BackupError::TooRecent { .. } => 4305,
            BackupError::TooEarly { .. } => 4326,
            BackupError::OtherFork => 4330,
            BackupError::PassedStop => 4335,
            BackupError::StopsInside => 4338,
            BackupError::NoPlace { .. } | BackupError::CannotMake { .. } => 3156,
            BackupError::Cancelled => 3617,
        }
    }
}

impl From<LogError> for BackupError {
    fn from(e: LogError) -> Self {
        BackupError::Database(e.into())
    }
}

impl From<pages::PageError> for BackupError {
    fn from(e: pages::PageError) -> Self {
        BackupError::Database(e.into())
    }
}

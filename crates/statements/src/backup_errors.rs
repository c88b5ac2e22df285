//! Errors of BACKUP and RESTORE with SQL Server's texts. Guarantees: every failure ends with 3013;
//! what the operating system said is in the text, with a number.

use disk::DiskError;
use txn::backup::BackupError;
use types::{SqlError, msg};
use wal::Lsn;

use catalog::Db;
use catalog::errors;
use instance::file_errors::cannot_open_device;

/// What failed, as 3013 names it, and the database.
pub(super) struct FailedCommand<'a> {
    pub command: &'static str,
    pub database: &'a str,
    /// Of the error log's entry, when there is such a database.
    pub db: Option<&'a Db>,
}

/// `2(The system cannot find the file specified.)`
fn os_error(cause: &DiskError) -> String {
    let (code, text) = cause.system_error();
    format!("{code}({text})")
}

fn numeric(lsn: Lsn) -> String {
    lsn.to_numeric().to_string()
}

/// 3013, the last message of a failed BACKUP or RESTORE.
pub(super) fn terminated(command: &str) -> SqlError {
    SqlError::of(msg::TERMINATING_ABNORMALLY, [&command])
}

/// The reason, before 3013.
pub(super) fn reason(place: &FailedCommand<'_>, e: &BackupError) -> SqlError {
    let database = place.database;
    match e {
        BackupError::Database(e) => match place.db {
            Some(db) => errors::db_error(db, e),
            None => SqlError::new(e.number(), 16, 1, format!("{e}.")),
        },
        BackupError::Cancelled => errors::cancelled(),
        BackupError::Open { device, cause } => cannot_open_device(device, cause),
        BackupError::Exists { device } => SqlError::of(msg::URL_FILE_EXISTS, [device]),
        BackupError::Write { device, cause } => {
            SqlError::of(msg::BACKUP_WRITE_FAILED, [device, &os_error(cause)])
        }
        BackupError::Read { device, cause } => {
            SqlError::of(msg::BACKUP_READ_FAILED, [device, &os_error(cause)])
        }
        BackupError::CutOff { device } => {
            SqlError::of(msg::BACKUP_READ_FAILED, [device, &"38(Reached the end of the file.)"])
        }
        BackupError::NotBackup { device } => SqlError::of(msg::NOT_A_BACKUP_SET, [device]),
        BackupError::Malformed { device, .. } => {
            SqlError::of(msg::MEDIA_INCORRECTLY_FORMED, [device])
        }
        BackupError::Version { found, known, .. } => {
            SqlError::of(msg::BACKUP_VERSION, [found, known])
        }
        BackupError::Damaged { .. } => SqlError::of(msg::BACKUP_SET_DAMAGED, []),
        BackupError::NoSet { device, position } => {
            SqlError::of(msg::BACKUP_SET_NOT_FOUND, [position, device])
        }
        BackupError::Families { need, given } => {
            SqlError::of(msg::MEDIA_FAMILIES_MISSING, [need, given])
        }
        BackupError::OtherMedia { device } => SqlError::of(msg::MEDIA_OF_OTHER_SET, [device]),
        BackupError::BadPage { page, file } => {
            SqlError::of(msg::BACKUP_PAGE_ERROR, [&database, file, page])
        }
        other => of_chain(other, database),
    }
}

/// Errors of the log chain and of the order of restores.
fn of_chain(e: &BackupError, database: &str) -> SqlError {
    match e {
        BackupError::Busy => SqlError::of(msg::FILES_BUSY, []).state(1),
        BackupError::Simple => SqlError::of(msg::LOG_BACKUP_WHILE_SIMPLE, []),
        BackupError::NoFullBackup => SqlError::of(msg::LOG_BACKUP_WITHOUT_FULL, []),
        BackupError::NoBase => SqlError::of(msg::DIFFERENTIAL_WITHOUT_FULL, [&database]),
        BackupError::OtherBase => SqlError::of(msg::DIFFERENTIAL_OTHER_BASE, []),
        BackupError::OtherDatabase => SqlError::of(msg::BACKUP_OF_OTHER_DATABASE, [&database]),
        BackupError::OtherKind | BackupError::NotReady => {
            SqlError::of(msg::NOTHING_TO_ROLL_FORWARD, [])
        }
        BackupError::NoLog => SqlError::of(msg::LOG_NOT_RESTORED, []),
        BackupError::TooRecent { first, need } => {
            SqlError::of(msg::LOG_TOO_RECENT, [&numeric(*first), &numeric(*need)])
        }
        BackupError::TooEarly { last, need } => {
            SqlError::of(msg::LOG_TOO_EARLY, [&numeric(*last), &numeric(*need)])
        }
        BackupError::OtherFork => SqlError::of(msg::OTHER_RECOVERY_PATH, []),
        BackupError::PassedStop => SqlError::of(msg::STOPAT_PASSED, []),
        BackupError::StopsInside => SqlError::of(msg::STOPAT_INSIDE_SET, []),
        other => SqlError::of(msg::RESTORE_STEP_FAILED, [other]),
    }
}

/// 3021: not inside a transaction.
pub(super) fn in_transaction() -> SqlError {
    SqlError::of(msg::BACKUP_IN_TRANSACTION, [])
}

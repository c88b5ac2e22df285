//! Errors of BACKUP and RESTORE with SQL Server's texts.
//! Guarantees: every failure ends with 3013; what the operating system said is in the text, with a number.

use disk::DiskError;
use txn::backup::BackupError;
use types::SqlError;
use wal::Lsn;

use catalog::Db;
use catalog::errors;
use instance::file_errors::cannot_open_device;

/// What failed, as 3013 names it, and the database.
pub(super) struct Place<'a> {
    pub command: &'static str,
    pub database: &'a str,
    /// Of the error log's entry, when there is such a database.
    pub db: Option<&'a Db>,
}

fn error(number: i32, text: impl Into<String>) -> SqlError {
    SqlError::new(number, 16, 1, text.into())
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
    error(3013, format!("{command} is terminating abnormally."))
}

/// The reason, before 3013.
pub(super) fn reason(place: &Place<'_>, e: &BackupError) -> SqlError {
    let database = place.database;
    let number = e.number();
    let text = match e {
        BackupError::Database(e) => {
            return match place.db {
                Some(db) => errors::db_error(db, e),
                None => error(e.number(), format!("{e}.")),
            };
        }
        BackupError::Cancelled => return errors::cancelled(),
        BackupError::Open { device, cause } => return cannot_open_device(device, cause),
        BackupError::Exists { device } => format!(
            "The file {device} exists on the remote endpoint, and WITH FORMAT was not specified. Backup cannot proceed."
        ),
        BackupError::Write { device, cause } => format!("Write on \"{device}\" failed: {}", os_error(cause)),
        BackupError::Read { device, cause } => format!("Read on \"{device}\" failed: {}", os_error(cause)),
        BackupError::CutOff { device } => {
            format!("Read on \"{device}\" failed: 38(Reached the end of the file.)")
        }
        BackupError::NotBackup { device } => {
            format!("The file on device '{device}' is not a valid Microsoft Tape Format backup set.")
        }
        BackupError::Malformed { device, .. } => format!(
            "The media family on device '{device}' is incorrectly formed. SQL Server cannot process this media family."
        ),
        BackupError::Version { found, known, .. } => format!(
            "The database was backed up on a server running version {found} of the backup format. That version is \
             incompatible with this server, which is running version {known} of it. Either restore the database on a \
             server that supports the backup, or use a backup that is compatible with this server."
        ),
        BackupError::Damaged { .. } => "Damage to the backup set was detected.".into(),
        BackupError::NoSet { device, position } => {
            format!("Cannot find file ID {position} on device '{device}'.")
        }
        BackupError::Families { need, given } => format!(
            "The media set has {need} media families but only {given} are provided. All members must be provided."
        ),
        BackupError::OtherMedia { device } => {
            format!("The backup media on \"{device}\" is not part of the media set of the other devices.")
        }
        BackupError::BadPage { page, file } => {
            format!("BACKUP '{database}' detected an error on a page in file '{file}': {page}.")
        }
        other => chain_text(other, database),
    };
    error(number, text)
}

/// Errors of the log chain and of the order of restores.
fn chain_text(e: &BackupError, database: &str) -> String {
    match e {
        BackupError::Busy => types::msg::FILES_BUSY.text([]),
        BackupError::Simple => "The statement BACKUP LOG is not allowed while the recovery model is SIMPLE. Use \
                                BACKUP DATABASE or change the recovery model using ALTER DATABASE."
            .into(),
        BackupError::NoFullBackup => {
            "BACKUP LOG cannot be performed because there is no current database backup.".into()
        }
        BackupError::NoBase => format!(
            "Cannot perform a differential backup for database \"{database}\", because a current database backup does \
             not exist. Perform a full database backup by reissuing BACKUP DATABASE, omitting the WITH DIFFERENTIAL \
             option."
        ),
        BackupError::OtherBase => "This differential backup cannot be restored because the database has not been \
                                   restored to the correct earlier state."
            .into(),
        BackupError::OtherDatabase => {
            format!("The backup set holds a backup of a database other than the existing '{database}' database.")
        }
        BackupError::OtherKind | BackupError::NotReady => {
            "The log or differential backup cannot be restored because no files are ready to rollforward.".into()
        }
        BackupError::NoLog => "The database cannot be recovered because the log was not restored.".into(),
        BackupError::TooRecent { first, need } => format!(
            "The log in this backup set begins at LSN {}, which is too recent to apply to the database. An earlier log \
             backup that includes LSN {} can be restored.",
            numeric(*first),
            numeric(*need)
        ),
        BackupError::TooEarly { last, need } => format!(
            "The log in this backup set terminates at LSN {}, which is too early to apply to the database. A more \
             recent log backup that includes LSN {} can be restored.",
            numeric(*last),
            numeric(*need)
        ),
        BackupError::OtherFork => "This backup set cannot be applied because it is on a recovery path that is \
                                   inconsistent with the database. The recovery path is the sequence of data and log \
                                   backups that have brought the database to a particular recovery point. Find a \
                                   compatible backup to restore, or restore the rest of the database to match a \
                                   recovery point within this backup set, which will restore the database to a \
                                   different point in time."
            .into(),
        BackupError::PassedStop => "The specified STOPAT time is too early. All or part of the database is already \
                                    rolled forward beyond that point."
            .into(),
        BackupError::StopsInside => "The STOPAT clause specifies a point too early to allow this backup set to be restored. \
                                     Choose a different stop point or use RESTORE DATABASE WITH RECOVERY to recover at \
                                     the current point."
            .into(),
        other => format!("{other}."),
    }
}

/// 3021: not inside a transaction.
pub(super) fn in_transaction() -> SqlError {
    error(3021, "Cannot perform a backup or restore operation within a transaction.")
}

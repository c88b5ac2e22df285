//! What a file that cannot be used becomes for the user: SQL Server's numbers and texts, with what the operating system says,
//! and the process that has the file where the system tells.

use std::path::Path;

use disk::DiskError;
use pages::PageError;
use txn::TxnError;
use types::SqlError;
use wal::LogError;

use catalog::registry::DbEntry;

/// The disk's error behind an error of a database, if there is one.
pub(crate) fn disk_error(e: &TxnError) -> Option<&DiskError> {
    match e {
        TxnError::Disk(e) | TxnError::Page(PageError::Disk(e)) | TxnError::Log(LogError::Disk(e)) => Some(e),
        _ => None,
    }
}

/// The file that an error is about.
fn path_of(e: &DiskError) -> Option<&Path> {
    match e {
        DiskError::Io { path, .. }
        | DiskError::NoSpace { path, .. }
        | DiskError::FileLimit { path, .. }
        | DiskError::ShortRead { path, .. }
        | DiskError::NotFound { path }
        | DiskError::Exists { path }
        | DiskError::Misaligned { path, .. }
        | DiskError::Locked { path, .. }
        | DiskError::NotAFolder { path }
        | DiskError::Released { path, .. }
        | DiskError::TooLarge { path, .. }
        | DiskError::Refused { path } => Some(path),
        DiskError::Crashed => None,
    }
}

/// Whether a file is missing, busy, somebody else's, or of another version: nothing is wrong with the database, which can be
/// opened when that ends.
pub(super) fn is_unavailable(e: &TxnError) -> bool {
    use disk::Op;
    match (disk_error(e), e) {
        (Some(DiskError::NotFound { .. } | DiskError::Locked { .. } | DiskError::NotAFolder { .. }), _) => {
            true
        }
        (Some(DiskError::Io { op, .. }), _) => matches!(op, Op::Open | Op::Lock),
        (_, TxnError::Page(PageError::Foreign { .. } | PageError::OtherFormat { .. })) => true,
        (_, TxnError::InDoubt(_)) => true,
        (_, TxnError::Page(PageError::NotADataFile { why, .. })) => {
            [pages::OTHER_DATABASE, pages::OTHER_TIME].contains(why)
        }
        (_, TxnError::NotADatabase { what, .. }) => [txn::OTHER_LOG, txn::OTHER_TIME].contains(what),
        _ => false,
    }
}

/// 5120: a file that is there cannot be opened.
pub(crate) fn cannot_open(shown: &str, e: &DiskError) -> SqlError {
    let (code, text) = e.system_error();
    let text = format!(
        "Unable to open the physical file \"{shown}\". Operating system error {code}: \"{code}({text})\"."
    );
    SqlError::new(5120, 16, 101, text)
}

/// The error of a database that cannot be opened: 946, 948, 5120, 5171, 5173 for its files, else nothing.
pub(crate) fn open_failed(entry: &DbEntry, e: &TxnError) -> Option<SqlError> {
    let shown = |path: &Path| {
        let file = entry.files.iter().find(|f| f.path == path);
        file.map_or_else(|| path.display().to_string(), |f| f.shown.to_string())
    };
    if let Some(e) = disk_error(e) {
        let opening = matches!(
            e,
            DiskError::NotFound { .. }
                | DiskError::Locked { .. }
                | DiskError::Io { op: disk::Op::Open | disk::Op::Lock, .. }
        );
        return path_of(e).filter(|_| opening).map(|path| cannot_open(&shown(path), e));
    }
    match e {
        TxnError::Page(PageError::NotADataFile { path, why }) if *why == pages::NOT_PRIMARY => {
            Some(not_primary(&shown(Path::new(path))))
        }
        TxnError::Page(e @ PageError::OtherFormat { .. }) => of_other_version(&entry.name, e),
        TxnError::Page(PageError::NotADataFile { .. } | PageError::Foreign { .. })
        | TxnError::NotADatabase { .. }
        | TxnError::Log(LogError::NotALog { .. }) => Some(no_match(&e.to_string())),
        TxnError::InDoubt(_) => Some(in_doubt(&entry.name, e)),
        _ => None,
    }
}

/// 946 and 948: another version has made the files of the database, and nothing is wrong with them.
/// Nothing for other errors.
pub(super) fn of_other_version(database: &str, e: &PageError) -> Option<SqlError> {
    let PageError::OtherFormat { found, known, .. } = e else { return None };
    Some(match found < known {
        true => {
            let text = format!(
                "Cannot open database '{database}' version {found}. Upgrade the database to the latest version. \
                 Detail: {e}."
            );
            SqlError::new(946, 14, 1, text)
        }
        false => {
            let text = format!(
                "The database '{database}' cannot be opened because it is version {found}. This server supports version \
                 {known}. A downgrade path is not supported. Detail: {e}."
            );
            // Not 20, which would end the session.
            SqlError::new(948, 16, 1, text)
        }
    })
}

/// 3437.
fn in_doubt(database: &str, e: &TxnError) -> SqlError {
    let text = format!(
        "An error occurred while recovering database '{database}': {e}. Bring the database that decides online and run recovery \
         again (ALTER DATABASE ... SET ONLINE), or decide with KILL 'UOW' WITH COMMIT or WITH ROLLBACK."
    );
    SqlError::new(3437, 21, 3, text)
}

/// 5171.
pub(crate) fn not_primary(shown: &str) -> SqlError {
    SqlError::new(5171, 16, 1, format!("{shown} is not a primary database file."))
}

/// 5173, with what is wrong.
pub(crate) fn no_match(detail: &str) -> SqlError {
    let text = format!(
        "One or more files do not match the primary file of the database. If you are attempting to attach a database, retry \
         the operation with the correct files.  If this is an existing database, the file may be corrupted and should be \
         restored from a backup. Detail: {detail}."
    );
    SqlError::new(5173, 16, 1, text)
}

/// 3634: a file that a restore would write cannot be had.
pub(crate) fn restore_target(path: &Path, e: &DiskError) -> SqlError {
    let (code, text) = e.system_error();
    let text = format!(
        "The operating system returned the error '{code}({text})' while attempting \
         'RestoreContainer::ValidateTargetForCreation' on '{}'.",
        path.display()
    );
    SqlError::new(3634, 16, 1, text)
}

/// 3201: a backup device cannot be opened, or must not be.
pub fn cannot_open_device(device: &str, cause: &DiskError) -> SqlError {
    let (code, text) = cause.system_error();
    let text = format!("Cannot open backup device '{device}'. Operating system error {code}({text}).");
    SqlError::new(3201, 16, 1, text)
}

/// 5121: a file of a database shall be somewhere where it cannot be.
pub fn bad_directory(shown: &str) -> SqlError {
    SqlError::new(5121, 16, 2, format!("The path specified by \"{shown}\" is not in a valid directory."))
}

/// 1834: the file is another instance's.
pub(crate) fn of_another_instance(shown: &str, owner: &pages::InstanceId) -> SqlError {
    let text = format!(
        "The file '{shown}' cannot be overwritten.  It is being used by a database of another instance ({}).",
        pages::home::hex(owner)
    );
    SqlError::new(1834, 16, 1, text)
}

pub(super) fn registry_failed(e: &DiskError) -> SqlError {
    SqlError::new(5120, 16, 101, format!("The list of databases cannot be written: {e}."))
}

pub fn cannot_create_file(shown: &str, e: &DiskError) -> SqlError {
    match e {
        DiskError::Exists { .. } => SqlError::new(
            5170,
            16,
            1,
            format!(
                "Cannot create file '{shown}' because it already exists. Change the file path or the file name, and \
                 retry the operation."
            ),
        ),
        e => {
            let (code, text) = e.system_error();
            let text = format!(
                "CREATE FILE encountered operating system error {code}({text}) while attempting to open or create \
                 the physical file '{shown}'."
            );
            SqlError::new(5123, 16, 1, text)
        }
    }
}

/// The error of the file that was in the way, with the name as it was written.
pub(super) fn cannot_create(entry: &DbEntry, e: &TxnError) -> SqlError {
    let shown = |path: &Path| {
        let file = entry.files.iter().find(|f| f.path == path);
        file.map_or_else(|| path.display().to_string(), |f| f.shown.to_string())
    };
    let Some(disk) = disk_error(e) else {
        return SqlError::new(1802, 16, 4, format!("CREATE DATABASE failed: {e}."));
    };
    match disk {
        DiskError::Exists { path }
        | DiskError::NotFound { path }
        | DiskError::NoSpace { path, .. }
        | DiskError::FileLimit { path, .. }
        | DiskError::Locked { path, .. }
        | DiskError::Io { path, .. } => cannot_create_file(&shown(path), disk),
        other => cannot_create_file(&entry.name, other),
    }
}

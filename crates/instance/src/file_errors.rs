//! What a file that cannot be used becomes for the user: SQL Server's numbers and texts, with what
//! the operating system says, and the process that has the file where the system tells.

use std::path::Path;

use disk::DiskError;
use pages::PageError;
use txn::TxnError;
use types::{SqlError, msg};
use wal::LogError;

use catalog::registry::DbEntry;

/// The disk's error behind an error of a database, if there is one.
pub(crate) fn disk_error(e: &TxnError) -> Option<&DiskError> {
    match e {
        TxnError::Disk(e)
        | TxnError::Page(PageError::Disk(e))
        | TxnError::Log(LogError::Disk(e)) => Some(e),
        _ => None,
    }
}

/// 1834: the file belongs to another database.
pub fn in_use(shown: &str, other: &str) -> SqlError {
    SqlError::of(msg::FILE_OF_DATABASE, [&shown, &other])
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

/// Whether a file is missing, busy, somebody else's, or of another version: nothing is wrong with
/// the database, which can be opened when that ends.
pub(super) fn is_unavailable(e: &TxnError) -> bool {
    use disk::Op;
    match (disk_error(e), e) {
        (
            Some(
                DiskError::NotFound { .. }
                | DiskError::Locked { .. }
                | DiskError::NotAFolder { .. },
            ),
            _,
        ) => true,
        (Some(DiskError::Io { op, .. }), _) => matches!(op, Op::Open | Op::Lock),
        (_, TxnError::Page(PageError::Foreign { .. } | PageError::OtherFormat { .. })) => true,
        (_, TxnError::InDoubt(_)) => true,
        (_, TxnError::Page(PageError::NotADataFile { why, .. })) => {
            [pages::OTHER_DATABASE, pages::OTHER_TIME].contains(why)
        }
        (_, TxnError::NotADatabase { what, .. }) => {
            [txn::OTHER_LOG, txn::OTHER_TIME].contains(what)
        }
        _ => false,
    }
}

/// 5120: a file that is there cannot be opened.
pub(crate) fn cannot_open(shown: &str, e: &DiskError) -> SqlError {
    let (code, text) = e.system_error();
    SqlError::of(msg::FILE_NOT_OPENED, [&shown, &code, &code, &text])
}

/// The error of a database that cannot be opened: 946, 948, 5120, 5171, 5173 for its files, else
/// nothing.
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
        true => SqlError::of(msg::DATABASE_VERSION_TOO_OLD, [&database, &found, &e]),
        false => {
            // Not 20, which would end the session.
            SqlError::of(msg::DATABASE_VERSION_TOO_NEW, [&database, &found, &known, &e])
        }
    })
}

/// 3437.
fn in_doubt(database: &str, e: &TxnError) -> SqlError {
    SqlError::of(msg::TRANSACTION_IN_DOUBT, [&database, &e])
}

/// 5171.
pub(crate) fn not_primary(shown: &str) -> SqlError {
    SqlError::of(msg::NOT_A_PRIMARY_FILE, [&shown])
}

/// 5173, with what is wrong.
pub(crate) fn no_match(detail: &str) -> SqlError {
    SqlError::of(msg::FILES_DO_NOT_MATCH, [&detail])
}

/// 3634: a file that a restore would write cannot be had.
pub(crate) fn restore_target(path: &Path, e: &DiskError) -> SqlError {
    let (code, text) = e.system_error();
    SqlError::of(msg::RESTORE_TARGET_ERROR, [&code, &text, &path.display()])
}

/// 3201: a backup device cannot be opened, or must not be.
pub fn cannot_open_device(device: &str, cause: &DiskError) -> SqlError {
    let (code, text) = cause.system_error();
    SqlError::of(msg::BACKUP_DEVICE_NOT_OPENED, [&device, &format_args!("{code}({text})")])
}

/// 5121: a file of a database shall be somewhere where it cannot be.
pub fn bad_directory(shown: &str) -> SqlError {
    SqlError::of(msg::DIRECTORY_NOT_VALID, [&shown])
}

/// 1834: the file is another instance's.
pub(crate) fn of_another_instance(shown: &str, owner: &pages::InstanceId) -> SqlError {
    SqlError::of(msg::FILE_OF_OTHER_INSTANCE, [&shown, &pages::home::hex(owner)])
}

pub(super) fn registry_failed(e: &DiskError) -> SqlError {
    SqlError::of(msg::DATABASE_LIST_NOT_WRITTEN, [&e])
}

pub fn cannot_create_file(shown: &str, e: &DiskError) -> SqlError {
    match e {
        DiskError::Exists { .. } => SqlError::of(msg::FILE_EXISTS, [&shown]),
        e => {
            let (code, text) = e.system_error();
            SqlError::of(msg::CREATE_FILE_FAILED, [&code, &text, &shown])
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
        return SqlError::of(msg::CREATE_DATABASE_FAILED, [&e]);
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

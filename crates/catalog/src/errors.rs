//! SQL Server's errors that the engine itself raises, and what the lower crates' errors become.
//! Guarantees: numbers, severities and texts are SQL Server's; the line is filled in by the batch
//! that runs the statement.

use access::AccessError;
use pages::PageError;
use txn::{ErrorKind, LockError, TxnError};
use types::{SqlError, msg};

use crate::Db;
use crate::store::StoreError;

/// The plan was compiled against a definition that is no longer current: compile again and retry.
/// Never shown.
pub const SCHEMA_CHANGED: i32 = -1;

/// The batch has ended and the client knows why: a trigger's error was reported where it happened.
/// Never shown.
pub const BATCH_ENDED: i32 = -2;

/// Internal: see [`BATCH_ENDED`].
pub fn batch_ended() -> SqlError {
    SqlError::new(BATCH_ENDED, 16, 1, "The batch has ended.")
}

/// Internal: see [`SCHEMA_CHANGED`].
pub fn schema_changed() -> SqlError {
    SqlError::new(SCHEMA_CHANGED, 16, 1, "The schema changed while the statement was compiled.")
}

/// 6005: the instance is closing or SHUTDOWN was run.
pub fn shutting_down() -> SqlError {
    SqlError::of(msg::SHUTDOWN_IN_PROGRESS, [])
}

/// 3617: a cancel request or KILL ended the statement.
pub fn cancelled() -> SqlError {
    SqlError::of(msg::CANCELLED, [])
}

/// 701: the memory that a statement needs cannot be had.
pub fn out_of_memory() -> SqlError {
    SqlError::of(msg::OUT_OF_MEMORY, [&"default"])
}

/// 8631: a statement nests so deeply that no stack suffices.
pub fn stack_limit() -> SqlError {
    SqlError::of(msg::STACK_LIMIT, [])
}

/// 8623: a statement becomes too large while it is compiled.
pub fn too_complex() -> SqlError {
    SqlError::of(msg::QUERY_TOO_COMPLEX, [])
}

/// 8618: the keys of a GROUP BY or ORDER BY do not fit into a row.
pub fn wide_worktable() -> SqlError {
    SqlError::of(msg::WORKTABLE_ROW_TOO_LARGE, [&8060])
}

/// 208: no such table or view.
pub fn invalid_object(name: &str) -> SqlError {
    SqlError::of(msg::INVALID_OBJECT, [&name])
}

/// 2812: no such procedure.
pub fn no_procedure(name: &str) -> SqlError {
    SqlError::of(msg::PROCEDURE_NOT_FOUND, [&name])
}

/// 7202: a name of four parts.
pub fn no_server(server: &str) -> SqlError {
    SqlError::of(msg::SERVER_NOT_FOUND, [&server])
}

/// 911: USE or a name that names no database.
pub fn no_database(name: &str) -> SqlError {
    SqlError::of(msg::DATABASE_NOT_FOUND, [&name])
}

/// 40517-like refusals: something that T-SQL has and this version does not. Number 40510 says so.
pub fn not_supported(what: &str) -> SqlError {
    SqlError::of(msg::STATEMENT_NOT_SUPPORTED, [&what])
}

/// 102 for what the parser takes and the engine cannot.
pub fn syntax_near(word: &str) -> SqlError {
    SqlError::of(msg::SYNTAX_NEAR, [&word])
}

/// 3701: DROP of what is not there.
pub fn cannot_drop(kind: &str, name: &str) -> SqlError {
    SqlError::of(msg::CANNOT_DROP, [&kind, &name])
}

/// 2714: the name of a constraint is taken.
pub fn constraint_name_taken(name: &str) -> SqlError {
    let mut error = name_taken(name);
    error.state = CONSTRAINT_NAME;
    error
}

/// The state of 2714 that is about a constraint.
const CONSTRAINT_NAME: u8 = 5;

/// Whether an error of CREATE or ALTER TABLE is about a constraint or its index, so that 1750
/// follows it.
pub fn is_of_constraint(error: &SqlError) -> bool {
    match error.number {
        2714 => error.state == CONSTRAINT_NAME,
        1505 | 1904 | 1909 | 1911 | 1919 | 1752 | 1753 | 1754 | 1761 | 1762 | 1766 | 1767
        | 1769 | 1770 | 1773 | 1776 | 1778 | 1779 | 1781 | 1785 | 8110 | 8111 => true,
        _ => false,
    }
}

/// 2714: the name is taken.
pub fn name_taken(name: &str) -> SqlError {
    SqlError::of(msg::OBJECT_EXISTS, [&name])
}

/// 226: not inside a transaction.
pub fn not_in_transaction(what: &str) -> SqlError {
    SqlError::of(msg::NOT_IN_TRANSACTION, [&what])
}

/// 3930: the transaction can only be rolled back.
pub fn doomed() -> SqlError {
    SqlError::of(msg::TRANSACTION_DOOMED, [])
}

/// 3951: SNAPSHOT isolation in a transaction that began under another level.
pub fn snapshot_too_late(database: &str) -> SqlError {
    SqlError::of(msg::SNAPSHOT_AFTER_START, [&database])
}

/// 3952: SNAPSHOT isolation where ALLOW_SNAPSHOT_ISOLATION is off.
pub fn snapshot_not_allowed(database: &str) -> SqlError {
    SqlError::of(msg::SNAPSHOT_NOT_ALLOWED, [&database])
}

/// 3960: a row that another transaction has changed since the snapshot.
pub fn snapshot_conflict(table: &str, database: &str) -> SqlError {
    SqlError::of(msg::SNAPSHOT_CONFLICT, [&table, &database])
}

/// 3961: a definition that is newer than the snapshot.
pub fn snapshot_ddl(database: &str) -> SqlError {
    SqlError::of(msg::SNAPSHOT_SCHEMA_CHANGED, [&database])
}

/// 3964: a change of schema inside a transaction in SNAPSHOT isolation.
pub fn ddl_in_snapshot() -> SqlError {
    SqlError::of(msg::DDL_IN_SNAPSHOT, [])
}

/// An error of the catalog's storage.
pub fn store_error(db: &Db, e: StoreError) -> SqlError {
    match e {
        StoreError::Sql(e) => e,
        StoreError::Txn(e) => db_error(db, &e),
    }
}

/// Number of [`data_moved`].
pub const DATA_MOVED: i32 = msg::DATA_MOVED.number();

/// 601: what a dirty read was at has gone, as its writer was rolled back.
pub fn data_moved() -> SqlError {
    SqlError::of(msg::DATA_MOVED, [])
}

/// 1205.
pub fn deadlock_victim(session: i32) -> SqlError {
    SqlError::of(msg::DEADLOCK_VICTIM, [&session])
}

/// An error of transactions, rows, pages, log or disk in a database, as the user sees it. Damage
/// and failed I/O also go to the error log.
pub fn db_error(db: &Db, e: &TxnError) -> SqlError {
    let name = db.name();
    let sql = match e.kind() {
        ErrorKind::Deadlock => match e {
            TxnError::Lock(LockError::Deadlock { session, .. }) => deadlock_victim(*session as i32),
            _ => deadlock_victim(0),
        },
        ErrorKind::LockTimeout => SqlError::of(msg::LOCK_TIMEOUT, []),
        ErrorKind::NoLockMemory => SqlError::of(msg::NO_LOCK_MEMORY, []),
        ErrorKind::Cancelled => cancelled(),
        ErrorKind::Doomed => doomed(),
        ErrorKind::LogFull => SqlError::of(msg::LOG_FULL, [&name, &log_full(db, e)]),
        ErrorKind::LogNotAvailable => SqlError::of(msg::LOG_NOT_AVAILABLE, [&name, e]),
        ErrorKind::LogCorrupt => SqlError::of(msg::LOG_RECORD_CORRUPT, [&name, e]),
        ErrorKind::LogDamaged => SqlError::of(msg::LOG_DAMAGED, [&name, e]),
        ErrorKind::Io => SqlError::of(msg::DATABASE_IO, [&name, e]),
        ErrorKind::Corrupt => SqlError::of(msg::PAGE_DAMAGED, [&name, e]),
        ErrorKind::NoFrames => SqlError::of(msg::NO_BUFFERS, []),
        ErrorKind::FilegroupFull => filegroup_full(db, e),
        ErrorKind::DiskFull => SqlError::of(msg::FILE_NOT_RESIZED, [&name, e]),
        ErrorKind::RecoveryFailed => SqlError::of(msg::RECOVERY_FAILED, [&name, e]),
        ErrorKind::RowTooLong => SqlError::of(msg::ROW_TOO_LONG, [e]),
        ErrorKind::KeyTooLong => SqlError::of(msg::KEY_TOO_LONG, [e]),
        ErrorKind::File => SqlError::of(msg::FILE_NOT_USABLE, [&name, e]),
        ErrorKind::FilesBusy => SqlError::of(msg::FILES_BUSY, []),
        ErrorKind::InDoubt => SqlError::of(msg::RECOVERY_ERROR, [&name, e]),
        ErrorKind::Internal => SqlError::of(msg::INCONSISTENCY_DETECTED, [&name, e]),
    };
    if sql.severity >= 17 {
        db.log_failure(&sql.message);
    }
    sql
}

/// 3624: a statement has met a fault of the program.
pub fn assertion_failed() -> SqlError {
    SqlError::of(msg::ASSERTION_ENDED_SESSION_WORK, [])
}

/// 1105: which filegroup is full, and why it does not grow.
fn filegroup_full(db: &Db, e: &TxnError) -> SqlError {
    let (filegroup, why) = match e {
        TxnError::Page(PageError::FilegroupFull { filegroup, why })
        | TxnError::Access(AccessError::Page(PageError::FilegroupFull { filegroup, why })) => {
            (*filegroup, *why)
        }
        _ => (1, "no file of it may grow"),
    };
    db.note_full(filegroup);
    let entry = db.entry();
    let name = entry.filegroups.get(usize::from(filegroup).saturating_sub(1));
    let name = name.map_or("PRIMARY", |n| n.as_str());
    SqlError::of(msg::FILEGROUP_FULL, [&db.name(), &name, &why])
}

/// Why the log cannot be truncated now, as log_reuse_wait_desc says it, and from which record on.
fn log_full(db: &Db, e: &TxnError) -> String {
    let explained = db.storage_if_open().map(|storage| storage.explain(e.clone()));
    match explained.as_ref().unwrap_or(e) {
        TxnError::LogFull { reason, lsn } => {
            format!("'{}' and the holdup lsn is {lsn}", reason.name())
        }
        other => format!("'{other}'"),
    }
}

/// Whether an error that no CATCH takes ends the batch and its transaction, XACT_ABORT or not: SQL
/// Server's failed conversions, deadlocks, snapshot conflicts, a full log, texts and changes that
/// are no XML.
pub fn ends_batch(error: &SqlError) -> bool {
    error.severity >= 20
        || matches!(
            error.number,
            235 | 236
                | 241
                | 242
                | 244
                | 245
                | 248
                | 292
                | 293
                | 294
                | 295
                | 296
                | 517
                | 701
                | 1205
                | 3609
                | 3616
                | 3930
                | 3951
                | 3952
                | 3960
                | 3961
                | 3964
                | 5302
                | 6307
                | 6308
                | 6320
                | 6325
                | 8114
                | 8169
                | 9001
                | 9002
                | 9400..=9480
        )
}

/// 5178: the volume cannot write blocks of the log that are as small as asked for.
pub fn block_below_sector(file: &str, block: u16, sector: u32) -> SqlError {
    SqlError::of(msg::LOG_BLOCK_BELOW_SECTOR, [&file, &block, &sector])
}

/// A parser's error as the user sees it.
pub fn syntax_error(e: syntax::SyntaxError) -> SqlError {
    let mut error =
        SqlError::new(i32::try_from(e.number).unwrap_or(102), e.severity, e.state, e.message);
    error.line = e.line;
    error.after = e.after.into_iter().map(syntax_error).collect();
    error
}

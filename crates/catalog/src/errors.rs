//! SQL Server's errors that the engine itself raises, and what the lower crates' errors become.
//! Guarantees: numbers, severities and texts are SQL Server's; the line is filled in by the batch that runs the statement.

use access::AccessError;
use pages::PageError;
use txn::{ErrorKind, LockError, TxnError};
use types::SqlError;

use crate::Db;
use crate::db::DbStatus;
use crate::store::StoreError;

/// The plan was compiled against a definition that is no longer current: compile again and retry. Never shown.
pub const SCHEMA_CHANGED: i32 = -1;

/// The batch has ended and the client knows why: a trigger's error was reported where it happened. Never shown.
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
    SqlError::new(6005, 10, 1, "SHUTDOWN is in progress.")
}

/// 3617: a cancel request or KILL ended the statement.
pub fn cancelled() -> SqlError {
    SqlError::new(3617, 16, 1, "Operation cancelled by user.")
}

/// 701: the memory that a statement needs cannot be had.
pub fn out_of_memory() -> SqlError {
    let text = "There is insufficient system memory in resource pool 'default' to run this query.";
    SqlError::new(701, 17, 123, text)
}

/// 8631: a statement nests so deeply that no stack suffices.
pub fn stack_limit() -> SqlError {
    let text = "Internal error: Server stack limit has been reached. Please look for potentially deep nesting in your query, and try \
                to simplify it.";
    SqlError::new(8631, 17, 1, text)
}

/// 8623: a statement becomes too large while it is compiled.
pub fn too_complex() -> SqlError {
    let text = "The query processor ran out of internal resources and could not produce a query plan. This is a rare event and only \
                expected for extremely complex queries or queries that reference a very large number of tables or partitions. Please \
                simplify the query. If you believe you have received this message in error, contact Customer Support Services for more \
                information.";
    SqlError::new(8623, 16, 1, text)
}

/// 8618: the keys of a GROUP BY or ORDER BY do not fit into a row.
pub fn wide_worktable() -> SqlError {
    let text = "The query processor could not produce a query plan because a worktable is required, and its minimum row size exceeds \
                the maximum allowable of 8060 bytes. A typical reason why a worktable is required is a GROUP BY or ORDER BY clause \
                in the query. If the query has a GROUP BY or ORDER BY clause, consider reducing the number and/or size of the \
                fields in these clauses. Consider using prefix (LEFT()) or hashing (CHECKSUM()) of fields for grouping or prefix \
                for ordering. Note however that this will change the behavior of the query.";
    SqlError::new(8618, 16, 2, text)
}

/// 208: no such table or view.
pub fn invalid_object(name: &str) -> SqlError {
    SqlError::new(208, 16, 1, format!("Invalid object name '{name}'."))
}

/// 2812: no such procedure.
pub fn no_procedure(name: &str) -> SqlError {
    SqlError::new(2812, 16, 62, format!("Could not find stored procedure '{name}'."))
}

/// 7202: a name of four parts.
pub fn no_server(server: &str) -> SqlError {
    let text = format!(
        "Could not find server '{server}' in sys.servers. Verify that the correct server name was specified. If necessary, \
         execute the stored procedure sp_addlinkedserver to add the server to sys.servers."
    );
    SqlError::new(7202, 11, 2, text)
}

/// 911: USE or a name that names no database.
pub fn no_database(name: &str) -> SqlError {
    SqlError::new(
        911,
        16,
        1,
        format!("Database '{name}' does not exist. Make sure that the name is entered correctly."),
    )
}

/// 40517-like refusals: something that T-SQL has and this version does not. Number 40510 says so.
pub fn not_supported(what: &str) -> SqlError {
    SqlError::new(40510, 16, 1, format!("Statement '{what}' is not supported in this version of Ringwood."))
}

/// 102 for what the parser takes and the engine cannot.
pub fn syntax_near(word: &str) -> SqlError {
    SqlError::new(102, 15, 1, format!("Incorrect syntax near '{word}'."))
}

/// 3701: DROP of what is not there.
pub fn cannot_drop(kind: &str, name: &str) -> SqlError {
    let text =
        format!("Cannot drop the {kind} '{name}', because it does not exist or you do not have permission.");
    SqlError::new(3701, 11, 5, text)
}

/// 2714: the name of a constraint is taken.
pub fn constraint_name_taken(name: &str) -> SqlError {
    let mut error = name_taken(name);
    error.state = CONSTRAINT_NAME;
    error
}

/// The state of 2714 that is about a constraint.
const CONSTRAINT_NAME: u8 = 5;

/// Whether an error of CREATE or ALTER TABLE is about a constraint or its index, so that 1750 follows it.
pub fn is_of_constraint(error: &SqlError) -> bool {
    match error.number {
        2714 => error.state == CONSTRAINT_NAME,
        1505 | 1904 | 1909 | 1911 | 1919 | 1752 | 1753 | 1754 | 1761 | 1762 | 1766 | 1767 | 1769 | 1770
        | 1773 | 1776 | 1778 | 1779 | 1781 | 1785 | 8110 | 8111 => true,
        _ => false,
    }
}

/// 2714: the name is taken.
pub fn name_taken(name: &str) -> SqlError {
    SqlError::new(2714, 16, 6, format!("There is already an object named '{name}' in the database."))
}

/// 226: not inside a transaction.
pub fn not_in_transaction(what: &str) -> SqlError {
    SqlError::new(226, 16, 6, format!("{what} statement not allowed within multi-statement transaction."))
}

/// 3930: the transaction can only be rolled back.
pub fn doomed() -> SqlError {
    SqlError::new(
        3930,
        16,
        1,
        "The current transaction cannot be committed and cannot support operations that write to the log file. \
         Roll back the transaction.",
    )
}

/// 3906: a change in a read-only database.
pub fn read_only(database: &str) -> SqlError {
    SqlError::new(
        3906,
        16,
        1,
        format!("Failed to update database \"{database}\" because the database is read-only."),
    )
}

/// 3951: SNAPSHOT isolation in a transaction that began under another level.
pub fn snapshot_too_late(database: &str) -> SqlError {
    let text = format!(
        "Transaction failed in database '{database}' because the statement was run under snapshot isolation but the \
         transaction did not start in snapshot isolation. You cannot change the isolation level of the transaction to \
         snapshot after the transaction has started unless the transaction was originally started under snapshot \
         isolation level."
    );
    SqlError::new(3951, 16, 1, text)
}

/// 3952: SNAPSHOT isolation where ALLOW_SNAPSHOT_ISOLATION is off.
pub fn snapshot_not_allowed(database: &str) -> SqlError {
    let text = format!(
        "Snapshot isolation transaction failed accessing database '{database}' because snapshot isolation is not \
         allowed in this database. Use ALTER DATABASE to allow snapshot isolation."
    );
    SqlError::new(3952, 16, 1, text)
}

/// 3960: a row that another transaction has changed since the snapshot.
pub fn snapshot_conflict(table: &str, database: &str) -> SqlError {
    let text = format!(
        "Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access \
         table '{table}' directly or indirectly in database '{database}' to update, delete, or insert the row that \
         has been modified or deleted by another transaction. Retry the transaction or change the isolation level for \
         the update/delete statement."
    );
    SqlError::new(3960, 16, 2, text)
}

/// 3961: a definition that is newer than the snapshot.
pub fn snapshot_ddl(database: &str) -> SqlError {
    let text = format!(
        "Snapshot isolation transaction failed in database '{database}' because the object accessed by the statement \
         has been modified by a DDL statement in another concurrent transaction since the start of this transaction.  \
         It is disallowed because the metadata is not versioned. A concurrent update to metadata can lead to \
         inconsistency if mixed with snapshot isolation."
    );
    SqlError::new(3961, 16, 1, text)
}

/// 3964: a change of schema inside a transaction in SNAPSHOT isolation.
pub fn ddl_in_snapshot() -> SqlError {
    SqlError::new(
        3964,
        16,
        1,
        "Transaction failed because this DDL statement is not allowed inside a snapshot isolation transaction. Since \
         metadata is not versioned, a metadata change can lead to inconsistency if mixed within snapshot isolation.",
    )
}

/// 924: another session is in a database that takes one at a time.
pub fn single_user(database: &str) -> SqlError {
    let text = format!("Database '{database}' is already open and can only have one user at a time.");
    SqlError::new(924, 14, 1, text)
}

/// 923: the database is for its owners and administrators.
pub fn restricted_user(database: &str) -> SqlError {
    let text = format!(
        "Database '{database}' is in restricted mode. Only the database owner and members of the dbcreator and sysadmin \
         roles can access it."
    );
    SqlError::new(923, 14, 1, text)
}

/// 952: the state of a database is being changed.
pub fn in_transition(database: &str) -> SqlError {
    let text = format!("Database '{database}' is in transition. Try the statement later.");
    SqlError::new(952, 16, 1, text)
}

/// 926, 942, 945 and their kin: the database exists and cannot be used.
pub fn not_usable(database: &str, status: DbStatus) -> SqlError {
    match status {
        DbStatus::Offline => SqlError::new(
            942,
            14,
            4,
            format!("Database '{database}' cannot be opened because it is offline."),
        ),
        DbStatus::Suspect => SqlError::new(
            926,
            14,
            1,
            format!(
                "Database '{database}' cannot be opened. It has been marked SUSPECT by recovery. See the error log \
                 for more information."
            ),
        ),
        DbStatus::Restoring => SqlError::new(
            927,
            14,
            2,
            format!("Database '{database}' cannot be opened. It is in the middle of a restore."),
        ),
        DbStatus::Recovering => SqlError::new(
            922,
            14,
            1,
            format!("Database '{database}' is being recovered. Waiting until recovery is finished."),
        ),
        _ => SqlError::new(
            945,
            14,
            2,
            format!(
                "Database '{database}' cannot be opened due to inaccessible files or insufficient memory or disk \
                 space. See the error log for details."
            ),
        ),
    }
}

/// An error of the catalog's storage.
pub fn store_error(db: &Db, e: StoreError) -> SqlError {
    match e {
        StoreError::Sql(e) => e,
        StoreError::Txn(e) => db_error(db, &e),
    }
}

/// Error 3023.
pub const FILES_BUSY: &str = "Backup, file manipulation operations (such as ALTER DATABASE ADD FILE) and encryption changes \
     on a database must be serialized. Reissue the statement after the current backup or file manipulation operation is \
     completed.";

/// Error 1204.
const NO_LOCK_MEMORY: &str = "The instance of the SQL Server Database Engine cannot obtain a LOCK resource at this time. Rerun \
     your statement when there are fewer active users. Ask the database administrator to check the lock and memory \
     configuration for this instance, or to check for long-running transactions.";

/// Number of [`data_moved`].
pub const DATA_MOVED: i32 = 601;

/// 601: what a dirty read was at has gone, as its writer was rolled back.
pub fn data_moved() -> SqlError {
    SqlError::new(DATA_MOVED, 12, 1, "Could not continue scan with NOLOCK due to data movement.")
}

/// 1205.
pub fn deadlock_victim(session: i32) -> SqlError {
    let text = format!(
        "Transaction (Process ID {session}) was deadlocked on lock resources with another process and has been chosen as the \
         deadlock victim. Rerun the transaction."
    );
    SqlError::new(1205, 13, 51, text)
}

/// An error of transactions, rows, pages, log or disk in a database, as the user sees it. Damage and failed I/O also
/// go to the error log.
pub fn db_error(db: &Db, e: &TxnError) -> SqlError {
    let name = db.name();
    let kind = e.kind();
    let error = |severity, state, text: String| SqlError::new(kind.number(), severity, state, text);
    let sql = match kind {
        ErrorKind::Deadlock => match e {
            TxnError::Lock(LockError::Deadlock { session, .. }) => deadlock_victim(*session as i32),
            _ => deadlock_victim(0),
        },
        ErrorKind::LockTimeout => error(16, 51, "Lock request time out period exceeded.".into()),
        ErrorKind::NoLockMemory => error(19, 4, NO_LOCK_MEMORY.into()),
        ErrorKind::Cancelled => cancelled(),
        ErrorKind::Doomed => doomed(),
        ErrorKind::LogFull => {
            let why = log_full(db, e);
            error(17, 2, format!("The transaction log for database '{name}' is full due to {why}."))
        }
        ErrorKind::LogNotAvailable => error(
            21,
            1,
            format!("The log for database '{name}' is not available. Check the error log for details: {e}."),
        ),
        ErrorKind::LogCorrupt => {
            error(24, 1, format!("The log record of database '{name}' is corrupted: {e}."))
        }
        ErrorKind::LogDamaged => error(
            21,
            1,
            format!(
                "An error occurred while processing the log for database '{name}': {e}. If possible, restore from backup. \
                 If a backup is not available, it might be necessary to rebuild the log."
            ),
        ),
        ErrorKind::Io => {
            error(24, 2, format!("The operating system returned an error to database '{name}': {e}."))
        }
        ErrorKind::Corrupt => error(
            24,
            2,
            format!("A logical consistency-based I/O error was detected in database '{name}': {e}."),
        ),
        ErrorKind::NoFrames => {
            error(17, 0, "There is insufficient memory available in the buffer pool.".into())
        }
        ErrorKind::FilegroupFull => error(17, 2, filegroup_full(db, e)),
        ErrorKind::DiskFull => {
            error(16, 3, format!("The size of a file of database '{name}' could not be changed: {e}."))
        }
        ErrorKind::RecoveryFailed => error(21, 1, format!("Recovery of database '{name}' failed: {e}.")),
        ErrorKind::RowTooLong | ErrorKind::KeyTooLong => error(16, 1, format!("{e}.")),
        ErrorKind::File => error(16, 101, format!("A file of database '{name}' cannot be used: {e}.")),
        ErrorKind::FilesBusy => error(16, 2, FILES_BUSY.into()),
        ErrorKind::InDoubt => {
            error(21, 3, format!("An error occurred while recovering database '{name}': {e}."))
        }
        ErrorKind::Internal => {
            error(20, 1, format!("An inconsistency was detected in database '{name}': {e}."))
        }
    };
    if sql.severity >= 17 {
        db.log_failure(&sql.message);
    }
    sql
}

/// 3624: a statement has met a fault of the program.
pub fn assertion_failed() -> SqlError {
    SqlError::new(
        3624,
        20,
        1,
        "A system assertion check has failed. Check the error log for details. What was open in this session has ended.",
    )
}

/// Which filegroup is full, and why it does not grow.
fn filegroup_full(db: &Db, e: &TxnError) -> String {
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
    format!(
        "Could not allocate space in database '{}' because the '{}' filegroup is full: {why}. Create disk space by \
         deleting unneeded files, dropping objects in the filegroup, adding additional files to the filegroup, or \
         setting autogrowth on for existing files in the filegroup.",
        db.name(),
        name.map_or("PRIMARY", |n| n.as_str())
    )
}

/// Why the log cannot be truncated now, as log_reuse_wait_desc says it, and from which record on.
fn log_full(db: &Db, e: &TxnError) -> String {
    let explained = db.storage_if_open().map(|storage| storage.explain(e.clone()));
    match explained.as_ref().unwrap_or(e) {
        TxnError::LogFull { reason, lsn } => format!("'{}' and the holdup lsn is {lsn}", reason.name()),
        other => format!("'{other}'"),
    }
}

/// Whether an error that no CATCH takes ends the batch and its transaction, XACT_ABORT or not: SQL Server's failed
/// conversions, deadlocks, snapshot conflicts, a full log, texts and changes that are no XML.
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
    let text = format!(
        "Cannot use file '{file}' with log blocks of {block} bytes because it is on a volume with sector size {sector}. \
         Choose a block size that is the same as or larger than the sector size."
    );
    SqlError::new(5178, 16, 1, text)
}

/// A parser's error as the user sees it.
pub fn syntax_error(e: syntax::SyntaxError) -> SqlError {
    let mut error = SqlError::new(i32::try_from(e.number).unwrap_or(102), e.severity, e.state, e.message);
    error.line = e.line;
    error.after = e.after.into_iter().map(syntax_error).collect();
    error
}

//! Sessions: sys.dm_exec_sessions, sys.dm_exec_requests.

use types::{DataType, Len, Value};

use super::server::RELAXED;
use super::{SYSNAME, View, ViewColumn, bit, int, text};

use DataType::{BigInt, Bit, DateTime, Int, NVarChar, SmallInt};

const SESSION_COLUMNS: &[ViewColumn] = &[
    ("session_id", SmallInt, false),
    ("login_time", DateTime, false),
    ("host_name", SYSNAME, true),
    ("program_name", SYSNAME, true),
    ("host_process_id", Int, true),
    ("client_interface_name", NVarChar(Len::N(32)), true),
    ("login_name", SYSNAME, false),
    ("status", NVarChar(Len::N(30)), false),
    ("cpu_time", Int, false),
    ("memory_usage", Int, false),
    ("reads", BigInt, false),
    ("writes", BigInt, false),
    ("logical_reads", BigInt, false),
    ("is_user_process", Bit, false),
    ("transaction_isolation_level", SmallInt, false),
    ("lock_timeout", Int, false),
    ("row_count", BigInt, false),
    ("database_id", SmallInt, false),
    ("open_transaction_count", Int, false),
];

/// sys.dm_exec_sessions. Isolation level, LOCK_TIMEOUT and row count are known for the own session only.
pub static SESSIONS: View = View::sys("dm_exec_sessions", SESSION_COLUMNS, |session, _, _| {
    let mut rows = Vec::new();
    for (spid, other) in session.instance().sessions() {
        let names = other.names.lock().clone();
        let own = spid == session.spid();
        let open = if own { session.trancount().into() } else { other.open_transactions.load(RELAXED) };
        rows.push(vec![
            Value::SmallInt(spid as i16),
            names.login_time,
            Value::Str(names.host),
            Value::Str(names.app),
            Value::Null,
            text("Ringwood"),
            Value::Str(names.login),
            text(if other.running.load(RELAXED) { "running" } else { "sleeping" }),
            Value::Int(0),
            Value::Int(0),
            Value::BigInt(0),
            Value::BigInt(0),
            Value::BigInt(0),
            bit(true),
            Value::SmallInt(if own { session.options.isolation.number() } else { 2 }),
            Value::Int(if own { session.options.lock_timeout } else { -1 }),
            Value::BigInt(if own { session.rowcount as i64 } else { 0 }),
            Value::SmallInt(other.db.load(RELAXED) as i16),
            int(open),
        ]);
    }
    Ok(rows)
});

const REQUEST_COLUMNS: &[ViewColumn] = &[
    ("session_id", SmallInt, false),
    ("request_id", Int, false),
    ("status", NVarChar(Len::N(30)), false),
    ("command", NVarChar(Len::N(32)), false),
    ("database_id", SmallInt, false),
    ("open_transaction_count", Int, false),
];

/// sys.dm_exec_requests: batches that run.
pub static REQUESTS: View = View::sys("dm_exec_requests", REQUEST_COLUMNS, |session, _, _| {
    let mut rows = Vec::new();
    for (spid, other) in session.instance().sessions() {
        if other.running.load(RELAXED) {
            rows.push(vec![
                Value::SmallInt(spid as i16),
                Value::Int(0),
                text("running"),
                text("BATCH"),
                Value::SmallInt(other.db.load(RELAXED) as i16),
                int(other.open_transactions.load(RELAXED)),
            ]);
        }
    }
    Ok(rows)
});

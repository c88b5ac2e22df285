//! The instance as a whole: waits, locks, transactions, configuration.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use pages::PageWait;
use txn::What;
use types::{DataType, Len, SqlError, Value};

use super::{LSN_NUMERIC, NVARCHAR60, Rows, View, ViewColumn, big, int, lsn_numeric, text};
use crate::instance::{Db, Instance};
use crate::session::SessionCore;

use DataType::{BigInt, Bit, DateTime, Int, NVarChar, SmallInt, SqlVariant, VarBinary};

const WAIT_COLUMNS: &[ViewColumn] = &[
    ("wait_type", NVARCHAR60, false),
    ("waiting_tasks_count", BigInt, false),
    ("wait_time_ms", BigInt, false),
    ("max_wait_time_ms", BigInt, false),
    ("signal_wait_time_ms", BigInt, false),
];

/// Waits since the start or the last CLEAR: type, number, microseconds in all, longest.
pub fn waits(instance: &Instance) -> Vec<(&'static str, u64, u64, u64)> {
    let mut out: Vec<_> = instance.log_waits.list().to_vec();
    let cleared = instance.cleared_page_waits();
    for (wait, (count, total)) in PageWait::ALL.into_iter().zip(cleared) {
        let w = instance.pool().waits().get(wait);
        out.push((wait.name(), w.count.saturating_sub(count), w.total_us.saturating_sub(total), w.max_us));
    }
    out.extend(
        instance.locks().wait_stats().into_iter().map(|w| (w.wait_type, w.count, w.total_us, w.max_us)),
    );
    out
}

/// sys.dm_os_wait_stats.
pub static WAIT_STATS: View = View::sys("dm_os_wait_stats", WAIT_COLUMNS, |session, _, _| {
    let rows = waits(session.instance()).into_iter().map(|(name, count, total, max)| {
        vec![text(name), big(count), big(total / 1000), big(max / 1000), Value::BigInt(0)]
    });
    Ok(rows.collect())
});

const LOCK_COLUMNS: &[ViewColumn] = &[
    ("resource_type", NVARCHAR60, false),
    ("resource_subtype", NVARCHAR60, false),
    ("resource_database_id", Int, false),
    ("resource_description", NVarChar(Len::N(256)), false),
    ("resource_associated_entity_id", BigInt, true),
    ("resource_lock_partition", Int, false),
    ("request_mode", NVARCHAR60, false),
    ("request_type", NVARCHAR60, false),
    ("request_status", NVARCHAR60, false),
    ("request_reference_count", SmallInt, false),
    ("request_lifetime", Int, false),
    ("request_session_id", Int, false),
    ("request_exec_context_id", Int, false),
    ("request_request_id", Int, false),
    ("request_owner_type", NVARCHAR60, false),
    ("request_owner_id", BigInt, true),
    ("lock_owner_address", VarBinary(Len::N(8)), false),
];

/// sys.dm_tran_locks.
pub static LOCKS: View = View::sys("dm_tran_locks", LOCK_COLUMNS, |session, _, _| {
    let rows = session.instance().locks().list(None).into_iter().map(|lock| {
        let (description, entity) = match lock.resource.what {
            What::Database => (String::new(), 0),
            What::Schema(id) | What::Object(id) | What::Table(id) => (String::new(), i64::from(id)),
            What::Key { unit, hash } => (format!("({hash:012x})"), i64::from(unit)),
            What::Rid { unit, file, page, slot } => (format!("{file}:{page}:{slot}"), i64::from(unit)),
            What::Application(hash) => (format!("{hash:x}"), 0),
            What::Txn(id) => (format!("{}", id.0), 0),
        };
        let status = match lock.status {
            txn::locks::LockStatus::Grant => "GRANT",
            txn::locks::LockStatus::Wait => "WAIT",
            txn::locks::LockStatus::Convert => "CONVERT",
        };
        vec![
            text(lock.resource.what.type_name()),
            text(""),
            Value::Int(lock.resource.db.into()),
            text(description),
            Value::BigInt(entity),
            Value::Int(0),
            text(lock.mode.name()),
            text("LOCK"),
            text(status),
            Value::SmallInt(1),
            Value::Int(0),
            int(lock.session.into()),
            Value::Int(0),
            Value::Int(0),
            text("TRANSACTION"),
            big(lock.owner.0),
            Value::bytes(lock.owner.0.to_be_bytes().as_slice()),
        ]
    });
    Ok(rows.collect())
});

const TRANSACTION_COLUMNS: &[ViewColumn] = &[
    ("transaction_id", BigInt, false),
    ("database_id", Int, false),
    ("database_transaction_begin_time", DateTime, true),
    ("database_transaction_type", Int, false),
    ("database_transaction_state", Int, false),
    ("database_transaction_status", Int, false),
    ("database_transaction_status2", Int, false),
    ("database_transaction_log_record_count", BigInt, false),
    ("database_transaction_replicate_record_count", Int, false),
    ("database_transaction_log_bytes_used", BigInt, false),
    ("database_transaction_log_bytes_reserved", BigInt, false),
    ("database_transaction_log_bytes_used_system", Int, false),
    ("database_transaction_log_bytes_reserved_system", Int, false),
    ("database_transaction_begin_lsn", LSN_NUMERIC, true),
    ("database_transaction_last_lsn", LSN_NUMERIC, true),
    ("database_transaction_most_recent_savepoint_lsn", LSN_NUMERIC, true),
    ("database_transaction_commit_lsn", LSN_NUMERIC, true),
    ("database_transaction_last_rollback_lsn", LSN_NUMERIC, true),
    ("database_transaction_next_undo_lsn", LSN_NUMERIC, true),
];

/// sys.dm_tran_database_transactions: transactions that have written.
pub static DATABASE_TRANSACTIONS: View =
    View::sys("dm_tran_database_transactions", TRANSACTION_COLUMNS, |session, _, _| {
        let mut rows = Vec::new();
        for db in session.instance().databases() {
            let Some(storage) = db.storage_if_open() else { continue };
            for txn in storage.txns().active() {
                let log = *txn.log.lock();
                rows.push(vec![
                    big(txn.id.0),
                    Value::Int(db.id()),
                    datetime(txn.began),
                    Value::Int(1),
                    Value::Int(4),
                    Value::Int(0),
                    Value::Int(0),
                    big(log.records),
                    Value::Int(0),
                    big(log.bytes),
                    big(log.reserved),
                    Value::Int(0),
                    Value::Int(0),
                    lsn_numeric(log.begin),
                    lsn_numeric(log.last),
                    lsn_numeric(log.savepoint),
                    Value::Null,
                    Value::Null,
                    Value::Null,
                ]);
            }
        }
        Ok(rows)
    });

fn datetime(time: SystemTime) -> Value {
    let (days, ticks) = crate::instance::clock::parts(time.duration_since(UNIX_EPOCH).unwrap_or_default());
    Value::DateTime { days, ticks }
}

const CONFIGURATION_COLUMNS: &[ViewColumn] = &[
    ("configuration_id", Int, false),
    ("name", NVarChar(Len::N(35)), false),
    ("value", SqlVariant, true),
    ("minimum", SqlVariant, true),
    ("maximum", SqlVariant, true),
    ("value_in_use", SqlVariant, true),
    ("description", NVarChar(Len::N(255)), false),
    ("is_dynamic", Bit, false),
    ("is_advanced", Bit, false),
];

/// sys.configurations: what there is to configure.
pub static CONFIGURATIONS: View = View::sys("configurations", CONFIGURATION_COLUMNS, |session, _, _| {
    let megabytes = int(session.instance().memory_bytes() >> 20);
    Ok(vec![vec![
        Value::Int(1544),
        text("max server memory (MB)"),
        megabytes.clone(),
        Value::Int(8),
        Value::Int(i32::MAX),
        megabytes,
        text("Maximum size of server memory (MB)"),
        Value::Bit(false),
        Value::Bit(true),
    ]])
});

const SYS_INFO_COLUMNS: &[ViewColumn] = &[
    ("cpu_count", Int, false),
    ("physical_memory_kb", BigInt, false),
    ("committed_kb", BigInt, false),
    ("sqlserver_start_time", DateTime, false),
];

/// sys.dm_os_sys_info: the columns that mean something here.
pub static SYS_INFO: View = View::sys("dm_os_sys_info", SYS_INFO_COLUMNS, sys_info);

fn sys_info(session: &mut SessionCore, _db: &Arc<Db>, _args: &[Value]) -> Rows {
    let instance = session.instance();
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(vec![vec![
        int(cpus as u64),
        big(crate::instance::machine_memory() >> 10),
        big(instance.memory_bytes() >> 10),
        instance.started().clone(),
    ]])
}

/// DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR).
pub fn clear_waits(session: &SessionCore) -> Result<(), SqlError> {
    let instance = session.instance();
    instance.log_waits.clear();
    instance.locks().clear_wait_stats();
    instance.clear_page_waits();
    Ok(())
}

/// For sys.dm_exec_sessions: the order in which flags are read does not matter.
pub(crate) const RELAXED: Ordering = Ordering::Relaxed;

//! Transactions and their locks: sys.dm_tran_locks, sys.dm_tran_database_transactions,
//! sys.dm_tran_active_transactions, sys.dm_tran_session_transactions. A transaction_id is the same
//! number in all of them, and in request_owner_id.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use txn::locks::{LockInfo, LockStatus};
use txn::{LockMode, LockTarget, Resource};
use types::{DataType, Len, SqlError, Value};

use super::{LSN_NUMERIC, NVARCHAR60, View, ViewColumn, big, bit, int, lsn_numeric, text};
use instance::InstanceCore;
use instance::OfInstance;
use logical::isolation::Isolation;
use session::state::SessionCore;

use DataType::{
    BigInt, Binary, Bit, DateTime, Float, Int, NVarChar, SmallInt, UniqueIdentifier, VarBinary,
};

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

/// What a running transaction holds without an entry in the lock table: the rows that it has
/// written.
fn row_locks(instance: &InstanceCore) -> Vec<LockInfo> {
    let mut held = Vec::new();
    for db in instance.databases() {
        let Some(storage) = db.storage_if_open() else { continue };
        held.extend(storage.txns().active().into_iter().map(|txn| LockInfo {
            resource: Resource { db: storage.id(), what: LockTarget::Txn(txn.id) },
            mode: LockMode::X,
            status: LockStatus::Grant,
            owner: txn.owner,
            session: txn.session,
            waited_us: 0,
        }));
    }
    held
}

/// sys.dm_tran_locks. The rows that a transaction has written are one resource, XACT: a transaction
/// that meets one of them waits for the transaction.
pub static LOCKS: View = View::sys("dm_tran_locks", LOCK_COLUMNS, |session, _, _| {
    let held =
        session.instance().locks().list(None).into_iter().chain(row_locks(session.instance()));
    let rows = held.map(|lock| {
        let (description, entity) = match lock.resource.what {
            LockTarget::Database => (String::new(), 0),
            LockTarget::Schema(id) | LockTarget::Object(id) | LockTarget::Table(id) => {
                (String::new(), i64::from(id))
            }
            LockTarget::Key { unit, hash } => (format!("({hash:012x})"), i64::from(unit)),
            LockTarget::Rid { unit, file, page, slot } => {
                (format!("{file}:{page}:{slot}"), i64::from(unit))
            }
            LockTarget::Application(hash) => (format!("{hash:x}"), 0),
            LockTarget::Txn(id) => (format!("{}", id.0), 0),
        };
        let status = match lock.status {
            LockStatus::Grant => "GRANT",
            LockStatus::Wait => "WAIT",
            LockStatus::Convert => "CONVERT",
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

/// sys.dm_tran_database_transactions: transactions that have written. transaction_id is unique in
/// the instance.
pub(crate) static DATABASE_TRANSACTIONS: View =
    View::sys("dm_tran_database_transactions", TRANSACTION_COLUMNS, |session, _, _| {
        let mut rows = Vec::new();
        for db in session.host().databases() {
            let Some(storage) = db.storage_if_open() else { continue };
            for txn in storage.txns().active() {
                let log = *txn.log.lock();
                rows.push(vec![
                    big(txn.owner.0),
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

/// A time as datetime.
pub fn datetime(time: SystemTime) -> Value {
    let (days, ticks) = catalog::clock::parts(time.duration_since(UNIX_EPOCH).unwrap_or_default());
    Value::DateTime { days, ticks }
}

// ---- transactions of sessions ----

/// A transaction as the views about sessions see it.
struct RunningTransaction {
    id: u64,
    session: u32,
    began: SystemTime,
    wrote: bool,
    /// What its row versions are numbered by; of one that has written.
    number: Option<u64>,
    /// Begun by BEGIN TRANSACTION; otherwise a statement is its own transaction.
    explicit: bool,
}

/// Transactions that have written, and those of BEGIN TRANSACTION that have not.
fn running(session: &mut SessionCore) -> Result<Vec<RunningTransaction>, SqlError> {
    if session.trancount() > 0 && session.shared.lock_owner.load(Relaxed) == 0 {
        // The own transaction has touched nothing yet: now it gets its id.
        let db = session.db().clone();
        session.txn(&db)?;
    }
    let instance = session.instance();
    let sessions = instance.sessions();
    let explicit = |spid: u32| {
        let found = sessions.iter().find(|(id, _)| *id as u32 == spid);
        found.is_some_and(|(_, shared)| shared.open_transactions.load(Relaxed) > 0)
    };
    let mut list = Vec::new();
    for db in instance.databases() {
        let Some(storage) = db.storage_if_open() else { continue };
        list.extend(storage.txns().active().iter().map(|txn| RunningTransaction {
            id: txn.owner.0,
            session: txn.session,
            began: txn.began,
            wrote: true,
            number: Some(txn.id.0),
            explicit: explicit(txn.session),
        }));
    }
    for (spid, shared) in &sessions {
        let id = shared.lock_owner.load(Relaxed);
        if id != 0 && explicit(*spid as u32) && !list.iter().any(|txn| txn.session == *spid as u32)
        {
            let began = UNIX_EPOCH + Duration::from_micros(shared.tran_began.load(Relaxed));
            list.push(RunningTransaction {
                id,
                session: *spid as u32,
                began,
                wrote: false,
                number: None,
                explicit: true,
            });
        }
    }
    list.sort_by_key(|txn| txn.id);
    Ok(list)
}

const ACTIVE_COLUMNS: &[ViewColumn] = &[
    ("transaction_id", BigInt, false),
    ("name", NVarChar(Len::N(32)), false),
    ("transaction_begin_time", DateTime, false),
    ("transaction_type", Int, false),
    ("transaction_uow", UniqueIdentifier, true),
    ("transaction_state", Int, false),
    ("transaction_status", Int, false),
    ("transaction_status2", Int, false),
    ("dtc_state", Int, false),
    ("dtc_status", Int, false),
    ("dtc_isolation_level", Int, false),
    ("filestream_transaction_id", VarBinary(Len::N(128)), true),
];

/// sys.dm_tran_active_transactions. A transaction over several databases has one row for each of
/// them.
pub(crate) static ACTIVE_TRANSACTIONS: View =
    View::sys("dm_tran_active_transactions", ACTIVE_COLUMNS, |session, _, _| {
        let rows = running(session)?.into_iter().map(|txn| {
            let zero = Value::Int(0);
            vec![
                big(txn.id),
                text(match (txn.session, txn.explicit) {
                    (0, _) => "system",
                    (_, true) => "user_transaction",
                    (_, false) => "statement",
                }),
                datetime(txn.began),
                Value::Int(if txn.session == 0 { 3 } else { 1 }),
                Value::Null,
                // Active, or begun and not started.
                Value::Int(if txn.wrote { 2 } else { 1 }),
                zero.clone(),
                zero.clone(),
                zero.clone(),
                zero.clone(),
                Value::Int(-1),
                Value::Null,
            ]
        });
        Ok(rows.collect())
    });

const VERSION_COLUMNS: &[ViewColumn] = &[
    ("transaction_id", BigInt, true),
    ("transaction_sequence_num", BigInt, true),
    ("commit_sequence_num", BigInt, true),
    ("session_id", Int, true),
    ("is_snapshot", Bit, true),
    ("first_snapshot_sequence_num", BigInt, true),
    ("max_version_chain_traversed", Int, true),
    ("average_version_chain_traversed", Float, true),
    ("elapsed_time_seconds", BigInt, true),
];

/// sys.dm_tran_active_snapshot_database_transactions: those that make row versions or may read
/// them, which all do. What isolation another session's running batch has set is known when the
/// batch has ended; the ways along versions are not counted.
pub(crate) static VERSION_USERS: View =
    View::sys("dm_tran_active_snapshot_database_transactions", VERSION_COLUMNS, |session, _, _| {
        let running = running(session)?;
        let sessions: HashMap<u32, _> = session
            .instance()
            .sessions()
            .into_iter()
            .map(|(spid, shared)| (spid as u32, shared))
            .collect();
        let own = (session.spid() as u32, session.options.isolation);
        let rows = running.into_iter().filter(|txn| txn.session != 0).map(|txn| {
            let isolation = match sessions.get(&txn.session) {
                _ if txn.session == own.0 => Some(own.1),
                Some(shared) => Some(shared.activity.look().options.isolation),
                None => None,
            };
            vec![
                big(txn.id),
                txn.number.map_or(Value::Null, big),
                Value::Null,
                int(txn.session.into()),
                isolation.map_or(Value::Null, |isolation| bit(isolation == Isolation::Snapshot)),
                Value::Null,
                Value::Null,
                Value::Null,
                big(txn.began.elapsed().unwrap_or_default().as_secs()),
            ]
        });
        Ok(rows.collect())
    });

const SESSION_TRANSACTION_COLUMNS: &[ViewColumn] = &[
    ("session_id", Int, false),
    ("transaction_id", BigInt, false),
    ("transaction_descriptor", Binary(8), false),
    ("enlist_count", Int, false),
    ("is_user_transaction", Bit, false),
    ("is_local", Bit, false),
    ("is_enlisted", Bit, false),
    ("is_bound", Bit, false),
    ("open_transaction_count", Int, false),
];

/// sys.dm_tran_session_transactions.
pub(crate) static SESSION_TRANSACTIONS: View =
    View::sys("dm_tran_session_transactions", SESSION_TRANSACTION_COLUMNS, |session, _, _| {
        let running = running(session)?;
        let sessions: HashMap<u32, _> = session
            .instance()
            .sessions()
            .into_iter()
            .map(|(spid, shared)| (spid as u32, shared))
            .collect();
        let rows = running.into_iter().filter_map(|txn| {
            let shared = sessions.get(&txn.session)?;
            Some(vec![
                int(txn.session.into()),
                big(txn.id),
                Value::bytes(txn.id.to_be_bytes().as_slice()),
                Value::Int(shared.running.load(Relaxed).into()),
                bit(txn.explicit),
                bit(true),
                bit(false),
                bit(false),
                int(shared.open_transactions.load(Relaxed)),
            ])
        });
        Ok(rows.collect())
    });

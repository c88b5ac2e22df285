//! The memory of queries: the budget, and what statements have of it.

use types::{DataType, Len, Value};

use std::sync::Arc;

use super::transactions::datetime;
use super::{View, ViewColumn, big, bit, int};
use crate::instance::OfInstance;
use exec::operators::memory::Granted;
use exec::state::activity::handle;
use exec::state::core::SessionShared;

use DataType::{BigInt, Bit, DateTime, Float, Int, SmallInt};

const SEMAPHORE_COLUMNS: &[ViewColumn] = &[
    ("resource_semaphore_id", SmallInt, false),
    ("target_memory_kb", BigInt, false),
    ("max_target_memory_kb", BigInt, false),
    ("total_memory_kb", BigInt, false),
    ("available_memory_kb", BigInt, false),
    ("granted_memory_kb", BigInt, false),
    ("used_memory_kb", BigInt, false),
    ("grantee_count", Int, false),
    ("waiter_count", Int, false),
    ("timeout_error_count", BigInt, false),
    ("forced_grant_count", BigInt, false),
    ("pool_id", Int, false),
];

/// sys.dm_exec_query_resource_semaphores: one budget; nobody waits for it, an operator that gets nothing goes to disk.
pub static RESOURCE_SEMAPHORES: View =
    View::sys("dm_exec_query_resource_semaphores", SEMAPHORE_COLUMNS, |session, _, _| {
        let memory = session.host().query_memory();
        let kilobytes = |bytes: usize| big((bytes >> 10) as u64);
        let (limit, used) = (memory.limit(), memory.used());
        Ok(vec![vec![
            Value::SmallInt(0),
            kilobytes(limit),
            kilobytes(limit),
            kilobytes(limit),
            kilobytes(limit.saturating_sub(used)),
            kilobytes(used),
            kilobytes(used),
            int(memory.grants() as u64),
            int(0),
            big(0),
            big(memory.forced() as u64),
            int(2),
        ]])
    });

const HANDLE: DataType = DataType::VarBinary(Len::N(64));

const GRANT_COLUMNS: &[ViewColumn] = &[
    ("session_id", SmallInt, true),
    ("request_id", Int, true),
    ("scheduler_id", Int, true),
    ("dop", SmallInt, true),
    ("request_time", DateTime, true),
    ("grant_time", DateTime, true),
    ("requested_memory_kb", BigInt, true),
    ("granted_memory_kb", BigInt, true),
    ("required_memory_kb", BigInt, true),
    ("used_memory_kb", BigInt, true),
    ("max_used_memory_kb", BigInt, true),
    ("query_cost", Float, true),
    ("timeout_sec", Int, true),
    ("resource_semaphore_id", SmallInt, true),
    ("queue_id", SmallInt, true),
    ("wait_order", Int, true),
    ("is_next_candidate", Bit, true),
    ("wait_time_ms", BigInt, true),
    ("plan_handle", HANDLE, true),
    ("sql_handle", HANDLE, true),
    ("group_id", Int, true),
    ("pool_id", Int, true),
    ("is_small", Bit, true),
    ("ideal_memory_kb", BigInt, true),
    ("reserved_worker_count", Int, true),
    ("used_worker_count", Int, true),
    ("max_used_worker_count", Int, true),
    ("reserved_node_bitmap", BigInt, true),
];

/// sys.dm_exec_query_memory_grants: what statements and open cursors hold. A grant grows as its operators ask, so that what is
/// requested and what is granted are what is used; nobody waits.
pub static GRANTS: View = View::sys("dm_exec_query_memory_grants", GRANT_COLUMNS, |session, _, _| {
    let of_session = |(spid, shared): (i32, Arc<SessionShared>)| {
        let batch = shared.activity.look().batch;
        let sql = batch.map_or(Value::Null, |batch| Value::bytes(handle(batch.text()).as_slice()));
        let grants = shared.grants.look();
        grants.into_iter().map(move |grant| grant_row(spid, &grant, sql.clone())).collect::<Vec<_>>()
    };
    Ok(session.instance().sessions().into_iter().flat_map(of_session).collect())
});

fn grant_row(spid: i32, grant: &Granted, sql: Value) -> Vec<Value> {
    let kilobytes = |bytes: usize| big((bytes >> 10) as u64);
    let (since, held) = (datetime(grant.since), kilobytes(grant.held));
    vec![
        Value::SmallInt(spid as i16),
        Value::Int(0),
        Value::Null,
        Value::SmallInt(1),
        since.clone(),
        since,
        held.clone(),
        held.clone(),
        kilobytes(exec::operators::memory::OPERATOR_MIN),
        held,
        kilobytes(grant.peak),
        Value::Null,
        Value::Null,
        Value::SmallInt(0),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        sql,
        Value::Int(1),
        Value::Int(2),
        bit(false),
        Value::Null,
        Value::Int(0),
        Value::Int(0),
        Value::Int(0),
        Value::Null,
    ]
}

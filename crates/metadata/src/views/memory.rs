//! Memory: what each use of it holds; the budget of queries, and what statements have of it.

use std::sync::Arc;

use memory::Clerk;
use types::{DataType, Len, Value};

use super::transactions::datetime;
use super::{NVARCHAR60, View, ViewColumn, big, bit, int, text};
use instance::OfInstance;
use session::query_memory::Granted;
use session::state::activity::handle;
use session::state::core::SessionShared;

use DataType::{BigInt, Bit, DateTime, Float, Int, SmallInt, VarBinary};

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

/// sys.dm_exec_query_resource_semaphores: one budget; nobody waits for it, an operator that gets
/// nothing goes to disk.
pub(crate) static RESOURCE_SEMAPHORES: View =
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

/// sys.dm_exec_query_memory_grants: what statements and open cursors hold. A grant grows as its
/// operators ask, so that what is requested and what is granted are what is used; nobody waits.
pub(crate) static GRANTS: View =
    View::sys("dm_exec_query_memory_grants", GRANT_COLUMNS, |session, _, _| {
        let of_session = |(spid, shared): (i32, Arc<SessionShared>)| {
            let batch = shared.activity.look().batch;
            let sql =
                batch.map_or(Value::Null, |batch| Value::bytes(handle(batch.text()).as_slice()));
            let grants = shared.grants.look();
            grants
                .into_iter()
                .map(move |grant| grant_row(spid, &grant, sql.clone()))
                .collect::<Vec<_>>()
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
        kilobytes(session::query_memory::OPERATOR_MIN),
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

const CLERK_COLUMNS: &[ViewColumn] = &[
    ("memory_clerk_address", VarBinary(Len::N(8)), false),
    ("type", NVARCHAR60, false),
    ("name", DataType::NVarChar(Len::N(256)), false),
    ("memory_node_id", SmallInt, false),
    ("pages_kb", BigInt, false),
    ("virtual_memory_reserved_kb", BigInt, false),
    ("virtual_memory_committed_kb", BigInt, false),
    ("awe_allocated_kb", BigInt, false),
    ("shared_memory_reserved_kb", BigInt, false),
    ("shared_memory_committed_kb", BigInt, false),
    ("page_size_in_bytes", BigInt, false),
    ("page_allocator_address", VarBinary(Len::N(8)), false),
    ("host_address", VarBinary(Len::N(8)), false),
];

/// sys.dm_os_memory_clerks: what each use of memory holds by the instance's account;
/// MEMORYCLERK_SOSNODE is what the process has beyond them, where it is the instance's alone.
pub(crate) static CLERKS: View =
    View::sys("dm_os_memory_clerks", CLERK_COLUMNS, |session, _, _| {
        let account = session.instance().memory();
        let held =
            Clerk::ALL.into_iter().map(|clerk| (clerk.kind(), clerk.name(), account.held(clerk)));
        let program =
            account.program_holds().map(|bytes| ("MEMORYCLERK_SOSNODE", "SOS_Node", bytes));
        let rows = held.chain(program).enumerate();
        Ok(rows.map(|(at, clerk)| clerk_row(at as u8 + 1, clerk)).collect())
    });

fn clerk_row(number: u8, (kind, name, bytes): (&str, &str, usize)) -> Vec<Value> {
    let (kilobytes, zero) = (big((bytes >> 10) as u64), || Value::BigInt(0));
    vec![
        Value::bytes(vec![0, 0, 0, 0, 0, 0, 0, number]),
        text(kind),
        text(name),
        Value::SmallInt(0),
        kilobytes.clone(),
        kilobytes.clone(),
        kilobytes,
        zero(),
        zero(),
        zero(),
        big(8192),
        Value::bytes(vec![0; 8]),
        Value::bytes(vec![0; 8]),
    ]
}

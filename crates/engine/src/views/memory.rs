//! The memory of queries.

use types::{DataType, Value};

use super::{View, ViewColumn, big, int};

use DataType::{BigInt, Int, SmallInt};

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

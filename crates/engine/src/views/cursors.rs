//! sys.dm_exec_cursors.

use std::sync::atomic::Ordering::Relaxed;

use types::{DataType, Len, Value};

use super::{View, ViewColumn, bit, text};
use crate::instance::OfInstance;
use exec::state::cursors::{Concurrency, CursorInfo, HIDDEN, Model};

use DataType::{BigInt, Bit, DateTime, Int};

const NAME: DataType = DataType::NVarChar(Len::N(256));

const COLUMNS: &[ViewColumn] = &[
    ("session_id", Int, true),
    ("cursor_id", Int, true),
    ("name", NAME, true),
    ("properties", NAME, true),
    ("sql_handle", DataType::VarBinary(Len::N(64)), true),
    ("statement_start_offset", Int, true),
    ("statement_end_offset", Int, true),
    ("plan_generation_num", BigInt, true),
    ("creation_time", DateTime, true),
    ("is_open", Bit, true),
    ("is_async_population", Bit, true),
    ("is_close_on_commit", Bit, true),
    ("fetch_status", Int, true),
    ("fetch_buffer_size", Int, true),
    ("fetch_buffer_start", Int, true),
    ("ansi_position", Int, true),
    ("worker_time", BigInt, true),
    ("reads", BigInt, true),
    ("writes", BigInt, true),
    ("dormant_duration", BigInt, true),
];

/// sys.dm_exec_cursors(session_id): of one session, or with 0 of all. What is not measured is NULL.
pub static CURSORS: View = View::function("dm_exec_cursors", 1, COLUMNS, |session, _, args| {
    let wanted = args.first().and_then(Value::as_i64);
    let mut rows = Vec::new();
    for (spid, shared) in session.instance().sessions() {
        if wanted != Some(0) && wanted != Some(i64::from(spid)) {
            continue;
        }
        let cursors: Vec<_> = shared.cursors.lock().iter().filter_map(std::sync::Weak::upgrade).collect();
        rows.extend(cursors.iter().map(|cursor| row(spid, cursor)));
    }
    Ok(rows)
});

fn properties(cursor: &CursorInfo) -> String {
    let declared = &cursor.declared;
    let interface = if declared.api { "API" } else { "TSQL" };
    let model = match declared.model {
        Model::Static => "Snapshot",
        Model::Keyset => "Keyset",
        Model::Dynamic => "Dynamic",
        Model::FastForward => "Fast_Forward",
    };
    let access = match declared.concurrency {
        Concurrency::ReadOnly => "Read Only",
        Concurrency::ScrollLocks => "Scroll Locks",
        Concurrency::Optimistic => "Optimistic",
    };
    let scope = if declared.global { "Global" } else { "Local" };
    format!("{interface} | {model} | {access} | {scope} (0)")
}

fn row(spid: i32, cursor: &CursorInfo) -> Vec<Value> {
    let name = cursor.name.lock().clone();
    let name = if name.starts_with(HIDDEN) { "" } else { name.as_str() };
    let int = |n: i64| Value::Int(i32::try_from(n).unwrap_or(i32::MAX));
    vec![
        Value::Int(spid),
        Value::Int(cursor.handle),
        text(name),
        text(properties(cursor)),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        cursor.declared.created.clone(),
        bit(cursor.open.load(Relaxed)),
        bit(false),
        bit(false),
        Value::Int(cursor.fetch_status.load(Relaxed)),
        Value::Null,
        Value::Null,
        int(cursor.position.load(Relaxed)),
        Value::Null,
        Value::BigInt(cursor.reads.load(Relaxed)),
        Value::BigInt(0),
        Value::Null,
    ]
}

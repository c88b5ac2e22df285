//! sys.dm_exec_cursors, and what sp_cursor_list and sp_describe_cursor tell.

use std::sync::atomic::Ordering::Relaxed;

use types::convert::{Mode, convert};
use types::{DataType, Len, SqlError, Value, msg};

use super::{View, ViewColumn, bit, text};
use instance::OfInstance;
use session::state::cursors::{Concurrency, CursorInfo, CursorReference, HIDDEN, Model, last};

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
pub(crate) static CURSORS: View =
    View::function("dm_exec_cursors", 1, COLUMNS, |session, _, args| {
        let wanted = args.first().and_then(Value::as_i64);
        let mut rows = Vec::new();
        for (spid, shared) in session.instance().sessions() {
            if wanted != Some(0) && wanted != Some(i64::from(spid)) {
                continue;
            }
            let cursors: Vec<_> =
                shared.cursors.lock().iter().filter_map(std::sync::Weak::upgrade).collect();
            rows.extend(cursors.iter().map(|cursor| row(spid, cursor)));
        }
        Ok(rows)
    });

const DESCRIBED: &[ViewColumn] = &[
    ("reference_name", super::SYSNAME, false),
    ("cursor_name", super::SYSNAME, false),
    ("cursor_scope", DataType::TinyInt, false),
    ("status", DataType::SmallInt, false),
    ("model", DataType::TinyInt, false),
    ("concurrency", DataType::TinyInt, false),
    ("scrollable", DataType::TinyInt, false),
    ("open_status", DataType::TinyInt, false),
    ("cursor_rows", DataType::numeric(10, 0), false),
    ("fetch_status", DataType::SmallInt, false),
    ("column_count", DataType::SmallInt, false),
    ("row_count", DataType::numeric(10, 0), false),
    ("last_operation", DataType::TinyInt, false),
    ("cursor_handle", Int, false),
];

/// sys.dm_ringwood_cursors(scope, source, identity): what sp_cursor_list and sp_describe_cursor,
/// which are its callers, tell of the cursors of the frame around: those of a scope (1 local, 2
/// global, 3 both), or the one of a name (source local or global) or of a variable.
pub(crate) static OF_CALLER: View =
    View::function("dm_ringwood_cursors", 3, DESCRIBED, |session, _, args| {
        let text = |at: usize| args.get(at).and_then(Value::as_str);
        let invalid = |procedure: &str, parameter: &str| {
            SqlError::of(msg::PARAMETER_VALUE, [&procedure, &parameter]).state(48)
        };
        let mut list = session.objects.cursors.of_caller();
        match (args.first().and_then(Value::as_i64), text(1)) {
            (Some(scope), _) => {
                if !(1..=3).contains(&scope) {
                    return Err(invalid("sp_cursor_list", "@cursor_scope"));
                }
                list.retain(|reference| scope & if reference.global { 2 } else { 1 } != 0);
            }
            (None, None) => return Err(invalid("sp_cursor_list", "@cursor_scope")),
            (None, Some(source)) => {
                let Some(name) = text(2) else {
                    return Err(invalid("sp_describe_cursor", "@cursor_identity"));
                };
                let kind = source.to_ascii_lowercase();
                if !matches!(kind.as_str(), "local" | "global" | "variable") {
                    return Err(invalid("sp_describe_cursor", "@cursor_source"));
                }
                let variable = kind == "variable";
                list.retain(|reference| {
                    reference.name == catalog::fold_name(name)
                        && reference.name.starts_with('@') == variable
                        && reference.global == (kind == "global")
                });
                if list.is_empty() {
                    return Err(SqlError::of(msg::CURSOR_NOT_FOUND, [&name]));
                }
            }
        }
        list.iter().map(described).collect()
    });

fn described(reference: &CursorReference) -> Result<Vec<Value>, SqlError> {
    let (cursor, info) = (&reference.cursor, &reference.cursor.info);
    let own = info.name.lock().clone();
    let shown = |name: &str| text(if name.starts_with(HIDDEN) { "" } else { name });
    // The name as it was declared, where it is one.
    let name = if catalog::fold_name(&own) == reference.name {
        own.as_str()
    } else {
        reference.name.as_str()
    };
    let model = match info.declared.model {
        Model::Static => 1,
        Model::Keyset => 2,
        Model::Dynamic => 3,
        Model::FastForward => 4,
    };
    let concurrency = match info.declared.concurrency {
        Concurrency::ReadOnly => 1,
        Concurrency::ScrollLocks => 2,
        Concurrency::Optimistic => 3,
    };
    let rows = info.rows.load(Relaxed);
    let status = info.fetch_status.load(Relaxed);
    let last = info.last.load(Relaxed);
    let affected = match last {
        last::FETCHED => i64::from(status == 0),
        last::OPENED => rows.max(0),
        _ => 0,
    };
    let number =
        |n: i64| convert(&Value::BigInt(n), BigInt, DataType::numeric(10, 0), 0, Mode::Implicit);
    let small = |n: i64| Value::SmallInt(i16::try_from(n).unwrap_or(i16::MAX));
    Ok(vec![
        shown(name),
        shown(if own.is_empty() { name } else { &own }),
        Value::TinyInt(if reference.global { 2 } else { 1 }),
        Value::SmallInt(cursor.status()),
        Value::TinyInt(model),
        Value::TinyInt(concurrency),
        Value::TinyInt(u8::from(info.declared.scroll)),
        Value::TinyInt(u8::from(cursor.is_open())),
        number(if cursor.is_open() { rows } else { 0 })?,
        small(i64::from(status)),
        small(i64::from(info.columns)),
        number(affected)?,
        Value::TinyInt(last),
        Value::Int(info.handle),
    ])
}

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

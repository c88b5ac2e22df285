//! The Query Store: sys.database_query_store_options and sys.query_store_query_text,
//! query_store_query, query_store_plan, query_store_runtime_stats,
//! query_store_runtime_stats_interval, query_store_wait_stats, query_context_settings. Guarantee:
//! who looks sees every execution that had come to its end. Reads, memory and waits of single
//! queries are not counted: NULL, or no rows.

use std::sync::Arc;

use catalog::Db;
use catalog::query_store::{Runtime, Sample, StoreState, StoredQueries};
use parking_lot::MutexGuard;
use session::state::SessionCore;
use types::{DataType, Len, Value};

use super::plans::moment;
use super::{NVARCHAR60, SystemView, View, ViewColumn, big, bit, text};
use instance::OfInstance;
use programs::usage::settle;

use DataType::{
    BigInt, Binary, Bit, DateTime, DateTimeOffset, Float, Int, NVarChar, SmallInt, TinyInt,
    VarBinary,
};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] =
    &[&OPTIONS, &TEXTS, &QUERIES, &PLANS, &RUNTIME, &INTERVALS, &WAITS, &SETTINGS];

const MOMENT: DataType = DateTimeOffset(7);
const HANDLE: DataType = VarBinary(Len::N(64));
const HASH: DataType = Binary(8);

/// A moment in microseconds since 1970.
fn at(micros: u64) -> Value {
    types::convert(&moment(micros), DateTime, MOMENT, 0, types::Mode::Implicit)
        .unwrap_or(Value::Null)
}

fn id(n: i64) -> Value {
    Value::BigInt(n)
}

fn hash(bytes: [u8; 8]) -> Value {
    Value::bytes(bytes.to_vec())
}

/// What is kept, up to this moment.
fn kept<'d>(session: &SessionCore, db: &'d Db) -> MutexGuard<'d, StoredQueries> {
    if db.query_store().notes() {
        settle(session.instance().batches());
    }
    db.query_store().kept()
}

const OPTION_COLUMNS: &[ViewColumn] = &[
    ("desired_state", SmallInt, false),
    ("desired_state_desc", NVARCHAR60, true),
    ("actual_state", SmallInt, false),
    ("actual_state_desc", NVARCHAR60, true),
    ("readonly_reason", Int, true),
    ("current_storage_size_mb", BigInt, true),
    ("flush_interval_seconds", BigInt, true),
    ("interval_length_minutes", BigInt, true),
    ("max_storage_size_mb", BigInt, true),
    ("stale_query_threshold_days", BigInt, true),
    ("max_plans_per_query", BigInt, true),
    ("query_capture_mode", SmallInt, false),
    ("query_capture_mode_desc", NVARCHAR60, true),
    ("capture_policy_execution_count", Int, true),
    ("capture_policy_total_compile_cpu_time_ms", BigInt, true),
    ("capture_policy_total_execution_cpu_time_ms", BigInt, true),
    ("capture_policy_stale_threshold_hours", Int, true),
    ("size_based_cleanup_mode", SmallInt, false),
    ("size_based_cleanup_mode_desc", NVARCHAR60, true),
    ("wait_stats_capture_mode", SmallInt, false),
    ("wait_stats_capture_mode_desc", NVARCHAR60, true),
    ("actual_state_additional_info", NVarChar(Len::N(4000)), true),
];

/// sys.database_query_store_options.
static OPTIONS: View =
    View::sys("database_query_store_options", OPTION_COLUMNS, |session, db, _| {
        let options = db.settings().query_store;
        let kept = kept(session, db);
        let full = options.state == StoreState::ReadWrite && kept.readonly_reason != 0;
        let actual = if full { StoreState::ReadOnly } else { options.state };
        let on = |on: bool| (Value::SmallInt(on.into()), if on { "AUTO" } else { "OFF" });
        let ((cleanup, cleanup_word), (waits, _)) = (on(options.cleanup), on(options.waits));
        let custom = options.capture == catalog::query_store::CaptureMode::Custom;
        let policy = |n: i64, wide: bool| match custom {
            false => Value::Null,
            true if wide => Value::BigInt(n),
            true => Value::Int(i32::try_from(n).unwrap_or(i32::MAX)),
        };
        Ok(vec![vec![
            Value::SmallInt(options.state as i16),
            text(options.state.word()),
            Value::SmallInt(actual as i16),
            text(actual.word()),
            Value::Int(kept.readonly_reason),
            big(kept.bytes().div_ceil(1 << 20)),
            id(options.flush_seconds),
            id(options.interval_minutes),
            id(options.max_megabytes),
            id(options.stale_days),
            id(options.max_plans),
            Value::SmallInt(options.capture as i16),
            text(options.capture.word()),
            policy(options.policy_executions, false),
            policy(options.policy_compile_ms, true),
            policy(options.policy_execution_ms, true),
            policy(options.policy_hours, false),
            cleanup,
            text(cleanup_word),
            waits,
            text(if options.waits { "ON" } else { "OFF" }),
            text(""),
        ]])
    });

/// sys.query_store_query_text.
static TEXTS: View = View::sys(
    "query_store_query_text",
    &[
        ("query_text_id", BigInt, false),
        ("query_sql_text", NVarChar(Len::Max), true),
        ("statement_sql_handle", HANDLE, true),
        ("is_part_of_encrypted_module", Bit, false),
        ("has_restricted_text", Bit, false),
    ],
    |session, db, _| {
        let kept = kept(session, db);
        let shown =
            |of: i64| kept.queries.iter().any(|(id, query)| query.text == of && kept.is_shown(*id));
        let row = |(number, own): (&i64, &Arc<str>)| {
            let handle = Value::bytes(session::state::activity::handle(own).to_vec());
            vec![id(*number), text(own), handle, bit(false), bit(false)]
        };
        Ok(kept.texts.iter().filter(|(id, _)| shown(**id)).map(row).collect())
    },
);

const QUERY_COLUMNS: &[ViewColumn] = &[
    ("query_id", BigInt, false),
    ("query_text_id", BigInt, false),
    ("context_settings_id", BigInt, false),
    ("object_id", BigInt, true),
    ("batch_sql_handle", HANDLE, true),
    ("query_hash", HASH, false),
    ("is_internal_query", Bit, false),
    ("query_parameterization_type", TinyInt, false),
    ("query_parameterization_type_desc", NVARCHAR60, true),
    ("initial_compile_start_time", MOMENT, false),
    ("last_compile_start_time", MOMENT, true),
    ("last_execution_time", MOMENT, true),
    ("last_compile_batch_sql_handle", HANDLE, true),
    ("last_compile_batch_offset_start", BigInt, true),
    ("last_compile_batch_offset_end", BigInt, true),
    ("count_compiles", BigInt, true),
    ("avg_compile_duration", Float, true),
    ("last_compile_duration", BigInt, true),
    ("avg_bind_duration", Float, true),
    ("last_bind_duration", BigInt, true),
    ("avg_bind_cpu_time", Float, true),
    ("last_bind_cpu_time", BigInt, true),
    ("avg_optimize_duration", Float, true),
    ("last_optimize_duration", BigInt, true),
    ("avg_optimize_cpu_time", Float, true),
    ("last_optimize_cpu_time", BigInt, true),
    ("avg_compile_memory_kb", Float, true),
    ("last_compile_memory_kb", BigInt, true),
    ("max_compile_memory_kb", BigInt, true),
    ("is_clouddb_internal_query", Bit, true),
];

/// sys.query_store_query. What compiling took is not measured for each statement: NULL.
static QUERIES: View = View::sys("query_store_query", QUERY_COLUMNS, |session, db, _| {
    let kept = kept(session, db);
    let mut rows = Vec::new();
    for (number, query) in kept.queries.iter().filter(|(id, _)| kept.is_shown(**id)) {
        let kind = query.key.parameterized;
        let module = query.key.object_id != 0;
        let row = QUERY_COLUMNS.iter().map(|(name, _, _)| match *name {
            "query_id" => id(*number),
            "query_text_id" => id(query.text),
            "context_settings_id" => id(1),
            "object_id" => id(query.key.object_id.into()),
            // Of a module it is its object that says it.
            "batch_sql_handle" if module => Value::Null,
            "batch_sql_handle" | "last_compile_batch_sql_handle" => {
                Value::bytes(query.batch.clone())
            }
            "query_hash" => hash(query.hash),
            "is_internal_query" | "is_clouddb_internal_query" => bit(false),
            "query_parameterization_type" => Value::TinyInt(kind),
            "query_parameterization_type_desc" => {
                text(["None", "User", "Simple"].get(usize::from(kind)).copied().unwrap_or("None"))
            }
            "initial_compile_start_time" => at(query.first_compile),
            "last_compile_start_time" => at(query.last_compile),
            "last_execution_time" => at(query.last_execution),
            "last_compile_batch_offset_start" => id(query.offsets.0.into()),
            "last_compile_batch_offset_end" => id(query.offsets.1.into()),
            "count_compiles" => big(query.compiles),
            _ => Value::Null,
        });
        rows.push(row.collect());
    }
    Ok(rows)
});

const PLAN_COLUMNS: &[ViewColumn] = &[
    ("plan_id", BigInt, false),
    ("query_id", BigInt, false),
    ("plan_group_id", BigInt, true),
    ("engine_version", NVarChar(Len::N(32)), true),
    ("compatibility_level", SmallInt, false),
    ("query_plan_hash", HASH, false),
    ("query_plan", NVarChar(Len::Max), true),
    ("is_online_index_plan", Bit, false),
    ("is_trivial_plan", Bit, false),
    ("is_parallel_plan", Bit, false),
    ("is_forced_plan", Bit, false),
    ("is_natively_compiled", Bit, false),
    ("force_failure_count", BigInt, false),
    ("last_force_failure_reason", Int, false),
    ("last_force_failure_reason_desc", NVarChar(Len::N(128)), true),
    ("count_compiles", BigInt, true),
    ("initial_compile_start_time", MOMENT, false),
    ("last_compile_start_time", MOMENT, true),
    ("last_execution_time", MOMENT, true),
    ("avg_compile_duration", Float, true),
    ("last_compile_duration", BigInt, true),
    ("plan_forcing_type", Int, false),
    ("plan_forcing_type_desc", NVARCHAR60, true),
    ("has_compile_replay_script", Bit, true),
    ("is_optimized_plan_forcing_disabled", Bit, true),
    ("plan_type", Int, true),
    ("plan_type_desc", NVarChar(Len::N(120)), true),
];

/// sys.query_store_plan.
static PLANS: View = View::sys("query_store_plan", PLAN_COLUMNS, |session, db, _| {
    let kept = kept(session, db);
    let mut rows = Vec::new();
    for (number, plan) in kept.plans.iter().filter(|(_, plan)| kept.is_shown(plan.query)) {
        let row = PLAN_COLUMNS.iter().map(|(name, _, _)| match *name {
            "plan_id" => id(*number),
            "query_id" => id(plan.query),
            "plan_group_id" | "force_failure_count" => id(0),
            "engine_version" => text("16.0.1000.6"),
            "compatibility_level" => Value::SmallInt(plan.level.into()),
            "query_plan_hash" => hash(plan.hash),
            "query_plan" => text(&plan.document),
            "is_trivial_plan" => bit(plan.trivial),
            "is_online_index_plan"
            | "is_parallel_plan"
            | "is_forced_plan"
            | "is_natively_compiled"
            | "has_compile_replay_script"
            | "is_optimized_plan_forcing_disabled" => bit(false),
            "last_force_failure_reason" | "plan_forcing_type" | "plan_type" => Value::Int(0),
            "last_force_failure_reason_desc" | "plan_forcing_type_desc" => text("NONE"),
            "plan_type_desc" => text("Compiled Plan"),
            "count_compiles" => big(plan.compiles),
            "initial_compile_start_time" => at(plan.first_compile),
            "last_compile_start_time" => at(plan.last_compile),
            "last_execution_time" => at(plan.last_execution),
            _ => Value::Null,
        });
        rows.push(row.collect());
    }
    Ok(rows)
});

/// The columns of a plan's executions, five for each thing that is measured.
macro_rules! runtime_columns {
    ($($what:literal),*) => {
        &[
            ("runtime_stats_id", BigInt, false),
            ("plan_id", BigInt, false),
            ("runtime_stats_interval_id", BigInt, false),
            ("execution_type", TinyInt, false),
            ("execution_type_desc", NVARCHAR60, true),
            ("first_execution_time", MOMENT, false),
            ("last_execution_time", MOMENT, false),
            ("count_executions", BigInt, false),
            $(
                (concat!("avg_", $what), Float, true),
                (concat!("last_", $what), BigInt, true),
                (concat!("min_", $what), BigInt, true),
                (concat!("max_", $what), BigInt, true),
                (concat!("stdev_", $what), Float, true),
            )*
            ("replica_group_id", BigInt, false),
        ]
    };
}

const RUNTIME_COLUMNS: &[ViewColumn] = runtime_columns!(
    "duration",
    "cpu_time",
    "logical_io_reads",
    "logical_io_writes",
    "physical_io_reads",
    "clr_time",
    "dop",
    "query_max_used_memory",
    "rowcount",
    "num_physical_io_reads",
    "log_bytes_used",
    "tempdb_space_used",
    "page_server_io_reads"
);

/// sys.query_store_runtime_stats. Executions that fail are not counted.
static RUNTIME: View = View::sys("query_store_runtime_stats", RUNTIME_COLUMNS, |session, db, _| {
    let kept = kept(session, db);
    let shown = |plan: i64| kept.plans.get(&plan).is_some_and(|plan| kept.is_shown(plan.query));
    let mut rows = Vec::new();
    for ((interval, plan), runtime) in kept.runtime.iter().filter(|((_, plan), _)| shown(*plan)) {
        let row = RUNTIME_COLUMNS.iter().map(|(name, _, _)| match *name {
            "runtime_stats_id" => id(runtime.id),
            "plan_id" => id(*plan),
            "runtime_stats_interval_id" => id(*interval),
            "execution_type" => Value::TinyInt(0),
            "execution_type_desc" => text("Regular"),
            "first_execution_time" => at(runtime.first),
            "last_execution_time" => at(runtime.executions.times.last),
            "count_executions" => big(runtime.executions.times.count),
            "replica_group_id" => id(1),
            name => measured(name, runtime),
        });
        rows.push(row.collect());
    }
    Ok(rows)
});

/// A column `avg_`, `last_`, `min_`, `max_` or `stdev_` of something; NULL for what nobody counts.
fn measured(column: &str, runtime: &Runtime) -> Value {
    let Some((which, what)) = column.split_once('_') else { return Value::Null };
    let count = runtime.executions.times.count as f64;
    let always = |n: u64| {
        let n = n as f64;
        let (total, squares) = (n * count, n * n * count);
        Sample { total, squares, last: n as u64, least: n as u64, greatest: n as u64 }
    };
    let sample = match what {
        "duration" => runtime.executions.duration,
        "cpu_time" => runtime.executions.processor,
        "rowcount" => runtime.executions.rows,
        "dop" => always(1),
        "clr_time" | "page_server_io_reads" => always(0),
        _ => return Value::Null,
    };
    let average = if count > 0.0 { sample.total / count } else { 0.0 };
    match which {
        "avg" => Value::Float(average),
        "last" => big(sample.last),
        "min" => big(sample.least),
        "max" => big(sample.greatest),
        // The squares of rows are not summed.
        "stdev" if what == "rowcount" => Value::Null,
        _ => Value::Float((sample.squares / count.max(1.0) - average * average).max(0.0).sqrt()),
    }
}

/// sys.query_store_runtime_stats_interval.
static INTERVALS: View = View::sys(
    "query_store_runtime_stats_interval",
    &[
        ("runtime_stats_interval_id", BigInt, false),
        ("start_time", MOMENT, false),
        ("end_time", MOMENT, false),
        ("comment", NVarChar(Len::Max), true),
    ],
    |session, db, _| {
        let kept = kept(session, db);
        let row = |(number, (from, to)): (&i64, &(u64, u64))| {
            vec![id(*number), at(*from), at(*to), Value::Null]
        };
        Ok(kept.intervals.iter().map(row).collect())
    },
);

/// sys.query_store_wait_stats: waits are counted for the instance, not for each query.
static WAITS: View = View::empty(
    "query_store_wait_stats",
    &[
        ("wait_stats_id", BigInt, false),
        ("plan_id", BigInt, false),
        ("runtime_stats_interval_id", BigInt, false),
        ("wait_category", TinyInt, false),
        ("wait_category_desc", NVarChar(Len::N(128)), true),
        ("execution_type", TinyInt, false),
        ("execution_type_desc", NVARCHAR60, true),
        ("total_query_wait_time_ms", BigInt, false),
        ("avg_query_wait_time_ms", Float, true),
        ("last_query_wait_time_ms", BigInt, false),
        ("min_query_wait_time_ms", BigInt, false),
        ("max_query_wait_time_ms", BigInt, false),
        ("stdev_query_wait_time_ms", Float, true),
        ("replica_group_id", BigInt, false),
    ],
);

/// sys.query_context_settings: queries are not told apart by their settings, so there is one row,
/// of the usual ones.
static SETTINGS: View = View::sys(
    "query_context_settings",
    &[
        ("context_settings_id", BigInt, false),
        ("set_options", VarBinary(Len::N(8)), true),
        ("language_id", SmallInt, false),
        ("date_format", SmallInt, false),
        ("date_first", TinyInt, false),
        ("status", VarBinary(Len::N(2)), true),
        ("required_cursor_options", Int, false),
        ("acceptable_cursor_options", Int, false),
        ("merge_action_type", SmallInt, false),
        ("default_schema_id", Int, false),
        ("is_replication_specific", Bit, false),
        ("is_contained", VarBinary(Len::N(1)), true),
    ],
    |_, _, _| {
        Ok(vec![vec![
            id(1),
            Value::bytes(4347i64.to_be_bytes().to_vec()),
            Value::SmallInt(0),
            Value::SmallInt(1),
            Value::TinyInt(7),
            Value::bytes(vec![0, 0]),
            Value::Int(0),
            Value::Int(0),
            Value::SmallInt(0),
            Value::Int(1),
            bit(false),
            Value::bytes(vec![0]),
        ]])
    },
);

//! Plans that are kept and what they have cost: sys.dm_exec_query_stats, dm_exec_procedure_stats
//! and similar views, dm_exec_cached_plans, dm_exec_query_plan, dm_exec_text_query_plan,
//! dm_exec_plan_attributes. Guarantee: executions and rows are what they are; times are measured as
//! [`programs::counts`] says. What is not counted (reads, grants of memory, spills) is NULL, what
//! there cannot be is 0.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use syntax::ast::StmtKind;
use types::{DataType, Len, SqlError, Value};

use super::transactions::datetime;
use super::{NVARCHAR60, SystemView, View, ViewColumn, ViewResult, WantedRows, bit, int, text};
use catalog::{Db, ModuleKind};
use instance::OfInstance;
use programs::cache::KeptPlan;
use programs::counts::{Sums, Total};
use programs::program::Op;
use programs::shown_plan;
use programs::statement_text::{self, hash_of, query_hash};
use session::state::SessionCore;
use session::state::activity::handle;

use DataType::{
    BigInt, Binary, Bit, Char, DateTime, Int, NVarChar, SmallInt, SqlVariant, VarBinary, VarChar,
    Xml,
};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[
    &QUERY_STATS,
    &CACHED_PLANS,
    &PROCEDURE_STATS,
    &TRIGGER_STATS,
    &FUNCTION_STATS,
    &QUERY_PLAN,
    &TEXT_QUERY_PLAN,
    &PLAN_ATTRIBUTES,
];

/// First bytes of handles: of the text of a module, of the plan of a module, of the plan of a text.
const MODULE_TEXT: u8 = 3;
const MODULE_PLAN: u8 = 5;
const TEXT_PLAN: u8 = 6;

/// All plans that are kept.
fn plans(session: &SessionCore) -> Vec<KeptPlan> {
    session.instance().batches().plans()
}

/// A handle of 20 bytes: its kind, the database, and what tells it from others.
fn handle_of(kind: u8, db: i32, rest: [u8; 16]) -> Vec<u8> {
    let mut bytes = vec![kind, 0];
    bytes.extend((db as u16).to_le_bytes());
    bytes.extend(rest);
    bytes
}

fn of_object(object_id: i32) -> [u8; 16] {
    let mut rest = [0; 16];
    rest[..4].copy_from_slice(&object_id.to_le_bytes());
    rest
}

/// The plan of a module that is kept.
pub(super) fn plan_of_module(
    session: &SessionCore,
    (db, object_id): (i32, i32),
) -> Result<Option<KeptPlan>, SqlError> {
    let is_it = |plan: &KeptPlan| {
        plan.db == db && plan.module.as_ref().is_some_and(|module| module.object_id == object_id)
    };
    Ok(plans(session).into_iter().find(is_it))
}

/// sql_handle.
pub(super) fn text_handle(plan: &KeptPlan) -> Vec<u8> {
    match &plan.module {
        Some(module) => handle_of(MODULE_TEXT, plan.db, of_object(module.object_id)),
        None => handle(&plan.batch.text).to_vec(),
    }
}

/// plan_handle.
fn plan_handle(plan: &KeptPlan) -> Vec<u8> {
    match &plan.module {
        Some(module) => handle_of(MODULE_PLAN, plan.db, of_object(module.object_id)),
        None => {
            let mut rest = [0; 16];
            rest[..8].copy_from_slice(&plan.hash.to_be_bytes());
            rest[8..].copy_from_slice(&handle(&plan.batch.text)[4..12]);
            handle_of(TEXT_PLAN, plan.db, rest)
        }
    }
}

/// Whether a plan has this handle. The cheaper comparison comes first: many plans are asked.
fn has_handle(plan: &KeptPlan, wanted: &[u8]) -> bool {
    let text = plan.module.is_none();
    (!text || wanted.get(4..12) == Some(&plan.hash.to_be_bytes())) && plan_handle(plan) == wanted
}

/// Database, object and text of the plan with a handle, be it that of its text or its own.
pub(super) fn text_of(
    session: &SessionCore,
    wanted: &[u8],
) -> Result<Option<(i32, i32, Arc<str>)>, SqlError> {
    let own = |plan: &KeptPlan| {
        has_handle(plan, wanted) || (plan.module.is_some() && text_handle(plan) == wanted)
    };
    let found = plans(session).into_iter().find(own);
    Ok(found.map(|plan| {
        (
            plan.db,
            plan.module.as_ref().map_or(0, |module| module.object_id),
            plan.batch.text.clone(),
        )
    }))
}

/// A query or change of a batch: its number, its operation, its place in the text.
struct Statement {
    number: usize,
    op: usize,
    from: usize,
    to: usize,
}

fn statements(plan: &KeptPlan) -> Vec<Statement> {
    let program = &plan.batch.program;
    let of = |(op, operation): (usize, &Op)| {
        let Op::Stmt(number) = *operation else { return None };
        let number = number as usize;
        let stmt = program.stmts.get(number)?;
        let counted = matches!(
            stmt.kind,
            StmtKind::Select(_)
                | StmtKind::Insert(_)
                | StmtKind::Update(_)
                | StmtKind::Delete(_)
                | StmtKind::Merge(_)
        );
        let (from, to) = (stmt.span.start as usize, stmt.span.end as usize);
        let inside = plan.batch.text.get(from..to).is_some();
        (counted && inside).then_some(Statement { number, op, from, to })
    };
    program.ops.iter().enumerate().filter_map(of).collect()
}

/// Start and end of a statement.
fn offsets(text: &str, statement: &Statement) -> (i32, i32) {
    statement_text::offsets(text, statement.from, statement.to)
}

fn hash(bytes: [u8; 8]) -> Value {
    Value::bytes(bytes.to_vec())
}

/// The value of a column `total_`, `last_`, `min_` or `max_` of something; NULL for what nobody
/// counts.
fn measured(column: &str, total: &Total) -> Value {
    let Some((which, what)) = column.split_once('_') else { return Value::Null };
    let one = Sums { total: total.executions, last: 1, least: 1, greatest: 1 };
    let sums = match what {
        "worker_time" => total.worker,
        "elapsed_time" => total.elapsed,
        "rows" => total.rows,
        "dop" => one,
        "clr_time"
        | "reserved_threads"
        | "used_threads"
        | "columnstore_segment_reads"
        | "columnstore_segment_skips"
        | "page_server_reads"
        | "num_page_server_reads" => Sums::default(),
        _ => return Value::Null,
    };
    super::big(match which {
        "total" => sums.total,
        "last" => sums.last,
        "min" => sums.least,
        _ => sums.greatest,
    })
}

/// A moment in microseconds since 1970; NULL for none.
pub(super) fn moment(micros: u64) -> Value {
    if micros == 0 { Value::Null } else { datetime(UNIX_EPOCH + Duration::from_micros(micros)) }
}

/// Columns: those in parentheses as they are; of what is only named the sum, the last, the least
/// and the greatest value.
macro_rules! stat_columns {
    (@list [$($done:tt)*]) => {
        &[$($done)*]
    };
    (@list [$($done:tt)*] $what:literal, $($rest:tt)*) => {
        stat_columns!(@list [
            $($done)*
            (concat!("total_", $what), BigInt, true),
            (concat!("last_", $what), BigInt, true),
            (concat!("min_", $what), BigInt, true),
            (concat!("max_", $what), BigInt, true),
        ] $($rest)*)
    };
    (@list [$($done:tt)*] $column:tt, $($rest:tt)*) => {
        stat_columns!(@list [$($done)* $column,] $($rest)*)
    };
    ($($columns:tt)*) => {
        stat_columns!(@list [] $($columns)*)
    };
}

const STAT_COLUMNS: &[ViewColumn] = stat_columns!(
    ("sql_handle", VarBinary(Len::N(64)), false),
    ("statement_start_offset", Int, false),
    ("statement_end_offset", Int, false),
    ("plan_generation_num", BigInt, true),
    ("plan_handle", VarBinary(Len::N(64)), false),
    ("creation_time", DateTime, true),
    ("last_execution_time", DateTime, true),
    ("execution_count", BigInt, false),
    "worker_time",
    "physical_reads",
    "logical_writes",
    "logical_reads",
    "clr_time",
    "elapsed_time",
    ("query_hash", Binary(8), true),
    ("query_plan_hash", Binary(8), true),
    "rows",
    ("statement_sql_handle", VarBinary(Len::N(64)), true),
    ("statement_context_id", BigInt, true),
    "dop",
    "grant_kb",
    "used_grant_kb",
    "ideal_grant_kb",
    "reserved_threads",
    "used_threads",
    "columnstore_segment_reads",
    "columnstore_segment_skips",
    "spills",
    "num_physical_reads",
    "page_server_reads",
    "num_page_server_reads",
);

/// sys.dm_exec_query_stats: queries and changes of plans that are kept and have run.
static QUERY_STATS: View = View::seeking(
    "dm_exec_query_stats",
    STAT_COLUMNS,
    &[],
    |_| 500.0,
    |session, _, wanted| {
        let mut rows = Vec::new();
        for plan in plans(session) {
            for statement in statements(&plan) {
                let total = plan.batch.counts.total(Some(statement.number));
                if total.executions > 0 {
                    rows.push(stat_row(&plan, &statement, &total, wanted));
                }
            }
        }
        Ok(rows)
    },
);

fn stat_row(
    plan: &KeptPlan,
    statement: &Statement,
    total: &Total,
    wanted: &WantedRows<'_>,
) -> Vec<Value> {
    let whole = &plan.batch.text;
    let own = &whole[statement.from..statement.to];
    wanted.row(|at| match STAT_COLUMNS[at].0 {
        "sql_handle" => Value::bytes(text_handle(plan)),
        "statement_start_offset" => Value::Int(offsets(whole, statement).0),
        "statement_end_offset" => Value::Int(offsets(whole, statement).1),
        "plan_generation_num" => Value::BigInt(1),
        "plan_handle" => Value::bytes(plan_handle(plan)),
        "creation_time" => datetime(plan.batch.counts.created),
        "last_execution_time" => moment(total.began),
        "execution_count" => super::big(total.executions),
        "query_hash" => hash(query_hash(own)),
        "query_plan_hash" => match shown_plan::operators(&plan.batch, statement.op) {
            Some(operators) => hash(hash_of(operators)),
            None => Value::Null,
        },
        "statement_sql_handle" | "statement_context_id" => Value::Null,
        name => measured(name, total),
    })
}

const PLAN_COLUMNS: &[ViewColumn] = &[
    ("bucketid", Int, false),
    ("refcounts", Int, false),
    ("usecounts", Int, false),
    ("size_in_bytes", Int, false),
    ("memory_object_address", VarBinary(Len::N(8)), false),
    ("cacheobjtype", NVarChar(Len::N(34)), false),
    ("objtype", NVarChar(Len::N(16)), false),
    ("plan_handle", VarBinary(Len::N(64)), false),
    ("pool_id", Int, false),
    ("parent_plan_handle", VarBinary(Len::N(64)), true),
];

/// sys.dm_exec_cached_plans. The size is that of text and program; what statements are bound to is
/// not counted.
static CACHED_PLANS: View = View::seeking(
    "dm_exec_cached_plans",
    PLAN_COLUMNS,
    &[],
    |_| 200.0,
    |session, _, wanted| {
        let row = |plan: KeptPlan| {
            let kind = match plan.module.as_ref().map(|module| module.kind) {
                Some(ModuleKind::Trigger) => "Trigger",
                Some(_) => "Proc",
                None if plan.prepared => "Prepared",
                None => "Adhoc",
            };
            wanted.row(|at| match PLAN_COLUMNS[at].0 {
                "bucketid" => Value::Int((plan.hash % 40_009) as i32),
                "refcounts" => int(Arc::strong_count(&plan.batch) as u64),
                "usecounts" => int(plan.batch.counts.total(None).executions),
                "size_in_bytes" => int(plan.batch.size() as u64),
                "memory_object_address" => Value::bytes(plan.hash.to_be_bytes().to_vec()),
                "cacheobjtype" => text("Compiled Plan"),
                "objtype" => text(kind),
                "plan_handle" => Value::bytes(plan_handle(&plan)),
                "pool_id" => Value::Int(2),
                _ => Value::Null,
            })
        };
        Ok(plans(session).into_iter().map(row).collect())
    },
);

const MODULE_COLUMNS: &[ViewColumn] = stat_columns!(
    ("database_id", Int, false),
    ("object_id", Int, false),
    ("type", Char(2), true),
    ("type_desc", NVARCHAR60, true),
    ("sql_handle", VarBinary(Len::N(64)), false),
    ("plan_handle", VarBinary(Len::N(64)), false),
    ("cached_time", DateTime, true),
    ("last_execution_time", DateTime, true),
    ("execution_count", BigInt, false),
    "worker_time",
    "physical_reads",
    "logical_writes",
    "logical_reads",
    "elapsed_time",
    "spills",
    "num_physical_reads",
    "page_server_reads",
    "num_page_server_reads",
);

/// Modules of some kinds that have run.
fn modules(
    session: &SessionCore,
    wanted: &WantedRows<'_>,
    is_one: fn(ModuleKind) -> bool,
) -> ViewResult {
    let mut rows = Vec::new();
    for plan in plans(session) {
        let Some(module) = plan.module.as_ref().filter(|module| is_one(module.kind)) else {
            continue;
        };
        let total = plan.batch.counts.total(None);
        if total.executions == 0 {
            continue;
        }
        rows.push(wanted.row(|at| match MODULE_COLUMNS[at].0 {
            "database_id" => Value::Int(plan.db),
            "object_id" => Value::Int(module.object_id),
            "type" => text(module.kind.code()),
            "type_desc" => text(module.kind.description()),
            "sql_handle" => Value::bytes(text_handle(&plan)),
            "plan_handle" => Value::bytes(plan_handle(&plan)),
            "cached_time" => datetime(plan.batch.counts.created),
            "last_execution_time" => moment(total.began),
            "execution_count" => super::big(total.executions),
            name => measured(name, &total),
        }));
    }
    Ok(rows)
}

/// sys.dm_exec_procedure_stats.
static PROCEDURE_STATS: View = View::seeking(
    "dm_exec_procedure_stats",
    MODULE_COLUMNS,
    &[],
    |_| 100.0,
    |session, _, wanted| modules(session, wanted, |kind| kind == ModuleKind::Procedure),
);

/// sys.dm_exec_trigger_stats.
static TRIGGER_STATS: View = View::seeking(
    "dm_exec_trigger_stats",
    MODULE_COLUMNS,
    &[],
    |_| 100.0,
    |session, _, wanted| modules(session, wanted, |kind| kind == ModuleKind::Trigger),
);

/// sys.dm_exec_function_stats: of scalar functions that are called; one that is bound where it is
/// called is part of its statement.
static FUNCTION_STATS: View = View::seeking(
    "dm_exec_function_stats",
    MODULE_COLUMNS,
    &[],
    |_| 100.0,
    |session, _, wanted| modules(session, wanted, |kind| kind == ModuleKind::ScalarFunction),
);

// ---- what a plan looks like ----

const DOCUMENT_COLUMNS: &[ViewColumn] = &[
    ("dbid", SmallInt, true),
    ("objectid", Int, true),
    ("number", SmallInt, true),
    ("encrypted", Bit, false),
    ("query_plan", Xml, true),
];

/// sys.dm_exec_query_plan(plan_handle): the plans of its statements as one document.
static QUERY_PLAN: View =
    View::function("dm_exec_query_plan", 1, DOCUMENT_COLUMNS, |session, _, args| {
        let mut rows = documents(session, args.first(), None)?;
        for plan in rows.iter_mut().filter_map(|row| row.last_mut()) {
            *plan = types::convert(plan, NVarChar(Len::Max), Xml, 0, types::Mode::Implicit)?;
        }
        Ok(rows)
    });

/// The same as text, of the statement between two offsets; 0 and -1 mean all.
static TEXT_QUERY_PLAN: View = View::function(
    "dm_exec_text_query_plan",
    3,
    &[
        ("dbid", SmallInt, true),
        ("objectid", Int, true),
        ("number", SmallInt, true),
        ("encrypted", Bit, false),
        ("query_plan", NVarChar(Len::Max), true),
    ],
    |session, _, args| {
        let from = args.get(1).and_then(Value::as_i64).unwrap_or(0);
        let to = args.get(2).and_then(Value::as_i64).unwrap_or(-1);
        documents(session, args.first(), Some((from, to)).filter(|range| *range != (0, -1)))
    },
);

/// The plan with a handle.
fn plan_with(session: &SessionCore, wanted: Option<&Value>) -> Result<Option<KeptPlan>, SqlError> {
    let Some(Value::Bytes(wanted)) = wanted else { return Ok(None) };
    Ok(plans(session).into_iter().find(|plan| has_handle(plan, wanted)))
}

fn documents(
    session: &SessionCore,
    wanted: Option<&Value>,
    range: Option<(i64, i64)>,
) -> ViewResult {
    let Some(plan) = plan_with(session, wanted)? else { return Ok(Vec::new()) };
    let whole = &plan.batch.text;
    let asked = |statement: &Statement| {
        range.is_none_or(|(from, to)| {
            let (start, end) = offsets(whole, statement);
            i64::from(start) == from && (i64::from(end) == to || to == -1)
        })
    };
    let ops: Vec<usize> =
        statements(&plan).into_iter().filter(asked).map(|statement| statement.op).collect();
    let object = plan.module.as_ref().map_or(Value::Null, |module| Value::Int(module.object_id));
    Ok(vec![vec![
        Value::SmallInt(plan.db as i16),
        object,
        Value::Null,
        bit(false),
        shown_plan::document(&plan.batch, &ops).map_or(Value::Null, Value::str),
    ]])
}

/// sys.dm_exec_plan_attributes(plan_handle): what decides that a plan may be used, and its text.
static PLAN_ATTRIBUTES: View = View::function(
    "dm_exec_plan_attributes",
    1,
    &[
        ("attribute", VarChar(Len::N(128)), false),
        ("value", SqlVariant, true),
        ("is_cache_key", Bit, false),
    ],
    attributes,
);

fn attributes(session: &mut SessionCore, _db: &Arc<Db>, args: &[Value]) -> ViewResult {
    let Some(plan) = plan_with(session, args.first())? else { return Ok(Vec::new()) };
    let level = session
        .host()
        .db_by_id(plan.db)
        .map_or(Value::Null, |db| Value::TinyInt(db.settings().compatibility_level));
    let row = |name: &str, value: Value, key: bool| vec![text(name), value, bit(key)];
    Ok(vec![
        row("set_options", plan.options.map_or(Value::Null, Value::Int), true),
        row(
            "objectid",
            Value::Int(plan.module.as_ref().map_or(0, |module| module.object_id)),
            true,
        ),
        row("dbid", Value::Int(plan.db), true),
        row("dbid_execute", Value::Int(0), true),
        row("compat_level", level, true),
        row("sql_handle", Value::bytes(text_handle(&plan)), false),
    ])
}

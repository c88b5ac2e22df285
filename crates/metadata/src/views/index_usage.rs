//! How indexes are used, and which ones are missing: sys.dm_db_index_usage_stats,
//! sys.dm_db_missing_index_details, dm_db_missing_index_groups, dm_db_missing_index_group_stats,
//! dm_db_missing_index_columns. Guarantee: executions are counted exactly, each operator of a plan
//! once in each of them. The last time of a short statement is that of its last execution that was
//! measured (see [`programs::counts`]). What the system does for itself is not counted.

use std::sync::Arc;

use catalog::usage::{IndexUse, MissingIndex, UseCount};
use catalog::{Db, TableDef};
use compact_str::CompactString;
use session::state::SessionCore;
use types::{DataType, Len, Value};

use super::plans::moment;
use super::{Rows, SYSNAME, SystemView, View, ViewColumn, big, text};
use instance::OfInstance;
use programs::usage::settle;

use DataType::{BigInt, DateTime, Float, Int, NVarChar, SmallInt, VarChar};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] =
    &[&USAGE, &MISSING_DETAILS, &MISSING_GROUPS, &MISSING_STATS, &MISSING_COLUMNS];

/// A table of a database.
type Table = (Arc<Db>, Arc<TableDef>);

/// The tables of all databases, their uses added up to this moment.
fn tables(session: &SessionCore) -> Vec<Table> {
    settle(session.instance().batches());
    let mut all = Vec::new();
    for db in session.host().databases() {
        let catalog = db.catalog();
        all.extend(catalog.stored().into_iter().map(|table| (db.clone(), table.clone())));
    }
    all
}

const USAGE_COLUMNS: &[ViewColumn] = &[
    ("database_id", SmallInt, false),
    ("object_id", Int, false),
    ("index_id", Int, false),
    ("user_seeks", BigInt, false),
    ("user_scans", BigInt, false),
    ("user_lookups", BigInt, false),
    ("user_updates", BigInt, false),
    ("last_user_seek", DateTime, true),
    ("last_user_scan", DateTime, true),
    ("last_user_lookup", DateTime, true),
    ("last_user_update", DateTime, true),
    ("system_seeks", BigInt, false),
    ("system_scans", BigInt, false),
    ("system_lookups", BigInt, false),
    ("system_updates", BigInt, false),
    ("last_system_seek", DateTime, true),
    ("last_system_scan", DateTime, true),
    ("last_system_lookup", DateTime, true),
    ("last_system_update", DateTime, true),
];

/// sys.dm_db_index_usage_stats: since the database was opened; indexes that were never used have no
/// row.
static USAGE: View = View::sys("dm_db_index_usage_stats", USAGE_COLUMNS, |session, _, _| {
    const KINDS: [IndexUse; 4] =
        [IndexUse::Seek, IndexUse::Scan, IndexUse::Lookup, IndexUse::Update];
    let mut rows = Vec::new();
    for (db, table) in tables(session) {
        for (index_id, uses) in table.state.usage.indexes() {
            if !table.all_indexes().any(|index| index.index_id == index_id) {
                continue;
            }
            let times = KINDS.map(|kind| uses.of(kind));
            let mut row = vec![
                Value::SmallInt(db.id() as i16),
                Value::Int(table.shown_id()),
                Value::Int(index_id),
            ];
            row.extend(times.iter().map(|times| big(times.count)));
            row.extend(times.iter().map(|times| moment(times.last)));
            row.extend([const { Value::BigInt(0) }; 4]);
            row.extend([Value::Null, Value::Null, Value::Null, Value::Null]);
            rows.push(row);
        }
    }
    Ok(rows)
});

/// A missing index of a table that still has its columns.
struct Missing {
    db: Arc<Db>,
    table: Arc<TableDef>,
    index: MissingIndex,
}

fn missing(session: &SessionCore) -> Vec<Missing> {
    let mut all = Vec::new();
    for (db, table) in tables(session) {
        for index in table.state.usage.missing() {
            let columns = &index.columns;
            let named = [&columns.equality, &columns.inequality, &columns.included];
            let is_there =
                |name: &CompactString| table.columns.iter().any(|column| column.name == *name);
            if named.into_iter().flatten().all(is_there) {
                all.push(Missing { db: db.clone(), table: table.clone(), index });
            }
        }
    }
    all.sort_by_key(|one| one.index.number);
    all
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Names in brackets; NULL for none.
fn list(names: &[CompactString]) -> Value {
    if names.is_empty() {
        return Value::Null;
    }
    text(names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
}

/// sys.dm_db_missing_index_details.
static MISSING_DETAILS: View = View::sys(
    "dm_db_missing_index_details",
    &[
        ("index_handle", Int, false),
        ("database_id", SmallInt, false),
        ("object_id", Int, false),
        ("equality_columns", NVarChar(Len::N(4000)), true),
        ("inequality_columns", NVarChar(Len::N(4000)), true),
        ("included_columns", NVarChar(Len::N(4000)), true),
        ("statement", NVarChar(Len::N(4000)), true),
    ],
    |session, _, _| {
        let row = |one: Missing| {
            let names = [&one.db.name(), one.table.schema.as_str(), one.table.name.as_str()];
            vec![
                Value::Int(one.index.number),
                Value::SmallInt(one.db.id() as i16),
                Value::Int(one.table.shown_id()),
                list(&one.index.columns.equality),
                list(&one.index.columns.inequality),
                list(&one.index.columns.included),
                text(names.map(quoted).join(".")),
            ]
        };
        Ok(missing(session).into_iter().map(row).collect())
    },
);

/// sys.dm_db_missing_index_groups: each missing index is a group of its own.
static MISSING_GROUPS: View = View::sys(
    "dm_db_missing_index_groups",
    &[("index_group_handle", Int, false), ("index_handle", Int, false)],
    |session, _, _| {
        let row = |one: Missing| vec![Value::Int(one.index.number), Value::Int(one.index.number)];
        Ok(missing(session).into_iter().map(row).collect())
    },
);

const STATS_COLUMNS: &[ViewColumn] = &[
    ("group_handle", Int, false),
    ("unique_compiles", BigInt, false),
    ("user_seeks", BigInt, false),
    ("user_scans", BigInt, false),
    ("last_user_seek", DateTime, true),
    ("last_user_scan", DateTime, true),
    ("avg_total_user_cost", Float, true),
    ("avg_user_impact", Float, true),
    ("system_seeks", BigInt, false),
    ("system_scans", BigInt, false),
    ("last_system_seek", DateTime, true),
    ("last_system_scan", DateTime, true),
    ("avg_total_system_cost", Float, true),
    ("avg_system_impact", Float, true),
];

/// sys.dm_db_missing_index_group_stats. Costs are seconds, as those of SHOWPLAN_ALL.
static MISSING_STATS: View =
    View::sys("dm_db_missing_index_group_stats", STATS_COLUMNS, |session, _, _| {
        let row = |one: Missing| {
            let MissingIndex {
                number,
                compiles,
                seeks: UseCount { count, last },
                cost,
                impact,
                ..
            } = one.index;
            let average =
                |sum: f64| Value::Float(if count == 0 { 0.0 } else { sum / count as f64 });
            vec![
                Value::Int(number),
                big(compiles),
                big(count),
                Value::BigInt(0),
                moment(last),
                Value::Null,
                average(cost),
                average(impact),
                Value::BigInt(0),
                Value::BigInt(0),
                Value::Null,
                Value::Null,
                Value::Float(0.0),
                Value::Float(0.0),
            ]
        };
        Ok(missing(session).into_iter().map(row).collect())
    });

/// sys.dm_db_missing_index_columns(index_handle).
static MISSING_COLUMNS: View = View::function(
    "dm_db_missing_index_columns",
    1,
    &[
        ("column_id", Int, false),
        ("column_name", SYSNAME, true),
        ("column_usage", VarChar(Len::N(20)), true),
    ],
    columns_of,
);

fn columns_of(session: &mut SessionCore, _db: &Arc<Db>, args: &[Value]) -> Rows {
    let Some(handle) = args.first().and_then(Value::as_i64) else { return Ok(Vec::new()) };
    let all = missing(session);
    let Some(Missing { table, index, .. }) =
        all.into_iter().find(|one| i64::from(one.index.number) == handle)
    else {
        return Ok(Vec::new());
    };
    let mut rows = Vec::new();
    for (usage, names) in [
        ("EQUALITY", &index.columns.equality),
        ("INEQUALITY", &index.columns.inequality),
        ("INCLUDE", &index.columns.included),
    ] {
        for name in names {
            let column = table.columns.iter().find(|column| column.name == *name);
            let id = column.map_or(0, |column| column.column_id);
            rows.push(vec![Value::Int(id), text(name), text(usage)]);
        }
    }
    Ok(rows)
}

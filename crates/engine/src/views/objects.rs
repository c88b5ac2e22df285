//! Objects of a database: sys.objects, tables, columns, indexes, constraints, schemas, partitions, allocation units.

use std::sync::Arc;

use pages::UnitId;
use types::{DataType, Len, SqlError, Value};

use super::{NVARCHAR60, SYSNAME, View, ViewColumn, Wanted, all, big, bit, modules, pick, text};
use crate::instance::OfInstance;
use catalog::Db;
use catalog::names::quote;
use catalog::security::Class;
use catalog::temporal::{Retention, Temporal};
use catalog::{Catalog, IndexDef, TableDef};
use exec::operators::context::ExecCtx;
use exec::operators::query::run_query;
use exec::state::SessionCore;
use plan::bind::env::{CompileEnv, NO_TEMPS, VarScope};
use plan::compile_query;

use DataType::{BigInt, Bit, Char, DateTime, Int, NVarChar, SmallInt, TinyInt};

macro_rules! object_columns {
    ($($more:expr),*) => {
        &[
            ("name", SYSNAME, false),
            ("object_id", Int, false),
            ("principal_id", Int, true),
            ("schema_id", Int, false),
            ("parent_object_id", Int, false),
            ("type", Char(2), true),
            ("type_desc", NVARCHAR60, true),
            ("create_date", DateTime, false),
            ("modify_date", DateTime, false),
            ("is_ms_shipped", Bit, false),
            ("is_published", Bit, false),
            ("is_schema_published", Bit, false),
            $($more),*
        ]
    };
}

pub(super) use object_columns;

const OBJECT_COLUMNS: &[ViewColumn] = object_columns!();

/// (type, type_desc).
pub(super) type Kind = (&'static str, &'static str);
const TABLE: Kind = ("U ", "USER_TABLE");
const PRIMARY: Kind = ("PK", "PRIMARY_KEY_CONSTRAINT");
const UNIQUE: Kind = ("UQ", "UNIQUE_CONSTRAINT");
const DEFAULT: Kind = ("D ", "DEFAULT_CONSTRAINT");
const VIEW: Kind = ("V ", "VIEW");
const FUNCTION: Kind = ("IF", "SQL_INLINE_TABLE_VALUED_FUNCTION");

pub(super) fn object(
    name: &str,
    id: i32,
    schema_id: i32,
    parent: i32,
    kind: Kind,
    created: &Value,
    system: bool,
) -> Vec<Value> {
    vec![
        text(name),
        Value::Int(id),
        Value::Null,
        Value::Int(schema_id),
        Value::Int(parent),
        text(kind.0),
        text(kind.1),
        created.clone(),
        created.clone(),
        bit(system),
        bit(false),
        bit(false),
    ]
}

/// A table and its constraints, as far as they have the wanted name and id.
fn table_objects(catalog: &Catalog, table: &TableDef, wanted: &Wanted<'_>, rows: &mut Vec<Vec<Value>>) {
    let (schema_id, only) = (catalog.schema_id(table), wanted.id(1));
    let mut add = |name: &str, id: i32, parent: i32, kind: Kind| {
        if only.is_none_or(|only| only == id) && wanted.may_be(0, name) {
            rows.push(object(name, id, schema_id, parent, kind, &table.create_date, false));
        }
    };
    let parent = table.object_id;
    add(&table.name, parent, 0, TABLE);
    for (index, id, kind) in keys(table) {
        add(&index.name, id, parent, kind);
    }
    for default in table.columns.iter().filter_map(|c| c.default.as_ref()) {
        add(&default.name, default.object_id, parent, DEFAULT);
    }
    for c in &table.checks {
        add(&c.name, c.object_id, parent, modules::CHECK);
    }
    for k in &table.foreign_keys {
        add(&k.name, k.object_id, parent, modules::FOREIGN_KEY);
    }
}

/// PRIMARY KEY and UNIQUE constraints: index, object_id, kind.
fn keys(table: &TableDef) -> impl Iterator<Item = (&Arc<IndexDef>, i32, Kind)> {
    table.all_indexes().filter_map(|index| match (index.primary_key, index.unique_constraint) {
        (Some(id), _) => Some((index, id, PRIMARY)),
        (_, Some(id)) => Some((index, id, UNIQUE)),
        _ => None,
    })
}

/// Positions of columns by which objects are sought: name, object_id, parent_object_id.
pub(super) const BY_OBJECT: &[usize] = &[0, 1, 4];

/// The objects of users, as far as they are wanted.
fn user_objects(catalog: &Catalog, wanted: &Wanted<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let id = wanted.id(1);
    let tables = match (id.and_then(|id| catalog.constraint(id)), wanted.id(4)) {
        (Some(constraint), _) => vec![&constraint.table],
        (None, Some(parent)) if parent != 0 => catalog.by_id.get(&parent).into_iter().collect(),
        // A name may be a constraint's: all tables are looked at.
        _ => pick::tables(catalog, wanted, 1, None),
    };
    for table in tables {
        table_objects(catalog, table, wanted, &mut rows);
    }
    modules::module_objects(catalog, wanted, &mut rows);
    super::others::other_objects(catalog, wanted, &mut rows);
    rows.retain(|row| {
        id.is_none_or(|id| row[1] == Value::Int(id))
            && row[0].as_str().is_none_or(|name| wanted.may_be(0, name))
    });
    rows
}

/// Puts the owners into rows of objects that have one of their own.
pub(super) fn note_owners(session: &SessionCore, db: &Arc<Db>, rows: &mut [Vec<Value>]) {
    let security = session.security(db);
    for row in rows {
        let id = row[1].as_i64().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
        if let Some(owner) = security.own_owner(Class::Object, id) {
            row[2] = Value::Int(owner);
        }
    }
}

fn parts(rows: Vec<Vec<Value>>, wanted: &Wanted<'_>) -> Vec<Vec<Value>> {
    rows.into_iter().map(|row| wanted.part(row)).collect()
}

/// The system's own objects: views and table functions.
fn system_objects(session: &SessionCore, wanted: &Wanted<'_>) -> Vec<Vec<Value>> {
    let started = session.instance().started();
    let asked = |view: &&'static dyn super::SystemView| {
        wanted.id(1).is_none_or(|id| id == view.object_id()) && wanted.may_be(0, view.name())
    };
    let row = |view: &'static dyn super::SystemView| {
        let schema_id = if view.schema() == "sys" { 4 } else { 3 };
        let kind = if view.arguments().is_some() { FUNCTION } else { VIEW };
        object(view.name(), view.object_id(), schema_id, 0, kind, started, true)
    };
    all().filter(asked).map(row).collect()
}

/// sys.objects.
pub static OBJECTS: View =
    View::seeking("objects", OBJECT_COLUMNS, BY_OBJECT, pick::some_per_table, |session, db, wanted| {
        let mut rows = user_objects(&db.catalog(), wanted);
        note_owners(session, db, &mut rows);
        Ok(parts(rows, wanted))
    });

/// sys.all_objects: also the system's own.
pub static ALL_OBJECTS: View =
    View::seeking("all_objects", OBJECT_COLUMNS, BY_OBJECT, pick::some_per_table, |session, db, wanted| {
        let mut rows = user_objects(&db.catalog(), wanted);
        note_owners(session, db, &mut rows);
        rows.extend(system_objects(session, wanted));
        Ok(parts(rows, wanted))
    });

/// sys.system_objects.
pub static SYSTEM_OBJECTS: View = View::seeking(
    "system_objects",
    OBJECT_COLUMNS,
    BY_OBJECT,
    |_| 200.0,
    |session, _, wanted| Ok(parts(system_objects(session, wanted), wanted)),
);

const TABLE_COLUMNS: &[ViewColumn] = object_columns!(
    ("lob_data_space_id", Int, false),
    ("filestream_data_space_id", Int, true),
    ("max_column_id_used", Int, false),
    ("lock_on_bulk_load", Bit, false),
    ("uses_ansi_nulls", Bit, true),
    ("is_replicated", Bit, true),
    ("has_replication_filter", Bit, true),
    ("is_merge_published", Bit, true),
    ("is_sync_tran_subscribed", Bit, true),
    ("has_unchecked_assembly_data", Bit, false),
    ("text_in_row_limit", Int, true),
    ("large_value_types_out_of_row", Bit, true),
    ("is_tracked_by_cdc", Bit, true),
    ("lock_escalation", TinyInt, true),
    ("lock_escalation_desc", NVARCHAR60, true),
    ("is_filetable", Bit, true),
    ("is_memory_optimized", Bit, true),
    ("durability", TinyInt, true),
    ("durability_desc", NVARCHAR60, true),
    ("temporal_type", TinyInt, true),
    ("temporal_type_desc", NVARCHAR60, true),
    ("history_table_id", Int, true),
    ("is_remote_data_archive_enabled", Bit, true),
    ("is_external", Bit, false),
    ("history_retention_period", Int, true),
    ("history_retention_period_unit", Int, true),
    ("history_retention_period_unit_desc", NVarChar(Len::N(10)), true),
    ("is_node", Bit, true),
    ("is_edge", Bit, true),
    ("data_retention_period", Int, true),
    ("data_retention_period_unit", Int, true),
    ("data_retention_period_unit_desc", NVarChar(Len::N(10)), true),
    ("ledger_type", TinyInt, true),
    ("ledger_type_desc", NVARCHAR60, true),
    ("ledger_view_id", Int, true),
    ("is_dropped_ledger_table", Bit, true)
);

/// How long the history of a versioned table is kept: number, unit, the unit's name.
fn retention(table: &TableDef) -> [Value; 3] {
    match table.temporal {
        Temporal::Current { retention: None, .. } => [Value::Int(-1), Value::Int(-1), text("INFINITE")],
        Temporal::Current { retention: Some(Retention { count, unit }), .. } => {
            [Value::Int(count), Value::Int(unit as i32), text(unit.word())]
        }
        Temporal::None | Temporal::History { .. } => [Value::Null, Value::Null, Value::Null],
    }
}

/// sys.periods.
pub static PERIODS: View = View::sys(
    "periods",
    &[
        ("name", SYSNAME, false),
        ("period_type", TinyInt, true),
        ("period_type_desc", NVARCHAR60, true),
        ("object_id", Int, false),
        ("start_column_id", Int, false),
        ("end_column_id", Int, false),
    ],
    |_, db, _| {
        let catalog = db.catalog();
        let row = |table: &Arc<TableDef>| {
            let (start, end) = table.period()?;
            let id = |at: usize| Value::Int(table.columns[at].column_id);
            let (kind, name) = (Value::TinyInt(1), text("SYSTEM_TIME_PERIOD"));
            Some(vec![text("SYSTEM_TIME"), kind, name, Value::Int(table.object_id), id(start), id(end)])
        };
        Ok(catalog.by_id.values().filter_map(row).collect())
    },
);

/// sys.tables.
pub static TABLES: View =
    View::seeking("tables", TABLE_COLUMNS, &[0, 1], pick::per_table, |_, db, wanted| {
        let catalog = db.catalog();
        let row = |table: &Arc<TableDef>| {
            let created = &table.create_date;
            let schema_id = catalog.schema_id(table);
            let mut row = object(&table.name, table.object_id, schema_id, 0, TABLE, created, false);
            let last = table.columns.iter().map(|c| c.column_id).max().unwrap_or(0);
            let [kept, unit, unit_name] = retention(table);
            row.extend([
                Value::Int(if table.lob.is_some() { table.storage.filegroup.into() } else { 0 }),
                Value::Null,
                Value::Int(last),
                bit(false),
                bit(true),
                bit(false),
                bit(false),
                bit(false),
                bit(false),
                bit(false),
                Value::Int(0),
                bit(false),
                bit(false),
                Value::TinyInt(table.lock_escalation as u8),
                text(table.lock_escalation.word()),
                bit(false),
                bit(false),
                Value::TinyInt(0),
                text("SCHEMA_AND_DATA"),
                Value::TinyInt(table.temporal.shown().0),
                text(table.temporal.shown().1),
                table.temporal.history().map_or(Value::Null, Value::Int),
                bit(false),
                bit(false),
                kept,
                unit,
                unit_name,
                bit(false),
                bit(false),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::TinyInt(0),
                text("NON_LEDGER_TABLE"),
                Value::Null,
                bit(false),
            ]);
            wanted.part(row)
        };
        Ok(pick::tables(&catalog, wanted, 1, Some(0)).into_iter().map(row).collect())
    });

const INDEX_COLUMNS_OF: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("name", SYSNAME, true),
    ("index_id", Int, false),
    ("type", TinyInt, false),
    ("type_desc", NVARCHAR60, true),
    ("is_unique", Bit, true),
    ("data_space_id", Int, true),
    ("ignore_dup_key", Bit, true),
    ("is_primary_key", Bit, true),
    ("is_unique_constraint", Bit, true),
    ("fill_factor", TinyInt, false),
    ("is_padded", Bit, true),
    ("is_disabled", Bit, true),
    ("is_hypothetical", Bit, true),
    ("is_ignored_in_optimization", Bit, true),
    ("allow_row_locks", Bit, true),
    ("allow_page_locks", Bit, true),
    ("has_filter", Bit, true),
    ("filter_definition", NVarChar(Len::Max), true),
    ("compression_delay", Int, true),
    ("suppress_dup_key_messages", Bit, true),
    ("auto_created", Bit, true),
    ("optimize_for_sequential_key", Bit, true),
];

const INDEX_KINDS: [&str; 3] = ["HEAP", "CLUSTERED", "NONCLUSTERED"];

/// sys.indexes.
pub static INDEXES: View =
    View::seeking("indexes", INDEX_COLUMNS_OF, &[0], pick::some_per_table, |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::indexed(&catalog, wanted, 0) {
            for index in table.all_indexes() {
                let kind = index.index_id.clamp(0, 2);
                let off = bit(false);
                rows.push(wanted.part(vec![
                    Value::Int(table.shown_id()),
                    if index.name.is_empty() { Value::Null } else { text(&index.name) },
                    Value::Int(index.index_id),
                    Value::TinyInt(kind as u8),
                    text(INDEX_KINDS[kind as usize]),
                    bit(index.unique),
                    Value::Int(index.filegroup.into()),
                    bit(index.options.ignore_dup_key),
                    bit(index.primary_key.is_some()),
                    bit(index.unique_constraint.is_some()),
                    Value::TinyInt(index.fill_factor),
                    bit(index.options.padded),
                    bit(index.options.disabled),
                    off.clone(),
                    off.clone(),
                    bit(!index.options.no_row_locks),
                    bit(!index.options.no_page_locks),
                    bit(index.filter.is_some()),
                    index.filter.as_ref().map_or(Value::Null, |filter| text(&filter.text)),
                    Value::Null,
                    off.clone(),
                    off,
                    bit(index.options.sequential_key),
                ]));
            }
        }
        Ok(rows)
    });

const INDEX_COLUMN_COLUMNS: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("index_id", Int, false),
    ("index_column_id", Int, false),
    ("column_id", Int, false),
    ("key_ordinal", TinyInt, false),
    ("partition_ordinal", TinyInt, false),
    ("is_descending_key", Bit, true),
    ("is_included_column", Bit, true),
    ("column_store_order_ordinal", TinyInt, false),
];

/// sys.index_columns.
pub static INDEX_COLUMNS: View =
    View::seeking("index_columns", INDEX_COLUMN_COLUMNS, &[0], pick::some_per_table, |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::indexed(&catalog, wanted, 0) {
            for index in table.all_indexes() {
                let keys = index
                    .key
                    .iter()
                    .enumerate()
                    .map(|(i, (at, descending))| (*at, i + 1, *descending, false));
                let included = index.included.iter().map(|at| (*at, 0, false, true));
                for (i, (at, ordinal, descending, included)) in keys.chain(included).enumerate() {
                    rows.push(wanted.part(vec![
                        Value::Int(table.shown_id()),
                        Value::Int(index.index_id),
                        Value::Int(i as i32 + 1),
                        Value::Int(table.columns[at].column_id),
                        Value::TinyInt(ordinal as u8),
                        Value::TinyInt(0),
                        bit(descending),
                        bit(included),
                        Value::TinyInt(0),
                    ]));
                }
            }
        }
        Ok(rows)
    });

const KEY_COLUMNS: &[ViewColumn] = object_columns!(
    ("unique_index_id", Int, true),
    ("is_system_named", Bit, false),
    ("is_enforced", Bit, true)
);

/// A name that this engine made up.
pub(super) fn is_made_up(name: &str, prefix: &str) -> bool {
    name.starts_with(prefix) && name.rsplit("__").next().is_some_and(|end| end.len() >= 8)
}

/// sys.key_constraints.
pub static KEY_CONSTRAINTS: View =
    View::seeking("key_constraints", KEY_COLUMNS, &[1, 4], pick::per_table, |_, db, wanted| {
        let catalog = db.catalog();
        let mut rows = Vec::new();
        for table in pick::parents(&catalog, wanted, 1, 4) {
            for (index, id, kind) in keys(table) {
                let schema_id = catalog.schema_id(table);
                let mut row =
                    object(&index.name, id, schema_id, table.object_id, kind, &table.create_date, false);
                let made_up = is_made_up(&index.name, "PK__") || is_made_up(&index.name, "UQ__");
                row.extend([Value::Int(index.index_id), bit(made_up), bit(true)]);
                rows.push(wanted.part(row));
            }
        }
        Ok(rows)
    });

const DEFAULT_COLUMNS: &[ViewColumn] = object_columns!(
    ("parent_column_id", Int, false),
    ("definition", NVarChar(Len::Max), true),
    ("is_system_named", Bit, false)
);

/// sys.default_constraints.
pub static DEFAULT_CONSTRAINTS: View =
    View::seeking("default_constraints", DEFAULT_COLUMNS, &[1, 4], pick::per_table, |_, db, wanted| {
        let catalog = db.catalog();
        let mut rows = Vec::new();
        for table in pick::parents(&catalog, wanted, 1, 4) {
            for column in &table.columns {
                let Some(d) = &column.default else { continue };
                let (schema_id, parent) = (catalog.schema_id(table), table.object_id);
                let mut row =
                    object(&d.name, d.object_id, schema_id, parent, DEFAULT, &table.create_date, false);
                let made_up = is_made_up(&d.name, "DF__");
                row.extend([Value::Int(column.column_id), text(&d.text), bit(made_up)]);
                rows.push(wanted.part(row));
            }
        }
        Ok(rows)
    });

const SCHEMA_COLUMNS: &[ViewColumn] =
    &[("name", SYSNAME, false), ("schema_id", Int, false), ("principal_id", Int, true)];

/// sys.schemas.
pub static SCHEMAS: View = View::sys("schemas", SCHEMA_COLUMNS, |session, db, _| {
    let catalog = db.catalog();
    let mut ids: Vec<_> = catalog.schema_names.iter().collect();
    ids.sort();
    let security = session.security(db);
    let row = |name: &str, id: i32, principal: i32| vec![text(name), Value::Int(id), Value::Int(principal)];
    let own = ids.into_iter().filter(|(id, _)| !matches!(**id, 3 | 4));
    let own = own.map(|(id, name)| row(name, *id, security.schema_owner(*id)));
    Ok(own.chain([row("INFORMATION_SCHEMA", 3, 3), row("sys", 4, 4)]).collect())
});

// ---- partitions: each heap and index is one ----

const PARTITION_COLUMNS: &[ViewColumn] = &[
    ("partition_id", BigInt, false),
    ("object_id", Int, false),
    ("index_id", Int, false),
    ("partition_number", Int, false),
    ("hobt_id", BigInt, false),
    ("rows", BigInt, true),
    ("filestream_filegroup_id", SmallInt, false),
    ("data_compression", TinyInt, false),
    ("data_compression_desc", NVARCHAR60, true),
];

/// A unit's number as allocation_unit_id.
pub(super) fn allocation_unit_id(unit: UnitId) -> Value {
    Value::BigInt(super::dblog::alloc_unit_id(unit))
}

/// A unit's number in the form in which SQL Server shows partition and container ids.
pub(super) fn partition_id(index: &IndexDef) -> Value {
    allocation_unit_id(index.unit)
}

/// sys.partitions.
pub static PARTITIONS: View =
    View::seeking("partitions", PARTITION_COLUMNS, &[1], pick::some_per_table, |session, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::indexed(&catalog, wanted, 1) {
            let count = table_rows(session, db, table)?;
            for index in table.stored_indexes() {
                rows.push(wanted.part(vec![
                    partition_id(index),
                    Value::Int(table.shown_id()),
                    Value::Int(index.index_id),
                    Value::Int(1),
                    partition_id(index),
                    Value::BigInt(count),
                    Value::SmallInt(0),
                    Value::TinyInt(index.options.compression() as u8),
                    text(index.options.compression().word()),
                ]));
            }
        }
        Ok(rows)
    });

const UNIT_COLUMNS: &[ViewColumn] = &[
    ("allocation_unit_id", BigInt, false),
    ("type", TinyInt, false),
    ("type_desc", NVARCHAR60, true),
    ("container_id", BigInt, false),
    ("data_space_id", Int, true),
    ("total_pages", BigInt, false),
    ("used_pages", BigInt, false),
    ("data_pages", BigInt, false),
];

/// sys.allocation_units.
pub static ALLOCATION_UNITS: View = View::sys("allocation_units", UNIT_COLUMNS, |_, db, _| {
    let mut rows = Vec::new();
    for table in db.catalog().stored() {
        let base = (table.storage.clone(), 2, "LOB_DATA");
        let units = table.stored_indexes().map(|i| (i.unit, i.first_iam, i.clone(), 1, "IN_ROW_DATA"));
        let lob = table.lob.map(|(unit, iam)| (unit, iam, base.0.clone(), base.1, base.2));
        for (unit, first_iam, index, kind, name) in units.chain(lob) {
            let (reserved, used) = super::files::unit_pages(db, first_iam)?;
            rows.push(vec![
                allocation_unit_id(unit),
                Value::TinyInt(kind),
                text(name),
                partition_id(&index),
                Value::Int(index.filegroup.into()),
                big(reserved),
                big(used),
                big(used.saturating_sub(1)),
            ]);
        }
    }
    Ok(rows)
});

const PARTITION_STATS_COLUMNS: &[ViewColumn] = &[
    ("partition_id", BigInt, true),
    ("object_id", Int, false),
    ("index_id", Int, false),
    ("partition_number", Int, false),
    ("in_row_data_page_count", BigInt, true),
    ("in_row_used_page_count", BigInt, true),
    ("in_row_reserved_page_count", BigInt, true),
    ("lob_used_page_count", BigInt, true),
    ("lob_reserved_page_count", BigInt, true),
    ("row_overflow_used_page_count", BigInt, true),
    ("row_overflow_reserved_page_count", BigInt, true),
    ("used_page_count", BigInt, true),
    ("reserved_page_count", BigInt, true),
    ("row_count", BigInt, true),
];

/// sys.dm_db_partition_stats.
pub static PARTITION_STATS: View = View::seeking(
    "dm_db_partition_stats",
    PARTITION_STATS_COLUMNS,
    &[1],
    pick::some_per_table,
    |session, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::indexed(&catalog, wanted, 1) {
            let count = table_rows(session, db, table)?;
            for index in table.stored_indexes() {
                let (reserved, used) = super::files::unit_pages(db, index.first_iam)?;
                // Large values are the base's.
                let lob = table.lob.filter(|_| index.index_id < 2);
                let (lob_reserved, lob_used) = match lob {
                    Some((_, first_iam)) => super::files::unit_pages(db, first_iam)?,
                    None => (0, 0),
                };
                rows.push(wanted.part(vec![
                    partition_id(index),
                    Value::Int(table.shown_id()),
                    Value::Int(index.index_id),
                    Value::Int(1),
                    big(used.saturating_sub(1)),
                    big(used),
                    big(reserved),
                    big(lob_used),
                    big(lob_reserved),
                    big(0),
                    big(0),
                    big(used + lob_used),
                    big(reserved + lob_reserved),
                    Value::BigInt(count),
                ]));
            }
        }
        Ok(rows)
    },
);

/// The number of a table's rows: kept up by DML, counted once after a start.
pub fn table_rows(session: &mut SessionCore, db: &Arc<Db>, table: &Arc<TableDef>) -> Result<i64, SqlError> {
    let known = table.state.rows();
    if known >= 0 {
        return Ok(known);
    }
    let name = format!("{}.{}.{}", quote(&db.name()), quote(&table.schema), quote(&table.name));
    let counted = count_rows(session, &name)?;
    // DML that ran while we counted has moved the number: then the next one counts again.
    table.state.counted(known, counted);
    Ok(counted)
}

fn count_rows(session: &mut SessionCore, name: &str) -> Result<i64, SqlError> {
    let stmts =
        syntax::parse(&format!("SELECT COUNT_BIG(*) FROM {name}")).map_err(catalog::errors::syntax_error)?;
    let Some(syntax::ast::StmtKind::Select(query)) = stmts.into_iter().next().map(|s| s.kind) else {
        return Err(SqlError::internal("a count is no query"));
    };
    let vars = VarScope::new();
    let shared = session.shared.clone();
    let (host, db, options) = (session.host().clone(), session.db().clone(), session.options.clone());
    let env = CompileEnv {
        predicate_of: None,
        chain: plan::rights::Chain::Trusted,
        names: &*host,
        db: &db,
        catalog: db.catalog(),
        vars: &vars,
        values: &[],
        options: &options,
        temps: &NO_TEMPS,
        changes: None,
        cancel: &shared.cancel,
        counters: host.optimizer(),
    };
    let plan = compile_query(&query, &env)?;
    let mut rows: Vec<Vec<Value>> = Vec::new();
    run_query(&plan, &mut ExecCtx { session, vars: &mut [] }, &mut rows)?;
    Ok(rows.first().and_then(|row| row.first()).and_then(Value::as_i64).unwrap_or(0))
}

//! Objects of a database, whatever they are: sys.objects, all_objects, system_objects; and the
//! schemas that they are in.

use std::sync::Arc;

use types::{DataType, Value};

use super::{
    SYSNAME, View, ViewColumn, WantedRows, all, bit, every, is_of_master, modules, pick,
    system_tables, text,
};
use catalog::security::Class;
use catalog::{Catalog, IndexDef, TableDef};
use catalog::{Db, MASTER};
use instance::OfInstance;
use session::state::SessionCore;

use DataType::Int;

macro_rules! object_columns {
    ($($more:expr),*) => {
        &[
            ("name", $crate::views::SYSNAME, false),
            ("object_id", ::types::DataType::Int, false),
            ("principal_id", ::types::DataType::Int, true),
            ("schema_id", ::types::DataType::Int, false),
            ("parent_object_id", ::types::DataType::Int, false),
            ("type", ::types::DataType::Char(2), true),
            ("type_desc", $crate::views::NVARCHAR60, true),
            ("create_date", ::types::DataType::DateTime, false),
            ("modify_date", ::types::DataType::DateTime, false),
            ("is_ms_shipped", ::types::DataType::Bit, false),
            ("is_published", ::types::DataType::Bit, false),
            ("is_schema_published", ::types::DataType::Bit, false),
            $($more),*
        ]
    };
}

pub(super) use object_columns;

const OBJECT_COLUMNS: &[ViewColumn] = object_columns!();

/// (type, type_desc).
pub(super) type Kind = (&'static str, &'static str);
pub(super) const TABLE: Kind = ("U ", "USER_TABLE");
const PRIMARY: Kind = ("PK", "PRIMARY_KEY_CONSTRAINT");
const UNIQUE: Kind = ("UQ", "UNIQUE_CONSTRAINT");
pub(super) const DEFAULT: Kind = ("D ", "DEFAULT_CONSTRAINT");
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
fn table_objects(
    catalog: &Catalog,
    table: &TableDef,
    wanted: &WantedRows<'_>,
    rows: &mut Vec<Vec<Value>>,
) {
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
pub(super) fn keys(table: &TableDef) -> impl Iterator<Item = (&Arc<IndexDef>, i32, Kind)> {
    table.all_indexes().filter_map(|index| match (index.primary_key, index.unique_constraint) {
        (Some(id), _) => Some((index, id, PRIMARY)),
        (_, Some(id)) => Some((index, id, UNIQUE)),
        _ => None,
    })
}

/// Positions of columns by which objects are sought: name, object_id, parent_object_id.
pub(super) const BY_OBJECT: &[usize] = &[0, 1, 4];

/// The objects of users, as far as they are wanted.
fn user_objects(catalog: &Catalog, wanted: &WantedRows<'_>) -> Vec<Vec<Value>> {
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
    super::sequences::other_objects(catalog, wanted, &mut rows);
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

fn parts(rows: Vec<Vec<Value>>, wanted: &WantedRows<'_>) -> Vec<Vec<Value>> {
    rows.into_iter().map(|row| wanted.part(row)).collect()
}

/// The system's own objects: views and table functions.
fn system_objects(session: &SessionCore, wanted: &WantedRows<'_>) -> Vec<Vec<Value>> {
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

/// The objects of users and those that every database has of itself.
fn own_objects(session: &SessionCore, db: &Arc<Db>, wanted: &WantedRows<'_>) -> Vec<Vec<Value>> {
    let mut rows = user_objects(&db.catalog(), wanted);
    note_owners(session, db, &mut rows);
    let started = session.instance().started();
    let asked = |table: &&system_tables::SystemTable| {
        wanted.id(1).is_none_or(|id| id == table.id)
            && wanted.id(4).is_none_or(|parent| parent == 0)
            && wanted.may_be(0, table.name)
    };
    let tables = system_tables::all().iter().filter(asked);
    rows.extend(tables.map(|t| object(t.name, t.id, t.schema_id(), 0, t.kind, started, true)));
    if db.id() == MASTER {
        let views = every().filter(|view| is_of_master(*view));
        rows.extend(views.map(|v| object(v.name(), v.object_id(), 1, 0, VIEW, started, true)));
    }
    rows
}

fn expected(db: &Db) -> f64 {
    pick::some_per_table(db) + system_tables::OBJECTS
}

/// sys.objects.
pub static OBJECTS: View =
    View::seeking("objects", OBJECT_COLUMNS, BY_OBJECT, expected, |session, db, wanted| {
        Ok(parts(own_objects(session, db, wanted), wanted))
    });

/// sys.all_objects: also the system's own.
pub(crate) static ALL_OBJECTS: View =
    View::seeking("all_objects", OBJECT_COLUMNS, BY_OBJECT, expected, |session, db, wanted| {
        let mut rows = own_objects(session, db, wanted);
        rows.extend(system_objects(session, wanted));
        Ok(parts(rows, wanted))
    });

/// sys.system_objects.
pub(crate) static SYSTEM_OBJECTS: View = View::seeking(
    "system_objects",
    OBJECT_COLUMNS,
    BY_OBJECT,
    |_| 200.0,
    |session, _, wanted| Ok(parts(system_objects(session, wanted), wanted)),
);

/// A name that this engine made up.
pub(super) fn is_made_up(name: &str, prefix: &str) -> bool {
    name.starts_with(prefix) && name.rsplit("__").next().is_some_and(|end| end.len() >= 8)
}

const SCHEMA_COLUMNS: &[ViewColumn] =
    &[("name", SYSNAME, false), ("schema_id", Int, false), ("principal_id", Int, true)];

/// sys.schemas.
pub static SCHEMAS: View = View::sys("schemas", SCHEMA_COLUMNS, |session, db, _| {
    let catalog = db.catalog();
    let mut ids: Vec<_> = catalog.schema_names.iter().collect();
    ids.sort();
    let security = session.security(db);
    let row = |name: &str, id: i32, principal: i32| {
        vec![text(name), Value::Int(id), Value::Int(principal)]
    };
    let own = ids.into_iter().filter(|(id, _)| !matches!(**id, 3 | 4));
    let own = own.map(|(id, name)| row(name, *id, security.schema_owner(*id)));
    Ok(own.chain([row("INFORMATION_SCHEMA", 3, 3), row("sys", 4, 4)]).collect())
});

//! Views of SQL Server 2000's names, which old scripts ask: sysobjects, sysdatabases. They are
//! found without a schema.

use types::{DataType, Len, Value};

use super::{SYSNAME, View, ViewColumn, system_tables, text};
use catalog::{Catalog, ModuleKind};
use instance::OfInstance;

use DataType::{Char, DateTime, Int, NVarChar, SmallInt, TinyInt, VarBinary};

/// Whether a name needs no schema: those of SQL Server 2000.
pub(super) fn is_old(name: &str) -> bool {
    let begins =
        |with: &str| name.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    let function = ["fn_listextendedproperty", "fn_helpcollations"];
    (begins("sys") && !begins("system_"))
        || function.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// fn_helpcollations(): the collations that there are.
pub(crate) static COLLATIONS: View = View::function(
    "fn_helpcollations",
    0,
    &[("name", SYSNAME, false), ("description", NVarChar(Len::N(1000)), true)],
    |_, _, _| {
        let mut all: Vec<_> =
            types::Collation::all().map(|c| (c.name(), c.description())).collect();
        all.sort_unstable();
        Ok(all.into_iter().map(|(name, words)| vec![text(name), text(words)]).collect())
    },
);

const OBJECT_COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("id", Int, false),
    ("xtype", Char(2), false),
    ("uid", SmallInt, true),
    ("info", SmallInt, true),
    ("status", Int, true),
    ("base_schema_ver", Int, true),
    ("replinfo", Int, true),
    ("parent_obj", Int, false),
    ("crdate", DateTime, false),
    ("ftcatid", SmallInt, true),
    ("schema_ver", Int, true),
    ("stats_schema_ver", Int, true),
    ("type", Char(2), true),
    ("userstat", SmallInt, true),
    ("sysstat", SmallInt, true),
    ("indexdel", SmallInt, true),
    ("refdate", DateTime, false),
    ("version", Int, true),
    ("deltrig", Int, true),
    ("instrig", Int, true),
    ("updtrig", Int, true),
    ("seltrig", Int, true),
    ("category", Int, true),
    ("cache", SmallInt, true),
];

/// The low bits of sysstat: what kind of object it is.
fn status_of(kind: &str) -> i16 {
    match kind.trim_end() {
        "S" => 1,
        "V" => 2,
        "U" => 3,
        "P" => 4,
        "D" => 6,
        "C" => 7,
        "TR" => 8,
        "F" => 11,
        _ => 0,
    }
}

fn object(
    name: &str,
    id: i32,
    kind: &str,
    schema_id: i32,
    parent: i32,
    created: &Value,
) -> Vec<Value> {
    let zero = Value::Int(0);
    vec![
        text(name),
        Value::Int(id),
        text(kind),
        Value::SmallInt(schema_id as i16),
        Value::SmallInt(0),
        zero.clone(),
        zero.clone(),
        zero.clone(),
        Value::Int(parent),
        created.clone(),
        Value::SmallInt(0),
        zero.clone(),
        zero.clone(),
        text(kind),
        Value::SmallInt(1),
        Value::SmallInt(status_of(kind)),
        Value::SmallInt(0),
        created.clone(),
        zero.clone(),
        zero.clone(),
        zero.clone(),
        zero.clone(),
        zero.clone(),
        zero,
        Value::SmallInt(0),
    ]
}

fn objects(catalog: &Catalog) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for t in catalog.sorted() {
        let (schema, parent, created) = (catalog.schema_id(t), t.object_id, &t.create_date);
        rows.push(object(&t.name, t.object_id, "U ", schema, 0, created));
        for index in t.all_indexes() {
            if let Some(id) = index.primary_key {
                rows.push(object(&index.name, id, "PK", schema, parent, created));
            } else if let Some(id) = index.unique_constraint {
                rows.push(object(&index.name, id, "UQ", schema, parent, created));
            }
        }
        let defaults = t.columns.iter().filter_map(|c| c.default.as_ref());
        rows.extend(defaults.map(|d| object(&d.name, d.object_id, "D ", schema, parent, created)));
        rows.extend(
            t.checks.iter().map(|c| object(&c.name, c.object_id, "C ", schema, parent, created)),
        );
        rows.extend(
            t.foreign_keys
                .iter()
                .map(|k| object(&k.name, k.object_id, "F ", schema, parent, created)),
        );
    }
    let mut modules: Vec<_> = catalog.modules.values().filter(|m| !m.is_ddl_trigger()).collect();
    modules.sort_by_key(|module| module.object_id);
    for m in modules {
        let schema = catalog.schemas.get(&catalog::fold_name(&m.schema)).copied().unwrap_or(1);
        debug_assert!(m.kind != ModuleKind::Trigger || m.parent != 0);
        rows.push(object(&m.name, m.object_id, m.kind.code(), schema, m.parent, &m.create_date));
    }
    let mut others: Vec<_> = catalog.others.values().collect();
    others.sort_by_key(|other| other.object_id());
    for o in others {
        let schema = catalog.schemas.get(&catalog::fold_name(o.schema())).copied().unwrap_or(1);
        rows.push(object(o.name(), o.object_id(), o.code(), schema, 0, o.create_date()));
    }
    rows
}

/// sysobjects.
pub static OBJECTS: View = View::sys("sysobjects", OBJECT_COLUMNS, |session, db, _| {
    let mut rows = objects(&db.catalog());
    let started = session.instance().started();
    let own = system_tables::all().iter();
    rows.extend(own.map(|t| object(t.name, t.id, t.code(), t.schema_id(), 0, started)));
    Ok(rows)
});

const DATABASE_COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, true),
    ("dbid", SmallInt, true),
    ("sid", VarBinary(Len::N(85)), true),
    ("mode", SmallInt, true),
    ("status", Int, true),
    ("status2", Int, true),
    ("crdate", DateTime, false),
    ("reserved", DateTime, true),
    ("category", Int, true),
    ("cmptlevel", TinyInt, false),
    ("filename", NVarChar(Len::N(260)), true),
    ("version", SmallInt, true),
];

/// sysdatabases.
pub static DATABASES: View = View::sys("sysdatabases", DATABASE_COLUMNS, |session, _, _| {
    let row = |db: std::sync::Arc<catalog::Db>| {
        let settings = db.settings();
        let entry = db.entry();
        vec![
            Value::Str(db.name()),
            Value::SmallInt(db.id() as i16),
            Value::bytes(vec![1]),
            Value::SmallInt(0),
            Value::Int(0),
            Value::Int(0),
            Value::DateTime { days: settings.create_date.0, ticks: settings.create_date.1 },
            Value::Null,
            Value::Int(0),
            Value::TinyInt(settings.compatibility_level),
            entry.files.first().map_or(Value::Null, |file| text(&file.shown)),
            Value::SmallInt(957),
        ]
    };
    Ok(session.host().databases().into_iter().map(row).collect())
});

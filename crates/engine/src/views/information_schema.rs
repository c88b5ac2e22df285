//! INFORMATION_SCHEMA: tables, columns, schemata, constraints.

use types::{DataType, Len, Value};

use super::{SYSNAME, View, ViewColumn, text};
use catalog::{IndexDef, ModuleKind, TableDef};

use DataType::{Int, NVarChar, SmallInt, TinyInt, VarChar};

const TABLE_COLUMNS: &[ViewColumn] = &[
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("TABLE_TYPE", VarChar(Len::N(10)), true),
];

/// INFORMATION_SCHEMA.TABLES.
pub static TABLES: View = View::information("TABLES", TABLE_COLUMNS, |_, db, _| {
    let row = |t: &std::sync::Arc<TableDef>| {
        vec![Value::Str(db.name()), text(&t.schema), text(&t.name), text("BASE TABLE")]
    };
    let catalog = db.catalog();
    let mut rows: Vec<_> = catalog.sorted().into_iter().map(row).collect();
    let mut views: Vec<_> = catalog.modules.values().filter(|m| m.kind == ModuleKind::View).collect();
    views.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    rows.extend(
        views.iter().map(|v| vec![Value::Str(db.name()), text(&v.schema), text(&v.name), text("VIEW")]),
    );
    Ok(rows)
});

const COLUMN_COLUMNS: &[ViewColumn] = &[
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("COLUMN_NAME", SYSNAME, true),
    ("ORDINAL_POSITION", Int, true),
    ("COLUMN_DEFAULT", NVarChar(Len::N(4000)), true),
    ("IS_NULLABLE", VarChar(Len::N(3)), true),
    ("DATA_TYPE", SYSNAME, true),
    ("CHARACTER_MAXIMUM_LENGTH", Int, true),
    ("CHARACTER_OCTET_LENGTH", Int, true),
    ("NUMERIC_PRECISION", TinyInt, true),
    ("NUMERIC_PRECISION_RADIX", SmallInt, true),
    ("NUMERIC_SCALE", Int, true),
    ("DATETIME_PRECISION", SmallInt, true),
    ("CHARACTER_SET_CATALOG", SYSNAME, true),
    ("CHARACTER_SET_SCHEMA", SYSNAME, true),
    ("CHARACTER_SET_NAME", SYSNAME, true),
    ("COLLATION_CATALOG", SYSNAME, true),
    ("COLLATION_SCHEMA", SYSNAME, true),
    ("COLLATION_NAME", SYSNAME, true),
    ("DOMAIN_CATALOG", SYSNAME, true),
    ("DOMAIN_SCHEMA", SYSNAME, true),
    ("DOMAIN_NAME", SYSNAME, true),
];

/// INFORMATION_SCHEMA.COLUMNS.
pub static COLUMNS: View = View::information("COLUMNS", COLUMN_COLUMNS, |_, db, _| {
    let mut rows = Vec::new();
    for table in db.catalog().sorted() {
        for (i, c) in table.columns.iter().enumerate() {
            let ty = c.ty;
            let sized = ty.is_string() || ty.is_binary();
            let length = |bytes: bool| match ty.length() {
                _ if !sized => Value::Null,
                None => Value::Int(-1),
                Some(n) => Value::Int(n as i32 * if bytes && ty.is_unicode() { 2 } else { 1 }),
            };
            let exact = ty.as_decimal().is_some() && ty != DataType::Bit;
            let approximate = matches!(ty, DataType::Float | DataType::Real);
            let mut row = vec![
                Value::Str(db.name()),
                text(&table.schema),
                text(&table.name),
                text(&c.name),
                Value::Int(i as i32 + 1),
                c.default.as_ref().map_or(Value::Null, |d| text(&d.text)),
                text(if c.nullable { "YES" } else { "NO" }),
                text(ty.base_name()),
                length(false),
                length(true),
                if exact || approximate { Value::TinyInt(ty.precision()) } else { Value::Null },
                match (exact, approximate) {
                    (true, _) => Value::SmallInt(10),
                    (_, true) => Value::SmallInt(2),
                    _ => Value::Null,
                },
                if exact { Value::Int(ty.scale().into()) } else { Value::Null },
                if ty.is_temporal() { Value::SmallInt(ty.scale().into()) } else { Value::Null },
            ];
            row.resize(16, Value::Null);
            let set = if ty.is_unicode() { "UNICODE" } else { "iso_1" };
            row.push(if ty.is_string() { text(set) } else { Value::Null });
            row.resize(19, Value::Null);
            row.push(if ty.is_string() { text(c.collation.name()) } else { Value::Null });
            row.resize(COLUMN_COLUMNS.len(), Value::Null);
            rows.push(row);
        }
    }
    Ok(rows)
});

const SCHEMA_COLUMNS: &[ViewColumn] = &[
    ("CATALOG_NAME", SYSNAME, true),
    ("SCHEMA_NAME", SYSNAME, false),
    ("SCHEMA_OWNER", SYSNAME, true),
    ("DEFAULT_CHARACTER_SET_NAME", SYSNAME, true),
];

/// INFORMATION_SCHEMA.SCHEMATA.
pub static SCHEMATA: View = View::information("SCHEMATA", SCHEMA_COLUMNS, |_, db, _| {
    let catalog = db.catalog();
    let mut schemas: Vec<_> = catalog.schema_names.iter().collect();
    schemas.sort();
    let row = |(_, name): (&i32, &compact_str::CompactString)| {
        vec![Value::Str(db.name()), text(name), text("dbo"), text("iso_1")]
    };
    Ok(schemas.into_iter().map(row).collect())
});

const CONSTRAINT_COLUMNS: &[ViewColumn] = &[
    ("CONSTRAINT_CATALOG", SYSNAME, true),
    ("CONSTRAINT_SCHEMA", SYSNAME, true),
    ("CONSTRAINT_NAME", SYSNAME, false),
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, true),
    ("CONSTRAINT_TYPE", VarChar(Len::N(11)), true),
    ("IS_DEFERRABLE", VarChar(Len::N(2)), false),
    ("INITIALLY_DEFERRED", VarChar(Len::N(2)), false),
];

/// PRIMARY KEY and UNIQUE constraints of a table.
fn keys(table: &TableDef) -> impl Iterator<Item = (&IndexDef, &'static str)> {
    table.all_indexes().filter_map(|i| match (i.primary_key, i.unique_constraint) {
        (Some(_), _) => Some((&**i, "PRIMARY KEY")),
        (_, Some(_)) => Some((&**i, "UNIQUE")),
        _ => None,
    })
}

/// INFORMATION_SCHEMA.TABLE_CONSTRAINTS.
pub static TABLE_CONSTRAINTS: View =
    View::information("TABLE_CONSTRAINTS", CONSTRAINT_COLUMNS, |_, db, _| {
        let mut rows = Vec::new();
        for table in db.catalog().sorted() {
            for (index, kind) in keys(table) {
                rows.push(vec![
                    Value::Str(db.name()),
                    text(&table.schema),
                    text(&index.name),
                    Value::Str(db.name()),
                    text(&table.schema),
                    text(&table.name),
                    text(kind),
                    text("NO"),
                    text("NO"),
                ]);
            }
        }
        Ok(rows)
    });

const USAGE_COLUMNS: &[ViewColumn] = &[
    ("CONSTRAINT_CATALOG", SYSNAME, true),
    ("CONSTRAINT_SCHEMA", SYSNAME, true),
    ("CONSTRAINT_NAME", SYSNAME, false),
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("COLUMN_NAME", SYSNAME, true),
    ("ORDINAL_POSITION", Int, false),
];

/// INFORMATION_SCHEMA.KEY_COLUMN_USAGE.
pub static KEY_COLUMN_USAGE: View = View::information("KEY_COLUMN_USAGE", USAGE_COLUMNS, |_, db, _| {
    let mut rows = Vec::new();
    for table in db.catalog().sorted() {
        for (index, _) in keys(table) {
            for (i, (at, _)) in index.key.iter().enumerate() {
                rows.push(vec![
                    Value::Str(db.name()),
                    text(&table.schema),
                    text(&index.name),
                    Value::Str(db.name()),
                    text(&table.schema),
                    text(&table.name),
                    text(&table.columns[*at].name),
                    Value::Int(i as i32 + 1),
                ]);
            }
        }
    }
    Ok(rows)
});

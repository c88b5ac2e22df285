//! What names what: sys.sql_expression_dependencies, sql_dependencies, dm_sql_referenced_entities,
//! dm_sql_referencing_entities, and the views that are queries over them.

use std::sync::Arc;

use types::{DataType, Value};

use super::dependencies::{self, Reference, Referrer, Uses};
use super::{NVARCHAR60, Rows, SYSNAME, SystemView, View, ViewColumn, bit, text};
use crate::names::name_parts;
use catalog::{Db, fold_name};
use session::state::SessionCore;

use DataType::{Bit, Int, SmallInt, TinyInt};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[
    &EXPRESSION_DEPENDENCIES,
    &DEPENDENCIES,
    &REFERENCED,
    &REFERENCING,
    &OLD_DEPENDENCIES,
    &VIEW_TABLE_USAGE,
    &VIEW_COLUMN_USAGE,
];

fn name_or_null(name: &Option<compact_str::CompactString>) -> Value {
    name.as_ref().map_or(Value::Null, text)
}

/// Number and name of a referrer's class.
fn class_of(referrer: &Referrer) -> (u8, &'static str) {
    if referrer.is_ddl_trigger { (12, "DATABASE_DDL_TRIGGER") } else { (1, "OBJECT_OR_COLUMN") }
}

fn referenced_class(reference: &Reference) -> (u8, &'static str) {
    if reference.is_type { (6, "TYPE") } else { (1, "OBJECT_OR_COLUMN") }
}

/// The columns that are told of a reference, 0 for the object itself.
fn minors(referrer: &Referrer, reference: &Reference) -> Vec<i32> {
    let own = !referrer.is_expression || reference.columns.is_empty();
    let columns = reference.columns.keys().copied().filter(|_| referrer.bound);
    own.then_some(0).into_iter().chain(columns).collect()
}

const EXPRESSION_COLUMNS: &[ViewColumn] = &[
    ("referencing_id", Int, false),
    ("referencing_minor_id", Int, false),
    ("referencing_class", TinyInt, true),
    ("referencing_class_desc", NVARCHAR60, true),
    ("is_schema_bound_reference", Bit, false),
    ("referenced_class", TinyInt, true),
    ("referenced_class_desc", NVARCHAR60, true),
    ("referenced_server_name", SYSNAME, true),
    ("referenced_database_name", SYSNAME, true),
    ("referenced_schema_name", SYSNAME, true),
    ("referenced_entity_name", SYSNAME, true),
    ("referenced_id", Int, true),
    ("referenced_minor_id", Int, false),
    ("is_caller_dependent", Bit, false),
    ("is_ambiguous", Bit, false),
];

/// sys.sql_expression_dependencies.
static EXPRESSION_DEPENDENCIES: View =
    View::sys("sql_expression_dependencies", EXPRESSION_COLUMNS, |session, db, _| {
        let mut rows = Vec::new();
        for referrer in dependencies::all(session, db, None) {
            for reference in &referrer.references {
                for minor in minors(&referrer, reference) {
                    rows.push(expression_row(&referrer, reference, minor));
                }
            }
        }
        Ok(rows)
    });

fn expression_row(referrer: &Referrer, reference: &Reference, minor: i32) -> Vec<Value> {
    let (class, class_name) = class_of(referrer);
    let (of, of_name) = referenced_class(reference);
    vec![
        Value::Int(referrer.id),
        Value::Int(referrer.column),
        Value::TinyInt(class),
        text(class_name),
        bit(referrer.bound),
        Value::TinyInt(of),
        text(of_name),
        name_or_null(&reference.server),
        name_or_null(&reference.database),
        name_or_null(&reference.schema),
        text(&reference.name),
        reference.id.map_or(Value::Null, Value::Int),
        Value::Int(minor),
        bit(reference.by_caller),
        bit(reference.ambiguous),
    ]
}

const DEPENDENCY_COLUMNS: &[ViewColumn] = &[
    ("class", TinyInt, false),
    ("class_desc", NVARCHAR60, true),
    ("object_id", Int, false),
    ("column_id", Int, false),
    ("referenced_major_id", Int, false),
    ("referenced_minor_id", Int, false),
    ("is_selected", Bit, false),
    ("is_updated", Bit, false),
    ("is_select_all", Bit, false),
];

/// sys.sql_dependencies: of what is there.
static DEPENDENCIES: View = View::sys("sql_dependencies", DEPENDENCY_COLUMNS, |session, db, _| {
    let mut rows = Vec::new();
    for referrer in dependencies::all(session, db, None) {
        for reference in &referrer.references {
            let Some(id) = reference.id else { continue };
            let (class, name) = match (reference.is_type, referrer.bound) {
                (true, _) => (2, "TYPE_REFERENCE"),
                (false, false) => (0, "OBJECT_OR_COLUMN_REFERENCE_NON_SCHEMA_BOUND"),
                (false, true) => (1, "OBJECT_OR_COLUMN_REFERENCE_SCHEMA_BOUND"),
            };
            let mut add = |minor: i32, uses: &Uses| {
                rows.push(vec![
                    Value::TinyInt(class),
                    text(name),
                    Value::Int(referrer.id),
                    Value::Int(referrer.column),
                    Value::Int(id),
                    Value::Int(minor),
                    bit(uses.selected),
                    bit(uses.updated),
                    bit(uses.select_all),
                ]);
            };
            if reference.columns.is_empty() {
                add(0, &reference.uses);
            }
            reference.columns.iter().for_each(|(column, uses)| add(*column, uses));
        }
    }
    Ok(rows)
});

const REFERENCED_COLUMNS: &[ViewColumn] = &[
    ("referencing_minor_id", Int, true),
    ("referenced_server_name", SYSNAME, true),
    ("referenced_database_name", SYSNAME, true),
    ("referenced_schema_name", SYSNAME, true),
    ("referenced_entity_name", SYSNAME, true),
    ("referenced_minor_name", SYSNAME, true),
    ("referenced_id", Int, true),
    ("referenced_minor_id", Int, true),
    ("referenced_class", TinyInt, true),
    ("referenced_class_desc", NVARCHAR60, true),
    ("is_caller_dependent", Bit, false),
    ("is_ambiguous", Bit, false),
    ("is_selected", Bit, true),
    ("is_updated", Bit, true),
    ("is_select_all", Bit, true),
    ("is_all_columns_found", Bit, true),
    ("is_insert_all", Bit, true),
    ("is_incomplete", Bit, true),
];

/// sys.dm_sql_referenced_entities(name, class): what an object or a trigger of the database names,
/// with its columns.
static REFERENCED: View =
    View::function("dm_sql_referenced_entities", 2, REFERENCED_COLUMNS, referenced);

fn referenced(session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> Rows {
    let wanted = args.first().and_then(Value::as_str).unwrap_or_default();
    let class = args.get(1).and_then(Value::as_str).unwrap_or_default().to_ascii_uppercase();
    let catalog = db.catalog();
    let Some(parts) = name_parts(wanted) else { return Ok(Vec::new()) };
    let (name, schema) = (parts[0].as_str(), parts.get(1).map_or("", String::as_str));
    let id = match class.as_str() {
        "OBJECT" => object_id(db, schema, name),
        "DATABASE_DDL_TRIGGER" => catalog
            .ddl_triggers()
            .find(|t| fold_name(&t.name) == fold_name(name))
            .map(|t| t.object_id),
        _ => None,
    };
    let Some(id) = id else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for referrer in dependencies::all(session, db, Some(id)) {
        for reference in &referrer.references {
            if !referrer.is_expression || reference.columns.is_empty() {
                rows.push(referenced_row(&referrer, reference, None));
            }
            for (column, uses) in &reference.columns {
                let name = reference.id.and_then(|id| column_name(session, db, id, *column));
                rows.push(referenced_row(&referrer, reference, Some((*column, name, *uses))));
            }
        }
    }
    Ok(rows)
}

type NamedColumn = (i32, Option<compact_str::CompactString>, Uses);

fn referenced_row(
    referrer: &Referrer,
    reference: &Reference,
    column: Option<NamedColumn>,
) -> Vec<Value> {
    let (class, class_name) = referenced_class(reference);
    let uses = column.as_ref().map_or(reference.uses, |(_, _, uses)| *uses);
    vec![
        Value::Int(referrer.column),
        name_or_null(&reference.server),
        name_or_null(&reference.database),
        name_or_null(&reference.schema),
        text(&reference.name),
        column.as_ref().and_then(|(_, name, _)| name.as_ref()).map_or(Value::Null, text),
        reference.id.map_or(Value::Null, Value::Int),
        Value::Int(column.as_ref().map_or(0, |(id, _, _)| *id)),
        Value::TinyInt(class),
        text(class_name),
        bit(reference.by_caller),
        bit(reference.ambiguous),
        bit(uses.selected),
        bit(uses.updated),
        bit(uses.select_all),
        bit(reference.all_columns_found),
        bit(false),
        bit(false),
    ]
}

/// A table, view, procedure, function, trigger, constraint or synonym.
fn object_id(db: &Arc<Db>, schema: &str, name: &str) -> Option<i32> {
    let catalog = db.catalog();
    let table = catalog.find(schema, name).map(|table| table.object_id);
    let module = || catalog.find_module(schema, name).map(|module| module.object_id);
    let other = || catalog.find_other(schema, name).map(|other| other.object_id());
    let constraint = || catalog.constraint_id(schema, name);
    table.or_else(module).or_else(other).or_else(constraint)
}

fn column_name(
    session: &SessionCore,
    db: &Arc<Db>,
    object: i32,
    column: i32,
) -> Option<compact_str::CompactString> {
    let catalog = db.catalog();
    if let Some(table) = catalog.by_id.get(&object) {
        return table.columns.iter().find(|c| c.column_id == column).map(|c| c.name.clone());
    }
    let columns = super::columns_of_view(session, db, catalog.modules.get(&object)?)?;
    columns.get(usize::try_from(column - 1).ok()?).map(|c| c.name.clone())
}

const REFERENCING_COLUMNS: &[ViewColumn] = &[
    ("referencing_schema_name", SYSNAME, true),
    ("referencing_entity_name", SYSNAME, true),
    ("referencing_id", Int, true),
    ("referencing_class", TinyInt, true),
    ("referencing_class_desc", NVARCHAR60, true),
    ("is_caller_dependent", Bit, false),
];

/// sys.dm_sql_referencing_entities(name, class): who names an object or a type.
static REFERENCING: View =
    View::function("dm_sql_referencing_entities", 2, REFERENCING_COLUMNS, referencing);

fn referencing(session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> Rows {
    let wanted = args.first().and_then(Value::as_str).unwrap_or_default();
    let class = args.get(1).and_then(Value::as_str).unwrap_or_default().to_ascii_uppercase();
    let catalog = db.catalog();
    let Some(parts) = name_parts(wanted) else { return Ok(Vec::new()) };
    let (name, schema) = (parts[0].as_str(), parts.get(1).map_or("", String::as_str));
    let is_type = class == "TYPE";
    let id = match class.as_str() {
        "OBJECT" => object_id(db, schema, name),
        "TYPE" => {
            let alias = catalog.find_type(schema, name).map(|alias| alias.type_id);
            alias.or_else(|| catalog.find_table_type(schema, name).map(|def| def.type_id))
        }
        _ => None,
    };
    let Some(id) = id else { return Ok(Vec::new()) };
    let names = |reference: &&Reference| {
        let called = reference.by_caller && fold_name(&reference.name) == fold_name(name);
        reference.is_type == is_type && (reference.id == Some(id) || called)
    };
    let mut rows = Vec::new();
    for referrer in dependencies::all(session, db, None).iter().filter(|referrer| referrer.id != id)
    {
        let Some(reference) = referrer.references.iter().find(names) else { continue };
        let (schema, name) = name_of(db, referrer);
        let (class, class_name) = class_of(referrer);
        rows.push(vec![
            schema,
            name,
            Value::Int(referrer.id),
            Value::TinyInt(class),
            text(class_name),
            bit(reference.by_caller),
        ]);
    }
    Ok(rows)
}

/// Schema and name of who names.
fn name_of(db: &Arc<Db>, referrer: &Referrer) -> (Value, Value) {
    let catalog = db.catalog();
    if let Some(module) = catalog.modules.get(&referrer.id) {
        let schema = if referrer.is_ddl_trigger { Value::Null } else { text(&module.schema) };
        return (schema, text(&module.name));
    }
    if let Some(table) = catalog.by_id.get(&referrer.id) {
        return (text(&table.schema), text(&table.name));
    }
    match catalog.constraint(referrer.id) {
        Some(constraint) => (text(&constraint.table.schema), Value::Str(constraint.name().clone())),
        None => (Value::Null, Value::Null),
    }
}

/// sys.sysdepends.
static OLD_DEPENDENCIES: View = View::defined(
    "sysdepends",
    &[
        ("id", Int, false),
        ("depid", Int, false),
        ("number", SmallInt, true),
        ("depnumber", SmallInt, true),
        ("status", SmallInt, true),
        ("deptype", TinyInt, false),
        ("depdbid", SmallInt, true),
        ("depsiteid", SmallInt, true),
        ("selall", Bit, false),
        ("resultobj", Bit, false),
        ("readobj", Bit, false),
    ],
    "SELECT object_id, referenced_major_id, column_id, referenced_minor_id,
       is_select_all * 2 + is_updated * 4 + is_selected * 8, class, 0, 0, is_select_all, is_updated, is_selected
     FROM sys.sql_dependencies WHERE class < 2",
);

const USAGE_COLUMNS: &[ViewColumn] = &[
    ("VIEW_CATALOG", SYSNAME, true),
    ("VIEW_SCHEMA", SYSNAME, true),
    ("VIEW_NAME", SYSNAME, false),
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("COLUMN_NAME", SYSNAME, true),
];

/// INFORMATION_SCHEMA.VIEW_TABLE_USAGE: the tables of views.
static VIEW_TABLE_USAGE: View = View::information_defined(
    "VIEW_TABLE_USAGE",
    USAGE_COLUMNS.split_at(6).0,
    "SELECT DISTINCT DB_NAME(), SCHEMA_NAME(v.schema_id), v.name, DB_NAME(), SCHEMA_NAME(t.schema_id), t.name
     FROM sys.views AS v JOIN sys.sql_dependencies AS d ON d.object_id = v.object_id
     JOIN sys.objects AS t ON t.object_id = d.referenced_major_id
     WHERE d.class < 2 AND t.type IN ('U', 'V')",
);

/// INFORMATION_SCHEMA.VIEW_COLUMN_USAGE: the columns that views use.
static VIEW_COLUMN_USAGE: View = View::information_defined(
    "VIEW_COLUMN_USAGE",
    USAGE_COLUMNS,
    "SELECT DISTINCT DB_NAME(), SCHEMA_NAME(v.schema_id), v.name, DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, c.name
     FROM sys.views AS v JOIN sys.sql_dependencies AS d ON d.object_id = v.object_id
     JOIN sys.objects AS t ON t.object_id = d.referenced_major_id
     JOIN sys.columns AS c ON c.object_id = d.referenced_major_id AND c.column_id = d.referenced_minor_id
     WHERE d.class < 2 AND t.type IN ('U', 'V')",
);

//! sp_stored_procedures, sp_sproc_columns, sp_sproc_columns_100.

use std::sync::Arc;

use ::types::{DataType, Len, SqlError, Value};

use super::super::Call;
use super::super::params::{NAME, PATTERN, Param};
use super::{Level, Names, REMARKS, check_qualifier, odbc_type, small, text};
use catalog::{Catalog, ModuleDef, ModuleKind, TableTypeDef};
use metadata::results::column;
use programs::module::{params_of, result_of};

use DataType::{Bit, Int, NVarChar, SmallInt, TinyInt, VarChar};

/// What a function gives back that gives a table, and its COLUMN_TYPE.
const TABLE_RESULT: &str = "@TABLE_RETURN_VALUE";
const RESULT_COLUMNS: i16 = 3;
const PROCEDURE: DataType = NVarChar(Len::N(134));

/// The procedures and functions of these names, in order of schema and name.
fn find(
    catalog: &Catalog,
    owner: Option<&str>,
    name: Option<&str>,
    pattern: bool,
) -> Result<Vec<Arc<ModuleDef>>, SqlError> {
    // A name may have the number of a group.
    let name = name.map(|name| name.rsplit_once(';').map_or(name, |(name, _)| name));
    let (owners, names) = (Names::new(owner, pattern)?, Names::new(name, pattern)?);
    let is_called = |m: &&Arc<ModuleDef>| !matches!(m.kind, ModuleKind::View | ModuleKind::Trigger);
    let procedures = catalog.modules.values().filter(is_called);
    let mut found: Vec<_> =
        procedures.filter(|m| names.has(&m.name) && owners.has(&m.schema)).cloned().collect();
    found.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    Ok(found)
}

/// The name with its number in a group: functions have none.
fn numbered(module: &ModuleDef) -> Value {
    text(format!("{};{}", module.name, i32::from(module.kind == ModuleKind::Procedure)))
}

/// EXEC sp_stored_procedures [name, owner, qualifier, pattern].
pub fn procedures(call: &mut Call<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[
        ("@sp_name", NVarChar(Len::N(390))),
        ("@sp_owner", PATTERN),
        ("@sp_qualifier", NAME),
        ("@fUsePattern", Bit),
    ];
    let given = call.given("sp_stored_procedures", 0, PARAMS)?;
    check_qualifier(call.core, given.text(2).filter(|q| *q != "%"))?;
    let db = call.core.db().clone();
    let found = find(&db.catalog(), given.name(1), given.name(0), given.number(3, 1) != 0)?;
    let unknown = Value::Int(-1);
    let row = |m: &Arc<ModuleDef>| {
        vec![
            Value::Str(db.name()),
            text(&m.schema),
            numbered(m),
            unknown.clone(),
            unknown.clone(),
            unknown.clone(),
            Value::Null,
            Value::SmallInt(2),
        ]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    let columns = [
        column("PROCEDURE_QUALIFIER", NAME, true),
        column("PROCEDURE_OWNER", NAME, true),
        column("PROCEDURE_NAME", PROCEDURE, false),
        column("NUM_INPUT_PARAMS", Int, true),
        column("NUM_OUTPUT_PARAMS", Int, true),
        column("NUM_RESULT_SETS", Int, true),
        column("REMARKS", REMARKS, true),
        column("PROCEDURE_TYPE", SmallInt, true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}

/// EXEC sp_sproc_columns.
pub fn columns(call: &mut Call<'_>) -> Result<i32, SqlError> {
    list(call, "sp_sproc_columns", Level::Old)
}

/// EXEC sp_sproc_columns_100.
pub(crate) fn columns_100(call: &mut Call<'_>) -> Result<i32, SqlError> {
    list(call, "sp_sproc_columns_100", Level::Since2008)
}

/// One parameter as a row begins: name, kind, type, nullable, position.
struct Parameter {
    name: Value,
    kind: i16,
    ty: DataType,
    nullable: bool,
    position: i32,
    table: Option<Arc<TableTypeDef>>,
}

/// What a procedure or a function gives back by itself.
fn result_of_module(module: &ModuleDef, catalog: &Catalog) -> Result<Parameter, SqlError> {
    let (name, kind) = match module.kind {
        ModuleKind::InlineFunction | ModuleKind::TableFunction => (TABLE_RESULT, RESULT_COLUMNS),
        _ => ("@RETURN_VALUE", 5),
    };
    let ty = result_of(module, catalog)?;
    let (nullable, ty) = (ty.is_some(), ty.unwrap_or(Int));
    Ok(Parameter { name: text(name), kind, ty, nullable, position: 0, table: None })
}

/// What is told of the rows that a function gives back.
fn describe_rows(row: &mut [Value]) {
    (row[5], row[6]) = (Value::SmallInt(0), text("table"));
    (row[7], row[8], row[9], row[10]) =
        (Value::Int(0), Value::Int(0), Value::SmallInt(0), Value::SmallInt(0));
    row[12] = text("Result table returned by table valued function");
    (row[14], row[15]) = (Value::SmallInt(0), Value::Null);
    if let Some(last) = row.last_mut() {
        *last = Value::TinyInt(0);
    }
}

fn list(call: &mut Call<'_>, procedure: &str, level: Level) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[
        ("@procedure_name", NVarChar(Len::N(390))),
        ("@procedure_owner", PATTERN),
        ("@procedure_qualifier", NAME),
        ("@column_name", PATTERN),
        ("@ODBCVer", Int),
        ("@fUsePattern", Bit),
    ];
    let given = call.given(procedure, 0, PARAMS)?;
    check_qualifier(call.core, given.text(2).filter(|q| *q != "%"))?;
    let (version, pattern) = (given.number(4, 2), given.number(5, 1) != 0);
    let wanted = Names::new(given.name(3), pattern)?;
    let db = call.core.db().clone();
    let catalog = db.catalog();
    let mut rows = Vec::new();
    for module in find(&catalog, given.name(1), given.name(0), pattern)? {
        let mut all = vec![result_of_module(&module, &catalog)?];
        for (i, param) in params_of(&module, &catalog)?.into_iter().enumerate() {
            let kind = if param.output { 2 } else { 1 };
            let name = Value::Str(param.name);
            let (ty, position) = (param.ty, i as i32 + 1);
            all.push(Parameter { name, kind, ty, nullable: true, position, table: param.table });
        }
        for p in all.into_iter().filter(|p| wanted.has(p.name.as_str().unwrap_or_default())) {
            let ty = odbc_type(p.ty, p.nullable, version, level);
            let mut row = vec![
                Value::Str(db.name()),
                text(&module.schema),
                numbered(&module),
                p.name,
                Value::SmallInt(p.kind),
                Value::SmallInt(ty.data_type),
                text(p.ty.base_name()),
                Value::Int(ty.precision),
                Value::Int(ty.length),
                small(ty.scale),
                small(ty.radix),
                Value::SmallInt(p.nullable.into()),
                Value::Null,
                Value::Null,
                Value::SmallInt(ty.sql_data_type),
                small(ty.datetime_sub),
                ty.octets.map_or(Value::Null, Value::Int),
                Value::Int(p.position),
                text(if p.nullable { "YES" } else { "NO" }),
            ];
            if level == Level::Since2008 {
                row.resize(row.len() + 8, Value::Null);
            }
            row.push(Value::TinyInt(ty.ss_data_type));
            if p.kind == RESULT_COLUMNS {
                describe_rows(&mut row);
            }
            if let Some(def) = &p.table {
                // SQL_SS_TABLE.
                (row[5], row[14]) = (Value::SmallInt(-153), Value::SmallInt(-153));
                row[6] = text(&def.name);
                (row[7], row[8]) = (Value::Int(0), Value::Int(i32::MAX));
                (row[9], row[10], row[16]) = (Value::Null, Value::Null, Value::Int(i32::MAX));
                if level == Level::Since2008 {
                    (row[19], row[20]) = (Value::Str(db.name()), text(&def.schema));
                }
                if let Some(last) = row.last_mut() {
                    *last = Value::TinyInt(0);
                }
            }
            rows.push(row);
        }
    }
    call.result(&header(level), &rows)?;
    Ok(0)
}

fn header(level: Level) -> Vec<session::output::ColumnInfo> {
    let mut columns = vec![
        column("PROCEDURE_QUALIFIER", NAME, true),
        column("PROCEDURE_OWNER", NAME, true),
        column("PROCEDURE_NAME", PROCEDURE, false),
        column("COLUMN_NAME", NAME, true),
        column("COLUMN_TYPE", SmallInt, false),
        column("DATA_TYPE", SmallInt, false),
        column("TYPE_NAME", NAME, true),
        column("PRECISION", Int, true),
        column("LENGTH", Int, true),
        column("SCALE", SmallInt, true),
        column("RADIX", SmallInt, true),
        column("NULLABLE", SmallInt, false),
        column("REMARKS", REMARKS, true),
        column("COLUMN_DEF", NVarChar(Len::N(4000)), true),
        column("SQL_DATA_TYPE", SmallInt, false),
        column("SQL_DATETIME_SUB", SmallInt, true),
        column("CHAR_OCTET_LENGTH", Int, true),
        column("ORDINAL_POSITION", Int, false),
        column("IS_NULLABLE", VarChar(Len::N(254)), true),
    ];
    if level == Level::Since2008 {
        columns.extend([
            column("SS_TYPE_CATALOG_NAME", NAME, true),
            column("SS_TYPE_SCHEMA_NAME", NAME, true),
            column("SS_UDT_CATALOG_NAME", NAME, true),
            column("SS_UDT_SCHEMA_NAME", NAME, true),
            column("SS_UDT_ASSEMBLY_TYPE_NAME", NVarChar(Len::N(4000)), true),
            column("SS_XML_SCHEMACOLLECTION_CATALOG_NAME", NAME, true),
            column("SS_XML_SCHEMACOLLECTION_SCHEMA_NAME", NAME, true),
            column("SS_XML_SCHEMACOLLECTION_NAME", NAME, true),
        ]);
    }
    columns.push(column("SS_DATA_TYPE", TinyInt, false));
    columns
}

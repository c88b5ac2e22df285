//! sp_columns, sp_columns_90, sp_columns_100.

use ::types::{DataType, Len, SqlError, Value};

use super::super::Call;
use super::super::params::{Given, NAME, PATTERN, Param};
use super::{Level, Names, REMARKS, check_qualifier, odbc_type, relations, small, text, type_name};
use metadata::results::column;
use session::output::ColumnInfo;

use DataType::{Int, NVarChar, SmallInt, TinyInt, VarChar};

const PARAMS: &[Param] = &[
    ("@table_name", PATTERN),
    ("@table_owner", PATTERN),
    ("@table_qualifier", NAME),
    ("@column_name", PATTERN),
    ("@ODBCVer", Int),
];

const PARAMS_100: &[Param] = &[
    ("@table_name", PATTERN),
    ("@table_owner", PATTERN),
    ("@table_qualifier", NAME),
    ("@column_name", PATTERN),
    ("@NameScope", Int),
    ("@ODBCVer", Int),
    ("@fUsePattern", DataType::Bit),
];

/// EXEC sp_columns: for clients that do not know the types of SQL Server 2008.
pub fn columns(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_columns", 1, PARAMS)?;
    list(call, &given, (4, true), Level::Old)
}

/// EXEC sp_columns_100.
pub(crate) fn columns_100(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_columns_100", 1, PARAMS_100)?;
    // 0 asks for tables and views, 1 for table types, of which there are none, 2 (as JDBC sends it)
    // for all.
    if given.number(4, 0) == 1 {
        call.result(&header(Level::Since2008), &[])?;
        return Ok(0);
    }
    let pattern = given.number(6, 1) != 0;
    list(call, &given, (5, pattern), Level::Since2008)
}

/// The columns that both have, up to IS_NULLABLE.
fn common() -> Vec<ColumnInfo> {
    vec![
        column("TABLE_QUALIFIER", NAME, true),
        column("TABLE_OWNER", NAME, true),
        column("TABLE_NAME", NAME, true),
        column("COLUMN_NAME", NAME, true),
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
    ]
}

fn header(level: Level) -> Vec<ColumnInfo> {
    let mut columns = common();
    if level == Level::Since2008 {
        columns.extend([
            column("SS_IS_SPARSE", SmallInt, true),
            column("SS_IS_COLUMN_SET", SmallInt, true),
            column("SS_IS_COMPUTED", SmallInt, true),
            column("SS_IS_IDENTITY", SmallInt, true),
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

fn list(
    call: &mut Call<'_>,
    given: &Given,
    (version, pattern): (usize, bool),
    level: Level,
) -> Result<i32, SqlError> {
    check_qualifier(call.core, given.text(2).filter(|q| *q != "%"))?;
    let version = given.number(version, 2);
    let names = Names::new(given.name(0), pattern)?;
    let owners = Names::new(given.name(1), pattern)?;
    let wanted = Names::new(given.name(3), pattern)?;
    let db = call.core.db().clone();
    let mut rows = Vec::new();
    for relation in relations::find(&db.catalog(), &owners, &names) {
        for (i, c) in relation.columns(call.core, &db).into_iter().enumerate() {
            if !wanted.has(&c.name) {
                continue;
            }
            let ty = odbc_type(c.ty, c.nullable, version, level);
            let mut row = vec![
                Value::Str(db.name()),
                text(relation.schema()),
                text(relation.name()),
                Value::Str(c.name),
                Value::SmallInt(ty.data_type),
                text(type_name(c.ty, c.identity, c.alias.as_deref())),
                Value::Int(ty.precision),
                Value::Int(ty.length),
                small(ty.scale),
                small(ty.radix),
                Value::SmallInt(c.nullable.into()),
                Value::Null,
                c.default.map_or(Value::Null, Value::Str),
                Value::SmallInt(ty.sql_data_type),
                small(ty.datetime_sub),
                ty.octets.map_or(Value::Null, Value::Int),
                Value::Int(i as i32 + 1),
                text(if c.nullable { "YES" } else { "NO" }),
            ];
            if level == Level::Since2008 {
                let flags = [false, false, false, c.identity];
                row.extend(flags.map(|set| Value::SmallInt(set.into())));
                row.resize(row.len() + 6, Value::Null);
            }
            row.push(Value::TinyInt(ty.ss_data_type));
            rows.push(row);
        }
    }
    call.result(&header(level), &rows)?;
    Ok(0)
}

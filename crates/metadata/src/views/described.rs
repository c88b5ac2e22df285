//! Result sets that are described and not run: sys.dm_exec_describe_first_result_set,
//! dm_exec_describe_first_result_set_for_object. Guarantee: a text that cannot be compiled is told
//! as a row with its error, as SQL Server does.

use std::sync::Arc;

use types::{DataType, Len, SqlError, Value};

use super::{NVARCHAR60, Rows, SYSNAME, SystemView, View, ViewColumn, text};
use catalog::names::quote;
use catalog::{Db, ModuleKind};
use programs::module::params_of;
use session::output::ColumnInfo;
use session::state::SessionCore;

use DataType::{Bit, Int, NVarChar, SmallInt, TinyInt};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[&FIRST, &FIRST_OF_OBJECT];

const COLUMNS: &[ViewColumn] = &[
    ("is_hidden", Bit, true),
    ("column_ordinal", Int, true),
    ("name", SYSNAME, true),
    ("is_nullable", Bit, true),
    ("system_type_id", Int, true),
    ("system_type_name", NVarChar(Len::N(256)), true),
    ("max_length", SmallInt, true),
    ("precision", TinyInt, true),
    ("scale", TinyInt, true),
    ("collation_name", SYSNAME, true),
    ("user_type_id", Int, true),
    ("user_type_database", SYSNAME, true),
    ("user_type_schema", SYSNAME, true),
    ("user_type_name", SYSNAME, true),
    ("assembly_qualified_type_name", NVarChar(Len::N(4000)), true),
    ("xml_collection_id", Int, true),
    ("xml_collection_database", SYSNAME, true),
    ("xml_collection_schema", SYSNAME, true),
    ("xml_collection_name", SYSNAME, true),
    ("is_xml_document", Bit, true),
    ("is_case_sensitive", Bit, true),
    ("is_fixed_length_clr_type", Bit, true),
    ("source_server", SYSNAME, true),
    ("source_database", SYSNAME, true),
    ("source_schema", SYSNAME, true),
    ("source_table", SYSNAME, true),
    ("source_column", SYSNAME, true),
    ("is_identity_column", Bit, true),
    ("is_part_of_unique_key", Bit, true),
    ("is_updateable", Bit, true),
    ("is_computed_column", Bit, true),
    ("is_sparse_column_set", Bit, true),
    ("ordinal_in_order_by_list", SmallInt, true),
    ("order_by_list_length", SmallInt, true),
    ("order_by_is_descending", SmallInt, true),
    ("error_number", Int, true),
    ("error_severity", Int, true),
    ("error_state", Int, true),
    ("error_message", NVarChar(Len::N(4000)), true),
    ("error_type", Int, true),
    ("error_type_desc", NVARCHAR60, true),
];

/// Where the columns of an error begin.
const ERROR: usize = super::position(COLUMNS, "error_number");

/// sys.dm_exec_describe_first_result_set(text, parameters, browse information).
static FIRST: View =
    View::function("dm_exec_describe_first_result_set", 3, COLUMNS, |session, _, args| {
        let given = |at: usize| args.get(at).and_then(Value::as_str).unwrap_or_default();
        let above = session.host().above();
        Ok(rows(above.first_columns(session, given(0), given(1))))
    });

/// sys.dm_exec_describe_first_result_set_for_object(object_id, browse information): of procedures
/// and triggers.
static FIRST_OF_OBJECT: View =
    View::function("dm_exec_describe_first_result_set_for_object", 2, COLUMNS, of_object);

fn rows(columns: Result<Vec<ColumnInfo>, SqlError>) -> Vec<Vec<Value>> {
    match columns {
        Ok(columns) => {
            let row = |described: (usize, &ColumnInfo)| {
                let mut row = row(described);
                row.truncate(ERROR);
                row.resize(COLUMNS.len(), Value::Null);
                row
            };
            columns.iter().enumerate().map(row).collect()
        }
        Err(error) => {
            let mut row = vec![Value::Null; COLUMNS.len()];
            let (kind, name) = match error.severity {
                15 => (2, "SYNTAX"),
                _ => (1, "MISC"),
            };
            row[ERROR] = Value::Int(error.number);
            row[ERROR + 1] = Value::Int(error.severity.into());
            row[ERROR + 2] = Value::Int(error.state.into());
            row[ERROR + 3] = text(&*error.message);
            row[ERROR + 4] = Value::Int(kind);
            row[ERROR + 5] = text(name);
            vec![row]
        }
    }
}

/// The type in TDS: number, length. -1 tells a (max) type, as 65,535.
pub fn wire(ty: DataType) -> (i32, i32) {
    let bytes = i32::from(ty.max_length());
    let length = if bytes < 0 { 65_535 } else { bytes };
    let number = match ty {
        DataType::Bit => 104,
        DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt => 38,
        DataType::Decimal { .. } => return (i32::from(ty.system_type_id()), 17),
        DataType::Float | DataType::Real => 109,
        DataType::Money | DataType::SmallMoney => 110,
        DataType::DateTime | DataType::SmallDateTime => 111,
        // Every other type has its own number there as here.
        _ => i32::from(ty.system_type_id()),
    };
    (number, length)
}

/// A described column as a row of sp_describe_first_result_set.
pub fn row((i, c): (usize, &ColumnInfo)) -> Vec<Value> {
    let ty = c.ty;
    let (number, length) = wire(ty);
    let [a, b, d, e, sort] = c.collation.wire_bytes();
    let text = ty.is_string();
    let mut row = vec![
        Value::Bit(false),
        Value::Int(i as i32 + 1),
        if c.name.is_empty() { Value::Null } else { Value::str(&c.name) },
        Value::Bit(c.nullable),
        Value::Int(ty.system_type_id().into()),
        Value::str(ty.to_string()),
        Value::SmallInt(ty.max_length()),
        Value::TinyInt(ty.precision()),
        Value::TinyInt(ty.scale()),
        if text { Value::str(c.collation.name()) } else { Value::Null },
    ];
    // Types of users, assemblies and collections.
    row.resize(19, Value::Null);
    row.extend([Value::Bit(false), Value::Bit(false), Value::Bit(false)]);
    // The source, the order: not told.
    row.resize(35, Value::Null);
    row.extend([
        Value::Int(number),
        Value::Int(length),
        if text { Value::Int(i32::from_le_bytes([a, b, d, e])) } else { Value::Null },
        if text { Value::TinyInt(sort) } else { Value::Null },
    ]);
    row
}

fn of_object(session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> Rows {
    let id = args.first().and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok());
    let catalog = db.catalog();
    let module = id
        .and_then(|id| catalog.modules.get(&id))
        .filter(|module| module.kind == ModuleKind::Procedure);
    let Some(module) = module else { return Ok(Vec::new()) };
    // What it is called with changes no column.
    let params = params_of(module, &catalog)?;
    let args: Vec<String> = params
        .iter()
        .map(|param| {
            let value =
                if param.table.is_some() || param.has_default() { "DEFAULT" } else { "NULL" };
            format!("{} = {value}", param.name)
        })
        .collect();
    let name = format!("{}.{}.{}", quote(&db.name()), quote(&module.schema), quote(&module.name));
    let above = session.host().above();
    Ok(rows(above.first_columns(session, &format!("EXEC {name} {}", args.join(", ")), "")))
}

//! sp_describe_first_result_set: the columns of the first result set of a batch, without running it.

use ::types::{DataType, Len, SqlError, Value};

use super::params::{NAME, Param};
use super::{Call, column};
use crate::batch::dynamic::declared_parameters;
use crate::batch::{cache::BatchCache, run::run_batch};
use crate::instance::OfInstance;
use exec::output::{ColumnInfo, Sink};
use exec::state::SessionCore;

use DataType::{Bit, Int, NVarChar, SmallInt, TinyInt};

/// Takes the first columns and the first error.
#[derive(Default)]
struct First {
    columns: Option<Vec<ColumnInfo>>,
    error: Option<SqlError>,
}

impl Sink for First {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.columns.get_or_insert_with(|| columns.to_vec());
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert_with(|| error.clone());
        Ok(())
    }
}

/// The columns of the first result set of a text with declared parameters; none when it has no result set.
///
/// # Errors
/// Those of compiling the text.
pub fn first_columns(
    core: &mut SessionCore,
    text: &str,
    declarations: &str,
) -> Result<Vec<ColumnInfo>, SqlError> {
    let params = declared_parameters(declarations, &core.db().catalog())?;
    let mut vars = vec![Value::Null; params.len()];
    let before = core.options.clone();
    core.options.fmtonly = true;
    let mut first = First::default();
    let cache = core.instance().clone();
    let compiled = BatchCache::of(&cache).and_then(|c| c.get(core, text, &params));
    let ran = compiled.and_then(|batch| run_batch(core, &mut first, &batch, &mut vars, false));
    *core.options = before;
    match (first.columns, first.error) {
        (Some(columns), _) => ran.map(|_| columns),
        (None, Some(error)) => Err(error),
        (None, None) => ran.map(|_| Vec::new()),
    }
}

/// EXEC sp_describe_first_result_set text [, parameters [, mode]]. What comes from which table is not told.
pub fn first_result_set(call: &mut Call<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[
        ("@tsql", NVarChar(Len::Max)),
        ("@params", NVarChar(Len::Max)),
        ("@browse_information_mode", TinyInt),
    ];
    let given = call.given("sp_describe_first_result_set", 1, PARAMS)?;
    let text = given.text(0).unwrap_or_default().to_owned();
    let columns = first_columns(call.core, &text, given.text(1).unwrap_or_default())?;
    let rows: Vec<_> = columns.iter().enumerate().map(row).collect();
    call.result(&header(), &rows)?;
    Ok(0)
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

fn header() -> Vec<ColumnInfo> {
    vec![
        column("is_hidden", Bit, false),
        column("column_ordinal", Int, false),
        column("name", NAME, true),
        column("is_nullable", Bit, false),
        column("system_type_id", Int, false),
        column("system_type_name", NVarChar(Len::N(256)), true),
        column("max_length", SmallInt, false),
        column("precision", TinyInt, false),
        column("scale", TinyInt, false),
        column("collation_name", NAME, true),
        column("user_type_id", Int, true),
        column("user_type_database", NAME, true),
        column("user_type_schema", NAME, true),
        column("user_type_name", NAME, true),
        column("assembly_qualified_type_name", NVarChar(Len::N(4000)), true),
        column("xml_collection_id", Int, true),
        column("xml_collection_database", NAME, true),
        column("xml_collection_schema", NAME, true),
        column("xml_collection_name", NAME, true),
        column("is_xml_document", Bit, false),
        column("is_case_sensitive", Bit, false),
        column("is_fixed_length_clr_type", Bit, false),
        column("source_server", NAME, true),
        column("source_database", NAME, true),
        column("source_schema", NAME, true),
        column("source_table", NAME, true),
        column("source_column", NAME, true),
        column("is_identity_column", Bit, true),
        column("is_part_of_unique_key", Bit, true),
        column("is_updateable", Bit, true),
        column("is_computed_column", Bit, true),
        column("is_sparse_column_set", Bit, true),
        column("ordinal_in_order_by_list", SmallInt, true),
        column("order_by_list_length", SmallInt, true),
        column("order_by_is_descending", SmallInt, true),
        column("tds_type_id", Int, false),
        column("tds_length", Int, false),
        column("tds_collation_id", Int, true),
        column("tds_collation_sort_id", TinyInt, true),
    ]
}

//! sp_describe_undeclared_parameters: types for the parameters of a batch that nobody has declared,
//! without running it.

use ::types::{DataType, Len, SqlError, Value, msg};

use compact_str::CompactString;

use super::ProcedureCall;
use super::params::{NAME, Param};
use bind::undeclared::DeducedParameter;
use metadata::results::column;
use metadata::views::described::wire;
use session::output::ColumnInfo;

use DataType::{Bit, Int, NVarChar, SmallInt, TinyInt};

/// EXEC sp_describe_undeclared_parameters text [, parameters].
pub fn parameters(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@tsql", NVarChar(Len::Max)), ("@params", NVarChar(Len::Max))];
    let given = call.given("sp_describe_undeclared_parameters", 1, PARAMS)?;
    let text = given.text(0).unwrap_or_default().to_owned();
    let above = call.core.host().above();
    let found =
        match above.undeclared_parameters(call.core, &text, given.text(1).unwrap_or_default()) {
            Ok(found) => found,
            Err(error) if (11_502..=11_526).contains(&error.number) => return Err(error),
            // What is wrong with the text, and that this is why.
            Err(error) => {
                call.sink.error(&error)?;
                return Err(SqlError::of(msg::BATCH_NOT_ANALYZED, []));
            }
        };
    let database = Value::Str(call.core.db().name());
    let rows: Vec<_> = found.iter().enumerate().map(|found| row(found, &database)).collect();
    call.result(&header(), &rows)?;
    Ok(0)
}

/// The number of tables among the types, and that of their type in TDS.
const TABLE: i32 = 243;

fn row(
    (i, (name, found)): (usize, &(CompactString, DeducedParameter)),
    database: &Value,
) -> Vec<Value> {
    let ty = found.ty;
    let mut row = vec![Value::Int(i as i32 + 1), Value::str(name)];
    let (number, length) = if let Some(table) = &found.table {
        row.extend([
            Value::Int(TABLE),
            Value::Null,
            Value::SmallInt(-1),
            Value::TinyInt(0),
            Value::TinyInt(0),
            Value::Int(table.type_id),
            database.clone(),
            Value::str(&table.schema),
            Value::str(&table.name),
        ]);
        (TABLE, 65_535)
    } else {
        row.extend([
            Value::Int(ty.system_type_id().into()),
            Value::str(ty.to_string()),
            Value::SmallInt(ty.max_length()),
            Value::TinyInt(ty.precision()),
            Value::TinyInt(ty.scale()),
        ]);
        wire(ty)
    };
    // Types of users, assemblies and collections.
    row.resize(16, Value::Null);
    row.extend([
        Value::Bit(false),
        Value::Bit(false),
        Value::Bit(false),
        Value::Bit(found.input),
        Value::Bit(found.output),
        found.formal.as_ref().map_or(Value::Null, Value::str),
        Value::Int(number),
        Value::Int(length),
    ]);
    row
}

fn header() -> Vec<ColumnInfo> {
    vec![
        column("parameter_ordinal", Int, false),
        column("name", NAME, false),
        column("suggested_system_type_id", Int, false),
        column("suggested_system_type_name", NVarChar(Len::N(256)), true),
        column("suggested_max_length", SmallInt, false),
        column("suggested_precision", TinyInt, false),
        column("suggested_scale", TinyInt, false),
        column("suggested_user_type_id", Int, true),
        column("suggested_user_type_database", NAME, true),
        column("suggested_user_type_schema", NAME, true),
        column("suggested_user_type_name", NAME, true),
        column("suggested_assembly_qualified_type_name", NVarChar(Len::N(4000)), true),
        column("suggested_xml_collection_id", Int, true),
        column("suggested_xml_collection_database", NAME, true),
        column("suggested_xml_collection_schema", NAME, true),
        column("suggested_xml_collection_name", NAME, true),
        column("suggested_is_xml_document", Bit, false),
        column("suggested_is_case_sensitive", Bit, false),
        column("suggested_is_fixed_length_clr_type", Bit, false),
        column("suggested_is_input", Bit, false),
        column("suggested_is_output", Bit, false),
        column("formal_parameter_name", NAME, true),
        column("suggested_tds_type_id", Int, false),
        column("suggested_tds_length", Int, false),
    ]
}

//! sp_describe_first_result_set: the columns of the first result set of a batch, without running
//! it.

use ::types::{DataType, Len, SqlError};

use super::Call;
use super::params::{NAME, Param};
use metadata::results::column;
use metadata::views::described::row;
use session::output::ColumnInfo;

use DataType::{Bit, Int, NVarChar, SmallInt, TinyInt};

/// EXEC sp_describe_first_result_set text [, parameters [, mode]]. What comes from which table is
/// not told.
pub(crate) fn first_result_set(call: &mut Call<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[
        ("@tsql", NVarChar(Len::Max)),
        ("@params", NVarChar(Len::Max)),
        ("@browse_information_mode", TinyInt),
    ];
    let given = call.given("sp_describe_first_result_set", 1, PARAMS)?;
    let text = given.text(0).unwrap_or_default().to_owned();
    let above = call.core.host().above();
    let columns = above.first_columns(call.core, &text, given.text(1).unwrap_or_default())?;
    let rows: Vec<_> = columns.iter().enumerate().map(row).collect();
    call.result(&header(), &rows)?;
    Ok(0)
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

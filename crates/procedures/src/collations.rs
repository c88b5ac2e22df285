//! sp_tablecollations and similar procedures: the collations of a table's columns, for bulk copy.

use ::types::{DataType, Len, SqlError, Value};

use super::ProcedureCall;
use super::params::{NAME, Param};
use metadata::names::name_parts;
use metadata::results::column;

/// EXEC sp_tablecollations_100 'schema.table'. A table that is not there has no columns. Temporary
/// tables have theirs in tempdb.
pub(crate) fn table_collations(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@object", DataType::NVarChar(Len::N(4000)))];
    let given = call.given("sp_tablecollations_100", 1, PARAMS)?;
    let db = call.core.db().clone();
    let parts = name_parts(given.text(0).unwrap_or_default()).unwrap_or_default();
    let table = parts.first().and_then(|name| {
        if name.starts_with('#') {
            return call.core.objects.temps.find(name, &db);
        }
        db.catalog().find(parts.get(1).map_or("", String::as_str), name).cloned()
    });
    let mut rows = Vec::new();
    for (i, c) in table.iter().flat_map(|table| table.columns.iter().enumerate()) {
        let text = c.ty.is_string();
        rows.push(vec![
            Value::Int(i as i32 + 1),
            Value::str(&c.name),
            if text { Value::bytes(c.collation.wire_bytes().as_slice()) } else { Value::Null },
            if text { Value::str(c.collation.name()) } else { Value::Null },
        ]);
    }
    let columns = [
        column("colid", DataType::Int, false),
        column("name", NAME, true),
        column("tds_collation", DataType::Binary(5), true),
        column("collation", NAME, true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}

//! sp_cleanup_temporal_history: what is older than HISTORY_RETENTION_PERIOD goes from the history
//! of a table now.

use ::types::{DataType, SqlError, Value, msg};

use super::Call;
use super::params::Param;
use catalog::{errors, fold_name};
use ddl::{retention, versioned};

const SYSNAME: DataType = DataType::NVarChar(::types::Len::N(128));
const PARAMS: &[Param] =
    &[("@schema_name", SYSNAME), ("@table_name", SYSNAME), ("@rowcount", DataType::Int)];

/// EXEC sp_cleanup_temporal_history: one transaction.
pub fn clean(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_cleanup_temporal_history", 2, PARAMS)?;
    let (schema, name) = (given.text(0).unwrap_or_default(), given.text(1).unwrap_or_default());
    let db = call.core.db().clone();
    let table = db.catalog().find(schema, name).cloned();
    let table = table.ok_or_else(|| errors::invalid_object(&format!("{schema}.{name}")))?;
    if !table.temporal.is_versioned() {
        let name = versioned::full_name(&db, &table);
        return Err(SqlError::of(msg::VERSIONING_NOT_ON, [&name]));
    }
    let rows = retention::delete(call.core, &db, &table, None)?;
    for (at, arg) in call.args.iter().enumerate() {
        let is = arg.name.as_deref().map_or(at == 2, |name| fold_name(name) == "@rowcount");
        if let Some(slot) = arg.output.filter(|_| is) {
            call.outputs.push((slot, Value::Int(i32::try_from(rows).unwrap_or(i32::MAX))));
        }
    }
    Ok(0)
}

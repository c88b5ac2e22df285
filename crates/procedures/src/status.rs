//! sys.sp_ringwood_status: the picture of the instance that `ringwood top` shows, as JSON in one
//! row.

use types::{DataType, Len, SqlError, Value};

use super::ProcedureCall;
use instance::OfInstance;
use metadata::results::column;
use metadata::status::of;

/// EXEC sp_ringwood_status.
pub fn status(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let status = of(call.core.instance());
    let text = serde_json::to_string(&status).map_err(|e| SqlError::internal(e.to_string()))?;
    call.result(
        &[column("status", DataType::NVarChar(Len::Max), false)],
        &[vec![Value::str(text)]],
    )?;
    Ok(0)
}

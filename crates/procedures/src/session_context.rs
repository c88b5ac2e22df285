//! sp_set_session_context: values by name that live as long as the session, for SESSION_CONTEXT.

use ::types::{DataType, Len, SqlError, Value, msg};
use catalog::fold_name;
use session::state::holdings::HoldingKind;

use super::ProcedureCall;
use super::params::Param;

const PARAMS: &[Param] = &[
    ("@key", DataType::NVarChar(Len::N(128))),
    ("@value", DataType::SqlVariant),
    ("@read_only", DataType::Bit),
];

/// Bytes that a session may keep.
const MOST_BYTES: usize = 1 << 20;

/// EXEC sp_set_session_context @key, @value [, @read_only]. NULL takes the key away. Errors: 15664
/// a key that was set as read only, 15665 too much in all.
pub fn set(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_set_session_context", 2, PARAMS)?;
    let Some(key) = given.text(0) else {
        return Err(SqlError::of(msg::SESSION_CONTEXT_NULL, [&"@key"]));
    };
    let folded = fold_name(key);
    let context = &mut call.core.objects.session_context;
    if context.get(&folded).is_some_and(|(_, read_only)| *read_only) {
        return Err(SqlError::of(msg::SESSION_CONTEXT_READ_ONLY, [&key]));
    }
    let value = given.value(1);
    let read_only = given.number(2, 0) != 0;
    if value.is_null() && !read_only {
        context.remove(&folded);
        return Ok(0);
    }
    let bytes = |key: &str, value: &Value| key.len() * 2 + value.heap_bytes() + 16;
    let others: usize = context
        .iter()
        .filter(|(known, _)| **known != folded)
        .map(|(known, (v, _))| bytes(known, v))
        .sum();
    if others + bytes(&folded, &value) > MOST_BYTES {
        return Err(SqlError::of(msg::SESSION_CONTEXT_FULL, [&key]));
    }
    // What the map takes beside keys and values.
    let entries = context.len() + 1;
    call.core
        .memory
        .holdings
        .set(HoldingKind::Context, others + bytes(&folded, &value) + 128 * entries)?;
    context.insert(folded, (value, read_only));
    Ok(0)
}

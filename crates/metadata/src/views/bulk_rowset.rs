//! The files of OPENROWSET(BULK ..., SINGLE_CLOB | SINGLE_NCLOB | SINGLE_BLOB): one row, one
//! column.

use std::io::Read;

use types::{DataType, Len, SqlError, Value, codepage, msg, units};

use super::View;
use instance::bulk_file::{open, read_failed};
use session::state::SessionCore;

/// Largest file.
const MAX_BYTES: u64 = i32::MAX as u64;

const UTF8: &[u8] = &[0xEF, 0xBB, 0xBF];
const LITTLE: &[u8] = &[0xFF, 0xFE];
const BIG: &[u8] = &[0xFE, 0xFF];

/// As varchar(max): UTF-8, or code page 1252 where it is none.
pub static CLOB: View = View::function(
    "openrowset clob()",
    1,
    &[("BulkColumn", DataType::VarChar(Len::Max), true)],
    |session, _, args| {
        let bytes = contents(session, args)?;
        if bytes.starts_with(LITTLE) || bytes.starts_with(BIG) {
            return Err(SqlError::of(msg::SINGLE_CLOB_UNICODE, []));
        }
        let text = match std::str::from_utf8(bytes.strip_prefix(UTF8).unwrap_or(&bytes)) {
            Ok(text) => units::held(text).into_owned(),
            Err(_) => bytes.iter().map(|byte| codepage::decode_byte(*byte)).collect(),
        };
        Ok(vec![vec![Value::str(codepage::replaced(&text).unwrap_or(text))]])
    },
);

/// As nvarchar(max): UTF-16, which its byte order mark says.
pub static NCLOB: View = View::function(
    "openrowset nclob()",
    1,
    &[("BulkColumn", DataType::NVarChar(Len::Max), true)],
    |session, _, args| {
        let bytes = contents(session, args)?;
        let little = bytes.starts_with(LITTLE);
        if !little && !bytes.starts_with(BIG) {
            return Err(SqlError::of(msg::SINGLE_NCLOB_NOT_UNICODE, []));
        }
        let unit = |pair: &[u8]| match little {
            true => u16::from_le_bytes([pair[0], pair[1]]),
            false => u16::from_be_bytes([pair[0], pair[1]]),
        };
        Ok(vec![vec![Value::Str(units::text_of(bytes[2..].chunks_exact(2).map(unit)))]])
    },
);

/// As varbinary(max).
pub static BLOB: View = View::function(
    "openrowset blob()",
    1,
    &[("BulkColumn", DataType::VarBinary(Len::Max), true)],
    |session, _, args| Ok(vec![vec![Value::bytes(contents(session, args)?)]]),
);

/// The bytes of the file that the argument names.
fn contents(session: &mut SessionCore, args: &[Value]) -> Result<Vec<u8>, SqlError> {
    let name = args.first().and_then(Value::as_str).unwrap_or_default();
    let mut bytes = Vec::new();
    open(session, name)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| read_failed(&e))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(SqlError::of(msg::BULK_FILE_TOO_LONG, [&name]));
    }
    Ok(bytes)
}

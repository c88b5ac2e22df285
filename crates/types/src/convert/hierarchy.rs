//! hierarchyid from and to strings and bytes. Guarantee: a value of the type is the bytes of a
//! path.

use super::{Mode, fit_bytes, fit_string};
use crate::codepage::CodePage;
use crate::datatype::DataType;
use crate::error::SqlError;
use crate::hierarchy::Path;
use crate::msg;
use crate::value::Value;

/// What .NET says of a value of the type.
pub fn failed(number: u32, text: &str) -> SqlError {
    SqlError::of(msg::HIERARCHYID_EXCEPTION, [&number, &text])
}

/// The value of a path's text. Error: 6522.
pub fn parsed(text: &str) -> Result<Value, SqlError> {
    let bytes = Path::parse(text.trim_end_matches(' ')).and_then(|path| path.to_bytes());
    bytes.map(Value::bytes).ok_or_else(|| {
        let text = format!(
            "SqlHierarchyId.Parse failed because the input string '{text}' is not a valid string representation of a \
             SqlHierarchyId node."
        );
        failed(24_001, &text)
    })
}

/// The path of a value. Error: 6522.
pub fn path_of(bytes: &[u8]) -> Result<Path, SqlError> {
    Path::from_bytes(bytes)
        .ok_or_else(|| failed(24_000, "SqlHierarchyId operation failed because HierarchyId object was constructed from an invalid binary string."))
}

/// A conversion with hierarchyid on one side at least.
pub(crate) fn convert(
    value: &Value,
    from: DataType,
    to: DataType,
    mode: Mode,
) -> Result<Value, SqlError> {
    match value {
        Value::Str(text) if to == DataType::HierarchyId => parsed(text),
        Value::Bytes(bytes) if to == DataType::HierarchyId => {
            path_of(bytes)?;
            Ok(value.clone())
        }
        Value::Bytes(bytes) if to.is_string() => {
            fit_string(path_of(bytes)?.to_text().into(), to, mode, CodePage::Latin)
        }
        Value::Bytes(bytes) if to.is_binary() => fit_bytes(bytes.clone(), to, mode),
        _ => Err(SqlError::explicit_not_allowed(from, to)),
    }
}

//! Types and values that many views use, and places of columns.

use std::sync::Arc;

use ::types::{DataType, Decimal, Len, Value};

use session::state::SessionCore;

use catalog::Db;
use logical::view::ViewColumn;

pub(super) const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The position of a column, for constants: a name that is not there does not compile.
pub const fn position(columns: &[ViewColumn], name: &str) -> usize {
    let mut i = 0;
    while !same(columns[i].0.as_bytes(), name.as_bytes()) {
        i += 1;
    }
    i
}

pub const SYSNAME: DataType = DataType::NVarChar(Len::N(128));

pub(crate) const NVARCHAR60: DataType = DataType::NVarChar(Len::N(60));

pub const LSN_NUMERIC: DataType = DataType::numeric(25, 0);

pub fn text(value: impl AsRef<str>) -> Value {
    Value::str(value)
}

pub fn bit(value: bool) -> Value {
    Value::Bit(value)
}

pub fn big(value: u64) -> Value {
    Value::BigInt(i64::try_from(value).unwrap_or(i64::MAX))
}

pub fn int(value: u64) -> Value {
    Value::Int(i32::try_from(value).unwrap_or(i32::MAX))
}

/// An LSN as numeric(25,0); NULL for none.
pub fn lsn_numeric(lsn: wal::Lsn) -> Value {
    if lsn.is_zero() {
        return Value::Null;
    }
    let number = i128::try_from(lsn.to_numeric()).unwrap_or(i128::MAX);
    Decimal::new(number, 25, 0).map_or(Value::Null, Value::Decimal)
}

/// An LSN as text; NULL for none.
pub(crate) fn lsn_text(lsn: wal::Lsn) -> Value {
    if lsn.is_zero() { Value::Null } else { text(lsn.to_string()) }
}

pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The databases that a function's first argument names: NULL or no argument means all, DB_ID()
/// one.
pub(crate) fn databases_of(session: &SessionCore, arg: Option<&Value>) -> Vec<Arc<Db>> {
    match arg.and_then(Value::as_i64) {
        None => session.host().databases(),
        Some(id) => {
            i32::try_from(id).ok().and_then(|id| session.host().db_by_id(id)).into_iter().collect()
        }
    }
}

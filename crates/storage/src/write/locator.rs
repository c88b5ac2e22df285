//! Where a row is, as an index entry and a value of a plan say it.

use crate::{rid_value, value_rid};
use access::Rid;
use types::{SqlError, Value};

/// Where a row is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locator {
    Rid(Rid),
    Key(Vec<u8>),
}

impl Locator {
    /// As bytes, as a nonclustered entry keeps it.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Locator::Rid(rid) => rid.to_bytes().to_vec(),
            Locator::Key(key) => key.clone(),
        }
    }

    /// As a value of a plan.
    pub fn value(&self) -> Value {
        match self {
            Locator::Rid(rid) => rid_value(*rid),
            Locator::Key(key) => Value::bytes(key.clone()),
        }
    }

    /// From a value of a plan.
    pub fn of(value: &Value) -> Result<Locator, SqlError> {
        match value {
            Value::Bytes(key) => Ok(Locator::Key(key.to_vec())),
            other => match value_rid(other) {
                Some(rid) => Ok(Locator::Rid(rid)),
                None => Err(SqlError::internal("a value that is no locator")),
            },
        }
    }
}

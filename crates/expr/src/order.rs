//! The order of two values: SQL's, in which nothing is compared with NULL, and the one in which
//! rows are sorted, where NULL comes first. Guarantee: a comparison of long texts ends when the
//! statement is cancelled.

use crate::Env;
use crate::large::LARGE;
use std::cmp::Ordering;
use types::{Collation, SqlError, Value, ops};

/// The order of two values of one comparable kind; `None` when one is NULL.
#[inline]
pub fn compare_values(a: &Value, b: &Value, collation: Collation) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::BigInt(a), Value::BigInt(b)) => Some(a.cmp(b)),
        (Value::Null, _) | (_, Value::Null) => None,
        _ => ops::compare(a, b, collation),
    }
}

/// [`compare_values`] of values that may be large.
#[inline(always)]
pub(crate) fn ordered(
    a: &Value,
    b: &Value,
    collation: Collation,
    rt: &dyn Env,
) -> Result<Option<Ordering>, SqlError> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) if a.len() >= LARGE && b.len() >= LARGE => {
            order_of_large(a, b, collation, rt)
        }
        (a, b) => Ok(compare_values(a, b, collation)),
    }
}

#[cold]
fn order_of_large(
    a: &str,
    b: &str,
    collation: Collation,
    rt: &dyn Env,
) -> Result<Option<Ordering>, SqlError> {
    collation.compare_or_stop(a, b, || rt.check_cancel()).map(Some)
}

/// SQL's order with NULL first.
#[inline]
pub fn order_of(a: &Value, b: &Value, collation: Collation) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => ops::compare(a, b, collation).unwrap_or(Ordering::Equal),
    }
}

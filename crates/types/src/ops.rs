//! Operators: comparison of values of one type.

use std::cmp::Ordering;

use crate::collation::Collation;
use crate::key::compare_guids;
use crate::value::Value;

/// The bytes up to the last that is not zero: binary values compare as if padded with zeros.
pub(crate) fn without_trailing_zeros(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    &bytes[..length]
}

/// SQL's order of two values of one type; `None` when either is NULL or the kinds differ.
#[inline]
pub fn compare(a: &Value, b: &Value, collation: Collation) -> Option<Ordering> {
    use Value as V;
    Some(match (a, b) {
        (V::Int(a), V::Int(b)) => a.cmp(b),
        (V::Str(a), V::Str(b)) => collation.compare(a, b),
        (V::BigInt(a), V::BigInt(b)) | (V::Money(a), V::Money(b)) => a.cmp(b),
        (V::Decimal(a), V::Decimal(b)) => a.cmp(b),
        (V::Bit(a), V::Bit(b)) => a.cmp(b),
        (V::TinyInt(a), V::TinyInt(b)) => a.cmp(b),
        (V::SmallInt(a), V::SmallInt(b)) => a.cmp(b),
        (V::SmallMoney(a), V::SmallMoney(b)) => a.cmp(b),
        (V::Float(a), V::Float(b)) => a.partial_cmp(b)?,
        (V::Real(a), V::Real(b)) => a.partial_cmp(b)?,
        (V::Bytes(a), V::Bytes(b)) => without_trailing_zeros(a).cmp(without_trailing_zeros(b)),
        (V::Date(a), V::Date(b)) => a.cmp(b),
        (V::Time(a), V::Time(b)) => a.cmp(b),
        (V::DateTime { days: a, ticks: s }, V::DateTime { days: b, ticks: t }) => (a, s).cmp(&(b, t)),
        (V::SmallDateTime { days: a, minutes: s }, V::SmallDateTime { days: b, minutes: t }) => {
            (a, s).cmp(&(b, t))
        }
        (V::DateTime2 { days: a, ticks: s }, V::DateTime2 { days: b, ticks: t }) => (a, s).cmp(&(b, t)),
        (V::DateTimeOffset { days: a, ticks: s, .. }, V::DateTimeOffset { days: b, ticks: t, .. }) => {
            (a, s).cmp(&(b, t))
        }
        (V::Guid(a), V::Guid(b)) => compare_guids(a, b),
        _ => return None,
    })
}

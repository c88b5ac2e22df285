//! The values of sql_variant: a value with the type that it had. Guarantees: what a column of
//! sql_variant stored comes back with its base type, length, precision, scale and collation; keys
//! order as [`compare`] does, which is SQL Server's order: the family of the base type first
//! (dates, approximate numbers, exact numbers, texts, bytes, GUIDs, from the highest to the
//! lowest), then the value. A value whose type is sql_variant may also stand there bare: then it is
//! of its natural type.

use std::cmp::Ordering;

use crate::convert::{Mode, convert};
use crate::datatype::DataType;
use crate::decimal::Decimal;
use crate::key_bytes::{put_any_decimal, put_bytes, put_float, put_guid, put_i32};
use crate::value::Value;
pub use crate::value::{Variant, of_variant as of, parts};

/// The families of base types, from the lowest to the highest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum TypeFamily {
    Guid = 1,
    Bytes = 2,
    Text = 3,
    Exact = 4,
    Approximate = 5,
    Moment = 6,
}

fn family(ty: DataType) -> TypeFamily {
    match ty {
        DataType::UniqueIdentifier => TypeFamily::Guid,
        DataType::Float | DataType::Real => TypeFamily::Approximate,
        _ if ty.is_string() => TypeFamily::Text,
        _ if ty.is_temporal() => TypeFamily::Moment,
        _ if ty.is_number() => TypeFamily::Exact,
        DataType::Bit => TypeFamily::Exact,
        _ => TypeFamily::Bytes,
    }
}

/// The order of two values of sql_variant; `None` when one is NULL.
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    if a.is_null() || b.is_null() {
        return None;
    }
    let of = |value: &Value| {
        let mut out = Vec::new();
        key(value, &mut out);
        out
    };
    Some(of(a).cmp(&of(b)))
}

/// Appends the key of a value that is not NULL.
pub fn key(value: &Value, out: &mut Vec<u8>) {
    let (value, ty, collation) = parts(value);
    let family = family(ty);
    out.push(family as u8);
    match (family, value) {
        (TypeFamily::Guid, Value::Guid(guid)) => put_guid(guid, out),
        (TypeFamily::Text, Value::Str(text)) => {
            // Locale, version, flags and sort order come before the text.
            let [a, b, c, d, sort] = collation.wire_bytes();
            let info = u32::from_le_bytes([a, b, c, d]);
            out.extend_from_slice(&(info & 0x000F_FFFF).to_be_bytes());
            out.extend_from_slice(&[(info >> 28) as u8, (info >> 20) as u8, sort]);
            collation.sort_key(text, out);
        }
        (TypeFamily::Exact, value) => put_any_decimal(exact(value), out),
        (TypeFamily::Approximate, Value::Float(f)) => put_float(*f, out),
        (TypeFamily::Approximate, Value::Real(f)) => put_float(f64::from(*f), out),
        (TypeFamily::Moment, value) => {
            match convert(value, ty, DataType::DateTimeOffset(7), 0, Mode::Explicit) {
                Ok(Value::DateTimeOffset { days, ticks, .. }) => {
                    put_i32(days, out);
                    out.extend_from_slice(&ticks.to_be_bytes());
                }
                _ => put_i32(i32::MIN, out),
            }
        }
        (_, Value::Bytes(bytes)) => put_bytes(bytes, out),
        _ => {}
    }
}

/// A number of the exact types.
fn exact(value: &Value) -> Decimal {
    let money = |units: i64| {
        let digits = Decimal::new(units.into(), 19, 4);
        digits.unwrap_or_else(|| Decimal::from_i64(units / 10_000))
    };
    match value {
        Value::Decimal(d) => *d,
        Value::Money(units) => money(*units),
        Value::SmallMoney(units) => money(i64::from(*units)),
        other => Decimal::from_i64(other.as_i64().unwrap_or(0)),
    }
}

/// Bytes that a value takes with what is kept of its type, as SQL_VARIANT_PROPERTY counts them.
pub fn total_bytes(value: &Value) -> usize {
    let (value, ty, collation) = parts(value);
    let data = match value {
        Value::Str(text) if ty.is_unicode() => 2 * crate::codepage::utf16_len(text),
        Value::Str(text) => collation.code_page().encoded_len(text),
        Value::Bytes(bytes) => bytes.len(),
        Value::Decimal(d) => usize::from(crate::datatype::decimal_bytes(d.precision())),
        _ => usize::from(ty.fixed_width()),
    };
    let of_type = match ty {
        _ if ty.is_string() => 8,
        _ if ty.is_binary() || matches!(ty, DataType::Decimal { .. }) => 4,
        DataType::Time(_) | DataType::DateTime2(_) | DataType::DateTimeOffset(_) => 3,
        _ => 2,
    };
    data + of_type
}

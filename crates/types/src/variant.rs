//! The values of sql_variant: a value with the type that it had. Guarantees: what a column of sql_variant stored comes back with its
//! base type, length, precision, scale and collation; keys order as [`compare`] does, which is SQL Server's order: the
//! family of the base type first (dates, approximate numbers, exact numbers, texts, bytes, GUIDs, from the highest to the lowest), then the value.
//!
//! ```text
//! stored:  type: u8 | precision, scale or length: 2 bytes | name of a decimal: u8, or collation: u32 | the value as its own column has it
//! ```
//! A value whose type is sql_variant may also stand there bare: then it is of its natural type.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::collation::Collation;
use crate::convert::{Mode, convert};
use crate::datatype::{DataType, DecimalName, Len};
use crate::decimal::Decimal;
use crate::error::SqlError;
use crate::key::{put_any_decimal, put_bytes, put_float, put_guid, put_i32};
use crate::rowcell::{Cell, decode_bytes, decode_fixed, encode_bytes, encode_fixed};
use crate::value::Value;

/// A value with its base type.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Never a variant itself, never NULL.
    value: Value,
    ty: DataType,
    collation: Collation,
}

/// The families of base types, from the lowest to the highest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Family {
    Guid = 1,
    Bytes = 2,
    Text = 3,
    Exact = 4,
    Approximate = 5,
    Moment = 6,
}

fn family(ty: DataType) -> Family {
    match ty {
        DataType::UniqueIdentifier => Family::Guid,
        DataType::Float | DataType::Real => Family::Approximate,
        _ if ty.is_string() => Family::Text,
        _ if ty.is_temporal() => Family::Moment,
        _ if ty.is_number() => Family::Exact,
        DataType::Bit => Family::Exact,
        _ => Family::Bytes,
    }
}

impl Variant {
    /// The value itself.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The base type.
    pub fn ty(&self) -> DataType {
        self.ty
    }

    /// Of a text.
    pub fn collation(&self) -> Collation {
        self.collation
    }

    /// Bytes beside the type's own: for memory accounting.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Variant>() + self.value.heap_bytes()
    }
}

/// A value of a type as sql_variant. The value is of the type's kind; NULL stays NULL.
pub fn of(value: Value, ty: DataType, collation: Collation) -> Value {
    match value {
        Value::Null | Value::Variant(_) => value,
        value if ty == DataType::SqlVariant => {
            let ty = value.natural_type();
            Value::Variant(Arc::new(Variant { value, ty, collation }))
        }
        value => Value::Variant(Arc::new(Variant { value, ty, collation })),
    }
}

/// The value, its base type and collation; of a bare value its natural type.
pub fn parts(value: &Value) -> (&Value, DataType, Collation) {
    match value {
        Value::Variant(v) => (&v.value, v.ty, v.collation),
        bare => (bare, bare.natural_type(), Collation::DEFAULT),
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
        (Family::Guid, Value::Guid(guid)) => put_guid(guid, out),
        (Family::Text, Value::Str(text)) => {
            // Locale, version, flags and sort order come before the text.
            let [a, b, c, d, sort] = collation.wire_bytes();
            let info = u32::from_le_bytes([a, b, c, d]);
            out.extend_from_slice(&(info & 0x000F_FFFF).to_be_bytes());
            out.extend_from_slice(&[(info >> 28) as u8, (info >> 20) as u8, sort]);
            collation.sort_key(text, out);
        }
        (Family::Exact, value) => put_any_decimal(exact(value), out),
        (Family::Approximate, Value::Float(f)) => put_float(*f, out),
        (Family::Approximate, Value::Real(f)) => put_float(f64::from(*f), out),
        (Family::Moment, value) => match convert(value, ty, DataType::DateTimeOffset(7), 0, Mode::Explicit) {
            Ok(Value::DateTimeOffset { days, ticks, .. }) => {
                put_i32(days, out);
                out.extend_from_slice(&ticks.to_be_bytes());
            }
            _ => put_i32(i32::MIN, out),
        },
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
        _ => usize::from(width(ty)),
    };
    let of_type = match ty {
        _ if ty.is_string() => 8,
        _ if ty.is_binary() || matches!(ty, DataType::Decimal { .. }) => 4,
        DataType::Time(_) | DataType::DateTime2(_) | DataType::DateTimeOffset(_) => 3,
        _ => 2,
    };
    data + of_type
}

fn width(ty: DataType) -> u16 {
    if ty == DataType::Bit { 1 } else { crate::row::fixed_width(ty) }
}

/// Most bytes of a base type's value.
const MAX_DATA: usize = 8000;

/// Appends a value as a column of sql_variant stores it. Error: 3624 for a value of no type that it takes.
pub(crate) fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let (value, ty, collation) = parts(value);
    if ty.is_lob() {
        return Err(SqlError::internal(format!("a sql_variant cannot be {ty}")));
    }
    let [a, b] = match ty {
        DataType::Decimal { precision, scale, .. } => [precision, scale],
        DataType::Time(scale) | DataType::DateTime2(scale) | DataType::DateTimeOffset(scale) => [scale, 0],
        _ => {
            let length = if ty.is_string() || ty.is_binary() { ty.length().unwrap_or(MAX_DATA) } else { 0 };
            u16::try_from(length).unwrap_or(8000).to_le_bytes()
        }
    };
    out.extend_from_slice(&[ty.system_type_id(), a, b]);
    match ty {
        DataType::Decimal { name, .. } => out.push(u8::from(matches!(name, DecimalName::Numeric))),
        _ if ty.is_string() => out.extend_from_slice(&collation.id().to_le_bytes()),
        _ => {}
    }
    let cell = Cell::of(ty, collation);
    if ty.is_variable() {
        return encode_bytes(cell, value, out);
    }
    let start = out.len();
    out.resize(start + usize::from(width(ty)), 0);
    encode_fixed(cell, value, &mut out[start..])
}

/// The value of stored bytes; `None` when they are none.
pub(crate) fn decode(bytes: &[u8]) -> Option<Value> {
    let (&[id, a, b], mut rest) = bytes.split_first_chunk::<3>()?;
    let length = u16::from_le_bytes([a, b]);
    let sized = || (1..=8000).contains(&length).then_some(length);
    let wide = || (1..=4000).contains(&length).then_some(length);
    let scale = || (a <= 7 && b == 0).then_some(a);
    let ty = match id {
        36 => DataType::UniqueIdentifier,
        40 => DataType::Date,
        41 => DataType::Time(scale()?),
        42 => DataType::DateTime2(scale()?),
        43 => DataType::DateTimeOffset(scale()?),
        48 => DataType::TinyInt,
        52 => DataType::SmallInt,
        56 => DataType::Int,
        58 => DataType::SmallDateTime,
        59 => DataType::Real,
        60 => DataType::Money,
        61 => DataType::DateTime,
        62 => DataType::Float,
        104 => DataType::Bit,
        106 | 108 => {
            let (name, others) = rest.split_first()?;
            rest = others;
            let sound = (1..=38).contains(&a) && b <= a;
            match *name {
                _ if !sound => return None,
                0 => DataType::decimal(a, b),
                1 => DataType::numeric(a, b),
                _ => return None,
            }
        }
        122 => DataType::SmallMoney,
        127 => DataType::BigInt,
        165 => DataType::VarBinary(Len::N(sized()?)),
        167 => DataType::VarChar(Len::N(sized()?)),
        173 => DataType::Binary(sized()?),
        175 => DataType::Char(sized()?),
        231 => DataType::NVarChar(Len::N(wide()?)),
        239 => DataType::NChar(wide()?),
        _ => return None,
    };
    let mut collation = Collation::DEFAULT;
    if ty.is_string() {
        let (number, others) = rest.split_first_chunk::<4>()?;
        collation = Collation::from_id(u32::from_le_bytes(*number))?;
        rest = others;
    }
    let cell = Cell::of(ty, collation);
    let value = match ty.is_variable() {
        true => decode_bytes(cell, rest)?,
        false if rest.len() == usize::from(width(ty)) => decode_fixed(cell, rest)?,
        false => return None,
    };
    Some(Value::Variant(Arc::new(Variant { value, ty, collation })))
}

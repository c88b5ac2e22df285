//! The stored form of a value of sql_variant. Guarantee: what `encode` wrote, `decode` gives back
//! with its base type, length, precision, scale and collation; other bytes are no value, never a
//! panic.
//!
//! ```text
//! type: u8 | precision, scale or length: 2 bytes | name of a decimal: u8, or collation: u32 | the value as its own column has it
//! ```

use super::{Cell, decode_bytes, decode_fixed, encode_bytes, encode_fixed};
use crate::collation::Collation;
use crate::datatype::{DataType, DecimalName, Len};
use crate::error::SqlError;
use crate::value::{Value, of_variant as of, parts};

/// Most bytes of a base type's value.
const MAX_DATA: usize = 8000;

/// Appends a value as a column of sql_variant stores it. Error: 3624 for a value of no type that it
/// takes.
pub(crate) fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let (value, ty, collation) = parts(value);
    if ty.is_lob() {
        return Err(SqlError::internal(format!("a sql_variant cannot be {ty}")));
    }
    let [a, b] = match ty {
        DataType::Decimal { precision, scale, .. } => [precision, scale],
        DataType::Time(scale) | DataType::DateTime2(scale) | DataType::DateTimeOffset(scale) => {
            [scale, 0]
        }
        _ => {
            let length =
                if ty.is_string() || ty.is_binary() { ty.length().unwrap_or(MAX_DATA) } else { 0 };
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
    out.resize(start + usize::from(ty.fixed_width()), 0);
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
        false if rest.len() == usize::from(ty.fixed_width()) => decode_fixed(cell, rest)?,
        false => return None,
    };
    Some(of(value, ty, collation))
}

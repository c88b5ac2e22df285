//! sql_variant to bytes: a value with its type in front. Guarantee: what is written is the value's
//! own type, with its length and collation.

use types::datatype::DecimalName;
use types::{DataType, Value};

use super::{date, decimal, encode_value, time};
use crate::byte;
use crate::error::TdsError;
use crate::text::{WireCollation, push_utf16};
use crate::typeinfo::{FixedType, TypeInfo};
use crate::typewire::MAX_VARIANT_DATA;

/// Appends a value as sql_variant: total, base type, length of properties, properties, data. A bare
/// value is of its natural type.
pub(crate) fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), TdsError> {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    let bare = !matches!(value, Value::Variant(_));
    let (value, ty, collation) = types::variant::parts(value);
    let fixed = |fixed: FixedType, out: &mut Vec<u8>| out.extend_from_slice(&[fixed.wire().0, 0]);
    match value {
        Value::Null | Value::Variant(_) => return Ok(()),
        Value::Bit(b) => {
            fixed(FixedType::Bit, out);
            out.push(u8::from(*b));
        }
        Value::TinyInt(n) => {
            fixed(FixedType::TinyInt, out);
            out.push(*n);
        }
        Value::SmallInt(n) => {
            fixed(FixedType::SmallInt, out);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Value::Int(n) => {
            fixed(FixedType::Int, out);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Value::BigInt(n) => {
            fixed(FixedType::BigInt, out);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Value::Float(_) => other_fixed(value, FixedType::Float, out)?,
        Value::Real(_) => other_fixed(value, FixedType::Real, out)?,
        Value::Money(_) => other_fixed(value, FixedType::Money, out)?,
        Value::SmallMoney(_) => other_fixed(value, FixedType::SmallMoney, out)?,
        Value::DateTime { .. } => other_fixed(value, FixedType::DateTime, out)?,
        Value::SmallDateTime { .. } => other_fixed(value, FixedType::SmallDateTime, out)?,
        Value::Decimal(d) => {
            let (precision, scale, is_decimal) = match ty {
                DataType::Decimal { precision, scale, name } => {
                    (precision, scale, !bare && name == DecimalName::Decimal)
                }
                _ => (d.precision(), d.scale(), false),
            };
            let id = if is_decimal { byte::DECIMAL } else { byte::NUMERIC };
            out.extend_from_slice(&[id, 2, precision, scale]);
            decimal(value, precision, scale, out)?;
        }
        Value::Guid(guid) => {
            out.extend_from_slice(&[byte::GUID, 0]);
            out.extend_from_slice(guid);
        }
        Value::Date(days) => {
            out.extend_from_slice(&[byte::DATE, 0]);
            date(*days, out);
        }
        Value::Time(ticks) => {
            out.extend_from_slice(&[byte::TIME, 1, ty.scale()]);
            time(*ticks, ty.scale(), out);
        }
        Value::DateTime2 { days, ticks } => {
            out.extend_from_slice(&[byte::DATETIME2, 1, ty.scale()]);
            time(*ticks, ty.scale(), out);
            date(*days, out);
        }
        Value::DateTimeOffset { days, ticks, offset } => {
            out.extend_from_slice(&[byte::DATETIMEOFFSET, 1, ty.scale()]);
            time(*ticks, ty.scale(), out);
            date(*days, out);
            out.extend_from_slice(&offset.to_le_bytes());
        }
        Value::Str(text) => {
            let id = match ty {
                DataType::Char(_) => byte::CHAR,
                DataType::VarChar(_) => byte::VARCHAR,
                DataType::NChar(_) => byte::NCHAR,
                _ => byte::NVARCHAR,
            };
            out.extend_from_slice(&[id, 7]);
            let wire = WireCollation::from(collation);
            out.extend_from_slice(&wire.0);
            let page = wire.code_page()?;
            sized(declared(ty, bare), out, |out| match ty.is_unicode() {
                true => push_utf16(text, out),
                false => page.encode(text, out),
            })?;
        }
        Value::Bytes(bytes) => {
            let id = if matches!(ty, DataType::Binary(_)) { byte::BINARY } else { byte::VARBINARY };
            out.extend_from_slice(&[id, 2]);
            sized(declared(ty, bare), out, |out| out.extend_from_slice(bytes))?;
        }
    }
    let total = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&total.to_le_bytes());
    Ok(())
}

/// Bytes of the declared length; `None` for a bare value, which has none but the data's own.
fn declared(ty: DataType, bare: bool) -> Option<u16> {
    let length = ty.length().filter(|_| !bare)?;
    u16::try_from(if ty.is_unicode() { 2 * length } else { length }).ok()
}

fn other_fixed(value: &Value, fixed: FixedType, out: &mut Vec<u8>) -> Result<(), TdsError> {
    out.extend_from_slice(&[fixed.wire().0, 0]);
    encode_value(value, &TypeInfo::Fixed(fixed), out)
}

/// The declared length, the data's own where none is given, and the data.
fn sized(
    declared: Option<u16>,
    out: &mut Vec<u8>,
    data: impl FnOnce(&mut Vec<u8>),
) -> Result<(), TdsError> {
    let at = out.len();
    out.extend_from_slice(&[0; 2]);
    data(out);
    let len = out.len() - at - 2;
    if len > MAX_VARIANT_DATA {
        return Err(TdsError::ValueTooLong { len, limit: MAX_VARIANT_DATA });
    }
    out[at..at + 2].copy_from_slice(&declared.unwrap_or(len as u16).to_le_bytes());
    Ok(())
}

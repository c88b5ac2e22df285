//! sql_variant: a value with its type in front. Guarantees: what is written is the value's own
//! type, with its length and collation; a value that was read has them.

use std::borrow::Cow;

use types::datatype::{DecimalName, decimal_bytes, time_bytes};
use types::{DataType, Value};

use crate::decode;
use crate::encode;
use crate::error::TdsError;
use crate::reader::Reader;
use crate::text::{WireCollation, push_utf16};
use crate::typeinfo::{Fixed, Size, TypeInfo};
use crate::typewire::byte;

/// Most bytes of data in a sql_variant.
const MAX_DATA: usize = 8000;

/// Appends a value as sql_variant: total, base type, length of properties, properties, data. A bare
/// value is of its natural type.
pub(crate) fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), TdsError> {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    let bare = !matches!(value, Value::Variant(_));
    let (value, ty, collation) = types::variant::parts(value);
    let fixed = |fixed: Fixed, out: &mut Vec<u8>| out.extend_from_slice(&[fixed.wire().0, 0]);
    match value {
        Value::Null | Value::Variant(_) => return Ok(()),
        Value::Bit(b) => {
            fixed(Fixed::Bit, out);
            out.push(u8::from(*b));
        }
        Value::TinyInt(n) => {
            fixed(Fixed::TinyInt, out);
            out.push(*n);
        }
        Value::SmallInt(n) => {
            fixed(Fixed::SmallInt, out);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Value::Int(n) => {
            fixed(Fixed::Int, out);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Value::BigInt(n) => {
            fixed(Fixed::BigInt, out);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Value::Float(_) => other_fixed(value, Fixed::Float, out)?,
        Value::Real(_) => other_fixed(value, Fixed::Real, out)?,
        Value::Money(_) => other_fixed(value, Fixed::Money, out)?,
        Value::SmallMoney(_) => other_fixed(value, Fixed::SmallMoney, out)?,
        Value::DateTime { .. } => other_fixed(value, Fixed::DateTime, out)?,
        Value::SmallDateTime { .. } => other_fixed(value, Fixed::SmallDateTime, out)?,
        Value::Decimal(d) => {
            let (precision, scale, decimal) = match ty {
                DataType::Decimal { precision, scale, name } => {
                    (precision, scale, !bare && name == DecimalName::Decimal)
                }
                _ => (d.precision(), d.scale(), false),
            };
            let id = if decimal { byte::DECIMAL } else { byte::NUMERIC };
            out.extend_from_slice(&[id, 2, precision, scale]);
            encode::decimal(value, precision, scale, out)?;
        }
        Value::Guid(guid) => {
            out.extend_from_slice(&[byte::GUID, 0]);
            out.extend_from_slice(guid);
        }
        Value::Date(days) => {
            out.extend_from_slice(&[byte::DATE, 0]);
            encode::date(*days, out);
        }
        Value::Time(ticks) => {
            out.extend_from_slice(&[byte::TIME, 1, ty.scale()]);
            encode::time(*ticks, ty.scale(), out);
        }
        Value::DateTime2 { days, ticks } => {
            out.extend_from_slice(&[byte::DATETIME2, 1, ty.scale()]);
            encode::time(*ticks, ty.scale(), out);
            encode::date(*days, out);
        }
        Value::DateTimeOffset { days, ticks, offset } => {
            out.extend_from_slice(&[byte::DATETIMEOFFSET, 1, ty.scale()]);
            encode::time(*ticks, ty.scale(), out);
            encode::date(*days, out);
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

fn other_fixed(value: &Value, fixed: Fixed, out: &mut Vec<u8>) -> Result<(), TdsError> {
    out.extend_from_slice(&[fixed.wire().0, 0]);
    encode::encode_value(value, &TypeInfo::Fixed(fixed), out)
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
    if len > MAX_DATA {
        return Err(TdsError::ValueTooLong { len, limit: MAX_DATA });
    }
    out[at..at + 2].copy_from_slice(&declared.unwrap_or(len as u16).to_le_bytes());
    Ok(())
}

/// Reads a sql_variant. Errors: 8011 to 8014 of SQL Server are `VariantLength` and `TypeMetadata`
/// of type 0x62.
pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Value, TdsError> {
    let total = reader.u32()? as usize;
    if total == 0 {
        return Ok(Value::Null);
    }
    let mut inner = Reader::new(reader.bytes(total)?, "sql_variant");
    let metadata = || TdsError::TypeMetadata(byte::VARIANT);
    let (id, properties) =
        (inner.u8().map_err(|_| metadata())?, inner.u8().map_err(|_| metadata())?);
    let mut properties = Reader::new(
        inner.bytes(usize::from(properties)).map_err(|_| metadata())?,
        "properties of sql_variant",
    );
    let ty = base_type(id, &mut properties).map_err(|error| match error {
        TdsError::Truncated { .. } => metadata(),
        other => other,
    })?;
    if !properties.is_empty() {
        return Err(metadata());
    }
    let data = inner.rest();
    let (base, collation) =
        (ty.data_type(), ty.collation().and_then(WireCollation::known).unwrap_or_default());
    let too_long = |size: u16| data.len() > usize::from(size);
    match ty {
        TypeInfo::Char(size, _)
        | TypeInfo::VarChar(Size::Bytes(size), _)
        | TypeInfo::NChar(size, _)
        | TypeInfo::NVarChar(Size::Bytes(size), _)
        | TypeInfo::Binary(size)
        | TypeInfo::VarBinary(Size::Bytes(size)) => {
            if too_long(size) || data.len() > MAX_DATA {
                return Err(TdsError::TypeLength(byte::VARIANT));
            }
            decode::content(Cow::Borrowed(data), &ty)
        }
        TypeInfo::Decimal { precision, .. }
            if data.len() > usize::from(decimal_bytes(precision)) =>
        {
            Err(TdsError::TypeLength(byte::VARIANT))
        }
        TypeInfo::Fixed(fixed) => decode::scalar(data, &fixed.nullable()),
        scalar => decode::scalar(data, &scalar),
    }
    .map(|value| types::variant::of(value, base.unwrap_or(DataType::SqlVariant), collation))
    .map_err(|error| match error {
        TdsError::TypeLength(_) => TdsError::TypeLength(byte::VARIANT),
        other => other,
    })
}

fn base_type(id: u8, properties: &mut Reader<'_>) -> Result<TypeInfo, TdsError> {
    if let Some(fixed) = Fixed::from_byte(id) {
        return Ok(TypeInfo::Fixed(fixed));
    }
    let metadata = TdsError::TypeMetadata(byte::VARIANT);
    let mut scale = |make: fn(u8) -> TypeInfo| match properties.u8()? {
        scale @ 0..=7 => Ok(make(scale)),
        _ => Err(TdsError::TypeMetadata(byte::VARIANT)),
    };
    debug_assert!(time_bytes(7) == 5);
    Ok(match id {
        byte::GUID => TypeInfo::Guid,
        byte::DATE => TypeInfo::Date,
        byte::TIME => scale(TypeInfo::Time)?,
        byte::DATETIME2 => scale(TypeInfo::DateTime2)?,
        byte::DATETIMEOFFSET => scale(TypeInfo::DateTimeOffset)?,
        byte::DECIMAL | byte::NUMERIC => match properties.array()? {
            [precision @ 1..=38, scale] if scale <= precision => {
                TypeInfo::Decimal { precision, scale, numeric: id == byte::NUMERIC }
            }
            _ => return Err(metadata),
        },
        byte::BINARY => TypeInfo::Binary(properties.u16()?),
        byte::VARBINARY => TypeInfo::VarBinary(Size::Bytes(properties.u16()?)),
        byte::CHAR | byte::VARCHAR | byte::NCHAR | byte::NVARCHAR => {
            let collation = WireCollation(properties.array()?);
            let size = properties.u16()?;
            match id {
                byte::CHAR => TypeInfo::Char(size, collation),
                byte::VARCHAR => TypeInfo::VarChar(Size::Bytes(size), collation),
                byte::NCHAR => TypeInfo::NChar(size, collation),
                _ => TypeInfo::NVarChar(Size::Bytes(size), collation),
            }
        }
        _ => return Err(metadata),
    })
}

//! Bytes to values. Guarantees: a value that comes out is one that its type can hold; at most one
//! copy of a value's bytes is made.

mod variant;

use std::borrow::Cow;
use std::sync::Arc;

use types::datatype::{decimal_bytes, time_bytes};
use types::datetime::{DAY_TICKS, DAY_TICKS_300, MAX_DAY};
use types::{CompactString, Decimal, Value};

use crate::error::TdsError;
use crate::plp;
use crate::reader::Reader;
use crate::text::{WireCollation, read_utf16};
use crate::typeinfo::{FixedType, Short, Size, TypeInfo};

/// Where a value stands: text, ntext and image have a text pointer in rows, a plain length in
/// parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValuePlace {
    Row,
    Parameter,
}

/// Days of datetime's range, since 1900-01-01.
const DATETIME_DAYS: std::ops::RangeInclusive<i32> = -53_690..=2_958_463;
const MINUTES_OF_DAY: u16 = 1440;
/// Largest offset of datetimeoffset in minutes.
const MAX_OFFSET: i16 = 840;

/// Reads the value of a type.
///
/// Errors: 8016 for a length that the type does not allow, 8023 for bytes that are no such value,
/// 8028 for half characters, 8007 for chunks, 4002 when the bytes end.
pub fn decode_value(
    reader: &mut Reader<'_>,
    ty: &TypeInfo,
    place: ValuePlace,
) -> Result<Value, TdsError> {
    match *ty {
        TypeInfo::Null => Ok(Value::Null),
        TypeInfo::Fixed(fixed) => fixed_value(reader, fixed),
        TypeInfo::Char(size, _) | TypeInfo::NChar(size, _) | TypeInfo::Binary(size) => {
            counted(reader, ty, size)
        }
        TypeInfo::VarChar(Size::Bytes(size), _)
        | TypeInfo::NVarChar(Size::Bytes(size), _)
        | TypeInfo::VarBinary(Size::Bytes(size)) => counted(reader, ty, size),
        TypeInfo::AsText(..) => counted(reader, ty, ty.text_size()),
        TypeInfo::VarChar(Size::Max, _)
        | TypeInfo::NVarChar(Size::Max, _)
        | TypeInfo::VarBinary(Size::Max)
        | TypeInfo::Hierarchy
        | TypeInfo::Xml => match plp::read(reader, ty.byte())? {
            Some(bytes) => content(bytes, ty),
            None => Ok(Value::Null),
        },
        TypeInfo::Text(_) | TypeInfo::NText(_) | TypeInfo::Image => {
            old_large_object(reader, ty, place)
        }
        TypeInfo::Variant => variant::decode(reader),
        TypeInfo::Short(_, size) => short(reader, ty, size),
        _ => {
            let len = reader.u8()?;
            let bytes = reader.bytes(usize::from(len))?;
            if bytes.is_empty() { Ok(Value::Null) } else { scalar(bytes, ty) }
        }
    }
}

fn fixed_value(reader: &mut Reader<'_>, fixed: FixedType) -> Result<Value, TdsError> {
    let bytes = reader.bytes(fixed.wire().1)?;
    scalar(bytes, &fixed.nullable())
}

/// A value after its length in two bytes, 0xFFFF for NULL.
fn counted(reader: &mut Reader<'_>, ty: &TypeInfo, size: u16) -> Result<Value, TdsError> {
    let len = reader.u16()?;
    if len == 0xFFFF {
        return Ok(Value::Null);
    }
    if len > size {
        return Err(TdsError::TypeLength(ty.byte()));
    }
    content(Cow::Borrowed(reader.bytes(usize::from(len))?), ty)
}

fn short(reader: &mut Reader<'_>, ty: &TypeInfo, size: u8) -> Result<Value, TdsError> {
    // There is no empty value in these types: length 0 is NULL.
    let len = reader.u8()?;
    if len > size {
        return Err(TdsError::TypeLength(ty.byte()));
    }
    let bytes = reader.bytes(usize::from(len))?;
    if bytes.is_empty() { Ok(Value::Null) } else { content(Cow::Borrowed(bytes), ty) }
}

fn old_large_object(
    reader: &mut Reader<'_>,
    ty: &TypeInfo,
    place: ValuePlace,
) -> Result<Value, TdsError> {
    if place == ValuePlace::Row {
        let pointer = reader.u8()?;
        if pointer == 0 {
            return Ok(Value::Null);
        }
        reader.bytes(usize::from(pointer) + 8)?;
    }
    let len = reader.u32()?;
    if len == u32::MAX && place == ValuePlace::Parameter {
        return Ok(Value::Null);
    }
    if len > i32::MAX as u32 {
        return Err(TdsError::TypeLength(ty.byte()));
    }
    content(Cow::Borrowed(reader.bytes(len as usize)?), ty)
}

/// The value of a string's or binary's bytes.
pub(crate) fn content(bytes: Cow<'_, [u8]>, ty: &TypeInfo) -> Result<Value, TdsError> {
    match *ty {
        TypeInfo::Char(_, collation)
        | TypeInfo::VarChar(_, collation)
        | TypeInfo::Text(collation) => Ok(Value::Str(collation.code_page()?.decode(&bytes))),
        TypeInfo::Short(Short::Char | Short::VarChar, _) => {
            Ok(Value::Str(WireCollation::DATABASE.code_page()?.decode(&bytes)))
        }
        TypeInfo::NChar(..)
        | TypeInfo::NVarChar(..)
        | TypeInfo::NText(_)
        | TypeInfo::AsText(..) => utf16(&bytes, ty),
        TypeInfo::Xml => xml(&bytes, ty),
        _ => Ok(Value::Bytes(match bytes {
            Cow::Borrowed(bytes) => Arc::from(bytes),
            Cow::Owned(bytes) => Arc::from(bytes),
        })),
    }
}

fn utf16(bytes: &[u8], ty: &TypeInfo) -> Result<Value, TdsError> {
    if bytes.len() % 2 == 1 {
        return Err(TdsError::ValueLength(ty.name()));
    }
    let mut text = CompactString::with_capacity(bytes.len() / 2);
    read_utf16(bytes, &mut text);
    Ok(Value::Str(text))
}

/// UTF-16 with or without a byte order mark.
fn xml(bytes: &[u8], ty: &TypeInfo) -> Result<Value, TdsError> {
    utf16(bytes.strip_prefix(&[0xFF, 0xFE]).unwrap_or(bytes), ty)
}

/// The value of the bytes of a type whose length stands in one byte; they are not empty.
pub(crate) fn scalar(bytes: &[u8], ty: &TypeInfo) -> Result<Value, TdsError> {
    let wrong_length = || TdsError::TypeLength(ty.byte());
    let invalid = || TdsError::InvalidValue(ty.name());
    let mut reader = Reader::new(bytes, "value");
    let expected = match *ty {
        TypeInfo::Bit => 1,
        TypeInfo::Int(size)
        | TypeInfo::Float(size)
        | TypeInfo::Money(size)
        | TypeInfo::DateTime(size) => size,
        TypeInfo::Guid => 16,
        TypeInfo::Date => 3,
        TypeInfo::Time(scale) => time_bytes(scale),
        TypeInfo::DateTime2(scale) => time_bytes(scale) + 3,
        TypeInfo::DateTimeOffset(scale) => time_bytes(scale) + 5,
        TypeInfo::Decimal { precision, scale, .. } => {
            return decimal(bytes, precision, scale).ok_or_else(invalid);
        }
        _ => return Err(wrong_length()),
    };
    if bytes.len() != usize::from(expected) {
        return Err(wrong_length());
    }
    Ok(match *ty {
        TypeInfo::Bit => Value::Bit(reader.u8()? != 0),
        TypeInfo::Int(1) => Value::TinyInt(reader.u8()?),
        TypeInfo::Int(2) => Value::SmallInt(reader.i16()?),
        TypeInfo::Int(4) => Value::Int(reader.i32()?),
        TypeInfo::Int(_) => Value::BigInt(reader.i64()?),
        TypeInfo::Float(4) => {
            let f = f32::from_le_bytes(reader.array()?);
            if f.is_finite() { Value::Real(f) } else { return Err(invalid()) }
        }
        TypeInfo::Float(_) => {
            let f = f64::from_le_bytes(reader.array()?);
            if f.is_finite() { Value::Float(f) } else { return Err(invalid()) }
        }
        TypeInfo::Money(4) => Value::SmallMoney(reader.i32()?),
        TypeInfo::Money(_) => {
            let (high, low) = (reader.i32()?, reader.u32()?);
            Value::Money((i64::from(high) << 32) | i64::from(low))
        }
        TypeInfo::DateTime(4) => {
            let (days, minutes) = (reader.u16()?, reader.u16()?);
            if minutes >= MINUTES_OF_DAY {
                return Err(invalid());
            }
            Value::SmallDateTime { days, minutes }
        }
        TypeInfo::DateTime(_) => {
            let (days, ticks) = (reader.i32()?, reader.u32()?);
            if !DATETIME_DAYS.contains(&days) || ticks >= DAY_TICKS_300 {
                return Err(invalid());
            }
            Value::DateTime { days, ticks }
        }
        TypeInfo::Guid => Value::Guid(reader.array()?),
        TypeInfo::Date => Value::Date(date(&mut reader)?.ok_or_else(invalid)?),
        TypeInfo::Time(scale) => Value::Time(time(&mut reader, scale)?.ok_or_else(invalid)?),
        TypeInfo::DateTime2(scale) => {
            let ticks = time(&mut reader, scale)?.ok_or_else(invalid)?;
            Value::DateTime2 { days: date(&mut reader)?.ok_or_else(invalid)?, ticks }
        }
        TypeInfo::DateTimeOffset(scale) => {
            let ticks = time(&mut reader, scale)?.ok_or_else(invalid)?;
            let days = date(&mut reader)?.ok_or_else(invalid)?;
            let offset = reader.i16()?;
            if !(-MAX_OFFSET..=MAX_OFFSET).contains(&offset) {
                return Err(invalid());
            }
            Value::DateTimeOffset { days, ticks, offset }
        }
        _ => return Err(wrong_length()),
    })
}

fn date(reader: &mut Reader<'_>) -> Result<Option<i32>, TdsError> {
    let days = reader.uint(3)? as i32;
    Ok((days <= MAX_DAY).then_some(days))
}

fn time(reader: &mut Reader<'_>, scale: u8) -> Result<Option<u64>, TdsError> {
    let count = reader.uint(usize::from(time_bytes(scale)))?;
    let ticks = count.checked_mul(10u64.pow(7 - u32::from(scale.min(7))));
    Ok(ticks.filter(|&ticks| ticks < DAY_TICKS))
}

/// Sign and magnitude; the magnitude may be shorter than the type has room for.
pub(crate) fn decimal(bytes: &[u8], precision: u8, scale: u8) -> Option<Value> {
    let (sign, magnitude) = bytes.split_first()?;
    debug_assert!(decimal_bytes(38) == 17);
    if magnitude.len() > 16 {
        return None;
    }
    let mut wide = [0u8; 16];
    wide[..magnitude.len()].copy_from_slice(magnitude);
    let mantissa = i128::try_from(u128::from_le_bytes(wide)).ok()?;
    let signed = match sign {
        0 => -mantissa,
        1 => mantissa,
        _ => return None,
    };
    Decimal::new(signed, precision, scale).map(Value::Decimal)
}

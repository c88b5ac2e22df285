//! Values to bytes. Guarantees: nothing is allocated per value (only types sent as text are
//! formatted first); a value that does not fit its column is an error and leaves the output as it
//! was.

mod variant;

use types::datatype::{decimal_bytes, time_bytes};
use types::{DataType, Decimal, Value, format_value};

use crate::decode::ValuePlace;
use crate::error::TdsError;
use crate::plp;
use crate::text::{WireCollation, push_utf16};
use crate::typeinfo::{FixedType, Short, Size, TypeInfo};

/// Length that stands for NULL in strings and bytes with a length of two bytes.
const NULL_LEN: [u8; 2] = [0xFF, 0xFF];

/// A text pointer after its length, and a timestamp.
const POINTER: &[u8; 25] = b"\x10dummy textptr\0\0\0dummyTS\0";

/// Appends a value of a row, or of RETURNVALUE.
#[inline]
pub fn encode_value(value: &Value, ty: &TypeInfo, out: &mut Vec<u8>) -> Result<(), TdsError> {
    encode_at(value, ty, ValuePlace::Row, out)
}

/// Appends a value where it stands: text, ntext and image differ between rows and parameters.
///
/// Errors: `Mismatch` for a value of another kind, `ValueTooLong` for one over the declared length.
#[inline]
pub fn encode_at(
    value: &Value,
    ty: &TypeInfo,
    place: ValuePlace,
    out: &mut Vec<u8>,
) -> Result<(), TdsError> {
    let start = out.len();
    let done = write(value, ty, place, out);
    if done.is_err() {
        out.truncate(start);
    }
    done
}

#[inline]
fn write(
    value: &Value,
    ty: &TypeInfo,
    place: ValuePlace,
    out: &mut Vec<u8>,
) -> Result<(), TdsError> {
    match (*ty, value) {
        (TypeInfo::Int(4), Value::Int(n)) => {
            out.push(4);
            out.extend_from_slice(&n.to_le_bytes());
            Ok(())
        }
        (_, Value::Null) => null(ty, place, out),
        (TypeInfo::NVarChar(Size::Bytes(size), _) | TypeInfo::NChar(size, _), Value::Str(text)) => {
            counted(size, out, |out| {
                push_utf16(text, out);
                Ok(())
            })
        }
        (
            TypeInfo::VarChar(Size::Bytes(size), collation) | TypeInfo::Char(size, collation),
            Value::Str(text),
        ) => {
            let page = collation.code_page()?;
            counted(size, out, |out| {
                page.encode(text, out);
                Ok(())
            })
        }
        _ => write_other(value, ty, place, out),
    }
}

fn write_other(
    value: &Value,
    ty: &TypeInfo,
    place: ValuePlace,
    out: &mut Vec<u8>,
) -> Result<(), TdsError> {
    match *ty {
        TypeInfo::Fixed(fixed) => fixed_value(value, fixed, out),
        TypeInfo::Bit => prefixed(1, out, |out| bit(value, out)),
        TypeInfo::Int(size) => prefixed(size, out, |out| int(value, size, out)),
        TypeInfo::Float(size) => prefixed(size, out, |out| float(value, size, out)),
        TypeInfo::Money(size) => prefixed(size, out, |out| money(value, size, out)),
        TypeInfo::DateTime(size) => prefixed(size, out, |out| datetime(value, size, out)),
        TypeInfo::Guid => match value {
            Value::Guid(guid) => prefixed(16, out, |out| {
                out.extend_from_slice(guid);
                Ok(())
            }),
            other => Err(mismatch(other, ty)),
        },
        TypeInfo::Decimal { precision, scale, .. } => {
            prefixed(decimal_bytes(precision), out, |out| decimal(value, precision, scale, out))
        }
        TypeInfo::Date => match *value {
            Value::Date(days) => prefixed(3, out, |out| {
                date(days, out);
                Ok(())
            }),
            ref other => Err(mismatch(other, ty)),
        },
        TypeInfo::Time(scale) => {
            prefixed(time_bytes(scale), out, |out| temporal(value, ty, scale, out))
        }
        TypeInfo::DateTime2(scale) => {
            prefixed(time_bytes(scale) + 3, out, |out| temporal(value, ty, scale, out))
        }
        TypeInfo::DateTimeOffset(scale) => {
            prefixed(time_bytes(scale) + 5, out, |out| temporal(value, ty, scale, out))
        }
        TypeInfo::Variant => variant::encode(value, out),
        TypeInfo::Binary(size) | TypeInfo::VarBinary(Size::Bytes(size)) => match value {
            Value::Bytes(bytes) => counted(size, out, |out| {
                out.extend_from_slice(bytes);
                Ok(())
            }),
            other => Err(mismatch(other, ty)),
        },
        TypeInfo::Short(_, _) => short(value, ty, out),
        TypeInfo::AsText(as_type, _) => {
            if !value.is_kind_of(as_type) {
                return Err(mismatch(value, ty));
            }
            counted(ty.text_size(), out, |out| {
                push_utf16(&format_value(value, as_type), out);
                Ok(())
            })
        }
        TypeInfo::VarChar(Size::Max, _)
        | TypeInfo::NVarChar(Size::Max, _)
        | TypeInfo::VarBinary(Size::Max)
        | TypeInfo::Hierarchy
        | TypeInfo::Xml => plp::write_with(out, |out| large(value, ty, out)),
        TypeInfo::Text(_) | TypeInfo::NText(_) | TypeInfo::Image => {
            old_large_object(value, ty, place, out)
        }
        TypeInfo::Null
        | TypeInfo::Char(..)
        | TypeInfo::VarChar(..)
        | TypeInfo::NChar(..)
        | TypeInfo::NVarChar(..) => Err(mismatch(value, ty)),
    }
}

fn mismatch(value: &Value, ty: &TypeInfo) -> TdsError {
    TdsError::Mismatch { value: value.natural_type().message_name(), ty: ty.name() }
}

fn null(ty: &TypeInfo, place: ValuePlace, out: &mut Vec<u8>) -> Result<(), TdsError> {
    match ty {
        TypeInfo::Null => {}
        TypeInfo::Fixed(_) => return Err(TdsError::Mismatch { value: "NULL", ty: ty.name() }),
        _ if ty.is_chunked() => plp::write_null(out),
        _ if ty.is_old_large_object() && place == ValuePlace::Parameter => {
            out.extend_from_slice(&[0xFF; 4])
        }
        _ => match ty.null_len() {
            2 => out.extend_from_slice(&NULL_LEN),
            n => out.resize(out.len() + n, 0),
        },
    }
    Ok(())
}

/// A value after a length of one byte that its type fixes.
#[inline]
fn prefixed(
    size: u8,
    out: &mut Vec<u8>,
    value: impl FnOnce(&mut Vec<u8>) -> Result<(), TdsError>,
) -> Result<(), TdsError> {
    out.push(size);
    let start = out.len();
    value(out)?;
    debug_assert_eq!(out.len() - start, usize::from(size));
    Ok(())
}

/// A value after its length in two bytes.
#[inline]
pub(crate) fn counted(
    limit: u16,
    out: &mut Vec<u8>,
    value: impl FnOnce(&mut Vec<u8>) -> Result<(), TdsError>,
) -> Result<(), TdsError> {
    let at = out.len();
    out.extend_from_slice(&[0, 0]);
    value(out)?;
    let len = out.len() - at - 2;
    if len > usize::from(limit) {
        return Err(TdsError::ValueTooLong { len, limit: usize::from(limit) });
    }
    out[at..at + 2].copy_from_slice(&(len as u16).to_le_bytes());
    Ok(())
}

fn fixed_value(value: &Value, fixed: FixedType, out: &mut Vec<u8>) -> Result<(), TdsError> {
    match fixed.nullable() {
        TypeInfo::Bit => bit(value, out),
        TypeInfo::Int(size) => int(value, size, out),
        TypeInfo::Float(size) => float(value, size, out),
        TypeInfo::Money(size) => money(value, size, out),
        TypeInfo::DateTime(size) => datetime(value, size, out),
        other => Err(mismatch(value, &other)),
    }
}

fn bit(value: &Value, out: &mut Vec<u8>) -> Result<(), TdsError> {
    match value {
        Value::Bit(b) => out.push(u8::from(*b)),
        other => return Err(mismatch(other, &TypeInfo::Bit)),
    }
    Ok(())
}

/// Integers fit any integer type that has room for them.
#[inline]
pub(crate) fn int(value: &Value, size: u8, out: &mut Vec<u8>) -> Result<(), TdsError> {
    let wrong = || mismatch(value, &TypeInfo::Int(size));
    let n = value.as_i64().ok_or_else(wrong)?;
    match size {
        1 => out.push(u8::try_from(n).map_err(|_| wrong())?),
        2 => out.extend_from_slice(&i16::try_from(n).map_err(|_| wrong())?.to_le_bytes()),
        4 => out.extend_from_slice(&i32::try_from(n).map_err(|_| wrong())?.to_le_bytes()),
        _ => out.extend_from_slice(&n.to_le_bytes()),
    }
    Ok(())
}

fn float(value: &Value, size: u8, out: &mut Vec<u8>) -> Result<(), TdsError> {
    match (size, value) {
        (4, Value::Real(f)) => out.extend_from_slice(&f.to_le_bytes()),
        (8, Value::Float(f)) => out.extend_from_slice(&f.to_le_bytes()),
        (8, Value::Real(f)) => out.extend_from_slice(&f64::from(*f).to_le_bytes()),
        _ => return Err(mismatch(value, &TypeInfo::Float(size))),
    }
    Ok(())
}

fn money(value: &Value, size: u8, out: &mut Vec<u8>) -> Result<(), TdsError> {
    let units = match *value {
        Value::Money(units) => units,
        Value::SmallMoney(units) => i64::from(units),
        ref other => return Err(mismatch(other, &TypeInfo::Money(size))),
    };
    if size == 4 {
        let small = i32::try_from(units).map_err(|_| mismatch(value, &TypeInfo::Money(4)))?;
        out.extend_from_slice(&small.to_le_bytes());
    } else {
        // The high half comes first.
        out.extend_from_slice(&((units >> 32) as i32).to_le_bytes());
        out.extend_from_slice(&(units as u32).to_le_bytes());
    }
    Ok(())
}

fn datetime(value: &Value, size: u8, out: &mut Vec<u8>) -> Result<(), TdsError> {
    match (size, value) {
        (4, Value::SmallDateTime { days, minutes }) => {
            out.extend_from_slice(&days.to_le_bytes());
            out.extend_from_slice(&minutes.to_le_bytes());
        }
        (8, Value::DateTime { days, ticks }) => {
            out.extend_from_slice(&days.to_le_bytes());
            out.extend_from_slice(&ticks.to_le_bytes());
        }
        _ => return Err(mismatch(value, &TypeInfo::DateTime(size))),
    }
    Ok(())
}

/// Sign and magnitude; the number is brought to the column's scale.
pub(crate) fn decimal(
    value: &Value,
    precision: u8,
    scale: u8,
    out: &mut Vec<u8>,
) -> Result<(), TdsError> {
    let ty = TypeInfo::Decimal { precision, scale, numeric: true };
    let number = match value {
        Value::Decimal(d) => *d,
        other => Decimal::from_i64(other.as_i64().ok_or_else(|| mismatch(other, &ty))?),
    };
    let fitting = if number.scale() == scale && number.precision() <= precision {
        Some(number)
    } else {
        number.rescale(precision, scale)
    };
    let mantissa = fitting.ok_or_else(|| mismatch(value, &ty))?.mantissa();
    out.push(u8::from(mantissa >= 0));
    out.extend_from_slice(
        &mantissa.unsigned_abs().to_le_bytes()[..usize::from(decimal_bytes(precision)) - 1],
    );
    Ok(())
}

pub(crate) fn date(days: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&days.to_le_bytes()[..3]);
}

/// 100 ns ticks as a count of 10^-scale seconds.
pub(crate) fn time(ticks: u64, scale: u8, out: &mut Vec<u8>) {
    let count = ticks / 10u64.pow(7 - u32::from(scale.min(7)));
    out.extend_from_slice(&count.to_le_bytes()[..usize::from(time_bytes(scale))]);
}

fn temporal(value: &Value, ty: &TypeInfo, scale: u8, out: &mut Vec<u8>) -> Result<(), TdsError> {
    match (ty, value) {
        (TypeInfo::Time(_), Value::Time(ticks)) => time(*ticks, scale, out),
        (TypeInfo::DateTime2(_), Value::DateTime2 { days, ticks }) => {
            time(*ticks, scale, out);
            date(*days, out);
        }
        (TypeInfo::DateTimeOffset(_), Value::DateTimeOffset { days, ticks, offset }) => {
            time(*ticks, scale, out);
            date(*days, out);
            out.extend_from_slice(&offset.to_le_bytes());
        }
        _ => return Err(mismatch(value, ty)),
    }
    Ok(())
}

/// The bytes of a string or binary value, without any length.
fn large(value: &Value, ty: &TypeInfo, out: &mut Vec<u8>) -> Result<(), TdsError> {
    let page = |collation: WireCollation| collation.code_page();
    match (*ty, value) {
        (TypeInfo::VarChar(_, collation) | TypeInfo::Text(collation), Value::Str(text)) => {
            page(collation)?.encode(text, out);
        }
        (TypeInfo::NVarChar(..) | TypeInfo::NText(_) | TypeInfo::Xml, Value::Str(text)) => {
            push_utf16(text, out)
        }
        (TypeInfo::VarBinary(_) | TypeInfo::Hierarchy | TypeInfo::Image, Value::Bytes(bytes)) => {
            out.extend_from_slice(bytes)
        }
        _ => return Err(mismatch(value, ty)),
    }
    Ok(())
}

fn old_large_object(
    value: &Value,
    ty: &TypeInfo,
    place: ValuePlace,
    out: &mut Vec<u8>,
) -> Result<(), TdsError> {
    after_pointer(place, out, |out| large(value, ty, out))
}

/// In rows after a text pointer and a timestamp. They are those that SQL Server sends with a value
/// that is not a column's own: clients know them and do not try to write through them.
#[inline]
pub(crate) fn after_pointer(
    place: ValuePlace,
    out: &mut Vec<u8>,
    value: impl FnOnce(&mut Vec<u8>) -> Result<(), TdsError>,
) -> Result<(), TdsError> {
    if place == ValuePlace::Row {
        out.extend_from_slice(POINTER);
    }
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    value(out)?;
    let len = out.len() - at - 4;
    let limit = i32::MAX as usize;
    if len > limit {
        return Err(TdsError::ValueTooLong { len, limit });
    }
    out[at..at + 4].copy_from_slice(&(len as u32).to_le_bytes());
    Ok(())
}

fn short(value: &Value, ty: &TypeInfo, out: &mut Vec<u8>) -> Result<(), TdsError> {
    let at = out.len();
    out.push(0);
    let limit = match (*ty, value) {
        (TypeInfo::Short(Short::Char | Short::VarChar, limit), Value::Str(text)) => {
            WireCollation::DATABASE.code_page()?.encode(text, out);
            limit
        }
        (TypeInfo::Short(Short::Binary | Short::VarBinary, limit), Value::Bytes(bytes)) => {
            out.extend_from_slice(bytes);
            limit
        }
        _ => return Err(mismatch(value, ty)),
    };
    let len = out.len() - at - 1;
    if len > usize::from(limit) {
        return Err(TdsError::ValueTooLong { len, limit: usize::from(limit) });
    }
    out[at] = len as u8;
    Ok(())
}

/// The description that a value of a type gets when nothing else is declared: NULL possible, newest
/// version.
pub fn type_of(ty: DataType) -> TypeInfo {
    TypeInfo::of(ty, true, types::Collation::DEFAULT, crate::version::TdsVersion::LATEST)
}

//! Binary values from and to the other types. Guarantees: numbers keep their last bytes and are
//! big-endian, texts keep their first; what `to_binary` makes of a number, decimal or date converts
//! back to it.

use std::sync::Arc;

use super::text_bytes;
use crate::codepage::CodePage;
use crate::datatype::{DataType, decimal_bytes, time_bytes};
use crate::decimal::{Decimal, POW10};
use crate::error::SqlError;
use crate::look::CancelCheck;
use crate::numtext;
use crate::value::Value;

/// The bytes of a value as CAST(... AS varbinary) gives them; numbers come out right-aligned to the
/// target.
pub(crate) fn to_binary(
    value: &Value,
    from: DataType,
    to: DataType,
    (style, page): (i32, CodePage),
    look: CancelCheck<'_>,
) -> Result<Arc<[u8]>, SqlError> {
    let number = |bytes: &[u8]| Ok(right_aligned(bytes, to));
    match value {
        Value::Bytes(b) => Ok(b.clone()),
        Value::Str(s) => text_to_binary(s, from, to, (style, page), look),
        Value::Bit(b) => number(&[u8::from(*b)]),
        Value::TinyInt(n) => number(&[*n]),
        Value::SmallInt(n) => number(&n.to_be_bytes()),
        Value::Int(n) => number(&n.to_be_bytes()),
        Value::BigInt(n) | Value::Money(n) => number(&n.to_be_bytes()),
        Value::SmallMoney(n) => number(&n.to_be_bytes()),
        Value::Float(f) => number(&f.to_be_bytes()),
        Value::Real(f) => number(&f.to_be_bytes()),
        Value::Decimal(d) => {
            let mut bytes = vec![d.precision(), d.scale(), 0, u8::from(!d.is_negative())];
            let digits = usize::from(decimal_bytes(d.precision())) - 1;
            bytes.extend_from_slice(&d.mantissa().unsigned_abs().to_le_bytes()[..digits]);
            Ok(bytes.into())
        }
        Value::Guid(g) => Ok(Arc::from(&g[..])),
        Value::DateTime { days, ticks } => {
            let wide = (u64::from(*days as u32) << 32) | u64::from(*ticks);
            number(&wide.to_be_bytes())
        }
        Value::SmallDateTime { days, minutes } => {
            let wide = (u32::from(*days) << 16) | u32::from(*minutes);
            number(&wide.to_be_bytes())
        }
        _ => newer_temporal(value, from, to),
    }
}

/// A number's last bytes for a fixed binary (zeros in front), all of them for varbinary that has
/// the room.
fn right_aligned(bytes: &[u8], to: DataType) -> Arc<[u8]> {
    let room = to.length().unwrap_or(bytes.len());
    let used = &bytes[bytes.len().saturating_sub(room)..];
    if !matches!(to, DataType::Binary(_) | DataType::RowVersion) {
        return Arc::from(used);
    }
    let mut padded = vec![0u8; room - used.len()];
    padded.extend_from_slice(used);
    padded.into()
}

fn text_to_binary(
    text: &str,
    from: DataType,
    to: DataType,
    (style, page): (i32, CodePage),
    look: CancelCheck<'_>,
) -> Result<Arc<[u8]>, SqlError> {
    let fail = || SqlError::error_converting(from, to);
    let digits = match style {
        0 => return Ok(text_bytes(text, from, page, look)?.into()),
        1 => {
            let trimmed = text.trim_end();
            trimmed.strip_prefix("0x").or_else(|| trimmed.strip_prefix("0X")).ok_or_else(fail)?
        }
        2 => text.trim_end(),
        _ => return Err(SqlError::bad_style(style, from)),
    };
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for piece in crate::look::pieces(digits, look) {
        bytes.extend(numtext::parse_hex(piece?).ok_or_else(fail)?);
    }
    Ok(bytes.into())
}

/// date, time, datetime2 and datetimeoffset: the scale (where there is one) and the stored form.
fn newer_temporal(value: &Value, from: DataType, to: DataType) -> Result<Arc<[u8]>, SqlError> {
    let scale = from.scale().min(7);
    let time = |ticks: u64, out: &mut Vec<u8>| {
        let units = ticks / POW10[usize::from(7 - scale)] as u64;
        out.push(scale);
        out.extend_from_slice(&units.to_le_bytes()[..usize::from(time_bytes(scale))]);
    };
    let mut out = Vec::with_capacity(11);
    match *value {
        Value::Date(days) => out.extend_from_slice(&days.to_le_bytes()[..3]),
        Value::Time(ticks) => time(ticks, &mut out),
        Value::DateTime2 { days, ticks } => {
            time(ticks, &mut out);
            out.extend_from_slice(&days.to_le_bytes()[..3]);
        }
        Value::DateTimeOffset { days, ticks, offset } => {
            time(ticks, &mut out);
            out.extend_from_slice(&days.to_le_bytes()[..3]);
            out.extend_from_slice(&offset.to_le_bytes());
        }
        _ => return Err(SqlError::explicit_not_allowed(from, to)),
    }
    Ok(out.into())
}

/// The last bytes as a big-endian integer of the type's width.
pub(crate) fn integer_from_bytes(bytes: &[u8], to: DataType) -> i64 {
    let width = usize::try_from(to.max_length()).unwrap_or(8).clamp(1, 8);
    let used = &bytes[bytes.len().saturating_sub(width)..];
    let wide = used.iter().fold(0u64, |n, b| (n << 8) | u64::from(*b));
    match (to, used.len()) {
        (DataType::SmallInt, 2) => i64::from(wide as u16 as i16),
        (DataType::Int, 4) => i64::from(wide as u32 as i32),
        _ => wide as i64,
    }
}

/// The decimal that `to_binary` wrote.
pub(crate) fn decimal_from_bytes(bytes: &[u8]) -> Option<Decimal> {
    let (&[precision, scale, _, sign], digits) = bytes.split_first_chunk::<4>()?;
    if digits.len() > 16 {
        return None;
    }
    let mut wide = [0u8; 16];
    wide[..digits.len()].copy_from_slice(digits);
    let magnitude = i128::try_from(u128::from_le_bytes(wide)).ok()?;
    Decimal::new(if sign == 0 { -magnitude } else { magnitude }, precision, scale)
}

/// A date or time from the bytes that `to_binary` writes.
pub(crate) fn temporal_from_bytes(bytes: &[u8], to: DataType) -> Option<Value> {
    use crate::rowcell::{Cell, decode_fixed};
    match to {
        DataType::DateTime => {
            let wide = integer_from_bytes(bytes, DataType::BigInt) as u64;
            let (days, ticks) = ((wide >> 32) as u32 as i32, wide as u32);
            let mut stored = ticks.to_le_bytes().to_vec();
            stored.extend_from_slice(&days.to_le_bytes());
            decode_fixed(Cell::DateTime, &stored)
        }
        DataType::SmallDateTime => {
            let wide = integer_from_bytes(bytes, DataType::Int) as u32;
            let stored =
                [(wide as u16).to_le_bytes(), ((wide >> 16) as u16).to_le_bytes()].concat();
            decode_fixed(Cell::SmallDateTime, &stored)
        }
        DataType::Date => (bytes.len() == 3).then(|| decode_fixed(Cell::Date, bytes)).flatten(),
        DataType::Time(_) | DataType::DateTime2(_) | DataType::DateTimeOffset(_) => {
            let (&scale, stored) = bytes.split_first()?;
            let (cell, extra) = match to {
                DataType::Time(_) => (Cell::Time(scale), 0),
                DataType::DateTime2(_) => (Cell::DateTime2(scale), 3),
                _ => (Cell::DateTimeOffset(scale), 5),
            };
            let sound = scale <= 7 && stored.len() == usize::from(time_bytes(scale)) + extra;
            let value = sound.then(|| decode_fixed(cell, stored)).flatten()?;
            crate::datetime::Moment::of(&value)?.to_value(to)
        }
        _ => None,
    }
}

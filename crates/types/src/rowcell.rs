//! One column's value as stored bytes. Guarantees: `decode` of what `encode` wrote is the same
//! value; decoding checks every number and date for its type's range, so no stored byte can become
//! an impossible value.

pub(crate) mod variant;

use std::sync::Arc;

use compact_str::CompactString;

use crate::codepage::{self, CodePage};
use crate::collation::Collation;
use crate::datatype::{DataType, Len, decimal_bytes};
use crate::datetime::{DAY_TICKS, DAY_TICKS_300, MAX_DAY};
use crate::decimal::{Decimal, POW10};
use crate::error::SqlError;
use crate::units;
use crate::value::Value;

/// How a column's bytes are read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cell {
    Bit {
        mask: u8,
    },
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Float,
    Real,
    SmallMoney,
    Money,
    Char {
        /// Number of the stretch of neighbouring char columns that it belongs to.
        run: u16,
    },
    NChar,
    /// char of a code page that is not 1252.
    PageChar(CodePage),
    Binary,
    /// At most this many bytes.
    VarChar {
        limit: u32,
    },
    /// varchar of a code page that is not 1252: at most this many bytes.
    PageVarChar {
        limit: u32,
        page: CodePage,
    },
    /// At most this many UTF-16 units.
    NVarChar {
        limit: u32,
    },
    VarBinary {
        limit: u32,
    },
    Date,
    Time(u8),
    DateTime,
    SmallDateTime,
    DateTime2(u8),
    DateTimeOffset(u8),
    Guid,
    /// UTF-8.
    Xml,
    /// A value with its type in front.
    Variant,
}

fn limit(len: Len) -> u32 {
    match len {
        Len::N(n) => u32::from(n),
        Len::Max | Len::Old => u32::MAX,
    }
}

impl Cell {
    pub(crate) fn of(ty: DataType, collation: Collation) -> Cell {
        match (ty, collation.code_page()) {
            (DataType::Char(_), page) if page != CodePage::Latin => return Cell::PageChar(page),
            (DataType::VarChar(len), page) if page != CodePage::Latin => {
                return Cell::PageVarChar { limit: limit(len), page };
            }
            _ => {}
        }
        match ty {
            DataType::Bit => Cell::Bit { mask: 1 },
            DataType::TinyInt => Cell::TinyInt,
            DataType::SmallInt => Cell::SmallInt,
            DataType::Int => Cell::Int,
            DataType::BigInt => Cell::BigInt,
            DataType::Decimal { precision, scale, .. } => Cell::Decimal { precision, scale },
            DataType::Float => Cell::Float,
            DataType::Real => Cell::Real,
            DataType::SmallMoney => Cell::SmallMoney,
            DataType::Money => Cell::Money,
            DataType::Char(_) => Cell::Char { run: 0 },
            DataType::VarChar(len) => Cell::VarChar { limit: limit(len) },
            DataType::NChar(_) => Cell::NChar,
            DataType::NVarChar(len) => Cell::NVarChar { limit: limit(len) },
            DataType::Binary(_) | DataType::RowVersion => Cell::Binary,
            DataType::VarBinary(len) => Cell::VarBinary { limit: limit(len) },
            DataType::Date => Cell::Date,
            DataType::Time(scale) => Cell::Time(scale),
            DataType::DateTime => Cell::DateTime,
            DataType::SmallDateTime => Cell::SmallDateTime,
            DataType::DateTime2(scale) => Cell::DateTime2(scale),
            DataType::DateTimeOffset(scale) => Cell::DateTimeOffset(scale),
            DataType::UniqueIdentifier => Cell::Guid,
            DataType::Xml => Cell::Xml,
            DataType::HierarchyId => Cell::VarBinary { limit: crate::hierarchy::MAX_BYTES as u32 },
            DataType::SqlVariant => Cell::Variant,
        }
    }
}

#[cold]
fn mismatch(cell: Cell, value: &Value) -> SqlError {
    SqlError::internal(format!("a {cell:?} column cannot store {value:?}"))
}

/// 100 ns ticks to units of 10^-scale s, rounded down: conversion rounds before.
fn time_units(ticks: u64, scale: u8) -> u64 {
    ticks / POW10[usize::from(7 - scale.min(7))] as u64
}

/// Little-endian bytes of the width that the slot has.
fn put_uint(value: u64, slot: &mut [u8]) {
    let n = slot.len().min(8);
    slot[..n].copy_from_slice(&value.to_le_bytes()[..n]);
}

/// Dates have 3 bytes, times 3 to 5: each width is read by moves of its own, which a copy of any
/// length is not.
#[inline(always)]
fn get_uint(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c] => return u64::from(u32::from_le_bytes([a, b, c, 0])),
        [a, b, c, d] => return u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e] => return u64::from(u32::from_le_bytes([a, b, c, d])) | u64::from(e) << 32,
        _ => {}
    }
    let mut wide = [0u8; 8];
    let n = bytes.len().min(8);
    wide[..n].copy_from_slice(&bytes[..n]);
    u64::from_le_bytes(wide)
}

/// Writes a fixed column; `slot` is zeroed and exactly as wide as the column. Bits are set in the
/// shared byte.
#[inline(always)]
pub(crate) fn encode_fixed(cell: Cell, value: &Value, slot: &mut [u8]) -> Result<(), SqlError> {
    match (cell, value) {
        (Cell::Int, Value::Int(n)) => slot.copy_from_slice(&n.to_le_bytes()),
        (Cell::Char { .. }, Value::Str(s)) => return put_char(s, slot),
        (Cell::Decimal { precision, scale }, Value::Decimal(d)) => {
            let mut d = *d;
            if d.scale() != scale || d.precision() > precision {
                let ty = DataType::decimal(precision, scale);
                d = d.rescale(precision, scale).ok_or_else(|| SqlError::overflow(ty))?;
            }
            let mantissa = d.mantissa();
            slot[0] = u8::from(mantissa >= 0);
            let n = slot.len() - 1;
            slot[1..].copy_from_slice(&mantissa.unsigned_abs().to_le_bytes()[..n]);
        }
        (Cell::SmallInt, Value::SmallInt(n)) => slot.copy_from_slice(&n.to_le_bytes()),
        (Cell::TinyInt, Value::TinyInt(n)) => slot[0] = *n,
        (Cell::BigInt, Value::BigInt(n)) => slot.copy_from_slice(&n.to_le_bytes()),
        (Cell::Bit { mask }, Value::Bit(b)) => {
            if *b {
                slot[0] |= mask;
            }
        }
        (Cell::DateTime, Value::DateTime { days, ticks }) => {
            slot[..4].copy_from_slice(&ticks.to_le_bytes());
            slot[4..].copy_from_slice(&days.to_le_bytes());
        }
        (Cell::Float, Value::Float(f)) => slot.copy_from_slice(&f.to_le_bytes()),
        (Cell::Real, Value::Real(f)) => slot.copy_from_slice(&f.to_le_bytes()),
        (Cell::Money, Value::Money(m)) => slot.copy_from_slice(&m.to_le_bytes()),
        (Cell::SmallMoney, Value::SmallMoney(m)) => slot.copy_from_slice(&m.to_le_bytes()),
        (Cell::NChar, Value::Str(s)) => return put_nchar(s, slot),
        (Cell::PageChar(page), Value::Str(s)) => return put_page_char(s, page, slot),
        (Cell::Binary, Value::Bytes(b)) => {
            let room = slot.get_mut(..b.len()).ok_or_else(|| SqlError::truncation(""))?;
            room.copy_from_slice(b);
        }
        (Cell::Date, Value::Date(days)) => put_uint(*days as u64, slot),
        (Cell::Time(scale), Value::Time(ticks)) => put_uint(time_units(*ticks, scale), slot),
        (Cell::SmallDateTime, Value::SmallDateTime { days, minutes }) => {
            slot[..2].copy_from_slice(&minutes.to_le_bytes());
            slot[2..].copy_from_slice(&days.to_le_bytes());
        }
        (Cell::DateTime2(scale), Value::DateTime2 { days, ticks }) => {
            let time = slot.len() - 3;
            put_uint(time_units(*ticks, scale), &mut slot[..time]);
            put_uint(*days as u64, &mut slot[time..]);
        }
        (Cell::DateTimeOffset(scale), Value::DateTimeOffset { days, ticks, offset }) => {
            let time = slot.len() - 5;
            put_uint(time_units(*ticks, scale), &mut slot[..time]);
            put_uint(*days as u64, &mut slot[time..time + 3]);
            slot[time + 3..].copy_from_slice(&offset.to_le_bytes());
        }
        (Cell::Guid, Value::Guid(g)) => slot.copy_from_slice(g),
        (cell, value) => return Err(mismatch(cell, value)),
    }
    Ok(())
}

#[inline(always)]
fn put_char(text: &str, slot: &mut [u8]) -> Result<(), SqlError> {
    if units::is_ascii(text.as_bytes()) {
        if text.len() > slot.len() {
            return Err(SqlError::truncation(text));
        }
        if text.len() == slot.len() {
            slot.copy_from_slice(text.as_bytes());
            return Ok(());
        }
        let (used, rest) = slot.split_at_mut(text.len());
        used.copy_from_slice(text.as_bytes());
        rest.fill(b' ');
        return Ok(());
    }
    let mut n = 0;
    for c in text.chars() {
        let byte = codepage::fitting_byte(c);
        let count = if byte.is_some() { 1 } else { units::unit_len(c) };
        for _ in 0..count {
            let place = slot.get_mut(n).ok_or_else(|| SqlError::truncation(text))?;
            *place = byte.unwrap_or(b'?');
            n += 1;
        }
    }
    slot[n..].fill(b' ');
    Ok(())
}

fn put_page_char(text: &str, page: CodePage, slot: &mut [u8]) -> Result<(), SqlError> {
    let mut bytes = Vec::with_capacity(slot.len());
    page.encode(text, &mut bytes);
    let used = slot.get_mut(..bytes.len()).ok_or_else(|| SqlError::truncation(text))?;
    used.copy_from_slice(&bytes);
    slot[bytes.len()..].fill(b' ');
    Ok(())
}

fn put_nchar(text: &str, slot: &mut [u8]) -> Result<(), SqlError> {
    let mut places = slot.chunks_exact_mut(2);
    for unit in units::units(text) {
        let place = places.next().ok_or_else(|| SqlError::truncation(text))?;
        place.copy_from_slice(&unit.to_le_bytes());
    }
    for place in places {
        place.copy_from_slice(&[b' ', 0]);
    }
    Ok(())
}

/// Reads a fixed column from exactly its bytes; `None` when they are no value of the type.
pub(crate) fn decode_fixed(cell: Cell, bytes: &[u8]) -> Option<Value> {
    let mut value = Value::Null;
    decode_fixed_into(cell, bytes, &mut value)?;
    Some(value)
}

/// As [`decode_fixed`], written where it belongs: a `Value` that is returned through an `Option` is
/// copied in odd pieces, which costs more than the decoding.
#[inline(always)]
pub(crate) fn decode_fixed_into(cell: Cell, bytes: &[u8], place: &mut Value) -> Option<()> {
    match cell {
        Cell::Int => *place = Value::Int(i32::from_le_bytes(*bytes.first_chunk()?)),
        Cell::Char { .. } => set_latin(place, bytes),
        Cell::Decimal { precision, scale } => {
            let mantissa = get_mantissa(bytes, precision)?;
            *place = Value::Decimal(Decimal::raw(mantissa, precision, scale));
        }
        Cell::SmallInt => *place = Value::SmallInt(i16::from_le_bytes(*bytes.first_chunk()?)),
        Cell::TinyInt => *place = Value::TinyInt(*bytes.first()?),
        Cell::BigInt => *place = Value::BigInt(i64::from_le_bytes(*bytes.first_chunk()?)),
        Cell::Bit { mask } => *place = Value::Bit(bytes.first()? & mask != 0),
        Cell::Date => *place = Value::Date(get_day(bytes)?),
        Cell::DateTime => {
            let (ticks, days) = bytes.split_first_chunk::<4>()?;
            let (ticks, days) =
                (u32::from_le_bytes(*ticks), i32::from_le_bytes(*days.first_chunk()?));
            if ticks >= DAY_TICKS_300 || !(-53_690..=2_958_463).contains(&days) {
                return None;
            }
            *place = Value::DateTime { days, ticks };
        }
        Cell::Float => {
            let f = f64::from_le_bytes(*bytes.first_chunk()?);
            *place = f.is_finite().then_some(Value::Float(f))?;
        }
        Cell::Real => {
            let f = f32::from_le_bytes(*bytes.first_chunk()?);
            *place = f.is_finite().then_some(Value::Real(f))?;
        }
        Cell::Money => *place = Value::Money(i64::from_le_bytes(*bytes.first_chunk()?)),
        Cell::SmallMoney => *place = Value::SmallMoney(i32::from_le_bytes(*bytes.first_chunk()?)),
        Cell::PageChar(page) => *place = Value::Str(page.decode(bytes)),
        Cell::NChar => *place = Value::Str(wide_text(bytes)?),
        Cell::Binary => *place = Value::Bytes(Arc::from(bytes)),
        Cell::Guid => *place = Value::Guid(*bytes.first_chunk()?),
        _ => *place = decode_temporal(cell, bytes)?,
    }
    Some(())
}

fn decode_temporal(cell: Cell, bytes: &[u8]) -> Option<Value> {
    Some(match cell {
        Cell::Time(scale) => Value::Time(get_time(bytes, scale)?),
        Cell::SmallDateTime => {
            let minutes = get_uint(bytes.get(..2)?) as u16;
            let days = get_uint(bytes.get(2..4)?) as u16;
            (minutes < 1440).then_some(Value::SmallDateTime { days, minutes })?
        }
        Cell::DateTime2(scale) => {
            let (time, day) = bytes.split_at_checked(bytes.len().checked_sub(3)?)?;
            Value::DateTime2 { days: get_day(day)?, ticks: get_time(time, scale)? }
        }
        Cell::DateTimeOffset(scale) => {
            let (time, rest) = bytes.split_at_checked(bytes.len().checked_sub(5)?)?;
            let (day, offset) = rest.split_at_checked(3)?;
            let offset = i16::from_le_bytes(offset.try_into().ok()?);
            let (days, ticks) = (get_day(day)?, get_time(time, scale)?);
            let value = Value::DateTimeOffset { days, ticks, offset };
            // An offset may not carry the local time out of the calendar.
            let local = crate::datetime::Moment::of(&value)?;
            let sound = offset.unsigned_abs() <= 840 && (0..=MAX_DAY).contains(&local.days);
            sound.then_some(value)?
        }
        _ => return None,
    })
}

/// A decimal's signed digits, if they are no more than its precision.
#[inline(always)]
fn get_mantissa(bytes: &[u8], precision: u8) -> Option<i128> {
    debug_assert_eq!(bytes.len(), usize::from(decimal_bytes(precision)));
    let (&sign, digits) = bytes.split_first()?;
    if sign > 1 {
        return None;
    }
    let magnitude = if let Ok(digits) = <[u8; 8]>::try_from(digits) {
        i128::from(u64::from_le_bytes(digits))
    } else if let Ok(digits) = <[u8; 4]>::try_from(digits) {
        i128::from(u32::from_le_bytes(digits))
    } else {
        let mut wide = [0u8; 16];
        wide.get_mut(..digits.len())?.copy_from_slice(digits);
        i128::try_from(u128::from_le_bytes(wide)).ok()?
    };
    let fits = magnitude < *POW10.get(usize::from(precision))?;
    fits.then_some(if sign == 0 { -magnitude } else { magnitude })
}

#[inline(always)]
fn get_day(bytes: &[u8]) -> Option<i32> {
    let days = get_uint(bytes) as i32;
    (days <= MAX_DAY).then_some(days)
}

fn get_time(bytes: &[u8], scale: u8) -> Option<u64> {
    let ticks = get_uint(bytes).checked_mul(POW10[usize::from(7 - scale.min(7))] as u64)?;
    (ticks < DAY_TICKS).then_some(ticks)
}

/// Appends a variable column's bytes.
#[inline]
pub(crate) fn encode_bytes(cell: Cell, value: &Value, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let start = out.len();
    let (length, limit) = match (cell, value) {
        (Cell::VarChar { limit }, Value::Str(s)) => {
            codepage::encode(s, out);
            (out.len() - start, limit)
        }
        (Cell::PageVarChar { limit, page }, Value::Str(s)) => {
            page.encode(s, out);
            (out.len() - start, limit)
        }
        (Cell::NVarChar { limit }, Value::Str(s)) => {
            encode_utf16(s, out);
            ((out.len() - start) / 2, limit)
        }
        (Cell::VarBinary { limit }, Value::Bytes(b)) => {
            out.extend_from_slice(b);
            (b.len(), limit)
        }
        (Cell::Variant, value) => return variant::encode(value, out),
        (Cell::Xml, Value::Str(s)) => {
            out.extend_from_slice(s.as_bytes());
            return Ok(());
        }
        (cell, value) => return Err(mismatch(cell, value)),
    };
    if length > limit as usize {
        return Err(SqlError::truncation(value.as_str().unwrap_or("")));
    }
    Ok(())
}

/// Reads a variable column; `None` when the bytes are no value of the type.
pub(crate) fn decode_bytes(cell: Cell, bytes: &[u8]) -> Option<Value> {
    let mut value = Value::Null;
    decode_bytes_into(cell, bytes, &mut value)?;
    Some(value)
}

/// As [`decode_bytes`], written where it belongs.
#[inline]
pub(crate) fn decode_bytes_into(cell: Cell, bytes: &[u8], place: &mut Value) -> Option<()> {
    match cell {
        Cell::VarChar { .. } => set_latin(place, bytes),
        Cell::PageVarChar { page, .. } => *place = Value::Str(page.decode(bytes)),
        Cell::NVarChar { .. } => *place = Value::Str(wide_text(bytes)?),
        Cell::VarBinary { .. } => *place = Value::Bytes(Arc::from(bytes)),
        Cell::Xml => *place = Value::Str(CompactString::from_utf8(bytes).ok()?),
        Cell::Variant => *place = variant::decode(bytes)?,
        _ => return None,
    }
    Some(())
}

/// Puts a text of code page 1252 into a place.
#[inline(always)]
fn set_latin(place: &mut Value, bytes: &[u8]) {
    if units::is_ascii(bytes) {
        // ASCII is UTF-8 as it stands; the check inside is what replaces an unchecked conversion.
        if let Ok(text) = std::str::from_utf8(bytes) {
            place.set_text(text);
            return;
        }
    }
    *place = Value::Str(latin_text(bytes));
}

/// Appends a text as UTF-16LE.
pub fn encode_utf16(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() * 2);
    if units::is_ascii(text.as_bytes()) {
        out.extend(text.bytes().flat_map(|b| [b, 0]));
    } else {
        out.extend(units::units(text).flat_map(u16::to_le_bytes));
    }
}

/// Text of code page 1252.
#[inline]
pub(crate) fn latin_text(bytes: &[u8]) -> CompactString {
    if units::is_ascii(bytes) {
        // ASCII is UTF-8 as it stands; the check inside is what replaces an unchecked conversion.
        if let Ok(text) = CompactString::from_utf8(bytes) {
            return text;
        }
    }
    bytes.iter().map(|&b| codepage::decode_byte(b)).collect()
}

/// Text of UTF-16LE. `None` for an odd number of bytes.
pub fn wide_text(bytes: &[u8]) -> Option<CompactString> {
    let (whole, odd) = bytes.as_chunks::<2>();
    let mut text = CompactString::with_capacity(whole.len());
    units::push_le(whole, &mut text);
    odd.is_empty().then_some(text)
}

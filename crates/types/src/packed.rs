//! Rows packed as bytes for a while: what a sort keeps in memory and writes to its run files.
//! Guarantees: every value comes back exactly as it was, kind, precision and scale included; bytes
//! that no row was packed to are an error, never a panic. The form may change with any version:
//! nothing that outlives a statement is kept in it.

use crate::decimal::Decimal;
use crate::error::Corrupt;
use crate::value::{CompactString, Value};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const TINY_INT: u8 = 3;
const SMALL_INT: u8 = 4;
const INT: u8 = 5;
const BIG_INT: u8 = 6;
/// A decimal whose mantissa fits 8 bytes.
const SHORT_DECIMAL: u8 = 7;
const DECIMAL: u8 = 8;
const FLOAT: u8 = 9;
const REAL: u8 = 10;
const MONEY: u8 = 11;
const SMALL_MONEY: u8 = 12;
const STR: u8 = 13;
const BYTES: u8 = 14;
const DATE: u8 = 15;
const TIME: u8 = 16;
const DATE_TIME: u8 = 17;
const SMALL_DATE_TIME: u8 = 18;
const DATE_TIME_2: u8 = 19;
const DATE_TIME_OFFSET: u8 = 20;
const GUID: u8 = 21;
const VARIANT: u8 = 22;

/// Appends a row.
pub fn pack_row(values: &[Value], out: &mut Vec<u8>) {
    for value in values {
        pack(value, out);
    }
}

fn pack(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bit(false) => out.push(FALSE),
        Value::Bit(true) => out.push(TRUE),
        Value::TinyInt(n) => out.extend_from_slice(&[TINY_INT, *n]),
        Value::SmallInt(n) => put(SMALL_INT, n.to_le_bytes(), out),
        Value::Int(n) => put(INT, n.to_le_bytes(), out),
        Value::BigInt(n) => put(BIG_INT, n.to_le_bytes(), out),
        Value::Decimal(d) => pack_decimal(*d, out),
        Value::Float(f) => put(FLOAT, f.to_le_bytes(), out),
        Value::Real(f) => put(REAL, f.to_le_bytes(), out),
        Value::Money(n) => put(MONEY, n.to_le_bytes(), out),
        Value::SmallMoney(n) => put(SMALL_MONEY, n.to_le_bytes(), out),
        Value::Str(s) => put_long(STR, s.as_bytes(), out),
        Value::Bytes(b) => put_long(BYTES, b, out),
        Value::Date(days) => put(DATE, days.to_le_bytes(), out),
        Value::Time(ticks) => put(TIME, ticks.to_le_bytes(), out),
        Value::DateTime { days, ticks } => {
            put(DATE_TIME, days.to_le_bytes(), out);
            out.extend_from_slice(&ticks.to_le_bytes());
        }
        Value::SmallDateTime { days, minutes } => {
            put(SMALL_DATE_TIME, days.to_le_bytes(), out);
            out.extend_from_slice(&minutes.to_le_bytes());
        }
        Value::DateTime2 { days, ticks } => {
            put(DATE_TIME_2, days.to_le_bytes(), out);
            out.extend_from_slice(&ticks.to_le_bytes());
        }
        Value::DateTimeOffset { days, ticks, offset } => {
            put(DATE_TIME_OFFSET, days.to_le_bytes(), out);
            out.extend_from_slice(&ticks.to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
        }
        Value::Guid(g) => put(GUID, *g, out),
        Value::Variant(_) => {
            // As a column stores it: what is one can be stored, or reading it back says what is
            // wrong.
            let mut bytes = Vec::new();
            let _ = crate::rowcell::variant::encode(value, &mut bytes);
            put_long(VARIANT, &bytes, out);
        }
    }
}

#[inline]
fn put<const N: usize>(tag: u8, bytes: [u8; N], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&bytes);
}

fn pack_decimal(d: Decimal, out: &mut Vec<u8>) {
    match i64::try_from(d.mantissa()) {
        Ok(short) => {
            out.extend_from_slice(&[SHORT_DECIMAL, d.precision(), d.scale()]);
            out.extend_from_slice(&short.to_le_bytes());
        }
        Err(_) => {
            out.extend_from_slice(&[DECIMAL, d.precision(), d.scale()]);
            out.extend_from_slice(&d.mantissa().to_le_bytes());
        }
    }
}

/// The length in groups of 7 bits, least first, then the bytes.
fn put_long(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    let mut len = bytes.len();
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(bytes);
}

/// Reads a row of as many values as there are places; long strings go where a string was.
///
/// # Errors
/// The bytes are not those of such a row.
pub fn unpack_row(bytes: &[u8], places: &mut [Value]) -> Result<(), Corrupt> {
    let mut rest = bytes;
    for (column, place) in places.iter_mut().enumerate() {
        unpack(&mut rest, place).ok_or(Corrupt::Value { column })?;
    }
    if rest.is_empty() { Ok(()) } else { Err(Corrupt::NoColumn { column: places.len() }) }
}

fn unpack(rest: &mut &[u8], place: &mut Value) -> Option<()> {
    let [tag] = take(rest)?;
    *place = match tag {
        NULL => Value::Null,
        FALSE => Value::Bit(false),
        TRUE => Value::Bit(true),
        TINY_INT => Value::TinyInt(u8::from_le_bytes(take(rest)?)),
        SMALL_INT => Value::SmallInt(i16::from_le_bytes(take(rest)?)),
        INT => Value::Int(i32::from_le_bytes(take(rest)?)),
        BIG_INT => Value::BigInt(i64::from_le_bytes(take(rest)?)),
        SHORT_DECIMAL => {
            let [precision, scale] = take(rest)?;
            Value::Decimal(Decimal::new(i64::from_le_bytes(take(rest)?).into(), precision, scale)?)
        }
        DECIMAL => {
            let [precision, scale] = take(rest)?;
            Value::Decimal(Decimal::new(i128::from_le_bytes(take(rest)?), precision, scale)?)
        }
        FLOAT => Value::Float(f64::from_le_bytes(take(rest)?)),
        REAL => Value::Real(f32::from_le_bytes(take(rest)?)),
        MONEY => Value::Money(i64::from_le_bytes(take(rest)?)),
        SMALL_MONEY => Value::SmallMoney(i32::from_le_bytes(take(rest)?)),
        STR => {
            let text = std::str::from_utf8(take_long(rest)?).ok()?;
            if let Value::Str(s) = place {
                s.clear();
                s.push_str(text);
                return Some(());
            }
            Value::Str(CompactString::new(text))
        }
        BYTES => Value::Bytes(take_long(rest)?.into()),
        DATE => Value::Date(i32::from_le_bytes(take(rest)?)),
        TIME => Value::Time(u64::from_le_bytes(take(rest)?)),
        DATE_TIME => Value::DateTime {
            days: i32::from_le_bytes(take(rest)?),
            ticks: u32::from_le_bytes(take(rest)?),
        },
        SMALL_DATE_TIME => Value::SmallDateTime {
            days: u16::from_le_bytes(take(rest)?),
            minutes: u16::from_le_bytes(take(rest)?),
        },
        DATE_TIME_2 => Value::DateTime2 {
            days: i32::from_le_bytes(take(rest)?),
            ticks: u64::from_le_bytes(take(rest)?),
        },
        DATE_TIME_OFFSET => Value::DateTimeOffset {
            days: i32::from_le_bytes(take(rest)?),
            ticks: u64::from_le_bytes(take(rest)?),
            offset: i16::from_le_bytes(take(rest)?),
        },
        GUID => Value::Guid(take(rest)?),
        VARIANT => crate::rowcell::variant::decode(take_long(rest)?)?,
        _ => return None,
    };
    Some(())
}

#[inline]
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

fn take_long<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut len = 0usize;
    for shift in (0..usize::BITS).step_by(7) {
        let [byte] = take(rest)?;
        len |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            let (head, tail) = rest.split_at_checked(len)?;
            *rest = tail;
            return Some(head);
        }
    }
    None
}

//! Normalised keys: bytes whose memcmp order is SQL's order. Guarantees: for values of the part's
//! type, keys compare as `ops::compare` does, NULL first, a descending part the other way round; no
//! key is a prefix of another with the same parts, so keys of several columns simply follow each
//! other. Keys of numbers, dates and GUIDs give their values back ([`keeps_values`]); no bytes make
//! a value that its type does not have.

use crate::collation::Collation;
use crate::datatype::DataType;
use crate::datetime::{DAY_TICKS, DAY_TICKS_300, MAX_DAY};
use crate::decimal::Decimal;
use crate::key_bytes::{
    GUID_ORDER, ordered_i32, put_any_decimal, put_bytes, put_float, put_guid, put_i32, turn,
};
use crate::value::Value;

/// One column of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyPart {
    pub ty: DataType,
    pub descending: bool,
    pub collation: Collation,
}

const NULL: u8 = 0;
const NOT_NULL: u8 = 1;
/// Digits of a decimal key that fits 8 bytes.
const SHORT_DECIMAL: u8 = 18;
/// 1753-01-01 and 9999-12-31 in days since 1900-01-01.
const FIRST_DATETIME: i32 = -53_690;
const LAST_DATETIME: i32 = 2_958_463;
const DAY_MINUTES: u16 = 1440;

/// Appends the key of these columns.
pub fn encode_key(cols: &[(&Value, KeyPart)], out: &mut Vec<u8>) {
    for (value, part) in cols {
        encode_key_part(value, part, out);
    }
}

/// Appends one column's part of a key. The value must be of the part's type (or NULL).
#[inline]
pub fn encode_key_part(value: &Value, part: &KeyPart, out: &mut Vec<u8>) {
    debug_assert!(value.is_kind_of(part.ty), "{value:?} in a key of {}", part.ty);
    match (value, part.descending) {
        // Most keys: of a length that is known, so it is no call.
        (Value::Int(n), false) => {
            let [a, b, c, d] = ordered_i32(*n);
            out.extend_from_slice(&[NOT_NULL, a, b, c, d]);
        }
        _ => encode_any_part(value, part, out),
    }
}

fn encode_any_part(value: &Value, part: &KeyPart, out: &mut Vec<u8>) {
    let start = out.len();
    encode_nullable(value, part, out);
    turn(part.descending, &mut out[start..]);
}

/// Appends one column's part of a key whose declared type is not at hand, as that of a sort is not:
/// the column's values are of one kind, and decimals may have any precision and scale. Such a key
/// is longer than one of [`encode_key_part`] and does not compare with it.
pub fn encode_sort_part(value: &Value, descending: bool, collation: Collation, out: &mut Vec<u8>) {
    let start = out.len();
    match value {
        Value::Decimal(d) => {
            out.push(NOT_NULL);
            put_any_decimal(*d, out);
        }
        // Only decimals look at the type.
        _ => encode_nullable(value, &KeyPart { ty: DataType::Int, descending, collation }, out),
    }
    turn(descending, &mut out[start..]);
}

fn encode_nullable(value: &Value, part: &KeyPart, out: &mut Vec<u8>) {
    if value.is_null() {
        out.push(NULL);
    } else {
        out.push(NOT_NULL);
        encode_value(value, part, out);
    }
}

fn encode_value(value: &Value, part: &KeyPart, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Int(n) => put_i32(*n, out),
        Value::Str(s) => part.collation.sort_key(s, out),
        Value::TinyInt(n) => out.push(*n),
        Value::BigInt(n) | Value::Money(n) => put_i64(*n, out),
        Value::SmallInt(n) => out.extend_from_slice(&((*n as u16) ^ 0x8000).to_be_bytes()),
        Value::Bit(b) => out.push(u8::from(*b)),
        Value::Decimal(d) => put_decimal(*d, part.ty, out),
        Value::SmallMoney(n) => put_i32(*n, out),
        Value::Float(f) => put_float(*f, out),
        Value::Real(f) => put_float(f64::from(*f), out),
        Value::Bytes(b) => put_bytes(b, out),
        Value::Date(days) => put_i32(*days, out),
        Value::Time(ticks) => out.extend_from_slice(&ticks.to_be_bytes()),
        Value::DateTime { days, ticks } => {
            put_i32(*days, out);
            out.extend_from_slice(&ticks.to_be_bytes());
        }
        Value::SmallDateTime { days, minutes } => {
            out.extend_from_slice(&days.to_be_bytes());
            out.extend_from_slice(&minutes.to_be_bytes());
        }
        // An instant is the same in every time zone: the offset is no part of the order.
        Value::DateTime2 { days, ticks } | Value::DateTimeOffset { days, ticks, .. } => {
            put_i32(*days, out);
            out.extend_from_slice(&ticks.to_be_bytes());
        }
        Value::Guid(g) => put_guid(g, out),
        Value::Variant(_) => crate::variant::key(value, out),
    }
}

fn put_i64(n: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&((n as u64) ^ (1 << 63)).to_be_bytes());
}

fn put_decimal(d: Decimal, ty: DataType, out: &mut Vec<u8>) {
    let (precision, scale) = match ty {
        DataType::Decimal { precision, scale, .. } => (precision, scale),
        _ => (d.precision(), d.scale()),
    };
    debug_assert_eq!(d.scale(), scale, "a decimal key holds one scale");
    let mantissa = d.mantissa();
    if precision <= SHORT_DECIMAL {
        let short =
            i64::try_from(mantissa).unwrap_or(if mantissa < 0 { i64::MIN } else { i64::MAX });
        put_i64(short, out);
    } else {
        out.extend_from_slice(&((mantissa as u128) ^ (1 << 127)).to_be_bytes());
    }
}

/// Whether a key keeps the values of a type as they are. Strings lose their case and trailing
/// blanks, binary values trailing zeros, -0.0 its sign, an instant its time zone.
pub fn keeps_values(ty: DataType) -> bool {
    let exact = ty.is_number() && !matches!(ty, DataType::Float | DataType::Real);
    let instant = ty.is_temporal() && !matches!(ty, DataType::DateTimeOffset(_));
    exact || instant || ty == DataType::UniqueIdentifier
}

/// Bytes of a value in a key, behind the one that says that it is not NULL; `None` where the value
/// decides.
pub fn key_width(ty: DataType) -> Option<usize> {
    Some(match ty {
        DataType::Bit | DataType::TinyInt => 1,
        DataType::SmallInt => 2,
        DataType::Int | DataType::SmallMoney | DataType::Date | DataType::SmallDateTime => 4,
        DataType::BigInt | DataType::Money | DataType::Float | DataType::Real => 8,
        DataType::Time(_) | DataType::DateTime => 8,
        DataType::Decimal { precision, .. } if precision <= SHORT_DECIMAL => 8,
        DataType::DateTime2(_) | DataType::DateTimeOffset(_) => 12,
        DataType::Decimal { .. } | DataType::UniqueIdentifier => 16,
        _ => return None,
    })
}

/// Whether a key tells where a value of a type ends in it ([`key_part_length`]).
pub fn has_key_end(ty: DataType) -> bool {
    key_width(ty).is_some() || ty.is_string() || is_escaped(ty)
}

/// Whether values are bytes that a key ends with a 0.
fn is_escaped(ty: DataType) -> bool {
    ty.is_binary() || ty == DataType::HierarchyId
}

/// Bytes of one column's part at the beginning of a key. `None`: it is no such key, or none of a
/// type that [has an end](has_key_end).
pub fn key_part_length(part: &KeyPart, key: &[u8]) -> Option<usize> {
    let turned = |byte: &u8| if part.descending { !*byte } else { *byte };
    let (first, rest) = key.split_first()?;
    let length = match turned(first) {
        NULL => 0,
        NOT_NULL => match key_width(part.ty) {
            Some(width) => width,
            None if part.ty.is_string() => part.collation.key_length(rest.iter().map(turned))?,
            None if is_escaped(part.ty) => rest.iter().position(|byte| turned(byte) == 0)? + 1,
            None => return None,
        },
        _ => return None,
    };
    (length <= rest.len()).then_some(1 + length)
}

/// Passes by one column's part at the beginning of a key. `None`: it is no such key, or the type
/// has no [`key_width`].
#[inline]
pub fn skip_key_part(part: &KeyPart, key: &mut &[u8]) -> Option<()> {
    let width = match (Bytes { key: &mut *key, descending: part.descending }).take::<1>()? {
        [NULL] => 0,
        [NOT_NULL] => key_width(part.ty)?,
        _ => return None,
    };
    *key = key.get(width..)?;
    Some(())
}

/// As [`decode_key_part`], written where it belongs.
#[inline]
pub fn read_key_part(part: &KeyPart, key: &mut &[u8], place: &mut Value) -> Option<()> {
    // Most keys, as they are encoded.
    if part.ty == DataType::Int
        && !part.descending
        && let Some((&[NOT_NULL, a, b, c, d], rest)) = key.split_first_chunk::<5>()
    {
        *place = Value::Int((u32::from_be_bytes([a, b, c, d]) ^ 0x8000_0000) as i32);
        *key = rest;
        return Some(());
    }
    *place = decode_key_part(part, key)?;
    Some(())
}

/// Takes one column's part from the beginning of a key: the other way round than
/// [`encode_key_part`], for types whose values a key keeps. `None`: it is no such key.
pub fn decode_key_part(part: &KeyPart, key: &mut &[u8]) -> Option<Value> {
    let mut bytes = Bytes { key, descending: part.descending };
    match bytes.take::<1>()? {
        [NULL] => return Some(Value::Null),
        [NOT_NULL] => {}
        _ => return None,
    }
    Some(match part.ty {
        DataType::Bit => match bytes.take::<1>()? {
            [0] => Value::Bit(false),
            [1] => Value::Bit(true),
            _ => return None,
        },
        DataType::TinyInt => Value::TinyInt(u8::from_be_bytes(bytes.take()?)),
        DataType::SmallInt => Value::SmallInt((u16::from_be_bytes(bytes.take()?) ^ 0x8000) as i16),
        DataType::Int => Value::Int(bytes.int()?),
        DataType::BigInt => Value::BigInt(bytes.bigint()?),
        DataType::Money => Value::Money(bytes.bigint()?),
        DataType::SmallMoney => Value::SmallMoney(bytes.int()?),
        DataType::Decimal { precision, scale, .. } => {
            let mantissa = match precision <= SHORT_DECIMAL {
                true => i128::from(bytes.bigint()?),
                false => (u128::from_be_bytes(bytes.take()?) ^ (1 << 127)) as i128,
            };
            Value::Decimal(Decimal::new(mantissa, precision, scale)?)
        }
        DataType::Date => Value::Date(bytes.day()?),
        DataType::Time(_) => Value::Time(bytes.time()?),
        DataType::DateTime => {
            let (days, ticks) = (bytes.int()?, u32::from_be_bytes(bytes.take()?));
            let known = ticks < DAY_TICKS_300 && (FIRST_DATETIME..=LAST_DATETIME).contains(&days);
            known.then_some(Value::DateTime { days, ticks })?
        }
        DataType::SmallDateTime => {
            let (days, minutes) =
                (u16::from_be_bytes(bytes.take()?), u16::from_be_bytes(bytes.take()?));
            (minutes < DAY_MINUTES).then_some(Value::SmallDateTime { days, minutes })?
        }
        DataType::DateTime2(_) => Value::DateTime2 { days: bytes.day()?, ticks: bytes.time()? },
        DataType::UniqueIdentifier => {
            let ordered: [u8; 16] = bytes.take()?;
            let mut guid = [0; 16];
            GUID_ORDER.iter().zip(ordered).for_each(|(at, byte)| guid[*at] = byte);
            Value::Guid(guid)
        }
        _ => return None,
    })
}

/// The bytes of a key from the beginning.
struct Bytes<'k, 'b> {
    key: &'k mut &'b [u8],
    descending: bool,
}

impl Bytes<'_, '_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.key.split_first_chunk::<N>()?;
        *self.key = rest;
        let mut first = *first;
        turn(self.descending, &mut first);
        Some(first)
    }

    fn int(&mut self) -> Option<i32> {
        Some((u32::from_be_bytes(self.take()?) ^ 0x8000_0000) as i32)
    }

    fn bigint(&mut self) -> Option<i64> {
        Some((u64::from_be_bytes(self.take()?) ^ (1 << 63)) as i64)
    }

    fn day(&mut self) -> Option<i32> {
        self.int().filter(|days| (0..=MAX_DAY).contains(days))
    }

    /// Ticks since midnight.
    fn time(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take()?)).filter(|ticks| *ticks < DAY_TICKS)
    }
}

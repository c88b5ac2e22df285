//! Values to numbers: bit, integers, decimals, floats, money.

use super::binary;
use crate::datatype::DataType;
use crate::datetime::DAY_TICKS_300;
use crate::decimal::{Decimal, ParseDecimalError};
use crate::error::SqlError;
use crate::numtext::{self, ParsedInteger};
use crate::value::Value;

pub(super) fn to_bit(value: &Value, from: DataType) -> Result<Value, SqlError> {
    let set = match value {
        Value::Str(s) => {
            let text = s.trim();
            if text.eq_ignore_ascii_case("true") {
                true
            } else if text.eq_ignore_ascii_case("false") {
                false
            } else {
                match numtext::parse_integer(text) {
                    ParsedInteger::Number(n) => n != 0,
                    _ => return Err(SqlError::conversion_failed(from, s, DataType::Bit)),
                }
            }
        }
        Value::Decimal(d) => !d.is_zero(),
        Value::Float(f) => *f != 0.0,
        Value::Real(f) => *f != 0.0,
        Value::Money(m) => *m != 0,
        Value::SmallMoney(m) => *m != 0,
        Value::Bytes(b) => b.iter().any(|b| *b != 0),
        Value::DateTime { .. } | Value::SmallDateTime { .. } => days_as_float(value) != 0.0,
        other => other.as_i64().is_some_and(|n| n != 0),
    };
    Ok(Value::Bit(set))
}

/// An integer as a value of an integer type, or `None` when it does not fit.
pub(crate) fn narrow_integer(n: i64, to: DataType) -> Option<Value> {
    match to {
        DataType::TinyInt => u8::try_from(n).ok().map(Value::TinyInt),
        DataType::SmallInt => i16::try_from(n).ok().map(Value::SmallInt),
        DataType::Int => i32::try_from(n).ok().map(Value::Int),
        DataType::BigInt => Some(Value::BigInt(n)),
        DataType::Bit => Some(Value::Bit(n != 0)),
        _ => None,
    }
}

pub(super) fn integer_value(
    value: &Value,
    from: DataType,
    to: DataType,
) -> Result<Value, SqlError> {
    let n = match value {
        Value::Str(s) => return integer_from_text(s, from, to),
        Value::Decimal(d) => {
            i64::try_from(d.truncated()).map_err(|_| SqlError::overflow_from("numeric", to))?
        }
        Value::Float(f) => return integer_from_float(*f, to),
        Value::Real(f) => return integer_from_float(f64::from(*f), to),
        Value::Money(m) => rounded_units(*m),
        Value::SmallMoney(m) => rounded_units(i64::from(*m)),
        Value::Bytes(b) => binary::integer_from_bytes(b, to),
        // Half a day and more counts as the next.
        Value::DateTime { .. } | Value::SmallDateTime { .. } => {
            (days_as_float(value) + 0.5).floor() as i64
        }
        other => other.as_i64().ok_or_else(|| SqlError::explicit_not_allowed(from, to))?,
    };
    narrow_integer(n, to).ok_or_else(|| match (value, to) {
        (Value::SmallInt(_) | Value::Int(_), DataType::TinyInt | DataType::SmallInt) => {
            SqlError::integer_overflow(to, n)
        }
        (Value::Decimal(_), _) => SqlError::overflow_from("numeric", to),
        _ => SqlError::overflow(to),
    })
}

/// Whole units of money, rounded half away from zero.
fn rounded_units(money: i64) -> i64 {
    (money / 10_000) + (money % 10_000) / 5_000
}

fn integer_from_text(text: &str, from: DataType, to: DataType) -> Result<Value, SqlError> {
    match (numtext::parse_integer(text), to) {
        (ParsedInteger::Number(n), _) => narrow_integer(n, to).ok_or_else(|| {
            // Beyond int, SQL Server reports the int conversion that it does first.
            let reported = if i32::try_from(n).is_err() { DataType::Int } else { to };
            SqlError::string_overflows_integer(from, text, reported)
        }),
        (ParsedInteger::TooLarge, DataType::BigInt) => Err(SqlError::overflow(to)),
        (ParsedInteger::TooLarge, _) => {
            Err(SqlError::string_overflows_integer(from, text, DataType::Int))
        }
        (ParsedInteger::NotANumber, DataType::BigInt) => Err(SqlError::error_converting(from, to)),
        (ParsedInteger::NotANumber, _) => Err(SqlError::conversion_failed(from, text, to)),
    }
}

fn integer_from_float(f: f64, to: DataType) -> Result<Value, SqlError> {
    let whole = f.trunc();
    // 2^63 itself is the first float beyond bigint.
    let limit = 2f64.powi(63);
    let fits = (-limit..limit).contains(&whole);
    fits.then(|| narrow_integer(whole as i64, to)).flatten().ok_or_else(|| match to {
        DataType::BigInt => SqlError::overflow_from("float", to),
        _ => SqlError::float_overflow(to, f),
    })
}

/// Days since 1900-01-01 with the time of day as a fraction.
fn days_as_float(value: &Value) -> f64 {
    match *value {
        Value::DateTime { days, ticks } => {
            f64::from(days) + f64::from(ticks) / f64::from(DAY_TICKS_300)
        }
        Value::SmallDateTime { days, minutes } => f64::from(days) + f64::from(minutes) / 1440.0,
        _ => 0.0,
    }
}

pub(super) fn to_decimal(
    value: &Value,
    from: DataType,
    precision: u8,
    scale: u8,
) -> Result<Value, SqlError> {
    let to = DataType::decimal(precision, scale);
    let source = match value {
        Value::Decimal(d) => *d,
        Value::Money(m) => Decimal::new(i128::from(*m), 19, 4).unwrap_or(Decimal::zero(19, 4)),
        Value::SmallMoney(m) => Decimal::new(i128::from(*m), 10, 4).unwrap_or(Decimal::zero(10, 4)),
        Value::Str(s) => match Decimal::parse(s) {
            Ok(d) => d,
            Err(ParseDecimalError::Overflow) => {
                return Err(SqlError::overflow_from(from.message_name(), to));
            }
            Err(ParseDecimalError::Syntax) => return Err(SqlError::error_converting(from, to)),
        },
        Value::Float(_) | Value::Real(_) | Value::DateTime { .. } | Value::SmallDateTime { .. } => {
            let f = match value {
                Value::Float(f) => *f,
                Value::Real(f) => f64::from(*f),
                _ => days_as_float(value),
            };
            return Decimal::from_f64(f, precision, scale)
                .map(Value::Decimal)
                .ok_or_else(|| SqlError::overflow_from(from.message_name(), to));
        }
        Value::Bytes(b) => {
            binary::decimal_from_bytes(b).ok_or_else(|| SqlError::error_converting(from, to))?
        }
        other => Decimal::from_i64(
            other.as_i64().ok_or_else(|| SqlError::explicit_not_allowed(from, to))?,
        ),
    };
    source
        .rescale(precision, scale)
        .map(Value::Decimal)
        .ok_or_else(|| SqlError::overflow_from(from.message_name(), to))
}

pub(super) fn to_float(value: &Value, from: DataType, to: DataType) -> Result<Value, SqlError> {
    let f = match value {
        Value::Float(f) => *f,
        Value::Real(f) => f64::from(*f),
        Value::Decimal(d) => d.to_f64(),
        Value::Money(m) => *m as f64 / 10_000.0,
        Value::SmallMoney(m) => f64::from(*m) / 10_000.0,
        Value::Str(s) => {
            numtext::parse_float(s).ok_or_else(|| SqlError::error_converting(from, to))?
        }
        Value::DateTime { .. } | Value::SmallDateTime { .. } => days_as_float(value),
        other => other.as_i64().ok_or_else(|| SqlError::explicit_not_allowed(from, to))? as f64,
    };
    if to == DataType::Float {
        return Ok(Value::Float(f));
    }
    let real = f as f32;
    if real.is_finite() { Ok(Value::Real(real)) } else { Err(SqlError::float_overflow(to, f)) }
}

/// 1/10000 of a money value, as the type's value.
fn money_value(units: i64, to: DataType) -> Option<Value> {
    match to {
        DataType::Money => Some(Value::Money(units)),
        _ => i32::try_from(units).ok().map(Value::SmallMoney),
    }
}

pub(super) fn to_money(value: &Value, from: DataType, to: DataType) -> Result<Value, SqlError> {
    let fail = || match value {
        Value::Str(_) => SqlError::money_overflow(to),
        _ => SqlError::overflow_from(from.message_name(), to),
    };
    let from_decimal = |d: Option<Decimal>| d.and_then(|d| i64::try_from(d.mantissa()).ok());
    let units = match value {
        Value::Money(m) => Some(*m),
        Value::SmallMoney(m) => Some(i64::from(*m)),
        Value::Decimal(d) => from_decimal(d.rescale(38, 4)),
        Value::Float(f) => from_decimal(Decimal::from_f64(*f, 38, 4)),
        Value::Real(f) => from_decimal(Decimal::from_f64(f64::from(*f), 38, 4)),
        Value::Str(s) => numtext::parse_money(s).ok_or_else(|| SqlError::money_syntax(to))?,
        Value::Bytes(b) => Some(binary::integer_from_bytes(b, DataType::BigInt)),
        Value::DateTime { .. } | Value::SmallDateTime { .. } => {
            from_decimal(Decimal::from_f64(days_as_float(value), 38, 4))
        }
        other => {
            let n = other.as_i64().ok_or_else(|| SqlError::explicit_not_allowed(from, to))?;
            n.checked_mul(10_000)
        }
    };
    units.and_then(|units| money_value(units, to)).ok_or_else(fail)
}

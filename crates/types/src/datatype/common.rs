//! The type in which two others meet.

use super::conversions::{Conversion, conversion};
use super::{DataType, Len, MAX_BYTES, MAX_UNITS};
use crate::error::SqlError;

/// The type that two branches of CASE, COALESCE, UNION or a comparison meet in: the one of higher
/// precedence, widened so that it holds values of both.
///
/// Errors: 206 when the lower type does not convert implicitly to the higher.
pub fn common_type(a: DataType, b: DataType) -> Result<DataType, SqlError> {
    if a == b {
        return Ok(a.named_as([a, b]));
    }
    let (high, low) = if a.precedence() >= b.precedence() { (a, b) } else { (b, a) };
    match conversion(low, high) {
        Conversion::Implicit => Ok(widened(high, low)),
        Conversion::ExplicitOnly | Conversion::None => Err(SqlError::type_clash(low, high)),
    }
}

fn widened(high: DataType, low: DataType) -> DataType {
    match high {
        _ if high.is_old_lob() => high,
        DataType::Decimal { precision, scale, .. } => match low.as_decimal() {
            Some((p, s)) => {
                let integral = (precision - scale).max(p - s);
                let scale = scale.max(s).min(38 - integral);
                DataType::decimal(integral + scale, scale).named_as([high, low])
            }
            None => high,
        },
        DataType::Time(s) => DataType::Time(s.max(fraction_of(low))),
        DataType::DateTime2(s) => DataType::DateTime2(s.max(fraction_of(low))),
        DataType::DateTimeOffset(s) => DataType::DateTimeOffset(s.max(fraction_of(low))),
        _ if high.is_string() || high.is_binary() => widened_string(high, low),
        _ => high,
    }
}

fn fraction_of(ty: DataType) -> u8 {
    if ty.is_temporal() { ty.scale() } else { 0 }
}

fn widened_string(high: DataType, low: DataType) -> DataType {
    let unbounded = high.is_lob() || low.is_lob();
    let longest = high.length().unwrap_or(0).max(low.length().unwrap_or(0));
    let cap = |limit: u16| u16::try_from(longest).unwrap_or(limit).min(limit);
    let len = |limit: u16| if unbounded { Len::Max } else { Len::N(cap(limit)) };
    match high {
        DataType::Char(_) => DataType::Char(cap(MAX_BYTES)),
        // A fixed type of higher precedence still becomes variable when the other side is.
        DataType::NChar(_) if low.is_variable() => DataType::NVarChar(len(MAX_UNITS)),
        DataType::NChar(_) => DataType::NChar(cap(MAX_UNITS)),
        DataType::Binary(_) => DataType::Binary(cap(MAX_BYTES)),
        DataType::RowVersion => high,
        DataType::VarChar(_) => DataType::VarChar(len(MAX_BYTES)),
        DataType::NVarChar(_) => DataType::NVarChar(len(MAX_UNITS)),
        _ => DataType::VarBinary(len(MAX_BYTES)),
    }
}

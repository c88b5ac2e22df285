//! What a conversion does to the order of values, and between which values of the old type those
//! lie that it turns into a given one: what a condition on a converted column says of the column.
//! Guarantee: the ends that [`reach`] gives leave out no value that the conversion turns into the
//! given one or into one on the inner side of that end; they may let in others.

use crate::convert::{Mode, convert};
use crate::datatype::DataType;
use crate::datetime::{DAY_TICKS, MINUTE, Moment, split};
use crate::decimal::{Decimal, MAX_PRECISION};
use crate::value::Value;

/// How much of the order of values a conversion keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptOrder {
    /// All: different values stay different, a larger one stays larger.
    Each,
    /// Different values may become one: a larger one never becomes smaller.
    Rounded,
    /// Values are moved by less than a known distance: an instant becomes the local time of its
    /// zone, and another one a moment later an earlier time.
    Near,
}

/// What a conversion keeps of the order of values; `None` where nothing is known of it.
pub fn kept(from: DataType, to: DataType) -> Option<KeptOrder> {
    if from == to && (from.is_number() || from.is_temporal()) {
        return Some(KeptOrder::Each);
    }
    if from.is_temporal() && to.is_temporal() {
        return kept_of_dates(from, to);
    }
    match (from, to) {
        (DataType::Real, DataType::Float) => return Some(KeptOrder::Each),
        (DataType::Float, DataType::Real) => return Some(KeptOrder::Rounded),
        _ => {}
    }
    let (precision, scale) = from.as_decimal()?;
    let exactly = |digits: u8| scale == 0 && precision <= digits;
    let each = match to {
        // One bit stands for all numbers but 0, which lie on both sides of it.
        DataType::Bit => return (from == DataType::Bit).then_some(KeptOrder::Each),
        DataType::Float => exactly(15),
        DataType::Real => exactly(7),
        _ => to.as_decimal()?.1 >= scale,
    };
    Some(if each { KeptOrder::Each } else { KeptOrder::Rounded })
}

fn kept_of_dates(from: DataType, to: DataType) -> Option<KeptOrder> {
    use DataType::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime};
    // The time of day has no order of instants, nor is a time an instant.
    let (from_unit, to_unit) = (unit(from)?, unit(to)?);
    Some(match (from, to) {
        (Date, _) => KeptOrder::Each,
        (DateTimeOffset(_), DateTimeOffset(_)) if to_unit > from_unit => KeptOrder::Rounded,
        (DateTimeOffset(_), DateTimeOffset(_)) => KeptOrder::Each,
        (DateTimeOffset(_), _) => KeptOrder::Near,
        (SmallDateTime, DateTime | DateTime2(_) | DateTimeOffset(_)) => KeptOrder::Each,
        // A three-hundredth of a second needs all digits.
        (DateTime, DateTime2(7) | DateTimeOffset(7)) => KeptOrder::Each,
        (DateTime2(_), DateTime2(_) | DateTimeOffset(_)) if to_unit <= from_unit => KeptOrder::Each,
        _ => KeptOrder::Rounded,
    })
}

/// What two neighbours of a type of dates are apart, in 100 ns, rounded up.
fn unit(ty: DataType) -> Option<u64> {
    Some(match ty {
        DataType::Date => DAY_TICKS,
        DataType::SmallDateTime => MINUTE,
        DataType::DateTime => 33_334,
        DataType::DateTime2(scale) | DataType::DateTimeOffset(scale) => {
            10u64.pow(7 - u32::from(scale.min(7)))
        }
        _ => return None,
    })
}

/// Ends of the values of type `from` of which a value of type `to` tells: no value that becomes
/// this one or a larger one lies below the first, none that becomes this one or a smaller one above
/// the second. `None` where the type's own end is the only one.
pub fn reach(value: &Value, from: DataType, to: DataType) -> (Option<Value>, Option<Value>) {
    match *value {
        Value::Float(f) => around(f, f.abs() * 1e-12, from),
        // The smallest ones have fewer digits.
        Value::Real(f) => around(f64::from(f), f64::from(f).abs() * 1e-6 + 1e-44, from),
        _ if matches!(to, DataType::Float | DataType::Real) => (None, None),
        _ if to.is_temporal() => of_moment(value, from, to).unwrap_or((None, None)),
        _ => of_exact(value, from, to).unwrap_or((None, None)),
    }
}

/// Of a date. What becomes it is at most a unit of its type away from it, and by as much as zones
/// differ if they are taken off.
fn of_moment(
    value: &Value,
    from: DataType,
    to: DataType,
) -> Option<(Option<Value>, Option<Value>)> {
    const MOST_OFFSET: i128 = 840 * MINUTE as i128;
    let (from_unit, to_unit) = (i128::from(unit(from)?), i128::from(unit(to)?));
    let at = Moment::of(value)?.utc_total();
    let (mut before, mut after) = match to {
        // The time is cut off.
        DataType::Date => (0, to_unit - from_unit),
        _ => (to_unit, to_unit),
    };
    if kept(from, to) == Some(KeptOrder::Near) {
        (before, after) = (before + MOST_OFFSET, after + MOST_OFFSET);
    }
    let moment = |total: i128| {
        let (days, ticks) = split(total);
        Moment { days: i32::try_from(days).ok()?, ticks, offset: 0 }.to_value(from)
    };
    Some((moment(at - before), moment(at + after)))
}

/// Of an exact number: what becomes it is less than one of its last digit away.
fn of_exact(value: &Value, from: DataType, to: DataType) -> Option<(Option<Value>, Option<Value>)> {
    let (mantissa, scale) = match value {
        Value::Decimal(d) => {
            let (_, scale) = to.as_decimal()?;
            (d.rescale(MAX_PRECISION, scale)?.mantissa(), scale)
        }
        Value::Money(n) => (i128::from(*n), 4),
        Value::SmallMoney(n) => (i128::from(*n), 4),
        other => (i128::from(other.as_i64()?), 0),
    };
    let number = |mantissa: i128| {
        let d = Decimal::new(mantissa, MAX_PRECISION, scale)?;
        convert(&Value::Decimal(d), d.data_type(), from, 0, Mode::Explicit).ok()
    };
    Some((number(mantissa - 1), number(mantissa + 1)))
}

/// Of an approximate number, which differs from what became it by less than this.
fn around(f: f64, by: f64, from: DataType) -> (Option<Value>, Option<Value>) {
    let number = |f: f64| convert(&Value::Float(f), DataType::Float, from, 0, Mode::Explicit).ok();
    (number(f - by), number(f + by))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collation::Collation;
    use crate::ops::compare;
    use std::cmp::Ordering;

    const TEXTS: &[&str] = &[
        "0001-01-01 00:00:00",
        "0001-01-01 23:59:59.9999999",
        "1752-12-31 23:59:59.9999999",
        "1753-01-01 00:00:00",
        "1899-12-31 23:59:30",
        "1900-01-01 00:00:00",
        "2020-02-28 23:59:29.998",
        "2020-02-28 23:59:29.999",
        "2020-02-28 23:59:30",
        "2020-02-28 23:59:59.997",
        "2020-02-28 23:59:59.998",
        "2020-02-28 23:59:59.9999999",
        "2020-02-29 00:00:00",
        "2020-02-29 00:00:00.001",
        "2020-02-29 00:00:00.0016667",
        "2020-02-29 00:00:00.0033333",
        "2020-02-29 00:00:00.0000001",
        "2020-02-29 11:59:59.9",
        "2020-03-01 00:00:00",
        "2020-02-29 00:00:00 +14:00",
        "2020-02-29 00:00:00 -14:00",
        "2020-02-29 23:59:59.9999999 +14:00",
        "2020-02-29 23:59:59.9999999 -14:00",
        "2020-02-29 12:00:00.5 +05:30",
        "2079-06-06 23:59:00",
        "2079-06-06 23:58:31",
        "9999-12-31 00:00:00",
        "9999-12-31 23:59:59.997",
        "9999-12-31 23:59:59.9999999",
    ];

    fn dates() -> Vec<DataType> {
        use DataType::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime};
        let mut all = vec![Date, SmallDateTime, DateTime];
        all.extend((0..=7).flat_map(|scale| [DateTime2(scale), DateTimeOffset(scale)]));
        all
    }

    /// The values of a type that these texts are.
    fn values(ty: DataType, texts: &[&str]) -> Vec<Value> {
        let text = |text: &&str| {
            let text = Value::str(text);
            // A text with a zone is no datetime: by way of an instant it is.
            let wide = if ty.is_temporal() { DataType::DateTimeOffset(7) } else { ty };
            let value = convert(&text, text.natural_type(), wide, 0, Mode::Explicit).ok()?;
            convert(&value, wide, ty, 0, Mode::Explicit).ok()
        };
        texts.iter().filter_map(text).collect()
    }

    fn order(a: &Value, b: &Value) -> Ordering {
        compare(a, b, Collation::BIN2).expect("of one type")
    }

    /// All pairs of values, as they are and as they are converted.
    fn check(from: DataType, to: DataType, texts: &[&str]) -> usize {
        let Some(kept) = kept(from, to) else { return 0 };
        let there = |x: &Value| convert(x, from, to, 0, Mode::Explicit).ok();
        let values = values(from, texts);
        let all: Vec<(&Value, Value)> =
            values.iter().filter_map(|x| Some((x, there(x)?))).collect();
        for (x, fx) in &all {
            let (least, greatest) = reach(fx, from, to);
            for (y, fy) in &all {
                let what = format!("{from} to {to}: {x:?} is {fx:?}, {y:?} is {fy:?}");
                match kept {
                    KeptOrder::Each => assert_eq!(order(x, y), order(fx, fy), "{what}"),
                    KeptOrder::Rounded if order(x, y).is_lt() => {
                        assert!(order(fx, fy).is_le(), "{what}")
                    }
                    _ => {}
                }
                if kept == KeptOrder::Each {
                    continue;
                }
                if order(fy, fx).is_ge() {
                    assert!(
                        least.as_ref().is_none_or(|end| order(y, end).is_ge()),
                        "{what}: {least:?}"
                    );
                }
                if order(fy, fx).is_le() {
                    assert!(
                        greatest.as_ref().is_none_or(|end| order(y, end).is_le()),
                        "{what}: {greatest:?}"
                    );
                }
            }
        }
        all.len()
    }

    #[test]
    fn dates_keep_what_is_said_of_them() {
        let mut seen = 0;
        for from in dates() {
            for to in dates().into_iter().filter(|to| *to != from) {
                seen += check(from, to, TEXTS);
            }
        }
        assert!(seen > 4000, "{seen}");
    }

    #[test]
    fn numbers_keep_what_is_said_of_them() {
        use DataType::{BigInt, Bit, Float, Int, Money, Real, SmallInt, SmallMoney, TinyInt};
        let texts = [
            "-9223372036854775808",
            "-9007199254740993",
            "-2147483648",
            "-16777217",
            "-5.5",
            "-5.4999",
            "-1",
            "-0.5",
            "-0.0001",
            "0",
            "0.00001",
            "0.1",
            "0.28999999",
            "0.29",
            "0.4999",
            "0.5",
            "0.9999999",
            "1",
            "1.005",
            "1.5",
            "5.4999",
            "5.5",
            "99.99",
            "255",
            "32767",
            "16777216",
            "16777217",
            "2147483647",
            "9007199254740992",
            "9007199254740993",
            "9223372036854775807",
            "99999999999999999999999999999999999999",
        ];
        let decimals = [(3, 0), (5, 2), (10, 4), (18, 6), (38, 0), (38, 10)];
        let mut all = vec![Bit, TinyInt, SmallInt, Int, BigInt, SmallMoney, Money];
        all.extend(decimals.map(|(precision, scale)| DataType::decimal(precision, scale)));
        let mut seen = 0;
        for from in all.clone() {
            for to in all.iter().copied().chain([Float, Real]).filter(|to| *to != from) {
                seen += check(from, to, &texts);
            }
        }
        let floats =
            ["-1e300", "-3e38", "-16777217", "-1e-50", "-0", "0", "1e-50", "1e-45", "1e-40", "0.1"];
        seen +=
            check(Float, Real, &floats) + check(Real, Float, &floats) + check(Float, Real, &texts);
        assert!(seen > 500, "{seen}");
        assert_eq!(kept(Int, Bit), None);
        assert_eq!(kept(Int, DataType::decimal(12, 2)), Some(KeptOrder::Each));
        assert_eq!(kept(BigInt, Float), Some(KeptOrder::Rounded));
    }

    #[test]
    fn a_day_is_from_its_first_moment_to_its_last() {
        let day = Value::Date(737_483);
        let of = |from| reach(&day, from, DataType::Date);
        let Some(Value::DateTime { days, ticks }) = of(DataType::DateTime).1 else {
            panic!("an end")
        };
        assert_eq!((days + 693_595, ticks), (737_483, 25_919_999));
        let (Some(first), Some(last)) = of(DataType::DateTime2(3)) else { panic!("two ends") };
        assert!(matches!(first, Value::DateTime2 { days: 737_483, ticks: 0 }), "{first:?}");
        assert!(
            matches!(last, Value::DateTime2 { days: 737_483, ticks: 863_999_990_000 }),
            "{last:?}"
        );
        // Beyond the type's own ends there is nothing to name.
        assert!(reach(&Value::Date(0), DataType::DateTime, DataType::Date).0.is_none());
        assert!(reach(&Value::Date(3_652_058), DataType::DateTime, DataType::Date).1.is_some());
    }
}

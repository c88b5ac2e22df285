//! Date functions by units: DATETRUNC, DATE_BUCKET; TODATETIMEOFFSET and DATETIMEOFFSETFROMPARTS.
//! Guarantees: the result has the type of the date (a string becomes datetime2); a unit finer than
//! the type, or one that the type does not have, is error 9810.

use types::datetime::{self, DAY_TICKS, DatePart, Moment, civil_from_days, days_from_civil};
use types::{DataType, SqlError, Value, msg};

use super::date::{const_scale, offset_minutes, part, scaled_fraction};
use super::{ArgRule as A, CallCx, Function, Stability, int_arg};
use crate::Expr;

const fn f(
    name: &'static str,
    count: (u8, u8),
    args: &'static [A],
    result: super::ResultRule,
    eval: super::Eval,
) -> Function {
    Function {
        name,
        min: count.0,
        max: count.1,
        args,
        result,
        strict: true,
        stability: Stability::Pure,
        nullable: false,
        eval,
    }
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    Function {
        // Weeks begin where SET DATEFIRST says.
        stability: Stability::Statement,
        ..f("datetrunc", (2, 2), &[A::Any, A::Moment], |t, _| type_of(t, 1), datetrunc)
    },
    f("date_bucket", (3, 4), &[A::Any, A::BigInt, A::Moment], |t, _| type_of(t, 2), date_bucket),
    f(
        "todatetimeoffset",
        (2, 2),
        &[A::Moment, A::Any],
        |t, _| Ok(DataType::DateTimeOffset(fraction_digits(type_of(t, 0)?))),
        todatetimeoffset,
    ),
    f("datetimeoffsetfromparts", (10, 10), &[A::Int], offset_parts_type, |a, cx| {
        let (hours, minutes) = (int_arg(a, 7), int_arg(a, 8));
        let same_side = hours == 0 || minutes == 0 || (hours < 0) == (minutes < 0);
        if !same_side || minutes.abs() > 59 {
            return Err(SqlError::construct_date(cx.ty));
        }
        let fraction = scaled_fraction(int_arg(a, 6), cx.ty);
        datetime::from_parts(
            [int_arg(a, 0), int_arg(a, 1), int_arg(a, 2)],
            [int_arg(a, 3), int_arg(a, 4), int_arg(a, 5), fraction],
            hours * 60 + minutes,
            cx.ty,
        )
    }),
];

fn type_of(types: &[DataType], at: usize) -> Result<DataType, SqlError> {
    types.get(at).copied().ok_or_else(|| SqlError::internal("an argument is missing"))
}

/// Digits of a second's fraction that a type keeps.
fn fraction_digits(ty: DataType) -> u8 {
    match ty {
        DataType::DateTime2(n) | DataType::Time(n) | DataType::DateTimeOffset(n) => n,
        DataType::DateTime => 3,
        _ => 0,
    }
}

fn offset_parts_type(_: &[DataType], exprs: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::DateTimeOffset(const_scale(exprs, 9)?))
}

/// Ticks of 100 ns of a unit of a fixed length up to a day.
fn unit_ticks(part: DatePart) -> Option<u64> {
    Some(match part {
        DatePart::Hour => DAY_TICKS / 24,
        DatePart::Minute => DAY_TICKS / 1440,
        DatePart::Second => DAY_TICKS / 86_400,
        DatePart::Millisecond => 10_000,
        DatePart::Microsecond => 10,
        _ => return None,
    })
}

/// Error 9810 for a unit that the type does not have.
fn check_unit(part: DatePart, function: &str, ty: DataType) -> Result<(), SqlError> {
    let of_day = unit_ticks(part).is_some();
    let fits = match (ty, part) {
        (_, DatePart::Weekday | DatePart::TzOffset | DatePart::Nanosecond) => false,
        (DataType::Date, _) => !of_day,
        (DataType::Time(_), _) if !of_day => false,
        (
            DataType::SmallDateTime,
            DatePart::Second | DatePart::Millisecond | DatePart::Microsecond,
        ) => false,
        (_, DatePart::Millisecond) => fraction_digits(ty) >= 3,
        (_, DatePart::Microsecond) => fraction_digits(ty) >= 6,
        _ => true,
    };
    if fits { Ok(()) } else { Err(SqlError::datepart_unsupported(part.name(), function, ty)) }
}

fn datetrunc(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let part = part(args)?;
    check_unit(part, "datetrunc", cx.ty)?;
    let Some(moment) = Moment::of(&args[1]) else { return Ok(Value::Null) };
    let (year, month, _) = civil_from_days(moment.days);
    let first_of = |month| days_from_civil(year, month, 1);
    // Day 0 is a Monday.
    let week = |first: i32| moment.days.checked_sub((moment.days - (first - 1)).rem_euclid(7));
    let days = match part {
        DatePart::Year => first_of(1),
        DatePart::Quarter => first_of((month - 1) / 3 * 3 + 1),
        DatePart::Month => first_of(month),
        DatePart::Week => week(i32::from(cx.rt.datefirst()?)),
        DatePart::IsoWeek => week(1),
        _ => Some(moment.days),
    };
    let ticks = unit_ticks(part).map_or(0, |unit| moment.ticks - moment.ticks % unit);
    let cut = days.filter(|days| *days >= 0).map(|days| Moment { days, ticks, ..moment });
    cut.and_then(|moment| moment.to_value(cx.ty)).ok_or_else(|| SqlError::dateadd_overflow(cx.ty))
}

fn date_bucket(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let part = part(args)?;
    if matches!(part, DatePart::DayOfYear | DatePart::IsoWeek | DatePart::Microsecond) {
        return Err(SqlError::datepart_unsupported(part.name(), "date_bucket", cx.ty));
    }
    check_unit(part, "date_bucket", cx.ty)?;
    let width = int_arg(args, 1);
    if width <= 0 {
        return Err(SqlError::of(msg::BUCKET_WIDTH, []));
    }
    let origin = match args.get(3) {
        Some(origin) => {
            let dialect = cx.rt.dialect()?;
            types::convert_in(origin, cx.types[3], cx.ty, 0, types::Mode::Implicit, dialect)?
        }
        None => Moment { days: datetime::DAY_1900, ticks: 0, offset: 0 }
            .to_value(cx.ty)
            .unwrap_or(Value::Null),
    };
    let fail = || SqlError::dateadd_overflow(cx.ty);
    let months = match part {
        DatePart::Year => Some(12),
        DatePart::Quarter => Some(3),
        DatePart::Month => Some(1),
        _ => None,
    };
    let (Some(date), Some(start)) = (Moment::of(&args[2]), Moment::of(&origin)) else {
        return Ok(Value::Null);
    };
    if let Some(months) = months {
        let width = width.checked_mul(months).ok_or_else(fail)?;
        let month = |m: Moment| {
            let (year, month, _) = civil_from_days(m.days);
            i64::from(year) * 12 + i64::from(month)
        };
        let at = |bucket: i64| {
            let months = bucket.checked_mul(width).ok_or_else(fail)?;
            datetime::dateadd(DatePart::Month, months, &origin, cx.ty)
        };
        let bucket = (month(date) - month(start)).div_euclid(width);
        let begin = at(bucket)?;
        let later = Moment::of(&begin)
            .is_some_and(|begin| (begin.days, begin.ticks) > (date.days, date.ticks));
        return if later { at(bucket - 1) } else { Ok(begin) };
    }
    let unit = match part {
        DatePart::Week => i128::from(DAY_TICKS) * 7,
        _ => unit_ticks(part).map_or(i128::from(DAY_TICKS), i128::from),
    };
    let total = |m: Moment| i128::from(m.days) * i128::from(DAY_TICKS) + i128::from(m.ticks);
    let width = unit * i128::from(width);
    let begin = (total(date) - total(start)).div_euclid(width) * width + total(start);
    let days = i32::try_from(begin.div_euclid(i128::from(DAY_TICKS))).map_err(|_| fail())?;
    let ticks = begin.rem_euclid(i128::from(DAY_TICKS)) as u64;
    (days >= 0).then(|| Moment { days, ticks, ..date }.to_value(cx.ty)).flatten().ok_or_else(fail)
}

fn todatetimeoffset(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let offset = match &args[1] {
        Value::Str(text) => offset_minutes(text),
        other => other.as_i64().and_then(|n| i16::try_from(n).ok()),
    };
    let offset = offset.filter(|offset| offset.unsigned_abs() <= 840);
    let Some(offset) = offset else {
        return Err(SqlError::of(msg::TIME_ZONE_OFFSET_INVALID, [&"todatetimeoffset"]));
    };
    let moment = Moment::of(&args[0]).map(|moment| Moment { offset, ..moment });
    let value = moment.and_then(|moment| moment.to_value(cx.ty));
    value.ok_or_else(|| SqlError::dateadd_overflow(cx.ty))
}

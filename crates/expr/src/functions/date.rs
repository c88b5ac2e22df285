//! Date and time functions; the calendar itself is `types::datetime`.

use super::{
    ArgRule as A, CallCx, Function, Stability, bigint, first_type, int, int_arg, nvarchar_4000,
    text_arg,
};
use crate::Expr;
use crate::large::LARGE;
use types::datetime::{self, DatePart, Moment};
use types::{DataType, SqlError, Value, msg};

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

const fn clock(name: &'static str, result: super::ResultRule) -> Function {
    Function { stability: Stability::Statement, ..f(name, (0, 0), &[], result, now) }
}

/// The date and time functions.
pub const FUNCTIONS: &[Function] = &[
    clock("getdate", datetime_type),
    clock("current_timestamp", datetime_type),
    clock("getutcdate", datetime_type),
    clock("sysdatetime", |_, _| Ok(DataType::DateTime2(7))),
    clock("sysutcdatetime", |_, _| Ok(DataType::DateTime2(7))),
    clock("sysdatetimeoffset", |_, _| Ok(DataType::DateTimeOffset(7))),
    clock("current_date", |_, _| Ok(DataType::Date)),
    f("dateadd", (3, 3), &[A::Any, A::BigInt, A::MomentOrDateTime], dateadd_type, dateadd),
    f("datediff", (3, 3), &[A::Any, A::Moment], int, |a, _| {
        Ok(datetime::datediff(part(a)?, &a[1], &a[2])?.map_or(Value::Null, Value::Int))
    }),
    f("datediff_big", (3, 3), &[A::Any, A::Moment], bigint, |a, _| {
        Ok(datetime::datediff_big(part(a)?, &a[1], &a[2])?.map_or(Value::Null, Value::BigInt))
    }),
    Function {
        stability: Stability::Statement,
        ..f("datepart", (2, 2), &[A::Any, A::Moment], int, datepart)
    },
    Function {
        stability: Stability::Statement,
        ..f("datename", (2, 2), &[A::Any, A::Moment], nvarchar_4000, datename)
    },
    f("year", (1, 1), &[A::Moment], int, |a, cx| one_part(DatePart::Year, a, cx)),
    f("month", (1, 1), &[A::Moment], int, |a, cx| one_part(DatePart::Month, a, cx)),
    f("day", (1, 1), &[A::Moment], int, |a, cx| one_part(DatePart::Day, a, cx)),
    f(
        "eomonth",
        (1, 2),
        &[A::Date, A::BigInt],
        |_, _| Ok(DataType::Date),
        |a, _| datetime::eomonth(&a[0], if a.len() > 1 { int_arg(a, 1) } else { 0 }),
    ),
    f(
        "datefromparts",
        (3, 3),
        &[A::Int],
        |_, _| Ok(DataType::Date),
        |a, _| datetime::date_from_parts(int_arg(a, 0), int_arg(a, 1), int_arg(a, 2)),
    ),
    f("datetimefromparts", (7, 7), &[A::Int], datetime_type, |a, cx| {
        let fraction = int_arg(a, 6) * 10_000;
        from_parts(a, [int_arg(a, 3), int_arg(a, 4), int_arg(a, 5), fraction], 0, cx.ty)
    }),
    f(
        "smalldatetimefromparts",
        (5, 5),
        &[A::Int],
        |_, _| Ok(DataType::SmallDateTime),
        |a, cx| from_parts(a, [int_arg(a, 3), int_arg(a, 4), 0, 0], 0, cx.ty),
    ),
    f("datetime2fromparts", (8, 8), &[A::Int], parts_type, |a, cx| {
        let fraction = scaled_fraction(int_arg(a, 6), cx.ty);
        from_parts(a, [int_arg(a, 3), int_arg(a, 4), int_arg(a, 5), fraction], 0, cx.ty)
    }),
    f(
        "timefromparts",
        (5, 5),
        &[A::Int],
        |_, e| Ok(DataType::Time(const_scale(e, 4)?)),
        |a, cx| {
            let fraction = scaled_fraction(int_arg(a, 3), cx.ty);
            datetime::from_parts(
                [1900, 1, 1],
                [int_arg(a, 0), int_arg(a, 1), int_arg(a, 2), fraction],
                0,
                cx.ty,
            )
        },
    ),
    Function {
        strict: false,
        stability: Stability::Statement,
        ..f("isdate", (1, 1), &[A::Any], int, isdate)
    },
    f("switchoffset", (2, 2), &[A::DateTimeOffset, A::Any], first_type, switchoffset),
];

fn datetime_type(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::DateTime)
}

/// The statement's clock in the result's type. The server's time zone is UTC.
fn now(_: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let moment = Moment::from_unix(cx.rt.clock(), 0);
    moment.to_value(cx.ty).ok_or_else(|| SqlError::internal("the clock is outside the calendar"))
}

/// Error 155 for a word that is no date part.
pub fn check_part(word: &str, function: &str) -> Result<(), SqlError> {
    match DatePart::from_name(word) {
        Some(_) => Ok(()),
        None => Err(SqlError::not_a_datepart(word, function)),
    }
}

pub(super) fn part(args: &[Value]) -> Result<DatePart, SqlError> {
    let word = text_arg(args, 0);
    DatePart::from_name(word).ok_or_else(|| SqlError::not_a_datepart(word, "datepart"))
}

fn dateadd_type(types: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(types.get(2).copied().unwrap_or(DataType::DateTime))
}

fn dateadd(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    datetime::dateadd(part(args)?, int_arg(args, 1), &args[2], cx.ty)
}

fn first_day(cx: &mut CallCx<'_>) -> Result<u8, SqlError> {
    cx.rt.datefirst()
}

fn datepart(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let first = first_day(cx)?;
    Ok(datetime::datepart(part(args)?, &args[1], cx.types[1], first)?
        .map_or(Value::Null, Value::Int))
}

fn datename(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let first = first_day(cx)?;
    let language = cx.rt.dialect()?.language();
    let name = datetime::datename(part(args)?, &args[1], cx.types[1], first, language)?;
    Ok(name.map_or(Value::Null, |n| Value::Str(n.into())))
}

fn one_part(part: DatePart, args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    Ok(datetime::datepart(part, &args[0], cx.types[0], 7)?.map_or(Value::Null, Value::Int))
}

fn from_parts(
    args: &[Value],
    time: [i64; 4],
    offset: i64,
    ty: DataType,
) -> Result<Value, SqlError> {
    datetime::from_parts([int_arg(args, 0), int_arg(args, 1), int_arg(args, 2)], time, offset, ty)
}

pub(super) fn const_scale(exprs: &[Expr], at: usize) -> Result<u8, SqlError> {
    let scale = exprs.get(at).and_then(Expr::as_const).and_then(Value::as_i64);
    match scale.and_then(|s| u8::try_from(s).ok()) {
        Some(scale) if scale <= 7 => Ok(scale),
        _ => Err(SqlError::of(msg::SCALE_ARGUMENT_INVALID, [])),
    }
}

fn parts_type(_: &[DataType], exprs: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::DateTime2(const_scale(exprs, 7)?))
}

/// A fraction counted in the type's own units as 100 ns.
pub(super) fn scaled_fraction(fraction: i64, ty: DataType) -> i64 {
    fraction.saturating_mul(10i64.pow(7 - u32::from(ty.scale().min(7))))
}

fn isdate(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (value, ty) = (&args[0], cx.types[0]);
    let sound = match value {
        Value::Null => false,
        Value::DateTime { .. } | Value::SmallDateTime { .. } => true,
        // No date is so long.
        Value::Str(text) if text.len() >= LARGE => false,
        Value::Str(_) => {
            let to = DataType::DateTime;
            types::convert_in(value, ty, to, 0, types::Mode::Explicit, cx.rt.dialect()?).is_ok()
        }
        _ => false,
    };
    Ok(Value::Int(i32::from(sound)))
}

fn switchoffset(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let offset = match &args[1] {
        Value::Str(text) => offset_minutes(text),
        other => other.as_i64().and_then(|n| i16::try_from(n).ok()),
    };
    let moved = offset.and_then(|offset| datetime::switch_offset(&args[0], offset));
    moved.ok_or_else(|| SqlError::of(msg::TIME_ZONE_OFFSET_INVALID, [&"switchoffset"]))
}

/// `+05:30` in minutes.
pub(super) fn offset_minutes(text: &str) -> Option<i16> {
    let text = text.trim();
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i16, i16) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..=14).contains(&hours) && (0..60).contains(&minutes)).then(|| sign * (hours * 60 + minutes))
}

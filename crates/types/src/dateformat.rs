//! Dates and times as text: CONVERT's styles. Guarantees: a style that a type has always succeeds;
//! Hijri (130, 131) and unknown styles are error 281.

use std::fmt::Write;

use crate::datatype::DataType;
use crate::datetime::{Moment, civil_from_days, offset_text};
use crate::error::SqlError;
use crate::language::Dialect;
use crate::value::Value;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    None,
    /// ` 3:04PM`
    Short12,
    /// ` 3:04:05:007PM`
    Long12,
    /// ` 3:04:05 PM`
    Seconds12,
    /// `15:04:05`
    Seconds,
    /// `15:04:05` and the fraction after this separator.
    Fraction(char),
    /// As `Fraction('.')`, without the fraction when it is zero and the type is datetime.
    Iso,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Day {
    None,
    /// Fields in order with a separator: `m`, `d`, `y` (two or four digits), `b` (short month
    /// name).
    Fields(&'static str, char),
    /// `Jan  5 2020`
    Default,
    /// `Jan 05, 2020`
    Comma,
}

/// What a style shows: date, what joins it to the time, time.
fn style_parts(style: i32) -> Option<(Day, &'static str, Clock)> {
    Some(match style {
        0 | 100 => (Day::Default, " ", Clock::Short12),
        1 | 101 => (Day::Fields("mdy", '/'), "", Clock::None),
        2 | 102 => (Day::Fields("ymd", '.'), "", Clock::None),
        3 | 103 => (Day::Fields("dmy", '/'), "", Clock::None),
        4 | 104 => (Day::Fields("dmy", '.'), "", Clock::None),
        5 | 105 => (Day::Fields("dmy", '-'), "", Clock::None),
        6 | 106 => (Day::Fields("dby", ' '), "", Clock::None),
        7 | 107 => (Day::Comma, "", Clock::None),
        8 | 24 | 108 => (Day::None, "", Clock::Seconds),
        9 | 109 => (Day::Default, " ", Clock::Long12),
        10 | 110 => (Day::Fields("mdy", '-'), "", Clock::None),
        11 | 111 => (Day::Fields("ymd", '/'), "", Clock::None),
        12 | 112 => (Day::Fields("ymd", '\0'), "", Clock::None),
        13 | 113 => (Day::Fields("dby", ' '), " ", Clock::Fraction(':')),
        14 | 114 => (Day::None, "", Clock::Fraction(':')),
        20 | 120 => (Day::Fields("ymd", '-'), " ", Clock::Seconds),
        21 | 25 | 121 => (Day::Fields("ymd", '-'), " ", Clock::Fraction('.')),
        22 => (Day::Fields("mdy", '/'), " ", Clock::Seconds12),
        23 => (Day::Fields("ymd", '-'), "", Clock::None),
        126 | 127 => (Day::Fields("ymd", '-'), "T", Clock::Iso),
        _ => return None,
    })
}

/// Styles below 100 show two digits of the year, but for those that never do.
fn short_year(style: i32) -> bool {
    matches!(style, 1..=7 | 10..=12 | 22)
}

fn write_day(day: Day, days: i32, short: bool, dialect: Dialect, out: &mut String) {
    let (year, month, day_of_month) = civil_from_days(days);
    let name = dialect.language().short_month(month);
    let year = if short { format!("{:02}", year % 100) } else { format!("{year:04}") };
    match day {
        Day::None => {}
        Day::Default => out.push_str(&format!("{name} {day_of_month:>2} {year}")),
        Day::Comma => out.push_str(&format!("{name} {day_of_month:02}, {year}")),
        Day::Fields(fields, separator) => {
            for (i, field) in fields.chars().enumerate() {
                if i > 0 && separator != '\0' {
                    out.push(separator);
                }
                match field {
                    'm' => out.push_str(&format!("{month:02}")),
                    'd' => out.push_str(&format!("{day_of_month:02}")),
                    'b' => out.push_str(name),
                    _ => out.push_str(&year),
                }
            }
        }
    }
}

/// Digits after the second: their number is the type's, 3 for datetime and smalldatetime.
fn fraction(value: &Value, moment: Moment, ty: DataType) -> String {
    match (value, ty) {
        (Value::DateTime { ticks, .. }, _) => format!("{:03}", (ticks % 300 * 10 + 1) / 3),
        (
            _,
            DataType::Time(scale) | DataType::DateTime2(scale) | DataType::DateTimeOffset(scale),
        ) => {
            let digits = format!("{:07}", moment.ticks % 10_000_000);
            digits[..usize::from(scale.min(7))].to_owned()
        }
        (_, DataType::SmallDateTime | DataType::DateTime) => "000".to_owned(),
        _ => String::new(),
    }
}

fn write_clock(clock: Clock, value: &Value, moment: Moment, ty: DataType, out: &mut String) {
    let seconds = moment.ticks / 10_000_000;
    // A datetime's tick may lie just under the second that it shows.
    let seconds = match *value {
        Value::DateTime { ticks, .. } => u64::from(ticks / 300),
        _ => seconds,
    };
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let h12 = if h % 12 == 0 { 12 } else { h % 12 };
    let half = if h < 12 { "AM" } else { "PM" };
    let digits = fraction(value, moment, ty);
    // The newer types put a point before the fraction in every style.
    let newer =
        matches!(ty, DataType::Time(_) | DataType::DateTime2(_) | DataType::DateTimeOffset(_));
    let mut with_fraction = |start: String, separator: char, end: &str| {
        out.push_str(&start);
        if !digits.is_empty() {
            out.push(if newer { '.' } else { separator });
            out.push_str(&digits);
        }
        out.push_str(end);
    };
    match clock {
        Clock::None => {}
        Clock::Short12 => out.push_str(&format!("{h12:>2}:{m:02}{half}")),
        Clock::Long12 => with_fraction(format!("{h12:>2}:{m:02}:{s:02}"), ':', half),
        Clock::Seconds12 => out.push_str(&format!("{h12:>2}:{m:02}:{s:02} {half}")),
        Clock::Seconds => out.push_str(&format!("{h:02}:{m:02}:{s:02}")),
        Clock::Fraction(separator) => with_fraction(format!("{h:02}:{m:02}:{s:02}"), separator, ""),
        Clock::Iso if !newer && digits == "000" => out.push_str(&format!("{h:02}:{m:02}:{s:02}")),
        Clock::Iso => with_fraction(format!("{h:02}:{m:02}:{s:02}"), '.', ""),
    }
}

/// A date or time value of type `ty` in a style. Style 0 is the type's default: 100 for datetime
/// and smalldatetime, 121 for the newer types. Months have the names of the dialect's language.
/// Error: 281 for a style that does not exist.
pub fn format(
    value: &Value,
    ty: DataType,
    style: i32,
    dialect: Dialect,
) -> Result<String, SqlError> {
    let Some(moment) = Moment::of(value) else {
        return Err(SqlError::internal("only dates and times have date styles"));
    };
    let old = matches!(ty, DataType::DateTime | DataType::SmallDateTime);
    let style = if style == 0 && !old { 121 } else { style };
    let (mut day, mut joiner, mut clock) =
        style_parts(style).ok_or_else(|| SqlError::bad_style(style, ty))?;
    match ty {
        DataType::Date if day == Day::None => return Err(SqlError::bad_style(style, ty)),
        DataType::Date => (joiner, clock) = ("", Clock::None),
        DataType::Time(_) if clock == Clock::None => return Err(SqlError::bad_style(style, ty)),
        DataType::Time(_) => (day, joiner) = (Day::None, ""),
        _ => {}
    }
    let mut moment = moment;
    let zoned = matches!(ty, DataType::DateTimeOffset(_)) && clock != Clock::None;
    if zoned
        && style == 127
        && let Value::DateTimeOffset { days, ticks, .. } = *value
    {
        moment = Moment { days, ticks, offset: 0 };
    }
    let mut out = String::with_capacity(34);
    write_day(day, moment.days, short_year(style), dialect, &mut out);
    out.push_str(joiner);
    write_clock(clock, value, moment, ty, &mut out);
    if zoned {
        let offset = offset_text(moment.offset);
        let _ = match style {
            127 => write!(out, "Z"),
            126 => write!(out, "{offset}"),
            _ => write!(out, " {offset}"),
        };
    }
    Ok(out)
}

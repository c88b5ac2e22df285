//! The parts of dates: their names, their lengths, which types have them.

use super::{DAY_TICKS, MINUTE, SECOND};
use crate::datatype::DataType;
use crate::error::SqlError;

/// A part of a date that DATEADD and its kin name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatePart {
    Year,
    Quarter,
    Month,
    DayOfYear,
    Day,
    Week,
    Weekday,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    TzOffset,
    IsoWeek,
}

impl DatePart {
    /// The part of a name or abbreviation, in any case.
    pub fn from_name(name: &str) -> Option<DatePart> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" | "yy" | "yyyy" => DatePart::Year,
            "quarter" | "qq" | "q" => DatePart::Quarter,
            "month" | "mm" | "m" => DatePart::Month,
            "dayofyear" | "dy" | "y" => DatePart::DayOfYear,
            "day" | "dd" | "d" => DatePart::Day,
            "week" | "wk" | "ww" => DatePart::Week,
            "weekday" | "dw" | "w" => DatePart::Weekday,
            "hour" | "hh" => DatePart::Hour,
            "minute" | "mi" | "n" => DatePart::Minute,
            "second" | "ss" | "s" => DatePart::Second,
            "millisecond" | "ms" => DatePart::Millisecond,
            "microsecond" | "mcs" => DatePart::Microsecond,
            "nanosecond" | "ns" => DatePart::Nanosecond,
            "tzoffset" | "tz" => DatePart::TzOffset,
            "iso_week" | "isowk" | "isoww" => DatePart::IsoWeek,
            _ => return None,
        })
    }

    /// The full name, as messages use it.
    pub fn name(self) -> &'static str {
        match self {
            DatePart::Year => "year",
            DatePart::Quarter => "quarter",
            DatePart::Month => "month",
            DatePart::DayOfYear => "dayofyear",
            DatePart::Day => "day",
            DatePart::Week => "week",
            DatePart::Weekday => "weekday",
            DatePart::Hour => "hour",
            DatePart::Minute => "minute",
            DatePart::Second => "second",
            DatePart::Millisecond => "millisecond",
            DatePart::Microsecond => "microsecond",
            DatePart::Nanosecond => "nanosecond",
            DatePart::TzOffset => "tzoffset",
            DatePart::IsoWeek => "iso_week",
        }
    }

    /// Length in 100 ns ticks as (numerator, denominator) for parts of a fixed length; `None` for
    /// months.
    pub(super) fn ticks(self) -> Option<(i128, i128)> {
        let day = i128::from(DAY_TICKS);
        Some(match self {
            DatePart::Week => (7 * day, 1),
            DatePart::DayOfYear | DatePart::Day | DatePart::Weekday => (day, 1),
            DatePart::Hour => (day / 24, 1),
            DatePart::Minute => (i128::from(MINUTE), 1),
            DatePart::Second => (i128::from(SECOND), 1),
            DatePart::Millisecond => (10_000, 1),
            DatePart::Microsecond => (10, 1),
            DatePart::Nanosecond => (1, 100),
            _ => return None,
        })
    }

    pub(super) fn is_of_day(self) -> bool {
        use DatePart::{Hour, Microsecond, Millisecond, Minute, Nanosecond, Second};
        matches!(self, Hour | Minute | Second | Millisecond | Microsecond | Nanosecond)
    }

    /// Whether a type has this part, for the function that asks.
    pub(super) fn check(self, function: &str, ty: DataType) -> Result<(), SqlError> {
        let has = match ty {
            DataType::Date => !self.is_of_day() && self != DatePart::TzOffset,
            DataType::Time(_) => self.is_of_day(),
            DataType::DateTimeOffset(_) => true,
            DataType::DateTime2(_) => true,
            _ => true,
        };
        if has { Ok(()) } else { Err(SqlError::datepart_unsupported(self.name(), function, ty)) }
    }
}

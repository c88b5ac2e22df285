//! The civil calendar and SQL Server's date arithmetic: DATEADD, DATEDIFF, DATEPART, DATENAME,
//! EOMONTH and the constructors. Guarantees: every value that comes out lies in its type's range;
//! leaving it is error 517, 535 or 242, never a wrapped date. (Only time of day wraps at midnight,
//! as SQL Server's does.)

mod part;

pub use part::DatePart;

use crate::datatype::DataType;
use crate::error::SqlError;
use crate::language::Language;
use crate::value::Value;

/// 100 ns ticks of a day.
pub const DAY_TICKS: u64 = 864_000_000_000;
/// 1/300 s ticks of a day.
pub const DAY_TICKS_300: u32 = 25_920_000;
/// 9999-12-31 in days since 0001-01-01.
pub const MAX_DAY: i32 = 3_652_058;
/// 1900-01-01 in days since 0001-01-01: datetime's origin.
pub const DAY_1900: i32 = 693_595;
/// 1753-01-01 in days since 0001-01-01: datetime's first day.
const DAY_1753: i32 = DAY_1900 - 53_690;
/// 2079-06-06 in days since 1900-01-01: smalldatetime's last day.
const LAST_SMALL_DAY: i32 = 65_535;
/// 1970-01-01 in days since 0001-01-01.
const DAY_1970: i32 = 719_162;
pub(crate) const MINUTE: u64 = 600_000_000;
const SECOND: u64 = 10_000_000;

/// Gregorian leap years.
pub(crate) fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month, 0 for a month outside 1..=12.
pub(crate) fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap(year)),
        _ => 0,
    }
}

/// Days before the first of January, since 0001-01-01.
fn days_before_year(year: i32) -> i32 {
    let y = year - 1;
    y * 365 + y / 4 - y / 100 + y / 400
}

/// Days of a common year before each month.
const BEFORE_MONTH: [i32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// Days of the year before a month 1..=12.
fn days_before_month(year: i32, month: u32) -> i32 {
    BEFORE_MONTH[(month as usize - 1) % 12] + i32::from(month > 2 && is_leap(year))
}

/// Days since 0001-01-01; `None` for no such date or a year outside 1..=9999.
pub fn days_from_civil(year: i32, month: u32, day: u32) -> Option<i32> {
    if !(1..=9999).contains(&year) || day == 0 || day > days_in_month(year, month) {
        return None;
    }
    Some(days_before_year(year) + days_before_month(year, month) + day as i32 - 1)
}

/// Year, month and day of a day number, which is brought into range first.
pub fn civil_from_days(days: i32) -> (i32, u32, u32) {
    let days = days.clamp(0, MAX_DAY);
    // The guess is right or one too great.
    let mut year = (i64::from(days) * 400 / 146_097) as i32 + 1;
    while days_before_year(year) > days {
        year -= 1;
    }
    while year < 9999 && days_before_year(year + 1) <= days {
        year += 1;
    }
    let rest = days - days_before_year(year);
    // No month has more than 31 days, so the guess is right or one too small.
    let mut month = rest as u32 / 31 + 1;
    if month < 12 && days_before_month(year, month + 1) <= rest {
        month += 1;
    }
    (year, month, (rest - days_before_month(year, month)) as u32 + 1)
}

/// ISO weekday, Monday = 1.
fn iso_weekday(days: i32) -> i32 {
    days.rem_euclid(7) + 1
}

/// A point of local time: the common form of all date and time types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Days since 0001-01-01; 1900-01-01 for a time of day alone.
    pub days: i32,
    /// 100 ns since midnight, below [`DAY_TICKS`].
    pub ticks: u64,
    /// Minutes east of UTC; 0 where the type has none.
    pub offset: i16,
}

/// Whole days and ticks from any number of ticks.
pub(crate) fn split(total: i128) -> (i128, u64) {
    let day = i128::from(DAY_TICKS);
    (total.div_euclid(day), total.rem_euclid(day) as u64)
}

impl Moment {
    /// The moment of a date or time value.
    pub fn of(value: &Value) -> Option<Moment> {
        let (days, ticks, offset) = match *value {
            Value::Date(days) => (days, 0, 0),
            Value::Time(ticks) => (DAY_1900, ticks, 0),
            Value::DateTime { days, ticks } => {
                (days + DAY_1900, (u64::from(ticks) * 100_000 + 1) / 3, 0)
            }
            Value::SmallDateTime { days, minutes } => {
                (i32::from(days) + DAY_1900, u64::from(minutes) * MINUTE, 0)
            }
            Value::DateTime2 { days, ticks } => (days, ticks, 0),
            Value::DateTimeOffset { days, ticks, offset } => {
                let utc = Moment { days, ticks, offset: 0 };
                let local = utc.total() + i128::from(offset) * i128::from(MINUTE);
                let (days, ticks) = split(local);
                (days as i32, ticks, offset)
            }
            _ => return None,
        };
        Some(Moment { days, ticks, offset })
    }

    /// The moment of a clock reading: nanoseconds since 1970-01-01, taken as local time at `offset`
    /// minutes.
    pub fn from_unix(nanoseconds: i128, offset: i16) -> Moment {
        let local = nanoseconds.div_euclid(100) + i128::from(offset) * i128::from(MINUTE);
        let (days, ticks) = split(local);
        let days = (days + i128::from(DAY_1970)).clamp(0, i128::from(MAX_DAY)) as i32;
        Moment { days, ticks, offset }
    }

    /// Ticks since 0001-01-01, local.
    fn total(self) -> i128 {
        i128::from(self.days) * i128::from(DAY_TICKS) + i128::from(self.ticks)
    }

    pub(crate) fn utc_total(self) -> i128 {
        self.total() - i128::from(self.offset) * i128::from(MINUTE)
    }

    /// This moment rounded to units, carrying into the day.
    fn rounded(self, unit: u64) -> Moment {
        let ticks = (self.ticks + unit / 2) / unit * unit;
        Moment {
            days: self.days + i32::from(ticks >= DAY_TICKS),
            ticks: if ticks >= DAY_TICKS { ticks - DAY_TICKS } else { ticks },
            ..self
        }
    }

    /// The same, but cut where it would leave the last day: the end of time stays the end in every
    /// precision.
    fn rounded_within(self, unit: u64) -> Moment {
        let rounded = self.rounded(unit);
        if rounded.days <= MAX_DAY {
            rounded
        } else {
            Moment { ticks: self.ticks / unit * unit, ..self }
        }
    }

    /// A time of day in a scale's precision, cut where rounding would begin the next day.
    pub(crate) fn of_day(self, scale: u8) -> Moment {
        let unit = 10u64.pow(7 - u32::from(scale.min(7)));
        let rounded = self.rounded(unit);
        if rounded.days == self.days {
            rounded
        } else {
            Moment { ticks: self.ticks / unit * unit, ..self }
        }
    }

    /// The value of a date or time type, rounded to what the type keeps; `None` outside its range.
    pub fn to_value(self, ty: DataType) -> Option<Value> {
        let unit = |scale: u8| 10u64.pow(7 - u32::from(scale.min(7)));
        let in_range = |m: Moment| (0..=MAX_DAY).contains(&m.days).then_some(m);
        match ty {
            DataType::Date => in_range(self).map(|m| Value::Date(m.days)),
            DataType::Time(scale) => Some(Value::Time(self.rounded(unit(scale)).ticks)),
            DataType::DateTime2(scale) => {
                let m = in_range(self.rounded_within(unit(scale)))?;
                Some(Value::DateTime2 { days: m.days, ticks: m.ticks })
            }
            DataType::DateTimeOffset(scale) => {
                let m = in_range(self.rounded_within(unit(scale)))?;
                let (days, ticks) = split(m.utc_total());
                let utc = in_range(Moment { days: i32::try_from(days).ok()?, ticks, offset: 0 })?;
                Some(Value::DateTimeOffset { days: utc.days, ticks, offset: m.offset })
            }
            DataType::DateTime => {
                let (days, ticks) = self.in_300ths();
                if !(DAY_1753..=MAX_DAY).contains(&days) {
                    return None;
                }
                Some(Value::DateTime { days: days - DAY_1900, ticks })
            }
            DataType::SmallDateTime => {
                let (days, ticks) = self.in_300ths();
                let minutes = (ticks + 9000) / 18_000;
                let days = days - DAY_1900 + i32::from(minutes == 1440);
                if !(0..=LAST_SMALL_DAY).contains(&days) {
                    return None;
                }
                Some(Value::SmallDateTime { days: days as u16, minutes: (minutes % 1440) as u16 })
            }
            _ => None,
        }
    }

    /// Days since 0001-01-01 and 1/300 s, rounded to the nearest.
    fn in_300ths(self) -> (i32, u32) {
        let ticks = ((self.ticks * 3 + 50_000) / 100_000) as u32;
        if ticks >= DAY_TICKS_300 {
            (self.days + 1, ticks - DAY_TICKS_300)
        } else {
            (self.days, ticks)
        }
    }
}

/// The same day of the month some months on, or the month's last day; `None` outside years
/// 1..=9999.
fn add_months(days: i32, months: i64) -> Option<i32> {
    let (year, month, day) = civil_from_days(days);
    let total = (i64::from(year) * 12 + i64::from(month) - 1).checked_add(months)?;
    let year = i32::try_from(total.div_euclid(12)).ok()?;
    let month = total.rem_euclid(12) as u32 + 1;
    days_from_civil(year, month, day.min(days_in_month(year, month)))
}

fn operand(value: &Value, ty: DataType) -> Result<Moment, SqlError> {
    Moment::of(value).ok_or_else(|| SqlError::operand_invalid(ty, "date"))
}

/// DATEADD: the value `number` parts later, in the same type. NULL gives NULL.
///
/// Errors: 517 outside the type's range, 9810 for a part that the type does not have.
pub fn dateadd(
    part: DatePart,
    number: i64,
    value: &Value,
    ty: DataType,
) -> Result<Value, SqlError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    part.check("dateadd", ty)?;
    let sub_milli = matches!(part, DatePart::Microsecond | DatePart::Nanosecond);
    let coarse = matches!(ty, DataType::DateTime | DataType::SmallDateTime);
    if matches!(part, DatePart::TzOffset | DatePart::IsoWeek) || (sub_milli && coarse) {
        return Err(SqlError::datepart_unsupported(part.name(), "dateadd", ty));
    }
    let fail = || SqlError::dateadd_overflow(ty);
    let moment = operand(value, ty)?;
    let months = match part {
        DatePart::Year => number.checked_mul(12),
        DatePart::Quarter => number.checked_mul(3),
        _ => Some(number),
    };
    let moved = match part.ticks() {
        None => Moment {
            days: months.and_then(|m| add_months(moment.days, m)).ok_or_else(fail)?,
            ..moment
        },
        Some((numerator, denominator)) => {
            let delta = i128::from(number) * numerator;
            // Nanoseconds round to the nearest tick.
            let delta = (delta * 2 + denominator).div_euclid(denominator * 2);
            let (days, ticks) = split(moment.total() + delta);
            let days = if matches!(ty, DataType::Time(_)) { i128::from(DAY_1900) } else { days };
            Moment { days: i32::try_from(days).map_err(|_| fail())?, ticks, ..moment }
        }
    };
    moved.to_value(ty).ok_or_else(fail)
}

/// DATEDIFF_BIG: how many boundaries of the part lie between two moments (of any date types). NULL
/// gives `None`.
///
/// Errors: 535 when the count exceeds a bigint, 9810 for parts without boundaries.
pub fn datediff_big(part: DatePart, start: &Value, end: &Value) -> Result<Option<i64>, SqlError> {
    if start.is_null() || end.is_null() {
        return Ok(None);
    }
    let utc = |value: &Value| {
        let (days, ticks) = split(operand(value, value.natural_type())?.utc_total());
        Ok((days as i64, ticks))
    };
    let ((d1, t1), (d2, t2)) = (utc(start)?, utc(end)?);
    let months = |d: i64| {
        let (y, m, _) = civil_from_days(d as i32);
        i64::from(y) * 12 + i64::from(m) - 1
    };
    let count = match part {
        DatePart::Year => months(d2).div_euclid(12) - months(d1).div_euclid(12),
        DatePart::Quarter => months(d2).div_euclid(3) - months(d1).div_euclid(3),
        DatePart::Month => months(d2) - months(d1),
        // Weeks begin on Sunday whatever DATEFIRST says; day 0 is a Monday.
        DatePart::Week => (d2 + 1).div_euclid(7) - (d1 + 1).div_euclid(7),
        DatePart::DayOfYear | DatePart::Day | DatePart::Weekday => d2 - d1,
        DatePart::TzOffset | DatePart::IsoWeek => {
            return Err(SqlError::datepart_unsupported(
                part.name(),
                "datediff",
                start.natural_type(),
            ));
        }
        _ => {
            let (unit, per_tick) = part.ticks().unwrap_or((1, 1));
            let total = |d: i64, t: u64| {
                (i128::from(d) * i128::from(DAY_TICKS) + i128::from(t)).div_euclid(unit) * per_tick
            };
            let count = total(d2, t2) - total(d1, t1);
            return i64::try_from(count).map(Some).map_err(|_| SqlError::datediff_overflow());
        }
    };
    Ok(Some(count))
}

/// DATEDIFF: as [`datediff_big`], with 535 when the count exceeds an int.
pub fn datediff(part: DatePart, start: &Value, end: &Value) -> Result<Option<i32>, SqlError> {
    match datediff_big(part, start, end)? {
        Some(count) => i32::try_from(count).map(Some).map_err(|_| SqlError::datediff_overflow()),
        None => Ok(None),
    }
}

/// ISO 8601 week of the year.
fn iso_week(days: i32) -> i32 {
    // The week belongs to the year of its Thursday.
    let thursday = days - (iso_weekday(days) - 4);
    let (year, _, _) = civil_from_days(thursday);
    (thursday.clamp(0, MAX_DAY) - days_before_year(year)) / 7 + 1
}

/// DATEPART: one part as a number; `date_first` is SET DATEFIRST's 1..=7 (7 = Sunday, the default).
/// NULL gives `None`. Error: 9810 for a part that the type does not have.
pub fn datepart(
    part: DatePart,
    value: &Value,
    ty: DataType,
    date_first: u8,
) -> Result<Option<i32>, SqlError> {
    if value.is_null() {
        return Ok(None);
    }
    part.check("datepart", ty)?;
    if part == DatePart::TzOffset
        && !matches!(ty, DataType::DateTimeOffset(_) | DataType::DateTime2(_))
    {
        return Err(SqlError::datepart_unsupported(part.name(), "datepart", ty));
    }
    let moment = operand(value, ty)?;
    let (year, month, day) = civil_from_days(moment.days);
    let first = i32::from(date_first.clamp(1, 7));
    let weekday = |days: i32| (iso_weekday(days) - first).rem_euclid(7) + 1;
    let day_of_year = moment.days - days_before_year(year);
    // Datetime's own milliseconds: .333... s shows as 333, .667 as 667.
    let nanoseconds = (moment.ticks % SECOND) * 100;
    let milliseconds = match value {
        Value::DateTime { ticks, .. } => (u64::from(ticks % 300) * 10 + 1) / 3,
        _ => nanoseconds / 1_000_000,
    };
    let coarse = matches!(value, Value::DateTime { .. });
    let count = match part {
        DatePart::Year => year as u64,
        DatePart::Quarter => u64::from(month.div_ceil(3)),
        DatePart::Month => u64::from(month),
        DatePart::DayOfYear => day_of_year as u64 + 1,
        DatePart::Day => u64::from(day),
        DatePart::Week => (day_of_year + weekday(moment.days - day_of_year) - 1) as u64 / 7 + 1,
        DatePart::Weekday => weekday(moment.days) as u64,
        DatePart::Hour => moment.ticks / (60 * MINUTE),
        DatePart::Minute => moment.ticks / MINUTE % 60,
        DatePart::Second => moment.ticks / SECOND % 60,
        DatePart::Millisecond => milliseconds,
        DatePart::Microsecond if coarse => milliseconds * 1000,
        DatePart::Microsecond => nanoseconds / 1000,
        DatePart::Nanosecond if coarse => milliseconds * 1_000_000,
        DatePart::Nanosecond => nanoseconds,
        DatePart::TzOffset => return Ok(Some(i32::from(moment.offset))),
        DatePart::IsoWeek => iso_week(moment.days) as u64,
    };
    Ok(Some(count as i32))
}

/// DATENAME: month and weekday by the language's names, the offset as `+hh:mm`, the rest as digits.
pub fn datename(
    part: DatePart,
    value: &Value,
    ty: DataType,
    date_first: u8,
    language: &Language,
) -> Result<Option<String>, SqlError> {
    let Some(number) = datepart(part, value, ty, date_first)? else {
        return Ok(None);
    };
    let moment = operand(value, ty)?;
    Ok(Some(match part {
        DatePart::Month => language.month(civil_from_days(moment.days).1).to_owned(),
        DatePart::Weekday => language.day(iso_weekday(moment.days) as u32).to_owned(),
        DatePart::TzOffset => offset_text(moment.offset),
        _ => number.to_string(),
    }))
}

/// `+05:30`.
pub fn offset_text(offset: i16) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.unsigned_abs();
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// EOMONTH: the last day of the month `months` after the value's. Error: 517.
pub fn eomonth(value: &Value, months: i64) -> Result<Value, SqlError> {
    let Some(moment) = Moment::of(value) else {
        return Ok(Value::Null);
    };
    let fail = || SqlError::dateadd_overflow(DataType::Date);
    let (year, month, _) = civil_from_days(add_months(moment.days, months).ok_or_else(fail)?);
    days_from_civil(year, month, days_in_month(year, month)).map(Value::Date).ok_or_else(fail)
}

/// DATEFROMPARTS. Error: 289.
pub fn date_from_parts(year: i64, month: i64, day: i64) -> Result<Value, SqlError> {
    let fail = || SqlError::construct_date(DataType::Date);
    civil(year, month, day).map(Value::Date).ok_or_else(fail)
}

fn civil(year: i64, month: i64, day: i64) -> Option<i32> {
    days_from_civil(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?)
}

/// Hours, minutes, seconds and a fraction in 100 ns as ticks since midnight.
pub(crate) fn ticks_of_day(hour: i64, minute: i64, second: i64, fraction: i64) -> Option<u64> {
    let sound = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..SECOND as i64).contains(&fraction);
    sound.then(|| ((hour * 60 + minute) * 60 + second) as u64 * SECOND + fraction as u64)
}

/// DATETIMEFROMPARTS, DATETIME2FROMPARTS, TIMEFROMPARTS and so on: date (year, month, day), time
/// (hour, minute, second, fraction in 100 ns), offset in minutes, into the type. Error: 289.
pub fn from_parts(
    date: [i64; 3],
    time: [i64; 4],
    offset: i64,
    ty: DataType,
) -> Result<Value, SqlError> {
    let build = || {
        let days = civil(date[0], date[1], date[2])?;
        let ticks = ticks_of_day(time[0], time[1], time[2], time[3])?;
        let offset = i16::try_from(offset).ok().filter(|o| o.unsigned_abs() <= 840)?;
        Moment { days, ticks, offset }.to_value(ty)
    };
    build().ok_or_else(|| SqlError::construct_date(ty))
}

/// SWITCHOFFSET: the same instant shown at another offset, in minutes -840..=840. `None` for other
/// types, offsets out of range and instants that leave the calendar.
pub fn switch_offset(value: &Value, offset: i16) -> Option<Value> {
    match *value {
        Value::DateTimeOffset { days, ticks, .. } if offset.unsigned_abs() <= 840 => {
            let switched = Value::DateTimeOffset { days, ticks, offset };
            let local = Moment::of(&switched)?;
            (0..=MAX_DAY).contains(&local.days).then_some(switched)
        }
        _ => None,
    }
}

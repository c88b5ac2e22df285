//! Dates and times from text: SQL Server's usual literal formats. Guarantees: any text gives a
//! moment or a reason, never a panic; the order of day, month and year is only guessed where the
//! text leaves it open.

use crate::datatype::DataType;
use crate::datetime::{DAY_1900, DAY_TICKS, MAX_DAY, Moment, days_from_civil, ticks_of_day};
use crate::error::SqlError;
use crate::language::{DateOrder, Dialect};
use crate::value::Value;

/// The last 100 ns of a second.
const LAST_TICK: i64 = 9_999_999;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DateFailure {
    Syntax,
    /// Well-formed, but no such date or time.
    Range,
}

#[derive(Clone, Copy, Debug)]
struct DateNumber {
    value: i64,
    digits: usize,
}

#[derive(Debug, Default)]
struct Parsed {
    year: Option<DateNumber>,
    month: Option<i64>,
    day: Option<i64>,
    /// Numbers that stand alone beside a month's name.
    loose: Vec<DateNumber>,
    time: Option<[i64; 4]>,
    fraction_digits: usize,
    offset: Option<i16>,
    zulu: bool,
}

struct Scanner<'a> {
    source: &'a str,
    text: &'a [u8],
    at: usize,
    /// The language of the names of months, and the order of digits.
    dialect: Dialect,
    /// The types since 2008: a date of digits that begins with its year and has hyphens is always
    /// year, month, day.
    modern: bool,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// A separator of a date's parts, with the blanks around it; nothing is consumed where there is
    /// none.
    fn separator(&mut self) -> Option<u8> {
        let start = self.at;
        self.skip_blanks();
        let separator = self.peek().filter(|byte| matches!(byte, b'-' | b'/' | b'.'));
        if separator.is_none() {
            self.at = start;
            return None;
        }
        self.at += 1;
        self.skip_blanks();
        separator
    }

    fn number(&mut self) -> Option<DateNumber> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = &self.text[start..self.at];
        if digits.is_empty() || digits.len() > 9 {
            return None;
        }
        let value = digits.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0'));
        Some(DateNumber { value, digits: digits.len() })
    }

    fn word(&mut self) -> &'a [u8] {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphabetic()) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// A month's name, whole or short.
    fn month(&mut self) -> Option<i64> {
        let (month, length) = self.dialect.month_at(self.source.get(self.at..)?)?;
        self.at += length;
        Some(month)
    }

    /// AM or PM after optional blanks; nothing is consumed otherwise.
    fn meridiem(&mut self) -> Option<bool> {
        let start = self.at;
        self.skip_blanks();
        let word = self.word();
        if word.eq_ignore_ascii_case(b"am") {
            return Some(false);
        }
        if word.eq_ignore_ascii_case(b"pm") {
            return Some(true);
        }
        self.at = start;
        None
    }
}

/// Three numbers as year, month and day. Four digits are the year wherever they stand; the order
/// then says which of the others is the month.
fn arranged(numbers: [DateNumber; 3], order: DateOrder) -> (DateNumber, DateNumber, DateNumber) {
    let usual = match order {
        DateOrder::Mdy | DateOrder::Dmy => 2,
        DateOrder::Ymd | DateOrder::Ydm => 0,
        DateOrder::Myd | DateOrder::Dym => 1,
    };
    let at = numbers.iter().position(|n| n.digits == 4).unwrap_or(usual);
    let [a, b, c] = numbers;
    let (year, (x, y)) = match at {
        0 => (a, (b, c)),
        1 => (b, (a, c)),
        _ => (c, (a, b)),
    };
    if order.day_first() { (year, y, x) } else { (year, x, y) }
}

impl Parsed {
    fn has_date(&self) -> bool {
        self.year.is_some() || self.month.is_some() || !self.loose.is_empty()
    }

    fn scan(text: &str, dialect: Dialect, modern: bool) -> Result<Parsed, DateFailure> {
        let source = text.trim();
        let mut scanner = Scanner { source, text: source.as_bytes(), at: 0, dialect, modern };
        let mut parsed = Parsed::default();
        loop {
            scanner.skip_blanks();
            match scanner.peek() {
                None => return Ok(parsed),
                Some(b',') if parsed.month.is_some() => scanner.at += 1,
                Some(b'0'..=b'9') => parsed.number(&mut scanner)?,
                Some(b'+' | b'-') if parsed.time.is_some() && parsed.offset.is_none() => {
                    parsed.offset(&mut scanner)?;
                }
                Some(b) if b.is_ascii_alphabetic() || !b.is_ascii() => parsed.word(&mut scanner)?,
                Some(_) => return Err(DateFailure::Syntax),
            }
        }
    }

    fn word(&mut self, scanner: &mut Scanner<'_>) -> Result<(), DateFailure> {
        if self.month.is_none()
            && self.year.is_none()
            && let Some(month) = scanner.month()
        {
            self.month = Some(month);
            return Ok(());
        }
        let word = scanner.word();
        let next_digit = scanner.peek().is_some_and(|b| b.is_ascii_digit());
        if word.eq_ignore_ascii_case(b"t") && next_digit && self.has_date() && self.time.is_none() {
            return Ok(());
        }
        if word.eq_ignore_ascii_case(b"z") && self.time.is_some() && self.offset.is_none() {
            self.offset = Some(0);
            self.zulu = true;
            return Ok(());
        }
        Err(DateFailure::Syntax)
    }

    fn number(&mut self, scanner: &mut Scanner<'_>) -> Result<(), DateFailure> {
        let first = scanner.number().ok_or(DateFailure::Syntax)?;
        if scanner.peek() == Some(b':') {
            return self.time(first, scanner);
        }
        if !self.has_date()
            && let Some(separator) = scanner.separator()
        {
            return self.triple(first, separator, scanner);
        }
        if let Some(afternoon) = scanner.meridiem() {
            return self.set_time([first.value, 0, 0, 0], Some(afternoon));
        }
        if self.year.is_some() {
            return Err(DateFailure::Syntax);
        }
        let (value, digits) = (first.value, first.digits);
        match digits {
            6 | 8 if !self.has_date() => {
                self.year = Some(DateNumber { value: value / 10_000, digits: digits - 4 });
                self.month = Some(value / 100 % 100);
                self.day = Some(value % 100);
            }
            _ => self.loose.push(first),
        }
        Ok(())
    }

    /// The rest of `a-b-c` behind the first separator; b may be a month's name.
    fn triple(
        &mut self,
        first: DateNumber,
        separator: u8,
        scanner: &mut Scanner<'_>,
    ) -> Result<(), DateFailure> {
        if scanner.peek().is_some_and(|b| !b.is_ascii_digit()) {
            self.month = Some(scanner.month().ok_or(DateFailure::Syntax)?);
            if scanner.separator() != Some(separator) {
                return Err(DateFailure::Syntax);
            }
            self.loose.push(first);
            self.loose.push(scanner.number().ok_or(DateFailure::Syntax)?);
            return Ok(());
        }
        let second = scanner.number().ok_or(DateFailure::Syntax)?;
        if scanner.separator() != Some(separator) {
            return Err(DateFailure::Syntax);
        }
        let third = scanner.number().ok_or(DateFailure::Syntax)?;
        // ISO 8601, whatever the session says.
        let iso = first.digits == 4
            && separator == b'-'
            && (scanner.modern || matches!(scanner.peek(), Some(b'T' | b't')));
        let order = if iso { DateOrder::Ymd } else { scanner.dialect.order };
        if scanner.modern && order == DateOrder::Ydm {
            return Err(DateFailure::Syntax);
        }
        let (year, month, day) = arranged([first, second, third], order);
        if month.digits > 2 || day.digits > 2 {
            return Err(DateFailure::Syntax);
        }
        (self.year, self.month, self.day) = (Some(year), Some(month.value), Some(day.value));
        Ok(())
    }

    /// The rest of `h:m[:s[.f]] [AM|PM]` after the hour.
    fn time(&mut self, hour: DateNumber, scanner: &mut Scanner<'_>) -> Result<(), DateFailure> {
        let small = |n: Option<DateNumber>| {
            n.filter(|n| n.digits <= 2).map(|n| n.value).ok_or(DateFailure::Syntax)
        };
        let mut time = [small(Some(hour))?, 0, 0, 0];
        scanner.at += 1;
        time[1] = small(scanner.number())?;
        if scanner.take(b':') {
            time[2] = small(scanner.number())?;
            let thousandths = scanner.peek() == Some(b':');
            if scanner.take(b'.') || scanner.take(b':') {
                let fraction = scanner.number().ok_or(DateFailure::Syntax)?;
                time[3] = self.fraction(fraction, thousandths)?;
            }
        }
        let afternoon = scanner.meridiem();
        self.set_time(time, afternoon)
    }

    /// A fraction in 100 ns: `.5` is half a second, `:5` is five thousandths. Nanoseconds are
    /// rounded, maybe to a whole second.
    fn fraction(&mut self, fraction: DateNumber, thousandths: bool) -> Result<i64, DateFailure> {
        self.fraction_digits = fraction.digits;
        if thousandths {
            return if fraction.digits <= 3 {
                Ok(fraction.value * 10_000)
            } else {
                Err(DateFailure::Syntax)
            };
        }
        let unit = 10i64.pow(fraction.digits.abs_diff(7) as u32);
        Ok(if fraction.digits <= 7 {
            fraction.value * unit
        } else {
            (fraction.value + unit / 2) / unit
        })
    }

    fn set_time(&mut self, mut time: [i64; 4], afternoon: Option<bool>) -> Result<(), DateFailure> {
        if self.time.is_some() {
            return Err(DateFailure::Syntax);
        }
        match afternoon {
            Some(_) if time[0] > 12 => return Err(DateFailure::Range),
            Some(true) if time[0] < 12 => time[0] += 12,
            Some(false) if time[0] == 12 => time[0] = 0,
            _ => {}
        }
        self.time = Some(time);
        Ok(())
    }

    fn offset(&mut self, scanner: &mut Scanner<'_>) -> Result<(), DateFailure> {
        let west = scanner.peek() == Some(b'-');
        scanner.at += 1;
        let hours = scanner.number().filter(|n| n.digits <= 2).ok_or(DateFailure::Syntax)?;
        if !scanner.take(b':') {
            return Err(DateFailure::Syntax);
        }
        let minutes = scanner.number().filter(|n| n.digits <= 2).ok_or(DateFailure::Syntax)?;
        let total = hours.value * 60 + minutes.value;
        if minutes.value > 59 || total > 840 {
            return Err(DateFailure::Range);
        }
        self.offset = Some(if west { -(total as i16) } else { total as i16 });
        Ok(())
    }

    /// Puts the numbers beside a month's name, or a year alone, into place.
    fn settle(&mut self) -> Result<(), DateFailure> {
        let (year, day) = match (self.month, self.loose.as_slice()) {
            (_, []) => return Ok(()),
            (None, [y]) if y.digits == 4 => {
                self.month = Some(1);
                (*y, 1)
            }
            (Some(_), [y]) if y.digits == 4 => (*y, 1),
            (Some(_), [y, d]) if y.digits == 4 && d.digits <= 2 => (*y, d.value),
            (Some(_), [d, y]) if d.digits <= 2 && matches!(y.digits, 2 | 4) => (*y, d.value),
            _ => return Err(DateFailure::Syntax),
        };
        (self.year, self.day) = (Some(year), Some(day));
        Ok(())
    }

    /// With `day_alone` a fraction that is rounded up leaves the day as it is.
    fn moment(&mut self, day_alone: bool) -> Result<Moment, DateFailure> {
        self.settle()?;
        let [h, m, s, f] = self.time.unwrap_or([0; 4]);
        let days = match (self.year, self.month, self.day) {
            (None, None, None) => DAY_1900,
            (Some(year), Some(month), Some(day)) => {
                let year = match year.digits {
                    1 | 2 if year.value < 50 => year.value + 2000,
                    1 | 2 => year.value + 1900,
                    4 => year.value,
                    _ => return Err(DateFailure::Syntax),
                };
                days_from_civil(year as i32, month as u32, day as u32).ok_or(DateFailure::Range)?
            }
            _ => return Err(DateFailure::Syntax),
        };
        let ticks = ticks_of_day(h, m, s, f.min(LAST_TICK)).ok_or(DateFailure::Range)?
            + u64::from(f > LAST_TICK);
        let (days, ticks) = match ticks {
            DAY_TICKS if days < MAX_DAY && !day_alone => (days + 1, 0),
            // The end of time stays the end.
            DAY_TICKS => (days, DAY_TICKS - 1),
            _ => (days, ticks),
        };
        Ok(Moment { days, ticks, offset: self.offset.unwrap_or(0) })
    }
}

/// A date or time value of type `to` from text of type `from` (which only the messages name).
///
/// Errors: 241 not a date (295 for smalldatetime), 242 a date that does not exist or lies outside
/// datetime's or smalldatetime's range.
pub fn parse(
    text: &str,
    from: DataType,
    to: DataType,
    dialect: Dialect,
) -> Result<Value, SqlError> {
    let coarse = matches!(to, DataType::DateTime | DataType::SmallDateTime);
    let syntax = || match to {
        DataType::SmallDateTime => SqlError::smalldatetime_syntax(),
        _ => SqlError::date_syntax(),
    };
    let range =
        || if coarse { SqlError::date_out_of_range(from, to) } else { SqlError::date_syntax() };
    let failed = |failure| match failure {
        DateFailure::Syntax => syntax(),
        DateFailure::Range => range(),
    };
    let mut parsed = Parsed::scan(text, dialect, !coarse).map_err(failed)?;
    if coarse && (parsed.fraction_digits > 3 || (parsed.offset.is_some() && !parsed.zulu)) {
        return Err(syntax());
    }
    let day_alone = matches!(to, DataType::Date | DataType::Time(_));
    let mut moment = parsed.moment(day_alone).map_err(failed)?;
    if let DataType::Time(scale) = to {
        moment = moment.of_day(scale);
    }
    if !matches!(to, DataType::DateTimeOffset(_)) {
        moment.offset = 0;
    }
    moment.to_value(to).ok_or_else(range)
}

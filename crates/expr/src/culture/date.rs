//! Dates and times by .NET's format strings. `None` is its FormatException, of which FORMAT makes
//! NULL.

use std::fmt::Write as _;

use types::datetime::{DAY_TICKS, Moment, civil_from_days};

use super::Culture;

/// Ticks of 100 ns in a second.
const SECOND: u64 = DAY_TICKS / 86_400;

/// A date with its time; `offset` when the type has one.
pub fn format_moment(
    moment: Moment,
    offset: Option<i16>,
    format: &str,
    culture: &Culture,
) -> Option<String> {
    let english = Culture::find("").ok()?;
    let both = |date: &str, time: &str| format!("{date} {time}");
    let mut chars = format.chars();
    let (pattern, culture) = match (chars.next(), chars.next()) {
        (None, _) => (both(culture.short_date, culture.long_time), culture),
        (Some(letter), None) => match letter {
            'd' => (culture.short_date.to_owned(), culture),
            'D' => (culture.long_date.to_owned(), culture),
            'f' => (both(culture.long_date, culture.short_time), culture),
            'F' => (both(culture.long_date, culture.long_time), culture),
            'g' => (both(culture.short_date, culture.short_time), culture),
            'G' => (both(culture.short_date, culture.long_time), culture),
            'm' | 'M' => (culture.month_day.to_owned(), culture),
            'o' | 'O' => {
                let zone = if offset.is_some() { "zzz" } else { "" };
                (format!("yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffff{zone}"), english)
            }
            'r' | 'R' => ("ddd, dd MMM yyyy HH':'mm':'ss 'GMT'".to_owned(), english),
            's' => ("yyyy'-'MM'-'dd'T'HH':'mm':'ss".to_owned(), english),
            't' => (culture.short_time.to_owned(), culture),
            'T' => (culture.long_time.to_owned(), culture),
            'u' => ("yyyy'-'MM'-'dd HH':'mm':'ss'Z'".to_owned(), english),
            'U' if offset.is_none() => (both(culture.long_date, culture.long_time), culture),
            'y' | 'Y' => (culture.year_month.to_owned(), culture),
            _ => return None,
        },
        _ => (format.to_owned(), culture),
    };
    custom(moment, offset, &pattern, culture)
}

fn custom(moment: Moment, offset: Option<i16>, format: &str, culture: &Culture) -> Option<String> {
    let chars: Vec<char> = format.strip_prefix('%').unwrap_or(format).chars().collect();
    let mut writer = Writer::new(moment, offset, culture);
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let run = chars[at..].iter().take_while(|next| **next == c).count();
        at += match c {
            'd' | 'M' | 'y' | 'H' | 'h' | 'm' | 's' | 'f' | 'F' | 't' | 'z' | 'g' => {
                writer.letters(c, run)?;
                run
            }
            'K' => {
                writer.offset();
                1
            }
            '/' => {
                writer.out.push(culture.date_separator);
                1
            }
            '\\' => {
                writer.out.push(*chars.get(at + 1)?);
                2
            }
            '\'' | '"' => {
                let end = chars[at + 1..].iter().position(|q| *q == c)?;
                writer.out.extend(&chars[at + 1..at + 1 + end]);
                end + 2
            }
            // One letter as a custom format.
            '%' if chars.get(at + 1).is_none_or(|next| *next == '%') => return None,
            '%' => 1,
            other => {
                writer.out.push(other);
                1
            }
        };
    }
    Some(writer.out)
}

/// Writes a date's parts by the letters of a custom format.
struct Writer<'c> {
    culture: &'c Culture,
    year: i32,
    month: u32,
    day: u32,
    weekday: usize,
    /// Ticks of the day.
    ticks: u64,
    offset: Option<i16>,
    out: String,
}

impl<'c> Writer<'c> {
    fn new(moment: Moment, offset: Option<i16>, culture: &'c Culture) -> Writer<'c> {
        let (year, month, day) = civil_from_days(moment.days);
        // Day 0 was a Monday; .NET's weeks begin on Sunday.
        let weekday = (moment.days + 1).rem_euclid(7) as usize;
        Writer {
            culture,
            year,
            month,
            day,
            weekday,
            ticks: moment.ticks,
            offset,
            out: String::new(),
        }
    }

    fn padded(&mut self, n: u64, width: usize) {
        let _ = write!(self.out, "{n:0>width$}");
    }

    /// A run of one letter; `None`: there is no such part.
    fn letters(&mut self, letter: char, run: usize) -> Option<()> {
        let culture = self.culture;
        let month_at = (self.month as usize).saturating_sub(1).min(11);
        let hour = self.ticks / (3600 * SECOND);
        match (letter, run) {
            ('d', 1 | 2) => self.padded(u64::from(self.day), run),
            ('d', 3) => self.out.push_str(culture.short_days[self.weekday]),
            ('d', _) => self.out.push_str(culture.days[self.weekday]),
            ('M', 1 | 2) => self.padded(u64::from(self.month), run),
            ('M', 3) => self.out.push_str(culture.short_months[month_at]),
            ('M', _) => self.out.push_str(culture.months[month_at]),
            ('y', 1 | 2) => self.padded(self.year as u64 % 100, run),
            ('y', _) => self.padded(self.year as u64, run),
            ('H', _) => self.padded(hour, run.min(2)),
            ('h', _) => {
                self.padded(if hour.is_multiple_of(12) { 12 } else { hour % 12 }, run.min(2))
            }
            ('m', _) => self.padded(self.ticks / (60 * SECOND) % 60, run.min(2)),
            ('s', _) => self.padded(self.ticks / SECOND % 60, run.min(2)),
            ('f' | 'F', _) => self.fraction(letter, run)?,
            ('t', _) => {
                let text = if hour < 12 { culture.am_pm.0 } else { culture.am_pm.1 };
                self.out.extend(text.chars().take(if run == 1 { 1 } else { usize::MAX }));
            }
            ('z', _) => self.zone(run),
            ('g', _) => self.out.push_str(culture.era),
            _ => return None,
        }
        Some(())
    }

    /// Digits of the second's fraction: `F` leaves out zeros at the end, and a point before
    /// nothing.
    fn fraction(&mut self, letter: char, run: usize) -> Option<()> {
        let fraction = format!("{:07}", self.ticks % SECOND);
        let digits = fraction.get(..run)?;
        if letter == 'f' {
            self.out.push_str(digits);
            return Some(());
        }
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() && self.out.ends_with('.') {
            self.out.pop();
        }
        self.out.push_str(digits);
        Some(())
    }

    fn zone(&mut self, run: usize) {
        let minutes = self.offset.unwrap_or(0);
        let (hours, rest) = (minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60);
        self.out.push(if minutes < 0 { '-' } else { '+' });
        let _ = match run {
            1 => write!(self.out, "{hours}"),
            2 => write!(self.out, "{hours:02}"),
            _ => write!(self.out, "{hours:02}:{rest:02}"),
        };
    }

    fn offset(&mut self) {
        if let Some(minutes) = self.offset {
            self.out.push_str(&types::datetime::offset_text(minutes));
        }
    }
}

/// A time of day, which .NET has as a span: literals must be quoted or escaped.
pub fn format_span(ticks: u64, format: &str, culture: &Culture) -> Option<String> {
    let (hours, minutes, seconds) =
        (ticks / (3600 * SECOND), ticks / (60 * SECOND) % 60, ticks / SECOND % 60);
    let fraction = format!("{:07}", ticks % SECOND);
    match format {
        "" | "c" | "t" | "T" => {
            let some =
                if ticks.is_multiple_of(SECOND) { String::new() } else { format!(".{fraction}") };
            return Some(format!("{hours:02}:{minutes:02}:{seconds:02}{some}"));
        }
        "g" => {
            let digits = fraction.trim_end_matches('0');
            let some = if digits.is_empty() {
                String::new()
            } else {
                format!("{}{digits}", culture.decimal)
            };
            return Some(format!("{hours}:{minutes:02}:{seconds:02}{some}"));
        }
        "G" => {
            return Some(format!(
                "0:{hours:02}:{minutes:02}:{seconds:02}{}{fraction}",
                culture.decimal
            ));
        }
        _ => {}
    }
    let chars: Vec<char> = format.strip_prefix('%').unwrap_or(format).chars().collect();
    if chars.len() == 1 && !format.starts_with('%') {
        return None;
    }
    let mut out = String::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let run = chars[at..].iter().take_while(|next| **next == c).count();
        let mut used = run;
        let part = |n: u64| (run <= 2).then(|| format!("{n:0>run$}"));
        match c {
            'd' if run <= 8 => out.push_str(&"0".repeat(run)),
            'h' => out.push_str(&part(hours)?),
            'm' => out.push_str(&part(minutes)?),
            's' => out.push_str(&part(seconds)?),
            'f' if run <= 7 => out.push_str(&fraction[..run]),
            'F' if run <= 7 => out.push_str(fraction[..run].trim_end_matches('0')),
            '\\' => {
                out.push(*chars.get(at + 1)?);
                used = 2;
            }
            '\'' | '"' => {
                let end = chars[at + 1..].iter().position(|q| *q == c)?;
                out.extend(&chars[at + 1..at + 1 + end]);
                used = end + 2;
            }
            _ => return None,
        }
        at += used;
    }
    Some(out)
}

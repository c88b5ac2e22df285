//! Dates and times by .NET's format strings. `None` is its FormatException, of which FORMAT makes NULL.

use types::datetime::{DAY_TICKS, Moment, civil_from_days};

use super::Culture;

/// Ticks of 100 ns in a second.
const SECOND: u64 = DAY_TICKS / 86_400;

/// A date with its time; `offset` when the type has one.
pub fn format_moment(moment: Moment, offset: Option<i16>, format: &str, culture: &Culture) -> Option<String> {
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
    let (year, month, day) = civil_from_days(moment.days);
    // Day 0 was a Monday; .NET's weeks begin on Sunday.
    let weekday = (moment.days + 1).rem_euclid(7) as usize;
    let (hour, minute, second) =
        (moment.ticks / (3600 * SECOND), moment.ticks / (60 * SECOND) % 60, moment.ticks / SECOND % 60);
    let fraction = format!("{:07}", moment.ticks % SECOND);
    let padded = |n: u64, width: usize| format!("{n:0>width$}");
    let month_at = (month as usize).saturating_sub(1).min(11);
    let mut out = String::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let run = chars[at..].iter().take_while(|next| **next == c).count();
        let mut used = run;
        match c {
            'd' => match run {
                1 | 2 => out.push_str(&padded(u64::from(day), run)),
                3 => out.push_str(culture.short_days[weekday]),
                _ => out.push_str(culture.days[weekday]),
            },
            'M' => match run {
                1 | 2 => out.push_str(&padded(u64::from(month), run)),
                3 => out.push_str(culture.short_months[month_at]),
                _ => out.push_str(culture.months[month_at]),
            },
            'y' => match run {
                1 | 2 => out.push_str(&padded(year as u64 % 100, run)),
                _ => out.push_str(&padded(year as u64, run)),
            },
            'H' => out.push_str(&padded(hour, run.min(2))),
            'h' => out.push_str(&padded(if hour % 12 == 0 { 12 } else { hour % 12 }, run.min(2))),
            'm' => out.push_str(&padded(minute, run.min(2))),
            's' => out.push_str(&padded(second, run.min(2))),
            'f' | 'F' if run > 7 => return None,
            'f' => out.push_str(&fraction[..run]),
            'F' => {
                let digits = fraction[..run].trim_end_matches('0');
                if digits.is_empty() && out.ends_with('.') {
                    out.pop();
                }
                out.push_str(digits);
            }
            't' => {
                let text = if hour < 12 { culture.am_pm.0 } else { culture.am_pm.1 };
                out.extend(text.chars().take(if run == 1 { 1 } else { usize::MAX }));
            }
            'z' => {
                let minutes = offset.unwrap_or(0);
                let sign = if minutes < 0 { '-' } else { '+' };
                let (hours, rest) = (minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60);
                out.push(sign);
                match run {
                    1 => out.push_str(&hours.to_string()),
                    2 => out.push_str(&format!("{hours:02}")),
                    _ => out.push_str(&format!("{hours:02}:{rest:02}")),
                }
            }
            'K' => {
                used = 1;
                if let Some(minutes) = offset {
                    out.push_str(&types::datetime::offset_text(minutes));
                }
            }
            'g' => out.push_str(culture.era),
            ':' => {
                used = 1;
                out.push(':');
            }
            '/' => {
                used = 1;
                out.push(culture.date_separator);
            }
            '\\' => {
                out.push(*chars.get(at + 1)?);
                used = 2;
            }
            '\'' | '"' => {
                let end = chars[at + 1..].iter().position(|q| *q == c)?;
                out.extend(&chars[at + 1..at + 1 + end]);
                used = end + 2;
            }
            '%' => {
                // One letter as a custom format.
                used = 1;
                if chars.get(at + 1).is_none_or(|next| *next == '%') {
                    return None;
                }
            }
            other => {
                used = 1;
                out.push(other);
            }
        }
        at += used;
    }
    Some(out)
}

/// A time of day, which .NET has as a span: literals must be quoted or escaped.
pub fn format_span(ticks: u64, format: &str, culture: &Culture) -> Option<String> {
    let (hours, minutes, seconds) =
        (ticks / (3600 * SECOND), ticks / (60 * SECOND) % 60, ticks / SECOND % 60);
    let fraction = format!("{:07}", ticks % SECOND);
    match format {
        "" | "c" | "t" | "T" => {
            let some = if ticks.is_multiple_of(SECOND) { String::new() } else { format!(".{fraction}") };
            return Some(format!("{hours:02}:{minutes:02}:{seconds:02}{some}"));
        }
        "g" => {
            let digits = fraction.trim_end_matches('0');
            let some = if digits.is_empty() { String::new() } else { format!("{}{digits}", culture.decimal) };
            return Some(format!("{hours}:{minutes:02}:{seconds:02}{some}"));
        }
        "G" => {
            return Some(format!("0:{hours:02}:{minutes:02}:{seconds:02}{}{fraction}", culture.decimal));
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

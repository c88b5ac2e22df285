//! The masks of columns (MASKED WITH): the texts that stand for them, and what a mask makes of a
//! value. Guarantees: what [`Mask::of_column`] takes, [`Mask::read`] takes, and [`Mask`] is written
//! in one way only; a mask tells nothing of a value but what its definition lets through, and
//! whether it is NULL.

use std::fmt;

use types::datetime::{civil_from_days, days_from_civil};
use types::value::{of_variant, parts};
use types::{CodePage, DataType, Decimal, Len, Mode, Value, convert, units};

/// 1900-01-01, in days since 0001-01-01.
const BEGINNING: i32 = 693_595;
/// The year that `datetime("Y")` shows.
const YEAR: i32 = 2000;
/// What stands for texts.
const XXXX: &str = "xxxx";
/// 100 ns in a second.
const SECOND: u64 = 10_000_000;

/// A mask.
#[derive(Clone, Debug, PartialEq)]
pub enum Mask {
    /// One value for all of a type.
    Default,
    /// The first character of an address.
    Email,
    /// So many characters at the beginning and at the end, and what stands between them.
    Partial { prefix: usize, padding: String, suffix: usize },
    /// Any number of a range.
    Random { low: Decimal, high: Decimal },
    /// One part of a date or time is set to its least value.
    DateTime(char),
}

/// Why a text is no mask of a column; with the name of the function, as written or in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoMask {
    /// 16002.
    Unknown,
    /// 16003.
    Type(&'static str),
    /// 16004.
    Count(String),
    /// 16005.
    Argument(String),
    /// 16006.
    Format(String),
}

impl Mask {
    /// The mask that a definition means for a column of a type.
    ///
    /// # Errors
    /// Why it means none.
    pub fn of_column(text: &str, ty: DataType) -> Result<Mask, NoMask> {
        if text.is_empty() {
            return Err(NoMask::Unknown);
        }
        let Some(open) = text.find('(') else { return Err(NoMask::Format(text.into())) };
        let name = &text[..open];
        let Some((args, rest)) = arguments(&text[open + 1..]) else {
            return Err(NoMask::Format(name.into()));
        };
        let (count, argument) = (|| NoMask::Count(name.into()), || NoMask::Argument(name.into()));
        if !rest.is_empty() {
            return Err(count());
        }
        let number = |text: &str| match text.bytes().all(|b| b.is_ascii_digit()) {
            true => text.parse::<u16>().map(usize::from).map_err(|_| argument()),
            false => Err(argument()),
        };
        let texts = ty.is_string();
        match (name.trim_end().to_ascii_lowercase().as_str(), args.as_slice()) {
            ("default", []) => Ok(Mask::Default),
            ("default", _) => Err(count()),
            ("email", _) if !texts => Err(NoMask::Type("email")),
            ("email", []) => Ok(Mask::Email),
            ("email", _) => Err(count()),
            ("partial", _) if !texts => Err(NoMask::Type("partial")),
            ("partial", [prefix, padding, suffix]) => Ok(Mask::Partial {
                prefix: number(prefix)?,
                padding: quoted(padding).ok_or_else(argument)?,
                suffix: number(suffix)?,
            }),
            ("partial", _) => Err(count()),
            ("random", _) if !ty.is_number() => Err(NoMask::Type("random")),
            ("random", [low, high]) => {
                let bound = |text: &str| bound(text, ty).ok_or_else(argument);
                let (low, high) = (bound(low)?, bound(high)?);
                if low > high { Err(argument()) } else { Ok(Mask::Random { low, high }) }
            }
            ("random", _) => Err(count()),
            ("datetime", _) if !ty.is_temporal() => Err(NoMask::Type("datetime")),
            ("datetime", [part]) => {
                let parts = match ty {
                    DataType::Date => "YMD",
                    DataType::Time(_) => "hms",
                    _ => "YMDhms",
                };
                let part =
                    quoted(part).and_then(|part| parts.chars().find(|c| part == c.to_string()));
                part.map(Mask::DateTime).ok_or_else(argument)
            }
            ("datetime", _) => Err(count()),
            _ => Err(NoMask::Unknown),
        }
    }

    /// The mask of a text that [`Mask`] was written to; any other text is the default.
    pub fn read(text: &str) -> Mask {
        let fits = [DataType::VarChar(Len::Max), DataType::Float, DataType::DateTime2(7)];
        fits.into_iter().find_map(|ty| Mask::of_column(text, ty).ok()).unwrap_or(Mask::Default)
    }

    /// Whether it shows another value each time.
    pub fn is_random(&self) -> bool {
        matches!(self, Mask::Random { .. })
    }

    /// What it makes of a value of a type. `random`: a number from 0 up to 1.
    pub fn apply(&self, value: &Value, ty: DataType, random: f64) -> Value {
        if value.is_null() {
            return Value::Null;
        }
        let shown = match (self, value) {
            (Mask::Email, Value::Str(text)) => {
                text.chars().next().map(|first| text_of(&format!("{first}XXX@XXXX.com"), ty))
            }
            (Mask::Partial { prefix, padding, suffix }, Value::Str(text)) => {
                Some(text_of(&partial(text, *prefix, padding, *suffix), ty))
            }
            (Mask::Random { low, high }, _) => between(*low, *high, random, ty),
            (Mask::DateTime(part), value) => without(*part, value),
            _ => None,
        };
        shown.unwrap_or_else(|| default_of(value, ty))
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mask::Default => f.write_str("default()"),
            Mask::Email => f.write_str("email()"),
            Mask::Partial { prefix, padding, suffix } => {
                write!(f, "partial({prefix}, \"{}\", {suffix})", padding.replace('"', "\"\""))
            }
            Mask::Random { low, high } => write!(f, "random({low}, {high})"),
            Mask::DateTime(part) => write!(f, "datetime(\"{part}\")"),
        }
    }
}

/// The arguments up to the closing parenthesis, and what stands behind it; none without that.
fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut args, mut start, mut in_quotes) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => {
                args.push(text[start..at].trim());
                start = at + 1;
            }
            ')' if !in_quotes => {
                let last = text[start..at].trim();
                if !(args.is_empty() && last.is_empty()) {
                    args.push(last);
                }
                return Some((args, &text[at + 1..]));
            }
            _ => {}
        }
    }
    None
}

/// What stands in double quotes.
fn quoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let single = inner.replace("\"\"", "");
    (!single.contains('"')).then(|| inner.replace("\"\"", "\""))
}

/// A bound of a range of numbers, as a column of a type has it.
fn bound(text: &str, ty: DataType) -> Option<Decimal> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let value = Decimal::parse(text).ok()?;
    let value = match ty {
        DataType::Decimal { precision, scale, .. } => return value.rescale(precision, scale),
        DataType::Bit => (0..=1).contains(&value.truncated()).then_some(value)?,
        _ => {
            let from = value.data_type();
            convert(&Value::Decimal(value), from, ty, 0, Mode::Implicit).ok()?;
            value
        }
    };
    match ty {
        DataType::Money | DataType::SmallMoney => without_zeros(value.round_to(4)?.truncate_to(4)),
        DataType::Float | DataType::Real => without_zeros(value),
        // Whole numbers are written as such.
        _ if text.contains('.') => None,
        _ => Some(value),
    }
}

fn without_zeros(value: Decimal) -> Option<Decimal> {
    let (mut mantissa, mut scale) = (value.mantissa(), value.scale());
    while scale > 0 && mantissa % 10 == 0 {
        (mantissa, scale) = (mantissa / 10, scale - 1);
    }
    Decimal::new(mantissa, value.precision(), scale)
}

/// A text as a value of a type: cut, or filled up.
fn text_of(text: &str, ty: DataType) -> Value {
    let (width, fixed) = match ty {
        DataType::Char(n) | DataType::NChar(n) => (usize::from(n), true),
        DataType::VarChar(Len::N(n)) | DataType::NVarChar(Len::N(n)) => (usize::from(n), false),
        _ => (usize::MAX, false),
    };
    let mut out = convert::first_units(text, width, ty, CodePage::Latin).into_owned();
    let length = if ty.is_unicode() { units::utf16_len(&out) } else { out.chars().count() };
    if fixed {
        out.extend(std::iter::repeat_n(' ', width.saturating_sub(length)));
    }
    Value::str(out)
}

fn partial(text: &str, prefix: usize, padding: &str, suffix: usize) -> String {
    let length = units::utf16_len(text);
    // What would show all of it shows nothing.
    if length <= prefix + suffix {
        return padding.to_string();
    }
    let mut out = units::cut(text, 0, prefix).into_owned();
    units::push_text(&mut out, padding);
    units::push_text(&mut out, &units::cut(text, length - suffix, length));
    out
}

fn between(low: Decimal, high: Decimal, random: f64, ty: DataType) -> Option<Value> {
    let value = match ty {
        DataType::Float | DataType::Real => {
            let (low, high) = (low.to_f64(), high.to_f64());
            return convert(
                &Value::Float(low + (high - low) * random),
                DataType::Float,
                ty,
                0,
                Mode::Implicit,
            )
            .ok();
        }
        DataType::Money | DataType::SmallMoney => (low.rescale(19, 4)?, high.rescale(19, 4)?),
        _ => (low, high),
    };
    let (low, high) = value;
    let count = high.mantissa().checked_sub(low.mantissa())?.checked_add(1)?;
    let step = ((count as f64) * random) as i128;
    let mantissa = low.mantissa().checked_add(step.clamp(0, count - 1))?;
    let value = Decimal::new(mantissa, 38, low.scale())?;
    convert(&Value::Decimal(value), value.data_type(), ty, 0, Mode::Implicit).ok()
}

/// A date or time with one part at its least, and no fraction of a second.
fn without(part: char, value: &Value) -> Option<Value> {
    let date = |days: i32| {
        let (year, month, day) = civil_from_days(days);
        match part {
            'Y' => days_from_civil(YEAR, month, day).or_else(|| days_from_civil(YEAR, month, 28)),
            'M' => days_from_civil(year, 1, day),
            'D' => days_from_civil(year, month, 1),
            _ => Some(days),
        }
    };
    let time = |ticks: u64| {
        let seconds = ticks / SECOND;
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let (h, m, s) = match part {
            'h' => (0, m, s),
            'm' => (h, 0, s),
            's' => (h, m, 0),
            _ => (h, m, s),
        };
        (h * 3600 + m * 60 + s) * SECOND
    };
    Some(match *value {
        Value::Date(days) => Value::Date(date(days)?),
        Value::Time(ticks) => Value::Time(time(ticks)),
        Value::DateTime { days, ticks } => {
            let ticks = time(u64::from(ticks / 300) * SECOND) / SECOND * 300;
            Value::DateTime { days: date(days + BEGINNING)? - BEGINNING, ticks: ticks as u32 }
        }
        Value::SmallDateTime { days, minutes } => {
            let minutes = time(u64::from(minutes) * 60 * SECOND) / SECOND / 60;
            let days = date(i32::from(days) + BEGINNING)? - BEGINNING;
            Value::SmallDateTime { days: u16::try_from(days).ok()?, minutes: minutes as u16 }
        }
        Value::DateTime2 { days, ticks } => {
            Value::DateTime2 { days: date(days)?, ticks: time(ticks) }
        }
        Value::DateTimeOffset { days, ticks, offset } => {
            Value::DateTimeOffset { days: date(days)?, ticks: time(ticks), offset }
        }
        _ => return None,
    })
}

/// The value that stands for all values of a type.
fn default_of(value: &Value, ty: DataType) -> Value {
    match ty {
        DataType::Xml => Value::str("<masked/>"),
        DataType::Date => Value::Date(BEGINNING),
        DataType::Time(_) => Value::Time(0),
        DataType::DateTime => Value::DateTime { days: 0, ticks: 0 },
        DataType::SmallDateTime => Value::SmallDateTime { days: 0, minutes: 0 },
        DataType::DateTime2(_) => Value::DateTime2 { days: BEGINNING, ticks: 0 },
        DataType::DateTimeOffset(_) => {
            Value::DateTimeOffset { days: BEGINNING, ticks: 0, offset: 0 }
        }
        DataType::UniqueIdentifier => Value::Guid([0; 16]),
        DataType::RowVersion => Value::bytes(vec![0; 8]),
        DataType::HierarchyId => Value::bytes(Vec::new()),
        DataType::Binary(n) => {
            let mut bytes = vec![0; usize::from(n)];
            bytes[..1].copy_from_slice(b"0");
            Value::bytes(bytes)
        }
        DataType::VarBinary(_) => Value::bytes(b"0".to_vec()),
        DataType::SqlVariant => {
            let (inner, ty, collation) = parts(value);
            of_variant(default_of(inner, ty), ty, collation)
        }
        ty if ty.is_string() => text_of(XXXX, ty),
        ty => convert(&Value::Int(0), DataType::Int, ty, 0, Mode::Implicit).unwrap_or(Value::Null),
    }
}

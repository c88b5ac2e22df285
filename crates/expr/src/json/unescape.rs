//! The text that a quoted string of JSON stands for. Guarantees: the reference of half of a
//! character is that half, beside the other one they are the character; a reference that is none
//! becomes U+FFFD.

use std::borrow::Cow;

use types::{CancelCheck, SqlError, units};

use crate::large::StepCounter;

/// The text of a quoted and checked string.
pub fn unescaped<'t>(quoted: &'t str, look: CancelCheck<'_>) -> Result<Cow<'t, str>, SqlError> {
    let inner = quoted.strip_prefix('"').and_then(|s| s.strip_suffix('"')).unwrap_or(quoted);
    let Some(first) = memchr::memchr(b'\\', inner.as_bytes()) else { return Ok(inner.into()) };
    let mut steps = StepCounter::new(look);
    let mut out = String::with_capacity(inner.len());
    out.push_str(&inner[..first]);
    let mut rest = &inner[first..];
    while let Some(c) = rest.chars().next() {
        steps.step(4)?;
        let (unit, length) = if c == '\\' { reference(rest) } else { (None, 0) };
        if let Some(unit) = unit {
            units::push_unit(&mut out, unit);
            rest = &rest[length..];
            continue;
        }
        let (c, length) = match rest[c.len_utf8()..].chars().next() {
            Some(next) if c == '\\' => (escaped_char(next), 1 + next.len_utf8()),
            None if c == '\\' => break,
            _ => (c, c.len_utf8()),
        };
        units::push_char(&mut out, c);
        rest = &rest[length..];
    }
    Ok(out.into())
}

/// The unit of `\uXXXX`, which a text may begin with, and its length.
fn reference(text: &str) -> (Option<u16>, usize) {
    let Some(digits) = text.strip_prefix("\\u") else { return (None, 0) };
    let digits = &digits[..digits.floor_char_boundary(4)];
    (Some(u16::from_str_radix(digits, 16).unwrap_or(0xFFFD)), 2 + digits.len())
}

fn escaped_char(c: char) -> char {
    match c {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    }
}

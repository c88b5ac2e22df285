//! The text that a quoted string of JSON stands for.
//! Guarantee: what is no character (half of one, a reference that is none) becomes U+FFFD.

use std::borrow::Cow;

use types::{Look, SqlError};

use crate::large::Steps;

/// The text of a quoted and checked string.
pub fn unescaped<'t>(quoted: &'t str, look: Look<'_>) -> Result<Cow<'t, str>, SqlError> {
    let inner = quoted.strip_prefix('"').and_then(|s| s.strip_suffix('"')).unwrap_or(quoted);
    let Some(first) = memchr::memchr(b'\\', inner.as_bytes()) else { return Ok(inner.into()) };
    let mut steps = Steps::new(look);
    let mut out = String::with_capacity(inner.len());
    out.push_str(&inner[..first]);
    let mut rest = &inner[first..];
    // The first half of a character that two references give.
    let mut half: Option<u16> = None;
    while let Some(c) = rest.chars().next() {
        steps.step(4)?;
        let (unit, length) = if c == '\\' { reference(rest) } else { (None, 0) };
        let Some(unit) = unit else {
            push_half(&mut half, &mut out);
            let (c, length) = match rest[c.len_utf8()..].chars().next() {
                Some(next) if c == '\\' => (escaped_char(next), 1 + next.len_utf8()),
                None if c == '\\' => break,
                _ => (c, c.len_utf8()),
            };
            out.push(c);
            rest = &rest[length..];
            continue;
        };
        rest = &rest[length..];
        if let (Some(high), 0xDC00..=0xDFFF) = (half, unit) {
            half = None;
            let decoded = char::decode_utf16([high, unit]).next().and_then(Result::ok);
            out.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
            continue;
        }
        push_half(&mut half, &mut out);
        match char::from_u32(u32::from(unit)) {
            Some(c) => out.push(c),
            None if unit < 0xDC00 => half = Some(unit),
            None => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    push_half(&mut half, &mut out);
    Ok(out.into())
}

/// Half of a character is none.
fn push_half(half: &mut Option<u16>, out: &mut String) {
    if half.take().is_some() {
        out.push(char::REPLACEMENT_CHARACTER);
    }
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

//! SQL values as JSON text, as FOR JSON, JSON_OBJECT and JSON_MODIFY write them.

use crate::large::{LARGE, StepCounter};
use types::convert::{Mode, convert};
use types::look::pieces;
use types::{CancelCheck, DataType, Len, SqlError, Value};

/// Appends a quoted string.
///
/// # Errors
/// Only that the statement is to stop.
pub fn write_string(text: &str, out: &mut String, look: CancelCheck<'_>) -> Result<(), SqlError> {
    out.push('"');
    for piece in pieces(text, look) {
        let piece = piece?;
        let mut written = 0;
        for (at, byte) in piece.bytes().enumerate() {
            let code;
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'/' => "\\/",
                0x8 => "\\b",
                0xc => "\\f",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                0..b' ' => {
                    code = format!("\\u{byte:04x}");
                    &code
                }
                _ => continue,
            };
            out.push_str(&piece[written..at]);
            out.push_str(escape);
            written = at + 1;
        }
        out.push_str(&piece[written..]);
    }
    out.push('"');
    Ok(())
}

/// Bytes that a value takes at most as [`value_text`] writes it.
pub fn most_bytes(value: &Value) -> usize {
    match value {
        // \u001f of one byte is the worst; a text that is large is looked at.
        Value::Str(text) if text.len() < LARGE => text.len() * 6 + 2,
        Value::Str(text) => {
            let escaped = |b: u8| match b {
                0..b' ' => 6,
                b'"' | b'\\' | b'/' => 2,
                _ => 1,
            };
            text.bytes().map(escaped).sum::<usize>() + 2
        }
        Value::Bytes(bytes) => bytes.len().div_ceil(3) * 4 + 2,
        _ => 100,
    }
}

/// Appends a value; `json` says that a string is JSON text already. NULL is `null`.
pub fn value_text(
    value: &Value,
    ty: DataType,
    json: bool,
    out: &mut String,
    look: CancelCheck<'_>,
) -> Result<(), SqlError> {
    let (value, ty) = match ty {
        DataType::SqlVariant => {
            let (value, ty, _) = types::variant::parts(value);
            (value, ty)
        }
        ty => (value, ty),
    };
    let text = |style| convert(value, ty, DataType::VarChar(Len::Max), style, Mode::Explicit);
    match value {
        Value::Null => out.push_str("null"),
        Value::Bit(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Str(s) if json => out.push_str(s),
        Value::Str(s) => write_string(s, out, look)?,
        Value::Bytes(bytes) => {
            // Whole groups of three bytes. A slash is escaped.
            out.push('"');
            for (at, piece) in bytes.chunks(48 << 10).enumerate() {
                if at > 0 {
                    look()?;
                }
                out.push_str(&base64(piece).replace('/', "\\/"));
            }
            out.push('"');
        }
        Value::Guid(_) => write_string(text(0)?.as_str().unwrap_or_default(), out, look)?,
        Value::Float(_) | Value::Real(_) => {
            // 16 digits of a float, 8 of a real, as style 2 and 1 have them.
            let style = if matches!(value, Value::Float(_)) { 2 } else { 1 };
            out.push_str(text(style)?.as_str().unwrap_or_default());
        }
        Value::Money(_) | Value::SmallMoney(_) => {
            out.push_str(text(2)?.as_str().unwrap_or_default())
        }
        Value::DateTimeOffset { offset: 0, .. } => {
            let moment = text(127)?;
            write_string(moment.as_str().unwrap_or_default(), out, look)?;
        }
        _ if ty.is_temporal() => write_string(text(126)?.as_str().unwrap_or_default(), out, look)?,
        _ => out.push_str(text(0)?.as_str().unwrap_or_default()),
    }
    Ok(())
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The number of a digit; 255 for what is none.
static VALUES: [u8; 256] = values();

const fn values() -> [u8; 256] {
    let mut table = [255; 256];
    let mut digit = 0;
    while digit < DIGITS.len() {
        table[DIGITS[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
}

/// The bytes of a base64 text; `None` for what is none.
///
/// # Errors
/// Only that the statement is to stop.
pub fn from_base64(text: &str, look: CancelCheck<'_>) -> Result<Option<Vec<u8>>, SqlError> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut steps = StepCounter::new(look);
    for chunk in digits.as_bytes().chunks(4) {
        steps.step(4)?;
        let mut whole = 0u32;
        for at in 0..4 {
            let digit = chunk.get(at).map_or(0, |byte| VALUES[usize::from(*byte)]);
            if digit == 255 {
                return Ok(None);
            }
            whole = (whole << 6) | u32::from(digit);
        }
        out.extend_from_slice(&whole.to_be_bytes()[1..chunk.len()]);
    }
    Ok(Some(out))
}

/// Base64 with padding, without line ends.
pub fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let whole =
            chunk.iter().fold(0u32, |n, b| (n << 8) | u32::from(*b)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(whole >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

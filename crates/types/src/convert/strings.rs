//! Values to texts and bytes of a length: what fits, what is cut or padded, and what is an error.

use super::{ConvertOptions, Mode};
use crate::codepage::{self, CodePage};
use crate::datatype::DataType;
use crate::dateformat;
use crate::error::SqlError;
use crate::look::{CancelCheck, byte_pieces, pieces};
use crate::numtext;
use crate::rowcell::encode_utf16;
use crate::units::{self, UnitPlace};
use crate::value::Value;
use compact_str::{CompactString, ToCompactString, format_compact};
use std::borrow::Cow;
use std::sync::Arc;

/// The beginning of a string or binary value that fits the type: what message 2628 shows.
pub fn fitting_part(value: &Value, ty: DataType, page: CodePage) -> String {
    match (value, ty.length()) {
        (Value::Str(s), Some(limit)) => first_units(s, limit, ty, page).into_owned(),
        (Value::Str(s), None) => s.to_string(),
        (Value::Bytes(b), limit) => {
            let end = limit.unwrap_or(b.len()).min(b.len());
            numtext::hex_text("0x", &b[..end])
        }
        _ => String::new(),
    }
}

/// The longest beginning of a text that has at most `limit` of the type's units: UTF-16 units of
/// nchar and nvarchar, where half of a character may be the last one, bytes of char and varchar.
pub fn first_units(text: &str, limit: usize, ty: DataType, page: CodePage) -> Cow<'_, str> {
    match ty.is_unicode() {
        true => units::cut(text, 0, limit),
        false => Cow::Borrowed(&text[..cut_at(text, limit, ty, page).byte]),
    }
}

/// Where a text is cut that may have `limit` of the type's units.
fn cut_at(text: &str, limit: usize, ty: DataType, page: CodePage) -> UnitPlace {
    if ty.is_unicode() || units::is_ascii(text.as_bytes()) {
        return units::place(text, limit);
    }
    let mut bytes = 0;
    let over = text.char_indices().find(|(_, c)| {
        bytes += page.char_len(*c);
        bytes > limit
    });
    let byte = over.map_or(text.len(), |(at, _)| at);
    // No character of a code page is cut, also none that is held as its halves.
    UnitPlace { byte: units::half_before(text, byte).unwrap_or(byte), second: false }
}

/// A text as a value of a string type: characters that the code page lacks replaced, cut, padded.
pub(crate) fn fit_string(
    text: CompactString,
    ty: DataType,
    mode: Mode,
    page: CodePage,
) -> Result<Value, SqlError> {
    fit_string_looking(text, ty, &ConvertOptions { page, ..ConvertOptions::new(0, mode) })
}

/// A text after a round trip through a page: `None` when nothing changes.
fn replaced(text: &str, page: CodePage, look: CancelCheck<'_>) -> Result<Option<String>, SqlError> {
    let mut out: Option<String> = None;
    let mut before = 0;
    for piece in pieces(text, look) {
        let piece = piece?;
        match (page.replaced(piece), &mut out) {
            (Some(new), Some(out)) => out.push_str(&new),
            (Some(new), none) => *none = Some(format!("{}{new}", &text[..before])),
            (None, Some(out)) => out.push_str(piece),
            (None, None) => {}
        }
        before += piece.len();
    }
    Ok(out)
}

/// [`fit_string`] of a text that may be long.
pub(crate) fn fit_string_looking(
    text: CompactString,
    ty: DataType,
    how: &ConvertOptions<'_>,
) -> Result<Value, SqlError> {
    let ConvertOptions { mode, page, look, .. } = *how;
    let text = match ty.is_unicode() {
        true => text,
        false => replaced(&text, page, look)?.map_or(text, CompactString::from),
    };
    let Some(limit) = ty.length() else {
        return Ok(Value::Str(text));
    };
    let length = |text: &str| {
        if ty.is_unicode() { codepage::utf16_len(text) } else { page.encoded_len(text) }
    };
    let mut text = text;
    let mut units = length(&text);
    if units > limit {
        let end = cut_at(&text, limit, ty, page);
        let blank = text[end.byte..].bytes().all(|b| b == b' ');
        if mode == Mode::Assignment && !blank {
            return Err(SqlError::truncation(&first_units(&text, limit, ty, page)));
        }
        let half = if end.second && !how.whole_characters {
            text[end.byte..].chars().next().and_then(units::halves)
        } else {
            None
        };
        text.truncate(end.byte);
        text.extend(half.map(|(high, _)| high));
        // Below the limit where a character did not fit: a fixed type is padded again.
        units = length(&text);
    }
    if matches!(ty, DataType::Char(_) | DataType::NChar(_)) && units < limit {
        pad(&mut text, limit - units);
    }
    Ok(Value::Str(text))
}

/// Adds so many blanks.
fn pad(text: &mut CompactString, mut missing: usize) {
    const BLANKS: &str = "                                                                ";
    text.reserve(missing);
    while missing > 0 {
        let more = missing.min(BLANKS.len());
        text.push_str(&BLANKS[..more]);
        missing -= more;
    }
}

/// Bytes as a value of a binary type.
pub(crate) fn fit_bytes(bytes: Arc<[u8]>, ty: DataType, mode: Mode) -> Result<Value, SqlError> {
    let Some(limit) = ty.length() else {
        return Ok(Value::Bytes(bytes));
    };
    if bytes.len() > limit {
        if mode == Mode::Assignment && bytes[limit..].iter().any(|b| *b != 0) {
            return Err(SqlError::truncation(&numtext::hex_text("0x", &bytes[..limit])));
        }
        return Ok(Value::Bytes(Arc::from(&bytes[..limit])));
    }
    if matches!(ty, DataType::Binary(_) | DataType::RowVersion) && bytes.len() < limit {
        let mut padded = bytes.to_vec();
        padded.resize(limit, 0);
        return Ok(Value::Bytes(Arc::from(padded)));
    }
    Ok(Value::Bytes(bytes))
}

pub(super) fn to_string(
    value: &Value,
    from: DataType,
    to: DataType,
    how: &ConvertOptions<'_>,
) -> Result<Value, SqlError> {
    let ConvertOptions { style, mode, dialect, page, .. } = *how;
    let text = match value {
        Value::Str(s) => return fit_string_looking(s.clone(), to, how),
        Value::Bytes(b) => return fit_string_looking(bytes_text(b, from, to, how)?, to, how),
        Value::Bit(b) => CompactString::const_new(if *b { "1" } else { "0" }),
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) => {
            value.as_i64().unwrap_or(0).to_compact_string()
        }
        Value::Decimal(d) => format_compact!("{d}"),
        Value::Float(f) => numtext::float_text(*f, style).into(),
        Value::Real(f) => numtext::float_text(f64::from(*f), style).into(),
        Value::Money(m) => numtext::money_text(*m, style).into(),
        Value::SmallMoney(m) => numtext::money_text(i64::from(*m), style).into(),
        Value::Guid(g) => numtext::guid_text(g).into(),
        // Dates are cut silently, as SQL Server does.
        _ => {
            return fit_string(
                dateformat::format(value, from, style, dialect)?.into(),
                to,
                Mode::Implicit,
                page,
            );
        }
    };
    if to.length().is_none_or(|limit| text.len() <= limit) {
        return fit_string(text, to, mode, page);
    }
    match value {
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) if !to.is_unicode() => {
            fit_string(CompactString::const_new("*"), to, mode, page)
        }
        Value::Money(_) | Value::SmallMoney(_) => Err(SqlError::money_space(to)),
        Value::Guid(_) => Err(SqlError::guid_space(to)),
        Value::Decimal(_) => Err(SqlError::overflow_from("numeric", to)),
        _ => Err(SqlError::overflow(to)),
    }
}

/// Binary to text: the bytes themselves, or hexadecimal with (style 1) or without 0x (style 2).
fn bytes_text(
    bytes: &[u8],
    from: DataType,
    to: DataType,
    how: &ConvertOptions<'_>,
) -> Result<CompactString, SqlError> {
    let hexadecimal = |prefix: &str| {
        let mut out = String::with_capacity(prefix.len() + bytes.len() * 2);
        out.push_str(prefix);
        for piece in byte_pieces(bytes, how.look) {
            out.push_str(&numtext::hex_text("", piece?));
        }
        Ok(out.into())
    };
    match how.style {
        0 if to.is_unicode() => text_of_utf16(&bytes[..bytes.len() / 2 * 2], how.look),
        0 => decoded(bytes, how.page, how.look),
        1 => hexadecimal("0x"),
        2 => hexadecimal(""),
        _ => Err(SqlError::bad_style(how.style, from)),
    }
}

/// The text of bytes in a page.
fn decoded(bytes: &[u8], page: CodePage, look: CancelCheck<'_>) -> Result<CompactString, SqlError> {
    // A character of other pages may have bytes in two pieces.
    if page != CodePage::Latin {
        return Ok(page.decode(bytes));
    }
    let mut out = CompactString::with_capacity(bytes.len());
    for piece in byte_pieces(bytes, look) {
        out.push_str(&page.decode(piece?));
    }
    Ok(out)
}

/// The text of an even number of bytes in UTF-16.
pub(crate) fn text_of_utf16(
    bytes: &[u8],
    look: CancelCheck<'_>,
) -> Result<CompactString, SqlError> {
    let mut out = CompactString::with_capacity(bytes.len() / 2);
    // A unit that may be the first half of a character whose other half is in the next piece.
    let mut waiting: Option<u16> = None;
    for piece in byte_pieces(bytes, look) {
        let piece = piece?;
        let units = piece.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let mut units: Vec<u16> = waiting.take().into_iter().chain(units).collect();
        waiting = units.pop_if(|unit| (0xD800..0xDC00).contains(unit));
        out.extend(units::chars_of(units.into_iter()));
    }
    out.extend(waiting.and_then(units::of_lone));
    Ok(out)
}

/// A text's stored bytes in a string type: those of the code page, or UTF-16LE.
pub(crate) fn text_bytes(
    text: &str,
    ty: DataType,
    page: CodePage,
    look: CancelCheck<'_>,
) -> Result<Vec<u8>, SqlError> {
    let mut bytes = Vec::with_capacity(text.len());
    for piece in pieces(text, look) {
        match ty.is_unicode() {
            true => encode_utf16(piece?, &mut bytes),
            false => page.encode(piece?, &mut bytes),
        }
    }
    Ok(bytes)
}

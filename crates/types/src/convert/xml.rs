//! xml from and to strings and bytes. Guarantee: a value of type xml is well-formed, and its text
//! is in the normal form that crate `xml` writes.

use compact_str::CompactString;
use xml::{TextSource, Whitespace};

use super::{ConvertOptions, Mode, fit_bytes, fit_string_looking, text_of_utf16};
use crate::codepage;
use crate::datatype::DataType;
use crate::error::SqlError;
use crate::look::{CancelCheck, pieces};
use crate::msg;
use crate::rowcell::{encode_utf16, latin_text};
use crate::units;
use crate::value::Value;

/// Style bit: white space between tags stays.
const KEEP_SPACE: i32 = 1;
/// Style bit: an internal subset of a DTD is read.
const SUBSET: i32 = 2;
/// What no document may have.
const NO_CHARACTER: char = '\u{FFFE}';

/// A conversion with xml on one side at least.
pub(crate) fn convert(
    value: &Value,
    from: DataType,
    to: DataType,
    how: &ConvertOptions<'_>,
) -> Result<Value, SqlError> {
    match value {
        Value::Str(text) if from == DataType::Xml => from_xml(text, to, how),
        Value::Str(text) => {
            let source = if from.is_unicode() { TextSource::Wide } else { TextSource::Narrow };
            to_xml(text, source, how)
        }
        Value::Bytes(bytes) => to_xml(&decoded(bytes, how.look)?, TextSource::Bytes, how),
        _ => Err(SqlError::explicit_not_allowed(from, to)),
    }
}

fn from_xml(
    text: &CompactString,
    to: DataType,
    how: &ConvertOptions<'_>,
) -> Result<Value, SqlError> {
    if to == DataType::Xml {
        return Ok(Value::Str(text.clone()));
    }
    let small = || SqlError::of(msg::XML_TARGET_TOO_SMALL, []);
    if to.is_binary() {
        let mut bytes = vec![0xFF, 0xFE];
        for piece in pieces(text, how.look) {
            encode_utf16(piece?, &mut bytes);
        }
        if to.length().is_some_and(|limit| bytes.len() > limit) {
            return Err(small());
        }
        return fit_bytes(bytes.into(), to, Mode::Explicit);
    }
    let units =
        if to.is_unicode() { codepage::utf16_len(text) } else { how.page.encoded_len(text) };
    if to.length().is_some_and(|limit| units > limit) {
        return Err(small());
    }
    fit_string_looking(text.clone(), to, &ConvertOptions { mode: Mode::Explicit, ..*how })
}

fn to_xml(text: &str, source: TextSource, how: &ConvertOptions<'_>) -> Result<Value, SqlError> {
    let style = how.style;
    if !(0..=3).contains(&style) {
        return Err(SqlError::bad_style(style, DataType::Xml));
    }
    let space = if style & KEEP_SPACE != 0 { Whitespace::Kept } else { Whitespace::Dropped };
    // Half of a character is none that XML has: 9420 where it stands.
    let plain = units::plain_with(text, NO_CHARACTER);
    let normal = xml::watched(how.look, |pace| {
        let document = xml::read(&plain, source, space, pace)?;
        Ok(document.text(pace))
    })?;
    let normal = normal.map_err(|e: xml::ReadError| match e.number {
        6359 if style & SUBSET != 0 => SqlError::of(msg::NOT_SUPPORTED, [&"A DTD in XML"]),
        number => SqlError::new(number, 16, 1, e.text),
    })?;
    match units::first_unpaired(text) {
        // Inside of what is not read, as instructions are not.
        Some(at) => Err(illegal_character(text, at)),
        None => Ok(Value::Str(units::held(&normal).into())),
    }
}

/// 9420: the character at a byte of a text is none of XML.
pub fn illegal_character(text: &str, at: usize) -> SqlError {
    let before = text.get(..at).unwrap_or(text);
    let (line, start) =
        (before.matches('\n').count() + 1, before.rfind('\n').map_or(0, |end| end + 1));
    let character = units::utf16_len(&before[start..]) + 1;
    SqlError::of(msg::XML_ILLEGAL_CHARACTER, [&line, &character])
}

/// The text of bytes: what their mark or declaration says, UTF-8 without either.
fn decoded(bytes: &[u8], look: CancelCheck<'_>) -> Result<CompactString, SqlError> {
    let wide = |bytes: &[u8]| text_of_utf16(&bytes[..bytes.len() / 2 * 2], look);
    let swapped = |bytes: &[u8]| {
        let little: Vec<u8> = bytes.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]).collect();
        wide(&little)
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => wide(rest),
        [0xFE, 0xFF, rest @ ..] => swapped(rest),
        [b'<', 0, ..] => wide(bytes),
        [0, b'<', ..] => swapped(bytes),
        _ => {
            let bytes = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(bytes);
            let text = std::str::from_utf8(bytes).map(|text| units::held(text).into());
            Ok(text.unwrap_or_else(|_| latin_text(bytes)))
        }
    }
}

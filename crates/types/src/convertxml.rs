//! xml from and to strings and bytes. Guarantee: a value of type xml is well-formed, and its text is in the normal form that crate
//! `xml` writes.

use compact_str::CompactString;
use xml::{Source, Whitespace};

use crate::codepage::{self, CodePage};
use crate::convert::{Mode, fit_bytes, fit_string};
use crate::datatype::DataType;
use crate::error::SqlError;
use crate::rowcell::{encode_utf16, latin_text, wide_text};
use crate::value::Value;

/// Style bit: white space between tags stays.
const KEEP_SPACE: i32 = 1;
/// Style bit: an internal subset of a DTD is read.
const SUBSET: i32 = 2;

/// A conversion with xml on one side at least.
pub(crate) fn convert(
    value: &Value,
    from: DataType,
    to: DataType,
    style: i32,
    page: CodePage,
) -> Result<Value, SqlError> {
    match value {
        Value::Str(text) if from == DataType::Xml => from_xml(text, to, page),
        Value::Str(text) => {
            let source = if from.is_unicode() { Source::Wide } else { Source::Narrow };
            to_xml(text, source, style)
        }
        Value::Bytes(bytes) => to_xml(&decoded(bytes), Source::Bytes, style),
        _ => Err(SqlError::explicit_not_allowed(from, to)),
    }
}

fn from_xml(text: &CompactString, to: DataType, page: CodePage) -> Result<Value, SqlError> {
    if to == DataType::Xml {
        return Ok(Value::Str(text.clone()));
    }
    let small =
        || SqlError::new(6354, 16, 10, "Target string size is too small to represent the XML instance");
    if to.is_binary() {
        let mut bytes = vec![0xFF, 0xFE];
        encode_utf16(text, &mut bytes);
        if to.length().is_some_and(|limit| bytes.len() > limit) {
            return Err(small());
        }
        return fit_bytes(bytes.into(), to, Mode::Explicit);
    }
    let units = if to.is_unicode() { codepage::utf16_len(text) } else { page.encoded_len(text) };
    if to.length().is_some_and(|limit| units > limit) {
        return Err(small());
    }
    fit_string(text.clone(), to, Mode::Explicit, page)
}

fn to_xml(text: &str, source: Source, style: i32) -> Result<Value, SqlError> {
    if !(0..=3).contains(&style) {
        return Err(SqlError::bad_style(style, DataType::Xml));
    }
    let space = if style & KEEP_SPACE != 0 { Whitespace::Kept } else { Whitespace::Dropped };
    let document = xml::read(text, source, space).map_err(|e| match e.number {
        6359 if style & SUBSET != 0 => {
            SqlError::new(40_517, 16, 1, "A DTD in XML is not supported in this version of Ringwood.")
        }
        number => SqlError::new(number, 16, 1, e.text),
    })?;
    Ok(Value::Str(document.text().into()))
}

/// The text of bytes: what their mark or declaration says, UTF-8 without either.
fn decoded(bytes: &[u8]) -> CompactString {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => wide(rest),
        [0xFE, 0xFF, rest @ ..] => swapped(rest),
        [b'<', 0, ..] => wide(bytes),
        [0, b'<', ..] => swapped(bytes),
        _ => {
            let bytes = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(bytes);
            CompactString::from_utf8(bytes).unwrap_or_else(|_| latin_text(bytes))
        }
    }
}

fn wide(bytes: &[u8]) -> CompactString {
    wide_text(&bytes[..bytes.len() / 2 * 2]).unwrap_or_default()
}

fn swapped(bytes: &[u8]) -> CompactString {
    let little: Vec<u8> = bytes.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    wide(&little)
}

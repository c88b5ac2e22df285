//! Numbers of characters: ASCII, CHAR, UNICODE, NCHAR.
//! Guarantees: a number of a 16-bit unit gives that unit, also one that is half of a character, and
//! the other way round; numbers of whole characters are those of collations that count characters.

use super::{CallCx, int_arg, text_arg};
use types::{SqlError, Value, units};

pub(super) fn ascii(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let mut bytes = Vec::new();
    if let Some(c) = text_arg(args, 0).chars().next() {
        cx.collation.code_page().encode(c.encode_utf8(&mut [0; 4]), &mut bytes);
    }
    Ok(bytes.first().map_or(Value::Null, |byte| Value::Int(i32::from(*byte))))
}

pub(super) fn unicode(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let text = text_arg(args, 0);
    let code = match cx.collation.counts_characters() {
        true => units::first_code(text),
        false => units::units(text).next().map(u32::from),
    };
    Ok(code.and_then(|code| i32::try_from(code).ok()).map_or(Value::Null, Value::Int))
}

pub(super) fn char_of(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    Ok(match u8::try_from(int_arg(args, 0)) {
        // Of a page with characters of several bytes one byte of those is no character.
        Ok(byte) => match cx.collation.code_page().decode(&[byte]) {
            text if text.contains(char::REPLACEMENT_CHARACTER) => Value::Null,
            text => Value::Str(text),
        },
        Err(_) => Value::Null,
    })
}

pub(super) fn nchar_of(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let code = int_arg(args, 0);
    if let Ok(unit) = u16::try_from(code) {
        return Ok(Value::Str(units::text_of(std::iter::once(unit))));
    }
    let whole = u32::try_from(code).ok().and_then(char::from_u32);
    let whole = whole.filter(|_| cx.collation.counts_characters());
    Ok(whole.map_or(Value::Null, |c| Value::str(units::held(c.encode_utf8(&mut [0; 4])))))
}

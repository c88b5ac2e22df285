//! Numbers of characters: ASCII, CHAR, UNICODE, NCHAR, UNISTR.
//! Guarantees: a number of a 16-bit unit gives that unit, also one that is half of a character, and
//! the other way round; numbers of whole characters are those of collations that count characters.

use super::{CallCx, int_arg, text_arg};
use crate::large::StepCounter;
use types::{CodePage, SqlError, Value, msg, units};

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

/// A text in which `\xxxx` is a unit and `\+xxxxxx` a character, by their numbers in hexadecimal
/// digits. The character that begins them stands for itself where it is doubled.
pub(super) fn unistr(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    if !cx.types.first().is_some_and(|ty| ty.is_unicode())
        && cx.collation.code_page() != CodePage::Utf8
    {
        return Err(SqlError::of(
            msg::NOT_SUPPORTED,
            [&"UNISTR of a varchar whose collation does not use UTF-8"],
        ));
    }
    let begins = match args.get(1) {
        None => '\\',
        Some(_) => only_char(text_arg(args, 1))?,
    };
    let (text, look) = (text_arg(args, 0), cx.look());
    let mut steps = StepCounter::new(&look);
    // What a number stands for is shorter than its digits.
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        steps.step(1)?;
        if c != begins {
            units::push_char(&mut out, c);
            continue;
        }
        let behind = rest.as_str();
        let read = if behind.starts_with(begins) {
            units::push_char(&mut out, begins);
            begins.len_utf8()
        } else {
            let (skipped, digits) = if behind.starts_with('+') { (1, 6) } else { (0, 4) };
            let code = behind.get(skipped..skipped + digits).and_then(hexadecimal);
            let number = code.ok_or_else(|| no_number(begins, behind))?;
            match (u16::try_from(number), char::from_u32(number)) {
                (Ok(unit), _) => units::push_unit(&mut out, unit),
                (_, Some(c)) => {
                    units::push_text(&mut out, &units::held(c.encode_utf8(&mut [0; 4])))
                }
                _ => return Err(no_number(begins, behind)),
            }
            skipped + digits
        };
        rest = behind.get(read..).unwrap_or_default().chars();
    }
    Ok(Value::Str(out.into()))
}

/// The second argument of UNISTR.
fn only_char(text: &str) -> Result<char, SqlError> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(SqlError::of(
            msg::NOT_SUPPORTED,
            [&"UNISTR with a second argument that is not one character"],
        )),
    }
}

/// The number of hexadecimal digits and nothing else.
fn hexadecimal(digits: &str) -> Option<u32> {
    let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if all { u32::from_str_radix(digits, 16).ok() } else { None }
}

/// What stands behind the character that begins a number is none.
fn no_number(begins: char, behind: &str) -> SqlError {
    let shown: String = behind.chars().take(7).collect();
    SqlError::of(msg::NOT_SUPPORTED, [&format_args!("UNISTR of a text with '{begins}{shown}'")])
}

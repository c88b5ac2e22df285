//! String functions. Positions and lengths count UTF-16 code units in every one of them, as SQL
//! Server does under a collation without supplementary characters: a character beyond the basic
//! plane counts two, and may be cut in half. Under a collation with them (_SC, _UTF8) they count
//! characters.

use super::string_codes::{ascii, char_of, nchar_of, unicode, unistr};
use super::string_parts::{
    counted, fitted, left, rejoined, right, stuff, stuff_type, substring, substring_type, units,
};
use super::string_search::{charindex, patindex, replace};
use super::{
    ArgRule as A, CallCx, Function, Stability, int, int_arg, longest, nvarchar_4000, same_length,
    text_arg,
};
use crate::Expr;
use crate::large::{LARGE, StepCounter};
use compact_str::CompactString;
use std::borrow::Cow;
use types::look::pieces;
use types::units::push_text;
use types::{CancelCheck, DataType, Len, SqlError, Value, msg};

const fn f(
    name: &'static str,
    count: (u8, u8),
    args: &'static [A],
    result: super::ResultRule,
    eval: super::Eval,
) -> Function {
    Function {
        name,
        min: count.0,
        max: count.1,
        args,
        result,
        strict: true,
        stability: Stability::Pure,
        nullable: false,
        eval,
    }
}

/// The string functions.
pub const FUNCTIONS: &[Function] = &[
    f("len", (1, 1), &[A::Str], len_type, |a, cx| {
        let units = units(text_arg(a, 0).trim_end_matches(' '), cx.collation, &cx.look())?;
        Ok(count_value(units, cx.ty == DataType::BigInt))
    }),
    f("datalength", (1, 1), &[A::Any], len_type, datalength),
    f("lower", (1, 1), &[A::Str], same_length, |a, cx| cased(text_arg(a, 0), false, cx)),
    f("upper", (1, 1), &[A::Str], same_length, |a, cx| cased(text_arg(a, 0), true, cx)),
    f("ltrim", (1, 2), &[A::Str], same_length, |a, cx| trimmed(a, true, false, cx)),
    f("rtrim", (1, 2), &[A::Str], same_length, |a, cx| trimmed(a, false, true, cx)),
    f("trim", (1, 2), &[A::Str], same_length, |a, cx| trimmed(a, true, true, cx)),
    f("left", (2, 2), &[A::Str, A::BigInt], same_length, left),
    f("right", (2, 2), &[A::Str, A::BigInt], same_length, right),
    Function {
        nullable: false,
        ..f("substring", (3, 3), &[A::Bytes, A::BigInt], substring_type, substring)
    },
    f("charindex", (2, 3), &[A::Str, A::Str, A::BigInt], int, charindex),
    f("patindex", (2, 2), &[A::Str], int, patindex),
    f("replace", (3, 3), &[A::Str], longest, replace),
    Function { nullable: true, ..f("replicate", (2, 2), &[A::Str, A::BigInt], longest, replicate) },
    Function {
        strict: false,
        nullable: true,
        ..f(
            "stuff",
            (4, 4),
            &[A::StrOrBytes, A::BigInt, A::BigInt, A::StrOrBytes],
            stuff_type,
            stuff,
        )
    },
    f("reverse", (1, 1), &[A::Str], same_length, reverse),
    Function { nullable: true, ..f("space", (1, 1), &[A::BigInt], space_type, space) },
    Function { strict: false, ..f("concat", (2, 254), &[A::Str], concat_type, concat) },
    Function { strict: false, ..f("concat_ws", (3, 254), &[A::Str], concat_ws_type, concat_ws) },
    Function { nullable: true, ..f("ascii", (1, 1), &[A::Str], int, ascii) },
    Function { nullable: true, ..f("unicode", (1, 1), &[A::Str], int, unicode) },
    Function {
        nullable: true,
        ..f("char", (1, 1), &[A::Int], |_, _| Ok(DataType::Char(1)), char_of)
    },
    Function {
        nullable: true,
        ..f("nchar", (1, 1), &[A::Int], |_, _| Ok(DataType::NChar(1)), nchar_of)
    },
    f("unistr", (1, 2), &[A::Str], same_length, unistr),
    Function {
        strict: false,
        nullable: true,
        ..f("str", (1, 3), &[A::Float, A::Int], str_type, str_of)
    },
    Function {
        nullable: true,
        ..f("quotename", (1, 2), &[A::Name], |_, _| Ok(DataType::NVarChar(Len::N(258))), quotename)
    },
    f("translate", (3, 3), &[A::Str], longest, translate),
    f("string_escape", (2, 2), &[A::Name], nvarchar_4000, string_escape),
    f(
        "soundex",
        (1, 1),
        &[A::Str],
        |_, _| Ok(DataType::VarChar(Len::N(5))),
        |a, cx| Ok(Value::str(soundex(text_arg(a, 0), cx)?)),
    ),
    f("difference", (2, 2), &[A::Str], int, difference),
];

fn len_type(types: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(if types.first().is_some_and(|ty| ty.is_lob() && !ty.is_old_lob()) {
        DataType::BigInt
    } else {
        DataType::Int
    })
}

fn count_value(n: usize, big: bool) -> Value {
    if big { Value::BigInt(n as i64) } else { Value::Int(n as i32) }
}

fn datalength(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let ty = cx.types[0];
    let bytes = match &args[0] {
        Value::Str(s) if ty == DataType::Xml => s.len(),
        Value::Str(s) if ty.is_unicode() => {
            let mut units = 0;
            for piece in pieces(s, &cx.look()) {
                units += types::units::utf16_len(piece?);
            }
            units * 2
        }
        Value::Str(s) => {
            let mut bytes = 0;
            for piece in pieces(s, &cx.look()) {
                bytes += cx.collation.code_page().encoded_len(piece?);
            }
            bytes
        }
        Value::Bytes(b) => b.len(),
        _ => usize::try_from(ty.max_length()).unwrap_or(0),
    };
    Ok(count_value(bytes, cx.ty == DataType::BigInt))
}

fn cased(text: &str, upper: bool, cx: &CallCx<'_>) -> Result<Value, SqlError> {
    let mut folded = CompactString::with_capacity(text.len());
    // Character by character: SQL Server never changes the length of a text.
    let one = |c: char| {
        let mut mapped: smallvec::SmallVec<[char; 3]> =
            if upper { c.to_uppercase().collect() } else { c.to_lowercase().collect() };
        if mapped.len() == 1 { mapped.pop().unwrap_or(c) } else { c }
    };
    for piece in pieces(text, &cx.look()) {
        let piece = piece?;
        if !piece.is_ascii() {
            folded.extend(piece.chars().map(one));
            continue;
        }
        let before = folded.len();
        folded.push_str(piece);
        let bytes = &mut folded.as_mut_str()[before..];
        if upper { bytes.make_ascii_uppercase() } else { bytes.make_ascii_lowercase() }
    }
    Ok(Value::Str(folded))
}

fn trimmed(args: &[Value], start: bool, end: bool, cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let text = counted(text_arg(args, 0), cx)?;
    let set = counted(args.get(1).and_then(Value::as_str).unwrap_or(" "), cx)?;
    let look = cx.look();
    let mut steps = StepCounter::new(&look);
    let (mut from, mut to) = (0, text.len());
    if start {
        for c in text.chars() {
            if !has(&set, c, &mut steps)? {
                break;
            }
            from += c.len_utf8();
        }
    }
    if end {
        for c in text[from..].chars().rev() {
            if !has(&set, c, &mut steps)? {
                break;
            }
            to -= c.len_utf8();
        }
    }
    match &text {
        Cow::Borrowed(text) => Ok(Value::str(&text[from..to])),
        Cow::Owned(text) => Ok(Value::Str(rejoined(text[from..to].to_owned(), &look)?.into())),
    }
}

/// Whether a text has a character.
fn has(set: &str, c: char, steps: &mut StepCounter<'_>) -> Result<bool, SqlError> {
    let mut rest = set;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.floor_char_boundary(4 << 10));
        steps.step(1 + part.len() / 16)?;
        if part.contains(c) {
            return Ok(true);
        }
        rest = after;
    }
    Ok(false)
}

fn reverse(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let text = counted(text_arg(args, 0), cx)?;
    let look = cx.look();
    let mut steps = StepCounter::new(&look);
    // Halves that come to stand the right way round are their character again.
    let halves = matches!(text, Cow::Owned(_)) || types::units::has_halves(&text);
    let mut out = CompactString::with_capacity(text.len());
    for c in text.chars().rev() {
        steps.step(1)?;
        out.push(c);
    }
    Ok(Value::Str(if halves { rejoined(out.into(), &look)?.into() } else { out }))
}

/// A text so many times, one behind the other.
fn repeated(text: &str, count: usize, cx: &CallCx<'_>) -> Result<String, SqlError> {
    let repeated = many_times(text, count, cx)?;
    match types::units::seam(text, text) {
        Some(_) => rejoined(repeated, &cx.look()),
        None => Ok(repeated),
    }
}

fn many_times(text: &str, count: usize, cx: &CallCx<'_>) -> Result<String, SqlError> {
    if text.len().saturating_mul(count) < LARGE {
        return Ok(text.repeat(count));
    }
    let mut out = String::with_capacity(text.len() * count);
    let times = (LARGE / text.len().max(1)).clamp(1, count);
    let block = text.repeat(times);
    for _ in 0..count / times {
        for piece in pieces(&block, &cx.look()) {
            out.push_str(piece?);
        }
        cx.rt.check_cancel()?;
    }
    out.push_str(&text.repeat(count % times));
    Ok(out)
}

fn replicate(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let text = text_arg(args, 0);
    let Ok(count) = usize::try_from(int_arg(args, 1)) else { return Ok(Value::Null) };
    // The result is cut to its type; no more than that is ever built.
    let count = match cx.ty.length() {
        Some(limit) => count.min(limit.div_ceil(types::units::utf16_len(text).max(1))),
        None if text.is_empty() => 0,
        None => count,
    };
    cx.makes(count.saturating_mul(text.len()))?;
    fitted(repeated(text, count, cx)?, cx)
}

fn space_type(_: &[DataType], exprs: &[Expr]) -> Result<DataType, SqlError> {
    let wanted = exprs.first().and_then(Expr::as_const).and_then(Value::as_i64);
    let n = wanted.and_then(|n| u16::try_from(n).ok()).unwrap_or(8000);
    Ok(DataType::VarChar(Len::N(n.clamp(1, 8000))))
}

fn space(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    match usize::try_from(int_arg(args, 0)) {
        Ok(n) => Ok(Value::Str(" ".repeat(n.min(8000)).into())),
        Err(_) => Ok(Value::Null),
    }
}

fn concat_ws_type(types: &[DataType], args: &[Expr]) -> Result<DataType, SqlError> {
    // The separator stands between the others, once less than there are of them.
    let between = types.len().saturating_sub(3);
    let all: Vec<DataType> =
        types.iter().copied().chain(std::iter::repeat_n(types[0], between)).collect();
    concat_type(&all, args)
}

fn concat_type(types: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    let unicode = types.iter().any(|ty| ty.is_unicode());
    let max = types.iter().any(|ty| ty.is_lob());
    let total: usize = types.iter().map(|ty| ty.length().unwrap_or(8000)).sum();
    let len = |limit: u16| {
        if max { Len::Max } else { Len::N(u16::try_from(total).unwrap_or(limit).clamp(1, limit)) }
    };
    Ok(if unicode { DataType::NVarChar(len(4000)) } else { DataType::VarChar(len(8000)) })
}

fn concat(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let mut out = String::new();
    for part in args.iter().filter_map(Value::as_str) {
        for piece in pieces(part, &cx.look()) {
            push_text(&mut out, piece?);
        }
    }
    fitted(out, cx)
}

fn concat_ws(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let parts: Vec<&str> = args[1..].iter().filter_map(Value::as_str).collect();
    let separators = parts.len().saturating_sub(1) * text_arg(args, 0).len();
    cx.makes(parts.iter().map(|part| part.len()).sum::<usize>() + separators)?;
    let (mut out, separator) = (String::new(), text_arg(args, 0));
    for (at, part) in parts.into_iter().enumerate() {
        for part in [if at > 0 { separator } else { "" }, part] {
            for piece in pieces(part, &cx.look()) {
                push_text(&mut out, piece?);
            }
        }
    }
    fitted(out, cx)
}

fn str_type(_: &[DataType], exprs: &[Expr]) -> Result<DataType, SqlError> {
    let wanted = exprs.get(1).and_then(Expr::as_const).and_then(Value::as_i64).unwrap_or(10);
    Ok(DataType::VarChar(Len::N(u16::try_from(wanted).unwrap_or(8000).clamp(1, 8000))))
}

fn str_of(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Value::Float(number) = args[0] else { return Ok(Value::Null) };
    let length = if args.len() > 1 { int_arg(args, 1) } else { 10 };
    // No decimals without their number, also where that is NULL.
    let decimals = usize::try_from(int_arg(args, 2));
    let length = usize::try_from(length).ok().filter(|n| (1..=8000).contains(n));
    let (Some(length), Ok(decimals)) = (length, decimals) else { return Ok(Value::Null) };
    let whole = format!("{:.0}", number.trunc()).len();
    if whole > length {
        return Ok(Value::Str("*".repeat(length).into()));
    }
    let room = length.saturating_sub(whole + 1);
    // Half away from zero, as everywhere in SQL Server.
    let decimals = decimals.min(16).min(room);
    let scale = 10f64.powi(decimals as i32);
    let rounded = (number * scale).round() / scale;
    Ok(Value::Str(format!("{rounded:>length$.decimals$}").into()))
}

fn quotename(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let text = text_arg(args, 0);
    let quote = if args.len() > 1 { text_arg(args, 1) } else { "[" };
    let (open, close) = match quote.chars().next() {
        Some('[' | ']') => ('[', ']'),
        Some('\'') => ('\'', '\''),
        Some('"') => ('"', '"'),
        Some('(' | ')') => ('(', ')'),
        Some('<' | '>') => ('<', '>'),
        Some('{' | '}') => ('{', '}'),
        Some('`') => ('`', '`'),
        _ => return Ok(Value::Null),
    };
    if types::units::utf16_len(text) > 128 {
        return Ok(Value::Null);
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push(open);
    for c in text.chars() {
        if c == close {
            out.push(close);
        }
        out.push(c);
    }
    out.push(close);
    Ok(Value::Str(out.into()))
}

fn translate(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    cx.makes(text_arg(args, 0).len().saturating_mul(4))?;
    let [text, from, to] = [
        counted(text_arg(args, 0), cx)?,
        counted(text_arg(args, 1), cx)?,
        counted(text_arg(args, 2), cx)?,
    ];
    let look = cx.look();
    let from = characters(&from, &look)?;
    let to = characters(&to, &look)?;
    if from.len() != to.len() {
        return Err(SqlError::of(msg::TRANSLATE_LENGTHS, []));
    }
    let mut steps = StepCounter::new(&look);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let mut new = c;
        for (from, to) in from.chunks(1 << 10).zip(to.chunks(1 << 10)) {
            steps.step(1 + from.len() / 4)?;
            if let Some(at) = from.iter().position(|f| cx.collation.same_char(*f, c)) {
                new = to[at];
                break;
            }
        }
        out.push(new);
    }
    Ok(Value::Str(rejoined(out, &look)?.into()))
}

fn characters(text: &str, look: CancelCheck<'_>) -> Result<Vec<char>, SqlError> {
    let mut out = Vec::new();
    for piece in pieces(text, look) {
        out.extend(piece?.chars());
    }
    Ok(out)
}

fn string_escape(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let mut out = String::new();
    for (count, c) in text_arg(args, 0).chars().enumerate() {
        if count.is_multiple_of(LARGE) {
            cx.makes(out.len())?;
        }
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' => out.push_str("\\/"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    Ok(Value::Str(out.into()))
}

fn soundex(text: &str, cx: &CallCx<'_>) -> Result<String, SqlError> {
    let digit = |c: char| match c.to_ascii_uppercase() {
        'B' | 'F' | 'P' | 'V' => Some('1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
        'D' | 'T' => Some('3'),
        'L' => Some('4'),
        'M' | 'N' => Some('5'),
        'R' => Some('6'),
        _ => None,
    };
    let mut chars = text.chars();
    let Some(first) = chars.next().filter(|c| c.is_ascii_alphabetic()) else {
        return Ok("0000".to_owned());
    };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut last = digit(first);
    let look = cx.look();
    let mut steps = StepCounter::new(&look);
    for c in chars {
        steps.step(1)?;
        if !c.is_ascii_alphabetic() || out.len() == 4 {
            break;
        }
        let code = digit(c);
        if let Some(d) = code
            && code != last
        {
            out.push(d);
        }
        if !matches!(c.to_ascii_uppercase(), 'H' | 'W') {
            last = code;
        }
    }
    while out.len() < 4 {
        out.push('0');
    }
    Ok(out)
}

fn difference(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (a, b) = (soundex(text_arg(args, 0), cx)?, soundex(text_arg(args, 1), cx)?);
    Ok(Value::Int(a.chars().zip(b.chars()).filter(|(a, b)| a == b).count() as i32))
}

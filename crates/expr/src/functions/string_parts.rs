//! Parts of texts: LEFT, RIGHT, SUBSTRING, STUFF, and how characters are counted.
//! Guarantees: positions and lengths count UTF-16 code units, or characters under a collation with supplementary characters; what is left
//! of a character that is cut in half is U+FFFD.

use super::{CallCx, int_arg, same_length, text_arg};
use crate::Expr;
use crate::large::LARGE;
use types::look::pieces;
use types::{Collation, DataType, Len, Look, SqlError, Value};

/// What stands for half of a character.
const HALF: char = '\u{FFFD}';

/// 536, 537: a negative length.
fn bad_length(name: &str) -> SqlError {
    match name {
        "right" => SqlError::new(536, 16, 2, "Invalid length parameter passed to the RIGHT function."),
        _ => SqlError::new(537, 16, 2, "Invalid length parameter passed to the LEFT or SUBSTRING function."),
    }
}

/// What a character counts.
pub(super) fn width(c: char, collation: Collation) -> usize {
    if collation.counts_characters() { 1 } else { c.len_utf16() }
}

pub(super) fn units(text: &str, collation: Collation, look: Look<'_>) -> Result<usize, SqlError> {
    let mut count = 0;
    for piece in pieces(text, look) {
        count += match collation.counts_characters() {
            true => piece?.chars().count(),
            false => types::codepage::utf16_len(piece?),
        };
    }
    Ok(count)
}

/// Appends the units `from..to` of a text, as far as it has them.
fn push_units(
    out: &mut String,
    text: &str,
    (from, to): (usize, usize),
    collation: Collation,
    look: Look<'_>,
) -> Result<(), SqlError> {
    let mut at = 0;
    for piece in pieces(text, look) {
        let piece = piece?;
        if at >= to {
            break;
        }
        if piece.is_ascii() {
            let (from, to) = (from.saturating_sub(at), (to - at).min(piece.len()));
            out.push_str(piece.get(from.min(to)..to).unwrap_or(""));
            at += piece.len();
            continue;
        }
        for c in piece.chars() {
            let end = at + width(c, collation);
            if at >= to {
                break;
            }
            if at >= from && end <= to {
                out.push(c);
            } else if end > from {
                out.push(HALF);
            }
            at = end;
        }
    }
    Ok(())
}

pub(super) fn units_of(
    text: &str,
    range: (usize, usize),
    collation: Collation,
    look: Look<'_>,
) -> Result<Value, SqlError> {
    if text.len() < LARGE && text.is_ascii() {
        let (from, to) = (range.0.min(text.len()), range.1.min(text.len()));
        return Ok(Value::str(text.get(from..to).unwrap_or("")));
    }
    let mut out = String::new();
    push_units(&mut out, text, range, collation, look)?;
    Ok(Value::Str(out.into()))
}

/// The byte at which a unit's character begins; the next character's for the second half of one, the end beyond the text.
pub(super) fn byte_of_unit(
    text: &str,
    unit: usize,
    collation: Collation,
    look: Look<'_>,
) -> Result<usize, SqlError> {
    let (mut at, mut bytes) = (0, 0);
    for piece in pieces(text, look) {
        let piece = piece?;
        if piece.is_ascii() {
            if unit - at <= piece.len() {
                return Ok(bytes + (unit - at));
            }
            at += piece.len();
        } else {
            for (byte, c) in piece.char_indices() {
                if at >= unit {
                    return Ok(bytes + byte);
                }
                at += width(c, collation);
            }
            // The second half of its last character.
            at = at.min(unit);
        }
        bytes += piece.len();
    }
    Ok(text.len())
}

pub(super) fn left(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let n = usize::try_from(int_arg(args, 1)).map_err(|_| bad_length("left"))?;
    units_of(text_arg(args, 0), (0, n), cx.collation, &cx.look())
}

pub(super) fn right(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let text = text_arg(args, 0);
    let n = usize::try_from(int_arg(args, 1)).map_err(|_| bad_length("right"))?;
    let count = units(text, cx.collation, &cx.look())?;
    units_of(text, (count.saturating_sub(n), count), cx.collation, &cx.look())
}

pub(super) fn substring_type(types: &[DataType], exprs: &[Expr]) -> Result<DataType, SqlError> {
    match types[0] {
        DataType::Binary(n) => Ok(DataType::VarBinary(Len::N(n))),
        ty if ty.is_binary() => Ok(ty.modern()),
        _ => {
            let ty = same_length(types, exprs)?;
            let wanted = exprs.get(2).and_then(Expr::as_const).and_then(Value::as_i64);
            let Some(wanted) = wanted.and_then(|n| u16::try_from(n.max(1)).ok()) else { return Ok(ty) };
            Ok(match ty {
                DataType::VarChar(Len::N(n)) => DataType::VarChar(Len::N(n.min(wanted))),
                DataType::NVarChar(Len::N(n)) => DataType::NVarChar(Len::N(n.min(wanted))),
                other => other,
            })
        }
    }
}

pub(super) fn substring(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (start, length) = (int_arg(args, 1), int_arg(args, 2));
    if length < 0 {
        return Err(bad_length("substring"));
    }
    let end = usize::try_from(start.saturating_add(length).saturating_sub(1)).unwrap_or(0);
    let start = usize::try_from(start - 1).unwrap_or(0);
    if let Value::Bytes(bytes) = &args[0] {
        let end = end.min(bytes.len());
        return Ok(Value::bytes(bytes.get(start..end).unwrap_or(&[]).to_vec()));
    }
    units_of(text_arg(args, 0), (start, end), cx.collation, &cx.look())
}

pub(super) fn stuff(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(start), Some(length)) = (args[0].as_str(), args[1].as_i64(), args[2].as_i64())
    else {
        return Ok(Value::Null);
    };
    let count = units(text, cx.collation, &cx.look())? as i64;
    if start < 1 || length < 0 || start > count {
        return Ok(Value::Null);
    }
    let from = (start - 1) as usize;
    let to = (start - 1).saturating_add(length).min(count) as usize;
    let mut out = String::with_capacity(text.len());
    push_units(&mut out, text, (0, from), cx.collation, &cx.look())?;
    out.push_str(text_arg(args, 3));
    push_units(&mut out, text, (to, usize::MAX), cx.collation, &cx.look())?;
    fitted(out, cx)
}

/// Cuts a text to a result type's length.
pub(super) fn fitted(text: String, cx: &CallCx<'_>) -> Result<Value, SqlError> {
    Ok(match cx.ty.length() {
        Some(limit) if text.len() > limit && cx.ty.is_unicode() => {
            return units_of(&text, (0, limit), Collation::DEFAULT, &cx.look());
        }
        Some(limit) if text.len() > limit => {
            Value::str(types::convert::first_units(&text, limit, cx.ty, cx.collation.code_page()))
        }
        _ => Value::Str(text.into()),
    })
}

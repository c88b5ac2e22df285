//! Parts of texts: LEFT, RIGHT, SUBSTRING, STUFF, and how characters are counted. Guarantees:
//! positions and lengths count UTF-16 code units, so that a part may begin or end with half of a
//! character; under a collation with supplementary characters they count characters. Halves that
//! meet in a result are their character again.

use super::{CallCx, int_arg, longest, same_length, text_arg};
use crate::Expr;
use crate::large::LARGE;
use std::borrow::Cow;
use types::convert::{ConvertOptions, Mode, convert_by};
use types::look::{byte_pieces, pieces};
use types::units::{push_text, unit_len, utf16_len};
use types::{CancelCheck, Collation, DataType, Len, SqlError, Value, msg};

/// 536, 537: a negative length.
fn bad_length(name: &str) -> SqlError {
    match name {
        "right" => SqlError::of(msg::RIGHT_LENGTH, []),
        _ => SqlError::of(msg::LEFT_OR_SUBSTRING_LENGTH, []),
    }
}

/// What a character counts.
pub(super) fn width(c: char, collation: Collation) -> usize {
    if collation.counts_characters() { 1 } else { unit_len(c) }
}

fn count(piece: &str, collation: Collation) -> usize {
    if collation.counts_characters() { piece.chars().count() } else { utf16_len(piece) }
}

pub(super) fn units(
    text: &str,
    collation: Collation,
    look: CancelCheck<'_>,
) -> Result<usize, SqlError> {
    pieces(text, look).map(|piece| piece.map(|piece| count(piece, collation))).sum()
}

/// A text whose characters are what the collation counts: without characters of two units where
/// units are counted. It goes back by [`rejoined`].
pub(super) fn counted<'t>(text: &'t str, cx: &mut CallCx<'_>) -> Result<Cow<'t, str>, SqlError> {
    if cx.collation.counts_characters() || !types::units::may_have_pairs(text) {
        return Ok(Cow::Borrowed(text));
    }
    // Two halves are twice as long as their character.
    cx.made.grow_to(text.len().saturating_mul(2), cx.rt)?;
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text, &cx.look()) {
        out.push_str(&types::units::apart(piece?));
    }
    Ok(Cow::Owned(out))
}

/// A text that was made of parts of [`counted`] ones.
pub(super) fn rejoined(text: String, look: CancelCheck<'_>) -> Result<String, SqlError> {
    if text.len() < LARGE {
        return Ok(types::units::joined(text));
    }
    if !types::units::has_halves(&text) {
        return Ok(text);
    }
    let mut out = String::with_capacity(text.len());
    for piece in pieces(&text, look) {
        push_text(&mut out, &types::units::joined(piece?.to_owned()));
    }
    Ok(out)
}

/// The part `from..to` of a text, as far as it has it.
fn part(text: &str, (from, to): (usize, usize), collation: Collation) -> Cow<'_, str> {
    if !collation.counts_characters() || text.is_ascii() {
        return types::units::cut(text, from, to);
    }
    let byte_of =
        |text: &str, at: usize| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
    let rest = &text[byte_of(text, from)..];
    Cow::Borrowed(&rest[..byte_of(rest, to.saturating_sub(from))])
}

/// Appends the part `from..to` of a text, as far as it has it.
fn push_part(
    out: &mut String,
    text: &str,
    (from, to): (usize, usize),
    collation: Collation,
    look: CancelCheck<'_>,
) -> Result<(), SqlError> {
    if text.len() < LARGE {
        push_text(out, &part(text, (from, to), collation));
        return Ok(());
    }
    let mut at = 0;
    for piece in pieces(text, look) {
        let piece = piece?;
        if at >= to {
            break;
        }
        let length = count(piece, collation);
        if at + length > from {
            push_text(
                out,
                &part(piece, (from.saturating_sub(at), (to - at).min(length)), collation),
            );
        }
        at += length;
    }
    Ok(())
}

pub(super) fn units_of(
    text: &str,
    range: (usize, usize),
    collation: Collation,
    look: CancelCheck<'_>,
) -> Result<Value, SqlError> {
    if text.len() < LARGE {
        return Ok(Value::str(part(text, range, collation)));
    }
    let mut out = String::new();
    push_part(&mut out, text, range, collation, look)?;
    Ok(Value::Str(out.into()))
}

/// The byte at which a unit's character begins; the next character's for the second half of one,
/// the end beyond the text.
pub(super) fn byte_of_unit(
    text: &str,
    unit: usize,
    collation: Collation,
    look: CancelCheck<'_>,
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
            let Some(wanted) = wanted.and_then(|n| u16::try_from(n.max(1)).ok()) else {
                return Ok(ty);
            };
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

/// Bytes of bytes, the longest text of texts.
pub(super) fn stuff_type(types: &[DataType], exprs: &[Expr]) -> Result<DataType, SqlError> {
    match types.first() {
        Some(ty) if ty.is_binary() && ty.is_lob() => Ok(DataType::VarBinary(Len::Max)),
        Some(ty) if ty.is_binary() => Ok(DataType::VarBinary(Len::N(8000))),
        _ => longest(types, exprs),
    }
}

/// The part that STUFF replaces, from 0; `None` where the result is NULL.
fn stuffed_part(args: &[Value], count: usize) -> Option<(usize, usize)> {
    let (start, length) = (args[1].as_i64()?, usize::try_from(args[2].as_i64()?).ok()?);
    let from = usize::try_from(start).ok()?.checked_sub(1).filter(|from| *from < count)?;
    Some((from, from.saturating_add(length).min(count)))
}

/// A NULL in the place of the new part is none.
pub(super) fn stuff(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let text = match &args[0] {
        Value::Bytes(bytes) => return stuffed_bytes(bytes, args, cx),
        Value::Str(text) => text,
        _ => return Ok(Value::Null),
    };
    let Some((from, to)) = stuffed_part(args, units(text, cx.collation, &cx.look())?) else {
        return Ok(Value::Null);
    };
    let new = new_part(args, DataType::VarChar(Len::Max), cx)?;
    let new = new.as_str().unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    push_part(&mut out, text, (0, from), cx.collation, &cx.look())?;
    push_text(&mut out, new);
    push_part(&mut out, text, (to, usize::MAX), cx.collation, &cx.look())?;
    fitted(out, cx)
}

fn stuffed_bytes(bytes: &[u8], args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some((from, to)) = stuffed_part(args, bytes.len()) else { return Ok(Value::Null) };
    let new = new_part(args, DataType::VarBinary(Len::Max), cx)?;
    let new = new.as_bytes().unwrap_or_default();
    cx.makes(bytes.len() + new.len())?;
    let mut out = Vec::with_capacity(bytes.len() + new.len());
    for part in [&bytes[..from], new, &bytes[to..]] {
        for piece in byte_pieces(part, &cx.look()) {
            out.extend_from_slice(piece?);
        }
    }
    out.truncate(cx.ty.length().unwrap_or(out.len()));
    Ok(Value::bytes(out))
}

/// The new part as text or as bytes, as the whole is.
fn new_part(args: &[Value], to: DataType, cx: &CallCx<'_>) -> Result<Value, SqlError> {
    let (new, from) = (&args[3], cx.types[3]);
    if new.is_null() || from.is_binary() == to.is_binary() {
        return Ok(new.clone());
    }
    let (page, look) = (cx.collation.code_page(), cx.look());
    convert_by(
        new,
        from,
        to,
        &ConvertOptions { page, look: &look, ..ConvertOptions::new(0, Mode::Explicit) },
    )
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

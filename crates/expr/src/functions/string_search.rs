//! What is in a text: CHARINDEX, PATINDEX, REPLACE. Guarantees: characters are compared as the
//! collation does; halves of characters are found where units are counted.

use super::string_parts::{byte_of_unit, counted, fitted, rejoined, units, width};
use super::{CallCx, int_arg, text_arg};
use crate::large::{LARGE, StepCounter};
use types::like::{LikePattern, LikeText};
use types::{Collation, SqlError, Value, msg};

/// Whether the collation takes a text's beginning for a needle: the bytes that it has there.
fn starts_with(
    text: &str,
    needle: &str,
    collation: Collation,
    steps: &mut StepCounter<'_>,
) -> Result<Option<usize>, SqlError> {
    let same = |a: char, b: char| match a.is_ascii() && b.is_ascii() {
        true => a == b || collation.is_case_insensitive() && a.eq_ignore_ascii_case(&b),
        false => collation.same_char(a, b),
    };
    let mut rest = text.chars();
    for n in needle.chars() {
        steps.step(1)?;
        if !rest.next().is_some_and(|c| same(c, n)) {
            return Ok(None);
        }
    }
    Ok(Some(text.len() - rest.as_str().len()))
}

/// Where a needle is in a text by the collation, from a byte on: its bytes.
fn find(
    text: &str,
    needle: &str,
    from: usize,
    collation: Collation,
    steps: &mut StepCounter<'_>,
) -> Result<Option<std::ops::Range<usize>>, SqlError> {
    for (at, _) in text[from..].char_indices() {
        let at = from + at;
        if let Some(length) = starts_with(&text[at..], needle, collation, steps)? {
            return Ok(Some(at..at + length));
        }
    }
    Ok(None)
}

/// Bytes of what is looked for, as the type stores them.
const LONGEST: usize = 8_000;

/// 8152 for a search text or pattern that is too long, as SQL Server has it.
pub(crate) fn check_search_length(pattern: &str, unicode: bool) -> Result<(), SqlError> {
    // A unit of UTF-16 is at least one byte here.
    let fits = pattern.len() <= LONGEST / 2
        || match unicode {
            true => types::units::units(pattern).take(LONGEST / 2 + 1).count() <= LONGEST / 2,
            false => pattern.chars().take(LONGEST + 1).count() <= LONGEST,
        };
    if fits {
        return Ok(());
    }
    Err(SqlError::of(msg::TRUNCATED_ANYWHERE, []))
}

pub(super) fn charindex(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (needle, haystack) = (text_arg(args, 0), text_arg(args, 1));
    let from = if args.len() > 2 {
        usize::try_from(int_arg(args, 2).saturating_sub(1)).unwrap_or(0)
    } else {
        0
    };
    if needle.is_empty() {
        return Ok(Value::Int(0));
    }
    check_search_length(needle, cx.types.first().is_some_and(|ty| ty.is_unicode()))?;
    let (needle, haystack) = (counted(needle, cx)?, counted(haystack, cx)?);
    let look = cx.look();
    let from = byte_of_unit(&haystack, from, cx.collation, &look)?;
    let Some(found) = find(&haystack, &needle, from, cx.collation, &mut StepCounter::new(&look))?
    else {
        return Ok(Value::Int(0));
    };
    Ok(Value::Int(units(&haystack[..found.start], cx.collation, &look)? as i32 + 1))
}

pub(super) fn patindex(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (pattern, text) = (text_arg(args, 0), text_arg(args, 1));
    let unicode = cx.types.iter().any(|ty| ty.is_unicode());
    check_search_length(pattern, cx.types.first().is_some_and(|ty| ty.is_unicode()))?;
    let text = &counted(text, cx)?;
    let (collation, look) = (cx.collation, cx.look());
    let mut steps = StepCounter::new(&look);
    let Some(inner) = pattern.strip_prefix('%') else {
        let pattern = LikePattern::new(pattern, None)?;
        let whole = pattern.matches_or_stop(text, collation, unicode, |count| steps.step(count))?;
        return Ok(Value::Int(i32::from(whole)));
    };
    // The first place where the rest of the pattern fits.
    let inner = LikePattern::new(inner, None)?;
    let whole = LikeText::new(text);
    let mut position = 0;
    for (at, c) in text.char_indices() {
        steps.step(1)?;
        if inner
            .part_matches_or_stop(whole.from(at), collation, unicode, |count| steps.step(count))?
        {
            return Ok(Value::Int(position + 1));
        }
        position += width(c, collation) as i32;
    }
    Ok(Value::Int(0))
}

pub(super) fn replace(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (text, from, to) = (text_arg(args, 0), text_arg(args, 1), text_arg(args, 2));
    if from.is_empty() {
        return Ok(args[0].clone());
    }
    let (text, from) = (counted(text, cx)?, counted(from, cx)?);
    let mut out = String::with_capacity(text.len());
    // No more is made than the type holds: a unit is at most four bytes.
    let limit = cx.ty.length().map_or(usize::MAX, |units| units * 4);
    let (mut copied, mut done) = (0, false);
    while !done {
        // What is made is charged a stretch at a time.
        let stretch = limit.min(out.len() + LARGE);
        {
            let look = cx.look();
            let mut steps = StepCounter::new(&look);
            while out.len() <= stretch && !done {
                match find(&text, &from, copied, cx.collation, &mut steps)? {
                    Some(at) => {
                        steps.step(at.start - copied + to.len())?;
                        out.push_str(&text[copied..at.start]);
                        out.push_str(to);
                        copied = at.end;
                    }
                    None => done = true,
                }
            }
        }
        done |= out.len() > limit;
        cx.rt.check_cancel()?;
        cx.makes(out.len())?;
    }
    out.push_str(&text[copied..]);
    fitted(rejoined(out, &cx.look())?, cx)
}

//! Text as a sequence of 16-bit units, which is what T-SQL sees in nchar and nvarchar.
//!
//! A text is held as UTF-8. Half of a surrogate pair by itself, which UTF-8 cannot have, is held as
//! one of the last 2,048 code points: the unit U+D800 + x is the character U+10F800 + x. The
//! characters of these code points (a private use area) are held as their two units, each in that
//! form. A text is always *joined*: two halves that make another character never stand side by
//! side, the character stands there.
//!
//! Guarantees: joined texts and sequences of units correspond one to one; a text without lone
//! halves is plain UTF-8, and to find that out of ASCII costs one look at its bytes.

use std::borrow::Cow;
use std::fmt;
use std::str::Chars;

use compact_str::CompactString;

/// The code point under which U+D800 is held; what follows is held in order up to the last one.
const FIRST_LONE: u32 = 0x10_F800;
/// The first byte in UTF-8 of all that stand for lone halves.
const LEAD: u8 = 0xF4;
/// Bytes of a character that is two units, and of a lone half.
const WIDE: usize = 4;

/// The unit that a character of a held text stands for, if it is half of a pair.
#[inline]
pub fn lone(c: char) -> Option<u16> {
    // At most 0xDFFF.
    u32::from(c).checked_sub(FIRST_LONE).map(|offset| 0xD800 + offset as u16)
}

/// How a unit from U+D800 to U+DFFF is held by itself; `None` for a unit that is a character.
#[inline]
pub fn of_lone(unit: u16) -> Option<char> {
    match unit {
        0xD800..=0xDFFF => char::from_u32(FIRST_LONE + u32::from(unit - 0xD800)),
        _ => None,
    }
}

/// The character that two lone halves make; `None` when they make none, or one that is held as its
/// halves.
#[inline]
fn pair(high: char, low: char) -> Option<char> {
    match (lone(high)?, lone(low)?) {
        (high @ 0xD800..=0xDBFF, low @ 0xDC00..=0xDFFF) => {
            let code = 0x1_0000 + (u32::from(high - 0xD800) << 10) + u32::from(low - 0xDC00);
            if code < FIRST_LONE { char::from_u32(code) } else { None }
        }
        _ => None,
    }
}

/// The halves of a character that is two units, each as it is held by itself.
#[inline]
pub fn halves(c: char) -> Option<(char, char)> {
    let mut units = [0; 2];
    match (lone(c), c.encode_utf16(&mut units)) {
        (None, [high, low]) => Some((of_lone(*high)?, of_lone(*low)?)),
        _ => None,
    }
}

/// The units of a character.
#[inline]
pub fn unit_len(c: char) -> usize {
    1 + usize::from((0x1_0000..FIRST_LONE).contains(&u32::from(c)))
}

/// Whether all bytes are ASCII; eight at a time also for short texts, where the standard check goes
/// byte by byte.
#[inline]
pub fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    match bytes.last_chunk::<8>() {
        Some(last) => {
            let (chunks, _) = bytes.as_chunks::<8>();
            let all = chunks
                .iter()
                .fold(u64::from_le_bytes(*last), |all, c| all | u64::from_le_bytes(*c));
            all & HIGH_BITS == 0
        }
        None => bytes.iter().fold(0, |all, b| all | b) < 0x80,
    }
}

/// The units of a text.
#[inline]
pub fn utf16_len(text: &str) -> usize {
    if is_ascii(text.as_bytes()) { text.len() } else { text.chars().map(unit_len).sum() }
}

/// The units of a text, one after the other.
#[derive(Clone, Debug)]
pub struct Units<'t> {
    chars: Chars<'t>,
    /// The second half of the character that was read last.
    low: Option<u16>,
}

/// The units of a text, one after the other.
#[inline]
pub fn units(text: &str) -> Units<'_> {
    Units { chars: text.chars(), low: None }
}

impl Iterator for Units<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        if let Some(low) = self.low.take() {
            return Some(low);
        }
        let c = self.chars.next()?;
        match (u16::try_from(u32::from(c)), lone(c)) {
            (Ok(unit), _) | (_, Some(unit)) => Some(unit),
            _ => {
                let mut pair = [0; 2];
                c.encode_utf16(&mut pair);
                self.low = Some(pair[1]);
                Some(pair[0])
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (least, most) = self.chars.size_hint();
        let low = usize::from(self.low.is_some());
        // A character has two units at most, and no more than it has bytes.
        (least + low, most.map(|chars| 2 * chars + low))
    }
}

/// Units as the characters of a held, joined text.
#[derive(Clone, Debug)]
pub struct JoinedUnits<I> {
    units: I,
    /// The unit behind a first half that stood alone.
    ahead: Option<u16>,
}

/// The characters of the joined text that units are.
#[inline]
pub(crate) fn chars_of<I: Iterator<Item = u16>>(units: I) -> JoinedUnits<I> {
    JoinedUnits { units, ahead: None }
}

impl<I: Iterator<Item = u16>> Iterator for JoinedUnits<I> {
    type Item = char;

    #[inline]
    fn next(&mut self) -> Option<char> {
        let unit = match self.ahead.take() {
            Some(unit) => unit,
            None => self.units.next()?,
        };
        let Some(half) = of_lone(unit) else { return char::from_u32(u32::from(unit)) };
        if unit < 0xDC00 {
            self.ahead = self.units.next();
            if let Some(whole) = self.ahead.and_then(of_lone).and_then(|low| pair(half, low)) {
                self.ahead = None;
                return Some(whole);
            }
        }
        Some(half)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (least, most) = self.units.size_hint();
        let ahead = usize::from(self.ahead.is_some());
        ((least + ahead).div_ceil(2), most.map(|most| most + ahead))
    }
}

/// The text of units.
pub fn text_of(units: impl Iterator<Item = u16>) -> CompactString {
    chars_of(units).collect()
}

/// Appends the text of units in UTF-16LE to a string, which cannot fail. It goes in blocks, which
/// is several times faster than character by character.
pub fn push_le(units: &[[u8; 2]], text: &mut impl fmt::Write) {
    /// ASCII units of a block; any character in UTF-8 must have room behind them.
    const BLOCK: usize = 32;
    let mut block = [0u8; BLOCK + WIDE];
    let mut put = |block: &[u8]| {
        // What is in a block was encoded here, so it is UTF-8.
        let _ = text.write_str(std::str::from_utf8(block).unwrap_or_default());
    };
    let mut rest = units;
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(rest.len().min(BLOCK));
        if head.iter().fold(0, |all, [low, high]| all | high | (low & 0x80)) != 0 {
            break;
        }
        for (to, [low, _]) in block.iter_mut().zip(head) {
            *to = *low;
        }
        put(&block[..head.len()]);
        rest = tail;
    }
    let mut used = 0;
    for c in chars_of(rest.iter().map(|&unit| u16::from_le_bytes(unit))) {
        used += c.encode_utf8(&mut block[used..]).len();
        if used >= BLOCK {
            put(&block[..used]);
            used = 0;
        }
    }
    put(&block[..used]);
}

/// The character that the end of one text and the beginning of another make, if they are its
/// halves.
#[inline]
pub fn seam(left: &str, right: &str) -> Option<char> {
    if right.as_bytes().first() != Some(&LEAD) {
        return None;
    }
    pair(left.chars().next_back()?, right.chars().next()?)
}

/// Appends a text; halves that meet become their character.
#[inline]
pub fn push_text(out: &mut String, text: &str) {
    match seam(out, text) {
        None => out.push_str(text),
        Some(whole) => {
            out.truncate(out.len() - WIDE);
            out.push(whole);
            out.push_str(&text[WIDE..]);
        }
    }
}

/// Appends a character; halves that meet become their character.
#[inline]
pub fn push_char(out: &mut String, c: char) {
    match lone(c).and_then(|_| pair(out.chars().next_back()?, c)) {
        None => out.push(c),
        Some(whole) => {
            out.truncate(out.len() - WIDE);
            out.push(whole);
        }
    }
}

/// Appends a unit; halves that meet become their character.
pub fn push_unit(out: &mut String, unit: u16) {
    if let Some(c) = of_lone(unit).or_else(|| char::from_u32(u32::from(unit))) {
        push_char(out, c);
    }
}

/// One text behind the other.
#[inline]
pub fn concat(left: &str, right: &str) -> CompactString {
    let mut out = CompactString::with_capacity(left.len() + right.len());
    out.push_str(left);
    match seam(left, right) {
        None => out.push_str(right),
        Some(whole) => {
            out.truncate(left.len() - WIDE);
            out.push(whole);
            out.push_str(&right[WIDE..]);
        }
    }
    out
}

/// A text that was put together without care for its seams.
pub fn joined(text: String) -> String {
    if is_joined(&text) { text } else { chars_of(units(&text)).collect() }
}

fn is_joined(text: &str) -> bool {
    // A byte of this value is the first one of a character.
    !memchr::memchr_iter(LEAD, text.as_bytes()).any(|at| seam(&text[..at], &text[at..]).is_some())
}

/// Whether a text may have characters of two units: false for most that have none.
#[inline]
pub fn may_have_pairs(text: &str) -> bool {
    let high = |part: &[u8]| part.iter().fold(0, |most, byte| (*byte).max(most)) >= 0xF0;
    !is_ascii(text.as_bytes()) && text.as_bytes().chunks(256).any(high)
}

/// A text with each character of two units as its two halves, so that each character is one unit.
/// It is not joined.
pub fn apart(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match halves(c) {
            None => out.push(c),
            Some((high, low)) => out.extend([high, low]),
        }
    }
    out
}

/// Where a unit of a text begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitPlace {
    /// The byte at which its character begins.
    pub byte: usize,
    /// It is the second one of that character.
    pub second: bool,
}

/// Where a unit begins, counted from 0; the end for one that the text has not.
pub fn place(text: &str, unit: usize) -> UnitPlace {
    if is_ascii(text.as_bytes()) {
        return UnitPlace { byte: unit.min(text.len()), second: false };
    }
    place_of_wide(text, unit)
}

fn place_of_wide(text: &str, unit: usize) -> UnitPlace {
    let mut at = 0;
    for (byte, c) in text.char_indices() {
        if at >= unit {
            return UnitPlace { byte, second: false };
        }
        at += unit_len(c);
        if at > unit {
            return UnitPlace { byte, second: true };
        }
    }
    UnitPlace { byte: text.len(), second: false }
}

/// The units `from..to` of a text, as far as it has them.
pub fn cut(text: &str, from: usize, to: usize) -> Cow<'_, str> {
    if from >= to {
        return Cow::Borrowed("");
    }
    if is_ascii(text.as_bytes()) {
        return Cow::Borrowed(&text[from.min(text.len())..to.min(text.len())]);
    }
    let halves_at = |text: &str, at: usize| text[at..].chars().next().and_then(halves);
    let start = place_of_wide(text, from);
    // What is left of the character at the start, and what follows it.
    let (low, rest, before) = match start.second {
        false => (None, &text[start.byte..], from),
        true => (halves_at(text, start.byte), &text[start.byte + WIDE..], from + 1),
    };
    let end = place_of_wide(rest, to - before);
    let high = if end.second { halves_at(rest, end.byte) } else { None };
    let whole = &rest[..end.byte];
    if low.is_none() && high.is_none() {
        return Cow::Borrowed(whole);
    }
    let mut out = String::with_capacity(whole.len() + 2 * WIDE);
    out.extend(low.map(|(_, low)| low));
    out.push_str(whole);
    out.extend(high.map(|(high, _)| high));
    Cow::Owned(out)
}

/// Whether a held text has lone halves, or a character that is held as its halves.
#[inline]
pub fn has_halves(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(LEAD, bytes)
        .any(|at| matches!(bytes.get(at + 1..at + 3), Some([0x8F, 0xA0..=0xBF])))
}

/// Where the first half begins of a character whose other half, each held by itself, is behind a
/// byte.
#[inline]
pub(crate) fn half_before(text: &str, byte: usize) -> Option<usize> {
    let (before, behind) = text.split_at(byte);
    if behind.as_bytes().first() != Some(&LEAD) {
        return None;
    }
    let low = behind.chars().next().and_then(lone)?;
    let high = before.chars().next_back().and_then(lone)?;
    (high < 0xDC00 && low >= 0xDC00).then(|| byte - WIDE)
}

/// The unit at a byte of a text, if it is half of a pair whose other half is not beside it.
pub fn unpaired_at(text: &str, at: usize) -> Option<u16> {
    let unit = lone(text.get(at..)?.chars().next()?)?;
    let between = if unit < 0xDC00 { at + WIDE } else { at };
    if half_before(text, between).is_some() { None } else { Some(unit) }
}

/// The byte of the first half of a pair whose other half is not beside it.
pub fn first_unpaired(text: &str) -> Option<usize> {
    memchr::memchr_iter(LEAD, text.as_bytes()).find(|at| unpaired_at(text, *at).is_some())
}

/// The number of a text's first character in Unicode, or of the half that stands there alone.
pub fn first_code(text: &str) -> Option<u32> {
    let first = char::decode_utf16(units(text)).next()?;
    Some(first.map_or_else(|alone| alone.unpaired_surrogate().into(), u32::from))
}

/// A held text as everyone else reads UTF-8: what is half of a character is U+FFFD.
#[inline]
pub fn plain(text: &str) -> Cow<'_, str> {
    plain_with(text, char::REPLACEMENT_CHARACTER)
}

/// [`plain`], with another character for halves.
#[inline]
pub(crate) fn plain_with(text: &str, half: char) -> Cow<'_, str> {
    if !has_halves(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(char::decode_utf16(units(text)).map(|c| c.unwrap_or(half)).collect())
}

/// UTF-8 from outside as a held text.
#[inline]
pub fn held(text: &str) -> Cow<'_, str> {
    // Its characters of the last code points are no halves yet.
    if !has_halves(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(chars_of(text.encode_utf16()).collect())
}

#[cfg(test)]
mod tests;

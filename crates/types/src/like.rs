//! LIKE: patterns with %, _, [a-z], [^a-z] and ESCAPE. Guarantees: matching takes at most text
//! length x pattern length steps, whatever the pattern; characters compare by the collation; a
//! character of two units is two, unless the collation counts characters. A text of ASCII is
//! matched byte by byte where the pattern is of ASCII too and has no sets, and what follows a % is
//! looked for by `memchr`.

use std::convert::Infallible;

use smallvec::{SmallVec, smallvec};

use crate::collation::Collation;
use crate::error::SqlError;
use crate::msg;
use crate::units;

#[derive(Clone, Debug, PartialEq)]
enum PatternItem {
    /// `%`
    Any,
    /// `_`
    One,
    Char(char),
    Set {
        negated: bool,
        ranges: SmallVec<[(char, char); 4]>,
    },
    /// An opening bracket without an end: nothing matches.
    Never,
}

/// An item of a pattern for texts of ASCII.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Byte {
    Any,
    One,
    /// This byte, or where case does not count the other one.
    Is(u8, u8),
}

/// A pattern made ready once for many texts.
#[derive(Clone, Debug)]
pub struct LikePattern {
    items: Vec<PatternItem>,
    /// The same with two items for a character of two units, where it has one.
    apart: Option<Vec<PatternItem>>,
    prefix: String,
    /// The same for texts of ASCII, where it is so simple.
    bytes: Option<Vec<Byte>>,
}

impl LikePattern {
    /// Reads a pattern. `escape` is the text after ESCAPE; error 506 unless it is one character.
    pub fn new(pattern: &str, escape: Option<&str>) -> Result<LikePattern, SqlError> {
        let escape = match escape {
            None => None,
            Some(text) => Some(one_char(text)?),
        };
        let mut items = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let item = match c {
                _ if Some(c) == escape => match chars.next() {
                    Some(next) => PatternItem::Char(next),
                    None => PatternItem::Never,
                },
                '%' if items.last() == Some(&PatternItem::Any) => continue,
                '%' => PatternItem::Any,
                '_' => PatternItem::One,
                '[' => match set(chars.as_str(), escape) {
                    Some((item, rest)) => {
                        chars = rest.chars();
                        item
                    }
                    None => PatternItem::Never,
                },
                _ => PatternItem::Char(c),
            };
            let never = item == PatternItem::Never;
            items.push(item);
            // Nothing matches whatever follows. To look for the end of each further bracket would
            // take the square of the pattern's length.
            if never {
                break;
            }
        }
        let literal =
            |item: &PatternItem| if let PatternItem::Char(c) = item { Some(*c) } else { None };
        let mut prefix = units::joined(items.iter().map_while(literal).collect());
        // The first half of a character may be the whole character in a text.
        prefix.truncate(
            prefix
                .trim_end_matches(|c: char| units::lone(c).is_some_and(|unit| unit < 0xDC00))
                .len(),
        );
        let bytes = items.iter().map(PatternItem::byte).collect();
        let apart = units::may_have_pairs(pattern)
            .then(|| items.iter().flat_map(PatternItem::apart).collect());
        Ok(LikePattern { items, apart, prefix, bytes })
    }

    /// The text that every match begins with: what an index seek can use.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// True when the pattern is its prefix followed by `%` alone.
    pub fn is_prefix_match(&self) -> bool {
        self.items.last() == Some(&PatternItem::Any)
            && self.prefix.chars().count() + 1 == self.items.len()
    }

    /// Whether a text matches. Trailing blanks of a text that is not Unicode do not count against
    /// it.
    pub fn matches(&self, text: &str, collation: Collation, unicode: bool) -> bool {
        let Ok(matches) =
            self.matches_or_stop(text, collation, unicode, |_| Ok::<(), Infallible>(()));
        matches
    }

    /// As [`LikePattern::matches`] for a text that may be long: `look` is told what was done, in
    /// about the time of a step each, after a thousand steps at most, and its error ends the
    /// search.
    ///
    /// # Errors
    /// That of `look`.
    pub fn matches_or_stop<E>(
        &self,
        text: &str,
        collation: Collation,
        unicode: bool,
        look: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<bool, E> {
        self.part_matches_or_stop(LikeText::new(text), collation, unicode, look)
    }

    /// As [`LikePattern::matches_or_stop`], of a part of a text that need not be looked at for what
    /// it is.
    ///
    /// # Errors
    /// That of `look`.
    pub fn part_matches_or_stop<E>(
        &self,
        text: LikeText<'_>,
        collation: Collation,
        unicode: bool,
        look: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut work = MatchWork { look, done: 0 };
        let matches = match &self.bytes {
            Some(items) if text.ascii && collation.is_plain_for_ascii() => {
                let fold = collation.is_case_insensitive();
                matches_ascii(items, text, fold, unicode, &mut work)
            }
            _ => self.matches_chars(text, collation, unicode, &mut work),
        }?;
        work.tell()?;
        Ok(matches)
    }

    fn matches_chars<E>(
        &self,
        whole: LikeText<'_>,
        collation: Collation,
        unicode: bool,
        work: &mut MatchWork<impl FnMut(usize) -> Result<(), E>>,
    ) -> Result<bool, E> {
        let apart = !collation.counts_characters();
        let items = self.apart.as_ref().filter(|_| apart).unwrap_or(&self.items);
        let mut text = Characters { chars: whole.text.chars(), apart, low: None };
        let mut item = 0;
        // Where to go on when what follows the last % does not match: one character later.
        let mut retry: Option<(usize, Characters<'_>)> = None;
        loop {
            work.add(1)?;
            let mut ahead = text.clone();
            let advanced = match items.get(item) {
                Some(PatternItem::Any) => {
                    item += 1;
                    retry = Some((item, text.clone()));
                    continue;
                }
                Some(single) => ahead.next().is_some_and(|c| single.accepts(c, collation)),
                None if text.is_empty() => return Ok(true),
                None if !unicode
                    && text.low.is_none()
                    && text.chars.as_str().len() <= whole.blanks =>
                {
                    return Ok(true);
                }
                None => false,
            };
            if advanced {
                (text, item) = (ahead, item + 1);
                continue;
            }
            match &mut retry {
                Some((after, from)) => {
                    if from.next().is_none() {
                        return Ok(false);
                    }
                    (text, item) = (from.clone(), *after);
                }
                None => return Ok(false),
            }
        }
    }
}

/// The characters of a text as a collation counts them.
#[derive(Clone)]
struct Characters<'t> {
    chars: std::str::Chars<'t>,
    /// A character of two units is two.
    apart: bool,
    /// The second one of them.
    low: Option<char>,
}

impl Iterator for Characters<'_> {
    type Item = char;

    #[inline]
    fn next(&mut self) -> Option<char> {
        if let Some(low) = self.low.take() {
            return Some(low);
        }
        let c = self.chars.next()?;
        if self.apart && units::unit_len(c) == 2 {
            let (high, low) = units::halves(c)?;
            self.low = Some(low);
            return Some(high);
        }
        Some(c)
    }
}

impl Characters<'_> {
    fn is_empty(&self) -> bool {
        self.low.is_none() && self.chars.as_str().is_empty()
    }
}

/// A text with what a search wants to know of it.
#[derive(Clone, Copy, Debug)]
pub struct LikeText<'t> {
    text: &'t str,
    ascii: bool,
    /// How many blanks it ends with.
    blanks: usize,
}

impl<'t> LikeText<'t> {
    /// Looks at a text.
    pub fn new(text: &'t str) -> LikeText<'t> {
        let blanks = text.len() - text.trim_end_matches(' ').len();
        LikeText { text, ascii: text.is_ascii(), blanks }
    }

    /// The part of it that begins at a byte.
    pub fn from(self, at: usize) -> LikeText<'t> {
        let text = self.text.get(at..).unwrap_or_default();
        LikeText { text, blanks: self.blanks.min(text.len()), ..self }
    }
}

/// What was done since it was told.
struct MatchWork<F> {
    look: F,
    done: usize,
}

impl<E, F: FnMut(usize) -> Result<(), E>> MatchWork<F> {
    #[inline]
    fn add(&mut self, steps: usize) -> Result<(), E> {
        self.done += steps;
        if self.done < 1000 { Ok(()) } else { self.tell() }
    }

    fn tell(&mut self) -> Result<(), E> {
        (self.look)(std::mem::take(&mut self.done))
    }
}

/// [`LikePattern::matches`] for a text of ASCII, of which two characters are the same only as upper
/// and lower case of a letter.
fn matches_ascii<E>(
    items: &[Byte],
    whole: LikeText<'_>,
    fold: bool,
    unicode: bool,
    work: &mut MatchWork<impl FnMut(usize) -> Result<(), E>>,
) -> Result<bool, E> {
    let text = whole.text.as_bytes();
    let other = |c: u8, other: u8| if fold { other } else { c };
    // Where an item may match first from `at` on.
    let next = |item: usize, at: usize| match items.get(item) {
        Some(Byte::Is(c, o)) => Some(at + memchr::memchr2(*c, other(*c, *o), text.get(at..)?)?),
        _ => (at <= text.len()).then_some(at),
    };
    // Sixteen bytes and more are searched in a step.
    let searched =
        |from: usize, to: Option<usize>| to.unwrap_or(text.len()).saturating_sub(from) / 16;
    let (mut at, mut item) = (0, 0);
    // The item after the last % and where it was tried last.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        work.add(1)?;
        let advanced = match items.get(item) {
            Some(Byte::Any) => {
                item += 1;
                let place = next(item, at);
                work.add(searched(at, place))?;
                let Some(place) = place else { return Ok(false) };
                at = place;
                retry = Some((item, at));
                continue;
            }
            Some(Byte::One) => at < text.len(),
            Some(Byte::Is(c, o)) => text.get(at).is_some_and(|b| b == c || *b == other(*c, *o)),
            None if at == text.len() => return Ok(true),
            None if !unicode && text.len() - at <= whole.blanks => return Ok(true),
            None => false,
        };
        if advanced {
            (at, item) = (at + 1, item + 1);
            continue;
        }
        let Some((after, from)) = retry else { return Ok(false) };
        if after == items.len() {
            return Ok(true);
        }
        let place = next(after, from + 1);
        work.add(searched(from, place))?;
        let Some(place) = place else { return Ok(false) };
        (at, item, retry) = (place, after, Some((after, place)));
    }
}

impl PatternItem {
    fn byte(&self) -> Option<Byte> {
        match self {
            PatternItem::Any => Some(Byte::Any),
            PatternItem::One => Some(Byte::One),
            PatternItem::Char(c) => {
                let byte = u8::try_from(*c).ok().filter(u8::is_ascii)?;
                let other = if byte.is_ascii_lowercase() {
                    byte.to_ascii_uppercase()
                } else {
                    byte.to_ascii_lowercase()
                };
                Some(Byte::Is(byte, other))
            }
            PatternItem::Set { .. } | PatternItem::Never => None,
        }
    }

    /// The same for texts whose characters are one unit each.
    fn apart(&self) -> SmallVec<[PatternItem; 2]> {
        let both =
            |c: char| units::halves(c).map_or_else(|| (c, None), |(high, low)| (high, Some(low)));
        match self {
            PatternItem::Char(c) => {
                let (first, second) = both(*c);
                std::iter::once(first).chain(second).map(PatternItem::Char).collect()
            }
            PatternItem::Set { negated, ranges } => {
                let mut apart = SmallVec::new();
                for (low, high) in ranges {
                    let ((first, second), (to, behind)) = (both(*low), both(*high));
                    // A range is from the last unit before the hyphen to the first one behind it.
                    match second {
                        _ if low == high => apart.push((first, first)),
                        Some(second) => apart.extend([(first, first), (second, to)]),
                        None => apart.push((first, to)),
                    }
                    apart.extend(behind.map(|unit| (unit, unit)));
                }
                smallvec![PatternItem::Set { negated: *negated, ranges: apart }]
            }
            other => smallvec![other.clone()],
        }
    }

    fn accepts(&self, c: char, collation: Collation) -> bool {
        match self {
            PatternItem::Any | PatternItem::One => true,
            PatternItem::Char(own) => collation.same_char(*own, c),
            PatternItem::Set { negated, ranges } => {
                let inside = ranges.iter().any(|(low, high)| {
                    collation.compare_chars(*low, c).is_le()
                        && collation.compare_chars(c, *high).is_le()
                });
                inside != *negated
            }
            PatternItem::Never => false,
        }
    }
}

fn one_char(text: &str) -> Result<char, SqlError> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(SqlError::of(msg::INVALID_ESCAPE, [&text])),
    }
}

/// A set after its opening bracket, and what follows it; `None` when it does not end.
fn set(text: &str, escape: Option<char>) -> Option<(PatternItem, &str)> {
    let (negated, text) = match text.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut ranges = SmallVec::new();
    let mut chars = text.chars();
    loop {
        let mut low = chars.next()?;
        if low == ']' {
            return Some((PatternItem::Set { negated, ranges }, chars.as_str()));
        }
        if Some(low) == escape {
            low = chars.next()?;
        }
        let mut ahead = chars.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                chars = ahead;
                high
            }
            _ => low,
        };
        ranges.push((low, high));
    }
}

#[cfg(test)]
mod tests;

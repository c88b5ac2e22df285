//! The order of Windows collations: letters first, then accents, then case, kana and width, at last
//! hyphens and apostrophes. Guarantees: a key has no byte 0, so the terminator ends it; keys of two
//! texts compare as the texts do by definition.
//!
//! ```text
//! key:  letters 01 accents 01 case 01 hyphens       (levels that are empty at the end are left out)
//! ```
//! A letter's weight has one byte (digits, a to z, ASCII punctuation) or begins with the mark of a
//! group that no other weight begins with. Characters are taken apart by Unicode's canonical
//! decomposition; a language's [`Rules`] say which accented letters and pairs of letters are
//! letters of their own. Where nothing is said characters are in the order of their code points.

pub(super) mod languages;

use std::cmp::Ordering;
use std::convert::Infallible;

use smallvec::SmallVec;
use unicode_normalization::char::{compose, decompose_canonical};

use super::{AI, CS, Collation, KS, TERMINATOR, WS};
use crate::units::is_ascii;

/// What a language has of its own.
pub(super) struct Rules {
    /// After a letter of a to z: letters of their own, in their order. Each text is one letter and
    /// its variants, lower case.
    letters: &'static [(char, &'static [&'static str])],
    /// After a letter of a to z: pairs that are one letter, in their order.
    pairs: &'static [(char, &'static [&'static str])],
    /// Characters that are two letters.
    doubles: &'static [(char, &'static str)],
    /// Letters that count as another one with an accent.
    variants: &'static [(char, char)],
    /// I is the upper case of ı, İ that of i.
    dotless: bool,
    /// The last accent decides first.
    backwards: bool,
}

/// What every language has, where its own rules say nothing else.
const DOUBLES: &[(char, &str)] = &[('æ', "ae"), ('œ', "oe"), ('ß', "ss"), ('þ', "th")];
const VARIANTS: &[(char, char)] = &[
    ('ø', 'o'),
    ('đ', 'd'),
    ('ð', 'd'),
    ('ħ', 'h'),
    ('ł', 'l'),
    ('ŧ', 't'),
    ('ı', 'i'),
    ('ς', 'σ'),
];
/// Letters of Cyrillic alphabets in their order; ё is an accented е.
const CYRILLIC: &str = "абвгґғдђѓеєжҗзѕиіїйјкќқлљмнњңоөпрстћќуўүұфхһцчџшщъыьэюя";

/// Separates the levels; below every weight.
const LEVEL: u8 = 1;
/// No accent, lower case: the lowest weight of the second and third level.
const PLAINLY: u8 = 2;

// First bytes of letters' weights.
const BLANK: u8 = 0x02;
const CONTROL: u8 = 0x03;
const PUNCTUATION: u8 = 0x04;
const SYMBOL: u8 = 0x25;
const DIGIT: u8 = 0x28;
/// Of a; b is two further: between them is the group of letters that follow a.
const LATIN: u8 = 0x40;
const GREEK: u8 = 0x80;
const CYRILLIC_KNOWN: u8 = 0x81;
const CYRILLIC_OTHER: u8 = 0x82;
const OTHER: u8 = 0x90;

/// ASCII punctuation in Windows' order.
const ORDER: &[u8] = b"!\"#$%&()*,./:;?@[\\]^_`{|}~+<=>";

/// Letters' weights of ASCII; 0 for what has none of one byte.
static ASCII: [u8; 128] = ascii();

const fn ascii() -> [u8; 128] {
    let mut table = [0u8; 128];
    table[b' ' as usize] = BLANK;
    let mut i = 0;
    while i < ORDER.len() {
        table[ORDER[i] as usize] = PUNCTUATION + i as u8;
        i += 1;
    }
    i = 0;
    while i < 10 {
        table[b'0' as usize + i] = DIGIT + i as u8;
        i += 1;
    }
    i = 0;
    while i < 26 {
        table[b'a' as usize + i] = LATIN + 2 * i as u8;
        table[b'A' as usize + i] = LATIN + 2 * i as u8;
        i += 1;
    }
    table
}

const UPPER: u8 = 1;
const KATAKANA: u8 = 2;
const WIDE: u8 = 4;

/// A letter with what the lower levels look at.
struct Letter {
    /// Lower case, without the accents below; a letter of its own with its accent.
    base: char,
    accents: SmallVec<[char; 2]>,
    /// UPPER, KATAKANA, WIDE.
    form: u8,
}

/// Bytes of the levels below the first.
#[derive(Default)]
struct LowerLevels {
    accents: SmallVec<[u8; 64]>,
    forms: SmallVec<[u8; 64]>,
    hyphens: SmallVec<[u8; 16]>,
    letters: usize,
}

/// Whether case is all that ASCII texts of one length can differ in and be equal.
pub(super) fn is_plain_for_ascii(collation: Collation) -> bool {
    rules(collation).is_plain()
}

fn rules(collation: Collation) -> &'static Rules {
    collation.family().rules.unwrap_or(&languages::PLAIN)
}

impl Rules {
    /// ASCII letters have the places of their alphabet.
    fn is_plain(&self) -> bool {
        let own = |(_, letters): &(char, &[&str])| {
            letters.iter().any(|l| l.bytes().any(|b| b.is_ascii()))
        };
        self.pairs.is_empty()
            && !self.dotless
            && !self.letters.iter().any(own)
            && !self.variants.iter().any(|(c, _)| c.is_ascii())
    }

    /// The place of a letter of its own: the letter of a to z before it, its number after that, and
    /// whether it is a variant.
    fn own(&self, c: char) -> Option<(char, usize, bool)> {
        self.letters.iter().find_map(|(after, letters)| {
            let at = letters.iter().position(|letter| letter.contains(c))?;
            Some((*after, at, !letters[at].starts_with(c)))
        })
    }

    /// The longest pair that these letters begin with: its letters, and its place.
    fn pair(&self, letters: &[Letter]) -> Option<(usize, char, usize)> {
        let begins = |pair: &str| {
            let length = pair.chars().count();
            let same = pair
                .chars()
                .zip(letters)
                .filter(|(c, l)| *c == l.base && l.accents.is_empty())
                .count();
            (length > 0 && same == length).then_some(length)
        };
        let all = self.pairs.iter().flat_map(|(after, pairs)| {
            pairs.iter().enumerate().map(move |(at, pair)| (*pair, *after, at))
        });
        let found = all.filter_map(|(pair, after, at)| Some((begins(pair)?, after, at)));
        found.max_by_key(|(length, _, _)| *length)
    }

    /// Appends the letters of a character; a mark goes to the letter before.
    fn letters(&self, c: char, out: &mut Vec<Letter>) {
        if let Some(to) = self.doubled(lower(c, self.dotless).0) {
            let form = lower(c, self.dotless).1;
            out.extend(to.chars().map(|base| Letter { base, accents: SmallVec::new(), form }));
            return;
        }
        if c == 'İ' && self.dotless || ('\u{AC00}'..='\u{D7A3}').contains(&c) {
            // The capital of i; and syllables of Hangul, whose code points have their order.
            out.push(self.letter(c, 0));
            return;
        }
        decompose_canonical(width(c).0, |part| match is_mark(part) {
            true => self.accent(part, out),
            false => out.push(self.letter(part, width(c).1)),
        });
    }

    fn doubled(&self, c: char) -> Option<&'static str> {
        if c.is_ascii() || self.own(c).is_some() {
            return None;
        }
        let all = self.doubles.iter().chain(DOUBLES);
        all.into_iter().find(|(from, _)| *from == c).map(|(_, to)| *to)
    }

    fn letter(&self, c: char, wide: u8) -> Letter {
        let (mut base, mut form) = lower(c, self.dotless);
        let mut accents = SmallVec::new();
        if ('\u{30A1}'..='\u{30F6}').contains(&base) {
            // Katakana are hiragana of another form.
            base = char::from_u32(u32::from(base) - 0x60).unwrap_or(base);
            form |= KATAKANA;
        }
        let variant = self.variants.iter().chain(VARIANTS).find(|(from, _)| *from == base);
        if let (None, Some((from, to))) = (self.own(base), variant) {
            accents.push(*from);
            base = *to;
        }
        Letter { base, accents, form: form | wide }
    }

    /// A combining mark belongs to the letter before it; with some it makes a letter of its own.
    fn accent(&self, mark: char, out: &mut Vec<Letter>) {
        let Some(last) = out.last_mut() else {
            out.push(Letter { base: mark, accents: SmallVec::new(), form: 0 });
            return;
        };
        let made = compose(last.base, mark).filter(|made| {
            let variant = self.variants.iter().any(|(from, _)| from == made);
            self.own(*made).is_some() || variant || cyrillic(*made).is_some()
        });
        match made {
            Some(made) => {
                let form = last.form;
                let accents = std::mem::take(&mut last.accents);
                *last = self.letter(made, form);
                last.accents.extend(accents);
            }
            None => last.accents.push(mark),
        }
    }
}

/// The lower-case form and UPPER, where it is another one.
fn lower(c: char, dotless: bool) -> (char, u8) {
    match c {
        'I' if dotless => return ('ı', UPPER),
        'İ' if dotless => return ('i', UPPER),
        'ẞ' => return ('ß', UPPER),
        _ => {}
    }
    match c.to_lowercase().next() {
        Some(l) if l != c => (l, UPPER),
        _ => (c, 0),
    }
}

/// The character in its usual width, and WIDE for a full-width form of ASCII.
fn width(c: char) -> (char, u8) {
    match c {
        '\u{FF01}'..='\u{FF5E}' => (char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c), WIDE),
        '\u{3000}' => (' ', WIDE),
        _ => (c, 0),
    }
}

/// Combining marks, Hebrew points, Arabic vowel signs, marks of kana.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5BD}' | '\u{64B}'..='\u{65F}'
        | '\u{1AB0}'..='\u{1AFF}' | '\u{20D0}'..='\u{20F0}' | '\u{3099}' | '\u{309A}')
}

fn cyrillic(c: char) -> Option<usize> {
    if !('\u{400}'..='\u{52F}').contains(&c) {
        return None;
    }
    CYRILLIC.chars().position(|letter| letter == c)
}

/// A number in bytes that are none of the marks.
fn put_number(n: u32, out: &mut impl Extend<u8>) {
    out.extend([14, 7, 0].map(|shift| (n >> shift & 0x7F) as u8 + 3));
}

/// The first level's weight of a letter.
fn put_letter(rules: &Rules, base: char, out: &mut Vec<u8>) {
    if let Some((after, at, _)) = rules.own(base) {
        return put_after(after, at, out);
    }
    if let Some(weight) =
        u8::try_from(base).ok().and_then(|b| ASCII.get(usize::from(b))).filter(|w| **w != 0)
    {
        return out.push(*weight);
    }
    if let Some(at) = cyrillic(base) {
        return out.extend([CYRILLIC_KNOWN, at as u8 + 3]);
    }
    let group = match base {
        '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' => CONTROL,
        '\u{370}'..='\u{3FF}' if base.is_alphabetic() => GREEK,
        '\u{400}'..='\u{52F}' => CYRILLIC_OTHER,
        _ if base.is_alphanumeric() => OTHER,
        _ => SYMBOL,
    };
    out.push(group);
    put_number(base.into(), out);
}

/// The weight of the letter that follows one of a to z.
fn put_after(after: char, at: usize, out: &mut Vec<u8>) {
    let before =
        u8::try_from(after).ok().and_then(|b| ASCII.get(usize::from(b))).copied().unwrap_or(OTHER);
    out.extend([before + 1, at as u8 + 3]);
}

impl LowerLevels {
    /// A letter that was put to the first level.
    fn put(&mut self, collation: Collation, letter: &Letter, variant: bool) {
        self.letters += 1;
        if !collation.has(AI) {
            letter.accents.iter().for_each(|mark| put_number((*mark).into(), &mut self.accents));
            if variant {
                put_number(letter.base.into(), &mut self.accents);
            }
            self.accents.push(PLAINLY);
        }
        self.form(collation, letter.form);
    }

    fn form(&mut self, collation: Collation, form: u8) {
        let counts = [(CS, UPPER), (KS, KATAKANA), (WS, WIDE)];
        let mask: u8 =
            counts.iter().filter(|(flag, _)| collation.has(*flag)).map(|(_, bit)| bit).sum();
        if mask != 0 {
            self.forms.push(PLAINLY + (form & mask));
        }
    }

    /// A hyphen or an apostrophe: where it is, and which.
    fn hyphen(&mut self, c: char) {
        put_number(self.letters as u32, &mut self.hyphens);
        self.hyphens.push(if c == '\'' { PLAINLY } else { PLAINLY + 1 });
    }

    /// The levels after the first.
    fn finish(mut self, backwards: bool, out: &mut Vec<u8>) {
        if backwards {
            self.accents = backwards_accents(&self.accents);
        }
        let trimmed =
            |bytes: &[u8]| bytes.iter().rposition(|b| *b != PLAINLY).map_or(0, |at| at + 1);
        let accents = trimmed(&self.accents);
        // What ends an accented letter's accents is no weight of its own: the next letter's may be
        // compared with it.
        let accents = (accents + usize::from(accents > 0)).min(self.accents.len());
        let levels =
            [&self.accents[..accents], &self.forms[..trimmed(&self.forms)], &self.hyphens[..]];
        let used = levels.iter().rposition(|level| !level.is_empty()).map_or(0, |at| at + 1);
        for level in &levels[..used] {
            out.push(LEVEL);
            out.extend_from_slice(level);
        }
    }
}

/// The letters' accents, those of the last letter first.
fn backwards_accents(accents: &[u8]) -> SmallVec<[u8; 64]> {
    let mut out = SmallVec::new();
    for letter in accents.split_inclusive(|b| *b == PLAINLY).rev() {
        out.extend_from_slice(letter);
    }
    out
}

fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\'' | '\u{AD}')
}

/// Appends the key of a text, without its terminator.
pub(super) fn key(collation: Collation, text: &str, out: &mut Vec<u8>) {
    let Ok(()) = key_or_stop(collation, text, out, &mut || Ok::<(), Infallible>(()));
}

/// [`key`], which asks from time to time whether to go on.
fn key_or_stop<E>(
    collation: Collation,
    text: &str,
    out: &mut Vec<u8>,
    look: &mut impl FnMut() -> Result<(), E>,
) -> Result<(), E> {
    let rules = rules(collation);
    let mut below = LowerLevels::default();
    if is_ascii(text.as_bytes()) && rules.is_plain() {
        for (at, part) in text.as_bytes().chunks(64 << 10).enumerate() {
            if at > 0 {
                look()?;
            }
            for byte in part {
                match ASCII[usize::from(byte & 0x7F)] {
                    0 if is_hyphen((*byte).into()) => {
                        below.hyphen((*byte).into());
                        continue;
                    }
                    0 => put_letter(rules, (*byte).into(), out),
                    weight => out.push(weight),
                }
                below.letters += 1;
                below.form(collation, if byte.is_ascii_uppercase() { UPPER } else { 0 });
            }
        }
        below.finish(false, out);
        return Ok(());
    }
    // A letter takes more memory than its key: of a long text only some are made at once.
    let mut letters = Vec::with_capacity(text.len().min(MOST_LETTERS));
    for c in text.chars() {
        if letters.len() >= MOST_LETTERS {
            look()?;
            put_letters(collation, &mut letters, AHEAD, &mut below, out);
        }
        rules.letters(c, &mut letters);
    }
    put_letters(collation, &mut letters, 0, &mut below, out);
    below.finish(rules.backwards, out);
    Ok(())
}

/// Letters that are made at once.
const MOST_LETTERS: usize = 4096;
/// Letters that wait for what follows: more than the longest pair has, and the last one for its
/// marks.
const AHEAD: usize = 16;

/// Puts letters to the key as long as so many are left, which stay.
fn put_letters(
    collation: Collation,
    letters: &mut Vec<Letter>,
    left: usize,
    below: &mut LowerLevels,
    out: &mut Vec<u8>,
) {
    let rules = rules(collation);
    let mut rest = letters.as_slice();
    while let [first, others @ ..] = rest
        && rest.len() > left
    {
        if is_hyphen(first.base) {
            below.hyphen(first.base);
            rest = others;
        } else if let Some((length, after, at)) = rules.pair(rest) {
            put_after(after, at, out);
            // A pair's letters differ from one letter of the same place in their number.
            below.put(
                collation,
                first,
                rules.letters.iter().any(|(a, l)| *a == after && l.len() > at),
            );
            rest[1..length].iter().for_each(|letter| below.form(collation, letter.form));
            rest = &rest[length..];
        } else {
            put_letter(rules, first.base, out);
            below.put(
                collation,
                first,
                rules.own(first.base).is_some_and(|(_, _, variant)| variant),
            );
            rest = others;
        }
    }
    let put = letters.len() - rest.len();
    letters.drain(..put);
}

/// The order of two texts without trailing blanks.
pub(super) fn compare(collation: Collation, a: &str, b: &str) -> Ordering {
    let Ok(order) = compare_or_stop(collation, a, b, &mut || Ok::<(), Infallible>(()));
    order
}

/// [`compare`], which asks from time to time whether to go on.
pub(super) fn compare_or_stop<E>(
    collation: Collation,
    a: &str,
    b: &str,
    look: &mut impl FnMut() -> Result<(), E>,
) -> Result<Ordering, E> {
    if a == b {
        return Ok(Ordering::Equal);
    }
    let mut of = |text: &str| -> Result<Vec<u8>, E> {
        let mut out = Vec::with_capacity(2 * text.len() + 1);
        key_or_stop(collation, text, &mut out, look)?;
        out.push(TERMINATOR);
        Ok(out)
    };
    Ok(of(a)?.cmp(&of(b)?))
}

/// The order of two characters by themselves; blanks count.
pub(super) fn compare_chars(collation: Collation, a: char, b: char) -> Ordering {
    let mut text = [0; 4];
    let mut of = |c: char| {
        let mut out = Vec::new();
        key(collation, c.encode_utf8(&mut text), &mut out);
        out
    };
    of(a).cmp(&of(b))
}

//! Collations: order, equality, sort keys, hashes and LIKE for strings, and code page 1252.
//! Guarantees: `compare` and the memcmp order of `sort_key` agree for every pair of strings; trailing blanks
//! never count; strings that compare equal have equal keys and hashes.
//!
//! Every character has one weight. The blank has the lowest, then come symbols, digits and letters; an accented
//! letter follows its base letter directly. Characters outside code page 1252 follow all of it in code point
//! order. (A binary collation orders by code point, only the blank is moved below the control characters, which
//! is what makes padding with blanks and memcmp order the same thing.)

use std::cmp::Ordering;

use crate::codepage;

/// A collation's number; copy it freely.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Collation(u8);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Case-insensitive, accent-sensitive.
    CiAs,
    /// Case-sensitive, accent-sensitive: a lower-case letter comes before its upper-case form.
    CsAs,
    /// Code points.
    Bin2,
}

struct Info {
    name: &'static str,
    kind: Kind,
    /// The five collation bytes of the TDS protocol.
    wire: [u8; 5],
}

const COLLATIONS: [Info; 7] = [
    Info { name: "SQL_Latin1_General_CP1_CI_AS", kind: Kind::CiAs, wire: [0x09, 0x04, 0xD0, 0x00, 0x34] },
    Info { name: "Latin1_General_BIN2", kind: Kind::Bin2, wire: [0x09, 0x04, 0x00, 0x02, 0x00] },
    Info { name: "SQL_Latin1_General_CP1_CS_AS", kind: Kind::CsAs, wire: [0x09, 0x04, 0xC0, 0x00, 0x33] },
    Info { name: "Latin1_General_CI_AS", kind: Kind::CiAs, wire: [0x09, 0x04, 0xD0, 0x00, 0x00] },
    Info { name: "Latin1_General_CS_AS", kind: Kind::CsAs, wire: [0x09, 0x04, 0xC0, 0x00, 0x00] },
    Info { name: "Latin1_General_100_CI_AS", kind: Kind::CiAs, wire: [0x09, 0x04, 0xD0, 0x20, 0x00] },
    Info { name: "Latin1_General_100_BIN2", kind: Kind::Bin2, wire: [0x09, 0x04, 0x00, 0x22, 0x00] },
];

/// First byte of the weight of a character outside code page 1252; no single-byte weight reaches it.
const WIDE: u8 = 0xFE;
/// Ends every string in a sort key; below every weight.
const TERMINATOR: u8 = 0;

impl Default for Collation {
    fn default() -> Collation {
        Collation::DEFAULT
    }
}

impl Collation {
    /// SQL_Latin1_General_CP1_CI_AS.
    pub const DEFAULT: Collation = Collation(0);
    /// Latin1_General_BIN2.
    pub const BIN2: Collation = Collation(1);

    /// The collation of a name, in any case; `database_default` is the default.
    pub fn from_name(name: &str) -> Option<Collation> {
        if name.eq_ignore_ascii_case("database_default") {
            return Some(Collation::DEFAULT);
        }
        let found = COLLATIONS.iter().position(|info| info.name.eq_ignore_ascii_case(name))?;
        u8::try_from(found).ok().map(Collation)
    }

    /// The collation of a stored number.
    pub fn from_id(id: u8) -> Option<Collation> {
        (usize::from(id) < COLLATIONS.len()).then_some(Collation(id))
    }

    /// The number to store.
    pub fn id(self) -> u8 {
        self.0
    }

    fn info(self) -> &'static Info {
        &COLLATIONS[usize::from(self.0)]
    }

    /// The name in the catalog.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// All names, in the order of their numbers.
    pub fn names() -> impl Iterator<Item = &'static str> {
        COLLATIONS.iter().map(|info| info.name)
    }

    /// The five bytes that stand for it in the TDS protocol.
    pub fn wire_bytes(self) -> [u8; 5] {
        self.info().wire
    }

    /// Whether 'a' equals 'A'.
    pub fn is_case_insensitive(self) -> bool {
        self.info().kind == Kind::CiAs
    }

    #[inline]
    fn weight(self, c: char) -> u32 {
        match self.info().kind {
            Kind::CiAs => dictionary_weight(c, true),
            Kind::CsAs => dictionary_weight(c, false),
            Kind::Bin2 if c == ' ' => 0,
            Kind::Bin2 => u32::from(c) + 1,
        }
    }

    /// SQL's order of two strings.
    pub fn compare(self, a: &str, b: &str) -> Ordering {
        let (a, b) = (a.trim_end_matches(' '), b.trim_end_matches(' '));
        let fold = self.is_case_insensitive();
        let mut pairs = a.bytes().zip(b.bytes());
        match pairs.position(|(x, y)| x != y && !(fold && equal_ascii(x, y))) {
            // One is a prefix of the other; every weight is above the end of the string.
            None => a.len().cmp(&b.len()),
            Some(at) => {
                // Perhaps inside a character of several bytes: step back to where both have a boundary.
                let start = (0..=at).rev().find(|&i| a.is_char_boundary(i) && b.is_char_boundary(i));
                let start = start.unwrap_or(0);
                self.compare_by_weight(&a[start..], &b[start..])
            }
        }
    }

    fn compare_by_weight(self, a: &str, b: &str) -> Ordering {
        a.chars().map(|c| self.weight(c)).cmp(b.chars().map(|c| self.weight(c)))
    }

    /// SQL's equality of two strings.
    pub fn equal(self, a: &str, b: &str) -> bool {
        self.compare(a, b) == Ordering::Equal
    }

    /// Appends bytes whose memcmp order is `compare`'s order; no key is a prefix of another.
    pub fn sort_key(self, text: &str, out: &mut Vec<u8>) {
        let text = text.trim_end_matches(' ');
        out.reserve(text.len() + 1);
        match self.info().kind {
            Kind::CiAs => dictionary_key(text, true, out),
            Kind::CsAs => dictionary_key(text, false, out),
            // UTF-8 keeps code point order; bytes move up to leave 0 to the terminator and 1 to the blank.
            Kind::Bin2 => out.extend(text.bytes().map(|b| match b {
                b' ' => 1,
                0..b' ' => b + 2,
                _ => b + 1,
            })),
        }
        out.push(TERMINATOR);
    }

    /// A hash of what `compare` looks at.
    pub fn hash(self, text: &str) -> u64 {
        // FNV-1a over the weights: short strings, no state to set up.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for c in text.trim_end_matches(' ').chars() {
            hash = (hash ^ u64::from(self.weight(c))).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash ^ (hash >> 29)
    }

    /// Whether two characters are the same to this collation.
    pub fn same_char(self, a: char, b: char) -> bool {
        a == b || self.weight(a) == self.weight(b)
    }

    /// The order of two characters, for LIKE's ranges.
    pub fn compare_chars(self, a: char, b: char) -> Ordering {
        self.weight(a).cmp(&self.weight(b))
    }
}

#[inline]
fn equal_ascii(x: u8, y: u8) -> bool {
    x < 0x80 && y < 0x80 && WEIGHTS[usize::from(x)] == WEIGHTS[usize::from(y)]
}

/// Four bytes, of which the sort key takes as many as it needs: the letter, then its case, or the mark of a wide
/// character and its code point.
#[inline]
fn dictionary_weight(c: char, fold: bool) -> u32 {
    match codepage::encode_char(c) {
        Some(byte) => {
            let case = if fold { 0 } else { 1 + u32::from(UPPER[usize::from(byte)]) };
            (u32::from(WEIGHTS[usize::from(byte)]) << 24) | (case << 16)
        }
        None => (u32::from(WIDE) << 24) | u32::from(if fold { folded(c) } else { c }),
    }
}

/// Simple case folding: the lower-case form where it is one character outside code page 1252.
fn folded(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(l), None) if codepage::encode_char(l).is_none() => l,
        _ => c,
    }
}

fn dictionary_key(text: &str, fold: bool, out: &mut Vec<u8>) {
    if fold && codepage::is_ascii(text.as_bytes()) {
        out.extend(text.bytes().map(|b| WEIGHTS[usize::from(b)]));
        return;
    }
    for c in text.chars() {
        let weight = dictionary_weight(c, fold).to_be_bytes();
        let length = if weight[0] == WIDE { 4 } else { 1 + usize::from(!fold) };
        out.extend_from_slice(&weight[..length]);
    }
}

/// Letters of code page 1252 in dictionary order: each group is one letter in its cases, lower case first.
const LETTERS: &[&[u8]] = &[
    b"aA",
    b"\xE0\xC0",
    b"\xE1\xC1",
    b"\xE2\xC2",
    b"\xE3\xC3",
    b"\xE4\xC4",
    b"\xE5\xC5",
    b"\xE6\xC6",
    b"bB",
    b"cC",
    b"\xE7\xC7",
    b"dD",
    b"\xF0\xD0",
    b"eE",
    b"\xE8\xC8",
    b"\xE9\xC9",
    b"\xEA\xCA",
    b"\xEB\xCB",
    b"fF",
    b"\x83",
    b"gG",
    b"hH",
    b"iI",
    b"\xEC\xCC",
    b"\xED\xCD",
    b"\xEE\xCE",
    b"\xEF\xCF",
    b"jJ",
    b"kK",
    b"lL",
    b"mM",
    b"nN",
    b"\xF1\xD1",
    b"oO",
    b"\xF2\xD2",
    b"\xF3\xD3",
    b"\xF4\xD4",
    b"\xF5\xD5",
    b"\xF6\xD6",
    b"\xF8\xD8",
    b"\x9C\x8C",
    b"pP",
    b"qQ",
    b"rR",
    b"sS",
    b"\x9A\x8A",
    b"\xDF",
    b"tT",
    b"uU",
    b"\xF9\xD9",
    b"\xFA\xDA",
    b"\xFB\xDB",
    b"\xFC\xDC",
    b"vV",
    b"wW",
    b"xX",
    b"yY",
    b"\xFD\xDD",
    b"\xFF\x9F",
    b"zZ",
    b"\x9E\x8E",
    b"\xFE\xDE",
];

/// Weight of every byte of code page 1252: blank 2, then symbols, digits, letters.
static WEIGHTS: [u8; 256] = weights();
/// Which bytes are the upper-case form of a letter.
static UPPER: [bool; 256] = upper();

const fn upper() -> [bool; 256] {
    let mut table = [false; 256];
    let mut g = 0;
    while g < LETTERS.len() {
        if LETTERS[g].len() == 2 {
            table[LETTERS[g][1] as usize] = true;
        }
        g += 1;
    }
    table
}

const fn weights() -> [u8; 256] {
    let mut table = [0u8; 256];
    table[b' ' as usize] = 2;
    // Letters get a mark first, so that symbols can be told apart.
    let mut g = 0;
    while g < LETTERS.len() {
        let mut i = 0;
        while i < LETTERS[g].len() {
            table[LETTERS[g][i] as usize] = 1;
            i += 1;
        }
        g += 1;
    }
    let mut next = 3u8;
    let mut byte = 0usize;
    while byte < 256 {
        let digit = byte >= b'0' as usize && byte <= b'9' as usize;
        if table[byte] == 0 && !digit {
            table[byte] = next;
            next += 1;
        }
        byte += 1;
    }
    byte = b'0' as usize;
    while byte <= b'9' as usize {
        table[byte] = next;
        next += 1;
        byte += 1;
    }
    g = 0;
    while g < LETTERS.len() {
        let mut i = 0;
        while i < LETTERS[g].len() {
            table[LETTERS[g][i] as usize] = next;
            i += 1;
        }
        next += 1;
        g += 1;
    }
    assert!(next < WIDE);
    table
}

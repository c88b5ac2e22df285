//! Collations: order, equality, sort keys, hashes of strings, the code page of char and varchar,
//! and the five bytes of the TDS protocol. Guarantees: `compare` and the memcmp order of `sort_key`
//! agree for every pair of strings; trailing blanks never count; strings that compare equal have
//! equal keys and hashes. Keys lie in indexes on disk: their bytes are no library's, so that none
//! can change them.
//!
//! There are three orders. That of the default, SQL_Latin1_General_CP1 (`dictionary`), has one
//! weight for every character. A binary collation orders by code point, only the blank is moved
//! below the control characters, which is what makes padding with blanks and memcmp order the same
//! thing. All others compare letters first, then accents, then case (`words`).

mod dictionary;
mod family;
mod words;

use std::cmp::Ordering;

use crate::codepage::CodePage;
use family::Family;

/// A collation: its family (language, code page), version and sensitivities in one number; copy it
/// freely.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Collation(u32);

/// Upper and lower case differ.
const CS: u32 = 1 << 10;
/// Accents do not count.
const AI: u32 = 1 << 11;
/// Hiragana and katakana differ.
const KS: u32 = 1 << 12;
/// Half width and full width differ.
const WS: u32 = 1 << 13;
const BIN: u32 = 1 << 14;
const BIN2: u32 = 1 << 15;
const UTF8: u32 = 1 << 16;
const SC: u32 = 1 << 17;
const FAMILY: u32 = 0xFF;
const VERSION_SHIFT: u32 = 8;

/// Ends every string in a sort key; below every weight.
const TERMINATOR: u8 = 0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// SQL_Latin1_General_CP1_CI_AS.
    CiAs,
    /// SQL_Latin1_General_CP1_CS_AS: a lower-case letter comes before its upper-case form.
    CsAs,
    Binary,
    Words,
}

/// Numbers under which column definitions of old databases have their collations.
const FIRST_NUMBERS: [&str; 7] = [
    "SQL_Latin1_General_CP1_CI_AS",
    "Latin1_General_BIN2",
    "SQL_Latin1_General_CP1_CS_AS",
    "Latin1_General_CI_AS",
    "Latin1_General_CS_AS",
    "Latin1_General_100_CI_AS",
    "Latin1_General_100_BIN2",
];

/// A text without the blanks at its end.
#[inline]
pub(crate) fn without_blanks(text: &str) -> &str {
    let end = text.bytes().rposition(|byte| byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
}

impl Collation {
    /// SQL_Latin1_General_CP1_CI_AS.
    pub const DEFAULT: Collation = Collation(0);
    /// Latin1_General_BIN2.
    pub const BIN2: Collation = Collation(family::LATIN1_GENERAL | BIN2);

    /// The collation of a name, in any case. `database_default` is none of its own: it is the
    /// caller's.
    pub fn from_name(name: &str) -> Option<Collation> {
        family::named(name)
    }

    /// The collation of a stored number.
    pub fn from_id(id: u32) -> Option<Collation> {
        match FIRST_NUMBERS.get(id as usize) {
            Some(_) if id == 0 => Some(Collation::DEFAULT),
            Some(name) => Collation::from_name(name),
            None => Some(Collation(id)).filter(|c| family::exists(*c)),
        }
    }

    /// The number to store.
    pub fn id(self) -> u32 {
        self.0
    }

    fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    fn family(self) -> &'static Family {
        family::of(self.0 & FAMILY)
    }

    #[inline]
    fn order(self) -> Order {
        match self.0 {
            0 => Order::CiAs,
            CS => Order::CsAs,
            other if other & (BIN | BIN2) != 0 => Order::Binary,
            _ => Order::Words,
        }
    }

    /// 0 (80, the first one), 1 (90), 2 (100) or 3 (140).
    pub fn version(self) -> u8 {
        (self.0 >> VERSION_SHIFT & 3) as u8
    }

    /// What follows the family's name.
    fn suffix(self) -> String {
        let mut out = String::from(["", "_90", "_100", "_140"][usize::from(self.version())]);
        let mut put = |word: &str| {
            out.push('_');
            out.push_str(word);
        };
        if self.has(BIN | BIN2) {
            put(if self.has(BIN) { "BIN" } else { "BIN2" });
        } else {
            put(if self.has(CS) { "CS" } else { "CI" });
            put(if self.has(AI) { "AI" } else { "AS" });
        }
        for (flag, word) in [(KS, "KS"), (WS, "WS"), (SC, "SC"), (UTF8, "UTF8")] {
            if self.has(flag) {
                put(word);
            }
        }
        out
    }

    /// The name in the catalog.
    pub fn name(self) -> String {
        format!("{}{}", self.family().name, self.suffix())
    }

    /// All of them: the default first.
    pub fn all() -> impl Iterator<Item = Collation> {
        family::all()
    }

    /// In words, as fn_helpcollations() has it.
    pub fn description(self) -> String {
        let family = self.family();
        let version = ["", "-90", "-100", "-140"][usize::from(self.version())];
        let mut words = vec![format!("{}{version}", family.title())];
        let mut put = |word: &str| words.push(word.to_owned());
        if self.has(BIN | BIN2) {
            put(if self.has(BIN) { "binary sort" } else { "binary code point comparison sort" });
        } else {
            let sensitive = [
                ("case", self.has(CS)),
                ("accent", !self.has(AI)),
                ("kanatype", self.has(KS)),
                ("width", self.has(WS)),
            ];
            for (what, counts) in sensitive {
                put(&format!("{what}-{}sensitive", if counts { "" } else { "in" }));
            }
            if self.has(SC) {
                put("supplementary characters");
            }
        }
        if self.has(UTF8) {
            put("UTF8");
        }
        let mut text = words.join(", ");
        if let Some(sort_id) = self.sort_id() {
            let page = self.code_page().number();
            text.push_str(&format!(
                " for Unicode Data, SQL Server Sort Order {sort_id} on Code Page {page} for non-Unicode Data"
            ));
        }
        text
    }

    /// The Windows locale.
    pub fn lcid(self) -> u32 {
        self.family().lcid
    }

    /// The sort order of an SQL collation; `None` for a Windows collation.
    pub fn sort_id(self) -> Option<u8> {
        let ids = self.family().sort_ids?;
        Some(match (self.has(CS), self.has(AI)) {
            (true, _) => ids[0],
            (false, false) => ids[1],
            (false, true) => ids[2],
        })
    }

    /// How char and varchar are stored.
    #[inline]
    pub fn code_page(self) -> CodePage {
        match self.0 {
            0 => CodePage::Latin,
            other if other & UTF8 != 0 => CodePage::Utf8,
            _ => CodePage::of_number(self.family().code_page),
        }
    }

    /// Whether functions count characters beyond U+FFFF as one.
    pub fn counts_characters(self) -> bool {
        self.has(SC | UTF8)
    }

    /// Windows' comparison flags: NORM_IGNORECASE, NORM_IGNORENONSPACE, NORM_IGNOREKANATYPE,
    /// NORM_IGNOREWIDTH.
    pub fn comparison_style(self) -> i32 {
        if self.has(BIN | BIN2) {
            return 0;
        }
        let flags = [
            (!self.has(CS), 1),
            (self.has(AI), 2),
            (!self.has(KS), 0x1_0000),
            (!self.has(WS), 0x2_0000),
        ];
        flags.into_iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum()
    }

    /// The five bytes that stand for it in the TDS protocol: locale (20 bits), flags (8 bits),
    /// version (4 bits), sort id.
    pub fn wire_bytes(self) -> [u8; 5] {
        let mut info = self.lcid() | u32::from(self.version()) << 28;
        match (self.has(BIN), self.has(BIN2)) {
            (true, _) => info |= 1 << 24,
            (_, true) => info |= 1 << 25,
            _ => {
                let flags = [
                    (!self.has(CS), 20),
                    (self.has(AI), 21),
                    (!self.has(KS), 22),
                    (!self.has(WS), 23),
                ];
                info |=
                    flags.into_iter().filter(|(set, _)| *set).map(|(_, bit)| 1 << bit).sum::<u32>();
            }
        }
        if self.has(UTF8) {
            info |= 1 << 26;
        }
        let [a, b, c, d] = info.to_le_bytes();
        [a, b, c, d, self.sort_id().unwrap_or(0)]
    }

    /// The collation of five bytes of the protocol. They do not tell families of one locale apart,
    /// nor whether supplementary characters count: it is the first one with these bytes.
    pub fn from_wire(bytes: [u8; 5]) -> Option<Collation> {
        let [a, b, c, d, _] = bytes;
        let info = u32::from_le_bytes([a, b, c, d]);
        let set = |bit: u32| info >> bit & 1 == 1;
        let mut flags = (info >> 28 & 3) << VERSION_SHIFT;
        match (set(24), set(25)) {
            (true, _) => flags |= BIN,
            (_, true) => flags |= BIN2,
            _ => {
                let own = [(!set(20), CS), (set(21), AI), (!set(22), KS), (!set(23), WS)];
                flags |= own.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag).sum::<u32>();
            }
        }
        if set(26) {
            flags |= if set(25) { UTF8 } else { UTF8 | SC };
        }
        family::with_flags(flags).find(|c| c.wire_bytes() == bytes)
    }

    /// Whether 'a' equals 'A'.
    pub fn is_case_insensitive(self) -> bool {
        !self.has(CS | BIN | BIN2)
    }

    /// Whether texts of ASCII are equal exactly when their bytes are, case apart where it does not
    /// count: LIKE compares bytes then.
    pub fn is_plain_for_ascii(self) -> bool {
        self.order() != Order::Words || words::is_plain_for_ascii(self)
    }

    /// Whether every character has one weight, as the default's have.
    pub fn is_dictionary(self) -> bool {
        matches!(self.order(), Order::CiAs | Order::CsAs)
    }

    /// Whether all texts that LIKE takes for one beginning have keys of one range.
    pub fn keeps_prefixes(self) -> bool {
        self.order() != Order::Words
    }

    /// Whether texts are ordered by the weights of their characters, one after another
    /// ([`Collation::weight`]).
    pub(crate) fn has_weights(self) -> bool {
        self.order() != Order::Words
    }

    /// What a character is ordered by, where characters have weights. The blank has the lowest.
    #[inline]
    pub(crate) fn weight(self, c: char) -> u32 {
        match self.order() {
            Order::CiAs => dictionary::weight(c, true),
            Order::CsAs => dictionary::weight(c, false),
            _ if c == ' ' => 0,
            _ => u32::from(c) + 1,
        }
    }

    /// SQL's order of two strings.
    pub fn compare(self, a: &str, b: &str) -> Ordering {
        let (a, b) = (without_blanks(a), without_blanks(b));
        let order = self.order();
        if order == Order::Words {
            return words::compare(self, a, b);
        }
        let fold = order == Order::CiAs;
        let differs =
            |(_, (x, y)): &(usize, (u8, u8))| x != y && !(fold && dictionary::equal_ascii(*x, *y));
        match a.bytes().zip(b.bytes()).enumerate().find(differs) {
            // One is a prefix of the other; every weight is above the end of the string.
            None => a.len().cmp(&b.len()),
            // One character each, and each has a weight of its own.
            Some((_, (x, y))) if x.is_ascii() && y.is_ascii() => {
                self.weight(char::from(x)).cmp(&self.weight(char::from(y)))
            }
            Some((at, _)) => {
                // Perhaps inside a character of several bytes: step back to where both have a
                // boundary.
                let start =
                    (0..=at).rev().find(|&i| a.is_char_boundary(i) && b.is_char_boundary(i));
                let start = start.unwrap_or(0);
                self.compare_by_weight(&a[start..], &b[start..])
            }
        }
    }

    /// [`Collation::compare`] of texts that may be long: `look` is called after each 64 KB that do
    /// not differ, and its error ends the comparison.
    ///
    /// # Errors
    /// That of `look`.
    pub fn compare_or_stop<E>(
        self,
        a: &str,
        b: &str,
        mut look: impl FnMut() -> Result<(), E>,
    ) -> Result<Ordering, E> {
        const PIECE: usize = 64 << 10;
        let (whole_a, whole_b) = (without_blanks(a), without_blanks(b));
        let (mut a, mut b) = (whole_a, whole_b);
        let fold = self.order() == Order::CiAs;
        while a.len() > PIECE && b.len() > PIECE {
            look()?;
            let end = a.floor_char_boundary(PIECE);
            let Some(other) = b.get(..end) else { break };
            let own = &a[..end];
            if own != other && !(fold && own.eq_ignore_ascii_case(other)) {
                break;
            }
            (a, b) = (&a[end..], &b[end..]);
        }
        if self.order() == Order::Words {
            let same = a.len() <= PIECE && a == b;
            if same {
                return Ok(Ordering::Equal);
            }
            return words::compare_or_stop(self, whole_a, whole_b, &mut look);
        }
        let (mut a, mut b) = (a.chars(), b.chars());
        for count in 1.. {
            if count % PIECE == 0 {
                look()?;
            }
            let (own, other) = match (a.next(), b.next()) {
                (None, None) => break,
                (own, other) => (own.map(|c| self.weight(c)), other.map(|c| self.weight(c))),
            };
            // What has ended comes first.
            if own != other {
                return Ok(own.cmp(&other));
            }
        }
        Ok(Ordering::Equal)
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
        let text = without_blanks(text);
        out.reserve(text.len() + 1);
        match self.order() {
            Order::CiAs => dictionary::key(text, true, out),
            Order::CsAs => dictionary::key(text, false, out),
            // UTF-8 keeps code point order; bytes move up to leave 0 to the terminator and 1 to the
            // blank.
            Order::Binary => out.extend(text.bytes().map(|b| match b {
                b' ' => 1,
                0..b' ' => b + 2,
                _ => b + 1,
            })),
            Order::Words => words::key(self, text, out),
        }
        out.push(TERMINATOR);
    }

    /// Bytes of a text's [`sort_key`](Self::sort_key) at the beginning of others; `None`: it does
    /// not end.
    pub fn key_length(self, mut key: impl Iterator<Item = u8>) -> Option<usize> {
        match self.order() {
            Order::CiAs => dictionary::key_length(&mut key, true),
            Order::CsAs => dictionary::key_length(&mut key, false),
            // No byte but the last one is 0.
            Order::Binary | Order::Words => {
                key.position(|byte| byte == TERMINATOR).map(|at| at + 1)
            }
        }
    }

    /// A hash of what `compare` looks at.
    pub fn hash(self, text: &str) -> u64 {
        // FNV-1a over the weights: short strings, no state to set up.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |n: u64| hash = (hash ^ n).wrapping_mul(0x0000_0100_0000_01b3);
        let text = without_blanks(text);
        if self.order() == Order::Words {
            let mut key = Vec::with_capacity(2 * text.len());
            words::key(self, text, &mut key);
            key.iter().for_each(|byte| add(u64::from(*byte)));
        } else {
            text.chars().for_each(|c| add(u64::from(self.weight(c))));
        }
        hash ^ (hash >> 29)
    }

    /// Whether two characters are the same to this collation.
    pub fn same_char(self, a: char, b: char) -> bool {
        a == b || self.compare_chars(a, b).is_eq()
    }

    /// The order of two characters, for LIKE's ranges.
    pub(crate) fn compare_chars(self, a: char, b: char) -> Ordering {
        match self.order() {
            Order::Words => words::compare_chars(self, a, b),
            _ => self.weight(a).cmp(&self.weight(b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Keys of long texts are made in parts: the same as those of short ones, one behind the
        /// other.
        #[test]
        fn keys_of_long_texts_are_those_of_their_parts(text in "[a-cchéßäÅ\u{30A} '-]{1,12}") {
            for name in ["Czech_CI_AS", "Danish_Norwegian_CS_AS", "French_CI_AI", "Hungarian_CS_AS"] {
                let collation = Collation::from_name(name).unwrap();
                // Blanks part what could be one letter.
                let part = format!(" {text} ");
                let count = 5000 / part.chars().count() + 1;
                let first_level = |text: &str| {
                    let mut key = Vec::new();
                    words::key(collation, text, &mut key);
                    key.split(|byte| *byte == 1).next().unwrap_or_default().to_vec()
                };
                prop_assert_eq!(first_level(&part.repeat(count)), first_level(&part).repeat(count), "{}", name);
            }
        }

        /// The short ways of `compare` beside the weights of all characters.
        #[test]
        fn texts_are_in_the_order_of_their_weights(a in "[aAbBzéÉß€ x]{0,5}[ ]{0,2}", b in "[aAbBzéÉß€ x]{0,5}[ ]{0,2}") {
            let names = ["SQL_Latin1_General_CP1_CI_AS", "SQL_Latin1_General_CP1_CS_AS", "Latin1_General_BIN2"];
            for name in names {
                let collation = Collation::from_name(name).unwrap();
                let by_weight = collation.compare_by_weight(a.trim_end_matches(' '), b.trim_end_matches(' '));
                prop_assert_eq!(collation.compare(&a, &b), by_weight, "{}", name);
                // The same at the end of long texts, and around the places where they are cut.
                let long = |text: &str| format!("{}{text}{text}", "xé".repeat(43_690));
                let (a, b) = (long(&a), long(&b));
                let never = || Ok::<(), std::convert::Infallible>(());
                prop_assert_eq!(collation.compare_or_stop(&a, &b, never), Ok(collation.compare(&a, &b)), "{}", name);
            }
        }
    }
}

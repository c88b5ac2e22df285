//! Code pages, in which char and varchar are stored: 1252, which is the default's and has functions
//! of its own, UTF-8, and the other Windows pages. Guarantees: every byte of code page 1252 decodes
//! to a character and that character encodes to the same byte; any bytes decode (what is no
//! character becomes U+FFFD). A character that a page lacks becomes the one that Windows takes for
//! it, or a '?' for each of its units; a lone half of one is U+FFFD in UTF-8, which has no other
//! way for it.

mod bestfit;

use compact_str::CompactString;
use encoding_rs::Encoding;

pub use crate::units::utf16_len;
use crate::units::{self, is_ascii, unit_len};
use bestfit::best_fit;

/// How the bytes of char and varchar become characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodePage {
    /// 1252.
    Latin,
    /// 65001.
    Utf8,
    /// Another Windows page: its number, and the same page to the web.
    Listed(u16, &'static Encoding),
}

impl CodePage {
    /// The page of a number; 1252 for one that is not known.
    pub fn of_number(number: u16) -> CodePage {
        CodePage::Listed(
            number,
            match number {
                65001 => return CodePage::Utf8,
                874 => encoding_rs::WINDOWS_874,
                932 => encoding_rs::SHIFT_JIS,
                936 => encoding_rs::GBK,
                949 => encoding_rs::EUC_KR,
                950 => encoding_rs::BIG5,
                1250 => encoding_rs::WINDOWS_1250,
                1251 => encoding_rs::WINDOWS_1251,
                1253 => encoding_rs::WINDOWS_1253,
                1254 => encoding_rs::WINDOWS_1254,
                1255 => encoding_rs::WINDOWS_1255,
                1256 => encoding_rs::WINDOWS_1256,
                1257 => encoding_rs::WINDOWS_1257,
                1258 => encoding_rs::WINDOWS_1258,
                _ => return CodePage::Latin,
            },
        )
    }

    /// Windows' number.
    pub fn number(self) -> u16 {
        match self {
            CodePage::Latin => 1252,
            CodePage::Utf8 => 65001,
            CodePage::Listed(number, _) => number,
        }
    }

    /// Appends a text's bytes.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) {
        match self {
            CodePage::Latin => encode(text, out),
            CodePage::Utf8 => out.extend_from_slice(units::plain(text).as_bytes()),
            CodePage::Listed(..) if is_ascii(text.as_bytes()) => {
                out.extend_from_slice(text.as_bytes())
            }
            CodePage::Listed(number, encoding) => {
                let (bytes, _, missing) = encoding.encode(text);
                if !missing {
                    out.extend_from_slice(&bytes);
                    return;
                }
                for c in text.chars() {
                    match fitting(c, number, encoding) {
                        Some(fit) => {
                            out.extend_from_slice(&encoding.encode(fit.encode_utf8(&mut [0; 4])).0)
                        }
                        None => out.extend(std::iter::repeat_n(b'?', unit_len(c))),
                    }
                }
            }
        }
    }

    /// The text of bytes.
    pub fn decode(self, bytes: &[u8]) -> CompactString {
        if let (true, Ok(text)) = (is_ascii(bytes), std::str::from_utf8(bytes)) {
            return text.into();
        }
        match self {
            CodePage::Latin => bytes.iter().map(|&b| decode_byte(b)).collect(),
            CodePage::Utf8 => units::held(&String::from_utf8_lossy(bytes)).into(),
            CodePage::Listed(_, encoding) => encoding.decode_without_bom_handling(bytes).0.into(),
        }
    }

    /// Bytes of a character, or of what stands for it.
    pub(crate) fn char_len(self, c: char) -> usize {
        match self {
            // What it lacks is one byte, or a '?' for each unit.
            CodePage::Latin => unit_len(c),
            // A half is left only beside the other one: together they are four bytes.
            CodePage::Utf8 if units::lone(c).is_some() => 2,
            CodePage::Utf8 => c.len_utf8(),
            CodePage::Listed(..) if c.is_ascii() => 1,
            CodePage::Listed(number, encoding) => match encoding.encode(c.encode_utf8(&mut [0; 4]))
            {
                (bytes, _, false) => bytes.len(),
                _ => match fitting(c, number, encoding) {
                    Some(fit) => encoding.encode(fit.encode_utf8(&mut [0; 4])).0.len(),
                    None => unit_len(c),
                },
            },
        }
    }

    /// Bytes that the text takes.
    pub fn encoded_len(self, text: &str) -> usize {
        match self {
            _ if is_ascii(text.as_bytes()) => text.len(),
            CodePage::Utf8 => units::plain(text).len(),
            _ => text.chars().map(|c| self.char_len(c)).sum(),
        }
    }

    /// The text after a round trip through the page: `None` when nothing changes.
    pub fn replaced(self, text: &str) -> Option<String> {
        match self {
            CodePage::Latin => replaced(text),
            CodePage::Utf8 => {
                units::first_unpaired(text)?;
                Some(units::held(&units::plain(text)).into_owned())
            }
            CodePage::Listed(..) if is_ascii(text.as_bytes()) => None,
            CodePage::Listed(number, encoding) => {
                if let (_, _, false) = encoding.encode(text) {
                    return None;
                }
                let mut out = String::with_capacity(text.len());
                text.chars().for_each(|c| push_fitting(c, fitting(c, number, encoding), &mut out));
                Some(out)
            }
        }
    }
}

/// What stands for a character in a page: itself, the one that is most like it, or nothing.
fn fitting(c: char, number: u16, encoding: &'static Encoding) -> Option<char> {
    let has = |c: &char| !encoding.encode(c.encode_utf8(&mut [0; 4])).2;
    Some(c).filter(has).or_else(|| best_fit(number, c).filter(has))
}

/// Appends what stands for a character, a '?' for each of its units where nothing does.
fn push_fitting(c: char, fit: Option<char>, out: &mut String) {
    match fit {
        Some(fit) => out.push(fit),
        None => out.extend(std::iter::repeat_n('?', unit_len(c))),
    }
}

/// Characters of bytes 0x80..=0x9F; the five unassigned bytes stand for the C1 control of the same
/// number.
const HIGH: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2C6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}', '\u{17E}', '\u{178}',
];

/// The byte of a character in code page 1252, if it has one.
#[inline]
pub fn encode_char(c: char) -> Option<u8> {
    match u32::from(c) {
        code @ (0..=0x7F | 0xA0..=0xFF) => Some(code as u8),
        _ => HIGH.iter().position(|&h| h == c).map(|i| 0x80 + i as u8),
    }
}

/// The byte that stands for a character in code page 1252: its own, or that of the one most like
/// it.
#[inline]
pub(crate) fn fitting_byte(c: char) -> Option<u8> {
    encode_char(c).or_else(|| best_fit(1252, c).and_then(encode_char))
}

/// The character of a byte.
#[inline]
pub fn decode_byte(byte: u8) -> char {
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// Appends a text's bytes in code page 1252.
pub fn encode(text: &str, out: &mut Vec<u8>) {
    if is_ascii(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    // No character takes more bytes than it has in UTF-8.
    out.reserve(text.len());
    for c in text.chars() {
        match fitting_byte(c) {
            Some(byte) => out.push(byte),
            None => out.extend(std::iter::repeat_n(b'?', unit_len(c))),
        }
    }
}

/// The text after a round trip through code page 1252: `None` when nothing changes.
pub fn replaced(text: &str) -> Option<String> {
    if is_ascii(text.as_bytes()) || text.chars().all(|c| encode_char(c).is_some()) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_fitting(c, fitting_byte(c).map(decode_byte), &mut out));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(page: u16, text: &str, back: &str) {
        let page = CodePage::of_number(page);
        let mut bytes = Vec::new();
        page.encode(text, &mut bytes);
        assert_eq!(page.decode(&bytes), back, "{page:?} {text}");
        assert_eq!(page.encoded_len(text), bytes.len(), "{page:?} {text}");
        assert_eq!(page.replaced(text).unwrap_or_else(|| text.to_owned()), back, "{page:?} {text}");
    }

    #[test]
    fn what_a_page_lacks_becomes_what_is_most_like_it() {
        check(1252, "Łódź dziś Ā Ž€", "Lódz dzis A Ž€");
        check(1252, "∞Σ−\u{2003}Ｆｕｌｌ！", "8S- Full!");
        check(1252, "漢 я 🙂", "? ? ??");
        check(1250, "¡Õ я ł∅", "!O ? łŘ");
        check(1251, "Łódź é я №", "Lodz e я №");
        check(1253, "é λ Ａ", "e λ A");
        check(1254, "ł ş", "l ş");
        check(1256, "ﻻ ﺏ é", "? ب é");
        check(1257, "ł Ａ я", "ł A ?");
        check(932, "é ł 日本", "e ? 日本");
        check(936, "㊀ é", "一 é");
        check(949, "Ａ ᄀ é", "Ａ ㄱ e");
        check(950, "ª é", "a e");
    }

    #[test]
    fn halves_have_no_place_in_a_page() {
        let half = "a\u{10F83D}b";
        check(1252, half, "a?b");
        check(1250, half, "a?b");
        check(932, half, "a?b");
        check(65001, half, "a\u{FFFD}b");
        // The two halves of a character that is held as such.
        check(65001, "\u{10FBFF}\u{10FFFF}\u{10F83D}", "\u{10FBFF}\u{10FFFF}\u{FFFD}");
        check(1252, "\u{10FBFF}\u{10FFFF}", "??");
    }

    #[test]
    fn no_stand_in_is_the_character_itself() {
        for page in [874, 932, 936, 949, 950, 1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258]
        {
            let all = ('\u{80}'..='\u{FFFF}').filter_map(|c| Some((c, best_fit(page, c)?)));
            assert!(all.clone().all(|(c, fit)| c != fit), "{page}");
            assert!(all.count() >= 80, "{page}");
        }
    }
}

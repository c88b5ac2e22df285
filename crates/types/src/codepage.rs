//! Code pages, in which char and varchar are stored: 1252, which is the default's and has functions of its own, UTF-8, and the other
//! Windows pages. Guarantees: every byte of code page 1252 decodes to a character and that character encodes to the same byte; any bytes
//! decode (what is no character becomes U+FFFD); characters that a page lacks become '?'.

use compact_str::CompactString;
use encoding_rs::Encoding;

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
            CodePage::Utf8 => out.extend_from_slice(text.as_bytes()),
            CodePage::Listed(..) if is_ascii(text.as_bytes()) => out.extend_from_slice(text.as_bytes()),
            CodePage::Listed(_, encoding) => {
                let (bytes, _, missing) = encoding.encode(text);
                if !missing {
                    out.extend_from_slice(&bytes);
                    return;
                }
                let mut one = [0u8; 4];
                for c in text.chars() {
                    match encoding.encode(c.encode_utf8(&mut one)) {
                        (bytes, _, false) => out.extend_from_slice(&bytes),
                        _ => out.push(b'?'),
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
            CodePage::Utf8 => String::from_utf8_lossy(bytes).into(),
            CodePage::Listed(_, encoding) => encoding.decode_without_bom_handling(bytes).0.into(),
        }
    }

    /// Bytes of a character; those of '?' where it has none.
    pub fn char_len(self, c: char) -> usize {
        match self {
            CodePage::Latin => 1,
            CodePage::Utf8 => c.len_utf8(),
            CodePage::Listed(..) if c.is_ascii() => 1,
            CodePage::Listed(_, encoding) => match encoding.encode(c.encode_utf8(&mut [0; 4])) {
                (bytes, _, false) => bytes.len(),
                _ => 1,
            },
        }
    }

    /// Bytes that the text takes.
    pub fn encoded_len(self, text: &str) -> usize {
        if is_ascii(text.as_bytes()) { text.len() } else { text.chars().map(|c| self.char_len(c)).sum() }
    }

    /// The text after a round trip through the page: `None` when nothing changes.
    pub fn replaced(self, text: &str) -> Option<String> {
        match self {
            CodePage::Latin => replaced(text),
            CodePage::Utf8 => None,
            CodePage::Listed(..) if is_ascii(text.as_bytes()) => None,
            CodePage::Listed(_, encoding) => {
                if let (_, _, false) = encoding.encode(text) {
                    return None;
                }
                let has = |c: char| !encoding.encode(c.encode_utf8(&mut [0; 4])).2;
                Some(text.chars().map(|c| if has(c) { c } else { '?' }).collect())
            }
        }
    }
}

/// Characters of bytes 0x80..=0x9F; the five unassigned bytes stand for the C1 control of the same number.
const HIGH: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2C6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2DC}', '\u{2122}', '\u{161}',
    '\u{203A}', '\u{153}', '\u{9D}', '\u{17E}', '\u{178}',
];

/// The byte of a character in code page 1252, if it has one.
#[inline]
pub fn encode_char(c: char) -> Option<u8> {
    match u32::from(c) {
        code @ (0..=0x7F | 0xA0..=0xFF) => Some(code as u8),
        _ => HIGH.iter().position(|&h| h == c).map(|i| 0x80 + i as u8),
    }
}

/// The character of a byte.
#[inline]
pub fn decode_byte(byte: u8) -> char {
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// Appends a text's bytes in code page 1252, '?' for what it lacks.
pub fn encode(text: &str, out: &mut Vec<u8>) {
    if is_ascii(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        out.extend(text.chars().map(|c| encode_char(c).unwrap_or(b'?')));
    }
}

/// The text after a round trip through code page 1252: `None` when nothing changes.
pub fn replaced(text: &str) -> Option<String> {
    if is_ascii(text.as_bytes()) || text.chars().all(|c| encode_char(c).is_some()) {
        return None;
    }
    Some(text.chars().map(|c| if encode_char(c).is_some() { c } else { '?' }).collect())
}

/// Whether all bytes are ASCII; eight at a time also for short texts, where the standard check goes byte by byte.
#[inline]
pub fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    match bytes.last_chunk::<8>() {
        Some(last) => {
            let (chunks, _) = bytes.as_chunks::<8>();
            let all = chunks.iter().fold(u64::from_le_bytes(*last), |all, c| all | u64::from_le_bytes(*c));
            all & HIGH_BITS == 0
        }
        None => bytes.iter().fold(0, |all, b| all | b) < 0x80,
    }
}

/// UTF-16 units of a text.
pub fn utf16_len(text: &str) -> usize {
    if is_ascii(text.as_bytes()) { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

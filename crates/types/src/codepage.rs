//! Code page 1252, in which char and varchar are stored. Guarantees: every byte decodes to a character and that
//! character encodes to the same byte; characters without a byte become '?'.

/// Characters of bytes 0x80..=0x9F; the five unassigned bytes stand for the C1 control of the same number.
const HIGH: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2C6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2DC}', '\u{2122}', '\u{161}',
    '\u{203A}', '\u{153}', '\u{9D}', '\u{17E}', '\u{178}',
];

/// The byte of a character, if it has one.
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

/// Appends a text's bytes, '?' for what the code page lacks.
pub fn encode(text: &str, out: &mut Vec<u8>) {
    if is_ascii(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        out.extend(text.chars().map(|c| encode_char(c).unwrap_or(b'?')));
    }
}

/// The text after a round trip through the code page: `None` when nothing changes.
pub fn replaced(text: &str) -> Option<String> {
    if is_ascii(text.as_bytes()) || text.chars().all(|c| encode_char(c).is_some()) {
        return None;
    }
    Some(text.chars().map(|c| if encode_char(c).is_some() { c } else { '?' }).collect())
}

/// Bytes that the text takes in this code page.
pub fn encoded_len(text: &str) -> usize {
    if is_ascii(text.as_bytes()) { text.len() } else { text.chars().count() }
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

//! Text on the wire: UTF-16LE, and char/varchar in the code page of their collation. Guarantees:
//! any bytes decode (in a code page what is no character becomes U+FFFD), any text encodes ('?' for
//! what a code page lacks). Texts are as `types::units` holds them: every unit of UTF-16 comes and
//! goes as it is.

use std::fmt;

use types::{CodePage, Collation, units};

use crate::error::TdsError;

/// A collation as the protocol says it: locale, comparison flags and version in 32 bits, and the
/// sort id of an old SQL collation. All zeros ask for the database's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct WireCollation(pub [u8; 5]);

impl From<Collation> for WireCollation {
    fn from(collation: Collation) -> WireCollation {
        WireCollation(collation.wire_bytes())
    }
}

impl WireCollation {
    /// All zeros: whatever the database uses.
    pub const DATABASE: WireCollation = WireCollation([0; 5]);

    fn info(self) -> u32 {
        let WireCollation([a, b, c, d, _]) = self;
        u32::from_le_bytes([a, b, c, d])
    }

    /// The locale of a Windows collation: the low 20 bits.
    pub fn lcid(self) -> u32 {
        self.info() & 0x000F_FFFF
    }

    /// Whether char and varchar are UTF-8.
    pub(crate) fn is_utf8(self) -> bool {
        self.info() & 0x0400_0000 != 0
    }

    /// The collation of Ringwood with the same bytes, if it has one; `DATABASE` is the default.
    pub fn known(self) -> Option<Collation> {
        if self == WireCollation::DATABASE {
            return Some(Collation::DEFAULT);
        }
        Collation::from_wire(self.0)
    }

    /// The code page of char and varchar. `Unsupported` for the DOS code pages 437 and 850.
    pub(crate) fn code_page(self) -> Result<CodePage, TdsError> {
        if self.is_utf8() {
            return Ok(CodePage::Utf8);
        }
        let page = match self.0[4] {
            0 => page_of_locale(self.lcid()),
            sort_id => page_of_sort_id(sort_id),
        };
        match page {
            437 => Err(TdsError::Unsupported("code page 437")),
            850 => Err(TdsError::Unsupported("code page 850")),
            page => Ok(CodePage::of_number(page)),
        }
    }
}

/// The ANSI code page of a Windows locale.
fn page_of_locale(lcid: u32) -> u16 {
    match lcid & 0xFFFF {
        0x0C1A | 0x1C1A | 0x082C | 0x0843 => return 1251,
        0x0404 | 0x0C04 | 0x1404 => return 950,
        _ => {}
    }
    match lcid & 0x3FF {
        0x04 => 936,
        0x11 => 932,
        0x12 => 949,
        0x1E => 874,
        0x05 | 0x0E | 0x15 | 0x18 | 0x1A | 0x1B | 0x1C | 0x24 => 1250,
        0x02 | 0x19 | 0x22 | 0x23 | 0x2F | 0x3F | 0x40 | 0x44 | 0x50 => 1251,
        0x08 => 1253,
        0x1F | 0x2C | 0x43 => 1254,
        0x0D => 1255,
        0x01 | 0x20 | 0x29 => 1256,
        0x25..=0x27 => 1257,
        0x2A => 1258,
        _ => 1252,
    }
}

/// The code page of an SQL collation's sort order.
fn page_of_sort_id(sort_id: u8) -> u16 {
    match sort_id {
        30..=35 => 437,
        40..=44 | 49 | 55..=61 => 850,
        80..=98 => 1250,
        104..=108 => 1251,
        112..=114 | 120 | 121 | 124 => 1253,
        128..=130 => 1254,
        136..=138 => 1255,
        144..=146 => 1256,
        152..=160 => 1257,
        192 | 193 | 200 => 932,
        194 | 195 | 201 => 949,
        196 | 197 | 202 => 950,
        198 | 199 | 203 => 936,
        204..=206 => 874,
        _ => 1252,
    }
}

/// Appends a text as UTF-16LE.
#[inline]
pub fn push_utf16(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    // A text never has more UTF-16 units than UTF-8 bytes.
    out.resize(start + 2 * text.len(), 0);
    let (pairs, _) = out[start..].as_chunks_mut::<2>();
    if units::is_ascii(text.as_bytes()) {
        for (pair, byte) in pairs.iter_mut().zip(text.bytes()) {
            pair[0] = byte;
        }
    } else {
        let mut count = 0;
        for (pair, unit) in pairs.iter_mut().zip(units::units(text)) {
            *pair = unit.to_le_bytes();
            count += 1;
        }
        out.truncate(start + 2 * count);
    }
}

/// The text of UTF-16LE bytes; an odd last byte becomes U+FFFD.
pub fn from_utf16(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() / 2);
    read_utf16(bytes, &mut text);
    text
}

/// Appends the text of UTF-16LE bytes to a string, which cannot fail.
pub(crate) fn read_utf16(bytes: &[u8], text: &mut impl fmt::Write) {
    let (whole, odd) = bytes.as_chunks::<2>();
    units::push_le(whole, text);
    if !odd.is_empty() {
        let _ = text.write_char(char::REPLACEMENT_CHARACTER);
    }
}

/// The first `most` UTF-16 units of a text, without cutting a character.
pub(crate) fn first_utf16(text: &str, most: usize) -> &str {
    if text.len() <= most { text } else { &text[..units::place(text, most).byte] }
}

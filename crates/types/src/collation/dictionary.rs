//! The order of SQL_Latin1_General_CP1: one weight for every character. The blank has the lowest,
//! then come symbols, digits and letters; an accented letter follows its base letter directly.
//! Characters outside code page 1252 follow all of it in code point order. Guarantee: the memcmp
//! order of keys is the order of the weights, and no weight is 0.

use super::TERMINATOR;
use crate::codepage;
use crate::units;

/// First byte of the weight of a character outside code page 1252; no single-byte weight reaches
/// it.
const WIDE: u8 = 0xFE;

#[inline]
pub(super) fn equal_ascii(x: u8, y: u8) -> bool {
    x < 0x80 && y < 0x80 && WEIGHTS[usize::from(x)] == WEIGHTS[usize::from(y)]
}

/// Four bytes, of which the sort key takes as many as it needs: the letter, then its case, or the
/// mark of a wide character and its code point.
#[inline]
pub(super) fn weight(c: char, fold: bool) -> u32 {
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

pub(super) fn key(text: &str, fold: bool, out: &mut Vec<u8>) {
    if fold && units::is_ascii(text.as_bytes()) {
        out.extend(text.bytes().map(|b| WEIGHTS[usize::from(b)]));
        return;
    }
    for c in text.chars() {
        let bytes = weight(c, fold).to_be_bytes();
        let length = if bytes[0] == WIDE { 4 } else { 1 + usize::from(!fold) };
        out.extend_from_slice(&bytes[..length]);
    }
}

/// Bytes of a text's key at the beginning of others, with its terminator; `None`: it does not end.
pub(super) fn key_length(key: &mut impl Iterator<Item = u8>, fold: bool) -> Option<usize> {
    let mut length = 0;
    loop {
        let first = key.next()?;
        length += 1;
        if first == TERMINATOR {
            return Some(length);
        }
        let further = if first == WIDE { 3 } else { usize::from(!fold) };
        for _ in 0..further {
            key.next()?;
        }
        length += further;
    }
}

/// Letters of code page 1252 in dictionary order: each group is one letter in its cases, lower case
/// first.
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

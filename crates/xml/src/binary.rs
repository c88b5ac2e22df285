//! Bytes as texts: base64 and hexadecimal digits, as xs:base64Binary and xs:hexBinary write them.
//! Guarantee: a text that is neither gives no bytes.

use crate::read::is_space;

/// How bytes are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    Base64,
    Hex,
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const HEX: &[u8; 16] = b"0123456789ABCDEF";

impl Encoding {
    /// The text of bytes.
    pub(crate) fn encode(self, bytes: &[u8]) -> String {
        let digit = |digits: &[u8], at: u32| char::from(digits[at as usize % digits.len()]);
        match self {
            Encoding::Hex => {
                let halves =
                    bytes.iter().flat_map(|byte| [u32::from(byte >> 4), u32::from(byte & 15)]);
                halves.map(|half| digit(HEX, half)).collect()
            }
            Encoding::Base64 => {
                let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
                for group in bytes.chunks(3) {
                    let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
                    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
                    let digits = [18, 12, 6, 0].map(|shift| digit(BASE64, bits >> shift & 63));
                    out.extend(digits.iter().take(group.len() + 1));
                    out.extend(std::iter::repeat_n('=', 3 - group.len()));
                }
                out
            }
        }
    }

    /// The bytes of a text; none where it is no such text. White space does not count.
    pub(crate) fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Encoding::Base64 => from_base64(text),
            Encoding::Hex => {
                let pairs = text.trim_matches(is_space).as_bytes().chunks(2);
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let byte = |pair: &[u8]| match pair {
                    [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
                    _ => None,
                };
                pairs.map(byte).collect()
            }
        }
    }
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0);
    let (mut signs, mut fill) = (0usize, 0);
    for byte in text.bytes().filter(|byte| !is_space(char::from(*byte))) {
        signs += 1;
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                fill += 1;
                continue;
            }
            _ => return None,
        };
        if fill > 0 {
            return None;
        }
        bits = bits << 6 | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held & 0xFF) as u8);
        }
    }
    (signs % 4 == 0 && fill <= 2).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_bytes_lead_to_one_another() {
        let bytes: Vec<u8> = (0..=255).collect();
        for encoding in [Encoding::Base64, Encoding::Hex] {
            for len in 0..bytes.len() {
                let text = encoding.encode(&bytes[..len]);
                assert_eq!(encoding.decode(&text).as_deref(), Some(&bytes[..len]), "{text}");
            }
        }
        assert_eq!(Encoding::Base64.encode(b"TestData"), "VGVzdERhdGE=");
        assert_eq!(Encoding::Hex.encode(&[0x0a, 0xff]), "0AFF");
        assert_eq!(Encoding::Base64.decode(" VGVz\ndERh dGE= ").as_deref(), Some(&b"TestData"[..]));
        assert_eq!(Encoding::Hex.decode(" 0aFf ").as_deref(), Some(&[0x0a, 0xff][..]));
    }

    #[test]
    fn texts_that_are_no_bytes() {
        for text in ["A", "AB", "ABC", "A===", "====", "AB=C", "AB==AB==", "AB-_", "ÄÄ"] {
            assert_eq!(Encoding::Base64.decode(text), None, "{text}");
        }
        for text in ["0", "0x00", "0g", "0 1 ", "+1"] {
            assert_eq!(Encoding::Hex.decode(text), None, "{text}");
        }
    }
}

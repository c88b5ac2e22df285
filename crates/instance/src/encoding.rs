//! Text files in any code page as UTF-8: what BULK INSERT and `ringwood import` read. Guarantees: a
//! byte order mark decides and is not part of the text; what the encoding does not have becomes a
//! byte that UTF-8 does not have ([`INVALID`]), so that the reader of a field can say which: it
//! never becomes another character.

use encoding_rs::{DecoderResult, Encoding as Table};
use std::io::{self, Read};

/// Stands for what could not be decoded; no UTF-8 text holds it.
pub const INVALID: u8 = 0xff;

/// Bytes that are decoded at a time.
const CHUNK: usize = 64 << 10;

/// Code page 437, bytes 0x80 to 0xFF.
const OEM_437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
/// Code page 850, likewise.
const OEM_850: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";

/// How a file's bytes stand for characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoding {
    /// UTF-8; checked by the reader of the text.
    Utf8,
    /// An encoding of the WHATWG's list: the windows-125x code pages, the East Asian ones, UTF-16.
    Listed(&'static Table),
    /// One of the code pages of MS-DOS: characters of bytes 0x80 to 0xFF.
    Dos(&'static str),
}

impl Encoding {
    /// UTF-16, low byte first.
    pub const UTF16: Encoding = Encoding::Listed(encoding_rs::UTF_16LE);
    /// Code page 1252.
    pub const LATIN: Encoding = Encoding::Listed(encoding_rs::WINDOWS_1252);

    /// The encoding of a code page as T-SQL and sqlcmd name it: a number, `ACP` and `RAW` (1252, in
    /// which char and varchar are stored), `OEM` (437). None when there is no such page here.
    pub fn of_code_page(name: &str) -> Option<Encoding> {
        let label = match name.trim().to_ascii_uppercase().as_str() {
            "ACP" | "RAW" | "1252" => return Some(Encoding::LATIN),
            "65001" => return Some(Encoding::Utf8),
            "OEM" | "437" => return Some(Encoding::Dos(OEM_437)),
            "850" => return Some(Encoding::Dos(OEM_850)),
            "1200" => return Some(Encoding::UTF16),
            "1201" => return Some(Encoding::Listed(encoding_rs::UTF_16BE)),
            "932" => "shift_jis".to_string(),
            "936" => "gbk".into(),
            "949" => "euc-kr".into(),
            "950" => "big5".into(),
            "54936" => "gb18030".into(),
            "20932" | "51932" => "euc-jp".into(),
            "50220" => "iso-2022-jp".into(),
            "10000" => "macintosh".into(),
            "10007" => "x-mac-cyrillic".into(),
            "866" => "ibm866".into(),
            "874" => "windows-874".into(),
            "20866" => "koi8-r".into(),
            "21866" => "koi8-u".into(),
            // Its bytes 0x80 to 0x9F are controls, not what windows-1252 has there.
            "28591" | "20127" => return None,
            page => match page.parse::<u32>() {
                Ok(page @ 1250..=1258) => format!("windows-{page}"),
                Ok(page @ 28592..=28606) => format!("iso-8859-{}", page - 28590),
                _ => return None,
            },
        };
        Table::for_label(label.as_bytes()).map(Encoding::Listed)
    }

    /// Bytes of a terminator as the decoded text has them.
    pub fn decode(self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        // Reading from memory does not fail.
        let _ = Decoded::without_mark(bytes, self).read_to_end(&mut out);
        out
    }
}

/// A file as UTF-8.
pub struct Decoded<R: Read> {
    input: R,
    encoding: Encoding,
    decoder: Option<encoding_rs::Decoder>,
    /// Bytes read and not yet decoded: `raw[at..]`.
    raw: Vec<u8>,
    at: usize,
    /// Decoded and not yet given out: `text[given..]`.
    text: Vec<u8>,
    given: usize,
    /// The input has ended.
    ended: bool,
    /// The first bytes may be a mark.
    at_mark: bool,
}

impl<R: Read> Decoded<R> {
    /// Reads `input`; a byte order mark at its begin wins over `encoding`.
    pub fn new(input: R, encoding: Encoding) -> Decoded<R> {
        Decoded { at_mark: true, ..Decoded::without_mark(input, encoding) }
    }

    fn without_mark(input: R, encoding: Encoding) -> Decoded<R> {
        Decoded {
            input,
            encoding,
            decoder: decoder(encoding),
            raw: Vec::new(),
            at: 0,
            text: Vec::new(),
            given: 0,
            ended: false,
            at_mark: false,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.raw.drain(..self.at);
        self.at = 0;
        let had = self.raw.len();
        self.raw.resize(had + CHUNK, 0);
        let read = loop {
            match self.input.read(&mut self.raw[had..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.raw.truncate(had + read);
        self.ended = read == 0;
        Ok(())
    }

    /// Looks for a byte order mark.
    fn find_mark(&mut self) -> io::Result<()> {
        while self.raw.len() < 3 && !self.ended {
            self.fill()?;
        }
        self.at_mark = false;
        if let Some((table, length)) = Table::for_bom(&self.raw) {
            self.encoding =
                if table == encoding_rs::UTF_8 { Encoding::Utf8 } else { Encoding::Listed(table) };
            self.decoder = decoder(self.encoding);
            self.at = length;
        }
        Ok(())
    }

    /// Decodes more text; none is left when there is none.
    fn refill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.given = 0;
        if self.at_mark {
            self.find_mark()?;
        }
        while self.text.is_empty() {
            if self.at == self.raw.len() && !self.ended {
                self.fill()?;
            }
            let all = self.at == self.raw.len() && self.ended;
            self.decode_some();
            if all {
                break;
            }
        }
        Ok(())
    }

    fn decode_some(&mut self) {
        let raw = &self.raw[self.at..];
        let Some(decoder) = &mut self.decoder else {
            match self.encoding {
                Encoding::Dos(table) => {
                    let high: Vec<char> = table.chars().collect();
                    for &byte in raw {
                        let c = if byte < 0x80 {
                            char::from(byte)
                        } else {
                            high[usize::from(byte) - 0x80]
                        };
                        self.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                }
                _ => self.text.extend_from_slice(raw),
            }
            self.at = self.raw.len();
            return;
        };
        let room =
            decoder.max_utf8_buffer_length_without_replacement(raw.len()).unwrap_or(raw.len() * 3);
        self.text.resize(room + 16, 0);
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(raw, &mut self.text, self.ended);
        self.text.truncate(written);
        self.at += read;
        if let DecoderResult::Malformed(..) = result {
            self.text.push(INVALID);
        } else if self.ended && read == raw.len() {
            // The decoder has seen the last byte; it must not be asked again.
            self.decoder = None;
            self.encoding = Encoding::Utf8;
        }
    }
}

fn decoder(encoding: Encoding) -> Option<encoding_rs::Decoder> {
    match encoding {
        Encoding::Listed(table) => Some(table.new_decoder_without_bom_handling()),
        Encoding::Utf8 | Encoding::Dos(_) => None,
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            self.refill()?;
        }
        let n = out.len().min(self.text.len() - self.given);
        out[..n].copy_from_slice(&self.text[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, so that characters are cut.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(out.len()).min(1);
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[track_caller]
    fn check(bytes: &[u8], encoding: Encoding, expected: &[u8]) {
        let mut out = Vec::new();
        Decoded::new(bytes, encoding).read_to_end(&mut out).unwrap();
        assert_eq!(out, expected);
        out.clear();
        Decoded::new(Slow(bytes), encoding).read_to_end(&mut out).unwrap();
        assert_eq!(out, expected, "byte by byte");
    }

    #[test]
    fn marks_decide() {
        check(b"\xef\xbb\xbfa\xc3\xa4", Encoding::LATIN, "aä".as_bytes());
        check(b"\xff\xfea\0\xe4\0", Encoding::Utf8, "aä".as_bytes());
        check(b"\xfe\xff\0a\0\xe4", Encoding::UTF16, "aä".as_bytes());
        check(b"\xef\xbb", Encoding::Utf8, b"\xef\xbb");
        check(b"", Encoding::UTF16, b"");
        check(b"\xef\xbb\xbf", Encoding::Utf8, b"");
    }

    #[test]
    fn code_pages() {
        let page = |name: &str| Encoding::of_code_page(name).unwrap();
        check(b"Z\xfcrich \x80", page("acp"), "Zürich €".as_bytes());
        check(b"Z\x81rich", page("OEM"), "Zürich".as_bytes());
        check(b"\xb5\xb6", page("850"), "ÁÂ".as_bytes());
        check(b"\x93\xfa\x96{", page("932"), "日本".as_bytes());
        check(b"\xc0\xe1", page("1251"), "Аб".as_bytes());
        check(b"\xa4", page("28605"), "€".as_bytes());
        assert_eq!(Encoding::of_code_page("9999"), None);
        assert_eq!(Encoding::of_code_page("x"), None);
        assert_eq!((OEM_437.chars().count(), OEM_850.chars().count()), (128, 128));
    }

    #[test]
    fn what_an_encoding_lacks_stays_to_be_seen() {
        check(b"a\x81 b", Encoding::of_code_page("932").unwrap(), b"a\xff b");
        // A lone surrogate, and half a unit at the end.
        check(b"a\0\0\xd8b\0c", Encoding::UTF16, b"a\xffb\xff");
        check(b"a\xe4b", Encoding::Utf8, b"a\xe4b");
    }
}

//! Lines of scripts: bytes of a file, a pipe or standard input, decoded as they arrive. A mark at
//! the beginning (UTF-8, UTF-16 either way) goes before the code page; bytes that are not text in
//! it are an error with their line, never a replacement character.

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::io::{self, Read};

/// Bytes asked for at a time.
const PIECE: usize = 1 << 16;

/// No encoding has longer characters, in bytes.
const LONGEST: usize = 8;

/// Why there is no next line.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// With the line, the first bytes that do not fit and the name of the encoding.
    #[error(
        "line {line}: the byte{} {bytes} {} not {encoding}; -f gives the code page of scripts, for example -f 1252",
        if .bytes.len() > 4 { "s" } else { "" }, if .bytes.len() > 4 { "are" } else { "is" }
    )]
    Encoding { line: u32, bytes: String, encoding: &'static str },
}

/// Reads lines.
pub struct Lines<R: Read> {
    from: R,
    /// Encoding of what has no mark.
    assumed: &'static Encoding,
    decoder: Option<Decoder>,
    /// Read, not decoded yet.
    bytes: Vec<u8>,
    /// The last bytes that were decoded: the beginning of a character whose rest is wrong.
    recent: Vec<u8>,
    /// Decoded, not given out yet.
    text: String,
    /// Up to here `text` was given out.
    given: usize,
    /// Up to here `text` has no line break that was not given out.
    searched: usize,
    ended: bool,
    /// Lines that were decoded to their end.
    line: u32,
}

impl<R: Read> Lines<R> {
    /// Lines in a Windows code page, which must be known, unless a mark says otherwise.
    pub fn new(from: R, code_page: u16) -> Lines<R> {
        Lines {
            from,
            assumed: codepage::to_encoding(code_page).unwrap_or(UTF_8),
            decoder: None,
            bytes: Vec::new(),
            recent: Vec::new(),
            text: String::new(),
            given: 0,
            searched: 0,
            ended: false,
            line: 0,
        }
    }

    /// The next line without its line break; `None` at the end. It returns as soon as the line is
    /// there, whatever follows.
    pub fn next_line(&mut self) -> Result<Option<String>, InputError> {
        loop {
            if let Some(at) = self.text[self.searched..].find('\n') {
                let end = self.searched + at;
                let line = self.text[self.given..end].trim_end_matches('\r').to_owned();
                (self.given, self.searched) = (end + 1, end + 1);
                return Ok(Some(line));
            }
            self.searched = self.text.len();
            if self.ended {
                let rest = self.text[self.given..].to_owned();
                self.given = self.text.len();
                return Ok((!rest.is_empty()).then_some(rest));
            }
            self.text.drain(..self.given);
            self.searched -= self.given;
            self.given = 0;
            self.read()?;
        }
    }

    /// Reads what there is and decodes it.
    fn read(&mut self) -> Result<(), InputError> {
        let old = self.bytes.len();
        self.bytes.resize(old + PIECE, 0);
        let got = loop {
            match self.from.read(&mut self.bytes[old..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.bytes.truncate(old + got.as_ref().copied().unwrap_or(0));
        self.ended = got? == 0;
        if self.decoder.is_none() && !self.begin() {
            return Ok(());
        }
        self.decode()
    }

    /// Settles the encoding; false while the bytes may still become a mark.
    fn begin(&mut self) -> bool {
        let marks: [(&[u8], &'static Encoding); 3] =
            [(b"\xef\xbb\xbf", UTF_8), (b"\xff\xfe", UTF_16LE), (b"\xfe\xff", UTF_16BE)];
        let mut encoding = self.assumed;
        for (mark, marked) in marks {
            if self.bytes.starts_with(mark) {
                encoding = marked;
                self.bytes.drain(..mark.len());
                break;
            }
            if !self.ended && mark.starts_with(&self.bytes) {
                return false;
            }
        }
        self.decoder = Some(encoding.new_decoder_without_bom_handling());
        true
    }

    fn decode(&mut self) -> Result<(), InputError> {
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        let before = self.text.len();
        let mut done = 0;
        loop {
            let need = decoder.max_utf8_buffer_length_without_replacement(self.bytes.len() - done);
            self.text.reserve(need.unwrap_or(PIECE).max(16));
            let (result, read) = decoder.decode_to_string_without_replacement(
                &self.bytes[done..],
                &mut self.text,
                self.ended,
            );
            done += read;
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(length, after) => {
                    let breaks = self.text[before..].matches('\n').count();
                    let end = done.saturating_sub(after.into());
                    let seen = [&self.recent, &self.bytes[..end]].concat();
                    let wrong = &seen[seen.len().saturating_sub(length.into())..];
                    let bytes: Vec<String> =
                        wrong.iter().map(|byte| format!("0x{byte:02X}")).collect();
                    return Err(InputError::Encoding {
                        line: self.line
                            + u32::try_from(breaks).unwrap_or(u32::MAX).saturating_add(1),
                        bytes: bytes.join(" "),
                        encoding: decoder.encoding().name(),
                    });
                }
            }
        }
        self.recent.extend_from_slice(&self.bytes[self.bytes.len().saturating_sub(LONGEST)..]);
        self.recent.drain(..self.recent.len().saturating_sub(LONGEST));
        self.bytes.clear();
        self.line += u32::try_from(self.text[before..].matches('\n').count()).unwrap_or(u32::MAX);
        Ok(())
    }
}

/// Whether all of a script can be read in a code page: nothing of it runs otherwise.
pub fn check(from: impl Read, code_page: u16) -> Result<(), InputError> {
    let mut lines = Lines::new(from, code_page);
    while !lines.ended {
        lines.text.clear();
        lines.read()?;
    }
    Ok(())
}

/// Writes UTF-8 on in another code page. A character that the page does not have is an error.
pub struct EncodedWriter<W: io::Write> {
    to: W,
    page: u16,
    encoding: &'static Encoding,
    /// The beginning of a character whose rest has not come yet.
    partial: Vec<u8>,
}

/// Code pages of UTF-16.
const UTF_16: [u16; 2] = [1200, 1201];

impl<W: io::Write> EncodedWriter<W> {
    /// Writes to `to` in a Windows code page, which must be known.
    pub fn new(to: W, page: u16) -> EncodedWriter<W> {
        EncodedWriter {
            to,
            page,
            encoding: codepage::to_encoding(page).unwrap_or(UTF_8),
            partial: Vec::new(),
        }
    }

    fn text(&mut self, mut text: &str) -> io::Result<()> {
        if UTF_16.contains(&self.page) {
            let bytes = if self.page == 1200 { u16::to_le_bytes } else { u16::to_be_bytes };
            let out: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
            return self.to.write_all(&out);
        }
        let mut encoder = self.encoding.new_encoder();
        let mut out = Vec::with_capacity(text.len() + 16);
        loop {
            let (result, read) =
                encoder.encode_from_utf8_to_vec_without_replacement(text, &mut out, true);
            text = &text[read..];
            match result {
                encoding_rs::EncoderResult::InputEmpty => return self.to.write_all(&out),
                encoding_rs::EncoderResult::OutputFull => out.reserve(text.len() + 16),
                encoding_rs::EncoderResult::Unmappable(c) => {
                    self.to.write_all(&out)?;
                    let text = format!("'{c}' is not in code page {}", self.page);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
            }
        }
    }
}

impl<W: io::Write> io::Write for EncodedWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.page == super::options::UTF_8 {
            return self.to.write(buf);
        }
        self.partial.extend_from_slice(buf);
        let bytes = std::mem::take(&mut self.partial);
        let whole = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        };
        self.partial = bytes[whole.len()..].to_vec();
        self.text(whole)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(1);
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn all(from: impl Read, page: u16) -> Result<Vec<String>, String> {
        let mut lines = Lines::new(from, page);
        let mut found = Vec::new();
        loop {
            match lines.next_line() {
                Ok(Some(line)) => found.push(line),
                Ok(None) => return Ok(found),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// `Zürich` and `ok` on two lines in many encodings, read at once and byte by byte.
    #[test]
    fn encodings() {
        let utf16 = |mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
            [mark, &"Zürich\r\nok".encode_utf16().flat_map(bytes).collect::<Vec<u8>>()].concat()
        };
        let texts: [(Vec<u8>, u16); 7] = [
            ("Zürich\nok".into(), 65001),
            ("\u{feff}Zürich\nok\n".into(), 1252),
            (utf16(b"\xff\xfe", u16::to_le_bytes), 65001),
            (utf16(b"\xfe\xff", u16::to_be_bytes), 1252),
            (utf16(b"", u16::to_le_bytes), 1200),
            (b"Z\xfcrich\r\nok".to_vec(), 1252),
            (b"Z\xfcrich\nok\n".to_vec(), 28605),
        ];
        for (bytes, page) in texts {
            assert_eq!(all(bytes.as_slice(), page).unwrap(), ["Zürich", "ok"], "{page}");
            assert_eq!(all(Slow(&bytes), page).unwrap(), ["Zürich", "ok"], "{page}");
            assert!(check(bytes.as_slice(), page).is_ok());
        }
        assert_eq!(all(&b""[..], 65001).unwrap(), [""; 0]);
        assert_eq!(all(&b"\n\na"[..], 65001).unwrap(), ["", "", "a"]);
    }

    #[test]
    fn a_wrong_byte_is_told_with_its_line() {
        let expected = "line 3: the byte 0xFC is not UTF-8; -f gives the code page of scripts, for example -f 1252";
        let bytes = b"one\ntwo\nZ\xfcrich\n";
        assert_eq!(all(&bytes[..], 65001).unwrap_err(), expected);
        assert_eq!(all(Slow(bytes), 65001).unwrap_err(), expected);
        assert_eq!(check(&bytes[..], 65001).unwrap_err().to_string(), expected);
        assert!(
            all(&b"a\n\xe2\x82"[..], 65001)
                .unwrap_err()
                .starts_with("line 2: the bytes 0xE2 0x82 are not")
        );
        assert!(all(&b"\xff\xfea\0\n\0b"[..], 65001).unwrap_err().starts_with("line 2"));
        assert!(all(&b"a\x81"[..], 932).is_err());
    }

    #[test]
    fn output_in_other_code_pages() {
        let write = |page, text: &str| {
            let mut out = Vec::new();
            let mut encoded = EncodedWriter::new(&mut out, page);
            // In the middle of a character too.
            let written = text.as_bytes().chunks(1).try_for_each(|byte| encoded.write_all(byte));
            written.map(|()| out).map_err(|e| e.to_string())
        };
        assert_eq!(write(65001, "Zü").unwrap(), "Zü".as_bytes());
        assert_eq!(write(1252, "Zü€").unwrap(), b"Z\xfc\x80");
        assert_eq!(write(1200, "Z😀").unwrap(), b"Z\0\x3d\xd8\x00\xde");
        assert_eq!(write(1252, "łódź").unwrap_err(), "'ł' is not in code page 1252");
    }
}

//! Files of bulk loads (BULK INSERT, OPENROWSET): opened where the session may read them, and as
//! delimited text: fields ended by terminators, as bytes of UTF-8. A field ends at its own
//! terminator only, so a row with too few fields runs into the next one, as in SQL Server.

use std::io::{self, BufRead, BufReader, Read};

use disk::DiskError;
use types::{SqlError, msg};

use super::OfInstance;
use super::permit::{FileUse, Reach};
use crate::encoding::{Encoding, INVALID};
use session::state::SessionCore;

/// Longest field in bytes: beyond it a terminator was surely missed.
pub const MAX_FIELD: usize = 64 << 20;

/// The file of a bulk load as a stream. Errors: 5105, 4860, 4861.
pub fn open(session: &mut SessionCore, shown: &str) -> Result<Box<dyn Read>, SqlError> {
    let reach = Reach::of(session);
    let permitted = session.instance().permit(reach, shown, FileUse::Import);
    match permitted.and_then(|path| Ok(path.read()?)) {
        Ok(file) => Ok(Box::new(file)),
        Err(e) => Err(e.or(|cause| cannot_open(shown, cause))),
    }
}

fn cannot_open(shown: &str, cause: &DiskError) -> SqlError {
    if let DiskError::NotFound { .. } = cause {
        return SqlError::of(msg::BULK_FILE_NOT_FOUND, [&shown]);
    }
    let (code, text) = cause.system_error();
    SqlError::of(msg::BULK_FILE_NOT_OPENED, [&shown, &format_args!("{code}({text})")])
}

/// An error of reading it.
pub fn read_failed(e: &std::io::Error) -> SqlError {
    SqlError::of(msg::BULK_FILE_NOT_READ, [&e])
}

/// What separates fields and rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminators {
    pub field: Vec<u8>,
    pub row: Vec<u8>,
    /// CSV: a field may be quoted with this.
    pub quote: Option<u8>,
}

/// A terminator as written: `\t \n \r \0 \\`, `0x0a` (bytes of the file's encoding), or the
/// characters themselves.
pub fn terminator(text: &str, encoding: Encoding) -> Vec<u8> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let digits: Vec<u8> = hex.bytes().collect();
        let bytes: Option<Vec<u8>> = digits
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).ok().and_then(|p| u8::from_str_radix(p, 16).ok()))
            .collect();
        if let Some(bytes) = bytes.filter(|b| !b.is_empty()) {
            let decoded = encoding.decode(&bytes);
            // Single bytes of UTF-16 are no characters: the ASCII ones are meant.
            return if decoded.contains(&INVALID) { bytes } else { decoded };
        }
    }
    let mut out = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('0') => '\0',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        };
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    out
}

/// What a field read ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its terminator.
    Terminator,
    /// The file.
    File,
    /// It grew beyond [`MAX_FIELD`].
    TooLong,
}

/// Fields of a file, one after another.
pub struct Fields<R: Read> {
    input: BufReader<R>,
    terminators: Terminators,
    /// The last field stood in quotes: an empty one is an empty text then.
    pub quoted: bool,
}

impl<R: Read> Fields<R> {
    pub fn new(input: R, terminators: Terminators) -> Fields<R> {
        Fields { input: BufReader::with_capacity(1 << 20, input), terminators, quoted: false }
    }

    /// Whether the file has nothing left.
    pub fn at_end(&mut self) -> io::Result<bool> {
        Ok(self.input.fill_buf()?.is_empty())
    }

    /// Reads one field into `out`, without its terminator. `last`: it ends the row.
    pub fn next(&mut self, last: bool, out: &mut Vec<u8>) -> io::Result<End> {
        out.clear();
        self.quoted = false;
        if let Some(quote) = self.terminators.quote
            && self.input.fill_buf()?.first() == Some(&quote)
        {
            self.quoted = true;
            return self.quoted(quote, last, out);
        }
        let end = self.until(last, out)?;
        self.strip(last, out);
        Ok(end)
    }

    /// Bytes up to the terminator, which is taken off.
    fn until(&mut self, last: bool, out: &mut Vec<u8>) -> io::Result<End> {
        let terminator =
            if last { self.terminators.row.clone() } else { self.terminators.field.clone() };
        let Some(&final_byte) = terminator.last() else { return Ok(End::File) };
        loop {
            let read = self.input.read_until(final_byte, out)?;
            if out.ends_with(&terminator) {
                out.truncate(out.len() - terminator.len());
                return Ok(End::Terminator);
            }
            if read == 0 {
                return Ok(End::File);
            }
            if out.len() > MAX_FIELD {
                return Ok(End::TooLong);
            }
        }
    }

    /// A quoted field: quotes inside are doubled; the terminator comes after the closing one.
    fn quoted(&mut self, quote: u8, last: bool, out: &mut Vec<u8>) -> io::Result<End> {
        self.input.consume(1);
        loop {
            let read = self.input.read_until(quote, out)?;
            if read == 0 || out.len() > MAX_FIELD {
                return Ok(if read == 0 { End::File } else { End::TooLong });
            }
            if self.input.fill_buf()?.first() == Some(&quote) {
                self.input.consume(1);
                continue;
            }
            out.pop();
            let mut rest = Vec::new();
            let end = self.until(last, &mut rest)?;
            self.strip(last, &mut rest);
            out.extend_from_slice(&rest);
            return Ok(end);
        }
    }

    /// A row that ends with a bare line feed may have a carriage return before it.
    fn strip(&self, last: bool, out: &mut Vec<u8>) {
        if last && self.terminators.row == b"\n" && out.last() == Some(&b'\r') {
            out.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf8(text: &str) -> Vec<u8> {
        terminator(text, Encoding::Utf8)
    }

    fn check(text: &str, terminators: (&str, &str), columns: usize, expected: &[&[&str]]) {
        let quote = if terminators.0 == "," { Some(b'"') } else { None };
        let t = Terminators { field: utf8(terminators.0), row: utf8(terminators.1), quote };
        let mut fields = Fields::new(text.as_bytes(), t);
        let (mut rows, mut out) = (Vec::new(), Vec::new());
        while !fields.at_end().unwrap() {
            let mut row = Vec::new();
            for i in 0..columns {
                fields.next(i + 1 == columns, &mut out).unwrap();
                row.push(String::from_utf8(out.clone()).unwrap());
            }
            rows.push(row);
        }
        assert_eq!(rows, expected);
    }

    #[test]
    fn rows_and_fields() {
        check("1\ta\r\n2\t\r\n", (r"\t", r"\n"), 2, &[&["1", "a"], &["2", ""]]);
        check("1|a|;2|b|;", ("|", "|;"), 2, &[&["1", "a"], &["2", "b"]]);
        check("1|a\n2|b", ("|", "0x0a"), 2, &[&["1", "a"], &["2", "b"]]);
        check("1|a\n2|b\n", ("|", r"\n"), 3, &[&["1", "a\n2", "b"]]);
        check("1,\"a,\"\"b\"\"\"\n2,c\n", (",", r"\n"), 2, &[&["1", "a,\"b\""], &["2", "c"]]);
    }
}

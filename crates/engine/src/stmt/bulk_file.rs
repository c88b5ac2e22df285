//! Reads delimited files for BULK INSERT: fields ended by terminators, as bytes; code pages; UTF-16.
//! A field ends at its own terminator only, so a row with too few fields runs into the next one, as in SQL Server.

use std::io::{self, BufRead, BufReader, Read};

/// Longest field in bytes: beyond it a terminator was surely missed.
pub const MAX_FIELD: usize = 64 << 20;

/// What separates fields and rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminators {
    pub field: Vec<u8>,
    pub row: Vec<u8>,
    /// CSV: a field may be quoted with this.
    pub quote: Option<u8>,
}

/// A terminator as written: `\t \n \r \0 \\`, `0x0a`, or the characters themselves.
pub fn terminator(text: &str) -> Vec<u8> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let digits: Vec<u8> = hex.bytes().collect();
        let bytes: Option<Vec<u8>> = digits
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).ok().and_then(|p| u8::from_str_radix(p, 16).ok()))
            .collect();
        if let Some(bytes) = bytes.filter(|b| !b.is_empty()) {
            return bytes;
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
}

impl<R: Read> Fields<R> {
    pub fn new(input: R, terminators: Terminators) -> Fields<R> {
        Fields { input: BufReader::with_capacity(1 << 20, input), terminators }
    }

    /// Whether the file has nothing left.
    pub fn at_end(&mut self) -> io::Result<bool> {
        Ok(self.input.fill_buf()?.is_empty())
    }

    /// Reads one field into `out`, without its terminator. `last`: it ends the row.
    pub fn next(&mut self, last: bool, out: &mut Vec<u8>) -> io::Result<End> {
        out.clear();
        if let Some(quote) = self.terminators.quote
            && self.input.fill_buf()?.first() == Some(&quote)
        {
            return self.quoted(quote, last, out);
        }
        let end = self.until(last, out)?;
        self.strip(last, out);
        Ok(end)
    }

    /// Bytes up to the terminator, which is taken off.
    fn until(&mut self, last: bool, out: &mut Vec<u8>) -> io::Result<End> {
        let terminator = if last { self.terminators.row.clone() } else { self.terminators.field.clone() };
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

    /// A quoted field: quotes inside are doubled; the terminator comes behind the closing one.
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

/// Turns UTF-16LE (with or without a byte order mark) into UTF-8 while it is read.
pub struct Utf16<R: Read> {
    input: BufReader<R>,
    pending: Vec<u8>,
    at: usize,
    high: Option<u16>,
    begun: bool,
}

impl<R: Read> Utf16<R> {
    pub fn new(input: R) -> Utf16<R> {
        Utf16 { input: BufReader::new(input), pending: Vec::new(), at: 0, high: None, begun: false }
    }

    fn unit(&mut self) -> io::Result<Option<u16>> {
        let mut pair = [0; 2];
        let mut have = 0;
        while have < 2 {
            match self.input.read(&mut pair[have..])? {
                0 => return Ok(None),
                n => have += n,
            }
        }
        Ok(Some(u16::from_le_bytes(pair)))
    }

    fn refill(&mut self) -> io::Result<()> {
        self.pending.clear();
        self.at = 0;
        while self.pending.len() < 4096 {
            let Some(unit) = self.unit()? else { break };
            if !std::mem::replace(&mut self.begun, true) && unit == 0xfeff {
                continue;
            }
            let units = [self.high.take().unwrap_or(unit), unit];
            let units = if units[0] == unit && !is_high(unit) { &units[1..] } else { &units[..] };
            if units.len() == 2 && units[0] == unit {
                self.high = Some(unit);
                continue;
            }
            for c in char::decode_utf16(units.iter().copied()) {
                let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                self.pending.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        Ok(())
    }
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.pending.len() {
            self.refill()?;
        }
        let n = out.len().min(self.pending.len() - self.at);
        out[..n].copy_from_slice(&self.pending[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, terminators: (&str, &str), columns: usize, expected: &[&[&str]]) {
        let quote = if terminators.0 == "," { Some(b'"') } else { None };
        let t = Terminators { field: terminator(terminators.0), row: terminator(terminators.1), quote };
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

    #[test]
    fn utf16_becomes_utf8() {
        let text = "ä\t𝄞x\n";
        let mut bytes = vec![0xff, 0xfe];
        bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        let mut out = String::new();
        Utf16::new(bytes.as_slice()).read_to_string(&mut out).unwrap();
        assert_eq!(out, text);
    }
}

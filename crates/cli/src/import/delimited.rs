//! CSV (RFC 4180) and TSV: records of fields, which may be quoted and then hold delimiters, quotes
//! (doubled) and line breaks. An empty field is NULL, `""` an empty text. A line is ended by LF,
//! CRLF or CR; an empty line is a row of one NULL where rows have one field, else it is passed
//! over.

use crate::file_rows::{Cell, ImportFailure, ImportRows};
use std::io::{BufRead, BufReader, Read};

/// Longest record in bytes: beyond it a quote was surely not closed.
const MAX_RECORD: usize = 256 << 20;

/// The records of a file.
pub struct Delimited<R: Read> {
    input: BufReader<R>,
    delimiter: u8,
    names: Option<Vec<String>>,
    /// Fields of each row, from the header or the first row.
    width: Option<usize>,
    /// Rows read so far, and the line on which the last one began.
    row: u64,
    line: u64,
    next_line: u64,
    /// A byte was read ahead.
    peeked: Option<u8>,
    field: Vec<u8>,
}

impl<R: Read> Delimited<R> {
    /// Opens a file; reads its header when it has one.
    pub fn open(input: R, delimiter: char, header: bool) -> Result<Delimited<R>, ImportFailure> {
        let mut rows = Delimited {
            input: BufReader::with_capacity(1 << 18, input),
            delimiter: u8::try_from(delimiter).unwrap_or(b','),
            names: None,
            width: None,
            row: 0,
            line: 0,
            next_line: 1,
            peeked: None,
            field: Vec::new(),
        };
        if header {
            let mut row = Vec::new();
            if !rows.record(&mut row)? {
                return Err(ImportFailure::File(
                    "the file is empty; its first line should have the columns' names".into(),
                ));
            }
            let names = row.into_iter().enumerate().map(|(at, cell)| match cell {
                Cell::Text(name) if !name.trim().is_empty() => Ok(name.trim().to_string()),
                _ => Err(ImportFailure::File(format!(
                    "the first line has no name for column {}",
                    at + 1
                ))),
            });
            let names: Vec<String> = names.collect::<Result<_, _>>()?;
            rows.width = Some(names.len());
            rows.names = Some(names);
        }
        Ok(rows)
    }

    fn byte(&mut self) -> Result<Option<u8>, ImportFailure> {
        if let Some(byte) = self.peeked.take() {
            return Ok(Some(byte));
        }
        let buffer = self.input.fill_buf().map_err(|e| ImportFailure::File(e.to_string()))?;
        let byte = buffer.first().copied();
        self.input.consume(usize::from(byte.is_some()));
        Ok(byte)
    }

    /// Takes what of the input is neither delimiter, quote nor line end, into the field: the common
    /// case at once.
    fn plain(&mut self, quoted: bool) -> Result<(), ImportFailure> {
        if self.peeked.is_some() {
            return Ok(());
        }
        let delimiter = self.delimiter;
        let buffer = self.input.fill_buf().map_err(|e| ImportFailure::File(e.to_string()))?;
        let stops =
            |b: &u8| *b == b'"' || *b == b'\n' || *b == b'\r' || (!quoted && *b == delimiter);
        let length = buffer.iter().position(stops).unwrap_or(buffer.len());
        self.field.extend_from_slice(&buffer[..length]);
        self.input.consume(length);
        Ok(())
    }

    /// Reads a record; false at the end of the file.
    fn record(&mut self, row: &mut Vec<Cell>) -> Result<bool, ImportFailure> {
        loop {
            row.clear();
            let Some(first) = self.byte()? else { return Ok(false) };
            self.line = self.next_line;
            self.peeked = Some(first);
            while self.one_field(row)? {}
            // An empty line.
            if row.len() == 1
                && row[0] == Cell::Null
                && self.width != Some(1)
                && self.width.is_some()
            {
                continue;
            }
            return Ok(true);
        }
    }

    /// Reads a field; true when another one follows in the record.
    fn one_field(&mut self, row: &mut Vec<Cell>) -> Result<bool, ImportFailure> {
        self.field.clear();
        let mut quoted = false;
        let more = match self.byte()? {
            Some(b'"') => {
                quoted = true;
                self.quoted(row.len())?
            }
            other => {
                self.peeked = other;
                self.bare()?
            }
        };
        row.push(if self.field.is_empty() && !quoted {
            Cell::Null
        } else {
            let text = std::str::from_utf8(&self.field).map_err(|_| {
                let text = format!(
                    "line {}, column {}: bytes that are no text in the file's encoding; -f names another code page",
                    self.line,
                    row.len() + 1
                );
                ImportFailure::File(text)
            })?;
            Cell::Text(text.to_string())
        });
        Ok(more)
    }

    /// The rest of a field that is not quoted.
    fn bare(&mut self) -> Result<bool, ImportFailure> {
        loop {
            self.plain(false)?;
            match self.byte()? {
                Some(byte) if byte == self.delimiter => return Ok(true),
                None => return Ok(false),
                Some(byte @ (b'\n' | b'\r')) => return self.end_of_line(byte).map(|()| false),
                Some(byte) => self.field.push(byte),
            }
            self.check_length()?;
        }
    }

    /// The rest of a quoted field, and its delimiter.
    fn quoted(&mut self, at: usize) -> Result<bool, ImportFailure> {
        loop {
            self.plain(true)?;
            match self.byte()? {
                None => {
                    let text =
                        format!("line {}, column {}: the quote is not closed", self.line, at + 1);
                    return Err(ImportFailure::File(text));
                }
                Some(b'"') => match self.byte()? {
                    Some(b'"') => self.field.push(b'"'),
                    Some(byte) if byte == self.delimiter => return Ok(true),
                    None => return Ok(false),
                    Some(byte @ (b'\n' | b'\r')) => return self.end_of_line(byte).map(|()| false),
                    Some(_) => {
                        let text = format!(
                            "line {}, column {}: text behind the closing quote",
                            self.next_line,
                            at + 1
                        );
                        return Err(ImportFailure::File(text));
                    }
                },
                Some(byte) => {
                    self.next_line += u64::from(byte == b'\n');
                    self.field.push(byte);
                }
            }
            self.check_length()?;
        }
    }

    fn check_length(&self) -> Result<(), ImportFailure> {
        if self.field.len() > MAX_RECORD {
            return Err(ImportFailure::File(format!("line {}: the field is too long", self.line)));
        }
        Ok(())
    }

    fn end_of_line(&mut self, byte: u8) -> Result<(), ImportFailure> {
        self.next_line += 1;
        if byte == b'\r' {
            let next = self.byte()?;
            self.peeked = next.filter(|b| *b != b'\n');
        }
        Ok(())
    }
}

impl<R: Read> ImportRows for Delimited<R> {
    fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    fn next(&mut self, row: &mut Vec<Cell>) -> Result<bool, ImportFailure> {
        if !self.record(row)? {
            return Ok(false);
        }
        self.row += 1;
        let width = *self.width.get_or_insert(row.len());
        if row.len() != width {
            let fields = super::super::say::counted(row.len(), "field");
            return Err(ImportFailure::File(format!(
                "{}: {fields} where {width} are expected",
                self.place()
            )));
        }
        Ok(true)
    }

    fn place(&self) -> String {
        format!("row {} (line {})", self.row, self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, delimiter: char, header: bool) -> Result<Vec<Vec<Cell>>, ImportFailure> {
        let mut rows = Delimited::open(text.as_bytes(), delimiter, header)?;
        let (mut all, mut row) = (Vec::new(), Vec::new());
        while rows.next(&mut row)? {
            all.push(row.clone());
        }
        Ok(all)
    }

    fn text(text: &str) -> Cell {
        Cell::Text(text.into())
    }

    #[test]
    fn fields_and_lines() {
        let rows = read("a,b\r\n1,\"x,\"\"y\"\"\n\nz\"\r\n,\"\"\n3,last", ',', true).unwrap();
        assert_eq!(
            rows,
            [[text("1"), text("x,\"y\"\n\nz")], [Cell::Null, text("")], [text("3"), text("last")]]
        );
        assert_eq!(
            read("1\tx\r2\t\r", '\t', false).unwrap(),
            [[text("1"), text("x")], [text("2"), Cell::Null]]
        );
        // Empty lines: NULL in a file of one column, else nothing.
        assert_eq!(
            read("a\n1\n\n2\n", ',', true).unwrap(),
            [[text("1")], [Cell::Null], [text("2")]]
        );
        assert_eq!(read("a,b\n1,2\n\n3,4\n\n", ',', true).unwrap().len(), 2);
        assert_eq!(read("a,b\n", ',', true).unwrap(), [[]; 0]);
    }

    #[test]
    fn mistakes_name_their_place() {
        let check = |file: &str, expected: &str| match read(file, ',', true) {
            Err(ImportFailure::File(text)) => assert_eq!(text, expected),
            other => panic!("{other:?}"),
        };
        check("a,b\n1,2\n3\n", "row 2 (line 3): 1 field where 2 are expected");
        check("a,b\n\"1\n\",2\n3,4,5\n", "row 2 (line 4): 3 fields where 2 are expected");
        check("a,b\n1,\"x\n", "line 2, column 2: the quote is not closed");
        check("a,b\n1,\"x\"y\n", "line 2, column 2: text behind the closing quote");
        check("a,\n1,2\n", "the first line has no name for column 2");
        check("", "the file is empty; its first line should have the columns' names");
    }
}

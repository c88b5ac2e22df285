//! CSV (RFC 4180) and TSV: a header and a line per row. NULL is an empty field, an empty text `""`;
//! a column without a name is called `column1` and so on by its place.

use super::ResultWriter;
use super::text::{filled_names, push_exact};
use engine::{ColumnInfo, DataType, Value};
use std::io::{self, Write};

/// Writes fields with a delimiter between them.
pub struct CsvWriter {
    delimiter: char,
    header: bool,
    types: Vec<DataType>,
    line: String,
    field: String,
}

impl CsvWriter {
    /// With `,`, a tab or another ASCII character between fields; `header`: the columns' names come
    /// first.
    pub fn new(delimiter: char, header: bool) -> CsvWriter {
        CsvWriter {
            delimiter,
            header,
            types: Vec::new(),
            line: String::new(),
            field: String::new(),
        }
    }

    fn push_field(&mut self) {
        let special = |c: char| c == self.delimiter || matches!(c, '"' | '\n' | '\r');
        if self.field.is_empty() || self.field.contains(special) {
            self.line.push('"');
            self.line.push_str(&self.field.replace('"', "\"\""));
            self.line.push('"');
        } else {
            self.line.push_str(&self.field);
        }
    }

    fn write_line(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.line.push('\n');
        out.write_all(self.line.as_bytes())
    }
}

impl ResultWriter for CsvWriter {
    fn begin(&mut self, columns: &[ColumnInfo], out: &mut dyn Write) -> io::Result<()> {
        self.types = columns.iter().map(|c| c.ty).collect();
        if !self.header {
            return Ok(());
        }
        self.line.clear();
        for (at, name) in filled_names(columns).into_iter().enumerate() {
            if at > 0 {
                self.line.push(self.delimiter);
            }
            self.field = name;
            self.push_field();
        }
        self.write_line(out)
    }

    fn row(&mut self, row: &[Value], out: &mut dyn Write) -> io::Result<()> {
        self.line.clear();
        for (at, value) in row.iter().enumerate() {
            if at > 0 {
                self.line.push(self.delimiter);
            }
            if !value.is_null() {
                self.field.clear();
                push_exact(value, self.types[at], &mut self.field);
                self.push_field();
            }
        }
        self.write_line(out)
    }

    fn end(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

//! One line per field, for rows that are wider than the screen:
//!
//! ```text
//! -[ row 1 ]-
//! id   | 7
//! name | two
//!      | lines
//! ```

use super::ResultWriter;
use super::text::filled_names;
use engine::{ColumnInfo, DataType, Value};
use std::io::{self, Write};

/// Writes rows one below the other.
#[derive(Default)]
pub struct VerticalWriter {
    types: Vec<DataType>,
    /// Padded to one width.
    names: Vec<String>,
    rows: u64,
}

impl ResultWriter for VerticalWriter {
    fn begin(&mut self, columns: &[ColumnInfo], _: &mut dyn Write) -> io::Result<()> {
        self.types = columns.iter().map(|c| c.ty).collect();
        self.names = filled_names(columns);
        self.rows = 0;
        let width = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for name in &mut self.names {
            let pad = width - name.chars().count();
            name.extend(std::iter::repeat_n(' ', pad));
        }
        Ok(())
    }

    fn row(&mut self, row: &[Value], out: &mut dyn Write) -> io::Result<()> {
        self.rows += 1;
        writeln!(out, "-[ row {} ]-", self.rows)?;
        for ((name, value), ty) in self.names.iter().zip(row).zip(&self.types) {
            let text = types::format_value(value, *ty);
            let mut lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
            writeln!(out, "{name} | {}", lines.next().unwrap_or_default())?;
            for line in lines {
                writeln!(out, "{} | {line}", " ".repeat(name.chars().count()))?;
            }
        }
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn done(&mut self, rows: u64, out: &mut dyn Write) -> io::Result<()> {
        super::rows_affected(rows, out)
    }
}

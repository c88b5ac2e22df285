//! Aligned columns for people. Widths come from the first rows of a set; a later field that is longer moves the rest of its line.

use super::ResultWriter;
use engine::{ColumnInfo, Value};
use std::io::{self, Write};

/// A table's widths are taken from this many rows; later rows may be wider.
const MEASURED_ROWS: usize = 1_000;

/// Writes aligned columns.
#[derive(Default)]
pub struct TableWriter {
    columns: Vec<ColumnInfo>,
    /// Rows that wait until the widths are known.
    held: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
}

impl TableWriter {
    fn line(&self, fields: &[String], out: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths.as_deref().unwrap_or_default();
        let mut line = String::new();
        for (index, field) in fields.iter().enumerate() {
            let width = widths.get(index).copied().unwrap_or(0);
            let pad = width.saturating_sub(field.chars().count());
            let right = self.columns.get(index).is_some_and(|c| c.ty.is_number());
            if index > 0 {
                line.push(' ');
            }
            if right {
                line.extend(std::iter::repeat_n(' ', pad));
            }
            line.push_str(field);
            if !right && index + 1 < fields.len() {
                line.extend(std::iter::repeat_n(' ', pad));
            }
        }
        writeln!(out, "{}", line.trim_end())
    }

    /// Prints the header and the held rows once the widths are settled.
    fn settle(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<String> = self.columns.iter().map(|c| c.name.to_string()).collect();
        let width = |i: usize| {
            let fields = self.held.iter().map(|r| &r[i]).chain([&names[i]]);
            fields.map(|field| field.chars().count()).max().unwrap_or(0).max(1)
        };
        let widths: Vec<usize> = (0..names.len()).map(width).collect();
        let rule: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
        self.widths = Some(widths);
        self.line(&names, out)?;
        self.line(&rule, out)?;
        for row in std::mem::take(&mut self.held) {
            self.line(&row, out)?;
        }
        Ok(())
    }
}

impl ResultWriter for TableWriter {
    fn begin(&mut self, columns: &[ColumnInfo], _: &mut dyn Write) -> io::Result<()> {
        self.columns = columns.to_vec();
        self.widths = None;
        self.held.clear();
        Ok(())
    }

    fn row(&mut self, row: &[Value], out: &mut dyn Write) -> io::Result<()> {
        let text = |(value, column): (&Value, &ColumnInfo)| types::format_value(value, column.ty);
        let fields: Vec<String> = row.iter().zip(&self.columns).map(text).collect();
        if self.widths.is_some() {
            return self.line(&fields, out);
        }
        self.held.push(fields);
        if self.held.len() >= MEASURED_ROWS { self.settle(out) } else { Ok(()) }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.widths.is_none() {
            self.settle(out)?;
        }
        self.widths = None;
        Ok(())
    }

    fn done(&mut self, rows: u64, out: &mut dyn Write) -> io::Result<()> {
        super::rows_affected(rows, out)
    }
}

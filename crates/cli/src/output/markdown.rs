//! Markdown tables (GitHub's): for pages and issues. Numbers to the right, NULL as `NULL`, a line
//! break as `<br>`.

use super::ResultWriter;
use super::text::exact;
use engine::{ColumnInfo, DataType, Value};
use std::io::{self, Write};

/// Writes a table per result set.
#[derive(Default)]
pub struct MarkdownWriter {
    types: Vec<DataType>,
}

/// Text within a cell.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace("\r\n", "<br>")
        .replace(['\n', '\r'], "<br>")
}

fn line(cells: impl Iterator<Item = String>, out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::from("|");
    for cell in cells {
        text.push(' ');
        text.push_str(&cell);
        text.push_str(" |");
    }
    text.push('\n');
    out.write_all(text.as_bytes())
}

impl ResultWriter for MarkdownWriter {
    fn begin(&mut self, columns: &[ColumnInfo], out: &mut dyn Write) -> io::Result<()> {
        self.types = columns.iter().map(|c| c.ty).collect();
        line(columns.iter().map(|c| cell(&c.name)), out)?;
        let rule = |c: &ColumnInfo| if c.ty.is_number() { "---:" } else { "---" };
        line(columns.iter().map(|c| rule(c).to_string()), out)
    }

    fn row(&mut self, row: &[Value], out: &mut dyn Write) -> io::Result<()> {
        let shown = |(value, ty): (&Value, &DataType)| match value {
            Value::Null => "NULL".to_string(),
            value => cell(&exact(value, *ty)),
        };
        line(row.iter().zip(&self.types).map(shown), out)
    }

    fn end(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

//! Result sets as aligned columns for people, with the column options of sqlcmd. Widths come from
//! the first rows of a set, so a set of any length streams; a later field that is longer moves the
//! rest of its line.

use super::ResultWriter;
use engine::{ColumnInfo, DataType, Value};
use std::io::{self, Write};
use types::Len;

/// A table's widths are taken from this many rows.
const MEASURED_ROWS: usize = 1_000;

/// When column names are printed (`-h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Headers {
    /// Above each result set.
    #[default]
    Once,
    /// Again after each of so many rows; at least 1.
    Every(u32),
    /// Not at all.
    Never,
}

/// What becomes of control characters in fields (`-k`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// They stay.
    #[default]
    Keep,
    /// A space for each (`-k1`).
    Spaces,
    /// A space for each run of them (`-k2`).
    OneSpace,
}

/// How tables look. Widths are in characters, 0 is no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStyle {
    /// Between columns (`-s`).
    pub separator: String,
    /// Fields are not padded to a common width (`-W`).
    pub trim: bool,
    /// When column names are printed (`-h`).
    pub headers: Headers,
    /// A longer line goes on in the next (`-w`).
    pub line_width: usize,
    /// Most characters of a field of a (max) type (`-y`).
    pub max_type_width: usize,
    /// Most characters of a field of another character or binary type (`-Y`).
    pub type_width: usize,
    /// Control characters (`-k`).
    pub control: Control,
}

impl Default for TableStyle {
    fn default() -> TableStyle {
        TableStyle {
            separator: " ".into(),
            trim: false,
            headers: Headers::Once,
            line_width: 0,
            max_type_width: 0,
            type_width: 0,
            control: Control::Keep,
        }
    }
}

/// One result set after the other as tables.
#[derive(Debug, Default)]
pub struct TableWriter {
    style: TableStyle,
    columns: Vec<ColumnInfo>,
    /// Rows that wait until the widths are known.
    held: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
    /// Rows since the last header.
    rows: u32,
}

impl TableWriter {
    pub fn new(style: TableStyle) -> TableWriter {
        TableWriter { style, ..TableWriter::default() }
    }

    fn field(&self, value: &Value, column: &ColumnInfo) -> String {
        let Value::Null = value else {
            let mut text = types::format_value(value, column.ty);
            match self.style.control {
                Control::Keep => {}
                Control::Spaces => text = text.replace(char::is_control, " "),
                Control::OneSpace => text = one_space(&text),
            }
            let most = match column.ty {
                DataType::VarChar(Len::Max)
                | DataType::NVarChar(Len::Max)
                | DataType::VarBinary(Len::Max) => self.style.max_type_width,
                ty if ty.is_string() || ty.is_binary() => self.style.type_width,
                _ => 0,
            };
            if most > 0
                && let Some((end, _)) = text.char_indices().nth(most)
            {
                text.truncate(end);
            }
            return text;
        };
        "NULL".into()
    }

    /// Prints the header and the held rows once the widths are settled.
    fn settle(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let width = |i: usize| {
            let fields = self.held.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
            let name = if self.style.headers == Headers::Never {
                0
            } else {
                self.columns[i].name.chars().count()
            };
            fields.max(name).max(1)
        };
        self.widths = Some((0..self.columns.len()).map(width).collect());
        if self.style.headers != Headers::Never {
            self.header(out)?;
        }
        for row in std::mem::take(&mut self.held) {
            self.data_line(row, out)?;
        }
        Ok(())
    }

    fn header(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<String> = self.columns.iter().map(|c| c.name.to_string()).collect();
        let rule = |(i, name): (usize, &String)| match &self.widths {
            Some(widths) if !self.style.trim => "-".repeat(widths[i]),
            _ => "-".repeat(name.chars().count().max(1)),
        };
        let rules: Vec<String> = names.iter().enumerate().map(rule).collect();
        self.line(&names, out)?;
        self.line(&rules, out)
    }

    fn data_line(&mut self, fields: Vec<String>, out: &mut dyn Write) -> io::Result<()> {
        if let Headers::Every(n) = self.style.headers {
            if self.rows == n {
                writeln!(out)?;
                self.header(out)?;
                self.rows = 0;
            }
            self.rows += 1;
        }
        self.line(&fields, out)
    }

    fn line(&self, fields: &[String], out: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths.as_deref().unwrap_or_default();
        let mut line = String::new();
        for (index, field) in fields.iter().enumerate() {
            let pad = match widths.get(index) {
                Some(width) if !self.style.trim => width.saturating_sub(field.chars().count()),
                _ => 0,
            };
            let right = self.columns.get(index).is_some_and(|c| c.ty.is_number());
            if index > 0 {
                line.push_str(&self.style.separator);
            }
            if right {
                line.extend(std::iter::repeat_n(' ', pad));
            }
            line.push_str(field);
            if !right && index + 1 < fields.len() {
                line.extend(std::iter::repeat_n(' ', pad));
            }
        }
        let mut rest = if self.style.trim { line.as_str() } else { line.trim_end() };
        if self.style.line_width > 0 {
            while let Some((end, _)) = rest.char_indices().nth(self.style.line_width) {
                writeln!(out, "{}", &rest[..end])?;
                rest = &rest[end..];
            }
        }
        writeln!(out, "{rest}")
    }
}

impl ResultWriter for TableWriter {
    fn begin(&mut self, columns: &[ColumnInfo], _: &mut dyn Write) -> io::Result<()> {
        self.columns = columns.to_vec();
        self.widths = None;
        self.held.clear();
        self.rows = 0;
        Ok(())
    }

    fn row(&mut self, row: &[Value], out: &mut dyn Write) -> io::Result<()> {
        let fields = row
            .iter()
            .zip(&self.columns)
            .map(|(value, column)| self.field(value, column))
            .collect();
        if self.widths.is_some() {
            return self.data_line(fields, out);
        }
        self.held.push(fields);
        if self.held.len() >= MEASURED_ROWS || self.style.trim { self.settle(out) } else { Ok(()) }
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

/// `text` with a space in the place of each run of control characters.
fn one_space(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        if !c.is_control() {
            result.push(c);
        } else if !inside {
            result.push(' ');
        }
        inside = c.is_control();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rows in a style.
    fn print(style: TableStyle) -> String {
        let info = |name: &str, ty| ColumnInfo::new(name, ty, true);
        let mut out = Vec::new();
        let mut table = TableWriter::new(style);
        let columns = [
            info("id", DataType::Int),
            info("name", DataType::NVarChar(Len::N(20))),
            info("note", DataType::VarChar(Len::Max)),
        ];
        table.begin(&columns, &mut out).unwrap();
        for (id, name, note) in
            [(7, "Ada", "a\r\nb"), (12, "Grace Hopper", "tab\there"), (3, "x", "")]
        {
            table.row(&[Value::Int(id), Value::str(name), Value::str(note)], &mut out).unwrap();
        }
        table.end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_of_sqlcmd() {
        let style = TableStyle { control: Control::OneSpace, ..TableStyle::default() };
        let plain = "id name         note\n-- ------------ --------\n 7 Ada          a b\n12 Grace Hopper tab here\n 3 x\n";
        assert_eq!(print(style.clone()), plain);
        let trimmed = TableStyle { separator: "|".into(), trim: true, ..style.clone() };
        assert_eq!(
            print(trimmed),
            "id|name|note\n--|----|----\n7|Ada|a b\n12|Grace Hopper|tab here\n3|x|\n"
        );
        let bare =
            TableStyle { headers: Headers::Never, control: Control::Spaces, ..style.clone() };
        assert_eq!(print(bare), " 7 Ada          a  b\n12 Grace Hopper tab here\n 3 x\n");
        let again = TableStyle { headers: Headers::Every(2), ..style.clone() };
        let header = "id name         note\n-- ------------ --------\n";
        assert_eq!(
            print(again),
            format!("{header} 7 Ada          a b\n12 Grace Hopper tab here\n\n{header} 3 x\n")
        );
        let narrow = TableStyle { type_width: 5, max_type_width: 3, ..style.clone() };
        assert_eq!(
            print(narrow),
            "id name  note\n-- ----- ----\n 7 Ada   a b\n12 Grace tab\n 3 x\n"
        );
        let wrapped = TableStyle { line_width: 10, headers: Headers::Never, ..style };
        assert_eq!(print(wrapped), " 7 Ada    \n      a b\n12 Grace H\nopper tab \nhere\n 3 x\n");
    }
}

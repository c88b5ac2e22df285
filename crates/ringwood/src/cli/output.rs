//! Result sets as text: a table for people, CSV or JSON for programs. [`ResultWriter`] writes them to any `Write` and
//! returns its errors; it knows nothing of messages, files or standard output.

use engine::{ColumnInfo, Value};
use std::io::{self, Write};

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for people
    Table,
    /// Header and rows per result set, an empty line between sets
    Csv,
    /// One line per result set
    Json,
}

/// A table's widths are taken from this many rows; later rows may be wider.
const MEASURED_ROWS: usize = 1_000;

/// Writes result sets in one format.
pub struct ResultWriter<W: Write> {
    out: W,
    format: Format,
    columns: Vec<ColumnInfo>,
    /// Rows of the current set that are not printed yet (table: until the widths are known; json: all).
    held: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
    in_set: bool,
    sets: usize,
    json_rows: Vec<serde_json::Value>,
}

fn json_value(value: &Value, info: &ColumnInfo) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bit(v) => (*v).into(),
        Value::TinyInt(v) => (*v).into(),
        Value::SmallInt(v) => (*v).into(),
        Value::Int(v) => (*v).into(),
        Value::BigInt(v) => (*v).into(),
        Value::Float(v) => serde_json::Number::from_f64(*v).map_or(serde_json::Value::Null, Into::into),
        Value::Real(v) => {
            serde_json::Number::from_f64(f64::from(*v)).map_or(serde_json::Value::Null, Into::into)
        }
        // With its leading zero, so that every JSON reader can make a number of it.
        Value::Decimal(v) => v.to_string().into(),
        other => types::format_value(other, info.ty).into(),
    }
}

fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

impl<W: Write> ResultWriter<W> {
    /// Writes result sets to `out`.
    pub fn new(out: W, format: Format) -> ResultWriter<W> {
        ResultWriter {
            out,
            format,
            columns: Vec::new(),
            held: Vec::new(),
            widths: None,
            in_set: false,
            sets: 0,
            json_rows: Vec::new(),
        }
    }

    /// What it writes to.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// A result set begins; one that is still open ends.
    pub fn columns(&mut self, columns: &[ColumnInfo]) -> io::Result<()> {
        self.end_set()?;
        self.columns = columns.to_vec();
        self.begin_set()
    }

    /// A row of the open result set.
    pub fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.add_row(row)
    }

    /// A statement ended: its result set too, if it has one. A table shows the count of rows.
    pub fn done(&mut self, rows: Option<u64>) -> io::Result<()> {
        self.end_set()?;
        if let (Some(count), Format::Table) = (rows, self.format) {
            let plural = if count == 1 { "" } else { "s" };
            writeln!(self.out, "\n({count} row{plural} affected)")?;
        }
        Ok(())
    }

    /// Ends a result set that is still open and flushes: what follows on another stream comes after it.
    pub fn finish(&mut self) -> io::Result<()> {
        self.end_set()?;
        self.out.flush()
    }

    fn text(&self, value: &Value, index: usize) -> String {
        match value {
            Value::Null if self.format == Format::Csv => String::new(),
            Value::Null => "NULL".into(),
            other => types::format_value(other, self.columns[index].ty),
        }
    }

    fn table_line(&mut self, fields: &[String]) -> io::Result<()> {
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
        writeln!(self.out, "{}", line.trim_end())
    }

    /// Prints the header and the held rows of a table once its widths are settled.
    fn settle_table(&mut self) -> io::Result<()> {
        let names: Vec<String> = self.columns.iter().map(|c| c.name.to_string()).collect();
        let widths: Vec<usize> = (0..names.len())
            .map(|i| {
                self.held
                    .iter()
                    .map(|r| r[i].chars().count())
                    .max()
                    .unwrap_or(0)
                    .max(names[i].chars().count())
                    .max(1)
            })
            .collect();
        let rule: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
        self.widths = Some(widths);
        self.table_line(&names)?;
        self.table_line(&rule)?;
        for row in std::mem::take(&mut self.held) {
            self.table_line(&row)?;
        }
        Ok(())
    }

    fn begin_set(&mut self) -> io::Result<()> {
        if self.sets > 0 && self.format != Format::Json {
            writeln!(self.out)?;
        }
        self.sets += 1;
        self.in_set = true;
        if self.format == Format::Csv {
            let header: Vec<String> = self.columns.iter().map(|c| csv_field(&c.name)).collect();
            writeln!(self.out, "{}", header.join(","))?;
        }
        Ok(())
    }

    fn end_set(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.in_set) {
            return Ok(());
        }
        match self.format {
            Format::Table => {
                if self.widths.is_none() {
                    self.settle_table()?;
                }
                self.widths = None;
            }
            Format::Csv => {}
            Format::Json => {
                let columns: Vec<serde_json::Value> = self
                    .columns
                    .iter()
                    .map(|c| serde_json::json!({"name": c.name.as_str(), "type": c.ty.to_string()}))
                    .collect();
                let rows = std::mem::take(&mut self.json_rows);
                writeln!(self.out, "{}", serde_json::json!({"columns": columns, "rows": rows}))?;
            }
        }
        Ok(())
    }

    fn add_row(&mut self, row: &[Value]) -> io::Result<()> {
        if self.format == Format::Json {
            let values = row.iter().zip(&self.columns).map(|(v, c)| json_value(v, c)).collect();
            self.json_rows.push(serde_json::Value::Array(values));
            return Ok(());
        }
        let fields: Vec<String> = row.iter().enumerate().map(|(i, v)| self.text(v, i)).collect();
        if self.format == Format::Csv {
            let fields: Vec<String> = fields.iter().map(|f| csv_field(f)).collect();
            return writeln!(self.out, "{}", fields.join(","));
        }
        if self.widths.is_some() {
            return self.table_line(&fields);
        }
        self.held.push(fields);
        if self.held.len() >= MEASURED_ROWS { self.settle_table() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::DataType;

    fn print(format: Format) -> String {
        let mut out = Vec::new();
        let mut printer = ResultWriter::new(&mut out, format);
        let info = |name: &str, ty| ColumnInfo { name: name.into(), ty, nullable: true };
        printer
            .columns(&[info("id", DataType::Int), info("na,me", DataType::NVarChar(types::Len::N(20)))])
            .unwrap();
        printer.row(&[Value::Int(7), Value::str("say \"x\"")]).unwrap();
        printer.row(&[Value::Int(1234), Value::Null]).unwrap();
        printer.done(Some(2)).unwrap();
        printer.finish().unwrap();
        drop(printer);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn table() {
        let expected = "  id na,me\n---- -------\n   7 say \"x\"\n1234 NULL\n\n(2 rows affected)\n";
        assert_eq!(print(Format::Table), expected);
    }

    #[test]
    fn csv() {
        assert_eq!(print(Format::Csv), "id,\"na,me\"\n7,\"say \"\"x\"\"\"\n1234,\n");
    }

    #[test]
    fn json() {
        let expected = "{\"columns\":[{\"name\":\"id\",\"type\":\"int\"},{\"name\":\"na,me\",\"type\":\"nvarchar(20)\"}],\
                        \"rows\":[[7,\"say \\\"x\\\"\"],[1234,null]]}\n";
        assert_eq!(print(Format::Json), expected);
    }
}

//! Result sets as text, one file per format. [`Results`] writes them to any `Write` and returns its
//! errors; it knows nothing of messages, files or standard output.

pub mod csv;
pub mod json;
mod markdown;
pub mod table;
pub mod text;
mod vertical;

use self::table::TableStyle;
use engine::{ColumnInfo, Value};
use std::io::{self, Write};

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for people
    Table,
    /// A line per field, for wide rows
    Vertical,
    /// Markdown tables
    Markdown,
    /// Header and rows per result set, an empty line between sets
    Csv,
    /// One line per result set
    Json,
}

/// Writes result sets in one format. No call panics; each returns the error of its writes.
pub trait ResultWriter {
    /// A result set begins.
    fn begin(&mut self, columns: &[ColumnInfo], out: &mut dyn Write) -> io::Result<()>;

    /// A row of it.
    fn row(&mut self, row: &[Value], out: &mut dyn Write) -> io::Result<()>;

    /// It ends.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;

    /// A statement ended that counts rows.
    fn done(&mut self, _rows: u64, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Whether an empty line goes between result sets.
    fn separated(&self) -> bool {
        true
    }
}

/// The writer of a format; `style` is that of tables.
pub fn writer(format: Format, style: &TableStyle) -> Box<dyn ResultWriter> {
    match format {
        Format::Table => Box::new(table::TableWriter::new(style.clone())),
        Format::Vertical => Box::new(vertical::VerticalWriter::default()),
        Format::Markdown => Box::new(markdown::MarkdownWriter::default()),
        Format::Csv => Box::new(csv::CsvWriter::new(',', true)),
        Format::Json => Box::new(json::JsonWriter::default()),
    }
}

/// What people are told after a statement.
fn rows_affected(rows: u64, out: &mut dyn Write) -> io::Result<()> {
    let plural = if rows == 1 { "" } else { "s" };
    writeln!(out, "\n({rows} row{plural} affected)")
}

/// The results of statements, one after the other, to one place.
pub struct Results<W: Write> {
    out: W,
    writer: Box<dyn ResultWriter>,
    in_set: bool,
    sets: usize,
}

impl<W: Write> Results<W> {
    /// Writes result sets to `out`.
    pub fn new(out: W, writer: Box<dyn ResultWriter>) -> Results<W> {
        Results { out, writer, in_set: false, sets: 0 }
    }

    /// Another writer, between result sets.
    pub fn set_writer(&mut self, writer: Box<dyn ResultWriter>) {
        self.writer = writer;
    }

    /// The next result set is the first of its place: no empty line before it.
    pub fn restart(&mut self) {
        self.sets = 0;
    }

    /// What it writes to.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// A result set begins; one that is still open ends.
    pub fn columns(&mut self, columns: &[ColumnInfo]) -> io::Result<()> {
        self.end_set()?;
        if self.sets > 0 && self.writer.separated() {
            writeln!(self.out)?;
        }
        self.sets += 1;
        self.in_set = true;
        self.writer.begin(columns, &mut self.out)
    }

    /// A row of the open result set.
    pub fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.writer.row(row, &mut self.out)
    }

    /// Whether a result set has begun and not ended.
    pub fn is_in_set(&self) -> bool {
        self.in_set
    }

    /// A statement ended: its result set too, if it has one.
    pub fn done(&mut self, rows: Option<u64>) -> io::Result<()> {
        self.end_set()?;
        rows.map_or(Ok(()), |rows| self.writer.done(rows, &mut self.out))
    }

    /// Ends a result set that is still open and flushes: what follows on another stream comes after
    /// it.
    pub fn finish(&mut self) -> io::Result<()> {
        self.end_set()?;
        self.out.flush()
    }

    fn end_set(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.in_set) {
            return Ok(());
        }
        self.writer.end(&mut self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{DataType, Len};

    fn print(writer: Box<dyn ResultWriter>) -> String {
        let mut results = Results::new(Vec::new(), writer);
        let info = |name: &str, ty| ColumnInfo::new(name, ty, true);
        let text = DataType::NVarChar(Len::N(20));
        results
            .columns(&[info("id", DataType::Int), info("na,me", text), info("", DataType::Money)])
            .unwrap();
        results.row(&[Value::Int(7), Value::str("say \"x\""), Value::Money(15_000)]).unwrap();
        results.row(&[Value::Int(1234), Value::Null, Value::Null]).unwrap();
        results.row(&[Value::Null, Value::str(""), Value::Money(-1)]).unwrap();
        results.row(&[Value::Int(8), Value::str("a\n|b"), Value::Null]).unwrap();
        results.done(Some(4)).unwrap();
        results.finish().unwrap();
        String::from_utf8(results.out).unwrap()
    }

    #[test]
    fn table() {
        let expected = "  id na,me\n---- -------\n   7 say \"x\"\n1234 NULL\n\n(2 rows affected)\n";
        let mut results = Results::new(Vec::new(), writer(Format::Table, &TableStyle::default()));
        let info = |name: &str, ty| ColumnInfo::new(name, ty, true);
        results
            .columns(&[info("id", DataType::Int), info("na,me", DataType::NVarChar(Len::N(20)))])
            .unwrap();
        results.row(&[Value::Int(7), Value::str("say \"x\"")]).unwrap();
        results.row(&[Value::Int(1234), Value::Null]).unwrap();
        results.done(Some(2)).unwrap();
        assert_eq!(String::from_utf8(results.out).unwrap(), expected);
    }

    #[test]
    fn csv() {
        let expected = "id,\"na,me\",column3\n7,\"say \"\"x\"\"\",1.5000\n1234,,\n,\"\",-0.0001\n8,\"a\n|b\",\n";
        assert_eq!(print(writer(Format::Csv, &TableStyle::default())), expected);
        let tabs = "7\t\"say \"\"x\"\"\"\t1.5000\n1234\t\t\n\t\"\"\t-0.0001\n8\t\"a\n|b\"\t\n";
        assert_eq!(print(Box::new(csv::CsvWriter::new('\t', false))), tabs);
    }

    #[test]
    fn json() {
        let expected = "{\"columns\":[{\"name\":\"id\",\"type\":\"int\"},{\"name\":\"na,me\",\"type\":\"nvarchar(20)\"},\
                        {\"name\":\"\",\"type\":\"money\"}],\"rows\":[[7,\"say \\\"x\\\"\",\"1.5000\"],[1234,null,null],\
                        [null,\"\",\"-0.0001\"],[8,\"a\\n|b\",null]]}\n";
        assert_eq!(print(writer(Format::Json, &TableStyle::default())), expected);
        let lines = "{\"id\":7,\"na,me\":\"say \\\"x\\\"\",\"column3\":\"1.5000\"}\n";
        assert!(print(Box::new(json::JsonLinesWriter::default())).starts_with(lines));
    }

    #[test]
    fn markdown() {
        let expected = "| id | na,me |  |\n| ---: | --- | ---: |\n| 7 | say \"x\" | 1.5000 |\n| 1234 | NULL | NULL |\n\
                        | NULL |  | -0.0001 |\n| 8 | a<br>\\|b | NULL |\n";
        assert_eq!(print(writer(Format::Markdown, &TableStyle::default())), expected);
    }

    #[test]
    fn vertical() {
        let expected = "-[ row 1 ]-\nid      | 7\nna,me   | say \"x\"\ncolumn3 | 1.5000\n";
        let said = print(writer(Format::Vertical, &TableStyle::default()));
        assert!(said.starts_with(expected), "{said}");
        assert!(
            said.contains("na,me   | a\n        | |b\n") && said.ends_with("\n(4 rows affected)\n"),
            "{said}"
        );
    }
}

//! What a batch produces, as it is printed: result sets through [`Results`], messages and errors as sqlcmd prints
//! them. A write that fails ends the batch, and is kept as the exit code with which the whole run is to end.

use crate::cli::output::{Format, Results, writer};
use crate::cli::say::{error_text, write_failed};
use engine::{ColumnInfo, Sink, SqlError, Value};
use std::io::{self, Write};

/// A stream with the name that complaints about it use.
pub struct Stream {
    name: &'static str,
    out: Box<dyn Write>,
}

impl Stream {
    /// Standard output, in large writes: a batch's end and a message flush it.
    pub fn stdout() -> Stream {
        Stream { name: "standard output", out: Box::new(io::BufWriter::with_capacity(1 << 16, io::stdout())) }
    }

    /// Standard error, line by line.
    pub fn stderr() -> Stream {
        Stream { name: "standard error", out: Box::new(io::stderr()) }
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.out.write(buf)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Prints what batches produce.
pub struct Printer {
    results: Results<Stream>,
    errors: Stream,
    /// The line of the script on which the batch starts.
    pub first_line: u32,
    /// An error was printed since [`Printer::take_failed`].
    failed: bool,
    /// A stream could not be written: the exit code. Nothing is printed any more.
    broken: Option<u8>,
}

/// The error with which a sink stops its batch; it is never shown.
fn stopped() -> SqlError {
    SqlError::new(0, 20, 1, "The output cannot be written.")
}

impl Printer {
    /// Prints result sets to `results`, messages and errors to `errors`.
    pub fn new(results: Stream, errors: Stream, format: Format) -> Printer {
        let results = Results::new(results, writer(format));
        Printer { results, errors, first_line: 1, failed: false, broken: None }
    }

    /// The exit code if a stream could not be written.
    pub fn broken(&self) -> Option<u8> {
        self.broken
    }

    /// Whether an error was printed; forgets it.
    pub fn take_failed(&mut self) -> bool {
        std::mem::take(&mut self.failed)
    }

    /// The end of a batch: all of it is out. Errors: in [`Printer::broken`].
    pub fn finish(&mut self) {
        let _ = self.put(Results::finish);
    }

    /// A line among the messages.
    pub fn say(&mut self, text: &str) -> Result<(), SqlError> {
        self.put(Results::finish)?;
        let written = writeln!(self.errors, "{text}").and_then(|()| self.errors.flush());
        self.check(self.errors.name, written)
    }

    fn put(&mut self, write: impl FnOnce(&mut Results<Stream>) -> io::Result<()>) -> Result<(), SqlError> {
        if self.broken.is_some() {
            return Err(stopped());
        }
        let written = write(&mut self.results);
        let name = self.results.get_mut().name;
        self.check(name, written)
    }

    fn check(&mut self, stream: &str, written: io::Result<()>) -> Result<(), SqlError> {
        written.map_err(|error| {
            self.broken.get_or_insert_with(|| write_failed(stream, &error));
            stopped()
        })
    }
}

impl Sink for Printer {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.put(|out| out.columns(columns))
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.put(|out| out.row(row))
    }

    fn done(&mut self, rows: Option<u64>) -> Result<(), SqlError> {
        self.put(|out| out.done(rows))
    }

    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.say(&message.message)
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.failed = true;
        let text = error_text(error, self.first_line);
        self.say(&text)
    }
}

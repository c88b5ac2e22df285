//! What a batch produces, as it is printed: result sets through [`Results`], messages and errors as
//! sqlcmd prints them. A write that fails ends the batch, and is kept as the exit code with which
//! the whole run is to end.

use super::input::EncodedWriter;
use super::pager::Pager;
use super::script::Batch;
use crate::output::table::TableStyle;
use crate::output::{Format, Results, writer};
use crate::say::{error_text, write_failed};
use crate::source_line::SourceLine;
use engine::{ColumnInfo, ResultRows, Sink, SqlError, Value};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where output goes, with the name that complaints about it use.
pub struct Stream {
    name: String,
    to: PrintTarget,
}

enum PrintTarget {
    Writer(Box<dyn Write>),
    Pager(Pager),
}

impl Stream {
    fn writer(name: &str, to: impl Write + 'static) -> Stream {
        Stream { name: name.to_owned(), to: PrintTarget::Writer(Box::new(to)) }
    }

    /// Standard output in a code page. Lines go out one by one on a terminal, else in large writes:
    /// the end of a batch and each message flush them.
    pub fn stdout(page: u16) -> Stream {
        let out = EncodedWriter::new(io::stdout(), page);
        if io::stdout().is_terminal() {
            return Stream::writer("standard output", out);
        }
        Stream::writer("standard output", BufWriter::with_capacity(1 << 16, out))
    }

    /// Standard error in a code page.
    pub fn stderr(page: u16) -> Stream {
        Stream::writer("standard error", EncodedWriter::new(io::stderr(), page))
    }

    /// A file in a code page; its writes are buffered as those of standard output are.
    pub fn file(name: &str, file: File, page: u16) -> Stream {
        Stream::writer(name, BufWriter::with_capacity(1 << 16, EncodedWriter::new(file, page)))
    }

    /// Standard output through a pager.
    pub fn pager(pager: Pager) -> Stream {
        Stream { name: "standard output".into(), to: PrintTarget::Pager(pager) }
    }

    /// A pager has the screen: messages go there too.
    fn pages(&self) -> bool {
        matches!(&self.to, PrintTarget::Pager(pager) if pager.is_open())
    }

    fn end_batch(&mut self) -> io::Result<()> {
        match &mut self.to {
            PrintTarget::Writer(_) => Ok(()),
            PrintTarget::Pager(pager) => pager.finish(),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            PrintTarget::Writer(to) => to.write(buf),
            PrintTarget::Pager(pager) => pager.write(buf),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            PrintTarget::Writer(to) => to.flush(),
            PrintTarget::Pager(pager) => pager.flush(),
        }
    }
}

/// What is shown of messages and errors, and what counts as failure.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// `-m`: messages and errors below this severity are not shown; -1 shows the numbers of
    /// messages too.
    pub shown: i32,
    /// `-V`: errors below this severity are no failure.
    pub failure: Option<u8>,
    /// `-r0`: messages go where results go.
    pub messages_to_results: bool,
}

/// What a batch came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrintedBatch {
    /// The exit code that its errors ask for, 0 without any.
    pub code: u8,
    /// RAISERROR with state 127: the run ends, with this exit code.
    pub quit: Option<u8>,
    /// The first value of the last row.
    pub last: Option<i64>,
    /// There was a row.
    pub rows: bool,
}

/// Prints what batches produce.
pub struct Printer {
    results: Results<Stream>,
    errors: Stream,
    pub levels: Levels,
    /// Somebody types, and Ctrl+C cancels.
    pub typed: bool,
    /// What runs: where its errors are.
    batch: Batch,
    /// The first value of each row is kept, for `EXIT(query)`.
    keep_last: bool,
    came: PrintedBatch,
    /// Whether a timeout has come, and what error 3617 says then.
    pub cancelled_by: Option<(Arc<AtomicBool>, String)>,
    /// A stream could not be written: the exit code. Nothing is printed any more.
    broken: Option<u8>,
}

/// The error with which a sink stops its batch; it is never shown.
fn stopped() -> SqlError {
    SqlError::new(0, 20, 1, "The output cannot be written.")
}

/// The exit code of a message number: its low byte, as far as that is not success.
fn low_byte(number: i32) -> u8 {
    (number & 0xff).max(1) as u8
}

impl Printer {
    /// Prints result sets to `results`, messages and errors to `errors`.
    pub fn new(results: Stream, errors: Stream, format: Format, style: TableStyle) -> Printer {
        Printer {
            results: Results::new(results, writer(format, &style)),
            errors,
            levels: Levels::default(),
            typed: false,
            batch: Batch::default(),
            keep_last: false,
            came: PrintedBatch::default(),
            cancelled_by: None,
            broken: None,
        }
    }

    /// The exit code if a stream could not be written.
    pub fn broken(&self) -> Option<u8> {
        self.broken
    }

    /// Sends results elsewhere; what was written before is out. `fresh`: nothing was written there
    /// yet.
    pub fn set_results(&mut self, stream: Stream, fresh: bool) {
        if self.put(Results::finish).is_ok() {
            *self.results.get_mut() = stream;
            if fresh {
                self.results.restart();
            }
        }
    }

    /// Sends messages and errors elsewhere.
    pub fn set_errors(&mut self, stream: Stream) {
        self.errors = stream;
    }

    /// Another format or table style, between batches.
    pub fn set_format(&mut self, format: Format, style: &TableStyle) {
        self.results.set_writer(writer(format, style));
    }

    /// A batch begins; `keep_last` for `EXIT(query)`.
    pub fn begin(&mut self, batch: Batch, keep_last: bool) {
        self.batch = batch;
        self.keep_last = keep_last;
        self.came = PrintedBatch::default();
        self.cancelled_by = None;
    }

    /// The end of a batch: all of it is out. A write that failed is in [`Printer::broken`].
    pub fn finish(&mut self) -> PrintedBatch {
        if self.put(Results::finish).is_ok() {
            let ended = self.results.get_mut().end_batch();
            let name = self.results.get_mut().name.clone();
            let _ = self.check(&name, ended);
        }
        self.came
    }

    /// Text among the results.
    pub fn print(&mut self, text: &str) {
        let _ = self.put(|out| {
            out.get_mut().write_all(text.as_bytes()).and_then(|()| out.get_mut().flush())
        });
    }

    /// A line among the messages.
    pub fn say(&mut self, text: &str) -> Result<(), SqlError> {
        self.put(Results::finish)?;
        if self.results.get_mut().pages() {
            return self.put(|out| writeln!(out.get_mut(), "{text}"));
        }
        let written = writeln!(self.errors, "{text}").and_then(|()| self.errors.flush());
        let name = self.errors.name.clone();
        self.check(&name, written)
    }

    fn put(
        &mut self,
        write: impl FnOnce(&mut Results<Stream>) -> io::Result<()>,
    ) -> Result<(), SqlError> {
        if self.broken.is_some() {
            return Err(stopped());
        }
        if let Err(error) = write(&mut self.results) {
            let name = self.results.get_mut().name.clone();
            return self.check(&name, Err(error));
        }
        Ok(())
    }

    fn check(&mut self, stream: &str, written: io::Result<()>) -> Result<(), SqlError> {
        written.map_err(|error| {
            self.broken.get_or_insert_with(|| write_failed(stream, &error));
            stopped()
        })
    }

    /// RAISERROR with state 127 ends the run, whatever its severity.
    fn notice(&mut self, error: &SqlError) {
        if error.state == 127 {
            self.came.quit.get_or_insert(low_byte(error.number));
        }
    }
}

impl Sink for Printer {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        (self.came.rows, self.came.last) = (false, None);
        self.put(|out| out.columns(columns))
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            if self.keep_last {
                self.came.rows = true;
                self.came.last = row.first().and_then(Value::as_i64);
            }
            self.put(|out| out.row(row))
        })
    }

    fn done(&mut self, end: engine::StatementEnd) -> Result<(), SqlError> {
        let query = end.statement == engine::StatementKind::Select;
        self.put(|out| {
            // What counts as a query and has no result is an assignment to variables.
            let rows = end.rows.filter(|_| out.is_in_set() || !query);
            out.done(rows)
        })
    }

    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.notice(message);
        if self.levels.shown > i32::from(message.severity) {
            return Ok(());
        }
        let numbered = self.levels.shown < 0 && message.number != 0;
        let text = if numbered {
            error_text(message, &self.batch.place(message.line))
        } else {
            message.message.clone()
        };
        if self.levels.messages_to_results {
            return self.put(|out| out.finish().and_then(|()| writeln!(out.get_mut(), "{text}")));
        }
        self.say(&text)
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.notice(error);
        match self.levels.failure {
            None => self.came.code = 1,
            Some(least) if error.severity >= least => {
                self.came.code = self.came.code.max(error.severity)
            }
            Some(_) => {}
        }
        let timeout =
            self.cancelled_by.as_ref().filter(|(expired, _)| expired.load(Ordering::Acquire));
        if error.number == 3617
            && let Some((_, text)) = timeout
        {
            return self.say(&text.clone());
        }
        if self.levels.shown > i32::from(error.severity) {
            return Ok(());
        }
        let text = error_text(error, &self.batch.place(error.line));
        // Behind the ^C of the terminal.
        let lead = if self.typed && error.number == 3617 { "\n" } else { "" };
        self.say(&format!("{lead}{text}"))
    }
}

/// A place in a message: `a.sql, line 3: ` or nothing for what was typed.
pub fn prefix(place: &SourceLine) -> String {
    match &place.file {
        Some(file) => format!("{file}, line {}: ", place.line),
        None => String::new(),
    }
}

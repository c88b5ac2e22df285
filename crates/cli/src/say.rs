//! What commands say beside their results. Nothing here panics: standard error may be closed or
//! full, and a command that cannot complain still ends as it should. Output whose loss matters goes
//! through [`print`], which returns its error.

use super::source_line::SourceLine;
use engine::SqlError;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// The exit code after a write to a pipe that nobody reads any more, as if SIGPIPE had ended the
/// process.
pub const BROKEN_PIPE: u8 = 128 + 13;

/// A line on standard error; lost when that cannot be written.
pub fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Text on standard output.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// An error as sqlcmd prints it, with the file that it is in where several take part. The line of
/// an error in a procedure, function or trigger is counted there.
pub fn error_text(error: &SqlError, place: &SourceLine) -> String {
    let (number, severity, state, message) =
        (error.number, error.severity, error.state, &error.message);
    let file = place.file.as_ref().map_or(String::new(), |file| format!("File {file}, "));
    let line = match error.procedure() {
        "" => format!("Line {}", place.line),
        procedure => format!("Procedure {procedure}, Line {}", error.line),
    };
    format!("Msg {number}, Level {severity}, State {state}, {file}{line}\n{message}")
}

/// [`error_text`] on standard error.
pub fn say_error(error: &SqlError) {
    say(error_text(error, &SourceLine { file: None, line: error.line.max(1) }));
}

/// Says that `stream` could not be written, but for a broken pipe, whose reader went away on
/// purpose; the exit code.
pub fn write_failed(stream: &str, error: &io::Error) -> u8 {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return BROKEN_PIPE;
    }
    say(format_args!("{stream}: {error}"));
    1
}

/// The exit code of a command that only prints.
pub fn printed(result: io::Result<()>, code: ExitCode) -> ExitCode {
    match result {
        Ok(()) => code,
        Err(error) => ExitCode::from(write_failed("standard output", &error)),
    }
}

/// `1 session`, `2 sessions`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

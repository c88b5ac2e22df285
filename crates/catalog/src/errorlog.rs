//! The error log: what an administrator wants to read after something went wrong. Kept in memory
//! (the newest lines), and each line is added to `log/ERRORLOG` as it is written; the files of
//! previous starts and cycles are kept as `ERRORLOG.1` (the newest) to `ERRORLOG.6`. Guarantees: a
//! line outlives the process once [`ErrorLog::write`] returns, and a power failure once
//! [`ErrorLog::save`] does; a failing log file never fails the server; all files together stay
//! below [`FILE_MOST`] times seven.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use disk::Disk;
use parking_lot::Mutex;
use types::{RaisedError, SqlError};

/// Lines kept; older ones are dropped from memory and file.
const KEPT: usize = 4000;

/// Bytes of lines kept: the oldest go for a long one.
const KEPT_BYTES: usize = 4 << 20;

/// Earlier files kept.
const ARCHIVES: usize = 6;

/// Bytes from which on a new file begins: whoever may fail to log in adds lines.
const FILE_MOST: usize = 8 << 20;

/// A line as it is written.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a> {
    /// Time since 1970.
    pub at: Duration,
    /// `Server`, `Logon`, `spid52`.
    pub source: &'a str,
    pub text: &'a str,
}

/// The line of an error that nobody else is told of.
pub fn line_of(error: &SqlError) -> String {
    let RaisedError { number, severity, state, message, .. } = &**error;
    format!("Error: {number}, Severity: {severity}, State: {state}. {message}")
}

/// What is told of each line besides: a program shows its log so. It must not block for long, and
/// must not write to the log.
#[derive(Clone)]
pub struct Echo(pub Arc<dyn Fn(&LogLine<'_>) + Send + Sync>);

impl fmt::Debug for Echo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Echo")
    }
}

/// The log of one run of the instance.
#[derive(Debug)]
pub struct ErrorLog {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    echo: Option<Echo>,
    state: Mutex<ErrorLogState>,
}

#[derive(Debug, Default)]
struct ErrorLogState {
    lines: VecDeque<String>,
    /// Of all lines.
    bytes: usize,
    /// Lines were added to the file since it was last made durable.
    unsaved: bool,
    /// Bytes in the file of this run; `None` before its first line.
    file: Option<usize>,
}

impl ErrorLogState {
    fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > KEPT || (self.bytes > KEPT_BYTES && self.lines.len() > 1) {
            self.bytes -= self.lines.pop_front().map_or(0, |gone| gone.len());
        }
    }
}

impl ErrorLog {
    /// A log whose files are in `folder`, where nothing is written before the first line.
    pub fn new(disk: Arc<dyn Disk>, folder: PathBuf) -> ErrorLog {
        ErrorLog { disk, folder, echo: None, state: Mutex::default() }
    }

    /// The same log, whose lines are told to `echo` too.
    pub fn with_echo(mut self, echo: Option<Echo>) -> ErrorLog {
        self.echo = echo;
        self
    }

    /// Adds a line with the time and its source (`Server`, `spid52`).
    pub fn write(&self, source: &str, text: &str) {
        let at = super::clock::since_epoch();
        let line = format!("{} {source:<10} {text}", super::clock::text(at));
        if let Some(Echo(echo)) = &self.echo {
            echo(&LogLine { at, source, text });
        }
        let mut state = self.state.lock();
        self.add(&mut state, &line);
        state.push(line);
    }

    /// Adds a line to the file. The first line of a start, and of a file that has become long,
    /// begins a new one.
    fn add(&self, state: &mut ErrorLogState, line: &str) {
        let used = state.file.filter(|used| *used < FILE_MOST);
        if used.is_none() {
            self.rotate();
        }
        state.file = Some(used.unwrap_or(0) + line.len() + 1);
        state.unsaved = true;
        // The log is a convenience: a full or failing disk must not stop the server because of it.
        let _ = self.disk.append(&self.current(), format!("{line}\n").as_bytes(), false);
    }

    fn current(&self) -> PathBuf {
        self.folder.join("ERRORLOG")
    }

    /// The present file becomes the newest of the earlier ones.
    fn rotate(&self) {
        let _ = self.disk.create_dir_all(&self.folder);
        if self.disk.exists(&self.current()).unwrap_or(false) {
            for n in
                (1..ARCHIVES).rev().filter(|n| self.disk.exists(&self.archive(*n)).unwrap_or(false))
            {
                let _ = self.disk.rename(&self.archive(n), &self.archive(n + 1));
            }
            let _ = self.disk.rename(&self.current(), &self.archive(1));
        }
    }

    /// The lines, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.state.lock().lines.iter().cloned().collect()
    }

    /// Makes the lines durable.
    pub fn save(&self) {
        if std::mem::take(&mut self.state.lock().unsaved) {
            // As above.
            let _ = self.disk.append(&self.current(), b"", true);
        }
    }

    fn archive(&self, number: usize) -> PathBuf {
        self.folder.join(format!("ERRORLOG.{number}"))
    }

    /// Begins a new file, as at a start; the present one is an earlier one from then on.
    pub fn cycle(&self) {
        self.save();
        {
            let mut state = self.state.lock();
            state.lines.clear();
            (state.bytes, state.file) = (0, None);
        }
        self.write(
            "Server",
            "The error log has been reinitialized. See the previous log for older entries.",
        );
        self.save();
    }

    /// The lines of an earlier file; `None`: there is none of this number.
    pub fn earlier(&self, number: usize) -> Option<Vec<String>> {
        let bytes = self.disk.read_small(&self.archive(number)).ok()?;
        Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    }
}

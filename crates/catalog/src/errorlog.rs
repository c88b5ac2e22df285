//! The error log: what an administrator wants to read after something went wrong. Kept in memory (the newest lines)
//! and written to `log/ERRORLOG`; those of previous starts and cycles are kept as `ERRORLOG.1` (the newest) to `ERRORLOG.6`.
//! Guarantee: a failing log file never fails the server.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use disk::Disk;
use parking_lot::Mutex;

/// Lines kept; older ones are dropped from memory and file.
const KEPT: usize = 4000;

/// Bytes of lines kept: the oldest go for a long one.
const KEPT_BYTES: usize = 4 << 20;

/// Earlier files kept.
const ARCHIVES: usize = 6;

/// A line as it is written.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Time since 1970.
    pub at: Duration,
    /// `Server`, `Logon`, `spid52`.
    pub source: &'a str,
    pub text: &'a str,
}

/// What is told of each line besides: a program shows its log so. It must not block for long, and must not write to the log.
#[derive(Clone)]
pub struct Echo(pub Arc<dyn Fn(&Line<'_>) + Send + Sync>);

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
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<String>,
    /// Of all lines.
    bytes: usize,
    unsaved: bool,
    rotated: bool,
}

impl State {
    fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > KEPT || (self.bytes > KEPT_BYTES && self.lines.len() > 1) {
            self.bytes -= self.lines.pop_front().map_or(0, |gone| gone.len());
        }
    }
}

impl ErrorLog {
    /// A log whose files are in `folder`; nothing is written before [`ErrorLog::save`].
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
            echo(&Line { at, source, text });
        }
        let mut state = self.state.lock();
        state.push(line);
        state.unsaved = true;
    }

    /// The lines, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.state.lock().lines.iter().cloned().collect()
    }

    /// Brings the file up to date. The first time in a run it keeps the previous run's file.
    pub fn save(&self) {
        let (text, rotate) = {
            let mut state = self.state.lock();
            if !state.unsaved {
                return;
            }
            state.unsaved = false;
            let rotate = !std::mem::replace(&mut state.rotated, true);
            let mut text = String::new();
            for line in &state.lines {
                text.push_str(line);
                text.push('\n');
            }
            (text, rotate)
        };
        let current = self.folder.join("ERRORLOG");
        // The log is a convenience: a full or failing disk must not stop the server because of it.
        let _ = self.disk.create_dir_all(&self.folder);
        if rotate && self.disk.exists(&current).unwrap_or(false) {
            for n in (1..ARCHIVES).rev().filter(|n| self.disk.exists(&self.archive(*n)).unwrap_or(false)) {
                let _ = self.disk.rename(&self.archive(n), &self.archive(n + 1));
            }
            let _ = self.disk.rename(&current, &self.archive(1));
        }
        let _ = self.disk.write_small_atomic(&current, text.as_bytes());
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
            state.bytes = 0;
            state.rotated = false;
        }
        self.write("Server", "The error log has been reinitialized. See the previous log for older entries.");
        self.save();
    }

    /// The lines of an earlier file; `None`: there is none of this number.
    pub fn earlier(&self, number: usize) -> Option<Vec<String>> {
        let bytes = self.disk.read_small(&self.archive(number)).ok()?;
        Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    }
}

//! How far a long copy has come: a line on standard error that is written over, when that is a
//! terminal.

use super::say::say;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time between two lines.
const STEP: Duration = Duration::from_millis(300);

/// Progress of one copy.
pub struct Progress {
    began: Instant,
    shown: Option<Instant>,
    terminal: bool,
    /// Bytes of the whole, when that is known.
    total: Option<u64>,
}

impl Progress {
    /// A copy begins; nothing is shown when `quiet`, or when standard error is no terminal.
    pub fn new(total: Option<u64>, quiet: bool) -> Progress {
        let terminal = !quiet && io::stderr().is_terminal();
        Progress { began: Instant::now(), shown: None, terminal, total }
    }

    /// So far: rows, and bytes of the file.
    pub fn at(&mut self, rows: u64, bytes: u64) {
        if !self.terminal || self.shown.unwrap_or(self.began).elapsed() < STEP {
            return;
        }
        self.shown = Some(Instant::now());
        let part = match self.total {
            Some(total) if total > 0 => {
                format!(", {} %", (bytes.min(total) * 100).div_euclid(total))
            }
            _ => String::new(),
        };
        let seconds = self.began.elapsed().as_secs_f64();
        let _ = write!(io::stderr(), "\r{} rows{part}, {seconds:.0} s ", grouped(rows));
    }

    /// The copy has ended; its line goes.
    pub fn end(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r{:60}\r", "");
        }
    }

    /// Ends, and says what was done: `Imported 3 rows into t in 0.1 s.`
    pub fn done(&mut self, verb: &str, rows: u64, what: &str) {
        self.end();
        let plural = if rows == 1 { "" } else { "s" };
        let seconds = self.began.elapsed().as_secs_f64();
        say(format_args!("{verb} {} row{plural} {what} in {seconds:.1} s.", grouped(rows)));
    }
}

/// `1,234,567`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(super::grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}

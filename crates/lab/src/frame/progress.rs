//! Progress on standard error: a bar that is redrawn on a terminal, a line now and then elsewhere.
//! The time left is the mean of the finished runs of the same kind for each run still to come, and
//! the study's own estimate before the first.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a line is printed where there is no terminal.
const QUIET_INTERVAL: Duration = Duration::from_secs(5);
const WIDTH: usize = 28;

/// Progress of a run of studies.
pub struct Progress {
    show: bool,
    terminal: bool,
    done: usize,
    total: usize,
    /// Kind to (runs left, estimate of one, seconds so far, finished).
    kinds: HashMap<String, Kind>,
    printed: Option<Instant>,
}

#[derive(Default)]
struct Kind {
    left: usize,
    estimate: f64,
    seconds: f64,
    finished: usize,
}

impl Kind {
    fn one(&self) -> f64 {
        if self.finished > 0 { self.seconds / self.finished as f64 } else { self.estimate }
    }
}

impl Progress {
    /// Silent unless `show`.
    pub fn new(show: bool) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        Progress { show, terminal, done: 0, total: 0, kinds: HashMap::new(), printed: None }
    }

    /// Announces `runs` runs of a kind of about `estimate` seconds each.
    pub fn plan(&mut self, kind: &str, runs: usize, estimate: f64) {
        let entry = self.kinds.entry(kind.to_owned()).or_default();
        entry.left += runs;
        entry.estimate = estimate;
        self.total += runs;
    }

    /// One run of a kind has ended after that many seconds.
    pub fn finished(&mut self, kind: &str, seconds: f64) {
        self.done += 1;
        if let Some(entry) = self.kinds.get_mut(kind) {
            entry.left = entry.left.saturating_sub(1);
            entry.seconds += seconds;
            entry.finished += 1;
        }
    }

    /// That many more runs are planned of a kind that [`Progress::plan`] has announced.
    pub fn more(&mut self, kind: &str, runs: usize) {
        self.total += runs;
        if let Some(kind) = self.kinds.get_mut(kind) {
            kind.left += runs;
        }
    }

    /// Seconds until the end, roughly.
    pub fn left(&self) -> f64 {
        self.kinds.values().map(|k| k.left as f64 * k.one()).sum()
    }

    /// Shows what is being done now.
    pub fn now(&mut self, what: &str) {
        if !self.show {
            return;
        }
        let line = self.line(what);
        let mut err = std::io::stderr().lock();
        if self.terminal {
            let _ = write!(err, "\r\x1b[2K{line}");
        } else if self.printed.is_none_or(|at| at.elapsed() >= QUIET_INTERVAL) {
            self.printed = Some(Instant::now());
            let _ = writeln!(err, "{line}");
        }
        let _ = err.flush();
    }

    fn line(&self, what: &str) -> String {
        let filled = (self.done * WIDTH).checked_div(self.total).unwrap_or(0);
        format!(
            "[{}{}] {}/{} {what}, about {} left",
            "#".repeat(filled),
            ".".repeat(WIDTH - filled),
            self.done,
            self.total,
            duration(self.left())
        )
    }

    /// A line that stays.
    pub fn say(&mut self, text: &str) {
        if !self.show {
            return;
        }
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        let _ = writeln!(std::io::stderr(), "{clear}{text}");
    }

    /// Removes the bar.
    pub fn end(&mut self) {
        if self.show && self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// Seconds as a person says them.
pub fn duration(seconds: f64) -> String {
    let s = seconds.max(0.0).round() as u64;
    match s {
        0..100 => format!("{s} s"),
        100..6000 => format!("{} min", (s + 30) / 60),
        _ => format!("{:.1} h", s as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_comes_from_what_has_been_seen() {
        let mut progress = Progress::new(false);
        progress.plan("a", 3, 10.0);
        progress.plan("b", 1, 100.0);
        assert_eq!(progress.left(), 130.0);
        progress.finished("a", 4.0);
        assert_eq!(progress.left(), 108.0);
        assert!(
            progress.line("x").starts_with("[#######....................."),
            "{}",
            progress.line("x")
        );
        progress.more("b", 1);
        assert_eq!(progress.left(), 208.0);
        assert!(progress.line("x").contains("] 1/5 x"), "{}", progress.line("x"));
    }

    #[test]
    fn durations() {
        assert_eq!(duration(12.4), "12 s");
        assert_eq!(duration(150.0), "3 min");
        assert_eq!(duration(7200.0), "2.0 h");
    }
}

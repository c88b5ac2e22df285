//! Wait statistics of the log, as the log reports them; pages and locks keep their own. And what a log tells of its growth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use wal::{GrowthEvent, WaitKind, WaitSink};

use super::errorlog::ErrorLog;
use crate::session::activity;

/// An automatic growth that takes longer is told to the error log.
const SLOW_GROWTH_US: u64 = 1_000_000;

#[derive(Debug, Default)]
struct Cell {
    count: AtomicU64,
    total_us: AtomicU64,
    max_us: AtomicU64,
}

/// Waits for the logs of all databases.
#[derive(Debug, Default)]
pub struct LogWaits {
    write: Cell,
    buffer: Cell,
    growth: Cell,
}

/// The wait type of a log wait.
pub fn wait_type(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::WriteLog => "WRITELOG",
        WaitKind::LogBuffer => "LOGBUFFER",
        WaitKind::Growth => "PREEMPTIVE_OS_WRITEFILEGATHER",
    }
}

impl LogWaits {
    /// (wait type, number, microseconds in all, longest) of each.
    pub fn list(&self) -> [(&'static str, u64, u64, u64); 3] {
        let get = |kind, cell: &Cell| {
            (
                wait_type(kind),
                cell.count.load(Relaxed),
                cell.total_us.load(Relaxed),
                cell.max_us.load(Relaxed),
            )
        };
        [
            get(WaitKind::WriteLog, &self.write),
            get(WaitKind::LogBuffer, &self.buffer),
            get(WaitKind::Growth, &self.growth),
        ]
    }

    /// DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR).
    pub fn clear(&self) {
        for cell in [&self.write, &self.buffer, &self.growth] {
            cell.count.store(0, Relaxed);
            cell.total_us.store(0, Relaxed);
            cell.max_us.store(0, Relaxed);
        }
    }

    fn add(&self, kind: WaitKind, us: u64) {
        let cell = match kind {
            WaitKind::WriteLog => &self.write,
            WaitKind::LogBuffer => &self.buffer,
            WaitKind::Growth => &self.growth,
        };
        cell.count.fetch_add(1, Relaxed);
        cell.total_us.fetch_add(us, Relaxed);
        cell.max_us.fetch_max(us, Relaxed);
    }
}

/// What one database's log reports to.
#[derive(Debug)]
pub struct LogReports {
    all: Arc<LogWaits>,
    errors: Arc<ErrorLog>,
    /// Names as they were when the database was opened.
    file: String,
    database: String,
}

impl LogReports {
    /// Reports of the log `file` of `database`.
    pub fn new(all: Arc<LogWaits>, errors: Arc<ErrorLog>, file: &str, database: &str) -> LogReports {
        LogReports { all, errors, file: file.into(), database: database.into() }
    }
}

impl WaitSink for LogReports {
    fn waits(&self, kind: WaitKind) {
        activity::waits(kind);
    }

    fn waited(&self, kind: WaitKind, us: u64) {
        activity::waited();
        self.all.add(kind, us);
    }

    fn grew(&self, growth: &GrowthEvent) {
        if growth.us < SLOW_GROWTH_US {
            return;
        }
        let text = format!(
            "Error: 5145, Severity: 10, State: 1. Autogrow of file '{}' in database '{}' took {} milliseconds. \
             Consider using ALTER DATABASE to set a smaller FILEGROWTH for this file.",
            self.file,
            self.database,
            growth.us / 1000
        );
        self.errors.write("Server", &text);
        self.errors.save();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_growth_is_in_the_error_log_and_a_quick_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(disk::OsDisk::new(folder.path()));
        let errors = Arc::new(ErrorLog::new(disk, folder.path().join("log")));
        let reports = LogReports::new(Arc::default(), errors.clone(), "Sales_log", "Sales");
        reports.grew(&GrowthEvent { from: 1 << 20, to: 2 << 20, us: SLOW_GROWTH_US - 1 });
        assert!(errors.lines().is_empty());
        reports.grew(&GrowthEvent { from: 1 << 20, to: 2 << 20, us: 2_345_678 });
        let said = errors.lines().join("\n");
        assert!(
            said.contains("5145") && said.contains("'Sales_log' in database 'Sales' took 2345 milliseconds"),
            "{said}"
        );
        let saved = std::fs::read_to_string(folder.path().join("log/ERRORLOG")).unwrap();
        assert_eq!(saved.trim_end(), said);
    }
}

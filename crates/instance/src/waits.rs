//! Wait statistics of the log and of growing files, as they report them; pages and locks keep their
//! own. And what a file tells of its growth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use wal::{GrowthEvent, WaitKind, WaitSink};

use catalog::errorlog::ErrorLog;
use catalog::registry::DbEntry;
use session::state::activity;

/// An automatic growth that takes longer is told to the error log.
const SLOW_GROWTH_US: u64 = 1_000_000;

#[derive(Debug, Default)]
struct Cell {
    count: AtomicU64,
    total_us: AtomicU64,
    max_us: AtomicU64,
}

/// Waits for the logs and the growing files of all databases.
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

/// What one database's files report to.
#[derive(Debug)]
pub struct FileReports {
    all: Arc<LogWaits>,
    errors: Arc<ErrorLog>,
    /// The database and its files as they were when it was opened.
    entry: DbEntry,
}

impl FileReports {
    /// Reports of the log and the data files of a database.
    pub fn new(all: Arc<LogWaits>, errors: Arc<ErrorLog>, entry: DbEntry) -> FileReports {
        FileReports { all, errors, entry }
    }

    /// The name of the file that has grown; a file that has come since says its own.
    fn name<'a>(&'a self, growth: &'a GrowthEvent) -> &'a str {
        let found = self.entry.files.iter().find(|f| match &growth.data_file {
            None => f.log,
            Some((id, _)) => !f.log && f.file_id == *id,
        });
        let own = growth.data_file.as_ref().map_or("", |(_, name)| name.as_str());
        found.map_or(own, |f| f.name.as_str())
    }
}

impl WaitSink for FileReports {
    fn waits(&self, kind: WaitKind) {
        activity::waits(kind);
    }

    fn waited(&self, kind: WaitKind, us: u64) {
        activity::waited();
        self.all.add(kind, us);
    }

    fn failed(&self, what: &str) {
        self.errors.write("database", &format!("Database '{}': {what}", self.entry.name));
        self.errors.save();
    }

    fn grew(&self, growth: &GrowthEvent) {
        if growth.us < SLOW_GROWTH_US {
            return;
        }
        let text = format!(
            "Error: 5145, Severity: 10, State: 1. Autogrow of file '{}' in database '{}' took {} milliseconds. \
             Consider using ALTER DATABASE to set a smaller FILEGROWTH for this file.",
            self.name(growth),
            self.entry.name,
            growth.us / 1000
        );
        self.errors.write("Server", &text);
        self.errors.save();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::registry::FileEntry;

    #[test]
    fn a_slow_growth_is_in_the_error_log_and_a_quick_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(disk::OsDisk::new(folder.path()));
        let errors = Arc::new(ErrorLog::new(disk, folder.path().join("log")));
        let file = |file_id, log, name: &str| FileEntry {
            file_id,
            log,
            filegroup: 1,
            name: name.into(),
            path: name.into(),
            shown: name.into(),
            next: None,
        };
        let entry = DbEntry {
            id: 5,
            name: "Sales".into(),
            offline: false,
            restoring: false,
            log_alignment: 0,
            filegroups: vec!["PRIMARY".into()],
            files: vec![file(1, false, "Sales_renamed"), file(2, true, "Sales_log")],
        };
        let reports = FileReports::new(Arc::default(), errors.clone(), entry);
        let grew = |data_file: Option<(u16, &str)>, us| {
            let data_file = data_file.map(|(id, name)| (id, name.to_string()));
            reports.grew(&GrowthEvent { data_file, from: 1 << 20, to: 2 << 20, us });
        };
        grew(None, SLOW_GROWTH_US - 1);
        grew(Some((1, "Sales")), SLOW_GROWTH_US - 1);
        assert!(errors.lines().is_empty());
        grew(None, 2_345_678);
        grew(Some((1, "Sales")), 3_000_000);
        grew(Some((3, "Sales_3")), 4_000_000);
        let said = errors.lines().join("\n");
        assert!(
            said.contains("5145")
                && said.contains("'Sales_log' in database 'Sales' took 2345 milliseconds"),
            "{said}"
        );
        assert!(
            said.contains("'Sales_renamed' in database 'Sales' took 3000 milliseconds"),
            "{said}"
        );
        assert!(said.contains("'Sales_3' in database 'Sales' took 4000 milliseconds"), "{said}");
        let saved = std::fs::read_to_string(folder.path().join("log/ERRORLOG")).unwrap();
        assert_eq!(saved.trim_end(), said);
    }
}

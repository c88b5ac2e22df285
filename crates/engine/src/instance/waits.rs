//! Wait statistics of the log, as the log reports them; pages and locks keep their own.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use wal::{WaitKind, WaitSink};

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

impl LogWaits {
    /// (wait type, number, microseconds in all, longest) of each.
    pub fn list(&self) -> [(&'static str, u64, u64, u64); 3] {
        let get = |name, cell: &Cell| {
            (name, cell.count.load(Relaxed), cell.total_us.load(Relaxed), cell.max_us.load(Relaxed))
        };
        [
            get("WRITELOG", &self.write),
            get("LOGBUFFER", &self.buffer),
            get("PREEMPTIVE_OS_WRITEFILEGATHER", &self.growth),
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
}

impl WaitSink for LogWaits {
    fn waited(&self, kind: WaitKind, us: u64) {
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

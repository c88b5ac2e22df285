//! Wait statistics of the buffer pool: counted only when a thread really waits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a thread waited for, by the names of `sys.dm_os_wait_stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum PageWait {
    LatchSh,
    LatchEx,
    LatchUp,
    IoSh,
    IoEx,
}

impl PageWait {
    pub const ALL: [PageWait; 5] =
        [PageWait::LatchSh, PageWait::LatchEx, PageWait::LatchUp, PageWait::IoSh, PageWait::IoEx];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PageWait::LatchSh => "PAGELATCH_SH",
            PageWait::LatchEx => "PAGELATCH_EX",
            PageWait::LatchUp => "PAGELATCH_UP",
            PageWait::IoSh => "PAGEIOLATCH_SH",
            PageWait::IoEx => "PAGEIOLATCH_EX",
        }
    }
}

/// Counters of one wait: number, total and longest time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCount {
    pub count: u64,
    pub total_us: u64,
    pub max_us: u64,
}

#[derive(Debug, Default)]
struct Cell {
    count: AtomicU64,
    total_us: AtomicU64,
    max_us: AtomicU64,
}

/// Counters of all page waits.
#[derive(Debug, Default)]
pub struct PageWaits([Cell; 5]);

impl PageWaits {
    pub(crate) fn add(&self, wait: PageWait, us: u64) {
        let cell = &self.0[wait as usize];
        cell.count.fetch_add(1, Relaxed);
        cell.total_us.fetch_add(us, Relaxed);
        cell.max_us.fetch_max(us, Relaxed);
    }

    #[must_use]
    pub fn get(&self, wait: PageWait) -> WaitCount {
        let cell = &self.0[wait as usize];
        WaitCount {
            count: cell.count.load(Relaxed),
            total_us: cell.total_us.load(Relaxed),
            max_us: cell.max_us.load(Relaxed),
        }
    }
}

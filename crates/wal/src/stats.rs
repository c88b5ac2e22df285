//! What the log reports: the types of its space, VLFs and counters, and the counters themselves.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Lsn;
use crate::options::WaitKind;

/// Space of the log in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpace {
    /// Size of the file.
    pub size: u64,
    /// From the start of the oldest VLF that is kept to the end of the log.
    pub used: u64,
    /// Set aside for undo.
    pub reserved: u64,
    pub vlf_count: u32,
    pub active_vlfs: u32,
    pub active_bytes: u64,
    pub current_vlf: u32,
    pub current_vlf_size: u64,
}

/// One VLF as the DMVs show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlfInfo {
    pub begin_offset: u64,
    pub size: u64,
    /// 0 if it was never used.
    pub seq: u32,
    /// 0 = can be used (again), 2 = holds records that are kept.
    pub status: u8,
    /// 0 = never used, else 64 and 128 in turn.
    pub parity: u8,
    pub create_lsn: Lsn,
    /// First record of its latest use; zero if never used.
    pub first_lsn: Lsn,
}

/// What [`Log::shrink_to`](crate::Log::shrink_to) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShrinkReport {
    pub old_size: u64,
    pub new_size: u64,
    pub vlfs_removed: u32,
    /// The last VLF of the file holds records that are kept; that is why the file is not smaller.
    pub held_by_active: bool,
}

/// Counters since the log was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    pub records: u64,
    /// Bytes of records, without headers and padding.
    pub record_bytes: u64,
    pub writes: u64,
    pub bytes_written: u64,
    /// Times that the log was made durable.
    pub flushes: u64,
    pub growths: u64,
    pub shrinks: u64,
    /// Times that VLFs became free.
    pub truncations: u64,
    /// Times that the log continued in another VLF.
    pub vlf_changes: u64,
    pub write_log_waits: u64,
    pub write_log_wait_us: u64,
    pub log_buffer_waits: u64,
    pub log_buffer_wait_us: u64,
    pub growth_waits: u64,
    pub growth_wait_us: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    records: AtomicU64,
    record_bytes: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    flushes: AtomicU64,
    growths: AtomicU64,
    shrinks: AtomicU64,
    truncations: AtomicU64,
    waits: [AtomicU64; 3],
    wait_us: [AtomicU64; 3],
}

impl Counters {
    pub fn count_records(&self, records: u64, bytes: u64) {
        self.records.fetch_add(records, Relaxed);
        self.record_bytes.fetch_add(bytes, Relaxed);
    }

    pub fn count_write(&self, bytes: u64) {
        self.writes.fetch_add(1, Relaxed);
        self.bytes_written.fetch_add(bytes, Relaxed);
    }

    pub fn count_flush(&self) {
        self.flushes.fetch_add(1, Relaxed);
    }

    pub fn count_growth(&self) {
        self.growths.fetch_add(1, Relaxed);
    }

    pub fn count_shrink(&self) {
        self.shrinks.fetch_add(1, Relaxed);
    }

    pub fn count_truncation(&self) {
        self.truncations.fetch_add(1, Relaxed);
    }

    pub fn count_wait(&self, kind: WaitKind, us: u64) {
        let at = match kind {
            WaitKind::WriteLog => 0,
            WaitKind::LogBuffer => 1,
            WaitKind::Growth => 2,
        };
        self.waits[at].fetch_add(1, Relaxed);
        self.wait_us[at].fetch_add(us, Relaxed);
    }

    /// The counters now; changes of VLF are counted in the tail.
    pub fn read(&self) -> LogStats {
        LogStats {
            records: self.records.load(Relaxed),
            record_bytes: self.record_bytes.load(Relaxed),
            writes: self.writes.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            flushes: self.flushes.load(Relaxed),
            growths: self.growths.load(Relaxed),
            shrinks: self.shrinks.load(Relaxed),
            truncations: self.truncations.load(Relaxed),
            vlf_changes: 0,
            write_log_waits: self.waits[0].load(Relaxed),
            write_log_wait_us: self.wait_us[0].load(Relaxed),
            log_buffer_waits: self.waits[1].load(Relaxed),
            log_buffer_wait_us: self.wait_us[1].load(Relaxed),
            growth_waits: self.waits[2].load(Relaxed),
            growth_wait_us: self.wait_us[2].load(Relaxed),
        }
    }
}

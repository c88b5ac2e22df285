//! Per-file I/O statistics: counters and histograms of write sizes and latencies, all relaxed atomics.
//!
//! They feed `sys.dm_io_virtual_file_stats` and the studies; each counter only grows.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Write size classes: upper bounds 512, 1 K, 2 K, 4 K, 8 K, 16 K, 32 K, 64 K, 128 K, 256 K, 512 K, 1 M, and above.
pub const SIZE_BUCKETS: usize = 13;
/// Latency classes: bucket `i` counts latencies of less than `2^i` microseconds, the last one everything above.
pub const LATENCY_BUCKETS: usize = 24;

/// Upper bound of a write size class as text.
pub fn size_bucket_label(bucket: usize) -> &'static str {
    const LABELS: [&str; SIZE_BUCKETS] =
        ["512", "1K", "2K", "4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M", ">1M"];
    LABELS.get(bucket).copied().unwrap_or(">1M")
}

/// Live counters of one file.
#[derive(Debug, Default)]
pub struct FileStats {
    reads: AtomicU64,
    bytes_read: AtomicU64,
    read_stall_us: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    write_stall_us: AtomicU64,
    syncs: AtomicU64,
    sync_stall_us: AtomicU64,
    write_sizes: [AtomicU64; SIZE_BUCKETS],
    read_latency: [AtomicU64; LATENCY_BUCKETS],
    write_latency: [AtomicU64; LATENCY_BUCKETS],
    sync_latency: [AtomicU64; LATENCY_BUCKETS],
}

/// A copy of the counters at one moment (each counter by itself exact).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatsSnapshot {
    pub reads: u64,
    pub bytes_read: u64,
    /// Time that callers spent in reads, microseconds.
    pub read_stall_us: u64,
    /// Finished writes; a durable write counts once here, not as a sync.
    pub writes: u64,
    pub bytes_written: u64,
    pub write_stall_us: u64,
    pub syncs: u64,
    pub sync_stall_us: u64,
    pub write_sizes: [u64; SIZE_BUCKETS],
    pub read_latency: [u64; LATENCY_BUCKETS],
    pub write_latency: [u64; LATENCY_BUCKETS],
    pub sync_latency: [u64; LATENCY_BUCKETS],
}

fn size_bucket(bytes: u64) -> usize {
    let units = bytes.div_ceil(512).max(1);
    (units.next_power_of_two().trailing_zeros() as usize).min(SIZE_BUCKETS - 1)
}

fn latency_bucket(us: u64) -> usize {
    ((u64::BITS - us.leading_zeros()) as usize).min(LATENCY_BUCKETS - 1)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl FileStats {
    /// Counts one finished read.
    pub fn count_read(&self, bytes: u64, time: Duration) {
        let us = micros(time);
        self.reads.fetch_add(1, Relaxed);
        self.bytes_read.fetch_add(bytes, Relaxed);
        self.read_stall_us.fetch_add(us, Relaxed);
        self.read_latency[latency_bucket(us)].fetch_add(1, Relaxed);
    }

    /// Counts one finished write, durable or not.
    pub fn count_write(&self, bytes: u64, time: Duration) {
        let us = micros(time);
        self.writes.fetch_add(1, Relaxed);
        self.bytes_written.fetch_add(bytes, Relaxed);
        self.write_stall_us.fetch_add(us, Relaxed);
        self.write_sizes[size_bucket(bytes)].fetch_add(1, Relaxed);
        self.write_latency[latency_bucket(us)].fetch_add(1, Relaxed);
    }

    /// Counts one finished sync.
    pub fn count_sync(&self, time: Duration) {
        let us = micros(time);
        self.syncs.fetch_add(1, Relaxed);
        self.sync_stall_us.fetch_add(us, Relaxed);
        self.sync_latency[latency_bucket(us)].fetch_add(1, Relaxed);
    }

    /// Copies the counters.
    pub fn snapshot(&self) -> StatsSnapshot {
        fn all<const N: usize>(counters: &[AtomicU64; N]) -> [u64; N] {
            std::array::from_fn(|i| counters[i].load(Relaxed))
        }
        StatsSnapshot {
            reads: self.reads.load(Relaxed),
            bytes_read: self.bytes_read.load(Relaxed),
            read_stall_us: self.read_stall_us.load(Relaxed),
            writes: self.writes.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            write_stall_us: self.write_stall_us.load(Relaxed),
            syncs: self.syncs.load(Relaxed),
            sync_stall_us: self.sync_stall_us.load(Relaxed),
            write_sizes: all(&self.write_sizes),
            read_latency: all(&self.read_latency),
            write_latency: all(&self.write_latency),
            sync_latency: all(&self.sync_latency),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_the_class_of_their_upper_bound() {
        assert_eq!(size_bucket_label(size_bucket(512)), "512");
        assert_eq!(size_bucket_label(size_bucket(513)), "1K");
        assert_eq!(size_bucket_label(size_bucket(4096)), "4K");
        assert_eq!(size_bucket_label(size_bucket(61_440)), "64K");
        assert_eq!(size_bucket_label(size_bucket(1 << 20)), "1M");
        assert_eq!(size_bucket_label(size_bucket((1 << 20) + 1)), ">1M");
    }

    #[test]
    fn latencies_fall_below_their_power_of_two() {
        assert_eq!(latency_bucket(0), 0);
        assert_eq!(latency_bucket(1), 1);
        assert_eq!(latency_bucket(63), 6);
        assert_eq!(latency_bucket(64), 7);
        assert_eq!(latency_bucket(u64::MAX), LATENCY_BUCKETS - 1);
    }
}

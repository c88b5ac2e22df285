//! Per-file I/O statistics: counters and histograms of write sizes and latencies, all relaxed
//! atomics.
//!
//! They feed `sys.dm_io_virtual_file_stats` and the studies; each counter only grows. Durable
//! writes are counted as writes and once more separately, because theirs is the latency that a
//! commit waits for.

use crate::sizes::WriteSizes;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Write size classes: upper bounds 512, 1 K, 2 K, 4 K, 8 K, 16 K, 32 K, 64 K, 128 K, 256 K, 512 K,
/// 1 M, and above.
pub const SIZE_BUCKETS: usize = 13;
/// Latency classes: bucket `i` counts latencies of less than `2^i` microseconds, the last one
/// everything above.
pub const LATENCY_BUCKETS: usize = 24;

/// Upper bound of a latency class in microseconds (exclusive); the last class has none and returns
/// `u64::MAX`.
pub fn latency_bucket_limit_us(bucket: usize) -> u64 {
    if bucket + 1 < LATENCY_BUCKETS { 1 << bucket } else { u64::MAX }
}

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
    durable_writes: AtomicU64,
    durable_stall_us: AtomicU64,
    rmw_writes: AtomicU64,
    failed_writes: AtomicU64,
    syncs: AtomicU64,
    sync_stall_us: AtomicU64,
    in_flight: AtomicU64,
    most_in_flight: AtomicU64,
    write_sizes: [AtomicU64; SIZE_BUCKETS],
    exact_sizes: WriteSizes,
    read_latency: [AtomicU64; LATENCY_BUCKETS],
    write_latency: [AtomicU64; LATENCY_BUCKETS],
    durable_latency: [AtomicU64; LATENCY_BUCKETS],
    sync_latency: [AtomicU64; LATENCY_BUCKETS],
}

/// A copy of the counters at one moment (each counter is exact for itself).
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
    /// How many of the writes were durable when they returned, and the time they took.
    pub durable_writes: u64,
    pub durable_stall_us: u64,
    /// How many of the writes begin or end inside a physical sector: the device has to read before
    /// it can write.
    pub rmw_writes: u64,
    /// Writes and syncs that have failed.
    pub failed_writes: u64,
    pub syncs: u64,
    pub sync_stall_us: u64,
    /// Requests of batches that are in flight now, and the most that were since the file was
    /// opened. A difference of two snapshots takes both from the later one; a sum of two files adds
    /// the first and takes the larger of the second.
    pub in_flight: u64,
    pub most_in_flight: u64,
    pub write_sizes: [u64; SIZE_BUCKETS],
    pub read_latency: [u64; LATENCY_BUCKETS],
    pub write_latency: [u64; LATENCY_BUCKETS],
    pub durable_latency: [u64; LATENCY_BUCKETS],
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
        self.exact_sizes.count(bytes);
        self.write_latency[latency_bucket(us)].fetch_add(1, Relaxed);
    }

    /// Counts one finished durable write: as a write and separately.
    pub fn count_durable_write(&self, bytes: u64, time: Duration) {
        self.count_write(bytes, time);
        let us = micros(time);
        self.durable_writes.fetch_add(1, Relaxed);
        self.durable_stall_us.fetch_add(us, Relaxed);
        self.durable_latency[latency_bucket(us)].fetch_add(1, Relaxed);
    }

    /// A request of a batch is put in flight.
    pub fn begin(&self) {
        let now = self.in_flight.fetch_add(1, Relaxed) + 1;
        if now > self.most_in_flight.load(Relaxed) {
            self.most_in_flight.fetch_max(now, Relaxed);
        }
    }

    /// A request of a batch has ended, with success or not.
    pub fn end(&self) {
        self.in_flight.fetch_sub(1, Relaxed);
    }

    /// Notes that a write (counted by one of the calls above) did not cover whole physical sectors.
    pub fn count_rmw(&self) {
        self.rmw_writes.fetch_add(1, Relaxed);
    }

    /// Counts a write or sync that has failed.
    pub fn count_failure(&self) {
        self.failed_writes.fetch_add(1, Relaxed);
    }

    /// Counts one finished sync.
    pub fn count_sync(&self, time: Duration) {
        let us = micros(time);
        self.syncs.fetch_add(1, Relaxed);
        self.sync_stall_us.fetch_add(us, Relaxed);
        self.sync_latency[latency_bucket(us)].fetch_add(1, Relaxed);
    }

    /// Exact sizes of small writes, ascending, and how many of each.
    pub fn exact_write_sizes(&self) -> Vec<(u64, u64)> {
        self.exact_sizes.snapshot()
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
            durable_writes: self.durable_writes.load(Relaxed),
            durable_stall_us: self.durable_stall_us.load(Relaxed),
            rmw_writes: self.rmw_writes.load(Relaxed),
            failed_writes: self.failed_writes.load(Relaxed),
            syncs: self.syncs.load(Relaxed),
            sync_stall_us: self.sync_stall_us.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            most_in_flight: self.most_in_flight.load(Relaxed),
            write_sizes: all(&self.write_sizes),
            read_latency: all(&self.read_latency),
            write_latency: all(&self.write_latency),
            durable_latency: all(&self.durable_latency),
            sync_latency: all(&self.sync_latency),
        }
    }
}

impl StatsSnapshot {
    /// What was counted between `earlier` and this snapshot of the same file.
    pub fn since(&self, earlier: &StatsSnapshot) -> StatsSnapshot {
        let mut between = self.each(earlier, u64::saturating_sub);
        (between.in_flight, between.most_in_flight) = (self.in_flight, self.most_in_flight);
        between
    }

    /// The sum of two files.
    pub fn plus(&self, other: &StatsSnapshot) -> StatsSnapshot {
        self.each(other, u64::saturating_add)
    }

    fn each(&self, b: &StatsSnapshot, f: fn(u64, u64) -> u64) -> StatsSnapshot {
        fn all<const N: usize>(a: &[u64; N], b: &[u64; N], f: fn(u64, u64) -> u64) -> [u64; N] {
            std::array::from_fn(|i| f(a[i], b[i]))
        }
        StatsSnapshot {
            reads: f(self.reads, b.reads),
            bytes_read: f(self.bytes_read, b.bytes_read),
            read_stall_us: f(self.read_stall_us, b.read_stall_us),
            writes: f(self.writes, b.writes),
            bytes_written: f(self.bytes_written, b.bytes_written),
            write_stall_us: f(self.write_stall_us, b.write_stall_us),
            durable_writes: f(self.durable_writes, b.durable_writes),
            durable_stall_us: f(self.durable_stall_us, b.durable_stall_us),
            rmw_writes: f(self.rmw_writes, b.rmw_writes),
            failed_writes: f(self.failed_writes, b.failed_writes),
            syncs: f(self.syncs, b.syncs),
            sync_stall_us: f(self.sync_stall_us, b.sync_stall_us),
            in_flight: f(self.in_flight, b.in_flight),
            most_in_flight: self.most_in_flight.max(b.most_in_flight),
            write_sizes: all(&self.write_sizes, &b.write_sizes, f),
            read_latency: all(&self.read_latency, &b.read_latency, f),
            write_latency: all(&self.write_latency, &b.write_latency, f),
            durable_latency: all(&self.durable_latency, &b.durable_latency, f),
            sync_latency: all(&self.sync_latency, &b.sync_latency, f),
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
    fn durable_writes_are_writes_too_and_differences_are_exact() {
        let stats = FileStats::default();
        stats.count_write(4096, Duration::from_micros(10));
        let before = stats.snapshot();
        stats.count_durable_write(512, Duration::from_micros(100));
        stats.count_rmw();
        let now = stats.snapshot();
        let between = now.since(&before);
        assert_eq!((between.writes, between.durable_writes, between.rmw_writes), (1, 1, 1));
        assert_eq!((between.durable_stall_us, between.bytes_written), (100, 512));
        assert_eq!(between.plus(&before), now);
        let counted = |us| now.write_latency[latency_bucket(us)];
        assert_eq!((counted(10), counted(100)), (1, 1));
        assert_eq!(now.read_latency, [0; LATENCY_BUCKETS]);
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

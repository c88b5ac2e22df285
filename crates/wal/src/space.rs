//! What the log reports about itself: space, VLFs, statistics.

use std::sync::atomic::{AtomicU64, Ordering, Ordering::Relaxed};

use crate::block::{FIRST_BLOCK, HEADER};
use crate::log::Log;
use crate::options::WaitKind;
use crate::vlf::distance;
use crate::{LogError, Lsn};

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

/// What [`Log::shrink_to`] did.
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
}

impl Log {
    /// Space of the log now.
    pub fn space(&self) -> LogSpace {
        let tail = self.tail.lock();
        LogSpace {
            size: tail.map.end(),
            used: tail.active_usable.saturating_sub(tail.place.room().saturating_sub(tail.pos)),
            reserved: self.reserved.load(Ordering::Acquire),
            vlf_count: tail.map.count(),
            active_vlfs: tail.history.since(tail.oldest.vlf).map(|run| run.1).sum(),
            active_bytes: tail.active_usable,
            current_vlf: tail.seq,
            current_vlf_size: tail.place.size,
        }
    }

    /// All VLFs in file order. Walks them: for the DMVs only.
    pub fn vlfs(&self) -> Vec<VlfInfo> {
        let (map, history, oldest) = {
            let tail = self.tail.lock();
            (tail.map.clone(), tail.history.clone(), tail.oldest.vlf)
        };
        let mut vlfs = Vec::with_capacity(map.count() as usize);
        for run in map.runs() {
            for i in 0..run.count {
                let used = history.seq_of(run.first_index + i);
                let (seq, parity) = used.unwrap_or((0, 0));
                vlfs.push(VlfInfo {
                    begin_offset: run.first_offset + run.vlf_size * u64::from(i),
                    size: run.vlf_size,
                    seq,
                    status: if used.is_some() && seq >= oldest { 2 } else { 0 },
                    parity,
                    create_lsn: run.create_lsn,
                    first_lsn: used.map_or(Lsn::ZERO, |_| Lsn { vlf: seq, block: FIRST_BLOCK, slot: 1 }),
                });
            }
        }
        vlfs
    }

    /// Counters since the log was opened.
    pub fn stats(&self) -> LogStats {
        let c = &self.counters;
        // Records of the open block are counted when it is sealed.
        let tail = self.tail.lock();
        let open = &tail.open.buf;
        let (open_records, open_bytes) = (open.items() as u64, open.used().saturating_sub(HEADER) as u64);
        LogStats {
            records: c.records.load(Relaxed) + open_records,
            record_bytes: c.record_bytes.load(Relaxed) + open_bytes,
            writes: c.writes.load(Relaxed),
            bytes_written: c.bytes_written.load(Relaxed),
            flushes: c.flushes.load(Relaxed),
            growths: c.growths.load(Relaxed),
            shrinks: c.shrinks.load(Relaxed),
            truncations: c.truncations.load(Relaxed),
            vlf_changes: tail.vlf_changes,
            write_log_waits: c.waits[0].load(Relaxed),
            write_log_wait_us: c.wait_us[0].load(Relaxed),
            log_buffer_waits: c.waits[1].load(Relaxed),
            log_buffer_wait_us: c.wait_us[1].load(Relaxed),
            growth_waits: c.waits[2].load(Relaxed),
            growth_wait_us: c.wait_us[2].load(Relaxed),
        }
    }

    /// Bytes of log between two records, VLFs that lie between them counted whole; for log_since_* columns.
    pub fn bytes_between(&self, from: Lsn, to: Lsn) -> Result<u64, LogError> {
        let tail = self.tail.lock();
        let place = |lsn: Lsn| tail.history.index_of(lsn.vlf).and_then(|index| tail.map.place(index));
        let (Some(first), Some(_)) = (place(from), place(to)) else {
            return Err(LogError::NoRecord { lsn: from });
        };
        let end = distance(to.block);
        if from.vlf == to.vlf {
            return Ok(end.saturating_sub(distance(from.block)));
        }
        let between: u64 =
            (tail.history.since(from.vlf + 1).map(|(index, count)| tail.map.usable_range(index, count)))
                .sum::<u64>()
                .saturating_sub(tail.history.since(to.vlf).map(|(i, n)| tail.map.usable_range(i, n)).sum());
        Ok(first.rest(from.block) + between + end)
    }
}

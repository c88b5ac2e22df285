//! What the log reports about itself: space, VLFs, statistics.

use std::sync::atomic::Ordering;

use crate::Lsn;
use crate::block::{FIRST_BLOCK, HEADER};
use crate::log::Log;
use crate::stats::{LogSpace, LogStats, VlfInfo};

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
                    first_lsn: used.map_or(Lsn::ZERO, |_| Lsn {
                        vlf: seq,
                        block: FIRST_BLOCK,
                        slot: 1,
                    }),
                });
            }
        }
        vlfs
    }

    /// Counters since the log was opened.
    pub fn stats(&self) -> LogStats {
        // Records of the open block are counted when it is sealed.
        let tail = self.tail.lock();
        let open = &tail.open.buf;
        let (open_records, open_bytes) =
            (open.items() as u64, open.used().saturating_sub(HEADER) as u64);
        let counted = self.counters.read();
        LogStats {
            records: counted.records + open_records,
            record_bytes: counted.record_bytes + open_bytes,
            vlf_changes: tail.vlf_changes,
            ..counted
        }
    }
}

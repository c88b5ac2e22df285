//! More stretches of VLFs than the header has space for: what it leaves out is found again in the
//! VLFs themselves.

use std::path::Path;
use std::sync::Arc;

use ringwood_wal::{CheckpointInfo, Growth, Log, LogOptions, Lsn, VlfRule};
use sim::SimDisk;

const PATH: &str = "x_log.ldf";
/// Stretches of VLFs that the header keeps.
const KEPT: usize = 64;

fn options() -> LogOptions {
    LogOptions {
        initial_size: 512 << 10,
        growth: Growth::Bytes(512 << 10),
        vlf_rule: VlfRule::R100,
        background_writer: false,
        ..LogOptions::default()
    }
}

/// The log's records that are not truncated, in order.
struct KeptRecords {
    log: Arc<Log>,
    records: Vec<(Lsn, Vec<u8>)>,
    number: u64,
}

impl KeptRecords {
    fn append(&mut self) -> Lsn {
        self.number += 1;
        let bytes = self.number.to_le_bytes().repeat(3000 + self.number as usize % 1000);
        let lsn = self.log.append(&[&bytes], 0).unwrap();
        self.log.flush_to(lsn).unwrap();
        self.records.push((lsn, bytes));
        lsn
    }

    /// Frees the oldest VLF.
    fn truncate(&mut self) {
        let oldest = self.records[0].0.vlf;
        self.records.retain(|(lsn, _)| lsn.vlf > oldest);
        let (redo_lsn, checkpoint_lsn) = (self.records[0].0, self.records.last().unwrap().0);
        self.log
            .set_checkpoint(CheckpointInfo { checkpoint_lsn, redo_lsn, payload: Vec::new() })
            .unwrap();
        self.log.truncate_to(redo_lsn);
    }

    fn check(&self, log: &Log, what: &str) {
        let found: Vec<(Lsn, Vec<u8>)> =
            log.scan(self.records[0].0).collect::<Result<_, _>>().unwrap();
        assert_eq!(found.len(), self.records.len(), "{what}");
        assert!(found == self.records, "{what}");
        let mut out = Vec::new();
        for (lsn, bytes) in self.records.iter().step_by(7) {
            log.read(*lsn, &mut out).unwrap();
            assert!(out == *bytes, "{what}: {lsn}");
        }
    }

    /// Stretches of VLFs that follow each other in the file, in the order of their use.
    fn stretches(&self) -> usize {
        let mut used: Vec<_> = self.log.vlfs().into_iter().filter(|v| v.seq > 0).collect();
        used.sort_by_key(|v| v.seq);
        1 + used
            .windows(2)
            .filter(|pair| pair[1].begin_offset != pair[0].begin_offset + pair[0].size)
            .count()
    }
}

#[test]
fn more_stretches_than_the_header_keeps() {
    let disk = SimDisk::new(3);
    let log = Log::create(&disk, Path::new(PATH), options()).unwrap();
    let mut kept = KeptRecords { log, records: Vec::new(), number: 0 };
    // Each growth is two VLFs. With nothing freed, the log fills them in order.
    while kept.log.vlfs().len() < 100 {
        kept.append();
    }
    // From here on one VLF at the front is freed for each growth: two at the end are used, one in
    // front, two at the end, and so on.
    let (mut vlf, mut entered) = (kept.append().vlf, 0);
    while kept.stretches() <= KEPT + 20 {
        assert!(kept.number < 20_000, "{} stretches", kept.stretches());
        let now = kept.append().vlf;
        if now != vlf {
            vlf = now;
            entered += 1;
            if entered % 3 == 1 {
                kept.truncate();
            }
        }
    }
    kept.check(&kept.log, "before");
    // The header is as the last growth or checkpoint left it, and the process dies.
    for seed in 0..4 {
        let disk = disk.crash(seed);
        let log = Log::open(&disk, Path::new(PATH), options()).unwrap().0;
        kept.check(&log, "after a crash");
    }
    // The log continues where it was, and a clean stop keeps the history too.
    for _ in 0..200 {
        kept.append();
    }
    assert!(kept.stretches() > KEPT);
    kept.log.close().unwrap();
    drop(std::mem::replace(&mut kept.log, {
        let disk = disk.crash(9);
        Log::open(&disk, Path::new(PATH), options()).unwrap().0
    }));
    kept.check(&kept.log, "after a clean stop");
    for _ in 0..100 {
        kept.append();
    }
    kept.check(&kept.log, "and on");
}

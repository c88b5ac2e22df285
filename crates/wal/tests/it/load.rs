//! Records by their LSN, as a rollback reads them: backwards, from the file, over VLFs of all
//! sizes.

use std::path::Path;
use std::sync::Arc;

use disk::Disk;
use ringwood_wal::{CheckpointInfo, Growth, Log, LogError, LogOptions, Lsn, VlfRule};
use sim::SimDisk;

const PATH: &str = "/db.ldf";

/// A log with a small cache and many growths (so some VLFs begin with a map area) that has gone
/// round its VLFs twice.
fn log(disk: &dyn Disk, vlf: u32, rng: &mut fastrand::Rng) -> (Arc<Log>, Vec<(Lsn, Vec<u8>)>) {
    let bytes = u64::from(vlf);
    let options = LogOptions {
        vlf_rule: VlfRule::Fixed(vlf),
        initial_size: 2 * bytes + 8192,
        growth: Growth::Bytes(bytes),
        cache_bytes: 4_000_001,
        background_writer: false,
        ..LogOptions::default()
    };
    let log = Log::create(disk, Path::new(PATH), options).expect("create");
    let mut all = Vec::new();
    while log.space().size < 300 * bytes.min(64 << 10) + 8 * bytes {
        append(&log, rng, &mut all);
    }
    for _ in 0..2 {
        let (checkpoint_lsn, _) = *all.last().as_ref().expect("records");
        log.flush_all().expect("flush");
        let info = CheckpointInfo {
            checkpoint_lsn: *checkpoint_lsn,
            redo_lsn: *checkpoint_lsn,
            payload: vec![],
        };
        log.set_checkpoint(info).expect("checkpoint");
        log.truncate_to(Lsn::MAX);
        let size = log.space().size;
        let oldest = log.oldest();
        all.retain(|(lsn, _)| *lsn >= oldest);
        let mut bytes = 0;
        while bytes < size * 3 / 4 {
            bytes += append(&log, rng, &mut all);
        }
    }
    log.flush_all().expect("flush");
    (log, all)
}

fn append(log: &Log, rng: &mut fastrand::Rng, all: &mut Vec<(Lsn, Vec<u8>)>) -> u64 {
    let most = if rng.u8(0..10) == 0 { 40_000 } else { 900 };
    let record: Vec<u8> =
        (0..rng.usize(8..most)).map(|i| (i as u64 * 31 + all.len() as u64) as u8).collect();
    let lsn = log.append(&[&record], 0).expect("append");
    if rng.u8(0..50) == 0 {
        log.flush_to(lsn).expect("flush");
    }
    all.push((lsn, record));
    all.last().map_or(0, |(_, record)| record.len() as u64)
}

/// Every record is the one that was logged, in whatever order they are read.
#[test]
fn every_record_is_found_in_any_order() {
    for (seed, vlf) in [(1, 64 << 10), (2, 256 << 10), (3, 8 << 20), (4, 72 << 10)] {
        let mut rng = fastrand::Rng::with_seed(seed);
        let disk = SimDisk::new(seed);
        let (log, all) = log(&disk, vlf, &mut rng);
        let check = |(lsn, record): &(Lsn, Vec<u8>)| {
            let mut found = Vec::new();
            log.read(*lsn, &mut found).unwrap_or_else(|e| panic!("{vlf}: {lsn:?}: {e:?}"));
            assert!(found == *record, "{vlf}: {lsn:?} is another record");
        };
        all.iter().rev().for_each(check);
        all.iter().for_each(check);
        // Two rollbacks at the same time.
        let half = all.len() / 2;
        all[..half].iter().rev().zip(all[half..].iter().rev()).for_each(|(a, b)| {
            check(a);
            check(b);
        });
        let mut mixed = all;
        rng.shuffle(&mut mixed);
        mixed.truncate(500);
        mixed.iter().for_each(check);
        let (last, _) = mixed.iter().max().expect("records");
        let beyond = Lsn { block: last.block + 1, ..*last };
        assert!(matches!(log.read(beyond, &mut Vec::new()), Err(LogError::NoRecord { .. })));
    }
}

/// Reading backwards reads half a megabyte at once, whatever the size of the VLFs; reading here and
/// there reads one block.
#[test]
fn a_trail_backwards_is_read_in_large_pieces() {
    for vlf in [64 << 10, 8 << 20] {
        let mut rng = fastrand::Rng::with_seed(5);
        let disk = SimDisk::new(5);
        let (log, all) = log(&disk, vlf, &mut rng);
        let bytes: u64 = all.iter().map(|(_, record)| record.len() as u64).sum();
        let mut out = Vec::new();
        let before = log.file_stats();
        all.iter().rev().for_each(|(lsn, _)| log.read(*lsn, &mut out).expect("read"));
        let after = log.file_stats();
        let (reads, read) = (after.reads - before.reads, after.bytes_read - before.bytes_read);
        assert!(reads < bytes / (400 << 10) + 20, "VLFs of {vlf}: {reads} reads of {bytes} bytes");
        assert!(read < bytes * 3 / 2, "VLFs of {vlf}: {read} of {bytes} bytes");

        let apart: Vec<Lsn> =
            all.iter().map(|(lsn, _)| *lsn).filter(|lsn| lsn.vlf % 7 == 0).collect();
        let before = log.file_stats();
        for lsn in apart.iter().step_by(apart.len().div_ceil(20)) {
            log.read(*lsn, &mut out).expect("read");
        }
        let after = log.file_stats();
        let (reads, read) = (after.reads - before.reads, after.bytes_read - before.bytes_read);
        assert!(read <= reads * (64 << 10), "{reads} reads of {read} bytes");
    }
}

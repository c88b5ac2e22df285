//! VLFs: how they are used again, filled to their ends, and written across.

use super::*;

#[test]
fn vlfs_are_reused_and_shown() {
    let disk = SimDisk::new(1);
    let log = create(&disk, LogOptions { first_vlf_seq: 43, ..options() });
    let vlfs = log.vlfs();
    assert_eq!(
        vlfs.iter().map(|v| (v.seq, v.status, v.parity)).collect::<Vec<_>>(),
        [(43, 2, 64), (0, 0, 0), (0, 0, 0), (0, 0, 0)]
    );
    assert_eq!(
        (vlfs[0].begin_offset, vlfs[0].first_lsn),
        (8192, Lsn { vlf: 43, block: 16, slot: 1 })
    );
    for i in 0..3000u64 {
        let lsn = log.append(&[&record(i, 2000)], 0).expect("append");
        if i % 100 == 99 {
            log.flush_to(lsn).expect("flush");
            log.truncate_to(checkpoint(&log));
        }
    }
    assert_eq!(log.space().vlf_count, 4, "truncation made growth needless");
    let vlfs = log.vlfs();
    let newest = vlfs.iter().map(|v| v.seq).max().expect("some");
    assert_eq!(log.stats().vlf_changes, u64::from(newest - 43), "from 43 on, one by one");
    assert!(newest > 55 && vlfs.iter().all(|v| v.seq + 4 > newest && v.parity != 0), "{vlfs:?}");
    assert_eq!(vlfs.iter().filter(|v| v.status == 2).count() as u32, log.space().active_vlfs);
    let gone = Lsn { vlf: 43, block: 16, slot: 1 };
    assert_eq!(log.read(gone, &mut Vec::new()), Err(LogError::NoRecord { lsn: gone }));
}

/// Small VLFs must not split the writes into small pieces, nor may a write across VLFs touch a map
/// area.
#[test]
fn one_write_covers_many_vlfs_but_no_map_area() {
    let disk = SimDisk::new(5);
    let small = || LogOptions {
        vlf_rule: VlfRule::Fixed(64 << 10),
        initial_size: (2 << 20) + 8192,
        growth: Growth::Bytes(64 << 10),
        background_writer: false,
        ..LogOptions::default()
    };
    let log = create(&disk, small());
    // Hundreds of growths of another size each: enough runs for several map areas.
    while log.space().size < 48 << 20 {
        log.grow(log.space().size + (64 << 10)).expect("grow");
    }
    let vlfs = log.vlfs();
    let mut all = Vec::new();
    for round in 0..3u64 {
        let before = log.stats();
        for i in 0..5_000u64 {
            let bytes = record(round << 32 | i, 8000);
            all.push((log.append(&[&bytes], 0).expect("append"), bytes));
        }
        log.flush_all().expect("flush");
        let after = log.stats();
        let mean = (after.bytes_written - before.bytes_written) / (after.writes - before.writes);
        assert!(mean > 512 << 10, "writes of {mean} bytes");
        check_copy(&disk.crash(round), small(), &vlfs, &all);
        let here = checkpoint(&log);
        log.truncate_to(here);
        all.retain(|(lsn, _)| lsn.vlf >= log.oldest().vlf);
    }
}

/// Opens what a power loss left and compares VLFs and records.
fn check_copy(disk: &SimDisk, options: LogOptions, vlfs: &[VlfInfo], all: &[(Lsn, Vec<u8>)]) {
    let log = reopen(disk, options);
    let places = |vlfs: &[VlfInfo]| -> Vec<(u64, u64, Lsn)> {
        vlfs.iter().map(|vlf| (vlf.begin_offset, vlf.size, vlf.create_lsn)).collect()
    };
    // After them may be growths that were prepared but not taken.
    assert_eq!(places(&log.vlfs())[..vlfs.len()], places(vlfs));
    let mut out = Vec::new();
    for (lsn, bytes) in all {
        log.read(*lsn, &mut out).expect("read");
        assert!(out == *bytes, "{lsn}");
    }
}

fn small_vlfs(count: u64) -> LogOptions {
    LogOptions {
        vlf_rule: VlfRule::Fixed(64 << 10),
        initial_size: 8192 + count * (64 << 10),
        growth: Growth::None,
        alignment: Alignment::Force(512),
        background_writer: false,
        ..LogOptions::default()
    }
}

/// Records that keep to the hint of `room()`, and commits that fill a VLF to its last byte, leave
/// nothing unused.
#[test]
fn vlfs_are_filled_to_the_end() {
    let disk = SimDisk::new(6);
    let log = create(&disk, small_vlfs(100));
    let mut all = Vec::new();
    // Blocks of exactly one sector: 128 to a VLF, and no block that only closes it.
    for i in 0..640u64 {
        let bytes = record(i, 400);
        let lsn = log.append(&[&bytes], 0).expect("append");
        log.flush_to(lsn).expect("flush");
        all.push((lsn, bytes));
    }
    let commits = log.stats();
    assert_eq!((commits.bytes_written, log.space().used, log.end().vlf), (640 * 512, 640 * 512, 6));
    // Large records of an odd size.
    let mut bytes_appended = 0;
    while log.end().vlf < 70 {
        let bytes = record(bytes_appended, 9001.min(log.room()));
        bytes_appended += bytes.len() as u64;
        all.push((log.append(&[&bytes], 0).expect("append"), bytes));
    }
    log.flush_all().expect("flush");
    let written = log.stats().bytes_written - commits.bytes_written;
    assert!(written < bytes_appended * 101 / 100, "{written} bytes written for {bytes_appended}");
    assert!(all[640..].iter().all(|(lsn, _)| lsn.block == 16), "a VLF of 64 KB is one block");
    let vlfs = log.vlfs();
    check_copy(&disk.crash(1), small_vlfs(100), &vlfs, &all);
}

/// Whatever the last free VLF is filled with: a commit never needs a VLF that is not there, and
/// shrinking takes none away that the open block relies on.
#[test]
fn the_last_vlf_keeps_room_for_its_closing_block() {
    for len in [100, 400, 5000, 30_000] {
        for shrink in [false, true] {
            let disk = SimDisk::new(len as u64);
            let log = create(&disk, small_vlfs(4));
            let mut all = Vec::new();
            let full = loop {
                let bytes = record(all.len() as u64, len);
                match log.append_reserved(&[&bytes], 0) {
                    Ok(lsn) => all.push((lsn, bytes)),
                    Err(error) => break error,
                }
                // In the second VLF, when the open block is its last sector and holds a record.
                if shrink && (log.end().vlf, log.end().block) == (2, 16 + 127) {
                    log.shrink_to(0).expect("shrink");
                }
                log.flush_all().expect("flush");
            };
            assert!(matches!(full, LogError::Full { .. }), "{full:?}");
            log.flush_all().expect("flush");
            let used = log.space().used;
            // Unused are at most what is too little for a record, and one sector.
            assert!(
                log.space().size - 8192 - used < 512 + 2 * len as u64 + 1024,
                "{used} used, records of {len}"
            );
            // A checkpoint frees all VLFs but the last, and the log continues.
            let last = all.last().expect("records").0;
            let info = CheckpointInfo { checkpoint_lsn: last, redo_lsn: last, payload: Vec::new() };
            log.set_checkpoint(info).expect("checkpoint");
            log.truncate_to(last);
            all.retain(|(lsn, _)| lsn.vlf >= log.oldest().vlf);
            let bytes = record(7, len);
            all.push((log.append_reserved(&[&bytes], 0).expect("append"), bytes));
            log.flush_all().expect("flush");
            check_copy(&disk.crash(2), small_vlfs(4), &log.vlfs(), &all);
        }
    }
}

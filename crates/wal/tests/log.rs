//! The log's everyday behaviour, on the real disk and on the simulated one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use disk::{Disk, DiskError, Op, OpenMode, OsDisk, Sectors};
use ringwood_wal::{
    Alignment, CheckpointInfo, Growth, Log, LogError, LogOptions, Lsn, MAX_RECORD, VlfInfo, VlfRule,
    WaitKind, WaitSink,
};
use sim::{Fault, OpKind, SimConfig, SimDisk};

const PATH: &str = "x_log.ldf";

fn options() -> LogOptions {
    LogOptions {
        initial_size: 1 << 20,
        growth: Growth::Bytes(1 << 20),
        vlf_rule: VlfRule::R100,
        ..LogOptions::default()
    }
}

fn create(disk: &dyn Disk, options: LogOptions) -> Arc<Log> {
    Log::create(disk, Path::new(PATH), options).expect("create")
}

/// Opens a log that has been dropped: a thread of it that prepares growth may hold its file a moment longer.
fn reopen(disk: &dyn Disk, options: LogOptions) -> Arc<Log> {
    for _ in 0..1_000 {
        match Log::open(disk, Path::new(PATH), options.clone()) {
            Err(ringwood_wal::LogError::Disk(DiskError::Locked { .. })) => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            opened => return opened.expect("open").0,
        }
    }
    panic!("the log stays locked");
}

fn checkpoint(log: &Log) -> Lsn {
    let lsn = log.append_reserved(&[b"checkpoint"], 0).expect("append");
    let info = CheckpointInfo { checkpoint_lsn: lsn, redo_lsn: lsn, payload: b"where".to_vec() };
    log.set_checkpoint(info).expect("checkpoint");
    lsn
}

fn record(i: u64, len: usize) -> Vec<u8> {
    let mut bytes = i.to_le_bytes().repeat(len / 8 + 1);
    bytes.truncate(len.max(8));
    bytes
}

#[test]
fn records_survive_reopening_and_are_read_everywhere() {
    let folder = tempfile::tempdir().expect("scratch folder");
    let large_sectors =
        SimConfig { sectors: Sectors { logical: 4096, physical: 4096 }, ..SimConfig::default() };
    let large_sectors = SimDisk::with_config(1, large_sectors);
    for disk in [&OsDisk::new(folder.path()) as &dyn Disk, &SimDisk::new(1), &large_sectors] {
        let log = create(disk, options());
        let lens = [8, 100, 512, 4000, 20_000, MAX_RECORD];
        let mut all = Vec::new();
        for i in 0..600u64 {
            let bytes = record(i, lens[i as usize % lens.len()]);
            let lsn = log.append(&[&bytes[..5], &bytes[5..]], 0).expect("append");
            if i % 7 == 0 {
                log.flush_to(lsn).expect("flush");
                assert!(log.durable_lsn() >= lsn);
            }
            all.push((lsn, bytes));
        }
        let check = |log: &Log| {
            let found: Vec<_> = log.scan(Lsn::ZERO).collect::<Result<_, _>>().expect("scan");
            assert!(found == all, "scan");
            let mut out = Vec::new();
            for (lsn, bytes) in all.iter().rev() {
                log.read(*lsn, &mut out).expect("read");
                assert!(out == *bytes, "{lsn}");
            }
            let from = all[123].0;
            assert_eq!(log.scan(from).next().map(|first| first.map(|f| f.0)), Some(Ok(from)));
        };
        check(&log);
        log.close().expect("close");
        let first = log.incarnation();
        drop(log);
        let log = reopen(disk, options());
        assert_eq!(log.incarnation(), first + 1);
        assert_eq!(log.durable_lsn(), all[all.len() - 1].0);
        check(&log);
        assert!(log.space().vlf_count > 4, "it has grown");
    }
}

#[test]
fn vlfs_are_reused_and_shown() {
    let disk = SimDisk::new(1);
    let log = create(&disk, LogOptions { first_vlf_seq: 43, ..options() });
    let vlfs = log.vlfs();
    assert_eq!(
        vlfs.iter().map(|v| (v.seq, v.status, v.parity)).collect::<Vec<_>>(),
        [(43, 2, 64), (0, 0, 0), (0, 0, 0), (0, 0, 0)]
    );
    assert_eq!((vlfs[0].begin_offset, vlfs[0].first_lsn), (8192, Lsn { vlf: 43, block: 16, slot: 1 }));
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

#[test]
fn the_published_test_of_small_growth() {
    let disk = SimDisk::new(1);
    const STEP: u64 = 512 << 10;
    let log = create(&disk, LogOptions { initial_size: STEP, ..options() });
    for _ in 0..249 {
        log.grow(log.space().size + STEP).expect("grow");
    }
    assert_eq!(log.space().vlf_count, 2 * 250);
    let reads = disk.read_count();
    log.close().expect("close");
    drop(log);
    let log = reopen(&disk, options());
    assert_eq!((log.space().vlf_count, log.space().size), (2 * 250, 250 * STEP));
    assert!(disk.read_count() - reads < 8, "opening costs a read for each 200 growths, not for each VLF");
    assert!(log.vlfs()[4].create_lsn >= Lsn { vlf: 1, block: 16, slot: 1 });
    let report = log.shrink_to(50 << 20).expect("shrink");
    assert_eq!((report.new_size, report.vlfs_removed, report.held_by_active), (50 << 20, 2 * 150, false));
    drop(log);
    let log = reopen(&disk, options());
    assert_eq!(log.space().vlf_count, 200);
    log.grow(60 << 20).expect("grow again");
    drop(log);
    assert_eq!(reopen(&disk, options()).space().size, 60 << 20);
}

#[test]
fn a_full_log_says_so_and_still_rolls_back() {
    let disk = SimDisk::new(1);
    let log = create(&disk, LogOptions { growth: Growth::None, ..options() });
    let bytes = record(1, 400);
    let mut written = 0u32;
    let error = loop {
        match log.append(&[&bytes], 500) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error, LogError::Full { cause: None });
    assert!(written > 500, "{written} records in a megabyte");
    let space = log.space();
    assert_eq!(space.reserved, u64::from(written) * 500);
    let ordinary = (0..1000).find_map(|_| log.append(&[&record(2, 2000)], 0).err());
    assert_eq!(ordinary, Some(LogError::Full { cause: None }), "what is reserved is not for others");
    for i in 0..written {
        let lsn = log.append_reserved(&[&record(3, 480)], 500).expect("undo has room");
        if i % 50 == 0 {
            log.flush_to(lsn).expect("flush");
        }
    }
    assert_eq!(log.space().reserved, 0);
    log.truncate_to(checkpoint(&log));
    log.append(&[&bytes], 500).expect("room again");
}

#[test]
fn growth_ends_at_the_maximum_and_on_a_full_disk() {
    let disk = SimDisk::new(1);
    let log = create(&disk, LogOptions { max_size: Some(3 << 20), ..options() });
    let full = (0..10_000).find_map(|i| log.append(&[&record(i, 4000)], 0).err());
    assert_eq!((full, log.space().size), (Some(LogError::Full { cause: None }), 3 << 20));
    assert!(matches!(log.grow(4 << 20), Err(LogError::Full { cause: None })));

    let disk = SimDisk::with_config(1, SimConfig { capacity: 2 << 20, ..SimConfig::default() });
    let log = create(&disk, LogOptions { growth: Growth::Percent(150), ..options() });
    let full = (0..10_000).find_map(|i| log.append(&[&record(i, 4000)], 0).err());
    assert!(matches!(&full, Some(LogError::Full { cause: Some(cause) }) if cause.is_no_space()), "{full:?}");
    assert_eq!(log.failure(), None, "a full disk does not take the log offline");
    log.flush_all().expect("flush");
    log.truncate_to(checkpoint(&log));
    log.append(&[b"room again"], 0).expect("append");
}

#[test]
fn a_failed_write_or_sync_is_final() {
    for (kind, fault, beyond) in [
        (OpKind::Write, Fault::Io, false),
        (OpKind::Write, Fault::Io, true),
        (OpKind::Write, Fault::ShortWrite, false),
        (OpKind::Write, Fault::NoSpace, false),
        (OpKind::Write, Fault::LoseUnsynced, true),
    ] {
        let disk = SimDisk::new(1);
        let log = create(&disk, options());
        let kept = log.append(&[b"kept"], 0).expect("append");
        log.flush_to(kept).expect("flush");
        let lost = log.append(&[b"lost"], 0).expect("append");
        disk.fail(kind, 1, fault);
        let first = if beyond { log.flush_beyond(0) } else { log.flush_to(lost) };
        assert!(matches!(first, Err(LogError::Offline { .. })), "{first:?}");
        assert!(matches!(log.flush_to(lost), Err(LogError::Offline { .. })), "no retry");
        assert!(matches!(log.flush_beyond(u64::MAX), Err(LogError::Offline { .. })), "nothing is answered");
        assert!(matches!(log.append(&[b"more"], 0), Err(LogError::Offline { .. })));
        assert!(log.failure().is_some() && log.durable_lsn() == kept);
        drop(log);
        for seed in 0..20 {
            let log = reopen(&disk.crash(seed), options());
            let found: Vec<_> = log.scan(Lsn::ZERO).filter_map(Result::ok).map(|f| f.1).collect();
            assert!(
                found == [b"kept".to_vec()] || found == [b"kept".to_vec(), b"lost".to_vec()],
                "{found:?}"
            );
        }
    }
}

#[test]
fn damage_is_an_error_not_a_shorter_log() {
    let disk = SimDisk::new(1);
    let path = Path::new(PATH);
    assert!(matches!(Log::open(&disk, path, options()), Err(LogError::Disk(_))));
    disk.open(path, OpenMode::Create).expect("file").set_len(1 << 20).expect("len");
    assert!(matches!(Log::open(&disk, path, options()), Err(LogError::NotALog { .. })));
    disk.remove(path).expect("remove");

    let log = create(&disk, options());
    for i in 0..50 {
        let lsn = log.append(&[&record(i, 300)], 0).expect("append");
        log.flush_to(lsn).expect("flush");
    }
    drop(log);
    // A block in the middle: later blocks prove that it was durable.
    let rotten = disk.crash(1);
    rotten.rot(path, 8192 + 8192 + 4096 + 100).expect("rot");
    assert!(matches!(Log::open(&rotten, path, options()), Err(LogError::Missing { .. })));
    // The header: one damaged slot does no harm, two do.
    let rotten = disk.crash(1);
    rotten.rot(path, 50).expect("rot");
    let log = reopen(&rotten, options());
    let lsn = checkpoint(&log);
    drop(log);
    assert_eq!(reopen(&rotten, options()).checkpoint().checkpoint_lsn, lsn);
    rotten.rot(path, 60).expect("rot");
    rotten.rot(path, 4096 + 60).expect("rot");
    assert!(matches!(Log::open(&rotten, path, options()), Err(LogError::Corrupt { .. })));
    // The file was cut.
    let cut = disk.crash(1);
    cut.open(path, OpenMode::Open).expect("open").set_len(600 << 10).expect("cut");
    assert!(matches!(Log::open(&cut, path, options()), Err(LogError::Corrupt { .. })));
    // Random damage anywhere: an error or a log, never a panic.
    for seed in 0..200 {
        let rotten = disk.crash(seed);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..20 {
            rotten.rot(path, rng.u64(0..60_000)).expect("rot");
        }
        if let Ok((log, _)) = Log::open(&rotten, path, options()) {
            log.scan(Lsn::ZERO).for_each(drop);
        }
    }
}

#[test]
fn options_are_checked() {
    let disk = SimDisk::with_config(
        1,
        SimConfig { sectors: Sectors { logical: 4096, physical: 4096 }, ..SimConfig::default() },
    );
    let refused = |options: LogOptions| {
        let made = Log::create(&disk, Path::new(PATH), options);
        assert!(matches!(made, Err(LogError::Option { .. })), "{made:?}");
        assert!(!disk.exists(Path::new(PATH)).expect("exists"), "nothing is left");
    };
    refused(LogOptions { alignment: Alignment::Force(512), ..options() });
    refused(LogOptions { alignment: Alignment::Force(1000), ..options() });
    refused(LogOptions { first_vlf_seq: 0, ..options() });
    refused(LogOptions { vlf_rule: VlfRule::Fixed(10_000), ..options() });
    let log = create(&disk, options());
    assert_eq!(log.alignment(), 4096);
    let big = vec![0; MAX_RECORD + 1];
    assert_eq!(log.append(&[&big], 0), Err(LogError::RecordTooLarge { len: MAX_RECORD + 1 }));
    assert_eq!(log.flush_to(log.end()), Err(LogError::NoRecord { lsn: log.end() }));
}

/// A volume may hide its sectors: unless an option states otherwise, a log block is whole sectors of any device in use.
#[test]
fn a_device_is_not_believed_to_have_sectors_of_512_bytes() {
    let made_on = |logical, physical, alignment| {
        let sectors = Sectors { logical, physical };
        let disk = SimDisk::with_config(1, SimConfig { sectors, ..SimConfig::default() });
        create(&disk, LogOptions { alignment, ..options() }).alignment()
    };
    for (logical, physical) in [(512, 512), (512, 4096), (4096, 4096), (512, 65_536)] {
        assert_eq!(made_on(logical, physical, Alignment::Auto), 4096, "{logical}/{physical}");
    }
    assert_eq!(made_on(512, 512, Alignment::Device), 512);
    assert_eq!(made_on(512, 512, Alignment::Force(512)), 512);
    assert_eq!(made_on(512, 4096, Alignment::Device), 4096);
}

/// An alignment option that was meant for another device must not keep an existing log from opening.
#[test]
fn an_existing_log_takes_the_sector_instead_of_less() {
    let sectors = Sectors { logical: 4096, physical: 4096 };
    let disk = SimDisk::with_config(1, SimConfig { sectors, ..SimConfig::default() });
    let log = create(&disk, options());
    let lsn = log.append(&[&record(1, 100)], 0).expect("append");
    log.flush_to(lsn).expect("flush");
    drop(log);
    let log = reopen(&disk, LogOptions { alignment: Alignment::Force(512), ..options() });
    assert_eq!(log.alignment(), 4096);
    let next = log.append(&[&record(2, 100)], 0).expect("append");
    log.flush_to(next).expect("flush");
    let mut bytes = Vec::new();
    log.read(lsn, &mut bytes).expect("read");
    assert_eq!(bytes, record(1, 100));
}

#[test]
fn alignment_changes_with_the_next_vlf() {
    let disk = SimDisk::new(1);
    let log = create(&disk, LogOptions { alignment: Alignment::Force(512), ..options() });
    let mut last = Lsn::ZERO;
    for i in 0..5 {
        last = log.append(&[&record(i, 100)], 0).expect("append");
        log.flush_to(last).expect("flush");
    }
    assert_eq!(last.block, 16 + 4, "512-byte blocks lie side by side");
    drop(log);
    let wide = LogOptions { alignment: Alignment::Force(4096), ..options() };
    let log = reopen(&disk, wide.clone());
    while last.vlf < 3 {
        last = log.append(&[&record(9, 100)], 0).expect("append");
        log.flush_to(last).expect("flush");
        assert!(last.vlf == 1 || last.block.is_multiple_of(8), "{last}");
    }
    drop(log);
    let log = reopen(&disk, wide);
    assert_eq!(log.scan(Lsn::ZERO).last().map(|f| f.map(|f| f.0)), Some(Ok(last)));
}

#[derive(Debug, Default)]
struct Waits(AtomicU64);

impl WaitSink for Waits {
    fn waited(&self, kind: WaitKind, _us: u64) {
        if kind == WaitKind::WriteLog {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn many_threads_commit_in_groups() {
    let folder = tempfile::tempdir().expect("scratch folder");
    for disk in [&OsDisk::new(folder.path()) as &dyn Disk, &SimDisk::new(1)] {
        let waits = Arc::new(Waits::default());
        let log = create(disk, LogOptions { waits: Some(waits.clone()), ..options() });
        let (threads, each) = (8u64, 300u64);
        let mut all: Vec<(Lsn, Vec<u8>)> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads)
                .map(|thread| {
                    let log = &log;
                    scope.spawn(move || {
                        let mut mine = Vec::new();
                        let mut out = Vec::new();
                        for i in 0..each {
                            let bytes = record(thread << 32 | i, 50 + (i as usize * 37) % 3000);
                            let lsn = log.append(&[&bytes], 0).expect("append");
                            if i % 3 == 0 {
                                log.flush_to(lsn).expect("flush");
                                assert!(log.is_durable(lsn) && log.durable_lsn() >= lsn);
                            }
                            log.read(lsn, &mut out).expect("read");
                            assert!(out == bytes);
                            mine.push((lsn, bytes));
                        }
                        mine
                    })
                })
                .collect();
            handles.into_iter().flat_map(|handle| handle.join().expect("thread")).collect()
        });
        all.sort();
        let found: Vec<_> = log.scan(Lsn::ZERO).collect::<Result<_, _>>().expect("scan");
        assert!(found == all);
        let stats = log.stats();
        assert_eq!(stats.records, threads * each);
        assert!(stats.flushes <= threads * each.div_ceil(3) + 1 && waits.0.load(Ordering::Relaxed) > 0);
        log.close().expect("close");
        drop(log);
        let log = reopen(disk, options());
        let found: Vec<_> = log.scan(Lsn::ZERO).collect::<Result<_, _>>().expect("scan");
        assert!(found == all);
    }
}

#[test]
fn bulk_appending_streams_through_few_buffers() {
    let disk = SimDisk::new(1);
    for background_writer in [false, true] {
        let log = create(&disk, LogOptions { background_writer, initial_size: 64 << 20, ..options() });
        let mut last = Lsn::ZERO;
        for i in 0..6000 {
            last = log.append(&[&record(i, 6000)], 0).expect("append");
        }
        log.flush_to(last).expect("flush");
        let stats = log.stats();
        assert!(
            stats.writes < 200 && stats.bytes_written / stats.writes > 200 << 10,
            "large writes: {stats:?}"
        );
        let unique = log.scan(Lsn::ZERO).filter(|f| f.is_ok()).count();
        assert_eq!(unique, 6000);
        drop(log);
        disk.remove(Path::new(PATH)).expect("remove");
    }
}

/// The sync that ends the preparation of space covers blocks of the log too, and a failed one is reported once: it takes the log
/// offline. A full volume does not.
#[test]
fn a_failed_sync_of_prepared_space_is_final() {
    let growth = Growth::Bytes(1 << 20);
    let faults = [
        (OpKind::Sync, Fault::LoseUnsynced),
        (OpKind::Sync, Fault::NoSpace),
        (OpKind::Write, Fault::NoSpace),
    ];
    for (kind, fault) in faults {
        let disk = SimDisk::new(8);
        let log = create(
            &disk,
            LogOptions { initial_size: 1 << 20, growth, background_writer: false, ..options() },
        );
        while log.space().used < log.space().size * 29 / 32 {
            log.append(&[&record(1, 8000)], 0).expect("append");
        }
        disk.fail_on(Path::new(PATH), kind, 1, fault);
        let prepared = log.prepare_ahead();
        disk.clear_faults();
        let committed = log.append(&[b"commit"], 0).and_then(|lsn| log.flush_to(lsn));
        if kind == OpKind::Write {
            assert!(matches!(prepared, Err(LogError::Full { .. })), "{prepared:?}");
            assert_eq!(committed, Ok(()));
        } else {
            assert!(prepared.is_err(), "{prepared:?}");
            assert!(matches!(committed, Err(LogError::Offline { .. })), "{committed:?}");
        }
    }
}

/// Space that the system refuses, for whatever reason, is a full log: once there is space again, work continues.
#[test]
fn refused_space_is_not_final() {
    let disk = SimDisk::new(9);
    let log = create(&disk, LogOptions { background_writer: false, ..options() });
    let size = log.space().size;
    disk.fail_on(Path::new(PATH), OpKind::SetLen, 1, Fault::Io);
    let refused = log.grow(size * 2);
    let op = |cause: &DiskError| matches!(cause, DiskError::Io { op: Op::Allocate, .. });
    assert!(matches!(&refused, Err(LogError::Full { cause: Some(cause) }) if op(cause)), "{refused:?}");
    assert_eq!(log.failure(), None);
    let lsn = log.append(&[b"commit"], 0).expect("append");
    log.flush_to(lsn).expect("flush");
    log.grow(size * 2).expect("room again");
    assert!(log.space().size >= size * 2);
}

/// A cut of the file that is refused leaves it longer than its map, which the next growth and the next opening put right. A cut
/// whose sync fails is final, also when it was to remove space that could not be prepared.
#[test]
fn only_a_failed_sync_of_a_cut_is_final() {
    for fault in [Fault::Io, Fault::LoseUnsynced] {
        let disk = SimDisk::new(10);
        let log = create(&disk, LogOptions { background_writer: false, ..options() });
        let size = log.space().size;
        log.grow(size * 4).expect("growth");
        let kept = log.append(&[b"kept"], 0).expect("append");
        log.flush_to(kept).expect("flush");
        disk.fail_on(Path::new(PATH), OpKind::SetLen, 1, fault);
        let cut = log.shrink_to(size);
        let next = log.append(&[b"next"], 0).and_then(|lsn| log.flush_to(lsn));
        if fault == Fault::Io {
            assert!(matches!(cut, Err(LogError::Disk(DiskError::Io { op: Op::SetLength, .. }))), "{cut:?}");
            assert_eq!(next, Ok(()));
            log.grow(size * 2).expect("growth");
            let last = log.append(&[b"last"], 0).expect("append");
            log.flush_to(last).expect("flush");
        } else {
            assert!(matches!(cut, Err(LogError::Offline { .. })), "{cut:?}");
            assert!(matches!(next, Err(LogError::Offline { .. })), "{next:?}");
        }
        drop(log);
        let log = reopen(&disk.crash(1), options());
        let found = log.scan(Lsn::ZERO).filter(Result::is_ok).count();
        assert_eq!(found, if fault == Fault::Io { 3 } else { 1 });
    }

    let disk = SimDisk::new(11);
    let log = create(&disk, LogOptions { background_writer: false, ..options() });
    disk.fail_on(Path::new(PATH), OpKind::Write, 1, Fault::NoSpace);
    // The first SetLen is the reservation of the space.
    disk.fail_on(Path::new(PATH), OpKind::SetLen, 2, Fault::LoseUnsynced);
    let grown = log.grow(log.space().size * 2);
    assert!(matches!(grown, Err(LogError::Offline { .. })), "{grown:?}");
}

/// While a truncation is expected growth is not prepared, until the log is nearly full; a truncation that frees nothing
/// ends that.
#[test]
fn a_truncation_to_come_holds_growth_back() {
    let disk = SimDisk::new(7);
    let growth = Growth::Bytes(1 << 20);
    let made = LogOptions { initial_size: 4 << 20, growth, background_writer: false, ..options() };
    let log = create(&disk, made.clone());
    let file_len = || disk.file_len(Path::new(PATH)).expect("the log's file");
    let size = log.space().size;
    let fill = |log: &Log, part: u64| {
        while log.space().used < size * part / 32 {
            log.append(&[&record(1, 8000)], 0).expect("append");
        }
    };
    let prepare = |log: &Log| {
        while log.prepare_ahead().expect("prepare") {}
        file_len() - size
    };
    fill(&log, 26);
    log.expect_truncation();
    assert_eq!(prepare(&log), 0, "a fifth is free");
    log.truncate_to(Lsn::ZERO);
    assert!(prepare(&log) > 0, "nothing was freed");

    log.close().expect("close");
    assert_eq!(file_len(), size);
    drop(log);
    let log = reopen(&disk, made);
    log.expect_truncation();
    fill(&log, 31);
    assert!(prepare(&log) > 0, "nearly full");
}

/// A log that runs low gets the space of its next growth before it needs it, which is not visible until it grows.
#[test]
fn growth_is_prepared_in_the_background() {
    let disk = SimDisk::new(6);
    let made = LogOptions { initial_size: 4 << 20, growth: Growth::Bytes(8 << 20), ..options() };
    let log = create(&disk, made.clone());
    let file_len = || disk.file_len(Path::new(PATH)).expect("the log's file");
    let size = log.space().size;
    assert_eq!(file_len(), size);
    while log.space().used < size * 7 / 8 {
        log.append(&[&record(1, 8000)], 0).expect("append");
    }
    let start = std::time::Instant::now();
    while file_len() != size + (8 << 20) {
        assert!(start.elapsed().as_secs() < 20, "prepared: {}", file_len());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // The file has its new length; this returns once the step is published too.
    while log.prepare_ahead().expect("prepare") {}
    assert_eq!(log.space().size, size, "not grown yet");
    let before = log.stats();
    while log.space().size == size {
        log.append(&[&record(1, 8000)], 0).expect("append");
    }
    let after = log.stats();
    assert_eq!((log.space().size, after.growths), (size + (8 << 20), before.growths + 1));
    assert_eq!(after.growth_waits, before.growth_waits, "nobody has waited for it");
    log.close().expect("close");
    assert_eq!(file_len(), log.space().size, "what was prepared for nothing is cut off");
    drop(log);
    assert_eq!(reopen(&disk, made).space().size, size + (8 << 20));
}

/// Small VLFs must not split the writes into small pieces, nor may a write across VLFs touch a map area.
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

/// Records that keep to the hint of `room()`, and commits that fill a VLF to its last byte, leave nothing unused.
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

/// Whatever the last free VLF is filled with: a commit never needs a VLF that is not there, and shrinking takes none away
/// that the open block relies on.
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

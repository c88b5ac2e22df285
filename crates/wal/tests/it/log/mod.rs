//! The log's everyday behaviour, on the real disk and on the simulated one.

mod faults;
mod growth;
mod vlfs;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use disk::{Disk, DiskError, Op, OpenMode, OsDisk, Sectors};
use ringwood_wal::{
    Alignment, CheckpointInfo, Growth, Log, LogError, LogOptions, Lsn, MAX_RECORD, VlfInfo,
    VlfRule, WaitKind, WaitSink,
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

/// Opens a log that has been dropped: a thread of it that prepares growth may hold its file a
/// moment longer.
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

/// A volume may hide its sectors: unless an option states otherwise, a log block is whole sectors
/// of any device in use.
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

/// An alignment option that was meant for another device must not keep an existing log from
/// opening.
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
        assert!(
            stats.flushes <= threads * each.div_ceil(3) + 1 && waits.0.load(Ordering::Relaxed) > 0
        );
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
        let log =
            create(&disk, LogOptions { background_writer, initial_size: 64 << 20, ..options() });
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

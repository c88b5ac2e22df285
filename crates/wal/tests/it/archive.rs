//! Log backups: what is read is the log, at a cost that does not follow the number of VLFs; a log
//! built again from backups has the same records under the same LSNs, whatever grew, shrank,
//! wrapped or crashed in between.

use std::path::Path;
use std::sync::Arc;

use ringwood_wal::{
    Alignment, CheckpointInfo, Growth, Log, LogArchive, LogBlocks, LogError, LogOptions,
    LogRestore, Lsn, VlfRule,
};
use sim::SimDisk;

const PATH: &str = "x_log.ldf";
const COPY: &str = "copy_log.ldf";

fn options(size: u64, vlf: u32) -> LogOptions {
    LogOptions {
        initial_size: size,
        growth: Growth::Bytes(1 << 20),
        vlf_rule: VlfRule::Fixed(vlf),
        background_writer: false,
        log_id: [3; 16],
        ..LogOptions::default()
    }
}

fn checkpoint(log: &Log) -> Lsn {
    let lsn = log.append_reserved(&[b"checkpoint"], 0).expect("append");
    let info = CheckpointInfo { checkpoint_lsn: lsn, redo_lsn: lsn, payload: b"where".to_vec() };
    log.set_checkpoint(info).expect("checkpoint");
    lsn
}

/// A backup: the archive's description and all its blocks.
struct TakenBackup {
    archive: LogArchive,
    bytes: Vec<u8>,
}

fn take(mut archive: LogArchive) -> TakenBackup {
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        let most = before + (64 << 10);
        if archive.read_blocks(most, &mut bytes).expect("read") == 0 {
            break;
        }
        assert!(bytes.len() > before);
    }
    TakenBackup { archive, bytes }
}

fn backup(log: &Log, from: Lsn) -> TakenBackup {
    log.flush_all().expect("flush");
    take(log.archive(from).expect("archive"))
}

fn lay(restore: &mut LogRestore, taken: &TakenBackup) -> Result<u32, LogError> {
    let mut laid = 0;
    for block in LogBlocks::new(&taken.bytes) {
        laid += u32::from(restore.lay(&block?, u16::MAX)?);
    }
    Ok(laid)
}

fn new_copy(disk: &SimDisk, taken: &TakenBackup) -> Result<LogRestore, LogError> {
    let a = &taken.archive;
    let (path, id) = (Path::new(COPY), [9; 16]);
    LogRestore::create(disk, path, id, a.layout(), a.vlfs(), a.from(), Alignment::Device)
}

fn at(lsn: Lsn) -> CheckpointInfo {
    CheckpointInfo { checkpoint_lsn: lsn, redo_lsn: lsn, payload: b"copy".to_vec() }
}

fn records(disk: &SimDisk, path: &str) -> Vec<(Lsn, Vec<u8>)> {
    let (log, _) = Log::open(disk, Path::new(path), options(0, 64 << 10)).expect("open");
    let all = log.scan(Lsn::ZERO).collect::<Result<Vec<_>, _>>().expect("scan");
    log.close().expect("close");
    all
}

/// Appends until the log has grown by about `bytes` of records.
fn fill(log: &Log, rng: &mut fastrand::Rng, bytes: usize, all: &mut Vec<(Lsn, Vec<u8>)>) {
    let mut done = 0;
    while done < bytes {
        let len = if rng.u32(0..20) == 0 { rng.usize(1000..20_000) } else { rng.usize(8..300) };
        let record: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
        let lsn = log.append(&[&record], 0).expect("append");
        if rng.u32(0..6) == 0 {
            log.flush_to(lsn).expect("flush");
        }
        all.push((lsn, record));
        done += len;
    }
}

#[test]
fn reads_follow_the_bytes_and_not_the_vlfs() {
    let mut reads = Vec::new();
    for vlf in [128 << 10, 4 << 20] {
        let disk = SimDisk::new(1);
        let log = Log::create(&disk, Path::new(PATH), options(16 << 20, vlf)).expect("create");
        let from = log.oldest();
        fill(&log, &mut fastrand::Rng::with_seed(5), 12 << 20, &mut Vec::new());
        let taken = backup(&log, from);
        assert!(taken.bytes.len() > 12 << 20);
        assert!(taken.archive.vlfs().len() <= 2, "{:?}", taken.archive.vlfs());
        reads.push(taken.archive.reads());
    }
    assert!(reads[0] <= reads[1] * 5 / 4, "small and large VLFs: {reads:?} reads");
}

#[test]
fn a_chain_of_backups_makes_the_log_again() {
    for seed in 0..40 {
        chain(seed);
    }
}

fn chain(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let disk = SimDisk::new(seed);
    let vlf = 16 << rng.u32(12..14);
    let log = Log::create(&disk, Path::new(PATH), options(1 << 20, vlf)).expect("create");
    let mut all = Vec::new();
    fill(&log, &mut rng, 300_000, &mut all);
    let begin = checkpoint(&log);
    all.push((begin, b"checkpoint".to_vec()));
    let first = backup(&log, begin);
    let mut restore = new_copy(&disk, &first).expect("create");
    lay(&mut restore, &first).expect("lay");
    assert_eq!(restore.end(), first.archive.to());
    restore.finish(at(begin), begin).expect("finish");
    let (mut from, mut kept) = (first.archive.to(), begin);
    for _ in 0..rng.usize(1..6) {
        log.truncate_to(from);
        if rng.bool() {
            log.shrink_to(rng.u64(0..2 << 20)).expect("shrink");
            let rule = VlfRule::Fixed(16 << rng.u32(11..14));
            log.set_growth(rule, Growth::Bytes(64 << rng.u32(10..14)), None);
        }
        let size = rng.usize(1000..1_500_000);
        fill(&log, &mut rng, size, &mut all);
        let point = checkpoint(&log);
        all.push((point, b"checkpoint".to_vec()));
        if rng.bool() {
            fill(&log, &mut rng, 5000, &mut all);
        }
        let taken = backup(&log, from);
        let mut restore = LogRestore::open(&disk, Path::new(COPY)).expect("open");
        restore.begin_set(taken.archive.layout(), taken.archive.vlfs()).expect("set");
        lay(&mut restore, &taken).expect("lay");
        assert_eq!(lay(&mut restore, &taken).expect("again"), 0, "all there");
        assert_eq!(restore.end(), taken.archive.to());
        restore.finish(at(point), if rng.bool() { point } else { kept }).expect("finish");
        kept = point;
        from = taken.archive.to();
    }
    let copied = records(&disk, COPY);
    let first = copied.first().expect("not empty").0;
    let wanted: Vec<_> = all.into_iter().filter(|(lsn, _)| *lsn >= first).collect();
    assert!(
        first <= kept && copied == wanted,
        "seed {seed}: {} records of {}",
        copied.len(),
        wanted.len()
    );
}

#[test]
fn a_cut_log_ends_before_the_record() {
    let disk = SimDisk::new(3);
    let log = Log::create(&disk, Path::new(PATH), options(1 << 20, 64 << 10)).expect("create");
    let begin = checkpoint(&log);
    let mut all = vec![(begin, b"checkpoint".to_vec())];
    fill(&log, &mut fastrand::Rng::with_seed(1), 400_000, &mut all);
    let taken = backup(&log, begin);
    let mut rng = fastrand::Rng::with_seed(2);
    let mut closing = 0;
    for n in 0..120 {
        let stop = all[if n == 0 { 1 } else { rng.usize(1..all.len()) }].0;
        let mut restore = new_copy(&disk, &taken).expect("create");
        for block in LogBlocks::new(&taken.bytes) {
            let block = block.expect("valid");
            if block.lsn() > stop {
                break;
            }
            let keep = block.records().filter(|(lsn, _)| *lsn < stop).count() as u16;
            restore.lay(&block, keep).expect("lay");
        }
        closing += u32::from(restore.end().vlf > stop.vlf);
        restore.finish(at(begin), begin).expect("finish");
        let wanted: Vec<_> = all.iter().filter(|(lsn, _)| *lsn < stop).cloned().collect();
        assert!(records(&disk, COPY) == wanted, "stop at {stop}");
        let (copy, _) = Log::open(&disk, Path::new(COPY), options(0, 64 << 10)).expect("open");
        // The copy can be appended to.
        fill(&copy, &mut rng, 30_000, &mut Vec::new());
        copy.close().expect("close");
        disk::Disk::remove(&disk, Path::new(COPY)).expect("remove");
    }
    assert!(closing > 0, "no cut fell into a block that closes a VLF");
}

/// A crash while a further backup is laid leaves the log before it or the log with it, never a
/// part.
#[test]
fn a_crash_leaves_none_or_all_of_a_backup() {
    let (mut none, mut whole) = (0, 0);
    for seed in 0..60 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let disk = SimDisk::new(seed);
        let log = Log::create(&disk, Path::new(PATH), options(1 << 20, 64 << 10)).expect("create");
        let begin = checkpoint(&log);
        let mut all = vec![(begin, b"checkpoint".to_vec())];
        fill(&log, &mut rng, 200_000, &mut all);
        let first = backup(&log, begin);
        let before = all.len();
        fill(&log, &mut rng, 2_500_000, &mut all);
        let second = backup(&log, first.archive.to());
        let mut restore = new_copy(&disk, &first).expect("create");
        lay(&mut restore, &first).expect("lay");
        restore.finish(at(begin), begin).expect("finish");
        disk.crash_at(disk.io_count() + rng.u64(20..80));
        let done = LogRestore::open(&disk, Path::new(COPY)).and_then(|mut restore| {
            restore.begin_set(second.archive.layout(), second.archive.vlfs())?;
            lay(&mut restore, &second)?;
            restore.finish(at(begin), begin)
        });
        let disk = disk.crash(rng.u64(..));
        let found = records(&disk, COPY);
        if found.len() == before {
            assert!(done.is_err() && found == all[..before], "seed {seed}");
            none += 1;
        } else {
            assert!(found == all, "seed {seed}: a part");
            whole += 1;
        }
    }
    assert!(none > 5 && whole > 5, "none {none}, whole {whole}");
}

#[test]
fn the_file_alone_gives_the_log_and_stays_as_it_is() {
    let disk = SimDisk::new(3);
    let log = Log::create(&disk, Path::new(PATH), options(1 << 20, 64 << 10)).expect("create");
    let begin = checkpoint(&log);
    fill(&log, &mut fastrand::Rng::with_seed(1), 700_000, &mut Vec::new());
    let online = backup(&log, begin);
    let log: Arc<Log> = log;
    drop(log);
    let before = disk.io_count();
    let (archive, info) =
        LogArchive::open(&disk, Path::new(PATH), |info, _| info.checkpoint_lsn).expect("open");
    let offline = take(archive);
    assert_eq!((disk.io_count(), info.payload.as_slice()), (before, &b"where"[..]));
    assert!(offline.bytes == online.bytes && offline.archive.to() == online.archive.to());
}

#[test]
fn gaps_and_damage_are_errors() {
    let disk = SimDisk::new(3);
    let log = Log::create(&disk, Path::new(PATH), options(1 << 20, 64 << 10)).expect("create");
    let begin = checkpoint(&log);
    let mut all = Vec::new();
    fill(&log, &mut fastrand::Rng::with_seed(1), 50_000, &mut all);
    let first = backup(&log, begin);
    fill(&log, &mut fastrand::Rng::with_seed(1), 50_000, &mut all);
    let second = backup(&log, first.archive.to());
    fill(&log, &mut fastrand::Rng::with_seed(1), 50_000, &mut all);
    let third = backup(&log, second.archive.to());
    let mut restore = new_copy(&disk, &first).expect("create");
    lay(&mut restore, &first).expect("lay");
    assert!(
        matches!(lay(&mut restore, &third), Err(LogError::NoRecord { .. })),
        "the second is missing"
    );
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..300 {
        let mut bad = third.bytes.clone();
        let at = rng.usize(0..bad.len());
        if rng.bool() {
            bad.truncate(at)
        } else {
            bad[at] ^= 1 << rng.u32(0..8)
        }
        for block in LogBlocks::new(&bad) {
            let Ok(block) = block else { break };
            assert!(
                block
                    .records()
                    .all(|(lsn, record)| all.iter().any(|r| r.0 == lsn && r.1 == record))
            );
        }
    }
    assert!(matches!(
        log.archive(Lsn { vlf: 0, block: 16, slot: 1 }),
        Err(LogError::NoRecord { .. })
    ));
}

/// Logs of many growths have map areas inside VLFs: what filled a VLF without one does not go into
/// a VLF with one, and the copy's own areas stay untouched by blocks.
#[test]
fn map_areas_lie_elsewhere_in_the_copy() {
    let uneven = || LogOptions { vlf_rule: VlfRule::R160, ..options(1 << 20, 0) };
    for seed in 0..6 {
        let disk = SimDisk::new(seed);
        let mut rng = fastrand::Rng::with_seed(seed);
        let log = Log::create(&disk, Path::new(PATH), uneven()).expect("create");
        // No two neighbours of one size. Another first growth moves the positions at which runs and
        // areas meet.
        for i in 0..420 {
            log.grow(log.space().size + ((1 + (i + seed) % 2) << 16)).expect("grow");
        }
        if seed % 2 == 0 {
            // Cut in the middle of an area's runs and grown again, with neighbours of equal size:
            // the copy merges them.
            log.shrink_to(8 << 20).expect("shrink");
            for _ in 0..400 {
                log.grow(log.space().size + (1 << 16)).expect("grow");
            }
        }
        let (mut all, from) = (Vec::new(), log.oldest());
        fill(&log, &mut rng, (log.space().size as usize - (4 << 20)) * 9 / 10, &mut all);
        let taken = backup(&log, from);
        let mut copy = new_copy(&disk, &taken).expect("create");
        lay(&mut copy, &taken).expect("lay");
        copy.finish(at(from), from).expect("finish");
        // Growth continues in copies that are logs already: more areas.
        for _ in 0..300 {
            log.grow(log.space().size + ((1 + rng.u64(0..3)) << 16)).expect("grow");
        }
        fill(&log, &mut rng, 20 << 20, &mut all);
        let more = backup(&log, from);
        let mut copy = LogRestore::open(&disk, Path::new(COPY)).expect("open");
        copy.begin_set(more.archive.layout(), more.archive.vlfs()).expect("set");
        lay(&mut copy, &more).expect("lay");
        copy.finish(at(from), from).expect("finish");
        assert!(records(&disk, COPY) == all, "seed {seed}");
    }
}

//! Power loss at every I/O of random work: what was acknowledged is there, what is there is a
//! prefix, reads agree.
//!
//! A failure prints seed and crash point; `run_one(seed, n)` replays it.

mod growth;
mod torn;

use std::path::Path;
use std::sync::Arc;

use disk::{Disk, OpenMode};
use ringwood_wal::{Alignment, CheckpointInfo, Growth, Log, LogError, LogOptions, Lsn, VlfRule};
use sim::{Fault, OpKind, SimDisk};

const PATH: &str = "log";

fn options() -> LogOptions {
    with_vlfs(16 << 10, 512)
}

/// Every third seed works with 4096-byte blocks, which 512-byte sectors can tear.
fn options_of(seed: u64) -> LogOptions {
    if seed % 3 == 2 { with_vlfs(32 << 10, 4096) } else { options() }
}

fn with_vlfs(vlf: u32, alignment: u32) -> LogOptions {
    LogOptions {
        vlf_rule: VlfRule::Fixed(vlf),
        initial_size: 8192 + 4 * u64::from(vlf),
        growth: Growth::Bytes(64 << 10),
        max_size: Some(600 << 10),
        first_vlf_seq: 40,
        alignment: Alignment::Force(alignment),
        log_id: *b"crash test log 1",
        background_writer: false,
        cache_bytes: 32 << 10,
        waits: None,
    }
}

/// What the log has promised so far.
#[derive(Clone, Debug, Default)]
struct LogModel {
    /// Every record that was appended, in order.
    records: Vec<(Lsn, Vec<u8>)>,
    /// Everything up to here was acknowledged as durable.
    acked: Lsn,
    /// Records from here on must be kept.
    keep_from: Lsn,
    checkpoint: Option<CheckpointInfo>,
    /// A checkpoint that was in flight when the power failed.
    checkpoint_maybe: Option<CheckpointInfo>,
}

/// Does `steps` random operations until the disk dies. True if it did not.
fn work(log: &Log, model: &mut LogModel, rng: &mut fastrand::Rng, steps: usize) -> bool {
    for _ in 0..steps {
        let done = match rng.u8(0..100) {
            0..60 => append(log, model, rng),
            60..80 => flush(log, model, rng),
            80..90 => checkpoint(log, model, rng),
            90..92 => log.grow(log.space().size + 1).or_else(full_is_fine),
            92..94 => log.prepare_ahead().map(drop),
            94..96 => log.shrink_to(log.space().size / 2).map(|_| ()),
            _ => read_some(log, model, rng),
        };
        match done {
            Ok(()) => {}
            Err(
                LogError::Offline { .. } | LogError::Disk(_) | LogError::Full { cause: Some(_) },
            ) => {
                return false;
            }
            Err(error) => panic!("unexpected: {error:?}"),
        }
    }
    true
}

fn full_is_fine(error: LogError) -> Result<(), LogError> {
    if matches!(error, LogError::Full { cause: None }) { Ok(()) } else { Err(error) }
}

fn append(log: &Log, model: &mut LogModel, rng: &mut fastrand::Rng) -> Result<(), LogError> {
    let len = if rng.u8(0..10) == 0 { rng.usize(0..5000) } else { rng.usize(0..300) };
    let record: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
    let (a, b) = record.split_at(len / 3);
    match log.append(&[a, b], 0) {
        Ok(lsn) => {
            assert!(model.records.last().is_none_or(|last| last.0 < lsn), "LSNs grow");
            model.records.push((lsn, record));
            Ok(())
        }
        // Full: free space as a database would.
        Err(LogError::Full { cause: None }) => checkpoint(log, model, rng),
        Err(error) => Err(error),
    }
}

fn flush(log: &Log, model: &mut LogModel, rng: &mut fastrand::Rng) -> Result<(), LogError> {
    let Some(last) = model.records.len().checked_sub(1) else { return Ok(()) };
    let lsn = model.records[rng.usize(last.saturating_sub(5)..=last)].0;
    log.flush_to(lsn)?;
    assert!(log.durable_lsn() >= lsn && log.is_durable(lsn));
    model.acked = model.acked.max(lsn).max(log.durable_lsn());
    Ok(())
}

fn checkpoint(log: &Log, model: &mut LogModel, rng: &mut fastrand::Rng) -> Result<(), LogError> {
    let payload: Vec<u8> = (0..rng.usize(0..200)).map(|_| rng.u8(..)).collect();
    let checkpoint_lsn = log.append_reserved(&[b"checkpoint", &payload], 0)?;
    model.records.push((checkpoint_lsn, [b"checkpoint", &payload[..]].concat()));
    let from = model.records.len() - 1 - rng.usize(0..model.records.len().min(30));
    let info = CheckpointInfo {
        checkpoint_lsn,
        redo_lsn: model.records[from].0.max(model.keep_from),
        payload,
    };
    model.checkpoint_maybe = Some(info.clone());
    log.set_checkpoint(info.clone())?;
    model.acked = model.acked.max(checkpoint_lsn);
    model.keep_from = info.redo_lsn;
    model.checkpoint = Some(info);
    log.truncate_to(model.keep_from);
    Ok(())
}

fn read_some(log: &Log, model: &LogModel, rng: &mut fastrand::Rng) -> Result<(), LogError> {
    let mut out = Vec::new();
    let first = model.records.partition_point(|record| record.0 < model.keep_from);
    for _ in 0..3.min(model.records.len() - first) {
        let (lsn, record) = &model.records[rng.usize(first..model.records.len())];
        log.read(*lsn, &mut out)?;
        assert_eq!(out, *record, "at {lsn}");
    }
    Ok(())
}

/// Opens the crashed disk, compares with the model, and cuts the model to what survived.
fn verify(disk: &SimDisk, model: &mut LogModel, options: LogOptions) -> Arc<Log> {
    let (log, report) =
        Log::open(disk, Path::new(PATH), options).expect("a crash never makes a log unreadable");
    let known =
        [model.checkpoint.clone(), model.checkpoint_maybe.clone(), Some(CheckpointInfo::default())];
    assert!(known.contains(&Some(report.checkpoint.clone())), "checkpoint {:?}", report.checkpoint);
    assert!(
        model.checkpoint.is_none()
            || report.checkpoint.checkpoint_lsn
                >= model.checkpoint.as_ref().map_or(Lsn::ZERO, |c| c.checkpoint_lsn)
    );

    let found: Vec<(Lsn, Vec<u8>)> = log.scan(Lsn::ZERO).collect::<Result<_, _>>().expect("scan");
    let first = found.first().map_or(0, |f| model.records.partition_point(|record| record.0 < f.0));
    assert_eq!(
        model.records[first..].get(..found.len()),
        Some(&found[..]),
        "survivors are a piece of what was appended"
    );
    let survivors = first + found.len();
    let last = if found.is_empty() { Lsn::ZERO } else { found[found.len() - 1].0 };
    assert!(last >= model.acked, "acknowledged {} but the log ends at {last}", model.acked);
    if let Some(needed) =
        model.records.iter().find(|record| record.0 >= model.keep_from && record.0 <= model.acked)
    {
        assert!(found.first().is_some_and(|f| f.0 <= needed.0), "{} was not truncated", needed.0);
    }
    assert_eq!(report.last, last);
    assert_eq!(log.durable_lsn(), last);
    let mut out = Vec::new();
    for (lsn, record) in found.iter().rev().step_by(3) {
        log.read(*lsn, &mut out).expect("read");
        assert_eq!(out, *record);
    }
    assert!(matches!(log.read(log.end(), &mut out), Err(LogError::NoRecord { .. })));

    model.records.truncate(survivors);
    model.acked = last;
    model.checkpoint = Some(report.checkpoint.clone()).filter(|c| !c.checkpoint_lsn.is_zero());
    model.keep_from = report.checkpoint.redo_lsn;
    model.checkpoint_maybe = None;
    log
}

/// The work of a seed with a crash at its `n`-th I/O, recovery, more work, another crash, recovery.
/// Returns the number of I/Os done before the first crash struck, or `None` if it did not strike.
fn run_one(seed: u64, n: u64) -> Option<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let disk = SimDisk::new(seed);
    disk.crash_at(n);
    let mut model = LogModel::default();
    match Log::create(&disk, Path::new(PATH), options_of(seed)) {
        Ok(log) => {
            // The last step may be a truncation, which reports nothing.
            if work(&log, &mut model, &mut rng, 60) && !disk.has_crashed() {
                return None;
            }
        }
        Err(_) => {
            // Its creation was never acknowledged: anything but a panic, and no records.
            if let Ok((log, _)) = Log::open(&disk.crash(seed), Path::new(PATH), options_of(seed)) {
                assert_eq!(log.scan(Lsn::ZERO).count(), 0);
            }
            return Some(disk.io_count());
        }
    }
    let ios = disk.io_count();
    let mut disk = disk.crash(seed ^ n);
    for round in 0..3 {
        let log = verify(&disk, &mut model, options_of(seed));
        disk.crash_at(disk.io_count() + 1 + rng.u64(0..25));
        let survived = work(&log, &mut model, &mut rng, 25);
        assert!(!survived || !disk.has_crashed() || log.failure().is_some());
        drop(log);
        disk = disk.crash(seed ^ n ^ (round + 1) << 32);
    }
    verify(&disk, &mut model, options_of(seed));
    Some(ios)
}

#[test]
fn every_crash_point_of_random_work() {
    let mut points = 0;
    for seed in 0..18 {
        let mut n = 1;
        loop {
            let result = std::panic::catch_unwind(|| run_one(seed, n));
            match result {
                Ok(Some(_)) => points += 1,
                Ok(None) => break,
                Err(panic) => {
                    eprintln!("failed: run_one({seed}, {n})");
                    std::panic::resume_unwind(panic);
                }
            }
            n += 1;
        }
    }
    // Each point is crashed four times in a row.
    assert!(points * 4 >= 2000, "{points} points");
    println!("{points} first crash points, {} crashes", points * 4);
}

/// Each I/O in turn fails, the work continues as far as the log lets it, then the power fails:
/// nothing acknowledged is lost.
#[test]
fn every_io_fails_in_turn() {
    let mut struck = 0;
    for fault in [Fault::Io, Fault::NoSpace, Fault::ShortWrite, Fault::LoseUnsynced] {
        for seed in 100..104 {
            let mut n = 1;
            loop {
                let mut rng = fastrand::Rng::with_seed(seed);
                let disk = SimDisk::new(seed);
                let log = Log::create(&disk, Path::new(PATH), options()).expect("create");
                disk.fail(OpKind::Any, n, fault);
                let mut model = LogModel::default();
                if work(&log, &mut model, &mut rng, 60) && log.failure().is_none() {
                    break;
                }
                struck += 1;
                // Go on in spite of the error: the log may work (a failed read, a failed growth) or
                // refuse.
                work(&log, &mut model, &mut rng, 20);
                if log.failure().is_some() {
                    assert!(matches!(log.append(&[b"x"], 0), Err(LogError::Offline { .. })));
                }
                drop(log);
                verify(&disk.crash(seed ^ n), &mut model, options());
                n += 1;
            }
        }
    }
    assert!(struck > 300, "{struck} faults");
}

/// A toy log of four VLFs whose space has been used before: for every write that is in flight when
/// the power goes, all combinations of sectors kept and lost are tried.
#[test]
fn every_combination_of_sectors() {
    let mut tried = 0u64;
    for seed in 0..3 {
        let mut n = 1;
        while let Some(combinations) = combinations_at(seed, n) {
            tried += combinations;
            n += 1;
        }
    }
    assert!(tried > 3000, "{tried} combinations");
    println!("{tried} combinations");
}

fn toy_work(log: &Log, model: &mut LogModel, rng: &mut fastrand::Rng) -> Result<(), LogError> {
    // Three times around the four VLFs.
    while log.space().current_vlf < 52 {
        for _ in 0..rng.usize(1..4) {
            let record = vec![rng.u8(..); rng.usize(1..900)];
            let lsn = log.append(&[&record], 0)?;
            model.records.push((lsn, record));
            if rng.u8(0..3) == 0 {
                // Several blocks in one write.
                let record = vec![rng.u8(..); 7000];
                let lsn = log.append(&[&record], 0)?;
                model.records.push((lsn, record));
            }
        }
        let last = model.records[model.records.len() - 1].0;
        log.flush_to(last)?;
        model.acked = last;
        if rng.u8(0..3) == 0 {
            checkpoint(log, model, rng)?;
        }
    }
    Ok(())
}

fn combinations_at(seed: u64, n: u64) -> Option<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let disk = SimDisk::new(seed);
    let log = Log::create(&disk, Path::new(PATH), options()).expect("create");
    let mut model = LogModel::default();
    disk.crash_at(disk.io_count() + n);
    match toy_work(&log, &mut model, &mut rng) {
        Ok(()) => return None,
        Err(LogError::Offline { .. } | LogError::Full { cause: Some(_) }) => {}
        Err(error) => panic!("unexpected: {error:?}"),
    }
    let sectors = disk.unsynced_atoms();
    // More sectors than can be tried in full: every prefix and every single loss instead.
    let choices: Vec<Vec<bool>> = match sectors {
        0..=6 => (0..1u64 << sectors)
            .map(|mask| (0..sectors).map(|i| mask >> i & 1 == 1).collect())
            .collect(),
        _ => {
            let prefixes = (0..=sectors).map(|k| (0..sectors).map(|i| i < k).collect());
            let losses = (0..sectors).map(|k| (0..sectors).map(|i| i != k).collect());
            prefixes.chain(losses).collect()
        }
    };
    for keep in &choices {
        let left = disk.crash_keeping(|i| keep[i]);
        let mut model = model.clone();
        let log = verify(&left, &mut model, options());
        // What was lost must not reappear after what is written now.
        let record = vec![7; 40];
        let lsn = log.append(&[&record], 0).expect("append");
        model.records.push((lsn, record));
        log.flush_to(lsn).expect("flush");
        model.acked = lsn;
        drop(log);
        verify(&left, &mut model, options());
        assert_eq!(
            model.acked, lsn,
            "seed {seed} point {n} kept {keep:?}: stale blocks behind the end"
        );
    }
    Some(choices.len() as u64)
}

/// A block is lost, the one after it survives; what is written in the lost one's position must not
/// connect to the survivor.
#[test]
fn a_stale_block_does_not_continue_the_chain() {
    let disk = SimDisk::new(1);
    let options =
        LogOptions { vlf_rule: VlfRule::R100, initial_size: 1 << 20, max_size: None, ..options() };
    let log = Log::create(&disk, Path::new(PATH), options.clone()).expect("create");
    log.append(&[&[1; 40_000]], 0).expect("append");
    let last = log.append(&[&[2; 40_000]], 0).expect("append");
    assert_eq!((last.block, last.slot), (16 + 79, 1), "two blocks in one write");
    disk.crash_at(disk.io_count() + 1);
    assert!(log.flush_to(last).is_err());
    let left = disk.crash_keeping(|sector| sector != 0);
    for records in 0..4u8 {
        let (log, _) = Log::open(&left, Path::new(PATH), options.clone()).expect("open");
        let found: Vec<u8> = log.scan(Lsn::ZERO).map(|found| found.expect("scan").1[0]).collect();
        assert_eq!(found, (0..records).map(|i| 10 + i).collect::<Vec<u8>>());
        // As long as the lost block, so that the survivor is its neighbour.
        let lsn = log.append(&[&[10 + records; 40_000]], 0).expect("append");
        log.flush_to(lsn).expect("flush");
    }
}

/// Blocks written without a sync because the buffers ran out are covered by the next flush.
#[test]
fn a_flush_covers_what_was_written_before_it() {
    let disk = SimDisk::new(1);
    let vlf_rule = VlfRule::Fixed(16 << 20);
    let options = LogOptions {
        vlf_rule,
        background_writer: false,
        initial_size: 40 << 20,
        ..LogOptions::default()
    };
    let log = Log::create(&disk, Path::new(PATH), options.clone()).expect("create");
    while log.stats().log_buffer_waits < 2 {
        log.append(&[&[1; 20_000]], 0).expect("append");
    }
    assert!(disk.unsynced_atoms() > 0, "something was written and not synced");
    // Only one run is left to write: a durable write of it alone would not cover the earlier
    // writes.
    let last = log.append(&[b"last"], 0).expect("append");
    log.flush_to(last).expect("flush");
    let records = log.scan(Lsn::ZERO).count();
    for seed in 0..10 {
        let (log, _) =
            Log::open(&disk.crash(seed), Path::new(PATH), options.clone()).expect("open");
        assert_eq!(log.scan(Lsn::ZERO).count(), records);
    }
}

/// Whatever a caller asks for, the log that recovery needs is kept.
#[test]
fn truncation_never_passes_the_checkpoint() {
    let disk = SimDisk::new(1);
    let log = Log::create(&disk, Path::new(PATH), options()).expect("create");
    let fill =
        |count: usize| (0..count).map(|_| log.append(&[&[1; 2000]], 0).expect("append")).max();
    let first = fill(20).expect("some");
    let before = log.oldest();
    log.truncate_to(Lsn::MAX);
    assert_eq!(log.oldest(), before, "there is no checkpoint yet");
    let redo_lsn = first;
    let checkpoint_lsn = fill(20).expect("some");
    log.set_checkpoint(CheckpointInfo { checkpoint_lsn, redo_lsn, payload: Vec::new() })
        .expect("checkpoint");
    log.truncate_to(Lsn::MAX);
    assert_eq!(log.oldest(), redo_lsn);
    fill(60);
    log.read(redo_lsn, &mut Vec::new()).expect("kept");
}

/// Threads that commit until the disk dies: each returns what was reported to it as durable. All
/// return: a thread that waits for a flush that fails, or for the one after it, gets the error.
fn commit_until_dead(log: &Log, threads: u64) -> Vec<(Lsn, [u8; 8])> {
    std::thread::scope(|scope| {
        let commits = move |thread: u64| {
            let mut hard = Vec::new();
            for i in 0.. {
                let record = (thread << 32 | i).to_le_bytes();
                match log.append(&[&record], 0).and_then(|lsn| log.flush_to(lsn).map(|()| lsn)) {
                    Ok(lsn) => hard.push((lsn, record)),
                    Err(LogError::Offline { .. } | LogError::Full { cause: Some(_) }) => {
                        return hard;
                    }
                    Err(error) => panic!("unexpected: {error:?}"),
                }
            }
            hard
        };
        let threads: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || commits(thread))).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a committer panicked"))
            .collect()
    })
}

#[test]
fn what_any_of_many_committers_was_told_is_there_after_a_crash() {
    let mut acknowledged = 0;
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let log = Log::create(&disk, Path::new(PATH), options_of(seed)).expect("create");
        disk.crash_at(disk.io_count() + 1 + seed * 2);
        let hard = commit_until_dead(&log, 8);
        assert!(disk.has_crashed());
        acknowledged += hard.len();
        drop(log);
        let (log, _) =
            Log::open(&disk.crash(seed), Path::new(PATH), options_of(seed)).expect("open");
        let mut bytes = Vec::new();
        for (lsn, record) in hard {
            log.read(lsn, &mut bytes)
                .unwrap_or_else(|e| panic!("seed {seed}: {lsn:?} is lost: {e:?}"));
            assert_eq!(bytes, record, "seed {seed}: {lsn:?}");
        }
    }
    assert!(acknowledged > 1000, "only {acknowledged} commits");
}

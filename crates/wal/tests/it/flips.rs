//! Bits that flip in the log after it was acknowledged: opening finds each of them and does not end
//! the log before it. The last blocks of VLFs and the last flush, for which no later block is
//! evidence, are flipped most.
//!
//! What cannot be distinguished from a torn write: a bit behind the first sector of a block of the
//! last flush, if the power fails before the log was sealed. Then the log ends there. Such bits are
//! counted, and so are sectors that are lost as a whole, for which that holds of all sectors.
//!
//! `RINGWOOD_FLIPS=10000 cargo test --release -p ringwood-wal --test it flips::` flips as many; a
//! failure names its seed.

use std::path::Path;
use std::sync::Arc;

use disk::{AlignedBuf, BlockFile, Disk, OpenMode, Sectors};
use ringwood_wal::{Alignment, CheckpointInfo, Growth, Log, LogError, LogOptions, Lsn, VlfRule};
use sim::{SimConfig, SimDisk};

const PATH: &str = "log";

/// How the log was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogEnding {
    /// The power failed right after the last flush.
    Crash,
    /// It was idle for a while, then the power failed.
    Idle,
    Closed,
}

struct MadeLog {
    disk: SimDisk,
    options: LogOptions,
    end: LogEnding,
    /// File offset and length of each block from the checkpoint on, whether it is its VLF's last,
    /// and its position (VLF, block).
    blocks: Vec<(u64, usize, bool, (u32, u32))>,
    /// First block of the last flush.
    last_flush: usize,
}

fn options(rng: &mut fastrand::Rng) -> LogOptions {
    let (align, smallest) = if rng.bool() { (512, 16) } else { (4096, 32) };
    let vlf = (smallest << rng.u32(0..4)) << 10;
    LogOptions {
        vlf_rule: VlfRule::Fixed(vlf),
        initial_size: 8192 + rng.u64(4..12) * u64::from(vlf),
        growth: Growth::Bytes(64 << 10),
        first_vlf_seq: 40,
        alignment: Alignment::Force(align),
        log_id: *b"a log with flips",
        background_writer: false,
        cache_bytes: 32 << 10,
        ..LogOptions::default()
    }
}

/// A log that went round its VLFs a few times, with flushes of one and of many blocks and
/// checkpoints.
fn make(seed: u64) -> MadeLog {
    let mut rng = fastrand::Rng::with_seed(seed);
    let options = options(&mut rng);
    let sectors = Sectors { logical: 512, physical: 512 };
    let disk = SimDisk::with_config(seed, SimConfig { sectors, ..SimConfig::default() });
    let log = Log::create(&disk, Path::new(PATH), options.clone()).expect("create");
    let most = if rng.bool() { 300 } else { 9000 };
    let (mut checkpoint, mut flushed_from, mut steps) = (Lsn::ZERO, Lsn::ZERO, rng.u32(50..600));
    while steps > 0 || checkpoint.is_zero() {
        steps = steps.saturating_sub(1);
        let first = log.end();
        for _ in 0..if rng.u8(0..10) == 0 { rng.usize(5..40) } else { 1 } {
            let bytes = vec![rng.u8(..); rng.usize(1..most)];
            log.append(&[&bytes], 0).expect("append");
        }
        flushed_from = first;
        log.flush_all().expect("flush");
        if rng.u8(0..25) == 0 {
            checkpoint = log.append_reserved(&[b"checkpoint"], 0).expect("append");
            let info = CheckpointInfo {
                checkpoint_lsn: checkpoint,
                redo_lsn: checkpoint,
                payload: Vec::new(),
            };
            log.set_checkpoint(info).expect("checkpoint");
            log.truncate_to(checkpoint);
            flushed_from = checkpoint;
        }
    }
    let end =
        [LogEnding::Crash, LogEnding::Crash, LogEnding::Idle, LogEnding::Closed][rng.usize(0..4)];
    match end {
        LogEnding::Crash => {}
        LogEnding::Idle => log.seal().expect("seal"),
        LogEnding::Closed => log.close().expect("close"),
    }
    // An open log is locked; the disk that a power loss leaves is not.
    let disk = disk.crash(seed);
    let blocks = blocks(&disk, &log, checkpoint);
    let last_flush =
        blocks.iter().position(|block| block.3 >= (flushed_from.vlf, flushed_from.block));
    let last_flush = last_flush.expect("the last flush wrote blocks");
    MadeLog { disk, options, end, blocks, last_flush }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Follows the blocks from that of a record to the end of what is durable.
fn blocks(disk: &SimDisk, log: &Log, from: Lsn) -> Vec<(u64, usize, bool, (u32, u32))> {
    let file = disk.open(Path::new(PATH), OpenMode::Open).expect("open");
    let vlfs = log.vlfs();
    let end = log.durable_end();
    let index = vlfs.iter().position(|vlf| vlf.seq == from.vlf).expect("in use");
    let (mut vlf, mut block, mut start) = (from.vlf, from.block, vlfs[index].begin_offset);
    let mut head = AlignedBuf::new(512);
    let mut blocks = Vec::new();
    while (vlf, block) < (end.vlf, end.block) {
        let offset = start + u64::from(block - 16) * 512;
        file.read_at(offset, &mut head).expect("read");
        assert_eq!((&head[..4], number(&head, 24), number(&head, 28)), (&b"RWLB"[..], vlf, block));
        let (len, last) = (number(&head, 36), head[6] & 1 == 1);
        blocks.push((offset, len as usize, last, (vlf, block)));
        if last {
            start = vlfs[number(&head, 52) as usize].begin_offset;
            (vlf, block) = (vlf + 1, 16);
        } else {
            block += len / 512;
        }
    }
    blocks
}

fn flip(file: &Arc<dyn BlockFile>, offset: u64, bit: usize) {
    let at = offset + bit as u64 / 8;
    let mut sector = AlignedBuf::new(512);
    file.read_at(at / 512 * 512, &mut sector).expect("read");
    sector[at as usize % 512] ^= 1 << (bit % 8);
    file.write_durable(at / 512 * 512, &[&sector]).expect("write");
}

/// A bit that was flipped: whether its block is its VLF's last one, whether it is of the last
/// flush, whether it was found.
struct Flipped {
    last: bool,
    newest: bool,
    found: bool,
}

/// Flips a bit of an acknowledged block and opens.
fn flip_one(made: &MadeLog, rng: &mut fastrand::Rng) -> Flipped {
    let count = made.blocks.len();
    let last: Vec<usize> = (0..count).filter(|at| made.blocks[*at].2).collect();
    let at = match rng.u8(0..10) {
        0..4 if !last.is_empty() => last[rng.usize(0..last.len())],
        4..7 => rng.usize(made.last_flush..count),
        _ => rng.usize(0..count),
    };
    let (offset, len, is_last, place) = made.blocks[at];
    let bit = rng.usize(0..len * 8);
    let disk = made.disk.crash(0);
    flip(&disk.open(Path::new(PATH), OpenMode::Open).expect("open"), offset, bit);
    let newest = at >= made.last_flush;
    let as_if_torn = made.end == LogEnding::Crash && newest && bit / 8 >= 512;
    let mut found = true;
    match Log::open(&disk, Path::new(PATH), made.options.clone()) {
        Err(LogError::Missing { from, to, .. }) => {
            assert_eq!((from.vlf, from.block), place, "the range begins with the damaged block");
            assert!(to > from);
        }
        Ok((_, report)) if as_if_torn => {
            assert!((report.last.vlf, report.last.block) < place, "the log ends before the block");
            found = false;
        }
        // The checkpoint's own block.
        Err(LogError::Corrupt { .. }) if at == 0 => {}
        Err(error) => panic!("{error}"),
        Ok((log, report)) => panic!(
            "{:?}: bit {bit} of block {at} of {count} at {place:?} ({len} bytes, last flush from {}): the log ends at {} \
             with {}, no error",
            made.end,
            made.last_flush,
            log.end(),
            report.last
        ),
    }
    Flipped { last: is_last, newest, found }
}

#[test]
fn flipped_bits_of_the_acknowledged_log_are_found() {
    let flips: u64 =
        std::env::var("RINGWOOD_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500);
    let (mut done, mut seed, mut last, mut newest, mut missed) = (0, 0, 0u64, 0u64, 0u64);
    while done < flips {
        let made = make(seed);
        // Without a flip no damage is reported.
        let (log, _) = Log::open(&made.disk.crash(0), Path::new(PATH), made.options.clone())
            .expect("no damage");
        let end = made.blocks.last().expect("blocks").3;
        assert!((log.end().vlf, log.end().block) > end);
        let mut rng = fastrand::Rng::with_seed(seed);
        for n in 0..25 {
            let flip = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                flip_one(&made, &mut rng)
            }));
            let flip = flip.unwrap_or_else(|panic| {
                eprintln!("failed: flip {n} of seed {seed}");
                std::panic::resume_unwind(panic)
            });
            last += u64::from(flip.last);
            newest += u64::from(flip.newest);
            missed += u64::from(!flip.found);
            done += 1;
        }
        seed += 1;
    }
    println!(
        "{done} flips, {last} in last blocks of VLFs, {newest} in the last flush; {missed} not found in a last flush that was \
         not sealed"
    );
    assert!(last > done / 4 && newest > done / 4);
}

/// A whole sector that is lost looks like a torn write. It is found all the same, unless it belongs
/// to the last flush and the power failed before the log was sealed.
#[test]
fn lost_sectors_are_found_outside_of_the_last_unsealed_flush() {
    let (mut found, mut missed) = (0, 0);
    for seed in 1000..1040 {
        let made = make(seed);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..15 {
            let at = rng.usize(0..made.blocks.len());
            let (offset, len, _, place) = made.blocks[at];
            let sector = offset + rng.u64(0..len as u64 / 512) * 512;
            let disk = made.disk.crash(0);
            let file = disk.open(Path::new(PATH), OpenMode::Open).expect("open");
            let mut lost = AlignedBuf::new(512);
            lost.iter_mut().for_each(|byte| *byte = rng.u8(..));
            file.write_durable(sector, &[&lost]).expect("write");
            drop(file);
            match Log::open(&disk, Path::new(PATH), made.options.clone()) {
                Err(LogError::Missing { from, .. }) => {
                    assert_eq!((from.vlf, from.block), place);
                    found += 1;
                }
                Err(LogError::Corrupt { .. }) if at == 0 => found += 1,
                Ok(_) if made.end == LogEnding::Crash && at >= made.last_flush => missed += 1,
                other => {
                    panic!(
                        "seed {seed}, {:?}: block {at} of {}: {other:?}",
                        made.end,
                        made.blocks.len()
                    )
                }
            }
        }
    }
    println!("{found} lost sectors found, {missed} in a last flush that was not sealed");
    assert!(found > 400);
}

/// The log seals itself when nothing was flushed for a while; then the header alone is evidence of
/// the last flush.
#[test]
fn an_idle_log_is_sealed() {
    let disk = SimDisk::new(3);
    let options = LogOptions { alignment: Alignment::Force(4096), ..LogOptions::default() };
    let log = Log::create(&disk, Path::new(PATH), options.clone()).expect("create");
    let lsn = log.append(&[&[7; 3000]], 0).expect("append");
    log.flush_to(lsn).expect("flush");
    let writes = disk.io_count();
    let patience = std::time::Instant::now();
    while disk.io_count() == writes {
        assert!(patience.elapsed().as_secs() < 10, "nobody seals the log");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(disk.io_count(), writes + 1, "one write, once");
    // More than one bit of the block, which the block alone does not distinguish from a torn write.
    let rotten = disk.crash(1);
    let file = rotten.open(Path::new(PATH), OpenMode::Open).expect("open");
    file.write_durable(8192 + 1024, &[&AlignedBuf::new(512)]).expect("write");
    drop(file);
    let opened = Log::open(&rotten, Path::new(PATH), options);
    assert!(
        matches!(&opened, Err(LogError::Missing { from, .. }) if from.block == 16),
        "{opened:?}"
    );
}

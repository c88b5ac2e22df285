//! Growth and power loss: what was seen of the log is there afterwards.

use super::*;

/// An extension that no map names is cut off; the next growth does not find old bytes in it.
#[test]
fn an_unfinished_growth_is_cut() {
    let disk = SimDisk::new(1);
    let log = Log::create(&disk, Path::new(PATH), options()).expect("create");
    let size = log.space().size;
    drop(log);
    let file = disk.open(Path::new(PATH), OpenMode::Open).expect("open");
    file.set_len(size + 65536).expect("extend");
    drop(file);
    let (log, report) = Log::open(&disk, Path::new(PATH), options()).expect("open");
    assert_eq!((report.cut, log.space().size), (65536, size));
    assert_eq!(disk.file_len(Path::new(PATH)), Some(size));
}

/// What was observed of a log that grows ahead of need.
#[derive(Default)]
struct SeenLog {
    vlfs: Vec<(u64, u64)>,
    records: Vec<Lsn>,
    acked: usize,
}

fn places(log: &Log) -> Vec<(u64, u64)> {
    log.vlfs().iter().map(|vlf| (vlf.begin_offset, vlf.size)).collect()
}

/// Growth of all kinds, never truncation, until the disk dies. More runs than the header's own area
/// of the map has space for.
fn grow_in_all_ways(
    log: &Log,
    seen: &mut SeenLog,
    rng: &mut fastrand::Rng,
) -> Result<(), LogError> {
    for _ in 0..180 {
        match rng.u8(0..100) {
            0..3 => log.set_growth(VlfRule::R160, Growth::Bytes(64 << rng.u32(10..12)), None),
            3 => log.set_growth(VlfRule::R160, Growth::Percent(rng.u32(1..3)), None),
            4..7 => log.grow(log.space().size + (64 << 10))?,
            7..10 => drop(log.prepare_ahead()?),
            10..20 => {
                log.flush_all()?;
                seen.acked = seen.records.len();
            }
            _ => seen.records.push(log.append(&[&[5; 40_000]], 0)?),
        }
        seen.vlfs = places(log);
    }
    Ok(())
}

/// A growth that is taken writes nothing, so the map on disk must have had it before: everything
/// observed of the log is there after a crash at any I/O. A clean stop leaves exactly what was
/// observed.
#[test]
fn growth_ahead_of_need_survives() {
    let options = || LogOptions {
        vlf_rule: VlfRule::R160,
        initial_size: 512 << 10,
        growth: Growth::Bytes(64 << 10),
        background_writer: false,
        ..LogOptions::default()
    };
    let (mut crashes, mut areas) = (0, 0);
    for seed in 0..100 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let disk = SimDisk::new(seed);
        let log = Log::create(&disk, Path::new(PATH), options()).expect("create");
        let mut seen = SeenLog { vlfs: places(&log), ..SeenLog::default() };
        disk.crash_at(disk.io_count() + rng.u64(1..120));
        let done = grow_in_all_ways(&log, &mut seen, &mut rng).and_then(|()| log.close());
        drop(log);
        let left = disk.crash(seed);
        let (log, _) = Log::open(&left, Path::new(PATH), options()).expect("open");
        let found = places(&log);
        assert!(
            found.starts_with(&seen.vlfs),
            "seed {seed}: {} of {} VLFs",
            found.len(),
            seen.vlfs.len()
        );
        if done.is_ok() {
            assert_eq!(
                found.len(),
                seen.vlfs.len(),
                "seed {seed}: a clean stop takes the rest back"
            );
        }
        let records: Vec<Lsn> = log.scan(Lsn::ZERO).map(|record| record.expect("read").0).collect();
        assert!(records.len() >= seen.acked && seen.records.starts_with(&records), "seed {seed}");
        crashes += u32::from(done.is_err());
        // The log continues to grow from what was found.
        let mut more = SeenLog { vlfs: found, ..SeenLog::default() };
        grow_in_all_ways(&log, &mut more, &mut rng)
            .and_then(|()| log.close())
            .expect("no faults any more");
        drop(log);
        let (log, _) = Log::open(&left, Path::new(PATH), options()).expect("open");
        assert_eq!(places(&log), more.vlfs, "seed {seed}");
        areas += u32::from(more.vlfs.len() > 180);
    }
    assert!(crashes > 30 && areas > 20, "{crashes} crashes, {areas} with several map areas");
}

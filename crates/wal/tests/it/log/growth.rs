//! How a log grows, ahead of need too, and what it says when it cannot.

use super::*;

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
    assert!(
        disk.read_count() - reads < 8,
        "opening costs a read for each 200 growths, not for each VLF"
    );
    assert!(log.vlfs()[4].create_lsn >= Lsn { vlf: 1, block: 16, slot: 1 });
    let report = log.shrink_to(50 << 20).expect("shrink");
    assert_eq!(
        (report.new_size, report.vlfs_removed, report.held_by_active),
        (50 << 20, 2 * 150, false)
    );
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
    assert_eq!(
        ordinary,
        Some(LogError::Full { cause: None }),
        "what is reserved is not for others"
    );
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
    assert!(
        matches!(&full, Some(LogError::Full { cause: Some(cause) }) if cause.is_no_space()),
        "{full:?}"
    );
    assert_eq!(log.failure(), None, "a full disk does not take the log offline");
    log.flush_all().expect("flush");
    log.truncate_to(checkpoint(&log));
    log.append(&[b"room again"], 0).expect("append");
}

/// While a truncation is expected growth is not prepared, until the log is nearly full; a
/// truncation that frees nothing ends that.
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

/// A log that runs low gets the space of its next growth before it needs it, which is not visible
/// until it grows.
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

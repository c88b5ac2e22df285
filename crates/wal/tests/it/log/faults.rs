//! Writes, syncs and cuts that fail, space that is refused, and damage.

use super::*;

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
        assert!(
            matches!(log.flush_beyond(u64::MAX), Err(LogError::Offline { .. })),
            "nothing is answered"
        );
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

/// The sync that ends the preparation of space covers blocks of the log too, and a failed one is
/// reported once: it takes the log offline. A full volume does not.
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

/// Space that the system refuses, for whatever reason, is a full log: once there is space again,
/// work continues.
#[test]
fn refused_space_is_not_final() {
    let disk = SimDisk::new(9);
    let log = create(&disk, LogOptions { background_writer: false, ..options() });
    let size = log.space().size;
    disk.fail_on(Path::new(PATH), OpKind::SetLen, 1, Fault::Io);
    let refused = log.grow(size * 2);
    let op = |cause: &DiskError| matches!(cause, DiskError::Io { op: Op::Allocate, .. });
    assert!(
        matches!(&refused, Err(LogError::Full { cause: Some(cause) }) if op(cause)),
        "{refused:?}"
    );
    assert_eq!(log.failure(), None);
    let lsn = log.append(&[b"commit"], 0).expect("append");
    log.flush_to(lsn).expect("flush");
    log.grow(size * 2).expect("room again");
    assert!(log.space().size >= size * 2);
}

/// A cut of the file that is refused leaves it longer than its map, which the next growth and the
/// next opening put right. A cut whose sync fails is final, also when it was to remove space that
/// could not be prepared.
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
            assert!(
                matches!(cut, Err(LogError::Disk(DiskError::Io { op: Op::SetLength, .. }))),
                "{cut:?}"
            );
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

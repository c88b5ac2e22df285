//! Writes that fail, bytes that rot, and writes that a kill left in the device.

use super::*;

/// The write of a batch's images fails: nothing is written any more, as a durable write that fails
/// may have been the sync of what was written before. Opening the database again repairs what is
/// torn.
#[test]
fn a_failed_durable_write_takes_the_store_offline() {
    for seed in 0..24 {
        let (db, mut load) = start(seed, 1, 400);
        load.fill(&db, 200);
        db.checkpoint().unwrap();
        (0..300).for_each(|_| load.rows(&db).unwrap());
        let fault = if seed % 2 == 0 { sim::Fault::Io } else { sim::Fault::LoseUnsynced };
        db.disk.fail_on(std::path::Path::new(crate::support::DATA), sim::OpKind::Write, 1, fault);
        assert!(db.checkpoint().is_err(), "seed {seed}");
        assert!(db.store.check_online().is_err(), "seed {seed}: it goes on");
        let (disk, flushed) = (db.disk.clone(), load.flushed);
        db.store.abandon("failed");
        drop((load, db));
        disk.clear_faults();
        let left = if seed % 3 == 0 { disk.crash(seed) } else { disk };
        finish(left, seed, flushed);
    }
}

/// A process that is killed leaves writes in the device's cache. The next one takes them for
/// written, and power fails after its first checkpoint.
#[test]
fn power_loss_after_a_kill() {
    for seed in 0..40 {
        let (db, mut load) = start(seed, 1 + seed as u16 % 2 * 2, 24);
        for _ in 0..load.rng.usize(50..400) {
            load.step(&db).unwrap();
        }
        let (disk, flushed) = (db.disk.clone(), load.flushed);
        // Nothing of it may write any more, as if it were gone.
        db.store.abandon("killed");
        drop((load, db));
        let db = open(disk, 24).unwrap();
        db.checkpoint().unwrap();
        finish(db.disk.crash(seed), seed, flushed);
    }
}

#[test]
fn rotten_bytes_give_824() {
    let (db, mut load) = start(5, 1, 200);
    for _ in 0..100 {
        load.step(&db).unwrap();
    }
    let pages = load.units.iter().find(|(_, p)| !p.is_empty()).map(|(_, p)| p.clone()).unwrap();
    let victim = pages[0];
    db.checkpoint().unwrap();
    let disk = db.disk.clone();
    drop((load, db));
    // Opening first: it would repair the page if the last doublewrite batch happens to hold it.
    let db = open(disk.clone(), 64).unwrap();
    disk.rot(std::path::Path::new(crate::support::DATA), u64::from(victim.page) * 8192 + 5000)
        .unwrap();
    let error = db.store.read(victim).unwrap_err();
    assert!(error.is_damage(), "{error}");
    let PageError::Checksum { page, offset, expected, actual, .. } = error else {
        panic!("not a checksum error")
    };
    assert!(page == victim && offset == u64::from(victim.page) * 8192 && expected != actual);
    assert!(db.store.prefetch(&[victim, PageId::new(1, victim.page + 1)]).is_ok());
    assert!(db.store.read(victim).unwrap_err().is_damage(), "read-ahead must not hide it");
}

/// A page that was written to make room, and not synced, still holds the start of redo.
#[test]
fn unsynced_writes_hold_redo() {
    let (db, load) = start(1, 1, 16);
    let unit = &load.units[0].0;
    let pages: Vec<PageId> =
        (0..40).map(|_| new_page(&db.store, unit, PageType::Data).unwrap()).collect();
    db.checkpoint().unwrap();
    assert!(db.store.min_rec_lsn().is_none());
    let lsn = insert_row(&db, pages[0], b"row");
    for _ in 0..2000 {
        for &id in &pages[1..] {
            drop(db.store.read(id).unwrap());
        }
        if db.store.dirty_pages() == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(db.store.dirty_pages(), 0, "the page has been written to make room");
    assert!(db.store.min_rec_lsn().is_some_and(|min| min <= lsn), "but is not durable");
    db.checkpoint().unwrap();
    assert!(db.store.min_rec_lsn().is_none());
}

/// Every kind of failing I/O gives an error, and what was acknowledged as durable before is there
/// afterwards.
#[test]
fn failing_io_loses_nothing() {
    use sim::{Fault, OpKind};
    for seed in 0..56u64 {
        let (db, mut load) = start(seed, 1 + (seed % 2) as u16, 24);
        for _ in 0..60 {
            load.step(&db).unwrap();
        }
        let (kind, fault) = [
            (OpKind::Read, Fault::Io),
            (OpKind::Write, Fault::ShortWrite),
            (OpKind::Sync, Fault::LoseUnsynced),
            (OpKind::Write, Fault::LoseUnsynced),
            (OpKind::SetLen, Fault::NoSpace),
            (OpKind::SetLen, Fault::Io),
            (OpKind::SetLen, Fault::LoseUnsynced),
        ][seed as usize % 7];
        db.disk.fail(kind, 1 + load.rng.u64(0..12), fault);
        for _ in 0..150 {
            match load.step(&db) {
                Ok(()) => {}
                Err(e) if io(&e) => break,
                Err(e) => panic!("seed {seed}: {e}"),
            }
        }
        let flushed = load.flushed;
        let after = db.disk.crash(seed);
        drop((load, db));
        finish(after, seed, flushed);
    }
}

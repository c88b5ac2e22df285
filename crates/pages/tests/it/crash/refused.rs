//! Writes of pages that the device refuses, once or for long: the store goes on, and a power loss
//! at any time costs nothing.

use super::*;
use sim::{Fault, OpKind};
use std::path::Path;

const FAULTS: [Fault; 4] = [Fault::Io, Fault::ShortWrite, Fault::NoSpace, Fault::LoseUnsynced];

/// From here on every write of the page fails.
pub(crate) fn refuse(db: &Db, page: PageId, fault: Fault) {
    let at = u64::from(page.page) * PAGE_SIZE as u64;
    db.disk.refuse_writes(Path::new(crate::support::DATA), at..at + PAGE_SIZE as u64, fault);
}

/// The homes of all pages.
fn refuse_all(db: &Db, fault: Fault) {
    let first = (15 + 257) * PAGE_SIZE as u64;
    db.disk.refuse_writes(Path::new(crate::support::DATA), first..u64::MAX, fault);
}

fn is_unwritten(result: Result<(), PageError>) -> bool {
    matches!(result, Err(PageError::Unwritten { .. }))
}

fn pages_of(load: &PageLoad) -> Vec<PageId> {
    load.units.iter().flat_map(|(_, pages)| pages.iter().copied()).collect()
}

fn ends(db: Db, load: PageLoad, seed: u64) {
    let (disk, flushed) = (db.disk.clone(), load.flushed);
    db.store.abandon("the end");
    db.store.release_files();
    drop((load, db));
    finish(disk.crash(seed), seed, flushed);
}

/// A database of some hundred pages that are on disk and have changed since.
fn changed(seed: u64, frames: u64) -> (Db, PageLoad) {
    let (db, mut load) = start(seed, 1, frames);
    load.fill(&db, 200);
    db.checkpoint().unwrap();
    (0..300).for_each(|_| load.rows(&db).unwrap());
    (db, load)
}

/// A write that fails once is given again at once, and nobody notices.
#[test]
fn a_write_that_is_refused_once_is_given_again() {
    for seed in 0..24 {
        let (db, load) = changed(seed, 400);
        // Behind the write to the doublewrite area, which is the first.
        let fault = FAULTS[seed as usize % FAULTS.len()];
        db.disk.fail_on(Path::new(crate::support::DATA), OpKind::Write, 2, fault);
        db.checkpoint().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert!(db.store.min_rec_lsn().is_none() && db.store.dirty_pages() == 0, "seed {seed}");
        ends(db, load, seed);
    }
}

/// Pages that cannot be written hold redo and are written when they can be; meanwhile sessions
/// work, checkpoints write the other pages, and the power may fail.
#[test]
fn pages_that_are_refused_for_long_stay_dirty() {
    for seed in 0..60 {
        let (db, mut load) = changed(seed, if seed % 2 == 0 { 400 } else { 48 });
        let fault = FAULTS[seed as usize % FAULTS.len()];
        let pages = pages_of(&load);
        let bad: Vec<PageId> =
            (0..1 + seed % 5).map(|_| *load.rng.choice(&pages).unwrap()).collect();
        bad.iter().for_each(|page| refuse(&db, *page, fault));
        let mut refused = 0;
        for _ in 0..load.rng.usize(1..400) {
            match load.step(&db) {
                Ok(()) => {}
                Err(PageError::Unwritten { .. }) => refused += 1,
                Err(e) => panic!("seed {seed}: {e}"),
            }
        }
        refused += u32::from(is_unwritten(db.checkpoint()));
        db.store.check_online().unwrap();
        if seed % 3 == 0 {
            // Bad pages may have been freed meanwhile.
            db.disk.clear_faults();
            (0..100).for_each(|_| load.step(&db).unwrap());
            db.checkpoint()
                .unwrap_or_else(|e| panic!("seed {seed}, after {refused} refusals: {e}"));
            assert!(db.store.min_rec_lsn().is_none() && db.store.dirty_pages() == 0, "seed {seed}");
        }
        ends(db, load, seed);
    }
}

/// While a page is refused, redo begins before the first of its changes that is not on disk,
/// whatever checkpoints there were.
#[test]
fn a_refused_page_holds_redo() {
    let (db, mut load) = changed(7, 400);
    let victim = pages_of(&load)[20];
    db.checkpoint().unwrap();
    let lsn = insert_row(&db, victim, b"row");
    refuse(&db, victim, Fault::ShortWrite);
    for _ in 0..3 {
        (0..100).for_each(|_| load.rows(&db).unwrap());
        assert!(is_unwritten(db.checkpoint()));
        assert!(db.store.min_rec_lsn().is_some_and(|min| min <= lsn));
        assert!(db.log.checkpoint().redo_lsn <= lsn);
        assert!(db.store.dirty_pages() < 10, "the others are written");
    }
    let (disk, flushed) = (db.disk.clone(), load.flushed);
    drop((load, db));
    finish(disk.crash(3), 7, flushed);
}

/// The power fails at any I/O of a checkpoint that meets refused pages, or of the one that writes
/// them in the end.
#[test]
fn power_loss_while_pages_are_refused() {
    for io in 1..48 {
        let (db, mut load) = changed(io, 400);
        let pages = pages_of(&load);
        (0..4).for_each(|_| refuse(&db, *load.rng.choice(&pages).unwrap(), Fault::ShortWrite));
        let first = io % 2 == 0;
        if !first {
            let _ = db.checkpoint();
            db.disk.clear_faults();
            (0..50).for_each(|_| load.rows(&db).unwrap());
        }
        db.disk.crash_at(db.disk.io_count() + io / 2);
        let _ = db.checkpoint();
        ends(db, load, io);
    }
}

/// A device that takes no page at all: nothing hangs, nothing fails for good.
#[test]
fn a_device_that_refuses_everything_is_waited_for() {
    for (seed, fault) in FAULTS.into_iter().enumerate() {
        let (db, mut load) = changed(seed as u64, 96);
        refuse_all(&db, fault);
        let mut failed = 0;
        for _ in 0..200 {
            match load.rows(&db) {
                Ok(()) => {}
                Err(PageError::Unwritten { .. }) => failed += 1,
                Err(e) => panic!("seed {seed}: {e}"),
            }
            if failed > 2 {
                break;
            }
        }
        for _ in 0..3 {
            assert!(is_unwritten(db.checkpoint()), "seed {seed}");
        }
        db.store.check_online().unwrap();
        if seed % 2 == 0 {
            db.disk.clear_faults();
            (0..200).for_each(|_| load.step(&db).unwrap());
            db.checkpoint().unwrap();
            assert_eq!(db.store.dirty_pages(), 0);
        }
        ends(db, load, seed as u64);
    }
}

/// A volume without room for the images (one that writes nothing in place may say so).
#[test]
fn no_room_for_images_is_no_failure() {
    let (db, mut load) = changed(3, 400);
    let area = 15 * PAGE_SIZE as u64..(15 + 257) * PAGE_SIZE as u64;
    db.disk.refuse_writes(Path::new(crate::support::DATA), area, Fault::NoSpace);
    for _ in 0..3 {
        (0..50).for_each(|_| load.rows(&db).unwrap());
        assert!(is_unwritten(db.checkpoint()));
    }
    db.disk.clear_faults();
    db.checkpoint().unwrap();
    assert!(db.store.min_rec_lsn().is_none());
    ends(db, load, 3);
}

/// A checkpoint that borrows extents meets refused pages: the only whole image of one may be in
/// what it has borrowed.
#[test]
fn refused_pages_of_a_checkpoint_that_borrows() {
    for seed in 0..24 {
        let db = create(SimDisk::new(seed), 1200, &[spec(1, 1, 24 << 20)]).unwrap();
        let mut load = load_of(&db, seed, 1);
        load.fill(&db, 400);
        db.checkpoint().unwrap();
        (0..900).for_each(|_| load.rows(&db).unwrap());
        let pages = pages_of(&load);
        // Few have a place in the area; many stay in what was borrowed.
        let bad = if seed % 2 == 0 { 3 } else { 60 };
        (0..bad).for_each(|_| refuse(&db, *load.rng.choice(&pages).unwrap(), Fault::ShortWrite));
        assert!(is_unwritten(db.checkpoint()), "seed {seed}");
        (0..100).for_each(|_| load.rows(&db).unwrap());
        assert!(is_unwritten(db.checkpoint()), "seed {seed}");
        db.store.check_online().unwrap();
        if seed % 3 == 0 {
            db.disk.clear_faults();
            db.checkpoint().unwrap();
            (0..900).for_each(|_| load.rows(&db).unwrap());
            db.checkpoint().unwrap();
            assert!(db.store.min_rec_lsn().is_none() && db.store.dirty_pages() == 0, "seed {seed}");
            load.fill(&db, 300);
        }
        ends(db, load, seed);
    }
}

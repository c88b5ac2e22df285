//! The doublewrite area and the free extents that it borrows: no image outlives the page that it is
//! of.

use super::*;

/// A large checkpoint puts its images into free extents, some of which were in use a moment before,
/// while sessions take and free extents; the power fails in it.
#[test]
fn power_loss_while_a_checkpoint_borrows_extents() {
    let runs = std::env::var("PAGES_LOAN_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
    let mut borrowed = 0;
    for seed in 0..runs {
        let db = create(SimDisk::new(seed), 1200, &[spec(1, 1, 24 << 20)]).unwrap();
        let mut loads = [1, 1001].map(|from| load_of(&db, seed + u64::from(from), from));
        loads.iter_mut().for_each(|load| load.fill(&db, 400));
        db.checkpoint().unwrap();
        for load in &mut loads {
            (0..600).for_each(|_| load.rows(&db).unwrap());
            // Its pages are dirty, and its extents free.
            load.free_unit(&db).unwrap();
            load.create_unit(&db).unwrap();
        }
        assert!(db.store.dirty_pages() > 300, "seed {seed}: {}", db.store.dirty_pages());
        db.disk.crash_at(db.disk.io_count() + loads[0].rng.u64(1..200));
        let (after, flushed) = until_the_power_fails(db, loads, 2000, seed);
        borrowed += u32::from(names_borrowed_extents(&after));
        finish(after, seed, flushed);
    }
    assert!(borrowed > 0, "{borrowed} of {runs} had a loan when the power failed");
}

/// The first checkpoint after redo borrows too, before anything was allocated: what is free, the
/// maps say as redo has made them. The extents of its images were freed by records of which no page
/// is on disk yet, and the power fails in it.
#[test]
fn power_loss_in_the_first_checkpoint_after_redo() {
    let runs = std::env::var("PAGES_LOAN_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
    let mut borrowed = 0;
    for seed in 0..runs {
        let db = create(SimDisk::new(seed), 1200, &[spec(1, 1, 24 << 20)]).unwrap();
        let mut loads = [1, 1001].map(|from| load_of(&db, seed + u64::from(from), from));
        loads.iter_mut().for_each(|load| load.fill(&db, 400));
        db.checkpoint().unwrap();
        for load in &mut loads {
            (0..100).for_each(|_| load.rows(&db).unwrap());
            load.free_unit(&db).unwrap();
        }
        db.log.flush_all().unwrap();
        let after = db.disk.crash(seed);
        let units =
            loads.map(|load| load.units.into_iter().map(|(u, pages)| (u.first_iam(), pages)));
        drop(db);
        let db = open(after, 1200).unwrap();
        let mut load = load_of_none(seed);
        let open_unit = |(iam, pages)| (db.store.open_unit(iam).unwrap(), pages);
        load.units = units.into_iter().flatten().map(open_unit).collect();
        (0..600).for_each(|_| load.rows(&db).unwrap());
        let flushed = db.log.durable_lsn();
        assert!(db.store.dirty_pages() > 250, "seed {seed}: {}", db.store.dirty_pages());
        db.disk.crash_at(db.disk.io_count() + load.rng.u64(1..400));
        match db.checkpoint() {
            Ok(()) => {}
            Err(e) => assert!(io(&e), "seed {seed}: {e}"),
        }
        let after = db.disk.crash(seed ^ 0x5eed);
        drop((load, db));
        borrowed += u32::from(names_borrowed_extents(&after));
        finish(after, seed, flushed);
    }
    assert!(borrowed > 0, "{borrowed} of {runs} had a loan when the power failed");
}

/// The record that frees extents is durable before images go there: else their owner has them again
/// after a power failure.
#[test]
fn extents_are_borrowed_only_when_they_are_durably_free() {
    for io in 1..40 {
        let db = create(SimDisk::new(io), 1200, &[spec(1, 1, 24 << 20)]).unwrap();
        let unit = |number: u32| db.store.create_unit(UnitId(number), 1).unwrap();
        // The first extents: a loan takes these if they are free.
        let first = unit(1);
        for _ in 0..200 {
            new_page(&db.store, &first, PageType::Data).unwrap();
        }
        let mut load = PageLoad {
            rng: fastrand::Rng::with_seed(io),
            units: (2..8).map(|number| (unit(number), Vec::new())).collect(),
            next_unit: 8,
            txn: 1000,
            flushed: Lsn::ZERO,
        };
        (0..1000).for_each(|_| load.grow_unit(&db).unwrap());
        db.checkpoint().unwrap();
        (0..1500).for_each(|_| load.rows(&db).unwrap());
        // The pages to be written need no flush of the log any more.
        db.log.flush_all().unwrap();
        let end = db.log.end();
        db.store.free_unit(first.id(), first.first_iam()).unwrap();
        db.disk.crash_at(db.disk.io_count() + io);
        match db.store.write_dirty(end) {
            Ok(report) => assert!(report.pages > 250, "{report:?}"),
            Err(e) => assert!(super::io(&e), "{e}"),
        }
        let after = db.disk.crash_keeping(|_| true);
        drop((first, load, db));
        finish(after, io, Lsn::ZERO);
    }
}

/// New pages need no image in the area: where the device refuses to write some, the loan of their
/// checkpoint ends all the same.
#[test]
fn a_refused_write_of_new_pages_ends_the_loan() {
    for nth in 1..8 {
        let db = create(SimDisk::new(nth), 1200, &[spec(1, 1, 24 << 20)]).unwrap();
        let mut load = load_of(&db, nth, 1);
        db.checkpoint().unwrap();
        load.fill(&db, 300);
        db.log.flush_all().unwrap();
        let pages: Vec<PageId> = load.units.iter().flat_map(|(_, pages)| pages.clone()).collect();
        refused::refuse(&db, pages[pages.len() * nth as usize / 9], sim::Fault::Io);
        assert!(matches!(db.checkpoint(), Err(PageError::Unwritten { .. })), "write {nth}");
        db.store.check_online().unwrap();
        db.disk.clear_faults();
        // All extents can be had again.
        load.fill(&db, 300);
        db.log.flush_all().unwrap();
        let disk = db.disk.clone();
        db.store.abandon("the end");
        db.store.release_files();
        drop((load, db));
        assert!(!names_borrowed_extents(&disk), "write {nth}: the loan goes on");
        finish(disk.crash(nth), nth, Lsn::ZERO);
    }
}

/// Whether the last slot of the doublewrite area names borrowed extents.
pub(crate) fn names_borrowed_extents(disk: &SimDisk) -> bool {
    let file =
        disk::Disk::open(disk, std::path::Path::new(crate::support::DATA), disk::OpenMode::Open)
            .unwrap();
    let mut page = disk::AlignedBuf::new(PAGE_SIZE);
    file.read_at((15 + 256) * PAGE_SIZE as u64, &mut page).unwrap();
    file.release();
    // Behind the page's header: number, count of entries, kind.
    let kind = &page[ringwood_pages::HEADER_SIZE..][8..12];
    kind[2..] == [0xfe, 0xff] && kind[..2] != [0, 0]
}

fn reformat(db: &Db, id: PageId) {
    let mut page = db.store.fresh(id).unwrap();
    let mut rec = RecordBuilder::new();
    rec.system();
    rec.page(id);
    rec.format(PageType::Data, 0, UnitId(1), PageId::NONE, PageId::NONE, PageId::NONE).unwrap();
    db.store.change(&mut db.store.system(), &mut rec, &mut [&mut page]).unwrap();
}

/// A page that skips the doublewrite area must not be repaired later from an image of an earlier
/// life in the area.
#[test]
fn the_area_never_holds_an_outdated_image() {
    for seed in 0..60 {
        let (db, load) = start(seed, 1, 64);
        let id = new_page(&db.store, &load.units[0].0, PageType::Data).unwrap();
        insert_row(&db, id, &[1; 2000]);
        db.checkpoint().unwrap();
        insert_row(&db, id, &[2; 2000]);
        db.checkpoint().unwrap();
        // The area holds the page with two rows now. From here on only this page changes.
        reformat(&db, id);
        db.checkpoint().unwrap();
        insert_row(&db, id, &[3; 5000]);
        reformat(&db, id);
        insert_row(&db, id, &[4; 6000]);
        db.disk.crash_at(db.disk.io_count() + 1 + seed % 5);
        let _ = db.checkpoint();
        let after = db.disk.crash(seed);
        drop((load, db));
        finish(after, seed, Lsn::ZERO);
    }
}

//! Units and extents that are freed, and who gets them next.

use super::*;

#[test]
fn large_units_are_freed_and_their_pages_reused() {
    let disk = SimDisk::new(1);
    let db = create(disk, 3000, &[spec(1, 1, 8 << 20), spec(2, 1, 128 << 20)]).unwrap();
    let unit = db.store.create_unit(UnitId(3), 1).unwrap();
    let other = db.store.create_unit(UnitId(4), 1).unwrap();
    for n in 0..12_000 {
        // Over the border of the first PFS page of file 2.
        let reserved = db.store.alloc_page(&unit).unwrap();
        reserved.keep();
        if n % 100 == 0 {
            new_page(&db.store, &other, PageType::Lob).unwrap();
        }
    }
    let (_, before) = db.store.file_extents(2).unwrap();
    db.store.free_unit(unit.id(), unit.first_iam()).unwrap();
    db.store.free_unit(unit.id(), unit.first_iam()).unwrap();
    let (_, after) = db.store.file_extents(2).unwrap();
    assert!(after > before + 1000);
    check(&db.store, std::slice::from_ref(&other));
    let next = db.store.create_unit(UnitId(5), 1).unwrap();
    for _ in 0..2000 {
        new_page(&db.store, &next, PageType::Data).unwrap();
    }
    // The name of the old unit may be the name of a new one by now: freeing the old one again must
    // not harm it.
    db.store.free_unit(unit.id(), unit.first_iam()).unwrap();
    check(&db.store, &[other, next]);
}

/// A unit was freed, but its entry in the list of pending drops was not taken off before the power
/// went; meanwhile its file was cut in front of the PFS page that knows it, or given up. Freeing it
/// again finds nothing to do.
#[test]
fn a_freed_unit_may_be_freed_again_behind_the_end_of_its_file() {
    let disk = SimDisk::new(5);
    let db = create(disk, 300, &[spec(1, 1, 4 << 20), spec(3, 2, 70 << 20)]).unwrap();
    let mut units: Vec<Unit> = Vec::new();
    while units.last().is_none_or(|unit| unit.first_iam().page < 2 * 8088) {
        if db.store.files()[1].pages < 3 * 8088 {
            db.store.grow_file(3, 3 * 8088 * 8192).unwrap();
        }
        let id = UnitId(units.len() as u32 + 1);
        units.push(db.store.create_unit(id, 2).unwrap());
    }
    let (first, last) = (units[0].clone(), units.pop().unwrap());
    let again = |db: &support::Db| {
        let free = || db.store.file_extents(3).unwrap().1;
        let before = free();
        db.store.free_unit(last.id(), last.first_iam()).unwrap();
        assert_eq!(free(), before);
    };
    for unit in units.iter().chain([&last]).filter(|unit| unit.id() != first.id()) {
        db.store.free_unit(unit.id(), unit.first_iam()).unwrap();
    }
    let to = db.store.begin_cut(3, 0).unwrap().unwrap();
    db.checkpoint().unwrap();
    assert!(db.store.end_cut(3, to).unwrap());
    assert!(to < 8088, "the map pages behind are gone");
    again(&db);
    let disk = db.disk.crash(1);
    drop(db);
    let db = open(disk, 300).unwrap();
    again(&db);
    assert_eq!(db.store.open_unit(first.first_iam()).unwrap().id(), first.id());
    db.store.free_unit(first.id(), first.first_iam()).unwrap();
    assert!(db.store.close_file(3).unwrap());
    db.store.end_close(3, true);
    db.store.free_unit(first.id(), first.first_iam()).unwrap();
}

/// Frees pages as a structure does.
fn free_pages(store: &Store, unit: &Unit, ids: &[PageId]) {
    for &id in ids {
        let mut maps = store.latch_maps(&[id]).unwrap();
        let mut rec = RecordBuilder::new();
        rec.system();
        maps.free(&mut rec, id).unwrap();
        let mut list: Vec<_> = maps.pages().collect();
        store.change(&mut store.system(), &mut rec, &mut list).unwrap();
        drop(list);
        unit.note_freed(&[id]);
    }
}

#[test]
fn extents_without_pages_go_back_to_their_files() {
    let db = create(SimDisk::new(1), 600, &[spec(1, 1, 4 << 20), spec(3, 1, 8 << 20)]).unwrap();
    let unit = db.store.create_unit(UnitId(3), 1).unwrap();
    let free = || -> u64 { [1, 3].iter().map(|f| db.store.file_extents(*f).unwrap().1).sum() };
    let at_first = free();
    let mut pages: Vec<PageId> =
        (0..700).map(|_| new_page(&db.store, &unit, PageType::Data).unwrap()).collect();
    // One page of each extent keeps it.
    let (kept, gone): (Vec<PageId>, Vec<PageId>) = pages.iter().partition(|p| p.page % 8 == 3);
    free_pages(&db.store, &unit, &gone);
    let before = free();
    assert!(db.store.release_idle(&unit, false).unwrap() <= 8, "what was taken ahead at most");
    check(&db.store, std::slice::from_ref(&unit));
    free_pages(&db.store, &unit, &kept);
    assert!(unit.may_release());
    assert!(db.store.release_idle(&unit, false).unwrap() > 80);
    assert!(!unit.may_release());
    assert_eq!((unit.extent_count(), free()), (1, at_first), "of {before}");
    assert_eq!(db.store.release_idle(&unit, true).unwrap(), 0);
    check(&db.store, std::slice::from_ref(&unit));
    // All of it can be had again.
    pages = (0..700).map(|_| new_page(&db.store, &unit, PageType::Data).unwrap()).collect();
    assert_eq!(pages_of(&db.store, &unit).len(), pages.len());
    check(&db.store, &[unit]);
}

/// A process that ends between the freeing of pages and of their extents: the next one gives them
/// back.
#[test]
fn extents_that_a_restart_finds_empty_go_back() {
    let db = create(SimDisk::new(1), 600, &[spec(1, 1, 8 << 20)]).unwrap();
    let unit = db.store.create_unit(UnitId(3), 1).unwrap();
    let pages: Vec<PageId> =
        (0..300).map(|_| new_page(&db.store, &unit, PageType::Data).unwrap()).collect();
    free_pages(&db.store, &unit, &pages[..299]);
    db.checkpoint().unwrap();
    let db = open(db.disk.crash(1), 600).unwrap();
    let unit = db.store.open_unit(unit.first_iam()).unwrap();
    assert_eq!(db.store.release_idle(&unit, false).unwrap(), 0, "nobody has touched it");
    assert!(db.store.release_idle(&unit, true).unwrap() > 30);
    assert_eq!(pages_of(&db.store, &unit), pages[299..]);
    check(&db.store, &[unit]);
}

#[test]
fn threads_take_free_and_release_at_once() {
    let db = create(SimDisk::new(1), 400, &[spec(1, 1, 0), spec(2, 1, 0)]).unwrap();
    let units: Vec<Unit> =
        (0..3).map(|n| db.store.create_unit(UnitId(10 + n), 1).unwrap()).collect();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let kept: Vec<Vec<PageId>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..6u64)
            .map(|n| {
                let (db, unit) = (&db, &units[n as usize % 3]);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(n);
                    let mut mine = Vec::new();
                    for _ in 0..60 {
                        for _ in 0..rng.usize(1..40) {
                            mine.push(new_page(&db.store, unit, PageType::Data).unwrap());
                        }
                        let from = rng.usize(0..=mine.len());
                        free_pages(&db.store, unit, &mine.split_off(from));
                    }
                    mine
                })
            })
            .collect();
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for (n, unit) in units.iter().enumerate() {
                    db.store.release_idle(unit, n == 0).unwrap();
                }
                std::thread::yield_now();
            }
        });
        let kept = workers.into_iter().map(|w| w.join().unwrap()).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        kept
    });
    for (n, unit) in units.iter().enumerate() {
        let mut expected: Vec<PageId> = kept.iter().skip(n).step_by(3).flatten().copied().collect();
        let mut found = pages_of(&db.store, unit);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    check(&db.store, &units);
}

/// Units that are to be freed are freed by who finds no room, before a file grows; unless that is
/// held off.
#[test]
fn doomed_units_are_freed_before_a_file_grows() {
    let mut small = spec(1, 1, 4 << 20);
    small.growth = FileGrowth::Bytes(1 << 20);
    let db = create(SimDisk::new(1), 600, &[small]).unwrap();
    let size = || db.store.files()[0].pages;
    let fill = |id: u32| {
        let unit = db.store.create_unit(UnitId(id), 1).unwrap();
        for _ in 0..200 {
            new_page(&db.store, &unit, PageType::Data).unwrap();
        }
        unit
    };
    let first = fill(3);
    assert_eq!(size(), 512);
    db.store.doom_unit(first.id(), first.first_iam());
    let second = fill(4);
    assert_eq!(size(), 512, "the file need not grow");
    // The background comes later and finds nothing left to do.
    db.store.free_unit(first.id(), first.first_iam()).unwrap();
    check(&db.store, std::slice::from_ref(&second));
    db.store.doom_unit(second.id(), second.first_iam());
    let paused = db.store.pause_freeing();
    let third = fill(5);
    assert!(size() > 512);
    drop(paused);
    check(&db.store, &[second.clone(), third.clone()]);
    db.store.free_unit(second.id(), second.first_iam()).unwrap();
    check(&db.store, &[third]);
}

/// A unit is being freed by another thread: an allocation that finds no room waits for its extents,
/// and no file grows.
#[test]
fn a_file_does_not_grow_while_a_unit_is_being_freed() {
    let mut small = spec(1, 1, 4 << 20);
    small.growth = FileGrowth::Bytes(1 << 20);
    let db = create(SimDisk::new(1), 600, &[small]).unwrap();
    let first = db.store.create_unit(UnitId(3), 1).unwrap();
    let second = db.store.create_unit(UnitId(4), 1).unwrap();
    while db.store.file_extents(1).unwrap().1 > 0 {
        new_page(&db.store, &first, PageType::Data).unwrap();
    }
    let size = || db.store.files()[0].pages;
    assert_eq!(size(), 512);
    std::thread::scope(|scope| {
        // Freeing the unit needs this page, so it stands still in the middle.
        let held = db.store.write(first.first_iam().pfs_page()).unwrap();
        let freeing = scope.spawn(|| db.store.free_unit(first.id(), first.first_iam()));
        std::thread::sleep(std::time::Duration::from_millis(50));
        let filling = scope.spawn(|| {
            (0..200).try_for_each(|_| new_page(&db.store, &second, PageType::Data).map(drop))
        });
        std::thread::sleep(std::time::Duration::from_millis(50));
        drop(held);
        freeing.join().unwrap().unwrap();
        filling.join().unwrap().unwrap();
    });
    assert_eq!(size(), 512, "the file need not grow");
    check(&db.store, &[second]);
}

//! Allocation: units over several files, growth, proportional fill, many threads, freeing, space
//! search.

mod extents;

use crate::support::{self, create, new_page, open, spec};
use ringwood_pages::{
    ExtentId, FileGrowth, LEVEL_FULL, PageError, PageId, PageType, RecordBuilder, Store, Unit,
    UnitId, pfs_level,
};
use sim::SimDisk;
use std::collections::HashSet;

/// GAM, IAM and PFS of the units agree, and nothing belongs to two.
fn check(store: &Store, units: &[Unit]) {
    let mut owned: HashSet<ExtentId> = HashSet::new();
    for unit in units {
        for extent in unit.extents() {
            assert!(owned.insert(extent), "extent {extent} has two owners");
            assert!(!extent.is_system());
        }
        let fresh = store.open_unit(unit.first_iam()).unwrap();
        assert_eq!(fresh.extents().len(), unit.extents().len());
    }
    let mut gam = HashSet::new();
    for file in store.files() {
        gam.extend(store.allocated_extents(file.spec.id).unwrap());
    }
    let differ: Vec<_> = gam.symmetric_difference(&owned).collect();
    assert!(differ.is_empty(), "taken without an owner, or the other way round: {differ:?}");
    for extent in &owned {
        for page in extent.pages() {
            store.pfs_byte(page).unwrap();
        }
    }
}

fn pages_of(store: &Store, unit: &Unit) -> Vec<PageId> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(next) = store.unit_pages(unit, at, 32, &mut out).unwrap() {
        at = next;
    }
    out
}

/// A number may be given to another unit when the one that had it is gone; who opens that one finds
/// nothing.
#[test]
fn numbers_of_units_are_known_and_can_be_had_again() {
    let db = create(SimDisk::new(1), 400, &[spec(1, 1, 0), spec(2, 1, 4 << 20)]).unwrap();
    let units: Vec<Unit> =
        [3, 7, 900].map(|id| db.store.create_unit(UnitId(id), 1).unwrap()).into();
    for _ in 0..900 {
        new_page(&db.store, &units[1], PageType::Data).unwrap();
    }
    assert_eq!(db.store.units_in_use().unwrap().into_iter().collect::<Vec<_>>(), [3, 7, 900]);
    let gone = units[1].first_iam();
    db.store.free_unit(UnitId(7), gone).unwrap();
    assert_eq!(db.store.units_in_use().unwrap().into_iter().collect::<Vec<_>>(), [3, 900]);
    let opened = db.store.open_unit(gone).map(drop);
    assert_eq!(opened, Err(PageError::NoSuchPage { page: gone }), "its page is still as it was");
    let again = db.store.create_unit(UnitId(7), 1).unwrap();
    new_page(&db.store, &again, PageType::Data).unwrap();
    check(&db.store, &[units[0].clone(), again, units[2].clone()]);
}

#[test]
fn pages_come_once_and_in_scan_order() {
    let db = create(SimDisk::new(1), 400, &[spec(1, 1, 0), spec(2, 1, 4 << 20)]).unwrap();
    let unit = db.store.create_unit(UnitId(3), 1).unwrap();
    let made: Vec<PageId> =
        (0..900).map(|_| new_page(&db.store, &unit, PageType::Data).unwrap()).collect();
    assert_eq!(made.iter().collect::<HashSet<_>>().len(), made.len());
    assert_eq!(pages_of(&db.store, &unit), made, "the scan follows the order of allocation");
    let space = db.store.unit_space(&unit).unwrap();
    assert_eq!(space.used, 900 + unit.iam_pages().len() as u64);
    assert_eq!(space.reserved, unit.extent_count() as u64 * 8);
    assert_eq!(unit.iam_pages().len(), 2, "one per file");
    check(&db.store, &[unit]);
}

#[test]
fn files_fill_in_proportion_to_their_free_space() {
    let db = create(
        SimDisk::new(1),
        400,
        &[spec(1, 1, 8 << 20), spec(2, 2, 16 << 20), spec(3, 2, 48 << 20)],
    )
    .unwrap();
    let unit = db.store.create_unit(UnitId(3), 2).unwrap();
    for _ in 0..4000 {
        new_page(&db.store, &unit, PageType::Index).unwrap();
    }
    let extents = unit.extents();
    let second = extents.iter().filter(|e| e.file == 3).count() as f64 / extents.len() as f64;
    assert!((0.72..0.78).contains(&second), "{second}");
    assert!(extents.iter().all(|e| e.file != 1), "the other filegroup is not touched");
}

#[test]
fn a_full_filegroup_grows_then_says_1105() {
    let mut small = spec(1, 1, 0);
    small.max_size = Some(4 << 20);
    small.growth = FileGrowth::Bytes(512 << 10);
    let db = create(SimDisk::new(1), 100, &[small]).unwrap();
    let unit = db.store.create_unit(UnitId(3), 1).unwrap();
    let mut pages = Vec::new();
    let error = loop {
        match new_page(&db.store, &unit, PageType::Data) {
            Ok(id) => pages.push(id),
            Err(e) => break e,
        }
    };
    assert_eq!(error, PageError::FilegroupFull { filegroup: 1, why: "no file of it may grow" });
    assert_eq!(db.store.files()[0].pages, 512);
    // Everything but the header, map and doublewrite extents is used.
    assert_eq!(pages.len(), 512 - 272 - 1);
    let full = db.store.create_unit(UnitId(4), 1).unwrap_err();
    assert!(matches!(full, PageError::FilegroupFull { .. }));
    db.store.free_unit(UnitId(3), unit.first_iam()).unwrap();
    let again = db.store.create_unit(UnitId(4), 1).unwrap();
    check(&db.store, &[again]);
}

#[test]
fn a_full_disk_is_met_at_growth() {
    let disk = SimDisk::new(1);
    let db = create(disk.clone(), 100, &[spec(1, 1, 0)]).unwrap();
    let unit = db.store.create_unit(UnitId(3), 1).unwrap();
    disk.set_capacity(6 << 20);
    let error = loop {
        if let Err(e) = new_page(&db.store, &unit, PageType::Data) {
            break e;
        }
    };
    assert!(
        matches!(error, PageError::FilegroupFull { why: "there is no space left on the disk", .. }),
        "{error}"
    );
    db.checkpoint().unwrap();
    disk.set_capacity(1 << 30);
    new_page(&db.store, &unit, PageType::Data).unwrap();
}

#[test]
fn many_threads_allocate_and_free() {
    let db = create(SimDisk::new(1), 300, &[spec(1, 1, 0), spec(2, 1, 0), spec(3, 1, 0)]).unwrap();
    let shared = db.store.create_unit(UnitId(1), 1).unwrap();
    let mine: Vec<Unit> =
        (0..8).map(|t| db.store.create_unit(UnitId(10 + t), 1).unwrap()).collect();
    let lists: Vec<(Vec<PageId>, Vec<PageId>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|t| {
                let (db, shared, own) = (&db, &shared, &mine[t]);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(t as u64);
                    let (mut a, mut b) = (Vec::new(), Vec::new());
                    for n in 0..250u32 {
                        a.push(new_page(&db.store, shared, PageType::Data).unwrap());
                        b.push(new_page(&db.store, own, PageType::Index).unwrap());
                        if n % 5 == 0 {
                            let id = a.swap_remove(rng.usize(0..a.len()));
                            free_page(&db.store, shared, id);
                        }
                        if n % 50 == 0 {
                            let short =
                                db.store.create_unit(UnitId(1000 * (1 + t as u32) + n), 1).unwrap();
                            new_page(&db.store, &short, PageType::Data).unwrap();
                            db.store.free_unit(short.id(), short.first_iam()).unwrap();
                        }
                    }
                    (a, b)
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let all: Vec<PageId> = lists.iter().flat_map(|(a, b)| a.iter().chain(b)).copied().collect();
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len(), "no page was given twice");
    let expected: HashSet<PageId> = lists.iter().flat_map(|(a, _)| a).copied().collect();
    assert_eq!(pages_of(&db.store, &shared).into_iter().collect::<HashSet<_>>(), expected);
    let mut units = mine;
    units.push(shared);
    check(&db.store, &units);
    // The maps on disk say the same as memory does.
    let known: Vec<(PageId, HashSet<ExtentId>)> =
        units.iter().map(|u| (u.first_iam(), u.extents().into_iter().collect())).collect();
    let disk = {
        db.log.flush_all().unwrap();
        db.disk.crash(1)
    };
    drop((units, db));
    let db = open(disk, 300).unwrap();
    let mut units = Vec::new();
    for (first, extents) in known {
        let id = db.store.read(first).unwrap().unit();
        let unit = db.store.find_unit(id).unwrap().unwrap();
        assert_eq!((unit.id(), unit.first_iam()), (id, first));
        assert_eq!(unit.extents().into_iter().collect::<HashSet<_>>(), extents);
        units.push(unit);
    }
    check(&db.store, &units);
    assert!(db.store.find_unit(UnitId(999)).unwrap().is_none());
    let reused: HashSet<PageId> =
        (0..100).map(|_| new_page(&db.store, &units[8], PageType::Data).unwrap()).collect();
    assert!(reused.is_disjoint(&expected), "pages in use are not handed out again");
}

fn free_page(store: &Store, unit: &Unit, id: PageId) {
    {
        let mut maps = store.latch_maps(&[id]).unwrap();
        let mut rec = RecordBuilder::new();
        rec.system();
        maps.free(&mut rec, id).unwrap();
        let mut list: Vec<_> = maps.pages().collect();
        store.change(&mut store.system(), &mut rec, &mut list).unwrap();
    }
    unit.note_freed(&[id]);
}

fn set_level(store: &Store, unit: &Unit, id: PageId, level: u8) {
    {
        let mut maps = store.latch_maps(&[id]).unwrap();
        let mut rec = RecordBuilder::new();
        rec.system();
        maps.set_level(&mut rec, id, level).unwrap();
        let mut list: Vec<_> = maps.pages().collect();
        store.change(&mut store.system(), &mut rec, &mut list).unwrap();
    }
    unit.note_level(id, level);
}

#[test]
fn space_is_found_by_level_and_offered_once() {
    let db = create(SimDisk::new(1), 100, &[spec(1, 1, 0)]).unwrap();
    let unit = db.store.create_unit(UnitId(3), 1).unwrap();
    let ids: Vec<PageId> =
        (0..4).map(|_| new_page(&db.store, &unit, PageType::Data).unwrap()).collect();
    for (id, level) in ids.iter().zip([1, 2, 3, LEVEL_FULL]) {
        set_level(&db.store, &unit, *id, level);
    }
    let find = |bytes| db.store.find_space(&unit, bytes).unwrap();
    assert_eq!(find(5000), None);
    assert_eq!(find(300), Some(ids[2]), "the fullest page that surely has room");
    assert_eq!(find(1000), Some(ids[1]));
    assert_eq!(find(1000), Some(ids[0]));
    assert_eq!(find(10), None, "each page is offered once");
    // The levels are on disk: a new start finds them again.
    db.checkpoint().unwrap();
    let (disk, first) = (db.disk.clone(), unit.first_iam());
    drop((unit, db));
    let db = open(disk, 100).unwrap();
    let unit = db.store.open_unit(first).unwrap();
    assert_eq!(db.store.find_space(&unit, 1000).unwrap(), Some(ids[1]));
    set_level(&db.store, &unit, ids[3], pfs_level(8128));
    assert_eq!(db.store.find_space(&unit, 5000).unwrap(), Some(ids[3]));
    // A freed page is no offer.
    set_level(&db.store, &unit, ids[2], 1);
    free_page(&db.store, &unit, ids[2]);
    assert_eq!(db.store.find_space(&unit, 2000).unwrap(), Some(ids[0]));
    assert_eq!(db.store.find_space(&unit, 2000).unwrap(), None);
}

/// A shrink that came to nothing leaves the room of heap pages known.
#[test]
fn space_behind_a_bar_is_offered_again() {
    let db = create(SimDisk::new(1), 100, &[spec(1, 1, 0), spec(2, 1, 0)]).unwrap();
    let unit = db.store.create_unit(UnitId(3), 1).unwrap();
    let ids: Vec<PageId> =
        (0..3).map(|_| new_page(&db.store, &unit, PageType::Data).unwrap()).collect();
    ids.iter().for_each(|id| set_level(&db.store, &unit, *id, 1));
    let find = || db.store.find_space(&unit, 1000).unwrap();
    db.store.bar(ids[0].file, 0).unwrap();
    assert_eq!((find(), find()), (None, None));
    // One has become fuller, one is free meanwhile.
    set_level(&db.store, &unit, ids[1], 3);
    free_page(&db.store, &unit, ids[2]);
    assert_eq!(find(), None);
    db.store.unbar(ids[0].file);
    assert_eq!((find(), find()), (Some(ids[0]), None));
    assert_eq!(db.store.find_space(&unit, 300).unwrap(), Some(ids[1]));
}

#[test]
fn boot_page_and_file_list_survive() {
    let db = create(SimDisk::new(1), 100, &[spec(1, 1, 0), spec(7, 3, 1 << 20)]).unwrap();
    assert!(db.store.read_boot().unwrap().is_empty());
    db.store.write_boot(&mut db.store.system(), b"first").unwrap();
    db.store.write_boot(&mut db.store.system(), b"second thoughts").unwrap();
    db.log.flush_all().unwrap();
    let disk = db.disk.crash(4);
    drop(db);
    let db = open(disk.clone(), 100).unwrap();
    assert_eq!(db.store.read_boot().unwrap(), b"second thoughts");
    let files: Vec<_> = db.store.files().iter().map(|f| (f.spec.clone(), f.pages)).collect();
    assert_eq!(files[1], (spec(7, 3, 1 << 20), 128));
    assert_eq!(db.store.database(), [9; 16]);
    // Another database's file in the place of file 7.
    db.checkpoint().unwrap();
    drop(db);
    disk::Disk::remove(&disk, std::path::Path::new("t7.ndf")).unwrap();
    assert!(matches!(open(disk, 100), Err(PageError::Disk(disk::DiskError::NotFound { .. }))));
}

#[test]
fn a_failed_creation_leaves_no_files() {
    let disk = SimDisk::new(1);
    disk.set_capacity(6 << 20);
    let error = create(disk.clone(), 64, &[spec(1, 1, 3 << 20), spec(2, 1, 3 << 20)]).err();
    assert!(matches!(error, Some(PageError::Disk(e)) if e.is_no_space()));
    for file in [support::DATA, "t2.ndf"] {
        assert!(!disk::Disk::exists(&disk, std::path::Path::new(file)).unwrap(), "{file}");
    }
    disk::Disk::remove(&disk, std::path::Path::new(support::LOG)).unwrap();
    disk.set_capacity(1 << 30);
    create(disk, 64, &[spec(1, 1, 3 << 20), spec(2, 1, 3 << 20)]).unwrap();
}

/// The place of a unit is known before the unit is there; who changes their mind, or dies, leaves
/// nothing.
#[test]
fn a_unit_is_reserved_then_made() {
    let disk = SimDisk::new(9);
    let db = create(disk.clone(), 100, &[spec(1, 1, 4 << 20)]).unwrap();
    let free = db.store.file_extents(1).unwrap().1;
    let reserved = db.store.reserve_unit(1).unwrap();
    let place = reserved.first_iam();
    assert_eq!(db.store.file_extents(1).unwrap().1, free - 1);
    drop(reserved);
    assert_eq!(db.store.file_extents(1).unwrap().1, free);
    // The place has another owner: freeing by the old note touches neither its extents nor its
    // handle.
    let reserved = db.store.reserve_unit(1).unwrap();
    assert_eq!(reserved.first_iam(), place);
    let unit = db.store.make_unit(UnitId(4), reserved).unwrap();
    assert_eq!(unit.first_iam(), place);
    let page = new_page(&db.store, &unit, PageType::Data).unwrap();
    db.store.free_unit(UnitId(3), place).unwrap();
    let again = db.store.open_unit(place).unwrap();
    assert_ne!(new_page(&db.store, &again, PageType::Data).unwrap(), page);
    check(&db.store, &[unit]);
}

/// Each growth is another file's turn, also when the database is opened again before each.
#[test]
fn files_grow_in_turn_over_restarts() {
    let step = |id, growth| ringwood_pages::FileSpec {
        growth: FileGrowth::Bytes(growth),
        ..spec(id, 2, 1 << 20)
    };
    let specs = [spec(1, 1, 0), step(3, 256 << 10), step(4, 256 << 10), step(5, 512 << 10)];
    let mut db = create(SimDisk::new(1), 400, &specs).unwrap();
    let name = db.store.create_unit(UnitId(3), 2).unwrap().first_iam();
    let sizes = |db: &support::Db| -> Vec<u32> {
        let files = db.store.files().into_iter().filter(|f| f.spec.filegroup == 2);
        files.map(|f| f.pages).collect()
    };
    for turn in 0..9 {
        let before = sizes(&db);
        let unit = db.store.open_unit(name).unwrap();
        while sizes(&db) == before {
            new_page(&db.store, &unit, PageType::Data).unwrap();
        }
        let after = sizes(&db);
        let grown: Vec<usize> = (0..3).filter(|&i| after[i] > before[i]).collect();
        assert_eq!(grown, [turn % 3], "growth {turn}: {before:?} {after:?}");
        db.checkpoint().unwrap();
        let disk = db.disk.crash(turn as u64);
        drop(unit);
        db = open(disk, 400).unwrap();
    }
    assert_eq!(sizes(&db), [128 + 3 * 32, 128 + 3 * 32, 128 + 3 * 64]);
}

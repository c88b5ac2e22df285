//! Data files that become shorter: what is in use stays, crashes, growing again, backups of what
//! was cut.

use std::path::Path;
use std::sync::Arc;

use crate::support::chain::{RestoredCopy, Rig, check, options};
use crate::support::*;
use pages::{FileUsage, PageId, UnitId};
use ringwood_txn::backup::{RestoreNext, SetKind};
use ringwood_txn::{Database, Durability};
use sim::SimDisk;

/// Extents of both files that bring them after their second PFS page.
const MANY: u32 = 2200;

/// Makes units of one extent each; they lie after what there is.
fn ballast(db: &Database, count: u32) -> Vec<(UnitId, PageId)> {
    let ids = (0..count).map(|i| UnitId(1000 + i));
    ids.map(|id| (id, db.create_unit(id, 1).unwrap().first_iam())).collect()
}

fn drop_ballast(db: &Database, units: Vec<(UnitId, PageId)>) {
    units.into_iter().for_each(|(id, iam)| db.free_unit(id, iam).unwrap());
    // Nobody waits for the freeing of space: a crash would bring it back.
    db.log().flush_all().unwrap();
}

/// Rows of the table that need some dozen extents.
fn fill(db: &Arc<Database>, table: &Table, model: &mut Model, from: u64) {
    let mut txn = db.begin(51).unwrap();
    for id in from..from + 150 {
        let payload = vec![b'a' + (id % 20) as u8; 2500];
        assert_eq!(table.insert(&mut txn, id, &payload).unwrap(), TriedChange::Done);
        model.insert(id, payload);
    }
    txn.commit(Durability::Full).unwrap();
}

fn usage(db: &Database, file: u16) -> FileUsage {
    db.store().file_usage(file).unwrap()
}

fn shrink(db: &Database, file: u16, least: u32) -> Result<(), ringwood_txn::TxnError> {
    let _held = db.hold_files().unwrap();
    db.shrink_file(file, least)
}

fn length(disk: &SimDisk, path: &str) -> u64 {
    disk.file_len(Path::new(path)).unwrap() / 8192
}

#[test]
fn free_space_at_the_end_goes_back() {
    let mut rig = Rig::new(1, false);
    rig.work(200).unwrap();
    let small = usage(&rig.db, 1);
    assert_eq!((small.pages, small.minimum), (512, 512));
    let units = ballast(&rig.db, 400);
    let grown = usage(&rig.db, 1);
    assert!(grown.end > 1000 && grown.used > grown.end - 100, "{grown:?}");
    shrink(&rig.db, 1, 0).unwrap();
    assert_eq!(usage(&rig.db, 1).pages, grown.end, "what is in use stays");
    drop_ballast(&rig.db, units);
    shrink(&rig.db, 1, 600).unwrap();
    assert_eq!((usage(&rig.db, 1).pages, length(&rig.disk, PRIMARY)), (600, 600));
    assert_eq!(usage(&rig.db, 1).minimum, 512);
    shrink(&rig.db, 1, 0).unwrap();
    let least = usage(&rig.db, 1);
    assert!(
        least.pages == least.end && least.minimum == least.pages && least.pages < 512,
        "{least:?}"
    );
    assert_eq!(length(&rig.disk, PRIMARY), u64::from(least.pages));
    // It is a file like any other, after a restart too.
    rig.work(300).unwrap();
    rig.quiet();
    check(&rig.db, &rig.now).unwrap();
    rig.db.close().unwrap();
    let db = open(env(Arc::new(rig.disk.clone()), 600, false), options()).unwrap();
    assert_eq!(usage(&db, 1).minimum, least.minimum);
    let table = check(&db, &rig.now).unwrap();
    fill(&db, &table, &mut rig.now, 5000);
    check(&db, &rig.now).unwrap();
}

#[test]
fn a_file_that_grows_meanwhile_stays() {
    let mut rig = Rig::new(2, false);
    rig.work(100).unwrap();
    drop_ballast(&rig.db, ballast(&rig.db, 400));
    let store = rig.db.store().clone();
    let before = usage(&rig.db, 2).pages;
    let to = store.begin_cut(2, 0).unwrap().unwrap();
    assert!(to < before);
    // What is about to go is given out when it is needed after all, before a file grows.
    let units = ballast(&rig.db, 400);
    assert_eq!(usage(&rig.db, 2).pages, before);
    rig.db.checkpoint().unwrap();
    assert!(!store.end_cut(2, to).unwrap());
    drop_ballast(&rig.db, units);
    fill(&rig.db, &rig.table, &mut rig.now, 5000);
    rig.quiet();
    check(&rig.db, &rig.now).unwrap();
    let to = store.begin_cut(2, 0).unwrap().unwrap();
    store.give_up_cut(2).unwrap();
    assert!(usage(&rig.db, 2).pages > to);
    drop_ballast(&rig.db, ballast(&rig.db, 400));
    check(&rig.db, &rig.now).unwrap();
}

/// A map page that was cut off comes again empty: in the database, in a copy whose base had it
/// full, and in one that redoes the log over it.
#[test]
fn a_map_page_comes_again() {
    let mut rig = Rig::new(3, false);
    rig.work(100).unwrap();
    let units = ballast(&rig.db, MANY);
    // Pages in use after the second map page, so that its bytes say so.
    fill(&rig.db, &rig.table, &mut rig.now, 5000);
    let full = rig.backup(SetKind::Full, &["full.bak"]).unwrap();
    assert!(usage(&rig.db, 2).end > 8088);
    let more = (1..=2)
        .map(|i| UnitId(9000 + i))
        .map(|id| (id, rig.db.create_unit(id, 1).unwrap().first_iam()));
    let more: Vec<_> = more.collect();
    drop_ballast(&rig.db, units);
    drop_ballast(&rig.db, more);
    let mut txn = rig.db.begin(51).unwrap();
    for id in 5000..5150 {
        assert_eq!(rig.table.delete(&mut txn, id).unwrap(), TriedChange::Done);
        rig.now.remove(&id);
    }
    txn.commit(Durability::Full).unwrap();
    rig.db.clean_ghosts().unwrap();
    rig.quiet();
    for file in [1, 2] {
        shrink(&rig.db, file, 0).unwrap();
    }
    check(&rig.db, &rig.now).unwrap();
    let diff = rig.backup(SetKind::Differential, &["diff.bak"]).unwrap();
    let log = rig.backup(SetKind::Log, &["log.trn"]).unwrap();
    let grow = |db: &Arc<Database>, table: &Table, mut model: Model| {
        for file in [1, 2] {
            db.grow_file(file, 70 << 20).unwrap();
            for page in 8089..8900 {
                let at = PageId { file, page };
                assert_eq!(db.store().pfs_byte(at).unwrap(), 0, "page {at} is free");
            }
        }
        let units = ballast(db, MANY);
        fill(db, table, &mut model, 7000);
        drop_ballast(db, units);
        check(db, &model).unwrap();
        model
    };
    for (n, chain) in
        [vec![&full, &diff], vec![&full, &diff, &log], vec![&full, &log]].iter().enumerate()
    {
        let copy = RestoredCopy::new(&rig.disk, &format!("copy{n}"));
        chain.iter().for_each(|taken| drop(copy.step(taken, None, RestoreNext::More).unwrap()));
        let db = copy.recover().unwrap();
        let table = check(&db, &rig.now).unwrap();
        grow(&db, &table, rig.now.clone());
    }
    rig.now = grow(&rig.db, &rig.table, rig.now.clone());
    let disk = rig.disk.crash(5);
    let db = open(env(Arc::new(disk), 600, false), options()).unwrap();
    check(&db, &rig.now).unwrap();
}

/// Power goes at any I/O of a cut: the file has its old length or its new one, and the same rows.
#[test]
fn crashes_while_a_file_is_cut() {
    let mut rig = Rig::new(4, false);
    rig.work(150).unwrap();
    drop_ballast(&rig.db, ballast(&rig.db, 300));
    let (mut old, mut new) = (0, 0);
    let whole = usage(&rig.db, 1).pages;
    rig.quiet();
    for at in 1.. {
        let disk = rig.disk.crash(at);
        let db = open(env(Arc::new(disk.clone()), 600, false), options()).unwrap();
        // Something to write, in pages that stay and in pages that go.
        let table = Table::open(&db).unwrap();
        let mut model = rig.now.clone();
        let units = ballast(&db, 40);
        fill(&db, &table, &mut model, 5000);
        drop_ballast(&db, units);
        let to = usage(&db, 1).end;
        disk.crash_at(disk.io_count() + at);
        let done = shrink(&db, 1, 0);
        let crashed = disk.has_crashed();
        drop((table, db));
        let disk = disk.crash(at + 77);
        let found = length(&disk, PRIMARY);
        assert!(
            [u64::from(whole), u64::from(to)].contains(&found),
            "I/O {at}: {found} pages, {whole} or {to} wanted"
        );
        *(if found == u64::from(to) { &mut new } else { &mut old }) += 1;
        let db = open(env(Arc::new(disk), 600, false), options()).unwrap();
        let table = check(&db, &model).unwrap_or_else(|e| panic!("I/O {at}: {e}"));
        fill(&db, &table, &mut model, 7000);
        shrink(&db, 1, 0).unwrap();
        check(&db, &model).unwrap_or_else(|e| panic!("I/O {at}, cut again: {e}"));
        if !crashed {
            done.unwrap();
            break;
        }
    }
    assert!(old > 3 && new > 0, "{old} of the old length, {new} of the new one");
}

//! Data files whose length cannot be changed: a refusal changes nothing and work goes on, a failed
//! sync is final.

use crate::support::{Db, create, new_page, open, spec};
use ringwood_pages::{PageError, PageType, Store, UnitId};
use sim::{Fault, OpKind, SimDisk};
use std::path::Path;

/// A database with a second file, 4 MB long and empty.
fn database(seed: u64) -> Db {
    create(SimDisk::new(seed), 100, &[spec(1, 1, 4 << 20), spec(2, 2, 4 << 20)]).unwrap()
}

fn fail_length(db: &Db, fault: Fault) {
    db.disk.fail_on(Path::new("t2.ndf"), OpKind::SetLen, 1, fault);
}

/// Cuts file 2 to half its size.
fn cut(db: &Db) -> Result<(), PageError> {
    let to = db.store.begin_cut(2, 256)?.expect("something to cut off");
    db.checkpoint()?;
    assert!(db.store.end_cut(2, to)?);
    Ok(())
}

fn pages(store: &Store) -> u32 {
    store.files()[1].pages
}

type DbChange = fn(&Db) -> Result<(), PageError>;
const CHANGES: [DbChange; 2] = [|db| db.store.grow_file(2, 8 << 20), cut];

#[test]
fn a_failed_sync_is_final() {
    for change in CHANGES {
        let db = database(1);
        fail_length(&db, Fault::LoseUnsynced);
        assert!(matches!(change(&db), Err(PageError::Disk(e)) if e.is_final()));
        // The next sync of the file would succeed, and prove nothing.
        assert!(db.checkpoint().is_err());
        assert!(matches!(db.store.check_online(), Err(PageError::Offline { .. })));
        assert!(matches!(db.checkpoint(), Err(PageError::Offline { .. })));
        let disk = db.disk.crash(1);
        drop(db);
        let db = open(disk, 100).unwrap();
        change(&db).unwrap();
        db.checkpoint().unwrap();
    }
}

#[test]
fn a_refusal_is_not() {
    for change in CHANGES {
        for fault in [Fault::Io, Fault::NoSpace] {
            let db = database(2);
            let before = (pages(&db.store), db.store.file_extents(2).unwrap());
            fail_length(&db, fault);
            assert!(matches!(change(&db), Err(PageError::Disk(e)) if !e.is_final()));
            assert_eq!((pages(&db.store), db.store.file_extents(2).unwrap()), before);
            let unit = db.store.create_unit(UnitId(1), 2).unwrap();
            new_page(&db.store, &unit, PageType::Data).unwrap();
            db.checkpoint().unwrap();
            change(&db).unwrap();
            db.checkpoint().unwrap();
            assert_ne!(pages(&db.store), before.0);
        }
    }
}

/// A file that the system does not let grow leaves it to the others of its filegroup; the last
/// one's error is told.
#[test]
fn another_file_grows_instead() {
    let disk = SimDisk::new(3);
    let specs = [spec(1, 1, 4 << 20), spec(2, 2, 128 << 10), spec(3, 2, 128 << 10)];
    let db = create(disk, 100, &specs).unwrap();
    let unit = db.store.create_unit(UnitId(1), 2).unwrap();
    let grown = |id: u16| db.store.files()[usize::from(id) - 1].pages;
    let small = grown(2) + grown(3);
    fail_length(&db, Fault::Io);
    while grown(2) + grown(3) == small {
        new_page(&db.store, &unit, PageType::Data).unwrap();
    }
    assert!(grown(2) < grown(3));
    for id in [2, 3] {
        let path = format!("t{id}.ndf");
        (1..3).for_each(|n| db.disk.fail_on(Path::new(&path), OpKind::SetLen, n, Fault::Io));
    }
    let told = loop {
        if let Err(e) = new_page(&db.store, &unit, PageType::Data) {
            break e;
        }
    };
    assert!(matches!(&told, PageError::Disk(e) if !e.is_final()), "{told}");
    db.checkpoint().unwrap();
    db.disk.clear_faults();
    new_page(&db.store, &unit, PageType::Data).unwrap();
}

//! The checks find what is broken: damage is made through ordinary log records, one kind at a time.

use crate::support::Db;
use access::{
    AccessError, BTree, Change, Direction, Heap, HeapChange, Outcome, ReadMode, RowBatch,
};
use pages::{Link, PageId, RecordBuilder};
use sim::{Fault, OpKind, SimDisk};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

/// Applies one system record to one page.
fn damage(db: &Db, page: PageId, f: impl FnOnce(&mut RecordBuilder)) {
    let mut latched = db.store.write(page).unwrap();
    let mut rec = RecordBuilder::new();
    rec.system();
    rec.page(page);
    f(&mut rec);
    db.store.change(&mut db.store.system(), &mut rec, &mut [&mut latched]).unwrap();
}

fn tree() -> (Arc<Db>, BTree, PageId) {
    let db = Db::sim(1, 8 << 20);
    let tree = BTree::create(db.store.clone(), db.unit(5)).unwrap();
    let mut txn = db.begin();
    for i in 0..2000u32 {
        assert_eq!(tree.insert(&mut txn, &i.to_be_bytes(), &[1; 50]).unwrap(), Outcome::Done(()));
    }
    txn.commit().unwrap();
    assert!(tree.check().unwrap().is_clean());
    let mut batch = RowBatch::new();
    assert!(tree.fetch(&700u32.to_be_bytes(), ReadMode::Current, &mut batch).unwrap());
    let leaf = batch.page();
    (db, tree, leaf)
}

#[test]
fn broken_trees_are_found() {
    let content = |db: &Db, page: PageId, slot: u16| {
        db.store.read(page).unwrap().slot(slot).unwrap().to_vec()
    };
    type Break = (&'static str, fn(&Db, PageId, PageId, &[u8]));
    let kinds: [Break; 5] = [
        ("not above", |db, leaf, _, row| {
            damage(db, leaf, |r| {
                r.remove(3, 1).unwrap();
                r.insert_raw(9, row).unwrap();
            });
        }),
        ("right neighbour", |db, leaf, _, _| {
            damage(db, leaf, |r| r.set_link(Link::Next, PageId::NONE).unwrap())
        }),
        ("outside the separators", |db, _, root, _| {
            damage(db, root, |r| {
                r.remove(2, 1).unwrap();
            });
        }),
        ("cut short", |db, leaf, _, row| {
            damage(db, leaf, |r| r.replace_raw(3, &row[..19]).unwrap())
        }),
        ("free in the PFS", |db, leaf, _, _| {
            let mut maps = db.store.latch_maps(&[leaf]).unwrap();
            let mut rec = RecordBuilder::new();
            rec.system();
            maps.free(&mut rec, leaf).unwrap();
            let mut pages: Vec<_> = maps.pages().collect();
            db.store.change(&mut db.store.system(), &mut rec, &mut pages).unwrap();
        }),
    ];
    for (what, damage) in kinds {
        let (db, tree, leaf) = tree();
        let row = content(&db, leaf, 3);
        damage(&db, leaf, tree.root(), &row);
        let report = tree.check().unwrap();
        // A child that is cut out of the tree shows as a gap between its neighbours and a page of
        // nobody.
        let found = report.findings.iter().any(|f| f.what.contains(what));
        let orphan = report.findings.iter().any(|f| f.what.contains("not part of the structure"));
        assert!(
            found || (what == "outside the separators" && orphan),
            "{what}: {:#?}",
            report.findings
        );
    }
}

#[test]
fn broken_heaps_are_found() {
    for kind in 0..3 {
        let db = Db::sim(2, 8 << 20);
        let heap = Heap::new(db.store.clone(), db.unit(6));
        let mut txn = db.begin();
        let rids: Vec<_> = (0..100).map(|_| heap.insert(&mut txn, &[1; 150]).unwrap()).collect();
        let mut batch = RowBatch::new();
        assert!(heap.fetch(rids[0], ReadMode::Current, &mut batch).unwrap());
        let long = [2; 5000];
        let mut grow = [HeapChange::new(rids[0], batch.header(0), Change::Update(&long))];
        heap.apply_batch(&mut txn, &mut grow).unwrap();
        txn.commit().unwrap();
        let report = heap.check().unwrap();
        assert!(report.is_clean() && report.forwarded == 1 && report.rows == 100);
        let home = rids[0];
        match kind {
            0 => damage(&db, home.page, |r| r.remove(home.slot, 1).unwrap()),
            1 => damage(&db, home.page, |r| r.replace_raw(home.slot, &[2; 20]).unwrap()),
            _ => damage(&db, home.page, |r| r.set_link(Link::Next, PageId::NONE).unwrap()),
        }
        let clean = heap.check().unwrap().is_clean();
        // The last kind changes nothing that matters and must not be reported.
        assert_eq!(clean, kind == 2, "kind {kind}");
    }
}

/// A scan whose next leaf cannot be read ends with the error. It used to look for its place again,
/// for ever.
#[test]
fn a_scan_ends_at_a_leaf_that_cannot_be_read() {
    let disk = SimDisk::new(3);
    let (root, iam) = {
        let db = Db::create(Arc::new(disk.clone()), Path::new(""), 8 << 20, 32 << 20).unwrap();
        let unit = db.unit(5);
        let tree = BTree::create(db.store.clone(), unit.clone()).unwrap();
        let mut txn = db.begin();
        for i in 0..150u32 {
            assert_eq!(
                tree.insert(&mut txn, &i.to_be_bytes(), &[1; 50]).unwrap(),
                Outcome::Done(())
            );
        }
        txn.commit().unwrap();
        db.checkpoint().unwrap();
        (tree.root(), unit.first_iam())
    };
    let disk = disk.crash(1);
    let db = Db::restart(Arc::new(disk.clone()), Path::new(""), 8 << 20).unwrap();
    let tree = BTree::open(db.store.clone(), db.store.open_unit(iam).unwrap(), root);
    let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let mut batch = RowBatch::new();
    assert!(cursor.next_batch(ReadMode::Current, &mut batch).unwrap(), "the first leaf");
    (1..20).for_each(|nth| disk.fail(OpKind::Read, nth, Fault::Io));
    let (done, waits) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let result = (|| {
            while cursor.next_batch(ReadMode::Current, &mut batch)? {}
            Ok::<_, AccessError>(())
        })();
        let _ = done.send(result);
    });
    let result = waits.recv_timeout(std::time::Duration::from_secs(20)).expect("the scan ends");
    assert!(result.is_err(), "{result:?}");
}

/// A neighbour that does not lead back is damage, not a reason to look for ever.
#[test]
fn a_scan_ends_at_damaged_links() {
    let (db, tree, _) = tree();
    let mut batch = RowBatch::new();
    let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let mut pages = Vec::new();
    while cursor.next_batch(ReadMode::Current, &mut batch).unwrap() {
        pages.push(batch.page());
    }
    damage(&db, pages[1], |rec| rec.set_link(Link::Prev, pages[2]).unwrap());
    let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    assert!(cursor.next_batch(ReadMode::Current, &mut batch).unwrap(), "the first leaf");
    let error = cursor.next_batch(ReadMode::Current, &mut batch).unwrap_err();
    assert!(error.to_string().contains("does not lead back"), "{error}");
}

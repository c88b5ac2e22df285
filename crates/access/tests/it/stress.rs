//! Many threads on one heap and one B+tree with a buffer pool much smaller than they are; and
//! crashes at random I/O operations with redo and undo.

use crate::support::{Db, Txn, altered};
use access::{BTree, Direction, EditOutcome, EditWish, Heap, Outcome, ReadMode, Rid, RowBatch};
use disk::Disk;
use pages::{PageId, TxnId, Unit};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const ACCOUNTS: u32 = 600;
const START: u64 = 1000;

fn account(key: u32) -> Vec<u8> {
    [&key.to_be_bytes()[..], &[b'k'; 20]].concat()
}

/// Balance, and filler whose length depends on it, so that rows grow and shrink.
fn balance_row(balance: u64) -> Vec<u8> {
    [&balance.to_le_bytes()[..], &vec![3; (balance % 500) as usize]].concat()
}

fn balance_of(row: &[u8]) -> u64 {
    u64::from_le_bytes(row[..8].try_into().unwrap())
}

fn total(tree: &BTree, mode: ReadMode<'_>, direction: Direction) -> (u64, u64) {
    // Forward in small pieces of leaves at first, between which rows move.
    let cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, direction);
    let mut cursor =
        if direction == Direction::Forward { cursor.beginning_with(3) } else { cursor };
    let mut batch = RowBatch::new();
    let (mut rows, mut sum) = (0, 0);
    while cursor.next_batch(mode, &mut batch).unwrap() {
        rows += batch.len() as u64;
        sum += (0..batch.len()).map(|i| balance_of(batch.row(i))).sum::<u64>();
    }
    (rows, sum)
}

/// Moves money between two accounts; half the time by deleting and inserting a row. `None`: met
/// another writer.
fn transfer(tree: &BTree, txn: &mut Txn, rng: &mut fastrand::Rng) -> Option<()> {
    let (a, b) = (rng.u32(0..ACCOUNTS), rng.u32(0..ACCOUNTS));
    if a == b {
        return Some(());
    }
    let amount = rng.u64(0..50);
    let mut batch = RowBatch::new();
    for (key, plus) in [(a.min(b), a < b), (a.max(b), a > b)] {
        let key = account(key);
        let expected = tree.look_ahead(&key);
        if !tree.fetch(&key, ReadMode::Current, &mut batch).unwrap() || batch.is_ghost(0) {
            return None;
        }
        let (header, old) = (batch.header(0), balance_of(batch.row(0)));
        let new = if plus { old.wrapping_add(amount) } else { old.checked_sub(amount)? };
        let way = rng.u8(0..3);
        let done = if way == 0 {
            // Found and changed under one latch: what was read above does not matter.
            let edited = tree.edit(txn, &key, expected, |row, edit| {
                let now = balance_of(row);
                let new = if plus { now.checked_add(amount) } else { now.checked_sub(amount) };
                let Some(new) = new else { return EditWish::Unknown };
                edit.bytes.extend_from_slice(&new.to_le_bytes());
                EditWish::Edit
            });
            match edited.unwrap() {
                EditOutcome::Done => Outcome::Done(()),
                _ => Outcome::Changed,
            }
        } else if way == 1 {
            tree.update(txn, &key, &header, &balance_row(new)).unwrap()
        } else {
            match tree.delete(txn, &key, &header).unwrap() {
                Outcome::Done(()) => tree.insert(txn, &key, &balance_row(new)).unwrap(),
                other => other,
            }
        };
        if done != Outcome::Done(()) {
            return None;
        }
    }
    Some(())
}

#[test]
fn transfers_keep_the_sum() {
    let db = Db::sim(11, 40 * 8192);
    let unit = db.unit(5);
    let tree = BTree::create(db.store.clone(), unit.clone()).unwrap();
    let mut txn = db.begin();
    for key in 0..ACCOUNTS {
        assert_eq!(
            tree.insert(&mut txn, &account(key), &balance_row(START)).unwrap(),
            Outcome::Done(())
        );
    }
    txn.commit().unwrap();
    let stop = AtomicBool::new(false);
    let (commits, reads) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|s| {
        for n in 0..4 {
            let (db, tree, stop, commits) = (&db, &tree, &stop, &commits);
            s.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(n);
                while !stop.load(Ordering::Relaxed) {
                    let mut txn = db.begin();
                    let moves =
                        (0..rng.usize(1..6)).try_for_each(|_| transfer(tree, &mut txn, &mut rng));
                    if moves.is_some() && rng.u8(0..4) != 0 {
                        txn.commit().unwrap();
                        commits.fetch_add(1, Ordering::Relaxed);
                    } else {
                        txn.rollback().unwrap();
                    }
                }
            });
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let (db, tree, stop, reads) = (&db, &tree, &stop, &reads);
            s.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let snapshot = db.snapshot(TxnId(0));
                    let got = total(tree, snapshot.mode(), direction);
                    assert_eq!(got, (u64::from(ACCOUNTS), u64::from(ACCOUNTS) * START));
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(std::time::Duration::from_secs(4));
        stop.store(true, Ordering::Relaxed);
    });
    assert!(commits.load(Ordering::Relaxed) > 100 && reads.load(Ordering::Relaxed) > 10);
    let report = tree.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    clean(&db, &unit);
    let report = tree.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!((report.rows, report.ghosts), (u64::from(ACCOUNTS), 0));
}

fn clean(db: &Db, unit: &Unit) {
    db.clean(unit, db.oldest()).unwrap();
}

/// Each thread inserts, changes and deletes its own rows in shared structures, with cleanup and
/// scans beside it.
#[test]
fn own_rows_in_shared_structures() {
    let db = Db::sim(12, 40 * 8192);
    let (heap_unit, tree_unit) = (db.unit(6), db.unit(7));
    let heap = Heap::new(db.store.clone(), heap_unit.clone());
    let tree = BTree::create(db.store.clone(), tree_unit.clone()).unwrap();
    let stop = AtomicBool::new(false);
    let rows: u64 = std::thread::scope(|s| {
        let workers: Vec<_> = (0..4u8)
            .map(|n| {
                let (db, heap, tree) = (&db, &heap, &tree);
                s.spawn(move || own_rows(n, db, heap, tree))
            })
            .collect();
        s.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                clean(&db, &heap_unit);
                clean(&db, &tree_unit);
                std::thread::yield_now();
            }
        });
        s.spawn(|| {
            let mut batch = RowBatch::new();
            while !stop.load(Ordering::Relaxed) {
                let snapshot = db.snapshot(TxnId(0));
                let mut scan = heap.scan().unwrap();
                let mut seen = std::collections::HashSet::new();
                while scan.next_batch(snapshot.mode(), &mut batch).unwrap() {
                    for i in 0..batch.len() {
                        let row = batch.row(i);
                        assert!(row[9..].iter().all(|b| *b == row[8]), "no mixture of versions");
                        assert!(seen.insert(batch.rid(i)));
                    }
                }
            }
        });
        let rows = workers.into_iter().map(|w| w.join().unwrap()).sum();
        stop.store(true, Ordering::Relaxed);
        rows
    });
    for report in [heap.check().unwrap(), tree.check().unwrap()] {
        assert!(report.is_clean(), "{:#?}", report.findings);
        assert_eq!(report.rows, rows);
    }
}

fn own_rows(n: u8, db: &Arc<Db>, heap: &Heap, tree: &BTree) -> u64 {
    let mut rng = fastrand::Rng::with_seed(u64::from(n));
    let mut mine: BTreeMap<u32, (Rid, Vec<u8>)> = BTreeMap::new();
    let mut batch = RowBatch::new();
    for round in 0..250u32 {
        let mut txn = db.begin();
        let mut now = mine.clone();
        for _ in 0..rng.usize(1..10) {
            let key = rng.u32(0..200);
            let bytes =
                [&[n; 4][..], &key.to_le_bytes(), &vec![round as u8; rng.usize(1..1500)]].concat();
            let full = [&key.to_be_bytes()[..], &[n]].concat();
            match now.get(&key).cloned() {
                None => {
                    let rid = heap.insert(&mut txn, &bytes).unwrap();
                    assert_eq!(
                        tree.insert(&mut txn, &full, &rid.to_bytes()).unwrap(),
                        Outcome::Done(())
                    );
                    now.insert(key, (rid, bytes));
                }
                Some((rid, old)) => {
                    assert!(heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
                    assert_eq!(batch.row(0), old.as_slice());
                    let header = batch.header(0);
                    if rng.bool() {
                        assert_eq!(
                            heap.update(&mut txn, rid, &header, &bytes).unwrap(),
                            Outcome::Done(())
                        );
                        now.insert(key, (rid, bytes));
                    } else {
                        assert_eq!(heap.delete(&mut txn, rid, &header).unwrap(), Outcome::Done(()));
                        assert!(tree.fetch(&full, ReadMode::Current, &mut batch).unwrap());
                        assert_eq!(batch.row(0), rid.to_bytes());
                        assert_eq!(
                            tree.delete(&mut txn, &full, &batch.header(0)).unwrap(),
                            Outcome::Done(())
                        );
                        now.remove(&key);
                    }
                }
            }
        }
        if rng.u8(0..4) == 0 {
            txn.rollback().unwrap();
        } else {
            txn.commit().unwrap();
            mine = now;
        }
    }
    mine.len() as u64
}

struct StressPlaces {
    heap_iam: PageId,
    tree_iam: PageId,
    root: PageId,
}

type RowContents = BTreeMap<u32, Vec<u8>>;

fn contents(heap: &Heap, tree: &BTree) -> RowContents {
    let (mut cursor, mut batch, mut row) = (
        tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward),
        RowBatch::new(),
        RowBatch::new(),
    );
    let mut found = RowContents::new();
    while cursor.next_batch(ReadMode::Dirty, &mut batch).unwrap() {
        for i in 0..batch.len() {
            let rid = Rid::from_bytes(batch.row(i).try_into().unwrap());
            assert!(heap.fetch(rid, ReadMode::Dirty, &mut row).unwrap());
            found.insert(u32::from_be_bytes(batch.key(i).try_into().unwrap()), row.row(0).to_vec());
        }
    }
    found
}

/// Runs transactions until the disk crashes. Returns what was acknowledged and what may have become
/// durable besides.
fn work_until_crash(
    db: &Arc<Db>,
    heap: &Heap,
    tree: &BTree,
    units: &[Unit],
    seed: u64,
) -> (RowContents, RowContents) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut sure, mut maybe) = (RowContents::new(), RowContents::new());
    let mut batch = RowBatch::new();
    for round in 0..200u32 {
        let mut txn = db.begin();
        let mut now = sure.clone();
        let mut step = || -> Result<(), access::AccessError> {
            for _ in 0..rng.usize(1..12) {
                let key = rng.u32(0..300);
                let full = key.to_be_bytes();
                let bytes = vec![round as u8; rng.usize(8..1200)];
                if let Entry::Vacant(place) = now.entry(key) {
                    let rid = heap.insert(&mut txn, &bytes)?;
                    assert_eq!(tree.insert(&mut txn, &full, &rid.to_bytes())?, Outcome::Done(()));
                    place.insert(bytes);
                    continue;
                }
                assert!(tree.fetch(&full, ReadMode::Current, &mut batch)?);
                let (entry, rid) =
                    (batch.header(0), Rid::from_bytes(batch.row(0).try_into().unwrap()));
                assert!(heap.fetch(rid, ReadMode::Current, &mut batch)?);
                let way = rng.u8(0..3);
                if way == 0 {
                    // To another place: the entry is edited.
                    assert_eq!(heap.delete(&mut txn, rid, &batch.header(0))?, Outcome::Done(()));
                    let to = heap.insert(&mut txn, &bytes)?.to_bytes();
                    let edited = tree.edit(&mut txn, &full, None, |_, edit| {
                        edit.bytes.extend_from_slice(&to);
                        EditWish::Edit
                    });
                    assert_eq!(edited?, EditOutcome::Done);
                    now.insert(key, bytes);
                } else if way == 1 {
                    let mut bytes = bytes;
                    for _ in 0..rng.usize(1..5) {
                        assert_eq!(
                            heap.update(&mut txn, rid, &batch.header(0), &bytes)?,
                            Outcome::Done(())
                        );
                        now.insert(key, bytes.clone());
                        bytes = altered(&mut rng, &bytes);
                        assert!(heap.fetch(rid, ReadMode::Current, &mut batch)?);
                    }
                } else {
                    assert_eq!(heap.delete(&mut txn, rid, &batch.header(0))?, Outcome::Done(()));
                    assert_eq!(tree.delete(&mut txn, &full, &entry)?, Outcome::Done(()));
                    now.remove(&key);
                }
            }
            Ok(())
        };
        if step().is_err() {
            return (sure, maybe);
        }
        if rng.u8(0..4) == 0 {
            if txn.rollback().is_err() {
                return (sure, maybe);
            }
        } else {
            maybe.clone_from(&now);
            if txn.commit_hard().is_err() {
                return (sure, maybe);
            }
            sure = now;
        }
        maybe.clone_from(&sure);
        let side = match rng.u8(0..12) {
            0 => db.checkpoint().is_err(),
            1..=2 => units.iter().any(|unit| db.clean(unit, db.oldest()).is_err()),
            _ => false,
        };
        if side {
            return (sure, maybe);
        }
    }
    (sure, maybe)
}

fn crash_once(seed: u64) {
    let sim = sim::SimDisk::new(seed);
    let disk: Arc<dyn Disk> = Arc::new(sim.clone());
    let folder = PathBuf::new();
    let db = Db::create(disk, &folder, 24 * 8192, 2 << 20).unwrap();
    let units = [db.unit(5), db.unit(6)];
    let heap = Heap::new(db.store.clone(), units[0].clone());
    let tree = BTree::create(db.store.clone(), units[1].clone()).unwrap();
    let places = StressPlaces {
        heap_iam: units[0].first_iam(),
        tree_iam: units[1].first_iam(),
        root: tree.root(),
    };
    db.checkpoint().unwrap();
    let begin = sim.io_count();
    sim.crash_at(begin + fastrand::Rng::with_seed(seed).u64(1..350));
    let (sure, maybe) = work_until_crash(&db, &heap, &tree, &units, seed);
    drop((heap, tree, units, db));
    // A second crash in the middle of recovery, then recovery to the end.
    let mut image = sim.crash(seed);
    let points = fastrand::Rng::with_seed(seed + 1).u64(1..80);
    image.crash_at(points);
    if Db::restart(Arc::new(image.clone()), &folder, 24 * 8192).is_err() || image.has_crashed() {
        image = image.crash(seed + 2);
    } else {
        image = image.crash(seed + 3);
    }
    let db = Db::restart(Arc::new(image), &folder, 64 * 8192).unwrap();
    let heap = Heap::new(db.store.clone(), db.store.open_unit(places.heap_iam).unwrap());
    let tree =
        BTree::open(db.store.clone(), db.store.open_unit(places.tree_iam).unwrap(), places.root);
    let found = contents(&heap, &tree);
    assert!(
        found == sure || found == maybe,
        "seed {seed}: {} rows, {} sure",
        found.len(),
        sure.len()
    );
    for report in [heap.check().unwrap(), tree.check().unwrap()] {
        assert!(report.is_clean(), "seed {seed}: {:#?}", report.findings);
        assert_eq!(report.rows, found.len() as u64, "seed {seed}");
    }
}

#[test]
fn crashes_lose_nothing_acknowledged() {
    let from: u64 = std::env::var("CRASH_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count: u64 = std::env::var("CRASH_COUNT").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    for seed in from..from + count {
        crash_once(seed);
    }
}

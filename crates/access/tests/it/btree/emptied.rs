//! Trees whose rows go: their nodes and extents go too, under writers and readers, and keys are
//! found wherever their leaves go.

use super::*;

/// Keys whose separators cannot be short make a tree of many levels.
fn long_key(n: u32) -> Vec<u8> {
    [&[b'k'; 600][..], &n.to_be_bytes()].concat()
}

fn delete_range(db: &Arc<Db>, tree: &BTree, keys: std::ops::Range<u32>) {
    let mut batch = RowBatch::new();
    let mut txn = db.begin();
    for n in keys {
        let key = long_key(n);
        if tree.fetch(&key, ReadMode::Current, &mut batch).unwrap() && !batch.is_ghost(0) {
            let header = batch.header(0);
            assert_eq!(tree.delete(&mut txn, &key, &header).unwrap(), Outcome::Done(()));
        }
    }
    txn.commit().unwrap();
}

/// What deletes and rollbacks leave: nothing, whatever the height of the tree and the order.
#[test]
fn an_emptied_tree_is_one_leaf_and_one_extent() {
    for seed in 0..4u64 {
        let db = Db::sim(seed, 8 << 20);
        let unit = db.unit(5);
        let tree = BTree::create(db.store.clone(), unit.clone()).unwrap();
        for round in 0..3 {
            let mut txn = db.begin();
            for n in 0..6000u32 {
                let n = if round == 1 { 5999 - n } else { n };
                assert_eq!(
                    tree.insert(&mut txn, &long_key(n), b"value").unwrap(),
                    Outcome::Done(())
                );
            }
            if round == 2 {
                txn.rollback().unwrap();
            } else {
                txn.commit().unwrap();
                assert!(tree.check().unwrap().levels > 3);
                let mut pieces: Vec<u32> = (0..20).collect();
                fastrand::Rng::with_seed(seed).shuffle(&mut pieces);
                for piece in pieces {
                    delete_range(&db, &tree, piece * 300..(piece + 1) * 300);
                    db.clean(&unit, db.oldest()).unwrap();
                    let report = tree.check().unwrap();
                    assert!(report.is_clean(), "seed {seed}: {:#?}", report.findings);
                }
            }
            db.clean(&unit, db.oldest()).unwrap();
            let report = tree.check().unwrap();
            assert!(report.is_clean(), "seed {seed}: {:#?}", report.findings);
            assert_eq!(
                (report.levels, report.pages, report.rows, report.ghosts),
                (1, 1, 0, 0),
                "round {round}"
            );
            assert_eq!(unit.extent_count(), 1);
        }
    }
}

/// Ranges come and go in a tall tree while others read it in both directions and empty nodes leave
/// it.
#[test]
fn nodes_leave_a_tall_tree_under_writers_and_readers() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let db = Db::sim(9, 60 * 8192);
    let unit = db.unit(5);
    let tree = BTree::create(db.store.clone(), unit.clone()).unwrap();
    let stop = AtomicBool::new(false);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(3);
    std::thread::scope(|s| {
        let writers: Vec<_> = (0..3u32)
            .map(|n| {
                let (db, tree) = (&db, &tree);
                s.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(u64::from(n));
                    let mut rounds = 0;
                    while std::time::Instant::now() < end {
                        // Each its own keys, side by side with the others'.
                        let (from, count) = (n * 100_000, rng.u32(50..400));
                        let mut txn = db.begin();
                        for k in from..from + count {
                            assert_eq!(
                                tree.insert(&mut txn, &long_key(k), &n.to_be_bytes()).unwrap(),
                                Outcome::Done(())
                            );
                        }
                        if rng.u8(0..3) == 0 {
                            txn.rollback().unwrap();
                        } else {
                            txn.commit().unwrap();
                            delete_range(db, tree, from..from + count);
                        }
                        rounds += 1;
                        // The keys would be ghosts' otherwise.
                        while std::time::Instant::now() < end && !gone(tree, from, count) {
                            std::thread::yield_now();
                        }
                    }
                    rounds
                })
            })
            .collect();
        s.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                db.clean(&unit, db.oldest()).unwrap();
                std::thread::yield_now();
            }
        });
        for direction in [Direction::Forward, Direction::Backward] {
            let (db, tree, stop) = (&db, &tree, &stop);
            s.spawn(move || {
                let mut batch = RowBatch::new();
                while !stop.load(Ordering::Relaxed) {
                    let snapshot = db.snapshot(pages::TxnId(0));
                    let mut cursor = tree
                        .cursor(Bound::Unbounded, Bound::Unbounded, direction)
                        .beginning_with(3);
                    let mut last: Option<Vec<u8>> = None;
                    while cursor.next_batch(snapshot.mode(), &mut batch).unwrap() {
                        for i in 0..batch.len() {
                            let key = batch.key(i).to_vec();
                            let ordered = last.as_ref().is_none_or(|last| match direction {
                                Direction::Forward => *last < key,
                                Direction::Backward => *last > key,
                            });
                            assert!(ordered);
                            last = Some(key);
                        }
                    }
                }
            });
        }
        let rounds: u32 = writers.into_iter().map(|w| w.join().unwrap()).sum();
        stop.store(true, Ordering::Relaxed);
        assert!(rounds > 10, "{rounds}");
    });
    for _ in 0..3 {
        db.clean(&unit, db.oldest()).unwrap();
    }
    let report = tree.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!((report.levels, report.rows, report.ghosts, unit.extent_count()), (1, 0, 0, 1));
}

/// Whether not even ghosts of these keys are left.
fn gone(tree: &BTree, from: u32, count: u32) -> bool {
    let mut batch = RowBatch::new();
    let (low, high) = (long_key(from), long_key(from + count));
    let mut cursor = tree.cursor(Bound::Included(&low), Bound::Excluded(&high), Direction::Forward);
    !cursor.next_batch(ReadMode::Current, &mut batch).unwrap()
}

/// Single keys are looked for again and again, so that threads remember where leaves are, while
/// leaves are split, emptied and unlinked, their pages come back elsewhere in the tree or in
/// another one, and the whole goes down and comes back.
#[test]
fn single_keys_are_found_wherever_their_leaves_go() {
    let short = |n: u32| n.to_be_bytes().to_vec();
    let mut rng = fastrand::Rng::with_seed(31);
    let db = Db::sim(31, 8 << 20);
    // More trees than a thread remembers, with keys of both kinds.
    let units: Vec<Unit> = (5..16).map(|id| db.unit(id)).collect();
    let trees: Vec<BTree> =
        units.iter().map(|unit| BTree::create(db.store.clone(), unit.clone()).unwrap()).collect();
    let mut models = vec![EntryModel::new(); trees.len()];
    let mut batch = RowBatch::new();
    let (mut edits, mut of_all) = (0, Beside::default());
    of_all.keep(4);
    let mut own: Vec<Beside> = trees.iter().map(|_| Beside::default()).collect();
    for round in 0..400 {
        let at = if rng.bool() { 0 } else { rng.usize(0..trees.len()) };
        let (tree, model) = (&trees[at], &mut models[at]);
        let name = |n: u32| if at % 3 == 1 { long_key(n) } else { short(n) };
        let mut txn = db.begin();
        let (from, count) = (rng.u32(0..3_000), rng.u32(1..400));
        match rng.u8(0..5) {
            0 | 1 => {
                for n in from..from + count {
                    let (key, value) =
                        (name(n), rng.u32(..).to_le_bytes().repeat(rng.usize(1..30)));
                    if let Outcome::Done(()) = tree.insert(&mut txn, &key, &value).unwrap() {
                        model.insert(key, value);
                    }
                }
            }
            2 => {
                for n in from..from + 2 * count {
                    let key = name(n);
                    if model.remove(&key).is_some() {
                        assert!(tree.fetch(&key, ReadMode::Current, &mut batch).unwrap());
                        let header = batch.header(0);
                        assert_eq!(
                            tree.delete(&mut txn, &key, &header).unwrap(),
                            Outcome::Done(())
                        );
                    }
                }
            }
            _ => {}
        }
        for _ in 0..300 {
            let key = name(rng.u32(0..3_400));
            let wish = |value: &[u8], edit: &mut access::ValueEdit| {
                edit.bytes = value.iter().take(4).map(|b| b.wrapping_add(1)).collect();
                EditWish::Edit
            };
            let expected = tree.look_ahead(&key);
            match (tree.edit(&mut txn, &key, expected, wish).unwrap(), model.get_mut(&key)) {
                (EditOutcome::Done, Some(value)) => {
                    value.iter_mut().take(4).for_each(|b| *b = b.wrapping_add(1));
                    edits += 1;
                }
                // A ghost is left to the caller.
                (EditOutcome::Missing | EditOutcome::Undecided, None) => {}
                (edited, value) => panic!("round {round}: {edited:?} of {value:?}"),
            }
            let there =
                tree.fetch(&key, ReadMode::Current, &mut batch).unwrap() && !batch.is_ghost(0);
            assert_eq!(
                there.then(|| batch.row(0)),
                model.get(&key).map(Vec::as_slice),
                "round {round}"
            );
            // Others, with what is known of this tree, and with what is known of all of them.
            for beside in [&mut own[at], &mut of_all] {
                let next = name(rng.u32(0..3_400));
                let there =
                    tree.fetch_beside(beside, &next, ReadMode::Current, &mut batch).unwrap()
                        && !batch.is_ghost(0);
                assert_eq!(
                    there.then(|| batch.row(0)),
                    model.get(&next).map(Vec::as_slice),
                    "round {round}"
                );
            }
        }
        txn.commit().unwrap();
        if rng.u8(0..3) == 0 {
            db.clean(&units[at], db.oldest()).unwrap();
        }
    }
    assert!(edits > 10_000, "{edits}");
    for (tree, model) in trees.iter().zip(&models) {
        let report = tree.check().unwrap();
        assert!(report.is_clean(), "{:#?}", report.findings);
        let rows = read_all(tree, db.snapshot(pages::TxnId(0)).mode(), Direction::Forward);
        assert_eq!(rows, model.clone().into_iter().collect::<Vec<_>>());
    }
}

//! Many entries that are fetched by their keys one after another: few ways from the root are taken
//! for them, and they are found while leaves around them are split, emptied and taken again.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Separators of these are long: a node has few children, and a tree many nodes above leaves.
fn key(n: u32) -> Vec<u8> {
    [&[b'k'; 300][..], &n.to_be_bytes()].concat()
}

fn insert(db: &Arc<Db>, tree: &BTree, keys: impl Iterator<Item = u32>) {
    let mut txn = db.begin();
    for n in keys {
        assert_eq!(tree.insert(&mut txn, &key(n), &n.to_le_bytes()).unwrap(), Outcome::Done(()));
    }
    txn.commit().unwrap();
}

/// Looks for keys, of which those are there that `is_there` says; how many ways down it took.
fn look(
    tree: &BTree,
    beside: &mut Beside,
    keys: impl Iterator<Item = u32>,
    is_there: impl Fn(u32) -> bool,
) -> u64 {
    let (before, mut batch) = (beside.descents(), RowBatch::new());
    for n in keys {
        let read = tree.fetch_beside(beside, &key(n), ReadMode::Current, &mut batch).unwrap();
        let found = read && !batch.is_ghost(0);
        assert_eq!(found, is_there(n), "{n}");
        assert!(!found || (batch.len() == 1 && batch.row(0) == n.to_le_bytes()), "{n}");
    }
    beside.descents() - before
}

/// Even numbers below 20,000: some 420 leaves under some 17 nodes.
#[test]
fn keys_in_order_take_two_ways_down_for_each_node() {
    let db = Db::sim(41, 32 << 20);
    let tree = BTree::create(db.store.clone(), db.unit(5)).unwrap();
    insert(&db, &tree, (0..10_000).map(|n| n * 2));
    assert!(tree.check().unwrap().levels >= 3);
    let even = |n: u32| n < 20_000 && n.is_multiple_of(2);

    let ways = look(&tree, &mut Beside::default(), (0..2_000).map(|n| n * 10), even);
    assert!((1..100).contains(&ways), "{ways} for keys in order");
    // A look at each leaf, and one at some of them only.
    for step in [40, 200] {
        let ways = look(&tree, &mut Beside::default(), (0..20_000).step_by(step), even);
        assert!(ways < 100, "{ways} for one key of {step}");
    }
    // Few of the keys that are not there would be the first or the last of a leaf.
    let mut beside = Beside::default();
    let ways = look(&tree, &mut beside, (0..4_000).map(|n| n * 5), even);
    assert!(ways < 400, "{ways} for keys of which some are there");
    // Backward it is the same, and in no order with more nodes.
    let ways = look(&tree, &mut beside, (0..2_000).rev().map(|n| n * 10), even);
    assert!(ways < 100, "{ways} for keys in descending order");
    let mut all: Vec<u32> = (0..10_000).map(|n| n * 2).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut all);
    let mut beside = Beside::default();
    beside.keep(64);
    let ways = look(&tree, &mut beside, all.iter().copied(), even);
    assert!(ways < 300, "{ways} for keys in no order");
}

/// A node that is split, or whose leaves are unlinked, between two keys.
#[test]
fn what_is_remembered_of_an_older_tree_is_forgotten() {
    let db = Db::sim(42, 32 << 20);
    let unit = db.unit(5);
    let tree = BTree::create(db.store.clone(), unit.clone()).unwrap();
    let mut beside = Beside::default();
    beside.keep(64);
    insert(&db, &tree, (0..4_000).map(|n| n * 4));
    look(&tree, &mut beside, 0..16_000, |n| n % 4 == 0);
    insert(&db, &tree, (0..4_000).flat_map(|n| [n * 4 + 1, n * 4 + 2]));
    look(&tree, &mut beside, 0..16_000, |n| n % 4 < 3);
    let mut txn = db.begin();
    let mut batch = RowBatch::new();
    for n in (2_000..12_000).filter(|n| n % 4 < 3) {
        assert!(tree.fetch(&key(n), ReadMode::Current, &mut batch).unwrap());
        let header = batch.header(0);
        assert_eq!(tree.delete(&mut txn, &key(n), &header).unwrap(), Outcome::Done(()));
    }
    txn.commit().unwrap();
    db.clean(&unit, db.oldest()).unwrap();
    let left = |n: u32| n % 4 < 3 && !(2_000..12_000).contains(&n);
    look(&tree, &mut beside, 0..16_000, left);
    // Pages that have left the tree come back in another place of it.
    insert(&db, &tree, 20_000..24_000);
    look(&tree, &mut beside, 0..24_000, |n| left(n) && n < 16_000 || n >= 20_000);
}

/// Readers find every key that stays while those around it come and go, whatever the tree is then.
#[test]
fn keys_are_found_beside_one_another_under_splits() {
    let db = Db::sim(43, 32 << 20);
    let unit = db.unit(5);
    let tree = BTree::create(db.store.clone(), unit.clone()).unwrap();
    insert(&db, &tree, (0..1_500).map(|n| n * 8));
    let (stop, passes) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|s| {
        for nodes in [1, 32] {
            let (tree, stop, passes) = (&tree, &stop, &passes);
            s.spawn(move || {
                let mut beside = Beside::default();
                beside.keep(nodes);
                let mut rng = fastrand::Rng::with_seed(nodes as u64);
                loop {
                    let last = stop.load(Ordering::Relaxed);
                    let mut keys: Vec<u32> = (0..1_500).map(|n| n * 8).collect();
                    if nodes > 1 {
                        rng.shuffle(&mut keys);
                    }
                    look(tree, &mut beside, keys.into_iter(), |_| true);
                    passes.fetch_add(1, Ordering::Relaxed);
                    if last {
                        break;
                    }
                }
            });
        }
        let mut rng = fastrand::Rng::with_seed(43);
        for _ in 0..60 {
            let (from, count) = (rng.u32(0..1_400), rng.u32(1..100));
            let between = || (from..from + count).flat_map(|n| (1..8).map(move |m| n * 8 + m));
            insert(&db, &tree, between());
            let mut txn = db.begin();
            let mut batch = RowBatch::new();
            for n in between() {
                assert!(tree.fetch(&key(n), ReadMode::Current, &mut batch).unwrap());
                let header = batch.header(0);
                assert_eq!(tree.delete(&mut txn, &key(n), &header).unwrap(), Outcome::Done(()));
            }
            txn.commit().unwrap();
            db.clean(&unit, db.oldest()).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(passes.load(Ordering::Relaxed) >= 2);
    let report = tree.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
}

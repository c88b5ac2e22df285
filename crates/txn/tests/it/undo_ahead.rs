//! A rollback of scattered changes asks for the pages of the records to come.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::support::txn::{DbState, Durability};
use crate::support::{create, env, log_options};
use access::{BTree, Direction, Outcome, ReadMode, RowBatch};
use pages::UnitId;
use sim::SimDisk;
use wal::Growth;

const ROWS: u64 = 600;

#[test]
fn scattered_pages_are_read_before_they_are_undone() {
    // A third of the pages fits.
    let env = env(Arc::new(SimDisk::new(1)), 200, false);
    let db = create(env, log_options(16 << 20, Growth::Bytes(8 << 20), false), DbState::initial())
        .unwrap();
    let unit = db.create_unit(UnitId(100), 1).unwrap();
    let tree = BTree::create(db.store().clone(), unit).unwrap();
    let mut keys: Vec<u64> = (0..ROWS).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut keys);
    let mut t = db.begin(51).unwrap();
    for key in &keys {
        // One row fills a leaf more than half.
        assert_eq!(tree.insert(&mut t, &key.to_be_bytes(), &[1; 4200]).unwrap(), Outcome::Done(()));
    }
    t.commit(Durability::Full).unwrap();
    db.checkpoint().unwrap();
    let mut batch = RowBatch::new();
    let mut t = db.begin(51).unwrap();
    fastrand::Rng::with_seed(2).shuffle(&mut keys);
    for key in &keys {
        let key = key.to_be_bytes();
        assert!(tree.fetch(&key, ReadMode::Current, &mut batch).unwrap());
        let done = tree.update(&mut t, &key, &batch.header(0), &[2; 4200]).unwrap();
        assert_eq!(done, Outcome::Done(()));
    }
    let ahead = || db.store().pool().counters().read_ahead_pages.load(Ordering::Relaxed);
    let before = ahead();
    t.rollback().unwrap();
    assert!(ahead() - before > ROWS / 3, "{} pages read ahead", ahead() - before);
    let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let mut rows = 0;
    while cursor.next_batch(ReadMode::Current, &mut batch).unwrap() {
        (0..batch.len()).for_each(|i| assert!(batch.row(i).iter().all(|byte| *byte == 1)));
        rows += batch.len() as u64;
    }
    assert_eq!(rows, ROWS);
}

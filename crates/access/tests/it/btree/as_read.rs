//! Whether what a cursor has read is as it was read: its leaf, and the leaf before it, where rows
//! would be that came in between.

use super::*;

fn number(n: u32) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

/// The key right behind another one: it belongs to the same leaf.
fn right_behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

fn keys_of(batch: &RowBatch) -> Vec<Vec<u8>> {
    (0..batch.len()).map(|i| batch.key(i).to_vec()).collect()
}

fn delete(db: &Arc<Db>, tree: &BTree, keys: &[Vec<u8>]) {
    let mut batch = RowBatch::new();
    let mut txn = db.begin();
    for key in keys {
        assert!(tree.fetch(key, ReadMode::Current, &mut batch).unwrap());
        assert_eq!(tree.delete(&mut txn, key, &batch.header(0)).unwrap(), Outcome::Done(()));
    }
    txn.commit().unwrap();
}

/// A tree of several leaves, and the keys of each.
fn tree_of_leaves(seed: u64) -> (Arc<Db>, BTree, Vec<Vec<Vec<u8>>>) {
    let db = Db::sim(seed, 8 << 20);
    let tree = BTree::create(db.store.clone(), db.unit(5)).unwrap();
    let mut txn = db.begin();
    for n in 0..100 {
        let done = tree.insert(&mut txn, &number(n * 10), &[b'v'; 1000]).unwrap();
        assert_eq!(done, Outcome::Done(()));
    }
    txn.commit().unwrap();
    let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let (mut batch, mut leaves) = (RowBatch::new(), Vec::new());
    while cursor.next_batch(ReadMode::Current, &mut batch).unwrap() {
        assert!(
            cursor.came_as_read().unwrap() && cursor.is_as_read(&batch).unwrap(),
            "nothing has changed"
        );
        leaves.push(keys_of(&batch));
    }
    assert!(leaves.len() > 5, "{} leaves", leaves.len());
    (db, tree, leaves)
}

/// A cursor that goes on to the second leaf, and one that begins behind the first one's last row:
/// what comes in at the end of the first leaf is missed by both, and told by both.
#[test]
fn a_row_that_comes_between_two_leaves_is_noticed() {
    for fresh in [false, true] {
        let (db, tree, leaves) = tree_of_leaves(1);
        let last = leaves[0].last().unwrap();
        let mut batch = RowBatch::new();
        let lower = if fresh { Bound::Excluded(&last[..]) } else { Bound::Unbounded };
        let mut cursor = tree.cursor(lower, Bound::Unbounded, Direction::Forward);
        if !fresh {
            assert!(cursor.next_batch(ReadMode::Current, &mut batch).unwrap());
        }
        assert!(cursor.next_batch(ReadMode::Current, &mut batch).unwrap());
        assert_eq!(keys_of(&batch), leaves[1]);
        assert!(cursor.came_as_read().unwrap() && cursor.is_as_read(&batch).unwrap());
        let mut txn = db.begin();
        assert_eq!(tree.insert(&mut txn, &right_behind(last), b"v").unwrap(), Outcome::Done(()));
        assert!(!cursor.came_as_read().unwrap(), "fresh: {fresh}");
        assert!(!cursor.is_as_read(&batch).unwrap());
        // Nor is it as it was when the row has gone again: others may have read it.
        txn.rollback().unwrap();
        assert!(!cursor.came_as_read().unwrap() && !cursor.is_as_read(&batch).unwrap());
    }
}

#[test]
fn a_row_that_changes_on_the_leaf_is_noticed() {
    let (db, tree, leaves) = tree_of_leaves(2);
    let mut batch = RowBatch::new();
    let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    for _ in 0..2 {
        assert!(cursor.next_batch(ReadMode::Current, &mut batch).unwrap());
    }
    delete(&db, &tree, &leaves[1][..1]);
    assert!(cursor.came_as_read().unwrap(), "the leaf before is as it was");
    assert!(!cursor.is_as_read(&batch).unwrap());
}

/// Where a search begins on the leaf of its batch that one alone tells, of what comes in in front
/// of its first entry too: what the leaf before gets is below the place that is searched for.
#[test]
fn a_search_is_told_by_the_leaf_that_it_begins_on() {
    let (db, tree, leaves) = tree_of_leaves(5);
    let last = leaves[0].last().unwrap();
    let (below_all, beside) = (number(0)[..3].to_vec(), right_behind(&leaves[1][0]));
    for (lower, leaf, outside, inside) in [
        (Bound::Unbounded, &leaves[0], None, below_all),
        (Bound::Included(&leaves[1][0][..]), &leaves[1], Some(right_behind(last)), beside),
    ] {
        let mut batch = RowBatch::new();
        let mut cursor = tree.cursor(lower, Bound::Unbounded, Direction::Forward).beginning_with(2);
        assert!(cursor.next_batch(ReadMode::Current, &mut batch).unwrap());
        assert_eq!((batch.slot(0), keys_of(&batch)), (0, leaf[..2].to_vec()));
        let mut txn = db.begin();
        if let Some(key) = outside {
            assert_eq!(tree.insert(&mut txn, &key, b"v").unwrap(), Outcome::Done(()));
        }
        assert!(cursor.came_as_read().unwrap() && cursor.is_as_read(&batch).unwrap());
        assert_eq!(tree.insert(&mut txn, &inside, b"v").unwrap(), Outcome::Done(()));
        assert!(cursor.came_as_read().unwrap() && !cursor.is_as_read(&batch).unwrap());
        txn.commit().unwrap();
    }
}

/// Of more than one leaf between two batches nothing is known, and nothing of a scan backward.
#[test]
fn where_it_is_not_known_the_answer_is_no() {
    let (db, tree, leaves) = tree_of_leaves(3);
    delete(&db, &tree, &[&leaves[1][..], &leaves[2]].concat());
    let mut batch = RowBatch::new();
    let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    for _ in 0..2 {
        assert!(cursor.next_batch(ReadMode::Dirty, &mut batch).unwrap());
    }
    assert_eq!(keys_of(&batch), leaves[3]);
    assert!(!cursor.came_as_read().unwrap() && !cursor.is_as_read(&batch).unwrap());
    let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Backward);
    assert!(cursor.next_batch(ReadMode::Current, &mut batch).unwrap());
    assert!(!cursor.came_as_read().unwrap() && !cursor.is_as_read(&batch).unwrap());
}

/// What is set between two batches is for the next one; those after it have more.
#[test]
fn a_cursor_reads_as_few_slots_as_it_is_told() {
    let (_db, tree, leaves) = tree_of_leaves(4);
    let mut batch = RowBatch::new();
    let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let mut all = Vec::new();
    for most in [1, 2, 3, 1] {
        cursor.at_most(most);
        assert!(cursor.next_batch(ReadMode::Current, &mut batch).unwrap());
        assert!(batch.len() <= usize::from(most));
        assert!(cursor.came_as_read().unwrap(), "it goes on by key, or over one leaf");
        all.extend(keys_of(&batch));
    }
    while cursor.next_batch(ReadMode::Current, &mut batch).unwrap() {
        all.extend(keys_of(&batch));
    }
    assert_eq!(all, leaves.concat());
}

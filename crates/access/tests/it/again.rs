//! Rows that one transaction changes again and again: every state is in the log once, and still
//! every state comes back.

use crate::support::{self, Db};
use access::{BTree, Heap, Outcome, ReadMode, RowBatch};
use pages::TxnId;

const LEN: usize = 4000;
const ROUNDS: u8 = 9;

fn row(n: u8) -> Vec<u8> {
    vec![n; LEN]
}

/// The bytes of the transaction's last log record.
fn last_record(db: &Db, txn: &support::Txn) -> usize {
    let mut bytes = Vec::new();
    db.log.read(txn.savepoint(), &mut bytes).unwrap();
    bytes.len()
}

#[test]
fn a_heap_row_is_logged_once_per_change() {
    let db = Db::sim(31, 8 << 20);
    let heap = Heap::new(db.store.clone(), db.unit(5));
    let mut txn = db.begin();
    let rid = heap.insert(&mut txn, &row(0)).unwrap();
    txn.commit().unwrap();
    let before = db.snapshot(TxnId(0));
    let mut txn = db.begin();
    let mut batch = RowBatch::new();
    let mut middle = None;
    for n in 1..=ROUNDS {
        assert!(heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
        assert_eq!(
            heap.update(&mut txn, rid, &batch.header(0), &row(n)).unwrap(),
            Outcome::Done(())
        );
        let images = if n == 1 { 2 } else { 1 };
        let len = last_record(&db, &txn);
        assert!((images * LEN..images * LEN + 100).contains(&len), "change {n}: {len} bytes");
        if n == 4 {
            middle = Some(txn.savepoint());
        }
    }
    let read = |mode: ReadMode<'_>| {
        let mut batch = RowBatch::new();
        assert!(heap.fetch(rid, mode, &mut batch).unwrap());
        batch.row(0).to_vec()
    };
    assert_eq!(read(before.mode()), row(0));
    assert_eq!(read(ReadMode::Dirty), row(ROUNDS));
    txn.rollback_to(middle.unwrap()).unwrap();
    assert_eq!(read(ReadMode::Dirty), row(4));
    // What is at hand now is the fourth state again, whose record is not the latest any more.
    assert!(heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
    assert_eq!(heap.update(&mut txn, rid, &batch.header(0), &row(77)).unwrap(), Outcome::Done(()));
    assert_eq!(read(before.mode()), row(0));
    txn.rollback().unwrap();
    assert_eq!(read(ReadMode::Dirty), row(0));
}

/// Another transaction's after image is never referred to: its log may be gone.
#[test]
fn an_entry_of_another_transaction_is_logged_whole() {
    let db = Db::sim(32, 8 << 20);
    let tree = BTree::create(db.store.clone(), db.unit(5)).unwrap();
    let mut txn = db.begin();
    assert_eq!(tree.insert(&mut txn, b"key", &row(0)).unwrap(), Outcome::Done(()));
    txn.commit().unwrap();
    let mut batch = RowBatch::new();
    for n in 1..4 {
        let mut txn = db.begin();
        for (again, images) in [(0, 2), (100, 1)] {
            assert!(tree.fetch(b"key", ReadMode::Current, &mut batch).unwrap());
            let done = tree.update(&mut txn, b"key", &batch.header(0), &row(n + again)).unwrap();
            assert_eq!(done, Outcome::Done(()));
            let len = last_record(&db, &txn);
            assert!(
                (images * LEN..images * LEN + 100).contains(&len),
                "transaction {n}: {len} bytes"
            );
        }
        txn.commit().unwrap();
    }
}

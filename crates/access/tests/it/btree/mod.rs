//! B+trees against a model: random operations, rollback, snapshots taken at random times, cleanup,
//! checks.

mod as_read;
mod beside;
mod emptied;
mod filling;

use crate::support::{Db, SeenSnapshot, Txn, altered};
use access::{
    BTree, Beside, Change, Cursor, Direction, EditOutcome, EditWish, EntryChange, Outcome,
    ReadMode, RowBatch, Writer,
};
use pages::Unit;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

type EntryModel = BTreeMap<Vec<u8>, Vec<u8>>;

fn read_all(tree: &BTree, mode: ReadMode<'_>, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
    read_range(tree, mode, Bound::Unbounded, Bound::Unbounded, direction)
}

fn read_range(
    tree: &BTree,
    mode: ReadMode<'_>,
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
    direction: Direction,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let rows = rows_of(tree.cursor(lower, upper, direction), mode);
    // However few are read of a leaf at once.
    assert_eq!(rows_of(tree.cursor(lower, upper, direction).beginning_with(1), mode), rows);
    rows
}

fn rows_of(mut cursor: Cursor, mode: ReadMode<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut batch = RowBatch::new();
    let mut rows = Vec::new();
    while cursor.next_batch(mode, &mut batch).unwrap() {
        for i in 0..batch.len() {
            rows.push((batch.key(i).to_vec(), batch.row(i).to_vec()));
        }
    }
    rows
}

fn expect(tree: &BTree, snapshot: &SeenSnapshot, model: &EntryModel, rng: &mut fastrand::Rng) {
    let mode = snapshot.mode();
    let want: Vec<_> = model.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    assert_eq!(read_all(tree, mode, Direction::Forward), want);
    let mut back = read_all(tree, mode, Direction::Backward);
    back.reverse();
    assert_eq!(back, want);
    let (a, b) = (key(rng, 400), key(rng, 400));
    let (a, b) = (a.clone().min(b.clone()), a.max(b));
    let bound = |rng: &mut fastrand::Rng, k: &Vec<u8>| match rng.u8(0..3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(k.clone()),
        _ => Bound::Excluded(k.clone()),
    };
    let (lower, upper) = (bound(rng, &a), bound(rng, &b));
    let inside = |k: &Vec<u8>| {
        (match &lower {
            Bound::Unbounded => true,
            Bound::Included(l) => k >= l,
            Bound::Excluded(l) => k > l,
        }) && (match &upper {
            Bound::Unbounded => true,
            Bound::Included(u) => k <= u,
            Bound::Excluded(u) => k < u,
        })
    };
    let want: Vec<_> = want.into_iter().filter(|(k, _)| inside(k)).collect();
    let (l, u) = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
    assert_eq!(read_range(tree, mode, l, u, Direction::Forward), want);
    let mut back = read_range(tree, mode, l, u, Direction::Backward);
    back.reverse();
    assert_eq!(back, want);
}

/// Keys of very different lengths, with long common prefixes.
fn key(rng: &mut fastrand::Rng, range: u32) -> Vec<u8> {
    let n = rng.u32(0..range);
    let mut key = format!("{:02}", n % 37).into_bytes();
    key.extend_from_slice(&vec![b'x'; (n % 7) as usize * 40]);
    key.extend_from_slice(format!("{n:05}").as_bytes());
    key
}

fn value(rng: &mut fastrand::Rng) -> Vec<u8> {
    let len = match rng.u8(0..20) {
        0 => rng.usize(2000..7000),
        1..=4 => rng.usize(300..900),
        _ => rng.usize(0..80),
    };
    let byte = rng.u8(..);
    (0..len).map(|i| byte.wrapping_add((i / 50) as u8)).collect()
}

struct TreeWorld {
    db: Arc<Db>,
    tree: BTree,
    unit: Unit,
    committed: EntryModel,
    /// Snapshots with what they must see.
    old: Vec<(SeenSnapshot, EntryModel)>,
    rng: fastrand::Rng,
}

impl TreeWorld {
    fn new(seed: u64, pool_bytes: u64) -> TreeWorld {
        let db = Db::sim(seed, pool_bytes);
        let unit = db.unit(5);
        let tree = BTree::create(db.store.clone(), unit.clone()).unwrap();
        TreeWorld {
            db,
            tree,
            unit,
            committed: EntryModel::new(),
            old: Vec::new(),
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    fn change(&mut self, txn: &mut Txn, model: &mut EntryModel, range: u32) {
        let rng = &mut self.rng;
        match rng.u8(0..10) {
            0..=3 => {
                let (k, v) = (key(rng, range), value(rng));
                let want =
                    if model.contains_key(&k) { Outcome::Duplicate } else { Outcome::Done(()) };
                assert_eq!(self.tree.insert(txn, &k, &v).unwrap(), want);
                if want == Outcome::Done(()) {
                    model.insert(k, v);
                }
            }
            4 => self.insert_run(txn, model, range),
            5 => self.change_again(txn, model),
            6 => self.edit(txn, model, range),
            _ => self.change_some(txn, model, range),
        }
    }

    /// A few entries, in turn, again and again.
    fn change_again(&mut self, txn: &mut Txn, model: &mut EntryModel) {
        let keys: Vec<Vec<u8>> = model.keys().cloned().collect();
        let mut batch = RowBatch::new();
        for _ in 0..if keys.is_empty() { 0 } else { self.rng.usize(2..12) } {
            let key = &keys[self.rng.usize(0..keys.len().min(6))];
            let value = altered(&mut self.rng, &model[key]);
            assert!(self.tree.fetch(key, ReadMode::Current, &mut batch).unwrap());
            assert_eq!(batch.row(0), model[key].as_slice());
            assert_eq!(
                self.tree.update(txn, key, &batch.header(0), &value).unwrap(),
                Outcome::Done(())
            );
            model.insert(key.clone(), value);
        }
    }

    /// A part of an entry, under one latch.
    fn edit(&mut self, txn: &mut Txn, model: &mut EntryModel, range: u32) {
        let some: Vec<Vec<u8>> = model.keys().cloned().collect();
        for _ in 0..self.rng.usize(1..5) {
            let rng = &mut self.rng;
            let key = if some.is_empty() || rng.bool() {
                key(rng, range)
            } else {
                rng.choice(&some).unwrap().clone()
            };
            let old = model.get(&key).cloned();
            let len = old.as_ref().map_or(0, Vec::len);
            let start = rng.usize(0..=len);
            let bytes: Vec<u8> = (start..rng.usize(start..=len)).map(|_| rng.u8(0..3)).collect();
            let wish = *rng
                .choice(&[EditWish::Edit, EditWish::Edit, EditWish::Leave, EditWish::Unknown])
                .unwrap();
            // Where another entry is expected there is none with this key.
            let ahead = if rng.bool() { Some(&key) } else { rng.choice(&some) };
            let expected = ahead.and_then(|key| self.tree.look_ahead(key));
            let edited = self.tree.edit(txn, &key, expected, |value, edit| {
                assert_eq!(Some(value), old.as_deref());
                edit.at = start;
                edit.bytes.extend_from_slice(&bytes);
                wish
            });
            let edited = edited.unwrap();
            let Some(mut value) = old else {
                // A ghost may be there still.
                assert!(matches!(edited, EditOutcome::Missing | EditOutcome::Undecided));
                continue;
            };
            match wish {
                EditWish::Edit => assert_eq!(edited, EditOutcome::Done),
                EditWish::Leave => assert_eq!(edited, EditOutcome::Left),
                EditWish::Unknown => assert_eq!(edited, EditOutcome::Undecided),
            }
            if wish == EditWish::Edit {
                value[start..start + bytes.len()].copy_from_slice(&bytes);
                model.insert(key, value);
            }
        }
    }

    fn insert_run(&mut self, txn: &mut Txn, model: &mut EntryModel, range: u32) {
        let rng = &mut self.rng;
        let mut rows: Vec<(Vec<u8>, Vec<u8>)> =
            (0..rng.usize(1..60)).map(|_| (key(rng, range), value(rng))).collect();
        rows.sort();
        rows.dedup_by(|a, b| a.0 == b.0);
        let refs: Vec<(&[u8], &[u8])> =
            rows.iter().map(|(k, v)| (k.as_slice(), v.as_slice())).collect();
        let fill = rng.u8(1..=100);
        let (n, outcome) = self.tree.insert_batch(txn, &refs, fill).unwrap();
        let first = rows.iter().position(|(k, _)| model.contains_key(k));
        assert_eq!(n, first.unwrap_or(rows.len()));
        assert_eq!(outcome, if first.is_some() { Outcome::Duplicate } else { Outcome::Done(()) });
        model.extend(rows.drain(..n));
    }

    fn change_some(&mut self, txn: &mut Txn, model: &mut EntryModel, range: u32) {
        let from = key(&mut self.rng, range);
        let mut cursor =
            self.tree.cursor(Bound::Included(&from), Bound::Unbounded, Direction::Forward);
        let mut batch = RowBatch::new();
        if !cursor.next_batch(ReadMode::Current, &mut batch).unwrap() {
            return;
        }
        let rng = &mut self.rng;
        let values: Vec<Vec<u8>> = (0..batch.len()).map(|_| value(rng)).collect();
        let mut changes = Vec::new();
        for (i, v) in values.iter().enumerate() {
            if batch.is_ghost(i) || rng.bool() {
                continue;
            }
            let change = if rng.bool() { Change::Delete } else { Change::Update(v) };
            changes.push(EntryChange::new(batch.key(i), batch.slot(i), batch.header(i), change));
            if rng.u8(0..4) == 0 {
                break;
            }
        }
        self.tree.apply_batch(txn, &mut changes).unwrap();
        for c in &changes {
            assert_eq!(c.outcome, Outcome::Done(()), "single writer");
            match c.change {
                Change::Delete => model.remove(c.key),
                Change::Update(v) => model.insert(c.key.to_vec(), v.to_vec()),
            };
        }
    }

    fn clean(&mut self) {
        let oldest =
            self.old.iter().map(|(s, _)| s.xmin()).chain([self.db.oldest()]).min().unwrap();
        self.db.clean(&self.unit, oldest).unwrap();
    }

    fn verify(&mut self) {
        let report = self.tree.check().unwrap();
        assert!(report.is_clean(), "{:#?}", report.findings);
    }

    fn run(&mut self, steps: usize, range: u32) {
        for step in 0..steps {
            let mut txn = self.db.begin();
            let mut model = self.committed.clone();
            for _ in 0..self.rng.usize(1..8) {
                self.change(&mut txn, &mut model, range);
                if self.rng.u8(0..6) == 0 {
                    let (savepoint, kept) = (txn.savepoint(), model.clone());
                    self.change(&mut txn, &mut model, range);
                    txn.rollback_to(savepoint).unwrap();
                    model = kept;
                }
            }
            if self.rng.bool() {
                // Others do not see it, the transaction itself does.
                let (others, own) =
                    (self.db.snapshot(pages::TxnId(0)), self.db.snapshot(Writer::txn(&txn)));
                expect(&self.tree, &others, &self.committed, &mut self.rng);
                expect(&self.tree, &own, &model, &mut self.rng);
            }
            if self.rng.u8(0..3) == 0 {
                txn.rollback().unwrap();
            } else {
                txn.commit().unwrap();
                self.committed = model;
            }
            if self.rng.u8(0..4) == 0 {
                self.old.push((self.db.snapshot(pages::TxnId(0)), self.committed.clone()));
            }
            if self.old.len() > 3 {
                let at = self.rng.usize(0..self.old.len());
                self.old.swap_remove(at);
            }
            for i in 0..self.old.len() {
                let (snapshot, model) = self.old[i].clone();
                expect(&self.tree, &snapshot, &model, &mut self.rng);
            }
            if self.rng.u8(0..3) == 0 {
                self.clean();
            }
            if step % 5 == 0 {
                self.verify();
            }
        }
        self.old.clear();
        self.clean();
        self.verify();
        let now = self.db.snapshot(pages::TxnId(0));
        expect(&self.tree, &now, &self.committed.clone(), &mut self.rng);
    }
}

#[test]
fn model_with_rollback_and_snapshots() {
    for seed in 0..6 {
        let mut world = TreeWorld::new(seed, 8 << 20);
        world.run(60, 400);
    }
}

#[test]
fn model_in_a_tiny_pool() {
    let mut world = TreeWorld::new(99, 48 * 8192);
    let mut rows: Vec<_> =
        (0..4000).map(|_| (key(&mut world.rng, 100_000), vec![5; 200])).collect();
    rows.sort();
    rows.dedup();
    let refs: Vec<(&[u8], &[u8])> =
        rows.iter().map(|(k, v)| (k.as_slice(), v.as_slice())).collect();
    let mut txn = world.db.begin();
    assert_eq!(world.tree.insert_batch(&mut txn, &refs, 90).unwrap().1, Outcome::Done(()));
    txn.commit().unwrap();
    world.committed.extend(rows);
    world.run(12, 100_000);
    assert!(world.tree.check().unwrap().levels >= 3, "the model grows a tree of three levels");
}

#[test]
fn ascending_load_fills_pages() {
    let db = Db::sim(1, 16 << 20);
    let tree = BTree::create(db.store.clone(), db.unit(5)).unwrap();
    let mut txn = db.begin();
    let value = [7u8; 100];
    for i in 0..20_000u32 {
        assert_eq!(tree.insert(&mut txn, &i.to_be_bytes(), &value).unwrap(), Outcome::Done(()));
    }
    txn.commit().unwrap();
    let report = tree.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    let per_page = 8128 / (18 + 2 + 4 + 100 + 4);
    assert!(report.pages <= 20_000 / per_page + 12, "{} pages", report.pages);
}

#[test]
fn bulk_load_leaves_the_wanted_room() {
    for fill in [50, 80, 100] {
        let db = Db::sim(2, 16 << 20);
        let tree = BTree::create(db.store.clone(), db.unit(5)).unwrap();
        let keys: Vec<[u8; 4]> = (0..10_000u32).map(u32::to_be_bytes).collect();
        let rows: Vec<(&[u8], &[u8])> = keys.iter().map(|k| (&k[..], &[1u8; 60][..])).collect();
        let mut txn = db.begin();
        assert_eq!(tree.insert_batch(&mut txn, &rows, fill).unwrap(), (10_000, Outcome::Done(())));
        txn.rollback().unwrap();
        assert_eq!(tree.check().unwrap().rows, 0, "rolled back");
        let tree = BTree::create(db.store.clone(), db.unit(6)).unwrap();
        let mut txn = db.begin();
        assert_eq!(tree.insert_batch(&mut txn, &rows, fill).unwrap(), (10_000, Outcome::Done(())));
        txn.commit().unwrap();
        let report = tree.check().unwrap();
        assert!(report.is_clean(), "{:#?}", report.findings);
        assert_eq!(report.rows, 10_000);
        let full = 10_000u64.div_ceil(8128 / (18 + 2 + 4 + 60 + 4));
        let want = full * 100 / u64::from(fill);
        assert!(
            report.pages >= want && report.pages <= want + want / 20 + 4,
            "{} pages at {fill} %",
            report.pages
        );
    }
}

#[test]
fn writers_meet_each_other() {
    let db = Db::sim(3, 4 << 20);
    let tree = BTree::create(db.store.clone(), db.unit(5)).unwrap();
    let mut a = db.begin();
    let mut b = db.begin();
    assert_eq!(tree.insert(&mut a, b"k", b"1").unwrap(), Outcome::Done(()));
    assert_eq!(tree.insert(&mut b, b"k", b"2").unwrap(), Outcome::Wait(a.id()));
    let id = a.id();
    a.rollback().unwrap();
    assert_eq!(tree.insert(&mut b, b"k", b"2").unwrap(), Outcome::Done(()), "{id} is gone");
    let b_id = b.id();
    b.commit().unwrap();
    let mut batch = RowBatch::new();
    assert!(tree.fetch(b"k", ReadMode::Current, &mut batch).unwrap());
    let header = batch.header(0);
    assert_eq!(header.txn, b_id);
    let mut c = db.begin();
    let mut d = db.begin();
    assert_eq!(tree.delete(&mut c, b"k", &header).unwrap(), Outcome::Done(()));
    assert_eq!(tree.update(&mut d, b"k", &header, b"3").unwrap(), Outcome::Wait(c.id()));
    assert_eq!(
        tree.insert(&mut d, b"k", b"3").unwrap(),
        Outcome::Wait(c.id()),
        "ghost of a running transaction"
    );
    assert!(!tree.fetch(b"k", ReadMode::Dirty, &mut batch).unwrap());
    assert!(tree.fetch(b"k", ReadMode::Current, &mut batch).unwrap() && batch.is_ghost(0));
    let before = db.snapshot(pages::TxnId(0));
    c.commit().unwrap();
    assert_eq!(tree.update(&mut d, b"k", &header, b"3").unwrap(), Outcome::Missing);
    assert_eq!(
        tree.insert(&mut d, b"k", b"3").unwrap(),
        Outcome::Done(()),
        "the dead ghost is reused"
    );
    assert_eq!(tree.update(&mut d, b"k", &header, b"4").unwrap(), Outcome::Changed);
    assert!(tree.fetch(b"k", before.mode(), &mut batch).unwrap());
    assert_eq!(batch.row(0), b"2", "two versions back, through the ghost");
    d.rollback().unwrap();
    assert!(!tree.fetch(b"k", ReadMode::Current, &mut batch).unwrap() || batch.is_ghost(0));
    assert!(tree.fetch(b"k", before.mode(), &mut batch).unwrap());
    assert_eq!(batch.row(0), b"2");
}

#[test]
fn limits_are_errors() {
    let db = Db::sim(4, 4 << 20);
    let tree = BTree::create(db.store.clone(), db.unit(5)).unwrap();
    let mut txn = db.begin();
    let long = vec![1; access::MAX_KEY_LEN + 1];
    assert!(matches!(
        tree.insert(&mut txn, &long, b""),
        Err(access::AccessError::KeyTooLong { .. })
    ));
    let wide = vec![1; access::MAX_ENTRY_LEN];
    assert!(matches!(
        tree.insert(&mut txn, b"k", &wide),
        Err(access::AccessError::RowTooLong { .. })
    ));
    assert_eq!(
        tree.insert(&mut txn, b"k", &wide[1..]).unwrap(),
        Outcome::Done(()),
        "exactly a page"
    );
    for i in 0..40u8 {
        let key = [&[i][..], &long[2..]].concat();
        assert_eq!(tree.insert(&mut txn, &key, b"v").unwrap(), Outcome::Done(()), "longest keys");
    }
    let report = tree.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(report.rows, 41);
}

//! Heaps and LOBs against a model: random operations, forwarding, rollback, snapshots at random
//! times, cleanup.

use crate::support::{Db, SeenSnapshot, Txn, altered};
use access::{
    BTree, Change, DiscardedValues, Heap, HeapChange, LobPointer, LobSpace, Outcome, ReadMode, Rid,
    RowBatch, Writer,
};
use pages::{TxnId, Unit};
use std::collections::BTreeMap;
use std::sync::Arc;

type RowModel = BTreeMap<Rid, Vec<u8>>;

fn read_all(heap: &Heap, mode: ReadMode<'_>) -> RowModel {
    let mut scan = heap.scan().unwrap();
    let mut batch = RowBatch::new();
    let mut rows = RowModel::new();
    while scan.next_batch(mode, &mut batch).unwrap() {
        for i in 0..batch.len() {
            assert!(rows.insert(batch.rid(i), batch.row(i).to_vec()).is_none(), "a row comes once");
        }
    }
    rows
}

struct HeapWorld {
    db: Arc<Db>,
    heap: Heap,
    unit: Unit,
    committed: RowModel,
    old: Vec<(SeenSnapshot, RowModel)>,
    rng: fastrand::Rng,
}

fn row(rng: &mut fastrand::Rng) -> Vec<u8> {
    let len = match rng.u8(0..20) {
        0 => rng.usize(3000..8000),
        1..=5 => rng.usize(300..1500),
        _ => rng.usize(8..60),
    };
    let byte = rng.u8(..);
    (0..len).map(|i| byte.wrapping_add((i / 40) as u8)).collect()
}

impl HeapWorld {
    fn new(seed: u64, pool_bytes: u64) -> HeapWorld {
        let db = Db::sim(seed, pool_bytes);
        let unit = db.unit(5);
        let heap = Heap::new(db.store.clone(), unit.clone());
        HeapWorld {
            db,
            heap,
            unit,
            committed: RowModel::new(),
            old: Vec::new(),
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    fn change(&mut self, txn: &mut Txn, model: &mut RowModel) {
        match self.rng.u8(0..8) {
            0..=1 => {
                let bytes = row(&mut self.rng);
                let rid = self.heap.insert(txn, &bytes).unwrap();
                assert!(model.insert(rid, bytes).is_none(), "{rid} was free");
            }
            2 => {
                let rows: Vec<Vec<u8>> =
                    (0..self.rng.usize(1..50)).map(|_| row(&mut self.rng)).collect();
                let refs: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
                let mut rids = Vec::new();
                self.heap.insert_batch(txn, &refs, &mut rids).unwrap();
                for (rid, bytes) in rids.into_iter().zip(rows) {
                    assert!(model.insert(rid, bytes).is_none(), "{rid} was free");
                }
            }
            3..=4 => self.change_again(txn, model),
            _ => self.change_some(txn, model),
        }
    }

    /// A few rows, in turn, again and again.
    fn change_again(&mut self, txn: &mut Txn, model: &mut RowModel) {
        let rids: Vec<Rid> = model.keys().copied().collect();
        let mut batch = RowBatch::new();
        for _ in 0..if rids.is_empty() { 0 } else { self.rng.usize(2..12) } {
            let rid = rids[self.rng.usize(0..rids.len().min(6))];
            let bytes = altered(&mut self.rng, &model[&rid]);
            assert!(self.heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
            assert_eq!(batch.row(0), model[&rid].as_slice());
            assert_eq!(
                self.heap.update(txn, rid, &batch.header(0), &bytes).unwrap(),
                Outcome::Done(())
            );
            model.insert(rid, bytes);
        }
    }

    fn change_some(&mut self, txn: &mut Txn, model: &mut RowModel) {
        let rids: Vec<Rid> = model.keys().copied().collect();
        if rids.is_empty() {
            return;
        }
        let rng = &mut self.rng;
        let from = rng.usize(0..rids.len());
        let picked: Vec<Rid> = rids[from..].iter().take(rng.usize(1..12)).copied().collect();
        let rows: Vec<Vec<u8>> = picked.iter().map(|_| row(rng)).collect();
        let mut batch = RowBatch::new();
        let mut changes = Vec::new();
        for (&rid, bytes) in picked.iter().zip(&rows) {
            assert!(self.heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
            assert_eq!(batch.row(0), model[&rid].as_slice());
            let change = if rng.u8(0..3) == 0 { Change::Delete } else { Change::Update(bytes) };
            changes.push(HeapChange::new(rid, batch.header(0), change));
        }
        self.heap.apply_batch(txn, &mut changes).unwrap();
        for c in &changes {
            assert_eq!(c.outcome, Outcome::Done(()), "single writer");
            match c.change {
                Change::Delete => model.remove(&c.rid),
                Change::Update(bytes) => model.insert(c.rid, bytes.to_vec()),
            };
        }
    }

    fn clean(&mut self) {
        let oldest =
            self.old.iter().map(|(s, _)| s.xmin()).chain([self.db.oldest()]).min().unwrap();
        self.db.clean(&self.unit, oldest).unwrap();
    }

    fn verify(&self) -> access::CheckReport {
        let report = self.heap.check().unwrap();
        assert!(report.is_clean(), "{:#?}", report.findings);
        report
    }

    /// Returns the largest number of forwarded rows seen.
    fn run(&mut self, steps: usize) -> u64 {
        let mut forwarded = 0;
        for step in 0..steps {
            let mut txn = self.db.begin();
            let mut model = self.committed.clone();
            for _ in 0..self.rng.usize(1..8) {
                self.change(&mut txn, &mut model);
                if self.rng.u8(0..5) == 0 {
                    let (savepoint, kept) = (txn.savepoint(), model.clone());
                    self.change(&mut txn, &mut model);
                    self.change(&mut txn, &mut model);
                    txn.rollback_to(savepoint).unwrap();
                    model = kept;
                }
            }
            if self.rng.bool() {
                let (others, own) = (self.db.snapshot(TxnId(0)), self.db.snapshot(txn.txn()));
                assert_eq!(read_all(&self.heap, others.mode()), self.committed);
                assert_eq!(read_all(&self.heap, own.mode()), model);
                assert_eq!(read_all(&self.heap, ReadMode::Dirty), model);
            }
            if self.rng.u8(0..3) == 0 {
                txn.rollback().unwrap();
            } else {
                txn.commit().unwrap();
                self.committed = model;
            }
            if self.rng.u8(0..4) == 0 {
                self.old.push((self.db.snapshot(TxnId(0)), self.committed.clone()));
            }
            if self.old.len() > 3 {
                let at = self.rng.usize(0..self.old.len());
                self.old.swap_remove(at);
            }
            for (snapshot, model) in &self.old {
                assert_eq!(&read_all(&self.heap, snapshot.mode()), model);
            }
            if self.rng.u8(0..3) == 0 {
                self.clean();
            }
            if step % 5 == 0 {
                forwarded = forwarded.max(self.verify().forwarded);
            }
        }
        self.old.clear();
        self.clean();
        let report = self.verify();
        assert_eq!(report.rows, self.committed.len() as u64);
        let now = self.db.snapshot(TxnId(0));
        assert_eq!(read_all(&self.heap, now.mode()), self.committed);
        forwarded.max(report.forwarded)
    }
}

#[test]
fn model_with_rollback_and_snapshots() {
    let mut forwarded = 0;
    for seed in 0..6 {
        forwarded += HeapWorld::new(seed, 8 << 20).run(60);
    }
    assert!(forwarded > 20, "rows are forwarded: {forwarded}");
}

#[test]
fn model_in_a_tiny_pool() {
    HeapWorld::new(77, 32 * 8192).run(60);
}

#[test]
fn freed_space_is_used_again() {
    let mut world = HeapWorld::new(5, 8 << 20);
    let rows: Vec<Vec<u8>> = (0..3000).map(|i| vec![i as u8; 200]).collect();
    let refs: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
    let mut pages = 0;
    for round in 0..4 {
        let mut txn = world.db.begin();
        let mut rids = Vec::new();
        world.heap.insert_batch(&mut txn, &refs, &mut rids).unwrap();
        if round == 1 {
            txn.rollback().unwrap();
            world.clean();
            assert_eq!(world.verify().rows, 0);
            continue;
        }
        txn.commit().unwrap();
        let mut batch = RowBatch::new();
        let mut txn = world.db.begin();
        let mut scan = world.heap.scan().unwrap();
        while scan.next_batch(ReadMode::Current, &mut batch).unwrap() {
            let live = (0..batch.len()).filter(|&i| !batch.is_ghost(i));
            let mut changes: Vec<_> = live
                .map(|i| HeapChange::new(batch.rid(i), batch.header(i), Change::Delete))
                .collect();
            world.heap.apply_batch(&mut txn, &mut changes).unwrap();
        }
        txn.commit().unwrap();
        world.clean();
        let report = world.verify();
        assert_eq!((report.rows, report.ghosts), (0, 0));
        pages = if round == 0 { report.pages } else { pages };
        assert!(report.pages <= pages + 2, "round {round}: {} pages after {pages}", report.pages);
    }
}

/// An insertion point remembers where a page's slots are full: not for longer than they are.
#[test]
fn slots_of_rows_that_have_gone_are_used_again() {
    let mut world = HeapWorld::new(6, 4 << 20);
    let put = |world: &HeapWorld, count: u8| -> Vec<Rid> {
        let mut txn = world.db.begin();
        let rids = (0..count).map(|i| world.heap.insert(&mut txn, &[i; 30]).unwrap()).collect();
        txn.commit().unwrap();
        rids
    };
    let first = put(&world, 60);
    assert!(first.windows(2).all(|two| two[0].page == two[1].page && two[0].slot < two[1].slot));
    let mut batch = RowBatch::new();
    // In the middle, then at the end.
    for gone in [&first[20..30], &first[50..]] {
        let mut txn = world.db.begin();
        for rid in gone {
            assert!(world.heap.fetch(*rid, ReadMode::Current, &mut batch).unwrap());
            assert_eq!(
                world.heap.delete(&mut txn, *rid, &batch.header(0)).unwrap(),
                Outcome::Done(())
            );
        }
        txn.commit().unwrap();
        world.clean();
        assert_eq!(put(&world, 10), gone);
    }
    let mut txn = world.db.begin();
    let last = world.heap.insert(&mut txn, &[1; 30]).unwrap();
    txn.rollback().unwrap();
    world.clean();
    assert_eq!(put(&world, 2)[0], last);
}

#[test]
fn writers_meet_each_other() {
    let db = Db::sim(3, 4 << 20);
    let heap = Heap::new(db.store.clone(), db.unit(5));
    let mut a = db.begin();
    let rid = heap.insert(&mut a, b"first row").unwrap();
    let mut batch = RowBatch::new();
    assert!(!heap.fetch(rid, db.snapshot(TxnId(0)).mode(), &mut batch).unwrap());
    assert!(heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
    let header = batch.header(0);
    let mut b = db.begin();
    assert_eq!(heap.delete(&mut b, rid, &header).unwrap(), Outcome::Wait(a.id()));
    a.commit().unwrap();
    let before = db.snapshot(TxnId(0));
    assert_eq!(heap.update(&mut b, rid, &header, b"second row").unwrap(), Outcome::Done(()));
    assert_eq!(heap.delete(&mut b, rid, &header).unwrap(), Outcome::Changed);
    assert!(heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
    assert_eq!(heap.delete(&mut b, rid, &batch.header(0)).unwrap(), Outcome::Done(()));
    assert_eq!(heap.delete(&mut b, rid, &header).unwrap(), Outcome::Missing);
    assert!(heap.fetch(rid, before.mode(), &mut batch).unwrap());
    assert_eq!(batch.row(0), b"first row");
    b.commit().unwrap();
    let mut c = db.begin();
    let short = heap.insert(&mut c, b"abc").unwrap();
    assert!(heap.fetch(short, ReadMode::Current, &mut batch).unwrap());
    assert_eq!(batch.row(0), b"abc\0\0\0\0\0", "short rows are padded");
    assert!(heap.insert(&mut c, &vec![0; access::MAX_ROW_LEN + 1]).is_err());
    let nowhere = Rid { page: rid.page, slot: 999 };
    assert_eq!(heap.delete(&mut c, nowhere, &header).unwrap(), Outcome::Missing);
}

#[test]
fn large_values() {
    let db = Db::sim(8, 2 << 20);
    let unit = db.unit(9);
    let space = LobSpace::new(db.store.clone(), unit.clone());
    let list = DiscardedValues::new(BTree::create(db.store.clone(), db.unit(10)).unwrap());
    let mut rng = fastrand::Rng::with_seed(4);
    let mut kept: Vec<(LobPointer, Vec<u8>)> = Vec::new();
    for round in 0..40 {
        let mut txn = db.begin();
        let len = [0, 1, 7_999, 8_000, 8_001, 48_000, 48_001, 300_000, 3_000_000][rng.usize(0..9)];
        let bytes: Vec<u8> = (0..len).map(|i| (i / 97 + round) as u8).collect();
        let pointer = space.write(&mut txn, &bytes).unwrap();
        assert_eq!(LobPointer::from_bytes(&pointer.to_bytes()).unwrap(), pointer);
        let mut out = Vec::new();
        space.read(pointer, &mut out).unwrap();
        assert!(out == bytes);
        let (from, n) = (rng.usize(0..=len + 10), rng.usize(0..20_000));
        out.clear();
        space.read_range(pointer, from as u64, n as u64, &mut out).unwrap();
        assert!(out == bytes[from.min(len)..(from + n).min(len)]);
        if rng.u8(0..3) == 0 {
            txn.rollback().unwrap();
            assert!(len == 0 || space.read(pointer, &mut out).is_err(), "rolled back");
        } else {
            txn.commit().unwrap();
            kept.push((pointer, bytes));
        }
        if rng.u8(0..3) == 0 && !kept.is_empty() {
            let (gone, _) = kept.swap_remove(rng.usize(0..kept.len()));
            let mut txn = db.begin();
            list.add(&mut txn, &space, gone).unwrap();
            txn.commit().unwrap();
            let mut entries = Vec::new();
            assert_eq!(
                list.scan().next(&mut entries).unwrap(),
                gone.len > 0,
                "an empty value has no pages"
            );
            for entry in &entries {
                assert_eq!(list.free(entry, Some(unit.clone())).unwrap(), gone.pages());
                assert!(list.free(entry, Some(unit.clone())).is_err(), "it is off the list");
            }
            assert!(!list.scan().next(&mut entries).unwrap());
        }
    }
    let mut values: Vec<LobPointer> = kept.iter().map(|k| k.0).collect();
    let report = space.check(&values, &[]).unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    // What no row names and no list has is told.
    values.sort_by_key(|v| std::cmp::Reverse(v.len));
    assert!(!space.check(&values[1..], &[]).unwrap().is_clean());
    assert!(space.check(&values[1..], &values[..1]).unwrap().is_clean());
    for (pointer, bytes) in &kept {
        let mut out = Vec::new();
        space.read(*pointer, &mut out).unwrap();
        assert!(&out == bytes);
    }
    assert!(LobPointer::from_bytes(b"too short").is_err());
}

/// What deletes, rollbacks and forwarded rows leave: no pages. Rows that come after that are read
/// as ever.
#[test]
fn an_emptied_heap_has_no_pages() {
    for seed in 0..6 {
        let mut world = HeapWorld::new(seed, 2 << 20);
        for round in 0..3 {
            let mut txn = world.db.begin();
            let mut rids = Vec::new();
            for n in 0..1500u32 {
                let bytes = vec![n as u8; world.rng.usize(20..300)];
                rids.push(world.heap.insert(&mut txn, &bytes).unwrap());
            }
            if round == 1 {
                txn.rollback().unwrap();
            } else {
                txn.commit().unwrap();
                // Some rows outgrow their pages.
                let mut batch = RowBatch::new();
                for part in rids.chunks(300) {
                    let mut txn = world.db.begin();
                    for &rid in part {
                        assert!(world.heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
                        let header = batch.header(0);
                        let done = match world.rng.u8(0..4) {
                            0 => world.heap.update(&mut txn, rid, &header, &[7; 2000]).unwrap(),
                            _ => Outcome::Done(()),
                        };
                        assert_eq!(done, Outcome::Done(()));
                        assert!(world.heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
                        let header = batch.header(0);
                        assert_eq!(
                            world.heap.delete(&mut txn, rid, &header).unwrap(),
                            Outcome::Done(())
                        );
                    }
                    txn.commit().unwrap();
                    world.clean();
                    world.verify();
                }
            }
            world.clean();
            world.clean();
            let report = world.verify();
            assert_eq!(
                (report.rows, report.ghosts, report.pages),
                (0, 0, 0),
                "seed {seed}, round {round}"
            );
            assert_eq!(world.unit.extent_count(), 1);
            for rid in rids {
                assert!(!world.heap.fetch(rid, ReadMode::Current, &mut RowBatch::new()).unwrap());
            }
        }
    }
}

/// A row identifier and an insertion point that outlive their page, its extent, and the part of the
/// file that it lay in.
#[test]
fn pages_that_were_cut_off_are_gone_for_who_remembers_them() {
    let world = HeapWorld::new(1, 2 << 20);
    let fill = || {
        let mut txn = world.db.begin();
        let rids: Vec<Rid> =
            (0..400).map(|n| world.heap.insert(&mut txn, &[n as u8; 4000]).unwrap()).collect();
        txn.commit().unwrap();
        rids
    };
    let rids = fill();
    let mut scan = world.heap.scan().unwrap();
    let mut batch = RowBatch::new();
    let mut txn = world.db.begin();
    for &rid in &rids {
        assert!(world.heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
        let header = batch.header(0);
        assert_eq!(world.heap.delete(&mut txn, rid, &header).unwrap(), Outcome::Done(()));
    }
    txn.commit().unwrap();
    world.db.clean(&world.unit, world.db.oldest()).unwrap();
    let store = &world.db.store;
    let size = store.files()[0].pages;
    let to = store.begin_cut(1, 0).unwrap().expect("the file's end is free");
    world.db.checkpoint().unwrap();
    assert!(store.end_cut(1, to).unwrap());
    let old = |rid: &Rid| world.heap.fetch(*rid, ReadMode::Current, &mut RowBatch::new()).unwrap();
    assert!(!rids.iter().any(old), "beyond the end");
    store.grow_file(1, u64::from(size) * 8192).unwrap();
    assert!(!rids.iter().any(old), "never written since");
    assert!(!scan.next_batch(ReadMode::Current, &mut batch).unwrap());
    let rids = fill();
    assert!(
        rids.iter()
            .all(|rid| world.heap.fetch(*rid, ReadMode::Current, &mut RowBatch::new()).unwrap())
    );
    assert!(world.heap.check().unwrap().is_clean());
}

//! An index alone. Its root moves: crashes before the old one is gone, ghosts that are left to
//! clean, definitions of before. Its nodes move and their file goes: scans that have read ahead,
//! ghosts that wait for their cleaning.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use crate::support::chain::options;
use crate::support::{create, env, open};
use access::{BTree, Direction, Outcome, ReadMode, RowBatch};
use pages::{PFS_ALLOCATED, PageId, UnitId};
use ringwood_txn::check::CheckUnit;
use ringwood_txn::{Database, DbState, Durability, TxnError};
use sim::SimDisk;

/// So few that what has gone is not in memory either.
const FRAMES: u64 = 100;
/// Bytes in front of the number in long keys.
const LONG: usize = 700;

/// One index, with keys so long that few entries make it high, or so short that a parent has many
/// leaves.
struct Rig {
    pad: usize,
    disk: SimDisk,
    db: Arc<Database>,
    iam: PageId,
    tree: BTree,
    keys: BTreeSet<u32>,
}

impl Rig {
    fn new(seed: u64, keys: u32) -> Rig {
        Rig::with_keys(seed, keys, LONG)
    }

    fn with_keys(seed: u64, keys: u32, pad: usize) -> Rig {
        let disk = SimDisk::new(seed);
        let db = create(env(Arc::new(disk.clone()), FRAMES, false), options(), DbState::initial())
            .unwrap();
        // It begins in the first file.
        db.bar_file(2, 0).unwrap();
        let unit = db.create_unit(UnitId(100), 1).unwrap();
        let tree = BTree::create(db.store().clone(), unit.clone()).unwrap();
        db.store().unbar(2);
        unit.note_root(tree.root());
        let mut rig = Rig { pad, disk, db, iam: unit.first_iam(), tree, keys: BTreeSet::new() };
        rig.insert((0..keys).map(|n| n * 10));
        rig
    }

    fn key(&self, n: u32) -> Vec<u8> {
        let mut key = vec![b'k'; self.pad];
        key.extend_from_slice(&n.to_be_bytes());
        key
    }

    fn insert(&mut self, keys: impl Iterator<Item = u32>) {
        let mut txn = self.db.begin(51).unwrap();
        for n in keys {
            assert_eq!(
                self.tree.insert(&mut txn, &self.key(n), &vec![7; LONG + 30 - self.pad]).unwrap(),
                Outcome::Done(())
            );
            self.keys.insert(n);
        }
        txn.commit(Durability::Full).unwrap();
    }

    /// Every key of a third of the index goes: whole leaves with nothing but ghosts.
    fn delete(&mut self) {
        let mut txn = self.db.begin(51).unwrap();
        let mut batch = RowBatch::new();
        let gone: Vec<u32> = self.keys.iter().copied().take(self.keys.len() / 3).collect();
        for n in gone {
            assert!(self.tree.fetch(&self.key(n), ReadMode::Current, &mut batch).unwrap());
            let done = self.tree.delete(&mut txn, &self.key(n), &batch.header(0)).unwrap();
            assert_eq!(done, Outcome::Done(()));
            self.keys.remove(&n);
        }
        txn.commit(Durability::Full).unwrap();
    }

    /// A copy of the root; the index is that one's once the transaction has committed.
    fn copy(&self, commit: bool) -> BTree {
        let mut txn = self.db.begin(51).unwrap();
        let root = self.tree.copy_root(&mut txn).unwrap();
        if commit {
            txn.commit(Durability::Full).unwrap();
        } else {
            txn.rollback().unwrap();
        }
        self.at(root)
    }

    fn at(&self, root: PageId) -> BTree {
        BTree::open(self.db.store().clone(), self.db.open_unit(self.iam).unwrap(), root)
    }

    /// The power goes; the catalog names this root.
    fn restart(&mut self, root: PageId) {
        self.disk = self.disk.crash(3);
        self.db = open(env(Arc::new(self.disk.clone()), FRAMES, false), options()).unwrap();
        self.tree = self.at(root);
    }

    fn level(&self) -> u8 {
        self.db.store().read(self.tree.root()).unwrap().level()
    }

    fn in_use(&self, page: PageId) -> bool {
        self.db.store().pfs_byte(page).unwrap() & PFS_ALLOCATED != 0
    }

    fn check(&self) {
        let mut found = BTreeSet::new();
        let (mut batch, snapshot) = (RowBatch::new(), self.db.snapshot());
        let mut cursor = self.tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        while cursor.next_batch(snapshot.mode(), &mut batch).unwrap() {
            for i in 0..batch.len() {
                let tail: [u8; 4] = batch.key(i)[self.pad..].try_into().unwrap();
                assert!(found.insert(u32::from_be_bytes(tail)));
            }
        }
        drop(snapshot);
        assert!(found == self.keys, "{} keys of {}", found.len(), self.keys.len());
        let unit = self.db.unit(UnitId(100)).unwrap();
        let report = self.db.check(&[CheckUnit::Tree(&self.tree, unit)]).unwrap();
        assert_eq!(report.messages(), Vec::<String>::new());
    }
}

/// How many keys make a root of this level, with room for none more at level 0.
const KEYS: [(u8, u32); 3] = [(0, 10), (1, 60), (2, 220)];

#[test]
fn power_goes_before_the_old_root_does() {
    for (level, keys) in KEYS {
        for commit in [true, false] {
            let mut rig = Rig::new(level.into(), keys);
            assert_eq!(rig.level(), level);
            rig.delete();
            let old = rig.tree.root();
            let copied = rig.copy(commit);
            let new = copied.root();
            assert_eq!((rig.in_use(old), rig.in_use(new)), (true, commit));
            // Others have begun to use it: it may be split, and what never ends is undone through
            // it.
            rig.tree = if commit { copied } else { rig.tree };
            rig.insert((keys / 2..keys).map(|n| n * 10 + 3));
            let root = rig.tree.root();
            let mut txn = rig.db.begin(51).unwrap();
            for n in keys / 2..keys {
                let done = rig.tree.insert(&mut txn, &rig.key(n * 10 + 7), &[9; 30]).unwrap();
                assert_eq!(done, Outcome::Done(()));
            }
            rig.db.log().flush_all().unwrap();
            rig.restart(root);
            drop(txn);
            assert_eq!(rig.tree.root_is_copy().unwrap(), commit);
            rig.tree.settle_root().unwrap();
            rig.db.unit(UnitId(100)).unwrap().note_root(root);
            assert_eq!(rig.in_use(old), !commit, "level {level}");
            // From now on scans tell of the ghosts that they meet.
            rig.db.clean_ghosts().unwrap();
            rig.check();
            assert!(
                rig.db.clean_ghosts().unwrap() > 0,
                "level {level}: the scan has met no ghosts"
            );
            rig.check();
            // Freed once, and that is as durable as anything.
            rig.tree.settle_root().unwrap();
            rig.db.log().flush_all().unwrap();
            rig.restart(root);
            assert!(!rig.tree.root_is_copy().unwrap());
            rig.check();
        }
    }
}

#[test]
fn a_node_in_the_place_of_an_old_root_is_no_copy() {
    for (level, keys) in KEYS {
        let mut rig = Rig::new(20, keys);
        let old = rig.tree.root();
        rig.tree = rig.copy(true);
        rig.tree.settle_root().unwrap();
        rig.db.unit(UnitId(100)).unwrap().note_root(rig.tree.root());
        assert!(!rig.in_use(old));
        let mut more = 100_000;
        while !rig.in_use(old) {
            rig.insert(more..more + 5);
            more += 5;
        }
        let stale = rig.at(old);
        assert!(stale.root_is_copy().unwrap(), "it names the root: that is how a copy looks");
        stale.settle_root().unwrap_err();
        assert!(!rig.tree.root_is_copy().unwrap());
        rig.check();
        rig.insert(more..more + 50);
        rig.check();
        assert!(rig.level() >= level);
    }
}

/// Moves all out of the second file and removes it.
fn drop_file(rig: &Rig) {
    let db = &rig.db;
    db.bar_file(2, 0).unwrap();
    assert!(db.move_nodes::<TxnError>(&rig.tree, 2, false, &mut || Ok(())).unwrap());
    assert_eq!(db.release_barred(UnitId(100), 2).unwrap(), 0);
    let _files = db.hold_files().unwrap();
    assert!(db.remove_file(2).unwrap());
}

#[test]
fn a_scan_goes_on_when_its_file_has_gone() {
    let mut rig = Rig::with_keys(30, 2500, 8);
    // What the scan reads ahead is not in memory.
    rig.restart(rig.tree.root());
    let mut batch = RowBatch::new();
    let snapshot = rig.db.snapshot();
    let mut cursor = rig.tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let mut seen = 0;
    while seen < 30 {
        assert!(cursor.next_batch(snapshot.mode(), &mut batch).unwrap());
        seen += batch.len();
    }
    drop_file(&rig);
    while cursor.next_batch(snapshot.mode(), &mut batch).unwrap() {
        seen += batch.len();
    }
    assert_eq!(seen, rig.keys.len());
    drop(snapshot);
    rig.check();
}

#[test]
fn ghosts_of_a_file_that_has_gone_hold_up_no_others() {
    let mut rig = Rig::new(31, 1200);
    rig.delete();
    assert!(rig.db.ghosts().counts().queued > 20);
    let deleted = 1200 - rig.keys.len() as u64;
    drop_file(&rig);
    let removed = rig.db.clean_ghosts().unwrap();
    // Scans meet those that have moved.
    rig.check();
    assert_eq!(removed + rig.db.clean_ghosts().unwrap(), deleted);
    rig.check();
}

//! Rollbacks when there is no space: rows that have to be long again find their pages filled by
//! others, and the filegroup is full, by MAXSIZE or because the disk is. The rollback goes through;
//! what was kept for it is nobody else's.

use std::sync::Arc;

use crate::support::txn::check::CheckUnit;
use crate::support::txn::{CreateSpec, Database, DbState, Durability, Status, Txn, TxnError};
use crate::support::{LOG, PRIMARY, env, log_options, open};
use access::{BTree, Heap, Outcome, ReadMode, Rid, RowBatch};
use disk::Disk;
use pages::{FileGrowth, FileSpec, PageId, UnitId};
use sim::SimDisk;
use wal::Growth;

const LONG: usize = 700;

fn create(disk: &SimDisk, size: u64, max_size: Option<u64>, growth: FileGrowth) -> Arc<Database> {
    disk.create_dir_all(std::path::Path::new("db")).unwrap();
    let file = FileSpec {
        id: 1,
        name: "test".into(),
        path: PRIMARY.into(),
        filegroup: 1,
        size,
        growth,
        max_size,
    };
    let spec = CreateSpec {
        guid: [7; 16],
        files: vec![file],
        log_path: LOG.into(),
        log: log_options(16 << 20, Growth::Bytes(1 << 20), false),
        settings: DbState::initial(),
    };
    Database::create(env(Arc::new(disk.clone()), 600, false), spec).unwrap()
}

/// The same rows in a tree and a heap.
struct Table {
    tree: BTree,
    heap: Heap,
    rids: Vec<Rid>,
}

fn payload(key: u64, len: usize) -> Vec<u8> {
    let mut row = key.to_be_bytes().to_vec();
    row.resize(len, key as u8);
    row
}

impl Table {
    fn create(db: &Arc<Database>, rows: u64) -> Table {
        let unit = db.create_unit(UnitId(100), 1).unwrap();
        let tree = BTree::create(db.store().clone(), unit).unwrap();
        let heap = Heap::new(db.store().clone(), db.create_unit(UnitId(101), 1).unwrap());
        let mut meta = tree_iam(db, 100).to_bytes().to_vec();
        meta.extend_from_slice(&tree.root().to_bytes());
        meta.extend_from_slice(&tree_iam(db, 101).to_bytes());
        db.change_settings(|s| s.meta = meta).unwrap();
        let mut t = db.begin(1).unwrap();
        let mut rids = Vec::new();
        for key in 0..rows {
            let row = payload(key, LONG);
            assert_eq!(
                tree.insert(&mut t, &(key * 1000).to_be_bytes(), &row).unwrap(),
                Outcome::Done(())
            );
            rids.push(heap.insert(&mut t, &row).unwrap());
        }
        t.commit(Durability::Full).unwrap();
        Table { tree, heap, rids }
    }

    fn reopen(db: &Arc<Database>, rids: Vec<Rid>) -> Table {
        let meta = db.settings().meta.clone();
        let page = |i: usize| PageId::from_bytes(meta[i * 6..i * 6 + 6].try_into().unwrap());
        let store = db.store().clone();
        let tree = BTree::open(store.clone(), db.open_unit(page(0)).unwrap(), page(1));
        Table { tree, heap: Heap::new(store, db.open_unit(page(2)).unwrap()), rids }
    }

    /// Every row becomes short, every second one by way of another long one.
    fn shrink(&self, t: &mut Txn) {
        for (len, every) in [(LONG, 2), (12, 1)] {
            self.change(t, len, every);
        }
    }

    fn change(&self, t: &mut Txn, len: usize, every: usize) {
        let mut batch = RowBatch::new();
        for key in (0..self.rids.len() as u64).step_by(every) {
            let (mut row, k) = (payload(key, len), (key * 1000).to_be_bytes());
            row[8..].fill(!(key as u8));
            assert!(self.tree.fetch(&k, ReadMode::Current, &mut batch).unwrap());
            let header = batch.header(0);
            assert_eq!(self.tree.update(t, &k, &header, &row).unwrap(), Outcome::Done(()));
            let rid = self.rids[key as usize];
            assert!(self.heap.fetch(rid, ReadMode::Current, &mut batch).unwrap());
            let header = batch.header(0);
            assert_eq!(self.heap.update(t, rid, &header, &row).unwrap(), Outcome::Done(()));
        }
    }

    /// Other rows until there is no room for another one anywhere.
    fn fill(&self, db: &Arc<Database>) {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut next = || (rng.u64(0..self.rids.len() as u64 * 1000) | 1).to_be_bytes();
        let (mut tree, mut heap, mut count) = (true, true, 0);
        while tree || heap {
            let mut t = db.begin(2).unwrap();
            let row = vec![7; if count < 10 * self.rids.len() { 300 } else { 40 }];
            let done = if tree && (count % 2 == 0 || !heap) {
                self.tree.insert(&mut t, &next(), &row).map(drop)
            } else {
                self.heap.insert(&mut t, &row).map(drop)
            };
            match done.map_err(TxnError::from) {
                Ok(()) => drop(t.commit(Durability::Delayed).map(drop)),
                Err(e) => {
                    assert_eq!(e.number(), 1105, "{e}");
                    t.rollback().unwrap();
                    if tree && (count % 2 == 0 || !heap) { tree = false } else { heap = false }
                }
            }
            count += 1;
        }
    }

    fn check(&self, db: &Arc<Database>) {
        let mut batch = RowBatch::new();
        for key in 0..self.rids.len() as u64 {
            let row = payload(key, LONG);
            let k = (key * 1000).to_be_bytes();
            assert!(self.tree.fetch(&k, ReadMode::Current, &mut batch).unwrap());
            assert!(batch.row(0) == row, "row {key} of the tree");
            assert!(
                self.heap.fetch(self.rids[key as usize], ReadMode::Current, &mut batch).unwrap()
            );
            assert!(batch.row(0) == row, "row {key} of the heap");
        }
        let unit = |id| db.unit(UnitId(id)).unwrap();
        let units =
            [CheckUnit::Tree(&self.tree, unit(100)), CheckUnit::Heap(&self.heap, unit(101))];
        assert_eq!(db.check(&units).unwrap().messages(), Vec::<String>::new());
    }
}

fn tree_iam(db: &Arc<Database>, id: u32) -> PageId {
    db.unit(UnitId(id)).unwrap().first_iam()
}

fn pages(db: &Arc<Database>) -> u32 {
    db.store().files()[0].pages
}

#[test]
fn a_rollback_goes_beyond_the_limits_of_the_files() {
    for (size, growth) in [(8, FileGrowth::None), (3, FileGrowth::Bytes(256 << 10))] {
        let disk = SimDisk::new(1);
        let db = create(&disk, size << 20, Some(8 << 20), growth);
        // Far more than what is kept in the file.
        let table = Table::create(&db, 2500);
        let mut t = db.begin(1).unwrap();
        table.shrink(&mut t);
        table.fill(&db);
        let full = pages(&db);
        t.rollback().unwrap();
        assert_eq!(db.status(), Status::Online);
        table.check(&db);
        assert!(pages(&db) > full, "nothing had to be added: the test proves nothing");
        // Nobody else goes beyond them.
        let big = vec![1; 7000];
        let mut t = db.begin(1).unwrap();
        let e = loop {
            if let Err(e) = table.heap.insert(&mut t, &big) {
                break TxnError::from(e);
            }
        };
        assert_eq!(e.number(), 1105);
        t.rollback().unwrap();
        table.check(&db);
    }
}

#[test]
fn a_full_disk_leaves_room_for_rollbacks() {
    let disk = SimDisk::new(2);
    let db = create(&disk, 3 << 20, None, FileGrowth::Bytes(1 << 20));
    let table = Table::create(&db, 300);
    let mut t = db.begin(1).unwrap();
    table.shrink(&mut t);
    // Two more steps, then the disk is full.
    disk.set_capacity(disk_size(&db) + (2 << 20));
    table.fill(&db);
    let full = pages(&db);
    t.rollback().unwrap();
    assert_eq!(db.status(), Status::Online);
    assert_eq!(pages(&db), full, "the disk had no room");
    table.check(&db);
    // What was kept is everybody's again.
    let mut t = db.begin(1).unwrap();
    table.heap.insert(&mut t, &vec![1; 7000]).unwrap();
    t.commit(Durability::Full).unwrap();
}

fn disk_size(db: &Arc<Database>) -> u64 {
    let files: u64 = db.store().files().iter().map(|f| f.file.len().unwrap()).sum();
    files + db.log().space().size
}

/// Half of the space is in a file that is being emptied: shut for everybody else, and the last
/// resort of a rollback.
#[test]
fn a_rollback_opens_a_file_that_is_being_emptied() {
    for (seed, before) in [(3, false), (4, true)] {
        let disk = SimDisk::new(seed);
        let db = create(&disk, 4 << 20, Some(4 << 20), FileGrowth::None);
        let second = || {
            let spec = FileSpec {
                id: 2,
                name: "second".into(),
                path: "db/second.ndf".into(),
                filegroup: 1,
                size: 4 << 20,
                growth: FileGrowth::None,
                max_size: None,
            };
            let _held = db.hold_files().unwrap();
            db.add_file(&spec).unwrap();
        };
        if before {
            second();
        }
        let table = Table::create(&db, 1200);
        if !before {
            second();
        }
        let mut t = db.begin(1).unwrap();
        table.shrink(&mut t);
        db.bar_file(2, 0).unwrap();
        table.fill(&db);
        assert_eq!(db.store().bar_of(2), Some(0), "nobody else has opened it");
        disk.set_capacity(disk_size(&db));
        t.rollback().unwrap();
        assert_eq!(db.status(), Status::Online);
        assert_eq!(db.store().bar_of(2), None, "nothing had to be added: the test proves nothing");
        table.check(&db);
    }
}

/// The same when the rollback is a restart's, and crashes itself.
#[test]
fn a_restart_rolls_back_in_a_full_filegroup() {
    for seed in 0..12 {
        let disk = SimDisk::new(seed);
        let db = create(&disk, 4 << 20, Some(4 << 20), FileGrowth::None);
        let table = Table::create(&db, 300);
        let mut t = db.begin(1).unwrap();
        table.shrink(&mut t);
        table.fill(&db);
        if seed % 2 == 0 {
            db.checkpoint().unwrap();
        }
        db.flush_log().unwrap();
        let rids = table.rids.clone();
        disk.crash_at(disk.io_count() + 1);
        drop((t, table, db));
        let disk = disk.crash(seed);
        let again = || {
            open(
                env(Arc::new(disk.clone()), 600, false),
                log_options(16 << 20, Growth::Bytes(1 << 20), false),
            )
        };
        disk.crash_at(3 + seed * 2);
        let died = again().is_err();
        let disk = disk.crash(seed + 1);
        let db = open(
            env(Arc::new(disk.clone()), 600, false),
            log_options(16 << 20, Growth::Bytes(1 << 20), false),
        )
        .unwrap();
        assert!(died || seed > 0);
        Table::reopen(&db, rids).check(&db);
    }
}

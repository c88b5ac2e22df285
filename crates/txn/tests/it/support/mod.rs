//! A small database for tests: one heap and two B+trees that hold the same rows, on any disk.
#![allow(dead_code)] // each test uses its part

pub mod chain;
pub mod explorer;
pub mod panic_disk;
pub mod several;

pub use ringwood_txn as txn;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use access::{BTree, Direction, Heap, Outcome, ReadMode, Rid, RowBatch};
use disk::Disk;
use pages::{BufferPool, FileGrowth, FileSpec, PageId, PoolOptions, TxnId, UnitId};
use txn::{BackgroundPace, CreateSpec, Database, DbState, Env, LockManager, Txn, TxnError};
use wal::{Growth, LogOptions};

pub const PRIMARY: &str = "db/test.mdf";
pub const LOG: &str = "db/test_log.ldf";
const PREFIX: usize = 8;

/// Rows by id.
pub type Model = BTreeMap<u64, Vec<u8>>;

pub fn env(disk: Arc<dyn Disk>, frames: u64, background: bool) -> Env {
    let pool =
        BufferPool::new(PoolOptions { bytes: frames * 8192, ..PoolOptions::default() }).unwrap();
    let pace = BackgroundPace { background, ..BackgroundPace::default() };
    Env {
        disk,
        pool: Arc::new(pool),
        locks: LockManager::new(),
        db: 5,
        pace,
        home: Default::default(),
        scratch: false,
        outcomes: Arc::default(),
    }
}

pub fn log_options(size: u64, growth: Growth, background: bool) -> LogOptions {
    LogOptions {
        initial_size: size,
        growth,
        background_writer: background,
        cache_bytes: 1 << 20,
        ..LogOptions::default()
    }
}

pub fn create(env: Env, log: LogOptions, settings: DbState) -> Result<Arc<Database>, TxnError> {
    env.disk.create_dir_all(Path::new("db"))?;
    let file = |id: u16, name: &str| FileSpec {
        id,
        name: name.into(),
        path: format!("db/{name}").into(),
        filegroup: 1,
        size: 4 << 20,
        growth: FileGrowth::Bytes(1 << 20),
        max_size: None,
    };
    let spec = CreateSpec {
        guid: [7; 16],
        files: vec![file(1, "test.mdf"), file(2, "test2.ndf")],
        log_path: LOG.into(),
        log,
        settings,
    };
    Database::create(env, spec)
}

pub fn open(env: Env, log: LogOptions) -> Result<Arc<Database>, TxnError> {
    Database::open(env, Path::new(PRIMARY), Path::new(LOG), log, &mut |_, _| {})
}

/// Header, place, payload, and whether it is a ghost.
type FoundRow = (pages::RowHeader, Rid, Vec<u8>, bool);

/// One table: a heap, an index by id (value: RID and payload), an index by the payload's first
/// bytes and id.
#[derive(Clone)]
pub struct Table {
    pub heap: Heap,
    pub by_id: BTree,
    pub by_text: BTree,
}

/// What an attempt came to.
#[derive(Debug, PartialEq, Eq)]
pub enum TriedChange {
    Done,
    Wait(TxnId),
    Missing,
    Duplicate,
}

fn text_key(id: u64, payload: &[u8]) -> Vec<u8> {
    let mut k = payload[..payload.len().min(PREFIX)].to_vec();
    k.resize(PREFIX, 0);
    k.extend_from_slice(&id.to_be_bytes());
    k
}

fn heap_row(id: u64, payload: &[u8]) -> Vec<u8> {
    let mut row = id.to_be_bytes().to_vec();
    row.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    row.extend_from_slice(payload);
    row
}

fn split_row(row: &[u8]) -> Option<(u64, &[u8])> {
    let (id, rest) = row.split_first_chunk::<8>()?;
    let (len, rest) = rest.split_first_chunk::<4>()?;
    Some((u64::from_be_bytes(*id), rest.get(..u32::from_be_bytes(*len) as usize)?))
}

impl Table {
    /// Makes the three structures and notes them in the database's meta bytes.
    pub fn create(db: &Arc<Database>) -> Result<Table, TxnError> {
        let mut meta = Vec::new();
        let heap_unit = db.create_unit(UnitId(100), 1)?;
        meta.extend_from_slice(&heap_unit.first_iam().to_bytes());
        for id in [101, 102] {
            let unit = db.create_unit(UnitId(id), 1)?;
            let tree = BTree::create(db.store().clone(), unit.clone())?;
            meta.extend_from_slice(&unit.first_iam().to_bytes());
            meta.extend_from_slice(&tree.root().to_bytes());
        }
        db.change_settings(|s| s.meta = meta)?;
        Self::open(db)
    }

    pub fn open(db: &Arc<Database>) -> Result<Table, TxnError> {
        let meta = db.settings().meta.clone();
        let page = |i: usize| PageId::from_bytes(meta[i * 6..i * 6 + 6].try_into().unwrap());
        let store = db.store().clone();
        let heap = Heap::new(store.clone(), db.open_unit(page(0))?);
        let by_id = BTree::open(store.clone(), db.open_unit(page(1))?, page(2));
        let by_text = BTree::open(store.clone(), db.open_unit(page(3))?, page(4));
        Ok(Table { heap, by_id, by_text })
    }

    pub fn insert(&self, t: &mut Txn, id: u64, payload: &[u8]) -> Result<TriedChange, TxnError> {
        let mark = t.mark();
        let rid = self.heap.insert(t, &heap_row(id, payload))?;
        let mut value = rid.to_bytes().to_vec();
        value.extend_from_slice(payload);
        let tried = match self.by_id.insert(t, &id.to_be_bytes(), &value)? {
            Outcome::Done(()) => TriedChange::Done,
            Outcome::Wait(other) => TriedChange::Wait(other),
            Outcome::Duplicate => TriedChange::Duplicate,
            o => panic!("insert gave {o:?}"),
        };
        if tried != TriedChange::Done {
            // The statement failed: its first half goes back.
            t.rollback_to(&mark)?;
            return Ok(tried);
        }
        let o = self.by_text.insert(t, &text_key(id, payload), &[])?;
        assert_eq!(o, Outcome::Done(()), "second index of row {id}");
        Ok(tried)
    }

    /// The row's place and payload in its newest version, if it is not a ghost or its ghost is
    /// fresh.
    fn find(&self, id: u64) -> Result<Option<FoundRow>, TxnError> {
        let mut batch = RowBatch::new();
        if !self.by_id.fetch(&id.to_be_bytes(), ReadMode::Current, &mut batch)? {
            return Ok(None);
        }
        let (rid, payload) = batch.row(0).split_first_chunk::<8>().expect("index row has a RID");
        Ok(Some((batch.header(0), Rid::from_bytes(*rid), payload.to_vec(), batch.is_ghost(0))))
    }

    pub fn update(&self, t: &mut Txn, id: u64, payload: &[u8]) -> Result<TriedChange, TxnError> {
        self.update_seen(t, id, None, payload)
    }

    /// Updates if the row still has the payload `seen`; `Missing` if not.
    pub fn update_if(
        &self,
        t: &mut Txn,
        id: u64,
        seen: &[u8],
        payload: &[u8],
    ) -> Result<TriedChange, TxnError> {
        self.update_seen(t, id, Some(seen), payload)
    }

    fn update_seen(
        &self,
        t: &mut Txn,
        id: u64,
        seen: Option<&[u8]>,
        payload: &[u8],
    ) -> Result<TriedChange, TxnError> {
        let Some((header, rid, old, ghost)) = self.find(id)? else {
            return Ok(TriedChange::Missing);
        };
        if seen.is_some_and(|s| s != old) {
            return Ok(TriedChange::Missing);
        }
        let mut value = rid.to_bytes().to_vec();
        value.extend_from_slice(payload);
        match self.by_id.update(t, &id.to_be_bytes(), &header, &value)? {
            Outcome::Done(()) => {}
            Outcome::Wait(other) => return Ok(TriedChange::Wait(other)),
            Outcome::Missing if ghost => return Ok(TriedChange::Missing),
            Outcome::Changed => return Ok(TriedChange::Missing), // another session was faster
            o => panic!("update gave {o:?}"),
        }
        let mut batch = RowBatch::new();
        assert!(
            self.heap.fetch(rid, ReadMode::Current, &mut batch)?,
            "row {id} is not in the heap at {rid}"
        );
        let o = self.heap.update(t, rid, &batch.header(0), &heap_row(id, payload))?;
        assert_eq!(o, Outcome::Done(()), "heap row {id} at {rid}");
        let (k1, k2) = (text_key(id, &old), text_key(id, payload));
        if k1 != k2 {
            self.delete_text(t, &k1)?;
            assert_eq!(self.by_text.insert(t, &k2, &[])?, Outcome::Done(()));
        }
        Ok(TriedChange::Done)
    }

    fn delete_text(&self, t: &mut Txn, key: &[u8]) -> Result<(), TxnError> {
        let mut batch = RowBatch::new();
        assert!(
            self.by_text.fetch(key, ReadMode::Current, &mut batch)?,
            "second index has no {key:?}"
        );
        assert_eq!(self.by_text.delete(t, key, &batch.header(0))?, Outcome::Done(()));
        Ok(())
    }

    pub fn delete(&self, t: &mut Txn, id: u64) -> Result<TriedChange, TxnError> {
        let Some((header, rid, old, ghost)) = self.find(id)? else {
            return Ok(TriedChange::Missing);
        };
        match self.by_id.delete(t, &id.to_be_bytes(), &header)? {
            Outcome::Done(()) => {}
            Outcome::Wait(other) => return Ok(TriedChange::Wait(other)),
            Outcome::Missing if ghost => return Ok(TriedChange::Missing),
            o => panic!("delete gave {o:?}"),
        }
        let mut batch = RowBatch::new();
        assert!(
            self.heap.fetch(rid, ReadMode::Current, &mut batch)?,
            "row {id} is not in the heap at {rid}"
        );
        let o = self.heap.delete(t, rid, &batch.header(0))?;
        assert_eq!(o, Outcome::Done(()), "heap row {id} at {rid}");
        self.delete_text(t, &text_key(id, &old))?;
        Ok(TriedChange::Done)
    }

    pub fn get(&self, id: u64, mode: ReadMode<'_>) -> Result<Option<Vec<u8>>, TxnError> {
        let mut batch = RowBatch::new();
        let found = self.by_id.fetch(&id.to_be_bytes(), mode, &mut batch)?;
        Ok(found.then(|| batch.row(0)[8..].to_vec()))
    }

    /// All rows as the reader sees them; an error text when the three structures disagree.
    pub fn read_all(&self, mode: ReadMode<'_>) -> Result<Result<Model, String>, TxnError> {
        let mut batch = RowBatch::new();
        let mut heap = Model::new();
        let mut scan = self.heap.scan()?;
        while scan.next_batch(mode, &mut batch)? {
            for i in 0..batch.len() {
                let Some((id, payload)) = split_row(batch.row(i)) else {
                    return Ok(Err("heap row is damaged".into()));
                };
                if heap.insert(id, payload.to_vec()).is_some() {
                    return Ok(Err(format!("heap returns row {id} twice")));
                }
            }
        }
        let mut index = Model::new();
        let mut c = self.by_id.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        while c.next_batch(mode, &mut batch)? {
            for i in 0..batch.len() {
                let id = u64::from_be_bytes(batch.key(i).try_into().unwrap());
                index.insert(id, batch.row(i)[8..].to_vec());
            }
        }
        let mut keys = Vec::new();
        let mut c = self.by_text.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Backward);
        while c.next_batch(mode, &mut batch)? {
            keys.extend((0..batch.len()).map(|i| batch.key(i).to_vec()));
        }
        keys.sort();
        let mut wanted: Vec<_> = heap.iter().map(|(id, p)| text_key(*id, p)).collect();
        wanted.sort();
        if heap != index {
            return Ok(Err(format!("heap and first index differ: {}", difference(&heap, &index))));
        }
        if keys != wanted {
            return Ok(Err(format!(
                "second index has {} keys, the heap {} rows",
                keys.len(),
                wanted.len()
            )));
        }
        Ok(Ok(heap))
    }

    /// Every structural fault.
    pub fn faults(&self, db: &Arc<Database>) -> Result<Vec<String>, TxnError> {
        use txn::check::CheckUnit;
        let unit = |id| db.unit(id).expect("unit is open");
        let units = [
            CheckUnit::Heap(&self.heap, unit(self.heap.unit_id())),
            CheckUnit::Tree(&self.by_id, unit(self.by_id.unit_id())),
            CheckUnit::Tree(&self.by_text, unit(self.by_text.unit_id())),
        ];
        Ok(db.check(&units)?.messages())
    }
}

/// The first few rows in which two models differ.
pub fn difference(a: &Model, b: &Model) -> String {
    let ids: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let brief = |r: Option<&Vec<u8>>| {
        r.map_or("-".into(), |p| format!("{}b {:02x?}", p.len(), &p[..p.len().min(4)]))
    };
    let diff = ids.into_iter().filter(|id| a.get(id) != b.get(id));
    diff.take(5).map(|id| format!("{id}: {} / {}; ", brief(a.get(id)), brief(b.get(id)))).collect()
}

//! A small transaction system over a real store and log, so that the access layer can be tested on
//! its own: ids at begin, an active set, snapshots, commit, rollback through `undo_record`, restart
//! by redo and undo.
#![allow(dead_code)] // each test file uses its part

use access::{Endings, ReadMode, Snapshot, SnapshotRef, Writer, undo_record};
use disk::Disk;
use pages::{
    BufferPool, DataFiles, FileGrowth, FileSpec, InstanceHome, LatestUpdates, Lsn, PageError,
    PageId, PoolOptions, RecordBuilder, RecordKind, RecordSink, RecordView, RowHeader, Store,
    TxnId, Unit, UnitId,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wal::{Growth, Log, LogOptions};

pub struct Db {
    pub store: Arc<Store>,
    pub log: Arc<Log>,
    txns: Mutex<Txns>,
}

#[derive(Default)]
struct Txns {
    last: u64,
    active: BTreeSet<TxnId>,
    ghosted: BTreeSet<(UnitId, PageId)>,
}

pub struct Txn {
    db: Arc<Db>,
    id: TxnId,
    last: Lsn,
    latest: LatestUpdates,
}

/// The transactions that were running when a snapshot was taken.
#[derive(Clone)]
struct RunningTxns(BTreeSet<TxnId>);

impl Endings for RunningTxns {
    fn ended_by(&self, txn: TxnId, _moment: u64) -> bool {
        !self.0.contains(&txn)
    }
}

/// A snapshot together with what it has to know of the others.
#[derive(Clone)]
pub struct SeenSnapshot {
    snapshot: Snapshot,
    running: RunningTxns,
}

impl SeenSnapshot {
    pub fn mode(&self) -> ReadMode<'_> {
        ReadMode::Snapshot(SnapshotRef::new(&self.snapshot, &self.running))
    }

    pub fn xmin(&self) -> TxnId {
        self.snapshot.xmin()
    }
}

pub fn pool(bytes: u64) -> Arc<BufferPool> {
    Arc::new(
        BufferPool::new(PoolOptions {
            bytes,
            frame_wait: Duration::from_secs(20),
            ..PoolOptions::default()
        })
        .expect("pool"),
    )
}

fn specs(folder: &Path) -> Vec<FileSpec> {
    let growth = FileGrowth::Bytes(4 << 20);
    let path = folder.join("a.mdf");
    vec![FileSpec {
        id: 1,
        name: "a".into(),
        path,
        filegroup: 1,
        size: 4 << 20,
        growth,
        max_size: None,
    }]
}

fn log_options(size: u64, background: bool) -> LogOptions {
    LogOptions {
        initial_size: size,
        growth: Growth::Bytes(size),
        background_writer: background,
        cache_bytes: 4 << 20,
        ..LogOptions::default()
    }
}

impl Db {
    /// A new database; `pool_bytes` is the size of its buffer pool.
    pub fn create(
        disk: Arc<dyn Disk>,
        folder: &Path,
        pool_bytes: u64,
        log_bytes: u64,
    ) -> Result<Arc<Db>, PageError> {
        Db::create_with(disk, folder, pool_bytes, log_options(log_bytes, false))
    }

    /// The same with a log that a thread of its own writes, as in earnest.
    pub fn create_fast(
        disk: Arc<dyn Disk>,
        pool_bytes: u64,
        log_bytes: u64,
    ) -> Result<Arc<Db>, PageError> {
        Db::create_with(disk, Path::new(""), pool_bytes, log_options(log_bytes, true))
    }

    fn create_with(
        disk: Arc<dyn Disk>,
        folder: &Path,
        pool_bytes: u64,
        options: LogOptions,
    ) -> Result<Arc<Db>, PageError> {
        let log = Log::create(&*disk, &folder.join("a.ldf"), options)?;
        let store = Store::create(
            disk,
            pool(pool_bytes),
            log.clone(),
            [7; 16],
            &specs(folder),
            &InstanceHome::default(),
        )?;
        Ok(Arc::new(Db { store, log, txns: Mutex::default() }))
    }

    pub fn sim(seed: u64, pool_bytes: u64) -> Arc<Db> {
        let disk: Arc<dyn Disk> = Arc::new(sim::SimDisk::new(seed));
        Db::create(disk, &PathBuf::new(), pool_bytes, 32 << 20).expect("database")
    }

    /// Opens a database after a crash: redo from the last checkpoint, undo of what was not
    /// committed.
    pub fn restart(
        disk: Arc<dyn Disk>,
        folder: &Path,
        pool_bytes: u64,
    ) -> Result<Arc<Db>, PageError> {
        let (log, _) = Log::open(&*disk, &folder.join("a.ldf"), log_options(4 << 20, false))?;
        let store = Store::open(
            disk.clone(),
            pool(pool_bytes),
            log.clone(),
            DataFiles::open(&*disk, &folder.join("a.mdf"), &InstanceHome::default())?,
        )?;
        let from = log.checkpoint().redo_lsn;
        let mut losers: BTreeMap<TxnId, Lsn> = BTreeMap::new();
        let mut last = 0;
        for item in log.scan(from) {
            let (lsn, bytes) = item?;
            let view = RecordView::decode(&bytes)?;
            last = last.max(view.txn().0);
            match view.kind() {
                RecordKind::Commit | RecordKind::Abort => {
                    losers.remove(&view.txn());
                }
                _ if !view.is_system() => {
                    losers.insert(view.txn(), lsn);
                }
                _ => {}
            }
            store.redo(lsn, &view)?;
        }
        store.finish_redo()?;
        let txns = Txns { last, active: losers.keys().copied().collect(), ..Txns::default() };
        let db = Arc::new(Db { store, log, txns: Mutex::new(txns) });
        for (id, last) in losers {
            Txn { db: Arc::clone(&db), id, last, latest: LatestUpdates::default() }
                .rollback()
                .map_err(|e| PageError::Offline { cause: e.to_string() })?;
        }
        Ok(db)
    }

    /// A checkpoint with nothing running: all pages written, redo begins here.
    pub fn checkpoint(&self) -> Result<(), PageError> {
        assert!(self.txns.lock().active.is_empty(), "checkpoints of these tests are quiescent");
        let mut rec = RecordBuilder::new();
        rec.begin(RecordKind::CkptEnd);
        rec.stamp(TxnId::SYSTEM, Lsn::ZERO);
        let lsn = self.log.append(&[rec.bytes()], 0)?;
        self.store.write_dirty(Lsn::MAX)?;
        self.log.flush_to(lsn)?;
        self.log.set_checkpoint(wal::CheckpointInfo {
            checkpoint_lsn: lsn,
            redo_lsn: lsn,
            payload: Vec::new(),
        })?;
        Ok(())
    }

    pub fn unit(&self, id: u32) -> Unit {
        self.store.create_unit(UnitId(id), 1).expect("unit")
    }

    pub fn begin(self: &Arc<Db>) -> Txn {
        let mut txns = self.txns.lock();
        txns.last += 1;
        let id = TxnId(txns.last);
        txns.active.insert(id);
        Txn { db: Arc::clone(self), id, last: Lsn::ZERO, latest: LatestUpdates::default() }
    }

    pub fn snapshot(&self, own: TxnId) -> SeenSnapshot {
        let txns = self.txns.lock();
        let running: BTreeSet<TxnId> = txns.active.iter().copied().filter(|t| *t != own).collect();
        let xmax = TxnId(txns.last + 1);
        let xmin = running.first().copied().unwrap_or(xmax);
        SeenSnapshot { snapshot: Snapshot::new(own, xmin, xmax, 0), running: RunningTxns(running) }
    }

    /// Every running transaction and every one to come is newer or equal.
    pub fn oldest(&self) -> TxnId {
        let txns = self.txns.lock();
        txns.active.first().copied().unwrap_or(TxnId(txns.last + 1))
    }

    pub fn take_ghosted(&self) -> Vec<(UnitId, PageId)> {
        std::mem::take(&mut self.txns.lock().ghosted).into_iter().collect()
    }

    /// What the cleanup thread does with the pages that were told of, for one unit.
    pub fn clean(&self, unit: &Unit, oldest: TxnId) -> Result<(), access::AccessError> {
        let mut empty = std::collections::HashSet::new();
        self.store
            .take_ghosts(oldest)
            .into_iter()
            .for_each(|(of, page)| self.put_ghosted(of, page));
        for (of, page) in self.take_ghosted() {
            if of != unit.id() {
                self.put_ghosted(of, page);
                continue;
            }
            let result = access::cleanup_page(&self.store, unit, page, oldest)?;
            if result.remaining > 0 || result.again {
                self.put_ghosted(of, page);
            }
            if result.empty {
                empty.insert(page);
            }
        }
        let gone = access::unlink_empty(&self.store, unit, &empty)?;
        if gone < empty.len() {
            empty.into_iter().for_each(|page| self.put_ghosted(unit.id(), page));
        }
        self.store.release_idle(unit, false)?;
        Ok(())
    }

    pub fn put_ghosted(&self, unit: UnitId, page: PageId) {
        self.txns.lock().ghosted.insert((unit, page));
    }
}

impl RecordSink for Txn {
    fn append(&mut self, rec: &mut RecordBuilder) -> Result<Lsn, PageError> {
        rec.stamp(self.id, self.last);
        let lsn = self.db.log.append(&[rec.bytes()], 0)?;
        if !rec.is_system() {
            self.last = lsn;
        }
        if let Some(update) = rec.large_update() {
            self.latest.note(lsn, update);
        }
        Ok(lsn)
    }
}

impl Writer for Txn {
    fn txn(&self) -> TxnId {
        self.id
    }

    fn active_elsewhere(&self, txn: TxnId) -> bool {
        txn != self.id && self.db.txns.lock().active.contains(&txn)
    }

    fn wrote(&self, header: &RowHeader) -> Range<usize> {
        self.latest.wrote(header)
    }

    fn ghosted(&mut self, unit: UnitId, page: PageId) {
        self.db.put_ghosted(unit, page);
    }
}

impl Txn {
    pub fn id(&self) -> TxnId {
        self.id
    }

    pub fn savepoint(&self) -> Lsn {
        self.last
    }

    fn end(&mut self, kind: RecordKind) -> Result<Lsn, PageError> {
        let mut rec = RecordBuilder::new();
        rec.begin(kind);
        let lsn = self.append(&mut rec)?;
        self.db.txns.lock().active.remove(&self.id);
        Ok(lsn)
    }

    pub fn commit(mut self) -> Result<Lsn, PageError> {
        self.end(RecordKind::Commit)
    }

    /// Commits and waits until the commit is durable.
    pub fn commit_hard(mut self) -> Result<(), PageError> {
        let lsn = self.end(RecordKind::Commit)?;
        Ok(self.db.log.flush_to(lsn)?)
    }

    pub fn rollback(mut self) -> Result<(), access::AccessError> {
        self.rollback_to(Lsn::ZERO)?;
        self.end(RecordKind::Abort)?;
        Ok(())
    }

    pub fn rollback_to(&mut self, savepoint: Lsn) -> Result<(), access::AccessError> {
        let db = Arc::clone(&self.db);
        let mut at = self.last;
        let mut bytes = Vec::new();
        while at > savepoint {
            db.log.read(at, &mut bytes).map_err(PageError::from)?;
            let view = RecordView::decode(&bytes)?;
            assert_eq!(view.txn(), self.id);
            at = match view.kind() {
                RecordKind::Compensation => view.undo_next(),
                RecordKind::Change => {
                    let next = view.prev_lsn();
                    undo_record(&db.store, at, &view, self, next)?;
                    next
                }
                _ => view.prev_lsn(),
            };
        }
        Ok(())
    }
}

/// The row with a part of it changed, of another length perhaps: what a transaction that comes back
/// to a row does.
pub fn altered(rng: &mut fastrand::Rng, row: &[u8]) -> Vec<u8> {
    let start = rng.usize(0..=row.len());
    let end = rng.usize(start..=row.len());
    let len = if rng.bool() { end - start } else { rng.usize(0..600) };
    let byte = rng.u8(..);
    let mut row = row.to_vec();
    row.splice(start..end, std::iter::repeat_n(byte, len));
    row.resize(row.len().clamp(8, 4000), byte);
    row
}

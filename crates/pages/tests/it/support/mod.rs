//! A store with a real log on the simulated disk, and a sink that plays one transaction.
#![allow(dead_code)] // each test file uses its part

use disk::DiskError;
use ringwood_pages::{
    BufferPool, DataFiles, FileGrowth, FileSpec, InstanceHome, Lsn, PageError, PageId, PageMut,
    PageType, PoolOptions, RecordBuilder, RecordSink, Store, TxnId, Unit, pfs_level,
};
use sim::SimDisk;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wal::{Log, LogError, LogOptions};

pub const LOG: &str = "t_log.ldf";
pub const DATA: &str = "t.mdf";

pub struct Db {
    pub disk: SimDisk,
    pub log: Arc<Log>,
    pub pool: Arc<BufferPool>,
    pub store: Arc<Store>,
}

pub fn pool(frames: u64) -> Arc<BufferPool> {
    let options = PoolOptions {
        bytes: frames * 8192,
        frame_wait: Duration::from_secs(10),
        ..PoolOptions::default()
    };
    Arc::new(BufferPool::new(options).unwrap())
}

pub fn spec(id: u16, filegroup: u16, size: u64) -> FileSpec {
    FileSpec {
        id,
        name: format!("data{id}"),
        path: if id == 1 { DATA.into() } else { format!("t{id}.ndf").into() },
        filegroup,
        size,
        growth: FileGrowth::Bytes(256 << 10),
        max_size: None,
    }
}

fn log_options() -> LogOptions {
    LogOptions {
        initial_size: 1 << 20,
        growth: wal::Growth::Bytes(1 << 20),
        background_writer: false,
        ..LogOptions::default()
    }
}

pub fn create(disk: SimDisk, frames: u64, specs: &[FileSpec]) -> Result<Db, PageError> {
    let log = Log::create(&disk, Path::new(LOG), log_options())?;
    let pool = pool(frames);
    let shared: Arc<dyn disk::Disk> = Arc::new(disk.clone());
    let store = Store::create(
        shared,
        Arc::clone(&pool),
        Arc::clone(&log) as Arc<_>,
        [9; 16],
        specs,
        &InstanceHome::default(),
    )?;
    Ok(Db { disk, log, pool, store })
}

/// The log of the disk, once the one before has let go of it: the lazy writer of its pool may be
/// the last that holds it.
fn open_log(disk: &SimDisk) -> Result<Arc<Log>, LogError> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match Log::open(disk, Path::new(LOG), log_options()) {
            Err(LogError::Disk(DiskError::Locked { .. })) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            opened => return opened.map(|(log, _)| log),
        }
    }
}

/// Opens and redoes everything from the last checkpoint.
pub fn open(disk: SimDisk, frames: u64) -> Result<Db, PageError> {
    let log = open_log(&disk)?;
    let pool = pool(frames);
    let shared: Arc<dyn disk::Disk> = Arc::new(disk.clone());
    let files = DataFiles::open(&*shared, Path::new(DATA), &InstanceHome::default())?;
    let store = Store::open(shared, Arc::clone(&pool), Arc::clone(&log) as Arc<_>, files)?;
    for entry in log.scan(log.checkpoint().redo_lsn) {
        let (lsn, bytes) = entry?;
        store.redo(lsn, &ringwood_pages::RecordView::decode(&bytes)?)?;
    }
    store.finish_redo()?;
    store.settle_files(false)?;
    Ok(Db { disk, log, pool, store })
}

impl Db {
    pub fn checkpoint(&self) -> Result<(), PageError> {
        let begin = self.log.end();
        // Pages that the device refuses hold redo, and nothing else.
        let written = match self.store.write_dirty(begin) {
            Err(e) if !matches!(e, PageError::Unwritten { .. }) => return Err(e),
            written => written,
        };
        let end = self.log.end();
        let redo_lsn = self.store.min_rec_lsn().map_or(end, |m| m.min(end));
        let mut rec = RecordBuilder::new();
        rec.begin(ringwood_pages::RecordKind::CkptEnd);
        let checkpoint_lsn = self.log.append(&[rec.bytes()], 0)?;
        self.log.flush_to(checkpoint_lsn)?;
        self.log.set_checkpoint(wal::CheckpointInfo {
            checkpoint_lsn,
            redo_lsn,
            payload: Vec::new(),
        })?;
        written.map(drop)
    }
}

/// Appends in the name of one transaction.
pub struct TestTxn<'a> {
    pub log: &'a Log,
    pub id: TxnId,
    pub last: Lsn,
}

impl RecordSink for TestTxn<'_> {
    fn append(&mut self, rec: &mut RecordBuilder) -> Result<Lsn, PageError> {
        rec.stamp(self.id, self.last);
        let lsn = self.log.append(&[rec.bytes()], 0)?;
        if !rec.is_system() {
            self.last = lsn;
        }
        Ok(lsn)
    }
}

/// Allocates and formats a page of the unit in one record.
pub fn new_page(store: &Store, unit: &Unit, kind: PageType) -> Result<PageId, PageError> {
    let reserved = store.alloc_page(unit)?;
    let id = reserved.id();
    let mut page = store.fresh(id)?;
    let mut maps = store.latch_maps(&[id])?;
    let mut rec = RecordBuilder::new();
    rec.system();
    rec.page(id);
    rec.format(kind, 0, unit.id(), PageId::NONE, PageId::NONE, PageId::NONE)?;
    maps.allocate(&mut rec, id, pfs_level(8128))?;
    let mut list: Vec<&mut PageMut<'_>> = vec![&mut page];
    list.extend(maps.pages());
    store.change(&mut store.system(), &mut rec, &mut list)?;
    Ok(reserved.keep())
}

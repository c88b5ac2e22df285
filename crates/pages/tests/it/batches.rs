//! Writers of pages that meet: eviction goes on while a checkpoint waits for a disk.

use crate::support::{TestTxn, new_page, pool, spec};
use model::Routes;
use ringwood_pages::{
    BeforeImage, BufferPool, Lsn, PageId, PageType, RecordBuilder, RowUpdate, Store, TxnId, UnitId,
};
use sim::SimDisk;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wal::{Log, LogOptions};

struct Db {
    log: Arc<Log>,
    pool: Arc<BufferPool>,
    store: Arc<Store>,
    /// The disk of file 2.
    second: SimDisk,
}

const SECOND: &str = "other/t.ndf";

/// File 1 on a disk, file 2 in a filegroup of its own on another one.
fn on_two_disks(frames: u64) -> Db {
    let (first, second) = (Arc::new(SimDisk::new(1)), SimDisk::new(2));
    let mut routes = Routes::new("", first);
    routes.place_disk(Path::new("other"), Arc::new(second.clone()));
    let disk: Arc<dyn disk::Disk> = Arc::new(routes);
    let options =
        LogOptions { initial_size: 4 << 20, background_writer: false, ..LogOptions::default() };
    let log = Log::create(&*disk, Path::new("t.ldf"), options).expect("a log");
    let pool = pool(frames);
    let specs = [
        spec(1, 1, 4 << 20),
        ringwood_pages::FileSpec { path: SECOND.into(), ..spec(2, 2, 1 << 20) },
    ];
    let store = Store::create(
        disk,
        pool.clone(),
        log.clone() as Arc<_>,
        [9; 16],
        &specs,
        &Default::default(),
    )
    .expect("a store");
    Db { log, pool, store, second }
}

fn rows(db: &Db, unit: u32, filegroup: u16, pages: usize) -> Vec<PageId> {
    let unit = db.store.create_unit(UnitId(unit), filegroup).expect("a unit");
    let page = |_| {
        let id = new_page(&db.store, &unit, PageType::Data).expect("a page");
        let mut page = db.store.write(id).expect("the page");
        let mut rec = RecordBuilder::new();
        rec.page(id);
        rec.insert(0, 0, None, &[1; 8]).expect("a record");
        db.store.change(&mut db.store.system(), &mut rec, &mut [&mut page]).expect("a change");
        id
    };
    (0..pages).map(page).collect()
}

fn update(db: &Db, id: PageId, value: u8) {
    let mut page = db.store.write(id).expect("the page");
    let (old, body) = page.row(0).expect("a row").expect("a row");
    let mut rec = RecordBuilder::new();
    rec.page(id);
    rec.update(&RowUpdate {
        slot: 0,
        flags: 0,
        old: &old,
        key: None,
        at: 0,
        before: BeforeImage::whole(body),
        new_bytes: &[value; 8],
    })
    .expect("a record");
    let mut sink = TestTxn { log: &db.log, id: TxnId(7), last: Lsn::ZERO };
    db.store.change(&mut sink, &mut rec, &mut [&mut page]).expect("a change");
}

#[test]
fn eviction_does_not_wait_for_the_homes_of_a_checkpoint() {
    let db = on_two_disks(160);
    let quick = rows(&db, 1, 1, 300);
    let slow = rows(&db, 2, 2, 20);
    db.store.write_dirty(db.log.end()).expect("a checkpoint");
    // Pages that were on disk before: they go through the doublewrite area.
    slow.iter().for_each(|&id| update(&db, id, 2));
    let end = db.log.end();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let hold = db.second.hold_writes(Path::new(SECOND));
        let checkpoint = || {
            db.store.write_dirty(end).expect("a checkpoint");
            done.store(true, Ordering::SeqCst);
        };
        scope.spawn(checkpoint);
        hold.wait_for_writer();
        let evicted = db.pool.counters().evictions.load(Ordering::Relaxed);
        let (evicting, finished) = std::sync::mpsc::channel();
        let db = &db;
        let quick = &quick;
        scope.spawn(move || {
            for round in 3..6 {
                quick.iter().for_each(|&id| update(db, id, round));
            }
            evicting.send(()).expect("the test waits");
        });
        // Far more than it takes: an eviction that waits for the checkpoint waits for ever.
        finished
            .recv_timeout(Duration::from_secs(60))
            .expect("eviction has waited for the checkpoint");
        assert!(
            db.pool.counters().evictions.load(Ordering::Relaxed) > evicted + 600,
            "the pool is small"
        );
        assert!(!done.load(Ordering::SeqCst), "the checkpoint has waited for its home writes");
        drop(hold);
    });
    for (&id, value) in quick.iter().map(|id| (id, 5)).chain(slow.iter().map(|id| (id, 2))) {
        let page = db.store.read(id).expect("the page");
        assert_eq!(page.row(0).expect("a row").expect("a row").1, [value; 8]);
    }
}

//! Writers of pages that meet: eviction goes on while a checkpoint waits for a slow disk.

mod support;

use model::{Device, ModelDisk, Routes, builtin};
use ringwood_pages::{Before, BufferPool, Lsn, PageId, PageType, RecordBuilder, Store, TxnId, UnitId};
use sim::SimDisk;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{TestTxn, new_page, pool, spec};
use wal::{Log, LogOptions};

struct Db {
    log: Arc<Log>,
    pool: Arc<BufferPool>,
    store: Arc<Store>,
}

/// File 1 on a quick disk, file 2 in a filegroup of its own on a disk that needs a fifth of a second for a write.
fn with_a_slow_file(frames: u64) -> Db {
    let quick: Arc<dyn disk::Disk> = Arc::new(SimDisk::new(1));
    let slow = Device { time_scale: 0.04, ..builtin("hdd-7200").expect("a device") };
    let mut routes = Routes::new("", quick.clone());
    let loaded = Arc::new(ModelDisk::new(slow, quick).expect("a device"));
    routes.place_disk(Path::new("slow"), loaded);
    let disk: Arc<dyn disk::Disk> = Arc::new(routes);
    let options = LogOptions { initial_size: 4 << 20, background_writer: false, ..LogOptions::default() };
    let log = Log::create(&*disk, Path::new("t.ldf"), options).expect("a log");
    let pool = pool(frames);
    let second = ringwood_pages::FileSpec { path: "slow/t.ndf".into(), ..spec(2, 2, 1 << 20) };
    let specs = [spec(1, 1, 4 << 20), second];
    let store =
        Store::create(disk, pool.clone(), log.clone() as Arc<_>, [9; 16], &specs, &Default::default())
            .expect("a store");
    Db { log, pool, store }
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
    rec.update(0, 0, &old, None, 0, Before::whole(body), &[value; 8]).expect("a record");
    let mut sink = TestTxn { log: &db.log, id: TxnId(7), last: Lsn::ZERO };
    db.store.change(&mut sink, &mut rec, &mut [&mut page]).expect("a change");
}

#[test]
fn eviction_does_not_wait_for_the_homes_of_a_checkpoint() {
    let db = with_a_slow_file(160);
    let quick = rows(&db, 1, 1, 300);
    let slow = rows(&db, 2, 2, 20);
    db.store.write_dirty(db.log.end()).expect("a checkpoint");
    // Pages that were on disk before: they go through the doublewrite area.
    slow.iter().for_each(|&id| update(&db, id, 2));
    let (start, end) = (Instant::now(), db.log.end());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            db.store.write_dirty(end).expect("a checkpoint");
            done.store(true, Ordering::SeqCst);
        });
        std::thread::sleep(Duration::from_millis(50));
        let evicted = db.pool.counters().evictions.load(Ordering::Relaxed);
        for round in 3..6 {
            quick.iter().for_each(|&id| update(&db, id, round));
        }
        assert!(db.pool.counters().evictions.load(Ordering::Relaxed) > evicted + 600, "the pool is small");
        assert!(
            !done.load(Ordering::SeqCst),
            "{:?}: eviction has waited for the checkpoint",
            start.elapsed()
        );
    });
    for (&id, value) in quick.iter().map(|id| (id, 5)).chain(slow.iter().map(|id| (id, 2))) {
        let page = db.store.read(id).expect("the page");
        assert_eq!(page.row(0).expect("a row").expect("a row").1, [value; 8]);
    }
}

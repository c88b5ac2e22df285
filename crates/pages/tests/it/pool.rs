//! The buffer pool under many threads, and with far fewer frames than pages.

use crate::support::{DATA, Db, TestTxn, create, new_page, open, spec};
use ringwood_pages::{
    BeforeImage, InstanceHome, Lsn, PageError, PageId, PageMut, PageType, PageWait, PoolOptions,
    RecordBuilder, RowUpdate, Store, TxnId, UnitId,
};
use sim::{Fault, OpKind, SimDisk};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn counter_of(store: &Store, id: PageId) -> u64 {
    let page = store.read(id).unwrap();
    let (_, body) = page.row(0).unwrap().unwrap();
    u64::from_le_bytes(body.try_into().unwrap())
}

fn add_one(db: &Db, id: PageId, txn: u64) {
    let mut page = db.store.write(id).unwrap();
    let (old, body) = page.row(0).unwrap().unwrap();
    let now = u64::from_le_bytes(body.try_into().unwrap()) + 1;
    let mut rec = RecordBuilder::new();
    rec.page(id);
    rec.update(&RowUpdate {
        slot: 0,
        flags: 0,
        old: &old,
        key: None,
        at: 0,
        before: BeforeImage::whole(body),
        new_bytes: &now.to_le_bytes(),
    })
    .unwrap();
    let mut sink = TestTxn { log: &db.log, id: TxnId(txn), last: Lsn::ZERO };
    db.store.change(&mut sink, &mut rec, &mut [&mut page]).unwrap();
}

fn counters(frames: u64, pages: usize) -> (Db, Vec<PageId>) {
    let db = create(SimDisk::new(1), frames, &[spec(1, 1, 0), spec(2, 1, 0)]).unwrap();
    let ids = fill(&db, pages);
    (db, ids)
}

fn fill(db: &Db, pages: usize) -> Vec<PageId> {
    let unit = db.store.create_unit(UnitId(1), 1).unwrap();
    let ids: Vec<PageId> =
        (0..pages).map(|_| new_page(&db.store, &unit, PageType::Data).unwrap()).collect();
    for &id in &ids {
        let mut page = db.store.write(id).unwrap();
        let mut rec = RecordBuilder::new();
        rec.page(id);
        rec.insert(0, 0, None, &0u64.to_le_bytes()).unwrap();
        db.store.change(&mut db.store.system(), &mut rec, &mut [&mut page]).unwrap();
    }
    ids
}

#[test]
fn no_update_is_lost_with_a_tiny_pool() {
    const THREADS: u64 = 8;
    const ROUNDS: u64 = 1500;
    let (db, ids) = counters(32, 200);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|t| {
                let (db, ids) = (&db, &ids);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(t);
                    for n in 0..ROUNDS {
                        let id = ids[rng.usize(0..ids.len())];
                        match rng.u8(0..10) {
                            0 => drop(db.store.prefetch(&ids[rng.usize(0..100)..][..64])),
                            1 => drop(db.store.read_scan(id).unwrap()),
                            _ => {}
                        }
                        add_one(db, ids[rng.usize(0..ids.len())], t * ROUNDS + n + 1);
                    }
                })
            })
            .collect();
        let checkpoints = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                db.checkpoint().unwrap();
            }
        });
        for w in workers {
            w.join().unwrap();
        }
        done.store(true, Ordering::Release);
        checkpoints.join().unwrap();
    });
    let sum: u64 = ids.iter().map(|&id| counter_of(&db.store, id)).sum();
    assert_eq!(sum, THREADS * ROUNDS);
    assert!(
        db.pool.counters().evictions.load(Ordering::Relaxed) > 1000,
        "the pool was too large for the test"
    );
    db.log.flush_all().unwrap();
    let disk = db.disk.crash(3);
    drop(db);
    let db = open(disk, 64).unwrap();
    let sum: u64 = ids.iter().map(|&id| counter_of(&db.store, id)).sum();
    assert_eq!(sum, THREADS * ROUNDS, "after power loss");
}

#[test]
fn opposite_latch_orders_across_eviction_do_not_hang() {
    // Every thread latches pages in ascending order, always a few at once, so the frames under them
    // change owners all the time. A wait for a frame that meanwhile holds another page could close
    // a circle.
    let (db, ids) = counters(24, 120);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for t in 0..6u64 {
            let (db, ids) = (&db, &ids);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(t);
                for _ in 0..1500 {
                    let at = rng.usize(0..ids.len() - 3);
                    let a = db.store.write(ids[at]).unwrap();
                    let b = db.store.read(ids[at + 1]).unwrap();
                    let c = db.store.write(ids[at + 2]).unwrap();
                    assert_eq!((a.id(), b.id(), c.id()), (ids[at], ids[at + 1], ids[at + 2]));
                }
            });
        }
    });
    assert!(begin.elapsed() < Duration::from_secs(100));
}

#[test]
fn concurrent_misses_read_once() {
    let (db, ids) = counters(400, 50);
    db.checkpoint().unwrap();
    let disk = db.disk.clone();
    drop(db);
    let db = open(disk.clone(), 400).unwrap();
    let before = disk.read_count();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                ids.iter().for_each(|&id| assert_eq!(db.store.read(id).unwrap().id(), id))
            });
        }
    });
    assert_eq!(disk.read_count() - before, ids.len() as u64);
}

#[test]
fn prefetch_reads_runs_at_once() {
    let (db, ids) = counters(400, 128);
    db.checkpoint().unwrap();
    let disk = db.disk.clone();
    drop(db);
    let db = open(disk.clone(), 400).unwrap();
    let mut mine: Vec<PageId> = ids.iter().copied().filter(|id| id.file == 1).collect();
    mine.sort_unstable();
    let runs = mine.chunk_by(|a, b| a.page + 1 == b.page).count();
    assert!(runs * 4 < mine.len(), "the file's extents are mostly adjacent");
    let before = disk.read_count();
    db.store.prefetch(&mine).unwrap();
    assert!(disk.read_count() - before <= runs as u64 + mine.len() as u64 / 64 + 1);
    let before = disk.read_count();
    for &id in &mine {
        assert_eq!(db.store.read(id).unwrap().id(), id);
    }
    assert!(disk.read_count() - before <= runs as u64, "only single pages are left to read");
}

/// Of a list that begins with pages that are here, and has others among them, the missing ones are
/// read; of one whose pages are all here nothing.
#[test]
fn read_ahead_reads_what_is_missing() {
    let (db, ids) = counters(400, 128);
    db.checkpoint().unwrap();
    let disk = db.disk.clone();
    drop(db);
    let db = open(disk.clone(), 400).unwrap();
    for &id in ids[..20].iter().chain(ids[20..].iter().step_by(7)) {
        drop(db.store.read(id).unwrap());
    }
    let here: Vec<PageId> = ids.iter().copied().filter(|&id| db.store.is_here(id)).collect();
    assert!(here.len() >= 20 && here.len() < ids.len(), "{} are here", here.len());
    let before = disk.read_count();
    db.store.read_ahead(&here);
    assert_eq!(disk.read_count(), before);
    db.store.read_ahead(&ids);
    let end = Instant::now() + Duration::from_secs(60);
    while !ids.iter().all(|&id| db.store.try_read(id).is_some()) {
        assert!(Instant::now() < end, "the missing pages do not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn scans_leave_hot_pages_alone() {
    let (db, ids) = counters(1024, 4000);
    db.checkpoint().unwrap();
    let (hot, scanned) = ids.split_at(300);
    for _ in 0..4 {
        for &id in hot {
            drop(db.store.read(id).unwrap());
        }
    }
    for chunk in scanned.chunks(64) {
        db.store.prefetch(chunk).unwrap();
        for &id in chunk {
            drop(db.store.read_scan(id).unwrap());
        }
    }
    let kept = hot.iter().filter(|&&id| db.store.try_read(id).is_some()).count();
    assert!(kept > 270, "{kept} of 300 hot pages survived the scan");
}

/// A load dirties pages faster than they are written, each touched several times. Pages that come
/// up again within a quarter of the pool, as allocation maps do, stay in it.
#[test]
fn a_load_leaves_pages_in_use_alone() {
    let (db, ids) = counters(1024, 12_000);
    db.checkpoint().unwrap();
    let (hot, loaded) = ids.split_at(32);
    let mut read = 0;
    for chunk in loaded.chunks(256) {
        for &id in hot {
            read += u32::from(db.store.try_read(id).is_none());
            for _ in 0..4 {
                drop(db.store.read(id).unwrap());
            }
        }
        for &id in chunk {
            for txn in 1..5 {
                add_one(&db, id, txn);
            }
        }
    }
    let times = loaded.len() / 256 * hot.len();
    assert!((read as usize) < times / 10, "{read} of {times} times a page in use was read again");
}

/// Dirty pages of a database that cannot write them do not make others look for frames far and
/// wide.
#[test]
fn a_database_that_cannot_write_costs_others_nothing() {
    let db = create(SimDisk::new(1), 1024, &[spec(1, 1, 0), spec(2, 1, 0)]).unwrap();
    let disk = SimDisk::new(8);
    let on: Arc<dyn disk::Disk> = Arc::new(disk.clone());
    let options = wal::LogOptions { background_writer: false, ..wal::LogOptions::default() };
    let log = wal::Log::create(&*on, std::path::Path::new("b.ldf"), options).unwrap();
    let other = Store::create(
        on,
        Arc::clone(&db.pool),
        Arc::clone(&log) as Arc<_>,
        [2; 16],
        &[spec(1, 1, 0)],
        &InstanceHome::default(),
    )
    .unwrap();
    let unit = other.create_unit(UnitId(77), 1).unwrap();
    for _ in 0..300 {
        new_page(&other, &unit, PageType::Lob).unwrap();
    }
    disk.crash_at(disk.io_count() + 1);
    let ids = fill(&db, 2000);
    db.checkpoint().unwrap();
    let looked = || db.pool.counters().looked.load(Ordering::Relaxed);
    for &id in ids.iter().cycle().take(3000) {
        (0..4).for_each(|_| drop(db.store.read(id).unwrap()));
    }
    let before = looked();
    for &id in ids.iter().cycle().take(6000) {
        (0..4).for_each(|_| drop(db.store.read(id).unwrap()));
    }
    let looked = looked() - before;
    assert!(looked < 10 * 6000, "{looked} frames looked at for 6,000 pages");
}

/// A checkpoint of many pages writes two batches at a time: one that fails leaves its pages dirty,
/// and the next checkpoint writes them, or the database is offline and redo does.
#[test]
fn a_large_checkpoint_that_fails_is_made_good_by_the_next() {
    for n in [1, 2, 9] {
        let (db, ids) = counters(4096, 2500);
        ids.iter().for_each(|&id| add_one(&db, id, 7));
        db.log.flush_all().unwrap();
        db.disk.fail_on(Path::new(DATA), OpKind::Write, n, Fault::Io);
        // A page that is refused once is written by the second try of the same checkpoint.
        let failed = db.checkpoint().is_err();
        assert_eq!(failed, db.store.dirty_pages() > 0);
        assert_eq!(failed, db.store.min_rec_lsn().is_some());
        match db.checkpoint() {
            Ok(()) => assert_eq!((db.store.dirty_pages(), db.store.min_rec_lsn()), (0, None)),
            // It was a batch with maps: a page that is torn at home must stay in the doublewrite
            // area.
            Err(e) => assert!(matches!(e, PageError::Offline { .. }), "{e}"),
        }
        all_are_one(&open(db.disk.crash(n), 4096).unwrap(), &ids);
    }
}

/// Wherever the power fails in it.
#[test]
fn a_large_checkpoint_may_be_cut_short_anywhere() {
    let mut cut = 0;
    for n in 1..60 {
        let (db, ids) = counters(4096, 2500);
        if n % 2 == 0 {
            // All pages are known to the files: these go through the doublewrite area.
            db.checkpoint().unwrap();
        }
        ids.iter().for_each(|&id| add_one(&db, id, 7));
        db.log.flush_all().unwrap();
        db.disk.crash_at(db.disk.io_count() + n);
        cut += u32::from(db.checkpoint().is_err());
        all_are_one(&open(db.disk.crash(n), 4096).unwrap(), &ids);
    }
    assert!(cut > 20, "{cut} checkpoints were cut short");
}

fn all_are_one(db: &Db, ids: &[PageId]) {
    ids.iter().for_each(|&id| assert_eq!(counter_of(&db.store, id), 1, "page {id}"));
}

#[test]
fn all_frames_latched_gives_802() {
    let db = create(SimDisk::new(1), 16, &[spec(1, 1, 0)]).unwrap();
    let options =
        PoolOptions { bytes: 16 * 8192, frame_wait: Duration::from_millis(100), commit: true };
    let pool = Arc::new(ringwood_pages::BufferPool::new(options).unwrap());
    let shared: Arc<dyn disk::Disk> = Arc::new(SimDisk::new(2));
    let log = Arc::clone(&db.log);
    let store =
        Store::create(shared, pool, log, [1; 16], &[spec(1, 1, 4 << 20)], &InstanceHome::default())
            .unwrap();
    let mut held: Vec<PageMut<'_>> =
        (0..16).map(|i| store.fresh(PageId::new(1, 300 + i)).unwrap()).collect();
    assert_eq!(store.fresh(PageId::new(1, 400)).unwrap_err(), PageError::NoFrames);
    held.pop();
    assert!(
        store.fresh(PageId::new(1, 400)).is_ok(),
        "a blank page that is given up frees its frame"
    );
    drop(held);
    // What was never formatted is not there.
    assert!(matches!(store.read(PageId::new(1, 300)), Err(PageError::Checksum { .. })));
}

#[test]
fn waits_are_counted_only_when_there_are_any() {
    let (db, ids) = counters(64, 4);
    let count = |w: PageWait| db.pool.waits().get(w).count;
    let before = (count(PageWait::LatchSh), count(PageWait::LatchEx));
    for _ in 0..1000 {
        add_one(&db, ids[0], 5);
        counter_of(&db.store, ids[0]);
    }
    assert_eq!((count(PageWait::LatchSh), count(PageWait::LatchEx)), before);
    let held = db.store.write(ids[0]).unwrap();
    assert!(db.store.try_write(ids[0]).is_none() && db.store.try_read(ids[0]).is_none());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| drop(db.store.read(ids[0]).unwrap()));
        std::thread::sleep(Duration::from_millis(30));
        drop(held);
        reader.join().unwrap();
    });
    let wait = db.pool.waits().get(PageWait::LatchSh);
    assert!(wait.count == before.0 + 1 && wait.total_us >= 10_000, "{wait:?}");
}

#[test]
fn two_databases_share_one_pool() {
    let (db, ids) = counters(32, 60);
    let disk: Arc<dyn disk::Disk> = Arc::new(SimDisk::new(8));
    let log = wal::Log::create(&*disk, std::path::Path::new("b.ldf"), wal::LogOptions::default())
        .unwrap();
    let other = Store::create(
        disk,
        Arc::clone(&db.pool),
        Arc::clone(&log) as Arc<_>,
        [2; 16],
        &[spec(1, 1, 0)],
        &InstanceHome::default(),
    )
    .unwrap();
    let unit = other.create_unit(UnitId(77), 1).unwrap();
    let pages: Vec<PageId> =
        (0..60).map(|_| new_page(&other, &unit, PageType::Lob).unwrap()).collect();
    let found = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for &id in pages.iter().cycle().take(3000) {
                let page = other.read(id).unwrap();
                assert_eq!((page.id(), page.unit()), (id, UnitId(77)));
                found.fetch_add(1, Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            for &id in ids.iter().cycle().take(3000) {
                assert_eq!(db.store.read(id).unwrap().unit(), UnitId(1));
            }
        });
    });
    assert_eq!(found.load(Ordering::Relaxed), 3000);
    drop((unit, other));
    for &id in &ids {
        assert_eq!(
            db.store.read(id).unwrap().unit(),
            UnitId(1),
            "closing one leaves the other alone"
        );
    }
}

/// The pages of a store that has failed make room, though somebody holds it: their changes are in
/// the log, from where they were before.
#[test]
fn a_store_that_has_failed_leaves_the_pool_to_others() {
    let (db, ids) = counters(128, 80);
    db.checkpoint().unwrap();
    ids.iter().for_each(|&id| add_one(&db, id, 7));
    db.log.flush_all().unwrap();
    db.store.abandon("failed");
    let (dirty, redo) = (db.store.dirty_pages(), db.store.min_rec_lsn());
    assert!(dirty > 40 && redo.is_some(), "{dirty} pages, {redo:?}");
    let disk: Arc<dyn disk::Disk> = Arc::new(SimDisk::new(8));
    let log = wal::Log::create(&*disk, std::path::Path::new("b.ldf"), wal::LogOptions::default())
        .unwrap();
    let pool = Arc::clone(&db.pool);
    let other = Store::create(
        disk,
        pool,
        Arc::clone(&log) as Arc<_>,
        [2; 16],
        &[spec(1, 1, 0)],
        &InstanceHome::default(),
    );
    let other = other.unwrap();
    let unit = other.create_unit(UnitId(77), 1).unwrap();
    let pages: Vec<PageId> =
        (0..200).map(|_| new_page(&other, &unit, PageType::Lob).unwrap()).collect();
    let begin = Instant::now();
    // A few that are not worth a batch may stay.
    while db.store.dirty_pages() > 20 {
        assert!(begin.elapsed() < Duration::from_secs(30), "{} pages stay", db.store.dirty_pages());
        pages.iter().for_each(|&id| assert_eq!(other.read(id).unwrap().id(), id));
    }
    assert!(matches!(db.store.read(ids[0]), Err(PageError::Offline { .. })));
    assert_eq!(db.store.min_rec_lsn(), redo);
    let left = db.disk.crash(3);
    drop((unit, other, db));
    all_are_one(&open(left, 128).unwrap(), &ids);
}

/// Waits until the pool holds as many frames as wanted, some seconds at most.
fn comes_to(held: &dyn Fn() -> Option<usize>, wanted: impl Fn(usize) -> bool) -> usize {
    let begin = Instant::now();
    loop {
        let frames = held().unwrap() / 8192;
        if wanted(frames) || begin.elapsed() > Duration::from_secs(30) {
            return frames;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_pool_comes_down_to_its_budget_and_grows_again() {
    let (db, ids) = counters(600, 500);
    let budget = Arc::new(AtomicU64::new(u64::MAX));
    let asked = budget.clone();
    db.pool.set_budget(move || asked.load(Ordering::Relaxed));
    let (held, look) = (db.pool.held(), db.pool.look_at_budget());
    assert!(held().unwrap() >= 500 * 8192, "all pages are there");
    // Most of the pages were never written: they are before they give way.
    budget.store(100 * 8192, Ordering::Relaxed);
    look();
    assert_eq!(comes_to(&held, |frames| frames <= 100), 100);
    ids.iter().for_each(|&id| {
        assert_eq!(counter_of(&db.store, id), 0, "what was given up is read again")
    });
    assert_eq!(held().unwrap() / 8192, 100, "reading does not pass the budget");
    budget.store(u64::MAX, Ordering::Relaxed);
    look();
    // The lazy writer has heard of it as soon as a page can come into another frame.
    let all = || {
        ids.iter().for_each(|&id| drop(db.store.read(id).unwrap()));
        held()
    };
    assert!(comes_to(&all, |frames| frames >= 500) >= 500, "and has its frames again");
    assert!(held().unwrap() / 8192 <= 600);
}

#[test]
fn no_update_is_lost_while_the_budget_changes() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 2000;
    let (db, ids) = counters(400, 300);
    let done = AtomicBool::new(false);
    let calls = AtomicU64::new(0);
    db.pool.set_budget(move || {
        if calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { 64 * 8192 } else { u64::MAX }
    });
    let look = db.pool.look_at_budget();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|t| {
                let (db, ids) = (&db, &ids);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(t);
                    for n in 0..ROUNDS {
                        add_one(db, ids[rng.usize(0..ids.len())], t * ROUNDS + n + 1);
                    }
                })
            })
            .collect();
        let changes = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                look();
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        for w in workers {
            w.join().unwrap();
        }
        done.store(true, Ordering::Release);
        changes.join().unwrap();
    });
    let sum: u64 = ids.iter().map(|&id| counter_of(&db.store, id)).sum();
    assert_eq!(sum, THREADS * ROUNDS);
}

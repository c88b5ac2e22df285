//! The database as a whole: closing and opening, settings, delayed durability, a full log, failing
//! disks.

use ringwood_txn as txn;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::*;
use pages::UnitId;
use sim::{Fault, OpKind, SimDisk};
use txn::{
    BackgroundPace, Database, DbState, DelayedDurability, Durability, ErrorKind, LogReuseWait,
    RecoveryModel, Status, TxnError,
};
use wal::{Growth, GrowthEvent, LogOptions};

fn small(disk: &SimDisk, log: u64, growth: Growth) -> (Arc<Database>, Table) {
    let settings = DbState { delayed: DelayedDurability::Allowed, ..DbState::initial() };
    let db =
        create(env(Arc::new(disk.clone()), 1000, false), log_options(log, growth, false), settings)
            .unwrap();
    let table = Table::create(&db).unwrap();
    (db, table)
}

fn reopen(disk: &SimDisk) -> Result<(Arc<Database>, Table), TxnError> {
    let db = open(
        env(Arc::new(disk.clone()), 1000, false),
        log_options(0, Growth::Bytes(1 << 20), false),
    )?;
    let table = Table::open(&db)?;
    Ok((db, table))
}

fn put(
    db: &Arc<Database>,
    table: &Table,
    id: u64,
    payload: &[u8],
    d: Durability,
) -> Result<(), TxnError> {
    let mut t = db.begin(51)?;
    assert_eq!(table.insert(&mut t, id, payload)?, TriedChange::Done);
    t.commit(d).map(drop)
}

fn rows(db: &Arc<Database>, table: &Table) -> Vec<u64> {
    let s = db.snapshot();
    table.read_all(s.mode()).unwrap().unwrap().into_keys().collect()
}

#[test]
fn a_closed_database_has_nothing_to_redo() {
    let disk = SimDisk::new(3);
    let (db, table) = small(&disk, 2 << 20, Growth::Bytes(1 << 20));
    put(&db, &table, 1, b"one", Durability::Full).unwrap();
    db.change_settings(|s| {
        s.recovery_model = RecoveryModel::Full;
        s.delayed = DelayedDurability::Forced;
    })
    .unwrap();
    put(&db, &table, 2, b"two", Durability::Full).unwrap();
    let next = db.txns().next_id();
    let mut busy = db.begin(51).unwrap();
    table.update(&mut busy, 1, b"uno").unwrap();
    assert!(matches!(db.close(), Err(TxnError::Busy { active: 1 })));
    busy.rollback().unwrap();
    db.close().unwrap();
    assert_eq!(db.status(), Status::Offline);
    assert!(db.begin(51).is_err());
    let (db, table) = reopen(&disk).unwrap();
    let report = db.recovery_report();
    assert!(report.clean && report.rolled_back == 0, "{report:?}");
    assert_eq!(rows(&db, &table), [1, 2]);
    assert_eq!(db.settings().recovery_model, RecoveryModel::Full);
    assert_eq!(db.delayed_durability(), DelayedDurability::Forced);
    assert!(db.txns().next_id() > next, "transaction ids go on");
    assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new());
}

#[test]
fn creating_over_existing_files_fails_and_keeps_them() {
    let disk = SimDisk::new(3);
    let (db, table) = small(&disk, 2 << 20, Growth::None);
    put(&db, &table, 1, b"one", Durability::Full).unwrap();
    let again = create(
        env(Arc::new(disk.clone()), 100, false),
        log_options(1 << 20, Growth::None, false),
        DbState::initial(),
    );
    assert_eq!(again.unwrap_err().kind(), ErrorKind::File);
    db.close().unwrap();
    drop((db, table));
    let (db, table) = reopen(&disk).unwrap();
    assert_eq!(rows(&db, &table), [1]);
}

#[test]
fn delayed_commits_become_hard_soon() {
    let disk = SimDisk::new(3);
    let settings = DbState { delayed: DelayedDurability::Forced, ..DbState::initial() };
    let db = create(
        env(Arc::new(disk.clone()), 1000, true),
        log_options(2 << 20, Growth::None, true),
        settings,
    )
    .unwrap();
    let table = Table::create(&db).unwrap();
    let mut t = db.begin(51).unwrap();
    table.insert(&mut t, 1, b"one").unwrap();
    let done = t.commit(Durability::Full).unwrap();
    assert!(!done.durable);
    assert_eq!(rows(&db, &table), [1], "visible at once");
    let start = Instant::now();
    while !db.log().is_durable(done.lsn) {
        assert!(start.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn deferred_work_runs_after_the_commit_only() {
    let disk = SimDisk::new(3);
    let (db, table) = small(&disk, 2 << 20, Growth::None);
    let ran = Arc::new(AtomicU64::new(0));
    let work = |n: u64| -> txn::Deferred {
        let ran = ran.clone();
        let work = Box::new(move |_: &Arc<Database>| {
            ran.fetch_add(n, Ordering::SeqCst);
        });
        txn::Deferred { units: Vec::new(), work }
    };
    let mut t = db.begin(51).unwrap();
    table.insert(&mut t, 1, b"x").unwrap();
    t.defer(work(1));
    let mark = t.savepoint().unwrap();
    t.defer(work(10));
    t.rollback_to(&mark).unwrap();
    db.run_deferred();
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    t.commit(Durability::Full).unwrap();
    db.run_deferred();
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    let mut t = db.begin(51).unwrap();
    t.defer(work(100));
    t.rollback().unwrap();
    db.run_deferred();
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[test]
fn nothing_is_logged_before_the_first_change() {
    let disk = SimDisk::new(3);
    let (db, table) = small(&disk, 2 << 20, Growth::None);
    let before = db.log().stats().records;
    let mut t = db.begin(51).unwrap();
    let mark = t.savepoint().unwrap();
    t.rollback_to(&mark).unwrap();
    assert_eq!(t.commit(Durability::Full).unwrap().lsn, wal::Lsn::ZERO);
    assert_eq!(db.log().stats().records, before);
    let mut t = db.begin(51).unwrap();
    let mark = t.mark();
    table.insert(&mut t, 1, b"x").unwrap();
    let log = t.log_state();
    assert!(log.records >= 4 && log.bytes > 0 && log.reserved > 0 && log.begin < log.last);
    t.rollback_to(&mark).unwrap();
    t.commit(Durability::Full).unwrap();
    assert_eq!(rows(&db, &table), [0u64; 0]);
    assert_eq!(db.log().space().reserved, 0);
}

#[test]
fn a_full_log_stops_the_statement_and_rollback_always_works() {
    let disk = SimDisk::new(3);
    let (db, table) = small(&disk, 1 << 20, Growth::None);
    put(&db, &table, 1, b"kept", Durability::Full).unwrap();
    let mut t = db.begin(51).unwrap();
    let mut id = 100;
    let e = loop {
        match table.insert(&mut t, id, &[b'f'; 700]) {
            Ok(_) => id += 1,
            Err(e) => break e,
        }
    };
    assert_eq!((e.kind(), e.number()), (ErrorKind::LogFull, 9002));
    assert!(id > 200, "full after {id} rows");
    assert!(db.explain(e).to_string().contains("holdup lsn is"));
    db.checkpoint().unwrap();
    assert_eq!(db.log_reuse_wait(), LogReuseWait::ActiveTransaction);
    t.rollback().unwrap();
    assert_eq!(db.status(), Status::Online);
    db.checkpoint().unwrap();
    assert_eq!(rows(&db, &table), [1]);
    put(&db, &table, 2, b"more", Durability::Full).unwrap();
    assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new());
}

/// Many small transactions through a log that cannot grow: automatic checkpoints keep it going.
#[test]
fn a_small_log_in_simple_recycles_for_ever() {
    let disk = Arc::new(SimDisk::new(3));
    let db =
        create(env(disk, 2000, true), log_options(1 << 20, Growth::None, true), DbState::initial())
            .unwrap();
    let table = Table::create(&db).unwrap();
    put(&db, &table, 1, b"x", Durability::Full).unwrap();
    for i in 0..3000u32 {
        let mut t = db.begin(51).unwrap();
        let tried = table.update(&mut t, 1, &i.to_be_bytes().repeat(200));
        assert_eq!(tried.unwrap_or_else(|e| panic!("round {i}: {e}")), TriedChange::Done);
        t.commit(Durability::Full).unwrap();
        db.throttle();
    }
    assert!(db.log().stats().record_bytes > 4 << 20);
    assert_eq!(db.log().space().size, db.log().space().size.min(2 << 20));
}

#[test]
fn the_log_waits_for_backups_when_told() {
    let disk = SimDisk::new(3);
    let (db, table) = small(&disk, 1 << 20, Growth::Bytes(1 << 20));
    assert!(db.truncates_at_checkpoint());
    db.change_settings(|s| s.recovery_model = RecoveryModel::Full).unwrap();
    assert!(db.truncates_at_checkpoint(), "no log chain has begun");
    db.hold_for_log_backup(Some(db.log().end()));
    assert!(!db.truncates_at_checkpoint());
    for id in 0..600 {
        put(&db, &table, id, &[b'b'; 900], Durability::Delayed).unwrap();
    }
    db.checkpoint().unwrap();
    assert_eq!(db.log_reuse_wait(), LogReuseWait::LogBackup);
    let used = db.log().space().used;
    db.hold_for_log_backup(Some(db.log().end()));
    db.checkpoint().unwrap();
    assert!(db.log().space().used < used);
    assert_eq!(db.log_reuse_wait(), LogReuseWait::Nothing);
}

#[test]
fn a_failed_log_write_takes_the_database_offline_and_loses_nothing_acknowledged() {
    for (kind, nth) in
        [(OpKind::Write, 1), (OpKind::Write, 2), (OpKind::Sync, 1), (OpKind::Write, 5)]
    {
        let disk = SimDisk::new(3);
        let (db, table) = small(&disk, 2 << 20, Growth::None);
        put(&db, &table, 1, b"one", Durability::Full).unwrap();
        disk.fail_on(Path::new(LOG), kind, nth, Fault::Io);
        let mut acked = vec![1];
        let mut failed = None;
        for id in 2..20 {
            match put(&db, &table, id, b"more", Durability::Full) {
                Ok(()) => acked.push(id),
                Err(e) => {
                    failed.get_or_insert(e);
                }
            }
        }
        let Some(e) = failed else {
            assert_eq!(kind, OpKind::Sync, "writes of the log always happen");
            continue;
        };
        assert_eq!(e.kind().number(), 9001, "{e}");
        assert_eq!(db.status(), Status::Suspect);
        assert!(db.cause().is_some());
        let s = db.begin(51);
        assert!(s.is_err());
        drop((db, table));
        disk.clear_faults();
        let (db, table) = reopen(&disk.crash(9)).unwrap();
        let found = rows(&db, &table);
        assert!(acked.iter().all(|id| found.contains(id)), "{acked:?} in {found:?}");
        assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn a_failed_data_write_leaves_the_log_to_repair_it() {
    for nth in 1..12 {
        for kind in [OpKind::Write, OpKind::Sync] {
            let disk = SimDisk::new(nth);
            let (db, table) = small(&disk, 4 << 20, Growth::None);
            for id in 0..200 {
                put(&db, &table, id, &[b'd'; 300], Durability::Full).unwrap();
            }
            disk.fail_on(Path::new(PRIMARY), kind, nth, Fault::Io);
            let failed = db.checkpoint().is_err();
            assert_eq!(db.status() == Status::Suspect, failed);
            drop((db, table));
            disk.clear_faults();
            let (db, table) = reopen(&disk.crash(nth)).unwrap();
            assert_eq!(rows(&db, &table), (0..200).collect::<Vec<u64>>());
            assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new());
        }
    }
}

#[test]
fn waiters_are_woken_when_the_database_dies() {
    let disk = SimDisk::new(3);
    let (db, table) = small(&disk, 2 << 20, Growth::None);
    put(&db, &table, 1, b"one", Durability::Full).unwrap();
    let mut t = db.begin(51).unwrap();
    table.update(&mut t, 1, b"mine").unwrap();
    let holder = t.id();
    let db2 = db.clone();
    let waiter = std::thread::spawn(move || db2.begin(52).unwrap().wait_for(holder));
    while db.locks().list(None).is_empty() {
        std::thread::yield_now();
    }
    db.fail("test", &TxnError::Invalid("the disk is gone"));
    assert_eq!(waiter.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(t.commit(Durability::Full).is_ok() || db.status() == Status::Suspect);
}

#[test]
fn background_checkpoints_follow_the_volume() {
    let disk: Arc<dyn disk::Disk> = Arc::new(SimDisk::new(3));
    let mut env = env(disk, 1000, true);
    env.pace = BackgroundPace { checkpoint_bytes: 100 << 10, ..BackgroundPace::default() };
    let db = create(env, log_options(4 << 20, Growth::None, true), DbState::initial()).unwrap();
    let table = Table::create(&db).unwrap();
    let before = db.last_checkpoint().0;
    for id in 0..300 {
        put(&db, &table, id, &[b'v'; 500], Durability::Full).unwrap();
    }
    let start = Instant::now();
    while db.last_checkpoint().0 == before {
        assert!(start.elapsed() < Duration::from_secs(10), "no checkpoint");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A log that only a checkpoint could free is full while checkpoints are held, and is of use again
/// afterwards.
#[test]
fn held_checkpoints_do_not_begin_by_themselves() {
    let disk: Arc<dyn disk::Disk> = Arc::new(SimDisk::new(3));
    let mut env = env(disk, 1000, true);
    env.pace = BackgroundPace { checkpoint_bytes: 100 << 10, ..BackgroundPace::default() };
    let held = env.pace.checkpoints_held.clone();
    held.store(true, Ordering::Relaxed);
    let db = create(env, log_options(4 << 20, Growth::None, true), DbState::initial()).unwrap();
    let table = Table::create(&db).unwrap();
    db.checkpoint().unwrap();
    let before = db.last_checkpoint().0;
    let fill = |from: u64| {
        (from..from + 20_000)
            .inspect(|_| db.throttle())
            .map(|id| (id, put(&db, &table, id, &[b'v'; 500], Durability::Delayed)))
            .find(|(_, put)| put.is_err())
    };
    let (full_at, error) = fill(0).expect("a full log");
    assert_eq!(error.unwrap_err().kind(), ErrorKind::LogFull);
    assert_eq!(db.last_checkpoint().0, before);
    held.store(false, Ordering::Relaxed);
    db.checkpoint().unwrap();
    assert!(fill(full_at).is_none());
    assert!(db.last_checkpoint().0 > before);
}

/// The queue of pages with ghosts ends with the process: a scan finds them again.
#[test]
fn ghosts_of_before_a_restart_are_found_by_scans() {
    let disk = SimDisk::new(77);
    let start = |disk: &SimDisk| {
        let log = log_options(1 << 20, Growth::Bytes(1 << 20), false);
        (env(Arc::new(disk.clone()), 400, false), log)
    };
    let (e, log) = start(&disk);
    let db = create(e, log, DbState::initial()).unwrap();
    let table = Table::create(&db).unwrap();
    let mut t = db.begin(1).unwrap();
    for id in 0..500 {
        assert_eq!(table.insert(&mut t, id, &[id as u8; 60]).unwrap(), TriedChange::Done);
    }
    t.commit(Durability::Full).unwrap();
    let mut t = db.begin(1).unwrap();
    for id in 0..400 {
        assert_eq!(table.delete(&mut t, id).unwrap(), TriedChange::Done);
    }
    t.commit(Durability::Full).unwrap();
    drop((table, db));

    let (e, log) = start(&disk);
    let db = open(e, log).unwrap();
    let table = Table::open(&db).unwrap();
    let ghosts = || table.heap.check().unwrap().ghosts + table.by_id.check().unwrap().ghosts;
    assert_eq!(ghosts(), 800);
    assert_eq!(db.clean_ghosts().unwrap(), 0, "nobody has met them");
    // A snapshot holds back only what is deleted after it.
    let reader = db.snapshot();
    assert_eq!(table.read_all(reader.mode()).unwrap().unwrap().len(), 100);
    let mut t = db.begin(1).unwrap();
    assert_eq!(table.delete(&mut t, 450).unwrap(), TriedChange::Done);
    t.commit(Durability::Full).unwrap();
    assert!(db.clean_ghosts().unwrap() > 1000);
    assert!(ghosts() <= 2, "{}", ghosts());
    assert_eq!(table.read_all(reader.mode()).unwrap().unwrap().len(), 100);
    drop(reader);
    db.clean_ghosts().unwrap();
    assert_eq!(ghosts(), 0);
    assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new());
}

/// Hears of growths.
#[derive(Debug, Default)]
struct Growths(parking_lot::Mutex<(u32, Vec<GrowthEvent>)>);

impl wal::WaitSink for Growths {
    fn waited(&self, kind: wal::WaitKind, _us: u64) {
        self.0.lock().0 += u32::from(kind == wal::WaitKind::Growth);
    }

    fn grew(&self, growth: &GrowthEvent) {
        self.0.lock().1.push(growth.clone());
    }
}

/// A data file that grows by itself says so in the way of the log; one that is grown does not. The
/// pages that a restart has to undo are no longer in memory: they are read in runs, not one by one.
#[test]
fn undo_reads_neighbouring_pages_together() {
    let disk = SimDisk::new(11);
    let (db, table) = small(&disk, 16 << 20, Growth::Bytes(1 << 20));
    let mut t = db.begin(51).unwrap();
    for id in 0..2000 {
        table.insert(&mut t, id, &[b'a'; 1000]).unwrap();
    }
    t.commit(Durability::Full).unwrap();
    let mut busy = db.begin(51).unwrap();
    for id in 0..2000 {
        assert_eq!(table.update(&mut busy, id, &[b'b'; 1000]).unwrap(), TriedChange::Done);
    }
    db.checkpoint().unwrap();
    let (db, table) = reopen(&disk.crash(1)).unwrap();
    assert_eq!(db.recovery_report().rolled_back, 1);
    let reads = |db: &Arc<Database>| -> u64 {
        db.store().files().iter().map(|info| info.file.stats().snapshot().reads).sum()
    };
    let pages = 2 * 2000 / 8;
    assert!(reads(&db) < pages / 3, "{} reads", reads(&db));
    let s = db.snapshot();
    let left = table.read_all(s.mode()).unwrap().unwrap();
    assert!(left.len() == 2000 && left.values().all(|payload| payload == &[b'a'; 1000]));
    std::mem::forget(busy);
}

#[test]
fn growing_data_files_say_so() {
    let heard = Arc::new(Growths::default());
    let log = |heard: &Arc<Growths>| LogOptions {
        waits: Some(heard.clone()),
        ..log_options(8 << 20, Growth::Bytes(1 << 20), false)
    };
    let disk = SimDisk::new(77);
    let db =
        create(env(Arc::new(disk.clone()), 300, false), log(&heard), DbState::initial()).unwrap();
    db.grow_file(1, 5 << 20).unwrap();
    assert!(heard.0.lock().1.is_empty());
    for id in 0..160 {
        db.create_unit(UnitId(1000 + id), 1).unwrap();
    }
    let first = pages_event("test2.ndf", 2, 4);
    let (waits, events) = heard.0.lock().clone();
    assert!(events.iter().any(|e| GrowthEvent { us: 0, ..e.clone() } == first), "{events:?}");
    assert_eq!(waits as usize, events.len(), "each was a wait");
    // A database that is opened says so too.
    db.close().unwrap();
    drop(db);
    let again = Arc::new(Growths::default());
    let db = open(env(Arc::new(disk), 300, false), log(&again)).unwrap();
    for id in 0..40 {
        db.create_unit(UnitId(3000 + id), 1).unwrap();
    }
    assert!(!again.0.lock().1.is_empty());
}

fn pages_event(name: &str, id: u16, from_mb: u64) -> GrowthEvent {
    GrowthEvent {
        data_file: Some((id, name.into())),
        from: from_mb << 20,
        to: (from_mb + 1) << 20,
        us: 0,
    }
}

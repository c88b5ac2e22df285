//! Commits whose caller waits for the log, once for several: power failure at each I/O under them.
//! What was waited for is there afterwards, and of the rest a beginning in its order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::*;
use sim::{SimConfig, SimDisk};
use txn::{Deferred, DelayedDurability, Durability, Status, TxnError};
use wal::Growth;

fn disk(seed: u64) -> SimDisk {
    SimDisk::with_config(seed, SimConfig { capacity: 1 << 30, ..SimConfig::default() })
}

fn made(disk: &SimDisk) -> Result<(Arc<txn::Database>, Table), TxnError> {
    let log = log_options(4 << 20, Growth::Bytes(1 << 20), false);
    let db = create(env(Arc::new(disk.clone()), 2000, false), log, txn::DbState::initial())?;
    let table = Table::create(&db)?;
    db.checkpoint()?;
    Ok((db, table))
}

/// Inserts row after row, each a transaction; waits after some of them. `told`: rows that were
/// waited for.
fn work(disk: &SimDisk, seed: u64, crash_at: u64, told: &mut u64) -> Result<(), TxnError> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (db, table) = made(disk)?;
    disk.crash_at(disk.io_count() + crash_at);
    let mut rows = 0;
    loop {
        let mut newest = None;
        for _ in 0..rng.u64(1..12) {
            let mut t = db.begin(51)?;
            assert_eq!(
                table.insert(&mut t, rows, &vec![b'u'; rng.usize(8..3000)])?,
                TriedChange::Done
            );
            newest = t.commit_unflushed(Durability::Full)?;
            assert!(t.is_over() && newest.is_some(), "the caller waits");
            rows += 1;
        }
        if rng.u32(0..10) == 0 {
            db.checkpoint()?;
        }
        if let Some(record) = newest {
            db.make_durable(record)?;
            *told = rows;
        }
    }
}

#[test]
fn power_loss_at_each_io() {
    for crash_at in 1..80 {
        let (disk, mut told) = (disk(crash_at), 0);
        let end = work(&disk, crash_at, crash_at, &mut told);
        assert!(end.is_err() && disk.has_crashed(), "{crash_at}: {end:?}");
        let disk = disk.crash(crash_at);
        let log = log_options(0, Growth::Bytes(1 << 20), false);
        let db = open(env(Arc::new(disk), 2000, false), log)
            .unwrap_or_else(|e| panic!("{crash_at}: {e}"));
        let table = Table::open(&db).unwrap_or_else(|e| panic!("{crash_at}: {e}"));
        let snapshot = db.snapshot();
        let rows: Vec<u64> =
            table.read_all(snapshot.mode()).unwrap().unwrap().into_keys().collect();
        assert!(
            rows.iter().copied().eq(0..rows.len() as u64),
            "{crash_at}: a beginning of the commits"
        );
        assert!(
            rows.len() as u64 >= told,
            "{crash_at}: {told} rows were waited for, {} are left",
            rows.len()
        );
    }
}

#[test]
fn who_waits_and_who_need_not() {
    let disk = disk(7);
    let (db, table) = made(&disk).unwrap();
    let insert = |id: u64| {
        let mut t = db.begin(51).unwrap();
        assert_eq!(table.insert(&mut t, id, b"row").unwrap(), TriedChange::Done);
        t
    };
    let record = insert(1).commit_unflushed(Durability::Full).unwrap().expect("its caller waits");
    assert!(!db.log().is_durable(record));
    // Others see it, and know for what they wait.
    let reader = db.snapshot();
    assert!(table.get(1, reader.mode()).unwrap().is_some());
    assert!(reader.unflushed().is_some());
    // Blocks are durable as a whole: only the block of the newest commit is known.
    let newest = db.newest_unflushed().expect("it is not durable");
    assert_eq!((newest.vlf, newest.block), (record.vlf, record.block));
    db.make_durable(record).unwrap();
    assert!(
        db.log().is_durable(record)
            && reader.unflushed().is_none()
            && db.newest_unflushed().is_none()
    );
    // What was deferred until the commit is durable waits for that.
    let done = Arc::new(AtomicBool::new(false));
    let (mut t, tell) = (insert(2), done.clone());
    t.defer(Deferred {
        units: Vec::new(),
        work: Box::new(move |_| tell.store(true, Ordering::Relaxed)),
    });
    assert_eq!(t.commit_unflushed(Durability::Full).unwrap(), None);
    assert!(db.newest_unflushed().is_none());
    // Delayed commits have nobody who waits; a transaction that wrote nothing has nothing to wait
    // for.
    db.change_settings(|settings| settings.delayed = DelayedDurability::Allowed).unwrap();
    assert_eq!(insert(3).commit_unflushed(Durability::Delayed).unwrap(), None);
    assert!(insert(4).commit_unflushed(Durability::Full).unwrap().is_some());
    assert_eq!(db.begin(51).unwrap().commit_unflushed(Durability::Full).unwrap(), None);
    // A log that cannot be flushed takes the database offline.
    let record = insert(5).commit_unflushed(Durability::Full).unwrap().expect("its caller waits");
    disk.crash_at(disk.io_count() + 1);
    assert!(db.make_durable(record).is_err());
    assert!(db.make_durable(record).is_err(), "for good");
    assert_eq!(db.status(), Status::Suspect);
    assert!(db.store().check_online().is_err(), "its pages are of no use any more");
}

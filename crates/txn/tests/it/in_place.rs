//! Transactions that begin in the place of one that has ended: each is a transaction of its own,
//! for snapshots, locks, whoever looks at it, and over a power failure at each I/O under it.

use std::sync::Arc;

use crate::support::*;
use pages::TxnId;
use sim::{SimConfig, SimDisk};
use txn::{Durability, LockMode, LockTarget, Status, TxnError, WaitArgs};
use wal::Growth;

/// A row that is taken back is above all that stay.
const TAKEN_BACK: u64 = 1 << 40;

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

fn insert(table: &Table, t: &mut txn::Txn, id: u64) {
    assert_eq!(table.insert(t, id, b"row").unwrap(), TriedChange::Done);
}

#[test]
fn each_is_a_transaction_of_its_own() {
    let (db, table) = made(&disk(1)).unwrap();
    let mut t = db.begin(51).unwrap();
    assert!(!t.begin_again(WaitArgs::default()), "it has not ended");
    let mut ids = Vec::new();
    let mut owners = Vec::new();
    for id in 0..6 {
        t.lock(LockTarget::Table(7), LockMode::IX).unwrap();
        insert(&table, &mut t, id);
        ids.push(t.id());
        owners.push(t.locks.id());
        let during = db.snapshot();
        assert!(table.get(id, during.mode()).unwrap().is_none(), "it has not ended");
        assert!(
            id == 0 || table.get(id - 1, during.mode()).unwrap().is_some(),
            "the one before has"
        );
        // Whoever has looked at it keeps what it has seen.
        let seen = db.txns().active();
        assert!(seen.iter().any(|shared| shared.id == t.id()));
        t.commit_in_place(Durability::Full).unwrap();
        assert!(t.is_over() && t.has_written() && db.locks().list(None).is_empty());
        assert!(table.get(id, during.mode()).unwrap().is_none(), "it ended after the snapshot");
        assert!(t.begin_again(WaitArgs { timeout_ms: 5, ..WaitArgs::default() }));
        assert_eq!((t.id(), t.has_written(), t.wait.timeout_ms), (TxnId(0), false, 5));
        assert_eq!(t.log_state().records, 0);
        // Every second one only reads before the next begins, also after it was looked at.
        if id % 2 == 0 {
            assert!(table.get(id, t.snapshot().mode()).unwrap().is_some());
            assert!(t.end_unwritten() && t.begin_again(WaitArgs::default()));
        }
        t.begin_writing().unwrap();
        assert!(seen.iter().all(|shared| shared.id != t.id()), "the list is of before");
        assert_eq!(seen.last().map(|shared| shared.id), ids.last().copied());
    }
    t.rollback().unwrap();
    ids.dedup();
    owners.dedup();
    assert_eq!((ids.len(), owners.len()), (6, 6));
    assert!(db.txns().active().is_empty());
}

#[test]
fn none_begins_in_a_database_that_has_failed() {
    let disk = disk(2);
    let (db, table) = made(&disk).unwrap();
    let mut t = db.begin(51).unwrap();
    insert(&table, &mut t, 1);
    disk.crash_at(disk.io_count() + 1);
    assert!(t.commit_in_place(Durability::Full).is_err());
    assert_eq!(db.status(), Status::Suspect);
    assert!(!t.begin_again(WaitArgs::default()));
}

#[test]
fn a_snapshot_that_has_ended_holds_nothing_and_can_be_taken_again() {
    let (db, table) = made(&disk(3)).unwrap();
    let mut reader = db.snapshot();
    let mut t = db.begin(51).unwrap();
    insert(&table, &mut t, 1);
    t.commit_in_place(Durability::Full).unwrap();
    assert!(db.txns().log_hold().is_some(), "the snapshot needs the log of before");
    reader.end();
    reader.end();
    assert!(db.txns().log_hold().is_none());
    reader.renew(TxnId(0));
    assert!(db.txns().log_hold().is_some());
    assert!(table.get(1, reader.mode()).unwrap().is_some());
    drop(reader);
    assert!(db.txns().log_hold().is_none());
}

/// Inserts row after row, each a transaction in the place of the one before. `told`: rows whose
/// commit was answered.
fn work(disk: &SimDisk, seed: u64, crash_at: u64, told: &mut u64) -> Result<(), TxnError> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (db, table) = made(disk)?;
    disk.crash_at(disk.io_count() + crash_at);
    let mut t = db.begin(51)?;
    loop {
        assert_eq!(
            table.insert(&mut t, *told, &vec![b'i'; rng.usize(8..3000)])?,
            TriedChange::Done
        );
        if rng.bool() {
            let place = t.mark();
            assert_eq!(table.insert(&mut t, TAKEN_BACK + *told, b"taken back")?, TriedChange::Done);
            t.rollback_to(&place)?;
        }
        if rng.u32(0..10) == 0 {
            // It has the running transaction in its list.
            db.checkpoint()?;
        }
        t.commit_in_place(Durability::Full)?;
        *told += 1;
        assert!(t.begin_again(WaitArgs::default()));
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
        assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new(), "{crash_at}");
        let snapshot = db.snapshot();
        let rows: Vec<u64> =
            table.read_all(snapshot.mode()).unwrap().unwrap().into_keys().collect();
        assert!(
            rows.iter().copied().eq(0..rows.len() as u64),
            "{crash_at}: a beginning of the commits"
        );
        let left = rows.len() as u64;
        assert!(
            left == told || left == told + 1,
            "{crash_at}: {told} rows were told of, {left} are left"
        );
    }
}

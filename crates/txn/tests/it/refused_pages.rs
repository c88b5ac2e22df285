//! Pages that the device refuses to write: the database goes on, keeps the log that they need, and
//! loses nothing.

use ringwood_txn as txn;

use std::path::Path;
use std::sync::Arc;

use crate::support::*;
use access::ReadMode;
use sim::{Fault, SimDisk};
use txn::{Database, DbState, Durability, LogReuseWait, Status};
use wal::Growth;

/// From behind the doublewrite area on, in the primary file and in the second one.
const HOMES: u64 = 272 * 8192;

fn database(disk: &SimDisk) -> (Arc<Database>, Table) {
    let log = log_options(1 << 20, Growth::Bytes(1 << 20), false);
    let db = create(env(Arc::new(disk.clone()), 400, false), log, DbState::initial()).unwrap();
    let table = Table::create(&db).unwrap();
    (db, table)
}

fn reopen(disk: &SimDisk) -> (Arc<Database>, Table) {
    let log = log_options(1 << 20, Growth::Bytes(1 << 20), false);
    let db = open(env(Arc::new(disk.clone()), 400, false), log).unwrap();
    let table = Table::open(&db).unwrap();
    (db, table)
}

fn put(db: &Arc<Database>, table: &Table, ids: std::ops::Range<u64>, byte: u8) {
    let mut t = db.begin(51).unwrap();
    for id in ids {
        let there = table.get(id, ReadMode::Current).unwrap().is_some();
        let row = [byte; 300];
        let tried =
            if there { table.update(&mut t, id, &row) } else { table.insert(&mut t, id, &row) };
        assert_eq!(tried.unwrap(), TriedChange::Done);
    }
    t.commit(Durability::Full).unwrap();
}

fn check(db: &Arc<Database>, table: &Table, rows: u64, byte: u8) {
    let t = db.begin(51).unwrap();
    let snapshot = t.snapshot();
    let all = table.read_all(snapshot.mode()).unwrap().unwrap();
    assert_eq!(all.len() as u64, rows);
    assert!(all.values().all(|row| row == &[byte; 300]));
    drop(snapshot);
    assert!(table.faults(db).unwrap().is_empty());
}

fn refuse(disk: &SimDisk, fault: Fault) {
    disk.refuse_writes(Path::new(PRIMARY), HOMES..u64::MAX, fault);
    disk.refuse_writes(Path::new("db/test2.ndf"), 16 * 8192..u64::MAX, fault);
}

/// The checkpoint says 823, the database stays online, and its log is kept until the pages can be
/// written.
#[test]
fn a_checkpoint_that_cannot_write_pages_keeps_the_log() {
    for fault in [Fault::Io, Fault::ShortWrite, Fault::NoSpace] {
        let disk = SimDisk::new(4);
        let (db, table) = database(&disk);
        put(&db, &table, 0..200, b'a');
        db.checkpoint().unwrap();
        put(&db, &table, 0..200, b'b');
        let held = db.store().min_rec_lsn().unwrap();
        refuse(&disk, fault);
        for _ in 0..3 {
            let error = db.checkpoint().unwrap_err();
            assert!(error.is_unwritten() && error.number() == 823, "{error}");
            assert!(db.last_checkpoint().1 <= held);
            put(&db, &table, 0..200, b'c');
        }
        assert_eq!(db.status(), Status::Online);
        assert_eq!(db.log_reuse_wait(), LogReuseWait::Checkpoint);
        let used = db.log().space().used;
        disk.clear_faults();
        db.checkpoint().unwrap();
        assert!(db.log().space().used < used, "the log is truncated again");
        assert_eq!(db.checkpoint_error(), None);
        check(&db, &table, 200, b'c');
        db.close().unwrap();
        let (db, table) = reopen(&disk);
        assert!(db.recovery_report().clean);
        check(&db, &table, 200, b'c');
    }
}

/// Power loss, or a clean stop, while pages cannot be written: the next start redoes them.
#[test]
fn what_could_not_be_written_is_redone() {
    for (seed, stop) in (0..16).map(|seed| (seed, seed % 2 == 0)) {
        let disk = SimDisk::new(seed);
        let (db, table) = database(&disk);
        put(&db, &table, 0..200, b'a');
        db.checkpoint().unwrap();
        put(&db, &table, 0..200, b'b');
        refuse(&disk, if seed % 4 < 2 { Fault::ShortWrite } else { Fault::NoSpace });
        assert!(db.checkpoint().unwrap_err().is_unwritten());
        put(&db, &table, 0..200, b'c');
        if stop {
            db.close().unwrap();
        }
        let after = disk.crash(seed);
        drop((db, table));
        let (db, table) = reopen(&after);
        assert!(!db.recovery_report().clean);
        check(&db, &table, 200, b'c');
    }
}

/// A start that cannot write what it has redone goes on; the pages are written later.
#[test]
fn a_start_does_not_fail_for_pages_that_are_refused() {
    let disk = SimDisk::new(9);
    let (db, table) = database(&disk);
    put(&db, &table, 0..200, b'a');
    let after = disk.crash(9);
    drop((db, table));
    refuse(&after, Fault::Io);
    let (db, table) = reopen(&after);
    assert_eq!(db.status(), Status::Online);
    assert!(db.checkpoint().unwrap_err().is_unwritten());
    after.clear_faults();
    db.checkpoint().unwrap();
    check(&db, &table, 200, b'a');
}

/// The checkpoint thread tries again by itself.
#[test]
fn refused_pages_are_tried_again_in_the_background() {
    let disk = SimDisk::new(5);
    let log = log_options(1 << 20, Growth::Bytes(1 << 20), true);
    let db = create(env(Arc::new(disk.clone()), 400, true), log, DbState::initial()).unwrap();
    let table = Table::create(&db).unwrap();
    put(&db, &table, 0..200, b'a');
    refuse(&disk, Fault::Io);
    assert!(db.checkpoint().unwrap_err().is_unwritten());
    disk.clear_faults();
    let begin = std::time::Instant::now();
    while db.checkpoint_error().is_some() {
        assert!(begin.elapsed().as_secs() < 60, "nobody tries again");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(db.status(), Status::Online);
    check(&db, &table, 200, b'a');
}

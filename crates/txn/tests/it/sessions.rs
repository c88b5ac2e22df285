//! Sessions beside each other: visibility, waiting, deadlocks, lost updates, invariants under many
//! threads.

use ringwood_txn as txn;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::*;
use access::ReadMode;
use sim::SimDisk;
use txn::locks::LockStatus;
use txn::{
    Database, DbState, Durability, ErrorKind, LockMode, LockTarget, Txn, TxnError, WaitArgs,
};
use wal::Growth;

fn database(background: bool) -> (Arc<Database>, Table) {
    let disk = Arc::new(SimDisk::new(1));
    let log = log_options(16 << 20, Growth::Bytes(16 << 20), background);
    let db = create(env(disk, 2000, background), log, DbState::initial()).unwrap();
    let table = Table::create(&db).unwrap();
    (db, table)
}

fn put(db: &Arc<Database>, table: &Table, rows: &[(u64, &[u8])]) {
    let mut t = db.begin(51).unwrap();
    for (id, payload) in rows {
        assert_eq!(table.insert(&mut t, *id, payload).unwrap(), TriedChange::Done);
    }
    t.commit(Durability::Full).unwrap();
}

fn until_waiting(db: &Database) {
    let start = Instant::now();
    while !db.locks().list(None).iter().any(|l| l.status == LockStatus::Wait) {
        assert!(start.elapsed() < Duration::from_secs(10), "nobody waits");
        thread::yield_now();
    }
}

/// Updates a row, waiting for the transaction that has it.
fn update(t: &mut Txn, table: &Table, id: u64, payload: &[u8]) -> Result<(), TxnError> {
    loop {
        match table.update(t, id, payload)? {
            TriedChange::Done => return Ok(()),
            TriedChange::Wait(other) => t.wait_for(other)?,
            o => panic!("update of row {id}: {o:?}"),
        }
    }
}

#[test]
fn readers_see_committed_work_only() {
    let (db, table) = database(false);
    put(&db, &table, &[(1, b"one"), (2, b"two")]);
    let before = db.snapshot();
    let mut t = db.begin(52).unwrap();
    assert_eq!(table.update(&mut t, 1, b"ONE, and longer").unwrap(), TriedChange::Done);
    assert_eq!(table.delete(&mut t, 2).unwrap(), TriedChange::Done);
    assert_eq!(table.insert(&mut t, 3, b"three").unwrap(), TriedChange::Done);
    let during = db.snapshot();
    let own = t.snapshot();
    let old: Model = [(1, b"one".to_vec()), (2, b"two".to_vec())].into();
    let new: Model = [(1, b"ONE, and longer".to_vec()), (3, b"three".to_vec())].into();
    assert_eq!(table.read_all(during.mode()).unwrap().unwrap(), old);
    assert_eq!(table.read_all(own.mode()).unwrap().unwrap(), new);
    assert_eq!(table.read_all(ReadMode::Dirty).unwrap().unwrap(), new);
    drop(own);
    let lsn = t.commit(Durability::Full).unwrap().lsn;
    assert!(db.log().is_durable(lsn));
    assert_eq!(table.read_all(before.mode()).unwrap().unwrap(), old);
    assert_eq!(table.read_all(during.mode()).unwrap().unwrap(), old);
    let after = db.snapshot();
    assert_eq!(table.read_all(after.mode()).unwrap().unwrap(), new);
    after.acknowledge().unwrap();
    // Ghosts stay while somebody may look back, and go afterwards.
    assert_eq!(db.clean_ghosts().unwrap(), 0);
    drop((before, during, after));
    assert!(db.clean_ghosts().unwrap() >= 3);
    assert_eq!(db.ghosts().counts().queued, 0);
    assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new());
    let s = db.snapshot();
    assert_eq!(table.read_all(s.mode()).unwrap().unwrap(), new);
}

#[test]
fn a_long_snapshot_reads_through_checkpoints_and_truncation() {
    let (db, table) = database(false);
    let rows: Vec<(u64, Vec<u8>)> = (0..50).map(|i| (i, vec![b'x'; 100])).collect();
    put(&db, &table, &rows.iter().map(|(i, p)| (*i, p.as_slice())).collect::<Vec<_>>());
    let old: Model = rows.into_iter().collect();
    let s = db.snapshot();
    for round in 0..40u8 {
        let mut t = db.begin(51).unwrap();
        for id in 0..50 {
            // Changed again at once: the second record leaves out what the first one has.
            for again in [0, 100] {
                assert_eq!(
                    table.update(&mut t, id, &vec![round + again; 1000]).unwrap(),
                    TriedChange::Done
                );
            }
        }
        t.commit(Durability::Full).unwrap();
        db.checkpoint().unwrap();
    }
    assert!(s.xmin() < db.txns().next_id());
    assert_eq!(db.log_reuse_wait(), txn::LogReuseWait::ActiveTransaction);
    assert_eq!(table.read_all(s.mode()).unwrap().unwrap(), old);
    let held = db.log().space().used;
    drop(s);
    db.checkpoint().unwrap();
    assert!(db.log().space().used < held);
    assert_ne!(db.log_reuse_wait(), txn::LogReuseWait::ActiveTransaction);
}

#[test]
fn a_writer_waits_for_the_row_and_then_goes_on() {
    let (db, table) = database(false);
    put(&db, &table, &[(1, b"one")]);
    let mut t1 = db.begin(51).unwrap();
    assert_eq!(table.update(&mut t1, 1, b"first").unwrap(), TriedChange::Done);
    let (db2, table2) = (db.clone(), table.clone());
    let second = thread::spawn(move || {
        let mut t2 = db2.begin(52).unwrap();
        update(&mut t2, &table2, 1, b"second").unwrap();
        t2.commit(Durability::Full).unwrap();
    });
    until_waiting(&db);
    let s = db.snapshot();
    assert_eq!(table.get(1, s.mode()).unwrap().unwrap(), b"one");
    t1.commit(Durability::Full).unwrap();
    second.join().unwrap();
    let s = db.snapshot();
    assert_eq!(table.get(1, s.mode()).unwrap().unwrap(), b"second");
    let waits = db.locks().wait_stats();
    assert_eq!((waits[0].wait_type, waits[0].count), ("LCK_M_X", 1));
}

#[test]
fn lock_timeout_leaves_the_transaction_whole() {
    let (db, table) = database(false);
    put(&db, &table, &[(1, b"one"), (2, b"two")]);
    let mut t1 = db.begin(51).unwrap();
    table.update(&mut t1, 1, b"first").unwrap();
    let mut t2 = db.begin(52).unwrap();
    t2.wait.timeout_ms = 30;
    table.update(&mut t2, 2, b"kept").unwrap();
    let start = Instant::now();
    let e = update(&mut t2, &table, 1, b"second").unwrap_err();
    assert_eq!((e.kind(), e.kind().number()), (ErrorKind::LockTimeout, 1222));
    assert!(start.elapsed() >= Duration::from_millis(30));
    t1.rollback().unwrap();
    update(&mut t2, &table, 1, b"second").unwrap();
    t2.commit(Durability::Full).unwrap();
    let s = db.snapshot();
    assert_eq!(table.get(1, s.mode()).unwrap().unwrap(), b"second");
    assert_eq!(table.get(2, s.mode()).unwrap().unwrap(), b"kept");
}

#[test]
fn table_locks_shut_writers_out() {
    let (db, _) = database(false);
    let mut t1 = db.begin(51).unwrap();
    t1.lock(LockTarget::Table(7), LockMode::IX).unwrap();
    let mut t2 = db.begin(52).unwrap();
    t2.wait = WaitArgs { timeout_ms: 0, ..WaitArgs::default() };
    t2.lock(LockTarget::Table(7), LockMode::IX).unwrap();
    assert_eq!(
        t2.lock(LockTarget::Table(7), LockMode::X).unwrap_err().kind(),
        ErrorKind::LockTimeout
    );
    assert!(!t1.has_written());
    let done = t1.commit(Durability::Full).unwrap();
    assert_eq!(done.lsn, wal::Lsn::ZERO);
    t2.lock(LockTarget::Table(7), LockMode::X).unwrap();
}

#[test]
fn deadlock_over_rows_has_one_victim() {
    let (db, table) = database(false);
    put(&db, &table, &[(1, b"one"), (2, b"two")]);
    let mut t1 = db.begin(51).unwrap();
    table.update(&mut t1, 1, b"t1").unwrap();
    let (db2, table2) = (db.clone(), table.clone());
    let other = thread::spawn(move || {
        let mut t2 = db2.begin(52).unwrap();
        t2.wait.priority = -5;
        table2.update(&mut t2, 2, b"t2").unwrap();
        let e = update(&mut t2, &table2, 1, b"t2").unwrap_err();
        let seen = (e.kind(), e.kind().number());
        t2.rollback().unwrap();
        seen
    });
    until_waiting(&db);
    update(&mut t1, &table, 2, b"t1").unwrap();
    t1.commit(Durability::Full).unwrap();
    assert_eq!(other.join().unwrap(), (ErrorKind::Deadlock, 1205));
    let s = db.snapshot();
    assert_eq!(table.get(1, s.mode()).unwrap().unwrap(), b"t1");
    assert_eq!(table.get(2, s.mode()).unwrap().unwrap(), b"t1");
}

#[test]
fn no_update_is_lost() {
    let (db, table) = database(true);
    put(&db, &table, &[(1, &0u64.to_be_bytes())]);
    const EACH: u64 = 150;
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let (db, table) = (db.clone(), table.clone());
            thread::spawn(move || {
                for _ in 0..EACH {
                    let mut t = db.begin(60 + i).unwrap();
                    loop {
                        // Takes the row first, then computes from its newest version.
                        let now = table.get(1, ReadMode::Current).unwrap().unwrap();
                        let n = u64::from_be_bytes(now.try_into().unwrap());
                        let mark = t.mark();
                        match table
                            .update_if(&mut t, 1, &n.to_be_bytes(), &(n + 1).to_be_bytes())
                            .unwrap()
                        {
                            TriedChange::Done => break,
                            TriedChange::Wait(other) => t.wait_for(other).unwrap(),
                            _ => t.rollback_to(&mark).unwrap(),
                        }
                    }
                    t.commit(Durability::Full).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let s = db.snapshot();
    assert_eq!(table.get(1, s.mode()).unwrap().unwrap(), (4 * EACH).to_be_bytes());
    assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new());
}

/// Money moves between accounts; every snapshot sees the same sum; deadlocks and rollbacks lose
/// nothing.
#[test]
fn bank_transfers_keep_the_sum() {
    const ACCOUNTS: u64 = 12;
    let (db, table) = database(true);
    let rows: Vec<(u64, [u8; 8])> = (0..ACCOUNTS).map(|i| (i, 1000u64.to_be_bytes())).collect();
    put(&db, &table, &rows.iter().map(|(i, p)| (*i, p.as_slice())).collect::<Vec<_>>());
    let stop = Arc::new(AtomicBool::new(false));
    let (moved, deadlocks) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut threads = Vec::new();
    for i in 0..4u64 {
        let (db, table, stop) = (db.clone(), table.clone(), stop.clone());
        let (moved, deadlocks) = (moved.clone(), deadlocks.clone());
        threads.push(thread::spawn(move || {
            let mut rng = fastrand::Rng::with_seed(i);
            while !stop.load(Ordering::Relaxed) {
                let (a, b) = (rng.u64(0..ACCOUNTS), rng.u64(0..ACCOUNTS));
                if a != b {
                    match transfer(&db, &table, a, b, rng.u64(1..50), rng.u32(0..10) == 0) {
                        Ok(()) => moved.fetch_add(1, Ordering::Relaxed),
                        Err(e) if e.kind() == ErrorKind::Deadlock => {
                            deadlocks.fetch_add(1, Ordering::Relaxed)
                        }
                        Err(e) => panic!("{e}"),
                    };
                }
            }
        }));
    }
    let (db2, table2, stop2) = (db.clone(), table.clone(), stop.clone());
    let reader = thread::spawn(move || {
        let mut sums = 0u32;
        while !stop2.load(Ordering::Relaxed) {
            let s = db2.snapshot();
            let all = table2.read_all(s.mode()).unwrap().unwrap();
            let sum = all
                .values()
                .map(|p| u64::from_be_bytes(p.as_slice().try_into().unwrap()))
                .fold(0u64, u64::wrapping_add);
            assert_eq!((all.len() as u64, sum), (ACCOUNTS, 1000 * ACCOUNTS));
            s.acknowledge().unwrap();
            sums += 1;
            if sums.is_multiple_of(20) {
                db2.checkpoint().unwrap();
            }
        }
        sums
    });
    thread::sleep(Duration::from_millis(1500));
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert!(reader.join().unwrap() > 5 && moved.load(Ordering::Relaxed) > 50);
    println!(
        "{} transfers, {} deadlocks",
        moved.load(Ordering::Relaxed),
        deadlocks.load(Ordering::Relaxed)
    );
    assert_eq!(db.locks().counters().0, deadlocks.load(Ordering::Relaxed));
    assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new());
    assert!(
        db.locks().list(None).is_empty(),
        "{:?} {:?}",
        db.locks().list(None),
        db.txns().active()
    );
}

fn transfer(
    db: &Arc<Database>,
    table: &Table,
    a: u64,
    b: u64,
    n: u64,
    give_up: bool,
) -> Result<(), TxnError> {
    let mut t = db.begin(70)?;
    for (id, sign) in [(a, -1i64), (b, 1)] {
        loop {
            let now = table.get(id, ReadMode::Current)?.expect("account is there");
            let balance = u64::from_be_bytes(now.as_slice().try_into().unwrap());
            let new = balance.wrapping_add_signed(sign * n as i64);
            match table.update_if(&mut t, id, &now, &new.to_be_bytes())? {
                TriedChange::Done => break,
                TriedChange::Wait(other) => t.wait_for(other)?,
                _ => {}
            }
        }
    }
    if give_up { t.rollback() } else { t.commit(Durability::Full).map(drop) }
}

//! Snapshots of several sessions over a power loss: no snapshot sees half a transaction, what a
//! reader was told is there after the restart, a transaction that has been open for long is taken
//! back. `RINGWOOD_CRASH_SEEDS=500` runs more crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::support::*;
use parking_lot::Mutex;
use sim::{SimConfig, SimDisk};
use txn::{Database, DbState, DelayedDurability, Durability, TxnError};
use wal::Growth;

/// Each has a row of its own and one in the upper half, which always have the same payload.
const WRITERS: u64 = 3;
const UPPER: u64 = 1000;
/// The row of a transaction that never ends.
const OPEN: u64 = 500;

fn number(payload: &[u8]) -> u64 {
    u64::from_be_bytes(payload[..8].try_into().unwrap())
}

/// What the number is followed by makes the second index change at times.
fn payload(n: u64) -> Vec<u8> {
    let mut bytes = n.to_be_bytes().to_vec();
    bytes.resize(8 + (n % 7) as usize * 30, b'x');
    bytes
}

/// The numbers of all writers, as a snapshot shows them. The other half of each transaction must be
/// there too.
fn numbers(rows: &Model) -> Vec<u64> {
    let of = |id| rows.get(&id).map(|row| number(row));
    assert_eq!(of(OPEN), Some(0), "the work of a transaction that has not ended");
    (0..WRITERS)
        .map(|w| {
            assert_eq!(of(w), of(UPPER + w), "half of a transaction of writer {w}");
            of(w).expect("a row is gone")
        })
        .collect()
}

struct SnapshotWorld {
    db: Arc<Database>,
    table: Table,
    stop: AtomicBool,
    /// The newest number of each writer that somebody was told of.
    told: Mutex<Vec<u64>>,
    read: AtomicU64,
}

impl SnapshotWorld {
    fn tell(&self, numbers: impl Iterator<Item = (usize, u64)>) {
        let mut told = self.told.lock();
        for (writer, n) in numbers {
            told[writer] = told[writer].max(n);
        }
    }

    /// Until the power goes.
    fn write(&self, writer: u64) -> Result<(), TxnError> {
        for n in 1.. {
            let mut t = self.db.begin(60 + writer as u32)?;
            assert_eq!(self.table.update(&mut t, writer, &payload(n))?, TriedChange::Done);
            assert_eq!(self.table.update(&mut t, UPPER + writer, &payload(n))?, TriedChange::Done);
            if n % 5 == 0 {
                // The number comes again, in a transaction that stays.
                t.rollback()?;
                t = self.db.begin(60 + writer as u32)?;
                assert_eq!(
                    self.table.update(&mut t, UPPER + writer, &payload(n))?,
                    TriedChange::Done
                );
                assert_eq!(self.table.update(&mut t, writer, &payload(n))?, TriedChange::Done);
            }
            t.commit(Durability::Full)?;
            self.tell([(writer as usize, n)].into_iter());
        }
        Ok(())
    }

    /// Until the power goes. A snapshot shows the same as long as it lives, and never less than one
    /// before it.
    fn read(&self) -> Result<(), TxnError> {
        let mut last = vec![0; WRITERS as usize];
        while !self.stop.load(Ordering::Relaxed) {
            let s = self.db.snapshot();
            let rows = self.table.read_all(s.mode())?.unwrap_or_else(|e| panic!("{e}"));
            let now = numbers(&rows);
            assert!(now.iter().zip(&last).all(|(now, last)| now >= last), "{now:?} after {last:?}");
            s.acknowledge()?;
            self.tell(now.iter().copied().enumerate());
            let again = self.table.read_all(s.mode())?;
            assert!(again == Ok(rows), "a snapshot has changed");
            last = now;
            self.read.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Runs everybody until the power goes; returns what they were told.
fn work(disk: &SimDisk, seed: u64) -> Result<(Vec<u64>, u64), TxnError> {
    let log = log_options(8 << 20, Growth::Bytes(1 << 20), false);
    let db = create(env(Arc::new(disk.clone()), 2000, false), log, DbState::initial())?;
    let table = Table::create(&db)?;
    let mut t = db.begin(51)?;
    for id in (0..WRITERS).chain((0..WRITERS).map(|w| UPPER + w)).chain([OPEN]) {
        assert_eq!(table.insert(&mut t, id, &payload(0))?, TriedChange::Done);
    }
    t.commit(Durability::Full)?;
    db.checkpoint()?;
    let (told, read) = (Mutex::new(vec![0; WRITERS as usize]), AtomicU64::new(0));
    let world = SnapshotWorld { db: db.clone(), table, stop: AtomicBool::new(false), told, read };
    let mut open = db.begin(52)?;
    assert_eq!(world.table.update(&mut open, OPEN, &payload(1))?, TriedChange::Done);
    disk.crash_at(disk.io_count() + 20 + fastrand::Rng::with_seed(seed).u64(0..150));
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| world.read())).collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                let world = &world;
                scope.spawn(move || world.write(w))
            })
            .collect();
        for writer in writers {
            assert!(writer.join().expect("a writer").is_err(), "only the power ends it");
        }
        world.stop.store(true, Ordering::Relaxed);
        // One that has nothing more to wait for does not notice.
        readers.into_iter().for_each(|reader| drop(reader.join().expect("a reader")));
    });
    drop(open);
    Ok((world.told.into_inner(), world.read.into_inner()))
}

fn crash(seed: u64) -> u64 {
    let disk = SimDisk::with_config(seed, SimConfig { capacity: 1 << 30, ..SimConfig::default() });
    let (told, read) = work(&disk, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    assert!(disk.has_crashed(), "seed {seed}");
    let log = log_options(0, Growth::Bytes(1 << 20), false);
    let db = open(env(Arc::new(disk.crash(seed)), 2000, false), log)
        .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let table = Table::open(&db).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let rows = table.read_all(db.snapshot().mode()).unwrap().unwrap();
    let there = numbers(&rows);
    let kept = there.iter().zip(&told).all(|(there, told)| there >= told);
    assert!(kept, "seed {seed}: told of {told:?}, there is {there:?}");
    assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new(), "seed {seed}");
    assert!(db.txns().active().is_empty());
    read
}

#[test]
fn what_a_snapshot_showed_survives_a_power_loss() {
    let seeds =
        std::env::var("RINGWOOD_CRASH_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let read: u64 = (0..seeds).map(crash).sum();
    assert!(read > seeds, "otherwise nothing was tested");
}

/// So many ids have been given meanwhile that those of before are looked up elsewhere.
fn old_transaction(commits: bool) {
    let disk = SimDisk::with_config(7, SimConfig { capacity: 1 << 30, ..SimConfig::default() });
    let log = || log_options(64 << 20, Growth::Bytes(1 << 20), false);
    let settings = DbState { delayed: DelayedDurability::Allowed, ..DbState::initial() };
    let db = create(env(Arc::new(disk.clone()), 2000, false), log(), settings).unwrap();
    let table = Table::create(&db).unwrap();
    let mut t = db.begin(51).unwrap();
    for id in 0..4 {
        assert_eq!(table.insert(&mut t, id, &payload(0)).unwrap(), TriedChange::Done);
    }
    t.commit(Durability::Full).unwrap();
    let change = |t: &mut txn::Txn, id, n| {
        assert_eq!(table.update(t, id, &payload(n)).unwrap(), TriedChange::Done)
    };
    let mut old = db.begin(52).unwrap();
    change(&mut old, 1, 1);
    let mut asked = db.begin(53).unwrap();
    change(&mut asked, 2, 1);
    let before = old.lasting_snapshot();
    asked.commit(Durability::Full).unwrap();
    std::thread::scope(|scope| {
        for session in [0, 3] {
            let (db, change) = (&db, &change);
            scope.spawn(move || {
                for n in 1..=12_000 {
                    let mut t = db.begin(60 + session as u32).unwrap();
                    change(&mut t, session, n);
                    t.commit(Durability::Delayed).unwrap();
                }
            });
        }
    });
    let seen = |s: &txn::SnapshotGuard| -> Vec<u64> {
        table.read_all(s.mode()).unwrap().unwrap().values().map(|row| number(row)).collect()
    };
    assert_eq!(seen(&before), [0, 1, 0, 0]);
    assert_eq!(seen(&db.snapshot()), [12_000, 0, 1, 12_000]);
    let mut other = db.begin(70).unwrap();
    assert_eq!(table.update(&mut other, 1, &payload(5)).unwrap(), TriedChange::Wait(old.id()));
    drop(other);
    let during = db.snapshot();
    let own = if commits {
        old.commit(Durability::Full).unwrap();
        1
    } else {
        db.flush_log().unwrap();
        std::mem::forget(old);
        0
    };
    assert_eq!(seen(&db.snapshot()), [12_000, own, 1, 12_000]);
    assert_eq!((seen(&during), seen(&before)), (vec![12_000, 0, 1, 12_000], vec![0, 1, 0, 0]));
    let disk = disk.crash(1);
    let again = open(env(Arc::new(disk), 2000, false), log()).unwrap();
    let after = Table::open(&again).unwrap().read_all(again.snapshot().mode()).unwrap().unwrap();
    assert_eq!(after.values().map(|row| number(row)).collect::<Vec<_>>(), [12_000, own, 1, 12_000]);
}

#[test]
fn a_transaction_that_was_open_for_long_commits() {
    old_transaction(true);
}

#[test]
fn a_transaction_that_was_open_for_long_is_lost_in_a_crash() {
    old_transaction(false);
}

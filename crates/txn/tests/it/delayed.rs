//! What delayed durability may lose: only the newest commits, never more than the window, nothing
//! at a clean stop. `RINGWOOD_CRASH_SEEDS=1000` runs more crashes, `RINGWOOD_STOPS=50` more stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::support::*;
use sim::{SimConfig, SimDisk};
use txn::{DbState, DelayedDurability, Durability, LossWindow, TxnError};
use wal::Growth;

fn count(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn settings(window: LossWindow) -> DbState {
    DbState { delayed: DelayedDurability::Allowed, window, ..DbState::initial() }
}

/// What one commit promised.
struct PromisedCommit {
    durable: bool,
    /// Bytes of its log records.
    bytes: u64,
}

/// Commits one-row transactions until the power goes. The last one may be there without having been
/// acknowledged.
fn work(
    disk: &SimDisk,
    seed: u64,
    window: LossWindow,
    done: &mut Vec<PromisedCommit>,
) -> Result<(), TxnError> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let log = log_options(4 << 20, Growth::Bytes(1 << 20), false);
    let db = create(env(Arc::new(disk.clone()), 2000, false), log, settings(window))?;
    let table = Table::create(&db)?;
    db.checkpoint()?;
    disk.crash_at(disk.io_count() + 1 + rng.u64(0..120));
    loop {
        let mut t = db.begin(51)?;
        let payload = vec![b'p'; rng.usize(8..2000)];
        assert_eq!(table.insert(&mut t, done.len() as u64, &payload)?, TriedChange::Done);
        let bytes = t.log_state().bytes;
        let wanted = if rng.u32(0..60) == 0 { Durability::Full } else { Durability::Delayed };
        let end = t.commit(wanted)?;
        done.push(PromisedCommit { durable: end.durable, bytes });
        match rng.u32(0..200) {
            0 => db.checkpoint().map(drop)?,
            1 => {
                db.flush_log()?;
                done.iter_mut().for_each(|commit| commit.durable = true);
            }
            _ => {}
        }
    }
}

/// One crash; returns how many acknowledged commits it lost.
fn crash(seed: u64) -> u64 {
    let window = LossWindow { ms: 10, kb: [4, 60, 256][seed as usize % 3] };
    let config = SimConfig { capacity: 1 << 30, ..SimConfig::default() };
    let disk = SimDisk::with_config(seed, config);
    let mut done = Vec::new();
    let end = work(&disk, seed, window, &mut done);
    assert!(end.is_err() && disk.has_crashed(), "seed {seed}: {end:?}");
    let disk = disk.crash(seed);
    let log = log_options(0, Growth::Bytes(1 << 20), false);
    let db =
        open(env(Arc::new(disk), 2000, false), log).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let table = Table::open(&db).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let snapshot = db.snapshot();
    let rows: Vec<u64> = table.read_all(snapshot.mode()).unwrap().unwrap().into_keys().collect();
    let kept = rows.len();
    assert!(
        rows.iter().copied().eq(0..kept as u64),
        "seed {seed}: what survives is a prefix of the commits"
    );
    let lost = done.get(kept..).unwrap_or_default();
    assert!(lost.iter().all(|commit| !commit.durable), "seed {seed}: a durable commit is gone");
    // The commit that exceeds the window waits before it is acknowledged.
    let bytes: u64 = lost.iter().map(|commit| commit.bytes).sum();
    assert!(
        bytes <= window.bytes(),
        "seed {seed}: {bytes} bytes are gone, the window is {window:?}"
    );
    lost.len() as u64
}

#[test]
fn a_crash_loses_a_window_from_the_end_at_most() {
    let lost: Vec<u64> = (0..count("RINGWOOD_CRASH_SEEDS", 60)).map(crash).collect();
    // Otherwise nothing was tested.
    assert!(lost.iter().filter(|lost| **lost > 0).count() > lost.len() / 4, "{lost:?}");
}

/// Sessions commit delayed all the time, also while the database is being closed.
fn clean_stop(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn disk::Disk> = Arc::new(disk::OsDisk::new(folder.path()));
    let log = log_options(8 << 20, Growth::Bytes(1 << 20), true);
    // A window that does not help: only the stop makes them durable.
    let window = LossWindow { ms: LossWindow::MAX_MS, kb: LossWindow::MAX_KB };
    let db = create(env(disk.clone(), 2000, true), log, settings(window)).unwrap();
    let table = Table::create(&db).unwrap();
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let acknowledged = parking_lot::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for session in 0..4 {
            let (db, table, next, stop, acknowledged) = (&db, &table, &next, &stop, &acknowledged);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let id = next.fetch_add(1, Ordering::Relaxed);
                    let one = || -> Result<(), TxnError> {
                        let mut t = db.begin(51 + session)?;
                        assert_eq!(table.insert(&mut t, id, b"row")?, TriedChange::Done);
                        t.commit(Durability::Delayed).map(drop)
                    };
                    match one() {
                        Ok(()) => acknowledged.lock().push(id),
                        Err(_) => return,
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_millis(5 + seed % 40));
        while matches!(db.close(), Err(TxnError::Busy { .. })) {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop((table, db));
    let db = open(env(disk, 2000, false), log_options(0, Growth::Bytes(1 << 20), false)).unwrap();
    let table = Table::open(&db).unwrap();
    let rows = table.read_all(db.snapshot().mode()).unwrap().unwrap();
    let acknowledged = acknowledged.into_inner();
    assert!(acknowledged.len() > 10, "{}", acknowledged.len());
    let missing: Vec<_> = acknowledged.iter().filter(|id| !rows.contains_key(id)).collect();
    assert!(missing.is_empty(), "{missing:?} of {}", acknowledged.len());
}

#[test]
fn a_clean_stop_loses_nothing() {
    (0..count("RINGWOOD_STOPS", 8)).for_each(clean_stop);
}

/// A database whose window has so many KB and never ends by time, with its own threads at work.
fn with_window(folder: &tempfile::TempDir, kb: u32) -> (Arc<txn::Database>, Table, LossWindow) {
    let disk: Arc<dyn disk::Disk> = Arc::new(disk::OsDisk::new(folder.path()));
    let window = LossWindow { ms: LossWindow::MAX_MS, kb };
    let log = log_options(8 << 20, Growth::Bytes(1 << 20), true);
    let db = create(env(disk, 2000, true), log, settings(window)).unwrap();
    let table = Table::create(&db).unwrap();
    db.flush_log().unwrap();
    (db, table, window)
}

/// The time of the window never comes here, so only the call at three quarters of its bytes makes
/// them durable.
#[test]
fn commits_that_near_the_window_are_flushed_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let (db, table, window) = with_window(&folder, 256);
    let mut id = 0;
    let commit = |id: &mut u64| {
        let mut t = db.begin(51).unwrap();
        assert_eq!(table.insert(&mut t, *id, &[b'p'; 500]).unwrap(), TriedChange::Done);
        *id += 1;
        t.commit(Durability::Delayed).unwrap().lsn
    };
    while db.log().not_durable() < window.bytes() / 2 {
        assert!(!db.log().is_durable(commit(&mut id)));
    }
    std::thread::sleep(Duration::from_millis(50));
    assert!(db.log().not_durable() >= window.bytes() / 2, "below three quarters nobody is called");
    let mut last = commit(&mut id);
    while db.log().not_durable() > window.bytes() / 2
        && db.log().not_durable() <= window.bytes() / 4 * 3
    {
        last = commit(&mut id);
    }
    let start = std::time::Instant::now();
    while !db.log().is_durable(last) {
        assert!(start.elapsed() < Duration::from_secs(30), "nobody came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// With the flusher at work, sessions fill the window faster than a disk empties it; the most that
/// waited after a commit.
fn fill(sessions: u64, window_kb: u32) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let (db, table, _) = with_window(&folder, window_kb);
    let most = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for session in 0..sessions {
            let (db, table, most) = (&db, &table, &most);
            scope.spawn(move || {
                for i in 0..800 {
                    let mut t = db.begin(51 + session as u32).unwrap();
                    let id = i * sessions + session;
                    assert_eq!(table.insert(&mut t, id, &[b'p'; 700]).unwrap(), TriedChange::Done);
                    assert!(!t.commit(Durability::Delayed).unwrap().durable);
                    most.fetch_max(db.log().not_durable(), Ordering::Relaxed);
                }
            });
        }
    });
    most.into_inner()
}

#[test]
fn no_commit_is_answered_while_more_than_the_window_waits() {
    let window = 16 << 10;
    let most = fill(1, 16);
    // What the database's own threads append is not a commit's, and a block that is sealed after
    // the commit's answer grows to the log's alignment.
    assert!(most <= window + 2048 + 4096, "{most} bytes");
    assert!(most > window / 2, "{most} bytes: the window is not used");
    // The others' unanswered work counts too.
    let most = fill(4, 16);
    assert!(most <= window + 4 * 8192, "{most} bytes");
}

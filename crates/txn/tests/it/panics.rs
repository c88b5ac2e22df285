//! A panic in each thread of a database: all waiters have an error within a second, the error log
//! has a line, what was acknowledged is there when the database is opened again; and where a panic
//! is harmless, work goes on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::support::panic_disk::{Doing, PanicDisk};
use crate::support::{LOG, Table, TriedChange, create, env, log_options, open};
use ringwood_txn::{
    BackgroundPace, Database, DbState, Deferred, DelayedDurability, Durability, Env, Status,
    TxnError,
};
use sim::SimDisk;
use wal::{Growth, LogOptions, WaitKind, WaitSink};

/// How long a session may wait for its error.
const PATIENCE: Duration = Duration::from_secs(1);

/// The error log.
#[derive(Debug, Default)]
struct Reports(Mutex<Vec<String>>);

impl WaitSink for Reports {
    fn waited(&self, _kind: WaitKind, _us: u64) {}
    fn failed(&self, what: &str) {
        self.0.lock().unwrap().push(what.into());
    }
}

impl Reports {
    fn has(&self, text: &str) -> bool {
        self.0.lock().unwrap().iter().any(|report| report.contains(text))
    }
}

/// A database with sessions that work and wait.
struct PanicWorld {
    disk: PanicDisk,
    sim: SimDisk,
    options: LogOptions,
    db: Arc<Database>,
    table: Table,
    reports: Arc<Reports>,
    sessions: Vec<(String, JoinHandle<Instant>)>,
    stop: Arc<AtomicBool>,
    /// Ids of rows whose commits were acknowledged as durable.
    hard: Arc<Mutex<Vec<u64>>>,
    next: Arc<AtomicU64>,
}

fn world(frames: u64, log: LogOptions, pace: BackgroundPace) -> PanicWorld {
    let sim = SimDisk::new(9);
    let disk = PanicDisk::new(Arc::new(sim.clone()));
    let reports = Arc::new(Reports::default());
    let options = LogOptions { waits: Some(reports.clone()), ..log };
    let settings = DbState { delayed: DelayedDurability::Allowed, ..DbState::initial() };
    let env = Env { pace, ..env(Arc::new(disk.clone()), frames, true) };
    let db = create(env, options.clone(), settings).unwrap();
    let table = Table::create(&db).unwrap();
    let (sessions, stop, hard) = (Vec::new(), Arc::default(), Arc::default());
    PanicWorld {
        disk,
        sim,
        options,
        db,
        table,
        reports,
        sessions,
        stop,
        hard,
        next: Arc::new(AtomicU64::new(1)),
    }
}

fn usual() -> PanicWorld {
    world(3000, log_options(16 << 20, Growth::Bytes(16 << 20), true), BackgroundPace::default())
}

impl PanicWorld {
    /// A session that does something until it gets an error; the thread gives the time of that.
    fn session(
        &mut self,
        name: &str,
        mut work: impl FnMut() -> Result<(), TxnError> + Send + 'static,
    ) {
        let stop = self.stop.clone();
        let body = move || {
            let run = || {
                while !stop.load(Ordering::Relaxed) && work().is_ok() {}
            };
            // The session whose thread panics has ended as well.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            Instant::now()
        };
        let thread = Builder::new().name(name.into()).spawn(body).unwrap();
        self.sessions.push((name.into(), thread));
    }

    /// One that inserts rows of this size and commits each.
    fn writer(&mut self, name: &str, size: usize, durability: Durability) {
        let (db, table, hard, next) =
            (self.db.clone(), self.table.clone(), self.hard.clone(), self.next.clone());
        self.session(name, move || {
            let id = next.fetch_add(1, Ordering::Relaxed);
            let mut txn = db.begin(51)?;
            assert_eq!(table.insert(&mut txn, id, &vec![b'r'; size])?, TriedChange::Done);
            if txn.commit(durability)?.durable {
                hard.lock().unwrap().push(id);
            }
            Ok(())
        });
    }

    /// Three that commit, one that commits delayed, one that waits for a row of an idle session,
    /// and that one.
    fn usual_sessions(&mut self) {
        (0..3).for_each(|n| self.writer(&format!("committer {n}"), 50, Durability::Full));
        self.writer("delayed", 50, Durability::Delayed);
        let mut idle = self.db.begin(60).unwrap();
        assert_eq!(self.table.insert(&mut idle, 1 << 40, b"idle").unwrap(), TriedChange::Done);
        let (db, other, idle) = (self.db.clone(), idle.id(), Mutex::new(Some(idle)));
        self.session("waiter", move || {
            let txn = db.begin(61)?;
            let waited = txn.wait_for(other);
            drop(idle.lock().unwrap().take());
            waited
        });
    }

    fn await_panic(&self) -> Instant {
        let start = Instant::now();
        loop {
            if let Some(struck) = self.disk.struck() {
                return struck;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "nothing has panicked");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// All sessions have ended within a second of the panic.
    fn all_ended(&mut self, struck: Instant) {
        for (name, thread) in self.sessions.drain(..) {
            while !thread.is_finished() {
                assert!(struck.elapsed() < Duration::from_secs(10), "'{name}' waits for ever");
                std::thread::sleep(Duration::from_millis(1));
            }
            let after = thread.join().unwrap().saturating_duration_since(struck);
            assert!(after < PATIENCE, "'{name}' waited {after:?}");
        }
    }

    /// The database has failed, the error log says why, and what was acknowledged is there after a
    /// power loss.
    fn failed(mut self, why: &str) {
        let struck = self.await_panic();
        self.all_ended(struck);
        assert_eq!(self.db.status(), Status::Suspect);
        assert!(self.db.cause().unwrap().contains(why), "{:?}", self.db.cause());
        // The thread that fails the database tells its sessions first, then the error log.
        while !self.reports.has(why) {
            assert!(struck.elapsed() < Duration::from_secs(10), "{:?}", self.reports);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(self.db.begin(51).is_err());
        self.db.abandon();
        let hard = std::mem::take(&mut *self.hard.lock().unwrap());
        let left = self.sim.crash(5);
        let db = open(env(Arc::new(left), 3000, false), LogOptions { waits: None, ..self.options })
            .unwrap();
        let table = Table::open(&db).unwrap();
        let rows = table.read_all(db.snapshot().mode()).unwrap().unwrap();
        assert!(hard.iter().all(|id| rows.contains_key(id)), "an acknowledged row is lost");
        assert!(!rows.contains_key(&(1 << 40)));
        assert_eq!(table.faults(&db).unwrap(), Vec::<String>::new());
    }
}

/// The committer that writes for all others.
#[test]
fn the_leader_of_a_group_commit() {
    let mut world = usual();
    world.usual_sessions();
    world.disk.arm("committer", Doing::Write, LOG);
    world.failed("a thread of the log has panicked");
}

#[test]
fn the_thread_that_writes_full_blocks() {
    let mut world = usual();
    world.usual_sessions();
    world.disk.arm("log writer", Doing::Write, LOG);
    bulk(&mut world);
    world.failed("a thread of the log has panicked");
}

#[test]
fn the_second_writer() {
    let mut world = usual();
    world.disk.arm("log writer 2", Doing::Write, LOG);
    // Nobody else writes, so that batches become large.
    bulk(&mut world);
    world.failed("the thread that wrote has ended");
}

/// A transaction that only writes.
fn bulk(world: &mut PanicWorld) {
    let (db, table, next) = (world.db.clone(), world.table.clone(), world.next.clone());
    world.session("bulk", move || {
        let mut txn = db.begin(70)?;
        for _ in 0..3000 {
            let id = next.fetch_add(1, Ordering::Relaxed);
            assert_eq!(table.insert(&mut txn, id, &[b'b'; 3500])?, TriedChange::Done);
        }
        txn.rollback()
    });
}

#[test]
fn the_thread_that_grows_the_log() {
    let mut world =
        world(3000, log_options(2 << 20, Growth::Bytes(1 << 20), true), BackgroundPace::default());
    world.usual_sessions();
    world.disk.arm("log grower", Doing::Zeros, LOG);
    bulk(&mut world);
    world.failed("a thread of the log has panicked");
}

/// The same thread seals an idle log: a session that comes later has the error.
#[test]
fn the_thread_that_seals_the_log() {
    let mut world = usual();
    let mut idle = world.db.begin(60).unwrap();
    assert_eq!(world.table.insert(&mut idle, 1 << 40, b"idle").unwrap(), TriedChange::Done);
    world.disk.arm("log grower", Doing::Write, LOG);
    world.db.flush_log().unwrap();
    let db = world.db.clone();
    world.session("waiter", move || {
        let txn = db.begin(61)?;
        txn.wait_for(idle.id())
    });
    world.failed("a thread of the log has panicked");
}

#[test]
fn the_thread_that_flushes_delayed_commits() {
    let mut world = usual();
    world.disk.arm("log-flush", Doing::Write, LOG);
    world.writer("delayed", 50, Durability::Delayed);
    world.failed("a thread of the log has panicked");
}

fn often() -> BackgroundPace {
    BackgroundPace { checkpoint_interval: Duration::from_millis(20), ..BackgroundPace::default() }
}

#[test]
fn the_checkpoint_writing_pages() {
    let mut world = world(3000, log_options(16 << 20, Growth::Bytes(16 << 20), true), often());
    world.usual_sessions();
    world.disk.arm("checkpoint", Doing::Write, ".mdf");
    world.failed("a thread has panicked while pages were written");
}

#[test]
fn the_checkpoint_writing_the_log() {
    for doing in [Doing::Write, Doing::Sync] {
        let mut world = world(3000, log_options(16 << 20, Growth::Bytes(16 << 20), true), often());
        if doing == Doing::Write {
            world.usual_sessions();
            world.disk.arm("checkpoint", doing, LOG);
            world.failed("panicked");
        } else {
            world.usual_sessions();
            world.disk.arm("checkpoint", doing, ".mdf");
            world.failed("panicked");
        }
    }
}

/// It serves all databases of an instance: the one whose pages it was writing fails, and it goes
/// on.
#[test]
fn the_lazy_writer() {
    let mut world =
        world(200, log_options(16 << 20, Growth::Bytes(16 << 20), true), BackgroundPace::default());
    world.usual_sessions();
    world.disk.arm("lazy-writer", Doing::Write, "");
    bulk(&mut world);
    world.failed("panicked");
}

/// Ghosts and work after commits: what has panicked is left, the thread goes on, sessions notice
/// nothing.
#[test]
fn the_thread_that_cleans_up() {
    let mut world = usual();
    world.usual_sessions();
    let (done, seen) = (Arc::new(AtomicBool::new(false)), Instant::now());
    let mut txn = world.db.begin(62).unwrap();
    assert_eq!(world.table.insert(&mut txn, 1 << 41, b"deferred").unwrap(), TriedChange::Done);
    txn.defer(Deferred {
        units: Vec::new(),
        work: Box::new(|_| panic!("injected: deferred work")),
    });
    let tell = done.clone();
    txn.defer(Deferred {
        units: Vec::new(),
        work: Box::new(move |_| tell.store(true, Ordering::Relaxed)),
    });
    txn.commit(Durability::Full).unwrap();
    while !done.load(Ordering::Relaxed) || !world.reports.has("cleanup-5 has panicked") {
        assert!(seen.elapsed() < Duration::from_secs(10), "{:?}", world.reports);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(world.db.status(), Status::Online);
    let before = world.hard.lock().unwrap().len();
    while world.hard.lock().unwrap().len() < before + 10 {
        assert!(seen.elapsed() < Duration::from_secs(20), "nobody commits any more");
        std::thread::sleep(Duration::from_millis(5));
    }
    world.stop.store(true, Ordering::Relaxed);
    world.db.fail("test", &TxnError::Invalid("the waiter may end"));
    world.all_ended(Instant::now());
}

/// A session that panics while it reads a page: its latch and its locks are free, all others go on.
#[test]
fn a_session_that_reads() {
    let mut world =
        world(100, log_options(16 << 20, Growth::Bytes(16 << 20), true), BackgroundPace::default());
    let mut txn = world.db.begin(62).unwrap();
    for id in 0..2000 {
        assert_eq!(world.table.insert(&mut txn, id, &[b'x'; 2000]).unwrap(), TriedChange::Done);
    }
    txn.commit(Durability::Full).unwrap();
    world.disk.arm("reader", Doing::Read, "df");
    let (db, table) = (world.db.clone(), world.table.clone());
    world.session("reader", move || {
        let mut txn = db.begin(63)?;
        table.update(&mut txn, 3, b"by the reader")?;
        for id in 0..2000 {
            table.get(id, db.snapshot().mode())?;
        }
        txn.commit(Durability::Full).map(drop)
    });
    let struck = world.await_panic();
    world.all_ended(struck);
    assert_eq!(world.db.status(), Status::Online);
    let rows = world.table.read_all(world.db.snapshot().mode()).unwrap().unwrap();
    assert_eq!((rows.len(), rows[&3].len()), (2000, 2000), "its transaction was rolled back");
    let mut txn = world.db.begin(64).unwrap();
    assert_eq!(world.table.update(&mut txn, 3, b"free").unwrap(), TriedChange::Done);
    txn.commit(Durability::Full).unwrap();
    assert_eq!(world.table.faults(&world.db).unwrap(), Vec::<String>::new());
    world.db.close().unwrap();
}

//! Two ways to begin a transaction, in turns: a new one, and in the place of the session's last
//! one, which then keeps its locks on tables for itself; empty ones, such that lock a table, and
//! such that insert a row besides, in one thread and in many. And what an S, X or SCH-M on a table
//! takes while many sessions have a place for such locks. `./bench begin [--help]`

#[path = "../../engine/examples/support/measure.rs"]
mod measure;
#[path = "../tests/it/support/mod.rs"]
mod support;

use ringwood_txn as txn;

use std::sync::Arc;
use std::time::{Duration, Instant};

use disk::OsDisk;
use measure::{Arguments, Done, Rows, in_turns, seconds};
use support::{create, env, log_options};
use txn::{
    Database, DbState, DelayedDurability, Durability, LockMode, LockTarget, Txn, TxnError, WaitArgs,
};
use wal::Growth;

const HELP: &str =
    "begin_again [--threads N,N] [--sessions N,N,N] [--rounds N] [--milliseconds N] [--json]

  --threads       that begin transactions, 1,16 unless said
  --sessions      beside an S, X or SCH-M: three numbers, 0,1000,10000 unless said
  --rounds        of each comparison, 7 unless said
  --milliseconds  of each way in each round, 100 unless said
  --json          a line of JSON for each row of the tables";

/// What a transaction does.
#[derive(Clone, Copy)]
struct WorkKind {
    name: &'static str,
    locks: bool,
    inserts: bool,
}

const WORK: [WorkKind; 3] = [
    WorkKind { name: "nothing", locks: false, inserts: false },
    WorkKind { name: "IX on a table", locks: true, inserts: false },
    WorkKind { name: "IX and a row", locks: true, inserts: true },
];

/// The table that all lock, one that those beside lock, and the one that is wanted alone.
const BUSY: LockTarget = LockTarget::Table(7);
const BESIDE: LockTarget = LockTarget::Table(8);
const WANTED: LockTarget = LockTarget::Table(9);

/// What the command line says of each comparison.
struct WantedRounds {
    rounds: usize,
    time: Duration,
    json: bool,
}

/// A transaction, from its begin on.
fn carry_out(t: &mut Txn, heap: &access::Heap, work: WorkKind) -> Result<(), TxnError> {
    if work.locks {
        t.lock(BUSY, LockMode::IX)?;
    }
    if work.inserts {
        heap.insert(t, &[b'r'; 100])?;
    }
    t.commit_in_place(Durability::Delayed).map(drop)
}

/// Transactions of a thread until it is `end`: how many.
fn until(
    db: &Arc<Database>,
    heap: &access::Heap,
    (session, work, in_place): (u32, WorkKind, bool),
    end: Instant,
) -> Result<u64, TxnError> {
    let mut last = db.begin(session)?;
    carry_out(&mut last, heap, work)?;
    let mut done = 0_u64;
    // The clock is read after some.
    while !done.is_multiple_of(64) || Instant::now() < end {
        if in_place && last.begin_again(WaitArgs::default()) {
            carry_out(&mut last, heap, work)?;
        } else {
            carry_out(&mut db.begin(session)?, heap, work)?;
        }
        done += 1;
    }
    Ok(done)
}

/// Nanoseconds for each transaction of all threads together.
fn together(
    db: &Arc<Database>,
    heap: &access::Heap,
    (work, in_place): (WorkKind, bool),
    (threads, time): (u32, Duration),
) -> Done<f64> {
    let begin = Instant::now();
    let counts: Vec<Result<u64, TxnError>> = std::thread::scope(|scope| {
        let spawn = |number: u32| {
            scope.spawn(move || until(db, heap, (51 + number, work, in_place), begin + time))
        };
        let running: Vec<_> = (0..threads).map(spawn).collect();
        running.into_iter().map(|thread| thread.join().expect("a thread panicked")).collect()
    });
    let took = begin.elapsed().as_secs_f64();
    let mut done = 0;
    for count in counts {
        done += count?;
    }
    Ok(took * 1e9 / done as f64)
}

/// Both ways to begin, by what the transactions do and how many threads there are.
fn beginnings(
    db: &Arc<Database>,
    heap: &access::Heap,
    threads: &[u32],
    wanted: &WantedRounds,
) -> Done<()> {
    let labels = &[("a transaction of", 16)];
    let figures = &[("threads", 0), ("new ns", 0), ("in place ns", 0), ("ratio", 3)];
    let mut printed = Rows::new(wanted.json, "begin", labels, figures);
    for count in threads {
        for work in WORK {
            let turns = in_turns::<2>(wanted.rounds, |way| {
                together(db, heap, (work, way == 1), (*count, wanted.time))
            })?;
            let figures = [f64::from(*count), turns.median(0), turns.median(1), turns.ratio(0, 1)];
            printed.row(&[work.name], &figures);
        }
    }
    Ok(())
}

/// Sessions whose transactions have begun in the place of others and have kept a lock each, which
/// they hold, or hold no more.
fn sessions(db: &Arc<Database>, count: u32, hold: bool) -> Result<Vec<Txn>, TxnError> {
    let mut open = Vec::new();
    for number in 0..count {
        let mut t = db.begin(100 + number)?;
        t.commit_in_place(Durability::Delayed)?;
        if t.begin_again(WaitArgs::default()) {
            t.lock(BESIDE, LockMode::IS)?;
        }
        if !hold {
            t.locks.release_all();
        }
        open.push(t);
    }
    Ok(open)
}

/// Microseconds of a lock on a table that nobody has, with its end.
fn alone(db: &Arc<Database>, mode: LockMode, time: Duration) -> Result<f64, TxnError> {
    let mut t = db.begin(51)?;
    let took = seconds(time, || {
        t.lock(WANTED, mode)?;
        t.locks.release_all();
        Ok::<(), TxnError>(())
    })?;
    t.commit_in_place(Durability::Delayed)?;
    Ok(took * 1e6)
}

/// What a lock that excludes others takes beside so many sessions.
fn beside(db: &Arc<Database>, counts: [u32; 3], wanted: &WantedRounds) -> Done<()> {
    let labels = &[("lock", 6), ("others", 12)];
    let figures = &[("sessions", 0), ("us", 3), ("ratio", 2)];
    let mut printed = Rows::new(wanted.json, "beside", labels, figures);
    let others = [("idle", false), ("with a lock", true)];
    for (name, mode) in [("S", LockMode::S), ("X", LockMode::X), ("SCH-M", LockMode::SchM)] {
        for (doing, hold) in others {
            let turns = in_turns::<3>(wanted.rounds, |way| {
                let open = sessions(db, counts[way], hold)?;
                let took = alone(db, mode, wanted.time / 4)?;
                drop(open);
                Ok(took)
            })?;
            for (way, count) in counts.into_iter().enumerate() {
                let figures = [f64::from(count), turns.median(way), turns.ratio(way, 0)];
                printed.row(&[name, doing], &figures);
            }
        }
    }
    Ok(())
}

fn main() -> Done<()> {
    let arguments =
        Arguments::read(HELP, &["--threads", "--sessions", "--rounds", "--milliseconds"])?;
    let wanted = WantedRounds {
        rounds: arguments.number("--rounds", 7)?,
        time: Duration::from_millis(arguments.number("--milliseconds", 100)?),
        json: arguments.json,
    };
    let threads = arguments.numbers::<u32>("--threads", &[1, 16])?;
    let counts: [u32; 3] = arguments
        .numbers::<u32>("--sessions", &[0, 1_000, 10_000])?
        .try_into()
        .map_err(|_| "--sessions takes three numbers")?;
    let scratch = tempfile::tempdir()?;
    let log = log_options(256 << 20, Growth::Bytes(64 << 20), true);
    let settings = DbState { delayed: DelayedDurability::Allowed, ..DbState::initial() };
    let db = create(env(Arc::new(OsDisk::new(scratch.path())), 20_000, true), log, settings)?;
    let unit = db.create_unit(pages::UnitId(100), 1)?;
    let heap = access::Heap::new(db.store().clone(), unit);
    beginnings(&db, &heap, &threads, &wanted)?;
    beside(&db, counts, &wanted)?;
    db.close()?;
    Ok(())
}

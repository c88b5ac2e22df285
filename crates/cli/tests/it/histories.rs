//! Random concurrent transactions over the wire at each isolation level, with SIGKILL of the server
//! among them: the history that came of them shows none of the phenomena that its level forbids.
//!
//! `RINGWOOD_HISTORY_SECONDS=600 cargo test -p ringwood-cli --test it histories::` runs for longer;
//! `RINGWOOD_HISTORY_SEED` repeats the choices (not the interleaving) of a run.

use crate::support::history::{Key, Op, Phenomenon, Txn, TxnEnd, Value, check};
use crate::support::served::{ServedInstance, ServedOutcome, batch};
use client::Connection;
use fastrand::Rng;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const CLIENTS: usize = 6;
/// Lists at a time: few, so that transactions meet.
const KEYS: u32 = 5;
/// Values of a list after which clients go on with other lists: reading long ones takes time.
const LENGTH: u64 = 60;

/// A level: its name, the hint of its reads, and what it forbids.
struct Level {
    name: &'static str,
    hint: &'static str,
    forbids: &'static [Phenomenon],
}

use Phenomenon::*;

const LEVELS: [Level; 6] = [
    Level { name: "read uncommitted", hint: "", forbids: &[Lost, Torn, G0] },
    Level {
        name: "read committed",
        hint: "",
        forbids: &[Lost, Torn, Internal, Incompatible, G0, G1a, G1b, G1c],
    },
    Level {
        name: "read committed",
        hint: "with (readcommittedlock)",
        forbids: &[Lost, Torn, Internal, Incompatible, G0, G1a, G1b, G1c],
    },
    Level {
        name: "repeatable read",
        hint: "",
        forbids: &[Lost, Torn, Internal, Incompatible, G0, G1a, G1b, G1c, GSingle, G2],
    },
    Level {
        name: "snapshot",
        hint: "",
        forbids: &[Lost, Torn, Internal, Incompatible, G0, G1a, G1b, G1c, GSingle],
    },
    Level {
        name: "serializable",
        hint: "",
        forbids: &[Lost, Torn, Internal, Incompatible, G0, G1a, G1b, G1c, GSingle, G2],
    },
];

/// What all clients of a run share.
struct HistoryRun<'a> {
    level: &'a Level,
    /// The next value; also says which lists are in use.
    next: &'a AtomicU64,
    stop: &'a AtomicBool,
}

/// What a transaction is going to do; reads have no result yet.
fn plan(rng: &mut Rng, next: &AtomicU64) -> Vec<Op> {
    let mut ops = Vec::new();
    for _ in 0..rng.usize(1..=4) {
        let first = (next.load(Ordering::Relaxed) / (LENGTH * u64::from(KEYS))) as u32 * KEYS;
        let key = first + rng.u32(0..KEYS);
        ops.push(match rng.bool() {
            true => Op::Append(key, next.fetch_add(1, Ordering::Relaxed)),
            false => Op::Read(key, Vec::new()),
        });
    }
    ops
}

/// The T-SQL of a step. The rows of all lists are there from the beginning.
fn text(op: &Op, hint: &str) -> String {
    match op {
        Op::Append(key, value) => format!("update lists set v = v + '{value},' where k = {key}"),
        Op::Read(key, _) => format!("select v from lists {hint} where k = {key}"),
    }
}

fn values(text: &str) -> Vec<Value> {
    text.split_terminator(',').map(|value| value.parse().unwrap()).collect()
}

/// Puts what was read into the steps, in order.
fn fill(ops: &mut [Op], outcomes: &[ServedOutcome]) {
    let mut rows = outcomes.iter().flat_map(|outcome| &outcome.rows);
    for op in ops {
        if let Op::Read(_, list) = op {
            *list = values(rows.next().unwrap()[0].as_str().unwrap());
        }
    }
}

/// Runs one transaction; `None`: the connection is lost, and what became of it is in the history.
fn transact(
    connection: &mut Connection,
    run: &HistoryRun<'_>,
    rng: &mut Rng,
    txn: &mut Txn,
) -> Option<()> {
    txn.ops = plan(rng, run.next);
    let ends_in_rollback = rng.usize(0..10) == 0;
    let end = if ends_in_rollback { "rollback" } else { "commit" };
    let steps: Vec<String> = txn.ops.iter().map(|op| text(op, run.level.hint)).collect();
    let mut batches = vec!["begin tran".to_owned()];
    batches.extend(steps);
    batches.push(end.to_owned());
    if rng.bool() {
        batches = vec![batches.join("\n")];
    }
    let count = batches.len();
    let mut outcomes = Vec::new();
    for (at, batch_text) in batches.iter().enumerate() {
        match batch(connection, batch_text) {
            Err(_) => {
                // Without its COMMIT nothing of it is there.
                let sure = ends_in_rollback || at + 1 < count;
                txn.end = if sure { TxnEnd::Aborted } else { TxnEnd::Unknown };
                return None;
            }
            Ok(outcome) if !outcome.errors.is_empty() => {
                // A deadlock's victim, a conflict of SNAPSHOT. All else would be a defect.
                assert!(outcome.errors.iter().all(|e| [1205, 3960].contains(e)), "{outcome:?}");
                txn.end = TxnEnd::Aborted;
                return Some(());
            }
            Ok(outcome) => outcomes.push(outcome),
        }
    }
    fill(&mut txn.ops, &outcomes);
    txn.end = if ends_in_rollback { TxnEnd::Aborted } else { TxnEnd::Committed };
    Some(())
}

/// One client until it is stopped or the server is gone.
fn client(server: &ServedInstance, number: usize, run: &HistoryRun<'_>, mut rng: Rng) -> Vec<Txn> {
    let mut options = server.options();
    options.database = "d".into();
    let mut done = Vec::new();
    let Ok(mut connection) = Connection::connect(&options) else { return done };
    let set = format!(
        "set xact_abort on set nocount on set transaction isolation level {}",
        run.level.name
    );
    if batch(&mut connection, &set).is_err() {
        return done;
    }
    while !run.stop.load(Ordering::Relaxed) {
        let mut txn = Txn { client: number, ops: Vec::new(), end: TxnEnd::Unknown };
        let goes_on = transact(&mut connection, run, &mut rng, &mut txn).is_some();
        done.push(txn);
        if !goes_on {
            break;
        }
    }
    done
}

/// All lists that have values.
fn lists(connection: &mut Connection) -> HashMap<Key, Vec<Value>> {
    let outcome = batch(connection, "select k, v from d.dbo.lists where v <> ''").unwrap();
    let pair = |row: &Vec<ringwood::Value>| {
        (row[0].as_i64().unwrap() as Key, values(row[1].as_str().unwrap()))
    };
    outcome.rows.iter().map(pair).collect()
}

/// Runs clients at a level for some phases, each ended by SIGKILL of the server but the last one.
fn run_level(level: &Level, phases: usize, phase: Duration, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let (next, mut rng) = (AtomicU64::new(0), Rng::with_seed(seed));
    let mut history: Vec<Txn> = Vec::new();
    let mut made = false;
    for number in 0..phases {
        let server = ServedInstance::start(folder.path(), &["--memory", "32MB"]);
        let mut connection = server.connect();
        if !made {
            for text in [
                "create database d",
                "alter database d set allow_snapshot_isolation on",
                "use d create table lists (k int not null primary key, v varchar(max) not null)",
            ] {
                assert!(batch(&mut connection, text).unwrap().errors.is_empty(), "{text}");
            }
            made = true;
        }
        let rows =
            "use d declare @k int = (select count(*) from lists) declare @end int = @k + 1000 begin tran
             while @k < @end begin insert lists values (@k, '') set @k += 1 end commit";
        assert!(
            batch(&mut connection, &format!("set nocount on {rows}")).unwrap().errors.is_empty()
        );
        let stop = AtomicBool::new(false);
        let run = HistoryRun { level, next: &next, stop: &stop };
        let seeds: Vec<u64> = (0..CLIENTS).map(|_| rng.u64(..)).collect();
        let (server_ref, run_ref) = (&server, &run);
        let last = number + 1 == phases;
        let ran: Vec<Vec<Txn>> = std::thread::scope(|scope| {
            let clients: Vec<_> = seeds
                .iter()
                .enumerate()
                .map(|(at, &seed)| {
                    // A client of another phase is another one: it does not know what the first had
                    // heard of last.
                    scope.spawn(move || {
                        client(server_ref, number * CLIENTS + at, run_ref, Rng::with_seed(seed))
                    })
                })
                .collect();
            let end = Instant::now() + phase;
            while Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
            if !last {
                let pid = rustix::process::Pid::from_child(&server.child);
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        });
        history.extend(ran.into_iter().flatten());
        if last {
            let found = check(&history, &lists(&mut connection));
            let wrong: Vec<_> =
                found.iter().filter(|(what, _)| level.forbids.contains(what)).collect();
            assert!(
                wrong.is_empty(),
                "{} {} with seed {seed}:\n{wrong:#?}",
                level.name,
                level.hint
            );
            let committed = history.iter().filter(|txn| txn.end == TxnEnd::Committed).count();
            let kinds: Vec<_> = found.iter().map(|(what, _)| *what).collect();
            println!(
                "{} {}: {committed} of {} committed, shown {kinds:?}",
                level.name,
                level.hint,
                history.len()
            );
            assert!(
                committed > 20,
                "only {committed} of {} transactions have committed",
                history.len()
            );
            return;
        }
        drop(connection);
        server.kill();
    }
}

#[test]
fn no_level_shows_what_it_forbids() {
    let variable =
        |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seconds = variable("RINGWOOD_HISTORY_SECONDS");
    let phase = Duration::from_millis(if seconds.is_some() { 3000 } else { 400 });
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let mut seed = variable("RINGWOOD_HISTORY_SEED").unwrap_or_else(|| fastrand::u64(..));
    loop {
        for level in &LEVELS {
            run_level(level, 3, phase, seed);
        }
        if Instant::now() >= end {
            return;
        }
        seed = seed.wrapping_add(1);
    }
}

//! What a transaction of one row takes, of one session and of many at once: statements that are
//! their own transactions, and BEGIN, UPDATE, COMMIT. No commit waits for the disk. The SELECT is
//! also measured while another session holds S on its table, so that the lock on it is taken in the
//! lock table and not kept by the session. All in turns; medians of the time that passes for each
//! transaction of all sessions together. How transactions begin is compared by two builds, or one
//! level below by `./bench begin`.
//! `./bench one-row [--help]`

#[path = "support/instance.rs"]
mod instance;
#[path = "support/measure.rs"]
mod measure;
#[path = "support/statements.rs"]
mod statements;

use std::sync::Arc;
use std::time::{Duration, Instant};

use self::instance::with_instance;
use self::statements::{run, run_prepared};
use measure::{Arguments, Done, Rows, in_turns};
use ringwood_engine::session::Prepared;
use ringwood_engine::{DataType, Instance, Session, SqlError, Value};

const HELP: &str = "one_row [--sessions N,N] [--rounds N] [--milliseconds N] [--json]

  --sessions      at once, 1,16 unless said: one thread each
  --rounds        of each comparison, 7 unless said
  --milliseconds  of each kind in each round, 150 unless said
  --json          a line of JSON for each row of the table";

/// Rows of the table; each session has its part of them.
const KEYS: i32 = 32_000;

const MADE: &str =
    "CREATE DATABASE bench ON (NAME = bench, SIZE = 256MB) LOG ON (NAME = bench_log, SIZE = 512MB)
    ALTER DATABASE bench SET RECOVERY SIMPLE
    ALTER DATABASE bench SET DELAYED_DURABILITY = FORCED";

const TABLES: &str = "CREATE TABLE t (k int PRIMARY KEY, v int NOT NULL, words varchar(40))
    CREATE TABLE grows (k int NOT NULL, words varchar(40))
    INSERT t SELECT value, 0, 'some words that make it longer' FROM GENERATE_SERIES(0, 31999)";

/// A kind of transaction.
struct Kind {
    name: &'static str,
    /// Which of a client's.
    statement: usize,
    /// BEGIN and COMMIT are around it.
    around: bool,
    /// Somebody holds S on the table.
    held: bool,
}

const SELECT: usize = 0;
const UPDATE: usize = 1;
const INSERT: usize = 2;

const KINDS: [Kind; 5] = [
    Kind { name: "SELECT", statement: SELECT, around: false, held: false },
    Kind { name: "SELECT, S is held", statement: SELECT, around: false, held: true },
    Kind { name: "UPDATE", statement: UPDATE, around: false, held: false },
    Kind { name: "INSERT", statement: INSERT, around: false, held: false },
    Kind { name: "BEGIN, UPDATE, COMMIT", statement: UPDATE, around: true, held: false },
];

/// A session with its statements and its part of the keys.
struct Client {
    session: Session,
    /// In the order of their numbers.
    statements: [Prepared; 3],
    begin: Prepared,
    commit: Prepared,
    from: i32,
    count: i32,
}

impl Client {
    fn new(instance: &Arc<Instance>, number: usize, of: usize) -> Done<Client> {
        let mut session = instance.session()?;
        session.use_database("bench")?;
        let key = [("@k", DataType::Int)];
        let statements = [
            session.prepare("SELECT v FROM t WHERE k = @k", &key)?,
            session.prepare("UPDATE t SET v = v + 1 WHERE k = @k", &key)?,
            session.prepare("INSERT grows VALUES (@k, 'a few words')", &key)?,
        ];
        let (begin, commit) =
            (session.prepare("BEGIN TRAN", &[])?, session.prepare("COMMIT", &[])?);
        let count = (KEYS / i32::try_from(of)?).max(1);
        Ok(Client {
            session,
            statements,
            begin,
            commit,
            from: i32::try_from(number)? * count % KEYS,
            count,
        })
    }

    /// Transactions until it is `end`: how many.
    fn work(&mut self, kind: &Kind, end: Instant) -> Result<u64, SqlError> {
        let statement = &self.statements[kind.statement];
        let (mut done, mut at) = (0_u64, 0);
        // The clock is read after some.
        while !done.is_multiple_of(64) || Instant::now() < end {
            at = (at + 7919) % self.count;
            if kind.around {
                run_prepared(&mut self.session, &self.begin, &[])?;
            }
            run_prepared(&mut self.session, statement, &[Value::Int(self.from + at)])?;
            if kind.around {
                run_prepared(&mut self.session, &self.commit, &[])?;
            }
            done += 1;
        }
        Ok(done)
    }
}

/// Microseconds for each transaction of all clients together.
fn together(clients: &mut [Client], kind: &Kind, time: Duration) -> Done<f64> {
    let begin = Instant::now();
    let counts: Vec<Result<u64, SqlError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || client.work(kind, begin + time)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread panicked")).collect()
    });
    let took = begin.elapsed().as_secs_f64();
    let done = counts.into_iter().sum::<Result<u64, SqlError>>()?;
    Ok(took * 1e6 / done as f64)
}

/// All kinds in turns, by so many sessions.
fn measure(
    instance: &Arc<Instance>,
    arguments: &Arguments,
    printed: &mut Rows,
    sessions: usize,
) -> Done<()> {
    let (rounds, time) =
        (arguments.number("--rounds", 7)?, arguments.number("--milliseconds", 150)?);
    let mut other = instance.session()?;
    other.use_database("bench")?;
    let mut clients = Vec::new();
    for number in 0..sessions {
        clients.push(Client::new(instance, number, sessions)?);
    }
    let turns = in_turns::<5>(rounds, |way| {
        let kind = &KINDS[way];
        if kind.held {
            run(
                &mut other,
                "BEGIN TRAN DECLARE @n int SELECT @n = COUNT(*) FROM t WITH (TABLOCK, HOLDLOCK)",
            )?;
        }
        let figure = together(&mut clients, kind, Duration::from_millis(time))?;
        if kind.held {
            run(&mut other, "COMMIT")?;
        } else if kind.statement == INSERT {
            run(&mut other, "TRUNCATE TABLE grows")?;
        }
        Ok(figure)
    })?;
    for (way, kind) in KINDS.iter().enumerate() {
        let ratio = if kind.held { turns.ratio(way, 0) } else { f64::NAN };
        let time = turns.median(way);
        printed.row(&[kind.name], &[sessions as f64, time, 1e6 / time, ratio]);
    }
    Ok(())
}

fn main() -> Done<()> {
    let arguments = Arguments::read(HELP, &["--sessions", "--rounds", "--milliseconds"])?;
    let sessions = arguments.numbers::<usize>("--sessions", &[1, 16])?;
    let labels = &[("transaction", 22)];
    let figures = &[("sessions", 0), ("us each", 3), ("a second", 0), ("ratio", 3)];
    let mut printed = Rows::new(arguments.json, "one_row", labels, figures);
    with_instance("one-row", 256 << 20, |instance| {
        let mut session = instance.session()?;
        run(&mut session, MADE)?;
        session.use_database("bench")?;
        run(&mut session, TABLES)?;
        drop(session);
        sessions
            .iter()
            .try_for_each(|sessions| measure(instance, &arguments, &mut printed, *sessions))
    })
}

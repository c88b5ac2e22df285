//! `lab run wire`: what a server does for clients that ask for little: durable one-row inserts of
//! many connections, and many of them in a message, a prepared SELECT by primary key, the same
//! beside thousands of idle connections and what each of these takes, and how soon a new server
//! answers. Ringwood is a `ringwood serve` of the lab's own, PostgreSQL (feature `peers`) one
//! beside it; they take turns.

mod clients;

use crate::frame::balanced;
use crate::results::{Results, ResultsOrigin, RoundsResult, StudyResult};
use crate::{LabError, machine, report};
use client::Connection;
use clients::{Client, Tds};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use targets::mssql::{failed, log_in};
use targets::own_server::OwnServer;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct WireOptions {
    /// Rounds; fewer than 6 have no intervals.
    pub runs: usize,
    /// Seconds of each measurement.
    pub seconds: f64,
    /// Connections that insert, and numbers of those that select.
    pub inserting: u32,
    pub selecting: Vec<u32>,
    /// Inserts in one message, of as many connections as select; 0 = left out.
    pub batch: u32,
    /// Idle connections; 0 = none.
    pub idle: u32,
    /// Rows of the table that is selected from.
    pub rows: u32,
    /// Whether PostgreSQL takes turns.
    pub postgres: bool,
    /// Bytes of the buffer pools.
    pub memory: u64,
    /// The ringwood command.
    pub program: PathBuf,
    pub seed: u64,
    pub commit: String,
    pub command: String,
}

const DATABASE: &str = "lab_wire";
const INSERTS: &str = "durable one-row inserts";
const SELECTS: &str = "prepared SELECT by primary key";
const IDLE: &str = "idle connections";
const START: &str = "a new server";
/// How long a new server is left alone before its memory is looked at.
const SETTLE: Duration = Duration::from_secs(3);

/// A prepared statement.
#[derive(Clone, Copy)]
enum Statement {
    Insert,
    Select,
}

/// A server under test.
trait Server {
    fn title(&self) -> &'static str;
    fn start(&mut self) -> Result<(), LabError>;
    fn stop(&mut self) -> Result<(), LabError>;
    /// Makes the tables.
    fn load(&mut self, rows: u32) -> Result<(), LabError>;
    fn connect(&self, statement: Statement) -> Result<Box<dyn Client>, LabError>;
    fn said(&self) -> String;
}

struct Ringwood(OwnServer);

impl Ringwood {
    fn plain(&self, database: &str) -> Result<Connection, LabError> {
        log_in(&self.0.address()?, database)
    }

    fn batch(client: &mut Connection, text: &str) -> Result<(), LabError> {
        client.query(text).map(drop).map_err(|e| failed(&e, text))
    }
}

impl Server for Ringwood {
    fn title(&self) -> &'static str {
        "Ringwood"
    }

    fn start(&mut self) -> Result<(), LabError> {
        self.0.start()
    }

    fn stop(&mut self) -> Result<(), LabError> {
        self.0.stop()
    }

    fn load(&mut self, rows: u32) -> Result<(), LabError> {
        Self::batch(&mut self.plain("master")?, &format!("create database {DATABASE}"))?;
        let mut client = self.plain(DATABASE)?;
        for text in [
            &*format!("alter database {DATABASE} set recovery simple"),
            "create table arrivals (a int not null, b int not null)",
            "create table kept (id int not null primary key, v varchar(100) not null)",
            &format!(
                "insert kept select value, replicate('x', 100) from generate_series(1, {rows})"
            ),
            "checkpoint",
        ] {
            Self::batch(&mut client, text)?;
        }
        Ok(())
    }

    fn connect(&self, statement: Statement) -> Result<Box<dyn Client>, LabError> {
        let (declared, text) = match statement {
            Statement::Insert => ("@a int, @b int", "insert arrivals (a, b) values (@a, @b)"),
            Statement::Select => ("@id int", "select v from kept where id = @id"),
        };
        Ok(Box::new(Tds::connect(&self.0.address()?, DATABASE, declared, text)?))
    }

    fn said(&self) -> String {
        format!("Ringwood: {}", self.0.said())
    }
}

#[cfg(feature = "peers")]
struct Postgres(targets::own_postgres::OwnPostgres);

#[cfg(feature = "peers")]
impl Server for Postgres {
    fn title(&self) -> &'static str {
        "PostgreSQL"
    }

    fn start(&mut self) -> Result<(), LabError> {
        self.0.start()
    }

    fn stop(&mut self) -> Result<(), LabError> {
        self.0.stop()
    }

    fn load(&mut self, rows: u32) -> Result<(), LabError> {
        let text = format!(
            "create table arrivals (a int not null, b int not null); \
             create table kept (id int not null primary key, v varchar(100) not null); \
             insert into kept select i, repeat('x', 100) from generate_series(1, {rows}) i"
        );
        let mut client = self.0.connect()?;
        for text in [text.as_str(), "vacuum analyze", "checkpoint"] {
            client.batch_execute(text).map_err(|e| targets::own_postgres::failed(&e, text))?;
        }
        Ok(())
    }

    fn connect(&self, statement: Statement) -> Result<Box<dyn Client>, LabError> {
        let text = match statement {
            Statement::Insert => "insert into arrivals (a, b) values ($1, $2)",
            Statement::Select => "select v from kept where id = $1",
        };
        Ok(Box::new(clients::Pg::connect(self.0.port()?, text)?))
    }

    fn said(&self) -> String {
        format!("PostgreSQL: {}", self.0.said())
    }
}

/// Calls of one statement, so many in a message, by many clients at once for some seconds:
/// microseconds of each message, all together. `rows` of each message.
fn calls(
    clients: Vec<Box<dyn Client>>,
    seconds: f64,
    values: impl Fn(u32, &mut fastrand::Rng) -> ([i32; 2], usize) + Sync,
    times: usize,
    rows: usize,
) -> Result<Vec<f64>, LabError> {
    let barrier = Barrier::new(clients.len());
    let all = Duration::from_secs_f64(seconds);
    std::thread::scope(|scope| {
        let (barrier, values) = (&barrier, &values);
        let threads: Vec<_> = (0..)
            .zip(clients)
            .map(|(index, mut client)| {
                scope.spawn(move || -> Result<Vec<f64>, LabError> {
                    let mut random = fastrand::Rng::with_seed(u64::from(index) + 1);
                    let mut us = Vec::new();
                    barrier.wait();
                    let begin = Instant::now();
                    let mut last = begin;
                    while last - begin < all {
                        let (values, count) = values(index, &mut random);
                        let there = client.run(&values[..count], times)?;
                        if there != rows {
                            return Err(LabError::Request(format!("{there} rows, not {rows}")));
                        }
                        let now = Instant::now();
                        us.push((now - last).as_secs_f64() * 1e6);
                        last = now;
                    }
                    Ok(us)
                })
            })
            .collect();
        let mut us = Vec::new();
        for thread in threads {
            let ended = thread
                .join()
                .map_err(|_| LabError::Request("a client's thread ended by a panic".into()))?;
            us.extend(ended?);
        }
        Ok(us)
    })
}

/// A factor's figures.
struct FactorFigures<'a> {
    study: &'a mut StudyResult,
    round: usize,
    title: &'static str,
}

impl FactorFigures<'_> {
    fn put(&mut self, factor: &str, measure: &str, unit: &str, value: f64) {
        self.study.record_in(self.round, factor, self.title, measure, unit, value);
    }

    /// `times`: calls in a message.
    fn calls(&mut self, factor: &str, seconds: f64, times: usize, mut us: Vec<f64>) {
        self.put(factor, "calls", "calls/s", (us.len() * times) as f64 / seconds);
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            if let Some(value) = stats::percentile(&mut us, share) {
                self.put(factor, name, "us", value);
            }
        }
    }
}

fn connections(count: u32) -> String {
    format!("{count} connection{}", if count == 1 { "" } else { "s" })
}

/// Resident memory of a process, KB.
fn resident_kb(process: u32) -> Result<f64, LabError> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kb = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse().ok());
    kb.ok_or_else(|| {
        LabError::Request(format!("process {process} does not say what memory it has"))
    })
}

/// As many open files as the system lets this process and its children have.
fn many_files(least: u64) -> Result<(), LabError> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).map_err(std::io::Error::from)?;
    match limit.maximum {
        Some(most) if most < least => Err(LabError::Request(format!(
            "{least} open files are needed, the system allows {most} (ulimit -n)"
        ))),
        _ => Ok(()),
    }
}

/// Runs it; progress goes to `say`. Results are in `out` after each round.
pub fn run(
    options: &WireOptions,
    out: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Results, LabError> {
    std::fs::create_dir_all(out)?;
    let scratch = out.join("scratch-wire");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch)?;
    let scratch = scratch.canonicalize()?;
    many_files(u64::from(options.idle) + 500)?;
    let own =
        OwnServer::new(options.program.clone(), scratch.join("ringwood"), Some(options.memory));
    let mut ringwood = Ringwood(own);
    let mut others: Vec<Box<dyn Server>> = Vec::new();
    if options.postgres {
        #[cfg(feature = "peers")]
        others.push(Box::new(Postgres(targets::own_postgres::OwnPostgres::new(
            scratch.join("postgres"),
            options.memory,
            options.inserting.max(64),
        ))));
        #[cfg(not(feature = "peers"))]
        return Err(targets::without_peers());
    }
    let origin = ResultsOrigin {
        begun: machine::utc_now(),
        commit: options.commit.clone(),
        command: options.command.clone(),
        seed: Some(options.seed),
        ..ResultsOrigin::default()
    };
    let mut results = Results {
        ringwood: env!("CARGO_PKG_VERSION").into(),
        origin,
        machine: machine::Machine::probe(out),
        studies: vec![empty(options)],
    };
    let ran = all(options, &scratch, &mut ringwood, &mut others, &mut results, out, say);
    drop((ringwood, others));
    if let Err(why) = std::fs::remove_dir_all(&scratch) {
        say(&format!("{} is left behind: {why}", scratch.display()));
    }
    ran.map(|()| results)
}

fn empty(options: &WireOptions) -> StudyResult {
    StudyResult {
        study: "wire".into(),
        scale: format!("{} s each", options.seconds),
        target: "all".into(),
        device: targets::device::REAL.into(),
        question:
            "What does a server do for clients that ask for little, and what do idle ones take?"
                .into(),
        setup: vec![format!(
            "thin clients on blocking sockets over loopback TCP without TLS, the same for both protocols; durable commits; SELECT from {} rows of \
             about 100 bytes in memory; {} rounds, in each the servers one after the other in an order that is balanced over the rounds, the other stopped",
            options.rows, options.runs
        )],
        rounds: Some(RoundsResult {
            looks: vec![options.runs],
            done: 0,
            confidence: stats::CONFIDENCE,
            fresh_every: 1,
        }),
        ..StudyResult::default()
    }
}

fn all(
    options: &WireOptions,
    scratch: &Path,
    ringwood: &mut Ringwood,
    others: &mut [Box<dyn Server>],
    results: &mut Results,
    out: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(), LabError> {
    for server in std::iter::once(&mut *ringwood as &mut dyn Server)
        .chain(others.iter_mut().map(|o| o.as_mut() as _))
    {
        say(&format!("making {}", server.title()));
        server.start()?;
        server.load(options.rows)?;
        results.studies[0].setup.push(server.said());
        server.stop()?;
    }
    for round in 0..options.runs {
        for index in balanced(options.seed, 1 + others.len(), round) {
            let server: &mut dyn Server = match index.checked_sub(1) {
                None => &mut *ringwood,
                Some(other) => others[other].as_mut(),
            };
            say(&format!("round {} of {}: {}", round + 1, options.runs, server.title()));
            let mut figures =
                FactorFigures { study: &mut results.studies[0], round, title: server.title() };
            turn(options, server, &mut figures)?;
            if index == 0 {
                beside_idle(options, ringwood, &mut figures)?;
                new_server(options, scratch, &mut figures)?;
            }
        }
        let study = &mut results.studies[0];
        if let Some(rounds) = &mut study.rounds {
            rounds.done = round + 1;
        }
        finish(study);
        report::write_all(results, out)?;
    }
    Ok(())
}

/// Ratios are to Ringwood at the same level, of the point query beside idle connections to the one
/// alone.
fn finish(study: &mut StudyResult) {
    let factors: Vec<String> = study.cells.iter().map(|c| c.factor.clone()).collect();
    let alone = format!("{SELECTS}, {}", connections(1));
    study.finish(&|factor| {
        let known = factors.iter().find(|f| *f == factor)?;
        Some((
            if factor.starts_with("beside") { alone.as_str() } else { known.as_str() },
            "Ringwood",
        ))
    });
    let parts: Vec<String> = study
        .cells
        .iter()
        .filter(|c| {
            c.unit == "calls/s" || c.measure == "p99" || c.factor == START || c.factor == IDLE
        })
        .map(|c| {
            format!(
                "{}, {}, {} {}",
                c.factor,
                c.level,
                c.measure,
                report::figure(c.median, &c.unit)
            )
        })
        .collect();
    study.meaning = format!("{}.", parts.join("; "));
}

fn turn(
    options: &WireOptions,
    server: &mut dyn Server,
    figures: &mut FactorFigures,
) -> Result<(), LabError> {
    server.start()?;
    let many = |server: &dyn Server, count: u32, statement| {
        (0..count).map(|_| server.connect(statement)).collect::<Result<Vec<_>, _>>()
    };
    let rows = options.rows as i32;
    for count in &options.selecting {
        let clients = many(server, *count, Statement::Select)?;
        let us = calls(clients, options.seconds, |_, random| ([random.i32(1..=rows), 0], 1), 1, 1)?;
        figures.calls(&format!("{SELECTS}, {}", connections(*count)), options.seconds, 1, us);
    }
    let arrival =
        |index: u32, random: &mut fastrand::Rng| ([index as i32, random.i32(0..1_000)], 2);
    let batches = options.selecting.iter().filter(|_| options.batch > 0);
    for count in batches {
        let clients = many(server, *count, Statement::Insert)?;
        let us = calls(clients, options.seconds, arrival, options.batch as usize, 0)?;
        let factor = format!("{INSERTS}, {} in a message, {}", options.batch, connections(*count));
        figures.calls(&factor, options.seconds, options.batch as usize, us);
    }
    let clients = many(server, options.inserting, Statement::Insert)?;
    let us = calls(clients, options.seconds, arrival, 1, 0)?;
    figures.calls(
        &format!("{INSERTS}, {}", connections(options.inserting)),
        options.seconds,
        1,
        us,
    );
    server.stop()
}

/// A point query alone and beside idle connections, and what each of these takes.
fn beside_idle(
    options: &WireOptions,
    server: &mut Ringwood,
    figures: &mut FactorFigures,
) -> Result<(), LabError> {
    if options.idle == 0 {
        return Ok(());
    }
    server.start()?;
    let rows = options.rows as i32;
    let query = |server: &Ringwood| {
        let clients = vec![server.connect(Statement::Select)?];
        calls(clients, options.seconds, |_, random| ([random.i32(1..=rows), 0], 1), 1, 1)
    };
    query(server)?;
    let before = resident_kb(server.0.id()?)?;
    let begin = Instant::now();
    let idle = (0..options.idle).map(|_| server.plain(DATABASE)).collect::<Result<Vec<_>, _>>()?;
    let seconds = begin.elapsed().as_secs_f64();
    figures.put(IDLE, "logins one after the other", "logins/s", f64::from(options.idle) / seconds);
    std::thread::sleep(SETTLE);
    let after = resident_kb(server.0.id()?)?;
    figures.put(IDLE, "memory of each", "KB", (after - before) / f64::from(options.idle));
    let us = query(server)?;
    figures.calls(&format!("beside {} idle connections", options.idle), options.seconds, 1, us);
    drop(idle);
    server.stop()
}

/// From the start of a new instance with default settings to its first answer, and its memory when
/// it has nothing to do.
fn new_server(
    options: &WireOptions,
    scratch: &Path,
    figures: &mut FactorFigures,
) -> Result<(), LabError> {
    let folder = scratch.join("new");
    let begin = Instant::now();
    let mut server = Ringwood(OwnServer::new(options.program.clone(), folder.clone(), None));
    server.start()?;
    Ringwood::batch(&mut server.plain("master")?, "select 1")?;
    figures.put(START, "start to first answer", "s", begin.elapsed().as_secs_f64());
    std::thread::sleep(SETTLE);
    figures.put(START, "idle memory", "MB", resident_kb(server.0.id()?)? / 1024.0);
    server.stop()?;
    Ok(std::fs::remove_dir_all(folder)?)
}

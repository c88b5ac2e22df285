//! What T-SQL costs above the log: one-row INSERTs that each commit durably, by one session and by
//! many at once, and the same log writes without an engine. All of it in turn in each round; prints
//! the medians of the rounds' ratios.
//!
//! Usage: `commit_scaling [FOLDER] [ROUNDS] [COMMITS] [SESSIONS] [DEVICE]`. The folder must be on
//! the device to be measured. A modelled device (a name or a file) does not depend on what else the
//! disk has to do, but keeps a processor busy at the end of each of its waits: below 0.1 ms it
//! takes one from the sessions.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::time::Instant;

use disk::{AlignedBuf, Disk, OpenMode, OsDisk};
use engine::{Instance, InstanceOptions, ResultRows, Session, Sink, SqlError};
use model::ModelDisk;

/// Keeps numbers of the last row; stops at errors.
#[derive(Default)]
struct Numbers(Vec<i64>);

impl Sink for Numbers {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.0 = row.iter().map(|value| value.as_i64().unwrap_or(0)).collect();
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("Msg {}: {}", error.number, error.message)
    }
}

fn run(session: &mut Session, sql: &str) -> Vec<i64> {
    let mut sink = Numbers::default();
    session.execute(sql, &mut sink);
    sink.0
}

/// Writes to the log file and their bytes, processor microseconds of this process.
#[derive(Clone, Copy)]
struct Counters {
    writes: i64,
    bytes: i64,
    cpu_us: u64,
    switches: u64,
}

fn counters(session: &mut Session) -> Counters {
    let sql =
        "select num_of_writes, num_of_bytes_written from sys.dm_io_virtual_file_stats(db_id(), 2)";
    let found = run(session, sql);
    let (cpu_us, switches) = usage();
    Counters { writes: found[0], bytes: found[1], cpu_us, switches }
}

/// Processor time of this process in microseconds and its context switches, of all threads that
/// live.
fn usage() -> (u64, u64) {
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let (mut cpu, mut switches) = (0, 0);
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let first = |text: String| text.split(' ').next().and_then(|n| n.parse::<u64>().ok());
        cpu += first(read(task.path().join("schedstat"))).unwrap_or(0) / 1000;
        let status = read(task.path().join("status"));
        let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        switches += counts.filter_map(|(_, n)| n.trim().parse::<u64>().ok()).sum::<u64>();
    }
    (cpu, switches)
}

/// What a part of a round did.
struct RoundPart {
    seconds: f64,
    commits: f64,
    writes: f64,
    bytes: f64,
    cpu_us: f64,
    switches: f64,
}

impl RoundPart {
    fn rate(&self) -> f64 {
        self.commits / self.seconds
    }
}

/// `count` sessions with `each` commits.
fn commits(instance: &Arc<Instance>, watch: &mut Session, count: usize, each: usize) -> RoundPart {
    run(watch, "checkpoint");
    let mut sessions: Vec<Session> = (0..count)
        .map(|_| {
            let mut session = instance.session().expect("session");
            session.use_database("bench").expect("use");
            session
        })
        .collect();
    let before = counters(watch);
    let barrier = Barrier::new(count + 1);
    let (seconds, after, cpu, switches) = std::thread::scope(|scope| {
        let barrier = &barrier;
        for (number, session) in sessions.iter_mut().enumerate() {
            let sql = format!(
                "set nocount on; declare @i int = 0; \
                 while @i < {each} begin insert one_row values ({number}, 'x'); set @i += 1 end"
            );
            scope.spawn(move || {
                barrier.wait();
                run(session, &sql);
                barrier.wait();
                // The counters of a thread end with it.
                barrier.wait();
            });
        }
        let (cpu, switches) = usage();
        barrier.wait();
        let begin = Instant::now();
        barrier.wait();
        let seconds = begin.elapsed().as_secs_f64();
        let after = counters(watch);
        barrier.wait();
        (seconds, after, cpu, switches)
    });
    RoundPart {
        seconds,
        commits: (count * each) as f64,
        writes: (after.writes - before.writes) as f64,
        bytes: (after.bytes - before.bytes) as f64,
        cpu_us: after.cpu_us.saturating_sub(cpu) as f64,
        switches: after.switches.saturating_sub(switches) as f64,
    }
}

/// As many durable writes of the same size into a file that was written before.
fn raw(file: &dyn disk::BlockFile, space: u64, like: &RoundPart) -> RoundPart {
    let sector = u64::from(file.sectors().physical);
    let block = ((like.bytes / like.writes).round() as u64).next_multiple_of(sector);
    let buffer = AlignedBuf::new(block as usize);
    let (cpu, switches) = usage();
    let begin = Instant::now();
    for i in 0..like.writes as u64 {
        file.write_durable(i * block % (space / block * block), &[&buffer]).expect("write");
    }
    let seconds = begin.elapsed().as_secs_f64();
    let after = usage();
    RoundPart {
        seconds,
        commits: like.writes,
        writes: like.writes,
        bytes: block as f64 * like.writes,
        cpu_us: after.0.saturating_sub(cpu) as f64,
        switches: after.1.saturating_sub(switches) as f64,
    }
}

fn median(samples: impl Iterator<Item = f64>) -> f64 {
    let mut samples: Vec<f64> = samples.collect();
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(0.0)
}

/// Median of how many times the rate of `b` the rate of `a` is, round by round.
fn ratio(a: &[RoundPart], b: &[RoundPart]) -> f64 {
    median(a.iter().zip(b).map(|(a, b)| a.rate() / b.rate()))
}

fn describe(what: &str, parts: &[RoundPart]) {
    let each = |f: &dyn Fn(&RoundPart) -> f64| median(parts.iter().map(f));
    println!(
        "{what:>12}: {:>8.0} commits/s, {:.1} us each, {:.1} us of processor, {:.2} context switches, {:.1} commits per log write of {:.0} bytes",
        each(&RoundPart::rate),
        1e6 / each(&RoundPart::rate),
        each(&|p| p.cpu_us / p.commits),
        each(&|p| p.switches / p.commits),
        each(&|p| p.commits / p.writes),
        each(&|p| p.bytes / p.writes),
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let folder = args.first().map_or_else(std::env::temp_dir, PathBuf::from);
    let number = |at: usize, usual: usize| args.get(at).map_or(Ok(usual), |n| n.parse());
    let (rounds, total, many) = (number(1, 7)?, number(2, 20_000)?, number(3, 64)?);
    let scratch = tempfile::tempdir_in(folder)?;
    let disk: Arc<dyn Disk> = match args.get(4) {
        None => Arc::new(OsDisk::new(scratch.path())),
        Some(name) => Arc::new(ModelDisk::for_measuring(model::device(name)?, scratch.path())?),
    };
    let instance = Instance::open(InstanceOptions {
        memory_bytes: Some(256 << 20),
        disk: disk.clone(),
        ..InstanceOptions::new(scratch.path())
    })?;
    let mut watch = instance.session()?;
    run(
        &mut watch,
        "create database bench on (name = bench, size = 64MB) log on (name = bench_log, size = 128MB)",
    );
    run(&mut watch, "alter database bench set recovery simple");
    watch.use_database("bench")?;
    let space = 64 << 20;
    let file = disk.open(Path::new("raw"), OpenMode::Create)?;
    file.write_zeros(0, space)?;
    let (mut bare, mut alone, mut together) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        run(
            &mut watch,
            "drop table if exists one_row; create table one_row (a int not null, b char(100) not null)",
        );
        let one = commits(&instance, &mut watch, 1, total / 4);
        let writes = raw(file.as_ref(), space, &one);
        let all = commits(&instance, &mut watch, many, total.div_ceil(many));
        let rows = run(&mut watch, "select count(*) from one_row")[0];
        assert_eq!(rows as f64, one.commits + all.commits, "rows were lost");
        // The first round warms caches up.
        if round > 0 {
            bare.push(writes);
            alone.push(one);
            together.push(all);
        }
    }
    describe("raw writes", &bare);
    describe("1 session", &alone);
    describe(&format!("{many} sessions"), &together);
    println!(
        "1 session against the same writes without an engine: {:.3} times as long",
        ratio(&bare, &alone)
    );
    println!("{many} sessions against 1: {:.2} times the commits", ratio(&together, &alone));
    drop(watch);
    instance.close()?;
    Ok(())
}

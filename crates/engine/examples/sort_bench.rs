//! Time and memory of sorts and index builds: TPC-C customer rows of about 700 bytes, then ORDER
//! BY, a window in no order of the table, one that wants no order (the usual list of numbers), two
//! tables merged in the order of their keys and the same rows sorted, a nonclustered index, a
//! unique clustered one. Each step in turn, several times, with the shortest and the median time;
//! peak memory at the end. `./bench sort [ROWS DIR RUNS]`

mod support;

use ringwood_engine::{Instance, InstanceOptions, Session};
use std::time::Instant;
use support::{Report, TABLE, insert};

/// Rows whose key columns come in no order; 300,000 at a time, so that no transaction is long.
fn fill(session: &mut Session, rows: u64) {
    let part = 300_000.min(rows.max(1));
    for first in (0..rows).step_by(part as usize) {
        let sql = insert(part, &format!("CAST({first} + n AS bigint) * 7919 % {rows}"));
        session.execute(&sql, &mut Report::default());
        session.execute("CHECKPOINT", &mut Report::default());
    }
}

const STEPS: [(&str, &str, &str); 9] = [
    (
        "SELECT * ORDER BY three integers",
        "SELECT * FROM customer ORDER BY c_w_id, c_d_id, c_id",
        "",
    ),
    (
        "SELECT three columns ORDER BY two strings",
        "SELECT c_id, c_w_id, c_first FROM customer ORDER BY c_last, c_first",
        "",
    ),
    (
        "SELECT two columns ORDER BY a decimal",
        "SELECT c_id, c_w_id FROM customer ORDER BY c_balance",
        "",
    ),
    (
        "ROW_NUMBER() by a decimal",
        "SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_balance) FROM customer",
        "",
    ),
    (
        "TOP (1000) of ROW_NUMBER() in no order",
        "SELECT TOP (1000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL))
         FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c",
        "",
    ),
    (
        "UNION ALL of two tables, merged",
        "SELECT k FROM even UNION ALL SELECT k FROM odd ORDER BY k",
        "",
    ),
    (
        "UNION ALL of two tables, sorted",
        "SELECT k FROM (SELECT k FROM even UNION ALL SELECT k FROM odd) AS u ORDER BY k + 0",
        "",
    ),
    (
        "CREATE INDEX on a string",
        "CREATE INDEX ix ON customer(c_first)",
        "DROP INDEX ix ON customer",
    ),
    (
        "CREATE UNIQUE CLUSTERED INDEX",
        "CREATE UNIQUE CLUSTERED INDEX ci ON customer(c_w_id, c_d_id, c_id)",
        "DROP INDEX ci ON customer",
    ),
];

/// The most memory that the process has held, in MB; `None` where the system does not say.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes >> 10)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let rows: u64 = args.next().map_or(Ok(300_000), |n| n.parse())?;
    let dir = match args.next() {
        Some(dir) => std::path::PathBuf::from(dir),
        None => std::env::temp_dir().join(format!("ringwood-sort-{}", std::process::id())),
    };
    let runs: usize = args.next().map_or(Ok(3), |n| n.parse())?;
    let pool = 512 << 20;
    let instance =
        Instance::open(InstanceOptions { memory_bytes: Some(pool), ..InstanceOptions::new(&dir) })?;
    let mut session = instance.session()?;
    let sizes = "CREATE DATABASE bench ON (NAME = bench, SIZE = 512MB, FILEGROWTH = 256MB) \
                 LOG ON (NAME = bench_log, SIZE = 1GB, FILEGROWTH = 256MB)";
    session.execute(sizes, &mut Report::default());
    session.execute("ALTER DATABASE bench SET RECOVERY SIMPLE", &mut Report::default());
    session.use_database("bench")?;
    session.execute(TABLE, &mut Report::default());
    fill(&mut session, rows);
    let pair = format!(
        "CREATE TABLE even (k bigint PRIMARY KEY); CREATE TABLE odd (k bigint PRIMARY KEY);
         INSERT even SELECT 2 * value FROM GENERATE_SERIES(1, {rows}); INSERT odd SELECT 2 * value + 1 FROM GENERATE_SERIES(1, {rows})"
    );
    session.execute(&pair, &mut Report::default());
    println!(
        "{rows} rows; {} MB at most so far, {} MB of it for pages",
        peak().unwrap_or(0),
        pool >> 20
    );
    let mut times = vec![Vec::new(); STEPS.len()];
    for _ in 0..runs {
        for (step, (_, sql, undo)) in STEPS.iter().enumerate() {
            let begin = Instant::now();
            session.execute(sql, &mut Report::default());
            times[step].push(begin.elapsed().as_secs_f64());
            if !undo.is_empty() && times[step].len() < runs {
                session.execute(undo, &mut Report::default());
            }
        }
    }
    for ((what, ..), times) in STEPS.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{what:<44} {:8.3} s, median {:8.3} s", times[0], times[times.len() / 2]);
    }
    println!("{} MB at most", peak().unwrap_or(0));
    drop(session);
    instance.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

//! What reading costs at each isolation level and with each way to lock: a scan of a table and of a
//! heap, a scan whose condition rejects nearly all rows, ranges of 50 rows and single rows by key.
//! Milliseconds of a scan, microseconds of a range and of a row, each the least of several rounds.
//! `by locks`: READ COMMITTED with READCOMMITTEDLOCK. In the second part somebody is changing a row
//! of the table meanwhile, so that no locks become one on the table. The third part is of rows that
//! an index leads to: 1,700 of them, and the first ten of them, by key and by RID, in the order in
//! which they lie (`near`) and in another one (`far`).
//! `cargo run --release -p ringwood-engine --example isolation_bench [-- ROUNDS ROWS]`

#[path = "support/instance.rs"]
mod instance;

use std::time::Instant;

use instance::with_instance;
use ringwood_engine::{ColumnInfo, DataType, Session, Sink, SqlError, Value};

/// Takes everything; an error ends the program.
struct Quiet;

impl Sink for Quiet {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
        Ok(())
    }
    fn row(&mut self, _: &[Value]) -> Result<(), SqlError> {
        Ok(())
    }
    fn done(&mut self, _: ringwood_engine::StatementEnd) -> Result<(), SqlError> {
        Ok(())
    }
    fn message(&mut self, _: &SqlError) -> Result<(), SqlError> {
        Ok(())
    }
    fn error(&mut self, e: &SqlError) -> Result<(), SqlError> {
        eprintln!("Msg {}: {}", e.number, e.message);
        std::process::exit(1)
    }
}

/// A level, and the hint that asks for it.
const LEVELS: [(&str, &str); 5] = [
    ("READ COMMITTED", ""),
    ("by locks", "WITH (READCOMMITTEDLOCK)"),
    ("REPEATABLE READ", "WITH (REPEATABLEREAD)"),
    ("SERIALIZABLE", "WITH (SERIALIZABLE)"),
    ("UPDLOCK", "WITH (UPDLOCK)"),
];

/// Rows of a range.
const RANGE: i32 = 50;

/// Least seconds of a run of a statement, of several rounds of so many runs, with ascending keys.
fn timed(session: &mut Session, text: &str, rounds: u32, runs: i32) -> Result<f64, SqlError> {
    let statement = session.prepare(text, &[("@k", DataType::Int)])?;
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let begin = Instant::now();
        for run in 0..runs {
            session.execute_prepared(&statement, &[Value::Int(1000 + run * RANGE)], &mut Quiet)?;
        }
        best = best.min(begin.elapsed().as_secs_f64() / f64::from(runs));
    }
    Ok(best)
}

/// Scans begin behind row `from`.
fn measure(session: &mut Session, rounds: u32, tables: [&str; 2], from: u32) -> Result<(), SqlError> {
    println!(
        "{:<18} {:>10} {:>10} {:>12} {:>10} {:>10}",
        "level", "table ms", "heap ms", "rejected ms", "range us", "row us"
    );
    for (name, hint) in LEVELS {
        let mut scans = Vec::new();
        for table in tables {
            let all = format!("SELECT SUM(v) FROM {table} {hint} WHERE id > {from}");
            scans.push(timed(session, &all, rounds, 1)? * 1e3);
        }
        let few = format!("SELECT SUM(v) FROM c {hint} WHERE id > {from} AND v = -1");
        let few = timed(session, &few, rounds, 1)? * 1e3;
        let range = format!("SELECT SUM(v) FROM c {hint} WHERE id BETWEEN @k AND @k + {}", RANGE - 1);
        let range = timed(session, &range, rounds, 200)? * 1e6;
        let row = timed(session, &format!("SELECT v FROM c {hint} WHERE id = @k"), rounds, 1000)? * 1e6;
        println!("{name:<18} {:>10.1} {:>10.1} {few:>12.1} {range:>10.1} {row:>10.2}", scans[0], scans[1]);
    }
    Ok(())
}

/// Rows that are looked up, of a clustered table and a heap.
fn measure_lookups(session: &mut Session, rounds: u32) -> Result<(), SqlError> {
    println!(
        "{:<18} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "level", "key near us", "key far us", "rid near us", "rid far us", "ten far us"
    );
    for (name, hint) in LEVELS {
        let by = |column: &str| match hint {
            "" => format!("WITH (INDEX(by_{column}))"),
            hint => hint.replace(')', &format!(", INDEX(by_{column}))")),
        };
        let mut times = Vec::new();
        for (table, column) in [("lc", "near"), ("lc", "far"), ("lh", "near"), ("lh", "far")] {
            let range = format!("{column} BETWEEN @k AND @k + 1699 AND a = 1");
            let rows = format!("SELECT SUM(v) FROM {table} {} WHERE {range}", by(column));
            times.push(timed(session, &rows, rounds, 20)? * 1e6);
        }
        let ten = format!("SELECT TOP (10) v FROM lh {} WHERE far >= @k ORDER BY far", by("far"));
        times.push(timed(session, &ten, rounds, 1000)? * 1e6);
        let times: Vec<String> = times.iter().map(|us| format!(" {us:>12.1}")).collect();
        println!("{name:<18}{}", times.concat());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let rounds: u32 = args.next().map_or(Ok(5), |n| n.parse())?;
    let rows: u32 = args.next().map_or(Ok(1_000_000), |n| n.parse())?;
    with_instance("isolation", 1 << 30, |instance| {
        let mut session = instance.session()?;
        session.execute("CREATE DATABASE bench", &mut Quiet);
        session.use_database("bench")?;
        for (table, key) in [("c", "PRIMARY KEY"), ("h", "NOT NULL")] {
            let fill = format!(
                "CREATE TABLE {table} (id int {key}, v bigint NOT NULL, s char(40) NOT NULL)
                 INSERT {table} SELECT value, value % 1000, 'text' FROM GENERATE_SERIES(1, {rows})"
            );
            session.execute(&fill, &mut Quiet);
        }
        measure(&mut session, rounds, ["c", "h"], 10)?;
        println!("beside a change of row 1, the last 100,000 rows; of the table twice");
        let mut other = instance.session()?;
        other.use_database("bench")?;
        other.execute("BEGIN TRAN UPDATE c SET v = v WHERE id = 1", &mut Quiet);
        // A scan of the heap would wait for its row. A lock of each of a million rows takes much
        // memory.
        measure(&mut session, rounds, ["c", "c"], rows.saturating_sub(100_000).max(10))?;
        other.execute("ROLLBACK", &mut Quiet);
        println!("1,700 rows behind entries of an index, and ten");
        for (table, key) in [("lc", "PRIMARY KEY"), ("lh", "NOT NULL")] {
            let fill = format!(
                "CREATE TABLE {table} (id int {key}, near int NOT NULL, far int NOT NULL, a int NOT NULL,
                     v bigint NOT NULL, s char(100) NOT NULL)
                 INSERT {table} SELECT value, value, value * CAST(7919 AS bigint) % 200000, 1, value, 'text'
                     FROM GENERATE_SERIES(0, 199999)
                 CREATE INDEX by_near ON {table} (near)
                 CREATE INDEX by_far ON {table} (far)"
            );
            session.execute(&fill, &mut Quiet);
        }
        measure_lookups(&mut session, rounds)?;
        Ok(())
    })
}

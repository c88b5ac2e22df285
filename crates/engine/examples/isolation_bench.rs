//! What reading costs at each isolation level and with each way to lock: a scan of a table and of a
//! heap, a scan whose condition rejects nearly all rows, ranges of 50 rows and single rows by key.
//! The levels take turns; medians of the rounds, and of their ratios to READ COMMITTED. `by locks`:
//! READ COMMITTED with READCOMMITTEDLOCK. In the second part somebody is changing a row of the table
//! meanwhile, so that no locks become one on the table.
//! `cargo run --release -p ringwood-engine --example isolation_bench [-- --help]`

#[path = "support/instance.rs"]
mod instance;
#[path = "support/measure.rs"]
mod measure;
#[path = "support/statements.rs"]
mod statements;

use std::time::Instant;

use instance::with_instance;
use measure::{Arguments, Done, Rows, Turns, in_turns};
use ringwood_engine::{DataType, Session, Value};
use statements::{run, run_prepared};

const HELP: &str = "isolation_bench [--rows N] [--rounds N] [--json]

  --rows    of each table, 1000000 unless said
  --rounds  5 unless said
  --json    a line of JSON for each row of the tables

Of both parts a table of times, and one of how many times READ COMMITTED they are.";

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

/// What is read, with the hint where the braces are; how often in a round, and in how many parts of
/// a second its time is told.
type Reading = (String, i32, f64);

/// Scans begin behind row `from`.
fn readings(tables: [&str; 2], from: u32) -> [Reading; 5] {
    let last = RANGE - 1;
    [
        (format!("SELECT SUM(v) FROM {} {{}} WHERE id > {from}", tables[0]), 1, 1e3),
        (format!("SELECT SUM(v) FROM {} {{}} WHERE id > {from}", tables[1]), 1, 1e3),
        (format!("SELECT SUM(v) FROM c {{}} WHERE id > {from} AND v = -1"), 1, 1e3),
        (format!("SELECT SUM(v) FROM c {{}} WHERE id BETWEEN @k AND @k + {last}"), 200, 1e6),
        ("SELECT v FROM c {} WHERE id = @k".to_owned(), 1000, 1e6),
    ]
}

/// The levels in turns: what a run of a statement takes, with ascending keys.
fn timed(session: &mut Session, (text, runs, units): &Reading, rounds: usize) -> Done<Turns<5>> {
    let mut statements = Vec::new();
    for (_, hint) in LEVELS {
        statements.push(session.prepare(&text.replace("{}", hint), &[("@k", DataType::Int)])?);
    }
    in_turns::<5>(rounds, |level| {
        let begin = Instant::now();
        for run in 0..*runs {
            run_prepared(session, &statements[level], &[Value::Int(1000 + run * RANGE)])?;
        }
        Ok(begin.elapsed().as_secs_f64() / f64::from(*runs) * units)
    })
}

/// Names of what is printed, and what is scanned: the tables, behind which row.
type Part = ([&'static str; 2], [&'static str; 2], u32);

fn measure(session: &mut Session, (rounds, json): (usize, bool), part: Part) -> Done<()> {
    let (kinds, tables, from) = part;
    let mut turns = Vec::new();
    for reading in &readings(tables, from) {
        turns.push(timed(session, reading, rounds)?);
    }
    let labels = &[("level", 18)];
    let times = &[("table ms", 1), ("heap ms", 1), ("rejected ms", 1), ("range us", 1), ("row us", 2)];
    let ratios = &[("table", 2), ("heap", 2), ("rejected", 2), ("range", 2), ("row", 2)];
    let mut printed = Rows::new(json, kinds[0], labels, times);
    for (level, (name, _)) in LEVELS.iter().enumerate() {
        printed.row(&[name], &turns.iter().map(|turns| turns.median(level)).collect::<Vec<_>>());
    }
    let mut printed = Rows::new(json, kinds[1], labels, ratios);
    for (level, (name, _)) in LEVELS.iter().enumerate() {
        printed.row(&[name], &turns.iter().map(|turns| turns.ratio(level, 0)).collect::<Vec<_>>());
    }
    Ok(())
}

fn main() -> Done<()> {
    let arguments = Arguments::read(HELP, &["--rows", "--rounds"])?;
    let rows = arguments.number("--rows", 1_000_000_u32)?;
    let wanted = (arguments.number("--rounds", 5)?, arguments.json);
    with_instance("isolation", 1 << 30, |instance| {
        let mut session = instance.session()?;
        run(&mut session, "CREATE DATABASE bench")?;
        session.use_database("bench")?;
        for (table, key) in [("c", "PRIMARY KEY"), ("h", "NOT NULL")] {
            let fill = format!(
                "CREATE TABLE {table} (id int {key}, v bigint NOT NULL, s char(40) NOT NULL)
                 INSERT {table} SELECT value, value % 1000, 'text' FROM GENERATE_SERIES(1, {rows})"
            );
            run(&mut session, &fill)?;
        }
        measure(&mut session, wanted, (["alone", "alone_ratio"], ["c", "h"], 10))?;
        if !arguments.json {
            println!("beside a change of row 1, the last 100,000 rows; of the table twice");
        }
        let mut other = instance.session()?;
        other.use_database("bench")?;
        run(&mut other, "BEGIN TRAN UPDATE c SET v = v WHERE id = 1")?;
        // A scan of the heap would wait for its row. A lock of each of a million rows takes much
        // memory.
        let from = rows.saturating_sub(100_000).max(10);
        measure(&mut session, wanted, (["beside", "beside_ratio"], ["c", "c"], from))?;
        run(&mut other, "ROLLBACK")
    })
}

//! What reading costs at each isolation level and with each way to lock: a scan of a table and of a
//! heap, a scan whose condition rejects nearly all rows, ranges of 50 rows and single rows by key.
//! The levels take turns; medians of the rounds, and of their ratios to READ COMMITTED. `by locks`:
//! READ COMMITTED with READCOMMITTEDLOCK. In the second part somebody is changing a row of the
//! table meanwhile, so that no locks become one on the table. The third part is of rows that an
//! index leads to: 1,700 of them, and the first ten of them, by key and by RID, in the order in
//! which they lie (`near`) and in another one (`far`).
//! `./bench isolation [--help]`

#[path = "support/instance.rs"]
mod instance;
#[path = "support/measure.rs"]
mod measure;
#[path = "support/statements.rs"]
mod statements;

use std::time::Instant;

use self::instance::with_instance;
use self::statements::{run, run_prepared};
use measure::{Arguments, Done, Rows, Turns, in_turns};
use ringwood_engine::{DataType, Session, Value};

const HELP: &str = "isolation_bench [--rows N] [--rounds N] [--json]

  --rows    of each table, 1000000 unless said
  --rounds  5 unless said
  --json    a line of JSON for each row of the tables

Of each part a table of times, and one of how many times READ COMMITTED they are.";

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

/// What is read, with the hint where `{}` is, and with one more hint where `{,}` is; how often in a
/// round, and in how many parts of a second its time is told.
type Reading = (String, i32, f64);

/// Names of columns that are printed, with their decimals.
type Columns = &'static [(&'static str, usize)];

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

/// Rows that are looked up, of a clustered table and of a heap.
fn lookups() -> [Reading; 5] {
    let behind = |table: &str, column: &str| {
        let range = format!("{column} BETWEEN @k AND @k + 1699 AND a = 1");
        (
            format!("SELECT SUM(v) FROM {table} WITH (INDEX(by_{column}){{,}}) WHERE {range}"),
            20,
            1e6,
        )
    };
    let ten = "SELECT TOP (10) v FROM lh WITH (INDEX(by_far){,}) WHERE far >= @k ORDER BY far";
    [
        behind("lc", "near"),
        behind("lc", "far"),
        behind("lh", "near"),
        behind("lh", "far"),
        (ten.to_owned(), 1000, 1e6),
    ]
}

/// The levels in turns: what a run of a statement takes, with ascending keys.
fn timed(session: &mut Session, (text, runs, units): &Reading, rounds: usize) -> Done<Turns<5>> {
    let mut statements = Vec::new();
    for (_, hint) in LEVELS {
        let one_more = hint.replace("WITH (", ", ").replace(')', "");
        let text = text.replace("{}", hint).replace("{,}", &one_more);
        statements.push(session.prepare(&text, &[("@k", DataType::Int)])?);
    }
    in_turns::<5>(rounds, |level| {
        let begin = Instant::now();
        for run in 0..*runs {
            run_prepared(session, &statements[level], &[Value::Int(1000 + run * RANGE)])?;
        }
        Ok(begin.elapsed().as_secs_f64() / f64::from(*runs) * units)
    })
}

/// What is measured: names of its tables of times and of ratios, their columns, what is read.
struct Part {
    kinds: [&'static str; 2],
    times: Columns,
    ratios: Columns,
    readings: [Reading; 5],
}

impl Part {
    fn scans(kinds: [&'static str; 2], tables: [&str; 2], from: u32) -> Part {
        Part {
            kinds,
            times: &[
                ("table ms", 1),
                ("heap ms", 1),
                ("rejected ms", 1),
                ("range us", 1),
                ("row us", 2),
            ],
            ratios: &[("table", 2), ("heap", 2), ("rejected", 2), ("range", 2), ("row", 2)],
            readings: readings(tables, from),
        }
    }

    fn lookups() -> Part {
        Part {
            kinds: ["lookups", "lookups_ratio"],
            times: &[
                ("key near us", 1),
                ("key far us", 1),
                ("rid near us", 1),
                ("rid far us", 1),
                ("ten far us", 1),
            ],
            ratios: &[
                ("key near", 2),
                ("key far", 2),
                ("rid near", 2),
                ("rid far", 2),
                ("ten far", 2),
            ],
            readings: lookups(),
        }
    }
}

fn measure(session: &mut Session, (rounds, json): (usize, bool), part: Part) -> Done<()> {
    let mut turns = Vec::new();
    for reading in &part.readings {
        turns.push(timed(session, reading, rounds)?);
    }
    let labels = &[("level", 18)];
    let mut printed = Rows::new(json, part.kinds[0], labels, part.times);
    for (level, (name, _)) in LEVELS.iter().enumerate() {
        printed.row(&[name], &turns.iter().map(|turns| turns.median(level)).collect::<Vec<_>>());
    }
    let mut printed = Rows::new(json, part.kinds[1], labels, part.ratios);
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
        measure(&mut session, wanted, Part::scans(["alone", "alone_ratio"], ["c", "h"], 10))?;
        if !arguments.json {
            println!("beside a change of row 1, the last 100,000 rows; of the table twice");
        }
        let mut other = instance.session()?;
        other.use_database("bench")?;
        run(&mut other, "BEGIN TRAN UPDATE c SET v = v WHERE id = 1")?;
        // A scan of the heap would wait for its row. A lock of each of a million rows takes much
        // memory.
        let from = rows.saturating_sub(100_000).max(10);
        measure(&mut session, wanted, Part::scans(["beside", "beside_ratio"], ["c", "c"], from))?;
        run(&mut other, "ROLLBACK")?;
        if !arguments.json {
            println!("1,700 rows behind entries of an index, and ten");
        }
        for (table, key) in [("lc", "PRIMARY KEY"), ("lh", "NOT NULL")] {
            let fill = format!(
                "CREATE TABLE {table} (id int {key}, near int NOT NULL, far int NOT NULL, a int NOT NULL,
                     v bigint NOT NULL, s char(100) NOT NULL)
                 INSERT {table} SELECT value, value, value * CAST(7919 AS bigint) % 200000, 1, value, 'text'
                     FROM GENERATE_SERIES(0, 199999)
                 CREATE INDEX by_near ON {table} (near)
                 CREATE INDEX by_far ON {table} (far)"
            );
            run(&mut session, &fill)?;
        }
        measure(&mut session, wanted, Part::lookups())
    })
}

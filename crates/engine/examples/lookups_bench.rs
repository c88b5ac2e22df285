//! What a row costs that is looked up behind an entry of an index, by how many of a table's rows
//! are: in no order of the clustered index (`far`) and in its order (`near`), by key and by RID,
//! and under SERIALIZABLE. Beside it what a row costs that a scan looks at for the same condition,
//! and how many such rows one lookup is. Nanoseconds, least of several rounds.
//! `./bench lookups [ROUNDS ROWS]`

#[path = "support/instance.rs"]
mod instance;

use std::time::Instant;

use self::instance::with_instance;
use ringwood_engine::{ColumnInfo, DataType, Session, Sink, SqlError, Value};

/// One row of so many is looked up.
const SHARES: [u32; 5] = [2, 7, 26, 200, 2_000];

/// Takes everything; an error ends the program.
struct Quiet;

impl Sink for Quiet {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
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

/// What is read: the table, and the hint.
const CASES: [(&str, &str, &str); 6] = [
    ("far, by key", "far", "c WITH (INDEX (by_far))"),
    ("near, by key", "near", "c WITH (INDEX (by_near))"),
    ("far, by RID", "far", "h WITH (INDEX (by_far))"),
    ("near, by RID", "near", "h WITH (INDEX (by_near))"),
    ("far, by key, SERIALIZABLE", "far", "c WITH (INDEX (by_far), SERIALIZABLE)"),
    ("near, by key, SERIALIZABLE", "near", "c WITH (INDEX (by_near), SERIALIZABLE)"),
];

/// Least seconds of some runs of a query over so many rows.
fn timed(
    session: &mut Session,
    (column, table): (&str, &str),
    rows: u32,
    rounds: u32,
) -> Result<f64, SqlError> {
    let text = format!("SELECT SUM(v) FROM {table} WHERE {column} BETWEEN @from AND @to AND v > 0");
    let statement = session.prepare(&text, &[("@from", DataType::Int), ("@to", DataType::Int)])?;
    let mut best = f64::MAX;
    for round in 0..rounds {
        // Another part of the table each time.
        let from = 1 + round % 2;
        let range = [from, from + rows - 1].map(|n| Value::Int(n as i32));
        let begin = Instant::now();
        session.execute_prepared(&statement, &range, &mut Quiet)?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// A clustered table and a heap: `near` is in the order in which rows lie, `far` in none.
fn fill(rows: u32) -> String {
    let columns = "near int NOT NULL, far int NOT NULL, v int NOT NULL, pad char(250) NOT NULL";
    // Rows come in the order of a number that steps over all of them.
    let scattered = format!("1 + CAST(value AS bigint) * 48271 % {rows}");
    format!(
        "CREATE TABLE c (id bigint NOT NULL PRIMARY KEY, {columns})
         CREATE TABLE h (id bigint NOT NULL, {columns})
         INSERT c SELECT value * 1000, value, {scattered}, 1, '' FROM GENERATE_SERIES(1, {rows})
         INSERT h SELECT id, near, far, v, pad FROM c ORDER BY id
         CREATE INDEX by_near ON c (near) CREATE INDEX by_far ON c (far)
         CREATE INDEX by_near ON h (near) CREATE INDEX by_far ON h (far)"
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let rounds: u32 = args.next().map_or(Ok(7), |n| n.parse())?;
    let rows: u32 = args.next().map_or(Ok(76_000), |n| n.parse())?;
    with_instance("lookups", 1 << 30, |instance| {
        let mut session = instance.session()?;
        session.execute("CREATE DATABASE bench", &mut Quiet);
        session.use_database("bench")?;
        session.execute(&fill(rows), &mut Quiet);
        println!(
            "{:<28} {:>8} {:>10} {:>10} {:>8}",
            "lookup", "of rows", "lookup", "scan", "ratio"
        );
        for (name, column, table) in CASES {
            for share in SHARES {
                let wanted = (rows / share).max(1);
                let lookup = timed(&mut session, (column, table), wanted, rounds)?;
                let scanned = format!("{} WITH (INDEX (0))", &table[..1]);
                let scan = timed(&mut session, (column, &scanned), wanted, rounds)?;
                let (lookup, scan) = (lookup / f64::from(wanted), scan / f64::from(rows));
                println!(
                    "{name:<28} {share:>8} {:>10.0} {:>10.0} {:>8.1}",
                    lookup * 1e9,
                    scan * 1e9,
                    lookup / scan
                );
            }
        }
        Ok(())
    })
}

//! What a row costs that is looked up in a list of IN: lists of 10, 2,000 and 100,000 elements,
//! constants and what is computed of a variable, numbers and texts. Nanoseconds for each of the
//! rows, without compiling, least of several rounds; and the milliseconds of a run over two rows,
//! which is what putting the list in order costs where the run does it.
//! `./bench lists [ROUNDS ROWS]`

#[path = "support/instance.rs"]
mod instance;

use std::time::Instant;

use self::instance::with_instance;
use ringwood_engine::{ColumnInfo, DataType, Session, Sink, SqlError, Value};
use types::Len;

/// Elements of the lists.
const SIZES: [usize; 3] = [10, 2_000, 100_000];

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

/// A kind of list: the condition before it, and its elements.
struct Case {
    name: &'static str,
    before: &'static str,
    element: fn(usize) -> String,
}

/// Every third number from 0 on is in a list. `@a` is 0, `@s` is empty.
const CASES: [Case; 6] = [
    Case { name: "IN constants", before: "v IN", element: |k| (k * 3).to_string() },
    Case { name: "NOT IN constants", before: "v NOT IN", element: |k| (k * 3).to_string() },
    Case { name: "IN variables", before: "v IN", element: |k| format!("@a + {}", k * 3) },
    Case { name: "NOT IN variables", before: "v NOT IN", element: |k| format!("@a + {}", k * 3) },
    Case { name: "NOT IN texts", before: "s NOT IN", element: |k| format!("'text {}'", k * 3) },
    Case {
        name: "NOT IN texts, variables",
        before: "s NOT IN",
        element: |k| format!("@s + 'text {}'", k * 3),
    },
];

/// Least seconds of some runs of a query.
fn timed(session: &mut Session, text: &str, rounds: u32) -> Result<f64, SqlError> {
    let parameters = [("@a", DataType::Int), ("@s", DataType::VarChar(Len::N(20)))];
    let statement = session.prepare(text, &parameters)?;
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let begin = Instant::now();
        session.execute_prepared(&statement, &[Value::Int(0), Value::str("")], &mut Quiet)?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Nanoseconds for a row of the table, and milliseconds of a run over two rows.
fn measured(
    session: &mut Session,
    case: &Case,
    size: usize,
    (rounds, rows): (u32, u32),
) -> Result<(f64, f64), SqlError> {
    let list: Vec<String> = (0..size).map(case.element).collect();
    let condition = format!("{} ({})", case.before, list.join(", "));
    let all = timed(session, &format!("SELECT COUNT(*) FROM t WHERE {condition}"), rounds)?;
    let two =
        timed(session, &format!("SELECT COUNT(*) FROM t WHERE id <= 2 AND {condition}"), rounds)?;
    Ok((all * 1e9 / f64::from(rows), two * 1e3))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let rounds: u32 = args.next().map_or(Ok(5), |n| n.parse())?;
    let rows: u32 = args.next().map_or(Ok(200_000), |n| n.parse())?;
    with_instance("lists", 512 << 20, |instance| {
        let mut session = instance.session()?;
        session.execute("CREATE DATABASE bench", &mut Quiet);
        session.use_database("bench")?;
        let fill = format!(
            "CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int NOT NULL, s varchar(20) NOT NULL)
             INSERT t SELECT value, value % 50000, CONCAT('text ', value % 50000) FROM GENERATE_SERIES(1, {rows})"
        );
        session.execute(&fill, &mut Quiet);
        println!("{:<24} {:>9} {:>12} {:>14}", "list", "elements", "ns per row", "ms for 2 rows");
        for case in &CASES {
            for size in SIZES {
                let (row, two) = measured(&mut session, case, size, (rounds, rows))?;
                println!("{:<24} {size:>9} {row:>12.1} {two:>14.3}", case.name);
            }
        }
        Ok(())
    })
}

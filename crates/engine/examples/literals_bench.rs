//! What a statement of one row costs through the embedded library: with a new literal each time,
//! with the same text each time, and prepared. SELECT, UPDATE and INSERT by key, and texts that are
//! never parameterised; least microseconds of several rounds, and the ratio to the prepared one.
//! `./bench literals [ROUNDS THREADS]`

#[path = "support/instance.rs"]
mod instance;

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use self::instance::with_instance;
use ringwood_engine::{ColumnInfo, DataType, Instance, Session, Sink, SqlError, Value};

/// Rows of the table, and statements of one round.
const ROWS: i32 = 20_000;

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

/// One statement in three forms: text before the key, text after it, and what undoes a round.
struct Case {
    name: &'static str,
    head: &'static str,
    tail: &'static str,
    after: &'static str,
}

const CASES: [Case; 4] = [
    Case { name: "SELECT by key", head: "SELECT v FROM t WHERE k = ", tail: "", after: "" },
    Case { name: "UPDATE by key", head: "UPDATE t SET v = v + 1 WHERE k = ", tail: "", after: "" },
    Case {
        name: "INSERT",
        head: "INSERT e VALUES (",
        tail: ", 7, 'some name')",
        after: "TRUNCATE TABLE e",
    },
    Case {
        name: "SELECT of a range",
        head: "SELECT v FROM t WHERE k > 19990 AND k < ",
        tail: "",
        after: "",
    },
];

fn run(session: &mut Session, text: &str) {
    session.execute(text, &mut Quiet);
}

/// Microseconds per statement.
fn timed(session: &mut Session, after: &str, mut one: impl FnMut(&mut Session, i32)) -> f64 {
    run(session, "BEGIN TRAN");
    let begin = Instant::now();
    for k in 1..=ROWS {
        one(session, k);
    }
    let took = begin.elapsed().as_secs_f64() * 1e6 / f64::from(ROWS);
    run(session, "COMMIT");
    if !after.is_empty() {
        run(session, after);
    }
    took
}

fn rounds(session: &mut Session, case: &Case, rounds: u32) -> Result<[f64; 3], SqlError> {
    let mut best = [f64::MAX; 3];
    let prepared =
        session.prepare(&format!("{}@k{}", case.head, case.tail), &[("@k", DataType::Int)])?;
    // The key of an INSERT is not unique: the same text each time adds the same row.
    let same = format!("{}{}{}", case.head, ROWS / 2, case.tail);
    let mut text = String::new();
    for round in 0..rounds {
        // Literals that no earlier round had, for keys that are all there.
        let zeros = "0".repeat(round as usize);
        let mut new = |session: &mut Session, k: i32| {
            text.clear();
            // Writing into a string does not fail.
            let _ = write!(text, "{}{zeros}{k}{}", case.head, case.tail);
            session.execute(&text, &mut Quiet);
        };
        best[0] = best[0].min(timed(session, case.after, &mut new));
        best[1] = best[1].min(timed(session, case.after, |session, _| run(session, &same)));
        best[2] = best[2].min(timed(session, case.after, |session, k| {
            if let Err(e) = session.execute_prepared(&prepared, &[Value::Int(k)], &mut Quiet) {
                eprintln!("{}", e.message);
            }
        }));
    }
    Ok(best)
}

/// Statements per microsecond of several sessions at once: new literals, and one text for all.
fn together(instance: &Arc<Instance>, threads: i32) -> Result<(), SqlError> {
    for (name, new) in [("new literals", true), ("one text", false)] {
        let begin = Instant::now();
        std::thread::scope(|scope| {
            let work = |thread: i32| {
                move || -> Result<(), SqlError> {
                    let mut session = instance.session()?;
                    session.use_database("bench")?;
                    for k in 1..=ROWS * 5 {
                        let key = if new { (k % ROWS) + 1 } else { 1 };
                        let zeros = if new {
                            "0".repeat((thread * 5 + k / ROWS) as usize)
                        } else {
                            String::new()
                        };
                        run(&mut session, &format!("SELECT v FROM t WHERE k = {zeros}{key}"));
                    }
                    Ok(())
                }
            };
            let all: Vec<_> = (0..threads).map(|thread| scope.spawn(work(thread))).collect();
            for one in all {
                if let Ok(Err(e)) = one.join() {
                    eprintln!("{}", e.message);
                }
            }
        });
        let each = begin.elapsed().as_secs_f64() * 1e6 / f64::from(ROWS * 5 * threads);
        println!("{threads} sessions, {name:<24} {each:7.2} us per statement");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let count: u32 = args.next().map_or(Ok(5), |n| n.parse())?;
    let threads: i32 = args.next().map_or(Ok(2), |n| n.parse())?;
    with_instance("literals", 256 << 20, |instance| {
        let mut session = instance.session()?;
        run(&mut session, "CREATE DATABASE bench");
        session.use_database("bench")?;
        run(
            &mut session,
            "CREATE TABLE t (k int NOT NULL PRIMARY KEY, v int NOT NULL, name varchar(30))",
        );
        run(&mut session, "CREATE TABLE e (k int NOT NULL, v int NOT NULL, name varchar(30))");
        let fill = format!(
            "DECLARE @i int = 1; BEGIN TRAN; WHILE @i <= {ROWS} BEGIN INSERT t VALUES (@i, 0, 'x'); SET @i = @i + 1 END; COMMIT"
        );
        run(&mut session, &fill);
        println!(
            "{:<20} {:>18} {:>18} {:>10}",
            "us per statement", "new literal", "same text", "prepared"
        );
        for case in &CASES {
            let [new, same, prepared] = rounds(&mut session, case, count)?;
            let (a, b) = (new / prepared, same / prepared);
            println!(
                "{:<20} {new:9.2} ({a:5.2} x) {same:9.2} ({b:5.2} x) {prepared:10.2}",
                case.name
            );
        }
        together(instance, threads)?;
        println!("compilations: {}", instance.compilations());
        Ok(())
    })
}

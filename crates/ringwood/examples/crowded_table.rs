//! What holders of locks on a table cost a statement on it: prepared SELECT and UPDATE by key,
//! alone and while 2,000 and 10,000 sessions have one uncommitted row each in the same table.
//! Commits do not wait for the disk. Each round measures all of them; prints medians in
//! microseconds of this thread's processor time, and their ratios to the time alone.
//!
//! `./bench crowded-table [ROUNDS] [STATEMENTS]`

use ringwood::{DataType, Database, Options, Session, SqlError, Statement, Value};
use std::time::Instant;

const KEYS: i32 = 10_000;
/// Sessions beside.
const CROWDS: [usize; 3] = [0, 2_000, 10_000];
const WORK: [&str; 2] = ["SELECT by key", "UPDATE by key"];

const SETUP: &str = "create database bench on (name = d, filename = 'b.mdf', size = 256MB)
         log on (name = l, filename = 'b.ldf', size = 1GB);
     alter database bench set recovery simple;
     alter database bench set delayed_durability = forced";

const TABLES: &str = "create table t (id int primary key, n int not null, words varchar(100));
     insert t select value, 0, 'some words that make the row longer' from generate_series(0, 9999)";

/// Nanoseconds that this thread has been on a processor; wall time where the system does not tell.
fn processor_ns(start: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_cpu = text.split_whitespace().next().and_then(|n| n.parse().ok());
    on_cpu.unwrap_or_else(|| start.elapsed().as_nanos() as f64)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Microseconds of each of `count` statements with keys all over the table.
fn each(session: &mut Session, statement: &Statement, count: i32) -> Result<f64, SqlError> {
    let (start, mut key, mut before) = (Instant::now(), 0, 0.0);
    for n in -2_000..count {
        if n == 0 {
            before = processor_ns(start);
        }
        key = (key + 7919) % KEYS;
        session.execute_prepared(statement, &[Value::Int(key)])?;
    }
    Ok((processor_ns(start) - before) / 1000.0 / f64::from(count))
}

/// Sessions with an uncommitted row each.
fn crowd(db: &Database, count: usize) -> Result<Vec<Session>, SqlError> {
    let mut sessions = Vec::with_capacity(count);
    for n in 0..count {
        let mut session = db.session()?;
        let id = KEYS as usize + n;
        session.execute(&format!(
            "use bench; begin tran; insert t values ({id}, 0, 'one that stays open')"
        ))?;
        sessions.push(session);
    }
    Ok(sessions)
}

fn main() -> Result<(), SqlError> {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let (rounds, count) = (args.next().unwrap_or(7), args.next().unwrap_or(50_000) as i32);
    let folder = std::env::temp_dir().join(format!("ringwood-crowded-{}", std::process::id()));
    let db = Options::new(&folder).memory(512 << 20).open()?;
    let mut session = db.session()?;
    session.execute(SETUP)?;
    session.execute("use bench; set nocount on")?;
    session.execute(TABLES)?;
    let key = [("@id", DataType::Int)];
    let statements = [
        session.prepare("select n from t where id = @id", &key)?,
        session.prepare("update t set n = n + 1 where id = @id", &key)?,
    ];
    let mut figures: Vec<[[f64; 2]; 3]> = Vec::new();
    for _ in 0..rounds {
        let mut round = [[0.0; 2]; 3];
        for (beside, figures) in CROWDS.into_iter().zip(&mut round) {
            let others = crowd(&db, beside)?;
            for (statement, figure) in statements.iter().zip(figures) {
                *figure = each(&mut session, statement, count)?;
            }
            drop(others);
        }
        figures.push(round);
    }
    println!("{:<16} {:>10} {:>14} {:>8}", "", "sessions", "microseconds", "ratio");
    for (work, name) in WORK.into_iter().enumerate() {
        for (at, beside) in CROWDS.into_iter().enumerate() {
            let time = median(figures.iter().map(|f| f[at][work]).collect());
            let ratio = median(figures.iter().map(|f| f[at][work] / f[0][work]).collect());
            println!("{name:<16} {beside:>10} {time:>14.3} {ratio:>8.3}");
        }
    }
    drop(session);
    db.close()?;
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

//! What other sessions' open transactions cost a statement: prepared SELECT and UPDATE by key and
//! one-row INSERTs, alone and while other sessions hold transactions that have written. Commits do
//! not wait for the disk. Each round measures alone and with the others; prints the medians in
//! microseconds of this thread's processor time, and their ratio.
//!
//! `./bench open-transactions [OPEN] [ROUNDS] [STATEMENTS]`

use ringwood::{DataType, Database, Options, Session, SqlError, Statement, Value};
use std::time::Instant;

const KEYS: i32 = 10_000;

const SETUP: &str = "create database bench on (name = d, filename = 'b.mdf', size = 256MB)
         log on (name = l, filename = 'b.ldf', size = 1GB);
     alter database bench set recovery simple;
     alter database bench set delayed_durability = forced";

const TABLES: &str = "create table t (id int primary key, n int not null, words varchar(100));
     create table grows (id int not null, words varchar(100));
     create table others (id int not null);
     with d as (select n from (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) as v (n))
     insert t select a.n + 10 * b.n + 100 * c.n + 1000 * e.n, 0, 'some words that make the row longer'
     from d as a cross join d as b cross join d as c cross join d as e";

const WORK: [&str; 6] = [
    "SELECT by key",
    "UPDATE by key, each a transaction",
    "UPDATE by key within a transaction",
    "INSERT, each a transaction",
    "INSERT within a transaction",
    "INSERT in a loop of T-SQL",
];

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
    let (start, mut key) = (Instant::now(), 0);
    let mut before = 0.0;
    for n in -200..count {
        if n == 0 {
            before = processor_ns(start);
        }
        key = (key + 7919) % KEYS;
        session.execute_prepared(statement, &[Value::Int(key)])?;
    }
    Ok((processor_ns(start) - before) / 1000.0 / f64::from(count))
}

fn within(session: &mut Session, statement: &Statement, count: i32) -> Result<f64, SqlError> {
    session.execute("begin tran")?;
    let figure = each(session, statement, count)?;
    session.execute("commit")?;
    Ok(figure)
}

fn in_a_loop(session: &mut Session, count: i32) -> Result<f64, SqlError> {
    let sql = format!(
        "declare @i int = 0; begin tran;
         while @i < {count} begin insert grows values (@i, 'a few words'); set @i += 1 end;
         commit"
    );
    let start = Instant::now();
    let before = processor_ns(start);
    session.execute(&sql)?;
    Ok((processor_ns(start) - before) / 1000.0 / f64::from(count))
}

fn all(session: &mut Session, count: i32) -> Result<[f64; 6], SqlError> {
    let key = [("@id", DataType::Int)];
    let select = session.prepare("select n from t where id = @id", &key)?;
    let update = session.prepare("update t set n = n + 1 where id = @id", &key)?;
    let insert = session.prepare("insert grows values (@id, 'a few words')", &key)?;
    let figures = [
        each(session, &select, count)?,
        each(session, &update, count)?,
        within(session, &update, count)?,
        each(session, &insert, count)?,
        within(session, &insert, count)?,
        in_a_loop(session, count)?,
    ];
    session.execute("truncate table grows; checkpoint")?;
    Ok(figures)
}

/// Sessions whose transactions have written and stay open.
fn open(db: &Database, count: usize) -> Result<Vec<Session>, SqlError> {
    let mut sessions = Vec::new();
    for n in 0..count {
        let mut session = db.session()?;
        session.execute(&format!("use bench; begin tran; insert others values ({n})"))?;
        sessions.push(session);
    }
    Ok(sessions)
}

fn main() -> Result<(), SqlError> {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let mut arg = |default| args.next().unwrap_or(default);
    let (others, rounds, count) = (arg(2000), arg(7), arg(50_000) as i32);
    let folder = std::env::temp_dir().join(format!("ringwood-open-{}", std::process::id()));
    let db = Options::new(&folder).memory(1 << 30).open()?;
    let mut session = db.session()?;
    session.execute(SETUP)?;
    session.execute("use bench; set nocount on")?;
    session.execute(TABLES)?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    all(&mut session, count / 4)?;
    for _ in 0..rounds {
        alone.push(all(&mut session, count)?);
        let sessions = open(&db, others)?;
        beside.push(all(&mut session, count)?);
        drop(sessions);
    }
    println!(
        "{:<38} {:>9} {:>9} {:>7}",
        "microseconds",
        "alone",
        format!("{others} open"),
        "ratio"
    );
    for (i, name) in WORK.iter().enumerate() {
        let of = |figures: &[[f64; 6]]| median(figures.iter().map(|f| f[i]).collect());
        let ratio = median(alone.iter().zip(&beside).map(|(a, b)| b[i] / a[i]).collect());
        println!("{name:<38} {:>9.3} {:>9.3} {ratio:>7.3}", of(&alone), of(&beside));
    }
    drop(session);
    db.close()?;
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

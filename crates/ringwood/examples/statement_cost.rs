//! One kind of prepared statement, again and again, for a profiler: everything else is done before and after
//! [`statements`], so that `valgrind --tool=callgrind --toggle-collect='*statements*'` counts the instructions of the
//! statements alone.
//!
//! `cargo run --release --example statement_cost -- select|update|insert [STATEMENTS]` (20000 by default; `select` is a
//! transaction each, the others are in one)

use ringwood::{DataType, Options, Session, Statement, Value};
use std::error::Error;
use std::time::Instant;

const KEYS: i32 = 20_000;

const SETUP: &str = "create database bench on (name = d, filename = 'b.mdf', size = 256MB)
         log on (name = l, filename = 'b.ldf', size = 1GB);
     alter database bench set recovery simple";

const TABLES: &str = "create table t (id int primary key, n int not null, words varchar(100));
     create table grows (id int primary key, words varchar(100));
     with d as (select n from (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) as v (n))
     insert t select a.n + 10 * b.n + 100 * c.n + 1000 * e.n + 10000 * f.n, 0, 'some words that make the row longer'
     from d as a cross join d as b cross join d as c cross join d as e cross join d as f where f.n < 2";

fn spread(n: i32) -> i32 {
    n.wrapping_mul(7919).rem_euclid(KEYS)
}

/// What is to be looked at.
#[inline(never)]
fn statements(
    session: &mut Session,
    statement: &Statement,
    count: i32,
    key: fn(i32) -> i32,
) -> Result<(), Box<dyn Error>> {
    for n in 0..count {
        session.count_prepared(statement, &[Value::Int(key(n))])?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let kind = args.first().map_or("update", String::as_str);
    let count = args.get(1).map_or(Ok(20_000), |text| text.parse())?;
    let (text, key): (_, fn(i32) -> i32) = match kind {
        "select" => ("select n from t where id = @k", spread),
        "update" => ("update t set n = n + 1 where id = @k", spread),
        "insert" => ("insert grows values (@k, 'some words that make the row longer')", |n| n),
        other => return Err(format!("no such statement: {other}").into()),
    };
    let folder = tempfile::tempdir()?;
    let database = Options::new(folder.path().join("ringwood")).memory(64 << 20).open()?;
    let mut session = database.session()?;
    session.execute(SETUP)?;
    session.execute("use bench")?;
    session.execute(TABLES)?;
    let statement = session.prepare(text, &[("@k", DataType::Int)])?;
    if kind != "select" {
        session.execute("begin tran")?;
    }
    // The first one compiles.
    session.execute_prepared(&statement, &[Value::Int(-1)])?;
    let start = Instant::now();
    statements(&mut session, &statement, count, key)?;
    println!("{kind}: {:.3} us", start.elapsed().as_secs_f64() * 1e6 / f64::from(count));
    if kind != "select" {
        session.execute("commit")?;
    }
    database.close()?;
    Ok(())
}

//! One kind of prepared statement, or one kind of loop in a batch, again and again, for a profiler:
//! everything else is done before and after [`statements`], so that `valgrind --tool=callgrind
//! --toggle-collect='*statements*'` counts the instructions of the statements alone.
//!
//! `./bench statement KIND [STATEMENTS]` (20000 by default). Prepared: `select`, each a
//! transaction; `update` and `insert`, all in one. Turns of a loop (WHILE ... SET @i += 1): `loop`
//! with nothing else in it, `loop-select`, and in one transaction `loop-update` and `loop-insert`.

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

/// The key of a statement by its number.
type Key = fn(i32) -> i32;

/// What runs.
enum Work {
    /// A statement with one parameter, each time with another key.
    Prepared(Statement, Key),
    /// A batch.
    Loop(String),
}

/// What is to be looked at.
#[inline(never)]
fn statements(session: &mut Session, work: &Work, count: i32) -> Result<(), Box<dyn Error>> {
    match work {
        Work::Prepared(statement, key) => {
            for n in 0..count {
                session.count_prepared(statement, &[Value::Int(key(n))])?;
            }
        }
        Work::Loop(batch) => drop(session.execute(batch)?),
    }
    Ok(())
}

/// A loop of so many turns, with these statements in each.
fn turns(count: i32, inside: &str) -> String {
    format!(
        "set nocount on; declare @i int = 0, @x int; while @i < {count} begin {inside} set @i += 1 end"
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let kind = args.first().map_or("update", String::as_str);
    let count = args.get(1).map_or(Ok(20_000), |text| text.parse())?;
    let (text, key): (_, Option<Key>) = match kind {
        "select" => ("select n from t where id = @k", Some(spread)),
        "update" => ("update t set n = n + 1 where id = @k", Some(spread)),
        "insert" => {
            ("insert grows values (@k, 'some words that make the row longer')", Some(|n| n))
        }
        "loop" => ("", None),
        "loop-select" => ("select @x = n from t where id = @i % 20000", None),
        "loop-update" => ("update t set n = n + 1 where id = @i % 20000", None),
        "loop-insert" => ("insert grows values (@i, 'some words that make the row longer')", None),
        other => return Err(format!("no such statement: {other}").into()),
    };
    let folder = tempfile::tempdir()?;
    let database = Options::new(folder.path().join("ringwood")).memory(64 << 20).open()?;
    let mut session = database.session()?;
    session.execute(SETUP)?;
    session.execute("use bench")?;
    session.execute(TABLES)?;
    let work = match key {
        Some(key) => Work::Prepared(session.prepare(text, &[("@k", DataType::Int)])?, key),
        None => Work::Loop(turns(count, text)),
    };
    let alone = kind.ends_with("select");
    if !alone {
        session.execute("begin tran")?;
    }
    if let Work::Prepared(statement, _) = &work {
        // The first one compiles. A loop compiles its statements in the first turn.
        session.execute_prepared(statement, &[Value::Int(-1)])?;
    }
    let start = Instant::now();
    statements(&mut session, &work, count)?;
    println!("{kind}: {:.3} us", start.elapsed().as_secs_f64() * 1e6 / f64::from(count));
    if !alone {
        session.execute("commit")?;
    }
    database.close()?;
    Ok(())
}

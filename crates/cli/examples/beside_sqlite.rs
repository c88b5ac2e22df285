//! Ringwood and SQLite in one process, in turns: prepared SELECT by key, each a transaction;
//! prepared UPDATE by key and INSERT, all of a round in one transaction; SELECT with a new literal
//! each time, each a transaction. Same table, same keys; SQLite with its log (WAL) and a cache that
//! holds everything. The end of the transaction, and with it the disk, is not timed. A round is
//! long: its first few thousand statements find the caches full of the other's data, and Ringwood's
//! rows are the longer ones.
//!
//! Prints the medians in microseconds, and the ratio of the two: median of the rounds' ratios
//! with their quartiles. `--json` prints the same as one line of JSON each.
//!
//! `./bench beside-sqlite [--json] [ROUNDS] [STATEMENTS]` (defaults 15 and 100000)

use ringwood::{DataType, Database, Options, Session, Statement, Value};
use rusqlite::Connection;
use std::error::Error;
use std::time::Instant;

const KEYS: i32 = 20_000;
const KINDS: [&str; 4] = ["SELECT by key", "UPDATE by key", "INSERT", "SELECT, new literal"];

const SETUP: &str = "create database bench on (name = d, filename = 'b.mdf', size = 256MB)
         log on (name = l, filename = 'b.ldf', size = 1GB);
     alter database bench set recovery simple";

const TABLES: &str = "create table t (id int primary key, n int not null, words varchar(100));
     create table grows (id int primary key, words varchar(100));
     with d as (select n from (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) as v (n))
     insert t select a.n + 10 * b.n + 100 * c.n + 1000 * e.n + 10000 * f.n, 0, 'some words that make the row longer'
     from d as a cross join d as b cross join d as c cross join d as e cross join d as f where f.n < 2";

fn quantile(figures: &[f64], share: f64) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// Microseconds of each of `count` calls with keys all over the table.
fn each(
    count: i32,
    first: i32,
    mut one: impl FnMut(i32) -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    for n in 0..count {
        one(first + n)?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(count))
}

fn spread(n: i32) -> i32 {
    (n.wrapping_mul(7919)).rem_euclid(KEYS)
}

/// Whether the statements are in a transaction; others each are one of their own.
fn changes(kind: usize) -> bool {
    matches!(kind, 1 | 2)
}

struct Ringwood {
    session: Session,
    select: Statement,
    update: Statement,
    insert: Statement,
}

impl Ringwood {
    fn open(database: &Database) -> Result<Ringwood, Box<dyn Error>> {
        let mut session = database.session()?;
        session.execute(SETUP)?;
        session.execute("use bench")?;
        session.execute(TABLES)?;
        let key = [("@k", DataType::Int)];
        Ok(Ringwood {
            select: session.prepare("select n from t where id = @k", &key)?,
            update: session.prepare("update t set n = n + 1 where id = @k", &key)?,
            insert: session
                .prepare("insert grows values (@k, 'some words that make the row longer')", &key)?,
            session,
        })
    }

    fn round(&mut self, kind: usize, round: i32, count: i32) -> Result<f64, Box<dyn Error>> {
        if changes(kind) {
            self.session.execute("begin tran")?;
        }
        let session = &mut self.session;
        let took = match kind {
            0 => each(count, 0, |n| {
                let rows = session.execute_prepared(&self.select, &[Value::Int(spread(n))])?;
                assert_eq!(rows.sets[0].rows.len(), 1);
                Ok(())
            }),
            1 => each(count, 0, |n| {
                assert_eq!(session.count_prepared(&self.update, &[Value::Int(spread(n))])?, 1);
                Ok(())
            }),
            2 => each(count, round * count, |n| {
                assert_eq!(session.count_prepared(&self.insert, &[Value::Int(n)])?, 1);
                Ok(())
            }),
            _ => each(count, round, |n| {
                let text = format!("select n from t where id = {}", spread(n));
                assert_eq!(session.execute(&text)?.sets[0].rows.len(), 1);
                Ok(())
            }),
        }?;
        if changes(kind) {
            self.session.execute("commit")?;
        }
        Ok(took)
    }
}

fn sqlite(path: &std::path::Path) -> Result<Connection, Box<dyn Error>> {
    let db = Connection::open(path)?;
    db.execute_batch(
        "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -262144;
         pragma wal_autocheckpoint = 0;
         create table t (id integer primary key, n int not null, words varchar(100));
         create table grows (id integer primary key, words varchar(100));",
    )?;
    db.execute_batch("begin")?;
    {
        let mut insert =
            db.prepare("insert into t values (?1, 0, 'some words that make the row longer')")?;
        for id in 0..KEYS {
            insert.execute([id])?;
        }
    }
    db.execute_batch("commit")?;
    Ok(db)
}

fn round_of_sqlite(
    db: &Connection,
    kind: usize,
    round: i32,
    count: i32,
) -> Result<f64, Box<dyn Error>> {
    let mut select = db.prepare("select n from t where id = ?1")?;
    let mut update = db.prepare("update t set n = n + 1 where id = ?1")?;
    let mut insert =
        db.prepare("insert into grows values (?1, 'some words that make the row longer')")?;
    if changes(kind) {
        db.execute_batch("begin")?;
    }
    let took = match kind {
        0 => each(count, 0, |n| {
            select.query_row([spread(n)], |row| row.get::<_, i32>(0))?;
            Ok(())
        }),
        1 => each(count, 0, |n| {
            assert_eq!(update.execute([spread(n)])?, 1);
            Ok(())
        }),
        2 => each(count, round * count, |n| {
            insert.execute([n])?;
            Ok(())
        }),
        _ => each(count, round, |n| {
            let text = format!("select n from t where id = {}", spread(n));
            db.query_row(&text, [], |row| row.get::<_, i32>(0))?;
            Ok(())
        }),
    }?;
    if changes(kind) {
        db.execute_batch("commit")?;
    }
    Ok(took)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let json = args.iter().any(|arg| arg == "--json");
    args.retain(|arg| arg != "--json");
    let number = |at: usize, default: i32| args.get(at).map_or(Ok(default), |text| text.parse());
    let (rounds, count) = (number(0, 15)?, number(1, 100_000)?);
    let folder = tempfile::tempdir()?;
    let database = Options::new(folder.path().join("ringwood")).memory(256 << 20).open()?;
    let mut ringwood = Ringwood::open(&database)?;
    let sqlite = sqlite(&folder.path().join("sqlite.db"))?;
    for (kind, name) in KINDS.iter().enumerate() {
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=rounds {
            let a = ringwood.round(kind, round, count)?;
            let b = round_of_sqlite(&sqlite, kind, round, count)?;
            // The first round fills caches.
            if round > 0 {
                ours.push(a);
                theirs.push(b);
                ratios.push(a / b);
            }
        }
        let (ours, theirs) = (quantile(&ours, 0.5), quantile(&theirs, 0.5));
        let [low, ratio, high] = [0.25, 0.5, 0.75].map(|share| quantile(&ratios, share));
        if json {
            println!(
                "{{\"statement\": \"{name}\", \"ringwood us\": {ours:.3}, \"sqlite us\": {theirs:.3}, \"ratio\": {ratio:.3}, \
                 \"quartiles\": [{low:.3}, {high:.3}], \"rounds\": {rounds}}}"
            );
        } else {
            println!(
                "{name:<20} Ringwood {ours:6.3} us   SQLite {theirs:6.3} us   ratio {ratio:5.2} ({low:.2} .. {high:.2})"
            );
        }
    }
    database.close()?;
    Ok(())
}

//! Sixteen sessions insert at once, first all into one table, then each into its own; both in
//! transactions of 100 rows. Prints rows per second of both, counts what is there, and fails when a
//! row is lost or a session was a deadlock victim.
//!
//! `./bench sessions [rows per session] [rounds]`

use ringwood::{Database, Options, SqlError};
use std::time::Instant;

const SESSIONS: usize = 16;

fn insert(db: &Database, table: &str, session_number: usize, rows: usize) -> Result<(), SqlError> {
    let mut session = db.session()?;
    session.execute("use sessions; set nocount on")?;
    session.execute(&format!(
        "declare @i int = 0;
         while @i < {rows}
         begin
           if @i % 100 = 0 begin tran;
           insert {table} values ({session_number}, @i, 'some words that make the row longer than its numbers');
           set @i += 1;
           if @i % 100 = 0 commit;
         end;
         if @@trancount > 0 commit"
    ))?;
    Ok(())
}

/// Rows per second of all sessions together; tables are named by the session's number.
fn round(
    db: &Database,
    sessions: usize,
    rows: usize,
    table: &(dyn Fn(usize) -> String + Sync),
) -> Result<f64, SqlError> {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..sessions).map(|s| scope.spawn(move || insert(db, &table(s), s, rows))).collect();
        threads.into_iter().try_for_each(|t| t.join().expect("a session panicked"))
    })?;
    Ok((sessions * rows) as f64 / begin.elapsed().as_secs_f64())
}

fn main() -> Result<(), SqlError> {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let (rows, rounds) = (args.next().unwrap_or(20_000), args.next().unwrap_or(5));
    let folder = std::env::temp_dir().join(format!("ringwood-sessions-{}", std::process::id()));
    let db = Options::new(&folder).memory(1 << 30).open()?;
    let mut session = db.session()?;
    session.execute("create database sessions on (name = d, filename = 's.mdf', size = 2GB) log on (name = l, filename = 's.ldf', size = 1GB)")?;
    session.execute("alter database sessions set recovery simple")?;
    session.execute("use sessions")?;
    for s in 0..SESSIONS {
        session.execute(&format!(
            "create table own{s} (s int not null, i int not null, words varchar(100))"
        ))?;
    }
    let mut figures: Vec<[f64; 3]> = Vec::new();
    for n in 0..rounds {
        session.execute("drop table if exists one; create table one (s int not null, i int not null, words varchar(100)); checkpoint")?;
        let alone = round(&db, 1, rows * 4, &|_| "own0".into())?;
        let one = round(&db, SESSIONS, rows, &|_| "one".into())?;
        let own = round(&db, SESSIONS, rows, &|s| format!("own{s}"))?;
        let found =
            session.query("select count(*), count(distinct s * 10000000 + i) from one")?.rows;
        let expected = (SESSIONS * rows) as i64;
        assert_eq!(
            (found[0][0].as_i64(), found[0][1].as_i64()),
            (Some(expected), Some(expected)),
            "rows were lost"
        );
        println!(
            "round {}: 1 session {alone:.0}, 16 sessions into one table {one:.0}, into 16 tables {own:.0} rows/s",
            n + 1
        );
        figures.push([alone, one, own]);
    }
    let median = |i: usize| {
        let mut column: Vec<f64> = figures.iter().map(|f| f[i]).collect();
        column.sort_by(f64::total_cmp);
        column[column.len() / 2]
    };
    println!(
        "medians: 1 session {:.0}, one table {:.0} ({:.2} times 1 session), 16 tables {:.0} ({:.2} times one table)",
        median(0),
        median(1),
        median(1) / median(0),
        median(2),
        median(2) / median(1)
    );
    db.close()?;
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

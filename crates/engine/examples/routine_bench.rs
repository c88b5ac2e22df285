//! What stored code costs for each call beside the statement without it: a scalar function that
//! becomes part of its expression and one that is called, an inline table function, a procedure of
//! one SELECT by key, a trigger that does nothing; what a temporary table costs, alone and beside
//! 1,000 of another session; 100,000 rows with and without a trigger that sums them. `./bench
//! routines`.

use std::time::{Duration, Instant};

use ringwood_engine::{Instance, InstanceOptions, Session, Sink, SqlError};

const CALLS: u32 = 20_000;
const ROUNDS: usize = 11;

/// Fails at any error.
struct NoErrors;

impl Sink for NoErrors {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("{error}")
    }
}

const SETUP: [&str; 8] = [
    "create table t (id int primary key, n int not null)
     insert t select value, value from generate_series(1, 20000)",
    "create table u (id int primary key, n int not null)
     insert u select id, n from t",
    "create function dbo.inlined (@x int) returns int as begin return @x * 2 + 1 end",
    "create function dbo.called (@x int) returns int with inline = off as begin return @x * 2 + 1 end",
    "create function dbo.one_row (@id int) returns table as return (select n from t where id = @id)",
    "create procedure by_key @id int, @n int output as select @n = n from t where id = @id",
    "create trigger nothing on u after update as return",
    // Its first rows were added without the trigger; both tables have been used once.
    "update t set n = n where id = 1 update u set n = n where id = 1",
];

/// Name, and the statement of a loop over `@i` from 1 to the number of calls.
const CASES: [(&str, &str); 8] = [
    ("expression", "set @n = @i * 2 + 1"),
    ("function, inlined", "set @n = dbo.inlined(@i)"),
    ("function, called", "set @n = dbo.called(@i)"),
    ("SELECT by key", "select @n = n from t where id = @i"),
    ("inline table function", "select @n = n from dbo.one_row(@i)"),
    ("procedure", "exec by_key @i, @n output"),
    ("UPDATE by key", "update t set n = n + 1 where id = @i"),
    ("UPDATE, empty trigger", "update u set n = n + 1 where id = @i"),
];

fn run(session: &mut Session, sql: &str) {
    session.execute(sql, &mut NoErrors);
}

/// What is set up for the wholes below, in a session that stays.
const OTHERS: &str = "declare @i int = 0, @s varchar(100)
     while @i < 1000 begin set @s = concat('create table ##other', @i, ' (a int, b varchar(20))') exec (@s) set @i += 1 end";
const SUMMED: [&str; 3] = [
    "create table plain (id int primary key, n int not null) create table summed (id int primary key, n int not null)
     create table sums (n bigint)",
    "create trigger adds on summed after insert as insert sums select sum(cast(n as bigint)) from inserted",
    "insert plain select 1, 1 insert summed select 1, 1 truncate table plain truncate table summed",
];

/// Tables made and dropped in a round.
const TEMPS: u32 = 500;

fn temps() -> String {
    format!(
        "declare @i int = 0 while @i < {TEMPS} begin create table #t (a int, b varchar(20)) drop table #t set @i += 1 end"
    )
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

fn timed(session: &mut Session, sql: &str) -> Duration {
    let begun = Instant::now();
    run(session, sql);
    begun.elapsed()
}

/// Temporary tables, and rows by the many.
fn wholes(instance: &std::sync::Arc<Instance>, session: &mut Session) {
    let batch = temps();
    let each = |times| median(times) * 1e6 / f64::from(TEMPS);
    let alone = (0..ROUNDS).map(|_| timed(session, &batch)).collect();
    println!("{:24} {:7.1} us", "#t, made and dropped", each(alone));
    let mut other = instance.session().expect("a session");
    run(&mut other, OTHERS);
    let among = (0..ROUNDS).map(|_| timed(session, &batch)).collect();
    println!("{:24} {:7.1} us", "#t beside 1,000 others", each(among));
    SUMMED.iter().for_each(|sql| run(session, sql));
    let (mut plain, mut summed) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(timed(
            session,
            "insert plain select value, value from generate_series(1, 100000)",
        ));
        summed.push(timed(
            session,
            "insert summed select value, value from generate_series(1, 100000)",
        ));
        run(session, "truncate table plain truncate table summed");
    }
    let (plain, summed) = (median(plain), median(summed));
    println!("{:24} {:7.1} ms", "INSERT of 100,000 rows", plain * 1e3);
    println!(
        "{:24} {:7.1} ms, {:.2} times",
        "... with summing trigger",
        summed * 1e3,
        summed / plain
    );
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let options =
        InstanceOptions { memory_bytes: Some(256 << 20), ..InstanceOptions::new(folder.path()) };
    let instance = Instance::open(options).expect("an instance");
    let mut session = instance.session().expect("a session");
    SETUP.iter().for_each(|sql| run(&mut session, sql));
    let batches = CASES.map(|(_, statement)| {
        format!(
            "declare @i int = 1, @n int begin tran
             while @i <= {CALLS} begin {statement} set @i += 1 end commit"
        )
    });
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); CASES.len()];
    for _ in 0..ROUNDS {
        for (batch, times) in batches.iter().zip(&mut times) {
            let begun = Instant::now();
            run(&mut session, batch);
            times.push(begun.elapsed());
        }
    }
    for ((name, _), times) in CASES.iter().zip(times) {
        println!("{name:24} {:7.3} us a turn of the loop", median(times) * 1e6 / f64::from(CALLS));
    }
    wholes(&instance, &mut session);
}

//! Real kills: a child process under load is stopped with SIGKILL, again and again, on a real file
//! system. After each kill the database is opened and compared with what the child had
//! acknowledged: every acknowledged commit is there, nothing that was rolled back or never
//! committed is, and the integrity check is clean.
//!
//! `cargo test -p ringwood --test kill` runs a few rounds; RINGWOOD_KILLS=100 sets their number.

use ringwood::{Database, Options, SqlError, Value};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const THREADS: i32 = 4;
const ACCOUNTS: i32 = 50;
const BALANCE: i64 = 1_000;
const DATABASE: &str = "bank";

fn open(folder: &Path) -> Result<Database, SqlError> {
    Options::new(folder).memory(64 << 20).open()
}

fn create(folder: &Path) -> Result<(), SqlError> {
    let db = open(folder)?;
    let mut session = db.session()?;
    session.execute(&format!(
        "create database {DATABASE} on (name = d, filename = 'bank.mdf', size = 16MB) log on (name = l, filename = 'bank.ldf', size = 8MB, filegrowth = 4MB)"
    ))?;
    session.execute(&format!("alter database {DATABASE} set recovery simple"))?;
    session.execute(&format!("use {DATABASE}"))?;
    session.execute(
        "create table account (id int not null primary key, balance bigint not null, note varchar(200))",
    )?;
    session.execute("create table entry (thread int not null, seq int not null, amount int not null, constraint pk_entry primary key (thread, seq))")?;
    session.execute("create index ix_amount on entry (amount)")?;
    session.execute(
        "create table audit (thread int not null, seq int not null, words varchar(300))",
    )?;
    session.execute(&format!(
        "declare @i int = 0; while @i < {ACCOUNTS} begin insert account values (@i, {BALANCE}, 'new'); set @i += 1 end"
    ))?;
    db.close()
}

/// The load of one thread, until the process dies. A deadlock victim or a rolled back transaction
/// keeps its number.
fn load(
    db: &Database,
    thread: i32,
    mut seq: i32,
    out: &Mutex<std::io::Stdout>,
) -> Result<(), SqlError> {
    let mut session = db.session()?;
    session.execute(&format!("use {DATABASE}; set nocount on"))?;
    let mut random = fastrand::Rng::new();
    loop {
        let (from, to, amount) =
            (random.i32(..ACCOUNTS), random.i32(..ACCOUNTS), random.i32(1..50));
        let words = "w".repeat(random.usize(..300));
        let keep = random.u8(..10) != 0;
        let end = if keep { "commit" } else { "rollback" };
        let outcome = session.execute(&format!(
            "begin tran;
             update account set balance = balance - {amount}, note = '{words}' where id = {from};
             update account set balance = balance + {amount} where id = {to};
             insert entry values ({thread}, {seq}, {amount});
             insert audit values ({thread}, {seq}, '{words}');
             {end}"
        ));
        match outcome {
            Ok(_) if keep => {
                let mut out = out.lock().unwrap();
                writeln!(out, "{thread} {seq}")
                    .and_then(|()| out.flush())
                    .map_err(|e| SqlError::new(0, 16, 1, e.to_string()))?;
                seq += 1;
            }
            Ok(_) => {}
            Err(error) if error.number == 1205 => {
                session.execute("if @@trancount > 0 rollback")?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The child: opens, says so, loads on several threads.
fn child(folder: &Path, starts: &[i32]) -> Result<(), SqlError> {
    let db = open(folder)?;
    let out = Mutex::new(std::io::stdout());
    println!("ready");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|t| {
                let (db, out, start) = (&db, &out, starts[t as usize]);
                scope.spawn(move || load(db, t, start, out))
            })
            .collect();
        threads.into_iter().try_for_each(|t| t.join().expect("a load thread panicked"))
    })
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// Opens after a kill and compares with the acknowledgements; the next number of each thread.
fn verify(folder: &Path, acknowledged: &HashMap<i32, i32>) -> Result<Vec<i32>, SqlError> {
    let db = open(folder)?;
    let mut session = db.session()?;
    session.execute(&format!("use {DATABASE}"))?;
    let mut next = Vec::new();
    for thread in 0..THREADS {
        let rows = session
            .query(&format!(
                "select count(*), isnull(max(seq), -1) from entry where thread = {thread}"
            ))?
            .rows;
        let (count, last) = (number(&rows[0][0]), number(&rows[0][1]));
        let acked = acknowledged.get(&thread).copied().unwrap_or(-1);
        assert!(
            last >= i64::from(acked),
            "thread {thread}: commit {acked} was acknowledged, the last one there is {last}"
        );
        assert!(
            last <= i64::from(acked) + 1,
            "thread {thread}: {last} is there, {acked} was the last acknowledged"
        );
        assert_eq!(count, last + 1, "thread {thread}: entries are missing or were never committed");
        next.push(last as i32 + 1);
    }
    let total = session.query("select sum(balance), count(*) from account")?.rows;
    assert_eq!(
        (number(&total[0][0]), number(&total[0][1])),
        (i64::from(ACCOUNTS) * BALANCE, i64::from(ACCOUNTS))
    );
    let lost = session.query(
        "select count(*) from entry e left join audit a on a.thread = e.thread and a.seq = e.seq where a.seq is null",
    )?;
    assert_eq!(number(&lost.rows[0][0]), 0, "entries without their audit row");
    let both =
        session.query("select (select count(*) from entry) - (select count(*) from audit)")?;
    assert_eq!(number(&both.rows[0][0]), 0, "audit rows that never committed");
    let problems = db.check(DATABASE)?;
    assert!(problems.is_empty(), "check after the kill: {problems:#?}");
    db.close()?;
    Ok(next)
}

/// Starts the child, kills it after a while; what it had acknowledged.
fn kill_once(folder: &Path, next: &[i32], random: &mut fastrand::Rng) -> HashMap<i32, i32> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("child")
        .arg(folder)
        .args(next.iter().map(i32::to_string))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().expect("the child said nothing").unwrap();
    assert_eq!(first, "ready");
    let acknowledged = Arc::new(Mutex::new(HashMap::new()));
    let reader = {
        let acknowledged = acknowledged.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // The last line may be cut off by the kill.
                if let Some((Ok(thread), Ok(seq))) =
                    line.split_once(' ').map(|(t, s)| (t.parse(), s.parse()))
                {
                    acknowledged.lock().unwrap().insert(thread, seq);
                }
            }
        })
    };
    std::thread::sleep(Duration::from_millis(random.u64(20..500)));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
    Arc::try_unwrap(acknowledged).unwrap().into_inner().unwrap()
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|a| a == "child") {
        let starts: Vec<i32> = args[3..].iter().map(|a| a.parse().unwrap()).collect();
        return match child(Path::new(&args[2]), &starts) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("child: {error:?}");
                ExitCode::FAILURE
            }
        };
    }
    let rounds: usize =
        std::env::var("RINGWOOD_KILLS").ok().and_then(|v| v.parse().ok()).unwrap_or(4);
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::new();
    create(folder.path()).unwrap();
    let mut next = vec![0; THREADS as usize];
    for round in 0..rounds {
        let mut acknowledged = kill_once(folder.path(), &next, &mut random);
        for thread in 0..THREADS {
            acknowledged.entry(thread).or_insert(next[thread as usize] - 1);
        }
        next = verify(folder.path(), &acknowledged).unwrap();
        eprintln!("kill {}: {} commits there", round + 1, next.iter().sum::<i32>());
    }
    println!("test result: ok. {rounds} passed; 0 failed; 0 ignored");
    ExitCode::SUCCESS
}

//! Phantoms, with several sessions at work at once: rows come into ranges, go from them and move
//! within them, sometimes back, while others read the same ranges under range locks, forward and
//! backward, along the clustered index and along another one.
//! Guarantee: a transaction that has read a range finds the same rows in it again, whichever way it
//! reads; what each writer's transaction leaves as it was is never seen in between.

use crate::support::text::{Bench, Text};
use engine::Session;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Rows of a table: more than a page of them.
const ROWS: u64 = 300;

/// Ids and values of k are below this.
const KEYS: u64 = 3000;

fn beside(b: &Bench) -> Session {
    let mut session = b.instance.session().unwrap();
    session.use_database("t").unwrap();
    session
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut text = Text::default();
    session.execute(sql, &mut text);
    text.out.trim().to_owned()
}

/// A clustered table and a heap, each with an index on k. Every row has the value 100.
fn bench() -> Bench {
    let mut b = Bench::new();
    for (table, key) in [("c", "PRIMARY KEY"), ("h", "NOT NULL")] {
        b.run(&format!(
            "CREATE TABLE {table} (id int {key}, k int NOT NULL, v int NOT NULL, fill char(200));
             CREATE INDEX by_k ON {table} (k);
             INSERT {table} SELECT value * 10, value * 10, 100, '' FROM generate_series(1, {ROWS})"
        ));
    }
    b
}

/// A transaction that leaves a table with as many rows as it had.
fn change(rng: &mut fastrand::Rng, table: &str) -> String {
    let mut key = || rng.u64(1..KEYS);
    let (from, to, k) = (key(), key(), key());
    let some =
        format!("DECLARE @id int = (SELECT MIN(id) FROM {table} WITH (NOLOCK) WHERE id >= {from})");
    let insert = format!("INSERT {table} VALUES ({to}, {k}, 100, '')");
    let delete = format!("DELETE TOP (1) FROM {table} WHERE id = @id");
    let end = if rng.u8(..4) == 0 { "ROLLBACK" } else { "COMMIT" };
    let work = match rng.u8(..4) {
        0 => format!("{delete}; IF @@ROWCOUNT = 1 {insert}; {end}"),
        1 => format!("{insert}; {delete}; IF @@ROWCOUNT = 1 {end} ELSE ROLLBACK"),
        2 => format!("UPDATE {table} SET k = {k} WHERE id = @id; {end}"),
        // There for a moment only.
        _ => format!("{insert}; DELETE {table} WHERE id = {to} AND k = {k} AND v = 100; ROLLBACK"),
    };
    format!("{some}; BEGIN TRAN; {work}")
}

/// How many rows a range has and what their values come to, read forward or backward.
fn read(table: &str, column: &str, (low, high): (u64, u64), backward: bool) -> String {
    let hint = if column == "k" { "HOLDLOCK, INDEX(by_k)" } else { "HOLDLOCK" };
    let rows = format!("FROM {table} WITH ({hint}) WHERE {column} BETWEEN {low} AND {high}");
    match backward {
        false => format!("SELECT COUNT(*), SUM(v) {rows}"),
        true => {
            format!(
                "SELECT COUNT(*), SUM(v) FROM (SELECT TOP (100000) v {rows} ORDER BY {column} DESC) AS x"
            )
        }
    }
}

#[test]
fn a_range_is_read_again_as_it_was() {
    let b = bench();
    let over = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|seed| {
                let (mut session, over) = (beside(&b), &over);
                let mut rng = fastrand::Rng::with_seed(seed);
                // Who is a deadlock's victim or meets a key that is there takes all back.
                run(&mut session, "SET XACT_ABORT ON; SET NOCOUNT ON");
                scope.spawn(move || {
                    let mut done = 0;
                    while !over.load(Relaxed) {
                        let table = ["c", "h"][rng.usize(..2)];
                        done += u32::from(run(&mut session, &change(&mut rng, table)).is_empty());
                    }
                    done
                })
            })
            .collect();
        let readers: Vec<_> = [("c", "id"), ("c", "k"), ("h", "k"), ("h", "id")]
            .map(|(table, column)| {
                let mut session = beside(&b);
                run(&mut session, "SET DEADLOCK_PRIORITY HIGH");
                scope.spawn(move || {
                    let mut wrong = Vec::new();
                    for i in 0..24 {
                        let (all, backward) = (i % 2 == 0, i % 4 < 2);
                        let range = if all { (1, KEYS) } else { (KEYS / 3, KEYS / 2) };
                        let first = read(table, column, range, backward);
                        let second = read(table, column, range, !backward);
                        let said =
                            run(&mut session, &format!("BEGIN TRAN; {first}; {second}; COMMIT"));
                        let lines: Vec<&str> = said.lines().collect();
                        let same = matches!(lines[..], [one, two] if one == two);
                        if !same || all && lines[0] != format!("{ROWS}|{}", ROWS * 100) {
                            wrong.push(format!("{first}: {said}"));
                        }
                    }
                    wrong
                })
            })
            .into_iter()
            .collect();
        let results: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        over.store(true, Relaxed);
        let wrong: Vec<String> = results.into_iter().flat_map(|wrong| wrong.unwrap()).collect();
        assert!(wrong.is_empty(), "{} ranges: {:?}", wrong.len(), wrong.first());
        writers.into_iter().map(|writer| writer.join().unwrap()).sum::<u32>()
    });
    assert!(done > 0, "nobody has changed anything");
}

/// Rows of the table whose keys are waited for: some leaves of them.
const WAITED_FOR: u64 = 40;

/// The gap below a key is free while the key is waited for, and the reader has read its leaf by
/// then and the one before it: what comes in meanwhile is found, wherever leaves and steps begin.
#[test]
fn what_comes_in_below_a_key_that_is_waited_for_is_found() {
    let mut b = Bench::new();
    b.run(&format!(
        "CREATE TABLE p (id int PRIMARY KEY, v int NOT NULL, fill varchar(900) NOT NULL);
         INSERT p SELECT value * 10, 1, REPLICATE('x', 900) FROM generate_series(1, {WAITED_FOR})"
    ));
    let (mut holder, mut writer) = (beside(&b), beside(&b));
    let waits = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_status = 'WAIT'";
    let rows = "FROM p WITH (HOLDLOCK) WHERE id > 0 AND id < 1000";
    for read in [
        format!("SELECT COUNT(*), SUM(v) {rows}"),
        format!("SELECT COUNT(*), SUM(v) FROM (SELECT TOP (1000) v {rows} ORDER BY id DESC) AS x"),
    ] {
        for key in (1..=WAITED_FOR).map(|n| n * 10) {
            let hold = format!("BEGIN TRAN; SELECT v FROM p WITH (XLOCK) WHERE id = {key}");
            assert_eq!(run(&mut holder, &hold), "1");
            let (mut reader, text) = (beside(&b), read.clone());
            let reading = std::thread::spawn(move || run(&mut reader, &text));
            let end = Instant::now() + Duration::from_secs(60);
            while run(&mut holder, waits) == "0" {
                assert!(Instant::now() < end, "nobody waits for {key}");
                std::thread::sleep(Duration::from_millis(2));
            }
            let new = key - 5;
            assert_eq!(run(&mut writer, &format!("INSERT p VALUES ({new}, 1000, '')")), "(1)");
            assert_eq!(run(&mut holder, "COMMIT"), "");
            let found = format!("{}|{}", WAITED_FOR + 1, WAITED_FOR + 1000);
            assert_eq!(reading.join().unwrap(), found, "{read}: {new}");
            assert_eq!(run(&mut writer, &format!("DELETE p WHERE id = {new}")), "(1)");
        }
    }
}

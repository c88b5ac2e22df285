//! UPDATE, DELETE and MERGE that wait for another transaction: what they have read beside the row
//! that they waited for is read again, whether the other one commits or takes everything back.

use crate::support::text::{Bench, Text};
use engine::Session;
use std::thread::JoinHandle;
use std::time::Duration;

/// 60 rows in a table and in a heap, each with an index on k.
fn bench() -> Bench {
    let mut b = Bench::new();
    for (table, key) in [("c", "PRIMARY KEY"), ("h", "NOT NULL")] {
        b.run(&format!(
            "CREATE TABLE {table} (id int {key}, k int NOT NULL, v int NOT NULL, m int NOT NULL);
             CREATE INDEX by_k ON {table} (k);
             INSERT {table} SELECT value, value, 0, 0 FROM generate_series(1, 60)"
        ));
    }
    b
}

/// The rows as they were at first.
fn fill(b: &mut Bench, table: &str) {
    let rows = "SELECT value, value, 0, 0 FROM generate_series(1, 60)";
    let said = b.run(&format!("DELETE {table}; INSERT {table} {rows}"));
    assert!(!said.contains("Msg"), "{said}");
}

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

/// Starts a batch that has to wait.
#[track_caller]
fn blocked(b: &Bench, sql: &str) -> JoinHandle<String> {
    let (mut session, text) = (beside(b), sql.to_owned());
    let running = std::thread::spawn(move || run(&mut session, &text));
    std::thread::sleep(Duration::from_millis(60));
    assert!(!running.is_finished(), "did not wait: {sql}: {}", running.join().unwrap());
    running
}

/// Ways to change the rows of a table whose v is 0.
const CHANGES: [&str; 6] = [
    "UPDATE {} SET m = m + 1 WHERE v = 0",
    "UPDATE {} SET m = m + 1 FROM {} WITH (INDEX(by_k)) WHERE k > 0 AND v = 0",
    "UPDATE x SET m = m + 1 FROM {} AS x INNER JOIN (VALUES (0)) AS y (v) ON x.v = y.v",
    "DELETE {} WHERE v = 0",
    "DELETE x FROM {} AS x WITH (INDEX(by_k)) WHERE x.k BETWEEN 1 AND 1000 AND x.v = 0",
    "MERGE {} AS x USING (VALUES (0)) AS y (v) ON x.v = y.v WHEN MATCHED THEN UPDATE SET m = x.m + 1;",
];

/// What the other transaction has made of all rows.
const OTHERS: [&str; 3] = ["UPDATE {} SET v = 1", "DELETE {}", "UPDATE {} SET v = 1, k = k + 500"];

#[test]
fn a_rollback_brings_back_all_rows_of_the_page() {
    let mut b = bench();
    for table in ["c", "h"] {
        for other in OTHERS {
            for change in CHANGES {
                fill(&mut b, table);
                b.check(&format!("BEGIN TRAN; {}", other.replace("{}", table)), "(60)");
                let change = change.replace("{}", table);
                let waiting = blocked(&b, &change);
                b.check("ROLLBACK", "");
                assert_eq!(waiting.join().unwrap(), "(60)", "{other}: {change}");
            }
        }
    }
}

#[test]
fn a_commit_leaves_no_row_of_the_page() {
    let mut b = bench();
    for table in ["c", "h"] {
        for other in OTHERS {
            for change in CHANGES {
                fill(&mut b, table);
                b.check(&format!("BEGIN TRAN; {}", other.replace("{}", table)), "(60)");
                let change = change.replace("{}", table);
                let waiting = blocked(&b, &change);
                b.check("COMMIT", "");
                assert_eq!(waiting.join().unwrap(), "(0)", "{other}: {change}");
                b.check(&format!("SELECT COALESCE(SUM(m), 0) FROM {table}"), "0");
            }
        }
    }
}

/// The other transaction has changed the row and not its entry in the index that is read.
#[test]
fn the_row_behind_an_entry_is_waited_for() {
    for table in ["c", "h"] {
        let mut b = bench();
        b.check(
            &format!("BEGIN TRAN; UPDATE {table} SET v = 1 WHERE id BETWEEN 10 AND 19"),
            "(10)",
        );
        let waiting = blocked(
            &b,
            &format!(
                "UPDATE {table} SET m = 1 FROM {table} WITH (INDEX(by_k)) WHERE k BETWEEN 5 AND 30 AND v = 0"
            ),
        );
        b.check("ROLLBACK", "");
        assert_eq!(waiting.join().unwrap(), "(26)", "{table}");
    }
}

/// A row that was moved within the range while it was waited for is changed once.
#[test]
fn a_row_that_moves_on_is_changed_once() {
    for table in ["c", "h"] {
        for end in ["COMMIT", "ROLLBACK"] {
            let mut b = bench();
            b.check(&format!("BEGIN TRAN; UPDATE {table} SET k = k + 40 WHERE id < 11"), "(10)");
            let waiting = blocked(
                &b,
                &format!(
                    "UPDATE {table} SET m = m + 1 FROM {table} WITH (INDEX(by_k)) WHERE k BETWEEN 1 AND 100"
                ),
            );
            b.check(end, "");
            assert_eq!(waiting.join().unwrap(), "(60)", "{table} {end}");
            b.check(&format!("SELECT SUM(m), MAX(m) FROM {table}"), "60|1");
        }
    }
}

/// Each row of a page has another writer; half of them commit, half roll back, some while the page
/// is read again.
#[test]
fn a_page_with_many_writers_is_read_to_its_end() {
    for table in ["c", "h"] {
        for change in &CHANGES[..3] {
            let b = bench();
            let mut writers: Vec<Session> = (1..=40).map(|_| beside(&b)).collect();
            for (i, writer) in writers.iter_mut().enumerate() {
                let one = format!("FROM {table} WITH (INDEX(by_k)) WHERE k = {}", i + 1);
                let said = run(writer, &format!("BEGIN TRAN; UPDATE {table} SET v = 1 {one}"));
                assert_eq!(said, "(1)");
            }
            let change = change.replace("{}", table);
            let waiting = blocked(&b, &change);
            // The last ones first: the statement waits for the first.
            for (i, writer) in writers.iter_mut().enumerate().rev() {
                run(writer, if i % 2 == 0 { "ROLLBACK" } else { "COMMIT" });
                if i % 8 == 0 {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            assert_eq!(waiting.join().unwrap(), "(40)", "{change}");
        }
    }
}

/// A statement that wants few rows waits for none behind them.
#[test]
fn top_waits_for_no_row_that_it_does_not_want() {
    for table in ["c", "h"] {
        for (change, rows) in [
            ("UPDATE TOP (1) {} SET m = 1", "(1)"),
            ("UPDATE TOP (2) {} SET m = 1 FROM {} WITH (INDEX(by_k)) WHERE k > 0", "(2)"),
            ("DELETE TOP (2) FROM x FROM {} AS x WITH (INDEX(by_k)) WHERE x.k < 1000", "(2)"),
        ] {
            let mut b = bench();
            b.check(&format!("BEGIN TRAN; UPDATE {table} SET m = 5 WHERE id IN (3, 4)"), "(2)");
            let change = change.replace("{}", table);
            assert_eq!(
                run(&mut beside(&b), &format!("SET LOCK_TIMEOUT 50; {change}")),
                rows,
                "{change}"
            );
            b.check("ROLLBACK", "");
        }
    }
}

/// Sessions take back what they did to rows that others are about to change: no row is missed, none
/// is changed for what was never committed.
#[test]
fn no_row_is_missed_beside_rollbacks() {
    for (table, hint, range) in [
        ("c", "", ""),
        ("h", "", ""),
        ("c", "WITH (INDEX(by_k))", "k > 0 AND"),
        ("h", "WITH (INDEX(by_k))", "k > 0 AND"),
    ] {
        let b = bench();
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (mut session, over) = (beside(&b), &over);
                scope.spawn(move || {
                    let mut from = writer * 30 + 1;
                    while !over.load(std::sync::atomic::Ordering::Relaxed) {
                        from = from % 50 + 1;
                        let to = from + 9;
                        run(&mut session, &format!("BEGIN TRAN UPDATE {table} SET v = 1 WHERE id BETWEEN {from} AND {to} ROLLBACK"));
                    }
                });
            }
            let mut session = beside(&b);
            let mut wrong = Vec::new();
            for _ in 0..60 {
                let said = run(
                    &mut session,
                    &format!(
                        "SET DEADLOCK_PRIORITY HIGH; UPDATE {table} SET m = m + 1 FROM {table} {hint} WHERE {range} v = 0"
                    ),
                );
                if said != "(60)" {
                    wrong.push(said);
                }
            }
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(wrong.is_empty(), "{table} {hint}: {} of 60: {:?}", wrong.len(), wrong.first());
        });
    }
}

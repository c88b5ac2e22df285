//! Locks of rows and of their entries in indexes: who changes a row and who reads it by an index
//! take them in one order, and neither waits with the one for the other without need.

use crate::support::text::{Bench, Text};
use engine::Session;
use std::thread::JoinHandle;
use std::time::Duration;

/// A clustered table and a heap with the same three rows, each with an index on n.
fn bench() -> Bench {
    let mut b = Bench::new();
    for (table, key) in [("a", "PRIMARY KEY"), ("h", "NOT NULL")] {
        b.check(
            &format!(
                "CREATE TABLE {table} (id int {key}, n int, m int DEFAULT 0);
                 CREATE INDEX ix ON {table} (n);
                 INSERT {table} (id, n) VALUES (10, 1), (20, 2), (30, 3)"
            ),
            "(3)",
        );
    }
    b
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// Starts a batch of another session that has to wait.
#[track_caller]
fn blocked(b: &Bench, sql: &str) -> JoinHandle<String> {
    let mut session = b.instance.session().unwrap();
    session.use_database("t").unwrap();
    let text = sql.to_owned();
    let running = std::thread::spawn(move || run(&mut session, &text));
    std::thread::sleep(Duration::from_millis(80));
    assert!(!running.is_finished(), "did not wait: {sql}: {}", running.join().unwrap());
    running
}

/// A reader by an index waits for a changed row without a lock on its entry: the one who has
/// changed the row may take the entry out.
#[test]
fn who_has_changed_a_row_takes_out_its_entry_past_those_who_wait_for_the_row() {
    let readers = [
        "SELECT m FROM {t} WITH (READCOMMITTEDLOCK, INDEX(ix)) WHERE n = 2",
        "SELECT m FROM {t} WITH (REPEATABLEREAD, INDEX(ix)) WHERE n = 2",
        "SELECT m FROM {t} WITH (HOLDLOCK, INDEX(ix)) WHERE n BETWEEN 2 AND 2",
        "SELECT n FROM {t} WITH (UPDLOCK, INDEX(ix)) WHERE n = 2",
        "SELECT n FROM {t} WITH (XLOCK, HOLDLOCK, INDEX(ix)) WHERE n = 2",
        "SET NOCOUNT ON; UPDATE {t} SET m = 8 FROM {t} WITH (REPEATABLEREAD, INDEX(ix)) WHERE n = 2",
    ];
    for table in ["a", "h"] {
        for reader in readers {
            for change in ["UPDATE {t} SET n = 9 WHERE id = 20", "DELETE {t} WHERE id = 20"] {
                let mut b = bench();
                b.check(&format!("BEGIN TRAN; UPDATE {table} SET m = 7 WHERE id = 20"), "(1)");
                let waiting = blocked(&b, &reader.replace("{t}", table));
                b.check(&format!("{}; COMMIT", change.replace("{t}", table)), "(1)");
                assert_eq!(waiting.join().unwrap(), "", "{table}: {reader}: {change}");
                b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
            }
        }
    }
}

/// The same where the entry is of a unique index and leads to another row meanwhile.
#[test]
fn an_entry_that_leads_to_another_row_is_followed() {
    for hint in ["READCOMMITTEDLOCK", "REPEATABLEREAD", "HOLDLOCK", "UPDLOCK", "UPDLOCK, HOLDLOCK"]
    {
        let mut b = bench();
        for table in ["a", "h"] {
            b.check(
                &format!("DROP INDEX ix ON {table}; CREATE UNIQUE INDEX ix ON {table} (n)"),
                "",
            );
            b.check(&format!("BEGIN TRAN; UPDATE {table} SET m = 7 WHERE id = 20"), "(1)");
            let read = format!("SELECT id, m FROM {table} WITH ({hint}, INDEX(ix)) WHERE n = 2");
            let waiting = blocked(&b, &read);
            b.check(
                &format!(
                    "UPDATE {table} SET n = 20 WHERE id = 20; UPDATE {table} SET n = 2, m = 5 WHERE id = 30;
                     COMMIT"
                ),
                "(1)\n(1)",
            );
            assert_eq!(waiting.join().unwrap(), "30|5", "{read}");
        }
    }
}

/// A change waits for the lock of an entry before it has touched the row: who has read the entry
/// goes on to the row.
#[test]
fn who_has_read_an_entry_reads_its_row_past_those_who_wait_for_the_entry() {
    let changes = [
        ("UPDATE {t} SET n = 9 WHERE id = 20", "(1)"),
        ("UPDATE {t} SET n = 9 FROM {t} WITH (INDEX(ix)) WHERE n = 2", "(1)"),
        ("DELETE {t} WHERE id = 20", "(1)"),
        ("DELETE {t} WHERE id > 10", "(2)"),
        ("DELETE x FROM {t} AS x WITH (INDEX(ix)) WHERE x.n = 2", "(1)"),
        (
            "MERGE {t} AS x USING (VALUES (20)) AS y (id) ON x.id = y.id WHEN MATCHED THEN DELETE;",
            "(1)",
        ),
        ("UPDATE {t} SET id = 21 WHERE id = 20", "(1)"),
    ];
    for table in ["a", "h"] {
        for hint in ["REPEATABLEREAD", "HOLDLOCK"] {
            for (change, done) in changes {
                if table == "h" && change.contains("SET id") {
                    continue;
                }
                let mut b = bench();
                let entry = format!("SELECT n FROM {table} WITH ({hint}, INDEX(ix)) WHERE n = 2");
                b.check(&format!("BEGIN TRAN; {entry}"), "2");
                let change = change.replace("{t}", table);
                let waiting = blocked(&b, &change);
                b.check(&format!("SELECT m FROM {table} WITH (REPEATABLEREAD) WHERE id = 20"), "0");
                b.check(&format!("{entry}; COMMIT"), "2");
                assert_eq!(waiting.join().unwrap(), done, "{change}");
                b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
            }
        }
    }
}

/// A range is not locked while somebody who has more to do in it is waited for.
#[test]
fn a_writer_goes_on_in_the_range_of_a_reader_who_waits_for_him() {
    for read in [
        "SELECT COUNT(n) FROM a WITH (HOLDLOCK, INDEX(ix)) WHERE n BETWEEN 2 AND 9",
        "SELECT COUNT(m) FROM a WITH (HOLDLOCK, INDEX(ix)) WHERE n BETWEEN 2 AND 9",
        "SELECT COUNT(m) FROM a WITH (HOLDLOCK) WHERE id BETWEEN 15 AND 40",
    ] {
        let mut b = bench();
        b.check("BEGIN TRAN; UPDATE a SET n = 5 WHERE id = 20", "(1)");
        let waiting = blocked(&b, read);
        b.check("INSERT a (id, n) VALUES (15, 1), (19, 1), (45, 7), (50, 11)", "(4)");
        b.check("COMMIT", "");
        // 30 and 20; 45 too by n, or 15 and 19 by id.
        let rows = if read.contains("ix") { "3" } else { "4" };
        assert_eq!(waiting.join().unwrap(), rows, "{read}");
    }
}

/// A condition that fails on an entry as somebody has left it who has not committed is no error:
/// the entry is tested when its row and it are locked.
#[test]
fn no_error_comes_of_an_entry_that_was_never_committed() {
    for hint in ["READCOMMITTEDLOCK", "REPEATABLEREAD", "UPDLOCK", "HOLDLOCK", "UPDLOCK, HOLDLOCK"]
    {
        for key in ["PRIMARY KEY", "NOT NULL"] {
            let mut b = Bench::new();
            b.check(
                &format!(
                    "CREATE TABLE e (id int {key}, n int, d int, m int DEFAULT 0);
                     CREATE INDEX ix ON e (n) INCLUDE (d);
                     INSERT e (id, n, d) VALUES (10, 1, 5), (20, 2, 5), (30, 3, 5)"
                ),
                "(3)",
            );
            let read =
                format!("SELECT m FROM e WITH ({hint}, INDEX(ix)) WHERE n > 0 AND 10 / d = 2");
            b.check("BEGIN TRAN; UPDATE e SET d = 0 WHERE id = 20", "(1)");
            let waiting = blocked(&b, &read);
            b.check("ROLLBACK", "");
            assert_eq!(waiting.join().unwrap(), "0\n0\n0", "{read}");
            // One that is committed is an error.
            b.check("BEGIN TRAN; UPDATE e SET d = 0 WHERE id = 20", "(1)");
            let waiting = blocked(&b, &read);
            b.check("COMMIT", "");
            let said = waiting.join().unwrap();
            assert!(said.contains("8134"), "{read}: {said}");
        }
    }
}

/// Who locks a row for himself alone waits for the lock of its entry before: who has read the entry
/// goes on to the row.
#[test]
fn who_has_read_an_entry_reads_its_row_past_those_who_want_it_alone() {
    let alone = [
        ("SELECT n FROM {t} WITH (XLOCK, INDEX(ix)) WHERE n = 2", "2"),
        ("SELECT n FROM {t} WITH (XLOCK, HOLDLOCK, INDEX(ix)) WHERE n = 2", "2"),
        ("SELECT n FROM {t} WITH (XLOCK, INDEX(ix)) WHERE n BETWEEN 2 AND 3", "2\n3"),
        ("SELECT n FROM {t} WITH (XLOCK, HOLDLOCK, INDEX(ix)) WHERE n BETWEEN 2 AND 3", "2\n3"),
        ("UPDATE {t} SET m = 5 FROM {t} WITH (XLOCK, INDEX(ix)) WHERE n = 2", "(1)"),
    ];
    for table in ["a", "h"] {
        for unique in ["", "UNIQUE"] {
            for (read, found) in alone {
                let mut b = bench();
                b.check(
                    &format!("DROP INDEX ix ON {table}; CREATE {unique} INDEX ix ON {table} (n)"),
                    "",
                );
                let entry =
                    format!("SELECT n FROM {table} WITH (REPEATABLEREAD, INDEX(ix)) WHERE n = 2");
                b.check(&format!("BEGIN TRAN; {entry}"), "2");
                let read = read.replace("{t}", table);
                let waiting = blocked(&b, &read);
                b.check(&format!("SELECT m FROM {table} WITH (REPEATABLEREAD) WHERE id = 20"), "0");
                b.check(&format!("{entry}; COMMIT"), "2");
                assert_eq!(waiting.join().unwrap(), found, "{unique} {read}");
            }
        }
    }
}

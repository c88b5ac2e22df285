//! Covering indexes under locks: the entries are locked in place of the rows, what they told stays
//! so, and nobody is kept from changing what was not read.

use crate::support::text::{Bench, Text};
use engine::Session;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const TIMEOUT: &str = "Msg 1222: Lock request time out period exceeded.";

fn run(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// A clustered table and a heap with the same rows, each with an index on n, and another session.
fn bench() -> (Bench, Session) {
    let mut b = Bench::new();
    for (table, key) in [("a", "PRIMARY KEY"), ("h", "NOT NULL")] {
        b.check(
            &format!(
                "CREATE TABLE {table} (id int {key}, n int, m int DEFAULT 0, w int DEFAULT 7);
                 CREATE INDEX ix ON {table} (n) INCLUDE (w);
                 INSERT {table} (id, n) VALUES (10, 1), (20, 2), (30, 3)"
            ),
            "(3)",
        );
    }
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    run(&mut other, "SET LOCK_TIMEOUT 30");
    (b, other)
}

fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

/// S locks on entries are enough; stronger ones are for the row.
#[test]
fn plans_look_up_what_is_to_be_locked() {
    let (mut b, _) = bench();
    for table in ["a", "h"] {
        for (hint, covers) in [
            ("HOLDLOCK", true),
            ("REPEATABLEREAD", true),
            ("READCOMMITTEDLOCK", true),
            ("READPAST", true),
            ("UPDLOCK", false),
            ("XLOCK, HOLDLOCK", false),
        ] {
            let sql =
                format!("SELECT n, w FROM {table} WITH ({hint}, INDEX(ix)) WHERE n = 2 AND w > 1");
            let shown = plan(&mut b, &sql);
            assert_eq!(!shown.contains("LOOKUP"), covers, "{sql}: {shown}");
            b.check(&sql, "2|7");
        }
        let sql = format!("SELECT n, m FROM {table} WITH (HOLDLOCK, INDEX(ix)) WHERE n = 2");
        assert!(plan(&mut b, &sql).contains("LOOKUP"), "{sql}");
    }
    // A change looks at its rows, whatever an index holds.
    let shown = plan(&mut b, "UPDATE a SET w = 1 FROM a WITH (HOLDLOCK, INDEX(ix)) WHERE n = 2");
    assert!(shown.contains("LOOKUP"), "{shown}");
}

/// A seek is not given up for a cheaper scan of an index: it would lock the whole table.
#[test]
fn a_seek_stays_a_seek() {
    let (mut b, mut other) = bench();
    b.check("BEGIN TRAN; SELECT COUNT(n) FROM a WITH (HOLDLOCK) WHERE id BETWEEN 15 AND 25", "1");
    assert_eq!(run(&mut other, "INSERT a (id, n) VALUES (5, 2), (40, 9)"), "(2)");
    assert_eq!(run(&mut other, "INSERT a (id, n) VALUES (22, 9)"), TIMEOUT);
    b.check("COMMIT", "");
}

/// What was read stays as it was; the row's other columns may change.
#[test]
fn what_an_entry_told_stays_so() {
    for table in ["a", "h"] {
        for hint in ["REPEATABLEREAD", "HOLDLOCK"] {
            for range in ["n = 2", "n BETWEEN 2 AND 2 AND w = 7"] {
                let (mut b, mut other) = bench();
                let read =
                    format!("SELECT n, w FROM {table} WITH ({hint}, INDEX(ix)) WHERE {range}");
                b.check(&format!("BEGIN TRAN; {read}"), "2|7");
                assert_eq!(
                    run(&mut other, &format!("UPDATE {table} SET m = 5 WHERE id = 20")),
                    "(1)"
                );
                let changes = [
                    "UPDATE {t} SET n = 9 WHERE id = 20",
                    "UPDATE {t} SET w = 9 WHERE id = 20",
                    "UPDATE {t} SET m = 6, w = 9",
                    "UPDATE {t} SET n += 10 WHERE n > 1",
                    "DELETE {t} WHERE id = 20",
                    "DELETE {t}",
                    "MERGE {t} AS x USING (VALUES (20)) AS y (id) ON x.id = y.id WHEN MATCHED THEN DELETE;",
                ];
                for change in changes {
                    let said = run(&mut other, &change.replace("{t}", table));
                    assert_eq!(said, TIMEOUT, "{read}: {change}");
                }
                if table == "a" {
                    let said = run(&mut other, "UPDATE a SET id = 21 WHERE id = 20");
                    assert_eq!(said, TIMEOUT, "{read}: the locator");
                }
                let said = run(&mut other, &format!("INSERT {table} (id, n) VALUES (25, 2)"));
                assert_eq!(said, if hint == "HOLDLOCK" { TIMEOUT } else { "(1)" }, "{read}");
                let again = if hint == "HOLDLOCK" { "2|7" } else { "2|7\n2|7" };
                b.check(&format!("{read}; COMMIT"), again);
                // What timed out has left no trace.
                b.check(&format!("SELECT n, m, w FROM {table} WHERE id = 20"), "2|5|7");
                assert_eq!(run(&mut other, &format!("DELETE {table} WHERE id = 20")), "(1)");
                b.check(
                    &format!(
                        "SELECT COUNT(*) FROM {table} WITH (INDEX(ix)) WHERE n = 2 AND id = 20"
                    ),
                    "0",
                );
                b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
            }
        }
    }
}

/// Who is changing an entry is waited for, or passed; who is changing the rest of the row is no
/// matter.
#[test]
fn entries_wait_for_their_own_writers() {
    for table in ["a", "h"] {
        for level in ["READCOMMITTEDLOCK", "REPEATABLEREAD", "HOLDLOCK", "READPAST"] {
            let (mut b, mut other) = bench();
            let read = format!("SELECT n FROM {table} WITH ({level}, INDEX(ix)) WHERE n > 0");
            b.check(&format!("BEGIN TRAN; UPDATE {table} SET m = 7 WHERE id = 20"), "(1)");
            assert_eq!(run(&mut other, &read), "1\n2\n3", "{read}");
            for change in ["UPDATE {t} SET n = 9 WHERE id = 20", "DELETE {t} WHERE id = 20"] {
                b.check(&format!("SAVE TRAN s; {}", change.replace("{t}", table)), "(1)");
                let waits = if level == "READPAST" { "1\n3" } else { TIMEOUT };
                let said = run(&mut other, &read);
                assert_eq!(said.lines().last(), waits.lines().last(), "{read}: {change}: {said}");
                assert!(!said.contains('2') || said.contains("1222"), "{read}: {change}: {said}");
                b.check(
                    &format!("{}; ROLLBACK TRAN s", read.replace(level, "HOLDLOCK")),
                    match change {
                        change if change.starts_with("DELETE") => "1\n3",
                        _ => "1\n3\n9",
                    },
                );
            }
            b.check("ROLLBACK", "");
            assert_eq!(run(&mut other, &read), "1\n2\n3", "{read}");
            b.check(&format!("DELETE {table} WHERE id = 20"), "(1)");
            assert_eq!(run(&mut other, &read), "1\n3", "{read}: a ghost");
        }
    }
}

/// Who has waited for a writer reads what is left, once, wherever its entry is then.
#[test]
fn who_waits_for_an_entry_reads_what_is_left_of_it() {
    let before = "1|7\n2|7\n3|7";
    for (key, index) in [
        ("PRIMARY KEY", "INDEX ix ON t (n) INCLUDE (w)"),
        ("NOT NULL", "UNIQUE INDEX ix ON t (n) INCLUDE (w)"),
        ("PRIMARY KEY", "UNIQUE INDEX ix ON t (n) INCLUDE (w) WHERE n > -5"),
    ] {
        for level in ["READCOMMITTEDLOCK", "REPEATABLEREAD", "HOLDLOCK"] {
            let mut b = Bench::new();
            b.check(&format!("CREATE TABLE t (id int {key}, n int, w int); CREATE {index}"), "");
            for (change, after) in [
                ("UPDATE t SET w = 8 WHERE id = 20", "1|7\n2|8\n3|7"),
                ("UPDATE t SET n = 9 WHERE id = 20", "1|7\n3|7\n9|7"),
                ("UPDATE t SET n = 0 WHERE id = 20", "0|7\n1|7\n3|7"),
                ("UPDATE t SET n = 4 - n", before),
                ("DELETE t WHERE id = 20", "1|7\n3|7"),
                ("DELETE t WHERE id = 20; INSERT t VALUES (20, 2, 7)", before),
            ] {
                for (end, left) in [("COMMIT", after), ("ROLLBACK", before)] {
                    b.run("DELETE t; INSERT t VALUES (10, 1, 7), (20, 2, 7), (30, 3, 7)");
                    b.run(&format!("BEGIN TRAN; {change}"));
                    let mut other = b.instance.session().unwrap();
                    other.use_database("t").unwrap();
                    let read = format!("SELECT n, w FROM t WITH ({level}, INDEX(ix)) WHERE n > -5");
                    let reader = std::thread::spawn(move || run(&mut other, &read));
                    std::thread::sleep(Duration::from_millis(30));
                    assert!(!reader.is_finished(), "{level}: {change}: {}", reader.join().unwrap());
                    b.check(end, "");
                    assert_eq!(reader.join().unwrap(), left, "{index}: {level}: {change}: {end}");
                }
            }
        }
    }
}

/// Without row versions too: a database whose readers lock.
#[test]
fn readers_without_row_versions_go_by_entries() {
    let (mut b, mut other) = bench();
    b.check("ALTER DATABASE t SET READ_COMMITTED_SNAPSHOT OFF", "");
    b.check("BEGIN TRAN; UPDATE a SET m = 7; UPDATE h SET m = 7", "(3)\n(3)");
    for table in ["a", "h"] {
        assert_eq!(
            run(
                &mut other,
                &format!("SELECT SUM(n), SUM(w) FROM {table} WITH (INDEX(ix)) WHERE n > 0")
            ),
            "6|21"
        );
        assert_eq!(
            run(
                &mut other,
                &format!("SELECT SUM(n), SUM(m) FROM {table} WITH (INDEX(ix)) WHERE n > 0")
            ),
            TIMEOUT
        );
    }
    b.check("ROLLBACK", "");
}

/// UPDLOCK by one index keeps out UPDLOCK by another one.
#[test]
fn update_locks_are_of_the_row() {
    for table in ["a", "h"] {
        let (mut b, mut other) = bench();
        b.check(
            &format!("BEGIN TRAN; SELECT n FROM {table} WITH (UPDLOCK, INDEX(ix)) WHERE n = 2"),
            "2",
        );
        let said = run(&mut other, &format!("SELECT m FROM {table} WITH (UPDLOCK) WHERE id = 20"));
        assert_eq!(said, TIMEOUT, "{table}");
        b.check("COMMIT", "");
    }
}

/// A cursor goes on under locks of its own: entries are read when they are fetched.
#[test]
fn a_suspended_scan_of_entries_reads_each_when_it_is_fetched() {
    for hint in ["READCOMMITTEDLOCK", "REPEATABLEREAD", "HOLDLOCK"] {
        let (mut b, mut other) = bench();
        let query = format!("SELECT n, w FROM a WITH ({hint}, INDEX(ix)) WHERE n > 0");
        b.check(
            &format!("DECLARE c CURSOR GLOBAL FAST_FORWARD FOR {query}; OPEN c; FETCH c; FETCH c"),
            "1|7\n2|7",
        );
        assert_eq!(run(&mut other, "UPDATE a SET w = 8 WHERE id = 30"), "(1)", "{hint}");
        b.check("BEGIN TRAN; FETCH c", "3|8");
        let said = run(&mut other, "UPDATE a SET w = 9 WHERE id = 30");
        assert_eq!(said, if hint == "READCOMMITTEDLOCK" { "(1)" } else { TIMEOUT }, "{hint}");
        b.check("COMMIT; CLOSE c; DEALLOCATE c", "");
    }
}

/// A value that did not fit its entry is read from the row, which is locked then.
#[test]
fn entries_that_lack_a_value_lead_to_their_rows() {
    for key in ["PRIMARY KEY", "NOT NULL"] {
        for hint in ["READCOMMITTEDLOCK", "REPEATABLEREAD", "HOLDLOCK", "HOLDLOCK, TABLOCK"] {
            let (mut b, mut other) = bench();
            b.check(
                &format!(
                    "CREATE TABLE l (id int {key}, k int, x varchar(max), y varchar(8000), m int);
                     CREATE INDEX i ON l (k) INCLUDE (x, y);
                     INSERT l VALUES (1, 1, 'short', 'y', 0),
                       (2, 2, REPLICATE(CONVERT(varchar(max), 'x'), 30000), REPLICATE('y', 8000), 0)"
                ),
                "(2)",
            );
            let read =
                format!("SELECT k, LEN(x), LEN(y) FROM l WITH ({hint}, INDEX(i)) WHERE k > 0");
            b.check(&format!("BEGIN TRAN; {read}"), "1|5|1\n2|30000|8000");
            let held = hint != "READCOMMITTEDLOCK";
            let said = run(&mut other, "UPDATE l SET x = 'z' WHERE id = 2");
            assert_eq!(said, if held { TIMEOUT } else { "(1)" }, "{read}");
            b.check(
                &format!("{read}; COMMIT"),
                if held { "1|5|1\n2|30000|8000" } else { "1|5|1\n2|1|8000" },
            );
        }
    }
}

/// Locks on entries become a lock on the table like those on rows.
#[test]
fn locks_of_entries_escalate() {
    let (mut b, mut other) = bench();
    b.run("INSERT a (id, n) SELECT value + 100, value FROM GENERATE_SERIES(10, 7009)");
    for hint in ["REPEATABLEREAD", "HOLDLOCK"] {
        b.check(
            &format!(
                "BEGIN TRAN; SELECT COUNT(*), SUM(w) FROM a WITH ({hint}, INDEX(ix)) WHERE n >= 10"
            ),
            "7000|49000",
        );
        let locks = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'KEY'";
        b.check(locks, "5000");
        assert_eq!(
            run(&mut other, "UPDATE a SET m = 1 WHERE id = 10"),
            TIMEOUT,
            "{hint}: the table"
        );
        b.check("COMMIT", "");
    }
}

/// Money goes from row to row, sometimes back, and rows move: a reader by entries finds all of it,
/// and finds it again.
#[test]
fn sums_of_entries_are_those_of_one_moment() {
    let mut b = Bench::new();
    for (table, key) in [("c", "PRIMARY KEY"), ("h", "NOT NULL")] {
        b.run(&format!(
            "CREATE TABLE {table} (id int {key}, k int NOT NULL, v int NOT NULL, m int);
             CREATE INDEX by_k ON {table} (k) INCLUDE (v);
             INSERT {table} SELECT value, value, 100, 0 FROM generate_series(1, 300)"
        ));
    }
    let beside = |b: &Bench| {
        let mut session = b.instance.session().unwrap();
        session.use_database("t").unwrap();
        session
    };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (mut session, over) = (beside(&b), &over);
            run(&mut session, "SET XACT_ABORT ON; SET NOCOUNT ON");
            scope.spawn(move || {
                let mut n = writer * 7;
                while !over.load(Relaxed) {
                    n += 1;
                    let table = ["c", "h"][n % 2];
                    let (from, to) = (n * 37 % 300 + 1, n * 91 % 300 + 1);
                    let end = if n % 3 == 0 { "ROLLBACK" } else { "COMMIT" };
                    let work = match n % 4 {
                        0 => format!("UPDATE {table} SET m += 1 WHERE k = {from}"),
                        1 => format!("UPDATE {table} SET k = k, v = v WHERE id IN ({from}, {to})"),
                        _ => format!(
                            "UPDATE {table} SET v -= 1 WHERE id = {from}; UPDATE {table} SET v += 1 WHERE id = {to}"
                        ),
                    };
                    run(&mut session, &format!("BEGIN TRAN; {work}; {end}"));
                }
            });
        }
        let mut reader = beside(&b);
        run(&mut reader, "SET DEADLOCK_PRIORITY HIGH");
        let mut wrong = Vec::new();
        for table in ["c", "h"] {
            for hint in ["REPEATABLEREAD", "HOLDLOCK"] {
                for range in
                    ["k BETWEEN 1 AND 1000", "k IN (SELECT value FROM generate_series(1, 300))"]
                {
                    for _ in 0..10 {
                        let rows = format!("FROM {table} WITH ({hint}, INDEX(by_k)) WHERE {range}");
                        let sum = format!("SELECT SUM(v) {rows}");
                        let said = run(&mut reader, &format!("BEGIN TRAN; {sum}; {sum}; COMMIT"));
                        if said != "30000\n30000" {
                            wrong.push((sum, said));
                        }
                    }
                }
            }
        }
        over.store(true, Relaxed);
        assert!(wrong.is_empty(), "{} sums are wrong: {:?}", wrong.len(), wrong.first());
    });
    b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
}

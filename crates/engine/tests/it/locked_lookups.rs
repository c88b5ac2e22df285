//! Rows behind the entries of an index under locks: each is read once, when it is locked, and what
//! is given of it is what its lock was taken for.

use crate::support::text::{Bench, beside, blocked, run_in as run};

/// A clustered table and a heap with the same 2,000 rows, each with an index on k, which is ten
/// times the id and the value.
fn bench() -> Bench {
    let mut b = Bench::new();
    for (table, key) in [("c", "PRIMARY KEY"), ("h", "NOT NULL")] {
        let said = b.run(&format!(
            "CREATE TABLE {table} (id int {key}, k int NOT NULL, v int NOT NULL);
             CREATE INDEX by_k ON {table} (k);
             INSERT {table} SELECT value, value * 10, value FROM generate_series(1, 2000)"
        ));
        assert_eq!(said.trim(), "(2000)");
    }
    b
}

/// Pages that a query over one table reads.
fn reads(b: &mut Bench, sql: &str) -> u64 {
    b.run("SET STATISTICS IO ON");
    let said = b.run(sql);
    b.run("SET STATISTICS IO OFF");
    let (_, reads) = said.split_once(", logical reads ").unwrap_or_else(|| panic!("{said}"));
    reads.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn a_row_is_read_once() {
    let mut b = bench();
    for table in ["c", "h"] {
        let query = |hint: &str| {
            format!(
                "SELECT COUNT(*), SUM(v) FROM {table} WITH (INDEX(by_k){hint})
                 WHERE k BETWEEN 1001 AND 7000"
            )
        };
        b.check(&query(""), "600|240300");
        let plain = reads(&mut b, &query(""));
        assert!(plain >= 600, "{table}: {plain} pages for 600 rows");
        for hint in [", HOLDLOCK", ", HOLDLOCK, UPDLOCK", ", HOLDLOCK, XLOCK"] {
            b.check(&query(hint), "600|240300");
            let locked = reads(&mut b, &query(hint));
            assert!(
                locked <= plain + plain / 4 + 40,
                "{table}{hint}: {locked} pages instead of {plain}"
            );
        }
        // Where no gaps are locked the page of the entry is looked at once more for each.
        for hint in [", REPEATABLEREAD", ", UPDLOCK", ", XLOCK"] {
            b.check(&query(hint), "600|240300");
            let locked = reads(&mut b, &query(hint));
            assert!(locked <= plain + 660, "{table}{hint}: {locked} pages instead of {plain}");
        }
    }
}

/// The pages of the rows of a step are asked for before the first of them is locked.
#[test]
fn pages_of_locked_rows_are_asked_for_together() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE h (id int NOT NULL, k int NOT NULL, pad char(400) NOT NULL DEFAULT '')
         INSERT h (id, k) SELECT value, value * 7919 % 20000 FROM GENERATE_SERIES(0, 19999)
         SELECT * INTO c FROM h
         CREATE INDEX k ON h (k)
         ALTER TABLE c ADD PRIMARY KEY (id)
         CREATE INDEX k ON c (k)
         CHECKPOINT",
    );
    for table in ["h", "c"] {
        let sql = format!(
            "SELECT COUNT(*), SUM(id + LEN(pad)) FROM {table} WITH (HOLDLOCK, INDEX (k)) WHERE k < 2000"
        );
        let want = b.run(&sql.replace("HOLDLOCK, INDEX (k)", "INDEX (0)"));
        assert!(want.starts_with("2000|"), "{want}");
        b = b.restart();
        b.run("SET STATISTICS IO ON");
        let said = b.run(&sql);
        b.run("SET STATISTICS IO OFF");
        let (_, ahead) = said.split_once(", read-ahead reads ").unwrap_or_else(|| panic!("{said}"));
        let ahead: u64 =
            ahead.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
        assert!(ahead > 300, "{table}: {ahead} pages were asked for");
        assert_eq!(b.run(&sql), want);
    }
}

/// TOP locks as many rows and entries as it gives, and waits for none behind them.
#[test]
fn top_locks_what_it_gives() {
    for table in ["c", "h"] {
        let mut b = bench();
        let mut other = beside(&b);
        assert_eq!(
            run(&mut other, &format!("BEGIN TRAN; UPDATE {table} SET v = -1 WHERE id = 111")),
            "(1)"
        );
        let read = format!(
            "SELECT COUNT(*), SUM(v) FROM (SELECT TOP (10) v FROM {table} WITH (HOLDLOCK, INDEX(by_k))
                                           WHERE k > 1005 ORDER BY k) AS x"
        );
        b.check("SET LOCK_TIMEOUT 30", "");
        b.check(&format!("BEGIN TRAN; {read}"), "10|1055");
        let locks = "SELECT COUNT(*) FROM sys.dm_tran_locks
                     WHERE resource_type IN ('KEY', 'RID') AND request_session_id = @@SPID";
        b.check(locks, "20");
        b.check("ROLLBACK", "");
        // One more row is waited for.
        let said = b.run(&read.replace("(10)", "(11)"));
        assert!(said.contains("1222"), "{table}: {said}");
        run(&mut other, "ROLLBACK");
        let pages = reads(&mut b, &read);
        assert!(pages <= 30, "{table}: {pages} pages for 10 rows");
    }
}

/// The rows of a range as they are at its end, whatever was done to a row, or to its entry, while
/// the reader waited for it: the other rows of the page were read before the wait.
#[test]
fn what_was_done_during_a_wait_is_read() {
    // Whether it leaves the order of the rows as it was: a reader who locks no gaps has passed the
    // place where a row comes in. None comes in where the reader has locked the gap already: that
    // would be a deadlock.
    let changes = [
        (true, "UPDATE {t} SET v = 1000 WHERE id = 7"),
        (false, "UPDATE {t} SET k = 75 WHERE id = 7"),
        (false, "UPDATE {t} SET k = 85, v = 1000 WHERE id = 7"),
        (true, "DELETE {t} WHERE id = 7"),
        (false, "INSERT {t} VALUES (3001, 75, 2001), (3002, 85, 2002)"),
        (false, "UPDATE {t} SET k = 5000 WHERE id = 7; INSERT {t} VALUES (3003, 70, 2003)"),
        (true, "UPDATE {t} SET v = v + 100 WHERE id BETWEEN 7 AND 12"),
    ];
    for table in ["c", "h"] {
        for hint in
            ["HOLDLOCK", "HOLDLOCK, UPDLOCK", "HOLDLOCK, XLOCK", "REPEATABLEREAD", "UPDLOCK"]
        {
            let mut b = bench();
            for (_, change) in
                changes.iter().filter(|(stays, _)| *stays || hint.contains("HOLDLOCK"))
            {
                for end in ["ROLLBACK", "COMMIT"] {
                    b.check(&format!("BEGIN TRAN; UPDATE {table} SET v = -1 WHERE id = 7"), "(1)");
                    let read = format!(
                        "SELECT k, v FROM {table} WITH ({hint}, INDEX(by_k)) WHERE k BETWEEN 10 AND 300"
                    );
                    let waiting = blocked(&b, &read);
                    let said = b.run(&format!("{}; {end}", change.replace("{t}", table)));
                    assert!(!said.contains("Msg"), "{read}: {change}: {said}");
                    let found = waiting.join().unwrap();
                    let now =
                        format!("SELECT k, v FROM {table} WHERE k BETWEEN 10 AND 300 ORDER BY k");
                    assert_eq!(found, b.run(&now).trim(), "{read}: {change}; {end}");
                }
                let rows = "SELECT value, value * 10, value FROM generate_series(1, 40)";
                let said = b.run(&format!(
                    "DELETE {table} WHERE id <= 40 OR id > 3000; INSERT {table} {rows}"
                ));
                assert!(!said.contains("Msg"), "{said}");
            }
        }
    }
}

/// What a reader has locked and read stays as it was for its transaction, however it reads it
/// again.
#[test]
fn what_was_read_stays_locked() {
    for table in ["c", "h"] {
        let mut b = bench();
        let mut other = beside(&b);
        run(&mut other, "SET LOCK_TIMEOUT 30");
        let read = format!(
            "SELECT COUNT(*), SUM(v) FROM {table} WITH (HOLDLOCK, INDEX(by_k)) WHERE k BETWEEN 101 AND 1000 AND v % 2 = 0"
        );
        b.check(&format!("BEGIN TRAN; {read}"), "45|2520");
        // Those that the condition has rejected, too: they may not become others.
        for id in [11, 12, 50, 99, 100] {
            for change in [
                "UPDATE {t} SET v = 0 WHERE id =",
                "UPDATE {t} SET k = 1 WHERE id =",
                "DELETE {t} WHERE id =",
            ] {
                let said = run(&mut other, &format!("{} {id}", change.replace("{t}", table)));
                assert!(said.contains("1222"), "{table} {id}: {change}: {said}");
            }
        }
        let insert = format!("INSERT {table} VALUES (3001, 555, 2)");
        assert!(run(&mut other, &insert).contains("1222"), "{table}");
        b.check(&format!("{read}; COMMIT"), "45|2520");
        assert_eq!(run(&mut other, &insert), "(1)");
    }
}

/// An entry that its condition rejects is not locked, and who has locked it is not waited for,
/// where no gaps are locked.
#[test]
fn entries_that_are_rejected_are_not_locked() {
    for table in ["c", "h"] {
        let mut b = bench();
        let mut other = beside(&b);
        b.run(&format!("CREATE INDEX by_k2 ON {table} (k, v)"));
        run(&mut other, "SET LOCK_TIMEOUT 30");
        let taken =
            format!("BEGIN TRAN; SELECT v FROM {table} WITH (XLOCK, INDEX(by_k2)) WHERE k = 1050");
        b.check(&taken, "105");
        for hint in ["REPEATABLEREAD", "UPDLOCK", "XLOCK"] {
            let read = |rest: &str| {
                format!(
                    "SELECT COUNT(*), SUM(id) FROM {table} WITH ({hint}, INDEX(by_k2))
                     WHERE k BETWEEN 1001 AND 1100 AND v % 2 = {rest}"
                )
            };
            let said = run(&mut other, &format!("BEGIN TRAN; {}", read("0")));
            assert_eq!(said, "5|530", "{table} {hint}");
            let locks = "SELECT COUNT(*) FROM sys.dm_tran_locks
                         WHERE resource_type IN ('KEY', 'RID') AND request_session_id = @@SPID; ROLLBACK";
            // The row's id is in its entry, which is all that S locks have to lock.
            let locked = if table == "c" && hint == "REPEATABLEREAD" { "5" } else { "10" };
            assert_eq!(run(&mut other, locks), locked, "{table} {hint}");
            assert!(run(&mut other, &read("1")).contains("1222"), "{table} {hint}");
        }
        b.check("ROLLBACK", "");
    }
}

/// An entry that was rejected as its page was read, and is wanted when the reader comes to it, is
/// found: he has waited for a row before it meanwhile.
#[test]
fn entries_that_changed_during_a_wait_are_tested_again() {
    for table in ["c", "h"] {
        let mut b = bench();
        let mut third = beside(&b);
        b.run(&format!("ALTER TABLE {table} ADD w int NOT NULL DEFAULT 0"));
        b.run(&format!("CREATE INDEX by_k3 ON {table} (k) INCLUDE (v)"));
        for hint in ["REPEATABLEREAD", "UPDLOCK", "UPDLOCK, HOLDLOCK"] {
            // The entry of the row that is waited for stays as it was.
            b.check(&format!("BEGIN TRAN; UPDATE {table} SET w = 1 WHERE id = 104"), "(1)");
            let read = format!(
                "SELECT k FROM {table} WITH ({hint}, INDEX(by_k3))
                 WHERE k BETWEEN 1011 AND 1060 AND v % 4 = 0 AND w >= 0"
            );
            let waiting = blocked(&b, &read);
            let change = |v: u32| {
                format!(
                    "UPDATE x SET v = {v} FROM {table} AS x WITH (INDEX(by_k)) WHERE x.k = 1060"
                )
            };
            assert_eq!(run(&mut third, &change(108)), "(1)", "{table} {hint}");
            b.check("COMMIT", "");
            assert_eq!(waiting.join().unwrap(), "1040\n1060", "{table} {hint}");
            b.check(&change(106), "(1)");
        }
    }
}

/// More bytes of rows than are kept: the rest of them is read when it is given.
#[test]
fn long_rows_are_read_under_their_locks() {
    let mut b = Bench::new();
    for (table, key) in [("c", "PRIMARY KEY"), ("h", "NOT NULL")] {
        b.check(
            &format!(
                "CREATE TABLE {table} (id int {key}, k int NOT NULL, v int NOT NULL, pad varchar(7000) NOT NULL);
                 CREATE INDEX by_k ON {table} (k);
                 INSERT {table} SELECT value, value, value, REPLICATE('x', value * 20) FROM generate_series(1, 300)"
            ),
            "(300)",
        );
        for hint in ["HOLDLOCK", "HOLDLOCK, UPDLOCK", "REPEATABLEREAD"] {
            let read = format!(
                "SELECT COUNT(*), SUM(v), SUM(LEN(pad)) FROM {table} WITH ({hint}, INDEX(by_k)) WHERE k > 0 AND v > 0"
            );
            b.check(&read, "300|45150|903000");
        }
    }
}

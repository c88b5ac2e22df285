//! Ranges under locks where pages end, where ranges end, and where pages are split meanwhile.

use crate::support::text::{Bench, beside, blocked, run_in as run};

/// These of a clustered table c and a heap h, with the same 2,000 rows: k is ten times the id and
/// the value.
fn bench(tables: &[&str]) -> Bench {
    let mut b = Bench::new();
    for table in tables {
        let key = if *table == "c" { "PRIMARY KEY" } else { "NOT NULL" };
        let said = b.run(&format!(
            "CREATE TABLE {table} (id int {key}, k int NOT NULL, v int NOT NULL);
             INSERT {table} SELECT value, value * 10, value FROM generate_series(1, 2000);
             CREATE INDEX by_k ON {table} (k);
             CREATE UNIQUE INDEX only_k ON {table} (k)"
        ));
        assert_eq!(said.trim(), "(2000)");
    }
    b
}

/// TOP locks as many rows and entries as it gives, also where they lie on two pages.
#[test]
fn top_locks_no_more_where_a_page_ends() {
    for table in ["c", "h"] {
        let mut b = bench(&[table]);
        for from in (0..1980).step_by(7) {
            let said = b.run(&format!(
                "BEGIN TRAN
                 SELECT COUNT(*), SUM(v) FROM (SELECT TOP (10) v FROM {table} WITH (HOLDLOCK, INDEX(by_k))
                                               WHERE k > {} ORDER BY k) AS x
                 SELECT COUNT(*) FROM sys.dm_tran_locks
                     WHERE resource_type IN ('KEY', 'RID') AND request_session_id = @@SPID
                 ROLLBACK",
                from * 10
            ));
            assert_eq!(said.trim(), format!("10|{}\n20", from * 10 + 55), "{table} from {from}");
        }
    }
}

/// No row comes into a range at its first or its last key, wherever they lie on their pages, until
/// who has read it ends. Both ends lie between keys.
#[test]
fn nothing_comes_in_at_the_ends_of_a_range() {
    let mut b = bench(&["c", "h"]);
    for table in ["c", "h"] {
        b.check(
            &format!(
                "CREATE INDEX down_k ON {table} (k DESC); CREATE INDEX some_k ON {table} (k) WHERE k > 0"
            ),
            "",
        );
    }
    let mut other = beside(&b);
    run(&mut other, "SET LOCK_TIMEOUT 0");
    for (index, order) in [
        ("by_k", "k"),
        ("by_k", "k DESC"),
        ("only_k", "k"),
        ("down_k", "k"),
        ("down_k", "k DESC"),
        ("some_k", "k"),
    ] {
        for (at, table) in (3..1900).step_by(41).zip(["c", "h"].into_iter().cycle()) {
            let (low, high) = (at * 10 + 5, at * 10 + 45);
            let read = format!(
                "SELECT COUNT(*), SUM(v) FROM
                     (SELECT TOP (1000) v FROM {table} WITH (HOLDLOCK, INDEX({index}))
                      WHERE k BETWEEN {low} AND {high} AND k > 0 ORDER BY {order}) AS x"
            );
            let found = format!("4|{}", at * 4 + 10);
            b.check(&format!("BEGIN TRAN; {read}"), &found);
            for k in [low, low + 4, low + 10, high - 4, high] {
                let said = run(&mut other, &format!("INSERT {table} VALUES (5000, {k}, 1)"));
                assert!(
                    said.contains("Msg 1222"),
                    "{table} {index} {order} {low}: {k} came in: {said}"
                );
            }
            b.check(&format!("{read}; COMMIT"), &found);
            // It was the range that kept them out.
            let insert = format!("BEGIN TRAN; INSERT {table} VALUES (5000, {low}, 1); ROLLBACK");
            let said = run(&mut other, &insert);
            assert_eq!(said, "(1)", "{table} {index} {order} {low}");
        }
    }
}

/// The reader waits for one row of a page that he has read; meanwhile the page is split, or most of
/// its entries go or move, for good or not.
#[test]
fn pages_change_during_a_wait() {
    // By the index: who reads the whole heap would wait for the same row.
    let changes = [
        "INSERT {t} SELECT 5000 + value, 400 + value, value
             FROM generate_series(1, 1500) WHERE value % 10 > 0",
        "INSERT {t} SELECT 7000 + value, 15000 + value, 7
             FROM generate_series(1, 1500) WHERE value % 10 > 0",
        "DELETE x FROM {t} AS x WITH (INDEX(by_k)) WHERE x.k BETWEEN 410 AND 9000",
        "UPDATE x SET k = k + 30000 FROM {t} AS x WITH (INDEX(by_k)) WHERE x.k BETWEEN 410 AND 9000",
        "UPDATE x SET k = k - 1, v = 3 FROM {t} AS x WITH (INDEX(by_k)) WHERE x.k BETWEEN 410 AND 9000",
        "DELETE x FROM {t} AS x WITH (INDEX(by_k)) WHERE x.k BETWEEN 410 AND 600
         INSERT {t} SELECT value, value * 10, 9 FROM generate_series(41, 60)",
    ];
    for table in ["c", "h"] {
        for change in changes.map(|change| change.replace("{t}", table)) {
            for end in ["COMMIT", "ROLLBACK"] {
                let mut b = bench(&[table]);
                let mut third = beside(&b);
                run(&mut third, "SET LOCK_TIMEOUT 10000");
                let read = |hint: &str| {
                    format!(
                        "SELECT COUNT(*), SUM(CAST(v AS bigint)), SUM(CAST(k AS bigint))
                         FROM {table} WITH (INDEX(by_k){hint}) WHERE k BETWEEN 10 AND 16000"
                    )
                };
                b.check(&format!("BEGIN TRAN; UPDATE {table} SET v = -1 WHERE id = 40"), "(1)");
                let waiting = blocked(&b, &read(", HOLDLOCK"));
                let said = run(&mut third, &format!("BEGIN TRAN; {change}; {end}"));
                assert!(!said.contains("Msg"), "{change}: {said}");
                b.check(end, "");
                assert_eq!(waiting.join().unwrap(), b.run(&read("")).trim(), "{change}; {end}");
            }
        }
    }
}

/// A transaction reads by an index under range locks what it has made of the rows itself, and what
/// a savepoint has left of that.
#[test]
fn own_changes_are_read() {
    for table in ["c", "h"] {
        let mut b = bench(&[table]);
        let read = format!(
            "SELECT COUNT(*), SUM(v) FROM {table} WITH (HOLDLOCK, INDEX(by_k)) WHERE k BETWEEN 1010 AND 1100"
        );
        b.check(&format!("BEGIN TRAN; {read}"), "10|1055");
        b.check(&format!("UPDATE {table} SET v = 0 WHERE id = 101; {read}"), "(1)\n10|954");
        b.check(
            &format!("SAVE TRAN s; DELETE {table} WHERE id IN (102, 110); {read}"),
            "(2)\n8|742",
        );
        b.check(
            &format!("INSERT {table} VALUES (6000, 1015, 8), (6001, 1100, 1); {read}"),
            "(2)\n10|751",
        );
        b.check(&format!("UPDATE {table} SET k = 1099 WHERE id = 300; {read}"), "(1)\n11|1051");
        b.check(&format!("ROLLBACK TRAN s; {read}"), "10|954");
        b.check(&format!("ROLLBACK; {read}"), "10|1055");
    }
}

/// Who did not get a row in the middle of a range reads the range when it can be had, and keeps
/// nothing when he gives up.
#[test]
fn a_wait_that_was_given_up_leaves_nothing() {
    for table in ["c", "h"] {
        let mut b = bench(&[table]);
        let mut other = beside(&b);
        run(&mut other, &format!("BEGIN TRAN; UPDATE {table} SET v = -1 WHERE id = 150"));
        let read = |hint: &str| {
            format!(
                "SELECT COUNT(*), SUM(v) FROM {table} WITH ({hint}, INDEX(by_k))
                 WHERE k BETWEEN 1010 AND 2000"
            )
        };
        b.run("SET LOCK_TIMEOUT 20");
        for hint in ["HOLDLOCK", "HOLDLOCK, XLOCK", "REPEATABLEREAD", "UPDLOCK"] {
            b.fails(&read(hint), 1222);
            b.check(
                "SELECT COUNT(*) FROM sys.dm_tran_locks
                     WHERE resource_type IN ('KEY', 'RID') AND request_session_id = @@SPID",
                "0",
            );
        }
        run(&mut other, "ROLLBACK");
        b.check(&read("HOLDLOCK"), "100|15050");
    }
}

/// READPAST: rows that are locked are skipped; entries that the condition rejects are not asked
/// for.
#[test]
fn locked_rows_are_skipped_beside_rejected_ones() {
    for table in ["c", "h"] {
        let mut b = bench(&[table]);
        let mut other = beside(&b);
        b.run(&format!("CREATE INDEX by_kv ON {table} (k, v)"));
        run(
            &mut other,
            &format!("BEGIN TRAN; UPDATE {table} SET v = v + 2 WHERE id IN (105, 106)"),
        );
        b.check(
            &format!(
                "BEGIN TRAN
                 SELECT COUNT(*), SUM(id) FROM {table} WITH (UPDLOCK, READPAST, INDEX(by_kv))
                     WHERE k BETWEEN 1010 AND 1100 AND v % 2 = 0
                 ROLLBACK"
            ),
            "4|424",
        );
        run(&mut other, "ROLLBACK");
    }
}

/// A cursor reads what its transaction has made of rows that were locked, and read, for an earlier
/// fetch.
#[test]
fn a_cursor_reads_what_its_transaction_has_changed() {
    for table in ["c", "h"] {
        let mut b = bench(&[table]);
        b.check(
            &format!(
                "BEGIN TRAN
                 DECLARE x CURSOR GLOBAL FAST_FORWARD FOR
                     SELECT k, v FROM {table} WITH (HOLDLOCK, INDEX(by_k)) WHERE k > 1000
                 OPEN x; FETCH x; FETCH x"
            ),
            "1010|101\n1020|102",
        );
        // Locked for the second fetch, together with the row that it gave.
        b.check(&format!("UPDATE {table} SET v = 7 WHERE id = 103; FETCH x"), "(1)\n1030|7");
        let rest = "FETCH x; CLOSE x; DEALLOCATE x; ROLLBACK";
        b.check(&format!("DELETE {table} WHERE id = 104; {rest}"), "(1)\n1050|105");
    }
}

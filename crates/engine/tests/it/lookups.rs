//! Rows behind the entries of an index: what an entry tells of the conditions is tested before its
//! row is looked up, in reads of every kind and in changes, with the rows that a table without the
//! index gives.

use crate::support::text::{self, Bench, Text, try_open};
use engine::{Instance, Session};
use sim::SimDisk;
use std::sync::Arc;
use std::time::Duration;

/// 20,000 rows: 1,600 of them are in the range of `s` and `n` that is sought, 32 have the wanted
/// `t`.
const ROWS: &str = "SELECT value, value % 5, value % 50, (value / 50) % 100, value % 3
     FROM GENERATE_SERIES(0, 19999)";

fn bench() -> Bench {
    let mut b = Bench::new();
    let out = b.run(&format!(
        "SET NOCOUNT ON
         CREATE TABLE o (id int NOT NULL, s int NOT NULL, n int NOT NULL, t int NULL, v int NOT NULL,
             pad char(100) NOT NULL DEFAULT '')
         INSERT o (id, s, n, t, v) {ROWS}
         UPDATE o SET t = NULL WHERE id % 1000 = 3
         SELECT * INTO plain FROM o
         SELECT * INTO c FROM o
         CREATE INDEX i ON o (s, n, t)
         ALTER TABLE c ADD PRIMARY KEY (id)
         CREATE INDEX i ON c (s, n) INCLUDE (t)"
    ));
    assert_eq!(out, "");
    b
}

fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

/// Pages that a query over one table has read, of the kind that the message names.
fn reads(b: &mut Bench, sql: &str, kind: &str) -> u64 {
    b.run("SET STATISTICS IO ON");
    let said = b.run(sql);
    b.run("SET STATISTICS IO OFF");
    let (_, reads) =
        said.split_once(&format!(", {kind} reads ")).unwrap_or_else(|| panic!("{said}"));
    reads.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn only_rows_whose_entries_pass_are_looked_up() {
    let mut b = bench();
    let sql = "SELECT COUNT(*), SUM(v) FROM o WHERE s = 3 AND n BETWEEN 1 AND 20 AND t IN (5, 6)";
    let shown = plan(&mut b, sql);
    assert!(shown.contains("SEEK:([s], EACH [n], [t], 2 ranges), WHERE:("), "{shown}");
    assert!(shown.contains("t), RID LOOKUP)"), "nothing is left for the row: {shown}");
    assert_eq!(b.run(sql), b.run(&sql.replace("FROM o", "FROM plain")));
    // Forty ranges by three levels of the tree at most, and the rows.
    let pages = reads(&mut b, sql, "logical");
    assert!(pages < 200, "{pages} pages for 32 rows");

    let with_row = sql.replace("t IN", "v > 0 AND t IN");
    let shown = plan(&mut b, &with_row);
    assert!(shown.contains("RID LOOKUP, WHERE:(v))"), "{shown}");
    let clustered = sql.replace("FROM o", "FROM c");
    let shown = plan(&mut b, &clustered);
    assert!(shown.contains("t), KEY LOOKUP)"), "an included column: {shown}");
    // The clustered key is in the entries, too.
    let by_key = clustered.replace("t IN (5, 6)", "t = 5 AND id % 2 = 1");
    let shown = plan(&mut b, &by_key);
    assert!(shown.contains("id), KEY LOOKUP)"), "{shown}");
    assert_eq!(b.run(&by_key), b.run(&by_key.replace("FROM c", "FROM plain")));
}

/// More rows than are looked up together, and few of them.
#[test]
fn many_rows_are_looked_up_in_groups() {
    let mut b = bench();
    let sums = "COUNT(*), SUM(id), SUM(CAST(n AS bigint) * id), SUM(v), MAX(pad)";
    for table in ["o", "c"] {
        for condition in ["s >= 0", "s > 0 AND id % 7 < 5", "s < 4 AND v = 1", "s = 1 AND n < 9"] {
            let want = b.run(&format!("SELECT {sums} FROM plain q WHERE {condition}"));
            let sql = format!("SELECT {sums} FROM {table} q WITH (INDEX (i)) WHERE {condition}");
            assert_eq!(b.run(&sql), want, "{sql}");
            let rows = format!(
                "SELECT COUNT(*), COUNT(DISTINCT id) FROM (SELECT TOP (3000) id, v
                 FROM {table} q WITH (INDEX (i)) WHERE {condition}) q WHERE v >= 0"
            );
            let by_hand = rows.replace(&format!("{table} q WITH (INDEX (i))"), "plain q");
            assert_eq!(b.run(&rows), b.run(&by_hand), "{rows}");
        }
    }
}

/// A condition that may fail is not asked of rows that one before it, which needs the row, rejects.
#[test]
fn what_may_fail_is_not_asked_before() {
    let mut b = bench();
    let sql = "SELECT COUNT(*) FROM o WITH (INDEX (i)) WHERE s = 3 AND v = 1 AND 10 / (n - 8) <> 0 AND n < 10";
    b.run("UPDATE o SET v = 0 WHERE n = 8 UPDATE plain SET v = 0 WHERE n = 8");
    let want =
        b.run("SELECT COUNT(*) FROM plain WHERE s = 3 AND v = 1 AND n < 8 AND 10 / (n - 8) <> 0");
    assert_eq!(b.run(sql), want);
}

#[test]
fn reads_of_every_kind_give_the_same_rows() {
    let mut b = bench();
    let conditions = [
        "s = 3 AND n BETWEEN 1 AND 20 AND t IN (5, 6)",
        "s = 3 AND n > 1 AND t IS NULL",
        "s = 3 AND n > 10 AND t <> 5 AND v = 1",
        "s IN (1, 3) AND n < 9 AND (t = 5 OR t = 7 AND v = 1)",
        "s = 3 AND NOT (t < 90) AND v + t > 90",
        "s = 2 AND t = 5 AND EXISTS (SELECT * FROM plain p WHERE p.id = q.id AND p.v = 1)",
        "s = 4 AND n = 44 AND id < 3000",
    ];
    let hints = [
        "",
        ", UPDLOCK",
        ", HOLDLOCK",
        ", NOLOCK",
        ", READPAST",
        ", XLOCK, HOLDLOCK",
        ", READCOMMITTEDLOCK",
    ];
    for condition in conditions {
        let want =
            b.run(&format!("SELECT COUNT(*), SUM(id), SUM(v) FROM plain q WHERE {condition}"));
        assert!(!want.starts_with('0') && !want.contains("Msg"), "{condition}: {want}");
        for table in ["o", "c"] {
            for hint in hints {
                let sql = format!(
                    "SELECT COUNT(*), SUM(id), SUM(v) FROM {table} q WITH (INDEX (i){hint}) WHERE {condition}"
                );
                assert_eq!(b.run(&sql), want, "{sql}");
            }
            let ordered = format!(
                "SELECT TOP (50) id, s, n, t FROM {table} q WITH (INDEX (i)) WHERE {condition} ORDER BY s, n, t, id"
            );
            let by_hand = ordered.replace(&format!("{table} q WITH (INDEX (i))"), "plain q");
            assert_eq!(b.run(&ordered), b.run(&by_hand), "{ordered}");
            for level in ["REPEATABLE READ", "SERIALIZABLE", "READ COMMITTED"] {
                b.run(&format!("SET TRANSACTION ISOLATION LEVEL {level} BEGIN TRAN"));
                let sql =
                    format!("SELECT COUNT(*), SUM(id), SUM(v) FROM {table} q WHERE {condition}");
                assert_eq!(b.run(&sql), want, "{level}: {sql}");
                b.run("COMMIT");
            }
        }
    }
}

#[test]
fn changes_find_the_same_rows() {
    let mut b = bench();
    b.run("SET NOCOUNT OFF");
    for change in [
        "UPDATE {t} SET v = v + 1 WHERE s = 3 AND n BETWEEN 1 AND 20 AND t IN (5, 6)",
        "UPDATE {t} SET t = 6 WHERE s = 3 AND n BETWEEN 1 AND 20 AND t = 5",
        "UPDATE {t} SET t = 5, n = n + 1 WHERE s = 3 AND n < 20 AND t = 6",
        "DELETE {t} WHERE s = 3 AND n < 25 AND t = 5 AND v > 0",
    ] {
        let want = b.run(&change.replace("{t}", "plain"));
        assert!(want.starts_with('(') && !want.starts_with("(0)"), "{change}: {want}");
        for table in ["o", "c"] {
            assert_eq!(
                b.run(&change.replace("{t}", &format!("{table} "))),
                want,
                "{table}: {change}"
            );
            let sum = "SELECT COUNT(*), SUM(CAST(id AS bigint) * (v + 3) * (n + 1)), SUM(t) FROM ";
            assert_eq!(
                b.run(&format!("{sum}{table}")),
                b.run(&format!("{sum}plain")),
                "{table}: {change}"
            );
        }
    }
}

#[test]
fn a_change_looks_up_only_rows_whose_entries_pass() {
    let mut b = bench();
    let change = "BEGIN TRAN
         UPDATE o SET v = v + 1 FROM o WITH (INDEX (i)) WHERE s = 3 AND n BETWEEN 1 AND 20 AND t IN (5, 6)
         ROLLBACK";
    // The range has 1,600 rows, of which 32 are changed.
    let pages = reads(&mut b, change, "logical");
    assert!(pages < 800, "{pages} pages");
}

/// The rows of many entries are looked up in the order in which they lie, and their pages are asked
/// for before that.
#[test]
fn pages_of_rows_are_asked_for_together() {
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
            "SELECT COUNT(*), SUM(id + LEN(pad)) FROM {table} WITH (INDEX (k)) WHERE k < 2000"
        );
        let want = b.run(&sql.replace("(k))", "(0))"));
        assert!(want.starts_with("2000|"), "{want}");
        b = b.restart();
        // Of some 1,000 pages most have one of the rows; the entries are on 10 or 20.
        let ahead = reads(&mut b, &sql, "read-ahead");
        assert!(ahead > 300, "{table}: {ahead} pages were asked for");
        assert_eq!(b.run(&sql), want);
    }
    // Where the order is asked for it is kept.
    let first = "SELECT TOP (200) id FROM h WITH (INDEX (k)) WHERE k < 2000 ORDER BY k";
    assert_eq!(
        b.run(first),
        b.run("SELECT TOP (200) id FROM h WITH (INDEX (0)) WHERE k < 2000 ORDER BY k")
    );
}

/// A row takes its own page, and the way down the tree to it is taken for few: of a clustered index
/// of three levels, whose nodes above leaves are more than a thread remembers.
#[test]
fn rows_are_found_beside_one_another() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE c (id int NOT NULL PRIMARY KEY, k int NOT NULL, pad char(400) NOT NULL DEFAULT '')
         INSERT c (id, k) SELECT value, value * 7919 % 20000 FROM GENERATE_SERIES(0, 19999)
         CREATE INDEX k ON c (k)",
    );
    let counted = |b: &mut Bench| -> u64 {
        let sql = "SELECT MAX(cntr_value) FROM sys.dm_os_performance_counters
                   WHERE counter_name = 'Page lookups/sec'";
        let shown = b.run(sql);
        shown.trim().parse().unwrap_or_else(|_| panic!("{shown}"))
    };
    for (hint, most) in [("", 6_000), (", HOLDLOCK", 9_000), (", READCOMMITTEDLOCK", 11_000)] {
        let sql = format!(
            "SELECT COUNT(*), SUM(id + LEN(pad)) FROM c WITH (INDEX (k){hint}) WHERE k < 4000"
        );
        let want = b.run(&sql.replace("INDEX (k)", "INDEX (0)"));
        assert!(want.starts_with("4000|"), "{want}");
        assert_eq!(b.run(&sql), want, "{hint}");
        let before = counted(&mut b);
        b.run(&sql);
        let pages = counted(&mut b) - before;
        assert!((3_900..most).contains(&pages), "{hint}: {pages} pages for 4,000 rows");
    }
}

fn session(instance: &Arc<Instance>) -> Session {
    let mut session = instance.session().expect("a session");
    session.use_database("d").expect("it is there");
    session
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// Rows that another transaction is about to change are taken as it leaves them: one whose entry
/// satisfied the conditions and no longer does is left alone.
#[test]
fn a_change_waits_for_what_the_entries_will_be() {
    let instance = try_open(&SimDisk::new(1), 64 << 20).expect("the instance opens");
    text::run(&instance, "create database d");
    text::run(
        &instance,
        "use d
         create table o (id int not null, s int not null, t int not null, v int not null, pad char(200) not null)
         insert o select value, value % 100, value / 100, 0, '' from generate_series(0, 9999)
         create index i on o (s, t)",
    );
    for hint in ["", "with (index (i), updlock)", "with (index (i), holdlock)"] {
        let mut first = session(&instance);
        run(&mut first, "update o set v = 0");
        assert_eq!(run(&mut first, "begin tran update o set t = -1 where id = 507"), "(1)");
        let second = std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let mut second = session(&instance);
                run(
                    &mut second,
                    &format!("update o set v = 1 from o {hint} where s = 7 and t between 4 and 6"),
                )
            });
            std::thread::sleep(Duration::from_millis(300));
            assert!(!second.is_finished(), "{hint}: it does not wait");
            run(&mut first, "commit");
            second.join().expect("the other session")
        });
        assert_eq!(second, "(2)", "{hint}");
        assert_eq!(
            run(&mut first, "select id from o where v = 1 order by id"),
            "407\n607",
            "{hint}"
        );
        assert_eq!(run(&mut first, "update o set t = 5 where id = 507"), "(1)");
    }
}

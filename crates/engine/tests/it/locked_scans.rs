//! Reading with row locks: what a transaction takes back is never read; what a lock was taken for
//! stays locked.

use crate::support::text::{self, Bench, Text, try_open};
use engine::{Instance, Session};
use sim::SimDisk;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

fn made() -> Arc<Instance> {
    let instance = try_open(&SimDisk::new(1), 64 << 20).expect("the instance opens");
    text::run(&instance, "create database d");
    text::run(
        &instance,
        "use d
         create table t (id int primary key, k int not null, v char(20) not null)
         create index k on t (k) include (v)
         create table h (id int not null, v char(20) not null)
         insert t select value, value % 100, 'v' from generate_series(1, 20000)
         insert h select id, v from t",
    );
    instance
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

/// What a transaction takes back was never there, however closely a reader comes behind it.
#[test]
fn nothing_is_read_that_was_taken_back() {
    let instance = made();
    text::run(
        &instance,
        "use d create table s (id int primary key, k int not null unique, v int not null)
         insert s select value, value, 0 from generate_series(1, 200)",
    );
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (instance, over) = (&instance, &over);
            scope.spawn(move || {
                let mut session = session(instance);
                let mut id = 50 * writer;
                while !over.load(Relaxed) {
                    id = id % 200 + 1;
                    let change = format!("begin tran update s set v = -1 where id = {id} rollback");
                    run(&mut session, &change);
                }
            });
        }
        let mut reader = session(&instance);
        let mut wrong = Vec::new();
        for _ in 0..400 {
            for query in [
                "select count(*) from s where v < 0",
                "select count(*) from s with (index(2)) where k > 0 and v < 0",
                "select count(*) from generate_series(1, 200) g where (select v from s where id = g.value) < 0",
            ] {
                let level = "set transaction isolation level serializable begin tran";
                let said = run(&mut reader, &format!("{level} {query} commit"));
                if said != "0" {
                    wrong.push((query, said));
                }
            }
        }
        over.store(true, Relaxed);
        assert!(
            wrong.is_empty(),
            "{} reads of what was never there: {:?}",
            wrong.len(),
            wrong.first()
        );
    });
}

const TIMEOUT: &str = "Msg 1222: Lock request time out period exceeded.";

/// A bench whose database has `a` and the heap `h` with the same three rows, and another session.
fn three_rows() -> (Bench, Session) {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE a (id int PRIMARY KEY, n int, m int DEFAULT 0); CREATE INDEX ix ON a (n);
         INSERT a (id, n) VALUES (10, 1), (20, 2), (30, 3);
         CREATE TABLE h (id int, n int, m int DEFAULT 0); INSERT h (id, n) VALUES (10, 1), (20, 2), (30, 3)",
        "(3)\n(3)",
    );
    let other = beside(&b);
    (b, other)
}

fn beside(b: &Bench) -> Session {
    let mut session = b.instance.session().unwrap();
    session.use_database("t").unwrap();
    run(&mut session, "SET LOCK_TIMEOUT 30");
    session
}

/// The outer query gives a row back that its condition rejects; a subquery of that condition has
/// read the same row, and its lock stays.
#[test]
fn a_row_that_a_subquery_has_locked_stays_locked() {
    let own = "SELECT x.n FROM {t} AS x {hint} WHERE x.id = {t}.id";
    for table in ["a", "h"] {
        for (level, outer, hint) in [
            ("REPEATABLE READ", "", ""),
            ("SERIALIZABLE", "WITH (READCOMMITTEDLOCK)", ""),
            ("READ COMMITTED", "WITH (READCOMMITTEDLOCK)", "WITH (UPDLOCK)"),
            ("READ COMMITTED", "WITH (READCOMMITTEDLOCK)", "WITH (REPEATABLEREAD)"),
            ("READ COMMITTED", "WITH (UPDLOCK)", "WITH (HOLDLOCK)"),
        ] {
            for condition in [
                "n > 1000 + (SELECT x.n FROM {t} AS x {hint} WHERE x.id = 10)".to_owned(),
                format!("CASE WHEN n = ({own}) THEN 0 ELSE 1 END = 2"),
                format!("CASE WHEN EXISTS ({own}) THEN 0 ELSE 1 END = 2"),
                format!("CASE WHEN n IN ({own}) THEN 0 ELSE 1 END = 2"),
                format!("CASE WHEN n >= ALL ({own}) THEN 0 ELSE 1 END = 2"),
            ] {
                let (mut b, mut other) = three_rows();
                let condition = condition.replace("{t}", table).replace("{hint}", hint);
                let query = format!("SELECT id FROM {table} {outer} WHERE {condition}");
                b.check(
                    &format!("SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRAN; {query}"),
                    "",
                );
                let said = run(&mut other, &format!("UPDATE {table} SET m = 5 WHERE id = 10"));
                assert_eq!(said, TIMEOUT, "{level}: {query}");
                b.check("COMMIT", "");
                assert_eq!(
                    run(&mut other, &format!("UPDATE {table} SET m = 5 WHERE id = 10")),
                    "(1)"
                );
            }
        }
    }
}

/// As above, where a function reads the row.
#[test]
fn a_row_that_a_function_has_locked_stays_locked() {
    let (mut b, mut other) = three_rows();
    b.check("CREATE FUNCTION f(@id int) RETURNS int AS BEGIN DECLARE @n int; SELECT @n = n FROM a WHERE id = @id; RETURN @n END", "");
    b.check("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN", "");
    b.check("SELECT id FROM a WHERE CASE WHEN id = 10 THEN dbo.f(id) END = 99", "");
    assert_eq!(run(&mut other, "UPDATE a SET m = 5 WHERE id = 10"), TIMEOUT);
    b.check("COMMIT", "");
}

/// Rows that the condition rejects are no locks: they do not become a lock on the table.
#[test]
fn locks_that_were_given_back_do_not_escalate() {
    let instance = made();
    let (mut reader, mut writer) = (session(&instance), session(&instance));
    let read = "begin tran select count(*) from t with (updlock) where v = 'none'";
    assert_eq!(run(&mut reader, read), "0");
    assert_eq!(run(&mut writer, "set lock_timeout 30 update t set v = 'w' where id = 7"), "(1)");
    run(&mut reader, "commit");
}

/// A fetch under READ COMMITTED by locks holds the row's lock while it reads the row.
#[test]
fn a_cursor_holds_what_its_level_holds() {
    for (hint, free) in [
        ("WITH (READCOMMITTEDLOCK)", true),
        ("WITH (REPEATABLEREAD)", false),
        ("WITH (UPDLOCK)", false),
    ] {
        let (mut b, mut other) = three_rows();
        b.check(
            &format!(
                "BEGIN TRAN; DECLARE c CURSOR GLOBAL KEYSET FOR SELECT id, n FROM a {hint}; OPEN c; FETCH c"
            ),
            "10|1",
        );
        let said = run(&mut other, "UPDATE a SET m = 5 WHERE id = 10");
        assert_eq!(said, if free { "(1)" } else { TIMEOUT }, "{hint}");
        b.check("FETCH c; COMMIT", "20|2");
    }
}

/// A scan of a range stops behind a ghost, and the ghost goes. What is below the next key has been
/// read, and nobody comes in there.
#[test]
fn a_ghost_that_goes_opens_no_gap() {
    for (ghosts, intruder) in [("20", 17), ("20, 21, 22", 18)] {
        let mut b = Bench::of_short_pace();
        b.check("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON", "");
        b.check(
            "CREATE TABLE a (id int PRIMARY KEY, n int);
             INSERT a VALUES (10, 1), (15, 1), (20, 1), (21, 1), (22, 1), (40, 1), (50, 1)",
            "(7)",
        );
        // An old snapshot keeps the ghosts where they are.
        let mut old = beside(&b);
        run(&mut old, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
        assert_eq!(run(&mut old, "BEGIN TRAN; SELECT COUNT(*) FROM a"), "7");
        let mut other = beside(&b);
        let gone = run(&mut other, &format!("DELETE a WHERE id IN ({ghosts})"));
        b.check(
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN;
             DECLARE c CURSOR GLOBAL FAST_FORWARD FOR SELECT id FROM a WHERE id BETWEEN 5 AND 60;
             OPEN c; FETCH c; FETCH c",
            "10\n15",
        );
        run(&mut old, "COMMIT");
        let left = "SELECT SUM(ghost_record_count) FROM sys.dm_db_index_physical_stats(DB_ID('t'), OBJECT_ID('a'), 1, NULL, 'DETAILED')";
        let end = Instant::now() + Duration::from_secs(60);
        while run(&mut other, left) != "0" {
            assert!(Instant::now() < end, "the ghosts stay: {gone}");
            std::thread::sleep(Duration::from_millis(50));
        }
        let said = run(&mut other, &format!("INSERT a VALUES ({intruder}, 1)"));
        assert_eq!(said, TIMEOUT, "{intruder} comes in behind the reader");
        b.check("SELECT COUNT(*) FROM a WHERE id BETWEEN 10 AND 20; COMMIT", "2");
        assert_eq!(run(&mut other, &format!("INSERT a VALUES ({intruder}, 1)")), "(1)");
    }
}

/// Money goes from row to row, sometimes back: whoever locks what it reads finds all of it,
/// whichever way it reads.
#[test]
fn sums_under_locks_are_those_of_one_moment() {
    let mut b = Bench::new();
    for (table, key) in [("c", "PRIMARY KEY"), ("h", "NOT NULL")] {
        b.run(&format!(
            "CREATE TABLE {table} (id int {key}, k int NOT NULL, v int NOT NULL);
             CREATE INDEX by_k ON {table} (k);
             INSERT {table} SELECT value, value, 100 FROM generate_series(1, 400)"
        ));
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (mut session, over) = (beside(&b), &over);
            run(&mut session, "SET LOCK_TIMEOUT -1; SET XACT_ABORT ON; SET NOCOUNT ON");
            scope.spawn(move || {
                let mut n = writer * 7;
                while !over.load(Relaxed) {
                    n += 1;
                    let table = ["c", "h"][n % 2];
                    let (from, to) = (n * 37 % 400 + 1, n * 91 % 400 + 1);
                    let end = if n % 3 == 0 { "ROLLBACK" } else { "COMMIT" };
                    let one = |sign: &str, k| {
                        format!(
                            "UPDATE {table} SET v = v {sign} 1 FROM {table} WITH (INDEX(by_k)) WHERE k = {k}"
                        )
                    };
                    run(&mut session, &format!("BEGIN TRAN; {}; {}; {end}", one("-", from), one("+", to)));
                }
            });
        }
        let mut reader = beside(&b);
        run(&mut reader, "SET LOCK_TIMEOUT -1; SET DEADLOCK_PRIORITY HIGH");
        let mut wrong = Vec::new();
        for table in ["c", "h"] {
            for hint in ["REPEATABLEREAD", "HOLDLOCK", "UPDLOCK", "XLOCK", "UPDLOCK, HOLDLOCK"] {
                for (index, range) in [
                    ("", "v > -1000"),
                    (", INDEX(by_k)", "k BETWEEN 1 AND 1000"),
                    ("", "id BETWEEN 1 AND 400"),
                ] {
                    for _ in 0..10 {
                        let sum = format!(
                            "SELECT SUM(v) FROM {table} WITH ({hint}{index}) WHERE {range}"
                        );
                        let said = run(&mut reader, &format!("BEGIN TRAN; {sum}; COMMIT"));
                        if said != "40000" {
                            wrong.push((sum, said));
                        }
                    }
                }
            }
        }
        over.store(true, Relaxed);
        assert!(wrong.is_empty(), "{} sums are wrong: {:?}", wrong.len(), wrong.first());
    });
}

/// A scan locks what it gives, and nothing that its condition rejects; READ COMMITTED by locks
/// locks nothing that nobody is changing.
#[test]
fn only_rows_that_are_given_are_locked() {
    let keys = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type IN ('KEY', 'RID')";
    for table in ["a", "h"] {
        for (hint, locks) in [("REPEATABLEREAD", "1"), ("UPDLOCK", "1"), ("READCOMMITTEDLOCK", "0")]
        {
            let (mut b, mut other) = three_rows();
            b.check(
                &format!("BEGIN TRAN; SELECT id FROM {table} WITH ({hint}) WHERE m + n = 2"),
                "20",
            );
            b.check(keys, locks);
            let said = run(&mut other, &format!("UPDATE {table} SET m = 4 WHERE m + n <> 2"));
            // A scan for a change asks for each row that it reads, but takes those alone that it
            // changes.
            assert_eq!(said, "(2)", "{table} {hint}");
            b.check("ROLLBACK", "");
        }
    }
}

/// Without row versions a reader waits for who is changing a row, also for one behind an entry, and
/// past a lock that changes nothing only where its own is in order.
#[test]
fn readers_by_locks_wait_and_read_on() {
    for table in ["a", "h"] {
        for hint in ["", "WITH (INDEX(ix))"] {
            let (mut b, mut other) = three_rows();
            b.check("ALTER DATABASE t SET READ_COMMITTED_SNAPSHOT OFF", "");
            b.run("CREATE INDEX ix ON h (n)");
            let read = format!("SELECT COUNT(*), SUM(m) FROM {table} {hint} WHERE n > 0");
            b.check(&format!("BEGIN TRAN; UPDATE {table} SET m = 7 WHERE id = 20"), "(1)");
            assert_eq!(run(&mut other, &read), TIMEOUT, "{read}");
            let waiting = std::thread::spawn({
                let (mut session, read) = (beside(&b), read.clone());
                move || run(&mut session, &format!("SET LOCK_TIMEOUT -1; {read}"))
            });
            std::thread::sleep(Duration::from_millis(60));
            b.check("COMMIT", "");
            assert_eq!(waiting.join().unwrap(), "3|7", "{read}");
            for (lock, blocked) in [("UPDLOCK", false), ("XLOCK", true)] {
                b.check(
                    &format!("BEGIN TRAN; SELECT m FROM {table} WITH ({lock}) WHERE id = 20"),
                    "7",
                );
                assert_eq!(
                    run(&mut other, &read),
                    if blocked { TIMEOUT } else { "3|7" },
                    "{lock}: {read}"
                );
                b.check("ROLLBACK", "");
            }
        }
    }
}

/// A cursor under READ COMMITTED by locks gives rows as they are when they are fetched.
#[test]
fn a_suspended_scan_reads_each_row_when_it_is_fetched() {
    let (mut b, mut other) = three_rows();
    b.check("ALTER DATABASE t SET READ_COMMITTED_SNAPSHOT OFF", "");
    b.check(
        "DECLARE c CURSOR GLOBAL FAST_FORWARD FOR SELECT id, m FROM a; OPEN c; FETCH c",
        "10|0",
    );
    assert_eq!(run(&mut other, "UPDATE a SET m = 8 WHERE id = 30"), "(1)");
    assert_eq!(run(&mut other, "DELETE a WHERE id = 20"), "(1)");
    b.check("FETCH c; CLOSE c; DEALLOCATE c", "30|8");
}

/// The locks that rows of a page were read under may have ended when a cursor comes to them: with
/// the statement that fetched the row before, or with its transaction.
#[test]
fn a_suspended_scan_trusts_no_lock_that_has_ended() {
    for (table, hint) in [
        ("a", "HOLDLOCK"),
        ("h", "HOLDLOCK"),
        ("a", "HOLDLOCK, INDEX(ix)"),
        ("a", "REPEATABLEREAD"),
        ("h", "UPDLOCK"),
    ] {
        for (begin, commit) in [("", ""), ("BEGIN TRAN; ", "; COMMIT")] {
            let (mut b, mut other) = three_rows();
            let range = if hint.contains("INDEX") { "WHERE n > 0" } else { "" };
            let query = format!("SELECT id, m FROM {table} WITH ({hint}) {range}");
            b.check(&format!("DECLARE c CURSOR GLOBAL FAST_FORWARD FOR {query}"), "");
            b.check(&format!("{begin}OPEN c; FETCH c; FETCH c{commit}"), "10|0\n20|0");
            let said = run(&mut other, &format!("UPDATE {table} SET m = 8 WHERE id = 30"));
            assert_eq!(said, "(1)", "{query}");
            b.check("BEGIN TRAN; FETCH c", "30|8");
            let said = run(&mut other, &format!("UPDATE {table} SET m = 9 WHERE id = 30"));
            assert_eq!(said, TIMEOUT, "{query}");
            b.check("COMMIT; CLOSE c; DEALLOCATE c", "");
        }
    }
    // What was outside the row as it was is freed perhaps.
    let (mut b, mut other) = three_rows();
    b.check(
        "CREATE TABLE l (id int PRIMARY KEY, v varchar(max));
         INSERT l SELECT id, REPLICATE(CONVERT(varchar(max), 'a'), 20000) FROM a;
         DECLARE c CURSOR GLOBAL FAST_FORWARD FOR SELECT id, LEFT(v, 1) FROM l WITH (HOLDLOCK);
         OPEN c; FETCH c; FETCH c",
        "(3)\n10|a\n20|a",
    );
    let change = "UPDATE l SET v = REPLICATE(CONVERT(varchar(max), 'b'), 20000) WHERE id = 30";
    assert_eq!(run(&mut other, change), "(1)");
    b.check("FETCH c; CLOSE c; DEALLOCATE c", "30|b");
}

/// Who locks a row that a transaction has changed waits for its end. The transaction may read the
/// row again under locks of its own: it does not wait for the other one in turn.
#[test]
fn a_transaction_reads_its_own_row_past_those_who_wait_for_it() {
    for table in ["a", "h"] {
        for (theirs, own) in [
            ("UPDLOCK", "UPDLOCK"),
            ("UPDLOCK", "XLOCK"),
            ("XLOCK", "REPEATABLEREAD"),
            ("XLOCK", "READCOMMITTEDLOCK"),
            ("UPDLOCK", "UPDLOCK, READPAST"),
            ("UPDLOCK", "UPDLOCK, INDEX(ix)"),
            ("XLOCK", "READCOMMITTEDLOCK, INDEX(ix)"),
            ("UPDLOCK", "UPDLOCK, HOLDLOCK, INDEX(ix)"),
            ("UPDLOCK, INDEX(ix)", "UPDLOCK, INDEX(ix)"),
            ("UPDLOCK, INDEX(ix)", "XLOCK, HOLDLOCK, INDEX(ix)"),
            ("XLOCK, INDEX(ix)", "REPEATABLEREAD, INDEX(ix)"),
            ("UPDLOCK, HOLDLOCK, INDEX(ix)", "UPDLOCK, INDEX(ix)"),
        ] {
            let (mut b, _) = three_rows();
            b.run("CREATE INDEX ix ON h (n)");
            let read = |hint: &str| {
                let row = if hint.contains("INDEX") { "n = 2" } else { "id = 20" };
                format!("SELECT id, m FROM {table} WITH ({hint}) WHERE {row}")
            };
            b.check(&format!("BEGIN TRAN; UPDATE {table} SET m = 7 WHERE id = 20"), "(1)");
            let waiting = std::thread::spawn({
                let (mut session, read) = (beside(&b), read(theirs));
                move || run(&mut session, &format!("SET LOCK_TIMEOUT -1; {read}"))
            });
            std::thread::sleep(Duration::from_millis(120));
            assert!(!waiting.is_finished(), "{table}: {theirs} does not wait");
            b.check(&read(own), "20|7");
            if table == "a" {
                b.check(
                    "DECLARE k CURSOR LOCAL KEYSET SCROLL_LOCKS FOR SELECT id, m FROM a WHERE id = 20;
                     OPEN k; FETCH k",
                    "20|7",
                );
            }
            b.check("COMMIT", "");
            assert_eq!(waiting.join().unwrap(), "20|7", "{table}: {theirs} beside {own}");
        }
    }
}

/// The rows that a statement locks are counted together, however many scans lock them.
#[test]
fn locks_of_many_scans_become_a_lock_on_the_table() {
    let instance = made();
    let mut reader = session(&instance);
    for hint in ["repeatableread", "holdlock", "updlock"] {
        let read = format!(
            "begin tran select count(*) from generate_series(1, 6000) as g
             inner loop join t with ({hint}) on t.id = g.value"
        );
        assert_eq!(run(&mut reader, &read), "6000", "{hint}");
        let locks = "select count(*) from sys.dm_tran_locks where resource_type = 'KEY' rollback";
        assert_eq!(run(&mut reader, locks), "5000", "{hint}");
    }
    // The table may forbid it.
    run(&mut reader, "alter table t set (lock_escalation = disable)");
    let read = "begin tran select count(*) from t with (updlock) where id <= 6000
                select count(*) from sys.dm_tran_locks where resource_type = 'KEY' rollback";
    assert_eq!(run(&mut reader, read), "6000\n6000");
}

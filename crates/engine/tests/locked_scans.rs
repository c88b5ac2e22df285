//! Reading with row locks: what a transaction takes back is never read; what a lock was taken for stays locked.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use engine::{Instance, Session};
use sim::SimDisk;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use text::{Bench, Text, try_open};

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
        assert!(wrong.is_empty(), "{} reads of what was never there: {:?}", wrong.len(), wrong.first());
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
                b.check(&format!("SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRAN; {query}"), "");
                let said = run(&mut other, &format!("UPDATE {table} SET m = 5 WHERE id = 10"));
                assert_eq!(said, TIMEOUT, "{level}: {query}");
                b.check("COMMIT", "");
                assert_eq!(run(&mut other, &format!("UPDATE {table} SET m = 5 WHERE id = 10")), "(1)");
            }
        }
    }
}

/// As above, where a function reads the row; and what nobody has asked to keep is free.
#[test]
fn a_row_that_a_function_has_locked_stays_locked() {
    let (mut b, mut other) = three_rows();
    b.check("CREATE FUNCTION f(@id int) RETURNS int AS BEGIN DECLARE @n int; SELECT @n = n FROM a WHERE id = @id; RETURN @n END", "");
    b.check("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN", "");
    b.check("SELECT id FROM a WHERE CASE WHEN id = 10 THEN dbo.f(id) END = 99", "");
    assert_eq!(run(&mut other, "UPDATE a SET m = 5 WHERE id = 20"), "(1)");
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
    for (hint, free) in
        [("WITH (READCOMMITTEDLOCK)", true), ("WITH (REPEATABLEREAD)", false), ("WITH (UPDLOCK)", false)]
    {
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
        let mut b = Bench::new();
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

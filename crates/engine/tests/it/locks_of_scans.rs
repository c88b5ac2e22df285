//! How much a scan under locks locks: the table instead of all its rows, the last entry instead of
//! all; and in which order what it has locked comes.

use crate::support::text::{self, Text, try_open};
use engine::{Instance, Session};
use sim::SimDisk;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TIMEOUT: &str = "Msg 1222: Lock request time out period exceeded.";

fn made() -> Arc<Instance> {
    let instance = try_open(&SimDisk::new(1), 64 << 20).expect("the instance opens");
    text::run(&instance, "create database d");
    text::run(
        &instance,
        "use d
         create table t (id int primary key, k int not null, v char(20) not null)
         create index k on t (k) include (v)
         insert t select value, value % 100, 'v' from generate_series(1, 20000)",
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

/// A scan that would lock each row and each gap of a table locks the table instead, if nobody is in
/// its way; where a few rows may do, or the table forbids it, rows are locked.
#[test]
fn a_scan_that_locks_all_locks_the_table() {
    let instance = made();
    let (mut reader, mut other) = (session(&instance), session(&instance));
    run(
        &mut reader,
        "select * into m from t where id <= 300 alter table m add primary key (id)
         select * into f from t where id <= 300 alter table f add primary key (id)
         alter table f set (lock_escalation = disable)
         select * into s from t where id <= 100 alter table s add primary key (id)",
    );
    let locked =
        "select case when count(*) = 0 then 'none' when count(*) < 50 then 'few' else 'many' end
                  from sys.dm_tran_locks where resource_type = 'KEY' rollback";
    for (from, rows, keys) in [
        ("m with (holdlock) where v = 'v'", "300", "none"),
        ("t with (holdlock, index(1)) where v = 'none'", "0", "none"),
        ("t with (holdlock, index(k)) where v = 'v'", "20000", "none"),
        ("f with (holdlock) where v = 'v'", "300", "many"),
        ("s with (holdlock) where v = 'v'", "100", "many"),
        ("m with (repeatableread) where v = 'v'", "300", "many"),
        ("m with (holdlock, updlock) where v = 'v'", "300", "many"),
        ("m with (holdlock) where id between 10 and 200 and v = 'v'", "191", "many"),
        ("(select top (1) v from m with (holdlock)) as x where v = 'v'", "1", "few"),
    ] {
        let said = run(&mut reader, &format!("begin tran select count(*) from {from} {locked}"));
        assert_eq!(said, format!("{rows}\n{keys}"), "{from}");
    }
    for read in [
        "declare @n int = 1 select top (@n) id from m with (holdlock) where v = 'v'",
        "declare @n int = 1 select id from m with (holdlock) order by id offset 0 rows fetch next @n rows only",
        "set rowcount 1 select id from m with (holdlock) where v = 'v' set rowcount 0",
    ] {
        assert_eq!(run(&mut reader, &format!("begin tran {read} {locked}")), "1\nfew", "{read}");
    }
    // A join takes some more of its outer rows than it has to, but not all of the table for them.
    for (read, said) in [
        ("select top (1) m.id from m with (holdlock) inner loop join s on s.id = m.id", "1"),
        (
            "if exists (select * from m with (holdlock) inner loop join s on s.id = m.id) select 1",
            "1",
        ),
    ] {
        let found = run(&mut reader, &format!("begin tran {read} {locked}"));
        assert!(found.starts_with(said) && !found.ends_with("none"), "{read}: {found}");
    }
    // Nobody changes a row, and nobody brings one in, until the reader is done.
    assert_eq!(
        run(&mut reader, "begin tran select count(*) from m with (holdlock) where v = 'v'"),
        "300"
    );
    for change in ["update m set v = 'w' where id = 7", "insert m values (1000, 1, 'w')"] {
        assert_eq!(run(&mut other, &format!("set lock_timeout 30 {change}")), TIMEOUT, "{change}");
    }
    run(&mut reader, "commit");
    // Somebody who only means to change rows is not waited for.
    assert_eq!(run(&mut other, "begin tran select id from m with (updlock) where id = 7"), "7");
    let timeouts = "select sum(cntr_value) from sys.dm_os_performance_counters
                    where counter_name = 'Lock Timeouts/sec'";
    let before = run(&mut reader, timeouts);
    let read =
        "set lock_timeout 30 begin tran select count(*) from m with (holdlock) where v = 'v'";
    assert_eq!(run(&mut reader, &format!("{read} {locked}")), "300\nmany");
    assert_eq!(run(&mut reader, timeouts), before);
    run(&mut other, "rollback");
}

/// A writer waits for the end of a lock on the table; who reads versions, or locks rows for
/// reading, does not wait behind it.
#[test]
fn readers_do_not_wait_behind_a_writer_that_waits() {
    let instance = made();
    let (mut reader, mut writer, mut other) =
        (session(&instance), session(&instance), session(&instance));
    assert_eq!(
        run(&mut reader, "begin tran select count(*) from t with (holdlock) where v = 'v'"),
        "20000"
    );
    let waiting = std::thread::spawn(move || run(&mut writer, "update t set v = 'w' where id = 7"));
    let waits = "select count(*) from sys.dm_tran_locks where request_status = 'WAIT'";
    let end = Instant::now() + Duration::from_secs(60);
    while run(&mut reader, waits) == "0" {
        assert!(Instant::now() < end, "the writer does not wait");
        std::thread::sleep(Duration::from_millis(5));
    }
    for hint in ["", "with (nolock)", "with (readcommittedlock)", "with (repeatableread)"] {
        let read = format!("set lock_timeout 30 select v from t {hint} where id = 7");
        assert_eq!(run(&mut other, &read), "v", "{hint}");
    }
    run(&mut reader, "commit");
    assert_eq!(waiting.join().expect("it writes"), "(1)");
    assert_eq!(run(&mut other, "select v from t where id = 7"), "w");
}

/// A filtered index that is read from end to end has few of the rows: the others stay free.
#[test]
fn a_scan_of_a_filtered_index_locks_what_is_in_it() {
    let instance = made();
    let (mut reader, mut other) = (session(&instance), session(&instance));
    run(
        &mut reader,
        "create table q (id int primary key, done bit not null, v int not null)
         insert q select value, iif(value <= 10, 0, 1), 0 from generate_series(1, 6000)
         create index waiting on q (id) include (done) where done = 0",
    );
    let read = "begin tran select count(*) from q with (holdlock, index(waiting)) where done = 0";
    assert_eq!(run(&mut reader, read), "10");
    assert_eq!(run(&mut other, "set lock_timeout 30 update q set v = 1 where id = 5000"), "(1)");
    // None comes into it, and none of it leaves.
    for change in ["update q set done = 0 where id = 5000", "update q set done = 1 where id = 5"] {
        assert_eq!(run(&mut other, change), TIMEOUT, "{change}");
    }
    run(&mut reader, "commit");
}

/// The lock on a row at which the table is locked instead has been waited for: its entry, which was
/// read before and is not locked by itself any more, is read again.
#[test]
fn what_was_read_before_the_table_was_locked_is_read_again() {
    let instance = made();
    let (mut reader, mut other) = (session(&instance), session(&instance));
    // The first value is not there: one lock on the gap. Each other one takes a lock on the row and
    // one on its entry, so that the 5,000th is that on the row of the 2,500th.
    run(
        &mut reader,
        "create table e (id int primary key, u int not null, v int not null)
         create unique index by_u on e (u)
         insert e select value, value * 10, 1 from generate_series(1, 3000)
         create table g (n int primary key, u int not null)
         insert g values (0, 15), (1, 10)
         insert g select value, value * 10 + 10 from generate_series(2, 2600)",
    );
    assert_eq!(run(&mut other, "begin tran select v from e with (xlock) where id = 2501"), "1");
    let read = "select count(*), sum(e.v) from g inner loop join e with (holdlock, index(by_u)) on e.u = g.u
                option (force order)";
    let reading = std::thread::spawn(move || run(&mut reader, read));
    let waits = "select count(*) from sys.dm_tran_locks where request_status = 'WAIT'";
    let end = Instant::now() + Duration::from_secs(60);
    while run(&mut other, waits) == "0" {
        assert!(Instant::now() < end, "nobody waits for the row");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(run(&mut other, "update e set u = 25005 where id = 2501 commit"), "(1)");
    assert_eq!(reading.join().expect("it reads"), "2599|2599");
}

/// A condition on entries that asks for a variable which the statement sets may reject an entry
/// when it is locked and accept it later: the row behind it is locked all the same. The last two
/// entries are locked together, and the first of their rows is so long that it is given alone.
#[test]
fn a_row_that_a_variable_lets_in_is_locked() {
    let instance = made();
    let (mut reader, mut other) = (session(&instance), session(&instance));
    run(
        &mut reader,
        "create table w (id int primary key, k int not null, v int not null, long varchar(max))
         create index by_k on w (k)
         insert w values (1, 10, 30, 'x'), (2, 20, 0, replicate(cast('x' as varchar(max)), 200000)),
                         (3, 30, 1, 'x')",
    );
    let read = "declare @x int = 0
                select @x = v + 0 * len(long) from w with (holdlock, index(by_k))
                where k >= 0 and k + 0 <> @x
                select @x";
    assert_eq!(run(&mut reader, read), "1");
    assert_eq!(run(&mut other, "begin tran update w set v = 777 where id = 3"), "(1)");
    assert!(run(&mut reader, &format!("set lock_timeout 30 {read}")).starts_with(TIMEOUT));
    run(&mut other, "rollback");
    assert_eq!(run(&mut reader, read), "1");
}

/// What a subquery names is sought under locks as without them, and only that is locked.
#[test]
fn values_of_a_subquery_are_sought() {
    let instance = made();
    let mut reader = session(&instance);
    run(
        &mut reader,
        "create table few (id int not null) insert few values (3), (700), (19999), (3)",
    );
    for (hint, locked) in [
        ("", 0),
        ("with (holdlock)", 3),
        ("with (repeatableread)", 3),
        ("with (readcommittedlock)", 0),
        ("with (updlock)", 3),
        ("with (xlock)", 3),
        ("with (holdlock, updlock)", 3),
    ] {
        let query =
            format!("select count(*), sum(k) from t {hint} where id in (select id from few)");
        run(&mut reader, "set showplan_text on");
        let shown = run(&mut reader, &query);
        run(&mut reader, "set showplan_text off");
        assert!(shown.contains("Nested Loops(Inner Join"), "{query}: {shown}");
        let locks = "select count(*) from sys.dm_tran_locks where resource_type = 'KEY' rollback";
        let said = run(&mut reader, &format!("begin tran {query} {locks}"));
        assert_eq!(said, format!("3|102\n{locked}"), "{query}");
    }
}

/// Entries that are locked come by their keys, as others do, and are grouped as they come.
#[test]
fn locked_entries_come_in_the_order_of_their_keys() {
    let instance = made();
    let mut reader = session(&instance);
    for (query, operator) in [
        ("select k, count(*) from t group by k", "Stream Aggregate"),
        ("select k, count(*) from t with (holdlock) group by k", "Stream Aggregate"),
        ("select k, count(*) from t with (repeatableread) group by k", "Stream Aggregate"),
        // Each is read in a moment of its own.
        ("select k, count(*) from t with (readcommittedlock) group by k", "Hash Match"),
    ] {
        run(&mut reader, "set showplan_text on");
        let shown = run(&mut reader, query);
        run(&mut reader, "set showplan_text off");
        assert!(shown.contains(operator), "{query}: {shown}");
        let sorted = |said: String| {
            let mut lines: Vec<&str> = said.lines().collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        let plain = query.replace("with (holdlock)", "").replace("with (repeatableread)", "");
        let rows = sorted(run(&mut reader, query));
        assert_eq!(rows, sorted(run(&mut reader, &plain)), "{query}");
        assert!(!rows.is_empty());
    }
}

/// Where no gaps are locked a scan goes from leaf to leaf, as one without locks does.
#[test]
fn a_scan_without_gaps_reads_each_page_once() {
    let instance = made();
    let mut reader = session(&instance);
    let mut reads = |hints: &str| -> u64 {
        let query = format!("select count(*) from t with ({hints}) where v = 'none'");
        let said = run(&mut reader, &format!("set statistics io on {query} set statistics io off"));
        let count = said.split("logical reads ").nth(1).and_then(|rest| rest.split(',').next());
        count.and_then(|count| count.parse().ok()).expect("how many pages are read")
    };
    for index in ["index(1)", "index(k)"] {
        // The first one may measure statistics.
        reads(index);
        let plain = reads(index);
        assert!(plain > 40, "{index}: {plain} pages");
        for locks in ["holdlock", "readcommittedlock", "repeatableread", "tablock, holdlock"] {
            let locked = reads(&format!("{index}, {locks}"));
            assert!(locked <= plain + 8, "{index}, {locks}: {locked} pages instead of {plain}");
        }
    }
}

/// The largest key is found, and locked, without the others: who numbers rows by it keeps nobody
/// from those that are there.
#[test]
fn the_largest_key_is_locked_alone() {
    let instance = made();
    let (mut reader, mut other) = (session(&instance), session(&instance));
    run(&mut other, "set lock_timeout 30");
    for (aggregate, hint, found) in [
        ("max(id)", "updlock, holdlock", "20000"),
        ("max(id)", "holdlock", "20000"),
        ("min(id)", "holdlock", "1"),
        ("max(id)", "repeatableread", "20000"),
        ("max(id)", "updlock", "20000"),
        ("max(id)", "xlock", "20000"),
        ("min(id)", "updlock", "1"),
        ("max(k)", "xlock, holdlock, index(k)", "99"),
        ("max(k)", "updlock, index(k)", "99"),
        ("max(k)", "xlock, index(k)", "99"),
        ("min(k)", "updlock, index(k)", "0"),
    ] {
        let read = format!("begin tran select {aggregate} from t with ({hint})");
        assert_eq!(run(&mut reader, &read), found, "{hint}");
        let locks = "select iif(count(*) between 1 and 9, 'few', concat(count(*), ' locks'))
                     from sys.dm_tran_locks where resource_type = 'KEY'";
        assert_eq!(run(&mut reader, locks), "few", "{aggregate}, {hint}");
        assert_eq!(
            run(&mut other, "update t set v = 'w' where id = 50"),
            "(1)",
            "{aggregate}, {hint}"
        );
        // The row itself stays, and with range locks none comes beyond it.
        if aggregate == "max(id)" {
            assert_eq!(run(&mut other, "delete t where id = 20000"), TIMEOUT, "{hint}");
            let insert = "begin tran insert t values (20001, 1, 'v') rollback";
            let kept = hint.contains("holdlock");
            assert_eq!(run(&mut other, insert).contains("1222"), kept, "{hint}");
        }
        run(&mut reader, "commit");
        run(&mut other, "if @@trancount > 0 rollback");
    }
}

/// Two sessions number rows by the largest key under UPDLOCK alone, the second one while the first
/// is about to: it gets the number behind that of the first, though it has waited for a row that is
/// not the last one any more.
#[test]
fn who_waited_for_the_largest_key_gets_a_newer_one() {
    let instance = made();
    let (mut first, mut second) = (session(&instance), session(&instance));
    run(
        &mut first,
        "create table n (id int primary key, v int not null, k int not null)
         create index by_k on n (k)
         insert n select value, 0, value from generate_series(1, 300)",
    );
    for (column, lock) in [
        ("id", "updlock"),
        ("id", "xlock"),
        ("id", "updlock, holdlock"),
        ("k", "updlock, index(by_k)"),
        ("k", "xlock, index(by_k)"),
    ] {
        run(&mut first, "delete n where id > 300");
        let read = format!("select max({column}) from n with ({lock})");
        assert_eq!(run(&mut first, &format!("begin tran {read}")), "300", "{lock}");
        let waiting = std::thread::spawn(move || {
            let found = run(&mut second, &read);
            (found, second)
        });
        let waits = "select count(*) from sys.dm_tran_locks where request_status = 'WAIT'";
        let end = Instant::now() + Duration::from_secs(60);
        while run(&mut first, waits) == "0" {
            assert!(Instant::now() < end, "{lock}: nobody waits");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(run(&mut first, "insert n values (301, 0, 301) commit"), "(1)", "{lock}");
        let (found, session) = waiting.join().expect("it reads");
        assert_eq!(found, "301", "{lock}");
        second = session;
    }
}

/// What the read cannot test it does not know the largest key for: all rows are locked, in the
/// order in which both sessions come to them.
#[test]
fn who_waited_for_the_largest_key_of_a_subquery_gets_a_newer_one() {
    let instance = made();
    let (mut first, mut second) = (session(&instance), session(&instance));
    run(
        &mut first,
        "create table n (id int primary key, v int not null)
         create table flags (x int not null) insert flags values (0)
         insert n select value, 0 from generate_series(1, 300)",
    );
    let read = "select max(id) from n with (updlock) where v % 2 = (select min(x) from flags)";
    assert_eq!(run(&mut first, &format!("begin tran {read}")), "300");
    // Nobody has locked it, and nobody wants it.
    assert_eq!(run(&mut session(&instance), "insert n values (302, 1)"), "(1)");
    let waiting = std::thread::spawn(move || run(&mut second, read));
    let waits = "select count(*) from sys.dm_tran_locks where request_status = 'WAIT'";
    let end = Instant::now() + Duration::from_secs(60);
    while run(&mut first, waits) == "0" {
        assert!(Instant::now() < end, "nobody waits");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(run(&mut first, "insert n values (301, 0) commit"), "(1)");
    assert_eq!(waiting.join().expect("it reads"), "301");
}

//! Sessions whose answers are held back until the log is durable, as a server does it: one wait for
//! all commits of a message; what a client was told is there after a power failure at any I/O, and
//! of what it was not told the beginning in its order; what is seen outside of an answer does not
//! wait for it.

use engine::{Instance, InstanceOptions, ResultRows, Session, Sink, SqlError, Value};
use sim::{Fault, OpKind, SimDisk};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows, the first error, and the disk as a power failure would leave it when a message comes.
#[derive(Default)]
struct Collector<'d> {
    rows: Vec<Vec<Value>>,
    error: Option<SqlError>,
    disk: Option<&'d SimDisk>,
    left: Option<SimDisk>,
}

impl Sink for Collector<'_> {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.rows.push(row.to_vec());
            Ok(())
        })
    }
    fn message(&mut self, _: &SqlError) -> Result<(), SqlError> {
        self.left = self.disk.map(|disk| disk.crash_keeping(|_| false));
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert_with(|| error.clone());
        Ok(())
    }
}

fn open(disk: &SimDisk) -> Result<Arc<Instance>, SqlError> {
    let options = InstanceOptions {
        memory_bytes: Some(8 << 20),
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    Instance::open(options).map_err(|e| SqlError::new(17_113, 16, 1, e.to_string()))
}

fn run(session: &mut Session, batch: &str) -> Result<Vec<Vec<Value>>, SqlError> {
    let mut collector = Collector::default();
    session.execute(batch, &mut collector);
    collector.error.map_or(Ok(collector.rows), Err)
}

fn number(session: &mut Session, query: &str) -> i64 {
    run(session, query).unwrap()[0][0].as_i64().unwrap_or_default()
}

const CREATE: &str = "create database d on (name = d, filename = 'd.mdf', size = 4MB) \
                      log on (name = l, filename = 'd.ldf', size = 2MB)";

/// A disk with a database d with a table t, and its instance.
fn with_table(seed: u64) -> (SimDisk, Arc<Instance>) {
    let disk = SimDisk::new(seed);
    let instance = open(&disk).unwrap();
    let mut session = instance.session().unwrap();
    run(&mut session, CREATE).unwrap();
    run(&mut session, "use d create table t (n int not null primary key)").unwrap();
    (disk, instance)
}

fn session_in(instance: &Arc<Instance>, held: bool) -> Session {
    let mut session = instance.session().unwrap();
    run(&mut session, "use d").unwrap();
    if held {
        session.hold_answers();
    }
    session
}

/// Rows of t after a power failure.
fn rows_left(disk: &SimDisk) -> i64 {
    let instance = open(disk).unwrap();
    number(&mut instance.session().unwrap(), "select count(*) from d..t")
}

const LOOP: &str = "declare @n int = (select coalesce(max(n), 0) from t) declare @end int = @n + 100 \
                    while @n < @end begin set @n += 1 insert t values (@n) end";

#[test]
fn one_wait_for_all_commits_of_a_message() {
    let (_disk, instance) = with_table(1);
    let waits = "select waiting_tasks_count from sys.dm_os_wait_stats where wait_type = 'WRITELOG'";
    let mut watcher = session_in(&instance, false);
    let mut count = |session: &mut Session, batch: &str| {
        let before = number(&mut watcher, waits);
        run(session, batch).unwrap();
        session.settle().unwrap();
        number(&mut watcher, waits) - before
    };
    assert!(count(&mut session_in(&instance, false), LOOP) >= 90, "each commit waits by itself");
    let mut held = session_in(&instance, true);
    // One, or none where the thread for delayed commits was there before; a checkpoint has some.
    assert!(count(&mut held, LOOP) <= 3);
    run(
        &mut held,
        "create procedure p as begin tran; insert t values (-1); commit; exec('delete t where n = -1')",
    )
    .unwrap();
    assert!(count(&mut held, "exec p; exec p; exec p") <= 3);
    // Its own temporary tables and table variables make it wait no earlier.
    run(&mut held, "create table #own (n int)").unwrap();
    let own = "declare @v table (n int); declare @n int = 0; \
               while @n < 50 begin set @n += 1; update t set n = -n where n = @n; \
               insert #own values (@n); insert @v values (@n); end; update t set n = -n where n < 0";
    assert!(count(&mut held, own) <= 3);
    let shared = "create table ##all (n int); declare @n int = 0; \
                  while @n < 50 begin set @n += 1; update t set n = -n where n = @n; \
                  insert ##all values (@n); end; update t set n = -n where n < 0";
    assert!(count(&mut held, shared) >= 40, "others can read what is there");
    assert!(!held.before_answer().is_owed());
    assert_eq!(number(&mut held, "select @@trancount"), 0);
    assert_eq!(number(&mut held, "select count(*) from t"), 200);
}

#[test]
fn what_is_seen_outside_of_the_answer_does_not_wait_for_it() {
    for (at, batch) in [
        "insert t values (1); waitfor delay '0:00:00'; print ''",
        "insert t values (1); raiserror('seen', 0, 1) with log",
        "insert t values (1); exec sp_flush_log; print ''",
        "insert t values (1); create table u (n int); print ''",
        "create table u (n int); insert t values (1); drop table u; print ''",
        "insert t values (1); exec sp_getapplock 'a', 'Exclusive', 'Session'; print ''",
        "insert t values (1); insert e..t values (1); print ''",
        "create table ##g (n int); insert t values (1); insert ##g select n from t; print ''",
        "begin tran; insert t values (1); insert e..t values (1); commit; print ''",
    ]
    .into_iter()
    .enumerate()
    {
        let (disk, instance) = with_table(10 + at as u64);
        let mut session = session_in(&instance, false);
        run(&mut session, "create database e").unwrap();
        run(&mut session, "create table e.dbo.t (n int)").unwrap();
        session.hold_answers();
        let mut seen = Collector { disk: Some(&disk), ..Collector::default() };
        session.execute(batch, &mut seen);
        assert!(seen.error.is_none(), "{batch}: {:?}", seen.error);
        assert_eq!(rows_left(&seen.left.expect("a message")), 1, "{batch}");
    }
}

/// Who gets an application lock that another session had finds durable what that has committed,
/// also in another database than the lock's.
#[test]
fn who_gets_an_application_lock_follows_what_is_durable() {
    let get = |owner: &str| format!("exec sp_getapplock 'a', 'Exclusive', '{owner}'");
    for (at, (database, held)) in
        [("d", true), ("e", true), ("d", false), ("e", false)].into_iter().enumerate()
    {
        for of_session in [false, true] {
            let (disk, instance) = with_table(80 + at as u64);
            let mut first = session_in(&instance, false);
            run(&mut first, "create database e").unwrap();
            run(&mut first, &format!("use {database}")).unwrap();
            if held {
                first.hold_answers();
            }
            if of_session {
                run(&mut first, &get("Session")).unwrap();
                run(&mut first, "insert d..t values (1)").unwrap();
                first.reset(&mut Collector::default()).unwrap();
            } else {
                let batch =
                    format!("begin tran {} insert d..t values (1) commit", get("Transaction"));
                run(&mut first, &batch).unwrap();
            }
            let mut seen = Collector { disk: Some(&disk), ..Collector::default() };
            let batch = format!("use {database} {} print ''", get("Session"));
            instance.session().unwrap().execute(&batch, &mut seen);
            assert!(seen.error.is_none(), "{:?}", seen.error);
            let left = rows_left(&seen.left.expect("a message"));
            assert_eq!(left, 1, "{database}, held: {held}, of the session: {of_session}");
        }
    }
}

/// Locks are given back, and rows of tempdb are free, when what the transaction has written
/// elsewhere is durable, in whichever order the databases were used.
#[test]
fn what_is_to_last_is_committed_first() {
    let (disk, instance) = with_table(90);
    let mut first = session_in(&instance, false);
    run(&mut first, "create database e create table ##g (n int)").unwrap();
    run(&mut first, "use e").unwrap();
    let hold = disk.hold_writes(Path::new("/data/d.ldf"));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let batch = "begin tran exec sp_getapplock 'a', 'Exclusive' insert ##g values (1) \
                         insert d..t values (1) commit";
            run(&mut first, batch).unwrap();
        });
        hold.wait_for_writer();
        // Dropped on the way out of a failure too: the other thread waits for it.
        let hold = hold;
        let mut second = instance.session().unwrap();
        let seen = number(&mut second, "select count(*) from ##g");
        let get =
            "use e declare @r int exec @r = sp_getapplock 'a', 'Exclusive', 'Session', 0 select @r";
        let got = number(&mut second, get);
        drop(hold);
        assert_eq!((seen, got), (0, -1));
    });
}

/// What others have done is told by a count of no rows and by an error, as by a row that is read:
/// an UPDATE, DELETE or INSERT that changes nothing because of a commit waits for that commit.
#[test]
fn a_statement_that_changes_nothing_waits_for_what_it_has_seen() {
    let of_s = "select count(*) from d..s where v = 1";
    for (at, (other, batch, left)) in [
        ("update s set v = 1", "update s set v = 2 where n = 1 and v = 0; print ''", of_s),
        ("update s set v = 1", "update s set w = 'b' where v = 0; print ''", of_s),
        ("update s set v = 1", "delete s where v = 0; print ''", of_s),
        (
            "update s set v = 1",
            "begin tran; update s set v = 2 where v = 0; print ''; rollback",
            of_s,
        ),
        (
            "delete t where n = 5",
            "delete t where n = 5; print ''",
            "select 1 - count(*) from d..t where n = 5",
        ),
        ("insert i values (1)", "insert i values (1); print ''", "select count(*) from d..i"),
        // The error has the value.
        (
            "update s set v = 1, w = 'x'",
            "begin tran; begin try if (select cast(w as int) from s) = 1 set nocount off end try \
             begin catch print error_message() end catch; rollback",
            of_s,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let (disk, instance) = with_table(60 + at as u64);
        let mut first = session_in(&instance, false);
        run(&mut first, "create table s (n int primary key, v int not null, w varchar(9))")
            .unwrap();
        run(&mut first, "create table i (n int primary key with (ignore_dup_key = on))").unwrap();
        run(&mut first, "insert s values (1, 0, 'a') insert t values (5)").unwrap();
        first.hold_answers();
        run(&mut first, other).unwrap();
        let mut second = session_in(&instance, false);
        let mut seen = Collector { disk: Some(&disk), ..Collector::default() };
        second.execute(batch, &mut seen);
        assert!(seen.error.is_none(), "{batch}: {:?}", seen.error);
        let again = open(&seen.left.expect("a message")).unwrap();
        assert_eq!(number(&mut again.session().unwrap(), left), 1, "{batch}");
    }
}

/// That a row was changed tells that it was there, and that one was added that none was: a
/// transaction's commit covers what it has told so, and its rollback waits for it.
#[test]
fn a_rollback_waits_for_what_its_statements_have_told() {
    let of_s = "select count(*) from d..s where v = 1";
    let of_t = "select 1 - count(*) from d..t where n = 5";
    for (at, (other, batch, left)) in [
        ("update s set v = 1", "begin tran; update s set v = v + 1 where n = 1; rollback", of_s),
        ("update s set v = 1", "begin tran a; delete s where w = 'a'; rollback tran a", of_s),
        ("delete t where n = 5", "begin tran; insert t values (5); rollback", of_t),
        (
            "update s set v = 1",
            "begin tran; save tran p; update s set v = v + 1; rollback tran p; commit",
            of_s,
        ),
        (
            "update s set v = 1",
            "set xact_abort on; begin tran; update s set v = v + 1; throw 50000, 'ends', 1",
            of_s,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let (disk, instance) = with_table(120 + at as u64);
        let mut first = session_in(&instance, false);
        run(&mut first, "create table s (n int primary key, v int not null, w varchar(9))")
            .unwrap();
        run(&mut first, "insert s values (1, 0, 'a') insert t values (5)").unwrap();
        first.hold_answers();
        run(&mut first, other).unwrap();
        let mut second = session_in(&instance, false);
        let mut told = Collector::default();
        second.execute(batch, &mut told);
        let ends = told.error.map(|error| error.number);
        assert_eq!(ends, batch.contains("throw").then_some(50_000), "{batch}");
        let again = open(&disk.crash_keeping(|_| false)).unwrap();
        assert_eq!(number(&mut again.session().unwrap(), left), 1, "{batch}");
    }
}

/// A bulk load whose rows are all there already changes nothing either.
#[test]
fn a_bulk_load_of_duplicates_waits_for_what_it_has_seen() {
    struct Row(bool);
    impl engine::BulkRows for Row {
        fn next(&mut self, row: &mut [Value]) -> Result<bool, SqlError> {
            row[0] = Value::Int(1);
            Ok(std::mem::take(&mut self.0))
        }
    }
    let (disk, instance) = with_table(75);
    let mut first = session_in(&instance, false);
    run(&mut first, "create table i (n int primary key with (ignore_dup_key = on))").unwrap();
    first.hold_answers();
    run(&mut first, "insert i values (1)").unwrap();
    let mut second = session_in(&instance, false);
    let loaded = second.bulk_insert("i", &["n"], &engine::BulkOptions::default(), &mut Row(true));
    assert_eq!(loaded.unwrap(), 0);
    let again = open(&disk.crash_keeping(|_| false)).unwrap();
    assert_eq!(number(&mut again.session().unwrap(), "select count(*) from d..i"), 1);
}

/// The same for a statement that was prepared, which runs without the interpreter.
#[test]
fn a_prepared_statement_that_changes_nothing_waits_for_what_it_has_seen() {
    let (disk, instance) = with_table(70);
    let mut first = session_in(&instance, false);
    run(&mut first, "create table s (n int primary key, v int not null) insert s values (1, 0)")
        .unwrap();
    let mut second = session_in(&instance, false);
    let change = second.prepare("update s set v = v + 2 where n = 1 and v = 0", &[]).unwrap();
    for round in 1..4 {
        run(&mut first, "update s set v = 0").unwrap();
        first.settle().unwrap();
        first.hold_answers();
        run(&mut first, "update s set v = 1").unwrap();
        let mut told = Collector::default();
        second.execute_prepared(&change, &[], &mut told).unwrap();
        let again = open(&disk.crash_keeping(|_| false)).unwrap();
        let left = number(&mut again.session().unwrap(), "select v from d..s");
        assert_eq!(left, 1, "round {round}");
        first.settle().unwrap();
    }
}

/// A database fails while a session still owes the wait for a commit in it, and goes offline and
/// comes back before the answer leaves: what is told is there, and nothing of the old log reaches
/// the new one.
#[test]
fn a_failed_database_that_is_reopened_has_what_is_told() {
    for (at, back) in
        ["alter database d set offline alter database d set online", "alter database d set online"]
            .into_iter()
            .enumerate()
    {
        let (disk, instance) = with_table(100 + at as u64);
        let mut held = instance.session().unwrap();
        held.hold_answers();
        run(&mut held, "insert d..t values (1)").unwrap();
        let failed = instance.database("d").unwrap().storage().unwrap();
        let cause = pages::PageError::Offline { cause: "a test".into() };
        failed.fail("a test", &cause.into());
        drop(failed);
        let mut other = instance.session().unwrap();
        run(&mut other, back).unwrap();
        run(&mut other, "insert d..t values (2)").unwrap();
        let told = held.settle().is_ok();
        run(&mut other, "insert d..t values (3) dbcc checkdb (d) with no_infomsgs").unwrap();
        for instance in [instance, open(&disk.crash_keeping(|_| false)).unwrap()] {
            let mut session = instance.session().unwrap();
            let found = |session: &mut Session, n| {
                number(session, &format!("select count(*) from d..t where n = {n}"))
            };
            assert!(found(&mut session, 1) == 1 || !told, "{back}: it was told");
            assert_eq!(found(&mut session, 2) + found(&mut session, 3), 2, "{back}");
        }
    }
}

/// A session that stays in a database while that fails and is opened again goes on in the new one:
/// neither what it keeps for its next transaction nor for its next wait is of the old one.
#[test]
fn who_stays_in_a_database_that_is_reopened_goes_on_in_it() {
    for held in [false, true] {
        let (disk, instance) = with_table(50 + u64::from(held));
        let mut session = session_in(&instance, held);
        for n in 1..4 {
            run(&mut session, &format!("insert t values ({n})")).unwrap();
            session.settle().unwrap();
        }
        let failed = instance.database("d").unwrap().storage().unwrap();
        let cause = pages::PageError::Offline { cause: "a test".into() };
        failed.fail("a test", &cause.into());
        drop(failed);
        run(&mut instance.session().unwrap(), "alter database d set online").unwrap();
        for n in 4..7 {
            run(&mut session, &format!("insert t values ({n})")).unwrap();
            assert_eq!(session.before_answer().is_owed(), held);
            session.settle().unwrap();
            assert_eq!(rows_left(&disk.crash_keeping(|_| false)), n, "it was told");
        }
    }
}

#[test]
fn nothing_is_told_after_a_failed_flush() {
    let (disk, instance) = with_table(30);
    let mut session = session_in(&instance, true);
    run(&mut session, "insert t values (1)").unwrap();
    session.settle().unwrap();
    disk.fail_on(Path::new("/data/d.ldf"), OpKind::Any, 1, Fault::Io);
    // The first to flush is the session itself, in the middle of its batch: the wait at the end
    // fails too.
    let failed = run(&mut session, "insert t values (2); waitfor delay '0:00:00'; print ''");
    assert!(failed.is_err_and(|error| error.severity >= 20));
    for _ in 0..2 {
        assert!(session.settle().is_err(), "a later wait may not pass");
        assert!(session.before_answer().wait().is_err());
    }
    let mut other = instance.session().unwrap();
    let state = "select state_desc from sys.databases where name = 'd'";
    assert_eq!(run(&mut other, state).unwrap()[0][0].as_str(), Some("SUSPECT"));
    assert!(run(&mut other, "select n from d..t").is_err());
}

/// What the clients were told: of each, the rows of its own table, and of the first one's.
#[derive(Clone, Copy, Default)]
struct Told {
    own: i64,
    of_first: i64,
}

const CLIENTS: usize = 3;
/// The client that writes in one database alone: no other one makes it wait earlier.
const ALONE: usize = 2;
const ROWS: i64 = 6;

/// Messages of a client until the disk is gone: single statements that commit by themselves, in one
/// batch or in several, mostly in two databases; and a look at what another client has done.
fn talk(disk: &SimDisk, instance: &Arc<Instance>, client: usize, seed: u64) -> Told {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut told = Told::default();
    let Ok(mut session) = instance.session() else { return told };
    session.hold_answers();
    for message in 0..20 {
        let rows = message * ROWS + 1..=(message + 1) * ROWS;
        let mut batches = vec![String::new()];
        for n in rows.clone() {
            // Always the one database before the other.
            let mut text = format!("insert d..t{client} values ({n});\n");
            if client != ALONE {
                text.push_str(&format!("insert e..t{client} values ({n});\n"));
            }
            if random.bool() {
                batches.push(text);
            } else if let Some(last) = batches.last_mut() {
                last.push_str(&text);
            }
        }
        let look = "select coalesce(max(n), 0) from d..t0";
        let mut of_first = 0;
        let mut batches = batches.iter().filter(|batch| !batch.is_empty());
        let ran = batches.try_for_each(|batch| run(&mut session, batch).map(drop));
        let ran = ran.and_then(|()| run(&mut session, look)).map(|rows| {
            of_first = rows[0][0].as_i64().unwrap_or_default();
        });
        // The answer leaves.
        if let Err(error) = ran.and_then(|()| session.settle()) {
            assert!(disk.has_crashed(), "an error without a crash: {error:?}");
            break;
        }
        told = Told { own: *rows.end(), of_first };
    }
    told
}

fn crash_once(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let disk = SimDisk::new(seed);
    let instance = open(&disk).unwrap();
    let mut session = instance.session().unwrap();
    for name in ["d", "e"] {
        run(
            &mut session,
            &CREATE.replace(" d ", &format!(" {name} ")).replace("'d.", &format!("'{name}.")),
        )
        .unwrap();
        for client in 0..CLIENTS {
            run(
                &mut session,
                &format!("create table {name}..t{client} (n int not null primary key)"),
            )
            .unwrap();
        }
    }
    drop(session);
    disk.crash_at(disk.io_count() + random.u64(1..150));
    let told: Vec<Told> = std::thread::scope(|scope| {
        let talks: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (disk, instance) = (&disk, &instance);
                scope.spawn(move || talk(disk, instance, client, seed + client as u64))
            })
            .collect();
        talks.into_iter().map(|talk| talk.join().expect("a client")).collect()
    });
    drop(instance);
    let disk = disk.crash(seed);
    let instance =
        open(&disk).unwrap_or_else(|e| panic!("seed {seed}: open after the crash: {e:?}"));
    let mut session = instance.session().unwrap();
    let mut found = |table: &str| {
        let rows = run(&mut session, &format!("select count(*), coalesce(max(n), 0) from {table}"));
        let rows = rows.unwrap_or_else(|e| panic!("seed {seed}: {table}: {e:?}"));
        let (count, max) = (rows[0][0].as_i64().unwrap(), rows[0][1].as_i64().unwrap());
        assert_eq!(count, max, "seed {seed}: {table} has a hole");
        count
    };
    for (client, told) in told.iter().enumerate() {
        let first = found(&format!("d..t{client}"));
        let second = if client == ALONE { first } else { found(&format!("e..t{client}")) };
        assert!(
            second >= told.own,
            "seed {seed}: client {client} was told {}, has {second}",
            told.own
        );
        let ahead = first - second;
        assert!((0..=1).contains(&ahead), "seed {seed}: client {client} has {first} and {second}");
    }
    let first = found("d..t0");
    let shown = told.iter().map(|told| told.of_first).max().unwrap_or_default();
    assert!(first >= shown, "seed {seed}: somebody has seen {shown} rows, there are {first}");
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// `RINGWOOD_CRASH_SEEDS` and `RINGWOOD_CRASH_FROM` as for the test `crash`.
#[test]
fn power_loss_at_any_io() {
    let (from, seeds) = (setting("RINGWOOD_CRASH_FROM", 1), setting("RINGWOOD_CRASH_SEEDS", 30));
    for seed in from..from + seeds {
        if let Err(panic) = std::panic::catch_unwind(|| crash_once(seed)) {
            eprintln!("failing seed: {seed} (RINGWOOD_CRASH_FROM={seed} RINGWOOD_CRASH_SEEDS=1)");
            std::panic::resume_unwind(panic);
        }
    }
}

/// What is kept for the next message of a session is not taken for waited for.
#[test]
fn each_message_waits_for_its_own_commits() {
    let (disk, instance) = with_table(31);
    let mut session = session_in(&instance, true);
    for n in 1..6 {
        run(&mut session, &format!("insert t values ({n})")).unwrap();
        assert!(session.before_answer().is_owed());
        session.settle().unwrap();
        assert!(!session.before_answer().is_owed());
        assert_eq!(rows_left(&disk.crash_keeping(|_| false)), n, "it was told");
        if n == 3 {
            run(&mut session, "use master use d").unwrap();
        }
    }
}

/// Others may look at what a session owes; it becomes durable although the session does not wait.
#[test]
fn what_is_owed_becomes_durable_without_its_session() {
    let (disk, instance) = with_table(33);
    let log = Path::new("/data/d.ldf");
    let mut session = session_in(&instance, true);
    assert!(session.before_answer().owed().is_durable(), "there is nothing");
    let hold = disk.hold_writes(log);
    run(&mut session, "insert t values (1)").unwrap();
    let owed = session.before_answer().owed();
    assert!(!owed.is_durable(), "the disk writes nothing");
    drop(hold);
    let end = Instant::now() + Duration::from_secs(60);
    while !owed.is_durable() {
        assert!(Instant::now() < end, "nobody has flushed the log");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(rows_left(&disk.crash_keeping(|_| false)), 1);
    assert!(session.before_answer().is_owed(), "the session's own wait is still to come");
    session.settle().unwrap();
    disk.fail_on(log, OpKind::Any, 1, Fault::Io);
    run(&mut session, "insert t values (2)").unwrap();
    let owed = session.before_answer().owed();
    assert!(session.settle().is_err());
    assert!(!owed.is_durable());
    drop((session, instance));
    assert!(!owed.is_durable(), "nobody can tell");
}

/// The window of delayed commits may be a minute: nobody's answer is kept back for so long.
#[test]
fn what_is_owed_does_not_wait_for_a_long_window_of_delayed_commits() {
    let (disk, instance) = with_table(34);
    let window = "alter database d set delayed_durability = allowed (window_ms = 60000)";
    run(&mut instance.session().unwrap(), window).unwrap();
    let mut session = session_in(&instance, true);
    let end = Instant::now() + Duration::from_secs(30);
    for n in 1..4 {
        run(&mut session, &format!("insert t values ({n})")).unwrap();
        let owed = session.before_answer().owed();
        while !owed.is_durable() {
            assert!(Instant::now() < end, "nobody has flushed the log");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(rows_left(&disk.crash_keeping(|_| false)), n);
    }
}

//! What sessions keep between statements: temporary tables, changes of schema, savepoints, locks.
//! A session that wants too much of it gets an error, others work on, and all of it comes back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::limited::{MB, open, run, say};
use engine::Instance;
use memory::Clerk;

/// What a clerk holds, once it is at most so much, or as it is after some seconds.
fn held(instance: &Instance, clerk: Clerk, most: usize) -> usize {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let held = instance.memory().held(clerk);
        if held <= most || Instant::now() > end {
            return held;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What a clerk holds, once that has stood still for some rounds of the cleanup.
fn settled(instance: &Instance, clerk: Clerk) -> usize {
    let (mut held, mut since) = (instance.memory().held(clerk), Instant::now());
    let end = since + Duration::from_secs(20);
    while since.elapsed() < Duration::from_secs(3) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
        let now = instance.memory().held(clerk);
        if now != held {
            (held, since) = (now, Instant::now());
        }
    }
    held
}

/// Definitions of columns as `@columns`.
const COLUMNS: &str = "set nocount on declare @columns nvarchar(max) =
    (select string_agg(cast(concat('column_', value, ' int') as nvarchar(max)), ',') from generate_series(1, 1000)),
    @i int = 0, @s nvarchar(max) ";

/// Statements of one session that would keep several times the memory that there is, and the
/// error that each ends with.
const STATEMENTS: &[(&str, i32)] = &[
    (
        "set @s = (select string_agg(cast(concat('select top 0 * into #t', value, ' from d.dbo.wide ') as nvarchar(max)), '')
           from generate_series(1, 400))
         exec (@s)",
        701,
    ),
    (
        "set @s = concat('begin tran create table #t (', @columns, ')
           declare @i int = 0
           while @i < 1000 begin alter table #t add one_more int
             alter table #t drop column one_more set @i += 1 end')
         exec (@s)",
        701,
    ),
    (
        "begin tran
         while @i < 2000000 begin save tran a save tran b set @i += 1 end",
        701,
    ),
    (
        "set transaction isolation level repeatable read begin tran
         select count(*) from d.dbo.many",
        1204,
    ),
];

#[test]
fn what_a_session_keeps_ends_where_memory_does() {
    let instance = open(96);
    assert_eq!(say(&instance, "create database d alter database d set recovery simple"), "");
    let made = say(
        &instance,
        &format!(
            "{COLUMNS} set @s = concat('create table d.dbo.wide (', @columns, ')') exec (@s)
             create table d.dbo.many (n int primary key)
             alter table d.dbo.many set (lock_escalation = disable)
             insert d.dbo.many select value from generate_series(1, 300000)"
        ),
    );
    assert_eq!(made, "");
    for (sql, number) in STATEMENTS {
        let mut session = instance.session().expect("a session");
        let said = run(&mut session, &format!("{COLUMNS} {sql}"));
        assert!(
            said.contains(&format!("Msg {number}:")),
            "{sql}\n{}",
            said.chars().take(300).collect::<String>()
        );
        // It holds what it has; others find room.
        let other = say(
            &instance,
            "create table #t (a int) insert #t values (1) begin tran save tran s select max(a) from #t",
        );
        assert_eq!(other, "(1)\n1", "beside {sql}");
        drop(session);
        for clerk in [Clerk::Sessions, Clerk::Locks] {
            assert_eq!(held(&instance, clerk, 0), 0, "{clerk:?} after {sql}");
        }
        say(&instance, "dbcc freeproccache with no_infomsgs");
        assert_eq!(held(&instance, Clerk::TemporaryTables, 0), 0, "after {sql}");
    }
}

#[test]
fn a_savepoint_of_the_same_name_takes_the_place_of_the_last() {
    let instance = open(96);
    let said = say(
        &instance,
        "set nocount on create table #t (n int) declare @i int = 0
         begin tran insert #t values (1) save tran a insert #t values (2)
         while @i < 200000 begin save tran s insert #t values (3) rollback tran s set @i += 1 end
         save tran s insert #t values (4) save tran s insert #t values (5) rollback tran s
         select sum(n) from #t rollback tran a select sum(n) from #t rollback",
    );
    assert_eq!(said, "7\n1");
    assert_eq!(held(&instance, Clerk::Sessions, 0), 0);
}

#[test]
fn temporary_tables_that_are_gone_leave_nothing() {
    let instance = open(96);
    let mut session = instance.session().expect("a session");
    let turn = "set nocount on declare @i int = 0
        while @i < 300 begin create table #t (n int primary key, v varchar(max)) insert #t values (1, 'a')
          drop table #t set @i += 1 end";
    assert_eq!(run(&mut session, turn), "");
    let before = settled(&instance, Clerk::Definitions);
    let storage = held(&instance, Clerk::Storage, MB);
    for _ in 0..3 {
        assert_eq!(run(&mut session, turn), "");
    }
    assert_eq!(instance.memory().held(Clerk::Definitions), before, "no word of 900 tables is left");
    assert!(held(&instance, Clerk::Storage, storage + 64 * 1024) <= storage + 64 * 1024);
}

#[test]
fn definitions_locks_and_units_are_told_of() {
    let instance = open(128);
    let of = |clerk| instance.memory().held(clerk);
    let (definitions, storage) = (of(Clerk::Definitions), of(Clerk::Storage));
    assert!(definitions > 0 && storage > 0);
    let made = say(
        &instance,
        &format!(
            "{COLUMNS} set @s = concat('create table wide (', @columns, ')') exec (@s)
             exec ('create table long (n int primary key, v char(4000))
             insert long select value, '''' from generate_series(1, 5000)')"
        ),
    );
    assert_eq!(made, "");
    assert!(of(Clerk::Definitions) > definitions + 200_000, "a table of 1,000 columns");
    assert!(of(Clerk::Storage) > storage + 5000 / 16 * 8, "extents of a table of 20 MB");
    let mut session = instance.session().expect("a session");
    let said = run(
        &mut session,
        "set transaction isolation level repeatable read begin tran
         select count(*) from long where n < 2000
         select 1 from sys.dm_os_memory_clerks where type = 'OBJECTSTORE_LOCK_MANAGER' and pages_kb > 400",
    );
    assert_eq!(said, "1999\n1");
    run(&mut session, "commit");
    assert_eq!(of(Clerk::Locks), 0);
    assert_eq!(say(&instance, "drop table wide, long"), "");
    assert_eq!(of(Clerk::Definitions), definitions);
}

#[test]
fn a_batch_of_rows_is_small() {
    /// What was charged for values when the first row came.
    struct First(Arc<Instance>, Option<usize>);
    impl engine::Sink for First {
        fn rows(&mut self, rows: &engine::ResultRows<'_>) -> Result<(), engine::SqlError> {
            rows.each(|_| {
                self.1.get_or_insert_with(|| self.0.memory().held(Clerk::QueryExecution));
                Ok(())
            })
        }
        fn error(&mut self, error: &engine::SqlError) -> Result<(), engine::SqlError> {
            panic!("{error}")
        }
    }
    let instance = open(96);
    let mut session = instance.session().expect("a session");
    let made = run(
        &mut session,
        "set nocount on create table t (n int primary key, v varchar(max))
         insert t select value, replicate(cast('x' as varchar(max)), 50000) from generate_series(1, 100)",
    );
    assert_eq!(made, "");
    for sql in ["select v from t", "select v + 'y' from t"] {
        let mut first = First(instance.clone(), None);
        session.execute(sql, &mut first);
        let held = first.1.expect("a row");
        assert!(held <= 768 * 1024, "{sql}: {held} bytes wait for whoever takes the rows");
    }
}

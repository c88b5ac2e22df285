//! What a statement allocates is metered on its thread, by the allocator of this test program: what
//! nobody charges is found, and long statements of every kind do not seem to hold what they have
//! long handed on.

extern crate ringwood_engine as engine;

#[path = "it/support/limited.rs"]
mod limited;
#[path = "it/support/text.rs"]
mod text;

use engine::{BulkOptions, Instance, InstanceOptions, Session, SqlError, Value};
use limited::{MB, run};
use memory::Clerk;
use std::path::Path;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: disk::CountingAllocator = disk::CountingAllocator;

/// An instance on a real disk (a simulated one would be memory of the statement's thread), whose
/// database d has a table of numbers.
fn open(folder: &Path, megabytes: usize) -> (Arc<Instance>, Session) {
    let options = InstanceOptions {
        process_bytes: Some((megabytes * MB) as u64),
        ..InstanceOptions::new(folder)
    };
    let instance = Instance::open(options).expect("the instance opens");
    let mut session = instance.session().expect("a session");
    let said = run(
        &mut session,
        "create database d on (name = d, filename = 'd.mdf', size = 64MB)
           log on (name = l, filename = 'd.ldf', size = 64MB)
         alter database d set recovery simple",
    );
    assert_eq!(said, "");
    session.use_database("d").expect("it is there");
    let said = run(
        &mut session,
        "set nocount on create table t (i int primary key, k int, s varchar(100))
         create table u (i int primary key, s varchar(200), index k (s))
         ;with d as (select v from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) x(v))
         insert t select a.v + 10 * b.v + 100 * c.v + 1000 * e.v + 10000 * f.v, a.v, replicate('x', 100)
         from d a, d b, d c, d e, d f",
    );
    assert_eq!(said, "");
    (instance, session)
}

/// Statements that allocate, hand on and free much more than they hold at their end.
const LONG: &[&str] = &[
    "insert u select i, concat(s, i) from t",
    "update u set s = concat('y', i)",
    "begin tran update u set s = concat('z', i) delete u where i % 2 = 0 rollback",
    "create index n on u (s, i)",
    "merge u using t on t.i = u.i when matched then update set s = 'm' when not matched then insert values (t.i, 'n');",
    "declare @i int = 0 while @i < 1000 begin update u set s = concat('l', @i) where i = @i set @i += 1 end",
    "declare @i int = 0 while @i < 1000 begin begin tran update u set s = concat('l', @i) where i = @i commit set @i += 1 end",
    "select count(*) from (select top (100) percent a.s, row_number() over (partition by a.k order by a.s) n from t a) x",
    "select top (1) a.s from t a join t b on a.i = b.i order by b.s, a.i desc",
    "declare @i int, @s varchar(200) declare c cursor for select i, s from u open c fetch c into @i, @s
     while @@fetch_status = 0 fetch c into @i, @s close c deallocate c",
    "declare @i int = 0 while @i < 300 begin create table #t (i int primary key, s varchar(50)) insert #t select top (10) i, 'a' from t drop table #t set @i += 1 end",
    "declare @i int = 0 while @i < 2000 begin declare @q nvarchar(200) = concat('select top (1) i from t where i = ', @i) exec sp_executesql @q set @i += 1 end",
    "alter table u add c int not null default 5",
    "backup database d to disk = 'b.bak'",
    "dbcc checkdb (d)",
    "delete u",
];

#[test]
fn long_statements_do_not_seem_to_hold_what_they_have_handed_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (instance, mut session) = open(folder.path(), 256);
    for sql in LONG {
        let before = disk::thread_holds();
        let said = run(&mut session, sql);
        assert!(!said.contains("Msg"), "{sql}\n{said}");
        // Plans and blocks of the log are counted where they are kept.
        let kept: usize = [Clerk::Plans, Clerk::ModulePlans, Clerk::Log]
            .iter()
            .map(|c| instance.memory().held(*c))
            .sum();
        let grown = disk::thread_holds() - before;
        assert!(
            grown.unsigned_abs() < 4 * MB + kept,
            "{grown} bytes are left on the thread of {}",
            sql.chars().take(90).collect::<String>()
        );
        assert_eq!(instance.memory().held(Clerk::QueryExecution), 0, "{sql}");
    }
}

#[test]
fn what_nobody_charges_is_found_and_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (instance, mut session) = open(folder.path(), 64);
    // Compiling charges nothing by itself.
    let list = |rows: usize| {
        let rows: Vec<String> =
            (0..rows).map(|i| format!("({i}, 'text number {i} which is not short')")).collect();
        format!("select count(*) from (values {}) x(a, b)", rows.join(","))
    };
    assert_eq!(run(&mut session, &list(1000)), "1000");
    let said = run(&mut session, &list(400_000));
    assert!(said.contains("Msg 701:"), "{}", said.chars().take(300).collect::<String>());
    assert_eq!(run(&mut session, &list(1000)), "1000", "others find room afterwards");
    assert_eq!(instance.memory().held(Clerk::QueryExecution), 0);
}

/// Loads rows with a value of 1 MB each; the most that the thread held meanwhile.
fn most_of_a_load(session: &mut Session, table: &str, from: i32) -> isize {
    const ROWS: i32 = 60;
    let before = disk::thread_holds();
    let (mut next, mut most) = (0, 0isize);
    let mut rows = |row: &mut [Value]| -> Result<bool, SqlError> {
        most = most.max(disk::thread_holds() - before);
        if next == ROWS {
            return Ok(false);
        }
        let letter = char::from(b'a' + (next % 26) as u8).to_string();
        let values = [Value::Int(from + next), Value::Int(next % 7), Value::str(letter.repeat(MB))];
        row.clone_from_slice(&values);
        next += 1;
        Ok(true)
    };
    let loaded = session.bulk_insert(table, &[], &BulkOptions::default(), &mut rows);
    assert_eq!(loaded.expect("it loads"), ROWS as u64);
    most
}

/// Values outside their rows are no bytes of rows: what a load keeps of them for its indexes has a
/// bound of its own.
#[test]
fn a_load_keeps_few_large_values_for_its_indexes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_instance, mut session) = open(folder.path(), 64);
    let said = run(
        &mut session,
        "create table plain (i int primary key, k int, x varchar(max))
         create table indexed (i int primary key, k int, x varchar(max), index k (k))
         create table heap (i int, k int, x varchar(max), index k (k))",
    );
    assert_eq!(said, "");
    // Pages come into memory with the first rows.
    most_of_a_load(&mut session, "plain", 0);
    let plain = most_of_a_load(&mut session, "plain", 1000);
    for table in ["indexed", "heap"] {
        let kept = most_of_a_load(&mut session, table, 0) - plain;
        assert!(kept < 8 * MB as isize, "{table}: {kept} bytes more than without an index");
        // Of a query, too: it would not find room for all of them.
        let sql = format!(
            "insert {table} select 1000 + i, k, replicate(cast(s as varchar(max)), 20000) from t where i < 40"
        );
        assert_eq!(run(&mut session, &sql), "", "{table}");
        assert_eq!(
            run(&mut session, &format!("select count(*), sum(len(x)) from {table}")),
            format!("100|{}", 60 * MB + 80_000_000),
            "{table}"
        );
    }
}

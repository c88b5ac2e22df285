//! The memory of a served process under a mixed load, beside what its clerks say.

use crate::support::served::{ServedInstance, batch};

/// What the program itself may have beyond its clerks, in KB: its code, stacks of threads, small
/// things that nobody counts, and what the allocator keeps.
const UNKNOWN_KB: i64 = 112 << 10;
/// Clerks charge what was allocated, and not all of it need have been touched.
const UNTOUCHED_KB: i64 = 48 << 10;

/// What each session does, again and again.
const LOAD: [&str; 5] = [
    "set nocount on declare @i int = 0, @s nvarchar(max)
     while @i < 20 begin
       set @s = concat('create table ##t', @@spid, '_', @i, ' (a int primary key, ',
         (select string_agg(cast(concat('c', value, ' int') as nvarchar(max)), ',') from generate_series(1, 400)), ')')
       exec (@s) set @i += 1 end
     waitfor delay '0:00:04'",
    "set transaction isolation level repeatable read begin tran
     select count(*) from d.dbo.t where n <= 4000 waitfor delay '0:00:04' commit",
    "declare @s varchar(max) = replicate(cast('x' as varchar(max)), 4000000) select len(@s)
     waitfor delay '0:00:04'",
    "select max(x.n) from (select top 60000 a.n, row_number() over (order by a.v, b.n desc) r
       from d.dbo.t a cross join (select top 10 n from d.dbo.t) b) x",
    "declare c cursor global static for select v from d.dbo.t open c fetch last from c
     waitfor delay '0:00:04' deallocate c",
];

/// The clerks but for the rest, their sum, and the resident memory, in KB.
fn looked_at(server: &ServedInstance) -> (Vec<(String, i64)>, i64, i64) {
    let mut connection = server.connect();
    let text =
        "select type, pages_kb from sys.dm_os_memory_clerks where type <> 'MEMORYCLERK_SOSNODE'";
    let rows = batch(&mut connection, text).unwrap().rows;
    let clerks: Vec<(String, i64)> = rows
        .iter()
        .map(|row| (row[0].as_str().unwrap_or_default().to_owned(), row[1].as_i64().unwrap_or(0)))
        .collect();
    let sum = clerks.iter().map(|(_, kb)| kb).sum();
    (clerks, sum, server.status_kb("VmRSS") as i64)
}

/// The clerks' sum comes near the resident memory: at once, or when the allocator has given back
/// what statements left it a moment ago.
fn near(server: &ServedInstance) {
    let mut told = String::new();
    for _ in 0..15 {
        let (clerks, sum, resident) = looked_at(server);
        if resident - sum < UNKNOWN_KB && sum - resident < UNTOUCHED_KB {
            return;
        }
        told = format!("{resident} KB resident, {sum} KB told: {clerks:?}");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    panic!("{told}");
}

#[test]
fn clerks_say_where_the_memory_is() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServedInstance::start(folder.path(), &["--memory", "256MB"]);
    let mut owner = server.connect();
    let made = batch(
        &mut owner,
        "create database d alter database d set recovery simple
         exec ('use d create table t (n int primary key, v char(4000))
         insert t select value, str(value) from generate_series(1, 8000)')",
    );
    assert!(made.unwrap().errors.is_empty());
    std::thread::scope(|scope| {
        for at in 0..15 {
            let server = &server;
            scope.spawn(move || {
                let mut connection = server.connect();
                for turn in 0..2 {
                    let done = batch(&mut connection, LOAD[(at + turn) % LOAD.len()]).unwrap();
                    // The tables of the turn before are there still; memory may be what is missing.
                    let known = [701, 1204, 2714];
                    assert!(
                        done.errors.iter().all(|error| known.contains(error)),
                        "{:?}",
                        done.errors
                    );
                }
            });
        }
        for _ in 0..4 {
            std::thread::sleep(std::time::Duration::from_millis(1500));
            near(&server);
        }
    });
    let (clerks, _, _) = looked_at(&server);
    for clerk in ["OBJECTSTORE_LOCK_MANAGER", "OBJECTSTORE_SNI_PACKET", "MEMORYCLERK_SQLQUERYEXEC"]
    {
        let held = clerks.iter().find(|(kind, _)| kind == clerk).map(|(_, kb)| *kb);
        assert!(held.is_some_and(|kb| kb < 1024), "{clerk}: {held:?} KB when nothing runs");
    }
    assert_eq!(server.stop(), Some(0));
}

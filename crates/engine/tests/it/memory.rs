//! Queries that do not fit their memory: the same rows as with memory for everything, within the
//! instance's budget with many at once, and nothing left behind by a cancel, an error or a crash.
//!
//! `RINGWOOD_MEMORY_ROWS` says how many rows the table of the many has (20,000 without it),
//! `RINGWOOD_MEMORY_SESSIONS` how many sessions run at once (24).

use crate::support::text;
use disk::Disk;
use engine::{Instance, InstanceOptions};
use sim::{Fault, OpKind, SimDisk};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Memory for queries, and what one operator may hold.
type Limits = (Option<usize>, Option<usize>);

const ROOMY: Limits = (None, None);

fn open_on(disk: &SimDisk, (query_bytes, operator_bytes): Limits) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: Some(64 << 20),
        query_bytes,
        operator_bytes,
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    Instance::open(options).expect("the instance opens")
}

/// What a batch in the database says.
fn ask(instance: &Arc<Instance>, sql: &str) -> String {
    let (mut session, mut out) = (instance.session().expect("a session"), text::Text::default());
    session.use_database("d").expect("the database");
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// The lines of an answer in the order of their text.
fn lines(instance: &Arc<Instance>, sql: &str) -> Vec<String> {
    let said = ask(instance, sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
    let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn run_files(disk: &SimDisk) -> Vec<PathBuf> {
    let paths = disk.list(Path::new("/data")).expect("a list");
    paths.into_iter().filter(|p| p.to_string_lossy().contains(".sort-")).collect()
}

/// Tables `l` and `r`: keys that repeat, one of them a thousand times, keys without a partner,
/// NULLs, long values.
fn fill(instance: &Arc<Instance>) {
    assert_eq!(text::say(instance, "create database d alter database d set recovery simple"), "");
    let said = ask(
        instance,
        "set nocount on
         create table l (id int not null primary key, k int, s varchar(40), n nvarchar(max), m decimal(12, 2))
         create table r (id int not null primary key, k int, s nvarchar(40), x int)
         ;with x as (select n from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) v(n)),
               i as (select p.n + 10 * q.n + 100 * r.n + 1000 * s.n as i from x p, x q, x r, x s)
         insert l select i, case when i % 11 = 0 then null when i % 4 = 0 then 7 else i * 7919 % 3000 end,
            case when i % 13 = 0 then null else concat('k', i * 31 % 1500) end,
            case when i % 1000 = 1 then replicate(cast(N'Ж' as nvarchar(max)), 9000) else N'n' end, i % 97 / 4.0
         from i where i < 4000
         ;with x as (select n from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) v(n)),
               i as (select p.n + 10 * q.n + 100 * r.n + 1000 * s.n as i from x p, x q, x r, x s)
         insert r select i, case when i % 9 = 0 then null when i % 500 = 1 then 7 else i * 104729 % 4000 end,
            case when i % 5 = 0 then null else concat(N'K', i * 17 % 2000) end, i % 40
         from i where i < 3000",
    );
    assert_eq!(said, "");
}

/// A disk with these tables, after a clean stop.
fn made(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    let instance = open_on(&disk, ROOMY);
    fill(&instance);
    instance.close().expect("it closes");
    disk
}

const QUERIES: &[&str] = &[
    "select l.id, l.m, r.id, r.s from l join r on l.k = r.k option (hash join)",
    "select l.id, len(l.n), r.id from l left join r on l.k = r.k and l.id < r.id option (hash join)",
    "select l.id, r.id, r.s from l right join r on l.k = r.k option (hash join)",
    "select l.id, r.id, l.s from l full join r on l.k = r.k and l.id % 3 = r.x % 3 option (hash join)",
    "select l.id, r.id from l full join r on l.s = r.s and l.k = r.k option (hash join)",
    "select l.id from l where exists (select * from r where r.k = l.k and r.x < l.id % 50) option (hash join)",
    "select l.id, l.n from l where not exists (select * from r where r.k = l.k) option (hash join)",
    "select a.id, b.id from l a join l b on a.s = b.s join r on r.k = a.id option (hash join)",
    "select k, count(*), sum(m), min(s), max(n) from l group by k",
    "select s, k, count_big(*), avg(m), stdev(id) from l group by s, k having count(*) > 0",
    "select k % 20, count(distinct s), sum(distinct id % 300) from l group by k % 20",
    "select k % 7, string_agg(s, ',') within group (order by id), count(*) from l group by k % 7",
    "select k, string_agg(cast(n as nvarchar(max)), N'') within group (order by id desc) from l where id % 3 = 1 group by k",
    "select distinct k, s from l",
    "select distinct id % 100, n from l",
    "select k from l union select k from r",
    "select s collate Latin1_General_CI_AS from l except select s from r",
    "select k, cast(s as nvarchar(40)) from l intersect select k, s from r",
    "select id, row_number() over (partition by k order by id), sum(m) over (partition by k order by id) from l",
    "select id, lag(n) over (order by s, id), ntile(9) over (order by m, id) from l",
    "select id, max(id) over (order by m, id rows between 700 preceding and 300 preceding) from l",
    "select top (900) id, n from l order by m, s, id",
    "select top (30) percent id from l order by m desc, id",
];

#[test]
fn every_operator_gives_what_it_gives_in_memory() {
    let roomy = open_on(&SimDisk::new(1), ROOMY);
    fill(&roomy);
    let little: Vec<_> = [1, 20 << 10, 150 << 10]
        .into_iter()
        .map(|operator| {
            let disk = SimDisk::new(1);
            let instance = open_on(&disk, (None, Some(operator)));
            fill(&instance);
            (disk, instance, operator)
        })
        .collect();
    for sql in QUERIES {
        let wanted = lines(&roomy, sql);
        assert!(wanted.len() > 5, "{sql}");
        for (disk, instance, operator) in &little {
            let before = disk.io_count();
            assert!(lines(instance, sql) == wanted, "{operator} bytes: {sql}");
            assert!(disk.io_count() > before || *operator > 1, "in memory: {sql}");
            assert_eq!(run_files(disk), Vec::<PathBuf>::new(), "{sql}");
        }
    }
}

/// Joins whose left side is the smaller one, so that it is the build side; NULLs, keys of many rows
/// and keys without a partner are on both sides.
const LEFT_BUILT: &[&str] = &[
    "select l.id, l.s, r.id, r.s from (select * from l where id < 1300) l left join r on l.k = r.k",
    "select l.id, r.id from (select * from l where id < 1300) l left join r on l.k = r.k and l.id < r.id % 900",
    "select l.id, l.n, r.id from (select * from l where id < 1300) l full join r on l.k = r.k",
    "select l.id, r.s, r.id from (select * from l where id < 1300) l full join r on l.k = r.k and l.id % 3 = r.x % 3",
    "select id, n from l where id < 1300 and exists (select * from r where r.k = l.k)",
    "select id, s from l where id < 1300 and exists (select * from r where r.s = l.s and r.x < l.id % 50)",
    "select id, s from l where id < 1300 and not exists (select * from r where r.k = l.k)",
    "select id, n from l where id < 1300 and not exists (select * from r where r.k = l.k and r.x < l.id % 50)",
];

/// The plan of a query.
fn plan_of(instance: &Arc<Instance>, sql: &str) -> String {
    let (mut session, mut shown) = (instance.session().expect("a session"), text::Text::default());
    session.use_database("d").expect("the database");
    session.execute("set showplan_text on", &mut shown);
    session.execute(sql, &mut shown);
    shown.out
}

/// What an index gives group by group, `{}` for a hint that asks for another index.
const STREAMED: &[&str] = &[
    "select k, s, count(*), max(id) from l{} group by k, s",
    "select s, k, count(distinct id), sum(id) from l{} group by s, k",
    "select k, string_agg(s, ',') within group (order by id), count(s) from l{} group by k",
    "select s, count(*) from l{} where k = 7 group by s",
    "select k, count(*) from l{} where k > 100 group by k having count(*) > 1",
    "select distinct k from l{}",
    "select distinct s, k from l{} where k is not null",
    "select distinct s, k from (select k, s from l{} where k < 900) x",
];

#[test]
fn rows_that_come_in_groups_are_grouped_without_memory() {
    let disk = SimDisk::new(6);
    let instance = open_on(&disk, (None, Some(1)));
    fill(&instance);
    assert_eq!(ask(&instance, "create index k on l (k, s) include (id)"), "");
    for sql in STREAMED {
        let (streamed, hashed) = (sql.replace("{}", ""), sql.replace("{}", " with (index (1))"));
        let (shown, other) = (plan_of(&instance, &streamed), plan_of(&instance, &hashed));
        assert!(shown.contains("Stream Aggregate"), "{shown}");
        assert!(other.contains("Hash Match"), "{other}");
        let (before, wanted) = (disk.io_count(), lines(&instance, &hashed));
        assert!(disk.io_count() > before, "the other plan goes to disk: {hashed}");
        assert!(lines(&instance, &streamed) == wanted, "{streamed}");
        assert_eq!(held(&instance), "0|0", "{streamed}");
    }
}

#[test]
fn a_hash_join_gives_the_same_rows_whichever_side_it_builds() {
    let instances = [None, Some(150 << 10), Some(20 << 10), Some(1)].map(|operator| {
        let disk = SimDisk::new(5);
        let instance = open_on(&disk, (None, operator));
        fill(&instance);
        instance
    });
    for sql in LEFT_BUILT {
        let wanted = lines(&instances[0], &format!("{sql} option (loop join)"));
        assert!(wanted.len() > 5, "{sql}");
        for instance in &instances {
            let shown = plan_of(instance, &format!("{sql} option (hash join)"));
            assert!(shown.contains("BUILD:(LEFT)"), "{sql}: {shown}");
            assert!(lines(instance, &format!("{sql} option (hash join)")) == wanted, "{sql}");
            assert_eq!(held(instance), "0|0", "{sql}");
        }
    }
}

/// Counts the budget's users.
fn held(instance: &Arc<Instance>) -> String {
    ask(
        instance,
        "select granted_memory_kb, grantee_count from sys.dm_exec_query_resource_semaphores",
    )
}

#[test]
fn nothing_is_left_after_an_error_of_the_disk() {
    let (made, mut failed) = (made(2), 0);
    for (n, sql) in QUERIES.iter().enumerate() {
        let disk = made.crash(n as u64);
        let instance = open_on(&disk, (None, Some(1)));
        let (kind, nth) = [(OpKind::Name, 1), (OpKind::Write, 2), (OpKind::Read, 2)][n % 3];
        let file = format!("/data/tempdb.mdf.sort-{}", 1 + n / 3 % 2);
        disk.fail_on(Path::new(&file), kind, nth, Fault::Io);
        let said = ask(&instance, sql);
        failed += usize::from(said.contains("Msg 823"));
        assert!(said.contains("Msg 823") || !said.contains("Msg "), "{sql}: {said}");
        assert_eq!(run_files(&disk), Vec::<PathBuf>::new(), "{sql}");
        assert_eq!(held(&instance), "0|0", "{sql}");
        disk.clear_faults();
        assert!(!ask(&instance, sql).contains("Msg "), "{sql}");
    }
    assert!(failed > QUERIES.len() / 2, "only {failed} queries met the error");
}

#[test]
fn nothing_is_left_after_an_error_of_a_value() {
    let disk = SimDisk::new(3);
    let instance = open_on(&disk, (None, Some(1)));
    fill(&instance);
    for sql in [
        "select l.id / (l.id - 3999), r.id from l join r on l.k = r.k or l.id = r.id",
        "select l.id, r.id from l left join r on l.k = r.k and 1 / (l.id - 3996) < r.id option (hash join)",
        "select k, sum(1 / (id - 3999)) from l group by k",
        "select distinct k, 1 / (id - 3999) from l",
        "select id, 1 / (id - 3999) from l except select id, k from r",
        "select sum(1 / (id - 3999)) over (partition by k order by id) from l",
    ] {
        let said = ask(&instance, sql);
        assert!(said.contains("Msg 8134"), "{sql}: {said}");
        assert_eq!(run_files(&disk), Vec::<PathBuf>::new(), "{sql}");
        assert_eq!(held(&instance), "0|0", "{sql}");
    }
}

/// Cancels the statement at its first row.
struct Stop {
    disk: SimDisk,
    cancel: engine::session::CancelHandle,
    files: usize,
    errors: Vec<i32>,
}

impl engine::Sink for Stop {
    fn columns(&mut self, _: &[engine::ColumnInfo]) -> Result<(), engine::SqlError> {
        Ok(())
    }
    fn rows(&mut self, rows: &engine::ResultRows<'_>) -> Result<(), engine::SqlError> {
        rows.each(|_| {
            self.files = self.files.max(run_files(&self.disk).len());
            self.cancel.cancel();
            Ok(())
        })
    }
    fn done(&mut self, _: engine::StatementEnd) -> Result<(), engine::SqlError> {
        Ok(())
    }
    fn message(&mut self, _: &engine::SqlError) -> Result<(), engine::SqlError> {
        Ok(())
    }
    fn error(&mut self, error: &engine::SqlError) -> Result<(), engine::SqlError> {
        self.errors.push(error.number);
        Ok(())
    }
}

#[test]
fn nothing_is_left_after_a_cancel() {
    let disk = SimDisk::new(4);
    let instance = open_on(&disk, (None, Some(1)));
    fill(&instance);
    let mut met = 0;
    for sql in QUERIES {
        let mut session = instance.session().expect("a session");
        session.use_database("d").expect("the database");
        let cancel = session.cancel_handle();
        let mut sink = Stop { disk: disk.clone(), cancel, files: 0, errors: Vec::new() };
        session.execute(sql, &mut sink);
        met += usize::from(sink.files > 0 && sink.errors == [3617]);
        assert_eq!(run_files(&disk), Vec::<PathBuf>::new(), "{sql}");
        assert_eq!(held(&instance), "0|0", "{sql}");
    }
    assert!(met > QUERIES.len() / 2, "only {met} queries were cancelled with rows on disk");
}

#[test]
fn nothing_is_left_after_a_crash() {
    let (made, mut met) = (made(5), 0);
    for (n, sql) in QUERIES.iter().enumerate() {
        let disk = made.crash(n as u64);
        let instance = open_on(&disk, (None, Some(1)));
        let before = disk.io_count();
        ask(&instance, sql);
        let took = disk.io_count() - before;
        disk.crash_at(disk.io_count() + took / 4 + n as u64 % took.max(4) / 2);
        ask(&instance, sql);
        assert!(disk.has_crashed(), "{sql}");
        let after = disk.crash(n as u64);
        met += usize::from(!run_files(&after).is_empty());
        let instance = open_on(&after, ROOMY);
        assert_eq!(run_files(&after), Vec::<PathBuf>::new(), "{sql}");
        assert_eq!(ask(&instance, "select count(*) from l select count(*) from r"), "4000\n3000");
    }
    assert!(met > QUERIES.len() / 2, "only {met} crashes met a run file");
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Each of many sessions runs a query over ten times the memory that is there for it.
#[test]
fn many_at_once_share_the_budget() {
    let (rows, sessions) =
        (number("RINGWOOD_MEMORY_ROWS", 20_000), number("RINGWOOD_MEMORY_SESSIONS", 24));
    let width = 400;
    // A tenth of the table for each session.
    let budget = (rows * width / 10 * sessions).max(64 << 20);
    let operator = rows * width / 10;
    let disk = SimDisk::new(6);
    let instance = open_on(&disk, (Some(budget), Some(operator)));
    assert_eq!(text::say(&instance, "create database d alter database d set recovery simple"), "");
    let said = ask(
        &instance,
        &format!(
            "set nocount on
             create table t (id int not null primary key, k int not null, f char({width}) not null)
             ;with x as (select n from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) v(n)),
                   i as (select 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 100000 * f.n as i
                         from x a, x b, x c, x d, x e, x f)
             insert t select i, cast(i as bigint) * 7919 % {rows}, concat('f', i % 1000) from i where i <= {rows}"
        ),
    );
    assert_eq!(said, "");
    let queries = [
        "select count(*), sum(cast(checksum(f) as bigint)) from (select top (100000000) id, f from t order by f, id desc) x",
        "select count(*), sum(cast(checksum(b.f) as bigint)) from t a join t b on a.k = b.id option (hash join)",
        "select count(*), sum(cast(n as bigint)) from (select k, f, count(*) n from t group by k, f) x",
        "select count(*), sum(n) from (select row_number() over (partition by k % 3 order by f, id) n, f from t) x
         where f > ''",
    ];
    let wanted: Vec<String> = queries.iter().map(|sql| ask(&instance, sql)).collect();
    assert!(wanted.iter().all(|said| !said.contains("Msg ")), "{wanted:?}");
    let before = disk.io_count();
    std::thread::scope(|scope| {
        for n in 0..sessions {
            let (instance, queries, wanted) = (&instance, &queries, &wanted);
            scope.spawn(move || assert_eq!(ask(instance, queries[n % 4]), wanted[n % 4]));
        }
    });
    assert!(disk.io_count() > before + sessions as u64 * 10, "the queries did not go to disk");
    assert_eq!(run_files(&disk), Vec::<PathBuf>::new());
    assert_eq!(held(&instance), "0|0");
    let peak = instance.peak_query_memory();
    assert!(peak <= budget, "{peak} bytes of {budget}");
}

#[test]
fn what_statements_have_been_granted_is_shown() {
    let disk = SimDisk::new(1);
    let instance = open_on(&disk, ROOMY);
    fill(&instance);
    let grants = |instance: &Arc<Instance>| {
        ask(
            instance,
            "select count(*), sum(used_memory_kb), max(max_used_memory_kb), max(granted_memory_kb), \
             count(case when grant_time <= getdate() then 1 end), count(sql_handle) \
             from sys.dm_exec_query_memory_grants where session_id <> @@spid",
        )
    };
    assert_eq!(grants(&instance), "0|NULL|NULL|NULL|0|0");
    let mut session = instance.session().expect("a session");
    let mut run = |sql: &str| {
        let mut out = text::Text::default();
        session.use_database("d").expect("the database");
        session.execute(sql, &mut out);
        assert!(!out.out.contains("Msg "), "{}", out.out);
        out.out.trim().to_string()
    };
    // An open cursor keeps its rows: 20 MB at the least.
    run(
        "declare c cursor global static for select replicate('x', 2000) from generate_series(1, 10000) open c",
    );
    let held = grants(&instance);
    let numbers: Vec<u64> = held.split('|').map(|n| n.parse().expect("a number")).collect();
    let [1, used, peak, granted, 1, 1] = numbers[..] else { panic!("{held}") };
    assert!((19_000..=40_000).contains(&used) && peak >= used && granted == used, "{held}");
    // The statement that asks has one of its own while it sorts.
    let own = run("select top 1 r.granted_query_memory, g.n from sys.dm_exec_requests r \
         cross join (select count(*) as n from sys.dm_exec_query_memory_grants where session_id = @@spid) g \
         where r.session_id = @@spid order by r.command");
    let (pages, own) = own.split_once('|').expect("two columns");
    assert!(pages.parse::<u64>().expect("a number") >= used / 8, "{pages} of {used} KB");
    assert!(own.parse::<u64>().expect("a number") >= 1);
    run("close c deallocate c");
    assert_eq!(grants(&instance), "0|NULL|NULL|NULL|0|0");
}

//! Sorts and index builds that are larger than their memory: the same answers as in memory, the
//! right error on a full or failing disk, and no run file left behind, whatever ends the statement.

use crate::support::text;
use disk::Disk;
use engine::{Instance, InstanceOptions};
use sim::{Fault, OpKind, SimDisk};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// So little that some thousand rows make hundreds of runs, which are merged in several passes.
const TINY: usize = 16 << 10;

fn open_with(disk: &SimDisk, operator_bytes: Option<usize>) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: Some(16 << 20),
        operator_bytes,
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    Instance::open(options).expect("the instance opens")
}

/// A database `d` with the table `t` of 6,000 rows: few different values, many NULLs, long and
/// short strings.
fn fill(instance: &Arc<Instance>) {
    let create = "create database d alter database d set recovery simple";
    assert_eq!(text::say(instance, create), "");
    let said = ask(
        instance,
        "create table t (id int not null, a int, s varchar(200), n nvarchar(max), m decimal(20,4), d datetime2,
                               f float, b varbinary(50), g uniqueidentifier)
         ;with x as (select n from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) v(n)),
               i as (select p.n + 10 * q.n + 100 * r.n + 1000 * s.n as i from x p, x q, x r, x s)
         insert t select i, case when i % 7 = 0 then null else i * 7919 % 100 end,
            case when i % 5 = 0 then null else replicate(char(97 + i % 26), i % 40) + char(65 + i * 31 % 26) end,
            case when i % 500 = 0 then replicate(cast(N'Ж' as nvarchar(max)), 9000) else N'' + char(65 + i % 26) end,
            (i * 7919 % 2000 - 1000) / 8.0, dateadd(second, i * 7919 % 6000, '20240101'),
            i * 7919 % 6000 / 3e0, cast(i * 7919 % 6000 as varbinary(4)), null
         from i where i < 6000",
    );
    assert_eq!(said, "(6000)");
}

/// What a batch in the database says.
fn ask(instance: &Arc<Instance>, sql: &str) -> String {
    let (mut session, mut out) = (instance.session().expect("a session"), text::Text::default());
    session.use_database("d").expect("the database");
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

fn run_files(disk: &SimDisk) -> Vec<PathBuf> {
    let paths = disk.list(Path::new("/data")).expect("a list");
    paths.into_iter().filter(|p| p.to_string_lossy().contains(".sort-")).collect()
}

#[test]
fn order_by_gives_what_it_gives_in_memory() {
    let (small, large) = (SimDisk::new(1), SimDisk::new(1));
    let (spilling, roomy) = (open_with(&small, Some(TINY)), open_with(&large, None));
    fill(&spilling);
    fill(&roomy);
    let before = small.io_count();
    for keys in [
        "id desc",
        "a, id",
        // Equal keys keep the order of the rows.
        "a",
        "a desc",
        "s, a desc",
        "s desc",
        "n desc, id",
        "m, s",
        "m desc",
        "d",
        "f desc",
        "b",
        "g, s collate Latin1_General_BIN2",
        "a % 3, len(s) desc, m",
    ] {
        let sql = format!("select id, a, s, m, d, f, b, g, len(n), n from t order by {keys}");
        let expected = ask(&roomy, &sql);
        assert_eq!(expected.lines().count(), 6000);
        assert!(ask(&spilling, &sql) == expected, "{keys}");
        assert_eq!(run_files(&small), Vec::<PathBuf>::new());
    }
    assert!(small.io_count() > before + 14 * 20, "the sorts did not go to disk");
    let top = "select top (100000) id, a from t order by a, id";
    assert_eq!(ask(&spilling, top), ask(&roomy, top));
    let page = "select id from t order by m, id offset 5000 rows fetch next 70 rows only";
    assert_eq!(ask(&spilling, page), ask(&roomy, page));
}

#[test]
fn indexes_are_what_they_are_in_memory() {
    for sql in [
        "create unique clustered index x on t(id)",
        "create unique clustered index x on t(id desc)",
        "create clustered index x on t(a, s desc)",
        "create index x on t(s desc, a)",
        "create index x on t(m) include (s, d)",
        "create unique index x on t(d desc, b) with (fillfactor = 60)",
        "create unique clustered index x on t(id) create index y on t(s) drop index x on t create index z on t(a)",
    ] {
        let disk = SimDisk::new(2);
        let instance = open_with(&disk, Some(TINY));
        fill(&instance);
        let (sum, io) =
            ("select checksum_agg(checksum(id, a, s, m)), count(*) from t", disk.io_count());
        let before = ask(&instance, sum);
        assert_eq!(ask(&instance, sql), "", "{sql}");
        assert!(disk.io_count() > io + 20, "{sql}");
        assert_eq!(run_files(&disk), Vec::<PathBuf>::new());
        assert_eq!(ask(&instance, sum), before, "{sql}");
        let found = ask(&instance, "select id from t where a = 17 and s > 'm' order by id");
        let all =
            ask(&instance, "select id from t with (index(0)) where a = 17 and s > 'm' order by id");
        assert_eq!(found, all);
        assert!(instance.check_database("d").expect("a check").is_clean(), "{sql}");
    }
}

#[test]
fn a_repeated_key_is_1505_however_far_apart_the_rows_are() {
    let disk = SimDisk::new(3);
    let instance = open_with(&disk, Some(TINY));
    fill(&instance);
    assert_eq!(ask(&instance, "insert t (id, a) values (17, 1)"), "(1)");
    for kind in ["unique", "unique clustered"] {
        let said = ask(&instance, &format!("create {kind} index x on t(id)"));
        assert!(
            said.contains("Msg 1505") && said.contains("duplicate key value is (17)"),
            "{said}"
        );
        assert_eq!(run_files(&disk), Vec::<PathBuf>::new());
    }
    assert_eq!(
        ask(&instance, "delete t where id = 17 and a = 1 create unique index x on t(id)"),
        "(1)"
    );
}

#[test]
fn a_full_disk_is_1105_for_tempdb_and_work_goes_on() {
    let disk = SimDisk::new(4);
    let instance = open_with(&disk, Some(256 << 10));
    fill(&instance);
    assert_eq!(ask(&instance, "checkpoint"), "");
    let free = disk.free_space(Path::new("/data")).expect("free space");
    disk.set_capacity((1 << 40) - free + (300 << 10));
    let queries =
        ["select id, n, s from t order by s, id", "create index x on t(s) include (m, d, f, b, g)"];
    for sql in queries {
        let said = ask(&instance, sql);
        assert!(said.contains("Msg 1105") && said.contains("'tempdb'"), "{sql}: {said}");
        assert_eq!(run_files(&disk), Vec::<PathBuf>::new());
    }
    assert_eq!(ask(&instance, "select count(*) from t"), "6000");
    disk.set_capacity(1 << 40);
    for sql in queries {
        assert!(!ask(&instance, sql).contains("Msg"), "{sql}");
    }
    assert!(instance.check_database("d").expect("a check").is_clean());
}

#[test]
fn failed_io_is_an_error_and_leaves_no_file() {
    for (kind, nth) in [
        (OpKind::Name, 1),
        (OpKind::Write, 1),
        (OpKind::Write, 9),
        (OpKind::Read, 2),
        (OpKind::Read, 40),
    ] {
        let disk = SimDisk::new(5);
        let instance = open_with(&disk, Some(TINY));
        fill(&instance);
        assert_eq!(ask(&instance, "select count(*) from t"), "6000");
        // Everything is in memory: the reads and writes that follow are the sort's.
        disk.fail_on(Path::new("/data/tempdb.mdf.sort-1"), kind, nth, Fault::Io);
        let said = ask(&instance, "select id, n from t order by s, id");
        assert!(
            said.contains("Msg 823") && said.contains("tempdb.mdf.sort-1"),
            "{kind:?} {nth}: {said}"
        );
        assert_eq!(run_files(&disk), Vec::<PathBuf>::new());
        assert!(!ask(&instance, "select id, n from t order by s, id").contains("Msg"));
    }
}

#[test]
fn a_crash_leaves_no_run_file_after_the_restart() {
    let mut met = 0;
    for seed in 0..12 {
        let disk = SimDisk::new(seed);
        let instance = open_with(&disk, Some(TINY));
        fill(&instance);
        disk.crash_at(disk.io_count() + 5 + seed * 6);
        ask(&instance, "create unique clustered index x on t(id desc)");
        assert!(disk.has_crashed());
        let after = disk.crash(seed);
        met += usize::from(!run_files(&after).is_empty());
        // Not a name that a sort gives.
        after
            .write_small_atomic(Path::new("/data/tempdb.mdf.sort-notes"), b"mine")
            .expect("a file");
        let instance = open_with(&after, Some(TINY));
        assert_eq!(run_files(&after), [PathBuf::from("/data/tempdb.mdf.sort-notes")]);
        assert_eq!(ask(&instance, "select count(*) from t"), "6000");
        assert!(instance.check_database("d").expect("a check").is_clean());
    }
    assert!(met > 6, "only {met} crashes met a run file");
}

#[test]
fn a_cancelled_statement_leaves_no_run_file() {
    let disk = SimDisk::new(6);
    let instance = open_with(&disk, Some(TINY));
    fill(&instance);
    let mut session = instance.session().expect("a session");
    session.use_database("d").expect("the database");
    let mut sink = Stop {
        disk: disk.clone(),
        cancel: session.cancel_handle(),
        files: 0,
        rows: 0,
        errors: Vec::new(),
    };
    session.execute("select id, s from t order by s desc, id", &mut sink);
    assert_eq!((sink.files, sink.errors), (1, vec![3617]));
    assert!(sink.rows < 6000);
    assert_eq!(run_files(&disk), Vec::<PathBuf>::new());
}

/// Cancels the statement at its first row.
struct Stop {
    disk: SimDisk,
    cancel: engine::session::CancelHandle,
    files: usize,
    rows: usize,
    errors: Vec<i32>,
}

impl engine::Sink for Stop {
    fn columns(&mut self, _: &[engine::ColumnInfo]) -> Result<(), engine::SqlError> {
        Ok(())
    }
    fn rows(&mut self, rows: &engine::ResultRows<'_>) -> Result<(), engine::SqlError> {
        rows.each(|_| {
            if self.rows == 0 {
                self.files = run_files(&self.disk).len();
                self.cancel.cancel();
            }
            self.rows += 1;
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

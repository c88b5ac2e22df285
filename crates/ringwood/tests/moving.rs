//! Folders and files that are moved, copied and shared by processes: what is somebody's is touched by nobody else.

mod support;

use ringwood::{Database, Options, Session};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use support::errors_of;

fn open(folder: &Path) -> Database {
    Options::new(folder).memory(16 << 20).open().unwrap()
}

fn error_of(session: &mut Session, batch: &str) -> i32 {
    session.execute(batch).expect_err(batch).number
}

fn rows(session: &mut Session, table: &str) -> i64 {
    session.query(&format!("select count(*) from {table}")).unwrap().rows[0][0].as_i64().unwrap()
}

fn text(session: &mut Session, query: &str) -> String {
    session.query(query).unwrap().rows[0][0].to_string()
}

/// A database of that name with a table of `rows` rows; its files in the instance's folder, or where they are said to be.
fn make(db: &Database, name: &str, data: &str, log: &str, rows: i32) {
    let mut session = db.session().unwrap();
    let files = format!(
        "create database {name} on (name = d, filename = '{data}', size = 4MB) log on (name = l, filename = '{log}', size = 2MB)"
    );
    session.execute(&files).unwrap();
    session
        .execute(&format!("use {name}; create table t (id int not null primary key, n int not null)"))
        .unwrap();
    fill(&mut session, 0, rows);
}

fn fill(session: &mut Session, from: i32, to: i32) {
    let batch =
        format!("declare @i int = {from}; while @i < {to} begin insert t values (@i, @i); set @i += 1 end");
    session.execute(&batch).unwrap();
}

/// `cp -a`, which is what people do.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

fn ringwood(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ringwood")).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_moved_folder_just_works() {
    let scratch = Scratch::new();
    let db = open(&scratch.path("a"));
    make(&db, "inside", "x.mdf", r"E:\logs\x.ldf", 100);
    make(&db, "outside", &scratch.text("o.mdf"), &scratch.text("o.ldf"), 50);
    db.session()
        .unwrap()
        .execute("alter database inside add file (name = more, filename = 'more.ndf', size = 2MB)")
        .unwrap();
    db.close().unwrap();
    drop(db);
    for name in ["b", "c"] {
        let from = if name == "b" { "a" } else { "b" };
        std::fs::rename(scratch.path(from), scratch.path(name)).unwrap();
        let db = open(&scratch.path(name));
        let mut session = db.session().unwrap();
        assert_eq!(rows(&mut session, "inside.dbo.t"), 100);
        assert_eq!(rows(&mut session, "outside.dbo.t"), 50, "files outside are still its own");
        drop(session);
        db.close().unwrap();
    }
    assert!(!scratch.path("a").exists());
}

#[test]
fn a_copy_never_touches_its_original() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.path("a"), scratch.path("b"));
    let original = open(&a);
    make(&original, "inside", "x.mdf", "x.ldf", 100);
    make(&original, "outside", &scratch.text("o.mdf"), &scratch.text("o.ldf"), 50);
    let mut session = original.session().unwrap();
    session
        .execute("alter database inside add file (name = more, filename = 'more.ndf', size = 2MB)")
        .unwrap();
    session.execute("use inside; create table u (id int not null)").unwrap();
    drop(session);
    original.close().unwrap();
    copy(&a, &b);

    // Both at the same time.
    let (original, other) = (open(&a), open(&b));
    let (mut one, mut two) = (original.session().unwrap(), other.session().unwrap());
    one.execute("use inside").unwrap();
    two.execute("use inside").unwrap();
    fill(&mut one, 100, 300);
    fill(&mut two, 100, 200);
    assert_eq!((rows(&mut one, "t"), rows(&mut two, "t")), (300, 200));
    assert_eq!(rows(&mut one, "outside.dbo.t"), 50);
    let state = "select state_desc from sys.databases where name = 'outside'";
    assert_eq!(text(&mut two, state), "RECOVERY_PENDING");
    assert_eq!(error_of(&mut two, "use outside"), 945);
    drop(two);
    other.close().unwrap();
    drop(one);
    original.close().unwrap();

    // The copy alone: what lies outside is the original's, whichever is open.
    let before = std::fs::read(scratch.path("o.mdf")).unwrap();
    let other = open(&b);
    let mut two = other.session().unwrap();
    assert_eq!(text(&mut two, state), "RECOVERY_PENDING");
    assert_eq!(errors_of(&mut two, "alter database outside set online"), [5173, 5069]);
    two.execute("drop database outside").unwrap();
    drop(two);
    other.close().unwrap();
    assert!(std::fs::read(scratch.path("o.mdf")).unwrap() == before);
    let original = open(&a);
    assert_eq!(rows(&mut original.session().unwrap(), "outside.dbo.t"), 50);
    original.close().unwrap();
}

#[test]
fn links_out_of_a_copied_folder_lead_to_the_originals_files() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("volume")).unwrap();
    std::fs::create_dir(scratch.path("a")).unwrap();
    std::os::unix::fs::symlink("../volume", scratch.path("a/E")).unwrap();
    let db = open(&scratch.path("a"));
    make(&db, "linked", r"E:\x.mdf", r"E:\x.ldf", 10);
    db.close().unwrap();
    copy(&scratch.path("a"), &scratch.path("b"));
    let other = open(&scratch.path("b"));
    assert_eq!(error_of(&mut other.session().unwrap(), "use linked"), 945);
    other.close().unwrap();
    let db = open(&scratch.path("a"));
    assert_eq!(rows(&mut db.session().unwrap(), "linked.dbo.t"), 10);
    db.close().unwrap();
}

#[test]
fn a_busy_file_keeps_its_database_alone_and_says_who_has_it() {
    let scratch = Scratch::new();
    let db = open(&scratch.path("a"));
    make(&db, "x", "x.mdf", "x.ldf", 10);
    make(&db, "y", "y.mdf", "y.ldf", 20);
    db.close().unwrap();
    drop(db);
    // Another process has one file of it.
    let mut holder = Command::new("flock")
        .arg(scratch.path("a/x.mdf"))
        .args(["-c", "echo locked; read wait"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(holder.stdout.take().unwrap()), &mut line)
        .unwrap();
    let db = open(&scratch.path("a"));
    let mut session = db.session().unwrap();
    assert_eq!(error_of(&mut session, "use x"), 945);
    assert_eq!(rows(&mut session, "y.dbo.t"), 20);
    let log = std::fs::read_to_string(scratch.path("a/log/ERRORLOG")).unwrap();
    let pid = holder.id().to_string();
    let line = log.lines().find(|line| line.contains("Error 5120")).expect("an error 5120");
    assert!(line.contains("x.mdf") && line.contains(&format!("process {pid}")), "{line}");
    // Once it is free the database comes up.
    drop(holder.stdin.take());
    holder.wait().unwrap();
    session.execute("alter database x set online").unwrap();
    assert_eq!(rows(&mut session, "x.dbo.t"), 10);
    drop(session);
    db.close().unwrap();
}

#[test]
fn restore_takes_no_file_of_another_instance() {
    let scratch = Scratch::new();
    let (a, b) = (open(&scratch.path("a")), open(&scratch.path("b")));
    make(&a, "x", "x.mdf", "x.ldf", 10);
    make(&b, "victim", "x.mdf", "x.ldf", 77);
    let backup = scratch.text("x.bak");
    a.session().unwrap().execute(&format!("backup database x to disk = '{backup}'")).unwrap();
    let restore = format!(
        "restore database x from disk = '{backup}' with replace, move 'd' to '{}', move 'l' to '{}'",
        scratch.text("b/x.mdf"),
        scratch.text("b/x.ldf")
    );
    let mut session = a.session().unwrap();
    // While it is open, and when it is not.
    let busy = errors_of(&mut session, &restore);
    assert!(busy.contains(&3634) && busy.contains(&3156) && busy.last() == Some(&3013), "{busy:?}");
    assert_eq!(rows(&mut b.session().unwrap(), "victim.dbo.t"), 77);
    b.close().unwrap();
    let closed = errors_of(&mut session, &restore);
    assert!(closed.contains(&1834) && closed.contains(&3156), "{closed:?}");
    assert_eq!(rows(&mut session, "x.dbo.t"), 10);
    let b = open(&scratch.path("b"));
    assert_eq!(rows(&mut b.session().unwrap(), "victim.dbo.t"), 77);
    b.close().unwrap();
    drop(session);
    a.close().unwrap();
}

#[test]
fn tempdb_of_a_crash_or_a_copy_is_no_hindrance() {
    let scratch = Scratch::new();
    let db = open(&scratch.path("a"));
    db.session()
        .unwrap()
        .execute(&format!(
            "alter database tempdb modify file (name = tempdb, filename = '{}')",
            scratch.text("temp.mdf")
        ))
        .unwrap();
    db.close().unwrap();
    drop(db);
    let db = open(&scratch.path("a"));
    assert!(scratch.path("temp.mdf").exists());
    copy(&scratch.path("a"), &scratch.path("b"));
    // Beside its open original, whose tempdb is outside and is not the copy's.
    let other = open(&scratch.path("b"));
    other
        .session()
        .unwrap()
        .execute("create table tempdb.dbo.s (n int); insert tempdb.dbo.s values (1)")
        .unwrap();
    other.close().unwrap();
    db.session()
        .unwrap()
        .execute("create table tempdb.dbo.s (n int); insert tempdb.dbo.s values (1)")
        .unwrap();
    db.close().unwrap();
    drop(db);
    // Left by a crash, under names that no registry has.
    for name in ["tempdb.mdf", "tempdb_log.ldf"] {
        std::fs::write(scratch.path("a").join(name), b"leftover").unwrap();
    }
    std::fs::remove_file(scratch.path("temp.mdf")).unwrap();
    open(&scratch.path("a")).close().unwrap();
}

#[test]
fn folders_that_are_none_are_said() {
    let scratch = Scratch::new();
    let check = ringwood(&["check", "--data", &scratch.text("typo"), "master"]);
    assert!(said(&check).contains("no databases in the folder"), "{}", said(&check));
    assert!(!check.status.success() && !scratch.path("typo").exists());
    std::fs::write(scratch.path("file"), b"x").unwrap();
    for command in ["sql", "check"] {
        let arguments = match command {
            "sql" => vec!["sql", "-Q", "select 1"],
            _ => vec!["check", "master"],
        };
        let file = scratch.text("file");
        let output = ringwood(&[&arguments[..1], &["--data", &file], &arguments[1..]].concat());
        assert!(said(&output).contains("is a file, not a folder"), "{}", said(&output));
    }
    // No user can make files there.
    let output = ringwood(&["sql", "--data", "/sys/kernel", "-Q", "select 1"]);
    assert!(
        said(&output).contains("cannot be written") && !said(&output).contains("offset"),
        "{}",
        said(&output)
    );
    // A backup goes where its folder is.
    let db = open(&scratch.path("a"));
    make(&db, "x", "x.mdf", "x.ldf", 1);
    let mut session = db.session().unwrap();
    let nowhere = scratch.text("nobody/made/this/x.bak");
    assert_eq!(errors_of(&mut session, &format!("backup database x to disk = '{nowhere}'")), [3201, 3013]);
    assert!(!scratch.path("nobody").exists());
    drop(session);
    db.close().unwrap();
}

#[test]
fn who_has_a_folder_is_said() {
    let scratch = Scratch::new();
    let db = open(&scratch.path("a"));
    let output = ringwood(&["sql", "--data", &scratch.text("a"), "-Q", "select 1"]);
    let expected = format!("in use by process {}", std::process::id());
    assert!(said(&output).contains("17113") && said(&output).contains(&expected), "{}", said(&output));
    db.close().unwrap();
}

#[test]
fn a_folder_that_is_only_read() {
    let scratch = Scratch::new();
    let a = scratch.path("a");
    let db = open(&a);
    make(&db, "x", "x.mdf", "x.ldf", 1000);
    db.close().unwrap();
    drop(db);
    let files = || {
        let mut all: Vec<_> = std::fs::read_dir(&a).unwrap().map(|e| e.unwrap().path()).collect();
        all.sort();
        all.into_iter().filter(|p| p.is_file()).map(|p| (std::fs::read(&p).unwrap(), p)).collect::<Vec<_>>()
    };
    let before = files();
    let reader = Options::new(&a).memory(16 << 20).read_only().open().unwrap();
    let second = Options::new(&a).memory(16 << 20).read_only().open().unwrap();
    let mut session = reader.session().unwrap();
    session.execute("use x").unwrap();
    assert_eq!(rows(&mut second.session().unwrap(), "x.dbo.t"), 1000);
    assert_eq!(text(&mut session, "select top 1 n from t order by n desc"), "999");
    for change in ["insert t values (-1, 0)", "delete t", "create table u (n int)", "drop table t"] {
        assert_eq!(error_of(&mut session, change), 3906, "{change}");
    }
    for change in [
        "create database y",
        "drop database x",
        "alter database x set recovery simple",
        "backup database x to disk = 'NUL'",
        "exec sp_detach_db 'x'",
    ] {
        assert!(session.execute(change).is_err(), "{change}");
    }
    // tempdb is somewhere.
    session.execute("create table tempdb.dbo.s (n int); insert tempdb.dbo.s select n from x.dbo.t").unwrap();
    assert_eq!(rows(&mut session, "tempdb.dbo.s"), 1000);
    // A writer waits until the readers are gone.
    assert!(Options::new(&a).open().is_err());
    drop(session);
    reader.close().unwrap();
    second.close().unwrap();
    drop((reader, second));
    assert!(files() == before, "nothing has changed");
    open(&a).close().unwrap();
    assert!(Options::new(scratch.path("none")).read_only().open().is_err());
    assert!(!scratch.path("none").exists());
}

#[test]
fn a_database_that_needs_recovery_says_so_when_it_is_only_read() {
    let scratch = Scratch::new();
    let a = scratch.path("a");
    let db = open(&a);
    make(&db, "clean", "c.mdf", "c.ldf", 10);
    make(&db, "torn", "t.mdf", "t.ldf", 10);
    db.close().unwrap();
    drop(db);
    let mut child = Command::new(env!("CARGO_BIN_EXE_ringwood"))
        .args(["sql", "--data", &scratch.text("a"), "-Q"])
        .arg("use torn; insert t values (100, 1); select 'done'; waitfor delay '00:01:00'")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It is killed when the row is there.
    let path = a.join("t.ldf");
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    for _ in 0..500 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        if std::fs::metadata(&path).unwrap().modified().unwrap()
            > before + std::time::Duration::from_millis(50)
        {
            break;
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    let reader = Options::new(&a).memory(16 << 20).read_only().open().unwrap();
    let mut session = reader.session().unwrap();
    assert_eq!(rows(&mut session, "clean.dbo.t"), 10);
    assert_eq!(error_of(&mut session, "use torn"), 945);
    let log = text(&mut session, "select state_desc from sys.databases where name = 'torn'");
    assert_eq!(log, "RECOVERY_PENDING");
    drop(session);
    reader.close().unwrap();
    let db = open(&a);
    assert_eq!(rows(&mut db.session().unwrap(), "torn.dbo.t"), 11);
    db.close().unwrap();
}

#[test]
fn databases_are_detached_and_attached() {
    let scratch = Scratch::new();
    let a = open(&scratch.path("a"));
    let mut one = a.session().unwrap();
    one.execute(
        "create database x on primary (name = d, filename = 'x.mdf', size = 4MB), filegroup [odd one] (name = e, filename = 'x2.ndf', size = 2MB) \
         log on (name = thelog, filename = 'x_log.ldf', size = 2MB)",
    )
    .unwrap();
    one.execute("use x; create table t (id int not null primary key, n int not null) on [odd one]").unwrap();
    fill(&mut one, 0, 200);
    one.execute("use master").unwrap();
    assert_eq!(error_of(&mut a.session().unwrap(), "exec sp_detach_db 'nosuch'"), 15010);
    assert_eq!(error_of(&mut one, "exec sp_detach_db 'master'"), 7940);
    one.execute("use x").unwrap();
    assert_eq!(error_of(&mut a.session().unwrap(), "exec sp_detach_db 'x'"), 3703);
    one.execute("use master; exec sp_detach_db @dbname = 'x'").unwrap();
    assert_eq!(error_of(&mut one, "use x"), 911);

    // Into another instance, from another folder: the files beside the primary one are found.
    std::fs::create_dir(scratch.path("shelf")).unwrap();
    for name in ["x.mdf", "x2.ndf", "x_log.ldf"] {
        std::fs::rename(scratch.path("a").join(name), scratch.path("shelf").join(name)).unwrap();
    }
    let b = open(&scratch.path("b"));
    let mut two = b.session().unwrap();
    let attach = format!("create database y on (filename = '{}') for attach", scratch.text("shelf/x.mdf"));
    two.execute(&attach).unwrap();
    assert_eq!(rows(&mut two, "y.dbo.t"), 200);
    let names = "select name from y.sys.filegroups where data_space_id = 2";
    assert_eq!(text(&mut two, names), "odd one");
    assert_eq!(text(&mut two, "select name from y.sys.database_files where type = 1"), "thelog");
    assert_eq!(error_of(&mut two, &attach), 1801);
    // It is open there: nobody else gets it.
    let again = attach.replace("database y", "database z");
    assert_eq!(errors_of(&mut one, &again), [5120, 1813]);
    two.execute("use y").unwrap();
    fill(&mut two, 200, 300);
    two.execute("use master; exec sp_detach_db 'y'").unwrap();

    // Another way, and back.
    let files =
        ["x.mdf", "x2.ndf", "x_log.ldf"].map(|n| format!("'{}'", scratch.text("shelf").clone() + "/" + n));
    one.execute(&format!("exec sp_attach_db 'x', {}", files.join(", "))).unwrap();
    assert_eq!(rows(&mut one, "x.dbo.t"), 300);
    drop((one, two));
    a.close().unwrap();
    b.close().unwrap();
    drop((a, b));
    let a = open(&scratch.path("a"));
    assert_eq!(rows(&mut a.session().unwrap(), "x.dbo.t"), 300);
    a.close().unwrap();
}

#[test]
fn what_does_not_belong_together_is_not_attached() {
    let scratch = Scratch::new();
    let db = open(&scratch.path("a"));
    make(&db, "x", "x.mdf", "x.ldf", 10);
    make(&db, "y", "y.mdf", "y.ldf", 20);
    let mut session = db.session().unwrap();
    session.execute("exec sp_detach_db 'x'; exec sp_detach_db 'y'").unwrap();
    std::fs::write(scratch.path("a/text"), b"no database").unwrap();
    let mut attach = |data: &str, log: &str| {
        let log = if log.is_empty() { String::new() } else { format!(" log on (filename = '{log}')") };
        errors_of(&mut session, &format!("create database z on (filename = '{data}'){log} for attach"))
    };
    assert_eq!(attach("nosuch.mdf", ""), [5120, 1813]);
    assert_eq!(attach("text", ""), [5171, 1813]);
    assert_eq!(attach("x.ldf", ""), [5171, 1813]);
    assert_eq!(attach("x.mdf", "nosuch.ldf"), [5120, 1813]);
    assert_eq!(attach("x.mdf", "y.ldf"), [5173, 1813]);
    assert_eq!(attach("x.mdf", "x.mdf"), [5173, 1813]);
    // A log of another time of the same database: the data file is older.
    std::fs::copy(scratch.path("a/x.mdf"), scratch.path("a/old.mdf")).unwrap();
    assert_eq!(attach("x.mdf", "x.ldf"), Vec::<i32>::new());
    let mut other = db.session().unwrap();
    other.execute("use z").unwrap();
    fill(&mut other, 10, 500);
    other.execute("checkpoint; use master; exec sp_detach_db 'z'").unwrap();
    std::fs::rename(scratch.path("a/x.mdf"), scratch.path("a/new.mdf")).unwrap();
    std::fs::rename(scratch.path("a/old.mdf"), scratch.path("a/x.mdf")).unwrap();
    assert_eq!(attach("x.mdf", "x.ldf"), [5173, 1813]);
    assert_eq!(attach("new.mdf", "x.ldf"), Vec::<i32>::new());
    assert_eq!(rows(&mut other, "z.dbo.t"), 500);
    drop((session, other));
    db.close().unwrap();
}

#[test]
fn a_lost_log_is_made_anew_if_the_database_was_closed_cleanly() {
    let scratch = Scratch::new();
    let db = open(&scratch.path("a"));
    let mut session = db.session().unwrap();
    for name in ["attach", "attach_rebuild_log"] {
        make(&db, "x", "x.mdf", "x_log.ldf", 100);
        session.execute("use x; delete t where id < 50; use master; exec sp_detach_db 'x'").unwrap();
        std::fs::remove_file(scratch.path("a/x_log.ldf")).unwrap();
        session.execute(&format!("create database x on (filename = 'x.mdf') for {name}")).unwrap();
        session.execute("use x").unwrap();
        assert_eq!(rows(&mut session, "t"), 50);
        fill(&mut session, 100, 300);
        session.execute("update t set n = n + 1; use master").unwrap();
        assert_eq!(db.check("x").unwrap(), Vec::<String>::new());
        session.execute("alter database x set offline; alter database x set online").unwrap();
        assert_eq!(rows(&mut session, "x.dbo.t"), 250);
        session.execute("drop database x").unwrap();
    }
    // A copy of an open database needs its log.
    make(&db, "x", "x.mdf", "x_log.ldf", 100);
    std::fs::copy(scratch.path("a/x.mdf"), scratch.path("copy.mdf")).unwrap();
    let rebuild =
        format!("create database y on (filename = '{}') for attach_rebuild_log", scratch.text("copy.mdf"));
    assert_eq!(errors_of(&mut session, &rebuild), [5105, 1813]);
    assert!(!scratch.path("copy_log.ldf").exists());
    drop(session);
    db.close().unwrap();
}

#[test]
fn modify_file_moves_a_database_at_its_next_start() {
    let scratch = Scratch::new();
    let db = open(&scratch.path("a"));
    make(&db, "x", "x.mdf", "x.ldf", 100);
    let mut session = db.session().unwrap();
    let (data, log) = (scratch.text("fast/x.mdf"), scratch.text("fast/x.ldf"));
    std::fs::create_dir(scratch.path("fast")).unwrap();
    session.execute(&format!("alter database x modify file (name = d, filename = '{data}')")).unwrap();
    session.execute(&format!("alter database x modify file (name = l, filename = '{log}')")).unwrap();
    assert_eq!(text(&mut session, "select physical_name from sys.master_files where name = 'd'"), data);
    session.execute("use x").unwrap();
    fill(&mut session, 100, 200);
    session.execute("use master; alter database x set offline").unwrap();
    // The files are where they were: it does not come up, and does when they are moved.
    assert_eq!(errors_of(&mut session, "alter database x set online"), [5120, 5069]);
    std::fs::rename(scratch.path("a/x.mdf"), &data).unwrap();
    std::fs::rename(scratch.path("a/x.ldf"), &log).unwrap();
    session.execute("alter database x set online").unwrap();
    assert_eq!(rows(&mut session, "x.dbo.t"), 200);
    // And at the next start of the instance.
    session.execute("alter database x modify file (name = d, filename = 'back.mdf')").unwrap();
    drop(session);
    db.close().unwrap();
    drop(db);
    std::fs::rename(&data, scratch.path("a/back.mdf")).unwrap();
    let db = open(&scratch.path("a"));
    assert_eq!(rows(&mut db.session().unwrap(), "x.dbo.t"), 200);
    assert_eq!(
        error_of(
            &mut db.session().unwrap(),
            "alter database x modify file (name = d, filename = 'master.mdf')"
        ),
        1834
    );
    db.close().unwrap();
}

//! Folders and files that are moved, copied and shared by processes: what is somebody's is touched
//! by nobody else.

mod attach;
mod read;

use crate::support::errors::errors_of;
use ringwood::{Database, Options, Session};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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

/// A database of that name with a table of `rows` rows; its files in the instance's folder, or
/// where they are said to be.
fn make(db: &Database, name: &str, data: &str, log: &str, rows: i32) {
    let mut session = db.session().unwrap();
    let files = format!(
        "create database {name} on (name = d, filename = '{data}', size = 4MB) log on (name = l, filename = '{log}', size = 2MB)"
    );
    session.execute(&files).unwrap();
    session
        .execute(&format!(
            "use {name}; create table t (id int not null primary key, n int not null)"
        ))
        .unwrap();
    fill(&mut session, 0, rows);
}

fn fill(session: &mut Session, from: i32, to: i32) {
    let batch = format!(
        "declare @i int = {from}; while @i < {to} begin insert t values (@i, @i); set @i += 1 end"
    );
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
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
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
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(holder.stdout.take().unwrap()),
        &mut line,
    )
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

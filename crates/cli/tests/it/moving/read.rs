//! Folders that are only read, that somebody has, or that are none.

use super::*;

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
    assert_eq!(
        errors_of(&mut session, &format!("backup database x to disk = '{nowhere}'")),
        [3201, 3013]
    );
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
    assert!(
        said(&output).contains("17113") && said(&output).contains(&expected),
        "{}",
        said(&output)
    );
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
        all.into_iter()
            .filter(|p| p.is_file())
            .map(|p| (std::fs::read(&p).unwrap(), p))
            .collect::<Vec<_>>()
    };
    let before = files();
    let reader = Options::new(&a).memory(16 << 20).read_only().open().unwrap();
    let second = Options::new(&a).memory(16 << 20).read_only().open().unwrap();
    let mut session = reader.session().unwrap();
    session.execute("use x").unwrap();
    assert_eq!(rows(&mut second.session().unwrap(), "x.dbo.t"), 1000);
    assert_eq!(text(&mut session, "select top 1 n from t order by n desc"), "999");
    for change in ["insert t values (-1, 0)", "delete t", "create table u (n int)", "drop table t"]
    {
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
    session
        .execute("create table tempdb.dbo.s (n int); insert tempdb.dbo.s select n from x.dbo.t")
        .unwrap();
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

//! Bad input: wrong scripts, corrupt pages, cut logs, missing files. Each gives the right error and
//! loses nothing.

use ringwood::{Database, Options, Session};
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

fn open(folder: &Path) -> Database {
    Options::new(folder).memory(16 << 20).open().unwrap()
}

/// Two databases with a table each; closed cleanly.
fn two_databases(folder: &Path) {
    let db = open(folder);
    let mut session = db.session().unwrap();
    for name in ["first", "second"] {
        session
            .execute(&format!(
                "create database {name} on (name = d, filename = '{name}.mdf', size = 8MB) log on (name = l, filename = '{name}.ldf', size = 2MB)"
            ))
            .unwrap();
        session.execute(&format!("use {name}")).unwrap();
        session
            .execute("create table t (id int not null primary key, words char(3000) not null)")
            .unwrap();
        session
            .execute("declare @i int = 0; while @i < 100 begin insert t values (@i, replicate('w', 3000)); set @i += 1 end")
            .unwrap();
    }
    drop(session);
    db.close().unwrap();
}

fn number_of(session: &mut Session, batch: &str) -> i32 {
    session.execute(batch).expect_err(batch).number
}

fn count(session: &mut Session, table: &str) -> i64 {
    session.query(&format!("select count(*) from {table} where words like 'w%'")).unwrap().rows[0]
        [0]
    .as_i64()
    .unwrap()
}

#[test]
fn a_wrong_script_runs_nothing_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    let mut session = db.session().unwrap();
    session.execute("create table t (a int not null)").unwrap();
    let error =
        session.execute("insert t values (1)\ninsert t values (2)\nselect from where").unwrap_err();
    assert_eq!((error.number, error.severity, error.line), (156, 15, 3));
    assert_eq!(session.query("select count(*) from t").unwrap().rows[0][0].as_i64(), Some(0));
    assert_eq!(number_of(&mut session, "select 'unclosed"), 105);
    assert_eq!(number_of(&mut session, "select * from nowhere"), 208);
    assert_eq!(number_of(&mut session, "select b from t"), 207);
    assert_eq!(number_of(&mut session, "select @x"), 137);
    assert_eq!(number_of(&mut session, "insert t values (null)"), 515);
    assert_eq!(number_of(&mut session, "select 1 / 0"), 8134);
    assert_eq!(number_of(&mut session, "select cast('x' as int)"), 245);
    assert_eq!(number_of(&mut session, "use nowhere"), 911);
    assert_eq!(number_of(&mut session, "create table t (a int)"), 2714);
    assert_eq!(number_of(&mut session, "frobnicate"), 2812);
    db.close().unwrap();
}

#[test]
fn a_corrupt_page_is_an_error_824_and_the_rest_is_readable() {
    let folder = tempfile::tempdir().unwrap();
    two_databases(folder.path());
    // Change a byte in the middle of some page that holds the words.
    let path = folder.path().join("first.mdf");
    let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    let page = (300..bytes.len() / 8192)
        .find(|p| bytes[p * 8192 + 4000..p * 8192 + 4200].iter().all(|b| *b == b'w'))
        .expect("a page full of words");
    file.seek(SeekFrom::Start((page * 8192 + 4100) as u64)).unwrap();
    file.write_all(b"X").unwrap();
    drop(file);

    let db = open(folder.path());
    let mut session = db.session().unwrap();
    session.execute("use first").unwrap();
    let error = session.query("select count(*) from t where words like 'w%'").unwrap_err();
    assert_eq!((error.number, error.severity), (824, 24), "{error:?}");
    assert!(!db.check("first").unwrap().is_empty());
    let mut session = db.session().unwrap();
    session.execute("use second").unwrap();
    assert_eq!(count(&mut session, "t"), 100);
    let _ = db.close();
}

#[test]
fn a_cut_log_keeps_its_database_offline_and_the_others_online() {
    let folder = tempfile::tempdir().unwrap();
    two_databases(folder.path());
    let path = folder.path().join("first.ldf");
    OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let db = open(folder.path());
    let mut session = db.session().unwrap();
    let number = number_of(&mut session, "use first");
    assert!([926, 945, 9003, 9004].contains(&number), "error {number}");
    session.execute("use second").unwrap();
    assert_eq!(count(&mut session, "t"), 100);
    let state =
        session.query("select state_desc from sys.databases where name = 'first'").unwrap().rows[0]
            [0]
        .to_string();
    assert!(["SUSPECT", "RECOVERY_PENDING"].contains(&state.as_str()), "{state}");
    db.close().unwrap();
}

#[test]
fn a_missing_file_is_said_and_back_when_the_file_is() {
    let folder = tempfile::tempdir().unwrap();
    two_databases(folder.path());
    let path = folder.path().join("first.mdf");
    let aside = folder.path().join("aside");
    std::fs::rename(&path, &aside).unwrap();
    let db = open(folder.path());
    let mut session = db.session().unwrap();
    let number = number_of(&mut session, "use first");
    assert!([945, 926].contains(&number), "error {number}");
    session.execute("use second").unwrap();
    assert_eq!(count(&mut session, "t"), 100);
    drop(session);
    db.close().unwrap();
    std::fs::rename(&aside, &path).unwrap();
    let db = open(folder.path());
    let mut session = db.session().unwrap();
    session.execute("use first").unwrap();
    assert_eq!(count(&mut session, "t"), 100);
    db.close().unwrap();
}

#[test]
fn a_folder_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    assert!(Options::new(folder.path()).open().is_err());
    db.close().unwrap();
    drop(db);
    open(folder.path()).close().unwrap();
}

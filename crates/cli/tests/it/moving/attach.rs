//! Databases that are detached, attached and moved file by file.

use super::*;

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
    one.execute("use x; create table t (id int not null primary key, n int not null) on [odd one]")
        .unwrap();
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
    let attach =
        format!("create database y on (filename = '{}') for attach", scratch.text("shelf/x.mdf"));
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

    // As tools write it, with the log among the files.
    let listed = |names: [&str; 3]| {
        names.map(|n| format!("(filename = '{}/{n}')", scratch.text("shelf"))).join(", ")
    };
    let tools =
        format!("create database y on {} for attach", listed(["x.mdf", "x_log.ldf", "x2.ndf"]));
    two.execute(&tools).unwrap();
    assert_eq!(rows(&mut two, "y.dbo.t"), 300);
    let log =
        "select physical_name from sys.master_files where type = 1 and database_id = db_id('y')";
    assert_eq!(text(&mut two, log), format!("{}/x_log.ldf", scratch.text("shelf")));
    two.execute("exec sp_detach_db 'y'").unwrap();

    // Another way, and back.
    let files = ["x.mdf", "x2.ndf", "x_log.ldf"]
        .map(|n| format!("'{}'", scratch.text("shelf").clone() + "/" + n));
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
        let log =
            if log.is_empty() { String::new() } else { format!(" log on (filename = '{log}')") };
        errors_of(
            &mut session,
            &format!("create database z on (filename = '{data}'){log} for attach"),
        )
    };
    assert_eq!(attach("nosuch.mdf", ""), [5120, 1813]);
    assert_eq!(attach("text", ""), [5171, 1813]);
    assert_eq!(attach("x.ldf", ""), [5171, 1813]);
    assert_eq!(attach("x.mdf", "nosuch.ldf"), [5120, 1813]);
    assert_eq!(attach("x.mdf", "y.ldf"), [5173, 1813]);
    assert_eq!(attach("x.mdf", "x.mdf"), [5173, 1813]);
    // The log among the files, as well as by its own clause, or another database's.
    assert_eq!(attach("x.mdf'), (filename = 'x.ldf", "x.ldf"), [5173, 1813]);
    assert_eq!(attach("x.mdf'), (filename = 'y.ldf", ""), [5173, 1813]);
    assert_eq!(attach("x.mdf'), (filename = 'nosuch.ldf", ""), [5120, 1813]);
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
        session
            .execute("use x; delete t where id < 50; use master; exec sp_detach_db 'x'")
            .unwrap();
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
    let rebuild = format!(
        "create database y on (filename = '{}') for attach_rebuild_log",
        scratch.text("copy.mdf")
    );
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
    session
        .execute(&format!("alter database x modify file (name = d, filename = '{data}')"))
        .unwrap();
    session
        .execute(&format!("alter database x modify file (name = l, filename = '{log}')"))
        .unwrap();
    assert_eq!(
        text(&mut session, "select physical_name from sys.master_files where name = 'd'"),
        data
    );
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

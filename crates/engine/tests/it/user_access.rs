//! SINGLE_USER, RESTRICTED_USER and MULTI_USER, OFFLINE and READ_ONLY: who may use a database, who
//! is in the way of a change, and what becomes of those sessions.

use crate::support::text::{Bench, Text, fails, run, say};
use engine::{ClientInfo, Instance, ResultRows, Session, Sink, SqlError, StatementEnd, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

const BUSY: &str = "Msg 924: Database 't' is already open and can only have one user at a time.";
const RESTRICTED: &str = "Msg 923: Database 't' is in restricted mode. Only the database owner and members of the dbcreator \
                          and sysadmin roles can access it.";
const FAILED: &str = "Msg 5069: ALTER DATABASE statement failed.";
const IN_USE: &str =
    "Msg 5070: Database state cannot be changed while other users are using the database 't'";
const ROLLED_BACK: &str = "Nonqualified transactions are being rolled back. Estimated rollback completion: 0%.\n\
                           Nonqualified transactions are being rolled back. Estimated rollback completion: 100%.";
const KILLED: &str =
    "Msg 596: Cannot continue the execution because the session is in the kill state.";
const PASSWORD: &str = "An-0ther-one";

fn tell(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

fn session(instance: &Arc<Instance>, database: &str) -> Session {
    let mut session = instance.session().unwrap();
    session.use_database(database).unwrap();
    session
}

fn access(instance: &Arc<Instance>) -> String {
    say(instance, "SELECT user_access_desc FROM sys.databases WHERE name = 't'")
}

/// A bench whose session is in database t, where table r has one row.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.check("CREATE TABLE r (a int) INSERT r VALUES (1)", "(1)");
    b
}

/// Waits until something is so.
#[track_caller]
fn wait(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "{what} does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a session runs a request.
fn runs(instance: &Arc<Instance>, spid: i32) -> bool {
    say(instance, &format!("SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id = {spid}"))
        == "1"
}

#[test]
fn single_user_takes_one_session() {
    let mut b = bench();
    let mut other = b.instance.session().unwrap();
    let works = [
        "USE t",
        "SELECT * FROM t.dbo.r",
        "INSERT t.dbo.r VALUES (2)",
        "UPDATE t.dbo.r SET a = 3",
        "DELETE t.dbo.r",
        "SELECT name FROM t.sys.tables",
        "EXEC t.dbo.sp_help",
        "EXEC ('USE t')",
        "CREATE TABLE t.dbo.s (a int)",
        "BACKUP DATABASE t TO DISK = 'x.bak'",
    ];
    // Its plan is there from before.
    assert_eq!(tell(&mut other, works[1]), "1");
    b.check("ALTER DATABASE t SET SINGLE_USER", "");
    assert_eq!(access(&b.instance), "SINGLE_USER");
    for work in works {
        let backup = "\nMsg 3013: BACKUP DATABASE is terminating abnormally.";
        let more = if work.starts_with("BACKUP") { backup } else { "" };
        assert_eq!(tell(&mut other, work), format!("{BUSY}{more}"), "{work}");
    }
    assert_eq!(other.use_database("t").unwrap_err().number, 924);
    assert_eq!(tell(&mut other, "SELECT HAS_DBACCESS('t'), OBJECT_ID('t.dbo.r')"), "0|NULL");
    // The one that is in it does what it likes, also from another database inside of it.
    b.check(
        "SELECT a FROM r SELECT a FROM t.dbo.r EXEC master.dbo.sp_executesql N'SELECT a FROM t.dbo.r'",
        "1\n1\n1",
    );
    b.check("ALTER DATABASE t SET MULTI_USER", "");
    assert_eq!(tell(&mut other, works[1]), "1");
}

#[test]
fn who_leaves_makes_room() {
    let mut b = bench();
    b.check("ALTER DATABASE t SET SINGLE_USER", "");
    let mut other = b.instance.session().unwrap();
    b.run("USE master");
    assert_eq!(tell(&mut other, "USE t"), "Changed database context to 't'.");
    b.check("USE t", BUSY);
    drop(other);
    b.check("USE t", "Changed database context to 't'.");
    // A transaction uses it until it ends, wherever the session is.
    b.run("USE master");
    let mut other = b.instance.session().unwrap();
    assert_eq!(tell(&mut other, "BEGIN TRAN SELECT a FROM t.dbo.r WITH (HOLDLOCK)"), "1");
    b.check("USE t", BUSY);
    assert_eq!(tell(&mut other, "COMMIT"), "");
    b.check("USE t", "Changed database context to 't'.");
    // So does one that was begun inside and goes on outside.
    b.check(
        "BEGIN TRAN UPDATE r SET a = 2 USE master",
        "(1)\nChanged database context to 'master'.",
    );
    assert_eq!(tell(&mut other, "USE t"), BUSY);
    b.check("ROLLBACK", "");
    assert_eq!(tell(&mut other, "USE t SELECT a FROM r"), "Changed database context to 't'.\n1");
}

/// Tries to come in whenever a row goes out.
struct Meanwhile {
    other: Session,
    said: Vec<String>,
}

impl Sink for Meanwhile {
    fn columns(&mut self, _: &[engine::ColumnInfo]) -> Result<(), SqlError> {
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|_| {
            self.said.push(tell(&mut self.other, "USE t USE master"));
            Ok(())
        })
    }
    fn done(&mut self, _: StatementEnd) -> Result<(), SqlError> {
        Ok(())
    }
    fn message(&mut self, _: &SqlError) -> Result<(), SqlError> {
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.said.push(format!("error {}", error.number));
        Ok(())
    }
}

#[test]
fn who_is_elsewhere_for_a_while_keeps_the_database() {
    let mut b = bench();
    run(&b.instance, "CREATE DATABASE u");
    run(&b.instance, "EXEC ('USE u EXEC (''CREATE PROC p AS SELECT 1'')')");
    run(
        &b.instance,
        "EXEC ('USE u EXEC (''CREATE FUNCTION f () RETURNS int AS BEGIN RETURN 1 END'')')",
    );
    b.check("ALTER DATABASE t SET SINGLE_USER", "");
    for work in [
        "EXEC u.dbo.p",
        "EXEC ('USE u SELECT 1')",
        "EXEC ('USE u EXEC (''USE master SELECT 1'')')",
        "EXEC u.dbo.sp_executesql N'USE master EXEC u.dbo.p'",
        "SELECT u.dbo.f()",
    ] {
        let mut sink = Meanwhile { other: b.instance.session().unwrap(), said: Vec::new() };
        b.session.execute(work, &mut sink);
        assert_eq!(
            sink.said,
            [BUSY.to_string() + "\nChanged database context to 'master'."],
            "{work}"
        );
        b.check("SELECT DB_NAME()", "t");
    }
    // What has ended is used no longer.
    run(&b.instance, "DROP DATABASE u");
    b.check("USE master", "Changed database context to 'master'.");
    run(&b.instance, "DROP DATABASE t");
}

#[test]
fn no_wait_refuses_and_changes_nothing() {
    let mut b = bench();
    let mut other = session(&b.instance, "t");
    for (state, at) in [("SINGLE_USER", "t"), ("OFFLINE", "master")] {
        b.session.use_database(at).unwrap();
        b.check(
            &format!("ALTER DATABASE t SET {state} WITH NO_WAIT"),
            &format!("{IN_USE}\n{FAILED}"),
        );
        assert_eq!(access(&b.instance), "MULTI_USER");
        assert_eq!(tell(&mut other, "SELECT a FROM r"), "1");
    }
    // A transaction from elsewhere is in the way too, and readers are.
    assert_eq!(
        tell(&mut other, "USE master BEGIN TRAN SELECT a FROM t.dbo.r WITH (HOLDLOCK)"),
        "Changed database context to 'master'.\n1"
    );
    b.check("ALTER DATABASE t SET SINGLE_USER WITH NO_WAIT", &format!("{IN_USE}\n{FAILED}"));
    b.check(
        "DROP DATABASE t",
        "Msg 3702: Cannot drop database \"t\" because it is currently in use.",
    );
    assert_eq!(tell(&mut other, "COMMIT"), "");
    b.check("ALTER DATABASE t SET SINGLE_USER WITH NO_WAIT", "");
    // Writers alone keep a database from being read-only.
    b.check("ALTER DATABASE t SET MULTI_USER USE t", "Changed database context to 't'.");
    assert_eq!(
        tell(&mut other, "USE t BEGIN TRAN UPDATE r SET a = 2"),
        "Changed database context to 't'.\n(1)"
    );
    b.check("ALTER DATABASE t SET READ_ONLY WITH NO_WAIT", &format!("{IN_USE}\n{FAILED}"));
    assert_eq!(tell(&mut other, "COMMIT"), "");
    b.check("ALTER DATABASE t SET READ_ONLY WITH NO_WAIT", "");
    assert_eq!(tell(&mut other, "SELECT a FROM r"), "2");
}

#[test]
fn rollback_ends_sessions_that_run_and_sessions_that_do_not() {
    for how in ["ROLLBACK IMMEDIATE", "ROLLBACK AFTER 0 SECONDS"] {
        let mut b = bench();
        let mut idle = session(&b.instance, "t");
        let mut busy = session(&b.instance, "t");
        let spid = busy.spid();
        let thread = std::thread::spawn(move || {
            tell(
                &mut busy,
                "BEGIN TRAN UPDATE r SET a = 9 WAITFOR DELAY '01:00' SELECT 'not reached'",
            )
        });
        wait("the update", || {
            runs(&b.instance, spid)
                && say(&b.instance, "SELECT a FROM t.dbo.r WITH (NOLOCK)") == "9"
        });
        b.check(&format!("ALTER DATABASE t SET SINGLE_USER WITH {how}"), ROLLED_BACK);
        let said = thread.join().unwrap();
        assert!(said.starts_with("(1)") && !said.contains("not reached"), "{said}");
        // What it did is taken back, and nobody is in the way.
        b.check(
            "SET LOCK_TIMEOUT 0 SELECT a FROM r WITH (READCOMMITTEDLOCK) UPDATE r SET a = 5",
            "1\n(1)",
        );
        assert_eq!(tell(&mut idle, "SELECT a FROM r"), KILLED);
        let no_rows = &mut |_: &mut [Value]| Ok(false);
        let bulk = idle.bulk_insert("r", &[], &engine::BulkOptions::default(), no_rows);
        assert_eq!(bulk.unwrap_err().number, 596);
        // When the program lets go of it, that changes nothing.
        drop(idle);
        assert_eq!(fails(&b.instance, "USE t", &[924]), BUSY);
    }
}

#[test]
fn a_session_of_the_program_with_a_transaction_cannot_be_ended_for_it() {
    let mut b = bench();
    let mut other = session(&b.instance, "t");
    assert_eq!(tell(&mut other, "BEGIN TRAN UPDATE r SET a = 9"), "(1)");
    let begun = ROLLED_BACK.lines().next().unwrap();
    let locked = "Msg 5061: ALTER DATABASE failed because a lock could not be placed on database 't'. Try again later.";
    b.check(
        "ALTER DATABASE t SET SINGLE_USER WITH ROLLBACK IMMEDIATE",
        &format!("{begun}\n{locked}\n{FAILED}"),
    );
    assert_eq!(access(&b.instance), "MULTI_USER");
    drop(other);
    b.check("ALTER DATABASE t SET SINGLE_USER WITH NO_WAIT SELECT a FROM r", "1");
}

#[test]
fn without_a_clause_the_others_are_waited_for() {
    let mut b = bench();
    let other = session(&b.instance, "t");
    b.check(
        "SET LOCK_TIMEOUT 20 ALTER DATABASE t SET SINGLE_USER",
        &format!("Msg 1222: Lock request time out period exceeded.\n{FAILED}"),
    );
    b.check("SET LOCK_TIMEOUT -1", "");
    let mut waiting = session(&b.instance, "master");
    let (spid, cancel) = (waiting.spid(), waiting.cancel_handle());
    b.run("USE master");
    let thread = std::thread::spawn(move || {
        let said = tell(&mut waiting, "ALTER DATABASE t SET SINGLE_USER");
        (said, waiting)
    });
    wait("the statement", || runs(&b.instance, spid));
    // Meanwhile others change databases, and come in.
    run(&b.instance, "CREATE DATABASE u; DROP DATABASE u; EXEC ('USE t')");
    while !thread.is_finished() {
        cancel.cancel();
        std::thread::sleep(Duration::from_millis(1));
    }
    let (said, mut waiting) = thread.join().unwrap();
    assert_eq!(said, "Msg 3617: Operation cancelled by user.");
    assert_eq!(access(&b.instance), "MULTI_USER");
    let thread = std::thread::spawn(move || tell(&mut waiting, "ALTER DATABASE t SET SINGLE_USER"));
    wait("the statement", || runs(&b.instance, spid));
    drop(other);
    assert_eq!(thread.join().unwrap(), "");
    assert_eq!(access(&b.instance), "SINGLE_USER");
}

/// Sessions that wait for each other to leave, or for a lock of the one that waits for them to
/// leave.
#[test]
fn waits_in_a_cycle_have_a_victim() {
    let mut b = bench();
    let single = "ALTER DATABASE t SET SINGLE_USER";
    let mut other = session(&b.instance, "t");
    let victim = |said: &str| said.contains("Msg 1205: ");
    let thread = std::thread::spawn(move || {
        let said = tell(&mut other, single);
        // The victim leaves, so that the other one goes on.
        if victim(&said) {
            tell(&mut other, "USE master");
        }
        (said, other)
    });
    let own = b.run(single);
    if victim(&own) {
        b.run("USE master");
    }
    let (said, mut other) = thread.join().unwrap_or_else(|_| panic!("{own}"));
    assert!(victim(&own) != victim(&said), "{own}, {said}");
    tell(&mut other, "USE master");
    b.run("USE master ALTER DATABASE t SET MULTI_USER USE t");
    let get = "DECLARE @r int EXEC @r = sp_getapplock 'x', 'Exclusive', 'Session' SELECT @r";
    b.check(get, "0");
    let mut other = session(&b.instance, "t");
    let spid = other.spid();
    let thread = std::thread::spawn(move || (tell(&mut other, get), other));
    wait("the other session", || runs(&b.instance, spid));
    let own = b.run(single);
    assert!(victim(&own), "{own}");
    b.run("EXEC sp_releaseapplock 'x', 'Session'");
    assert_eq!(thread.join().unwrap().0, "1");
    assert_eq!(access(&b.instance), "MULTI_USER");
}

#[test]
fn changes_of_a_single_user_database_are_those_of_its_user() {
    let mut b = bench();
    b.check("ALTER DATABASE t SET SINGLE_USER", "");
    let held = "Msg 5064: Changes to the state or options of database 't' cannot be made at this time. The database is in \
                single-user mode, and a user is currently connected to it.";
    for change in
        ["SET MULTI_USER", "SET AUTO_SHRINK ON WITH NO_WAIT", "MODIFY NAME = x", "SET OFFLINE"]
    {
        assert_eq!(
            say(&b.instance, &format!("ALTER DATABASE t {change}")),
            format!("{held}\n{FAILED}")
        );
    }
    assert_eq!(
        say(&b.instance, "ALTER DATABASE t SET MULTI_USER WITH ROLLBACK IMMEDIATE"),
        ROLLED_BACK
    );
    b.check("SELECT 1", KILLED);
    assert_eq!(access(&b.instance), "MULTI_USER");
}

#[test]
fn offline_ends_those_who_are_there() {
    let mut b = bench();
    let mut other = session(&b.instance, "t");
    b.run("USE master");
    b.check("ALTER DATABASE t SET OFFLINE WITH ROLLBACK IMMEDIATE", ROLLED_BACK);
    assert_eq!(tell(&mut other, "SELECT a FROM r"), KILLED);
    b.check("USE t", "Msg 942: Database 't' cannot be opened because it is offline.");
    b.check(
        "ALTER DATABASE t SET ONLINE USE t SELECT a FROM r",
        "Changed database context to 't'.\n1",
    );
    assert_eq!(access(&b.instance), "MULTI_USER");
    b.check("ALTER DATABASE t SET OFFLINE", &format!("{IN_USE}\n{FAILED}"));
}

/// A session's transactions begin in the place of its last one: not in another database, and not
/// across the time in which its database was out of service.
#[test]
fn transactions_are_of_the_database_as_it_is() {
    let mut b = bench();
    let locks = format!(
        "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'OBJECT' AND request_session_id = {}",
        b.session.spid()
    );
    for n in 2..5 {
        b.check(&format!("INSERT r VALUES ({n}) SELECT COUNT(*) FROM r"), &format!("(1)\n{n}"));
        assert_eq!(say(&b.instance, &locks), "0", "between its statements it holds nothing");
    }
    let away = "USE master ALTER DATABASE t SET OFFLINE ALTER DATABASE t SET ONLINE";
    b.check(away, "Changed database context to 'master'.");
    run(&b.instance, "CREATE DATABASE other");
    run(&b.instance, "USE other CREATE TABLE r (a int)");
    b.check("SELECT COUNT(*) FROM t.dbo.r", "4");
    b.check("INSERT other.dbo.r VALUES (1) INSERT t.dbo.r VALUES (5)", "(1)\n(1)");
    b.check("USE t INSERT r VALUES (6)", "Changed database context to 't'.\n(1)");
    b.check("BEGIN TRAN INSERT r VALUES (7) ROLLBACK", "(1)");
    b.check(
        "INSERT r VALUES (7) SELECT COUNT(*) FROM r SELECT COUNT(*) FROM other.dbo.r",
        "(1)\n7\n1",
    );
    run(&b.instance, "DROP DATABASE other");
    let mut b = b.restart();
    b.check("SELECT COUNT(*) FROM r", "7");
}

#[test]
fn a_state_survives_a_restart() {
    for (state, refused) in [("SINGLE_USER", 924), ("RESTRICTED_USER", 0)] {
        let mut b = bench();
        b.check(&format!("ALTER DATABASE t SET {state}"), "");
        let b = b.restart();
        assert_eq!(access(&b.instance), state);
        let number = b.instance.session().unwrap().use_database("t").err().map_or(0, |e| e.number);
        assert_eq!(number, refused, "the bench is in it");
    }
}

fn of_login(
    instance: &Arc<Instance>,
    login: &str,
    database: Option<&str>,
) -> Result<Session, SqlError> {
    let token = instance.authenticate(login, PASSWORD, &ClientInfo::default()).unwrap();
    instance.session_for(&token, database)
}

#[test]
fn restricted_user_is_for_owners_and_administrators() {
    let mut b = bench();
    for login in ["ann", "keeper", "maker", "boss"] {
        run(&b.instance, &format!("CREATE LOGIN {login} WITH PASSWORD = '{PASSWORD}'"));
        b.check(&format!("CREATE USER {login} FOR LOGIN {login} GRANT SELECT ON r TO {login}"), "");
    }
    b.check("ALTER ROLE db_owner ADD MEMBER keeper", "");
    run(&b.instance, "ALTER SERVER ROLE dbcreator ADD MEMBER maker");
    run(&b.instance, "ALTER SERVER ROLE sysadmin ADD MEMBER boss");
    let mut sessions = ["ann", "keeper", "maker", "boss"]
        .map(|login| of_login(&b.instance, login, Some("t")).unwrap());
    let mut outside = of_login(&b.instance, "ann", None).unwrap();
    // Only who does not qualify is in the way, or is ended.
    b.check("ALTER DATABASE t SET RESTRICTED_USER WITH NO_WAIT", &format!("{IN_USE}\n{FAILED}"));
    b.check("ALTER DATABASE t SET RESTRICTED_USER WITH ROLLBACK IMMEDIATE", ROLLED_BACK);
    assert_eq!(access(&b.instance), "RESTRICTED_USER");
    let said = sessions.each_mut().map(|session| tell(session, "SELECT a FROM r"));
    assert_eq!(said, [KILLED, "1", "1", "1"]);
    assert_eq!(tell(&mut outside, "USE t"), RESTRICTED);
    assert_eq!(tell(&mut outside, "SELECT a FROM t.dbo.r"), RESTRICTED);
    assert_eq!(tell(&mut outside, "SELECT HAS_DBACCESS('t')"), "0");
    for (login, number) in [("ann", 4060), ("keeper", 0), ("maker", 0), ("boss", 0)] {
        let e = of_login(&b.instance, login, Some("t")).err().map_or(0, |e| e.number);
        assert_eq!(e, number, "{login}");
    }
    // The user that a session acts as counts; a session that is in the database stays in.
    b.check("EXECUTE AS LOGIN = 'ann' SELECT a FROM r REVERT", "1");
    b.check(
        "USE master EXECUTE AS LOGIN = 'ann' USE t",
        &format!("Changed database context to 'master'.\n{RESTRICTED}"),
    );
    b.check("REVERT USE t ALTER DATABASE t SET MULTI_USER", "Changed database context to 't'.");
    assert_eq!(tell(&mut outside, "USE t"), "Changed database context to 't'.");
}

#[test]
fn a_pooled_session_whose_database_is_closed_goes_to_master() {
    let mut b = bench();
    let mut pooled = session(&b.instance, "t");
    pooled.keep_as_login();
    assert_eq!(tell(&mut pooled, "USE master"), "Changed database context to 'master'.");
    b.check("ALTER DATABASE t SET SINGLE_USER", "");
    assert_eq!(pooled.reset(&mut Text::default()).unwrap_err().number, 924);
    assert_eq!(pooled.database(), "master");
    b.run("ALTER DATABASE t SET MULTI_USER");
    pooled.reset(&mut Text::default()).unwrap();
    assert_eq!(pooled.database(), "t");
}

#[test]
fn system_databases_stay_open() {
    let b = bench();
    for database in ["master", "tempdb", "msdb"] {
        for option in ["SINGLE_USER", "RESTRICTED_USER"] {
            fails(&b.instance, &format!("ALTER DATABASE {database} SET {option}"), &[5058, 5069]);
        }
        run(&b.instance, &format!("ALTER DATABASE {database} SET MULTI_USER"));
    }
}

#[test]
fn a_restored_database_can_be_for_administrators() {
    let mut b = bench();
    b.run("CREATE LOGIN ann WITH PASSWORD = 'An-0ther-one' CREATE USER ann FOR LOGIN ann GRANT SELECT ON r TO ann");
    b.run("BACKUP DATABASE t TO DISK = 't.bak'");
    let devices = "FROM DISK = 't.bak'";
    fails(&b.instance, "BACKUP DATABASE t TO DISK = 'n.bak' WITH RESTRICTED_USER", &[155]);
    fails(
        &b.instance,
        &format!("RESTORE DATABASE t {devices} WITH REPLACE, NORECOVERY, RESTRICTED_USER"),
        &[40_510],
    );
    fails(&b.instance, &format!("RESTORE DATABASE t {devices} WITH REPLACE"), &[3101, 3013]);
    b.run("USE master");
    run(&b.instance, &format!("RESTORE DATABASE t {devices} WITH REPLACE, RESTRICTED_USER"));
    assert_eq!(access(&b.instance), "RESTRICTED_USER");
    let mut ann = of_login(&b.instance, "ann", None).unwrap();
    assert_eq!(tell(&mut ann, "SELECT a FROM t.dbo.r"), RESTRICTED);
    let b = Bench::restart(b);
    assert_eq!(access(&b.instance), "RESTRICTED_USER");
}

/// Scopes that come back to where they began by themselves, and scopes in scopes that do.
#[test]
fn a_scope_uses_no_database_after_its_end() {
    let mut b = bench();
    b.check("CREATE DATABASE u", "");
    b.run("EXEC ('USE u; USE t')");
    b.check("SELECT DB_NAME()", "t");
    assert_eq!(say(&b.instance, "ALTER DATABASE u SET SINGLE_USER WITH NO_WAIT"), "");
    assert_eq!(say(&b.instance, "ALTER DATABASE u SET MULTI_USER"), "");
    let exec = |text: &str| format!("EXEC ('{}')", text.replace('\'', "''"));
    let third = format!("USE master; {}", exec("USE t"));
    let second = format!("USE t; {} SELECT DB_NAME()", exec(&third));
    let first = format!("USE u; {} SELECT DB_NAME()", exec(&second));
    let said = b.run(&exec(&first));
    let names: Vec<&str> = said.lines().filter(|line| !line.starts_with("Changed")).collect();
    assert_eq!(names, ["t", "u"], "{said}");
    b.check("SELECT DB_NAME()", "t");
    assert_eq!(say(&b.instance, "DROP DATABASE u"), "");
}

//! Triggers of the server: which statements fire them, what they can take back, who may make them;
//! logon triggers, the logins that they keep out, and the logins that can always connect.

use std::sync::Arc;

use crate::support::text::{Bench, Text, power_loss, say, try_open};
use engine::{ClientInfo, Instance, Session};
use sim::SimDisk;

/// The text of an element of EVENTDATA().
fn element(tag: &str) -> String {
    format!("EVENTDATA().value('(/EVENT_INSTANCE//{tag})[1]', 'nvarchar(max)')")
}

/// A table in master, and a trigger that fills it.
fn watched(events: &str) -> Bench {
    let mut b = Bench::new();
    b.run("CREATE TABLE master.dbo.log (no int IDENTITY, event varchar(30), db sysname NULL, name sysname NULL, command nvarchar(max))");
    let body = format!(
        "CREATE TRIGGER watch ON ALL SERVER FOR {events} AS
         SET NOCOUNT ON
         INSERT dbo.log SELECT {}, {}, {}, {}",
        element("EventType"),
        element("DatabaseName"),
        element("ObjectName"),
        element("CommandText")
    );
    b.check(&body, "");
    b
}

fn log(b: &mut Bench) -> String {
    let said = b.run(
        "SELECT event, db, name FROM master.dbo.log ORDER BY no; TRUNCATE TABLE master.dbo.log",
    );
    said.trim().lines().collect::<Vec<_>>().join("; ")
}

#[test]
fn events_of_the_server_and_of_every_database() {
    let mut b = watched("DDL_EVENTS");
    for (sql, event) in [
        ("CREATE TABLE t (id int)", "CREATE_TABLE|t|t"),
        ("CREATE DATABASE other", "CREATE_DATABASE|other|NULL"),
        ("USE other CREATE VIEW v AS SELECT 1 AS one", ""),
        ("ALTER DATABASE other SET RECOVERY SIMPLE", "ALTER_DATABASE|other|NULL"),
        ("DROP DATABASE other", "DROP_DATABASE|other|NULL"),
        ("CREATE LOGIN ann WITH PASSWORD = 'An-0ther-one'", "CREATE_LOGIN|NULL|ann"),
        ("ALTER LOGIN ann DISABLE", "ALTER_LOGIN|NULL|ann"),
        ("DROP LOGIN ann", "DROP_LOGIN|NULL|ann"),
        ("CREATE SERVER ROLE helpers", "CREATE_SERVER_ROLE|NULL|helpers"),
        ("DROP SERVER ROLE helpers", "DROP_SERVER_ROLE|NULL|helpers"),
        (
            "CREATE TRIGGER second ON ALL SERVER FOR CREATE_LOGIN AS PRINT 'x'",
            "CREATE_TRIGGER|NULL|second",
        ),
        ("DROP TRIGGER second ON ALL SERVER", "DROP_TRIGGER|NULL|second"),
        ("CREATE TABLE #t (id int)", ""),
    ] {
        b.run(sql);
        if !event.is_empty() {
            assert_eq!(log(&mut b), event, "{sql}");
        }
    }
    log(&mut b);
    // What it sees of the statement is all of it, a password but hidden.
    b.run("CREATE LOGIN bob WITH PASSWORD = 'Very-5ecret-one'");
    let said = b.run("SELECT command FROM master.dbo.log");
    assert!(said.contains("CREATE LOGIN bob") && !said.contains("5ecret"), "{said}");
}

#[test]
fn those_of_the_server_run_first_and_those_of_a_database_hear_of_it_alone() {
    let mut b = Bench::new();
    b.run("CREATE TRIGGER a ON DATABASE FOR DDL_EVENTS AS PRINT 'database'");
    b.run("CREATE TRIGGER b ON ALL SERVER FOR CREATE_TABLE, CREATE_LOGIN AS PRINT 'server'");
    b.check("CREATE TABLE t (id int)", "server\ndatabase");
    b.check("CREATE TABLE master.dbo.t (id int)", "server");
    b.check("CREATE LOGIN ann WITH PASSWORD = 'An-0ther-one'", "server");
    b.check("DISABLE TRIGGER b ON ALL SERVER; CREATE TABLE u (id int)", "database");
    // Names of the two kinds are not in each other's way, and master has no trigger of its own by
    // this.
    b.run("USE master");
    b.check("CREATE TRIGGER b ON DATABASE FOR CREATE_VIEW AS PRINT 'x'", "");
    b.check("DROP TRIGGER b ON DATABASE; SELECT COUNT(*) FROM sys.triggers", "0");
    b.run("USE t");
    b.check("SELECT name, is_disabled, parent_class_desc FROM sys.server_triggers", "b|1|SERVER");
    b.check(
        "SELECT type_desc, event_group_type_desc FROM sys.server_trigger_events ORDER BY type",
        "CREATE_TABLE|NULL\nCREATE_LOGIN|NULL",
    );
    b.check(
        "SELECT LEFT(definition, 30) FROM sys.server_sql_modules",
        "CREATE TRIGGER b ON ALL SERVER",
    );
    let mut b = b.restart();
    b.check("SELECT name, is_disabled FROM sys.server_triggers", "b|1");
    b.check("ENABLE TRIGGER ALL ON ALL SERVER; CREATE TABLE w (id int)", "server\ndatabase");
    b.check("ALTER TRIGGER b ON ALL SERVER FOR DROP_TABLE AS PRINT 'dropped'", "");
    b.check("CREATE TABLE z (id int)", "database");
    b.check("DROP TABLE z", "dropped\ndatabase");
    b.run("DROP TRIGGER b ON ALL SERVER");
    b.check("SELECT COUNT(*) FROM sys.server_triggers", "0");
    b.fails("DROP TRIGGER b ON ALL SERVER", 3701);
}

#[test]
fn a_rollback_takes_the_statement_back() {
    let mut b = Bench::new();
    b.run("CREATE DATABASE kept");
    b.run("CREATE TRIGGER no ON ALL SERVER FOR CREATE_DATABASE, DROP_DATABASE, CREATE_LOGIN, CREATE_TABLE AS ROLLBACK");
    for sql in [
        "DROP DATABASE kept",
        "CREATE DATABASE made",
        "CREATE LOGIN ann WITH PASSWORD = 'An-0ther-one'",
        "CREATE TABLE t (id int)",
        "CREATE TABLE kept.dbo.t (id int)",
    ] {
        b.fails(sql, 3609);
    }
    b.check(
        "SELECT DB_ID('made'), OBJECT_ID('t'), SUSER_ID('ann'), OBJECT_ID('kept.dbo.t')",
        "NULL|NULL|NULL|NULL",
    );
    b.check("SELECT COUNT(*) FROM sys.databases WHERE name = 'kept'", "1");
    b.run("DISABLE TRIGGER no ON ALL SERVER");
    b.check("CREATE DATABASE made; DROP DATABASE kept", "");
}

#[test]
fn what_is_refused() {
    let mut b = Bench::new();
    for (sql, number) in [
        ("CREATE TRIGGER x ON DATABASE FOR LOGON AS PRINT 'x'", 1098),
        ("CREATE TRIGGER x ON DATABASE FOR CREATE_LOGIN AS PRINT 'x'", 1098),
        ("CREATE TRIGGER x ON DATABASE FOR DDL_SERVER_LEVEL_EVENTS AS PRINT 'x'", 1098),
        ("CREATE TRIGGER x ON ALL SERVER FOR LOGON, CREATE_LOGIN AS PRINT 'x'", 1098),
        ("CREATE TRIGGER x ON ALL SERVER FOR LOGOFF AS PRINT 'x'", 1084),
        ("CREATE TRIGGER x ON ALL SERVER FOR GRANT_SERVER AS PRINT 'x'", 40_510),
        ("CREATE TRIGGER dbo.x ON ALL SERVER FOR LOGON AS PRINT 'x'", 1094),
        ("CREATE TRIGGER x ON ALL SERVER WITH EXECUTE AS 'nobody' FOR LOGON AS PRINT 'x'", 15_151),
        ("CREATE TRIGGER x ON ALL SERVER WITH EXECUTE AS SELF FOR LOGON AS PRINT 'x'", 40_510),
        ("ALTER TRIGGER x ON ALL SERVER FOR LOGON AS PRINT 'x'", 208),
        ("DISABLE TRIGGER x ON ALL SERVER", 1088),
    ] {
        b.fails(sql, number);
    }
}

const PASSWORD: &str = "An-0ther-one";

fn enter(instance: &Arc<Instance>, login: &str) -> Result<Session, i32> {
    let client = ClientInfo { address: "10.0.0.7".into(), ..ClientInfo::default() };
    let token = instance.authenticate(login, PASSWORD, &client).unwrap();
    instance.session_for(&token, None).map_err(|error| error.number)
}

fn said(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

fn logins() -> Bench {
    let mut b = Bench::new();
    b.run(&format!("CREATE LOGIN ann WITH PASSWORD = '{PASSWORD}'; CREATE LOGIN bob WITH PASSWORD = '{PASSWORD}'; CREATE LOGIN root WITH PASSWORD = '{PASSWORD}'; ALTER SERVER ROLE sysadmin ADD MEMBER root"));
    b
}

#[test]
fn a_logon_trigger_says_who_comes_in() {
    let mut b = logins();
    b.run("CREATE TABLE master.dbo.seen (login sysname, host varchar(20), kind varchar(20), acting sysname, sessions int)");
    b.check(
        &format!(
            "CREATE TRIGGER gate ON ALL SERVER WITH EXECUTE AS 'root' FOR LOGON AS
             INSERT dbo.seen SELECT ORIGINAL_LOGIN(), {}, {}, SUSER_SNAME(),
                 (SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE original_login_name = 'bob')
             SELECT 'nobody sees this'
             IF ORIGINAL_LOGIN() = 'ann'
             BEGIN
                 PRINT 'ann is kept out'
                 ROLLBACK
             END
             IF ORIGINAL_LOGIN() = 'bob' AND (SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE original_login_name = 'bob') > 2
                 THROW 50001, 'two are enough', 1",
            element("ClientHost"),
            element("EventType")
        ),
        "",
    );
    let instance = b.instance.clone();
    assert_eq!(enter(&instance, "ann").err(), Some(17_892));
    let mut first = enter(&instance, "bob").unwrap();
    let second = enter(&instance, "bob").unwrap();
    // A session is as its login has it, not as the trigger was.
    assert_eq!(
        said(
            &mut first,
            "SELECT SUSER_SNAME(), @@TRANCOUNT, DB_NAME(), IS_SRVROLEMEMBER('sysadmin')"
        ),
        "bob|0|master|0"
    );
    let third = enter(&instance, "bob").err();
    let seen = b.run("SELECT * FROM master.dbo.seen");
    assert_eq!(third, Some(17_892), "{seen}");
    drop(second);
    assert!(enter(&instance, "bob").is_ok());
    b.check(
        "SELECT login, host, kind, COUNT(*) FROM master.dbo.seen GROUP BY login, host, kind",
        "bob|10.0.0.7|LOGON|3",
    );
    let log = instance.error_log().lines().join("\n");
    for line in [
        "ann is kept out",
        "two are enough",
        "Logon failed for login 'ann' due to trigger execution. [CLIENT: 10.0.0.7]",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
}

#[test]
fn a_logon_trigger_cannot_be_got_around() {
    let mut b = logins();
    b.run("CREATE TRIGGER gate ON ALL SERVER FOR LOGON AS IF ORIGINAL_LOGIN() = 'ann' ROLLBACK");
    b.run("CREATE USER ann FOR LOGIN ann; CREATE USER bob FOR LOGIN bob; ALTER ROLE db_owner ADD MEMBER bob");
    b.run("USE master; CREATE USER bob FOR LOGIN bob; ALTER ROLE db_owner ADD MEMBER bob; ALTER ROLE db_ddladmin ADD MEMBER bob; USE t");
    let instance = b.instance.clone();
    let client = ClientInfo::default();
    let token = instance.authenticate("ann", PASSWORD, &client).unwrap();
    for database in [None, Some("t"), Some("tempdb")] {
        assert_eq!(instance.session_for(&token, database).err().map(|e| e.number), Some(17_892));
        assert_eq!(
            instance.session_in_or_default(&token, database).err().map(|e| e.number),
            Some(17_892)
        );
    }
    // Whoever owns master is not whoever may say who comes in.
    let mut bob = enter(&instance, "bob").unwrap();
    for sql in [
        "DISABLE TRIGGER gate ON ALL SERVER",
        "DISABLE TRIGGER ALL ON ALL SERVER",
        "DROP TRIGGER gate ON ALL SERVER",
        "ALTER TRIGGER gate ON ALL SERVER FOR LOGON AS PRINT 'x'",
        "CREATE TRIGGER mine ON ALL SERVER WITH EXECUTE AS 'root' FOR LOGON AS ALTER SERVER ROLE sysadmin ADD MEMBER bob",
        "CREATE TRIGGER mine ON ALL SERVER FOR DDL_EVENTS AS PRINT 'x'",
        "SELECT definition FROM sys.server_sql_modules",
    ] {
        for database in ["master", "t"] {
            said(&mut bob, &format!("USE {database}"));
            let said = said(&mut bob, sql);
            assert!(said.starts_with("Msg "), "{sql}\n{said}");
        }
    }
    // By the names of other kinds of triggers it is not there.
    for sql in [
        "DROP TRIGGER gate ON DATABASE",
        "DROP TRIGGER gate",
        "DISABLE TRIGGER gate ON DATABASE",
        "EXEC sp_rename 'gate', 'open', 'OBJECT'",
    ] {
        said(&mut bob, "USE master");
        let said = said(&mut bob, sql);
        assert!(said.starts_with("Msg "), "{sql}\n{said}");
    }
    assert_eq!(
        said(
            &mut bob,
            "USE master; SELECT COUNT(*) FROM sys.sql_modules WHERE definition LIKE '%gate%'"
        ),
        "Changed database context to 'master'.\n0"
    );
    assert_eq!(enter(&instance, "ann").err(), Some(17_892));
    assert!(enter(&instance, "root").is_ok());
}

#[test]
fn a_trigger_that_keeps_everybody_out_can_be_dropped() {
    let mut b = logins();
    b.run("CREATE TRIGGER shut ON ALL SERVER FOR LOGON AS SELECT * FROM nowhere");
    let instance = b.instance.clone();
    assert_eq!(enter(&instance, "root").err(), Some(17_892));
    // The program itself has no login.
    b.check("DROP TRIGGER shut ON ALL SERVER", "");
    assert!(enter(&instance, "root").is_ok());
}

#[test]
fn they_survive_a_power_loss_whole_or_not_at_all() {
    let disk = SimDisk::new(23);
    let open = |disk: &SimDisk| try_open(disk, 32 << 20).unwrap();
    drop(open(&disk));
    let sql = "CREATE TRIGGER watch ON ALL SERVER FOR CREATE_TABLE AS PRINT 'watched'";
    power_loss(&disk, open, sql, 12, |instance, _, at| {
        let there = say(instance, "SELECT COUNT(*) FROM sys.server_triggers");
        let heard = say(instance, "CREATE TABLE tempdb.dbo.t (id int)");
        match there.as_str() {
            "0" => assert_eq!(heard, "", "I/O {at}"),
            "1" => assert_eq!(heard, "watched", "I/O {at}"),
            other => panic!("{other}"),
        }
    });
}

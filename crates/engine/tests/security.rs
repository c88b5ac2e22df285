//! Users, roles and permissions: each rule, and the ways around it that must not be there.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use std::sync::Arc;

use engine::{ClientInfo, Instance, Session};
use sim::SimDisk;
use text::{Text, power_loss, run, say, try_open};

const PASSWORD: &str = "Some-l0ng-one";

fn open(disk: &SimDisk) -> Arc<Instance> {
    try_open(disk, 32 << 20).unwrap()
}

/// A database `d` with tables, a view and procedures of dbo; logins `ann` (a user of `d`) and `bob` (a user of nothing).
fn new() -> Arc<Instance> {
    let instance = open(&SimDisk::new(3));
    run(&instance, "CREATE DATABASE d");
    run(
        &instance,
        &format!(
            "CREATE LOGIN ann WITH PASSWORD = '{PASSWORD}'; CREATE LOGIN bob WITH PASSWORD = '{PASSWORD}'"
        ),
    );
    owner(
        &instance,
        &[
            "CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int NULL, secret varchar(20) NULL)",
            "INSERT t VALUES (1, 10, 'one'), (2, 20, 'two')",
            "CREATE TABLE other (id int NOT NULL PRIMARY KEY, t int NULL)",
            "CREATE VIEW v AS SELECT id, a FROM t",
            "CREATE PROCEDURE p AS SELECT COUNT(*) FROM t",
            "CREATE PROCEDURE dynamic AS EXEC ('SELECT COUNT(*) FROM t')",
            "CREATE PROCEDURE put @id int AS INSERT t (id) VALUES (@id)",
            "CREATE USER ann",
        ],
    );
    instance
}

/// Batches of the program itself in `d`; none may fail.
#[track_caller]
fn owner(instance: &Arc<Instance>, batches: &[&str]) {
    let mut session = instance.session().unwrap();
    session.use_database("d").unwrap();
    for sql in batches {
        let said = said(&mut session, sql);
        assert!(!said.contains("Msg "), "{sql}\n{said}");
    }
}

fn said(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

fn login(instance: &Arc<Instance>, name: &str, database: &str) -> Session {
    let token = instance.authenticate(name, PASSWORD, &ClientInfo::default()).unwrap();
    instance.session_for(&token, Some(database)).unwrap()
}

/// The batch fails with exactly these errors and shows no rows.
#[track_caller]
fn refused(session: &mut Session, sql: &str, numbers: &[i32]) {
    let said = said(session, sql);
    let found: Vec<i32> =
        said.lines().filter_map(|line| line.strip_prefix("Msg ")?.split(':').next()?.parse().ok()).collect();
    assert_eq!(found, numbers, "{sql}\n{said}");
    assert!(said.lines().all(|line| line.starts_with("Msg ")), "{sql} shows something\n{said}");
}

#[track_caller]
fn allowed(session: &mut Session, sql: &str) -> String {
    let said = said(session, sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
    said
}

#[test]
fn a_login_without_a_user_stays_out() {
    let instance = new();
    let token = instance.authenticate("bob", PASSWORD, &ClientInfo::default()).unwrap();
    assert_eq!(instance.session_for(&token, Some("d")).err().unwrap().number, 4060);
    let mut bob = instance.session_for(&token, None).unwrap();
    assert_eq!(allowed(&mut bob, "SELECT DB_NAME(), USER_NAME(), SUSER_SNAME()"), "master|guest|bob");
    refused(&mut bob, "USE d", &[916]);
    refused(&mut bob, "SELECT * FROM d.dbo.t", &[916]);
    refused(&mut bob, "SELECT * FROM d.sys.tables", &[916]);
    refused(&mut bob, "SELECT * FROM d.INFORMATION_SCHEMA.TABLES", &[916]);
    refused(&mut bob, "EXEC d.dbo.p", &[916]);
    refused(&mut bob, "EXEC d.sys.sp_executesql N'SELECT 1'", &[916]);
    refused(&mut bob, "EXEC d..sp_tables", &[916]);
    refused(&mut bob, "INSERT d.dbo.t (id) VALUES (5)", &[916]);
    refused(&mut bob, "CREATE TABLE d.dbo.x (a int)", &[916]);
    refused(&mut bob, "TRUNCATE TABLE d.dbo.t", &[916]);
    refused(&mut bob, "DROP TABLE d.dbo.t", &[916]);
    assert!(bob.use_database("d").is_err());
    // Temporary tables are everyone's own.
    assert_eq!(
        allowed(&mut bob, "CREATE TABLE #x (a int); INSERT #x VALUES (1); SELECT a FROM #x; DROP TABLE #x"),
        "(1)\n1"
    );
    assert_eq!(
        allowed(
            &mut bob,
            "SELECT 1 AS a INTO #y; DECLARE @t TABLE (a int); INSERT @t SELECT a FROM #y; SELECT a FROM @t"
        ),
        "(1)\n(1)\n1"
    );
    owner(&instance, &["GRANT CONNECT TO guest"]);
    allowed(&mut bob, "USE d");
    refused(&mut bob, "SELECT * FROM t", &[229]);
}

#[test]
fn nothing_is_readable_without_a_grant() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    assert_eq!(
        allowed(
            &mut ann,
            "SELECT USER_NAME(), CURRENT_USER, IS_MEMBER('db_owner'), IS_SRVROLEMEMBER('sysadmin')"
        ),
        "ann|ann|0|0"
    );
    for sql in [
        "SELECT * FROM t",
        "SELECT id FROM dbo.t",
        "SELECT 1 FROM d.dbo.t",
        "SELECT COUNT(*) FROM t",
        "SELECT x.id FROM t AS x",
        "WITH c AS (SELECT id FROM t) SELECT 1 FROM c",
        "SELECT * FROM (SELECT id FROM t) AS x",
        "SELECT (SELECT MAX(id) FROM t)",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM t)",
        "SELECT 1 WHERE 1 IN (SELECT id FROM t)",
        "SELECT 1 WHERE 1 = 0 AND EXISTS (SELECT 1 FROM t)",
        "SELECT 1 UNION ALL SELECT id FROM t",
        "SELECT * FROM t WHERE 1 = 0",
        "SELECT TOP (0) * FROM t",
        "SELECT id INTO #copy FROM t",
        "SELECT s.n FROM (VALUES (1)) AS s(n) CROSS APPLY (SELECT id FROM t WHERE id = s.n) AS x",
        "DECLARE @x int = (SELECT MAX(id) FROM t)",
        "DECLARE @x int; SET @x = (SELECT MAX(id) FROM t)",
        "DECLARE @x int; SELECT @x = id FROM t",
        "IF EXISTS (SELECT 1 FROM t WHERE secret = 'one') PRINT 'yes'",
        "WHILE EXISTS (SELECT 1 FROM t) BREAK",
        "EXEC ('SELECT * FROM t')",
        "EXEC sp_executesql N'SELECT * FROM t'",
        "DECLARE @t TABLE (a int); INSERT @t SELECT id FROM t",
        "SELECT * FROM v",
        "EXEC p",
        "EXEC dbo.put 7",
        "INSERT t (id) VALUES (3)",
        "INSERT t (id) SELECT 3",
        "UPDATE t SET a = 1",
        "DELETE t",
        "DELETE FROM t WHERE id = 1",
        "SET FMTONLY ON; SELECT * FROM t",
    ] {
        let wanted = if sql.contains("INSERT @t") { &[229][..] } else { &[229] };
        refused(&mut ann, sql, wanted);
        allowed(&mut ann, "SET FMTONLY OFF");
    }
    refused(&mut ann, "SET SHOWPLAN_TEXT ON", &[262]);
    let prepared =
        ann.prepare("SELECT secret FROM t WHERE id = @id", &[("@id", engine::DataType::Int)]).unwrap();
    let mut out = Text::default();
    ann.execute_prepared(&prepared, &[engine::Value::Int(1)], &mut out).unwrap();
    assert!(out.out.starts_with("Msg 229"), "{}", out.out);
    // The same text was compiled for someone who may.
    let sql = "SELECT secret FROM dbo.t WHERE id = 2";
    for _ in 0..4 {
        owner(&instance, &[sql]);
        refused(&mut ann, sql, &[229]);
    }
    assert_eq!(
        said(&mut ann, "SELECT * FROM t"),
        "Msg 229: The SELECT permission was denied on the object 't', database 'd', schema 'dbo'."
    );
}

#[test]
fn prepared_statements_on_one_row_ask_for_rights_each_time() {
    let instance = new();
    owner(&instance, &["CREATE TABLE one (id int PRIMARY KEY, n int NOT NULL); INSERT one VALUES (1, 0)"]);
    owner(&instance, &["GRANT SELECT, INSERT, UPDATE ON one TO ann", "CREATE USER carl WITHOUT LOGIN"]);
    owner(&instance, &["GRANT IMPERSONATE ON USER::carl TO ann"]);
    let mut ann = login(&instance, "ann", "d");
    let int = engine::DataType::Int;
    let statements = [
        ("UPDATE one SET n = n + 1 WHERE id = @a", "UPDATE"),
        ("INSERT one (id, n) VALUES (@a, 0)", "INSERT"),
        ("SELECT n FROM one WHERE id = @a", "SELECT"),
    ];
    let mut next = 1;
    for (sql, right) in statements {
        let prepared = ann.prepare(sql, &[("@a", int)]).unwrap();
        let mut run = |ann: &mut Session| {
            next += 1;
            let id = if right == "INSERT" { next } else { 1 };
            let mut out = Text::default();
            ann.execute_prepared(&prepared, &[engine::Value::Int(id)], &mut out).unwrap();
            out.out
        };
        // It has run often enough to take the short way; then the right goes, comes back, and is another's.
        for _ in 0..5 {
            let said = run(&mut ann);
            assert!(!said.contains("Msg"), "{sql}: {said}");
        }
        owner(&instance, &[&format!("REVOKE {right} ON one FROM ann")]);
        assert!(run(&mut ann).starts_with("Msg 229"), "{sql}");
        owner(&instance, &[&format!("GRANT {right} ON one TO ann")]);
        assert!(!run(&mut ann).contains("Msg"), "{sql}");
        allowed(&mut ann, "EXECUTE AS USER = 'carl'");
        assert!(run(&mut ann).starts_with("Msg 229"), "{sql}");
        allowed(&mut ann, "REVERT");
        assert!(!run(&mut ann).contains("Msg"), "{sql}");
    }
}

#[test]
fn grants_open_what_they_say_and_no_more() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    owner(&instance, &["GRANT SELECT ON t TO ann"]);
    assert_eq!(allowed(&mut ann, "SELECT id FROM t"), "1\n2");
    refused(&mut ann, "INSERT t (id) VALUES (3)", &[229]);
    refused(&mut ann, "UPDATE t SET a = 1", &[229]);
    refused(&mut ann, "DELETE t", &[229]);
    refused(&mut ann, "SELECT * FROM other", &[229]);
    refused(&mut ann, "TRUNCATE TABLE t", &[1088]);
    refused(&mut ann, "ALTER TABLE t ADD b int", &[1088]);
    refused(&mut ann, "CREATE INDEX i ON t (a)", &[1088]);
    refused(&mut ann, "UPDATE STATISTICS t", &[1088]);
    refused(&mut ann, "DROP TABLE t", &[3701]);
    refused(&mut ann, "EXEC sp_rename 't', 'u'", &[15_247]);
    owner(&instance, &["REVOKE SELECT ON t FROM ann", "GRANT INSERT ON t TO ann"]);
    allowed(&mut ann, "INSERT t (id) VALUES (3)");
    refused(&mut ann, "SELECT * FROM t", &[229]);
    refused(&mut ann, "INSERT t (id) OUTPUT inserted.id VALUES (4)", &[229]);
    refused(&mut ann, "INSERT t (id) SELECT id + 100 FROM t", &[229]);
    refused(&mut ann, "INSERT t (id) VALUES ((SELECT MAX(id) + 1 FROM t))", &[229]);
    owner(&instance, &["REVOKE INSERT ON t FROM ann", "GRANT UPDATE, DELETE ON t TO ann"]);
    // What is read needs SELECT.
    allowed(&mut ann, "UPDATE t SET a = 1");
    refused(&mut ann, "UPDATE t SET a = 1 WHERE id = 1", &[229]);
    refused(&mut ann, "UPDATE t SET a = a + 1", &[229]);
    refused(&mut ann, "UPDATE t SET a += 1", &[229]);
    refused(&mut ann, "DECLARE @x varchar(20); UPDATE t SET @x = secret", &[229]);
    refused(&mut ann, "UPDATE t SET a = 1 OUTPUT deleted.secret", &[229]);
    refused(&mut ann, "UPDATE t SET a = 1 FROM t JOIN other ON other.id = t.id", &[229]);
    refused(&mut ann, "DELETE t WHERE secret = 'one'", &[229]);
    refused(&mut ann, "DELETE t OUTPUT deleted.secret", &[229]);
    allowed(&mut ann, "DELETE t");
}

#[test]
fn denials_come_first() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    owner(
        &instance,
        &[
            "CREATE ROLE readers",
            "ALTER ROLE readers ADD MEMBER ann",
            "GRANT SELECT ON SCHEMA::dbo TO readers",
        ],
    );
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM t"), "2");
    owner(&instance, &["DENY SELECT ON t TO ann"]);
    refused(&mut ann, "SELECT COUNT(*) FROM t", &[229]);
    allowed(&mut ann, "SELECT COUNT(*) FROM other");
    owner(&instance, &["REVOKE SELECT ON t FROM ann", "DENY SELECT ON DATABASE::d TO [public]"]);
    refused(&mut ann, "SELECT COUNT(*) FROM other", &[229]);
    owner(&instance, &["REVOKE SELECT ON DATABASE::d FROM [public]"]);
    allowed(&mut ann, "SELECT COUNT(*) FROM other");
    owner(&instance, &["ALTER ROLE db_denydatareader ADD MEMBER ann"]);
    refused(&mut ann, "SELECT COUNT(*) FROM other", &[229]);
    owner(
        &instance,
        &["ALTER ROLE db_denydatareader DROP MEMBER ann", "DENY CONTROL ON SCHEMA::dbo TO readers"],
    );
    refused(&mut ann, "SELECT COUNT(*) FROM other", &[229]);
    owner(&instance, &["REVOKE CONTROL ON SCHEMA::dbo FROM readers", "ALTER ROLE readers DROP MEMBER ann"]);
    refused(&mut ann, "SELECT COUNT(*) FROM other", &[229]);
    // A denial counts for db_owner too, but not for dbo.
    owner(&instance, &["ALTER ROLE db_owner ADD MEMBER ann"]);
    allowed(&mut ann, "SELECT COUNT(*) FROM t");
    owner(&instance, &["DENY SELECT ON t TO ann"]);
    refused(&mut ann, "SELECT COUNT(*) FROM t", &[229]);
    allowed(&mut ann, "SELECT COUNT(*) FROM other");
    owner(&instance, &["DENY CONNECT TO ann"]);
    refused(&mut ann, "SELECT COUNT(*) FROM other", &[916]);
}

#[test]
fn columns() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    owner(&instance, &["GRANT SELECT (id, a), UPDATE (a) ON t TO ann"]);
    assert_eq!(allowed(&mut ann, "SELECT id, a FROM t"), "1|10\n2|20");
    allowed(&mut ann, "SELECT COUNT(*) FROM t");
    for sql in [
        "SELECT * FROM t",
        "SELECT secret FROM t",
        "SELECT id FROM t WHERE secret = 'one'",
        "SELECT id FROM t ORDER BY secret",
        "SELECT COUNT(*) FROM t GROUP BY secret",
        "SELECT MAX(secret) FROM t",
        "SELECT id FROM t WHERE EXISTS (SELECT 1 WHERE t.secret = 'one')",
        "SELECT x.id FROM t AS x JOIN t AS y ON x.secret = y.secret",
        "WITH c AS (SELECT * FROM t) SELECT id FROM c",
        "SELECT id FROM (SELECT id, secret FROM t) AS x",
        "UPDATE t SET a = LEN(secret)",
    ] {
        refused(&mut ann, sql, &[230]);
    }
    allowed(&mut ann, "UPDATE t SET a = a + 1 WHERE id = 1");
    refused(&mut ann, "UPDATE t SET secret = ''", &[230]);
    refused(&mut ann, "UPDATE t SET a = 1, secret = ''", &[230]);
    refused(&mut ann, "UPDATE t SET a = 1 OUTPUT inserted.secret", &[230]);
    assert_eq!(
        said(&mut ann, "SELECT secret FROM t"),
        "Msg 230: The SELECT permission was denied on the column 'secret' of the object 't', database 'd', schema 'dbo'."
    );
    owner(&instance, &["GRANT SELECT ON t TO ann", "DENY SELECT (secret) ON t TO ann"]);
    refused(&mut ann, "SELECT * FROM t", &[230]);
    allowed(&mut ann, "SELECT id FROM t");
    owner(&instance, &["REVOKE SELECT ON t FROM ann"]);
    refused(&mut ann, "SELECT id FROM t", &[229]);
}

#[test]
fn chains_of_ownership() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    owner(
        &instance,
        &[
            "GRANT SELECT ON v TO ann",
            "GRANT EXECUTE ON p TO ann",
            "GRANT EXECUTE ON dynamic TO ann",
            "GRANT EXECUTE ON put TO ann",
        ],
    );
    assert_eq!(allowed(&mut ann, "SELECT a FROM v"), "10\n20");
    assert_eq!(allowed(&mut ann, "EXEC p"), "2");
    allowed(&mut ann, "EXEC put 3");
    assert_eq!(allowed(&mut ann, "EXEC p"), "3");
    // A text is the caller's own, wherever it is run.
    refused(&mut ann, "EXEC dynamic", &[229]);
    refused(&mut ann, "SELECT v.a FROM v JOIN t ON t.id = v.id", &[229]);
    // A change through a view needs the right to the view, and none to its table.
    refused(&mut ann, "UPDATE v SET a = 1", &[229]);
    owner(&instance, &["GRANT UPDATE ON v TO ann"]);
    allowed(&mut ann, "UPDATE v SET a = a");
    refused(&mut ann, "UPDATE t SET a = a", &[229]);
    owner(&instance, &["REVOKE UPDATE ON v FROM ann"]);
    // Another owner's view or procedure breaks the chain.
    owner(
        &instance,
        &[
            "CREATE USER carl WITHOUT LOGIN",
            "CREATE SCHEMA carls AUTHORIZATION carl",
            "CREATE VIEW carls.cv AS SELECT secret FROM dbo.t",
            "CREATE PROCEDURE carls.cp AS SELECT secret FROM dbo.t",
            "CREATE VIEW over_carls AS SELECT * FROM carls.cv",
            "CREATE PROCEDURE calls_carls AS EXEC carls.cp",
            "GRANT SELECT ON carls.cv TO ann",
            "GRANT EXECUTE ON carls.cp TO ann",
            "GRANT SELECT ON over_carls TO ann",
            "GRANT EXECUTE ON calls_carls TO ann",
        ],
    );
    refused(&mut ann, "SELECT * FROM carls.cv", &[229]);
    refused(&mut ann, "EXEC carls.cp", &[229]);
    refused(&mut ann, "SELECT * FROM over_carls", &[229]);
    refused(&mut ann, "EXEC calls_carls", &[229]);
    // A schema's owner cannot be slipped in where a transaction hides it.
    owner(&instance, &["GRANT CREATE SCHEMA, CREATE VIEW TO ann"]);
    refused(&mut ann, "BEGIN TRAN; EXEC ('CREATE SCHEMA anns')", &[226]);
    allowed(&mut ann, "IF @@TRANCOUNT > 0 ROLLBACK");
    allowed(&mut ann, "CREATE SCHEMA anns");
    allowed(&mut ann, "CREATE VIEW anns.av AS SELECT * FROM dbo.t");
    refused(&mut ann, "SELECT * FROM anns.av", &[229]);
    refused(&mut ann, "CREATE VIEW dbo.mine AS SELECT * FROM dbo.t", &[2760]);
}

#[test]
fn triggers_run_in_the_chain_of_their_table() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    owner(
        &instance,
        &[
            "CREATE TABLE log (what varchar(20))",
            "CREATE TRIGGER tr ON t AFTER INSERT AS INSERT log SELECT 'row' FROM inserted",
            "GRANT INSERT ON t TO ann",
        ],
    );
    allowed(&mut ann, "INSERT t (id) VALUES (3)");
    refused(&mut ann, "INSERT log VALUES ('x')", &[229]);
    refused(&mut ann, "DISABLE TRIGGER tr ON t", &[1088]);
    refused(&mut ann, "ALTER TABLE t DISABLE TRIGGER tr", &[1088]);
    refused(&mut ann, "CREATE TRIGGER mine ON t AFTER INSERT AS SELECT 1", &[1088]);
    refused(&mut ann, "DROP TRIGGER tr", &[3701]);
    owner(&instance, &["ALTER TRIGGER tr ON t AFTER INSERT AS EXEC ('INSERT log VALUES (''x'')')"]);
    refused(&mut ann, "INSERT t (id) VALUES (4)", &[229]);
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM d.dbo.t; SELECT COUNT(*) FROM d.dbo.log"), "3\n1");
}

#[test]
fn foreign_keys_need_references_and_cascades_nothing() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    owner(&instance, &["ALTER ROLE db_ddladmin ADD MEMBER ann", "DENY REFERENCES ON t TO ann"]);
    refused(&mut ann, "CREATE TABLE child (id int REFERENCES t (id))", &[229]);
    owner(&instance, &["REVOKE REFERENCES ON t FROM ann"]);
    allowed(&mut ann, "CREATE TABLE child (id int REFERENCES t (id) ON DELETE CASCADE)");
    owner(
        &instance,
        &[
            "ALTER ROLE db_ddladmin DROP MEMBER ann",
            "INSERT child VALUES (1)",
            "GRANT DELETE, SELECT ON t TO ann",
            "GRANT INSERT ON child TO ann",
        ],
    );
    refused(&mut ann, "DELETE child", &[229]);
    allowed(&mut ann, "DELETE t WHERE id = 1");
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM d.dbo.child"), "0");
    owner(&instance, &["REVOKE SELECT ON t FROM ann"]);
    allowed(&mut ann, "INSERT child VALUES (2)");
    refused(&mut ann, "INSERT child VALUES (9)", &[547]);
}

#[test]
fn fixed_roles_of_a_database() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    let in_role = |role: &str| {
        for known in [
            "db_datareader",
            "db_datawriter",
            "db_ddladmin",
            "db_accessadmin",
            "db_securityadmin",
            "db_backupoperator",
            "db_owner",
        ] {
            let sql = format!("ALTER ROLE {known} {} MEMBER ann", if known == role { "ADD" } else { "DROP" });
            owner(&instance, &[&sql]);
        }
    };
    in_role("db_datareader");
    allowed(&mut ann, "SELECT * FROM t; SELECT * FROM v");
    refused(&mut ann, "INSERT t (id) VALUES (9)", &[229]);
    refused(&mut ann, "EXEC p", &[229]);
    in_role("db_datawriter");
    allowed(&mut ann, "INSERT t (id) VALUES (9)");
    refused(&mut ann, "SELECT * FROM t", &[229]);
    refused(&mut ann, "TRUNCATE TABLE t", &[1088]);
    in_role("db_ddladmin");
    allowed(&mut ann, "CREATE TABLE made (a int)");
    allowed(&mut ann, "ALTER TABLE t ADD b int NULL");
    allowed(&mut ann, "CREATE PROCEDURE made_p AS SELECT 1");
    allowed(&mut ann, "DROP PROCEDURE made_p");
    allowed(&mut ann, "DROP TABLE made");
    refused(&mut ann, "SELECT * FROM t", &[229]);
    refused(&mut ann, "SELECT id INTO copy FROM t", &[229]);
    refused(&mut ann, "GRANT SELECT ON t TO ann", &[15_151]);
    refused(&mut ann, "ALTER ROLE db_owner ADD MEMBER ann", &[15_151]);
    in_role("db_accessadmin");
    allowed(&mut ann, "CREATE USER bob");
    allowed(&mut ann, "DROP USER bob");
    refused(&mut ann, "ALTER ROLE db_owner ADD MEMBER ann", &[15_151]);
    refused(&mut ann, "GRANT SELECT ON t TO ann", &[15_151]);
    in_role("db_securityadmin");
    owner(&instance, &["CREATE USER dora WITHOUT LOGIN"]);
    allowed(&mut ann, "GRANT SELECT ON t TO dora");
    allowed(&mut ann, "CREATE ROLE mine; ALTER ROLE mine ADD MEMBER dora");
    refused(&mut ann, "ALTER ROLE db_owner ADD MEMBER dora", &[15_151]);
    refused(&mut ann, "ALTER ROLE db_datareader ADD MEMBER ann", &[15_151]);
    refused(&mut ann, "GRANT CONTROL ON DATABASE::d TO dora", &[4613]);
    refused(&mut ann, "SELECT * FROM t", &[229]);
    in_role("db_backupoperator");
    allowed(&mut ann, "CHECKPOINT");
    assert!(said(&mut ann, "BACKUP DATABASE d TO DISK = '/data/d.bak'").contains("successfully"));
    refused(&mut ann, "SELECT * FROM t", &[229]);
    in_role("db_owner");
    allowed(&mut ann, "SELECT * FROM t; ALTER ROLE db_datareader ADD MEMBER dora");
    allowed(&mut ann, "USE msdb");
    refused(&mut ann, "CREATE TABLE x (a int)", &[262]);
    allowed(&mut ann, "USE d");
    in_role("");
    refused(&mut ann, "CHECKPOINT", &[262]);
    refused(&mut ann, "CREATE USER bob", &[15_247]);
    refused(&mut ann, "CREATE ROLE x", &[262]);
    refused(&mut ann, "CREATE SCHEMA x", &[262]);
    refused(&mut ann, "CREATE TABLE x (a int)", &[262]);
    refused(&mut ann, "CREATE VIEW x AS SELECT 1 AS a", &[262]);
    refused(&mut ann, "CREATE PROCEDURE x AS SELECT 1", &[262]);
    refused(&mut ann, "ALTER PROCEDURE p AS SELECT secret FROM t", &[1088]);
    refused(&mut ann, "CREATE OR ALTER VIEW v AS SELECT secret FROM t", &[1088]);
    refused(&mut ann, "DROP VIEW v", &[3701]);
    refused(&mut ann, "DROP PROCEDURE p", &[3701]);
    refused(&mut ann, "SELECT 1 AS a INTO x", &[262]);
    refused(&mut ann, "EXEC sp_addrolemember 'db_owner', 'ann'", &[15_151]);
}

#[test]
fn the_server_is_its_roles() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    for (sql, number) in [
        ("CREATE DATABASE x", 262),
        ("DROP DATABASE d", 3701),
        ("ALTER DATABASE d SET RECOVERY SIMPLE", 5011),
        ("ALTER DATABASE d SET READ_ONLY", 5011),
        ("BACKUP DATABASE d TO DISK = '/data/x.bak'", 262),
        ("BACKUP LOG d TO DISK = '/data/x.bak'", 262),
        ("BACKUP DATABASE master TO DISK = '/data/x.bak'", 262),
        ("DECLARE @d sysname = 'master'; BACKUP DATABASE @d TO DISK = '/data/x.bak'", 262),
        ("RESTORE DATABASE d FROM DISK = '/data/x.bak'", 3110),
        ("RESTORE DATABASE x FROM DISK = '/data/x.bak'", 262),
        ("RESTORE DATABASE master FROM DISK = '/data/x.bak'", 15_247),
        ("RESTORE HEADERONLY FROM DISK = '/data/x.bak'", 262),
        ("KILL 51", 6102),
        ("SHUTDOWN", 6004),
        ("SHUTDOWN WITH NOWAIT", 6004),
        ("RECONFIGURE", 5812),
        ("DBCC CHECKDB", 7983),
        ("DBCC CHECKDB (master)", 7983),
        ("DBCC SHRINKFILE (1, 1)", 7983),
        ("DBCC SHRINKDATABASE (d)", 7983),
        ("DBCC TRACEON (1800)", 7983),
        ("DBCC LOGINFO", 7983),
        ("DBCC FREEPROCCACHE", 300),
        ("DBCC SQLPERF ('sys.dm_os_wait_stats', CLEAR)", 300),
        ("DBCC SHOW_STATISTICS (t, x)", 7983),
        ("DBCC CHECKIDENT (t)", 7983),
        ("EXEC sp_configure 'show advanced options', 1", 15_247),
        ("EXEC sp_detach_db d", 300),
        ("EXEC sp_attach_db 'x', '/data/x.mdf'", 300),
        ("EXEC sp_who", 300),
        ("CREATE CREDENTIAL c WITH IDENTITY = 'i', SECRET = 's'", 300),
        ("DROP CREDENTIAL c", 300),
        ("BULK INSERT t FROM '/etc/passwd'", 4834),
        ("CREATE LOGIN x WITH PASSWORD = 'Some-l0ng-one'", 15_247),
        ("ALTER LOGIN sa WITH PASSWORD = 'Some-l0ng-one'", 15_151),
        ("ALTER LOGIN bob WITH PASSWORD = 'Some-l0ng-one'", 15_151),
        ("ALTER LOGIN ann WITH PASSWORD = 'Other-l0ng-one'", 15_151),
        ("ALTER LOGIN ann ENABLE", 15_151),
        ("DROP LOGIN bob", 15_247),
        ("CREATE SERVER ROLE x", 300),
        ("ALTER SERVER ROLE sysadmin ADD MEMBER ann", 15_151),
        ("ALTER SERVER ROLE dbcreator ADD MEMBER ann", 15_151),
        ("RAISERROR ('x', 16, 1) WITH LOG", 2778),
        ("SELECT * FROM sys.dm_exec_connections", 300),
        ("SELECT * FROM sys.dm_os_wait_stats", 300),
        ("SELECT * FROM sys.dm_tran_locks", 300),
        ("SELECT * FROM sys.dm_exec_input_buffer(51, NULL)", 300),
        ("SELECT text FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle)", 300),
        ("SELECT * FROM sys.fn_dblog(NULL, NULL)", 262),
        ("SELECT * FROM sys.dm_db_stats_histogram(OBJECT_ID('t'), 1)", 262),
        ("SELECT * FROM sys.credentials", 300),
        ("SELECT * FROM sys.master_files", 300),
    ] {
        let said = said(&mut ann, sql);
        assert!(said.starts_with(&format!("Msg {number}:")), "{sql}\n{said}");
        allowed(&mut ann, "USE d");
    }
    assert!(!instance.shutdown_requested());
    allowed(&mut ann, "USE master");
    refused(&mut ann, "GRANT CONTROL SERVER TO ann", &[4613]);
    refused(&mut ann, "GRANT ALTER ANY LOGIN TO ann", &[4613]);
    allowed(&mut ann, "USE d");
    // Of sessions it sees its own.
    assert_eq!(
        allowed(&mut ann, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id <> @@SPID"),
        "0"
    );
    assert_eq!(
        allowed(&mut ann, "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id <> @@SPID"),
        "0"
    );
    // The own password, for whom knows the old one.
    refused(&mut ann, "ALTER LOGIN ann WITH PASSWORD = 'Other-l0ng-one' OLD_PASSWORD = 'wrong'", &[15_151]);
    allowed(&mut ann, "ALTER LOGIN ann WITH PASSWORD = 'Other-l0ng-one' OLD_PASSWORD = 'Some-l0ng-one'");
}

#[test]
fn fixed_roles_of_the_server() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    run(&instance, "ALTER SERVER ROLE dbcreator ADD MEMBER ann");
    allowed(&mut ann, "CREATE DATABASE anns");
    assert_eq!(
        allowed(&mut ann, "USE anns; CREATE TABLE x (a int); SELECT USER_NAME()"),
        "Changed database context to 'anns'.\ndbo"
    );
    assert_eq!(say(&instance, "DROP LOGIN ann").split(':').next(), Some("Msg 15174"));
    allowed(&mut ann, "USE master; DROP DATABASE anns");
    refused(&mut ann, "RESTORE DATABASE msdb FROM DISK = '/data/x.bak'", &[15_247]);
    refused(&mut ann, "CREATE LOGIN x WITH PASSWORD = 'Some-l0ng-one'", &[15_247]);
    run(
        &instance,
        "ALTER SERVER ROLE dbcreator DROP MEMBER ann; ALTER SERVER ROLE securityadmin ADD MEMBER ann",
    );
    allowed(&mut ann, "CREATE LOGIN x WITH PASSWORD = 'Some-l0ng-one'; ALTER LOGIN x DISABLE; DROP LOGIN x");
    // Whoever sets passwords of logins sets none of a sysadmin.
    refused(&mut ann, "ALTER LOGIN sa WITH PASSWORD = 'Some-l0ng-one'", &[15_151]);
    refused(&mut ann, "ALTER LOGIN sa DISABLE", &[15_151]);
    refused(&mut ann, "ALTER SERVER ROLE sysadmin ADD MEMBER ann", &[15_151]);
    refused(&mut ann, "GRANT CONTROL SERVER TO ann", &[4613]);
    refused(&mut ann, "EXECUTE AS LOGIN = 'sa'", &[15_406]);
    run(
        &instance,
        "ALTER SERVER ROLE securityadmin DROP MEMBER ann; ALTER SERVER ROLE processadmin ADD MEMBER ann",
    );
    refused(&mut ann, "KILL 99999", &[6106]);
    allowed(&mut ann, "SELECT COUNT(*) FROM sys.dm_os_wait_stats");
    run(&instance, "ALTER SERVER ROLE processadmin DROP MEMBER ann; GRANT VIEW SERVER STATE TO ann");
    allowed(&mut ann, "SELECT COUNT(*) FROM sys.dm_os_wait_stats");
    run(&instance, "DENY VIEW SERVER STATE TO ann");
    refused(&mut ann, "SELECT COUNT(*) FROM sys.dm_os_wait_stats", &[300]);
    run(&instance, "ALTER SERVER ROLE sysadmin ADD MEMBER ann");
    assert_eq!(
        allowed(&mut ann, "USE d; SELECT USER_NAME(), COUNT(*) FROM t"),
        "Changed database context to 'd'.\ndbo|2"
    );
    run(&instance, "ALTER SERVER ROLE sysadmin DROP MEMBER ann");
    refused(&mut ann, "SELECT * FROM t", &[229]);
    run(&instance, "DENY CONNECT SQL TO bob");
    let token = instance.authenticate("bob", PASSWORD, &ClientInfo::default()).unwrap();
    assert!(instance.session_for(&token, None).is_err());
}

#[test]
fn only_who_may_grants() {
    let instance = new();
    owner(&instance, &["CREATE USER bob", "GRANT SELECT ON t TO ann"]);
    let mut ann = login(&instance, "ann", "d");
    let mut bob = login(&instance, "bob", "d");
    refused(&mut ann, "GRANT SELECT ON t TO bob", &[15_151]);
    refused(&mut ann, "GRANT SELECT ON t TO ann WITH GRANT OPTION", &[15_151]);
    refused(&mut ann, "DENY SELECT ON t TO bob", &[15_151]);
    refused(&mut ann, "REVOKE SELECT ON t FROM ann", &[15_151]);
    owner(&instance, &["GRANT SELECT ON t TO ann WITH GRANT OPTION"]);
    allowed(&mut ann, "GRANT SELECT ON t TO bob");
    refused(&mut ann, "GRANT INSERT ON t TO bob", &[15_151]);
    allowed(&mut bob, "SELECT * FROM t");
    assert_eq!(
        say(
            &instance,
            "SELECT USER_NAME(grantee_principal_id), USER_NAME(grantor_principal_id), permission_name, state_desc FROM d.sys.database_permissions"
        ),
        "NULL|dbo|SELECT|GRANT_WITH_GRANT_OPTION\nNULL|NULL|SELECT|GRANT"
    );
    let mut admin = instance.session().unwrap();
    admin.use_database("d").unwrap();
    refused(&mut admin, "REVOKE SELECT ON t FROM ann", &[4611]);
    refused(&mut admin, "DROP USER ann", &[15_284]);
    allowed(&mut admin, "REVOKE SELECT ON t FROM ann CASCADE");
    refused(&mut bob, "SELECT * FROM t", &[229]);
    refused(&mut ann, "SELECT * FROM t", &[229]);
    for (sql, number) in [
        ("GRANT SELECT ON t TO dbo", 4624),
        ("GRANT SELECT ON t TO db_owner", 4617),
        ("GRANT SELECT ON t TO nobody", 15_151),
        ("GRANT SELECT ON nothing TO ann", 15_151),
        ("GRANT EXECUTE ON t TO ann", 4606),
        ("GRANT SELECT ON p TO ann", 4606),
        ("GRANT VIEW SERVER STATE TO ann", 4621),
        ("GRANT SELECT (nothing) ON t TO ann", 1911),
        ("GRANT INSERT (id) ON t TO ann", 1020),
        ("GRANT FLY ON t TO ann", 102),
        ("GRANT SELECT ON t TO ann AS bob", 40_510),
    ] {
        refused(&mut admin, sql, &[number]);
    }
    // A table takes its permissions with it.
    allowed(&mut admin, "GRANT ALL ON t TO ann; DROP TABLE t");
    assert_eq!(allowed(&mut admin, "SELECT COUNT(*) FROM sys.database_permissions"), "0");
    allowed(&mut admin, "CREATE TABLE t (id int)");
    refused(&mut ann, "SELECT * FROM t", &[229]);
    // A new schema or user is not an old one of the same number.
    allowed(
        &mut admin,
        "EXEC ('CREATE SCHEMA s'); GRANT SELECT ON SCHEMA::s TO ann; DROP SCHEMA s; EXEC ('CREATE SCHEMA s2'); CREATE TABLE s2.x (a int)",
    );
    refused(&mut ann, "SELECT * FROM s2.x", &[229]);
    allowed(
        &mut admin,
        "GRANT SELECT ON t TO bob; ALTER ROLE db_datareader ADD MEMBER bob; DROP USER bob; CREATE USER bob",
    );
    refused(&mut bob, "SELECT * FROM t", &[229]);
}

#[test]
fn execute_as_and_back() {
    let instance = new();
    owner(
        &instance,
        &["CREATE USER carl WITHOUT LOGIN", "GRANT SELECT ON t TO carl", "GRANT SELECT ON other TO ann"],
    );
    let mut ann = login(&instance, "ann", "d");
    refused(&mut ann, "EXECUTE AS USER = 'carl'", &[15_517]);
    refused(&mut ann, "EXECUTE AS USER = 'dbo'", &[15_517]);
    refused(&mut ann, "EXECUTE AS LOGIN = 'bob'", &[15_406]);
    allowed(&mut ann, "REVERT");
    owner(&instance, &["GRANT IMPERSONATE ON USER::carl TO ann"]);
    assert_eq!(
        allowed(&mut ann, "EXECUTE AS USER = 'carl'; SELECT USER_NAME(), COUNT(*), ORIGINAL_LOGIN() FROM t"),
        "carl|2|ann"
    );
    refused(&mut ann, "SELECT * FROM other", &[229]);
    refused(&mut ann, "EXECUTE AS USER = 'ann'", &[15_517]);
    assert_eq!(allowed(&mut ann, "REVERT; SELECT USER_NAME(), COUNT(*) FROM other"), "ann|0");
    refused(&mut ann, "SELECT * FROM t", &[229]);
    // What a text or a procedure begins ends with it, and it reverts nothing of its caller's.
    allowed(&mut ann, "EXEC ('EXECUTE AS USER = ''carl''')");
    refused(&mut ann, "SELECT * FROM t", &[229]);
    assert_eq!(
        allowed(
            &mut ann,
            "EXECUTE AS USER = 'carl'; EXEC ('REVERT; REVERT'); SELECT USER_NAME(); REVERT; REVERT; SELECT USER_NAME()"
        ),
        "carl\nann"
    );
    // The program itself can look through others' eyes, and is nobody more than that then.
    let mut admin = instance.session().unwrap();
    admin.use_database("d").unwrap();
    allowed(&mut admin, "EXECUTE AS USER = 'ann'");
    refused(&mut admin, "SELECT * FROM t", &[229]);
    refused(&mut admin, "SELECT * FROM sys.dm_os_wait_stats", &[300]);
    refused(&mut admin, "SHUTDOWN", &[6004]);
    assert_eq!(allowed(&mut admin, "REVERT; SELECT USER_NAME(), COUNT(*) FROM t"), "dbo|2");
    // As dbo of a database, it has nothing of the server.
    allowed(&mut admin, "EXECUTE AS USER = 'dbo'; SELECT COUNT(*) FROM t");
    refused(&mut admin, "CREATE LOGIN x WITH PASSWORD = 'Some-l0ng-one'", &[15_247]);
    refused(&mut admin, "SELECT * FROM sys.dm_os_wait_stats", &[300]);
    allowed(&mut admin, "REVERT");
    assert_eq!(
        allowed(
            &mut admin,
            "EXECUTE AS LOGIN = 'ann'; SELECT SUSER_SNAME(), ORIGINAL_LOGIN(), USER_NAME(); REVERT"
        ),
        "ann|sa|ann"
    );
    refused(&mut admin, "EXECUTE AS LOGIN = 'bob'", &[916]);
    assert_eq!(allowed(&mut admin, "SELECT SUSER_SNAME()"), "sa");
}

#[test]
fn execute_as_that_a_cookie_or_nothing_ends() {
    let instance = new();
    owner(&instance, &["CREATE USER carl WITHOUT LOGIN", "GRANT SELECT ON t TO carl"]);
    owner(&instance, &["GRANT IMPERSONATE ON USER::carl TO ann"]);
    owner(
        &instance,
        &["CREATE PROCEDURE never WITH EXECUTE AS CALLER AS EXECUTE AS USER = 'carl' WITH NO REVERT"],
    );
    owner(&instance, &["GRANT EXECUTE ON never TO ann"]);
    let mut ann = login(&instance, "ann", "d");
    allowed(&mut ann, "CREATE TABLE #c (c varbinary(8000))");
    let begin = "DECLARE @c varbinary(8000); EXECUTE AS USER = 'carl' WITH COOKIE INTO @c; INSERT #c VALUES (@c); SELECT USER_NAME()";
    let end = "DECLARE @c varbinary(8000) = (SELECT TOP (1) c FROM #c); REVERT WITH COOKIE = @c; SELECT USER_NAME()";
    assert_eq!(allowed(&mut ann, begin), "(1)\ncarl");
    refused(&mut ann, "REVERT", &[15_591]);
    refused(&mut ann, "DECLARE @c varbinary(8000) = 0x00; REVERT WITH COOKIE = @c", &[15_589]);
    refused(&mut ann, "DECLARE @c varbinary(8000); REVERT WITH COOKIE = @c", &[15_589]);
    // Not from a text inside.
    allowed(&mut ann, &format!("EXEC sp_executesql N'{}'", end.replace("; SELECT USER_NAME()", "")));
    assert_eq!(allowed(&mut ann, "SELECT USER_NAME()"), "carl");
    assert_eq!(allowed(&mut ann, end), "ann");
    // What had no cookie wants none.
    allowed(&mut ann, "EXECUTE AS USER = 'carl'");
    refused(&mut ann, &end.replace("; SELECT USER_NAME()", ""), &[15_591]);
    assert_eq!(allowed(&mut ann, "REVERT; SELECT USER_NAME()"), "ann");
    // A module cannot, nor can CALLER; what may not be acted as gives no cookie.
    refused(&mut ann, "EXEC never", &[15_590]);
    refused(&mut ann, "EXECUTE AS CALLER WITH NO REVERT", &[40_510]);
    refused(&mut ann, "DECLARE @c varbinary(9); EXECUTE AS USER = 'dbo' WITH COOKIE INTO @c", &[15_517]);
    refused(&mut ann, "EXECUTE AS USER = 'carl' WITH COOKIE INTO @nowhere", &[137]);
    // Nothing leads out of NO REVERT but the end of the session.
    allowed(&mut ann, "EXECUTE AS USER = 'carl' WITH NO REVERT");
    refused(&mut ann, "REVERT", &[15_591]);
    refused(&mut ann, &end.replace("; SELECT USER_NAME()", ""), &[15_591]);
    allowed(&mut ann, "EXEC ('REVERT')");
    assert_eq!(allowed(&mut ann, "SELECT USER_NAME()"), "carl");
    ann.reset(&mut Text::default()).unwrap();
    assert_eq!(allowed(&mut ann, "SELECT SUSER_SNAME()"), "ann");
}

#[test]
fn metadata_is_shown_to_whom_it_concerns() {
    let instance = new();
    owner(
        &instance,
        &["GRANT SELECT ON v TO ann", "CREATE USER carl WITHOUT LOGIN", "GRANT SELECT ON t TO carl"],
    );
    let mut ann = login(&instance, "ann", "d");
    assert_eq!(allowed(&mut ann, "SELECT name FROM sys.objects"), "v");
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM sys.tables"), "0");
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('t')"), "0");
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM sys.indexes WHERE object_id > 0"), "0");
    assert_eq!(allowed(&mut ann, "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES"), "v");
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM sys.sql_modules"), "0");
    assert_eq!(
        allowed(&mut ann, "SELECT OBJECT_DEFINITION(OBJECT_ID('p')), OBJECT_DEFINITION(OBJECT_ID('v'))"),
        "NULL|NULL"
    );
    assert_eq!(
        allowed(&mut ann, "SELECT name FROM sys.database_principals WHERE type = 'S' AND principal_id > 4"),
        "ann"
    );
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM sys.database_permissions"), "1");
    assert_eq!(allowed(&mut ann, "SELECT name FROM sys.sql_logins"), "sa\nann");
    let tables = said(&mut ann, "EXEC sp_tables @table_owner = 'dbo'");
    assert!(tables.contains("|v|") && !tables.contains("|t|"), "{tables}");
    assert_eq!(
        allowed(
            &mut ann,
            "SELECT HAS_PERMS_BY_NAME('v', 'OBJECT', 'SELECT'), HAS_PERMS_BY_NAME('dbo.t', 'OBJECT', 'SELECT'), HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'), HAS_PERMS_BY_NAME('d', 'DATABASE', 'CONNECT'), HAS_PERMS_BY_NAME('dbo', 'SCHEMA', 'ALTER'), HAS_PERMS_BY_NAME('t', 'OBJECT', 'FLY')"
        ),
        "1|0|0|1|0|NULL"
    );
    owner(&instance, &["GRANT VIEW DEFINITION TO ann"]);
    assert_eq!(
        allowed(&mut ann, "SELECT COUNT(*) FROM sys.tables; SELECT COUNT(*) FROM sys.sql_modules"),
        "2\n4"
    );
    refused(&mut ann, "SELECT * FROM t", &[229]);
}

#[test]
fn users_are_made_changed_and_dropped() {
    let instance = new();
    let mut admin = instance.session().unwrap();
    admin.use_database("d").unwrap();
    for (sql, number) in [
        ("CREATE USER ann", 15_023),
        ("CREATE USER nobody", 15_007),
        ("CREATE USER ann2 FOR LOGIN ann", 15_063),
        ("CREATE USER x WITH PASSWORD = 'Some-l0ng-one'", 33_233),
        ("CREATE USER bob WITH DEFAULT_SCHEMA = other", 40_510),
        ("CREATE USER dbo", 15_023),
        ("DROP USER dbo", 15_150),
        ("DROP USER nobody", 15_151),
        ("ALTER USER dbo WITH NAME = x", 15_150),
        ("DROP ROLE db_owner", 15_150),
        ("ALTER ROLE db_owner WITH NAME = x", 15_405),
        ("ALTER ROLE [public] ADD MEMBER ann", 15_081),
        ("ALTER ROLE db_owner ADD MEMBER dbo", 15_405),
        ("ALTER ROLE db_datareader ADD MEMBER db_owner", 15_405),
    ] {
        refused(&mut admin, sql, &[number]);
    }
    allowed(
        &mut admin,
        "CREATE USER bobby FOR LOGIN bob WITH DEFAULT_SCHEMA = dbo; ALTER USER bobby WITH NAME = Robert",
    );
    assert_eq!(
        allowed(
            &mut login(&instance, "bob", "d"),
            "SELECT USER_NAME(), USER_ID('robert'), DATABASE_PRINCIPAL_ID()"
        ),
        "Robert|6|6"
    );
    allowed(
        &mut admin,
        "CREATE ROLE r; CREATE ROLE r2; ALTER ROLE r ADD MEMBER robert; ALTER ROLE r2 ADD MEMBER r; GRANT SELECT ON t TO r2",
    );
    assert_eq!(
        allowed(
            &mut admin,
            "SELECT IS_ROLEMEMBER('r2', 'robert'), IS_ROLEMEMBER('r2', 'ann'), IS_MEMBER('db_owner')"
        ),
        "1|0|1"
    );
    assert_eq!(allowed(&mut login(&instance, "bob", "d"), "SELECT COUNT(*) FROM t"), "2");
    refused(&mut admin, "ALTER ROLE r ADD MEMBER r2", &[15_413]);
    refused(&mut admin, "DROP ROLE r", &[15_144]);
    allowed(&mut admin, "EXEC ('CREATE SCHEMA mine AUTHORIZATION robert')");
    refused(&mut admin, "DROP USER robert", &[15_138]);
    allowed(
        &mut admin,
        "DROP SCHEMA mine; EXEC sp_droprolemember 'r', 'robert'; DROP USER robert; DROP USER IF EXISTS robert",
    );
    refused(&mut admin, "DROP ROLE r2", &[15_144]);
    allowed(&mut admin, "ALTER ROLE r2 DROP MEMBER r; DROP ROLE r; DROP ROLE r2");
    // A login that is made again is another one.
    run(&instance, &format!("DROP LOGIN ann; CREATE LOGIN ann WITH PASSWORD = '{PASSWORD}'"));
    let token = instance.authenticate("ann", PASSWORD, &ClientInfo::default()).unwrap();
    assert_eq!(instance.session_for(&token, Some("d")).err().unwrap().number, 4060);
    allowed(&mut admin, "ALTER USER ann WITH LOGIN = ann");
    assert!(instance.session_for(&token, Some("d")).is_ok());
}

#[test]
fn changes_are_seen_when_they_commit() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    let mut admin = instance.session().unwrap();
    admin.use_database("d").unwrap();
    allowed(&mut admin, "BEGIN TRAN; GRANT SELECT ON t TO ann");
    refused(&mut ann, "SELECT * FROM t", &[229]);
    allowed(&mut admin, "ROLLBACK");
    refused(&mut ann, "SELECT * FROM t", &[229]);
    allowed(&mut admin, "BEGIN TRAN; GRANT SELECT ON t TO ann; COMMIT");
    allowed(&mut ann, "SELECT * FROM t");
    allowed(&mut admin, "BEGIN TRAN; REVOKE SELECT ON t FROM ann");
    allowed(&mut ann, "SELECT id FROM t WITH (NOLOCK)");
    allowed(&mut admin, "COMMIT");
    refused(&mut ann, "SELECT id FROM t WITH (NOLOCK)", &[229]);
}

#[test]
fn permissions_survive_a_power_loss() {
    let disk = SimDisk::new(9);
    let instance = open(&disk);
    run(&instance, "CREATE DATABASE d");
    owner(
        &instance,
        &["CREATE TABLE t (id int)", "CREATE USER carl WITHOUT LOGIN", "GRANT SELECT ON t TO carl"],
    );
    instance.close().unwrap();
    drop(instance);
    let sql = "USE d; BEGIN TRAN; CREATE ROLE r; ALTER ROLE r ADD MEMBER carl; DENY INSERT ON t TO r; COMMIT";
    power_loss(&disk, open, sql, 10, |instance, _, at| {
        let counts = "SELECT COUNT(*) FROM d.sys.database_permissions; SELECT COUNT(*) FROM d.sys.database_role_members; SELECT COUNT(*) FROM d.sys.database_principals WHERE name = 'r'";
        let found = say(instance, counts);
        assert!(found == "1\n1\n0" || found == "2\n2\n1", "I/O {at}: {found}");
    });
}

#[test]
fn types_are_used_with_permission() {
    let instance = new();
    owner(
        &instance,
        &[
            "CREATE TYPE lines AS TABLE (id int NOT NULL PRIMARY KEY)",
            "CREATE TYPE phone FROM varchar(20)",
            "CREATE PROCEDURE take @l lines READONLY AS SELECT COUNT(*) FROM @l",
            "CREATE PROCEDURE inside AS DECLARE @l lines; INSERT @l VALUES (1); SELECT COUNT(*) FROM @l",
            "GRANT CREATE TABLE TO ann; GRANT EXECUTE ON take TO ann; GRANT EXECUTE ON inside TO ann",
            "CREATE SCHEMA own AUTHORIZATION ann",
        ],
    );
    let mut ann = login(&instance, "ann", "d");
    let use_type = "DECLARE @l lines; INSERT @l VALUES (1), (2); EXEC take @l";
    let column = "CREATE TABLE own.c (p phone); DROP TABLE own.c";
    let add = "CREATE TABLE own.a (id int); ALTER TABLE own.a ADD p phone";
    assert!(said(&mut ann, use_type).starts_with(
        "Msg 229: The EXECUTE permission was denied on the object 'lines', database 'd', schema 'dbo'."
    ));
    assert!(
        said(&mut ann, column)
            .starts_with("Msg 229: The REFERENCES permission was denied on the object 'phone'")
    );
    assert!(said(&mut ann, add).starts_with("Msg 229"));
    // A variable of an alias type needs nothing, and a procedure uses its owner's types.
    assert_eq!(said(&mut ann, "DECLARE @p phone = '1'; SELECT @p; EXEC inside"), "1\n(1)\n1");
    owner(&instance, &["GRANT EXECUTE ON TYPE::lines TO ann; GRANT REFERENCES ON TYPE::dbo.phone TO ann"]);
    assert_eq!(said(&mut ann, use_type), "(2)\n2");
    assert_eq!(said(&mut ann, column), "");
    assert_eq!(
        said(
            &mut ann,
            "SELECT class, class_desc, permission_name FROM sys.database_permissions WHERE class = 6 ORDER BY 3"
        ),
        "6|TYPE|EXECUTE\n6|TYPE|REFERENCES"
    );
    // From the schema, and not against a DENY.
    owner(&instance, &["REVOKE EXECUTE ON TYPE::lines FROM ann; GRANT EXECUTE ON SCHEMA::dbo TO ann"]);
    assert_eq!(said(&mut ann, use_type), "(2)\n2");
    owner(&instance, &["DENY EXECUTE ON TYPE::lines TO ann"]);
    assert!(said(&mut ann, use_type).starts_with("Msg 229"));
    // Who may not may not grant, and what is not there is not found.
    assert!(said(&mut ann, "GRANT EXECUTE ON TYPE::lines TO PUBLIC").starts_with("Msg 15151"));
    assert!(said(&mut ann, "GRANT SELECT ON TYPE::lines TO PUBLIC").starts_with("Msg 4606"));
    // A type that is made anew begins without.
    owner(
        &instance,
        &[
            "REVOKE EXECUTE ON SCHEMA::dbo FROM ann; DROP PROCEDURE take; DROP PROCEDURE inside; DROP TYPE lines; DROP TYPE phone",
            "CREATE TYPE phone FROM varchar(20); CREATE TYPE lines AS TABLE (id int)",
        ],
    );
    assert!(said(&mut ann, "DECLARE @l lines").starts_with("Msg 229"));
    assert!(said(&mut ann, column).starts_with("Msg 229"));
    assert_eq!(said(&mut ann, "SELECT COUNT(*) FROM sys.database_permissions WHERE class = 6"), "0");
}

/// A batch that was run before is bound to the procedure; what the caller may, and whose the procedure is, is of now.
#[test]
fn a_call_that_is_bound_asks_for_rights_again() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    let call = "EXEC p";
    refused(&mut ann, call, &[229]);
    owner(&instance, &["GRANT EXECUTE ON p TO ann", "CREATE USER carl WITHOUT LOGIN"]);
    for _ in 0..3 {
        assert_eq!(allowed(&mut ann, call), "2");
    }
    owner(&instance, &["DENY EXECUTE ON p TO ann"]);
    refused(&mut ann, call, &[229]);
    owner(&instance, &["GRANT EXECUTE ON p TO ann"]);
    assert_eq!(allowed(&mut ann, call), "2");
    // Another's procedure reads with the caller's rights.
    owner(&instance, &["ALTER AUTHORIZATION ON p TO carl", "GRANT EXECUTE ON p TO ann"]);
    refused(&mut ann, call, &[229]);
    owner(&instance, &["ALTER AUTHORIZATION ON p TO SCHEMA OWNER", "GRANT EXECUTE ON p TO ann"]);
    assert_eq!(allowed(&mut ann, call), "2");
}

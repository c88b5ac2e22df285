//! Fixed roles of a database and of the server, and who may grant.

use super::{PASSWORD, allowed, login, new, owner, refused, run, said, say};
use engine::ClientInfo;

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
            let sql = format!(
                "ALTER ROLE {known} {} MEMBER ann",
                if known == role { "ADD" } else { "DROP" }
            );
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
        ("DBCC DBREINDEX (t)", 7983),
        ("EXEC sp_create_plan_guide N'g', N'SELECT 1', N'SQL'", 262),
        ("EXEC sp_control_plan_guide N'DROP ALL'", 262),
        ("EXEC sp_configure 'show advanced options', 1", 15_247),
        ("EXEC sp_detach_db d", 300),
        ("EXEC sp_attach_db 'x', '/data/x.mdf'", 262),
        ("EXEC sp_lock", 300),
        ("CREATE CREDENTIAL c WITH IDENTITY = 'i', SECRET = 's'", 300),
        ("DROP CREDENTIAL c", 300),
        ("BULK INSERT t FROM '/etc/passwd'", 4834),
        ("SELECT * FROM OPENROWSET(BULK '/etc/passwd', SINGLE_BLOB) x", 4834),
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
        (
            "SELECT text FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle)",
            300,
        ),
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
    // A login that knows its old password may change it.
    refused(
        &mut ann,
        "ALTER LOGIN ann WITH PASSWORD = 'Other-l0ng-one' OLD_PASSWORD = 'wrong'",
        &[15_151],
    );
    allowed(
        &mut ann,
        "ALTER LOGIN ann WITH PASSWORD = 'Other-l0ng-one' OLD_PASSWORD = 'Some-l0ng-one'",
    );
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
    allowed(
        &mut ann,
        "CREATE LOGIN x WITH PASSWORD = 'Some-l0ng-one'; ALTER LOGIN x DISABLE; DROP LOGIN x",
    );
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
    run(
        &instance,
        "ALTER SERVER ROLE processadmin DROP MEMBER ann; GRANT VIEW SERVER STATE TO ann",
    );
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
fn permissions_that_came_with_2022() {
    let instance = new();
    let mut ann = login(&instance, "ann", "d");
    let state = "SELECT COUNT(*) FROM sys.dm_os_wait_stats";
    refused(&mut ann, state, &[300]);
    run(&instance, "GRANT VIEW SERVER PERFORMANCE STATE TO ann");
    allowed(&mut ann, state);
    assert_eq!(
        say(
            &instance,
            "SELECT type, permission_name FROM sys.server_permissions WHERE grantee_principal_id = SUSER_ID('ann') AND type LIKE 'V%'"
        ),
        "VSP|VIEW SERVER PERFORMANCE STATE"
    );
    run(&instance, "DENY VIEW SERVER STATE TO ann");
    refused(&mut ann, state, &[300]);
    run(
        &instance,
        "REVOKE VIEW SERVER STATE FROM ann; REVOKE VIEW SERVER PERFORMANCE STATE FROM ann",
    );
    // Of a database.
    let space = "SELECT COUNT(*) FROM sys.dm_db_log_space_usage";
    refused(&mut ann, space, &[262]);
    owner(&instance, &["GRANT VIEW DATABASE PERFORMANCE STATE TO ann"]);
    allowed(&mut ann, space);
    owner(
        &instance,
        &["REVOKE VIEW DATABASE PERFORMANCE STATE FROM ann", "GRANT VIEW DATABASE STATE TO ann"],
    );
    allowed(&mut ann, space);
    // Who may read the error log, make logins and users, and know of principals.
    refused(&mut ann, "EXEC sp_readerrorlog", &[300]);
    run(&instance, "GRANT VIEW ANY ERROR LOG TO ann; GRANT CREATE LOGIN TO ann");
    allowed(&mut ann, "EXEC sp_readerrorlog");
    allowed(&mut ann, "CREATE LOGIN cid WITH PASSWORD = 'Some-l0ng-one'");
    refused(&mut ann, "ALTER LOGIN bob DISABLE", &[15_151]);
    refused(&mut ann, "CREATE USER nobody WITHOUT LOGIN", &[15_247]);
    owner(&instance, &["GRANT CREATE USER TO ann", "CREATE USER bob"]);
    allowed(&mut ann, "CREATE USER nobody WITHOUT LOGIN");
    refused(&mut ann, "DROP USER bob", &[15_247]);
    let knows = "SELECT COUNT(*) FROM sys.database_principals WHERE name = 'bob'";
    assert_eq!(allowed(&mut ann, knows), "0");
    owner(&instance, &["GRANT VIEW SECURITY DEFINITION TO ann"]);
    assert_eq!(allowed(&mut ann, knows), "1");
    let logins = "SELECT COUNT(*) FROM sys.server_principals WHERE name = 'bob'";
    assert_eq!(allowed(&mut ann, logins), "0");
    run(&instance, "GRANT VIEW ANY SECURITY DEFINITION TO ann");
    assert_eq!(allowed(&mut ann, logins), "1");
    for grant in [
        "GRANT VIEW ANY PERFORMANCE DEFINITION TO ann",
        "GRANT VIEW ANY CRYPTOGRAPHICALLY SECURED DEFINITION TO ann",
        "GRANT VIEW SERVER SECURITY STATE TO ann",
    ] {
        run(&instance, grant);
    }
    owner(
        &instance,
        &[
            "GRANT VIEW PERFORMANCE DEFINITION TO ann",
            "GRANT VIEW CRYPTOGRAPHICALLY SECURED DEFINITION TO ann",
            "GRANT VIEW DATABASE SECURITY STATE TO ann",
        ],
    );
}

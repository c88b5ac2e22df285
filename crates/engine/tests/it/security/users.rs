//! Users: who gets into a database, what they see of it, how they are made, and that their
//! permissions last.

use super::{PASSWORD, allowed, login, new, open, owner, power_loss, refused, run, said, say};
use engine::ClientInfo;
use sim::SimDisk;

#[test]
fn a_login_without_a_user_stays_out() {
    let instance = new();
    let token = instance.authenticate("bob", PASSWORD, &ClientInfo::default()).unwrap();
    assert_eq!(instance.session_for(&token, Some("d")).err().unwrap().number, 4060);
    let mut bob = instance.session_for(&token, None).unwrap();
    assert_eq!(
        allowed(&mut bob, "SELECT DB_NAME(), USER_NAME(), SUSER_SNAME()"),
        "master|guest|bob"
    );
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
        allowed(
            &mut bob,
            "CREATE TABLE #x (a int); INSERT #x VALUES (1); SELECT a FROM #x; DROP TABLE #x"
        ),
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
fn metadata_is_shown_to_whom_it_concerns() {
    let instance = new();
    owner(
        &instance,
        &[
            "GRANT SELECT ON v TO ann",
            "CREATE USER carl WITHOUT LOGIN",
            "GRANT SELECT ON t TO carl",
        ],
    );
    let mut ann = login(&instance, "ann", "d");
    assert_eq!(allowed(&mut ann, "SELECT name FROM sys.objects"), "v");
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM sys.tables"), "0");
    assert_eq!(
        allowed(&mut ann, "SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('t')"),
        "0"
    );
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM sys.indexes WHERE object_id > 0"), "0");
    assert_eq!(allowed(&mut ann, "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES"), "v");
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM sys.sql_modules"), "0");
    assert_eq!(
        allowed(
            &mut ann,
            "SELECT OBJECT_DEFINITION(OBJECT_ID('p')), OBJECT_DEFINITION(OBJECT_ID('v'))"
        ),
        "NULL|NULL"
    );
    assert_eq!(
        allowed(
            &mut ann,
            "SELECT name FROM sys.database_principals WHERE type = 'S' AND principal_id > 4"
        ),
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

//! Application roles: a session takes one on by its password, has its rights alone, and gives it
//! back by a cookie; and the ways around that must not be there.

use std::sync::Arc;

use crate::support::text::{Text, run, try_open};
use engine::{ClientInfo, Instance, Session};
use sim::SimDisk;

const PASSWORD: &str = "Some-l0ng-one";
const ROLES: &str = "R0le-pass-word";

/// A database `d` with tables and a procedure of dbo, an application role `app` that may read `t`
/// and run `p`; login `ann` is a user that may read `mine`, `boss` a sysadmin.
fn new(disk: &SimDisk) -> Arc<Instance> {
    let instance = try_open(disk, 32 << 20).unwrap();
    run(&instance, "CREATE DATABASE d; CREATE DATABASE other");
    for name in ["ann", "boss"] {
        run(&instance, &format!("CREATE LOGIN {name} WITH PASSWORD = '{PASSWORD}'"));
    }
    run(&instance, "ALTER SERVER ROLE sysadmin ADD MEMBER boss");
    let mut own = instance.session().unwrap();
    own.use_database("d").unwrap();
    for sql in [
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY); INSERT t VALUES (1), (2); CREATE TABLE mine (a int); INSERT mine VALUES (7)",
        "CREATE TABLE hidden (a int)",
        "CREATE PROCEDURE p AS SELECT COUNT(*) FROM hidden",
        "CREATE USER ann; GRANT SELECT ON mine TO ann",
        "CREATE APPLICATION ROLE app WITH PASSWORD = 'R0le-pass-word', DEFAULT_SCHEMA = dbo",
        "GRANT SELECT ON t TO app; GRANT EXECUTE ON p TO app",
        "USE other; CREATE USER ann; CREATE TABLE o (a int); GRANT SELECT ON o TO ann",
    ] {
        allowed(&mut own, sql);
    }
    instance
}

fn said(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

fn login(instance: &Arc<Instance>, name: &str) -> Session {
    let token = instance.authenticate(name, PASSWORD, &ClientInfo::default()).unwrap();
    instance.session_for(&token, Some("d")).unwrap()
}

#[track_caller]
fn refused(session: &mut Session, sql: &str, number: i32) {
    let said = said(session, sql);
    assert!(said.starts_with(&format!("Msg {number}: ")) && !said.contains('\n'), "{sql}\n{said}");
}

#[track_caller]
fn allowed(session: &mut Session, sql: &str) -> String {
    let said = said(session, sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
    said
}

#[track_caller]
fn take(session: &mut Session) {
    allowed(session, &format!("EXEC sp_setapprole 'app', '{ROLES}'"));
}

#[test]
fn the_rights_are_the_roles_and_publics() {
    let instance = new(&SimDisk::new(3));
    let mut ann = login(&instance, "ann");
    assert_eq!(allowed(&mut ann, "SELECT a FROM mine"), "7");
    refused(&mut ann, "SELECT id FROM t", 229);
    take(&mut ann);
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM t"), "2");
    assert_eq!(allowed(&mut ann, "EXEC p"), "0");
    refused(&mut ann, "SELECT a FROM mine", 229);
    refused(&mut ann, "SELECT a FROM hidden", 229);
    refused(&mut ann, "INSERT t VALUES (3)", 229);
    assert_eq!(
        allowed(&mut ann, "SELECT USER_NAME(), CURRENT_USER, SUSER_SNAME(), ORIGINAL_LOGIN()"),
        "app|app|ann|ann"
    );
    // Other databases know it as guest alone.
    refused(&mut ann, "USE other", 916);
    refused(&mut ann, "SELECT * FROM other.dbo.o", 916);
    run(&instance, "USE other; GRANT CONNECT TO guest");
    allowed(&mut ann, "USE other");
    refused(&mut ann, "SELECT * FROM o", 229);
    assert_eq!(allowed(&mut ann, "SELECT USER_NAME()"), "guest");
    allowed(&mut ann, "USE d");
    // What is granted later is in force at once.
    run(&instance, "USE d; GRANT SELECT ON mine TO app");
    assert_eq!(allowed(&mut ann, "SELECT a FROM mine"), "7");
    run(&instance, "USE d; DENY SELECT ON t TO app");
    refused(&mut ann, "SELECT id FROM t", 229);
}

#[test]
fn nothing_of_the_login_is_left() {
    let instance = new(&SimDisk::new(3));
    for mut session in [login(&instance, "boss"), {
        let mut own = instance.session().unwrap();
        own.use_database("d").unwrap();
        own
    }] {
        allowed(&mut session, "SELECT * FROM hidden");
        take(&mut session);
        refused(&mut session, "SELECT * FROM hidden", 229);
        refused(&mut session, "CREATE TABLE x (a int)", 262);
        refused(&mut session, "CREATE LOGIN x WITH PASSWORD = 'Abcdefg1!'", 15_247);
        refused(&mut session, "ALTER APPLICATION ROLE app WITH PASSWORD = 'Abcdefg1!'", 15_151);
        refused(&mut session, "EXECUTE AS LOGIN = 'boss'", 15_406);
        refused(&mut session, "EXECUTE AS USER = 'dbo'", 15_517);
        refused(&mut session, "CREATE DATABASE y", 262);
        refused(&mut session, "SHUTDOWN", 6004);
        assert_eq!(
            allowed(&mut session, "SELECT IS_SRVROLEMEMBER('sysadmin'), IS_MEMBER('db_owner')"),
            "0|0"
        );
        // REVERT does not leave it, and a batch, a text or a procedure that ends does not either.
        for sql in ["REVERT", "REVERT; REVERT", "EXEC ('REVERT')", "EXEC p", "SELECT 1 AS a"] {
            said(&mut session, sql);
            assert_eq!(allowed(&mut session, "SELECT USER_NAME()"), "app", "{sql}");
        }
        refused(&mut session, "EXEC sp_unsetapprole 0x00", 15_592);
        refused(&mut session, "EXEC sp_unsetapprole NULL", 15_592);
        refused(&mut session, "EXEC sp_unsetapprole 0x", 15_592);
    }
}

#[test]
fn a_cookie_gives_the_rights_back() {
    let instance = new(&SimDisk::new(3));
    let mut ann = login(&instance, "ann");
    allowed(&mut ann, "CREATE TABLE #c (c varbinary(8000))");
    let set = format!(
        "DECLARE @c varbinary(8000); EXEC sp_setapprole 'app', '{ROLES}', @fCreateCookie = true, @cookie = @c OUTPUT; \
         INSERT #c VALUES (@c); SELECT USER_NAME(), DATALENGTH(@c)"
    );
    assert_eq!(allowed(&mut ann, &set), "(1)\napp|50");
    let unset = "DECLARE @c varbinary(8000) = (SELECT c FROM #c); EXEC sp_unsetapprole @c; SELECT USER_NAME()";
    // Not from a text or procedure, and not with another.
    let inner = format!("EXEC ('{unset}')");
    refused(&mut ann, &inner.replace("; SELECT USER_NAME()", ""), 15_592);
    assert_eq!(allowed(&mut ann, unset), "ann");
    assert_eq!(allowed(&mut ann, "SELECT a FROM mine"), "7");
    // A cookie serves once.
    refused(&mut ann, &unset.replace("; SELECT USER_NAME()", ""), 15_592);
    take(&mut ann);
    refused(&mut ann, &unset.replace("; SELECT USER_NAME()", ""), 15_592);
    // A connection that is given to somebody else is its login's again.
    ann.reset(&mut Text::default()).unwrap();
    assert_eq!(
        allowed(&mut ann, "USE d; SELECT USER_NAME()"),
        "Changed database context to 'd'.\nann"
    );
}

#[test]
fn a_role_wants_its_password_and_the_ad_hoc_level() {
    let instance = new(&SimDisk::new(3));
    let mut ann = login(&instance, "ann");
    refused(&mut ann, "EXEC sp_setapprole 'app', 'r0le-pass-word'", 15_161);
    refused(&mut ann, "EXEC sp_setapprole 'nobody', 'R0le-pass-word'", 15_161);
    refused(&mut ann, "EXEC sp_setapprole 'ann', 'Some-l0ng-one'", 15_161);
    refused(&mut ann, "EXEC sp_setapprole 'app', NULL", 15_161);
    let set = format!("EXEC sp_setapprole 'app', '{ROLES}'");
    refused(&mut ann, &format!("EXEC ('{}')", set.replace('\'', "''")), 15_422);
    refused(&mut ann, &format!("EXEC sp_executesql N'{}'", set.replace('\'', "''")), 15_422);
    refused(&mut ann, &format!("BEGIN TRAN {set} ROLLBACK"), 15_002);
    refused(&mut ann, &format!("{set}, 'odbc'"), 40_510);
    refused(&mut ann, &format!("{set}, 'rot13'"), 15_600);
    assert_eq!(allowed(&mut ann, "SELECT USER_NAME()"), "ann");
    allowed(&mut ann, &format!("{set}, 'none'"));
    assert_eq!(allowed(&mut ann, "SELECT USER_NAME()"), "app");
}

#[test]
fn many_wrong_passwords_are_made_to_wait() {
    let instance = new(&SimDisk::new(3));
    let mut ann = login(&instance, "ann");
    for _ in 0..5 {
        refused(&mut ann, "EXEC sp_setapprole 'app', 'wrong'", 15_161);
    }
    refused(&mut ann, &format!("EXEC sp_setapprole 'app', '{ROLES}'"), 15_161);
    let mut boss = login(&instance, "boss");
    take(&mut boss);
}

#[test]
fn it_is_made_changed_and_dropped_by_whom_may() {
    let instance = new(&SimDisk::new(3));
    let mut ann = login(&instance, "ann");
    refused(&mut ann, "CREATE APPLICATION ROLE x WITH PASSWORD = 'Abcdefg1!'", 15_247);
    refused(&mut ann, "DROP APPLICATION ROLE app", 15_151);
    refused(&mut ann, "ALTER APPLICATION ROLE app WITH NAME = y", 15_151);
    run(&instance, "USE d; GRANT ALTER ANY APPLICATION ROLE TO ann");
    allowed(
        &mut ann,
        "CREATE APPLICATION ROLE x WITH PASSWORD = 'Abcdefg1!'; ALTER APPLICATION ROLE x WITH NAME = y",
    );
    refused(&mut ann, "CREATE APPLICATION ROLE y WITH PASSWORD = 'Abcdefg1!'", 15_023);
    refused(&mut ann, "CREATE APPLICATION ROLE z WITH PASSWORD = 'short'", 33_062);
    allowed(&mut ann, "ALTER APPLICATION ROLE y WITH PASSWORD = 'Hijklmn2!', DEFAULT_SCHEMA = dbo");
    refused(&mut ann, "EXEC sp_setapprole 'y', 'Abcdefg1!'", 15_161);
    let mut own = instance.session().unwrap();
    own.use_database("d").unwrap();
    assert_eq!(
        allowed(
            &mut own,
            "SELECT name, type, type_desc, default_schema_name, owning_principal_id, is_fixed_role, authentication_type_desc
             FROM sys.database_principals WHERE type = 'A'; SELECT name FROM sysusers WHERE isapprole = 1 AND issqlrole = 0"
        ),
        "app|A|APPLICATION_ROLE|dbo|NULL|0|NONE\ny|A|APPLICATION_ROLE|dbo|NULL|0|NONE\napp\ny"
    );
    // No member of it, no impersonation of it; it may be a member itself.
    refused(&mut own, "ALTER ROLE y ADD MEMBER ann", 15_151);
    refused(&mut own, "EXECUTE AS USER = 'y'", 15_517);
    allowed(
        &mut own,
        "ALTER ROLE db_datareader ADD MEMBER y; GRANT ALTER ON APPLICATION ROLE::y TO ann",
    );
    let mut other = login(&instance, "ann");
    allowed(&mut other, "EXEC sp_setapprole 'y', 'Hijklmn2!'; SELECT * FROM hidden");
    // Who has gone has no rights left, and whoever gets its number next gives it none.
    allowed(&mut ann, "DROP APPLICATION ROLE y");
    refused(&mut other, "SELECT * FROM hidden", 916);
    allowed(&mut own, "CREATE USER somebody WITHOUT LOGIN; GRANT SELECT TO somebody");
    refused(&mut other, "SELECT * FROM hidden", 916);
    allowed(
        &mut own,
        "EXEC sp_addapprole 'old', 'Abcdefg1!'; EXEC sp_approlepassword 'old', 'Hijklmn2!'",
    );
    refused(&mut ann, "EXEC sp_setapprole 'old', 'Abcdefg1!'", 15_161);
    allowed(&mut own, "EXEC sp_dropapprole 'old'");
    refused(&mut ann, "EXEC sp_setapprole 'old', 'Hijklmn2!'", 15_161);
}

#[test]
fn it_survives_a_power_loss_and_is_rolled_back() {
    let disk = SimDisk::new(3);
    let before = new(&disk);
    let mut own = before.session().unwrap();
    own.use_database("d").unwrap();
    allowed(
        &mut own,
        "BEGIN TRAN; CREATE APPLICATION ROLE gone WITH PASSWORD = 'Abcdefg1!'; ROLLBACK",
    );
    refused(&mut own, "EXEC sp_setapprole 'gone', 'Abcdefg1!'", 15_161);
    drop(own);
    let instance = try_open(&disk.crash(0), 32 << 20).unwrap();
    let mut ann = login(&instance, "ann");
    take(&mut ann);
    assert_eq!(allowed(&mut ann, "SELECT COUNT(*) FROM t"), "2");
}

#[test]
fn triggers_see_it_made() {
    let instance = new(&SimDisk::new(3));
    let mut own = instance.session().unwrap();
    own.use_database("d").unwrap();
    allowed(&mut own, "CREATE TABLE seen (what nvarchar(100), said nvarchar(max))");
    allowed(
        &mut own,
        "CREATE TRIGGER watch ON DATABASE FOR DDL_APPLICATION_ROLE_EVENTS AS INSERT seen VALUES (
           EVENTDATA().value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(100)'), CAST(EVENTDATA() AS nvarchar(max)))",
    );
    allowed(&mut own, "CREATE APPLICATION ROLE x WITH PASSWORD = 'Abcdefg1!'");
    allowed(&mut own, "DROP APPLICATION ROLE x");
    assert_eq!(
        allowed(&mut own, "SELECT what, CHARINDEX('Abcdefg1!', said) FROM seen ORDER BY what"),
        "CREATE_APPLICATION_ROLE|0\nDROP_APPLICATION_ROLE|0"
    );
}

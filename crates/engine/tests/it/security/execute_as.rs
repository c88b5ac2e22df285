//! EXECUTE AS in its forms, and the ways back.

use super::{allowed, login, new, owner, refused};
use crate::support::text::Text;

#[test]
fn execute_as_and_back() {
    let instance = new();
    owner(
        &instance,
        &[
            "CREATE USER carl WITHOUT LOGIN",
            "GRANT SELECT ON t TO carl",
            "GRANT SELECT ON other TO ann",
        ],
    );
    let mut ann = login(&instance, "ann", "d");
    refused(&mut ann, "EXECUTE AS USER = 'carl'", &[15_517]);
    refused(&mut ann, "EXECUTE AS USER = 'dbo'", &[15_517]);
    refused(&mut ann, "EXECUTE AS LOGIN = 'bob'", &[15_406]);
    allowed(&mut ann, "REVERT");
    owner(&instance, &["GRANT IMPERSONATE ON USER::carl TO ann"]);
    assert_eq!(
        allowed(
            &mut ann,
            "EXECUTE AS USER = 'carl'; SELECT USER_NAME(), COUNT(*), ORIGINAL_LOGIN() FROM t"
        ),
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
        &[
            "CREATE PROCEDURE never WITH EXECUTE AS CALLER AS EXECUTE AS USER = 'carl' WITH NO REVERT",
        ],
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
    allowed(
        &mut ann,
        &format!("EXEC sp_executesql N'{}'", end.replace("; SELECT USER_NAME()", "")),
    );
    assert_eq!(allowed(&mut ann, "SELECT USER_NAME()"), "carl");
    assert_eq!(allowed(&mut ann, end), "ann");
    // What had no cookie wants none.
    allowed(&mut ann, "EXECUTE AS USER = 'carl'");
    refused(&mut ann, &end.replace("; SELECT USER_NAME()", ""), &[15_591]);
    assert_eq!(allowed(&mut ann, "REVERT; SELECT USER_NAME()"), "ann");
    // A module cannot, nor can CALLER; what may not be acted as gives no cookie.
    refused(&mut ann, "EXEC never", &[15_590]);
    refused(&mut ann, "EXECUTE AS CALLER WITH NO REVERT", &[40_510]);
    refused(
        &mut ann,
        "DECLARE @c varbinary(9); EXECUTE AS USER = 'dbo' WITH COOKIE INTO @c",
        &[15_517],
    );
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

/// SETUSER is EXECUTE AS USER for who owns the database, and nobody else.
#[test]
fn setuser_is_for_the_owner() {
    let instance = new();
    owner(
        &instance,
        &[
            "CREATE USER carl WITHOUT LOGIN",
            "GRANT SELECT ON t TO carl",
            "CREATE USER bob",
            "ALTER ROLE db_owner ADD MEMBER bob",
        ],
    );
    let mut admin = instance.session().unwrap();
    admin.use_database("d").unwrap();
    assert_eq!(allowed(&mut admin, "SETUSER; SELECT USER_NAME()"), "dbo");
    assert_eq!(
        allowed(&mut admin, "SETUSER 'carl'; SELECT USER_NAME(), COUNT(*) FROM t"),
        "carl|2"
    );
    refused(&mut admin, "SELECT * FROM other", &[229]);
    // Another one takes the place of the first, which is no owner.
    assert_eq!(allowed(&mut admin, "SETUSER N'ann'; SELECT USER_NAME()"), "ann");
    assert_eq!(allowed(&mut admin, "SETUSER SELECT USER_NAME()"), "dbo");
    refused(&mut admin, "SETUSER 'nobody'", &[15_517]);
    refused(&mut admin, "SETUSER carl", &[102]);
    // In a text it ends with the text.
    assert_eq!(
        allowed(&mut admin, "EXEC ('SETUSER ''carl''; SELECT USER_NAME()'); SELECT USER_NAME()"),
        "carl\ndbo"
    );
    // Nothing resets this one.
    assert_eq!(
        allowed(&mut admin, "SETUSER 'carl' WITH NORESET; SETUSER; SELECT USER_NAME()"),
        "carl"
    );
    refused(&mut admin, "REVERT", &[15_591]);
    refused(&mut admin, "SETUSER 'ann'", &[15_247]);
    for name in ["ann", "bob"] {
        let mut other = login(&instance, name, "d");
        refused(&mut other, "SETUSER 'carl'", &[15_247]);
        allowed(&mut other, "SETUSER");
    }
}

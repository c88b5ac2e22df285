//! What GRANT and DENY open and close: tables, columns, types, and statements that are kept bound.

use super::{allowed, login, new, owner, refused, said};
use crate::support::text::Text;
use engine::Session;

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
    let prepared = ann
        .prepare("SELECT secret FROM t WHERE id = @id", &[("@id", engine::DataType::Int)])
        .unwrap();
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
    owner(
        &instance,
        &["CREATE TABLE one (id int PRIMARY KEY, n int NOT NULL); INSERT one VALUES (1, 0)"],
    );
    owner(
        &instance,
        &["GRANT SELECT, INSERT, UPDATE ON one TO ann", "CREATE USER carl WITHOUT LOGIN"],
    );
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
        // It has run often enough to take the short way; then the right goes, comes back, and is
        // another's.
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
    owner(
        &instance,
        &["REVOKE CONTROL ON SCHEMA::dbo FROM readers", "ALTER ROLE readers DROP MEMBER ann"],
    );
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
    owner(
        &instance,
        &["GRANT EXECUTE ON TYPE::lines TO ann; GRANT REFERENCES ON TYPE::dbo.phone TO ann"],
    );
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
    owner(
        &instance,
        &["REVOKE EXECUTE ON TYPE::lines FROM ann; GRANT EXECUTE ON SCHEMA::dbo TO ann"],
    );
    assert_eq!(said(&mut ann, use_type), "(2)\n2");
    owner(&instance, &["DENY EXECUTE ON TYPE::lines TO ann"]);
    assert!(said(&mut ann, use_type).starts_with("Msg 229"));
    // Who may not may not grant, and what is not there is not found.
    assert!(said(&mut ann, "GRANT EXECUTE ON TYPE::lines TO PUBLIC").starts_with("Msg 15151"));
    assert!(said(&mut ann, "GRANT SELECT ON TYPE::lines TO PUBLIC").starts_with("Msg 4606"));
    // A type that is made again begins without permissions.
    owner(
        &instance,
        &[
            "REVOKE EXECUTE ON SCHEMA::dbo FROM ann; DROP PROCEDURE take; DROP PROCEDURE inside; DROP TYPE lines; DROP TYPE phone",
            "CREATE TYPE phone FROM varchar(20); CREATE TYPE lines AS TABLE (id int)",
        ],
    );
    assert!(said(&mut ann, "DECLARE @l lines").starts_with("Msg 229"));
    assert!(said(&mut ann, column).starts_with("Msg 229"));
    assert_eq!(
        said(&mut ann, "SELECT COUNT(*) FROM sys.database_permissions WHERE class = 6"),
        "0"
    );
}

/// A batch that was run before is bound to the procedure; what the caller may, and whose the
/// procedure is, is of now.
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

/// A right that goes while its statement waits for whoever takes it is gone.
#[test]
fn a_right_that_is_taken_back_meanwhile_is_used_by_nobody() {
    let cases = [
        ("GRANT SELECT ON t TO ann WITH GRANT OPTION", "GRANT SELECT ON t TO carl", 15151),
        ("GRANT CONTROL ON t TO ann", "DENY INSERT ON t TO carl", 15151),
        ("ALTER ROLE db_securityadmin ADD MEMBER ann", "REVOKE CONNECT FROM carl", 4613),
        ("GRANT ALTER ANY ROLE TO ann", "ALTER ROLE r ADD MEMBER carl", 15151),
        ("GRANT CREATE ROLE TO ann", "CREATE ROLE s", 262),
        ("GRANT ALTER ANY USER TO ann", "DROP USER carl", 15247),
        ("GRANT TAKE OWNERSHIP ON t TO ann", "ALTER AUTHORIZATION ON t TO ann", 15247),
    ];
    for (give, use_it, error) in cases {
        let instance = new();
        owner(&instance, &["CREATE USER carl WITHOUT LOGIN", "CREATE ROLE r", give]);
        let take = match give.strip_prefix("GRANT ") {
            Some(right) => {
                let right = right.replace(" WITH GRANT OPTION", " CASCADE");
                format!("REVOKE {}", right.replace(" TO ann", " FROM ann"))
            }
            None => give.replace("ADD", "DROP"),
        };
        let mut ann = login(&instance, "ann", "d");
        let mut taker = instance.session().unwrap();
        taker.use_database("d").unwrap();
        allowed(&mut taker, &format!("BEGIN TRAN; {take}"));
        let waiting = std::thread::spawn(move || said(&mut ann, use_it));
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!waiting.is_finished(), "{use_it} did not wait");
        allowed(&mut taker, "COMMIT");
        let said = waiting.join().unwrap();
        assert!(said.starts_with("Msg ") && !said.contains("Msg 1205"), "{use_it}: {said}");
        assert!(said.contains(&format!("Msg {error}:")), "{use_it}: {said}");
    }
}

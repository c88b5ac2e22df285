//! Dynamic data masking: what users without UNMASK see, by type and by kind of statement; the right
//! at each scope; definitions, views of the catalog and errors; and the ways around a mask that
//! must not be there.

use std::sync::Arc;

use crate::support::text::{Text, run, try_open};
use engine::{Instance, Session};
use sim::SimDisk;

/// A database `d` with a masked table, and a user `u` who may read it.
fn new(disk: &SimDisk) -> (Arc<Instance>, Session) {
    let instance = try_open(disk, 32 << 20).unwrap();
    run(&instance, "CREATE DATABASE d");
    let mut own = instance.session().unwrap();
    own.use_database("d").unwrap();
    for sql in [
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY,
           s varchar(20) MASKED WITH (FUNCTION = 'default()'),
           e varchar(40) MASKED WITH (FUNCTION = 'email()'),
           p varchar(30) MASKED WITH (FUNCTION = 'partial(2, \"-XX-\", 1)'),
           i int MASKED WITH (FUNCTION = 'default()'),
           dt datetime2(3) MASKED WITH (FUNCTION = 'datetime(\"M\")'),
           plain varchar(10))",
        "INSERT t VALUES (1, 'hello', 'john@x.com', 'abcdefghij', 42, '2021-07-15 13:14:15.678', 'p1'),
                         (2, 'ab', '', 'ab', 7, '2020-02-29 01:02:03', 'p2'), (3, NULL, NULL, NULL, NULL, NULL, NULL)",
        "CREATE USER u WITHOUT LOGIN",
        "GRANT SELECT ON t TO u",
    ] {
        said_well(&mut own, sql);
    }
    (instance, own)
}

fn said(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

#[track_caller]
fn said_well(session: &mut Session, sql: &str) -> String {
    let said = said(session, sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
    said
}

/// What the user is told.
#[track_caller]
fn seen(own: &mut Session, sql: &str, wanted: &str) {
    all_seen(own, &[(sql, wanted)]);
}

/// What the user is told, of each statement.
#[track_caller]
fn all_seen(own: &mut Session, list: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (sql, wanted) in list {
        let text = said(own, &format!("EXECUTE AS USER = 'u'; {sql}"));
        said_well(own, "IF USER_NAME() = 'u' REVERT");
        if text != *wanted {
            wrong.push_str(&format!("{sql}\n  says   {text:?}\n  wanted {wanted:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[track_caller]
fn refused(own: &mut Session, sql: &str, wanted: &str) {
    assert_eq!(said(own, sql), wanted, "{sql}");
}

#[test]
fn each_kind_of_mask() {
    let disk = SimDisk::new(1);
    let (_instance, mut own) = new(&disk);
    all_seen(
        &mut own,
        &[
            (
                "SELECT s, e, p, i, dt, plain FROM t WHERE id = 1",
                "xxxx|jXXX@XXXX.com|ab-XX-j|0|2021-01-15 13:14:15.000|p1",
            ),
            ("SELECT s, e, p, i, plain FROM t WHERE id = 2", "xxxx|xxxx|-XX-|0|p2"),
            ("SELECT s, e, p, i, dt FROM t WHERE id = 3", "NULL|NULL|NULL|NULL|NULL"),
            ("SELECT * FROM t WHERE id = 2", "2|xxxx|xxxx|-XX-|0|2020-01-29 01:02:03.000|p2"),
        ],
    );
    assert_eq!(said_well(&mut own, "SELECT s, e, i FROM t WHERE id = 1"), "hello|john@x.com|42");
    for (ty, mask, value, wanted) in [
        ("char(6)", "default()", "'abc'", "xxxx"),
        ("nchar(3)", "default()", "'ab'", "xxx"),
        ("varchar(1)", "default()", "'a'", "x"),
        ("varchar(5)", "email()", "'abc'", "aXXX@"),
        ("varchar(10)", "partial(2, \"*\", 2)", "'abcd'", "*"),
        ("varchar(10)", "partial(2, \"*\", 2)", "'abcde'", "ab*de"),
        ("varchar(5)", "partial(0, \"abcdefgh\", 0)", "'q'", "abcde"),
        ("nvarchar(10)", "partial(3, \"\u{c4}\u{d6}\", 0)", "''", "\u{c4}\u{d6}"),
        ("varchar(max)", "default()", "'long'", "xxxx"),
        ("xml", "default()", "'<a/>'", "<masked/>"),
        ("varbinary(max)", "default()", "0xABCDEF", "0x30"),
        ("bit", "default()", "1", "0"),
        ("decimal(6, 2)", "default()", "12.5", ".00"),
        ("money", "default()", "12.5", "0.0000"),
        ("float", "default()", "1.5", "0.0"),
        ("date", "default()", "'2021-05-06'", "1900-01-01"),
        ("time(0)", "default()", "'12:13:14'", "00:00:00"),
        ("datetime", "default()", "'2021-05-06 01:02:03'", "1900-01-01 00:00:00.000"),
        ("smalldatetime", "datetime(\"D\")", "'2021-07-15 13:14'", "2021-07-01 13:14:00"),
        ("datetime2(0)", "datetime(\"Y\")", "'2021-07-15 13:14:15'", "2000-07-15 13:14:15"),
        ("datetime2(0)", "datetime(\"h\")", "'2021-07-15 13:14:15'", "2021-07-15 00:14:15"),
        ("datetime", "datetime(\"m\")", "'2021-07-15 13:14:15'", "2021-07-15 13:00:15.000"),
        (
            "uniqueidentifier",
            "default()",
            "'6F9619FF-8B86-D011-B42D-00C04FC964FF'",
            "00000000-0000-0000-0000-000000000000",
        ),
        ("int", "random(7, 7)", "1", "7"),
    ] {
        let mask = mask.replace('\'', "''");
        said_well(
            &mut own,
            &format!(
                "CREATE TABLE m (v {ty} MASKED WITH (FUNCTION = '{mask}')); GRANT SELECT ON m TO u"
            ),
        );
        said_well(
            &mut own,
            &format!("INSERT m VALUES (N{value})").replace("N0", "0").replace("N1", "1"),
        );
        seen(&mut own, "SELECT v FROM m", wanted);
        said_well(&mut own, "DROP TABLE m");
    }
    said_well(
        &mut own,
        "CREATE TABLE m (a int MASKED WITH (FUNCTION = 'random(5, 9)'), b decimal(6, 2) MASKED WITH (FUNCTION = 'random(1.5, 2.5)'));
         INSERT m SELECT TOP (50) 100, 100 FROM sys.all_columns; GRANT SELECT ON m TO u",
    );
    let rows = "SELECT a, b INTO #r FROM m; REVERT; SELECT COUNT(*), COUNT(DISTINCT a) FROM #r WHERE a BETWEEN 5 AND 9 AND b BETWEEN 1.5 AND 2.5";
    let counts = said_well(&mut own, &format!("EXECUTE AS USER = 'u'; {rows}"));
    assert!(counts.starts_with("(50)\n50|") && !counts.ends_with("|1"), "{counts}");
}

#[test]
fn values_that_are_made_of_masked_columns() {
    let disk = SimDisk::new(2);
    let (_instance, mut own) = new(&disk);
    said_well(
        &mut own,
        "CREATE FUNCTION tv (@p varchar(40)) RETURNS TABLE AS RETURN SELECT @p AS v",
    );
    said_well(
        &mut own,
        "CREATE FUNCTION f (@n int) RETURNS int AS BEGIN RETURN (SELECT i FROM dbo.t WHERE id = @n) END",
    );
    said_well(
        &mut own,
        "CREATE FUNCTION same (@n varchar(40)) RETURNS varchar(40) AS BEGIN RETURN @n END",
    );
    said_well(
        &mut own,
        "CREATE FUNCTION g () RETURNS @r TABLE (e varchar(40)) AS BEGIN INSERT @r SELECT e FROM dbo.t WHERE id = 1; RETURN END",
    );
    said_well(&mut own, "CREATE VIEW v AS SELECT id, e, e + '' AS e2 FROM t");
    said_well(&mut own, "CREATE PROCEDURE pr AS SELECT s FROM t WHERE id = 1");
    said_well(
        &mut own,
        "CREATE PROCEDURE po WITH EXECUTE AS OWNER AS SELECT s FROM t WHERE id = 1",
    );
    said_well(
        &mut own,
        "GRANT SELECT ON v TO u; GRANT SELECT ON tv TO u; GRANT SELECT ON g TO u; GRANT EXECUTE TO u",
    );
    all_seen(
        &mut own,
        &[
            // Computed: the mask of its type.
            (
                "SELECT s + 'x', LEFT(s, 2), LEN(s), i + 1, UPPER(e), -i FROM t WHERE id = 1",
                "xxxx|xxxx|0|0|xxxx|0",
            ),
            ("SELECT ISNULL(s, 'q'), COALESCE(s, 'q') FROM t WHERE id = 3", "xxxx|xxxx"),
            ("SELECT MAX(s), SUM(i), COUNT(s), COUNT(*) FROM t", "xxxx|0|0|3"),
            ("SELECT STRING_AGG(e, ',') FROM t", "xxxx"),
            (
                "SELECT CAST(e AS varchar(10)), e COLLATE Latin1_General_BIN FROM t WHERE id = 1",
                "xxxx|jXXX@XXXX.com",
            ),
            (
                "SELECT MAX(i) OVER (), LAG(e) OVER (ORDER BY id), ROW_NUMBER() OVER (ORDER BY s) FROM t WHERE id = 2",
                "0|NULL|1",
            ),
            (
                "SELECT CHECKSUM(s), HASHBYTES('SHA1', s), CONCAT(s, e) FROM t WHERE id = 1",
                "0|0x30|xxxx",
            ),
            // The column as it is: its own.
            (
                "SELECT (e), CAST(e AS varchar(40)), NULLIF(e, 'q'), (SELECT e FROM t WHERE id = 1) FROM t WHERE id = 1",
                "jXXX@XXXX.com|jXXX@XXXX.com|jXXX@XXXX.com|jXXX@XXXX.com",
            ),
            ("SELECT x.e FROM (SELECT e FROM t) AS x WHERE x.e LIKE 'john%'", "jXXX@XXXX.com"),
            ("WITH c AS (SELECT e, id FROM t) SELECT e FROM c WHERE id = 1", "jXXX@XXXX.com"),
            ("SELECT e FROM t WHERE id = 1 GROUP BY e HAVING MAX(i) > 1", "jXXX@XXXX.com"),
            ("SELECT DISTINCT e FROM t WHERE id = 1 ORDER BY e", "jXXX@XXXX.com"),
            (
                "SELECT CASE WHEN id = 1 THEN e ELSE 'nobody' END FROM t WHERE id < 3",
                "jXXX@XXXX.com\nnXXX@XXXX.com",
            ),
            ("SELECT CASE WHEN id = 1 THEN p ELSE e END FROM t WHERE id = 1", "xxxx"),
            (
                "SELECT plain AS x FROM t WHERE id = 1 UNION ALL SELECT e FROM t WHERE id = 1",
                "pXXX@XXXX.com\njXXX@XXXX.com",
            ),
            (
                "SELECT x FROM (SELECT CAST(plain AS varchar(40)) AS x FROM t WHERE id = 1 UNION ALL SELECT e FROM t WHERE id = 1) AS y",
                "pXXX@XXXX.com\njXXX@XXXX.com",
            ),
            (
                "WITH r AS (SELECT id, e FROM t WHERE id = 1 UNION ALL SELECT id + 1, e FROM r WHERE id < 2) SELECT e FROM r",
                "jXXX@XXXX.com\njXXX@XXXX.com",
            ),
            (
                "WITH r AS (SELECT 1 AS n, CAST('a' AS varchar(20)) AS x UNION ALL SELECT n + 1, t.s FROM r JOIN t ON t.id = n WHERE n < 2) SELECT x FROM r",
                "xxxx\nxxxx",
            ),
            // Through parameters.
            ("SELECT (SELECT t.p) FROM t WHERE id = 1", "ab-XX-j"),
            ("SELECT a.x FROM t CROSS APPLY (SELECT t.p AS x) AS a WHERE id = 1", "ab-XX-j"),
            ("SELECT a.x FROM t OUTER APPLY (SELECT UPPER(t.p) AS x) AS a WHERE id = 1", "xxxx"),
            (
                "SELECT x.v FROM t CROSS APPLY (VALUES (t.s), ('z')) AS x (v) WHERE id = 1",
                "xxxx\nxxxx",
            ),
            ("SELECT (SELECT MAX(x.v) FROM (VALUES (t.s)) AS x (v)) FROM t WHERE id = 1", "xxxx"),
            ("SELECT x.v FROM t CROSS APPLY tv(t.e) AS x WHERE id = 1", "jXXX@XXXX.com"),
            (
                "SELECT x.value FROM t CROSS APPLY STRING_SPLIT(t.e, '@') AS x WHERE id = 1",
                "xxxx\nxxxx",
            ),
            ("SELECT dbo.same(e) FROM t WHERE id = 1", "jXXX@XXXX.com"),
            ("SELECT dbo.f(1)", "0"),
            ("SELECT e FROM g()", "jXXX@XXXX.com"),
            ("SELECT x.v FROM t UNPIVOT (v FOR c IN (s)) AS x WHERE id = 1", "xxxx"),
            (
                "SELECT [1] FROM (SELECT id, s FROM t) AS x PIVOT (MAX(s) FOR id IN ([1])) AS y",
                "xxxx",
            ),
            // Documents.
            ("SELECT id, s FROM t WHERE id = 1 FOR JSON PATH", "[{\"id\":1,\"s\":\"xxxx\"}]"),
            ("SELECT id, e FROM t WHERE id = 1 FOR XML RAW", "<row id=\"1\" e=\"jXXX@XXXX.com\"/>"),
            ("SELECT (SELECT s FROM t WHERE id = 1 FOR JSON PATH)", "xxxx"),
            (
                "SELECT x.e FROM OPENJSON((SELECT e FROM t WHERE id = 1 FOR JSON PATH)) WITH (e varchar(40)) AS x",
                "xxxx",
            ),
            // Views and modules.
            ("SELECT e, e2 FROM v WHERE id = 1", "jXXX@XXXX.com|xxxx"),
            ("EXEC pr", "xxxx"),
            ("EXEC po", "hello"),
            ("EXEC ('SELECT s FROM t WHERE id = 1')", "xxxx"),
            ("EXEC sp_executesql N'SELECT s FROM t WHERE id = @n', N'@n int', 1", "xxxx"),
            (
                "DECLARE c CURSOR FOR SELECT s FROM t WHERE id = 1; OPEN c; FETCH NEXT FROM c; CLOSE c; DEALLOCATE c",
                "xxxx",
            ),
            (
                "DECLARE c CURSOR KEYSET FOR SELECT p FROM t WHERE id = 1; OPEN c; FETCH NEXT FROM c; CLOSE c; DEALLOCATE c",
                "ab-XX-j",
            ),
            // Variables.
            (
                "DECLARE @v varchar(40); SELECT @v = e FROM t WHERE id = 1; SELECT @v",
                "jXXX@XXXX.com",
            ),
            ("DECLARE @v varchar(20); SELECT @v = e FROM t WHERE id = 1; SELECT @v", "xxxx"),
            (
                "DECLARE @v varchar(40); SET @v = (SELECT e FROM t WHERE id = 1); SELECT @v",
                "jXXX@XXXX.com",
            ),
            ("DECLARE @v varchar(20) = (SELECT TOP (1) i FROM t); SELECT @v", "xxxx"),
            // Conditions and orders are about the real values.
            ("SELECT COUNT(*) FROM t WHERE s = 'hello' AND i > 40", "1"),
            ("SELECT TOP (1) id FROM t ORDER BY s DESC", "1"),
            ("SELECT CASE WHEN s = 'hello' THEN 'yes' ELSE 'no' END FROM t WHERE id = 1", "yes"),
            ("IF EXISTS (SELECT * FROM t WHERE i = 42) SELECT 'there'", "there"),
            // The owner's kept rows of a view, errors.
            (
                "SELECT CAST(p AS int) FROM t WHERE id = 1",
                "Msg 245: Conversion failed when converting the ****** value '******' to data type ******.",
            ),
            (
                "SELECT x FROM (SELECT p + 1 AS x FROM t WHERE id = 1) AS q",
                "Msg 245: Conversion failed when converting the ****** value '******' to data type ******.",
            ),
            (
                "DECLARE @v int; SELECT @v = CAST(p AS int) FROM t WHERE id = 1",
                "Msg 245: Conversion failed when converting the ****** value '******' to data type ******.",
            ),
            (
                "DECLARE @v int = (SELECT p FROM t WHERE id = 1)",
                "Msg 245: Conversion failed when converting the ****** value '******' to data type ******.",
            ),
            (
                "SELECT CAST(i + 1000 AS tinyint) FROM t WHERE id = 1",
                "Msg 220: Arithmetic overflow error for data type ******, value = ******.",
            ),
        ],
    );
    assert!(said(&mut own, "SELECT CAST(p AS int) FROM t WHERE id = 1").contains("'abcdefghij'"));
}

#[test]
fn what_is_written_is_what_is_read() {
    let disk = SimDisk::new(3);
    let (_instance, mut own) = new(&disk);
    said_well(&mut own, "CREATE TABLE dst (id int, s varchar(20), e varchar(40))");
    said_well(&mut own, "CREATE TABLE m (id int, v varchar(30)); INSERT m VALUES (1, 'old')");
    said_well(
        &mut own,
        "GRANT SELECT, INSERT, UPDATE ON dst TO u; GRANT SELECT, INSERT, UPDATE ON m TO u; GRANT UPDATE, DELETE, INSERT ON t TO u",
    );
    said_well(&mut own, "GRANT CREATE TABLE TO u; GRANT ALTER ON SCHEMA::dbo TO u");
    for sql in [
        "INSERT dst SELECT id, s, e FROM t WHERE id = 1",
        "INSERT dst (id, e) VALUES (2, (SELECT e FROM t WHERE id = 1))",
        "INSERT dst (id) VALUES (3)",
        "UPDATE dst SET e = t.e FROM t WHERE t.id = 1 AND dst.id = 3",
        "SELECT id, s, e, i INTO x FROM t",
        "MERGE m USING t ON m.id = t.id AND t.id < 3 WHEN MATCHED THEN UPDATE SET v = t.p
           WHEN NOT MATCHED AND t.id = 2 THEN INSERT VALUES (t.id, t.p)",
        "UPDATE t SET plain = LEFT(s, 10) WHERE id = 2",
        // Whoever may write a column may write it.
        "UPDATE t SET s = 'new' WHERE id = 2",
    ] {
        said_well(&mut own, &format!("EXECUTE AS USER = 'u'; {sql}; REVERT"));
    }
    for (sql, wanted) in [
        (
            "SELECT id, s, e FROM dst ORDER BY id",
            "1|xxxx|jXXX@XXXX.com\n2|NULL|jXXX@XXXX.com\n3|NULL|jXXX@XXXX.com",
        ),
        ("SELECT s, e, i FROM x WHERE id = 1", "xxxx|jXXX@XXXX.com|0"),
        ("SELECT COUNT(*) FROM sys.masked_columns WHERE object_id = OBJECT_ID('x')", "0"),
        ("SELECT id, v FROM m ORDER BY id", "1|ab-XX-j\n2|-XX-"),
        ("SELECT plain, s FROM t WHERE id = 2", "xxxx|new"),
    ] {
        assert_eq!(said_well(&mut own, sql), wanted, "{sql}");
    }
    for (sql, wanted) in [
        ("UPDATE t SET id = id OUTPUT deleted.s, inserted.e WHERE id = 1", "xxxx|jXXX@XXXX.com"),
        ("INSERT t (id, s, i) OUTPUT inserted.s, inserted.i VALUES (9, 'mine', 5)", "xxxx|0"),
        (
            "DECLARE @o TABLE (s varchar(20)); DELETE t OUTPUT deleted.s INTO @o WHERE id = 9; SELECT s FROM @o",
            "(1)\nxxxx",
        ),
        (
            "DECLARE @v varchar(20); UPDATE t SET id = id, @v = s WHERE id = 1; SELECT @v",
            "(1)\nxxxx",
        ),
        ("DECLARE @v varchar(20); UPDATE t SET @v = s = s WHERE id = 3; SELECT @v", "(1)\nNULL"),
        (
            "MERGE m USING t ON m.id = t.id WHEN MATCHED AND t.id = 1 THEN UPDATE SET v = 'z' OUTPUT t.p, t.s, deleted.v;",
            "ab-XX-j|xxxx|ab-XX-j",
        ),
        (
            "INSERT dst (s) SELECT x.s FROM (UPDATE t SET id = id OUTPUT deleted.s WHERE id = 1) AS x; SELECT TOP (1) s FROM dst WHERE id IS NULL",
            "(1)\nxxxx",
        ),
    ] {
        seen(&mut own, sql, wanted);
    }
    // A trigger runs as the caller.
    said_well(&mut own, "CREATE TRIGGER tr ON t AFTER UPDATE AS SELECT s FROM deleted");
    seen(&mut own, "UPDATE t SET id = id WHERE id = 1", "xxxx\n(1)");
    said_well(&mut own, "CREATE UNIQUE INDEX un ON t (p, plain)");
    said_well(
        &mut own,
        "DROP TRIGGER tr; INSERT t (id, p, plain) VALUES (21, 'secret', 'a'), (22, 'secret', 'b')",
    );
    let text = said(&mut own, "EXECUTE AS USER = 'u'; UPDATE t SET plain = 'a' WHERE id = 22");
    said_well(&mut own, "REVERT");
    assert!(text.ends_with("The duplicate key value is (******)."), "{text}");
}

#[test]
fn the_right_at_each_scope() {
    let disk = SimDisk::new(4);
    let (_instance, mut own) = new(&disk);
    let both = "SELECT s, e FROM t WHERE id = 1";
    for (grants, revokes, wanted) in [
        ("GRANT UNMASK TO u", "REVOKE UNMASK TO u", "hello|john@x.com"),
        (
            "GRANT UNMASK ON SCHEMA::dbo TO u",
            "REVOKE UNMASK ON SCHEMA::dbo TO u",
            "hello|john@x.com",
        ),
        ("GRANT UNMASK ON t TO u", "REVOKE UNMASK ON t TO u", "hello|john@x.com"),
        ("GRANT UNMASK ON t (s) TO u", "REVOKE UNMASK ON t (s) TO u", "hello|jXXX@XXXX.com"),
        (
            "GRANT UNMASK TO u; DENY UNMASK ON t (e) TO u",
            "REVOKE UNMASK TO u; REVOKE UNMASK ON t (e) TO u",
            "hello|jXXX@XXXX.com",
        ),
        (
            "CREATE ROLE r; ALTER ROLE r ADD MEMBER u; GRANT UNMASK TO r",
            "ALTER ROLE r DROP MEMBER u",
            "hello|john@x.com",
        ),
        (
            "ALTER ROLE db_owner ADD MEMBER u",
            "ALTER ROLE db_owner DROP MEMBER u",
            "hello|john@x.com",
        ),
        ("GRANT CONTROL ON t TO u", "REVOKE CONTROL ON t TO u", "hello|john@x.com"),
        ("SELECT 1 WHERE 1 = 0", "SELECT 1 WHERE 1 = 0", "xxxx|jXXX@XXXX.com"),
    ] {
        said_well(&mut own, grants);
        seen(&mut own, both, wanted);
        said_well(&mut own, revokes);
        // The same plan.
        seen(&mut own, both, "xxxx|jXXX@XXXX.com");
    }
    said_well(&mut own, "GRANT UNMASK ON t (s) TO u");
    seen(&mut own, "SELECT s + '', s + e FROM t WHERE id = 1", "hello|xxxx");
    assert_eq!(
        said_well(
            &mut own,
            "SELECT class, minor_id, type, permission_name, state FROM sys.database_permissions WHERE permission_name = 'UNMASK' AND major_id = OBJECT_ID('t')"
        ),
        "1|2|UMSK|UNMASK|G"
    );
    said_well(&mut own, "CREATE VIEW v AS SELECT s FROM t");
    refused(
        &mut own,
        "GRANT UNMASK ON v TO u",
        "Msg 4606: Granted or revoked privilege UNMASK is not compatible with object.",
    );
    seen(&mut own, "SELECT HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'UNMASK')", "0");
    // A user who may change masks changes them.
    said_well(&mut own, "GRANT ALTER ON t TO u");
    let no = "Msg 15247: User does not have permission to perform this action.";
    seen(&mut own, "ALTER TABLE t ALTER COLUMN s DROP MASKED", no);
    seen(&mut own, "ALTER TABLE t ALTER COLUMN e varchar(40)", no);
    seen(&mut own, "ALTER TABLE t ADD z int MASKED WITH (FUNCTION = 'default()')", no);
    said_well(&mut own, "GRANT ALTER ANY MASK TO u");
    seen(&mut own, "ALTER TABLE t ALTER COLUMN e DROP MASKED", "");
    seen(&mut own, "SELECT e FROM t WHERE id = 1", "john@x.com");
}

#[test]
fn definitions() {
    let disk = SimDisk::new(5);
    let (instance, mut own) = new(&disk);
    assert_eq!(
        said_well(
            &mut own,
            "SELECT c.name, c.is_masked, m.masking_function, COLUMNPROPERTY(c.object_id, c.name, 'IsMasked') FROM sys.columns AS c LEFT JOIN sys.masked_columns AS m ON m.object_id = c.object_id AND m.column_id = c.column_id WHERE c.object_id = OBJECT_ID('t') ORDER BY c.column_id"
        ),
        "id|0|NULL|0\ns|1|default()|1\ne|1|email()|1\np|1|partial(2, \"-XX-\", 1)|1\ni|1|default()|1\ndt|1|datetime(\"M\")|1\nplain|0|NULL|0"
    );
    for (ty, written, kept) in [
        ("varchar(20)", "PARTIAL( 01 , \"a\"\"b\" , 0 )", "partial(1, \"a\"\"b\", 0)"),
        ("varchar(20)", "EMAIL()", "email()"),
        ("varchar(20)", "default( )", "default()"),
        ("decimal(6, 2)", "random(1.555, 3)", "random(1.56, 3.00)"),
        ("money", "random(1, 2.12345)", "random(1, 2.1235)"),
        ("float", "random(1.50, 2.500)", "random(1.5, 2.5)"),
        ("int", "Random( 01 , 003 )", "random(1, 3)"),
        ("int", "random(-5, -1)", "random(-5, -1)"),
    ] {
        said_well(
            &mut own,
            &format!("CREATE TABLE m (a {ty} MASKED WITH (FUNCTION = '{written}'))"),
        );
        assert_eq!(
            said_well(
                &mut own,
                "SELECT masking_function FROM sys.masked_columns WHERE object_id = OBJECT_ID('m')"
            ),
            kept
        );
        said_well(&mut own, "DROP TABLE m");
    }
    let unknown = "Msg 16002: Invalid data masking function in column 'a'.";
    let ty = |function: &str| {
        format!(
            "Msg 16003: The data type of column 'a' does not support data masking function '{function}'."
        )
    };
    let count = |function: &str| {
        format!(
            "Msg 16004: Incorrect number of parameters for data masking function '{function}' for column 'a'."
        )
    };
    let argument = |function: &str| {
        format!(
            "Msg 16005: Invalid argument for data masking function '{function}' for column 'a'."
        )
    };
    let format = |function: &str| {
        format!("Msg 16006: Invalid data masking format for function '{function}' in column 'a'.")
    };
    for (of, function, wanted) in [
        ("varchar(9)", "foo()", unknown.to_string()),
        ("varchar(9)", "", unknown.to_string()),
        ("varchar(9)", " default()", unknown.to_string()),
        ("int", "partial(1,\"x\",1)", ty("partial")),
        ("int", "EMAIL()", ty("email")),
        ("varchar(9)", "random(1,2)", ty("random")),
        ("varchar(9)", "datetime(\"Y\")", ty("datetime")),
        ("varbinary(9)", "partial(1,\"x\",1)", ty("partial")),
        ("varchar(9)", "  Default ( ) ", count("  Default ")),
        ("varchar(9)", "default(1)", count("default")),
        ("varchar(9)", "email() x", count("email")),
        ("int", "random(1,2,3)", count("random")),
        ("varchar(9)", "partial(-1,\"x\",1)", argument("partial")),
        ("varchar(9)", "partial(1,x,1)", argument("partial")),
        ("varchar(9)", "partial(1.0,\"x\",1)", argument("partial")),
        ("int", "random(10,1)", argument("random")),
        ("int", "random(1.5,2)", argument("random")),
        ("float", "random(1,1e3)", argument("random")),
        ("tinyint", "random(-5,300)", argument("random")),
        ("bit", "random(0,2)", argument("random")),
        ("decimal(6,2)", "random(1,99999)", argument("random")),
        ("datetime", "datetime(\"Q\")", argument("datetime")),
        ("datetime", "datetime(\"y\")", argument("datetime")),
        ("date", "datetime(\"h\")", argument("datetime")),
        ("time", "datetime(\"Y\")", argument("datetime")),
        ("varchar(9)", "default", format("default")),
        ("varchar(9)", "default)", format("default)")),
        ("varchar(9)", "partial(1,\"x\",1", format("partial")),
    ] {
        refused(
            &mut own,
            &format!("CREATE TABLE m (a {of} MASKED WITH (FUNCTION = '{function}'))"),
            &wanted,
        );
    }
    for late in ["int NOT NULL", "int DEFAULT 1", "int IDENTITY", "int PRIMARY KEY"] {
        refused(
            &mut own,
            &format!("CREATE TABLE m (x {late} MASKED WITH (FUNCTION = 'default()'))"),
            "Msg 102: Incorrect syntax near 'MASKED'.",
        );
    }
    for sql in [
        "CREATE TABLE a (x varchar(10), y int MASKED WITH (FUNCTION = 'default()'), z varchar(10) MASKED WITH (FUNCTION = 'email()'))",
        "ALTER TABLE a ALTER COLUMN x ADD MASKED WITH (FUNCTION = 'partial(1, \"x\", 0)')",
        "ALTER TABLE a ALTER COLUMN y DROP MASKED",
        "ALTER TABLE a ALTER COLUMN z ADD MASKED WITH (FUNCTION = 'default()')",
        "ALTER TABLE a ADD w int MASKED WITH (FUNCTION = 'random(1, 2)') NULL",
        "BEGIN TRAN; ALTER TABLE a ALTER COLUMN x DROP MASKED; ALTER TABLE a ALTER COLUMN y ADD MASKED WITH (FUNCTION = 'default()'); ROLLBACK",
    ] {
        said_well(&mut own, sql);
    }
    let kept = "SELECT name, masking_function FROM d.sys.masked_columns WHERE object_id = OBJECT_ID('d.dbo.a') ORDER BY column_id";
    let three = "x|partial(1, \"x\", 0)\nz|default()\nw|random(1, 2)";
    assert_eq!(said_well(&mut own, kept), three);
    for (sql, wanted) in [
        (
            "ALTER TABLE a ALTER COLUMN y DROP MASKED",
            "Msg 16007: The column 'y' does not have a data masking function.",
        ),
        (
            "ALTER TABLE a ALTER COLUMN zz DROP MASKED",
            "Msg 4924: ALTER TABLE failed because column 'zz' does not exist in table 'a'.",
        ),
        (
            "ALTER TABLE a ALTER COLUMN y ADD MASKED WITH (FUNCTION = 'email()')",
            "Msg 16003: The data type of column 'y' does not support data masking function 'email'.",
        ),
    ] {
        refused(&mut own, sql, wanted);
    }
    // It is there after a restart.
    drop(own);
    instance.close().unwrap();
    drop(instance);
    let instance = try_open(&disk, 32 << 20).unwrap();
    let mut own = instance.session().unwrap();
    own.use_database("d").unwrap();
    assert_eq!(said_well(&mut own, kept), three);
    // Another type is another column, unless it says so again.
    said_well(
        &mut own,
        "ALTER TABLE a ALTER COLUMN x varchar(10); ALTER TABLE a ALTER COLUMN z varchar(20) MASKED WITH (FUNCTION = 'email()') NULL",
    );
    assert_eq!(said_well(&mut own, kept), "z|email()\nw|random(1, 2)");
    said_well(
        &mut own,
        "CREATE TABLE c (a varchar(10) MASKED WITH (FUNCTION = 'email()'), b AS a + '!', n AS LEN(a) PERSISTED); INSERT c (a) VALUES ('abc'); GRANT SELECT ON c TO u",
    );
    seen(&mut own, "SELECT a, b, n FROM c", "aXXX@XXXX.|xxxx|0");
    assert_eq!(said_well(&mut own, "SELECT a, b, n FROM c"), "abc|abc!|3");
    refused(
        &mut own,
        "ALTER TABLE c ALTER COLUMN b ADD MASKED WITH (FUNCTION = 'default()')",
        "Msg 4928: Cannot alter column 'b' because it is 'COMPUTED'.",
    );
    refused(
        &mut own,
        "ALTER TABLE c ALTER COLUMN a DROP MASKED",
        "Msg 5074: The column 'b' is dependent on column 'a'.",
    );
}

#[test]
fn other_ways_to_the_rows() {
    let disk = SimDisk::new(6);
    let (_instance, mut own) = new(&disk);
    for sql in [
        "CREATE VIEW kept WITH SCHEMABINDING AS SELECT id, e, i + 0 AS i FROM dbo.t WHERE i IS NOT NULL",
        "CREATE UNIQUE CLUSTERED INDEX k ON kept (id)",
        "GRANT SELECT ON kept TO u",
        "CREATE TABLE v (id int PRIMARY KEY, e varchar(40) MASKED WITH (FUNCTION = 'email()'), f datetime2 GENERATED ALWAYS AS ROW START,
           g datetime2 GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (f, g)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.past))",
        "INSERT v (id, e) VALUES (1, 'old'); UPDATE v SET e = 'new'",
        "GRANT SELECT ON v TO u; GRANT SELECT ON past TO u",
        "CREATE STATISTICS st ON t (s)",
        "CREATE SYNONYM sy FOR t",
        "CREATE USER w WITHOUT LOGIN; GRANT IMPERSONATE ON USER::w TO u; GRANT SELECT, UNMASK ON t TO w",
    ] {
        said_well(&mut own, sql);
    }
    for (sql, wanted) in [
        ("SELECT e, i FROM kept WITH (NOEXPAND) WHERE id = 1", "jXXX@XXXX.com|0"),
        ("SELECT e, i FROM kept WHERE id = 1", "jXXX@XXXX.com|0"),
        ("SELECT e FROM v FOR SYSTEM_TIME ALL ORDER BY f", "oXXX@XXXX.com\nnXXX@XXXX.com"),
        ("SELECT e FROM past", "oXXX@XXXX.com"),
        ("SELECT s FROM d.dbo.t AS x WHERE x.id = 1", "xxxx"),
        ("SELECT s FROM sy WHERE id = 1", "xxxx"),
        ("SELECT s FROM t TABLESAMPLE (100 PERCENT) WHERE id = 1", "xxxx"),
        (
            "SELECT COUNT(*) FROM sys.dm_db_stats_histogram(OBJECT_ID('t'), 2)",
            "Msg 262: SELECT permission denied in database 'd'.",
        ),
        ("SELECT SESSION_CONTEXT(N'x')", "NULL"),
        ("EXECUTE AS USER = 'w'; SELECT s FROM t WHERE id = 1; REVERT", "hello"),
    ] {
        seen(&mut own, sql, wanted);
    }
    let text = said(&mut own, "EXECUTE AS USER = 'u'; DBCC SHOW_STATISTICS ('t', 'st')");
    said_well(&mut own, "REVERT");
    assert!(text.starts_with("Msg "), "{text}");
}

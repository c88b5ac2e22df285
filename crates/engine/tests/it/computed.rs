//! Computed columns: expanded where they are named, kept with the rows when persisted or indexed;
//! what changes them and what may not; the catalog's views, restarts and a power loss.

use crate::support::text::{Bench, fails, power_loss, run, say, try_open};
use sim::SimDisk;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE a (id int PRIMARY KEY, n int NULL, twice AS n * 2, label AS 'n=' + CAST(n AS varchar(10)) PERSISTED,
                         whole AS id + ISNULL(n, 0) PERSISTED NOT NULL);
         INSERT a VALUES (1, 10), (2, 20), (3, NULL)",
        "(3)",
    );
    b
}

#[test]
fn values_follow_the_columns_they_are_computed_from() {
    let mut b = bench();
    b.check("SELECT * FROM a ORDER BY id", "1|10|20|n=10|11\n2|20|40|n=20|22\n3|NULL|NULL|NULL|3");
    b.check(
        "UPDATE a SET n = n + 1 WHERE id = 1; SELECT twice, label, whole FROM a WHERE id = 1",
        "(1)\n22|n=11|12",
    );
    b.check(
        "UPDATE a SET n = 5, id = 7 OUTPUT deleted.twice, inserted.twice, inserted.whole WHERE id = 3",
        "NULL|10|12",
    );
    b.check(
        "INSERT a (n, id) OUTPUT inserted.twice, inserted.label, inserted.whole VALUES (4, 4)",
        "8|n=4|8",
    );
    b.check("INSERT a (id, n) SELECT id + 10, twice FROM a WHERE id < 3; SELECT id, n, twice FROM a WHERE id > 10 ORDER BY 1", "(2)\n11|22|44\n12|40|80");
    b.check("SELECT id FROM a WHERE twice = 40", "2");
    b.check("SELECT x.id, y.id FROM a x JOIN a y ON x.twice = y.n ORDER BY 1, 2", "1|11\n2|12");
    b.check(
        "SELECT twice, COUNT(*) FROM a WHERE id < 5 GROUP BY twice ORDER BY twice",
        "8|1\n22|1\n40|1",
    );
    b.check("SELECT n, twice + 1 FROM a WHERE id < 5 GROUP BY n ORDER BY n", "4|9\n11|23\n20|41");
    b.check(
        "SELECT x.id FROM a x WHERE EXISTS (SELECT 1 FROM a y WHERE y.n = x.twice) ORDER BY 1",
        "1\n2",
    );
    b.check(
        "SELECT x.id, (SELECT MAX(y.id) FROM a y WHERE y.twice < x.twice) FROM a x WHERE x.id < 3 ORDER BY 1",
        "1|7\n2|7",
    );
    b.check("SELECT id, f.z FROM a CROSS APPLY (SELECT a.twice + 1 AS z) f WHERE id = 2", "2|41");
    b.check("CREATE VIEW v AS SELECT id, twice FROM a", "");
    b.check("SELECT SUM(twice) FROM v WHERE id < 5", "70");
    b.check("SELECT TOP (1) twice FROM a ORDER BY twice DESC", "80");
    b.check("DELETE a WHERE twice = 80; SELECT @@ROWCOUNT", "(1)\n1");
    b.check(
        "MERGE a USING (VALUES (1, 100), (50, 1)) AS s (id, n) ON s.id = a.id
         WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n);
         SELECT id, twice, label, whole FROM a WHERE id IN (1, 50) ORDER BY 1",
        "(2)\n1|200|n=100|101\n50|2|n=1|51",
    );
}

#[test]
fn constraints_triggers_and_table_variables_see_them() {
    let mut b = bench();
    b.check("CREATE TABLE log (id int, before int, after int)", "");
    b.check(
        "CREATE TRIGGER tr ON a FOR UPDATE AS SET NOCOUNT ON
         INSERT log SELECT i.id, d.twice, i.twice FROM inserted i JOIN deleted d ON d.id = i.id WHERE i.whole <> d.whole",
        "",
    );
    b.check("UPDATE a SET n = n + 1; SELECT * FROM log ORDER BY id", "(3)\n1|20|22\n2|40|42");
    b.check("ALTER TABLE a ADD CONSTRAINT few CHECK (twice < 100)", "");
    let i = b.instance.clone();
    fails(&i, "USE t; UPDATE a SET n = 50 WHERE id = 1", &[547]);
    fails(&i, "USE t; INSERT a (id, n) VALUES (9, 50)", &[547]);
    b.check("ALTER TABLE a DROP CONSTRAINT few", "");
    b.check("DECLARE @t TABLE (x int, y AS x + 1, z AS x * 2 PERSISTED); INSERT @t VALUES (1), (2); SELECT * FROM @t", "(2)\n1|2|2\n2|3|4");
    b.check(
        "CREATE TABLE #t (x int, y AS x + 1); INSERT #t VALUES (5); SELECT y FROM #t",
        "(1)\n6",
    );
    b.check("CREATE TABLE parent (id int PRIMARY KEY); INSERT parent VALUES (1), (2)", "(2)");
    b.check(
        "CREATE TABLE child (n int, p AS n % 10 PERSISTED REFERENCES parent (id)); INSERT child VALUES (11)",
        "(1)",
    );
    fails(&i, "USE t; INSERT child VALUES (13)", &[547]);
}

#[test]
fn indexes_keys_and_altered_tables() {
    let mut b = bench();
    b.check(
        "CREATE INDEX by_twice ON a (twice); CREATE UNIQUE INDEX by_whole ON a (whole) INCLUDE (label)",
        "",
    );
    b.check("SELECT id FROM a WHERE twice = 40; SELECT label FROM a WHERE whole = 11", "2\nn=10");
    b.check(
        "UPDATE a SET n = 21 WHERE id = 2; SELECT id FROM a WITH (INDEX(by_twice)) WHERE twice = 42",
        "(1)\n2",
    );
    b.check("SELECT COUNT(*) FROM a WITH (INDEX(by_twice)) WHERE twice = 40", "0");
    let i = b.instance.clone();
    assert!(say(&i, "USE t; INSERT a (id, n) VALUES (0, 11)").contains("Msg 2601"));
    b.check("SELECT is_persisted FROM sys.computed_columns WHERE name = 'twice'", "0");
    b.check(
        "CREATE TABLE k (x int, y AS x * 10 PRIMARY KEY NONCLUSTERED, z AS x + 1, UNIQUE (z))",
        "",
    );
    b.check("CREATE TABLE p (x int NOT NULL, y AS x * 10 PERSISTED NOT NULL PRIMARY KEY); INSERT p VALUES (2), (1); SELECT * FROM p", "(2)\n1|10\n2|20");
    assert!(say(&i, "USE t; INSERT p VALUES (1)").contains("Msg 2627"));
    b.check("UPDATE p SET x = x + 1; SELECT * FROM p", "(2)\n2|20\n3|30");
    b.check(
        "ALTER TABLE p ADD v AS x + y0 , s AS x * 3 PERSISTED",
        "Msg 207: Invalid column name 'y0'.",
    );
    b.check(
        "ALTER TABLE p ADD v AS x + 100, s AS x * 3 PERSISTED; SELECT * FROM p",
        "2|20|102|6\n3|30|103|9",
    );
    b.check(
        "ALTER TABLE p ADD w int NULL; UPDATE p SET w = s; SELECT w, v FROM p",
        "(2)\n6|102\n9|103",
    );
    b.check(
        "ALTER TABLE p DROP COLUMN v; ALTER TABLE p ALTER COLUMN w bigint; SELECT * FROM p",
        "2|20|6|6\n3|30|9|9",
    );
    b.check(
        "DROP INDEX by_twice ON a; SELECT twice FROM a WHERE id = 2; DBCC CHECKDB (t) WITH NO_INFOMSGS",
        "42",
    );
}

#[test]
fn what_cannot_be_computed_or_given() {
    let b = bench();
    let i = b.instance.clone();
    let refused = |sql: &str, number: i32| fails(&i, &format!("USE t; {sql}"), &[number]);
    refused("INSERT a (id, twice) VALUES (9, 9)", 271);
    refused("UPDATE a SET twice = 1", 271);
    refused("UPDATE a SET whole = 1", 271);
    refused("INSERT a VALUES (9, 9, 9)", 213);
    refused("CREATE TABLE x (d AS GETDATE() PERSISTED)", 4936);
    refused("CREATE TABLE x (a int, b AS a + 1, c AS b + 1)", 1759);
    refused("CREATE TABLE x (a int, b AS (SELECT MAX(id) FROM a))", 1046);
    refused("CREATE TABLE x (a int, b AS c + 1)", 207);
    refused("CREATE TABLE x (a int, b AS a + 1 CHECK (b > 0))", 8183);
    refused("CREATE TABLE x (a int, d AS GETDATE()); CREATE INDEX i ON x (d)", 2729);
    fails(&i, "USE t; ALTER TABLE a DROP COLUMN n", &[5074, 4922]);
    fails(&i, "USE t; ALTER TABLE a ALTER COLUMN n bigint", &[5074, 4922]);
    refused("ALTER TABLE a ALTER COLUMN twice bigint", 4928);
    refused("EXEC sp_rename 'a.n', 'm', 'COLUMN'", 15336);
    refused("CREATE TABLE y (a int, b AS a / 0 PERSISTED); INSERT y VALUES (1)", 8134);
    refused("CREATE TABLE z (a int, b AS a PERSISTED NOT NULL); INSERT z VALUES (NULL)", 515);
}

#[test]
fn the_clock_and_functions_are_asked_where_a_column_is_named() {
    let mut b = Bench::new();
    b.check(
        "CREATE FUNCTION f (@x int) RETURNS int AS BEGIN DECLARE @r int = @x + 1; RETURN @r END",
        "",
    );
    b.check(
        "CREATE TABLE a (n int, now AS GETDATE(), f AS dbo.f(n)); INSERT a VALUES (1), (2)",
        "(2)",
    );
    b.check("SELECT n, f FROM a WHERE now > '2020-01-01' ORDER BY f DESC", "2|3\n1|2");
    fails(&b.instance.clone(), "USE t; CREATE TABLE b (n int, f AS dbo.f(n) PERSISTED)", &[4936]);
}

#[test]
fn rows_keep_what_a_deterministic_function_gives() {
    let mut b = Bench::new();
    b.check(
        "CREATE FUNCTION zeros (@v int) RETURNS varchar(8) WITH SCHEMABINDING AS
         BEGIN
             DECLARE @r varchar(8)
             SET @r = CONVERT(varchar(8), @v)
             WHILE DATALENGTH(@r) < 8 SET @r = '0' + @r
             RETURN @r
         END",
        "",
    );
    b.check(
        "CREATE FUNCTION account (@v int) RETURNS varchar(10) WITH SCHEMABINDING AS BEGIN RETURN 'AW' + dbo.zeros(@v) END",
        "",
    );
    b.check(
        "CREATE TABLE c (id int, n AS dbo.account(id), z AS dbo.zeros(id) PERSISTED); CREATE UNIQUE INDEX i ON c (n);
         INSERT c VALUES (1), (22); UPDATE c SET id = 23 WHERE id = 22; SELECT id, z FROM c WITH (INDEX(i)) WHERE n = 'AW00000023'",
        "(2)\n(1)\n23|00000023",
    );
    let i = b.instance.clone();
    fails(&i, "USE t; INSERT c VALUES (1)", &[2601]);
    let altered = "ALTER FUNCTION zeros (@v int) RETURNS varchar(8) WITH SCHEMABINDING AS BEGIN RETURN ''x'' END";
    fails(&i, &format!("USE t; EXEC ('{altered}')"), &[3729]);
    fails(&i, "USE t; DROP FUNCTION account", &[3729]);
    fails(&i, "USE t; EXEC sp_rename 'account', 'other'", &[15336]);
    b.check(
        "DBCC CHECKDB (t) WITH NO_INFOMSGS; DROP TABLE c; DROP FUNCTION account; DROP FUNCTION zeros",
        "",
    );
}

#[test]
fn a_function_is_deterministic_when_all_that_it_computes_is() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (id int, n int)", "");
    let natures = [
        // WITH, body: deterministic, precise, verified, reads tables, and what an index over it
        // says.
        ("SCHEMABINDING", "RETURN @v + 1", "1|1|1|0", None),
        ("SCHEMABINDING", "SELECT @v = 2, @v *= 3 RETURN @v", "1|1|1|0", None),
        ("SCHEMABINDING", "IF @v > 0 RETURN dbo.one(@v) RETURN 0", "1|1|1|0", None),
        ("SCHEMABINDING", "DECLARE @f float = @v RETURN @f", "1|0|1|0", None),
        ("INLINE = ON", "RETURN @v + 1", "0|0|0|1", Some(2729)),
        ("SCHEMABINDING", "RETURN YEAR(GETDATE())", "0|1|1|0", Some(2729)),
        ("SCHEMABINDING", "DECLARE @d date = '01/02/2020' RETURN DAY(@d)", "0|1|1|0", Some(2729)),
        ("SCHEMABINDING", "RETURN (SELECT MAX(n) FROM dbo.a)", "1|1|0|1", Some(2729)),
        (
            "SCHEMABINDING",
            "DECLARE @t TABLE (a int) INSERT @t VALUES (1) RETURN @v",
            "1|1|0|0",
            Some(2729),
        ),
    ];
    b.check(
        "CREATE FUNCTION one (@v int) RETURNS int WITH SCHEMABINDING AS BEGIN RETURN 1 END",
        "",
    );
    b.check("CREATE FUNCTION loose (@v int) RETURNS int AS BEGIN RETURN 1 END", "");
    let i = b.instance.clone();
    for (option, body, nature, refused) in natures {
        b.check(
            &format!("CREATE FUNCTION f (@v int) RETURNS int WITH {option} AS BEGIN {body} END"),
            "",
        );
        b.check(
            "DECLARE @f int = OBJECT_ID('f')
             SELECT OBJECTPROPERTYEX(@f, 'IsDeterministic'), OBJECTPROPERTYEX(@f, 'IsPrecise'),
                    OBJECTPROPERTYEX(@f, 'IsSystemVerified'), OBJECTPROPERTYEX(@f, 'UserDataAccess')",
            nature,
        );
        let index = "USE t; CREATE TABLE c (id int, x AS dbo.f(id)); CREATE INDEX i ON c (x)";
        fails(&i, index, refused.as_slice());
        b.check("DROP TABLE c; DROP FUNCTION f", "");
    }
    b.check("CREATE FUNCTION f (@v int) RETURNS int WITH SCHEMABINDING AS BEGIN RETURN (SELECT MAX(n) FROM dbo.a) END", "");
    fails(&i, "USE t; CREATE TABLE c (id int, x AS dbo.f(id) PERSISTED)", &[4934]);
    b.check(
        "SELECT ROUTINE_NAME, IS_DETERMINISTIC FROM INFORMATION_SCHEMA.ROUTINES ORDER BY 1",
        "f|YES\nloose|NO\none|YES",
    );
}

#[test]
fn the_catalog_shows_them_also_after_a_restart() {
    let mut b = bench();
    b.check("CREATE INDEX by_twice ON a (twice)", "");
    for _ in 0..2 {
        b.check(
            "SELECT name, definition, is_persisted, is_computed, TYPE_NAME(user_type_id), max_length, is_nullable
             FROM sys.computed_columns ORDER BY column_id",
            "twice|([n]*(2))|0|1|int|4|1\nlabel|('n='+CONVERT([varchar](10),[n]))|1|1|varchar|12|1\n\
             whole|([id]+isnull([n],(0)))|1|1|int|4|0",
        );
        b.check(
            "SELECT COUNT(*) FROM sys.columns WHERE is_computed = 1 AND object_id = OBJECT_ID('a')",
            "3",
        );
        b.check(
            "SELECT COLUMNPROPERTY(OBJECT_ID('a'), 'twice', 'IsComputed'), COLUMNPROPERTY(OBJECT_ID('a'), 'n', 'IsComputed'),
                    COLUMNPROPERTY(OBJECT_ID('a'), 'twice', 'IsDeterministic')",
            "1|0|1",
        );
        b.check("EXEC sp_helptext 'a', 'twice'", "([n]*(2))");
        b.check("SELECT id FROM a WHERE twice = 40", "2");
        b = b.restart();
    }
}

#[test]
fn a_power_loss_leaves_rows_that_agree() {
    let open = |disk: &SimDisk| try_open(disk, 4 << 20).expect("it opens");
    let disk = SimDisk::new(5);
    let instance = open(&disk);
    run(&instance, "CREATE DATABASE d");
    run(
        &instance,
        "USE d; CREATE TABLE a (id int PRIMARY KEY, n int, v AS n * 2); INSERT a (id, n) VALUES (1, 1), (2, 2), (3, 3)",
    );
    drop(instance);
    let sql = "USE d; CREATE INDEX i ON a (v); ALTER TABLE a ADD s AS n + 1 PERSISTED; UPDATE a SET n = n * 10; INSERT a (id, n) VALUES (4, 7)";
    power_loss(&disk, open, sql, 60, |instance, _, at| {
        let said = say(instance, "USE d; SELECT COUNT(*) FROM a WHERE v <> n * 2");
        assert!(said.ends_with('0'), "at {at}: {said}");
        if say(instance, "USE d; SELECT COL_LENGTH('a', 's')").ends_with('4') {
            let said = say(instance, "USE d; SELECT COUNT(*) FROM a WHERE s <> n + 1");
            assert!(said.ends_with('0'), "at {at}: {said}");
        }
        assert_eq!(say(instance, "DBCC CHECKDB (d) WITH NO_INFOMSGS"), "", "at {at}");
    });
}

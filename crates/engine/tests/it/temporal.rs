//! System-versioned tables: what their periods get, what their history keeps on every way in which
//! rows change, what FOR SYSTEM_TIME shows; definitions, refusals, catalog views; power loss.

use crate::support::text::{self, Bench, power_loss, say, try_open};
use sim::SimDisk;

const EMPLOYEE: &str = "CREATE TABLE emp (id int PRIMARY KEY, name nvarchar(20), pay money,
    vf datetime2 GENERATED ALWAYS AS ROW START, vt datetime2 GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (vf, vt))
    WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.emp_past))";

/// A versioned table whose rows were made, changed and deleted with a moment in between, which
/// tables of one row keep.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.check(EMPLOYEE, "");
    b.check("CREATE TABLE moment (n int, at datetime2)", "");
    let moment = |b: &mut Bench, n: i32| {
        b.run(&format!("WAITFOR DELAY '00:00:00.003' INSERT moment VALUES ({n}, SYSUTCDATETIME()) WAITFOR DELAY '00:00:00.003'"));
    };
    moment(&mut b, 0);
    b.check("INSERT emp (id, name, pay) VALUES (1, 'Ann', 10), (2, 'Bob', 20)", "(2)");
    moment(&mut b, 1);
    b.check("UPDATE emp SET pay = pay + 5 WHERE id = 1", "(1)");
    moment(&mut b, 2);
    b.check("DELETE emp WHERE id = 2", "(1)");
    moment(&mut b, 3);
    b
}

#[test]
fn the_past_is_seen_as_it_was() {
    let mut b = bench();
    let at = |n: i32| {
        format!(
            "DECLARE @t datetime2 = (SELECT at FROM moment WHERE n = {n})
             SELECT id, name, pay FROM emp FOR SYSTEM_TIME AS OF @t ORDER BY id"
        )
    };
    b.check(&at(0), "");
    b.check(&at(1), "1|Ann|10.0000\n2|Bob|20.0000");
    b.check(&at(2), "1|Ann|15.0000\n2|Bob|20.0000");
    b.check(&at(3), "1|Ann|15.0000");
    b.check("SELECT id, pay FROM emp", "1|15.0000");
    b.check("SELECT id, pay FROM emp_past ORDER BY id", "1|10.0000\n2|20.0000");
    b.check(
        "SELECT id, pay FROM emp FOR SYSTEM_TIME ALL ORDER BY id, vf",
        "1|10.0000\n1|15.0000\n2|20.0000",
    );
    // The end of one version is the start of the next, and the last one has no end.
    b.check("SELECT COUNT(*) FROM emp JOIN emp_past AS p ON p.id = emp.id AND p.vt = emp.vf", "1");
    b.check("SELECT vt FROM emp", "9999-12-31 23:59:59.9999999");
    let between = |from: i32, to: i32, clause: &str| {
        format!(
            "DECLARE @a datetime2 = (SELECT at FROM moment WHERE n = {from}), @b datetime2 = (SELECT at FROM moment WHERE n = {to})
             SELECT id, pay FROM emp FOR SYSTEM_TIME {clause} AS e ORDER BY e.id, e.vf"
        )
    };
    b.check(&between(0, 1, "FROM @a TO @b"), "1|10.0000\n2|20.0000");
    b.check(&between(1, 2, "BETWEEN @a AND @b"), "1|10.0000\n1|15.0000\n2|20.0000");
    b.check(&between(2, 3, "BETWEEN @a AND @b"), "1|15.0000\n2|20.0000");
    b.check(&between(0, 2, "CONTAINED IN (@a, @b)"), "1|10.0000");
    b.check(&between(0, 3, "CONTAINED IN (@a, @b)"), "1|10.0000\n2|20.0000");
    // The very moment of a change belongs to the new version; FROM ... TO leaves the last moment
    // out, BETWEEN does not.
    b.check(
        "DECLARE @t datetime2 = (SELECT vf FROM emp) SELECT pay FROM emp FOR SYSTEM_TIME AS OF @t WHERE id = 1",
        "15.0000",
    );
    let edge =
        "DECLARE @t datetime2 = (SELECT vf FROM emp) DECLARE @b datetime2 = DATEADD(day, -1, @t)";
    b.check(
        &format!("{edge} SELECT pay FROM emp FOR SYSTEM_TIME FROM @b TO @t WHERE id = 1"),
        "10.0000",
    );
    b.check(
        &format!(
            "{edge} SELECT pay FROM emp FOR SYSTEM_TIME BETWEEN @b AND @t WHERE id = 1 ORDER BY pay"
        ),
        "10.0000\n15.0000",
    );
    // Joined, grouped, in subqueries, by a text.
    b.check(
        "SELECT id, COUNT(*), MAX(pay) FROM emp FOR SYSTEM_TIME ALL GROUP BY id ORDER BY id",
        "1|2|15.0000\n2|1|20.0000",
    );
    b.check(
        "SELECT n, (SELECT COUNT(*) FROM emp FOR SYSTEM_TIME AS OF '2000-01-01' AS e WHERE e.id = m.n) FROM moment AS m WHERE n = 1",
        "1|0",
    );
    b.check("SELECT dbo.emp.id FROM dbo.emp FOR SYSTEM_TIME ALL WHERE emp.pay = 20", "2");
    b.check("DECLARE @t datetime2 SELECT id FROM emp FOR SYSTEM_TIME AS OF @t", "");
}

#[test]
fn a_view_is_seen_as_it_was() {
    let mut b = bench();
    b.check("CREATE TABLE plain (id int PRIMARY KEY, word varchar(9)); INSERT plain VALUES (1, 'one'), (2, 'two')", "(2)");
    b.check(
        "CREATE VIEW v AS SELECT e.id, e.pay, p.word FROM emp AS e JOIN plain AS p ON p.id = e.id",
        "",
    );
    b.check("CREATE VIEW w AS SELECT id, word FROM plain", "");
    b.check("CREATE VIEW x AS SELECT id FROM emp FOR SYSTEM_TIME ALL", "");
    b.check("SELECT * FROM v", "1|15.0000|one");
    b.check(
        "DECLARE @t datetime2 = (SELECT at FROM moment WHERE n = 1) SELECT * FROM v FOR SYSTEM_TIME AS OF @t ORDER BY id",
        "1|10.0000|one\n2|20.0000|two",
    );
    b.check("SELECT COUNT(*) FROM x", "3");
    let not = |name: &str| {
        format!(
            "Msg 13544: Temporal FOR SYSTEM_TIME clause can only be used with system-versioned tables. '{name}' is not a \
             system-versioned table."
        )
    };
    b.check("SELECT * FROM w FOR SYSTEM_TIME ALL", &not("w"));
    b.check("SELECT * FROM plain FOR SYSTEM_TIME ALL", &not("t.dbo.plain"));
    b.check("SELECT * FROM emp_past FOR SYSTEM_TIME ALL", &not("t.dbo.emp_past"));
    b.check("WITH c AS (SELECT 1 AS a) SELECT * FROM c FOR SYSTEM_TIME ALL", &not("c"));
    b.check(
        "SELECT * FROM x FOR SYSTEM_TIME ALL",
        "Msg 13590: Temporal FOR SYSTEM_TIME clause can only be set once per temporal table. 'emp' has more than one temporal \
         FOR SYSTEM_TIME clause.",
    );
}

#[test]
fn every_way_of_changing_rows_keeps_them() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int IDENTITY PRIMARY KEY, a int, b varchar(max), c AS a * 2, d AS a + 1 PERSISTED, r rowversion,
         vf datetime2(3) GENERATED ALWAYS AS ROW START HIDDEN NOT NULL, vt datetime2(3) GENERATED ALWAYS AS ROW END HIDDEN NOT NULL,
         PERIOD FOR SYSTEM_TIME (vf, vt), INDEX ia (a)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.p))",
        "",
    );
    // Hidden columns are not among those of INSERT without a list, nor of *.
    b.check("INSERT t VALUES (1, 'x', DEFAULT)", "(1)");
    b.check("INSERT t (a, b) SELECT 2, REPLICATE(CAST('y' AS varchar(max)), 9000)", "(1)");
    b.check("INSERT t (a) SELECT value FROM GENERATE_SERIES(3, 6)", "(4)");
    b.check("SELECT COUNT(*) FROM p", "0");
    // Of three digits: what follows is later by more than one of them.
    b.check("WAITFOR DELAY '00:00:00.003'", "");
    b.check("SELECT TOP (1) * FROM t ORDER BY id DESC", "6|6|NULL|12|7|0x00000000000007D6");
    b.check("UPDATE t SET a = 10 OUTPUT deleted.a, inserted.a WHERE id = 1", "1|10");
    b.check("UPDATE t SET b = 'z' WHERE id = 2", "(1)");
    b.check("SELECT id, a, LEN(b), c, d, vt FROM p WHERE vt > SYSUTCDATETIME()", "");
    b.check("SELECT id, a, LEN(b), c, d FROM p ORDER BY id", "1|1|1|2|2\n2|2|9000|4|3");
    b.check(
        "MERGE t USING (VALUES (3, 30), (4, NULL), (99, 99)) AS s (id, a) ON s.id = t.id
         WHEN MATCHED AND s.a IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET a = s.a
         WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a);",
        "(3)",
    );
    b.check("SELECT id, a FROM p WHERE id IN (3, 4) ORDER BY id", "3|3\n4|4");
    b.check("WAITFOR DELAY '00:00:00.003'", "");
    b.check("WITH q AS (SELECT a FROM t WHERE id = 5) UPDATE q SET a += 1", "(1)");
    b.check("DELETE TOP (1) FROM t WHERE id = 6", "(1)");
    b.check("SELECT COUNT(*) FROM p", "6");
    // A statement that fails, and a transaction that is rolled back, leave no past.
    b.check("BEGIN TRAN DELETE t ROLLBACK SELECT COUNT(*) FROM p", "(5)\n6");
    b.check("ALTER TABLE t ADD CONSTRAINT ck CHECK (a < 100)", "");
    assert!(b.run("UPDATE t SET a = 500").starts_with("Msg 547"));
    b.check("SELECT COUNT(*) FROM p", "6");
    // Versions within one transaction have no duration: the history has them, FOR SYSTEM_TIME does
    // not.
    b.check(
        "BEGIN TRAN UPDATE t SET a = 50 WHERE id = 1 UPDATE t SET a = 51 WHERE id = 1 UPDATE t SET a = 52 WHERE id = 1 COMMIT",
        "(1)\n(1)\n(1)",
    );
    b.check("SELECT a FROM p WHERE id = 1 ORDER BY a", "1\n10\n50\n51");
    b.check("SELECT a FROM t FOR SYSTEM_TIME ALL WHERE id = 1 ORDER BY a", "1\n10\n52");
    b.check("SELECT c FROM t FOR SYSTEM_TIME ALL WHERE id = 1 ORDER BY c", "2\n20\n104");
    b.check("SELECT COUNT(DISTINCT vf) FROM t WHERE id = 1", "1");
    // All rows of one transaction have its time.
    b.check(
        "BEGIN TRAN INSERT t (a) VALUES (60) WAITFOR DELAY '00:00:00.005' INSERT t (a) VALUES (61) COMMIT",
        "(1)\n(1)",
    );
    b.check("SELECT COUNT(DISTINCT vf) FROM t WHERE a IN (60, 61)", "1");
    // Triggers and cascades.
    b.check("CREATE TABLE k (id int PRIMARY KEY REFERENCES t ON DELETE CASCADE, w int)", "");
    b.check("INSERT k VALUES (1, 1)", "(1)");
    b.check(
        "CREATE TABLE k2 (id int PRIMARY KEY, w int, tid int REFERENCES t ON DELETE CASCADE,
         s datetime2 GENERATED ALWAYS AS ROW START, e datetime2 GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e))
         WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.k2p)); INSERT k2 (id, w, tid) VALUES (7, 8, 1)",
        "(1)",
    );
    b.check("CREATE TRIGGER tr ON t FOR DELETE AS SELECT COUNT(*) FROM deleted", "");
    b.check("DELETE t WHERE id = 1", "1\n(1)");
    b.check("SELECT id, w, tid FROM k2p", "7|8|1");
    b.check("SELECT COUNT(*) FROM k", "0");
    let said = b.run("DBCC CHECKDB");
    assert!(said.contains("CHECKDB found 0 allocation errors and 0 consistency errors"), "{said}");
}

#[test]
fn a_history_and_a_period_are_the_tables_own() {
    let mut b = bench();
    let explicit = "Msg 13536: Cannot insert an explicit value into a GENERATED ALWAYS column in table 't.dbo.emp'. Use \
                    INSERT with a column list to exclude the GENERATED ALWAYS column, or insert a DEFAULT into GENERATED \
                    ALWAYS column.";
    b.check("INSERT emp VALUES (9, 'Zoe', 1, DEFAULT, DEFAULT)", "(1)");
    b.check("INSERT emp VALUES (10, 'Zoe', 1, SYSUTCDATETIME(), DEFAULT)", explicit);
    b.check("INSERT emp (id, vf) VALUES (10, NULL)", explicit);
    b.check("INSERT emp SELECT 10, 'Zoe', 1, NULL, NULL", explicit);
    b.check("MERGE emp USING (SELECT 10 AS i) AS s ON id = i WHEN NOT MATCHED THEN INSERT (id, vt) VALUES (i, '2020-01-01');", explicit);
    b.check(
        "UPDATE emp SET vf = '2020-01-01'",
        "Msg 13537: Cannot update GENERATED ALWAYS columns in table 't.dbo.emp'.",
    );
    b.check(
        "INSERT emp_past (id) VALUES (1)",
        "Msg 13559: Cannot insert rows in a temporal history table 't.dbo.emp_past'.",
    );
    b.check(
        "DELETE emp_past",
        "Msg 13560: Cannot delete rows from a temporal history table 't.dbo.emp_past'.",
    );
    b.check(
        "UPDATE emp_past SET pay = 0",
        "Msg 13561: Cannot update rows in a temporal history table 't.dbo.emp_past'.",
    );
    b.check(
        "MERGE emp_past USING (SELECT 1 AS i) AS s ON id = i WHEN MATCHED THEN DELETE;",
        "Msg 13562: Cannot perform MERGE operation on temporal history table 't.dbo.emp_past'.",
    );
    for table in ["emp", "emp_past"] {
        b.check(
            &format!("DROP TABLE {table}"),
            &format!(
                "Msg 13552: Drop table operation failed on table 't.dbo.{table}' because it is not a supported operation on \
                 system-versioned temporal tables."
            ),
        );
        b.check(
            &format!("TRUNCATE TABLE {table}"),
            &format!(
                "Msg 13545: Truncate failed on table 't.dbo.{table}' because it is not a supported operation on \
                 system-versioned tables."
            ),
        );
    }
    for (sql, number) in [
        ("ALTER TABLE emp_past ADD n int", 13550),
        ("ALTER TABLE emp_past DROP COLUMN pay", 13551),
        ("ALTER TABLE emp_past ALTER COLUMN pay int", 13548),
        ("ALTER TABLE emp_past ADD PRIMARY KEY (id)", 13558),
        ("ALTER TABLE emp_past ADD UNIQUE (id)", 13583),
        ("ALTER TABLE emp_past ADD CHECK (id > 0)", 13564),
        ("ALTER TABLE emp_past ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES emp", 13565),
        ("ALTER TABLE emp DROP COLUMN vf", 13588),
        ("ALTER TABLE emp ALTER COLUMN vf datetime2(3)", 13599),
        ("ALTER TABLE emp ALTER COLUMN pay money GENERATED ALWAYS AS ROW START", 13589),
        ("ALTER TABLE emp ADD n int IDENTITY", 13704),
        ("ALTER TABLE emp ADD n AS id + 1", 13724),
        ("ALTER TABLE emp DROP PERIOD FOR SYSTEM_TIME", 13592),
        ("ALTER TABLE emp ADD PERIOD FOR SYSTEM_TIME (vf, vt)", 13597),
        ("ALTER TABLE emp_past ADD PERIOD FOR SYSTEM_TIME (vf, vt)", 13598),
        ("ALTER TABLE emp SET (SYSTEM_VERSIONING = ON)", 13596),
        ("ALTER TABLE emp SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.moment))", 13595),
        ("ALTER TABLE emp SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.nowhere))", 13757),
        ("ALTER TABLE moment SET (SYSTEM_VERSIONING = ON)", 13510),
        ("ALTER TABLE moment SET (SYSTEM_VERSIONING = OFF)", 13591),
        ("ALTER TABLE moment DROP PERIOD FOR SYSTEM_TIME", 13593),
        ("CREATE TRIGGER x ON emp INSTEAD OF DELETE AS RETURN", 13569),
        ("CREATE TRIGGER x ON emp_past FOR DELETE AS RETURN", 13569),
        ("DECLARE @t TABLE (a int, s datetime2 GENERATED ALWAYS AS ROW START)", 13572),
    ] {
        let said = b.run(sql);
        assert!(said.starts_with(&format!("Msg {number}:")), "{sql}\n{said}");
    }
    b.check("DECLARE @k sysname = (SELECT name FROM sys.key_constraints WHERE parent_object_id = OBJECT_ID('emp'))
             EXEC ('ALTER TABLE emp DROP CONSTRAINT ' + @k)",
        "Msg 13557: Cannot drop PRIMARY KEY constraint from a system-versioned temporal table 't.dbo.emp'.");
    // The transaction is older than the row.
    let said = b.run("SELECT id FROM emp");
    b.check("SELECT id FROM emp", &said);
}

#[test]
fn an_older_transaction_cannot_end_a_newer_row() {
    let mut b = Bench::new();
    b.check(EMPLOYEE, "");
    b.run("BEGIN TRAN SELECT 1");
    b.run("WAITFOR DELAY '00:00:00.005'");
    let instance = b.instance.clone();
    text::run(&instance, "USE t INSERT emp (id) VALUES (1)");
    b.check(
        "UPDATE emp SET pay = 1",
        "Msg 13535: Data modification failed on system-versioned table 't.dbo.emp' because transaction time was earlier than \
         period start time for affected records.",
    );
    b.run("ROLLBACK");
    b.check("UPDATE emp SET pay = 1", "(1)");
}

#[test]
fn definitions_are_checked() {
    let mut b = Bench::new();
    let columns = |s: &str, e: &str, period: &str| {
        format!("CREATE TABLE x (a int PRIMARY KEY, {s}, {e}{period})")
    };
    let (s, e) =
        ("s datetime2 GENERATED ALWAYS AS ROW START", "e datetime2 GENERATED ALWAYS AS ROW END");
    let period = ", PERIOD FOR SYSTEM_TIME (s, e)";
    for (sql, number) in [
        (columns("s datetime GENERATED ALWAYS AS ROW START", e, period), 13501),
        (columns(s, "e datetime2 GENERATED ALWAYS AS ROW START", period), 13502),
        (columns("s datetime2", e, period), 13504),
        (columns(s, "e datetime2", period), 13505),
        (columns(s, e, ", PERIOD FOR SYSTEM_TIME (a, e)"), 13506),
        (columns(s, e, ", PERIOD FOR SYSTEM_TIME (s, a)"), 13507),
        (columns(s, e, ", PERIOD FOR SYSTEM_TIME (s, e), PERIOD FOR SYSTEM_TIME (s, e)"), 13508),
        (columns(s, e, ""), 13509),
        (columns(s, "e datetime2(3) GENERATED ALWAYS AS ROW END", period), 13513),
        (columns("s datetime2 GENERATED ALWAYS AS ROW START NULL", e, period), 13587),
        (format!("CREATE TABLE x (a int, {s}, {e}{period}) WITH (SYSTEM_VERSIONING = ON)"), 13553),
        (
            format!("{} WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = h))", columns(s, e, period)),
            13539,
        ),
        ("CREATE TABLE x (a int PRIMARY KEY) WITH (SYSTEM_VERSIONING = ON)".into(), 13510),
        (
            format!(
                "{} WITH (SYSTEM_VERSIONING = ON (HISTORY_RETENTION_PERIOD = 0 DAYS))",
                columns(s, e, period)
            ),
            13743,
        ),
        (
            format!(
                "{} WITH (SYSTEM_VERSIONING = ON (HISTORY_RETENTION_PERIOD = 5 HOURS))",
                columns(s, e, period)
            ),
            13744,
        ),
    ] {
        let said = b.run(&sql);
        assert!(said.starts_with(&format!("Msg {number}:")), "{sql}\n{said}");
        b.check("SELECT COUNT(*) FROM sys.tables", "0");
    }
    let made =
        format!("{} WITH (SYSTEM_VERSIONING = ON)", columns(s, e, period).replace("(a", "(n"));
    let temporary = made.replace("TABLE x", "TABLE #x").replace("a int", "n int");
    assert!(b.run(&temporary).starts_with("Msg 13568:"), "{temporary}");
}

#[test]
fn a_history_that_is_there_is_taken_over_when_it_fits() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (a int NOT NULL PRIMARY KEY, w varchar(9) NULL, s datetime2 GENERATED ALWAYS AS ROW START,
         e datetime2 GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e))",
        "",
    );
    b.check("INSERT t (a, w) VALUES (1, 'now')", "(1)");
    let good = "a int NOT NULL, w varchar(9) NULL, s datetime2 NOT NULL, e datetime2 NOT NULL";
    for (columns, number) in [
        (
            "a int NOT NULL PRIMARY KEY, w varchar(9) NULL, s datetime2 NOT NULL, e datetime2 NOT NULL",
            13515,
        ),
        (
            "a int NOT NULL CHECK (a > 0), w varchar(9) NULL, s datetime2 NOT NULL, e datetime2 NOT NULL",
            13517,
        ),
        ("a int IDENTITY, w varchar(9) NULL, s datetime2 NOT NULL, e datetime2 NOT NULL", 13518),
        ("a int NOT NULL, w AS 'x', s datetime2 NOT NULL, e datetime2 NOT NULL", 13519),
        ("a int NOT NULL, s datetime2 NOT NULL, e datetime2 NOT NULL", 13523),
        ("a int NOT NULL, x varchar(9) NULL, s datetime2 NOT NULL, e datetime2 NOT NULL", 13524),
        ("a int NOT NULL, w varchar(8) NULL, s datetime2 NOT NULL, e datetime2 NOT NULL", 13525),
        (
            "a int NOT NULL, w varchar(9) COLLATE Latin1_General_BIN2 NULL, s datetime2 NOT NULL, e datetime2 NOT NULL",
            13526,
        ),
        ("a int NOT NULL, w varchar(9) NULL, s datetime2 NULL, e datetime2 NOT NULL", 13530),
        ("a int NULL, w varchar(9) NULL, s datetime2 NOT NULL, e datetime2 NOT NULL", 13531),
    ] {
        b.run(&format!("CREATE TABLE h ({columns})"));
        let said = b.run("ALTER TABLE t SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.h))");
        assert!(said.starts_with(&format!("Msg {number}:")), "{columns}\n{said}");
        b.check("DROP TABLE h", "");
    }
    b.check(&format!("CREATE TABLE h ({good})"), "");
    for (rows, number) in [
        ("(1, 'a', '2001-01-01', '2000-01-01')", 13541),
        ("(1, 'a', '2001-01-01', '9000-01-01')", 13543),
        ("(1, 'a', '2001-01-01', '2003-01-01'), (1, 'b', '2002-01-01', '2004-01-01')", 13573),
    ] {
        b.run(&format!("TRUNCATE TABLE h INSERT h VALUES {rows}"));
        let said = b.run(
            "ALTER TABLE t SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.h, DATA_CONSISTENCY_CHECK = ON))",
        );
        assert!(said.starts_with(&format!("Msg {number}:")), "{rows}\n{said}");
    }
    // Nobody looks.
    b.check(
        "ALTER TABLE t SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.h, DATA_CONSISTENCY_CHECK = OFF))",
        "",
    );
    b.check("ALTER TABLE t SET (SYSTEM_VERSIONING = OFF)", "");
    b.check("DELETE h WHERE w = 'b'", "(1)");
    assert!(
        b.run("ALTER TABLE t SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.h, HISTORY_RETENTION_PERIOD = 6 MONTHS))")
            .starts_with("Msg 13765:")
    );
    b.check("CREATE CLUSTERED INDEX c ON h (e, s)", "");
    b.check("ALTER TABLE t SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.h))", "");
    b.check("SELECT w FROM t FOR SYSTEM_TIME AS OF '2002-06-01'", "a");
    b.check("UPDATE t SET w = 'then'", "(1)");
    b.check("SELECT w FROM h ORDER BY s", "a\nnow");
    // What is older than the history is kept is not shown any more.
    b.check("ALTER TABLE t SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.h, HISTORY_RETENTION_PERIOD = 6 MONTHS))", "");
    b.check("SELECT w FROM t FOR SYSTEM_TIME ALL ORDER BY s", "now\nthen");
    b.check(
        "SELECT history_retention_period, history_retention_period_unit, history_retention_period_unit_desc FROM sys.tables WHERE \
         name = 't'",
        "6|5|MONTH",
    );
}

#[test]
fn a_table_that_is_there_becomes_versioned_and_changes_with_its_history() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (a int PRIMARY KEY, w varchar(9)); INSERT t VALUES (1, 'x'), (2, 'y')",
        "(2)",
    );
    b.check(
        "ALTER TABLE t ADD PERIOD FOR SYSTEM_TIME (s, e),
         s datetime2 GENERATED ALWAYS AS ROW START HIDDEN NOT NULL DEFAULT SYSUTCDATETIME(),
         e datetime2 GENERATED ALWAYS AS ROW END HIDDEN NOT NULL DEFAULT '9999-12-31 23:59:59.9999999'",
        "",
    );
    b.check("ALTER TABLE t SET (SYSTEM_VERSIONING = ON)", "");
    b.check("SELECT * FROM t", "1|x\n2|y");
    b.check(
        "SELECT CASE WHEN h.name = 'MSSQL_TemporalHistoryFor_' + CAST(t.object_id AS varchar(11)) THEN 'named' END, i.name, i.type_desc,
         (SELECT STRING_AGG(c.name, ',') WITHIN GROUP (ORDER BY ic.key_ordinal) FROM sys.index_columns ic JOIN sys.columns c ON
          c.object_id = ic.object_id AND c.column_id = ic.column_id WHERE ic.object_id = i.object_id AND ic.index_id = i.index_id)
         FROM sys.tables t JOIN sys.tables h ON h.object_id = t.history_table_id JOIN sys.indexes i ON i.object_id = h.object_id
         WHERE t.name = 't' AND i.name = 'ix_' + h.name"
            .replace("i.name, i.type_desc", "i.type_desc")
            .as_str(),
        "named|CLUSTERED|e,s",
    );
    b.check("UPDATE t SET w = 'z' WHERE a = 1", "(1)");
    b.check("ALTER TABLE t ADD n int NULL, m int NOT NULL CONSTRAINT dm DEFAULT 7", "");
    b.check(
        "SELECT a, w, n, m FROM t FOR SYSTEM_TIME ALL ORDER BY a, w",
        "1|x|NULL|7\n1|z|NULL|7\n2|y|NULL|7",
    );
    b.check("UPDATE t SET n = 3 WHERE a = 2", "(1)");
    b.check("ALTER TABLE t ALTER COLUMN w varchar(20)", "");
    b.check("ALTER TABLE t ALTER COLUMN n bigint", "");
    b.check(
        "EXEC sp_rename 't.w', 'word', 'COLUMN'",
        "Caution: Changing any part of an object name could break scripts and stored procedures.",
    );
    b.check("ALTER TABLE t DROP COLUMN n", "");
    b.check(
        "SELECT a, word, m FROM t FOR SYSTEM_TIME ALL ORDER BY a, word, s",
        "1|x|7\n1|z|7\n2|y|7\n2|y|7",
    );
    b.check("ALTER TABLE t ALTER COLUMN s DROP HIDDEN", "");
    b.check(
        "SELECT name, generated_always_type, generated_always_type_desc, is_hidden FROM sys.columns WHERE object_id = OBJECT_ID('t')",
        "a|0|NOT_APPLICABLE|0\nword|0|NOT_APPLICABLE|0\ns|1|AS_ROW_START|0\ne|2|AS_ROW_END|1\nm|0|NOT_APPLICABLE|0",
    );
    b.check(
        "SELECT p.name, period_type, period_type_desc, OBJECT_NAME(object_id), COL_NAME(object_id, start_column_id),
         COL_NAME(object_id, end_column_id) FROM sys.periods AS p",
        "SYSTEM_TIME|1|SYSTEM_TIME_PERIOD|t|s|e",
    );
    b.check(
        "SELECT temporal_type, temporal_type_desc, history_retention_period, history_retention_period_unit_desc,
         OBJECTPROPERTY(object_id, 'TableTemporalType') FROM sys.tables ORDER BY temporal_type",
        "1|HISTORY_TABLE|NULL|NULL|1\n2|SYSTEM_VERSIONED_TEMPORAL_TABLE|-1|INFINITE|2",
    );
    // Off, and all is as with any two tables.
    b.check("ALTER TABLE t SET (SYSTEM_VERSIONING = OFF)", "");
    b.check("UPDATE t SET word = 'q' WHERE a = 1", "(1)");
    b.check("SELECT temporal_type FROM sys.tables", "0\n0");
    b.check("ALTER TABLE t DROP PERIOD FOR SYSTEM_TIME", "");
    b.check("UPDATE t SET s = '2000-01-01'", "(2)");
    b.check("ALTER TABLE t ADD PERIOD FOR SYSTEM_TIME (s, e)", "");
    b.check(
        "ALTER TABLE t DROP PERIOD FOR SYSTEM_TIME UPDATE t SET e = '2010-01-01' WHERE a = 1",
        "(1)",
    );
    assert!(b.run("ALTER TABLE t ADD PERIOD FOR SYSTEM_TIME (s, e)").starts_with("Msg 13575:"));
    b.check("UPDATE t SET e = '9999-12-31 23:59:59.9999999', s = '2900-01-01' WHERE a = 1", "(1)");
    assert!(b.run("ALTER TABLE t ADD PERIOD FOR SYSTEM_TIME (s, e)").starts_with("Msg 13542:"));
    b.check("DROP TABLE t", "");
}

#[test]
fn definitions_survive_a_restart() {
    let mut b = Bench::new();
    b.check(EMPLOYEE, "");
    b.check("INSERT emp (id, pay) VALUES (1, 1) UPDATE emp SET pay = 2", "(1)\n(1)");
    let mut b = b.restart();
    b.check("UPDATE emp SET pay = 3", "(1)");
    b.check("SELECT pay FROM emp FOR SYSTEM_TIME ALL ORDER BY pay", "1.0000\n2.0000\n3.0000");
    b.check("SELECT pay FROM emp_past ORDER BY pay", "1.0000\n2.0000");
    b.fails("DROP TABLE emp", 13552);
}

/// The history is written in the transaction of the change, its definition in that of the
/// statement: after a power loss a row's versions join up and none is lost, and a table is
/// versioned with a history or not at all.
#[test]
fn what_is_older_than_the_retention_period_goes() {
    let mut b = Bench::new();
    b.run("CREATE TABLE past (id int NOT NULL, n int, s datetime2 NOT NULL, e datetime2 NOT NULL, INDEX cx CLUSTERED (e, s))");
    b.run(
        "INSERT past VALUES (1, 1, '2001-01-01', '2002-01-01'), (1, 2, '2002-01-01', DATEADD(day, -2, SYSUTCDATETIME())),
            (2, 1, '2003-01-01', DATEADD(hour, -1, SYSUTCDATETIME()))",
    );
    b.run(
        "CREATE TABLE t (id int PRIMARY KEY, n int, s datetime2 GENERATED ALWAYS AS ROW START NOT NULL, e datetime2 GENERATED ALWAYS AS ROW END NOT NULL,
            PERIOD FOR SYSTEM_TIME (s, e)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.past, HISTORY_RETENTION_PERIOD = 1 DAY))",
    );
    b.fails("DELETE past", 13_560);
    b.check(
        "DECLARE @n int; EXEC sp_cleanup_temporal_history 'dbo', 't', @n OUTPUT; SELECT @n",
        "2",
    );
    b.check("SELECT id, n FROM past", "2|1");
    b.check("DECLARE @n int; EXEC sp_cleanup_temporal_history @schema_name = 'dbo', @table_name = 't', @rowcount = @n OUTPUT; SELECT @n", "0");
    b.fails("EXEC sp_cleanup_temporal_history 'dbo', 'nothing'", 208);
    b.fails("EXEC sp_cleanup_temporal_history 'dbo', 'past'", 13_591);
    // Kept for ever, nothing goes.
    b.run(
        "ALTER TABLE t SET (SYSTEM_VERSIONING = OFF); INSERT past VALUES (3, 1, '2001-01-01', '2002-01-01')",
    );
    b.run("ALTER TABLE t SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.past))");
    b.check(
        "DECLARE @n int; EXEC sp_cleanup_temporal_history 'dbo', 't', @n OUTPUT; SELECT @n",
        "0",
    );
}

#[test]
fn after_a_power_loss_the_versions_of_a_row_join_up() {
    let open = |disk: &SimDisk| try_open(disk, 16 << 20).unwrap();
    let disk = SimDisk::new(11);
    let instance = open(&disk);
    text::run(&instance, "CREATE DATABASE d");
    text::run(&instance, &format!("USE d {EMPLOYEE}"));
    text::run(&instance, "USE d INSERT emp (id, pay) SELECT value, 0 FROM GENERATE_SERIES(1, 20)");
    instance.close().unwrap();
    drop(instance);
    let work = "USE d
        BEGIN TRAN UPDATE emp SET pay += 1 WHERE id % 3 = 0 COMMIT
        UPDATE emp SET pay += 1 WHERE id % 3 <> 1
        ALTER TABLE emp SET (SYSTEM_VERSIONING = OFF)
        ALTER TABLE emp SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.emp_past))
        ALTER TABLE emp ADD n int NOT NULL DEFAULT 5
        UPDATE emp SET pay += 1
        CREATE TABLE other (a int PRIMARY KEY, s datetime2 GENERATED ALWAYS AS ROW START, e datetime2 GENERATED ALWAYS AS ROW END,
            PERIOD FOR SYSTEM_TIME (s, e)) WITH (SYSTEM_VERSIONING = ON)
        UPDATE emp SET pay += 1 WHERE id < 5";
    power_loss(&disk, open, work, 12, |instance, _, at| {
        let both = "(SELECT id, pay, vf, vt FROM d.dbo.emp UNION ALL SELECT id, pay, vf, vt FROM d.dbo.emp_past)";
        let broken = format!(
            "SELECT COUNT(*) FROM (SELECT pay, vf, LAG(vt) OVER (PARTITION BY id ORDER BY pay) AS before,
             LAG(pay) OVER (PARTITION BY id ORDER BY pay) AS was FROM {both} AS x) AS y WHERE before <> vf OR was <> pay - 1"
        );
        assert_eq!(say(instance, &broken), "0", "{at}");
        assert_eq!(
            say(instance, "SELECT CAST(SUM(pay) AS int) FROM d.dbo.emp"),
            say(instance, "SELECT COUNT(*) FROM d.dbo.emp_past"),
            "{at}"
        );
        let pairs = "SELECT COUNT(*) FROM d.sys.tables AS t FULL JOIN d.sys.tables AS h ON h.object_id = t.history_table_id \
                     AND h.temporal_type = 1 WHERE (t.temporal_type = 2 AND h.name IS NULL) OR (h.temporal_type = 1 AND t.name IS NULL)";
        assert_eq!(say(instance, pairs), "0", "{at}");
        let said = say(instance, "DBCC CHECKDB (d)");
        assert!(
            said.contains("CHECKDB found 0 allocation errors and 0 consistency errors"),
            "{at}: {said}"
        );
    });
}

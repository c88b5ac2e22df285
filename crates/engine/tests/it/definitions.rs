//! Changes of definitions: indexes disabled, rebuilt and with options; columns, rows and names of
//! tables.

use crate::support::text::Bench;

#[track_caller]
fn is_sound(b: &mut Bench) {
    let said = b.run("DBCC CHECKDB");
    assert!(said.contains("CHECKDB found 0 allocation errors and 0 consistency errors"), "{said}");
}

#[track_caller]
fn says(b: &mut Bench, sql: &str, part: &str) {
    let said = b.run(sql);
    assert!(said.contains(part), "{sql}\n{said}");
}

const IGNORED: &str = "Duplicate key was ignored.";

#[test]
fn a_disabled_index_is_used_by_nobody() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int CONSTRAINT pk_t PRIMARY KEY, a int, c int)
         CREATE INDEX ix_a ON t (a) CREATE UNIQUE INDEX ux_c ON t (c)
         INSERT t VALUES (1, 1, 1), (2, 2, 2)",
        "(2)",
    );
    b.check("ALTER INDEX ux_c ON t DISABLE", "");
    b.check("SELECT name FROM sys.indexes WHERE is_disabled = 1; SELECT INDEXPROPERTY(OBJECT_ID('t'), 'ux_c', 'IsDisabled')", "ux_c\n1");
    b.check("INSERT t VALUES (3, 3, 1); SELECT id FROM t WHERE c = 1 ORDER BY id", "(1)\n1\n3");
    says(&mut b, "SELECT * FROM t WITH (INDEX (ux_c))", "Msg 315: Index \"ux_c\" on table \"t\"");
    says(
        &mut b,
        "ALTER INDEX ux_c ON t REORGANIZE",
        "Msg 1973: Cannot perform the specified operation on disabled index 'ux_c' on table 't'.",
    );
    says(&mut b, "ALTER INDEX ux_c ON t SET (ALLOW_ROW_LOCKS = OFF)", "Msg 1973");
    says(&mut b, "ALTER INDEX ux_c ON t REBUILD", "Msg 1505");
    is_sound(&mut b);
    b.check("DELETE t WHERE id = 3; ALTER INDEX ux_c ON t REBUILD", "(1)");
    says(&mut b, "INSERT t VALUES (3, 3, 1)", "Msg 2601");
    // Rollbacks, drops, other changes.
    b.check("BEGIN TRAN ALTER INDEX ix_a ON t DISABLE; INSERT t VALUES (9, 9, 9); ROLLBACK", "(1)");
    b.check("SELECT id FROM t WITH (INDEX (ix_a)) WHERE a = 2", "2");
    b.check("ALTER INDEX ix_a ON t DISABLE; ALTER INDEX pk_t ON t REBUILD; TRUNCATE TABLE t; INSERT t VALUES (1, 1, 1)", "(1)");
    b.check("SELECT name FROM sys.indexes WHERE is_disabled = 1; ALTER TABLE t ADD d int NOT NULL DEFAULT 7; DROP INDEX ix_a ON t", "ix_a");
    is_sound(&mut b);
    says(&mut b, "ALTER INDEX nope ON t DISABLE", "Msg 2727: Cannot find index 'nope'.");
    says(&mut b, "ALTER INDEX ux_c ON t REBUILD PARTITION = 1", "Msg 7729");
    says(&mut b, "ALTER INDEX ALL ON t REORGANIZE PARTITION = 2", "Msg 7735");
    says(
        &mut b,
        "ALTER INDEX ux_c ON t RESUME",
        "Msg 10638: ALTER INDEX 'RESUME' failed. There is no pending resumable index operation for the index 'ux_c' on 't'.",
    );
    says(&mut b, "ALTER INDEX ALL ON t ABORT", "Msg 10680");
}

#[test]
fn a_disabled_clustered_index_closes_the_table() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int CONSTRAINT pk_t PRIMARY KEY, a int)
         CREATE INDEX ix_a ON t (a)
         CREATE TABLE c (id int CONSTRAINT fk_c REFERENCES t)
         INSERT t VALUES (1, 1), (2, 2); INSERT c VALUES (1)",
        "(2)\n(1)",
    );
    b.check(
        "ALTER INDEX pk_t ON t DISABLE",
        "Warning: Index 'ix_a' on table 't' was disabled as a result of disabling the clustered index on the table.\n\
         Warning: Foreign key 'fk_c' on table 'c' referencing table 't' was disabled as a result of disabling the \
         index 'pk_t'.",
    );
    for sql in [
        "SELECT * FROM t",
        "INSERT t VALUES (3, 3)",
        "UPDATE t SET a = 1",
        "DELETE t",
        "SELECT 1 FROM c JOIN t ON t.id = c.id",
    ] {
        b.check(
            sql,
            "Msg 8655: The query processor is unable to produce a plan because the index 'pk_t' on table or view 't' is disabled.",
        );
    }
    says(&mut b, "CREATE INDEX another ON t (a)", "Msg 1987");
    says(&mut b, "ALTER TABLE t ADD z int", "Msg 1974");
    says(&mut b, "ALTER INDEX ix_a ON t REBUILD", "Msg 1974");
    b.check(
        "SELECT is_disabled, is_not_trusted FROM sys.foreign_keys; INSERT c VALUES (77)",
        "1|1\n(1)",
    );
    is_sound(&mut b);
    b.check("ALTER INDEX pk_t ON t REBUILD; SELECT COUNT(*) FROM t", "2");
    b.check("SELECT name FROM sys.indexes WHERE is_disabled = 1 ORDER BY 1", "ix_a");
    b.check("ALTER INDEX ALL ON t REBUILD; SELECT id FROM t WITH (INDEX (ix_a)) WHERE a = 2", "2");
    says(&mut b, "ALTER TABLE c WITH CHECK CHECK CONSTRAINT fk_c", "Msg 547");
    is_sound(&mut b);
}

#[test]
fn ignore_dup_key_leaves_rows_out() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int PRIMARY KEY WITH (IGNORE_DUP_KEY = ON), u int, w int)
         CREATE UNIQUE INDEX ux ON t (u) WITH (IGNORE_DUP_KEY = ON)
         CREATE UNIQUE INDEX uw ON t (w)
         CREATE TABLE log (id int)",
        "",
    );
    let ignored = IGNORED;
    b.check("INSERT t VALUES (1, 1, 1)", "(1)");
    b.check("INSERT t VALUES (1, 2, 2)", &format!("{ignored}\n(0)"));
    b.check(
        "INSERT t VALUES (2, 1, 2), (2, 2, 2), (3, 2, 3), (2, 5, 5)",
        &format!("{ignored}\n(1)"),
    );
    b.check("SELECT id, u, w FROM t ORDER BY id", "1|1|1\n2|2|2");
    says(&mut b, "INSERT t VALUES (9, 9, 1)", "Msg 2601");
    says(&mut b, "UPDATE t SET u = 1 WHERE id = 2", "Msg 2601");
    b.check(
        "INSERT t OUTPUT inserted.id INTO log SELECT v, v, v FROM (VALUES (2), (7), (7), (8)) AS x (v)",
        &format!("{ignored}\n(2)"),
    );
    b.check(
        "SELECT id FROM log ORDER BY id; SELECT @@ROWCOUNT; SELECT COUNT(*) FROM t",
        "7\n8\n2\n4",
    );
    // A trigger gets what came in.
    b.run("CREATE TRIGGER keep ON t FOR INSERT AS SET NOCOUNT ON INSERT log SELECT id + 100 FROM inserted");
    b.check(
        "TRUNCATE TABLE log; INSERT t VALUES (8, 1, 1), (10, 10, 10); SELECT id FROM log",
        &format!("{ignored}\n(1)\n110"),
    );
    b.check("BEGIN TRAN INSERT t VALUES (1, 50, 50); INSERT t VALUES (50, 50, 50); ROLLBACK SELECT COUNT(*) FROM t", &format!("{ignored}\n(0)\n(1)\n5"));
    is_sound(&mut b);
    says(&mut b, "CREATE INDEX no ON t (w) WITH (IGNORE_DUP_KEY = ON)", "Msg 1916");
    says(
        &mut b,
        "ALTER INDEX uw ON t SET (IGNORE_DUP_KEY = ON) INSERT t VALUES (60, 60, 1)",
        IGNORED,
    );
    b.check("SELECT name, ignore_dup_key FROM sys.indexes WHERE object_id = OBJECT_ID('t') AND index_id > 1 ORDER BY 1", "uw|1\nux|1");
    b.check("ALTER INDEX uw ON t REBUILD WITH (FILLFACTOR = 70, PAD_INDEX = ON, ALLOW_PAGE_LOCKS = OFF)", "");
    b.check(
        "SELECT ignore_dup_key, fill_factor, is_padded, allow_page_locks, allow_row_locks FROM sys.indexes WHERE name = 'uw'",
        "1|70|1|0|1",
    );
    b.check("CREATE INDEX plain ON t (w)", "");
    says(&mut b, "ALTER INDEX plain ON t SET (IGNORE_DUP_KEY = ON)", "Msg 1915");
    says(
        &mut b,
        "CREATE TABLE k (a int CONSTRAINT uk UNIQUE) ALTER INDEX uk ON k REBUILD WITH (IGNORE_DUP_KEY = ON)",
        "Msg 1979",
    );
}

#[test]
fn switch_gives_the_rows_to_another_table() {
    let mut b = Bench::new();
    let table = |name: &str| {
        format!(
            "CREATE TABLE {name} (id int IDENTITY PRIMARY KEY, a int NOT NULL, m varchar(max) NULL, CHECK (a > 0))
             CREATE INDEX ix ON {name} (a) WHERE a > 5 "
        )
    };
    b.run(&format!("{} {}", table("s"), table("t")));
    b.check("INSERT s (a, m) SELECT value, REPLICATE(CAST('x' AS varchar(max)), 20000) FROM GENERATE_SERIES(1, 50)", "(50)");
    b.check("BEGIN TRAN ALTER TABLE s SWITCH TO t; SELECT COUNT(*) FROM s; SELECT COUNT(*), MAX(LEN(m)) FROM t; ROLLBACK", "0\n50|20000");
    b.check("SELECT COUNT(*) FROM s; SELECT COUNT(*) FROM t", "50\n0");
    b.check(
        "ALTER TABLE s SWITCH TO t; SELECT COUNT(*) FROM s; SELECT COUNT(*), SUM(LEN(m)) FROM t WHERE a > 10",
        "0\n40|800000",
    );
    b.check(
        "INSERT s (a) VALUES (9); SELECT id FROM s; SELECT id FROM t WITH (INDEX (ix)) WHERE a = 50",
        "(1)\n51\n50",
    );
    is_sound(&mut b);
    says(
        &mut b,
        "ALTER TABLE s SWITCH TO t",
        "Msg 4905: ALTER TABLE SWITCH statement failed. The target table 't.dbo.t' must be empty.",
    );
    b.check("DELETE s; DELETE t; DROP INDEX ix ON t", "(1)\n(50)");
    says(&mut b, "ALTER TABLE s SWITCH TO t", "Msg 4947");
    b.check("CREATE INDEX ix ON t (a) WHERE a > 6", "");
    says(&mut b, "ALTER TABLE s SWITCH TO t", "Msg 4947");
    b.check("CREATE TABLE h (id int, a int) CREATE TABLE i (id int, b int) CREATE TABLE j (id int, a bigint) CREATE TABLE k (id int NOT NULL, a int)
             CREATE TABLE l (id int, a int CHECK (a > 3)) CREATE TABLE m (id int)", "");
    for (other, number) in [("i", 4942), ("j", 4944), ("k", 4985), ("l", 4970), ("m", 4943)] {
        says(&mut b, &format!("ALTER TABLE h SWITCH TO {other}"), &format!("Msg {number}"));
    }
    says(&mut b, "ALTER TABLE l SWITCH TO t", "Msg 4943");
    is_sound(&mut b);
}

#[test]
fn tables_say_when_locks_become_one() {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (id int) ALTER TABLE t SET (LOCK_ESCALATION = DISABLE)", "");
    b.check("SELECT lock_escalation, lock_escalation_desc FROM sys.tables", "1|DISABLE");
    b.check(
        "ALTER TABLE t SET (LOCK_ESCALATION = AUTO) SELECT lock_escalation_desc FROM sys.tables",
        "AUTO",
    );
    b.check(
        "ALTER TABLE t SET (LOCK_ESCALATION = TABLE) SELECT lock_escalation_desc FROM sys.tables",
        "TABLE",
    );
    says(&mut b, "ALTER TABLE t SET (SYSTEM_VERSIONING = ON)", "Msg 13510");
    // From 5,000 rows on one lock on the table, or not.
    let locks = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'OBJECT' AND request_mode = 'S' AND resource_associated_entity_id = OBJECT_ID('t')";
    b.check("INSERT t SELECT value FROM GENERATE_SERIES(1, 6000)", "(6000)");
    let held = |b: &mut Bench| {
        let said = b.run(&format!(
            "SET NOCOUNT ON BEGIN TRAN DECLARE @n int SELECT @n = COUNT(*) FROM t WITH (REPEATABLEREAD); {locks}; ROLLBACK"
        ));
        said.trim().to_owned()
    };
    assert_eq!(held(&mut b), "1");
    b.check("ALTER TABLE t SET (LOCK_ESCALATION = DISABLE)", "");
    assert_eq!(held(&mut b), "0");
}

#[test]
fn columns_become_longer_where_they_lie() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int PRIMARY KEY, s varchar(10) NOT NULL, n nvarchar(5), c AS id * 2)
         CREATE INDEX ix ON t (s) INSERT t VALUES (1, 'a', 'b')",
        "(1)",
    );
    b.check(
        "ALTER TABLE t ALTER COLUMN s varchar(40) NOT NULL INSERT t VALUES (2, REPLICATE('x', 40), 'c')",
        "(1)",
    );
    b.check("SELECT id FROM t WHERE s = REPLICATE('x', 40); SELECT COL_LENGTH('t', 's')", "2\n40");
    says(&mut b, "ALTER TABLE t ALTER COLUMN s varchar(30) NOT NULL", "Msg 5074");
    says(&mut b, "ALTER TABLE t ALTER COLUMN s varchar(50) NULL", "Msg 5074");
    b.check("ALTER TABLE t ALTER COLUMN c ADD PERSISTED SELECT is_persisted FROM sys.computed_columns; SELECT c FROM t ORDER BY c", "1\n2\n4");
    b.check("ALTER TABLE t ALTER COLUMN c DROP PERSISTED SELECT is_persisted FROM sys.computed_columns; SELECT c FROM t ORDER BY c", "0\n2\n4");
    says(&mut b, "ALTER TABLE t ALTER COLUMN n ADD NOT FOR REPLICATION", "Msg 40510");
    b.check("ALTER TABLE t ADD x int NULL, y int NOT NULL CONSTRAINT dy DEFAULT 3 WITH VALUES, CONSTRAINT cy CHECK (y < 9), z AS y + 1", "");
    b.check("SELECT x, y, z FROM t WHERE id = 1", "NULL|3|4");
    b.check("ALTER TABLE t DROP CONSTRAINT cy, CONSTRAINT dy, COLUMN IF EXISTS nope, z, y; SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('t')", "5");
    is_sound(&mut b);
}

#[test]
fn everything_can_be_renamed() {
    let mut b = Bench::new();
    let caution =
        "Caution: Changing any part of an object name could break scripts and stored procedures.";
    b.check(
        "CREATE TABLE t (id int CONSTRAINT pk PRIMARY KEY, a int CONSTRAINT df DEFAULT 1 CONSTRAINT ck CHECK (a > 0), b int CONSTRAINT uq UNIQUE)
         CREATE TABLE c (id int CONSTRAINT fk REFERENCES t)
         CREATE INDEX ix ON t (a) CREATE STATISTICS st ON t (a, b)
         CREATE SEQUENCE sq CREATE SYNONYM sy FOR t CREATE TYPE ty FROM int",
        "",
    );
    b.run("CREATE VIEW v AS SELECT 1 AS one");
    b.run("CREATE PROCEDURE p AS SELECT 2 AS two");
    b.run("CREATE TRIGGER tr ON t FOR INSERT AS PRINT 'fired'");
    for (old, new, kind) in [
        ("pk", "pk2", "'OBJECT'"),
        ("dbo.df", "df2", "'OBJECT'"),
        ("ck", "ck2", "'OBJECT'"),
        ("uq", "uq2", "NULL"),
        ("fk", "fk2", "'OBJECT'"),
        ("t.ix", "ix2", "'INDEX'"),
        ("dbo.t.st", "st2", "'STATISTICS'"),
        ("sq", "sq2", "'OBJECT'"),
        ("sy", "sy2", "'OBJECT'"),
        ("ty", "ty2", "'USERDATATYPE'"),
        ("v", "v2", "NULL"),
        ("p", "p2", "'OBJECT'"),
        ("tr", "tr2", "'OBJECT'"),
        ("t.b", "b2", "NULL"),
        ("[dbo].[c]", "c2", "'OBJECT'"),
    ] {
        b.check(&format!("EXEC sp_rename '{old}', '{new}', {kind}"), caution);
    }
    b.check(
        "SELECT name FROM sys.objects WHERE is_ms_shipped = 0 ORDER BY name",
        "c2\nck2\ndf2\nfk2\np2\npk2\nsq2\nsy2\nt\ntr2\nuq2\nv2",
    );
    b.check(
        "SELECT one FROM v2; EXEC p2; SELECT NEXT VALUE FOR sq2; DECLARE @x ty2 = 5 SELECT @x",
        "1\n2\n-9223372036854775808\n5",
    );
    b.check("INSERT t (id, b2) VALUES (1, 1); SELECT id, a FROM sy2", "fired\n(1)\n1|1");
    b.check("SELECT name FROM sys.stats WHERE object_id = OBJECT_ID('t') AND user_created = 1; SELECT id FROM t WITH (INDEX (ix2))", "st2\n1");
    says(&mut b, "SELECT * FROM v", "Msg 208");
    says(&mut b, "EXEC sp_rename 't.a', 'a2', 'COLUMN'", "Msg 15336");
    says(&mut b, "EXEC sp_rename 'nothing', 'x'", "Msg 15225");
    says(&mut b, "EXEC sp_rename 'v2', 'p2'", "Msg 15335");
    says(&mut b, "EXEC sp_rename 'v2', 'x', 'THING'", "Msg 15249");
    b.check(
        "BEGIN TRAN EXEC sp_rename 'v2', 'v3'; ROLLBACK SELECT one FROM v2",
        &format!("{caution}\n1"),
    );
    is_sound(&mut b);
}

#[test]
fn columns_of_views_get_other_names() {
    let mut b = Bench::new();
    let caution =
        "Caution: Changing any part of an object name could break scripts and stored procedures.";
    b.check("CREATE TABLE t (a int, b varchar(9)); INSERT t VALUES (1, 'x')", "(1)");
    b.check("CREATE VIEW listed (a, [b c]) AS SELECT a, b FROM t", "");
    b.check("CREATE VIEW dbo.plain AS SELECT *, a + 1 AS n FROM t", "");
    b.check("EXEC sp_rename 'listed.a', 'new a', 'COLUMN'", caution);
    b.check("EXEC sp_rename 'dbo.[listed].[b c]', 'c]d'", caution);
    b.check("SELECT [new a], [c]]d] FROM listed", "1|x");
    b.check("EXEC sp_rename 'dbo.plain.N', 'later', 'COLUMN'", caution);
    b.check("SELECT a, b, later FROM plain", "1|x|2");
    let names =
        "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('plain') ORDER BY column_id";
    b.check(names, "a\nb\nlater");
    says(&mut b, "EXEC sp_rename 'plain.n', 'm', 'COLUMN'", "Msg 15248");
    says(&mut b, "EXEC sp_rename 'plain.later', 'A', 'COLUMN'", "Msg 15335");
    b.check("CREATE VIEW fixed WITH SCHEMABINDING AS SELECT a FROM dbo.t", "");
    says(&mut b, "EXEC sp_rename 'fixed.a', 'x', 'COLUMN'", "Msg 15336");
    b.check(
        "BEGIN TRAN EXEC sp_rename 'plain.later', 'n', 'COLUMN'; ROLLBACK SELECT later FROM plain",
        &format!("{caution}\n2"),
    );
    let mut b = b.restart();
    b.check("EXEC sp_refreshview 'plain'; SELECT a, later FROM plain", "1|2");
}

/// The columns of `SELECT *` are those of the moment when the view or function was made.
#[test]
fn columns_of_all_stay_until_they_are_refreshed() {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (a int, b varchar(9)); INSERT t VALUES (1, 'x')", "(1)");
    b.check("CREATE VIEW v AS SELECT * FROM t", "");
    b.check("CREATE VIEW over_v AS SELECT x.*, 1 AS one FROM v AS x", "");
    b.check("CREATE VIEW called (p, q) AS SELECT * FROM t", "");
    b.check("CREATE FUNCTION f (@a int) RETURNS TABLE AS RETURN SELECT * FROM t WHERE a = @a", "");
    b.check("CREATE FUNCTION g () RETURNS TABLE AS RETURN SELECT * FROM t", "");
    let names = |of: &str| {
        format!(
            "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('{of}') ORDER BY column_id"
        )
    };
    b.run("EXEC sp_rename 't.b', 'c', 'COLUMN'");
    b.check("ALTER TABLE t ADD d int NOT NULL DEFAULT 7", "");
    for again in [false, true] {
        if again {
            b = b.restart();
        }
        for (of, columns, rows) in [
            ("v", "a\nb", "1|x"),
            ("over_v", "a\nb\none", "1|x|1"),
            ("called", "p\nq", "1|x"),
            ("f", "a\nb", "1|x"),
            ("g", "a\nb", "1|x"),
        ] {
            b.check(&names(of), columns);
            let call = match of {
                "f" => "f(1)",
                "g" => "g()",
                _ => of,
            };
            b.check(&format!("SELECT * FROM {call}"), rows);
        }
        b.check("SELECT a, b FROM v WHERE b = 'x' ORDER BY b", "1|x");
        b.fails("SELECT c FROM v", 207);
        b.fails("SELECT d FROM g()", 207);
    }
    // They are columns of the table, by their places.
    b.check("UPDATE v SET b = 'y' WHERE b = 'x'; SELECT c FROM t", "(1)\ny");
    b.check("INSERT v (a, b) VALUES (2, 'z'); SELECT a, c, d FROM t WHERE a = 2", "(1)\n2|z|7");
    b.check("DELETE v WHERE b = 'z'", "(1)");
    // Nothing of a definition that is rolled back is left.
    b.check("BEGIN TRAN; EXEC sp_refreshview 'v'; SELECT * FROM v; ROLLBACK", "1|y|7");
    b.check(&names("v"), "a\nb");
    b.run("EXEC sp_refreshview 'v'; EXEC sp_refreshsqlmodule 'g'");
    b.check("SELECT * FROM v; SELECT * FROM g(); SELECT * FROM over_v", "1|y|7\n1|y|7\n1|y|7");
    b.check(&names("v"), "a\nc\nd");
    b.check(&names("over_v"), "a\nb\none");
    b.run("EXEC sp_refreshview 'over_v'");
    b.check(&names("over_v"), "a\nc\nd\none");
    b.check("ALTER VIEW called (p, q, r) AS SELECT * FROM t", "");
    b.check("SELECT * FROM called", "1|y|7");
    // There are fewer columns than names.
    b.check("CREATE TABLE u (a int, b int); INSERT u VALUES (1, 2)", "(1)");
    b.check("CREATE VIEW w AS SELECT * FROM u", "");
    b.check("ALTER TABLE u DROP COLUMN a; ALTER TABLE u ADD z int NULL", "");
    b.check("SELECT a, b FROM w", "2|NULL");
    b.check("ALTER TABLE u DROP COLUMN z", "");
    b.fails("SELECT a FROM w", 4502);
    b.run("EXEC sp_refreshview 'w'");
    let mut b = b.restart();
    b.check(&names("w"), "b");
    b.check("SELECT * FROM w; DROP VIEW w; CREATE TABLE w (q int)", "2");
    let mut b = b.restart();
    b.check(&names("w"), "q");
    is_sound(&mut b);
}

#[test]
fn tablesample_takes_whole_pages() {
    let mut b = Bench::new();
    for key in ["", "PRIMARY KEY"] {
        b.check(
            &format!("CREATE TABLE t (id int {key}, pad char(400) DEFAULT 'x') INSERT t (id) SELECT value FROM GENERATE_SERIES(1, 20000)"),
            "(20000)",
        );
        let count = |b: &mut Bench, clause: &str| -> i64 {
            let said = b.run(&format!("SELECT COUNT(*) FROM t TABLESAMPLE {clause}"));
            said.trim().parse().unwrap_or_else(|_| panic!("{clause}: {said}"))
        };
        assert_eq!((count(&mut b, "(100 PERCENT)"), count(&mut b, "SYSTEM (0)")), (20000, 0));
        let tenth = count(&mut b, "(10 PERCENT) REPEATABLE (7)");
        assert!((1000..3000).contains(&tenth), "{tenth}");
        assert_eq!(count(&mut b, "(10) REPEATABLE (7)"), tenth);
        assert_ne!(
            count(&mut b, "(10.0) REPEATABLE (8)") * 1_000_000
                + count(&mut b, "(10) REPEATABLE (9)"),
            tenth * 1_000_001
        );
        let rows = count(&mut b, "SYSTEM (5000 ROWS)");
        assert!((3000..7500).contains(&rows), "{rows}");
        // The same pages for all readers of a statement, and with other conditions and joins.
        b.check("SELECT COUNT(*) FROM t TABLESAMPLE (50) REPEATABLE (1) WHERE id IN (SELECT id FROM t TABLESAMPLE (50) REPEATABLE (2)) AND 1 = 0", "0");
        let joined = b.run(
            "SELECT COUNT(*) FROM t AS a TABLESAMPLE (20) REPEATABLE (5) JOIN t b ON a.id = b.id",
        );
        assert_eq!(joined.trim().parse::<i64>().ok(), Some(count(&mut b, "(20) REPEATABLE (5)")));
        b.check("INSERT INTO t (id) SELECT id + 100000 FROM t TABLESAMPLE (0 PERCENT); SELECT MAX(id) FROM t TABLESAMPLE (100)", "(0)\n20000");
        says(
            &mut b,
            "SELECT * FROM t TABLESAMPLE (101 PERCENT)",
            "Msg 476: Invalid PERCENT tablesample size",
        );
        says(&mut b, "SELECT * FROM t TABLESAMPLE (1.5 ROWS)", "Msg 477");
        says(&mut b, "DECLARE @n int = 5 SELECT * FROM t TABLESAMPLE (@n ROWS)", "Msg 497");
        b.run("CREATE VIEW v AS SELECT id FROM t");
        says(&mut b, "SELECT * FROM v TABLESAMPLE (5)", "Msg 494");
        b.check("DROP VIEW v DROP TABLE t", "");
    }
}

#[test]
fn tables_whose_rows_would_not_outlive_a_restart_are_refused_by_name() {
    let mut b = Bench::new();
    let table =
        |options: &str| format!("CREATE TABLE m (a int NOT NULL PRIMARY KEY) WITH ({options})");
    b.check(
        &table("DURABILITY = SCHEMA_ONLY"),
        "Msg 40510: Statement 'CREATE TABLE WITH DURABILITY = SCHEMA_ONLY' is not supported in this version of Ringwood.",
    );
    b.check(&table("DURABILITY = NEVER"), "Msg 102: Incorrect syntax near 'NEVER'.");
    b.check(&table("MEMORY_OPTIMIZED = OFF, DURABILITY = SCHEMA_AND_DATA"), "");
    let rows = |options: &str| {
        format!("CREATE TYPE mt AS TABLE (a int NOT NULL PRIMARY KEY) WITH ({options})")
    };
    b.fails(&rows("MEMORY_OPTIMIZED = ON"), 41337);
    b.check(
        &rows("DURABILITY = SCHEMA_AND_DATA"),
        "Msg 155: 'DURABILITY' is not a recognized CREATE TYPE option.",
    );
    b.check(&rows("MEMORY_OPTIMIZED = OFF"), "");
    b.check("DECLARE @m mt; INSERT @m VALUES (1); SELECT a FROM @m", "(1)\n1");
}

#[test]
fn an_error_on_a_type_says_which_column_parameter_or_variable_has_it() {
    let mut b = Bench::new();
    let nothing = |number: usize| {
        format!(
            "Msg 2715: Column, parameter, or variable #{number}: Cannot find data type nothing."
        )
    };
    b.check("CREATE TABLE x (a int, b AS a + 1, c nothing, d int)", &nothing(3));
    b.check("DECLARE @t TABLE (a int, b nothing)", &nothing(2));
    b.check("CREATE TYPE x AS TABLE (a nothing)", &nothing(1));
    b.check("CREATE PROCEDURE x @a int, @b varchar(5), @c nothing AS SELECT 1", &nothing(3));
    b.check(
        "CREATE FUNCTION x (@a int, @b nothing) RETURNS int AS BEGIN RETURN 1 END",
        &nothing(2),
    );
    b.check("DECLARE @a int, @b nothing", &nothing(2));
    b.check("EXEC sp_executesql N'SELECT @a', N'@a int, @b nothing', 1, 2", &nothing(2));
    b.check(
        "CREATE TABLE x (a int, b int(5))",
        "Msg 2716: Column, parameter, or variable #2: Cannot specify a column width on data type int.",
    );
    says(&mut b, "CREATE TABLE x (a int, b decimal(39, 2))", "Msg 2750: Column or parameter #2: ");
    says(&mut b, "CREATE TABLE x (a int, b decimal(5, 6))", "Msg 2751: Column or parameter #2: ");
    // A table is no argument of a function, whichever kind it is of.
    b.check("CREATE TYPE list AS TABLE (a int)", "");
    b.fails("CREATE FUNCTION x (@l list READONLY) RETURNS TABLE AS RETURN SELECT a FROM @l", 40517);
}

#[test]
fn constraints_and_computed_columns_are_kept_in_one_form() {
    let mut b = Bench::new();
    b.check("CREATE SEQUENCE dbo.numbers START WITH 7", "");
    b.check(
        "CREATE TABLE kept (id int DEFAULT NEXT VALUE FOR numbers, a int DEFAULT 5+1, at datetime DEFAULT GetDate(),
                            s varchar(9) DEFAULT 'x', c AS CAST(a AS varchar(9)) + s,
                            CONSTRAINT one CHECK (a BETWEEN 1 AND 9), CONSTRAINT two CHECK (s IN ('x', 'y')))",
        "",
    );
    for _ in 0..2 {
        b.check(
            "SELECT definition FROM sys.default_constraints ORDER BY parent_column_id",
            "(NEXT VALUE FOR [numbers])\n((5)+(1))\n(getdate())\n('x')",
        );
        b.check(
            "SELECT name, definition FROM sys.check_constraints ORDER BY name",
            "one|([a]>=(1) AND [a]<=(9))\ntwo|([s]='y' OR [s]='x')",
        );
        b.check("SELECT definition FROM sys.computed_columns", "(CONVERT([varchar](9),[a])+[s])");
        b.check(
            "SELECT CHECK_CLAUSE FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS ORDER BY CONSTRAINT_NAME",
            "([a]>=(1) AND [a]<=(9))\n([s]='y' OR [s]='x')",
        );
        b.check(
            "SELECT COLUMN_DEFAULT FROM INFORMATION_SCHEMA.COLUMNS WHERE COLUMN_NAME = 'a'",
            "((5)+(1))",
        );
        b.check(
            "SELECT text FROM syscomments WHERE id = OBJECT_ID('one')",
            "([a]>=(1) AND [a]<=(9))",
        );
        b.check(
            "INSERT kept DEFAULT VALUES; SELECT id, a, s, c FROM kept; DELETE kept",
            "(1)\n7|6|x|6x\n(1)",
        );
        b.fails("INSERT kept (a) VALUES (10)", 547);
        b.fails("INSERT kept (s) VALUES ('z')", 547);
        b.check(
            "INSERT kept (s) VALUES ('y'); DELETE kept; ALTER SEQUENCE numbers RESTART WITH 7",
            "(1)\n(1)",
        );
        b = b.restart();
    }
    // What names no value that the catalog could write stays as it was written.
    b.check(
        "CREATE TABLE odd (d datetime DEFAULT {d '2020-01-01'}); INSERT odd DEFAULT VALUES",
        "(1)",
    );
    b.check(
        "SELECT definition FROM sys.default_constraints WHERE parent_object_id = OBJECT_ID('odd')",
        "({d '2020-01-01'})",
    );
    // Quotes of QUOTED_IDENTIFIER OFF become those of a string.
    b.check("SET QUOTED_IDENTIFIER OFF", "");
    b.check("CREATE TABLE quotes (s varchar(9) CONSTRAINT q CHECK (s <> \"it's\"))", "");
    b.check("SELECT definition FROM sys.check_constraints WHERE name = 'q'", "([s]<>'it''s')");
    b.fails("INSERT quotes VALUES ('it''s')", 547);
}

/// In the form that is kept each value of a list is compared by its own type.
#[test]
fn lists_of_checks_compare_value_by_value() {
    let mut b = Bench::new();
    b.check("CREATE TABLE listed (s varchar(5) CONSTRAINT few CHECK (s IN ('1', 2)))", "");
    b.check(
        "SELECT definition FROM sys.check_constraints WHERE name = 'few'",
        "([s]=(2) OR [s]='1')",
    );
    b.check("INSERT listed VALUES ('1'); INSERT listed VALUES ('02')", "(1)\n(1)");
    b.fails("INSERT listed VALUES ('01')", 547);
}

#[test]
fn dbreindex_builds_indexes_again() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int CONSTRAINT pk_t PRIMARY KEY, a int)
         CREATE INDEX ix_a ON t (a) WITH (FILLFACTOR = 70)
         INSERT t SELECT value, value % 7 FROM GENERATE_SERIES(1, 300)",
        "(300)",
    );
    let kept = "SELECT name, fill_factor, is_disabled FROM sys.indexes
                WHERE object_id = OBJECT_ID('t') ORDER BY name";
    // One of them, by a bare name.
    b.check("ALTER INDEX ix_a ON t DISABLE", "");
    b.check("DBCC DBREINDEX ('t..t', ix_a, 80) WITH NO_INFOMSGS", "");
    b.check(kept, "ix_a|80|0\npk_t|0|0");
    b.check("SELECT COUNT(*) FROM t WITH (INDEX (ix_a)) WHERE a = 3", "43");
    // All of them, each with the fill factor that it has, or with a new one.
    b.check("ALTER INDEX ix_a ON t DISABLE", "");
    b.check("DBCC DBREINDEX (t, '', 0) WITH NO_INFOMSGS", "");
    b.check(kept, "ix_a|80|0\npk_t|0|0");
    b.check("DECLARE @t sysname = '[dbo].[t]' DBCC DBREINDEX (@t, ' ', 60) WITH NO_INFOMSGS", "");
    b.check(kept, "ix_a|60|0\npk_t|60|0");
    // It is a part of its transaction.
    b.check("BEGIN TRAN DBCC DBREINDEX ('t', ix_a, 50) WITH NO_INFOMSGS; ROLLBACK", "");
    b.check(kept, "ix_a|60|0\npk_t|60|0");
    b.check("CREATE TABLE #x (a int PRIMARY KEY) DBCC DBREINDEX ('#x') WITH NO_INFOMSGS", "");
    says(&mut b, "DBCC DBREINDEX ('t')", "DBCC execution completed.");
    says(&mut b, "DBCC DBREINDEX ('nowhere')", "Msg 2501");
    says(&mut b, "DBCC DBREINDEX", "Msg 2501");
    says(
        &mut b,
        "DBCC DBREINDEX ('t', nope)",
        "Msg 7999: Could not find any index named 'nope' for table 't'.",
    );
    says(&mut b, "DBCC DBREINDEX ('t', ix_a, 101)", "Msg 129");
    b.check("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON", "");
    let inside = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRAN DBCC DBREINDEX ('t')";
    says(&mut b, inside, "Msg 3964");
    b.run("IF @@TRANCOUNT > 0 ROLLBACK SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    is_sound(&mut b);
}

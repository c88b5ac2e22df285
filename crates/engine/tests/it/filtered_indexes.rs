//! Indexes with a filter: which rows they hold on every way in which rows come, change and go;
//! which queries may use them; their definitions and errors.

use crate::support::text::Bench;

fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

#[track_caller]
fn is_sound(b: &mut Bench) {
    let said = b.run("DBCC CHECKDB");
    assert!(said.contains("CHECKDB found 0 allocation errors and 0 consistency errors"), "{said}");
}

/// How many entries an index has: it is scanned by a hint under a condition that implies its
/// filter.
#[track_caller]
fn holds(b: &mut Bench, index: &str, condition: &str, rows: &str) {
    b.check(&format!("SELECT COUNT(*) FROM t WITH (INDEX ({index})) WHERE {condition}"), rows);
}

#[test]
fn definitions_are_those_of_sql_server() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE fx (a int, s varchar(10), b int, d date, v varbinary(4), c AS a + 1, n nvarchar(5))",
        "",
    );
    for (filter, definition) in [
        ("a = 1 and b > 2", "([a]=(1) AND [b]>(2))"),
        ("a in (1, 2)", "([a] IN ((1), (2)))"),
        ("a is null and s = 'x'", "([a] IS NULL AND [s]='x')"),
        ("a > 1 and (b = 2)", "([a]>(1) AND [b]=(2))"),
        ("a <> 1", "([a]<>(1))"),
        ("a = -1", "([a]=(-1))"),
        ("d > '2020-01-01'", "([d]>'2020-01-01')"),
        ("a = 5000000000", "([a]=(5000000000.))"),
        ("a = 10.", "([a]=(10.))"),
        ("a = cast(10 as int)", "([a]=CONVERT([int],(10)))"),
        ("a = 0x0A", "([a]=0x0A)"),
        ("a = $5", "([a]=($5.0000))"),
        ("a = .5", "([a]=(0.5))"),
        ("a in (10)", "([a]=(10))"),
        ("a !< 10", "([a]>=(10))"),
        ("(b is not null)", "([b] IS NOT NULL)"),
        ("n = N'it''s'", "([n]=N'it''s')"),
        ("v = CONVERT(varbinary(4), 1)", "([v]=CONVERT([varbinary](4),(1)))"),
    ] {
        b.check(&format!("CREATE INDEX ix ON fx (a) WHERE {filter}"), "");
        let shown = format!("1|{definition}");
        b.check("SELECT has_filter, filter_definition FROM sys.indexes WHERE name = 'ix'", &shown);
        b.check("DROP INDEX ix ON fx", "");
    }
    for (filter, error) in [
        ("s like 'a%'", "Msg 156: Incorrect syntax near the keyword 'like'."),
        ("a = 1 or a = 2", "Msg 156: Incorrect syntax near the keyword 'or'."),
        ("not a = 1", "Msg 156: Incorrect syntax near the keyword 'not'."),
        ("a between 1 and 5", "Msg 156: Incorrect syntax near the keyword 'between'."),
        ("a = b", "Msg 10735: Incorrect WHERE clause for filtered index 'ix' on table 'dbo.fx'."),
        ("1 = a", "Msg 10735: Incorrect WHERE clause for filtered index 'ix' on table 'dbo.fx'."),
        (
            "a = abs(1)",
            "Msg 10735: Incorrect WHERE clause for filtered index 'ix' on table 'dbo.fx'.",
        ),
        (
            "a = @@spid",
            "Msg 10735: Incorrect WHERE clause for filtered index 'ix' on table 'dbo.fx'.",
        ),
        (
            "a > (SELECT 1)",
            "Msg 1046: Subqueries are not allowed in this context. Only scalar expressions are allowed.",
        ),
        (
            "a IN (SELECT 1)",
            "Msg 1046: Subqueries are not allowed in this context. Only scalar expressions are allowed.",
        ),
        ("nope = 1", "Msg 207: Invalid column name 'nope'."),
        (
            "c > 5",
            "Msg 10609: Filtered index 'ix' cannot be created on table 'dbo.fx' because the column 'c' in the filter \
             expression is a computed column. Rewrite the filter expression so that it does not include this column.",
        ),
        (
            "v = 1",
            "Msg 10611: Filtered index 'ix' cannot be created on table 'dbo.fx' because the column 'v' in the filter \
             expression is compared with a constant of higher data type precedence or of a different collation. \
             Converting a column to the data type of a constant is not supported for filtered index. To resolve this \
             error, explicitly convert the constant to the same data type and collation as the column 'v'.",
        ),
        (
            "d = 'no date'",
            "Msg 10612: Filtered index 'ix' cannot be created on table 'dbo.fx' because the column 'd' in the filter \
             expression is compared with a constant that cannot be converted to the data type of the column. Rewrite \
             the filter expression so that it does not include this comparison.",
        ),
        (
            "a = NULL",
            "Msg 10620: Filtered index 'ix' cannot be created on table 'dbo.fx' because the filter expression contains a \
             comparison with a literal NULL value. Rewrite the comparison to use the IS [NOT] NULL comparison operator to \
             test for NULL values.",
        ),
    ] {
        b.check(&format!("CREATE INDEX ix ON dbo.fx (a) WHERE {filter}"), error);
    }
    b.check(
        "CREATE UNIQUE INDEX ix ON fx (a) WHERE a > 5 WITH (IGNORE_DUP_KEY = ON)",
        "Msg 10618: Cannot create filtered index 'ix' on table 'fx' because the statement sets the IGNORE_DUP_KEY option to \
         ON. Rewrite the statement so that it does not use the IGNORE_DUP_KEY option.",
    );
    let clustered = b.run("CREATE CLUSTERED INDEX ix ON fx (a) WHERE a > 5");
    assert!(
        clustered.contains("Msg 156: Incorrect syntax near the keyword 'WHERE'."),
        "{clustered}"
    );
    // What is kept is what is tested, after a restart too.
    b.check(
        "CREATE UNIQUE INDEX ix ON fx (s) WHERE d >= '2020-01-01' AND a IN (1, 2.0) AND n = N'ü'",
        "",
    );
    b.check(
        "INSERT fx (a, s, d, n) VALUES (1, 'x', '2020-01-01', 'Ü'), (2, 'y', '2020-01-01', 'ü')",
        "(2)",
    );
}

#[test]
fn rows_come_change_and_go() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int PRIMARY KEY, a int NULL, b int NULL, s varchar(20) NULL, m varchar(max) NULL,
                         INDEX few UNIQUE (a) INCLUDE (b) WHERE b > 10)",
        "",
    );
    b.check(
        "INSERT t (id, a, b) VALUES (1, 1, 1), (2, 1, 2), (3, 1, 11), (4, NULL, 11), (5, NULL, NULL)",
        "(5)",
    );
    holds(&mut b, "few", "b > 10", "2");
    let again = "Msg 2601: Cannot insert duplicate key row in object 'dbo.t' with unique index 'few'. The duplicate key value \
                 is (1).";
    b.check("INSERT t (id, a, b) VALUES (6, 1, 12)", again);
    b.check("UPDATE t SET b = 20 WHERE id = 1", again);
    // Into the index, out of it, and from one row to another in one statement.
    b.check("UPDATE t SET b = CASE b WHEN 11 THEN 1 ELSE 30 END WHERE id IN (1, 3)", "(2)");
    holds(&mut b, "few", "b > 10 AND a = 1", "1");
    b.check("SELECT id FROM t WITH (INDEX (few)) WHERE b > 10 ORDER BY id", "1\n4");
    b.check("UPDATE t SET a = 7 WHERE id = 1; UPDATE t SET s = 'aside'", "(1)\n(5)");
    b.check("UPDATE t SET id = id + 100 WHERE id < 3", "(2)");
    b.check("SELECT id, a FROM t WITH (INDEX (few)) WHERE b > 10 AND a = 7", "101|7");
    b.check(
        "MERGE t USING (VALUES (101, 5), (3, 50), (9, 60)) AS v (id, b) ON t.id = v.id
         WHEN MATCHED THEN UPDATE SET b = v.b WHEN NOT MATCHED THEN INSERT (id, a, b) VALUES (v.id, 8, v.b);",
        "(3)",
    );
    b.check("SELECT id FROM t WITH (INDEX (few)) WHERE b > 10 ORDER BY id", "3\n4\n9");
    b.check("DELETE t WHERE b > 10 AND a = 8", "(1)");
    holds(&mut b, "few", "b > 10", "2");
    is_sound(&mut b);
    // What a rollback leaves.
    b.check(
        "BEGIN TRAN UPDATE t SET a = 77, b = 99 WHERE id = 5; DELETE t WHERE id = 3; ROLLBACK",
        "(1)\n(1)",
    );
    holds(&mut b, "few", "b > 10", "2");
    is_sound(&mut b);
    // Rebuilt with the table, emptied with it, made again.
    b.check(
        "ALTER INDEX few ON t REBUILD; ALTER INDEX ALL ON t REBUILD; ALTER TABLE t DROP COLUMN s",
        "",
    );
    holds(&mut b, "few", "b > 10", "2");
    b.check("ALTER TABLE t DROP COLUMN b", "Msg 5074: The index 'few' is dependent on column 'b'.\nMsg 4922: ALTER TABLE DROP COLUMN b failed because one or more objects access this column.");
    b.check("ALTER TABLE t ALTER COLUMN b bigint", "Msg 5074: The index 'few' is dependent on column 'b'.\nMsg 4922: ALTER TABLE ALTER COLUMN b failed because one or more objects access this column.");
    b.check("CREATE INDEX few ON t (a) WHERE b IS NULL WITH (DROP_EXISTING = ON)", "");
    holds(&mut b, "few", "b IS NULL", "1");
    b.check("SELECT filter_definition FROM sys.indexes WHERE name = 'few'", "([b] IS NULL)");
    is_sound(&mut b);
    b.check("TRUNCATE TABLE t; INSERT t (id) SELECT value FROM GENERATE_SERIES(1, 3000)", "(3000)");
    holds(&mut b, "few", "b IS NULL", "3000");
    is_sound(&mut b);
}

#[test]
fn only_what_implies_the_filter_uses_it() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int PRIMARY KEY, a int NULL, k int NOT NULL, d date NULL, s varchar(10) NULL, pad char(200))
         INSERT t (id, a, k, d, s) SELECT value, CASE WHEN value % 50 = 0 THEN value END, value % 100,
             DATEADD(day, value % 400, '2020-01-01'), CONCAT('s', value % 20) FROM GENERATE_SERIES(1, 5000)",
        "(5000)",
    );
    let uses = |b: &mut Bench, index: &str, condition: &str| {
        let sql = format!("SELECT id, k FROM t WHERE {condition}");
        let shown = plan(b, &sql);
        let used = shown.contains(index);
        // The same rows as without it.
        let with = b.run(&format!("{sql} ORDER BY id"));
        let without =
            b.run(&format!("SELECT id, k FROM t WITH (INDEX (1)) WHERE {condition} ORDER BY id"));
        assert_eq!(with, without, "{condition}\n{shown}");
        used
    };
    let cases: [(&str, &[&str], &[&str]); 8] = [
        (
            "a IS NOT NULL",
            &[
                "a IS NOT NULL",
                "a = 50",
                "a > 4000",
                "a IN (50, 100)",
                "50 = a",
                "a BETWEEN 1 AND 90",
                "a = 50 OR a = 100",
            ],
            &["a IS NULL", "a = 50 OR k = 3", "ISNULL(a, 50) = 50", "id = 5 + 0 * a"],
        ),
        (
            "k = 7",
            &["k = 7", "k IN (7)", "7 = k AND id > 3"],
            &["k = 8", "k IN (7, 8)", "k > 6", "k = 7 OR id = 3"],
        ),
        (
            "k > 95",
            &["k > 95", "k > 96", "k = 99", "k IN (96, 97)", "k >= 96", "k > 95.5"],
            &["k >= 95", "k > 94", "k <> 1"],
        ),
        ("k <> 0", &["k = 3", "k > 0", "k < 0", "k <> 0"], &["k >= 0", "k < 5", "k <> 1"]),
        (
            "k IN (1, 2, 3)",
            &["k = 2", "k IN (1, 3)", "k = 1 OR k = 2"],
            &["k IN (1, 4)", "k BETWEEN 1 AND 3"],
        ),
        (
            "d >= '2021-01-01'",
            &["d >= '2021-01-01'", "d > '2021-01-20'", "d = CAST('2021-01-05' AS date)"],
            &["d >= '2020-12-31'", "CAST(d AS datetime) >= '2021-01-01 12:00' OR id = 1"],
        ),
        (
            "s = 's7'",
            &["s = 's7'", "s = 'S7 '", "s IN ('s7')"],
            &["s = 's8'", "s LIKE 's7%'", "s COLLATE Latin1_General_BIN2 = 's7'"],
        ),
        (
            "a IS NULL AND k < 3",
            &["a IS NULL AND k < 3", "k = 1 AND a IS NULL"],
            &["a IS NULL", "k < 3", "a IS NULL OR k < 3"],
        ),
    ];
    for (filter, implied, other) in cases {
        b.check(&format!("CREATE INDEX few ON t (id) INCLUDE (k) WHERE {filter}"), "");
        for condition in implied {
            let hinted =
                b.run(&format!("SELECT COUNT(*) FROM t WITH (INDEX (few)) WHERE {condition}"));
            assert!(!hinted.contains("Msg"), "{filter} does not follow from {condition}: {hinted}");
            uses(&mut b, "few", condition);
        }
        for condition in other {
            let hinted =
                b.run(&format!("SELECT COUNT(*) FROM t WITH (INDEX (few)) WHERE {condition}"));
            assert!(hinted.contains("Msg 8622"), "{filter} follows from {condition}: {hinted}");
            assert!(!uses(&mut b, "few", condition), "{filter} is used under {condition}");
        }
        b.check("DROP INDEX few ON t", "");
    }
    // It is chosen, too: by a query for its rows, by MIN and MAX, by the inner side of a join.
    b.check("CREATE INDEX by_a ON t (a) WHERE a IS NOT NULL", "");
    assert!(uses(&mut b, "by_a", "a = 2500") && uses(&mut b, "by_a", "a > 4900"));
    let shown = plan(&mut b, "SELECT MAX(a) FROM t");
    assert!(shown.contains("by_a"), "{shown}");
    b.check("SELECT MAX(a), MIN(a) FROM t; SELECT MIN(a) FROM t", "5000|50\n50");
    let join = "SELECT COUNT(*) FROM (VALUES (50), (100), (3)) AS v (x) JOIN t ON t.a = v.x";
    let shown = plan(&mut b, join);
    assert!(shown.contains("by_a"), "{shown}");
    b.check(join, "2");
    // A variable may be anything, and still is not NULL where it is compared.
    b.check("DECLARE @a int = 150 SELECT id FROM t WITH (INDEX (by_a)) WHERE a = @a", "150");
    b.check("CREATE INDEX sevens ON t (id) WHERE k = 7", "");
    let variable =
        b.run("DECLARE @k int = 7 SELECT COUNT(*) FROM t WITH (INDEX (sevens)) WHERE k = @k");
    assert!(variable.contains("Msg 8622"), "{variable}");
    b.check(
        "DECLARE @k int = 7 SELECT COUNT(*) FROM t WITH (INDEX (sevens)) WHERE k = @k OPTION (RECOMPILE)",
        "50",
    );
    // UPDATE and DELETE find their rows by it.
    b.check("UPDATE t SET a = a + 1 WHERE a IS NOT NULL; DELETE t WHERE a = 51", "(100)\n(1)");
    b.check("UPDATE t SET k = 8 WHERE k = 7; SELECT COUNT(*) FROM t WHERE k = 7", "(50)\n0");
    is_sound(&mut b);
}

#[test]
fn unique_ones_are_no_keys() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE p (id int PRIMARY KEY, code int NOT NULL, live bit NOT NULL)
         CREATE UNIQUE INDEX live_code ON p (code) WHERE live = 1
         INSERT p VALUES (1, 7, 1), (2, 7, 0), (3, 7, 0)",
        "(3)",
    );
    let refers = b.run("CREATE TABLE c (code int REFERENCES p (code))");
    assert!(refers.contains("Msg 1776"), "{refers}");
    b.check("SELECT COUNT(*) FROM p WHERE code = 7; SELECT COUNT(DISTINCT code) FROM p", "3\n1");
    b.check("SELECT code, COUNT(*) FROM p GROUP BY code", "7|3");
    b.check(
        "SELECT TOP (5) a.id, b.id FROM p a JOIN p b ON a.code = b.code WHERE a.id = 1 ORDER BY 2",
        "1|1\n1|2\n1|3",
    );
    b.check("SELECT id FROM p WHERE code = 7 AND live = 1", "1");
    b.check(
        "UPDATE p SET live = 1 WHERE id = 2",
        "Msg 2601: Cannot insert duplicate key row in object 'dbo.p' with unique index 'live_code'. The duplicate key value \
         is (7).",
    );
    // Both rows change sides in one statement.
    b.check("UPDATE p SET live = CASE id WHEN 1 THEN 0 ELSE 1 END WHERE id IN (1, 2)", "(2)");
    b.check("SELECT id FROM p WHERE code = 7 AND live = 1", "2");
    let rename = b.run("EXEC sp_rename 'p.live', 'alive', 'COLUMN'");
    assert!(rename.contains("Msg 15336"), "{rename}");
    b.check("INSERT p VALUES (4, 9, 0), (5, 9, 0)", "(2)");
    let repeated = b.run("CREATE UNIQUE INDEX dead_code ON p (code) WHERE live = 0");
    assert!(repeated.contains("Msg 1505"), "{repeated}");
    is_sound(&mut b);
}

#[test]
fn set_options_must_be_right() {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (a int, b int)", "");
    let wrong = |what: &str, options: &str| {
        format!(
            "Msg 1934: {what} failed because the following SET options have incorrect settings: '{options}'. Verify that SET \
             options are correct for use with indexed views and/or indexes on computed columns and/or filtered indexes \
             and/or query notifications and/or XML data type methods and/or spatial index operations."
        )
    };
    b.check("SET QUOTED_IDENTIFIER OFF", "");
    b.check("CREATE INDEX ix ON t (a) WHERE b > 1", &wrong("CREATE INDEX", "QUOTED_IDENTIFIER"));
    b.check("SET QUOTED_IDENTIFIER ON", "");
    b.check("CREATE INDEX ix ON t (a) WHERE b > 1", "");
    b.check("SET ANSI_NULLS OFF SET QUOTED_IDENTIFIER OFF", "");
    b.check("INSERT t VALUES (1, 2)", &wrong("INSERT", "ANSI_NULLS, QUOTED_IDENTIFIER"));
    b.check("DELETE t", &wrong("DELETE", "ANSI_NULLS, QUOTED_IDENTIFIER"));
    b.check("SELECT COUNT(*) FROM t", "0");
    b.check("SET ANSI_NULLS ON SET QUOTED_IDENTIFIER ON INSERT t VALUES (1, 2)", "(1)");
}

/// Random changes and questions: the index has what its filter says, and answers are those of the
/// table.
#[test]
fn random_changes_keep_them_true() {
    for seed in 0..4 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut b = Bench::new();
        let key = ["PRIMARY KEY", "PRIMARY KEY NONCLUSTERED"][seed as usize % 2];
        b.check(
            &format!(
                "CREATE TABLE t (id int {key}, a int NULL, b int NULL, s varchar(30) NULL)
                 CREATE INDEX i1 ON t (a, b) WHERE b IS NOT NULL
                 CREATE INDEX i2 ON t (s) INCLUDE (a) WHERE a > 10 AND b <> 3
                 CREATE INDEX i3 ON t (b) WHERE a IN (1, 2, 3) AND s >= 'f'
                 CREATE UNIQUE INDEX i4 ON t (b, id) WHERE a IS NULL"
            ),
            "",
        );
        for step in 0..120 {
            let value = |random: &mut fastrand::Rng, most| match random.u32(0..5) {
                0 => "NULL".to_string(),
                _ => random.u32(0..most).to_string(),
            };
            let (a, v) = (value(&mut random, 20), value(&mut random, 6));
            let (id, letter) = (random.u32(0..60), char::from(b'a' + random.u8(0..12)));
            let sql = match random.u32(0..7) {
                0 | 1 => format!(
                    "INSERT t SELECT {id}, {a}, {v}, '{letter}' WHERE NOT EXISTS (SELECT 1 FROM t WHERE id = {id})"
                ),
                2 => format!("UPDATE t SET a = {a} WHERE id % 7 = {}", id % 7),
                3 => format!(
                    "UPDATE t SET b = {v}, s = s + '{letter}' WHERE b = {v} AND LEN(s) < 20"
                ),
                4 => format!("DELETE t WHERE a IN (1, 2, 3) AND s >= 'f' AND id % 5 = {}", id % 5),
                5 => format!("BEGIN TRAN UPDATE t SET a = {a}, b = {v} WHERE id < {id}; ROLLBACK"),
                _ => format!(
                    "UPDATE t SET id = id + 1000 WHERE id = {id}; UPDATE t SET id = id - 1000 WHERE id >= 1000"
                ),
            };
            let said = b.run(&sql);
            assert!(!said.contains("Msg"), "{sql}\n{said}");
            if step % 20 == 19 {
                is_sound(&mut b);
            }
            for (index, condition) in [
                ("i1", "b >= 2"),
                ("i2", "a > 12 AND b IN (1, 2, 4)"),
                ("i3", "a = 2 AND s > 'g'"),
                ("i4", "a IS NULL AND b = 2"),
            ] {
                let count = |b: &mut Bench, hint: &str| {
                    b.run(&format!(
                        "SELECT COUNT(*), MAX(id) FROM t WITH (INDEX ({hint})) WHERE {condition}"
                    ))
                };
                assert_eq!(count(&mut b, index), count(&mut b, "0"), "{condition} after {sql}");
            }
        }
    }
}

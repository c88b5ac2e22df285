//! Changes through partitioned views: each row goes to the table whose CHECK constraint has it, and
//! what SQL Server refuses, with its words.

use crate::support::text::{Bench, power_loss, run, say, try_open};
use sim::SimDisk;

/// Orders of three years, a table for each, and who ordered.
fn bench() -> Bench {
    let mut b = Bench::new();
    for (table, check) in
        [("o24", "year < 2025"), ("o25", "year = 2025"), ("o26", "year BETWEEN 2026 AND 2027")]
    {
        b.check(
            &format!(
                "CREATE TABLE {table} (id int NOT NULL, year int NOT NULL CHECK ({check}), sum int NULL, \
                 who varchar(10) NULL, PRIMARY KEY (year, id))"
            ),
            "",
        );
    }
    b.check(
        "CREATE TABLE people (who varchar(10), bonus int); INSERT people VALUES ('ann', 5), ('bob', 7)",
        "(2)",
    );
    b.check(
        "CREATE VIEW orders AS SELECT id, year, sum, who FROM o24 UNION ALL SELECT id, year, sum, who FROM o25 \
         UNION ALL SELECT * FROM o26",
        "",
    );
    b.check(
        "INSERT orders VALUES (1, 2024, 10, 'ann'), (2, 2025, 20, 'bob'), (3, 2026, 30, 'ann')",
        "(3)",
    );
    b
}

/// The rows by their tables.
const ROWS: &str = "SELECT STRING_AGG(CONCAT(t, '.', id, ':', year % 100, '=', sum), ' ') WITHIN GROUP (ORDER BY t, year, id) \
                    FROM (SELECT 4 AS t, * FROM o24 UNION ALL SELECT 5, * FROM o25 UNION ALL SELECT 6, * FROM o26) x";

#[test]
fn rows_go_to_their_tables() {
    let mut b = bench();
    b.check(ROWS, "4.1:24=10 5.2:25=20 6.3:26=30");
    for (statement, rows, expected) in [
        (
            "INSERT orders (who, sum, year, id) VALUES ('x', 1, 2027, 9)",
            1,
            "4.1:24=10 5.2:25=20 6.3:26=30 6.9:27=1",
        ),
        (
            "INSERT INTO orders SELECT id + 10, year - 1, sum, who FROM (VALUES (1, 2026, 4, 'y'), (2, 2000, 5, 'z')) v (id, year, sum, who)",
            2,
            "4.12:99=5 4.1:24=10 5.2:25=20 5.11:25=4 6.3:26=30",
        ),
        (
            "INSERT TOP (1) orders SELECT 7, y, 0, NULL FROM (VALUES (2026), (2025)) v (y) ORDER BY y",
            1,
            "4.1:24=10 5.2:25=20 5.7:25=0 6.3:26=30",
        ),
        (
            "INSERT orders EXEC ('SELECT 5, 1999, 50, ''e'' SELECT 6, 2026, 60, ''f''')",
            2,
            "4.5:99=50 4.1:24=10 5.2:25=20 6.3:26=30 6.6:26=60",
        ),
        ("UPDATE orders SET sum += 1", 3, "4.1:24=11 5.2:25=21 6.3:26=31"),
        ("UPDATE orders SET sum = 0 WHERE year > 2024", 2, "4.1:24=10 5.2:25=0 6.3:26=0"),
        (
            "UPDATE orders SET sum = o.sum + p.bonus FROM orders o JOIN people p ON p.who = o.who",
            3,
            "4.1:24=15 5.2:25=27 6.3:26=35",
        ),
        (
            "UPDATE o SET sum = p.bonus FROM people p JOIN orders AS o ON p.who = o.who WHERE bonus = 5",
            2,
            "4.1:24=5 5.2:25=20 6.3:26=5",
        ),
        ("UPDATE orders SET id = 8 WHERE sum = 20", 1, "4.1:24=10 5.8:25=20 6.3:26=30"),
        ("DELETE orders WHERE id <> 2", 2, "5.2:25=20"),
        (
            "DELETE o FROM orders o JOIN people p ON p.who = o.who AND bonus = 7",
            1,
            "4.1:24=10 6.3:26=30",
        ),
        ("DELETE FROM orders", 3, "NULL"),
        ("SET ROWCOUNT 2 DELETE orders SET ROWCOUNT 0", 2, "6.3:26=30"),
    ] {
        let mut b = bench();
        b.check(
            &format!("{statement} SELECT @@ROWCOUNT {ROWS}")
                .replace("SET ROWCOUNT 0 SELECT @@ROWCOUNT", "SELECT @@ROWCOUNT SET ROWCOUNT 0"),
            &format!("({rows})\n{rows}\n{expected}"),
        );
    }
}

#[test]
fn a_row_moves_to_the_table_that_its_new_value_has() {
    for (statement, rows, expected) in [
        ("UPDATE orders SET year = 2025 WHERE id = 1", 1, "5.1:25=10 5.2:25=20 6.3:26=30"),
        ("UPDATE orders SET year += 1", 3, "5.1:25=10 6.2:26=20 6.3:27=30"),
        (
            "UPDATE orders SET year = 2050 - (year - 1999), sum = sum * 2",
            3,
            "4.3:23=60 4.2:24=40 5.1:25=20",
        ),
        // Within a table, with other rows that leave it and come to it.
        (
            "UPDATE orders SET year = CASE id WHEN 1 THEN 1999 WHEN 2 THEN 2024 ELSE 2027 END, id = 1",
            3,
            "4.1:99=10 4.1:24=20 6.1:27=30",
        ),
        (
            "UPDATE o SET year = 2020 + p.bonus FROM orders o JOIN people p ON p.who = o.who",
            3,
            "5.1:25=10 5.3:25=30 6.2:27=20",
        ),
        (
            "DECLARE @n int = 0 UPDATE orders SET year = 2024, @n += 1 WHERE id > 1 IF @n <> 2 PRINT @n",
            2,
            "4.1:24=10 4.2:24=20 4.3:24=30",
        ),
        ("UPDATE orders SET year = year", 3, "4.1:24=10 5.2:25=20 6.3:26=30"),
        (
            "SET ROWCOUNT 1 UPDATE orders SET year = 2026 SET ROWCOUNT 0",
            1,
            "5.2:25=20 6.1:26=10 6.3:26=30",
        ),
    ] {
        let mut b = bench();
        b.check(&format!("{statement} {ROWS}"), &format!("({rows})\n{expected}"));
    }
}

#[test]
fn through_views_and_expressions_over_it() {
    for (statement, rows, expected) in [
        ("UPDATE late SET amount = 1 WHERE no = 3", 1, "4.1:24=10 5.2:25=20 6.3:26=1"),
        ("UPDATE late SET y = 2024", 2, "4.1:24=10 4.2:24=20 4.3:24=30"),
        ("INSERT late VALUES (5, 2000, 55, 'w')", 1, "4.5:00=55 4.1:24=10 5.2:25=20 6.3:26=30"),
        ("WITH c AS (SELECT * FROM orders WHERE who = 'ann') DELETE c", 2, "5.2:25=20"),
        (
            "UPDATE d SET year = 2027 FROM (SELECT id, year FROM orders) d WHERE id = 1",
            1,
            "5.2:25=20 6.3:26=30 6.1:27=10",
        ),
        ("UPDATE doubled SET sum = twice WHERE twice < 50", 2, "4.1:24=20 5.2:25=40 6.3:26=30"),
    ] {
        let mut b = bench();
        b.check(
            "CREATE VIEW late (no, y, amount, who) AS SELECT id, year, sum, who FROM orders WHERE sum > 15",
            "",
        );
        b.check(
            "CREATE VIEW doubled AS SELECT id, year, sum, who, sum * 2 AS twice FROM orders",
            "",
        );
        b.check(
            &format!("{statement}; {ROWS}"),
            &format!("({rows})\n{expected}").replace(":00=", ":0="),
        );
    }
    let mut b = bench();
    b.check(
        "CREATE VIEW few AS SELECT id, year, sum, who FROM orders WHERE sum < 25 WITH CHECK OPTION",
        "",
    );
    let said = b.run("UPDATE few SET sum = 25 WHERE id = 1");
    assert!(said.starts_with("Msg 550"), "{said}");
    b.check("UPDATE few SET sum = 24, year = 2025 WHERE id = 1", "(1)");
}

#[test]
fn a_value_of_no_table() {
    const TEXT: &str = "Msg 4457: The attempted insert or update of the partitioned view failed because the value of the \
                        partitioning column does not belong to any of the partitions.";
    let mut b = bench();
    b.check("INSERT orders VALUES (1, 2025, 1, NULL), (1, 2028, 1, NULL)", TEXT);
    b.check("INSERT orders VALUES (1, NULL, 1, NULL)", TEXT);
    b.check(
        "INSERT orders SELECT id, 2030, sum, who FROM (SELECT 1, 2, 'x') v (id, sum, who)",
        TEXT,
    );
    b.check("UPDATE orders SET year = 3000 WHERE id = 3", TEXT);
    // Nothing of the statement stays, and what the tables say comes first.
    b.check(ROWS, "4.1:24=10 5.2:25=20 6.3:26=30");
    for rows in ["(1, 2024, 0, NULL), (1, 2028, 1, NULL)", "(1, 2028, 1, NULL), (1, 2024, 0, NULL)"]
    {
        let said = b.run(&format!("INSERT orders VALUES {rows}"));
        assert!(said.starts_with("Msg 2627"), "{said}");
    }
    let said = b.run("BEGIN TRAN INSERT orders VALUES (5, 2024, 5, NULL) UPDATE orders SET year = 2025, id = 2 WHERE id IN (1, 5) SELECT @@TRANCOUNT ROLLBACK");
    assert!(
        said.starts_with("(1)\nMsg 2627: ") && said.trim_end().ends_with("(2025, 2).\n1"),
        "{said}"
    );
    b.check(ROWS, "4.1:24=10 5.2:25=20 6.3:26=30");
    b.check(
        "BEGIN TRY UPDATE orders SET year = 3000 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH",
        "4457",
    );
}

#[test]
fn a_value_is_computed_once() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (k int PRIMARY KEY CHECK (k <= 500), v int); CREATE TABLE b (k int PRIMARY KEY CHECK (k > 500), v int); CREATE SEQUENCE s START WITH 499", "");
    b.check("CREATE VIEW ab AS SELECT k, v FROM a UNION ALL SELECT k, v FROM b", "");
    b.check("INSERT ab VALUES (NEXT VALUE FOR s, 1), (NEXT VALUE FOR s, 2), (NEXT VALUE FOR s, 3); SELECT k, v FROM a; SELECT k, v FROM b", "(3)\n499|1\n500|2\n501|3");
    for _ in 0..20 {
        b.check(
            "INSERT ab SELECT ABS(CHECKSUM(NEWID())) % 1000 + 2000 * NEXT VALUE FOR s, 0",
            "(1)",
        );
        b.check(
            "INSERT ab VALUES (-ABS(CHECKSUM(NEWID())) + 500 - 1000 * (ABS(CHECKSUM(NEWID())) % 2), 0)",
            "(1)",
        );
    }
    b.check("SELECT COUNT(*) FROM ab", "43");
}

#[test]
fn constraints_that_keep_tables_apart() {
    for (ty, first, second, in_first, in_second) in [
        ("int", "k IN (1, 3)", "k = 2 OR k > 10", "(1), (3)", "(2), (11)"),
        ("int", "k NOT BETWEEN 2 AND 5", "k >= 2 AND k <= 5", "(1), (6)", "(2), (5)"),
        ("int", "k <> 2", "k = 2", "(1), (3)", "(2)"),
        ("int", "NOT (k >= 2)", "k >= 2", "(1), (-9)", "(2)"),
        ("int", "10 > k", "10 <= k", "(9)", "(10)"),
        ("int", "k < 2.5", "k > 2.5", "(2)", "(3)"),
        ("bigint", "k < -2.5", "-2.5 < k", "(-3)", "(-2)"),
        ("tinyint", "k < 100", "k BETWEEN 100 AND 250", "(99)", "(100)"),
        ("decimal(9, 2)", "k <= 1.255", "k > 1.255", "(1.25)", "(1.26)"),
        ("money", "k < 5", "k >= 5", "(4.99)", "(5)"),
        ("date", "k < '2026-01-01'", "k >= '2026-01-01'", "('2025-12-31')", "('2026-01-01')"),
        (
            "datetime",
            "k < '20260101'",
            "k >= CONVERT(datetime, '2026-01-01T00:00:00', 126)",
            "('2025-12-31T23:59:59.997')",
            "('2026-01-01')",
        ),
        ("varchar(9)", "k < 'm'", "k >= 'M'", "('Lz'), ('a')", "('m'), ('z')"),
        ("nvarchar(9)", "k = 'x'", "k > N'x'", "(N'X')", "(N'y')"),
        (
            "uniqueidentifier",
            "k <= '00000000-0000-0000-0000-800000000000'",
            "k > '00000000-0000-0000-0000-800000000000'",
            "('ffffffff-ffff-ffff-ffff-000000000000')",
            "('00000000-0000-0000-0000-900000000000')",
        ),
    ] {
        let mut b = Bench::new();
        b.check(&format!("CREATE TABLE a (k {ty} PRIMARY KEY CHECK ({first})); CREATE TABLE b (k {ty} PRIMARY KEY CHECK ({second}))"), "");
        b.check("CREATE VIEW ab AS SELECT k FROM a UNION ALL SELECT k FROM b", "");
        let count = |rows: &str| rows.split("), (").count();
        b.check(&format!("INSERT ab VALUES {in_first}, {in_second}; SELECT (SELECT COUNT(*) FROM a), (SELECT COUNT(*) FROM b)"),
            &format!("({})\n{}|{}", count(in_first) + count(in_second), count(in_first), count(in_second)));
    }
}

/// Two tables and the view of them: the tables' columns, the view's SELECTs, the statement, its
/// error.
#[test]
fn what_is_no_partitioned_view() {
    let low = "k int NOT NULL CHECK (k < 10), v int, PRIMARY KEY (k)";
    let high = "k int NOT NULL CHECK (k >= 10), v int, PRIMARY KEY (k)";
    let both = "SELECT k, v FROM a UNION ALL SELECT k, v FROM b";
    let not_found = "4436: UNION ALL view 't.dbo.ab' is not updatable because a partitioning column was not found.";
    for (a, b, view, statement, error) in [
        ("k int PRIMARY KEY, v int", high, both, "UPDATE ab SET v = 1", not_found),
        (
            low,
            "k int NOT NULL CHECK (k >= 9), v int, PRIMARY KEY (k)",
            both,
            "INSERT ab VALUES (1, 1)",
            not_found,
        ),
        (
            "id int PRIMARY KEY, k int NOT NULL CHECK (k < 10)",
            "id int PRIMARY KEY, k int NOT NULL CHECK (k > 10)",
            "SELECT id, k FROM a UNION ALL SELECT id, k FROM b",
            "DELETE ab",
            not_found,
        ),
        (
            "k int CHECK (k >= 0), v int, PRIMARY KEY (k), CHECK (k < 10)",
            high,
            both,
            "DELETE ab",
            not_found,
        ),
        (
            "k int DEFAULT 5 CHECK (k < 10), v int, PRIMARY KEY (k)",
            high,
            both,
            "DELETE ab",
            not_found,
        ),
        (
            "k int CHECK (k % 2 = 0), v int, PRIMARY KEY (k)",
            "k int CHECK (k % 2 = 1), v int, PRIMARY KEY (k)",
            both,
            "DELETE ab",
            not_found,
        ),
        ("k int CHECK (k < v), v int, PRIMARY KEY (k)", high, both, "DELETE ab", not_found),
        (
            low,
            high,
            "SELECT k, v FROM a UNION ALL SELECT k, v FROM a",
            "DELETE ab",
            "4442: UNION ALL view 't.dbo.ab' is not updatable because base table '[t].[dbo].[a]' is used multiple times.",
        ),
        (
            low,
            high,
            "SELECT k, v, k AS k2 FROM a UNION ALL SELECT k, v, v FROM b",
            "DELETE ab",
            "4443: UNION ALL view 't.dbo.ab' is not updatable because column 'k' of base table '[t].[dbo].[b]' is used multiple times.",
        ),
        (
            low,
            "k int NOT NULL CHECK (k >= 10), v int",
            both,
            "DELETE ab",
            "4440: UNION ALL view 't.dbo.ab' is not updatable because a primary key was not found on table '[t].[dbo].[b]'.",
        ),
        (
            low,
            "k bigint NOT NULL CHECK (k >= 10), v int, PRIMARY KEY (k)",
            both,
            "DELETE ab",
            "4444: UNION ALL view 't.dbo.ab' is not updatable because the primary key of table '[t].[dbo].[a]' is not included in the union result.",
        ),
        (
            low,
            high,
            "SELECT v FROM a UNION ALL SELECT v FROM b",
            "DELETE ab",
            "4444: UNION ALL view 't.dbo.ab' is not updatable because the primary key of table '[t].[dbo].[a]' is not included in the union result.",
        ),
        (
            low,
            high,
            "SELECT k, v FROM a UNION ALL SELECT v, k FROM b",
            "DELETE ab",
            "4445: UNION ALL view 't.dbo.ab' is not updatable because the primary key of table '[t].[dbo].[b]' is not unioned with primary keys of preceding tables.",
        ),
        (
            "k int CHECK (k < 10), v AS k * 2 PERSISTED, PRIMARY KEY (k), UNIQUE (v)",
            high,
            both,
            "DELETE ab",
            "4441: Partitioned view 't.dbo.ab' is not updatable because the table '[t].[dbo].[a]' has an index on a computed column.",
        ),
        // What is no UNION ALL of tables is refused as before.
        (
            low,
            high,
            "SELECT k, v FROM a UNION SELECT k, v FROM b",
            "DELETE ab",
            "4403: Cannot update the view or function 'ab' because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.",
        ),
        (
            low,
            high,
            "SELECT k, v FROM a WHERE v > 0 UNION ALL SELECT k, v FROM b",
            "DELETE ab",
            "4426: View 'ab' is not updatable because the definition contains a UNION operator.",
        ),
        (
            low,
            high,
            "SELECT k, v FROM a UNION ALL SELECT k, v + 1 FROM b",
            "INSERT ab VALUES (1, 1)",
            "4406: Update or insert of view or function 'ab' failed because it contains a derived or constant field.",
        ),
    ] {
        let mut bench = Bench::new();
        bench.check(&format!("CREATE TABLE a ({a}); CREATE TABLE b ({b})"), "");
        bench.check(&format!("CREATE VIEW ab AS {view}"), "");
        bench.check(statement, &format!("Msg {error}"));
    }
    let mut bench = Bench::new();
    bench.check(&format!("CREATE TABLE a ({low}); CREATE TABLE b ({high})"), "");
    bench.check(&format!("CREATE VIEW ab AS {both}"), "");
    bench.check("CREATE VIEW inner_a AS SELECT k, v FROM a", "");
    bench.check("CREATE VIEW nested AS SELECT k, v FROM inner_a UNION ALL SELECT k, v FROM b", "");
    bench.check(
        "DELETE nested",
        "Msg 4426: View 'nested' is not updatable because the definition contains a UNION operator.",
    );
    // Constraints that are not in force say nothing of the rows.
    bench.check("INSERT ab VALUES (1, 1), (10, 10)", "(2)");
    bench.check("ALTER TABLE a ADD CONSTRAINT other CHECK (v < 100); DECLARE @n sysname = (SELECT name FROM sys.check_constraints WHERE parent_object_id = OBJECT_ID('a') AND name <> 'other'); EXEC ('ALTER TABLE a NOCHECK CONSTRAINT ' + @n)", "");
    bench.check("DELETE ab", &format!("Msg {not_found}"));
    bench.check("ALTER TABLE a CHECK CONSTRAINT ALL", "");
    bench.check("DELETE ab", &format!("Msg {not_found}"));
    bench.check("ALTER TABLE a WITH CHECK CHECK CONSTRAINT ALL; DELETE ab", "(2)");
}

/// The tables' further columns, the statement, its error; or how many rows it changes.
#[test]
fn what_no_change_of_one_may_say() {
    let k = [
        "k int NOT NULL CHECK (k < 10), PRIMARY KEY (k)",
        "k int NOT NULL CHECK (k >= 10), PRIMARY KEY (k)",
    ];
    let reads = "4439: Partitioned view 't.dbo.ab' is not updatable because the source query contains references to partition table '[t].[dbo].[a]'.";
    let defaults = "4449: Using defaults is not allowed in views that contain a set operator.";
    for (more, columns, statement, error) in [
        (
            ["v int", "v int"],
            "k, v",
            "INSERT ab (k) VALUES (1)",
            "4448: Cannot INSERT into partitioned view 't.dbo.ab' because values were not supplied for all columns.",
        ),
        (["v int DEFAULT 5", "v int"], "k, v", "INSERT ab VALUES (1, DEFAULT)", defaults),
        (["v int", "v int"], "k, v", "INSERT ab DEFAULT VALUES", defaults),
        (["v int", "v int"], "k, v", "UPDATE ab SET v = DEFAULT", defaults),
        (
            ["v int", "v int"],
            "k, v",
            "INSERT ab OUTPUT inserted.k VALUES (1, 1)",
            "489: The OUTPUT clause cannot be specified because the target view \"ab\" is a partitioned view.",
        ),
        (
            ["v int", "v int"],
            "k, v",
            "UPDATE x SET v = 1 OUTPUT inserted.k FROM ab x",
            "489: The OUTPUT clause cannot be specified because the target view \"x\" is a partitioned view.",
        ),
        (
            ["v int", "v int"],
            "k, v",
            "DELETE TOP (1) ab",
            "417: TOP is not allowed in an UPDATE or DELETE statement against a partitioned view.",
        ),
        (
            ["v int", "v int"],
            "k, v",
            "UPDATE TOP (1) ab SET v = 1",
            "417: TOP is not allowed in an UPDATE or DELETE statement against a partitioned view.",
        ),
        (
            ["v int", "v int"],
            "k, v",
            "MERGE ab USING (VALUES (1)) s (k) ON s.k = ab.k WHEN MATCHED THEN DELETE;",
            "5317: The target of a MERGE statement cannot be a partitioned view.",
        ),
        (["v int", "v int"], "k, v", "INSERT ab SELECT k, v FROM a", reads),
        (["v int", "v int"], "k, v", "INSERT ab VALUES (1, (SELECT MAX(k) FROM ab))", reads),
        (["v int", "v int"], "k, v", "DELETE ab WHERE k IN (SELECT k FROM a)", reads),
        (["v int", "v int"], "k, v", "UPDATE ab SET v = (SELECT MAX(k) FROM a)", reads),
        (["v int", "v int"], "k, v", "UPDATE x SET k = 1 FROM a JOIN ab x ON x.k = a.k", reads),
        (["v int", "v int"], "k, v", "UPDATE x SET v = 1 FROM ab x JOIN ab y ON x.k = y.k", reads),
        (
            ["v int", "v int"],
            "k, v",
            "INSERT ab SELECT k, 1 FROM (DELETE people OUTPUT deleted.k) d",
            "354: The target 'ab' of the INSERT statement cannot be a view or common table expression when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.",
        ),
        (
            ["v int, w int", "v int, w int"],
            "k, v",
            "UPDATE ab SET v = 1",
            "4438: Partitioned view 't.dbo.ab' is not updatable because it does not deliver all columns from its member tables.",
        ),
        (
            ["v int", "v bigint"],
            "k, v",
            "UPDATE ab SET v = 1",
            "271: The column \"v\" cannot be modified because it is either a computed column or is the result of a UNION operator.",
        ),
        (
            ["v int", "v bigint"],
            "k, v",
            "UPDATE ab SET k = 1",
            "271: The column \"v\" cannot be modified because it is either a computed column or is the result of a UNION operator.",
        ),
        (
            ["v varchar(5)", "v varchar(9)"],
            "k, v",
            "UPDATE ab SET k = 1",
            "4456: The partitioned view \"t.dbo.ab\" is not updatable because one or more of the non-partitioning columns of its member tables have mismatched types.",
        ),
        (
            ["v int IDENTITY", "v int"],
            "k, v",
            "INSERT ab VALUES (1, 1)",
            "4433: Cannot INSERT into partitioned view 't.dbo.ab' because table '[t].[dbo].[a]' has an IDENTITY constraint.",
        ),
        (
            ["v int", "v int IDENTITY"],
            "k, v",
            "UPDATE ab SET k = 1",
            "4450: Cannot update partitioned view 't.dbo.ab' because the definition of the view column 'v' in table '[t].[dbo].[b]' has an IDENTITY constraint.",
        ),
        (
            ["v int IDENTITY", "v int"],
            "k, v",
            "UPDATE ab SET v = 1",
            "8102: Cannot update identity column 'v'.",
        ),
        (
            ["v int, r rowversion", "v int, r rowversion"],
            "k, v, r",
            "UPDATE ab SET v = 1",
            "4431: Partitioned view 't.dbo.ab' is not updatable because table '[t].[dbo].[a]' has a timestamp column.",
        ),
    ] {
        let mut b = Bench::new();
        b.check(
            &format!(
                "CREATE TABLE a ({}, {}); CREATE TABLE b ({}, {}); CREATE TABLE people (k int)",
                k[0], more[0], k[1], more[1]
            ),
            "",
        );
        b.check(
            &format!("CREATE VIEW ab AS SELECT {columns} FROM a UNION ALL SELECT {columns} FROM b"),
            "",
        );
        b.check(statement, &format!("Msg {error}"));
        b.check("DELETE ab WHERE k < 5", if error.starts_with("4438") { "Msg 4438: Partitioned view 't.dbo.ab' is not updatable because it does not deliver all columns from its member tables." } else { "(0)" });
    }
    let mut b = Bench::new();
    b.check("CREATE TABLE a (k varchar(5) PRIMARY KEY CHECK (k < 'm'), v varchar(3)); CREATE TABLE b (k varchar(9) PRIMARY KEY CHECK (k >= 'm'), v varchar(9))", "");
    b.check("CREATE VIEW ab AS SELECT k, v FROM a UNION ALL SELECT k, v FROM b", "");
    b.check("INSERT ab VALUES ('a', 'b')", "Msg 4454: Cannot update the partitioned view \"t.dbo.ab\" because the partitioning columns of its member tables have mismatched types.");
    b.check("UPDATE ab SET v = 'x'", "(0)");
}

#[test]
fn values_have_the_types_of_their_table() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (k int PRIMARY KEY CHECK (k < 10), v varchar(3)); CREATE TABLE b (v varchar(9), k int PRIMARY KEY CHECK (k >= 10))", "");
    b.check("CREATE VIEW ab AS SELECT k, v FROM a UNION ALL SELECT k, v FROM b", "");
    b.check(
        "INSERT ab VALUES (1, 'abc'), (10, 'abcdef'); INSERT ab SELECT 11, 'ghijkl'",
        "(2)\n(1)",
    );
    b.check("INSERT ab VALUES (2, 'abcdef')", "Msg 2628: String or binary data would be truncated in table 't.dbo.a', column 'v'. Truncated value: 'abc'.");
    b.check("SELECT k, v FROM ab ORDER BY k", "1|abc\n10|abcdef\n11|ghijkl");
}

#[test]
fn constraints_triggers_and_keys_of_the_tables_hold() {
    let mut b = bench();
    b.check("ALTER TABLE o25 ADD CONSTRAINT small CHECK (sum < 100); ALTER TABLE o26 ADD CONSTRAINT named UNIQUE (who)", "");
    let said = b.run("UPDATE orders SET sum = 100");
    assert!(
        said.starts_with(
            "Msg 547: The UPDATE statement conflicted with the CHECK constraint \"small\""
        ),
        "{said}"
    );
    let said = b.run("UPDATE orders SET year = 2025, sum = 100 WHERE id = 1");
    assert!(
        said.starts_with(
            "Msg 547: The UPDATE statement conflicted with the CHECK constraint \"small\""
        ),
        "{said}"
    );
    let said = b.run("UPDATE orders SET year = 2026 WHERE id = 1");
    assert!(said.starts_with("Msg 2627"), "{said}");
    // The row that has the key leaves it to the one that comes.
    b.check(
        &format!("UPDATE orders SET year = 4050 - year WHERE id <> 2; {ROWS}"),
        "(2)\n4.3:24=30 5.2:25=20 6.1:26=10",
    );
    b.check("CREATE TABLE lines (year int, id int, FOREIGN KEY (year, id) REFERENCES o25 (year, id)); INSERT lines VALUES (2025, 2)", "(1)");
    let said = b.run("UPDATE orders SET year = 2024 WHERE id = 2");
    assert!(
        said.starts_with("Msg 547: The UPDATE statement conflicted with the REFERENCE constraint"),
        "{said}"
    );
    let said = b.run("DELETE orders");
    assert!(
        said.starts_with("Msg 547: The DELETE statement conflicted with the REFERENCE constraint"),
        "{said}"
    );
    b.check(ROWS, "4.3:24=30 5.2:25=20 6.1:26=10");
    b.check("DROP TABLE lines; CREATE TABLE lines (year int, id int, FOREIGN KEY (year, id) REFERENCES o25 (year, id) ON DELETE CASCADE); INSERT lines VALUES (2025, 2)", "(1)");
    b.check("UPDATE orders SET year = 2025", "Msg 4452: Cannot UPDATE partitioning column 'year' of view 't.dbo.orders' because the table '[t].[dbo].[o25]' has a CASCADE DELETE or CASCADE UPDATE constraint.");
    b.check("DELETE orders WHERE id = 2; SELECT COUNT(*) FROM lines", "(1)\n0");

    let mut b = bench();
    b.check("CREATE TABLE log (no int IDENTITY, what varchar(30))", "");
    for table in ["o24", "o25", "o26"] {
        b.check(&format!("CREATE TRIGGER w_{table} ON {table} AFTER INSERT, UPDATE, DELETE AS SET NOCOUNT ON INSERT log SELECT CONCAT('{table} +', (SELECT COUNT(*) FROM inserted), ' -', (SELECT COUNT(*) FROM deleted))"), "");
    }
    let log = "SELECT STRING_AGG(what, ', ') WITHIN GROUP (ORDER BY no) FROM log DELETE log";
    b.check(
        &format!("UPDATE orders SET sum = 0 WHERE id > 1 {log}"),
        "(2)\no26 +1 -1, o25 +1 -1\n(2)",
    );
    b.check(
        &format!(
            "INSERT orders VALUES (7, 2024, 1, NULL), (8, 2024, 1, NULL), (9, 2027, 1, NULL) {log}"
        ),
        "(3)\no26 +1 -0, o24 +2 -0\n(2)",
    );
    b.check("UPDATE orders SET year = 2025", "Msg 4453: Cannot UPDATE partitioning column 'year' of view 't.dbo.orders' because the table '[t].[dbo].[o24]' has a INSERT, UPDATE or DELETE trigger.");
    b.check("CREATE TRIGGER i ON o26 INSTEAD OF DELETE AS RETURN", "");
    b.check("DELETE orders", "Msg 4434: Partitioned view 't.dbo.orders' is not updatable because table '[t].[dbo].[o26]' has an INSTEAD OF trigger.");
    // A trigger of the view itself stands in the place of its own statement.
    b.check("CREATE TRIGGER v ON orders INSTEAD OF DELETE AS SET NOCOUNT ON INSERT log SELECT CONCAT('v', id) FROM deleted", "");
    b.check(&format!("DELETE orders WHERE year = 2025 {log}"), "(1)\nv2\n(1)");
}

#[test]
fn indexed_views_follow_rows_that_move() {
    let mut b = bench();
    b.check("CREATE VIEW sums WITH SCHEMABINDING AS SELECT who, SUM(ISNULL(sum, 0)) AS total, COUNT_BIG(*) AS n FROM dbo.o25 GROUP BY who", "");
    b.check("CREATE UNIQUE CLUSTERED INDEX c ON sums (who)", "");
    b.check("UPDATE orders SET year = 2025 WHERE id = 1; INSERT orders VALUES (5, 2025, 7, 'ann'), (6, 2024, 9, 'ann'); UPDATE orders SET year = 2027 WHERE who = 'bob'", "(1)\n(2)\n(1)");
    b.check("SELECT who, total, n FROM sums WITH (NOEXPAND)", "ann|17|2");
}

#[test]
fn rights_are_those_of_the_view() {
    let mut b = bench();
    b.check("CREATE USER clerk WITHOUT LOGIN; GRANT SELECT, UPDATE ON orders TO clerk", "");
    b.check("EXECUTE AS USER = 'clerk'; UPDATE orders SET sum = 1; REVERT", "(3)");
    for (statement, missing) in [
        ("DELETE orders", "DELETE"),
        ("INSERT orders VALUES (9, 2025, 9, NULL)", "INSERT"),
        ("UPDATE o24 SET sum = 1", "UPDATE"),
        // A row that moves is deleted and inserted.
        ("UPDATE orders SET year = 2025", "DELETE"),
    ] {
        let said = b.run(&format!("EXECUTE AS USER = 'clerk'; {statement}; REVERT"));
        assert!(said.contains("Msg 229") && said.contains(missing), "{statement}\n{said}");
        b.check("REVERT", "");
    }
    b.check("GRANT INSERT, DELETE ON orders TO clerk", "");
    b.check("EXECUTE AS USER = 'clerk'; UPDATE orders SET year = 2025 WHERE id = 1; DELETE orders WHERE id = 1; REVERT", "(1)\n(1)");
}

#[test]
fn policies_masks_and_parameters() {
    let mut b = bench();
    b.check(
        "CREATE USER clerk WITHOUT LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO clerk",
        "",
    );
    b.check("CREATE FUNCTION visible (@who varchar(10)) RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT 1 AS ok FROM dbo.people p WHERE USER_NAME() <> 'clerk' OR p.who = @who AND p.bonus = 5", "");
    b.check("CREATE SECURITY POLICY own ADD FILTER PREDICATE dbo.visible(who) ON dbo.o24, ADD FILTER PREDICATE dbo.visible(who) ON dbo.o26, ADD BLOCK PREDICATE dbo.visible(who) ON dbo.o26 AFTER INSERT", "");
    b.check("INSERT orders VALUES (4, 2024, 40, 'bob')", "(1)");
    // Of the rows of bob in the first table nothing is known.
    b.check("EXECUTE AS USER = 'clerk'; UPDATE orders SET sum += 1; REVERT", "(3)");
    b.check(ROWS, "4.1:24=11 4.4:24=40 5.2:25=21 6.3:26=31");
    b.check(
        "EXECUTE AS USER = 'clerk'; UPDATE orders SET year = 2026, sum = 0 WHERE id = 1; REVERT",
        "(1)",
    );
    // A row that moves comes into a table as a new one.
    let said =
        b.run("EXECUTE AS USER = 'clerk'; UPDATE orders SET year = 2026 WHERE id = 2; REVERT");
    assert!(said.starts_with("Msg 33504"), "{said}");
    b.check("REVERT", "");
    b.check("EXEC sp_executesql N'UPDATE orders SET sum = @s WHERE year = @y; INSERT orders VALUES (@i, @y, @s, NULL); DELETE orders WHERE id = @i', N'@s int, @y int, @i int', 7, 2025, 9", "(1)\n(1)\n(1)");
    b.check(ROWS, "4.4:24=40 5.2:25=7 6.1:26=0 6.3:26=31");
}

#[test]
fn tables_of_another_database() {
    let mut b = bench();
    b.check("CREATE DATABASE other", "");
    b.check("CREATE TABLE other.dbo.o28 (id int, year int CHECK (year = 2028), sum int, who varchar(10), PRIMARY KEY (year, id))", "");
    b.check("CREATE VIEW both_of AS SELECT * FROM o26 UNION ALL SELECT * FROM other.dbo.o28", "");
    b.check("INSERT both_of VALUES (8, 2028, 80, NULL), (9, 2027, 90, NULL); UPDATE both_of SET year = 2028 WHERE id = 3; DELETE both_of WHERE id = 9", "(2)\n(1)\n(1)");
    b.check("SELECT id, sum FROM o26; SELECT id, sum FROM other.dbo.o28 ORDER BY id", "3|30\n8|80");
    let said = b.run("UPDATE both_of SET year = 2026 WHERE sum >= 30; INSERT both_of VALUES (1, 2028, 1, NULL), (3, 2026, 1, NULL)");
    assert!(said.starts_with("(2)\nMsg 2627"), "{said}");
    b.check(
        "SELECT id, sum FROM o26 ORDER BY id; SELECT COUNT(*) FROM other.dbo.o28",
        "3|30\n8|80\n0",
    );
}

#[test]
fn rows_that_move_are_not_lost_with_the_power() {
    let disk = SimDisk::new(3);
    let open = |disk: &SimDisk| try_open(disk, 64 << 20).unwrap();
    {
        let instance = open(&disk);
        run(&instance, "CREATE DATABASE d");
        run(
            &instance,
            "USE d; CREATE TABLE a (k int PRIMARY KEY CHECK (k < 1000), v char(200)); CREATE TABLE b (k int PRIMARY KEY CHECK (k >= 1000), v char(200))",
        );
        run(
            &instance,
            "USE d; EXEC ('CREATE VIEW ab AS SELECT k, v FROM a UNION ALL SELECT k, v FROM b')",
        );
        run(&instance, "USE d; INSERT ab SELECT value, 'x' FROM GENERATE_SERIES(1, 300)");
        instance.close().unwrap();
    }
    let (mut before, mut after) = (0, 0);
    power_loss(
        &disk,
        open,
        "USE d; UPDATE ab SET k += 1000 WHERE k > 100",
        12,
        |instance, _, at| {
            let said =
                say(instance, "USE d; SELECT (SELECT COUNT(*) FROM a), (SELECT COUNT(*) FROM b)");
            match said.lines().last() {
                Some("300|0") => before += 1,
                Some("100|200") => after += 1,
                other => panic!("{other:?} after the I/O {at}"),
            }
        },
    );
    assert!(before > 0 && after > 0, "{before} {after}");
}

#[test]
fn definitions_are_looked_at_anew() {
    let mut b = bench();
    b.check("CREATE PROCEDURE add_one @year int AS INSERT orders VALUES (100, @year, 0, NULL) UPDATE orders SET sum = 1 WHERE id = 100", "");
    b.check("EXEC add_one 2025; EXEC add_one 2026", "(1)\n(1)\n(1)\n(2)");
    b.check("CREATE TABLE o28 (id int, year int CHECK (year = 2028), sum int, who varchar(10), PRIMARY KEY (year, id))", "");
    b.check("ALTER VIEW orders AS SELECT * FROM o24 UNION ALL SELECT * FROM o25 UNION ALL SELECT * FROM o26 UNION ALL SELECT * FROM o28", "");
    b.check("EXEC add_one 2028; SELECT id, sum FROM o28", "(1)\n(3)\n100|1");
    b.check("ALTER TABLE o28 NOCHECK CONSTRAINT ALL", "");
    let said = b.run("EXEC add_one 2024");
    assert!(said.contains("Msg 4436"), "{said}");
}

#[test]
fn plans_show_each_table() {
    let mut b = bench();
    b.check("SET SHOWPLAN_TEXT ON", "");
    let said = b.run("UPDATE orders SET year = 2025");
    for table in ["o24", "o25", "o26"] {
        assert!(said.contains("Sequence") && said.contains(&format!("[dbo].[{table}]")), "{said}");
    }
    let said = b.run("INSERT orders SELECT 1, 2, 3, who FROM people");
    assert_eq!(said.matches("Clustered Index Insert").count(), 3, "{said}");
    assert_eq!(said.matches("Table Scan").count(), 1, "{said}");
}

#[test]
fn bulk_rows_do_not_go_in() {
    let mut b = bench();
    b.check(
        "INSERT orders SELECT * FROM OPENROWSET(BULK '/none', SINGLE_CLOB) x",
        "Msg 4437: Partitioned view 't.dbo.orders' is not updatable as the target of a bulk operation.",
    );
}

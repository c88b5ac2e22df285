//! Changes through views, common table expressions and derived tables.

use crate::support::text::Bench;

/// Tables and views as in a test of Microsoft's rules: a filter, a rename, a join, a check, a
/// group, a limit.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (id int PRIMARY KEY, v int, k int); CREATE TABLE u (k int, n int)", "");
    b.check("INSERT t VALUES (1, 10, 1), (2, 20, 2), (3, 30, 3), (4, 40, 1); INSERT u VALUES (1, 100), (2, 200), (2, 201), (5, 500)", "(4)\n(4)");
    for view in [
        "v AS SELECT id, v, k, v * 2 AS d FROM t WHERE id < 4",
        "v2 AS SELECT id AS i2, v AS v2, k FROM v WHERE v > 15",
        "vj AS SELECT t.id, t.v, t.k, u.n FROM t JOIN u ON u.k = t.k",
        "vc AS SELECT id, v, k FROM t WHERE v < 100 WITH CHECK OPTION",
        "vagg AS SELECT k, COUNT(*) AS c FROM t GROUP BY k",
        "vtop AS SELECT TOP 2 id, v, k FROM t ORDER BY v DESC",
        "vu AS SELECT id, v FROM t UNION ALL SELECT k, n FROM u",
    ] {
        b.check(&format!("CREATE VIEW {view}"), "");
    }
    b
}

const ROWS: &str = "SELECT STRING_AGG(CONCAT(id, ':', v), ' ') WITHIN GROUP (ORDER BY id) FROM t";

#[test]
fn updates() {
    for (statement, rows, expected) in [
        ("UPDATE v SET v = 0", 3, "1:0 2:0 3:0 4:40"),
        ("UPDATE v SET v = v + 1 WHERE id = 4", 0, "1:10 2:20 3:30 4:40"),
        ("UPDATE v SET v = d + 1 WHERE d = 40", 1, "1:10 2:41 3:30 4:40"),
        ("UPDATE v2 SET v2 += 1", 2, "1:10 2:21 3:31 4:40"),
        ("UPDATE v SET v = v.v + u.n FROM v JOIN u ON u.k = v.k", 2, "1:110 2:220 3:30 4:40"),
        (
            "UPDATE a SET v = a.v + 1 FROM v AS a JOIN u ON u.k = a.k WHERE a.id > 1",
            1,
            "1:10 2:21 3:30 4:40",
        ),
        ("UPDATE v SET v = 0 FROM v WHERE id = 2", 1, "1:10 2:0 3:30 4:40"),
        (
            "UPDATE v SET v = 0 FROM dbo.v AS x JOIN u ON u.k = x.k AND u.n = 100",
            1,
            "1:0 2:20 3:30 4:40",
        ),
        ("UPDATE v SET v = u.n FROM u WHERE u.k = v.k", 2, "1:100 2:200 3:30 4:40"),
        ("UPDATE a SET v = a.d FROM v a JOIN u ON u.k = a.k", 2, "1:20 2:40 3:30 4:40"),
        ("UPDATE a SET v = b.v FROM v a JOIN v b ON b.id = a.id + 1", 2, "1:20 2:30 3:30 4:40"),
        ("UPDATE a SET v2 = a.v2 + u.n FROM v2 a JOIN u ON u.k = a.k", 1, "1:10 2:220 3:30 4:40"),
        ("UPDATE vtop SET v = 0", 2, "1:10 2:20 3:0 4:0"),
        ("UPDATE a SET v = 0 FROM vtop a JOIN u ON u.k = a.k", 1, "1:10 2:20 3:30 4:0"),
        (
            "UPDATE x SET v = 5 FROM vj x JOIN u ON u.n = x.n WHERE u.n = 100",
            2,
            "1:5 2:20 3:30 4:5",
        ),
        ("UPDATE vj SET v = 5 WHERE n = 201", 1, "1:10 2:5 3:30 4:40"),
        (
            "WITH c AS (SELECT id, v, k FROM t WHERE id > 1) UPDATE c SET v = 1",
            3,
            "1:10 2:1 3:1 4:1",
        ),
        (
            "WITH c AS (SELECT id, v, k FROM t WHERE id > 1) UPDATE c SET v = c.v + u.n FROM c JOIN u ON u.k = c.k",
            2,
            "1:10 2:220 3:30 4:140",
        ),
        (
            "WITH c AS (SELECT v, ROW_NUMBER() OVER (ORDER BY v DESC) AS rn FROM t) UPDATE c SET v = rn",
            4,
            "1:4 2:3 3:2 4:1",
        ),
        (
            "WITH c (a, b) AS (SELECT id, v FROM v) UPDATE c SET b = a * 7 WHERE a < 3",
            2,
            "1:7 2:14 3:30 4:40",
        ),
        (
            "UPDATE d SET v = v + 1 FROM (SELECT id, v FROM t WHERE id < 3) d",
            2,
            "1:11 2:21 3:30 4:40",
        ),
        (
            "UPDATE d SET b = b + 1 FROM (SELECT id, v FROM t WHERE id < 3) d (a, b)",
            2,
            "1:11 2:21 3:30 4:40",
        ),
        (
            "UPDATE d SET v = 0 FROM u CROSS APPLY (SELECT TOP 1 id, v FROM t WHERE t.id > u.k ORDER BY t.id) d",
            2,
            "1:10 2:0 3:0 4:40",
        ),
        ("UPDATE TOP (1) v2 SET v2 = 0", 1, "1:10 2:0 3:30 4:40"),
        ("UPDATE TOP (50) PERCENT v2 SET v2 = 0", 1, "1:10 2:0 3:30 4:40"),
    ] {
        let mut b = bench();
        b.check(&format!("{statement}; {ROWS}"), &format!("({rows})\n{expected}"));
    }
    let mut b = bench();
    b.check(
        "UPDATE vj SET n = n + 1 WHERE id = 2; SELECT k, n FROM u ORDER BY k, n",
        "(2)\n1|100\n2|201\n2|202\n5|500",
    );
}

#[test]
fn deletes() {
    for (statement, rows, expected) in [
        ("DELETE v", 3, "4:40"),
        ("DELETE v WHERE d > 20", 2, "1:10 4:40"),
        ("DELETE v FROM v JOIN u ON u.k = v.k", 2, "3:30 4:40"),
        ("DELETE FROM v FROM v JOIN u ON u.k = v.k WHERE u.n = 100", 1, "2:20 3:30 4:40"),
        ("DELETE v FROM v x JOIN u ON u.k = x.k WHERE u.n = 100", 1, "2:20 3:30 4:40"),
        ("DELETE vtop", 2, "1:10 2:20"),
        ("WITH c AS (SELECT TOP (2) * FROM t ORDER BY v) DELETE FROM c", 2, "3:30 4:40"),
        (
            "WITH c AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS rn FROM t) DELETE FROM c WHERE rn > 1",
            1,
            "1:10 2:20 3:30",
        ),
        (
            "WITH c AS (SELECT id, v, k FROM t WHERE id > 1) DELETE c FROM c JOIN u ON u.k = c.k",
            2,
            "1:10 3:30",
        ),
        ("DELETE d FROM (SELECT TOP 2 * FROM t ORDER BY v DESC) d", 2, "1:10 2:20"),
        (
            "DELETE d FROM u CROSS APPLY (SELECT id FROM t WHERE t.id = u.k) d WHERE u.n = 201",
            1,
            "1:10 3:30 4:40",
        ),
    ] {
        let mut b = bench();
        b.check(&format!("{statement}; {ROWS}"), &format!("({rows})\n{expected}"));
    }
}

#[test]
fn inserts() {
    let mut b = bench();
    b.check("INSERT v (id, v) VALUES (5, 50), (6, 60)", "(2)");
    b.check("INSERT v2 (i2, v2, k) SELECT id + 10, v, k FROM t WHERE id = 1", "(1)");
    b.check("INSERT vc VALUES (7, 70, 7)", "(1)");
    b.check("WITH c AS (SELECT id, v FROM t) INSERT c VALUES (8, 80)", "(1)");
    b.check(ROWS, "1:10 2:20 3:30 4:40 5:50 6:60 7:70 8:80 11:10");
    b.check("INSERT vj (k, n) VALUES (9, 900)", "Msg 4405: View or function 'vj' is not updatable because the modification affects multiple base tables.");
    b.check(
        "INSERT vj (id, v) VALUES (20, 1); INSERT vj (n) VALUES (900); SELECT COUNT(*) FROM u",
        "(1)\n(1)\n5",
    );
    b.check("CREATE TABLE i (no int IDENTITY, a int, b int DEFAULT 5)", "");
    b.check("CREATE VIEW vi AS SELECT a, no FROM i", "");
    b.check(
        "INSERT vi VALUES (1); INSERT vi (a) OUTPUT inserted.no, inserted.a VALUES (2); SELECT * FROM i",
        "(1)\n2|2\n1|1|5\n2|2|5",
    );
    b.check("INSERT vi DEFAULT VALUES; SELECT SCOPE_IDENTITY()", "(1)\n3");
}

#[test]
fn refusals() {
    for (statement, error) in [
        (
            "UPDATE v SET d = 1",
            "4406: Update or insert of view or function 'v' failed because it contains a derived or constant field.",
        ),
        (
            "UPDATE dbo.v SET d = 1 FROM dbo.v JOIN u ON u.k = v.k",
            "4406: Update or insert of view or function 'dbo.v' failed because it contains a derived or constant field.",
        ),
        (
            "UPDATE x SET v = 1, n = 2 FROM vj x",
            "4405: View or function 'x' is not updatable because the modification affects multiple base tables.",
        ),
        (
            "DELETE vj",
            "4405: View or function 'vj' is not updatable because the modification affects multiple base tables.",
        ),
        (
            "UPDATE vagg SET k = 1",
            "4403: Cannot update the view or function 'vagg' because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.",
        ),
        (
            "DELETE a FROM vagg a JOIN u ON u.k = a.k",
            "4403: Cannot update the view or function 'a' because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.",
        ),
        (
            "UPDATE vagg SET c = 1",
            "4406: Update or insert of view or function 'vagg' failed because it contains a derived or constant field.",
        ),
        (
            "DELETE vu",
            "4440: UNION ALL view 't.dbo.vu' is not updatable because a primary key was not found on table '[t].[dbo].[u]'.",
        ),
        (
            "UPDATE d SET q = 1 FROM (SELECT id, v + 1 q FROM t) d",
            "4421: Derived table 'd' is not updatable because a column of the derived table is derived or constant.",
        ),
        (
            "UPDATE d SET id = 1 FROM (SELECT id, COUNT(*) c FROM t GROUP BY id) d",
            "4418: Derived table 'd' is not updatable because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.",
        ),
        (
            "DELETE d FROM (SELECT DISTINCT id, v FROM t) d",
            "4418: Derived table 'd' is not updatable because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.",
        ),
        (
            "DELETE d FROM (SELECT id, v FROM t UNION ALL SELECT k, n FROM u) d",
            "4417: Derived table 'd' is not updatable because the definition contains a UNION operator.",
        ),
        (
            "UPDATE d SET v = 1, n = 2 FROM (SELECT t.id, t.v, u.n FROM t JOIN u ON t.id = u.k) d",
            "4420: Derived table 'd' is not updatable because the modification affects multiple base tables.",
        ),
        (
            "UPDATE d SET a = 1 FROM (VALUES (1)) d (a)",
            "4421: Derived table 'd' is not updatable because a column of the derived table is derived or constant.",
        ),
        (
            "DELETE d FROM (VALUES (1)) d (a)",
            "4406: Update or insert of view or function 'd' failed because it contains a derived or constant field.",
        ),
        (
            "INSERT vagg VALUES (1, 1)",
            "4403: Cannot update the view or function 'vagg' because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.",
        ),
        (
            "INSERT v VALUES (1, 1, 1, 1)",
            "4406: Update or insert of view or function 'v' failed because it contains a derived or constant field.",
        ),
        ("UPDATE v SET nope = 1", "207: Invalid column name 'nope'."),
        ("INSERT v (nope) VALUES (1)", "207: Invalid column name 'nope'."),
        (
            "UPDATE v SET v = 1, v = 2",
            "264: The column name 'v' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code.",
        ),
    ] {
        let mut b = bench();
        b.check(statement, &format!("Msg {error}"));
        b.check(ROWS, "1:10 2:20 3:30 4:40");
    }
}

#[test]
fn check_option() {
    let mut b = bench();
    let error = "Msg 550: The attempted insert or update failed because the target view either specifies WITH CHECK OPTION or spans a view that specifies WITH CHECK OPTION and one or more rows resulting from the operation did not qualify under the CHECK OPTION constraint.";
    b.check("UPDATE vc SET v = v * 3", error);
    b.check("INSERT vc VALUES (9, 100, 9)", error);
    b.check("INSERT vc (id) VALUES (9)", error);
    b.check("UPDATE vc SET v = 99 WHERE id = 1; INSERT vc VALUES (9, 9, 9)", "(1)\n(1)");
    b.check("CREATE VIEW outer_v AS SELECT id, v FROM vc WHERE id > 2", "");
    // The outer view's own condition is not tested, the inner one's is.
    b.check("UPDATE outer_v SET v = 100 WHERE id = 3", error);
    b.check("UPDATE outer_v SET id = 0 WHERE id = 9; DELETE outer_v WHERE id = 4", "(1)\n(1)");
    b.check("CREATE VIEW both2 AS SELECT id, v FROM vc WHERE id > 2 WITH CHECK OPTION", "");
    b.check("UPDATE both2 SET id = 1 WHERE id = 3", error);
    b.check("SELECT name, with_check_option FROM sys.views WHERE name IN ('vc', 'v') ORDER BY name; SELECT CHECK_OPTION FROM INFORMATION_SCHEMA.VIEWS WHERE TABLE_NAME = 'vc'", "v|0\nvc|1\nCASCADE");
    b.check(ROWS, "0:9 1:99 2:20 3:30");
}

#[test]
fn output_has_the_views_columns() {
    for (statement, expected) in [
        ("UPDATE v SET v = 7 OUTPUT deleted.*, inserted.v WHERE id = 1", "1|10|1|20|7"),
        ("DELETE a OUTPUT deleted.* FROM v a JOIN u ON u.k = a.k", "1|10|1|20\n2|20|2|40"),
        (
            "UPDATE a SET v2 = 7 OUTPUT deleted.*, inserted.* FROM v2 a JOIN u ON u.k = a.k",
            "2|20|2|2|7|2",
        ),
        (
            "UPDATE x SET v = 1 OUTPUT inserted.id, inserted.v, deleted.n FROM vj x WHERE n = 100",
            "1|1|100\n4|1|100",
        ),
        (
            "UPDATE x SET v = 1 OUTPUT inserted.n FROM vj x",
            "Msg 404: The column reference \"inserted.n\" is not allowed because it refers to a base table that is not being modified in this statement.",
        ),
        ("INSERT v2 (i2, v2) OUTPUT inserted.v2, inserted.k VALUES (9, 9)", "9|NULL"),
        (
            "UPDATE d SET b = b + 1 OUTPUT inserted.a, deleted.b, inserted.b FROM (SELECT id, v FROM t WHERE id < 3) d (a, b)",
            "1|10|11\n2|20|21",
        ),
        (
            "WITH c AS (SELECT id, v FROM t) UPDATE c SET v = 1 OUTPUT deleted.k",
            "Msg 207: Invalid column name 'k'.",
        ),
    ] {
        let mut b = bench();
        b.check(statement, expected);
    }
}

#[test]
fn rights_are_those_of_the_view() {
    let mut b = bench();
    b.check("CREATE USER reader WITHOUT LOGIN; GRANT SELECT, UPDATE ON v TO reader", "");
    b.check("EXECUTE AS USER = 'reader'; UPDATE v SET v = 1 WHERE id = 1; REVERT", "(1)");
    let said = b.run("EXECUTE AS USER = 'reader'; DELETE v WHERE id = 1; REVERT");
    assert!(said.contains("Msg 229") && said.contains("'v'"), "{said}");
    b.check("REVERT", "");
}

#[test]
fn triggers_and_constraints_of_the_table_hold() {
    let mut b = bench();
    b.check(
        "ALTER TABLE t ADD CONSTRAINT small CHECK (v < 1000); CREATE TABLE log (what varchar(20))",
        "",
    );
    b.check("CREATE TRIGGER w ON t AFTER UPDATE, DELETE AS SET NOCOUNT ON INSERT log SELECT CONCAT((SELECT COUNT(*) FROM inserted), '/', (SELECT COUNT(*) FROM deleted), CASE WHEN UPDATE(v) THEN 'v' END)", "");
    b.check(
        "UPDATE v2 SET v2 = 1; DELETE v WHERE id = 1; SELECT * FROM log",
        "(2)\n(1)\n2/2v\n0/1",
    );
    b.check("UPDATE v SET v = 1000", "Msg 547: The UPDATE statement conflicted with the CHECK constraint \"small\". The conflict occurred in database \"t\", table \"dbo.t\".");
}

//! Queries: names, expressions, joins, grouping, ordering, subqueries, windows, set operations,
//! access paths.

use crate::support::text::Bench;

/// Two tables: people with a boss and a department, departments.
fn people() -> Bench {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE dept (id int PRIMARY KEY, name varchar(20) NOT NULL);
         CREATE TABLE person (id int PRIMARY KEY, name varchar(20) NOT NULL, dept int NULL, boss int NULL,
             pay decimal(10,2) NULL, born date NULL);
         CREATE INDEX ix_dept ON person (dept) INCLUDE (name);
         INSERT dept VALUES (1, 'Sales'), (2, 'Stock'), (3, 'Board');
         INSERT person VALUES (1, 'Ann', 3, NULL, 9000, '1970-01-05'), (2, 'Bob', 1, 1, 4000.50, '1980-02-06'),
             (3, 'cid', 1, 2, 3000, '1990-03-07'), (4, 'Dee', 2, 1, NULL, NULL), (5, 'Eve', NULL, 4, 2500.25, '2000-12-31')",
        "(3)\n(5)",
    );
    b
}

#[test]
fn names_and_their_errors() {
    let mut b = people();
    b.check("SELECT nope FROM person", "Msg 207: Invalid column name 'nope'.");
    b.check("SELECT p.nope FROM person p", "Msg 207: Invalid column name 'nope'.");
    b.check(
        "SELECT q.id FROM person p",
        "Msg 4104: The multi-part identifier \"q.id\" could not be bound.",
    );
    b.check("SELECT * FROM nowhere", "Msg 208: Invalid object name 'nowhere'.");
    b.check("SELECT id FROM person, dept", "Msg 209: Ambiguous column name 'id'.");
    b.check(
        "SELECT nofunction(1)",
        "Msg 195: 'nofunction' is not a recognized built-in function name.",
    );
    b.check("SELECT dbo.person.NAME FROM dbo.person WHERE person.id = 1", "Ann");
    b.check("SELECT x.* FROM person AS x WHERE X.ID = 2", "2|Bob|1|1|4000.50|1980-02-06");
    b.check(
        "SELECT dept, COUNT(*), name FROM person GROUP BY dept",
        "Msg 8120: Column 'person.name' is invalid in the select list because it is not contained in either an \
         aggregate function or the GROUP BY clause.",
    );
    b.check(
        "SELECT (SELECT id FROM person)",
        "Msg 512: Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= \
         , >, >= or when the subquery is used as an expression.",
    );
    b.check(
        "SELECT id FROM person UNION SELECT id, name FROM dept",
        "Msg 205: All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of \
         expressions in their target lists.",
    );
}

#[test]
fn three_valued_logic() {
    let mut b = people();
    b.check("SELECT name FROM person WHERE pay > 3000 ORDER BY name", "Ann\nBob");
    b.check("SELECT name FROM person WHERE NOT pay > 3000 ORDER BY name", "cid\nEve");
    b.check("SELECT name FROM person WHERE pay IS NULL", "Dee");
    b.check("SELECT name FROM person WHERE dept NOT IN (1, NULL)", "");
    b.check("SELECT name FROM person WHERE dept IN (3, NULL)", "Ann");
    b.check("SELECT name FROM person WHERE dept NOT IN (SELECT dept FROM person)", "");
    b.check("SELECT name FROM person WHERE pay BETWEEN 2500 AND 3000 ORDER BY 1 DESC", "Eve\ncid");
    b.check("SELECT CASE WHEN NULL = NULL THEN 'same' ELSE 'unknown' END", "unknown");
    b.check("SELECT COUNT(*), COUNT(pay), COUNT(DISTINCT dept) FROM person", "5|4|3");
    b.check("SELECT name FROM person WHERE name LIKE '[a-c]%' ORDER BY name", "Ann\nBob\ncid");
}

#[test]
fn joins() {
    let mut b = people();
    b.check(
        "SELECT p.name, d.name FROM person p JOIN dept d ON d.id = p.dept ORDER BY p.id",
        "Ann|Board\nBob|Sales\ncid|Sales\nDee|Stock",
    );
    b.check(
        "SELECT p.name, d.name FROM person p LEFT JOIN dept d ON d.id = p.dept AND d.name <> 'Sales' ORDER BY p.id",
        "Ann|Board\nBob|NULL\ncid|NULL\nDee|Stock\nEve|NULL",
    );
    b.check(
        "SELECT d.name, COUNT(p.id) FROM person p RIGHT JOIN dept d ON p.dept = d.id GROUP BY d.name ORDER BY d.name",
        "Board|1\nSales|2\nStock|1",
    );
    b.check(
        "SELECT a.id, c.id FROM (VALUES (1),(2)) a(id) FULL JOIN (VALUES (2),(3)) c(id) ON a.id = c.id ORDER BY a.id, c.id",
        "NULL|3\n1|NULL\n2|2",
    );
    b.check("SELECT COUNT(*) FROM person CROSS JOIN dept", "15");
    b.check(
        "SELECT e.name, m.name FROM person e, person m WHERE e.boss = m.id AND m.pay > 4000 ORDER BY e.id",
        "Bob|Ann\ncid|Bob\nDee|Ann",
    );
    b.check(
        "SELECT d.name, x.name FROM dept d OUTER APPLY (SELECT TOP 1 name FROM person p WHERE p.dept = d.id ORDER BY pay DESC) x ORDER BY d.id",
        "Sales|Bob\nStock|Dee\nBoard|Ann",
    );
    b.check("SELECT COUNT(*) FROM person a JOIN person b ON a.pay < b.pay", "6");
}

#[test]
fn subqueries() {
    let mut b = people();
    b.check(
        "SELECT name FROM person p WHERE EXISTS (SELECT * FROM person q WHERE q.boss = p.id) ORDER BY id",
        "Ann\nBob\nDee",
    );
    b.check(
        "SELECT name FROM person p WHERE NOT EXISTS (SELECT 1 FROM person q WHERE q.boss = p.id) ORDER BY id",
        "cid\nEve",
    );
    b.check(
        "SELECT name FROM person WHERE dept IN (SELECT id FROM dept WHERE name LIKE 'S%') ORDER BY id",
        "Bob\ncid\nDee",
    );
    b.check(
        "SELECT name, (SELECT COUNT(*) FROM person q WHERE q.boss = p.id) FROM person p ORDER BY p.id",
        "Ann|2\nBob|1\ncid|0\nDee|1\nEve|0",
    );
    b.check(
        "SELECT name FROM person WHERE pay >= ALL (SELECT pay FROM person WHERE pay IS NOT NULL)",
        "Ann",
    );
    b.check("SELECT name FROM person WHERE pay = (SELECT MIN(pay) FROM person)", "Eve");
    b.check(
        "SELECT d.name FROM dept d WHERE (SELECT SUM(pay) FROM person p WHERE p.dept = d.id AND p.boss IN
             (SELECT id FROM person x WHERE x.dept <> d.id OR x.id = p.boss)) > 5000",
        "Sales",
    );
    b.check(
        "WITH a AS (SELECT id, pay FROM person WHERE pay > 2600), b(i) AS (SELECT id FROM a WHERE id < 3)
             SELECT COUNT(*), MAX(i) FROM b",
        "2|2",
    );
}

#[test]
fn grouping_and_windows() {
    let mut b = people();
    b.check(
        "SELECT dept, SUM(pay), AVG(pay), MIN(name) FROM person GROUP BY dept HAVING COUNT(*) > 1",
        "1|7000.50|3500.250000|Bob",
    );
    b.check(
        "SELECT YEAR(born) / 10 * 10 AS decade, COUNT(*) FROM person WHERE born IS NOT NULL
             GROUP BY YEAR(born) / 10 * 10 ORDER BY decade DESC",
        "2000|1\n1990|1\n1980|1\n1970|1",
    );
    b.check("SELECT SUM(pay) FROM person WHERE 1 = 0", "NULL");
    b.check("SELECT dept FROM person WHERE 1 = 0 GROUP BY dept", "");
    b.check(
        "SELECT STRING_AGG(name, ', ') WITHIN GROUP (ORDER BY name DESC) FROM person",
        "Eve, Dee, cid, Bob, Ann",
    );
    b.check(
        "SELECT name, ROW_NUMBER() OVER (ORDER BY name DESC), RANK() OVER (ORDER BY dept),
             SUM(pay) OVER (PARTITION BY dept) FROM person ORDER BY name",
        "Ann|5|5|9000.00\nBob|4|2|7000.50\ncid|3|2|7000.50\nDee|2|4|NULL\nEve|1|1|2500.25",
    );
    b.check("SELECT id, SUM(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), LAG(id) OVER (ORDER BY id)
             FROM person ORDER BY id", "1|1|NULL\n2|3|1\n3|5|2\n4|7|3\n5|9|4");
    b.check(
        "SELECT x.name FROM (SELECT name, ROW_NUMBER() OVER (ORDER BY id) n FROM person) x WHERE n = 2",
        "Bob",
    );
}

#[test]
fn order_top_distinct() {
    let mut b = people();
    b.check("SELECT TOP 2 name FROM person ORDER BY id DESC", "Eve\nDee");
    b.check(
        "SELECT TOP (1) WITH TIES dept FROM person WHERE dept IS NOT NULL ORDER BY dept",
        "1\n1",
    );
    b.check("SELECT TOP 40 PERCENT id FROM person ORDER BY id", "1\n2");
    b.check("SELECT DISTINCT dept FROM person ORDER BY dept", "NULL\n1\n2\n3");
    b.check("SELECT name FROM person ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY", "Bob\ncid");
    b.check("SELECT id AS x, -id AS y FROM person ORDER BY y", "5|-5\n4|-4\n3|-3\n2|-2\n1|-1");
    // A column may be named with its table as the first list has it, and only so.
    b.check(
        "SELECT p.id FROM person p WHERE p.id < 3 UNION SELECT d.id FROM dept d WHERE d.id < 2 ORDER BY p.id DESC",
        "2\n1",
    );
    b.check(
        "SELECT p.id FROM person p UNION SELECT d.id FROM dept d ORDER BY d.id",
        "Msg 104: ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or \
         EXCEPT operator.",
    );
    b.check(
        "SELECT id FROM person WHERE id < 3 UNION ALL SELECT id FROM dept ORDER BY id DESC",
        "3\n2\n2\n1\n1",
    );
    b.check("SELECT dept FROM person INTERSECT SELECT id FROM dept", "1\n2\n3");
    b.check("SELECT id FROM person EXCEPT SELECT id FROM dept", "4\n5");
    b.check(
        "SELECT name FROM person ORDER BY 3",
        "Msg 108: The ORDER BY position number 3 is out of range of the number of items in the select list.",
    );
}

#[test]
fn a_with_inside_of_a_query_is_three_errors() {
    let mut b = people();
    let said = "Msg 156: Incorrect syntax near the keyword 'WITH'.
        Msg 319: Incorrect syntax near the keyword 'with'. If this statement is a common table expression, an xmlnamespaces clause or a \
                change tracking context clause, the previous statement must be terminated with a semicolon.
        Msg 102: Incorrect syntax near ')'.";
    b.check("SELECT * FROM (WITH p AS (SELECT id FROM person) SELECT id FROM p) q", said);
    b.check("EXEC ('SELECT * FROM (WITH p AS (SELECT id FROM person) SELECT id FROM p) q')", said);
}

#[test]
fn assignments_and_variables() {
    let mut b = people();
    b.check(
        "DECLARE @s varchar(100) = ''; SELECT @s = @s + name + ';' FROM person ORDER BY id; SELECT @s",
        "Ann;Bob;cid;Dee;Eve;",
    );
    b.check(
        "DECLARE @n int = 3, @v varchar(3); SELECT @v = name FROM person WHERE id = @n; PRINT @v",
        "cid",
    );
    b.check("DECLARE @x int; SELECT @x = id, 5 FROM person",
        "Msg 141: A SELECT statement that assigns a value to a variable must not be combined with data-retrieval operations.");
}

#[test]
fn functions() {
    let mut b = Bench::new();
    b.check("SELECT LEN('ab  '), DATALENGTH('ab  '), UPPER('aé'), LTRIM('  x '), RIGHT('hello', 2), SUBSTRING('hello', 2, 3)", "2|4|AÉ|x |lo|ell");
    b.check("SELECT CHARINDEX('L', 'hello'), PATINDEX('%l_o%', 'hello'), REPLACE('a-b-c', '-', '+'), REPLICATE('ab', 3), STUFF('abcdef', 2, 3, 'X')", "3|3|a+b+c|ababab|aXef");
    b.check("SELECT CONCAT('a', NULL, 1), CONCAT_WS('-', 'a', NULL, 'b'), ASCII('A'), CHAR(66), STR(3.14159, 6, 2), QUOTENAME('a]b')", "a1|a-b|65|B|  3.14|[a]]b]");
    b.check("SELECT DATEADD(month, 1, '2020-01-31'), DATEDIFF(day, '2020-01-01', '2020-03-01'), DATENAME(month, '2020-05-06'), EOMONTH('2020-02-10')",
        "2020-02-29 00:00:00.000|60|May|2020-02-29");
    b.check(
        "SELECT ABS(-5), CEILING(1.2), FLOOR(-1.2), ROUND(2.567, 2), POWER(2, 10), SIGN(-3.5), SQRT(16)",
        "5|2|-2|2.570|1024|-1.0|4.0",
    );
    b.check("SELECT CAST('12' AS int) + 1, CONVERT(varchar(10), 3.5), ISNULL(NULL, 'x'), COALESCE(NULL, 2, 3), NULLIF(1, 1), IIF(1 = 1, 'y', 'n'), CHOOSE(2, 'a', 'b')",
        "13|3.5|x|2|NULL|y|b");
    b.check(
        "SELECT TRY_CAST('x' AS int), ISNUMERIC('1e3'), DB_NAME(), SCHEMA_NAME(), TYPE_NAME(56)",
        "NULL|1|t|dbo|int",
    );
    b.check(
        "SELECT CAST('x' AS int)",
        "Msg 245: Conversion failed when converting the varchar value 'x' to data type int.",
    );
    b.check("SELECT 1 / 0", "Msg 8134: Divide by zero error encountered.");
    b.check(
        "SELECT 2147483647 + 1",
        "Msg 8115: Arithmetic overflow error converting expression to data type int.",
    );
}

#[test]
fn indexes_give_what_scans_give() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE plain (a int, b varchar(10), c decimal(8,2), d datetime);
         CREATE TABLE keyed (a int, b varchar(10), c decimal(8,2), d datetime);
         CREATE CLUSTERED INDEX ca ON keyed (a, b DESC);
         CREATE INDEX ib ON keyed (b, c) INCLUDE (a);
         CREATE INDEX ic ON keyed (c DESC)",
        "",
    );
    b.run(
        "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 500 BEGIN
           INSERT plain VALUES (NULLIF(@i % 23, 7), CHAR(97 + @i % 11) + CHAR(97 + @i % 3), (@i % 37) * 1.25, DATEADD(day, @i, '2020-01-01'));
           SET @i = @i + 1 END;
         INSERT keyed SELECT * FROM plain",
    );
    let conditions = [
        "a = 5",
        "a = 5 AND b = 'BA'",
        "a > 20",
        "a >= 20 AND a < 22",
        "a IS NULL",
        "b = 'aa' AND c > 10",
        "b = 'aa' AND c BETWEEN 10 AND 20.5",
        "c = 12.5",
        "c < 2",
        "c > 44 AND b > 'd'",
        "a = 5.0",
        "a > 5.5 AND a <= 7.5",
        "a = '11'",
        "b LIKE 'c%'",
        "c = 1.255",
        "a IN (1, 2)",
        "a = 5 AND b >= 'c'",
        "a = 5 OR a = 6",
        "b = N'ba'",
        "c > 46.25",
    ];
    for condition in conditions {
        for order in ["a, b, c, d", "a DESC, b, c, d", "c DESC, a, b, d", "b, c, a, d"] {
            let query = |table| {
                format!("SELECT a, b, c, d FROM {table} WHERE {condition} ORDER BY {order}")
            };
            let (plain, keyed) = (b.run(&query("plain")), b.run(&query("keyed")));
            assert_eq!(plain, keyed, "{condition} ORDER BY {order}");
        }
        let query = |table| {
            format!(
                "SELECT TOP 3 c, b FROM {table} WHERE {condition} GROUP BY c, b ORDER BY c DESC, b"
            )
        };
        assert_eq!(b.run(&query("plain")), b.run(&query("keyed")), "{condition}");
    }
    b.check(
        "SELECT COUNT(*) FROM plain p JOIN keyed k ON k.a = p.a AND k.b = p.b AND k.c = p.c AND k.d = p.d",
        "478",
    );
    b.check("SELECT MAX(a), MIN(a), COUNT(*) FROM keyed", "22|0|500");
    b.check("SELECT TOP 1 d FROM keyed WITH (INDEX(ic)) ORDER BY c, d", "2020-01-01 00:00:00.000");
}

/// Forms that the planner treats in a way of its own: what they give must not depend on it.
#[test]
fn plans_do_not_change_results() {
    let mut b = people();
    b.check(
        "SELECT x.n FROM (SELECT TOP 2 name AS n, id FROM person ORDER BY id) x ORDER BY x.n DESC",
        "Bob\nAnn",
    );
    b.check("SELECT DISTINCT d.name FROM dept d JOIN person p ON p.dept = d.id WHERE p.pay > 1 ORDER BY d.name DESC", "Sales\nBoard");
    b.check(
        "SELECT COUNT(*) FROM person p LEFT JOIN dept d ON d.id = p.dept WHERE d.id IS NULL",
        "1",
    );
    b.check(
        "SELECT COUNT(*) FROM person p LEFT LOOP JOIN dept d ON d.id = p.dept WHERE d.name = 'Sales'",
        "2",
    );
    b.check("SELECT COUNT(*) FROM dept d INNER LOOP JOIN person p ON d.id = p.dept INNER HASH JOIN person q ON q.boss = p.id", "4");
    b.check("SELECT s.n, COUNT(*) FROM (SELECT id AS n FROM dept UNION ALL SELECT dept FROM person) s WHERE s.n > 1 GROUP BY s.n ORDER BY 1", "2|2\n3|2");
    b.check("SELECT g.dept, g.c FROM (SELECT dept, COUNT(*) c FROM person GROUP BY dept) g WHERE g.dept = 1 AND g.c = 2", "1|2");
    b.check("DECLARE @d int; SELECT COUNT(*) FROM person WHERE dept = @d; SET @d = 2; SELECT COUNT(*) FROM person WHERE dept = @d", "0\n1");
    b.check("SELECT id FROM person WHERE id = 2.0 OR id = '3' ORDER BY id", "2\n3");
    b.check("SELECT id FROM person WHERE id = 2.5", "");
    b.check("SELECT id FROM person WHERE id > 3.5 AND id <= 99999999999", "4\n5");
    b.check("SELECT MAX(id) FROM person WHERE EXISTS (SELECT 1 FROM dept WHERE 1 = 0)", "NULL");
    b.check("SELECT (SELECT TOP 1 name FROM person p WHERE p.dept = d.id ORDER BY pay DESC) FROM dept d ORDER BY d.id", "Bob\nDee\nAnn");
    b.check(
        "WITH t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT * FROM t",
        "1\n2\n3",
    );
}

/// Inputs of UNION ALL that come in the wanted order are merged; the rows are those of a sort,
/// whatever the inputs are like.
#[test]
fn inputs_in_order_are_merged() {
    let mut b = Bench::new();
    b.run(
        "CREATE TABLE one (id int PRIMARY KEY, a int, s varchar(5)); CREATE INDEX by_a ON one (a, id);
         CREATE TABLE two (id int PRIMARY KEY, a int, s varchar(5)); CREATE INDEX by_a ON two (a, id);
         CREATE TABLE three (id int PRIMARY KEY, a int, s varchar(5)); CREATE INDEX by_a ON three (a, id);
         INSERT one SELECT value, NULLIF(value % 40, 7), 'o' FROM GENERATE_SERIES(1, 700);
         INSERT two SELECT value * 3, value % 9, 't' FROM GENERATE_SERIES(1, 300)",
    );
    let from = |condition: &str| {
        let part = |table: &str| format!("SELECT a, id, s FROM {table} WHERE {condition}");
        format!("({} UNION ALL {} UNION ALL {}) AS u", part("one"), part("two"), part("three"))
    };
    let orders = ["a, id", "a DESC, id DESC", "id", "id DESC"];
    let conditions =
        ["1 = 1", "a > 5", "id BETWEEN 100 AND 130", "a = 3 OR id < 20", "a IS NULL", "id < 0"];
    for (order, condition) in orders.iter().flat_map(|o| conditions.iter().map(move |c| (o, c))) {
        for top in ["", "TOP (7)", "TOP (200)"] {
            let query = format!("SELECT {top} a, id FROM {} ORDER BY {order}", from(condition));
            // A key that is computed is never the order of an index.
            let sorted: Vec<String> = order
                .split(", ")
                .map(|key| match key.strip_suffix(" DESC") {
                    Some(key) => format!("{key} + 0 DESC"),
                    None => format!("{key} + 0"),
                })
                .collect();
            let sorted = format!(
                "SELECT {top} a, id FROM {} ORDER BY {}",
                from(condition),
                sorted.join(", ")
            );
            assert_eq!(b.run(&query), b.run(&sorted), "{query}");
        }
    }
    b.run("SET SHOWPLAN_TEXT ON");
    let plan = b.run(&format!("SELECT TOP (7) a, id FROM {} ORDER BY a, id", from("id > 3")));
    b.run("SET SHOWPLAN_TEXT OFF");
    assert!(plan.contains("Merge Join(Concatenation") && !plan.contains("Sort"), "{plan}");
    // Rows that are equal in the order come in the order of the inputs.
    b.check(
        "SELECT TOP (3) s FROM (SELECT id, s FROM two UNION ALL SELECT id, s FROM one) AS u WHERE id = 3 ORDER BY id",
        "t\no",
    );
}

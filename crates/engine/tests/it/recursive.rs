//! Recursive common table expressions.

use crate::support::text::Bench;

#[test]
fn numbers_and_trees() {
    let mut b = Bench::new();
    b.check(
        "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
        "1\n2\n3\n4\n5",
    );
    b.check("CREATE TABLE e (id int PRIMARY KEY, boss int NULL, name varchar(10))", "");
    b.check(
        "INSERT e VALUES (1, NULL, 'a'), (2, 1, 'b'), (3, 1, 'c'), (4, 2, 'd'), (5, 4, 'e')",
        "(5)",
    );
    b.check(
        "WITH t (id, name, depth) AS (
             SELECT id, name, 0 FROM e WHERE boss IS NULL
             UNION ALL
             SELECT e.id, e.name, t.depth + 1 FROM e JOIN t ON e.boss = t.id)
         SELECT name, depth FROM t ORDER BY depth, name",
        "a|0\nb|1\nc|1\nd|2\ne|3",
    );
    // Two anchors, two steps, and a mention beside another.
    b.check(
        "WITH t AS (
             SELECT 1 AS i, 'a' AS k UNION ALL SELECT 10, 'b'
             UNION ALL SELECT i + 1, k FROM t WHERE i < 3
             UNION ALL SELECT i + 10, k FROM t WHERE i BETWEEN 10 AND 20)
         SELECT x.k, COUNT(*), SUM(x.i) FROM t AS x GROUP BY x.k ORDER BY 1",
        "a|3|6\nb|3|60",
    );
    b.check(
        "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3)
         SELECT a.i, b.i FROM n AS a JOIN n AS b ON b.i = a.i + 1",
        "1|2\n2|3",
    );
}

#[test]
fn how_far_it_goes() {
    let mut b = Bench::new();
    let count = "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT COUNT(*) FROM n";
    b.check(&count.replace("{}", "101"), "101");
    let said = b.run(&count.replace("{}", "102"));
    assert!(
        said.starts_with("Msg 530: The statement terminated. The maximum recursion 100 has been"),
        "{said}"
    );
    b.check(&(count.replace("{}", "6") + " OPTION (MAXRECURSION 5)"), "6");
    assert!(
        b.run(&(count.replace("{}", "7") + " OPTION (MAXRECURSION 5)")).starts_with("Msg 530: ")
    );
    b.check(&(count.replace("{}", "100000") + " OPTION (MAXRECURSION 0)"), "100000");
}

#[test]
fn what_it_may_not_be() {
    let mut b = Bench::new();
    let wrong = [
        ("SELECT i FROM n", 252),
        ("SELECT i FROM n UNION ALL SELECT 1", 246),
        ("SELECT 1 AS i UNION ALL SELECT i + 1.5 FROM n", 240),
        ("SELECT 1 AS i UNION ALL SELECT DISTINCT i + 1 FROM n", 460),
        ("SELECT 1 AS i UNION ALL SELECT TOP (1) i + 1 FROM n", 461),
        ("SELECT 1 AS i UNION ALL SELECT i FROM n GROUP BY i", 467),
        ("SELECT 1 AS i UNION SELECT i + 1 FROM n", 252),
    ];
    for (query, number) in wrong {
        let said = b.run(&format!("WITH n AS ({query}) SELECT * FROM n"));
        assert!(said.starts_with(&format!("Msg {number}: ")), "{query}: {said}");
    }
}

#[test]
fn in_views_and_changes() {
    let mut b = Bench::new();
    b.check("CREATE VIEW n AS WITH r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 4) SELECT i FROM r", "");
    b.check("SELECT SUM(i) FROM n", "10");
    b.check("CREATE TABLE a (i int)", "");
    b.check(
        "WITH r AS (SELECT 1 AS i UNION ALL SELECT i * 2 FROM r WHERE i < 50) INSERT a SELECT i FROM r",
        "(7)",
    );
    b.check(
        "SELECT (SELECT COUNT(*) FROM n WHERE n.i < a.i) FROM a WHERE i IN (1, 4) ORDER BY i",
        "0\n3",
    );
}

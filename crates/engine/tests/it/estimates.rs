//! The rows that the planner expects of queries, as plans show them.

use crate::support::text::Bench;

/// The rows that the planner expects of a query.
fn expected(b: &mut Bench, sql: &str) -> f64 {
    b.run("SET SHOWPLAN_XML ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_XML OFF");
    let number = shown.split("EstimateRows=\"").nth(1).and_then(|rest| rest.split('"').next());
    number.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no estimate: {shown}"))
}

/// 10,000 rows with 2,000 values of `a`, and 3,000 rows with 50 values of `x`.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE t (id int PRIMARY KEY, a int, v int)
         CREATE TABLE u (id int PRIMARY KEY, x int)
         INSERT t SELECT value, value % 2000, value FROM GENERATE_SERIES(1, 10000)
         INSERT u SELECT value, value % 50 FROM GENERATE_SERIES(1, 3000)
         CREATE STATISTICS of_a ON t (a) WITH FULLSCAN
         CREATE STATISTICS of_x ON u (x) WITH FULLSCAN",
    );
    b
}

#[test]
fn a_column_that_a_grouping_has_renamed_keeps_its_values() {
    let mut b = bench();
    for query in [
        "SELECT b FROM (SELECT a AS b, SUM(v) AS v FROM t GROUP BY a) d GROUP BY b",
        "SELECT DISTINCT c FROM (SELECT b AS c FROM (SELECT a AS b, v % 2 AS w FROM t GROUP BY a, v % 2) d) e",
        "SELECT b FROM (SELECT a AS b FROM t GROUP BY a) d GROUP BY b OPTION (FORCE ORDER)",
    ] {
        let rows = expected(&mut b, query);
        assert!((1_000.0..2_100.0).contains(&rows), "{rows}: {query}");
    }
    // Each row of `u` meets one group.
    for query in [
        "SELECT d.v FROM (SELECT a AS b, SUM(v) AS v FROM t GROUP BY a) d JOIN u ON u.x = d.b",
        "SELECT d.v FROM u JOIN (SELECT TOP (5000) a AS b, SUM(v) AS v FROM t GROUP BY a) d ON u.x = d.b",
    ] {
        let rows = expected(&mut b, query);
        assert!((2_500.0..3_500.0).contains(&rows), "{rows}: {query}");
    }
    // Of few groups there are few values, however many the table has.
    let few = "SELECT b FROM (SELECT TOP (10) a AS b FROM t GROUP BY a) d GROUP BY b";
    assert!(expected(&mut b, few) <= 10.0);
}

/// 2,000 groups of five rows each; the sums of `v` lie around 25,000, by some 13,000.
#[test]
fn few_groups_are_expected_far_from_the_mean() {
    let mut b = bench();
    let of = |having: &str| format!("SELECT a FROM t GROUP BY a HAVING {having}");
    for (having, low, high) in [
        ("SUM(v) > 25000", 900.0, 1_100.0),
        ("SUM(v) > 90000", 1.0, 60.0),
        ("SUM(v) < 90000", 1_900.0, 2_000.0),
        ("90000 < SUM(v)", 1.0, 60.0),
        ("SUM(v) > 1000", 1_800.0, 2_000.0),
        ("AVG(v) > 5000", 900.0, 1_100.0),
        ("AVG(v) >= 9900", 1.0, 70.0),
        ("COUNT(*) > 5", 800.0, 1_100.0),
        ("COUNT(*) > 40", 1.0, 40.0),
        // Of these nothing is known.
        ("MAX(v) > 90000", 500.0, 700.0),
        ("SUM(v * 2) > 90000", 500.0, 700.0),
    ] {
        let rows = expected(&mut b, &of(having));
        assert!((low..=high).contains(&rows), "{rows}: {having}");
    }
}

/// A range that both sides of an equality have takes rows from one of them alone, whoever has
/// written it on the other side.
#[test]
fn a_range_on_both_sides_of_a_join_counts_once() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE p (id int PRIMARY KEY, x int)
         CREATE TABLE f (id int PRIMARY KEY, p int, x int)
         INSERT p SELECT value, value % 200 FROM GENERATE_SERIES(1, 1000)
         INSERT f SELECT value, value % 1000 + 1, value % 200 FROM GENERATE_SERIES(1, 10000)
         CREATE STATISTICS of_id ON p (id) WITH FULLSCAN
         CREATE STATISTICS of_x ON p (x) WITH FULLSCAN
         CREATE STATISTICS of_p ON f (p) WITH FULLSCAN
         CREATE STATISTICS of_x ON f (x) WITH FULLSCAN",
    );
    for (query, low, high) in [
        ("SELECT f.id FROM p JOIN f ON f.p = p.id WHERE p.id <= 100", 700.0, 1_400.0),
        ("SELECT f.id FROM p JOIN f ON f.p = p.id WHERE f.p <= 100", 700.0, 1_400.0),
        (
            "SELECT f.id FROM p JOIN f ON f.p = p.id WHERE p.id <= 100 AND f.p <= 100",
            700.0,
            1_400.0,
        ),
        ("SELECT f.id FROM p LEFT JOIN f ON f.p = p.id WHERE p.id <= 100", 700.0, 1_400.0),
        (
            "SELECT id FROM p WHERE EXISTS (SELECT * FROM f WHERE f.p = p.id) AND p.id <= 100",
            70.0,
            101.0,
        ),
        // A tenth of 50,000 pairs.
        ("SELECT f.id FROM p JOIN f ON f.x = p.x WHERE p.x < 20", 3_500.0, 7_000.0),
        ("SELECT f.id FROM p JOIN f ON f.x = p.x WHERE p.x < 20 AND f.x < 20", 3_500.0, 7_000.0),
    ] {
        let rows = expected(&mut b, query);
        assert!((low..=high).contains(&rows), "{rows}: {query}");
    }
}

//! The rows that the planner expects of queries, as plans show them.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use text::Bench;

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

//! Queries in the form in which people write them, each beside its twin that does by hand what the
//! planner is to do: they give the same rows, and the first does not work more than a few times as
//! much as the second. Work is counted, not timed: rows and starts of operators, and pages. The
//! values in them are drawn.
//!
//! `RINGWOOD_QUERIES` says how many of each shape (12 without it), `RINGWOOD_SEED` where to begin.

use crate::support::text::Bench;
use crate::support::work::work;
use fastrand::Rng;

/// The work of a query may be so many times that of its twin, and so much more: what a few rows
/// cost more or less.
const TIMES: u64 = 3;
const MORE: u64 = 60;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// 200 small rows and 6,000 large ones, with NULLs, duplicates and values without a partner; `k`
/// has no index.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE n (n int PRIMARY KEY)
         INSERT n SELECT TOP (6000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL))
         FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c
         CREATE TABLE small (id int PRIMARY KEY, k int, x int, s varchar(10))
         CREATE TABLE large (id int PRIMARY KEY, k int, x int, v int, s varchar(10))
         CREATE TABLE wanted (n int)
         INSERT small SELECT n, NULLIF(n % 50, 7), n * 31 % 900, CONCAT('s', n % 20) FROM n WHERE n <= 200
         INSERT large SELECT n, NULLIF(n % 80, 3), NULLIF(n * 7 % 1000, 5), n * 13 % 500, CONCAT('S', n % 30) FROM n
         CREATE INDEX large_x ON large (x) INCLUDE (v)",
    );
    b
}

/// A list of so many numbers below a bound, some of them twice, and as rows of the table `wanted`.
fn list(b: &mut Bench, rng: &mut Rng, count: usize, below: i32) -> Vec<i32> {
    let list: Vec<i32> = (0..count).map(|_| rng.i32(-5..below)).collect();
    b.run("SET NOCOUNT ON DELETE wanted");
    for part in list.chunks(500) {
        let rows: Vec<String> = part.iter().map(|n| format!("({n})")).collect();
        b.run(&format!("SET NOCOUNT ON INSERT wanted VALUES {}", rows.join(", ")));
    }
    list
}

fn joined(list: &[i32], before: &str, word: &str) -> String {
    list.iter().map(|n| format!("{before}{n}")).collect::<Vec<_>>().join(word)
}

/// A query and its twin.
type Twins = (String, String);

/// Lists, written as such, term by term, and as a subquery.
fn lists(b: &mut Bench, rng: &mut Rng) -> Vec<Twins> {
    let count = [5, 30, 40, 150, 400][rng.usize(..5)];
    let (column, below) = [("x", 1_000), ("id", 6_000)][rng.usize(..2)];
    let list = list(b, rng, count, below);
    let select = format!("SELECT COUNT(*), SUM(v), MAX({column}) FROM large");
    let twin = format!("{select} JOIN (SELECT DISTINCT n FROM wanted) w ON w.n = large.{column}");
    let values = joined(&list, "", ", ");
    let others = format!(
        "SELECT COUNT(*) FROM large LEFT JOIN (SELECT DISTINCT n FROM wanted) w ON w.n = large.{column} \
                          WHERE w.n IS NULL AND large.{column} IS NOT NULL"
    );
    vec![
        (format!("{select} WHERE {column} IN ({values})"), twin.clone()),
        (
            format!("{select} WHERE {}", joined(&list, &format!("{column} = "), " OR ")),
            twin.clone(),
        ),
        (format!("{select} WHERE {column} IN (SELECT n FROM wanted)"), twin),
        (format!("SELECT COUNT(*) FROM large WHERE {column} NOT IN ({values})"), others.clone()),
        (
            format!(
                "SELECT COUNT(*) FROM large WHERE {}",
                joined(&list, &format!("{column} <> "), " AND ")
            ),
            others,
        ),
    ]
}

/// Outer joins of which NULL is rejected.
fn outer_joins(rng: &mut Rng) -> Vec<Twins> {
    let (one, most) = (rng.i32(1..6_000), rng.i32(1..200));
    let condition = [
        format!("l.id = {one}"),
        format!("l.id BETWEEN {one} AND {one} + 9"),
        format!("l.id IN ({one}, {one} + 1, NULL)"),
        format!("(l.id = {one} OR l.x = {most})"),
        format!("NOT (l.id < {one} OR l.id > {one} + 3)"),
    ];
    let condition = &condition[rng.usize(..condition.len())];
    let select = "SELECT COUNT(*), SUM(l.v), MAX(s.id) FROM";
    let twin =
        format!("{select} small s JOIN large l ON l.k = s.k WHERE {condition} AND s.id <= {most}");
    let forms = [
        format!(
            "{select} small s LEFT JOIN large l ON l.k = s.k WHERE {condition} AND s.id <= {most}"
        ),
        format!(
            "{select} large l RIGHT JOIN small s ON l.k = s.k WHERE {condition} AND s.id <= {most}"
        ),
        format!(
            "{select} small s FULL JOIN large l ON l.k = s.k WHERE {condition} AND s.id <= {most}"
        ),
    ];
    forms.into_iter().map(|query| (query, twin.clone())).collect()
}

/// Conditions on what a window parts the rows by, outside of it.
fn windows(rng: &mut Rng) -> Vec<Twins> {
    let value = rng.i32(0..1_000);
    let condition = [
        format!("x = {value}"),
        format!("x IN ({value}, 17)"),
        format!("x BETWEEN {value} AND {value} + 2"),
    ];
    let condition = &condition[rng.usize(..condition.len())];
    let of = |inside: &str, outside: &str| {
        format!(
            "SELECT COUNT(*), SUM(n), SUM(total) FROM (SELECT id, x, ROW_NUMBER() OVER (PARTITION BY x ORDER BY id) AS n, \
             SUM(v) OVER (PARTITION BY x) AS total FROM large {inside}) d WHERE n < 9 {outside}"
        )
    };
    vec![(of("", &format!("AND {condition}")), of(&format!("WHERE {condition}"), ""))]
}

/// APPLY that needs nothing of its left side.
fn applies(rng: &mut Rng) -> Vec<Twins> {
    let (least, most) = (rng.i32(0..80), rng.i32(2..200));
    let inner = format!("(SELECT MAX(v) AS m, COUNT(*) AS n FROM large WHERE k >= {least})");
    let tail = format!("WHERE s.id <= {most}");
    let select = "SELECT COUNT(*), SUM(a.m), SUM(a.n) FROM small s";
    let twin = format!("{select} CROSS JOIN {inner} a {tail}");
    vec![
        (format!("{select} OUTER APPLY {inner} a {tail}"), twin.clone()),
        (format!("{select} CROSS APPLY {inner} a {tail}"), twin),
    ]
}

/// Subqueries with aggregates that belong to a row.
fn values(rng: &mut Rng) -> Vec<Twins> {
    let (least, count, most) = (rng.i32(0..500), rng.i32(0..80), rng.i32(20..200));
    let of_row = format!("FROM large l WHERE l.k = s.k AND l.v >= {least}");
    let groups = format!(
        "(SELECT k, COUNT(*) AS n, MAX(v) AS m, SUM(v) AS t FROM large WHERE v >= {least} GROUP BY k)"
    );
    let with_groups =
        format!("FROM small s LEFT JOIN {groups} g ON g.k = s.k WHERE s.id <= {most}");
    vec![
        (
            format!(
                "SELECT COUNT(*), SUM(s.id) FROM small s WHERE s.id <= {most} AND (SELECT COUNT(*) {of_row}) <= {count}"
            ),
            format!("SELECT COUNT(*), SUM(s.id) {with_groups} AND ISNULL(g.n, 0) <= {count}"),
        ),
        (
            format!(
                "SELECT COUNT(*), SUM(s.id) FROM small s WHERE s.id <= {most} AND (SELECT MAX(v) {of_row}) > s.id"
            ),
            format!("SELECT COUNT(*), SUM(s.id) {with_groups} AND g.m > s.id"),
        ),
        (
            format!(
                "SELECT COUNT(*), SUM(c), SUM(m), MAX(t) FROM (SELECT (SELECT COUNT(*) {of_row}) AS c, (SELECT MAX(v) {of_row}) AS m, \
                 ISNULL((SELECT SUM(v) {of_row}), -1) AS t FROM small s WHERE s.id <= {most}) d"
            ),
            format!(
                "SELECT COUNT(*), SUM(ISNULL(g.n, 0)), SUM(g.m), MAX(ISNULL(g.t, -1)) {with_groups}"
            ),
        ),
        (
            format!(
                "DECLARE @n int = 0 SELECT @n = @n + (SELECT COUNT(*) {of_row}) FROM small s WHERE s.id <= {most} SELECT @n"
            ),
            format!("DECLARE @n int SELECT @n = SUM(ISNULL(g.n, 0)) {with_groups} SELECT @n"),
        ),
        (
            format!(
                "SELECT COUNT(*), SUM(a.n), SUM(a.m) FROM small s OUTER APPLY (SELECT COUNT(*) AS n, MAX(v) + s.id AS m {of_row}) a \
                 WHERE s.id <= {most}"
            ),
            format!("SELECT COUNT(*), SUM(ISNULL(g.n, 0)), SUM(g.m + s.id) {with_groups}"),
        ),
    ]
}

/// EXISTS and IN that belong to a row.
fn memberships(rng: &mut Rng) -> Vec<Twins> {
    let (least, most) = (rng.i32(0..500), rng.i32(20..200));
    let select = "SELECT COUNT(*), SUM(s.id) FROM small s";
    let few = format!("s.id <= {most}");
    let totals = "(SELECT k, SUM(v) AS t FROM large GROUP BY k)";
    let total = least * 40;
    vec![
        (
            format!("{select} WHERE {few} AND s.x IN (SELECT l.v FROM large l WHERE l.k = s.k)"),
            format!(
                "{select} JOIN (SELECT DISTINCT k, v FROM large) l ON l.k = s.k AND l.v = s.x WHERE {few}"
            ),
        ),
        (
            format!(
                "{select} WHERE {few} AND EXISTS (SELECT 1 FROM {totals} d WHERE d.k = s.k AND d.t > {total})"
            ),
            format!("{select} JOIN {totals} d ON d.k = s.k AND d.t > {total} WHERE {few}"),
        ),
        (
            format!(
                "{select} WHERE {few} AND NOT EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v < {least})"
            ),
            format!(
                "{select} LEFT JOIN (SELECT DISTINCT k FROM large WHERE v < {least}) l ON l.k = s.k WHERE {few} AND l.k IS NULL"
            ),
        ),
    ]
}

#[test]
fn no_query_works_much_more_than_its_twin() {
    let mut b = bench();
    let (count, first) = (number("RINGWOOD_QUERIES", 12), number("RINGWOOD_SEED", 1));
    let mut failed = Vec::new();
    for seed in first..first + count {
        let rng = &mut Rng::with_seed(seed);
        let mut all = lists(&mut b, rng);
        all.extend(outer_joins(rng).into_iter().chain(windows(rng)).chain(applies(rng)));
        all.extend(values(rng).into_iter().chain(memberships(rng)));
        for (query, twin) in all {
            let (rows, done) = work(&mut b, &query);
            let (wanted, by_hand) = work(&mut b, &twin);
            assert_eq!(rows, wanted, "seed {seed}: {query}\n{twin}");
            if done > TIMES * by_hand + MORE {
                failed.push(format!("seed {seed}: {done} against {by_hand}:\n{query}\n{twin}"));
            }
        }
    }
    assert!(failed.is_empty(), "{} do too much:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn work_tells_such_forms_apart() {
    let mut b = bench();
    let applied =
        "SELECT COUNT(*), SUM(a.m) FROM small s OUTER APPLY (SELECT MAX(v) AS m FROM large) a";
    let (rows, once) = work(&mut b, applied);
    let (again, each) = work(&mut b, &format!("{applied} OPTION (QUERYRULEOFF FreeApply)"));
    assert_eq!(rows, again);
    assert!(each > TIMES * once + MORE, "{each} against {once}");
    let outer =
        "SELECT COUNT(*), SUM(l.v) FROM small s LEFT JOIN large l ON l.k = s.k WHERE l.id = 77";
    let (rows, inner) = work(&mut b, outer);
    let (again, left) = work(&mut b, &format!("{outer} OPTION (QUERYRULEOFF OuterJoin)"));
    assert_eq!(rows, again);
    assert!(left > TIMES * inner + MORE, "{left} against {inner}");
}

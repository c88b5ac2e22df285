//! Statements that nest deeply, or name one thing again and again: each runs or is refused with an
//! error, on the stack of a small thread, and stops soon when it is told to. The example `depth`
//! runs the same ones in larger sizes.

use crate::support::nested_sql::{self, Rule, SCHEMA, batches};
use crate::support::text::{Bench, Text};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a statement runs before it is told to stop.
const LIMIT: Duration = Duration::from_millis(200);
/// How long it may go on then. The machine may have other things to do.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs on a thread with a stack of so many bytes.
fn on_stack<T: Send>(bytes: usize, f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(bytes).spawn_scoped(scope, f);
        thread.expect("a thread").join().expect("the thread ends by itself")
    })
}

/// What a batch says; it is told to stop after the limit.
fn timed(bench: &mut Bench, name: &str, batch: &str) -> String {
    let (cancel, (ended, over)) = (bench.session.cancel_handle(), mpsc::channel::<()>());
    let watch = std::thread::spawn(move || {
        while over.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            cancel.cancel();
        }
    });
    let (began, mut out) = (Instant::now(), Text::default());
    bench.session.execute(batch, &mut out);
    let took = began.elapsed();
    drop(ended);
    watch.join().expect("the watch ends");
    assert!(took < LIMIT + PATIENCE, "{name}: {took:?}");
    out.out
}

/// Runs rules in two sizes: one that a plan can have, one that most of them cannot.
fn run_all(rules: &'static [Rule]) {
    on_stack(1 << 20, || {
        let mut bench = Bench::new();
        batches(SCHEMA).for_each(|batch| drop(bench.run(batch)));
        for rule in rules {
            for n in [600, 5_000] {
                let text = (rule.text)(n);
                batches(&text).for_each(|batch| drop(timed(&mut bench, rule.name, batch)));
                bench.run(&format!("IF @@TRANCOUNT > 0 ROLLBACK {}", rule.undo));
            }
            let text = (rule.text)(600);
            if rule.undo.is_empty() && !text.contains("\nGO\n") {
                for option in ["SHOWPLAN_XML", "STATISTICS PROFILE"] {
                    bench.run(&format!("SET {option} ON"));
                    timed(&mut bench, rule.name, &text);
                    bench.run(&format!("SET {option} OFF"));
                }
                bench.run("IF @@TRANCOUNT > 0 ROLLBACK");
            }
            assert_eq!(bench.run("SELECT 1"), "1\n", "after {}", rule.name);
        }
    });
}

#[test]
fn expressions_of_any_depth_end() {
    run_all(nested_sql::EXPRESSIONS);
}

#[test]
fn queries_of_any_depth_end() {
    run_all(nested_sql::QUERIES);
}

#[test]
fn documents_of_any_depth_end() {
    run_all(nested_sql::DOCUMENTS);
}

#[test]
fn statements_of_any_depth_end() {
    run_all(nested_sql::STATEMENTS);
}

#[test]
fn definitions_of_any_depth_end() {
    run_all(nested_sql::DEFINITIONS);
}

fn chain(n: usize, next: impl Fn(usize) -> String) -> String {
    let ctes: Vec<String> = (1..=n).map(|i| format!("c{i} AS ({})", next(i - 1))).collect();
    format!("WITH c0 AS (SELECT 1 a), {} SELECT a FROM c{n}", ctes.join(", "))
}

#[test]
fn what_nests_deeply_gives_its_rows_on_a_small_stack() {
    on_stack(96 << 10, || {
        let mut bench = Bench::new();
        bench.run("CREATE TABLE s (a int PRIMARY KEY) INSERT s VALUES (1), (2)");
        bench.check(&chain(1_500, |i| format!("SELECT * FROM c{i}")), "1");
        bench.check(&chain(400, |i| format!("SELECT a + 1 a FROM c{i}")), "401");
        bench.check(&chain(300, |i| format!("SELECT DISTINCT a FROM c{i}")), "1");
        bench.check(&chain(300, |i| format!("SELECT (SELECT MAX(a) FROM c{i}) + 1 a")), "301");
        bench.check(
            &chain(200, |i| format!("SELECT p.a FROM c{i} p LEFT JOIN s ON s.a = p.a")),
            "1",
        );
        bench.check(&format!("SELECT SUM(a{}) FROM s", " + a".repeat(900)), "2703");
        bench.check(
            &format!("DECLARE @v int = 1 SET @v = @v{} SELECT @v", " + @v".repeat(900)),
            "901",
        );
        let derived: Vec<String> = (0..300).map(|i| format!("(SELECT 1 a) t{i}")).collect();
        bench.check(&format!("SELECT COUNT(*) FROM {}", derived.join(", ")), "1");
    });
}

#[test]
fn a_cursor_goes_through_a_deep_plan() {
    on_stack(96 << 10, || {
        let mut bench = Bench::new();
        let query = chain(300, |i| format!("SELECT DISTINCT a FROM c{i}"));
        bench.check(
            &format!(
                "DECLARE k CURSOR STATIC FOR {query} OPEN k FETCH k FETCH k CLOSE k DEALLOCATE k"
            ),
            "1",
        );
    });
}

#[test]
fn doubled_names_are_refused() {
    let mut bench = Bench::new();
    bench.fails(&chain(29, |i| format!("SELECT p.a FROM c{i} p, c{i} q")), 8623);
    bench.fails(&chain(29, |i| format!("SELECT a FROM c{i} UNION ALL SELECT a FROM c{i}")), 8623);
    bench.run("CREATE VIEW v0 AS SELECT 1 a");
    let view = |i: usize| format!("CREATE VIEW v{i} AS SELECT p.a FROM v{0} p, v{0} q", i - 1);
    let refused = (1..24).map(|i| bench.run(&view(i))).find(|said| !said.is_empty());
    assert!(refused.is_some_and(|said| said.contains("Msg 8623")));
    let nested = (0..40).fold("a".to_owned(), |inner, _| format!("NULLIF({inner}, 7)"));
    bench.fails(&format!("SELECT {nested} FROM (VALUES (1)) v (a)"), 8623);
    let cases = (0..40).fold("NEWID()".to_owned(), |inner, _| {
        format!("CASE {inner} WHEN NEWID() THEN NEWID() WHEN NEWID() THEN NEWID() END")
    });
    bench.fails(&format!("SELECT {cases}"), 8623);
    bench
        .check("SELECT NULLIF(NULLIF(NULLIF(a, 7), 8), 9) FROM (VALUES (1), (9)) v (a)", "1\nNULL");
}

#[test]
fn a_function_that_uses_its_argument_often_is_called() {
    let mut bench = Bench::new();
    bench.run("CREATE FUNCTION dbo.f0 (@a bigint) RETURNS bigint AS BEGIN RETURN @a END");
    for i in 1..30 {
        bench.run(&format!(
            "CREATE FUNCTION dbo.f{i} (@a bigint) RETURNS bigint AS BEGIN RETURN dbo.f{}(@a + @a - @a + 1) END",
            i - 1
        ));
    }
    bench.check("SELECT dbo.f29(a) FROM (VALUES (1), (2)) v (a)", "30\n31");
}

#[test]
fn what_is_too_wide_is_refused() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    let many = |n: usize| (0..n).map(|i| format!("a + {i}")).collect::<Vec<_>>().join(", ");
    bench.fails(&format!("SELECT {} FROM t", many(4_097)), 1056);
    assert!(!bench.run(&format!("SELECT {} FROM t", many(4_096))).contains("Msg"));
    let columns = |n: usize| (0..n).map(|i| format!("c{i} int")).collect::<Vec<_>>().join(", ");
    bench.fails(&format!("CREATE TABLE u ({})", columns(20_000)), 1702);
    let sources: Vec<String> = (0..17_000).map(|i| format!("t t{i}")).collect();
    bench.fails(&format!("SELECT 1 FROM {}", sources.join(", ")), 8623);
}

/// So many items with a comma between them.
fn listed(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(", ")
}

#[test]
fn lists_of_keys_and_sets_end() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int NOT NULL, b int)");
    let sums = |n| listed(n, |i| format!("a + {i}"));
    // Before one of the sets is made.
    for sets in ["ROLLUP", "CUBE"] {
        bench.fails(&format!("SELECT 1 FROM t GROUP BY {sets} ({})", sums(16_384)), 10_703);
    }
    let products = listed(64, |_| "ROLLUP (a, b)".into());
    bench.fails(&format!("SELECT 1 FROM t GROUP BY {products}"), 10_703);
    bench.fails(&format!("SELECT 1 FROM t GROUP BY {}", sums(8_061)), 8618);
    bench.fails(&format!("SELECT 1 FROM t ORDER BY {}", sums(8_061)), 8618);
    bench.fails(
        &format!("SELECT 1 UNION SELECT 2 ORDER BY {}", listed(8_061, |_| "1".into())),
        8618,
    );
    bench.check(&format!("SELECT COUNT(*) FROM t GROUP BY {}", sums(2_000)), "");
    bench.check(&format!("SELECT a + 7 FROM t GROUP BY {} ORDER BY a + 7", sums(2_000)), "");
    let values = |n| listed(n, |i| format!("[{i}]"));
    let pivot = |n| {
        format!("SELECT 1 FROM (SELECT a, b FROM t) q PIVOT (MAX(b) FOR a IN ({})) p", values(n))
    };
    bench.fails(&pivot(4_097), 1056);
    bench.check(&pivot(4_096), "1");
    bench.fails("SELECT 1 FROM (SELECT 1 a, 2 b) q UNPIVOT (v FOR k IN (a, a)) u", 277);
}

#[test]
fn a_subquery_is_shown_once_whatever_copies_of_it_there_are() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int NOT NULL)");
    // NULLIF has two copies of its first value: shown with each, the innermost would be there
    // 65,536 times.
    let nested =
        (0..16).fold("a".to_owned(), |value, _| format!("(SELECT NULLIF({value}, 5) FROM t)"));
    bench.run("SET SHOWPLAN_TEXT ON");
    let shown = bench.run(&format!("SELECT {nested}"));
    bench.run("SET SHOWPLAN_TEXT OFF");
    assert_eq!(shown.matches("Table Scan").count(), 16, "{shown}");
}

#[test]
fn names_are_found_among_many_sources() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE s (a int PRIMARY KEY, b int) INSERT s VALUES (1, 4)");
    let tables = listed(300, |i| format!("s t{i}"));
    bench.check(&format!("SELECT t7.b + t299.a FROM {tables} WHERE t0.a = t298.a"), "5");
    bench.fails(&format!("SELECT b FROM {tables}"), 209);
    bench.fails(&format!("SELECT t300.b FROM {tables}"), 4104);
    bench.fails(&format!("SELECT 1 FROM {tables}, s t150"), 1011);
    // The columns of the sides that a FULL JOIN adds may be NULL, and only what is wanted is
    // carried along.
    let joins: String =
        (1..200).map(|i| format!(" FULL JOIN s t{i} ON t{i}.a = t0.a + {i}")).collect();
    bench
        .check(&format!("SELECT COUNT(*), COUNT(t199.a), COUNT(t0.b) FROM s t0{joins}"), "200|1|1");
}

/// More tables than are searched for an order: each is joined under the conditions that it shares
/// with those before it.
#[test]
fn conditions_of_many_tables_are_tested_where_they_join() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE m (a INT, b INT)");
    bench.run("INSERT m VALUES (1, 1), (2, 2), (3, 3)");
    let (tables, keys) = (
        listed(300, |i| format!("m t{i}")),
        listed(300, |i| format!(" AND t0.a = t{i}.a")).replace(',', ""),
    );
    for option in ["", "OPTION (FORCE ORDER)"] {
        let query = format!("SELECT t0.a + t299.b FROM {tables} WHERE t150.b < 3{keys} {option}");
        bench.run("SET SHOWPLAN_TEXT ON");
        let shown = bench.run(&query);
        bench.run("SET SHOWPLAN_TEXT OFF");
        let joins = |name: &str| shown.matches(name).count();
        assert_eq!(
            (joins("Nested Loops(Inner Join"), joins("Hash Match(Inner Join")),
            (0, 299),
            "{option}"
        );
        let rows = bench.run(&query);
        assert!(rows.contains('2') && rows.contains('4') && !rows.contains('6'), "{rows}");
    }
}

/// A condition above a long chain of joins finds the rows that it finds when it cannot be moved.
#[test]
fn conditions_above_many_outer_joins_keep_their_meaning() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE m (a INT)");
    bench.run("INSERT m VALUES (1), (2), (3)");
    bench.run("CREATE TABLE o (a INT)");
    bench.run("INSERT o VALUES (2), (3), (4)");
    let mut seen = std::collections::HashSet::new();
    for full in [0, 20, 70] {
        let join = |i: usize| match i {
            i if i == full => format!(" FULL JOIN o t{i} ON t{i}.a = t{}.a", i - 1),
            i if i % 3 == 0 && i < 18 => format!(" JOIN m t{i} ON t{i}.a = t0.a AND t0.a < 9"),
            i => format!(" LEFT JOIN o t{i} ON t{i}.a = t0.a"),
        };
        let from: String = (1..100).map(join).collect();
        for conditions in [
            "#0# > 1",
            "#0# IS NULL",
            "#10# = 2",
            "#69# IS NULL AND #40# > 1",
            "#99# = 1 AND #98# IS NULL AND #5# IS NULL",
            "EXISTS (SELECT 1 FROM o WHERE o.a = #2#) AND #0# <> 3",
            "#1# + #80# = 4 OR #0# = 1",
        ] {
            let named: Vec<String> = [0, 1, 2, 5, 10, 40, 69, 80, 98, 99]
                .iter()
                .map(|i| format!("t{i}.a a{i}"))
                .collect();
            let with = |before: &str, after: &str| {
                let part = |(at, part): (usize, &str)| match at % 2 {
                    0 => part.to_owned(),
                    _ => format!("{before}{part}{after}"),
                };
                conditions.split('#').enumerate().map(part).collect::<String>()
            };
            let moved =
                bench.run(&format!("SELECT COUNT(*) FROM m t0{from} WHERE {}", with("t", ".a")));
            let outside = with("d.a", "");
            let kept = format!(
                "SELECT COUNT(*) FROM (SELECT TOP (1000000) {} FROM m t0{from}) d WHERE {outside}",
                named.join(", ")
            );
            assert_eq!(moved, bench.run(&kept), "{full}: {conditions}");
            seen.insert(moved);
        }
    }
    assert!(seen.len() > 2, "{seen:?}");
}

/// The table of a column is found however many joins lie between: each join of a chain has the same
/// share of the pairs.
#[test]
fn estimates_of_long_chains_know_their_tables() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE e (a INT)");
    bench.run("INSERT e VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (9)");
    bench.run("CREATE STATISTICS e_a ON e (a) WITH FULLSCAN");
    bench.run("SET SHOWPLAN_XML ON");
    for n in [100, 400] {
        let tables = listed(n, |i| format!("e t{i}"));
        let keys: String = (1..n).map(|i| format!(" AND t0.a = t{i}.a")).collect();
        let shown =
            bench.run(&format!("SELECT 1 FROM {tables} WHERE 1 = 1{keys} OPTION (FORCE ORDER)"));
        let (_, rows) = shown.split_once("StatementEstRows=\"").expect("a plan");
        let rows: f64 =
            rows.split('"').next().and_then(|rows| rows.parse().ok()).expect("a number");
        let expected = 10.0 * (10.0_f64 / 9.0).powi(n as i32 - 1);
        assert!((rows / expected - 1.0).abs() < 1e-6, "{n}: {rows} and not {expected}");
    }
}

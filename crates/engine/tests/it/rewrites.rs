//! Rewrites of queries: the same rows as without them, and plans that do what the rewrites promise.

use crate::support::shop::shop;
use crate::support::text::Bench;

/// What a query gives, in one line for each row.
fn answer(b: &mut Bench, sql: &str) -> String {
    b.run(sql).trim().to_owned()
}

/// The plan's text.
fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

#[test]
fn a_correlated_aggregate_is_computed_once() {
    let mut b = shop();
    let query = "SELECT COUNT(*), SUM(l.quantity) FROM line l
                 WHERE l.quantity < (SELECT 0.5 * AVG(i.quantity) FROM line i WHERE i.part = l.part)";
    // The same with a derived table that computes the averages first.
    let by_hand = "SELECT COUNT(*), SUM(l.quantity) FROM line l
                   JOIN (SELECT part, 0.5 * AVG(quantity) AS half FROM line GROUP BY part) a ON a.part = l.part
                   WHERE l.quantity < a.half";
    let rows = answer(&mut b, query);
    assert_eq!(rows, answer(&mut b, by_hand));
    assert!(!rows.starts_with("0|"), "{rows}");
    let shown = plan(&mut b, query);
    assert!(!shown.contains("Correlated"), "{shown}");
    // An expression over it, either side of the comparison, outer rows without a partner.
    b.check(
        "SELECT COUNT(*) FROM customer c WHERE 1 + (SELECT MAX(price) FROM orders o WHERE o.c = c.c) >= 100",
        "10",
    );
    b.check(
        "SELECT COUNT(*) FROM customer c WHERE (SELECT COUNT(*) FROM orders o WHERE o.c = c.c) = 0",
        "10",
    );
    b.check(
        "SELECT COUNT(*) FROM customer c WHERE ISNULL((SELECT MAX(price) FROM orders o WHERE o.c = c.c), -1) < 0",
        "10",
    );
    // Few rows outside and an index inside: row by row.
    let few = "SELECT o.o FROM orders o WHERE o.o = 9 AND o.price < (SELECT SUM(quantity) FROM line l WHERE l.o = o.o)";
    assert!(plan(&mut b, few).contains("Correlated"));
    b.check(few, "9");
}

#[test]
fn what_all_branches_of_an_or_say_joins() {
    let mut b = shop();
    let query = "SELECT COUNT(*) FROM line l, part p
                 WHERE (p.part = l.part AND p.kind = 'a' AND l.quantity < 10)
                    OR (p.part = l.part AND p.kind = 'b' AND l.quantity > 40)";
    let by_hand = "SELECT COUNT(*) FROM line l JOIN part p ON p.part = l.part
                   WHERE (p.kind = 'a' AND l.quantity < 10) OR (p.kind = 'b' AND l.quantity > 40)";
    let rows = answer(&mut b, query);
    assert_eq!(rows, answer(&mut b, by_hand));
    assert_ne!(rows, "0");
    let shown = plan(&mut b, query);
    assert!(shown.contains("Hash Match") || shown.contains("Seek"), "{shown}");
}

#[test]
fn joins_are_ordered_by_their_sizes() {
    let mut b = shop();
    // Written so that the first two have nothing in common.
    let query = "SELECT COUNT(*), SUM(l.quantity) FROM part p, customer c, line l, orders o
                 WHERE o.c = c.c AND l.o = o.o AND p.part = l.part AND c.town = 3 AND p.kind = 'c'";
    let rows = answer(&mut b, query);
    let written = answer(&mut b, &format!("{query} OPTION (FORCE ORDER)"));
    assert_eq!(rows, written);
    assert_ne!(rows, "0|NULL");
    let shown = plan(&mut b, query);
    assert!(!shown.contains("Nested Loops(Inner Join)\n"), "no cross join: {shown}");
    // Outer joins stay what they are; conditions over three relations find their place.
    for query in [
        "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.c = c.c AND o.price > 90, part p WHERE p.part = c.c",
        "SELECT COUNT(*) FROM orders a, orders b, customer c WHERE a.o = b.o AND a.c = c.c AND a.price + b.price > c.town * 20",
        "SELECT COUNT(*) FROM (SELECT c.c, o.o FROM customer c, orders o WHERE o.c = c.c) x, line l WHERE l.o = x.o",
        "SELECT COUNT(*) FROM customer c JOIN orders o ON o.c = c.c JOIN line l ON l.o = o.o AND l.n = c.town",
        "SELECT COUNT(*) FROM customer a, customer b, customer c WHERE a.c = 1 AND b.c = 2 AND c.c = 3",
    ] {
        let rows = answer(&mut b, query);
        assert_eq!(rows, answer(&mut b, &format!("{query} OPTION (FORCE ORDER)")), "{query}");
        assert_ne!(rows, "0", "{query}");
    }
}

#[test]
fn many_relations_are_ordered_in_time() {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT t VALUES (1, 1), (2, 2), (3, 3)");
    for star in [false, true] {
        let mut sql = String::from("SELECT COUNT(*) FROM t t0");
        for i in 1..100 {
            sql.push_str(&format!(", t t{i}"));
        }
        for i in 1..100 {
            let from = if star { 0 } else { i - 1 };
            sql.push_str(&format!(" {} t{i}.a = t{from}.b", if i == 1 { "WHERE" } else { "AND" }));
        }
        b.check(&sql, "3");
    }
}

/// A counter of the instance: how often.
fn occurrence(b: &mut Bench, counter: &str) -> i64 {
    let sql = format!(
        "SELECT occurrence FROM sys.dm_exec_query_optimizer_info WHERE counter = '{counter}'"
    );
    answer(b, &sql).parse().unwrap()
}

/// A query for each rewrite that changes it.
const CHANGED: [(&str, &str); 12] = [
    (
        "OrFactors",
        "SELECT COUNT(*) FROM part WHERE (part < 9 AND kind = 'a') OR (part < 9 AND kind = 'b')",
    ),
    (
        "EqualityList",
        "SELECT COUNT(*) FROM line WHERE quantity <> 1 AND quantity <> 2 AND quantity <> 3 AND quantity <> 4 AND quantity <> 5 AND \
         quantity <> 6 AND quantity <> 7 AND quantity <> 8 AND quantity <> 9 AND quantity <> 10 AND quantity <> 11 AND quantity <> 12 AND \
         quantity <> 13 AND quantity <> 14 AND quantity <> 15 AND quantity <> 16 AND quantity <> 17 AND quantity <> 18 AND \
         quantity <> 19 AND quantity <> 20 AND quantity <> 21 AND quantity <> 22 AND quantity <> 23 AND quantity <> 24 AND \
         quantity <> 25 AND quantity <> 26 AND quantity <> 27 AND quantity <> 28 AND quantity <> 29 AND quantity <> 30 AND \
         quantity <> 31 AND quantity <> 32 AND quantity <> 33",
    ),
    (
        "FreeApply",
        "SELECT COUNT(*), SUM(x.m) FROM customer c OUTER APPLY (SELECT MAX(price) AS m FROM orders) x",
    ),
    (
        "OuterJoin",
        "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.c = c.c WHERE o.price > 90",
    ),
    ("EqualConstant", "SELECT COUNT(*) FROM orders o JOIN line l ON l.o = o.o WHERE o.o = 9"),
    (
        "OrImplied",
        "SELECT COUNT(*) FROM part p, line l WHERE (p.part = 9 AND l.n = 2) OR (p.part = 11 AND l.n = 3)",
    ),
    ("LikeRange", "SELECT COUNT(*) FROM named WHERE name LIKE 'b%'"),
    ("MinMax", "SELECT MAX(o) FROM orders"),
    (
        "UnnestScalar",
        "SELECT COUNT(*) FROM line l WHERE quantity < (SELECT AVG(quantity) FROM line i WHERE i.part = l.part)",
    ),
    (
        "InList",
        "DECLARE @a int = 3 SELECT COUNT(*) FROM orders WHERE price IN (@a, @a + 1, @a + 2, @a, 4, 5, 6, 7, 8, 9, 10, 11, 12, \
         13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36)",
    ),
    (
        "InQuery",
        "SELECT COUNT(*) FROM orders WHERE o IN (SELECT part FROM part WHERE part BETWEEN 5 AND 9)",
    ),
    (
        "JoinOrder",
        "SELECT COUNT(*) FROM part p, customer c, orders o WHERE o.c = c.c AND p.part = o.o",
    ),
];

#[test]
fn each_rewrite_is_counted_and_can_be_left_out() {
    let mut b = shop();
    b.run("CREATE TABLE named (name varchar(20) PRIMARY KEY) INSERT named SELECT name FROM customer INSERT named VALUES ('b1')");
    let named = answer(
        &mut b,
        "SELECT SUBSTRING(counter, 9, 20) FROM sys.dm_exec_query_optimizer_info WHERE counter LIKE 'rewrite %'",
    );
    let mut names: Vec<&str> = CHANGED.iter().map(|(name, _)| *name).collect();
    assert_eq!(named.lines().collect::<Vec<_>>(), names, "a query for each rewrite");
    names.sort_unstable();
    for (name, query) in CHANGED {
        let counter = format!("rewrite {name}");
        let before = occurrence(&mut b, &counter);
        let rows = answer(&mut b, query);
        let with = occurrence(&mut b, &counter);
        assert_eq!(with, before + 1, "{name}");
        // A plan that is kept counts nothing.
        assert_eq!(answer(&mut b, query), rows);
        assert_eq!(occurrence(&mut b, &counter), with, "{name}");
        let without = format!("{query} OPTION (QUERYRULEOFF {})", name.to_lowercase());
        assert_eq!(answer(&mut b, &without), rows, "{without}");
        assert_eq!(occurrence(&mut b, &counter), with, "{without}");
    }
    let all: Vec<String> = names.iter().map(|name| format!("QUERYRULEOFF {name}")).collect();
    for (_, query) in CHANGED {
        let rows = answer(&mut b, query);
        assert_eq!(answer(&mut b, &format!("{query} OPTION ({})", all.join(", "))), rows);
    }
    b.check("SELECT 1 OPTION (QUERYRULEOFF Nothing)", "Msg 10715: 'Nothing' is not a valid hint.");
    b.check(
        "DELETE orders OPTION (QUERYRULEOFF Nothing)",
        "Msg 10715: 'Nothing' is not a valid hint.",
    );
    assert!(b.run("SELECT 1 OPTION (QUERYRULEOFF)").starts_with("Msg 102"));
}

#[test]
fn common_terms_are_looked_for_until_there_are_none() {
    let mut b = shop();
    // The common term of the outer OR is an OR with a common term, which joins.
    let either = "((l.part = p.part AND l.n = 1) OR (l.part = p.part AND l.n = 2))";
    let query = format!(
        "SELECT COUNT(*) FROM line l, part p WHERE ({either} AND p.kind = 'a') OR ({either} AND p.kind = 'b')"
    );
    let shown = plan(&mut b, &query);
    assert!(!shown.contains("Nested Loops(Inner Join)\n"), "no cross join: {shown}");
    let rows = answer(&mut b, &query);
    assert_ne!(rows, "0");
    assert_eq!(answer(&mut b, &format!("{query} OPTION (QUERYRULEOFF OrFactors)")), rows);
}

#[test]
fn compilations_are_counted() {
    let mut b = shop();
    b.run("CREATE TABLE copy (a int)");
    b.run("CREATE VIEW v AS SELECT a FROM copy");
    let counters = [
        "optimizations",
        "elapsed time",
        "final cost",
        "tables",
        "trivial plan",
        "insert stmt",
        "update stmt",
        "delete stmt",
        "contains subquery",
        "view reference",
        "order hint",
        "hints",
        "join hint",
        "maximum recursion level",
    ];
    let sql = "SELECT counter, occurrence FROM sys.dm_exec_query_optimizer_info";
    let totals = |b: &mut Bench| -> Vec<i64> {
        let all = answer(b, sql);
        let of = |name: &&str| {
            let line = all
                .lines()
                .find(|line| line.split('|').next() == Some(*name))
                .unwrap_or_else(|| panic!("{name}"));
            line.split('|').nth(1).unwrap().parse().unwrap()
        };
        counters.iter().map(of).collect()
    };
    totals(&mut b);
    for (statement, wanted) in [
        ("INSERT copy VALUES (1)", &["trivial plan", "insert stmt"][..]),
        ("UPDATE copy SET a = 2 WHERE a > 1", &["update stmt"]),
        (
            "DELETE copy WHERE a = (SELECT MAX(price) FROM orders)",
            &["delete stmt", "contains subquery"],
        ),
        ("SELECT c FROM customer WHERE c = 9", &["trivial plan"]),
        ("SELECT a FROM v", &["view reference"]),
        ("SELECT 1 FROM orders a INNER HASH JOIN orders b ON a.o = b.c", &["hints", "join hint"]),
        ("SELECT 1 FROM orders a, orders b OPTION (FORCE ORDER)", &["order hint", "hints"]),
        ("SELECT 1 FROM copy OPTION (MAXRECURSION 5)", &["maximum recursion level"]),
    ] {
        let before = totals(&mut b);
        b.run(statement);
        let after = totals(&mut b);
        for ((name, before), after) in counters.iter().zip(before).zip(after) {
            let always = ["optimizations", "elapsed time", "final cost", "tables"].contains(name);
            let more = i64::from(always || wanted.contains(name));
            assert_eq!(after, before + more, "{name} after {statement}");
        }
    }
    // Sums are means of their occurrences.
    let value = answer(
        &mut b,
        "SELECT value FROM sys.dm_exec_query_optimizer_info WHERE counter = 'optimizations'",
    );
    assert_eq!(value, "1.0");
    let mean = answer(
        &mut b,
        "SELECT value FROM sys.dm_exec_query_optimizer_info WHERE counter = 'tables'",
    );
    assert!((0.1..2.0).contains(&mean.parse::<f64>().unwrap()), "{mean}");
}

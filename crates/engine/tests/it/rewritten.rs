//! Queries that are planned in another form than they are written in: the shape of the plan, what
//! its operators did, and the same rows as without the rewrite, or as of the form that does it by
//! hand.

use crate::support::shop::shop;
use crate::support::text::Bench;
use crate::support::work::{Counted, profile};

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

/// How often the operators of a name were started, and the rows that they gave.
fn of_operator(all: &[Counted], name: &str) -> (u64, u64) {
    let named = all.iter().filter(|counted| counted.operator.ends_with(name));
    named.fold((0, 0), |(starts, rows), counted| (starts + counted.executions, rows + counted.rows))
}

/// A query gives what it gives without a rewrite.
fn same_without(b: &mut Bench, rule: &str, query: &str) {
    let rows = answer(b, query);
    assert_eq!(rows, answer(b, &format!("{query} OPTION (QUERYRULEOFF {rule})")), "{query}");
    assert!(!rows.contains("Msg "), "{query}: {rows}");
}

#[test]
fn outer_joins_that_reject_null_are_inner_ones() {
    let mut b = shop();
    for query in [
        "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.c = c.c WHERE o.price > 90",
        "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.c = c.c WHERE o.price IN (1, 2) OR o.o BETWEEN 5 AND 9",
        "SELECT COUNT(*) FROM orders o RIGHT JOIN customer c ON o.c = c.c WHERE o.price IS NOT NULL",
        "SELECT COUNT(*) FROM customer c LEFT JOIN part p ON p.part = c.c WHERE NOT (p.kind LIKE 'a%' OR p.part < 50)",
        "SELECT COUNT(*) FROM customer c FULL JOIN orders o ON o.c = c.c WHERE o.price + 1 > 90 AND c.town = 3",
        "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.c = c.c JOIN line l ON l.o = o.o",
        "SELECT COUNT(*) FROM (SELECT c.c, o.price * 2 AS twice FROM customer c LEFT JOIN orders o ON o.c = c.c) d WHERE d.twice > 90",
        "SELECT COUNT(*) FROM customer c OUTER APPLY (SELECT TOP (1) price FROM orders o WHERE o.c = c.c ORDER BY o.o) x \
         WHERE x.price > 5",
    ] {
        let shown = plan(&mut b, query);
        assert!(!shown.contains("Outer Join"), "{query}: {shown}");
        same_without(&mut b, "OuterJoin", query);
    }
    for (query, kept) in [
        (
            "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.c = c.c WHERE ISNULL(o.price, 99) > 90",
            "Left Outer",
        ),
        (
            "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.c = c.c WHERE o.price > 90 OR o.o IS NULL",
            "Left Outer",
        ),
        (
            "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.c = c.c WHERE o.price > 90 OR c.town = 3",
            "Left Outer",
        ),
        (
            "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.c = c.c WHERE COALESCE(o.price, c.town) = 3",
            "Left Outer",
        ),
        (
            "SELECT COUNT(*) FROM customer c FULL JOIN orders o ON o.c = c.c WHERE c.town = 3",
            "Left Outer",
        ),
        (
            "SELECT COUNT(*) FROM customer c FULL JOIN orders o ON o.c = c.c WHERE o.price > 90",
            "Left Outer",
        ),
        (
            "SELECT COUNT(*) FROM customer c FULL JOIN orders o ON o.c = c.c WHERE o.price > 90 OR c.town = 3",
            "Full Outer",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT TOP (900) o.price FROM customer c LEFT JOIN orders o ON o.c = c.c) d WHERE d.price > 90",
            "Left Outer",
        ),
    ] {
        let shown = plan(&mut b, query);
        assert!(shown.contains(kept), "{query}: {shown}");
        same_without(&mut b, "OuterJoin", query);
    }
    // The inner join begins with the one order.
    let one = "SELECT c.name FROM customer c LEFT JOIN orders o ON o.c = c.c WHERE o.o = 7";
    let shown = plan(&mut b, one);
    assert!(shown.matches("Clustered Index Seek").count() == 2, "{shown}");
    assert_eq!(of_operator(&profile(&mut b, one), "Clustered Index Seek").1, 2);
    b.check(one, "customer 50");
}

#[test]
fn an_apply_without_outer_values_runs_once() {
    let mut b = shop();
    let query = "SELECT COUNT(*), SUM(x.m) FROM customer c OUTER APPLY (SELECT MAX(price) AS m FROM orders WHERE price < 50) x";
    b.check(query, "200|9800");
    assert_eq!(
        of_operator(&profile(&mut b, query), "Stream Aggregate").0,
        2,
        "its own and the one of all rows"
    );
    same_without(&mut b, "FreeApply", query);
    // What has another value for each row, and what its left side gives values to, runs for each.
    let each = "SELECT COUNT(DISTINCT x.n) FROM customer c CROSS APPLY (SELECT NEWID() AS n) x";
    b.check(each, "200");
    let correlated = "SELECT SUM(x.m) FROM customer c CROSS APPLY (SELECT MAX(price) AS m FROM orders WHERE price < c.c) x";
    assert_eq!(of_operator(&profile(&mut b, correlated), "Stream Aggregate").0, 201);
    // Without a left row it does not run at all.
    let none = "SELECT x.z FROM customer c OUTER APPLY (SELECT 1 / (COUNT(*) * 0) AS z FROM orders) x WHERE c.name = 'nobody'";
    b.check(none, "");
}

#[test]
fn conditions_on_partitions_are_tested_before_the_window() {
    let mut b = shop();
    let of = |condition: &str| {
        format!(
            "SELECT d.o, d.n FROM (SELECT o, c, price, ROW_NUMBER() OVER (PARTITION BY c ORDER BY o) AS n, \
             SUM(price) OVER (PARTITION BY c, price) AS p FROM orders) d WHERE {condition} ORDER BY d.o"
        )
    };
    for condition in [
        "d.c = 8",
        "d.c IN (8, 15) AND d.c <> 15",
        "d.c < 9 AND d.c > 7",
        "NOT (d.c > 8 OR d.c < 8)",
    ] {
        let query = of(condition);
        let found = profile(&mut b, &query);
        let windows = found.iter().filter(|counted| counted.operator == "Window Aggregate");
        assert!(
            windows.clone().count() > 0 && windows.clone().all(|counted| counted.rows < 10),
            "{found:?}"
        );
        assert_eq!(answer(&mut b, &query), answer(&mut b, &of("d.c = 8")));
    }
    b.check(&of("d.c = 8 AND d.n = 2"), "191|2");
    // These are not the same for all rows of a partition, or might fail for rows that no other
    // condition lets through.
    for condition in ["d.price = 1", "d.c + d.n = 9", "10 / d.c = 1", "d.p > 50 AND d.price = 1"] {
        let found = profile(&mut b, &of(condition));
        let most = found.iter().filter(|counted| counted.operator == "Window Aggregate");
        assert!(most.map(|counted| counted.rows).max() == Some(1000), "{condition}: {found:?}");
    }
    // By an index of the column only one partition is read.
    b.run("CREATE INDEX by_c ON orders (c, o) INCLUDE (price)");
    let shown = plan(&mut b, &of("d.c = 8"));
    assert!(shown.contains("Index Seek"), "{shown}");
}

#[test]
fn subqueries_with_aggregates_are_computed_once() {
    let mut b = shop();
    b.run("INSERT orders VALUES (5001, NULL, 7), (5002, 1, NULL)");
    let groups = "(SELECT c, COUNT(*) AS n, COUNT(price) AS prices, MAX(price) AS most FROM orders GROUP BY c)";
    for (query, twin) in [
        (
            "SELECT SUM(n), MIN(n), COUNT(n) FROM (SELECT (SELECT COUNT(*) FROM orders o WHERE o.c = c.c) AS n FROM customer c) d"
                .to_owned(),
            format!(
                "SELECT SUM(ISNULL(g.n, 0)), MIN(ISNULL(g.n, 0)), COUNT(*) FROM customer c LEFT JOIN {groups} g ON g.c = c.c"
            ),
        ),
        (
            "SELECT SUM(x.n), COUNT(*), SUM(x.m) FROM customer c OUTER APPLY \
             (SELECT COUNT(*) AS n, MAX(price) + c.town AS m FROM orders o WHERE o.c = c.c) x"
                .into(),
            format!(
                "SELECT SUM(ISNULL(g.n, 0)), COUNT(*), SUM(g.most + c.town) FROM customer c LEFT JOIN {groups} g ON g.c = c.c"
            ),
        ),
        (
            "SELECT SUM(m), COUNT(*) FROM (SELECT (SELECT MAX(price) FROM orders o WHERE o.c = c.c) AS m FROM customer c) d".into(),
            format!("SELECT SUM(g.most), COUNT(*) FROM customer c LEFT JOIN {groups} g ON g.c = c.c"),
        ),
        (
            "SELECT COUNT(*), MIN(c.c) FROM customer c WHERE (SELECT COUNT(*) FROM orders o WHERE o.c = c.c) = 0".into(),
            format!("SELECT COUNT(*), MIN(c.c) FROM customer c LEFT JOIN {groups} g ON g.c = c.c WHERE g.c IS NULL"),
        ),
        (
            "SELECT COUNT(*) FROM customer c WHERE (SELECT COUNT(*) - COUNT(price) FROM orders o WHERE o.c = c.c) > 0 OR c.c = 9"
                .into(),
            format!("SELECT COUNT(*) FROM customer c LEFT JOIN {groups} g ON g.c = c.c WHERE g.n > g.prices OR c.c = 9"),
        ),
        (
            "SELECT SUM(CASE WHEN k > 0 THEN 1 ELSE 0 END) FROM (SELECT CASE WHEN (SELECT COUNT(*) FROM orders o WHERE o.c = c.c AND \
             o.price > 50) > 1 THEN 1 ELSE (SELECT 0 * COUNT(*) FROM part) END AS k FROM customer c) d"
                .into(),
            "SELECT COUNT(*) FROM (SELECT c FROM orders WHERE price > 50 AND c IS NOT NULL GROUP BY c HAVING COUNT(*) > 1) d".into(),
        ),
    ] {
        let shown = plan(&mut b, &query);
        assert!(!shown.contains("Correlated") && !shown.contains("OUTER REFERENCES"), "{query}: {shown}");
        assert_eq!(answer(&mut b, &query), answer(&mut b, &twin), "{query}");
        same_without(&mut b, "UnnestScalar", &query);
    }
    for query in [
        // By an index each is found sooner.
        "SELECT c.c, (SELECT COUNT(*) FROM line l WHERE l.o = c.c) FROM customer c WHERE c.c < 20",
        // Only a few rows are asked for.
        "SELECT TOP (5) c.c, (SELECT COUNT(*) FROM orders o WHERE o.c = c.c) AS n FROM customer c ORDER BY c.c",
        // Not all rows come to it.
        "SELECT c.c, CASE WHEN c.town = 1 THEN (SELECT COUNT(*) FROM orders o WHERE o.c = c.c) END FROM customer c",
        // For other groups it may fail.
        "SELECT c.c, (SELECT SUM(10 / price) FROM orders o WHERE o.c = c.c AND o.price > 0) FROM customer c",
    ] {
        let shown = plan(&mut b, query);
        assert!(shown.contains("Correlated"), "{query}: {shown}");
        same_without(&mut b, "UnnestScalar", query);
    }
}

/// A batch that declares variables, sets them by a query with these options, and shows them.
fn set_by(query: &str, options: &str) -> String {
    format!(
        "DECLARE @n int, @m int = 85, @s varchar(8000) = '' {query} {options} SELECT @n, @m, @s"
    )
}

#[test]
fn subqueries_in_what_variables_are_given_are_computed_once() {
    let mut b = shop();
    b.run("INSERT orders VALUES (5001, NULL, 7)");
    let count = "(SELECT COUNT(*) FROM orders o WHERE o.c = c.c)";
    let text = format!("@s = @s + CAST({count} AS varchar(9)) + ';'");
    for query in [
        "SELECT @n = (SELECT MAX(price) FROM orders o WHERE o.c = c.c) FROM customer c ORDER BY c.c DESC".to_owned(),
        "SELECT @n = (SELECT MAX(price) FROM orders o WHERE o.c = c.c AND o.price < @m) FROM customer c ORDER BY c.c DESC".into(),
        format!("SELECT @n = ISNULL(@n, 0) + {count} FROM customer c"),
        format!("SELECT @n = CASE WHEN {count} > 5 THEN c.c ELSE @n END FROM customer c ORDER BY c.town, c.c"),
        format!("SELECT {text}, @n = c.c FROM customer c WHERE c.c > 150 ORDER BY c.town, c.c DESC"),
        format!("SELECT TOP (100) {text} FROM customer c ORDER BY c.town DESC, c.c"),
        format!("SELECT {text} FROM customer c ORDER BY c.town, c.c OFFSET 20 ROWS FETCH NEXT 90 ROWS ONLY"),
    ] {
        let shown = plan(&mut b, &set_by(&query, ""));
        assert!(shown.contains("Outer Join") && !shown.contains("Correlated"), "{query}: {shown}");
        let set = answer(&mut b, &set_by(&query, ""));
        let each = answer(&mut b, &set_by(&query, "OPTION (QUERYRULEOFF UnnestScalar)"));
        assert_eq!(set, each, "{query}");
        assert!(!set.contains("Msg ") && set != "NULL|85|", "{query}: {set}");
    }
    b.check(
        &set_by(&format!("SELECT @n = ISNULL(@n, 0) + {count} FROM customer c"), ""),
        "1000|85|",
    );
    // It sees what the row before it has set; it may fail for rows that nobody asks for.
    for query in [
        "SELECT @n = (SELECT COUNT(*) FROM orders o WHERE o.c = c.c AND o.price > ISNULL(@n, 0)) FROM customer c ORDER BY c.c",
        "SELECT @n = (SELECT MAX(price) + ISNULL(@n, 0) FROM orders o WHERE o.c = c.c) FROM customer c ORDER BY c.c DESC",
        "SELECT @n = (SELECT SUM(10 / price) FROM orders o WHERE o.c = c.c AND o.price > 0) FROM customer c ORDER BY c.c DESC",
    ] {
        let shown = plan(&mut b, &set_by(query, ""));
        assert!(shown.contains("Correlated Subquery"), "{query}: {shown}");
        let each = answer(&mut b, &set_by(query, "OPTION (QUERYRULEOFF UnnestScalar)"));
        assert_eq!(answer(&mut b, &set_by(query, "")), each, "{query}");
    }
}

#[test]
fn correlated_exists_and_in_are_semi_joins() {
    let mut b = shop();
    let (all, none) = ("SELECT COUNT(*) FROM customer c WHERE ", "Left Anti Semi Join");
    for (condition, join) in [
        ("c.town + 1 IN (SELECT o.price FROM orders o WHERE o.c = c.c)", "Left Semi Join"),
        (
            "c.town IN (SELECT o.price - c.c FROM orders o WHERE o.c = c.c AND o.o > (SELECT MIN(o) FROM line))",
            "Left Semi Join",
        ),
        (
            "EXISTS (SELECT 1 FROM (SELECT c, SUM(price) AS s FROM orders GROUP BY c) d WHERE d.c = c.c AND d.s > 250)",
            "Left Semi Join",
        ),
        (
            "NOT EXISTS (SELECT 1 FROM (SELECT c, SUM(price) AS s FROM orders GROUP BY c) d WHERE d.c = c.c AND d.s > 250)",
            none,
        ),
        (
            "NOT EXISTS (SELECT DISTINCT TOP (1) o.price FROM orders o WHERE o.c = c.c ORDER BY o.price)",
            none,
        ),
    ] {
        let query = format!("{all}{condition}");
        let shown = plan(&mut b, &query);
        assert!(shown.contains(join) && !shown.contains("Correlated"), "{query}: {shown}");
    }
    let joined = "SELECT COUNT(DISTINCT c.c) FROM customer c JOIN orders o ON o.c = c.c AND o.price = c.town + 1";
    let joined = answer(&mut b, joined);
    b.check(&format!("{all}c.town + 1 IN (SELECT o.price FROM orders o WHERE o.c = c.c)"), &joined);
    let grouped =
        "JOIN (SELECT c, SUM(price) AS s FROM orders GROUP BY c) d ON d.c = c.c AND d.s > 250";
    let by_hand: i64 =
        answer(&mut b, &format!("SELECT COUNT(*) FROM customer c {grouped}")).parse().unwrap();
    let condition = "EXISTS (SELECT 1 FROM (SELECT c, SUM(price) AS s FROM orders GROUP BY c) d WHERE d.c = c.c AND d.s > 250)";
    b.check(&format!("{all}{condition}"), &by_hand.to_string());
    b.check(&format!("{all}NOT {condition}"), &(200 - by_hand).to_string());
    assert!((1..200).contains(&by_hand), "{by_hand}");
    // An index is sought for few values of a subquery that is not correlated.
    let few = "SELECT COUNT(*) FROM line WHERE o IN (SELECT part FROM part WHERE part < 6)";
    let found = profile(&mut b, few);
    assert!(of_operator(&found, "Clustered Index Scan").1 == 0, "{found:?}");
    b.check(few, "10");
    let deleted = "DELETE line WHERE o IN (SELECT part FROM part WHERE part < 6) SELECT @@ROWCOUNT";
    assert_eq!(answer(&mut b, deleted).lines().last(), Some("10"));
}

/// What the plan of a statement may grow to is bounded: of many subqueries some become joins, the
/// others run for each row.
#[test]
fn no_more_than_64_subqueries_become_joins() {
    let mut b = shop();
    let counted =
        |i: usize| format!("(SELECT COUNT(*) FROM orders o WHERE o.c = c.c AND o.price > {i})");
    let counts: Vec<String> = (0..100).map(counted).collect();
    let shown = plan(&mut b, &format!("SELECT {} FROM customer c", counts.join(" + ")));
    let joins = shown.matches("Outer Join").count();
    let left = shown.matches("Correlated").count();
    assert_eq!((joins, left), (64, 36), "{shown}");
}

/// What an UPDATE or DELETE leaves, which is taken back; and the pages of `orders` that were read.
fn left_by(b: &mut Bench, change: &str) -> (String, u64) {
    let left = "SELECT COUNT(*), COUNT(n), SUM(c * n), COUNT(most), SUM(c * most) FROM customer";
    b.run("SET STATISTICS IO ON");
    let said = b.run(&format!("BEGIN TRAN {change}"));
    b.run("SET STATISTICS IO OFF");
    assert!(!said.contains("Msg "), "{change}: {said}");
    let reads =
        said.split("Table 'orders'").skip(1).filter_map(|text| text.split("logical reads ").nth(1));
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let pages = reads.map(|text| digits(text).parse::<u64>().expect("a number of reads")).sum();
    let rows = answer(b, left);
    b.run("ROLLBACK");
    (rows, pages)
}

#[test]
fn subqueries_of_a_change_are_computed_once() {
    let mut b = shop();
    b.run(
        "ALTER TABLE customer ADD n int, most int
         INSERT orders VALUES (5001, NULL, 7), (5002, 1, NULL)",
    );
    let count = "(SELECT COUNT(*) FROM orders o WHERE o.c = customer.c)";
    let above = |i: usize| {
        format!("(SELECT COUNT(*) FROM orders o WHERE o.c = customer.c AND o.price > {i})")
    };
    let many: Vec<String> = (0..70).map(above).collect();
    for (change, joins) in [
        (format!("UPDATE customer SET n = {count}"), 1),
        (format!("UPDATE customer SET n = {count} WHERE town > 2 AND {count} > 3"), 2),
        (
            "UPDATE c SET most = (SELECT MAX(price) FROM orders o WHERE o.c = c.c), n = 5 FROM customer c WHERE c.c > 3"
                .into(),
            1,
        ),
        (
            format!(
                "UPDATE customer SET n = town + 2 * {count}, most = (SELECT SUM(price) FROM orders o WHERE o.c = customer.c)"
            ),
            2,
        ),
        // Of the table itself, as it was before.
        (
            "UPDATE customer SET town = town + 1, n = (SELECT COUNT(*) FROM customer x WHERE x.town = customer.town)"
                .into(),
            1,
        ),
        (format!("UPDATE customer SET n = {count} OUTPUT inserted.c, deleted.n"), 1),
        (format!("DELETE customer WHERE {count} = 0"), 1),
        ("DELETE c FROM customer c WHERE town < (SELECT AVG(price) - 45 FROM orders o WHERE o.c = c.c)".into(), 1),
    ] {
        let shown = plan(&mut b, &change);
        let join = |line: &&str| line.contains("Outer Join") || line.contains("Inner Join");
        assert_eq!(shown.lines().filter(join).count(), joins, "{change}: {shown}");
        let each = left_by(&mut b, &format!("{change} OPTION (QUERYRULEOFF UnnestScalar)"));
        let joined = left_by(&mut b, &change);
        assert_eq!(joined.0, each.0, "{change}");
        // Once, not for each row.
        assert!(joined.1 * 10 < each.1 || each.1 == 0, "{change}: {joined:?} {each:?}");
    }
    for change in [
        // A few rows; by an index each is found sooner; another value each time.
        format!("UPDATE TOP (5) customer SET n = {count}"),
        "UPDATE customer SET n = (SELECT COUNT(*) FROM line l WHERE l.o = customer.c) WHERE c < 20"
            .into(),
        format!("UPDATE customer SET n = {count} + CHECKSUM(NEWID()) * 0"),
    ] {
        let shown = plan(&mut b, &change);
        assert!(!shown.contains(" Join"), "{change}: {shown}");
    }
    // No more than 64 of a statement.
    let sum = many.join(" + ");
    let change = format!("UPDATE customer SET n = {sum}");
    let shown = plan(&mut b, &change);
    assert_eq!(shown.matches("Outer Join").count(), 64, "{shown}");
    let each = left_by(&mut b, &format!("{change} OPTION (QUERYRULEOFF UnnestScalar)"));
    assert_eq!(left_by(&mut b, &change).0, each.0);
}

/// `@i` has another value at each row that is changed: nothing that reads it comes with the rows.
#[test]
fn a_value_of_a_variable_that_is_set_is_of_its_row() {
    let mut b = shop();
    b.run("ALTER TABLE customer ADD n int");
    let count = "(SELECT COUNT(*) FROM orders o WHERE o.c = customer.c)";
    for value in [
        format!("@i * 1000 + {count}"),
        "(SELECT COUNT(*) + @i * 1000 FROM orders o WHERE o.c = customer.c)".into(),
    ] {
        let said = answer(
            &mut b,
            &format!("DECLARE @i int = 0 UPDATE customer SET @i = @i + 1, n = {value}"),
        );
        assert!(!said.contains("Msg "), "{value}: {said}");
        let left = "SELECT COUNT(*), COUNT(DISTINCT n / 1000), SUM(n % 1000) FROM customer";
        assert_eq!(answer(&mut b, left), "200|200|1000", "{value}");
    }
}

#[test]
fn a_joined_value_that_does_not_fit_is_told_with_its_column() {
    let mut b = shop();
    b.run("ALTER TABLE customer ADD s varchar(3)");
    let change = "UPDATE customer SET s = (SELECT MAX(CONCAT('price ', price)) FROM orders o WHERE o.c = customer.c)";
    let shown = plan(&mut b, change);
    assert!(shown.contains("Outer Join"), "{shown}");
    let said = answer(&mut b, change);
    assert!(
        said.contains("Msg 2628") && said.contains("column 's'") && said.contains("'pri'"),
        "{said}"
    );
    assert_eq!(said, answer(&mut b, &format!("{change} OPTION (QUERYRULEOFF UnnestScalar)")));
}

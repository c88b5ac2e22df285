//! Operators of joins: each kind of join by each operator gives the same rows, hints are honoured
//! or refused, merges use the order that rows come in and give theirs on.

use crate::support::text::Bench;

/// `a` and `b` have `count` rows and a clustered key, `c` is a heap with an index and half the
/// rows; keys come up to `count / 4` times, NULL among them.
fn fill(b: &mut Bench, count: u32) {
    let (sevens, fewer, half) = (count / 4, count / 10, count / 2);
    b.run(&format!(
        "SET NOCOUNT ON
         CREATE TABLE n (i int PRIMARY KEY)
         INSERT n SELECT TOP ({count}) ROW_NUMBER() OVER (ORDER BY (SELECT NULL))
         FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c
         CREATE TABLE a (k int, i int, s varchar(20), PRIMARY KEY (k, i))
         CREATE TABLE b (k bigint, i int, s nvarchar(20), PRIMARY KEY (k, i))
         CREATE TABLE c (k int, s varchar(20))
         CREATE TABLE one (k int PRIMARY KEY, v int)
         CREATE INDEX by_k ON c (k)
         INSERT a SELECT CASE WHEN i < {sevens} THEN 7 ELSE i % 400 END, i, CONCAT('a', i % 50) FROM n
         INSERT b SELECT CASE WHEN i < {fewer} THEN 7 ELSE i % 500 END, i, CONCAT('A', i % 60) FROM n
         INSERT c SELECT NULLIF(i % 90, 5), CONCAT('a', i % 70) FROM n WHERE i < {half}
         INSERT one SELECT i * 2, i FROM n WHERE i < 250"
    ));
}

fn rows(b: &mut Bench, sql: &str) -> Vec<String> {
    let said = b.run(sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
    let mut rows: Vec<String> = said.trim().lines().map(str::to_owned).collect();
    rows.sort();
    rows
}

fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

const QUERIES: [&str; 11] = [
    "SELECT COUNT_BIG(*), SUM(a.i), SUM(CAST(b.i AS bigint)) FROM a JOIN b ON a.k = b.k",
    "SELECT COUNT_BIG(*), SUM(a.i) FROM a JOIN b ON a.k = b.k AND a.s = b.s AND a.i <= b.i",
    "SELECT one.k, one.v, a.i FROM one LEFT JOIN a ON a.k = one.k AND a.i % 3 = 0",
    "SELECT COUNT(*), SUM(a.i), SUM(c.k), COUNT(c.s) FROM a LEFT JOIN c ON a.k = c.k",
    "SELECT c.k, c.s, one.k, one.v FROM c FULL JOIN one ON one.k = c.k",
    "SELECT COUNT(*), COUNT(a.k), COUNT(b.k), SUM(a.i + b.i) FROM a FULL JOIN b ON a.k = b.k AND a.i > b.i",
    "SELECT COUNT(*), SUM(a.i) FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k)",
    "SELECT COUNT(*), SUM(a.i) FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k AND b.i > a.i + 700)",
    "SELECT COUNT(*), MIN(k) FROM c WHERE NOT EXISTS (SELECT * FROM one WHERE one.k = c.k)",
    "SELECT a.i, b.i FROM a JOIN b ON a.s = b.s WHERE a.i < 100 AND b.i < 100",
    "SELECT COUNT(*) FROM a JOIN b ON a.k = b.k JOIN c ON c.k = b.k AND c.s = a.s JOIN one ON one.k = c.k WHERE a.k > 9",
];

#[test]
fn every_operator_gives_the_same_rows() {
    let (mut b, mut tiny) = (Bench::new(), Bench::with(|options| options.operator_bytes = Some(1)));
    fill(&mut b, 1000);
    fill(&mut tiny, 1000);
    for sql in QUERIES {
        let wanted = rows(&mut b, sql);
        for (hint, operator) in
            [("HASH", "Hash Match"), ("MERGE", "Merge Join"), ("LOOP", "Nested Loops")]
        {
            let hinted = format!("{sql} OPTION ({hint} JOIN)");
            let shown = plan(&mut b, &hinted);
            let joins: Vec<&str> = shown
                .lines()
                .filter(|line| line.contains(" Join)") || line.contains(" Join, "))
                .collect();
            assert!(
                !joins.is_empty() && joins.iter().all(|line| line.contains(operator)),
                "{hinted}: {shown}"
            );
            assert_eq!(rows(&mut b, &hinted), wanted, "{hinted}");
            // Rows of one key that there is no memory for.
            assert_eq!(rows(&mut tiny, &hinted), wanted, "{hinted}, no memory");
        }
    }
}

#[test]
fn hints_are_honoured_or_refused() {
    let mut b = Bench::new();
    fill(&mut b, 3000);
    let refused = "Msg 8622: Query processor could not produce a query plan because of the hints defined in this query. Resubmit the \
                   query without specifying any hints and without using SET FORCEPLAN.";
    for sql in [
        "SELECT COUNT(*) FROM a JOIN b ON a.k < b.k OPTION (HASH JOIN)",
        "SELECT COUNT(*) FROM a, b OPTION (MERGE JOIN)",
        "SELECT COUNT(*) FROM a INNER HASH JOIN b ON a.k > b.k",
        "DELETE a FROM a JOIN b ON a.k <> b.k OPTION (MERGE JOIN, HASH JOIN)",
    ] {
        b.check(sql, refused);
    }
    // One of several operators that are allowed, as cheap as it can be.
    let shown =
        plan(&mut b, "SELECT COUNT(*) FROM a JOIN b ON a.k = b.k OPTION (MERGE JOIN, LOOP JOIN)");
    assert!(!shown.contains("Hash"), "{shown}");
    // A hint beside a join is for that join, and keeps the order of all.
    let shown = plan(
        &mut b,
        "SELECT COUNT(*) FROM a INNER MERGE JOIN b ON a.k = b.k INNER LOOP JOIN c ON c.k = a.k LEFT HASH JOIN one ON one.k = c.k",
    );
    let at =
        |operator: &str| shown.find(operator).unwrap_or_else(|| panic!("{operator} in {shown}"));
    assert!(
        at("Hash Match(Left") < at("Nested Loops(Inner")
            && at("Nested Loops(Inner") < at("Merge Join(Inner")
    );
    // As written, whatever is cheaper.
    let shown = plan(
        &mut b,
        "SELECT COUNT(*) FROM a JOIN c ON a.i = c.k JOIN one ON one.k = c.k OPTION (FORCE ORDER)",
    );
    let at = |table: &str| shown.find(&format!("[{table}]")).expect("the table");
    assert!(at("a") < at("c") && at("c") < at("one"), "{shown}");
}

#[test]
fn merges_use_and_keep_orders() {
    let mut b = Bench::new();
    fill(&mut b, 3000);
    for (sql, sorts) in [
        // Both clustered by the key.
        ("SELECT a.i, b.i FROM a INNER MERGE JOIN b ON a.k = b.k", 0),
        ("SELECT a.k, b.i FROM a INNER MERGE JOIN b ON a.k = b.k ORDER BY a.k", 0),
        ("SELECT b.k, COUNT(*) FROM a INNER MERGE JOIN b ON a.k = b.k GROUP BY b.k", 0),
        ("SELECT DISTINCT a.k FROM a LEFT MERGE JOIN b ON a.k = b.k", 0),
        // An index that holds what is wanted is read in its order.
        ("SELECT a.i, c.k FROM a INNER MERGE JOIN c ON a.k = c.k", 0),
        ("SELECT a.i, c.s FROM a INNER MERGE JOIN c ON a.s = c.s", 2),
        ("SELECT a.k, b.i FROM a INNER MERGE JOIN b ON a.k = b.k ORDER BY a.k DESC", 1),
        ("SELECT a.k, b.i FROM a FULL MERGE JOIN b ON a.k = b.k ORDER BY a.k", 1),
        // Locked rows are read by their keys; entries stay as they are as long as their locks do.
        ("SELECT a.i, b.i FROM a WITH (HOLDLOCK) INNER MERGE JOIN b ON a.k = b.k", 0),
        ("SELECT a.i, b.i FROM a WITH (READCOMMITTEDLOCK) INNER MERGE JOIN b ON a.k = b.k", 0),
        (
            "SELECT a.i, c.k FROM a WITH (HOLDLOCK) INNER MERGE JOIN c WITH (REPEATABLEREAD) ON a.k = c.k",
            0,
        ),
        ("SELECT a.i, c.k FROM a INNER MERGE JOIN c WITH (READCOMMITTEDLOCK) ON a.k = c.k", 1),
        // What others change while it is read lies in no order.
        ("SELECT a.i, b.i FROM a WITH (NOLOCK) INNER MERGE JOIN b ON a.k = b.k", 1),
        // Semi joins of tables that come in order need no hint.
        ("SELECT COUNT(*) FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k AND b.i <> a.i)", 0),
    ] {
        let shown = plan(&mut b, sql);
        assert!(shown.contains("Merge Join"), "{sql}: {shown}");
        assert_eq!(shown.matches("|--Sort(").count(), sorts, "{sql}: {shown}");
        let plain = sql.replace(" MERGE", " HASH");
        assert_eq!(rows(&mut b, sql), rows(&mut b, &plain), "{sql}");
    }
    let ordered = "SELECT a.k FROM a INNER MERGE JOIN one ON one.k = a.k ORDER BY a.k";
    let (given, sorted) = (b.run(ordered), b.run(&ordered.replace("MERGE", "HASH")));
    assert_eq!(given, sorted);
    // A loop keeps the order of its left side.
    let shown = plan(
        &mut b,
        "SELECT TOP (5) a.k, one.v FROM a INNER LOOP JOIN one ON one.k = a.i ORDER BY a.k, a.i",
    );
    assert!(!shown.contains("Sort"), "{shown}");
}

/// Tables whose clustered keys begin with the same columns, of other types and in other directions;
/// `n` has NULL in its keys. A value of `x` has a thirtieth of the rows of `p`.
fn fill_several(b: &mut Bench) {
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE p (x int NOT NULL, y smallint NOT NULL, z int NOT NULL, v int, PRIMARY KEY (x, y, z))
         CREATE TABLE q (x int NOT NULL, y smallint NOT NULL, z int NOT NULL, i int NOT NULL, v int,
                         PRIMARY KEY (x, y, z, i))
         CREATE TABLE wide (x bigint, y decimal(9, 2), z bigint, v int)
         CREATE CLUSTERED INDEX by_xyz ON wide (x, y, z)
         CREATE TABLE down (x int NOT NULL, y smallint NOT NULL, z int NOT NULL, v int,
                            PRIMARY KEY (x DESC, y, z DESC))
         CREATE TABLE up (x int NOT NULL, y smallint NOT NULL, z int NOT NULL, v int,
                          PRIMARY KEY (x, y DESC, z))
         CREATE TABLE other (x int NOT NULL, y smallint NOT NULL, z int NOT NULL, v int,
                             PRIMARY KEY (x, z, y))
         CREATE TABLE n (x int, y smallint, z int, v int)
         CREATE CLUSTERED INDEX by_xyz ON n (x, y, z)
         CREATE TABLE word (x int NOT NULL, s varchar(9) COLLATE Latin1_General_CI_AS NOT NULL,
                            z int NOT NULL, PRIMARY KEY (x, s, z))
         CREATE TABLE words (x int NOT NULL, s varchar(9) COLLATE Latin1_General_CI_AS NOT NULL,
                             z int NOT NULL, PRIMARY KEY (x, s, z))
         CREATE TABLE approx (x float NOT NULL, y smallint NOT NULL, v int, PRIMARY KEY (x, y))
         CREATE TABLE large (x bigint NOT NULL, y smallint NOT NULL, v int, PRIMARY KEY (x, y))
         INSERT p SELECT x.value, y.value, z.value, x.value + z.value
         FROM GENERATE_SERIES(1, 30) x, GENERATE_SERIES(1, 5) y, GENERATE_SERIES(1, 20) z
         INSERT q SELECT x, y, z, i.value, v FROM p CROSS JOIN GENERATE_SERIES(1, 3) i WHERE (x + z) % 4 > 0
         INSERT wide SELECT x, y, z, v FROM q WHERE z % 3 > 0
         INSERT down SELECT x, y, z, v FROM p WHERE (y + z) % 3 > 0
         INSERT up SELECT x, y, z, v FROM p WHERE (x + y) % 3 > 0
         INSERT other SELECT x, y, z, v FROM p WHERE z % 2 = 0
         INSERT n SELECT NULLIF(x, 7), NULLIF(y, 3), NULLIF(z, 11), v FROM p WHERE (x + y + z) % 5 > 0
         INSERT n SELECT NULLIF(x, 8), NULLIF(y, 2), NULLIF(z, 12), v FROM p WHERE (x + y + z) % 7 = 0
         INSERT word SELECT x, CHAR(64 + y), z FROM p
         INSERT words SELECT x, CHAR(96 + y), z FROM p WHERE z % 3 = 0
         INSERT large SELECT 9007199254740992 + i.value, 9 - i.value, i.value FROM GENERATE_SERIES(0, 8) i
         INSERT approx SELECT 9007199254740992, i.value, i.value FROM GENERATE_SERIES(1, 9) i",
    );
}

/// Left and right side of a join on three columns.
const SEVERAL: [(&str, &str, usize); 8] = [
    ("p", "q", 3),
    ("q", "p", 3),
    ("q", "wide", 3),
    ("n", "p", 3),
    ("n", "n", 3),
    // Read backwards, and in other directions from column to column.
    ("down", "up", 3),
    ("down", "p", 1),
    ("p", "other", 1),
];

#[test]
fn a_merge_takes_all_keys_that_both_orders_share() {
    let (mut b, mut tiny) = (Bench::new(), Bench::with(|options| options.operator_bytes = Some(1)));
    fill_several(&mut b);
    fill_several(&mut tiny);
    let mut check = |sql: &str, keys: usize| {
        let merged = format!("{sql} OPTION (MERGE JOIN)");
        let shown = plan(&mut b, &merged);
        assert!(shown.contains("Merge Join"), "{merged}: {shown}");
        // By fewer keys there would be many more pairs: all are sorted by.
        let wanted = if keys == 1 { 3 } else { keys };
        assert!(shown.contains(&format!("MERGE:({wanted} keys)")), "{merged}: {shown}");
        assert_eq!(shown.contains("|--Sort("), keys != wanted, "{merged}: {shown}");
        let hashed = rows(&mut b, &format!("{sql} OPTION (HASH JOIN)"));
        assert_eq!(rows(&mut b, &merged), hashed, "{merged}");
        assert_eq!(rows(&mut tiny, &merged), hashed, "{merged}, no memory");
    };
    for (left, right, keys) in SEVERAL {
        let on = "r.x = l.x AND r.y = l.y AND r.z = l.z";
        for join in ["JOIN", "LEFT JOIN", "FULL JOIN"] {
            check(
                &format!("SELECT l.x, l.y, l.z, l.v, r.v FROM {left} l {join} {right} r ON {on}"),
                keys,
            );
            check(
                &format!(
                    "SELECT l.x, l.y, l.v, r.z, r.v FROM {left} l {join} {right} r ON {on} AND r.v > 20"
                ),
                keys,
            );
        }
        for exists in ["EXISTS", "NOT EXISTS"] {
            let sql = format!("SELECT l.x, l.y, l.z, l.v FROM {left} l WHERE {exists}");
            check(&format!("{sql} (SELECT * FROM {right} r WHERE {on})"), keys);
            check(
                &format!("{sql} (SELECT * FROM {right} r WHERE {on} AND r.v <> l.v + l.z % 2)"),
                keys,
            );
        }
    }
}

#[test]
fn keys_of_texts_and_of_rounded_numbers_are_merged() {
    let mut b = Bench::new();
    fill_several(&mut b);
    let words = "SELECT l.s, r.s, l.x, r.z FROM word l JOIN words r ON l.x = r.x AND l.z = r.z AND l.s = r.s";
    let shown = plan(&mut b, &format!("{words} OPTION (MERGE JOIN)"));
    assert!(shown.contains("MERGE:(3 keys)") && !shown.contains("|--Sort("), "{shown}");
    for sql in [
        words,
        // What is compared under another collation than the index's is in no order.
        &format!("{words} COLLATE Latin1_General_BIN2"),
        // Two large numbers are one float: what is behind them is ordered within each.
        "SELECT l.v, r.v FROM large l JOIN approx r ON l.x = r.x AND l.y = r.y",
        "SELECT l.v, r.v FROM approx l LEFT JOIN large r ON l.y = r.y AND l.x = r.x",
    ] {
        let hashed = rows(&mut b, &format!("{sql} OPTION (HASH JOIN)"));
        assert_eq!(rows(&mut b, &format!("{sql} OPTION (MERGE JOIN)")), hashed, "{sql}");
    }
}

/// Rows of `large` that are one float come in turn with each row of `approx`: not in their order.
#[test]
fn rounded_keys_give_no_order() {
    let mut b = Bench::new();
    fill_several(&mut b);
    for (left, right) in [("approx", "large"), ("large", "approx")] {
        let from = format!("FROM {left} l INNER MERGE JOIN {right} r ON l.x = r.x");
        let x = if left == "large" { "l.x" } else { "r.x" };
        let groups = format!("SELECT {x} % 10, COUNT(*) {from} GROUP BY {x} ORDER BY {x}");
        b.check(&groups, "2|9\n3|9");
        let ordered = format!("SELECT {x} % 10 {from} ORDER BY {x}");
        b.check(&ordered, &format!("{}{}", "2\n".repeat(9), "3\n".repeat(9)));
    }
}

#[test]
fn a_merge_by_several_keys_is_chosen_and_keeps_its_order() {
    let mut b = Bench::new();
    fill_several(&mut b);
    let on = "p.x = q.x AND p.y = q.y AND p.z = q.z";
    b.check(&format!("SELECT COUNT(*) FROM q JOIN p ON {on}"), "6750");
    for (sql, merges) in [
        (format!("SELECT COUNT(*) FROM q JOIN p ON {on}"), 1),
        (format!("SELECT p.x, COUNT(*) FROM q JOIN p ON {on} GROUP BY p.x"), 1),
        (format!("SELECT p.x, p.y, q.i FROM p INNER MERGE JOIN q ON {on} ORDER BY q.x, p.y"), 1),
        (format!("SELECT DISTINCT p.y, p.x FROM p LEFT MERGE JOIN q ON {on}"), 1),
        // Three tables by what all of them share.
        (
            format!(
                "SELECT c.x, c.y, c.z, q.i FROM q JOIN p ON {on}
                 JOIN p c ON c.x = p.x AND c.y = p.y AND c.z = p.z"
            ),
            2,
        ),
    ] {
        let shown = plan(&mut b, &sql);
        assert_eq!(shown.matches("MERGE:(3 keys)").count(), merges, "{sql}: {shown}");
        assert!(!shown.contains("|--Sort(") && !shown.contains("Hash"), "{sql}: {shown}");
        let hashed = rows(&mut b, &format!("{} OPTION (HASH JOIN)", sql.replace(" MERGE", "")));
        assert_eq!(rows(&mut b, &sql), hashed, "{sql}");
    }
    // One key of few values that both orders begin with is no reason to merge: the others would be
    // tested on each pair.
    let shown = plan(
        &mut b,
        "SELECT COUNT(*) FROM p JOIN other o ON p.x = o.x AND p.y = o.y AND p.z = o.z",
    );
    assert!(!shown.contains("MERGE:(1 keys)"), "{shown}");
}

/// The search for an order weighs columns of one type; the written order and converted columns are
/// weighed by themselves.
#[test]
fn inner_joins_that_no_search_has_weighed_are_merged() {
    let mut b = Bench::new();
    fill_several(&mut b);
    let on = "l.x = r.x AND l.y = r.y AND l.z = r.z";
    for (tables, option) in [
        ("p l JOIN q r", "OPTION (FORCE ORDER)"),
        ("q l JOIN p r", "OPTION (FORCE ORDER)"),
        ("q l JOIN wide r", ""),
        ("wide l JOIN q r", "OPTION (FORCE ORDER)"),
        ("q l JOIN wide r", "OPTION (QUERYRULEOFF JoinOrder)"),
    ] {
        let sql = format!("SELECT COUNT(*), SUM(l.x + r.z) FROM {tables} ON {on}");
        let shown = plan(&mut b, &format!("{sql} {option}"));
        assert!(shown.contains("MERGE:(3 keys)"), "{sql} {option}: {shown}");
        assert!(
            !shown.contains("|--Sort(") && !shown.contains("Hash Match(Inner"),
            "{sql}: {shown}"
        );
        let hashed = b.run(&format!("{sql} OPTION (HASH JOIN)"));
        assert_eq!(b.run(&format!("{sql} {option}")), hashed, "{sql} {option}");
    }
    // What is compared as text is in no order of the numbers.
    let texts =
        "SELECT COUNT(*) FROM p l JOIN q r ON CAST(l.x AS varchar(9)) = CAST(r.x AS varchar(9))";
    let shown = plan(&mut b, &format!("{texts} OPTION (FORCE ORDER)"));
    assert!(!shown.contains("Merge Join"), "{shown}");
}

#[test]
fn frequent_values_make_a_merge_by_part_of_the_keys_dear() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE a (x int NOT NULL, i int NOT NULL, s int NOT NULL, PRIMARY KEY (x, i))
         CREATE TABLE b (x int NOT NULL, j int NOT NULL, s int NOT NULL, PRIMARY KEY (x, j))
         INSERT a SELECT IIF(i.value % 3 = 0, 7, i.value), i.value, i.value % 500 FROM GENERATE_SERIES(1, 4000) i
         INSERT b SELECT IIF(i.value % 3 = 0, 7, i.value), i.value, i.value % 500 FROM GENERATE_SERIES(1, 4000) i",
    );
    // A third of either table has one value: 1.8 million pairs.
    for sql in [
        "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x AND a.s = b.s",
        "SELECT COUNT(*) FROM a LEFT JOIN b ON a.x = b.x AND a.s = b.s",
    ] {
        let shown = plan(&mut b, sql);
        assert!(shown.contains("Hash Match") && !shown.contains("Merge Join"), "{sql}: {shown}");
    }
    // Without the second column all of the pairs are the result.
    let shown = plan(&mut b, "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x");
    assert!(shown.contains("MERGE:(1 keys)"), "{shown}");
}

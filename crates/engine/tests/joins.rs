//! Operators of joins: each kind of join by each operator gives the same rows, hints are honoured or refused, merges use the order that
//! rows come in and give theirs on.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use text::Bench;

/// `a` and `b` have `count` rows and a clustered key, `c` is a heap with an index and half the rows; keys come up to
/// `count / 4` times, NULL among them.
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
        for (hint, operator) in [("HASH", "Hash Match"), ("MERGE", "Merge Join"), ("LOOP", "Nested Loops")] {
            let hinted = format!("{sql} OPTION ({hint} JOIN)");
            let shown = plan(&mut b, &hinted);
            let joins: Vec<&str> =
                shown.lines().filter(|line| line.contains(" Join)") || line.contains(" Join, ")).collect();
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
    let shown = plan(&mut b, "SELECT COUNT(*) FROM a JOIN b ON a.k = b.k OPTION (MERGE JOIN, LOOP JOIN)");
    assert!(!shown.contains("Hash"), "{shown}");
    // A hint beside a join is for that join, and keeps the order of all.
    let shown = plan(
        &mut b,
        "SELECT COUNT(*) FROM a INNER MERGE JOIN b ON a.k = b.k INNER LOOP JOIN c ON c.k = a.k LEFT HASH JOIN one ON one.k = c.k",
    );
    let at = |operator: &str| shown.find(operator).unwrap_or_else(|| panic!("{operator} in {shown}"));
    assert!(
        at("Hash Match(Left") < at("Nested Loops(Inner") && at("Nested Loops(Inner") < at("Merge Join(Inner")
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
        // What others change while it is read lies in no order.
        ("SELECT a.i, b.i FROM a WITH (HOLDLOCK) INNER MERGE JOIN b ON a.k = b.k", 1),
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
    let shown =
        plan(&mut b, "SELECT TOP (5) a.k, one.v FROM a INNER LOOP JOIN one ON one.k = a.i ORDER BY a.k, a.i");
    assert!(!shown.contains("Sort"), "{shown}");
}

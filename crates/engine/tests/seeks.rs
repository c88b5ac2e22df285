//! Which conditions become seeks: IN, LIKE with a prefix, MIN and MAX; each with the rows that a scan gives.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use text::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE t (id int PRIMARY KEY, k int, name varchar(30), pad char(100) DEFAULT 'x')
         CREATE INDEX by_k ON t (k)
         CREATE INDEX by_name ON t (name)
         INSERT t (id, k, name)
         SELECT i, CASE WHEN i % 50 = 0 THEN NULL ELSE i % 1000 END,
             CONCAT(CHAR(97 + i % 26), CASE WHEN i % 3 = 0 THEN 'A' ELSE 'b' END, i)
         FROM (SELECT TOP (8000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS i
               FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c) n",
    );
    b
}

fn lines(b: &mut Bench, sql: &str) -> String {
    b.run(sql).trim().to_owned()
}

fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

/// The same answer as of a table without indexes, and a seek in the plan.
fn sought(b: &mut Bench, sql: &str) {
    let shown = plan(b, sql);
    assert!(shown.contains("Seek"), "{sql}: {shown}");
    same(b, sql);
}

/// The same answer as of a table without indexes.
fn same(b: &mut Bench, sql: &str) {
    b.run("DROP TABLE IF EXISTS plain SELECT * INTO plain FROM t");
    let by_hand = lines(b, &sql.replace("FROM t", "FROM plain"));
    assert_eq!(lines(b, sql), by_hand, "{sql}");
}

#[test]
fn in_lists_are_sought() {
    let mut b = bench();
    sought(&mut b, "SELECT COUNT(*), SUM(id) FROM t WHERE id IN (3, 5, 5, 7000, NULL, -1)");
    sought(&mut b, "SELECT COUNT(*), SUM(id) FROM t WHERE k IN (1, 2, 999, 1, 5000) AND id > 100");
    sought(&mut b, "SELECT id, k FROM t WHERE name IN ('aA78', 'AA78', 'nothing') ORDER BY id");
    same(&mut b, "SELECT COUNT(*) FROM t WHERE k NOT IN (1, 2, 3)");
    same(&mut b, "SELECT COUNT(*) FROM t WHERE k NOT IN (1, NULL)");
    same(&mut b, "SELECT COUNT(*) FROM t WHERE k IN (1, 2) OR k = 3");
    let many: Vec<String> = (0..5_000).map(|i| (i * 2).to_string()).collect();
    same(&mut b, &format!("SELECT COUNT(*), SUM(id) FROM t WHERE id IN ({})", many.join(", ")));
    b.run("DECLARE @a int = 3, @b int = 4 SELECT SUM(id) FROM t WHERE id IN (@a, @b, @a + @b)");
}

#[test]
fn patterns_with_a_prefix_are_sought() {
    let mut b = bench();
    sought(&mut b, "SELECT COUNT(*), MIN(id), MAX(id) FROM t WHERE name LIKE 'ca1%'");
    sought(&mut b, "SELECT COUNT(*), MIN(id), MAX(id) FROM t WHERE name LIKE 'CA1_[0-5]%'");
    sought(&mut b, "SELECT COUNT(*) FROM t WHERE name LIKE 'aA78'");
    same(&mut b, "SELECT COUNT(*) FROM t WHERE name LIKE '%78'");
    same(&mut b, "SELECT COUNT(*) FROM t WHERE name NOT LIKE 'a%'");
    same(&mut b, "SELECT COUNT(*) FROM t WHERE name LIKE '[ab]%'");
    same(&mut b, "SELECT COUNT(*) FROM t WHERE name LIKE 'a %'");
    b.run("INSERT t (id, name) VALUES (-1, 'q'), (-2, 'q '), (-3, 'q \u{ff}'), (-4, 'Q\u{ff}\u{ff}\u{ff}'), (-5, 'r')");
    same(&mut b, "SELECT id FROM t WHERE name LIKE 'q%' AND id < 0 ORDER BY id");
    same(&mut b, "SELECT id FROM t WHERE name LIKE 'q ' AND id < 0 ORDER BY id");
}

#[test]
fn the_first_and_the_last_entry_answer_min_and_max() {
    let mut b = bench();
    for query in [
        "SELECT MAX(id) FROM t",
        "SELECT MIN(id) FROM t",
        "SELECT MIN(k) FROM t",
        "SELECT MAX(k) FROM t",
        "SELECT MAX(name) FROM t",
        "SELECT MIN(id) FROM t WHERE id > 500",
        "SELECT MAX(id) FROM t WHERE pad = 'x'",
    ] {
        let shown = plan(&mut b, query);
        assert!(shown.contains("Top"), "{query}: {shown}");
        same(&mut b, query);
    }
    same(&mut b, "SELECT MIN(id), MAX(id) FROM t");
    same(&mut b, "SELECT MAX(id) FROM t WHERE k = 7");
    same(&mut b, "SELECT MAX(id) FROM t WHERE 1 = 0");
    same(&mut b, "SELECT k, MAX(id) FROM t WHERE k < 5 GROUP BY k ORDER BY k");
    b.run("DELETE t");
    assert_eq!(lines(&mut b, "SELECT MAX(id) FROM t"), "NULL");
}

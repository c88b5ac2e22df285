//! Which conditions become seeks: IN, LIKE with a prefix or a parameter, MIN and MAX; each with the
//! rows that a scan gives.

use crate::support::text::Bench;

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
fn values_of_subqueries_are_sought() {
    let mut b = bench();
    sought(&mut b, "SELECT name FROM t WHERE id = (SELECT MAX(v) FROM (VALUES (3), (77)) x (v))");
    sought(
        &mut b,
        "SELECT COUNT(*) FROM t WHERE k = (SELECT MIN(v) + 1 FROM (VALUES (3), (77)) x (v))",
    );
    sought(&mut b, "SELECT COUNT(*) FROM t WHERE (SELECT 7990) < id AND name <> 'x'");
    sought(&mut b, "SELECT id FROM t WHERE id = (SELECT v FROM (VALUES (3)) x (v) WHERE v > 5)");
    // The value is computed once for each row around it, not for each row of the table.
    same(
        &mut b,
        "SELECT v, (SELECT COUNT(*) FROM t WHERE k = (SELECT MAX(w) FROM (VALUES (1), (2), (3)) y (w) WHERE w <= x.v)) \
         FROM (VALUES (1), (2), (5)) x (v) ORDER BY v",
    );
    let shown = plan(&mut b, "SELECT name FROM t WHERE id = (SELECT MAX(id) FROM t)");
    assert!(!shown.contains("Filter") && shown.contains("SEEK:([id])"), "{shown}");
    assert_eq!(lines(&mut b, "SELECT id FROM t WHERE id = (SELECT MAX(id) FROM t)"), "8000");
    b.check(
        "SELECT id FROM t WHERE id = (SELECT v FROM (VALUES (3), (4)) x (v))",
        "Msg 512: Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= \
         or when the subquery is used as an expression.",
    );
    assert_eq!(
        lines(&mut b, "UPDATE t SET k = -7 WHERE id = (SELECT MAX(id) FROM t) SELECT @@ROWCOUNT"),
        "1"
    );
    assert_eq!(lines(&mut b, "DELETE t WHERE k = (SELECT MIN(k) FROM t) SELECT @@ROWCOUNT"), "1");
}

/// The same answer as of a table without indexes; one seek has so many ranges.
fn ranges(b: &mut Bench, count: usize, sql: &str) {
    let shown = plan(b, sql);
    assert!(shown.contains(&format!("{count} ranges)")), "{sql}: {shown}");
    same(b, sql);
}

#[test]
fn alternatives_are_ranges_of_one_seek() {
    let mut b = bench();
    ranges(&mut b, 2, "SELECT COUNT(*), SUM(id) FROM t WHERE id = 4 OR id = 7990");
    ranges(
        &mut b,
        3,
        "SELECT COUNT(*), SUM(id) FROM t WHERE id < 4 OR id BETWEEN 70 AND 90 OR id >= 7998",
    );
    // Ranges that overlap, contain each other, or are empty give each row once.
    ranges(
        &mut b,
        4,
        "SELECT id FROM t WHERE id < 9 OR id IN (3, 9) OR (id > 5 AND id <= 12) ORDER BY id DESC",
    );
    ranges(
        &mut b,
        3,
        "SELECT id FROM t WHERE id > 7995 OR id = NULL OR (id > 8 AND id < 3) ORDER BY id",
    );
    ranges(&mut b, 2, "SELECT COUNT(*) FROM t WHERE (k = 5 OR k IS NULL) AND name <> 'x'");
    ranges(
        &mut b,
        4,
        "SELECT COUNT(*), SUM(id) FROM t WHERE k IN (3, 5) OR k = (SELECT 9) OR k = 999 AND id > 50",
    );
    // All of the condition is in the ranges: nothing is tested on the row.
    let shown = plan(&mut b, "SELECT name FROM t WHERE k IN (3, 5)");
    assert!(!shown.contains("WHERE:"), "{shown}");
    // In the order of the index, and backwards.
    for order in ["", " DESC"] {
        let sql = format!(
            "SELECT TOP (4) id FROM t WHERE id IN (40, 20, 7000, 30, 20, 9000) ORDER BY id{order}"
        );
        let shown = plan(&mut b, &sql);
        assert!(!shown.contains("Sort"), "{shown}");
        ranges(&mut b, 6, &sql);
    }
    // Under locks of rows and of the gaps between them.
    for locks in ["HOLDLOCK", "UPDLOCK, HOLDLOCK", "REPEATABLEREAD", "READPAST"] {
        let sql = "FROM t WITH (X) WHERE id IN (40, 20, 7000) OR id > 7990 ORDER BY id DESC"
            .replace('X', locks);
        ranges(&mut b, 4, &format!("SELECT id {sql}"));
    }
    b.run("CREATE TABLE keyed (a int, b int, c int, PRIMARY KEY (a, b, c))
           INSERT keyed SELECT id % 20, id % 30, id FROM t
           DROP TABLE t SELECT * INTO t0 FROM keyed CREATE TABLE t (a int, b int, c int, PRIMARY KEY (a, b, c))
           INSERT t SELECT * FROM t0");
    ranges(&mut b, 6, "SELECT COUNT(*), SUM(c) FROM t WHERE b IN (7, 8, 9) AND a IN (3, 7)");
    ranges(
        &mut b,
        2,
        "SELECT COUNT(*), SUM(c) FROM t WHERE (a = 3 AND b > 5) OR (a = 7 AND b < 9 AND c > 5)",
    );
    ranges(&mut b, 2, "SELECT a, b, c FROM t WHERE a = 3 AND b IN (3, 13) ORDER BY b, c");
}

#[test]
fn alternatives_of_several_indexes_are_united() {
    let mut b = bench();
    for sql in [
        "SELECT COUNT(*), SUM(id) FROM t WHERE k = 5 OR name = 'fA5' OR id = 5",
        "SELECT id, pad FROM t WHERE (k = 5 OR name BETWEEN 'zb2' AND 'zb29' OR id BETWEEN 8 AND 9) AND id > 5 ORDER BY id",
        "SELECT id FROM t WITH (NOLOCK) WHERE k IN (5, 7) OR name = 'gb6' ORDER BY id",
    ] {
        let shown = plan(&mut b, sql);
        assert!(shown.contains("Key Lookup") && shown.contains("Flow Distinct"), "{sql}: {shown}");
        same(&mut b, sql);
    }
    same(&mut b, "SELECT COUNT(*) FROM t WHERE k = 5 OR pad = 'y'");
    same(&mut b, "SELECT COUNT(*) FROM t WHERE k > 5 OR name > 'b'");
    same(&mut b, "SELECT COUNT(*) FROM t WITH (UPDLOCK) WHERE k = 5 OR name = 'fA5'");
    assert_eq!(
        lines(&mut b, "UPDATE t SET k = 7 WHERE k = 5 OR name = 'fA5' SELECT @@ROWCOUNT"),
        "8"
    );
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

/// Of few rows that no index finds the first one in the order of the key is met before the others;
/// where one finds them, the key is not read.
#[test]
fn the_key_is_read_from_one_end_for_few_rows() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE m (id int PRIMARY KEY, who int, v char(50))
         INSERT m SELECT value, value % 2000, 'x' FROM GENERATE_SERIES(1, 20000)",
    );
    let largest = "SELECT MAX(id) FROM m WHERE who = 77";
    let shown = plan(&mut b, largest);
    assert!(shown.contains("Top") && shown.contains("ORDERED BACKWARD"), "{shown}");
    let smallest = "SELECT MIN(id) FROM m WHERE who = 77 AND v = 'x'";
    let shown = plan(&mut b, smallest);
    assert!(shown.contains("Top"), "{shown}");
    let nobody = "SELECT MAX(id) FROM m WHERE who = 5000";
    let found = [largest, smallest, nobody].map(|sql| lines(&mut b, sql));
    assert_eq!(found, ["18077", "77", "NULL"]);
    b.run("CREATE INDEX by_who ON m (who, v)");
    let shown = plan(&mut b, largest);
    assert!(shown.contains("Index Seek") && !shown.contains("Top"), "{shown}");
    assert_eq!(lines(&mut b, largest), "18077");
}

/// Numbers in a list, each so far from the one before.
fn numbers(count: usize, step: usize) -> String {
    (1..=count).map(|n| (n * step).to_string()).collect::<Vec<_>>().join(", ")
}

#[test]
fn long_lists_are_ranges_of_one_seek() {
    let mut b = bench();
    for count in [33, 100, 200] {
        let list = numbers(count, 5);
        ranges(&mut b, count, &format!("SELECT COUNT(*), SUM(id) FROM t WHERE k IN ({list})"));
    }
    for count in [33, 500, 800] {
        let list = numbers(count, 9);
        // A column that no narrow index has: 8,000 small entries of one are read sooner than 500
        // ways down a tree are gone.
        let sql = format!("SELECT COUNT(pad), SUM(k) FROM t WHERE id IN ({list}, NULL, 9, 18, -5)");
        ranges(&mut b, count + 4, &sql);
        let sql = format!(
            "SELECT COUNT(*) FROM t WITH (UPDLOCK, HOLDLOCK) WHERE id IN ({list}) AND k > 5"
        );
        ranges(&mut b, count, &sql);
    }
    // In the order of the index, and from its end.
    let sql = format!("SELECT TOP (4) id FROM t WHERE id IN ({}) ORDER BY id DESC", numbers(60, 7));
    assert!(!plan(&mut b, &sql).contains("Sort"));
    ranges(&mut b, 60, &sql);
    // Written term by term, and with terms of another column.
    let terms: Vec<String> = (1..=50).map(|n| format!("id = {}", n * 3)).collect();
    ranges(&mut b, 50, &format!("SELECT COUNT(*), SUM(k) FROM t WHERE {}", terms.join(" OR ")));
    let terms: Vec<String> = (1..=50).map(|n| format!("(id = {} AND k < {n})", n * 3)).collect();
    ranges(&mut b, 50, &format!("SELECT COUNT(*), SUM(k) FROM t WHERE {}", terms.join(" OR ")));
    let others: Vec<String> = (1..=50).map(|n| format!("k <> {n}")).collect();
    same(&mut b, &format!("SELECT COUNT(*) FROM t WHERE {} AND name <> 'x'", others.join(" AND ")));
    same(
        &mut b,
        &format!("SELECT COUNT(*) FROM t WHERE NOT ({}) AND id > 5", others.join(" AND ")),
    );
    // The same elements as variables.
    let variables: Vec<String> = (1..=40).map(|n| format!("@a + {n}")).collect();
    let list = variables.join(", ");
    for column in ["id", "k", "k + 0"] {
        let sql = format!(
            "DECLARE @a int = 30 SELECT COUNT(*), SUM(id) FROM t WHERE {column} IN ({list}, @a, NULL)"
        );
        same(&mut b, &sql);
        let sql = format!(
            "DECLARE @a int = 30 SELECT COUNT(*), SUM(id) FROM t WHERE {column} NOT IN ({list}, @a)"
        );
        same(&mut b, &sql);
    }
    let changed = format!(
        "UPDATE t SET name = 'changed' WHERE id IN ({}) SELECT @@ROWCOUNT",
        numbers(300, 20)
    );
    assert_eq!(lines(&mut b, &changed).lines().last(), Some("300"));
    b.check("SELECT COUNT(*), MIN(id), MAX(id) FROM t WHERE name = 'changed'", "300|20|6000");
    b.run("CREATE TABLE keyed (a int, b int, c int, PRIMARY KEY (a, b, c))
           INSERT keyed SELECT id % 20, id % 30, id FROM t
           DROP TABLE t SELECT * INTO t0 FROM keyed CREATE TABLE t (a int, b int, c int, PRIMARY KEY (a, b, c))
           INSERT t SELECT * FROM t0");
    let list = numbers(40, 3);
    // More ranges than the first column has rows to read would not pay.
    let sql = format!("SELECT COUNT(*), SUM(c) FROM t WHERE a = 3 AND b IN ({list}) AND c > 9");
    assert!(plan(&mut b, &sql).contains("SEEK:([a])"));
    same(&mut b, &sql);
    same(
        &mut b,
        &format!("SELECT COUNT(*), SUM(c) FROM t WHERE a IN ({list}) AND b IN ({list}) AND c > 9"),
    );
}

#[test]
fn a_frequent_value_does_not_count_for_the_others_of_a_list() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE skewed (id int PRIMARY KEY, k int, pad char(100) DEFAULT 'x')
         CREATE INDEX by_k ON skewed (k)
         INSERT skewed (id, k)
         SELECT i, CASE WHEN i > 3000 THEN 1 ELSE i END
         FROM (SELECT TOP (30000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS i
               FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c) n",
    );
    for count in [100, 1_000, 1_400] {
        let list = numbers(count, 2);
        let sql = format!("SELECT COUNT(pad), MAX(id) FROM skewed WHERE k IN ({list})");
        let shown = plan(&mut b, &sql);
        assert!(shown.contains(&format!("by_k]), SEEK:([k], {count} ranges)")), "{count}: {shown}");
        b.check(&sql, &format!("{count}|{}", count * 2));
    }
    let sql = format!("SELECT COUNT(pad) FROM skewed WHERE k IN ({}, 1)", numbers(1_400, 2));
    assert!(plan(&mut b, &sql).contains("Clustered Index Scan"));
    b.check(&sql, "28401");
}

/// The range of a pattern that is known when the statement runs; the plan is kept from one pattern
/// to the next, and the pattern itself is tested on what the range holds.
#[test]
fn patterns_of_parameters_are_sought() {
    let mut b = bench();
    let said = b.run(
        "CREATE TABLE u (id int PRIMARY KEY, v varchar(20), n nvarchar(20), c char(12),
             bin varchar(20) COLLATE Latin1_General_BIN2)
         CREATE INDEX by_v ON u (v) CREATE INDEX by_n ON u (n) CREATE INDEX by_c ON u (c) CREATE INDEX by_bin ON u (bin)
         INSERT u SELECT id, LEFT(name, 12), LEFT(name, 12), LEFT(name, 12), LEFT(name, 12) FROM t
         INSERT u SELECT 9000 + ordinal, value, value, value, value
         FROM (VALUES (1, N'%x'), (2, N'_y '), (3, N'a  '), (4, N'[z'), (5, N'ABC'), (6, N'abc '), (7, N'aBc  d'),
             (8, N'\u{e4}bc'), (9, N'\u{e4}'), (10, N'a!b'), (11, N'A%b'), (12, N'zzzz'), (13, N'~')) x (ordinal, value)
         INSERT u VALUES (9100, NULL, NULL, NULL, NULL), (9101, '', '', '', '')
         SELECT * INTO plain FROM u",
    );
    assert!(!said.contains("Msg "), "{said}");
    let shown = plan(
        &mut b,
        "DECLARE @p varchar(40) = 'ca1%' SELECT COUNT(*), MIN(id) FROM u WHERE v LIKE @p",
    );
    assert!(shown.contains("Index Seek") && shown.contains("SEEK:([v])"), "{shown}");
    // Of an unknown pattern, which may be '%', rows are not looked up one by one.
    let shown =
        plan(&mut b, "DECLARE @p varchar(40) = 'ca1%' SELECT MAX(pad) FROM t WHERE name LIKE @p");
    assert!(shown.contains("Clustered Index Scan"), "{shown}");
    // Nor are they by two of them, whose rows would be looked for in hash tables first.
    let sql = "DECLARE @p varchar(40) = 'ca1%', @q varchar(40) = '%'
               SELECT MAX(LEN(bin)) FROM u WHERE v LIKE @p AND n LIKE @q";
    let shown = plan(&mut b, sql);
    assert!(shown.contains("Clustered Index Scan"), "{shown}");
    let found = "COUNT(*), MIN(id), MAX(id), CHECKSUM_AGG(id)";
    let patterns = [
        "'ca1%'",
        "'CA1_[0-5]%'",
        "'aA78'",
        "'%78'",
        "'[ab]%'",
        "'a %'",
        "'a'",
        "'a  '",
        "''",
        "'%'",
        "' %'",
        "'_b1%'",
        "'abc%'",
        "'abc '",
        "'\u{e4}%'",
        "'\u{e4}b_'",
        "'z%'",
        "'~%'",
        "'nothing%'",
        "'[%'",
        "NULL",
    ];
    let escaped = ["'a!%%'", "'!%x'", "'![z'", "'a!!b'", "'!_%'", "'a%'", "'!'", "NULL"];
    let cases = patterns
        .map(|pattern| (pattern, false))
        .into_iter()
        .chain(escaped.map(|pattern| (pattern, true)));
    for (pattern, escapes) in cases {
        for column in ["v", "n", "c", "bin"] {
            for (ty, mark) in [("varchar(40)", ""), ("nvarchar(40)", "N")] {
                let marked =
                    if pattern == "NULL" { pattern.to_owned() } else { format!("{mark}{pattern}") };
                let (by_hand, by_param) =
                    if escapes { (" ESCAPE '!'", " ESCAPE @e") } else { ("", "") };
                let expected = lines(
                    &mut b,
                    &format!("SELECT {found} FROM plain WHERE {column} LIKE {marked}{by_hand}"),
                );
                let sql = format!(
                    "EXEC sp_executesql N'SELECT {found} FROM u WITH (FORCESEEK) WHERE {column} LIKE @p{by_param}',
                     N'@p {ty}, @e char(1)', {marked}, '!'"
                );
                assert_eq!(lines(&mut b, &sql), expected, "{sql}");
            }
        }
    }
    let seek = "SELECT COUNT(*) FROM u WITH (FORCESEEK) WHERE v LIKE @p ESCAPE @e";
    // What is no escape is told of a row, and of none where there is none.
    b.fails(&format!("DECLARE @p varchar(9) = 'a%', @e varchar(9) = '!!' {seek}"), 506);
    b.check(&format!("DECLARE @p varchar(9) = 'a%', @e varchar(9) = NULL {seek}"), "0");
    // The range of each row of a join, of several patterns, and of a column behind another one.
    b.run("CREATE TABLE wanted (p varchar(40)) INSERT wanted VALUES ('ca1%'), ('%78'), (NULL), ('abc%')");
    for (sought, by_hand) in [
        (
            "SELECT SUM(x.n) FROM wanted w CROSS APPLY (SELECT COUNT(*) FROM u WITH (FORCESEEK) WHERE v LIKE w.p) x (n)",
            "SELECT SUM(x.n) FROM wanted w CROSS APPLY (SELECT COUNT(*) FROM plain WHERE v LIKE w.p) x (n)",
        ),
        (
            "DECLARE @p varchar(9) = 'ca1%', @q varchar(9) = 'abc%'
             SELECT COUNT(*), SUM(id) FROM u WITH (FORCESEEK) WHERE v LIKE @p OR v LIKE @q",
            "SELECT COUNT(*), SUM(id) FROM plain WHERE v LIKE 'ca1%' OR v LIKE 'abc%'",
        ),
        (
            "DECLARE @p varchar(9) = 'ca1%', @k int = 54
             CREATE INDEX by_both ON t (k, name) SELECT COUNT(*), SUM(id) FROM t WITH (FORCESEEK (by_both (k, name)))
             WHERE k IN (@k, 106, 132) AND name LIKE @p",
            "SELECT COUNT(*), SUM(id) FROM t WITH (INDEX (1)) WHERE k IN (54, 106, 132) AND name LIKE 'ca1%'",
        ),
    ] {
        let expected = lines(&mut b, by_hand);
        assert_eq!(lines(&mut b, sought), expected, "{sought}");
        assert!(!expected.starts_with("Msg") && !expected.starts_with('0'), "{by_hand}: {expected}");
    }
}

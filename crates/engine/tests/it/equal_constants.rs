//! A value of one side of an equality that the other side is sought by, and the rows that come
//! without it.

use crate::support::text::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    let out = b.run(
        "SET NOCOUNT ON
         CREATE TABLE a (x int NOT NULL, y int NOT NULL, z int NULL, v int NOT NULL, PRIMARY KEY (x, y))
         CREATE TABLE b (x int NOT NULL, y int NOT NULL, z int NULL, v int NOT NULL, PRIMARY KEY (x, y))
         CREATE TABLE c (x int NULL, y int NOT NULL, v int NOT NULL, INDEX x (x))
         CREATE TABLE n (s varchar(20) COLLATE Latin1_General_CI_AS, t varchar(20) COLLATE Latin1_General_BIN2, v int)
         CREATE TABLE m (s varchar(20) COLLATE Latin1_General_CI_AS, v int, big bigint, INDEX s (s), INDEX big (big))
         INSERT a SELECT value / 50, value % 50, NULLIF(value % 7, 0), value FROM GENERATE_SERIES(0, 4999)
         INSERT b SELECT value / 30, value % 30, NULLIF(value % 5, 0), value FROM GENERATE_SERIES(0, 2999)
         INSERT c SELECT NULLIF(value % 60, 0), value, value FROM GENERATE_SERIES(0, 1999)
         INSERT n VALUES ('one', 'one', 1), ('One', 'One', 2), ('two', 'two', 3), (NULL, NULL, 4), ('one ', 'ONE', 5)
         INSERT m SELECT CASE value % 3 WHEN 0 THEN 'ONE' WHEN 1 THEN 'two' END, value, value FROM GENERATE_SERIES(0, 299)",
    );
    assert_eq!(out, "");
    b
}

fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

#[test]
fn every_table_is_sought() {
    let mut b = bench();
    for (sql, seeks) in [
        ("SELECT COUNT(*) FROM a JOIN b ON a.x = b.x AND a.y = b.y WHERE a.x = 7", 2),
        ("SELECT COUNT(*) FROM a JOIN b ON a.x = b.x WHERE b.x = 7 AND a.y < 3", 2),
        ("SELECT COUNT(*) FROM a, b, c WHERE a.x = b.x AND b.x = c.x AND 7 = c.x AND a.y = b.y", 3),
        ("SELECT COUNT(*) FROM a LEFT JOIN b ON b.x = a.x AND b.y = a.y WHERE a.x = 7", 2),
        (
            "DECLARE @v int = 7 SELECT COUNT(*) FROM a JOIN (SELECT x AS q, y FROM b) d ON d.q = a.x WHERE d.q = @v",
            2,
        ),
    ] {
        let shown = plan(&mut b, sql);
        assert_eq!(shown.matches("Seek(").count(), seeks, "{sql}: {shown}");
        assert!(!shown.contains("Scan("), "{sql}: {shown}");
        let without = format!("{sql} OPTION (QUERYRULEOFF EqualConstant)");
        let rows = b.run(sql);
        assert!(!rows.starts_with('0'), "{sql}: {rows}");
        assert_eq!(b.run(&without), rows, "{sql}");
    }
}

/// Hash tables of what the ranges leave: neither side is read whole.
#[test]
fn limits_of_one_side_are_sought_on_the_other() {
    let mut b = bench();
    let on = "a.x = b.x AND a.y = b.y";
    for (sql, seeks) in [
        (format!("SELECT COUNT(*) FROM a JOIN b ON {on} WHERE a.x > 95"), 2),
        (format!("SELECT COUNT(*) FROM a JOIN b ON {on} WHERE b.x BETWEEN 10 AND 12 AND a.v > 0"), 2),
        (format!("SELECT COUNT(*) FROM a JOIN b ON {on} WHERE a.x IN (5, 50, 99)"), 2),
        (format!("DECLARE @v int = 95 SELECT COUNT(*) FROM a JOIN b ON {on} WHERE @v <= a.x"), 2),
        (format!("SELECT COUNT(*) FROM a, b, a d WHERE {on} AND b.x = d.x AND d.y = a.y AND d.x < 3"), 3),
        (format!("SELECT COUNT(*), COUNT(b.x) FROM a LEFT JOIN b ON {on} WHERE a.x > 95"), 2),
        (
            "SELECT COUNT(*) FROM a JOIN (SELECT x AS q, y FROM b) d ON d.q = a.x AND d.y = a.y WHERE d.q < 3"
                .to_owned(),
            2,
        ),
    ] {
        let hashed = format!("{sql} OPTION (HASH JOIN)");
        let shown = plan(&mut b, &hashed);
        assert_eq!(shown.matches("Seek(").count(), seeks, "{sql}: {shown}");
        assert!(!shown.contains("Scan("), "{sql}: {shown}");
        let rows = b.run(&hashed);
        assert!(!rows.starts_with('0') && !rows.contains("Msg"), "{sql}: {rows}");
        let without = format!("{sql} OPTION (HASH JOIN, QUERYRULEOFF EqualConstant)");
        let shown = plan(&mut b, &without);
        assert!(shown.contains("Scan("), "{without}: {shown}");
        assert_eq!(b.run(&without), rows, "{sql}");
    }
    // What is written on both sides is tested once on each.
    let twice =
        format!("SELECT COUNT(*) FROM a JOIN b ON {on} WHERE a.v > 5 AND a.x > 95 AND b.x > 95");
    let shown = plan(&mut b, &format!("{twice} OPTION (HASH JOIN)"));
    let without = plan(&mut b, &format!("{twice} OPTION (HASH JOIN, QUERYRULEOFF EqualConstant)"));
    let operators = |shown: &str| {
        shown.lines().filter(|line| line.contains("|--")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(operators(&shown), operators(&without));
}

#[test]
fn rows_are_those_without_it() {
    let mut b = bench();
    let queries = [
        // Values that contradict each other, and none.
        "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x WHERE a.x = 7 AND b.x = 8",
        "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x WHERE a.x = 7 AND b.x = 7",
        "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x WHERE a.x = NULL",
        "DECLARE @v int SELECT COUNT(*) FROM a JOIN c ON a.x = c.x WHERE c.x = @v",
        // Several columns of one table, and a ring of equalities.
        "SELECT COUNT(*), SUM(a.v) FROM a JOIN b ON a.x = b.x AND a.y = b.x WHERE b.x = 9",
        "SELECT COUNT(*), SUM(a.v + c.v) FROM a, b, c WHERE a.x = b.x AND b.x = c.x AND c.x = a.x AND b.x = 3",
        "SELECT COUNT(*) FROM a JOIN a d ON a.x = d.x AND a.z = d.z WHERE a.z = 3 AND a.x = 4",
        // Outer joins: from the side that stays, not to it.
        "SELECT COUNT(*), COUNT(b.x), SUM(a.v) FROM a LEFT JOIN b ON b.x = a.x AND b.x = 7",
        "SELECT COUNT(*), COUNT(b.x), SUM(a.v) FROM a LEFT JOIN b ON b.x = a.x AND a.x = 7",
        "SELECT COUNT(*), COUNT(b.x), SUM(b.v) FROM a LEFT JOIN b ON b.x = a.x AND b.y = 99 WHERE a.x = 7",
        "SELECT COUNT(*), COUNT(c.x) FROM a LEFT JOIN b ON b.x = a.x LEFT JOIN c ON c.x = b.x WHERE a.x = 7 AND a.y < 3",
        "SELECT COUNT(*), COUNT(c.x) FROM a LEFT JOIN (b JOIN c ON c.x = b.x) ON b.x = a.x WHERE a.x = 7 AND a.y < 3",
        "SELECT COUNT(*), COUNT(a.x) FROM a RIGHT JOIN c ON c.x = a.x WHERE c.x = 7",
        "SELECT COUNT(*), COUNT(a.x) FROM a FULL JOIN c ON c.x = a.x WHERE c.x = 7 OR c.x IS NULL",
        "SELECT COUNT(*) FROM a LEFT JOIN b ON b.x = a.x WHERE b.x IS NULL AND a.x = 7",
        "SELECT COUNT(*) FROM a LEFT JOIN b ON b.x = a.x WHERE b.x IS NULL AND a.x = 99",
        "SELECT COUNT(*), SUM(a.v) FROM a WHERE EXISTS (SELECT * FROM b WHERE b.x = a.x AND b.y = a.y) AND a.x = 7",
        "SELECT COUNT(*), SUM(a.v) FROM a WHERE NOT EXISTS (SELECT * FROM c WHERE c.x = a.x) AND a.x IN (7) AND a.x = 7",
        // A derived table that computes, groups and limits.
        "SELECT COUNT(*) FROM a JOIN (SELECT x, COUNT(*) n FROM b GROUP BY x) d ON d.x = a.x WHERE a.x = 7",
        "SELECT COUNT(*) FROM a JOIN (SELECT TOP (5) x FROM b ORDER BY x DESC, y) d ON d.x = a.x WHERE a.x = 99",
        "SELECT COUNT(*), SUM(d.q) FROM (SELECT a.x, 10 / (a.x - b.x + 1) AS q FROM a JOIN b ON a.x = b.x) d WHERE d.x = 7",
        // Texts are equal to one value under one collation, and not under another.
        "SELECT n.v, COUNT(*) FROM n JOIN m ON n.s = m.s WHERE n.s = 'one' GROUP BY n.v ORDER BY 1",
        "SELECT COUNT(*) FROM n a JOIN n b ON a.t = b.t WHERE a.t = 'one'",
        "SELECT COUNT(*) FROM n a JOIN n b ON a.t = b.s COLLATE Latin1_General_CI_AS WHERE a.t = 'one'",
        "SELECT COUNT(*) FROM n a JOIN n b ON a.s = b.t COLLATE Latin1_General_BIN2 WHERE a.s = 'one'",
        // Numbers of two types.
        "SELECT COUNT(*) FROM a JOIN m ON m.big = a.x WHERE a.x = 7",
        "SELECT COUNT(*) FROM a JOIN m ON m.big = a.x WHERE m.big = 7",
        // Ranges and lists.
        "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x WHERE a.x > 7 AND b.x < 3",
        "SELECT COUNT(*), SUM(c.v) FROM a JOIN c ON a.x = c.x WHERE c.x < 9",
        "SELECT COUNT(*), SUM(a.v) FROM a JOIN b ON a.x = b.x AND a.y = b.y WHERE 90 < a.x AND b.y IN (1, 2, NULL)",
        "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x WHERE a.x NOT IN (1, 2) AND b.x <> 3 AND a.y = 1",
        "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x WHERE a.x = 7 AND b.x > 3 AND a.x IN (7, 8)",
        "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x AND a.y = b.y
         WHERE a.x > 3 AND a.x < 90 AND a.x IN (4, 5, 6, 80) AND a.x >= 4 AND a.x <= 81 AND b.x > 3 AND b.x < 82",
        "SELECT COUNT(*), SUM(a.v + c.v) FROM a, b, c WHERE a.x = b.x AND b.x = c.x AND c.x = a.x AND b.x > 50 AND c.x < 55",
        "SELECT COUNT(*), COUNT(b.x), SUM(a.v) FROM a LEFT JOIN b ON b.x = a.x AND b.y = a.y AND b.x > 50",
        "SELECT COUNT(*), COUNT(b.x), SUM(a.v) FROM a LEFT JOIN b ON b.x = a.x AND b.y = a.y AND a.x > 50",
        "SELECT COUNT(*), COUNT(b.x), SUM(b.v) FROM a LEFT JOIN b ON b.x = a.x AND b.y = a.y WHERE a.x > 90",
        "SELECT COUNT(*) FROM a LEFT JOIN b ON b.x = a.x AND b.y = a.y WHERE b.x IS NULL AND a.x IN (98, 99)",
        "SELECT COUNT(*), COUNT(a.x) FROM a FULL JOIN c ON c.x = a.x WHERE c.x > 57 OR c.x IS NULL",
        "SELECT COUNT(*), SUM(a.v) FROM a WHERE NOT EXISTS (SELECT * FROM c WHERE c.x = a.x) AND a.x > 55",
        "SELECT COUNT(*), SUM(a.v) FROM a WHERE EXISTS (SELECT * FROM b WHERE b.x = a.x AND b.y = a.y) AND a.x > 95",
        "SELECT COUNT(*) FROM a JOIN (SELECT TOP (5) x FROM b ORDER BY x DESC, y) d ON d.x = a.x WHERE a.x > 98",
        "SELECT COUNT(*), SUM(d.q) FROM (SELECT a.x, 10 / (a.x - b.x + 1) AS q FROM a JOIN b ON a.x = b.x) d WHERE d.x > 97",
        "SELECT n.v, COUNT(*) FROM n JOIN m ON n.s = m.s WHERE n.s > 'oz' GROUP BY n.v ORDER BY 1",
        "SELECT COUNT(*) FROM n JOIN m ON n.s = m.s WHERE m.s IN ('One', 'three')",
        "SELECT COUNT(*) FROM n a JOIN n b ON a.t = b.s COLLATE Latin1_General_CI_AS WHERE a.t < 'b'",
        "SELECT COUNT(*) FROM n a JOIN n b ON a.s = b.t COLLATE Latin1_General_BIN2 WHERE a.s < 'p'",
        "SELECT COUNT(*) FROM a JOIN m ON m.big = a.x WHERE a.x > 90",
        "SELECT COUNT(*) FROM a JOIN m ON m.big = a.x WHERE m.big < 9",
        "DECLARE @v int SELECT COUNT(*) FROM a JOIN c ON a.x = c.x WHERE c.x > @v",
        // Methods that need the equality.
        "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x WHERE a.x = 7 OPTION (HASH JOIN)",
        "SELECT COUNT(*) FROM a INNER MERGE JOIN b ON a.x = b.x WHERE a.x = 7",
    ];
    for sql in queries {
        let rows = b.run(sql);
        assert!(!rows.contains("Msg"), "{sql}: {rows}");
        let without = match sql.strip_suffix("OPTION (HASH JOIN)") {
            Some(sql) => format!("{sql} OPTION (HASH JOIN, QUERYRULEOFF EqualConstant)"),
            None => format!("{sql} OPTION (QUERYRULEOFF EqualConstant)"),
        };
        assert_eq!(rows, b.run(&without), "{sql}");
    }
}

#[test]
fn changes_join_as_reads_do() {
    let mut b = bench();
    b.run("SET NOCOUNT OFF SELECT * INTO a2 FROM a");
    let change = "UPDATE {t} SET v = {t}.v + b.v FROM {t} JOIN b ON b.x = {t}.x AND b.y = {t}.y WHERE b.x = 7";
    let rows = b.run(&change.replace("{t}", "a"));
    assert_eq!(rows.trim(), "(30)");
    let without = format!("{} OPTION (QUERYRULEOFF EqualConstant)", change.replace("{t}", "a2"));
    assert_eq!(b.run(&without), rows);
    assert_eq!(b.run("SELECT SUM(v) FROM a"), b.run("SELECT SUM(v) FROM a2"));
    assert_eq!(
        b.run(
            "DELETE a FROM a LEFT JOIN b ON b.x = a.x AND b.y = a.y WHERE a.x = 7 AND b.x IS NULL"
        )
        .trim(),
        "(20)"
    );
}

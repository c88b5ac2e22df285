//! Large statements: each works, or gives its documented error, in bounded memory and stack.

use std::fmt::Write as _;

use crate::support::text::Bench;

fn lines(b: &mut Bench, sql: &str) -> String {
    b.run(sql).trim().to_owned()
}

/// A hundred tables of ten rows; `t0` refers to all others.
fn hundred() -> Bench {
    let mut b = Bench::new();
    let mut script = String::from("SET NOCOUNT ON\n");
    let columns: Vec<String> = (1..100).map(|i| format!("f{i} int")).collect();
    let _ =
        writeln!(script, "CREATE TABLE t0 (id int PRIMARY KEY, next int, {})", columns.join(", "));
    for i in 1..100 {
        let _ = writeln!(script, "CREATE TABLE t{i} (id int PRIMARY KEY, next int)");
    }
    script.push_str("DECLARE @i int = 0\nWHILE @i < 10 BEGIN\n");
    let same: Vec<&str> = (1..100).map(|_| "@i").collect();
    let _ = writeln!(script, "INSERT t0 VALUES (@i, @i, {})", same.join(", "));
    for i in 1..100 {
        let _ = writeln!(script, "INSERT t{i} VALUES (@i, @i)");
    }
    script.push_str("SET @i += 1 END");
    assert_eq!(lines(&mut b, &script), "");
    b
}

#[test]
fn a_hundred_tables_are_joined_in_a_chain_and_in_a_star() {
    let mut b = hundred();
    let tables: Vec<String> = (0..100).map(|i| format!("t{i}")).collect();
    let chain: Vec<String> = (1..100).map(|i| format!("t{}.next = t{i}.id", i - 1)).collect();
    let star: Vec<String> = (1..100).map(|i| format!("t0.f{i} = t{i}.id")).collect();
    for conditions in [chain, star] {
        let sql = format!(
            "SELECT COUNT(*), SUM(t99.id) FROM {} WHERE {}",
            tables.join(", "),
            conditions.join(" AND ")
        );
        assert_eq!(lines(&mut b, &sql), "10|45");
    }
    // More than can be ordered: the last ones stay as they are written.
    let many: Vec<String> = (0..150).map(|i| format!("t{} AS a{i}", i % 100)).collect();
    let chain: Vec<String> = (1..150).map(|i| format!("a{}.next = a{i}.id", i - 1)).collect();
    let sql = format!("SELECT COUNT(*) FROM {} WHERE {}", many.join(", "), chain.join(" AND "));
    assert_eq!(lines(&mut b, &sql), "10");
}

#[test]
fn views_over_views_and_views_of_many_views() {
    let mut b = hundred();
    for i in 0..10 {
        b.run(&format!(
            "CREATE VIEW v{i} AS SELECT a.id, b.next FROM t{i} a JOIN t{} b ON a.next = b.id",
            i + 10
        ));
    }
    let parts: Vec<String> = (0..10).map(|i| format!("v{i}")).collect();
    let links: Vec<String> = (1..10).map(|i| format!("v{}.next = v{i}.id", i - 1)).collect();
    b.run(&format!(
        "CREATE VIEW w AS SELECT v0.id, v9.next FROM {} WHERE {}",
        parts.join(", "),
        links.join(" AND ")
    ));
    assert_eq!(lines(&mut b, "SELECT COUNT(*), SUM(next) FROM w WHERE id > 3"), "6|39");
    b.run("CREATE VIEW d0 AS SELECT id FROM t0");
    for i in 1..60 {
        b.run(&format!("CREATE VIEW d{i} AS SELECT id FROM d{}", i - 1));
    }
    // Views of more than 32 levels are not made.
    assert_eq!(lines(&mut b, "SELECT COUNT(*) FROM d31"), "10");
    let deep = lines(&mut b, "SELECT COUNT(*) FROM d32");
    assert!(deep.starts_with("Msg 208:"), "{deep}");
}

#[test]
fn procedures_nest_to_32() {
    let mut b = Bench::new();
    b.run("CREATE PROCEDURE p @n int AS IF @n > 1 BEGIN SET @n -= 1 EXEC p @n END ELSE SELECT @@NESTLEVEL");
    assert_eq!(lines(&mut b, "EXEC p 32"), "32");
    let error = lines(&mut b, "EXEC p 33");
    assert!(error.contains("Msg 217"), "{error}");
    assert_eq!(lines(&mut b, "SELECT @@NESTLEVEL"), "0");
}

#[test]
fn a_hundred_thousand_recursions() {
    let mut b = Bench::new();
    let sql = "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
               SELECT COUNT(*), MAX(i) FROM n OPTION (MAXRECURSION 0)";
    assert_eq!(lines(&mut b, sql), "100000|100000");
    let error = lines(&mut b, &sql.replace("MAXRECURSION 0", "MAXRECURSION 32767"));
    assert!(error.contains("Msg 530"), "{error}");
}

#[test]
fn lists_of_fifty_thousand_values() {
    let mut b = hundred();
    let list: Vec<String> = (5..50_005).map(|n| n.to_string()).collect();
    let list = list.join(", ");
    assert_eq!(lines(&mut b, &format!("SELECT COUNT(*) FROM t0 WHERE id IN ({list})")), "5");
    assert_eq!(lines(&mut b, &format!("SELECT COUNT(*) FROM t0 WHERE id NOT IN ({list})")), "5");
    assert_eq!(
        lines(
            &mut b,
            &format!("SELECT COUNT(*) FROM t0 JOIN t1 ON t0.id = t1.id WHERE t1.id IN ({list})")
        ),
        "5"
    );
}

#[test]
fn a_batch_of_ten_megabytes() {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (a int, b varchar(200))");
    let row = format!("INSERT t VALUES (1, '{}')\n", "x".repeat(180));
    let mut script = String::from("SET NOCOUNT ON\n");
    while script.len() < 10 << 20 {
        script.push_str(&row);
    }
    assert_eq!(lines(&mut b, &script), "");
    assert_eq!(lines(&mut b, "SELECT COUNT(*) FROM t"), (script.len() / row.len()).to_string());
    let comment = format!("/*{}*/ SELECT 1", "*".repeat(10 << 20));
    assert_eq!(lines(&mut b, &comment), "1");
}

#[test]
fn expressions_nine_hundred_deep() {
    let mut b = Bench::new();
    let sum = format!("SELECT {}1", "1 + ".repeat(899));
    assert_eq!(lines(&mut b, &sum), "900");
    let condition = format!("SELECT 1 WHERE {}1 = 1", "1 = 0 OR ".repeat(899));
    assert_eq!(lines(&mut b, &condition), "1");
    let nested = format!("SELECT {}1{}", "(".repeat(90), ")".repeat(90));
    assert_eq!(lines(&mut b, &nested), "1");
    for depth in [900, 5_000, 100_000] {
        let parentheses =
            lines(&mut b, &format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth)));
        assert!(parentheses == "1" || parentheses.contains("Msg 191"), "{depth}: {parentheses}");
        let cases = lines(
            &mut b,
            &format!("SELECT {}1{}", "CASE WHEN 1 = 1 THEN ".repeat(depth), " END".repeat(depth)),
        );
        assert!(
            cases == "1" || cases.contains("Msg 191") || cases.contains("Msg 125"),
            "{depth}: {cases}"
        );
        let minus = lines(&mut b, &format!("SELECT {}1", "- ".repeat(depth)));
        assert!(minus == "1" || minus.contains("Msg 191"), "{depth}: {minus}");
        let nots = lines(&mut b, &format!("SELECT 1 WHERE {}1 = 1", "NOT ".repeat(depth)));
        assert!(nots == "1" || nots.contains("Msg 191"), "{depth}: {nots}");
    }
}

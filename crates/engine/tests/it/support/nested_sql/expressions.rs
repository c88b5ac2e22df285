//! Statements whose rule is in an expression.

use super::{Rule, around, list, rule};

/// The rules.
pub const RULES: &[Rule] = &[
    rule("parentheses", |n| format!("SELECT {}", around(n, "(", "1", ")"))),
    rule("plus", |n| format!("SELECT a{} FROM t", " + 1".repeat(n))),
    rule("plus of strings", |n| format!("SELECT c{} FROM t", " + 'x'".repeat(n))),
    rule("plus in SET", |n| {
        format!("DECLARE @v int = 0 SET @v = @v{} SELECT @v", " + 1".repeat(n))
    }),
    rule("plus in WHERE", |n| format!("SELECT a FROM t WHERE a{} > 5", " + b".repeat(n))),
    rule("plus in ORDER BY", |n| format!("SELECT a FROM t ORDER BY a{}", " + b".repeat(n))),
    rule("plus in GROUP BY", |n| {
        let sum = format!("a{}", " + b".repeat(n));
        format!("SELECT {sum}, COUNT(*) FROM t GROUP BY {sum}")
    }),
    rule("plus in an aggregate", |n| format!("SELECT SUM(a{}) FROM t", " + b".repeat(n))),
    rule("plus in a window", |n| {
        format!("SELECT SUM(a{0}) OVER (ORDER BY a{0}) FROM t", " + b".repeat(n))
    }),
    rule("plus in UPDATE", |n| {
        format!("BEGIN TRAN UPDATE t SET b = a{} ROLLBACK", " + b".repeat(n))
    }),
    rule("plus in INSERT", |n| {
        format!("BEGIN TRAN INSERT t (a) VALUES (1{}) ROLLBACK", " + 1".repeat(n))
    }),
    rule("plus in DELETE", |n| {
        format!("BEGIN TRAN DELETE t WHERE a{} > 7 ROLLBACK", " + b".repeat(n))
    }),
    rule("mixed operators", |n| format!("SELECT a{} FROM t", " + 1 * 2 - 3 & 7".repeat(n))),
    rule("products to the right", |n| {
        format!("SELECT {} FROM t", around(n, "a + b * (", "1", ")"))
    }),
    rule("minus", |n| format!("SELECT {}1", "- ".repeat(n))),
    rule("complement", |n| format!("SELECT {}1", "~ ".repeat(n))),
    rule("AND", |n| format!("SELECT a FROM t WHERE a > 0{}", " AND b > 1".repeat(n))),
    rule("OR", |n| format!("SELECT a FROM t WHERE {}", list(n, " OR ", |i| format!("a = {i}")))),
    rule("OR of columns", |n| {
        format!("SELECT a FROM t WHERE {}", list(n, " OR ", |_| "a = b".into()))
    }),
    rule("OR of keys", |n| {
        format!("SELECT a FROM s WHERE {}", list(n, " OR ", |i| format!("a = {i}")))
    }),
    rule("AND of ORs", |n| {
        let or = |i: usize| format!("(a = {i} OR b = {i})");
        format!("SELECT a FROM t WHERE {}", list(n, " AND ", or))
    }),
    rule("OR of ANDs", |n| {
        let and = |i: usize| format!("(a = {i} AND b = {i})");
        format!("SELECT a FROM t WHERE {}", list(n, " OR ", and))
    }),
    rule("AND and OR nested", |n| {
        format!("SELECT a FROM t WHERE {}", around(n, "a = 1 AND (b = 2 OR (", "1 = 1", "))"))
    }),
    rule("NOT", |n| format!("SELECT 1 WHERE {}1 = 1", "NOT ".repeat(n))),
    rule("IN", |n| format!("SELECT a FROM t WHERE a IN ({})", list(n, ",", |i| i.to_string()))),
    rule("IN of keys", |n| {
        format!("SELECT a FROM s WHERE a IN ({})", list(n, ",", |i| i.to_string()))
    }),
    rule("IN of expressions", |n| {
        format!("SELECT a FROM t WHERE a IN ({})", list(n, ",", |i| format!("b + {i}")))
    }),
    rule("IN nested", |n| {
        format!("SELECT 1 WHERE {}", around(n, "1 IN (CASE WHEN ", "1 = 1", " THEN 1 END)"))
    }),
    rule("BETWEEN", |n| {
        format!(
            "SELECT 1 WHERE {}",
            around(n, "1 BETWEEN 0 AND CASE WHEN ", "1 = 1", " THEN 1 END")
        )
    }),
    rule("LIKE", |n| {
        format!("SELECT 1 WHERE {}", around(n, "'a' LIKE CASE WHEN ", "1 = 1", " THEN 'a' END"))
    }),
    rule("a pattern of %", |n| {
        format!("SELECT a FROM t WHERE REPLICATE('a', 8000) LIKE '{}b'", "%a".repeat(n))
    }),
    rule("a pattern of sets", |n| format!("SELECT a FROM t WHERE c LIKE '{}'", "[a-z]".repeat(n))),
    rule("CASE", |n| format!("SELECT {}", around(n, "CASE WHEN 1 = 1 THEN ", "1", " END"))),
    rule("CASE in ELSE", |n| {
        format!("SELECT {}", around(n, "CASE WHEN 1 = 0 THEN 2 ELSE ", "1", " END"))
    }),
    rule("CASE branches", |n| {
        format!("SELECT CASE a{} END FROM t", list(n, "", |i| format!(" WHEN {i} THEN {i}")))
    }),
    rule("CASE conditions", |n| {
        format!("SELECT CASE{} END FROM t", list(n, "", |i| format!(" WHEN a = {i} THEN {i}")))
    }),
    rule("IIF", |n| format!("SELECT {}", around(n, "IIF(1 = 1, ", "1", ", 2)"))),
    rule("CHOOSE", |n| format!("SELECT CHOOSE(2, {}) FROM t", list(n, ",", |i| i.to_string()))),
    rule("COALESCE", |n| format!("SELECT COALESCE({}) FROM t", list(n, ",", |_| "b".into()))),
    rule("COALESCE nested", |n| format!("SELECT {} FROM t", around(n, "COALESCE(b, ", "1", ")"))),
    rule("NULLIF", |n| format!("SELECT {} FROM t", around(n, "NULLIF(", "a", ", 7)"))),
    rule("ISNULL", |n| format!("SELECT {} FROM t", around(n, "ISNULL(b, ", "1", ")"))),
    rule("CONCAT", |n| format!("SELECT CONCAT({}) FROM t", list(n, ",", |_| "c".into()))),
    rule("GREATEST", |n| format!("SELECT GREATEST({}) FROM t", list(n, ",", |i| i.to_string()))),
    rule("functions", |n| format!("SELECT {} FROM t", around(n, "ABS(", "a", ")"))),
    rule("functions of strings", |n| {
        format!("SELECT {} FROM t", around(n, "REPLACE(", "c", ", 'x', 'y')"))
    }),
    rule("ODBC functions", |n| format!("SELECT {} FROM t", around(n, "{fn ABS(", "a", ")}"))),
    rule("ODBC remainders", |n| format!("SELECT {} FROM t", around(n, "{fn MOD(", "a", ", 7)}"))),
    rule("ODBC conversions", |n| {
        format!("SELECT {} FROM t", around(n, "{fn CONVERT(", "a", ", SQL_INTEGER)}"))
    }),
    rule("CAST", |n| format!("SELECT {} FROM t", around(n, "CAST(", "a", " AS int)"))),
    rule("CONVERT", |n| format!("SELECT {} FROM t", around(n, "CONVERT(varchar(9), ", "a", ")"))),
    rule("COLLATE", |n| format!("SELECT c{} FROM t", " COLLATE Latin1_General_BIN".repeat(n))),
    rule("AT TIME ZONE", |n| format!("SELECT GETDATE(){}", " AT TIME ZONE 'UTC'".repeat(n))),
    rule("aggregates", |n| format!("SELECT {} FROM t", list(n, ",", |i| format!("SUM(a + {i})")))),
    rule("methods", |n| format!("SELECT x{} FROM t", ".query('/r')".repeat(n))),
    rule("select list", |n| format!("SELECT {} FROM t", list(n, ",", |i| format!("a + {i}")))),
    rule("names of columns", |n| format!("SELECT {} FROM t", list(n, ",", |_| "a".into()))),
    rule("a long name", |n| format!("SELECT {}a FROM t", "t.".repeat(n))),
    rule("variables", |n| {
        format!("DECLARE {}", list(n, ", ", |i| format!("@v{i} int = {}", i % 100)))
    }),
    rule("assignments", |n| {
        format!("DECLARE @v int = 0 SELECT {} FROM t", list(n, ", ", |_| "@v = @v + a".into()))
    }),
];

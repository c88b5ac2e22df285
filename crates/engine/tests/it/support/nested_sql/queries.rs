//! Statements whose rule is a query or a part of one.

use super::{Rule, around, chained, list, rule};

/// The rules.
pub const RULES: &[Rule] = &[
    rule("CTEs chained", |n| {
        chained(n, "SELECT 1 a", |i| format!("SELECT * FROM c{i}"), "SELECT * FROM LAST")
    }),
    rule("CTEs of a table", |n| {
        chained(
            n,
            "SELECT a, b FROM t",
            |i| format!("SELECT a + 1 a, b FROM c{i} WHERE b > 0"),
            "SELECT * FROM LAST",
        )
    }),
    rule("CTEs grouped", |n| {
        let next = |i| format!("SELECT a, COUNT(*) b FROM c{i} GROUP BY a");
        chained(n, "SELECT a, b FROM t", next, "SELECT * FROM LAST")
    }),
    rule("CTEs of TOP", |n| {
        let next = |i| format!("SELECT TOP (5) a FROM c{i} ORDER BY a");
        chained(n, "SELECT a FROM t", next, "SELECT * FROM LAST")
    }),
    rule("CTEs of DISTINCT", |n| {
        chained(
            n,
            "SELECT a FROM t",
            |i| format!("SELECT DISTINCT a FROM c{i}"),
            "SELECT * FROM LAST",
        )
    }),
    rule("CTEs of windows", |n| {
        let next = |i| format!("SELECT ROW_NUMBER() OVER (ORDER BY a) a FROM c{i}");
        chained(n, "SELECT a FROM t", next, "SELECT * FROM LAST")
    }),
    rule("CTEs of joins", |n| {
        let next = |i| format!("SELECT p.a FROM c{i} p JOIN s ON s.a = p.a");
        chained(n, "SELECT a FROM t", next, "SELECT COUNT(*) FROM LAST")
    }),
    rule("CTEs of outer joins", |n| {
        let next = |i| format!("SELECT p.a FROM c{i} p LEFT JOIN s ON s.a = p.a");
        chained(n, "SELECT a FROM t", next, "SELECT COUNT(*) FROM LAST")
    }),
    rule("CTEs of subqueries", |n| {
        let next = |i| format!("SELECT (SELECT MAX(a) FROM c{i}) a");
        chained(n, "SELECT a FROM t", next, "SELECT * FROM LAST")
    }),
    rule("CTEs of EXISTS", |n| {
        let next =
            |i| format!("SELECT a FROM s WHERE EXISTS (SELECT 1 FROM c{i} p WHERE p.a = s.a)");
        chained(n, "SELECT a FROM t", next, "SELECT * FROM LAST")
    }),
    rule("CTEs of UNION ALL", |n| {
        let next = |i| format!("SELECT a FROM c{i} UNION ALL SELECT a FROM s");
        chained(n, "SELECT a FROM t", next, "SELECT COUNT(*) FROM LAST")
    }),
    rule("CTEs of EXCEPT", |n| {
        let next = |i| format!("SELECT a FROM c{i} EXCEPT SELECT a + 9 FROM s");
        chained(n, "SELECT a FROM t", next, "SELECT COUNT(*) FROM LAST")
    }),
    rule("CTEs of PIVOT", |n| {
        let next =
            |i| format!("SELECT [1] a, [2] b FROM c{i} PIVOT (MAX(b) FOR a IN ([1], [2])) p");
        chained(n, "SELECT a, b FROM t", next, "SELECT * FROM LAST")
    }),
    rule("CTEs doubled", |n| {
        let next = |i| format!("SELECT a.a FROM c{i} a, c{i} b");
        chained(n, "SELECT 1 a", next, "SELECT COUNT(*) FROM LAST")
    }),
    rule("CTEs doubled by UNION ALL", |n| {
        let next = |i| format!("SELECT a FROM c{i} UNION ALL SELECT a FROM c{i}");
        chained(n, "SELECT 1 a", next, "SELECT COUNT(*) FROM LAST")
    }),
    rule("CTEs doubled in subqueries", |n| {
        let next = |i| format!("SELECT (SELECT MAX(a) FROM c{i}) + (SELECT MIN(a) FROM c{i}) a");
        chained(n, "SELECT 1 a", next, "SELECT a FROM LAST")
    }),
    rule("recursive CTEs", |n| {
        let next =
            |i| format!("SELECT a FROM c{i} UNION ALL SELECT a + 1 FROM c{} WHERE a < 3", i + 1);
        chained(n, "SELECT 1 a", next, "SELECT COUNT(*) FROM LAST")
    }),
    rule("steps of a recursive CTE", |n| {
        let steps = " UNION ALL SELECT a + 1 FROM c WHERE a < 2".repeat(n);
        format!("WITH c AS (SELECT 1 a{steps}) SELECT COUNT(*) FROM c OPTION (MAXRECURSION 3)")
    }),
    rule("derived tables", |n| {
        format!("SELECT * FROM {}t{}", "(SELECT * FROM ".repeat(n), ") d".repeat(n))
    }),
    rule("derived tables joined by comma", |n| {
        format!("SELECT 1 FROM {}", list(n, ",", |i| format!("(SELECT 1 a) t{i}")))
    }),
    rule("tables joined by comma", |n| {
        format!("SELECT 1 FROM {}", list(n, ",", |i| format!("s t{i}")))
    }),
    rule("tables joined by comma and keys", |n| {
        let tables = list(n, ",", |i| format!("s t{i}"));
        format!(
            "SELECT 1 FROM {tables} WHERE 1 = 1{}",
            list(n, "", |i| format!(" AND t0.a = t{i}.a"))
        )
    }),
    rule("tables joined by comma and keys in order", |n| {
        let tables = list(n, ",", |i| format!("s t{i}"));
        let keys = list(n, "", |i| format!(" AND t0.a = t{i}.a AND t{i}.a < 9"));
        format!("SELECT 1 FROM {tables} WHERE 1 = 1{keys} OPTION (FORCE ORDER)")
    }),
    rule("tables joined by comma and subqueries", |n| {
        let tables = list(n, ",", |i| format!("s t{i}"));
        let keys = list(n, "", |i| format!(" AND (SELECT COUNT(*) FROM t WHERE t.a = t{i}.a) < 9"));
        format!("SELECT 1 FROM {tables} WHERE 1 = 1{keys}")
    }),
    rule("JOIN", |n| {
        format!("SELECT 1 FROM s{}", list(n, "", |i| format!(" JOIN s t{i} ON t{i}.a = s.a")))
    }),
    rule("JOIN in a chain", |n| {
        let join = |i: usize| format!(" JOIN s t{} ON t{}.a = t{i}.a", i + 1, i + 1);
        format!("SELECT 1 FROM s t0{}", list(n, "", join))
    }),
    rule("LEFT JOIN", |n| {
        format!("SELECT 1 FROM s{}", list(n, "", |i| format!(" LEFT JOIN t t{i} ON t{i}.a = s.a")))
    }),
    rule("FULL JOIN", |n| {
        format!("SELECT 1 FROM s{}", list(n, "", |i| format!(" FULL JOIN t t{i} ON t{i}.a = s.a")))
    }),
    rule("CROSS JOIN", |n| {
        format!("SELECT 1 FROM s{}", list(n, "", |i| format!(" CROSS JOIN s t{i}")))
    }),
    rule("JOIN to the right", |n| {
        let left = list(n, " JOIN ", |i| format!("s t{i}"));
        format!("SELECT 1 FROM {left} JOIN s z{}", " ON 1 = 1".repeat(n))
    }),
    rule("JOIN in parentheses", |n| {
        let opened: String = (0..n).map(|i| format!("(s t{i} JOIN ")).collect();
        format!("SELECT 1 FROM {opened}s z{}", " ON 1 = 1)".repeat(n))
    }),
    rule("CROSS APPLY", |n| {
        let apply = |i: usize| format!(" CROSS APPLY (SELECT s.a + {i} a) t{i}");
        format!("SELECT 1 FROM s{}", list(n, "", apply))
    }),
    rule("CROSS APPLY in a chain", |n| {
        let apply = |i: usize| format!(" CROSS APPLY (SELECT t{i}.a + 1 a) t{}", i + 1);
        format!("SELECT 1 FROM s t0{}", list(n, "", apply))
    }),
    rule("OUTER APPLY of tables", |n| {
        let apply =
            |i: usize| format!(" OUTER APPLY (SELECT TOP (1) t.a FROM t WHERE t.a = s.a) t{i}");
        format!("SELECT 1 FROM s{}", list(n, "", apply))
    }),
    rule("APPLY nested", |n| {
        let opened: String =
            (0..n).map(|i| format!("(SELECT t{i}.a FROM s t{i} CROSS APPLY ")).collect();
        let closed: String = (0..n).rev().map(|i| format!(") d{i}")).collect();
        format!("SELECT 1 FROM {opened}(SELECT 1 a) z{closed}")
    }),
    rule("functions of tables", |n| {
        format!("SELECT 1 FROM {}", list(n, ",", |i| format!("GENERATE_SERIES(1, 1) g{i}")))
    }),
    rule("UNION ALL", |n| format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(n))),
    rule("UNION", |n| format!("SELECT 1{}", " UNION SELECT 1".repeat(n))),
    rule("EXCEPT", |n| format!("SELECT 1{}", " EXCEPT SELECT 2".repeat(n))),
    rule("INTERSECT", |n| format!("SELECT 1{}", " INTERSECT SELECT 1".repeat(n))),
    rule("set operations in turns", |n| {
        format!("SELECT 1{}", " UNION ALL SELECT 1 EXCEPT SELECT 2".repeat(n))
    }),
    rule("UNION in parentheses", |n| around(n, "(SELECT 1 UNION ", "SELECT 2", ")")),
    rule("subqueries", |n| format!("SELECT {}", around(n, "(SELECT ", "1", ")"))),
    rule("subqueries of tables", |n| {
        format!("SELECT {} FROM t", around(n, "(SELECT MAX(a) + ", "1", " FROM t)"))
    }),
    rule("subqueries side by side", |n| {
        format!("SELECT {}", list(n, ",", |_| "(SELECT MAX(a) FROM t)".into()))
    }),
    rule("subqueries correlated", |n| {
        let sub = |i: usize| format!("(SELECT MAX(b) FROM s WHERE s.a = t.a + {i})");
        format!("SELECT {} FROM t", list(n, ",", sub))
    }),
    rule("EXISTS", |n| {
        let opened: String =
            (0..n).map(|i| format!("EXISTS (SELECT 1 FROM s t{i} WHERE t{i}.a = 1 AND ")).collect();
        format!("SELECT 1 WHERE {opened}1 = 1{}", ")".repeat(n))
    }),
    rule("EXISTS side by side", |n| {
        format!(
            "SELECT a FROM t WHERE {}",
            list(n, " AND ", |_| "EXISTS (SELECT 1 FROM s WHERE s.a = t.a)".into())
        )
    }),
    rule("IN of queries", |n| {
        format!("SELECT 1 WHERE {}", around(n, "1 IN (SELECT a FROM s WHERE ", "1 = 1", ")"))
    }),
    rule("IN of queries side by side", |n| {
        format!("SELECT a FROM t WHERE {}", list(n, " AND ", |_| "a IN (SELECT a FROM s)".into()))
    }),
    rule("ANY", |n| {
        format!("SELECT 1 WHERE {}", around(n, "1 = ANY (SELECT a FROM s WHERE ", "1 = 1", ")"))
    }),
    rule("windows of one order", |n| {
        format!(
            "SELECT {} FROM t",
            list(n, ",", |_| "SUM(a) OVER (PARTITION BY b ORDER BY a)".into())
        )
    }),
    rule("windows of many orders", |n| {
        let window = |i: usize| format!("SUM(a) OVER (PARTITION BY b ORDER BY a + {i})");
        format!("SELECT {} FROM t", list(n, ",", window))
    }),
    rule("windows of many partitions", |n| {
        let window = |i: usize| format!("COUNT(*) OVER (PARTITION BY b + {i})");
        format!("SELECT {} FROM t", list(n, ",", window))
    }),
    rule("frames", |n| {
        let window = |i: usize| {
            format!("SUM(a) OVER (ORDER BY a ROWS BETWEEN {i} PRECEDING AND {i} FOLLOWING)")
        };
        format!("SELECT {} FROM t", list(n, ",", window))
    }),
    rule("named windows", |n| {
        let named = list(n, ", ", |i| format!("w{} AS (w{i})", i + 1));
        format!(
            "SELECT SUM(a) OVER w{n} FROM t WINDOW w0 AS (ORDER BY a){}{named}",
            if n > 0 { ", " } else { "" }
        )
    }),
    rule("ORDER BY", |n| {
        format!("SELECT a FROM t ORDER BY {}", list(n, ",", |i| format!("a + {i}")))
    }),
    rule("GROUP BY", |n| {
        format!("SELECT COUNT(*) FROM t GROUP BY {}", list(n, ",", |i| format!("a + {i}")))
    }),
    rule("GROUPING SETS", |n| {
        format!(
            "SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ({})",
            list(n, ",", |_| "(a, b)".into())
        )
    }),
    rule("GROUPING SETS nested", |n| {
        format!("SELECT COUNT(*) FROM t GROUP BY {}", around(n, "GROUPING SETS (", "a", ")"))
    }),
    rule("GROUPING SETS multiplied", |n| {
        format!(
            "SELECT COUNT(*) FROM t GROUP BY {}",
            list(n, ",", |_| "GROUPING SETS (a, b)".into())
        )
    }),
    rule("CUBE", |n| {
        format!("SELECT COUNT(*) FROM t GROUP BY CUBE ({})", list(n, ",", |i| format!("a + {i}")))
    }),
    rule("ROLLUP", |n| {
        format!("SELECT COUNT(*) FROM t GROUP BY ROLLUP ({})", list(n, ",", |i| format!("a + {i}")))
    }),
    rule("PIVOT", |n| {
        format!(
            "SELECT 1 FROM (SELECT a, b FROM t) q PIVOT (MAX(b) FOR a IN ({})) p",
            list(n, ",", |i| format!("[{i}]"))
        )
    }),
    rule("UNPIVOT", |n| {
        let columns = list(n, ",", |i| format!("{i} AS c{i}"));
        let names = list(n, ",", |i| format!("c{i}"));
        format!("SELECT 1 FROM (SELECT {columns}) q UNPIVOT (v FOR k IN ({names})) u")
    }),
    rule("VALUES", |n| {
        format!("SELECT 1 FROM (VALUES {}) v (a)", list(n, ",", |i| format!("({i})")))
    }),
    rule("VALUES of expressions", |n| {
        format!(
            "SELECT v.a FROM s CROSS APPLY (VALUES {}) v (a)",
            list(n, ",", |i| format!("(s.a + {i})"))
        )
    }),
    rule("FOR XML", |n| {
        format!("SELECT {}", around(n, "(SELECT 1 AS a, ", "1", " FOR XML PATH(''), TYPE)"))
    }),
    rule("FOR XML PATH", |n| format!("SELECT 1 AS [{}a] FOR XML PATH", "a/".repeat(n))),
    rule("FOR XML AUTO", |n| {
        format!(
            "SELECT {} FROM {} FOR XML AUTO",
            list(n, ",", |i| format!("t{i}.a")),
            list(n, ",", |i| format!("s t{i}"))
        )
    }),
    rule("FOR JSON", |n| {
        format!("SELECT {}", around(n, "(SELECT 1 AS a, x = ", "1", " FOR JSON PATH)"))
    }),
    rule("FOR JSON PATH", |n| format!("SELECT 1 AS [{}a] FOR JSON PATH", "a.".repeat(n))),
    rule("TOP of a subquery", |n| format!("SELECT {}", around(n, "(SELECT TOP (", "1", ") 1)"))),
    rule("options", |n| {
        format!("SELECT a FROM t OPTION ({})", list(n, ",", |_| "RECOMPILE".into()))
    }),
    rule("table hints", |n| {
        format!("SELECT a FROM t WITH ({})", list(n, ",", |_| "NOLOCK".into()))
    }),
];

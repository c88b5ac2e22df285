//! Statements and batches.

use super::{Rule, around, chained, list, rule};

/// The rules.
pub const RULES: &[Rule] = &[
    rule("statements", |n| "DECLARE @v int ".to_owned() + &"SET @v = 1 ".repeat(n)),
    rule("BEGIN", |n| around(n, "BEGIN ", "SELECT 1", " END")),
    rule("IF", |n| format!("{}SELECT 1", "IF 1 = 1 ".repeat(n))),
    rule("ELSE IF", |n| {
        format!(
            "DECLARE @v int = 7 {}SELECT 1",
            list(n, "", |i| format!("IF @v = {i} SELECT {i} ELSE "))
        )
    }),
    rule("WHILE", |n| format!("{}SELECT 1", "WHILE 1 = 0 ".repeat(n))),
    rule("TRY", |n| around(n, "BEGIN TRY ", "SELECT 1", " END TRY BEGIN CATCH END CATCH")),
    rule("CATCH", |n| {
        let open = "BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH ";
        around(n, open, "SELECT 1", " END CATCH")
    }),
    rule("labels", |n| list(n, " ", |i| format!("GOTO l{i} l{i}:"))),
    rule("EXEC of strings", |n| {
        let mut text = "SELECT 1".to_owned();
        for _ in 0..n.min(12) {
            text = format!("EXEC ('{}')", text.replace('\'', "''"));
        }
        text
    }),
    rule("EXEC of itself", |_| {
        "DECLARE @s nvarchar(max) = N'EXEC sp_executesql @s, N''@s nvarchar(max)'', @s' \
         EXEC sp_executesql @s, N'@s nvarchar(max)', @s"
            .into()
    }),
    rule("strings of EXEC", |n| format!("EXEC ({})", list(n, " + ", |_| "' '".into()))),
    rule("BEGIN TRAN", |n| format!("{}ROLLBACK", "BEGIN TRAN ".repeat(n))),
    rule("SAVE TRAN", |n| format!("BEGIN TRAN {}ROLLBACK", "SAVE TRAN a ".repeat(n))),
    rule("PRINT", |n| format!("PRINT 'a'{}", " + 'b'".repeat(n))),
    rule("IF of a sum", |n| format!("IF 1{} > 0 SELECT 1", " + 1".repeat(n))),
    rule("parameters of EXEC", |n| {
        let declared = list(n, ", ", |i| format!("@p{i} int"));
        format!(
            "EXEC sp_executesql N'SELECT 1', N'{declared}', {}",
            list(n, ", ", |i| i.to_string())
        )
    }),
    rule("INSERT VALUES", |n| {
        format!(
            "BEGIN TRAN INSERT s (a) VALUES {} ROLLBACK",
            list(n, ",", |i| format!("({})", i + 100))
        )
    }),
    rule("INSERT of UNION ALL", |n| {
        format!("BEGIN TRAN INSERT t (a) SELECT 1{} ROLLBACK", " UNION ALL SELECT 1".repeat(n))
    }),
    rule("INSERT of CTEs", |n| {
        let next = |i| format!("SELECT * FROM c{i}");
        format!(
            "BEGIN TRAN; {} ROLLBACK",
            chained(n, "SELECT 1 a", next, "INSERT t (a) SELECT a FROM LAST")
        )
    }),
    rule("UPDATE of CTEs", |n| {
        let next = |i| format!("SELECT * FROM c{i}");
        format!(
            "BEGIN TRAN; {} ROLLBACK",
            chained(n, "SELECT a, b FROM t", next, "UPDATE LAST SET b = a")
        )
    }),
    rule("DELETE of CTEs", |n| {
        let next = |i| format!("SELECT * FROM c{i}");
        format!(
            "BEGIN TRAN; {} ROLLBACK",
            chained(n, "SELECT a, b FROM t", next, "DELETE LAST WHERE a = 1")
        )
    }),
    rule("UPDATE of JOINs", |n| {
        let join = |i: usize| format!(" JOIN s t{i} ON t{i}.a = t.a");
        format!("BEGIN TRAN UPDATE t SET b = 1 FROM t{} ROLLBACK", list(n, "", join))
    }),
    rule("UPDATE of columns", |n| {
        format!("BEGIN TRAN UPDATE t SET {} ROLLBACK", list(n, ",", |_| "b = a".into()))
    }),
    rule("MERGE clauses", |n| {
        let clauses = list(n, "", |i| format!(" WHEN MATCHED AND t.b = {i} THEN UPDATE SET b = 1"));
        format!("BEGIN TRAN MERGE t USING s ON s.a = t.a{clauses}; ROLLBACK")
    }),
    rule("MERGE of CTEs", |n| {
        let next = |i| format!("SELECT * FROM c{i}");
        let merge = "MERGE t USING LAST AS q ON q.a = t.a WHEN MATCHED THEN DELETE;";
        format!("BEGIN TRAN; {} ROLLBACK", chained(n, "SELECT 1 a", next, merge))
    }),
    rule("OUTPUT", |n| {
        format!(
            "BEGIN TRAN DELETE t OUTPUT {} ROLLBACK",
            list(n, ",", |i| format!("deleted.a + {i} AS c{i}"))
        )
    }),
    rule("SELECT INTO", |n| {
        format!(
            "BEGIN TRAN SELECT {} INTO made FROM t ROLLBACK",
            list(n, ",", |i| format!("a + {i} AS c{i}"))
        )
    }),
    rule("a cursor's query", |n| {
        let query =
            chained(n, "SELECT 1 a", |i| format!("SELECT * FROM c{i}"), "SELECT a FROM LAST");
        format!("DECLARE k CURSOR LOCAL FOR {query} OPEN k FETCH k CLOSE k DEALLOCATE k")
    }),
    rule("a keyset cursor's query", |n| {
        let join = |i: usize| format!(" JOIN s t{i} ON t{i}.a = s.a");
        let query = format!("SELECT s.a FROM s{}", list(n, "", join));
        format!("DECLARE k CURSOR LOCAL KEYSET FOR {query} OPEN k FETCH k CLOSE k DEALLOCATE k")
    }),
    rule("cursors", |n| {
        let one =
            |i: usize| format!("DECLARE k{i} CURSOR LOCAL STATIC FOR SELECT a FROM s OPEN k{i} ");
        list(n, "", one)
    }),
    rule("table variables", |n| list(n, "", |i| format!("DECLARE @t{i} TABLE (a int) "))),
    rule("temporary tables", |n| {
        let n = n.min(1_000);
        list(n, "", |i| format!("CREATE TABLE #x{i} (a int) "))
            + &list(n, "", |i| format!("DROP TABLE #x{i} "))
    }),
    rule("GRANT", |n| format!("GRANT SELECT ON t TO {}", list(n, ",", |_| "public".into()))),
    rule("comments", |n| format!("SELECT 1 {}", around(n, "/*", "", "*/"))),
];

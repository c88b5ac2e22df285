//! What plans have cost: sys.dm_exec_query_stats and similar views count what has run, in all
//! sessions, and show the plans and texts.

use crate::support::text::{Bench, Text};
use engine::Session;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT t SELECT value, value % 7 FROM GENERATE_SERIES(1, 100)");
    b
}

fn say(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// executions, total_rows, min_rows, max_rows, last_rows of the statement that begins so.
const STATS: &str = "SELECT s.execution_count, s.total_rows, s.min_rows, s.max_rows, s.last_rows
    FROM sys.dm_exec_query_stats AS s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS x
    WHERE SUBSTRING(x.text, s.statement_start_offset / 2 + 1,
        (CASE s.statement_end_offset WHEN -1 THEN DATALENGTH(x.text) ELSE s.statement_end_offset END
            - s.statement_start_offset) / 2 + 1) LIKE ";

fn stats(b: &mut Bench, like: &str) -> String {
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    say(&mut other, &format!("{STATS}'{like}'"))
}

#[test]
fn executions_and_rows_are_those_of_all_sessions() {
    let mut b = bench();
    let sql = "SELECT id FROM t WHERE n = @n ORDER BY id";
    let call = |n: i32| format!("EXEC sp_executesql N'{sql}', N'@n int', @n = {n}");
    for n in 0..20 {
        b.run(&call(n % 7));
    }
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    say(&mut other, &call(99));
    // 14 or 15 rows each: 1 and 2 have 15.
    let of = |n: i32| if n % 7 == 1 || n % 7 == 2 { 15 } else { 14 };
    let total: i32 = (0..20).map(of).sum();
    assert_eq!(stats(&mut b, "SELECT id FROM t WHERE n = @n%"), format!("21|{total}|0|15|0"));
    // A session that is gone is counted on.
    drop(other);
    b.run(&call(0));
    assert_eq!(stats(&mut b, "SELECT id FROM t WHERE n = @n%").split('|').next(), Some("22"));
    b.run("DBCC FREEPROCCACHE");
    assert_eq!(stats(&mut b, "SELECT id FROM t WHERE n = @n%"), "");
}

#[test]
fn statements_of_one_text_are_told_apart_by_their_offsets() {
    let mut b = bench();
    b.run("CREATE PROCEDURE twice AS DECLARE @i int = 0; WHILE @i < 10 BEGIN UPDATE t SET n = n WHERE id <= 3; SET @i += 1 END SELECT COUNT(*) FROM t");
    b.run("EXEC twice");
    b.run("EXEC twice");
    assert_eq!(stats(&mut b, "UPDATE t SET n = n WHERE id <= 3"), "20|60|3|3|3");
    assert_eq!(stats(&mut b, "SELECT COUNT(*) FROM t"), "2|2|1|1|1");
    let procedure =
        "SELECT OBJECT_NAME(object_id), type, execution_count FROM sys.dm_exec_procedure_stats";
    b.check(procedure, "twice|P |2");
    let sane = "SELECT CASE WHEN total_elapsed_time >= max_elapsed_time AND max_elapsed_time >= min_elapsed_time
            AND total_elapsed_time >= total_worker_time AND last_execution_time >= creation_time
            AND last_execution_time <= GETDATE() AND total_clr_time = 0 AND total_logical_reads IS NULL THEN 'sane' END
        FROM sys.dm_exec_query_stats WHERE execution_count = 20";
    b.check(sane, "sane");
}

#[test]
fn time_is_that_of_the_clock_for_what_takes_long() {
    let mut b = bench();
    b.run("CREATE PROCEDURE slow AS SELECT COUNT(*) FROM t AS a, t AS b, t AS c WHERE a.n + b.n + c.n = -1");
    b.run("EXEC slow");
    b.run("EXEC slow");
    let time = "SELECT CASE WHEN s.total_elapsed_time > 1000 AND s.total_worker_time > 0 AND p.total_elapsed_time >= s.total_elapsed_time
            AND p.total_elapsed_time < 60000000 THEN 'long' END
        FROM sys.dm_exec_query_stats AS s JOIN sys.dm_exec_procedure_stats AS p ON p.plan_handle = s.plan_handle";
    b.check(time, "long");
}

#[test]
fn triggers_and_functions_are_counted() {
    let mut b = bench();
    b.run("CREATE TRIGGER counted ON t AFTER UPDATE AS DECLARE @n int; SELECT @n = COUNT(*) FROM inserted");
    b.run("CREATE FUNCTION slowly (@n int) RETURNS int AS BEGIN DECLARE @i int = 0; WHILE @i < @n SET @i += 1; RETURN @i END");
    b.run("UPDATE t SET n = 0 WHERE id = 1");
    b.run("UPDATE t SET n = 0 WHERE id = 2");
    b.run("SELECT dbo.slowly(id) FROM t WHERE id <= 5");
    b.check(
        "SELECT OBJECT_NAME(object_id), type_desc, execution_count FROM sys.dm_exec_trigger_stats",
        "counted|SQL_TRIGGER|2",
    );
    b.check(
        "SELECT OBJECT_NAME(object_id), type_desc, execution_count FROM sys.dm_exec_function_stats",
        "slowly|SQL_SCALAR_FUNCTION|5",
    );
}

#[test]
fn plans_are_shown_by_their_handles() {
    let mut b = bench();
    b.run("CREATE PROCEDURE two AS SELECT id FROM t WHERE id = 1; SELECT n FROM t WHERE n = 3");
    b.run("EXEC two");
    let handles = "FROM sys.dm_exec_cached_plans AS p WHERE p.objtype = 'Proc'";
    b.check(&format!("SELECT p.usecounts, p.cacheobjtype {handles}"), "1|Compiled Plan");
    let plan = "SELECT q.query_plan.value('declare default element namespace \"http://schemas.microsoft.com/sqlserver/2004/07/showplan\"; count(//StmtSimple)', 'int'),
            q.query_plan.value('declare default element namespace \"http://schemas.microsoft.com/sqlserver/2004/07/showplan\"; (//StmtSimple/@StatementText)[2]', 'varchar(99)')
        FROM sys.dm_exec_cached_plans AS p CROSS APPLY sys.dm_exec_query_plan(p.plan_handle) AS q WHERE p.objtype = 'Proc'";
    b.check(plan, "2|SELECT n FROM t WHERE n = 3");
    let one = "SELECT q.objectid - OBJECT_ID('two'), CHARINDEX('WHERE id = 1', q.query_plan), CHARINDEX('WHERE n = 3', q.query_plan) * 0 + SIGN(CHARINDEX('WHERE n = 3', q.query_plan))
        FROM sys.dm_exec_query_stats AS s CROSS APPLY sys.dm_exec_text_query_plan(s.plan_handle, s.statement_start_offset, s.statement_end_offset) AS q
        WHERE s.statement_end_offset = -1 AND q.objectid IS NOT NULL";
    b.check(one, "0|0|1");
    let text = "SELECT OBJECT_NAME(x.objectid), LEFT(x.text, 20) FROM sys.dm_exec_cached_plans AS p CROSS APPLY sys.dm_exec_sql_text(p.plan_handle) AS x WHERE p.objtype = 'Proc'";
    b.check(text, "two|CREATE PROCEDURE two");
    let attributes = "SELECT a.attribute, a.is_cache_key FROM sys.dm_exec_cached_plans AS p CROSS APPLY sys.dm_exec_plan_attributes(p.plan_handle) AS a
        WHERE p.objtype = 'Proc' AND a.attribute IN ('dbid', 'sql_handle') AND (a.attribute <> 'dbid' OR CAST(a.value AS int) = DB_ID()) ORDER BY a.attribute";
    b.check(attributes, "dbid|1\nsql_handle|0");
    b.check("SELECT COUNT(*) FROM sys.dm_exec_query_plan(0x00)", "0");
}

#[test]
fn statements_that_differ_in_constants_have_one_hash_and_plans_that_differ_have_two() {
    let mut b = bench();
    b.run("CREATE PROCEDURE h1 AS SELECT n FROM t WHERE id = 1; SELECT  N from T where ID = 22; SELECT id FROM t WHERE n = 1");
    b.run("EXEC h1");
    b.check("SELECT COUNT(*), COUNT(DISTINCT s.query_hash), COUNT(DISTINCT s.query_plan_hash)
        FROM sys.dm_exec_query_stats AS s JOIN sys.dm_exec_procedure_stats AS p ON p.plan_handle = s.plan_handle", "3|2|2");
}

#[test]
fn a_statement_that_fails_is_not_counted() {
    let mut b = bench();
    b.run("CREATE PROCEDURE fails @n int AS SELECT 10 / @n AS fails FROM t WHERE id = 1");
    b.run("EXEC fails 1");
    let said = say(&mut b.session, "EXEC fails 0");
    assert!(said.contains("Msg 8134"), "{said}");
    assert_eq!(stats(&mut b, "SELECT 10 / @n AS fails%"), "1|1|1|1|1");
}

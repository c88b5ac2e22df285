//! How indexes are used and which ones are missing: sys.dm_db_index_usage_stats counts each
//! execution of a plan once for each of its operators, over all sessions and whatever happens to
//! the plans; the views of missing indexes and SHOWPLAN_XML tell what the planner would have liked
//! to have.

use crate::support::text::{Bench, Text};
use engine::Session;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "CREATE TABLE t (id int PRIMARY KEY, a int, b int, c varchar(20), INDEX ia (a)); \
           INSERT t SELECT value, value % 500, value % 7, 'x' FROM GENERATE_SERIES(1, 20000)",
    );
    b
}

fn say(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// Seeks, scans, lookups, updates of the indexes of a table, and which times are known.
fn uses(b: &mut Bench, table: &str) -> String {
    let sql = format!(
        "SELECT s.index_id, s.user_seeks, s.user_scans, s.user_lookups, s.user_updates,
            CONCAT(IIF(s.last_user_seek <= GETDATE(), 's', ''), IIF(s.last_user_scan <= GETDATE(), 'c', ''),
                IIF(s.last_user_lookup <= GETDATE(), 'l', ''), IIF(s.last_user_update <= GETDATE(), 'u', ''))
        FROM sys.dm_db_index_usage_stats AS s
        WHERE s.database_id = DB_ID() AND s.object_id = OBJECT_ID('{table}') ORDER BY s.index_id"
    );
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    say(&mut other, &sql)
}

#[test]
fn each_execution_counts_once_for_each_operator() {
    let mut b = bench();
    assert_eq!(uses(&mut b, "t"), "1|0|0|0|1|u\n2|0|0|0|1|u");
    for n in 0..30 {
        b.run(&format!("EXEC sp_executesql N'SELECT b FROM t WHERE id = @n', N'@n int', {n}"));
    }
    assert_eq!(uses(&mut b, "t"), "1|30|0|0|1|su\n2|0|0|0|1|u");
    // A seek of the index with looks at the rows; a scan.
    b.run("SELECT c FROM t WHERE a = 3");
    b.run("SELECT MAX(c) FROM t");
    assert_eq!(uses(&mut b, "t"), "1|30|1|1|1|sclu\n2|1|0|0|1|su");
    // An index follows where one of its columns changes, whether rows were found or not.
    b.run("UPDATE t SET b = 1 WHERE id = -1");
    b.run("UPDATE t SET a = 1 WHERE id = -1");
    b.run("DELETE t WHERE id = -1");
    assert_eq!(uses(&mut b, "t"), "1|33|1|1|4|sclu\n2|1|0|0|3|su");
    // Two operators on one index.
    b.run("SELECT COUNT(*) FROM t AS x JOIN t AS y ON y.id = x.id + 1 WHERE x.id = 5 AND y.id = 6");
    assert_eq!(uses(&mut b, "t"), "1|35|1|1|4|sclu\n2|1|0|0|3|su");
}

#[test]
fn what_plans_have_done_is_not_lost_with_them() {
    let mut b = bench();
    let procedure = "CREATE PROCEDURE one @id int AS SELECT b FROM t WHERE id = @id";
    b.run(procedure);
    (0..10).for_each(|_| drop(b.run("EXEC one 7")));
    b.run("DBCC FREEPROCCACHE");
    assert!(uses(&mut b, "t").starts_with("1|10|0|0|"), "{}", uses(&mut b, "t"));
    // Another plan for the same statement: what the first has counted stays where it was.
    (0..5).for_each(|_| {
        drop(b.run("EXEC sp_executesql N'SELECT id FROM t WHERE b = @n', N'@n int', 3"))
    });
    assert!(uses(&mut b, "t").starts_with("1|10|5|0|"), "{}", uses(&mut b, "t"));
    b.run("CREATE INDEX ib ON t (b)");
    (0..4).for_each(|_| {
        drop(b.run("EXEC sp_executesql N'SELECT id FROM t WHERE b = @n', N'@n int', 3"))
    });
    let now = uses(&mut b, "t");
    assert!(now.starts_with("1|10|5|0|") && now.contains("\n4|4|0|0|0|s"), "{now}");
    // A session that goes, and a plan for one run.
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    say(&mut other, "SELECT id FROM t WHERE b = 3 OPTION (RECOMPILE)");
    say(&mut other, "EXEC one 8");
    drop(other);
    let now = uses(&mut b, "t");
    assert!(now.starts_with("1|11|5|0|") && now.contains("\n4|5|0|0|0|s"), "{now}");
    // An index that goes takes its counts along, a table that is emptied does not.
    b.run("DROP INDEX ib ON t; TRUNCATE TABLE t");
    assert!(uses(&mut b, "t").starts_with("1|11|5|0|") && !uses(&mut b, "t").contains("\n4|"));
}

#[test]
fn expressions_cursors_and_subqueries_use_indexes_too() {
    let mut b = bench();
    b.run("DECLARE @i int = 0, @x int; WHILE @i < 8 BEGIN IF EXISTS (SELECT * FROM t WHERE id = @i) SET @x = (SELECT a FROM t WHERE id = @i); SET @i += 1 END");
    // Eight conditions, seven assignments.
    assert!(uses(&mut b, "t").starts_with("1|15|0|0|1|"), "{}", uses(&mut b, "t"));
    b.run("DECLARE c CURSOR STATIC FOR SELECT b FROM t WHERE id = 5; OPEN c; FETCH NEXT FROM c; CLOSE c; DEALLOCATE c");
    assert!(uses(&mut b, "t").starts_with("1|16|0|0|1|"), "{}", uses(&mut b, "t"));
    b.run("SELECT (SELECT b FROM t WHERE id = 9)");
    assert!(uses(&mut b, "t").starts_with("1|17|0|0|1|"), "{}", uses(&mut b, "t"));
}

const MISSING: &str = "SELECT d.equality_columns, d.inequality_columns, d.included_columns, d.statement, s.unique_compiles, s.user_seeks,
        IIF(s.avg_user_impact BETWEEN 50 AND 100 AND s.avg_total_user_cost > 0 AND s.last_user_seek <= GETDATE(), 'sane', 'odd')
    FROM sys.dm_db_missing_index_details AS d JOIN sys.dm_db_missing_index_groups AS g ON g.index_handle = d.index_handle
    JOIN sys.dm_db_missing_index_group_stats AS s ON s.group_handle = g.index_group_handle
    WHERE d.database_id = DB_ID() AND d.object_id = OBJECT_ID('t') ORDER BY d.index_handle";

#[test]
fn a_missing_index_is_told_by_the_views_and_by_the_plan() {
    let mut b = bench();
    b.check(MISSING, "");
    // What an index serves, what is one row, what no index could serve.
    b.run("SELECT c FROM t WHERE id = 4; SELECT a FROM t WHERE a = 5; SELECT c FROM t WHERE c LIKE '%x'");
    b.check(MISSING, "");
    let query =
        "EXEC sp_executesql N'SELECT c FROM t WHERE b = @b AND a > @a', N'@b int, @a int', 3, 400";
    (0..6).for_each(|_| drop(b.run(query)));
    b.check(MISSING, "[b]|[a]|[c]|[t].[dbo].[t]|1|6|sane");
    let columns =
        "SELECT k.column_id, k.column_name, k.column_usage FROM sys.dm_db_missing_index_details AS d
        CROSS APPLY sys.dm_db_missing_index_columns(d.index_handle) AS k ORDER BY k.column_id";
    b.check(columns, "2|a|INEQUALITY\n3|b|EQUALITY\n4|c|INCLUDE");
    b.run("SET SHOWPLAN_XML ON");
    let plan = b.run("SELECT c FROM t WHERE b = 3 AND a > 400");
    b.run("SET SHOWPLAN_XML OFF");
    let group = "<ColumnGroup Usage=\"EQUALITY\"><Column Name=\"[b]\" ColumnId=\"3\"/></ColumnGroup>\
                 <ColumnGroup Usage=\"INEQUALITY\"><Column Name=\"[a]\" ColumnId=\"2\"/></ColumnGroup>\
                 <ColumnGroup Usage=\"INCLUDE\"><Column Name=\"[c]\" ColumnId=\"4\"/></ColumnGroup></MissingIndex>";
    assert!(plan.contains(group), "{plan}");
    assert!(
        plan.contains("<MissingIndex Database=\"[t]\" Schema=\"[dbo]\" Table=\"[t]\">"),
        "{plan}"
    );
    // With the index nothing is missing.
    b.run("CREATE INDEX iba ON t (b, a) INCLUDE (c)");
    b.check(MISSING, "");
    b.run(query);
    b.check(MISSING, "");
    b.run("SET SHOWPLAN_XML ON");
    assert!(!b.run("SELECT c FROM t WHERE b = 3 AND a > 400").contains("MissingIndex"));
    b.run("SET SHOWPLAN_XML OFF");
}

#[test]
fn missing_indexes_of_changes_and_lists() {
    let mut b = bench();
    b.run("UPDATE t SET c = 'y' WHERE c = 'z'");
    b.run("SELECT a FROM t WHERE b IN (98, 99)");
    b.check(MISSING, "[c]|NULL|NULL|[t].[dbo].[t]|1|1|sane\n[b]|NULL|[a]|[t].[dbo].[t]|1|1|sane");
    b.run("ALTER TABLE t DROP COLUMN c");
    b.check(MISSING, "[b]|NULL|[a]|[t].[dbo].[t]|1|1|sane");
}

#[test]
fn processors_threads_and_pages_are_those_that_there_are() {
    let mut b = bench();
    b.check(
        "SELECT IIF(COUNT(*) > 0 AND SUM(current_workers_count) > 0 AND MIN(status) = 'VISIBLE ONLINE' AND MIN(CAST(is_online AS int)) = 1, 'sane', 'odd')
         FROM sys.dm_os_schedulers",
        "sane",
    );
    // This one runs, and every worker is a thread.
    b.check(
        "SELECT IIF(MAX(w.state) = 'SUSPENDED' OR MIN(w.state) = 'RUNNING', 'known', 'odd'), IIF(COUNT(*) = SUM(IIF(t.os_thread_id > 0, 1, 0)), 'same', 'odd'),
            IIF(MIN(t.creation_time) > '20200101' AND MAX(t.creation_time) <= DATEADD(second, 1, GETDATE()), 'now', 'odd')
         FROM sys.dm_os_workers AS w LEFT JOIN sys.dm_os_threads AS t ON t.thread_address = w.thread_address
         WHERE w.state = 'RUNNING'",
        "known|same|now",
    );
    b.check("SELECT latch_class, IIF(waiting_requests_count >= 0 AND wait_time_ms >= max_wait_time_ms, 'sane', 'odd') FROM sys.dm_os_latch_stats", "BUFFER|sane");
    // The pages of the table that was just filled are here, changed, with its rows on them.
    let pages = "SELECT SUM(d.row_count), MAX(CAST(d.is_modified AS int)), MIN(d.page_type)
        FROM sys.dm_os_buffer_descriptors AS d JOIN sys.allocation_units AS u ON u.allocation_unit_id = d.allocation_unit_id
        JOIN sys.partitions AS p ON p.hobt_id = u.container_id
        WHERE d.database_id = DB_ID() AND p.object_id = OBJECT_ID('t') AND p.index_id = 1 AND d.page_level = 0 AND d.page_type = 'INDEX_PAGE'";
    b.check(pages, "20000|1|INDEX_PAGE");
    b.run("CHECKPOINT");
    b.check(&pages.replace("SUM(d.row_count), ", ""), "0|INDEX_PAGE");
}

#[test]
fn transactions_that_use_row_versions_are_told() {
    let mut b = bench();
    let all = "SELECT COUNT(*), COUNT(v.transaction_sequence_num), MAX(CAST(v.is_snapshot AS int)), IIF(MIN(v.elapsed_time_seconds) >= 0, 'now', 'odd')
        FROM sys.dm_tran_active_snapshot_database_transactions AS v WHERE v.session_id = @@SPID";
    b.check(all, "0|0|NULL|odd");
    b.run("BEGIN TRAN; UPDATE t SET b = 1 WHERE id = 1");
    b.check(all, "1|1|0|now");
    b.run("ROLLBACK; ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON; SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; SELECT COUNT(*) FROM t");
    b.check(all, "1|0|1|now");
    b.run("COMMIT");
}

//! The Query Store: its options, what it notes of texts, plans and executions, what is removed from
//! it, and what it says of errors.

use crate::support::text::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT t SELECT value, value % 7 FROM GENERATE_SERIES(1, 100)");
    b
}

fn on(b: &mut Bench, more: &str) {
    b.run(&format!("ALTER DATABASE t SET QUERY_STORE = ON (QUERY_CAPTURE_MODE = ALL{more})"));
}

/// Executions and rows of a statement that begins so, over all plans and intervals.
fn noted(b: &mut Bench, like: &str) -> String {
    b.run(&format!(
        "SELECT COUNT(DISTINCT q.query_id), COUNT(DISTINCT p.plan_id), SUM(r.count_executions), CAST(ROUND(SUM(r.avg_rowcount * r.count_executions), 0) AS int),
            MAX(q.query_parameterization_type_desc)
        FROM sys.query_store_query_text AS x JOIN sys.query_store_query AS q ON q.query_text_id = x.query_text_id
        JOIN sys.query_store_plan AS p ON p.query_id = q.query_id JOIN sys.query_store_runtime_stats AS r ON r.plan_id = p.plan_id
        WHERE x.query_sql_text LIKE '{like}%'"
    ))
    .trim()
    .to_string()
}

#[test]
fn options_are_kept_and_shown() {
    let mut b = bench();
    let options = "SELECT desired_state_desc, actual_state_desc, interval_length_minutes, max_storage_size_mb, query_capture_mode_desc, size_based_cleanup_mode_desc,
        max_plans_per_query, stale_query_threshold_days, flush_interval_seconds, wait_stats_capture_mode_desc, capture_policy_execution_count FROM sys.database_query_store_options";
    b.check(options, "OFF|OFF|60|1000|AUTO|AUTO|200|30|900|ON|NULL");
    b.check("SELECT is_query_store_on FROM sys.databases WHERE name = 't'", "0");
    b.run(
        "ALTER DATABASE t SET QUERY_STORE = ON (OPERATION_MODE = READ_WRITE, INTERVAL_LENGTH_MINUTES = 5, MAX_STORAGE_SIZE_MB = 50, QUERY_CAPTURE_MODE = CUSTOM,
            SIZE_BASED_CLEANUP_MODE = OFF, MAX_PLANS_PER_QUERY = 9, CLEANUP_POLICY = (STALE_QUERY_THRESHOLD_DAYS = 3), DATA_FLUSH_INTERVAL_SECONDS = 60,
            WAIT_STATS_CAPTURE_MODE = OFF, QUERY_CAPTURE_POLICY = (EXECUTION_COUNT = 4, STALE_CAPTURE_POLICY_THRESHOLD = 2 DAYS))",
    );
    let all = "READ_WRITE|READ_WRITE|5|50|CUSTOM|OFF|9|3|60|OFF|4";
    b.check(options, all);
    b.check("SELECT is_query_store_on FROM sys.databases WHERE name = 't'", "1");
    let mut b = b.restart();
    b.check(options, all);
    b.run("ALTER DATABASE t SET QUERY_STORE (OPERATION_MODE = READ_ONLY)");
    b.check("SELECT desired_state_desc FROM sys.database_query_store_options", "READ_ONLY");
    b.run("ALTER DATABASE t SET QUERY_STORE = OFF");
    b.check(
        "SELECT desired_state_desc, interval_length_minutes FROM sys.database_query_store_options",
        "OFF|5",
    );
    for (sql, number) in [
        ("QUERY_STORE = ON (INTERVAL_LENGTH_MINUTES = 7)", 153),
        ("QUERY_STORE = ON (DATA_FLUSH_INTERVAL_SECONDS = 10)", 153),
        ("QUERY_STORE = ON (MAX_STORAGE_SIZE_MB = 99999)", 12_445),
        ("QUERY_STORE = ON (MAX_PLANS_PER_QUERY = 5, MAX_PLANS_PER_QUERY = 5)", 12_401),
        ("QUERY_STORE = ON (QUERY_CAPTURE_POLICY = (EXECUTION_COUNT = 0))", 12_452),
        (
            "QUERY_STORE = ON (QUERY_CAPTURE_POLICY = (STALE_CAPTURE_POLICY_THRESHOLD = 9 DAYS))",
            12_453,
        ),
        ("QUERY_STORE = ON (QUERY_CAPTURE_MODE = SOME)", 102),
        ("QUERY_STORE = ON (NONSENSE = 1)", 102),
    ] {
        b.fails(&format!("ALTER DATABASE t SET {sql}"), number);
    }
    b.check("SELECT desired_state_desc FROM sys.database_query_store_options", "OFF");
    b.fails("ALTER DATABASE master SET QUERY_STORE = ON", 12_438);
}

#[test]
fn executions_are_noted_by_query_and_plan() {
    let mut b = bench();
    b.run("SELECT n FROM t WHERE id = 1");
    on(&mut b, "");
    assert_eq!(noted(&mut b, "SELECT n FROM t WHERE id"), "0|0|NULL|NULL|NULL");
    for n in 0..12 {
        b.run(&format!("EXEC sp_executesql N'SELECT id FROM t WHERE n = @n', N'@n int', {n}"));
    }
    assert_eq!(noted(&mut b, "SELECT id FROM t WHERE n = @n"), "1|1|12|100|User");
    // Another plan for the same query; a plan that is thrown away is noted by then.
    b.run("CREATE INDEX ix ON t (n)");
    b.run("EXEC sp_executesql N'SELECT id FROM t WHERE n = @n', N'@n int', 1");
    b.run("DBCC FREEPROCCACHE");
    assert_eq!(noted(&mut b, "SELECT id FROM t WHERE n = @n"), "1|2|13|115|User");
    b.check(
        "SELECT COUNT(*) FROM sys.query_store_plan AS p CROSS APPLY (SELECT CAST(p.query_plan AS xml) AS x) AS d
         WHERE d.x.exist('declare namespace s=\"http://schemas.microsoft.com/sqlserver/2004/07/showplan\"; //s:Object[@Index=\"[ix]\"]') = 1",
        "1",
    );
    // A statement of a procedure is its own query.
    b.run(
        "CREATE PROCEDURE p AS SELECT COUNT(*) FROM t WHERE n = 3; UPDATE t SET n = n WHERE id = 5",
    );
    b.run("EXEC p");
    b.run("EXEC p");
    b.check(
        "SELECT OBJECT_NAME(q.object_id), COUNT(*), SUM(r.count_executions) FROM sys.query_store_query AS q
         JOIN sys.query_store_plan AS p ON p.query_id = q.query_id JOIN sys.query_store_runtime_stats AS r ON r.plan_id = p.plan_id
         WHERE q.object_id <> 0 GROUP BY q.object_id",
        "p|2|4",
    );
    b.check(
        "SELECT IIF(MIN(i.start_time) <= MIN(r.first_execution_time) AND MAX(r.last_execution_time) < MAX(i.end_time) AND MIN(r.avg_duration) >= 0
            AND SUM(IIF(r.min_duration > r.max_duration OR r.avg_duration > r.max_duration + 1 OR r.stdev_duration < 0, 1, 0)) = 0 AND COUNT(r.avg_logical_io_reads) = 0, 'sane', 'odd')
         FROM sys.query_store_runtime_stats AS r JOIN sys.query_store_runtime_stats_interval AS i ON i.runtime_stats_interval_id = r.runtime_stats_interval_id",
        "sane",
    );
    // Off, nothing is noted and all is kept; CLEAR forgets it.
    b.run("ALTER DATABASE t SET QUERY_STORE = OFF");
    b.run("EXEC p");
    b.check("SELECT SUM(r.count_executions) FROM sys.query_store_query AS q JOIN sys.query_store_plan AS p ON p.query_id = q.query_id
         JOIN sys.query_store_runtime_stats AS r ON r.plan_id = p.plan_id WHERE q.object_id <> 0", "4");
    b.run("ALTER DATABASE t SET QUERY_STORE CLEAR ALL");
    b.check("SELECT COUNT(*) FROM sys.query_store_query", "0");
}

#[test]
fn what_runs_seldom_is_left_out_unless_all_is_captured() {
    let mut b = bench();
    b.run("ALTER DATABASE t SET QUERY_STORE = ON");
    let query = "EXEC sp_executesql N'SELECT MAX(id) FROM t WHERE n = @n', N'@n int', 2";
    (0..29).for_each(|_| drop(b.run(query)));
    assert_eq!(noted(&mut b, "SELECT MAX(id)"), "0|0|NULL|NULL|NULL");
    b.run(query);
    assert_eq!(noted(&mut b, "SELECT MAX(id)"), "1|1|30|30|User");
}

#[test]
fn procedures_remove_and_refuse() {
    let mut b = bench();
    b.fails("EXEC sp_query_store_force_plan 1, 1", 12_405);
    on(&mut b, "");
    b.run("SELECT MIN(id) FROM t");
    b.run("EXEC sp_query_store_flush_db");
    let query = b.run("SELECT q.query_id FROM sys.query_store_query AS q JOIN sys.query_store_query_text AS x ON x.query_text_id = q.query_text_id WHERE x.query_sql_text = 'SELECT MIN(id) FROM t'");
    let query = query.trim();
    let plan = b.run(&format!("SELECT plan_id FROM sys.query_store_plan WHERE query_id = {query}"));
    let plan = plan.trim();
    b.fails(
        &format!("EXEC sp_query_store_force_plan @query_id = {query}, @plan_id = {plan}"),
        40_510,
    );
    b.fails(&format!("EXEC sp_query_store_force_plan {query}, 9999"), 12_406);
    b.fails("EXEC sp_query_store_force_plan 9999, 1", 12_402);
    b.run(&format!("EXEC sp_query_store_unforce_plan {query}, {plan}"));
    b.run(&format!("EXEC sp_query_store_reset_exec_stats {plan}"));
    b.check(
        &format!("SELECT COUNT(*) FROM sys.query_store_runtime_stats WHERE plan_id = {plan}"),
        "0",
    );
    b.run(&format!("EXEC sp_query_store_remove_plan {plan}"));
    b.fails(&format!("EXEC sp_query_store_remove_plan {plan}"), 12_403);
    b.run(&format!("EXEC sp_query_store_remove_query {query}"));
    b.fails(&format!("EXEC sp_query_store_remove_query {query}"), 12_402);
    b.check(&format!("SELECT COUNT(*) FROM sys.query_store_query WHERE query_id = {query}"), "0");
}

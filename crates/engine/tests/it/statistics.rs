//! Statistics of columns: made when a plan needs them, refreshed by the thresholds, managed by
//! CREATE, UPDATE and DROP STATISTICS, shown by DBCC SHOW_STATISTICS and the system views; and that
//! plans use them.

use crate::support::text::{self, Bench};

/// 6,000 rows: `kind` has one frequent value and many rare ones, `day` ascends, `nothing` is mostly
/// NULL.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE t (id int PRIMARY KEY, kind int NOT NULL, day int, nothing int, name varchar(30), pad char(100) DEFAULT 'x')
         CREATE INDEX by_kind ON t (kind)
         CREATE INDEX by_name ON t (name)
         INSERT t (id, kind, day, nothing, name)
         SELECT n.i, CASE WHEN n.i % 2 = 0 THEN 0 ELSE n.i END, n.i / 10, CASE WHEN n.i % 10 = 0 THEN n.i END,
             CONCAT(CHAR(97 + n.i % 26), 'name', n.i)
         FROM (SELECT TOP (6000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS i
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

const MADE: &str = "SELECT name, auto_created, user_created FROM sys.stats WHERE object_id = OBJECT_ID('t') ORDER BY stats_id";

#[test]
fn a_plan_that_needs_statistics_makes_them() {
    let mut b = bench();
    let before = lines(&mut b, "SELECT COUNT(*) FROM sys.stats WHERE object_id = OBJECT_ID('t')");
    assert_eq!(before, "3", "those of the indexes");
    assert_eq!(lines(&mut b, "SELECT COUNT(*) FROM t WHERE day = 7"), "10");
    let made = lines(&mut b, MADE);
    assert!(made.contains("_WA_Sys_00000003_"), "{made}");
    let counts = "SELECT p.rows, p.rows_sampled, p.modification_counter FROM sys.stats s
                  CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p
                  WHERE s.object_id = OBJECT_ID('t') AND s.auto_created = 1";
    assert_eq!(lines(&mut b, counts), "6000|6000|0");
    b.run("UPDATE t SET day = day + 1 WHERE id <= 30");
    assert_eq!(lines(&mut b, counts), "6000|6000|30");
}

#[test]
fn nothing_is_made_where_it_is_switched_off() {
    let mut b = bench();
    b.run("DECLARE @sql nvarchar(200) = CONCAT('ALTER DATABASE ', QUOTENAME(DB_NAME()), ' SET AUTO_CREATE_STATISTICS OFF')
           EXEC (@sql)");
    assert_eq!(lines(&mut b, "SELECT COUNT(*) FROM t WHERE day = 7"), "10");
    assert_eq!(
        lines(&mut b, "SELECT COUNT(*) FROM sys.stats WHERE object_id = OBJECT_ID('t')"),
        "3"
    );
}

#[test]
fn a_frequent_value_is_scanned_and_a_rare_one_sought() {
    let mut b = bench();
    let rare = plan(&mut b, "SELECT SUM(day) FROM t WHERE kind = 4711");
    assert!(rare.contains("Index Seek") && rare.contains("by_kind"), "{rare}");
    let frequent = plan(&mut b, "SELECT SUM(day) FROM t WHERE kind = 0");
    assert!(frequent.contains("Clustered Index Scan"), "{frequent}");
    for (kind, rows) in [(4711, "1"), (0, "3000"), (4712, "0")] {
        assert_eq!(lines(&mut b, &format!("SELECT COUNT(pad) FROM t WHERE kind = {kind}")), rows);
    }
}

#[test]
fn they_are_measured_again_after_the_threshold() {
    let mut b = bench();
    let query = "SELECT SUM(day) FROM t WHERE kind = 5000000";
    let few = plan(&mut b, query);
    assert!(few.contains("Index Seek"), "{few}");
    // 500 + 20 % of 6,000 rows.
    b.run("UPDATE t SET kind = 5000000 WHERE id <= 1000");
    let still = plan(&mut b, query);
    assert!(still.contains("Index Seek"), "1,000 changes are not enough: {still}");
    b.run("UPDATE t SET kind = 5000000 WHERE id <= 4000");
    let many = plan(&mut b, query);
    assert!(many.contains("Clustered Index Scan"), "{many}");
}

#[test]
fn a_cached_plan_is_made_anew_when_its_table_has_changed() {
    let mut b = Bench::new();
    b.run("SET NOCOUNT ON; CREATE TABLE g (id int PRIMARY KEY, k int); CREATE INDEX k ON g (k)");
    let query = "SELECT COUNT(*) FROM g WHERE k = 3";
    let compiled = "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'SQL Compilations/sec'";
    assert_eq!(lines(&mut b, query), "0");
    b.run("DECLARE @i int = 0 WHILE @i < 2000 BEGIN INSERT g VALUES (@i, @i) SET @i += 1 END");
    assert_eq!(lines(&mut b, query), "1");
    let before = lines(&mut b, compiled);
    assert!(!before.is_empty());
    let stats =
        "SELECT p.rows FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p
                 WHERE s.object_id = OBJECT_ID('g') AND s.name = 'k'";
    assert_eq!(lines(&mut b, stats), "2000", "the second run has measured the index again");
}

#[test]
fn users_make_update_and_drop_statistics() {
    let mut b = bench();
    b.run("CREATE STATISTICS both ON t (day, kind) WITH FULLSCAN");
    let shown = lines(&mut b, "DBCC SHOW_STATISTICS ('t', both) WITH STAT_HEADER, NO_INFOMSGS");
    assert!(shown.starts_with("both") && shown.contains("6000|6000"), "{shown}");
    let densities =
        lines(&mut b, "DBCC SHOW_STATISTICS (t, both) WITH DENSITY_VECTOR, NO_INFOMSGS");
    let rows: Vec<&str> = densities.lines().collect();
    assert_eq!(rows.len(), 2, "{densities}");
    assert!(rows[0].ends_with("day") && rows[1].ends_with("day, kind"), "{densities}");
    let steps = lines(&mut b, "DBCC SHOW_STATISTICS (t, both) WITH HISTOGRAM, NO_INFOMSGS");
    assert!(steps.lines().count() > 100 && steps.starts_with("0|"), "{steps}");
    let error = lines(&mut b, "CREATE STATISTICS both ON t (kind)");
    assert!(error.contains("1927"), "{error}");
    let error = lines(&mut b, "CREATE STATISTICS s ON t (kind, nowhere)");
    assert!(error.contains("1911"), "{error}");
    let error = lines(&mut b, "CREATE STATISTICS s ON t (kind, kind)");
    assert!(error.contains("1909"), "{error}");
    let error = lines(&mut b, "UPDATE STATISTICS t nothing_there");
    assert!(error.contains("2767"), "{error}");
    let error = lines(&mut b, "ALTER TABLE t DROP COLUMN day");
    assert!(error.contains("5074"), "{error}");
    b.run("UPDATE STATISTICS t both WITH SAMPLE 50 PERCENT, NORECOMPUTE");
    let flags = "SELECT no_recompute FROM sys.stats WHERE name = 'both'";
    assert_eq!(lines(&mut b, flags), "1");
    assert_eq!(
        lines(
            &mut b,
            "SELECT DATEDIFF(minute, STATS_DATE(object_id, stats_id), GETDATE()) FROM sys.stats WHERE name = 'both'"
        ),
        "0"
    );
    b.run("DROP STATISTICS t.both");
    assert_eq!(lines(&mut b, "SELECT COUNT(*) FROM sys.stats WHERE name = 'both'"), "0");
    let error = lines(&mut b, "DROP STATISTICS t.both");
    assert!(error.contains("3701"), "{error}");
    let error = lines(&mut b, "DROP STATISTICS t.by_kind");
    assert!(error.contains("3739"), "{error}");
    b.run("ALTER TABLE t DROP COLUMN day");
}

#[test]
fn a_rollback_takes_definitions_back() {
    let mut b = bench();
    b.run("BEGIN TRANSACTION CREATE STATISTICS s ON t (day) ROLLBACK");
    assert_eq!(lines(&mut b, "SELECT COUNT(*) FROM sys.stats WHERE name = 's'"), "0");
    b.run("CREATE STATISTICS s ON t (day) BEGIN TRANSACTION DROP STATISTICS t.s ROLLBACK");
    assert_eq!(lines(&mut b, "SELECT COUNT(*) FROM sys.stats WHERE name = 's'"), "1");
}

#[test]
fn statistics_survive_a_restart() {
    let mut b = bench();
    b.run("CREATE STATISTICS s ON t (day, name) WITH FULLSCAN SELECT COUNT(*) FROM t WHERE nothing = 3 TRUNCATE TABLE t");
    b.run(
        "INSERT t (id, kind, day, name) VALUES (1, 1, 1, 'a'), (2, 2, 1, 'b')
           UPDATE STATISTICS t s WITH FULLSCAN",
    );
    let shown = lines(&mut b, "DBCC SHOW_STATISTICS (t, s) WITH HISTOGRAM, NO_INFOMSGS");
    assert_eq!(shown, "1|0.0|2.0|0|1.0");
    let mut b = b.restart();
    assert_eq!(lines(&mut b, "DBCC SHOW_STATISTICS (t, s) WITH HISTOGRAM, NO_INFOMSGS"), shown);
    assert_eq!(lines(&mut b, "SELECT user_created FROM sys.stats WHERE name = 's'"), "1");
}

#[test]
fn all_types_have_histograms() {
    let mut b = Bench::new();
    let types = [
        ("bit", "1"),
        ("tinyint", "7"),
        ("smallint", "-7"),
        ("int", "-70000"),
        ("bigint", "5000000000"),
        ("decimal(20, 3)", "-12.345"),
        ("money", "9.99"),
        ("smallmoney", "-1.5"),
        ("float", "1e100"),
        ("real", "-2.5"),
        ("date", "'2024-02-29'"),
        ("time(3)", "'23:59:59.999'"),
        ("datetime", "'2024-02-29 12:30'"),
        ("smalldatetime", "'2024-02-29 12:30'"),
        ("datetime2(7)", "'2024-02-29 12:30:00.1234567'"),
        ("datetimeoffset(2)", "'2024-02-29 12:30:00.12 +02:00'"),
        ("char(10)", "'abc'"),
        ("varchar(400)", "REPLICATE('z', 400)"),
        ("nchar(5)", "N'\u{e4}'"),
        ("nvarchar(300)", "REPLICATE(N'\u{3b1}', 300)"),
        ("binary(4)", "0x01020304"),
        ("varbinary(300)", "CONVERT(varbinary(300), REPLICATE('b', 300))"),
        ("uniqueidentifier", "'6F9619FF-8B86-D011-B42D-00C04FC964FF'"),
    ];
    let columns: Vec<String> =
        types.iter().enumerate().map(|(i, (ty, _))| format!("c{i} {ty}")).collect();
    let values: Vec<&str> = types.iter().map(|(_, value)| *value).collect();
    b.run(&format!(
        "CREATE TABLE every ({}) INSERT every VALUES ({})",
        columns.join(", "),
        values.join(", ")
    ));
    b.run("INSERT every DEFAULT VALUES");
    for (i, (ty, value)) in types.iter().enumerate() {
        b.run(&format!("CREATE STATISTICS s{i} ON every (c{i})"));
        assert_eq!(
            lines(&mut b, &format!("SELECT COUNT(*) FROM every WHERE c{i} = {value}")),
            "1",
            "{ty}"
        );
    }
    let steps = "SELECT COUNT(*), MIN(n), MAX(n) FROM (SELECT COUNT(*) AS n FROM sys.stats s
                 CROSS APPLY sys.dm_db_stats_histogram(s.object_id, s.stats_id) h
                 WHERE s.object_id = OBJECT_ID('every') GROUP BY s.stats_id) x";
    let expected = format!("{}|2|2", types.len());
    assert_eq!(lines(&mut b, steps), expected);
    let mut b = b.restart();
    assert_eq!(lines(&mut b, steps), expected);
}

#[test]
fn large_tables_are_sampled() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON CREATE TABLE big (id int PRIMARY KEY, k int, pad char(700) DEFAULT 'x')
         INSERT big (id, k) SELECT i, i % 4 FROM (SELECT TOP (20000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS i
             FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c) n",
    );
    assert_eq!(lines(&mut b, "SELECT COUNT(*) FROM big WHERE k = 3"), "5000");
    let sampled = lines(
        &mut b,
        "SELECT CASE WHEN p.rows = 20000 AND p.rows_sampled BETWEEN 8000 AND 14000 THEN 1 ELSE p.rows_sampled END, p.steps
         FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p
         WHERE s.object_id = OBJECT_ID('big') AND s.auto_created = 1",
    );
    assert_eq!(sampled, "1|4");
    let rows =
        "SELECT CASE WHEN MIN(equal_rows) > 4000 AND MAX(equal_rows) < 6000 THEN 1 ELSE MIN(equal_rows) END
                FROM sys.stats s CROSS APPLY sys.dm_db_stats_histogram(s.object_id, s.stats_id) h
                WHERE s.object_id = OBJECT_ID('big') AND s.auto_created = 1";
    assert_eq!(lines(&mut b, rows), "1.0");
    b.run("UPDATE STATISTICS big WITH FULLSCAN");
    let sampled = lines(
        &mut b,
        "SELECT MIN(p.rows_sampled) FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p
         WHERE s.object_id = OBJECT_ID('big')",
    );
    assert_eq!(sampled, "20000");
}

#[test]
fn row_counts_go_back_with_the_rows() {
    let mut b = Bench::new();
    b.run("SET NOCOUNT ON CREATE TABLE r (id int PRIMARY KEY) CREATE TABLE s (id int PRIMARY KEY)");
    let rows = "SELECT SUM(CASE WHEN object_id = OBJECT_ID('r') THEN rows END), SUM(CASE WHEN object_id = OBJECT_ID('s') THEN rows END)
                FROM sys.partitions WHERE object_id IN (OBJECT_ID('r'), OBJECT_ID('s')) AND index_id < 2";
    b.run("INSERT r VALUES (1), (2), (3)");
    b.run(
        "BEGIN TRANSACTION
         INSERT r VALUES (4), (5) INSERT s VALUES (1) DELETE r WHERE id = 1
         SAVE TRANSACTION half
         INSERT r VALUES (6) INSERT s VALUES (2), (3) INSERT r VALUES (7)",
    );
    assert_eq!(lines(&mut b, rows), "6|3");
    b.run("ROLLBACK TRANSACTION half");
    assert_eq!(lines(&mut b, rows), "4|1");
    b.run("INSERT r VALUES (8), (8)");
    assert_eq!(lines(&mut b, rows), "4|1", "a statement that fails counts for nothing");
    b.run("ROLLBACK");
    assert_eq!(lines(&mut b, rows), "3|0");
    b.run("BEGIN TRANSACTION DECLARE @i int = 100 WHILE @i < 150 BEGIN INSERT r VALUES (@i) INSERT s VALUES (@i) SET @i += 1 END COMMIT");
    assert_eq!(lines(&mut b, rows), "53|50");
}

#[test]
fn row_counts_know_what_triggers_take_back() {
    let mut b = Bench::new();
    b.run("SET NOCOUNT ON CREATE TABLE r (id int PRIMARY KEY) CREATE TABLE s (id int)");
    b.run(
        "CREATE TRIGGER tr ON r AFTER INSERT AS BEGIN
               INSERT s SELECT id FROM inserted
               IF EXISTS (SELECT * FROM inserted WHERE id > 10) ROLLBACK
           END",
    );
    let rows = "SELECT SUM(CASE WHEN object_id = OBJECT_ID('r') THEN rows END), SUM(CASE WHEN object_id = OBJECT_ID('s') THEN rows END)
                FROM sys.partitions WHERE object_id IN (OBJECT_ID('r'), OBJECT_ID('s')) AND index_id < 2";
    b.run("INSERT r VALUES (1), (2)");
    assert_eq!(lines(&mut b, rows), "2|2");
    b.run("INSERT r VALUES (3), (11)");
    assert_eq!(lines(&mut b, rows), "2|2");
}

#[test]
fn plans_are_made_for_the_parameters_of_their_first_run() {
    let mut b = bench();
    b.run("CREATE PROCEDURE p @k int AS SELECT SUM(day), COUNT(*) FROM t WHERE kind = @k");
    for (first, operator) in [(0, "Clustered Index Scan"), (4711, "Index Seek")] {
        b.run("DBCC FREEPROCCACHE");
        b.run("SET SHOWPLAN_TEXT ON");
        let params = [("@k", engine::DataType::Int)];
        let prepared =
            b.session.prepare("SELECT SUM(day) FROM t WHERE kind = @k", &params).unwrap();
        let mut out = text::Text::default();
        b.session.execute_prepared(&prepared, &[engine::Value::Int(first)], &mut out).unwrap();
        b.run("SET SHOWPLAN_TEXT OFF");
        assert!(out.out.contains(operator), "{first}: {}", out.out);
    }
    for k in [0, 4711, 0, 5, -1] {
        let count = match k {
            0 => 3000,
            k if k > 0 => 1,
            _ => 0,
        };
        assert!(lines(&mut b, &format!("EXEC p {k}")).ends_with(&format!("|{count}")), "{k}");
    }
}

#[test]
fn row_counts_with_savepoints_in_any_order() {
    let mut b = Bench::new();
    b.run("SET NOCOUNT ON CREATE TABLE r (id int IDENTITY, x int) CREATE TABLE s (id int IDENTITY, x int) INSERT r (x) VALUES (1), (2), (3)");
    b.run("CREATE TRIGGER tr ON s AFTER INSERT AS INSERT r (x) SELECT x FROM inserted WHERE x > 5");
    let kept = "SELECT SUM(CASE WHEN object_id = OBJECT_ID('r') THEN rows END), SUM(CASE WHEN object_id = OBJECT_ID('s') THEN rows END)
                FROM sys.partitions WHERE object_id IN (OBJECT_ID('r'), OBJECT_ID('s')) AND index_id < 2";
    let real = "SELECT (SELECT COUNT(*) FROM r), (SELECT COUNT(*) FROM s)";
    let mut rng = fastrand::Rng::with_seed(5);
    let mut depth = 0;
    for step in 0..600 {
        let sql = match rng.u8(..12) {
            0 if depth == 0 => {
                depth = 1;
                "BEGIN TRANSACTION".to_string()
            }
            1 if depth > 0 && rng.bool() => {
                depth = 0;
                ["COMMIT", "ROLLBACK"][rng.usize(..2)].to_string()
            }
            2 if depth > 0 => format!("SAVE TRANSACTION p{}", rng.u8(..3)),
            3 if depth > 0 => {
                format!(
                    "BEGIN TRY ROLLBACK TRANSACTION p{} END TRY BEGIN CATCH END CATCH",
                    rng.u8(..3)
                )
            }
            4 => format!("DELETE TOP ({}) FROM r", rng.u8(..4)),
            5 => "INSERT r (x) SELECT CASE WHEN x = 3 THEN 1 / 0 ELSE x END FROM r".to_string(),
            6 => "DELETE TOP (1) FROM s".to_string(),
            n => format!(
                "INSERT {} (x) VALUES ({}), (1)",
                ["r", "s"][usize::from(n % 2)],
                rng.u8(..10)
            ),
        };
        b.run(&sql);
        if depth == 0 && b.session.trancount() > 0 {
            b.run("ROLLBACK");
        }
        depth = u32::from(b.session.trancount() > 0);
        assert_eq!(lines(&mut b, kept), lines(&mut b, real), "step {step}: {sql}");
    }
}

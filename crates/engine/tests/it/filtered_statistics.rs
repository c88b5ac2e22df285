//! Statistics of a part of a table's rows: which conditions they are asked about, what they tell,
//! how they are kept and shown.

use crate::support::text::{Bench, power_loss, run, say, try_open};
use engine::Instance;
use sim::SimDisk;
use std::sync::Arc;

/// 10,000 cars of 20 makes with 5 models each: a model is of one make.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE cars (id int PRIMARY KEY, make varchar(10) NOT NULL, model varchar(20) NOT NULL, year int, half AS id / 2)
         INSERT cars SELECT value, CONCAT('k', value % 20), CONCAT('m', value % 20, '-', value / 20 % 5), 1950 + value / 200
         FROM GENERATE_SERIES(1, 10000)",
    );
    b
}

fn lines(b: &mut Bench, sql: &str) -> String {
    b.run(sql).trim().to_owned()
}

/// The rows that the planner expects of a query.
fn expected(b: &mut Bench, sql: &str) -> f64 {
    b.run("SET SHOWPLAN_XML ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_XML OFF");
    let number = shown.split("EstimateRows=\"").nth(1).and_then(|rest| rest.split('"').next());
    number.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no estimate: {shown}"))
}

const MODEL: &str = "SELECT id FROM cars WHERE make = 'k3' AND model = 'm3-1'";

#[test]
fn columns_that_depend_on_each_other() {
    let mut b = bench();
    assert_eq!(
        lines(&mut b, "SELECT COUNT(*) FROM cars WHERE make = 'k3' AND model = 'm3-1'"),
        "100"
    );
    let before = expected(&mut b, MODEL);
    assert!(before < 50.0, "as if they did not: {before}");
    b.run("CREATE STATISTICS models_of_3 ON cars (model) WHERE make = 'k3'");
    let near = |found: f64, wanted: f64| (found - wanted).abs() <= wanted * 0.05;
    let found = expected(&mut b, MODEL);
    assert!(near(found, 100.0), "{found}");
    // In any order, of any texts that are equal, and as parameters whose values are known.
    for query in [
        "SELECT id FROM cars WHERE 'm3-1' = model AND 'K3' = make",
        "DECLARE @make varchar(10) = 'k3', @model varchar(20) = 'm3-1'
         SELECT id FROM cars WHERE make = @make AND model = @model OPTION (RECOMPILE)",
        "SELECT id FROM cars c WHERE make IN ('k3') AND model = 'm3-1'",
    ] {
        let found = expected(&mut b, query);
        assert!(near(found, 100.0) || query.contains("DECLARE"), "{found}: {query}");
    }
    // A value that the part does not have, and a range of the part's values.
    assert!(expected(&mut b, "SELECT id FROM cars WHERE make = 'k3' AND model = 'm4-1'") < 3.0);
    let found = expected(
        &mut b,
        "SELECT id FROM cars WHERE make = 'k3' AND model >= 'm3-1' AND model <= 'm3-3'",
    );
    assert!(near(found, 300.0), "{found}");
    // Beside another condition, which counts as one of its own, and below a join.
    let found = expected(
        &mut b,
        "SELECT id FROM cars WHERE make = 'k3' AND model = 'm3-1' AND year = 1960",
    );
    assert!((1.0..=20.0).contains(&found), "{found}");
}

#[test]
fn rows_outside_of_the_part_are_none_of_theirs() {
    let mut b = bench();
    b.run("CREATE STATISTICS young ON cars (model) WHERE year > 1990");
    b.run("CREATE STATISTICS models_of_3 ON cars (model) WHERE make = 'k3' AND year IS NOT NULL");
    let other = expected(&mut b, "SELECT id FROM cars WHERE make = 'k4' AND model = 'm4-1'");
    assert!(other < 50.0, "of another make: {other}");
    let alone = expected(&mut b, "SELECT id FROM cars WHERE model = 'm3-1'");
    assert!((90.0..=110.0).contains(&alone), "{alone}");
    let half = expected(&mut b, MODEL);
    assert!(half < 50.0, "nothing says that the year is known: {half}");
    let whole = expected(
        &mut b,
        "SELECT id FROM cars WHERE make = 'k3' AND model = 'm3-1' AND year IS NOT NULL",
    );
    assert!((90.0..=110.0).contains(&whole), "{whole}");
    // Narrower than the filter: 1991 to 2000 are a fifth of the rows, 1996 to 2000 a tenth.
    let narrower = expected(&mut b, "SELECT id FROM cars WHERE year > 1995 AND model = 'm3-1'");
    assert!((7.0..=14.0).contains(&narrower), "{narrower}");
    let wider = expected(&mut b, "SELECT id FROM cars WHERE year > 1985 AND model = 'm3-1'");
    assert!(wider > 20.0, "{wider}");
}

#[test]
fn they_are_shown() {
    let mut b = bench();
    b.run("CREATE STATISTICS s ON cars (model, id) WHERE make IN ('k3', 'k4') AND year > 1999");
    b.run("CREATE INDEX old ON cars (year) WHERE year < 1960");
    let stats = "SELECT name, has_filter, filter_definition FROM sys.stats WHERE object_id = OBJECT_ID('cars') AND has_filter = 1 ORDER BY name";
    assert_eq!(
        lines(&mut b, stats),
        "old|1|([year]<(1960))\ns|1|([make] IN ('k3', 'k4') AND [year]>(1999))"
    );
    let rows = "SELECT s.name, p.rows, p.rows_sampled, p.unfiltered_rows FROM sys.stats s
        CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p
        WHERE s.object_id = OBJECT_ID('cars') AND s.has_filter = 1 ORDER BY s.name";
    b.run("UPDATE STATISTICS cars");
    // 1950 has 199 rows, each later year 200, 2000 one: of the years above 1999 the first is 2000.
    assert_eq!(lines(&mut b, rows), "old|1999|1999|10000\ns|0|0|10000");
    b.run("UPDATE cars SET year = 2010 WHERE id <= 100");
    b.run("UPDATE STATISTICS cars (s) WITH FULLSCAN");
    assert_eq!(lines(&mut b, rows).lines().last().unwrap(), "s|10|10|10000");
    let header = lines(&mut b, "DBCC SHOW_STATISTICS ('cars', 's') WITH STAT_HEADER");
    assert!(header.contains("|([make] IN ('k3', 'k4') AND [year]>(1999))|10000|"), "{header}");
    let steps = lines(&mut b, "DBCC SHOW_STATISTICS ('cars', 's') WITH HISTOGRAM");
    assert!(steps.lines().any(|l| l.starts_with("m3-0|")) && !steps.contains("m5-"), "{steps}");
}

#[test]
fn they_are_kept_with_their_table() {
    let mut b = bench();
    b.run("CREATE STATISTICS s ON cars (model) WHERE make = 'k3'");
    let long = (0..900).map(|n| format!("{n}")).collect::<Vec<_>>().join(", ");
    b.run(&format!("CREATE STATISTICS l ON cars (model) WHERE year IN ({long})"));
    // The columns behind a dropped one have other positions.
    b.run("CREATE TABLE other (a int, b int, c int); ALTER TABLE other DROP COLUMN a; CREATE STATISTICS o ON other (b) WHERE c = 1");
    let shown =
        "SELECT name, LEN(filter_definition) FROM sys.stats WHERE has_filter = 1 ORDER BY name";
    let before = lines(&mut b, shown);
    b = b.restart();
    assert_eq!(lines(&mut b, shown), before);
    assert!((95.0..=105.0).contains(&expected(&mut b, MODEL)));
    assert_eq!(
        lines(&mut b, "EXEC sp_rename 'cars.s', 's2', 'STATISTICS'; UPDATE STATISTICS cars (s2)")
            .lines()
            .count(),
        1
    );
    b.run("ALTER TABLE other DROP COLUMN b");
    for (sql, error) in [
        ("ALTER TABLE cars DROP COLUMN make", "Msg 5074"),
        ("ALTER TABLE cars ALTER COLUMN make varchar(30)", "Msg 5074"),
        ("EXEC sp_rename 'cars.make', 'maker', 'COLUMN'", "Msg 15336"),
    ] {
        let said = lines(&mut b, sql);
        assert!(said.contains(error), "{sql}: {said}");
    }
    b.run("BEGIN TRAN; DROP STATISTICS cars.s2; CREATE STATISTICS s3 ON cars (model) WHERE make = 'k4'; ROLLBACK");
    assert!((95.0..=105.0).contains(&expected(&mut b, MODEL)));
    b = b.restart();
    let after = lines(&mut b, shown);
    assert!(after.contains("s2|") && !after.contains("s3|"), "{after}");
    b.run("DROP STATISTICS cars.s2; DROP STATISTICS cars.l");
    assert!(expected(&mut b, MODEL) < 50.0);
    b.run("ALTER TABLE cars DROP COLUMN year; DROP TABLE cars");
    b = b.restart();
    assert_eq!(
        lines(&mut b, "SELECT COUNT(*) FROM sys.stats WHERE has_filter = 1 AND name <> 'o'"),
        "0"
    );
}

#[test]
fn those_of_a_filtered_index_are_measured_when_a_plan_needs_them() {
    let mut b = bench();
    b.run("CREATE INDEX models_of_3 ON cars (model) WHERE make = 'k3'");
    let rows =
        "SELECT p.rows FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p
                WHERE s.name = 'models_of_3'";
    expected(&mut b, "SELECT id FROM cars WHERE make = 'k4' AND model = 'm4-1'");
    assert_eq!(lines(&mut b, rows), "NULL", "nothing was asked of its part");
    let found = expected(&mut b, MODEL);
    assert!((95.0..=105.0).contains(&found), "{found}");
    assert_eq!(lines(&mut b, rows), "500");
    // The same index of other rows has not been measured.
    b.run("CREATE INDEX models_of_3 ON cars (model) WHERE make = 'k5' WITH (DROP_EXISTING = ON)");
    assert_eq!(lines(&mut b, rows), "NULL");
    assert!(expected(&mut b, MODEL) < 50.0);
}

#[test]
fn they_are_measured_again_when_the_table_has_changed() {
    let mut b = bench();
    b.run("CREATE STATISTICS s ON cars (model) WHERE make = 'k3'");
    b.run("UPDATE cars SET make = 'k3', model = 'm3-1' WHERE id > 5000");
    let rows =
        "SELECT p.rows FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p
                WHERE s.name = 's'";
    for _ in 0..500 {
        expected(&mut b, MODEL);
        if lines(&mut b, rows) == "5250" {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("{}", lines(&mut b, rows));
}

#[test]
fn wrong_filters() {
    let mut b = bench();
    for (sql, error) in [
        ("CREATE STATISTICS s ON cars (model) WHERE half > 1", "Msg 10609"),
        ("CREATE STATISTICS s ON cars (model) WHERE make = 'k3' OR year > 1", "Msg 10735"),
        ("CREATE STATISTICS s ON cars (model) WHERE make = N'k3'", "Msg 10611"),
        ("CREATE STATISTICS s ON cars (model) WHERE year = 'x'", "Msg 10612"),
        ("CREATE STATISTICS s ON cars (model) WHERE year = NULL", "Msg 10620"),
        ("CREATE STATISTICS s ON cars (model) WHERE none = 1", "Msg 207"),
        ("SET ANSI_NULLS OFF; CREATE STATISTICS s ON cars (model) WHERE year = 1", "Msg 1934"),
    ] {
        let said = lines(&mut b, sql);
        assert!(said.contains(error), "{sql}: {said}");
        assert!(!said.contains("index '"), "of statistics: {said}");
    }
    let said =
        lines(&mut b, "SET ANSI_NULLS ON; CREATE STATISTICS s ON cars (model) WHERE half > 1");
    assert!(
        said.contains(
            "Filtered statistics 's' cannot be created on table 'cars' because the column 'half'"
        ),
        "{said}"
    );
    assert_eq!(lines(&mut b, "SELECT COUNT(*) FROM sys.stats WHERE name = 's'"), "0");
}

#[test]
fn a_power_loss_leaves_whole_filters() {
    let open = |disk: &SimDisk| -> Arc<Instance> { try_open(disk, 8 << 20).expect("it opens") };
    let disk = SimDisk::new(43);
    let instance = open(&disk);
    run(&instance, "CREATE DATABASE d");
    // Filters of several rows of the system table.
    let long = (0..1500).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    run(
        &instance,
        &format!(
            "USE d; CREATE TABLE t (a int, b int); INSERT t SELECT value, value % 7 FROM GENERATE_SERIES(1, 2000);
             CREATE STATISTICS old ON t (a) WHERE b IN ({long})"
        ),
    );
    instance.close().expect("it closes");
    drop(instance);
    let sql = format!(
        "USE d; CREATE STATISTICS new ON t (a) WHERE b = 3 AND a IN ({long});
         DROP STATISTICS t.old;
         EXEC sp_rename 't.new', 'newer', 'STATISTICS';
         BEGIN TRAN; CREATE STATISTICS never ON t (a) WHERE b = 4; DROP STATISTICS t.newer; ROLLBACK"
    );
    let shown =
        "SELECT name, LEN(filter_definition) FROM d.sys.stats WHERE has_filter = 1 ORDER BY name";
    let whole = open(&disk.crash(0));
    let old = say(&whole, shown);
    run(&whole, &sql);
    let newer = say(&whole, shown);
    assert!(newer.starts_with("newer|") && old.starts_with("old|"), "{newer}, {old}");
    drop(whole);
    let new = newer.replace("newer", "new");
    let (states, mut met) = ([old.clone(), format!("{new}\n{old}"), new, newer], [false; 4]);
    power_loss(&disk, open, &sql, 40, |instance, _, at| {
        let left = say(instance, shown);
        let state = states.iter().position(|state| *state == left);
        met[state.unwrap_or_else(|| panic!("at {at}: {left}"))] = true;
        assert_eq!(say(instance, "DBCC CHECKDB (d) WITH NO_INFOMSGS"), "", "at {at}");
        // What is there can be dropped, and its names and texts taken again.
        let drop_all = "USE d; DECLARE @sql nvarchar(max) = ''
            SELECT @sql += CONCAT('DROP STATISTICS t.', name, '; ') FROM sys.stats WHERE has_filter = 1
            EXEC (@sql); CREATE STATISTICS old ON t (a) WHERE b = 5";
        run(instance, drop_all);
        assert_eq!(say(instance, shown), "old|9", "at {at}");
    });
    assert!(met[0] && met[3], "{met:?}");
}

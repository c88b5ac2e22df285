//! What decides a plan besides the query's text: hints of tables and of OPTION, values that are
//! known when the plan is made, tables that grow while many sessions run one statement.

use crate::support::text::{Bench, Text};

/// 20,000 events: `kind` 0 has half of them, the others two each; `at` ascends.
fn fill(b: &mut Bench) {
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE event (id int CONSTRAINT pk_event PRIMARY KEY, kind int, at int, pad char(40) DEFAULT 'x')
         CREATE TABLE place (w int, d int, id int, name varchar(20), CONSTRAINT pk_place PRIMARY KEY (w, d, id))
         CREATE TABLE heap (a int, b int)
         CREATE INDEX by_kind ON event (kind)
         CREATE INDEX by_at ON event (at, kind)
         CREATE INDEX by_name ON place (name)
         SELECT TOP (20000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n INTO n
         FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c
         INSERT event (id, kind, at) SELECT n, CASE WHEN n % 2 = 0 THEN 0 ELSE n / 4 END, n FROM n
         INSERT place SELECT n % 4, n / 4 % 10, n / 40, CONCAT('name', n % 100) FROM n WHERE n < 4000
         INSERT heap SELECT n, n FROM n WHERE n < 100",
    );
}

fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

/// The plan of a statement that runs, as it ran.
fn ran(b: &mut Bench, sql: &str) -> String {
    b.run("SET STATISTICS PROFILE ON");
    let shown = b.run(sql);
    b.run("SET STATISTICS PROFILE OFF");
    assert!(!shown.contains("Msg "), "{sql}\n{shown}");
    shown.lines().filter(|line| line.contains("|--")).collect::<Vec<_>>().join("\n")
}

fn lines(b: &mut Bench, sql: &str) -> String {
    b.run(sql).trim().to_owned()
}

#[track_caller]
fn has(shown: &str, part: &str) {
    assert!(shown.contains(part), "{part} in {shown}");
}

const NO_PLAN: &str = "Msg 8622: Query processor could not produce a query plan because of the hints defined in this query. Resubmit the \
                       query without specifying any hints and without using SET FORCEPLAN.";

#[test]
fn hints_of_a_table_decide_how_it_is_read() {
    let mut b = Bench::new();
    fill(&mut b);
    let frequent = "SELECT COUNT(pad) FROM event WHERE kind = 0";
    has(&plan(&mut b, frequent), "Clustered Index Scan");
    for (hint, part) in [
        ("FORCESEEK", "by_kind]), SEEK:([kind])"),
        ("FORCESEEK (by_kind (kind))", "by_kind]), SEEK:([kind])"),
        ("FORCESEEK, INDEX (by_kind)", "by_kind]), SEEK:([kind])"),
        ("INDEX (by_kind)", "by_kind]), SEEK:([kind])"),
        ("INDEX = by_at", "Index Scan(OBJECT:([t].[dbo].[event].[by_at])"),
        ("INDEX (0)", "Clustered Index Scan"),
        ("INDEX (1)", "Clustered Index Scan"),
        ("FORCESCAN, INDEX (by_kind)", "Index Scan(OBJECT:([t].[dbo].[event].[by_kind])"),
    ] {
        let hinted = frequent.replace("event", &format!("event WITH ({hint})"));
        has(&plan(&mut b, &hinted), part);
        assert_eq!(lines(&mut b, &hinted), "10002", "{hint}");
    }
    for (sql, part) in [
        ("SELECT pad FROM event WITH (FORCESCAN) WHERE id = 5", "Clustered Index Scan"),
        ("SELECT pad FROM event WITH (INDEX (0)) WHERE id = 5", "Clustered Index Scan"),
        ("SELECT pad FROM event WITH (INDEX (1)) WHERE id = 5", "Clustered Index Seek"),
        (
            "SELECT id FROM event WITH (FORCESEEK (by_at (at, kind))) WHERE at = 5 AND kind = 1",
            "SEEK:([at], [kind])",
        ),
        ("SELECT id FROM event WITH (FORCESEEK) WHERE at IN (5, 7)", "2 ranges"),
        ("UPDATE event WITH (FORCESEEK) SET pad = 'y' WHERE kind = 0 AND id < 9", "Seek"),
        ("DELETE e FROM event AS e WITH (FORCESCAN) WHERE e.id = -5", "Clustered Index Scan"),
    ] {
        has(&plan(&mut b, sql), part);
        assert!(!b.run(sql).contains("Msg "), "{sql}");
    }
    for sql in [
        "SELECT COUNT(*) FROM event WITH (FORCESEEK) WHERE pad = 'x'",
        "SELECT COUNT(*) FROM event WITH (FORCESEEK)",
        "SELECT COUNT(*) FROM event WITH (FORCESEEK (by_at (at, kind))) WHERE at = 5",
        "SELECT COUNT(*) FROM event WITH (FORCESEEK, INDEX (by_kind)) WHERE at = 5",
        "SELECT COUNT(*) FROM heap WITH (FORCESEEK) WHERE a = 5",
        "SELECT COUNT(*) FROM event AS e INNER HASH JOIN place AS p WITH (FORCESEEK) ON p.id = e.id",
        "DELETE event WITH (FORCESEEK) WHERE pad = 'y'",
    ] {
        b.check(sql, NO_PLAN);
    }
    for (hint, number) in [
        ("FORCESEEK (by_at (kind))", 362),
        ("FORCESEEK (by_kind (kind, at))", 363),
        ("FORCESEEK (nothing (kind))", 308),
        ("INDEX (9)", 307),
        ("FORCESEEK, FORCESCAN", 1047),
    ] {
        has(
            &b.run(&frequent.replace("event", &format!("event WITH ({hint})"))),
            &format!("Msg {number}:"),
        );
    }
}

#[test]
fn hints_of_a_table_decide_its_joins() {
    let mut b = Bench::new();
    fill(&mut b);
    // Cheaper by a hash table; sought because the hint says so, whichever side it is written on.
    let join =
        "SELECT COUNT(*), SUM(e.at) FROM place AS p JOIN event AS e ON e.id = p.id * 40 + p.d";
    let answer = lines(&mut b, join);
    has(&plan(&mut b, join), "Hash Match");
    for hinted in [
        join.replace("event AS e", "event AS e WITH (FORCESEEK)"),
        "SELECT COUNT(*), SUM(e.at) FROM event AS e WITH (FORCESEEK) JOIN place AS p ON e.id = p.id * 40 + p.d".into(),
    ] {
        has(&plan(&mut b, &hinted), "Clustered Index Seek(OBJECT:([t].[dbo].[event].[pk_event]), SEEK:([id]))");
        assert_eq!(lines(&mut b, &hinted), answer);
    }
    // Cheaper by seeks; scanned because the hint says so.
    let few = "SELECT e.pad FROM place AS p JOIN event AS e ON e.id = p.id WHERE p.w = 1 AND p.d = 2 AND p.id = 3";
    has(&plan(&mut b, few), "Clustered Index Seek(OBJECT:([t].[dbo].[event]");
    let scanned = few.replace("event AS e", "event AS e WITH (FORCESCAN)");
    has(&plan(&mut b, &scanned), "Clustered Index Scan(OBJECT:([t].[dbo].[event]");
    assert_eq!(lines(&mut b, &scanned), lines(&mut b, few));
    // A loop seeks by what is fixed and what is joined, in whatever type and order of the columns.
    for sql in [
        "SELECT COUNT(*) FROM event AS e INNER LOOP JOIN place AS p ON p.w = 3 AND p.id = e.id AND p.d = e.kind",
        "SELECT COUNT(*) FROM event AS e LEFT LOOP JOIN place AS p ON p.id = CAST(e.id AS bigint) AND p.d = 2 AND p.w = e.kind",
        "SELECT COUNT(*) FROM event AS e WHERE EXISTS (SELECT * FROM place AS p WHERE p.w = e.kind AND p.d = 1 AND p.id = e.id) OPTION (LOOP JOIN)",
    ] {
        has(&plan(&mut b, sql), "[pk_place]), SEEK:([w], [d], [id]))");
        let by_hash = sql
            .replace(" LOOP JOIN place", " HASH JOIN place")
            .replace("(LOOP JOIN)", "(HASH JOIN)");
        assert_eq!(lines(&mut b, sql), lines(&mut b, &by_hash), "{sql}");
    }
}

#[test]
fn a_plan_is_made_for_the_values_that_are_known() {
    let mut b = Bench::new();
    fill(&mut b);
    let (scan, seek) = ("Clustered Index Scan", "by_kind]), SEEK:([kind]");
    let of = |value: &str, option: &str| {
        format!("DECLARE @k int = {value} SELECT COUNT(pad) FROM event WHERE kind = @k {option}")
    };
    for (value, option, part) in [
        // The value that the variable has when the statement is compiled.
        ("7", "", seek),
        ("0", "", scan),
        ("0", "OPTION (RECOMPILE)", scan),
        ("7", "OPTION (RECOMPILE)", seek),
        ("0", "OPTION (OPTIMIZE FOR (@k = 7))", seek),
        ("7", "OPTION (OPTIMIZE FOR (@k = 0))", scan),
        // On average a kind has a few rows.
        ("0", "OPTION (OPTIMIZE FOR UNKNOWN)", seek),
        ("0", "OPTION (OPTIMIZE FOR (@k UNKNOWN))", seek),
        ("0", "OPTION (USE HINT ('DISABLE_PARAMETER_SNIFFING'))", seek),
    ] {
        let sql = of(value, option);
        has(&ran(&mut b, &sql), part);
        assert_eq!(lines(&mut b, &sql), if value == "0" { "10002" } else { "2" }, "{sql}");
    }
    has(&b.run(&of("7", "OPTION (OPTIMIZE FOR (@nothing = 7))")), "Msg 137:");
    // A procedure's parameters and variables.
    b.run(
        "CREATE PROCEDURE p @k int AS DECLARE @from int, @to int SELECT @from = @k, @to = @k + 10
               SELECT COUNT(pad) FROM event WHERE at >= @from AND at < @to",
    );
    has(&ran(&mut b, "EXEC p 100"), "by_at]), SEEK:([at]");
    b.run("CREATE PROCEDURE q @k int AS SELECT COUNT(pad) FROM event WHERE at >= @k OPTION (RECOMPILE)");
    has(&ran(&mut b, "EXEC q 19990"), "by_at]), SEEK:([at]");
    has(&ran(&mut b, "EXEC q 10"), scan);
    has(&ran(&mut b, "EXEC q 19990"), "by_at]), SEEK:([at]");
    assert_eq!(lines(&mut b, "EXEC q 19990"), "11");
}

/// What is computed of known values, and the time, are known as well.
#[test]
fn a_plan_is_made_for_what_is_computed_of_known_values() {
    let mut b = Bench::new();
    fill(&mut b);
    b.run(
        "CREATE TABLE daily (id int PRIMARY KEY, at date NOT NULL, v int, pad char(60) DEFAULT 'x')
         CREATE INDEX by_date ON daily (at)
         INSERT daily (id, at, v) SELECT n, DATEADD(day, n / 20, '20200101'), n FROM n",
    );
    let (scan, seek) = ("Clustered Index Scan", "by_date]), SEEK:([at]");
    for (range, part, found) in [
        ("at >= @d AND at < DATEADD(month, 1, CAST(@d AS datetime))", seek, "620"),
        ("at BETWEEN DATEADD(day, -@n, @d) AND @d", seek, "80"),
        ("at >= @d AND at < DATEADD(day, @n * 2 - 4, @d)", seek, "40"),
        ("at >= @d AND at < DATEADD(year, 1, @d)", scan, "7300"),
        // To put the rows behind the entries in order costs something: a scan costs less.
        ("at >= @d AND at < DATEADD(day, 135, @d)", scan, "2700"),
        ("at >= @d AND at < DATEADD(day, 60, @d)", seek, "1200"),
        ("at > DATEADD(day, -7, GETDATE())", seek, "0"),
        ("at > DATEADD(year, -@n * 100, SYSDATETIME())", scan, "20000"),
    ] {
        let known = "DECLARE @d date = '20210301', @n int = 3";
        let sql = format!("{known} SELECT COUNT(v) FROM daily WHERE {range}");
        has(&ran(&mut b, &sql), part);
        assert_eq!(lines(&mut b, &sql), found, "{sql}");
    }
    // So it is with parameters: a year of seven is too much for lookups.
    b.run(
        "CREATE TABLE line (id int PRIMARY KEY, at date, discount decimal(15, 2), quantity decimal(15, 2), price decimal(15, 2))
         CREATE INDEX by_day ON line (at)
         INSERT line SELECT n, DATEADD(day, n % 2557, '19920101'), n % 11 * 0.01, n % 50, n FROM n",
    );
    for (unit, part) in [("yy", "Clustered Index Scan"), ("mm", "by_day]), SEEK:([at]")] {
        b.run(&format!(
            "CREATE PROCEDURE revenue_{unit} @P0 date, @P1 date, @P2 decimal(2, 2), @P3 decimal(2, 2), @P4 int AS
             SELECT SUM(price * discount) FROM line WHERE at >= @P0 AND at < DATEADD({unit}, 1, CAST(@P1 AS datetime))
             AND discount BETWEEN @P2 - 0.01 AND @P3 + 0.01 AND quantity < @P4"
        ));
        let sql = format!("EXEC revenue_{unit} '19940101', '19940101', 0.06, 0.06, 24");
        has(&ran(&mut b, &sql), part);
    }
    // What cannot be computed is no error of the plan.
    has(&b.run("DECLARE @n int = 0 SELECT COUNT(v) FROM daily WHERE v > 1 / @n"), "Msg 8134:");
}

#[test]
fn known_values_are_folded_into_the_conditions() {
    let mut b = Bench::new();
    fill(&mut b);
    b.run("CREATE PROCEDURE search @kind int, @at int, @fold bit AS
           IF @fold = 1 SELECT id FROM event WHERE (@kind IS NULL OR kind = @kind) AND (@at IS NULL OR at = @at) ORDER BY id OPTION (RECOMPILE)
           ELSE SELECT id FROM event WHERE (@kind IS NULL OR kind = @kind) AND (@at IS NULL OR at = @at) ORDER BY id");
    for (args, part) in [
        ("NULL, 77", "SEEK:([at])"),
        ("19, 77", "SEEK:([at], [kind])"),
        ("5, NULL", "SEEK:([kind])"),
    ] {
        has(&ran(&mut b, &format!("EXEC search {args}, 1")), part);
        assert_eq!(
            lines(&mut b, &format!("EXEC search {args}, 1")),
            lines(&mut b, &format!("EXEC search {args}, 0")),
            "{args}"
        );
    }
    // Nothing is read where nothing can be found.
    let shown = plan(&mut b, "SELECT id FROM event WHERE kind = 5 AND (1 = 2 OR NULL > 3)");
    assert!(!shown.contains("[event]"), "{shown}");
    // What cannot be computed is computed when the plan runs.
    has(&b.run("SELECT id FROM event WHERE 1 / 0 = 1"), "Msg 8134:");
    // Variables that the statement changes row by row are no constants.
    assert_eq!(
        lines(
            &mut b,
            "DECLARE @n int = 0 SELECT @n = @n + 1 FROM event WHERE id <= 5 OPTION (RECOMPILE) SELECT @n"
        ),
        "5"
    );
    assert_eq!(
        lines(
            &mut b,
            "SET NOCOUNT ON DECLARE @n int = 0 UPDATE event SET @n = @n + 1, at = @n WHERE id <= 5 OPTION (RECOMPILE) SELECT @n"
        ),
        "5"
    );
}

/// Index entries hold the clustered key: the same rows as of the table itself.
#[test]
fn index_entries_give_the_clustered_key() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE k (a date, b decimal(9, 2), c uniqueidentifier, d smallint, x int, name varchar(10), PRIMARY KEY (a DESC, b, c, d DESC))
         CREATE TABLE s (name varchar(10), n int, x int, y int, PRIMARY KEY (n, name))
         CREATE TABLE twice (a int, x int)
         SELECT TOP (3000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n INTO n
         FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c
         INSERT k SELECT DATEADD(day, -n % 40, '20260101'), (n % 7 - 3) * 1.25, CAST(CAST(n % 11 AS binary(16)) AS uniqueidentifier), n / 30 - 50, n % 30, 'x' FROM n
         INSERT s SELECT CONCAT('N', n % 50, ' '), n / 50, n % 30, n FROM n
         INSERT twice SELECT n % 100, n % 30 FROM n
         CREATE CLUSTERED INDEX a ON twice (a)
         CREATE INDEX x ON k (x) CREATE INDEX x ON s (x) INCLUDE (y) CREATE INDEX x ON twice (x DESC)
         CREATE UNIQUE INDEX y ON s (y)",
    );
    for (wanted, table, condition, order) in [
        ("a, b, c, d", "k", "x = 7", "a DESC, b, c, d DESC"),
        ("a, b, c, d", "k", "x = 7", "a, b DESC, c DESC, d"),
        ("d, c, x", "k", "x < 3 AND a < '20251220'", "x, a DESC, b, c, d DESC"),
        ("b, d", "k", "x = 7 AND a = '20251225' AND b > 0", "b, c, d DESC"),
        ("n, x", "s", "x = 5 AND n >= 7", "n, x"),
        ("n, name", "s", "x = 5 AND n = 7", "name"),
        ("n", "s", "y BETWEEN 100 AND 190", "y DESC"),
        ("a, x", "twice", "x = 5 AND a > 20", "a DESC"),
        ("a", "twice", "x = 5 AND a = 25", "x"),
    ] {
        let sql = format!(
            "SELECT {wanted} FROM {table} WITH (INDEX (HINT)) WHERE {condition} ORDER BY {order}"
        );
        let index = if condition.starts_with('y') { "y" } else { "x" };
        let (by_index, by_base) =
            (sql.replace("HINT", index), sql.replace("HINT", "1").replace("(1)", "(0)"));
        let shown = plan(&mut b, &by_index);
        has(&shown, "Index Seek");
        if wanted != "n, name" {
            assert!(!shown.contains("LOOKUP") && !shown.contains("Sort"), "{sql}: {shown}");
        }
        let found = lines(&mut b, &by_index);
        assert_eq!(found, lines(&mut b, &by_base), "{sql}");
        assert!(!found.is_empty(), "{sql}");
        // With locks the rows themselves are read.
        let locked = by_index.replace("INDEX (", "HOLDLOCK, INDEX (");
        assert_eq!(lines(&mut b, &locked), found, "{sql}");
    }
    // After the key has changed, and of versions that are gone by now.
    let query = "SELECT a, d FROM k WHERE x = 7 AND b = 1.25 ORDER BY a DESC, b, c, d DESC";
    let before = lines(&mut b, query);
    b.run("BEGIN TRAN UPDATE k SET a = DATEADD(day, 1, a), d = d - 1 WHERE x = 7");
    let by_base = query.replace("FROM k", "FROM k WITH (INDEX (0))");
    assert_eq!(lines(&mut b, query), lines(&mut b, &by_base));
    b.run("ROLLBACK");
    assert_eq!(lines(&mut b, query), before);
    assert_eq!(
        lines(&mut b, "SELECT MAX(n) FROM s WHERE x = 5"),
        lines(&mut b, "SELECT MAX(n) FROM s WITH (INDEX (0)) WHERE x + 0 = 5")
    );
    has(&plan(&mut b, "SELECT MAX(n) FROM s WHERE x = 5"), "ORDERED BACKWARD");
    has(&plan(&mut b, "SELECT MIN(at) FROM (SELECT n AS at, x FROM s) q WHERE x = 5"), "Top");
}

/// Plans are kept while tables grow: what an index finds by an equality is sought in a table that
/// is empty yet.
#[test]
fn an_empty_table_is_sought_as_a_large_one_is() {
    let mut b = Bench::new();
    b.run(
        "CREATE TABLE vote (id bigint NOT NULL, phone bigint NOT NULL, state varchar(2) NOT NULL, INDEX by_phone (phone))
         CREATE TABLE line (a int, b int, c int, x int, PRIMARY KEY (a, b), INDEX by_c (c) INCLUDE (x))",
    );
    let (phone, line) =
        ("by_phone]), SEEK:([phone])", "Clustered Index Seek(OBJECT:([t].[dbo].[line]");
    for rows in 0..5 {
        for (sql, part) in [
            ("SELECT COUNT(*) FROM vote WHERE phone = 7", phone),
            ("SELECT 1 WHERE EXISTS (SELECT * FROM vote WITH (HOLDLOCK) WHERE phone = 7)", phone),
            // Who locks what he reads, or waits for who has changed it, looks rows up rather than
            // to read all.
            ("SELECT state FROM vote WITH (HOLDLOCK) WHERE phone = 7", phone),
            ("SELECT state FROM vote WITH (UPDLOCK) WHERE phone = 7", phone),
            ("UPDATE vote SET state = 'x' WHERE phone = 7", phone),
            ("DELETE vote WHERE phone = 7", phone),
            ("SELECT x FROM line WHERE c = 7", "by_c]), SEEK:([c])"),
            (
                "MERGE line AS l USING (VALUES (7, 7)) AS s (a, b) ON l.a = s.a AND l.b = s.b
              WHEN MATCHED THEN UPDATE SET x = 1;",
                line,
            ),
            (
                "MERGE line AS l USING (VALUES (7, 7)) AS s (a, b) ON l.a = s.a AND l.b = s.b
              WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.b);",
                line,
            ),
        ] {
            let shown = plan(&mut b, sql);
            assert!(shown.contains(part), "{rows} rows, {sql}: {part} in {shown}");
        }
        b.run(&format!(
            "INSERT vote VALUES ({rows}, {rows}, 'x') INSERT line VALUES ({rows}, 1, {rows}, 1)"
        ));
    }
}

/// What a plan that was made for an empty table locks: the rows that are wanted, not the table.
#[test]
fn a_plan_made_for_an_empty_table_leaves_other_rows_to_others() {
    let mut b = Bench::new();
    b.run("CREATE TABLE vote (id int NOT NULL, phone int NOT NULL, state varchar(2) NOT NULL, INDEX by_phone (phone))");
    let read = |what: &str, phone: i32| {
        format!(
            "EXEC sp_executesql N'SELECT {what} FROM vote WITH (HOLDLOCK) WHERE phone = @p', N'@p int', {phone}"
        )
    };
    let change =
        "EXEC sp_executesql N'UPDATE vote SET id = @i WHERE phone = @p', N'@p int, @i int', ";
    for what in ["COUNT(*)", "state"] {
        b.run(&read(what, 5));
    }
    b.run(&format!("{change} 5, 5"));
    b.check(
        "SET NOCOUNT ON INSERT vote VALUES (10, 10, 'a'), (20, 20, 'b'), (30, 30, 'c') SET NOCOUNT OFF",
        "",
    );
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    let mut say = |sql: &str| {
        let mut out = Text::default();
        other.execute(sql, &mut out);
        out.out.trim().to_owned()
    };
    say("SET LOCK_TIMEOUT 100");
    for (what, answer) in [("COUNT(*)", "1"), ("state", "a")] {
        b.check(&format!("BEGIN TRAN {}", read(what, 10)), answer);
        assert_eq!(say("UPDATE vote SET state = 'x' WHERE phone = 30"), "(1)", "{what}");
        assert!(say("UPDATE vote SET phone = 11 WHERE phone = 10").contains("Msg 1222"), "{what}");
        b.run("ROLLBACK");
    }
    // A change waits for nobody else's row.
    b.check("BEGIN TRAN UPDATE vote SET state = 'y' WHERE phone = 20", "(1)");
    assert_eq!(say(&format!("{change} 30, 31")), "(1)");
    b.run("ROLLBACK");
}

/// Many sessions run one statement while its table grows: few plans are made, each by one session.
#[test]
fn one_session_makes_the_plan_that_all_use() {
    let mut b = Bench::new();
    fill(&mut b);
    let compiled =
        "SELECT occurrence FROM sys.dm_exec_query_optimizer_info WHERE counter = 'optimizations'";
    let count = |b: &mut Bench| lines(b, compiled).parse::<u64>().unwrap();
    b.run("CREATE PROCEDURE work @n int AS SELECT COUNT(*) FROM event WHERE kind = @n AND at > 0");
    b.run("CREATE PROCEDURE grow @first int AS INSERT event (id, kind, at) SELECT n + @first, n, n FROM n WHERE n <= 100");
    b.run("EXEC work 7");
    let before = count(&mut b);
    let instance = b.instance.clone();
    std::thread::scope(|scope| {
        for session in 0..4 {
            let instance = &instance;
            scope.spawn(move || {
                let mut own = instance.session().unwrap();
                own.use_database("t").unwrap();
                let mut say = |sql: &str| {
                    let mut out = Text::default();
                    own.execute(sql, &mut out);
                    assert!(!out.out.contains("Msg "), "{sql}: {}", out.out);
                };
                for i in 0..200 {
                    say("EXEC work 7");
                    if i % 4 == 0 {
                        let first = 100_000 + session * 100_000 + i * 100;
                        say(&format!("EXEC grow {first}"));
                    }
                }
            });
        }
    });
    assert_eq!(lines(&mut b, "EXEC work 7"), "202");
    // 20,000 rows become 40,000: the thresholds lie at 4,472 changes and more, so five plans at
    // most; and each session's INSERT.
    let made = count(&mut b) - before;
    assert!((1..40).contains(&made), "{made} plans");
    // Updates of columns of which nothing is known make no plan old.
    let before = count(&mut b);
    for i in 0..20 {
        b.run("UPDATE event SET pad = 'z'");
        assert_eq!(lines(&mut b, "EXEC work 7"), "202", "{i}");
    }
    let made = count(&mut b) - before;
    // Those that the last renewal of the statistics has made old, not one for each UPDATE.
    assert!(made <= 8, "{made} plans");
}

/// Statistics of a large table that have become a little old are measured while statements go on
/// with what is known.
#[test]
fn old_statistics_are_measured_in_the_background() {
    let mut b = Bench::new();
    fill(&mut b);
    b.run("CREATE PROCEDURE pads AS SELECT COUNT(pad) FROM event WHERE kind = 777777");
    has(&ran(&mut b, "EXEC pads"), "by_kind]), SEEK:([kind]");
    // A quarter of the rows: more than the threshold of 4,472, less than what no statement would
    // wait for.
    b.run("INSERT event (id, kind, at) SELECT n + 50000, 777777, n FROM n WHERE n <= 5000");
    let measured =
        "SELECT p.rows FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p
                    WHERE s.object_id = OBJECT_ID('event') AND s.name = 'by_kind'";
    assert_eq!(lines(&mut b, measured), "20000");
    let began = std::time::Instant::now();
    while !ran(&mut b, "EXEC pads").contains("Clustered Index Scan") {
        assert!(began.elapsed().as_secs() < 60, "no new plan");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(lines(&mut b, measured), "25000");
    assert_eq!(lines(&mut b, "EXEC pads"), "5000");
    // Half of the table is another one: that is waited for.
    b.run("UPDATE event SET kind = 888888 WHERE id <= 15000");
    has(&plan(&mut b, "SELECT COUNT(pad) FROM event WHERE kind = 888888"), "Clustered Index Scan");
    let b = b.restart();
    drop(b);
}

#[test]
fn ranges_of_a_joined_table_are_sought() {
    let mut b = Bench::new();
    fill(&mut b);
    for (sql, sought) in [
        (
            "SELECT COUNT(*), SUM(e.id) FROM place AS p JOIN event AS e ON e.id >= p.id AND p.id + 3 > e.id WHERE p.w = 1 AND p.d = 2",
            true,
        ),
        (
            "SELECT COUNT(*), COUNT(e.id) FROM place AS p LEFT JOIN event AS e ON e.id > p.id + 19950 WHERE p.w = 1 AND p.d = 2",
            true,
        ),
        (
            "SELECT COUNT(*) FROM place AS p WHERE p.w = 1 AND EXISTS (SELECT * FROM event AS e WHERE e.id BETWEEN p.id - 5 AND p.id AND e.at > 40)",
            true,
        ),
        (
            "SELECT COUNT(*) FROM place AS p WHERE p.w = 1 AND NOT EXISTS (SELECT * FROM event AS e WHERE e.id < p.id)",
            true,
        ),
        // Behind columns that are fixed, and beside those that are joined.
        (
            "SELECT COUNT(*), SUM(q.id) FROM heap AS h JOIN place AS q ON q.w = 3 AND q.d = 1 AND q.id < h.a",
            true,
        ),
        (
            "SELECT COUNT(*), SUM(q.id) FROM heap AS h INNER LOOP JOIN place AS q ON q.w = h.a AND q.d > h.b",
            true,
        ),
        // NULL is in no range; what is compared with is not the column as it is.
        (
            "SELECT COUNT(*) FROM heap AS h LEFT JOIN event AS e ON e.id < NULLIF(h.a, 7) AND e.id > NULLIF(h.b, 9) - 2",
            true,
        ),
        ("SELECT COUNT(*) FROM heap AS h JOIN event AS e ON e.id + 1 < h.a", false),
        ("SELECT COUNT(*) FROM heap AS h JOIN event AS e ON e.kind < h.a", false),
    ] {
        let shown = plan(&mut b, sql);
        assert_eq!(shown.contains("OUTER REFERENCES"), sought, "{sql}: {shown}");
        // As the binder's own way to do it: no column stands alone.
        let by_hand = sql
            .replace("e.id", "(e.id + 0)")
            .replace("q.id", "(q.id + 0)")
            .replace("q.d", "(q.d + 0)");
        let by_hand = format!("{by_hand} OPTION (FORCE ORDER)");
        assert_eq!(lines(&mut b, sql), lines(&mut b, &by_hand), "{sql}");
    }
}

/// Rows that operators have given, by a part of their lines.
fn rows_of(shown: &str, operator: &str) -> u64 {
    let line = shown
        .lines()
        .find(|line| line.contains(operator))
        .unwrap_or_else(|| panic!("{operator} in {shown}"));
    line.split('|')
        .next()
        .and_then(|rows| rows.trim().parse().ok())
        .unwrap_or_else(|| panic!("rows in {line}"))
}

#[test]
fn a_scan_reads_what_is_asked_for() {
    let mut b = Bench::new();
    fill(&mut b);
    for (sql, operator, most) in [
        ("SELECT TOP (1) id FROM event ORDER BY id DESC", "Clustered Index Scan", 1),
        ("SELECT MAX(at) FROM event", "Index Scan", 1),
        ("SELECT TOP (5) pad FROM event WHERE kind = 0", "Scan", 5),
        (
            "SELECT TOP (3) id FROM place WHERE w = 1 AND d > 2 ORDER BY d, id",
            "Clustered Index Seek",
            3,
        ),
        (
            "SELECT COUNT(*) FROM heap AS h WHERE EXISTS (SELECT * FROM event AS e WHERE e.kind = h.a - h.b) OPTION (LOOP JOIN)",
            "Index Seek",
            99,
        ),
    ] {
        let shown = ran(&mut b, sql);
        let rows = rows_of(&shown, operator);
        assert!((1..=most).contains(&rows), "{rows} rows: {shown}");
    }
    // More is read when that is not enough.
    assert_eq!(
        lines(
            &mut b,
            "SELECT COUNT(*) FROM (SELECT TOP (3000) id FROM event WHERE id % 3 = 0 ORDER BY id) q"
        ),
        "3000"
    );
    assert_eq!(lines(&mut b, "SELECT TOP (1) id FROM event WHERE pad = 'y' ORDER BY id"), "");
    assert_eq!(
        lines(&mut b, "SELECT TOP (2) id FROM event WHERE at % 9999 = 0 ORDER BY id"),
        "9999\n19998"
    );
}

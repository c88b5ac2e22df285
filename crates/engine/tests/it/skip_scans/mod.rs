//! Seeks past the first columns of an index, which no condition names and which have few values:
//! the rows of a scan, at every level and in both directions; chosen where the values are few.

mod locks;

use crate::support::text::{Bench, Text};
use engine::Session;

/// `bid` is clustered by what its index names: twenty numbers, all even, of a thousand items each.
/// The heaps `n` and `m` have the same rows: three kinds, seven numbers of which one is NULL.
fn bench() -> Bench {
    let mut b = Bench::new();
    let made = b.run(
        "SET NOCOUNT ON
         CREATE TABLE bid (nr int NOT NULL, item int NOT NULL, who int NOT NULL, v int NOT NULL, w int,
                           CONSTRAINT pk_bid PRIMARY KEY (nr, item, who))
         INSERT bid SELECT value % 20 * 2, value / 20, value % 401, value, value % 97
                    FROM GENERATE_SERIES(0, 19999)
         CREATE TABLE n (kind smallint NOT NULL, nr int NULL, item int NULL, v int NOT NULL, w int)
         INSERT n SELECT value % 3, NULLIF(value % 7, 0), value / 21, value, value % 97
                  FROM GENERATE_SERIES(0, 19999)
         SELECT * INTO m FROM n
         CREATE INDEX i ON n (kind DESC, nr, item)
         CREATE INDEX i ON m (nr DESC, item) INCLUDE (w)",
    );
    assert_eq!(made, "");
    b
}

fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

fn beside(b: &Bench) -> Session {
    let mut session = b.instance.session().expect("a session");
    session.use_database("t").expect("it is there");
    session
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// The answer is that of a scan, at every level; `{}` is where the hint stands.
#[track_caller]
fn same(b: &mut Bench, sql: &str) {
    let by_scan = b.run(&sql.replace("{}", "WITH (INDEX(0))"));
    assert!(!by_scan.contains("Msg "), "{sql}: {by_scan}");
    for hint in [
        "",
        "WITH (HOLDLOCK)",
        "WITH (UPDLOCK)",
        "WITH (UPDLOCK, HOLDLOCK)",
        "WITH (REPEATABLEREAD)",
        "WITH (READCOMMITTEDLOCK)",
        "WITH (NOLOCK)",
        "WITH (READPAST)",
    ] {
        assert_eq!(b.run(&sql.replace("{}", hint)), by_scan, "{sql} {hint}");
    }
}

/// Conditions, and the columns that a seek by them is shown with.
const CONDITIONS: [(&str, &str, &str); 12] = [
    ("bid", "item = 7", "(EACH [nr], [item])"),
    ("bid", "item = 7 AND who = 141", "(EACH [nr], [item], [who])"),
    ("bid", "item = 7 AND who > 150", "(EACH [nr], [item], [who])"),
    ("bid", "item BETWEEN 5 AND 6", "(EACH [nr], [item])"),
    ("bid", "item IN (5, 700)", "(EACH [nr], [item], 2 ranges)"),
    ("bid", "item = 7 AND v % 2 = 1", "(EACH [nr], [item])"),
    ("m", "item = 7", "(EACH [nr], [item])"),
    ("m", "item IN (7, 9, 1)", "(EACH [nr], [item], 3 ranges)"),
    ("n", "item = 7", "(EACH [kind], EACH [nr], [item])"),
    ("n", "nr = 3 AND item = 7", "(EACH [kind], [nr], [item])"),
    ("n", "nr = 3 AND item BETWEEN 5 AND 9", "(EACH [kind], [nr], [item])"),
    ("n", "nr IS NULL AND item = 7", "(EACH [kind], [nr], [item])"),
];

#[test]
fn rows_behind_a_first_column_are_those_of_a_scan() {
    let mut b = bench();
    for (table, condition, columns) in CONDITIONS {
        for list in ["COUNT(*), SUM(item), MIN(nr)", "COUNT(*), SUM(v), SUM(w)"] {
            let sql = format!("SELECT {list} FROM {table} {{}} WHERE {condition}");
            let shown = plan(&mut b, &sql.replace("{}", ""));
            assert!(shown.contains(columns), "{sql}: {shown}");
            same(&mut b, &sql);
        }
    }
    // Nothing satisfies them.
    for (table, condition) in [
        ("bid", "item = 5000"),
        ("bid", "item = 7 AND who = NULLIF(1, 1)"),
        ("n", "nr = 99 AND item = 7"),
    ] {
        same(&mut b, &format!("SELECT COUNT(*), SUM(v) FROM {table} {{}} WHERE {condition}"));
    }
    // NULL is a value among those that are looked for, and rows that are gone leave their values.
    b.run(
        "UPDATE n SET item = NULL WHERE item = 7 UPDATE m SET item = NULL WHERE item IN (7, 8)
         DELETE n WHERE nr = 3 DELETE m WHERE nr IS NULL DELETE bid WHERE nr IN (0, 8, 38)",
    );
    for table in ["n", "m"] {
        for condition in ["item IS NULL", "item IN (6, 9)", "item = 9"] {
            same(&mut b, &format!("SELECT COUNT(*), SUM(v) FROM {table} {{}} WHERE {condition}"));
        }
    }
    same(&mut b, "SELECT COUNT(*), SUM(v), MIN(nr) FROM bid {} WHERE item = 7");
    same(&mut b, "SELECT MIN(nr) FROM bid {} WHERE item = 7");
    same(&mut b, "SELECT MAX(nr) FROM bid {} WHERE item = 7");
}

#[test]
fn they_come_in_the_order_of_the_key() {
    let mut b = bench();
    for (table, wanted, orders) in [
        ("bid", "nr, item, who, v", ["nr, item, who", "nr DESC, item DESC, who DESC"]),
        ("n", "kind, nr, item", ["kind DESC, nr, item", "kind, nr DESC, item DESC"]),
        ("m", "nr, item", ["nr DESC, item", "nr, item DESC"]),
    ] {
        for order in orders {
            for top in ["", "TOP (9) "] {
                let sql = format!(
                    "SELECT {top}{wanted} FROM {table} {{}} WHERE item IN (5, 7) ORDER BY {order}"
                );
                let shown = plan(&mut b, &sql.replace("{}", ""));
                assert!(shown.contains("(EACH ") && !shown.contains("Sort"), "{sql}: {shown}");
                same(&mut b, &sql);
            }
        }
    }
    let fetched = b.run(
        "DECLARE @n int = 0, @v int
         DECLARE x CURSOR DYNAMIC FOR SELECT v FROM bid WHERE item = 7
         OPEN x FETCH NEXT FROM x INTO @v
         WHILE @@FETCH_STATUS = 0 BEGIN SET @n += 1 FETCH NEXT FROM x INTO @v END
         CLOSE x DEALLOCATE x SELECT @n",
    );
    assert_eq!(fetched.trim(), "20");
}

#[test]
fn rows_that_are_changed_so_are_met_once() {
    let mut b = bench();
    b.run("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON");
    for (table, rows) in [("bid", "(20)"), ("n", "(21)"), ("m", "(21)")] {
        for change in ["UPDATE {} SET w = w + 1", "UPDATE {} SET nr = nr + 1", "DELETE {}"] {
            let change = format!("{} WHERE item = 7", change.replace("{}", table));
            for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SNAPSHOT"] {
                let changed = b.run(&format!(
                    "SET TRANSACTION ISOLATION LEVEL {level} SET NOCOUNT OFF BEGIN TRAN {change} ROLLBACK
                     SET TRANSACTION ISOLATION LEVEL READ COMMITTED SET NOCOUNT ON"
                ));
                assert_eq!(changed.trim(), rows, "{change}, {level}");
            }
        }
    }
    // One's own rows count, those of others only when they have come to stay; a snapshot has none.
    let mut other = beside(&b);
    let read = "SELECT COUNT(*) FROM bid WHERE item = 7";
    run(&mut other, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRAN");
    assert_eq!(run(&mut other, read), "20");
    b.run(
        "BEGIN TRAN
         INSERT bid SELECT 101, item, who, v, w FROM bid WHERE item = 7 AND nr = 8
         DELETE bid WHERE nr = 4",
    );
    assert_eq!(b.run(read).trim(), "20");
    b.run("INSERT bid VALUES (3, 7, 1, 1, 1) COMMIT");
    assert_eq!(b.run(read).trim(), "21");
    assert_eq!(run(&mut other, read), "20");
    run(&mut other, "COMMIT SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    assert_eq!(run(&mut other, read), "21");
}

#[test]
fn first_columns_with_few_values_are_passed_over() {
    let mut b = Bench::new();
    b.run("SET NOCOUNT ON");
    for (values, passed) in [(1, true), (4, true), (50, true), (5_000, false), (20_000, false)] {
        b.run(&format!(
            "DROP TABLE IF EXISTS c
             CREATE TABLE c (a int NOT NULL, b int NOT NULL, v int NOT NULL)
             INSERT c SELECT value % {values}, value / {values}, value FROM GENERATE_SERIES(0, 19999)
             CREATE INDEX i ON c (a, b) INCLUDE (v)"
        ));
        for hint in ["", "WITH (INDEX(i))", "WITH (HOLDLOCK)", "WITH (NOLOCK)"] {
            let shown = plan(&mut b, &format!("SELECT COUNT(*), SUM(v) FROM c {hint} WHERE b = 3"));
            assert_eq!(
                shown.contains("(EACH [a], [b])"),
                passed,
                "{values} values, {hint}: {shown}"
            );
        }
    }
    b.run("DROP TABLE c CREATE TABLE c (a int NOT NULL, b int NOT NULL, v int NOT NULL)");
    b.run("INSERT c SELECT value % 10, value / 10, value FROM GENERATE_SERIES(0, 19999)");
    b.run("CREATE INDEX i ON c (a, b) INCLUDE (v)");
    for hint in ["FORCESCAN", "INDEX(0)", "INDEX(i), FORCESCAN"] {
        let shown = plan(&mut b, &format!("SELECT COUNT(*) FROM c WITH ({hint}) WHERE b = 3"));
        assert!(shown.contains("Scan") && !shown.contains("EACH"), "{hint}: {shown}");
    }
    // SQL Server has no such seek: FORCESEEK asks for one that begins with the first column.
    let forced = b.run("SELECT COUNT(*) FROM c WITH (FORCESEEK) WHERE b = 3");
    assert!(forced.contains("Msg 8622"), "{forced}");
    // Another index finds the rows by the same condition.
    let range = "SELECT COUNT(v) FROM c WHERE b BETWEEN 3 AND 40";
    assert!(plan(&mut b, range).contains("EACH"));
    b.run("CREATE CLUSTERED INDEX k ON c (b)");
    let shown = plan(&mut b, range);
    assert!(shown.contains("SEEK:([b])"), "{shown}");
    // Nothing is known of the values.
    b.run(
        "ALTER DATABASE t SET AUTO_CREATE_STATISTICS OFF
         CREATE TABLE u (a int NOT NULL, b int NOT NULL)
         INSERT u SELECT value % 10, value / 10 FROM GENERATE_SERIES(0, 19999)
         CREATE INDEX i ON u (a, b)",
    );
    let shown = plan(&mut b, "SELECT COUNT(*) FROM u WHERE b = 3");
    assert!(!shown.contains("EACH"), "{shown}");
    b.run("UPDATE STATISTICS u");
    let shown = plan(&mut b, "SELECT COUNT(*) FROM u WHERE b = 4");
    assert!(shown.contains("EACH [a], [b]"), "{shown}");
}

/// Of an unknown pattern, which may be `%`, rows are not looked up one by one in each value.
#[test]
fn what_may_be_every_text_is_not_sought_in_each_value() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE l (kind int NOT NULL, name varchar(20) NOT NULL, pad char(50) NOT NULL DEFAULT 'x')
         INSERT l (kind, name) SELECT value % 3, CONCAT('n', value) FROM GENERATE_SERIES(0, 19999)
         CREATE INDEX i ON l (kind, name)",
    );
    let shown = plan(&mut b, "SELECT MAX(pad) FROM l WHERE name >= 'n777' AND name < 'n778'");
    assert!(shown.contains("(EACH [kind], [name])"), "{shown}");
    let shown = plan(&mut b, "SELECT MAX(pad) FROM l WHERE name LIKE 'n777%'");
    assert!(shown.contains("(EACH [kind], [name])"), "{shown}");
    let shown = plan(&mut b, "SELECT MAX(pad) FROM l WHERE kind = 1 AND name LIKE 'n777%'");
    assert!(shown.contains("SEEK:([kind], [name])"), "{shown}");
    let unknown = "DECLARE @p varchar(20) = 'n777%' SELECT MAX(pad) FROM l WHERE name LIKE @p";
    let shown = plan(&mut b, unknown);
    assert!(shown.contains("Table Scan") && !shown.contains("EACH"), "{shown}");
}

/// How many ranges a statement reads.
fn scans(b: &mut Bench, read: &str) -> usize {
    let said = b.run(&format!("SET STATISTICS IO ON {read} SET STATISTICS IO OFF"));
    let count = said.split("Scan count ").nth(1).and_then(|rest| rest.split(',').next());
    count.and_then(|count| count.parse().ok()).expect("how many scans")
}

/// The values turn out to be very many: what is left is read as it lies. Those that were expected
/// are visited, though the ones that are met first have few rows.
#[test]
fn many_values_are_not_visited() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         ALTER DATABASE t SET AUTO_UPDATE_STATISTICS OFF
         CREATE TABLE g (b int NOT NULL, c int NOT NULL, v int NOT NULL)
         CREATE INDEX i ON g (b, c) INCLUDE (v)
         INSERT g SELECT value % 5, value % 1000, value FROM GENERATE_SERIES(1, 20000)
         CREATE TABLE s (nr int NOT NULL, item int NOT NULL, PRIMARY KEY (nr, item))
         INSERT s SELECT value % 30, value / 30 FROM GENERATE_SERIES(0, 17999)
         INSERT s SELECT value, 1000 FROM GENERATE_SERIES(30, 59)",
    );
    let sql = "SELECT COUNT(*), SUM(v) FROM g {} WHERE c = 7";
    let read = sql.replace("{}", "");
    assert!(plan(&mut b, &read).contains("EACH [b]"));
    same(&mut b, sql);
    b.run("UPDATE g SET b = v");
    assert!(plan(&mut b, &read).contains("EACH [b]"));
    same(&mut b, sql);
    let count = scans(&mut b, &read);
    assert!((2..120).contains(&count), "{count} scans");
    let sql = "SELECT MAX(nr) FROM s {} WHERE item = 7";
    let read = sql.replace("{}", "");
    let shown = plan(&mut b, &read);
    assert!(shown.contains("EACH [nr], [item]") && shown.contains("ORDERED BACKWARD"), "{shown}");
    same(&mut b, sql);
    // Down to the first that has it.
    let count = scans(&mut b, &read);
    assert!((25..40).contains(&count), "{count} scans");
    // Many more of few rows, of which nothing is known.
    b.run("INSERT s SELECT value, 1000 FROM GENERATE_SERIES(60, 199) INSERT s VALUES (0, 2000)");
    let sql = "SELECT MAX(nr) FROM s {} WHERE item = 2000";
    same(&mut b, sql);
    let count = scans(&mut b, &sql.replace("{}", ""));
    assert!((190..210).contains(&count), "{count} scans");
}

/// Of wide rows one is on a page, which does not tell how many a value has: the next page does.
#[test]
fn many_values_of_wide_rows_are_not_visited() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         ALTER DATABASE t SET AUTO_UPDATE_STATISTICS OFF
         CREATE TABLE p (nr int NOT NULL, item int NOT NULL, pad char(5000) NOT NULL, PRIMARY KEY (nr, item))
         INSERT p SELECT value % 5, value / 5, 'p' FROM GENERATE_SERIES(0, 999)",
    );
    let sql = "SELECT COUNT(*), MAX(nr) FROM p {} WHERE item = 7";
    let read = sql.replace("{}", "");
    assert!(plan(&mut b, &read).contains("EACH [nr], [item]"));
    same(&mut b, sql);
    b.run("UPDATE p SET nr = nr * 1000 + item");
    assert!(plan(&mut b, &read).contains("EACH [nr], [item]"));
    same(&mut b, sql);
    let count = scans(&mut b, &read);
    assert!((2..100).contains(&count), "{count} scans");
}

/// Tables and conditions by chance, each at every level.
#[test]
fn rows_of_any_table_are_those_of_a_scan() {
    let types = [
        ("int", "value % {} - 3"),
        ("bigint", "value % {} * 10000000000"),
        ("smallint", "value % {} - 3"),
        ("decimal(9, 2)", "value % {} - 3.5"),
        ("date", "DATEADD(day, value % {}, '20200101')"),
        ("datetime2", "DATEADD(hour, value % {}, '20200101')"),
        ("float", "value % {} - 2.5"),
        ("varchar(10)", "CONCAT('v', value % {})"),
        ("nvarchar(10) COLLATE Latin1_General_CI_AS", "CONCAT(N'ł-', value % {}, ' ')"),
        ("char(5) COLLATE SQL_Latin1_General_CP1_CS_AS", "CHAR(70 + value % {} * 3)"),
        ("nvarchar(10)", "CONCAT(N'漢', value % {})"),
        ("varbinary(4)", "CAST(value % {} AS varbinary(4))"),
    ];
    let (mut passed, mut tried) = (0, 0);
    for (seed, (ty, value)) in (0..).zip(types) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut b = Bench::new();
        let value = value.replace("{}", &rng.u32(2..13).to_string());
        let null = if rng.bool() { "CASE value % 17 WHEN 3 THEN NULL ELSE {} END" } else { "{}" };
        let mut direction = || ["", " DESC"][rng.usize(..2)];
        let (a, second, third) = (direction(), direction(), direction());
        let index = ["CLUSTERED INDEX i", "INDEX i", "INDEX i"][rng.usize(..3)];
        let included = if index.starts_with('I') && rng.bool() { "INCLUDE (v)" } else { "" };
        let made = b.run(&format!(
            "SET NOCOUNT ON
             CREATE TABLE r (a {ty}, b int, c int NOT NULL, v int NOT NULL)
             INSERT r SELECT {}, NULLIF(value * 7919 % 50, 7), value * 1009 % 1000, value
                      FROM GENERATE_SERIES(0, 3999)
             CREATE {index} ON r (a{a}, b{second}, c{third}) {included}
             DELETE r WHERE v % 11 = {}",
            null.replace("{}", &value),
            rng.u8(..11)
        ));
        assert_eq!(made, "", "seed {seed}");
        let order = format!("a{a}, b{second}, c{third}");
        let turned = |direction: &str| if direction.is_empty() { " DESC" } else { "" };
        let turned = format!("a{}, b{}, c{}", turned(a), turned(second), turned(third));
        for _ in 0..6 {
            let (x, y) = (rng.u32(..50), rng.u32(..1000));
            let condition = match rng.u8(..7) {
                0 => format!("b = {x}"),
                1 => format!("b = {x} AND c > {y}"),
                2 => format!("b IN ({x}, {})", x / 2),
                3 => "b IS NULL".to_owned(),
                4 => format!("b BETWEEN {x} AND {}", x + 1),
                5 => format!("b = {x} AND c <> {y} AND v % 3 > 0"),
                _ => format!("b = {x} AND a IS NOT NULL"),
            };
            let sql = match rng.u8(..4) {
                0 => format!("SELECT COUNT(*), SUM(v) FROM r {{}} WHERE {condition}"),
                1 => {
                    let kind = ["MIN", "MAX"][rng.usize(..2)];
                    format!("SELECT {kind}(a) FROM r {{}} WHERE {condition}")
                }
                2 => format!("SELECT a, b, c FROM r {{}} WHERE {condition} ORDER BY {order}"),
                _ => format!(
                    "SELECT TOP (7) a, b, c FROM r {{}} WHERE {condition} ORDER BY {turned}"
                ),
            };
            passed += u32::from(plan(&mut b, &sql.replace("{}", "")).contains("EACH [a], [b]"));
            tried += 1;
            same(&mut b, &sql);
        }
    }
    assert!(passed * 4 > tried, "{passed} of {tried}");
}

//! Conditions on a converted column: each gives the rows of a table with an index over the column,
//! ascending, descending or clustered, that it gives of one without, and reads a range of the index
//! where the conversion has one. Values are those at which conversions round, overflow and change
//! the day.

use crate::support::text::Bench;

const DATES: &[&str] = &[
    "0001-01-01 00:00:00",
    "0001-01-01 23:59:59.9999999",
    "1752-12-31 23:59:59.9999999",
    "1753-01-01 00:00:00",
    "1899-12-31 23:59:45",
    "1900-01-01 00:00:00",
    "2020-02-28 23:59:29.998",
    "2020-02-28 23:59:29.9999999",
    "2020-02-28 23:59:59.997",
    "2020-02-28 23:59:59.9999999",
    "2020-02-29 00:00:00",
    "2020-02-29 00:00:00.0016667",
    "2020-02-29 00:00:00.0033333",
    "2020-02-29 10:30:30",
    "2020-02-29 23:59:59.4999999",
    "2020-02-29 00:30:00 +14:00",
    "2020-02-29 00:30:00 -14:00",
    "2020-02-29 23:59:59.9999999 +14:00",
    "2020-02-29 23:30:00 -14:00",
    "2020-03-01 00:00:00",
    "2079-06-06 23:59:00",
    "9999-12-31 00:00:00",
    "9999-12-31 23:59:59.997",
    "9999-12-31 23:59:59.9999999",
];

const DATE_TYPES: &[&str] = &[
    "date",
    "smalldatetime",
    "datetime",
    "datetime2(0)",
    "datetime2(3)",
    "datetime2(7)",
    "datetimeoffset(0)",
    "datetimeoffset(7)",
];

const NUMBERS: &[&str] = &[
    "-9007199254740993",
    "-16777217",
    "-5.5",
    "-1.0049",
    "-1",
    "-0.5",
    "-0.0001",
    "0",
    "0.1",
    "0.29",
    "0.5",
    "0.99",
    "1",
    "1.005",
    "1.5",
    "5.4999",
    "5.5",
    "254.9",
    "255",
    "16777216",
    "16777217",
    "9007199254740992",
    "9007199254740993",
];

const NUMBER_TYPES: &[&str] = &[
    "bit",
    "tinyint",
    "int",
    "bigint",
    "decimal(5, 2)",
    "decimal(20, 0)",
    "decimal(30, 6)",
    "smallmoney",
    "money",
    "real",
    "float",
];

/// Four tables of one column: without an index, with one ascending, descending, and clustered.
const TABLES: [&str; 4] = ["plain", "rising", "falling", "lying"];

/// The tables with these values, which come by way of `wide`, and a NULL.
fn tables(b: &mut Bench, ty: &str, wide: &str, values: &[&str]) {
    let list: Vec<String> = values.iter().map(|value| format!("('{value}')")).collect();
    let list = list.join(", ");
    for table in TABLES {
        let out = b.run(&format!(
            "SET NOCOUNT ON
             DROP TABLE IF EXISTS {table}
             CREATE TABLE {table} (id int NOT NULL, v {ty} NULL)
             INSERT {table} VALUES (0, NULL)
             INSERT {table} SELECT ROW_NUMBER() OVER (ORDER BY x), TRY_CAST(TRY_CAST(x AS {wide}) AS {ty})
                 FROM (VALUES {list}) v (x)
             DELETE {table} WHERE id > 0 AND v IS NULL"
        ));
        assert_eq!(out, "", "{table} of {ty}");
    }
    let out = b.run(
        "CREATE INDEX by_v ON rising (v)
         CREATE INDEX by_v ON falling (v DESC)
         CREATE CLUSTERED INDEX by_v ON lying (v)",
    );
    assert_eq!(out, "", "indexes of {ty}");
}

/// All comparisons of the converted column with a value of the type.
fn comparisons(table: &str, hint: &str, to: &str, wide: &str, value: &str) -> String {
    let conditions = ["= @v", "< @v", "<= @v", "> @v", ">= @v", "BETWEEN @v AND @v", "IN (@v, @w)"];
    let one = |condition: &&str| {
        format!(
            "SELECT COUNT(*), SUM(id) FROM {table}{hint} WHERE TRY_CAST(v AS {to}) {condition} "
        )
    };
    let all: String = conditions.iter().map(one).collect();
    format!(
        "DECLARE @v {to} = TRY_CAST(TRY_CAST('{value}' AS {wide}) AS {to})
         DECLARE @w {to} = (SELECT TOP (1) TRY_CAST(v AS {to}) FROM plain WHERE v IS NOT NULL ORDER BY id DESC) {all}"
    )
}

/// Every type of the column, converted to every other one, compared with every value.
fn check(types: &[&str], wide: &str, values: &[&str], has_range: impl Fn(&str, &str) -> bool) {
    let mut b = Bench::new();
    let mut rows = 0;
    for (i, from) in types.iter().enumerate() {
        tables(&mut b, from, wide, values);
        for (j, to) in types.iter().enumerate() {
            // Of each pair of types another quarter of the values.
            for value in values.iter().skip((i + j) % 4).step_by(4) {
                let want = b.run(&comparisons("plain", "", to, wide, value));
                assert!(!want.contains("Msg"), "{from} as {to}: {want}");
                rows += usize::from(want.starts_with(|first: char| first > '0'));
                for table in &TABLES[1..] {
                    let hint = if has_range(from, to) { " WITH (FORCESEEK)" } else { "" };
                    let sql = comparisons(table, hint, to, wide, value);
                    assert_eq!(b.run(&sql), want, "{table}: {from} as {to}: {sql}");
                }
            }
        }
    }
    assert!(rows > types.len() * values.len() / 4, "hardly a row was found: {rows}");
}

#[test]
fn dates_of_every_type_as_every_other() {
    check(DATE_TYPES, "datetimeoffset(7)", DATES, |_, _| true);
}

#[test]
fn numbers_of_every_type_as_every_other() {
    let is_float = |ty: &str| ty == "real" || ty == "float";
    check(NUMBER_TYPES, "decimal(38, 6)", NUMBERS, |from, to| match (from, to) {
        _ if from == to => true,
        (_, "bit") => false,
        _ if is_float(from) => is_float(to),
        _ => true,
    });
}

/// Texts are not in the order of the dates that they are.
#[test]
fn texts_as_dates() {
    let mut b = Bench::new();
    let texts = [
        "2020-02-29",
        "29 Feb 2020",
        "2/29/2020",
        "20200301",
        "March 1, 2020",
        "2020-02-28 23:59",
        "-",
    ];
    for ty in ["char(30)", "varchar(30)", "nvarchar(30)"] {
        tables(&mut b, ty, ty, &texts);
        for condition in
            ["= '20200229'", ">= '20200229'", "< '20200301'", "BETWEEN '20200228' AND '20200229'"]
        {
            let of = |table: &str| {
                format!(
                    "SELECT COUNT(*), SUM(id) FROM {table} WHERE TRY_CAST(v AS date) {condition}"
                )
            };
            let want = b.run(&of("plain"));
            assert!(!want.starts_with('0'), "{ty} {condition}: {want}");
            for table in &TABLES[1..] {
                assert_eq!(b.run(&of(table)), want, "{ty} {condition}");
            }
        }
    }
}

/// What the day of a datetime was looked up by: CAST, CONVERT, a join, an apply, a subquery.
#[test]
fn days_of_moments() {
    let mut b = Bench::new();
    tables(&mut b, "datetime", "datetimeoffset(7)", DATES);
    b.run(
        "CREATE TABLE days (d date NOT NULL PRIMARY KEY)
         INSERT days VALUES ('1753-01-01'), ('2020-02-28'), ('2020-02-29'), ('2021-01-01'), ('9999-12-31')",
    );
    let queries = [
        "SELECT COUNT(*) FROM {t} WHERE CAST(v AS date) = '2020-02-29'",
        "SELECT COUNT(*) FROM {t} WHERE '2020-02-29' = CONVERT(date, v)",
        "SELECT COUNT(*) FROM {t} WHERE CONVERT(date, v) IN ('2020-02-28', '2020-02-29', '9999-12-31')",
        "SELECT COUNT(*) FROM {t} WHERE CAST(v AS date) = '2020-02-29' AND id > 5 OR CAST(v AS date) < '1800-01-01'",
        "SELECT COUNT(*) FROM {t} WHERE CAST(v AS date) <> '2020-02-29'",
        "SELECT COUNT(*) FROM {t} t JOIN days ON CAST(t.v AS date) = days.d",
        "SELECT COUNT(*) FROM days INNER LOOP JOIN {t} t ON CAST(t.v AS date) = days.d",
        "SELECT COUNT(*) FROM days LEFT JOIN {t} t ON days.d < CAST(t.v AS date)",
        "SELECT days.d, x.n FROM days CROSS APPLY (SELECT COUNT(*) n FROM {t} t WHERE CAST(t.v AS date) = days.d) x
         ORDER BY 1",
        "SELECT d FROM days WHERE EXISTS (SELECT * FROM {t} t WHERE CAST(t.v AS date) = days.d) ORDER BY d",
        "DELETE {t} WHERE CAST(v AS date) = '2020-02-28'",
        "UPDATE {t} SET id = id + 100 WHERE CAST(v AS date) = '9999-12-31'",
        "SELECT SUM(id) FROM {t}",
    ];
    for query in queries {
        let want = b.run(&query.replace("{t}", "plain"));
        assert!(
            !want.contains("Msg") && !want.starts_with('0') && !want.starts_with("(0)"),
            "{query}: {want}"
        );
        for table in &TABLES[1..] {
            assert_eq!(b.run(&query.replace("{t}", table)), want, "{table}: {query}");
        }
    }
}

/// A range, and not all of the index.
#[test]
fn the_days_rows_alone_are_read() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE t (id int NOT NULL, at datetime NOT NULL, pad char(200) NOT NULL DEFAULT '')
         INSERT t (id, at) SELECT value, DATEADD(minute, value * 30, '20200101') FROM GENERATE_SERIES(0, 9999)
         CREATE INDEX by_at ON t (at)",
    );
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run("SELECT id FROM t WHERE CAST(at AS date) = '20200301'");
    b.run("SET SHOWPLAN_TEXT OFF");
    assert!(shown.contains("Index Seek") && shown.contains("SEEK:([at])"), "{shown}");
    assert!(shown.contains("WHERE"), "the range is not the condition: {shown}");
    b.check(
        "SELECT COUNT(id), MIN(id), MAX(id) FROM t WHERE CAST(at AS date) = '20200301'",
        "48|2880|2927",
    );
}

/// A moment with a zone, and a column without one.
#[test]
fn moments_of_other_zones() {
    let mut b = Bench::new();
    tables(&mut b, "datetime2(7)", "datetimeoffset(7)", DATES);
    let value = "CAST('2020-02-29 02:00:00 +02:00' AS datetimeoffset)";
    for op in ["=", "<", "<=", ">", ">="] {
        let of =
            |table: &str| format!("SELECT COUNT(*), SUM(id) FROM {table} WHERE v {op} {value}");
        let want = b.run(&of("plain"));
        assert!(!want.starts_with('0'), "{op}: {want}");
        for table in &TABLES[1..] {
            assert_eq!(b.run(&of(table)), want, "{table} {op}");
        }
    }
}

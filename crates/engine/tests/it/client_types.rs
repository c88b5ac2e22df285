//! Parameters as drivers type them: every text as nvarchar(4000), decimals as decimal(38, s), times
//! as datetime2. A seek by key must survive the conversion, with the rows that a scan gives.

use crate::support::text::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE t (id int PRIMARY KEY, big bigint, name varchar(30), code char(6), price decimal(10, 2), born datetime,
             at smalldatetime, seen datetime2(3), day date, money money, small smallint, pad char(200) DEFAULT 'x')
         INSERT t (id, big, name, code, price, born, at, seen, day, money, small)
         SELECT i, i * 10, CONCAT('Name', i), CONCAT('c', i), i / 4.0, DATEADD(minute, i, '20200101'), DATEADD(minute, i, '20200101'),
             DATEADD(minute, i, '20200101'), DATEADD(day, i, '20200101'), i / 2.0, i
         FROM (SELECT TOP (8000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS i
               FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c) n",
    );
    for column in ["big", "name", "code", "price", "born", "at", "seen", "day", "money", "small"] {
        b.check(&format!("CREATE INDEX by_{column} ON t ({column})"), "");
    }
    b.check("SELECT * INTO plain FROM t", "");
    b
}

fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

/// A condition on `@p`: a seek, and the rows of a table without indexes.
#[track_caller]
fn sought(b: &mut Bench, ty: &str, value: &str, condition: &str) {
    let query = |table: &str| {
        format!(
            "DECLARE @p {ty} = {value} SELECT COUNT(*), MIN(id), MAX(id) FROM {table} WHERE {condition}"
        )
    };
    let shown = plan(b, &query("t"));
    assert!(shown.contains("Seek"), "{ty} {condition}: {shown}");
    let expected = b.run(&query("plain"));
    assert_eq!(b.run(&query("t")), expected, "{ty} {condition}");
    assert!(!expected.contains("Msg"), "{ty} {condition}: {expected}");
}

/// A range is read as it is with a value of the column's own type, and gives the rows of a table
/// without indexes.
#[track_caller]
fn as_native(b: &mut Bench, ty: &str, native: &str, value: &str, condition: &str) {
    let query = |ty: &str, table: &str| {
        format!(
            "DECLARE @p {ty} = {value} SELECT COUNT(*), MIN(id), MAX(id) FROM {table} WHERE {condition}"
        )
    };
    let operators = |shown: String| {
        shown.lines().filter(|l| l.contains("|--")).map(str::to_owned).collect::<Vec<_>>()
    };
    let given = operators(plan(b, &query(ty, "t")));
    let expected = operators(plan(b, &query(native, "t")));
    assert!(!given.is_empty());
    assert_eq!(given, expected, "{ty} {condition}");
    let expected = b.run(&query(ty, "plain"));
    assert_eq!(b.run(&query(ty, "t")), expected, "{ty} {condition}");
    assert!(!expected.contains("Msg"), "{ty} {condition}: {expected}");
}

#[test]
fn texts_find_varchar_keys() {
    let mut b = bench();
    sought(&mut b, "nvarchar(4000)", "N'name77'", "name = @p");
    sought(&mut b, "nvarchar(4000)", "N'name77  '", "name = @p");
    // A character that no varchar has finds nothing.
    sought(&mut b, "nvarchar(4000)", "N'name\u{416}'", "name = @p");
    sought(&mut b, "nvarchar(max)", "N'name77'", "name = @p");
    sought(&mut b, "nvarchar(4000)", "N'c12'", "code = @p");
    as_native(&mut b, "nvarchar(4000)", "varchar(30)", "'name7999'", "name >= @p");
    as_native(
        &mut b,
        "nvarchar(4000)",
        "varchar(30)",
        "'name7999'",
        "name > @p and name < 'name8'",
    );
    sought(&mut b, "nvarchar(4000)", "N'77'", "id = @p");
}

#[test]
fn numbers_find_keys_of_other_numbers() {
    let mut b = bench();
    sought(&mut b, "decimal(38, 0)", "77", "id = @p");
    sought(&mut b, "decimal(38, 2)", "77.5", "id = @p");
    sought(&mut b, "decimal(38, 2)", "7990.5", "id > @p");
    as_native(&mut b, "decimal(38, 2)", "decimal(10, 2)", "1990.5", "price > @p");
    as_native(&mut b, "decimal(38, 0)", "smallint", "7990", "small > @p");
    sought(&mut b, "decimal(38, 0)", "770", "big = @p");
    sought(&mut b, "decimal(38, 4)", "19.25", "price = @p");
    sought(&mut b, "decimal(38, 4)", "19.2501", "price = @p");
    sought(&mut b, "decimal(38, 4)", "38.5", "money = @p");
    sought(&mut b, "bigint", "77", "id = @p");
    sought(&mut b, "bigint", "77", "small = @p");
    sought(&mut b, "int", "77", "small = @p");
    sought(&mut b, "bigint", "5000000000", "small = @p");
    sought(&mut b, "float", "77", "id = @p");
    sought(&mut b, "smallint", "77", "id = @p");
}

#[test]
fn times_find_keys_of_other_times() {
    let mut b = bench();
    for ty in ["datetime2", "datetime2(3)", "datetime", "nvarchar(4000)"] {
        for column in ["born", "at", "seen"] {
            sought(&mut b, ty, "'2020-01-01 01:17:00'", &format!("{column} = @p"));
        }
    }
    sought(&mut b, "datetime2", "'2020-01-01 01:17:00.0000001'", "born = @p");
    as_native(&mut b, "datetime2", "datetime", "'2020-01-06 13:00:00'", "born > @p");
    as_native(
        &mut b,
        "datetime2",
        "datetime",
        "'2020-01-06 13:00:00'",
        "born >= @p and born < '2020-01-06 14:00'",
    );
    sought(&mut b, "datetime2", "'2020-03-01'", "day = @p");
    sought(&mut b, "nvarchar(4000)", "'2020-03-01'", "day = @p");
    sought(&mut b, "date", "'2020-01-02'", "seen = @p");
}

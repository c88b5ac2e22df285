//! INSERT ... EXECUTE into tables, temporary tables and table variables; INSERT BULK and the rows
//! that follow it.

use crate::support::tape::{Bench, Tape, int, text};
use engine::{SqlError, Value};

fn bench() -> Bench {
    let mut b = Bench::new();
    b.setup(&[
        "create table t (id int identity, n int null, s varchar(10) null default 'none')",
        "create procedure two_sets as select 1, 'a' select 2, 'b' union all select 3, 'c' return 5",
    ]);
    b
}

fn rows(lines: &[String]) -> Vec<&str> {
    lines
        .iter()
        .filter(|l| l.starts_with("row ") || l.starts_with("error"))
        .map(|l| l.as_str())
        .collect()
}

#[test]
fn rows_of_a_call_go_into_a_table() {
    let mut b = bench();
    // All result sets; the client sees the INSERT alone.
    b.check("insert t (n, s) exec two_sets", &["done Insert 3"]);
    b.check("insert into t exec('select 4, N''d''')", &["done Insert 1"]);
    b.check(
        "insert t (s, n) exec sp_executesql N'select @s, 5', N'@s nvarchar(10)', 'e'",
        &["done Insert 1"],
    );
    b.check("insert t (n) exec ('select 6')", &["done Insert 1"]);
    assert_eq!(
        rows(&b.run("select * from t order by id")),
        ["row 1|1|a", "row 2|2|b", "row 3|3|c", "row 4|4|d", "row 5|5|e", "row 6|6|none"]
    );
    // Into a temporary table and into a table variable, from a procedure that has neither.
    assert_eq!(
        rows(&b.run(
            "create table #t (n bigint, s nvarchar(20))
             insert #t exec two_sets
             declare @t table (n int, s sysname)
             insert into @t exec dbo.two_sets
             insert @t exec('select 9, ''z''')
             select (select count(*) from #t), (select max(s) from @t), (select count(*) from @t)"
        )),
        ["row 3|z|4"]
    );
    // By RPC as JDBC asks for columns.
    let lines = b.call(
        "sp_executesql",
        &[
            text("", "DECLARE @r TABLE(n int, s SYSNAME);INSERT INTO @r EXEC two_sets;SELECT * FROM @r WHERE n > @P0"),
            text("", "@P0 int"),
            int("", 2),
        ],
    );
    assert_eq!(rows(&lines), ["row 3|c"]);
    // No rows.
    b.check("insert t (n) exec ('select 1 where 1 = 0')", &["done Insert 0"]);
    b.check("insert t (n) exec ('print ''x''')", &["info 0 line 1: x", "done Insert 0"]);
}

#[test]
fn it_is_one_statement() {
    let mut b = bench();
    b.setup(&[
        "create table other (n int primary key)",
        "create procedure writes @n int as insert other values (@n) select @n select 'no number'",
    ]);
    let said = b.run("insert t (n) exec writes 1");
    assert!(rows(&said)[0].starts_with("error 245"), "{said:?}");
    assert_eq!(
        rows(&b.run("select (select count(*) from t), (select count(*) from other)")),
        ["row 0|0"]
    );
    assert_eq!(b.session.trancount(), 0);
    // In a transaction the statement alone is taken back.
    b.setup(&["create table keys (n int primary key)"]);
    b.run("begin tran insert other values (7) insert keys exec ('insert other values (8) select 1 union all select 1') commit");
    assert_eq!(rows(&b.run("select n from other")), ["row 7"]);
    for (text, number) in [
        ("insert t (n) exec two_sets", "error 213"),
        ("insert t (n) output inserted.n exec ('select 1')", "error 483"),
        ("insert t (n) exec nothing_there", "error 2812"),
        ("insert nowhere exec ('select 1')", "error 208"),
        ("insert t (n) exec ('begin tran rollback select 1')", "error 3915"),
        ("insert t (n) exec ('commit select 1')", "error 3916"),
        ("insert t (n) exec ('insert t (n) exec (''select 1'')')", "error 8164"),
    ] {
        let said = b.run(text);
        assert!(rows(&said).iter().any(|l| l.starts_with(number)), "{text}: {said:?}");
        assert_eq!(b.session.trancount(), 0, "{text}");
    }
    b.check("insert t (n) exec ('begin tran select 1 commit')", &["done Insert 1"]);
    assert_eq!(
        rows(&b.run(
            "begin try insert t (n) exec ('select 1/0') end try begin catch select error_number() end catch"
        )),
        ["row 8134"]
    );
}

/// Loads rows after INSERT BULK.
fn load(b: &mut Bench, statement: &str, given: &[&[Value]]) -> Vec<String> {
    let mut lines = b.run(statement);
    if b.session.bulk_columns().is_none() {
        return lines;
    }
    let mut next = given.iter();
    let mut source = |row: &mut [Value]| -> Result<bool, SqlError> {
        let Some(given) = next.next() else { return Ok(false) };
        row.clone_from_slice(given);
        Ok(true)
    };
    let mut tape = Tape::default();
    b.session.load_bulk(&mut source, &mut tape);
    lines.extend(tape.lines);
    lines
}

#[test]
fn characters_of_loaded_rows_that_a_column_has_not() {
    let mut b = bench();
    b.setup(&["create table page (s varchar(10), n nvarchar(10))"]);
    let text = || Value::str("a\u{3bb}\u{141}");
    load(&mut b, "insert bulk page (s varchar(10), n nvarchar(10))", &[&[text(), text()]]);
    assert_eq!(rows(&b.run("select s, n from page")), ["row a?L|a\u{3bb}\u{141}"]);
}

#[test]
fn rows_that_follow_insert_bulk() {
    let mut b = bench();
    let row = |s: Option<&str>, n: i32| [s.map_or(Value::Null, Value::str), Value::Int(n)];
    let given = [row(Some("x"), 1), row(None, 2)];
    let given: Vec<&[Value]> = given.iter().map(|r| &r[..]).collect();
    // The order of columns is the statement's; NULL means the default unless it is kept.
    let said = load(
        &mut b,
        "insert bulk t ([s] varchar(10) COLLATE Latin1_General_CI_AS, [n] int)",
        &given,
    );
    assert_eq!(said, ["done BulkInsert", "done BulkInsert 2"]);
    let hints = "with (KEEP_NULLS, TABLOCK, ROWS_PER_BATCH = 100, KILOBYTES_PER_BATCH = 5, CHECK_CONSTRAINTS, FIRE_TRIGGERS, ORDER (n ASC))";
    let said =
        load(&mut b, &format!("INSERT BULK [dbo].[t](s varchar(10), n int) {hints}"), &given);
    assert_eq!(said, ["done BulkInsert", "done BulkInsert 2"]);
    assert_eq!(
        rows(&b.run("select * from t order by id")),
        ["row 1|1|x", "row 2|2|none", "row 3|1|x", "row 4|2|NULL"]
    );
    // Identity values that come along.
    load(&mut b, "insert bulk t (id int, n int)", &[&[Value::Int(50), Value::Int(5)]]);
    assert_eq!(rows(&b.run("select id from t where n = 5")), ["row 50"]);
    // In the session's transaction.
    b.run("begin tran");
    load(&mut b, "insert bulk t (n int)", &[&[Value::BigInt(77)]]);
    assert_eq!(b.session.trancount(), 1);
    b.run("rollback");
    assert_eq!(rows(&b.run("select count(*) from t where n = 77")), ["row 0"]);
    b.setup(&["create table #b (n int, s nvarchar(30))"]);
    let said = load(
        &mut b,
        "insert bulk #b (n int, s nvarchar(30))",
        &[&[Value::Int(1), Value::str("ü")]],
    );
    assert_eq!(said, ["done BulkInsert", "done BulkInsert 1"]);
    assert_eq!(rows(&b.run("select * from #b")), ["row 1|ü"]);
}

#[test]
fn rows_come_in_the_order_that_insert_bulk_tells() {
    let mut b = bench();
    b.setup(&[
        "create table k (n int, s varchar(10), primary key (n, s desc))",
        "create table heap (n int, s varchar(10))",
    ]);
    let row = |n: i32, s: &str| [Value::Int(n), Value::str(s)];
    let (in_order, not) =
        ([row(1, "b"), row(1, "A"), row(2, "c")], [row(1, "b"), row(2, "c"), row(1, "A")]);
    let (in_order, not) = (in_order.each_ref().map(|r| &r[..]), not.each_ref().map(|r| &r[..]));
    for hint in ["n", "n asc", "n, s desc", "n ASC, s DESC"] {
        let text = format!("insert bulk k (n int, s varchar(10)) with (tablock, order ({hint}))");
        assert_eq!(
            load(&mut b, &text, &not)[1..],
            ["error 4819 line 0", "done BulkInsert error"],
            "{hint}"
        );
        assert_eq!(rows(&b.run("select count(*) from k")), ["row 0"], "{hint}");
        assert_eq!(load(&mut b, &text, &in_order)[1..], ["done BulkInsert 3"], "{hint}");
        b.setup(&["truncate table k"]);
    }
    // What is not the order of the clustered index means nothing.
    for text in [
        "insert bulk k (n int, s varchar(10)) with (order (n desc))",
        "insert bulk k (n int, s varchar(10)) with (order (s, n))",
        "insert bulk heap (n int, s varchar(10)) with (order (n, s desc))",
        // Nor is the order of what becomes a key only by conversion.
        "insert bulk k (n bigint, s varchar(10)) with (order (n))",
        "insert bulk k (n int, s nvarchar(10)) with (order (n, s desc))",
    ] {
        assert_eq!(load(&mut b, text, &not)[1..], ["done BulkInsert 3"], "{text}");
        b.setup(&["truncate table k"]);
    }
    // Columns in another order than the table's.
    let turned = [[Value::str("x"), Value::Int(5)], [Value::str("x"), Value::Int(4)]];
    let lines = load(
        &mut b,
        "insert bulk k (s varchar(10), n int) with (order (n))",
        &turned.each_ref().map(|r| &r[..]),
    );
    assert_eq!(lines[1..], ["error 4819 line 0", "done BulkInsert error"]);
}

/// NULL is stored as 5, or as NULL where it is kept.
#[test]
fn keys_that_a_default_replaces_may_be_told_in_either_order() {
    let mut b = bench();
    b.setup(&[
        "create table k (n int default 5, s varchar(10))",
        "create clustered index k on k (n)",
        "create table g (n uniqueidentifier default newid())",
        "create clustered index g on g (n)",
    ]);
    let row = |n: Option<i32>| [n.map_or(Value::Null, Value::Int), Value::str("x")];
    let wrong = "error 4819 line 0";
    for (given, replaced, kept) in [
        // As it is stored, and as it came.
        (&[Some(1), None, Some(9)][..], "done BulkInsert 3", wrong),
        (&[None, Some(1), Some(9)], "done BulkInsert 3", "done BulkInsert 3"),
        (&[None, None, Some(7)], "done BulkInsert 3", "done BulkInsert 3"),
        // Neither, at one row or at two.
        (&[Some(9), None, Some(1)], wrong, wrong),
        (&[Some(9), Some(1)], wrong, wrong),
        (&[None, Some(1), None], wrong, wrong),
        (&[Some(1), None, Some(3)], wrong, wrong),
    ] {
        let given: Vec<_> = given.iter().map(|n| row(*n)).collect();
        let given: Vec<&[Value]> = given.iter().map(|r| &r[..]).collect();
        for (hints, expected) in [("order (n)", replaced), ("KEEP_NULLS, order (n asc)", kept)] {
            let text = format!("insert bulk k (n int, s varchar(10)) with ({hints})");
            assert_eq!(load(&mut b, &text, &given)[1], expected, "{hints} {given:?}");
            b.setup(&["truncate table k"]);
        }
    }
    // A default that has no order.
    let nulls = [[Value::Null], [Value::Null], [Value::Null], [Value::Null], [Value::Null]];
    let nulls: Vec<&[Value]> = nulls.iter().map(|r| &r[..]).collect();
    let text = "insert bulk g (n uniqueidentifier) with (order (n))";
    assert_eq!(load(&mut b, text, &nulls)[1..], ["done BulkInsert 5"]);
}

/// Another session may change the table between INSERT BULK and the rows: their order is still that
/// of the column, wherever it is by then.
#[test]
fn the_table_changes_before_the_rows_come_in_order() {
    for (values, said) in [([4, 5], "done BulkInsert 2"), ([5, 4], "error 4819 line 0")] {
        let mut b = bench();
        b.setup(&["create table o (x int null, n int primary key)"]);
        b.run("insert bulk o (n int) with (order (n))");
        let mut other = b.instance.session().unwrap();
        other.use_database(&b.session.database()).unwrap();
        let mut tape = Tape::default();
        other.execute("alter table o drop column x", &mut tape);
        assert!(!tape.lines.iter().any(|line| line.starts_with("error")), "{:?}", tape.lines);
        let mut next = values.iter();
        let mut source = |row: &mut [Value]| -> Result<bool, SqlError> {
            let Some(value) = next.next() else { return Ok(false) };
            row[0] = Value::Int(*value);
            Ok(true)
        };
        let mut tape = Tape::default();
        b.session.load_bulk(&mut source, &mut tape);
        assert_eq!(tape.lines[0], said);
    }
}

#[test]
fn what_insert_bulk_refuses() {
    let mut b = bench();
    b.setup(&["create table c (n int primary key check (n < 10))"]);
    for (text, number) in [
        ("insert bulk nowhere (a int)", "error 208 line 1"),
        ("insert bulk t (a int)", "error 207 line 1"),
        ("insert bulk t (n int, n int)", "error 102 line 1"),
        ("insert bulk t (n nothing)", "error 2715 line 1"),
        ("insert bulk t (n int) with (WHATEVER)", "error 155 line 1"),
        ("insert bulk t (n int) with (ORDER (a))", "error 207 line 1"),
    ] {
        assert_eq!(load(&mut b, text, &[])[0], number, "{text}");
    }
    let ten = [Value::Int(10)];
    let twice = [&ten[..], &ten[..]];
    // CHECK holds only when the hint says so, keys always; a failed load leaves nothing.
    let checked = "insert bulk c (n int) with (CHECK_CONSTRAINTS)";
    assert_eq!(load(&mut b, checked, &[&ten])[1..], ["error 547 line 0", "done BulkInsert error"]);
    assert_eq!(
        load(&mut b, "insert bulk c (n int)", &twice)[1..],
        ["error 2627 line 0", "done BulkInsert error"]
    );
    assert_eq!(rows(&b.run("select count(*) from c")), ["row 0"]);
    assert_eq!(load(&mut b, "insert bulk c (n int)", &[&ten])[1..], ["done BulkInsert 1"]);
    // The rows come at once or not at all.
    b.run("insert bulk c (n int)");
    b.run("select 1");
    assert_eq!(b.session.bulk_columns(), None);
    let mut tape = Tape::default();
    b.session.load_bulk(&mut |_: &mut [Value]| Ok(false), &mut tape);
    assert_eq!(tape.lines[0], "error 4022 line 0");
}

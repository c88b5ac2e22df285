//! The cursors of clients: sp_cursoropen and similar procedures by RPC and by EXECUTE, options in
//! and out, buffers of rows, ROWSTAT, changes through sp_cursor.

use crate::support::tape::{Bench, int, out, param, run, text};
use engine::{DataType, RpcParam, Value};

const STATIC: i32 = 8;
const KEYSET: i32 = 1;
const DYNAMIC: i32 = 2;
const FORWARD_ONLY: i32 = 4;
const FAST_FORWARD: i32 = 0x10;
const READ_ONLY: i32 = 1;
const OPTIMISTIC: i32 = 4;
const ALLOW_DIRECT: i32 = 0x2000;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.setup(&[
        "create table a (id int primary key, n int not null, s varchar(10) null)",
        "insert a select value, value * 10, concat('r', value) from generate_series(1, 7)",
    ]);
    b
}

fn null(name: &str) -> RpcParam {
    out(param(name, DataType::Int, Value::Null))
}

/// Opens a cursor; gives what was said, and its handle.
fn open(b: &mut Bench, query: &str, scroll: i32, access: i32) -> (Vec<String>, i32) {
    let lines = b.call(
        "sp_cursoropen",
        &[null(""), text("", query), out(int("", scroll)), out(int("", access)), null("")],
    );
    let handle = lines.iter().find_map(|line| line.strip_prefix("output 0  Int "));
    let handle = handle.and_then(|n| n.parse().ok()).unwrap_or(0);
    (lines, handle)
}

/// The rows of a fetch, blanks between them, or the error.
fn fetch(b: &mut Bench, handle: i32, kind: i32, row: i32, rows: i32) -> String {
    let lines =
        b.call("sp_cursorfetch", &[int("", handle), int("", kind), int("", row), int("", rows)]);
    let shown =
        lines.iter().filter_map(|l| l.strip_prefix("row ").or_else(|| l.strip_prefix("error ")));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_cursor_is_opened_fetched_and_closed() {
    let mut b = bench();
    let (lines, handle) = open(&mut b, "select id, s from a order by id", KEYSET, OPTIMISTIC);
    assert_eq!(
        lines,
        [
            "columns [id Int null base, s VarChar(N(10)) null base, ROWSTAT Int]",
            "done Select 0 nested",
            "status 0",
            &format!("output 0  Int {handle}"),
            "output 2  Int 1",
            "output 3  Int 4",
            "output 4  Int 7"
        ]
    );
    assert!(handle != 0);
    let lines = b.call("sp_cursorfetch", &[int("", handle), int("", 2), int("", 0), int("", 2)]);
    assert_eq!(lines[1..], ["row 1|r1|1", "row 2|r2|1", "done Select 2 nested", "status 0"]);
    let info = b.call("sp_cursorfetch", &[int("", handle), int("", 0x100), null(""), null("")]);
    assert_eq!(info, ["status 0", "output 2  Int 2", "output 3  Int 7"]);
    assert_eq!(b.call("sp_cursorclose", &[int("", handle)]), ["status 0"]);
    assert_eq!(b.call("sp_cursorclose", &[int("", handle)]), ["error 16909 line 0"]);
    assert_eq!(fetch(&mut b, handle, 2, 0, 2), "16909 line 0");
}

#[test]
fn buffers_in_every_direction() {
    for scroll in [STATIC, KEYSET, DYNAMIC] {
        let mut b = bench();
        let (_, c) = open(&mut b, "select id from a order by id", scroll, READ_ONLY);
        assert_eq!(fetch(&mut b, c, 2, 0, 3), "1|1 2|1 3|1", "next");
        assert_eq!(fetch(&mut b, c, 2, 0, 3), "4|1 5|1 6|1", "next");
        assert_eq!(fetch(&mut b, c, 0x80, 0, 3), "4|1 5|1 6|1", "refresh");
        assert_eq!(fetch(&mut b, c, 2, 0, 3), "7|1", "next");
        assert_eq!(fetch(&mut b, c, 2, 0, 3), "", "next at the end");
        assert_eq!(fetch(&mut b, c, 4, 0, 3), "5|1 6|1 7|1", "prior from the end");
        assert_eq!(fetch(&mut b, c, 4, 0, 3), "2|1 3|1 4|1", "prior");
        assert_eq!(fetch(&mut b, c, 2, 0, 1), "5|1", "next after prior");
        assert_eq!(
            fetch(&mut b, c, 0x20, -2, 2),
            "3|1 4|1",
            "relative to the first row of the buffer"
        );
        assert_eq!(
            fetch(&mut b, c, 4, 0, 3),
            "1|1 2|1 3|1",
            "prior at the beginning gives the first rows"
        );
        assert_eq!(fetch(&mut b, c, 2, 0, 1), "4|1", "next");
        assert_eq!(fetch(&mut b, c, 8, 0, 2), "6|1 7|1", "last");
        assert_eq!(fetch(&mut b, c, 1, 0, 2), "1|1 2|1", "first");
        assert_eq!(fetch(&mut b, c, 0x200, 0, 2), "", "prior, not adjusted");
        assert_eq!(fetch(&mut b, c, 8, 0, 0), "", "after the last");
        assert_eq!(fetch(&mut b, c, 4, 0, 1), "7|1", "prior");
        assert_eq!(fetch(&mut b, c, 1, 0, 0), "", "before the first");
        assert_eq!(fetch(&mut b, c, 2, 0, 1), "1|1", "next");
        let absolute = if scroll == DYNAMIC { "16925 line 0" } else { "3|1 4|1" };
        assert_eq!(fetch(&mut b, c, 0x10, 3, 2), absolute);
    }
    let mut b = bench();
    for scroll in [FORWARD_ONLY, FAST_FORWARD] {
        let (lines, c) = open(&mut b, "select id from a", scroll, READ_ONLY);
        assert_eq!(
            lines[4..],
            [
                format!("output 2  Int {scroll}"),
                "output 3  Int 1".into(),
                "output 4  Int -1".into()
            ]
        );
        assert_eq!(fetch(&mut b, c, 2, 0, 5), "1|1 2|1 3|1 4|1 5|1");
        assert_eq!(fetch(&mut b, c, 4, 0, 5), "16911 line 0");
        assert_eq!(fetch(&mut b, c, 2, 0, 5), "6|1 7|1");
    }
}

#[test]
fn a_deleted_row_of_a_keyset_is_told() {
    let mut b = bench();
    let (_, c) = open(&mut b, "select id, n from a", KEYSET, READ_ONLY);
    let mut other = b.instance.session().unwrap();
    run(&mut other, "delete a where id = 2 update a set n = 0 where id = 3");
    assert_eq!(fetch(&mut b, c, 2, 0, 3), "1|10|1 NULL|NULL|2 3|0|1");
}

#[test]
fn kinds_that_a_query_cannot_have() {
    let mut b = bench();
    let (lines, _) = open(&mut b, "select distinct n from a", KEYSET, OPTIMISTIC);
    assert_eq!(lines[4..], ["output 2  Int 8", "output 3  Int 1", "output 4  Int 7"]);
    // Only what is accepted: KEYSET_ACCEPTABLE.
    let (lines, c) = open(&mut b, "select distinct n from a", KEYSET | 0x18000, OPTIMISTIC);
    assert_eq!((lines, c), (vec!["error 16955 line 0".to_string()], 0));
    let (lines, _) = open(&mut b, "select distinct n from a", KEYSET | 0x98000, OPTIMISTIC);
    assert_eq!(lines[4], "output 2  Int 8");
    // What is no query.
    let (lines, _) = open(&mut b, "update a set n = 1 where id = 1", STATIC, READ_ONLY);
    assert_eq!(lines, ["error 16938 line 0"]);
    let (lines, c) = open(&mut b, "select 1 as x; select 2 as y", STATIC, READ_ONLY | ALLOW_DIRECT);
    assert_eq!(
        lines[..7],
        [
            "info 16954 line 0",
            "columns [x Int]",
            "row 1",
            "done Select 1 nested",
            "columns [y Int]",
            "row 2",
            "done Select 1 nested"
        ]
    );
    assert_eq!(c, 0);
    let (lines, _) = open(&mut b, "select nothing from a", STATIC, READ_ONLY);
    assert_eq!(lines, ["error 207 line 1"]);
}

#[test]
fn parameters_and_prepared_cursors() {
    let mut b = bench();
    let query = text("", "select id from a where n between @from and @to");
    let params = text("", "@from int, @to int");
    let lines = b.call(
        "sp_cursoropen",
        &[
            null(""),
            query.clone(),
            out(int("", STATIC | 0x1000)),
            out(int("", READ_ONLY)),
            null(""),
            params.clone(),
            int("", 30),
            int("", 50),
        ],
    );
    assert_eq!(lines[6], "output 4  Int 3");
    let lines = b.call(
        "sp_cursorprepare",
        &[
            null(""),
            params.clone(),
            query.clone(),
            int("", 1),
            out(int("", STATIC)),
            out(int("", READ_ONLY)),
        ],
    );
    assert_eq!(
        lines,
        [
            "columns [id Int base, ROWSTAT Int]",
            "done Select 0 nested",
            "status 0",
            "output 4  Int 8",
            "output 5  Int 1",
            "output 0  Int 1"
        ]
    );
    for (to, rows) in [(20, 2), (60, 6)] {
        let lines = b.call(
            "sp_cursorexecute",
            &[
                int("", 1),
                null(""),
                out(int("", STATIC)),
                out(int("", READ_ONLY)),
                null(""),
                int("", 0),
                int("", to),
            ],
        );
        assert_eq!(lines[6], format!("output 4  Int {rows}"));
    }
    assert_eq!(b.call("sp_cursorunprepare", &[int("", 1)]), ["status 0"]);
    assert_eq!(b.call("sp_cursorexecute", &[int("", 1)]), ["error 8179 line 0"]);
    let lines = b.call(
        "sp_cursorprepexec",
        &[
            null(""),
            null(""),
            params,
            query,
            out(int("", KEYSET)),
            out(int("", OPTIMISTIC)),
            null(""),
            int("", 30),
            int("", 30),
        ],
    );
    assert_eq!(lines[3..5], ["output 0  Int 2", "output 1  Int 180150007"]);
    assert_eq!(fetch(&mut b, 180_150_007, 2, 0, 9), "3|1");
}

#[test]
fn the_first_rows_come_with_the_opening() {
    let mut b = bench();
    const AUTO_FETCH: i32 = 0x2000;
    const AUTO_CLOSE: i32 = 0x4000;
    let mut call = |rows: i32, scroll: i32| {
        b.call(
            "sp_cursoropen",
            &[
                null(""),
                text("", "select id from a"),
                out(int("", scroll)),
                out(int("", READ_ONLY)),
                out(int("", rows)),
            ],
        )
    };
    let lines = call(2, FAST_FORWARD | AUTO_FETCH);
    assert_eq!(
        lines[..5],
        [
            "columns [id Int base, ROWSTAT Int]",
            "row 1|1",
            "row 2|1",
            "done Select 2 nested",
            "status 0"
        ]
    );
    let lines = call(20, FAST_FORWARD | AUTO_FETCH | AUTO_CLOSE);
    assert_eq!(lines[8..11], ["done Select 7 nested", "status 16", "output 0  Int 0"]);
}

#[test]
fn rows_are_changed_through_the_buffer() {
    let mut b = bench();
    for scroll in [KEYSET, DYNAMIC] {
        let (_, c) = open(&mut b, "select id, n, s from a order by id", scroll, OPTIMISTIC);
        assert_eq!(fetch(&mut b, c, 2, 0, 3), "1|10|r1|1 2|20|r2|1 3|30|r3|1");
        let change = |b: &mut Bench, operation: i32, row: i32, values: &[RpcParam]| {
            let mut params = vec![int("", c), int("", operation), int("", row), text("", "")];
            params.extend_from_slice(values);
            b.call("sp_cursor", &params)
        };
        b.setup(&["begin tran"]);
        // UPDATE, also with SETPOSITION, of one row; twice.
        assert_eq!(
            change(&mut b, 1, 2, &[int("@n", 21), text("@s", "two")]),
            ["done Update 1 nested", "status 0"]
        );
        assert_eq!(change(&mut b, 0x21, 2, &[int("n", 22)]), ["done Update 1 nested", "status 0"]);
        // DELETE; REFRESH shows what has become of the rows.
        assert_eq!(change(&mut b, 2, 3, &[]), ["done Delete 1 nested", "status 0"]);
        let rows = change(&mut b, 8, 0, &[]);
        assert_eq!(rows[1..4], ["row 1|10|r1|1", "row 2|22|two|1", "row NULL|NULL|NULL|2"]);
        // INSERT.
        assert_eq!(
            change(&mut b, 4, 0, &[int("@id", 100), int("@n", 1)]),
            ["done Insert 1 nested", "status 0"]
        );
        // What cannot be.
        assert_eq!(change(&mut b, 1, 9, &[int("@n", 1)]), ["error 16930 line 0"]);
        assert_eq!(change(&mut b, 1, 1, &[int("", 1)]), ["error 16936 line 0"]);
        assert_eq!(change(&mut b, 1, 1, &[]), ["error 16935 line 0"]);
        let lines = change(&mut b, 1, 1, &[int("@missing", 1)]);
        assert_eq!(lines[0], "error 207 line 1");
        b.setup(&["rollback"]);
        b.call("sp_cursorclose", &[int("", -1)]);
    }
    let (_, c) = open(&mut b, "select id, n from a", STATIC, OPTIMISTIC);
    fetch(&mut b, c, 2, 0, 1);
    let lines = b.call("sp_cursor", &[int("", c), int("", 2), int("", 1), text("", "a")]);
    assert_eq!(lines[0], "error 16929 line 1");
}

/// T-SQL's cursors over such tables are static.
#[test]
fn rows_of_tables_without_a_unique_index_are_changed() {
    let mut b = bench();
    b.setup(&[
        "create table heap (k int, v sql_variant)",
        "insert heap values (1, 5), (1, 'x'), (2, null)",
        "create table tree (k int, w int)",
        "create clustered index i on tree (k)",
        "insert tree values (1, 10), (1, 20), (3, 30)",
    ]);
    let update = |b: &mut Bench, c: i32, row: i32, table: &str, value: RpcParam| {
        b.call("sp_cursor", &[int("", c), int("", 0x21), int("", row), text("", table), value])
    };
    for scroll in [KEYSET, DYNAMIC, FORWARD_ONLY] {
        b.setup(&["begin tran"]);
        let (lines, c) = open(&mut b, "select k, v from heap", scroll, OPTIMISTIC);
        let access = lines.iter().find(|line| line.starts_with("output 3 ")).cloned();
        assert_eq!(access.as_deref(), Some("output 3  Int 4"), "{scroll}: {lines:?}");
        assert_eq!(fetch(&mut b, c, 2, 0, 3), "1|5|1 1|x|1 2|NULL|1", "{scroll}");
        assert_eq!(
            update(&mut b, c, 2, "", int("@v", 7)),
            ["done Update 1 nested", "status 0"],
            "{scroll}"
        );
        let (_, c) = open(
            &mut b,
            "select t.* from heap h join tree t on t.k = h.k where h.v = 5",
            scroll,
            OPTIMISTIC,
        );
        assert_eq!(fetch(&mut b, c, 2, 0, 3), "1|10|1 1|20|1", "{scroll}");
        assert_eq!(
            update(&mut b, c, 2, "tree", int("@w", 21)),
            ["done Update 1 nested", "status 0"],
            "{scroll}"
        );
        let rows: Vec<String> = b.run(
            "select v from heap order by k, cast(v as varchar(9)); select w from tree where k = 1 order by w",
        );
        let rows: Vec<&String> = rows.iter().filter(|line| line.starts_with("row")).collect();
        assert_eq!(rows, ["row 5", "row 7", "row NULL", "row 10", "row 21"], "{scroll}");
        b.setup(&["rollback"]);
        b.call("sp_cursorclose", &[int("", -1)]);
    }
    let (lines, _) = open(&mut b, "select distinct k from heap", KEYSET, OPTIMISTIC);
    assert_eq!(lines[4..6], ["output 2  Int 8", "output 3  Int 1"]);
}

#[test]
fn a_row_that_somebody_else_has_changed_is_left_alone() {
    let mut b = bench();
    let (_, c) = open(&mut b, "select id, n from a", KEYSET, OPTIMISTIC);
    fetch(&mut b, c, 2, 0, 3);
    let mut other = b.instance.session().unwrap();
    run(&mut other, "update a set n = 5 where id = 1");
    let update = |b: &mut Bench| {
        b.call("sp_cursor", &[int("", c), int("", 1), int("", 1), text("", ""), int("@n", 6)])
    };
    assert_eq!(update(&mut b)[0], "error 16934 line 1");
    // After a look at it as it is now.
    b.call("sp_cursor", &[int("", c), int("", 8), int("", 1), text("", "")]);
    assert_eq!(update(&mut b)[0], "done Update 1 nested");
    b.check("select n from a where id = 1", &["columns [n Int base]", "row 6", "done Select 1"]);
}

#[test]
fn a_cursor_gets_a_name_for_positioned_statements() {
    let mut b = bench();
    let (_, c) = open(&mut b, "select id, n from a", KEYSET, OPTIMISTIC);
    assert_eq!(
        b.call("sp_cursoroption", &[int("", c), int("", 2), text("", "SQL_CUR1")]),
        ["status 0"]
    );
    fetch(&mut b, c, 2, 0, 3);
    assert_eq!(
        b.call("sp_cursor", &[int("", c), int("", 0x20), int("", 2), text("", "")]),
        ["status 0"]
    );
    b.check("update a set n = 0 where current of SQL_CUR1", &["done Update 1"]);
    b.check("select id from a where n = 0", &["columns [id Int base]", "row 2", "done Select 1"]);
    let option = |b: &mut Bench, code| {
        b.call("sp_cursoroption", &[int("", c), int("", code), null("")])[1].clone()
    };
    assert_eq!(
        [4, 5, 6].map(|code| option(&mut b, code)),
        ["output 2  Int 1", "output 2  Int 4", "output 2  Int 7"]
    );
    b.call("sp_cursorclose", &[int("", c)]);
    assert_eq!(b.run("fetch SQL_CUR1")[0], "error 16916 line 1");
}

#[test]
fn by_execute_too() {
    let mut b = bench();
    let lines = b.run(
        "declare @c int, @scroll int = 8, @cc int = 1, @rows int
         exec sp_cursoropen @c output, N'select id from a where id > 5', @scroll output, @cc output, @rows output
         select @scroll, @cc, @rows
         exec sp_cursorfetch @c, 2, 0, 10
         exec sp_cursorclose @c",
    );
    let rows: Vec<&String> = lines.iter().filter(|line| line.starts_with("row ")).collect();
    assert_eq!(rows, ["row 8|1|2", "row 6|1", "row 7|1"]);
}

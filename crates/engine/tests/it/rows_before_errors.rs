//! Rows that come before the row that fails are rows of the result, whatever operator fails and
//! however rows are joined; a TOP, an EXISTS or a cursor that needs no more of them does not meet
//! the error. A statement that changes rows changes none.

use crate::support::tape::Bench;

/// Numbers 1 to 300 by key; `n` is 0 at 200, so that rows of the first batch, and of the one that
/// fails, come before it.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.setup(&[
        "create table t (id int primary key, n int not null, pad varchar(20) not null)",
        "insert t select value, case value when 200 then 0 else 1 end, 'x' from generate_series(1, 300)",
        "create table u (id int primary key, n int not null)",
        "insert u select id, n from t",
    ]);
    b
}

/// What a query gives: how many rows, the first and the last, and how it ends.
fn ends(b: &mut Bench, query: &str) -> (usize, String, String, String) {
    let said = b.run(query);
    let rows: Vec<&String> = said.iter().filter(|line| line.starts_with("row")).collect();
    let text = |row: Option<&&String>| row.map_or(String::new(), |row| row.to_string());
    let end = said.iter().find(|line| line.starts_with("error")).or(said.last());
    (rows.len(), text(rows.first()), text(rows.last()), end.cloned().unwrap_or_default())
}

/// Checks that a query gives rows 1 to 199 and fails then.
fn fails_at_200(b: &mut Bench, query: &str) {
    let expected =
        (199, "row 1".to_string(), "row 199".to_string(), "error 8134 line 1".to_string());
    assert_eq!(ends(b, query), expected, "{query}");
}

#[test]
fn values_of_columns() {
    let mut b = bench();
    b.check(
        "select 10 / n as q from (values (7), (5), (0), (2)) v (n)",
        &["columns [q Int]", "row 1", "row 2", "error 8134 line 1", "done Select error"],
    );
    b.check(
        "select 10 / 5 as q union all select 10 / id from t where id = 10 union all select 1 / n from t where id = 200",
        &["columns [q Int]", "row 2", "row 1", "error 8134 line 1", "done Select error"],
    );
    fails_at_200(&mut b, "select id / n from t");
    fails_at_200(&mut b, "select id / n from t order by id");
    fails_at_200(&mut b, "select cast(id / n as bigint) from t where pad = 'x'");
    fails_at_200(&mut b, "select d.q from t cross apply (select id / n as q) d");
    fails_at_200(&mut b, "select (select t.id / t.n) from t");
    // Two inputs in order, which are merged: the one that fails is asked for its next row before
    // the other gives its 199.
    let merged = "select id / n as q, id from t union all select id, id from u order by id";
    assert_eq!(
        ends(&mut b, merged),
        (397, "row 1|1".into(), "row 199|199".into(), "error 8134 line 1".into())
    );
}

#[test]
fn conditions() {
    let mut b = bench();
    fails_at_200(&mut b, "select id from t where 10 / n > 0");
    fails_at_200(&mut b, "select id from t with (updlock) where 10 / n > 0");
    b.setup(&["create index by_pad on t (pad) include (n)"]);
    fails_at_200(&mut b, "select id from t with (index (by_pad)) where pad = 'x' and 10 / n > 0");
    b.setup(&["create index only_pad on t (pad)"]);
    fails_at_200(&mut b, "select id from t with (index (only_pad)) where pad = 'x' and 10 / n > 0");
}

#[test]
fn joins() {
    let mut b = bench();
    for hint in ["hash join", "merge join", "loop join"] {
        for kind in ["inner", "left"] {
            let query = format!(
                "select t.id from t {kind} join u on t.id = u.id and 10 / (t.n * u.n) > 0 option ({hint}, force order)"
            );
            // A hash join may pass the rows of either side by.
            fails_at_200(&mut b, &query);
        }
        let query = format!("select t.id / u.n from t join u on t.id = u.id option ({hint})");
        fails_at_200(&mut b, &query);
    }
    // Of no equality: the rows of u are met by each of t.
    let query = "select t.id from t join u on t.id <> u.id and t.id + 1 > 100 / u.n and u.id < 201 where t.id < 3";
    assert_eq!(ends(&mut b, query).3, "error 8134 line 1");
}

#[test]
fn groups_and_windows() {
    let mut b = bench();
    fails_at_200(
        &mut b,
        "select id from t group by id having 10 / sum(n) > 0 option (order group)",
    );
    fails_at_200(&mut b, "select sum(id / n) from t group by id option (order group)");
    fails_at_200(&mut b, "select id / n * row_number() over (order by id) / id from t");
}

#[test]
fn what_needs_no_more_rows_meets_no_error() {
    let mut b = bench();
    b.check(
        "select top 2 id / n as q from t order by id",
        &["columns [q Int]", "row 1", "row 2", "done Select 2"],
    );
    assert_eq!(ends(&mut b, "select top 199 id / n from t order by id").3, "done Select 199");
    fails_at_200(&mut b, "select top 200 id / n from t order by id");
    assert_eq!(
        ends(&mut b, "select id / n from t order by id offset 190 rows fetch next 9 rows only"),
        (9, "row 191".into(), "row 199".into(), "done Select 9".into())
    );
    b.check(
        "if exists (select * from t where 10 / n > 0) select 1 as there",
        &["columns [there Int]", "row 1", "done Select 1"],
    );
    b.setup(&["set rowcount 3"]);
    assert_eq!(ends(&mut b, "select id / n from t").3, "done Select 3");
    b.setup(&["set rowcount 0"]);
}

#[test]
fn a_cursor_goes_up_to_the_row_that_fails() {
    let mut b = bench();
    for kind in ["forward_only", "fast_forward"] {
        b.setup(&[
            &format!("declare c cursor global {kind} for select id / n as q from t where id > 198"),
            "open c",
        ]);
        b.check("fetch c", &["columns [q Int]", "row 199", "done Select 1"]);
        b.check("fetch c", &["columns [q Int]", "error 8134 line 1", "done Select error"]);
        b.setup(&["close c", "deallocate c"]);
    }
}

#[test]
fn variables_keep_what_rows_before_it_gave() {
    let mut b = bench();
    b.check(
        "declare @q int = -1 begin try select @q = id / n from t order by id end try begin catch end catch select @q as q",
        &["columns [q Int null]", "row 199", "done Select 1"],
    );
}

#[test]
fn a_change_changes_nothing() {
    let mut b = bench();
    b.setup(&["create table v (q int)"]);
    assert_eq!(
        b.run("insert v select id / n from t"),
        ["error 8134 line 1", "info 3621 line 1", "done Insert error"]
    );
    assert_eq!(
        b.run("update t set pad = id / n"),
        ["error 8134 line 1", "info 3621 line 1", "done Update error"]
    );
    assert_eq!(
        b.run("delete t where 10 / n > 0"),
        ["error 8134 line 1", "info 3621 line 1", "done Delete error"]
    );
    b.check(
        "select (select count(*) from v), (select count(*) from t where pad = 'x')",
        &["columns [ Int null,  Int null]", "row 0|300", "done Select 1"],
    );
    // The same with the rest of the transaction.
    let said =
        b.run("set xact_abort on begin tran insert v values (1) select id / n from t where id > 198 commit");
    assert!(said.iter().any(|line| line == "row 199"), "{said:?}");
    b.check(
        "select count(*) as n, @@trancount as open_ from v",
        &["columns [n Int, open_ Int null]", "row 0|0", "done Select 1"],
    );
}

/// OUTPUT tells a client only of rows that the statement's constraints have let stand: who reads a
/// row believes that it is there.
#[test]
fn output_waits_for_the_constraints() {
    let mut b = Bench::new();
    b.setup(&[
        "create table parent (id int primary key, v int not null default 0)",
        "create table child (id int identity primary key, p int references parent (id), c int check (c > 0))",
        "create table heir (id int primary key, p int references parent (id) on delete cascade)",
        "insert parent (id) select value from generate_series(1, 500)",
        "insert child (p, c) values (500, 1)",
        "insert heir values (1, 1), (2, 2)",
    ]);
    let mut refused = |statement: &str| {
        let said = b.run(statement);
        let rows = said.iter().filter(|line| line.starts_with("row")).count();
        assert!(
            rows == 0 && said.iter().any(|line| line.starts_with("error 547")),
            "{statement}: {said:?}"
        );
    };
    refused("insert child (p, c) output inserted.id values (999, 1)");
    refused(
        "insert child (p, c) output inserted.id select value, 1 from generate_series(300, 501)",
    );
    refused("insert child (p, c) output inserted.id values (null, -1)");
    refused("delete parent output deleted.id where id > 100");
    refused("update parent set id = id + 1000 output inserted.id, deleted.id where id > 100");
    refused("update child set p = 999 output inserted.p");
    refused(
        "merge parent t using (values (500), (600)) s (id) on t.id = s.id when matched then delete \
         when not matched then insert (id) values (s.id) output $action, inserted.id, deleted.id;",
    );
    // The rows of a statement that stands come as they did, in the order of its changes.
    b.check(
        "insert child (p, c) output inserted.p, inserted.c values (1, 7), (2, 8)",
        &["columns [p Int null, c Int null]", "row 1|7", "row 2|8", "done Insert 2"],
    );
    b.setup(&["delete child where p < 3"]);
    b.check(
        "delete parent output deleted.id where id < 3",
        &["columns [id Int]", "row 1", "row 2", "done Delete 2"],
    );
    b.check("select count(*) as n from heir", &["columns [n Int]", "row 0", "done Select 1"]);
    // Many rows wait in files when memory is small; the last one is as the first.
    let said = b.run(
        "insert child (p, c) output inserted.c select 400, value from generate_series(1, 20000)",
    );
    let rows: Vec<&String> = said.iter().filter(|line| line.starts_with("row")).collect();
    assert_eq!(
        (rows.len(), rows[0].as_str(), rows[19_999].as_str()),
        (20_000, "row 1", "row 20000")
    );
}

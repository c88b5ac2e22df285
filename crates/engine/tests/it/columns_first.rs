//! The columns of a result are told before the error that ends it, also where no row has come: in
//! batches, procedures, TRY, of changes with OUTPUT, FETCH and statements on one row. Nothing is
//! told of what was not compiled or may not be run.

use crate::support::tape::{Bench, int, run, text};

fn bench() -> Bench {
    let mut b = Bench::new();
    b.setup(&[
        "create table t (id int primary key, n int not null)",
        "insert t values (1, 0), (2, 7)",
        "create procedure fails as select 10 / n from t where id = 1",
    ]);
    b
}

#[test]
fn a_query_that_fails_before_its_first_row() {
    let mut b = bench();
    let failed = ["columns [q Int]", "error 8134 line 1", "done Select error"];
    // On one row by its key, the second and third time without the interpreter; by the interpreter;
    // sorted; with a limit.
    for _ in 0..3 {
        b.check("select 10 / n as q from t where id = 1", &failed);
    }
    b.check("select 10 / n as q from t", &failed);
    b.check("select top 1 10 / n as q from t order by 10 / n", &failed);
    b.setup(&["set rowcount 1"]);
    b.check("select 10 / n as q from t", &failed);
    b.setup(&["set rowcount 0"]);
    b.check(
        "select id, n from t where 1 / n = 1",
        &["columns [id Int base, n Int base]", "error 8134 line 1", "done Select error"],
    );
    // A row has come: nothing is told twice.
    b.check(
        "select 10 / n as q from t where id = 2 union all select 10 / n from t where id = 1",
        &["columns [q Int]", "row 1", "error 8134 line 1", "done Select error"],
    );
    let failed_call = b.call(
        "sp_executesql",
        &[text("", "select 10 / @n as q"), text("", "@n int"), int("@n", 0)],
    );
    assert_eq!(
        failed_call,
        ["columns [q Int null]", "error 8134 line 1", "done Select error nested", "status 8134"]
    );
}

#[test]
fn what_is_not_compiled_or_not_allowed_has_no_columns() {
    let mut b = bench();
    b.check("select nosuch from t", &["error 207 line 1", "done Select error"]);
    b.check("select id from nosuch", &["error 208 line 1", "done Select error"]);
    // Neither has an assignment.
    b.check(
        "declare @n int select @n = 10 / n from t where id = 1",
        &["error 8134 line 1", "done Select error"],
    );
    b.setup(&["create user u without login"]);
    b.check(
        "execute as user = 'u' select 10 / n from t revert",
        &["done Quiet", "error 229 line 1", "done Select error", "done Quiet"],
    );
}

#[test]
fn within_try_the_result_ends_before_the_catch_begins() {
    let mut b = bench();
    let caught =
        ["columns [q Int]", "done Select 0", "columns [ Int null]", "row 8134", "done Select 1"];
    b.check(
        "begin try select 10 / n as q from t where id = 1 end try begin catch select error_number() end catch",
        &caught,
    );
    b.check(
        "begin try exec fails end try begin catch select error_number() end catch",
        &[
            "columns [ Int]",
            "done Select 0 nested",
            "columns [ Int null]",
            "row 8134",
            "done Select 1",
        ],
    );
    b.check(
        "exec fails",
        &["columns [ Int]", "error 8134 line 1 of fails", "done Select error nested", "status 0"],
    );
}

#[test]
fn changes_with_output_and_fetch() {
    let mut b = bench();
    b.check(
        "insert t output inserted.id values (1, 1)",
        &["columns [id Int]", "error 2627 line 1", "info 3621 line 1", "done Insert error"],
    );
    b.check(
        "update t set n = 1 / n output deleted.n",
        &["columns [n Int]", "error 8134 line 1", "info 3621 line 1", "done Update error"],
    );
    b.check(
        "insert t values (1, 1)",
        &["error 2627 line 1", "info 3621 line 1", "done Insert error"],
    );
    b.setup(&["declare c cursor global for select 10 / n as q from t", "open c"]);
    b.check("fetch c", &["columns [q Int]", "error 8134 line 1", "done Select error"]);
    b.check("declare @q int fetch c into @q", &["error 8134 line 1", "done Select error"]);
}

#[test]
fn results_that_others_take() {
    let mut b = bench();
    // INSERT ... EXECUTE keeps them from the client.
    b.setup(&["create table u (n int)"]);
    let said = b.run("insert u exec fails");
    assert!(said.iter().all(|line| !line.starts_with("columns")), "{said:?}");
    assert!(said[0].starts_with("error 8134"), "{said:?}");
    // WITH RESULT SETS gives the columns that it asks for; where the result is another one, that is
    // the error.
    b.check(
        "exec fails with result sets ((q bigint null))",
        &[
            "columns [q BigInt null]",
            "error 8134 line 1 of fails",
            "done Select error nested",
            "status 0",
        ],
    );
    let said = b.run("exec fails with result sets ((a int, b int))");
    assert!(said[0].starts_with("error 11537"), "{said:?}");
    assert!(!said.iter().any(|line| line.contains("8134")), "{said:?}");
    // FMTONLY runs nothing.
    b.setup(&["set fmtonly on"]);
    b.check("select 10 / n as q from t", &["columns [q Int]", "done Select 0"]);
}

#[test]
fn a_query_that_waits_for_a_row_in_vain() {
    let mut b = bench();
    let mut other = b.instance.session().unwrap();
    run(&mut other, "set lock_timeout 10");
    b.setup(&["begin tran update t set n = 1 where id = 2"]);
    assert_eq!(
        run(&mut other, "select n from t with (updlock) where id = 2"),
        ["columns [n Int base]", "error 1222 line 1", "done Select error"]
    );
}

#[test]
fn a_statement_that_is_compiled_again_tells_its_columns_once() {
    let mut b = bench();
    let text = "select 10 / n as q from t where id = 1";
    b.run(text);
    b.setup(&["alter table t add m int null"]);
    b.check(text, &["columns [q Int]", "error 8134 line 1", "done Select error"]);
}

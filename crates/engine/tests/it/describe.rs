//! SET FMTONLY ON: the columns of what follows, and nothing runs; as drivers ask for the columns of
//! a table or a statement.

use crate::support::tape::{Bench, int, text};

fn bench() -> Bench {
    let mut b = Bench::new();
    b.setup(&[
        "create table t (id int identity primary key, name varchar(20) not null, price decimal(9, 2) null)",
        "insert t values ('a', 1.5)",
        "create procedure p @n int as
         if @n = 1 select name from t else select price, id from t
         delete t
         exec p 2
         return 4",
    ]);
    b
}

const COLUMNS: &str = "columns [id Int base identity, name VarChar(N(20)) base, price Decimal { precision: 9, scale: 2, name: Decimal } null base]";

#[test]
fn a_table_is_described() {
    let mut b = bench();
    // JDBC, FreeTDS: one batch, nothing between the statements.
    b.check(
        "SET FMTONLY ON select * from master.dbo.t SET FMTONLY OFF",
        &["done SetOn", COLUMNS, "done Select 0", "done SetOff"],
    );
    b.check(
        "set fmtonly on select * from t \nset fmtonly off",
        &["done SetOn", COLUMNS, "done Select 0", "done SetOff"],
    );
    // go-mssqldb: two batches.
    b.check("SET FMTONLY ON", &["done SetOn"]);
    b.check("select * from [t] SET FMTONLY OFF", &[COLUMNS, "done Select 0", "done SetOff"]);
    // JDBC's bulk copy: the option ends with its scope.
    let said = b.call("sp_executesql", &[text("", "SET FMTONLY ON SELECT * FROM t ")]);
    assert_eq!(said, ["done SetOn nested", COLUMNS, "done Select 0 nested", "status 0"]);
    assert_eq!(b.run("select 1")[1], "row 1");
}

#[test]
fn texts_and_procedures_are_described() {
    let mut b = bench();
    // SqlClient's bulk copy.
    b.check(
        "declare @names nvarchar(max) = N'[id], [name], [price]'
         SET FMTONLY ON EXEC(N'SELECT ' + @names + N' FROM t') SET FMTONLY OFF",
        &["done SetOn", COLUMNS, "done Select 0 nested", "done SetOff"],
    );
    // Both branches of a procedure, each once; nothing of it runs.
    let described = [
        "done SetOn",
        "columns [name VarChar(N(20)) base]",
        "done Select 0 nested",
        "columns [price Decimal { precision: 9, scale: 2, name: Decimal } null base, id Int base identity]",
        "done Select 0 nested",
        "status 0",
        "done SetOff",
    ];
    b.check("set fmtonly on exec p 1 set fmtonly off", &described);
    b.check("set fmtonly on exec p set fmtonly off", &described);
    b.check(
        "set fmtonly on insert t values ('b', 2) update t set price = 0 set fmtonly off",
        &["done SetOn", "done SetOff"],
    );
    b.check(
        "set fmtonly on exec sp_rename 't', 'u' set fmtonly off",
        &["done SetOn", "status 0", "done SetOff"],
    );
    b.check(
        "set fmtonly on insert t (name) exec p 1 set fmtonly off",
        &["done SetOn", "done SetOff"],
    );
    assert_eq!(b.run("select name, price from t")[1..], ["row a|1.50", "done Select 1"]);
    // Errors of binding are told.
    b.check(
        "set fmtonly on select * from nowhere",
        &["done SetOn", "error 208 line 1", "done Select error"],
    );
    b.run("set fmtonly off");
    // Variables keep their values.
    let said = b.call(
        "sp_executesql",
        &[
            text("", "set fmtonly on set @n = 5 set fmtonly off select @n"),
            text("", "@n int"),
            int("", 1),
        ],
    );
    assert!(said.contains(&"row 1".to_string()), "{said:?}");
}

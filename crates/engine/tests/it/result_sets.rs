//! EXECUTE ... WITH RESULT SETS, and of a text AS another: names, types and values as declared, and
//! what becomes of a call that does not keep to them.

use crate::support::tape::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.setup(&[
        "create table log (m varchar(50))",
        "create procedure one as select 1 as a, 'hello' as b",
        "create procedure two as begin select 1 as a; select 'z' as b, 2 as c end",
        "create procedure none as insert log values ('ran')",
        "create procedure arg @n int as begin select @n as a; return 9 end",
    ]);
    b
}

fn set(lines: &[String]) -> Vec<&str> {
    let told =
        |l: &&String| l.starts_with("columns") || l.starts_with("row") || l.starts_with("error");
    lines.iter().filter(told).map(String::as_str).collect()
}

#[test]
fn columns_are_named_and_typed() {
    let mut b = bench();
    assert_eq!(
        set(&b.run("exec one with result sets ((x bigint not null, y nvarchar(40)))")),
        ["columns [x BigInt, y NVarChar(N(40)) null]", "row 1|hello"]
    );
    // A text that is too long is cut, a number that is too long a star, as CAST does.
    assert_eq!(
        set(&b.run("exec one with result sets ((x varchar(30), y varchar(2)))"))[1],
        "row 1|he"
    );
    assert_eq!(set(&b.run("exec arg 300 with result sets ((x varchar(2)))"))[1], "row *");
    assert_eq!(
        set(&b.run("exec ('select 7 a') with result sets ((x decimal(5, 2)))"))[1],
        "row 7.00"
    );
    assert_eq!(
        set(&b.run(
            "exec sp_executesql N'select 7 a' with recompile, result sets ((x datetime null))"
        ))[1],
        "row 1900-01-08 00:00:00.000"
    );
    assert_eq!(
        set(&b.run("exec two with result sets ((one bigint), (two char(3) collate Latin1_General_BIN2, three varchar(9)))")),
        [
            "columns [one BigInt null]",
            "row 1",
            "columns [two Char(3) null, three VarChar(N(9)) null]",
            "row z  |2"
        ]
    );
    // The status comes back, other words stand where they may.
    assert_eq!(
        set(&b.run(
            "declare @r int exec @r = arg @n = 5 with result sets ((x bigint)), recompile select @r"
        ))[3],
        "row 9"
    );
    assert_eq!(set(&b.run("exec one with result sets undefined"))[1], "row 1|hello");
    assert_eq!(set(&b.run("exec none with result sets none select count(*) from log"))[1], "row 1");
    assert_eq!(set(&b.run("one with result sets ((x int, y text))"))[1], "row 1|hello");
}

#[test]
fn columns_of_objects_and_types() {
    let mut b = bench();
    b.setup(&[
        "create table shape (n bigint not null, s varchar(3))",
        "create view v as select n, s + 'x' as t from shape",
        "create function f (@a int) returns table as return select n as q, s as r from shape where n = @a",
        "create type tt as table (alpha int, b varchar(3) not null)",
        "create procedure doc as select 1 as a for xml raw",
    ]);
    let mut check = |of: &str, wanted: &str| {
        let lines = b.run(&format!("exec one with result sets ({of})"));
        assert_eq!(set(&lines)[0], wanted, "{of}");
    };
    check("as object dbo.shape", "columns [n BigInt, s VarChar(N(3)) null]");
    check("as object v", "columns [n BigInt, t VarChar(N(4)) null]");
    check("as object f", "columns [q BigInt, r VarChar(N(3)) null]");
    check("as type dbo.tt", "columns [alpha Int null, b VarChar(N(3))]");
    check("as object nope", "error 11533 line 1");
    check("as object one", "error 11533 line 1");
    check("as object master.dbo.shape", "error 11533 line 1");
    check("as type nope", "error 11534 line 1");
    check("(x nosuch, y int)", "error 2715 line 1");
    check("(x int, y char(3) collate nosuch)", "error 448 line 1");
    assert_eq!(set(&b.run("exec doc with result sets (as for xml)"))[1], "row <row a=\"1\"/>");
    assert_eq!(
        set(&b.run("exec arg 1 with result sets (as for xml)")),
        ["error 11538 line 1 of arg"]
    );
}

#[test]
fn a_call_that_gives_something_else() {
    let mut b = bench();
    b.setup(&[
        "create table t (id int primary key, v varchar(10) null)",
        "insert t values (1, '1'), (2, '2'), (3, 'x'), (4, null)",
        "create procedure list as select v from t order by id; insert log values ('after')",
    ]);
    let mut check = |sql: &str, wanted: &[&str]| assert_eq!(set(&b.run(sql)), wanted, "{sql}");
    check("exec one with result sets none", &["error 11535 line 1 of one"]);
    check(
        "exec two with result sets ((x int))",
        &["columns [x Int null]", "row 1", "error 11535 line 1 of two"],
    );
    check(
        "exec arg 1 with result sets ((x int), (y int))",
        &["columns [x Int null]", "row 1", "error 11536 line 1"],
    );
    check("exec one with result sets ((x int))", &["error 11537 line 1 of one"]);
    check("exec one with result sets ((x date, y varchar(9)))", &["error 11538 line 1 of one"]);
    check(
        "exec ('select cast(''<a/>'' as xml) a') with result sets ((x varchar(9)))",
        &["error 11538 line 1"],
    );
    check("exec ('select ''x'' a') with result sets ((x varbinary(9)))", &["error 11538 line 1"]);
    // Rows before the one that fails have gone out; what follows in the procedure and in the batch
    // does not run.
    check(
        "exec list with result sets ((v int)) insert log values ('batch') ",
        &["columns [v Int null]", "row 1", "row 2", "error 8114 line 1 of list"],
    );
    check(
        "exec list with result sets ((v varchar(10) not null)) insert log values ('batch')",
        &["columns [v VarChar(N(10))]", "row 1", "row 2", "row x", "error 11553 line 1 of list"],
    );
    check("select count(*) from log", &["columns [ Int]", "row 0"]);
}

#[test]
fn what_becomes_of_the_batch() {
    let mut b = bench();
    b.setup(&["create procedure own as begin try select 1 as a; insert log values ('not') end try
         begin catch insert log values (error_number()) end catch; insert log values ('end')"]);
    // The transaction stays open, the batch ends.
    b.run("begin tran insert log values ('in') exec one with result sets ((x int)) insert log values ('no')");
    assert_eq!(b.session.trancount(), 1);
    b.run("rollback");
    // CATCH around the call, and that of the procedure itself.
    assert_eq!(
        set(&b.run(
            "begin try exec one with result sets ((x date, y int)) end try
             begin catch select error_procedure() p, error_number() n, xact_state() x end catch"
        ))[1],
        "row one|11538|0"
    );
    b.run("exec own with result sets ((x date))");
    assert_eq!(set(&b.run("select string_agg(m, ',') from log"))[1], "row 11538,end");
    assert_eq!(
        set(&b.run("begin tran begin try exec one with result sets ((x int, y int)) end try begin catch select xact_state() rollback end catch"))
            .last(),
        Some(&"row -1")
    );
}

#[test]
fn what_the_text_may_not_say() {
    let mut b = bench();
    let mut check = |sql: &str, wanted: &str| {
        let lines = b.run(sql);
        assert_eq!(set(&lines), [wanted], "{sql}");
    };
    check("exec one with result sets (x int, y int)", "error 102 line 1");
    check("exec one with result sets ()", "error 102 line 1");
    check("exec one with result sets none, result sets none", "error 102 line 1");
    check("exec ('select 1') with recompile", "error 102 line 1");
    check("exec ('select 1', 2)", "error 102 line 1");
    check("insert log exec one with result sets ((x int, y int))", "error 102 line 1");
    check("exec ('select 1') at nowhere", "error 7202 line 1");
}

#[test]
fn described_without_running() {
    let mut b = bench();
    let lines = b
        .run("set fmtonly on exec none with result sets ((x int, y text), (z bit not null)) set fmtonly off");
    assert_eq!(set(&lines), ["columns [x Int null, y VarChar(Old) null]", "columns [z Bit]"]);
    let lines = b.run(
        "exec sp_describe_first_result_set N'exec two with result sets ((n bigint), (m int))'",
    );
    assert!(set(&lines)[1].contains("|n|"), "{lines:?}");
}

#[test]
fn a_text_as_another() {
    let mut b = bench();
    b.setup(&[
        "create login l with password = 'Some-pass-1'",
        "create user u without login create user ul for login l",
        "create table secret (n int) insert secret values (1) grant select on log to u",
    ]);
    let mut check = |sql: &str, wanted: &[&str]| {
        let lines = b.run(sql);
        let rows: Vec<&str> =
            set(&lines).into_iter().filter(|l| !l.starts_with("columns")).collect();
        assert_eq!(rows, wanted, "{sql}");
    };
    check("exec ('select user_name()') as user = 'u' select user_name()", &["row u", "row dbo"]);
    check("exec ('select suser_name(), user_name()') as login = 'l'", &["row l|ul"]);
    check(
        "exec ('select * from secret') as user = 'u' select user_name()",
        &["error 229 line 1", "row dbo"],
    );
    // REVERT inside does not lead out, and what the text begins ends with it.
    check("exec ('revert select user_name()') as user = 'u'", &["row u"]);
    check(
        "exec ('execute as user = ''ul'' select user_name()') select user_name()",
        &["row ul", "row dbo"],
    );
    check("exec ('select 1') as user = 'nobody'", &["error 15517 line 1"]);
    check("exec ('select 1') as login = 'nobody'", &["error 15406 line 1"]);
    check("exec ('select 1 a') as user = 'u' with result sets ((x varchar(3)))", &["row 1"]);
    check(
        "begin try exec ('select 1/0') as user = 'u' end try begin catch select user_name() end catch",
        &["row dbo"],
    );
}

#[test]
fn cursors_are_listed_and_described() {
    let mut b = Bench::new();
    b.setup(&[
        "create table t (id int primary key, v varchar(9)) insert t values (1, 'a'), (2, 'b')",
        "create procedure show_list @scope int as
         declare @l cursor, @name sysname, @cursor sysname, @s tinyint, @status smallint, @model tinyint, @conc tinyint, @scroll tinyint,
             @open tinyint, @rows decimal(10, 0), @fetch smallint, @columns smallint, @count decimal(10, 0), @last tinyint, @handle int
         declare inner_one cursor local for select 1
         exec sp_cursor_list @cursor_return = @l output, @cursor_scope = @scope
         fetch next from @l into @name, @cursor, @s, @status, @model, @conc, @scroll, @open, @rows, @fetch, @columns, @count, @last, @handle
         while @@fetch_status = 0 begin
             print concat_ws('|', @name, @cursor, @s, @status, @model, @conc, @scroll, @open, @rows, @fetch, @columns, @count, @last)
             fetch next from @l into @name, @cursor, @s, @status, @model, @conc, @scroll, @open, @rows, @fetch, @columns, @count, @last, @handle
         end
         close @l deallocate @l",
    ]);
    let told = |lines: Vec<String>| -> Vec<String> {
        let told =
            lines.iter().filter_map(|l| l.strip_prefix("info 0 ").and_then(|l| l.split_once(": ")));
        told.map(|(_, text)| text.to_owned()).collect()
    };
    let lines = told(b.run(
        "declare Wide cursor global static for select id, v from t open Wide fetch next from Wide
         declare narrow cursor local forward_only dynamic for select id from t
         declare @r cursor, @v cursor set @v = cursor keyset for select id from t for update
         exec sp_cursor_list @cursor_return = @r output, @cursor_scope = 3
         fetch next from @r fetch next from @r fetch next from @r fetch next from @r deallocate @r
         close Wide deallocate Wide",
    ));
    assert!(lines.is_empty());
    let lines = b.run(
        "declare Wide cursor global static for select id, v from t open Wide fetch next from Wide
         declare narrow cursor local forward_only dynamic for select id from t
         declare @r cursor
         exec sp_cursor_list @cursor_return = @r output, @cursor_scope = 3
         fetch next from @r fetch next from @r fetch next from @r deallocate @r
         exec sp_cursor_list @r output, 1 fetch next from @r fetch next from @r deallocate @r
         exec sp_describe_cursor @r output, N'global', N'wide' fetch next from @r deallocate @r
         close Wide deallocate Wide",
    );
    let rows: Vec<&str> = lines
        .iter()
        .filter(|l| l.starts_with("row ") && l.contains("|"))
        .map(|l| l.rsplit_once('|').unwrap().0)
        .collect();
    let wide = "row Wide|Wide|2|1|1|1|1|1|2|0|2|1|2";
    let narrow = "row narrow|narrow|1|-1|3|3|0|0|0|-9|1|0|0";
    assert_eq!(rows, ["row 1", wide, narrow, narrow, wide], "{lines:#?}");
    // A procedure lists what it can name itself; errors say which parameter.
    let lines = told(b.run("declare Mine cursor local for select 1 exec show_list 1"));
    assert_eq!(lines, ["inner_one|inner_one|1|-1|1|1|0|0|0|-9|1|0|0"]);
    for (sql, number) in [
        ("declare @r cursor exec sp_cursor_list @r output, 4", "error 16902"),
        ("declare @r cursor exec sp_describe_cursor @r output, N'nowhere', N'x'", "error 16902"),
        ("declare @r cursor exec sp_describe_cursor @r output, N'local', N'x'", "error 16916"),
    ] {
        let lines = b.run(sql);
        assert!(lines.iter().any(|l| l.starts_with(number)), "{sql} {lines:?}");
    }
}

/// A column is headed as the query spells it: programs read columns by their names, and some take
/// the case as it is.
#[test]
fn headings_are_spelled_as_in_the_query() {
    let mut b = Bench::new();
    b.setup(&[
        "create table customer (id int not null, Name varchar(20) not null)",
        "insert customer values (1, 'a')",
        "create view seen as select ID as Id, NAME from customer",
    ]);
    let mut headed = |query: &str, expected: &str| {
        let said = b.run(query);
        assert_eq!(said.first().map(String::as_str), Some(expected), "{query}");
    };
    headed("select ID, name from customer", "columns [ID Int base, name VarChar(N(20)) base]");
    // One plan may serve two spellings; each has its own headings.
    headed("select id, NAME from customer", "columns [id Int base, NAME VarChar(N(20)) base]");
    headed("select ID, name from customer", "columns [ID Int base, name VarChar(N(20)) base]");
    headed(
        "select id, NAME from customer where id = 1",
        "columns [id Int base, NAME VarChar(N(20)) base]",
    );
    headed(
        "select Id, Name from customer where id = 2",
        "columns [Id Int base, Name VarChar(N(20)) base]",
    );
    headed("select c.[iD] from customer c order by ID", "columns [iD Int base]");
    // A star, a view and a derived table have names of their own.
    headed("select * from customer", "columns [id Int base, Name VarChar(N(20)) base]");
    headed("select iD, * from seen", "columns [iD Int, Id Int, NAME VarChar(N(20))]");
    headed(
        "select X, y from (select id as x, Name as Y from customer) d",
        "columns [X Int, y VarChar(N(20))]",
    );
    headed("select X from (select id from customer union all select 2) d (x)", "columns [X Int]");
    headed("select ID from customer union all select id from customer", "columns [ID Int]");
    let said = b.run("select top 1 \"NAME\", \"COLLATION_NAME\" from \"sys\".\"databases\"");
    assert!(
        said[0].starts_with("columns [NAME ") && said[0].contains(", COLLATION_NAME "),
        "{said:?}"
    );
    let said =
        b.run("select table_name, Column_Name from information_schema.columns where table_name = 'customer'");
    assert!(
        said[0].starts_with("columns [table_name ") && said[0].contains(", Column_Name "),
        "{said:?}"
    );
}

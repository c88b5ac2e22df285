//! sp_describe_undeclared_parameters: the type that each place gives to a parameter, and where
//! there is none.

use crate::support::text::{Bench, Text};

fn bench() -> Bench {
    let mut b = Bench::new();
    for batch in [
        "create table t (id int not null primary key, small smallint, big bigint, flag bit, name varchar(30), code char(30), \
         wide nvarchar(40), price decimal(10, 2), cost money, at datetime, day date, moment datetime2(3), ratio float, \
         raw binary(8), guid uniqueidentifier, body nvarchar(max))",
        "create type lines as table (id int, word varchar(10))",
        "create procedure many @n int, @l lines readonly as select id, word, @n from @l",
        "create procedure p @n int, @text nvarchar(20) = null, @out decimal(9, 3) = null output as select @n",
    ] {
        assert_eq!(b.run(batch), "");
    }
    b
}

/// `name type` of each parameter, with `in`, `out` and the formal parameter where they are not the
/// usual ones; or the error.
fn described(b: &mut Bench, sql: &str, declared: &str) -> String {
    let sql = sql.replace('\'', "''");
    let call = format!("exec sp_describe_undeclared_parameters N'{sql}', N'{declared}'");
    let said = b.run(&call);
    if said.starts_with("Msg") {
        return said.trim_end().to_owned();
    }
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        assert_eq!(cells.len(), 24, "{line}");
        let mut shown = format!("{} {}", cells[1], cells[3]);
        match (cells[19], cells[20]) {
            ("1", "0") => {}
            ("1", "1") => shown.push_str(" in out"),
            ("0", "1") => shown.push_str(" out"),
            other => panic!("{other:?}: {line}"),
        }
        if cells[21] != "NULL" {
            shown.push_str(&format!(" for {}", cells[21]));
        }
        shown
    };
    said.lines().map(row).collect::<Vec<_>>().join(", ")
}

fn check(cases: &[(&str, &str)]) {
    let mut b = bench();
    let mut wrong = Vec::new();
    for (sql, expected) in cases {
        let found = described(&mut b, sql, "");
        if found != *expected {
            wrong.push(format!("{sql}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_other_side_of_an_equality_or_an_assignment() {
    check(&[
        ("select * from t where id = @p", "@p int"),
        ("select * from t where @p = name", "@p varchar(30)"),
        ("select * from t where code = @p and wide <> @q", "@p char(30), @q nvarchar(40)"),
        ("select * from t where guid = @p or price = @q", "@p uniqueidentifier, @q decimal(10,2)"),
        ("select * from t where moment = @p and body = @q", "@p datetime2(3), @q nvarchar(max)"),
        (
            "select * from t where id in (@a, @b, 3) and @c in (small, big)",
            "@a int, @b int, @c smallint",
        ),
        ("select * from t where @p in (select name from t)", "@p varchar(30)"),
        ("select * from t where @p = any (select moment from t)", "@p datetime2(3)"),
        (
            "select case when flag = @p then 1 end, case id when @q then 1 end from t",
            "@p bit, @q int",
        ),
        ("select * from t as a join t as b on a.id = b.id and b.day = @p", "@p date"),
        (
            "select * from t where exists (select 1 from t as u where u.id = t.id and u.ratio = @p)",
            "@p float",
        ),
        ("insert into t (id, name, at) values (@a, @b, @c)", "@a int, @b varchar(30), @c datetime"),
        ("insert into t (id) values (@a + 1), (@b)", "@a int, @b int"),
        (
            "insert into t (name, id) select @a, @b where not exists (select 1 from t where code = @c)",
            "@a varchar(30), @b int, @c char(30)",
        ),
        ("insert into t (name) select @a union all select @b", "@a varchar(30), @b varchar(30)"),
        ("insert t (id, at) select id, @a from t", "@a datetime"),
        (
            "update t set name = @a, price = @b where id = @c",
            "@a varchar(30), @b decimal(10,2), @c int",
        ),
        (
            "update t set price += @a, name += @b where id = 1",
            "@a numeric(38,19), @b varchar(8000)",
        ),
        ("delete from t where raw = @p", "@p binary(8)"),
    ]);
}

#[test]
fn assignments_casts_and_conditions() {
    check(&[
        ("declare @v smallint set @v = @p", "@p smallint"),
        ("declare @v smallint = @p select @v", "@p smallint"),
        (
            "select cast(@p as decimal(7, 1)), convert(varchar(12), @q), try_cast(@r as date)",
            "@p decimal(7,1), @q varchar(12), @r date",
        ),
        ("if @p = 1 select 1 while @q = 'x' break", "@p int, @q varchar(1)"),
        ("set @p = 5 set @q += 2", "@p int out, @q int in out"),
        ("select @p = name from t", "@p varchar(30) out"),
        ("set @p = (select max(price) from t)", "@p decimal(10,2) out"),
    ]);
}

#[test]
fn the_fewest_conversions_elsewhere() {
    check(&[
        // Comparisons that order do not take the type as it is.
        ("select * from t where id > @p", "@p int"),
        ("select * from t where code > @p", "@p varchar(8000)"),
        ("select * from t where name <= @p and wide >= @q", "@p varchar(8000), @q nvarchar(4000)"),
        ("select * from t where price < @p and moment > @q", "@p numeric(38,19), @q datetime2(7)"),
        (
            "select * from t where raw > @p and day between @q and @r",
            "@p varbinary(8000), @q date, @r date",
        ),
        ("select * from t where @p between cost and 5", "@p money"),
        // Arithmetic.
        ("select * from t where id = id + @p", "@p int"),
        ("select * from t where id = small + @p", "@p int"),
        ("select big * @p, ratio / @q, @r + 2 from t", "@p bigint, @q float, @r int"),
        ("select price * @p, -@q + 1.5 from t", "@p numeric(38,19), @q numeric(38,19)"),
        ("select null + @p", "@p int"),
        ("select name + @p, @q + wide from t", "@p varchar(8000), @q nvarchar(4000)"),
        ("select at + @p from t where at > at - @q", "@p datetime, @q datetime"),
        // Patterns.
        (
            "select * from t where name like @p and wide like @q",
            "@p varchar(8000), @q nvarchar(4000)",
        ),
        ("select * from t where name like '%' + @p + '%'", "@p varchar(8000)"),
        ("select * from t where @p like name", "@p varchar(8000)"),
        // Numbers of rows.
        ("select top (@p) * from t", "@p bigint"),
        (
            "select * from t order by id offset @p rows fetch next @q rows only",
            "@p bigint, @q bigint",
        ),
        ("delete top (@p) from t", "@p bigint"),
        // Functions and branches.
        (
            "select dateadd(day, @p, at), left(name, @q), round(price, @r) from t",
            "@p int, @q int, @r int",
        ),
        (
            "select isnull(@p, id), coalesce(name, @q), case when id = 1 then price else @r end from t",
            "@p int, @q varchar(8000), @r numeric(38,19)",
        ),
        ("select upper(@p), len(@q)", "@p nvarchar(4000), @q nvarchar(4000)"),
    ]);
}

#[test]
fn arguments_of_procedures() {
    check(&[
        ("exec p @a, @b", "@a int for @n, @b nvarchar(20) for @text"),
        (
            "exec p @text = @b, @n = 4, @out = @c output",
            "@b nvarchar(20) for @text, @c decimal(9,3) in out for @out",
        ),
        ("exec @r = dbo.p @a", "@r int out, @a int for @n"),
        (
            "exec p @a, @b, @c, @d",
            "Msg 8144: Procedure or function p has too many arguments specified.\n\
          Msg 11501: The batch could not be analyzed because of compile errors.",
        ),
        (
            "exec none @a",
            "Msg 2812: Could not find stored procedure 'none'.\n\
          Msg 11501: The batch could not be analyzed because of compile errors.",
        ),
    ]);
}

#[test]
fn an_argument_that_is_a_table() {
    let mut b = bench();
    let id = b.run("select user_type_id from sys.types where name = 'lines'");
    let id = id.trim();
    assert_eq!(
        b.run("exec sp_describe_undeclared_parameters N'exec many @P1, @P2'"),
        format!(
            "1|@P1|56|int|4|10|0|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|0|0|0|1|0|@n|38|4\n\
             2|@P2|243|NULL|-1|0|0|{id}|t|dbo|lines|NULL|NULL|NULL|NULL|NULL|0|0|0|1|0|@l|243|65535\n"
        )
    );
    assert_eq!(described(&mut b, "exec many @l = @t, @n = 4", ""), "@t NULL for @l");
}

#[test]
fn declared_ones_are_left_out() {
    let mut b = bench();
    let sql = "select * from t where id = @id or name = @name";
    assert_eq!(described(&mut b, sql, "@id int"), "@name varchar(30)");
    assert_eq!(described(&mut b, sql, "@id int, @NAME varchar(10)"), "");
    assert_eq!(described(&mut b, "select * from t where id = @id + @p", "@id bigint"), "@p bigint");
    assert_eq!(described(&mut b, "select 1", ""), "");
    // One that is declared may stand more than once.
    assert_eq!(described(&mut b, "select @a + @b, @a", "@a int"), "@b int");
}

#[test]
fn what_cannot_be_deduced() {
    let two = |a: &str, b: &str| {
        format!(
            "Msg 11503: The parameter type cannot be deduced because a single expression contains two untyped parameters, '{a}' and '{b}'."
        )
    };
    let any = |a: &str| {
        format!(
            "Msg 11506: The parameter type for '{a}' cannot be uniquely deduced; two possibilities are 'sql_variant' and 'xml'."
        )
    };
    check(&[
        ("select * from t where @a = @b", &two("@a", "@b")),
        ("select * from t where id = @a + @b", &two("@a", "@b")),
        ("select * from t where @a = substring(@b, 2, 3)", &two("@a", "@b")),
        ("select * from t where @a in (1, @b) and @c in (@d)", &two("@c", "@d")),
        ("select @p", &any("@p")),
        ("select * from t where @p is null", &any("@p")),
        ("insert t (id, name) select t.*, @p from t", &any("@p")),
        (
            "select * from t where id = @p or big = @P",
            "Msg 11508: The undeclared parameter '@P' is used more than once in the batch being analyzed.",
        ),
        (
            "select day + @p from t",
            "Msg 11507: The parameter type for '@p' cannot be deduced because no type would make the query valid.",
        ),
        (
            "create table #x (a int) select @p",
            "Msg 11526: The metadata could not be determined because statement 'create table #x (a int)' uses a temp table.",
        ),
        (
            "exec sp_tables @p",
            "Msg 11502: The type for parameter '@p' cannot be deduced in this context.",
        ),
        (
            "select nothing from t where id = @p",
            "Msg 207: Invalid column name 'nothing'.\nMsg 11501: The batch could not be analyzed because of compile errors.",
        ),
        (
            "select frm t where",
            "Msg 102: Incorrect syntax near 'where'.\nMsg 11501: The batch could not be analyzed because of compile errors.",
        ),
    ]);
}

#[test]
fn temporary_tables_are_not_described() {
    let mut b = bench();
    assert_eq!(b.run("create table #n (id int, data varbinary(50) null)"), "");
    assert_eq!(b.run("create procedure #p @n int as select @n"), "");
    let uses = |statement: &str| {
        format!(
            "Msg 11526: The metadata could not be determined because statement '{statement}' uses a temp table."
        )
    };
    for sql in [
        "insert into #n (id, data) values (@a, @b)",
        "select * from t join tempdb..#n n on n.id = t.id where t.name = @a",
        "update [#n] set id = @a",
        "select (select max(id) from #n) where 1 = @a",
    ] {
        assert_eq!(described(&mut b, sql, ""), uses(sql));
    }
    // The innermost statement is told.
    let inner = "delete #n where id = @b";
    assert_eq!(described(&mut b, &format!("if 1 = 1 begin select 1 {inner} end"), ""), uses(inner));
    // Neither a procedure nor a column of the result is a table.
    for sql in ["exec #p @a", "select name as [#] from t where id = @a"] {
        let said = described(&mut b, sql, "");
        assert!(said.starts_with("@a int"), "{said}");
    }
}

#[test]
fn nothing_runs_and_the_row_is_whole() {
    let mut b = bench();
    assert_eq!(
        described(&mut b, "insert t (id) values (@p) select * from t where name = @q", ""),
        "@p int, @q varchar(30)"
    );
    assert_eq!(b.run("select count(*) from t"), "0\n");
    let mut said = Text::default();
    said.names = true;
    b.session
        .execute("exec sp_describe_undeclared_parameters N'update t set price = @x'", &mut said);
    assert_eq!(
        said.out,
        "[parameter_ordinal|name|suggested_system_type_id|suggested_system_type_name|suggested_max_length|\
         suggested_precision|suggested_scale|suggested_user_type_id|suggested_user_type_database|\
         suggested_user_type_schema|suggested_user_type_name|suggested_assembly_qualified_type_name|\
         suggested_xml_collection_id|suggested_xml_collection_database|suggested_xml_collection_schema|\
         suggested_xml_collection_name|suggested_is_xml_document|suggested_is_case_sensitive|\
         suggested_is_fixed_length_clr_type|suggested_is_input|suggested_is_output|formal_parameter_name|\
         suggested_tds_type_id|suggested_tds_length]\n\
         1|@x|106|decimal(10,2)|9|10|2|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|0|0|0|1|0|NULL|106|17\n"
    );
}

#[test]
fn the_rights_are_those_of_the_statement() {
    let mut b = Bench::new();
    for batch in [
        "create database d",
        "use d",
        "create table t (id int, name varchar(30))",
        "create procedure p @n int as select @n",
        "create user u without login",
        "grant select (id) on t to u",
    ] {
        let said = b.run(batch);
        assert!(!said.contains("Msg"), "{batch}: {said}");
    }
    let said = b.run(
        "execute as user = 'u' exec sp_describe_undeclared_parameters N'select id from t where id = @p'",
    );
    assert!(said.starts_with("1|@p|56|int|"), "{said}");
    let said = b.run(
        "execute as user = 'u' exec sp_describe_undeclared_parameters N'select name from t where name = @p' revert",
    );
    assert!(said.starts_with("Msg 230"), "{said}");
    let said =
        b.run("execute as user = 'u' exec sp_describe_undeclared_parameters N'exec p @p' revert");
    assert!(said.starts_with("Msg 229"), "{said}");
}

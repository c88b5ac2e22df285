//! Batches: control of flow, variables, errors and TRY, transactions, EXEC.

use crate::support::text::{self, Bench};

/// What a batch says, without the names that are made up.
#[track_caller]
fn check(b: &mut Bench, sql: &str, expected: &str) {
    b.check(sql, expected);
}

#[test]
fn variables_and_loops() {
    let b = &mut Bench::new();
    check(
        b,
        "declare @i int = 1, @s varchar(20) = ''
         while @i <= 5 begin set @s += cast(@i as varchar) if @i = 4 break set @i = @i + 1 end
         select @i, @s",
        "4|1234",
    );
    check(b, "declare @n int = 0 again: set @n = @n + 1 if @n < 3 goto again print @n", "3");
    check(
        b,
        "declare @n int = 0 while @n < 5 begin set @n += 1 if @n = 2 continue print @n end",
        "1\n3\n4\n5",
    );
    check(b, "declare @n int if @n is null print 'null' else print 'not'", "null");
    check(b, "select @@rowcount; select 1 union all select 2; select @@rowcount", "0\n1\n2\n2");
    check(b, "print 'a' return print 'b'", "a");
    check(b, "while 1 = 0 begin declare @x int = 5 end select @x", "NULL");
}

#[test]
fn variables_have_the_values_that_a_query_computes() {
    let b = &mut Bench::new();
    b.run("create table pairs (a int, b int) create table numbers (v int)");
    b.run("insert numbers values (null), (-2147483647 - 1), (-7), (0), (1), (3), (46341), (2147483647)");
    b.run("insert pairs select x.v, y.v from numbers x cross join numbers y");
    for operation in
        ["@a + @b", "@a - @b * 3", "@a * @b", "@a * (@b - 1) + 2", "@a / nullif(@b, 0)", "7 - @a"]
    {
        let in_query = operation.replace('@', "p.");
        // The query's value of each pair beside the variable's; of an error its number.
        check(
            b,
            &format!(
                "declare @a int, @b int, @v int, @q int, @e int, @f int, @pairs int = 0
                 declare c cursor local for select a, b from pairs
                 open c fetch c into @a, @b
                 while @@fetch_status = 0 begin
                   select @v = null, @q = null, @e = 0, @f = 0
                   begin try set @v = {operation} end try begin catch set @e = error_number() end catch
                   begin try select @q = {in_query} from pairs p
                     where (p.a = @a or p.a is null and @a is null) and (p.b = @b or p.b is null and @b is null)
                   end try begin catch set @f = error_number() end catch
                   if @e <> @f or @v is distinct from @q print concat(@a, ' ', @b, ': ', @v, ' ', @q, ' ', @e, ' ', @f)
                   if @a < @b and not exists (select * from pairs where a = @a and b = @b and a < b) print '<'
                   if @a >= @b and not exists (select * from pairs where a = @a and b = @b and a >= b) print '>='
                   set @pairs += 1
                   fetch c into @a, @b
                 end
                 print @pairs"
            ),
            "64",
        );
    }
    check(
        b,
        "declare @s smallint = 32767 set @s += 1",
        "Msg 220: Arithmetic overflow error for data type smallint, value = 32768.",
    );
    check(
        b,
        "declare @t tinyint = 255, @n int = @t + 1 select @n, sql_variant_property(@t + 1, 'BaseType')",
        "256|int",
    );
    check(
        b,
        "set ansi_warnings off set arithabort off declare @n int = 2147483647 set @n = @n + 1 print isnull(@n, -1)",
        "Arithmetic overflow occurred.\n-1",
    );
}

#[test]
fn mistakes_found_before_anything_runs() {
    let b = &mut Bench::new();
    check(b, "print 'a' select @x", "Msg 137: Must declare the scalar variable \"@x\".");
    check(
        b,
        "print 'a' declare @a int declare @a int",
        "Msg 134: The variable name '@a' has already been declared. Variable names must be unique within a query \
         batch or stored procedure.",
    );
    check(
        b,
        "print 'a' break",
        "Msg 135: Cannot use a BREAK statement outside the scope of a WHILE statement.",
    );
    check(
        b,
        "goto nowhere",
        "Msg 133: A GOTO statement references the label 'nowhere' but the label has not been declared.",
    );
    check(b, "print 'a' select from", "Msg 156: Incorrect syntax near the keyword 'from'.");
    let into = "Msg 1026: GOTO cannot be used to jump into a TRY or CATCH scope.";
    check(b, "goto x begin try x: print 'in' end try begin catch print 'c' end catch", into);
    check(b, "begin try goto x end try begin catch x: print 'c' end catch", into);
    check(
        b,
        "goto x begin try begin try print 'a' end try begin catch x: print 'b' end catch end try begin catch end catch",
        into,
    );
    check(
        b,
        "begin try goto x x: print 'in' goto y end try begin catch print 'c' end catch y: print 'out'",
        "in\nout",
    );
}

#[test]
fn an_inner_query_has_an_order_only_for_top_and_offset() {
    let b = &mut Bench::new();
    let error = "Msg 1033: The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and \
                 common table expressions, unless TOP, OFFSET or FOR XML is also specified.";
    for sql in [
        "select * from (select 1 a order by a) t",
        "with t as (select 1 a order by a) select * from t",
        "select 1 where 1 in (select 1 a order by a)",
        "select 1 where exists (select 1 a order by a)",
        "select (select 1 a order by a)",
        "select * from (select 1 a union select 2 order by a) t",
    ] {
        check(b, sql, error);
    }
    check(
        b,
        "select * from (select top (1) a from (values (1), (2)) v (a) order by a desc) t",
        "2",
    );
    check(b, "with t as (select 1 a order by a offset 0 rows) select * from t order by a", "1");
}

#[test]
fn types_of_constants_and_functions() {
    let b = &mut Bench::new();
    // An integer constant takes its own digits next to a decimal; a variable has the ten of an int.
    check(
        b,
        "select 1.0 / 3, 1 / 3.0, 2.0 * 3, 1.0 / -3, 7 % 2.5",
        ".333333|.333333|6.0|-.333333|2.0",
    );
    check(b, "declare @i int = 3 select 1.0 / @i, 10.00 + 5", ".333333333333|15.00");
    // ISNULL has its first argument's type and length, constant or not.
    check(b, "select isnull(cast(null as varchar(3)), 'abcdef')", "abc");
    check(
        b,
        "declare @v varchar(3), @i int select isnull(@v, 'abcdef'), isnull(@i, 2.7), isnull(null, 'abcdef')",
        "abc|2|abcdef",
    );
    // DATEADD makes a datetime of a string: 3 digits of a second, and no more are taken.
    check(b, "select dateadd(day, 1, '2020-01-31 10:20:30.123')", "2020-02-01 10:20:30.123");
    check(
        b,
        "select dateadd(day, 1, '2020-01-31 10:20:30.1234567')",
        "Msg 241: Conversion failed when converting date and/or time from character string.",
    );
    check(b, "select dateadd(day, 1, cast('2020-01-31' as date))", "2020-02-01");
}

#[test]
fn errors_and_catch() {
    let b = &mut Bench::new();
    check(b, "select 1/0\nprint 'on'", "Msg 8134: Divide by zero error encountered.\non");
    check(
        b,
        "begin try\nselect 1/0\nend try\nbegin catch\nselect error_number(), error_line(), error_severity(), \
         error_message()\nend catch\nselect error_number()",
        "8134|2|16|Divide by zero error encountered.\nNULL",
    );
    check(
        b,
        "begin try raiserror('bad %d %s', 16, 3, 7, 'x') end try
         begin catch print error_message() print error_state() end catch",
        "bad 7 x\n3",
    );
    check(b, "raiserror('note', 10, 1) raiserror('low', 0, 1)", "note\nlow");
    check(b, "raiserror('bad', 16, 1) print @@error", "Msg 50000: bad\n50000");
    check(b, "throw 50001, 'mine', 2 print 'not here'", "Msg 50001: mine");
    check(
        b,
        "begin try throw 50001, 'mine', 2 end try begin catch print 'caught'; throw end catch print 'no'",
        "caught\nMsg 50001: mine",
    );
    check(
        b,
        "begin try begin try select 1/0 end try begin catch print 'inner'; throw 50002, 'again', 1 end catch end try
         begin catch print error_message() end catch",
        "inner\nagain",
    );
    check(
        b,
        "select cast('x' as int) print 'not here'",
        "Msg 245: Conversion failed when converting the varchar value 'x' to data type int.",
    );
}

#[test]
fn names_are_bound_when_a_statement_first_runs() {
    let b = &mut Bench::new();
    check(b, "if 1 = 0 select * from nowhere print 'fine'", "fine");
    check(b, "create table n(a int) insert n values(1) select * from n", "(1)\n1");
    check(b, "select * from nowhere print 'not here'", "Msg 208: Invalid object name 'nowhere'.");
    check(
        b,
        "begin try select * from nowhere end try begin catch print 'no' end catch",
        "Msg 208: Invalid object name 'nowhere'.",
    );
    check(
        b,
        "begin try exec('select * from nowhere') end try begin catch print error_number() end catch",
        "208",
    );
    check(
        b,
        "declare @i int = 0 while @i < 2 begin select * from n if @i = 0 alter table n add b int set @i += 1 end",
        "1\n1|NULL",
    );
}

#[test]
fn transactions() {
    let b = &mut Bench::new();
    check(b, "create table t(a int primary key, b int)", "");
    check(
        b,
        "begin tran insert t values(1,1) select @@trancount begin tran select @@trancount commit select @@trancount
         rollback select @@trancount, count(*) from t",
        "(1)\n1\n2\n1\n0|0",
    );
    check(
        b,
        "begin tran insert t values(1,1) save tran s insert t values(2,2) rollback tran s commit select a from t",
        "(1)\n(1)\n1",
    );
    check(
        b,
        "set nocount on begin try insert t values(3,3),(1,1) end try begin catch print error_number() end catch
         select count(*) from t",
        "2627\n1",
    );
    check(
        b,
        "set nocount on begin tran insert t values(5,5)
         begin try insert t values(7,7),(1,1) end try begin catch print xact_state() end catch
         insert t values(6,6) commit select a from t",
        "1\n1\n5\n6",
    );
    check(
        b,
        "commit",
        "Msg 3902: The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.",
    );
    check(
        b,
        "rollback",
        "Msg 3903: The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.",
    );
}

#[test]
fn doomed_transactions() {
    let b = &mut Bench::new();
    check(b, "set nocount on create table t(a int primary key) insert t values(1)", "");
    let said =
        b.run("set xact_abort on begin tran insert t values(2) insert t values(1) print 'no'");
    assert!(said.starts_with("Msg 2627") && !said.contains("no\n"), "{said}");
    check(b, "select @@trancount, count(*) from t", "0|1");
    let said = b.run(
        "begin try begin tran insert t values(2) insert t values(1) end try
         begin catch print xact_state() insert t values(3) end catch",
    );
    assert!(said.starts_with("-1\nMsg 3930"), "{said}");
    check(b, "select @@trancount, count(*) from t", "0|1");
    check(
        b,
        "set xact_abort off begin try begin tran insert t values(2) select cast('x' as int) end try
         begin catch print xact_state() rollback print xact_state() end catch",
        "-1\n0",
    );
    check(
        b,
        "begin try begin tran select cast('x' as int) end try begin catch print 'left open' end catch",
        "left open\nMsg 3998: Uncommittable transaction is detected at the end of the batch. The transaction is \
         rolled back.",
    );
}

#[test]
fn exec_and_parameters() {
    let b = &mut Bench::new();
    check(b, "declare @s varchar(100) = 'select 1' exec(@s + ' + 1')", "2");
    check(b, "exec sp_executesql N'select @a + @b', N'@a int, @b int = 5', @a = 2", "7");
    check(
        b,
        "declare @r int exec sp_executesql N'set @o = 42', N'@o int output', @o = @r output select @r",
        "42",
    );
    check(b, "exec nothing", "Msg 2812: Could not find stored procedure 'nothing'.");
    check(b, "exec('use master') select db_name()", "Changed database context to 'master'.\nt");
    check(b, "exec('set nocount on') create table e(a int) insert e values(1)", "(1)");
    check(b, "exec('exec(''select @@nestlevel'')')", "2");
    check(
        b,
        "exec('begin tran') select @@trancount rollback",
        "Msg 266: Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. \
         Previous count = 0, current count = 1.\n1",
    );
}

#[test]
fn prepared_statements_take_typed_parameters() {
    use engine::{DataType, Value};
    let b = &mut Bench::new();
    b.check("create table p(a int, b varchar(10))", "");
    let insert = b.session.prepare(
        "insert p values(@a, @b); set @a = @a * 2; select @a",
        &[("@a", DataType::Int), ("@b", DataType::VarChar(types::Len::N(10)))],
    );
    let insert = insert.unwrap();
    for i in 1..4 {
        let mut out = text::Text::default();
        let values = [Value::Int(i), Value::str(format!("r{i}"))];
        assert!(b.session.execute_prepared(&insert, &values, &mut out).unwrap().ok);
        assert_eq!(out.out.trim(), format!("(1)\n{}", i * 2));
    }
    b.check("select * from p order by a", "1|r1\n2|r2\n3|r3");
    assert!(b.session.prepare("select @zz", &[]).is_err());
}

/// What a statement was compiled to is kept only as long as its text means the same.
#[test]
fn a_prepared_statement_follows_what_changes_its_meaning() {
    let b = &mut Bench::new();
    b.check("create table p(a int); insert p values (1), (null)", "(2)");
    let nulls = b.session.prepare("select count(*) from p where a <> 1 or a = null", &[]).unwrap();
    let run = |b: &mut Bench, expected: &str| {
        let mut out = text::Text::default();
        assert!(b.session.execute_prepared(&nulls, &[], &mut out).unwrap().ok, "{}", out.out);
        assert_eq!(out.out.trim(), expected);
    };
    run(b, "0");
    b.check("set ansi_nulls off", "");
    run(b, "1");
    b.check("set ansi_nulls on; dbcc freeproccache with no_infomsgs", "");
    run(b, "0");
    b.check("create database other", "");
    b.session.use_database("other").unwrap();
    b.check("create table p(a int, b int); insert p values (2, 2)", "(1)");
    run(b, "1");
    // Another database gets the number of the one that goes.
    b.session.use_database("t").unwrap();
    b.check("drop database other; create database another", "");
    b.session.use_database("another").unwrap();
    b.check("create table p(b int, a int); insert p values (1, 1), (2, 2), (3, 3)", "(3)");
    run(b, "2");
    b.session.use_database("t").unwrap();
    b.check("drop table p; create table p(x int, a int); insert p values (1, 7)", "(1)");
    run(b, "1");
}

/// Messages and errors as a client gets them, in order.
#[derive(Default)]
struct Numbers(Vec<i32>);

impl engine::Sink for Numbers {
    fn columns(&mut self, _: &[engine::ColumnInfo]) -> Result<(), engine::SqlError> {
        Ok(())
    }
    fn done(&mut self, _: engine::StatementEnd) -> Result<(), engine::SqlError> {
        Ok(())
    }
    fn message(&mut self, message: &engine::SqlError) -> Result<(), engine::SqlError> {
        self.0.push(message.number);
        Ok(())
    }
    fn error(&mut self, error: &engine::SqlError) -> Result<(), engine::SqlError> {
        self.0.push(error.number);
        Ok(())
    }
}

#[test]
fn a_statement_that_never_ran_was_not_terminated() {
    let mut b = Bench::new();
    b.check("create table t (a int primary key) insert t values (1)", "(1)");
    let mut numbers = |sql: &str| {
        let mut out = Numbers::default();
        b.session.execute(sql, &mut out);
        out.0
    };
    assert_eq!(numbers("insert t values (1)"), [2627, 3621]);
    assert_eq!(numbers("insert nowhere values (1)"), [208]);
    assert_eq!(numbers("update t set nothing = 1"), [207]);
}

//! Users' functions: scalar ones, inline and filled tables; as expressions, in FROM and under
//! APPLY; what they may not do; rights, the catalog's views, rollbacks and restarts.

use crate::support::text::{Bench, fails, say};

fn bench() -> Bench {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE a (id int PRIMARY KEY, n int NOT NULL, s varchar(20) NULL);
         INSERT a VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, NULL)",
        "(3)",
    );
    b
}

#[test]
fn a_simple_function_is_its_expression() {
    let mut b = bench();
    b.check("CREATE FUNCTION dbo.twice (@x int) RETURNS int AS BEGIN RETURN @x * 2 END", "");
    b.check(
        "SELECT dbo.twice(n), dbo.twice(dbo.twice(id)) FROM a ORDER BY id",
        "20|4\n40|8\n60|12",
    );
    b.check("SELECT id FROM a WHERE dbo.twice(n) = 40", "2");
    b.check(
        "DECLARE @v int = dbo.twice('21'); PRINT @v; IF dbo.twice(1) = 2 PRINT 'yes'",
        "42\nyes",
    );
    b.check("SELECT SUM(dbo.twice(n)), dbo.twice(SUM(n)) FROM a", "120|120");
    b.check(
        "SELECT dbo.twice(n) AS t, COUNT(*) FROM a GROUP BY dbo.twice(n) ORDER BY t",
        "20|1\n40|1\n60|1",
    );
    b.check("SELECT t.dbo.twice(4)", "8");
    b.check(
        "CREATE FUNCTION sign_of (@x int = 7) RETURNS varchar(3) AS BEGIN
           IF @x IS NULL RETURN NULL;
           IF @x < 0 RETURN 'negative' ELSE IF @x = 0 BEGIN RETURN 'zero' END
           DECLARE @r varchar(10) = 'pos';
           SET @r = @r + 'itive';
           RETURN @r
         END",
        "",
    );
    b.check(
        "SELECT dbo.sign_of(-1), dbo.sign_of(0), dbo.sign_of(5), dbo.sign_of(NULL), dbo.sign_of(DEFAULT)",
        "neg|zer|pos|NULL|pos",
    );
    // The text of the caller means nothing inside, and the other way round.
    b.check("DECLARE @x int = 100, @y int = 3; SELECT dbo.twice(@y), @x", "6|100");
    b.check(
        "UPDATE a SET n = dbo.twice(n) WHERE id = dbo.twice(1); SELECT n FROM a WHERE id = 2",
        "(1)\n40",
    );
    b.check(
        "INSERT a VALUES (dbo.twice(5), dbo.twice(6), 'new'); SELECT n FROM a WHERE id = 10",
        "(1)\n12",
    );
    b.check("DELETE a WHERE id = dbo.twice(5)", "(1)");
}

#[test]
fn what_reads_tables_reads_them_for_each_call() {
    let mut b = bench();
    b.check(
        "CREATE FUNCTION name_of (@id int) RETURNS varchar(20) AS BEGIN RETURN (SELECT s FROM a WHERE id = @id) END",
        "",
    );
    b.check(
        "SELECT id, dbo.name_of(id), dbo.name_of(4 - id) FROM a ORDER BY id",
        "1|one|NULL\n2|two|two\n3|NULL|one",
    );
    b.check("SELECT id FROM a WHERE dbo.name_of(id) LIKE 't%'", "2");
    b.check(
        "SELECT x.id FROM a x WHERE EXISTS (SELECT 1 FROM a y WHERE dbo.name_of(x.id) = y.s AND y.n > 10)",
        "2",
    );
    b.check(
        "CREATE FUNCTION sum_to (@id int) RETURNS int AS BEGIN
           DECLARE @sum int = 0, @i int = 1;
           WHILE @i <= @id BEGIN
             SELECT @sum += n FROM a WHERE id = @i;
             SET @i += 1;
           END
           RETURN @sum;
         END",
        "",
    );
    b.check("SELECT id, dbo.sum_to(id) FROM a ORDER BY id", "1|10\n2|30\n3|60");
    b.check("SELECT id FROM a WHERE dbo.sum_to(id) > 10 AND dbo.sum_to(id) < 60", "2");
    b.check("SELECT MAX(dbo.sum_to(id)), COUNT(DISTINCT dbo.sum_to(1)) FROM a", "60|1");
    b.check("SELECT @@ROWCOUNT", "1");
    b.check("UPDATE a SET n = dbo.sum_to(id); SELECT n FROM a ORDER BY id", "(3)\n10\n30\n60");
    b.check("DECLARE @v int; SET @v = dbo.sum_to(2); SELECT @v, @@ERROR", "40|0");
    b.check(
        "BEGIN TRAN; DECLARE @v int; SET @v = dbo.sum_to(2); SELECT @v, @@TRANCOUNT; ROLLBACK",
        "40|1",
    );
}

#[test]
fn functions_call_one_another_and_themselves() {
    let mut b = bench();
    b.check(
        "CREATE FUNCTION fact (@n int) RETURNS bigint AS BEGIN
           IF @n <= 1 RETURN 1;
           RETURN @n * dbo.fact(@n - 1);
         END",
        "",
    );
    b.check("SELECT dbo.fact(5), dbo.fact(20)", "120|2432902008176640000");
    b.check(
        "SELECT dbo.fact(60)",
        "Msg 217: Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).",
    );
    b.check("SELECT dbo.fact(3), @@NESTLEVEL", "6|0");
}

#[test]
fn an_error_in_a_function_is_the_statements() {
    let mut b = bench();
    b.check(
        "CREATE FUNCTION inverse (@x int) RETURNS int AS BEGIN DECLARE @r int; SET @r = 100 / @x; RETURN @r + @r END",
        "",
    );
    b.check("SELECT dbo.inverse(0)", "Msg 8134: Divide by zero error encountered.");
    b.check(
        "BEGIN TRY SELECT dbo.inverse(0) END TRY BEGIN CATCH PRINT ERROR_NUMBER() END CATCH",
        "8134",
    );
    b.check(
        "BEGIN TRAN; UPDATE a SET n = 1 WHERE id = 1; UPDATE a SET n = dbo.inverse(id - 2);
         SELECT @@TRANCOUNT, n FROM a WHERE id = 1; ROLLBACK",
        "(1)\nMsg 8134: Divide by zero error encountered.\n1|1",
    );
    b.check("SELECT n FROM a WHERE id = 1", "10");
}

#[test]
fn an_inline_function_is_a_view_with_parameters() {
    let mut b = bench();
    b.check(
        "CREATE FUNCTION above (@low int, @high int = 25) RETURNS TABLE AS RETURN
         (SELECT id, n, n - @low AS over_by FROM a WHERE n > @low AND n <= @high)",
        "",
    );
    b.check("SELECT * FROM above(10, 100) ORDER BY id", "2|20|10\n3|30|20");
    b.check("SELECT f.id FROM dbo.above(5, DEFAULT) AS f ORDER BY 1", "1\n2");
    b.check(
        "DECLARE @l int = 15; SELECT x.over_by FROM dbo.above(@l, 20) x JOIN a ON a.id = x.id",
        "5",
    );
    b.check(
        "SELECT a.id, f.id FROM a CROSS APPLY dbo.above(a.n, 100) f ORDER BY 1, 2",
        "1|2\n1|3\n2|3",
    );
    b.check(
        "SELECT a.id, f.id FROM a OUTER APPLY dbo.above(a.n + 0, 100) f ORDER BY 1, 2",
        "1|2\n1|3\n2|3\n3|NULL",
    );
    b.check(
        "SELECT a.id, (SELECT COUNT(*) FROM dbo.above(a.n, 100) f WHERE f.id > (SELECT MIN(id) FROM dbo.above(a.n, 100)))
         FROM a ORDER BY 1",
        "1|1\n2|0\n3|0",
    );
    b.check("SELECT p, q FROM dbo.above(20, 100) AS f (p, q, r)", "3|30");
    b.check(
        "CREATE FUNCTION nested (@x int) RETURNS TABLE AS RETURN
         WITH c AS (SELECT id, over_by FROM dbo.above(@x, 100) WHERE EXISTS (SELECT 1 FROM a WHERE a.n > @x))
         SELECT id, over_by + @x AS back FROM c",
        "",
    );
    b.check("SELECT back FROM nested(10) ORDER BY 1", "20\n30");
    b.check(
        "SELECT a.id, f.back FROM a CROSS APPLY nested(a.n - 1) f WHERE a.id > 1 ORDER BY 1, 2",
        "2|20\n2|30\n3|30",
    );
    b.check("CREATE VIEW v AS SELECT id FROM dbo.above(10, 100)", "");
    b.check("SELECT COUNT(*) FROM v", "2");
    b.check(
        "SELECT * FROM above",
        "Msg 216: Parameters were not supplied for the function 'above'.",
    );
    b.check(
        "SELECT * FROM above(1)",
        "Msg 313: An insufficient number of arguments were supplied for the procedure or function above.",
    );
    b.check(
        "SELECT * FROM above(1, 2, 3)",
        "Msg 8144: Procedure or function above has too many arguments specified.",
    );
}

#[test]
fn a_function_fills_a_table() {
    let mut b = bench();
    b.check(
        "CREATE FUNCTION numbers (@to int) RETURNS @t TABLE (i int PRIMARY KEY, square int NOT NULL, s varchar(10)) AS
         BEGIN
           DECLARE @i int = 1;
           IF @to < 0 RETURN;
           WHILE @i <= @to BEGIN
             INSERT @t VALUES (@i, @i * @i, NULL);
             SET @i += 1;
           END
           UPDATE @t SET s = 'odd' WHERE i % 2 = 1;
           DELETE @t WHERE i = 4;
           RETURN;
         END",
        "",
    );
    b.check("SELECT * FROM numbers(5)", "1|1|odd\n2|4|NULL\n3|9|odd\n5|25|odd");
    b.check("SELECT COUNT(*) FROM dbo.numbers(-1)", "0");
    b.check(
        "SELECT a.id, x.i FROM a CROSS APPLY dbo.numbers(a.id) x ORDER BY 1, 2",
        "1|1\n2|1\n2|2\n3|1\n3|2\n3|3",
    );
    b.check(
        "SELECT a.id, x.i FROM a OUTER APPLY dbo.numbers(a.id - 2) x ORDER BY 1",
        "1|NULL\n2|NULL\n3|1",
    );
    b.check("SELECT x.square FROM a JOIN dbo.numbers(3) x ON x.i = a.id WHERE a.n = 30", "9");
    b.check(
        "DECLARE @t TABLE (i int); INSERT @t SELECT i FROM numbers(3); SELECT COUNT(*) FROM @t",
        "(3)\n3",
    );
    b.check(
        "BEGIN TRAN; DECLARE @t TABLE (i int); INSERT @t SELECT i FROM numbers(3); ROLLBACK; SELECT COUNT(*) FROM @t",
        "(3)\n3",
    );
    b.check("SELECT MAX(i) FROM numbers(1000)", "1000");
    b.check(
        "CREATE FUNCTION twice_same () RETURNS @t TABLE (i int PRIMARY KEY) AS BEGIN INSERT @t VALUES (1), (1); RETURN END",
        "",
    );
    let said = say(&b.instance, "USE t; SELECT * FROM twice_same()");
    assert!(said.contains("Msg 2627"), "{said}");
    b.check(
        "CREATE FUNCTION with_cursor () RETURNS @t TABLE (i int) AS BEGIN
           DECLARE @i int;
           DECLARE c CURSOR LOCAL FOR SELECT id FROM a ORDER BY id DESC;
           OPEN c; FETCH NEXT FROM c INTO @i;
           WHILE @@FETCH_STATUS = 0 BEGIN INSERT @t VALUES (@i); FETCH NEXT FROM c INTO @i END
           CLOSE c; DEALLOCATE c; RETURN
         END",
        "",
    );
    b.check("SELECT i FROM with_cursor()", "3\n2\n1");
}

#[test]
fn a_qualified_name_in_order_by_is_no_other_column_of_that_name() {
    let mut b = bench();
    b.check("SELECT x.id FROM a x JOIN a y ON y.id = 4 - x.id ORDER BY y.id", "3\n2\n1");
}

#[test]
fn constraints_and_defaults_call_functions() {
    let mut b = bench();
    b.check(
        "CREATE FUNCTION rows_of (@n int) RETURNS int AS BEGIN DECLARE @c int; SELECT @c = COUNT(*) FROM a WHERE n = @n; RETURN @c END",
        "",
    );
    b.check(
        "CREATE FUNCTION next_of () RETURNS int AS BEGIN RETURN (SELECT MAX(id) + 1 FROM a) END",
        "",
    );
    b.check("CREATE TABLE c (n int CHECK (dbo.rows_of(n) > 0), d int DEFAULT (dbo.next_of()))", "");
    b.check("INSERT c (n) VALUES (10); SELECT * FROM c", "(1)\n10|4");
    let said = say(&b.instance, "USE t; INSERT c (n) VALUES (11)");
    assert!(said.contains("Msg 547"), "{said}");
}

#[test]
fn null_on_null_input() {
    let mut b = bench();
    b.check(
        "CREATE FUNCTION f (@a int, @b int) RETURNS int WITH RETURNS NULL ON NULL INPUT, SCHEMABINDING AS
         BEGIN RETURN ISNULL(@a, 1) + ISNULL(@b, 1) END",
        "",
    );
    b.check("SELECT dbo.f(1, NULL), dbo.f(2, 3)", "NULL|5");
    b.check(
        "SELECT null_on_null_input, is_schema_bound FROM sys.sql_modules WHERE object_id = OBJECT_ID('f')",
        "1|1",
    );
}

#[test]
fn schemabinding_keeps_what_a_module_names() {
    let mut b = bench();
    b.check("CREATE FUNCTION f (@x int) RETURNS int WITH SCHEMABINDING AS BEGIN RETURN (SELECT n FROM dbo.a WHERE id = @x) END", "");
    b.check("CREATE VIEW v WITH SCHEMABINDING AS SELECT id, dbo.f(id) AS f FROM dbo.a", "");
    let i = b.instance.clone();
    let refused = |sql: &str, number: i32| fails(&i, &format!("USE t; {sql}"), &[number]);
    assert!(
        refused("DROP TABLE a", 3729)
            .contains("Cannot DROP TABLE 'dbo.a' because it is being referenced by object 'f'.")
    );
    refused("DROP FUNCTION f", 3729);
    refused("EXEC ('ALTER FUNCTION f (@x int) RETURNS int AS BEGIN RETURN 1 END')", 3729);
    fails(&i, "USE t; ALTER TABLE a DROP COLUMN n", &[5074, 4922]);
    fails(&i, "USE t; ALTER TABLE a ALTER COLUMN n bigint", &[5074, 4922]);
    refused("EXEC ('CREATE VIEW w WITH SCHEMABINDING AS SELECT id FROM a')", 4512);
    refused("EXEC ('CREATE VIEW w WITH SCHEMABINDING AS SELECT * FROM dbo.a')", 1054);
    refused("EXEC ('CREATE VIEW w WITH SCHEMABINDING AS SELECT id FROM t.dbo.a')", 4512);
    b.check("ALTER TABLE a DROP COLUMN s", "");
    b.check("SELECT * FROM v ORDER BY id", "1|10\n2|20\n3|30");
    b.check("SELECT OBJECTPROPERTY(OBJECT_ID('v'), 'IsSchemaBound'), OBJECTPROPERTY(OBJECT_ID('f'), 'IsScalarFunction')", "1|1");
    b.check("ALTER VIEW v AS SELECT id FROM a", "");
    b.check("DROP FUNCTION f; DROP TABLE a", "");
}

#[test]
fn a_function_stays_as_long_as_columns_and_constraints_call_it() {
    let mut b = bench();
    b.check("CREATE FUNCTION f (@x int) RETURNS int AS BEGIN RETURN @x + 1 END", "");
    let i = b.instance.clone();
    let uses = [
        ("x AS dbo.f(id)", "used"),
        ("CONSTRAINT df DEFAULT dbo.f(1) FOR n", "df"),
        ("CONSTRAINT ck CHECK ([dbo].[f](n) > 0)", "ck"),
    ];
    for (part, by) in uses {
        b.check(&format!("CREATE TABLE used (id int, n int); ALTER TABLE used ADD {part}"), "");
        for change in
            ["DROP FUNCTION f", "ALTER FUNCTION f (@x int) RETURNS int AS BEGIN RETURN 1 END"]
        {
            let said = fails(&i, &format!("USE t; EXEC ('{change}')"), &[3729]);
            assert!(
                said.contains(&format!(
                    "FUNCTION 'dbo.f' because it is being referenced by object '{by}'."
                )),
                "{said}"
            );
        }
        b.check("DROP TABLE used", "");
    }
    b.check("DROP FUNCTION f", "");
}

#[test]
fn what_a_function_may_not_do() {
    let b = bench();
    let i = b.instance.clone();
    let refused = |body: &str, number: i32| {
        let text =
            format!("USE t; EXEC ('CREATE FUNCTION x (@p int) RETURNS int AS BEGIN {body} END')");
        fails(&i, &text, &[number])
    };
    assert!(refused("PRINT ''a''; RETURN 1", 443).contains("'PRINT'"));
    refused("INSERT a VALUES (9, 9, NULL); RETURN 1", 443);
    refused("UPDATE a SET n = 1; RETURN 1", 443);
    refused("SET NOCOUNT ON; RETURN 1", 443);
    refused("BEGIN TRY SET @p = 1 END TRY BEGIN CATCH END CATCH; RETURN 1", 443);
    refused("EXEC (''SELECT 1''); RETURN 1", 443);
    refused("CREATE TABLE #x (i int); RETURN 1", 443);
    refused("SELECT @p = 1 FROM #x; RETURN 1", 2772);
    refused("RETURN CONVERT(int, RAND())", 443);
    refused("SELECT 1; RETURN 1", 444);
    refused("SET @p = 1", 455);
    refused("IF @p = 1 RETURN 1 ELSE RETURN 2", 455);
    refused("RETURN @q", 137);
    fails(
        &i,
        "USE t; EXEC ('CREATE FUNCTION x () RETURNS TABLE AS RETURN SELECT n + 1 FROM a')",
        &[4511],
    );
    fails(
        &i,
        "USE t; EXEC ('CREATE FUNCTION x () RETURNS TABLE AS RETURN SELECT 1 AS b FROM missing')",
        &[208],
    );
    fails(
        &i,
        "USE t; EXEC ('CREATE FUNCTION x () RETURNS @t TABLE (i int) AS BEGIN RETURN 1 END')",
        &[178],
    );
    fails(
        &i,
        "USE t; EXEC ('CREATE FUNCTION x () RETURNS int WITH ENCRYPTION AS BEGIN RETURN 1 END')",
        &[40510],
    );
    fails(
        &i,
        "USE t; EXEC ('CREATE FUNCTION x (@p nothing) RETURNS int AS BEGIN RETURN 1 END')",
        &[2715],
    );
    fails(&i, "USE t; SELECT dbo.missing(1)", &[4121]);
    fails(
        &i,
        "USE t; EXEC ('CREATE FUNCTION p () RETURNS int AS BEGIN EXEC q; RETURN 1 END'); SELECT dbo.p()",
        &[557],
    );
    fails(&i, "USE t; SELECT dbo.p(1)", &[8144]);
    fails(&i, "USE t; SELECT * FROM dbo.p()", &[208]);
}

#[test]
fn functions_are_changed_and_dropped() {
    let mut b = bench();
    b.check("CREATE FUNCTION f () RETURNS int AS BEGIN RETURN 1 END", "");
    b.check("CREATE PROCEDURE p AS SELECT dbo.f()", "");
    b.check("EXEC p", "1");
    b.check("ALTER FUNCTION f () RETURNS int AS BEGIN RETURN 2 END", "");
    b.check("EXEC p", "2");
    b.check(
        "CREATE OR ALTER FUNCTION f () RETURNS int AS BEGIN DECLARE @i int = 3; RETURN @i END",
        "",
    );
    b.check("EXEC p", "3");
    let i = b.instance.clone();
    fails(&i, "USE t; EXEC ('ALTER FUNCTION f () RETURNS TABLE AS RETURN SELECT 1 AS x')", &[2010]);
    fails(&i, "USE t; EXEC ('CREATE FUNCTION a () RETURNS int AS BEGIN RETURN 1 END')", &[2714]);
    fails(&i, "USE t; DROP PROCEDURE f", &[3705]);
    fails(&i, "USE t; DROP FUNCTION p", &[3705]);
    b.check("BEGIN TRAN; DROP FUNCTION f; ROLLBACK; EXEC p", "3");
    b.check("DROP FUNCTION f; DROP FUNCTION IF EXISTS f", "");
    fails(&i, "USE t; DROP FUNCTION f", &[3701]);
    fails(&i, "USE t; EXEC p", &[4121]);
}

#[test]
fn the_catalog_shows_functions_also_after_a_restart() {
    let mut b = bench();
    b.check("CREATE FUNCTION f (@x decimal(5, 2)) RETURNS varchar(10) AS BEGIN RETURN @x END", "");
    b.check(
        "CREATE FUNCTION i (@x int) RETURNS TABLE AS RETURN SELECT id, s FROM a WHERE id = @x",
        "",
    );
    b.check(
        "CREATE FUNCTION m () RETURNS @r TABLE (k int NOT NULL, v nvarchar(5)) AS BEGIN RETURN END",
        "",
    );
    for _ in 0..2 {
        b.check(
            "SELECT name, type, type_desc FROM sys.objects WHERE type IN ('FN', 'IF', 'TF') ORDER BY name",
            "f|FN|SQL_SCALAR_FUNCTION\ni|IF|SQL_INLINE_TABLE_VALUED_FUNCTION\nm|TF|SQL_TABLE_VALUED_FUNCTION",
        );
        b.check(
            "SELECT name, parameter_id, TYPE_NAME(user_type_id), is_output FROM sys.parameters WHERE object_id = OBJECT_ID('f')",
            "|0|varchar|1\n@x|1|decimal|0",
        );
        b.check(
            "SELECT c.name FROM sys.columns c JOIN sys.objects o ON o.object_id = c.object_id
             WHERE o.name IN ('i', 'm') ORDER BY o.name, c.column_id",
            "id\ns\nk\nv",
        );
        b.check(
            "SELECT ROUTINE_NAME, ROUTINE_TYPE, DATA_TYPE FROM INFORMATION_SCHEMA.ROUTINES ORDER BY 1",
            "f|FUNCTION|varchar\ni|FUNCTION|TABLE\nm|FUNCTION|TABLE",
        );
        b.check(
            "SELECT OBJECT_DEFINITION(OBJECT_ID('m', 'TF'))",
            "CREATE FUNCTION m () RETURNS @r TABLE (k int NOT NULL, v nvarchar(5)) AS BEGIN RETURN END",
        );
        b.check("SELECT dbo.f(1.5), s FROM i(2)", "1.50|two");
        b = b.restart();
    }
}

#[test]
fn rights_to_functions() {
    let mut b = bench();
    b.check("CREATE FUNCTION f (@x int) RETURNS int AS BEGIN RETURN (SELECT n FROM a WHERE id = @x) END", "");
    b.check("CREATE FUNCTION g (@x int) RETURNS int AS BEGIN DECLARE @r int; SELECT @r = n FROM a WHERE id = @x; RETURN @r END", "");
    b.check("CREATE FUNCTION i (@x int) RETURNS TABLE AS RETURN SELECT n FROM a WHERE id = @x", "");
    b.check(
        "CREATE FUNCTION m () RETURNS @t TABLE (n int) AS BEGIN INSERT @t SELECT n FROM a; RETURN END",
        "",
    );
    b.check("CREATE USER u WITHOUT LOGIN", "");
    let i = b.instance.clone();
    for call in [
        "SELECT dbo.f(1)",
        "SELECT dbo.g(1)",
        "SELECT * FROM dbo.i(1)",
        "SELECT COUNT(*) FROM dbo.m()",
    ] {
        fails(&i, &format!("USE t; EXECUTE AS USER = 'u'; {call}"), &[229]);
    }
    b.check(
        "GRANT EXECUTE ON f TO u; GRANT EXECUTE ON g TO u; GRANT SELECT ON i TO u; GRANT SELECT ON m TO u",
        "",
    );
    b.check(
        "EXECUTE AS USER = 'u'; SELECT dbo.f(1), dbo.g(2); SELECT n FROM dbo.i(3); SELECT COUNT(*) FROM m(); REVERT",
        "10|20\n30\n3",
    );
    fails(&i, "USE t; EXECUTE AS USER = 'u'; SELECT * FROM a", &[229]);
}

#[test]
fn modules_run_as_whom_they_say() {
    let mut b = bench();
    b.check("CREATE USER u WITHOUT LOGIN; CREATE USER w WITHOUT LOGIN; GRANT SELECT ON a TO w", "");
    // The text of EXEC is no part of the module: only the user that the module runs as counts in
    // it.
    for (name, who) in [("c", "CALLER"), ("o", "OWNER"), ("s", "SELF"), ("x", "'w'")] {
        b.check(
            &format!("CREATE PROCEDURE {name} WITH EXECUTE AS {who} AS EXEC ('SELECT USER_NAME(), COUNT(*) FROM a')"),
            "",
        );
        b.check(&format!("GRANT EXECUTE ON {name} TO u"), "");
    }
    let i = b.instance.clone();
    fails(&i, "USE t; EXECUTE AS USER = 'u'; EXEC c", &[229]);
    b.check(
        "EXECUTE AS USER = 'u'; EXEC o; EXEC s; EXEC x; SELECT USER_NAME(); REVERT",
        "dbo|3\ndbo|3\nw|3\nu",
    );
    b.check("CREATE FUNCTION who () RETURNS sysname WITH EXECUTE AS 'w' AS BEGIN RETURN USER_NAME() END", "");
    b.check(
        "GRANT EXECUTE ON who TO u; EXECUTE AS USER = 'u'; SELECT dbo.who(), USER_NAME(); REVERT",
        "w|u",
    );
    b.check("CREATE TRIGGER tr ON a WITH EXECUTE AS 'w' FOR UPDATE AS PRINT USER_NAME()", "");
    b.check("UPDATE a SET n = 1 WHERE id = 1", "w\n(1)");
    b.check(
        "SELECT OBJECT_NAME(object_id), IIF(execute_as_principal_id = USER_ID('w'), 'w', CAST(execute_as_principal_id AS varchar(9)))
         FROM sys.sql_modules WHERE object_id IN (OBJECT_ID('c'), OBJECT_ID('o'), OBJECT_ID('x')) ORDER BY 1",
        "c|NULL\no|-2\nx|w",
    );
    fails(&i, "USE t; DROP USER w", &[15136]);
    fails(
        &i,
        "USE t; EXEC ('CREATE PROCEDURE n WITH EXECUTE AS ''nobody'' AS SELECT 1')",
        &[15151],
    );
    b = b.restart();
    b.check("EXECUTE AS USER = 'u'; EXEC x; REVERT", "w|3");
}

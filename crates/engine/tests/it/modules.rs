//! Views and procedures: made, changed, dropped; used by name in other objects; seen by other
//! sessions, rollbacks and restarts.

use crate::support::text::{self, Bench, fails, run, say};

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
fn a_view_is_its_query() {
    let mut b = bench();
    b.check("CREATE VIEW v AS SELECT id, n * 2 AS twice, s FROM a WHERE n > 10", "");
    b.check("SELECT * FROM v ORDER BY id", "2|40|two\n3|60|NULL");
    b.check("SELECT x.twice FROM dbo.v AS x WHERE x.id = 3", "60");
    b.check("SELECT v.s FROM v JOIN a ON a.id = v.id WHERE a.n = 20", "two");
    b.check("SELECT COUNT(*) FROM t.dbo.v", "2");
    b.check("CREATE VIEW w (a, b) AS SELECT id, twice FROM v UNION ALL SELECT 0, 0", "");
    b.check("SELECT SUM(a), SUM(b) FROM w", "5|100");
    b.check("ALTER VIEW v AS SELECT id, n AS twice, s FROM a", "");
    b.check("SELECT SUM(a), SUM(b) FROM w", "6|60");
    b.check("CREATE OR ALTER VIEW v AS SELECT 7 AS id, 8 AS twice", "");
    b.check("SELECT * FROM w", "7|8\n0|0");
    b.check("DROP VIEW w, v; DROP VIEW IF EXISTS v", "");
    b.check("SELECT * FROM v", "Msg 208: Invalid object name 'v'.");
}

#[test]
fn what_stands_around_a_view_is_not_seen_inside() {
    let mut b = bench();
    b.check("CREATE VIEW v AS WITH c AS (SELECT id FROM a) SELECT id FROM c", "");
    b.check("WITH a AS (SELECT 99 AS id), c AS (SELECT 98 AS id) SELECT MAX(id) FROM v", "3");
    b.check(
        "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM v WHERE v.id = a.n / 10) ORDER BY 1",
        "1\n2\n3",
    );
}

#[test]
fn views_that_cannot_be() {
    let mut b = bench();
    let i = b.instance.clone();
    let say = |sql: &str, numbers: &[i32]| fails(&i, &format!("USE t; EXEC ('{sql}')"), numbers);
    say("CREATE VIEW v AS SELECT n * 2 FROM a", &[4511]);
    say("CREATE VIEW v AS SELECT id, id FROM a", &[4506]);
    say("CREATE VIEW v (x) AS SELECT id, n FROM a", &[8158]);
    say("CREATE VIEW v AS SELECT id FROM missing", &[208]);
    say("CREATE VIEW v AS SELECT id FROM a ORDER BY id", &[1033]);
    say("CREATE VIEW a AS SELECT 1 AS x", &[2714]);
    say("ALTER VIEW v AS SELECT 1 AS x", &[208]);
    say("ALTER VIEW a AS SELECT 1 AS x", &[2010]);
    say("CREATE VIEW x.v AS SELECT 1 AS x", &[2760]);
    say("CREATE VIEW t.dbo.v AS SELECT 1 AS x", &[166]);
    say("CREATE VIEW v WITH ENCRYPTION AS SELECT 1 AS x", &[40510]);
    b.check("CREATE VIEW v AS SELECT 1 AS x", "");
    say("CREATE VIEW v AS SELECT 1 AS x", &[2714]);
    say("CREATE TABLE v (x int)", &[2714]);
    say("CREATE PROCEDURE v AS SELECT 1", &[2714]);
    say("DROP TABLE v", &[3705]);
    say("DROP PROCEDURE v", &[3705]);
    say("DROP VIEW a", &[3705]);
    say("SELECT 1; CREATE VIEW v AS SELECT 1 AS x", &[111]);
}

#[test]
fn ten_views_of_one_another_and_one_of_itself() {
    let mut b = bench();
    b.check("CREATE VIEW v0 AS SELECT id FROM a", "");
    for i in 1..=10 {
        b.check(
            &format!("CREATE VIEW v{i} AS SELECT x.id FROM v{} x JOIN v0 ON v0.id = x.id", i - 1),
            "",
        );
    }
    b.check("SELECT COUNT(*), MIN(id), MAX(id) FROM v10", "3|1|3");
    b.check("ALTER VIEW v0 AS SELECT id FROM v3", "");
    assert!(b.run("SELECT * FROM v10").starts_with("Msg 217: "));
    b.check("ALTER VIEW v0 AS SELECT id FROM a", "");
    b.check("SELECT COUNT(*) FROM v10", "3");
}

#[test]
fn modules_take_part_in_transactions() {
    let mut b = bench();
    b.check("BEGIN TRAN", "");
    b.check("CREATE VIEW v AS SELECT 1 AS x", "");
    b.check("SELECT x FROM v; ROLLBACK", "1");
    b.check("SELECT x FROM v", "Msg 208: Invalid object name 'v'.");
    b.check("CREATE VIEW v AS SELECT 1 AS x", "");
    b.check("BEGIN TRAN", "");
    b.check("ALTER VIEW v AS SELECT 2 AS x", "");
    b.check("SELECT x FROM v; ROLLBACK; SELECT x FROM v", "2\n1");
    b.check("BEGIN TRAN; DROP VIEW v; ROLLBACK; SELECT x FROM v", "1");
}

#[test]
fn procedures_have_parameters_results_and_a_status() {
    let mut b = bench();
    b.check(
        "CREATE PROCEDURE p @from int, @to int = 100, @sum int = NULL OUTPUT AS
         SET NOCOUNT ON
         SELECT id, n FROM a WHERE n BETWEEN @from AND @to ORDER BY id
         SELECT @sum = SUM(n) FROM a WHERE n BETWEEN @from AND @to
         RETURN 7",
        "",
    );
    b.check("EXEC p 15", "2|20\n3|30");
    b.check("EXEC dbo.p 15, 25", "2|20");
    b.check("EXECUTE t.dbo.p @to = 15, @from = 5", "1|10");
    b.check("p 30", "3|30");
    b.check(
        "DECLARE @s int, @r int; EXEC @r = p 5, DEFAULT, @s OUTPUT; SELECT @s, @r",
        "1|10\n2|20\n3|30\n60|7",
    );
    b.check("DECLARE @s int; EXEC p 5, 15, @sum = @s OUT; SELECT @s", "1|10\n10");
    b.check("DECLARE @s int = 1; EXEC p 5, 15, @s; SELECT @s", "1|10\n1");
    b.check("DECLARE @name sysname = 'dbo.p'; EXEC @name 30", "3|30");
    let expected = [
        (
            "EXEC p",
            "Msg 201: Procedure or function 'p' expects parameter '@from', which was not supplied.",
        ),
        (
            "EXEC p 1, 2, 3, 4",
            "Msg 8144: Procedure or function p has too many arguments specified.",
        ),
        ("EXEC p 1, @what = 3", "Msg 8145: @what is not a parameter for procedure p."),
        ("EXEC p 1, @from = 3", "Msg 8143: Parameter '@from' was supplied multiple times."),
        ("EXEC q", "Msg 2812: Could not find stored procedure 'q'."),
        ("EXEC x.p 1", "Msg 2812: Could not find stored procedure 'x.p'."),
    ];
    for (sql, said) in expected {
        b.check(sql, said);
    }
    assert!(b.run("DECLARE @s int; EXEC p @s OUTPUT").starts_with("Msg 8162: "));
    assert!(b.run("EXEC p 'x'").starts_with("Msg 8114: "));
}

#[test]
fn an_argument_that_does_not_fit_its_parameter_is_an_error_of_conversion() {
    let mut b = bench();
    b.check("CREATE PROCEDURE fits @d decimal(5, 2) = 1, @i int = 1, @s tinyint = 1, @t date = NULL, @g uniqueidentifier = NULL AS SELECT @d, @i", "");
    b.check("EXEC fits 123.456", "123.46|1");
    for (argument, types) in [
        ("@d = 1234.5", "numeric to numeric"),
        ("@i = 3000000000", "numeric to int"),
        ("@i = 1e30", "float to int"),
        ("@s = 256", "int to tinyint"),
        ("@t = '2024-02-30'", "varchar to date"),
        ("@g = 'none'", "varchar to uniqueidentifier"),
    ] {
        b.check(
            &format!("EXEC fits {argument}"),
            &format!("Msg 8114: Error converting data type {types}."),
        );
    }
    b.check(
        "DECLARE @big bigint = 3000000000 EXEC sp_executesql N'SELECT @i', N'@i int', @big",
        "Msg 8114: Error converting data type bigint to int.",
    );
}

#[test]
fn a_procedure_is_a_scope_of_its_own() {
    let mut b = bench();
    b.check("CREATE TABLE i (id int IDENTITY, n int)", "");
    b.check("CREATE PROCEDURE p @v int AS SET NOCOUNT ON INSERT i VALUES (@v); SELECT SCOPE_IDENTITY(), @@NESTLEVEL", "");
    b.check("EXEC p 5; SELECT SCOPE_IDENTITY(), @@IDENTITY, @@NESTLEVEL", "1|1\nNULL|1|0");
    b.check("INSERT i VALUES (6); SELECT @@ROWCOUNT", "(1)\n1");
    b.check("CREATE PROCEDURE late AS SELECT x FROM not_yet", "");
    b.check("EXEC late", "Msg 208: Invalid object name 'not_yet'.");
    b.check("CREATE TABLE not_yet (x int); INSERT not_yet VALUES (4); EXEC late", "(1)\n4");
    b.check(
        "CREATE PROCEDURE r @n int AS IF @n = 0 SELECT @@NESTLEVEL ELSE BEGIN SET @n -= 1; EXEC r @n END",
        "",
    );
    b.check("EXEC r 31", "32");
    assert!(b.run("EXEC r 32").starts_with("Msg 217: "));
    b.check("CREATE PROCEDURE open_one AS BEGIN TRAN", "");
    assert!(b.run("EXEC open_one").starts_with("Msg 266: "));
    b.check("SELECT @@TRANCOUNT; ROLLBACK", "1");
}

#[test]
fn errors_of_a_procedure_end_its_statement_and_tell_its_line() {
    let mut b = bench();
    b.check(
        "CREATE PROCEDURE p AS\nSET NOCOUNT ON\nINSERT a VALUES (1, 1, NULL)\nSELECT 'after'",
        "",
    );
    let said = b.run("EXEC p");
    assert!(said.starts_with("Msg 2627: ") && said.trim_end().ends_with("after"), "{said}");
    b.check(
        "BEGIN TRY EXEC p END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_LINE(), @@TRANCOUNT END CATCH",
        "2627|3|0",
    );
    let wrong = [
        ("CREATE PROCEDURE q AS SELECT @x", 137),
        ("CREATE PROCEDURE q @a int, @a int AS SELECT 1", 134),
        ("CREATE PROCEDURE q AS GOTO nowhere", 133),
        ("CREATE PROCEDURE q @t what AS SELECT 1", 2715),
    ];
    for (sql, number) in wrong {
        let said = b.run(sql);
        assert!(said.starts_with(&format!("Msg {number}: ")), "{sql}: {said}");
    }
}

#[test]
fn all_sessions_share_a_procedure_and_see_its_changes() {
    let mut b = bench();
    b.check("CREATE PROCEDURE p AS SELECT 1", "");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let instance = b.instance.clone();
            std::thread::spawn(move || {
                for _ in 0..50 {
                    let said = say(&instance, "USE t; EXEC p");
                    assert!(said.ends_with('1') || said.ends_with('2'), "{said}");
                }
            })
        })
        .collect();
    for i in 0..50 {
        run(&b.instance, &format!("USE t; EXEC ('ALTER PROCEDURE p AS SELECT {}')", i % 2 + 1));
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
    b.check("ALTER PROCEDURE p AS SELECT 3", "");
    b.check("EXEC p", "3");
}

#[test]
fn modules_survive_a_restart_and_are_listed() {
    let mut b = bench();
    let long = format!(
        "CREATE PROCEDURE p @a int = 4, @b varchar(10) OUTPUT AS SELECT @a -- {}",
        "é".repeat(9000)
    );
    b.check(&long, "");
    b.check(
        "-- what it is for\nALTER PROCEDURE p @a int = 5, @b varchar(10) = '' OUTPUT AS SELECT @a",
        "",
    );
    b.check("CREATE VIEW v AS SELECT id, s FROM a", "");
    let check = |b: &mut Bench| {
        b.check("EXEC p", "5");
        b.check("SELECT COUNT(*) FROM v", "3");
        b.check(
            "SELECT name, type, type_desc FROM sys.objects WHERE parent_object_id = 0 AND is_ms_shipped = 0 ORDER BY name",
            "a|U |USER_TABLE\np|P |SQL_STORED_PROCEDURE\nv|V |VIEW",
        );
        b.check(
            "SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID('v')",
            "CREATE VIEW v AS SELECT id, s FROM a",
        );
        b.check(
            "SELECT LEFT(OBJECT_DEFINITION(OBJECT_ID('p', 'P')), 36)",
            "-- what it is for\nCREATE PROCEDURE p",
        );
        b.check("SELECT name, parameter_id, is_output FROM sys.parameters", "@a|1|0\n@b|2|1");
        b.check(
            "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('v') ORDER BY column_id",
            "id\ns",
        );
        b.check(
            "SELECT TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES",
            "a|BASE TABLE\nv|VIEW",
        );
        b.check(
            "SELECT OBJECT_NAME(OBJECT_ID('v')), OBJECTPROPERTY(OBJECT_ID('v'), 'IsView')",
            "v|1",
        );
    };
    check(&mut b);
    b = b.restart();
    check(&mut b);
    b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
}

#[test]
fn a_parameter_without_an_argument_may_be_what_the_session_says() {
    let mut b = bench();
    b.check(
        "CREATE PROCEDURE p @name sysname = @@SERVERNAME, @spid varchar(9) = @@SPID, @n int = @@TRANCOUNT AS
         SELECT CASE WHEN @name = @@SERVERNAME AND @spid = @@SPID THEN 1 END, @n",
        "",
    );
    b.check("EXEC p; BEGIN TRAN; EXEC p @n = 5; EXEC p @n = DEFAULT; COMMIT", "1|0\n1|5\n1|1");
    b.check(
        "DECLARE @i int = 0 WHILE @i < 2 BEGIN EXEC p; BEGIN TRAN SET @i += 1 END ROLLBACK",
        "1|0\n1|1",
    );
    b.check(
        "CREATE FUNCTION f (@n int = @@TRANCOUNT) RETURNS int AS BEGIN DECLARE @r int = @n RETURN @r END",
        "",
    );
    b.check(
        "BEGIN TRAN; SELECT dbo.f(DEFAULT); DECLARE @r int; EXEC @r = dbo.f; SELECT @r; COMMIT",
        "1\n1",
    );
    b.check(
        "CREATE PROCEDURE q @a int = @@NOTHING AS SELECT 1",
        "Msg 137: Must declare the scalar variable \"@@NOTHING\".",
    );
    b.check(
        "CREATE PROCEDURE q @a int = 1, @b int = @a AS SELECT 1",
        "Msg 102: Incorrect syntax near '@a'.",
    );
}

#[test]
fn a_status_is_a_whole_number() {
    let mut b = bench();
    for (value, status) in [
        ("3.7", "3"),
        ("-3.7", "-3"),
        ("1e2", "100"),
        ("'12'", "12"),
        ("NULL", "0"),
        ("$2.2", "2"),
        ("-2147483648", "-2147483648"),
        ("2147483647", "2147483647"),
    ] {
        b.check(&format!("CREATE PROCEDURE s AS RETURN {value}"), "");
        b.check("DECLARE @r int; EXEC @r = s; SELECT @r; DROP PROCEDURE s", status);
    }
    b.check("CREATE PROCEDURE s AS RETURN 'x'", "");
    b.check(
        "DECLARE @r int = 5; EXEC @r = s",
        "Msg 245: Conversion failed when converting the varchar value 'x' to data type int.",
    );
}

/// What a call was bound to holds only as long as it means that.
#[test]
fn a_call_in_a_loop_follows_what_changes_meanwhile() {
    let mut b = bench();
    b.check(
        "CREATE PROCEDURE p @x int, @y int = 5, @r int OUTPUT AS SET @r = @x * 10 + @y RETURN @x",
        "",
    );
    // Defaults, names, OUTPUT, the status; the value of an argument is of its own time.
    b.check(
        "DECLARE @i int = 1, @r int, @s int, @sum int = 0
         WHILE @i <= 3 BEGIN EXEC @s = p @r = @r OUTPUT, @x = @i SET @sum += @r * 100 + @s SET @i += 1 END
         SELECT @sum, @r, @s",
        "7506|35|3",
    );
    b.check("DECLARE @i int = 0, @r int WHILE @i < 2 BEGIN EXEC p '7', DEFAULT, @r OUTPUT SET @i += 1 END SELECT @r", "75");
    // Changed, dropped and made again by the loop that calls it.
    b.check(
        "DECLARE @i int = 1, @r int
         WHILE @i <= 3 BEGIN
             EXEC p @i, 0, @r OUTPUT
             SELECT @r
             IF @i = 1 EXEC ('ALTER PROCEDURE p @x int, @y int, @r int OUTPUT AS SET @r = -@x')
             IF @i = 2 EXEC ('DROP PROCEDURE p; EXEC (''CREATE PROCEDURE p @r int OUTPUT, @x int, @y int AS SET @r = 1 SET @x = 9'')')
             SET @i += 1
         END",
        "10\n-2\nMsg 8162: The formal parameter \"@y\" was not declared as an OUTPUT parameter, but the actual parameter passed in \
         requested output.\n-2",
    );
    // Errors are found at each run, and a value that does not fit is no error of the next.
    b.check("CREATE PROCEDURE q @t tinyint AS SELECT @t", "");
    b.check(
        "DECLARE @i int = 255 WHILE @i < 258 BEGIN EXEC q @i SET @i += 2 END EXEC q 1",
        "255\nMsg 8114: Error converting data type int to tinyint.",
    );
    b.check("EXEC q 1", "1");
    for _ in 0..2 {
        b.check(
            "EXEC q",
            "Msg 201: Procedure or function 'q' expects parameter '@t', which was not supplied.",
        );
        b.check(
            "EXEC q 1, 2",
            "Msg 8144: Procedure or function q has too many arguments specified.",
        );
        b.check("EXEC q @u = 1", "Msg 8145: @u is not a parameter for procedure q.");
        b.check("EXEC missing 1", "Msg 2812: Could not find stored procedure 'missing'.");
    }
    // One that calls itself, each level with values of its own.
    b.check(
        "CREATE PROCEDURE f @n int, @r int OUTPUT AS
         BEGIN IF @n = 0 BEGIN SET @r = 1 RETURN END
         DECLARE @m int = @n - 1, @below int EXEC f @m, @below OUTPUT SET @r = @n * @below END",
        "",
    );
    b.check("DECLARE @r int EXEC f 6, @r OUTPUT SELECT @r EXEC f 3, @r OUTPUT SELECT @r", "720\n6");
    b.check("DECLARE @r int EXEC f 33, @r OUTPUT SELECT @r", "Msg 217: Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).\nNULL");
    // A name in a variable is another one each time.
    b.check("CREATE PROCEDURE plus @x int AS SELECT @x", "");
    b.check("CREATE PROCEDURE minus @x int AS SELECT -@x", "");
    b.check(
        "DECLARE @i int = 0, @p varchar(10)
         WHILE @i < 4 BEGIN SET @p = IIF(@i % 2 = 0, 'plus', 'minus') EXEC @p @i SET @i += 1 END",
        "0\n-1\n2\n-3",
    );
    // Its code is no longer kept; it is described under FMTONLY.
    b.check("DECLARE @i int = 1 WHILE @i < 3 BEGIN EXEC plus @i DBCC FREEPROCCACHE WITH NO_INFOMSGS SET @i += 1 END", "1\n2");
    let mut session = b.instance.session().unwrap();
    session.use_database("t").unwrap();
    let mut say = |sql: &str| {
        let mut out = text::Text::default();
        session.execute(sql, &mut out);
        out.out.trim().to_string()
    };
    let said = ["EXEC plus 7", "SET FMTONLY ON", "EXEC plus 7", "SET FMTONLY OFF", "EXEC plus 7"]
        .map(&mut say);
    assert_eq!(said, ["7", "", "", "", "7"]);
    // SET options of the procedure end with it.
    b.check("CREATE PROCEDURE o AS SET XACT_ABORT ON SET NOCOUNT ON", "");
    b.check(
        "DECLARE @i int = 0 WHILE @i < 3 BEGIN EXEC o SET @i += 1 END SELECT @@OPTIONS & 16896",
        "0",
    );
    // A name of another database, and the same text in two.
    b.check("CREATE DATABASE u", "");
    run(&b.instance, "USE u; EXEC ('CREATE PROCEDURE q @t int AS SELECT -@t')");
    b.check("EXEC q 4 EXEC u..q 4", "4\n-4");
    b.check(
        "EXEC ('USE u EXEC q 4 EXEC t..q 4') EXEC q 4",
        "Changed database context to 'u'.\n-4\n4\n4",
    );
}

#[test]
fn defaults_of_parameters_are_in_the_page_of_their_database() {
    let mut b = Bench::new();
    b.check("CREATE DATABASE ru COLLATE Cyrillic_General_CI_AS", "");
    run(
        &b.instance,
        "USE ru; EXEC ('CREATE PROCEDURE p @s varchar(10) = N''привет'', @n varchar(2) = ''я'' AS SELECT @s, @n')",
    );
    // The first call is bound, the second one is not: its name is in a variable.
    b.check(
        "EXEC ('USE ru EXEC p DECLARE @p varchar(9) = ''p'' EXEC @p')",
        "Changed database context to 'ru'.\nпривет|я\nпривет|я",
    );
}

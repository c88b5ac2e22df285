//! Temporary tables: whose they are, how long they live, what a rollback leaves.

use crate::support::text::{Bench, Text, say};

#[test]
fn each_session_has_its_own() {
    let mut b = Bench::new();
    b.check("CREATE TABLE #t (id int IDENTITY PRIMARY KEY, s varchar(10) DEFAULT 'x' CHECK (s <> 'no'))", "");
    b.check(
        "INSERT #t (s) VALUES ('a'); INSERT #t DEFAULT VALUES; SELECT * FROM #t",
        "(1)\n(1)\n1|a\n2|x",
    );
    let mut other = b.instance.session().unwrap();
    let mut run = |sql: &str| {
        let mut text = Text::default();
        other.execute(sql, &mut text);
        text.out.trim().to_owned()
    };
    assert_eq!(run("SELECT * FROM #t"), "Msg 208: Invalid object name '#t'.");
    assert_eq!(run("CREATE TABLE #t (z int); INSERT #t VALUES (7); SELECT * FROM #t"), "(1)\n7");
    b.check("SELECT * FROM #t WHERE id = 2", "2|x");
    assert_eq!(run("SELECT * FROM #t"), "7");
    b.check("SELECT s FROM tempdb..#t WHERE id = 1", "a");
    b.check(
        "SELECT CASE WHEN OBJECT_ID('tempdb..#t') IS NULL THEN 'gone' ELSE 'there' END",
        "there",
    );
    assert!(b.run("INSERT #t (s) VALUES ('no')").starts_with("Msg 547: "));
    b.check("CREATE INDEX i ON #t (s); UPDATE #t SET s = 'b' WHERE s = 'a'; DELETE #t WHERE id = 2; TRUNCATE TABLE #t", "(1)\n(1)");
    b.check("DROP TABLE #t; SELECT 1 FROM #t", "Msg 208: Invalid object name '#t'.");
    assert_eq!(run("SELECT * FROM #t"), "7");
}

#[test]
fn made_anew_by_the_same_batch_again_and_again() {
    let mut b = Bench::new();
    for i in 0..3 {
        b.check(
            "SELECT n * 2 AS m, 'r' AS s INTO #r FROM (VALUES (1), (2)) AS v (n); SELECT SUM(m) FROM #r; DROP TABLE #r"
,
            "(2)\n6",
        );
        b.check(
            &format!(
                "CREATE TABLE #k (c{i} int); INSERT #k VALUES ({i}); SELECT c{i} FROM #k; DROP TABLE #k"
            ),
            &format!("(1)\n{i}"),
        );
    }
    b.check("CREATE TABLE #d (a int)", "");
    b.check(
        "CREATE TABLE #d (a int)",
        "Msg 2714: There is already an object named '#d' in the database.",
    );
    b.check("DROP TABLE IF EXISTS #d; DROP TABLE IF EXISTS #d", "");
}

#[test]
fn a_procedure_sees_its_callers_and_drops_its_own() {
    let mut b = Bench::new();
    b.check("CREATE PROCEDURE inner_one AS SET NOCOUNT ON INSERT #t VALUES (2); SELECT COUNT(*) FROM #t", "");
    b.check(
        "CREATE PROCEDURE outer_one AS SET NOCOUNT ON CREATE TABLE #t (a int); INSERT #t VALUES (1); EXEC inner_one",
        "",
    );
    b.check("EXEC outer_one; EXEC outer_one", "2\n2");
    assert!(b.run("SELECT * FROM #t").starts_with("Msg 208: "));
    b.check(
        "EXEC ('CREATE TABLE #e (a int)'); SELECT * FROM #e",
        "Msg 208: Invalid object name '#e'.",
    );
    b.check("CREATE PROCEDURE shadow AS SET NOCOUNT ON CREATE TABLE #t (z varchar(5)); INSERT #t VALUES ('in'); SELECT * FROM #t", "");
    b.check(
        "CREATE TABLE #t (a int); INSERT #t VALUES (5); EXEC shadow; SELECT * FROM #t",
        "(1)\nin\n5",
    );
    b.check("SELECT COUNT(*) FROM tempdb.sys.tables WHERE name LIKE '#t%'", "1");
}

#[test]
fn rollback_takes_them_back_and_the_end_of_the_session_drops_them() {
    let mut b = Bench::new();
    b.check(
        "BEGIN TRAN; CREATE TABLE #t (a int); INSERT #t VALUES (1); ROLLBACK; SELECT * FROM #t",
        "(1)\nMsg 208: Invalid object name '#t'.",
    );
    b.check("CREATE PROCEDURE p AS SET NOCOUNT ON SELECT 1 AS a INTO #p", "");
    b.check("CREATE TABLE #k (a int)", "");
    b.check(
        "BEGIN TRAN; EXEC p; DROP TABLE #k; INSERT INTO #k VALUES (1)",
        "Msg 208: Invalid object name '#k'.",
    );
    b.check("ROLLBACK; SELECT COUNT(*) FROM #k", "0");
    let count = "SELECT COUNT(*) FROM tempdb.sys.tables";
    let left: i32 = b.run(count).trim().parse().unwrap();
    assert!((1..=2).contains(&left), "{left}");
    let instance = b.instance.clone();
    drop(b);
    assert_eq!(say(&instance, count), "0");
}

#[test]
fn plans_of_one_session_are_not_those_of_another() {
    let b = Bench::new();
    let threads: Vec<_> = (0..4)
        .map(|at| {
            let instance = b.instance.clone();
            std::thread::spawn(move || {
                let mut session = instance.session().unwrap();
                for round in 0..30 {
                    let column = if (at + round) % 2 == 0 { "int" } else { "varchar(10)" };
                    let mut said = Text::default();
                    let sql =
                        format!("CREATE TABLE #x (a {column}); INSERT #x VALUES ({at}{round})");
                    session.execute(&sql, &mut said);
                    session.execute("SELECT a FROM #x", &mut said);
                    session.execute("DROP TABLE #x", &mut said);
                    let number: i64 = format!("{at}{round}").parse().unwrap();
                    assert_eq!(said.out.trim(), format!("(1)\n{number}"), "{sql}");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn table_variables_belong_to_their_scope_and_to_no_transaction() {
    let mut b = Bench::new();
    b.check(
        "DECLARE @t TABLE (id int IDENTITY PRIMARY KEY, n int NOT NULL CHECK (n > 0), s varchar(10) DEFAULT 'x')
         INSERT @t (n) VALUES (10), (20)
         UPDATE @t SET n = n + 1 WHERE id = 1
         DELETE FROM @t WHERE id = 2
         SELECT * FROM @t
         SELECT a.n FROM @t AS a JOIN @t AS b ON b.id = a.id",
        "(2)\n(1)\n(1)\n1|11|x\n11",
    );
    b.check("SELECT * FROM @t", "Msg 1087: Must declare the table variable \"@t\".");
    // Neither ROLLBACK nor a failing statement takes back more than the statement.
    let said = b.run(
        "SET NOCOUNT ON
         DECLARE @t TABLE (n int PRIMARY KEY)
         CREATE TABLE a (n int)
         BEGIN TRAN
         INSERT @t VALUES (1), (2)
         INSERT a SELECT n FROM @t
         INSERT @t VALUES (3), (1)
         ROLLBACK
         INSERT @t VALUES (4)
         SELECT n FROM @t",
    );
    let lines: Vec<&str> = said.trim().lines().collect();
    assert!(lines[0].starts_with("Msg 2627: ") && lines[1..] == ["1", "2", "4"], "{said}");
}

#[test]
fn table_variables_of_procedures_and_loops() {
    let mut b = Bench::new();
    b.check(
        "CREATE PROCEDURE p @n int AS SET NOCOUNT ON
         DECLARE @t TABLE (n int); INSERT @t VALUES (@n), (@n)
         IF @n > 0 BEGIN SET @n -= 1; EXEC p @n END
         SELECT COUNT(*), MAX(n) FROM @t",
        "",
    );
    b.check("EXEC p 2", "2|0\n2|1\n2|2");
    b.check(
        "DECLARE @t TABLE (n int); EXEC ('SELECT * FROM @t')",
        "Msg 1087: Must declare the table variable \"@t\".",
    );
    b.check(
        "SET NOCOUNT ON DECLARE @i int = 0 WHILE @i < 3 BEGIN DECLARE @t TABLE (n int); INSERT @t VALUES (@i); SET @i += 1 END SELECT COUNT(*) FROM @t",
        "3",
    );
    b.check(
        "SET NOCOUNT OFF BEGIN TRAN DECLARE @t TABLE (n int); INSERT @t VALUES (1); COMMIT; SELECT n FROM @t",
        "(1)\n1",
    );
    b.check("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN; DECLARE @t TABLE (n int); INSERT @t VALUES (1); INSERT @t VALUES (2); SELECT COUNT(*) FROM @t; COMMIT", "(1)\n(1)\n2");
}

#[test]
fn nobody_waits_for_the_log_of_tempdb() {
    let b = Bench::new();
    let writes = || {
        let said = say(&b.instance, "SELECT num_of_writes FROM sys.dm_io_virtual_file_stats(2, 2)");
        said.parse::<u32>().unwrap()
    };
    let before = writes();
    let made = "DECLARE @i int = 0, @v int WHILE @i < 200 BEGIN
                    CREATE TABLE #t (n int) INSERT #t VALUES (@i) SELECT @v = n FROM #t DROP TABLE #t SET @i += 1
                END SELECT @v";
    assert!(say(&b.instance, made).ends_with("199"));
    // Its buffers are written when they are full.
    let written = writes() - before;
    assert!(written < 100, "{written} writes");
}

#[test]
fn foreign_keys_are_left_out_with_a_message() {
    const REST: &str = "definition for temporary table. FOREIGN KEY constraints are not enforced on local or global temporary tables.";
    let mut b = Bench::new();
    let skipped = |name: &str| format!("Skipping FOREIGN KEY constraint '{name}' {REST}");
    b.check("CREATE TABLE p (id int PRIMARY KEY)", "");
    b.check(
        "CREATE TABLE #t (id int CONSTRAINT one REFERENCES p (id), n int, CONSTRAINT two FOREIGN KEY (n) REFERENCES nowhere (x))",
        &format!("{}\n{}", skipped("one"), skipped("two")),
    );
    b.check("INSERT #t VALUES (5, 6); SELECT * FROM #t", "(1)\n5|6");
    b.check(
        "ALTER TABLE #t ADD m int NULL CONSTRAINT three REFERENCES p, CONSTRAINT four FOREIGN KEY (m) REFERENCES p (id), k int DEFAULT 3",
        &format!("{}\n{}", skipped("three"), skipped("four")),
    );
    b.check("SELECT * FROM #t; SELECT COUNT(*) FROM tempdb.sys.foreign_keys", "5|6|NULL|NULL\n0");
    let said = b.run("CREATE TABLE ##g (id int REFERENCES p)");
    assert!(
        said.starts_with("Skipping FOREIGN KEY constraint 'FK__##g")
            && said.trim_end().ends_with(REST),
        "{said}"
    );
    b.check(
        "CREATE TABLE q (id int CONSTRAINT five REFERENCES #t (id))",
        "Msg 1766: Foreign key references to temporary tables are not supported. Foreign key 'five'.\n\
         Msg 1750: Could not create constraint or index. See previous errors.",
    );
}

//! Temporary procedures: whose they are, how long they live, where they are found.

use crate::support::text::{Bench, Text, say};
use engine::Session;

fn tell(session: &mut Session, sql: &str) -> String {
    let mut text = Text::default();
    session.execute(sql, &mut text);
    text.out.trim().to_owned()
}

const MISSING: &str = "Msg 2812: Could not find stored procedure '#p'.";

#[test]
fn each_session_has_its_own_and_they_end_with_it() {
    let mut b = Bench::new();
    b.check("CREATE PROCEDURE #p @n int, @s varchar(9) = 'x' AS SELECT @n AS n, @s AS s", "");
    let mut other = b.instance.session().unwrap();
    assert_eq!(tell(&mut other, "EXEC #p 1"), MISSING);
    assert_eq!(tell(&mut other, "CREATE PROCEDURE #p AS SELECT 'other'"), "");
    assert_eq!(tell(&mut other, "EXEC #p"), "other");
    b.check("EXEC #p 1; EXEC #p @s = 'y', @n = 2; EXEC tempdb..#p 3", "1|x\n2|y\n3|x");
    b.check("EXEC sp_executesql N'EXEC #p @a', N'@a int', 7", "7|x");
    b.check("DECLARE @p sysname = '#p'; EXEC @p 4", "4|x");
    b.check(
        "CREATE PROCEDURE #p AS SELECT 1",
        "Msg 2714: There is already an object named '#p' in the database.",
    );
    b.check(
        "EXEC #p",
        "Msg 201: Procedure or function '#p' expects parameter '@n', which was not supplied.",
    );
    let count = "SELECT COUNT(*) FROM tempdb.sys.procedures WHERE name LIKE '#p[_][_]%' AND LEN(name) = 128";
    b.check(count, "2");
    drop(other);
    b.check(count, "1");
    b.session.reset(&mut Text::default()).unwrap();
    b.check("EXEC #p 1", MISSING);
    b.check(count, "0");
}

#[test]
fn they_are_in_tempdb_and_found_from_everywhere() {
    let mut b = Bench::new();
    b.check("CREATE TABLE here (a int); INSERT here VALUES (1)", "(1)");
    b.check("CREATE PROCEDURE dbo.#p AS SELECT a, DB_NAME() FROM here", "");
    b.check("SELECT COUNT(*) FROM sys.procedures", "0");
    b.check(
        "SELECT OBJECT_ID('#p'), SIGN(OBJECT_ID('tempdb..#p')), OBJECT_ID('tempdb..#p', 'U')",
        "NULL|1|NULL",
    );
    b.check("EXEC #p", "1|t");
    // Names are those of the database in which it is called.
    b.check("CREATE DATABASE u", "");
    b.check(
        "EXEC ('USE u; CREATE TABLE here (a int); INSERT here VALUES (2); EXEC #p')",
        "Changed database context to 'u'.\n(1)\n2|u",
    );
    b.check(
        "EXEC #p; EXEC ('USE master; EXEC #p')",
        "1|t\nChanged database context to 'master'.\nMsg 208: Invalid object name 'here'.",
    );
    b.check(
        "EXEC tempdb..sp_helptext '#p'",
        "CREATE PROCEDURE dbo.#p AS SELECT a, DB_NAME() FROM here",
    );
    b.check("CREATE PROCEDURE #q AS SELECT OBJECT_NAME(@@PROCID, 2)", "");
    assert!(b.run("EXEC #q").starts_with("#q__"));
    b.check(
        "CREATE PROCEDURE #e AS BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH SELECT ERROR_PROCEDURE() END CATCH",
        "",
    );
    b.check("EXEC #e", "#e");
    b.check("CREATE TABLE #r (a int); INSERT #r EXEC ('SELECT 5'); CREATE TABLE #x (a int)", "(1)");
    b.check(
        "CREATE PROCEDURE #x AS SELECT 1",
        "Msg 2714: There is already an object named '#x' in the database.",
    );
    b.check("CREATE VIEW #v AS SELECT 1 AS a", "Msg 4103: '#v': Temporary views are not allowed.");
    b.fails("CREATE PROCEDURE #a WITH EXECUTE AS OWNER AS SELECT 1", 40510);
}

#[test]
fn changed_and_dropped() {
    let mut b = Bench::new();
    b.check("ALTER PROCEDURE #p AS SELECT 1", "Msg 208: Invalid object name '#p'.");
    b.check("CREATE OR ALTER PROCEDURE #p AS SELECT 1", "");
    b.check("CREATE OR ALTER PROCEDURE #p AS SELECT 2", "");
    b.check("EXEC #p", "2");
    b.check("ALTER PROCEDURE #p AS SELECT 3", "");
    b.check("EXEC #p; SELECT COUNT(*) FROM tempdb.sys.procedures", "3\n1");
    b.check("BEGIN TRAN; DROP PROCEDURE #p; EXEC #p", MISSING);
    b.check("ROLLBACK; EXEC #p", "3");
    b.check("DROP PROCEDURE #p; EXEC #p", MISSING);
    b.check(
        "DROP PROCEDURE IF EXISTS #p; DROP PROCEDURE #p",
        "Msg 3701: Cannot drop the procedure '#p', because it does not exist or you do not have permission.",
    );
    b.check(
        "BEGIN TRAN; EXEC ('CREATE PROCEDURE #p AS SELECT 4'); EXEC #p; ROLLBACK; EXEC #p",
        &format!("4\n{MISSING}"),
    );
    for round in 0..40 {
        b.check(&format!("CREATE PROCEDURE #p AS SELECT {round}"), "");
        b.check("EXEC #p; DROP PROCEDURE #p", &round.to_string());
    }
}

#[test]
fn made_in_a_procedure_it_stays_as_long_as_the_session() {
    let mut b = Bench::new();
    b.check("CREATE PROCEDURE maker AS EXEC ('CREATE PROCEDURE #p AS SELECT ''made''')", "");
    b.check("EXEC maker; EXEC #p", "made");
    b.check("EXEC #p", "made");
    b.check("EXEC maker", "Msg 2714: There is already an object named '#p' in the database.");
}

#[test]
fn global_ones_are_everybodys_until_their_makers_session_ends() {
    let mut b = Bench::new();
    let mut maker = b.instance.session().unwrap();
    assert_eq!(tell(&mut maker, "CREATE PROCEDURE ##g @n int AS SELECT @n + 1"), "");
    b.check(
        "EXEC ##g 1; EXEC ('USE master; EXEC ##g 2')",
        "2\nChanged database context to 'master'.\n3",
    );
    b.check(
        "SELECT name FROM tempdb.sys.procedures; SELECT SIGN(OBJECT_ID('tempdb..##g'))",
        "##g\n1",
    );
    b.check(
        "CREATE PROCEDURE ##g AS SELECT 1",
        "Msg 2714: There is already an object named '##g' in the database.",
    );
    drop(maker);
    b.check("EXEC ##g 1", "Msg 2812: Could not find stored procedure '##g'.");
    assert_eq!(say(&b.instance, "SELECT COUNT(*) FROM tempdb.sys.procedures"), "0");
    assert_eq!(say(&b.instance, "CREATE PROCEDURE ##g AS SELECT 1"), "");
}

#[test]
fn described_and_called_by_name() {
    let mut b = Bench::new();
    b.check("CREATE PROCEDURE #p @n int AS SELECT @n AS n", "");
    b.check("SET FMTONLY ON; EXEC #p 1; SET FMTONLY OFF", "");
    let said = b.run("EXEC sp_describe_undeclared_parameters N'EXEC #p @a'");
    assert!(said.starts_with("1|@a|56|int|"), "{said}");
    b.check("SELECT name FROM sys.dm_exec_describe_first_result_set(N'EXEC #p 1', NULL, 0)", "n");
}

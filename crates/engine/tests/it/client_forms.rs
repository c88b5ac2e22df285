//! Small forms and errors that clients' own tests ask for.

use std::time::{Duration, Instant};

use crate::support::text::Bench;

#[test]
fn option_may_stand_before_for_xml_and_for_json() {
    let mut b = Bench::new();
    b.check("SELECT 1 AS a OPTION (MAXDOP 1) FOR JSON PATH", "[{\"a\":1}]");
    b.check("SELECT 1 AS a FOR JSON PATH OPTION (MAXDOP 1)", "[{\"a\":1}]");
    b.check("SELECT 1 AS a OPTION (RECOMPILE) FOR XML RAW", "<row a=\"1\"/>");
    b.fails("SELECT 1 AS a FOR XML RAW OPTION (RECOMPILE) FOR XML RAW", 156);
    // The FOR of a cursor is its own.
    b.check("CREATE TABLE t (a int PRIMARY KEY); INSERT t VALUES (1)", "(1)");
    b.check(
        "DECLARE c CURSOR FOR SELECT a FROM t OPTION (MAXDOP 1) FOR UPDATE OF a; OPEN c; FETCH c; CLOSE c; DEALLOCATE c",
        "1",
    );
}

#[test]
fn a_length_is_a_number() {
    let mut b = Bench::new();
    for text in [
        "CREATE TABLE t (a nvarchar(random))",
        "DECLARE @a decimal(9, random)",
        "SELECT CAST(1 AS varchar(random))",
        "CREATE PROCEDURE p @a varbinary(random) AS SELECT 1",
    ] {
        b.check(text, "Msg 102: Incorrect syntax near 'random'.");
    }
    b.check("CREATE TABLE t (a nvarchar(max), b decimal(9, 2), x xml)", "");
    b.fails("CREATE TABLE u (x xml(nothing))", 40510);
}

#[test]
fn a_key_of_columns_that_are_not_there_is_two_errors() {
    let mut b = Bench::new();
    const REST: &str = "\nMsg 1750: Could not create constraint or index. See previous errors.";
    for (text, name) in [
        ("CREATE TYPE t AS TABLE (id int, PRIMARY KEY (code))", "t"),
        ("CREATE TABLE x (id int, UNIQUE (code))", "x"),
        ("CREATE TABLE #x (id int, PRIMARY KEY (code))", "#x"),
    ] {
        let said = b.run(text);
        assert!(
            said.starts_with(
                "Msg 1911: Column name 'code' does not exist in the target table or view.\n"
            ),
            "{name}: {said}"
        );
        assert!(said.trim_end().ends_with(REST), "{name}: {said}");
    }
    let said = b.run("DECLARE @t TABLE (id int, PRIMARY KEY (code))");
    assert!(said.starts_with("Msg 1911: ") && said.trim_end().ends_with(REST), "{said}");
}

#[test]
fn waits_of_whole_seconds() {
    let mut b = Bench::new();
    let began = Instant::now();
    b.check("DECLARE @i int = 1; WAITFOR DELAY @i", "");
    assert!(began.elapsed() >= Duration::from_secs(1));
    b.check("DECLARE @i smallint = 0; WAITFOR DELAY @i", "");
    for (ty, value) in [("int", "-1"), ("int", "86400"), ("tinyint", "1"), ("decimal(5, 1)", "2.5")]
    {
        b.check(
            &format!("DECLARE @i {ty} = {value}; WAITFOR DELAY @i"),
            &format!("Msg 148: Incorrect time syntax in time string '{value}' used with WAITFOR."),
        );
    }
    b.check(
        "DECLARE @i int = 1; WAITFOR TIME @i",
        "Msg 148: Incorrect time syntax in time string '1' used with WAITFOR.",
    );
}

#[test]
fn messages_of_procedures_are_there() {
    let mut b = Bench::new();
    b.check(
        "RAISERROR (15097, -1, -1)",
        "Msg 15097: The size associated with an extended property cannot be more than 7,500 bytes.",
    );
    b.check(
        "SELECT severity FROM sys.messages WHERE message_id = 15096 AND language_id = 1033",
        "16",
    );
}

//! Plans that are kept while their tables grow: whatever has one (queries, expressions of SET, IF,
//! WHILE and RETURN, triggers, functions, cursors) is planned again when much has changed.

use crate::support::text::{Bench, Text};

fn bench() -> Bench {
    let mut b = Bench::new();
    for sql in [
        "CREATE TABLE log (k int NOT NULL, pad char(100) NOT NULL, INDEX by_k (k))
         CREATE TABLE other (k int)
         CREATE TABLE fired (k int)",
        "CREATE TRIGGER r ON fired AFTER INSERT AS
         DECLARE @v char(100) SELECT @v = MAX(l.pad) FROM log AS l JOIN inserted AS i ON i.k = l.k",
        "CREATE FUNCTION f (@k int) RETURNS char(100) AS
         BEGIN DECLARE @v char(100) = (SELECT MAX(pad) FROM log WHERE k = @k) RETURN @v END",
    ] {
        quiet(&mut b, sql);
    }
    b
}

fn quiet(b: &mut Bench, sql: &str) {
    let said = b.run(sql);
    assert!(!said.contains("Msg "), "{sql}: {said}");
}

fn fill(b: &mut Bench) {
    quiet(b, "INSERT log SELECT value, 'z' FROM GENERATE_SERIES(1, 20000)");
}

/// How often the whole table has been read.
fn scans(b: &mut Bench) -> String {
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    let mut out = Text::default();
    let sql = "SELECT ISNULL(SUM(user_scans), 0) FROM sys.dm_db_index_usage_stats
               WHERE database_id = DB_ID() AND object_id = OBJECT_ID('log')";
    other.execute(sql, &mut out);
    out.out.trim().to_owned()
}

#[test]
fn all_kinds_of_plans_are_made_again_when_a_table_has_grown() {
    let bodies = [
        "DECLARE @v char(100) SELECT @v = MAX(pad) FROM log WHERE k = @k",
        "DECLARE @v char(100) = (SELECT MAX(pad) FROM log WHERE k = @k)",
        "DECLARE @v char(100) SET @v = (SELECT MAX(pad) FROM log WHERE k = @k)",
        "IF (SELECT MAX(pad) FROM log WHERE k = @k) > 'zz' PRINT 'more'",
        "WHILE (SELECT MAX(pad) FROM log WHERE k = @k) > 'y' BREAK",
        "RETURN (SELECT COUNT(DISTINCT pad) FROM log WHERE k = @k)",
        "INSERT other SELECT k FROM log WHERE k = @k AND pad = 'z'",
        "INSERT fired VALUES (@k)",
        "DECLARE @v char(100) = dbo.f(@k)",
        "DECLARE @v char(100) DECLARE c CURSOR LOCAL STATIC FOR SELECT pad FROM log WHERE k = @k
         OPEN c FETCH c INTO @v",
    ];
    let mut b = bench();
    for (number, body) in bodies.iter().enumerate() {
        quiet(&mut b, &format!("CREATE PROCEDURE p{number} @k int AS {body}"));
        quiet(&mut b, &format!("EXEC p{number} 7"));
    }
    fill(&mut b);
    let before = scans(&mut b);
    for (number, body) in bodies.iter().enumerate() {
        for k in [12_345, 12_346] {
            quiet(&mut b, &format!("EXEC p{number} {k}"));
        }
        assert_eq!(scans(&mut b), before, "{body}");
    }
}

#[test]
fn a_cursor_that_is_opened_again_is_planned_for_the_rows_that_there_are() {
    for kind in ["STATIC", "KEYSET", "FAST_FORWARD", "DYNAMIC"] {
        let mut b = bench();
        let cursor = format!("DECLARE c CURSOR GLOBAL {kind} FOR SELECT pad FROM log WHERE k = 7");
        quiet(&mut b, &cursor);
        quiet(&mut b, "OPEN c FETCH c CLOSE c");
        fill(&mut b);
        let before = scans(&mut b);
        let said = b.run("OPEN c FETCH c CLOSE c");
        assert_eq!(said.trim_end(), "z", "{kind}");
        assert_eq!(scans(&mut b), before, "{kind}");
    }
}

/// A cursor is over the tables that its names meant where it was declared, wherever it is opened.
#[test]
fn a_cursor_that_is_opened_in_another_database_reads_its_own_table() {
    let mut b = bench();
    for sql in [
        "CREATE DATABASE elsewhere",
        "USE elsewhere",
        "CREATE TABLE log (k int NOT NULL, pad char(100) NOT NULL) INSERT log VALUES (7, 'other')",
        "USE t",
        "INSERT log VALUES (7, 'own')",
        "DECLARE c CURSOR GLOBAL STATIC FOR SELECT pad FROM log WHERE k = 7",
        "INSERT log SELECT value, 'z' FROM GENERATE_SERIES(100, 20000)",
        "USE elsewhere",
    ] {
        quiet(&mut b, sql);
    }
    let said = b.run("OPEN c FETCH c CLOSE c");
    assert_eq!(said.trim_end(), "own");
}

/// So it is when its table has been changed since, which has it compiled again: database, schema,
/// temporary tables and options are those of where it was declared.
#[test]
fn a_cursor_of_a_changed_table_is_compiled_where_it_was_declared() {
    let mut b = bench();
    for sql in [
        "CREATE DATABASE elsewhere",
        "USE elsewhere",
        "CREATE TABLE log (k int NOT NULL, pad char(100) NOT NULL) INSERT log VALUES (7, 'other')",
        "USE t",
        "INSERT log VALUES (7, 'own')",
        "DECLARE c CURSOR GLOBAL STATIC FOR SELECT pad FROM log WHERE k = 7",
        "ALTER TABLE log ADD more int",
        "USE elsewhere",
    ] {
        quiet(&mut b, sql);
    }
    assert_eq!(b.run("OPEN c FETCH c CLOSE c").trim_end(), "own");
    for sql in [
        "USE t",
        "DEALLOCATE c",
        "CREATE SCHEMA s",
        "CREATE TABLE s.log (k int, pad char(100)) INSERT s.log VALUES (7, 'of the schema')",
        "CREATE PROCEDURE s.p AS DECLARE c CURSOR GLOBAL KEYSET FOR SELECT pad FROM log WHERE k = 7",
        "EXEC s.p",
        "ALTER TABLE s.log ADD more int",
    ] {
        quiet(&mut b, sql);
    }
    assert_eq!(b.run("OPEN c FETCH c CLOSE c").trim_end(), "of the schema");
    for sql in [
        "DEALLOCATE c",
        "CREATE TABLE #rows (k int, pad varchar(20) NULL) INSERT #rows VALUES (7, 'outer')",
        "CREATE PROCEDURE q AS SET NOCOUNT ON
         CREATE TABLE #rows (k int, pad varchar(20)) INSERT #rows VALUES (7, 'inner')
         OPEN c FETCH c CLOSE c",
        "SET CONCAT_NULL_YIELDS_NULL OFF",
        "DECLARE c CURSOR GLOBAL FAST_FORWARD FOR SELECT pad + CAST(NULL AS varchar(3)) FROM #rows WHERE k = 7",
        "SET CONCAT_NULL_YIELDS_NULL ON",
        "ALTER TABLE #rows ADD more int",
    ] {
        quiet(&mut b, sql);
    }
    assert_eq!(b.run("EXEC q").trim_end(), "outer");
}

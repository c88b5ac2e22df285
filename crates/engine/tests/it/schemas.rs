//! CREATE SCHEMA and DROP SCHEMA: with anything in them, by many sessions at once, beside open
//! transactions, and what is left after a restart; and what is said of schemas and other things
//! (permissions, owners, properties) beside their end.

use catalog::load::FIRST_USER_SCHEMA;
use catalog::systables::SysTable;
use sim::SimDisk;
use txn::Durability;
use types::Value;

use crate::support::text::{Bench, Text, blocked, say, try_open};

#[test]
fn a_schema_with_anything_in_it_stays() {
    let mut b = Bench::new();
    b.check("CREATE SCHEMA s", "");
    b.check("CREATE TABLE dbo.base (a int)", "");
    for (make, kind) in [
        ("CREATE TABLE s.thing (a int)", "TABLE"),
        ("CREATE VIEW s.thing AS SELECT a FROM dbo.base", "VIEW"),
        ("CREATE PROCEDURE s.thing AS SELECT 1", "PROCEDURE"),
        ("CREATE FUNCTION s.thing () RETURNS int AS BEGIN RETURN 1 END", "FUNCTION"),
        ("CREATE SEQUENCE s.thing", "SEQUENCE"),
        ("CREATE SYNONYM s.thing FOR dbo.base", "SYNONYM"),
        ("CREATE TYPE s.thing FROM int", "TYPE"),
        ("CREATE TYPE s.thing AS TABLE (a int)", "TYPE"),
    ] {
        b.check(make, "");
        b.check(
            "DROP SCHEMA s",
            "Msg 3729: Cannot drop schema 's' because it is being referenced by object 'thing'.",
        );
        b.check(&format!("DROP {kind} s.thing"), "");
    }
    b.check("CREATE SEQUENCE s.numbers AS int START WITH 1", "");
    b.fails("DROP SCHEMA s", 3729);
    let mut b = b.restart();
    b.check("SELECT NEXT VALUE FOR s.numbers", "1");
    b.check("DROP SEQUENCE s.numbers; DROP SCHEMA s; SELECT SCHEMA_ID('s')", "NULL");
    b.restart().check("SELECT COUNT(*) FROM base", "0");
}

#[test]
fn schemas_that_are_made_at_once_are_different_ones() {
    let b = Bench::new();
    let said: Vec<String> = std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..4)
            .map(|number| {
                let instance = b.instance.clone();
                scope.spawn(move || {
                    let mut session = instance.session().unwrap();
                    session.use_database("t").unwrap();
                    let mut text = Text::default();
                    for round in 0..60 {
                        let schema = format!("s{number}_{round}");
                        session.execute(&format!("CREATE SCHEMA {schema}"), &mut text);
                        session.execute(&format!("CREATE TABLE {schema}.held (a int)"), &mut text);
                        if round % 2 == 0 {
                            let gone = format!("DROP TABLE {schema}.held; DROP SCHEMA {schema}");
                            session.execute(&gone, &mut text);
                        }
                    }
                    text.out
                })
            })
            .collect();
        sessions.into_iter().map(|session| session.join().unwrap()).collect()
    });
    assert_eq!(said, ["", "", "", ""]);
    let count = "SELECT COUNT(*), COUNT(DISTINCT s.schema_id), COUNT(DISTINCT s.name) FROM sys.schemas AS s \
                 INNER JOIN sys.tables AS t ON t.schema_id = s.schema_id WHERE t.name = 'held'";
    let mut b = b;
    b.check(count, "120|120|120");
    b.restart().check(count, "120|120|120");
}

/// Something fails because another transaction has locked what it wants.
#[track_caller]
fn busy(b: &Bench, sql: &str) {
    let said = say(&b.instance, &format!("USE t; SET LOCK_TIMEOUT 0; {sql}"));
    assert!(said.contains("Msg 1222"), "{sql}: {said}");
}

#[test]
fn a_schema_stays_beside_transactions_that_use_it() {
    let mut b = Bench::new();
    b.check("CREATE SCHEMA s", "");
    // Something in it is made, or goes and comes back.
    for (make, kind) in [
        ("CREATE TABLE s.thing (a int)", "TABLE"),
        ("CREATE SEQUENCE s.thing", "SEQUENCE"),
        ("CREATE SYNONYM s.thing FOR dbo.base", "SYNONYM"),
        ("CREATE TYPE s.thing FROM int", "TYPE"),
        ("CREATE TYPE s.thing AS TABLE (a int)", "TYPE"),
        ("EXEC ('CREATE PROCEDURE s.thing AS SELECT 1')", "PROCEDURE"),
    ] {
        b.check(&format!("BEGIN TRAN; {make}"), "");
        busy(&b, "DROP SCHEMA s");
        b.check("COMMIT", "");
        b.check(&format!("BEGIN TRAN; DROP {kind} s.thing"), "");
        busy(&b, "DROP SCHEMA s");
        b.check("ROLLBACK", "");
        let said = say(&b.instance, "USE t; DROP SCHEMA s");
        assert!(said.contains("Msg 3729"), "{said}");
        b.check(&format!("DROP {kind} s.thing"), "");
    }
    let mut b = b.restart();
    // It goes and comes back: neither its name nor its id is given away.
    b.check("BEGIN TRAN; DROP SCHEMA s", "");
    busy(&b, "EXEC ('CREATE SCHEMA s')");
    busy(&b, "EXEC ('CREATE SCHEMA S')");
    let other = say(&b.instance, "USE t; SET LOCK_TIMEOUT 0; EXEC ('CREATE SCHEMA other')");
    assert!(!other.contains("Msg"), "{other}");
    b.check("ROLLBACK", "");
    b.check("SELECT COUNT(DISTINCT schema_id) FROM sys.schemas WHERE name IN ('s', 'other')", "2");
    // It is made, and is not there after all.
    b.check("BEGIN TRAN; EXEC ('CREATE SCHEMA fresh')", "");
    busy(&b, "CREATE TABLE fresh.thing (a int)");
    b.check("ROLLBACK", "");
    b.fails("CREATE TABLE fresh.thing (a int)", 2760);
    b.restart()
        .check("SELECT COUNT(*) FROM sys.schemas WHERE name IN ('s', 'other', 'fresh')", "2");
}

/// A database whose first schema is gone and holds a type, a table type, a sequence and a synonym.
fn with_lost_schema(disk: &SimDisk) -> Bench {
    let mut b = Bench::on(disk.clone());
    b.check("CREATE SCHEMA s", "");
    b.check("CREATE TABLE dbo.base (a int)", "");
    b.check("CREATE TYPE s.word FROM varchar(10)", "");
    b.check("CREATE TYPE s.list AS TABLE (a int)", "");
    b.check("CREATE SEQUENCE s.numbers AS int START WITH 7", "");
    b.check("CREATE SYNONYM s.other FOR dbo.base", "");
    let open = b.instance.database("t").unwrap().open().unwrap();
    let mut txn = open.storage.begin(0).unwrap();
    assert!(
        open.trees.delete(&mut txn, SysTable::Schemas, &[Value::Int(FIRST_USER_SCHEMA)]).unwrap()
    );
    txn.commit(Durability::Full).unwrap();
    b
}

const LOST: &str =
    "SELECT COUNT(*) FROM lost_schema_5.other; SELECT NEXT VALUE FOR lost_schema_5.numbers";

#[test]
fn a_database_whose_schema_is_gone_opens_and_has_it_again() {
    let mut b = with_lost_schema(&SimDisk::new(7)).restart();
    let said = b.instance.error_log().lines().join("\n");
    assert!(said.contains("it is called 'lost_schema_5' now."), "{said}");
    b.check(LOST, "0\n7");
    b.check("DECLARE @l lost_schema_5.list; DECLARE @w lost_schema_5.word = 'a'; SELECT @w", "a");
    b.check(
        "ALTER SCHEMA dbo TRANSFER lost_schema_5.numbers; SELECT NEXT VALUE FOR dbo.numbers",
        "8",
    );
    // It is kept, and told once.
    let mut b = b.restart();
    let said = b.instance.error_log().lines().join("\n");
    assert!(!said.contains("lost_schema_5"), "{said}");
    b.check("SELECT SCHEMA_ID('lost_schema_5')", "5");
    b.fails("DROP SCHEMA lost_schema_5", 3729);
    b.check("DROP SYNONYM lost_schema_5.other; DROP TYPE lost_schema_5.word", "");
    b.check("DROP TYPE lost_schema_5.list; DROP SCHEMA lost_schema_5", "");
    b.check("CREATE SCHEMA s", "");
    let mut b = b.restart();
    b.check("SELECT SCHEMA_ID('lost_schema_5'), SCHEMA_ID('s')", "NULL|5");
}

/// The name is one that no other schema has.
#[test]
fn a_lost_schema_does_not_take_the_name_of_another() {
    let mut b = with_lost_schema(&SimDisk::new(7));
    b.check("CREATE SCHEMA LOST_schema_5", "");
    let mut b = b.restart();
    b.check("SELECT COUNT(*) FROM lost_schema_5_.other", "0");
    b.check("DROP SCHEMA lost_schema_5; SELECT SCHEMA_ID('lost_schema_5_')", "5");
}

/// Power is lost at each I/O of the start that gives the schema back.
#[test]
fn a_lost_schema_comes_back_wherever_the_power_is_lost() {
    let disk = SimDisk::new(7);
    drop(with_lost_schema(&disk));
    let ios = {
        let disk = disk.crash(0);
        let before = disk.io_count();
        drop(try_open(&disk, 64 << 20).expect("it opens"));
        disk.io_count() - before
    };
    for at in (1..=ios + 1).step_by((ios / 40 + 1) as usize) {
        let disk = disk.crash(at);
        disk.crash_at(disk.io_count() + at);
        drop(try_open(&disk, 64 << 20));
        let left = disk.crash(at + 1000);
        let instance = try_open(&left, 64 << 20).expect("it opens");
        assert_eq!(say(&instance, &format!("USE t; {LOST}")).lines().last(), Some("7"), "I/O {at}");
    }
}

#[test]
fn a_schema_that_comes_back_goes_only_with_the_right_to_it() {
    let mut b = Bench::new();
    b.check("CREATE USER u WITHOUT LOGIN", "");
    b.check("CREATE SCHEMA s", "");
    b.check("BEGIN TRAN; DROP SCHEMA s", "");
    let other = blocked(&b, "EXECUTE AS USER = 'u'; DROP SCHEMA s");
    b.check("ROLLBACK", "");
    let said = other.join().unwrap();
    assert!(said.contains("Msg 15151"), "{said}");
    b.check("SELECT COUNT(*) FROM sys.schemas WHERE name = 's'", "1");
}

#[test]
fn a_transaction_that_can_only_be_rolled_back_makes_and_drops_none() {
    let mut b = Bench::new();
    b.check("CREATE SCHEMA s", "");
    for change in ["CREATE SCHEMA t", "DROP SCHEMA s"] {
        let doomed = "SET XACT_ABORT ON; BEGIN TRAN; BEGIN TRY; THROW 50001, 'no', 1; END TRY";
        b.fails(&format!("{doomed} BEGIN CATCH EXEC ('{change}') END CATCH"), 3930);
        b.run("IF @@TRANCOUNT > 0 ROLLBACK");
    }
    b.check("SELECT name FROM sys.schemas WHERE name IN ('s', 't')", "s");
}

/// What is said of things: permissions, owners, properties. Each needs what it is said of, made by
/// the first batch and dropped by the last.
const SAID: &[(&str, &str, &str)] = &[
    ("CREATE SCHEMA x", "GRANT SELECT ON SCHEMA::x TO u", "DROP SCHEMA x"),
    ("CREATE SCHEMA x", "DENY ALTER ON SCHEMA::x TO u", "DROP SCHEMA x"),
    ("CREATE SCHEMA x", "ALTER AUTHORIZATION ON SCHEMA::x TO dbo", "DROP SCHEMA x"),
    ("CREATE SCHEMA x", "EXEC sp_addextendedproperty 'p', 1, 'SCHEMA', 'x'", "DROP SCHEMA x"),
    ("CREATE TABLE x (n int)", "GRANT SELECT ON x TO u", "DROP TABLE x"),
    ("CREATE TABLE x (n int, m int)", "GRANT SELECT (m) ON x TO u", "ALTER TABLE x DROP COLUMN m"),
    ("CREATE TABLE x (n int)", "ALTER AUTHORIZATION ON OBJECT::x TO dbo", "DROP TABLE x"),
    (
        "CREATE TABLE x (n int)",
        "EXEC sp_addextendedproperty 'p', 1, 'SCHEMA', 'dbo', 'TABLE', 'x'",
        "DROP TABLE x",
    ),
    (
        "CREATE TABLE x (n int)",
        "ADD SENSITIVITY CLASSIFICATION TO x.n WITH (LABEL = 'l')",
        "DROP TABLE x",
    ),
    ("CREATE VIEW x AS SELECT 1 AS n", "GRANT SELECT ON x TO u", "DROP VIEW x"),
    ("CREATE SEQUENCE x", "GRANT UPDATE ON x TO u", "DROP SEQUENCE x"),
    ("CREATE TYPE x FROM int", "GRANT REFERENCES ON TYPE::x TO u", "DROP TYPE x"),
    (
        "CREATE TYPE x FROM int",
        "EXEC sp_addextendedproperty 'p', 1, 'SCHEMA', 'dbo', 'TYPE', 'x'",
        "DROP TYPE x",
    ),
    ("CREATE TYPE x AS TABLE (n int)", "GRANT REFERENCES ON TYPE::x TO u", "DROP TYPE x"),
    (
        "CREATE USER x WITHOUT LOGIN",
        "EXEC sp_addextendedproperty 'p', 1, 'USER', 'x'",
        "DROP USER x",
    ),
];

/// What is said of nothing that there is.
pub const LEFT: &str = "SELECT COUNT(*) FROM sys.database_permissions AS p WHERE \
     p.class = 3 AND SCHEMA_NAME(p.major_id) IS NULL \
     OR p.class = 1 AND NOT EXISTS (SELECT 1 FROM sys.objects AS o WHERE o.object_id = p.major_id) \
     OR p.class = 1 AND p.minor_id > 0 AND COL_NAME(p.major_id, p.minor_id) IS NULL \
     OR p.class = 4 AND USER_NAME(p.major_id) IS NULL \
     OR p.class = 6 AND NOT EXISTS (SELECT 1 FROM sys.types AS t WHERE t.user_type_id = p.major_id); \
     SELECT COUNT(*) FROM sys.extended_properties AS e WHERE \
     e.class = 3 AND SCHEMA_NAME(e.major_id) IS NULL \
     OR e.class = 1 AND OBJECT_NAME(e.major_id) IS NULL \
     OR e.class = 4 AND USER_NAME(e.major_id) IS NULL \
     OR e.class = 6 AND TYPE_NAME(e.major_id) IS NULL";

#[test]
fn what_is_said_of_something_does_not_outlive_it() {
    let mut b = Bench::new();
    b.check("CREATE USER u WITHOUT LOGIN", "");
    for (make, tell, end) in SAID {
        b.check(make, "");
        b.run("BEGIN TRAN");
        let said = b.run(tell);
        assert!(!said.contains("Msg"), "{tell}: {said}");
        busy(&b, end);
        b.check("COMMIT", "");
        let said = say(&b.instance, &format!("USE t; {end}"));
        assert!(!said.contains("Msg"), "{end}: {said}");
        b.check(LEFT, "0\n0");
        if end.contains("COLUMN") {
            b.check("DROP TABLE x", "");
        }
        // What gets the id, and the name, begins without.
        b.check(make, "");
        b.check(LEFT, "0\n0");
        b.check(end, "");
        if end.contains("COLUMN") {
            b.check("DROP TABLE x", "");
        }
    }
    b.restart().check(LEFT, "0\n0");
}

#[test]
fn what_is_said_at_the_moment_of_the_end_is_said_of_nothing_else() {
    let mut b = Bench::new();
    b.check("CREATE USER u WITHOUT LOGIN", "");
    let batches = [
        "EXEC ('CREATE SCHEMA x'); DROP SCHEMA x",
        "GRANT SELECT ON SCHEMA::x TO u",
        "EXEC sp_addextendedproperty 'p', 1, 'SCHEMA', 'x'",
        "CREATE USER w WITHOUT LOGIN; DROP USER w",
        "GRANT IMPERSONATE ON USER::w TO u",
    ];
    std::thread::scope(|scope| {
        for batch in batches {
            let instance = b.instance.clone();
            scope.spawn(move || {
                let mut session = instance.session().unwrap();
                session.use_database("t").unwrap();
                for _ in 0..150 {
                    // It finds what it wants, or it does not; one of two may be given up (1205).
                    session.execute(batch, &mut Text::default());
                }
            });
        }
    });
    b.run("DROP SCHEMA IF EXISTS x; DROP USER IF EXISTS w");
    b.check(LEFT, "0\n0");
    let mut b = b.restart();
    b.check(LEFT, "0\n0");
    b.check("EXEC ('CREATE SCHEMA y'); CREATE USER z WITHOUT LOGIN", "");
    b.check("SELECT COUNT(*) FROM sys.database_permissions WHERE class IN (3, 4)", "0");
    b.check("SELECT COUNT(*) FROM sys.extended_properties", "0");
}

#[test]
fn a_module_runs_as_no_user_that_is_dropped_beside_it() {
    let mut b = Bench::new();
    for make in [
        "CREATE PROCEDURE p WITH EXECUTE AS 'w' AS SELECT 1",
        "CREATE TRIGGER p ON DATABASE WITH EXECUTE AS 'w' FOR CREATE_TYPE AS SET NOCOUNT ON",
    ] {
        b.check("CREATE USER w WITHOUT LOGIN", "");
        b.check("BEGIN TRAN; DROP USER w", "");
        let other = blocked(&b, make);
        b.check("COMMIT", "");
        let said = other.join().unwrap();
        assert!(said.contains("Msg 15151"), "{make}: {said}");
        b.check("SELECT COUNT(*) FROM sys.sql_modules", "0");
        // The other way around the user stays.
        b.check("CREATE USER w WITHOUT LOGIN", "");
        b.check(&format!("BEGIN TRAN; EXEC ('{}')", make.replace('\'', "''")), "");
        busy(&b, "DROP USER w");
        b.check("ROLLBACK; DROP USER w", "");
    }
}

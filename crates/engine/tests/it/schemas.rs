//! CREATE SCHEMA and DROP SCHEMA: with anything in them, by many sessions at once, beside open
//! transactions, and what is left after a restart.

use catalog::load::FIRST_USER_SCHEMA;
use catalog::systables::SysTable;
use sim::SimDisk;
use txn::Durability;
use types::Value;

use crate::support::text::{Bench, Text, say, try_open};

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
    b.restart().check("SELECT COUNT(*) FROM sys.schemas WHERE name IN ('s', 'other', 'fresh')", "2");
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
    assert!(open.trees.delete(&mut txn, SysTable::Schemas, &[Value::Int(FIRST_USER_SCHEMA)]).unwrap());
    txn.commit(Durability::Full).unwrap();
    b
}

const LOST: &str = "SELECT COUNT(*) FROM lost_schema_5.other; SELECT NEXT VALUE FOR lost_schema_5.numbers";

#[test]
fn a_database_whose_schema_is_gone_opens_and_has_it_again() {
    let mut b = with_lost_schema(&SimDisk::new(7)).restart();
    let said = b.instance.error_log().lines().join("\n");
    assert!(said.contains("it is called 'lost_schema_5' now."), "{said}");
    b.check(LOST, "0\n7");
    b.check("DECLARE @l lost_schema_5.list; DECLARE @w lost_schema_5.word = 'a'; SELECT @w", "a");
    b.check("ALTER SCHEMA dbo TRANSFER lost_schema_5.numbers; SELECT NEXT VALUE FOR dbo.numbers", "8");
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

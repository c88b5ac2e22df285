//! Names that another session gives up, or takes, after a statement has looked whether they are
//! free and before it publishes what takes them.

use std::sync::Arc;
use std::time::Duration;

use crate::{Instance, InstanceOptions, Session, Sink};
use catalog::change::{CreatedUnits, DdlChange};
use catalog::given_up::Name;
use catalog::other::{OtherObject, SynonymDef};
use catalog::{AliasDef, Db, TableDef, errors};
use sim::SimDisk;
use types::SqlError;

/// Another session, which has looked already.
const TAKER: i32 = 999;

/// Errors alone count.
struct Quiet;

impl Sink for Quiet {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("{error}")
    }
}

/// Numbers of errors.
#[derive(Default)]
struct Numbers(Vec<i32>);

impl Sink for Numbers {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.0.push(error.number);
        Ok(())
    }
}

/// A session of a new instance, in its database.
fn opened() -> (Arc<Instance>, Session, Arc<Db>) {
    let options = InstanceOptions {
        memory_bytes: Some(64 << 20),
        disk: Arc::new(SimDisk::new(5)),
        ..InstanceOptions::new("/data")
    };
    let instance = Instance::open(options).unwrap();
    let mut session = instance.session().unwrap();
    session.execute("CREATE DATABASE d", &mut Quiet);
    session.use_database("d").unwrap();
    let db = instance.database("d").unwrap();
    (instance, session, db)
}

/// The name is not to be had as long as it is another's (`taken`), or may become another's again.
fn is_taken_at_last(
    session: &mut Session,
    give_up: &str,
    taken: i32,
    take: impl Fn() -> Result<DdlChange, SqlError>,
) {
    let refused = || take().err().map(|e| e.number);
    assert_eq!(refused(), Some(taken), "{give_up}: it is there");
    session.execute(&format!("BEGIN TRAN; {give_up}"), &mut Quiet);
    assert_eq!(refused(), Some(errors::SCHEMA_CHANGED), "{give_up}: it may come back");
    session.execute("ROLLBACK", &mut Quiet);
    assert_eq!(refused(), Some(taken), "{give_up}: it came back");
    session.execute(give_up, &mut Quiet);
    assert_eq!(refused(), None, "{give_up}: it is gone");
}

#[test]
fn an_objects_name() {
    let (_instance, mut session, db) = opened();
    session.execute("CREATE SYNONYM other FOR x", &mut Quiet);
    session.execute("CREATE VIEW k AS SELECT 1 AS n", &mut Quiet);
    let Some(OtherObject::Synonym(old)) = db.catalog().find_other("dbo", "other").cloned() else {
        panic!("no synonym")
    };
    let named = OtherObject::Synonym(Arc::new(SynonymDef {
        object_id: 1 << 30,
        schema: old.schema.clone(),
        name: "K".into(),
        base: old.base.clone(),
        create_date: old.create_date.clone(),
    }));
    is_taken_at_last(&mut session, "DROP VIEW k", 2714, || {
        DdlChange::other(&db, TAKER, None, Some(named.clone()))
    });
}

#[test]
fn a_constraints_name() {
    let (_instance, mut session, db) = opened();
    session.execute(
        "CREATE TABLE c (n int CONSTRAINT k CHECK (n > 0)); CREATE TABLE d (n int)",
        &mut Quiet,
    );
    let (with, before) = {
        let catalog = db.catalog();
        (catalog.find("dbo", "c").cloned().unwrap(), catalog.find("dbo", "d").cloned().unwrap())
    };
    let mut after = TableDef::clone(&before);
    after.checks = with.checks.clone();
    let after = Arc::new(after);
    is_taken_at_last(&mut session, "ALTER TABLE c DROP CONSTRAINT k", 2714, || {
        DdlChange::table(
            &db,
            TAKER,
            Some(before.clone()),
            Some(after.clone()),
            CreatedUnits::default(),
        )
    });
}

#[test]
fn a_types_name() {
    let (_instance, mut session, db) = opened();
    session.execute("CREATE TYPE k FROM int", &mut Quiet);
    let old = db.catalog().find_type("dbo", "k").cloned().unwrap();
    let other = Arc::new(AliasDef { type_id: 1 << 20, ..AliasDef::clone(&old) });
    is_taken_at_last(&mut session, "DROP TYPE k", errors::SCHEMA_CHANGED, || {
        DdlChange::alias(&db, TAKER, &other, true)
    });
}

/// Its locks are free by then: whoever waits for it would run again and again.
#[test]
fn a_drop_that_is_not_durable_yet_is_waited_for() {
    let (_instance, mut session, db) = opened();
    let given_up = [(Name::object("dbo", "gone"), 1 << 30)];
    db.give_up(TAKER, &given_up);
    let waiting = std::thread::spawn(move || {
        let mut numbers = Numbers::default();
        session.execute("DROP TABLE gone", &mut numbers);
        numbers.0
    });
    std::thread::sleep(Duration::from_millis(100));
    assert!(!waiting.is_finished());
    db.settle_names(TAKER, &given_up);
    assert_eq!(waiting.join().unwrap(), [3701]);
}

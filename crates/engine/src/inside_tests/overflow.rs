//! Units for values that do not fit: the power may go while one is made; one without its table is
//! no damage and goes at the next start.

use crate::{ColumnInfo, Instance, InstanceOptions, Sink};
use catalog::{Db, OverflowUnit, TableDef};
use pages::{PageId, UnitId};
use sim::SimDisk;
use std::sync::Arc;
use types::{ResultRows, SqlError, Value};

/// Numbers of errors, and values.
#[derive(Default)]
struct Said(Vec<i64>);

impl Sink for Said {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.0.extend(row.iter().filter_map(Value::as_i64));
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.0.push(error.number.into());
        Ok(())
    }
}

fn run(instance: &Arc<Instance>, sql: &str) -> Vec<i64> {
    let mut said = Said::default();
    instance.session().unwrap().execute(sql, &mut said);
    said.0
}

fn current(db: &Db) -> Arc<TableDef> {
    db.catalog().find("dbo", "t").cloned().unwrap()
}

/// The unit of t, and where it begins.
fn unit_of(instance: &Arc<Instance>) -> (UnitId, Option<PageId>) {
    let unit = current(&instance.database("d").unwrap()).overflow.clone().unwrap();
    (unit.unit(), unit.first_iam())
}

fn open(disk: &SimDisk) -> Option<Arc<Instance>> {
    let options = InstanceOptions {
        memory_bytes: Some(16 << 20),
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    Instance::open(options).ok()
}

const INSERT: &str = "INSERT d.dbo.t VALUES (1, REPLICATE('a', 8000), REPLICATE('c', 8000))";

/// The first value of a table, and one of a table whose transaction goes on; whether the first one
/// was acknowledged.
fn first_values(instance: &Arc<Instance>) -> bool {
    let Ok(mut session) = instance.session() else { return false };
    let text = "USE d BEGIN TRAN CREATE TABLE u (a varchar(8000), c varchar(8000))
                INSERT u VALUES (REPLICATE('a', 8000), REPLICATE('c', 8000))";
    session.execute(text, &mut Said::default());
    let mut said = Said::default();
    let Ok(mut other) = instance.session() else { return false };
    other.execute(INSERT, &mut said);
    said.0.is_empty()
}

/// The unit is there with its place, or not at all; nothing is left of the other table's.
#[test]
fn power_loss_while_the_first_value_comes() {
    let disk = SimDisk::new(7);
    let instance = open(&disk).unwrap();
    run(&instance, "CREATE DATABASE d");
    run(&instance, "CREATE TABLE d.dbo.t (id int PRIMARY KEY, a varchar(8000), c varchar(8000))");
    assert_eq!(unit_of(&instance).1, None);
    instance.close().unwrap();
    drop(instance);
    let ios = {
        let disk = disk.crash(0);
        let before = disk.io_count();
        let instance = open(&disk).unwrap();
        assert!(first_values(&instance));
        disk.io_count() - before
    };
    for at in (1..=ios + 1).step_by((ios / 80 + 1) as usize) {
        let disk = disk.crash(at);
        disk.crash_at(disk.io_count() + at);
        let told = open(&disk).is_some_and(|instance| first_values(&instance));
        let disk = disk.crash(at + 1000);
        let instance =
            open(&disk).unwrap_or_else(|| panic!("power loss at {at}: it does not open"));
        let rows = run(&instance, "SELECT COUNT(*) FROM d.dbo.t");
        assert!(rows == [1i64] || rows == [0i64] && !told, "power loss at {at}: {rows:?} rows");
        assert_eq!(run(&instance, "SELECT COUNT(*) FROM d.dbo.u"), [208i64], "power loss at {at}");
        let report = instance.check_database("d").unwrap();
        assert!(report.is_clean(), "power loss at {at}: {report:?}");
        let more = INSERT.replace("(1,", "(2,");
        assert!(run(&instance, &more).is_empty(), "power loss at {at}");
        assert_eq!(
            run(&instance, "SELECT LEN(a), LEN(c) FROM d.dbo.t WHERE id = 2"),
            [8000i64, 8000]
        );
        let report = instance.check_database("d").unwrap();
        assert!(report.is_clean(), "power loss at {at}: {report:?}");
        instance.close().unwrap();
    }
}

/// A rollback of CREATE TABLE has ended before it frees what was made for the table meanwhile: that
/// is no damage. What a crash keeps it from goes at the next start.
#[test]
fn a_unit_without_its_table_is_no_damage() {
    let disk = SimDisk::new(11);
    let instance = open(&disk).unwrap();
    run(&instance, "CREATE DATABASE d");
    let db = instance.database("d").unwrap();
    let storage = db.open().unwrap();
    let number = storage.counters.next_unit(&storage.storage, &storage.trees).unwrap();
    let unit = OverflowUnit::new(number, PageId::NONE, 1);
    catalog::overflow::make(&storage, &unit).unwrap();
    let report = instance.check_database("d").unwrap();
    assert!(report.is_clean(), "{report:?}");
    drop((storage, db));
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk).unwrap();
    let report = instance.check_database("d").unwrap();
    assert!(report.is_clean(), "{report:?}");
    let db = instance.database("d").unwrap();
    let there = db.storage().unwrap().store().open_unit(unit.first_iam().unwrap());
    assert!(there.is_err() || there.is_ok_and(|other| other.id() != number), "it was not freed");
    drop(db);
    instance.close().unwrap();
}

//! Units for values that do not fit: tables of an earlier version get theirs when the database is
//! opened; the power may go while one is made.

use crate::ddl::work::{Work, units_of};
use crate::{ColumnInfo, Instance, InstanceOptions, Sink};
use catalog::{Db, OverflowUnit, TableDef};
use pages::{PageId, UnitId};
use sim::SimDisk;
use std::sync::Arc;
use types::{SqlError, Value};

/// Numbers of errors, and values.
#[derive(Default)]
struct Said(Vec<i64>);

impl Sink for Said {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.0.extend(row.iter().filter_map(Value::as_i64));
        Ok(())
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

/// Makes the table what an earlier version left.
fn without_unit(instance: &Arc<Instance>, db: &Arc<Db>) {
    let before = current(db);
    let after = Arc::new(TableDef { overflow: None, ..TableDef::clone(&before) });
    let mut session = instance.session().unwrap();
    let done = session.with_core(|core| {
        core.begin_statement(false)?;
        let mut change = || -> Result<(), SqlError> {
            let mut work = Work::begin(core, db)?;
            work.lock_current(&before)?;
            work.delete_rows(&before)?;
            work.write_rows(&after)?;
            let stays = units_of(&after);
            work.drop_units(units_of(&before).into_iter().filter(|unit| !stays.contains(unit)).collect())?;
            work.publish(Some(before.clone()), Some(after.clone()))
        };
        let changed = change();
        core.end_statement(changed)
    });
    done.unwrap();
}

fn open(disk: &SimDisk) -> Option<Arc<Instance>> {
    let options = InstanceOptions {
        memory_bytes: Some(16 << 20),
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    Instance::open(options).ok()
}

/// A database on a disk as an earlier version left it, closed.
fn left_before(disk: &SimDisk) {
    let instance = open(disk).unwrap();
    run(&instance, "CREATE DATABASE d");
    run(
        &instance,
        "CREATE TABLE d.dbo.t (id int PRIMARY KEY, a varchar(8000), c varchar(8000))
         CREATE TABLE d.dbo.short (id int PRIMARY KEY, a varchar(8000))",
    );
    let db = instance.database("d").unwrap();
    without_unit(&instance, &db);
    assert_eq!(run(&instance, INSERT).first(), Some(&511));
    assert!(run(&instance, "INSERT d.dbo.t VALUES (2, REPLICATE('a', 8000), '')").is_empty());
    drop(db);
    instance.close().unwrap();
}

const INSERT: &str = "INSERT d.dbo.t VALUES (1, REPLICATE('a', 8000), REPLICATE('c', 8000))";

/// The table has its unit, and takes a row that needs it.
fn takes_long_rows(instance: &Arc<Instance>) {
    let db = instance.database("d").unwrap();
    assert!(current(&db).overflow.is_some());
    assert!(db.catalog().find("dbo", "short").unwrap().overflow.is_none());
    assert!(run(instance, INSERT).is_empty());
    assert_eq!(run(instance, "SELECT LEN(a), LEN(c) FROM d.dbo.t ORDER BY id"), vec![8000i64, 8000, 8000, 0]);
    let report = instance.check_database("d").unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn a_table_of_before_gets_its_unit_at_the_next_start() {
    let disk = SimDisk::new(3);
    left_before(&disk);
    let instance = open(&disk).unwrap();
    takes_long_rows(&instance);
    let unit = unit_of(&instance);
    assert!(unit.1.is_some());
    instance.close().unwrap();
    drop(instance);
    // Once is enough.
    let instance = open(&disk).unwrap();
    assert_eq!(unit_of(&instance), unit);
    instance.close().unwrap();
}

/// The table that gets the rows of one without a unit has one afterwards.
#[test]
fn a_table_of_before_gives_its_rows_to_a_new_one() {
    let disk = SimDisk::new(5);
    let instance = open(&disk).unwrap();
    run(&instance, "CREATE DATABASE d");
    for name in ["t", "s"] {
        let sql = format!("CREATE TABLE d.dbo.{name} (id int PRIMARY KEY, a varchar(8000), c varchar(8000))");
        assert!(run(&instance, &sql).is_empty());
    }
    let db = instance.database("d").unwrap();
    without_unit(&instance, &db);
    assert!(run(&instance, "INSERT d.dbo.t VALUES (2, 'a', 'c')").is_empty());
    assert!(run(&instance, "USE d ALTER TABLE t SWITCH TO s").is_empty());
    for name in ["t", "s"] {
        assert!(run(&instance, &INSERT.replace("dbo.t", &format!("dbo.{name}"))).is_empty(), "{name}");
    }
    assert_eq!(run(&instance, "SELECT id FROM d.dbo.s ORDER BY id"), vec![1i64, 2]);
    let report = instance.check_database("d").unwrap();
    assert!(report.is_clean(), "{report:?}");
    drop(db);
    instance.close().unwrap();
}

#[test]
fn power_loss_while_it_gets_its_unit() {
    let disk = SimDisk::new(4);
    left_before(&disk);
    let ios = {
        let disk = disk.crash(0);
        let before = disk.io_count();
        let instance = open(&disk).unwrap();
        let ios = disk.io_count() - before;
        instance.close().unwrap();
        ios
    };
    for at in (1..=ios + 1).step_by((ios / 60 + 1) as usize) {
        let disk = disk.crash(at);
        disk.crash_at(disk.io_count() + at);
        drop(open(&disk));
        let disk = disk.crash(at + 1000);
        let instance = open(&disk).unwrap_or_else(|| panic!("power loss at {at}: it does not open"));
        takes_long_rows(&instance);
        instance.close().unwrap();
    }
}

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
        let instance = open(&disk).unwrap_or_else(|| panic!("power loss at {at}: it does not open"));
        let rows = run(&instance, "SELECT COUNT(*) FROM d.dbo.t");
        assert!(rows == [1i64] || rows == [0i64] && !told, "power loss at {at}: {rows:?} rows");
        assert_eq!(run(&instance, "SELECT COUNT(*) FROM d.dbo.u"), [208i64], "power loss at {at}");
        let report = instance.check_database("d").unwrap();
        assert!(report.is_clean(), "power loss at {at}: {report:?}");
        let more = INSERT.replace("(1,", "(2,");
        assert!(run(&instance, &more).is_empty(), "power loss at {at}");
        assert_eq!(run(&instance, "SELECT LEN(a), LEN(c) FROM d.dbo.t WHERE id = 2"), [8000i64, 8000]);
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

//! Tables of an earlier version: they get their unit for values that do not fit when the database is opened.

use super::work::{Work, units_of};
use crate::{ColumnInfo, Instance, InstanceOptions, Sink};
use catalog::{Db, TableDef};
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

#[test]
fn a_table_of_before_gets_its_unit_at_the_next_start() {
    let disk = SimDisk::new(3);
    let open = || {
        let options = InstanceOptions {
            memory_bytes: Some(16 << 20),
            disk: Arc::new(disk.clone()),
            ..InstanceOptions::new("/data")
        };
        Instance::open(options).unwrap()
    };
    let instance = open();
    run(&instance, "CREATE DATABASE d");
    run(
        &instance,
        "CREATE TABLE d.dbo.t (id int PRIMARY KEY, a varchar(8000), c varchar(8000))
         CREATE TABLE d.dbo.short (id int PRIMARY KEY, a varchar(8000))",
    );
    let insert = "INSERT d.dbo.t VALUES (1, REPLICATE('a', 8000), REPLICATE('c', 8000))";
    let db = instance.database("d").unwrap();
    without_unit(&instance, &db);
    assert_eq!(run(&instance, insert).first(), Some(&511));
    assert!(run(&instance, "INSERT d.dbo.t VALUES (2, REPLICATE('a', 8000), '')").is_empty());
    drop(db);
    instance.close().unwrap();
    drop(instance);
    let instance = open();
    let db = instance.database("d").unwrap();
    assert!(current(&db).overflow.is_some());
    assert!(db.catalog().find("dbo", "short").unwrap().overflow.is_none());
    assert!(run(&instance, insert).is_empty());
    assert_eq!(
        run(&instance, "SELECT LEN(a), LEN(c) FROM d.dbo.t ORDER BY id"),
        vec![8000i64, 8000, 8000, 0]
    );
    let report = instance.check_database("d").unwrap();
    assert!(report.is_clean(), "{report:?}");
    let unit = current(&db).overflow;
    drop(db);
    instance.close().unwrap();
    drop(instance);
    // Once is enough.
    let instance = open();
    assert_eq!(current(&instance.database("d").unwrap()).overflow, unit);
    instance.close().unwrap();
}

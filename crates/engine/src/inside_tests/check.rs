//! A check of a database that is cancelled.

use crate::{ColumnInfo, Instance, InstanceOptions, Sink};
use sim::SimDisk;
use statements::dbcc::check::check_all;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

/// Takes no errors.
struct Quiet;

impl Sink for Quiet {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("{error:?}")
    }
}

/// It says so, and not that the rows which it has not read are damaged.
#[test]
fn a_check_that_is_cancelled_reports_no_damage() {
    let options = InstanceOptions {
        memory_bytes: Some(16 << 20),
        disk: Arc::new(SimDisk::new(4)),
        ..InstanceOptions::new("/data")
    };
    let instance = Instance::open(options).unwrap();
    let mut session = instance.session().unwrap();
    session.execute("CREATE DATABASE d", &mut Quiet);
    session.execute("CREATE TABLE d.dbo.t (a int PRIMARY KEY, b int UNIQUE)", &mut Quiet);
    session.execute("INSERT d.dbo.t VALUES (1, 2)", &mut Quiet);
    let db = instance.database("d").unwrap();
    let mut check = |cancel: bool| {
        session.with_core(|core| {
            core.begin_statement(false)?;
            core.shared.cancel.store(cancel, Ordering::Relaxed);
            let report = check_all(core, &db);
            core.shared.cancel.store(false, Ordering::Relaxed);
            core.end_statement(report)
        })
    };
    let error = check(true).unwrap_err();
    assert_eq!(error.number, catalog::errors::cancelled().number);
    let report = check(false).unwrap();
    assert!(report.is_clean() && report.tables.len() == 1, "{report:?}");
}

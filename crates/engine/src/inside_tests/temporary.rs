//! What a session keeps of its temporary tables.

use std::sync::Arc;

use crate::{Instance, InstanceOptions, Sink};

struct Nothing;

impl Sink for Nothing {
    fn error(&mut self, error: &types::SqlError) -> Result<(), types::SqlError> {
        panic!("{error}")
    }
}

/// The list is walked at each creation and each end of a scope.
#[test]
fn names_of_dropped_tables_do_not_gather() {
    let disk = Arc::new(sim::SimDisk::new(3));
    let options =
        InstanceOptions { memory_bytes: Some(64 << 20), disk, ..InstanceOptions::new("/data") };
    let instance = Instance::open(options).unwrap();
    let mut session = instance.session().unwrap();
    let mut run = |sql: &str| {
        session.execute(sql, &mut Nothing);
        session.with_core(|core| core.objects.temps.list.len())
    };
    assert_eq!(run("create table #kept (n int) declare @v table (n int)"), 1);
    let gone = "declare @i int = 0 while @i < 100 begin create table #t (n int) drop table #t set @i += 1 end";
    assert!(run(gone) <= 10);
    run(
        "exec ('create procedure p as create table #t (n int) drop table #t create table #u (n int)')",
    );
    assert!(run("declare @i int = 0 while @i < 100 begin exec p set @i += 1 end") <= 10);
    run("insert #kept values (1)");
}

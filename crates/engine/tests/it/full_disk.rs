//! A full disk and a full log: the statement gets the right error, nothing that was acknowledged is
//! lost, and work goes on once there is space.

use crate::support::text::{self, say};
use engine::Instance;
use sim::SimDisk;
use std::sync::Arc;

fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 8 << 20).expect("the instance opens")
}

const FILL: &str = "use f; set nocount on; declare @i int = 0;
    while @i < 3000 begin insert big values (@i, replicate('x', 8000)); set @i += 1 end";

fn create(instance: &Arc<Instance>, log: &str) {
    let text = format!(
        "create database f on (name = d, filename = 'f.mdf', size = 4MB, filegrowth = 1MB)
         log on (name = l, filename = 'f.ldf', {log})"
    );
    assert_eq!(say(instance, &text), "");
    assert_eq!(say(instance, "alter database f set recovery simple"), "");
    let tables =
        "use f create table big(id int not null, words char(8000)) create table small(a int)";
    assert!(!say(instance, tables).contains("Msg"));
    assert!(say(instance, "use f insert small values (1),(2),(3)").contains("(3)"));
}

#[test]
fn a_full_disk_is_said_and_work_goes_on_when_there_is_space() {
    let disk = Arc::new(SimDisk::new(11));
    let instance = open(&disk);
    create(&instance, "size = 1MB, filegrowth = 1MB");
    disk.set_capacity(32 << 20);
    let said = say(&instance, FILL);
    assert!(
        said.contains("Msg 1105") || said.contains("Msg 9002") || said.contains("Msg 5149"),
        "{said}"
    );
    assert_eq!(say(&instance, "select sum(a) from f..small"), "6");
    let before = say(&instance, "select count(*) from f..big");
    disk.set_capacity(1 << 40);
    assert!(
        say(&instance, "use f insert big values (1, 'after') insert small values (4)")
            .contains("(1)")
    );
    assert_eq!(say(&instance, "select sum(a) from f..small"), "10");
    assert!(instance.check_database("f").unwrap().is_clean());
    instance.close().unwrap();
    let instance = open(&disk);
    let after: u32 = say(&instance, "select count(*) from f..big").parse().unwrap();
    assert_eq!(after, before.parse::<u32>().unwrap() + 1);
}

#[test]
fn a_full_log_says_why_and_is_usable_after_the_rollback() {
    let disk = Arc::new(SimDisk::new(12));
    let instance = open(&disk);
    create(&instance, "size = 2MB, maxsize = 4MB, filegrowth = 1MB");
    let said = say(&instance, &format!("use f begin tran; {FILL}"));
    // Which of the two holds the log depends on whether the background checkpoint was quicker.
    let why = said.contains("'ACTIVE_TRANSACTION'") || said.contains("'CHECKPOINT'");
    assert!(said.contains("Msg 9002") && why, "{said}");
    assert_eq!(say(&instance, "select count(*) from f..big"), "0");
    assert!(say(&instance, "use f checkpoint insert small values (4)").contains("(1)"));
    assert_eq!(say(&instance, "select sum(a) from f..small"), "10");
    assert!(instance.check_database("f").unwrap().is_clean());
}

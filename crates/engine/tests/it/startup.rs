//! Procedures that run when the instance has started: which may, the login that they run as, what
//! their errors come to, and that one that never ends keeps the instance neither from opening nor
//! from closing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::text::{Text, fails, options, run, say};
use engine::{ClientInfo, Instance, InstanceOptions};
use sim::SimDisk;

const MEMORY: u64 = 32 << 20;

fn open(disk: &SimDisk) -> Arc<Instance> {
    Instance::open(options(disk, MEMORY)).unwrap()
}

/// Waits until a query gives an answer.
#[track_caller]
fn comes(instance: &Arc<Instance>, sql: &str, answer: &str) {
    let begin = Instant::now();
    while say(instance, sql) != answer {
        assert!(begin.elapsed() < Duration::from_secs(30), "{sql}\n{}", say(instance, sql));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn log(instance: &Instance) -> String {
    instance.error_log().lines().join("\n")
}

/// A procedure that writes down who runs it.
const NOTES: &str = "CREATE TABLE dbo.starts (id int IDENTITY, who nvarchar(100), db sysname); \
     EXEC('CREATE PROCEDURE dbo.note AS INSERT dbo.starts SELECT SUSER_NAME() + N''/'' + USER_NAME(), DB_NAME()')";

#[test]
fn what_is_set_runs_at_each_start_as_sa_in_master() {
    let disk = SimDisk::new(5);
    let instance = open(&disk);
    run(&instance, NOTES);
    let shown = "SELECT OBJECTPROPERTY(OBJECT_ID('note'), 'ExecIsStartup'), is_auto_executed FROM sys.procedures WHERE name = 'note'";
    assert_eq!(say(&instance, shown), "0|0");
    run(&instance, "EXEC sp_procoption 'note', 'startup', 'on'");
    assert_eq!(say(&instance, shown), "1|1");
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM starts"), "0", "setting it runs nothing");
    instance.close().unwrap();
    let instance = open(&disk);
    comes(&instance, "SELECT who, db FROM starts", "sa/dbo|master");
    assert!(log(&instance).contains("Launched startup procedure 'note'."));
    // After a crash too; ALTER by who may all keeps it, a rename as well.
    run(
        &instance,
        "EXEC('ALTER PROCEDURE dbo.note AS INSERT dbo.starts VALUES (N''altered'', N''x'')')",
    );
    run(&instance, "EXEC sp_rename 'note', 'note]2'");
    drop(instance);
    let disk = disk.crash(1);
    let instance = open(&disk);
    comes(&instance, "SELECT COUNT(*) FROM starts WHERE who = 'altered'", "1");
    run(
        &instance,
        "EXEC sp_procoption @ProcName = 'master.dbo.[note]]2]', @OptionName = 'STARTUP', @OptionValue = 'False'",
    );
    instance.close().unwrap();
    let instance = open(&disk);
    assert!(!log(&instance).contains("Launched"));
    instance.close().unwrap();
    // The trace flag, and a folder that is only read.
    let instance = open(&disk);
    run(&instance, "EXEC sp_procoption 'dbo.[note]]2]', 'startup', '1'");
    instance.close().unwrap();
    let quiet =
        Instance::open(InstanceOptions { trace_flags: vec![4022], ..options(&disk, MEMORY) })
            .unwrap();
    assert!(!log(&quiet).contains("Launched"));
    quiet.close().unwrap();
    let only_read =
        Instance::open(InstanceOptions { read_only: true, ..options(&disk, MEMORY) }).unwrap();
    assert!(!log(&only_read).contains("Launched"));
    assert_eq!(say(&only_read, "SELECT COUNT(*) FROM starts"), "2");
}

#[test]
fn only_procedures_without_parameters_of_dbo_in_master_may() {
    let instance = open(&SimDisk::new(6));
    run(&instance, NOTES);
    run(
        &instance,
        "EXEC('CREATE PROCEDURE dbo.takes @a int = 1 AS SELECT 1'); EXEC('CREATE SCHEMA other')",
    );
    run(
        &instance,
        "EXEC('CREATE PROCEDURE other.p AS SELECT 1'); EXEC('CREATE FUNCTION dbo.f() RETURNS int AS BEGIN RETURN 1 END')",
    );
    run(&instance, "CREATE USER ann WITHOUT LOGIN; EXEC('CREATE PROCEDURE dbo.anns AS SELECT 1')");
    run(&instance, "ALTER AUTHORIZATION ON dbo.anns TO ann; CREATE DATABASE d");
    for (call, error) in [
        ("'nosuch', 'startup', 'on'", 15_165),
        ("'starts', 'startup', 'on'", 15_165),
        ("'f', 'startup', 'on'", 15_165),
        ("'d.dbo.note', 'startup', 'on'", 15_165),
        ("'other.p', 'startup', 'on'", 15_398),
        ("'anns', 'startup', 'on'", 15_398),
        ("'takes', 'startup', 'on'", 15_399),
        ("'note', 'colour', 'on'", 15_600),
        ("'note', 'startup', 'maybe'", 15_600),
        ("'note', 'startup', NULL", 15_600),
        ("'note', 'startup'", 201),
    ] {
        fails(&instance, &format!("EXEC sp_procoption {call}"), &[error]);
    }
    let said =
        fails(&instance, "BEGIN TRAN; EXEC sp_procoption 'note', 'startup', 'on'", &[15_002]);
    assert!(
        said.contains("The procedure 'sys.sp_procoption' cannot be executed within a transaction.")
    );
    run(&instance, "USE d; EXEC('CREATE PROCEDURE dbo.note AS SELECT 1')");
    fails(&instance, "USE d; EXEC sp_procoption 'note', 'startup', 'on'", &[15_398]);
}

#[test]
fn who_is_not_trusted_with_everything_can_neither_set_nor_change_what_runs() {
    let disk = SimDisk::new(7);
    let instance = open(&disk);
    run(&instance, NOTES);
    run(
        &instance,
        "CREATE LOGIN ann WITH PASSWORD = 'An-0ther-one'; CREATE USER ann FOR LOGIN ann",
    );
    run(
        &instance,
        "EXEC('CREATE PROCEDURE dbo.mine AS SELECT 1'); EXEC('CREATE PROCEDURE dbo.given AS SELECT 1')",
    );
    run(&instance, "ALTER ROLE db_owner ADD MEMBER ann");
    run(
        &instance,
        "EXEC sp_procoption 'note', 'startup', 'on'; EXEC sp_procoption 'given', 'startup', 'on'",
    );
    let token = instance.authenticate("ann", "An-0ther-one", &ClientInfo::default()).unwrap();
    let mut ann = instance.session_for(&token, None).unwrap();
    let mut said = |sql: &str| {
        let mut out = Text::default();
        ann.execute(sql, &mut out);
        out.out.trim().to_string()
    };
    let refused = "Msg 15247: User does not have permission to perform this action.";
    assert_eq!(said("EXEC sp_procoption 'mine', 'startup', 'on'"), refused);
    assert_eq!(said("EXEC sp_procoption 'note', 'startup', 'off'"), refused);
    let sneaky = "ALTER SERVER ROLE sysadmin ADD MEMBER ann";
    assert_eq!(said(&format!("EXEC('ALTER PROCEDURE dbo.note AS {sneaky}')")), "");
    let shown = "SELECT name FROM sys.procedures WHERE is_auto_executed = 1";
    assert_eq!(say(&instance, shown), "given", "what ann has changed does not run as sa");
    // One that is taken over is not dbo's any more, also by a transfer there and back.
    assert_eq!(said("ALTER AUTHORIZATION ON dbo.given TO ann"), "");
    drop(ann);
    instance.close().unwrap();
    let instance = open(&disk);
    assert!(!log(&instance).contains("Launched"), "{}", log(&instance));
    assert_eq!(say(&instance, "SELECT IS_SRVROLEMEMBER('sysadmin', 'ann')"), "0");
}

#[test]
fn errors_are_in_the_error_log_and_stop_no_other() {
    let disk = SimDisk::new(8);
    let instance = open(&disk);
    run(&instance, NOTES);
    run(
        &instance,
        "EXEC('CREATE PROCEDURE dbo.bad AS SELECT 1; RAISERROR(''no luck'', 16, 3); SELECT * FROM nosuch')",
    );
    run(
        &instance,
        "EXEC sp_procoption 'bad', 'startup', 'on'; EXEC sp_procoption 'note', 'startup', 'on'",
    );
    instance.close().unwrap();
    let instance = open(&disk);
    comes(&instance, "SELECT COUNT(*) FROM starts", "1");
    let begin = Instant::now();
    while !log(&instance).contains("Error: 208, Severity: 16") {
        assert!(begin.elapsed() < Duration::from_secs(30), "{}", log(&instance));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(
        log(&instance).contains("Error: 50000, Severity: 16, State: 3. no luck"),
        "{}",
        log(&instance)
    );
    comes(&instance, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id <> @@SPID", "0");
}

#[test]
fn one_that_never_ends_is_ended_with_the_instance() {
    let disk = SimDisk::new(9);
    let instance = open(&disk);
    run(&instance, NOTES);
    run(
        &instance,
        "EXEC('CREATE PROCEDURE dbo.waits AS EXEC note; BEGIN TRAN; DELETE starts; WAITFOR DELAY ''23:00''')",
    );
    run(&instance, "EXEC('CREATE PROCEDURE dbo.turns AS WHILE 1 = 1 SET NOCOUNT ON')");
    run(
        &instance,
        "EXEC sp_procoption 'waits', 'startup', 'on'; EXEC sp_procoption 'turns', 'startup', 'on'",
    );
    instance.close().unwrap();
    let instance = open(&disk);
    let running = "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id <> @@SPID";
    comes(&instance, running, "2");
    comes(&instance, "SELECT COUNT(*) FROM starts WITH (READUNCOMMITTED)", "0");
    let begin = Instant::now();
    instance.close().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(20));
    drop(instance);
    let quiet =
        Instance::open(InstanceOptions { trace_flags: vec![4022], ..options(&disk, MEMORY) })
            .unwrap();
    assert_eq!(
        say(&quiet, "SELECT who FROM starts"),
        "sa/dbo",
        "the transaction that was open is rolled back"
    );
}

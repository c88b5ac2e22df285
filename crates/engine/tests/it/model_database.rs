//! model: it is there, new databases get its options, and what they would not get is refused.

use crate::support::text::{Bench, fails, options, run, say};
use disk::Disk;
use engine::{ClientInfo, Instance};
use sim::SimDisk;
use std::path::Path;

#[test]
fn it_is_there() {
    let mut b = Bench::new();
    b.check("SELECT database_id, name, state_desc, recovery_model_desc FROM sys.databases WHERE database_id < 5 ORDER BY 1",
        "1|master|ONLINE|SIMPLE\n2|tempdb|ONLINE|SIMPLE\n3|model|ONLINE|FULL\n4|msdb|ONLINE|SIMPLE");
    b.check("SELECT DB_ID('model'), DB_NAME(3)", "3|model");
    b.check(
        "EXEC ('USE model; SELECT DB_NAME(), COUNT(*) FROM sys.tables')",
        "Changed database context to 'model'.\nmodel|0",
    );
    let mut session = b.instance.session().unwrap();
    session.use_database("model").unwrap();
    assert_eq!(session.database(), "model");
    fails(&b.instance, "DROP DATABASE model", &[3708]);
    fails(&b.instance, "CREATE DATABASE model", &[1801]);
}

#[test]
fn new_databases_get_its_options() {
    let b = Bench::new();
    let i = &b.instance;
    run(i, "ALTER DATABASE model SET READ_COMMITTED_SNAPSHOT OFF");
    run(i, "ALTER DATABASE model SET RECOVERY SIMPLE");
    run(
        i,
        "ALTER DATABASE model SET RECURSIVE_TRIGGERS ON, COMPATIBILITY_LEVEL = 140, DELAYED_DURABILITY = ALLOWED",
    );
    let shown = |name: &str| {
        say(
            i,
            &format!(
                "SELECT is_read_committed_snapshot_on, recovery_model_desc, is_recursive_triggers_on, compatibility_level, delayed_durability_desc FROM sys.databases WHERE name = '{name}'"
            ),
        )
    };
    run(i, "CREATE DATABASE after");
    assert_eq!(shown("after"), "0|SIMPLE|1|140|ALLOWED");
    assert_eq!(shown("t"), "1|FULL|0|160|DISABLED");
    run(
        i,
        "ALTER DATABASE model SET READ_COMMITTED_SNAPSHOT ON, RECURSIVE_TRIGGERS OFF, COMPATIBILITY_LEVEL = 160, DELAYED_DURABILITY = DISABLED",
    );
    run(i, "ALTER DATABASE model SET RECOVERY FULL; CREATE DATABASE again");
    assert_eq!(shown("again"), "1|FULL|0|160|DISABLED");
    assert_eq!(shown("after"), "0|SIMPLE|1|140|ALLOWED");
    // The files are each its own.
    assert_eq!(
        say(
            i,
            "SELECT COUNT(DISTINCT physical_name) FROM sys.master_files WHERE database_id IN (3, DB_ID('after'), DB_ID('again'))"
        ),
        "6"
    );
}

#[test]
fn what_new_databases_would_not_get_is_refused() {
    let b = Bench::new();
    let i = &b.instance;
    for text in [
        "CREATE TABLE t (a int)",
        "SELECT 1 AS a INTO t",
        "CREATE TYPE t FROM int",
        "CREATE USER u WITHOUT LOGIN",
        "GRANT CREATE TABLE TO public",
    ] {
        fails(i, &format!("USE model; {text}"), &[40510]);
    }
    fails(i, "USE model; EXEC ('CREATE VIEW v AS SELECT 1 AS a')", &[40510]);
    fails(i, "USE model; EXEC ('CREATE SCHEMA s')", &[40510]);
    fails(i, "ALTER DATABASE model ADD FILE (NAME = x, FILENAME = 'x.ndf')", &[5013, 5069]);
    fails(i, "ALTER DATABASE model ADD FILEGROUP x", &[40510, 5069]);
    fails(i, "ALTER DATABASE model COLLATE Latin1_General_BIN", &[40510, 5069]);
    fails(i, "ALTER DATABASE model SET SINGLE_USER", &[5058, 5069]);
    fails(i, "ALTER AUTHORIZATION ON DATABASE::model TO sa", &[15109]);
    // What is temporary is not model's.
    run(
        i,
        "USE model; CREATE TABLE #t (a int); DECLARE @v TABLE (a int); INSERT #t VALUES (1); DROP TABLE #t",
    );
    // A login that has no user there is not let in.
    run(i, "CREATE LOGIN ann WITH PASSWORD = 'Some-l0ng-one'");
    let token = i.authenticate("ann", "Some-l0ng-one", &ClientInfo::default()).unwrap();
    assert_eq!(i.session_for(&token, Some("model")).map(drop).unwrap_err().number, 4060);
    assert!(i.session_for(&token, Some("msdb")).is_ok());
}

/// A folder of a version that had no model gets one at the next start.
#[test]
fn a_folder_without_it_gets_one() {
    let sim = SimDisk::new(7);
    let instance = Instance::open(options(&sim, 64 << 20)).unwrap();
    run(&instance, "CREATE DATABASE kept");
    instance.close().unwrap();
    drop(instance);
    let place = |name: &str| Path::new("/data").join(name);
    // Without the list it is made again of the files that are there.
    for name in ["databases.registry", "databases.registry.copy", "model.mdf", "model_log.ldf"] {
        sim.remove(&place(name)).unwrap();
    }
    for _ in 0..2 {
        let instance = Instance::open(options(&sim, 64 << 20)).unwrap();
        let state = "SELECT database_id, state_desc FROM sys.databases WHERE name = 'model'";
        assert_eq!(say(&instance, state), "3|ONLINE");
        assert_eq!(say(&instance, "SELECT DB_ID('kept')"), "5");
        instance.close().unwrap();
    }
    assert!(sim.exists(&place("model.mdf")).unwrap());
}

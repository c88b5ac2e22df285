//! Transactions over several databases through T-SQL: power loss at any I/O of their commits, a
//! database whose coordinator is missing, and what an administrator does then.

use crate::support::text::{self, fails, power_loss, run, say};
use disk::Disk;
use engine::Instance;
use sim::SimDisk;
use std::path::Path;
use std::sync::Arc;

fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 16 << 20).expect("the instance opens")
}

/// Three databases with a table each, after a checkpoint.
fn three(disk: &SimDisk) {
    let instance = open(disk);
    for name in ["a", "b", "c"] {
        run(&instance, &format!("CREATE DATABASE {name}"));
        run(&instance, &format!("CREATE TABLE {name}..t (id int PRIMARY KEY, words varchar(200))"));
    }
    instance.close().unwrap();
}

/// Ten transactions over two or three databases.
const WORK: &str = "SET NOCOUNT ON; DECLARE @i int = 0;
    WHILE @i < 10 BEGIN
        BEGIN TRAN;
        INSERT b..t VALUES (@i, REPLICATE('b', @i * 10));
        INSERT a..t VALUES (@i, 'a');
        IF @i % 2 = 0 INSERT c..t VALUES (@i, 'c');
        COMMIT;
        SET @i += 1;
    END";
const STATE: &str = "SELECT COUNT(*), SUM(id) FROM a..t; SELECT COUNT(*), SUM(id) FROM b..t;
                     SELECT COUNT(*), SUM(id) FROM a..t WHERE id % 2 = 0; SELECT COUNT(*), SUM(id) FROM c..t";

fn check_whole(instance: &Arc<Instance>, at: u64) {
    let said = say(instance, STATE);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 4 && lines[0] == lines[1] && lines[2] == lines[3], "I/O {at}: {said}");
    for name in ["a", "b", "c"] {
        run(instance, &format!("DBCC CHECKDB ({name}) WITH NO_INFOMSGS"));
    }
}

#[test]
fn power_loss_in_commits_over_several_databases() {
    let disk = SimDisk::new(31);
    three(&disk);
    let mut states = std::collections::BTreeSet::new();
    power_loss(&disk, open, WORK, 60, |instance, _, at| {
        check_whole(instance, at);
        states.insert(say(instance, "SELECT COUNT(*) FROM b..t"));
        run(
            instance,
            "BEGIN TRAN INSERT a..t VALUES (100, 'x') INSERT b..t VALUES (100, 'x') COMMIT",
        );
    });
    assert!(states.len() > 5, "{states:?}");
}

/// A change of schema in one database and rows in another are taken back together.
#[test]
fn a_failed_commit_takes_everything_back() {
    let disk = SimDisk::new(32);
    three(&disk);
    let instance = open(&disk);
    let mut session = instance.session().unwrap();
    let mut said = text::Text::default();
    session
        .execute("BEGIN TRAN CREATE TABLE a..made (id int) INSERT b..t VALUES (1, 'x')", &mut said);
    assert!(!said.out.contains("Msg"), "{}", said.out);
    disk.fail_on(Path::new("/data/b_log.ldf"), sim::OpKind::Any, 1, sim::Fault::Io);
    let mut said = text::Text::default();
    session.execute("COMMIT", &mut said);
    assert!(said.out.contains("Msg"), "b cannot prepare: {}", said.out);
    fails(&instance, "SELECT * FROM a..made", &[208]);
    run(&instance, "CREATE TABLE a..made (other int)");
    run(&instance, "ALTER DATABASE b SET ONLINE");
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM b..t"), "0");
}

/// The database that decides is missing: the others that need it are RECOVERY_PENDING and say so,
/// and an administrator can decide, or bring it back.
#[test]
fn a_database_in_doubt_waits_for_its_coordinator_or_an_administrator() {
    let disk = SimDisk::new(33);
    three(&disk);
    let (log, kept) = (Path::new("/data/a_log.ldf"), Path::new("/data/a_log.kept"));
    let mut met = [0; 3];
    for at in 1..80 {
        let disk = disk.crash(at);
        let instance = open(&disk);
        disk.crash_at(disk.io_count() + at);
        say(&instance, WORK);
        drop(instance);
        let disk = disk.crash(at);
        disk.rename(log, kept).unwrap();
        let instance = open(&disk);
        let state = || say(&instance, "SELECT state_desc FROM sys.databases WHERE name = 'b'");
        if state() != "RECOVERY_PENDING" {
            continue;
        }
        let lines = instance.error_log().lines().join("\n");
        let told = lines.split("UOW {").nth(1).expect("the error log names it");
        assert!(lines.contains("3437") && told.contains("decided by database 'a'"), "{lines}");
        let unit = &told[..36];
        fails(&instance, "KILL '00000000-0000-0000-0000-000000000001' WITH COMMIT", &[6110]);
        let way = at % 3;
        met[way as usize] += 1;
        match way {
            0 => run(&instance, &format!("KILL '{unit}' WITH ROLLBACK")),
            1 => run(&instance, &format!("KILL '{unit}' WITH COMMIT")),
            _ => {
                disk.rename(kept, log).unwrap();
                run(&instance, "ALTER DATABASE a SET ONLINE; ALTER DATABASE b SET ONLINE");
            }
        }
        assert_eq!(state(), "ONLINE");
        if way == 2 {
            run(
                &instance,
                "IF EXISTS (SELECT * FROM sys.databases WHERE name = 'c' AND state <> 0)
                            ALTER DATABASE c SET ONLINE",
            );
            check_whole(&instance, at);
        }
        drop(instance);
        // What was decided is durable, and nobody asks again.
        let instance = open(&disk.crash(at));
        assert_eq!(
            say(&instance, "SELECT state_desc FROM sys.databases WHERE name = 'b'"),
            "ONLINE"
        );
    }
    assert!(met.iter().all(|n| *n > 0), "{met:?}");
}

//! The thread of an instance that does what nobody asks for: it does its work, waits for nobody for
//! ever, goes on after an error, and ends with the instance at once.

use crate::support::text::{Text, options, run, say};
use catalog::errorlog::Echo;
use engine::{Instance, InstanceOptions, Session};
use parking_lot::Mutex;
use sim::SimDisk;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An instance whose thread comes round this often, and what it writes to its error log.
fn open(period: Duration) -> (Arc<Instance>, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let heard = lines.clone();
    let echo = Echo(Arc::new(move |line| heard.lock().push(line.text.to_string())));
    let disk = SimDisk::new(5);
    let options =
        InstanceOptions { chore_period: period, log_echo: Some(echo), ..options(&disk, 32 << 20) };
    (Instance::open(options).unwrap(), lines)
}

/// A database with a versioned table that keeps its history for a day, and a row of a year ago in
/// that.
fn database(instance: &Arc<Instance>, name: &str) {
    run(instance, &format!("CREATE DATABASE {name}"));
    for text in [
        "CREATE TABLE past (id int NOT NULL, s datetime2 NOT NULL, e datetime2 NOT NULL, INDEX cx CLUSTERED (e, s))",
        "INSERT past VALUES (1, DATEADD(year, -2, SYSUTCDATETIME()), DATEADD(year, -1, SYSUTCDATETIME())),
            (2, DATEADD(year, -2, SYSUTCDATETIME()), SYSUTCDATETIME())",
        "CREATE TABLE t (id int PRIMARY KEY, s datetime2 GENERATED ALWAYS AS ROW START NOT NULL, e datetime2 GENERATED ALWAYS AS
            ROW END NOT NULL, PERIOD FOR SYSTEM_TIME (s, e))
            WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.past, HISTORY_RETENTION_PERIOD = 1 DAY))",
    ] {
        run(instance, &format!("USE {name} {text}"));
    }
}

/// Waits until something is so.
#[track_caller]
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Puts an old row into a history once more, and keeps all others from it until COMMIT.
fn hold(instance: &Arc<Instance>) -> Session {
    let mut holder = instance.session().unwrap();
    let mut said = Text::default();
    holder.execute(
        "USE a BEGIN TRAN ALTER TABLE t SET (SYSTEM_VERSIONING = OFF) INSERT past VALUES (1, '2001-01-01', '2002-01-01')
            ALTER TABLE t SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.past, HISTORY_RETENTION_PERIOD = 1 DAY)) COMMIT
            BEGIN TRAN SELECT COUNT(*) FROM past WITH (TABLOCKX)",
        &mut said,
    );
    assert!(!said.out.contains("Msg"), "{}", said.out);
    holder
}

#[test]
fn an_error_keeps_no_other_chore_from_its_turn() {
    let (instance, log) = open(Duration::from_millis(10));
    database(&instance, "a");
    let history = |name: &str| say(&instance, &format!("SELECT id FROM {name}.dbo.past"));
    // Somebody has the history: it is left alone, and the other is cleaned.
    let mut holder = hold(&instance);
    database(&instance, "b");
    wait("the other database is cleaned", || history("b") == "2");
    let failed = "Histories of 'a' were not cleaned: Lock request time out period exceeded.";
    wait("the error is written down", || log.lock().iter().any(|line| line == failed));
    // It is tried again.
    holder.execute("COMMIT", &mut Text::default());
    wait("the first database is cleaned", || history("a") == "2");
    assert!(!log.lock().iter().any(|line| line.contains("Histories of 'b'")), "{:?}", log.lock());
    instance.close().unwrap();
}

#[test]
fn it_ends_with_the_instance() {
    // While it waits for its time.
    let (instance, _) = open(Duration::from_secs(3600));
    let begun = Instant::now();
    instance.close().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // While it waits for somebody else: the end of its patience would be written down.
    let (instance, log) = open(Duration::from_millis(10));
    database(&instance, "a");
    let _holder = hold(&instance);
    log.lock().clear();
    let waits = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_status = 'WAIT'";
    wait("it waits", || say(&instance, waits) != "0");
    instance.close().unwrap();
    let failed = log.lock().iter().filter(|line| line.contains("Histories")).count();
    assert_eq!(failed, 0, "{:?}", log.lock());
}

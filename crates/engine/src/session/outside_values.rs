//! Rows that a keyset cursor looks up, and their values outside of them: these are read after the
//! row was, and after its lock was given back where it does not stay.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use types::{ResultRows, SqlError, Value};

use super::Session;
use crate::Instance;
use instance::InstanceOptions;
use session::output::Sink;

/// The rows of a batch; fails at any error.
#[derive(Default)]
struct Rows(Vec<Vec<Value>>);

impl Sink for Rows {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.0.push(row.to_vec());
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("{error}")
    }
}

fn run(session: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    let mut rows = Rows::default();
    session.execute(sql, &mut rows);
    rows.0
}

fn session(instance: &Arc<Instance>) -> Session {
    let mut session = instance.session().expect("a session");
    session.use_database("d").expect("the database");
    session
}

/// Bytes of the large value.
const LARGE: usize = 300_000;

/// A change of all values of a row to texts of one letter.
fn change(table: &str, id: usize, letter: char) -> String {
    format!(
        "update {table} set v = replicate(cast('{letter}' as varchar(max)), {LARGE}),
           a = replicate('{letter}', 8000), b = replicate('{letter}', 8000) where id = {id}"
    )
}

/// A row as one change has left it.
#[track_caller]
fn is_whole(row: &[Value], kind: &str) {
    let texts: Vec<&str> = row[1..].iter().filter_map(Value::as_str).collect();
    assert_eq!(
        texts.iter().map(|text| text.len()).collect::<Vec<_>>(),
        [LARGE, 8000, 8000],
        "{kind}"
    );
    let first = texts[0].as_bytes()[0];
    assert!(texts.iter().all(|text| text.bytes().all(|byte| byte == first)), "{kind}: a torn row");
}

/// Another session replaces the values, and what it has replaced is freed at once.
#[test]
fn values_stay_while_a_keyset_cursor_reads_them() {
    let disk = Arc::new(sim::SimDisk::new(1));
    let options =
        InstanceOptions { memory_bytes: Some(64 << 20), disk, ..InstanceOptions::new("/data") };
    let instance = Instance::open(options).expect("the instance opens");
    let mut reader = instance.session().expect("a session");
    run(&mut reader, "create database d alter database d set recovery simple");
    reader.use_database("d").expect("the database");
    for (table, key) in [("c", "primary key"), ("h", "primary key nonclustered")] {
        run(
            &mut reader,
            &format!(
                "create table {table} (id int {key}, v varchar(max), a varchar(8000), b varchar(8000))
                 insert {table} (id) values (0), (1)"
            ),
        );
        (0..2).for_each(|id| drop(run(&mut reader, &change(table, id, 'a'))));
    }
    let storage = instance.database("d").expect("the database").storage().expect("it is open");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for table in ["c", "h"] {
            let (mut writer, over) = (session(&instance), &over);
            scope.spawn(move || {
                for (at, letter) in ('a'..='z').cycle().enumerate() {
                    if over.load(Relaxed) {
                        break;
                    }
                    run(&mut writer, &change(table, at % 2, letter));
                }
            });
        }
        scope.spawn(|| {
            while !over.load(Relaxed) {
                storage.free_discarded().expect("they are freed");
                std::thread::yield_now();
            }
        });
        // A panic of this thread is to end the others too.
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for table in ["c", "h"] {
                for (kind, hint) in [
                    ("keyset", ""),
                    ("keyset", "with (readcommittedlock)"),
                    ("keyset", "with (repeatableread)"),
                    ("keyset scroll_locks", ""),
                    ("keyset optimistic", "with (updlock)"),
                ] {
                    let query = format!("select id, v, a, b from {table} {hint}");
                    run(&mut reader, &format!("declare k cursor global {kind} for {query} open k"));
                    for at in 0..60 {
                        let fetch =
                            if at % 2 == 0 { "fetch first from k" } else { "fetch last from k" };
                        let rows = run(&mut reader, fetch);
                        assert_eq!(rows.len(), 1, "{kind} {query}");
                        is_whole(&rows[0], &format!("{kind} {query}"));
                    }
                    run(&mut reader, "close k deallocate k");
                }
            }
        }));
        over.store(true, Relaxed);
        if let Err(panic) = read {
            std::panic::resume_unwind(panic);
        }
    });
    let report = instance.check_database("d").expect("it is checked");
    assert!(report.is_clean(), "{report:?}");
}

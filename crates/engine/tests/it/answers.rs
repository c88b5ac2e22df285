//! Checks of answers in sqllogictest's form, `data/slt/*.slt`: scripts/answers has worked most of
//! them out from T-SQL's rules, others are worked out by hand from the reference; none is what
//! Ringwood prints. All files run plainly; samples of them run with little memory, with each
//! algorithm of joins, with restarts, and at each isolation level. All files in one of these
//! surroundings: `RINGWOOD_ANSWERS=NAME cargo test -p ringwood-engine --test it answers::`, with a
//! name of [`SURROUNDINGS`].
//!
//! A file is paragraphs: `statement ok`, `statement error NUMBER`, or `query TYPES [rowsort]` with
//! the expected rows behind `----`; cells are separated by `|`, an empty text is `(empty)`,
//! `rowsort` means that the rows come in any order.

use engine::{
    ColumnInfo, DataType, Instance, InstanceOptions, ResultRows, Session, Sink, SqlError, Value,
};
use sim::SimDisk;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a file may be run: by name; the files that are run so each time, all where there are none.
const SURROUNDINGS: &[(&str, &[&str])] = &[
    ("plain", &[]),
    ("little memory", &["groups", "windows", "joins"]),
    ("loop joins", &["joins"]),
    ("hash joins", &["joins"]),
    ("merge joins", &["joins"]),
    ("restarts", &["changes"]),
    ("read uncommitted", &["changes", "groups"]),
    ("repeatable read", &["changes", "joins"]),
    ("serializable", &["changes", "groups"]),
    ("snapshot", &["changes", "joins"]),
];

/// Records between two restarts.
const RECORDS: usize = 40;

struct Record {
    line: usize,
    kind: Kind,
    sql: String,
}

enum Kind {
    Ok,
    Error(i32),
    Rows { sorted: bool, rows: Vec<String> },
}

fn records(text: &str) -> Vec<Record> {
    let mut records = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, head)) = lines.next() {
        if head.is_empty() || head.starts_with('#') {
            continue;
        }
        let mut sql = String::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty() && *line != "----") {
            sql.push_str(line);
            sql.push('\n');
        }
        let kind = if head == "statement ok" {
            Kind::Ok
        } else if let Some(number) = head.strip_prefix("statement error ") {
            Kind::Error(number.parse().expect("an error's number"))
        } else {
            assert!(head.starts_with("query "), "line {}: {head}", at + 1);
            let mut rows = Vec::new();
            if lines.next_if(|(_, line)| *line == "----").is_some() {
                while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty()) {
                    rows.push(line.to_owned());
                }
            }
            Kind::Rows { sorted: head.ends_with("rowsort"), rows }
        };
        records.push(Record { line: at + 1, kind, sql });
    }
    records
}

/// The rows and the first error of a batch.
#[derive(Default)]
struct Answer {
    types: Vec<DataType>,
    rows: Vec<String>,
    error: Option<SqlError>,
}

impl Sink for Answer {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.types = columns.iter().map(|c| c.ty).collect();
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            let cell =
                |(value, ty): (&Value, &DataType)| match types::display::format_value(value, *ty) {
                    text if text.is_empty() => "(empty)".to_owned(),
                    text => text,
                };
            self.rows.push(row.iter().zip(&self.types).map(cell).collect::<Vec<_>>().join("|"));
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert_with(|| error.clone());
        Ok(())
    }
}

fn answer(session: &mut Session, sql: &str) -> Answer {
    let mut answer = Answer::default();
    session.execute(sql, &mut answer);
    answer
}

/// What a record's statement is in these surroundings.
fn dressed(surroundings: &str, record: &Record) -> String {
    let join = match surroundings {
        "loop joins" => "LOOP JOIN",
        "hash joins" => "HASH JOIN",
        "merge joins" => "MERGE JOIN",
        _ => return record.sql.clone(),
    };
    match &record.kind {
        Kind::Rows { .. } if !record.sql.contains("CROSS") => {
            format!("{}\nOPTION ({join})", record.sql)
        }
        _ => record.sql.clone(),
    }
}

fn open(disk: &SimDisk, surroundings: &str) -> Arc<Instance> {
    let little = surroundings == "little memory";
    let options = InstanceOptions {
        memory_bytes: Some(if little { 16 << 20 } else { 64 << 20 }),
        query_bytes: little.then_some(4 << 20),
        operator_bytes: little.then_some(1),
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    Instance::open(options).expect("the instance opens")
}

fn enter(instance: &Arc<Instance>, surroundings: &str) -> Session {
    let mut session = instance.session().expect("a session");
    session.use_database("t").expect("the database");
    let level = match surroundings {
        "read uncommitted" | "repeatable read" | "serializable" | "snapshot" => surroundings,
        _ => "read committed",
    };
    let set = answer(&mut session, &format!("SET TRANSACTION ISOLATION LEVEL {level}"));
    assert!(set.error.is_none(), "{:?}", set.error);
    session
}

/// What is wrong in a file, nothing when all is right.
fn check(path: &Path, surroundings: &str) -> String {
    let text = std::fs::read_to_string(path).expect("a text");
    let disk = SimDisk::new(5);
    let mut instance = open(&disk, surroundings);
    let made = answer(
        &mut instance.session().expect("a session"),
        "CREATE DATABASE t ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON",
    );
    assert!(made.error.is_none(), "{:?}", made.error);
    let mut session = enter(&instance, surroundings);
    let mut wrong = String::new();
    for (i, record) in records(&text).iter().enumerate() {
        if surroundings == "restarts" && i % RECORDS == RECORDS - 1 {
            drop(session);
            instance.close().expect("a clean stop");
            drop(instance);
            instance = open(&disk, surroundings);
            session = enter(&instance, surroundings);
        }
        let found = answer(&mut session, &dressed(surroundings, record));
        let number = found.error.as_ref().map(|e| e.number);
        // A hint that no plan can keep is refused as such.
        let refused = number == Some(8622) && surroundings.ends_with("joins");
        let right = match &record.kind {
            _ if refused => true,
            Kind::Ok => number.is_none(),
            Kind::Error(expected) => number == Some(*expected),
            Kind::Rows { sorted, rows } => {
                let mut given = found.rows.clone();
                if *sorted {
                    given.sort();
                }
                number.is_none() && given == *rows
            }
        };
        if !right {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            let _ = write!(wrong, "{name}:{} ({surroundings})\n{}", record.line, record.sql);
            let _ = match (&record.kind, &found.error) {
                (_, Some(e)) => writeln!(wrong, "gave {e}\n"),
                (Kind::Rows { rows, .. }, None) => {
                    writeln!(wrong, "expected {rows:?}\nfound    {:?}\n", found.rows)
                }
                (_, None) => writeln!(wrong, "gave {:?}\n", found.rows),
            };
        }
    }
    wrong
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/slt");
    let files = std::fs::read_dir(folder).expect("the folder of answers");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "slt"));
    paths.sort();
    paths
}

/// Runs files in surroundings, side by side.
fn run(all: &[(&str, PathBuf)]) {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let started: Vec<_> = all
            .iter()
            .map(|(surroundings, path)| scope.spawn(|| check(path, surroundings)))
            .collect();
        started.into_iter().map(|thread| thread.join().expect("a file is run")).collect()
    });
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{} wrong\n{wrong}", wrong.matches("\n\n").count());
}

#[test]
fn answers_are_right() {
    let asked = std::env::var("RINGWOOD_ANSWERS").ok();
    let mut all = Vec::new();
    for (surroundings, sample) in SURROUNDINGS {
        if asked.as_ref().is_some_and(|asked| asked != surroundings) {
            continue;
        }
        for path in files() {
            let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
            if asked.is_some() || sample.is_empty() || sample.contains(&stem) {
                all.push((*surroundings, path));
            }
        }
    }
    assert!(!all.is_empty(), "no such surroundings");
    run(&all);
}

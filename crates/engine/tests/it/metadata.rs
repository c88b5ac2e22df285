//! What clients ask of the catalog: system procedures, views and functions, against one schema.
//! Each file of `data/metadata` holds questions and the answers that are expected, column names
//! included. With METADATA_WRITE set the answers are written again instead, to be read before they
//! are kept.

use crate::support::text::{Bench, Text};

const SCHEMA: &str = include_str!("../data/metadata/schema.sql");

/// The schema in a database of its own.
fn bench() -> Bench {
    let mut b = Bench::new();
    for batch in syntax::split_batches(SCHEMA) {
        let said = b.run(batch.text);
        assert!(!said.contains("Msg "), "{}\n{said}", batch.text);
    }
    b
}

/// A question: what it is about, its text, the answer.
struct Case {
    about: String,
    question: String,
    answer: String,
}

/// `==== about`, the text, `----`, the answer.
fn cases(file: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut in_answer = false;
    for line in file.lines() {
        if let Some(about) = line.strip_prefix("==== ") {
            cases.push(Case {
                about: about.to_owned(),
                question: String::new(),
                answer: String::new(),
            });
            in_answer = false;
        } else if line == "----" {
            in_answer = true;
        } else if let Some(case) = cases.last_mut() {
            let to = if in_answer { &mut case.answer } else { &mut case.question };
            to.push_str(line);
            to.push('\n');
        }
    }
    cases
}

/// A text without the times in it, which are other ones in each run.
fn without_times(text: &str) -> String {
    let is_time =
        |cell: &str| cell.len() == 23 && cell.as_bytes()[10] == b' ' && cell.as_bytes()[19] == b'.';
    let line = |line: &str| {
        let cells: Vec<&str> =
            line.split('|').map(|cell| if is_time(cell) { "(a time)" } else { cell }).collect();
        cells.join("|")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Asks all questions of a file; of those with `(times)` the times of the answer do not count,
/// those after `==== ... (changes)` see what it changed.
fn ask(name: &str) {
    let path = format!("{}/tests/data/metadata/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read_to_string(&path).unwrap();
    let mut b = bench();
    let trimmed =
        |s: &str| s.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned();
    let mut wrong = Vec::new();
    let mut written = String::new();
    for case in cases(&file) {
        let mut said = Text::default();
        said.names = true;
        b.session.execute(&case.question, &mut said);
        let mut said = trimmed(&said.out);
        if case.about.ends_with("(times)") {
            said = without_times(&said);
        }
        written += &format!("==== {}\n{}----\n{said}\n", case.about, case.question);
        if said != trimmed(&case.answer) {
            wrong.push(format!(
                "{}\n{}expected\n{}\nsaid\n{said}\n",
                case.about, case.question, case.answer
            ));
        }
    }
    if std::env::var_os("METADATA_WRITE").is_some() {
        std::fs::write(&path, written).unwrap();
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn procedures() {
    ask("procedures");
}

#[test]
fn procedures_in_sql() {
    ask("procedures_in_sql");
}

#[test]
fn definitions() {
    ask("definitions");
}

#[test]
fn functions() {
    ask("functions");
}

#[test]
fn clients() {
    ask("clients");
}

#[test]
fn views() {
    ask("views");
}

#[test]
fn old_views() {
    ask("old_views");
}

#[test]
fn running_views() {
    ask("running_views");
}

#[test]
fn describe() {
    ask("describe");
}

/// An application lock is waited for, times out, and goes with its session.
#[test]
fn application_locks_of_two_sessions() {
    let mut b = bench();
    let get = "DECLARE @r int; EXEC @r = sp_getapplock @Resource = 'x', @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = 0; SELECT @r";
    b.check(get, "0");
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    let mut said = Text::default();
    other.execute(get, &mut said);
    assert_eq!(said.out.trim(), "-1");
    // One of a transaction goes with it.
    b.check("BEGIN TRAN; DECLARE @r int; EXEC @r = sp_getapplock 'y', 'Shared'; SELECT @r", "0");
    let exclusive =
        "DECLARE @r int; EXEC @r = sp_getapplock 'y', 'Exclusive', 'Session', 0; SELECT @r";
    let mut said = Text::default();
    other.execute(exclusive, &mut said);
    assert_eq!(said.out.trim(), "-1");
    b.check("COMMIT", "");
    let mut said = Text::default();
    other.execute(exclusive, &mut said);
    assert_eq!(said.out.trim(), "0");
    // What it had goes with a session.
    drop(other);
    b.check(exclusive, "0");
}

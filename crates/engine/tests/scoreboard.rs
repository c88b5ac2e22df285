//! How much of T-SQL there is: each line of `data/scoreboard/*.txt` is a part of SQL Server 2022's reference with a statement that uses
//! it. The statement runs (in a transaction that is rolled back) and works, or is refused with the error that the line says;
//! docs/scoreboard.md is made of the same lines. With the environment's `RINGWOOD_SCOREBOARD=write` the lines and the page are written
//! instead of compared: look at the difference before you commit it.
//!
//! A line is `name | verdict | statement`; the verdict is `works`, `refused N`, or `not planned: why`, with a
//! statement that fails or without. `~` before a
//! statement: no transaction is open. A heading with `[administration]` is not counted among what an application uses. Errors in
//! [`ANSWERS`] are how the part works: the statement asks for what is not there.

extern crate ringwood_engine as engine;

use engine::{Instance, InstanceOptions, Session, Sink, SqlError};
use sim::SimDisk;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Parts that work by an error of their own, and which: there is no such file, process, handle.
const ANSWERS: &[(&str, i32)] = &[
    ("THROW", 50_001),
    ("BULK INSERT", 4860),
    ("OPENROWSET (BULK)", 4860),
    ("KEEPIDENTITY", 4860),
    ("KEEPDEFAULTS", 4860),
    ("IGNORE_CONSTRAINTS", 4860),
    ("IGNORE_TRIGGERS", 4860),
    ("KILL", 6106),
    ("CREATE DATABASE FOR ATTACH", 5120),
    ("RESTORE DATABASE, LOG", 3201),
    ("RESTORE HEADERONLY, FILELISTONLY, VERIFYONLY", 3201),
    ("sp_execute", 8179),
    ("sp_unprepare", 8179),
    ("four-part names", 7202),
    ("EXECUTE ... AT server", 7202),
    ("RANGE with a number", 4194),
    ("sp_cursorclose", 16_909),
    ("sp_releaseapplock", 1223),
    ("sp_attach_db", 5120),
    ("xp_cmdshell", 15_281),
    ("ALTER INDEX PAUSE, RESUME, ABORT", 10_638),
    ("CREATE LOGIN FROM WINDOWS, CERTIFICATE", 15_401),
    ("CREATE DATABASE CONTAINMENT", 12_824),
];

/// The first words of docs/scoreboard.md.
const PAGE: &str = "\
# How much of T-SQL there is
Each part of SQL Server 2022's reference of Transact-SQL, and whether Ringwood has it: a statement of each runs in
`crates/engine/tests/scoreboard.rs` (`crates/engine/tests/data/scoreboard`), which also writes this page. *Refused* parts are errors at
the statement that uses them. What is accepted because it changes no result, and has no other effect here either, is named in [T-SQL](t-sql.md).

";

#[derive(Clone)]
struct Part {
    file: PathBuf,
    /// As in the file: a heading or an empty line.
    other: Option<String>,
    name: String,
    verdict: String,
    sql: String,
}

fn read(line: &str, file: &Path) -> Part {
    let mut part = Part {
        file: file.into(),
        other: None,
        name: String::new(),
        verdict: String::new(),
        sql: String::new(),
    };
    if line.is_empty() || line.starts_with('#') {
        part.other = Some(line.into());
        return part;
    }
    let mut cells = line.splitn(3, '|').map(|cell| cell.trim().to_owned());
    part.name = cells.next().unwrap_or_default();
    part.verdict = cells.next().unwrap_or_default();
    part.sql = cells.next().unwrap_or_default();
    part
}

fn write(part: &Part) -> String {
    part.other
        .clone()
        .unwrap_or_else(|| format!("{} | {} | {}", part.name, part.verdict, part.sql).trim_end().to_owned())
}

#[derive(Default)]
struct FirstError(Option<SqlError>);

impl Sink for FirstError {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.0.get_or_insert_with(|| error.clone());
        Ok(())
    }
}

fn first_error(session: &mut Session, sql: &str) -> Option<SqlError> {
    let mut first = FirstError::default();
    session.execute(sql, &mut first);
    first.0
}

fn open() -> Arc<Instance> {
    let disk = SimDisk::new(11);
    let options = InstanceOptions {
        memory_bytes: Some(64 << 20),
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    let instance = Instance::open(options).expect("the instance opens");
    let mut session = instance.session().expect("a session");
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/errors/schema.sql");
    let schema = std::fs::read_to_string(schema).expect("schema.sql");
    for batch in ["CREATE DATABASE err", "USE err"].into_iter().chain(schema.split("\nGO\n")) {
        let error = first_error(&mut session, batch);
        assert!(error.is_none(), "{batch}\n{error:?}");
    }
    instance
}

fn verdict(instance: &Arc<Instance>, part: &Part) -> String {
    if part.sql.is_empty() {
        return part.verdict.clone();
    }
    let mut session = instance.session().expect("a session");
    session.use_database("err").expect("the database");
    let sql = match part.sql.strip_prefix('~') {
        Some(sql) => sql,
        None => {
            first_error(&mut session, "BEGIN TRAN");
            &part.sql
        }
    };
    let error = first_error(&mut session, sql);
    first_error(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
    match error {
        None => "works".into(),
        // It fails, as it should.
        Some(_) if part.verdict.starts_with("not planned") => part.verdict.clone(),
        Some(e) if ANSWERS.contains(&(part.name.as_str(), e.number)) => "works".into(),
        Some(e) => format!("refused {}", e.number),
    }
}

fn parts() -> Vec<Part> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/scoreboard");
    let files = std::fs::read_dir(folder).expect("the folder of the scoreboard");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a text");
        all.extend(text.lines().map(|line| read(line, &path)));
    }
    all
}

/// Parts that work, and all that are planned.
#[derive(Clone, Copy, Default)]
struct Count {
    works: usize,
    all: usize,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.works += other.works;
        self.all += other.all;
    }

    fn percent(self) -> String {
        format!("{:.1} %", 100.0 * self.works as f64 / self.all.max(1) as f64)
    }
}

fn page(parts: &[Part]) -> String {
    let (mut rows, mut details) = (String::new(), String::new());
    let (mut application, mut whole, mut section) = (Count::default(), Count::default(), Count::default());
    let mut heading = String::new();
    let mut close = |heading: &str, section: Count| {
        if heading.is_empty() {
            return;
        }
        let _ =
            writeln!(rows, "| {heading} | {} of {} | {} |", section.works, section.all, section.percent());
        whole.add(section);
        if !heading.contains("[administration]") {
            application.add(section);
        }
    };
    for part in parts {
        if let Some(line) = &part.other {
            if let Some(name) = line.strip_prefix("# ") {
                close(&heading, section);
                section = Count::default();
                heading = name.to_owned();
                let _ = write!(details, "\n## {name}\n\n| | |\n|---|---|\n");
            }
            continue;
        }
        if !part.verdict.starts_with("not planned") {
            section.all += 1;
        }
        section.works += usize::from(part.verdict == "works");
        let _ = writeln!(details, "| {} | {} |", part.name.replace('<', "&lt;"), part.verdict);
    }
    close(&heading, section);
    format!(
        "{PAGE}What an application uses: **{}** ({} of {}). With administration: {} ({} of {}). What is not planned (clusters, \
         replication, full text, Service Broker, code of .NET and others, each with its reason) is not counted.\n\n| section | works | |\n|---|---|---|\n{rows}{details}",
        application.percent(),
        application.works,
        application.all,
        whole.percent(),
        whole.works,
        whole.all,
    )
}

#[test]
fn the_scoreboard_is_true() {
    let parts = parts();
    let instance = open();
    let mut answers = parts.clone();
    let mut wrong = String::new();
    for (part, answer) in parts.iter().zip(&mut answers) {
        if part.other.is_some() {
            continue;
        }
        answer.verdict = verdict(&instance, part);
        if answer.verdict != part.verdict {
            let _ = writeln!(wrong, "{}\nis {}\n", write(part), answer.verdict);
        }
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scoreboard.md");
    let page = page(&answers);
    if std::env::var("RINGWOOD_SCOREBOARD").is_ok_and(|v| v == "write") {
        for path in answers.iter().map(|part| &part.file).collect::<std::collections::BTreeSet<_>>() {
            let lines = answers.iter().filter(|part| part.file == *path).map(write);
            let text = lines.collect::<Vec<_>>().join("\n") + "\n";
            std::fs::write(path, text).expect("the parts are written");
        }
        std::fs::write(docs, page).expect("docs/scoreboard.md is written");
        return;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(
        std::fs::read_to_string(docs).expect("docs/scoreboard.md") == page,
        "docs/scoreboard.md is not what the parts say"
    );
}

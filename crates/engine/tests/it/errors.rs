//! The table of errors: each case in `data/errors/*.txt` is a statement and what it raises. Every
//! statement runs in four surroundings, in a session of its own each: between two others in a
//! transaction, the same with XACT_ABORT ON, and both in TRY ... CATCH. Number, severity, state,
//! text, line and what becomes of the statement, the batch and the transaction must be as the case
//! says; the text must be one of the list of messages. docs/errors.md is made of the list and of
//! the cases. With the environment's `RINGWOOD_ERRORS=write` the answers in the cases and the page
//! are written instead of compared: look at the difference before you commit it.
//!
//! A case is a paragraph: lines `Msg n, Level n, State n: text` in the order in which they are
//! raised (in the text `__*` stands for a number that the instance has chosen), `effect: ` with one
//! of [`EFFECTS`] or marks of its own, then, where needed,
//!
//! - `setup: ` a batch that runs before, in the transaction; `other: ` one in another session,
//!   which stays open
//! - `cleanup: ` a batch that runs after
//! - `line: ` of the error within the statement, 1 unless told
//! - `outside`: no transaction is open; `alone`: the statement is a whole batch; `unconfirmed`: SQL
//!   Server's documentation does not say
//!
//! and the statement.

use engine::{Instance, InstanceOptions, Session, Sink, SqlError};
use sim::SimDisk;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::msg;

/// What an error does, by name: the marks of the four surroundings (see [`Outcome::mark`]), and the
/// words of the page.
const EFFECTS: &[(&str, &str, &str)] = &[
    (
        "statement",
        "before after 1; before 0; caught 1; caught -1",
        "The statement is undone, and the next one runs. With `XACT_ABORT ON` the\n  \
         transaction is rolled back and the batch ends. `CATCH` catches the error, and the transaction can\n  \
         be committed (not with `XACT_ABORT ON`).",
    ),
    (
        "transaction",
        "before 0; before 0; caught -1; caught -1",
        "The transaction is rolled back and the batch ends. `CATCH` catches the error, and\n  \
         the transaction can only be rolled back.",
    ),
    (
        "batch",
        "before 1; before 0; not caught 1; not caught 0",
        "The statement cannot be compiled. The batch ends, and the transaction stays open (not\n  \
         with `XACT_ABORT ON`). A `CATCH` of the same batch or procedure does not catch the error. One\n  \
         around its `EXEC` does.",
    ),
    (
        "text",
        "1; 1; not caught 1; not caught 1",
        "The text is not T-SQL. Nothing of the batch runs, and the transaction stays open.",
    ),
    (
        "raised",
        "before after 1; before after 1; caught 1; caught 1",
        "The next statement runs, also with `XACT_ABORT ON`. `CATCH` catches the error.",
    ),
    (
        "thrown",
        "before 1; before 0; caught 1; caught -1",
        "The batch ends, and the transaction stays open (not with `XACT_ABORT ON`). `CATCH`\n  \
         catches the error.",
    ),
    (
        "note",
        "before after 1; before after 1; not caught 1; not caught 1",
        "A message. Nothing ends, and nothing is caught.",
    ),
    (
        "statement, outside",
        "before after 0; before 0; caught 0; caught 0",
        "As `statement`, for a statement outside a transaction.",
    ),
    (
        "batch, outside",
        "before 0; before 0; not caught 0; not caught 0",
        "As `batch`, for a statement outside a transaction.",
    ),
    (
        "alone",
        "1; 0",
        "The statement is alone in its batch and does not run. With `XACT_ABORT ON` the\n  \
         transaction is rolled back.",
    ),
    ("text, alone", "1; 1", "As `text`, for a statement that is alone in its batch."),
];

/// Users number their own messages from here on.
const FIRST_OF_USERS: i32 = 50_000;

/// The first words of docs/errors.md.
const PAGE: &str = "\
# Errors
This page lists the errors and notes of Ringwood: the lines of `crates/messages/src/list`, where
`%ls`, `%s` and `%d` are places of values. A test (`crates/engine/tests/data/errors`) has a
statement for each error with an effect and compares the number, the severity, the state and the
text, and what becomes of the statement, of its batch and of the transaction. The test also writes
this page.

*?* marks numbers, texts and severities that the documentation of SQL Server does not confirm.
States are not documented anywhere. [What an error
ends](t-sql/transactions.md#what-an-error-ends) describes the effects together.

";

/// What the page says of effects without a name.
const OTHER_EFFECTS: &str = "\n\
Other effects are written as they were observed: which of the statements before and after it ran,
and `@@TRANCOUNT` after the batch, or `XACT_STATE()` in its `CATCH`. There are four observations:
without and with `XACT_ABORT ON`, then both again inside `TRY`.

";

#[derive(Default, Clone)]
struct Case {
    file: PathBuf,
    /// The paragraph is a heading.
    heading: String,
    raised: Vec<String>,
    effect: String,
    setup: Vec<String>,
    other: Vec<String>,
    cleanup: Vec<String>,
    line: u32,
    outside: bool,
    alone: bool,
    unconfirmed: bool,
    sql: String,
}

fn read(paragraph: &str, file: &Path) -> Case {
    let mut case = Case { file: file.into(), line: 1, ..Case::default() };
    for line in paragraph.lines() {
        let more = |word: &str| line.strip_prefix(word).map(str::to_owned);
        if case.sql.is_empty() && line.starts_with('#') {
            case.heading = line.into();
        } else if case.sql.is_empty() && line.starts_with("Msg ") {
            case.raised.push(line.into());
        } else if let Some(effect) = more("effect: ") {
            case.effect = effect;
        } else if let Some(sql) = more("setup: ") {
            case.setup.push(sql);
        } else if let Some(sql) = more("other: ") {
            case.other.push(sql);
        } else if let Some(sql) = more("cleanup: ") {
            case.cleanup.push(sql);
        } else if let Some(n) = more("line: ") {
            case.line = n.parse().expect("a number of a line");
        } else {
            match line {
                "outside" => case.outside = true,
                "alone" => case.alone = true,
                "unconfirmed" => case.unconfirmed = true,
                _ => {
                    case.sql.push_str(line);
                    case.sql.push('\n');
                }
            }
        }
    }
    case.sql = case.sql.trim_end().to_owned();
    case
}

/// The case as a paragraph.
fn write(case: &Case) -> String {
    if !case.heading.is_empty() {
        return format!("{}\n", case.heading);
    }
    let mut out = String::new();
    for line in &case.raised {
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "effect: {}", case.effect);
    for (word, lines) in
        [("setup", &case.setup), ("other", &case.other), ("cleanup", &case.cleanup)]
    {
        for line in lines {
            let _ = writeln!(out, "{word}: {line}");
        }
    }
    if case.line != 1 {
        let _ = writeln!(out, "line: {}", case.line);
    }
    for (flag, word) in
        [(case.outside, "outside"), (case.alone, "alone"), (case.unconfirmed, "unconfirmed")]
    {
        if flag {
            let _ = writeln!(out, "{word}");
        }
    }
    let _ = writeln!(out, "{}", case.sql);
    out
}

/// What a batch said: errors, and the words that the surroundings print.
#[derive(Default)]
struct Said {
    errors: Vec<SqlError>,
    printed: Vec<String>,
}

impl Sink for Said {
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.printed.push(message.message.clone());
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.errors.push(error.clone());
        Ok(())
    }
}

fn say(session: &mut Session, sql: &str) -> Said {
    let mut said = Said::default();
    session.execute(sql, &mut said);
    said
}

/// Numbers that the instance chose are no part of a text: `PK__t__0EA330E90F975522` is `PK__t__*`.
fn mask(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split("__").enumerate() {
        let digits = part.bytes().take_while(|b| b.is_ascii_hexdigit()).count();
        out.push_str(if i > 0 { "__" } else { "" });
        if i > 0 && digits >= 8 {
            out.push('*');
            out.push_str(&part[digits..]);
        } else {
            out.push_str(part);
        }
    }
    out
}

/// What became of a batch.
struct Outcome {
    raised: Vec<String>,
    line: Option<u32>,
    before: bool,
    after: bool,
    caught: Option<String>,
    open: String,
}

impl Outcome {
    /// `before` and `after`: the statements around it ran; `caught` with XACT_STATE() in the CATCH;
    /// else @@TRANCOUNT behind the batch.
    fn mark(&self, in_try: bool) -> String {
        match (&self.caught, in_try) {
            (Some(state), _) => format!("caught {state}"),
            (None, true) => format!("not caught {}", self.open),
            (None, false) => {
                let before = if self.before { "before " } else { "" };
                let after = if self.after { "after " } else { "" };
                format!("{before}{after}{}", self.open)
            }
        }
    }
}

fn run(instance: &Arc<Instance>, case: &Case, abort: bool, in_try: bool) -> Outcome {
    let session = || {
        let mut session = instance.session().expect("a session");
        session.use_database("err").expect("the database");
        session
    };
    let (mut own, mut other) = (session(), session());
    let must = |session: &mut Session, sql: &str| {
        let said = say(session, sql);
        assert!(said.errors.is_empty(), "{sql}\nbefore {}\n{:?}", case.sql, said.errors);
    };
    for sql in &case.other {
        must(&mut other, sql);
    }
    if !case.outside {
        must(&mut own, "BEGIN TRAN");
    }
    for sql in &case.setup {
        must(&mut own, sql);
    }
    if abort {
        must(&mut own, "SET XACT_ABORT ON");
    }
    let sql = &case.sql;
    let said = match (case.alone, in_try) {
        (true, _) => say(&mut own, sql),
        (false, false) => say(&mut own, &format!("PRINT '@before'\n{sql}\n;PRINT '@after'")),
        (false, true) => say(
            &mut own,
            &format!(
                "BEGIN TRY\n{sql}\nEND TRY BEGIN CATCH PRINT CONCAT('@caught ', XACT_STATE()) END CATCH"
            ),
        ),
    };
    let told = |word: &str| {
        said.printed.iter().find_map(|p| p.strip_prefix(word)).map(|s| s.trim().to_owned())
    };
    let open = say(&mut own, "PRINT CONCAT('@open ', @@TRANCOUNT)");
    let open = open.printed.iter().find_map(|p| p.strip_prefix("@open ")).map(str::to_owned);
    let first = said.errors.first();
    let outcome = Outcome {
        raised: said
            .errors
            .iter()
            .map(|e| {
                mask(&format!(
                    "Msg {}, Level {}, State {}: {}",
                    e.number, e.severity, e.state, e.message
                ))
            })
            .collect(),
        line: first.map(|e| {
            if case.alone || e.line == 0 || !e.procedure().is_empty() { 1 } else { e.line - 1 }
        }),
        before: told("@before").is_some(),
        after: told("@after").is_some(),
        caught: told("@caught"),
        open: open.unwrap_or_else(|| "closed".into()),
    };
    say(&mut own, "IF @@TRANCOUNT > 0 ROLLBACK");
    say(&mut other, "IF @@TRANCOUNT > 0 ROLLBACK");
    drop(own);
    for sql in &case.cleanup {
        must(&mut other, sql);
    }
    outcome
}

/// Fills in what the statement does.
fn answer(instance: &Arc<Instance>, case: &Case) -> Case {
    let ways = [(false, false), (true, false), (false, true), (true, true)];
    let ways = if case.alone { &ways[..2] } else { &ways[..] };
    let outcomes: Vec<Outcome> =
        ways.iter().map(|(abort, in_try)| run(instance, case, *abort, *in_try)).collect();
    let marks: Vec<String> =
        outcomes.iter().zip(ways).map(|(o, (_, in_try))| o.mark(*in_try)).collect();
    let marks = marks.join("; ");
    let known = EFFECTS.iter().find(|(_, m, _)| *m == marks);
    let plain = &outcomes[0];
    let mut answer = case.clone();
    answer.effect = known.map_or(marks.clone(), |(name, _, _)| (*name).into());
    answer.raised.clone_from(&plain.raised);
    answer.line = plain.line.unwrap_or(1);
    answer
}

fn open() -> Arc<Instance> {
    let disk = SimDisk::new(3);
    let options = InstanceOptions {
        memory_bytes: Some(64 << 20),
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    let instance = Instance::open(options).expect("the instance opens");
    let mut session = instance.session().expect("a session");
    let mut must = |sql: &str| {
        let said = say(&mut session, sql);
        assert!(said.errors.is_empty(), "{sql}\n{:?}", said.errors);
    };
    must("CREATE DATABASE err");
    must("USE err");
    let schema = std::fs::read_to_string(folder().join("schema.sql")).expect("schema.sql");
    for batch in schema.split("\nGO\n") {
        must(batch);
    }
    instance
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/errors")
}

fn cases() -> Vec<Case> {
    let files = std::fs::read_dir(folder()).expect("the folder of errors");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "txt"));
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a text");
        all.extend(text.split("\n\n").filter(|p| !p.trim().is_empty()).map(|p| read(p, &path)));
    }
    all
}

/// Writes the answers into the files of the cases.
fn keep(cases: &[Case]) {
    let mut texts: BTreeMap<&Path, Vec<String>> = BTreeMap::new();
    for case in cases {
        texts.entry(&case.file).or_default().push(write(case));
    }
    for (path, paragraphs) in texts {
        std::fs::write(path, paragraphs.join("\n")).expect("the cases are written");
    }
}

/// A raised line as number, level, state and text.
fn parts(line: &str) -> (i32, u8, u8, &str) {
    let (head, text) = line.split_once(": ").expect("Msg n, Level n, State n: text");
    let mut numbers = head.split(", ").filter_map(|w| w.split(' ').nth(1)?.parse::<i32>().ok());
    let mut next = || numbers.next().expect("a number");
    (next(), next() as u8, next() as u8, text)
}

/// What is raised with a number of the list and no text of it.
fn unlisted(cases: &[Case]) -> Vec<&str> {
    let lines = cases.iter().flat_map(|case| &case.raised).map(String::as_str);
    lines
        .filter(|line| {
            let (number, _, _, text) = parts(line);
            number < FIRST_OF_USERS && !msg::texts(number).any(|listed| listed.fits(text))
        })
        .collect()
}

/// docs/errors.md: the list of messages, with what the cases show of them.
fn page(cases: &[Case]) -> String {
    // By number, place among the texts of the number, level and state: text and effect.
    let mut rows: BTreeMap<(i32, usize, u8, u8), (String, String)> = BTreeMap::new();
    for case in cases {
        for (i, line) in case.raised.iter().enumerate() {
            let (number, level, state, text) = parts(line);
            let listed = msg::texts(number).enumerate().find(|(_, listed)| listed.fits(text));
            let (at, shown) = listed.map_or((0, text), |(at, listed)| (at, listed.text));
            let effect =
                if i == 0 || !case.effect.contains(' ') { case.effect.as_str() } else { "" };
            let mark = if case.unconfirmed { " *?*" } else { "" };
            rows.entry((number, at, level, state))
                .or_insert_with(|| (format!("{shown}{mark}"), effect.to_owned()));
        }
    }
    let mut tested: Vec<i32> = rows.keys().map(|(number, ..)| *number).collect();
    tested.dedup();
    for number in msg::all().map(|listed| listed.number) {
        for (at, listed) in msg::texts(number).enumerate() {
            if rows.range((number, at, 0, 0)..=(number, at, u8::MAX, u8::MAX)).next().is_none() {
                let row = (listed.text.to_owned(), String::new());
                rows.insert((number, at, listed.severity, listed.state), row);
            }
        }
    }
    let mut numbers: Vec<i32> = rows.keys().map(|(number, ..)| *number).collect();
    numbers.dedup();
    let mut out = PAGE.to_owned();
    let _ = writeln!(
        out,
        "## Effects\nThe list has {} numbers, of which the tests raise {}. Their effects are:\n",
        numbers.len(),
        tested.len()
    );
    for (name, _, words) in EFFECTS {
        let _ = writeln!(out, "- **{name}**: {words}");
    }
    out.push_str(OTHER_EFFECTS);
    out.push_str(
        "## The list\n\n| number | severity | state | text | effect |\n|---|---|---|---|---|\n",
    );
    for ((number, _, level, state), (text, effect)) in rows {
        let text = text
            .replace('|', "\\|")
            .replace('<', "&lt;")
            .replace("__*", "\\_\\_\\*")
            .replace('\n', " ");
        let _ = writeln!(out, "| {number} | {level} | {state} | {text} | {effect} |");
    }
    out
}

#[test]
fn errors_are_as_the_table_says() {
    let cases = cases();
    let instance = open();
    let mut answers = Vec::new();
    let mut wrong = String::new();
    for case in &cases {
        if !case.heading.is_empty() {
            answers.push(case.clone());
            continue;
        }
        let answer = answer(&instance, case);
        if write(&answer) != write(case) {
            let _ = writeln!(wrong, "expected\n{}found\n{}", write(case), write(&answer));
        }
        answers.push(answer);
    }
    let unlisted = unlisted(&answers);
    assert!(unlisted.is_empty(), "texts that are not in the list of messages: {unlisted:#?}");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let page = page(&answers);
    if std::env::var("RINGWOOD_ERRORS").is_ok_and(|v| v == "write") {
        keep(&answers);
        std::fs::write(docs, page).expect("docs/errors.md is written");
        return;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(
        std::fs::read_to_string(docs).expect("docs/errors.md") == page,
        "docs/errors.md is not what the cases say"
    );
}

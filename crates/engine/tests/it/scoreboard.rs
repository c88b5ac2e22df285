//! How much of T-SQL there is: each line of `data/scoreboard/*.txt` is a part of SQL Server 2022's
//! reference with a statement that uses it and shows what it does. docs/scoreboard.md is made of
//! the same lines. With the environment's `RINGWOOD_SCOREBOARD=write` the lines and the page are
//! written instead of compared: look at the difference before you commit it.
//!
//! A line is `name | verdict | statement => answer`. The statement runs in a transaction that is
//! rolled back (with `~` before it: no transaction is open); ` GO ` ends a batch, `{folder}` is a
//! folder with files to load. The answer is what all of it says, its lines joined by ` / `, with
//! `*` for any text; `(tested in FILE)` where one session cannot show the effect. Without an answer
//! the statement must show something: a row with a value, rows that were changed, or a message.
//!
//! Verdicts: `works`; `accepted` (without effect, as the list in docs/t-sql.md says); `empty` (no
//! error, and never a value); `refused N`; `not planned: why`, with a statement that fails or
//! without. A heading with `[administration]` is not counted among what an application uses.

use crate::support::text::{Text, options, run};
use engine::session::{NetworkConnection, TCP_ENDPOINT};
use engine::{Instance, Session};
use sim::SimDisk;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first words of docs/scoreboard.md.
const PAGE: &str = "\
# How much of T-SQL there is
Each part of the Transact-SQL reference of SQL Server 2022, and whether Ringwood has it. A statement
for each part is in `crates/engine/tests/data/scoreboard`. The test `scoreboard.rs` runs them and
writes this page from their verdicts.

| verdict | meaning | counted as working |
|---|---|---|
| works | the statement, or the one after it, shows what it does | yes |
| accepted | no error, and [no effect](t-sql.md#accepted-without-effect) on any result | no |
| empty | no error, and never a value: what it would show does not exist | no |
| refused | the number of the error at the statement that uses the part | no |
| not planned | with the reason | left out of all counts |

Sections marked [administration] are about administering a server, and not about what an
application uses.

";

/// Stands before the file that shows what one session cannot.
const TESTED: &str = "(tested in ";

#[derive(Clone)]
struct Part {
    file: PathBuf,
    /// As in the file: a heading or an empty line.
    other: Option<String>,
    name: String,
    verdict: String,
    sql: String,
    answer: Option<String>,
}

fn read(line: &str, file: &Path) -> Part {
    let mut part = Part {
        file: file.into(),
        other: None,
        name: String::new(),
        verdict: String::new(),
        sql: String::new(),
        answer: None,
    };
    if line.is_empty() || line.starts_with('#') {
        part.other = Some(line.into());
        return part;
    }
    let mut cells = line.splitn(3, '|').map(|cell| cell.trim().to_owned());
    part.name = cells.next().unwrap_or_default();
    part.verdict = cells.next().unwrap_or_default();
    part.sql = cells.next().unwrap_or_default();
    if let Some((sql, answer)) = part.sql.clone().rsplit_once("=>") {
        part.sql = sql.trim().into();
        part.answer = Some(answer.trim().into());
    }
    part
}

fn write(part: &Part) -> String {
    if let Some(line) = &part.other {
        return line.clone();
    }
    let answer = part.answer.as_ref().map(|answer| format!(" => {answer}")).unwrap_or_default();
    let sql = if part.sql.is_empty() { String::new() } else { format!(" {}", part.sql) };
    format!("{} | {} |{sql}{answer}", part.name, part.verdict)
}

fn open() -> Arc<Instance> {
    let instance =
        Instance::open(options(&SimDisk::new(11), 64 << 20)).expect("the instance opens");
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/errors/schema.sql");
    let schema = std::fs::read_to_string(schema).expect("schema.sql");
    run(&instance, "CREATE DATABASE err");
    let mut session = instance.session().expect("a session");
    session.use_database("err").expect("the database");
    for batch in schema.split("\nGO\n") {
        let said = said(&mut session, batch);
        assert!(!said.contains("Msg "), "{batch}\n{said}");
    }
    instance
}

/// Files that statements load.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in [("rows.txt", "7,seven\n8,eight\n"), ("x.txt", "hello")] {
        std::fs::write(folder.path().join(name), content).expect("a file");
    }
    folder
}

/// A session as a client over the network has one.
fn session(instance: &Arc<Instance>) -> Session {
    let mut session = instance.session().expect("a session");
    let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    session.set_connection(NetworkConnection {
        client: address(50_000),
        server: address(1433),
        endpoint: TCP_ENDPOINT,
        encrypted: false,
        protocol: 0x7400_0004,
        packet_size: 4096,
        library: "scoreboard".into(),
        process: 1,
    });
    session.set_names("scoreboard", "here", "sa");
    session.use_database("err").expect("the database");
    session
}

/// What a batch says, its lines joined.
fn said(session: &mut Session, batch: &str) -> String {
    let mut text = Text::default();
    session.execute(batch, &mut text);
    text.out.lines().map(str::trim_end).collect::<Vec<_>>().join(" / ")
}

/// Whether a text is what a pattern says, in which `*` is any text.
fn matches(pattern: &str, text: &str) -> bool {
    let (first, rest) =
        pattern.split_once('*').map_or((pattern, None), |(first, rest)| (first, Some(rest)));
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let Some(rest) = rest else { return left.is_empty() };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*') {
        match left.find(piece) {
            Some(at) => left = &left[at + piece.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

/// Whether there is a value, a count of changed rows or a message in it.
fn shows_something(said: &str) -> bool {
    let is_nothing = |cell: &str| matches!(cell.trim(), "" | "NULL" | "(0)");
    said.split(" / ").any(|line| !line.split('|').all(is_nothing))
}

fn first_error(said: &str) -> Option<&str> {
    said.split(" / ").find_map(|line| line.strip_prefix("Msg ")?.split(':').next())
}

/// What a part's statement says, and the verdict that follows.
struct FoundPart {
    said: String,
    verdict: String,
    /// The answer is another, or the file that shows the effect does not speak of it.
    wrong_answer: bool,
}

fn look(instance: &Arc<Instance>, folder: &Path, part: &Part) -> FoundPart {
    let (transaction, sql) = match part.sql.strip_prefix('~') {
        Some(sql) => (false, sql),
        None => (true, part.sql.as_str()),
    };
    let mut session = session(instance);
    if transaction {
        said(&mut session, "BEGIN TRAN");
    }
    let sql = sql.replace("{folder}", &folder.display().to_string());
    let batches = sql.split(" GO ").filter(|batch| !batch.is_empty());
    let lines: Vec<String> =
        batches.map(|batch| said(&mut session, batch)).filter(|said| !said.is_empty()).collect();
    said(&mut session, "SET NOEXEC OFF");
    said(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
    let mut found =
        FoundPart { said: lines.join(" / "), verdict: part.verdict.clone(), wrong_answer: false };
    if part.verdict.starts_with("not planned") {
        // It fails, as it should.
        if !sql.is_empty() && first_error(&found.said).is_none() {
            found.verdict = "works".into();
        }
        return found;
    }
    let right = part.answer.as_ref().is_some_and(|answer| match answer.strip_prefix(TESTED) {
        Some(file) => {
            first_error(&found.said).is_none() && is_tested(part, file.trim_end_matches(')'))
        }
        // An error is right where the answer has one.
        None => {
            matches(answer, &found.said)
                && (answer.contains("Msg ") || first_error(&found.said).is_none())
        }
    });
    found.wrong_answer = part.answer.is_some() && !right;
    found.verdict = match first_error(&found.said) {
        Some(number) if !right => format!("refused {number}"),
        _ if part.verdict == "accepted" => "accepted".into(),
        _ if right && part.verdict != "empty" => "works".into(),
        _ if shows_something(&found.said) => "works".into(),
        _ => "empty".into(),
    };
    found
}

/// Whether a test speaks of a part, by the longest word of its name.
fn is_tested(part: &Part, file: &str) -> bool {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(crates.join(file)).unwrap_or_default().to_lowercase();
    let words = part.name.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let word = words.max_by_key(|word| word.len()).unwrap_or_default().to_lowercase();
    text.contains(&word)
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

/// Parts by their verdict, of all that are planned.
#[derive(Clone, Copy, Default)]
struct Count {
    works: usize,
    accepted: usize,
    empty: usize,
    all: usize,
}

impl Count {
    fn count(&mut self, verdict: &str) {
        self.all += usize::from(!verdict.starts_with("not planned"));
        self.works += usize::from(verdict == "works");
        self.accepted += usize::from(verdict == "accepted");
        self.empty += usize::from(verdict == "empty");
    }

    fn add(&mut self, other: Count) {
        self.works += other.works;
        self.accepted += other.accepted;
        self.empty += other.empty;
        self.all += other.all;
    }

    fn refused(self) -> usize {
        self.all - self.works - self.accepted - self.empty
    }

    fn percent(self) -> String {
        format!("{:.1} %", 100.0 * self.works as f64 / self.all.max(1) as f64)
    }

    fn row(self, heading: &str) -> String {
        let Count { works, accepted, empty, all } = self;
        format!(
            "| {heading} | {works} of {all} | {} | {accepted} | {empty} | {} |\n",
            self.percent(),
            self.refused()
        )
    }
}

fn page(parts: &[Part]) -> String {
    let (mut rows, mut details) = (String::new(), String::new());
    let (mut application, mut whole, mut section) =
        (Count::default(), Count::default(), Count::default());
    let mut heading = String::new();
    let mut close = |heading: &str, section: Count| {
        if heading.is_empty() {
            return;
        }
        rows.push_str(&section.row(heading));
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
        section.count(&part.verdict);
        let _ = writeln!(details, "| {} | {} |", part.name.replace('<', "&lt;"), part.verdict);
    }
    close(&heading, section);
    let sums = application.row("what an application uses") + &whole.row("with administration");
    format!(
        "{PAGE}| section | works | | accepted | empty | refused |\n|---|---|---|---|---|---|\n\
         {sums}{rows}{details}"
    )
}

#[test]
fn the_scoreboard_is_true() {
    let parts = parts();
    let (instance, folder) = (open(), folder());
    let is_written = std::env::var("RINGWOOD_SCOREBOARD").is_ok_and(|v| v == "write");
    let mut answers = parts.clone();
    let mut wrong = String::new();
    for (part, answer) in parts.iter().zip(&mut answers) {
        if part.other.is_some() {
            continue;
        }
        let found = look(&instance, folder.path(), part);
        if found.verdict != part.verdict || found.wrong_answer {
            let _ = writeln!(wrong, "{}\nis {}: {}\n", write(part), found.verdict, found.said);
        }
        if found.wrong_answer && matches!(found.verdict.as_str(), "works" | "accepted") {
            answer.answer = Some(found.said);
        }
        answer.verdict = found.verdict;
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scoreboard.md");
    let page = page(&answers);
    if is_written {
        for path in answers.iter().map(|part| &part.file).collect::<std::collections::BTreeSet<_>>()
        {
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

/// What counts as shown, and what an answer admits.
#[test]
fn verdicts_need_an_effect() {
    for (said, shows) in [
        ("", false),
        ("NULL", false),
        ("NULL||NULL", false),
        ("(0)", false),
        ("(0) / NULL|", false),
        ("(1)", true),
        ("NULL|0", true),
        ("a message", true),
    ] {
        assert_eq!(shows_something(said), shows, "{said}");
    }
    for (pattern, text, fits) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a*", "ab", true),
        ("*b", "ab", true),
        ("a*b", "ab", true),
        ("a*b", "acbd", false),
        ("a*c*e", "abcde", true),
        ("a*e*c", "abcde", false),
        ("aa*aa", "aaa", false),
        ("*", "", true),
    ] {
        assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
    }
    let instance = open();
    let folder = folder();
    let verdict = |line: &str| {
        let part = read(line, Path::new(""));
        let found = look(&instance, folder.path(), &part);
        (found.verdict, found.wrong_answer)
    };
    let says = |verdict: &str, wrong: bool| (verdict.to_owned(), wrong);
    // Nothing is seen of it; it is refused; it does something else.
    assert_eq!(verdict("a | works | SET NOCOUNT ON"), says("empty", false));
    assert_eq!(verdict("a | works | SELECT * FROM nowhere"), says("refused 208", false));
    assert_eq!(
        verdict("a | works | TRUNCATE TABLE alone SELECT COUNT(*) FROM alone => 2"),
        says("works", true)
    );
    assert_eq!(
        verdict("a | works | DELETE alone SELECT COUNT(*) FROM alone => (2) / 0"),
        says("works", false)
    );
    // What the one before has done is taken back.
    assert_eq!(verdict("a | refused 208 | SELECT COUNT(*) FROM alone => 2"), says("works", false));
    assert_eq!(
        verdict("xyzzy | works | SELECT 1 => (tested in engine/tests/it/ddl.rs)"),
        says("works", true)
    );
}

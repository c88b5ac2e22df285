//! The prompt through a pseudo terminal: the sessions of docs/prompt.md key by key, signals, the
//! pager.
//!
//! `RINGWOOD_WRITE_PROMPT=1 cargo test -p ringwood-cli --test it prompt::documented` writes the
//! screens into docs/prompt.md again.

use crate::support::terminal::{PATIENCE, Terminal};
use ringwood::{Options, Value};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The prompt of an embedded instance in a folder.
fn begin(folder: &Path, args: &[&str], env: &[(&str, &str)]) -> Terminal {
    let data = folder.display().to_string();
    let all = [&["sql", "--memory", "32MB", "--data", &data], args].concat();
    Terminal::spawn(folder, &all, env)
}

/// The bytes of `text<Tab>more<Enter>`; `<Pause>` splits it.
fn keys(text: &str) -> Vec<Vec<u8>> {
    const NAMES: [(&str, &str); 13] = [
        ("<Enter>", "\r"),
        ("<Tab>", "\t"),
        ("<Up>", "\x1b[A"),
        ("<Down>", "\x1b[B"),
        ("<Right>", "\x1b[C"),
        ("<Left>", "\x1b[D"),
        ("<Home>", "\x1b[H"),
        ("<End>", "\x1b[F"),
        ("<Backspace>", "\x7f"),
        ("<Ctrl+C>", "\x03"),
        ("<Ctrl+D>", "\x04"),
        ("<Ctrl+L>", "\x0c"),
        ("<Ctrl+R>", "\x12"),
    ];
    let bytes = NAMES.iter().fold(text.to_owned(), |text, (name, bytes)| text.replace(name, bytes));
    assert!(!bytes.replace("<Pause>", "").contains(['<', '>']), "unknown keys in {text}");
    bytes.split("<Pause>").map(|part| part.as_bytes().to_vec()).collect()
}

/// A folder with a database of two tables.
fn sales() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let db = Options::new(folder.path()).memory(32 << 20).open().unwrap();
    let mut session = db.session().unwrap();
    for batch in [
        "create database Sales",
        "alter database Sales set delayed_durability = forced (window_ms = 60000, window_kb = 65536)",
        "use Sales create table customer (c_id int not null primary key, c_name nvarchar(40) not null)
         create table [order lines] (o_id int not null, c_id int null)",
        "insert customer values (1, N'Ada'), (2, N'Grace'), (3, N'Zürich Insurance')",
    ] {
        session.execute(batch).unwrap();
    }
    drop(session);
    db.close().unwrap();
    folder
}

fn customers(folder: &Path) -> i32 {
    let db = Options::new(folder).memory(32 << 20).open().unwrap();
    let found = db.session().unwrap().query("select count(*) from Sales.dbo.customer").unwrap();
    db.close().unwrap();
    match found.rows[0][0] {
        Value::Int(n) => n,
        ref other => panic!("{other:?}"),
    }
}

/// A step of the documented session: the keys, and the screen that they lead to.
struct PromptStep {
    keys: String,
    screen: String,
}

/// The steps of a document: lines `Keys: ...` in backticks, each with the next block of text.
fn steps(document: &str) -> Vec<PromptStep> {
    let mut found = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let Some(keys) = line.strip_prefix("Keys: `").and_then(|rest| rest.strip_suffix('`'))
        else {
            continue;
        };
        let block = lines.by_ref().skip_while(|line| *line != "```text").skip(1);
        let screen: Vec<&str> = block.take_while(|line| *line != "```").collect();
        found.push(PromptStep { keys: keys.to_owned(), screen: screen.join("\n") });
    }
    found
}

#[test]
fn documented() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/prompt.md");
    let document = std::fs::read_to_string(&file).unwrap();
    let write = std::env::var_os("RINGWOOD_WRITE_PROMPT").is_some();
    let folder = sales();
    let mut written = document.clone();
    let mut terminal: Option<Terminal> = None;
    let all = steps(&document);
    assert!(all.len() > 8, "{} steps", all.len());
    for step in all {
        let at = match &mut terminal {
            Some(terminal) => terminal,
            none => none.insert(begin(folder.path(), &["-d", "Sales"], &[])),
        };
        at.wait_for(">");
        // A step begins with a clean screen unless it goes on in the middle of a batch.
        let text = if step.keys.starts_with("ringwood sql") { "" } else { &step.keys };
        for (n, part) in keys(text).iter().enumerate() {
            if n > 0 {
                std::thread::sleep(Duration::from_millis(1500));
            }
            at.send(part);
        }
        if write {
            std::thread::sleep(Duration::from_secs(4));
            let block = |screen: &str| {
                format!("Keys: `{}`\n\n```text\n{screen}\n```", step.keys)
                    .replace("\n\n```", "\n```")
            };
            let (old, new) = (block(&step.screen), block(&at.text()));
            let old = old.replacen("`\n```text", "`\n\n```text", 1);
            let new = new.replacen("`\n```text", "`\n\n```text", 1);
            assert!(written.contains(&old), "{old}");
            written = written.replacen(&old, &new, 1);
        } else {
            let expected = step.screen.trim_end();
            let end = Instant::now() + PATIENCE;
            while at.text() != expected {
                assert!(
                    Instant::now() < end,
                    "{}: expected\n{expected}\nfound\n{}",
                    step.keys,
                    at.text()
                );
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        if step.keys.ends_with("<Ctrl+D>") || step.keys.ends_with("exit<Enter>") {
            assert_eq!(at.exit_code(), Some(1), "batches failed in this session");
            terminal = None;
        }
    }
    assert!(terminal.is_none(), "the last session ends");
    if write {
        std::fs::write(&file, written).unwrap();
    }
    assert_eq!(customers(folder.path()), 3, "the batch that was dropped must not have run");
}

#[test]
fn ctrl_c_cancels_the_batch_and_keeps_shell_and_transaction() {
    let folder = sales();
    let mut terminal = begin(folder.path(), &["-d", "Sales"], &[]);
    terminal.fresh("begin tran delete customer where c_id = 1\rgo\r");
    terminal.wait_for("(1 row affected)");
    for work in ["waitfor delay '1:00'", "while 1 = 1 print 'x'"] {
        terminal.fresh(&format!("print 'begun' {work}\rgo 100\r"));
        terminal.wait("begun", |text| text.lines().any(|line| line == "begun" || line == "x"));
        terminal.send(b"\x03");
        terminal.wait_for("Msg 3617, Level 16, State 1, Line 1");
        terminal.prompted();
    }
    terminal.fresh("select @@trancount tc, count(*) n from customer\rgo\r");
    terminal.wait_for(" 1 2");
    // Ctrl+C at the prompt drops what was typed.
    terminal.fresh("delete customer\r");
    terminal.wait_for("delete customer");
    terminal.send(b"\x03");
    terminal.wait("another prompt", |text| text.matches("Sales 1>").count() == 2);
    terminal.fresh("commit\rgo\r");
    terminal.wait_for("ms)");
    terminal.prompted();
    terminal.send(b"\x04");
    assert_eq!(terminal.exit_code(), Some(1));
    assert_eq!(customers(folder.path()), 2);
}

/// Rows that a clean stop alone makes durable.
const LOAD: &str = "set nocount on declare @i int = 10
while @i < 1010 begin insert customer values (@i, N'x') set @i += 1 end
go
";

#[test]
fn signals_at_the_prompt_stop_cleanly_and_give_the_terminal_back() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let folder = sales();
        let mut terminal = begin(folder.path(), &["-d", "Sales"], &[]);
        terminal.fresh(&LOAD.replace('\n', "\r"));
        terminal.wait_for("ms)");
        terminal.fresh("delete customer");
        terminal.wait_for("delete customer");
        let before = rustix::termios::tcgetattr(terminal.pty.as_ref().unwrap()).unwrap();
        assert!(
            !before.local_modes.contains(rustix::termios::LocalModes::ICANON),
            "the prompt edits lines"
        );
        kill_process(Pid::from_child(&terminal.child), signal).unwrap();
        assert_eq!(terminal.exit_code(), Some(code));
        let after = rustix::termios::tcgetattr(terminal.pty.as_ref().unwrap()).unwrap();
        assert!(after.local_modes.contains(rustix::termios::LocalModes::ICANON), "{signal:?}");
        assert_eq!(customers(folder.path()), 1003, "{signal:?}");
    }
}

#[test]
fn a_terminal_that_goes_away_is_a_clean_stop() {
    let folder = sales();
    let mut terminal = begin(folder.path(), &["-d", "Sales"], &[]);
    terminal.fresh(&LOAD.replace('\n', "\r"));
    terminal.wait_for("ms)");
    terminal.fresh("delete customer\r");
    terminal.wait_for("delete customer");
    // What a terminal that is closed sends, and then its end.
    kill_process(Pid::from_child(&terminal.child), Signal::HUP).unwrap();
    drop(terminal.pty.take());
    assert_eq!(terminal.exit_code(), Some(129));
    assert_eq!(customers(folder.path()), 1003);
}

#[test]
fn long_results_go_through_the_pager() {
    let folder = sales();
    let pager = [("PAGER", "sed s/^/PAGED:/")];
    let mut terminal = begin(folder.path(), &["-d", "Sales", "-h-1"], &pager);
    terminal.fresh("set nocount on select top 40 name from sys.all_columns\rgo\r");
    terminal.wait_for("PAGED:");
    terminal.wait_for("ms)");
    terminal.fresh("select 'short'\rgo\r");
    terminal.wait("the short result", |text| text.lines().any(|line| line == "short"));
    terminal.fresh("\\pager off\r");
    terminal.wait_for("The pager is off.");
    terminal.fresh("select top 40 name from sys.all_columns\rgo\rexit\r");
    terminal.wait("an unpaged result", |text| text.contains("ms)") && !text.contains("PAGED:"));
    // What was typed ahead is not lost.
    assert_eq!(terminal.exit_code(), Some(0));
}

#[test]
fn history_is_kept_over_sessions_without_secrets() {
    let folder = sales();
    let mut terminal = begin(folder.path(), &[], &[]);
    terminal.fresh("print 'first\rline'\rgo\r");
    terminal.wait_for("ms)");
    terminal.prompted();
    terminal.send(b"print 'create credential with secret = x'\rgo\r");
    terminal.wait("two answers", |text| text.matches("ms)").count() == 2);
    terminal.send(b"quit\r");
    assert_eq!(terminal.exit_code(), Some(0));
    let mut terminal = begin(folder.path(), &[], &[]);
    terminal.wait_for("1>");
    // quit, then the batch of three lines, edited in its first one.
    terminal
        .send(b"\x1b[A\x1b[A\x1b[A\x1b[A\x1b[A\x1b[F\x7f\x7f\x7f\x7f\x7fthird\x1b[B\x1b[B\x1b[F\r");
    terminal.wait_for("third\nline");
    terminal.send(b"\x04");
    assert_eq!(terminal.exit_code(), Some(0));
    let kept = std::fs::read_to_string(folder.path().join("history")).unwrap();
    assert!(kept.contains("first") && !kept.contains("secret"), "{kept}");
}

#[test]
fn a_dumb_terminal_is_enough() {
    let folder = sales();
    let mut terminal = begin(folder.path(), &["-d", "Sales"], &[("TERM", "dumb")]);
    terminal.wait_for("1>");
    terminal.send(b"select count(*) n\nfrom customer\ngo\n");
    terminal.wait("the answer", |text| text.lines().any(|line| line.trim() == "3"));
    terminal.send(b"delete customer\n\x04\x04");
    assert_eq!(terminal.exit_code(), Some(0));
    assert_eq!(customers(folder.path()), 3);
}

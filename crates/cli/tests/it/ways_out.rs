//! Every way out of `ringwood sql` is a clean stop: output that is closed, full or not read any
//! more, signals, SHUTDOWN, errors, the end of input. Each case commits 1,000 rows under a window
//! of delayed durability far larger than the case takes, so that a process which ends without its
//! clean stop loses them.

use crate::support::scratch;
use ringwood::{Options, Value};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use tempfile::TempDir;

/// The rows that each case commits in its first batch.
const ROWS: i64 = 1_000;

/// A folder with a database whose commits are delayed by a minute, and its table.
fn scene() -> TempDir {
    let folder = scratch::folder();
    let db = Options::new(folder.path()).memory(64 << 20).open().unwrap();
    let mut session = db.session().unwrap();
    session.execute("create database d").unwrap();
    let window = "(window_ms = 60000, window_kb = 65536)";
    session.execute(&format!("alter database d set delayed_durability = forced {window}")).unwrap();
    session.execute("use d create table t (i int not null primary key)").unwrap();
    drop(session);
    db.close().unwrap();
    folder
}

/// A script: the rows, then `rest`.
fn script(rest: &str) -> String {
    let load = "set nocount on; declare @i int = 0; while @i < 1000 begin set @i += 1; insert d.dbo.t values (@i); end";
    format!("{load}\ngo\n{rest}")
}

/// `ringwood sql` on the scene's database.
fn sql(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringwood"));
    command.args(["sql", "--memory", "64MB", "--data"]).arg(folder);
    command.stdin(Stdio::null());
    command
}

/// The rows of the table after a new start; it is empty then, for the next case.
fn rows(folder: &Path) -> i64 {
    let db = Options::new(folder).memory(64 << 20).open().unwrap();
    let mut session = db.session().unwrap();
    let found = session.query("select count(*) from d.dbo.t").unwrap();
    session.execute("truncate table d.dbo.t").unwrap();
    drop(session);
    db.close().unwrap();
    match found.rows[0][0] {
        Value::Int(n) => n.into(),
        ref other => panic!("{other:?}"),
    }
}

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// How a child ended; it has two minutes.
fn ended(child: &mut Child) -> ExitStatus {
    for _ in 0..12_000 {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("the process does not end");
}

/// Messages without end.
const TALK: &str = "while 1 = 1 print 'a message'";
/// A result without end.
const RESULT: &str = "while 1 = 1 select name from sys.databases";

/// Reads three lines of standard output and error together, as `2>&1 | head -3` does, then goes
/// away.
fn head(folder: &Path, rest: &str) -> ExitStatus {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = sql(folder);
    command.args(["-Q", &script(rest)]).stderr(writer.try_clone().unwrap()).stdout(writer);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut lines = BufReader::new(reader).lines();
    for _ in 0..3 {
        lines.next().unwrap().unwrap();
    }
    drop(lines);
    ended(&mut child)
}

#[test]
fn a_reader_that_goes_away() {
    let folder = scene();
    for rest in [TALK, RESULT] {
        assert_eq!(head(folder.path(), rest).code(), Some(128 + 13), "{rest}");
        assert_eq!(rows(folder.path()), ROWS, "{rest}");
    }
}

#[test]
fn no_catch_of_the_batch_goes_on_without_a_reader() {
    let folder = scene();
    let rest =
        "begin try while 1 = 1 print 'a message' end try begin catch insert d.dbo.t values (-1) end catch
        insert d.dbo.t values (-2)
        go
        insert d.dbo.t values (-3)";
    assert_eq!(head(folder.path(), rest).code(), Some(128 + 13));
    assert_eq!(rows(folder.path()), ROWS);
}

#[test]
fn full_output() {
    let folder = scene();
    for (rest, out, err) in [
        (TALK, false, true),
        (RESULT, true, false),
        (TALK, true, true),
        ("raiserror('x', 16, 1)", false, true),
    ] {
        let mut command = sql(folder.path());
        command.args(["-Q", &script(rest)]).stdout(Stdio::null()).stderr(Stdio::piped());
        if out {
            command.stdout(full());
        }
        if err {
            command.stderr(full());
        }
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(1), "{rest} {done:?}");
        if !err {
            let said = String::from_utf8(done.stderr).unwrap();
            assert!(said.contains("standard output: No space left on device"), "{said}");
        }
        assert_eq!(rows(folder.path()), ROWS, "{rest}");
    }
}

#[test]
fn closed_output() {
    let folder = scene();
    for closed in ["2>&-", ">&-", ">&- 2>&-"] {
        let status = Command::new("sh")
            .args(["-c", &format!("exec \"$0\" \"$@\" {closed}"), env!("CARGO_BIN_EXE_ringwood")])
            .args(["sql", "--memory", "64MB", "--data"])
            .arg(folder.path())
            .args(["-Q", &script("print 'a message' select 1")])
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(0), "{closed}");
        assert_eq!(rows(folder.path()), ROWS, "{closed}");
    }
}

/// Starts the script and waits for its first message.
fn started(mut command: Command, rest: &str) -> Child {
    let rest = format!("print 'ready'\ngo\n{rest}");
    let mut child = command
        .args(["-Q", &script(&rest)])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::with_capacity(1, child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    while !line.contains("ready") {
        line.clear();
        let read = BufReader::with_capacity(1, child.stderr.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(read > 0, "the script ended before it was ready");
    }
    child
}

#[test]
fn signals_stop_cleanly() {
    let folder = scene();
    let works = ["waitfor delay '0:10'", "declare @i int = 0 while 1 = 1 set @i = 1"];
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        for work in works {
            let rest = format!(
                "begin tran insert d.dbo.t values (-1) {work}\ngo\ninsert d.dbo.t values (-2)"
            );
            let mut child = started(sql(folder.path()), &rest);
            kill_process(Pid::from_child(&child), signal).unwrap();
            let status = ended(&mut child);
            assert_eq!((status.code(), status.signal()), (Some(code), None), "{work}");
            assert_eq!(rows(folder.path()), ROWS, "{signal:?}, {work}");
        }
    }
}

#[test]
fn sigpipe_is_not_the_end() {
    let folder = scene();
    let mut child = started(sql(folder.path()), "waitfor delay '0:0:0.5'");
    kill_process(Pid::from_child(&child), Signal::PIPE).unwrap();
    assert_eq!(ended(&mut child).code(), Some(0));
    assert_eq!(rows(folder.path()), ROWS);
}

#[test]
fn what_is_ignored_from_outside_stays_ignored() {
    let folder = scene();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ringwood")]);
    command.args(["sql", "--memory", "64MB", "--data"]).arg(folder.path()).stdin(Stdio::null());
    let mut child = started(command, "waitfor delay '0:0:0.5' insert d.dbo.t values (-1)");
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    assert_eq!(ended(&mut child).code(), Some(0));
    assert_eq!(rows(folder.path()), ROWS + 1);
}

#[test]
fn shutdown_ends_the_process() {
    let folder = scene();
    for (how, said) in [
        ("shutdown", "Server shut down by request from login sa."),
        ("shutdown with nowait", "Server shut down by NOWAIT request from login sa."),
    ] {
        let rest = format!(
            "begin tran insert d.dbo.t values (-1) {how} insert d.dbo.t values (-2)\ngo\ninsert d.dbo.t values (-3)"
        );
        let file = folder.path().join("s.sql");
        std::fs::write(&file, script(&rest)).unwrap();
        let done = sql(folder.path()).arg("-i").arg(&file).arg("-i").arg(&file).output().unwrap();
        let text = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(0), "{text}");
        assert!(text.contains(said), "{text}");
        assert_eq!(rows(folder.path()), ROWS, "{how}");
    }
}

#[test]
fn the_end_of_input() {
    let folder = scene();
    let mut child =
        sql(folder.path()).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The last batch of a pipe or file needs no GO.
    child.stdin.take().unwrap().write_all(script("insert d.dbo.t values (-1)").as_bytes()).unwrap();
    assert_eq!(ended(&mut child).code(), Some(0));
    assert_eq!(rows(folder.path()), ROWS + 1);
}

#[test]
fn an_error_with_b() {
    let folder = scene();
    let done = sql(folder.path())
        .args([
            "-b",
            "-Q",
            &script("begin tran insert d.dbo.t values (-1)\ngo\nselect 1/0\ngo\ninsert d.dbo.t values (-2)"),
        ])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.contains("Msg 8134, Level 16, State 1, Line 5\nDivide by zero error encountered."),
        "{said}"
    );
    assert_eq!(rows(folder.path()), ROWS);
}

#[test]
fn other_commands_do_not_panic_when_nobody_reads() {
    let folder = scene();
    for args in [vec!["lab", "list"], vec!["check", "--memory", "64MB", "d", "--data"]] {
        for full_too in [false, true] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_ringwood"));
            command.args(&args).stderr(Stdio::piped());
            if args[0] == "check" {
                command.arg(folder.path());
            }
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            if full_too {
                command.stdout(full());
            } else {
                command.stdout(writer);
            }
            let mut child = command.spawn().unwrap();
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            let code = ended(&mut child).code();
            assert_eq!(code, Some(if full_too { 1 } else { 141 }), "{args:?}: {said}");
        }
    }
}
#[test]
fn shutdown_at_a_pipe_does_not_wait_for_its_end() {
    let folder = scene();
    let mut child =
        sql(folder.path()).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(script("shutdown\ngo\n").as_bytes()).unwrap();
    // The pipe stays open.
    assert_eq!(ended(&mut child).code(), Some(0));
    assert_eq!(rows(folder.path()), ROWS);
    drop(input);
}

#[test]
fn a_procedure_of_the_start_that_never_ends() {
    let folder = scene();
    let open = || Options::new(folder.path()).memory(64 << 20).open().unwrap();
    let db = open();
    let mut session = db.session().unwrap();
    session.execute("create procedure dbo.turns as while 1 = 1 waitfor delay '00:00:01'").unwrap();
    session.execute("exec sp_procoption 'turns', 'startup', 'on'").unwrap();
    drop(session);
    db.close().unwrap();
    // The program reads its input to the end.
    let mut command = sql(folder.path());
    command.args(["-Q", &script("")]).stdout(Stdio::null());
    assert_eq!(ended(&mut command.spawn().unwrap()).code(), Some(0));
    // The last handle goes, without a close: the folder is free at once.
    let db = open();
    let running = "select count(*) from sys.dm_exec_requests where session_id <> @@spid";
    let begin = std::time::Instant::now();
    while db.session().unwrap().query(running).unwrap().rows[0][0] != Value::Int(1) {
        assert!(begin.elapsed() < std::time::Duration::from_secs(30), "it does not run");
    }
    drop(db);
    assert_eq!(rows(folder.path()), ROWS);
    let quiet = Options::new(folder.path()).memory(64 << 20).trace_flag(4022).open().unwrap();
    assert_eq!(quiet.session().unwrap().query(running).unwrap().rows[0][0], Value::Int(0));
}

//! What sqlcmd's users expect of `ringwood sql`: options, commands, variables, encodings, where
//! errors are.

use std::path::Path;
use std::process::{Command, Output, Stdio};

struct SqlcmdScene(tempfile::TempDir);

impl SqlcmdScene {
    fn new() -> SqlcmdScene {
        SqlcmdScene(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &SqlcmdScene {
        std::fs::write(self.path().join(name), bytes).unwrap();
        self
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap()
    }

    /// `ringwood sql` in the scene's folder.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringwood"));
        command.args(["sql", "--memory", "32", "--data", "db"]).args(args).current_dir(self.path());
        command.stdin(Stdio::null());
        command
    }

    /// Exit code, standard output, standard error.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    /// Standard output of a run without errors.
    fn good(&self, args: &[&str]) -> String {
        let (code, out, err) = self.run(args);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
        out
    }
}

#[test]
fn a_script_in_another_encoding_is_read_or_refused() {
    let scene = SqlcmdScene::new();
    let script = "if object_id('t') is null create table t (city nvarchar(20))\ngo\ninsert t values (N'Zürich')\ngo\n";
    let latin: Vec<u8> = script.chars().map(|c| if c == 'ü' { 0xfc } else { c as u8 }).collect();
    scene.write("latin.sql", &latin);
    let (code, out, err) = scene.run(&["-i", "latin.sql"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(
        err,
        "latin.sql, line 3: the byte 0xFC is not UTF-8; -f gives the code page of scripts, for example -f 1252\n"
    );
    // Nothing of it has run.
    assert!(scene.run(&["-Q", "select * from t"]).2.contains("Msg 208"));
    scene.good(&["-f", "1252", "-i", "latin.sql"]);
    let text: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(script.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    scene.write("unicode.sql", text);
    scene.good(&["-i", "unicode.sql", "-f", "i:1252"]);
    let out =
        scene.good(&["--format", "csv", "-Q", "select city, count(*) n from t group by city"]);
    assert_eq!(out, "city,n\nZürich,2\n");
    // Output in a code page, to a file and not.
    scene.good(&[
        "-f",
        "o:1252",
        "-o",
        "out.txt",
        "--format",
        "csv",
        "-Q",
        "select distinct city from t",
    ]);
    assert_eq!(scene.read("out.txt"), b"city\nZ\xfcrich\n");
    scene.good(&["-u", "-o", "wide.txt", "--format", "csv", "-Q", "select N'ü' u"]);
    assert_eq!(scene.read("wide.txt"), b"\xff\xfeu\0\n\0\xfc\0\n\0");
    let (code, _, err) = scene.run(&["-f", "o:1252", "-Q", "select N'łódź' u"]);
    assert_eq!((code, err.as_str()), (1, "standard output: 'ł' is not in code page 1252\n"));
    // Standard input too.
    scene.write("in.sql", b"select 'Z\xfcrich' city\n");
    let stdin = |args: &[&str]| {
        let file = std::fs::File::open(scene.path().join("in.sql")).unwrap();
        scene.command(args).stdin(file).output().unwrap()
    };
    let refused = stdin(&["--format", "csv"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .starts_with("standard input, line 1: the byte 0xFC")
    );
    assert_eq!(stdin(&["--format", "csv", "-f", "1252"]).stdout, "city\nZürich\n".as_bytes());
    assert_eq!(
        stdin(&["--format", "csv", "-f", "1252", "-i", "-"]).stdout,
        "city\nZürich\n".as_bytes()
    );
}

#[test]
fn files_variables_and_where_errors_are() {
    let scene = SqlcmdScene::new();
    scene.write("one.sql", "select 1\n\nselect * from nowhere\n");
    let (code, _, err) = scene.run(&["-i", "one.sql"]);
    let text = "Invalid object name 'nowhere'.\n";
    assert_eq!((code, err), (1, format!("Msg 208, Level 16, State 1, Line 3\n{text}")));
    scene.write("two.sql", "print '$(who)'\ngo\n");
    let (code, _, err) = scene.run(&["-i", "two.sql,one.sql", "-v", "who=me", "other=x"]);
    assert_eq!(
        (code, err),
        (1, format!("me\nMsg 208, Level 16, State 1, File one.sql, Line 3\n{text}"))
    );
    // A batch over two files: each line knows its own.
    scene.write("part.sql", "select 1\nselect * from nowhere\n");
    scene.write(
        "whole.sql",
        "-- a comment\nprint 'x'\n:r part.sql\nselect 2\ngo\nselect * from nowhere\n",
    );
    let (_, _, err) = scene.run(&["-i", "whole.sql"]);
    assert_eq!(
        err,
        format!(
            "x\nMsg 208, Level 16, State 1, File part.sql, Line 2\n{text}\
             Msg 208, Level 16, State 1, File whole.sql, Line 6\n{text}"
        )
    );
    // An error in a procedure says its name, and the line there.
    scene.write(
        "inside.sql",
        "create procedure w as\nprint 'in'\nselect 1 / 0\ngo\n\nprint 'before'\nexec w\n",
    );
    let divided = "Divide by zero error encountered.\n";
    let (_, _, err) = scene.run(&["-i", "inside.sql"]);
    assert_eq!(
        err,
        format!("before\nin\nMsg 8134, Level 16, State 1, Procedure w, Line 3\n{divided}")
    );
    scene.write("call.sql", "\n\nexec w\n");
    let (_, _, err) = scene.run(&["-i", "call.sql,call.sql"]);
    let called =
        format!("in\nMsg 8134, Level 16, State 1, File call.sql, Procedure w, Line 3\n{divided}");
    assert_eq!(err, called.repeat(2));
    // Undefined variables, unknown commands and missing files end a script; nothing runs if a file
    // of -i is missing.
    let (code, out, err) = scene.run(&["-Q", "select 1 a\ngo\nselect '$(nowhere)'\ngo\nselect 2"]);
    assert_eq!((code, err.as_str()), (1, "line 3: 'nowhere' scripting variable not defined.\n"));
    assert!(out.contains('1') && !out.contains('2'));
    assert_eq!(scene.run(&["-x", "-Q", "print '$(nowhere)'"]).2, "$(nowhere)\n");
    let (code, out, err) = scene.run(&["-Q", "print 'a'\n:nonsense\ngo"]);
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (1, "", ":nonsense is not a command; :help names them.\n")
    );
    let (code, out, err) = scene.run(&["-i", "one.sql", "-i", "missing.sql"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("missing.sql: No such file"), "{err}");
    // Precedence: the environment, -v, :setvar.
    let env = |args: &[&str]| scene.command(args).env("who", "env").output().unwrap().stderr;
    assert_eq!(env(&["-Q", "print '$(who)'"]), b"env\n");
    assert_eq!(
        env(&["-v", "who=v", "-Q", "print '$(who)'\ngo\n:setvar who s\nprint '$(who)'"]),
        b"v\ns\n"
    );
    assert_eq!(
        scene
            .command(&["-X", "-Q", "print '$(who)'"])
            .env("who", "env")
            .output()
            .unwrap()
            .status
            .code(),
        Some(1)
    );
}

#[test]
fn commands_of_scripts() {
    let scene = SqlcmdScene::new();
    scene
        .good(&[
            "-Q",
            "create table t (id int primary key, name varchar(20) null)\ngo\ninsert t values (1, 'a')\ngo 1",
        ])
        .contains("(1 row affected)");
    // :out, :error, back again.
    let script = "set nocount on\n:out a.txt\n:error b.txt\ngo\nselect 1 x print 'm' raiserror('e', 16, 1)\ngo\n:out stdout\n:error stderr\nselect 2 y\n";
    scene.write("s.sql", script);
    let (code, out, err) = scene.run(&["--format", "csv", "-i", "s.sql"]);
    assert_eq!((code, out.as_str(), err.as_str()), (1, "\ny\n2\n", ""));
    assert_eq!(scene.read("a.txt"), b"x\n1\n");
    assert_eq!(scene.read("b.txt"), b"m\nMsg 50000, Level 16, State 1, Line 5\ne\n");
    // :on error, exit, quit, GO n, another terminator.
    let (code, out, _) = scene.run(&["-Q", ":on error exit\nselect 1/0\ngo\nprint 'after'"]);
    assert_eq!((code, out.contains("after")), (1, false));
    assert_eq!(scene.run(&["-b", "-Q", ":on error ignore\nselect 1/0\ngo\nprint 'after'"]).0, 1);
    assert_eq!(
        scene.run(&["-Q", "print 'x'\ngo 3\nprint 'y'\ngo 0\nprint 'z'\nexit\n"]).2,
        "x\nx\nx\n"
    );
    assert_eq!(scene.run(&["-c", "run", "-Q", "print 'x'\nrun\nprint 'go'\nRUN\n"]).2, "x\ngo\n");
    assert_eq!(scene.run(&["-Q", "EXIT(select 300)"]).0, 44);
    assert_eq!(scene.run(&["-Q", "raiserror('bye', 10, 127)\ngo\nprint 'after'"]).2, "bye\n");
    assert_eq!(scene.run(&["-Q", "raiserror('bye', 16, 127)\ngo\nprint 'after'"]).0, 50_000 & 0xff);
    assert_eq!(scene.run(&["-Q", "!!echo from the shell"]).1, "from the shell\n");
    assert_eq!(
        scene.run(&["-X", "-Q", "!!echo no\nprint 'x'"]),
        (0, String::new(), "!! is disabled by -X.\nx\n".into())
    );
    assert_eq!(scene.run(&["-X1", "-Q", "!!echo no\nprint 'x'"]).0, 1);
    let (_, out, _) = scene.run(&["-Q", ":setvar a 1\nselect 1\n:list\n:listvar\n:reset\n"]);
    assert_eq!(out, "select 1\na = \"1\"\n");
    // Questions of other shells.
    assert!(scene.good(&["-Q", "\\d t"]).contains("varchar(20)"));
    assert!(scene.good(&["-Q", ".tables"]).contains("t "));
    assert!(scene.good(&["-Q", "\\l"]).contains("tempdb"));
    assert!(scene.good(&["-Q", ":help"]).contains(":setvar"));
    for (line, reason) in [
        (":connect x", "one run"),
        (":xml on", "XML"),
        (":ed", "editor"),
        (":perftrace x", "trace"),
    ] {
        let (code, _, err) = scene.run(&["-Q", line]);
        assert!(code == 1 && err.contains(reason), "{err}");
    }
    assert!(scene.run(&["-e", "-Q", "print 'x'"]).1.contains("print 'x'\n"));
}

#[test]
fn levels_timeouts_and_options_of_tables() {
    let scene = SqlcmdScene::new();
    let errors = "print 'p' raiserror('low', 11, 1) raiserror('high', 16, 1)";
    assert_eq!(
        scene.run(&["-m", "16", "-Q", errors]).2,
        "Msg 50000, Level 16, State 1, Line 1\nhigh\n"
    );
    assert_eq!(scene.run(&["-V", "17", "-Q", errors]).0, 0);
    assert_eq!(scene.run(&["-V", "12", "-Q", errors]).0, 16);
    assert_eq!(
        scene
            .run(&["-V", "17", "-b", "-Q", "raiserror('x', 16, 1)\ngo\nprint 'on'"])
            .2
            .lines()
            .last(),
        Some("on")
    );
    assert_eq!(scene.run(&["-r", "-Q", "print 'p' raiserror('e', 16, 1)"]).1, "p\n");
    assert_eq!(scene.run(&["-r1", "-Q", "print 'p'"]).2, "p\n");
    assert!(scene.run(&["-m-1", "-Q", "use master"]).2.contains("Msg 5701, Level 0, State 1"));
    let (code, _, err) = scene.run(&["-t", "1", "-Q", "waitfor delay '0:1'"]);
    assert_eq!(
        (code, err.as_str()),
        (1, "Timeout expired: the batch was cancelled after 1 second.\n")
    );
    let row = "set nocount on select 1 id, 'two' name";
    assert_eq!(scene.good(&["-W", "-s", "|", "-Q", row]), "id|name\n--|----\n1|two\n");
    assert_eq!(scene.good(&["-h", "-1", "-s", ",", "-Q", row]), " 1,two\n".replace(' ', ""));
    assert_eq!(scene.good(&["-h-1", "-Y2", "-Q", row]), "1 tw\n");
    assert_eq!(
        scene.good(&[
            "-W",
            "-Q",
            ":setvar SQLCMDCOLSEP ;\n:setvar SQLCMDHEADERS -1\nset nocount on select 1, 2"
        ]),
        "1;2\n"
    );
    assert!(scene.good(&["-p", "-Q", "declare @i int"]).contains("1 xact[s]:"));
    assert_eq!(scene.good(&["-p1", "-Q", "declare @i int"]).trim().split(':').count(), 4);
    assert_eq!(
        scene.good(&["-H", "desk", "-h-1", "-Q", "set nocount on select host_name()"]),
        "desk\n"
    );
    for wrong in [
        vec!["-S", "server", "--memory", "64MB"],
        vec!["-S", "server\\instance"],
        vec!["-U", "sa"],
        vec!["-P", "x", "--memory", "64MB"],
        vec!["-C"],
        vec!["-E"],
        vec!["-w", "8"],
        vec!["-f", "99"],
        vec!["-t", "0"],
        vec!["-c", "select"],
        vec!["-W", "-y", "3"],
        vec!["-R"],
        vec!["-v", "a"],
        vec!["--memory", "1MB"],
    ] {
        let (code, out, err) = scene.run(&wrong);
        assert_eq!((code, out.as_str()), (2, ""), "{wrong:?}");
        assert!(err.starts_with("error: "), "{err}");
    }
}

#[test]
fn another_process_is_waited_for() {
    let scene = SqlcmdScene::new();
    scene.good(&["-Q", "declare @i int"]);
    let mut first = scene.command(&["-Q", "waitfor delay '0:0:2'"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(scene.run(&["-Q", "declare @i int"]).0, 1, "at once without -l");
    assert_eq!(scene.run(&["-l", "60", "-Q", "declare @i int"]).0, 0);
    assert!(first.wait().unwrap().success());
}

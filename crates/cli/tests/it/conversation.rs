//! Another program talks to `ringwood sql` through pipes: a request, its answer, the next request.
//! Each answer is complete before the next request is sent, so nothing may wait for more input or
//! keep output back.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

struct Conversation {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    _folder: tempfile::TempDir,
}

fn lines_of(out: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

impl Conversation {
    fn begin(options: &[&str]) -> Conversation {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ringwood"))
            .args(["sql", "--memory", "64MB", "--data"])
            .arg(folder.path())
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Conversation { child, input, lines: lines_of(out), _folder: folder }
    }

    fn send(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(60)).expect("an answer before the next request")
    }
}

#[test]
fn request_answer_request() {
    let mut with = Conversation::begin(&["--format", "json"]);
    with.send("create table t (i int, name nvarchar(20))\ngo\n");
    for i in 0..50 {
        with.send(&format!(
            "insert t values ({i}, N'näme')\nselect count(*) n, max(name) name from t\ngo\n"
        ));
        assert_eq!(
            with.line(),
            format!(
                "{{\"columns\":[{{\"name\":\"n\",\"type\":\"int\"}},{{\"name\":\"name\",\"type\":\"nvarchar(20)\"}}],\
                 \"rows\":[[{},\"näme\"]]}}",
                i + 1
            )
        );
    }
    // A request that arrives in pieces, in the middle of a character and of GO.
    let text = "select N'ü' u\ngo\n".as_bytes();
    for piece in text.chunks(1) {
        with.input.write_all(piece).unwrap();
        with.input.flush().unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(with.line().ends_with("\"rows\":[[\"ü\"]]}"));
    // What several requests ask for at once comes one after the other; commands and variables work
    // here too.
    with.send(":setvar N 7\nselect $(N) a\ngo\nselect $(N) + 1 b\ngo\n");
    assert!(with.line().ends_with("[[7]]}") && with.line().ends_with("[[8]]}"));
    // The last batch needs no GO.
    with.send("select 'the end' c");
    drop(with.input);
    let last = with.lines.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(last.ends_with("[[\"the end\"]]}"), "{last}");
    assert_eq!(with.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_answer_to_exit_with_a_query_is_the_exit_code() {
    for (query, code) in
        [("select 7", 7), ("select top 0 1", 155), ("select 'x'", 154), ("select 1/0", 156)]
    {
        let mut with = Conversation::begin(&[]);
        with.send(&format!("EXIT({query})\n"));
        // The input stays open.
        assert_eq!(with.child.wait().unwrap().code(), Some(code), "{query}");
    }
}

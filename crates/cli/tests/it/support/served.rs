//! `ringwood serve` in a process of its own, on a scratch folder and a free port.
#![allow(dead_code)] // each test uses its part

use client::{Connection, Encryption, Options, Token};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub const PASSWORD: &str = "Str0ng-Secret";

/// How long a busy machine may take for anything.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server.
pub struct ServedInstance {
    pub child: Child,
    pub port: u16,
    pub folder: PathBuf,
}

impl ServedInstance {
    /// Starts it and waits until it says that it is ready.
    pub fn start(folder: &Path, args: &[&str]) -> ServedInstance {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ringwood"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder)
            .args(args)
            .env("MSSQL_SA_PASSWORD", PASSWORD)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("not ready: {line:?}"));
        // What it says later is read, so that it never waits for a reader.
        std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
        ServedInstance { child, port, folder: folder.to_path_buf() }
    }

    pub fn options(&self) -> Options {
        let mut options = Options::new("127.0.0.1", self.port, "sa", PASSWORD);
        options.encryption = Encryption::Optional;
        options
    }

    pub fn connect(&self) -> Connection {
        Connection::connect(&self.options()).unwrap()
    }

    pub fn name(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Runs `ringwood sql -S` with arguments and standard input.
    pub fn sql(&self, args: &[&str], input: &str) -> Output {
        run(&[&["sql", "-S", &self.name()], args].concat(), input)
    }

    /// A line of /proc/PID/status, in KB.
    pub fn status_kb(&self, field: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// SIGTERM, and the exit code.
    pub fn stop(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not stop");
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for ServedInstance {
    fn drop(&mut self) {
        // It has ended already where a test has stopped it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `ringwood` with the password in the environment.
pub fn run(args: &[&str], input: &str) -> Output {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_ringwood"))
        .args(args)
        .env("SQLCMDPASSWORD", PASSWORD)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// What came of a batch.
#[derive(Default, Debug)]
pub struct ServedOutcome {
    pub rows: Vec<Vec<ringwood::Value>>,
    pub errors: Vec<i32>,
}

impl ServedOutcome {
    pub fn ints(&self) -> Vec<i64> {
        self.rows.iter().filter_map(|row| row.first()?.as_i64()).collect()
    }
}

/// Runs a batch; `Err` when the connection is lost.
pub fn batch(
    connection: &mut Connection,
    text: &str,
) -> Result<ServedOutcome, client::ClientError> {
    let mut outcome = ServedOutcome::default();
    connection.batch(text, &mut |token| {
        match token {
            Token::Row(row) => outcome.rows.push(row),
            Token::Error(error) => outcome.errors.push(error.number),
            _ => {}
        }
        true
    })?;
    Ok(outcome)
}

//! Child processes of peers: run clients to their end, by the server's clock where they print it, find a program, stop a
//! server when its target goes away, and those that a killed run has left; and what the peers' clients are asked alike.

use crate::LabError;
use crate::work::Work;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A server process, killed and reaped when dropped.
pub(super) struct Server(Child);

impl Server {
    /// Starts it with its output in `log`.
    pub fn start(command: &mut Command, log: &Path) -> Result<Server, LabError> {
        let out = std::fs::File::create(log)?;
        let child = command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out).spawn()?;
        Ok(Server(child))
    }

    /// Waits until `ready` says so; an error when the process ended or a minute has passed.
    pub fn wait_until(&mut self, what: &str, mut ready: impl FnMut() -> bool) -> Result<(), LabError> {
        let begin = Instant::now();
        while !ready() {
            if let Some(status) = self.0.try_wait()? {
                return Err(LabError::Request(format!("{what} ended at its start: {status}")));
            }
            if begin.elapsed() > Duration::from_secs(60) {
                return Err(LabError::Request(format!("{what} did not start within a minute")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn signal_term(&self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal_term();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Stops the servers on the data in `folder` that have outlived a run which was killed: they would write into what is made there
/// anew, or go on beside it and take memory from what is measured.
pub(super) fn stop_left(folder: &Path) -> Result<(), LabError> {
    let begin = Instant::now();
    loop {
        let left = servers_on(&folder.join("data"));
        if left.is_empty() {
            return Ok(());
        }
        let signal = match begin.elapsed().as_secs() {
            0..20 => Signal::TERM,
            20..30 => Signal::KILL,
            _ => {
                let what = format!("process {} uses {} and cannot be stopped", left[0], folder.display());
                return Err(LabError::Request(what));
            }
        };
        for process in left {
            let _ = kill_process(process, signal);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Ids of the processes one of whose arguments names that data folder.
fn servers_on(data: &Path) -> Vec<Pid> {
    let data = data.as_os_str().as_encoded_bytes();
    let on_it = |line: &[u8]| {
        line.split(|b| *b == 0).any(|word| word == data || word.strip_prefix(b"--datadir=") == Some(data))
    };
    let Ok(processes) = std::fs::read_dir("/proc") else { return vec![] };
    let ids = processes.flatten().filter_map(|p| p.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| on_it(&line)))
        .filter_map(Pid::from_raw)
        .collect()
}

/// The first of the names that exists on PATH or in one of the usual folders.
pub(super) fn find(names: &[&str]) -> Result<PathBuf, LabError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|v| v.path().join("bin")));
    }
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |f| f.join(name)))
        .find(|p| p.is_file())
        .ok_or_else(|| LabError::Request(format!("{} is not installed", names[0])))
}

/// Runs a client with `input` on its standard input; its standard output, or its error text.
pub(super) fn client(target: &str, command: &mut Command, input: &str) -> Result<String, LabError> {
    use std::io::Write;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take();
    let text = input.to_owned();
    let writer = std::thread::spawn(move || stdin.as_mut().map_or(Ok(()), |s| s.write_all(text.as_bytes())));
    let output = child.wait_with_output()?;
    let _ = writer.join();
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || errors.to_ascii_lowercase().contains("error") {
        return Err(LabError::Target {
            target: target.to_owned(),
            message: errors.trim().to_owned(),
            statement: input.chars().take(300).collect(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether this process is root: PostgreSQL refuses to be.
pub(super) fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|s| {
            s.lines().find(|l| l.starts_with("Uid:")).map(|l| l.split_whitespace().nth(2) == Some("0"))
        })
        .unwrap_or(false)
}

/// Runs clients at the same time, each with its input; their outputs.
pub(super) fn parallel(target: &str, jobs: Vec<(Command, String)>) -> Result<Vec<String>, LabError> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = jobs
            .into_iter()
            .map(|(mut command, input)| scope.spawn(move || client(target, &mut command, &input)))
            .collect();
        threads
            .into_iter()
            .map(|t| {
                t.join()
                    .unwrap_or_else(|_| Err(LabError::Request("a client's thread ended by a panic".into())))
            })
            .collect()
    })
}

/// When a client's script began and ended by the server's own clock, in seconds: it prints `clock=` before and behind it.
pub(super) fn clock(target: &str, out: &str) -> Result<(f64, f64), LabError> {
    let times: Vec<f64> = out.lines().filter_map(|l| l.strip_prefix("clock=")?.trim().parse().ok()).collect();
    match (times.first(), times.last()) {
        (Some(begin), Some(end)) if times.len() >= 2 => Ok((*begin, *end)),
        _ => Err(LabError::Request(format!("{target} printed no time: {out}"))),
    }
}

/// Runs clocked clients at the same time; seconds from the first beginning to the last end.
pub(super) fn span(target: &str, jobs: Vec<(Command, String)>) -> Result<f64, LabError> {
    let outs = parallel(target, jobs)?;
    let times = outs.iter().map(|out| clock(target, out)).collect::<Result<Vec<_>, _>>()?;
    let begin = times.iter().map(|t| t.0).fold(f64::INFINITY, f64::min);
    Ok(times.iter().map(|t| t.1).fold(0.0, f64::max) - begin)
}

/// An error unless a query that counts printed `rows`.
pub(super) fn expect_count(target: &str, query: &str, found: &str, rows: u64) -> Result<(), LabError> {
    if found.trim() == rows.to_string() {
        return Ok(());
    }
    Err(LabError::Request(format!("{target}, {query}: {}, not {rows}", found.trim())))
}

/// The statement of one of the customers' works, the table that it changes, and the rows that it leaves there of `rows`.
pub(super) fn customer_statement(work: &Work, rows: u64) -> (&'static str, &'static str, u64) {
    match work {
        Work::InsertSelect => ("insert into customer_tmp select * from customer;", "customer_tmp", rows),
        Work::Update => ("update customer set c_data = lower(c_data);", "customer", rows),
        _ => ("delete from customer;", "customer", 0),
    }
}

/// A folder for a Unix socket, whose path must be short; removed when dropped.
pub(super) struct Socket(PathBuf);

impl Socket {
    /// A new folder among the temporary files.
    pub fn new() -> Result<Socket, LabError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rw{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Socket(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_left_behind_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let follow = |path: &Path| {
            std::fs::write(path, "").unwrap();
            Command::new("tail").arg("-f").arg(path).spawn().unwrap()
        };
        let mut left = follow(&folder.path().join("data"));
        let mut other = follow(&folder.path().join("data2"));
        // A process that has just begun may have no arguments to be seen yet.
        let begin = Instant::now();
        while servers_on(&folder.path().join("data")).is_empty() {
            assert!(begin.elapsed() < Duration::from_secs(20), "it is never seen");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Reaps it, as init does with what a killed process leaves.
        let reaper = std::thread::spawn(move || left.wait().unwrap());
        stop_left(folder.path()).unwrap();
        assert!(!reaper.join().unwrap().success());
        assert!(other.try_wait().unwrap().is_none(), "another folder's is left alone");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

//! Processes of peers: run a tool to its end, find a program, stop a server when its target goes
//! away, and those that a killed run has left.

use crate::LabError;
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
    pub fn wait_until(
        &mut self,
        what: &str,
        mut ready: impl FnMut() -> bool,
    ) -> Result<(), LabError> {
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

    /// Ends it by SIGKILL, and with it what works on that data folder under another name.
    pub fn kill_on(&mut self, data: &Path) -> Result<(), LabError> {
        for process in servers_on(data) {
            let _ = kill_process(process, Signal::KILL);
        }
        self.0.kill()?;
        self.0.wait()?;
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

/// Stops the servers on the data in `folder` that have outlived a run which was killed: they would
/// write into what is made there again, or go on beside it and take memory from what is measured.
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
                let what =
                    format!("process {} uses {} and cannot be stopped", left[0], folder.display());
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
        line.split(|b| *b == 0)
            .any(|word| word == data || word.strip_prefix(b"--datadir=") == Some(data))
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

/// Runs a tool to its end. Errors have what it printed.
pub(super) fn run_tool(name: &str, command: &mut Command) -> Result<(), LabError> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(LabError::Request(format!(
        "{name}: {}: {}",
        output.status,
        String::from_utf8_lossy(&said).trim()
    )))
}

/// Whether this process is root: PostgreSQL refuses to be.
pub(super) fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|s| {
            s.lines()
                .find(|l| l.starts_with("Uid:"))
                .map(|l| l.split_whitespace().nth(2) == Some("0"))
        })
        .unwrap_or(false)
}

/// PostgreSQL's programs run as the user `postgres` when we are root.
pub(super) fn command(program: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/");
    command
}

/// Makes it the folder of that user.
pub(super) fn give_to_postgres(folder: &Path) -> Result<(), LabError> {
    if is_root() {
        let _ = Command::new("chown").arg("postgres").arg(folder).status()?;
    }
    Ok(())
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

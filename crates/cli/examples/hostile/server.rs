//! The server under attack: `ringwood serve` as a process of its own on a scratch folder, its
//! resident memory, and connections to it.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use client::{Connection, Encryption, Options};

/// The password of all logins of the run.
pub const PASSWORD: &str = "Str0ng-Secret";

/// A server that listens on the loopback address.
pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts `program serve` and waits until it says where it listens.
    ///
    /// # Errors
    /// The program cannot be started or does not listen.
    pub fn start(program: &Path, folder: &Path, memory: &str) -> Result<Server, String> {
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--memory", memory, "--data"])
            .arg(folder)
            .env("MSSQL_SA_PASSWORD", PASSWORD)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", program.display()))?;
        let out = child.stdout.take().ok_or("the server has no standard output")?;
        let mut out = BufReader::new(out);
        let mut line = String::new();
        out.read_line(&mut line).map_err(|error| error.to_string())?;
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.ok_or_else(|| format!("the server is not ready: {line:?}"))?;
        // What it says later is read, so that it never waits for a reader.
        std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
        Ok(Server { child, port })
    }

    /// A connection of `login`.
    ///
    /// # Errors
    /// What the client says.
    pub fn connect(&self, login: &str) -> Result<Connection, String> {
        connect(self.port, login)
    }

    /// The port on the loopback address.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The exit status, if the process has ended.
    pub fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGTERM. Returns the seconds until the process has ended and its exit status.
    pub fn stop(&mut self, patience: Duration) -> (f64, String) {
        let begun = Instant::now();
        let pid = rustix::process::Pid::from_child(&self.child);
        // The process may have ended already: the loop finds that.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        while begun.elapsed() < patience {
            if let Some(status) = self.ended() {
                return (begun.elapsed().as_secs_f64(), status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        (begun.elapsed().as_secs_f64(), "did not stop".into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already where it was stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection of `login` to the server at `port`.
///
/// # Errors
/// What the client says.
pub fn connect(port: u16, login: &str) -> Result<Connection, String> {
    let mut options = Options::new("127.0.0.1", port, login, PASSWORD);
    options.encryption = Encryption::Optional;
    Connection::connect(&options).map_err(|error| error.to_string())
}

/// The resident memory of a process, in bytes; 0 once it has ended.
pub fn resident(pid: u32) -> u64 {
    of_status(pid, "VmRSS:")
}

/// The most resident memory of a process since the last call, in bytes.
pub fn peak(pid: u32) -> u64 {
    let peak = of_status(pid, "VmHWM:");
    // The process may have ended: then its next peak is 0.
    let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
    peak
}

fn of_status(pid: u32, what: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(what));
    let kilobytes: Option<u64> =
        line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kilobytes.unwrap_or(0) << 10
}

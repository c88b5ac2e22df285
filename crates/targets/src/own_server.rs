//! A `ringwood serve` of the lab's own, on a port that the system chooses, reachable from this
//! machine only. It ends with the lab.

use crate::LabError;
use crate::mssql::Address;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a clean stop may take.
const STOP: Duration = Duration::from_secs(120);

/// The server; stopped when dropped.
pub struct OwnServer {
    program: PathBuf,
    folder: PathBuf,
    /// Bytes of the buffer pool; `None`: the server's default.
    memory: Option<u64>,
    password: String,
    running: Option<RunningServer>,
}

struct RunningServer {
    child: Child,
    port: u16,
}

impl OwnServer {
    /// A server of that program in that folder, not started.
    pub fn new(program: PathBuf, folder: PathBuf, memory: Option<u64>) -> OwnServer {
        let mut random = fastrand::Rng::new();
        let password = (0..24).map(|_| random.alphanumeric()).collect::<String>() + "-Aa1";
        OwnServer { program, folder, memory, password, running: None }
    }

    /// Starts it; returns when it is ready for connections.
    pub fn start(&mut self) -> Result<(), LabError> {
        if self.running.is_some() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder)?;
        let errors = std::fs::File::create(self.folder.with_extension("log"))?;
        let mut command = Command::new(&self.program);
        if let Some(bytes) = self.memory {
            command.args(["serve", "--memory", &format!("{}MB", bytes >> 20)]);
        } else {
            command.arg("serve");
        }
        let mut child = command
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(&self.folder)
            .env("MSSQL_SA_PASSWORD", &self.password)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        // `... is ready for connections at 127.0.0.1:PORT`
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        let Some(port) = port else {
            let _ = child.kill();
            let status = child.wait()?;
            let log = self.folder.with_extension("log");
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(LabError::Request(format!(
                "ringwood serve did not start: {status}\n{said}"
            )));
        };
        self.running = Some(RunningServer { child, port });
        Ok(())
    }

    fn running(&self) -> Result<&RunningServer, LabError> {
        self.running
            .as_ref()
            .ok_or_else(|| LabError::Request("ringwood serve is not running".into()))
    }

    /// Its process id.
    pub fn id(&self) -> Result<u32, LabError> {
        Ok(self.running()?.child.id())
    }

    /// Where it is reached.
    pub fn address(&self) -> Result<Address, LabError> {
        Address::parse(&format!("mssql://sa:{}@127.0.0.1:{}/", self.password, self.running()?.port))
    }

    /// A clean stop.
    pub fn stop(&mut self) -> Result<(), LabError> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        let _ = kill_process(Pid::from_child(&running.child), Signal::TERM);
        let begin = Instant::now();
        while running.child.try_wait()?.is_none() {
            if begin.elapsed() > STOP {
                let _ = running.child.kill();
                running.child.wait()?;
                return Err(LabError::Request("ringwood serve did not stop".into()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// SIGKILL.
    pub fn kill(&mut self) -> Result<(), LabError> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        running.child.kill()?;
        running.child.wait()?;
        Ok(())
    }

    /// In words.
    pub fn said(&self) -> String {
        let memory = self
            .memory
            .map_or_else(|| "as it chooses".into(), |bytes| format!("{} MB", bytes >> 20));
        format!("ringwood serve, buffer pool {memory}, loopback TCP without TLS")
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // Errors have nobody to go to: a server that does not stop is killed.
        let _ = self.stop();
    }
}

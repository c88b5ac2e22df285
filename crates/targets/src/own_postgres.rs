//! A PostgreSQL server of the lab's own with TCP on loopback, for comparisons over the wire:
//! durable commits and a buffer pool as large as Ringwood's. Either no checkpoint comes while
//! something is measured, or checkpoints come as its defaults make them.

use crate::LabError;
use crate::process::{Server, Socket, command, find, give_to_postgres, run_tool};
use postgres::{Client, NoTls};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long processes of a killed server may live on.
const LEFT: Duration = Duration::from_secs(20);

/// The server; stopped when dropped.
pub struct OwnPostgres {
    folder: PathBuf,
    memory: u64,
    connections: u32,
    /// With the checkpoints that it is shipped with.
    shipped: bool,
    running: Option<RunningPostgres>,
}

struct RunningPostgres {
    server: Server,
    port: u16,
    /// Its Unix socket must lie somewhere.
    _socket: Socket,
}

/// A driver's error as the lab's.
pub fn failed(error: &postgres::Error, statement: &str) -> LabError {
    LabError::Target {
        target: "PostgreSQL".into(),
        message: error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string),
        statement: statement.chars().take(300).collect(),
    }
}

impl OwnPostgres {
    /// A server in that folder for so many connections, not started.
    pub fn new(folder: PathBuf, memory: u64, connections: u32) -> OwnPostgres {
        OwnPostgres { folder, memory, connections, shipped: false, running: None }
    }

    /// The same with the checkpoints that it is shipped with.
    pub fn with_shipped_settings(self) -> OwnPostgres {
        OwnPostgres { shipped: true, ..self }
    }

    /// Its name in a table of engines.
    pub fn title(&self) -> &'static str {
        if self.shipped { "PostgreSQL, as shipped" } else { "PostgreSQL" }
    }

    /// Starts it, and makes it the first time; returns when it answers.
    pub fn start(&mut self) -> Result<(), LabError> {
        if self.running.is_some() {
            return Ok(());
        }
        let data = self.folder.join("data");
        if !data.exists() {
            std::fs::create_dir_all(&self.folder)?;
            give_to_postgres(&self.folder)?;
            let mut initdb = command(&find(&["initdb"])?);
            initdb.arg("-D").arg(&data).args([
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "-U",
                "postgres",
            ]);
            run_tool("initdb", &mut initdb)?;
        }
        let socket = Socket::new()?;
        give_to_postgres(socket.path())?;
        // Free a moment ago; who takes it meanwhile makes the start fail, which is said.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut server = command(&find(&["postgres"])?);
        server.arg("-D").arg(&data).arg("-k").arg(socket.path()).args(["-p", &port.to_string()]);
        let settings = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("shared_buffers={}MB", self.memory >> 20),
            format!("max_connections={}", self.connections + 10),
            "synchronous_commit=on".into(),
            "jit=off".into(),
        ];
        let quiet = ["max_wal_size=16GB", "min_wal_size=4GB", "checkpoint_timeout=1h"];
        let quiet = quiet.into_iter().filter(|_| !self.shipped);
        for setting in settings.iter().map(String::as_str).chain(quiet) {
            server.args(["-c", setting]);
        }
        let begin = Instant::now();
        loop {
            let mut started = Server::start(&mut server, &self.folder.with_extension("log"))?;
            match started.wait_until("PostgreSQL", || connect(port).is_ok()) {
                Ok(()) => {
                    self.running = Some(RunningPostgres { server: started, port, _socket: socket });
                    return Ok(());
                }
                // After a SIGKILL it refuses to start until the last of its old processes has
                // ended.
                Err(error) if begin.elapsed() > LEFT => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }

    /// Its port.
    pub fn port(&self) -> Result<u16, LabError> {
        let missing = || LabError::Request("PostgreSQL is not running".into());
        self.running.as_ref().map(|r| r.port).ok_or_else(missing)
    }

    /// The folder of its data.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// A connection.
    pub fn connect(&self) -> Result<Client, LabError> {
        connect(self.port()?).map_err(|e| failed(&e, "connecting"))
    }

    /// A clean stop.
    pub fn stop(&mut self) -> Result<(), LabError> {
        self.running = None;
        Ok(())
    }

    /// SIGKILL to its processes.
    pub fn kill(&mut self) -> Result<(), LabError> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        running.server.kill_on(&self.data())
    }

    /// In words.
    pub fn said(&self) -> String {
        let checkpoints = match self.shipped {
            true => {
                "checkpoints as its defaults make them (checkpoint_timeout 5min, max_wal_size 1GB)"
            }
            false => "no checkpoint while it is measured",
        };
        format!(
            "shared_buffers {} MB, synchronous_commit on, autovacuum on, full_page_writes on, {checkpoints}, loopback TCP without TLS",
            self.memory >> 20
        )
    }
}

fn connect(port: u16) -> Result<Client, postgres::Error> {
    let mut config = Client::configure();
    config.host("127.0.0.1").port(port).user("postgres").dbname("postgres");
    config.connect(NoTls)
}

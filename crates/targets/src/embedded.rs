//! Ringwood embedded, as the lab uses it: a T-SQL server in this process.

use crate::LabError;
use crate::tsql::{
    BatchReply, Connection, EMBEDDED, PreparedBatch, Server, Site, UPDATE, delayed_commits,
    is_unsupported, number, text_of,
};
use disk::Disk;
use engine::{
    ColumnInfo, DataType, FirstError, Instance, InstanceOptions, PageMemory, ResultRows, Session,
    Sink, SqlError, Value,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Collects the rows of every result set, the messages and the first error.
#[derive(Default)]
struct Collector {
    reply: BatchReply,
    error: FirstError,
}

impl Sink for Collector {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
        self.reply.sets.push(Vec::new());
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            if let Some(set) = self.reply.sets.last_mut() {
                set.push(row.iter().map(text_of).collect());
            }
            Ok(())
        })
    }
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.reply.messages.push(message.message.clone());
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.error(error)
    }
}

fn failed(error: &SqlError, statement: &str) -> LabError {
    if is_unsupported(error.number) {
        return LabError::Unsupported(error.message.clone());
    }
    LabError::Target {
        target: "Ringwood".into(),
        message: format!(
            "Msg {}, Level {}, State {}: {}",
            error.number, error.severity, error.state, error.message
        ),
        statement: statement.chars().take(300).collect(),
    }
}

/// Memory for a buffer pool of that many bytes; `commit`: taken from the system now, so that no
/// measurement pays for it.
pub fn page_memory(bytes: u64, commit: bool) -> Result<PageMemory, LabError> {
    let memory = if commit { PageMemory::committed(bytes) } else { PageMemory::new(bytes) };
    memory.map_err(|e| LabError::Request(format!("{} MB for a buffer pool: {e}", bytes >> 20)))
}

/// How an instance is opened.
pub(crate) struct OpenOptions {
    /// Its folder.
    pub folder: PathBuf,
    /// Memory of the buffer pool.
    pub memory: PageMemory,
    /// Drive letters of file names.
    pub volumes: HashMap<char, PathBuf>,
    /// Where its files are; the operating system's disk unless given.
    pub disk: Option<Arc<dyn Disk>>,
    /// Trace flags.
    pub flags: Vec<i32>,
}

/// An open instance.
#[derive(Clone)]
pub(crate) struct Embedded(Arc<Instance>);

impl Embedded {
    /// Opens the instance and recovers its databases.
    pub fn open(options: OpenOptions) -> Result<Embedded, LabError> {
        let folder = options.folder;
        let mut instance = InstanceOptions {
            volumes: options.volumes,
            trace_flags: options.flags,
            ..InstanceOptions::new(&folder)
        };
        if let Some(disk) = options.disk {
            instance.disk = disk;
        }
        let opened = Instance::open_in(instance, options.memory);
        opened
            .map(Embedded)
            .map_err(|e| LabError::Request(format!("Ringwood in {}: {e}", folder.display())))
    }

    /// A clean stop.
    pub fn close(&self) -> Result<(), LabError> {
        self.0
            .close()
            .map_err(|e| LabError::Request(format!("closing the instance: {}", e.message)))
    }
}

struct Client(Session);

impl Connection for Client {
    fn run(&mut self, batch: &str) -> Result<BatchReply, LabError> {
        let mut collector = Collector::default();
        self.0.execute(batch, &mut collector);
        collector.error.or(collector.reply).map_err(|error| failed(&error, batch))
    }

    fn prepare<'a>(&'a mut self, statement: &str) -> Result<PreparedBatch<'a>, LabError> {
        let statement = statement.to_owned();
        let prepared = self
            .0
            .prepare(&statement, &[("@a", DataType::Int)])
            .map_err(|e| failed(&e, &statement))?;
        Ok(Box::new(move |value| {
            let mut collector = Collector::default();
            let ran = self.0.execute_prepared(&prepared, &[Value::Int(value)], &mut collector);
            let ran = ran.and_then(|_| collector.error.or(()));
            ran.map_err(|error| failed(&error, &statement))
        }))
    }

    fn site(&self) -> &Site {
        &EMBEDDED
    }
}

impl Server for Embedded {
    fn connect(&self, database: Option<&str>) -> Result<Box<dyn Connection>, LabError> {
        let mut client = Client(self.0.session().map_err(|e| failed(&e, "a session"))?);
        if let Some(name) = database {
            client.run(&format!("use [{name}]"))?;
        }
        Ok(Box::new(client))
    }

    fn site(&self) -> &Site {
        &EMBEDDED
    }

    fn load_customers(&self, table: &str, file: &Path) -> Result<(), LabError> {
        let text = format!(
            "bulk insert {table} from '{}' with (fieldterminator = '|', rowterminator = '0x0a', tablock)",
            file.display().to_string().replace('\'', "''")
        );
        self.connect_in()?.run(&text).map(drop)
    }
}

/// What a child does before it kills itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimWork {
    /// Updates every customer in a transaction; dies when the log has grown by so many bytes.
    Update {
        /// Bytes.
        bytes: u64,
    },
    /// Commits that many rows of `one_row` with delayed durability and a window of so many KB; dies
    /// when the last was acknowledged, or when after that the log was flushed.
    Commits {
        /// Rows.
        rows: u64,
        /// Window, KB.
        window_kb: u32,
        /// Whether `sp_flush_log` comes before the end.
        flush: bool,
    },
}

/// A child that dies by SIGKILL in the middle of its work, or when the process `parent` ends. It
/// returns only when something went wrong.
pub fn victim(
    parent: u32,
    folder: &Path,
    memory: u64,
    volumes: HashMap<char, PathBuf>,
    database: &str,
    work: VictimWork,
) -> Result<(), LabError> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    // The process that asked for this may be killed itself, and another run may then use the
    // folder.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)?;
    // No signal comes for a parent that had ended before it was asked for.
    if getppid().map(|id| id.as_raw_pid().unsigned_abs()) != Some(parent) {
        return Err(LabError::Request(format!(
            "process {parent}, which asked for this, has ended"
        )));
    }
    let memory = page_memory(memory, false)?;
    let server = Embedded::open(OpenOptions {
        folder: folder.to_owned(),
        memory,
        volumes,
        disk: None,
        flags: vec![],
    })?;
    match work {
        VictimWork::Update { bytes } => update_until(&server, database, bytes)?,
        VictimWork::Commits { rows, window_kb, flush } => {
            let mut client = server.connect(Some(database))?;
            client.run(&delayed_commits(&EMBEDDED, rows, window_kb)?)?;
            if flush {
                client.run("exec sys.sp_flush_log")?;
            }
        }
    }
    let mut out = std::io::stdout();
    std::io::Write::write_all(&mut out, b"killing\n")?;
    std::io::Write::flush(&mut out)?;
    // SIGKILL to ourselves: no destructor runs, nothing is flushed.
    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
    Err(LabError::Request("this process could not kill itself".into()))
}

/// Updates every customer until the log has grown by `bytes`.
fn update_until(server: &Embedded, database: &str, bytes: u64) -> Result<(), LabError> {
    let mut watcher = server.connect(Some(database))?;
    let used = "select used_log_space_in_bytes from sys.dm_db_log_space_usage";
    // Both levels are to recover the same: not what an automatic checkpoint has left that ended
    // just before the kill, or not.
    watcher.run("dbcc traceon(3505, -1)")?;
    watcher.run("checkpoint")?;
    let start = number(watcher.as_mut(), used)?;
    let mut updater = server.connect(Some(database))?;
    // The transaction stays open, so that a short update too is never committed.
    let updating = std::thread::spawn(move || {
        let result = updater.run(&format!("begin tran; {UPDATE}"));
        (updater, result)
    });
    while !updating.is_finished() && number(watcher.as_mut(), used)? - start < bytes as f64 {
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    Ok(())
}

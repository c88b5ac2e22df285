//! MariaDB (InnoDB) on a scratch folder, through its client library on a Unix socket. One
//! connection does the work; what needs several has them open before it begins. Times are this
//! process's clock around each statement.

mod tables;

use crate::at_once::at_once;
use crate::clients::{customer_statement, expect_rows, limited, write_again};
use crate::latency::latencies;
use crate::process::{self, Server, Socket, find, is_root, run_tool};
use crate::work::{
    Config, Counters, Durability, Figure, IoCount, Knob, LOAD_BATCH, LogBlock, TsqlWork, WaitCount,
    Work, loaded,
};
use crate::{LabError, Target, TargetPlace, kept};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tables::{INSERT, PROCEDURES};

/// A MariaDB server of our own.
#[derive(Default)]
pub struct MariaDb {
    open: Option<OpenMariaDb>,
    /// Settings that were found to be the best.
    tuned: Vec<String>,
}

struct OpenMariaDb {
    folder: PathBuf,
    /// Before the server: it is closed first.
    client: Option<Conn>,
    server: Option<Server>,
    socket: Socket,
    config: Config,
}

/// Pages a second that may be written in the background: what its documentation advises for fast
/// disks, and what a checkpoint needs not to be held back.
const IO_CAPACITY: [(&str, u32); 2] =
    [("innodb_io_capacity", 20_000), ("innodb_io_capacity_max", 40_000)];
const CHECKPOINT_IO_CAPACITY: u32 = 1_000_000;

fn failed(error: &mysql::Error, statement: &str) -> LabError {
    LabError::Target {
        target: "MariaDB".into(),
        message: error.to_string(),
        statement: statement.chars().take(300).collect(),
    }
}

fn run_all(client: &mut Conn, statements: &[&str]) -> Result<(), LabError> {
    statements.iter().try_for_each(|s| client.query_drop(s).map_err(|e| failed(&e, s)))
}

fn value<T: mysql::prelude::FromValue>(client: &mut Conn, query: &str) -> Result<T, LabError> {
    let found: Option<T> = client.query_first(query).map_err(|e| failed(&e, query))?;
    found.ok_or_else(|| LabError::Request(format!("MariaDB, {query}: no value")))
}

/// The status variables of InnoDB.
fn status(client: &mut Conn) -> Result<HashMap<String, String>, LabError> {
    let query = "show global status like 'Innodb%'";
    let rows: Vec<(String, String)> = client.query(query).map_err(|e| failed(&e, query))?;
    Ok(rows.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect())
}

impl OpenMariaDb {
    fn connect(&self, database: Option<&str>) -> Result<Conn, LabError> {
        let socket = self.socket.path().join("s");
        let options = OptsBuilder::new()
            .socket(Some(socket.to_string_lossy()))
            .user(Some("root"))
            .db_name(database);
        Conn::new(options).map_err(|e| failed(&e, "connecting"))
    }

    fn client(&mut self) -> Result<&mut Conn, LabError> {
        self.client.as_mut().ok_or_else(|| LabError::Request("MariaDB is not running".into()))
    }

    fn connections(&self, count: u32) -> Result<Vec<Conn>, LabError> {
        (0..count).map(|_| self.connect(Some("lab"))).collect()
    }

    fn run_all(&mut self, statements: &[&str]) -> Result<(), LabError> {
        run_all(self.client()?, statements)
    }

    /// Seconds of a statement; stopped at the limit by another connection.
    fn timed(&mut self, statement: &str) -> Result<Vec<Figure>, LabError> {
        let mut killer = self.connect(None)?;
        let limit = self.config.limit_s;
        let client = self.client()?;
        let kill = format!("kill query {}", client.connection_id());
        let stop = move || {
            // If it has just ended there is nothing to stop.
            let _ = killer.query_drop(kill);
        };
        limited(limit, stop, || {
            let begin = Instant::now();
            run_all(client, &[statement])?;
            Ok(Figure::seconds(begin.elapsed().as_secs_f64()))
        })
    }

    fn user(&self) -> &'static [&'static str] {
        if is_root() { &["--user=root"] } else { &[] }
    }

    fn block(&self) -> u32 {
        match self.config.block {
            LogBlock::Default | LogBlock::Device | LogBlock::Flag1800 => 0,
            LogBlock::Forced(bytes) => bytes,
        }
    }

    fn start(&mut self, tuned: &[String]) -> Result<(), LabError> {
        let program = find(&["mariadbd", "mysqld"])?;
        let mut server = Command::new(&program);
        server
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.folder.join("data").display()));
        server.args(base(&program));
        server
            .arg(format!("--socket={}", self.socket.path().join("s").display()))
            .args(self.user())
            .args([
                "--skip-networking",
                "--skip-log-bin",
                "--innodb-flush-log-at-trx-commit=1",
                "--innodb-flush-method=O_DIRECT",
                "--innodb-flush-neighbors=0",
                "--innodb-log-buffer-size=64M",
                "--max-connections=200",
            ]);
        for (name, value) in IO_CAPACITY.iter().rev() {
            server.arg(format!("--{name}={value}"));
        }
        server.args(tuned.iter().map(|t| format!("--{t}")));
        server.arg(format!("--innodb-buffer-pool-size={}M", self.config.memory >> 20));
        // Never smaller than what the work fills: the log's size is not what most studies turn.
        server
            .arg(format!("--innodb-log-file-size={}M", (self.config.log.final_kb >> 10).max(1024)));
        if self.block() > 0 {
            server.arg(format!("--innodb-log-write-ahead-size={}", self.block()));
        }
        let mut server = Server::start(&mut server, &self.folder.join("server.log"))?;
        server.wait_until("MariaDB", || self.connect(None).is_ok())?;
        self.server = Some(server);
        Ok(())
    }

    fn stop(&mut self) {
        drop(self.client.take());
        drop(self.server.take());
    }

    fn make(&mut self, customers: Option<&Path>, tuned: &[String]) -> Result<(), LabError> {
        let program = find(&["mariadb-install-db", "mysql_install_db"])?;
        let mut install = Command::new(&program);
        install
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.folder.join("data").display()));
        install.args(base(&find(&["mariadbd", "mysqld"])?)).args(self.user());
        install.arg("--auth-root-authentication-method=normal").arg("--skip-test-db");
        run_tool("mariadb-install-db", &mut install)?;
        // The first start makes the log, of space that is only reserved; it is written before it is
        // used, as everybody's.
        self.start(tuned)?;
        self.stop();
        write_again(&self.folder.join("data/ib_logfile0"), self.config.log.initial_kb << 10)?;
        self.start(tuned)?;
        let mut client = self.connect(None)?;
        run_all(&mut client, &["create database lab", "use lab"])?;
        run_all(&mut client, &PROCEDURES)?;
        if let Some(customers) = customers.filter(|_| self.config.customers > 0) {
            let load = format!(
                "load data infile '{}' into table source fields terminated by '|'",
                customers.display().to_string().replace('\'', "''")
            );
            run_all(&mut client, &[&tables::customers("source"), &load])?;
        }
        Ok(())
    }

    fn make_load(&mut self) -> Result<(), LabError> {
        let table = tables::arrivals(self.config.data.files);
        self.run_all(&["drop table if exists arrivals", &table])
    }

    fn make_wide(&mut self, key: &str) -> Result<(), LabError> {
        self.run_all(&[
            "drop table if exists vlf_test",
            &tables::wide(key),
            "insert into vlf_test values (1, repeat('a', 8000), 0)",
        ])
    }

    fn rows(&mut self, table: &str) -> Result<u64, LabError> {
        value(self.client()?, &format!("select count(*) from {table}"))
    }

    fn expect(&mut self, table: &str, rows: u64) -> Result<(), LabError> {
        expect_rows("MariaDB", table, self.rows(table)?, rows)
    }

    fn customers(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let rows = self.rows("customer")?;
        let (statement, table, left) = customer_statement(work, rows);
        let figures = self.timed(statement)?;
        self.expect(table, left)?;
        Ok(figures)
    }

    /// innodb_flush_log_at_trx_commit is global: 1 waits for the disk, 0 writes and flushes once a
    /// second.
    fn set_durability(&mut self, durability: Durability) -> Result<(), LabError> {
        let value = if durability == Durability::Delayed { 0 } else { 1 };
        self.run_all(&[&format!("set global innodb_flush_log_at_trx_commit = {value}")])
    }

    fn commits(&mut self, count: u64, durability: Durability) -> Result<Vec<Figure>, LabError> {
        let before = self.rows("one_row")?;
        self.set_durability(durability)?;
        let figures = self.timed(&format!("call commits(1, {count})"));
        self.set_durability(Durability::Full)?;
        let figures = figures?;
        self.expect("one_row", before + count)?;
        Ok(figures)
    }

    fn session_commits(&mut self, sessions: u32, each: u64) -> Result<Vec<Figure>, LabError> {
        let seconds = at_once(self.connections(sessions)?, |session, client| {
            run_all(client, &[&format!("call commits({session}, {each})")])
        })?;
        Ok(vec![Figure::new("commits/s", (u64::from(sessions) * each) as f64 / seconds)])
    }

    fn latencies(&mut self, ms: u64) -> Result<Vec<Figure>, LabError> {
        let client = self.client()?;
        let statement = client.prep(INSERT).map_err(|e| failed(&e, INSERT))?;
        latencies(ms, |i| client.exec_drop(&statement, (i as i32,)).map_err(|e| failed(&e, INSERT)))
    }

    fn load(&mut self, connections: u32, rows: u64) -> Result<Vec<Figure>, LabError> {
        let batches = rows.div_ceil(LOAD_BATCH);
        let seconds = at_once(self.connections(connections)?, |session, client| {
            run_all(client, &[&format!("call load_rows({session}, {batches}, {LOAD_BATCH})")])
        })?;
        Ok(Figure::seconds(seconds))
    }

    fn payload(&mut self, bytes: u32, ms: u64) -> Result<Vec<Figure>, LabError> {
        let quarter = bytes / 4;
        let call = format!("call payload({quarter}, {}, {})", bytes - 2 * quarter, ms * 1000);
        let seconds = self.timed(&call)?[0].value;
        let rows = self.rows("tab1")? as f64;
        Ok(vec![Figure::new("rows/s", rows / seconds.max(0.001))])
    }

    /// InnoDB's own word for a checkpoint: no dirty page above 0 %, written as fast as the disk
    /// can; waited for.
    fn checkpoint(&mut self) -> Result<Vec<Figure>, LabError> {
        let client = self.client()?;
        let begin = Instant::now();
        let all = CHECKPOINT_IO_CAPACITY;
        run_all(
            client,
            &[
                &format!("set global innodb_io_capacity_max = {all}"),
                &format!("set global innodb_io_capacity = {all}"),
                "set global innodb_max_dirty_pages_pct_lwm = 0",
                "set global innodb_max_dirty_pages_pct = 0",
            ],
        )?;
        while status(client)?.get("innodb_buffer_pool_pages_dirty").is_some_and(|n| n != "0") {
            if begin.elapsed() > Duration::from_secs(600) {
                return Err(LabError::Request(
                    "MariaDB's dirty pages were not written in 600 s".into(),
                ));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let seconds = begin.elapsed().as_secs_f64();
        run_all(client, &["set global innodb_max_dirty_pages_pct = 90"])?;
        for (name, value) in IO_CAPACITY {
            run_all(client, &[&format!("set global {name} = {value}")])?;
        }
        Ok(Figure::seconds(seconds))
    }

    fn work(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let no = |why: &str| Err(LabError::Unsupported(why.to_owned()));
        let nothing = |()| vec![];
        match work {
            Work::MakeCustomer => self
                .run_all(&[
                    "drop table if exists customer",
                    "drop table if exists customer_tmp",
                    &tables::customers("customer"),
                    "insert into customer select * from source",
                    &tables::customers("customer_tmp"),
                ])
                .map(nothing),
            Work::InsertSelect | Work::Update | Work::Delete | Work::Tsql(TsqlWork::UpdateBack) => {
                self.customers(work)
            }
            Work::Checkpoint => self.checkpoint(),
            Work::MakeOneRow => {
                self.run_all(&["drop table if exists one_row", &tables::one_row()]).map(nothing)
            }
            Work::LoopInserts(n) => self.timed(&format!("call loop_inserts({n})")),
            Work::Commits(n, durability) => self.commits(*n, *durability),
            Work::Latencies(ms) => self.latencies(*ms),
            Work::SessionCommits(sessions, each) => self.session_commits(*sessions, *each),
            Work::MakeLoad => self.make_load().map(nothing),
            Work::Load(connections, rows) => self.load(*connections, *rows),
            Work::CheckLoad(connections, rows) => {
                self.expect("arrivals", loaded(*connections, *rows)).map(nothing)
            }
            Work::MakeWide => self.make_wide("").map(nothing),
            Work::MakeWideWithKey => self.make_wide("primary key").map(nothing),
            Work::RowUpdates(n) => self.timed(&format!("call row_updates({})", n / 2)),
            Work::MakePayload => {
                self.run_all(&["drop table if exists tab1", &tables::payloads()]).map(nothing)
            }
            Work::Payload(bytes, ms) => self.payload(*bytes, *ms),
            Work::GrowLog { .. } => no("InnoDB's log has one size, made at its start"),
            Work::LogBackup => no("InnoDB's log is circular; there is no log backup"),
            _ => no("this work is measured on Ringwood only"),
        }
    }

    /// Takes the value of a setting with which durable commits take least.
    fn tune(&mut self) -> Result<(Vec<String>, Vec<String>), LabError> {
        self.work(&Work::MakeOneRow)?;
        let name = "innodb_log_file_buffering";
        let mut costs = [("off", vec![]), ("on", vec![])];
        // In turns: the machine's pace is not a value's merit.
        for _ in 0..3 {
            for (value, costs) in &mut costs {
                // Older servers do not have it.
                if self.run_all(&[&format!("set global {name} = {value}")]).is_err() {
                    return Ok((vec![], vec![]));
                }
                costs.push(self.commits(1_000, Durability::Full)?[0].value);
            }
        }
        let mut tried =
            costs.map(|(value, costs)| (stats::median(&costs).unwrap_or(f64::NAN), value));
        tried.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best = tried[0].1;
        self.run_all(&[&format!("set global {name} = {best}")])?;
        let all: Vec<String> =
            tried.iter().map(|(cost, value)| format!("{value} {cost:.4} s")).collect();
        let said = format!("MariaDB, {name}: {best} is the best of {}", all.join(", "));
        Ok((vec![format!("{}={best}", name.replace('_', "-"))], vec![said]))
    }

    /// Version and settings in words.
    fn said(&mut self) -> Result<String, LabError> {
        let config = self.config.clone();
        let client = self.client()?;
        let mut setting = |name: &str| -> Result<String, LabError> {
            let query = format!(
                "select coalesce(variable_value, '') from information_schema.global_variables where variable_name = '{name}'"
            );
            Ok(client
                .query_first(&query)
                .map_err(|e| failed(&e, &query))?
                .unwrap_or_else(|| "-".into()))
        };
        Ok(format!(
            "MariaDB {}: innodb_buffer_pool_size {} MB, innodb_log_file_size {} MB, the first {} MB written beforehand, \
             innodb_log_write_ahead_size {}, innodb_log_file_buffering {}, innodb_flush_method O_DIRECT, innodb_doublewrite {}, \
             innodb_io_capacity {}, innodb_flush_neighbors 0, innodb_log_buffer_size 64 MB, no binary log; a commit that is delayed is on \
             the disk after about a second",
            setting("version")?,
            config.memory >> 20,
            setting("innodb_log_file_size")?.parse::<u64>().unwrap_or(0) >> 20,
            config.log.initial_kb >> 10,
            setting("innodb_log_write_ahead_size")?,
            setting("innodb_log_file_buffering")?,
            setting("innodb_doublewrite")?,
            setting("innodb_io_capacity")?,
        ))
    }
}

/// Where the rest of an installation is that lies in a folder of its own, not in the system's.
fn base(program: &Path) -> Option<String> {
    let base = program.parent()?.parent()?;
    (base.join("share/english").is_dir()).then(|| format!("--basedir={}", base.display()))
}

impl Target for MariaDb {
    fn name(&self) -> &'static str {
        "mariadb"
    }

    fn title(&self) -> &'static str {
        "MariaDB"
    }

    fn knob(&self, knob: Knob) -> Result<&'static str, &'static str> {
        match knob {
            Knob::LogPieces => Err("InnoDB's log is one file that is not cut into pieces"),
            Knob::DataFiles => Ok("partitions of the table, each a tablespace in its own file"),
            Knob::Durability => Ok("innodb_flush_log_at_trx_commit 1 and 0"),
            Knob::LogGrowth => {
                Err("InnoDB's log has a fixed size (innodb_log_file_size) and never grows")
            }
            Knob::LogBlock => Ok("innodb_log_write_ahead_size"),
        }
    }

    fn set_up(&mut self, place: &TargetPlace, config: &Config) -> Result<Vec<String>, LabError> {
        self.tear_down()?;
        if matches!(config.block, LogBlock::Device | LogBlock::Flag1800) {
            return Err(LabError::Unsupported(
                "InnoDB has no setting that follows the device".into(),
            ));
        }
        let folder = place.folder.join(&config.key);
        let kept = kept::take(&folder, config)? && !place.fresh;
        if !kept {
            process::stop_left(&folder)?;
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder)?;
        }
        let mut open = OpenMariaDb {
            folder,
            client: None,
            server: None,
            socket: Socket::new()?,
            config: config.clone(),
        };
        if kept {
            open.start(&self.tuned)?;
        } else {
            open.make(place.customers.as_deref(), &self.tuned)?;
        }
        open.client = Some(open.connect(Some("lab"))?);
        let said = open.said()?;
        self.open = Some(open);
        Ok(vec![said])
    }

    fn tune(&mut self) -> Result<Vec<String>, LabError> {
        let Some(open) = &mut self.open else { return Ok(vec![]) };
        let (tuned, said) = open.tune()?;
        self.tuned = tuned;
        Ok(said)
    }

    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        match &mut self.open {
            Some(open) => open.work(work),
            None => Err(LabError::Request("MariaDB was not set up".into())),
        }
    }

    fn counters(&mut self) -> Result<Counters, LabError> {
        let Some(client) = self.open.as_mut().and_then(|o| o.client.as_mut()) else {
            return Ok(Counters::default());
        };
        let all = status(client)?;
        let value =
            |name: &str| -> i64 { all.get(name).and_then(|v| v.trim().parse().ok()).unwrap_or(0) };
        let log_bytes = value("innodb_os_log_written");
        let log = IoCount {
            file: "log".into(),
            writes: value("innodb_os_log_fsyncs"),
            bytes_written: log_bytes,
            ..IoCount::default()
        };
        let data = IoCount {
            file: "data".into(),
            writes: value("innodb_pages_written"),
            bytes_written: (value("innodb_data_written") - log_bytes).max(0),
            reads: value("innodb_data_reads"),
            bytes_read: value("innodb_data_read"),
            ..IoCount::default()
        };
        let waits = vec![
            WaitCount {
                wait_type: "row locks".into(),
                count: value("innodb_row_lock_waits"),
                us: value("innodb_row_lock_time") * 1000,
            },
            WaitCount { wait_type: "log buffer".into(), count: value("innodb_log_waits"), us: 0 },
            WaitCount {
                wait_type: "free page".into(),
                count: value("innodb_buffer_pool_wait_free"),
                us: 0,
            },
        ];
        Ok(Counters { waits, io: vec![data, log], ..Counters::default() })
    }

    fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)> {
        let folder = self.open.as_ref()?.folder.clone();
        Some((folder.clone(), Arc::new(disk::OsDisk::new(folder))))
    }

    fn tear_down(&mut self) -> Result<(), LabError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.stop();
        if open.config.keep {
            return kept::leave(&open.folder, &open.config);
        }
        Ok(std::fs::remove_dir_all(&open.folder)?)
    }
}

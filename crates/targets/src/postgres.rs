//! PostgreSQL on a scratch folder, through its client library on a Unix socket. One connection does
//! the work; what needs several has them open before it begins. Times are this process's clock
//! around each statement.

mod statements;
mod tune;
mod variant;

pub use variant::Variant;

use crate::at_once::at_once;
use crate::clients::{customer_statement, expect_rows};
use crate::latency::latencies;
use crate::process::{self, Server, Socket, command, find, give_to_postgres, run_tool};
use crate::work::{
    Config, Counters, Durability, Figure, IoCount, Knob, LOAD_BATCH, LOAD_FILLER, TsqlWork, Work,
    loaded,
};
use crate::{LabError, Target, TargetPlace, kept};
use postgres::error::SqlState;
use postgres::{Client, NoTls};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// A PostgreSQL server of our own.
#[derive(Default)]
pub struct Postgres {
    variant: Variant,
    open: Option<OpenPostgres>,
    /// Settings that were found to be the best, with their values.
    tuned: Vec<tune::Setting>,
}

impl Postgres {
    /// One that is not running.
    pub fn new(variant: Variant) -> Postgres {
        Postgres { variant, ..Postgres::default() }
    }
}

struct OpenPostgres {
    folder: PathBuf,
    /// Before the server: it is closed first.
    client: Option<Client>,
    server: Option<Server>,
    socket: Socket,
    config: Config,
    variant: Variant,
}

const TABLE: &str = "(c_id int, c_d_id smallint, c_w_id int, c_first char(16), c_middle char(2), c_last char(16), \
c_street_1 char(20), c_street_2 char(20), c_city char(20), c_state char(2), c_zip char(9), c_phone char(16), c_since timestamp, \
c_credit char(2), c_credit_lim numeric(12,2), c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), \
c_payment_cnt smallint, c_delivery_cnt smallint, c_data char(500))";

const INSERT: &str = "insert into one_row values ($1, 'x')";

fn failed(error: &postgres::Error, statement: &str) -> LabError {
    LabError::Target {
        target: "PostgreSQL".into(),
        message: error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string),
        statement: statement.chars().take(300).collect(),
    }
}

/// The size of a WAL segment that comes closest to a growth step: powers of two from 1 MB to 1 GB.
fn segment_mb(config: &Config) -> u64 {
    (config.log.growth_kb / 1024).next_power_of_two().clamp(1, 1024)
}

/// Statements one by one: many of them may not stand in a batch, which is one transaction.
fn run_all(client: &mut Client, statements: &[&str]) -> Result<(), LabError> {
    statements.iter().try_for_each(|s| client.batch_execute(s).map_err(|e| failed(&e, s)))
}

/// The single value that a query returns, as text.
fn value(client: &mut Client, query: &str) -> Result<String, LabError> {
    let messages = client.simple_query(query).map_err(|e| failed(&e, query))?;
    messages
        .iter()
        .find_map(|m| match m {
            postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })
        .ok_or_else(|| LabError::Request(format!("PostgreSQL, {query}: no value")))
}

fn number(client: &mut Client, query: &str) -> Result<u64, LabError> {
    let text = value(client, query)?;
    // Sums are numeric.
    text.parse::<f64>()
        .map(|n| n as u64)
        .map_err(|_| LabError::Request(format!("PostgreSQL, {query}: {text} is no number")))
}

/// Inserts and commits in a loop inside the server.
fn commit_loop(session: u32, count: u64) -> String {
    format!(
        "do $$ begin for i in 1..{count} loop insert into one_row values ({session}, 'x'); commit; end loop; end $$"
    )
}

impl OpenPostgres {
    fn connect(&self) -> Result<Client, LabError> {
        let mut config = Client::configure();
        config.host_path(self.socket.path()).user("postgres").dbname("postgres");
        config.connect(NoTls).map_err(|e| failed(&e, "connecting"))
    }

    fn client(&mut self) -> Result<&mut Client, LabError> {
        self.client.as_mut().ok_or_else(|| LabError::Request("PostgreSQL is not running".into()))
    }

    fn connections(&self, count: u32) -> Result<Vec<Client>, LabError> {
        (0..count).map(|_| self.connect()).collect()
    }

    /// Seconds of a statement; stopped at the limit.
    fn timed(&mut self, statement: &str) -> Result<Vec<Figure>, LabError> {
        let limit = self.config.limit_s;
        let client = self.client()?;
        run_all(client, &[&format!("set statement_timeout = '{limit}s'")])?;
        let begin = Instant::now();
        let done = client.batch_execute(statement);
        let seconds = begin.elapsed().as_secs_f64();
        run_all(client, &["set statement_timeout = 0"])?;
        match done {
            Ok(()) => Ok(Figure::seconds(seconds)),
            Err(e) if e.code() == Some(&SqlState::QUERY_CANCELED) => {
                Err(LabError::TimeLimit(limit))
            }
            Err(e) => Err(failed(&e, statement)),
        }
    }

    fn start(&mut self) -> Result<(), LabError> {
        let mut server = command(&find(&["postgres"])?);
        server.arg("-D").arg(self.folder.join("data")).arg("-k").arg(self.socket.path());
        let log_mb = (self.config.log.final_kb / 1024).max(1024);
        let settings = [
            "listen_addresses=".to_owned(),
            format!("shared_buffers={}MB", self.config.memory >> 20),
            format!("min_wal_size={}MB", log_mb.max(2 * segment_mb(&self.config))),
            "synchronous_commit=on".into(),
            "maintenance_work_mem=1GB".into(),
            "max_connections=200".into(),
            "jit=off".into(),
        ];
        for setting in settings.iter().chain(&self.variant.settings(&self.config)) {
            server.args(["-c", setting]);
        }
        let mut server = Server::start(&mut server, &self.folder.with_extension("log"))?;
        server.wait_until("PostgreSQL", || self.connect().is_ok())?;
        self.server = Some(server);
        self.client = Some(self.connect()?);
        Ok(())
    }

    fn make(&mut self, customers: Option<&Path>) -> Result<(), LabError> {
        let mut initdb = command(&find(&["initdb"])?);
        initdb.arg("-D").arg(self.folder.join("data")).args([
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
        ]);
        initdb.args(["-U", "postgres"]).arg(format!("--wal-segsize={}", segment_mb(&self.config)));
        run_tool("initdb", &mut initdb)?;
        self.start()?;
        if let Some(customers) = customers.filter(|_| self.config.customers > 0) {
            let client = self.client()?;
            run_all(client, &[&format!("create unlogged table source {TABLE}")])?;
            let copy = "copy source from stdin with (format text, delimiter '|')";
            let mut writer = client.copy_in(copy).map_err(|e| failed(&e, copy))?;
            std::io::copy(&mut std::fs::File::open(customers)?, &mut writer)?;
            writer.finish().map_err(|e| failed(&e, copy))?;
        }
        for i in 0..self.config.data.files {
            let folder = self.folder.join(format!("space{i}"));
            std::fs::create_dir_all(&folder)?;
            give_to_postgres(&folder)?;
            let statement = format!("create tablespace space{i} location '{}'", folder.display());
            run_all(self.client()?, &[&statement])?;
        }
        // The log is there and was written, as everybody's.
        self.make_segments(self.config.log.initial_kb).map(drop)
    }

    /// Segments are made one by one, as pg_wal grows; a checkpoint then keeps them for later use.
    fn make_segments(&mut self, to_kb: u64) -> Result<Vec<Figure>, LabError> {
        let segments = (to_kb / 1024 / segment_mb(&self.config)).max(1);
        let figures = self.timed(&format!(
            "do $$ begin for i in 1..{segments} loop perform pg_logical_emit_message(true, 'grow', 'x'); perform pg_switch_wal(); end loop; end $$"
        ))?;
        run_all(self.client()?, &["checkpoint"])?;
        Ok(figures)
    }

    /// A table with its primary key, in that key's order.
    fn make_customer(&mut self) -> Result<(), LabError> {
        run_all(
            self.client()?,
            &[
                "drop table if exists customer, customer_tmp",
                &format!("create table customer {TABLE}"),
                "insert into customer select * from source",
                "alter table customer add constraint pk_customer primary key (c_w_id, c_d_id, c_id)",
                "cluster customer using pk_customer",
                &format!("create table customer_tmp {TABLE}"),
                "vacuum (analyze) customer",
                "checkpoint",
            ],
        )
    }

    /// One partition for each tablespace.
    fn make_load(&mut self) -> Result<(), LabError> {
        let columns = format!("(a int not null, b int not null, c char({LOAD_FILLER}) not null)");
        let files = self.config.data.files;
        let client = self.client()?;
        run_all(client, &["drop table if exists arrivals"])?;
        if files == 1 {
            run_all(client, &[&format!("create table arrivals {columns} tablespace space0")])?;
        } else {
            run_all(client, &[&format!("create table arrivals {columns} partition by hash (b)")])?;
            for i in 0..files {
                run_all(
                    client,
                    &[&format!(
                        "create table arrivals{i} partition of arrivals for values with (modulus {files}, remainder {i}) tablespace space{i}"
                    )],
                )?;
            }
        }
        run_all(client, &["checkpoint"])
    }

    /// Stored plain: neither compressed nor out of line.
    fn make_wide(&mut self, key: &str) -> Result<(), LabError> {
        run_all(
            self.client()?,
            &[
                "drop table if exists vlf_test",
                &format!(
                    "create table vlf_test (a int {key}, b char(8000) not null, c int not null)"
                ),
                "alter table vlf_test alter column b set storage plain",
                "insert into vlf_test values (1, repeat('a', 8000), 0)",
                "checkpoint",
            ],
        )
    }

    fn rows(&mut self, table: &str) -> Result<u64, LabError> {
        number(self.client()?, &format!("select count(*) from {table}"))
    }

    fn expect(&mut self, table: &str, rows: u64) -> Result<(), LabError> {
        expect_rows("PostgreSQL", table, self.rows(table)?, rows)
    }

    fn customers(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let rows = self.rows("customer")?;
        let (statement, table, left) = customer_statement(work, rows);
        let figures = self.timed(statement)?;
        self.expect(table, left)?;
        Ok(figures)
    }

    fn load(&mut self, connections: u32, rows: u64) -> Result<Vec<Figure>, LabError> {
        let batches = rows.div_ceil(LOAD_BATCH);
        let seconds = at_once(self.connections(connections)?, |session, client| {
            let statement = format!(
                "do $$ begin for i in 1..{batches} loop for j in 1..{LOAD_BATCH} loop \
                 insert into arrivals values ({session}, i, 'filler'); end loop; commit; end loop; end $$"
            );
            run_all(client, &[&statement])
        })?;
        Ok(Figure::seconds(seconds))
    }

    fn set_durability(&mut self, durability: Durability) -> Result<(), LabError> {
        let setting = if durability == Durability::Delayed { "off" } else { "on" };
        run_all(self.client()?, &[&format!("set synchronous_commit = {setting}")])
    }

    fn commits(&mut self, count: u64, durability: Durability) -> Result<Vec<Figure>, LabError> {
        let before = self.rows("one_row")?;
        self.set_durability(durability)?;
        let figures = self.timed(&commit_loop(1, count));
        self.set_durability(Durability::Full)?;
        let figures = figures?;
        self.expect("one_row", before + count)?;
        Ok(figures)
    }

    fn session_commits(&mut self, sessions: u32, each: u64) -> Result<Vec<Figure>, LabError> {
        let seconds = at_once(self.connections(sessions)?, |session, client| {
            run_all(client, &[&commit_loop(session, each)])
        })?;
        Ok(vec![Figure::new("commits/s", (u64::from(sessions) * each) as f64 / seconds)])
    }

    fn latencies(&mut self, ms: u64) -> Result<Vec<Figure>, LabError> {
        let client = self.client()?;
        let statement = client.prepare(INSERT).map_err(|e| failed(&e, INSERT))?;
        latencies(ms, |i| {
            client.execute(&statement, &[&(i as i32)]).map(drop).map_err(|e| failed(&e, INSERT))
        })
    }

    fn work(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let no = |why: &str| Err(LabError::Unsupported(why.to_owned()));
        let nothing = |()| vec![];
        match work {
            Work::MakeCustomer => self.make_customer().map(nothing),
            Work::InsertSelect | Work::Update | Work::Delete | Work::Tsql(TsqlWork::UpdateBack) => {
                self.customers(work)
            }
            Work::Checkpoint => self.timed("checkpoint"),
            Work::MakeOneRow => run_all(
                self.client()?,
                &[
                    "drop table if exists one_row",
                    "create table one_row (a int not null, b char(100) not null)",
                    "checkpoint",
                ],
            )
            .map(nothing),
            Work::LoopInserts(n) => self.timed(&format!(
                "do $$ begin for i in 1..{n} loop insert into one_row values (i, 'x'); end loop; end $$"
            )),
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
            Work::RowUpdates(n) => self.timed(&format!(
                "do $$ declare first char(8000) := repeat('a', 8000); second char(8000) := repeat('b', 8000); begin for x in 1..{} loop \
                 update vlf_test set b = first, c = x where a = 1; update vlf_test set b = second where a = 1; end loop; end $$",
                n / 2
            )),
            Work::GrowLog { to_kb, .. } => self.make_segments(*to_kb),
            Work::LogBackup => no("WAL is archived file by file as it fills; there is no command for a log backup"),
            Work::MakePayload | Work::Payload(..) => no("PostgreSQL always writes whole 8 KB blocks"),
            _ => no("this work is measured on Ringwood only"),
        }
    }

    /// Version and settings in words.
    fn said(&mut self) -> Result<String, LabError> {
        let config = self.config.clone();
        let title = self.variant.title();
        let client = self.client()?;
        let mut shown = String::new();
        for name in [
            "max_wal_size",
            "checkpoint_timeout",
            "full_page_writes",
            "autovacuum",
            "wal_level",
            "wal_sync_method",
            "wal_compression",
            "wal_writer_delay",
        ] {
            shown += &format!(", {name} {}", value(client, &format!("show {name}"))?);
        }
        Ok(format!(
            "{title} {}: shared_buffers {} MB, wal_segment_size {} MB, {} MB of WAL written beforehand{shown}, jit off; a commit \
             that is delayed is on the disk after at most three times wal_writer_delay",
            value(client, "show server_version")?,
            config.memory >> 20,
            segment_mb(&config),
            config.log.initial_kb >> 10,
        ))
    }
}

impl Target for Postgres {
    fn name(&self) -> &'static str {
        match self.variant {
            Variant::Tuned => "postgres",
            Variant::Shipped => "postgres-shipped",
            Variant::Torn => "postgres-torn",
        }
    }

    fn title(&self) -> &'static str {
        self.variant.title()
    }

    fn knob(&self, knob: Knob) -> Result<&'static str, &'static str> {
        match knob {
            Knob::LogPieces => Ok(
                "wal_segment_size (1 MB is the smallest, so that there are fewer pieces than 20,000)",
            ),
            Knob::DataFiles => Ok("tablespaces, the table partitioned over them"),
            Knob::Durability => Ok("synchronous_commit on and off"),
            Knob::LogGrowth => Ok("wal_segment_size: the piece by which pg_wal grows"),
            Knob::LogBlock => {
                Err("PostgreSQL writes its log in blocks of 8 KB, fixed when it is compiled")
            }
        }
    }

    fn set_up(&mut self, place: &TargetPlace, config: &Config) -> Result<Vec<String>, LabError> {
        self.tear_down()?;
        let folder = place.folder.join(&config.key);
        let kept = kept::take(&folder, config)? && !place.fresh;
        if !kept {
            process::stop_left(&folder)?;
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder)?;
            give_to_postgres(&folder)?;
        }
        let socket = Socket::new()?;
        give_to_postgres(socket.path())?;
        let mut open = OpenPostgres {
            folder,
            client: None,
            server: None,
            socket,
            config: config.clone(),
            variant: self.variant,
        };
        if kept {
            open.start()?;
        } else {
            open.make(place.customers.as_deref())?;
            self.tuned.iter().try_for_each(|(name, value)| open.set(name, value))?;
        }
        let said = open.said()?;
        self.open = Some(open);
        Ok(vec![said])
    }

    fn tune(&mut self) -> Result<Vec<String>, LabError> {
        // As it is shipped it is not tuned.
        let Some(open) = self.open.as_mut().filter(|open| open.variant != Variant::Shipped) else {
            return Ok(vec![]);
        };
        let (tuned, said) = open.tune()?;
        self.tuned = tuned;
        Ok(said)
    }

    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        match &mut self.open {
            Some(open) => open.work(work),
            None => Err(LabError::Request("PostgreSQL was not set up".into())),
        }
    }

    fn counters(&mut self) -> Result<Counters, LabError> {
        let Some(client) = self.open.as_mut().and_then(|o| o.client.as_mut()) else {
            return Ok(Counters::default());
        };
        run_all(client, &["select pg_stat_force_next_flush()"])?;
        // From version 18 on writes of the log are counted with all others.
        let writes = match number(client, "select current_setting('server_version_num')")? {
            180_000.. => "select coalesce(sum(writes), 0) from pg_stat_io where object = 'wal'",
            _ => "select wal_write from pg_stat_wal",
        };
        let io = IoCount {
            file: "log".into(),
            writes: number(client, writes)? as i64,
            bytes_written: number(client, "select wal_bytes from pg_stat_wal")? as i64,
            ..IoCount::default()
        };
        Ok(Counters { io: vec![io], ..Counters::default() })
    }

    fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)> {
        let folder = self.open.as_ref()?.folder.clone();
        Some((folder.clone(), Arc::new(disk::OsDisk::new(folder))))
    }

    fn tear_down(&mut self) -> Result<(), LabError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        drop(open.client.take());
        drop(open.server.take());
        if open.config.keep {
            return kept::leave(&open.folder, &open.config);
        }
        Ok(std::fs::remove_dir_all(&open.folder)?)
    }
}

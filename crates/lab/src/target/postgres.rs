//! PostgreSQL on a scratch folder, through psql on a Unix socket; times are the server's own clock.

use super::process::{
    self, Server, Socket, client, clock, customer_statement, expect_count, find, is_root, span,
};
use super::tsql::{LOAD_BATCH, LOAD_FILLER, loaded};
use super::{Place, Target, kept};
use crate::LabError;
use crate::work::{Config, Counters, Durability, Figure, IoCount, Knob, Work};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A PostgreSQL server of our own.
#[derive(Default)]
pub struct Postgres {
    open: Option<Open>,
}

struct Open {
    folder: PathBuf,
    server: Option<Server>,
    socket: Socket,
    config: Config,
}

const TABLE: &str = "(c_id int, c_d_id smallint, c_w_id int, c_first char(16), c_middle char(2), c_last char(16), \
c_street_1 char(20), c_street_2 char(20), c_city char(20), c_state char(2), c_zip char(9), c_phone char(16), c_since timestamp, \
c_credit char(2), c_credit_lim numeric(12,2), c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), \
c_payment_cnt smallint, c_delivery_cnt smallint, c_data char(500))";

/// PostgreSQL's programs run as the user `postgres` when we are root.
fn command(program: &Path) -> Command {
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

fn give_to_postgres(folder: &Path) -> Result<(), LabError> {
    if is_root() {
        let _ = Command::new("chown").arg("postgres").arg(folder).status()?;
    }
    Ok(())
}

/// The size of a WAL segment that comes closest to a growth step: powers of two from 1 MB to 1 GB.
fn segment_mb(config: &Config) -> u64 {
    (config.log.growth_kb / 1024).next_power_of_two().clamp(1, 1024)
}

impl Open {
    fn psql(&self) -> Result<Command, LabError> {
        let mut command = command(&find(&["psql"])?);
        command
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-h"])
            .arg(self.socket.path());
        Ok(command)
    }

    fn sql(&self, text: &str) -> Result<String, LabError> {
        client("PostgreSQL", &mut self.psql()?, text)
    }

    /// Seconds by the server's clock between the beginning and the end of `statement`.
    fn timed(&self, statement: &str) -> Result<Vec<Figure>, LabError> {
        let limit = self.config.limit_s;
        let limited = format!("set statement_timeout = '{limit}s';\n{}", clocked(statement));
        match self.sql(&limited) {
            Ok(out) => clock("PostgreSQL", &out).map(|(begin, end)| Figure::seconds(end - begin)),
            Err(LabError::Target { message, .. }) if message.contains("statement timeout") => {
                Err(LabError::TimeLimit(limit))
            }
            Err(other) => Err(other),
        }
    }

    fn start(&mut self) -> Result<(), LabError> {
        let mut server = command(&find(&["postgres"])?);
        server.arg("-D").arg(self.folder.join("data")).arg("-k").arg(self.socket.path());
        let (memory, log_mb) = (self.config.memory >> 20, (self.config.log.final_kb / 1024).max(1024));
        let settings = [
            "listen_addresses=".to_owned(),
            format!("shared_buffers={memory}MB"),
            format!("max_wal_size={}MB", log_mb.max(16 << 10)),
            format!("min_wal_size={}MB", log_mb.max(2 * segment_mb(&self.config))),
            "checkpoint_timeout=1h".into(),
            "synchronous_commit=on".into(),
            "maintenance_work_mem=1GB".into(),
            "autovacuum=off".into(),
            "max_connections=200".into(),
            "jit=off".into(),
        ];
        for setting in &settings {
            server.args(["-c", setting]);
        }
        let mut server = Server::start(&mut server, &self.folder.with_extension("log"))?;
        server.wait_until("PostgreSQL", || self.sql("select 1;").is_ok())?;
        self.server = Some(server);
        Ok(())
    }

    fn make(&mut self, customers: Option<&Path>) -> Result<(), LabError> {
        let mut initdb = command(&find(&["initdb"])?);
        initdb.arg("-D").arg(self.folder.join("data")).args(["-A", "trust", "-E", "UTF8", "--locale=C"]);
        initdb.arg(format!("--wal-segsize={}", segment_mb(&self.config)));
        client("PostgreSQL", &mut initdb, "")?;
        self.start()?;
        if let Some(customers) = customers.filter(|_| self.config.customers > 0) {
            self.sql(&format!(
                "create unlogged table source {TABLE};\n\\copy source from '{}' with (format text, delimiter '|')",
                customers.display()
            ))?;
        }
        for i in 0..self.config.data.files {
            let folder = self.folder.join(format!("space{i}"));
            std::fs::create_dir_all(&folder)?;
            give_to_postgres(&folder)?;
            self.sql(&format!("create tablespace space{i} location '{}';", folder.display()))?;
        }
        Ok(())
    }

    fn make_customer(&self) -> Result<(), LabError> {
        self.sql(&format!(
            "drop table if exists customer; drop table if exists customer_tmp;
             create table customer {TABLE}; insert into customer select * from source;
             create unique index ci_customer on customer (c_w_id, c_d_id, c_id); cluster customer using ci_customer;
             create table customer_tmp {TABLE}; vacuum (analyze) customer; checkpoint;"
        ))
        .map(drop)
    }

    /// One partition for each tablespace.
    fn make_load(&self) -> Result<(), LabError> {
        let columns = format!("(a int not null, b int not null, c char({LOAD_FILLER}) not null)");
        let files = self.config.data.files;
        let mut text = "drop table if exists arrivals;\n".to_owned();
        if files == 1 {
            text += &format!("create table arrivals {columns} tablespace space0;\n");
        } else {
            text += &format!("create table arrivals {columns} partition by hash (b);\n");
            for i in 0..files {
                text += &format!(
                    "create table arrivals{i} partition of arrivals for values with (modulus {files}, remainder {i}) tablespace space{i};\n"
                );
            }
        }
        self.sql(&(text + "checkpoint;")).map(drop)
    }

    fn expect(&self, query: &str, rows: u64) -> Result<(), LabError> {
        expect_count("PostgreSQL", query, &self.sql(query)?, rows)
    }

    /// The same script on many connections at once; seconds from the first beginning to the last end.
    fn on_all(&self, connections: u32, script: &dyn Fn(u32) -> String) -> Result<f64, LabError> {
        let jobs = (0..connections)
            .map(|i| Ok((self.psql()?, clocked(&script(i)))))
            .collect::<Result<Vec<_>, LabError>>()?;
        span("PostgreSQL", jobs)
    }

    fn customers(&self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let rows: u64 = self.sql("select count(*) from customer;")?.trim().parse().unwrap_or(0);
        let (statement, table, left) = customer_statement(work, rows);
        let figures = self.timed(statement)?;
        self.expect(&format!("select count(*) from {table};"), left)?;
        Ok(figures)
    }

    fn load(&self, connections: u32, rows: u64) -> Result<Vec<Figure>, LabError> {
        let batches = rows.div_ceil(LOAD_BATCH);
        let seconds = self.on_all(connections, &|session| {
            format!(
                "do $$ begin for i in 1..{batches} loop for j in 1..{LOAD_BATCH} loop \
                 insert into arrivals values ({session}, i, 'filler'); end loop; commit; end loop; end $$;"
            )
        })?;
        Ok(Figure::seconds(seconds))
    }

    fn commits(&self, count: u64, durability: Durability) -> Result<Vec<Figure>, LabError> {
        let setting = if durability == Durability::Delayed { "off" } else { "on" };
        self.timed(&format!(
            "set synchronous_commit = {setting};\ndo $$ begin for i in 1..{count} loop insert into one_row values (i, 'x'); commit; end loop; end $$;"
        ))
    }

    /// Segments are made one by one, as pg_wal grows; a checkpoint then keeps them for later use.
    fn grow_log(&self, to_kb: u64) -> Result<Vec<Figure>, LabError> {
        let segments = (to_kb / 1024 / segment_mb(&self.config)).max(1);
        let figures = self.timed(&format!(
            "do $$ begin for i in 1..{segments} loop perform pg_logical_emit_message(true, 'grow', 'x'); perform pg_switch_wal(); end loop; end $$;"
        ))?;
        self.sql("checkpoint;")?;
        Ok(figures)
    }

    fn work(&self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let no = |why: &str| Err(LabError::Unsupported(why.to_owned()));
        match work {
            Work::MakeCustomer => self.make_customer().map(|()| vec![]),
            Work::InsertSelect | Work::Update | Work::Delete => self.customers(work),
            Work::Checkpoint => self.timed("checkpoint;"),
            Work::MakeOneRow => self
                .sql("drop table if exists one_row; create table one_row (a int not null, b char(100) not null); checkpoint;")
                .map(|_| vec![]),
            Work::LoopInserts(n) => self.timed(&format!(
                "do $$ begin for i in 1..{n} loop insert into one_row values (i, 'x'); end loop; end $$;"
            )),
            Work::Commits(n, durability) => self.commits(*n, *durability),
            Work::SessionCommits(sessions, each) => {
                let seconds = self.on_all(*sessions, &|s| {
                    format!("do $$ begin for i in 1..{each} loop insert into one_row values ({s}, 'x'); commit; end loop; end $$;")
                })?;
                Ok(vec![Figure::new("commits/s", (u64::from(*sessions) * each) as f64 / seconds)])
            }
            Work::MakeLoad => self.make_load().map(|()| vec![]),
            Work::Load(connections, rows) => self.load(*connections, *rows),
            Work::CheckLoad(connections, rows) => {
                self.expect("select count(*) from arrivals;", loaded(*connections, *rows))?;
                Ok(vec![])
            }
            // Stored plain: neither compressed nor out of line.
            Work::MakeWide => self
                .sql(
                    "drop table if exists vlf_test; create table vlf_test (a int, b char(8000) not null, c int not null); \
                     alter table vlf_test alter column b set storage plain; insert into vlf_test values (1, repeat('a', 8000), 0); checkpoint;",
                )
                .map(|_| vec![]),
            Work::RowUpdates(n) => self.timed(&format!(
                "do $$ declare first char(8000) := repeat('a', 8000); second char(8000) := repeat('b', 8000); begin for x in 1..{} loop \
                 update vlf_test set b = first, c = x where a = 1; update vlf_test set b = second where a = 1; end loop; end $$;",
                n / 2
            )),
            Work::GrowLog { to_kb, .. } => self.grow_log(*to_kb),
            Work::LogBackup => no("WAL is archived file by file as it fills; there is no command for a log backup"),
            Work::Recovery(_) => no("recovery is measured on Ringwood only"),
            Work::MakePayload | Work::Payload(..) => no("PostgreSQL always writes whole 8 KB blocks"),
            Work::RawWrites => no("not an engine's work"),
            Work::Tsql(_) => no("this step is written in T-SQL"),
        }
    }
}

/// A script between two readings of the server's clock.
fn clocked(script: &str) -> String {
    let read = "select 'clock=' || extract(epoch from clock_timestamp());";
    format!("{read}\n{script}\n{read}\n")
}

impl Target for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn title(&self) -> &'static str {
        "PostgreSQL"
    }

    fn knob(&self, knob: Knob) -> Result<&'static str, &'static str> {
        match knob {
            Knob::LogPieces => {
                Ok("wal_segment_size (1 MB is the smallest, so that there are fewer pieces than 20,000)")
            }
            Knob::DataFiles => Ok("tablespaces, the table partitioned over them"),
            Knob::Durability => Ok("synchronous_commit on and off"),
            Knob::LogGrowth => Ok("wal_segment_size: the piece by which pg_wal grows"),
            Knob::LogBlock => Err("PostgreSQL writes its log in blocks of 8 KB, fixed when it is compiled"),
        }
    }

    fn set_up(&mut self, place: &Place, config: &Config) -> Result<Vec<String>, LabError> {
        self.tear_down()?;
        let folder = place.folder.join(&config.key);
        let kept = kept::take(&folder, config)?;
        if !kept {
            process::stop_left(&folder)?;
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder)?;
            give_to_postgres(&folder)?;
        }
        let socket = Socket::new()?;
        give_to_postgres(socket.path())?;
        let mut open = Open { folder, server: None, socket, config: config.clone() };
        if kept {
            open.start()?;
        } else {
            open.make(place.customers.as_deref())?;
        }
        let version = open.sql("show server_version;")?.trim().to_owned();
        let said = format!(
            "PostgreSQL {version}: shared_buffers {} MB, wal_segment_size {} MB, max_wal_size 16 GB or more, full_page_writes on",
            config.memory >> 20,
            segment_mb(config)
        );
        self.open = Some(open);
        Ok(vec![said])
    }

    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        match &self.open {
            Some(open) => open.work(work),
            None => Err(LabError::Request("PostgreSQL was not set up".into())),
        }
    }

    fn counters(&mut self) -> Result<Counters, LabError> {
        let Some(open) = &self.open else { return Ok(Counters::default()) };
        let out = open.sql("select wal_write, wal_bytes from pg_stat_wal;")?;
        let mut fields = out.trim().split('|').map(|f| f.parse::<f64>().unwrap_or(0.0) as i64);
        let io = IoCount {
            file: "log".into(),
            writes: fields.next().unwrap_or(0),
            bytes_written: fields.next().unwrap_or(0),
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
        drop(open.server.take());
        if open.config.keep {
            return kept::leave(&open.folder, &open.config);
        }
        Ok(std::fs::remove_dir_all(&open.folder)?)
    }
}

//! MariaDB (InnoDB) on a scratch folder, through its client on a Unix socket; times are the server's own clock.

use super::process::{
    self, Server, Socket, client, clock, customer_statement, expect_count, find, is_root, span,
};
use super::tsql::{LOAD_BATCH, LOAD_FILLER, loaded};
use super::{Place, Target, kept};
use crate::LabError;
use crate::work::{Config, Counters, Durability, Figure, IoCount, Knob, LogBlock, WaitCount, Work};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A MariaDB server of our own.
#[derive(Default)]
pub struct MariaDb {
    open: Option<Open>,
}

struct Open {
    folder: PathBuf,
    server: Option<Server>,
    socket: Socket,
    config: Config,
}

/// InnoDB has no char beyond 255: c_data is a varchar(500).
const TABLE: &str = "(c_id int, c_d_id tinyint unsigned, c_w_id int, c_first char(16), c_middle char(2), c_last char(16), \
c_street_1 char(20), c_street_2 char(20), c_city char(20), c_state char(2), c_zip char(9), c_phone char(16), c_since datetime(3), \
c_credit char(2), c_credit_lim numeric(12,2), c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), \
c_payment_cnt smallint, c_delivery_cnt smallint, c_data varchar(500)";

const PRIMARY: &str = ", primary key (c_w_id, c_d_id, c_id)";
const PROCEDURES: &str = "delimiter //
create procedure loop_inserts(n int) begin declare i int default 1; start transaction; while i <= n do insert into one_row values (i, 'x'); set i = i + 1; end while; commit; end//
create procedure commits(s int, n int) begin declare i int default 1; while i <= n do insert into one_row values (s, 'x'); commit; set i = i + 1; end while; end//
create procedure load_rows(s int, n int, batch int) begin declare i int default 1; declare j int; while i <= n do start transaction; set j = 0; while j < batch do insert into arrivals values (s, i, rpad('filler', 980)); set j = j + 1; end while; commit; set i = i + 1; end while; end//
create procedure row_updates(n int) begin declare x int default 1; declare a varchar(8000) default repeat('a', 8000); declare b varchar(8000) default repeat('b', 8000); start transaction; while x <= n do update vlf_test v set v.b = a, v.c = x where v.a = 1; update vlf_test v set v.b = b where v.a = 1; set x = x + 1; end while; commit; end//
create procedure payload(quarter int, half int, us bigint) begin declare stop datetime(6) default timestampadd(microsecond, us, sysdate(6)); declare a longtext default repeat('A', quarter); declare x longtext default repeat('X', quarter); declare z longtext default repeat('Z', half); while sysdate(6) < stop do insert into tab1 values (a, x, z); commit; end while; end//
delimiter ;
";

fn table(key: &str) -> String {
    format!("{TABLE}{key}) engine=InnoDB character set latin1")
}

/// A script between two readings of the server's clock, microseconds.
fn clocked(script: &str) -> String {
    let read = "select concat('clock=', unix_timestamp(sysdate(6)));";
    format!("use lab;\n{read}\n{script}\n{read}\n")
}

impl Open {
    fn client(&self) -> Result<Command, LabError> {
        let mut command = Command::new(find(&["mariadb", "mysql"])?);
        command.args(["--no-defaults", "-N", "-B", "--local-infile=1", "-u", "root", "-S"]);
        command.arg(self.socket.path().join("s"));
        Ok(command)
    }

    fn sql(&self, text: &str) -> Result<String, LabError> {
        client("MariaDB", &mut self.client()?, text)
    }

    fn timed(&self, statement: &str) -> Result<Vec<Figure>, LabError> {
        let (begin, end) = clock("MariaDB", &self.sql(&clocked(statement))?)?;
        Ok(Figure::seconds(end - begin))
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

    fn start(&mut self) -> Result<(), LabError> {
        let mut server = Command::new(find(&["mariadbd", "mysqld"])?);
        server.arg("--no-defaults").arg(format!("--datadir={}", self.folder.join("data").display()));
        server.arg(format!("--socket={}", self.socket.path().join("s").display())).args(self.user()).args([
            "--skip-networking",
            "--skip-log-bin",
            "--innodb-flush-log-at-trx-commit=1",
            "--innodb-flush-method=O_DIRECT",
            "--local-infile=1",
            "--max-connections=200",
        ]);
        server.arg(format!("--innodb-buffer-pool-size={}M", self.config.memory >> 20));
        // Never smaller than what the work fills: the log's size is not what most studies turn.
        server.arg(format!("--innodb-log-file-size={}M", (self.config.log.final_kb >> 10).max(1024)));
        if self.block() > 0 {
            server.arg(format!("--innodb-log-write-ahead-size={}", self.block()));
        }
        let mut server = Server::start(&mut server, &self.folder.join("server.log"))?;
        server.wait_until("MariaDB", || self.sql("select 1;").is_ok())?;
        self.server = Some(server);
        Ok(())
    }

    fn make(&mut self, customers: Option<&Path>) -> Result<(), LabError> {
        let mut install = Command::new(find(&["mariadb-install-db", "mysql_install_db"])?);
        install.arg("--no-defaults").arg(format!("--datadir={}", self.folder.join("data").display()));
        install.args(self.user()).arg("--auth-root-authentication-method=normal");
        let log = std::fs::File::create(self.folder.join("install.log"))?;
        if !install.stdout(log.try_clone()?).stderr(log).status()?.success() {
            return Err(LabError::Request("mariadb-install-db failed (install.log in its folder)".into()));
        }
        self.start()?;
        self.sql(&format!("create database lab; use lab;\n{PROCEDURES}"))?;
        if let Some(customers) = customers.filter(|_| self.config.customers > 0) {
            self.sql(&format!(
                "use lab; create table source {}; load data local infile '{}' into table source fields terminated by '|';",
                table(PRIMARY),
                customers.display()
            ))?;
        }
        Ok(())
    }

    fn make_load(&self) -> Result<(), LabError> {
        let files = self.config.data.files;
        let partitions =
            if files > 1 { format!(" partition by hash (b) partitions {files}") } else { String::new() };
        self.sql(&format!(
            "use lab; drop table if exists arrivals; create table arrivals (a int not null, b int not null, c varchar({LOAD_FILLER}) not null) \
             engine=InnoDB character set latin1{partitions};"
        ))
        .map(drop)
    }

    fn expect(&self, query: &str, rows: u64) -> Result<(), LabError> {
        expect_count("MariaDB", query, &self.sql(query)?, rows)
    }

    fn on_all(&self, connections: u32, script: &dyn Fn(u32) -> String) -> Result<f64, LabError> {
        let jobs = (0..connections)
            .map(|i| Ok((self.client()?, clocked(&script(i)))))
            .collect::<Result<Vec<_>, LabError>>()?;
        span("MariaDB", jobs)
    }

    fn customers(&self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let rows: u64 = self.sql("select count(*) from lab.customer;")?.trim().parse().unwrap_or(0);
        let (statement, table, left) = customer_statement(work, rows);
        let figures = self.timed(statement)?;
        self.expect(&format!("select count(*) from lab.{table};"), left)?;
        Ok(figures)
    }

    /// innodb_flush_log_at_trx_commit is global: 1 waits for the disk, 0 writes and flushes once a second.
    fn commits(&self, count: u64, durability: Durability) -> Result<Vec<Figure>, LabError> {
        let set = |value| self.sql(&format!("set global innodb_flush_log_at_trx_commit = {value};"));
        set(if durability == Durability::Delayed { 0 } else { 1 })?;
        let figures = self.timed(&format!("call commits(1, {count});"))?;
        set(1)?;
        self.expect("select count(*) from lab.one_row;", count)?;
        Ok(figures)
    }

    fn load(&self, connections: u32, rows: u64) -> Result<Vec<Figure>, LabError> {
        let batches = rows.div_ceil(LOAD_BATCH);
        let seconds =
            self.on_all(connections, &|s| format!("call load_rows({s}, {batches}, {LOAD_BATCH});"))?;
        Ok(Figure::seconds(seconds))
    }

    fn payload(&self, bytes: u32, ms: u64) -> Result<Vec<Figure>, LabError> {
        let quarter = bytes / 4;
        let out =
            self.sql(&clocked(&format!("call payload({quarter}, {}, {});", bytes - 2 * quarter, ms * 1000)))?;
        let (begin, end) = clock("MariaDB", &out)?;
        let rows: f64 = self.sql("select count(*) from lab.tab1;")?.trim().parse().unwrap_or(0.0);
        Ok(vec![Figure::new("rows/s", rows / (end - begin).max(0.001))])
    }

    /// InnoDB's own word for a checkpoint: no dirty page above 0 %; waited for.
    fn checkpoint(&self) -> Result<Vec<Figure>, LabError> {
        let begin = std::time::Instant::now();
        self.sql(
            "set global innodb_max_dirty_pages_pct_lwm = 0; set global innodb_max_dirty_pages_pct = 0;",
        )?;
        while begin.elapsed().as_secs() < 600 {
            let dirty = self.sql("show global status like 'Innodb_buffer_pool_pages_dirty';")?;
            if dirty.split_whitespace().nth(1).is_some_and(|n| n == "0") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let seconds = begin.elapsed().as_secs_f64();
        self.sql("set global innodb_max_dirty_pages_pct = 90;")?;
        Ok(Figure::seconds(seconds))
    }

    fn work(&self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let no = |why: &str| Err(LabError::Unsupported(why.to_owned()));
        let prepare = |text: &str| self.sql(text).map(|_| vec![]);
        match work {
            Work::MakeCustomer => prepare(&format!(
                "use lab; drop table if exists customer; drop table if exists customer_tmp;
                 create table customer {}; insert into customer select * from source; create table customer_tmp {};",
                table(PRIMARY),
                table("")
            )),
            Work::InsertSelect | Work::Update | Work::Delete => self.customers(work),
            Work::Checkpoint => self.checkpoint(),
            Work::MakeOneRow => prepare(
                "use lab; drop table if exists one_row; create table one_row (a int not null, b char(100) not null) engine=InnoDB;",
            ),
            Work::LoopInserts(n) => self.timed(&format!("call loop_inserts({n});")),
            Work::Commits(n, durability) => self.commits(*n, *durability),
            Work::SessionCommits(sessions, each) => {
                let seconds = self.on_all(*sessions, &|s| format!("call commits({s}, {each});"))?;
                Ok(vec![Figure::new("commits/s", (u64::from(*sessions) * each) as f64 / seconds)])
            }
            Work::MakeLoad => self.make_load().map(|()| vec![]),
            Work::Load(connections, rows) => self.load(*connections, *rows),
            Work::CheckLoad(connections, rows) => {
                self.expect("select count(*) from lab.arrivals;", loaded(*connections, *rows))?;
                Ok(vec![])
            }
            Work::MakeWide => prepare(
                "use lab; drop table if exists vlf_test; create table vlf_test (a int primary key, b varchar(8000) not null, c int not null) \
                 engine=InnoDB character set latin1; insert into vlf_test values (1, repeat('a', 8000), 0);",
            ),
            Work::RowUpdates(n) => self.timed(&format!("call row_updates({});", n / 2)),
            Work::MakePayload => prepare(
                "use lab; drop table if exists tab1; create table tab1 (col1 longtext, col2 longtext, col3 longtext) engine=InnoDB character set latin1;",
            ),
            Work::Payload(bytes, ms) => self.payload(*bytes, *ms),
            Work::GrowLog { .. } => no("InnoDB's log has one size, made at its start"),
            Work::LogBackup => no("InnoDB's log is circular; there is no log backup"),
            Work::Recovery(_) => no("recovery is measured on Ringwood only"),
            Work::RawWrites => no("not an engine's work"),
            Work::Tsql(_) => no("this step is written in T-SQL"),
        }
    }
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
            Knob::LogGrowth => Err("InnoDB's log has a fixed size (innodb_log_file_size) and never grows"),
            Knob::LogBlock => Ok("innodb_log_write_ahead_size"),
        }
    }

    fn set_up(&mut self, place: &Place, config: &Config) -> Result<Vec<String>, LabError> {
        self.tear_down()?;
        if matches!(config.block, LogBlock::Device | LogBlock::Flag1800) {
            return Err(LabError::Unsupported("InnoDB has no setting that follows the device".into()));
        }
        let folder = place.folder.join(&config.key);
        let kept = kept::take(&folder, config)?;
        if !kept {
            process::stop_left(&folder)?;
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder)?;
        }
        let mut open = Open { folder, server: None, socket: Socket::new()?, config: config.clone() };
        if kept {
            open.start()?;
        } else {
            open.make(place.customers.as_deref())?;
        }
        let out =
            open.sql("select version(), @@innodb_log_file_size div 1048576, @@innodb_log_write_ahead_size;")?;
        let mut fields = out.trim().split('\t');
        let mut next = || fields.next().unwrap_or_default().to_owned();
        let said = format!(
            "MariaDB {}: innodb_buffer_pool_size {} MB, innodb_log_file_size {} MB, innodb_log_write_ahead_size {}, O_DIRECT, no binary log",
            next(),
            config.memory >> 20,
            next(),
            next()
        );
        self.open = Some(open);
        Ok(vec![said])
    }

    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        match &self.open {
            Some(open) => open.work(work),
            None => Err(LabError::Request("MariaDB was not set up".into())),
        }
    }

    fn counters(&mut self) -> Result<Counters, LabError> {
        let Some(open) = &self.open else { return Ok(Counters::default()) };
        let out = open.sql("show global status like 'Innodb%';")?;
        let value = |name: &str| -> i64 {
            out.lines()
                .filter_map(|l| l.split_once('\t'))
                .find(|(n, _)| n.eq_ignore_ascii_case(name))
                .and_then(|(_, v)| v.trim().parse().ok())
                .unwrap_or(0)
        };
        let log_bytes = value("Innodb_os_log_written");
        let log = IoCount {
            file: "log".into(),
            writes: value("Innodb_os_log_fsyncs"),
            bytes_written: log_bytes,
            ..IoCount::default()
        };
        let data = IoCount {
            file: "data".into(),
            writes: value("Innodb_pages_written"),
            bytes_written: (value("Innodb_data_written") - log_bytes).max(0),
            reads: value("Innodb_data_reads"),
            bytes_read: value("Innodb_data_read"),
            ..IoCount::default()
        };
        let waits = vec![
            WaitCount {
                wait_type: "row locks".into(),
                count: value("Innodb_row_lock_waits"),
                us: value("Innodb_row_lock_time") * 1000,
            },
            WaitCount { wait_type: "log buffer".into(), count: value("Innodb_log_waits"), us: 0 },
            WaitCount { wait_type: "free page".into(), count: value("Innodb_buffer_pool_wait_free"), us: 0 },
        ];
        Ok(Counters { waits, io: vec![data, log], ..Counters::default() })
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

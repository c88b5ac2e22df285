//! PostgreSQL on a scratch folder, through psql on a Unix socket; times are psql's `\timing` of single statements.

use super::process::{Server, client, find, is_root};
use super::{Target, Work};
use crate::LabError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A PostgreSQL server of our own.
pub struct Postgres {
    folder: PathBuf,
    server: Option<Server>,
    version: String,
}

const TABLE: &str = "(c_id int, c_d_id smallint, c_w_id int, c_first char(16), c_middle char(2), c_last char(16), \
c_street_1 char(20), c_street_2 char(20), c_city char(20), c_state char(2), c_zip char(9), c_phone char(16), c_since timestamp, \
c_credit char(2), c_credit_lim numeric(12,2), c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), \
c_payment_cnt smallint, c_delivery_cnt smallint, c_data char(500))";

impl Postgres {
    /// Will live in `folder`, which must not exist.
    pub fn new(folder: &Path) -> Postgres {
        Postgres { folder: folder.to_owned(), server: None, version: String::new() }
    }

    /// PostgreSQL's programs run as the user `postgres` when we are root.
    fn command(program: &Path) -> Command {
        if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        }
    }

    fn psql(&self, text: &str) -> Result<String, LabError> {
        let mut command = Postgres::command(&find(&["psql"])?);
        command
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-h"])
            .arg(&self.folder);
        command.current_dir("/");
        client("PostgreSQL", &mut command, text)
    }

    /// Seconds of the last statement that `\timing` reported.
    fn timed(&self, statement: &str) -> Result<f64, LabError> {
        let out = self.psql(&format!("\\timing on\n{statement}\n"))?;
        out.lines()
            .rev()
            .find_map(|l| l.strip_prefix("Time: ")?.split(' ').next()?.parse::<f64>().ok())
            .map(|ms| ms / 1e3)
            .ok_or_else(|| LabError::Request(format!("psql printed no time: {out}")))
    }
}

impl Target for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn settings(&self) -> String {
        format!(
            "PostgreSQL {}: shared_buffers 2 GB, max_wal_size 16 GB, synchronous_commit on, full_page_writes on, checkpoint before each measure",
            self.version
        )
    }

    fn prepare(&mut self, customers: &Path) -> Result<(), LabError> {
        std::fs::create_dir_all(&self.folder)?;
        if is_root() {
            let _ = Command::new("chown").arg("postgres").arg(&self.folder).status()?;
        }
        let data = self.folder.join("data");
        let mut initdb = Postgres::command(&find(&["initdb"])?);
        initdb.arg("-D").arg(&data).args(["-A", "trust", "-E", "UTF8", "--locale=C"]).current_dir("/");
        client("PostgreSQL", &mut initdb, "")?;
        let mut server = Postgres::command(&find(&["postgres"])?);
        server.arg("-D").arg(&data).arg("-k").arg(&self.folder).current_dir("/");
        for setting in [
            "listen_addresses=",
            "shared_buffers=2GB",
            "max_wal_size=16GB",
            "min_wal_size=8GB",
            "checkpoint_timeout=1h",
            "synchronous_commit=on",
            "maintenance_work_mem=1GB",
            "autovacuum=off",
            "jit=off",
        ] {
            server.args(["-c", setting]);
        }
        let mut server = Server::start(&mut server, &self.folder.with_extension("log"))?;
        server.wait_until("PostgreSQL", || self.psql("select 1;").is_ok())?;
        self.server = Some(server);
        self.version = self.psql("show server_version;")?.trim().to_owned();
        self.psql(&format!(
            "create unlogged table source {TABLE};\n\\copy source from '{}' with (format text, delimiter '|')\ncreate table one_row (a int not null, b char(100) not null);",
            customers.display()
        ))?;
        Ok(())
    }

    fn reset(&mut self) -> Result<(), LabError> {
        self.psql(&format!(
            "drop table if exists customer; drop table if exists customer_tmp; truncate one_row;
             create table customer {TABLE}; insert into customer select * from source;
             create unique index ci_customer on customer (c_w_id, c_d_id, c_id); cluster customer using ci_customer;
             create table customer_tmp {TABLE}; vacuum (analyze) customer; checkpoint;"
        ))?;
        Ok(())
    }

    fn run(&mut self, work: Work) -> Result<f64, LabError> {
        match work {
            Work::InsertSelect => self.timed("insert into customer_tmp select * from customer;"),
            Work::Update => self.timed("update customer set c_data = lower(c_data);"),
            Work::Delete => self.timed("delete from customer;"),
            Work::LoopInserts(n) => self.timed(&format!(
                "do $$ begin for i in 1..{n} loop insert into one_row values (i, 'x'); end loop; end $$;"
            )),
            Work::DurableCommits(n) => self.timed(&format!(
                "do $$ begin for i in 1..{n} loop insert into one_row values (i, 'x'); commit; end loop; end $$;"
            )),
        }
    }

    fn count(&mut self, table: &str) -> Result<u64, LabError> {
        let out = self.psql(&format!("select count(*) from {table};"))?;
        out.trim().parse().map_err(|_| LabError::Request(format!("count of {table}: {out}")))
    }
}

//! MariaDB (InnoDB) on a scratch folder, through its client on a Unix socket; times are the server's clock around a statement.

use super::process::{Server, client, find, is_root};
use super::{Target, Work};
use crate::LabError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A MariaDB server of our own.
pub struct MariaDb {
    folder: PathBuf,
    server: Option<Server>,
    version: String,
}

const TABLE: &str = "(c_id int, c_d_id tinyint unsigned, c_w_id int, c_first char(16), c_middle char(2), c_last char(16), \
c_street_1 char(20), c_street_2 char(20), c_city char(20), c_state char(2), c_zip char(9), c_phone char(16), c_since datetime(3), \
c_credit char(2), c_credit_lim numeric(12,2), c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), \
c_payment_cnt smallint, c_delivery_cnt smallint, c_data char(255)";

/// InnoDB has no char beyond 255: c_data is a varchar(500), stored padded like char(500) elsewhere would be.
fn table(key: &str) -> String {
    format!(
        "{}{key}) engine=InnoDB character set latin1",
        TABLE.replace("c_data char(255)", "c_data varchar(500)")
    )
}

const PRIMARY: &str = ", primary key (c_w_id, c_d_id, c_id)";

impl MariaDb {
    /// Will live in `folder`, which must not exist.
    pub fn new(folder: &Path) -> MariaDb {
        MariaDb { folder: folder.to_owned(), server: None, version: String::new() }
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("s")
    }

    fn sql(&self, text: &str) -> Result<String, LabError> {
        let mut command = Command::new(find(&["mariadb", "mysql"])?);
        command
            .args(["--no-defaults", "-N", "-B", "--local-infile=1", "-u", "root", "-S"])
            .arg(self.socket());
        client("MariaDB", &mut command, text)
    }

    fn timed(&self, statement: &str) -> Result<f64, LabError> {
        let out = self.sql(&format!(
            "use lab; set @begin = sysdate(6);\n{statement}\nselect concat('us=', timestampdiff(microsecond, @begin, sysdate(6)));"
        ))?;
        out.lines()
            .find_map(|l| l.strip_prefix("us=")?.parse::<f64>().ok())
            .map(|us| us / 1e6)
            .ok_or_else(|| LabError::Request(format!("MariaDB printed no time: {out}")))
    }
}

impl Target for MariaDb {
    fn name(&self) -> &'static str {
        "MariaDB"
    }

    fn settings(&self) -> String {
        format!(
            "MariaDB {}: innodb_buffer_pool_size 2 GB, innodb_log_file_size 4 GB, innodb_flush_log_at_trx_commit 1, O_DIRECT, no binary log",
            self.version
        )
    }

    fn prepare(&mut self, customers: &Path) -> Result<(), LabError> {
        std::fs::create_dir_all(&self.folder)?;
        let data = self.folder.join("data");
        let user = if is_root() { vec!["--user=root"] } else { vec![] };
        let mut install = Command::new(find(&["mariadb-install-db", "mysql_install_db"])?);
        install.arg("--no-defaults").arg(format!("--datadir={}", data.display())).args(&user);
        install.arg("--auth-root-authentication-method=normal");
        let log = std::fs::File::create(self.folder.join("install.log"))?;
        if !install.stdout(log.try_clone()?).stderr(log).status()?.success() {
            return Err(LabError::Request("mariadb-install-db failed (install.log in its folder)".into()));
        }
        let mut server = Command::new(find(&["mariadbd", "mysqld"])?);
        server.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
        server.arg(format!("--socket={}", self.socket().display())).args(&user).args([
            "--skip-networking",
            "--skip-log-bin",
            "--innodb-buffer-pool-size=2G",
            "--innodb-log-file-size=4G",
            "--innodb-flush-log-at-trx-commit=1",
            "--innodb-flush-method=O_DIRECT",
            "--local-infile=1",
        ]);
        let mut server = Server::start(&mut server, &self.folder.join("server.log"))?;
        server.wait_until("MariaDB", || self.sql("select 1;").is_ok())?;
        self.server = Some(server);
        self.version = self.sql("select version();")?.trim().to_owned();
        self.sql(&format!(
            "create database lab; use lab; create table source {}; load data local infile '{}' into table source fields terminated by '|';
             create table one_row (a int not null, b char(100) not null) engine=InnoDB;
             delimiter //
             create procedure loop_inserts(n int) begin declare i int default 1; start transaction; while i <= n do insert into one_row values (i, 'x'); set i = i + 1; end while; commit; end//
             create procedure durable_commits(n int) begin declare i int default 1; while i <= n do insert into one_row values (i, 'x'); commit; set i = i + 1; end while; end//",
            table(PRIMARY),
            customers.display()
        ))?;
        Ok(())
    }

    fn reset(&mut self) -> Result<(), LabError> {
        self.sql(&format!(
            "use lab; drop table if exists customer; drop table if exists customer_tmp; truncate table one_row;
             create table customer {}; insert into customer select * from source; create table customer_tmp {};",
            table(PRIMARY),
            table("")
        ))?;
        Ok(())
    }

    fn run(&mut self, work: Work) -> Result<f64, LabError> {
        match work {
            Work::InsertSelect => self.timed("insert into customer_tmp select * from customer;"),
            Work::Update => self.timed("update customer set c_data = lower(c_data);"),
            Work::Delete => self.timed("delete from customer;"),
            Work::LoopInserts(n) => self.timed(&format!("call loop_inserts({n});")),
            Work::DurableCommits(n) => self.timed(&format!("call durable_commits({n});")),
        }
    }

    fn count(&mut self, table: &str) -> Result<u64, LabError> {
        let out = self.sql(&format!("select count(*) from lab.{table};"))?;
        out.trim().parse().map_err(|_| LabError::Request(format!("count of {table}: {out}")))
    }
}

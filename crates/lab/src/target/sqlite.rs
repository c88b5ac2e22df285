//! SQLite through its shell, one process per measure; times are the shell's `.timer` of single statements, and for many
//! commits the sum of their timers.

use super::process::{client, find};
use super::{Target, Work};
use crate::LabError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A SQLite database of our own.
pub struct Sqlite {
    folder: PathBuf,
    version: String,
}

const COLUMNS: &str = "c_id int, c_d_id int, c_w_id int, c_first text, c_middle text, c_last text, c_street_1 text, \
c_street_2 text, c_city text, c_state text, c_zip text, c_phone text, c_since text, c_credit text, c_credit_lim real, \
c_discount real, c_balance real, c_ytd_payment real, c_payment_cnt int, c_delivery_cnt int, c_data text";
const PRAGMAS: &str =
    "pragma synchronous=full; pragma cache_size=-2000000; pragma wal_autocheckpoint=1000000;";

impl Sqlite {
    /// Will live in `folder`.
    pub fn new(folder: &Path) -> Sqlite {
        Sqlite { folder: folder.to_owned(), version: String::new() }
    }

    fn sql(&self, text: &str) -> Result<String, LabError> {
        let mut command = Command::new(find(&["sqlite3"])?);
        command.arg("-bail").arg(self.folder.join("lab.db"));
        client("SQLite", &mut command, &format!("{PRAGMAS}\n{text}\n"))
    }

    /// Sum of the timers that the shell printed, seconds.
    fn timed(&self, statements: &str) -> Result<f64, LabError> {
        // The pages are in no cache when a process starts; a count reads them first, as a server's buffer would hold them.
        let out = self.sql(&format!("select count(c_data) from customer;\n.timer on\n{statements}"))?;
        let seconds: Vec<f64> = out
            .lines()
            .filter_map(|l| l.strip_prefix("Run Time: real ")?.split(' ').next()?.parse().ok())
            .collect();
        if seconds.is_empty() {
            return Err(LabError::Request(format!("the SQLite shell printed no time: {out}")));
        }
        Ok(seconds.iter().sum())
    }
}

impl Target for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn settings(&self) -> String {
        format!(
            "SQLite {}: journal_mode WAL, synchronous FULL, cache 2 GB, no automatic checkpoint below 1,000,000 pages",
            self.version
        )
    }

    fn prepare(&mut self, customers: &Path) -> Result<(), LabError> {
        std::fs::create_dir_all(&self.folder)?;
        self.version = self.sql("select sqlite_version();")?.lines().last().unwrap_or_default().to_owned();
        self.sql(&format!(
            "pragma journal_mode=wal;\ncreate table source ({COLUMNS});\ncreate table one_row (a int not null, b text not null);\n.separator |\n.import '{}' source",
            customers.display()
        ))?;
        Ok(())
    }

    fn reset(&mut self) -> Result<(), LabError> {
        self.sql(&format!(
            "drop table if exists customer; drop table if exists customer_tmp; delete from one_row;
             create table customer ({COLUMNS}, primary key (c_w_id, c_d_id, c_id)) without rowid;
             insert into customer select * from source; create table customer_tmp ({COLUMNS}); pragma wal_checkpoint(truncate);"
        ))?;
        Ok(())
    }

    fn run(&mut self, work: Work) -> Result<f64, LabError> {
        match work {
            Work::InsertSelect => self.timed("insert into customer_tmp select * from customer;"),
            Work::Update => self.timed("update customer set c_data = lower(c_data);"),
            Work::Delete => self.timed("delete from customer;"),
            Work::LoopInserts(n) => self.timed(&format!(
                "with recursive n(i) as (select 1 union all select i + 1 from n where i < {n}) insert into one_row select i, printf('%-100s', 'x') from n;"
            )),
            Work::DurableCommits(n) => {
                let statements: String =
                    (0..n).map(|i| format!("insert into one_row values ({i}, printf('%-100s', 'x'));\n")).collect();
                self.timed(&statements)
            }
        }
    }

    fn count(&mut self, table: &str) -> Result<u64, LabError> {
        let out = self.sql(&format!("select count(*) from {table};"))?;
        let last = out.lines().last().unwrap_or_default();
        last.trim().parse().map_err(|_| LabError::Request(format!("count of {table}: {out}")))
    }
}

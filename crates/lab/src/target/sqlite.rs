//! SQLite through its shell, one process per measure; times are SQLite's own clock around the statements, in whole
//! milliseconds. Many statements are many lines of a script, so that reading and compiling each is part of its time.

use super::process::{client, customer_statement, find, parallel};
use super::tsql::{LOAD_BATCH, LOAD_FILLER, loaded};
use super::{Place, Target, kept};
use crate::LabError;
use crate::work::{Config, Counters, Durability, Figure, Knob, Work};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// A SQLite database of our own.
#[derive(Default)]
pub struct Sqlite {
    open: Option<Open>,
}

struct Open {
    folder: PathBuf,
    config: Config,
}

const COLUMNS: &str = "c_id int, c_d_id int, c_w_id int, c_first text, c_middle text, c_last text, c_street_1 text, \
c_street_2 text, c_city text, c_state text, c_zip text, c_phone text, c_since text, c_credit text, c_credit_lim real, \
c_discount real, c_balance real, c_ytd_payment real, c_payment_cnt int, c_delivery_cnt int, c_data text";

/// SQLite's clock; the shell's own timer shows whole milliseconds of each statement, which is nothing for a short one.
const CLOCK: &str = "select strftime('clock=%s', 'now') || substr(strftime('%f', 'now'), 3);";
/// What that clock can tell.
const RESOLUTION: f64 = 0.001;

/// Seconds between the first and the last reading of the clock.
fn elapsed(out: &str) -> Result<f64, LabError> {
    let times: Vec<f64> = out.lines().filter_map(|l| l.strip_prefix("clock=")?.trim().parse().ok()).collect();
    match (times.first(), times.last()) {
        (Some(begin), Some(end)) if times.len() >= 2 => Ok((end - begin).max(RESOLUTION)),
        _ => Err(LabError::Request(format!("the SQLite shell printed no time: {out}"))),
    }
}

impl Open {
    fn shell(&self) -> Result<Command, LabError> {
        let mut command = Command::new(find(&["sqlite3"])?);
        command.arg("-bail").arg(self.folder.join("lab.db"));
        Ok(command)
    }

    fn with_settings(&self, synchronous: &str, text: &str) -> String {
        format!(
            ".timeout 600000\npragma synchronous={synchronous}; pragma cache_size=-{}; pragma wal_autocheckpoint=1000000;\n{text}\n",
            self.config.memory >> 10
        )
    }

    fn sql(&self, text: &str) -> Result<String, LabError> {
        client("SQLite", &mut self.shell()?, &self.with_settings("full", text))
    }

    /// Time of `statements` after `before`, which is not measured.
    fn timed(&self, synchronous: &str, before: &str, statements: &str) -> Result<Vec<Figure>, LabError> {
        let script = self.with_settings(synchronous, &format!("{before}\n{CLOCK}\n{statements}\n{CLOCK}"));
        Ok(Figure::seconds(elapsed(&client("SQLite", &mut self.shell()?, &script)?)?))
    }

    fn make_customer(&self) -> Result<(), LabError> {
        self.sql(&format!(
            "drop table if exists customer; drop table if exists customer_tmp;
             create table customer ({COLUMNS}, primary key (c_w_id, c_d_id, c_id)) without rowid;
             insert into customer select * from source; create table customer_tmp ({COLUMNS}); pragma wal_checkpoint(truncate);"
        ))
        .map(drop)
    }

    fn count(&self, table: &str) -> Result<u64, LabError> {
        let out = self.sql(&format!("select count(*) from {table};"))?;
        let last = out.lines().last().unwrap_or_default();
        last.trim().parse().map_err(|_| LabError::Request(format!("SQLite, count of {table}: {out}")))
    }

    fn expect(&self, table: &str, rows: u64) -> Result<(), LabError> {
        let found = self.count(table)?;
        if found == rows {
            return Ok(());
        }
        Err(LabError::Request(format!("SQLite: {found} rows in {table}, not {rows}")))
    }

    fn customers(&self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let rows = self.count("customer")?;
        let (statement, table, left) = customer_statement(work, rows);
        // The pages are in no cache when a process starts; a count reads them first, as a server's buffer would hold them.
        let figures = self.timed("full", "select count(c_data) from customer;", statement)?;
        self.expect(table, left)?;
        Ok(figures)
    }

    /// FULL waits for the disk at each commit; NORMAL in WAL mode does not.
    fn commits(&self, count: u64, durability: Durability) -> Result<Vec<Figure>, LabError> {
        let synchronous = if durability == Durability::Delayed { "normal" } else { "full" };
        let figures = self.timed(synchronous, "", &one_row_inserts(1, count))?;
        self.expect("one_row", count)?;
        Ok(figures)
    }

    /// Scripts on many connections at once; seconds by our clock, the shells' start included.
    fn on_all(&self, connections: u32, script: &dyn Fn(u32) -> String) -> Result<f64, LabError> {
        let jobs = (0..connections)
            .map(|i| Ok((self.shell()?, self.with_settings("full", &script(i)))))
            .collect::<Result<Vec<_>, LabError>>()?;
        let begin = std::time::Instant::now();
        parallel("SQLite", jobs)?;
        Ok(begin.elapsed().as_secs_f64())
    }

    fn load(&self, connections: u32, rows: u64) -> Result<Vec<Figure>, LabError> {
        let batches = rows.div_ceil(LOAD_BATCH);
        let seconds = self.on_all(connections, &|s| {
            (0..batches)
                .map(|i| {
                    let row = format!(
                        "insert into arrivals values ({s}, {i}, printf('%-{LOAD_FILLER}s', 'filler'));\n"
                    );
                    format!("begin immediate;\n{}commit;\n", row.repeat(LOAD_BATCH as usize))
                })
                .collect()
        })?;
        Ok(Figure::seconds(seconds))
    }

    fn row_updates(&self, updates: u64) -> Result<Vec<Figure>, LabError> {
        let pairs: String = (1..=updates / 2)
            .map(|x| {
                format!(
                    "update vlf_test set b = (select a from v), c = {x} where a = 1;\nupdate vlf_test set b = (select b from v) where a = 1;\n"
                )
            })
            .collect();
        let values =
            "create temp table v as select printf('%.8000c', 'a') as a, printf('%.8000c', 'b') as b;";
        self.timed("full", values, &format!("begin;\n{pairs}commit;"))
    }

    fn work(&self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let no = |why: &str| Err(LabError::Unsupported(why.to_owned()));
        let prepare =
            |text: &str| self.sql(&format!("{text} pragma wal_checkpoint(truncate);")).map(|_| vec![]);
        match work {
            Work::MakeCustomer => self.make_customer().map(|()| vec![]),
            Work::InsertSelect | Work::Update | Work::Delete => self.customers(work),
            Work::Checkpoint => self.timed("full", "", "pragma wal_checkpoint(truncate);"),
            Work::MakeOneRow => {
                prepare("drop table if exists one_row; create table one_row (a int not null, b text not null);")
            }
            Work::LoopInserts(n) => self.timed(
                "full",
                "",
                &format!(
                    "with recursive n(i) as (select 1 union all select i + 1 from n where i < {n}) insert into one_row select i, printf('%-100s', 'x') from n;"
                ),
            ),
            Work::Commits(n, durability) => self.commits(*n, *durability),
            Work::SessionCommits(sessions, each) => {
                let seconds = self.on_all(*sessions, &|s| one_row_inserts(s, *each))?;
                Ok(vec![Figure::new("commits/s", (u64::from(*sessions) * each) as f64 / seconds)])
            }
            Work::MakeLoad => {
                prepare("drop table if exists arrivals; create table arrivals (a int not null, b int not null, c text not null);")
            }
            Work::Load(connections, rows) => self.load(*connections, *rows),
            Work::CheckLoad(connections, rows) => {
                self.expect("arrivals", loaded(*connections, *rows))?;
                Ok(vec![])
            }
            Work::MakeWide => prepare(
                "drop table if exists vlf_test; create table vlf_test (a integer primary key, b text not null, c int not null); \
                 insert into vlf_test values (1, printf('%.8000c', 'a'), 0);",
            ),
            Work::RowUpdates(n) => self.row_updates(*n),
            Work::GrowLog { .. } | Work::LogBackup => no("SQLite's WAL grows by what is written and is not backed up"),
            Work::Recovery(_) => no("recovery is measured on Ringwood only"),
            Work::MakePayload | Work::Payload(..) => no("SQLite writes whole pages to its WAL"),
            Work::RawWrites => no("not an engine's work"),
            Work::Tsql(_) => no("this step is written in T-SQL"),
        }
    }
}

fn one_row_inserts(session: u32, count: u64) -> String {
    format!("insert into one_row values ({session}, printf('%-100s', 'x'));\n").repeat(count as usize)
}

impl Target for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn title(&self) -> &'static str {
        "SQLite"
    }

    fn knob(&self, knob: Knob) -> Result<&'static str, &'static str> {
        match knob {
            Knob::LogPieces => Err("SQLite's WAL is one file that is not cut into pieces"),
            Knob::DataFiles => Err("a SQLite database is one file"),
            Knob::Durability => Ok("PRAGMA synchronous FULL and NORMAL, journal_mode WAL"),
            Knob::LogGrowth => Err("SQLite's WAL grows by what is written; there is no step to set"),
            Knob::LogBlock => Err("SQLite writes whole pages to its WAL; the sector has no setting"),
        }
    }

    fn set_up(&mut self, place: &Place, config: &Config) -> Result<Vec<String>, LabError> {
        self.tear_down()?;
        let folder = place.folder.join(&config.key);
        let kept = kept::take(&folder, config)?;
        let open = Open { folder, config: config.clone() };
        if !kept {
            let _ = std::fs::remove_dir_all(&open.folder);
            std::fs::create_dir_all(&open.folder)?;
            open.sql("pragma journal_mode=wal;")?;
            if let Some(file) = place.customers.as_deref().filter(|_| config.customers > 0) {
                open.sql(&format!(
                    "create table source ({COLUMNS});\n.separator |\n.import '{}' source",
                    file.display()
                ))?;
            }
        }
        let out = open.sql("select sqlite_version();")?;
        let said = format!(
            "SQLite {}: journal_mode WAL, synchronous FULL, cache {} MB, no automatic checkpoint below 1,000,000 pages",
            out.lines().last().unwrap_or_default(),
            config.memory >> 20
        );
        self.open = Some(open);
        Ok(vec![said])
    }

    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        match &self.open {
            Some(open) => open.work(work),
            None => Err(LabError::Request("SQLite was not set up".into())),
        }
    }

    fn counters(&mut self) -> Result<Counters, LabError> {
        Ok(Counters::default())
    }

    fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)> {
        let folder = self.open.as_ref()?.folder.clone();
        Some((folder.clone(), Arc::new(disk::OsDisk::new(folder))))
    }

    fn tear_down(&mut self) -> Result<(), LabError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        if open.config.keep {
            return kept::leave(&open.folder, &open.config);
        }
        Ok(std::fs::remove_dir_all(&open.folder)?)
    }
}

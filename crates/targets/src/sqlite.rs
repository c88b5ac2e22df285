//! SQLite in this process, the version that its crate brings: prepared statements, write-ahead
//! logging, the log's file written before it is used and never cut. Times are this process's clock.

use crate::at_once::at_once;
use crate::clients::{customer_statement, expect_rows, extend_with_zeros, limited};
use crate::latency::latencies;
use crate::work::{
    Config, Counters, Durability, Figure, Knob, LOAD_BATCH, LOAD_FILLER, TsqlWork, Work, loaded,
};
use crate::{LabError, Target, TargetPlace, customers, kept};
use rusqlite::Connection;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A SQLite database of our own.
#[derive(Default)]
pub struct Sqlite {
    open: Option<OpenSqlite>,
}

struct OpenSqlite {
    folder: PathBuf,
    config: Config,
    connection: Connection,
}

const COLUMNS: &str = "c_id int, c_d_id int, c_w_id int, c_first text, c_middle text, c_last text, c_street_1 text, \
c_street_2 text, c_city text, c_state text, c_zip text, c_phone text, c_since text, c_credit text, c_credit_lim real, \
c_discount real, c_balance real, c_ytd_payment real, c_payment_cnt int, c_delivery_cnt int, c_data text";
const COLUMN_COUNT: usize = 21;
const INSERT: &str = "insert into one_row values (?1, ?2)";

fn failed(error: &rusqlite::Error, statement: &str) -> LabError {
    LabError::Target {
        target: "SQLite".into(),
        message: error.to_string(),
        statement: statement.chars().take(300).collect(),
    }
}

fn run_all(connection: &Connection, statements: &str) -> Result<(), LabError> {
    connection.execute_batch(statements).map_err(|e| failed(&e, statements))
}

/// Opens the database. `synchronous = FULL` waits for the disk at each commit; nothing is
/// checkpointed by itself.
fn open(folder: &Path, memory: u64) -> Result<Connection, LabError> {
    let connection = Connection::open(folder.join("lab.db")).map_err(|e| failed(&e, "open"))?;
    connection.busy_timeout(Duration::from_secs(600)).map_err(|e| failed(&e, "busy_timeout"))?;
    run_all(
        &connection,
        &format!(
            "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -{}; pragma wal_autocheckpoint = 0;",
            memory >> 10
        ),
    )?;
    Ok(connection)
}

/// `text` as char(100) columns are: filled with blanks.
fn padded(text: &str, length: usize) -> String {
    format!("{text:<length$}")
}

/// Inserts that many rows, each a transaction unless one is open.
fn insert_rows(connection: &Connection, session: u32, count: u64) -> Result<(), LabError> {
    let filler = padded("x", 100);
    let mut statement = connection.prepare(INSERT).map_err(|e| failed(&e, INSERT))?;
    for _ in 0..count {
        statement.execute((session, &filler)).map_err(|e| failed(&e, INSERT))?;
    }
    Ok(())
}

impl OpenSqlite {
    /// Seconds of `work`, interrupted at the limit.
    fn timed(
        &self,
        work: impl FnOnce(&Connection) -> Result<(), LabError>,
    ) -> Result<Vec<Figure>, LabError> {
        let interrupt = self.connection.get_interrupt_handle();
        let done = limited(
            self.config.limit_s,
            move || interrupt.interrupt(),
            || {
                let begin = Instant::now();
                work(&self.connection)?;
                Ok(begin.elapsed().as_secs_f64())
            },
        );
        if done.is_err() && !self.connection.is_autocommit() {
            run_all(&self.connection, "rollback")?;
        }
        Ok(Figure::seconds(done?))
    }

    fn rows(&self, table: &str) -> Result<u64, LabError> {
        let query = format!("select count(*) from {table}");
        let rows: i64 =
            self.connection.query_row(&query, (), |r| r.get(0)).map_err(|e| failed(&e, &query))?;
        Ok(rows.max(0) as u64)
    }

    fn expect(&self, table: &str, rows: u64) -> Result<(), LabError> {
        expect_rows("SQLite", table, self.rows(table)?, rows)
    }

    /// Everything in the log goes to the database; the log is used again from its beginning and
    /// keeps its size.
    fn checkpoint(&self) -> Result<(), LabError> {
        let query = "pragma wal_checkpoint(restart)";
        let busy: i64 =
            self.connection.query_row(query, (), |r| r.get(0)).map_err(|e| failed(&e, query))?;
        if busy == 0 {
            Ok(())
        } else {
            Err(LabError::Request("SQLite: the checkpoint found the log in use".into()))
        }
    }

    /// Statements and a checkpoint: what they have dirtied is nobody's cost.
    fn prepare(&self, statements: &str) -> Result<Vec<Figure>, LabError> {
        run_all(&self.connection, statements)?;
        self.checkpoint()?;
        Ok(vec![])
    }

    /// The rows as text; the columns make numbers of them.
    fn load_customers(&mut self, file: &Path) -> Result<(), LabError> {
        let marks: Vec<String> = (1..=COLUMN_COUNT).map(|i| format!("?{i}")).collect();
        let insert = format!("insert into source values ({})", marks.join(", "));
        run_all(&self.connection, &format!("create table source ({COLUMNS})"))?;
        let transaction = self.connection.transaction().map_err(|e| failed(&e, "begin"))?;
        let mut statement = transaction.prepare(&insert).map_err(|e| failed(&e, &insert))?;
        for line in BufReader::new(std::fs::File::open(file)?).lines() {
            let line = line?;
            let fields = rusqlite::params_from_iter(line.split(customers::FIELD));
            statement.execute(fields).map_err(|e| failed(&e, &insert))?;
        }
        drop(statement);
        transaction.commit().map_err(|e| failed(&e, "commit"))
    }

    fn customers(&self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let rows = self.rows("customer")?;
        let (statement, table, left) = customer_statement(work, rows);
        let figures = self.timed(|connection| run_all(connection, statement))?;
        self.expect(table, left)?;
        Ok(figures)
    }

    /// FULL waits for the disk at each commit; NORMAL with a write-ahead log does not.
    fn set_durability(&self, durability: Durability) -> Result<(), LabError> {
        let synchronous = if durability == Durability::Delayed { "normal" } else { "full" };
        run_all(&self.connection, &format!("pragma synchronous = {synchronous}"))
    }

    fn commits(&self, count: u64, durability: Durability) -> Result<Vec<Figure>, LabError> {
        let before = self.rows("one_row")?;
        self.set_durability(durability)?;
        let figures = self.timed(|connection| insert_rows(connection, 1, count));
        self.set_durability(Durability::Full)?;
        let figures = figures?;
        self.expect("one_row", before + count)?;
        Ok(figures)
    }

    fn latencies(&self, ms: u64) -> Result<Vec<Figure>, LabError> {
        let filler = padded("x", 100);
        let mut statement = self.connection.prepare(INSERT).map_err(|e| failed(&e, INSERT))?;
        latencies(ms, |i| {
            statement.execute((i as i64, &filler)).map(drop).map_err(|e| failed(&e, INSERT))
        })
    }

    /// Connections of several threads. There is one writer at a time: they take turns by a lock of
    /// this process, as programs do that write much, instead of SQLite's own waiting, which sleeps
    /// and tries again.
    fn connections(&self, count: u32) -> Result<Vec<Connection>, LabError> {
        (0..count).map(|_| open(&self.folder, self.config.memory / u64::from(count))).collect()
    }

    fn session_commits(&self, sessions: u32, each: u64) -> Result<Vec<Figure>, LabError> {
        let turn = Mutex::new(());
        let filler = padded("x", 100);
        let seconds = at_once(self.connections(sessions)?, |session, connection| {
            let mut statement = connection.prepare(INSERT).map_err(|e| failed(&e, INSERT))?;
            for _ in 0..each {
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                statement.execute((session, &filler)).map_err(|e| failed(&e, INSERT))?;
            }
            Ok(())
        })?;
        Ok(vec![Figure::new("commits/s", (u64::from(sessions) * each) as f64 / seconds)])
    }

    fn load(&self, connections: u32, rows: u64) -> Result<Vec<Figure>, LabError> {
        let batches = rows.div_ceil(LOAD_BATCH);
        let filler = padded("filler", LOAD_FILLER as usize);
        let insert = "insert into arrivals values (?1, ?2, ?3)";
        let turn = Mutex::new(());
        let seconds = at_once(self.connections(connections)?, |session, connection| {
            let failed = |e: rusqlite::Error| failed(&e, insert);
            let mut begin = connection.prepare("begin immediate").map_err(failed)?;
            let mut commit = connection.prepare("commit").map_err(failed)?;
            let mut statement = connection.prepare(insert).map_err(failed)?;
            for batch in 0..batches as i64 {
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                begin.execute(()).map_err(failed)?;
                for _ in 0..LOAD_BATCH {
                    statement.execute((session, batch, &filler)).map_err(failed)?;
                }
                commit.execute(()).map_err(failed)?;
            }
            Ok(())
        })?;
        Ok(Figure::seconds(seconds))
    }

    fn make_wide(&self, key: &str) -> Result<Vec<Figure>, LabError> {
        self.prepare(&format!(
            "drop table if exists vlf_test; create table vlf_test (a integer {key}, b text not null, c int not null); \
             insert into vlf_test values (1, printf('%.8000c', 'a'), 0);"
        ))
    }

    fn row_updates(&self, updates: u64) -> Result<Vec<Figure>, LabError> {
        let (a, b) = ("a".repeat(8000), "b".repeat(8000));
        let (first, second) = (
            "update vlf_test set b = ?1, c = ?2 where a = 1",
            "update vlf_test set b = ?1 where a = 1",
        );
        self.timed(|connection| {
            run_all(connection, "begin")?;
            let mut one = connection.prepare(first).map_err(|e| failed(&e, first))?;
            let mut other = connection.prepare(second).map_err(|e| failed(&e, second))?;
            for x in 1..=updates as i64 / 2 {
                one.execute((&a, x)).map_err(|e| failed(&e, first))?;
                other.execute((&b,)).map_err(|e| failed(&e, second))?;
            }
            run_all(connection, "commit")
        })
    }

    fn work(&self, work: &Work) -> Result<Vec<Figure>, LabError> {
        let no = |why: &str| Err(LabError::Unsupported(why.to_owned()));
        match work {
            Work::MakeCustomer => self.prepare(&format!(
                "drop table if exists customer; drop table if exists customer_tmp; \
                 create table customer ({COLUMNS}, primary key (c_w_id, c_d_id, c_id)); \
                 insert into customer select * from source; create table customer_tmp ({COLUMNS});"
            )),
            Work::InsertSelect | Work::Update | Work::Delete | Work::Tsql(TsqlWork::UpdateBack) => {
                self.customers(work)
            }
            Work::Checkpoint => self.timed(|_| self.checkpoint()),
            Work::MakeOneRow => self.prepare(
                "drop table if exists one_row; create table one_row (a int not null, b text not null);",
            ),
            Work::LoopInserts(n) => self.timed(|connection| {
                run_all(connection, "begin")?;
                insert_rows(connection, 1, *n)?;
                run_all(connection, "commit")
            }),
            Work::Commits(n, durability) => self.commits(*n, *durability),
            Work::Latencies(ms) => self.latencies(*ms),
            Work::SessionCommits(sessions, each) => self.session_commits(*sessions, *each),
            Work::MakeLoad => self.prepare(
                "drop table if exists arrivals; create table arrivals (a int not null, b int not null, c text not null);",
            ),
            Work::Load(connections, rows) => self.load(*connections, *rows),
            Work::CheckLoad(connections, rows) => {
                self.expect("arrivals", loaded(*connections, *rows)).map(|()| vec![])
            }
            Work::MakeWide => self.make_wide(""),
            Work::MakeWideWithKey => self.make_wide("primary key"),
            Work::RowUpdates(n) => self.row_updates(*n),
            Work::GrowLog { .. } | Work::LogBackup => no("SQLite's WAL grows by what is written and is not backed up"),
            Work::MakePayload | Work::Payload(..) => no("SQLite writes whole pages to its WAL"),
            _ => no("this work is measured on Ringwood only"),
        }
    }
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
            Knob::LogGrowth => {
                Err("SQLite's WAL grows by what is written; there is no step to set")
            }
            Knob::LogBlock => {
                Err("SQLite writes whole pages to its WAL; the sector has no setting")
            }
        }
    }

    fn set_up(&mut self, place: &TargetPlace, config: &Config) -> Result<Vec<String>, LabError> {
        self.tear_down()?;
        let folder = place.folder.join(&config.key);
        let kept = kept::take(&folder, config)? && !place.fresh;
        if !kept {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder)?;
        }
        let mut open = OpenSqlite {
            connection: open(&folder, config.memory)?,
            folder,
            config: config.clone(),
        };
        if let Some(file) = place.customers.as_deref().filter(|_| config.customers > 0 && !kept) {
            open.load_customers(file)?;
        }
        // The log is there when something was written; the last connection that closes the database
        // removes it, so it is made each time.
        run_all(
            &open.connection,
            "create table if not exists anything (a int); insert into anything values (1);",
        )?;
        open.checkpoint()?;
        extend_with_zeros(&open.folder.join("lab.db-wal"), config.log.initial_kb << 10)?;
        let said = format!(
            "SQLite {} in process, prepared statements: journal_mode WAL, synchronous FULL (fdatasync), cache {} MB, {} MB of WAL written \
             beforehand, no automatic checkpoint; tables with rowids, as its documentation advises for rows of more than a twentieth of a page; \
             a commit that is delayed (synchronous NORMAL) is on the disk after the next checkpoint",
            rusqlite::version(),
            config.memory >> 20,
            config.log.initial_kb >> 10
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
        let OpenSqlite { folder, config, connection } = open;
        connection.close().map_err(|(_, e)| failed(&e, "close"))?;
        if config.keep {
            return kept::leave(&folder, &config);
        }
        Ok(std::fs::remove_dir_all(&folder)?)
    }
}

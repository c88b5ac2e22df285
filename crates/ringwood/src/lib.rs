//! Ringwood embedded: a transactional database that speaks T-SQL, inside your process.
//!
//! Open an instance on a folder, open a session per thread, execute T-SQL.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let db = ringwood::Database::open(folder.path())?;
//! let mut session = db.session()?;
//! session.execute("create table greeting (id int primary key, words nvarchar(50))")?;
//! session.execute("insert greeting values (1, N'hello'), (2, N'good day')")?;
//! for row in session.query("select words from greeting order by id")?.rows {
//!     println!("{}", row[0]);
//! }
//! db.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! A commit that returned is on disk (unless delayed durability was asked for). Dropping the last
//! handle closes the instance cleanly; [`Database::close`] does so and reports what went wrong. One
//! process at a time may open a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::msg;

use engine::FirstError;
pub use engine::{
    BulkOptions, BulkRows, ColumnBatches, ColumnInfo, DataType, ResultRows, RowItems, Sink,
    SqlError, StatementEnd, StoredCell, Value,
};
pub use types::{Decimal, Len, units};

/// How an instance is opened.
#[derive(Clone, Debug, Default)]
pub struct Options {
    folder: PathBuf,
    memory: Option<u64>,
    query_memory: Option<usize>,
    volumes: Vec<(char, PathBuf)>,
    trace_flags: Vec<i32>,
    read_only: bool,
}

impl Options {
    /// An instance in `folder`, which is made when it is not there.
    pub fn new(folder: impl Into<PathBuf>) -> Options {
        Options { folder: folder.into(), ..Options::default() }
    }

    /// Bytes that the instance may hold: pages, queries, values, plans, logs; pages get what the
    /// others leave. Half of the machine's memory unless set.
    pub fn memory(mut self, bytes: u64) -> Options {
        self.memory = Some(bytes);
        self
    }

    /// Bytes for all queries' sorts, joins, aggregates and kept rows together; what does not fit
    /// goes through files. A quarter of the machine's memory, at most three quarters of
    /// [`Options::memory`], unless set.
    pub fn query_memory(mut self, bytes: usize) -> Options {
        self.query_memory = Some(bytes);
        self
    }

    /// The folder that a drive letter in T-SQL file names stands for.
    pub fn volume(mut self, letter: char, folder: impl Into<PathBuf>) -> Options {
        self.volumes.push((letter.to_ascii_uppercase(), folder.into()));
        self
    }

    /// A trace flag at start, e.g. 1800 (log blocks aligned to 4,096 bytes whatever the device
    /// says) or 4022 (no procedure runs by itself at the start).
    pub fn trace_flag(mut self, flag: i32) -> Options {
        self.trace_flags.push(flag);
        self
    }

    /// Changes nothing in the folder, which may be one that cannot be written: databases that were
    /// stopped cleanly are open for reading, one that needs recovery says so when it is used,
    /// changes are error 3906. What sorts need goes into the system's folder for temporary files.
    /// Several processes may have a folder open like this.
    pub fn read_only(mut self) -> Options {
        self.read_only = true;
        self
    }

    /// Opens the instance: recovers its databases where the last stop was not clean. Errors: the
    /// folder is in use or cannot be written. A single database that cannot be opened does not fail
    /// the instance; using it says why.
    pub fn open(self) -> Result<Database, SqlError> {
        let options = engine::InstanceOptions {
            process_bytes: self.memory,
            query_bytes: self.query_memory,
            volumes: self.volumes.into_iter().collect(),
            trace_flags: self.trace_flags,
            url_devices: url_devices(),
            read_only: self.read_only,
            ..engine::InstanceOptions::new(self.folder)
        };
        let instance = engine::Instance::open(options)
            .map_err(|e| SqlError::of(msg::INSTANCE_NOT_OPENED, [&e]))?;
        // Without it the instance works all the same; only `ringwood top` cannot look in.
        let _ = instance.open_to_view();
        Ok(Database { owner: Arc::new(Owner { instance }) })
    }
}

/// What makes backup devices of URLs: there in builds with the feature `s3`.
pub fn url_devices() -> Option<Arc<dyn engine::UrlDevices>> {
    #[cfg(feature = "s3")]
    if let Ok(s3) = s3::S3::new() {
        return Some(Arc::new(s3));
    }
    None
}

/// What handles and sessions share. The last of them closes the instance; the thread that lets
/// others look in and the procedures that started with it have ended before.
#[derive(Debug)]
struct Owner {
    instance: Arc<engine::Instance>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.instance.close_to_view();
        self.instance.end_launched();
    }
}

/// An open instance. Clones share it.
#[derive(Clone, Debug)]
pub struct Database {
    owner: Arc<Owner>,
}

impl Database {
    /// Opens the instance in `folder` with the defaults of [`Options`].
    pub fn open(folder: impl AsRef<Path>) -> Result<Database, SqlError> {
        Options::new(folder.as_ref()).open()
    }

    /// A new session in the database `master`: its own transaction, variables and SET options. Give
    /// each thread its own. Errors: the instance was closed.
    pub fn session(&self) -> Result<Session, SqlError> {
        Ok(Session { inner: self.owner.instance.session()?, _owner: self.owner.clone() })
    }

    /// Checks the integrity of a database: allocation, indexes, rows and their agreement. The
    /// problems found; none = clean.
    pub fn check(&self, database: &str) -> Result<Vec<String>, SqlError> {
        let report = self.owner.instance.check_database(database)?;
        Ok(report.allocation.into_iter().chain(report.consistency).collect())
    }

    /// A batch has run SHUTDOWN: no further batch runs in any session. Call [`Database::close`].
    pub fn shutdown_requested(&self) -> bool {
        self.owner.instance.shutdown_requested()
    }

    /// Stops cleanly: everything that was committed is durable, data files are written, nothing is
    /// left to redo.
    pub fn close(&self) -> Result<(), SqlError> {
        self.owner.instance.close()
    }
}

/// One result set, kept in memory.
#[derive(Clone, Debug, Default)]
pub struct ResultSet {
    /// Names and types.
    pub columns: Vec<ColumnInfo>,
    /// Rows in order.
    pub rows: Vec<Vec<Value>>,
}

/// What a batch produced.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Result sets in order.
    pub sets: Vec<ResultSet>,
    /// Rows affected by each statement that counts rows.
    pub affected: Vec<u64>,
    /// PRINT and informational messages.
    pub messages: Vec<SqlError>,
}

#[derive(Default)]
struct Collector {
    outcome: Outcome,
    error: FirstError,
}

impl Sink for Collector {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.outcome.sets.push(ResultSet { columns: columns.to_vec(), rows: Vec::new() });
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        let Some(set) = self.outcome.sets.last_mut() else { return Ok(()) };
        rows.each(|row| {
            set.rows.push(row.to_vec());
            Ok(())
        })
    }
    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        if let Some(rows) = end.rows {
            self.outcome.affected.push(rows);
        }
        Ok(())
    }
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.outcome.messages.push(message.clone());
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.error(error)
    }
}

/// Counts rows and keeps nothing else.
#[derive(Default)]
struct Counter {
    rows: u64,
    error: FirstError,
}

impl Sink for Counter {
    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        self.rows += end.rows.unwrap_or(0);
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.error(error)
    }
}

/// What [`Session::stream`] calls for each row.
type EachRow<'a> = dyn FnMut(&[ColumnInfo], &[Value]) -> Result<(), SqlError> + 'a;

/// Streams rows to a closure, which stops the batch by an error.
struct Streamer<'a> {
    each: &'a mut EachRow<'a>,
    columns: Vec<ColumnInfo>,
    error: FirstError,
}

impl Sink for Streamer<'_> {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.columns = columns.to_vec();
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| (self.each)(&self.columns, row))
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.error(error)
    }
}

/// A session. It runs one batch at a time and may move between threads.
pub struct Session {
    inner: engine::Session,
    /// Dropped last.
    _owner: Arc<Owner>,
}

/// A batch with parameters, compiled once; see [`Session::prepare`].
pub struct Statement(engine::session::Prepared);

impl Session {
    /// Runs a batch (no GO) and keeps what it produces. Errors: the first error of the batch;
    /// statements before it took effect, as in SQL Server.
    pub fn execute(&mut self, batch: &str) -> Result<Outcome, SqlError> {
        let mut collector = Collector::default();
        self.inner.execute(&units::held(batch), &mut collector);
        collector.error.or(collector.outcome)
    }

    /// Runs a batch and returns its first result set (empty when there was none).
    pub fn query(&mut self, batch: &str) -> Result<ResultSet, SqlError> {
        Ok(self.execute(batch)?.sets.into_iter().next().unwrap_or_default())
    }

    /// Runs a batch and hands each row to `each` as it is produced; no result set is kept in
    /// memory.
    pub fn stream(
        &mut self,
        batch: &str,
        mut each: impl FnMut(&[ColumnInfo], &[Value]) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let mut streamer =
            Streamer { each: &mut each, columns: Vec::new(), error: FirstError::default() };
        self.inner.execute(&units::held(batch), &mut streamer);
        streamer.error.or(())
    }

    /// Compiles a batch with parameters: `prepare("insert t values (@a, @b)", &[("@a",
    /// DataType::Int), ...])`. Errors: syntax, undeclared variables, unknown types. Names are
    /// resolved when it first runs.
    pub fn prepare(
        &mut self,
        batch: &str,
        parameters: &[(&str, DataType)],
    ) -> Result<Statement, SqlError> {
        self.inner.prepare(&units::held(batch), parameters).map(Statement)
    }

    /// Runs a prepared batch with values for its parameters, in the order of [`Session::prepare`].
    /// Errors: as [`Session::execute`]; a value that does not convert to its parameter's type.
    pub fn execute_prepared(
        &mut self,
        statement: &Statement,
        values: &[Value],
    ) -> Result<Outcome, SqlError> {
        let mut collector = Collector::default();
        self.inner.execute_prepared(&statement.0, values, &mut collector)?;
        collector.error.or(collector.outcome)
    }

    /// Runs a prepared batch as [`Session::execute_prepared`] does, and gives only the sum of
    /// [`Outcome::affected`]: result sets and messages are not kept, which costs a short statement
    /// less.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let db = ringwood::Database::open(folder.path())?;
    /// # let mut session = db.session()?;
    /// session.execute("create table t (n int primary key)")?;
    /// let put = session.prepare("insert t values (@n), (@n + 1)", &[("@n", ringwood::DataType::Int)])?;
    /// assert_eq!(session.count_prepared(&put, &[ringwood::Value::Int(1)])?, 2);
    /// // The second row would be there twice: an error, and no row at all.
    /// assert_eq!(session.count_prepared(&put, &[ringwood::Value::Int(0)]).unwrap_err().number, 2627);
    /// # db.close()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Errors: as [`Session::execute_prepared`].
    pub fn count_prepared(
        &mut self,
        statement: &Statement,
        values: &[Value],
    ) -> Result<u64, SqlError> {
        let mut counter = Counter::default();
        self.inner.execute_prepared(&statement.0, values, &mut counter)?;
        counter.error.or(counter.rows)
    }

    /// Loads rows into a table as one statement, the fast way: no text, whole pages to a log
    /// record. `table` is a name as T-SQL has it (`t`, `schema.t`, `[my db].dbo.[my t]`), `columns`
    /// those that the rows have (none: all but an identity column). The rows come from a closure
    /// that fills one row at a time, from [`ColumnBatches`], or from your own [`BulkRows`]; values
    /// are converted to the columns' types. Gives the number of rows.
    ///
    /// Errors: as INSERT; 4864 for a text that its char or varchar column cannot hold; what `rows`
    /// returns. Nothing of a failed load stays, but for the batches that [`BulkOptions::batch`] has
    /// had committed.
    pub fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        options: &BulkOptions,
        rows: &mut dyn BulkRows,
    ) -> Result<u64, SqlError> {
        self.inner.bulk_insert(table, columns, options, rows)
    }

    /// Runs a batch with a sink of your own: everything in the order in which it happens. An error
    /// that the sink returns ends the batch and rolls its transaction back; no CATCH of the batch
    /// sees it.
    pub fn run(&mut self, batch: &str, sink: &mut dyn Sink) {
        self.inner.execute(&units::held(batch), sink);
    }
}

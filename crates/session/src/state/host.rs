//! What statements see of the instance that they run in: its databases, its memory for queries, its
//! run files, its error log, its counters; and what they call for that is done in the layer above.
//! Guarantee: nothing here opens, closes or moves a file of a database.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use compact_str::CompactString;
use disk::Disk;
use expr::functions::Function;
use memory::MemoryAccount;
use parking_lot::RwLock;
use txn::Apart;
use types::{SqlError, Value};

use super::changes::FiredTriggers;
use super::core::{SessionCore, SessionShared};
use super::phases::RequestPhases;
use crate::output::{ColumnInfo, Sink};
use crate::query_memory::QueryMemory;
use crate::run_files::RunFiles;
use bind::counters::OptimizerCounters;
use bind::env::Names;
use bind::function::CalledFunction;
use bind::undeclared::DeducedParameter;
use catalog::errorlog::ErrorLog;
use catalog::{Db, FIRST_USER_DB, NewTable, TEMPDB, TableDef, errors, fold_name};
use logical::view::ViewDef;

/// What statements call for that is done above this crate, where batches run and tables are
/// defined.
pub trait Upcalls: Send + Sync {
    /// A system view or table function.
    fn view(&self, schema: &str, name: &str) -> Option<&'static dyn ViewDef>;

    /// A scalar function that needs the session or the catalog, by its lower-case name.
    fn function(&self, name: &str) -> Option<&'static Function>;

    /// Runs one trigger after another. `catching`: a CATCH block around the statement waits for
    /// their errors.
    ///
    /// # Errors
    /// Those of the triggers; [`errors::batch_ended`] when they were reported already.
    fn run_triggers(
        &self,
        core: &mut SessionCore,
        sink: &mut dyn Sink,
        fired: Vec<FiredTriggers>,
        catching: bool,
    ) -> Result<(), SqlError>;

    /// The value of a user's scalar function; of a function that fills a table the rows go to
    /// `rows`.
    ///
    /// # Errors
    /// Those of the function; 217 functions nested too deeply.
    fn call_function(
        &self,
        core: &mut SessionCore,
        function: &CalledFunction,
        args: Vec<Value>,
        rows: &mut dyn Sink,
    ) -> Result<Value, SqlError>;

    /// Creates the table of SELECT INTO: in `db`, or a temporary one when its name says so.
    ///
    /// # Errors
    /// Those of CREATE TABLE.
    fn create_table(
        &self,
        core: &mut SessionCore,
        db: &Arc<Db>,
        new: NewTable,
    ) -> Result<Arc<TableDef>, SqlError>;

    /// Whether a name is that of a procedure of the system.
    fn is_procedure(&self, name: &str) -> bool;

    /// The columns of the first result set of a text with declared parameters, which is not run;
    /// none when it has no result set.
    ///
    /// # Errors
    /// Those of compiling the text.
    fn first_columns(
        &self,
        core: &mut SessionCore,
        text: &str,
        declarations: &str,
    ) -> Result<Vec<ColumnInfo>, SqlError>;

    /// The parameters of a text that nobody has declared, with what its statements say of them. It
    /// is not run.
    ///
    /// # Errors
    /// Those of compiling the text; 11502 to 11508 when a type cannot be deduced.
    fn undeclared_parameters(
        &self,
        core: &mut SessionCore,
        text: &str,
        declarations: &str,
    ) -> Result<Vec<(CompactString, DeducedParameter)>, SqlError>;

    /// Runs a text of the system's own in a database, in a session apart.
    ///
    /// # Errors
    /// The first of the text's; why the database cannot be used.
    fn run_apart(&self, core: &SessionCore, database: &str, text: &str) -> Result<(), SqlError>;
}

/// An instance as statements see it.
pub struct Host {
    above: &'static dyn Upcalls,
    databases: RwLock<BTreeMap<i32, Arc<Db>>>,
    /// Tempdb as table variables see it.
    variables: OnceLock<Arc<Db>>,
    memory: Arc<MemoryAccount>,
    query_memory: Arc<QueryMemory>,
    run_files: Arc<RunFiles>,
    error_log: Arc<ErrorLog>,
    /// What compilations came to.
    optimizer: OptimizerCounters,
    /// Number of the next transaction that a session begins, as clients see it.
    next_transaction: Apart<AtomicU64>,
    /// Batches of sessions that have ended.
    ended_batches: AtomicU64,
    /// Where the time of requests goes.
    phases: RequestPhases,
}

impl Host {
    /// Without a database yet.
    pub fn new(
        above: &'static dyn Upcalls,
        disk: Arc<dyn Disk>,
        error_log: Arc<ErrorLog>,
        memory: QueryMemory,
    ) -> Host {
        Host {
            above,
            databases: RwLock::default(),
            variables: OnceLock::new(),
            memory: memory.account().clone(),
            query_memory: Arc::new(memory),
            run_files: Arc::new(RunFiles::new(disk, error_log.clone())),
            error_log,
            optimizer: OptimizerCounters::default(),
            next_transaction: Apart::new(AtomicU64::new(1)),
            ended_batches: AtomicU64::new(0),
            phases: RequestPhases::default(),
        }
    }

    /// Where the time of requests goes, as far as it is measured.
    #[inline]
    pub fn request_phases(&self) -> &RequestPhases {
        &self.phases
    }

    /// What is done above.
    #[inline]
    pub fn above(&self) -> &'static dyn Upcalls {
        self.above
    }

    // ---- databases ----

    /// The database of a name.
    pub fn find_db(&self, name: &str) -> Option<Arc<Db>> {
        let folded = fold_name(name);
        self.databases.read().values().find(|db| fold_name(&db.name()) == folded).cloned()
    }

    /// The database of an id.
    pub fn db_by_id(&self, id: i32) -> Option<Arc<Db>> {
        self.databases.read().get(&id).cloned()
    }

    /// The database of a name; 911 when there is none.
    pub fn database(&self, name: &str) -> Result<Arc<Db>, SqlError> {
        self.find_db(name).ok_or_else(|| errors::no_database(name))
    }

    /// All databases by id.
    pub fn databases(&self) -> Vec<Arc<Db>> {
        // The account asks too, wherever its caller may be: a writer that waits must not stand
        // between two reads of a thread.
        self.databases.read_recursive().values().cloned().collect()
    }

    /// A database is there from now on.
    pub fn add_database(&self, db: Arc<Db>) {
        if db.id() == TEMPDB {
            self.run_files
                .set_beside(db.entry().files.into_iter().find(|f| f.file_id == 1).map(|f| f.path));
        }
        self.databases.write().insert(db.id(), db);
    }

    /// It is there no longer.
    pub fn remove_database(&self, id: i32) {
        self.databases.write().remove(&id);
    }

    /// The least id that no database has.
    pub fn free_database_id(&self) -> i32 {
        let databases = self.databases.read();
        (FIRST_USER_DB..).find(|id| !databases.contains_key(id)).unwrap_or(i32::MAX)
    }

    /// Where table variables are.
    ///
    /// # Errors
    /// Why tempdb cannot be used.
    pub fn variables_db(&self) -> Result<Arc<Db>, SqlError> {
        if let Some(db) = self.variables.get() {
            return Ok(db.clone());
        }
        let tempdb =
            self.db_by_id(TEMPDB).ok_or_else(|| SqlError::internal("there is no tempdb"))?;
        let made = tempdb.for_variables()?;
        Ok(self.variables.get_or_init(|| made).clone())
    }

    // ---- memory, files, log ----

    /// The account of the instance's memory.
    #[inline]
    pub fn memory(&self) -> &Arc<MemoryAccount> {
        &self.memory
    }

    /// Memory for queries.
    #[inline]
    pub fn query_memory(&self) -> &Arc<QueryMemory> {
        &self.query_memory
    }

    /// Where what does not fit in it goes.
    #[inline]
    pub fn run_files(&self) -> &Arc<RunFiles> {
        &self.run_files
    }

    /// The error log.
    pub fn error_log(&self) -> &Arc<ErrorLog> {
        &self.error_log
    }

    // ---- counters ----

    /// Counters of compilations.
    #[inline]
    pub fn optimizer(&self) -> &OptimizerCounters {
        &self.optimizer
    }

    /// A number for a transaction that a session begins: no other has it while the instance runs.
    #[inline]
    pub(super) fn next_transaction(&self) -> u64 {
        self.next_transaction.fetch_add(1, Ordering::Relaxed)
    }

    /// A session has ended: its batches count on.
    pub(super) fn session_ended(&self, session: &SessionShared) {
        self.ended_batches.fetch_add(session.batches.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Batches of sessions that have ended.
    pub fn ended_batches(&self) -> u64 {
        self.ended_batches.load(Ordering::Relaxed)
    }
}

/// The names that statements are compiled against.
impl Names for Host {
    fn find_db(&self, name: &str) -> Option<Arc<Db>> {
        Host::find_db(self, name)
    }

    fn database(&self, name: &str) -> Result<Arc<Db>, SqlError> {
        Host::database(self, name)
    }

    fn variables(&self) -> Result<Arc<Db>, SqlError> {
        self.variables_db()
    }

    fn view(&self, schema: &str, name: &str) -> Option<&'static dyn ViewDef> {
        self.above.view(schema, name)
    }

    fn function(&self, name: &str) -> Option<&'static Function> {
        self.above.function(name)
    }
}

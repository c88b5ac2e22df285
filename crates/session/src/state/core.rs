//! The state that statements need of their session, in parts: identity, options, transactions,
//! answers, what it runs, its objects, the memory that it keeps, and the state that it publishes.
//! It knows nothing of batches; `Session` drives it.
//!
//! A function that needs one part takes that part. Methods of the whole concern several parts, or
//! are called from nearly everywhere.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::SqlError;

use super::answer_wait::AnswerWait;
use super::current_db::CurrentDb;
use super::host::Host;
use super::identity::Identity;
use super::kept_memory::KeptMemory;
use super::session_objects::SessionObjects;
use super::session_run::SessionRun;
use super::transactions::Transactions;
use crate::output::Sink;
use crate::query_memory::QueryMemory;
use bind::set_options::CurrentOptions;
use catalog::Db;
use catalog::change::DdlChange;
use catalog::db::DbUse;

pub use super::kept_memory::PointRoom;
pub use super::shared::{
    ClientNames, DEDICATED_ENDPOINT, NetworkConnection, SessionShared, SessionWatcher,
    TCP_ENDPOINT, ThreadPause,
};

/// The part of a session that a running statement sees.
pub struct SessionCore {
    host: Arc<Host>,
    /// The instance as the layer above knows it.
    instance: Box<dyn Any + Send + Sync>,
    pub(super) db: CurrentDb,
    /// The state that the session publishes, and the flags by which others stop it.
    pub shared: Arc<SessionShared>,
    /// Who runs the statements.
    pub identity: Identity,
    /// SET options.
    pub options: CurrentOptions,
    /// Its open transactions, savepoints and changes of schema; @@TRANCOUNT.
    pub transactions: Transactions,
    /// Which records of the log its answers wait for.
    pub answers: AnswerWait,
    /// The statements that it runs now, and the results of the last one.
    pub run: SessionRun,
    /// Objects and values that its client has made: temporary tables, cursors, prepared statements.
    pub objects: SessionObjects,
    /// Memory that is kept from one statement to the next, and its charges.
    pub memory: KeptMemory,
}

impl SessionCore {
    /// A new session of a host, in a database of it. `instance`: what [`SessionCore::instance_of`]
    /// gives.
    pub fn new(
        host: Arc<Host>,
        instance: Box<dyn Any + Send + Sync>,
        db: Arc<Db>,
        spid: i32,
        shared: Arc<SessionShared>,
    ) -> SessionCore {
        shared.db.store(db.id().into(), Ordering::Relaxed);
        let names = shared.names.lock().clone();
        let memory = KeptMemory::new(host.memory());
        SessionCore {
            host,
            instance,
            db: CurrentDb::new(DbUse::of(db, spid)),
            shared,
            identity: Identity::new(spid, names),
            options: CurrentOptions::default(),
            transactions: Transactions::default(),
            answers: AnswerWait::default(),
            run: SessionRun::default(),
            objects: SessionObjects::default(),
            memory,
        }
    }

    /// The instance as statements see it.
    #[inline]
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// The memory that its statements take their grants of: the session's own, or that of all.
    pub fn query_memory(&self) -> &Arc<QueryMemory> {
        self.memory.own_queries.as_ref().unwrap_or_else(|| self.host.query_memory())
    }

    /// The instance as the layer above has given it.
    #[inline]
    pub fn instance_of<T: 'static>(&self) -> Option<&T> {
        self.instance.downcast_ref()
    }

    /// The current database.
    #[inline]
    pub fn db(&self) -> &Arc<Db> {
        self.db.get()
    }

    /// @@SPID.
    #[inline]
    pub fn spid(&self) -> i32 {
        self.identity.spid()
    }

    /// @@TRANCOUNT.
    #[inline]
    pub fn trancount(&self) -> u32 {
        self.transactions.client.trancount()
    }

    /// XACT_STATE(): 1 a transaction can go on, -1 it can only roll back, 0 none.
    pub fn xact_state(&self) -> i16 {
        self.transactions.client.xact_state()
    }

    /// Sets @@TRANCOUNT, for others to see too.
    #[inline]
    pub(super) fn set_trancount(&mut self, n: u32) {
        self.transactions.client.set_trancount(n, &self.shared);
    }

    /// When the session's transaction began, in microseconds since 1970, UTC: BEGIN TRANSACTION,
    /// else the moment at which the statement that is its own transaction asked for it first.
    pub fn transaction_time(&mut self) -> u64 {
        let Transactions { open, client, .. } = &mut self.transactions;
        let own = open.first().map_or(0, |open| open.txn.locks.id().0);
        client.time(own, &self.shared)
    }

    /// The session's transaction begins.
    #[inline]
    pub(super) fn transaction_began(&mut self) {
        self.transactions.client.begin(self.host.next_transaction());
    }

    /// Tells the client what has become of transactions.
    #[inline]
    pub fn tell_transactions(&mut self, sink: &mut dyn Sink) -> Result<(), SqlError> {
        self.transactions.client.tell(sink)
    }

    /// Whether someone asked this session to stop: poll it once per page or batch of rows.
    #[inline]
    pub fn cancelled(&self) -> bool {
        self.shared.is_cancelled()
    }

    /// Whether the transaction outlives the end of its batch that a cancel brought about: the
    /// client sent an attention, and neither KILL, XACT_ABORT nor a client that went away asks for
    /// more.
    pub fn keeps_transaction(&self) -> bool {
        self.shared.is_interrupted() && !self.options.xact_abort
    }

    /// Whether the statement may go on: it was not told to stop, and what it has allocated fits in
    /// the instance's memory.
    ///
    /// # Errors
    /// 3617 when cancelled; 701.
    #[inline]
    pub fn check_cancel(&self) -> Result<(), SqlError> {
        if self.cancelled() {
            return Err(catalog::errors::cancelled());
        }
        memory::meter::check().map_err(|_| catalog::errors::out_of_memory())
    }

    /// What a statement has to say besides its rows, when it has ended.
    pub fn note(&mut self, note: SqlError) {
        self.run.note(note);
    }

    /// A statement ended well.
    #[inline]
    pub fn succeeded(&mut self, rows: u64) {
        self.run.succeeded(rows);
    }

    /// Keeps a change of schema until the transaction ends.
    pub fn remember_ddl(&mut self, change: DdlChange) {
        self.transactions.ddl.push(change);
    }
}

impl Drop for SessionCore {
    fn drop(&mut self) {
        self.rollback_untold();
        self.settle_undo();
        // Nobody is told of it any more; what was committed last is not left to the next flush, and
        // who gets an application lock of the session finds it durable.
        let _ = self.answers.settle();
        self.objects.app_locks.release_session();
        self.host.session_ended(&self.shared);
    }
}

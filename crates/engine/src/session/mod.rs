//! Sessions: one per connection or embedded caller. A session runs one batch at a time; it may move
//! between threads.

pub(crate) mod bulk;
pub(crate) mod login;
#[cfg(test)]
mod login_tests;
mod logon;
#[cfg(test)]
mod outside_values;
mod ready;
mod repeated;
mod request;
mod round;
pub(crate) mod rpc;
#[cfg(test)]
mod suspended;
pub(crate) mod watch;

pub use programs::arguments::{RpcTable, RpcTableColumn};
pub use request::{TransactionRequest, TransactionStart};
pub use rpc::RpcParam;

pub use ready::Prepared;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use compact_str::CompactString;
use types::convert::{Mode, convert_with};
use types::{DataType, SqlError, Value, msg};

use crate::batch::run::run_batch;
use ddl::temps;
use instance::InstanceCore;
use instance::OfInstance;
use memory::meter::Metered;
use programs::parameters::{self, ToRun};
use ready::{ReadyBatch, put_ready};
use round::{begin_batch, request};
use session::output::Sink;
use session::state::activity::{CurrentSessionGuard, PublishedState};
use session::state::core::{SessionCore, SessionShared};

pub use bind::set_options::SessionOptions;
pub use logical::isolation::Isolation;
pub use session::state::before_answer::{BeforeAnswer, OwedLogs};
pub use session::state::core::{
    DEDICATED_ENDPOINT, NetworkConnection, SessionWatcher, TCP_ENDPOINT,
};

/// A session. Dropping it rolls back what is open.
pub struct Session {
    core: SessionCore,
    /// That of the core.
    shared: Arc<SessionShared>,
    /// What is published of it.
    told: PublishedState,
    /// Room for the keys of shapes, and for the variables of a batch.
    key: String,
    vars: Vec<Value>,
    /// What was found for the prepared batches that ran last.
    ready: Vec<ReadyBatch>,
    /// What [`Session::reset`] goes back to.
    login_db: CompactString,
    login_options: SessionOptions,
    /// The batches that ran last, by their texts.
    repeated: repeated::RepeatedBatches,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.core.rollback_untold();
        self.core.objects.cursors.clear();
        temps::end_session(&mut self.core);
    }
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchOutcome {
    /// No error was reported.
    pub ok: bool,
    /// What RETURN gave; 0 without RETURN.
    pub status: i32,
}

/// Stops what a session runs, from any thread.
#[derive(Clone, Debug)]
pub struct CancelHandle {
    shared: Arc<SessionShared>,
    instance: Arc<InstanceCore>,
}

impl CancelHandle {
    /// The running batch ends with error 3617 as soon as it notices, its statement is rolled back;
    /// a transaction that the client began stays open unless XACT_ABORT is on. So does the next one
    /// when [`CancelHandle::expect_request`] has announced it. Otherwise nothing happens.
    pub fn cancel(&self) {
        let lock = self.shared.cancelling.lock();
        if self.shared.expected.load(Ordering::Acquire)
            || self.shared.running.load(Ordering::Acquire)
        {
            self.shared.attention.store(true, Ordering::Release);
            self.shared.cancel.store(true, Ordering::Release);
            drop(lock);
            self.instance.wake(&self.shared);
        }
    }

    /// KILL has ended the session.
    pub fn is_killed(&self) -> bool {
        self.shared.killed.load(Ordering::Acquire)
    }

    /// A request has arrived and waits for a thread that runs it: from now until
    /// [`CancelHandle::request_over`], `cancel` ends each batch, call or load of the session, also
    /// one that begins later.
    pub fn expect_request(&self) {
        let _lock = self.shared.cancelling.lock();
        self.shared.expected.store(true, Ordering::Release);
    }

    /// The request has been answered: a `cancel` that comes now has no effect on the next one. True
    /// when the request was cancelled.
    pub fn request_over(&self) -> bool {
        let _lock = self.shared.cancelling.lock();
        self.shared.expected.store(false, Ordering::Release);
        let cancelled = self.shared.attention.swap(false, Ordering::AcqRel);
        if !self.shared.killed.load(Ordering::Acquire) {
            self.shared.cancel.store(false, Ordering::Release);
        }
        cancelled
    }
}

impl Session {
    /// A new session of an instance, in master.
    ///
    /// # Errors
    /// 6005 when the instance is shutting down.
    pub(crate) fn of(instance: &Arc<InstanceCore>) -> Result<Session, SqlError> {
        let (master, spid, shared) = instance.enter()?;
        let (host, own) = (instance.host().clone(), Box::new(instance.clone()));
        let core = SessionCore::new(host, own, master, spid, shared.clone());
        let (login_db, login_options) = (core.db().name(), core.options.clone());
        let (key, vars, ready) = Default::default();
        Ok(Session {
            core,
            shared,
            told: PublishedState::default(),
            key,
            vars,
            ready,
            login_db,
            login_options,
            repeated: Default::default(),
        })
    }

    /// The session's number.
    pub fn spid(&self) -> i32 {
        self.core.spid()
    }

    /// What others see of the session.
    pub(crate) fn shared(&self) -> Arc<SessionShared> {
        self.shared.clone()
    }

    /// Where its errors go when nobody reads them.
    pub(crate) fn error_log(&self) -> Arc<catalog::errorlog::ErrorLog> {
        self.core.instance().error_log().clone()
    }

    /// Name of the current database.
    pub fn database(&self) -> CompactString {
        self.core.db().name()
    }

    /// @@TRANCOUNT.
    pub fn trancount(&self) -> u32 {
        self.core.trancount()
    }

    /// KILL has ended it: its batches only give errors.
    pub fn is_killed(&self) -> bool {
        self.core.shared.killed.load(Ordering::Acquire)
    }

    /// What the client says of itself.
    pub fn set_names(&mut self, app: &str, host: &str, login: &str) {
        self.core.identity.app_name = app.into();
        self.core.identity.host_name = host.into();
        self.core.identity.login = login.into();
        let mut names = self.core.shared.names.lock();
        (names.app, names.host, names.login) = (app.into(), host.into(), login.into());
    }

    /// The network connection that the session came by.
    pub fn set_connection(&mut self, connection: NetworkConnection) {
        self.core.shared.names.lock().connection = Some(Arc::new(connection));
    }

    /// USE, without a message. Errors: 911 no such database, 916, 923, 924, 945.
    pub fn use_database(&mut self, name: &str) -> Result<(), SqlError> {
        let db = self.core.host().database(name)?;
        db.check_usable()?;
        self.core.check_access(&db)?;
        self.core.use_db(db)
    }

    /// Who is to hear of waits and of the end of the session; once.
    pub fn set_watcher(&self, watcher: Weak<dyn SessionWatcher>) {
        // A session has one client.
        let _ = self.core.shared.watcher.set(watcher);
    }

    /// From now on statements do not wait for the log at their ends. Whoever sends the session's
    /// answers waits before a byte of them leaves: with [`Session::settle`], and while a request
    /// runs with [`Session::before_answer`].
    pub fn hold_answers(&mut self) {
        self.core.answers.hold();
    }

    /// What the session's answers wait for before they are sent.
    pub fn before_answer(&self) -> &Arc<BeforeAnswer> {
        self.core.answers.before()
    }

    /// Waits until all that the answers of the session tell is durable. Views show the session as
    /// running, and what it waits for.
    ///
    /// # Errors
    /// Those of a log that cannot be flushed: its database is offline, and nothing that was not
    /// sent yet may be told.
    pub fn settle(&mut self) -> Result<(), SqlError> {
        if !self.core.answers.before().is_owed() {
            return Ok(());
        }
        let _here = CurrentSessionGuard::enter(&self.shared);
        self.shared.running.store(true, Ordering::Release);
        let settled = self.core.answers.settle();
        self.shared.running.store(false, Ordering::Release);
        settled
    }

    /// Stops this session's batches from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { shared: self.core.shared.clone(), instance: self.core.instance().clone() }
    }

    /// Runs a batch. Errors of statements go to the sink; the result says whether there were any.
    ///
    /// # Errors
    /// None of the batch's own.
    pub fn execute(&mut self, text: &str, sink: &mut dyn Sink) -> BatchOutcome {
        let Session { core, shared, told, key, .. } = self;
        let repeated = &mut self.repeated;
        request(core, shared, told, sink, |core, sink, told| {
            if let Some(batch) = repeated.find(core, text) {
                begin_batch(core, told, batch, None);
                let end = run_batch(core, sink, batch, &mut Vec::new(), false);
                return end.map_err(|failure| failure.error);
            }
            // Before the text is looked for: what is cleared meanwhile is not taken for newer.
            let generation = core.instance().batches().generation();
            let ToRun { batch, mut vars, shaped } =
                parameters::find(core, core.instance().batches(), text, key)?;
            if !shaped {
                repeated.keep(core, generation, &batch);
            }
            begin_batch(core, told, &batch, shaped.then_some(text));
            run_batch(core, sink, &batch, &mut vars, false).map_err(|failure| failure.error)
        })
    }

    /// Checks a batch and its parameters (names with `@`). Errors: syntax, undeclared variables,
    /// types.
    pub fn prepare(
        &mut self,
        text: &str,
        params: &[(&str, DataType)],
    ) -> Result<Prepared, SqlError> {
        let params: Vec<_> =
            params.iter().map(|(name, ty)| (CompactString::from(*name), Some(*ty))).collect();
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let core = &self.core;
        let _metered = Metered::begin(core.host().memory());
        let cache = core.instance().batches();
        let found = cache.found(core, text, &params)?;
        let options = core.options.changes();
        self.keep_ready(ReadyBatch::new(number, options, found));
        Ok(Prepared { text: text.to_string(), params, number })
    }

    /// Runs a prepared batch with values for its parameters, converted to their types.
    ///
    /// # Errors
    /// A value that does not convert, or the wrong number of them; statements' errors go to the
    /// sink.
    pub fn execute_prepared(
        &mut self,
        prepared: &Prepared,
        values: &[Value],
        sink: &mut dyn Sink,
    ) -> Result<BatchOutcome, SqlError> {
        if values.len() != prepared.params.len() {
            return Err(SqlError::of(
                msg::BATCH_PARAMETER_COUNT,
                [&prepared.params.len(), &values.len()],
            ));
        }
        let Session { core, shared, told, vars, ready, .. } = self;
        vars.clear();
        for (value, ty) in values.iter().zip(prepared.params.iter().filter_map(|(_, ty)| *ty)) {
            vars.push(match value.is_plainly(ty) {
                true => value.clone(),
                false => converted(core, value, ty)?,
            });
        }
        let place = ready.iter().rposition(|ready| ready.number == prepared.number);
        // Before anything else, so that the row comes from memory meanwhile.
        let ahead = place.and_then(|at| ready[at].look_ahead(core, vars));
        Ok(request(core, shared, told, sink, |core, sink, told| {
            let cache = core.instance().batches();
            let options = core.options.changes();
            let place = match place {
                Some(at)
                    if cache.is_same(
                        &ready[at].found,
                        core.db(),
                        &core.options,
                        ready[at].options == options,
                    ) =>
                {
                    ready[at].options = options;
                    at
                }
                old => {
                    let found = cache.found(core, &prepared.text, &prepared.params)?;
                    put_ready(ready, old, ReadyBatch::new(prepared.number, options, found))
                }
            };
            let ready = &mut ready[place];
            let batch = &ready.found.batch;
            if let Some(statement) = ready.ready_statement(core) {
                core.shared.activity.begins(told, batch, None);
                if let Some(end) = statement.run(core, sink, batch, vars, ahead) {
                    return end.map_err(|failure| failure.error);
                }
            }
            begin_batch(core, told, batch, None);
            let end = run_batch(core, sink, batch, vars, false);
            ready.look(core);
            end.map_err(|failure| failure.error)
        }))
    }

    fn keep_ready(&mut self, new: ReadyBatch) {
        put_ready(&mut self.ready, None, new);
    }

    /// Work of the engine itself in this session.
    pub(crate) fn with_core<T>(&mut self, work: impl FnOnce(&mut SessionCore) -> T) -> T {
        work(&mut self.core)
    }
}

/// A value of a parameter in its type.
fn converted(core: &SessionCore, value: &Value, ty: DataType) -> Result<Value, SqlError> {
    let (dialect, page) = (core.options.dialect, core.db().default_collation().code_page());
    convert_with(value, value.natural_type(), ty, 0, Mode::Implicit, dialect, page)
}

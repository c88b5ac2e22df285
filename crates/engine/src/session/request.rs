//! Requests of clients that are no T-SQL: transactions, and the reset of a pooled connection.

use compact_str::CompactString;
use txn::Durability;
use types::SqlError;

use super::{BatchOutcome, Isolation, Session, round};
use crate::batch::run::BatchEnd;
use ddl::temps;
use session::output::{SessionChange, Sink, StatementEnd, StatementKind};
use session::state::SessionCore;
use session::state::handles::Handles;
use session::state::session_run::LastResults;

/// How a transaction begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionStart {
    /// Empty for none.
    pub name: CompactString,
    /// `None`: the session's level stays.
    pub isolation: Option<Isolation>,
}

/// What a client asks of the transaction manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest {
    Begin(TransactionStart),
    /// `then`: where the outermost transaction has ended, the next one begins at once.
    Commit {
        then: Option<TransactionStart>,
    },
    /// To the savepoint of this name, or with the name of the transaction or without one the whole.
    Rollback {
        name: CompactString,
        then: Option<TransactionStart>,
    },
    Save {
        name: CompactString,
    },
}

impl Session {
    /// A request of the transaction manager. Errors go to the sink: 3902, 3903, 628, 6401 and what
    /// COMMIT says.
    pub fn transaction(
        &mut self,
        request: &TransactionRequest,
        sink: &mut dyn Sink,
    ) -> BatchOutcome {
        let Session { core, shared, told, .. } = self;
        round::request(core, shared, told, sink, |core, sink, _| {
            let statement = manage(core, request)?;
            core.succeeded(0);
            core.tell_transactions(sink)?;
            sink.done(StatementEnd { statement, rows: None, error: false, nested: false })?;
            Ok(BatchEnd::Finished(0))
        })
    }

    /// The number of the session's transaction, 0 without one: what
    /// [`SessionChange::TransactionBegan`] told.
    pub fn transaction_number(&self) -> u64 {
        self.core.transactions.client.number()
    }

    /// The SET options of a client that is no ODBC or OLE DB driver: those of its database, off
    /// unless ALTER DATABASE says else, but for ANSI_WARNINGS and ANSI_PADDING, which are always on
    /// here. Of a new session they are on.
    pub fn without_ansi_defaults(&mut self) {
        let defaults = self.core.db().settings().session_defaults;
        let options = &mut self.core.options;
        options.ansi_nulls = defaults.ansi_nulls;
        (options.ansi_null_dflt_on, options.ansi_null_dflt_off) = (false, false);
        options.quoted_identifier = defaults.quoted_identifier;
        options.concat_null_yields_null = defaults.concat_null_yields_null;
        options.arithabort = defaults.arithabort;
        options.numeric_roundabort = defaults.numeric_roundabort;
        options.cursor_close_on_commit = defaults.cursor_close_on_commit;
    }

    /// The language that a client asks for when it logs in. Error: 2740.
    pub fn set_language(&mut self, name: &str) -> Result<(), SqlError> {
        self.core.options.set_language(crate::batch::flow::language_named(name)?);
        Ok(())
    }

    /// The language's name.
    pub fn language(&self) -> &'static str {
        self.core.options.dialect.language().name
    }

    /// What the session is now is what [`Session::reset`] takes it back to: after a login has
    /// chosen its database and options.
    pub fn keep_as_login(&mut self) {
        self.login_db = self.core.db().name();
        self.login_options = self.core.options.clone();
    }

    /// What a pool asks for before it gives a connection to somebody else: the transaction is
    /// rolled back, temporary tables and prepared statements and application locks go, database and
    /// SET options, the isolation level too, are those of the login.
    ///
    /// # Errors
    /// 911, 945, 923, 924 and similar errors: the login's database is gone, or closed to it. Then
    /// the session is in master.
    pub fn reset(&mut self, sink: &mut dyn Sink) -> Result<(), SqlError> {
        let core = &mut self.core;
        core.rollback_all();
        core.objects.cursors.clear();
        core.tell_transactions(sink)?;
        *core.options = self.login_options.clone();
        core.identity.reset();
        core.run.nest_level = 0;
        temps::end_session(core);
        core.objects.handles = Handles::default();
        // A call before it in the same message may have committed under them.
        core.answers.settle()?;
        core.objects.app_locks.release_session();
        core.run.results = LastResults::default();
        core.objects.forget_values();
        core.memory.clear_holdings();
        core.run.caught.clear();
        let old = core.db().name();
        let found =
            core.host().database(&self.login_db).and_then(|db| db.check_usable().map(|()| db));
        let result = found.and_then(|db| core.use_db(db));
        if result.is_err() {
            let master = core.host().database("master")?;
            core.use_db(master)?;
        }
        let new = core.db().name();
        if new != old {
            sink.changed(&SessionChange::Database { new: &new, old: &old })?;
        }
        result
    }
}

fn manage(core: &mut SessionCore, request: &TransactionRequest) -> Result<StatementKind, SqlError> {
    let begin = |core: &mut SessionCore, start: &TransactionStart| {
        if let Some(isolation) = start.isolation {
            core.options.isolation = isolation;
        }
        core.begin_tran(&start.name, false);
    };
    let begin_next = |core: &mut SessionCore, then: &Option<TransactionStart>| {
        if let (Some(start), 0) = (then, core.trancount()) {
            begin(core, start);
        }
    };
    Ok(match request {
        TransactionRequest::Begin(start) => {
            begin(core, start);
            StatementKind::BeginTransaction
        }
        TransactionRequest::Commit { then } => {
            core.commit_tran(Durability::Full)?;
            begin_next(core, then);
            StatementKind::Commit
        }
        TransactionRequest::Rollback { name, then } => {
            core.rollback_tran(Some(name.as_str()).filter(|name| !name.is_empty()))?;
            begin_next(core, then);
            StatementKind::Rollback
        }
        TransactionRequest::Save { name } => {
            core.save_tran(name)?;
            StatementKind::SaveTransaction
        }
    })
}

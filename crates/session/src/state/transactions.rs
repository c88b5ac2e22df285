//! The transactions of a session: one per database it has touched, ended together; statement
//! savepoints, statement snapshots, and the changes of schema that a rollback must take back.
//! Guarantees: a failed statement leaves no trace in data or catalog; without BEGIN TRANSACTION
//! each statement is a transaction of its own; an answer goes out only when what it may have seen
//! is durable.

mod ends;
mod in_place;
mod rolled_back;
mod undoing;

use std::sync::Arc;

use access::NewestWriters;
use compact_str::CompactString;
use pages::TxnId;
use smallvec::SmallVec;
use txn::{Durability, Savepoint, SnapshotGuard, Txn, WaitArgs};
use types::SqlError;

use super::client_transaction::ClientTransaction;
use super::core::SessionCore;
use super::counts::RowCounts;
use bind::set_options::CurrentOptions;
use catalog::Db;
use catalog::TableDef;
use catalog::change::DdlChange;
use catalog::db::DbUse;
use catalog::errors::db_error;
use logical::isolation::Isolation;
use undoing::{RunningUndo, UndoScope};

/// The session's transaction in one database.
pub struct OpenTxn {
    pub db: Arc<Db>,
    pub txn: Txn,
    /// Where the running statement began.
    pub(super) mark: Savepoint,
    /// Where the transaction began.
    pub(super) start: Savepoint,
    /// The statement snapshot; kept and renewed so that a statement costs no allocation.
    snapshot: Option<Arc<SnapshotGuard>>,
    /// The snapshot belongs to the running statement.
    fresh: bool,
    /// The running statement gives out values that it did not read through a snapshot, and it is
    /// not known who has written them.
    newest: bool,
    /// The newest writer of what the running statement has read without a snapshot and gives out,
    /// or of the definitions by which it has read it; 0 where there is none. It may be this
    /// transaction: what that has written rests on what it had read.
    shown: TxnId,
    /// The same of what it, or an earlier one of the transaction, has read to change it.
    looked_at: TxnId,
    /// The snapshot of a transaction in SNAPSHOT isolation.
    pub(super) kept: Option<Arc<SnapshotGuard>>,
    /// That the session uses the database, where it is not its current one.
    pub(super) used: Option<DbUse>,
    /// It is one of tempdb, and has used a table that other sessions can use.
    pub(super) in_shared_tables: bool,
    /// [`Db::turns`] from before it began.
    turns: u64,
}

impl OpenTxn {
    /// Whether the running statement may have given out what others have committed.
    #[inline]
    fn has_shown(&self) -> bool {
        self.fresh || self.newest || self.shown != TxnId(0) || self.kept.is_some()
    }

    /// The running statement looks at nothing more.
    #[inline]
    fn end_snapshot(&mut self) {
        self.newest = false;
        self.shown = TxnId(0);
        if self.fresh {
            self.fresh = false;
            // A snapshot that stays registered would hold log truncation back between statements.
            // Its room is the next statement's, unless somebody else still has it.
            match self.snapshot.as_mut().and_then(Arc::get_mut) {
                Some(guard) => guard.end(),
                None => self.snapshot = None,
            }
        }
    }

    /// Nobody looks at anything any more through its snapshots.
    #[inline]
    fn end_snapshots(&mut self) {
        self.end_snapshot();
        self.kept = None;
    }
}

/// SAVE TRANSACTION: the places in all open transactions and in the list of schema changes.
pub struct NamedSavepoint {
    name: CompactString,
    places: Vec<(i32, Savepoint)>,
    ddl: usize,
    counts: usize,
}

impl NamedSavepoint {
    fn held(&self) -> usize {
        size_of::<NamedSavepoint>() + self.places.capacity() * size_of::<(i32, Savepoint)>()
    }
}

/// Everything transactional that a session keeps.
#[derive(Default)]
pub struct Transactions {
    /// The one transaction that all of them are for the client.
    pub client: ClientTransaction,
    pub open: Vec<OpenTxn>,
    /// The last one that was the only one, if it was of the current database: it has ended, holds
    /// nothing, and the next one begins in its place.
    idle: Vec<OpenTxn>,
    /// Changes of schema of the transaction, in order.
    pub ddl: Vec<DdlChange>,
    /// Changes that were taken back and whose storage is still to be freed.
    undone: Vec<DdlChange>,
    /// Where the running statement's changes begin.
    pub(super) ddl_mark: usize,
    savepoints: Vec<NamedSavepoint>,
    pub(super) counts: RowCounts,
    /// Name of the outermost BEGIN TRANSACTION.
    name: CompactString,
    /// NOWAIT: the running statement waits for no lock.
    pub(super) no_wait: bool,
    /// The isolation level at the transaction's first look at a table.
    pub(super) began: Option<Isolation>,
    /// Calls of functions around what runs.
    pub(super) in_function: u32,
    /// One of `open` is that of table variables.
    autonomous: bool,
    /// What is taken back after its statement was answered.
    undoing: Vec<RunningUndo>,
    /// The last statement failed because a filegroup was full, and it is no more.
    pub(super) room: bool,
}

/// A place in each open transaction, by database.
pub(super) type Marks = SmallVec<[(i32, Savepoint); 2]>;

impl Transactions {
    /// What they have written to the log: the price of the session as a deadlock's victim.
    pub(super) fn log_bytes(&self) -> u64 {
        self.open.iter().map(|open| open.txn.log_state().bytes).sum()
    }

    /// Tells each what the others have written.
    pub(super) fn share_log_bytes(&mut self) {
        let all = self.log_bytes();
        for open in &mut self.open {
            open.txn.wait.log_bytes = all - open.txn.log_state().bytes;
        }
    }

    /// The running statement has changed no row because of what others have committed, and all of
    /// that has been told with [`SessionCore::has_read`].
    #[inline]
    pub fn has_found_nothing(&mut self) {
        for open in &mut self.open {
            open.shown = open.shown.max(open.looked_at);
        }
    }

    /// The same where it is not known who has committed that: the statement's end waits for all of
    /// it, unless a commit follows at once that covers it.
    #[inline]
    pub fn has_changed_nothing(&self) {
        self.open.iter().for_each(|open| open.txn.sees_newest());
    }

    /// Where the open transactions are.
    pub(super) fn marks(&self) -> Marks {
        self.open.iter().map(|open| (open.db.id(), open.txn.mark())).collect()
    }

    /// Whether `SessionCore::after_ddl_undo` will free the storage of rows that are taken back.
    fn frees_storage(&self) -> bool {
        !self.undone.is_empty()
    }

    /// How the session waits for a lock that is none of its open transactions'.
    pub fn wait_args(&self, options: &CurrentOptions) -> WaitArgs {
        WaitArgs {
            timeout_ms: options.lock_timeout.into(),
            priority: options.deadlock_priority.clamp(-10, 10) as i8,
            log_bytes: self.log_bytes(),
        }
    }

    /// LOCK_TIMEOUT and DEADLOCK_PRIORITY also hold for transactions that are open.
    pub fn apply_wait_options(&mut self, options: &CurrentOptions) {
        let wait = self.wait_args(options);
        for open in &mut self.open {
            open.txn.wait = wait;
        }
        self.share_log_bytes();
    }
}

impl SessionCore {
    /// The session's transaction in a database: joined when there is one, begun when not.
    ///
    /// Errors: 3930 when the transaction is doomed, 945 or a similar error when the database is not
    /// usable.
    #[inline]
    pub fn txn(&mut self, db: &Arc<Db>) -> Result<&mut Txn, SqlError> {
        let at = self.open_txn(db)?;
        Ok(&mut self.transactions.open[at].txn)
    }

    #[inline]
    pub(super) fn open_txn(&mut self, db: &Arc<Db>) -> Result<usize, SqlError> {
        // Mostly the only one.
        match self.transactions.open.first() {
            Some(open) if open.db.id() == db.id() => Ok(0),
            _ => self.open_another_txn(db),
        }
    }

    fn open_another_txn(&mut self, db: &Arc<Db>) -> Result<usize, SqlError> {
        self.settle_undo();
        if self.transactions.open.is_empty() && self.begin_in_place(db) {
            return Ok(0);
        }
        if let Some(at) = self.transactions.open.iter().position(|open| open.db.id() == db.id()) {
            return Ok(at);
        }
        let used = self.use_in_transaction(db)?;
        let turns = db.turns();
        let storage = db.storage()?;
        let wait = self.transactions.wait_args(&self.options);
        let txn = storage.begin_waiting(self.spid() as u32, wait).map_err(|e| db_error(db, &e))?;
        self.tell_begun(txn.locks.id().0);
        self.transactions.autonomous |= db.is_autonomous();
        let mark = txn.mark();
        self.transactions.open.push(OpenTxn {
            db: db.clone(),
            txn,
            mark,
            start: mark,
            snapshot: None,
            fresh: false,
            newest: false,
            shown: TxnId(0),
            looked_at: TxnId(0),
            kept: None,
            used,
            in_shared_tables: false,
            turns,
        });
        let others = self.transactions.open.len() - 1;
        if others > 0 {
            self.transactions.share_log_bytes();
        }
        Ok(others)
    }

    /// What the running statement sees of a database: what was committed when it first looked, and
    /// the session's own earlier work. In SNAPSHOT isolation the same for the whole transaction.
    pub fn snapshot(&mut self, db: &Arc<Db>) -> Result<Arc<SnapshotGuard>, SqlError> {
        if self.options.isolation == Isolation::Snapshot
            && self.trancount() > 0
            && !db.is_autonomous()
        {
            return self.kept_snapshot(db);
        }
        let at = self.open_txn(db)?;
        let open = &mut self.transactions.open[at];
        if let (true, Some(snapshot)) = (open.fresh, &open.snapshot) {
            return Ok(snapshot.clone());
        }
        let own = open.txn.id();
        match open.snapshot.as_mut().and_then(Arc::get_mut) {
            Some(guard) => guard.renew(own),
            None => open.snapshot = Some(Arc::new(open.txn.snapshot())),
        }
        open.fresh = true;
        open.snapshot.clone().ok_or_else(|| SqlError::internal("a snapshot vanished"))
    }

    /// A number that no other transaction of the instance has.
    ///
    /// # Errors
    /// The transaction cannot begin.
    #[inline]
    pub fn transaction_number(&mut self, db: &Arc<Db>) -> Result<u64, SqlError> {
        let at = self.open_txn(db)?;
        Ok(self.transactions.open[at].txn.locks.id().0)
    }

    /// A statement begins. `touches_data`: it begins a transaction under SET IMPLICIT_TRANSACTIONS
    /// ON.
    #[inline]
    pub fn begin_statement(&mut self, touches_data: bool) -> Result<(), SqlError> {
        self.settle_undo();
        if self.transactions.in_function > 0 {
            return Ok(());
        }
        if touches_data && self.options.implicit_transactions && self.trancount() == 0 {
            self.set_trancount(1);
            self.transaction_began();
        }
        for open in &mut self.transactions.open {
            open.mark = open.txn.mark();
        }
        if self.transactions.open.len() > 1 {
            self.transactions.share_log_bytes();
        }
        self.transactions.ddl_mark = self.transactions.ddl.len();
        self.transactions.counts.begin_statement();
        self.run.triggers.fired.clear();
        Ok(())
    }

    /// A statement ends: committed when it is its own transaction, taken back when it failed.
    #[inline]
    pub fn end_statement<T>(&mut self, result: Result<T, SqlError>) -> Result<T, SqlError> {
        if self.transactions.in_function > 0 {
            return result;
        }
        self.memory.drop_large_document();
        let result = match result {
            Ok(value) => self.acknowledge().map(|()| value),
            Err(e) => Err(e),
        };
        match result {
            Ok(value) if self.trancount() == 0 => {
                self.commit_open(Durability::Full).map(|()| value)
            }
            Ok(value) => {
                self.end_statement_locks();
                self.commit_autonomous().map(|()| value)
            }
            Err(e) => {
                self.await_what_errors_tell();
                self.look_for_room(&e);
                self.undo_statement(&e);
                self.commit_autonomous()?;
                Err(e)
            }
        }
    }

    /// What a statement did to table variables stays, whatever becomes of the session's
    /// transaction.
    #[inline]
    fn commit_autonomous(&mut self) -> Result<(), SqlError> {
        if self.transactions.autonomous { self.commit_table_variables() } else { Ok(()) }
    }

    #[cold]
    fn commit_table_variables(&mut self) -> Result<(), SqlError> {
        self.transactions.autonomous = false;
        let Some(at) = self.transactions.open.iter().position(|open| open.db.is_autonomous())
        else {
            return Ok(());
        };
        let open = self.transactions.open.remove(at);
        drop((open.snapshot, open.kept));
        let spid = self.spid();
        let changes = std::mem::take(&mut self.transactions.ddl);
        let (own, others): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(DdlChange::is_autonomous);
        self.transactions.ddl = others;
        self.transactions.ddl_mark = self.transactions.ddl_mark.min(self.transactions.ddl.len());
        let committed = open.txn.commit(Durability::Delayed);
        own.iter().for_each(|change| change.committed(spid));
        committed.map(drop).map_err(|e| db_error(&open.db, &e))
    }

    /// A batch that was cancelled ends, and its table variables go with it: what the statement did
    /// to them need not be taken back row by row, which takes as long as it took to do.
    pub(super) fn leave_table_variables(&mut self) {
        let Transactions { autonomous, ddl, .. } = &self.transactions;
        if *autonomous && self.cancelled() && !ddl.iter().any(DdlChange::is_autonomous) {
            // An error is one of the database's log, which knows it, and every later use finds it.
            let _ = self.commit_table_variables();
        }
    }

    /// As [`SessionCore::end_statement`] for an expression: mostly there is nothing to end.
    #[inline]
    pub fn end_expression<T>(&mut self, result: Result<T, SqlError>) -> Result<T, SqlError> {
        if self.transactions.open.is_empty() || self.transactions.in_function > 0 {
            return result;
        }
        if self.trancount() == 0 {
            return self.end_statement(result);
        }
        let result = result.and_then(|value| self.acknowledge().map(|()| value));
        if result.is_err() {
            self.await_what_errors_tell();
        }
        match &result {
            Err(e) if e.number == 1205 => self.undo_statement(e),
            _ => self.end_statement_locks(),
        }
        result
    }

    /// What an error tells (a duplicate key, a value that does not convert) may be another
    /// transaction's commit; a log that cannot be flushed has taken the database offline.
    fn await_what_errors_tell(&self) {
        for open in &self.transactions.open {
            let _ = self.await_newest(&open.db, open.txn.database());
        }
    }

    #[inline]
    fn end_statement_locks(&mut self) {
        if std::mem::take(&mut self.transactions.no_wait) {
            self.transactions.apply_wait_options(&self.options);
        }
        for open in &mut self.transactions.open {
            open.txn.locks.end_statement();
            open.end_snapshot();
        }
    }

    /// Waits until what the running statement has read so far is durable, or has that waited for
    /// before the answer is sent: before rows go out. Costs a look at the log's end when it is.
    #[inline]
    pub fn acknowledge_reads(&self) -> Result<(), SqlError> {
        for open in self.transactions.open.iter().filter(|open| open.has_shown()) {
            for snapshot in open.snapshot.iter().filter(|_| open.fresh).chain(&open.kept) {
                self.await_snapshot(&open.db, snapshot)?;
            }
            let storage = open.txn.database();
            if open.newest {
                self.await_newest(&open.db, storage)?;
            } else if let Some(record) = storage.unflushed_of(open.shown) {
                self.await_record(&open.db, storage, record)?;
            }
        }
        Ok(())
    }

    /// The running statement has read newest versions of rows, which these transactions have
    /// written. `given`: it gives them out; else they are read to be changed. Which rows there are
    /// in a table is also told by its definition: TRUNCATE leaves no ghosts.
    #[inline]
    pub fn has_read(
        &mut self,
        db: &Arc<Db>,
        writers: NewestWriters,
        given: bool,
    ) -> Result<(), SqlError> {
        let at = self.open_txn(db)?;
        let Transactions { open, ddl, .. } = &mut self.transactions;
        let open = &mut open[at];
        // Its own definitions are like its own rows.
        let own = if ddl.is_empty() { TxnId(0) } else { open.txn.id() };
        let writer = writers.newest().max(open.db.newest_definition()).max(own);
        let known = if given { &mut open.shown } else { &mut open.looked_at };
        *known = writer.max(*known);
        Ok(())
    }

    /// The running statement gives out values of newest versions, which no snapshot vouches for.
    #[inline]
    pub fn shows_newest(&mut self, db: &Arc<Db>) -> Result<(), SqlError> {
        let at = self.open_txn(db)?;
        self.transactions.open[at].newest = true;
        Ok(())
    }

    /// Mostly there is nothing to wait for: one look at each transaction tells.
    #[inline]
    fn acknowledge(&self) -> Result<(), SqlError> {
        match self.transactions.open.iter().any(|open| open.has_shown() || open.txn.has_waited()) {
            true => self.acknowledge_all(),
            false => Ok(()),
        }
    }

    fn acknowledge_all(&self) -> Result<(), SqlError> {
        self.acknowledge_reads()?;
        // Rows that were waited for are read as their writer left them, whatever the snapshot says.
        // A commit that follows at once covers them.
        let commits = |txn: &Txn| self.trancount() == 0 && txn.has_written();
        for open in &self.transactions.open {
            if open.txn.has_waited() && !commits(&open.txn) && open.txn.take_waited() {
                self.await_newest(&open.db, open.txn.database())?;
            }
        }
        Ok(())
    }

    /// Takes back what was done since; false when that failed, and the transaction can only be
    /// rolled back.
    pub(super) fn back_to(&mut self, marks: &[(i32, Savepoint)]) -> bool {
        self.settle_undo();
        for open in &mut self.transactions.open {
            let mark = marks
                .iter()
                .find(|(db, _)| *db == open.db.id())
                .map_or(open.mark, |(_, mark)| *mark);
            self.transactions.client.doomed |= open.txn.rollback_to(&mark).is_err();
        }
        !self.transactions.client.doomed
    }

    fn undo_statement(&mut self, cause: &SqlError) {
        self.settle_undo();
        // A deadlock victim gives everything back at once: the others wait for it.
        if self.trancount() == 0 || cause.number == 1205 {
            self.undo_all_open();
            if self.trancount() > 0 {
                self.transactions.client.doomed = true;
            }
            return;
        }
        self.leave_table_variables();
        self.undo_ddl(self.transactions.ddl_mark);
        self.transactions.counts.undo_statement();
        // Storage that the statement has made is freed below.
        let frees = self.transactions.frees_storage();
        let mut failed = false;
        for open in std::mem::take(&mut self.transactions.open) {
            let (open, bad) = if frees {
                open.undo(UndoScope::Statement)
            } else {
                self.undo_open(open, UndoScope::Statement)
            };
            self.transactions.open.extend(open);
            failed |= bad;
        }
        self.after_ddl_undo();
        if failed {
            self.transactions.client.doomed = true;
        }
        self.end_statement_locks();
    }

    // ---- BEGIN, COMMIT, ROLLBACK, SAVE ----

    // ---- changes of schema ----
}

/// Whether a definition is one of a rebuild that this session runs.
pub fn is_private(tables: &[Arc<TableDef>], table: &TableDef) -> bool {
    tables.iter().any(|t| std::ptr::eq(Arc::as_ptr(t), table))
}

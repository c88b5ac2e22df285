//! When a session waits for the log: at the end of each statement, unless somebody holds its
//! answers back: a server, which sends the bytes of an answer after it has waited once for all that
//! they tell.
//! Guarantees: what is seen outside of the answer waits at once in either case, and so does what
//! came before it ([`SessionCore::begin_at_once`]); what the session owes is in [`BeforeAnswer`].

use std::sync::Arc;

use catalog::Db;
use catalog::errors::db_error;
use txn::{Database, SnapshotGuard};
use types::SqlError;
use wal::Lsn;

use super::before_answer::BeforeAnswer;
use super::core::SessionCore;

impl SessionCore {
    /// What the session's answers wait for: whoever sends them waits before.
    pub fn before_answer(&self) -> &Arc<BeforeAnswer> {
        &self.before_answer
    }

    /// From now on statements do not wait for the log: whoever sends the answers does.
    pub fn hold_answers(&mut self) {
        self.answers_held = true;
    }

    /// A request begins: one that has panicked may have been at something that waits at once.
    #[inline]
    pub fn begin_answer(&mut self) {
        self.at_once = 0;
    }

    /// Waits until everything that the session has committed and read so far is durable.
    ///
    /// # Errors
    /// Those of the log.
    #[inline]
    pub fn settle(&self) -> Result<(), SqlError> {
        self.before_answer.wait()
    }

    /// What is seen outside of the answer begins, or what takes files from a database: what came
    /// before is durable now, and what it commits will be when it ends.
    ///
    /// # Errors
    /// Those of the log; then it is not to begin.
    pub fn begin_at_once(&mut self) -> Result<(), SqlError> {
        self.settle()?;
        self.at_once += 1;
        Ok(())
    }

    /// It has ended.
    pub fn end_at_once(&mut self) {
        self.at_once = self.at_once.saturating_sub(1);
    }

    /// Whether commits wait for whoever sends the answer.
    #[inline]
    pub(super) fn holds_answers(&self) -> bool {
        self.answers_held && self.at_once == 0
    }

    /// A record must be durable before the client is told of it: waits for it, or leaves that to
    /// whoever sends the answer.
    pub(super) fn await_record(
        &self,
        db: &Arc<Db>,
        storage: &Arc<Database>,
        record: Lsn,
    ) -> Result<(), SqlError> {
        if self.holds_answers() {
            self.before_answer.add(db, storage, record, Arc::ptr_eq(db, self.db()));
            return Ok(());
        }
        storage.make_durable(record).map_err(|e| db_error(db, &e))
    }

    /// The same for what a snapshot of the database may have shown.
    ///
    /// # Errors
    /// Those of the log.
    #[inline]
    pub fn await_snapshot(&self, db: &Arc<Db>, snapshot: &SnapshotGuard) -> Result<(), SqlError> {
        match snapshot.unflushed() {
            Some(record) => self.await_record(db, snapshot.database(), record),
            None => Ok(()),
        }
    }

    /// The same for newest versions.
    pub(super) fn await_newest(
        &self,
        db: &Arc<Db>,
        storage: &Arc<Database>,
    ) -> Result<(), SqlError> {
        match storage.newest_unflushed() {
            Some(record) => self.await_record(db, storage, record),
            None => Ok(()),
        }
    }

    /// The session has got an application lock of the database: what the one before has committed
    /// there is durable before it is told.
    ///
    /// # Errors
    /// Those of the log.
    pub fn follows_others(&self, db: &Arc<Db>) -> Result<(), SqlError> {
        let storage = db.storage()?;
        self.await_newest(db, &storage)
    }

    /// The session has committed, and the answer waits for the record.
    pub(super) fn committed_unflushed(&self, db: &Arc<Db>, storage: &Arc<Database>, record: Lsn) {
        if self.before_answer.add(db, storage, record, Arc::ptr_eq(db, self.db())) {
            storage.flush_soon();
        }
    }

    /// A transaction of this database is about to be committed, which others `can_see`: nothing of
    /// before may be lost that another database owes.
    pub(super) fn settle_others(
        &self,
        can_see: bool,
        storage: &Arc<Database>,
    ) -> Result<(), SqlError> {
        if can_see { self.before_answer.wait_for_others(storage) } else { Ok(()) }
    }
}

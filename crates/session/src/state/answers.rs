//! When a session waits for the log: at the end of each statement, unless somebody holds its
//! answers back: a server, which sends the bytes of an answer after it has waited once for all that
//! they tell.
//! Guarantees: what is seen outside of the answer waits at once in either case, and so does what
//! came before it ([`AnswerWait::begin_at_once`]); what the session owes is in `before_answer`.
//!
//! [`AnswerWait::begin_at_once`]: super::answer_wait::AnswerWait::begin_at_once

use std::sync::Arc;

use catalog::Db;
use catalog::errors::db_error;
use txn::{Database, SnapshotGuard};
use types::SqlError;
use wal::Lsn;

use super::core::SessionCore;

impl SessionCore {
    /// A record must be durable before the client is told of it: waits for it, or leaves that to
    /// whoever sends the answer.
    pub(super) fn await_record(
        &self,
        db: &Arc<Db>,
        storage: &Arc<Database>,
        record: Lsn,
    ) -> Result<(), SqlError> {
        if self.answers.is_held() {
            self.answers.before().add(db, storage, record, Arc::ptr_eq(db, self.db()));
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
        if self.answers.before().add(db, storage, record, Arc::ptr_eq(db, self.db())) {
            storage.flush_soon();
        }
    }
}

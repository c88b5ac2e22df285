//! What a client has been told by the statements of a transaction that is rolled back: that rows
//! were there to be changed, or were not there to be in the way. Others have committed that,
//! perhaps a moment ago. A commit of the transaction comes behind theirs in the log and is waited
//! for; a rollback has nothing of its own that would be.
//! Guarantee: a rollback is told when the commits of before are durable, and its locks do not wait
//! for them.

use std::sync::Arc;

use catalog::Db;
use txn::Database;
use types::SqlError;
use wal::Lsn;

use super::OpenTxn;
use crate::state::core::SessionCore;

/// A commit that must be durable before the client is told of a rollback.
pub(super) type ToldCommit = (Arc<Db>, Arc<Database>, Lsn);

/// What the transactions may have told of; to be asked before they are rolled back.
pub(super) fn told_commits<'t>(open: impl IntoIterator<Item = &'t OpenTxn>) -> Vec<ToldCommit> {
    let told = open.into_iter().filter_map(|open| {
        let record = open.told_unflushed()?;
        Some((open.db.clone(), open.txn.database().clone(), record))
    });
    told.collect()
}

impl OpenTxn {
    /// The newest commit that is not durable and that the transaction may have told of.
    fn told_unflushed(&self) -> Option<Lsn> {
        let storage = self.txn.database();
        if self.txn.has_written() {
            // Of a row that is changed by its key, or that is new, it is not known what was there.
            storage.newest_unflushed()
        } else {
            storage.unflushed_of(self.looked_at)
        }
    }
}

impl SessionCore {
    /// Rolls everything back and leaves the transaction: ROLLBACK, a batch-aborting error. The
    /// answer waits for the commits that its statements have told of.
    pub fn rollback_all(&mut self) {
        // A log that cannot be flushed has taken its database offline, and every later use of the
        // database tells.
        let _ = self.rollback_and_wait();
    }

    /// As [`SessionCore::rollback_all`].
    ///
    /// # Errors
    /// Those of the log; everything is rolled back all the same.
    pub(super) fn rollback_and_wait(&mut self) -> Result<(), SqlError> {
        self.settle_undo();
        let told = told_commits(&self.transactions.open);
        self.rollback_untold();
        self.await_told(&told)
    }

    /// Waits for the commits, or leaves that to whoever sends the answer.
    pub(super) fn await_told(&self, told: &[ToldCommit]) -> Result<(), SqlError> {
        told.iter().try_for_each(|(db, storage, record)| self.await_record(db, storage, *record))
    }
}

//! The commit of a transaction in one database, and who waits for the log.
//! Guarantees: rows and locks are free and new snapshots see the work as soon as the commit record
//! is in the log; after a failed append or flush the outcome is unknown and the database is
//! offline.

use pages::{RecordKind, TxnId};
use wal::Lsn;

use super::{Committed, Txn};
use crate::database::{Database, Status};
use crate::error::TxnError;
use crate::options::Durability;

/// A commit record in the log, and whether the answer waits for it.
struct RecordedCommit {
    lsn: Lsn,
    durable: bool,
}

impl Txn {
    /// Commits. Rows and locks are free and new snapshots see the work as soon as the commit record
    /// is in the log; with full durability the answer comes when it is durable. After
    /// [`TxnError::Log`] the outcome is unknown and the database is offline.
    pub fn commit(mut self, wanted: Durability) -> Result<Committed, TxnError> {
        self.commit_in_place(wanted)
    }

    /// As [`Txn::commit`], without moving the transaction, which is long. After an error it is to
    /// be dropped; else the next one may begin in its place ([`Txn::begin_again`]).
    pub fn commit_in_place(&mut self, wanted: Durability) -> Result<Committed, TxnError> {
        let Some(recorded) = self.record_commit(wanted)? else {
            return Ok(Committed { lsn: Lsn::ZERO, durable: true });
        };
        self.end_recorded(&recorded)?;
        Ok(Committed { lsn: recorded.lsn, durable: recorded.durable })
    }

    /// As [`Txn::commit_in_place`], but where the answer has to wait for the log, the caller waits:
    /// for the record that this gives ([`Database::make_durable`]), before anybody is told of the
    /// commit. What is to be done after the commit (storage that is freed) makes it wait here.
    pub fn commit_unflushed(&mut self, wanted: Durability) -> Result<Option<Lsn>, TxnError> {
        let Some(recorded) = self.record_commit(wanted)? else { return Ok(None) };
        if recorded.durable && self.deferred.is_empty() && self.db.status() == Status::Online {
            return Ok(Some(recorded.lsn));
        }
        self.end_recorded(&recorded)?;
        Ok(None)
    }

    /// Puts the commit record into the log; none for a transaction that wrote nothing.
    fn record_commit(&mut self, wanted: Durability) -> Result<Option<RecordedCommit>, TxnError> {
        debug_assert!(!self.ended, "a transaction is committed once");
        if self.doomed {
            let id = self.id();
            self.roll_back()?;
            return Err(TxnError::Doomed(id));
        }
        let Some(s) = self.shared.as_deref() else {
            self.finish();
            return Ok(None);
        };
        let durable = !self.db.env().scratch
            && self.db.delayed_durability().decide(wanted) == Durability::Full;
        let lsn = match self.append_end(s, RecordKind::Commit) {
            Ok(lsn) => lsn,
            Err(e) => {
                self.db.fail("commit", &e);
                return Err(e);
            }
        };
        self.leave_table(lsn, durable);
        Ok(Some(RecordedCommit { lsn, durable }))
    }

    /// Waits for the log as far as the commit has to, and does what was deferred until then.
    fn end_recorded(&mut self, recorded: &RecordedCommit) -> Result<(), TxnError> {
        match (self.db.env().scratch, recorded.durable) {
            // The log is written when its buffers are full, and before the pages that it describes.
            (true, _) => {}
            (false, true) => self.db.make_durable(recorded.lsn)?,
            (false, false) => {
                self.db.flush_delayed(recorded.lsn).inspect_err(|e| self.db.fail("commit", e))?;
            }
        }
        self.run_deferred_work();
        Ok(())
    }
}

impl Database {
    /// Returns when the log is durable up to a commit record. After an error the database is
    /// offline, and whether the commit is on disk is unknown.
    pub fn make_durable(&self, commit: Lsn) -> Result<(), TxnError> {
        let hard = self.log().flush_to(commit).map_err(TxnError::from);
        hard.inspect_err(|e| self.fail("commit", e))?;
        // Else the first reader after this would find no more than that somebody has to look.
        self.look_for_settled();
        Ok(())
    }

    /// Every transaction below this id is settled, as is found now.
    pub(crate) fn look_for_settled(&self) -> TxnId {
        self.txns().look_for_settled(|commit| self.log().is_durable(commit))
    }

    /// The newest durable commit of the past, if it is not durable yet: what an answer that was
    /// made from newest versions waits for.
    pub fn newest_unflushed(&self) -> Option<Lsn> {
        let newest = self.txns().newest_commit();
        (newest != Lsn::ZERO && !self.log().is_durable(newest)).then_some(newest)
    }

    /// The same for an answer that was made from rows whose newest writer this is: where it and all
    /// before it are durable there is nothing to wait for. Rows that were not there need no word:
    /// the ghost of a row is one, and stays until its writer is durable
    /// ([`Database::clean_ghosts`]). The reader itself counts as a writer, and is not settled
    /// before it ends: the rows that it has written rest on what it had read.
    #[inline]
    pub fn unflushed_of(&self, writer: TxnId) -> Option<Lsn> {
        if writer < self.txns().settled_below() {
            return None;
        }
        let newest = self.newest_unflushed()?;
        (writer >= self.look_for_settled()).then_some(newest)
    }
}

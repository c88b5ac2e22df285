//! Taking back: to a savepoint, or the whole transaction, in the log and in the pages.
//!
//! Guarantee: each record is undone once, by a compensation record that names the next one; the log
//! has kept space for all of them.

use super::{Savepoint, Txn, time_bytes};
use crate::error::TxnError;
use crate::undo_ahead::UndoAhead;
use access::undo_record;
use pages::{PageError, RecordBuilder, RecordKind, RecordSink, RecordView, UndoingThread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wal::Lsn;

impl Txn {
    /// SAVE TRANSACTION: like [`Txn::mark`], and visible in the log.
    pub fn savepoint(&mut self) -> Result<Savepoint, TxnError> {
        if self.shared.is_some() {
            let mut rec = RecordBuilder::new();
            rec.begin(RecordKind::Savepoint).payload(&time_bytes())?;
            let lsn = self.append(&mut rec)?;
            if let Some(s) = &self.shared {
                s.log.lock().savepoint = lsn;
            }
        }
        Ok(self.mark())
    }

    /// Undoes everything since the savepoint. Locks stay.
    pub fn rollback_to(&mut self, to: &Savepoint) -> Result<(), TxnError> {
        self.deferred.truncate(to.deferred);
        self.undo_until(to.lsn)?;
        if let Some(s) = &self.shared {
            // What the compensation records took less than was kept free for them.
            let mut l = s.log.lock();
            let keep = to.reserved.max(self.db.log().end_reserve().min(l.reserved));
            let spare = l.reserved.saturating_sub(keep);
            l.reserved -= spare;
            self.newest.reserved = l.reserved;
            self.db.log().release_reserve(spare);
        }
        Ok(())
    }

    /// Walks the chain back from the newest record, undoing, until `stop`.
    fn undo_until(&mut self, stop: Lsn) -> Result<(), TxnError> {
        let _undoing = UndoingThread::begin();
        let mut at = self.log_state().last;
        let mut bytes = Vec::new();
        let mut ahead = UndoAhead::default();
        while at > stop {
            match self.undo_one(at, &mut bytes, &mut ahead) {
                Ok(next) => {
                    debug_assert!(next < at, "undo must go backwards");
                    at = next;
                }
                Err(e) => {
                    // A half undone transaction cannot stay among the living: only a restart can
                    // finish the work.
                    self.doomed = true;
                    self.db.fail("rollback", &e);
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    /// Undoes the record at `at`; returns the one to undo next.
    fn undo_one(
        &mut self,
        at: Lsn,
        bytes: &mut Vec<u8>,
        ahead: &mut UndoAhead,
    ) -> Result<Lsn, TxnError> {
        self.db.log().read(at, bytes)?;
        let view = RecordView::decode(bytes)?;
        Ok(match view.kind() {
            RecordKind::Begin => Lsn::ZERO,
            RecordKind::Compensation => view.undo_next(),
            RecordKind::Change => {
                let next = view.prev_lsn();
                let store = self.db.store().clone();
                ahead.visit(&self.db, view.pages()?, next);
                undo_record(&store, at, &view, self, next)?;
                next
            }
            _ => view.prev_lsn(),
        })
    }

    /// Undoes everything. An error means that the database is offline; a restart finishes the work.
    pub fn rollback(mut self) -> Result<(), TxnError> {
        self.roll_back()
    }

    pub(super) fn roll_back(&mut self) -> Result<(), TxnError> {
        self.deferred.clear();
        let Some(s) = self.shared.clone() else {
            self.finish();
            return Ok(());
        };
        let undone =
            self.undo_until(Lsn::ZERO).and_then(|()| self.append_end(&s, RecordKind::Abort));
        let last = match undone {
            Ok(last) => last,
            Err(e) => {
                self.db.fail("rollback", &e);
                // It stays in the table: its rows are not free. Waiters learn from the database's
                // state.
                self.ended = true;
                return Err(e);
            }
        };
        self.db.txns().end(s.id, last, false);
        self.finish();
        self.db.ghosts().add(s.id, std::mem::take(&mut self.ghosts));
        Ok(())
    }

    /// A failure has taken the database offline and is recorded there. A panic must not get
    /// further: the thread may be unwinding already.
    #[cold]
    pub(super) fn roll_back_dropped(&mut self) {
        if catch_unwind(AssertUnwindSafe(|| drop(self.roll_back()))).is_err() {
            let cause = PageError::Offline { cause: "a rollback has panicked".into() };
            self.db.fail("rollback", &cause.into());
        }
    }
}

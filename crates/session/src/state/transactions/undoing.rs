//! A large undo after a cancel: it goes on in a thread of its own after the client has its answer.
//! To take back what a statement did takes about as long as it took to do, and a client that has
//! cancelled it should not have to wait for that.
//!
//! Guarantees: the transaction keeps its locks until its changes are taken back; nothing of the
//! session begins, ends or goes back to a place before that, and the session does not end before.

use super::OpenTxn;
use crate::state::core::SessionCore;
use catalog::errors::cancelled;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use types::SqlError;

/// Log that the undo will take, in bytes, from which on it is large: some hundred records.
const LARGE: u64 = 64 << 10;
/// Threads at most; what is cancelled beyond is taken back before its answer.
const THREADS: usize = 64;
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// How often a request that waits for it looks whether it is cancelled.
const LOOK: Duration = Duration::from_millis(5);

/// What is taken back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UndoScope {
    /// The running statement's changes: the transaction stays.
    Statement,
    /// The whole transaction.
    Transaction,
}

/// An undo that goes on: its transaction where it stays, and whether the undo has failed.
pub(super) struct RunningUndo(JoinHandle<(Option<OpenTxn>, bool)>);

/// The right to have one of the threads; given back when it is dropped.
struct ThreadPermit;

impl ThreadPermit {
    fn take() -> Option<ThreadPermit> {
        let more = |running| (running < THREADS).then_some(running + 1);
        RUNNING.fetch_update(Relaxed, Relaxed, more).ok().map(|_| ThreadPermit)
    }
}

impl Drop for ThreadPermit {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Relaxed);
    }
}

impl OpenTxn {
    /// Takes back what `scope` says. Returns the transaction if it stays, and whether the undo has
    /// failed.
    pub(super) fn undo(mut self, scope: UndoScope) -> (Option<OpenTxn>, bool) {
        if scope == UndoScope::Statement {
            let failed = self.txn.rollback_to(&self.mark).is_err();
            return (Some(self), failed);
        }
        drop((self.snapshot, self.kept));
        // A rollback that fails has taken the database offline and is in its error log.
        let failed = self.txn.rollback().inspect_err(|e| self.db.note_failure(e)).is_err();
        (None, failed)
    }

    fn is_large(&self, scope: UndoScope) -> bool {
        let from = if scope == UndoScope::Statement { self.mark } else { self.start };
        self.txn.undo_bytes(&from) >= LARGE
    }
}

impl SessionCore {
    /// Takes back what `scope` says: in a thread if the client has cancelled and it is much, else
    /// now. Returns the transaction if it stays and is usable now, and whether the undo has failed.
    pub(super) fn undo_open(
        &mut self,
        mut open: OpenTxn,
        scope: UndoScope,
    ) -> (Option<OpenTxn>, bool) {
        if !self.cancelled() || !open.is_large(scope) {
            return open.undo(scope);
        }
        let Some(permit) = ThreadPermit::take() else { return open.undo(scope) };
        open.end_snapshot();
        // A thread that cannot be made takes nothing with it.
        let slot = Arc::new(Mutex::new(Some(open)));
        let given = slot.clone();
        let undo = move || {
            let _permit = permit;
            // Not in the condition: the lock would be held as long.
            let open = given.lock().take();
            open.map_or((None, false), |open| open.undo(scope))
        };
        match Builder::new().name("undo".into()).spawn(undo) {
            Ok(thread) => {
                self.transactions.undoing.push(RunningUndo(thread));
                (None, false)
            }
            Err(_) => {
                let open = slot.lock().take();
                open.map_or((None, false), |open| open.undo(scope))
            }
        }
    }

    /// Waits for what is being taken back.
    #[inline]
    pub fn settle_undo(&mut self) {
        if !self.transactions.undoing.is_empty() {
            self.join_undo();
        }
    }

    #[cold]
    fn join_undo(&mut self) {
        for undoing in std::mem::take(&mut self.transactions.undoing) {
            // A panic has taken the database offline, or the transaction was rolled back with it.
            let (open, failed) = undoing.0.join().unwrap_or((None, true));
            if let Some(mut open) = open {
                open.txn.locks.end_statement();
                self.transactions.open.push(open);
            }
            self.transactions.client.doomed |= failed && self.trancount() > 0;
        }
    }

    /// The same for a request that has not begun its work: it may be cancelled meanwhile.
    ///
    /// # Errors
    /// 3617.
    #[inline]
    pub fn await_undo(&mut self) -> Result<(), SqlError> {
        if self.transactions.undoing.is_empty() { Ok(()) } else { self.await_undo_looking() }
    }

    #[cold]
    fn await_undo_looking(&mut self) -> Result<(), SqlError> {
        while self.transactions.undoing.iter().any(|undoing| !undoing.0.is_finished()) {
            if self.cancelled() {
                return Err(cancelled());
            }
            std::thread::sleep(LOOK);
        }
        self.settle_undo();
        Ok(())
    }
}

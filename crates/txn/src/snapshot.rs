//! A live snapshot: what a statement or a transaction sees, registered as long as it is held.
//! Guarantees: while the guard lives, every version that it sees can be read; `acknowledge` returns
//! only when everything that it may have seen is durable.

use std::ops::Deref;
use std::sync::Arc;

use access::{ReadMode, Snapshot, SnapshotRef};
use pages::TxnId;
use wal::Lsn;

use crate::database::Database;
use crate::error::TxnError;
use crate::txns::Ticket;

/// A registered snapshot. Reusable: [`SnapshotGuard::renew`] takes a new one in its place, also
/// after [`SnapshotGuard::end`].
pub struct SnapshotGuard {
    db: Arc<Database>,
    snapshot: Snapshot,
    ticket: Ticket,
    /// It has not ended.
    live: bool,
}

impl std::fmt::Debug for SnapshotGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotGuard").field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}

impl Database {
    /// A snapshot for a reader without a transaction.
    pub fn snapshot(self: &Arc<Self>) -> SnapshotGuard {
        SnapshotGuard::take(self.clone(), TxnId(0), false)
    }
}

impl SnapshotGuard {
    /// A snapshot of now for the transaction `own` (0: has written nothing). `stays`: it is kept
    /// for longer than a statement.
    pub(crate) fn take(db: Arc<Database>, own: TxnId, stays: bool) -> SnapshotGuard {
        let (snapshot, ticket) = db.txns().snapshot(own, stays);
        SnapshotGuard { db, snapshot, ticket, live: true }
    }

    /// Ends this snapshot and takes a new one: the next statement of the same reader.
    pub fn renew(&mut self, own: TxnId) {
        (self.snapshot, self.ticket) = match self.live {
            true => self.db.txns().renew(self.ticket, own),
            false => self.db.txns().snapshot(own, false),
        };
        self.live = true;
    }

    /// Ends this snapshot: nothing is kept for it any more, and nobody reads through it before
    /// [`SnapshotGuard::renew`].
    pub fn end(&mut self) {
        if std::mem::take(&mut self.live) {
            self.db.txns().release(self.ticket);
        }
    }

    /// The reader's transaction got its id after the snapshot was taken.
    pub fn set_own(&mut self, own: TxnId) {
        self.snapshot.set_own(own);
    }

    /// The way rows are read through it.
    pub fn mode(&self) -> ReadMode<'_> {
        debug_assert!(self.live, "a snapshot is read through that has ended");
        ReadMode::Snapshot(SnapshotRef::new(&self.snapshot, self.db.txns().endings()))
    }

    /// Whether work of `txn` is visible.
    pub fn sees(&self, txn: TxnId) -> bool {
        self.snapshot.sees(txn, self.db.txns().endings())
    }

    /// Waits until every durable commit that this snapshot may have seen is durable. To be called
    /// before an answer made from it goes out.
    pub fn acknowledge(&self) -> Result<(), TxnError> {
        if self.db.log().is_durable(self.ticket.commit) {
            return Ok(());
        }
        Ok(self.db.log().flush_to(self.ticket.commit)?)
    }

    /// What [`SnapshotGuard::acknowledge`] waits for, if that is not durable yet: for whoever waits
    /// later, but before the answer goes out.
    pub fn unflushed(&self) -> Option<Lsn> {
        (!self.db.log().is_durable(self.ticket.commit)).then_some(self.ticket.commit)
    }

    /// The database that it is of.
    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }
}

impl Deref for SnapshotGuard {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

impl Drop for SnapshotGuard {
    fn drop(&mut self) {
        self.end();
    }
}

//! Snapshots and read modes: which transactions' work a reader sees.
//!
//! A snapshot is taken once and never changes: four numbers, however many transactions are running.
//! It guarantees that the answer of `sees` is the same for the whole life of the reader, whatever
//! commits meanwhile, as long as [`Endings`] answers every question about one transaction and one
//! moment alike.

use pages::TxnId;

/// Knows when transactions have ended. Moments count ends: at moment `m` the first `m` of them had
/// happened.
pub trait Endings: Send + Sync {
    /// Whether `txn` had ended at `moment`, which is that of a snapshot still in use. Only asked of
    /// transactions that had begun by then.
    fn ended_by(&self, txn: TxnId, moment: u64) -> bool;
}

/// What a statement or a transaction sees: everything committed when the snapshot was taken, and
/// its own work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    own: TxnId,
    xmin: TxnId,
    xmax: TxnId,
    moment: u64,
}

impl Snapshot {
    /// At `moment` every transaction below `xmin` had ended (other than `own`), and none from
    /// `xmax` on had begun. `own` is `TxnId(0)` for a reader that has written nothing.
    pub fn new(own: TxnId, xmin: TxnId, xmax: TxnId, moment: u64) -> Snapshot {
        debug_assert!(xmin <= xmax, "what has not begun has not ended");
        Snapshot { own, xmin, xmax, moment }
    }

    /// The transaction that reads; `TxnId(0)` if it has written nothing yet.
    pub fn own(&self) -> TxnId {
        self.own
    }

    /// Sets the reader's own transaction once it has got its id.
    pub fn set_own(&mut self, own: TxnId) {
        self.own = own;
    }

    /// Every transaction below is seen without a question.
    pub fn xmin(&self) -> TxnId {
        self.xmin
    }

    /// No transaction from here on is seen, except the reader's own.
    pub fn xmax(&self) -> TxnId {
        self.xmax
    }

    /// When it was taken, in ends of transactions.
    pub fn moment(&self) -> u64 {
        self.moment
    }

    /// Whether work of `txn` is visible.
    #[inline]
    pub fn sees(&self, txn: TxnId, endings: &dyn Endings) -> bool {
        if txn < self.xmin || txn == self.own {
            return true;
        }
        txn < self.xmax && endings.ended_by(txn, self.moment)
    }
}

/// A snapshot, and who answers what it cannot tell by itself.
#[derive(Clone, Copy)]
pub struct SnapshotRef<'a> {
    snapshot: &'a Snapshot,
    endings: &'a dyn Endings,
}

impl<'a> SnapshotRef<'a> {
    /// `endings` must be of the database whose snapshot it is.
    pub fn new(snapshot: &'a Snapshot, endings: &'a dyn Endings) -> SnapshotRef<'a> {
        SnapshotRef { snapshot, endings }
    }

    /// Whether work of `txn` is visible.
    #[inline]
    pub fn sees(&self, txn: TxnId) -> bool {
        self.snapshot.sees(txn, self.endings)
    }

    /// Every transaction below is seen.
    #[inline]
    pub fn xmin(&self) -> TxnId {
        self.snapshot.xmin
    }
}

impl std::fmt::Debug for SnapshotRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.snapshot.fmt(f)
    }
}

/// Which version of a row a reader gets.
#[derive(Clone, Copy, Debug)]
pub enum ReadMode<'a> {
    /// The newest version that the snapshot sees.
    Snapshot(SnapshotRef<'a>),
    /// The newest version, whichever transaction wrote it. Ghosts are returned too
    /// (`RowBatch::is_ghost`): a statement that changes data must wait for the writer of a running
    /// delete, and skip the others.
    Current,
    /// The newest version that is not deleted, committed or not (READ UNCOMMITTED).
    Dirty,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments at which transactions ended; the others are running.
    struct EndedTxns(&'static [(u64, u64)]);

    impl Endings for EndedTxns {
        fn ended_by(&self, txn: TxnId, moment: u64) -> bool {
            self.0.iter().any(|(id, end)| *id == txn.0 && *end <= moment)
        }
    }

    #[test]
    fn sees_what_was_committed_and_own_work() {
        let ended = EndedTxns(&[(11, 3), (15, 8), (19, 7)]);
        let s = Snapshot::new(TxnId(12), TxnId(10), TxnId(20), 7);
        let sees = |id| s.sees(TxnId(id), &ended);
        assert!(sees(0) && sees(9), "older than every running transaction");
        assert!(!sees(10) && !sees(13), "running");
        assert!(!sees(15), "ended later");
        assert!(sees(11) && sees(12) && sees(19), "committed before, and own");
        assert!(!sees(20) && !sees(21), "began later");
    }

    #[test]
    fn own_work_is_seen_even_when_newer_than_the_snapshot() {
        let mut s = Snapshot::new(TxnId(0), TxnId(5), TxnId(5), 1);
        assert!(!s.sees(TxnId(5), &EndedTxns(&[])));
        s.set_own(TxnId(5));
        assert!(s.sees(TxnId(5), &EndedTxns(&[])) && !s.sees(TxnId(6), &EndedTxns(&[])));
    }
}

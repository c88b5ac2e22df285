//! Snapshots and read modes: which transactions' work a reader sees.
//!
//! A snapshot is taken once and never changes. It guarantees that the answer of `sees` is the same for the whole
//! life of the reader, whatever commits meanwhile.

use pages::TxnId;

/// What a statement or a transaction sees: everything committed when the snapshot was taken, and its own work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    own: TxnId,
    xmin: TxnId,
    xmax: TxnId,
    active: Vec<TxnId>,
}

impl Snapshot {
    /// `active` lists the transactions that were running (without `own`) in ascending order; every id from `xmax` on
    /// had not begun. `own` is `TxnId(0)` for a reader that has written nothing.
    pub fn new(own: TxnId, xmax: TxnId, active: Vec<TxnId>) -> Snapshot {
        debug_assert!(active.is_sorted(), "active transactions are listed in ascending order");
        let xmin = active.first().copied().unwrap_or(xmax).min(xmax);
        Snapshot { own, xmin, xmax, active }
    }

    /// Takes the snapshot anew into the same buffers: statement snapshots need no allocation.
    pub fn renew(&mut self, own: TxnId, xmax: TxnId, active: impl Iterator<Item = TxnId>) {
        self.active.clear();
        self.active.extend(active.filter(|t| *t != own));
        debug_assert!(self.active.is_sorted());
        self.own = own;
        self.xmax = xmax;
        self.xmin = self.active.first().copied().unwrap_or(xmax).min(xmax);
    }

    /// The transaction that reads; `TxnId(0)` if it has written nothing yet.
    pub fn own(&self) -> TxnId {
        self.own
    }

    /// Sets the reader's own transaction once it has got its id.
    pub fn set_own(&mut self, own: TxnId) {
        self.own = own;
        if let Ok(at) = self.active.binary_search(&own) {
            self.active.remove(at);
        }
    }

    /// Every transaction below is seen without a look at the list.
    pub fn xmin(&self) -> TxnId {
        self.xmin
    }

    /// No transaction from here on is seen, except the reader's own.
    pub fn xmax(&self) -> TxnId {
        self.xmax
    }

    /// Whether work of `txn` is visible.
    #[inline]
    pub fn sees(&self, txn: TxnId) -> bool {
        if txn < self.xmin || txn == self.own {
            return true;
        }
        txn < self.xmax && self.active.binary_search(&txn).is_err()
    }
}

/// Which version of a row a reader gets.
#[derive(Clone, Copy, Debug)]
pub enum ReadMode<'a> {
    /// The newest version that the snapshot sees.
    Snapshot(&'a Snapshot),
    /// The newest version, whichever transaction wrote it. Ghosts are returned too (`RowBatch::is_ghost`): a statement that changes
    /// data must wait for the writer of a running delete, and skip the others.
    Current,
    /// The newest version that is not deleted, committed or not (READ UNCOMMITTED).
    Dirty,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_what_was_committed_and_own_work() {
        let s = Snapshot::new(TxnId(12), TxnId(20), vec![TxnId(10), TxnId(15)]);
        assert!(s.sees(TxnId(0)) && s.sees(TxnId(9)), "older than every running transaction");
        assert!(!s.sees(TxnId(10)) && !s.sees(TxnId(15)), "running");
        assert!(s.sees(TxnId(11)) && s.sees(TxnId(12)) && s.sees(TxnId(19)), "committed between, and own");
        assert!(!s.sees(TxnId(20)) && !s.sees(TxnId(21)), "began later");
    }

    #[test]
    fn own_work_is_seen_even_when_newer_than_the_snapshot() {
        let mut s = Snapshot::new(TxnId(0), TxnId(5), vec![]);
        assert!(!s.sees(TxnId(5)));
        s.set_own(TxnId(5));
        assert!(s.sees(TxnId(5)) && !s.sees(TxnId(6)));
        s.renew(TxnId(5), TxnId(9), [TxnId(5), TxnId(7)].into_iter());
        assert!(s.sees(TxnId(5)) && s.sees(TxnId(6)) && !s.sees(TxnId(7)) && s.sees(TxnId(8)));
        assert_eq!(s.xmin(), TxnId(7));
    }
}

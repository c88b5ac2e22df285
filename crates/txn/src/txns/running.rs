//! The list of running transactions that have written, oldest first. Guarantees: the two oldest and
//! the newest are at hand; adding, finding and removing one costs the same however many there are,
//! apart from a binary search (one that ends in the middle leaves a gap, and gaps never outnumber
//! what runs by much); what a transaction holds of the log ascends with its id.

use std::collections::VecDeque;
use std::sync::Arc;

use pages::TxnId;
use wal::Lsn;

use super::TxnShared;
use crate::locks::OwnerId;

/// Gaps that are never worth closing.
const FEW: usize = 64;

/// A transaction that has written.
#[derive(Debug)]
pub(crate) struct ActiveTxn {
    pub id: TxnId,
    /// A bound from below of the LSN of its first record, and of those of all that began later.
    pub hold: Lsn,
    pub owner: OwnerId,
    /// Somebody waits for its end.
    pub waited: bool,
    pub shared: Arc<TxnShared>,
}

#[derive(Debug)]
struct RunningEntry {
    id: TxnId,
    active: Option<ActiveTxn>,
}

/// The list.
#[derive(Debug, Default)]
pub(crate) struct RunningTxns {
    /// Ascending by id. The first, the second and the last are no gaps.
    entries: VecDeque<RunningEntry>,
    gaps: usize,
}

impl RunningTxns {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len() - self.gaps
    }

    /// The oldest.
    pub fn first(&self) -> Option<&ActiveTxn> {
        self.entries.front().and_then(|e| e.active.as_ref())
    }

    /// The id of the one after the oldest.
    pub fn second(&self) -> Option<TxnId> {
        self.entries.get(1).map(|e| e.id)
    }

    /// All, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &ActiveTxn> {
        self.entries.iter().filter_map(|e| e.active.as_ref())
    }

    /// One begins: its id and its hold are the largest.
    pub fn push(&mut self, active: ActiveTxn) {
        debug_assert!(self.entries.back().is_none_or(|e| e.id < active.id), "ids ascend");
        debug_assert!(
            self.iter().next_back().is_none_or(|a| a.hold <= active.hold),
            "holds ascend"
        );
        self.entries.push_back(RunningEntry { id: active.id, active: Some(active) });
    }

    /// Recovery: one comes back at its place. Holds go down where they have to, to ascend.
    pub fn insert(&mut self, active: ActiveTxn) {
        let at = self.entries.partition_point(|e| e.id < active.id);
        self.entries.insert(at, RunningEntry { id: active.id, active: Some(active) });
        let mut least = Lsn::MAX;
        for active in self.entries.iter_mut().rev().filter_map(|e| e.active.as_mut()) {
            least = least.min(active.hold);
            active.hold = least;
        }
    }

    fn position(&self, id: TxnId) -> Option<usize> {
        match self.entries.back() {
            Some(newest) if newest.id == id => Some(self.entries.len() - 1),
            _ => self.entries.binary_search_by_key(&id, |e| e.id).ok(),
        }
    }

    /// One of them.
    pub fn get_mut(&mut self, id: TxnId) -> Option<&mut ActiveTxn> {
        let at = self.position(id)?;
        self.entries[at].active.as_mut()
    }

    /// One ends.
    pub fn remove(&mut self, id: TxnId) -> Option<ActiveTxn> {
        let at = self.position(id)?;
        let gone = self.entries[at].active.take()?;
        self.gaps += 1;
        self.close_ends();
        if self.gaps > self.len() + FEW {
            self.entries.retain(|e| e.active.is_some());
            self.gaps = 0;
        }
        Some(gone)
    }

    /// Each gap goes once: what this costs has been earned by the ends that left them.
    fn close_ends(&mut self) {
        while self.entries.back().is_some_and(|e| e.active.is_none()) {
            self.entries.pop_back();
            self.gaps -= 1;
        }
        self.close_front();
        if let Some(first) = self.entries.pop_front() {
            self.close_front();
            self.entries.push_front(first);
        }
    }

    fn close_front(&mut self) {
        while self.entries.front().is_some_and(|e| e.active.is_none()) {
            self.entries.pop_front();
            self.gaps -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn active(id: u64, hold: u32) -> ActiveTxn {
        let owner = OwnerId(1);
        let shared = Arc::new(TxnShared {
            id: TxnId(id),
            owner,
            session: 51,
            began: SystemTime::UNIX_EPOCH,
            log: Default::default(),
        });
        let hold = Lsn { vlf: 1, block: hold, slot: 1 };
        ActiveTxn { id: TxnId(id), hold, owner, waited: false, shared }
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        let mut rng = fastrand::Rng::with_seed(3);
        for most in [2usize, 5, 300] {
            let (mut running, mut model, mut next) = (RunningTxns::default(), Vec::new(), 0u64);
            for _ in 0..20_000 {
                if model.len() < most && rng.bool() {
                    next += 1 + rng.u64(..3);
                    running.push(active(next, next as u32));
                    model.push(next);
                } else if !model.is_empty() {
                    let id = model.remove(rng.usize(..model.len()));
                    assert_eq!(running.remove(TxnId(id)).map(|a| a.id), Some(TxnId(id)));
                    assert!(
                        running.remove(TxnId(id)).is_none() && running.get_mut(TxnId(id)).is_none()
                    );
                }
                assert_eq!(running.len(), model.len());
                assert_eq!(running.first().map(|a| a.id.0), model.first().copied());
                assert_eq!(running.second().map(|id| id.0), model.get(1).copied());
                assert!(running.entries.len() <= 2 * model.len() + FEW + 1, "gaps are bounded");
            }
            assert!(running.iter().map(|a| a.id.0).eq(model));
        }
    }

    #[test]
    fn holds_ascend_whatever_comes_back() {
        let mut running = RunningTxns::default();
        for (id, hold) in [(7, 20), (3, 30), (9, 10), (5, 40)] {
            running.insert(active(id, hold));
        }
        let holds: Vec<_> = running.iter().map(|a| (a.id.0, a.hold.block)).collect();
        assert_eq!(holds, [(3, 10), (5, 10), (7, 10), (9, 10)]);
        running.push(active(11, 50));
        assert_eq!(running.remove(TxnId(9)).map(|a| a.hold.block), Some(10));
        assert_eq!(running.len(), 4);
    }
}

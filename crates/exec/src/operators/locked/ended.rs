//! Whether a row was as its writer has left it when it was read.
//!
//! A row is read first, and whether its writer still runs is asked then. One that has ended in between
//! may have changed the row once more, or taken its change back, after it was read: what was read was
//! perhaps never committed. Such a row is read again, once.
//! Guarantee: [`Left::ForGood`] is said only of a row that was read after its writer had ended, or that is
//! the reader's own.

use access::Writer;
use pages::TxnId;
use std::collections::HashSet;
use txn::Txn;

/// Transactions that are remembered from page to page.
const MOST: usize = 256;

/// How the writer of a row has left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Before it was read.
    ForGood,
    /// Perhaps after that: it is to be read again.
    Meanwhile,
    /// It still runs.
    NotYet,
}

/// Transactions that had ended before the last read began.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// All below this one.
    below: TxnId,
    /// And these.
    known: HashSet<TxnId>,
}

impl Ended {
    /// Rows are about to be read.
    #[inline]
    pub fn reads(&mut self, txn: &Txn) {
        self.below = txn.database().txns().all_ended_below();
    }

    /// How the writer of a row has left it that was read since.
    #[inline]
    pub fn left_by(&mut self, txn: &Txn, writer: TxnId) -> Left {
        if writer < self.below || writer == txn.id() {
            return Left::ForGood;
        }
        self.left_lately(txn, writer)
    }

    fn left_lately(&mut self, txn: &Txn, writer: TxnId) -> Left {
        if self.known.contains(&writer) {
            return Left::ForGood;
        }
        let runs = txn.active_elsewhere(writer);
        self.found(writer, runs)
    }

    /// What a writer is that was not known to have ended before the read; whether it runs was asked
    /// after it.
    fn found(&mut self, writer: TxnId, runs: bool) -> Left {
        if runs {
            return Left::NotYet;
        }
        self.known.insert(writer);
        Left::Meanwhile
    }

    /// A writer has been waited for: it has ended before the next read.
    pub fn add(&mut self, writer: TxnId) {
        self.known.insert(writer);
    }

    /// Other rows come: what is known holds for them too, but is not to become much.
    pub fn forget_many(&mut self) {
        if self.known.len() > MOST {
            self.known.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that ended between the read and the question: the row is read again, once.
    #[test]
    fn who_ended_after_the_read_is_known_at_the_next_one() {
        let mut ended = Ended { below: TxnId(5), known: HashSet::new() };
        assert_eq!(ended.found(TxnId(9), true), Left::NotYet);
        assert!(!ended.known.contains(&TxnId(9)));
        assert_eq!(ended.found(TxnId(9), false), Left::Meanwhile);
        assert!(ended.known.contains(&TxnId(9)), "what is read from now on is as it was left");
        ended.add(TxnId(11));
        assert!(ended.known.contains(&TxnId(11)));
        ended.known.extend((100..100 + MOST as u64).map(TxnId));
        ended.forget_many();
        assert!(ended.known.is_empty());
    }
}

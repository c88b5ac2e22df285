//! Who has written the rows that a reader of newest versions has met: the two newest transactions
//! among them. Two, as the newest one may be the reader's own.
//!
//! Guarantee: [`NewestWriters::but`] is never below a transaction that was told with
//! [`NewestWriters::saw`], except the reader's own.

use pages::TxnId;

/// The two newest transactions that were told, the newer first; 0 where there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewestWriters {
    newest: TxnId,
    before: TxnId,
}

impl NewestWriters {
    /// A row was met that this transaction has written or deleted.
    #[inline]
    pub fn saw(&mut self, writer: TxnId) {
        if writer > self.newest {
            self.before = std::mem::replace(&mut self.newest, writer);
        } else if writer > self.before && writer < self.newest {
            self.before = writer;
        }
    }

    /// Whether [`NewestWriters::saw`] of transactions up to this one may change anything.
    #[inline]
    pub(crate) fn is_news(&self, writer: TxnId) -> bool {
        writer > self.before
    }

    /// Those of another reader as well.
    #[inline]
    pub fn add(&mut self, other: NewestWriters) {
        self.saw(other.before);
        self.saw(other.newest);
    }

    /// The newest transaction besides `own`; 0 where there is none.
    #[inline]
    pub fn but(&self, own: TxnId) -> TxnId {
        if self.newest == own { self.before } else { self.newest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[u64]) -> NewestWriters {
        let mut writers = NewestWriters::default();
        ids.iter().for_each(|id| writers.saw(TxnId(*id)));
        writers
    }

    #[test]
    fn the_newest_writer_is_known_whoever_reads() {
        for ids in [[3, 7, 9], [9, 7, 3], [7, 9, 3], [9, 3, 7], [3, 9, 7], [7, 3, 9]] {
            let writers = of(&[ids[0], ids[0], ids[1], ids[2], ids[1]]);
            assert_eq!(writers.but(TxnId(0)), TxnId(9));
            assert_eq!(writers.but(TxnId(7)), TxnId(9));
            assert_eq!(writers.but(TxnId(9)), TxnId(7));
        }
        assert_eq!(of(&[]).but(TxnId(4)), TxnId(0));
        assert_eq!(of(&[4, 4]).but(TxnId(4)), TxnId(0));
    }

    #[test]
    fn readers_together_have_met_what_each_has_met() {
        let mut writers = of(&[5, 8]);
        writers.add(of(&[9, 2]));
        assert_eq!(writers, of(&[9, 8]));
        writers.add(NewestWriters::default());
        assert_eq!(writers, of(&[9, 8]));
    }

    #[test]
    fn what_would_change_nothing_is_no_news() {
        let writers = of(&[5, 8]);
        for id in 0..12 {
            let mut after = writers;
            (0..=id).for_each(|id| after.saw(TxnId(id)));
            assert!(writers.is_news(TxnId(id)) || after == writers, "{id}");
        }
    }
}

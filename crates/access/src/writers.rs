//! The writers of the rows that a reader of newest versions has met: the newest transaction among
//! them, the reader's own too. What the reader has written itself it may have made of what others
//! had written before, and no row tells that any more.
//!
//! Guarantee: [`NewestWriters::newest`] is never below a transaction that was told with
//! [`NewestWriters::saw`].

use pages::TxnId;

/// The newest transaction that was told; 0 where there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewestWriters {
    newest: TxnId,
}

impl NewestWriters {
    /// A row was met that this transaction has written or deleted.
    #[inline]
    pub fn saw(&mut self, writer: TxnId) {
        self.newest = self.newest.max(writer);
    }

    /// Whether [`NewestWriters::saw`] of transactions up to this one may change anything.
    #[inline]
    pub(crate) fn is_news(&self, writer: TxnId) -> bool {
        writer > self.newest
    }

    /// Those of another reader as well.
    #[inline]
    pub fn add(&mut self, other: NewestWriters) {
        self.saw(other.newest);
    }

    /// The newest transaction; 0 where there is none.
    #[inline]
    pub fn newest(&self) -> TxnId {
        self.newest
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
    fn the_newest_writer_is_known_in_whatever_order_rows_come() {
        for ids in [[3, 7, 9], [9, 7, 3], [7, 9, 3], [9, 3, 7], [3, 9, 7], [7, 3, 9]] {
            assert_eq!(of(&ids).newest(), TxnId(9));
        }
        assert_eq!(of(&[]).newest(), TxnId(0));
    }

    #[test]
    fn readers_together_have_met_what_each_has_met() {
        let mut writers = of(&[5, 8]);
        writers.add(of(&[9, 2]));
        assert_eq!(writers, of(&[9]));
        writers.add(NewestWriters::default());
        assert_eq!(writers, of(&[9]));
    }

    #[test]
    fn what_would_change_nothing_is_no_news() {
        let writers = of(&[5, 8]);
        for id in 0..12 {
            let mut after = writers;
            (0..=id).for_each(|id| after.saw(TxnId(id)));
            assert_eq!(writers.is_news(TxnId(id)), after != writers, "{id}");
        }
    }
}

//! Sets of columns, as spans of their ids. Ids are given in the order in which a statement is
//! bound, so that the columns of tables that are joined lie side by side: the set of a join of
//! thousands of tables is a few spans.
//! Guarantees: spans are in order and do not touch; asking for a column costs the logarithm of
//! their number.

use expr::{ColId, Expr, Pred};
use smallvec::SmallVec;

/// Ids from the first to before the second.
pub type ColumnSpan = (ColId, ColId);

/// A set of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnSet {
    spans: SmallVec<[ColumnSpan; 2]>,
}

impl ColumnSet {
    /// The set of spans in any order, which may overlap.
    pub fn of(mut spans: Vec<ColumnSpan>) -> ColumnSet {
        spans.retain(|(first, end)| first < end);
        spans.sort_unstable();
        let mut set = ColumnSet::default();
        for (first, end) in spans {
            match set.spans.last_mut() {
                Some((_, last)) if first <= *last => *last = end.max(*last),
                _ => set.spans.push((first, end)),
            }
        }
        set
    }

    /// The set of single columns.
    pub fn of_ids<'i>(ids: impl IntoIterator<Item = &'i ColId>) -> ColumnSet {
        ColumnSet::of(ids.into_iter().map(|id| (*id, id + 1)).collect())
    }

    /// Adds the columns of another set.
    pub fn add(&mut self, other: &ColumnSet) {
        let Some((first, others)) = other.spans.split_first() else { return };
        match self.spans.last_mut() {
            // Most sets that are added lie behind all that is there.
            None => self.spans.push(*first),
            Some((_, end)) if *end < first.0 => self.spans.push(*first),
            Some((_, end)) if *end == first.0 => *end = first.1,
            Some(_) => {
                *self = ColumnSet::of(self.spans.iter().chain(&other.spans).copied().collect());
                return;
            }
        }
        self.spans.extend_from_slice(others);
    }

    /// Whether a column is in it.
    pub fn contains(&self, id: ColId) -> bool {
        let behind = self.spans.partition_point(|(first, _)| *first <= id);
        behind > 0 && id < self.spans[behind - 1].1
    }

    /// Whether all columns of a condition are in it.
    pub fn has_all_of(&self, pred: &Pred) -> bool {
        let mut all = true;
        pred.leaves(&mut |leaf| {
            if let Expr::Col(id) = leaf {
                all = all && self.contains(*id);
            }
        });
        all
    }

    /// Its spans.
    pub fn spans(&self) -> &[ColumnSpan] {
        &self.spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_or_overlap_become_one() {
        let set = ColumnSet::of(vec![(7, 9), (0, 3), (3, 5), (8, 12), (20, 20)]);
        assert_eq!(set.spans(), [(0, 5), (7, 12)]);
        let has: Vec<ColId> = (0..25).filter(|id| set.contains(*id)).collect();
        assert_eq!(has, [0, 1, 2, 3, 4, 7, 8, 9, 10, 11]);
        assert!(!ColumnSet::default().contains(0));
    }

    #[test]
    fn a_set_that_is_added_may_lie_anywhere() {
        let mut all = ColumnSet::default();
        for spans in
            [vec![(4, 6)], vec![(6, 8), (10, 11)], vec![(20, 30)], vec![(0, 2), (25, 40)], vec![]]
        {
            all.add(&ColumnSet::of(spans));
        }
        assert_eq!(all.spans(), [(0, 2), (4, 8), (10, 11), (20, 40)]);
    }
}

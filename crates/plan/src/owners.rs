//! Which of many nodes a column comes from.
//! Guarantee: the cost of asking for a column is the logarithm of the number of spans of columns.

use expr::{ColId, Expr, Pred};
use logical::columns::ColumnSet;

/// The columns of nodes that are known by numbers.
#[derive(Default)]
pub struct Owners {
    /// Where spans of columns begin and end, in order, and the number of their node.
    spans: Vec<(ColId, ColId, usize)>,
}

impl Owners {
    /// Adds the columns of a node. Those of most nodes lie behind all that are there.
    pub fn add(&mut self, columns: &ColumnSet, number: usize) {
        for (first, end) in columns.spans() {
            let at = match self.spans.last() {
                Some((last, ..)) if last > first => {
                    self.spans.partition_point(|span| span.0 < *first)
                }
                _ => self.spans.len(),
            };
            self.spans.insert(at, (*first, *end, number));
        }
    }

    /// The node of a column, if it is of one of them.
    pub fn of_column(&self, id: ColId) -> Option<usize> {
        let behind = self.spans.partition_point(|span| span.0 <= id);
        let (_, end, number) = self.spans[..behind].last()?;
        (id < *end).then_some(*number)
    }

    /// The nodes whose columns a condition uses, in the order of their numbers.
    pub fn of(&self, pred: &Pred) -> Vec<usize> {
        let mut numbers = Vec::new();
        pred.leaves(&mut |leaf| {
            if let Expr::Col(id) = leaf {
                numbers.extend(self.of_column(*id));
            }
        });
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_whatever_the_order_of_the_nodes() {
        let mut owners = Owners::default();
        for (number, spans) in [vec![(10, 12), (20, 22)], vec![(30, 31)], vec![(0, 3), (12, 15)]]
            .into_iter()
            .enumerate()
        {
            owners.add(&ColumnSet::of(spans), number);
        }
        let all: Vec<Option<usize>> = [0, 2, 3, 10, 11, 12, 14, 15, 20, 22, 30, 31]
            .into_iter()
            .map(|id| owners.of_column(id))
            .collect();
        let (a, b, c) = (Some(0), Some(1), Some(2));
        assert_eq!(all, [c, c, None, a, a, c, c, None, a, None, b, None]);
    }
}

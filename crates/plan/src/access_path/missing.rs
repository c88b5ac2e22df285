//! An index that a read of a table would be much better with than with those that there are: on the
//! columns that its conditions compare, those that are wanted besides included. Its plan tells it;
//! it changes nothing of the plan. Only conditions that an index could be sought by count:
//! comparisons with what does not depend on the row.

use super::{Candidate, Question, may_cover};
use crate::cost::{COVERED, LOOKUP, SEEK};
use crate::estimate;
use crate::nodes::WantedIndex;
use expr::Pred;

/// A read that costs less, in units of [`crate::cost`], is good enough as it is.
const LEAST: f64 = 1000.0;
/// The share of the cost that the index may leave.
const SHARE: f64 = 0.7;
/// Columns that a key can have.
const KEY: usize = 32;

impl Question<'_> {
    /// What would be better than the best way that there is; `wanted`: positions of all columns
    /// that are read.
    pub(super) fn missing(&self, best: &Candidate, wanted: &[usize]) -> Option<Box<WantedIndex>> {
        if best.point || best.cost < LEAST || self.get.hints.access.sample.is_some() {
            return None;
        }
        let table = &self.get.table;
        let can_be_key = |column: usize| !table.columns[column].ty.is_lob();
        let (mut equality, mut inequality): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut sought: Vec<&Pred> = Vec::new();
        for term in self.conditions.own.equal.iter().filter(|term| can_be_key(term.column)) {
            if !equality.contains(&term.column) {
                equality.push(term.column);
                sought.push(term.pred);
            }
        }
        for (at, choice) in
            self.conditions.choices.iter().enumerate().filter(|(_, c)| c.is_equalities())
        {
            // A list of values of one column.
            let mut columns = self.conditions.cases[at]
                .iter()
                .flat_map(|case| case.equal.iter().map(|term| term.column));
            if let Some(first) = columns.next()
                && can_be_key(first)
                && columns.all(|column| column == first)
                && !equality.contains(&first)
                && let Some(pred) = self.preds.get(choice.at)
            {
                equality.push(first);
                sought.push(pred);
            }
        }
        for (column, pred) in self.conditions.own.ranged() {
            if !can_be_key(column) || equality.contains(&column) {
                continue;
            }
            // A seek has a range of the first one only.
            let known = sought.iter().any(|known| std::ptr::eq(*known, pred));
            if !known && inequality.first().is_none_or(|first| *first == column) {
                sought.push(pred);
            }
            if !inequality.contains(&column) {
                inequality.push(column);
            }
        }
        if sought.is_empty() || equality.len() + inequality.len() > KEY {
            return None;
        }
        let rows = (self.total * estimate::kept(sought, &self.input)).max(1.0);
        let covers = may_cover(self.get, self.wishes.needed);
        let cost = SEEK + rows * if covers { COVERED } else { LOOKUP };
        if cost + self.afterwards(self.rows, false) > best.cost * SHARE {
            return None;
        }
        let located = |column: &usize| table.storage.key.iter().any(|(key, _)| key == column);
        let own = |column: &usize| equality.contains(column) || inequality.contains(column);
        let included =
            wanted.iter().copied().filter(|column| covers && !own(column) && !located(column));
        let included = included.collect();
        equality.sort_unstable();
        inequality.sort_unstable();
        Some(Box::new(WantedIndex { equality, inequality, included, cost }))
    }
}

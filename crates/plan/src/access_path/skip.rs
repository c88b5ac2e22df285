//! Seeks past a column. Of an index over (a, b, c) whose conditions name a value of a and values of
//! c, and say nothing of b or give it a range, the values of b that there are are visited one after
//! another, and the rows of each are sought by all three: what b's range holds besides is not read,
//! and under SERIALIZABLE not locked.
//! Guarantee: all conditions behind the column that is passed over are tested on what is found, as a
//! run that finds too many values of it reads its range from end to end.

use super::terms::{Found, MOST_RANGES};
use super::{AccessWay, Candidate, Question};
use crate::cost::RANGE;
use crate::estimate;
use crate::nodes::SeekSpec;
use crate::statistics;
use types::key_width;

/// How many values of a column there are in a range is a guess made of guesses: visits of so many
/// times as many have to pay.
const DOUBT: f64 = 2.0;

impl Question<'_> {
    /// The table by an index, past a column of it; nothing where there is no reason to.
    pub(super) fn skipping(&self, way: &AccessWay<'_>) -> Option<Candidate> {
        let hints = self.get.hints.access;
        let hinted = hints.scan || hints.seek.is_some() || hints.sample.is_some();
        if !way.tree || hinted || way.is_point(&self.conditions.own) {
            return None;
        }
        let own = self.conditions.own_range(&way.order);
        if own.seek.is_empty() {
            return None;
        }
        let (before, rest) = way.order.split_at_checked(own.seek.equal.len() + 1)?;
        let before: Vec<usize> = before.iter().map(|(column, _)| *column).collect();
        // Where a value ends in a key, its type has to tell; what stands behind the key of an index
        // may be a column that was named already.
        let has_width = |column: &usize| key_width(self.get.table.columns[*column].ty).is_some();
        if !before.iter().all(has_width) || before.contains(&rest.first()?.0) {
            return None;
        }
        let behind = self.conditions.ranges(rest, MOST_RANGES);
        if behind.iter().any(|found| found.seek.is_empty()) {
            return None;
        }
        let of_range = self.fetched_by(way, &own);
        let values = self.values_of(&before)? * (of_range / self.total.max(1.0));
        let both: Vec<Found<'_>> = behind.iter().map(|found| together(&own, found)).collect();
        let share = match &both[..] {
            [one] => estimate::kept(one.sought.iter().copied(), &self.input),
            several => self.share_of_any(several),
        };
        let fetched = (self.total * share).min(of_range).max(1.0);
        let looked_up = match way.store {
            Some(index) if !way.covering => self.looked_up(index, &both, fetched),
            _ => fetched,
        };
        // Each value is looked for, and then its ranges.
        let seeks = 3.0 + values.max(1.0) * DOUBT * (1.0 + behind.len() as f64) * RANGE;
        let mut behind = behind.into_iter().map(|found| found.seek);
        let mut first = behind.next()?;
        first.others = behind.collect();
        let mut choice = Candidate { index: way.index, covering: way.covering, ..Candidate::scan() };
        (choice.used, choice.seek) = (own.used, own.seek);
        choice.seek.behind = Some(Box::new(first));
        Some(self.weighed(choice, way, (fetched, looked_up), seeks))
    }

    /// Different combinations of values of an index's first columns, as far as known.
    fn values_of(&self, columns: &[usize]) -> Option<f64> {
        let table = &self.get.table;
        let distinct = |at: usize| statistics::of_column(&self.get.db, table, at)?.distinct(1);
        let first = distinct(*columns.first()?);
        let ids: Vec<i32> = columns.iter().map(|at| table.columns[*at].column_id).collect();
        let known = match columns {
            [_] => first,
            // Measured with the index that begins with the first one; at most as many as there are
            // pairs.
            _ => table.state.statistics.distinct(&ids).or_else(|| {
                columns.iter().try_fold(1.0_f64, |all, column| distinct(*column).map(|own| all * own))
            }),
        };
        known.or_else(|| self.skips.then(|| self.total.sqrt()))
    }
}

/// The conditions of a range of the columns before, and of one of those behind.
fn together<'p>(own: &Found<'p>, behind: &Found<'p>) -> Found<'p> {
    let mut sought = own.sought.clone();
    for pred in behind.sought.iter().copied() {
        if !sought.iter().any(|known| std::ptr::eq(*known, pred)) {
            sought.push(pred);
        }
    }
    Found { seek: SeekSpec::default(), used: Vec::new(), sought }
}

//! Seeks past columns. Of an index over (a, b, c) whose conditions say nothing of a column, or give
//! it a range, and name values of one behind it, the values of the former that there are get
//! visited one after another, and the rows of each are sought by all columns: what lies between
//! them is not read, and under SERIALIZABLE not locked. With `a = 1 AND c = 2` that is b; with
//! `b = 2` alone it is a, the first one, where nothing else finds the rows.
//! Guarantee: all conditions behind the columns that are passed over are tested on what is found,
//! as a run that finds too many values of them reads their range from end to end.

use super::filtered::is_usable;
use super::terms::{Conditions, FoundSeek, MOST_RANGES};
use super::{AccessWay, Candidate, Question, waits};
use crate::cost::{LOOKUP, RANGE};
use crate::estimate;
use crate::nodes::{BehindPassed, SeekSpec};
use crate::statistics::{self, table_rows};
use catalog::IndexDef;
use expr::Pred;
use logical::tree::Get;
use logical::tree::Logical;
use std::sync::Arc;
use types::has_key_end;

/// How many values of a column there are in a range is a guess made of guesses: visits of so many
/// times as many have to pay.
const DOUBT: f64 = 2.0;
/// More columns than these have more combinations of values than are worth a visit each.
const MOST_PASSED: usize = 3;
/// Visits of more values than are expected are worth so much of what they are made instead of: the
/// values with few rows may all lie at the end that is read first, and the rest be the table.
const LOST: f64 = 0.25;
/// A table that is read for less than what so many rows of a scan cost is read so: nothing is asked
/// of the values of columns that no condition names.
const LEAST: f64 = 256.0;

/// A seek of an index past columns of it.
struct SkipSeek<'p> {
    /// The range that the first of them ends, which may be all of the index.
    own: FoundSeek<'p>,
    /// So many are passed over.
    columns: usize,
    /// Ranges of the columns behind them.
    behind: Vec<FoundSeek<'p>>,
}

impl<'p> SkipSeek<'p> {
    /// By an index, from the order of its entries: past as few columns as there are before one that
    /// a condition names, or none where that is no column behind the others.
    fn of(get: &Get, conditions: &Conditions<'p>, order: &[(usize, bool)]) -> Option<SkipSeek<'p>> {
        let own = conditions.own_range(order);
        let equal = own.seek.equal.len();
        for columns in 1..=MOST_PASSED {
            let (before, rest) = order.split_at_checked(equal + columns)?;
            // Where a value ends in a key, its type has to tell; what stands behind the key of an
            // index may be a column that was named already.
            let has_end = |(column, _): &(usize, bool)| has_key_end(get.table.columns[*column].ty);
            let (next, _) = rest.first()?;
            if !before.iter().all(has_end) || before.iter().any(|(column, _)| column == next) {
                return None;
            }
            let behind = conditions.ranges(rest, MOST_RANGES);
            if !behind.iter().any(|found| found.seek.is_empty()) {
                return Some(SkipSeek { own, columns, behind });
            }
        }
        None
    }

    /// The range, and the ones of the columns behind it, each with the conditions of both.
    fn together(&self) -> Vec<FoundSeek<'p>> {
        let both = |behind: &FoundSeek<'p>| {
            let mut sought = self.own.sought.clone();
            for pred in behind.sought.iter().copied() {
                if !sought.iter().any(|known| std::ptr::eq(*known, pred)) {
                    sought.push(pred);
                }
            }
            FoundSeek { seek: SeekSpec::default(), used: Vec::new(), sought }
        };
        self.behind.iter().map(both).collect()
    }

    /// The columns of an index, from the order of its entries, of whose values each combination is
    /// visited, behind those that have one value.
    fn passed(&self, order: &[(usize, bool)]) -> Vec<usize> {
        let before = order.iter().take(self.own.seek.equal.len() + self.columns);
        before.map(|(column, _)| *column).collect()
    }

    /// Ways down the tree for so many values: each is looked for, and then its ranges.
    fn ways(&self, values: f64) -> f64 {
        values.max(1.0) * (1.0 + self.behind.len() as f64)
    }

    fn into_seek(self, (values, visits): (f64, f64)) -> SeekSpec {
        let mut behind = self.behind.into_iter().map(|found| found.seek);
        let mut ranges = behind.next().unwrap_or_default();
        ranges.others = behind.collect();
        let behind =
            BehindPassed { columns: self.columns, values: values.max(1.0), visits, ranges };
        SeekSpec { behind: Some(Box::new(behind)), ..self.own.seek }
    }
}

/// What visits of values have to pay, as how many there are is a guess.
struct VisitPenalty {
    /// So many times as many as are expected count.
    doubt: f64,
    /// What they may cost if there are many more.
    lost: f64,
}

impl<'q> Question<'q> {
    /// The table by an index, past columns of it behind the first one; nothing where there is no
    /// reason to.
    pub(super) fn skipping(&self, way: &AccessWay<'_>) -> Option<Candidate> {
        if !self.may_skip(way) {
            return None;
        }
        let past = SkipSeek::of(self.get, &self.conditions, &way.order)?;
        if past.own.seek.is_unbounded() {
            return None;
        }
        self.past(way, past, &VisitPenalty { doubt: DOUBT, lost: 0.0 })
    }

    /// The best candidate so far, or one that passes over the first columns of an index, where they
    /// have few values.
    pub(super) fn past_first_columns(&self, best: Candidate, ways: &[AccessWay<'_>]) -> Candidate {
        if best.point || (best.cost < LEAST && !self.skips) {
            return best;
        }
        // What is found by the same conditions is not looked for in each value.
        let by_best = ways.iter().find(|way| way.index == best.index && !best.seek.is_empty());
        let sought: Vec<FoundSeek<'_>> =
            by_best.map_or_else(Vec::new, |way| self.conditions.ranges(&way.order, MOST_RANGES));
        let is_new = |pred: &&Pred| {
            let known = |found: &FoundSeek<'_>| {
                found.sought.iter().any(|known| std::ptr::eq(*known, *pred))
            };
            !sought.iter().any(known)
        };
        // Who locks what he reads, or waits for its writers, keeps all from a table that he scans.
        let guess = match waits(self.get) {
            true => VisitPenalty { doubt: 1.0, lost: best.cost },
            false => VisitPenalty { doubt: DOUBT, lost: best.cost * LOST },
        };
        let past = |way: &AccessWay<'_>| {
            if !self.may_skip(way) {
                return None;
            }
            let past = SkipSeek::of(self.get, &self.conditions, &way.order)?;
            let is_wanted = |found: &FoundSeek<'_>| self.skips || found.sought.iter().any(is_new);
            let first = past.own.seek.is_unbounded() && past.behind.iter().all(is_wanted);
            if first { self.past(way, past, &guess) } else { None }
        };
        let better = |best: Candidate, past: Candidate| {
            if self.skips || past.cost < best.cost { past } else { best }
        };
        ways.iter().filter_map(past).fold(best, better)
    }

    fn may_skip(&self, way: &AccessWay<'_>) -> bool {
        let hints = self.get.hints.access;
        let hinted = hints.scan || hints.seek.is_some() || hints.sample.is_some();
        way.tree && !hinted && !way.is_point(&self.conditions.own)
    }

    /// The table by an index, past columns of it.
    fn past(
        &self,
        way: &AccessWay<'_>,
        past: SkipSeek<'q>,
        guess: &VisitPenalty,
    ) -> Option<Candidate> {
        let passed = past.passed(&way.order);
        let of_range = self.fetched_by(way, &past.own);
        let known = values_of(self.get, &passed).or_else(|| self.skips.then(|| self.total.sqrt()));
        let values = known?.min(self.total) * (of_range / self.total.max(1.0));
        let both = past.together();
        let share = match &both[..] {
            [one] => estimate::kept(one.sought.iter().copied(), &self.input),
            several => self.share_of_any(several),
        };
        let given = |(column, _): &(usize, bool)| {
            passed.contains(column)
                || self.conditions.own.equal.iter().any(|term| term.column == *column)
        };
        // But for what is passed over a whole unique key is named: one row of each value.
        let one_each = way.def.unique && way.def.key.iter().all(given);
        let most = if one_each { of_range.min(values) } else { of_range };
        let fetched = (self.total * share).min(most).max(1.0);
        let looked_up = match way.store {
            Some(index) if !way.covering => {
                self.looked_up(index, &both, fetched) * self.doubt(&both)
            }
            _ => fetched,
        };
        let seeks = 3.0 + past.ways(values) * guess.doubt * RANGE;
        let visits = (values * DOUBT).max(guess.lost / (past.ways(1.0) * RANGE));
        let mut choice =
            Candidate { index: way.index, covering: way.covering, ..Candidate::scan() };
        choice.used = past.own.used.clone();
        choice.seek = past.into_seek((values, visits));
        Some(self.weighed(choice, way, (fetched, looked_up), seeks))
    }
}

/// Different combinations of values of an index's first columns, as far as known.
fn values_of(get: &Get, columns: &[usize]) -> Option<f64> {
    let table = &get.table;
    let distinct = |at: usize| statistics::of_column(&get.db, table, at)?.distinct(1);
    let first = distinct(*columns.first()?);
    let ids: Vec<i32> = columns.iter().map(|at| table.columns[*at].column_id).collect();
    match columns {
        [_] => first,
        // Measured with the index that begins with the first one; at most as many as there are
        // pairs.
        _ => table.state.statistics.distinct(&ids).or_else(|| {
            columns.iter().try_fold(1.0_f64, |all, column| distinct(*column).map(|own| all * own))
        }),
    }
}

/// What it costs to read a table by an index past one of its columns, whose order the rows then
/// come in; nothing where that is no way to.
pub fn cost_past(get: &Get, preds: &[Pred], index: &IndexDef, column: usize) -> Option<f64> {
    let hints = get.hints.access;
    let hinted = hints.scan || hints.seek.is_some() || hints.sample.is_some();
    let allowed = index.index_id > 0 && hints.index.is_none_or(|hint| hint == index.index_id);
    if hinted || !allowed || !is_usable(get, index, preds, &[column]) {
        return None;
    }
    let conditions = Conditions::of(get, preds, &[]);
    let order = get.table.entry_order(index);
    let past = SkipSeek::of(get, &conditions, &order)?;
    let passed = past.passed(&order);
    if past.columns != 1 || passed.last() != Some(&column) {
        return None;
    }
    let rows = table_rows(&get.table);
    let table = Logical::Get(Arc::new(get.clone()));
    let kept = |found: &FoundSeek<'_>| estimate::kept(found.sought.iter().copied(), &table);
    let values = values_of(get, &passed)?.min(rows) * kept(&past.own);
    let fetched: f64 = past.together().iter().map(|found| (rows * kept(found)).max(1.0)).sum();
    let each = if index.index_id == 1 { 1.0 } else { LOOKUP };
    Some(past.ways(values) * DOUBT * RANGE + fetched * each)
}

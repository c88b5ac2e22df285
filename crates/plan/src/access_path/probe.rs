//! What it costs to read a table under its own conditions, or to seek it once for each row of
//! something else: what joins are chosen by. The conditions that name one value for a key column
//! help the columns of the join to the whole key.

use super::filtered::is_usable;
use super::terms::{Choice, Conditions, FoundSeek, MOST_RANGES, Terms, seekable_column};
use super::{LEAST_LOCKED, waits};
use crate::cost::{COVERED, LOOKUP, SEEK, SOUGHT};
use crate::estimate;
use crate::statistics::{self, table_rows};
use catalog::IndexDef;
use expr::{ColId, Expr, Pred};
use logical::tree::Get;
use logical::tree::Logical;
use std::sync::Arc;
use types::Collation;

/// The table at the bottom of a plan of filters, and all conditions on it: the filters' and these.
pub fn with_conditions<'l>(logical: &'l Logical, preds: &[Pred]) -> Option<(&'l Get, Vec<Pred>)> {
    stack::with_room(|| match logical {
        Logical::Get(get) => Some((&**get, preds.to_vec())),
        Logical::Filter { input, preds: own } => {
            let (get, mut all) = with_conditions(input, preds)?;
            all.extend_from_slice(own);
            Some((get, all))
        }
        _ => None,
    })
}

/// Whether columns of a join's inner table can be sought once per outer row, cheaper than one read
/// of it for a hash table. `own`: the conditions on it alone.
pub fn can_seek(get: &Get, own: &[Pred], columns: &[ColId], outer_rows: f64, forced: bool) -> bool {
    let Some(one) = seek_cost(get, own, columns) else { return false };
    forced || outer_rows * one < joined_read_cost(get, own) * 2.0
}

/// The column of a table that an expression, compared under a collation, seeks by.
pub fn sought_column(get: &Get, e: &Expr, collation: Collation) -> Option<ColId> {
    seekable_column(get, e, collation).map(|at| get.first + at as ColId)
}

/// What it costs to seek the rows with given values of these columns, under its own conditions;
/// `None` when no index begins with one of them, after columns that have one value by the
/// conditions.
pub fn seek_cost(get: &Get, own: &[Pred], columns: &[ColId]) -> Option<f64> {
    if get.hints.access.scan {
        return None;
    }
    let joined: Vec<usize> = columns.iter().filter_map(|id| get.position(*id)).collect();
    let terms = Terms::of(get, own);
    let fixed: Vec<usize> = terms.equal.iter().map(|term| term.column).collect();
    let cost = |index: &Arc<IndexDef>| {
        let order = get.table.entry_order(index);
        let given = |column: &usize| joined.contains(column) || fixed.contains(column);
        let mut key: Vec<usize> = order.iter().map(|(c, _)| *c).take_while(given).collect();
        let enough = key.len() >= get.hints.access.seek.unwrap_or(0);
        if !enough || !key.iter().any(|column| joined.contains(column)) {
            return None;
        }
        let whole = index.unique && key.len() == index.key.len();
        let mut seen = Vec::new();
        key.retain(|column| {
            !seen.contains(column) && {
                seen.push(*column);
                true
            }
        });
        let rows = if whole { 1.0 } else { rows_per_value(get, &key) };
        let sought =
            terms.equal.iter().filter(|term| key.contains(&term.column)).map(|term| term.pred);
        let sought: Vec<&Pred> = sought.collect();
        Some(SEEK + rows * each_found(get, own, index, &sought))
    };
    trees(get, own, &joined).filter_map(cost).reduce(f64::min)
}

/// Fewest rows of a table that is sought by ranges of another one's values instead of being kept
/// and compared row by row.
const MANY: f64 = 100.0;

/// Whether ends of ranges of these columns, under a table's own conditions, are worth a seek of its
/// clustered index for each of some rows.
pub fn can_seek_range(get: &Get, own: &[Pred], columns: &[ColId]) -> bool {
    let joined: Vec<usize> = columns.iter().filter_map(|id| get.position(*id)).collect();
    let terms = Terms::of(get, own);
    let fixed = |column: &usize| terms.equal.iter().any(|term| term.column == *column);
    let hints = get.hints.access;
    let allowed = !hints.scan && hints.index.is_none_or(|hint| hint == get.table.storage.index_id);
    let next =
        get.table.storage.key.iter().map(|(column, _)| *column).find(|column| !fixed(column));
    allowed && next.is_some_and(|column| joined.contains(&column)) && table_rows(&get.table) >= MANY
}

/// Costs that no plan has: the hints do not allow it.
const IMPOSSIBLE: f64 = 1e30;

/// What it costs to read a table under its own conditions: all of it, or by the best seek.
pub fn read_cost(get: &Get, own: &[Pred]) -> f64 {
    let all = table_rows(&get.table);
    if !is_possible(get, own) {
        return IMPOSSIBLE;
    }
    if own.is_empty() || get.hints.access.scan {
        return all;
    }
    let conditions = Conditions::of(get, own, &[]);
    let logical = Logical::Get(Arc::new(get.clone()));
    let cost = |index: &Arc<IndexDef>| {
        let found = conditions.ranges(&get.table.entry_order(index), MOST_RANGES);
        let sought: Vec<&Pred> =
            found.iter().flat_map(|found: &FoundSeek<'_>| found.sought.iter().copied()).collect();
        if sought.is_empty() {
            return None;
        }
        let rows = (all * estimate::kept(sought.iter().copied(), &logical)).max(1.0);
        Some(SEEK + rows * each_found(get, own, index, &sought))
    };
    trees(get, own, &[]).filter_map(cost).fold(all, f64::min)
}

/// As [`read_cost`], where the table may be sought by another one's rows instead: a read that keeps
/// all from a table is not cheap because the table is empty when the plan is made.
pub fn joined_read_cost(get: &Get, own: &[Pred]) -> f64 {
    let cost = read_cost(get, own);
    if waits(get) { cost.max(LEAST_LOCKED) } else { cost }
}

/// What a row costs that a seek finds: by a nonclustered index one is looked up if its entry
/// satisfies the conditions on the index's columns that it is not sought by.
fn each_found(get: &Get, own: &[Pred], index: &IndexDef, sought: &[&Pred]) -> f64 {
    if index.index_id == 1 {
        return SOUGHT;
    }
    let has = |id: &ColId| {
        let column = get.position(*id);
        column.is_some_and(|at| {
            index.key.iter().any(|(key, _)| *key == at) || index.included.contains(&at)
        })
    };
    let is_tested = |pred: &&Pred| {
        let mut used = Vec::new();
        pred.columns(&mut used);
        let is_sought = || sought.iter().any(|known| std::ptr::eq(*known, *pred));
        !used.is_empty() && used.iter().all(has) && !pred.has_subquery() && !is_sought()
    };
    let tested: Vec<&Pred> = own.iter().filter(is_tested).collect();
    if tested.is_empty() {
        return LOOKUP;
    }
    let share = estimate::kept(tested, &Logical::Get(Arc::new(get.clone())));
    LOOKUP * share + COVERED * (1.0 - share)
}

/// The conditions that name one value for each column that an index has before a column, of which
/// NULL is not wanted; `None` where the rows of one such range do not come in the order of that
/// column.
pub fn fixed_before<'p>(
    get: &Get,
    preds: &'p [Pred],
    index: &IndexDef,
    column: usize,
) -> Option<Vec<&'p Pred>> {
    if !is_usable(get, index, preds, &[column]) {
        return None;
    }
    let terms = Terms::of(get, preds);
    let order = get.table.entry_order(index);
    let place = order.iter().position(|(at, _)| *at == column)?;
    let fixed = |(at, _): &(usize, bool)| {
        terms.equal.iter().find(|term| term.column == *at).map(|term| term.pred)
    };
    order[..place].iter().map(fixed).collect()
}

/// Whether conditions name the first column of another index than the clustered one.
pub fn seeks_elsewhere(get: &Get, preds: &[Pred]) -> bool {
    let conditions = Conditions::of(get, preds, &[]);
    let sought = |def: &Arc<IndexDef>| {
        conditions.ranges(&def.key, MOST_RANGES).iter().any(|found| !found.sought.is_empty())
    };
    get.table.indexes.iter().filter(|def| is_usable(get, def, preds, &[])).any(sought)
}

/// The indexes of a table that its hints and the conditions allow, the clustered one first;
/// `compared` are columns of which NULL is not wanted.
fn trees<'g>(
    get: &'g Get,
    own: &[Pred],
    compared: &[usize],
) -> impl Iterator<Item = &'g Arc<IndexDef>> {
    let allowed = |id: i32| id > 0 && get.hints.access.index.is_none_or(|hint| hint == id);
    get.table
        .all_indexes()
        .filter(move |index| allowed(index.index_id) && is_usable(get, index, own, compared))
}

/// Whether a table can be read as its hints say under its own conditions alone.
pub fn is_possible(get: &Get, own: &[Pred]) -> bool {
    let Some(least) = get.hints.access.seek else { return true };
    let choices = Choice::all(get, own, usize::MAX);
    let conditions = Conditions::of(get, own, &choices);
    trees(get, own, &[]).any(|index| conditions.seeks(&get.table.entry_order(index), least))
}

/// Rows of a table with one combination of values of these columns, on average.
fn rows_per_value(get: &Get, columns: &[usize]) -> f64 {
    let rows = table_rows(&get.table);
    let mut each = columns.iter().map(|at| {
        let measured = statistics::of_column(&get.db, &get.table, *at);
        measured.and_then(|m| m.distinct(1)).unwrap_or_else(|| rows.sqrt())
    });
    // The first column's are measured with those of the index that begins with it.
    let first = each.next().unwrap_or(1.0);
    let ids: Vec<i32> = columns.iter().map(|at| get.table.columns[*at].column_id).collect();
    let together = get.table.state.statistics.distinct(&ids);
    let distinct = together.unwrap_or_else(|| each.fold(first, f64::max));
    (rows / distinct.max(1.0)).max(1.0)
}

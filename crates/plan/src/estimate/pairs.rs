//! How many pairs of rows of two plans have the same values in some columns: what a merge by these
//! columns compares. Where the keys of a merge are fewer than the equalities of its join, these are
//! more than the rows of the join.
//! Guarantee: frequent values count as often as they are there, as far as histograms tell.

use super::share::known;
use super::{EstimatedSide, common_values, distinct, unique_rows};
use catalog::statistics::MeasuredValues;
use expr::ColId;
use logical::tree::Logical;
use logical::tree::sources::source;

/// Pairs of rows that are the same in all these columns, of the left side and of the right one.
pub fn pairs(
    left: &EstimatedSide<'_>,
    right: &EstimatedSide<'_>,
    columns: &[(ColId, ColId)],
) -> f64 {
    // What limits the columns of both sides in the same way takes its rows from one of them alone.
    let all = left.rows * right.rows / common_values(left, right, columns);
    let of_left: Vec<ColId> = columns.iter().map(|(l, _)| *l).collect();
    let of_right: Vec<ColId> = columns.iter().map(|(_, r)| *r).collect();
    // A key on one side: each row of the other finds at most one.
    let keys = [unique_rows(right.logical, &of_right), unique_rows(left.logical, &of_left)];
    if let Some(rows) = keys.into_iter().flatten().reduce(f64::max) {
        return all / rows.max(1.0);
    }
    let together = [combinations(left.logical, &of_left), combinations(right.logical, &of_right)];
    if let Some(combinations) = together.into_iter().flatten().reduce(f64::max) {
        return all / combinations.max(1.0);
    }
    // Each further column counts for less: columns depend on each other.
    let mut shares: Vec<f64> = columns.iter().map(|(l, r)| share(left, *l, right, *r)).collect();
    shares.sort_by(f64::total_cmp);
    let mut weight = 1.0;
    shares.iter().fold(all, |pairs, share| {
        let pairs = pairs * share.powf(weight);
        weight /= 2.0;
        pairs
    })
}

/// The share of all pairs that are the same in one column of each side.
fn share(left: &EstimatedSide<'_>, l: ColId, right: &EstimatedSide<'_>, r: ColId) -> f64 {
    let even = 1.0
        / distinct(left.logical, left.rows, l).max(distinct(right.logical, right.rows, r)).max(1.0);
    share_of_pairs(left.logical, l, right.logical, r).map_or(even, |share| share.max(even))
}

/// As far as the histograms of two columns tell: the share of all pairs of rows that have the same
/// value.
fn share_of_pairs(left: &Logical, l: ColId, right: &Logical, r: ColId) -> Option<f64> {
    let (left, right) = (known(l, left)?, known(r, right)?);
    let rows = left.measured.rows.max(1.0);
    let (mut same, mut seen_left, mut seen_right) = (0.0, 0.0, 0.0);
    for step in left.measured.histogram.steps.iter().filter(|step| !step.value.is_null()) {
        let own = step.equal_rows / rows;
        let other = right.key(&step.value).map_or(0.0, |key| right.measured.share_equal(&key));
        same += own * other;
        seen_left += own;
        seen_right += other;
    }
    let rest = |measured: &MeasuredValues, seen: f64| (1.0 - measured.share_null() - seen).max(0.0);
    let values = |measured: &MeasuredValues| measured.distinct(1).unwrap_or(1.0);
    let between = values(&left.measured).max(values(&right.measured)).max(1.0);
    let others = rest(&left.measured, seen_left) * rest(&right.measured, seen_right) / between;
    Some((same + others).clamp(0.0, 1.0))
}

/// Different combinations of values of several columns of one table, from statistics that begin
/// with them.
fn combinations(logical: &Logical, columns: &[ColId]) -> Option<f64> {
    let (first, _) = columns.split_first().filter(|(_, others)| !others.is_empty())?;
    let get = source(logical, *first)?;
    let id = |column: &ColId| Some(get.table.columns[get.position(*column)?].column_id);
    let ids: Vec<i32> = columns.iter().map(id).collect::<Option<_>>()?;
    get.table.state.statistics.distinct(&ids)
}

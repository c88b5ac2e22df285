//! The share of groups that a comparison of their sum, average or count keeps (HAVING): of rows
//! that come to their groups by chance such a value lies around its mean, as far as the number of
//! rows of a group and the histogram of the values tell. Guarantee: far from the mean more groups
//! are expected than chance alone would leave, for real groups differ more; at least one is.

use expr::aggregate::{AggKind, Aggregate};
use expr::{ColId, Expr};
use syntax::ast::CompareOp;
use types::Value;

use super::share::column_of;
use super::{rows, rows_of};
use crate::statistics;
use catalog::statistics::MeasuredValues;
use logical::tree::Logical;
use logical::tree::input::Input;
use logical::tree::sources::origin;

/// So many nodes above a grouping are looked through.
const MOST_NODES: usize = 16;
/// At a distance of one deviation this share of the groups is expected at least, divided by two;
/// further away less in proportion.
const LEAST: f64 = 0.1;

/// The share of the rows for which an aggregate in this column compares so with a constant; nothing
/// where that cannot be told.
pub(super) fn share(id: ColId, op: CompareOp, other: &Expr, input: &Logical) -> Option<f64> {
    let limit = number(other.as_const()?)?;
    let (node, grouped, aggregate) = aggregate_below(input, id)?;
    let groups = rows(node);
    let (mean, deviation) = spread(aggregate, grouped, (rows_of(grouped) / groups).max(1.0))?;
    let above = above(limit, mean, deviation);
    let share = match op {
        CompareOp::Greater | CompareOp::GreaterEqual => above,
        CompareOp::Less | CompareOp::LessEqual => 1.0 - above,
        _ => return None,
    };
    Some(share.clamp(1.0 / groups, 1.0))
}

/// The grouping that makes a column, what it groups, and the aggregate.
fn aggregate_below(mut logical: &Logical, id: ColId) -> Option<(&Logical, &Input, &Aggregate)> {
    for _ in 0..MOST_NODES {
        match logical {
            Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Sort { input, .. } => {
                logical = input;
            }
            Logical::Aggregate { input, aggregates, scalar: false, .. } => {
                let aggregate = aggregates.iter().find(|aggregate| aggregate.output == id)?;
                return Some((logical, input, aggregate));
            }
            _ => return None,
        }
    }
    None
}

/// The mean of an aggregate over groups of so many rows on average, and its standard deviation.
fn spread(aggregate: &Aggregate, grouped: &Input, count: f64) -> Option<(f64, f64)> {
    if aggregate.distinct {
        return None;
    }
    let of_values = || {
        let of = origin(grouped, column_of(aggregate.arg.as_ref()?)?)?;
        let measured =
            statistics::of_column(&of.get.db, &of.get.table, of.get.position(of.column)?)?;
        let (mean, squares) = moments(&measured)?;
        Some(((count * (1.0 - measured.share_null())).max(f64::MIN_POSITIVE), mean, squares))
    };
    let (mean, variance) = match aggregate.kind {
        AggKind::Count | AggKind::CountBig => (count, count),
        AggKind::Sum => {
            let (count, mean, squares) = of_values()?;
            (count * mean, count * squares)
        }
        AggKind::Avg => {
            let (count, mean, squares) = of_values()?;
            (mean, (squares - mean * mean) / count)
        }
        _ => return None,
    };
    Some((mean, variance.max(0.0).sqrt()))
}

/// The mean of a column's values and that of their squares: within a step of the histogram they lie
/// evenly.
fn moments(measured: &MeasuredValues) -> Option<(f64, f64)> {
    let (mut all, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let mut below = None;
    for step in measured.histogram.steps.iter().filter(|step| !step.value.is_null()) {
        let value = number(&step.value)?;
        let low: f64 = below.replace(value).unwrap_or(value);
        all += step.equal_rows + step.range_rows;
        sum += step.equal_rows * value + step.range_rows * (low + value) / 2.0;
        squares += step.equal_rows * value * value;
        squares += step.range_rows * (low * low + low * value + value * value) / 3.0;
    }
    (all > 0.0).then(|| (sum / all, squares / all))
}

/// The share of what lies around a mean that is above a limit.
fn above(limit: f64, mean: f64, deviation: f64) -> f64 {
    let distance = (limit - mean) / deviation.max(f64::MIN_POSITIVE);
    if distance.is_nan() {
        return 0.5;
    }
    let far = distance.abs();
    // The logistic curve that is nearest to the normal distribution's.
    let beyond = (1.0 / (1.0 + (1.702 * far).exp())).max(LEAST / (1.0 + far));
    if distance > 0.0 { beyond } else { 1.0 - beyond }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Real(number) => Some(f64::from(*number)),
        Value::Decimal(number) => Some(number.to_f64()),
        Value::Money(units) => Some(*units as f64 / 10_000.0),
        Value::SmallMoney(units) => Some(f64::from(*units) / 10_000.0),
        other => other.as_i64().map(|number| number as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_all_lies_above_the_mean_and_less_further_away() {
        let shares: Vec<f64> =
            (-6..=6).map(|at| above(100.0 + f64::from(at) * 10.0, 100.0, 10.0)).collect();
        assert!(shares.windows(2).all(|pair| pair[0] > pair[1]), "{shares:?}");
        assert_eq!(shares[6], 0.5);
        assert!((shares[7] - 0.16).abs() < 0.01 && (shares[5] - 0.84).abs() < 0.01, "{shares:?}");
        assert!(shares[12] > 0.01 && shares[12] < 0.02, "{shares:?}");
        // All groups are alike.
        assert!(above(5.0, 6.0, 0.0) > 0.99 && above(6.0, 5.0, 0.0) < 0.01);
    }
}

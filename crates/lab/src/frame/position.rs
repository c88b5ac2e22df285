//! What the place of a run in its round costs: two neighbouring rounds have opposite orders
//! ([`super::order`]), so each configuration runs once early and once late in them. How much longer
//! it takes late is one estimate for each such pair of rounds, from which the levels and a drift
//! from the one round to the other cancel.

use super::journal::{MeasuredFigure, RunRecord};
use crate::results::{PositionResult, larger_is_better};
use std::collections::BTreeMap;

/// The position effect of the runs of one study on one target and device; nothing without a pair of
/// rounds with opposite orders.
pub(super) fn position(records: &[&RunRecord]) -> Option<PositionResult> {
    let mut rounds: BTreeMap<usize, Vec<&RunRecord>> = BTreeMap::new();
    for record in records {
        rounds.entry(record.round).or_default().push(record);
    }
    rounds.values_mut().for_each(|round| round.sort_by_key(|r| r.order));
    let last = rounds.keys().next_back().copied().unwrap_or(0);
    let pairs = (0..=last).step_by(2).filter_map(|even| {
        let (one, other) = rounds.get(&even).zip(rounds.get(&(even + 1)))?;
        of_pair(one, other)
    });
    let logs: Vec<f64> = pairs.collect();
    let (ratio, interval) = stats::mean_ratio(&logs)?;
    Some(PositionResult { ratio, interval, pairs: logs.len() })
}

/// The mean logarithm of late over early, of two rounds whose runs are in order; nothing where the
/// one is not the other's reverse.
fn of_pair(one: &[&RunRecord], other: &[&RunRecord]) -> Option<f64> {
    let reversed = one.iter().zip(other.iter().rev()).all(|(a, b)| a.arm == b.arm);
    if one.len() != other.len() || !reversed {
        return None;
    }
    let logs: Vec<f64> = (0..one.len() / 2)
        .filter_map(|place| {
            // The arm that is early in the one round, and the one that is late in it: as many of
            // these as of those.
            let late = one.len() - 1 - place;
            let first = cost_ratio(one[place], other[late])?;
            let second = cost_ratio(other[place], one[late])?;
            Some((first + second) / 2.0)
        })
        .collect();
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}

/// The logarithm of what the same arm took late over what it took early: the mean of its times and
/// rates.
fn cost_ratio(early: &RunRecord, late: &RunRecord) -> Option<f64> {
    let of = |m: &MeasuredFigure| (m.level.clone(), m.figure.measure.clone());
    let logs = early.measured.iter().filter_map(|a| {
        let b = late.measured.iter().find(|b| of(a) == of(b))?;
        let log = (b.figure.value / a.figure.value).ln();
        let unit = a.figure.unit.as_str();
        let cost = match unit {
            "s" | "us" => log,
            rate if larger_is_better(rate) => -log,
            _ => return None,
        };
        cost.is_finite().then_some(cost)
    });
    let logs: Vec<f64> = logs.collect();
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::work::Figure;

    /// Rounds of three arms whose machine is slower by `drift` in each round and by `place` at each
    /// place of a round.
    fn rounds(count: usize, drift: f64, place: f64) -> Vec<RunRecord> {
        let arms = ["a", "b", "c"];
        let runs = (0..count).flat_map(|round| (0..3).map(move |at| (round, at)));
        runs.map(|(round, at)| {
            let arm = if round % 2 == 0 { at } else { 2 - at };
            let cost = (1.0 + arm as f64) * (drift * round as f64 + place * at as f64).exp();
            let figures = [
                Figure::new("s", cost),
                Figure::named("rate", "rows/s", 1.0 / cost),
                Figure::named("n", "pages", 9.0),
            ];
            let measured = figures.map(|figure| MeasuredFigure {
                level: arms[arm].into(),
                figure,
                ..MeasuredFigure::default()
            });
            RunRecord {
                arm: arms[arm].into(),
                round,
                order: 3 * round + at,
                measured: measured.into(),
                ..RunRecord::default()
            }
        })
        .collect()
    }

    fn found(records: &[RunRecord]) -> Option<PositionResult> {
        position(&records.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_place_s_cost_is_told_from_a_drift_between_rounds() {
        for (drift, place) in [(0.0, 0.05), (0.3, 0.05), (-0.1, -0.02), (0.2, 0.0)] {
            let out = found(&rounds(6, drift, place)).unwrap();
            // From the first place to the last.
            assert!((out.ratio - (2.0 * place).exp()).abs() < 1e-9, "{drift} {place}: {out:?}");
            let (low, high) = out.interval.unwrap();
            assert!((out.pairs, low <= out.ratio, out.ratio <= high) == (3, true, true), "{out:?}");
        }
    }

    #[test]
    fn rounds_whose_orders_are_not_opposite_say_nothing() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&rounds(1, 0.0, 0.1)), None);
        let mut same = rounds(2, 0.0, 0.1);
        same[3].arm = "a".into();
        assert_eq!(found(&same), None);
        // Of three rounds the last has no other.
        assert_eq!(found(&rounds(3, 0.0, 0.1)).map(|p| p.pairs), Some(1));
        assert_eq!(found(&rounds(3, 0.0, 0.1)).unwrap().interval, None, "one pair has no interval");
        let mut missing = rounds(2, 0.0, 0.1);
        missing.pop();
        assert_eq!(found(&missing), None, "a round that is not whole");
    }
}

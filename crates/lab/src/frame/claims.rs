//! Bounds: the figure that a study compares, its interval, and what the interval says of the bound.

use super::study::{CellRef, Claim, Compare};
use crate::results::{Cell, ClaimResult, StudyResult};
use crate::stats;

/// Whether larger values of a unit are better.
pub fn larger_is_better(unit: &str) -> bool {
    unit.ends_with("/s") || unit.ends_with("/min")
}

/// A bound in words.
pub fn bound_text(claim: &ClaimResult) -> String {
    match (claim.at_least, claim.at_most) {
        (Some(low), Some(high)) => format!("{low:.2} to {high:.2}"),
        (Some(low), None) => format!("at least {low:.2}"),
        (None, Some(high)) => format!("at most {high:.2}"),
        (None, None) => "no bound".into(),
    }
}

/// The figure of a comparison, judged.
pub(super) fn claim_result(result: &StudyResult, claim: &Claim) -> ClaimResult {
    let cell_of = |c: &CellRef| result.cell_of(c.factor, &c.level, &c.measure);
    let confidence = result.confidence();
    let (value, interval) = match &claim.compare {
        Compare::Value(cell) => {
            let cell = cell_of(cell);
            (cell.map(|c| c.median), cell.and_then(|c| stats::median_interval_at(&c.runs, confidence)))
        }
        Compare::Ratio(above, below) => {
            let pair = cell_of(above).zip(cell_of(below));
            pair.map_or((None, None), |(a, b)| compared(a, b, confidence))
        }
        Compare::ToBest(cell, others) => {
            let others: Vec<&Cell> = others.iter().filter_map(cell_of).collect();
            cell_of(cell).map_or((None, None), |c| compared_to_best(c, &others, confidence))
        }
    };
    let mut out = ClaimResult {
        group: claim.group.into(),
        what: claim.what.clone(),
        value,
        interval,
        at_least: claim.at_least,
        at_most: claim.at_most,
        published: claim.published,
        holds: None,
        verdict: None,
    };
    out.judge();
    out
}

/// A figure and its interval.
type Estimate = (Option<f64>, Option<(f64, f64)>);

fn compared(cell: &Cell, baseline: &Cell, confidence: f64) -> Estimate {
    let pairs = cell.paired(baseline);
    (stats::paired_ratio(&pairs), stats::paired_interval_at(&pairs, confidence))
}

/// A cell against the best of several, itself among them: the cell with the best median, not the best of each round (the best
/// of several noisy figures is better than any of them, and every level would look slow).
///
/// Which is the best is uncertain too, so the interval is that of all comparisons together (Hsu's multiple comparisons with the
/// best). For times: the ratio to the true best is the largest of the ratios to each other cell. It is below the largest of
/// their upper ends, each at the confidence of one comparison. It is above the largest of their lower ends when these are so
/// sure that none is wrong, that is at the error of one comparison divided by their number; and never below 1.
fn compared_to_best(cell: &Cell, others: &[&Cell], confidence: f64) -> Estimate {
    let rates = larger_is_better(&cell.unit);
    let others: Vec<&Cell> = others.iter().copied().filter(|o| *o != cell).collect();
    if others.is_empty() {
        return (Some(1.0), None);
    }
    let better = |a: f64, b: f64| if rates { a > b } else { a < b };
    let best = others.iter().fold(cell, |best, o| if better(o.median, best.median) { *o } else { best });
    let value = if best == cell { Some(1.0) } else { stats::paired_ratio(&cell.paired(best)) };
    // Of a rate the ratio is at most 1; as times go it is the other way round.
    let turned = |pairs: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        if rates { pairs.into_iter().map(|(a, b)| (b, a)).collect() } else { pairs }
    };
    let pairs: Vec<Vec<(f64, f64)>> = others.iter().map(|o| turned(cell.paired(o))).collect();
    let surer = 1.0 - (1.0 - confidence) / others.len() as f64;
    let highs: Option<Vec<f64>> =
        pairs.iter().map(|p| stats::paired_interval_at(p, confidence).map(|i| i.1)).collect();
    let lows = pairs.iter().filter_map(|p| stats::paired_interval_at(p, surer)).map(|i| i.0);
    let low = lows.fold(1.0, f64::max);
    let interval = highs.map(|highs| {
        let high = highs.into_iter().fold(low, f64::max);
        if rates { (1.0 / high, 1.0 / low) } else { (low, high) }
    });
    // The estimate lies in its interval, whose ends come from other comparisons too.
    (value.map(|v| interval.map_or(v, |(low, high)| v.clamp(low, high))), interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Verdict;

    fn cell(level: &str, unit: &str, runs: &[f64]) -> Cell {
        let mut result = StudyResult::default();
        for value in runs {
            result.record("f", level, "m", unit, *value);
        }
        result.finish(&|_| None);
        result.cells.remove(0)
    }

    fn bound(result: &StudyResult, at_least: Option<f64>, at_most: Option<f64>) -> ClaimResult {
        let (b, a) = (CellRef::new("f", "b", "m"), CellRef::new("f", "a", "m"));
        let claim = Claim { at_least, at_most, ..Claim::at_most("b against a", "m", b, a, 0.0) };
        claim_result(result, &claim)
    }

    const NEAR: [f64; 6] = [1.00, 1.02, 1.04, 1.05, 1.10, 1.2];

    fn pair() -> StudyResult {
        StudyResult {
            cells: vec![cell("a", "s", &[1.0; 6]), cell("b", "s", &NEAR)],
            ..StudyResult::default()
        }
    }

    #[test]
    fn a_bound_holds_with_the_whole_interval_fails_with_none_of_it_and_is_undecided_else() {
        let result = pair();
        let verdict = |at_least, at_most| {
            let out = bound(&result, at_least, at_most);
            assert_eq!(
                out.interval.map(|(l, h)| ((l * 100.0).round(), (h * 100.0).round())),
                Some((100.0, 120.0))
            );
            (out.verdict, out.holds)
        };
        let holds = (Some(Verdict::Holds), Some(true));
        let fails = (Some(Verdict::Fails), Some(false));
        let undecided = (Some(Verdict::Undecided), None);
        assert_eq!(verdict(None, Some(1.21)), holds);
        assert_eq!(verdict(None, Some(1.19)), undecided, "the figure keeps it, the interval does not");
        assert_eq!(verdict(None, Some(1.01)), undecided);
        assert_eq!(verdict(None, Some(0.99)), fails);
        assert_eq!(verdict(Some(0.99), None), holds);
        assert_eq!(verdict(Some(1.1), None), undecided);
        assert_eq!(verdict(Some(1.21), None), fails);
        assert_eq!(verdict(Some(0.9), Some(1.3)), holds);
        assert_eq!(verdict(Some(1.05), Some(1.06)), undecided, "an interval around all that is allowed");
        assert_eq!(verdict(Some(0.5), Some(0.6)), fails);
        assert_eq!(verdict(None, None), (None, None), "a comparison without a bound");
    }

    #[test]
    fn fewer_rounds_than_an_interval_needs_decide_nothing() {
        for n in 1..6 {
            let mut result = pair();
            result.cells = vec![cell("a", "s", &[1.0; 6][..n]), cell("b", "s", &NEAR[..n])];
            // However far away.
            let out = bound(&result, None, Some(0.01));
            assert_eq!(
                (out.verdict, out.holds, out.interval),
                (Some(Verdict::Undecided), None, None),
                "{n} rounds"
            );
            assert!(out.value.is_some());
        }
        let nothing = bound(&StudyResult::default(), None, Some(1.0));
        assert_eq!((nothing.verdict, nothing.holds), (None, None), "what was not measured is not judged");
    }

    #[test]
    fn a_bound_s_figure_pairs_the_rounds() {
        let mut result = pair();
        let drift = [1.0, 2.0, 4.0, 1.5, 3.0, 0.5];
        result.cells = vec![cell("a", "s", &drift), cell("b", "s", &drift.map(|d| 1.1 * d))];
        let out = bound(&result, None, Some(1.05));
        assert!((out.value.unwrap() - 1.1).abs() < 1e-9);
        assert_eq!(out.verdict, Some(Verdict::Fails));
        assert_eq!(bound(&result, None, Some(1.11)).verdict, Some(Verdict::Holds));
    }

    #[test]
    fn rounds_that_only_one_side_has_are_left_out() {
        let mut result = StudyResult::default();
        for (round, level, value) in
            [(0, "a", 1.0), (1, "a", 9.0), (2, "a", 2.0), (0, "b", 2.0), (2, "b", 4.0)]
        {
            result.record_in(round, "f", level, "m", "s", value);
        }
        assert_eq!(result.cells[1].paired(&result.cells[0]), [(2.0, 1.0), (4.0, 2.0)]);
    }

    /// Levels that are alike: the ratio to the best may not be told from 1, and its interval covers the truth.
    #[test]
    fn the_comparison_with_the_best_knows_that_the_best_is_uncertain() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut noisy = |level: &str, unit: &str, truth: f64| {
            let runs: Vec<f64> = (0..8).map(|_| truth * (1.0 + 0.04 * (random.f64() - 0.5))).collect();
            cell(level, unit, &runs)
        };
        let (mut missed, mut wrong, trials) = (0, 0, 400);
        for trial in 0..trials {
            let unit = if trial % 2 == 0 { "s" } else { "rows/s" };
            let cells: Vec<Cell> = ["1", "2", "4", "8", "16"].iter().map(|l| noisy(l, unit, 2.0)).collect();
            let slow = noisy("slow", unit, if unit == "s" { 2.2 } else { 2.0 / 1.1 });
            let mut all: Vec<&Cell> = cells.iter().collect();
            all.push(&slow);
            let (value, interval) = compared_to_best(&cells[trial % 5], &all, 0.95);
            let (low, high) = interval.unwrap();
            assert!((low..=high).contains(&value.unwrap()), "{value:?} in {interval:?}");
            missed += usize::from(!(low - 1e-12..=high + 1e-12).contains(&1.0));
            let truth = if unit == "s" { 1.1 } else { 1.0 / 1.1 };
            let (low, high) = compared_to_best(&slow, &all, 0.95).1.unwrap();
            wrong += usize::from(!(low..=high).contains(&truth));
        }
        assert!(missed * 20 <= trials && wrong * 20 <= trials, "{missed} and {wrong} of {trials}");
        // The only one of its kind is the best; fewer rounds than an interval needs give none.
        let few = [cell("1", "s", &[1.0, 1.1]), cell("2", "s", &[1.2, 1.3])];
        assert_eq!(compared_to_best(&few[0], &[&few[0], &few[1]], 0.95), (Some(1.0), None));
    }
}

//! Bounds: the figure that a study compares, its interval, and what the interval says of the bound.
//! A fact that must be true of every run is judged by every run instead. Each verdict that is not
//! plain says why: [`ClaimResult::remark`].

use crate::results::{Cell, ClaimResult, StudyResult, Verdict, larger_is_better};
use crate::study::{CellRef, Claim, Compare};

/// Larger numbers of rounds are not advised.
const MOST_ADVISED: f64 = 1_000.0;

/// How sure intervals are, and which rounds count as one.
#[derive(Clone, Copy)]
struct Rule {
    confidence: f64,
    /// Rounds with the same databases.
    fresh_every: usize,
}

/// The figure of a comparison, judged.
pub(super) fn claim_result(result: &StudyResult, claim: &Claim) -> ClaimResult {
    let cell_of = |c: &CellRef| result.cell_of(c.factor, &c.level, &c.measure);
    let rule = Rule { confidence: result.confidence(), fresh_every: result.fresh_every() };
    let mut out = ClaimResult {
        group: claim.group.into(),
        what: claim.what.clone(),
        at_least: claim.at_least,
        at_most: claim.at_most,
        published: claim.published,
        ..ClaimResult::default()
    };
    let estimate = match &claim.compare {
        Compare::Every(cell) => {
            if let Some(cell) = cell_of(cell) {
                every(&mut out, cell);
            }
            return out;
        }
        Compare::Value(cell) => cell_of(cell).map(|cell| of_itself(cell, rule)),
        Compare::Ratio(above, below) => {
            cell_of(above).zip(cell_of(below)).map(|(a, b)| compared(a, b, rule))
        }
        Compare::ToBest(cell, others) => {
            let others: Vec<&Cell> = others.iter().filter_map(cell_of).collect();
            cell_of(cell).map(|c| compared_to_best(c, &others, rule))
        }
    };
    if let Some(estimate) = estimate {
        (out.value, out.interval) = (estimate.value, estimate.interval);
        out.judge();
        out.remark = remark(&out, &estimate, rule);
    }
    out
}

/// A figure and its interval, and what they rest on.
struct Estimate {
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    /// Rounds, or groups of rounds with the same databases.
    rounds: usize,
    /// Runs that were left out because they measured this machine.
    late: usize,
    /// An end of the interval supposes normally distributed logarithms.
    normal: bool,
}

/// The cell's own median. Without any run there is none.
fn of_itself(cell: &Cell, rule: Rule) -> Estimate {
    let values = cell.grouped(rule.fresh_every);
    Estimate {
        value: stats::median(&cell.runs),
        interval: stats::median_interval_at(&values, rule.confidence),
        rounds: values.len(),
        late: cell.late.len(),
        normal: false,
    }
}

fn compared(cell: &Cell, baseline: &Cell, rule: Rule) -> Estimate {
    let pairs = cell.paired_by(baseline, rule.fresh_every);
    Estimate {
        value: stats::paired_ratio(&pairs),
        interval: stats::paired_interval_at(&pairs, rule.confidence),
        rounds: pairs.len(),
        late: cell.late.len() + baseline.late.len(),
        normal: false,
    }
}

/// A cell against the best of several, itself among them: the cell with the best median, not the
/// best of each round (the best of several noisy figures is better than any of them, and every
/// level would look slow).
///
/// Which is the best is uncertain too, so the interval is that of all comparisons together (Hsu's
/// multiple comparisons with the best). For times: the ratio to the true best is the largest of the
/// ratios to each other cell. It is below the largest of their upper ends, each at the confidence
/// of one comparison. It is above the largest of their lower ends when these are so sure that none
/// is wrong, that is at the error of one comparison divided by their number; and never below 1.
///
/// So few rounds as six cannot be so sure by their order: every one of four comparisons would need
/// eight. There the lower ends are those of Student's t, which supposes that the logarithms of the
/// ratios are normally distributed. Which of the two it is depends on the number of rounds alone,
/// never on what was measured.
fn compared_to_best(cell: &Cell, others: &[&Cell], rule: Rule) -> Estimate {
    let rates = larger_is_better(&cell.unit);
    let others: Vec<&Cell> = others.iter().copied().filter(|o| *o != cell).collect();
    let late = cell.late.len() + others.iter().map(|o| o.late.len()).sum::<usize>();
    if others.is_empty() || cell.runs.is_empty() {
        let value = (!cell.runs.is_empty()).then_some(1.0);
        return Estimate { value, interval: None, rounds: cell.runs.len(), late, normal: false };
    }
    let better = |a: f64, b: f64| if rates { a > b } else { a < b };
    let best =
        others.iter().fold(cell, |best, o| if better(o.median, best.median) { *o } else { best });
    let value = match best == cell {
        true => Some(1.0),
        false => stats::paired_ratio(&cell.paired_by(best, rule.fresh_every)),
    };
    // Of a rate the ratio is at most 1; as times go it is the other way round.
    let turned = |pairs: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        if rates { pairs.into_iter().map(|(a, b)| (b, a)).collect() } else { pairs }
    };
    let pairs: Vec<Vec<(f64, f64)>> =
        others.iter().map(|o| turned(cell.paired_by(o, rule.fresh_every))).collect();
    let rounds = pairs.iter().map(Vec::len).min().unwrap_or(0);
    let surer = 1.0 - (1.0 - rule.confidence) / others.len() as f64;
    let normal = rounds < stats::fewest(surer);
    let lower = |p: &Vec<(f64, f64)>| match normal {
        true => stats::normal_interval_at(p, surer),
        false => stats::paired_interval_at(p, surer),
    };
    let all = |ends: Vec<Option<(f64, f64)>>| ends.into_iter().collect::<Option<Vec<(f64, f64)>>>();
    let lows = all(pairs.iter().map(lower).collect());
    let highs = all(pairs.iter().map(|p| stats::paired_interval_at(p, rule.confidence)).collect());
    // A comparison that has no end leaves the whole without one: it could be the largest.
    let interval = lows.zip(highs).map(|(lows, highs)| {
        let low = lows.into_iter().map(|i| i.0).fold(1.0, f64::max);
        let high = highs.into_iter().map(|i| i.1).fold(low, f64::max);
        if rates { (1.0 / high, 1.0 / low) } else { (low, high) }
    });
    // The estimate lies in its interval, whose ends come from other comparisons too.
    let value = value.map(|v| interval.map_or(v, |(low, high)| v.clamp(low, high)));
    Estimate { value, interval, rounds, late, normal: normal && interval.is_some() }
}

/// A fact that must be true of every run, late ones too: what a device's time was does not excuse
/// it.
fn every(out: &mut ClaimResult, cell: &Cell) {
    let runs: Vec<f64> = cell.runs.iter().chain(&cell.late).copied().collect();
    out.judge_every(&runs, stats::FEWEST);
    let Some(every) = out.every.filter(|_| out.verdict.is_some()) else { return };
    out.remark = Some(match out.verdict {
        Some(Verdict::Fails) => {
            format!("broken in {} of {} runs", every.runs - every.held, every.runs)
        }
        Some(Verdict::Undecided) => {
            format!(
                "held in {} of {} runs; {} runs are needed",
                every.held,
                every.runs,
                stats::FEWEST
            )
        }
        _ => format!(
            "held in {} of {} runs; with 95 % confidence it is broken in less than {:.0} % of runs",
            every.held,
            every.runs,
            stats::broken_at_most(every.runs) * 100.0
        ),
    });
}

/// What a reader must know of a verdict by an interval.
fn remark(out: &ClaimResult, estimate: &Estimate, rule: Rule) -> Option<String> {
    let verdict = out.verdict?;
    let mut said = Vec::new();
    let what = if rule.fresh_every > 1 { "set-ups" } else { "rounds" };
    let needed = stats::fewest(rule.confidence);
    match (verdict, out.interval) {
        (Verdict::Undecided, None) if estimate.rounds < needed => {
            said.push(format!("{} {what} have no interval, {needed} are needed", estimate.rounds));
        }
        (Verdict::Undecided, None) => said.push("the figures have no interval".into()),
        (Verdict::Undecided, Some(_)) => said.push(match enough(out, estimate.rounds) {
            Some(rounds) => format!("about {rounds} {what} would decide it if the figure stays"),
            None => {
                format!("more than {MOST_ADVISED:.0} {what} would be needed if the figure stays")
            }
        }),
        _ => {}
    }
    if estimate.late > 0 {
        said.push(format!("{} runs that measured this machine are left out", estimate.late));
    }
    if estimate.normal {
        said.push(format!(
            "{} {what} are too few for one end of the interval by their order alone: it supposes normally distributed \
             logarithms of ratios",
            estimate.rounds
        ));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// After how many rounds the interval would lie on one side of the bound if the figure and the
/// noise stay as they are: its width falls with the root of their number. `None` where that is more
/// than [`MOST_ADVISED`].
fn enough(out: &ClaimResult, rounds: usize) -> Option<usize> {
    let (value, (low, high)) = (out.value?, out.interval?);
    // How far the figure is from a bound, and how far the interval reaches that way; logarithms.
    let times = |bound: f64| {
        let room = (bound / value).ln().abs();
        let reach = if bound > value { (high / value).ln() } else { (value / low).ln() };
        (reach / room).powi(2)
    };
    let bounds = || out.at_most.into_iter().chain(out.at_least);
    let broken = bounds().find(|b| {
        let above = out.at_most == Some(*b) && value > *b;
        above || (out.at_least == Some(*b) && value < *b)
    });
    let times = match broken {
        Some(bound) => times(bound),
        None => {
            bounds().map(times).fold(0.0, |most, t| if t > most || t.is_nan() { t } else { most })
        }
    };
    let needed = (rounds as f64 * times).ceil();
    // Not a number, or infinite, where the figure lies on the bound or is none of a ratio's.
    (needed <= MOST_ADVISED).then_some((needed as usize).max(rounds + 1))
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;

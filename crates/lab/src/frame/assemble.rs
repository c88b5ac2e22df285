//! From a journal to results: cells with medians, intervals and ratios, the published figures beside them, bounds, waits,
//! I/O, and what the figures mean, made from them.

use super::journal::{Journal, RunRecord};
use super::study::{CellRef, Claim, Compare, Printed, Study};
use crate::results::{Cell, ClaimResult, Io, StudyResult, Wait};
use crate::stats;
use crate::work::Counters;
use std::fmt::Write as _;

/// What does not come from the runs themselves.
pub struct About {
    /// Name of the scale.
    pub scale: &'static str,
    /// Name of the target.
    pub target: String,
    /// Name of the device.
    pub device: String,
    /// Which setting the factor is; `Err` why there is none.
    pub knob: Result<&'static str, &'static str>,
    /// What must be said of the device.
    pub disclosure: Option<String>,
    /// Reasons for what was left out.
    pub left_out: Vec<String>,
    /// Seed of the order of runs.
    pub seed: u64,
}

/// The result of one study on one target and device.
pub fn assemble(study: &Study, about: &About, journal: &Journal) -> StudyResult {
    let mut records: Vec<&RunRecord> = journal.of(study.name, &about.target, &about.device).collect();
    // Pairs are made by round, whatever order the rounds' runs had; arms in the study's order.
    let place = |key: &str| study.arms.iter().position(|a| a.config.key == key).unwrap_or(usize::MAX);
    records.sort_by_key(|r| (place(&r.arm), r.round));
    let mut result = StudyResult {
        study: study.name.into(),
        scale: about.scale.into(),
        target: about.target.clone(),
        device: about.device.clone(),
        question: study.question.into(),
        source: study.source.into(),
        knob: about.knob.unwrap_or_default().into(),
        disclosure: about.disclosure.clone(),
        meaning: String::new(),
        setup: vec![study.sizes.clone()],
        cells: vec![],
        waits: vec![],
        io: vec![],
        claims: vec![],
        missing: about.left_out.clone(),
    };
    for record in &records {
        for measured in &record.measured {
            let f = &measured.figure;
            result.record_in(record.round, &record.factor, &measured.level, &f.measure, &f.unit, f.value);
        }
        for (measure, why) in &record.missing {
            let text = format!("{} {}, {measure}: {why}", record.factor, record.level);
            if !result.missing.contains(&text) {
                result.missing.push(text);
            }
        }
        for line in &record.settings {
            if !result.setup.contains(line) && line != crate::target::kept::SAID {
                result.setup.push(line.clone());
            }
        }
    }
    result.setup.push(format!("order of runs shuffled in each round, seed {}", about.seed));
    counters(&mut result, &records);
    publish(&mut result, study);
    result.finish(&|factor| {
        study.baselines.iter().find(|b| b.factor == factor).map(|b| (b.to_factor, b.to_level.as_str()))
    });
    result.claims = study
        .claims
        .iter()
        .filter(|c| c.device.is_none_or(|d| about.device.contains(d)))
        .map(|c| claim_result(&result, c))
        .collect();
    result.meaning = match about.knob {
        Err(why) => format!("No meaning here: {why}."),
        Ok(_) => meaning(&result),
    };
    result
}

/// A sentence names so many figures of a group one by one.
const LISTED: usize = 3;

/// Sums waits and I/O by factor and level.
fn counters(result: &mut StudyResult, records: &[&RunRecord]) {
    let mut sums: Vec<(String, String, Counters)> = Vec::new();
    for record in records {
        let known = sums.iter_mut().find(|s| s.0 == record.factor && s.1 == record.level);
        match known {
            Some(sum) => sum.2.add(&record.counters),
            None => sums.push((record.factor.clone(), record.level.clone(), record.counters.clone())),
        }
    }
    for (factor, level, sum) in sums {
        result.waits.extend(sum.waits.into_iter().map(|w| Wait {
            factor: factor.clone(),
            level: level.clone(),
            wait_type: w.wait_type,
            count: w.count,
            ms: w.us / 1000,
        }));
        result.io.extend(sum.io.into_iter().map(|i| Io {
            factor: factor.clone(),
            level: level.clone(),
            file: i.file,
            writes: i.writes,
            bytes_written: i.bytes_written,
            reads: i.reads,
            bytes_read: i.bytes_read,
            write_sizes: i.write_sizes,
            partial_writes: i.partial_writes,
        }));
    }
}

/// Puts the author's figures beside the cells.
fn publish(result: &mut StudyResult, study: &Study) {
    for cell in &mut result.cells {
        match study.printed(&cell.factor, &cell.level, &cell.measure) {
            Some(Printed::Figure(value, unit)) => {
                cell.published = Some(value);
                cell.published_unit = (unit != cell.unit).then(|| unit.to_owned());
            }
            Some(Printed::Ratio(ratio)) => cell.published_ratio = Some(ratio),
            None => {}
        }
    }
}

/// Whether larger values of a unit are better.
pub fn larger_is_better(unit: &str) -> bool {
    unit.ends_with("/s")
}

fn claim_result(result: &StudyResult, claim: &Claim) -> ClaimResult {
    let cell_of = |c: &CellRef| result.cell_of(c.factor, &c.level, &c.measure);
    let (value, interval) = match &claim.compare {
        Compare::Value(cell) => {
            let cell = cell_of(cell);
            (cell.map(|c| c.median), cell.and_then(|c| stats::median_interval(&c.runs)))
        }
        Compare::Ratio(above, below) => {
            let pair = cell_of(above).zip(cell_of(below));
            pair.map_or((None, None), |(a, b)| compared(a, b))
        }
        Compare::ToBest(cell, others) => {
            let others: Vec<&Cell> = others.iter().filter_map(cell_of).collect();
            cell_of(cell).map_or((None, None), |c| compared(c, best_median(&others, c)))
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
    };
    if claim.at_least.is_some() || claim.at_most.is_some() {
        out.holds = value.map(|v| out.keeps(v));
    }
    out
}

/// A figure and its interval.
type Estimate = (Option<f64>, Option<(f64, f64)>);

fn compared(cell: &Cell, baseline: &Cell) -> Estimate {
    let pairs = cell.paired(baseline);
    (stats::paired_ratio(&pairs), stats::paired_interval(&pairs))
}

/// The cell with the best median. Not the best of each round: the best of several noisy figures is better than any of them,
/// and every level would look slow.
fn best_median<'a>(others: &[&'a Cell], like: &'a Cell) -> &'a Cell {
    let better = |a: f64, b: f64| if larger_is_better(&like.unit) { a > b } else { a < b };
    others.iter().fold(like, |best, other| if better(other.median, best.median) { other } else { best })
}

/// Two sentences made from the figures: what was found, with the published ratios, and which bounds hold.
fn meaning(result: &StudyResult) -> String {
    let measured: Vec<&ClaimResult> = result.claims.iter().filter(|c| c.value.is_some()).collect();
    if measured.is_empty() {
        return from_cells(result);
    }
    let mut groups: Vec<&str> = Vec::new();
    for claim in &measured {
        if !groups.contains(&claim.group.as_str()) {
            groups.push(&claim.group);
        }
    }
    let found: Vec<String> = groups
        .iter()
        .map(|group| {
            let part_of: Vec<&&ClaimResult> = measured.iter().filter(|c| c.group == *group).collect();
            format!("{group}: {}", parts(&part_of))
        })
        .collect();
    let bounded: Vec<&&ClaimResult> = measured.iter().filter(|c| c.holds.is_some()).collect();
    let named = |undecided: bool| -> Vec<String> {
        let those = bounded.iter().filter(|c| c.holds == Some(false) && c.is_undecided() == undecided);
        those.map(|c| format!("{} ({})", c.what, bound_text(c))).collect()
    };
    let (broken, undecided) = (named(false), named(true));
    let n = bounded.len();
    let mut verdict = match (broken.len(), undecided.len()) {
        (0, 0) => format!("All {n} bounds hold."),
        (0, some) => format!("{} of {n} bounds hold.", n - some),
        (bad, _) => format!("{bad} of {n} bounds do not hold: {}.", broken.join("; ")),
    };
    if !undecided.is_empty() {
        let _ = write!(
            verdict,
            " Within the noise, which more rounds (--runs) would lessen: {}.",
            undecided.join("; ")
        );
    }
    format!("{}. {verdict}", found.join("; "))
}

/// The figures of a group; a long group by its range.
fn parts(claims: &[&&ClaimResult]) -> String {
    if claims.len() <= LISTED {
        return claims.iter().map(|c| part(c)).collect::<Vec<_>>().join(", ");
    }
    let range = |values: Vec<f64>| {
        let (low, high) = values.iter().fold((f64::INFINITY, 0f64), |(l, h), v| (l.min(*v), h.max(*v)));
        if (high - low).abs() < 0.005 { format!("{low:.2}") } else { format!("{low:.2} to {high:.2}") }
    };
    let published: Vec<f64> = claims.iter().filter_map(|c| c.published).collect();
    let here = range(claims.iter().filter_map(|c| c.value).collect());
    if published.is_empty() { here } else { format!("{here} (published {})", range(published)) }
}

fn part(claim: &ClaimResult) -> String {
    let value = claim.value.unwrap_or(f64::NAN);
    match claim.published {
        Some(published) => format!("{} {value:.2} (published {published:.2})", claim.what),
        None => format!("{} {value:.2}", claim.what),
    }
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

/// Without bounds: the ratio that is farthest from 1.
fn from_cells(result: &StudyResult) -> String {
    let far = |r: f64| if r > 0.0 { r.max(1.0 / r) } else { 0.0 };
    let widest = result
        .cells
        .iter()
        .filter_map(|c| Some((c, c.ratio_to_baseline?)))
        .max_by(|a, b| far(a.1).total_cmp(&far(b.1)));
    match widest {
        Some((cell, ratio)) => format!(
            "The largest difference: {} {}, {} is {ratio:.2} times the baseline's. {} cells were measured.",
            cell.factor,
            cell.level,
            cell.measure,
            result.cells.len()
        ),
        None => "Nothing was measured that has a baseline.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(level: &str, runs: &[f64]) -> Cell {
        let mut result = crate::report::tests::empty();
        for value in runs {
            result.record("f", level, "m", "s", *value);
        }
        result.finish(&|_| None);
        result.cells.remove(0)
    }

    #[test]
    fn a_bound_s_figure_pairs_the_rounds() {
        let mut result = crate::report::tests::empty();
        result.cells = vec![cell("a", &[1.0, 2.0, 4.0]), cell("b", &[1.1, 2.2, 4.4])];
        let claim = Claim::at_most(
            "b against a",
            "m",
            CellRef::new("f", "b", "m"),
            CellRef::new("f", "a", "m"),
            1.05,
        );
        let out = claim_result(&result, &claim.published(3.0));
        assert!((out.value.unwrap() - 1.1).abs() < 1e-9 && out.holds == Some(false));
        result.claims = vec![out];
        assert_eq!(
            meaning(&result),
            "b against a: m 1.10 (published 3.00). 1 of 1 bounds do not hold: m (at most 1.05)."
        );
    }

    #[test]
    fn a_bound_inside_the_interval_is_not_decided() {
        let mut result = crate::report::tests::empty();
        result.cells = vec![cell("a", &[1.0; 5]), cell("b", &[1.00, 1.02, 1.04, 1.10, 1.2])];
        let bound = |at_most| {
            let (b, a) = (CellRef::new("f", "b", "m"), CellRef::new("f", "a", "m"));
            claim_result(&result, &Claim::at_most("b against a", "m", b, a, at_most))
        };
        let (near, far) = (bound(1.03), bound(0.9));
        assert!(near.holds == Some(false) && near.is_undecided());
        assert!(far.holds == Some(false) && !far.is_undecided());
        // An interval around all that is allowed, and a single run.
        let wide = ClaimResult { at_least: Some(1.01), at_most: Some(1.02), ..near.clone() };
        let single = ClaimResult { interval: None, ..far.clone() };
        assert!(wide.is_undecided() && single.is_undecided());
        result.claims = vec![near, far];
        assert_eq!(
            meaning(&result),
            "b against a: m 1.04, m 1.04. 1 of 2 bounds do not hold: m (at most 0.90). Within the noise, \
             which more rounds (--runs) would lessen: m (at most 1.03)."
        );
    }

    #[test]
    fn rounds_that_only_one_side_has_are_left_out() {
        let mut result = crate::report::tests::empty();
        for (round, level, value) in
            [(0, "a", 1.0), (1, "a", 9.0), (2, "a", 2.0), (0, "b", 2.0), (2, "b", 4.0)]
        {
            result.record_in(round, "f", level, "m", "s", value);
        }
        assert_eq!(result.cells[1].paired(&result.cells[0]), [(2.0, 1.0), (4.0, 2.0)]);
    }

    #[test]
    fn the_best_is_the_best_median() {
        let (a, b) = (cell("a", &[1.0, 9.0, 2.0]), cell("b", &[3.0, 3.0, 3.0]));
        assert_eq!(best_median(&[&a, &b], &b).level, a.level);
    }
}

//! From a journal to results: cells with medians, intervals and ratios, the published figures
//! beside them, bounds, waits, I/O, and what the figures mean, made from them.

use super::claims::claim_result;
use super::journal::{Journal, RunRecord};
use super::late::{is_marked, late};
use super::normalised;
use super::position::position;
use super::rounds::Rounds;
use crate::results::{
    ClaimResult, Io, LevelWait, RoundsResult, StepResult, StepWait, StudyResult, Verdict, WaitShare,
};
use crate::study::{PrintedFigure, PublishedWait, Study};
use targets::work::Counters;

/// What does not come from the runs themselves.
pub struct RunFacts {
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
    /// How many rounds there were to be.
    pub rounds: Rounds,
    /// After how many rounds databases that are kept are made again.
    pub fresh_every: usize,
    /// Percent by which a test made the measured steps slower.
    pub slow_down: f64,
}

/// The result of one study on one target and device.
pub fn assemble(study: &Study, about: &RunFacts, journal: &Journal) -> StudyResult {
    let mut records: Vec<&RunRecord> =
        journal.of(study.name, &about.target, &about.device).collect();
    // Pairs are made by round, whatever order the rounds' runs had; arms in the study's order.
    let place =
        |key: &str| study.arms.iter().position(|a| a.config.key == key).unwrap_or(usize::MAX);
    records.sort_by_key(|r| (place(&r.arm), r.round));
    let done = records.iter().map(|r| r.round + 1).max().unwrap_or(0);
    let mut result = StudyResult {
        study: study.name.into(),
        scale: about.scale.into(),
        target: about.target.clone(),
        device: about.device.clone(),
        question: study.question.into(),
        source: study.source.into(),
        knob: about.knob.unwrap_or_default().into(),
        disclosure: about.disclosure.clone(),
        setup: vec![study.sizes.clone()],
        missing: about.left_out.clone(),
        rounds: Some(RoundsResult {
            looks: about.rounds.looks().to_vec(),
            done,
            confidence: about.rounds.confidence(),
            fresh_every: fresh_every(study, about),
        }),
        steal: steal(&records),
        late: late(&records),
        position: position(&records),
        published_waits: published_waits(study, &about.device),
        ..StudyResult::default()
    };
    for record in &records {
        add_run(&mut result, record);
    }
    result.setup.extend(conduct(study, about));
    counters(&mut result, &records);
    result.steps = steps(&records);
    if let Some(table) = &study.normalised {
        normalised::add(&mut result, table);
    }
    publish(&mut result, study);
    result.finish(&|factor| {
        study
            .baselines
            .iter()
            .find(|b| b.factor == factor)
            .map(|b| (b.to_factor, b.to_level.as_str()))
    });
    result.claims = study
        .claims
        .iter()
        .filter(|c| c.devices.is_empty() || c.devices.contains(&about.device.as_str()))
        .map(|c| claim_result(&result, c))
        .collect();
    result.meaning = match about.knob {
        Err(why) => format!("No meaning here: {why}."),
        Ok(_) => meaning(&result),
    };
    result
}

/// How the runs were made, in words.
fn conduct(study: &Study, about: &RunFacts) -> Vec<String> {
    let mut said = vec![format!("order of runs balanced over the rounds, seed {}", about.seed)];
    if study.arms.iter().any(|a| a.config.keep) {
        said.push(match about.fresh_every {
            0 | 1 => "databases made again for each run".into(),
            n => format!("databases made again every {n} rounds, which count once in an interval"),
        });
    }
    if about.slow_down > 0.0 {
        said.push(format!(
            "every measured step was made slower by {} % on purpose (--slow-down)",
            about.slow_down
        ));
    }
    said
}

/// After how many rounds the databases of a study are made again: those that are not kept are each
/// time.
fn fresh_every(study: &Study, about: &RunFacts) -> usize {
    if study.arms.iter().any(|a| a.config.keep) { about.fresh_every.max(1) } else { 1 }
}

/// A run's figures, what it could not measure, and what the target said. A run that measured this
/// machine instead of the device is noted beside the others.
fn add_run(result: &mut StudyResult, record: &RunRecord) {
    let marked = is_marked(record);
    for measured in &record.measured {
        let (f, level) = (&measured.figure, &measured.level);
        if marked {
            result.record_late(&record.factor, level, &f.measure, &f.unit, f.value);
            continue;
        }
        result.record_in(record.round, &record.factor, level, &f.measure, &f.unit, f.value);
        if let Some(cell) = result.cell_mut(&record.factor, level, &f.measure) {
            cell.order.push(record.order);
            if !measured.repeats.is_empty() {
                cell.repeats.push(measured.repeats.len());
            }
            cell.first.extend(measured.first);
        }
    }
    for (measure, why) in &record.missing {
        let text = format!("{} {}, {measure}: {why}", record.factor, record.level);
        if !result.missing.contains(&text) {
            result.missing.push(text);
        }
    }
    for line in &record.settings {
        if !result.setup.contains(line) && line != targets::MADE_EARLIER {
            result.setup.push(line.clone());
        }
    }
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
            None => {
                sums.push((record.factor.clone(), record.level.clone(), record.counters.clone()))
            }
        }
    }
    for (factor, level, sum) in sums {
        result.waits.extend(sum.waits.into_iter().map(|w| LevelWait {
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

/// The author's shares of waits on this device.
fn published_waits(study: &Study, device: &str) -> Vec<WaitShare> {
    let of_it = study.published_waits.iter().filter(|w| w.device == device);
    let share = |w: &PublishedWait| WaitShare {
        factor: w.factor.into(),
        level: w.level.clone(),
        wait_type: w.wait_type.clone(),
        share: w.share,
    };
    of_it.map(share).collect()
}

/// Puts the author's figures beside the cells.
fn publish(result: &mut StudyResult, study: &Study) {
    for cell in &mut result.cells {
        match study.printed(&result.device, &cell.factor, &cell.level, &cell.measure) {
            Some(PrintedFigure::Figure(value, unit)) => {
                cell.published = Some(value);
                cell.published_unit = (unit != cell.unit).then(|| unit.to_owned());
            }
            Some(PrintedFigure::Ratio(ratio)) => cell.published_ratio = Some(ratio),
            None => {}
        }
    }
}

/// Share of the processors' time that a hypervisor gave to others, over all runs by their length.
fn steal(records: &[&RunRecord]) -> Option<f64> {
    let known: Vec<(f64, f64)> =
        records.iter().filter_map(|r| Some((r.steal?, r.seconds))).collect();
    let seconds: f64 = known.iter().map(|k| k.1).sum();
    (seconds > 0.0).then(|| known.iter().map(|(share, s)| share * s).sum::<f64>() / seconds)
}

/// What was counted around each step, summed over its runs; a step's waits in the order of their
/// share.
fn steps(records: &[&RunRecord]) -> Vec<StepResult> {
    let mut sums: Vec<(StepResult, Counters)> = Vec::new();
    for record in records {
        for step in &record.steps {
            let same = |s: &StepResult| {
                s.factor == record.factor && s.level == step.level && s.measure == step.measure
            };
            let at = sums.iter().position(|(s, _)| same(s)).unwrap_or_else(|| {
                let new = StepResult {
                    factor: record.factor.clone(),
                    level: step.level.clone(),
                    measure: step.measure.clone(),
                    rows: step.rows.map(|_| 0),
                    ..StepResult::default()
                };
                sums.push((new, Counters::default()));
                sums.len() - 1
            });
            let (result, counters) = &mut sums[at];
            result.runs += 1;
            result.rows = result.rows.zip(step.rows).map(|(sum, rows)| sum + rows);
            counters.add(&step.counters);
        }
    }
    sums.into_iter()
        .map(|(mut step, counters)| {
            let all: i64 = counters.waits.iter().map(|w| w.us).sum();
            step.waits = counters
                .waits
                .into_iter()
                .map(|w| StepWait {
                    wait_type: w.wait_type,
                    count: w.count,
                    ms: w.us as f64 / 1000.0,
                    share: w.us as f64 / all.max(1) as f64,
                })
                .collect();
            step.waits.sort_by(|a, b| b.share.total_cmp(&a.share));
            step.io = counters.io;
            step.counts = counters.counts;
            step
        })
        .collect()
}

/// Two sentences made from the figures: what was found, with the published ratios, and which bounds
/// hold.
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
            let part_of: Vec<&&ClaimResult> =
                measured.iter().filter(|c| c.group == *group).collect();
            format!("{group}: {}", parts(&part_of))
        })
        .collect();
    match verdicts(&measured) {
        Some(verdict) => format!("{}. {verdict}", found.join("; ")),
        None => format!("{}.", found.join("; ")),
    }
}

/// A bound with what must be known of its verdict.
fn said(claim: &ClaimResult) -> String {
    let remark = claim.remark.as_ref().map_or_else(String::new, |r| format!("; {r}"));
    format!("{} ({}{remark})", claim.what, claim.bound_text())
}

/// How many bounds hold, which fail and which are undecided; nothing where there are no bounds.
fn verdicts(claims: &[&ClaimResult]) -> Option<String> {
    let those = |verdict: Verdict| -> Vec<String> {
        let of_it = claims.iter().filter(|c| c.verdict == Some(verdict));
        of_it.map(|c| said(c)).collect()
    };
    let (holds, fails, undecided) =
        (those(Verdict::Holds), those(Verdict::Fails), those(Verdict::Undecided));
    let n = holds.len() + fails.len() + undecided.len();
    if n == 0 {
        return None;
    }
    let mut text = match holds.len() {
        all if all == n => format!("All {n} bounds hold."),
        some => format!("{some} of {n} bounds hold."),
    };
    if !fails.is_empty() {
        text += &format!(" {} fail: {}.", fails.len(), fails.join("; "));
    }
    if !undecided.is_empty() {
        text += &format!(" {} undecided: {}.", undecided.len(), undecided.join("; "));
    }
    Some(text)
}

/// The figures of a group; a long group by its range.
fn parts(claims: &[&&ClaimResult]) -> String {
    if claims.len() <= LISTED {
        return claims.iter().map(|c| part(c)).collect::<Vec<_>>().join(", ");
    }
    let range = |values: Vec<f64>| {
        let (low, high) =
            values.iter().fold((f64::INFINITY, 0f64), |(l, h), v| (l.min(*v), h.max(*v)));
        if (high - low).abs() < 0.005 {
            format!("{low:.2}")
        } else {
            format!("{low:.2} to {high:.2}")
        }
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
    use crate::frame::journal::{MeasuredFigure, StepRecord};
    use crate::study::{CellRef, Claim};
    use std::collections::BTreeMap;
    use targets::work::late::{LATE, REQUESTS};
    use targets::work::{Figure, IoCount, WaitCount};

    fn claim(
        what: &str,
        value: f64,
        interval: Option<(f64, f64)>,
        at_most: Option<f64>,
    ) -> ClaimResult {
        let mut claim = ClaimResult {
            group: "b against a".into(),
            what: what.into(),
            value: Some(value),
            interval,
            at_most,
            published: Some(3.0),
            ..ClaimResult::default()
        };
        claim.judge();
        claim
    }

    #[test]
    fn the_meaning_names_what_fails_and_what_is_undecided() {
        let mut result = StudyResult {
            claims: vec![
                claim("m", 1.1, Some((1.0, 1.2)), Some(1.05)),
                claim("n", 1.1, Some((1.06, 1.2)), Some(1.05)),
            ],
            ..StudyResult::default()
        };
        assert_eq!(
            meaning(&result),
            "b against a: m 1.10 (published 3.00), n 1.10 (published 3.00). 0 of 2 bounds hold. \
             1 fail: n (at most 1.05). 1 undecided: m (at most 1.05)."
        );
        result.claims = vec![claim("m", 1.0, Some((0.9, 1.02)), Some(1.05))];
        assert_eq!(meaning(&result), "b against a: m 1.00 (published 3.00). All 1 bounds hold.");
        result.claims = vec![claim("m", 1.0, None, None)];
        assert_eq!(meaning(&result), "b against a: m 1.00 (published 3.00).");
    }

    /// Eight rounds of two levels; in the first `late` of them the one ran on a late machine, ten
    /// times as long.
    fn rounds_with_late_ones(late: usize) -> StudyResult {
        let mut result = StudyResult::default();
        for round in 0..8 {
            for level in ["a", "b"] {
                let is_late = level == "a" && round < late;
                let counts = [(REQUESTS, 1_000), (LATE, if is_late { 11 } else { 10 })];
                let value = if is_late { 10.0 } else { 1.0 };
                let figure = Figure::named("m", "s", value);
                let record = RunRecord {
                    round,
                    factor: "f".into(),
                    measured: vec![MeasuredFigure {
                        level: level.into(),
                        figure,
                        ..MeasuredFigure::default()
                    }],
                    counters: Counters {
                        counts: counts.map(|(name, n)| (name.to_owned(), n)).into(),
                        ..Counters::default()
                    },
                    ..RunRecord::default()
                };
                add_run(&mut result, &record);
            }
        }
        result.finish(&|_| Some(("f", "b")));
        result
    }

    #[test]
    fn runs_that_measured_this_machine_are_in_no_figure_and_too_few_others_decide_nothing() {
        let bound = Claim::at_most(
            "g",
            "m",
            CellRef::new("f", "a", "m"),
            CellRef::new("f", "b", "m"),
            1.03,
        );
        let result = rounds_with_late_ones(2);
        let cell = result.cell("a", "m").unwrap();
        assert_eq!((cell.runs.len(), cell.late.as_slice()), (6, &[10.0; 2][..]));
        assert_eq!((cell.median, cell.ratio_to_baseline), (1.0, Some(1.0)));
        let judged = claim_result(&result, &bound);
        assert_eq!(judged.verdict, Some(Verdict::Holds));
        assert_eq!(
            judged.remark.as_deref(),
            Some("2 runs that measured this machine are left out")
        );
        let judged = claim_result(&rounds_with_late_ones(3), &bound);
        assert_eq!(judged.verdict, Some(Verdict::Undecided));
        let why = "5 rounds have no interval, 6 are needed; 3 runs that measured this machine are left out";
        assert_eq!(judged.remark.as_deref(), Some(why));
        // None is left: no figure, and results that can be read again.
        let none = rounds_with_late_ones(8);
        assert_eq!(claim_result(&none, &bound).verdict, None);
        let back: StudyResult =
            serde_json::from_str(&serde_json::to_string(&none).unwrap()).unwrap();
        let cell = back.cell("a", "m").unwrap();
        assert!(
            cell.median.is_nan()
                && cell.mean.is_nan()
                && cell.runs.is_empty()
                && cell.late.len() == 8
        );
    }

    #[test]
    fn counts_are_kept_step_by_step() {
        let step = |measure: &str, us: i64, rows| StepRecord {
            level: "16".into(),
            measure: measure.into(),
            rows,
            counters: Counters {
                waits: vec![
                    WaitCount { wait_type: "LCK_M_X".into(), count: 1, us: 100 },
                    WaitCount { wait_type: "WRITELOG".into(), count: 2, us },
                ],
                io: vec![IoCount { file: "log".into(), bytes_written: 1000, ..IoCount::default() }],
                counts: BTreeMap::from([("vlf_changes".to_owned(), 7)]),
            },
        };
        let record = |round| RunRecord {
            round,
            factor: "VLFs".into(),
            level: "16".into(),
            steps: vec![step("insert", 300, Some(10)), step("growth", 300, None)],
            seconds: 1.0 + round as f64,
            steal: Some(0.1 * round as f64),
            ..RunRecord::default()
        };
        let (a, b) = (record(0), record(1));
        let steps = steps(&[&a, &b]);
        let names: Vec<(&str, usize, Option<u64>)> =
            steps.iter().map(|s| (s.measure.as_str(), s.runs, s.rows)).collect();
        assert_eq!(names, [("insert", 2, Some(20)), ("growth", 2, None)]);
        assert_eq!(
            (steps[0].counts["vlf_changes"], steps[0].log_bytes_per_row()),
            (14, Some(100.0))
        );
        assert_eq!((steps[0].waits[0].wait_type.as_str(), steps[0].waits[0].ms), ("WRITELOG", 0.6));
        assert!((steps[0].waits[0].share - 0.75).abs() < 1e-12);
        assert!((steal(&[&a, &b]).unwrap() - 0.2 / 3.0).abs() < 1e-12);
        assert_eq!(steal(&[]), None);
    }
}

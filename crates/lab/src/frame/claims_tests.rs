//! Each kind of bound holds, fails and stays undecided when it should, at every number of rounds
//! that can be asked for.

use super::*;
use crate::results::RoundsResult;

/// Numbers of rounds that have an interval.
const ROUNDS: [usize; 4] = [6, 7, 8, 16];
const LEVELS: [&str; 5] = ["0", "1", "2", "3", "4"];

fn cell_ref(level: &str) -> CellRef {
    CellRef::new("f", level, "m")
}

/// Rounds of five levels of that cost each. Noise of the size `noise` (logarithms) goes up and down
/// from round to round, in opposite directions for neighbouring levels.
fn measured(rounds: usize, unit: &str, costs: [f64; 5], noise: f64) -> StudyResult {
    let mut result = StudyResult::default();
    for round in 0..rounds {
        for (index, cost) in costs.iter().enumerate() {
            // A little more each round, so that no two rounds are the same.
            let size = noise * (1.0 + round as f64 / 100.0);
            let cost = cost * if (round + index) % 2 == 0 { size.exp() } else { (-size).exp() };
            let value = if larger_is_better(unit) { 1.0 / cost } else { cost };
            result.record_in(round, "f", LEVELS[index], "m", unit, value);
        }
    }
    result.finish(&|_| None);
    result
}

fn claim(compare: Compare, at_least: Option<f64>, at_most: Option<f64>) -> Claim {
    Claim {
        compare,
        at_least,
        at_most,
        ..Claim::at_most("group", "m", cell_ref("0"), cell_ref("1"), 0.0)
    }
}

/// Each kind of bound on level 0, with the unit in which it is measured: costs of at most 1.03,
/// rates of at least 1 / 1.03.
fn kinds() -> Vec<(&'static str, &'static str, Claim)> {
    let all = || LEVELS.map(cell_ref).to_vec();
    let ratio = || Compare::Ratio(cell_ref("0"), cell_ref("1"));
    let (most, least) = (Some(1.03), Some(1.0 / 1.03));
    vec![
        ("ratio of times", "s", claim(ratio(), None, most)),
        ("ratio of rates", "rows/s", claim(ratio(), least, None)),
        ("best of times", "s", claim(Compare::ToBest(cell_ref("0"), all()), None, most)),
        ("best of rates", "rows/s", claim(Compare::ToBest(cell_ref("0"), all()), least, None)),
        ("value", "s", claim(Compare::Value(cell_ref("0")), None, most)),
        ("every", "s", claim(Compare::Every(cell_ref("0")), None, most)),
    ]
}

#[test]
fn every_kind_of_bound_fails_holds_and_is_undecided_at_every_number_of_rounds() {
    for (name, unit, claim) in kinds() {
        for rounds in ROUNDS {
            let judged = |costs, noise| claim_result(&measured(rounds, unit, costs, noise), &claim);
            let alike = [1.0; 5];
            let same = judged(alike, 0.002);
            assert_eq!(same.verdict, Some(Verdict::Holds), "{name}, {rounds} rounds: {same:?}");
            let slow = judged([10.0, 1.0, 1.0, 1.0, 1.0], 0.02);
            assert_eq!(slow.verdict, Some(Verdict::Fails), "{name}, {rounds} rounds: {slow:?}");
            // As slow as all but one.
            let slow = judged([10.0, 1.0, 10.0, 10.0, 10.0], 0.02);
            assert_eq!(slow.verdict, Some(Verdict::Fails), "{name}, {rounds} rounds: {slow:?}");
            let noisy = judged(alike, 0.3);
            if name == "every" {
                let every = noisy.every.unwrap();
                assert_eq!(
                    (noisy.verdict, every.runs),
                    (Some(Verdict::Fails), rounds),
                    "{noisy:?}"
                );
                continue;
            }
            assert_eq!(
                noisy.verdict,
                Some(Verdict::Undecided),
                "{name}, {rounds} rounds: {noisy:?}"
            );
            assert!(noisy.interval.is_some() && noisy.remark.is_some(), "{name}: {noisy:?}");
        }
    }
}

#[test]
fn fewer_rounds_than_an_interval_needs_decide_nothing_but_a_broken_fact() {
    for (name, unit, claim) in kinds() {
        for rounds in 1..6 {
            // However far away.
            let out =
                claim_result(&measured(rounds, unit, [100.0, 1.0, 1.0, 1.0, 1.0], 0.001), &claim);
            if name == "every" {
                assert_eq!(out.verdict, Some(Verdict::Fails), "{rounds} rounds: {out:?}");
                let kept = claim_result(&measured(rounds, unit, [1.0; 5], 0.001), &claim);
                assert_eq!(kept.verdict, Some(Verdict::Undecided), "{rounds} rounds: {kept:?}");
                assert!(kept.remark.unwrap().contains("6 runs are needed"));
                continue;
            }
            assert_eq!(
                (out.verdict, out.interval),
                (Some(Verdict::Undecided), None),
                "{name}: {out:?}"
            );
            assert!(out.value.is_some() && out.remark.unwrap().contains("6 are needed"), "{name}");
        }
        let nothing = claim_result(&StudyResult::default(), &claim);
        assert_eq!(
            (nothing.verdict, nothing.holds),
            (None, None),
            "what was not measured is not judged"
        );
    }
}

/// The looks of `--until-decided` are surer than one comparison; the first of them can fail a bound
/// against the best too.
#[test]
fn the_first_look_can_fail_a_bound_against_the_best() {
    let rounds = crate::frame::rounds::Rounds::until_decided(8, 64).unwrap();
    let about = RoundsResult {
        looks: rounds.looks().to_vec(),
        done: 8,
        confidence: rounds.confidence(),
        fresh_every: 1,
    };
    for (name, unit, claim) in kinds() {
        let mut result = measured(8, unit, [10.0, 1.0, 1.0, 1.0, 1.0], 0.02);
        result.rounds = Some(about.clone());
        let out = claim_result(&result, &claim);
        assert_eq!(out.verdict, Some(Verdict::Fails), "{name}: {out:?}");
    }
}

/// What supposes normally distributed logarithms says so, and only that.
#[test]
fn the_assumption_of_an_interval_is_named() {
    let kinds = kinds();
    let best = &kinds[2].2;
    for (rounds, supposes) in [(6, true), (7, true), (8, false), (16, false)] {
        let out = claim_result(&measured(rounds, "s", [10.0, 1.0, 1.0, 1.0, 1.0], 0.02), best);
        let said =
            out.remark.is_some_and(|r| r.contains("supposes normally distributed logarithms"));
        assert_eq!(said, supposes, "{rounds} rounds: each of four comparisons alone needs eight");
        assert!(out.interval.unwrap().0 > 9.0, "{rounds} rounds: {:?}", out.interval);
    }
}

#[test]
fn a_fact_of_every_run_says_in_how_many_it_was_found() {
    let fact = |runs: &[f64], late: &[f64]| {
        let mut result = StudyResult::default();
        runs.iter().for_each(|v| result.record("f", "0", "m", "rows", *v));
        late.iter().for_each(|v| result.record_late("f", "0", "m", "rows", *v));
        result.finish(&|_| None);
        claim_result(&result, &claim(Compare::Every(cell_ref("0")), None, Some(0.0)))
    };
    // Rows that are missing in a few of many runs are in no interval of a median.
    for (rounds, lost) in [(9, 1), (12, 2), (16, 3), (20, 5), (32, 9)] {
        let mut runs = vec![0.0; rounds];
        runs[..lost].fill(500.0);
        assert_eq!(stats::median_interval(&runs), Some((0.0, 0.0)));
        let out = fact(&runs, &[]);
        assert_eq!(
            (out.verdict, out.value),
            (Some(Verdict::Fails), Some(500.0)),
            "{rounds} rounds"
        );
        assert_eq!(out.remark.as_deref(), Some(&*format!("broken in {lost} of {rounds} runs")));
    }
    let text = |runs| fact(&vec![0.0; runs], &[]).remark.unwrap();
    assert_eq!(
        text(6),
        "held in 6 of 6 runs; with 95 % confidence it is broken in less than 39 % of runs"
    );
    assert!(text(16).contains("less than 17 %") && text(100).contains("less than 3 %"));
    // A late machine does not excuse lost rows.
    assert_eq!(fact(&[0.0; 6], &[3.0]).verdict, Some(Verdict::Fails));
    assert_eq!(fact(&[], &[0.0; 6]).verdict, Some(Verdict::Holds));
}

const NEAR: [f64; 6] = [1.00, 1.02, 1.04, 1.05, 1.10, 1.2];

fn pair(a: &[f64], b: &[f64]) -> StudyResult {
    let mut result = StudyResult::default();
    a.iter().for_each(|v| result.record("f", "1", "m", "s", *v));
    b.iter().for_each(|v| result.record("f", "0", "m", "s", *v));
    result.finish(&|_| None);
    result
}

fn bound(result: &StudyResult, at_least: Option<f64>, at_most: Option<f64>) -> ClaimResult {
    claim_result(result, &claim(Compare::Ratio(cell_ref("0"), cell_ref("1")), at_least, at_most))
}

#[test]
fn a_bound_holds_with_the_whole_interval_fails_with_none_of_it_and_is_undecided_else() {
    let result = pair(&[1.0; 6], &NEAR);
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
    assert_eq!(
        verdict(Some(1.05), Some(1.06)),
        undecided,
        "an interval around all that is allowed"
    );
    assert_eq!(verdict(Some(0.5), Some(0.6)), fails);
    assert_eq!(verdict(None, None), (None, None), "a comparison without a bound");
}

#[test]
fn an_undecided_bound_says_how_many_rounds_would_decide_it() {
    let out = bound(&pair(&[1.0; 6], &[0.9, 1.1, 0.92, 1.08, 0.94, 1.06]), None, Some(1.05));
    let (value, (_, high)) = (out.value.unwrap(), out.interval.unwrap());
    let times = ((high / value).ln() / (1.05 / value).ln()).powi(2);
    let expected =
        format!("about {} rounds would decide it if the figure stays", (6.0 * times).ceil());
    assert_eq!(out.remark, Some(expected), "{value} .. {high}");
    // So near the bound that no number of rounds is enough.
    let near =
        bound(&pair(&[1.0; 6], &[0.9, 1.1, 0.92, 1.08, 0.94, 1.06]), None, Some(value + 1e-6));
    assert_eq!(
        near.remark.as_deref(),
        Some("more than 1000 rounds would be needed if the figure stays")
    );
    let broken = bound(&pair(&[1.0; 6], &NEAR), None, Some(1.01)).remark.unwrap();
    assert!(broken.starts_with("about "), "{broken}");
}

#[test]
fn a_bound_s_figure_pairs_the_rounds() {
    let drift = [1.0, 2.0, 4.0, 1.5, 3.0, 0.5];
    let result = pair(&drift, &drift.map(|d| 1.1 * d));
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

/// Rounds on the same databases are one observation of what a set-up does.
#[test]
fn rounds_on_the_same_databases_count_once() {
    let fresh = |rounds: usize, fresh_every: usize| {
        let mut result = measured(rounds, "s", [10.0, 1.0, 1.0, 1.0, 1.0], 0.02);
        result.rounds =
            Some(RoundsResult { fresh_every, confidence: 0.95, ..RoundsResult::default() });
        result.finish(&|_| Some(("f", "1")));
        let out = bound(&result, None, Some(1.03));
        let cell = result.cell("0", "m").unwrap();
        assert_eq!(cell.ratio_ci95.is_some(), out.interval.is_some());
        assert_eq!(cell.ci95.is_some(), out.interval.is_some());
        out
    };
    assert_eq!(fresh(6, 1).verdict, Some(Verdict::Fails));
    assert_eq!(fresh(12, 2).verdict, Some(Verdict::Fails));
    let few = fresh(6, 2);
    assert_eq!((few.verdict, few.interval), (Some(Verdict::Undecided), None));
    assert_eq!(few.remark.as_deref(), Some("3 set-ups have no interval, 6 are needed"));
    let pairs = measured(4, "s", [4.0, 1.0, 1.0, 1.0, 1.0], 0.0);
    let grouped = pairs.cells[0].paired_by(&pairs.cells[1], 3);
    assert!(
        grouped.len() == 2 && grouped.iter().all(|(a, b)| (a - 4.0).abs() < 1e-12 && *b == 1.0)
    );
}

/// Levels that are alike: the ratio to the best may not be told from 1, and its interval covers the
/// truth.
#[test]
fn the_comparison_with_the_best_knows_that_the_best_is_uncertain() {
    let rule = Rule { confidence: 0.95, fresh_every: 1 };
    for rounds in [6, 8] {
        let mut random = fastrand::Rng::with_seed(3);
        let mut noisy = |level: &str, unit: &str, truth: f64| {
            let mut result = StudyResult::default();
            for _ in 0..rounds {
                result.record("f", level, "m", unit, truth * (1.0 + 0.04 * (random.f64() - 0.5)));
            }
            result.finish(&|_| None);
            result.cells.remove(0)
        };
        let (mut missed, mut wrong, trials) = (0, 0, 400);
        for trial in 0..trials {
            let unit = if trial % 2 == 0 { "s" } else { "rows/s" };
            let cells: Vec<Cell> = LEVELS.iter().map(|l| noisy(l, unit, 2.0)).collect();
            let slow = noisy("slow", unit, if unit == "s" { 2.2 } else { 2.0 / 1.1 });
            let mut all: Vec<&Cell> = cells.iter().collect();
            all.push(&slow);
            let found = compared_to_best(&cells[trial % 5], &all, rule);
            let (low, high) = found.interval.unwrap();
            assert!(
                (low..=high).contains(&found.value.unwrap()),
                "{:?} in {low} .. {high}",
                found.value
            );
            missed += usize::from(!(low - 1e-12..=high + 1e-12).contains(&1.0));
            let truth = if unit == "s" { 1.1 } else { 1.0 / 1.1 };
            let (low, high) = compared_to_best(&slow, &all, rule).interval.unwrap();
            wrong += usize::from(!(low..=high).contains(&truth));
        }
        assert!(
            missed * 20 <= trials && wrong * 20 <= trials,
            "{rounds}: {missed} and {wrong} of {trials}"
        );
    }
    // The only one of its kind is the best; fewer rounds than an interval needs give none.
    let few = pair(&[1.0, 1.1], &[1.2, 1.3]);
    let alone = compared_to_best(&few.cells[0], &[&few.cells[0], &few.cells[1]], rule);
    assert_eq!((alone.value, alone.interval), (Some(1.0), None));
}

//! What the statistics promise, by simulation: the intervals cover the truth as often as they say,
//! whatever the noise looks like; the one that was chosen is narrower than the others that keep the
//! promise, and the ones that are narrower do not keep it.

use super::*;

#[test]
fn median_of_odd_and_even_counts() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
}

#[test]
fn fewer_than_six_runs_have_no_interval() {
    let values = [1.0, 1.1, 0.9, 1.05, 5.0, 1.2];
    for n in 0..FEWEST {
        assert_eq!(median_interval(&values[..n]), None, "{n} runs");
        let pairs: Vec<(f64, f64)> = values[..n].iter().map(|v| (*v, 1.0)).collect();
        assert_eq!(paired_interval(&pairs), None, "{n} pairs");
    }
    assert_eq!(median_interval(&values), Some((0.9, 5.0)));
    assert_eq!(median_interval_at(&values, 0.99), None, "more confidence takes more runs");
    assert_eq!(range(&values[..2]), Some((1.0, 1.1)));
    assert_eq!(range(&[]), None);
}

/// From tables of the sign test: 6 values leave none out, 9 one, 12 two, 31 nine, 151 sixty-two.
#[test]
fn interval_leaves_out_what_the_tables_say() {
    let left: Vec<Option<usize>> =
        [5, 6, 8, 9, 12, 31, 151].iter().map(|n| outside(*n, 0.025)).collect();
    assert_eq!(left, [None, Some(0), Some(0), Some(1), Some(2), Some(9), Some(62)]);
    assert!(outside(5_000, 0.025).unwrap() > 2_400);
}

#[test]
fn percentiles_are_values_that_were_seen() {
    let mut values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
    assert_eq!(percentile(&mut values, 0.5), Some(100.0));
    assert_eq!(percentile(&mut values, 0.99), Some(198.0));
    assert_eq!(percentile(&mut values, 1.0), Some(200.0));
    assert_eq!(percentile(&mut [7.0], 0.01), Some(7.0));
    assert_eq!(percentile(&mut [], 0.5), None);
}

#[test]
fn a_common_drift_cancels_in_paired_ratios() {
    let pairs =
        [(1.1, 1.0), (2.2, 2.0), (4.4, 4.0), (1.0, 0.0), (1.1, 1.0), (3.3, 3.0), (5.5, 5.0)];
    assert!((paired_ratio(&pairs).unwrap() - 1.1).abs() < 1e-9);
    let (low, high) = paired_interval(&pairs).unwrap();
    assert!((low - 1.1).abs() < 1e-9 && (high - 1.1).abs() < 1e-9);
    // Counts that are zero on one side are ratios of zero.
    let none = [(0.0, 3.0); 7];
    assert_eq!((paired_ratio(&none), paired_interval(&none)), (Some(0.0), Some((0.0, 0.0))));
    assert_eq!(paired_ratio(&[(1.0, 0.0), (0.0, 0.0)]), None);
}

/// Noise of one measured time, as a factor; the machine's pace of a round comes on top and is
/// common to both.
#[derive(Clone, Copy, Debug)]
enum Noise {
    Normal,
    /// Mostly quiet, now and then twice as long: another process had the processor.
    Spikes,
    /// Never faster than the machine can, with a long tail.
    Exponential,
    /// Two modes: the page cache had it or not.
    TwoModes,
}

impl Noise {
    const ALL: [Noise; 4] = [Noise::Normal, Noise::Spikes, Noise::Exponential, Noise::TwoModes];

    fn factor(self, random: &mut fastrand::Rng) -> f64 {
        let normal = |r: &mut fastrand::Rng| (0..12).map(|_| r.f64()).sum::<f64>() - 6.0;
        match self {
            Noise::Normal => (0.03 * normal(random)).exp(),
            Noise::Spikes => {
                (0.01 * normal(random)).exp() * if random.f64() < 0.1 { 2.0 } else { 1.0 }
            }
            Noise::Exponential => 1.0 - 0.05 * (1.0 - random.f64()).ln(),
            Noise::TwoModes => {
                (0.005 * normal(random)).exp() * if random.bool() { 1.15 } else { 1.0 }
            }
        }
    }
}

/// Rounds of a cell that takes `truth` times as long as its baseline, on a machine whose pace
/// drifts.
fn rounds(n: usize, truth: f64, noise: Noise, random: &mut fastrand::Rng) -> Vec<(f64, f64)> {
    let mut pace = 1.0;
    (0..n)
        .map(|_| {
            pace *= 0.8 + 0.4 * random.f64();
            (pace * truth * noise.factor(random), pace * noise.factor(random))
        })
        .collect()
}

const TRUTH: f64 = 1.07;

/// The interval of some rounds.
type Interval = fn(&[(f64, f64)], &mut fastrand::Rng) -> (f64, f64);

/// How often an interval covers the truth, and how wide it is (the logarithm of its ends' ratio,
/// the mean).
fn coverage(n: usize, noise: Noise, interval: Interval) -> (f64, f64) {
    const TRIALS: usize = 4_000;
    let mut random = fastrand::Rng::with_seed(n as u64);
    let (mut covered, mut width) = (0, 0.0);
    for _ in 0..TRIALS {
        let (low, high) = interval(&rounds(n, TRUTH, noise, &mut random), &mut random);
        covered += usize::from((low..=high).contains(&TRUTH));
        width += (high / low).ln();
    }
    (covered as f64 / TRIALS as f64, width / TRIALS as f64)
}

fn chosen(pairs: &[(f64, f64)], _: &mut fastrand::Rng) -> (f64, f64) {
    paired_interval(pairs).unwrap()
}

/// The sign test's interval of the median of the rounds' ratios.
fn sign_test(pairs: &[(f64, f64)], _: &mut fastrand::Rng) -> (f64, f64) {
    median_interval(&pairs.iter().map(|(a, b)| a / b).collect::<Vec<_>>()).unwrap()
}

/// The percentile bootstrap of the median of the rounds' ratios.
fn bootstrap(pairs: &[(f64, f64)], random: &mut fastrand::Rng) -> (f64, f64) {
    let ratios: Vec<f64> = pairs.iter().map(|(a, b)| a / b).collect();
    let mut medians: Vec<f64> = (0..200)
        .map(|_| {
            let drawn: Vec<f64> =
                ratios.iter().map(|_| ratios[random.usize(..ratios.len())]).collect();
            median(&drawn).unwrap()
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    (medians[5], medians[194])
}

#[test]
fn intervals_cover_the_truth_whatever_the_noise() {
    for noise in Noise::ALL {
        for n in [6, 7, 10, 20] {
            let (covered, _) = coverage(n, noise, chosen);
            // Three standard errors of 4,000 trials are 1 %.
            assert!(covered >= 0.94, "{noise:?}, {n} rounds: {covered}");
        }
    }
}

#[test]
fn the_chosen_interval_is_narrower_than_the_sign_test_s_and_the_bootstrap_does_not_keep_its_promise()
 {
    for n in [7, 10, 20] {
        let ((_, here), (_, sign)) =
            (coverage(n, Noise::Normal, chosen), coverage(n, Noise::Normal, sign_test));
        assert!(here < 0.97 * sign, "{n} rounds: {here} against {sign}");
    }
    let (covered, _) = coverage(6, Noise::Normal, bootstrap);
    assert!(covered < 0.94, "{covered}: then the bootstrap would do");
}

/// Looking again and again with the same interval until it decides is wrong more often than it
/// says; with the confidence that the lab takes for its looks it is not.
#[test]
fn looking_until_it_is_decided_costs_confidence() {
    let looks = [8, 16, 32, 64];
    let missed = |confidence: f64| {
        let mut random = fastrand::Rng::with_seed(5);
        let trials = 2_000;
        let wrong = (0..trials).filter(|_| {
            let all = rounds(64, 1.0, Noise::Normal, &mut random);
            looks.iter().any(|n| {
                let (low, high) = paired_interval_at(&all[..*n], confidence).unwrap();
                !(low..=high).contains(&1.0)
            })
        });
        wrong.count() as f64 / f64::from(trials)
    };
    assert!(missed(CONFIDENCE) > 0.08, "{}", missed(CONFIDENCE));
    let corrected = missed(1.0 - (1.0 - CONFIDENCE) / looks.len() as f64);
    assert!(corrected < 0.05, "{corrected}");
}

#[test]
fn several_tests_are_held_to_the_error_of_one() {
    assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
    assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
}

#[test]
fn the_middle_half_of_values_has_a_mean() {
    assert_eq!(interquartile_mean(&[]), None);
    assert_eq!(interquartile_mean(&[3.0]), Some(3.0));
    assert_eq!(interquartile_mean(&[1.0, 2.0, 9.0]), Some(4.0), "of three none is left out");
    assert_eq!(interquartile_mean(&[100.0, 2.0, 4.0, -50.0]), Some(3.0));
    let values = [0.3, -0.1, 0.2, 7.0, 0.05];
    let turned: Vec<f64> = values.iter().map(|v| -v).collect();
    assert_eq!(interquartile_mean(&values), interquartile_mean(&turned).map(|v| -v));
}

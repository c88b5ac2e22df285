//! Statistics of repeated runs: medians, ratios of runs that stood next to each other in time, and
//! their intervals. Pure.
//!
//! - The interval of a median is the sign test's: exact for any distribution.
//! - A ratio pairs the runs of one round. Its estimate is the Hodges-Lehmann estimate of the
//!   logarithms of the rounds' ratios (the median of the means of all pairs of rounds), its
//!   interval is Wilcoxon's signed rank interval. That one is exact when the logarithms lie
//!   symmetrically around their centre. They do when the noise of both cells is alike, whatever it
//!   looks like (the two can change places within a round), and when the noise of each is
//!   symmetric, however unequal its size. It is narrower than the sign test's: it needs the same
//!   number of rounds (six), but from seven rounds on it leaves out what the sign test must keep
//!   (`tests`).
//! - With fewer than six runs no interval of 95 % exists, and none is given.
//! - A comparison with the best of several cells must be surer of each single comparison than six
//!   rounds can be by their order. There Student's interval of the logarithms is taken, which
//!   supposes that they are normally distributed; whoever shows it says so.
//!
//! How often the intervals cover the truth is counted on simulated rounds: in `tests`, and with the
//! noise of whole studies by the lab's `frame::simulate`.

mod rank_sum;
mod signed_rank;
mod student;
#[cfg(test)]
mod tests;

use rank_sum::RankSum;
use signed_rank::SignedRank;

/// The confidence of an interval, unless something else is asked for.
pub const CONFIDENCE: f64 = 0.95;
/// The fewest runs that have an interval of 95 %: by chance alone all of them lie on one side of
/// the truth with 2 x 2^-6 = 3.1 %.
pub const FEWEST: usize = 6;

/// The fewest values whose order gives an interval of that confidence.
pub fn fewest(confidence: f64) -> usize {
    let error = (1.0 - confidence) * (1.0 + 1e-9);
    (1..64).find(|n| 2.0 * 0.5f64.powi(*n) <= error).unwrap_or(64) as usize
}

/// The largest share of runs that can break, with 95 % confidence, what all of so many runs have
/// kept: about 3 / n.
pub fn broken_at_most(runs: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE).powf(1.0 / runs.max(1) as f64)
}

/// Median of the values; `None` for none. The mean of the middle two for an even count.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(middle(&sorted(values)))
}

/// Mean of the values without a quarter of them at each end (rounded down); `None` for none.
pub fn interquartile_mean(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let left_out = sorted.len() / 4;
    let kept = sorted.get(left_out..sorted.len() - left_out)?;
    (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Of sorted values.
fn middle(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// The value below which a share of the values lies (0.99: the 99th percentile), by the nearest
/// rank. Sorts the values.
pub fn percentile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.clamp(1, values.len().max(1)) - 1).copied()
}

/// The smallest and the largest value: what can be said of fewer runs than have an interval.
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    Some((*sorted.first()?, *sorted.last()?))
}

/// 95 % interval of the median from the order of the values alone (the sign test's). `None` for
/// fewer than six values.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    median_interval_at(values, CONFIDENCE)
}

/// The same with another confidence. `None` when there are too few values for it.
pub fn median_interval_at(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    let at = outside(values.len(), (1.0 - confidence) / 2.0)?;
    Some((sorted[at], sorted[values.len() - 1 - at]))
}

/// How many of `n` values may be left out at either end: as long as the chance that so many or
/// fewer lie on one side of the median is at most `tail`. `None` when not even the range is sure
/// enough.
fn outside(n: usize, tail: f64) -> Option<usize> {
    // Of a binomial distribution with p = 1/2, in logarithms: 2^-n is below every number for n over
    // 1,074.
    let (mut term, mut sum, mut k) = (-(n as f64) * std::f64::consts::LN_2, 0.0, 0usize);
    loop {
        sum += term.exp();
        // 2^-n is exact, a given tail such as 0.0125 may be a little below what was meant.
        if sum > tail * (1.0 + 1e-9) {
            return k.checked_sub(1);
        }
        k += 1;
        term += ((n - k + 1) as f64 / k as f64).ln();
    }
}

/// Ratio `run / baseline` of pairs of one round: a drift of the machine between rounds cancels.
/// Pairs without a baseline above zero are left out.
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<f64> {
    signed_ranks(pairs)?.centre().map(f64::exp)
}

/// 95 % interval of [`paired_ratio`]. `None` for fewer than six pairs.
pub fn paired_interval(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    paired_interval_at(pairs, CONFIDENCE)
}

/// The same with another confidence. `None` when there are too few pairs for it.
pub fn paired_interval_at(pairs: &[(f64, f64)], confidence: f64) -> Option<(f64, f64)> {
    let (low, high) = signed_ranks(pairs)?.interval(confidence)?;
    Some((low.exp(), high.exp()))
}

/// The same where there are too few pairs for that confidence, as long as there are [`FEWEST`]: of
/// the mean of the logarithms of the ratios, which are supposed to be normally distributed
/// (Student's t).
pub fn normal_interval_at(pairs: &[(f64, f64)], confidence: f64) -> Option<(f64, f64)> {
    let logs = logs_of(pairs);
    let (low, high) = student::interval(&logs, confidence).filter(|_| logs.len() >= FEWEST)?;
    Some((low.exp(), high.exp()))
}

/// The mean of values that are logarithms of ratios, with its interval of 95 % by Student's t; both
/// as ratios. `None` for none.
pub fn mean_ratio(logs: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
    if logs.is_empty() {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    Some((
        mean.exp(),
        student::interval(logs, CONFIDENCE).map(|(low, high)| (low.exp(), high.exp())),
    ))
}

fn logs_of(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().filter(|(_, b)| *b > 0.0).map(|(r, b)| (r / b).ln()).collect()
}

fn signed_ranks(pairs: &[(f64, f64)]) -> Option<SignedRank> {
    let logs = logs_of(pairs);
    (!logs.is_empty() && logs.iter().all(|l| !l.is_nan())).then(|| SignedRank::of(&logs))
}

/// What a comparison of two cells found: of logarithms, so that a ratio is one of a half as much as
/// one of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The ratio, `b / a`.
    pub ratio: f64,
    /// Its 95 % interval; `None` for too few values.
    pub interval: Option<(f64, f64)>,
    /// The chance of a ratio as far from 1 when there is no difference.
    pub p: f64,
}

/// By how much values that were measured side by side differ: of the logarithms of their ratios.
/// `None` for none.
pub fn paired_shift(logs: &[f64]) -> Option<Shift> {
    let ranks = SignedRank::of(logs);
    let interval = ranks.interval(CONFIDENCE).map(|(low, high)| (low.exp(), high.exp()));
    Some(Shift { ratio: ranks.centre()?.exp(), interval, p: ranks.p_value() })
}

/// By how much the values of two separate runs differ: of their logarithms. `None` where a side has
/// none.
pub fn unpaired_shift(a: &[f64], b: &[f64]) -> Option<Shift> {
    let ranks = RankSum::of(a, b);
    let interval = ranks.interval(CONFIDENCE).map(|(low, high)| (low.exp(), high.exp()));
    Some(Shift { ratio: ranks.shift()?.exp(), interval, p: ranks.p_value() })
}

/// Raises the chances of several tests so that all of them together are as wrong as one: Holm's
/// method. Each may be compared with the error that all may have together, however they depend on
/// each other.
pub fn holm(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut raised = vec![1.0; chances.len()];
    let mut least = 0.0f64;
    for (place, index) in order.into_iter().enumerate() {
        least = least.max(chances[index] * (chances.len() - place) as f64).min(1.0);
        raised[index] = least;
    }
    raised
}

//! Statistics of repeated runs: medians, bootstrap intervals, paired ratios. Pure.
//! One run is never given an interval; ratios pair the runs that stood next to each other in time.

/// Median of the values; `None` for none. The mean of the middle two for an even count.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 })
}

/// How many resamples the bootstrap draws.
const RESAMPLES: usize = 2_000;

/// 95 % percentile-bootstrap interval of the median (Efron 1979), from a fixed seed so that a report is reproducible.
/// `None` for fewer than two values: one run says nothing of spread.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let mut random = fastrand::Rng::with_seed(0x52494e47);
    let mut sample = vec![0.0; values.len()];
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            for slot in &mut sample {
                *slot = values[random.usize(..values.len())];
            }
            median(&sample)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let at = |q: f64| medians[((medians.len() - 1) as f64 * q).round() as usize];
    Some((at(0.025), at(0.975)))
}

/// Median of `run[i] / baseline[i]`: runs of one round are compared with each other, so that a drift of the machine
/// between rounds cancels. Rounds that only one side has are left out.
pub fn paired_ratio(runs: &[f64], baseline: &[f64]) -> Option<f64> {
    median(&ratios(runs, baseline))
}

/// 95 % interval of [`paired_ratio`].
pub fn paired_interval(runs: &[f64], baseline: &[f64]) -> Option<(f64, f64)> {
    median_interval(&ratios(runs, baseline))
}

fn ratios(runs: &[f64], baseline: &[f64]) -> Vec<f64> {
    runs.iter().zip(baseline).filter(|(_, b)| **b > 0.0).map(|(r, b)| r / b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even_counts() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn interval_holds_the_median_and_needs_two_runs() {
        assert_eq!(median_interval(&[1.0]), None);
        let values = [1.0, 1.1, 0.9, 1.05, 5.0];
        let (low, high) = median_interval(&values).unwrap();
        assert!(low <= 1.05 && high >= 1.05 && low >= 0.9 && high <= 5.0);
    }

    #[test]
    fn a_common_drift_cancels_in_paired_ratios() {
        let baseline = [1.0, 2.0, 4.0];
        let runs = [1.1, 2.2, 4.4];
        assert!((paired_ratio(&runs, &baseline).unwrap() - 1.1).abs() < 1e-9);
        let (low, high) = paired_interval(&runs, &baseline).unwrap();
        assert!((low - 1.1).abs() < 1e-9 && (high - 1.1).abs() < 1e-9);
    }
}

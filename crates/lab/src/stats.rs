//! Statistics of repeated runs: medians, their intervals, paired ratios. Pure.
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

/// 95 % interval of the median from the order of the values alone (the sign test's): exact for any distribution. Of fewer
/// than six values it is their range, which covers the median in 50, 75, 87.5 and 94 % of cases for two to five.
/// `None` for fewer than two values: one run says nothing of spread.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = outside(values.len());
    Some((sorted[at], sorted[values.len() - 1 - at]))
}

/// How many of `n` values may be left out at either end: as long as the chance that so many or fewer lie on one side
/// of the median is at most 2.5 %.
fn outside(n: usize) -> usize {
    // Of a binomial distribution with p = 1/2, in logarithms: 2^-n is below every number for n over 1,074.
    let (mut term, mut sum, mut k) = (-(n as f64) * std::f64::consts::LN_2, 0.0, 0);
    loop {
        sum += term.exp();
        if sum > 0.025 {
            return usize::max(k, 1) - 1;
        }
        k += 1;
        term += ((n - k + 1) as f64 / k as f64).ln();
    }
}

/// Median of `run / baseline` over pairs of one round: a drift of the machine between rounds cancels.
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<f64> {
    median(&ratios(pairs))
}

/// 95 % interval of [`paired_ratio`].
pub fn paired_interval(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    median_interval(&ratios(pairs))
}

fn ratios(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().filter(|(_, b)| *b > 0.0).map(|(r, b)| r / b).collect()
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
        assert_eq!((low, high), (0.9, 5.0));
    }

    /// From tables of the sign test: 6 values leave none out, 9 one, 12 two, 31 nine, 151 sixty-two.
    #[test]
    fn interval_leaves_out_what_the_tables_say() {
        let left: Vec<usize> = [5, 6, 8, 9, 12, 31, 151].iter().map(|n| outside(*n)).collect();
        assert_eq!(left, [0, 0, 0, 1, 2, 9, 62]);
        assert!(outside(5_000) > 2_400);
    }

    #[test]
    fn a_common_drift_cancels_in_paired_ratios() {
        let pairs = [(1.1, 1.0), (2.2, 2.0), (4.4, 4.0), (1.0, 0.0)];
        assert!((paired_ratio(&pairs).unwrap() - 1.1).abs() < 1e-9);
        let (low, high) = paired_interval(&pairs).unwrap();
        assert!((low - 1.1).abs() < 1e-9 && (high - 1.1).abs() < 1e-9);
    }
}

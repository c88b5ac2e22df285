//! Wilcoxon's signed rank statistic of one sample: the Hodges-Lehmann estimate of its centre, the
//! interval, the test of 0.

/// Up to so many values the distribution of the statistic is counted out; above, the normal one is
/// as good.
const COUNTED: usize = 60;

/// A sample's Walsh averages: the means of all pairs of values, each value with itself included.
pub(super) struct SignedRank {
    n: usize,
    averages: Vec<f64>,
}

impl SignedRank {
    /// Of values that are numbers; infinities of one sign are allowed (the logarithm of a ratio of
    /// 0).
    pub fn of(values: &[f64]) -> SignedRank {
        let pairs = (0..values.len()).flat_map(|i| (i..values.len()).map(move |j| (i, j)));
        let mut averages: Vec<f64> = pairs.map(|(i, j)| (values[i] + values[j]) / 2.0).collect();
        averages.sort_by(f64::total_cmp);
        SignedRank { n: values.len(), averages }
    }

    /// The median of the averages.
    pub fn centre(&self) -> Option<f64> {
        (!self.averages.is_empty()).then(|| super::middle(&self.averages))
    }

    /// `None` when there are too few values for the confidence.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let left_out = left_out(self.n, (1.0 - confidence) / 2.0)?;
        Some((self.averages[left_out], self.averages[self.averages.len() - 1 - left_out]))
    }

    /// Of the test that the centre is 0. Values of exactly 0 count half on either side.
    pub fn p_value(&self) -> f64 {
        let half = 0.5 * self.averages.iter().filter(|a| **a == 0.0).count() as f64;
        let above = self.averages.iter().filter(|a| **a > 0.0).count() as f64 + half;
        let below = self.averages.len() as f64 - above;
        (2.0 * at_most(self.n, above.min(below).floor() as usize)).min(1.0)
    }
}

/// The largest number of averages that may be left out at either end: the chance that the statistic
/// is so small is at most `tail`.
fn left_out(n: usize, tail: f64) -> Option<usize> {
    let tail = tail * (1.0 + 1e-9);
    if n > COUNTED {
        let (mean, deviation) = moments(n);
        let (mut low, mut high) = (0.0, mean);
        // The tail grows with the statistic.
        while high - low > 0.5 {
            let middle = (low + high) / 2.0;
            if normal((middle + 0.5 - mean) / deviation) <= tail {
                low = middle
            } else {
                high = middle
            }
        }
        return Some(low.floor() as usize);
    }
    let mut sum = 0.0;
    let mut found = None;
    for (value, share) in distribution(n).into_iter().enumerate() {
        sum += share;
        if sum > tail {
            break;
        }
        found = Some(value);
    }
    // Where the statistic is at most t with that chance, t averages lie outside: the interval
    // begins with the next.
    found
}

/// The chance that the statistic of `n` values is at most so much.
fn at_most(n: usize, value: usize) -> f64 {
    if n > COUNTED {
        let (mean, deviation) = moments(n);
        return normal((value as f64 + 0.5 - mean) / deviation);
    }
    distribution(n).iter().take(value + 1).sum()
}

/// Mean and deviation of the statistic.
fn moments(n: usize) -> (f64, f64) {
    let n = n as f64;
    (n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt())
}

/// The chance of each value of the statistic: of each sum of ranks when each rank counts or not by
/// the throw of a coin.
fn distribution(n: usize) -> Vec<f64> {
    let mut share = vec![0.0; n * (n + 1) / 2 + 1];
    share[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..share.len()).rev() {
            let with = if sum >= rank { share[sum - rank] } else { 0.0 };
            share[sum] = (share[sum] + with) / 2.0;
        }
    }
    share
}

/// The normal distribution's share below `z`: the error function by Abramowitz and Stegun 7.1.26,
/// off by at most 1.5e-7.
pub(super) fn normal(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let poly = t
        * (0.254_829_592
            + t * (-0.284_496_736
                + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let upper = 0.5 * poly * (-x * x).exp();
    if z > 0.0 { 1.0 - upper } else { upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From tables of the test (two-sided 5 %): none for five values, 0 for six, 2 for seven, 3, 5,
    /// 8, 13 (12 values), 25 (15), 52 (20).
    #[test]
    fn the_critical_values_are_those_of_the_tables() {
        assert_eq!(left_out(5, 0.025), None);
        for (n, critical) in
            [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52), (30, 137)]
        {
            assert_eq!(left_out(n, 0.025), Some(critical), "{n} values");
        }
        // Two-sided 1 %.
        assert_eq!(
            (left_out(7, 0.005), left_out(8, 0.005), left_out(10, 0.005)),
            (None, Some(0), Some(3))
        );
    }

    #[test]
    fn the_normal_approximation_meets_what_is_counted() {
        assert!(
            (normal(-1.959_964) - 0.025).abs() < 1e-6 && (normal(1.959_964) - 0.975).abs() < 1e-6
        );
        let (mean, deviation) = moments(COUNTED);
        let counted = left_out(COUNTED, 0.025).unwrap() as f64;
        assert!((counted - (mean - 1.959_964 * deviation)).abs() < 2.0, "{counted}");
        assert!(left_out(61, 0.025).unwrap() > left_out(60, 0.025).unwrap());
    }

    #[test]
    fn chances_add_up_and_the_test_agrees_with_the_interval() {
        assert!((distribution(9).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let all_above = SignedRank::of(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
        assert!((all_above.p_value() - 2.0 / 64.0).abs() < 1e-12);
        assert!(all_above.interval(0.95).unwrap().0 > 0.0);
        let both = SignedRank::of(&[-0.1, 0.2, -0.3, 0.4, -0.5, 0.6]);
        assert!(both.p_value() > 0.5 && both.interval(0.95).unwrap().0 < 0.0);
        assert_eq!(SignedRank::of(&[0.0; 8]).p_value(), 1.0);
    }
}

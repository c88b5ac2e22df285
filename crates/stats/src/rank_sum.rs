//! The rank sum statistic of two samples that are not paired (Wilcoxon, Mann and Whitney): the
//! Hodges-Lehmann estimate of the shift between them, its interval, the test of no shift.

use super::signed_rank::normal;

/// Up to so many values on a side the distribution of the statistic is counted out; above, the
/// normal one is as good.
const COUNTED: usize = 40;

/// All differences between a value of the one sample and a value of the other.
pub(super) struct RankSum {
    sizes: (usize, usize),
    differences: Vec<f64>,
}

impl RankSum {
    /// By how much the values of `b` lie above those of `a`.
    pub fn of(a: &[f64], b: &[f64]) -> RankSum {
        let mut differences: Vec<f64> =
            a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
        differences.sort_by(f64::total_cmp);
        RankSum { sizes: (a.len(), b.len()), differences }
    }

    /// The median of the differences.
    pub fn shift(&self) -> Option<f64> {
        (!self.differences.is_empty()).then(|| super::middle(&self.differences))
    }

    /// `None` when there are too few values for the confidence.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let tail = (1.0 - confidence) / 2.0 * (1.0 + 1e-9);
        // As many differences lie outside as the statistic may be small with that chance.
        let left_out =
            (0..self.differences.len()).take_while(|u| self.at_most(*u) <= tail).last()?;
        Some((self.differences[left_out], self.differences[self.differences.len() - 1 - left_out]))
    }

    /// Of the test that there is no shift. Differences of exactly 0 count half on either side.
    pub fn p_value(&self) -> f64 {
        let half = 0.5 * self.differences.iter().filter(|d| **d == 0.0).count() as f64;
        let above = self.differences.iter().filter(|d| **d > 0.0).count() as f64 + half;
        let below = self.differences.len() as f64 - above;
        (2.0 * self.at_most(above.min(below).floor() as usize)).min(1.0)
    }

    /// The chance that so many or fewer differences are above 0 when there is no shift.
    fn at_most(&self, value: usize) -> f64 {
        let (m, n) = self.sizes;
        if m.max(n) > COUNTED {
            let (m, n) = (m as f64, n as f64);
            let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
            return normal((value as f64 + 0.5 - m * n / 2.0) / deviation);
        }
        distribution(m, n).iter().take(value + 1).sum()
    }
}

/// The chance of each value of the statistic: of the coefficients of the Gaussian binomial.
fn distribution(m: usize, n: usize) -> Vec<f64> {
    // ways[k][u]: of k values of the one sample chosen among those of both so far, with u pairs in
    // order.
    let top = m * n;
    let mut ways = vec![vec![0.0; top + 1]; m + 1];
    ways[0][0] = 1.0;
    for place in 0..m + n {
        for k in (1..=m.min(place + 1)).rev() {
            // The value at this place comes after `place - (k - 1)` values of the other sample.
            let before = place + 1 - k;
            if before > n {
                continue;
            }
            for u in (before..=top).rev() {
                ways[k][u] += ways[k - 1][u - before];
            }
        }
    }
    let all: f64 = ways[m].iter().sum();
    ways[m].iter().map(|w| w / all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From tables of the test (two-sided 5 %): 5 for (6, 6), 8 for (7, 7), 23 for (10, 10), 37 for
    /// (12, 12), 127 for (20, 20).
    #[test]
    fn the_critical_values_are_those_of_the_tables() {
        for (n, critical) in [(4, 0), (5, 2), (6, 5), (7, 8), (10, 23), (12, 37), (20, 127)] {
            let zeros = RankSum::of(&vec![0.0; n], &vec![0.0; n]);
            let largest = (0..n * n).take_while(|u| zeros.at_most(*u) <= 0.025).last();
            assert_eq!(largest, Some(critical), "{n} and {n}");
        }
        assert!(
            RankSum::of(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).interval(0.95).is_none(),
            "too few"
        );
    }

    #[test]
    fn the_shift_is_found_and_the_test_agrees_with_the_interval() {
        let a: Vec<f64> = (0..8).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|v| v + 20.0).collect();
        let far = RankSum::of(&a, &b);
        assert_eq!(far.shift(), Some(20.0));
        assert!(far.interval(0.95).unwrap().0 > 0.0 && far.p_value() < 0.001);
        let same = RankSum::of(&a, &a);
        let (low, high) = same.interval(0.95).unwrap();
        assert!(low < 0.0 && high > 0.0 && same.p_value() > 0.9);
        // The approximation of large samples meets the count of small ones.
        let (few, many) =
            (RankSum::of(&[0.0; 40], &[0.0; 40]), RankSum::of(&[0.0; 41], &[0.0; 40]));
        assert!((few.at_most(600) - many.at_most(615)).abs() < 0.01);
    }
}

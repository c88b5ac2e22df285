//! Student's t: the interval of the mean of logarithms. It exists from two values on at any
//! confidence, and is exact only where the logarithms are normally distributed: taken where the
//! order of so few values cannot be as sure as is asked for, and never without saying so.

/// The interval of the mean of the values at that confidence. `None` for fewer than two values and
/// for values that are no numbers.
pub(super) fn interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let n = values.len();
    if n < 2 || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1) as f64;
    let half = quantile(1.0 - (1.0 - confidence) / 2.0, n - 1) * (variance / n as f64).sqrt();
    Some((mean - half, mean + half))
}

/// The value below which that share (at least a half) of Student's t of so many degrees of freedom
/// lies.
fn quantile(share: f64, degrees: usize) -> f64 {
    let wanted = 2.0 * share - 1.0;
    let (mut low, mut high) = (0.0, 1.0);
    // No share below 1 needs more: with one degree of freedom the share beyond t is about 1 / (pi
    // t).
    while within(high, degrees) < wanted && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if within(middle, degrees) < wanted { low = middle } else { high = middle }
    }
    high
}

/// The chance of a value between `-t` and `t`: the finite series of Abramowitz and Stegun 26.7.3
/// and 26.7.4.
fn within(t: f64, degrees: usize) -> f64 {
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    // The powers of the cosine in the series: 1, 3, ..., degrees - 2, or 0, 2, ..., degrees - 2.
    let (mut term, mut power) = if odd { (cosine, 1) } else { (1.0, 0) };
    let mut sum = 0.0;
    while power + 2 <= degrees {
        sum += term;
        power += 2;
        term *= cosine * cosine * (power - 1) as f64 / power as f64;
    }
    if odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From tables of the distribution.
    #[test]
    fn the_quantiles_are_those_of_the_tables() {
        for (share, degrees, t) in [
            (0.975, 1, 12.7062),
            (0.975, 2, 4.3027),
            (0.975, 3, 3.1824),
            (0.975, 5, 2.5706),
            (0.995, 5, 4.0321),
            (0.975, 6, 2.4469),
            (0.99, 7, 2.9980),
            (0.9995, 5, 6.8688),
            (0.975, 30, 2.0423),
        ] {
            let found = quantile(share, degrees);
            assert!((found - t).abs() < 1e-4, "{share} of {degrees}: {found}");
        }
    }

    #[test]
    fn the_interval_lies_around_the_mean_and_needs_two_numbers() {
        let (low, high) = interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap();
        // The deviation of these six is the root of 3.5.
        let half = 2.570_58 * (3.5f64 / 6.0).sqrt();
        assert!(
            (low - (3.5 - half)).abs() < 1e-4 && (high - (3.5 + half)).abs() < 1e-4,
            "{low} {high}"
        );
        assert_eq!(interval(&[2.0; 6], 0.999), Some((2.0, 2.0)));
        assert_eq!(interval(&[1.0], 0.95), None);
        assert_eq!(interval(&[1.0, f64::NEG_INFINITY, 2.0], 0.95), None);
    }
}

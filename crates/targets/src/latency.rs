//! Commits one by one from one client, each timed: what one statement's sender waits for.

use crate::LabError;
use crate::work::Figure;
use std::time::{Duration, Instant};

/// Calls `one` for that many milliseconds. The mean in microseconds, the 50th, 95th and 99th
/// percentile, and how many there were.
pub(super) fn latencies(
    ms: u64,
    mut one: impl FnMut(u64) -> Result<(), LabError>,
) -> Result<Vec<Figure>, LabError> {
    let (begin, all) = (Instant::now(), Duration::from_millis(ms));
    let mut times = Vec::new();
    let mut last = Duration::ZERO;
    while last < all || times.is_empty() {
        one(times.len() as u64)?;
        let now = begin.elapsed();
        times.push((now - last).as_secs_f64() * 1e6);
        last = now;
    }
    let count = times.len() as f64;
    let mut figures = vec![Figure::new("us", last.as_secs_f64() * 1e6 / count)];
    for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
        let value = stats::percentile(&mut times, share).unwrap_or(f64::NAN);
        figures.push(Figure::named(name, "us", value));
    }
    figures.push(Figure::named("number", "commits", count));
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_of_the_calls() {
        let mut calls = 0;
        let figures = latencies(30, |n| {
            assert_eq!(n, calls);
            calls += 1;
            std::thread::sleep(Duration::from_millis(1));
            Ok(())
        })
        .unwrap();
        let value = |name: &str| figures.iter().find(|f| f.measure == name).unwrap().value;
        assert_eq!(value("number"), calls as f64);
        assert!(
            value("p50") >= 1_000.0 && value("p50") <= value("p95") && value("p95") <= value("p99")
        );
        assert!((value("") * value("number") - 30_000.0).abs() < 30_000.0);
        assert_eq!(latencies(0, |_| Ok(())).unwrap()[4].value, 1.0, "one at least");
        assert!(latencies(10, |_| Err(LabError::TimeLimit(1))).is_err());
    }
}

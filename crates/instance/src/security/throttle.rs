//! Repeated failures to log in, by login and address: after five of them the next attempts are
//! refused unread, for a second, two, four, up to a minute. Guarantee: what is kept is bounded, and
//! the failures of one address never keep another address out.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use compact_str::CompactString;
use parking_lot::Mutex;

/// Failures before anyone has to wait.
const FREE: u32 = 5;
/// Longest time to wait.
const LONGEST: Duration = Duration::from_secs(60);
/// After so long without a failure they are forgotten.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// Pairs that are kept.
const KEPT: usize = 10_000;

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Failures {
    fn wait(&self) -> Duration {
        match self.count.checked_sub(FREE) {
            None => Duration::ZERO,
            Some(beyond) => Duration::from_secs(1 << beyond.min(6)).min(LONGEST),
        }
    }
}

/// What is remembered of failures.
#[derive(Default)]
pub struct Throttle {
    failures: Mutex<HashMap<(CompactString, CompactString), Failures>>,
}

impl Throttle {
    /// Whether an attempt is refused at this moment.
    pub fn refuses(&self, login: &str, address: &str, now: Instant) -> bool {
        let failures = self.failures.lock();
        let found = failures.get(&(catalog::fold_name(login), address.into()));
        found.is_some_and(|f| now.saturating_duration_since(f.last) < f.wait())
    }

    /// An attempt has failed.
    pub fn failed(&self, login: &str, address: &str, now: Instant) {
        let mut failures = self.failures.lock();
        if failures.len() >= KEPT {
            failures.retain(|_, f| now.saturating_duration_since(f.last) < FORGOTTEN);
            if failures.len() >= KEPT {
                failures.clear();
            }
        }
        let entry = failures.entry((catalog::fold_name(login), address.into()));
        let entry = entry.or_insert(Failures { count: 0, last: now });
        if now.saturating_duration_since(entry.last) >= FORGOTTEN {
            entry.count = 0;
        }
        (entry.count, entry.last) = (entry.count.saturating_add(1), now);
    }

    /// An attempt has succeeded.
    pub fn succeeded(&self, login: &str, address: &str) {
        self.failures.lock().remove(&(catalog::fold_name(login), address.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end() {
        let throttle = Throttle::default();
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        for _ in 0..4 {
            throttle.failed("sa", "10.0.0.1", start);
            assert!(!throttle.refuses("SA", "10.0.0.1", start));
        }
        throttle.failed("Sa", "10.0.0.1", start);
        assert!(throttle.refuses("sa", "10.0.0.1", start));
        assert!(
            !throttle.refuses("sa", "10.0.0.2", start) && !throttle.refuses("x", "10.0.0.1", start)
        );
        assert!(!throttle.refuses("sa", "10.0.0.1", after(1)));
        throttle.failed("sa", "10.0.0.1", after(1));
        assert!(
            throttle.refuses("sa", "10.0.0.1", after(2))
                && !throttle.refuses("sa", "10.0.0.1", after(3))
        );
        for _ in 0..50 {
            throttle.failed("sa", "10.0.0.1", after(10));
        }
        assert!(
            throttle.refuses("sa", "10.0.0.1", after(69))
                && !throttle.refuses("sa", "10.0.0.1", after(71))
        );
        throttle.succeeded("sa", "10.0.0.1");
        assert!(!throttle.refuses("sa", "10.0.0.1", after(10)));
        throttle.failed("sa", "10.0.0.1", after(10));
        assert!(!throttle.refuses("sa", "10.0.0.1", after(10)));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let throttle = Throttle::default();
        for i in 0..3 * KEPT {
            throttle.failed(&format!("login{i}"), "10.0.0.1", Instant::now());
        }
        assert!(throttle.failures.lock().len() <= KEPT);
    }
}

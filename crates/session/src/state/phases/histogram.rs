//! Times by their length: how many there were, their sum, the longest, and how many in each class.
//! Guarantee: a class is at most a quarter as wide as the times in it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Classes of times: for each power of two of nanoseconds four. The last one has no bound: 2^41, 37
/// minutes.
pub const TIME_CLASSES: usize = 160;

/// The class of a time in nanoseconds.
fn class_of(ns: u64) -> usize {
    if ns < 4 {
        return ns as usize;
    }
    let power = ns.ilog2() as usize;
    let quarter = (ns >> (power - 2)) as usize & 3;
    ((power - 1) * 4 + quarter).min(TIME_CLASSES - 1)
}

/// The least time in nanoseconds that is above a class.
pub fn class_bound(class: usize) -> u64 {
    if class < 4 {
        return class as u64 + 1;
    }
    let (power, quarter) = (class / 4 + 1, class as u64 % 4);
    (5 + quarter) << (power - 2)
}

/// The time in nanoseconds that so large a part of what was counted does not exceed; none where
/// nothing was.
pub fn percentile(classes: &[u64], part: f64) -> Option<u64> {
    let all: u64 = classes.iter().sum();
    let wanted = ((all as f64 * part).ceil() as u64).max(1);
    let mut seen = 0;
    let reached = |count: &u64| {
        seen += count;
        seen >= wanted
    };
    classes.iter().position(reached).map(class_bound)
}

/// Times of one kind, as they were counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedTimes {
    pub total_ns: u64,
    pub longest_ns: u64,
    /// How many there were by their length.
    pub classes: Vec<u64>,
}

impl CountedTimes {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// The time that so large a part of them does not exceed; none where there are none.
    pub fn percentile(&self, part: f64) -> Option<u64> {
        // The bound of a class may be above the longest of all.
        percentile(&self.classes, part).map(|ns| ns.min(self.longest_ns))
    }

    /// The longest; none where there are none.
    pub fn longest(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.longest_ns)
    }
}

/// Times of one kind, as threads count them.
pub(super) struct Histogram {
    total_ns: AtomicU64,
    longest_ns: AtomicU64,
    classes: [AtomicU64; TIME_CLASSES],
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            total_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
            classes: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Histogram {
    pub(super) fn add(&self, ns: u64) {
        self.total_ns.fetch_add(ns, Relaxed);
        self.longest_ns.fetch_max(ns, Relaxed);
        self.classes[class_of(ns)].fetch_add(1, Relaxed);
    }

    pub(super) fn clear(&self) {
        let counters = [&self.total_ns, &self.longest_ns].into_iter().chain(&self.classes);
        counters.for_each(|counter| counter.store(0, Relaxed));
    }

    /// What several have counted.
    pub(super) fn sum<'a>(parts: impl Iterator<Item = &'a Histogram>) -> CountedTimes {
        let mut times = CountedTimes { classes: vec![0; TIME_CLASSES], ..CountedTimes::default() };
        for part in parts {
            times.total_ns += part.total_ns.load(Relaxed);
            times.longest_ns = times.longest_ns.max(part.longest_ns.load(Relaxed));
            for (sum, class) in times.classes.iter_mut().zip(&part.classes) {
                *sum += class.load(Relaxed);
            }
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_one_another_and_are_a_quarter_wide() {
        for ns in (0..5_000).chain([1 << 20, (1 << 33) - 1, 1 << 33, (1 << 40) + 12_345]) {
            let class = class_of(ns);
            assert!(ns < class_bound(class), "{ns}");
            assert!(class == 0 || ns >= class_bound(class - 1), "{ns}");
            assert!(ns < 4 || class_bound(class) - class_bound(class - 1) <= ns / 4, "{ns}");
        }
        assert_eq!(class_of(u64::MAX), TIME_CLASSES - 1);
    }

    #[test]
    fn percentiles_are_bounds_of_classes() {
        let mut classes = vec![0; TIME_CLASSES];
        assert_eq!(percentile(&classes, 0.5), None);
        (classes[class_of(100)], classes[class_of(1_000)]) = (99, 1);
        assert_eq!(percentile(&classes, 0.5), Some(112));
        assert_eq!(percentile(&classes, 0.99), Some(112));
        assert_eq!(percentile(&classes, 1.0), Some(1_024));
    }

    #[test]
    fn the_longest_bounds_percentiles() {
        let histogram = Histogram::default();
        let none = Histogram::sum([&histogram].into_iter());
        assert_eq!((none.count(), none.percentile(0.5), none.longest()), (0, None, None));
        histogram.add(100);
        let two = [&histogram, &Histogram::default()];
        let times = Histogram::sum(two.into_iter());
        assert_eq!((times.count(), times.total_ns), (1, 100));
        assert_eq!((times.percentile(0.5), times.longest()), (Some(100), Some(100)));
        histogram.clear();
        assert_eq!(Histogram::sum([&histogram].into_iter()), none);
    }
}

//! How late the host was: requests that ended later than the model said. A run with many of them
//! measured the machine below and not the modelled device, so reports with figures of a model must
//! contain these counts too.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A request is late when it ends this much after the model's time ...
pub const LATE_AFTER: Duration = Duration::from_micros(25);
/// ... or after this share of the time that it took in the model, whichever is longer.
pub const LATE_SHARE: f64 = 0.05;

/// How many requests the real machine kept longer than the model, and for how long. Times are real
/// ones (a device's clock may run faster or slower).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostLate {
    /// Requests that a caller waited for.
    pub requests: u64,
    /// Requests that were late: by more than [`LATE_AFTER`] and more than [`LATE_SHARE`] of their
    /// own time.
    pub late: u64,
    /// Microseconds that requests took in the model, in all.
    pub modelled_us: u64,
    /// Microseconds by which they ended after the model's time, in all, including delays within the
    /// tolerance.
    pub late_us: u64,
}

/// The counters of one device. Nanoseconds, so that many short delays add up.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    requests: AtomicU64,
    late: AtomicU64,
    modelled_ns: AtomicU64,
    late_ns: AtomicU64,
}

impl Lateness {
    /// Counts a request that should have taken `modelled` and ended `after` that.
    pub fn note(&self, modelled: Duration, after: Duration) {
        self.requests.fetch_add(1, Relaxed);
        self.modelled_ns.fetch_add(modelled.as_nanos() as u64, Relaxed);
        self.late_ns.fetch_add(after.as_nanos() as u64, Relaxed);
        if after > LATE_AFTER.max(modelled.mul_f64(LATE_SHARE)) {
            self.late.fetch_add(1, Relaxed);
        }
    }

    /// What was counted so far.
    pub fn counts(&self) -> HostLate {
        HostLate {
            requests: self.requests.load(Relaxed),
            late: self.late.load(Relaxed),
            modelled_us: self.modelled_ns.load(Relaxed) / 1_000,
            late_us: self.late_ns.load(Relaxed) / 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Request, Timeline, builtin};

    /// A host with a virtual clock: every tenth request of a disk ends a millisecond late, the
    /// others within the tolerance.
    #[test]
    fn late_requests_are_counted_with_a_virtual_clock() {
        let mut disk = Timeline::new(&builtin("hdd-7200").expect("built in"));
        let lateness = Lateness::default();
        let mut now = 0;
        for i in 0..100 {
            let due = disk.submit(now, Request::Write { pos: i * 4096, len: 4096, durable: true });
            let delay = if i % 10 == 9 { 1_000_000 } else { 20_000 };
            let ended = due + delay;
            lateness.note(Duration::from_nanos(due - now), Duration::from_nanos(ended - due));
            now = ended;
        }
        let counts = lateness.counts();
        assert_eq!((counts.requests, counts.late, counts.late_us), (100, 10, 11_800));
        assert_eq!(
            counts.modelled_us + counts.late_us,
            now / 1_000,
            "every moment is in one of the two"
        );
    }

    #[test]
    fn the_tolerance_is_the_longer_of_the_two() {
        let late = |modelled_us, after_us| {
            let lateness = Lateness::default();
            lateness.note(Duration::from_micros(modelled_us), Duration::from_micros(after_us));
            lateness.counts().late == 1
        };
        assert_eq!((late(46, 25), late(46, 26)), (false, true), "25 us for short requests");
        assert_eq!((late(8_000, 400), late(8_000, 401)), (false, true), "5 % of long ones");
    }
}

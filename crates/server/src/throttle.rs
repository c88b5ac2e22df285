//! Slows down those who try passwords: after some failures from an address, each further answer to
//! a failed login waits longer. Guarantees: memory is bounded whatever addresses come; a login that
//! succeeds is never delayed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Failures that are answered at once.
const FREE: u32 = 3;
/// The first delay; it doubles with each failure.
const FIRST: Duration = Duration::from_millis(250);
/// The longest delay.
const LONGEST: Duration = Duration::from_secs(8);
/// Failures are forgotten after so long without another one.
const FORGET: Duration = Duration::from_secs(60);
/// Most addresses that are remembered.
const ADDRESSES: usize = 10_000;

/// Failed logins by address.
pub struct Throttle {
    failures: Mutex<HashMap<IpAddr, (u32, Instant)>>,
}

impl Throttle {
    /// No failures yet.
    pub fn new() -> Throttle {
        Throttle { failures: Mutex::default() }
    }

    /// A login from this address has failed; how long its answer must wait.
    pub fn failed(&self, address: IpAddr) -> Duration {
        self.failed_at(address, Instant::now())
    }

    fn failed_at(&self, address: IpAddr, now: Instant) -> Duration {
        let mut failures = self.failures.lock();
        if failures.len() >= ADDRESSES && !failures.contains_key(&address) {
            failures.retain(|_, (_, last)| now.saturating_duration_since(*last) < FORGET);
            if failures.len() >= ADDRESSES {
                // More addresses than are remembered: all of them wait.
                return LONGEST;
            }
        }
        let (count, last) = failures.entry(address).or_insert((0, now));
        if now.saturating_duration_since(*last) >= FORGET {
            *count = 0;
        }
        *count += 1;
        *last = now;
        match count.checked_sub(FREE + 1) {
            None => Duration::ZERO,
            Some(n) => FIRST.saturating_mul(1 << n.min(16)).min(LONGEST),
        }
    }

    /// A login from this address has succeeded.
    pub fn succeeded(&self, address: IpAddr) {
        self.failures.lock().remove(&address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_are_forgotten() {
        let throttle = Throttle::new();
        let (address, now) = (IpAddr::from([10, 0, 0, 1]), Instant::now());
        let delays: Vec<_> = (0..12).map(|_| throttle.failed_at(address, now)).collect();
        assert_eq!(delays[..4], [Duration::ZERO, Duration::ZERO, Duration::ZERO, FIRST]);
        assert!(delays.is_sorted() && delays[11] == LONGEST);
        assert_eq!(throttle.failed_at(IpAddr::from([10, 0, 0, 2]), now), Duration::ZERO);
        assert_eq!(throttle.failed_at(address, now + FORGET), Duration::ZERO);
        throttle.failed_at(address, now);
        throttle.succeeded(address);
        assert_eq!(throttle.failed_at(address, now), Duration::ZERO);
    }

    #[test]
    fn addresses_are_bounded() {
        let throttle = Throttle::new();
        let now = Instant::now();
        for n in 0..ADDRESSES as u32 {
            throttle.failed_at(IpAddr::from(n.to_be_bytes()), now);
        }
        assert_eq!(throttle.failed_at(IpAddr::from([255, 0, 0, 1]), now), LONGEST);
        assert_eq!(throttle.failures.lock().len(), ADDRESSES);
        assert_eq!(throttle.failed_at(IpAddr::from([255, 0, 0, 1]), now + FORGET), Duration::ZERO);
    }
}

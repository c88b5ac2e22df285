//! How long a page stays in the pool, from how fast frames are given to other pages.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Steps into which a turnover of the pool is divided.
const TURNOVER_STEPS: u64 = 16;

/// When the pool's frames were evicted: the time of every sixteenth of a turnover.
pub(crate) struct Turnover {
    born: Instant,
    /// Evictions of a step.
    step: u64,
    /// Milliseconds since birth at which the last steps ended, by number of the step.
    ends: [AtomicU64; TURNOVER_STEPS as usize],
}

impl Turnover {
    pub(super) fn new(frames: u32) -> Turnover {
        let step = (u64::from(frames) / TURNOVER_STEPS).max(1);
        Turnover { born: Instant::now(), step, ends: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Eviction number `n`, from 1, has happened.
    pub fn evicted(&self, n: u64) {
        if n.is_multiple_of(self.step) {
            let at = (n / self.step % TURNOVER_STEPS) as usize;
            self.ends[at].store(self.born.elapsed().as_millis() as u64, Ordering::Relaxed);
        }
    }

    pub(super) fn life(&self, evictions: u64) -> Duration {
        let age = self.born.elapsed();
        let steps = evictions / self.step;
        if steps < TURNOVER_STEPS {
            return age;
        }
        // The oldest one kept is the next to be overwritten.
        let oldest = self.ends[((steps + 1) % TURNOVER_STEPS) as usize].load(Ordering::Relaxed);
        age.saturating_sub(Duration::from_millis(oldest))
    }
}

//! How many writes of a file had exactly which size: the small ones, whose sizes show how a log is
//! written. Relaxed atomics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sizes are distinguished in units of so many bytes, the smallest sector.
const UNIT: u64 = 512;
/// Up to so many units: 64 KiB, the largest log block.
const UNITS: usize = 128;

/// Counts of writes by their exact size, of multiples of 512 bytes up to 64 KiB; others are not
/// counted here.
#[derive(Debug)]
pub struct WriteSizes([AtomicU64; UNITS]);

impl Default for WriteSizes {
    fn default() -> WriteSizes {
        WriteSizes(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl WriteSizes {
    /// Counts one write.
    pub(crate) fn count(&self, bytes: u64) {
        let units = bytes / UNIT;
        if bytes.is_multiple_of(UNIT) && (1..=UNITS as u64).contains(&units) {
            self.0[units as usize - 1].fetch_add(1, Relaxed);
        }
    }

    /// Sizes in bytes that occurred, ascending, and how often each did.
    pub fn snapshot(&self) -> Vec<(u64, u64)> {
        let counts =
            self.0.iter().zip(1..).map(|(count, units)| (units * UNIT, count.load(Relaxed)));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_whole_sizes_are_told_apart() {
        let sizes = WriteSizes::default();
        for bytes in [512, 3584, 3584, 65_536, 0, 100, 66_048, 1 << 30] {
            sizes.count(bytes);
        }
        assert_eq!(sizes.snapshot(), [(512, 1), (3584, 2), (65_536, 1)]);
    }
}

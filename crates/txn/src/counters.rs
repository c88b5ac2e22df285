//! How many transactions a database has seen. Each thread counts in a part that few others have.
//! Guarantee: a sum that is taken while nobody counts is exact.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::live::thread_number;

/// Parts, each on lines of its own: every transaction counts.
const PARTS: usize = 16;

#[derive(Debug, Default)]
#[repr(align(128))]
struct CounterPart {
    begun: AtomicU64,
    committed: AtomicU64,
}

/// Transactions since the database was opened.
#[derive(Debug, Default)]
pub struct TxnCounters([CounterPart; PARTS]);

impl TxnCounters {
    fn own(&self) -> &CounterPart {
        &self.0[thread_number() % PARTS]
    }

    /// One has begun, whether it will write or not.
    #[inline]
    pub(crate) fn begins(&self) {
        self.own().begun.fetch_add(1, Relaxed);
    }

    /// One has committed after it had written.
    #[inline]
    pub(crate) fn commits(&self) {
        self.own().committed.fetch_add(1, Relaxed);
    }

    /// Begun, whether they wrote or not.
    pub fn begun(&self) -> u64 {
        self.0.iter().map(|part| part.begun.load(Relaxed)).sum()
    }

    /// Committed after they had written.
    pub fn committed(&self) -> u64 {
        self.0.iter().map(|part| part.committed.load(Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_together() {
        let counters = TxnCounters::default();
        std::thread::scope(|scope| {
            for thread in 0..2 * PARTS {
                let counters = &counters;
                scope.spawn(move || {
                    for n in 0..100 {
                        counters.begins();
                        if n % 2 == 0 && thread % 2 == 0 {
                            counters.commits();
                        }
                    }
                });
            }
        });
        let threads = 2 * PARTS as u64;
        assert_eq!((counters.begun(), counters.committed()), (threads * 100, threads / 2 * 50));
    }
}

//! Memory ahead of need: a fresh frame has its memory from the system before somebody fills it.
//!
//! The system gives memory at the first touch, and on a virtual machine that can take as long as
//! what is done with the page (seconds for a gigabyte). The lazy writer, which has nothing to write
//! while frames are fresh, touches it first: half as much ahead as is in use, within limits, so
//! that a small instance stays small.

use super::frames::Frames;
use std::sync::atomic::{AtomicU32, Ordering};

/// Frames that are provided for at once, and least ahead: 2 MB.
const STEP: u32 = 256;
/// Most ahead: 32 MB.
const MOST: u32 = 4096;
/// All frames have their memory, or the system does not give it ahead.
const DONE: u32 = u32::MAX;

/// How far the frames, which are used in order at first, have their memory.
#[derive(Debug, Default)]
pub(super) struct MemoryAhead {
    used: AtomicU32,
    taken: AtomicU32,
}

/// Frames to have ready after so many used ones.
fn distance(used: u32) -> u32 {
    (used / 2).clamp(STEP, MOST)
}

impl MemoryAhead {
    /// Nothing is left to be done.
    pub fn done() -> MemoryAhead {
        MemoryAhead { used: AtomicU32::new(0), taken: AtomicU32::new(DONE) }
    }

    /// A frame is used. True when memory should be taken for those after it.
    pub fn uses(&self, i: u32) -> bool {
        if i.saturating_add(distance(i) / 2) < self.taken.load(Ordering::Relaxed) {
            return false;
        }
        self.used.fetch_max(i + 1, Ordering::Relaxed);
        true
    }

    /// Takes the memory that is wanted by now, for at most so many frames. One thread at a time.
    pub fn take(&self, frames: &Frames, most: u32) {
        loop {
            let taken = self.taken.load(Ordering::Relaxed);
            let used = self.used.load(Ordering::Relaxed);
            if taken >= used.saturating_add(distance(used).min(most)) {
                return;
            }
            let end = taken.saturating_add(STEP).min(frames.len());
            let more = frames.take_memory(taken..end) && end < frames.len();
            self.taken.store(if more { end } else { DONE }, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_stays_ahead_of_use() {
        let (frames, ahead) = (Frames::new(3 * MOST).unwrap(), MemoryAhead::default());
        let mut takes = 0;
        for i in 0..frames.len() {
            frames.page_mut(i).bytes_mut()[7] = i as u8;
            if ahead.uses(i) {
                ahead.take(&frames, u32::MAX);
                takes += 1;
            }
            let taken = ahead.taken.load(Ordering::Relaxed);
            assert!(taken > i + distance(i) / 2, "frame {i}: {taken}");
            assert!(taken == DONE || taken <= i + 1 + distance(i + 1) + STEP, "frame {i}: {taken}");
        }
        assert!(takes < 40, "{takes}");
        assert_eq!(ahead.taken.load(Ordering::Relaxed), DONE);
        // Taking memory changes nothing in it.
        assert!((0..frames.len()).all(|i| frames.page(i).bytes()[7] == i as u8));
        assert!(!ahead.uses(5) && !MemoryAhead::done().uses(0));
    }
}

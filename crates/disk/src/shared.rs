//! A buffer that many threads fill at once: space is claimed by one atomic step, copied in
//! parallel, then read shared.
//!
//! Life of a buffer: open (claims) -> sealed (no new claim) -> finishing (one thread writes front
//! and back) -> finished (read only). [`SharedBuf::reset`] needs `&mut` and opens it again.
//!
//! # Why this is sound behind a safe interface
//! - A claim's range is handed out once: `used` only grows and the claim that moved it owns the
//!   difference.
//! - An item is readable only after its claim published it (release) and the reader saw that
//!   (acquire); from then on no thread writes those bytes until `reset`, which excludes all
//!   borrowers.
//! - Front (before the first item) and back (after the last one) are written only inside
//!   [`SharedBuf::finish`], by the one thread that moves the phase from sealed to finishing, and
//!   read only in the phase finished.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::allocator::{hand_over, take_over};
use crate::buf::AlignedBuf;
use crate::prefetch::prefetch_to_write;

const USED_BITS: u32 = 20;
const ITEM_BITS: u32 = 16;
const PHASE_SHIFT: u32 = USED_BITS + ITEM_BITS;
const OPEN: u64 = 0;
const SEALED: u64 = 1;
const FINISHING: u64 = 2;
const FINISHED: u64 = 3;

/// How far ahead of the items memory is brought near: some short items, so about as long as it
/// takes.
const BYTES_AHEAD: usize = 256;
const ITEMS_AHEAD: usize = 16;

#[derive(Clone, Copy)]
struct FillState {
    used: usize,
    items: usize,
    phase: u64,
}

impl FillState {
    fn unpack(word: u64) -> FillState {
        FillState {
            used: (word & ((1 << USED_BITS) - 1)) as usize,
            items: ((word >> USED_BITS) & ((1 << ITEM_BITS) - 1)) as usize,
            phase: word >> PHASE_SHIFT,
        }
    }

    fn pack(self) -> u64 {
        debug_assert!(self.used < 1 << USED_BITS && self.items < 1 << ITEM_BITS);
        self.used as u64 | (self.items as u64) << USED_BITS | self.phase << PHASE_SHIFT
    }
}

/// Why there is no claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimError {
    /// The rest of the buffer or of the item table is too small.
    Full,
    /// The buffer accepts no more items.
    Sealed,
}

/// Fixed-size buffer of at most 65,536 bytes with up to a fixed number of items.
pub struct SharedBuf {
    mem: AlignedBuf,
    state: AtomicU64,
    /// Bytes of items that are published; equal to `used - front` when all claims are done.
    filled: AtomicU32,
    /// start << 16 | end of each published item; 0 until it is published.
    ranges: Box<[AtomicU32]>,
    front: usize,
    limit: usize,
    item_cost: usize,
}

impl SharedBuf {
    /// A buffer of `len` bytes (at most 65,536) for at most `items` items. It is sealed and empty
    /// until `reset`.
    pub fn new(len: usize, items: usize) -> Self {
        assert!(len <= 1 << 16 && items < 1 << ITEM_BITS, "shared buffer too large");
        let buffer = SharedBuf {
            mem: AlignedBuf::new(len),
            state: AtomicU64::new(FillState { used: 0, items: 0, phase: SEALED }.pack()),
            filled: AtomicU32::new(0),
            ranges: (0..items).map(|_| AtomicU32::new(0)).collect(),
            front: 0,
            limit: 0,
            item_cost: 0,
        };
        hand_over(buffer.allocated());
        buffer
    }

    /// Bytes of its allocations.
    fn allocated(&self) -> usize {
        self.mem.len() + size_of_val(&self.ranges[..])
    }

    /// Length of the buffer in bytes.
    pub fn capacity(&self) -> usize {
        self.mem.len()
    }

    /// Empties and opens the buffer: items start at `front` (at least 1), and items plus
    /// `item_cost` bytes for each plus the front must stay within `limit`. Items must end within
    /// the first 65,535 bytes.
    pub fn reset(&mut self, front: usize, limit: usize, item_cost: usize) {
        assert!(
            front > 0 && front <= self.mem.len() && limit <= self.mem.len(),
            "bad shared buffer layout"
        );
        assert!(
            limit.saturating_sub(item_cost) <= u16::MAX as usize,
            "items would end too far behind"
        );
        let old = FillState::unpack(*self.state.get_mut());
        for range in &mut self.ranges[..old.items] {
            *range.get_mut() = 0;
        }
        *self.filled.get_mut() = 0;
        *self.state.get_mut() = FillState { used: front, items: 0, phase: OPEN }.pack();
        self.front = front;
        self.limit = limit;
        self.item_cost = item_cost;
    }

    /// Claims `len` bytes for one item. The claim must be filled; until then the buffer is not
    /// complete.
    #[inline]
    pub fn claim(&self, len: usize) -> Result<RangeClaim<'_>, ClaimError> {
        let mut word = self.state.load(Ordering::Relaxed);
        loop {
            let now = FillState::unpack(word);
            if now.phase != OPEN {
                return Err(ClaimError::Sealed);
            }
            let need =
                now.used.saturating_add(len).saturating_add(self.item_cost * (now.items + 1));
            if need > self.limit || now.items >= self.ranges.len() {
                return Err(ClaimError::Full);
            }
            let next = FillState { used: now.used + len, items: now.items + 1, phase: OPEN };
            match self.state.compare_exchange_weak(
                word,
                next.pack(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.prefetch_behind(next);
                    return Ok(RangeClaim { buf: self, at: now.used, len, item: now.items });
                }
                Err(current) => word = current,
            }
        }
    }

    /// Brings near what the next items will be written to. A buffer that is used again is long out
    /// of the caches, and the atomic step that publishes an item waits until all its bytes are
    /// written.
    #[inline]
    fn prefetch_behind(&self, state: FillState) {
        let at = (state.used + BYTES_AHEAD).min(self.mem.len() - 1);
        prefetch_to_write(self.mem.base().as_ptr().wrapping_add(at));
        if let Some(range) = self.ranges.get(state.items + ITEMS_AHEAD) {
            prefetch_to_write(std::ptr::from_ref(range).cast());
        }
    }

    /// Closes the buffer for new claims. Returns the number of items, or `None` if it was sealed
    /// before.
    pub fn seal(&self) -> Option<usize> {
        let mut word = self.state.load(Ordering::Relaxed);
        loop {
            let now = FillState::unpack(word);
            if now.phase != OPEN {
                return None;
            }
            let next = FillState { phase: SEALED, ..now };
            match self.state.compare_exchange_weak(
                word,
                next.pack(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(now.items),
                Err(current) => word = current,
            }
        }
    }

    /// Number of items claimed so far.
    pub fn items(&self) -> usize {
        FillState::unpack(self.state.load(Ordering::Acquire)).items
    }

    /// Offset of the end of the last claimed item.
    pub fn used(&self) -> usize {
        FillState::unpack(self.state.load(Ordering::Acquire)).used
    }

    /// True if the buffer is sealed and every claim is filled.
    pub fn is_complete(&self) -> bool {
        let now = FillState::unpack(self.state.load(Ordering::Acquire));
        now.phase != OPEN && self.filled.load(Ordering::Acquire) as usize == now.used - self.front
    }

    /// The bytes of a published item.
    pub fn item(&self, item: usize) -> Option<&[u8]> {
        let range = self.ranges.get(item)?.load(Ordering::Acquire);
        if range == 0 {
            return None;
        }
        let (start, end) = ((range >> 16) as usize, (range & 0xFFFF) as usize);
        debug_assert!(start >= self.front && start <= end && end <= self.limit);
        // SAFETY: the range was published after its only writer finished (acquire above pairs with
        // the release in Claim::publish), lies within the allocation, and is written again only
        // after reset(&mut self).
        Some(unsafe {
            std::slice::from_raw_parts(self.mem.base().as_ptr().add(start), end - start)
        })
    }

    /// Start offset of a published item.
    pub fn item_start(&self, item: usize) -> Option<usize> {
        let range = self.ranges.get(item)?.load(Ordering::Acquire);
        (range != 0).then_some((range >> 16) as usize)
    }

    /// Lets one thread write what surrounds the items: `f(front, items, back)`. Returns `None`
    /// without calling `f` unless the buffer is complete and not yet finished. Afterwards
    /// [`bytes`](Self::bytes) returns the whole buffer.
    pub fn finish<T>(&self, f: impl FnOnce(&mut [u8], &[u8], &mut [u8]) -> T) -> Option<T> {
        if !self.is_complete() {
            return None;
        }
        let now = FillState::unpack(self.state.load(Ordering::Acquire));
        if now.phase != SEALED || now.used == 0 {
            return None;
        }
        let finishing = FillState { phase: FINISHING, ..now };
        self.state
            .compare_exchange(now.pack(), finishing.pack(), Ordering::AcqRel, Ordering::Relaxed)
            .ok()?;
        let base = self.mem.base().as_ptr();
        // SAFETY: three disjoint parts of one allocation. All claims are published, so no thread
        // writes the middle; front and back are touched only by the one thread that won the step to
        // FINISHING and read only once FINISHED.
        let (front, middle, back) = unsafe {
            (
                std::slice::from_raw_parts_mut(base, self.front),
                std::slice::from_raw_parts(base.add(self.front), now.used - self.front),
                std::slice::from_raw_parts_mut(base.add(now.used), self.mem.len() - now.used),
            )
        };
        let result = f(front, middle, back);
        self.state.store(FillState { phase: FINISHED, ..now }.pack(), Ordering::Release);
        Some(result)
    }

    /// The whole buffer, once finished.
    pub fn bytes(&self) -> Option<&[u8]> {
        let now = FillState::unpack(self.state.load(Ordering::Acquire));
        // In the phase FINISHED no writer is left until reset(&mut self).
        (now.phase == FINISHED).then_some(&self.mem[..])
    }
}

impl fmt::Debug for SharedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = FillState::unpack(self.state.load(Ordering::Relaxed));
        f.debug_struct("SharedBuf")
            .field("used", &now.used)
            .field("items", &now.items)
            .field("phase", &now.phase)
            .finish_non_exhaustive()
    }
}

/// The right to fill one range of a [`SharedBuf`].
#[derive(Debug)]
pub struct RangeClaim<'a> {
    buf: &'a SharedBuf,
    at: usize,
    len: usize,
    item: usize,
}

impl RangeClaim<'_> {
    /// Index of the item, from 0.
    pub fn item(&self) -> usize {
        self.item
    }

    /// Copies the parts one after the other and publishes the item; together they must have the
    /// claimed length.
    #[inline]
    pub fn fill(self, parts: &[&[u8]]) {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        assert_eq!(total, self.len, "a claim must be filled exactly");
        let mut at = self.at;
        for part in parts {
            // SAFETY: at..at + part.len() lies inside this claim's range (the sum is checked
            // above), which no other thread reads or writes before it is published; a part cannot
            // overlap the unpublished range.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    part.as_ptr(),
                    self.buf.mem.base().as_ptr().add(at),
                    part.len(),
                );
            }
            at += part.len();
        }
        // Dropping the claim publishes the item.
    }
}

impl Drop for RangeClaim<'_> {
    /// Publishes the item, filled or not: an abandoned claim must not keep the buffer incomplete
    /// for ever.
    #[inline]
    fn drop(&mut self) {
        let range = (self.at as u32) << 16 | (self.at + self.len) as u32;
        self.buf.ranges[self.item].store(range, Ordering::Release);
        self.buf.filled.fetch_add(self.len as u32, Ordering::AcqRel);
    }
}

/// Whichever thread it is.
impl Drop for SharedBuf {
    fn drop(&mut self) {
        take_over(self.allocated());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_fill_disjoint_ranges() {
        const ROUNDS: usize = if cfg!(miri) { 2 } else { 20 };
        let mut buf = SharedBuf::new(61_440, 4096);
        for round in 0..ROUNDS {
            buf.reset(64, 61_440, 2);
            let shared = &buf;
            std::thread::scope(|scope| {
                for thread in 0..4u8 {
                    scope.spawn(move || {
                        let mut len = 1 + thread as usize;
                        while let Ok(claim) = shared.claim(len) {
                            let item = claim.item();
                            let half = vec![thread; len / 2];
                            let rest = vec![thread; len - len / 2];
                            claim.fill(&[&half, &rest]);
                            assert!(
                                shared.item(item).is_some_and(
                                    |b| b.len() == len && b.iter().all(|&x| x == thread)
                                )
                            );
                            len = 1 + (len * 7 + round) % 90;
                        }
                    });
                }
            });
            let items = buf.seal().expect("sealed once");
            assert!(buf.seal().is_none() && buf.is_complete());
            assert_eq!(buf.claim(1).err(), Some(ClaimError::Sealed));
            let mut at = 64;
            for item in 0..items {
                assert_eq!(buf.item_start(item), Some(at));
                at += buf.item(item).map_or(0, <[u8]>::len);
            }
            assert_eq!(at, buf.used());
            assert!(buf.bytes().is_none());
            assert_eq!(
                buf.finish(|front, middle, back| front.len() + middle.len() + back.len()),
                Some(61_440)
            );
            assert!(buf.finish(|_, _, _| ()).is_none());
            assert!(buf.bytes().is_some());
        }
    }

    #[test]
    fn limits_hold() {
        let mut buf = SharedBuf::new(4096, 3);
        assert_eq!(buf.claim(1).err(), Some(ClaimError::Sealed));
        buf.reset(16, 100, 2);
        assert_eq!(buf.claim(83).err(), Some(ClaimError::Full));
        drop(buf.claim(82));
        assert_eq!(buf.claim(1).err(), Some(ClaimError::Full));
        buf.reset(16, 4096, 2);
        for _ in 0..3 {
            drop(buf.claim(1));
        }
        assert_eq!(buf.claim(1).err(), Some(ClaimError::Full));
        assert!(!buf.is_complete(), "still open");
    }

    #[test]
    fn the_largest_buffer_is_used_to_its_end() {
        let mut buf = SharedBuf::new(1 << 16, 4096);
        buf.reset(72, 1 << 16, 2);
        let most = (1 << 16) - 72 - 2;
        assert_eq!(buf.claim(most + 1).err(), Some(ClaimError::Full));
        buf.claim(most).expect("all of it").fill(&[&vec![7; most]]);
        assert!(
            buf.item(0)
                .is_some_and(|item| item.len() == most && item.iter().all(|byte| *byte == 7))
        );
        assert_eq!((buf.claim(0).err(), buf.used()), (Some(ClaimError::Full), 65_534));
    }
}

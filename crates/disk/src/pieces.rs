//! Pieces of 64 KB out of huge pages, for buffers of log and backup: a buffer takes one or more
//! adjacent ones.
//!
//! A slab is one huge page; 32 bits record which of its pieces are in use and 32 which were ever
//! used. A piece that was used is cleared before it is handed out again, so every buffer begins
//! zeroed. One unused slab is kept; others are returned.

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::memory::{HUGE, Memory};

/// Bytes of a piece.
pub(crate) const PIECE: usize = 64 << 10;
/// Pieces in a slab, one for each bit.
const PIECES: usize = HUGE / PIECE;
/// Longest buffer made of pieces, in bytes.
pub(crate) const PIECES_MAX: usize = HUGE;

struct Slab {
    memory: Memory,
    in_use: u32,
    used: u32,
}

static SLABS: Mutex<Vec<Slab>> = Mutex::new(Vec::new());

fn slabs() -> MutexGuard<'static, Vec<Slab>> {
    // No code here panics between two changes that belong together, so a poisoned lock protects
    // valid data.
    SLABS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lowest run of `count` (1 to 32) zero bits, as a mask.
fn free_run(in_use: u32, count: usize) -> Option<u32> {
    let run = u32::MAX >> (PIECES - count);
    (0..=PIECES - count).map(|at| run << at).find(|mask| in_use & mask == 0)
}

fn pieces(len: usize) -> usize {
    debug_assert!((1..=PIECES_MAX).contains(&len));
    len.div_ceil(PIECE)
}

/// Memory for `len` bytes (1 to 2 MB), zeroed, for the caller alone until [`give`]. `None` when the
/// system has none.
pub(crate) fn take(len: usize) -> Option<NonNull<u8>> {
    let count = pieces(len);
    let (at, was_used) = {
        let mut slabs = slabs();
        let mut found =
            slabs.iter_mut().find_map(|slab| free_run(slab.in_use, count).map(|mask| (slab, mask)));
        if found.is_none() {
            slabs.push(Slab { memory: Memory::huge(HUGE)?, in_use: 0, used: 0 });
            found = slabs.last_mut().map(|slab| (slab, u32::MAX >> (PIECES - count)));
        }
        let (slab, mask) = found?;
        let was_used = slab.used & mask != 0;
        slab.in_use |= mask;
        slab.used |= mask;
        // SAFETY: the mask lies within the slab.
        (unsafe { slab.memory.base().add(mask.trailing_zeros() as usize * PIECE) }, was_used)
    };
    if was_used {
        // SAFETY: these pieces are the caller's alone since their bits were set under the lock.
        unsafe { at.write_bytes(0, len) };
    }
    Some(at)
}

/// Returns to the slabs what [`take`] returned for `len` bytes. It must not be used afterwards.
pub(crate) fn give(at: NonNull<u8>, len: usize) {
    let count = pieces(len);
    let within = at.as_ptr().addr() % HUGE;
    let base = at.as_ptr().addr() - within;
    let mut slabs = slabs();
    let Some(i) = slabs.iter().position(|slab| slab.memory.base().as_ptr().addr() == base) else {
        debug_assert!(false, "a buffer of no slab");
        return;
    };
    let mask = (u32::MAX >> (PIECES - count)) << (within / PIECE);
    debug_assert!(slabs[i].in_use & mask == mask, "given back twice");
    slabs[i].in_use &= !mask;
    if slabs[i].in_use == 0 && slabs.iter().filter(|slab| slab.in_use == 0).count() > 1 {
        slabs.swap_remove(i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_free_pieces_are_found_lowest_first() {
        assert_eq!(free_run(0, 1), Some(1));
        assert_eq!(free_run(0b1011, 1), Some(0b100));
        assert_eq!(free_run(0b1011, 2), Some(0b11_0000));
        assert_eq!(free_run(0, 32), Some(u32::MAX));
        assert_eq!(free_run(1 << 31, 32), None);
        assert_eq!(free_run(u32::MAX, 1), None);
        assert_eq!(free_run(!(0b111 << 29), 3), Some(0b111 << 29));
    }

    #[test]
    fn buffers_of_many_threads_do_not_meet() {
        const ROUNDS: usize = if cfg!(miri) { 20 } else { 400 };
        std::thread::scope(|scope| {
            for id in 1..=4u8 {
                scope.spawn(move || {
                    let mut held: Vec<(NonNull<u8>, usize)> = Vec::new();
                    let mut state = u32::from(id);
                    for _ in 0..ROUNDS {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        let len = 1 + (state >> 8) as usize % (6 * PIECE);
                        let at = take(len).unwrap();
                        // SAFETY: taken just now; freed below, once.
                        let bytes = unsafe { std::slice::from_raw_parts_mut(at.as_ptr(), len) };
                        assert!(
                            at.as_ptr().addr().is_multiple_of(PIECE)
                                && bytes.iter().all(|&b| b == 0)
                        );
                        bytes.fill(id);
                        held.push((at, len));
                        if held.len() > 8 {
                            let (at, len) = held.swap_remove((state >> 16) as usize % held.len());
                            // SAFETY: still held.
                            let bytes = unsafe { std::slice::from_raw_parts(at.as_ptr(), len) };
                            assert!(bytes.iter().all(|&b| b == id), "somebody else wrote here");
                            give(at, len);
                        }
                    }
                    held.into_iter().for_each(|(at, len)| give(at, len));
                });
            }
        });
    }
}

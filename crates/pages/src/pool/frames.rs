//! Frame memory and per-frame state. The only unsafe code of this crate.
//!
//! A frame's page may be read while its latch is held shared or exclusive, and written while it is
//! held exclusive. The functions that hand out references are crate-private and take the latch
//! guard's word for it: only the guards in `pool` call them.
#![allow(unsafe_code)]

use crate::page::Page;
use disk::Memory;
use parking_lot::lock_api::RawRwLock as _;
use parking_lot::{Mutex, MutexGuard, RawRwLock};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use wal::Lsn;

/// Shared or exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// No page: the frame is free or between two pages.
pub(crate) const FREE: u64 = 0;
/// End of a hash chain.
pub(crate) const NIL: u32 = u32::MAX;

/// Changed since it was last copied out for writing.
pub(crate) const DIRTY: u8 = 1;
/// A copy of it is on its way to the file.
pub(crate) const WRITING: u8 = 2;
/// Its first read has not finished.
pub(crate) const LOADING: u8 = 4;
/// Loaded by a scan; first to be evicted.
pub(crate) const COLD: u8 = 8;
/// The page was formatted since its last copy, so the log can rebuild it whatever is on disk.
/// Changes under the lock of `state`.
pub(crate) const FORMATTED: u8 = 16;

/// Frames whose states are made at once, when the first of them comes into use: 64 KB.
const CHUNK: u32 = 1024;

/// What the writers need to know about a frame.
#[derive(Debug, Default)]
pub(crate) struct WriteState {
    /// Lower bound of the records that changed the page since its last copy; `Some` when dirty.
    pub rec_lsn: Option<Lsn>,
    /// The `rec_lsn` of the copy that is being written.
    pub writing: Option<Lsn>,
}

#[repr(align(64))]
pub(crate) struct Frame {
    latch: RawRwLock,
    pub key: AtomicU64,
    pub next: AtomicU32,
    /// Threads that wait for the latch; keeps the page in the frame.
    pub pins: AtomicU32,
    pub usage: AtomicU8,
    pub flags: AtomicU8,
    pub state: Mutex<WriteState>,
}

// One cache line each.
const _: () = assert!(size_of::<Frame>() == 64);
// They live in memory of the mapping's, which runs no destructors.
const _: () = assert!(!std::mem::needs_drop::<Frame>());

impl Frame {
    fn new() -> Frame {
        Frame {
            latch: RawRwLock::INIT,
            key: AtomicU64::new(FREE),
            next: AtomicU32::new(NIL),
            pins: AtomicU32::new(0),
            usage: AtomicU8::new(0),
            flags: AtomicU8::new(0),
            state: Mutex::new(WriteState::default()),
        }
    }

    #[inline]
    pub fn try_lock(&self, mode: Mode) -> bool {
        match mode {
            Mode::Shared => self.latch.try_lock_shared(),
            Mode::Exclusive => self.latch.try_lock_exclusive(),
        }
    }

    pub fn lock(&self, mode: Mode) {
        match mode {
            Mode::Shared => self.latch.lock_shared(),
            Mode::Exclusive => self.latch.lock_exclusive(),
        }
    }

    /// Gives the latch back. The caller must hold it in this mode; guards call this exactly once.
    #[inline]
    pub fn unlock(&self, mode: Mode) {
        match mode {
            // SAFETY: the caller holds the latch shared (guards and pool paths pair lock and
            // unlock).
            Mode::Shared => unsafe { self.latch.unlock_shared() },
            // SAFETY: the caller holds the latch exclusive.
            Mode::Exclusive => unsafe { self.latch.unlock_exclusive() },
        }
    }

    #[inline]
    pub fn has(&self, flags: u8) -> bool {
        self.flags.load(Ordering::Acquire) & flags != 0
    }

    pub fn set(&self, flags: u8) {
        self.flags.fetch_or(flags, Ordering::AcqRel);
    }

    pub fn clear(&self, flags: u8) {
        self.flags.fetch_and(!flags, Ordering::AcqRel);
    }

    /// The page, which the caller holds exclusive, needs no writing any more.
    pub fn forget_changes(&self) {
        let mut state = self.state.lock();
        *state = WriteState::default();
        self.clear(DIRTY | FORMATTED);
    }
}

/// A fixed number of frames over one mapping of pages and one of states.
///
/// Frames come into use in order. A frame that never was in use has neither memory of the system's
/// nor a state, so that a large pool costs a small instance nothing.
pub(crate) struct Frames {
    memory: Memory,
    pages: NonNull<Page>,
    /// Keeps `states` mapped.
    _state_memory: Memory,
    states: NonNull<Frame>,
    count: u32,
    /// The states before this one are made. Grows by chunks.
    made: AtomicU32,
    /// No frame from this one on was ever used.
    used: AtomicU32,
}

// SAFETY: the page memory is only reached through latched frames (see the module's contract); the
// states are Sync, and reached only when they are made.
unsafe impl Send for Frames {}
// SAFETY: as for Send.
unsafe impl Sync for Frames {}

impl Frames {
    /// `None` when the memory cannot be had.
    pub fn new(count: u32) -> Option<Frames> {
        let memory = Memory::new((count as usize).max(1) * size_of::<Page>())?;
        let state_memory = Memory::new((count as usize).max(1) * size_of::<Frame>())?;
        Some(Frames {
            pages: memory.base().cast::<Page>(),
            memory,
            // The mapping is aligned to 2 MB.
            states: state_memory.base().cast::<Frame>(),
            _state_memory: state_memory,
            count,
            made: AtomicU32::new(0),
            used: AtomicU32::new(0),
        })
    }

    /// Takes all memory from the system, which otherwise gives it at the first use.
    pub fn commit(&mut self) {
        self.memory.commit();
    }

    /// Takes the memory of some frames from the system, as far as they do not have it. False where
    /// the system does not know how.
    pub fn take_memory(&self, frames: Range<u32>) -> bool {
        self.memory.take(
            frames.start as usize * size_of::<Page>()..frames.end as usize * size_of::<Page>(),
        )
    }

    /// Gives the memory of a frame back to the system. The caller holds the frame's latch
    /// exclusive, and no page is in it.
    pub fn give_memory(&self, i: u32) -> bool {
        let at = i as usize * size_of::<Page>();
        self.memory.give_back(at..at + size_of::<Page>())
    }

    pub fn len(&self) -> u32 {
        self.count
    }

    /// Takes the next frame that was never used into use; `None` when all were. The lock says that
    /// it is one thread at a time.
    pub fn take_fresh(&self, _free: &mut MutexGuard<'_, Vec<u32>>) -> Option<u32> {
        let i = self.used.load(Ordering::Relaxed);
        if i == self.count {
            return None;
        }
        if i == self.made.load(Ordering::Relaxed) {
            let end = i.saturating_add(CHUNK).min(self.count);
            for at in i..end {
                // SAFETY: within the mapping, which has `count` states; nobody has a reference to
                // it, as `get` refuses states from `made` on, and nobody else is here.
                unsafe { self.states.as_ptr().add(at as usize).write(Frame::new()) };
            }
            self.made.store(end, Ordering::Release);
        }
        self.used.store(i + 1, Ordering::Release);
        Some(i)
    }

    /// The frames that may hold pages: a pool that is not full is not searched to its end.
    pub fn used(&self) -> Range<u32> {
        0..self.used.load(Ordering::Acquire)
    }

    /// A frame that is or was in use.
    #[inline]
    pub fn get(&self, i: u32) -> &Frame {
        assert!(i < self.made.load(Ordering::Acquire));
        // SAFETY: it was written before `made` passed it and only shared references to it are made
        // since.
        unsafe { &*self.states.as_ptr().add(i as usize) }
    }

    /// The page of a frame whose latch the caller holds in any mode for the life of the reference.
    #[inline]
    pub fn page(&self, i: u32) -> &Page {
        assert!(i < self.count);
        // SAFETY: in bounds by the assertion; zero-initialised, any bytes are a Page; nobody writes
        // while the caller holds the latch.
        unsafe { &*self.pages.as_ptr().add(i as usize) }
    }

    /// The page of a frame whose latch the caller holds exclusive, and of which it holds no other
    /// reference.
    #[inline]
    #[allow(clippy::mut_from_ref)] // the latch is the proof of uniqueness
    pub fn page_mut(&self, i: u32) -> &mut Page {
        assert!(i < self.count);
        // SAFETY: in bounds by the assertion; the caller holds the exclusive latch, so no other
        // reference exists.
        unsafe { &mut *self.pages.as_ptr().add(i as usize) }
    }
}

/// So many zeros that can be changed by many threads; memory is used when one of them is changed
/// first.
pub(crate) fn zeros(count: usize) -> Box<[AtomicU32]> {
    let zeros = Box::new_zeroed_slice(count);
    // SAFETY: any bytes are an AtomicU32.
    unsafe { zeros.assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_into_use_in_order_and_are_made_before() {
        let (frames, free) = (Frames::new(CHUNK + 3).unwrap(), Mutex::new(Vec::new()));
        assert_eq!((frames.used(), frames.len()), (0..0, CHUNK + 3));
        for i in 0..CHUNK + 3 {
            assert_eq!(frames.take_fresh(&mut free.lock()), Some(i));
            let frame = frames.get(i);
            assert!(frame.try_lock(Mode::Exclusive) && frame.key.load(Ordering::Relaxed) == FREE);
            assert_eq!(frame.next.load(Ordering::Relaxed), NIL);
            frame.key.store(u64::from(i) + 7, Ordering::Relaxed);
        }
        assert_eq!(frames.take_fresh(&mut free.lock()), None);
        assert!(
            frames.used().all(|i| frames.get(i).key.load(Ordering::Relaxed) == u64::from(i) + 7)
        );
    }

    #[test]
    #[should_panic]
    fn a_frame_that_was_never_used_is_not_there() {
        Frames::new(8).unwrap().get(0);
    }
}

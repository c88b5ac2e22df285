//! Frame memory and per-frame state. The only unsafe code of this crate.
//!
//! A frame's page may be read while its latch is held shared or exclusive, and written while it is held exclusive.
//! The functions that hand out references are crate-private and take the latch guard's word for it: only the guards in
//! `pool` call them.
#![allow(unsafe_code)]

use crate::page::Page;
use disk::Memory;
use parking_lot::Mutex;
use parking_lot::RawRwLock;
use parking_lot::lock_api::RawRwLock as _;
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

/// What the writers need to know about a frame.
#[derive(Debug, Default)]
pub(crate) struct WriteState {
    /// Lower bound of the records that changed the page since its last copy; `Some` when dirty.
    pub rec_lsn: Option<Lsn>,
    /// The `rec_lsn` of the copy that is being written.
    pub writing: Option<Lsn>,
    /// The page was formatted since its last copy, so the log can rebuild it whatever is on disk.
    pub formatted: bool,
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
            // SAFETY: the caller holds the latch shared (guards and pool paths pair lock and unlock).
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
}

/// A fixed number of frames over one mapping.
pub(crate) struct Frames {
    memory: Memory,
    base: NonNull<Page>,
    meta: Box<[Frame]>,
    /// No frame from this one on was ever used.
    used: AtomicU32,
}

// SAFETY: the page memory is only reached through latched frames (see the module's contract); the rest is Sync.
unsafe impl Send for Frames {}
// SAFETY: as for Send.
unsafe impl Sync for Frames {}

impl Frames {
    /// `None` when the memory cannot be had.
    pub fn new(count: u32) -> Option<Frames> {
        let memory = Memory::new((count as usize).max(1) * size_of::<Page>())?;
        let base = memory.base().cast::<Page>();
        let meta = (0..count).map(|_| Frame::new()).collect();
        Some(Frames { memory, base, meta, used: AtomicU32::new(0) })
    }

    /// Takes all memory from the system, which otherwise gives it at the first use.
    pub fn commit(&mut self) {
        self.memory.commit();
    }

    /// Takes the memory of some frames from the system, as far as they do not have it. False where the system does not know how.
    pub fn take_memory(&self, frames: Range<u32>) -> bool {
        self.memory.take(frames.start as usize * size_of::<Page>()..frames.end as usize * size_of::<Page>())
    }

    pub fn len(&self) -> u32 {
        self.meta.len() as u32
    }

    /// Notes that a frame is taken into use. By one thread at a time, before a page is in it.
    pub fn note_used(&self, i: u32) {
        if i >= self.used.load(Ordering::Relaxed) {
            self.used.store(i + 1, Ordering::Release);
        }
    }

    /// The frames that may hold pages: they come into use in order, and a pool that is not full is not searched to its end.
    pub fn used(&self) -> Range<u32> {
        0..self.used.load(Ordering::Acquire)
    }

    #[inline]
    pub fn get(&self, i: u32) -> &Frame {
        &self.meta[i as usize]
    }

    /// The page of a frame whose latch the caller holds in any mode for the life of the reference.
    #[inline]
    pub fn page(&self, i: u32) -> &Page {
        assert!((i as usize) < self.meta.len());
        // SAFETY: in bounds by the assertion; zero-initialised, any bytes are a Page; nobody writes while the caller
        // holds the latch.
        unsafe { &*self.base.as_ptr().add(i as usize) }
    }

    /// The page of a frame whose latch the caller holds exclusive, and of which it holds no other reference.
    #[inline]
    #[allow(clippy::mut_from_ref)] // the latch is the proof of uniqueness
    pub fn page_mut(&self, i: u32) -> &mut Page {
        assert!((i as usize) < self.meta.len());
        // SAFETY: in bounds by the assertion; the caller holds the exclusive latch, so no other reference exists.
        unsafe { &mut *self.base.as_ptr().add(i as usize) }
    }
}

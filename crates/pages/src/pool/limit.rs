//! How many frames may hold memory: the pool gives way to what else the instance needs, and takes
//! it back later.
//!
//! A frame beyond the limit is parked: it holds no page, has no memory of the system's, and is in
//! no other list. The lazy writer parks frames when the limit falls, and a thread that needs a
//! frame takes a parked one when the limit has risen.
//! Guarantees: a page that is in use or not written is never given up for the limit; the pool
//! always has some frames; a limit that does not change costs one look at an atomic number where a
//! frame is taken from the free ones.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, RwLock};

use super::{Mode, PoolInner};
use crate::id::PAGE_SIZE;

/// The pool keeps so many frames whatever the limit.
const LEAST: u32 = 64;
/// Frames that one round of the lazy writer parks at most: other work of its comes in between.
const ROUND: u32 = 4096;

/// Says how many bytes the pool may hold now.
pub(super) type Budget = Box<dyn Fn() -> u64 + Send + Sync>;

/// The limit, and the frames that are parked for it.
pub(super) struct Limit {
    /// Frames that may have memory.
    frames: AtomicU32,
    parked: Mutex<Vec<u32>>,
    parked_len: AtomicU32,
    /// Asked by the lazy writer each time that it wakes.
    budget: RwLock<Option<Budget>>,
}

impl Limit {
    pub fn new() -> Limit {
        Limit {
            frames: AtomicU32::new(u32::MAX),
            parked: Mutex::default(),
            parked_len: AtomicU32::new(0),
            budget: RwLock::default(),
        }
    }

    pub fn set_budget(&self, budget: Budget) {
        *self.budget.write() = Some(budget);
    }

    /// Asks how much the pool may hold.
    pub fn ask(&self) {
        if let Some(budget) = &*self.budget.read() {
            let frames = u32::try_from(budget() / PAGE_SIZE as u64).unwrap_or(u32::MAX);
            self.frames.store(frames.max(LEAST), Ordering::Relaxed);
        }
    }

    fn len(&self) -> u32 {
        self.parked_len.load(Ordering::Relaxed)
    }

    fn push(&self, i: u32) {
        let mut parked = self.parked.lock();
        parked.push(i);
        self.parked_len.store(parked.len() as u32, Ordering::Relaxed);
    }

    fn pop(&self) -> Option<u32> {
        if self.len() == 0 {
            return None;
        }
        let mut parked = self.parked.lock();
        let i = parked.pop();
        self.parked_len.store(parked.len() as u32, Ordering::Relaxed);
        i
    }
}

impl PoolInner {
    /// Frames that have memory, or may have it at any moment.
    pub fn with_memory(&self) -> u32 {
        self.frames.used().end.saturating_sub(self.limit.len())
    }

    /// Frames that may hold pages.
    pub(super) fn capacity(&self) -> u32 {
        self.limit.frames.load(Ordering::Relaxed).min(self.frames.len())
    }

    /// Whether another frame may be had that has no memory yet.
    #[inline]
    pub(super) fn may_grow(&self) -> bool {
        self.with_memory() < self.limit.frames.load(Ordering::Relaxed)
    }

    /// A frame that was parked, if the limit allows it.
    pub(super) fn unpark(&self) -> Option<u32> {
        if self.may_grow() { self.limit.pop() } else { None }
    }

    /// Frames that may come into use under the limit but have no memory yet.
    pub(super) fn below_limit(&self) -> u32 {
        self.capacity().saturating_sub(self.with_memory())
    }

    /// Gives frames up that are beyond the limit, those without a page first. False when pages are
    /// in the way that have to be written before.
    pub(super) fn park(&self) -> bool {
        for _ in 0..ROUND {
            if self.with_memory() <= self.limit.frames.load(Ordering::Relaxed) {
                return true;
            }
            let free = self.pop_unused();
            if let Some(i) = free {
                // A reader that was led astray may hold the latch for a moment.
                self.frames.get(i).lock(Mode::Exclusive);
            }
            let Some(i) = free.or_else(|| self.victim(false)) else { return false };
            let given = self.frames.give_memory(i);
            self.frames.get(i).unlock(Mode::Exclusive);
            if !given {
                // The system does not take memory back: the pool stays as it is.
                self.limit.frames.store(u32::MAX, Ordering::Relaxed);
                self.push_free(i);
                return true;
            }
            self.limit.push(i);
        }
        true
    }
}

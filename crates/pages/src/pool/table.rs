//! The page table: from key to frame. Looking up takes no lock; changing a chain takes its shard's
//! lock.
//!
//! Chains run through the frames themselves. A lock-free walk may be led into another chain by a
//! frame that moves meanwhile; so a hit is confirmed by the caller under the frame's latch, and a
//! miss under the shard's lock.

use crate::pool::frames::{Frames, NIL, zeros};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU32, Ordering};

const SHARDS: usize = 128;
/// Steps after which a walk is taken to be astray.
const MAX_STEPS: usize = 64;

pub(crate) struct PageTable {
    /// The first frame of each chain plus one, 0 for an empty chain: so a table that is not used
    /// takes no memory.
    buckets: Box<[AtomicU32]>,
    shift: u32,
    shards: Box<[Mutex<()>]>,
}

impl PageTable {
    pub fn new(frames: u32) -> PageTable {
        let n = (frames as usize * 2).next_power_of_two().max(SHARDS);
        PageTable {
            buckets: zeros(n),
            shift: 64 - n.trailing_zeros(),
            shards: (0..SHARDS).map(|_| Mutex::new(())).collect(),
        }
    }

    #[inline]
    fn bucket(&self, key: u64) -> usize {
        // Adjacent pages of a file land in adjacent-by-multiplication buckets: Fibonacci hashing
        // spreads them evenly.
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The first frame of a chain, or `NIL`.
    #[inline]
    fn first(&self, bucket: usize) -> u32 {
        self.buckets[bucket].load(Ordering::Acquire).wrapping_sub(1)
    }

    fn set_first(&self, bucket: usize, i: u32) {
        self.buckets[bucket].store(i.wrapping_add(1), Ordering::Release);
    }

    /// The frame that seems to hold the key.
    #[inline]
    pub fn find(&self, frames: &Frames, key: u64) -> Option<u32> {
        let mut i = self.first(self.bucket(key));
        for _ in 0..MAX_STEPS {
            if i == NIL {
                return None;
            }
            let frame = frames.get(i);
            if frame.key.load(Ordering::Acquire) == key {
                return Some(i);
            }
            i = frame.next.load(Ordering::Acquire);
        }
        None
    }

    fn lock(&self, bucket: usize) -> MutexGuard<'_, ()> {
        self.shards[bucket % SHARDS].lock()
    }

    /// Inserts a frame, which the caller holds exclusive, unless the key is there: then `Err(its
    /// frame)`.
    pub fn insert(&self, frames: &Frames, key: u64, i: u32) -> Result<(), u32> {
        let bucket = self.bucket(key);
        let _shard = self.lock(bucket);
        let head = self.first(bucket);
        let mut at = head;
        while at != NIL {
            let frame = frames.get(at);
            if frame.key.load(Ordering::Acquire) == key {
                return Err(at);
            }
            at = frame.next.load(Ordering::Acquire);
        }
        let frame = frames.get(i);
        frame.next.store(head, Ordering::Release);
        frame.key.store(key, Ordering::SeqCst);
        self.set_first(bucket, i);
        Ok(())
    }

    /// Takes a frame out of the key's chain. The frame's own key is the caller's business.
    pub fn remove(&self, frames: &Frames, key: u64, i: u32) {
        self.remove_if(frames, key, i, || true);
    }

    /// As [`PageTable::remove`] if `check`, which runs under the lock of the chain, says so.
    pub fn remove_if(
        &self,
        frames: &Frames,
        key: u64,
        i: u32,
        check: impl FnOnce() -> bool,
    ) -> bool {
        let bucket = self.bucket(key);
        let _shard = self.lock(bucket);
        if !check() {
            return false;
        }
        let next = frames.get(i).next.load(Ordering::Acquire);
        let mut at = self.first(bucket);
        if at == i {
            self.set_first(bucket, next);
            return true;
        }
        while at != NIL {
            let frame = frames.get(at);
            let follow = frame.next.load(Ordering::Acquire);
            if follow == i {
                frame.next.store(next, Ordering::Release);
                return true;
            }
            at = follow;
        }
        debug_assert!(false, "frame {i} was not in the chain of its key");
        true
    }
}

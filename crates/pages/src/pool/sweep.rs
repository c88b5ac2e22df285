//! Finding frames: free list, pages left by scans, clock; and the lazy writer that keeps clean
//! frames ready.

use crate::dwb::BATCH_IMAGES;
use crate::error::PageError;
use crate::pool::{COLD, DIRTY, FREE, Mode, PageIo, PoolInner, WRITING, key_store};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a thread waits for writes under way before it takes clean pages that are in use.
const PATIENCE: Duration = Duration::from_millis(20);
/// Frames that one round of writing takes at most: whole batches.
const WRITE_ROUND: usize = 4 * BATCH_IMAGES;

impl PoolInner {
    pub(super) fn push_free(&self, i: u32) {
        let mut free = self.free.lock();
        free.push(i);
        self.count_free(&free);
        drop(free);
        self.freed.notify_one();
    }

    fn pop_free(&self) -> Option<u32> {
        let mut free = self.free.lock();
        let i = free
            .pop()
            .or_else(|| self.unpark())
            .or_else(|| if self.may_grow() { self.frames.take_fresh(&mut free) } else { None });
        self.count_free(&free);
        i
    }

    /// A frame that was in use and holds no page.
    pub(super) fn pop_unused(&self) -> Option<u32> {
        let mut free = self.free.lock();
        let i = free.pop();
        self.count_free(&free);
        i
    }

    fn count_free(&self, free: &[u32]) {
        self.free_len.store(free.len() as u32 + self.below_limit(), Ordering::Relaxed);
    }

    /// Counts free frames again: the limit has changed.
    fn recount_free(&self) {
        self.count_free(&self.free.lock());
    }

    pub(super) fn push_cold(&self, i: u32) {
        let mut cold = self.cold.lock();
        cold.push_back(i);
        self.cold_len.store(cold.len() as u32, Ordering::Relaxed);
    }

    /// Frames that the lazy writer keeps free.
    fn free_target(&self) -> u32 {
        (self.capacity() / 32).clamp(4, 1024)
    }

    /// Scans may hold this many frames before they recycle their own.
    fn cold_limit(&self) -> u32 {
        (self.capacity() / 8).max(128).min(self.capacity() / 2)
    }

    /// An empty frame, latched exclusive, without waiting.
    pub(super) fn try_acquire(&self) -> Option<u32> {
        if let Some(i) = self.pop_free() {
            // A reader that was led astray may hold the latch for a moment.
            self.frames.get(i).lock(Mode::Exclusive);
            debug_assert_eq!(self.frames.get(i).key.load(Ordering::Acquire), FREE);
            if self.ahead.uses(i) || self.free_len.load(Ordering::Relaxed) < self.free_target() / 2
            {
                self.work.notify_one();
            }
            return Some(i);
        }
        self.work.notify_one();
        self.victim(false)
    }

    /// An empty frame, latched exclusive. Waits when all are in use.
    pub(super) fn acquire(&self) -> Result<u32, PageError> {
        if let Some(i) = self.try_acquire() {
            return Ok(i);
        }
        self.counters.stalls.fetch_add(1, Ordering::Relaxed);
        let begin = Instant::now();
        loop {
            let written = self.write_some(BATCH_IMAGES);
            let hard = written.is_err() || begin.elapsed() > PATIENCE;
            let found = self.try_acquire().or_else(|| if hard { self.victim(true) } else { None });
            if let Some(i) = found {
                return Ok(i);
            }
            let written = written?;
            if begin.elapsed() > self.frame_wait {
                return Err(PageError::NoFrames);
            }
            if written == 0 {
                let mut guard = self.freed_lock.lock();
                self.freed.wait_for(&mut guard, Duration::from_millis(1));
            }
        }
    }

    /// Evicts a clean page and returns its frame, latched exclusive. Where there are dirty pages
    /// that nobody uses, writing them makes room: then no page is aged on their account, unless
    /// there must be a frame (`hard`). Else the hand, which goes round and round while the pool
    /// waits for writes, would soon make pages in use look like all others.
    pub(super) fn victim(&self, hard: bool) -> Option<u32> {
        while self.cold_len.load(Ordering::Relaxed) > self.cold_limit() {
            let next = {
                let mut cold = self.cold.lock();
                let next = cold.pop_front();
                self.cold_len.store(cold.len() as u32, Ordering::Relaxed);
                next
            };
            let Some(i) = next else { break };
            if self.frames.get(i).has(COLD) && self.evict(i) {
                return Some(i);
            }
        }
        let (found, looked) = self.turn_clock(hard);
        self.counters.looked.fetch_add(looked, Ordering::Relaxed);
        found
    }

    /// The frame that the clock finds, and how many it looked at.
    fn turn_clock(&self, hard: bool) -> (Option<u32>, u64) {
        let n = self.frames.used().end;
        let mut left = n * u32::from(super::MAX_USAGE + 1);
        let mut age = true;
        let mut looked = 0;
        while left > 0 {
            left -= 1;
            looked += 1;
            let i = self.hand.fetch_add(1, Ordering::Relaxed) % n;
            let frame = self.frames.get(i);
            if frame.key.load(Ordering::Relaxed) == FREE {
                continue;
            }
            let usage = frame.usage.load(Ordering::Relaxed);
            if usage > 0 {
                if age {
                    frame.usage.store(usage - 1, Ordering::Relaxed);
                }
            } else if self.evict(i) {
                return (Some(i), looked);
            } else if age && frame.has(DIRTY) && !frame.has(WRITING) && !hard {
                age = false;
                left = left.min((n / 8).max(64));
            }
        }
        (None, looked)
    }

    /// Takes a clean, unlatched page out of its frame; on success the frame is held exclusive.
    fn evict(&self, i: u32) -> bool {
        let frame = self.frames.get(i);
        if frame.has(DIRTY | WRITING) || frame.pins.load(Ordering::Relaxed) != 0 {
            return false;
        }
        if !frame.try_lock(Mode::Exclusive) {
            return false;
        }
        let key = frame.key.load(Ordering::Acquire);
        if key == FREE || frame.has(DIRTY | WRITING) {
            frame.unlock(Mode::Exclusive);
            return false;
        }
        // See Inner::latch: the key goes before the pins are checked. Under the shard's lock: a
        // thread that misses the page in the meantime must not insert it a second time before the
        // key may be put back.
        let gone = self.table.remove_if(&self.frames, key, i, || {
            frame.key.store(FREE, Ordering::SeqCst);
            let unpinned = frame.pins.load(Ordering::SeqCst) == 0;
            if !unpinned {
                frame.key.store(key, Ordering::SeqCst);
            }
            unpinned
        });
        if !gone {
            frame.unlock(Mode::Exclusive);
            return false;
        }
        frame.clear(COLD);
        self.turnover.evicted(self.counters.evictions.fetch_add(1, Ordering::Relaxed) + 1);
        true
    }

    /// Dirty pages that the clock will meet next, at most `most` of them, within `ahead` frames.
    fn dirty_ahead(
        &self,
        most: usize,
        ahead: u32,
        most_used: u8,
        broken: &[u16],
    ) -> Vec<(u32, u64)> {
        let n = self.frames.used().end;
        let start = self.hand.load(Ordering::Relaxed) % n.max(1);
        let mut list = Vec::new();
        for k in 0..ahead.min(n) {
            let i = ((u64::from(start) + u64::from(k)) % u64::from(n)) as u32;
            let frame = self.frames.get(i);
            if !frame.has(DIRTY)
                || frame.has(WRITING)
                || frame.usage.load(Ordering::Relaxed) > most_used
            {
                continue;
            }
            let key = frame.key.load(Ordering::Acquire);
            if key != FREE && !broken.contains(&key_store(key)) {
                list.push((i, key));
                if list.len() >= most {
                    break;
                }
            }
        }
        list
    }

    /// Writes dirty pages for want of clean ones, little-used first; returns how many.
    fn write_some(&self, most: usize) -> Result<usize, PageError> {
        let all = self.frames.len();
        let mut broken = Vec::new();
        let mut first = None;
        loop {
            let mut list = self.dirty_ahead(most, all, 0, &broken);
            if list.is_empty() {
                list = self.dirty_ahead(most, all, super::MAX_USAGE, &broken);
            }
            let nothing = list.is_empty();
            let before = broken.len();
            let (written, failed) = self.write_list(list, &mut broken);
            first = first.or(failed);
            if written > 0 || broken.len() == before {
                // A database that cannot write its pages is no reason to fail others, as long as
                // theirs make room.
                return match first {
                    Some(e) if nothing => Err(e),
                    _ => Ok(written),
                };
            }
        }
    }

    /// Writes the little-used dirty pages in front of the clock, if they are worth a batch: so that
    /// they, and not clean pages in use, make room.
    fn write_cold(&self) -> Result<usize, PageError> {
        let n = self.frames.len();
        let list = self.dirty_ahead(WRITE_ROUND, (n / 4).max(64), 0, &[]);
        let worth = (n as usize / 16).clamp(1, 32);
        if list.len() < worth { Ok(0) } else { Ok(self.write_list(list, &mut Vec::new()).0) }
    }

    /// Forgets the changes of pages that nobody can read or write any more, as their database has
    /// failed, so that they make room like any clean page: a session may hold it for long. Returns
    /// of how many.
    fn forget_lost(&self, io: &dyn PageIo, frames: &[(u32, u64)]) -> usize {
        let mut lost = 0;
        for &(i, key) in frames {
            let frame = self.frames.get(i);
            if !frame.try_lock(Mode::Exclusive) {
                continue;
            }
            // While the latch is held no writing of it begins.
            if frame.key.load(Ordering::Acquire) == key && !frame.has(WRITING) {
                let changed = frame.state.lock().rec_lsn;
                if let Some(from) = changed {
                    io.note_lost(from);
                    frame.forget_changes();
                    frame.usage.store(0, Ordering::Relaxed);
                    lost += 1;
                }
            }
            frame.unlock(Mode::Exclusive);
        }
        lost
    }

    /// How many have made room, and the first error; the stores that had one and made none are
    /// added to `broken`.
    fn write_list(
        &self,
        list: Vec<(u32, u64)>,
        broken: &mut Vec<u16>,
    ) -> (usize, Option<PageError>) {
        let mut by_store: BTreeMap<u16, Vec<(u32, u64)>> = BTreeMap::new();
        for at in list {
            by_store.entry(key_store(at.1)).or_default().push(at);
        }
        let (mut written, mut failed) = (0, None);
        for (store, mut frames) in by_store {
            frames.sort_unstable_by_key(|&(_, key)| key);
            if let Some(io) = self.store(store) {
                match io.write_frames(self, &frames) {
                    Ok(n) => written += n,
                    Err(e) => {
                        let room =
                            if io.is_offline() { self.forget_lost(&*io, &frames) } else { 0 };
                        if room > 0 {
                            written += room;
                            continue;
                        }
                        broken.push(store);
                        failed = failed.or(Some(e));
                    }
                }
            }
        }
        self.freed.notify_all();
        (written, failed)
    }
}

/// Body of the lazy writer: keeps memory ready for fresh frames, and [`PoolInner::free_target`]
/// frames free once the pool is full.
pub(super) fn lazy_writer(pool: &PoolInner) {
    while !pool.stop.load(Ordering::Acquire) {
        {
            let mut guard = pool.work_lock.lock();
            if !pool.stop.load(Ordering::Acquire) {
                pool.work.wait_for(&mut guard, Duration::from_millis(200));
            }
        }
        // A panic has taken the database offline whose pages were being written
        // (`Store::fails_on_panic`). The pool goes on for the others; a fault that comes again must
        // not keep a processor busy.
        if catch_unwind(AssertUnwindSafe(|| keep_ready(pool))).is_err() {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Lets the pool come down to what it may hold; pages that are not written are written for it.
fn keep_to_limit(pool: &PoolInner) {
    pool.limit.ask();
    while !pool.park() && !pool.stop.load(Ordering::Acquire) {
        match pool.write_some(WRITE_ROUND) {
            Ok(n) if n > 0 => {
                pool.counters.lazy_writes.fetch_add(n as u64, Ordering::Relaxed);
            }
            // What cannot be written stays: its database says why.
            _ => break,
        }
    }
    pool.recount_free();
}

fn keep_ready(pool: &PoolInner) {
    keep_to_limit(pool);
    pool.ahead.take(&pool.frames, pool.below_limit());
    let target = pool.free_target();
    let count = |n: usize| pool.counters.lazy_writes.fetch_add(n as u64, Ordering::Relaxed);
    if pool.free_len.load(Ordering::Relaxed) < target
        && let Ok(n) = pool.write_cold()
    {
        count(n);
    }
    while pool.free_len.load(Ordering::Relaxed) < target && !pool.stop.load(Ordering::Acquire) {
        if let Some(i) = pool.victim(false) {
            pool.frames.get(i).unlock(Mode::Exclusive);
            pool.push_free(i);
            continue;
        }
        // A failed write leaves the page dirty; the checkpoint or the thread that needs the frame
        // reports it.
        match pool.write_some(WRITE_ROUND) {
            Ok(n) if n > 0 => drop(count(n)),
            _ => break,
        }
    }
}

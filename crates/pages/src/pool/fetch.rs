//! Pages into frames: the look-up of what is here, the one read of what is not, frames for pages
//! that need no reading.
//!
//! Guarantee: a frame that is returned is latched and holds the page that was asked for; of threads
//! that miss one page one reads it.

use super::trace::{self, LOOKUP_STEP, LOOKUPS};
use super::{COLD, Frame, LOADING, MAX_USAGE, Mode, PageIo, PoolInner, key_page, key_store};
use crate::error::PageError;
use crate::waits::PageWait;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl PoolInner {
    /// A frame with the page, latched in the mode.
    #[inline]
    pub fn fetch(
        &self,
        io: &dyn PageIo,
        key: u64,
        mode: Mode,
        scan: bool,
    ) -> Result<u32, PageError> {
        if let Some(i) = self.table.find(&self.frames, key) {
            let frame = self.frames.get(i);
            if frame.try_lock(mode) {
                if frame.key.load(Ordering::Acquire) == key {
                    if !scan {
                        touch(frame);
                    }
                    self.count_lookup(i);
                    return Ok(i);
                }
                frame.unlock(mode);
            }
        }
        self.fetch_slow(io, key, mode, scan)
    }

    /// Counts a page that was asked for, whose frame is latched.
    #[inline]
    pub fn count_lookup(&self, frame: u32) {
        let n = LOOKUPS.get() + 1;
        LOOKUPS.set(n % LOOKUP_STEP);
        if n == LOOKUP_STEP {
            self.tell_lookups(frame);
        }
    }

    #[cold]
    fn tell_lookups(&self, frame: u32) {
        let store = key_store(self.frames.get(frame).key.load(Ordering::Relaxed));
        // Of a thread that is traced each one is told.
        let step = if trace::note(store, self.frames.page(frame)) { 1 } else { LOOKUP_STEP };
        self.counters.lookups.fetch_add(step.into(), Ordering::Relaxed);
    }

    #[cold]
    fn fetch_slow(
        &self,
        io: &dyn PageIo,
        key: u64,
        mode: Mode,
        scan: bool,
    ) -> Result<u32, PageError> {
        let mut tries = 0u32;
        loop {
            if let Some(i) = self.table.find(&self.frames, key) {
                if self.latch(i, key, mode) {
                    if !scan {
                        touch(self.frames.get(i));
                    }
                    self.count_lookup(i);
                    return Ok(i);
                }
            } else if let Some(i) = self.load(io, key, mode, scan)? {
                self.count_lookup(i);
                return Ok(i);
            }
            // The frame is between two pages for some instructions of another thread.
            tries += 1;
            if tries.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Latches the frame, waiting if need be; false when it holds another page by then.
    fn latch(&self, i: u32, key: u64, mode: Mode) -> bool {
        let frame = self.frames.get(i);
        if !frame.try_lock(mode) {
            // Pinned first, key checked second; eviction clears the key first and checks pins
            // second: one sees the other. So nobody waits on a frame whose page has been exchanged,
            // which could be a deadlock.
            frame.pins.fetch_add(1, Ordering::SeqCst);
            if frame.key.load(Ordering::SeqCst) != key {
                frame.pins.fetch_sub(1, Ordering::SeqCst);
                return false;
            }
            let wait = match (frame.has(LOADING), mode, key_page(key)) {
                (true, Mode::Shared, _) => PageWait::IoSh,
                (true, Mode::Exclusive, _) => PageWait::IoEx,
                (false, Mode::Shared, _) => PageWait::LatchSh,
                // Allocation maps are where SQL Server takes update latches.
                (false, Mode::Exclusive, p) if p.is_pfs() || p.is_gam() => PageWait::LatchUp,
                (false, Mode::Exclusive, _) => PageWait::LatchEx,
            };
            let begin = Instant::now();
            frame.lock(mode);
            self.waits.add(wait, begin.elapsed().as_micros() as u64);
            frame.pins.fetch_sub(1, Ordering::SeqCst);
        }
        if frame.key.load(Ordering::Acquire) == key {
            return true;
        }
        frame.unlock(mode);
        false
    }

    /// Reads the page into a new frame; `None` when another thread brought it in meanwhile.
    fn load(
        &self,
        io: &dyn PageIo,
        key: u64,
        mode: Mode,
        scan: bool,
    ) -> Result<Option<u32>, PageError> {
        let i = self.acquire()?;
        if !self.publish(i, key, LOADING, scan) {
            return Ok(None);
        }
        let begin = Instant::now();
        let loading = LoadingFrame { pool: self, frame: i, key };
        let read = io.read_page(key_page(key), self.frames.page_mut(i));
        std::mem::forget(loading);
        let wait = if mode == Mode::Shared { PageWait::IoSh } else { PageWait::IoEx };
        self.waits.add(wait, begin.elapsed().as_micros() as u64);
        self.counters.pages_read.fetch_add(1, Ordering::Relaxed);
        trace::loaded();
        let frame = self.frames.get(i);
        frame.clear(LOADING);
        if let Err(e) = read {
            self.discard(i, key);
            return Err(e);
        }
        if mode == Mode::Exclusive {
            return Ok(Some(i));
        }
        frame.unlock(Mode::Exclusive);
        Ok(if self.latch(i, key, mode) { Some(i) } else { None })
    }

    /// Gives an acquired frame its key; false when the page is in the pool already (the frame is
    /// given back).
    fn publish(&self, i: u32, key: u64, flags: u8, scan: bool) -> bool {
        let frame = self.frames.get(i);
        frame.forget_changes();
        frame.flags.store(flags | if scan { COLD } else { 0 }, Ordering::Release);
        frame.usage.store(u8::from(!scan), Ordering::Relaxed);
        if self.table.insert(&self.frames, key, i).is_err() {
            frame.flags.store(0, Ordering::Release);
            frame.unlock(Mode::Exclusive);
            self.push_free(i);
            return false;
        }
        if scan {
            self.push_cold(i);
        }
        true
    }

    /// A frame for a page that will be formatted: what the pool has, else zeros without a disk
    /// read. The bool says whether the frame is new, so that it must not stay when nothing is
    /// written to it.
    pub fn fresh(&self, key: u64) -> Result<(u32, bool), PageError> {
        loop {
            if let Some(i) = self.table.find(&self.frames, key) {
                if self.latch(i, key, Mode::Exclusive) {
                    touch(self.frames.get(i));
                    return Ok((i, false));
                }
                std::hint::spin_loop();
                continue;
            }
            let i = self.acquire()?;
            if self.publish(i, key, 0, false) {
                self.frames.page_mut(i).bytes_mut().fill(0);
                return Ok((i, true));
            }
        }
    }

    /// Latches a page only if it is here and free.
    pub fn try_fetch(&self, key: u64, mode: Mode) -> Option<u32> {
        let i = self.table.find(&self.frames, key)?;
        let frame = self.frames.get(i);
        if !frame.try_lock(mode) {
            return None;
        }
        if frame.key.load(Ordering::Acquire) == key {
            touch(frame);
            self.count_lookup(i);
            return Some(i);
        }
        frame.unlock(mode);
        None
    }

    pub fn contains(&self, key: u64) -> bool {
        self.table.find(&self.frames, key).is_some()
    }

    /// A frame for read-ahead, exclusive and published; the inner `None` when the page is here
    /// already, the outer for want of frames.
    pub fn claim(&self, key: u64, scan: bool) -> Option<Option<u32>> {
        // Without waiting: others may wait for the frames that are held already.
        let i = self.try_acquire()?;
        Some(self.publish(i, key, LOADING, scan).then_some(i))
    }

    /// Ends a read-ahead of one frame.
    pub fn loaded(&self, i: u32, key: u64, ok: bool) {
        let frame = self.frames.get(i);
        frame.clear(LOADING);
        if ok {
            self.counters.read_ahead_pages.fetch_add(1, Ordering::Relaxed);
            frame.unlock(Mode::Exclusive);
        } else {
            self.discard(i, key);
        }
    }
}

/// A frame that is being read into. Dropped only by a panic: then the frame is free again, and who
/// waits for it looks once more.
struct LoadingFrame<'a> {
    pool: &'a PoolInner,
    frame: u32,
    key: u64,
}

impl Drop for LoadingFrame<'_> {
    fn drop(&mut self) {
        self.pool.discard(self.frame, self.key);
    }
}

#[inline]
fn touch(frame: &Frame) {
    let usage = frame.usage.load(Ordering::Relaxed);
    if usage < MAX_USAGE {
        frame.usage.store(usage + 1, Ordering::Relaxed);
        if frame.has(COLD) {
            frame.clear(COLD);
        }
    }
}

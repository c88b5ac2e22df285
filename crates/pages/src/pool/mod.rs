//! The buffer pool: a fixed number of 8 KB frames shared by the databases of an instance.
//!
//! Reading a page that is here costs one lock-free look-up and one latch. The latch is also what keeps the page in its
//! frame: eviction takes a frame only when it gets its exclusive latch without waiting and nobody waits for it.
//! Concurrent misses on one page read once: the first inserts the frame, holding its exclusive latch until the page
//! is loaded, the others wait for that latch.

mod ahead;
mod frames;
mod guard;
mod sweep;
mod table;
pub(crate) mod trace;

pub use guard::{PageMut, PageRef};
pub use trace::{PageReads, PageTrace, UnitReads, note_run_file};

pub(crate) use frames::{COLD, DIRTY, FORMATTED, FREE, Frame, Frames, LOADING, Mode, WRITING};

use crate::error::PageError;
use crate::id::PageId;
use crate::page::Page;
use crate::read_ahead::ReadAheads;
use crate::waits::{PageWait, PageWaits};
use ahead::Ahead;
use parking_lot::{Condvar, Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use table::PageTable;
use wal::Lsn;

/// Clock passes a page survives without being touched.
const MAX_USAGE: u8 = 3;

/// Size and patience of a buffer pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolOptions {
    /// Memory for pages; rounded down to whole frames, at least 16 of them.
    pub bytes: u64,
    /// How long a thread waits for a frame before [`PageError::NoFrames`].
    pub frame_wait: Duration,
    /// Take the memory from the system now (a second or more for a gigabyte) and not page by page as it is used.
    pub commit: bool,
}

impl Default for PoolOptions {
    fn default() -> Self {
        PoolOptions { bytes: 256 << 20, frame_wait: Duration::from_secs(15), commit: false }
    }
}

/// Reads and writes pages of one database for the pool.
pub(crate) trait PageIo: Send + Sync {
    /// Reads and verifies one page.
    fn read_page(&self, id: PageId, into: &mut Page) -> Result<(), PageError>;
    /// Writes these frames if they are dirty and their latches are free; returns how many were written.
    fn write_frames(&self, pool: &Inner, frames: &[(u32, u64)]) -> Result<usize, PageError>;
}

/// One per instance. Dropping it stops the lazy writer; dirty pages are the stores' business (checkpoint first).
pub struct BufferPool {
    inner: Arc<Inner>,
    writer: Option<JoinHandle<()>>,
}

pub(crate) struct Inner {
    pub frames: Frames,
    table: PageTable,
    ahead: Ahead,
    /// Frames that were in use and hold no page.
    free: Mutex<Vec<u32>>,
    /// How many frames hold no page, those that were never in use included.
    free_len: AtomicU32,
    cold: Mutex<VecDeque<u32>>,
    cold_len: AtomicU32,
    hand: AtomicU32,
    stores: RwLock<Vec<Option<Weak<dyn PageIo>>>>,
    pub waits: PageWaits,
    pub counters: PoolCounters,
    turnover: Turnover,
    pub reads: ReadAheads,
    /// Wakes threads that wait for a frame.
    freed: Condvar,
    freed_lock: Mutex<()>,
    /// Wakes the lazy writer.
    work: Condvar,
    work_lock: Mutex<()>,
    stop: AtomicBool,
    frame_wait: Duration,
}

/// What the pool did since it was made.
#[derive(Debug, Default)]
pub struct PoolCounters {
    /// Pages that were asked for, here or not. A thread tells every [`LOOKUP_STEP`] of them.
    pub lookups: AtomicU64,
    pub pages_read: AtomicU64,
    pub read_ahead_pages: AtomicU64,
    pub pages_written: AtomicU64,
    /// Of the pages written: by checkpoints.
    pub checkpoint_pages: AtomicU64,
    pub lazy_writes: AtomicU64,
    pub evictions: AtomicU64,
    /// Frames that the clock looked at to find a page to evict.
    pub looked: AtomicU64,
    /// Threads that had to wait for a frame.
    pub stalls: AtomicU64,
}

/// Look-ups that a thread counts by itself before it tells the pool: a shared counter would cost more than a look-up.
const LOOKUP_STEP: u32 = 64;

thread_local! {
    static LOOKUPS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

impl BufferPool {
    /// # Errors
    /// [`PageError::NoFrames`] when the memory cannot be had; [`PageError::Offline`] when no thread can be started.
    pub fn new(options: PoolOptions) -> Result<BufferPool, PageError> {
        let count =
            u32::try_from(options.bytes / crate::id::PAGE_SIZE as u64).unwrap_or(u32::MAX - 1).max(16);
        let mut frames = Frames::new(count).ok_or(PageError::NoFrames)?;
        let mut ahead = Ahead::default();
        if options.commit {
            frames.commit();
            ahead = Ahead::done();
        }
        let inner = Arc::new(Inner {
            table: PageTable::new(count),
            frames,
            ahead,
            free: Mutex::default(),
            free_len: AtomicU32::new(count),
            cold: Mutex::new(VecDeque::new()),
            cold_len: AtomicU32::new(0),
            hand: AtomicU32::new(0),
            stores: RwLock::new(vec![None]),
            waits: PageWaits::default(),
            counters: PoolCounters::default(),
            turnover: Turnover::new(count),
            reads: ReadAheads::default(),
            freed: Condvar::new(),
            freed_lock: Mutex::new(()),
            work: Condvar::new(),
            work_lock: Mutex::new(()),
            stop: AtomicBool::new(false),
            frame_wait: options.frame_wait,
        });
        let shared = Arc::clone(&inner);
        let writer = std::thread::Builder::new()
            .name("lazy-writer".into())
            .spawn(move || sweep::lazy_writer(&shared))
            .map_err(|e| PageError::Offline { cause: format!("no thread for the lazy writer: {e}") })?;
        Ok(BufferPool { inner, writer: Some(writer) })
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Number of frames.
    #[must_use]
    pub fn frames(&self) -> u32 {
        self.inner.frames.len()
    }

    /// Frames that hold no page.
    #[must_use]
    pub fn free_frames(&self) -> u32 {
        self.inner.free_len.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn waits(&self) -> &PageWaits {
        &self.inner.waits
    }

    #[must_use]
    pub fn counters(&self) -> &PoolCounters {
        &self.inner.counters
    }

    /// The pages that are here at this moment, each with the number of its store and whether it has changes that are not written.
    pub fn pages(&self) -> Vec<(u16, PageId, bool)> {
        let frames = &self.inner.frames;
        let held = |i: u32| {
            let frame = frames.get(i);
            let key = frame.key.load(Ordering::Acquire);
            (key != FREE && !frame.has(LOADING)).then(|| (key_store(key), key_page(key), frame.has(DIRTY)))
        };
        frames.used().filter_map(held).collect()
    }

    /// How long a page lives here that nobody touches: the time in which as many pages were evicted last as there are
    /// frames; the pool's age as long as there were fewer.
    #[must_use]
    pub fn page_life(&self) -> Duration {
        self.inner.turnover.life(self.inner.counters.evictions.load(Ordering::Relaxed))
    }
}

impl Drop for BufferPool {
    fn drop(&mut self) {
        self.inner.stop.store(true, Ordering::Release);
        drop(self.inner.work_lock.lock());
        self.inner.work.notify_all();
        self.inner.reads.stop();
        if let Some(writer) = self.writer.take()
            // The lazy writer itself can be the last to hold a store, and so the pool: then it just ends.
            && writer.thread().id() != std::thread::current().id()
        {
            // A panic of the lazy writer has been reported by the panic hook already.
            let _ = writer.join();
        }
    }
}

/// Steps into which a turnover of the pool is divided.
const TURNOVER_STEPS: u64 = 16;

/// When the pool's frames were evicted: the time of every sixteenth of a turnover.
pub(crate) struct Turnover {
    born: Instant,
    /// Evictions of a step.
    step: u64,
    /// Milliseconds since birth at which the last steps ended, by number of the step.
    ends: [AtomicU64; TURNOVER_STEPS as usize],
}

impl Turnover {
    fn new(frames: u32) -> Turnover {
        let step = (u64::from(frames) / TURNOVER_STEPS).max(1);
        Turnover { born: Instant::now(), step, ends: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Eviction number `n`, from 1, has happened.
    pub fn evicted(&self, n: u64) {
        if n.is_multiple_of(self.step) {
            let at = (n / self.step % TURNOVER_STEPS) as usize;
            self.ends[at].store(self.born.elapsed().as_millis() as u64, Ordering::Relaxed);
        }
    }

    fn life(&self, evictions: u64) -> Duration {
        let age = self.born.elapsed();
        let steps = evictions / self.step;
        if steps < TURNOVER_STEPS {
            return age;
        }
        // The oldest one kept is the next to be overwritten.
        let oldest = self.ends[((steps + 1) % TURNOVER_STEPS) as usize].load(Ordering::Relaxed);
        age.saturating_sub(Duration::from_millis(oldest))
    }
}

/// Key of a page in the pool.
#[inline]
pub(crate) fn key_of(store: u16, id: PageId) -> u64 {
    u64::from(store) << 48 | u64::from(id.file) << 32 | u64::from(id.page)
}

pub(crate) fn key_store(key: u64) -> u16 {
    (key >> 48) as u16
}

pub(crate) fn key_page(key: u64) -> PageId {
    PageId { file: (key >> 32) as u16, page: key as u32 }
}

impl Inner {
    /// Registers a store and gives it its number in keys.
    pub fn register(&self, io: Weak<dyn PageIo>) -> Result<u16, PageError> {
        let mut stores = self.stores.write();
        if let Some(free) = (1..stores.len()).find(|&i| stores[i].is_none()) {
            stores[free] = Some(io);
            return Ok(free as u16);
        }
        let n = u16::try_from(stores.len())
            .map_err(|_| PageError::Invalid { what: "too many databases share the buffer pool" })?;
        stores.push(Some(io));
        Ok(n)
    }

    /// Forgets a store and drops all its pages, dirty ones too.
    pub fn unregister(&self, store: u16) {
        for i in self.frames.used() {
            let frame = self.frames.get(i);
            if key_store(frame.key.load(Ordering::Acquire)) != store {
                continue;
            }
            frame.lock(Mode::Exclusive);
            let key = frame.key.load(Ordering::Acquire);
            if key_store(key) == store && key != FREE {
                self.wait_written(i);
                frame.forget_changes();
                self.discard(i, key);
            } else {
                frame.unlock(Mode::Exclusive);
            }
        }
        self.stores.write()[store as usize] = None;
    }

    /// Waits until no copy of the frame is on its way to the file.
    fn wait_written(&self, i: u32) {
        while self.frames.get(i).has(WRITING) {
            let mut guard = self.freed_lock.lock();
            self.freed.wait_for(&mut guard, Duration::from_millis(1));
        }
    }

    fn store(&self, n: u16) -> Option<Arc<dyn PageIo>> {
        self.stores.read().get(n as usize)?.as_ref()?.upgrade()
    }

    /// A frame with the page, latched in the mode.
    #[inline]
    pub fn fetch(&self, io: &dyn PageIo, key: u64, mode: Mode, scan: bool) -> Result<u32, PageError> {
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
    fn fetch_slow(&self, io: &dyn PageIo, key: u64, mode: Mode, scan: bool) -> Result<u32, PageError> {
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
            // Pinned first, key checked second; eviction clears the key first and checks pins second: one sees the
            // other. So nobody waits on a frame whose page has been exchanged, which could be a deadlock.
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
    fn load(&self, io: &dyn PageIo, key: u64, mode: Mode, scan: bool) -> Result<Option<u32>, PageError> {
        let i = self.acquire()?;
        if !self.publish(i, key, LOADING, scan) {
            return Ok(None);
        }
        let begin = Instant::now();
        let loading = Loading { pool: self, frame: i, key };
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

    /// Gives an acquired frame its key; false when the page is in the pool already (the frame is given back).
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

    /// A frame for a page that will be formatted: what the pool has, else zeros without a disk read. The bool says
    /// whether the frame is new, so that it must not stay when nothing is written to it.
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

    /// A frame for read-ahead, exclusive and published; the inner `None` when the page is here already, the outer for want of
    /// frames.
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

    /// Takes the page out of a frame that is held exclusive, and frees the frame.
    pub fn discard(&self, i: u32, key: u64) {
        let frame = self.frames.get(i);
        frame.key.store(FREE, Ordering::SeqCst);
        self.table.remove(&self.frames, key, i);
        frame.clear(COLD | LOADING);
        frame.unlock(Mode::Exclusive);
        self.push_free(i);
    }

    /// Notes a change: the caller holds the latch exclusive, `at` is a lower bound of the record's LSN.
    pub fn mark_dirty(&self, i: u32, at: Lsn) {
        let frame = self.frames.get(i);
        // Becomes clean only under the latch, so the flag is stable here.
        if !frame.has(DIRTY) {
            let mut state = frame.state.lock();
            state.rec_lsn = Some(at);
            frame.set(DIRTY);
        }
    }

    #[inline]
    pub fn is_dirty(&self, i: u32) -> bool {
        self.frames.get(i).has(DIRTY)
    }

    pub fn mark_formatted(&self, i: u32) {
        let frame = self.frames.get(i);
        let _state = frame.state.lock();
        frame.set(FORMATTED);
    }
}

/// A frame that is being read into. Dropped only by a panic: then the frame is free again, and who waits for it looks once more.
struct Loading<'a> {
    pool: &'a Inner,
    frame: u32,
    key: u64,
}

impl Drop for Loading<'_> {
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

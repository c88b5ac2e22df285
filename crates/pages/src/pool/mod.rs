//! The buffer pool: a fixed number of 8 KB frames shared by the databases of an instance.
//!
//! Reading a page that is here costs one lock-free look-up and one latch. The latch is also what
//! keeps the page in its frame: eviction takes a frame only when it gets its exclusive latch
//! without waiting and nobody waits for it. Concurrent misses on one page read once: the first
//! inserts the frame, holding its exclusive latch until the page is loaded, the others wait for
//! that latch.

mod ahead;
mod fetch;
mod frames;
mod guard;
mod limit;
mod read_ahead;
mod sweep;
mod table;
pub(crate) mod trace;
mod turnover;

pub use guard::{PageMut, PageRef};
pub use read_ahead::PendingReads;
pub use trace::{PageReads, PageTrace, UnitReads, note_run_file};

pub(crate) use frames::{COLD, DIRTY, FORMATTED, FREE, Frame, Frames, LOADING, Mode, WRITING};
pub(crate) use read_ahead::{ClaimedPages, PREFETCH_PAGES, ReadTally};

use crate::error::PageError;
use crate::id::PageId;
use crate::page::Page;
use crate::waits::PageWaits;
use ahead::MemoryAhead;
use parking_lot::{Condvar, Mutex, RwLock};
use read_ahead::ReadAheads;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;
use table::PageTable;
use turnover::Turnover;
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
    /// Take the memory from the system now (a second or more for a gigabyte) and not page by page
    /// as it is used.
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
    /// Writes these frames if they are dirty and their latches are free; returns how many were
    /// written.
    fn write_frames(&self, pool: &PoolInner, frames: &[(u32, u64)]) -> Result<usize, PageError>;
    /// Whether nothing of it is read or written any more.
    fn is_offline(&self) -> bool;
    /// Changes from this record on go from a frame and are in no file: only the log has them. To be
    /// told before they go.
    fn note_lost(&self, from: Lsn);
}

/// One per instance. Dropping it stops the lazy writer; dirty pages are the stores' business
/// (checkpoint first).
pub struct BufferPool {
    inner: Arc<PoolInner>,
    writer: Option<JoinHandle<()>>,
}

pub(crate) struct PoolInner {
    pub frames: Frames,
    table: PageTable,
    ahead: MemoryAhead,
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
    limit: limit::Limit,
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
    /// Pages that were asked for, here or not. A thread tells every [`trace::LOOKUP_STEP`] of them.
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

impl BufferPool {
    /// # Errors
    /// [`PageError::NoFrames`] when the memory cannot be had; [`PageError::Offline`] when no thread
    /// can be started.
    pub fn new(options: PoolOptions) -> Result<BufferPool, PageError> {
        let count = u32::try_from(options.bytes / crate::id::PAGE_SIZE as u64)
            .unwrap_or(u32::MAX - 1)
            .max(16);
        let mut frames = Frames::new(count).ok_or(PageError::NoFrames)?;
        let mut ahead = MemoryAhead::default();
        if options.commit {
            frames.commit();
            ahead = MemoryAhead::done();
        }
        let inner = Arc::new(PoolInner {
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
            limit: limit::Limit::new(),
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
            .map_err(|e| PageError::Offline {
                cause: format!("no thread for the lazy writer: {e}"),
            })?;
        Ok(BufferPool { inner, writer: Some(writer) })
    }

    pub(crate) fn inner(&self) -> &Arc<PoolInner> {
        &self.inner
    }

    /// Number of frames.
    #[must_use]
    pub fn frames(&self) -> u32 {
        self.inner.frames.len()
    }

    /// The pool may hold as much as `budget` says: it is asked five times a second, and when
    /// [`BufferPool::look_at_budget`] is called.
    pub fn set_budget(&self, budget: impl Fn() -> u64 + Send + Sync + 'static) {
        self.inner.limit.set_budget(Box::new(budget));
    }

    /// What wakes the lazy writer to ask how much the pool may hold; it keeps no pool.
    pub fn look_at_budget(&self) -> impl Fn() + Send + Sync + 'static {
        let inner = Arc::downgrade(&self.inner);
        move || {
            if let Some(inner) = inner.upgrade() {
                inner.work.notify_one();
            }
        }
    }

    /// Tells how many bytes of memory pages have; `None` when the pool is gone.
    pub fn held(&self) -> impl Fn() -> Option<usize> + Send + Sync + 'static {
        let inner = Arc::downgrade(&self.inner);
        move || inner.upgrade().map(|inner| inner.with_memory() as usize * crate::id::PAGE_SIZE)
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

    /// The pages that are here at this moment, each with the number of its store and whether it has
    /// changes that are not written.
    pub fn pages(&self) -> Vec<(u16, PageId, bool)> {
        let frames = &self.inner.frames;
        let held = |i: u32| {
            let frame = frames.get(i);
            let key = frame.key.load(Ordering::Acquire);
            (key != FREE && !frame.has(LOADING))
                .then(|| (key_store(key), key_page(key), frame.has(DIRTY)))
        };
        frames.used().filter_map(held).collect()
    }

    /// How long a page lives here that nobody touches: the time in which as many pages were evicted
    /// last as there are frames; the pool's age as long as there were fewer.
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
            // The lazy writer itself can be the last to hold a store, and so the pool: then it just
            // ends.
            && writer.thread().id() != std::thread::current().id()
        {
            // A panic of the lazy writer has been reported by the panic hook already.
            let _ = writer.join();
        }
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

impl PoolInner {
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

    /// Takes the page out of a frame that is held exclusive, and frees the frame.
    pub fn discard(&self, i: u32, key: u64) {
        let frame = self.frames.get(i);
        frame.key.store(FREE, Ordering::SeqCst);
        self.table.remove(&self.frames, key, i);
        frame.clear(COLD | LOADING);
        frame.unlock(Mode::Exclusive);
        self.push_free(i);
    }

    /// Notes a change: the caller holds the latch exclusive, `at` is a lower bound of the record's
    /// LSN.
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

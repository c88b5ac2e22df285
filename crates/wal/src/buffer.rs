//! Log blocks in memory: the ones being filled or written, and recently written or read ones for
//! rollback and versions.
//!
//! A block is in the cache from the moment it opens; it may leave only after it was written. So a
//! reader that does not find a block here finds it in the file, provided it checked here first.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use disk::SharedBuf;
use parking_lot::Mutex;

use crate::block::{BLOCK_MAX, HEADER, ITEMS_MAX, SLOT, record};
use crate::lsn::block_key;
use crate::vlf::VlfPlace;

/// Written blocks up to this size are copied so that their 64 KB buffer can be used again.
const COPY_MAX: usize = 16 << 10;
/// Memory that an entry takes besides the block, roughly.
const ENTRY: usize = 128;
/// Idle buffers that are kept.
const POOL_MAX: usize = 32;

/// What is decided when a block is sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SealedBlock {
    /// Length on disk in bytes.
    pub len: usize,
    /// Position (VLF, block) of the block that follows.
    pub next: (u32, u32),
    /// Index of the VLF that follows, if the block is the last one of its own.
    pub successor: Option<u32>,
    /// Bytes between this block and the following one in the file that a write may overwrite: 0 if
    /// they touch, `None` if the next block is elsewhere.
    pub gap: Option<u64>,
}

/// A log block that is being filled, waits to be written, or was written and is kept.
#[derive(Debug)]
pub(crate) struct Block {
    pub vlf: u32,
    pub block: u32,
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Largest length on disk in bytes; less than a header if only a closing block fits.
    pub cap: usize,
    /// Bytes from the block's start to the end of its VLF.
    pub rest: u64,
    pub buf: SharedBuf,
    pub sealed: OnceLock<SealedBlock>,
}

impl Block {
    pub fn new(mut buf: SharedBuf, (vlf, block): (u32, u32), place: &VlfPlace, cap: usize) -> Self {
        buf.reset(HEADER, cap, SLOT);
        let (offset, rest) = (place.at(block), place.rest(block));
        Block { vlf, block, offset, cap, rest, buf, sealed: OnceLock::new() }
    }

    /// Bytes of the largest record that fits this block or the rest of the VLF after it. An
    /// estimate: other threads append meanwhile.
    pub fn room(&self) -> usize {
        let content = self.buf.used() + SLOT * self.buf.items();
        // The block after this one begins on the alignment, which is hardly ever larger than this.
        let behind =
            self.rest.saturating_sub(content.next_multiple_of(4096) as u64).min(BLOCK_MAX as u64);
        let here = self.cap.saturating_sub(content);
        here.max((behind as usize).saturating_sub(HEADER)).saturating_sub(SLOT)
    }

    pub fn key(&self) -> u64 {
        block_key(self.vlf, self.block)
    }

    /// Key of the block after this one; its own until it is sealed.
    pub fn next_key(&self) -> u64 {
        self.sealed.get().map_or(self.key(), |sealed| block_key(sealed.next.0, sealed.next.1))
    }

    /// The block without its padding, once finished: enough to find every record.
    fn content(&self) -> Option<&[u8]> {
        self.buf.bytes()?.get(..self.buf.used() + SLOT * self.buf.items())
    }

    /// The block as it is on disk, once finished.
    pub fn image(&self) -> Option<&[u8]> {
        self.buf.bytes()?.get(..self.sealed.get()?.len)
    }
}

/// A block in the cache.
#[derive(Clone, Debug)]
pub(crate) enum StoredBlock {
    Memory(Arc<Block>),
    Bytes(Arc<[u8]>),
}

impl StoredBlock {
    /// The record in a slot (from 1), if it is there and completely copied.
    pub fn record(&self, slot: u16) -> Option<&[u8]> {
        match self {
            StoredBlock::Memory(block) => block.buf.item(usize::from(slot).checked_sub(1)?),
            StoredBlock::Bytes(bytes) => record(bytes, slot),
        }
    }
}

#[derive(Debug, Default)]
struct CacheState {
    blocks: HashMap<u64, StoredBlock>,
    /// Evictable blocks, oldest first, with the memory they hold.
    order: VecDeque<(u64, usize)>,
    bytes: usize,
    pool: Vec<SharedBuf>,
}

/// Blocks by key, limited in memory; blocks that are not written yet do not count.
#[derive(Debug)]
pub(crate) struct BlockCache {
    inner: Mutex<CacheState>,
    limit: AtomicUsize,
}

impl BlockCache {
    pub fn new(limit: usize) -> Self {
        BlockCache { inner: Mutex::default(), limit: AtomicUsize::new(limit) }
    }

    /// Bytes that written blocks may take.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes it; what is beyond goes at once.
    pub fn set_limit(&self, limit: usize) {
        if self.limit.swap(limit, Ordering::Relaxed) > limit {
            self.inner.lock().evict(limit);
        }
    }

    /// Bytes that blocks and idle buffers take: those that are not written yet too.
    pub fn memory(&self) -> usize {
        let inner = self.inner.lock();
        let unwritten = inner.blocks.len().saturating_sub(inner.order.len());
        inner.bytes + (unwritten + inner.pool.len()) * (BLOCK_MAX + ENTRY)
    }

    /// A buffer for a new block.
    pub fn buffer(&self) -> SharedBuf {
        let pooled = self.inner.lock().pool.pop();
        pooled.unwrap_or_else(|| SharedBuf::new(BLOCK_MAX, ITEMS_MAX))
    }

    /// Makes a block that opens findable.
    pub fn add_open(&self, block: &Arc<Block>) {
        self.inner.lock().blocks.insert(block.key(), StoredBlock::Memory(Arc::clone(block)));
    }

    pub fn get(&self, key: u64) -> Option<StoredBlock> {
        self.inner.lock().blocks.get(&key).cloned()
    }

    /// A block was written: from now on it may be evicted.
    pub fn add_written(&self, block: Arc<Block>) {
        let key = block.key();
        // Without padding: a small commit then costs the cache little memory, and the processor few
        // cache lines.
        let copy =
            block.content().filter(|content| content.len() <= COPY_MAX).map(Arc::<[u8]>::from);
        let mut inner = self.inner.lock();
        match copy {
            Some(bytes) => {
                inner.add(key, bytes.len(), StoredBlock::Bytes(bytes));
                inner.recycle(block);
            }
            None => inner.add(key, BLOCK_MAX, StoredBlock::Memory(block)),
        }
        inner.evict(self.limit());
    }

    /// A verified block was read from the file.
    pub fn add_read(&self, key: u64, bytes: Arc<[u8]>) {
        let mut inner = self.inner.lock();
        if !inner.blocks.contains_key(&key) {
            inner.add(key, bytes.len(), StoredBlock::Bytes(bytes));
            inner.evict(self.limit());
        }
    }
}

/// Copies that are left go with the cache.
impl Drop for CacheState {
    fn drop(&mut self) {
        for stored in self.blocks.values() {
            if let StoredBlock::Bytes(copy) = stored {
                disk::take_over(copy.len());
            }
        }
    }
}

impl CacheState {
    fn add(&mut self, key: u64, bytes: usize, stored: StoredBlock) {
        if let StoredBlock::Bytes(copy) = &stored {
            // Another thread may let it go.
            disk::hand_over(copy.len());
        }
        let bytes = bytes + ENTRY;
        self.blocks.insert(key, stored);
        self.order.push_back((key, bytes));
        self.bytes += bytes;
    }

    fn evict(&mut self, limit: usize) {
        while self.bytes > limit {
            let Some((key, bytes)) = self.order.pop_front() else { break };
            self.bytes -= bytes;
            match self.blocks.remove(&key) {
                Some(StoredBlock::Memory(block)) => self.recycle(block),
                Some(StoredBlock::Bytes(copy)) => disk::take_over(copy.len()),
                None => {}
            }
        }
    }

    /// Keeps the buffer unless another thread still reads it.
    fn recycle(&mut self, block: Arc<Block>) {
        if self.pool.len() < POOL_MAX
            && let Some(block) = Arc::into_inner(block)
        {
            self.pool.push(block.buf);
        }
    }
}

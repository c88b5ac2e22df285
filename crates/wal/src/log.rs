//! The log: appending records, and queries about its state. Flushing is in `flush`, growing in
//! `grow` and `ahead`, reading in `read` and `load`, opening in `open`.

use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use disk::{BlockFile, DiskError};
use parking_lot::{Mutex, RwLock};

use crate::buffer::{Block, BlockCache};
use crate::on_disk::{GrowthStep, Meta, OnDisk, TakenStep};
use crate::options::{Growth, GrowthEvent, LogOptions, VlfRule, WaitKind, WaitSink};
use crate::second::Second;
use crate::signal::Signal;
use crate::stats::Counters;
use crate::tail::{NextPlace, Tail};
use crate::trails::Trails;
use crate::turns::WriteTurns;
use crate::{LogError, Lsn, block};

/// Blocks that may wait to be written before appenders wait for a buffer.
pub(crate) const BUFFERS_MAX: usize = 128;
/// With fewer bytes than this left in the VLF, [`Log::room`] does not advise cutting a record to
/// fit them.
const ROOM_MIN: usize = 1 << 10;

/// Callback that gets the reason why the log has gone offline.
type OnFailure = Box<dyn Fn(&DiskError) + Send + Sync>;

/// How the log may grow; can be changed while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrowthPolicy {
    pub rule: VlfRule,
    pub growth: Growth,
    pub max_size: Option<u64>,
}

/// State that only the thread with the right to write touches.
#[derive(Debug)]
pub(crate) struct Io {
    /// Checksum of the last finished block.
    pub prev_crc: u32,
    /// Blocks were written that no sync has covered.
    pub unsynced: bool,
    /// Last record of the blocks written so far.
    pub last_lsn: Lsn,
    /// The thread that writes half of a large batch.
    pub second: Option<Second>,
}

/// One database's transaction log. All methods take `&self` and may be called from many threads.
///
/// Locks, outermost first: `meta` (header and map on disk), that of `turns` (which thread flushes),
/// `io` (only the thread that flushes), `tail`, `steps`, `open`, cache. `trails` is never held
/// together with another one.
pub struct Log {
    pub(crate) file: Arc<dyn BlockFile>,
    pub(crate) log_id: [u8; 16],
    pub(crate) incarnation: u32,
    /// Alignment in bytes of the blocks of new VLFs; not less than that of the VLF that was in use
    /// when the log was opened.
    pub(crate) block_align: u64,
    /// The block that takes records; changed only under the tail's lock.
    pub(crate) open: RwLock<Arc<Block>>,
    pub(crate) tail: Mutex<Tail>,
    pub(crate) cache: BlockCache,
    /// Reads by LSN that follow the log backwards; see `load`.
    pub(crate) trails: Mutex<Trails>,
    pub(crate) meta: Mutex<OnDisk>,
    /// Growths that are prepared and follow the end of the tail's map; see `ahead`.
    pub(crate) steps: Mutex<VecDeque<GrowthStep>>,
    pub(crate) turns: WriteTurns,
    pub(crate) io: Mutex<Io>,
    /// Wakes the thread that writes full blocks (`signal`), and the one that prepares growth
    /// (`low`).
    pub(crate) signal: Arc<Signal>,
    pub(crate) low: Arc<Signal>,
    /// These threads; taken out when they are joined.
    pub(crate) threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
    /// Growth is prepared as far ahead as it should be, or preparing it has failed: the thread need
    /// not be woken for it.
    pub(crate) prepared: AtomicBool,
    /// The log is about to be truncated.
    pub(crate) truncation_due: AtomicBool,
    pub(crate) policy: Mutex<GrowthPolicy>,
    /// Sealed blocks that are not written yet.
    pub(crate) unwritten: AtomicU32,
    /// Everything before this block is in the file.
    pub(crate) written_end: AtomicU64,
    /// Everything before this block is durable.
    pub(crate) durable_to: AtomicU64,
    pub(crate) durable_lsn: Mutex<Lsn>,
    /// The log was flushed since the header last recorded how far it is durable; `looked_at`:
    /// `durable_to` at the last check of that.
    pub(crate) unsealed: AtomicBool,
    pub(crate) looked_at: AtomicU64,
    /// Bytes of the blocks sealed since the log was opened, how many of them are in the file, and
    /// how many durable.
    pub(crate) sealed_bytes: AtomicU64,
    pub(crate) written_bytes: AtomicU64,
    pub(crate) durable_bytes: AtomicU64,
    /// First VLF that is kept.
    pub(crate) oldest_vlf: AtomicU32,
    pub(crate) reserved: AtomicU64,
    /// Largest single record that space was set aside for; see `reserve`.
    pub(crate) largest_undo: AtomicU32,
    /// Free bytes once the open block is used up, less the slack.
    pub(crate) headroom: AtomicU64,
    /// Ordinary records are accepted while less than this is reserved.
    pub(crate) capacity: AtomicU64,
    pub(crate) poisoned: AtomicBool,
    pub(crate) poison: Mutex<Option<DiskError>>,
    /// Called when the log goes offline.
    pub(crate) on_failure: OnceLock<OnFailure>,
    pub(crate) counters: Counters,
    pub(crate) waits: Option<Arc<dyn WaitSink>>,
}

/// What `Log::start` needs, collected by create and open.
pub(crate) struct StartParts {
    pub file: Arc<dyn BlockFile>,
    pub log_id: [u8; 16],
    pub incarnation: u32,
    pub tail: Tail,
    pub cache: BlockCache,
    pub meta: Meta,
    pub prev_crc: u32,
    pub durable_lsn: Lsn,
}

impl Log {
    pub(crate) fn start(start: StartParts, options: &LogOptions) -> Arc<Log> {
        let end = start.tail.open.key();
        let log = Arc::new(Log {
            file: start.file,
            log_id: start.log_id,
            incarnation: start.incarnation,
            block_align: start.tail.next_align.max(start.tail.align),
            open: RwLock::new(Arc::clone(&start.tail.open)),
            oldest_vlf: AtomicU32::new(start.tail.oldest.vlf),
            meta: Mutex::new(OnDisk::new(start.meta, start.tail.map.clone())),
            steps: Mutex::default(),
            tail: Mutex::new(start.tail),
            cache: start.cache,
            trails: Mutex::default(),
            turns: WriteTurns::default(),
            io: Mutex::new(Io {
                prev_crc: start.prev_crc,
                unsynced: false,
                last_lsn: start.durable_lsn,
                second: None,
            }),
            signal: Arc::default(),
            low: Arc::default(),
            threads: Mutex::default(),
            prepared: AtomicBool::new(false),
            truncation_due: AtomicBool::new(false),
            policy: Mutex::new(GrowthPolicy {
                rule: options.vlf_rule,
                growth: options.growth,
                max_size: options.max_size,
            }),
            unwritten: AtomicU32::new(0),
            written_end: AtomicU64::new(end),
            durable_to: AtomicU64::new(end),
            durable_lsn: Mutex::new(start.durable_lsn),
            unsealed: AtomicBool::new(false),
            looked_at: AtomicU64::new(end),
            sealed_bytes: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            durable_bytes: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            largest_undo: AtomicU32::new(0),
            headroom: AtomicU64::new(0),
            capacity: AtomicU64::new(0),
            poisoned: AtomicBool::new(false),
            poison: Mutex::new(None),
            on_failure: OnceLock::new(),
            counters: Counters::default(),
            waits: options.waits.clone(),
        });
        log.tell_headroom(&log.tail.lock());
        log
    }

    /// Appends one record made of `parts` and returns its LSN. The record is in memory;
    /// [`flush_to`](Self::flush_to) makes it durable. `undo_reserve` bytes of log space are set
    /// aside for undoing it (see [`undo_reserve`](Self::undo_reserve)) until
    /// [`release_reserve`](Self::release_reserve) or [`append_reserved`](Self::append_reserved)
    /// releases them.
    ///
    /// Never waits for a commit's flush. Waits for a log buffer, which
    /// [`LogStats`](crate::LogStats) counts as LOGBUFFER, and for growth.
    ///
    /// # Errors
    /// [`LogError::Full`] when the record would need space that is set aside for other records;
    /// offline.
    #[inline]
    pub fn append(&self, parts: &[&[u8]], undo_reserve: u32) -> Result<Lsn, LogError> {
        let len = block::check_len(parts)?;
        self.reserve(undo_reserve.into(), undo_reserve)?;
        self.append_checked(parts, len, false)
            .inspect_err(|_| self.release_reserve(u64::from(undo_reserve)))
    }

    /// Appends the first record of a transaction and sets aside the space that the transaction's
    /// last record will take. Returns the bytes set aside: [`end_reserve`](Self::end_reserve).
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_begin(&self, parts: &[&[u8]]) -> Result<(Lsn, u64), LogError> {
        let len = block::check_len(parts)?;
        let reserve = self.end_reserve();
        self.reserve(reserve, 0)?;
        let lsn = self
            .append_checked(parts, len, false)
            .inspect_err(|_| self.release_reserve(reserve))?;
        Ok((lsn, reserve))
    }

    /// Appends a record that ends a transaction or undoes a change, or a record of a checkpoint: it
    /// may use the space that other records must leave free. Releases `release` bytes of what was
    /// set aside.
    ///
    /// # Errors
    /// [`LogError::Full`] when there is no space at all and the file may not grow.
    pub fn append_reserved(&self, parts: &[&[u8]], release: u32) -> Result<Lsn, LogError> {
        let len = block::check_len(parts)?;
        let lsn = self.append_checked(parts, len, true)?;
        self.release_reserve(u64::from(release));
        Ok(lsn)
    }

    #[inline]
    fn append_checked(
        &self,
        parts: &[&[u8]],
        len: usize,
        privileged: bool,
    ) -> Result<Lsn, LogError> {
        loop {
            if self.poisoned.load(Ordering::Acquire) {
                return Err(self.offline());
            }
            // Appenders share the lock, and hold it for the copy: who opens the next block waits so
            // long.
            let open = self.open.read();
            if let Ok(claim) = open.buf.claim(len) {
                let slot = claim.item() as u16 + 1;
                claim.fill(parts);
                return Ok(Lsn { vlf: open.vlf, block: open.block, slot });
            }
            let full = Arc::clone(&open);
            drop(open);
            self.roll(&full, len, privileged)?;
        }
    }

    /// The open block cannot take a record of `len` bytes: opens the next one, growing the file if
    /// it must.
    fn roll(&self, seen: &Arc<Block>, len: usize, privileged: bool) -> Result<(), LogError> {
        if self.unwritten.load(Ordering::Acquire) as usize >= BUFFERS_MAX {
            return self.wait_for_buffer();
        }
        let mut tail = self.tail.lock();
        // Dropped before the tail is unlocked: after a panic other threads find the log offline.
        let _guard = self.fails_on_panic("a block was opened");
        if !Arc::ptr_eq(&tail.open, seen) {
            return Ok(());
        }
        // No record can join it any more, so its length is final; a failure below leaves it sealed
        // and still flushable.
        seen.buf.seal();
        let (next, left) = tail.next_for(len)?;
        let successor = match next {
            NextPlace::Grow => None,
            _ if !privileged && !self.leaves_reserve(left, &tail) => None,
            NextPlace::SameVlf => Some(None),
            NextPlace::Vlf(index) => Some(Some(index)),
        };
        let Some(successor) = successor else {
            let end = tail.map.end();
            drop(tail);
            return self.make_room(end);
        };
        self.advance(&mut tail, successor)?;
        drop(tail);
        self.call_writer();
        Ok(())
    }

    /// Seals the open block and opens the next one; see [`Tail::advance`].
    pub(crate) fn advance(&self, tail: &mut Tail, successor: Option<u32>) -> Result<(), LogError> {
        let old = Arc::clone(&tail.open);
        let mut sealed = 0;
        if tail.advance(successor, &self.cache)? {
            self.unwritten.fetch_add(1, Ordering::AcqRel);
            sealed = old.sealed.get().map_or(0, |sealed| sealed.len as u64);
            // Counted here and not with every append, which then touches fewer shared cache lines.
            self.counters
                .count_records(old.buf.items() as u64, (old.buf.used() - block::HEADER) as u64);
        }
        {
            // Together, so that `not_durable` counts a block as open or as sealed, never as both.
            let mut open = self.open.write();
            self.sealed_bytes.fetch_add(sealed, Ordering::Release);
            *open = Arc::clone(&tail.open);
        }
        self.tell_headroom(tail);
        Ok(())
    }

    /// Publishes what is free, after the tail or the map has changed.
    pub(crate) fn tell_headroom(&self, tail: &Tail) {
        let headroom = tail.headroom().saturating_sub(tail.slack());
        self.headroom.store(headroom, Ordering::Release);
        self.capacity.store(self.capacity_of(headroom, tail), Ordering::SeqCst);
        if !self.prepared.load(Ordering::Relaxed) && self.is_running_low(tail.map.end()) {
            self.low.call();
        }
    }

    /// Grows the log unless another thread has done so since its map ended at `seen_end`. Waits
    /// only if no growth is prepared.
    pub(crate) fn make_room(&self, seen_end: u64) -> Result<(), LogError> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let (grew, us) = match self.take_step(seen_end, self.next_step(seen_end)) {
            TakenStep::Grown(to) => (Some(to), 0),
            TakenStep::Already => (None, 0),
            TakenStep::Nothing => {
                let start = self.waits(WaitKind::Growth);
                let grew = self.grow_from(seen_end);
                let us = self.waited(WaitKind::Growth, start);
                (grew?, us)
            }
        };
        if let (Some(to), Some(sink)) = (grew, &self.waits) {
            sink.grew(&GrowthEvent { data_file: None, from: seen_end, to, us });
        }
        Ok(())
    }

    /// Length in bytes with which a record still fits the VLF in use, where that is nearly full;
    /// [`MAX_RECORD`](crate::MAX_RECORD) elsewhere, and where too little is left to be worth
    /// filling. A hint for callers that can cut their records as they like: a record that does not
    /// fit leaves the end of the VLF unused, which costs most in a log of small VLFs.
    pub fn room(&self) -> usize {
        match self.open.read().room() {
            0..ROOM_MIN => crate::MAX_RECORD,
            room => room.min(crate::MAX_RECORD),
        }
    }

    /// LSN that the next record gets, or a smaller one that no earlier record has.
    pub fn end(&self) -> Lsn {
        let open = self.open.read();
        Lsn { vlf: open.vlf, block: open.block, slot: (open.buf.items() + 1) as u16 }
    }

    /// The newest record that is durable; so are all before it.
    pub fn durable_lsn(&self) -> Lsn {
        *self.durable_lsn.lock()
    }

    /// True if the record is durable.
    pub fn is_durable(&self, lsn: Lsn) -> bool {
        lsn.key() < self.durable_to.load(Ordering::Acquire)
    }

    /// Bytes of log that a crash now could lose: everything appended that is not durable. A sealed
    /// block counts as what it takes in the file, so the number may grow by less than one alignment
    /// when the open block is sealed.
    pub fn not_durable(&self) -> u64 {
        let durable = self.durable_bytes.load(Ordering::Acquire);
        let open = self.open.read();
        self.sealed_bytes.load(Ordering::Acquire).saturating_sub(durable)
            + open.buf.used().saturating_sub(block::HEADER) as u64
    }

    /// The oldest record that is kept.
    pub fn oldest(&self) -> Lsn {
        self.tail.lock().oldest
    }

    /// Size in bytes to which this file's blocks are aligned in new VLFs.
    pub fn alignment(&self) -> u32 {
        self.tail.lock().next_align as u32
    }

    /// Times that the log has been opened, from 1.
    pub fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// Identity of the log.
    pub fn log_id(&self) -> [u8; 16] {
        self.log_id
    }

    /// Statistics of the log file.
    pub fn file_stats(&self) -> disk::StatsSnapshot {
        self.file.stats().snapshot()
    }

    /// Sector sizes of the device that holds the log file.
    pub fn sectors(&self) -> disk::Sectors {
        self.file.sectors()
    }

    /// Bytes of memory that its blocks take: those that are not written yet, and those that are
    /// kept for reading.
    pub fn memory(&self) -> usize {
        self.cache.memory()
    }

    /// Changes how many bytes of blocks are kept for rollback and row versions.
    pub fn set_cache_bytes(&self, bytes: usize) {
        self.cache.set_limit(bytes);
    }

    /// True if log I/O goes past the page cache.
    pub fn is_direct(&self) -> bool {
        self.file.is_direct()
    }

    /// Takes the log offline: it accepts nothing more. The first failure stays the cause.
    pub(crate) fn poison(&self, cause: DiskError) -> LogError {
        let first = {
            let mut poison = self.poison.lock();
            let first = poison.is_none().then(|| cause.clone());
            poison.get_or_insert(cause);
            first
        };
        self.poisoned.store(true, Ordering::Release);
        if let (Some(cause), Some(tell)) = (first, self.on_failure.get()) {
            tell(&cause);
        }
        self.offline()
    }

    pub(crate) fn offline(&self) -> LogError {
        LogError::Offline { cause: self.poison.lock().clone().unwrap_or(DiskError::Crashed) }
    }

    /// Registers `tell`, which is called once, when the log goes offline. It runs on the thread
    /// that met the failure, which may hold locks of the log and latches, so it must take neither.
    /// Only the first registration counts.
    pub fn on_failure(&self, tell: impl Fn(&DiskError) + Send + Sync + 'static) {
        // A log has one owner, so there is only one registration.
        let _ = self.on_failure.set(Box::new(tell));
    }

    /// Why the log is offline, if it is.
    pub fn failure(&self) -> Option<DiskError> {
        self.poison.lock().clone()
    }

    /// Receives waits, growths and failures.
    pub fn sink(&self) -> Option<&dyn WaitSink> {
        self.waits.as_deref()
    }

    /// The calling thread begins to wait.
    pub(crate) fn waits(&self, kind: WaitKind) -> Instant {
        if let Some(sink) = &self.waits {
            sink.waits(kind);
        }
        Instant::now()
    }

    /// The calling thread has waited; returns the microseconds.
    pub(crate) fn waited(&self, kind: WaitKind, start: Instant) -> u64 {
        let us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.counters.count_wait(kind, us);
        if let Some(sink) = &self.waits {
            sink.waited(kind, us);
        }
        us
    }
}

impl Debug for Log {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("path", &self.file.path())
            .field("end", &self.end())
            .finish_non_exhaustive()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.signal.stop();
        self.low.stop();
        self.file.release();
    }
}

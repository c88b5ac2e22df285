//! Making the log durable: group commit on the committers' own threads, and the background writer
//! of full blocks.
//!
//! One thread at a time holds the right to write, its turn
//! ([`WriteTurns`](crate::turns::WriteTurns)). A committer that finds it free takes it, seals the
//! open block, writes all that is sealed and makes it durable: no other thread is involved.
//! Committers that arrive meanwhile wait. When the flush ends, the first of them whose record is
//! not durable yet becomes the next writer and writes everything that has gathered; those whose
//! records are durable are woken together. A large batch that need not be durable yet is written by
//! two threads ([`Second`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::block::{BlockHeader, SLOT};
use crate::buffer::Block;
use crate::evidence::PROBE_BYTES;
use crate::log::{BUFFERS_MAX, Io, Log};
use crate::options::WaitKind;
use crate::panics::FailsOnPanic;
use crate::second::Second;
use crate::signal::Signal;
use crate::writes::{Batch, gather, write_runs};
use crate::{LogError, Lsn};

/// The background writer takes at most this many bytes in one turn, so that a commit does not wait
/// long for it.
const BACKGROUND_BYTES: usize = 1 << 20;
/// Batches of at least this many bytes are written by two threads.
const SPLIT_LEAST: usize = 512 << 10;
/// Bytes of sealed blocks for which the background writer is woken. Not a number of blocks: at the
/// ends of VLFs they are short.
const BACKGROUND_LEAST: u64 = 240 << 10;

/// The right to write, held by the calling thread. It is released when this is dropped, also when
/// the thread panics.
struct WriteTurn<'a> {
    log: &'a Log,
    guard: FailsOnPanic<'a>,
}

impl Drop for WriteTurn<'_> {
    fn drop(&mut self) {
        // First: the thread that is woken now must find the log offline if this one panicked.
        self.guard.check();
        if self.log.turns.release() {
            self.log.call_writer();
        }
    }
}

/// Starts the threads that write full blocks and prepare growth. They keep the log alive only while
/// they work. Without them appenders write themselves when the buffers run out, and growths prepare
/// their space themselves.
pub(crate) fn spawn_threads(log: &Arc<Log>) {
    log.io.lock().second = Second::start(&log.file);
    spawn(log, "log writer", &log.signal, |log| {
        log.write_in_background();
        None
    });
    spawn(log, "log grower", &log.low, |log| {
        // A failure here is not reported: the next growth meets it again, if there is one.
        while !log.low.is_stopped() && log.prepare_ahead().unwrap_or(false) {}
        log.seal_when_idle()
    });
}

/// Starts a thread that runs `work` whenever it is woken, and again after the time that `work`
/// returned.
fn spawn(
    log: &Arc<Log>,
    name: &'static str,
    signal: &Arc<Signal>,
    work: fn(&Log) -> Option<Duration>,
) {
    let (weak, signal) = (Arc::downgrade(log), Arc::clone(signal));
    let body = move || {
        let mut timeout = None;
        while signal.wait(timeout) {
            let Some(log) = weak.upgrade() else { break };
            // After a panic the log is offline and needs no thread.
            let Some(next) = log.guarded(name, work) else { break };
            timeout = next;
        }
    };
    log.threads.lock().extend(std::thread::Builder::new().name(name.into()).spawn(body));
}

impl Log {
    /// Returns when the record at `lsn` is durable. If no thread is flushing, the calling thread
    /// writes everything that has been appended; otherwise it waits for its turn to write or for
    /// another thread's flush to cover its record.
    pub fn flush_to(&self, lsn: Lsn) -> Result<(), LogError> {
        if self.is_durable(lsn) {
            return Ok(());
        }
        if lsn >= self.end() {
            return Err(LogError::NoRecord { lsn });
        }
        let start = self.waits(WaitKind::WriteLog);
        let result = self.flush_key(lsn.key());
        self.waited(WaitKind::WriteLog, start);
        result
    }

    /// Makes everything appended so far durable.
    pub fn flush_all(&self) -> Result<(), LogError> {
        let open = self.open.read();
        let (key, empty) = (open.key(), open.buf.items() == 0);
        drop(open);
        // An empty open block needs nothing, but the block before it may still be in flight.
        let key = if empty { key.saturating_sub(1) } else { key };
        if key < self.durable_to.load(Ordering::Acquire) && !self.poisoned.load(Ordering::Acquire) {
            return Ok(());
        }
        self.flush_key(key)
    }

    /// Returns when no more than `limit` bytes are appended but not durable (WRITELOG): waits for
    /// the running flush, and makes one itself only when there is none or it was not enough.
    pub fn flush_beyond(&self, limit: u64) -> Result<(), LogError> {
        let poisoned = || self.poisoned.load(Ordering::Acquire);
        let beyond = || self.not_durable() > limit && !poisoned();
        if beyond() {
            let start = self.waits(WaitKind::WriteLog);
            let mut result = Ok(());
            while result.is_ok() && self.turns.take_while(beyond) {
                let _turn = self.turn();
                result = self.write_out(true);
            }
            self.waited(WaitKind::WriteLog, start);
            result?;
        }
        if poisoned() { Err(self.offline()) } else { Ok(()) }
    }

    /// Makes everything durable, ends the background threads and releases the file, the last two
    /// also if the first fails. Call it before the file is opened again in this process: a log that
    /// is merely dropped may still have a write in flight.
    pub fn close(&self) -> Result<(), LogError> {
        let result = self.flush_all();
        self.signal.stop();
        self.low.stop();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            if thread.thread().id() != std::thread::current().id() {
                // A panic has been reported by the thread itself.
                let _ = thread.join();
            }
        }
        self.io.lock().second = None;
        let closed = result.and_then(|()| self.cut_prepared()).and_then(|()| self.seal_as(true));
        self.file.release();
        closed
    }

    fn flush_key(&self, key: u64) -> Result<(), LogError> {
        loop {
            if key < self.durable_to.load(Ordering::Acquire) {
                return Ok(());
            }
            if self.poisoned.load(Ordering::Acquire) {
                return Err(self.offline());
            }
            if !self.turns.take(key) {
                continue;
            }
            let _turn = self.turn();
            // Durable by now if a flush ended between the check above and the turn: another flush
            // would be wasted.
            let hard = key < self.durable_to.load(Ordering::Acquire);
            if !hard {
                self.write_out(true)?;
            }
        }
    }

    /// Guards the right to write, which the caller has just got.
    fn turn(&self) -> WriteTurn<'_> {
        WriteTurn { log: self, guard: self.fails_on_panic("it was writing") }
    }

    /// Waits until a block may be sealed although many are unwritten (LOGBUFFER). If no thread is
    /// writing, writes some blocks itself.
    pub(crate) fn wait_for_buffer(&self) -> Result<(), LogError> {
        let start = self.waits(WaitKind::LogBuffer);
        let full = || {
            self.unwritten.load(Ordering::Acquire) as usize >= BUFFERS_MAX
                && !self.poisoned.load(Ordering::Acquire)
        };
        let mut result = Ok(());
        if self.turns.take_while(full) {
            let _turn = self.turn();
            result = self.write_out(false);
        }
        self.waited(WaitKind::LogBuffer, start);
        result
    }

    /// Wakes the background writer if enough bytes wait to be written.
    pub(crate) fn call_writer(&self) {
        if self.is_worth_writing() {
            self.signal.call();
        }
    }

    fn is_worth_writing(&self) -> bool {
        let written = self.written_bytes.load(Ordering::Acquire);
        self.sealed_bytes.load(Ordering::Acquire).saturating_sub(written) >= BACKGROUND_LEAST
    }

    fn write_in_background(&self) {
        while self.is_worth_writing() && !self.poisoned.load(Ordering::Acquire) {
            if !self.turns.try_take() {
                // The thread that writes now wakes this one again when it has finished.
                return;
            }
            let _turn = self.turn();
            // A failure has taken the log offline; the next caller gets the error.
            let _ = self.write_out(false);
        }
    }

    /// Writes sealed blocks; the caller holds the right to write. `durable`: seals and includes the
    /// open block, writes all of them and makes them durable; else at most [`BACKGROUND_BYTES`] or
    /// a little more.
    fn write_out(&self, durable: bool) -> Result<(), LogError> {
        let mut io = self.io.lock();
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let batch = self.take_batch(durable)?;
        if batch.is_empty() && !(durable && io.unsynced) {
            return Ok(());
        }
        if let Err(cause) = self.write_halves(&mut io, &batch, durable) {
            return Err(self.poison(cause));
        }
        if let Some(last) = batch.last() {
            self.written_end.store(last.next_key(), Ordering::Release);
        }
        let lens =
            batch.iter().filter_map(|block| block.sealed.get()).map(|sealed| sealed.len as u64);
        let len = lens.sum::<u64>();
        let written = self.written_bytes.fetch_add(len, Ordering::AcqRel) + len;
        if durable {
            self.durable_bytes.store(written, Ordering::Release);
            *self.durable_lsn.lock() = io.last_lsn;
            self.durable_to.store(self.written_end.load(Ordering::Acquire), Ordering::Release);
            self.was_flushed();
        }
        self.unwritten.fetch_sub(batch.len() as u32, Ordering::AcqRel);
        for block in batch {
            self.cache.add_written(block);
        }
        Ok(())
    }

    /// Finishes and writes a batch; of a large one that need not be durable the second writer
    /// writes the first half while this thread writes the rest.
    fn write_halves(
        &self,
        io: &mut Io,
        batch: &[Arc<Block>],
        durable: bool,
    ) -> Result<(), disk::DiskError> {
        let cut = if durable || io.second.is_none() { 0 } else { half(batch) };
        let (first, rest) = batch.split_at(cut);
        first.iter().for_each(|block| self.finish(io, block));
        let begun = cut > 0 && io.second.as_ref().is_some_and(|second| second.begin(first));
        rest.iter().for_each(|block| self.finish(io, block));
        if !begun {
            return self.write_batch(io, batch, durable);
        }
        io.unsynced = true;
        // Waits for the other half even if this one failed: no write may be in flight when the turn
        // ends.
        let here = self.write_batch(io, rest, false);
        let there = io.second.as_ref().map_or(Ok(vec![]), |second| second.end(self.file.path()));
        there?.into_iter().for_each(|len| self.counters.count_write(len));
        here
    }

    /// Takes sealed blocks from the queue, after sealing the open one if everything is to become
    /// durable.
    fn take_batch(&self, durable: bool) -> Result<Batch, LogError> {
        let mut tail = self.tail.lock();
        let _guard = self.fails_on_panic("a block was sealed");
        if durable && tail.open.buf.items() > 0 {
            self.advance(&mut tail, None)?;
        }
        if durable {
            self.turns.covers(tail.open.key());
        }
        let mut batch = Batch::new();
        let mut bytes = 0;
        while durable || bytes < BACKGROUND_BYTES {
            let Some(block) = tail.queue.pop_front() else { break };
            bytes += block.sealed.get().map_or(0, |sealed| sealed.len);
            batch.push(block);
        }
        debug_assert!(
            bytes as u64 <= PROBE_BYTES,
            "{bytes} bytes in one flush: a hole in it may not be found"
        );
        Ok(batch)
    }

    /// Waits for the last copies into a sealed block, then writes its header, slot table and
    /// padding.
    fn finish(&self, io: &mut Io, block: &Block) {
        let mut turns = 0u32;
        while !block.buf.is_complete() {
            turns += 1;
            if turns < 64 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        let Some(sealed) = block.sealed.get() else { return };
        let records = block.buf.items();
        let used = block.buf.used();
        let header = BlockHeader {
            log_id: self.log_id,
            vlf: block.vlf,
            block: block.block,
            incarnation: self.incarnation,
            len: sealed.len as u32,
            used: used as u32,
            records: records as u16,
            prev_crc: io.prev_crc,
            successor: sealed.successor,
            durable_to: self.durable_to.load(Ordering::Relaxed),
            crc: 0,
        };
        let crc = block.buf.finish(|front, items, back| {
            let back = &mut back[..sealed.len - used];
            back.fill(0);
            for (i, slot) in back.chunks_exact_mut(SLOT).take(records).enumerate() {
                let start = block.buf.item_start(i).unwrap_or(0);
                slot.copy_from_slice(&(start as u16).to_le_bytes());
            }
            header.encode(front);
            BlockHeader::stamp(front, items, back)
        });
        debug_assert!(crc.is_some(), "a block is finished once");
        io.prev_crc = crc.unwrap_or(0);
        if let Some(lsn) = header.last_lsn() {
            io.last_lsn = lsn;
        }
    }

    /// Writes finished blocks, neighbours in one call: the unused end of a VLF is written with
    /// zeros, so that a log of small VLFs is written in pieces as large as one of large VLFs.
    fn write_batch(
        &self,
        io: &mut Io,
        batch: &[Arc<Block>],
        durable: bool,
    ) -> Result<(), disk::DiskError> {
        // A durable write makes only its own bytes durable, so it serves if all of the batch is one
        // write and nothing else is unsynced.
        if let Some(first) = batch.first().filter(|_| durable && !io.unsynced) {
            let (images, len, taken) = gather(batch);
            if taken == batch.len() {
                self.counters.count_write(len);
                self.file.write_durable(first.offset, &images)?;
                self.counters.count_flush();
                return Ok(());
            }
        }
        if !batch.is_empty() {
            io.unsynced = true;
            write_runs(&*self.file, batch)?
                .into_iter()
                .for_each(|len| self.counters.count_write(len));
        }
        if durable && io.unsynced {
            self.file.sync()?;
            io.unsynced = false;
            self.counters.count_flush();
        }
        Ok(())
    }
}

/// Where a batch is cut into halves; 0 if it is too small for that.
fn half(batch: &[Arc<Block>]) -> usize {
    let len = |block: &Arc<Block>| block.sealed.get().map_or(0, |sealed| sealed.len);
    let all: usize = batch.iter().map(len).sum();
    if all < SPLIT_LEAST {
        return 0;
    }
    let mut sum = 0;
    batch
        .iter()
        .take_while(|block| {
            sum += len(block);
            sum <= all / 2
        })
        .count()
}

//! How opening distinguishes the end of the log from a hole in it.
//!
//! A block that does not continue the chain is the normal end of a log after a crash: the write
//! that it belongs to was never acknowledged. It is a hole if the log was once durable beyond it.
//! Four kinds of evidence show that:
//!
//! 1. The file header records how far the log was durable when the header was written: at each
//!    checkpoint, truncation and growth, at a clean stop, and automatically when nothing was
//!    flushed for [`SEAL_AFTER`] (a *seal*). After a clean stop it names the end exactly.
//! 2. Each block records how far the log was durable when the block was finished. Blocks after the
//!    position in question are searched for in its VLF and in those that follow, past anything
//!    damaged, until a stretch longer than a flush can have in flight holds no newer block. Blocks
//!    of a flush that never ended are no evidence: when they were finished, the log was durable up
//!    to the start of that flush at most.
//! 3. A block that is valid but for one bit of its first sector has decayed. That sector holds the
//!    header and is written whole or not at all. What lay there before came from another
//!    incarnation or another use of the VLF and says so; two blocks that differ in one bit of that
//!    have different CRCs, so more than one bit would differ.
//! 4. A block of one sector cannot be torn: if its header is right up to a few bits, it has
//!    decayed.
//!
//! One bit in a further sector is no evidence. A write that the power loss has torn leaves old
//! content there, and that may differ from the new in a single bit: zeros where the new content
//! ends with one bit that is set (the upper half of the last slot), or what an earlier incarnation,
//! or an earlier use of the VLF, wrote at the same place for nearly the same records.
//!
//! What remains are blocks of several sectors that belong to the last flush, if the power fails
//! within [`SEAL_AFTER`] of that flush: damage of several bits, or of any bit after the first
//! sector, cannot be distinguished from a torn write.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::block::{BLOCK_MAX, BlockHeader, FIRST_BLOCK, UNIT};
use crate::header::FileHeader;
use crate::log::{BUFFERS_MAX, Log};
use crate::lsn::block_key;
use crate::on_disk::OnDisk;
use crate::open::Recovery;
use crate::read::following;
use crate::vlf::VlfPlace;
use crate::{LogError, Lsn};

/// A log that was not flushed for so long records in its header how far it is durable.
pub(crate) const SEAL_AFTER: Duration = Duration::from_millis(100);
/// Bytes after the end, or after the newest block found, that are searched for blocks that are
/// newer than the end: more than one flush writes.
pub(crate) const PROBE_BYTES: u64 = 9 << 20;
/// The blocks that may wait, the open one that a flush takes along, and some that were sealed
/// meanwhile.
const _: () = assert!(PROBE_BYTES >= (BUFFERS_MAX as u64 + 8) * BLOCK_MAX as u64);

/// LSN of the first record of the block with this key.
fn lsn_of(key: u64) -> Lsn {
    Lsn { vlf: (key >> 32) as u32, block: key as u32, slot: 1 }
}

/// For so many VLFs after the end, the search covers all VLFs in which the log may have continued,
/// not only the next in the file.
const BEGINNINGS: u32 = 2;

/// What was found after the end.
#[derive(Default)]
struct Search {
    /// The furthest end of the durable log, as a block key, that any block found names.
    durable: u64,
    /// Bytes that are still to be searched.
    left: u64,
}

impl Recovery {
    /// Checks that the log reaches what the header knew to be durable, and what any block after the
    /// end says was durable when it was finished, and that it does not end at a block that has
    /// decayed.
    ///
    /// # Errors
    /// [`LogError::Missing`].
    pub fn settle_end(&mut self, header: &FileHeader) -> Result<(), LogError> {
        let end = block_key(self.seq, self.block);
        let offset = self.place.at(self.block);
        let missing =
            |to, reason| LogError::Missing { offset, from: lsn_of(end), to: lsn_of(to), reason };
        if !header.clean || header.durable_to != end {
            let newest = self.search()?.max(header.durable_to);
            if newest > end {
                return Err(missing(newest, "a block that was durable is not valid"));
            }
            if let Some(to) = self.decayed()? {
                return Err(missing(to, "a block that was written whole has changed since"));
            }
        }
        // The header may name VLFs whose first use was lost in the crash.
        self.history.forget_from(self.seq + 1);
        Ok(())
    }

    /// If the block at the end of the log was written whole and has changed since: the key of the
    /// block after it.
    fn decayed(&mut self) -> Result<Option<u64>, LogError> {
        if self.place.rest(self.block) == 0 {
            return Ok(None);
        }
        let bytes = self.reader.bytes(&self.place, self.block)?;
        if BlockHeader::verify(bytes, bytes.len()).is_some() {
            // Whole, but left from an earlier incarnation or an earlier use of the VLF.
            return Ok(None);
        }
        let mine = |header: &BlockHeader| {
            let place = header.log_id == self.log_id
                && header.vlf == self.seq
                && header.block == self.block;
            place && header.prev_crc == self.prev_crc && header.incarnation >= self.incarnation
        };
        let sector = self.step * UNIT as u32;
        if let Some((header, byte, _)) = BlockHeader::flip_of(bytes, bytes.len())
            && byte < sector as usize
            && mine(&header)
        {
            let (vlf, block) = following(&header);
            return Ok(Some(block_key(vlf, block)));
        }
        let single = BlockHeader::is_at_most(bytes, sector)
            && BlockHeader::resembles(bytes, &self.log_id, (self.seq, self.block), self.prev_crc);
        Ok(single.then_some(block_key(self.seq, self.block + self.step)))
    }

    /// How far the log was durable according to the blocks after the end.
    fn search(&mut self) -> Result<u64, LogError> {
        let mut search = Search { durable: 0, left: PROBE_BYTES };
        self.search_vlf(self.seq, &self.place.clone(), self.block, &mut search)?;
        let (mut seq, mut index) = (self.seq, self.place.index);
        // At most once around the ring of VLFs.
        for _ in 0..self.map.count() {
            if search.left == 0 || seq == u32::MAX {
                break;
            }
            seq += 1;
            // If the header's history does not name the VLF of `seq`, it is taken to be the next
            // one in the file. Where nothing of it is found, perhaps because it was a single block
            // that is damaged, the search continues after it.
            let behind = if index + 1 < self.map.count() { index + 1 } else { 0 };
            let next = self.history.index_of(seq).unwrap_or(behind);
            let found = match self.map.place(next) {
                Some(place) => {
                    self.search_vlf(seq, &place, FIRST_BLOCK, &mut search)?.then_some(next)
                }
                None => None,
            };
            let found = match found {
                None if seq - self.seq <= BEGINNINGS => {
                    self.search_beginnings(seq, index, &mut search)?
                }
                found => found,
            };
            index = found.unwrap_or(next);
        }
        Ok(search.durable)
    }

    /// Searches the beginnings of all VLFs in which the log may have continued after the one at
    /// `index`; returns the one in which it did.
    fn search_beginnings(
        &mut self,
        seq: u32,
        index: u32,
        search: &mut Search,
    ) -> Result<Option<u32>, LogError> {
        let candidates: Vec<u32> = self.history.candidates(index, self.map.count()).collect();
        for index in candidates {
            let Some(place) = self.map.place(index) else { continue };
            let mut here = Search { durable: search.durable, left: BLOCK_MAX as u64 };
            if self.search_vlf(seq, &place, FIRST_BLOCK, &mut here)? {
                *search = here;
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Searches the blocks of a VLF from the block `from` on. True if there is one of this use of
    /// the VLF, the one as `seq`.
    fn search_vlf(
        &mut self,
        seq: u32,
        place: &VlfPlace,
        from: u32,
        search: &mut Search,
    ) -> Result<bool, LogError> {
        let (mut block, mut any, mut left) = (from, false, search.left);
        while place.rest(block) > 0 && left > 0 {
            let bytes = self.reader.bytes(place, block)?;
            let header = BlockHeader::decode(bytes, bytes.len())
                .filter(|header| {
                    header.log_id == self.log_id && header.vlf == seq && header.block == block
                })
                .and_then(|_| BlockHeader::verify(bytes, bytes.len()));
            let step = match header {
                Some(header) => {
                    any = true;
                    search.durable = search.durable.max(header.durable_to);
                    left = PROBE_BYTES;
                    header.len / UNIT as u32
                }
                None => self.step,
            };
            block += step;
            left = left.saturating_sub(u64::from(step) * UNIT);
        }
        search.left = left;
        Ok(any)
    }
}

impl Log {
    /// Records in the header how far the log is durable, so that damage up to there is not taken
    /// for the log's end. Does nothing if the header says so already. The log does it by itself
    /// when it is idle and at a clean stop.
    ///
    /// # Errors
    /// A failed write is final for the log.
    pub fn seal(&self) -> Result<(), LogError> {
        self.seal_as(false)
    }

    /// `clean`: nothing will be written to the log any more.
    pub(crate) fn seal_as(&self, clean: bool) -> Result<(), LogError> {
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let end = self.durable_to.load(Ordering::Acquire);
        let OnDisk { meta, map, .. } = &mut *on_disk;
        if (meta.header.durable_to, meta.header.clean) == (end, clean) {
            return Ok(());
        }
        meta.refresh(&self.tail.lock(), end);
        meta.header.clean = clean;
        meta.write_area(&*self.file, 0, map.runs()).map_err(|cause| self.poison(cause))
    }

    /// The log was flushed, so it must be sealed once it is idle. Costs a flush one check of a
    /// flag.
    pub(crate) fn was_flushed(&self) {
        if !self.unsealed.load(Ordering::Relaxed) && !self.unsealed.swap(true, Ordering::AcqRel) {
            self.low.call();
        }
    }

    /// Seals a log that was not flushed since the last call. Returns the time after which to call
    /// again, if it should be.
    pub(crate) fn seal_when_idle(&self) -> Option<Duration> {
        if !self.unsealed.load(Ordering::Acquire) {
            return None;
        }
        let end = self.durable_to.load(Ordering::Acquire);
        if self.looked_at.swap(end, Ordering::AcqRel) != end {
            return Some(SEAL_AFTER);
        }
        // Before `seal` reads the durable end: a flush that ends after this sets the flag and wakes
        // the thread again.
        self.unsealed.store(false, Ordering::Release);
        // A failure has taken the log offline; the next operation reports it.
        drop(self.seal());
        None
    }
}

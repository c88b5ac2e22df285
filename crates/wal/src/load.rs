//! Reading one record by its LSN: from memory, or its block from the file. A rollback reads a long
//! transaction backwards, block after block. The log recognizes such a trail of reads and then
//! reads half a megabyte of the preceding blocks in one transfer, across VLFs too. Guarantees: only
//! whole blocks of this log at their own positions are used; without a trail one block is read.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use disk::AlignedBuf;

use crate::block::{BLOCK_MAX, BlockHeader, FIRST_BLOCK, UNIT};
use crate::buffer::StoredBlock;
use crate::log::Log;
use crate::lsn::block_key;
use crate::vlf::VlfPlace;
use crate::{LogError, Lsn};

/// Bytes before a block that are read together with it on a trail.
const BEHIND: u64 = 512 << 10;
/// A multiple of every sector size.
const ALIGN: u64 = 64 << 10;

impl Log {
    /// Copies the record at `lsn` into `out` (which is emptied first). Any record from the
    /// truncation point to the end can be read, durable or not. After a record was read from the
    /// file, its neighbours come from memory for a while.
    pub fn read(&self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), LogError> {
        out.clear();
        if lsn.vlf < self.oldest_vlf.load(Ordering::Acquire) {
            return Err(LogError::NoRecord { lsn });
        }
        let stored = match self.cache.get(lsn.key()) {
            Some(stored) => stored,
            None => self.load(lsn)?,
        };
        out.extend_from_slice(stored.record(lsn.slot).ok_or(LogError::NoRecord { lsn })?);
        Ok(())
    }

    pub(crate) fn place_of(&self, vlf: u32) -> Option<VlfPlace> {
        let tail = self.tail.lock();
        tail.history.index_of(vlf).and_then(|index| tail.map.place(index))
    }

    /// Reads the block of a record from the file into the cache, and the blocks around it that come
    /// with it.
    fn load(&self, lsn: Lsn) -> Result<StoredBlock, LogError> {
        let written_end = self.written_end.load(Ordering::Acquire);
        if lsn.key() >= written_end || lsn.block < FIRST_BLOCK {
            return Err(LogError::NoRecord { lsn });
        }
        let place = self.place_of(lsn.vlf).ok_or(LogError::NoRecord { lsn })?;
        let offset = place.at(lsn.block);
        let (trail, buf) = {
            let mut trails = self.trails.lock();
            (trails.goes_on(offset), trails.buf.take())
        };
        let behind =
            if trail { BEHIND.min(self.cache.limit() as u64 / 4 / ALIGN * ALIGN) } else { 0 };
        let vlfs = self.vlfs_before(lsn.vlf, place, offset.saturating_sub(behind));
        let first = vlfs.last().map_or(offset, |(_, place)| place.at(FIRST_BLOCK));
        let start = first.max(offset - behind.min(offset));
        let least = place.rest(lsn.block).min(BLOCK_MAX as u64);
        let len = (offset - start + least) as usize;
        let mut buf = buf.filter(|buf| buf.len() >= len).unwrap_or_else(|| AlignedBuf::new(len));
        self.file.read_at(start, &mut buf[..len])?;
        // The blocks before it first, so that the block itself is the newest in the cache.
        for (vlf, place) in vlfs.iter().rev() {
            let (from, to) =
                (place.at(FIRST_BLOCK).max(start), (place.offset + place.size).min(offset));
            if from < to {
                let bytes = &buf[(from - start) as usize..(to - start) as usize];
                self.take_blocks(*vlf, place, from, bytes, written_end);
            }
        }
        let bytes = &buf[(offset - start) as usize..len];
        let wanted = self.take_block(lsn.vlf, lsn.block, bytes);
        if let Some((_, taken)) = &wanted {
            // The blocks after it that were read with it.
            let (from, rest) = (offset + *taken as u64, &bytes[*taken..]);
            self.take_blocks(lsn.vlf, &place, from, rest, written_end);
        }
        self.trails.lock().note(start, buf);
        wanted.map(|(copy, _)| StoredBlock::Bytes(copy)).ok_or(LogError::NoRecord { lsn })
    }

    /// The VLF, and those before it that are its neighbours in the log and in the file, down to the
    /// file offset `floor`.
    fn vlfs_before(&self, vlf: u32, place: VlfPlace, floor: u64) -> Vec<(u32, VlfPlace)> {
        let oldest = self.oldest_vlf.load(Ordering::Acquire);
        let mut found = vec![(vlf, place)];
        while let Some((vlf, place)) = found.last().copied()
            && place.head == 0
            && place.offset > floor
            && vlf > oldest
            && let Some(before) = self.place_of(vlf - 1)
            && before.offset + before.size == place.offset
        {
            found.push((vlf - 1, before));
        }
        found
    }

    /// Adds the blocks of a VLF that lie wholly in `bytes`, read from the offset `from`, to the
    /// cache. `from` may lie in the middle of a block.
    fn take_blocks(&self, vlf: u32, place: &VlfPlace, from: u64, bytes: &[u8], written_end: u64) {
        let mut at = 0;
        while at < bytes.len() {
            let block = FIRST_BLOCK + ((from + at as u64 - place.at(FIRST_BLOCK)) / UNIT) as u32;
            if block_key(vlf, block) >= written_end {
                return;
            }
            at += self.take_block(vlf, block, &bytes[at..]).map_or(UNIT as usize, |(_, len)| len);
        }
    }

    /// Adds the block at the start of `bytes` to the cache, if it is there; returns it with its
    /// length in the file.
    fn take_block(&self, vlf: u32, block: u32, bytes: &[u8]) -> Option<(Arc<[u8]>, usize)> {
        let header = BlockHeader::decode(bytes, bytes.len())?;
        let mine = header.log_id == self.log_id && header.vlf == vlf && header.block == block;
        if !mine || BlockHeader::verify(bytes, bytes.len()).is_none() {
            return None;
        }
        let copy: Arc<[u8]> = Arc::from(&bytes[..header.content_len()]);
        self.cache.add_read(block_key(vlf, block), Arc::clone(&copy));
        Some((copy, header.len as usize))
    }
}

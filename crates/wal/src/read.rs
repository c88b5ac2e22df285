//! Reading all records from an LSN on. Blocks come from memory or, verified, from the file. Single
//! records are read in `load`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use disk::{AlignedBuf, BlockFile, DiskError};

use crate::block::{BLOCK_MAX, BlockHeader, FIRST_BLOCK, UNIT, record};
use crate::buffer::StoredBlock;
use crate::log::Log;
use crate::vlf::VlfPlace;
use crate::{LogError, Lsn};

/// Bytes that a scan reads at once.
const SCAN_BYTES: usize = 1 << 20;

/// Reads consecutive blocks with large reads.
#[derive(Debug)]
pub(crate) struct Reader {
    file: Arc<dyn BlockFile>,
    chunk: AlignedBuf,
    /// File offset of the chunk and number of valid bytes in it.
    at: u64,
    have: usize,
    /// Reads end here at the latest, unless a VLF extends further.
    limit: u64,
}

impl Reader {
    /// A reader that reads `chunk` bytes at once, at least the largest block. `limit`: where the
    /// last VLF ends.
    pub fn new(file: Arc<dyn BlockFile>, chunk: usize, limit: u64) -> Self {
        Reader { file, chunk: AlignedBuf::new(chunk), at: 0, have: 0, limit }
    }

    /// Forgets what was read: the file may have changed.
    pub fn forget(&mut self) {
        self.have = 0;
    }

    /// The bytes from a block's start: at least as many as the largest block, unless the VLF ends
    /// earlier.
    pub fn bytes(&mut self, place: &VlfPlace, block: u32) -> Result<&[u8], DiskError> {
        let (rest, offset) = (place.rest(block), place.at(block));
        let want = rest.min(BLOCK_MAX as u64) as usize;
        let skip = offset.wrapping_sub(self.at);
        if offset < self.at || skip + want as u64 > self.have as u64 {
            // Past the VLF's end too: the next VLF in the file is nearly always the next one in the
            // log.
            let chunk = self.chunk.len() as u64;
            let fill = self.limit.saturating_sub(offset).max(rest).min(chunk) as usize;
            let least = rest.min(chunk) as usize;
            self.have = 0;
            let read = match self.file.read_at(offset, &mut self.chunk[..fill]) {
                // The free VLFs at the end of the file have been cut off meanwhile.
                Err(DiskError::ShortRead { .. }) if fill > least => {
                    self.file.read_at(offset, &mut self.chunk[..least]).map(|()| least)
                }
                other => other.map(|()| fill),
            };
            (self.at, self.have) = (offset, read?);
        }
        let skip = (offset - self.at) as usize;
        let end = self.have.min(skip + rest.min(self.chunk.len() as u64) as usize);
        Ok(&self.chunk[skip..end])
    }
}

impl Log {
    /// All records from `from` (or from the oldest one kept, if that is later) to the end of the
    /// log as it is now. Truncation must not pass the scan.
    pub fn scan(&self, from: Lsn) -> LogScan<'_> {
        let oldest_vlf = self.oldest_vlf.load(Ordering::Acquire);
        let (limit, oldest) = {
            let tail = self.tail.lock();
            (tail.map.end(), tail.oldest)
        };
        let chunk = limit.min(SCAN_BYTES as u64) as usize;
        // The log may begin in the middle of its oldest VLF, as a restored one does.
        let block =
            if oldest.vlf == oldest_vlf { oldest.block.max(FIRST_BLOCK) } else { FIRST_BLOCK };
        let from = from.max(Lsn { vlf: oldest_vlf, block, slot: 1 });
        LogScan {
            log: self,
            end: self.end(),
            at: Lsn { slot: from.slot.max(1), ..from },
            current: None,
            reader: Reader::new(Arc::clone(&self.file), chunk, limit),
            read_to: 0,
        }
    }
}

/// The block that a scan has reached.
#[derive(Debug)]
struct CurrentBlock {
    stored: StoredBlock,
    /// Position (VLF, block) of the block after it; `None` for the open block.
    next: Option<(u32, u32)>,
}

/// Forward scan over records. [`next_record`](Self::next_record) returns references to the bytes;
/// the iterator copies them.
#[derive(Debug)]
pub struct LogScan<'a> {
    log: &'a Log,
    end: Lsn,
    at: Lsn,
    current: Option<CurrentBlock>,
    reader: Reader,
    /// Blocks before this one (a block key) were written when the reader last read.
    read_to: u64,
}

impl LogScan<'_> {
    /// The next record; `None` at the end of the log.
    pub fn next_record(&mut self) -> Result<Option<(Lsn, &[u8])>, LogError> {
        let lsn = loop {
            if self.at >= self.end {
                return Ok(None);
            }
            if self.current.is_none() {
                self.current = Some(self.load()?);
            }
            let Some(current) = &self.current else { continue };
            if current.stored.record(self.at.slot).is_some() {
                break self.at;
            }
            match current.next {
                // Claimed, not yet copied: the appender is between two instructions.
                _ if is_claimed(&current.stored, self.at.slot) => std::thread::yield_now(),
                Some((vlf, block)) => {
                    self.at = Lsn { vlf, block, slot: 1 };
                    self.current = None;
                }
                // The block was open when it was loaded; if it is sealed now, it has a successor.
                None => self.current = Some(self.load()?),
            }
        };
        self.at.slot = self.at.slot.saturating_add(1);
        let record = self.current.as_ref().and_then(|current| current.stored.record(lsn.slot));
        Ok(record.map(|record| (lsn, record)))
    }

    fn load(&mut self) -> Result<CurrentBlock, LogError> {
        let key = self.at.key();
        if key >= self.log.written_end.load(Ordering::Acquire)
            && let Some(stored) = self.log.cache.get(key)
        {
            let next = match &stored {
                StoredBlock::Memory(block) => block.sealed.get().map(|sealed| sealed.next),
                StoredBlock::Bytes(bytes) => {
                    // The copy has no padding, so its header may state more bytes than there are.
                    let header = BlockHeader::decode(bytes, BLOCK_MAX);
                    header.map(|header| following(&header))
                }
            };
            return Ok(CurrentBlock { stored, next });
        }
        let lsn = self.at;
        let place = self.log.place_of(lsn.vlf).ok_or(LogError::NoRecord { lsn })?;
        let written_end = self.log.written_end.load(Ordering::Acquire);
        if key >= self.read_to {
            self.reader.forget();
            self.read_to = written_end;
        }
        let bytes = self.reader.bytes(&place, lsn.block)?;
        let header = BlockHeader::verify(bytes, bytes.len()).filter(|header| {
            header.log_id == self.log.log_id && header.vlf == lsn.vlf && header.block == lsn.block
        });
        let offset = place.at(lsn.block);
        let header = header.ok_or(LogError::Corrupt {
            offset,
            reason: "a log block before the end is not valid",
        })?;
        let stored = StoredBlock::Bytes(Arc::from(&bytes[..header.content_len()]));
        Ok(CurrentBlock { stored, next: Some(following(&header)) })
    }
}

/// Position (VLF, block) of the block after a block on disk.
pub(crate) fn following(header: &BlockHeader) -> (u32, u32) {
    match header.successor {
        Some(_) => (header.vlf.wrapping_add(1), FIRST_BLOCK),
        None => (header.vlf, header.block + header.len / UNIT as u32),
    }
}

fn is_claimed(stored: &StoredBlock, slot: u16) -> bool {
    match stored {
        StoredBlock::Memory(block) => usize::from(slot) <= block.buf.items(),
        StoredBlock::Bytes(bytes) => record(bytes, slot).is_some(),
    }
}

impl Iterator for LogScan<'_> {
    type Item = Result<(Lsn, Vec<u8>), LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_record() {
            Ok(Some((lsn, record))) => Some(Ok((lsn, record.to_vec()))),
            Ok(None) => None,
            Err(error) => {
                // An error ends the scan.
                self.at = self.end;
                Some(Err(error))
            }
        }
    }
}

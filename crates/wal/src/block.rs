//! The log block on disk: header, records, slot table, padding to the alignment, one CRC-32C over all of it.
//!
//! | at | bytes | field |
//! |----|-------|-------|
//! | 0  | 4  | magic `RWLB` |
//! | 4  | 2  | format version |
//! | 6  | 2  | flags: 1 = last block of its VLF |
//! | 8  | 16 | log id |
//! | 24 | 4  | VLF sequence number |
//! | 28 | 4  | place: units of 512 bytes from the VLF's first block, which has 16 |
//! | 32 | 4  | incarnation: how many times the log had been opened |
//! | 36 | 4  | length of the block in bytes |
//! | 40 | 4  | end of the records; the slot table (2 bytes a record: its start) follows |
//! | 44 | 2  | number of records |
//! | 46 | 2  | zero |
//! | 48 | 4  | checksum of the block before this one: a hash chain |
//! | 52 | 4  | last block: index of the VLF that gets the next sequence number |
//! | 56 | 8  | VLF and block of the first block that was not known to be durable when this one was written |
//! | 64 | 4  | zero |
//! | 68 | 4  | CRC-32C of everything else in the block |
//!
//! A block is never rewritten. What is left from an earlier use of the space fails on the sequence number; what is left
//! from before a crash fails on the chain or the incarnation; what is torn fails on the CRC.

use crate::{LogError, Lsn};

/// Bytes before the first record.
pub(crate) const HEADER: usize = 72;
/// Slot table bytes for each record.
pub(crate) const SLOT: usize = 2;
/// Largest block in bytes: the smallest VLF holds a whole one, so small VLFs make no more blocks than large ones.
pub(crate) const BLOCK_MAX: usize = 64 << 10;
/// Most records of one block.
pub(crate) const ITEMS_MAX: usize = 4096;
/// Unit of block places.
pub(crate) const UNIT: u64 = 512;
/// Place of the first block of a VLF, whether it begins with a map area or not: as SQL Server counts.
pub(crate) const FIRST_BLOCK: u32 = (crate::options::AREA / UNIT) as u32;

const MAGIC: u32 = u32::from_le_bytes(*b"RWLB");
const VERSION: u16 = 1;
const FLAG_LAST: u16 = 1;
const CRC_AT: usize = 68;

/// What a block says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub log_id: [u8; 16],
    pub vlf: u32,
    pub block: u32,
    pub incarnation: u32,
    /// Length of the block in bytes.
    pub len: u32,
    /// End of the records.
    pub used: u32,
    pub records: u16,
    pub prev_crc: u32,
    /// Index of the VLF that follows, if this is the last block of its own.
    pub successor: Option<u32>,
    /// Place of the first block not known to be durable: vlf << 32 | block.
    pub hard_end: u64,
    pub crc: u32,
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

pub(crate) fn id_at(bytes: &[u8], at: usize) -> [u8; 16] {
    let mut id = [0; 16];
    if let Some(found) = bytes.get(at..at + 16) {
        id.copy_from_slice(found);
    }
    id
}

impl BlockHeader {
    /// Writes the header into `front` (the first [`HEADER`] bytes), everything but the CRC.
    pub fn encode(&self, front: &mut [u8]) {
        debug_assert_eq!(front.len(), HEADER);
        front.fill(0);
        front[..4].copy_from_slice(&MAGIC.to_le_bytes());
        front[4..6].copy_from_slice(&VERSION.to_le_bytes());
        let flags = if self.successor.is_some() { FLAG_LAST } else { 0 };
        front[6..8].copy_from_slice(&flags.to_le_bytes());
        front[8..24].copy_from_slice(&self.log_id);
        front[24..28].copy_from_slice(&self.vlf.to_le_bytes());
        front[28..32].copy_from_slice(&self.block.to_le_bytes());
        front[32..36].copy_from_slice(&self.incarnation.to_le_bytes());
        front[36..40].copy_from_slice(&self.len.to_le_bytes());
        front[40..44].copy_from_slice(&self.used.to_le_bytes());
        front[44..46].copy_from_slice(&self.records.to_le_bytes());
        front[48..52].copy_from_slice(&self.prev_crc.to_le_bytes());
        front[52..56].copy_from_slice(&self.successor.unwrap_or(0).to_le_bytes());
        front[56..64].copy_from_slice(&self.hard_end.to_le_bytes());
    }

    /// Puts the CRC of header, records and the rest (slots and padding) into the header and returns it.
    pub fn stamp(front: &mut [u8], records: &[u8], rest: &[u8]) -> u32 {
        let crc = crc32c::crc32c(&front[..CRC_AT]);
        let crc = crc32c::crc32c_append(crc, &front[CRC_AT + 4..]);
        let crc = crc32c::crc32c_append(crc32c::crc32c_append(crc, records), rest);
        front[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
        crc
    }

    /// Reads a header without looking at the CRC. `None` if it cannot be one, or contradicts itself or `room`.
    pub fn decode(bytes: &[u8], room: usize) -> Option<BlockHeader> {
        if bytes.len() < HEADER || u32_at(bytes, 0) != MAGIC || u16_at(bytes, 4) != VERSION {
            return None;
        }
        let header = BlockHeader {
            log_id: id_at(bytes, 8),
            vlf: u32_at(bytes, 24),
            block: u32_at(bytes, 28),
            incarnation: u32_at(bytes, 32),
            len: u32_at(bytes, 36),
            used: u32_at(bytes, 40),
            records: u16_at(bytes, 44),
            prev_crc: u32_at(bytes, 48),
            successor: (u16_at(bytes, 6) & FLAG_LAST != 0).then_some(u32_at(bytes, 52)),
            hard_end: u64_at(bytes, 56),
            crc: u32_at(bytes, CRC_AT),
        };
        let (len, used) = (header.len as usize, header.used as usize);
        let fits = len <= room.min(BLOCK_MAX)
            && len.is_multiple_of(UNIT as usize)
            && used >= HEADER
            && used + SLOT * header.records as usize <= len;
        fits.then_some(header)
    }

    /// Reads and verifies a whole block that starts at `bytes`.
    pub fn verify(bytes: &[u8], room: usize) -> Option<BlockHeader> {
        let header = Self::decode(bytes, room.min(bytes.len()))?;
        let block = &bytes[..header.len as usize];
        let crc = crc32c::crc32c_append(crc32c::crc32c(&block[..CRC_AT]), &block[CRC_AT + 4..]);
        (crc == header.crc).then_some(header)
    }

    /// Bytes up to the end of the slot table; the rest is padding. At most `len`.
    pub fn content_len(&self) -> usize {
        self.used as usize + SLOT * usize::from(self.records)
    }

    /// LSN of the block's last record; `None` if it has no record.
    pub fn last_lsn(&self) -> Option<Lsn> {
        (self.records > 0).then_some(Lsn { vlf: self.vlf, block: self.block, slot: self.records })
    }
}

/// The checksum that the very first block of a log names as its predecessor's.
pub(crate) fn chain_start(log_id: &[u8; 16]) -> u32 {
    crc32c::crc32c(log_id)
}

/// A record of a verified block; `slot` from 1.
pub(crate) fn record(block: &[u8], slot: u16) -> Option<&[u8]> {
    let (records, used) = (u16_at(block, 44), u32_at(block, 40) as usize);
    if slot == 0 || slot > records {
        return None;
    }
    let table = used + SLOT * (slot as usize - 1);
    let start = u16_at(block, table) as usize;
    let end = if slot == records { used } else { u16_at(block, table + SLOT) as usize };
    if start < HEADER { None } else { block.get(start..end) }
}

/// Checks a record's length against the largest that any log takes.
pub(crate) fn check_len(parts: &[&[u8]]) -> Result<usize, LogError> {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    if len > crate::MAX_RECORD { Err(LogError::RecordTooLarge { len }) } else { Ok(len) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(records: &[&[u8]], successor: Option<u32>) -> Vec<u8> {
        let mut body = Vec::new();
        let mut slots = Vec::new();
        for record in records {
            slots.extend_from_slice(&((HEADER + body.len()) as u16).to_le_bytes());
            body.extend_from_slice(record);
        }
        let used = HEADER + body.len();
        let len = (used + slots.len()).next_multiple_of(512);
        slots.resize(len - used, 0);
        let header = BlockHeader {
            log_id: [7; 16],
            vlf: 43,
            block: 16,
            incarnation: 2,
            len: len as u32,
            used: used as u32,
            records: records.len() as u16,
            prev_crc: 99,
            successor,
            hard_end: 5,
            crc: 0,
        };
        let mut front = [0; HEADER];
        header.encode(&mut front);
        let crc = BlockHeader::stamp(&mut front, &body, &slots);
        let block = [&front[..], &body, &slots].concat();
        assert_eq!(BlockHeader::verify(&block, block.len()), Some(BlockHeader { crc, ..header }));
        block
    }

    #[test]
    fn records_are_found_by_slot() {
        let block = sample(&[b"one", b"", b"three"], Some(3));
        assert_eq!(record(&block, 1), Some(&b"one"[..]));
        assert_eq!(record(&block, 2), Some(&b""[..]));
        assert_eq!(record(&block, 3), Some(&b"three"[..]));
        assert_eq!((record(&block, 0), record(&block, 4)), (None, None));
        assert_eq!(BlockHeader::verify(&block, 100), None, "no room");
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_noticed(at in 0usize..512, flip in 1u8..=255) {
            let mut block = sample(&[b"a record", b"another"], None);
            block[at] ^= flip;
            prop_assert_eq!(BlockHeader::verify(&block, block.len()), None);
        }

        #[test]
        fn random_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..1200), slot: u16) {
            let mut bytes = bytes;
            let _ = BlockHeader::verify(&bytes, bytes.len());
            let _ = record(&bytes, slot);
            if bytes.len() >= 8 {
                bytes[..4].copy_from_slice(b"RWLB");
                bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
                let _ = BlockHeader::verify(&bytes, bytes.len());
                let _ = record(&bytes, slot);
            }
        }
    }
}

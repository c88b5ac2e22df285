//! The log block on disk: header, records, slot table, padding to the alignment, one CRC-32C over
//! all of it.
//!
//! | at | bytes | field |
//! |----|-------|-------|
//! | 0  | 4  | magic `RWLB` |
//! | 4  | 2  | format version |
//! | 6  | 2  | flags: 1 = last block of its VLF |
//! | 8  | 16 | log id |
//! | 24 | 4  | VLF sequence number |
//! | 28 | 4  | block number: units of 512 bytes from the VLF's first block, which has 16 |
//! | 32 | 4  | incarnation: how many times the log had been opened |
//! | 36 | 4  | length of the block in bytes |
//! | 40 | 4  | end of the records; the slot table (2 bytes a record: its start) follows |
//! | 44 | 2  | number of records |
//! | 46 | 2  | zero |
//! | 48 | 4  | checksum of the block before this one: a hash chain |
//! | 52 | 4  | last block: index of the VLF that gets the next sequence number |
//! | 56 | 8  | VLF and block of the first block that was not known to be durable when this one was written |
//! | 64 | 4  | sum of everything but this field and the CRC (version 1: zero) |
//! | 68 | 4  | CRC-32C of everything else in the block |
//!
//! A block is never rewritten. What is left from an earlier use of the space fails on the sequence
//! number; what is left from before a crash fails on the chain or the incarnation; what is torn
//! fails on the CRC. A block that has decayed since it was written fails on the CRC too: the CRC
//! shows which single bit would explain the damage, and the sum confirms or refutes it. In the
//! block's first sector only decay can be explained by one bit. Further sectors say nothing of who
//! wrote them, so one that a torn write left as it was may differ from the new content in just one
//! bit (see `evidence`).

use crate::{LogError, Lsn};

/// Bytes before the first record.
pub(crate) const HEADER: usize = 72;
/// Slot table bytes for each record.
pub(crate) const SLOT: usize = 2;
/// Largest block in bytes: the smallest VLF holds a whole one, so small VLFs make no more blocks
/// than large ones.
pub(crate) const BLOCK_MAX: usize = 64 << 10;
/// Most records of one block.
pub(crate) const ITEMS_MAX: usize = 4096;
/// Unit of block numbers.
pub(crate) const UNIT: u64 = 512;
/// Number of the first block of a VLF, whether the VLF begins with a map area or not: as SQL Server
/// counts.
pub(crate) const FIRST_BLOCK: u32 = (crate::options::AREA / UNIT) as u32;

const MAGIC: u32 = u32::from_le_bytes(*b"RWLB");
const VERSION: u16 = 2;
/// Blocks of this version have no sum.
const VERSION_WITHOUT_SUM: u16 = 1;
const FLAG_LAST: u16 = 1;
const LEN_AT: usize = 36;
const SUM_AT: usize = 64;
const CRC_AT: usize = 68;

/// A decayed header may differ in this many of the bits of those 32 bytes whose content is known
/// beforehand.
const FEW_BITS: u32 = 8;

/// What the header of a block holds.
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
    /// First block not known to be durable: vlf << 32 | block.
    pub durable_to: u64,
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
        front[56..64].copy_from_slice(&self.durable_to.to_le_bytes());
    }

    /// Puts sum and CRC of header, records and the rest (slots and padding) into the header and
    /// returns the CRC.
    pub fn stamp(front: &mut [u8], records: &[u8], rest: &[u8]) -> u32 {
        let sum = sum_of(&[&front[..SUM_AT], records, rest]);
        front[SUM_AT..SUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
        let crc = crc32c::crc32c(&front[..CRC_AT]);
        let crc = crc32c::crc32c_append(crc, &front[CRC_AT + 4..]);
        let crc = crc32c::crc32c_append(crc32c::crc32c_append(crc, records), rest);
        front[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
        crc
    }

    /// Reads a header without checking the CRC. `None` if it cannot be one, or its lengths
    /// contradict each other or `room`.
    pub fn decode(bytes: &[u8], room: usize) -> Option<BlockHeader> {
        let known = matches!(u16_at(bytes, 4), VERSION_WITHOUT_SUM | VERSION);
        if bytes.len() < HEADER || u32_at(bytes, 0) != MAGIC || !known {
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
            durable_to: u64_at(bytes, 56),
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

    /// The block that `bytes` began with before one bit of it changed, with the byte and the bit.
    /// `bytes` itself is not a valid block. `None` if no single bit explains the damage. A torn
    /// write can look the same if the byte lies in another sector than the block's first.
    pub fn flip_of(bytes: &[u8], room: usize) -> Option<(BlockHeader, usize, u32)> {
        let most = room.min(bytes.len()).min(BLOCK_MAX);
        let len = u32_at(bytes, LEN_AT);
        if let Some(block) =
            bytes.get(..len as usize).filter(|block| block.len() > HEADER && len as usize <= most)
            && let Some((byte, bit)) = flipped_bit(block)
        {
            return repaired(block, byte, bit).map(|header| (header, byte, bit));
        }
        // The bit may be one of the length.
        let lens = (0..u32::BITS).map(|bit| (bit, (len ^ 1 << bit) as usize));
        let fitting = lens
            .filter(|(_, len)| *len > HEADER && *len <= most && len.is_multiple_of(UNIT as usize));
        let mut blocks = fitting.filter_map(|(bit, len)| {
            let (byte, bit) = (LEN_AT + bit as usize / 8, bit % 8);
            repaired(&bytes[..len], byte, bit).map(|header| (header, byte, bit))
        });
        blocks.next()
    }

    /// Whether the length field of a block states at most so many bytes.
    pub fn is_at_most(bytes: &[u8], len: u32) -> bool {
        (1..=len).contains(&u32_at(bytes, LEN_AT))
    }

    /// Whether `bytes` began as the header of the block that continues the chain at `place` (VLF,
    /// block), apart from a few bits.
    pub fn resembles(bytes: &[u8], log_id: &[u8; 16], place: (u32, u32), prev_crc: u32) -> bool {
        let differing = |at: usize, wanted: &[u8]| -> u32 {
            wanted.iter().zip(&bytes[at..]).map(|(a, b)| (a ^ b).count_ones()).sum()
        };
        bytes.len() >= HEADER
            && differing(0, &MAGIC.to_le_bytes())
                + differing(8, log_id)
                + differing(24, &place.0.to_le_bytes())
                + differing(28, &place.1.to_le_bytes())
                + differing(48, &prev_crc.to_le_bytes())
                <= FEW_BITS
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

/// A checksum that has nothing in common with a CRC: the sum of the parts as numbers of eight
/// bytes, folded.
fn sum_of(parts: &[&[u8]]) -> u32 {
    let mut sum = 0u64;
    for part in parts {
        let (words, rest) = part.as_chunks::<8>();
        let words =
            words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        sum = sum.wrapping_add(words).wrapping_add(u64::from_le_bytes(last));
    }
    (sum >> 32) as u32 ^ sum as u32
}

/// The block with one bit changed, if that makes it valid.
fn repaired(block: &[u8], byte: usize, bit: u32) -> Option<BlockHeader> {
    let mut block = block.to_vec();
    block[byte] ^= 1 << bit;
    let header = BlockHeader::verify(&block, block.len())
        .filter(|header| header.len as usize == block.len())?;
    let used = header.used as usize;
    let sum = sum_of(&[&block[..SUM_AT], &block[HEADER..used], &block[used..]]);
    (u16_at(&block, 4) == VERSION && sum == u32_at(&block, SUM_AT)).then_some(header)
}

/// Which bit of a block whose CRC is wrong would make it right, as byte and bit; at most one can.
fn flipped_bit(block: &[u8]) -> Option<(usize, u32)> {
    let crc = crc32c::crc32c_append(crc32c::crc32c(&block[..CRC_AT]), &block[CRC_AT + 4..]);
    let wrong = crc ^ u32_at(block, CRC_AT);
    if wrong.is_power_of_two() {
        let bit = wrong.trailing_zeros();
        return Some((CRC_AT + bit as usize / 8, bit % 8));
    }
    // What each bit of a byte does to the CRC: of the last byte first, then of the ones before it.
    let mut effects: [u32; 8] = std::array::from_fn(|bit| CRC_TABLE[1 << bit]);
    let mut bytes = (0..block.len()).rev().filter(|at| !(CRC_AT..CRC_AT + 4).contains(at));
    bytes.find_map(|byte| {
        let found = effects.iter().position(|effect| *effect == wrong);
        effects = effects.map(|effect| CRC_TABLE[effect as usize & 0xff] ^ effect >> 8);
        found.map(|bit| (byte, bit as u32))
    })
}

/// CRC-32C of one byte, without the inversions.
static CRC_TABLE: [u32; 256] = {
    let mut table = [0u32; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

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
#[inline]
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
            durable_to: 5,
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

    /// A flip of any bit of small and large blocks is explained; sectors that differ in more than
    /// that are not.
    #[test]
    fn a_flipped_bit_is_told_from_lost_sectors() {
        let mut rng = fastrand::Rng::with_seed(5);
        for len in [10, 300, 1000, 5000, 60_000] {
            let body: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
            let block = sample(&[&body[..len / 2], &body[len / 2..]], (len > 999).then_some(3));
            let good = BlockHeader::verify(&block, block.len());
            let bits = if len < 1000 { 0..block.len() * 8 } else { 0..600 };
            for bit in bits.map(|bit| if len < 1000 { bit } else { rng.usize(0..block.len() * 8) })
            {
                let mut bad = [&block[..], &[0xee; 512]].concat();
                bad[bit / 8] ^= 1 << (bit % 8);
                let found = BlockHeader::flip_of(&bad, bad.len());
                let wanted = good.map(|header| (header, bit / 8, (bit % 8) as u32));
                assert_eq!(found, wanted, "{len} bytes, bit {bit}");
                assert!(BlockHeader::resembles(&bad, &[7; 16], (43, 16), 99));
            }
            for _ in 0..if len < 10_000 { 500 } else { 100 } {
                let mut torn = block.clone();
                let sectors = block.len() / 512;
                for sector in 0..sectors {
                    let (lost, old) = (rng.bool(), rng.u8(..2) * rng.u8(..));
                    if !lost {
                        continue;
                    }
                    torn[sector * 512..][..512]
                        .iter_mut()
                        .for_each(|byte| *byte = old.wrapping_mul(*byte | 1));
                }
                let found = BlockHeader::flip_of(&torn, torn.len());
                assert!(torn == block || found.is_none(), "{len} bytes");
            }
        }
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_noticed(at in 0usize..512, flip in 1u8..=255) {
            let mut block = sample(&[b"a record", b"another"], None);
            block[at] ^= flip;
            prop_assert_eq!(BlockHeader::verify(&block, block.len()), None);
        }

        #[test]
        fn random_bytes_are_no_block_and_have_no_record_beyond_them(bytes in proptest::collection::vec(any::<u8>(), 0..1200), slot: u16) {
            let mut bytes = bytes;
            let within = |bytes: &[u8]| {
                record(bytes, slot).is_none_or(|found| HEADER + found.len() <= bytes.len())
            };
            prop_assert_eq!(BlockHeader::verify(&bytes, bytes.len()), None);
            prop_assert!(within(&bytes));
            if bytes.len() >= 8 {
                bytes[..4].copy_from_slice(b"RWLB");
                bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
                prop_assert_eq!(BlockHeader::verify(&bytes, bytes.len()), None);
                prop_assert!(within(&bytes));
            }
        }
    }
}

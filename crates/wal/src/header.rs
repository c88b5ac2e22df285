//! The file header and the map areas on disk.
//!
//! An area is 8 KB: two slots of 4 KB written alternately, each with a sequence number and a
//! CRC-32C; the newest valid one counts, so a torn write leaves the older. The first area is the
//! file's start and carries identity, checkpoint, the history of VLF use and the first runs of the
//! map; when it is full, further runs go to the first 8 KB of the next VLF that a growth makes,
//! chained by file offset. An area inside a VLF describes only this and later VLFs, so cutting the
//! file cuts whole areas.
//!
//! Common to both kinds: 0 magic (4), 4 version (2), 8 sequence number of the write (8), 16 log id
//! (16), 32 number of runs (2), 36 index of the first VLF (4), 40 its offset (8), 48 offset of the
//! next area or 0 (8), 4092 CRC. The runs are packed (see `runs`).

use crate::block::{id_at, u16_at, u32_at, u64_at};
use crate::vlf::{EqualVlfs, SeqRun};
use crate::{CheckpointInfo, Lsn, runs};

pub(crate) const SLOT_SIZE: usize = 4096;
const FILE_MAGIC: u32 = u32::from_le_bytes(*b"RWLF");
const MAP_MAGIC: u32 = u32::from_le_bytes(*b"RWLM");
const VERSION: u16 = 3;
const CRC_AT: usize = SLOT_SIZE - 4;

/// Largest checkpoint payload in bytes.
pub const CHECKPOINT_PAYLOAD_MAX: usize = 1024;
/// Runs of the history that the file header holds.
pub(crate) const HISTORY_MAX: usize = 128;

const INCARNATION_AT: usize = 56;
const ALIGN_AT: usize = 60;
const FIRST_SEQ_AT: usize = 64;
const HISTORY_COUNT_AT: usize = 68;
const PAYLOAD_LEN_AT: usize = 70;
const LSNS_AT: usize = 72; // checkpoint, redo, oldest: 10 bytes each
const CLEAN_AT: usize = 102;
const HARD_END_AT: usize = 104;
const PAYLOAD_AT: usize = 112;
const HISTORY_AT: usize = PAYLOAD_AT + CHECKPOINT_PAYLOAD_MAX;
const FILE_RUNS_AT: usize = HISTORY_AT + 16 * HISTORY_MAX;
const MAP_RUNS_AT: usize = 56;
/// Bytes for packed runs in the file header's area.
pub(crate) const FILE_RUNS: usize = CRC_AT - FILE_RUNS_AT;
/// Bytes for packed runs in a map area.
pub(crate) const MAP_RUNS: usize = CRC_AT - MAP_RUNS_AT;

/// What the file header holds besides the map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub log_id: [u8; 16],
    pub incarnation: u32,
    pub alignment: u32,
    pub first_seq: u32,
    pub checkpoint: CheckpointInfo,
    /// Truncation point: the oldest record that is kept.
    pub oldest: Lsn,
    /// Everything before this block was durable when the header was written.
    pub durable_to: u64,
    /// The log was closed then: nothing was written after `durable_to`.
    pub clean: bool,
    pub history: Vec<SeqRun>,
}

/// The part of the map that an area holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MapPart {
    pub runs: Vec<EqualVlfs>,
    /// File offset of the next area; 0 = none.
    pub next: u64,
}

fn put_lsn(bytes: &mut [u8], at: usize, lsn: Lsn) {
    bytes[at..at + 10].copy_from_slice(&lsn.to_bytes());
}

fn lsn_at(bytes: &[u8], at: usize) -> Lsn {
    let mut raw = [0; 10];
    if let Some(found) = bytes.get(at..at + 10) {
        raw.copy_from_slice(found);
    }
    Lsn::from_bytes(raw)
}

fn encode_common(
    slot: &mut [u8],
    magic: u32,
    seqno: u64,
    log_id: &[u8; 16],
    part: &MapPart,
    runs_at: usize,
) {
    slot.fill(0);
    slot[..4].copy_from_slice(&magic.to_le_bytes());
    slot[4..6].copy_from_slice(&VERSION.to_le_bytes());
    slot[8..16].copy_from_slice(&seqno.to_le_bytes());
    slot[16..32].copy_from_slice(log_id);
    slot[32..34].copy_from_slice(&(part.runs.len() as u16).to_le_bytes());
    if let Some(first) = part.runs.first() {
        slot[36..40].copy_from_slice(&first.first_index.to_le_bytes());
        slot[40..48].copy_from_slice(&first.first_offset.to_le_bytes());
    }
    slot[48..56].copy_from_slice(&part.next.to_le_bytes());
    runs::pack(&part.runs, &mut slot[runs_at..CRC_AT]);
}

fn seal(slot: &mut [u8]) {
    let crc = crc32c::crc32c(&slot[..CRC_AT]);
    slot[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
}

fn decode_part(slot: &[u8], runs_at: usize) -> Option<MapPart> {
    let (first_index, first_offset) = (u32_at(slot, 36), u64_at(slot, 40));
    let runs =
        runs::unpack(&slot[runs_at..CRC_AT], u16_at(slot, 32).into(), first_index, first_offset)?;
    Some(MapPart { runs, next: u64_at(slot, 48) })
}

/// The write sequence number of a slot, if the slot is valid.
fn valid(slot: &[u8], magic: u32) -> Option<u64> {
    let intact = slot.len() == SLOT_SIZE
        && u32_at(slot, 0) == magic
        && u16_at(slot, 4) == VERSION
        && is_sealed(slot);
    intact.then(|| u64_at(slot, 8))
}

fn is_sealed(slot: &[u8]) -> bool {
    crc32c::crc32c(&slot[..CRC_AT]) == u32_at(slot, CRC_AT)
}

/// Writes the slot of the file header.
pub(crate) fn encode_file(slot: &mut [u8], seqno: u64, header: &FileHeader, part: &MapPart) {
    debug_assert!(header.history.len() <= HISTORY_MAX);
    encode_common(slot, FILE_MAGIC, seqno, &header.log_id, part, FILE_RUNS_AT);
    slot[INCARNATION_AT..][..4].copy_from_slice(&header.incarnation.to_le_bytes());
    slot[ALIGN_AT..][..4].copy_from_slice(&header.alignment.to_le_bytes());
    slot[FIRST_SEQ_AT..][..4].copy_from_slice(&header.first_seq.to_le_bytes());
    slot[HISTORY_COUNT_AT..][..2].copy_from_slice(&(header.history.len() as u16).to_le_bytes());
    let payload = &header.checkpoint.payload;
    slot[PAYLOAD_LEN_AT..][..2].copy_from_slice(&(payload.len() as u16).to_le_bytes());
    put_lsn(slot, LSNS_AT, header.checkpoint.checkpoint_lsn);
    put_lsn(slot, LSNS_AT + 10, header.checkpoint.redo_lsn);
    put_lsn(slot, LSNS_AT + 20, header.oldest);
    slot[CLEAN_AT] = header.clean.into();
    slot[HARD_END_AT..][..8].copy_from_slice(&header.durable_to.to_le_bytes());
    slot[PAYLOAD_AT..][..payload.len()].copy_from_slice(payload);
    for (i, run) in header.history.iter().enumerate() {
        let at = HISTORY_AT + 16 * i;
        slot[at..at + 4].copy_from_slice(&run.seq.to_le_bytes());
        slot[at + 4..at + 8].copy_from_slice(&run.index.to_le_bytes());
        slot[at + 8..at + 12].copy_from_slice(&run.count.to_le_bytes());
        slot[at + 12] = run.parity;
    }
    seal(slot);
}

/// Writes the slot of a map area inside a VLF.
pub(crate) fn encode_map(slot: &mut [u8], seqno: u64, log_id: &[u8; 16], part: &MapPart) {
    encode_common(slot, MAP_MAGIC, seqno, log_id, part, MAP_RUNS_AT);
    seal(slot);
}

fn decode_file(slot: &[u8]) -> Option<(FileHeader, MapPart)> {
    let history_count = u16_at(slot, HISTORY_COUNT_AT) as usize;
    let payload_len = u16_at(slot, PAYLOAD_LEN_AT) as usize;
    if history_count > HISTORY_MAX || payload_len > CHECKPOINT_PAYLOAD_MAX {
        return None;
    }
    let part = decode_part(slot, FILE_RUNS_AT)?;
    let history = (0..history_count).map(|i| HISTORY_AT + 16 * i).map(|at| SeqRun {
        seq: u32_at(slot, at),
        index: u32_at(slot, at + 4),
        count: u32_at(slot, at + 8),
        parity: slot[at + 12],
    });
    let header = FileHeader {
        log_id: id_at(slot, 16),
        incarnation: u32_at(slot, INCARNATION_AT),
        alignment: u32_at(slot, ALIGN_AT),
        first_seq: u32_at(slot, FIRST_SEQ_AT),
        checkpoint: CheckpointInfo {
            checkpoint_lsn: lsn_at(slot, LSNS_AT),
            redo_lsn: lsn_at(slot, LSNS_AT + 10),
            payload: slot[PAYLOAD_AT..][..payload_len].to_vec(),
        },
        oldest: lsn_at(slot, LSNS_AT + 20),
        durable_to: u64_at(slot, HARD_END_AT),
        clean: slot[CLEAN_AT] == 1,
        history: history.collect(),
    };
    Some((header, part))
}

/// Which slot of an area is the newest valid one, and its sequence number.
fn newest(area: &[u8], magic: u32) -> Option<(usize, u64)> {
    let slots = area.chunks_exact(SLOT_SIZE).enumerate();
    slots.filter_map(|(i, slot)| Some((i, valid(slot, magic)?))).max_by_key(|found| found.1)
}

/// An area's newest valid slot as read from the file.
#[derive(Debug)]
pub(crate) struct FoundSlot<T> {
    pub content: T,
    pub slot: usize,
    pub seqno: u64,
}

/// Reads the file header's area. `Err(true)`: it is of this format but damaged; `Err(false)`: it is
/// something else.
pub(crate) fn read_file_area(area: &[u8]) -> Result<FoundSlot<(FileHeader, MapPart)>, bool> {
    let Some((slot, seqno)) = newest(area, FILE_MAGIC) else {
        // Damaged if it was a log of this version. The header of another version is intact but
        // cannot be read.
        let ours = |slot: &[u8]| u32_at(slot, 0) == FILE_MAGIC;
        let other = |slot: &[u8]| ours(slot) && u16_at(slot, 4) != VERSION && is_sealed(slot);
        let mut slots = area.chunks_exact(SLOT_SIZE);
        return Err(slots.clone().any(ours) && !slots.any(other));
    };
    let content = decode_file(&area[slot * SLOT_SIZE..][..SLOT_SIZE]).ok_or(true)?;
    Ok(FoundSlot { content, slot, seqno })
}

/// Reads a map area inside a VLF; `None` if there is no valid one of this log.
pub(crate) fn read_map_area(area: &[u8], log_id: &[u8; 16]) -> Option<FoundSlot<MapPart>> {
    let (slot, seqno) = newest(area, MAP_MAGIC)?;
    let bytes = &area[slot * SLOT_SIZE..][..SLOT_SIZE];
    if id_at(bytes, 16) != *log_id {
        return None;
    }
    Some(FoundSlot { content: decode_part(bytes, MAP_RUNS_AT)?, slot, seqno })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> (FileHeader, MapPart) {
        let lsn = |vlf| Lsn { vlf, block: 16, slot: 1 };
        let header = FileHeader {
            log_id: [9; 16],
            incarnation: 4,
            alignment: 512,
            first_seq: 43,
            checkpoint: CheckpointInfo {
                checkpoint_lsn: lsn(44),
                redo_lsn: lsn(43),
                payload: vec![5; 1024],
            },
            oldest: lsn(42),
            durable_to: 77,
            clean: true,
            history: (0..HISTORY_MAX as u32)
                .map(|i| SeqRun { seq: i * 10 + 1, index: i * 10, count: 10, parity: 64 })
                .collect(),
        };
        let mut map = crate::vlf::VlfMap::default();
        for i in 0..100 {
            map.push(65536 + 8192 * u64::from(i), 1 + i, lsn(i));
        }
        (header, MapPart { runs: map.runs().to_vec(), next: 123 << 13 })
    }

    #[test]
    fn the_newest_valid_slot_counts() {
        let (header, part) = sample();
        let mut area = vec![0; 2 * SLOT_SIZE];
        assert_eq!(read_file_area(&area).err(), Some(false));
        encode_file(&mut area[..SLOT_SIZE], 7, &header, &part);
        let newer = FileHeader { incarnation: 5, ..header.clone() };
        encode_file(&mut area[SLOT_SIZE..], 8, &newer, &part);
        let found = read_file_area(&area).expect("both valid");
        assert_eq!(
            (found.slot, found.seqno, &found.content.0, &found.content.1),
            (1, 8, &newer, &part)
        );
        area[SLOT_SIZE + 3000] ^= 1;
        assert_eq!(read_file_area(&area).expect("one valid").content.0, header);
        area[100] ^= 1;
        assert_eq!(read_file_area(&area).err(), Some(true));
        // The header of another version does not count as damage.
        area[4..6].copy_from_slice(&(VERSION - 1).to_le_bytes());
        seal(&mut area[..SLOT_SIZE]);
        assert_eq!(read_file_area(&area).err(), Some(false));
    }

    #[test]
    fn map_areas_belong_to_a_log() {
        let part = MapPart { runs: sample().1.runs[..50].to_vec(), next: 0 };
        let mut area = vec![0; 2 * SLOT_SIZE];
        encode_map(&mut area[SLOT_SIZE..], 3, &[1; 16], &part);
        assert_eq!(read_map_area(&area, &[1; 16]).map(|found| found.content), Some(part));
        assert!(read_map_area(&area, &[2; 16]).is_none());
    }

    proptest! {
        #[test]
        fn damaged_content_with_a_right_checksum_is_read_or_told(at in 32usize..CRC_AT - 8, value: u64) {
            let (header, part) = sample();
            let mut area = vec![0; 2 * SLOT_SIZE];
            encode_file(&mut area[..SLOT_SIZE], 7, &header, &part);
            area[at..at + 8].copy_from_slice(&value.to_le_bytes());
            seal(&mut area[..SLOT_SIZE]);
            // Whose log it is, and how new, lies before what was damaged.
            match read_file_area(&area) {
                Ok(found) => {
                    prop_assert_eq!((found.slot, found.seqno, found.content.0.log_id), (0, 7, [9; 16]));
                }
                Err(damaged) => prop_assert!(damaged, "it is of this format"),
            }
        }
    }
}

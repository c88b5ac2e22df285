//! Reading a stretch of the log as it lies in the file, for a backup: whole log blocks, verified,
//! in log order.
//!
//! The file is read in pieces of 1 MB that continue across the borders of VLFs wherever neighbours
//! in the file are neighbours in sequence, so the cost follows the bytes and not the number of
//! VLFs. The stretch ends where the log is durable; nothing after that is used, so appends and
//! growth continue meanwhile. Truncation must not pass it.
//!
//! Works on an open log ([`Log::archive`]) and on the file alone ([`LogArchive::open`]), which is
//! all that a lost database may have left.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use disk::{AlignedBuf, BlockFile, Disk, OpenMode};

use crate::block::{BLOCK_MAX, BlockHeader, FIRST_BLOCK};
use crate::log::Log;
use crate::lsn::block_key;
use crate::open::{Recovery, read_meta};
use crate::options::AREA;
use crate::read::following;
use crate::vlf::{History, VlfMap, VlfPlace, distance};
use crate::{CheckpointInfo, LogError, Lsn};

/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;

/// VLFs with consecutive sequence numbers in consecutive positions of a file, all of the same size
/// and the same `room`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlfRun {
    /// Sequence number of the first.
    pub seq: u32,
    /// Position of the first in the file, counted in VLFs from 0.
    pub index: u32,
    pub count: u32,
    /// Size of each in bytes.
    pub size: u64,
    /// Bytes of that for log blocks; the rest, at the start, is a map area.
    pub room: u64,
}

/// How a log file is cut into VLFs: (size in bytes, count) from the first to the last.
pub type LogLayout = Vec<(u64, u32)>;

/// A stretch of a log, read block by block.
#[derive(Debug)]
pub struct LogArchive {
    file: Arc<dyn BlockFile>,
    log_id: [u8; 16],
    from: Lsn,
    to: Lsn,
    layout: LogLayout,
    vlfs: Vec<VlfRun>,
    /// Location of the first VLF of each run.
    places: Vec<VlfPlace>,
    /// Next block to read.
    at: Lsn,
    /// Checksum of the block before it, once one was read.
    chain: Option<u32>,
    chunk: AlignedBuf,
    /// File offset and number of the valid bytes in the chunk.
    chunk_at: u64,
    have: usize,
    reads: u64,
}

impl Log {
    /// The position after the last durable block: the first block that a backup taken now does not
    /// hold. Its slot is 1.
    pub fn durable_end(&self) -> Lsn {
        let key = self.durable_to.load(Ordering::Acquire);
        Lsn { vlf: (key >> 32) as u32, block: key as u32, slot: 1 }
    }

    /// The log from the block of `from` up to [`durable_end`](Self::durable_end). Errors: `from` is
    /// truncated.
    pub fn archive(&self, from: Lsn) -> Result<LogArchive, LogError> {
        let to = self.durable_end();
        let (map, history, oldest) = {
            let tail = self.tail.lock();
            (tail.map.clone(), tail.history.clone(), tail.oldest.vlf)
        };
        if from.vlf < oldest {
            return Err(LogError::NoRecord { lsn: from });
        }
        LogArchive::new(Arc::clone(&self.file), self.log_id, &map, &history, from, to)
    }
}

impl LogArchive {
    /// The log in a file that no log has open for writing (or whose log has failed), to its end,
    /// from the block that `from` chooses. `from` gets the header's checkpoint and the oldest
    /// record. Changes nothing in the file.
    pub fn open(
        disk: &dyn Disk,
        path: &Path,
        from: impl FnOnce(&CheckpointInfo, Lsn) -> Lsn,
    ) -> Result<(LogArchive, CheckpointInfo), LogError> {
        let file = disk.open(path, OpenMode::Read)?;
        let (meta, map) = read_meta(&*file, path)?;
        let mut found = Recovery::new(&file, &meta.header, map)?;
        found.find_end()?;
        found.settle_end(&meta.header)?;
        let oldest = found.oldest(meta.header.oldest);
        let to = Lsn { vlf: found.seq, block: found.block, slot: 1 };
        let info = meta.header.checkpoint;
        let from = from(&info, oldest).min(to);
        if from.vlf < oldest.vlf {
            return Err(LogError::NoRecord { lsn: from });
        }
        let archive = Self::new(file, meta.header.log_id, &found.map, &found.history, from, to)?;
        Ok((archive, info))
    }

    fn new(
        file: Arc<dyn BlockFile>,
        log_id: [u8; 16],
        map: &VlfMap,
        history: &History,
        from: Lsn,
        to: Lsn,
    ) -> Result<LogArchive, LogError> {
        let from = Lsn { block: from.block.max(FIRST_BLOCK), slot: 1, ..from };
        let (vlfs, places) = cut_runs(map, history, from.vlf, to.vlf)?;
        let mut layout = LogLayout::new();
        for run in map.runs() {
            match layout.last_mut() {
                Some(last) if last.0 == run.vlf_size => last.1 += run.count,
                _ => layout.push((run.vlf_size, run.count)),
            }
        }
        let chunk =
            (map.end().min(READ_BYTES as u64) as usize).max(BLOCK_MAX).next_multiple_of(4096);
        Ok(LogArchive {
            file,
            log_id,
            from,
            to,
            layout,
            vlfs,
            places,
            at: from,
            chain: None,
            chunk: AlignedBuf::new(chunk),
            chunk_at: 0,
            have: 0,
            reads: 0,
        })
    }

    /// First block of the stretch.
    pub fn from(&self) -> Lsn {
        self.from
    }

    /// First block after the stretch.
    pub fn to(&self) -> Lsn {
        self.to
    }

    /// Identity of the log.
    pub fn log_id(&self) -> [u8; 16] {
        self.log_id
    }

    /// How the file was cut into VLFs when the archive was opened.
    pub fn layout(&self) -> &LogLayout {
        &self.layout
    }

    /// The VLFs of the stretch, that of its end included.
    pub fn vlfs(&self) -> &[VlfRun] {
        &self.vlfs
    }

    /// Reads of the file so far.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Bytes of the stretch as it lies in the file, gaps and all: for progress.
    pub fn span(&self) -> u64 {
        if self.from >= self.to {
            return 0;
        }
        let all: u64 = self.vlfs.iter().map(|run| run.size * u64::from(run.count)).sum();
        let last = self.vlfs.last().map_or(0, |run| run.size);
        all.saturating_sub(distance(self.from.block))
            .saturating_sub(last.saturating_sub(distance(self.to.block)))
    }

    /// Appends whole blocks to `out` until it has `most` bytes or more, or the stretch ends.
    /// Returns the number of blocks; 0 at the end.
    ///
    /// # Errors
    /// I/O; [`LogError::Corrupt`] for a block that is not the one expected here.
    pub fn read_blocks(&mut self, most: usize, out: &mut Vec<u8>) -> Result<usize, LogError> {
        let mut blocks = 0;
        while out.len() < most && self.at < self.to {
            let (offset, rest) = self.place(self.at)?;
            let header = {
                let bytes = self.bytes(offset, rest.min(BLOCK_MAX as u64) as usize)?;
                BlockHeader::verify(bytes, bytes.len().min(rest as usize))
            };
            let header = header.filter(|h| {
                h.log_id == self.log_id
                    && h.vlf == self.at.vlf
                    && h.block == self.at.block
                    && self.chain.is_none_or(|crc| crc == h.prev_crc)
            });
            let header = header.ok_or(LogError::Corrupt {
                offset,
                reason: "a log block before the end is not valid",
            })?;
            let start = (offset - self.chunk_at) as usize;
            out.extend_from_slice(&self.chunk[start..start + header.len as usize]);
            self.chain = Some(header.crc);
            let (vlf, block) = following(&header);
            self.at = Lsn { vlf, block, slot: 1 };
            blocks += 1;
        }
        Ok(blocks)
    }

    /// File offset of a block and bytes from there to the end of its VLF.
    fn place(&self, at: Lsn) -> Result<(u64, u64), LogError> {
        let i = self.vlfs.partition_point(|run| run.seq + run.count <= at.vlf);
        let found = self.vlfs.get(i).zip(self.places.get(i)).filter(|(run, _)| run.seq <= at.vlf);
        let (run, first) = found.ok_or(LogError::NoRecord { lsn: at })?;
        let nth = at.vlf - run.seq;
        let place = VlfPlace {
            index: run.index + nth,
            offset: first.offset + run.size * u64::from(nth),
            ..*first
        };
        match place.rest(at.block) {
            0 => Err(LogError::NoRecord { lsn: at }),
            rest => Ok((place.at(at.block), rest)),
        }
    }

    /// The chunk's bytes from `offset` on, at least `want` of them.
    fn bytes(&mut self, offset: u64, want: usize) -> Result<&[u8], LogError> {
        let inside =
            offset >= self.chunk_at && offset + want as u64 <= self.chunk_at + self.have as u64;
        if !inside {
            // Up to the end of those VLFs of the stretch that are adjacent in the file. What the
            // last of them holds after the stretch is read too, but not used.
            let end = self.run_end(offset);
            let fill = (self.chunk.len() as u64).min(end - offset).max(want as u64) as usize;
            self.have = 0;
            self.file.read_at(offset, &mut self.chunk[..fill])?;
            (self.chunk_at, self.have) = (offset, fill);
            self.reads += 1;
        }
        let start = (offset - self.chunk_at) as usize;
        Ok(&self.chunk[start..self.have])
    }

    /// End of the VLFs of the stretch that are adjacent in the file, from the one around `offset`
    /// on.
    fn run_end(&self, offset: u64) -> u64 {
        let mut end = None;
        for (run, place) in self.vlfs.iter().zip(&self.places) {
            let (first, last) = (place.offset, place.offset + run.size * u64::from(run.count));
            if end == Some(first) || (end.is_none() && (first..last).contains(&offset)) {
                end = Some(last);
            } else if end.is_some() {
                break;
            }
        }
        end.unwrap_or(offset)
    }
}

/// The VLFs `first..=last` as runs of one size and room, and the location of the first VLF of each.
/// All must be in the history.
fn cut_runs(
    map: &VlfMap,
    history: &History,
    first: u32,
    last: u32,
) -> Result<(Vec<VlfRun>, Vec<VlfPlace>), LogError> {
    let (mut runs, mut places) = (Vec::new(), Vec::new());
    let mut seq = first;
    for known in history.runs().filter(|run| run.seq + run.count > first && run.seq <= last) {
        if known.seq > seq {
            break;
        }
        let stop = (known.seq + known.count).min(last + 1);
        while seq < stop {
            let index = known.index + (seq - known.seq);
            let (place, same) =
                map.alike(index).ok_or(LogError::NoRecord { lsn: vlf_start(seq) })?;
            let count = same.min(stop - seq);
            runs.push(VlfRun { seq, index, count, size: place.size, room: place.room() });
            places.push(place);
            seq += count;
        }
    }
    if seq <= last {
        return Err(LogError::NoRecord { lsn: vlf_start(seq) });
    }
    debug_assert!(
        runs.iter().all(|run| run.size > AREA && block_key(run.seq, 0) <= block_key(last, 0))
    );
    Ok((runs, places))
}

fn vlf_start(seq: u32) -> Lsn {
    Lsn { vlf: seq, block: FIRST_BLOCK, slot: 1 }
}

//! Building a log file again from the blocks of backups, so that every LSN means what it meant.
//!
//! A VLF gets the size that it had under the same sequence number. Its position in the file is the
//! same where that is free, else another. Therefore each block is stamped again: identity of the
//! log, checksum chain, index of the next VLF.
//!
//! # Invariants
//! - What a session lays (writes as blocks of this log) becomes part of the log as a whole: its
//!   first block is written last, after all others are durable. A crash before that leaves the log
//!   that was there.
//! - A VLF is overwritten only if all its records lie below the oldest that is kept.
//! - A new file has no valid header, so is no log, until [`LogRestore::finish`] has written
//!   everything else.

use std::path::Path;
use std::sync::Arc;

use disk::{AlignedBuf, BlockFile, Disk, OpenMode};

use crate::archive::{LogLayout, VlfRun};
use crate::block::{
    BLOCK_MAX, BlockHeader, FIRST_BLOCK, HEADER, SLOT, UNIT, chain_start, record, u16_at,
};
use crate::header::{FileHeader, HISTORY_MAX};
use crate::lsn::block_key;
use crate::on_disk::{MapArea, Meta};
use crate::open::{Recovery, cut_to_map, read_meta};
use crate::options::{AREA, Alignment};
use crate::vlf::{History, VlfMap, VlfPlace, distance};
use crate::{CheckpointInfo, LogError, Lsn};

/// Bytes written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Largest log file in bytes.
const LOG_MAX: u64 = 1 << 42;

/// One whole log block of a backup, verified.
#[derive(Clone, Copy, Debug)]
pub struct LogBlock<'a> {
    bytes: &'a [u8],
    header: BlockHeader,
}

impl<'a> LogBlock<'a> {
    /// Its position; the slot is 1.
    pub fn lsn(&self) -> Lsn {
        Lsn { vlf: self.header.vlf, block: self.header.block, slot: 1 }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Always false: a block has a header.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Its records in log order.
    pub fn records(&self) -> impl Iterator<Item = (Lsn, &'a [u8])> + use<'a> {
        let (bytes, at) = (self.bytes, self.lsn());
        (1..=self.header.records)
            .filter_map(move |slot| Some((Lsn { slot, ..at }, record(bytes, slot)?)))
    }
}

/// The blocks that a piece of a log backup holds one after the other.
#[derive(Clone, Debug)]
pub struct LogBlocks<'a> {
    rest: &'a [u8],
    at: u64,
}

impl<'a> LogBlocks<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        LogBlocks { rest: bytes, at: 0 }
    }
}

impl<'a> Iterator for LogBlocks<'a> {
    type Item = Result<LogBlock<'a>, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(header) = BlockHeader::verify(self.rest, self.rest.len()) else {
            self.rest = &[];
            return Some(Err(LogError::Corrupt {
                offset: self.at,
                reason: "a backed up log block is not valid",
            }));
        };
        let (bytes, rest) = self.rest.split_at(header.len as usize);
        self.rest = rest;
        self.at += u64::from(header.len);
        Some(Ok(LogBlock { bytes, header }))
    }
}

/// A log file that takes the blocks of backups.
#[derive(Debug)]
pub struct LogRestore {
    file: Arc<dyn BlockFile>,
    log_id: [u8; 16],
    meta: Meta,
    /// The file has a valid header, so growth is written to the map on disk immediately.
    published: bool,
    map: VlfMap,
    history: History,
    oldest: Lsn,
    /// Where the next block goes.
    seq: u32,
    place: VlfPlace,
    block: u32,
    prev_crc: u32,
    incarnation: u32,
    /// VLFs of the backup whose blocks are being laid.
    vlfs: Vec<VlfRun>,
    buffer: AlignedBuf,
    buffer_at: u64,
    filled: usize,
    /// The first block that this session laid, with its offset in the file. It is written last.
    held: Option<(u64, AlignedBuf)>,
}

impl Drop for LogRestore {
    fn drop(&mut self) {
        self.file.release();
    }
}

impl LogRestore {
    /// Makes a log file with the given VLFs, for blocks from `from` on. `vlfs` indicates which VLF
    /// of the layout holds that.
    pub fn create(
        disk: &dyn Disk,
        path: &Path,
        log_id: [u8; 16],
        layout: &LogLayout,
        vlfs: &[VlfRun],
        from: Lsn,
        alignment: Alignment,
    ) -> Result<LogRestore, LogError> {
        let mut map = VlfMap::default();
        for &(size, count) in layout {
            check_growth(&map, size, count)?;
            map.push(size, count, Lsn::ZERO);
        }
        let run = run_of(vlfs, from.vlf).ok_or(damaged("the log does not name its first VLF"))?;
        if from.vlf == 0 || run.room <= distance(from.block) || from.block < FIRST_BLOCK {
            return Err(damaged("the log's first block lies outside its VLF"));
        }
        let file = disk.open(path, OpenMode::Create)?;
        let alignment = alignment.resolve(file.sectors())?;
        if let Err(e) = file.write_zeros(0, map.end()) {
            // The first error is the one to report.
            let _ = disk.remove(path);
            return Err(e.into());
        }
        let header = FileHeader { log_id, alignment, first_seq: from.vlf, ..FileHeader::default() };
        let areas = vec![MapArea { offset: 0, first_run: 0, slot: 1 }];
        let mut meta = Meta { header, areas, seqno: 0, prepared_end: map.end() };
        meta.place_areas(&mut map, 0);
        let mut restore = Self::over(file, log_id, meta, map, History::default());
        restore.oldest = Lsn { slot: 1, ..from };
        restore.vlfs = vlfs.to_vec();
        restore.place = restore.place_for(from.vlf)?;
        restore.history.activate(restore.place.index, from.vlf);
        (restore.seq, restore.block) = (from.vlf, from.block);
        restore.prev_crc = chain_start(&log_id);
        Ok(restore)
    }

    /// Opens a log file to lay further blocks after its end.
    pub fn open(disk: &dyn Disk, path: &Path) -> Result<LogRestore, LogError> {
        LogRestore::open_file(disk.open(path, OpenMode::Open)?)
    }

    /// The same for a file that is open already.
    pub fn open_file(file: Arc<dyn BlockFile>) -> Result<LogRestore, LogError> {
        let (meta, map) = read_meta(&*file, file.path())?;
        cut_to_map(&*file, &map)?;
        file.sync()?;
        let mut found = Recovery::new(&file, &meta.header, map)?;
        found.find_end()?;
        found.settle_end(&meta.header)?;
        let oldest = found.oldest(meta.header.oldest);
        let log_id = meta.header.log_id;
        let Recovery { map, history, seq, place, block, prev_crc, incarnation, .. } = found;
        let mut restore = Self::over(file, log_id, meta, map, history);
        restore.published = true;
        restore.oldest = oldest;
        (restore.seq, restore.place, restore.block) = (seq, place, block);
        (restore.prev_crc, restore.incarnation) = (prev_crc, incarnation);
        Ok(restore)
    }

    fn over(
        file: Arc<dyn BlockFile>,
        log_id: [u8; 16],
        meta: Meta,
        map: VlfMap,
        history: History,
    ) -> LogRestore {
        LogRestore {
            file,
            log_id,
            meta,
            published: false,
            map,
            history,
            oldest: Lsn::ZERO,
            seq: 0,
            place: VlfPlace { index: 0, offset: 0, size: 0, head: 0 },
            block: 0,
            prev_crc: 0,
            incarnation: 0,
            vlfs: Vec::new(),
            buffer: AlignedBuf::new(WRITE_BYTES + BLOCK_MAX),
            buffer_at: 0,
            filled: 0,
            held: None,
        }
    }

    /// Position after the last block.
    pub fn end(&self) -> Lsn {
        Lsn { vlf: self.seq, block: self.block, slot: 1 }
    }

    /// The header's checkpoint, with its payload.
    pub fn checkpoint(&self) -> &CheckpointInfo {
        &self.meta.header.checkpoint
    }

    /// Identity of the log.
    pub fn log_id(&self) -> [u8; 16] {
        self.log_id
    }

    /// The blocks of another backup follow: `vlfs` are its VLFs, `layout` is how its log file was
    /// cut then. If that file had grown by VLFs after those that this one has, this one gets them
    /// too.
    pub fn begin_set(&mut self, layout: &LogLayout, vlfs: &[VlfRun]) -> Result<(), LogError> {
        self.vlfs = vlfs.to_vec();
        for (size, count) in growth_of(&self.map, layout) {
            self.grow(size, count)?;
        }
        Ok(())
    }

    /// Lays the first `keep` records of a block (all: `u16::MAX`). Returns false for a block that
    /// is there already.
    ///
    /// # Errors
    /// I/O; no space; [`LogError::NoRecord`] if the block is not the one that comes next.
    pub fn lay(&mut self, block: &LogBlock<'_>, keep: u16) -> Result<bool, LogError> {
        let next = block_key(self.seq, self.block);
        let key = block.lsn().key();
        if key < next {
            return Ok(false);
        }
        let fits = block.len() as u64 <= self.place.rest(self.block);
        if key > next || !fits {
            return Err(LogError::NoRecord { lsn: self.end() });
        }
        let successor = match block.header.successor {
            Some(_) => Some(
                self.place_for(self.seq.checked_add(1).ok_or(damaged("VLF numbers are used up"))?)?,
            ),
            None => None,
        };
        let offset = self.place.at(self.block);
        let keep = keep.min(block.header.records);
        self.stamp(block, keep, successor.map(|place| place.index), offset)?;
        self.incarnation = self.incarnation.max(block.header.incarnation);
        match successor {
            Some(place) => {
                self.seq += 1;
                self.history.activate(place.index, self.seq);
                (self.place, self.block) = (place, FIRST_BLOCK);
            }
            None => self.block += (block.len() as u64 / UNIT) as u32,
        }
        Ok(true)
    }

    /// Copies the block into the buffer, as a block of this log.
    fn stamp(
        &mut self,
        block: &LogBlock<'_>,
        keep: u16,
        successor: Option<u32>,
        offset: u64,
    ) -> Result<(), LogError> {
        let len = block.len();
        let behind = self.filled > 0 && offset == self.buffer_at + self.filled as u64;
        if !behind || self.filled >= WRITE_BYTES {
            self.write_buffer()?;
            self.buffer_at = offset;
        }
        let (old_used, records) = (block.header.used as usize, block.header.records);
        let used = match keep {
            k if k == records => old_used,
            k => usize::from(u16_at(block.bytes, old_used + SLOT * usize::from(k))),
        };
        if used < HEADER || used > old_used {
            return Err(damaged("the slot table of a log block is damaged"));
        }
        let header = BlockHeader {
            log_id: self.log_id,
            records: keep,
            used: used as u32,
            prev_crc: self.prev_crc,
            successor,
            // What was durable at the source says nothing about this file.
            durable_to: 0,
            ..block.header
        };
        let mut own = AlignedBuf::new(0);
        let hold = self.held.is_none();
        let target = if hold {
            own = AlignedBuf::new(len);
            &mut own[..]
        } else {
            &mut self.buffer[self.filled..self.filled + len]
        };
        target.fill(0);
        target[..used].copy_from_slice(&block.bytes[..used]);
        let slots = SLOT * usize::from(keep);
        target[used..used + slots].copy_from_slice(&block.bytes[old_used..old_used + slots]);
        let (front, rest) = target.split_at_mut(HEADER);
        header.encode(front);
        let (items, tail) = rest.split_at(used - HEADER);
        self.prev_crc = BlockHeader::stamp(front, items, tail);
        if hold {
            self.held = Some((offset, own));
        } else {
            self.filled += len;
        }
        Ok(())
    }

    fn write_buffer(&mut self) -> Result<(), LogError> {
        if self.filled > 0 {
            self.file.write_at(self.buffer_at, &self.buffer[..self.filled])?;
            self.filled = 0;
        }
        Ok(())
    }

    /// A VLF for a sequence number, of the size that it had in the source and with space for what
    /// filled it there.
    fn place_for(&mut self, seq: u32) -> Result<VlfPlace, LogError> {
        let run = *run_of(&self.vlfs, seq).ok_or(damaged("a VLF of the backup is not named"))?;
        let wanted = run.index.saturating_add(seq - run.seq);
        if let Some(place) = self.free_place(wanted, &run) {
            return Ok(place);
        }
        // Rare: the source has cut its file and grown it again since, or this file has a map area
        // there.
        let same = self.map.runs().iter().filter(|r| r.vlf_size == run.size);
        let mut indexes = same.flat_map(|r| r.first_index..r.first_index + r.count);
        if let Some(place) = indexes.find_map(|index| self.free_place(index, &run)) {
            return Ok(place);
        }
        // Twice, because the first new VLF may begin with a map area.
        for _ in 0..2 {
            self.grow(run.size, 1)?;
            if let Some(place) = self.free_place(self.map.count() - 1, &run) {
                return Ok(place);
            }
        }
        Err(damaged("a VLF has no place"))
    }

    fn free_place(&self, index: u32, run: &VlfRun) -> Option<VlfPlace> {
        let used = self.history.seq_of(index).is_some_and(|(seq, _)| seq >= self.oldest.vlf);
        self.map
            .place(index)
            .filter(|place| !used && place.size == run.size && place.room() >= run.room)
    }

    fn grow(&mut self, size: u64, count: u32) -> Result<(), LogError> {
        check_growth(&self.map, size, count)?;
        let (end, old) = (self.map.end(), self.map.runs().len());
        if let Err(cause) = self.file.write_zeros(end, size * u64::from(count)) {
            // Opening cuts the file if this does not.
            let _ = self.file.set_len(end);
            return Err(LogError::Full { cause: Some(cause) });
        }
        self.meta.prepared_end = end + size * u64::from(count);
        let at = self.end();
        self.map.push(size, count, at);
        if self.published {
            self.meta.publish_growth(&*self.file, &mut self.map, old)?;
        } else {
            self.meta.place_areas(&mut self.map, old);
        }
        Ok(())
    }

    /// Makes what was laid part of the log, and `info` its checkpoint; records below `oldest` are
    /// not kept. Durable on return. The header gets the new payload before the blocks count: the
    /// payload may be newer than the log, never older.
    pub fn finish(mut self, info: CheckpointInfo, oldest: Lsn) -> Result<(), LogError> {
        self.write_buffer()?;
        self.file.sync()?;
        if let Some((offset, first)) = self.held.take() {
            if self.published {
                self.meta.header.checkpoint.payload.clone_from(&info.payload);
                self.meta.write_area(&*self.file, 0, self.map.runs())?;
            }
            self.file.write_durable(offset, &[&first])?;
        }
        let header = &mut self.meta.header;
        header.checkpoint = info;
        header.oldest = self.oldest.max(oldest);
        header.durable_to = block_key(self.seq, self.block);
        header.clean = false;
        header.incarnation = header.incarnation.max(self.incarnation);
        let runs = self.history.runs();
        let skip = runs.len().saturating_sub(HISTORY_MAX);
        header.history = runs.skip(skip).copied().collect();
        let runs = self.map.runs();
        if self.published {
            return Ok(self.meta.write_area(&*self.file, 0, runs)?);
        }
        // Both slots of each area, the header's last: only from then on it is a log.
        for index in (0..self.meta.areas.len()).rev() {
            for _ in 0..2 {
                self.meta.write_area(&*self.file, index, runs)?;
            }
        }
        Ok(())
    }
}

fn damaged(reason: &'static str) -> LogError {
    LogError::Corrupt { offset: 0, reason }
}

/// Sizes come from a backup: everything that a log file can have is accepted, nothing else.
fn check_growth(map: &VlfMap, size: u64, count: u32) -> Result<(), LogError> {
    let total = size.checked_mul(u64::from(count)).and_then(|bytes| bytes.checked_add(map.end()));
    let fits = total.is_some_and(|end| end <= LOG_MAX) && map.count().checked_add(count).is_some();
    let good = fits && count > 0 && size > AREA && size.is_multiple_of(AREA);
    if good { Ok(()) } else { Err(damaged("the layout of the log is damaged")) }
}

fn run_of(vlfs: &[VlfRun], seq: u32) -> Option<&VlfRun> {
    vlfs.iter().find(|run| run.seq <= seq && seq - run.seq < run.count)
}

/// The VLFs that `layout` has after those of `map`; nothing if it does not begin with those.
fn growth_of(map: &VlfMap, layout: &LogLayout) -> LogLayout {
    let mut ours = map.runs().iter().map(|run| (run.vlf_size, run.count)).peekable();
    let mut left = ours.next();
    let mut more = LogLayout::new();
    for &(size, count) in layout {
        let mut count = count;
        while let Some((own_size, own_count)) = left.filter(|_| count > 0) {
            if own_size != size {
                return LogLayout::new();
            }
            let same = own_count.min(count);
            count -= same;
            left = if own_count > same { Some((own_size, own_count - same)) } else { ours.next() };
        }
        if count > 0 {
            more.push((size, count));
        }
    }
    if left.is_some() { LogLayout::new() } else { more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_what_lies_behind_the_common_beginning() {
        let mut map = VlfMap::default();
        map.push(65536, 2, Lsn::ZERO);
        map.push(65536, 1, Lsn::ZERO);
        map.push(131072, 1, Lsn::ZERO);
        assert_eq!(
            growth_of(&map, &vec![(65536, 3), (131072, 3), (65536, 1)]),
            [(131072, 2), (65536, 1)]
        );
        assert_eq!(growth_of(&map, &vec![(65536, 3), (131072, 1)]), []);
        assert_eq!(growth_of(&map, &vec![(65536, 2)]), [], "it was cut since");
        assert_eq!(
            growth_of(&map, &vec![(65536, 4), (131072, 9)]),
            [],
            "it was cut and grown differently"
        );
    }
}

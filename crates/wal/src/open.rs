//! Creating a log, and opening one: header, map, then the blocks from the checkpoint to the first
//! that does not continue the log.

use std::path::Path;
use std::sync::Arc;

use disk::{AlignedBuf, BlockFile, Disk, DiskError, OpenMode};

use crate::block::{BLOCK_MAX, BlockHeader, FIRST_BLOCK, chain_start};
use crate::buffer::BlockCache;
use crate::flush::spawn_threads;
use crate::header::{FileHeader, MapPart, read_file_area, read_map_area};
use crate::log::{Log, StartParts};
use crate::on_disk::{MapArea, Meta};
use crate::options::{AREA, LogOptions};
use crate::read::{Reader, following};
use crate::tail::Tail;
use crate::vlf::{History, SeqRun, VlfMap, VlfPlace, distance};
use crate::{CheckpointInfo, LogError, Lsn};

/// Bytes read at once while searching for the end.
const SCAN_BYTES: usize = 1 << 20;

/// What opening found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReport {
    pub checkpoint: CheckpointInfo,
    /// Last record of the log; [`Lsn::ZERO`] if none was found from the checkpoint on.
    pub last: Lsn,
    /// Oldest record that is kept.
    pub oldest: Lsn,
    /// Blocks read to find the end.
    pub blocks: u64,
    /// Bytes after the map's end that a crash during growth had left; they were cut off.
    pub cut: u64,
}

impl Log {
    /// Makes a new log file with zeroed VLFs. The name must be free; a file that could not be
    /// finished is removed.
    pub fn create(disk: &dyn Disk, path: &Path, options: LogOptions) -> Result<Arc<Log>, LogError> {
        let size = options.checked_size()?;
        let file = disk.open(path, OpenMode::Create)?;
        let made = create_in(&file, size, &options);
        if made.is_err() {
            // The first error is the one to report.
            let _ = disk.remove(path);
        }
        made
    }

    /// Opens an existing log: finds its end, and continues after it as a new incarnation. Records
    /// after the last valid block are lost; the caller reads the others with [`scan`](Self::scan).
    pub fn open(
        disk: &dyn Disk,
        path: &Path,
        options: LogOptions,
    ) -> Result<(Arc<Log>, OpenReport), LogError> {
        Log::open_file(disk.open(path, OpenMode::Open)?, options)
    }

    /// The same for a file that is open already.
    pub fn open_file(
        file: Arc<dyn BlockFile>,
        options: LogOptions,
    ) -> Result<(Arc<Log>, OpenReport), LogError> {
        let path = file.path();
        let alignment = options.alignment.resolve(file.sectors())?;
        let (mut meta, map) = read_meta(&*file, path)?;
        let cut = cut_to_map(&*file, &map)?;
        // What an earlier process left in the device's cache must be durable before anything is
        // built on it.
        file.sync()?;
        let mut found = Recovery::new(&file, &meta.header, map)?;
        found.find_end()?;
        found.settle_end(&meta.header)?;

        let oldest = found.oldest(meta.header.oldest);
        let cache = BlockCache::new(options.cache_bytes);
        let pos = distance(found.block);
        if !pos.is_multiple_of(u64::from(file.sectors().logical)) {
            return Err(LogError::Option {
                reason: "the device's sectors are larger than the log's blocks",
            });
        }
        let Recovery { map, history, seq, place, prev_crc, last, blocks, .. } = found;
        let tail = Tail::new(map, history, seq, place, pos, u64::from(alignment), oldest, &cache);
        meta.header.incarnation += 1;
        meta.header.alignment = alignment;
        meta.refresh(&tail, tail.open.key());
        meta.write_area(&*file, 0, tail.map.runs())?;

        let report =
            OpenReport { checkpoint: meta.header.checkpoint.clone(), last, oldest, blocks, cut };
        let (log_id, incarnation) = (meta.header.log_id, meta.header.incarnation);
        let start = StartParts {
            file,
            log_id,
            incarnation,
            tail,
            cache,
            meta,
            prev_crc,
            durable_lsn: last,
        };
        Ok((start_log(start, &options), report))
    }
}

/// What the header of a log file says about the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogIdentity {
    /// Identity of the log, which is that of the database that it belongs to.
    pub log_id: [u8; 16],
    /// The last checkpoint, with the payload that its owner gave it.
    pub checkpoint: CheckpointInfo,
}

/// Reads the header of an open file and changes nothing.
///
/// # Errors
/// [`LogError::NotALog`], [`LogError::Corrupt`], I/O.
pub fn identify(file: &dyn BlockFile) -> Result<LogIdentity, LogError> {
    let meta = read_meta(file, file.path())?.0;
    Ok(LogIdentity { log_id: meta.header.log_id, checkpoint: meta.header.checkpoint })
}

/// Reads a log to its end as opening it would, and changes nothing.
///
/// # Errors
/// As for [`Log::open`].
pub fn check(file: &Arc<dyn BlockFile>) -> Result<(), LogError> {
    let (meta, map) = read_meta(&**file, file.path())?;
    let (len, end) = (file.len()?, map.end());
    if len < end {
        return Err(corrupt(len, "the file is shorter than its map"));
    }
    let mut found = Recovery::new(file, &meta.header, map)?;
    found.find_end()?;
    found.settle_end(&meta.header)
}

fn create_in(
    file: &Arc<dyn BlockFile>,
    size: u64,
    options: &LogOptions,
) -> Result<Arc<Log>, LogError> {
    let alignment = options.alignment.resolve_new(file.sectors())?;
    file.write_zeros(0, size)?;
    let mut map = VlfMap::default();
    for (vlf_size, count) in options.vlf_rule.cut(size - AREA, None) {
        map.push(vlf_size, count, Lsn::ZERO);
    }
    let place = map.place(0).ok_or(LogError::Option { reason: "the log is too small" })?;
    let mut history = History::default();
    history.activate(0, options.first_vlf_seq);
    let cache = BlockCache::new(options.cache_bytes);
    let oldest = Lsn { vlf: options.first_vlf_seq, block: FIRST_BLOCK, slot: 1 };
    let align = u64::from(alignment);
    let tail = Tail::new(map, history, options.first_vlf_seq, place, 0, align, oldest, &cache);
    let header = FileHeader {
        log_id: options.log_id,
        incarnation: 1,
        alignment,
        first_seq: options.first_vlf_seq,
        ..FileHeader::default()
    };
    let mut meta = Meta {
        header,
        areas: vec![MapArea { offset: 0, first_run: 0, slot: 1 }],
        seqno: 0,
        prepared_end: size,
    };
    meta.refresh(&tail, tail.open.key());
    // Both slots, so that from the beginning either of them may become damaged.
    for _ in 0..2 {
        meta.write_area(&**file, 0, tail.map.runs())?;
    }
    let start = StartParts {
        file: Arc::clone(file),
        log_id: options.log_id,
        incarnation: 1,
        tail,
        cache,
        meta,
        prev_crc: chain_start(&options.log_id),
        durable_lsn: Lsn::ZERO,
    };
    Ok(start_log(start, options))
}

/// The log, with its threads where it is to have them.
fn start_log(start: StartParts, options: &LogOptions) -> Arc<Log> {
    let log = Log::start(start, options);
    if options.background_writer {
        spawn_threads(&log);
    }
    log
}

fn corrupt(offset: u64, reason: &'static str) -> LogError {
    LogError::Corrupt { offset, reason }
}

/// Reads the file header and follows the chain of map areas.
pub(crate) fn read_meta(file: &dyn BlockFile, path: &Path) -> Result<(Meta, VlfMap), LogError> {
    let not_a_log = || LogError::NotALog { path: path.display().to_string() };
    let mut area = AlignedBuf::new(AREA as usize);
    match file.read_at(0, &mut area) {
        Err(DiskError::ShortRead { .. }) => return Err(not_a_log()),
        other => other?,
    }
    let first = read_file_area(&area).map_err(|damaged| {
        if damaged { corrupt(0, "the file header is damaged") } else { not_a_log() }
    })?;
    let (header, part) = first.content;
    let areas = vec![MapArea { offset: 0, first_run: 0, slot: first.slot }];
    let mut meta = Meta { areas, seqno: first.seqno, prepared_end: 0, header };
    let mut map = VlfMap::default();
    let mut next = add_part(&mut map, &part, 0)?;
    while next != 0 {
        // An area lies in the first VLF that it describes, so the chain only goes forward.
        if next != map.end() {
            return Err(corrupt(next, "the chain of map areas is broken"));
        }
        match file.read_at(next, &mut area) {
            Err(DiskError::ShortRead { .. }) => {
                return Err(corrupt(next, "the file is shorter than its map"));
            }
            other => other?,
        }
        let found = read_map_area(&area, &meta.header.log_id);
        let found = found.ok_or(corrupt(next, "a map area is damaged"))?;
        meta.areas.push(MapArea { offset: next, first_run: map.runs().len(), slot: found.slot });
        map.add_area(next);
        meta.seqno = meta.seqno.max(found.seqno);
        next = add_part(&mut map, &found.content, next)?;
    }
    if map.count() == 0 {
        return Err(corrupt(0, "the map is empty"));
    }
    // A longer file is cut to this before the log is used.
    meta.prepared_end = map.end();
    Ok((meta, map))
}

/// Appends an area's runs to the map and returns the next area's offset.
fn add_part(map: &mut VlfMap, part: &MapPart, offset: u64) -> Result<u64, LogError> {
    for run in &part.runs {
        if run.first_index != map.count() || run.first_offset != map.end() {
            return Err(corrupt(offset, "the map has a gap"));
        }
        map.push(run.vlf_size, run.count, run.create_lsn);
    }
    if part.next != 0 && part.runs.is_empty() {
        return Err(corrupt(offset, "a map area is empty"));
    }
    Ok(part.next)
}

/// A longer file is an unfinished growth, a shorter one is damage. Returns the bytes cut off.
pub(crate) fn cut_to_map(file: &dyn BlockFile, map: &VlfMap) -> Result<u64, LogError> {
    let (len, end) = (file.len()?, map.end());
    if len < end {
        return Err(corrupt(len, "the file is shorter than its map"));
    }
    if len > end {
        file.set_len(end)?;
    }
    Ok(len - end)
}

/// Whether runs of VLFs can be the history of a file of so many: within it, none empty, ascending,
/// whatever numbers they have.
fn is_history(runs: &[SeqRun], vlfs: u32) -> bool {
    let end = |run: &SeqRun| run.seq.checked_add(run.count);
    let fits = |run: &SeqRun| {
        let last = run.index.checked_add(run.count).filter(|last| *last <= vlfs);
        last.is_some() && run.count > 0 && end(run).is_some()
    };
    let ordered = |pair: &[SeqRun]| end(&pair[0]).is_some_and(|end| end <= pair[1].seq);
    runs.iter().all(fits) && runs.windows(2).all(ordered)
}

/// Follows the log from the checkpoint to its end.
pub(crate) struct Recovery {
    pub log_id: [u8; 16],
    pub map: VlfMap,
    pub history: History,
    pub reader: Reader,
    /// Where to look for the next block: VLF, its location, block number.
    pub seq: u32,
    pub place: VlfPlace,
    pub block: u32,
    pub prev_crc: u32,
    pub incarnation: u32,
    /// Device sector in units of 512 bytes: blocks start on it.
    pub step: u32,
    /// The next block is the checkpoint's. It is durable, so it must be there; the checksum chain
    /// starts with it.
    anchor: bool,
    last: Lsn,
    blocks: u64,
}

impl Recovery {
    pub fn new(
        file: &Arc<dyn BlockFile>,
        header: &FileHeader,
        map: VlfMap,
    ) -> Result<Recovery, LogError> {
        if !is_history(&header.history, map.count()) {
            return Err(corrupt(0, "the history of VLFs is damaged"));
        }
        let mut history = History::from_runs(header.history.iter().copied());
        let checkpoint = header.checkpoint.checkpoint_lsn;
        let anchor = !checkpoint.is_zero();
        if history.oldest_connected().is_some_and(|first| header.oldest.vlf < first) {
            history = read_history(file, header, &map, &history)?;
        }
        let (seq, block) = if anchor {
            (checkpoint.vlf, checkpoint.block)
        } else {
            (header.first_seq, FIRST_BLOCK)
        };
        let place = history.index_of(seq).and_then(|index| map.place(index));
        let place = place.ok_or(corrupt(0, "the checkpoint's VLF is not in the history"))?;
        if place.rest(block) == 0 {
            return Err(corrupt(0, "the checkpoint lies outside its VLF"));
        }
        let end = map.end();
        let reader = Reader::new(Arc::clone(file), end.min(SCAN_BYTES as u64) as usize, end);
        Ok(Recovery {
            log_id: header.log_id,
            map,
            history,
            reader,
            seq,
            place,
            block,
            prev_crc: chain_start(&header.log_id),
            incarnation: 0,
            step: file.sectors().logical.max(512) / 512,
            anchor,
            last: Lsn::ZERO,
            blocks: 0,
        })
    }

    /// Moves forward as long as the blocks continue the chain.
    pub fn find_end(&mut self) -> Result<(), LogError> {
        while let Some(header) = self.next_block()? {
            self.anchor = false;
            self.blocks += 1;
            self.prev_crc = header.crc;
            self.incarnation = header.incarnation;
            self.last = header.last_lsn().unwrap_or(self.last);
            let (seq, block) = following(&header);
            if let Some(index) = header.successor {
                let offset = self.place.offset;
                let place = self.map.place(index).filter(|_| self.seq < u32::MAX - 1);
                self.place =
                    place.ok_or(corrupt(offset, "a VLF names a successor that does not exist"))?;
                if self.history.index_of(seq) != Some(index) {
                    self.history.activate(index, seq);
                }
            }
            (self.seq, self.block) = (seq, block);
        }
        if self.anchor {
            let offset = self.place.at(self.block);
            return Err(corrupt(offset, "the checkpoint's log block is not valid"));
        }
        Ok(())
    }

    /// Whether the next block is the checkpoint's, with which the chain begins.
    pub fn is_at_checkpoint(&self) -> bool {
        self.anchor
    }

    fn next_block(&mut self) -> Result<Option<BlockHeader>, LogError> {
        if self.place.rest(self.block) == 0 {
            return Ok(None);
        }
        let bytes = self.reader.bytes(&self.place, self.block)?;
        let Some(header) = BlockHeader::verify(bytes, bytes.len()) else { return Ok(None) };
        let place =
            header.log_id == self.log_id && header.vlf == self.seq && header.block == self.block;
        let chain = self.anchor
            || (header.prev_crc == self.prev_crc && header.incarnation >= self.incarnation);
        Ok((place && chain).then_some(header))
    }

    /// The truncation point, moved up if VLFs before it have been used again since the header was
    /// written.
    pub fn oldest(&self, persisted: Lsn) -> Lsn {
        let first = self.history.oldest_connected().unwrap_or(self.seq);
        persisted.max(Lsn { vlf: first, block: FIRST_BLOCK, slot: 1 })
    }
}

/// The header holds only part of the history: reads the first block of every other VLF. Rare, and
/// then costs a read per VLF.
fn read_history(
    file: &Arc<dyn BlockFile>,
    header: &FileHeader,
    map: &VlfMap,
    known: &History,
) -> Result<History, LogError> {
    let oldest_known = known.runs().map(|run| run.seq).next().unwrap_or(0);
    let mut reader = Reader::new(Arc::clone(file), BLOCK_MAX, 0);
    let mut found = Vec::new();
    for index in (0..map.count()).filter(|index| known.seq_of(*index).is_none()) {
        let Some(place) = map.place(index) else { continue };
        let bytes = reader.bytes(&place, FIRST_BLOCK)?;
        if let Some(block) = BlockHeader::verify(bytes, bytes.len())
            && block.log_id == header.log_id
            && block.vlf < oldest_known
        {
            found.push((block.vlf, index));
        }
    }
    found.sort_unstable();
    found.dedup_by_key(|pair| pair.0);
    let mut history = History::default();
    for (seq, index) in found {
        history.activate(index, seq);
    }
    let known: Vec<_> = known.runs().copied().collect();
    let all: Vec<_> = history.runs().copied().chain(known).collect();
    Ok(History::from_runs(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_their_limits_are_no_history() {
        let run = |seq, index, count| SeqRun { seq, index, count, parity: 64 };
        assert!(is_history(&[run(5, 0, 2), run(7, 2, 1)], 3));
        assert!(!is_history(&[run(u32::MAX, 0, 2), run(7, 2, 1)], 3), "the sum is beyond the type");
        assert!(!is_history(&[run(5, u32::MAX, 2)], 3));
        assert!(!is_history(&[run(5, 0, 4)], 3));
        assert!(!is_history(&[run(5, 0, 0)], 3));
        assert!(!is_history(&[run(7, 2, 1), run(5, 0, 2)], 3));
    }
}

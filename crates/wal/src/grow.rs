//! Changes of the header and the map on disk: growth, shrinking, checkpoints, truncation.
//!
//! Order of a growth: the new space is written with zeros and synced, then (if the last map area is full) a new area is
//! written inside the new space, then one 4 KB slot makes it known. A crash before that leaves a file that is longer than its
//! map says; opening cuts it.

use std::sync::atomic::Ordering;

use disk::{AlignedBuf, BlockFile, DiskError};

use crate::header::{
    CHECKPOINT_PAYLOAD_MAX, FILE_RUNS_MAX, FileHeader, HISTORY_MAX, MAP_RUNS_MAX, MapPart, SLOT_SIZE,
    encode_file, encode_map,
};
use crate::log::{GrowthPolicy, Log};
use crate::options::{AREA, Growth};
use crate::space::ShrinkReport;
use crate::tail::Tail;
use crate::vlf::{Run, VlfMap};
use crate::{CheckpointInfo, LogError, Lsn};

/// Growth is rounded up to this many bytes.
const GROWTH_UNIT: u64 = 64 << 10;
/// A small growth prepares up to this much of the file for those that follow: making a file longer costs the file system's
/// journal a commit each time, which 1 MB steps would otherwise pay 64 times as often as 64 MB steps.
const AHEAD_MAX: u64 = 64 << 20;
/// Bytes prepared in the background at once: checkpoints and truncations wait for the header no longer than this takes.
const PIECE: u64 = 4 << 20;

/// Bytes of the next growth; 0 if the file may not grow.
fn next_step(policy: &GrowthPolicy, size: u64) -> u64 {
    let step = match policy.growth {
        Growth::None => 0,
        Growth::Bytes(bytes) => bytes,
        Growth::Percent(percent) => (size / 100).saturating_mul(u64::from(percent)).max(GROWTH_UNIT),
    };
    let room = policy.max_size.map_or(u64::MAX, |max| max.saturating_sub(size) / GROWTH_UNIT * GROWTH_UNIT);
    step.next_multiple_of(GROWTH_UNIT).min(room)
}

/// How far a growth by `step` prepares the file: further than it needs if it is small.
fn far_end(size: u64, step: u64, max_size: Option<u64>) -> u64 {
    let ahead = (size / 4).min(AHEAD_MAX).max(step).next_multiple_of(GROWTH_UNIT);
    (size + ahead).min(max_size.unwrap_or(u64::MAX)).max(size + step)
}

/// One 8 KB map area in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    /// Place in the file in bytes.
    pub offset: u64,
    /// Index of its first run in the map.
    pub first_run: usize,
    /// Slot that was written last.
    pub slot: usize,
}

/// The state of header and map on disk.
#[derive(Debug)]
pub(crate) struct Meta {
    /// The header as last written; history, truncation point and hardened end are refreshed with every write.
    pub header: FileHeader,
    pub areas: Vec<Area>,
    /// Sequence number of the last slot written anywhere.
    pub seqno: u64,
    /// The file is this long, written and synced; at least as long as the map says. The rest waits for growths to come.
    pub prepared_end: u64,
}

impl Meta {
    /// Writes an area's other slot, durably: header and runs `first_run..` up to the next area or the end of `runs`.
    pub fn write_area(&mut self, file: &dyn BlockFile, index: usize, runs: &[Run]) -> Result<(), DiskError> {
        let end = self.areas.get(index + 1).map_or(runs.len(), |next| next.first_run);
        let next = self.areas.get(index + 1).map_or(0, |next| next.offset);
        let Some(area) = self.areas.get_mut(index) else { return Ok(()) };
        self.seqno += 1;
        let part = MapPart { runs: runs[area.first_run..end].to_vec(), next };
        let mut slot = AlignedBuf::new(SLOT_SIZE);
        if index == 0 {
            encode_file(&mut slot, self.seqno, &self.header, &part);
        } else {
            encode_map(&mut slot, self.seqno, &self.header.log_id, &part);
        }
        let target = 1 - area.slot;
        file.write_durable(area.offset + (target * SLOT_SIZE) as u64, &[&slot])?;
        area.slot = target;
        Ok(())
    }

    /// The runs that the header's own area holds: all that a checkpoint or a truncation writes again.
    fn first_area(&self, runs: &[Run]) -> Vec<Run> {
        let end = self.areas.get(1).map_or(runs.len(), |next| next.first_run);
        runs[..end].to_vec()
    }

    /// Takes over what the tail knows and the header tells.
    pub fn refresh(&mut self, tail: &Tail, hard_end: u64) {
        self.header.oldest = tail.oldest;
        self.header.hard_end = hard_end;
        let runs = tail.history.runs();
        // More runs than fit: the oldest are found again by reading the VLFs' first blocks.
        let skip = runs.len().saturating_sub(HISTORY_MAX);
        self.header.history = runs.skip(skip).copied().collect();
    }

    /// Makes new runs at the end of the map known on disk; `old` is how many there were before.
    pub fn publish_growth(
        &mut self,
        file: &dyn BlockFile,
        map: &mut VlfMap,
        old: usize,
    ) -> Result<(), DiskError> {
        let last = self.areas.len() - 1;
        let room = if last == 0 { FILE_RUNS_MAX } else { MAP_RUNS_MAX };
        if map.runs().len() - self.areas[last].first_run > room {
            // Inside the first new VLF; nobody knows of it until the area before it names it.
            let offset = map.runs().get(old).map_or(0, |run| run.first_offset);
            self.areas.push(Area { offset, first_run: old, slot: 1 });
            map.add_area(offset);
            self.write_area(file, last + 1, map.runs())?;
        }
        self.write_area(file, last, map.runs())
    }
}

impl Log {
    /// Grows by the configured step unless the map no longer ends at `seen_end`: then somebody else has grown it. Gives the
    /// new size.
    pub(crate) fn grow_from(&self, seen_end: u64) -> Result<Option<u64>, LogError> {
        let mut meta = self.meta.lock();
        let size = self.tail.lock().map.end();
        if size != seen_end {
            return Ok(None);
        }
        let policy = *self.policy.lock();
        let step = next_step(&policy, size);
        if step == 0 {
            return Err(LogError::Full { cause: None });
        }
        self.extend(&mut meta, size, step).map(|()| Some(size + step))
    }

    /// Grows the file to `new_size` bytes (rounded up to 64 KB of growth), whatever FILEGROWTH says.
    pub fn grow(&self, new_size: u64) -> Result<(), LogError> {
        let mut meta = self.meta.lock();
        let size = self.tail.lock().map.end();
        if new_size <= size {
            return Ok(());
        }
        if self.policy.lock().max_size.is_some_and(|max| new_size > max) {
            return Err(LogError::Full { cause: None });
        }
        self.extend(&mut meta, size, (new_size - size).next_multiple_of(GROWTH_UNIT))
    }

    /// True while less than a quarter of the log is free.
    pub(crate) fn is_running_low(&self, size: u64) -> bool {
        self.headroom.load(Ordering::Acquire) < size / 4
    }

    /// Writes a piece of the space that the next growth will take, if the log is running low, so that the growth itself costs
    /// no more than telling the map. Returns true if there is more to do. The log's own thread calls it; so may others.
    pub fn prepare_ahead(&self) -> Result<bool, LogError> {
        let mut meta = self.meta.lock();
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let size = self.tail.lock().map.end();
        if !self.is_running_low(size) {
            return Ok(false);
        }
        let policy = *self.policy.lock();
        let step = next_step(&policy, size);
        let from = meta.prepared_end.max(size);
        let piece = far_end(size, step, policy.max_size).saturating_sub(from).min(PIECE);
        if step == 0 || piece == 0 {
            self.prepared.store(true, Ordering::Release);
            return Ok(false);
        }
        // Not final: a full volume matters only if it comes to a growth.
        self.file.write_zeros(from, piece).map_err(|cause| LogError::Full { cause: Some(cause) })?;
        meta.prepared_end = from + piece;
        Ok(true)
    }

    fn extend(&self, meta: &mut Meta, size: u64, step: u64) -> Result<(), LogError> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let (cut, max_size) = {
            let policy = self.policy.lock();
            (policy.rule.cut(step, Some(size)), policy.max_size)
        };
        self.prepare(meta, size, step, max_size)?;
        let create_lsn = self.end();
        let (mut map, old) = {
            let tail = self.tail.lock();
            let old = tail.map.runs().len();
            let mut map = tail.map.clone();
            for (vlf_size, count) in cut {
                map.push(vlf_size, count, create_lsn);
            }
            meta.refresh(&tail, self.hard_end.load(Ordering::Acquire));
            (map, old)
        };
        // Only meta's holder changes the map, so the copy is current. A failure here leaves the map on disk unknown.
        meta.publish_growth(&*self.file, &mut map, old).map_err(|cause| self.poison(cause))?;
        let mut tail = self.tail.lock();
        tail.map = map;
        self.prepared.store(false, Ordering::Release);
        self.tell_headroom(&tail);
        self.counters.count_growth();
        Ok(())
    }

    /// Makes the file at least `size + step` bytes long, written with zeros and synced; longer for a small step.
    fn prepare(&self, meta: &mut Meta, size: u64, step: u64, max_size: Option<u64>) -> Result<(), LogError> {
        let wanted = size + step;
        if wanted <= meta.prepared_end {
            return Ok(());
        }
        let from = meta.prepared_end.max(size);
        let far = far_end(size, step, max_size);
        // A volume that has no room for more may have room for what was asked.
        let written = self.file.write_zeros(from, far - from).map(|()| far).or_else(|cause| {
            let alone = far > wanted && cause.is_no_space();
            if alone { self.file.write_zeros(from, wanted - from).map(|()| wanted) } else { Err(cause) }
        });
        match written {
            Ok(end) => meta.prepared_end = end,
            Err(cause) => {
                // Best effort: opening cuts the file if this does not.
                if self.file.set_len(size).is_ok() {
                    meta.prepared_end = size;
                }
                return Err(LogError::Full { cause: Some(cause) });
            }
        }
        Ok(())
    }

    /// Cuts off what was prepared for growths that did not come. The caller is the last user of the log.
    pub(crate) fn cut_prepared(&self) -> Result<(), LogError> {
        let mut meta = self.meta.lock();
        let size = self.tail.lock().map.end();
        if meta.prepared_end <= size || self.poisoned.load(Ordering::Acquire) {
            return Ok(());
        }
        self.file.set_len(size).map_err(|cause| self.poison(cause))?;
        meta.prepared_end = size;
        Ok(())
    }

    /// Cuts free VLFs off the end of the file until it is not larger than `target` bytes, or the last VLF is in use or about
    /// to be, or two VLFs are left.
    pub fn shrink_to(&self, target: u64) -> Result<ShrinkReport, LogError> {
        let mut meta = self.meta.lock();
        let meta = &mut *meta;
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let mut tail = self.tail.lock();
        let (old_size, old_count) = (tail.map.end(), tail.map.count());
        let mut keep = old_count;
        let mut held = false;
        let spare = tail.spare();
        while keep > 2 {
            let Some(place) = tail.map.place(keep - 1).filter(|place| place.offset >= target.max(AREA))
            else {
                break;
            };
            held = tail.history.seq_of(place.index).is_some_and(|(seq, _)| seq >= tail.oldest.vlf);
            if held || spare == Some(place.index) {
                break;
            }
            keep -= 1;
        }
        let report = |new_size| ShrinkReport {
            old_size,
            new_size,
            vlfs_removed: old_count - keep,
            held_by_active: held,
        };
        if keep == old_count {
            return Ok(report(old_size));
        }
        // Out of the map first, so that nobody starts to use them.
        tail.map.truncate(keep);
        tail.history.truncate(keep);
        self.tell_headroom(&tail);
        let runs = tail.map.runs().to_vec();
        meta.refresh(&tail, self.hard_end.load(Ordering::Acquire));
        drop(tail);
        meta.areas.retain(|area| area.first_run < runs.len());
        let new_size = runs.last().map_or(AREA, |run| run.first_offset + run.vlf_size * u64::from(run.count));
        let last = meta.areas.len() - 1;
        meta.write_area(&*self.file, last, &runs).map_err(|cause| self.poison(cause))?;
        self.file.set_len(new_size).map_err(|cause| self.poison(cause))?;
        meta.prepared_end = new_size;
        self.counters.count_shrink();
        Ok(report(new_size))
    }

    /// Makes a checkpoint known: recovery starts from it from now on, and truncation may pass everything before both its LSNs.
    /// The records up to `checkpoint_lsn` are made durable first.
    pub fn set_checkpoint(&self, info: CheckpointInfo) -> Result<(), LogError> {
        if info.payload.len() > CHECKPOINT_PAYLOAD_MAX {
            return Err(LogError::Option { reason: "the checkpoint payload is too long" });
        }
        if !info.checkpoint_lsn.is_zero() {
            self.flush_to(info.checkpoint_lsn)?;
        }
        let mut meta = self.meta.lock();
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let runs = {
            let tail = self.tail.lock();
            meta.header.checkpoint = info;
            meta.refresh(&tail, self.hard_end.load(Ordering::Acquire));
            meta.first_area(tail.map.runs())
        };
        meta.write_area(&*self.file, 0, &runs).map_err(|cause| self.poison(cause))
    }

    /// The checkpoint that recovery would start from.
    pub fn checkpoint(&self) -> CheckpointInfo {
        self.meta.lock().header.checkpoint.clone()
    }

    /// Lets the VLFs whose records are all below `min` be used again, as far as the checkpoint on disk allows. What else
    /// holds the log is the caller's knowledge. Costs one header write if a VLF becomes free, else nothing: recovery must not
    /// take a VLF for log that was being overwritten when the power went.
    pub fn truncate_to(&self, min: Lsn) {
        let mut meta = self.meta.lock();
        let min = min.min(meta.header.checkpoint.checkpoint_lsn).min(meta.header.checkpoint.redo_lsn);
        let (min, runs) = {
            let mut tail = self.tail.lock();
            let min = min.min(Lsn { vlf: tail.seq, ..Lsn::MAX });
            if min.vlf <= tail.oldest.vlf {
                tail.oldest = tail.oldest.max(min);
                return;
            }
            meta.refresh(&tail, self.hard_end.load(Ordering::Acquire));
            meta.header.oldest = min;
            (min, meta.first_area(tail.map.runs()))
        };
        if self.poisoned.load(Ordering::Acquire) {
            return;
        }
        if let Err(cause) = meta.write_area(&*self.file, 0, &runs) {
            // Nothing was freed; whoever appends next learns of the failure.
            self.poison(cause);
            return;
        }
        let mut tail = self.tail.lock();
        self.counters.count_truncation();
        tail.oldest = min;
        self.oldest_vlf.store(min.vlf, Ordering::Release);
        tail.count_active();
        self.tell_headroom(&tail);
    }
}

//! Changes of the header and the map on disk: growth, shrinking, checkpoints, truncation.
//!
//! Order of a growth: the new space is written with zeros and synced; then, if the last map area is full, a new area is
//! written inside the new space; then one write of a 4 KB slot adds the new VLFs to the map on disk. A crash before that leaves a
//! file that is longer than its map says; opening cuts it. Automatic growths do this ahead of need (see `ahead`).

use std::sync::atomic::Ordering;

use disk::{AlignedBuf, BlockFile, DiskError};

use crate::ahead::{OnDisk, Taken, far_end};
use crate::header::{
    CHECKPOINT_PAYLOAD_MAX, FILE_RUNS, FileHeader, HISTORY_MAX, MAP_RUNS, MapPart, SLOT_SIZE, encode_file,
    encode_map,
};
use crate::log::{GrowthPolicy, Log};
use crate::options::AREA;
use crate::space::ShrinkReport;
use crate::tail::Tail;
use crate::vlf::{Run, VlfMap};
use crate::{CheckpointInfo, LogError, Lsn, runs};

/// Growth is rounded up to this many bytes.
pub(crate) const GROWTH_UNIT: u64 = 64 << 10;
/// When growths of equal size are requested one after the other ([`Log::grow`]), up to this many are added to the map on disk
/// with one write. A crash may leave the log larger by those of them that were not requested yet.
const EQUAL_STEPS: u64 = 64;

/// One 8 KB map area in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Index of its first run in the map.
    pub first_run: usize,
    /// Slot that was written last.
    pub slot: usize,
}

/// The state of header and map on disk.
#[derive(Debug)]
pub(crate) struct Meta {
    /// The header as last written; history, truncation point and durable end are refreshed with every write.
    pub header: FileHeader,
    pub areas: Vec<Area>,
    /// Sequence number of the last slot written anywhere.
    pub seqno: u64,
    /// The file is written with zeros and synced up to here: at least to the end of the map. The rest is for growths to come.
    pub prepared_end: u64,
}

impl Meta {
    /// Writes the slot of an area that is not the newest, durably: header and runs `first_run..` up to the next area or the end
    /// of `runs`.
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

    /// Copies into the header what the tail knows (truncation point, history) and how far the log is durable.
    pub fn refresh(&mut self, tail: &Tail, hard_end: u64) {
        self.header.oldest = tail.oldest;
        self.header.hard_end = hard_end;
        self.header.clean = false;
        let runs = tail.history.runs();
        // More runs than fit: the oldest are found again by reading the VLFs' first blocks.
        let skip = runs.len().saturating_sub(HISTORY_MAX);
        self.header.history = runs.skip(skip).copied().collect();
    }

    /// Adds areas for those runs at the end of the map that do not fit the last area; `old` runs were there before the growth.
    pub fn place_areas(&mut self, map: &mut VlfMap, old: usize) {
        let last = self.areas.len() - 1;
        let mut first = self.areas[last].first_run;
        let mut room = if last == 0 { FILE_RUNS } else { MAP_RUNS };
        loop {
            let fit = first + runs::how_many(&map.runs()[first..], room);
            if fit == map.runs().len() {
                return;
            }
            // Inside a new VLF. No reader finds the area until the one before it names it.
            (first, room) = (fit.max(old), MAP_RUNS);
            let offset = map.runs()[first].first_offset;
            self.areas.push(Area { offset, first_run: first, slot: 1 });
            map.add_area(offset);
        }
    }

    /// Adds new runs at the end of the map to the map on disk; `old` is how many there were before. Costs one write, and one more
    /// for each area that becomes full.
    pub fn publish_growth(
        &mut self,
        file: &dyn BlockFile,
        map: &mut VlfMap,
        old: usize,
    ) -> Result<(), DiskError> {
        let last = self.areas.len() - 1;
        self.place_areas(map, old);
        (last..self.areas.len()).rev().try_for_each(|area| self.write_area(file, area, map.runs()))
    }
}

impl Log {
    /// Grows the file to `new_size` bytes (rounded up to 64 KB of growth), whatever FILEGROWTH says. Costs one durable write
    /// besides the zeros, however often the log has grown before, or none if it is one of many equal steps.
    pub fn grow(&self, new_size: u64) -> Result<(), LogError> {
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let policy = *self.policy.lock();
        loop {
            let size = self.tail.lock().map.end();
            if new_size <= size {
                return Ok(());
            }
            if policy.max_size.is_some_and(|max| new_size > max) {
                return Err(LogError::Full { cause: None });
            }
            let step = (new_size - size).next_multiple_of(GROWTH_UNIT);
            match self.take_step(size, step) {
                Taken::Grown(_) => return Ok(()),
                // The log has grown by itself meanwhile.
                Taken::Already => {}
                Taken::Nothing => self.prepare_asked(&mut on_disk, step, &policy)?,
            }
        }
    }

    /// Prepares a growth by `step` to wait in `steps`; several if the last one requested was of the same size.
    fn prepare_asked(&self, on_disk: &mut OnDisk, step: u64, policy: &GrowthPolicy) -> Result<(), LogError> {
        // What waits is of another size. Without waiting steps only the holder of `meta`, this thread, can extend the tail's map.
        self.drop_steps(on_disk);
        let size = on_disk.map.end();
        let again = std::mem::replace(&mut on_disk.asked, step) == step;
        let wish = if again { step.saturating_mul(EQUAL_STEPS).max(size / 4) } else { size / 4 };
        let far = far_end(size, wish, step, policy.max_size);
        self.prepare(on_disk, step, far)?;
        let room = on_disk.meta.prepared_end.min(far).saturating_sub(size);
        let count = if again { (room / step).clamp(1, EQUAL_STEPS) } else { 1 };
        self.publish_steps(on_disk, policy.rule, &vec![step; count as usize])
    }

    /// Makes the file long enough for the map and `step` bytes more, written with zeros and synced; as far as `far` if the
    /// volume has space for that.
    pub(crate) fn prepare(&self, on_disk: &mut OnDisk, step: u64, far: u64) -> Result<(), LogError> {
        let size = on_disk.map.end();
        let wanted = size + step;
        let from = on_disk.meta.prepared_end.max(size);
        if wanted <= from {
            return Ok(());
        }
        // A volume that has no space for all of it may have space for what was requested.
        let written = self.file.write_zeros(from, far - from).map(|()| far).or_else(|cause| {
            let alone = far > wanted && cause.is_no_space();
            if alone { self.file.write_zeros(from, wanted - from).map(|()| wanted) } else { Err(cause) }
        });
        match written {
            Ok(end) => on_disk.meta.prepared_end = end,
            Err(cause) => {
                // Best effort: opening cuts the file if this does not.
                let keep = size.max(on_disk.known_end);
                match self.file.set_len(keep) {
                    Ok(()) => on_disk.meta.prepared_end = keep,
                    Err(cut) if cut.is_final() => return Err(self.poison(cut)),
                    Err(_) => {}
                }
                return Err(self.no_room(cause));
            }
        }
        Ok(())
    }

    /// The error for space that could not be prepared. A failed write or sync takes the log offline: the sync covers log blocks
    /// as well, and the operating system reports a failed one once only. Space that was refused does not.
    pub(crate) fn no_room(&self, cause: DiskError) -> LogError {
        if cause.is_final() { self.poison(cause) } else { LogError::Full { cause: Some(cause) } }
    }

    /// Cuts the file at the end of its map. A failed sync takes the log offline; a cut that was refused does not: opening cuts
    /// the file too.
    pub(crate) fn cut_file(&self, on_disk: &mut OnDisk, len: u64) -> Result<(), LogError> {
        // Also if the cut is refused: what lies past this is written with zeros again before it is used.
        on_disk.meta.prepared_end = len;
        self.file
            .set_len(len)
            .map_err(|cause| if cause.is_final() { self.poison(cause) } else { cause.into() })
    }

    /// Cuts free VLFs off the end of the file until it is not larger than `target` bytes, or the last VLF is in use or about
    /// to be, or two VLFs are left.
    pub fn shrink_to(&self, target: u64) -> Result<ShrinkReport, LogError> {
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let mut tail = self.tail.lock();
        let (old_size, old_count) = (tail.map.end(), tail.map.count());
        let mut keep = old_count;
        let (mut held, mut cut) = (false, 0);
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
            // What is set aside for the ends of transactions and for undo must still fit.
            cut += place.room();
            if !self.leaves_reserve(tail.headroom().saturating_sub(cut), &tail) {
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
        // Out of the map first, so that no thread starts to use them.
        self.steps.lock().clear();
        tail.map.truncate(keep);
        tail.history.truncate(keep);
        self.tell_headroom(&tail);
        on_disk.meta.refresh(&tail, self.hard_end.load(Ordering::Acquire));
        drop(tail);
        on_disk.truncate(keep);
        let (new_size, runs) = (on_disk.map.end(), on_disk.map.runs().len());
        on_disk.publish(&*self.file, runs).map_err(|cause| self.poison(cause))?;
        self.cut_file(&mut on_disk, new_size)?;
        self.counters.count_shrink();
        Ok(report(new_size))
    }

    /// Writes a checkpoint to the header: recovery starts from it from now on, and truncation may pass everything before both its
    /// LSNs.
    /// The records up to `checkpoint_lsn` are made durable first.
    pub fn set_checkpoint(&self, info: CheckpointInfo) -> Result<(), LogError> {
        if info.payload.len() > CHECKPOINT_PAYLOAD_MAX {
            return Err(LogError::Option { reason: "the checkpoint payload is too long" });
        }
        if !info.checkpoint_lsn.is_zero() {
            self.flush_to(info.checkpoint_lsn)?;
        }
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let OnDisk { meta, map, .. } = &mut *on_disk;
        meta.header.checkpoint = info;
        meta.refresh(&self.tail.lock(), self.hard_end.load(Ordering::Acquire));
        meta.write_area(&*self.file, 0, map.runs()).map_err(|cause| self.poison(cause))
    }

    /// The checkpoint that recovery would start from.
    pub fn checkpoint(&self) -> CheckpointInfo {
        self.meta.lock().meta.header.checkpoint.clone()
    }

    /// Lets the VLFs whose records are all below `min` be used again, as far as the checkpoint on disk allows. Everything else
    /// that holds truncation back is for the caller to consider. Costs one header write if a VLF becomes free, else nothing. The
    /// header comes first, because recovery must not take for log a VLF that was being overwritten when the power failed.
    pub fn truncate_to(&self, min: Lsn) {
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        let OnDisk { meta, map, .. } = &mut *on_disk;
        let min = min.min(meta.header.checkpoint.checkpoint_lsn).min(meta.header.checkpoint.redo_lsn);
        let min = {
            let mut tail = self.tail.lock();
            let min = min.min(Lsn { vlf: tail.seq, ..Lsn::MAX });
            if min.vlf <= tail.oldest.vlf {
                tail.oldest = tail.oldest.max(min);
                self.truncation_done(&tail);
                return;
            }
            meta.refresh(&tail, self.hard_end.load(Ordering::Acquire));
            meta.header.oldest = min;
            min
        };
        if self.poisoned.load(Ordering::Acquire) {
            return;
        }
        if let Err(cause) = meta.write_area(&*self.file, 0, map.runs()) {
            // Nothing was freed; the next append reports the failure.
            self.poison(cause);
            return;
        }
        let mut tail = self.tail.lock();
        self.counters.count_truncation();
        tail.oldest = min;
        self.oldest_vlf.store(min.vlf, Ordering::Release);
        tail.count_active();
        self.truncation_done(&tail);
    }
}

//! Changes of the header and the map on disk: growth, shrinking, checkpoints, truncation.
//!
//! Order of a growth: the new space is written with zeros and synced; then, if the last map area is
//! full, a new area is written inside the new space; then one write of a 4 KB slot adds the new
//! VLFs to the map on disk. A crash before that leaves a file that is longer than its map says;
//! opening cuts it. Automatic growths do this ahead of need (see `ahead`).

use std::sync::atomic::Ordering;

use disk::DiskError;

use crate::ahead::far_end;
use crate::header::CHECKPOINT_PAYLOAD_MAX;
use crate::log::{GrowthPolicy, Log};
use crate::on_disk::{GROWTH_UNIT, OnDisk, TakenStep};
use crate::options::AREA;
use crate::stats::ShrinkReport;
use crate::{CheckpointInfo, LogError, Lsn};

/// When growths of equal size are requested one after the other ([`Log::grow`]), up to this many
/// are added to the map on disk with one write. A crash may leave the log larger by those of them
/// that were not requested yet.
const EQUAL_STEPS: u64 = 64;

impl Log {
    /// Grows the file to `new_size` bytes (rounded up to 64 KB of growth), whatever FILEGROWTH
    /// says. Costs one durable write besides the zeros, however often the log has grown before, or
    /// none if it is one of many equal steps.
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
                TakenStep::Grown(_) => return Ok(()),
                // The log has grown by itself meanwhile.
                TakenStep::Already => {}
                TakenStep::Nothing => self.prepare_asked(&mut on_disk, step, &policy)?,
            }
        }
    }

    /// Prepares a growth by `step` to wait in `steps`; several if the last one requested was of the
    /// same size.
    fn prepare_asked(
        &self,
        on_disk: &mut OnDisk,
        step: u64,
        policy: &GrowthPolicy,
    ) -> Result<(), LogError> {
        // What waits is of another size. Without waiting steps only the holder of `meta`, this
        // thread, can extend the tail's map.
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

    /// Makes the file long enough for the map and `step` bytes more, written with zeros and synced;
    /// as far as `far` if the volume has space for that.
    pub(crate) fn prepare(
        &self,
        on_disk: &mut OnDisk,
        step: u64,
        far: u64,
    ) -> Result<(), LogError> {
        let size = on_disk.map.end();
        let wanted = size + step;
        let from = on_disk.meta.prepared_end.max(size);
        if wanted <= from {
            return Ok(());
        }
        // A volume that has no space for all of it may have space for what was requested.
        let written = self.file.write_zeros(from, far - from).map(|()| far).or_else(|cause| {
            let alone = far > wanted && cause.is_no_space();
            if alone {
                self.file.write_zeros(from, wanted - from).map(|()| wanted)
            } else {
                Err(cause)
            }
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

    /// The error for space that could not be prepared. A failed write or sync takes the log
    /// offline: the sync covers log blocks as well, and the operating system reports a failed one
    /// once only. Space that was refused does not.
    pub(crate) fn no_room(&self, cause: DiskError) -> LogError {
        if cause.is_final() { self.poison(cause) } else { LogError::Full { cause: Some(cause) } }
    }

    /// Cuts the file at the end of its map. A failed sync takes the log offline; a cut that was
    /// refused does not: opening cuts the file too.
    pub(crate) fn cut_file(&self, on_disk: &mut OnDisk, len: u64) -> Result<(), LogError> {
        // Also if the cut is refused: what lies past this is written with zeros again before it is
        // used.
        on_disk.meta.prepared_end = len;
        self.file
            .set_len(len)
            .map_err(|cause| if cause.is_final() { self.poison(cause) } else { cause.into() })
    }

    /// Cuts free VLFs off the end of the file until it is not larger than `target` bytes, or the
    /// last VLF is in use or about to be, or two VLFs are left.
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
            let Some(place) =
                tail.map.place(keep - 1).filter(|place| place.offset >= target.max(AREA))
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
        on_disk.meta.refresh(&tail, self.durable_to.load(Ordering::Acquire));
        drop(tail);
        on_disk.truncate(keep);
        let (new_size, runs) = (on_disk.map.end(), on_disk.map.runs().len());
        on_disk.publish(&*self.file, runs).map_err(|cause| self.poison(cause))?;
        self.cut_file(&mut on_disk, new_size)?;
        self.counters.count_shrink();
        Ok(report(new_size))
    }

    /// Writes a checkpoint to the header: recovery starts from it from now on, and truncation may
    /// pass everything before both its LSNs. The records up to `checkpoint_lsn` are made durable
    /// first.
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
        meta.refresh(&self.tail.lock(), self.durable_to.load(Ordering::Acquire));
        meta.write_area(&*self.file, 0, map.runs()).map_err(|cause| self.poison(cause))
    }

    /// The checkpoint that recovery would start from.
    pub fn checkpoint(&self) -> CheckpointInfo {
        self.meta.lock().meta.header.checkpoint.clone()
    }

    /// Lets the VLFs whose records are all below `min` be used again, as far as the checkpoint on
    /// disk allows. Everything else that holds truncation back is for the caller to consider. Costs
    /// one header write if a VLF becomes free, else nothing. The header comes first, because
    /// recovery must not take for log a VLF that was being overwritten when the power failed.
    pub fn truncate_to(&self, min: Lsn) {
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        let OnDisk { meta, map, .. } = &mut *on_disk;
        let min =
            min.min(meta.header.checkpoint.checkpoint_lsn).min(meta.header.checkpoint.redo_lsn);
        let min = {
            let mut tail = self.tail.lock();
            let min = min.min(Lsn { vlf: tail.seq, ..Lsn::MAX });
            if min.vlf <= tail.oldest.vlf {
                tail.oldest = tail.oldest.max(min);
                self.truncation_done(&tail);
                return;
            }
            meta.refresh(&tail, self.durable_to.load(Ordering::Acquire));
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

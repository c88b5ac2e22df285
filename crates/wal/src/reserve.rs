//! Log space that is set aside, so that there is always space for the end of a transaction.
//!
//! Three kinds of records share the free space. *Ordinary* ones must leave what is reserved and the
//! slack. A *checkpoint* that will free log may use the slack. Records that *undo or end* a
//! transaction may use everything.
//!
//! What is reserved is what the records will really take from the file:
//! - The end of a transaction may be flushed alone. Its block begins with a header and is filled up
//!   to the alignment, whatever else is in the block: [`Log::end_reserve`]. It also pays for the
//!   transaction's entry in the list of a checkpoint.
//! - Compensation records pay for their bytes and their slots, and for the header and the padding
//!   of blocks that they fill: two neighbouring blocks that were sealed because they were full have
//!   at least 64 KB together.
//! - The end of a VLF stays unused when the next record does not fit it: less than the largest
//!   record that anything was reserved for, and a block's header and padding. `capacity_of` takes
//!   that off for each VLF that the reserve may go through, as if all were as small as the smallest
//!   one.
//!
//! Not reserved is the padding of flushes that no end of a transaction pays for: those for pages
//! that leave the buffer pool, or for a checkpoint, while a transaction rolls back. The slack
//! covers some; beyond that [`Log::grow_past_limit`] gives the rollback space.
//!
//! The reserve is one counter. An ordinary append adds to it and compares it with a number that is
//! computed when a block is sealed, so its cost does not depend on the number of transactions.

use std::sync::atomic::Ordering;

use crate::LogError;
use crate::block::{BLOCK_MAX, HEADER, SLOT};
use crate::log::Log;
use crate::on_disk::GROWTH_UNIT;
use crate::tail::Tail;

/// Bytes of a record that ends a transaction, with its slot and a block's header, and of an entry
/// in a checkpoint's list.
const END_RECORD: u64 = 144;
const LIST_ENTRY: u64 = 32;
/// Bytes by which [`Log::grow_past_limit`] makes the file longer, if the volume has so much.
const PAST_LIMIT: u64 = 256 << 10;

/// Log space that a checkpoint has set aside; released when dropped.
#[derive(Debug)]
pub struct CheckpointSpace<'a> {
    log: &'a Log,
    bytes: u64,
}

impl Drop for CheckpointSpace<'_> {
    fn drop(&mut self) {
        self.log.release_reserve(self.bytes);
    }
}

impl Log {
    /// Bytes that the end of a transaction may take: its record, its entry in a checkpoint's list,
    /// and the rounding up of its block.
    #[inline]
    pub fn end_reserve(&self) -> u64 {
        self.block_align + END_RECORD + LIST_ENTRY
    }

    /// Bytes to set aside for compensation records of `bytes` bytes with their slots: their share
    /// of the blocks' headers and padding comes on top.
    #[inline]
    pub fn undo_reserve(&self, bytes: usize) -> u32 {
        // At most 13 %: a block of at least 32 KB, on average, has one header and less than one
        // alignment of padding.
        let share =
            (bytes as u64 * (HEADER as u64 + self.block_align)).div_ceil(BLOCK_MAX as u64 / 2);
        (bytes as u64 + share) as u32
    }

    /// Sets space aside, growing the log if needed; `largest`: the largest record that will use it.
    #[inline]
    pub(crate) fn reserve(&self, bytes: u64, largest: u32) -> Result<(), LogError> {
        let now = match bytes {
            0 => self.reserved.load(Ordering::SeqCst),
            _ => self.reserved.fetch_add(bytes, Ordering::SeqCst) + bytes,
        };
        if largest > self.largest_undo.load(Ordering::Relaxed) {
            self.has_larger_undo(largest);
        }
        if now < self.capacity.load(Ordering::SeqCst) {
            Ok(())
        } else {
            self.find_capacity(now, bytes)
        }
    }

    #[cold]
    fn has_larger_undo(&self, largest: u32) {
        self.largest_undo.fetch_max(largest, Ordering::SeqCst);
        self.tell_headroom(&self.tail.lock());
    }

    /// `bytes` were set aside, which makes `now`: more than there is room for.
    #[cold]
    fn find_capacity(&self, mut now: u64, bytes: u64) -> Result<(), LogError> {
        while now >= self.capacity.load(Ordering::SeqCst) {
            let end = self.tail.lock().map.end();
            // Enough is free by now if other threads have released space, or the log was truncated.
            now = self.reserved.load(Ordering::SeqCst);
            if now < self.capacity.load(Ordering::SeqCst) {
                break;
            }
            self.make_room(end).inspect_err(|_| self.release_reserve(bytes))?;
        }
        Ok(())
    }

    /// Gives back space that was set aside: the transaction has ended or the record was undone.
    /// Never goes below zero.
    pub fn release_reserve(&self, bytes: u64) {
        if bytes > 0 {
            // The closure always returns `Some`, so this cannot fail.
            let less = |now: u64| Some(now.saturating_sub(bytes));
            let _ = self.reserved.fetch_update(Ordering::SeqCst, Ordering::Relaxed, less);
        }
    }

    /// Bytes of reserved records that `free` bytes can hold however much is wasted at the ends of
    /// VLFs; the reserve must be less.
    pub(crate) fn capacity_of(&self, free: u64, tail: &Tail) -> u64 {
        let largest = u64::from(self.largest_undo.load(Ordering::SeqCst)).max(END_RECORD);
        let waste = largest + (HEADER + SLOT) as u64 + self.block_align;
        let room = tail.map.smallest_room();
        // The end of the VLF in use, and one VLF that is only begun.
        let free = free.saturating_sub(2 * waste);
        if room <= waste {
            return free / 2;
        }
        // A log has at most 2 TB, and what is wasted is less than a block and a record: no
        // overflow.
        free - (free * waste).div_ceil(room).min(free)
    }

    /// Whether an ordinary record may open a block, if `left` bytes are free once that is used up.
    pub(crate) fn leaves_reserve(&self, left: u64, tail: &Tail) -> bool {
        let capacity = self.capacity_of(left.saturating_sub(tail.slack()), tail);
        self.reserved.load(Ordering::SeqCst) < capacity
    }

    /// Sets aside what a checkpoint with `active` transactions in its list will append. `useful`:
    /// it will free at least as much, so it may use what ordinary records leave free.
    ///
    /// # Errors
    /// [`LogError::Full`]; offline.
    pub fn reserve_checkpoint(
        &self,
        active: usize,
        useful: bool,
    ) -> Result<CheckpointSpace<'_>, LogError> {
        let bytes = self.checkpoint_cost(active);
        if useful {
            let tail = self.tail.lock();
            let reserved = self.reserved.load(Ordering::SeqCst);
            // The reserve already contains the list entry of each transaction.
            let others = reserved.saturating_sub(active as u64 * LIST_ENTRY) + bytes;
            if others < self.capacity_of(tail.free(), &tail) {
                self.reserved.fetch_add(bytes, Ordering::SeqCst);
                return Ok(CheckpointSpace { log: self, bytes });
            }
        }
        self.reserve(bytes, 0)?;
        Ok(CheckpointSpace { log: self, bytes })
    }

    /// Bytes of log that a checkpoint with so many active transactions takes at most.
    pub fn checkpoint_cost(&self, active: usize) -> u64 {
        // Its first record, its list and its last record, each in a block of its own, and a flush
        // between.
        3 * self.end_reserve() + u64::from(self.undo_reserve(active * LIST_ENTRY as usize))
    }

    /// Bytes for log blocks in the VLFs that would become free if nothing before the VLF `vlf` was
    /// needed any more.
    pub fn bytes_before_vlf(&self, vlf: u32) -> u64 {
        let tail = self.tail.lock();
        let from = |seq: u32| -> u64 {
            tail.history.since(seq).map(|(index, count)| tail.map.usable_range(index, count)).sum()
        };
        from(tail.oldest.vlf).saturating_sub(from(vlf.min(tail.seq).max(tail.oldest.vlf)))
    }

    /// Makes the file longer although FILEGROWTH or the largest size forbid it: for a rollback that
    /// would fail otherwise, and take the database offline with it.
    ///
    /// # Errors
    /// [`LogError::Full`] with its cause if the volume is full; offline.
    pub fn grow_past_limit(&self) -> Result<(), LogError> {
        let end = self.tail.lock().map.end();
        let grow = |step| self.grow_by(end, step);
        match grow(PAST_LIMIT) {
            Err(LogError::Full { .. }) => grow(GROWTH_UNIT),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sim::SimDisk;

    use crate::{Alignment, Growth, Log, LogError, LogOptions, VlfRule};

    /// A full log of VLFs of 64 KB takes every compensation record that space was set aside for, of
    /// sizes that leave as much of each VLF unused as possible, and for each transaction an end in
    /// a block of its own.
    #[test]
    fn what_was_set_aside_is_there() {
        for (align, seed) in
            [512, 4096].into_iter().flat_map(|align| (0..60).map(move |seed| (align, seed)))
        {
            let mut rng = fastrand::Rng::with_seed(seed);
            let options = LogOptions {
                vlf_rule: VlfRule::Fixed(64 << rng.u32(10..13)),
                initial_size: rng.u64(1 << 20..4 << 20),
                growth: Growth::None,
                alignment: Alignment::Force(align),
                background_writer: false,
                ..LogOptions::default()
            };
            let disk = SimDisk::new(seed);
            let log = Log::create(&disk, Path::new("log"), options).expect("create");
            let largest = if rng.bool() { 40_000 } else { 400 };
            let (mut undo, mut ends) = (Vec::new(), 0);
            let full = loop {
                if rng.u8(0..10) == 0 {
                    match log.append_begin(&[&[1; 40]]) {
                        Ok(_) => ends += 1,
                        Err(error) => break error,
                    }
                }
                let len = rng.usize(1..largest);
                match log.append(&[&[2; 60]], log.undo_reserve(len + 2)) {
                    Ok(_) => undo.push(len),
                    Err(error) => break error,
                }
                if rng.u8(0..30) == 0 {
                    log.flush_all().expect("flush");
                }
            };
            assert!(matches!(full, LogError::Full { cause: None }), "{full:?}");
            rng.shuffle(&mut undo);
            let size = log.space().size;
            while ends > 0 || !undo.is_empty() {
                if let Some(len) = undo.pop() {
                    log.append_reserved(&[&vec![3; len]], log.undo_reserve(len + 2))
                        .expect("undo has room");
                }
                if ends > 0 && (undo.is_empty() || rng.u8(0..10) == 0) {
                    ends -= 1;
                    let lsn = log.append_reserved(&[&[4; 40]], log.end_reserve() as u32);
                    log.flush_to(lsn.expect("an end has room")).expect("flush");
                }
            }
            assert_eq!((log.space().reserved, log.space().size), (0, size), "seed {seed}, {align}");
        }
    }
}

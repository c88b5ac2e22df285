//! The end of the log: the VLF in use, the open block, sealed blocks that wait to be written, and
//! what is free.
//!
//! Everything here is protected by one lock that is held for moments only: when a block is sealed,
//! when the log is truncated or has grown. Appending to the open block does not take it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::block::{BLOCK_MAX, FIRST_BLOCK, HEADER, SLOT, UNIT};
use crate::buffer::{Block, BlockCache, SealedBlock};
use crate::vlf::{History, VlfMap, VlfPlace};
use crate::{LogError, Lsn};

/// Free space in bytes that ordinary records leave to checkpoints and rollbacks, at most; a
/// sixteenth of a small log.
const SLACK_MAX: u64 = 64 << 10;
/// Blocks of the largest alignment that the slack always has space for.
const SLACK_BLOCKS: u64 = 4;

/// Where the log ends and what it may use next.
#[derive(Debug)]
pub(crate) struct Tail {
    pub map: VlfMap,
    pub history: History,
    /// Sequence number and location of the VLF in use.
    pub seq: u32,
    pub place: VlfPlace,
    /// Alignment of this VLF's blocks, and of the VLFs to come.
    pub align: u64,
    pub next_align: u64,
    /// Start of the open block in bytes from the VLF's first block.
    pub pos: u64,
    pub open: Arc<Block>,
    /// Sealed blocks in log order, not yet taken by a writer.
    pub queue: VecDeque<Arc<Block>>,
    /// Oldest record that is kept.
    pub oldest: Lsn,
    /// Bytes for log blocks in the VLFs that hold kept records, all of the current one included.
    pub active_usable: u64,
    /// Times that the log continued in another VLF since it was opened.
    pub vlf_changes: u64,
}

/// Where a record can go that does not fit the open block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextPlace {
    /// In a new block of the same VLF.
    SameVlf,
    /// In the VLF with this index.
    Vlf(u32),
    /// Only after the file has grown.
    Grow,
}

/// Largest length of a block that starts with `rest` bytes left in its VLF. It may reach the VLF's
/// end only if there is a `spare` VLF in which the log can continue. Otherwise one unit of the
/// alignment is kept for the block that closes the VLF, so that a flush never has to grow the file.
fn block_cap(rest: u64, align: u64, spare: bool) -> usize {
    let kept = if spare { 0 } else { align };
    let cap = rest.saturating_sub(kept).min(BLOCK_MAX as u64);
    (cap / align * align) as usize
}

impl Tail {
    /// Space in bytes that ordinary records leave free besides what is reserved.
    pub fn slack(&self) -> u64 {
        (self.map.usable() / 16).min(SLACK_MAX).max(SLACK_BLOCKS * self.next_align)
    }

    /// The log ends at `pos` in the VLF `seq`; the open block starts there.
    #[allow(clippy::too_many_arguments)] // the parts of the state, named by their callers' locals
    pub fn new(
        map: VlfMap,
        history: History,
        seq: u32,
        place: VlfPlace,
        pos: u64,
        align: u64,
        oldest: Lsn,
        cache: &BlockCache,
    ) -> Tail {
        // A VLF keeps the finer alignment it was begun with.
        let own_align = if pos.is_multiple_of(align) { align } else { UNIT };
        let spare = history.next_free(place.index, oldest.vlf, map.count());
        let cap = block_cap(place.room().saturating_sub(pos), own_align, spare.is_some());
        let mut tail = Tail {
            open: new_block(cache, seq, &place, pos, cap),
            map,
            history,
            seq,
            place,
            align: own_align,
            next_align: align,
            pos,
            queue: VecDeque::new(),
            oldest,
            active_usable: 0,
            vlf_changes: 0,
        };
        tail.count_active();
        tail
    }

    /// Recomputes the bytes of active VLFs after a truncation: a sum over runs, not over VLFs.
    pub fn count_active(&mut self) {
        self.active_usable = self.active_bytes();
    }

    fn active_bytes(&self) -> u64 {
        let active = self.history.since(self.oldest.vlf);
        active.map(|(index, count)| self.map.usable_range(index, count)).sum()
    }

    /// Bytes for log blocks in free VLFs.
    pub fn free_vlf_bytes(&self) -> u64 {
        self.map.usable().saturating_sub(self.active_usable)
    }

    /// Bytes that would be free if the open block were sealed now.
    pub fn free(&self) -> u64 {
        self.free_vlf_bytes() + self.rest().saturating_sub(self.open_len())
    }

    /// Bytes that are free once the open block is used up.
    pub fn headroom(&self) -> u64 {
        self.free_vlf_bytes() + self.rest().saturating_sub(self.open.cap as u64)
    }

    /// Bytes from the open block's start to the end of the VLF.
    fn rest(&self) -> u64 {
        self.place.room().saturating_sub(self.pos)
    }

    /// The VLF in which the log would continue.
    fn next_free(&self) -> Option<u32> {
        self.history.next_free(self.place.index, self.oldest.vlf, self.map.count())
    }

    /// The free VLF that must stay free because the open block may fill its own VLF to the end.
    pub fn spare(&self) -> Option<u32> {
        (self.open.cap as u64 == self.rest()).then(|| self.next_free()).flatten()
    }

    /// Bytes on disk of the open block, as if sealed now.
    fn open_len(&self) -> u64 {
        let items = self.open.buf.items();
        if items == 0 {
            0
        } else {
            ((self.open.buf.used() + SLOT * items) as u64).next_multiple_of(self.align)
        }
    }

    /// Decides where a block for a record of `len` bytes can open, and how much is free once it is
    /// used up. The open block must take no more records.
    pub fn next_for(&self, len: usize) -> Result<(NextPlace, u64), LogError> {
        let need = HEADER + len + SLOT;
        let rest = self.rest().saturating_sub(self.open_len());
        let spare = self.next_free();
        let cap = block_cap(rest, self.align, spare.is_some());
        if cap >= need {
            return Ok((NextPlace::SameVlf, self.free_vlf_bytes() + rest - cap as u64));
        }
        let Some(index) = spare else {
            return Ok((NextPlace::Grow, 0));
        };
        let room = self.map.place(index).map_or(0, |place| place.room());
        let cap = block_cap(room, self.next_align, false);
        if cap < need {
            return Err(LogError::RecordTooLarge { len });
        }
        Ok((NextPlace::Vlf(index), self.free_vlf_bytes().saturating_sub(cap as u64)))
    }

    /// Seals the open block, queues it, and opens the next one, in the VLF `successor` if given or
    /// if this one is full. An empty block is sealed only to close a VLF; otherwise it is replaced
    /// in place. Returns true if a block was queued.
    pub fn advance(
        &mut self,
        successor: Option<u32>,
        cache: &BlockCache,
    ) -> Result<bool, LogError> {
        let old = Arc::clone(&self.open);
        old.buf.seal();
        let full = successor.is_none() && self.open_len() == self.rest();
        let successor = match successor {
            // `block_cap` lets a block fill its VLF only if another is free. Continuing without one
            // would write past the VLF's end.
            None if full => {
                let offset = self.place.at(block_at(self.pos));
                let reason = "the last block of a VLF has no VLF to go on in";
                Some(self.next_free().ok_or(LogError::Corrupt { offset, reason })?)
            }
            other => other,
        };
        let target = match successor {
            Some(index) => {
                let place = self.map.place(index);
                let place = place.ok_or(LogError::Corrupt {
                    offset: 0,
                    reason: "the next VLF is not in the map",
                })?;
                let seq = self.seq.checked_add(1);
                Some((
                    place,
                    seq.ok_or(LogError::Option { reason: "VLF sequence numbers are used up" })?,
                ))
            }
            None => None,
        };
        let items = old.buf.items();
        let len = match target {
            Some(_) => ((old.buf.used() + SLOT * items) as u64).next_multiple_of(self.align),
            None => self.open_len(),
        };
        debug_assert!(len <= self.rest());
        self.pos += len;
        let mut gap = Some(0);
        if let Some((place, seq)) = target {
            gap = VlfMap::gap(&self.place, self.place.offset + self.place.head + self.pos, &place);
            (self.place, self.seq, self.pos, self.align) = (place, seq, 0, self.next_align);
            self.history.activate(place.index, seq);
            self.vlf_changes += 1;
            // It was free, so all its bytes are new. Recomputing the sum would look up VLFs in a
            // map of many runs, once for each VLF that a large statement fills.
            self.active_usable += place.room();
            debug_assert_eq!(self.active_usable, self.active_bytes());
        }
        let queued = len > 0;
        if queued {
            let next = (self.seq, block_at(self.pos));
            // A block is sealed once, under the tail's lock, so the cell is empty.
            let _ = old.sealed.set(SealedBlock { len: len as usize, next, successor, gap });
            self.queue.push_back(old);
        }
        let cap = block_cap(self.rest(), self.align, self.next_free().is_some());
        self.open = new_block(cache, self.seq, &self.place, self.pos, cap);
        Ok(queued)
    }
}

/// Number of the block that starts so many bytes after the start of the VLF's first one.
fn block_at(pos: u64) -> u32 {
    debug_assert!(pos.is_multiple_of(UNIT));
    FIRST_BLOCK + (pos / UNIT) as u32
}

fn new_block(cache: &BlockCache, seq: u32, place: &VlfPlace, pos: u64, cap: usize) -> Arc<Block> {
    let block = Arc::new(Block::new(cache.buffer(), (seq, block_at(pos)), place, cap));
    cache.add_open(&block);
    block
}

//! Changes of a page: its header fields, opening, closing and splicing slots. For this crate's
//! apply function and page images only.
//!
//! The counts of free bytes and ghosts, the free pointer and the newest writer stay true with each
//! change of a slot. What does not fit or lies outside is [`PageError::Corrupt`], never a panic.

use super::{
    AT_FREE_BYTES, AT_FREE_PTR, AT_GHOSTS, AT_LEVEL, AT_LSN, AT_NEWEST, AT_NEXT, AT_PAGE, AT_PREV,
    AT_ROOT, AT_SLOTS, AT_TYPE, AT_UNIT, AT_VERSION, BODY_SIZE, HEADER_SIZE, MAX_SLOT_LEN, Page,
    PageType, SLOT_SIZE, VERSION, seal_image,
};
use crate::error::PageError;
use crate::id::{PAGE_SIZE, PageId, TxnId, UnitId};
use crate::row_header::{GHOST, ROW_HEADER, RowHeader, lsn_to_bytes};
use wal::Lsn;

impl Page {
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8; PAGE_SIZE] {
        &mut self.bytes
    }

    #[inline]
    fn put<const N: usize>(&mut self, at: usize, b: &[u8; N]) {
        // Of a known length: no call of a copy.
        if let Some(place) = self.bytes[at..at + N].first_chunk_mut() {
            *place = *b;
        }
    }

    #[inline]
    fn put_slice(&mut self, at: usize, b: &[u8]) {
        // A number changes mostly in its last bytes: for these a call of a copy is long.
        match (&mut self.bytes[at..at + b.len()], b) {
            ([to], [from]) => *to = *from,
            ([to, to1], [from, from1]) => (*to, *to1) = (*from, *from1),
            (to, from) => to.copy_from_slice(from),
        }
    }

    #[inline]
    fn put_u16(&mut self, at: usize, v: usize) {
        debug_assert!(v <= u16::MAX as usize);
        self.put(at, &(v as u16).to_le_bytes());
    }

    pub(crate) fn set_id(&mut self, id: PageId) {
        self.put(AT_PAGE, &id.to_bytes());
    }

    #[inline]
    pub(crate) fn set_lsn(&mut self, lsn: Lsn) {
        self.put(AT_LSN, &lsn_to_bytes(lsn));
    }

    pub(crate) fn set_prev(&mut self, id: PageId) {
        self.put(AT_PREV, &id.to_bytes());
    }

    pub(crate) fn set_next(&mut self, id: PageId) {
        self.put(AT_NEXT, &id.to_bytes());
    }

    pub(crate) fn set_checksum(&mut self) {
        seal_image(&mut self.bytes);
    }

    #[inline]
    pub(crate) fn raise_newest_writer(&mut self, txn: TxnId) {
        if txn > self.newest_writer() {
            self.put(AT_NEWEST, &txn.to_bytes());
        }
    }

    #[inline]
    pub(crate) fn add_ghosts(&mut self, delta: i32) {
        // A corrupt count must not panic; verify() reports it.
        let n = (i32::from(self.ghost_count()) + delta).clamp(0, i32::from(u16::MAX));
        self.put_u16(AT_GHOSTS, n as usize);
    }

    /// Makes an empty allocation map out of a page of zeros that stands where a map belongs.
    pub(crate) fn adopt_map(&mut self, id: PageId) {
        if self.raw_type() == 0 && (id.is_pfs() || id.is_gam()) {
            let kind = if id.is_pfs() { PageType::Pfs } else { PageType::Gam };
            self.format(id, kind, 0, UnitId(0));
        }
    }

    /// Makes an empty page of the type. The LSN is set by the caller.
    pub(crate) fn format(&mut self, id: PageId, kind: PageType, level: u8, unit: UnitId) {
        self.bytes.fill(0);
        self.bytes[AT_VERSION] = VERSION;
        self.bytes[AT_TYPE] = kind as u8;
        self.bytes[AT_LEVEL] = level;
        self.set_id(id);
        self.put(AT_UNIT, &unit.0.to_le_bytes());
        if kind.is_slotted() {
            self.put_u16(AT_FREE_PTR, HEADER_SIZE);
            self.put_u16(AT_FREE_BYTES, BODY_SIZE);
        }
    }

    pub(crate) fn set_root(&mut self, root: PageId) {
        self.put(AT_ROOT, &root.to_bytes());
    }

    #[inline]
    fn set_entry(&mut self, slot: u16, off: usize, len: usize) {
        let at = Self::slot_at(slot);
        self.put_u16(at, off);
        self.put_u16(at + 2, len);
    }

    /// Finds `len` contiguous bytes with a slot array of `slots` entries, compacting when needed.
    fn claim(&mut self, len: usize, slots: usize) -> Result<usize, PageError> {
        let limit = PAGE_SIZE.saturating_sub(slots * SLOT_SIZE);
        let at = self.free_ptr();
        if at >= HEADER_SIZE && at + len <= limit {
            return Ok(at);
        }
        self.compact()?;
        let at = self.free_ptr();
        if at + len <= limit {
            return Ok(at);
        }
        Err(PageError::corrupt(self.id(), "no room for the row"))
    }

    /// Moves all contents together at the front. Slot numbers stay.
    fn compact(&mut self) -> Result<(), PageError> {
        let old = self.bytes;
        let count = self.slot_count();
        let mut at = HEADER_SIZE;
        let limit = PAGE_SIZE.saturating_sub(count as usize * SLOT_SIZE);
        for s in 0..count {
            let (off, len) = self.entry(s)?;
            if len == 0 {
                continue;
            }
            let content = old
                .get(off..off + len)
                .ok_or_else(|| PageError::corrupt(self.id(), "slot points beyond the page"))?;
            if at + len > limit {
                return Err(PageError::corrupt(self.id(), "slots hold more than a page"));
            }
            self.bytes[at..at + len].copy_from_slice(content);
            self.set_entry(s, at, len);
            at += len;
        }
        self.put_u16(AT_FREE_PTR, at);
        self.put_u16(AT_FREE_BYTES, limit - at);
        Ok(())
    }

    /// Makes room for `len` bytes in a new slot: reusing or appending on a heap, shifting
    /// elsewhere. The content is written by the caller at the returned offset.
    pub(crate) fn open_slot(
        &mut self,
        slot: u16,
        len: usize,
        shift: bool,
    ) -> Result<usize, PageError> {
        let bad = |p: &Page, what| Err(PageError::corrupt(p.id(), what));
        let count = self.slot_count();
        if slot > count {
            return bad(self, "insert beyond the slot array");
        }
        if len == 0 || len > MAX_SLOT_LEN {
            return bad(self, "slot length out of range");
        }
        let reuse = !shift && slot < count;
        if reuse && self.entry(slot)?.1 != 0 {
            return bad(self, "insert into a used slot");
        }
        let slots = count as usize + usize::from(!reuse);
        if slots * SLOT_SIZE > BODY_SIZE {
            return bad(self, "slot array is full");
        }
        let cost = len + if reuse { 0 } else { SLOT_SIZE };
        if self.free_bytes() < cost {
            return bad(self, "no room for the row");
        }
        let at = self.claim(len, slots)?;
        let Some(free) = self.free_bytes().checked_sub(cost) else {
            return bad(self, "no room for the row");
        };
        if !reuse {
            // Entries grow downwards: moving slots s.. up by one number is a move of the bytes
            // below towards 0.
            let low = PAGE_SIZE - SLOT_SIZE * count as usize;
            let high = PAGE_SIZE - SLOT_SIZE * slot as usize;
            self.bytes.copy_within(low..high, low - SLOT_SIZE);
            self.put_u16(AT_SLOTS, slots);
        }
        self.set_entry(slot, at, len);
        self.put_u16(AT_FREE_PTR, at + len);
        self.put_u16(AT_FREE_BYTES, free);
        Ok(at)
    }

    /// Removes slots: closes the gap (`shift`) or leaves them empty.
    pub(crate) fn remove_slots(&mut self, slot: u16, n: u16, shift: bool) -> Result<(), PageError> {
        let count = self.slot_count();
        let end = match slot.checked_add(n) {
            Some(end) if end <= count && n > 0 && count as usize <= BODY_SIZE / SLOT_SIZE => end,
            _ => return Err(PageError::corrupt(self.id(), "remove beyond the slot array")),
        };
        let (mut freed, mut ghosts) = (0, 0);
        for s in slot..end {
            let content = self.slot(s)?;
            freed += content.len();
            if self.is_versioned() {
                ghosts += i32::from(RowHeader::split(content).is_some_and(|(h, _)| h.is_ghost()));
            }
        }
        self.add_ghosts(-ghosts);
        if shift {
            let low = PAGE_SIZE - SLOT_SIZE * count as usize;
            let high = PAGE_SIZE - SLOT_SIZE * end as usize;
            self.bytes.copy_within(low..high, low + SLOT_SIZE * n as usize);
            self.put_u16(AT_SLOTS, (count - n) as usize);
            freed += SLOT_SIZE * n as usize;
        } else {
            for s in slot..end {
                self.set_entry(s, 0, 0);
            }
        }
        let free = (self.free_bytes() + freed).min(BODY_SIZE);
        self.put_u16(AT_FREE_BYTES, free);
        if shift && self.slot_count() == 0 {
            self.put_u16(AT_FREE_PTR, HEADER_SIZE);
        }
        Ok(())
    }

    /// Replaces `old_len` bytes at `at` of the slot's content by `new`, moving the content when it
    /// grows.
    pub(crate) fn splice_slot(
        &mut self,
        slot: u16,
        at: usize,
        old_len: usize,
        new: &[u8],
    ) -> Result<(), PageError> {
        let id = self.id();
        let (off, len) = self.entry(slot)?;
        self.slot(slot)?;
        if len == 0 || at + old_len > len {
            return Err(PageError::corrupt(id, "change beyond the row"));
        }
        let total = len - old_len + new.len();
        if total == 0 || total > MAX_SLOT_LEN {
            return Err(PageError::corrupt(id, "slot length out of range"));
        }
        if total <= len {
            self.put_slice(off + at, new);
            if total < len {
                self.bytes.copy_within(off + at + old_len..off + len, off + at + new.len());
                self.set_entry(slot, off, total);
                let free = (self.free_bytes() + len - total).min(BODY_SIZE);
                self.put_u16(AT_FREE_BYTES, free);
            }
            return Ok(());
        }
        let Some(free) = self.free_bytes().checked_sub(total - len) else {
            return Err(PageError::corrupt(id, "no room for the row"));
        };
        let mut content = [0u8; PAGE_SIZE];
        content[..at].copy_from_slice(&self.bytes[off..off + at]);
        content[at..at + new.len()].copy_from_slice(new);
        content[at + new.len()..total].copy_from_slice(&self.bytes[off + at + old_len..off + len]);
        // The old place is given up first, so that compaction can use it.
        self.set_entry(slot, 0, 0);
        let to = self.claim(total, self.slot_count() as usize)?;
        self.put_slice(to, &content[..total]);
        self.set_entry(slot, to, total);
        self.put_u16(AT_FREE_PTR, to + total);
        self.put_u16(AT_FREE_BYTES, free);
        Ok(())
    }

    /// Writes at an offset that [`Page::open_slot`] returned.
    #[inline]
    pub(crate) fn write_content(&mut self, at: usize, bytes: &[u8]) {
        self.put_slice(at, bytes);
    }

    /// Overwrites the header of a versioned row and keeps the ghost count and the newest writer
    /// true.
    pub(crate) fn set_row_header(&mut self, slot: u16, head: &RowHeader) -> Result<(), PageError> {
        let Some((old, _)) = self.row(slot)? else {
            return Err(PageError::corrupt(self.id(), "row header of an empty slot"));
        };
        let (off, _) = self.entry(slot)?;
        self.put(off, &head.to_bytes());
        self.add_ghosts(i32::from(head.is_ghost()) - i32::from(old.is_ghost()));
        self.raise_newest_writer(head.txn);
        Ok(())
    }

    /// Gives a versioned row another header, and `new` for the `old_len` bytes at `at` of its
    /// content: as [`Page::splice_slot`] and [`Page::set_row_header`], with one look at the slot
    /// where the length stays.
    #[inline]
    pub(crate) fn update_row(
        &mut self,
        slot: u16,
        at: usize,
        old_len: usize,
        new: &[u8],
        head: &RowHeader,
    ) -> Result<(), PageError> {
        let span = self.slot_span(slot)?;
        let (from, to) = (span.start + at, span.start + at + old_len);
        if old_len != new.len() || at < ROW_HEADER || to > span.end {
            self.splice_slot(slot, at, old_len, new)?;
            return self.set_row_header(slot, head);
        }
        let ghost = self.bytes[span.start] & GHOST != 0;
        self.put_slice(from, new);
        self.put(span.start, &head.to_bytes());
        if ghost != head.is_ghost() {
            self.add_ghosts(i32::from(head.is_ghost()) - i32::from(ghost));
        }
        self.raise_newest_writer(head.txn);
        Ok(())
    }
}

//! One 8 KB page: header fields, the slotted content, the checksum.
//!
//! Reading is public and bounds-checked: a damaged page gives [`PageError::Corrupt`], never a panic. Changing is
//! private to this crate; the only way to it is [`crate::op::apply`].

use crate::error::PageError;
use crate::id::{PAGE_SIZE, PageId, TxnId, UnitId};
use crate::row_header::{GHOST, ROW_HEADER, RowHeader, lsn_from_bytes, lsn_to_bytes};
use std::fmt;
use std::ops::Range;
use wal::Lsn;

/// Bytes of the page header; the content begins here.
pub const HEADER_SIZE: usize = 64;
/// Bytes of a slot array entry: offset u16, length u16. An entry with length 0 is an empty slot.
pub const SLOT_SIZE: usize = 4;
/// The longest content of one slot.
pub const MAX_SLOT_LEN: usize = PAGE_SIZE - HEADER_SIZE - SLOT_SIZE;
/// No page has more slots.
pub const MAX_SLOTS: usize = (PAGE_SIZE - HEADER_SIZE) / SLOT_SIZE;
/// Bytes of the page body.
pub const BODY_SIZE: usize = PAGE_SIZE - HEADER_SIZE;
const VERSION: u8 = 1;

const AT_VERSION: usize = 0;
const AT_TYPE: usize = 1;
const AT_LEVEL: usize = 2;
const AT_PAGE: usize = 4;
const AT_SLOTS: usize = 10;
const AT_PREV: usize = 12;
const AT_NEXT: usize = 18;
const AT_UNIT: usize = 24;
const AT_FREE_PTR: usize = 28;
const AT_FREE_BYTES: usize = 30;
const AT_GHOSTS: usize = 32;
const AT_LSN: usize = 36;
const AT_CHECKSUM: usize = 48;
const AT_NEWEST: usize = 52;
const AT_ROOT: usize = 58;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageType {
    /// Rows of a heap.
    Data = 1,
    /// A B+tree node.
    Index = 2,
    /// Pieces of large values.
    Lob = 3,
    /// Which extents of the interval are in use.
    Gam = 8,
    /// Which extents of the interval belong to one unit.
    Iam = 10,
    /// One byte per page: in use, fullness.
    Pfs = 11,
    /// The database's own data.
    Boot = 13,
    /// Directory of the last doublewrite batch.
    Doublewrite = 14,
    /// What file this is.
    FileHeader = 15,
}

impl PageType {
    #[inline]
    #[must_use]
    pub fn from_u8(t: u8) -> Option<PageType> {
        Some(match t {
            1 => PageType::Data,
            2 => PageType::Index,
            3 => PageType::Lob,
            8 => PageType::Gam,
            10 => PageType::Iam,
            11 => PageType::Pfs,
            13 => PageType::Boot,
            14 => PageType::Doublewrite,
            15 => PageType::FileHeader,
            _ => return None,
        })
    }

    /// Whether pages of this type have a slot array.
    #[must_use]
    #[inline]
    pub fn is_slotted(self) -> bool {
        matches!(self, PageType::Data | PageType::Index | PageType::Lob)
    }
}

/// The bytes of one page.
#[repr(C, align(64))]
pub struct Page {
    bytes: [u8; PAGE_SIZE],
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("id", &self.id())
            .field("type", &self.raw_type())
            .field("level", &self.level())
            .field("unit", &self.unit())
            .field("slots", &self.slot_count())
            .field("free", &self.free_bytes())
            .field("ghosts", &self.ghost_count())
            .field("lsn", &self.lsn())
            .finish()
    }
}

impl Page {
    /// A page of zeros, for tests and for building images.
    #[must_use]
    pub fn zeroed() -> Box<Page> {
        Box::new(Page { bytes: [0; PAGE_SIZE] })
    }

    #[must_use]
    pub fn from_bytes(bytes: &[u8; PAGE_SIZE]) -> Box<Page> {
        Box::new(Page { bytes: *bytes })
    }

    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8; PAGE_SIZE] {
        &self.bytes
    }

    /// Everything after the header.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.bytes[HEADER_SIZE..]
    }

    #[inline]
    fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    #[inline]
    fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes([self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]])
    }

    #[inline]
    fn six_at(&self, at: usize) -> [u8; 6] {
        let b = &self.bytes[at..at + 6];
        [b[0], b[1], b[2], b[3], b[4], b[5]]
    }

    #[inline]
    #[must_use]
    pub fn id(&self) -> PageId {
        PageId { page: self.u32_at(AT_PAGE), file: self.u16_at(AT_PAGE + 4) }
    }

    /// The type byte; see [`Page::page_type`].
    #[inline]
    #[must_use]
    pub fn raw_type(&self) -> u8 {
        self.bytes[AT_TYPE]
    }

    #[inline]
    #[must_use]
    pub fn page_type(&self) -> Option<PageType> {
        PageType::from_u8(self.raw_type())
    }

    /// 0 is the leaf of a B+tree.
    #[inline]
    #[must_use]
    pub fn level(&self) -> u8 {
        self.bytes[AT_LEVEL]
    }

    #[inline]
    #[must_use]
    pub fn slot_count(&self) -> u16 {
        self.u16_at(AT_SLOTS)
    }

    #[inline]
    #[must_use]
    pub fn prev(&self) -> PageId {
        PageId::from_bytes(self.six_at(AT_PREV))
    }

    #[inline]
    #[must_use]
    pub fn next(&self) -> PageId {
        PageId::from_bytes(self.six_at(AT_NEXT))
    }

    #[inline]
    #[must_use]
    pub fn unit(&self) -> UnitId {
        UnitId(self.u32_at(AT_UNIT))
    }

    /// Free bytes in all, fragmented ones included; a new slot costs its content and [`SLOT_SIZE`].
    #[inline]
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.u16_at(AT_FREE_BYTES) as usize
    }

    /// Rows marked as deleted.
    #[inline]
    #[must_use]
    pub fn ghost_count(&self) -> u16 {
        self.u16_at(AT_GHOSTS)
    }

    /// The last log record that changed this page.
    #[inline]
    #[must_use]
    pub fn lsn(&self) -> Lsn {
        let mut b = [0; 10];
        b.copy_from_slice(&self.bytes[AT_LSN..AT_LSN + 10]);
        lsn_from_bytes(&b)
    }

    /// No row on the page was written by a newer transaction.
    #[inline]
    #[must_use]
    pub fn newest_writer(&self) -> TxnId {
        TxnId::from_bytes(self.six_at(AT_NEWEST))
    }

    /// Root of the B+tree the page belongs to; none for other pages.
    #[inline]
    #[must_use]
    pub fn root(&self) -> PageId {
        PageId::from_bytes(self.six_at(AT_ROOT))
    }

    /// Whether slots begin with a row header: heap pages and B+tree leaves.
    #[inline]
    #[must_use]
    pub fn is_versioned(&self) -> bool {
        match self.page_type() {
            Some(PageType::Data) => true,
            Some(PageType::Index) => self.level() == 0,
            _ => false,
        }
    }

    /// Whether every byte is zero, as in a file region that was never written.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.bytes.iter().all(|&b| b == 0)
    }

    /// Whether a new slot (or a reused empty one) with `len` bytes of content fits.
    #[must_use]
    pub fn fits(&self, len: usize, reuse_slot: bool) -> bool {
        self.free_bytes() >= len + if reuse_slot { 0 } else { SLOT_SIZE }
    }

    #[inline]
    fn slot_at(slot: u16) -> usize {
        // slot < slot_limit() < 2,032, so this stays after the header.
        PAGE_SIZE - SLOT_SIZE * (slot as usize + 1)
    }

    #[inline]
    fn entry(&self, slot: u16) -> Result<(usize, usize), PageError> {
        if slot >= self.slot_count() || slot as usize >= BODY_SIZE / SLOT_SIZE {
            return Err(PageError::corrupt(self.id(), "slot number out of range"));
        }
        let at = Self::slot_at(slot);
        Ok((self.u16_at(at) as usize, self.u16_at(at + 2) as usize))
    }

    /// Content of a slot; empty for an empty slot.
    ///
    /// # Errors
    /// [`PageError::Corrupt`] when there is no such slot or its entry points outside the body.
    #[inline]
    pub fn slot(&self, slot: u16) -> Result<&[u8], PageError> {
        let (off, len) = self.entry(slot)?;
        if len == 0 {
            return Ok(&[]);
        }
        if off < HEADER_SIZE {
            return Err(PageError::corrupt(self.id(), "slot points into the header"));
        }
        self.bytes
            .get(off..off + len)
            .ok_or_else(|| PageError::corrupt(self.id(), "slot points beyond the page"))
    }

    /// Offset and length of a slot's content in [`Page::bytes`]. `None` where there is no such slot or its entry points outside
    /// the body: [`Page::slot`] says which.
    #[inline]
    #[must_use]
    pub fn slot_place(&self, slot: u16) -> Option<(usize, usize)> {
        if slot >= self.slot_count() {
            return None;
        }
        let at = PAGE_SIZE.checked_sub(SLOT_SIZE * (usize::from(slot) + 1))?;
        let &[a, b, c, d] = self.bytes.get(at..at + SLOT_SIZE)? else { return None };
        let (off, len) = (usize::from(u16::from_le_bytes([a, b])), usize::from(u16::from_le_bytes([c, d])));
        (off >= HEADER_SIZE && off + len <= PAGE_SIZE).then_some((off, len))
    }

    /// As [`Page::slot_place`], for a slot that is known to be there: below [`Page::slot_count`], and that not above
    /// [`MAX_SLOTS`].
    #[inline]
    #[must_use]
    pub fn place_of(&self, slot: u16) -> Option<(usize, usize)> {
        debug_assert!(slot < self.slot_count() && usize::from(slot) < MAX_SLOTS);
        // The remainder changes nothing, and with it the entry lies within the page whatever the number is.
        let at = PAGE_SIZE - SLOT_SIZE - SLOT_SIZE * (usize::from(slot) % (PAGE_SIZE / SLOT_SIZE));
        let entry =
            u32::from_le_bytes([self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]]);
        let (off, len) = ((entry & 0xffff) as usize, (entry >> 16) as usize);
        (off >= HEADER_SIZE && off + len <= PAGE_SIZE).then_some((off, len))
    }

    /// Where a slot's content lies in [`Page::bytes`]; empty for an empty slot.
    ///
    /// # Errors
    /// As [`Page::slot`].
    #[inline]
    pub fn slot_span(&self, slot: u16) -> Result<Range<usize>, PageError> {
        let (off, len) = self.entry(slot)?;
        if len == 0 {
            return Ok(off..off);
        }
        if off < HEADER_SIZE || off + len > PAGE_SIZE {
            return Err(PageError::corrupt(self.id(), "slot points outside the body"));
        }
        Ok(off..off + len)
    }

    /// Header and body of a versioned row; `None` for an empty slot.
    ///
    /// # Errors
    /// [`PageError::Corrupt`] as for [`Page::slot`], or when the content is shorter than a row header.
    #[inline]
    pub fn row(&self, slot: u16) -> Result<Option<(RowHeader, &[u8])>, PageError> {
        let content = self.slot(slot)?;
        if content.is_empty() {
            return Ok(None);
        }
        match RowHeader::split(content) {
            Some(row) => Ok(Some(row)),
            None => Err(PageError::corrupt(self.id(), "slot is shorter than a row header")),
        }
    }

    /// The first empty slot of a heap page, else the slot count (append).
    #[must_use]
    pub fn first_empty_slot(&self) -> u16 {
        let used = |s: &u16| matches!(self.entry(*s), Ok((_, 0)));
        (0..self.slot_count()).find(used).unwrap_or(self.slot_count())
    }

    /// CRC-32C over the page with the checksum field left out.
    #[must_use]
    pub fn compute_checksum(&self) -> u32 {
        checksum_of(&self.bytes)
    }

    #[must_use]
    pub fn stored_checksum(&self) -> u32 {
        self.u32_at(AT_CHECKSUM)
    }

    /// Checks every structural rule of the header and the slot array; for tests and DBCC.
    ///
    /// # Errors
    /// [`PageError::Corrupt`] naming the first rule that is broken.
    pub fn verify(&self) -> Result<(), PageError> {
        let bad = |what| Err(PageError::corrupt(self.id(), what));
        let Some(kind) = self.page_type() else { return bad("unknown page type") };
        if self.bytes[AT_VERSION] != VERSION {
            return bad("unknown page version");
        }
        if !kind.is_slotted() {
            return Ok(());
        }
        let count = self.slot_count() as usize;
        let array = SLOT_SIZE * count;
        if array > BODY_SIZE || self.free_ptr() < HEADER_SIZE || self.free_ptr() > PAGE_SIZE - array {
            return bad("free pointer out of range");
        }
        let mut spans = Vec::with_capacity(count);
        let (mut used, mut ghosts) = (0, 0);
        for s in 0..self.slot_count() {
            let (off, len) = self.entry(s)?;
            if len == 0 {
                continue;
            }
            if off < HEADER_SIZE || off + len > self.free_ptr() {
                return bad("slot outside the used area");
            }
            if self.is_versioned() {
                let Some((head, _)) = self.row(s)? else { return bad("row vanished") };
                ghosts += u16::from(head.is_ghost());
                if head.txn > self.newest_writer() {
                    return bad("row is newer than the page's newest writer");
                }
            }
            used += len;
            spans.push((off, len));
        }
        spans.sort_unstable();
        if spans.windows(2).any(|w| w[0].0 + w[0].1 > w[1].0) {
            return bad("slots overlap");
        }
        if BODY_SIZE - array - used != self.free_bytes() {
            return bad("free byte count is wrong");
        }
        if self.is_versioned() && ghosts != self.ghost_count() {
            return bad("ghost count is wrong");
        }
        Ok(())
    }

    #[inline]
    fn free_ptr(&self) -> usize {
        self.u16_at(AT_FREE_PTR) as usize
    }
}

/// CRC-32C of a page image, the checksum field left out.
pub(crate) fn checksum_of(bytes: &[u8; PAGE_SIZE]) -> u32 {
    let head = crc32c::crc32c(&bytes[..AT_CHECKSUM]);
    crc32c::crc32c_append(head, &bytes[AT_CHECKSUM + 4..])
}

/// Puts the checksum into a page image that is about to be written.
pub(crate) fn seal_image(bytes: &mut [u8; PAGE_SIZE]) {
    let sum = checksum_of(bytes);
    bytes[AT_CHECKSUM..AT_CHECKSUM + 4].copy_from_slice(&sum.to_le_bytes());
}

/// The checksum that a page image carries.
pub(crate) fn sum_in(bytes: &[u8; PAGE_SIZE]) -> u32 {
    u32::from_le_bytes([
        bytes[AT_CHECKSUM],
        bytes[AT_CHECKSUM + 1],
        bytes[AT_CHECKSUM + 2],
        bytes[AT_CHECKSUM + 3],
    ])
}

/// The LSN in a page image.
pub(crate) fn lsn_in(bytes: &[u8; PAGE_SIZE]) -> Lsn {
    let mut b = [0; 10];
    b.copy_from_slice(&bytes[AT_LSN..AT_LSN + 10]);
    lsn_from_bytes(&b)
}

/// The place that a page image names.
pub(crate) fn id_in(bytes: &[u8; PAGE_SIZE]) -> PageId {
    let mut b = [0; 6];
    b.copy_from_slice(&bytes[AT_PAGE..AT_PAGE + 6]);
    PageId::from_bytes(b)
}

// --- changes: for this crate's apply function and page images only -----------------------------------------------

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
        self.bytes[at..at + b.len()].copy_from_slice(b);
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

    /// Makes room for `len` bytes in a new slot: reusing or appending on a heap, shifting elsewhere. The content is
    /// written by the caller at the returned offset.
    pub(crate) fn open_slot(&mut self, slot: u16, len: usize, shift: bool) -> Result<usize, PageError> {
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
        let Some(free) = self.free_bytes().checked_sub(cost) else { return bad(self, "no room for the row") };
        if !reuse {
            // Entries grow downwards: moving slots s.. up by one number is a move of the bytes below towards 0.
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

    /// Replaces `old_len` bytes at `at` of the slot's content by `new`, moving the content when it grows.
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

    /// Overwrites the header of a versioned row and keeps the ghost count and the newest writer true.
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

    /// Gives a versioned row another header, and `new` for the `old_len` bytes at `at` of its content: as
    /// [`Page::splice_slot`] and [`Page::set_row_header`], with one look at the slot where the length stays.
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
        self.bytes[from..to].copy_from_slice(new);
        self.put(span.start, &head.to_bytes());
        if ghost != head.is_ghost() {
            self.add_ghosts(i32::from(head.is_ghost()) - i32::from(ghost));
        }
        self.raise_newest_writer(head.txn);
        Ok(())
    }

    /// Start of a slot's content, for changes in place.
    pub(crate) fn slot_range(&self, slot: u16) -> Result<std::ops::Range<usize>, PageError> {
        let len = self.slot(slot)?.len();
        let (off, _) = self.entry(slot)?;
        Ok(off..off + len)
    }
}

const _: () = assert!(AT_ROOT + 6 == HEADER_SIZE && ROW_HEADER == 18);

//! One 8 KB page: header fields, the slotted content, the checksum.
//!
//! Reading is public and bounds-checked: a damaged page gives [`PageError::Corrupt`], never a
//! panic. Changing is private to this crate; the only way to it is [`crate::op::apply`].

mod change;
mod image;
mod kind;

pub use kind::PageType;

pub(crate) use image::{checksum_of, id_in, lsn_in, seal_image, sum_in};

use crate::error::PageError;
use crate::id::{PAGE_SIZE, PageId, TxnId, UnitId};
use crate::row_header::{ROW_HEADER, RowHeader, lsn_from_bytes};
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
pub(crate) const BODY_SIZE: usize = PAGE_SIZE - HEADER_SIZE;
/// Bytes that a processor brings from memory at once.
const CACHE_LINE: usize = 64;
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
pub(crate) const AT_CHECKSUM: usize = 48;
const AT_NEWEST: usize = 52;
const AT_ROOT: usize = 58;

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
        u32::from_le_bytes([
            self.bytes[at],
            self.bytes[at + 1],
            self.bytes[at + 2],
            self.bytes[at + 3],
        ])
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

    /// Offset and length in [`Page::bytes`] of the content of a slot that is known to be there:
    /// below [`Page::slot_count`], and that not above [`MAX_SLOTS`]. `None` where its entry points
    /// outside the body: [`Page::slot`] says where to.
    #[inline]
    #[must_use]
    pub fn place_of(&self, slot: u16) -> Option<(usize, usize)> {
        debug_assert!(slot < self.slot_count() && usize::from(slot) < MAX_SLOTS);
        // The remainder changes nothing, and with it the entry lies within the page whatever the
        // number is.
        let at = PAGE_SIZE - SLOT_SIZE - SLOT_SIZE * (usize::from(slot) % (PAGE_SIZE / SLOT_SIZE));
        let entry = u32::from_le_bytes([
            self.bytes[at],
            self.bytes[at + 1],
            self.bytes[at + 2],
            self.bytes[at + 3],
        ]);
        let (off, len) = ((entry & 0xffff) as usize, (entry >> 16) as usize);
        (off >= HEADER_SIZE && off + len <= PAGE_SIZE).then_some((off, len))
    }

    /// Asks the processor to bring the first two cache lines of a slot's content near, without
    /// waiting for them.
    #[inline]
    pub fn prefetch(&self, slot: u16) {
        if slot >= self.slot_count() || usize::from(slot) >= MAX_SLOTS {
            return;
        }
        if let Some((off, len)) = self.place_of(slot) {
            disk::prefetch(&self.bytes[off..]);
            disk::prefetch(&self.bytes[off + len.min(CACHE_LINE)..]);
        }
    }

    /// Where a slot's content lies in [`Page::bytes`]; empty for an empty slot.
    ///
    /// # Errors
    /// As [`Page::slot`].
    #[inline]
    pub(crate) fn slot_span(&self, slot: u16) -> Result<Range<usize>, PageError> {
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
    /// [`PageError::Corrupt`] as for [`Page::slot`], or when the content is shorter than a row
    /// header.
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
        if array > BODY_SIZE || self.free_ptr() < HEADER_SIZE || self.free_ptr() > PAGE_SIZE - array
        {
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

const _: () = assert!(AT_ROOT + 6 == HEADER_SIZE && ROW_HEADER == 18);

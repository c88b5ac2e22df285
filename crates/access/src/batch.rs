//! `RowBatch`: the rows of one heap page or one leaf, copied out so that no latch is held while
//! they are used.
//!
//! All bytes of a batch lie in one arena that is kept from batch to batch; a row is a handful of
//! offsets into it. A page that is read whole costs one copy. Accessors never panic: an index past
//! the end gives an empty row.

use crate::rid::Rid;
use crate::version::VersionBuf;
use crate::writers::NewestWriters;
use pages::{Lsn, Page, PageId, ROW_HEADER, RowHeader};

/// Offsets of one row in the arena.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowRef {
    /// Where the row header begins.
    pub head: u32,
    /// Where the row bytes (heap) or the value (index) begin.
    pub at: u32,
    /// How many they are.
    pub len: u32,
    /// Length of the key that ends where the value begins; 0 in a heap.
    pub key_len: u16,
    pub slot: u16,
    /// Bytes after the row that are not its own: the way back to the stub of a forwarded row.
    pub tail: u16,
    pub state: RowState,
}

/// What is known of a row while its batch is being made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RowState {
    /// Belongs to the result.
    #[default]
    Live,
    /// A ghost returned on request (`ReadMode::Current`).
    Ghost,
    /// Written by a transaction that the reader does not see: an older version is to be found in
    /// the log.
    Unseen,
    /// A forward stub: the row is on another page.
    Stub,
    /// Not part of the result.
    Gone,
}

/// An entry of an index: what it is found by, and what is kept with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexEntry<'b> {
    pub key: &'b [u8],
    pub value: &'b [u8],
}

/// Rows of one page. See the module's documentation.
#[derive(Debug, Default)]
pub struct RowBatch {
    arena: Vec<u8>,
    rows: Vec<RowRef>,
    page: PageId,
    /// The page's last change when its rows were copied; zero where they are not of one page.
    lsn: Lsn,
    pub(crate) version: VersionBuf,
    /// Of the rows, ghosts among them, that were read in `ReadMode::Current` since
    /// [`RowBatch::take_writers`].
    pub(crate) writers: NewestWriters,
}

impl RowBatch {
    /// An empty batch; its buffers grow with the first page and stay.
    pub fn new() -> RowBatch {
        RowBatch::default()
    }

    /// Forgets the rows, keeps the buffers.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.rows.clear();
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The page that the rows were copied from.
    pub fn page(&self) -> PageId {
        self.page
    }

    /// Row bytes of a heap row, value of an index entry.
    #[inline]
    pub fn row(&self, i: usize) -> &[u8] {
        self.rows.get(i).map_or(&[], |r| self.bytes(r.at, r.len))
    }

    /// Key of an index entry; empty in a heap.
    #[inline]
    pub fn key(&self, i: usize) -> &[u8] {
        self.rows
            .get(i)
            .map_or(&[], |r| self.bytes(r.at - u32::from(r.key_len), u32::from(r.key_len)))
    }

    /// Key and value of an index entry.
    #[inline]
    pub fn entry(&self, i: usize) -> IndexEntry<'_> {
        IndexEntry { key: self.key(i), value: self.row(i) }
    }

    /// Header of the version that the batch holds: the guard for `apply_batch`.
    pub fn header(&self, i: usize) -> RowHeader {
        self.rows.get(i).map_or_else(RowHeader::default, |r| self.header_at(r.head))
    }

    /// Whether the row is a ghost, which only `ReadMode::Current` returns.
    pub fn is_ghost(&self, i: usize) -> bool {
        self.rows.get(i).is_some_and(|r| r.state == RowState::Ghost)
    }

    /// Slot that the row had on its page: a hint for index entries, part of the identity of a heap
    /// row.
    pub fn slot(&self, i: usize) -> u16 {
        self.rows.get(i).map_or(0, |r| r.slot)
    }

    /// Row identifier of a heap row.
    pub fn rid(&self, i: usize) -> Rid {
        Rid { page: self.page, slot: self.slot(i) }
    }

    /// Whether a heap row lies on another page than the one that it is known by.
    pub fn is_forwarded(&self, i: usize) -> bool {
        self.rows.get(i).is_some_and(|r| r.tail > 0)
    }

    /// Whether the first entries are the same versions under the same keys as in another batch.
    pub fn begins_as(&self, other: &RowBatch, entries: usize) -> bool {
        entries <= self.len().min(other.len())
            && (0..entries)
                .all(|i| self.header(i) == other.header(i) && self.key(i) == other.key(i))
    }

    /// Whether nothing on the page has changed since its rows were copied.
    pub(crate) fn is_of(&self, page: &Page) -> bool {
        self.lsn != Lsn::ZERO && page.id() == self.page && page.lsn() == self.lsn
    }

    /// The writers of the newest rows, or ghosts, that were read into the batch in
    /// `ReadMode::Current` since this was asked last, whatever has become of these rows.
    #[inline]
    pub fn take_writers(&mut self) -> NewestWriters {
        std::mem::take(&mut self.writers)
    }

    /// Bytes that the batch holds on to.
    pub fn capacity(&self) -> usize {
        self.arena.capacity() + self.rows.capacity() * size_of::<RowRef>()
    }

    #[inline]
    fn bytes(&self, at: u32, len: u32) -> &[u8] {
        self.arena.get(at as usize..(at + len) as usize).unwrap_or(&[])
    }

    pub(crate) fn header_at(&self, head: u32) -> RowHeader {
        self.arena
            .get(head as usize..)
            .and_then(RowHeader::split)
            .map_or_else(RowHeader::default, |(h, _)| h)
    }

    /// Begins a new page: what was in the batch is gone.
    pub(crate) fn begin(&mut self, page: PageId) {
        self.clear();
        (self.page, self.lsn) = (page, Lsn::ZERO);
    }

    /// Begins a page whose rows are all copied under one latch.
    pub(crate) fn begin_page(&mut self, page: &Page) {
        self.begin(page.id());
        self.lsn = page.lsn();
    }

    /// Copies bytes into the arena; returns where they begin.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u32 {
        let at = self.arena.len() as u32;
        self.arena.extend_from_slice(bytes);
        at
    }

    pub(crate) fn push(&mut self, row: RowRef) {
        debug_assert!((row.at + row.len) as usize <= self.arena.len());
        self.rows.push(row);
    }

    pub(crate) fn rows(&self) -> &[RowRef] {
        &self.rows
    }

    pub(crate) fn set_row(&mut self, i: usize, row: RowRef) {
        if let Some(r) = self.rows.get_mut(i) {
            *r = row;
        }
    }

    /// Everything after the row header of a row that is in the arena as its page held it.
    pub(crate) fn body(&self, r: &RowRef) -> &[u8] {
        let start = r.head + ROW_HEADER as u32;
        self.bytes(start, r.at + r.len + u32::from(r.tail) - start)
    }

    /// Drops the rows that turned out not to belong to the result, keeping the order of the others.
    pub(crate) fn drop_gone(&mut self) {
        self.rows.retain(|r| r.state != RowState::Gone);
    }

    /// Turns the order of the rows round, for scans that go backward.
    pub(crate) fn reverse(&mut self) {
        self.rows.reverse();
    }
}

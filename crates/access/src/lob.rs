//! Large values: chains of pages in the LOB unit of a table.
//!
//! A value never changes in place: a new value is a new chain, and the statement that replaces or
//! deletes a value puts the old chain on the list of discarded values (`DiscardedValues`). Pages of
//! a value that is rolled back are freed by undo. Each page holds one piece; all but the last are
//! full, so a place in the value is found without looking into the pieces before it.

use crate::Writer;
use crate::error::AccessError;
use crate::record::with_record;
use crate::space::{self, NewPage, Space};
use crate::undo::compensate;
use pages::{Lsn, PageId, PageMut, PageType, RecordBuilder, Store, Unit, UnitId};
use smallvec::SmallVec;
use std::sync::Arc;

/// Bytes of a value on one page. Six pages fill a log record.
pub(crate) const LOB_PIECE: usize = 8_000;
/// Pages written with one record.
const PER_RECORD: usize = 6;
/// Pages freed with one record.
const FREE_AT_ONCE: usize = 32;
/// Pages read ahead along a chain whose pages are neighbours.
const READ_AHEAD: u64 = 32;

/// Where a large value is: 16 bytes in the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LobPointer {
    /// First page of the chain; none for an empty value.
    pub first: PageId,
    /// Length in bytes.
    pub len: u64,
}

impl LobPointer {
    /// First page (6), two zero bytes, length u64 little-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let mut b = [0; 16];
        b[..6].copy_from_slice(&self.first.to_bytes());
        b[8..].copy_from_slice(&self.len.to_le_bytes());
        b
    }

    /// Reads what `to_bytes` made.
    ///
    /// # Errors
    /// [`AccessError::Lob`] when the bytes are no pointer.
    pub fn from_bytes(b: &[u8]) -> Result<LobPointer, AccessError> {
        let bad = AccessError::Lob { page: PageId::NONE, what: "not a pointer" };
        let Some((b, [])) = b.split_first_chunk::<16>() else { return Err(bad) };
        let first = PageId::from_bytes([b[0], b[1], b[2], b[3], b[4], b[5]]);
        let len = u64::from_le_bytes([b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]]);
        if b[6..8] != [0, 0] || first.is_none() != (len == 0) {
            return Err(bad);
        }
        Ok(LobPointer { first, len })
    }

    /// Pages of the chain.
    #[must_use]
    pub fn pages(self) -> u64 {
        self.len.div_ceil(LOB_PIECE as u64)
    }
}

/// The large values of a table.
#[derive(Clone)]
pub struct LobSpace {
    space: Space,
}

impl std::fmt::Debug for LobSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LobSpace").field("unit", &self.unit_id()).finish_non_exhaustive()
    }
}

impl LobSpace {
    /// The values in an allocation unit.
    pub fn new(store: Arc<Store>, unit: Unit) -> LobSpace {
        LobSpace { space: Space::new(store, unit) }
    }

    pub(crate) fn space(&self) -> &Space {
        &self.space
    }

    /// The space's allocation unit.
    pub fn unit_id(&self) -> UnitId {
        self.space.id()
    }

    /// First IAM page of the unit.
    ///
    /// # Errors
    /// I/O, when the unit has to be looked up first.
    pub fn first_iam(&self) -> Result<PageId, AccessError> {
        Ok(self.space.unit()?.first_iam())
    }

    /// Stores a value.
    ///
    /// # Errors
    /// No space; I/O and the log's errors. The caller rolls back then, which frees what was
    /// written.
    pub fn write(&self, w: &mut dyn Writer, bytes: &[u8]) -> Result<LobPointer, AccessError> {
        let pieces: Vec<&[u8]> = bytes.chunks(LOB_PIECE).collect();
        let mut first = PageId::NONE;
        let mut prev = PageId::NONE;
        let mut next = None;
        for group in pieces.chunks(PER_RECORD) {
            let mut pages: SmallVec<[NewPage<'_>; PER_RECORD]> = SmallVec::new();
            for _ in group {
                pages.push(match next.take() {
                    Some(page) => page,
                    None => self.space.take()?,
                });
            }
            let more = group.as_ptr_range().end != pieces.as_ptr_range().end;
            if more {
                next = Some(self.space.take()?);
            }
            if first.is_none() {
                first = pages.first().map_or(PageId::NONE, NewPage::id);
            }
            let after = next.as_ref().map_or(PageId::NONE, NewPage::id);
            prev = self.write_group(w, &mut pages, group, first, prev, after)?;
        }
        Ok(LobPointer { first, len: bytes.len() as u64 })
    }

    /// Writes the pieces of one record; returns the last page.
    fn write_group<'s>(
        &'s self,
        w: &mut dyn Writer,
        pages: &mut [NewPage<'s>],
        pieces: &[&[u8]],
        first: PageId,
        mut prev: PageId,
        after: PageId,
    ) -> Result<PageId, AccessError> {
        with_record(|rec| {
            rec.change();
            for (i, piece) in pieces.iter().enumerate() {
                let next = pages.get(i + 1).map_or(after, NewPage::id);
                pages[i].format_as(rec, PageType::Lob, 0, prev, next, first)?;
                rec.insert_raw(0, piece)?;
                prev = pages[i].id();
            }
            let mut new: SmallVec<[&mut NewPage<'s>; PER_RECORD]> = pages.iter_mut().collect();
            NewPage::change(&self.space.store, w, rec, &mut [], &mut new, None)?;
            Ok(prev)
        })
    }

    /// The whole value, appended to `out`.
    ///
    /// # Errors
    /// `Lob` when the pointer does not lead to a value of this length; I/O.
    pub fn read(&self, pointer: LobPointer, out: &mut Vec<u8>) -> Result<(), AccessError> {
        self.read_range(pointer, 0, pointer.len, out)
    }

    /// Up to `len` bytes from byte `offset` on, appended to `out`: less at the end of the value,
    /// none after it.
    ///
    /// # Errors
    /// As for `read`.
    pub fn read_range(
        &self,
        pointer: LobPointer,
        offset: u64,
        len: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), AccessError> {
        let end = offset.saturating_add(len).min(pointer.len);
        if offset >= end {
            return Ok(());
        }
        let mut begin = 0;
        self.walk(pointer, end, |_, piece| {
            let stop = begin + piece.len() as u64;
            if stop > offset {
                let from = offset.saturating_sub(begin) as usize;
                let to = (end.min(stop) - begin) as usize;
                out.extend_from_slice(&piece[from..to]);
            }
            begin = stop;
        })
    }

    /// Visits the pages of a chain that hold bytes before `end`, checking each.
    pub(crate) fn walk(
        &self,
        pointer: LobPointer,
        end: u64,
        mut visit: impl FnMut(PageId, &[u8]),
    ) -> Result<(), AccessError> {
        let (mut id, mut prev, mut at, mut fetched) = (pointer.first, PageId::NONE, 0, 0);
        while at < end {
            let bad = |what| AccessError::Lob { page: id, what };
            let page = self.space.store.read_scan(id)?;
            if page.page_type() != Some(PageType::Lob) || page.unit() != self.unit_id() {
                return Err(bad("not a page of the value"));
            }
            if page.root() != pointer.first || page.prev() != prev || page.slot_count() != 1 {
                return Err(bad("page belongs to another value"));
            }
            let piece = page.slot(0)?;
            if piece.len() as u64 != (pointer.len - at).min(LOB_PIECE as u64) {
                return Err(bad("piece has a wrong length"));
            }
            visit(id, piece);
            at += piece.len() as u64;
            let next = page.next();
            if next.is_none() != (at == pointer.len) {
                return Err(bad("chain and length do not agree"));
            }
            drop(page);
            let left = (end - at.min(end)).div_ceil(LOB_PIECE as u64);
            if next == PageId::new(id.file, id.page.saturating_add(1)) && at >= fetched && left > 1
            {
                let run: SmallVec<[PageId; 32]> = (0..left.min(READ_AHEAD) as u32)
                    .map(|i| PageId::new(next.file, next.page.saturating_add(i)))
                    .collect();
                self.space.store.prefetch(&run)?;
                fetched = at + run.len() as u64 * LOB_PIECE as u64;
            }
            (prev, id) = (id, next);
        }
        Ok(())
    }

    /// The pages that are still a value's own, from the first one on: all of them, or what a crash
    /// in the middle of its freeing has left. The first page is freed last, so no other value can
    /// begin there meanwhile.
    pub(crate) fn remains(&self, pointer: LobPointer) -> Result<Vec<PageId>, AccessError> {
        let mut chain = Vec::new();
        let mut id = pointer.first;
        while !id.is_none() && (chain.len() as u64) < pointer.pages() {
            let page = self.space.store.read_scan(id)?;
            if page.page_type() != Some(PageType::Lob)
                || page.unit() != self.unit_id()
                || page.root() != pointer.first
            {
                break;
            }
            chain.push(id);
            id = page.next();
        }
        Ok(chain)
    }

    /// Frees all but the first pages of a chain, from its end; returns those that are left, few
    /// enough for one record.
    pub(crate) fn free_tail<'c>(&self, chain: &'c [PageId]) -> Result<&'c [PageId], AccessError> {
        let (head, tail) = chain.split_at(chain.len().min(FREE_AT_ONCE));
        for group in tail.rchunks(FREE_AT_ONCE) {
            with_record(|rec| {
                rec.system();
                free_pages(&self.space, &mut self.space.store.system(), rec, group, None)
            })?;
        }
        Ok(head)
    }
}

/// Adds the freeing of LOB pages to the record and makes the change. `also` is another page that
/// the record changes; its latch was taken first.
pub(crate) fn free_pages<'a>(
    space: &'a Space,
    sink: &mut dyn pages::RecordSink,
    rec: &mut RecordBuilder,
    ids: &[PageId],
    also: Option<&mut PageMut<'a>>,
) -> Result<(), AccessError> {
    let mut latched: Vec<PageMut<'a>> = Vec::with_capacity(ids.len());
    for &id in ids {
        latched.push(space.store.write(id)?);
        rec.page(id);
        rec.format(PageType::Lob, 0, space.id(), PageId::NONE, PageId::NONE, PageId::NONE)?;
    }
    let mut all: Vec<&mut PageMut<'a>> = latched.iter_mut().collect();
    all.extend(also);
    space::change_and_free(space, sink, rec, &mut all, ids)
}

/// Undo of a record that wrote pages of a value, or the copy of a root: those that still are as it
/// made them are freed.
pub(crate) fn undo_pages(
    store: &Arc<Store>,
    lsn: Lsn,
    ids: &[PageId],
    w: &mut dyn Writer,
    undo_next: Lsn,
) -> Result<(), AccessError> {
    let mut mine: SmallVec<[PageId; 8]> = SmallVec::new();
    let mut unit = UnitId::default();
    for &id in ids {
        let page = store.read(id)?;
        if page.lsn() == lsn {
            mine.push(id);
            unit = page.unit();
        }
    }
    if mine.is_empty() {
        return Ok(());
    }
    let space = match store.known_unit(unit) {
        Some(open) => Space::new(Arc::clone(store), open),
        None => Space::by_id(Arc::clone(store), unit),
    };
    compensate(undo_next, PageId::NONE, |rec| free_pages(&space, w, rec, &mine, None))
}

//! Heaps: rows in no order, each known by its row identifier (file, page, slot) for life.
//!
//! A row that no longer fits its page is forwarded: its home slot becomes a stub that names the
//! place it went to, and the row carries the way back after its bytes. Moving is a change of
//! structure and not of content, so a stub has no versions of its own; the versions of a forwarded
//! row are those of its target. A target that moves again updates the stub, so the way is never
//! longer than one step. Readers find a row only through its home slot, once.
//!
//! Latches: a thread never waits for a heap page while it holds another one. Where two are needed
//! the second is tried, and on failure both are given up and taken again.

mod insert;
mod modify;
mod scan;
mod undo;

pub use modify::HeapChange;
pub use scan::HeapScan;

use crate::batch::{RowBatch, RowRef, RowState};
use crate::error::{AccessError, corrupt};
use crate::rid::Rid;
use crate::snapshot::ReadMode;
use crate::space::{Space, is_gone};
use crate::visible::{judge, resolve_batch, watches_writers};
use insert::Points;
use pages::{
    FORWARD, MAX_SLOT_LEN, Page, PageId, PageType, ROW_HEADER, RowHeader, Store, Unit, UnitId,
};
use std::fmt;
use std::sync::Arc;

/// Bytes after a forwarded row that name its stub.
pub(crate) const BACK: usize = 8;
/// Longest row of a heap in bytes.
pub const MAX_ROW_LEN: usize = MAX_SLOT_LEN - ROW_HEADER - BACK;
/// Tries to catch two pages, or a row on the move, before the structure is taken to be damaged.
pub(crate) const MAX_TRIES: usize = 100_000;

/// A heap: a handle over its allocation unit. Clones share the insertion points.
#[derive(Clone)]
pub struct Heap {
    pub(crate) space: Space,
    points: Arc<Points>,
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("unit", &self.unit_id()).finish_non_exhaustive()
    }
}

/// What a home slot leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HomeSlot {
    /// The row is in its home slot.
    Here,
    /// The row was forwarded to this place.
    At(Rid),
    /// No row has this identifier.
    None,
}

/// Looks at a home slot.
pub(crate) fn home(page: &Page, slot: u16) -> Result<HomeSlot, AccessError> {
    if page.page_type() != Some(PageType::Data) || slot >= page.slot_count() {
        return Ok(HomeSlot::None);
    }
    let Some((header, body)) = page.row(slot)? else { return Ok(HomeSlot::None) };
    if header.is_forward() {
        let target =
            body.try_into().map_err(|_| corrupt(page.id(), "forward stub has a wrong length"))?;
        return Ok(HomeSlot::At(Rid::from_bytes(target)));
    }
    Ok(if header.is_forwarded() { HomeSlot::None } else { HomeSlot::Here })
}

/// The forwarded row in a slot, if it is the one whose home is `rid`: header and body with the way
/// back.
pub(crate) fn forwarded(
    page: &Page,
    slot: u16,
    rid: Rid,
) -> Result<Option<(RowHeader, &[u8])>, AccessError> {
    if page.page_type() != Some(PageType::Data) || slot >= page.slot_count() {
        return Ok(None);
    }
    Ok(page
        .row(slot)?
        .filter(|(header, body)| header.is_forwarded() && body.ends_with(&rid.to_bytes())))
}

/// The stub that leads to a forwarded row.
pub(crate) fn stub(target: Rid) -> [u8; ROW_HEADER + BACK] {
    let mut bytes = [0; ROW_HEADER + BACK];
    let header = RowHeader { flags: FORWARD, ..RowHeader::default() };
    bytes[..ROW_HEADER].copy_from_slice(&header.to_bytes());
    bytes[ROW_HEADER..].copy_from_slice(&target.to_bytes());
    bytes
}

impl Heap {
    /// The heap in an allocation unit. An empty unit is an empty heap.
    pub fn new(store: Arc<Store>, unit: Unit) -> Heap {
        Heap { space: Space::new(store, unit), points: Arc::default() }
    }

    /// For undo, which knows the unit's number alone.
    pub(crate) fn by_id(store: Arc<Store>, unit: UnitId) -> Heap {
        Heap { space: Space::by_id(store, unit), points: Arc::default() }
    }

    /// The heap's allocation unit.
    pub fn unit_id(&self) -> UnitId {
        self.space.id()
    }

    /// The version of a row that the reader sees, as the only row of `batch`; false if there is
    /// none.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn fetch(
        &self,
        rid: Rid,
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<bool, AccessError> {
        batch.begin(rid.page);
        let row = self.load(rid, mode, batch)?;
        if row.state != RowState::Gone {
            batch.push(row);
        }
        resolve_batch(&self.space.store, batch, mode, false)?;
        batch.drop_gone();
        Ok(!batch.is_empty())
    }

    /// Asks for the pages of rows that are about to be fetched, which come in the order of their
    /// pages; how many of them are not in memory. What cannot be read is found when a row is.
    pub fn ask_for(&self, rids: impl Iterator<Item = Rid>) -> usize {
        let mut pages: Vec<PageId> = rids.map(|rid| rid.page).collect();
        pages.dedup();
        self.space.store.read_missing(&pages)
    }

    /// Copies the newest version of a row into the arena, following its stub.
    pub(crate) fn load(
        &self,
        rid: Rid,
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<RowRef, AccessError> {
        let gone = RowRef { slot: rid.slot, state: RowState::Gone, ..RowRef::default() };
        for _ in 0..MAX_TRIES {
            let page = match self.space.store.read(rid.page) {
                // An index entry that is a ghost by now may name a row whose page was freed.
                Err(e) if is_gone(&self.space.store, rid.page, &e) => return Ok(gone),
                page => page?,
            };
            if page.unit() != self.unit_id() {
                return Ok(gone);
            }
            let target = match home(&page, rid.slot)? {
                HomeSlot::None => return Ok(gone),
                HomeSlot::Here => return put_row(&page, rid.slot, rid.slot, 0, mode, batch),
                HomeSlot::At(target) => target,
            };
            drop(page);
            let page = match self.space.store.read(target.page) {
                Err(e) if is_gone(&self.space.store, target.page, &e) => continue,
                page => page?,
            };
            if forwarded(&page, target.slot, rid)?.is_some() {
                return put_row(&page, target.slot, rid.slot, BACK as u16, mode, batch);
            }
            // The row moved between the two looks.
            drop(page);
            std::thread::yield_now();
        }
        Err(AccessError::Unstable { page: rid.page, what: "forward stub leads nowhere" })
    }
}

/// Copies one row into the arena. `as_slot` is the slot it is known by, `tail` what is after its
/// own bytes.
fn put_row(
    page: &Page,
    slot: u16,
    as_slot: u16,
    tail: u16,
    mode: ReadMode<'_>,
    batch: &mut RowBatch,
) -> Result<RowRef, AccessError> {
    let content = page.slot(slot)?;
    let Some((header, body)) = RowHeader::split(content) else {
        return Err(corrupt(page.id(), "row is shorter than its header"));
    };
    let len = body
        .len()
        .checked_sub(tail.into())
        .ok_or_else(|| corrupt(page.id(), "forwarded row is cut short"))?;
    if watches_writers(page, mode, batch) {
        batch.writers.saw(header.txn);
    }
    let head = batch.put(content);
    Ok(RowRef {
        head,
        at: head + ROW_HEADER as u32,
        len: len as u32,
        key_len: 0,
        slot: as_slot,
        tail,
        state: judge(&header, mode),
    })
}

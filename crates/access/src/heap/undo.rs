//! Undo and ghost removal of heap rows, through their home slots.

use super::insert::FoundPage;
use super::{BACK, Heap, HomeSlot, MAX_TRIES, forwarded, home, stub};
use crate::Writer;
use crate::cleanup::PageCleanup;
use crate::error::{AccessError, corrupt};
use crate::record::with_record;
use crate::rid::Rid;
use crate::space::change_and_free;
use crate::undo::{Undo, UndoneRow, compensate};
use pages::{
    FORWARDED, PageId, PageMut, PageType, ROW_HEADER, RecordBuilder, RowHeader, Store, TxnId,
    pfs_level,
};
use std::sync::Arc;

/// Room that a record keeps for one small operation.
const SMALL: usize = 128;

/// An operation that is to be undone, and the row as the operation has left it.
#[derive(Clone, Copy)]
struct RowUndo<'r, 'u> {
    undo: &'r Undo<'u>,
    /// The number of the operation.
    i: usize,
    /// The row's home.
    rid: Rid,
    header: RowHeader,
    row: &'r [u8],
}

impl Heap {
    /// Undoes operations from `end - 1` down, as far as they are on one page; returns the new end.
    pub(crate) fn undo(
        store: &Arc<Store>,
        undo: &Undo<'_>,
        end: usize,
        w: &mut dyn Writer,
    ) -> Result<usize, AccessError> {
        let rid = undo.rid(end - 1);
        let heap = Heap::by_id(Arc::clone(store), store.read(rid.page)?.unit());
        let mut page = heap.space.store.write(rid.page)?;
        let reach = {
            let mut probe = RecordBuilder::new();
            probe.compensation(undo.lsn);
            probe.page(rid.page);
            undo_here(&mut probe, &page, undo, end, 0)?.0
        };
        if reach < end {
            return compensate(undo.next_after(reach), PageId::NONE, |rec| {
                rec.page(rid.page);
                let (_, freed) = undo_here(rec, &page, undo, end, reach)?;
                if rec.is_empty() || freed == 0 {
                    if !rec.is_empty() {
                        store.change(w, rec, &mut [&mut page])?;
                    }
                    return Ok(reach);
                }
                heap.change_level(w, rec, &mut page, freed)?;
                // The unit's list of pages with room is not at hand here: cleanup tells it.
                w.ghosted(heap.unit_id(), rid.page);
                Ok(reach)
            });
        }
        drop(page);
        heap.undo_away(undo, end - 1, rid, w)?;
        Ok(end - 1)
    }

    /// Undoes an operation of a row that is forwarded, or has to be.
    fn undo_away(
        &self,
        undo: &Undo<'_>,
        i: usize,
        rid: Rid,
        w: &mut dyn Writer,
    ) -> Result<(), AccessError> {
        for _ in 0..MAX_TRIES {
            let mut at_home = self.space.store.write(rid.page)?;
            match home(&at_home, rid.slot)? {
                HomeSlot::None => return Ok(()),
                HomeSlot::Here => {
                    let Some((header, body)) = at_home.row(rid.slot)? else { return Ok(()) };
                    if !undo.made(i, &header) {
                        return Ok(());
                    }
                    let row = body.to_vec();
                    let change = RowUndo { undo, i, rid, header, row: &row };
                    return self.undo_forward(change, &mut at_home, None, w);
                }
                HomeSlot::At(target) => {
                    let Some(mut page) = self.space.store.try_write(target.page) else {
                        drop(at_home);
                        self.bring(target.page)?;
                        continue;
                    };
                    let Some((header, body)) = forwarded(&page, target.slot, rid)? else {
                        return Err(corrupt(target.page, "forward stub leads to another row"));
                    };
                    if !undo.made(i, &header) {
                        return Ok(());
                    }
                    let row = body[..body.len() - BACK].to_vec();
                    let change = RowUndo { undo, i, rid, header, row: &row };
                    return self.undo_at(change, &mut at_home, (&mut page, target.slot), w);
                }
            }
        }
        Err(AccessError::Unstable { page: rid.page, what: "row cannot be caught" })
    }

    /// Undoes an operation of a forwarded row, where it is if that works.
    fn undo_at<'s>(
        &'s self,
        change: RowUndo<'_, '_>,
        at_home: &mut PageMut<'s>,
        (page, slot): (&mut PageMut<'s>, u16),
        w: &mut dyn Writer,
    ) -> Result<(), AccessError> {
        let RowUndo { undo, i, rid, .. } = change;
        let back = undo.back(i);
        if let UndoneRow::Restore { len, bytes, .. } = back
            && bytes.len() > len + page.free_bytes()
        {
            return self.undo_forward(change, at_home, Some((page, slot)), w);
        }
        compensate(undo.next_after(i), PageId::NONE, |rec| {
            rec.page(page.id());
            match back {
                UndoneRow::Restore { header, at, len, bytes } => {
                    let header = RowHeader { flags: header.flags | FORWARDED, ..header };
                    rec.restore(slot, &header, at as u16, len as u16, bytes)?;
                    self.space.store.change(w, rec, &mut [page])?;
                }
                UndoneRow::Remove => {
                    rec.remove(slot, 1)?;
                    rec.page(rid.page);
                    rec.remove(rid.slot, 1)?;
                    self.space.store.change(w, rec, &mut [page, at_home])?;
                }
            }
            Ok(())
        })
    }

    /// Moves a row to a page with room and restores its older bytes there, in one record.
    fn undo_forward<'s>(
        &'s self,
        change: RowUndo<'_, '_>,
        at_home: &mut PageMut<'s>,
        from: Option<(&mut PageMut<'s>, u16)>,
        w: &mut dyn Writer,
    ) -> Result<(), AccessError> {
        let RowUndo { undo, i, rid, header, row } = change;
        let UndoneRow::Restore { header: old, at, len, bytes } = undo.back(i) else {
            return Err(corrupt(rid.page, "undo of an insert needs no room"));
        };
        let need = ROW_HEADER + BACK + row.len() + bytes.len().saturating_sub(len);
        let mut spot = self.spot(need, true)?;
        let slot = spot.slot();
        compensate(undo.next_after(i), PageId::NONE, |rec| {
            rec.page(rid.page);
            rec.replace_raw(rid.slot, &stub(Rid { page: spot.id(), slot }))?;
            spot.begin(rec, self)?;
            let moved = RowHeader { flags: header.flags | FORWARDED, ..header };
            rec.insert_raw_parts(slot, &[&moved.to_bytes(), row, &rid.to_bytes()])?;
            let old = RowHeader { flags: old.flags | FORWARDED, ..old };
            rec.restore(slot, &old, at as u16, len as u16, bytes)?;
            match from {
                Some((page, slot)) => {
                    rec.page(page.id());
                    rec.remove(slot, 1)?;
                    spot.change(self, w, rec, &mut [at_home, page])
                }
                None => spot.change(self, w, rec, &mut [at_home]),
            }
        })
    }

    /// Removes the ghosts of a page whose transactions every snapshot sees. A forwarded ghost takes
    /// its stub along. A page that has no rows then is freed.
    pub(crate) fn cleanup(
        &self,
        page: PageMut<'_>,
        oldest: TxnId,
    ) -> Result<PageCleanup, AccessError> {
        let mut page = page;
        if let Some(ghosts) = self.free_page(&mut page, oldest)? {
            return Ok(PageCleanup { removed: ghosts, unlinked: true, ..PageCleanup::default() });
        }
        if page.ghost_count() == 0 {
            // Undo has emptied slots and could not tell the unit.
            self.space.unit()?.note_level(page.page_id(), pfs_level(page.free_bytes()));
            return Ok(PageCleanup::default());
        }
        let mut result = PageCleanup::default();
        let (mut away, mut freed) = (Vec::new(), 0);
        with_record(|rec| {
            rec.system();
            rec.page(page.id());
            for slot in 0..page.slot_count() {
                let Some((header, body)) = page.row(slot)? else { continue };
                if !header.is_ghost() {
                    continue;
                }
                if header.txn >= oldest {
                    result.remaining += 1;
                    result.newest = result.newest.max(header.txn);
                } else if header.is_forwarded() {
                    let back = body.last_chunk::<BACK>();
                    let back =
                        back.ok_or_else(|| corrupt(page.id(), "forwarded row is cut short"))?;
                    away.push((Rid::from_bytes(*back), slot));
                } else {
                    rec.remove(slot, 1)?;
                    result.removed += 1;
                    freed += ROW_HEADER + body.len();
                }
            }
            if result.removed > 0 {
                self.change_level(&mut self.space.store.system(), rec, &mut page, freed)?;
            }
            Ok::<_, AccessError>(())
        })?;
        let id = page.id();
        drop(page);
        for (rid, slot) in away {
            let gone = self.remove_forwarded(rid, Rid { page: id, slot }, oldest)?;
            result.removed += usize::from(gone);
            result.again |= !gone;
            if gone {
                self.free_if_empty(rid.page)?;
                result.unlinked |= self.free_if_empty(id)?;
            }
        }
        Ok(result)
    }

    /// Frees a page that has nothing but ghosts `< oldest` at home on it, or nothing; returns how
    /// many ghosts. One system record, so a crash leaves the ghosts or a free page.
    fn free_page<'s>(
        &'s self,
        page: &mut PageMut<'s>,
        oldest: TxnId,
    ) -> Result<Option<usize>, AccessError> {
        let mut ghosts = 0;
        for slot in 0..page.slot_count() {
            let Some((header, _)) = page.row(slot)? else { continue };
            if !header.is_ghost() || header.is_forwarded() || header.txn >= oldest {
                return Ok(None);
            }
            ghosts += 1;
        }
        let id = page.page_id();
        with_record(|rec| {
            rec.system();
            rec.page(id);
            // As a leaf that left its index: a thread that remembers the page sees that it is no
            // heap page any more.
            rec.format(PageType::Index, 0, page.unit(), PageId::NONE, PageId::NONE, PageId::NONE)?;
            change_and_free(&self.space, &mut self.space.store.system(), rec, &mut [page], &[id])
        })?;
        Ok(Some(ghosts))
    }

    /// Frees a page if it has no rows; whether it had none.
    fn free_if_empty(&self, id: PageId) -> Result<bool, AccessError> {
        match self.latch(id, false)? {
            FoundPage::Page(mut page) => Ok(self.free_page(&mut page, TxnId(0))?.is_some()),
            FoundPage::Busy | FoundPage::Gone => Ok(false),
        }
    }

    /// Removes a forwarded ghost and its stub; false if its page was not to be had, or it changed
    /// meanwhile.
    fn remove_forwarded(&self, rid: Rid, target: Rid, oldest: TxnId) -> Result<bool, AccessError> {
        let mut at_home = self.space.store.write(rid.page)?;
        if home(&at_home, rid.slot)? != HomeSlot::At(target) {
            return Ok(false);
        }
        let Some(mut page) = self.space.store.try_write(target.page) else { return Ok(false) };
        let dead = |h: RowHeader| h.is_ghost() && h.txn < oldest;
        if !forwarded(&page, target.slot, rid)?.is_some_and(|(h, _)| dead(h)) {
            return Ok(false);
        }
        with_record(|rec| {
            rec.system();
            rec.page(target.page);
            rec.remove(target.slot, 1)?;
            rec.page(rid.page);
            rec.remove(rid.slot, 1)?;
            self.space.store.change(
                &mut self.space.store.system(),
                rec,
                &mut [&mut page, &mut at_home],
            )?;
            Ok(true)
        })
    }
}

/// Adds the compensation of operations of rows that are at home on this page, from `end - 1` down
/// to `first`; returns the new end, and the bytes of rows that vanish.
fn undo_here(
    rec: &mut RecordBuilder,
    page: &PageMut<'_>,
    undo: &Undo<'_>,
    end: usize,
    first: usize,
) -> Result<(usize, usize), AccessError> {
    let mut freed = 0;
    let mut free = page.free_bytes();
    let mut at = end;
    while at > first {
        let i = at - 1;
        let rid = undo.rid(i);
        if rid.page != page.id() || rec.room() < SMALL {
            break;
        }
        match home(page, rid.slot)? {
            HomeSlot::At(_) => break,
            HomeSlot::None => {
                at = i;
                continue;
            }
            HomeSlot::Here => {}
        }
        let Some((header, body)) = page.row(rid.slot)? else { break };
        if undo.made(i, &header) {
            match undo.back(i) {
                UndoneRow::Remove => {
                    rec.remove(rid.slot, 1)?;
                    free += ROW_HEADER + body.len();
                    freed += ROW_HEADER + body.len();
                }
                UndoneRow::Restore { header, at, len, bytes } => {
                    if bytes.len() > len + free || rec.room() < bytes.len() + SMALL {
                        break;
                    }
                    rec.restore(rid.slot, &header, at as u16, len as u16, bytes)?;
                    free = free + len - bytes.len();
                }
            }
        }
        at = i;
    }
    Ok((at, freed))
}

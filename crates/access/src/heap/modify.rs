//! Deletes and updates of heap rows: many rows of a page with one record, forwarding of rows that
//! outgrow their page.

use super::insert::FoundPage;
use super::{BACK, Heap, HomeSlot, MAX_ROW_LEN, MAX_TRIES, forwarded, home, stub};
use crate::error::{AccessError, corrupt};
use crate::record::{difference, with_record};
use crate::rid::Rid;
use crate::{Change, Outcome, RowName, Writer, guard};
use pages::{
    BeforeImage, FORWARDED, PageMut, ROW_HEADER, RecordBuilder, RowHeader, RowUpdate, UnitId,
};

/// One change of one row.
#[derive(Debug)]
pub struct HeapChange<'a> {
    pub rid: Rid,
    /// Header of the version that the caller decided on.
    pub header: RowHeader,
    pub change: Change<'a>,
    /// What came of it. `Done`, `Wait`, `Locked`, `Changed` or `Missing`.
    pub outcome: Outcome<()>,
}

/// What the page at hand is to a row.
enum RowStep {
    Settled,
    /// The record is full.
    Flush,
    /// The row is elsewhere, or has to go elsewhere.
    Alone,
}

impl<'a> HeapChange<'a> {
    /// A change that has not been tried.
    pub fn new(rid: Rid, header: RowHeader, change: Change<'a>) -> HeapChange<'a> {
        HeapChange { rid, header, change, outcome: Outcome::Missing }
    }

    fn deleted(&self) -> bool {
        matches!((&self.change, &self.outcome), (Change::Delete, Outcome::Done(())))
    }
}

/// A row in the form in which it is stored: at least [`BACK`] bytes, so that a stub fits in its
/// place. Shorter rows come back with zero bytes after them; row formats know their own length.
pub(super) fn padded(row: &[u8]) -> ([u8; BACK], bool) {
    let mut bytes = [0; BACK];
    let short = row.len() < BACK;
    if short {
        bytes[..row.len()].copy_from_slice(row);
    }
    (bytes, short)
}

pub(super) fn check_len(row: &[u8]) -> Result<(), AccessError> {
    if row.len() > MAX_ROW_LEN {
        return Err(AccessError::RowTooLong { len: row.len(), max: MAX_ROW_LEN });
    }
    Ok(())
}

/// Whether the change before `at` is to be tried again.
fn stopped(changes: &[HeapChange<'_>], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|last| changes[last].outcome.is_to_retry())
}

impl Heap {
    /// Applies the changes with one record for those of one page that stand together in ascending
    /// order. Each row's outcome says what came of it. Stops after the first row that is to be
    /// tried again, so that the caller can wait for it before it holds any later row: rows are
    /// locked in the order in which they are given. Returns how many have an outcome.
    ///
    /// # Errors
    /// `RowTooLong`; no space; I/O and the log's errors. Rows before the failing one may be
    /// changed, and the caller rolls back.
    pub fn apply_batch(
        &self,
        w: &mut dyn Writer,
        changes: &mut [HeapChange<'_>],
    ) -> Result<usize, AccessError> {
        let mut at = 0;
        while at < changes.len() && !stopped(changes, at) {
            let before = at;
            let alone = self.apply_page(w, changes, &mut at)?;
            if changes[before..at].iter().any(HeapChange::deleted) {
                w.ghosted(self.unit_id(), changes[before].rid.page);
            }
            if alone {
                self.apply_alone(w, &mut changes[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// Deletes a row: it becomes a ghost.
    ///
    /// # Errors
    /// As for `apply_batch`.
    pub fn delete(
        &self,
        w: &mut dyn Writer,
        rid: Rid,
        header: &RowHeader,
    ) -> Result<Outcome<()>, AccessError> {
        let mut one = [HeapChange::new(rid, *header, Change::Delete)];
        self.apply_batch(w, &mut one)?;
        let [one] = one;
        Ok(one.outcome)
    }

    /// Gives a row other bytes; its identifier stays.
    ///
    /// # Errors
    /// As for `apply_batch`.
    pub fn update(
        &self,
        w: &mut dyn Writer,
        rid: Rid,
        header: &RowHeader,
        row: &[u8],
    ) -> Result<Outcome<()>, AccessError> {
        let mut one = [HeapChange::new(rid, *header, Change::Update(row))];
        self.apply_batch(w, &mut one)?;
        let [one] = one;
        Ok(one.outcome)
    }

    /// Applies what is on the page of the change at `at` with one record; true if the next one must
    /// go alone.
    fn apply_page(
        &self,
        w: &mut dyn Writer,
        changes: &mut [HeapChange<'_>],
        at: &mut usize,
    ) -> Result<bool, AccessError> {
        let id = changes[*at].rid.page;
        let FoundPage::Page(mut page) = self.latch(id, false)? else {
            changes[*at].outcome = Outcome::Missing;
            *at += 1;
            return Ok(false);
        };
        with_record(|rec| {
            rec.change().keep_to(w.room());
            rec.page(id);
            let mut free = page.free_bytes();
            let mut alone = false;
            while let Some(change) = changes.get_mut(*at).filter(|c| c.rid.page == id) {
                match apply_row(w, self.unit_id(), rec, &page, change, &mut free)? {
                    RowStep::Settled => *at += 1,
                    RowStep::Flush => break,
                    RowStep::Alone => {
                        alone = true;
                        break;
                    }
                }
                let done = changes[*at - 1].rid;
                let follows = changes.get(*at).is_none_or(|next| next.rid > done);
                if !follows || stopped(changes, *at) {
                    break; // not ascending: perhaps a row's second change, which sees what the first made of it
                }
            }
            if rec.row_ops() > 0 {
                self.space.store.change(w, rec, &mut [&mut page])?;
            }
            Ok(alone)
        })
    }

    /// Changes one row that is, or will be, forwarded.
    fn apply_alone(
        &self,
        w: &mut dyn Writer,
        change: &mut HeapChange<'_>,
    ) -> Result<(), AccessError> {
        for _ in 0..MAX_TRIES {
            if let Some(outcome) = self.try_alone(w, change)? {
                change.outcome = outcome;
                return Ok(());
            }
            std::thread::yield_now();
        }
        Err(AccessError::Unstable { page: change.rid.page, what: "row cannot be caught" })
    }

    /// One try under the latches of both pages; `None`: they were not to be had.
    fn try_alone(
        &self,
        w: &mut dyn Writer,
        change: &HeapChange<'_>,
    ) -> Result<Option<Outcome<()>>, AccessError> {
        let rid = change.rid;
        let FoundPage::Page(mut at_home) = self.latch(rid.page, false)? else {
            return Ok(Some(Outcome::Missing));
        };
        match home(&at_home, rid.slot)? {
            HomeSlot::None => Ok(Some(Outcome::Missing)),
            HomeSlot::Here => {
                let Some((header, body)) = at_home.row(rid.slot)? else {
                    return Ok(Some(Outcome::Missing));
                };
                if let Some(outcome) =
                    guard(w, self.unit_id(), RowName::Rid(rid), &header, &change.header)
                {
                    return Ok(Some(outcome));
                }
                let Change::Update(row) = change.change else { return Ok(None) };
                let old = body.to_vec();
                let old = MovingRow { rid, header, row: &old };
                self.forward(w, &mut at_home, None, &old, row).map(Some)
            }
            HomeSlot::At(target) => {
                let Some(mut page) = self.space.store.try_write(target.page) else {
                    drop(at_home);
                    self.bring(target.page)?;
                    return Ok(None);
                };
                let Some((header, body)) = forwarded(&page, target.slot, rid)? else {
                    return Ok(None);
                };
                if let Some(outcome) =
                    guard(w, self.unit_id(), RowName::Rid(rid), &header, &change.header)
                {
                    return Ok(Some(outcome));
                }
                let old = body[..body.len() - BACK].to_vec();
                let old = MovingRow { rid, header, row: &old };
                match change.change {
                    Change::Delete => {
                        drop(at_home);
                        change_in_place(self, w, &mut page, target.slot, &old, None)?;
                        let id = page.id();
                        drop(page);
                        w.ghosted(self.unit_id(), id);
                        Ok(Some(Outcome::Done(())))
                    }
                    Change::Update(row) => {
                        check_len(row)?;
                        if row.len().max(BACK) <= old.row.len() + page.free_bytes() {
                            drop(at_home);
                            change_in_place(self, w, &mut page, target.slot, &old, Some(row))?;
                            return Ok(Some(Outcome::Done(())));
                        }
                        self.forward(w, &mut at_home, Some((&mut page, target.slot)), &old, row)
                            .map(Some)
                    }
                }
            }
        }
    }

    /// Moves a row to a page with room and gives it its new bytes, in one record. `from`: where it
    /// was forwarded to before, if it was.
    fn forward<'s>(
        &'s self,
        w: &mut dyn Writer,
        at_home: &mut PageMut<'s>,
        from: Option<(&mut PageMut<'s>, u16)>,
        old: &MovingRow<'_>,
        row: &[u8],
    ) -> Result<Outcome<()>, AccessError> {
        check_len(row)?;
        let (short, is_short) = padded(row);
        let row = if is_short { &short[..] } else { row };
        let need = ROW_HEADER + BACK + row.len().max(old.row.len());
        let mut spot = self.spot(need, true)?;
        let slot = spot.slot();
        let target = Rid { page: spot.id(), slot };
        with_record(|rec| {
            rec.change();
            rec.page(at_home.id());
            rec.replace_raw(old.rid.slot, &stub(target))?;
            spot.begin(rec, self)?;
            let header = RowHeader { flags: old.header.flags | FORWARDED, ..old.header };
            rec.insert_raw_parts(slot, &[&header.to_bytes(), old.row, &old.rid.to_bytes()])?;
            let (at, o, n) = difference(old.row, row);
            rec.update(&RowUpdate {
                slot,
                flags: header.flags,
                old: &header,
                key: Some(&old.rid.to_bytes()),
                at: at as u16,
                before: BeforeImage::whole(&old.row[at..at + o]),
                new_bytes: &row[at..at + n],
            })?;
            match from {
                Some((page, slot)) => {
                    rec.page(page.id());
                    rec.remove(slot, 1)?;
                    spot.change(self, w, rec, &mut [at_home, page])?;
                }
                None => spot.change(self, w, rec, &mut [at_home])?,
            }
            Ok(Outcome::Done(()))
        })
    }
}

/// A row on its way to another page, or that was on it before.
struct MovingRow<'a> {
    rid: Rid,
    header: RowHeader,
    row: &'a [u8],
}

/// Changes a forwarded row where it is.
fn change_in_place(
    heap: &Heap,
    w: &mut dyn Writer,
    page: &mut PageMut<'_>,
    slot: u16,
    old: &MovingRow<'_>,
    row: Option<&[u8]>,
) -> Result<(), AccessError> {
    with_record(|rec| {
        rec.change();
        rec.page(page.id());
        let key = old.rid.to_bytes();
        match row {
            None => rec.ghost(slot, &old.header, Some(&key))?,
            Some(row) => {
                let (short, is_short) = padded(row);
                let row = if is_short { &short[..] } else { row };
                let (at, o, n) = difference(old.row, row);
                let before = BeforeImage::without(&old.row[at..at + o], at, w.wrote(&old.header));
                let after = &row[at..at + n];
                rec.update(&RowUpdate {
                    slot,
                    flags: old.header.flags,
                    old: &old.header,
                    key: Some(&key),
                    at: at as u16,
                    before,
                    new_bytes: after,
                })?;
            }
        }
        heap.space.store.change(w, rec, &mut [page])?;
        Ok(())
    })
}

fn apply_row(
    w: &mut dyn Writer,
    unit: UnitId,
    rec: &mut RecordBuilder,
    page: &PageMut<'_>,
    change: &mut HeapChange<'_>,
    free: &mut usize,
) -> Result<RowStep, AccessError> {
    let slot = change.rid.slot;
    match home(page, slot)? {
        HomeSlot::None => {
            change.outcome = Outcome::Missing;
            return Ok(RowStep::Settled);
        }
        HomeSlot::At(_) => return Ok(RowStep::Alone),
        HomeSlot::Here => {}
    }
    let (header, body) = page.row(slot)?.ok_or_else(|| corrupt(page.id(), "row vanished"))?;
    if let Some(outcome) = guard(w, unit, RowName::Rid(change.rid), &header, &change.header) {
        change.outcome = outcome;
        return Ok(RowStep::Settled);
    }
    match change.change {
        Change::Delete => {
            if !rec.should_take(0) {
                return Ok(RowStep::Flush);
            }
            rec.ghost(slot, &header, None)?;
        }
        Change::Update(row) => {
            check_len(row)?;
            let (short, is_short) = padded(row);
            let row = if is_short { &short[..] } else { row };
            let (at, old, new) = difference(body, row);
            if new > old && new - old > *free {
                return Ok(RowStep::Alone);
            }
            let before = BeforeImage::without(&body[at..at + old], at, w.wrote(&header));
            if !rec.should_take(before.carried() + new) {
                return Ok(RowStep::Flush);
            }
            rec.update(&RowUpdate {
                slot,
                flags: header.flags,
                old: &header,
                key: None,
                at: at as u16,
                before,
                new_bytes: &row[at..at + new],
            })?;
            *free = *free + old - new;
        }
    }
    change.outcome = Outcome::Done(());
    Ok(RowStep::Settled)
}

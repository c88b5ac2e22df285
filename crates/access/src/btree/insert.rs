//! New entries: one at a time with the unique check, and sorted runs with one record per leaf.
//!
//! An entry is looked for and put in under the exclusive latch of its leaf alone; only when the
//! leaf is full the way down is taken again with exclusive latches (`split`), and then the insert
//! starts over.

use super::node::{LEAF_HEAD, MAX_ENTRY_LEN, MAX_KEY_LEN, leaf_entry, leaf_key};
use super::search::lower_bound;
use super::{BTree, descend::DescentRoute};
use crate::error::{AccessError, corrupt};
use crate::record::with_record;
use crate::{Outcome, RowName, Writer};
use pages::{Page, RecordBuilder, SLOT_SIZE};

/// Free bytes per cent of a page that `insert_batch` leaves on the pages it fills at the end of an
/// index.
const FULL: usize = 100;

/// What is known of the place of a new entry.
enum EntryPlace {
    /// It goes into this slot.
    New(u16),
    /// A dead ghost with the same key is in this slot and takes the new row.
    Reuse(u16),
    Wait(pages::TxnId),
    Duplicate,
}

impl BTree {
    /// Inserts an entry. `Duplicate`: a live entry of a committed transaction (or one's own) has
    /// the key. `Wait`: a running transaction has inserted or deleted the key; wait for it and try
    /// again. `Locked`: another transaction has locked the place.
    ///
    /// # Errors
    /// `KeyTooLong`, `RowTooLong`; no space; the log's errors.
    pub fn insert(
        &self,
        w: &mut dyn Writer,
        key: &[u8],
        value: &[u8],
    ) -> Result<Outcome<()>, AccessError> {
        check_lengths(key, value)?;
        let size = LEAF_HEAD + key.len() + value.len();
        loop {
            let mut leaf = self.leaf_to_insert(key)?;
            let place = find_place(&leaf, key, w)?;
            if w.has_lockers(self.unit_id()) && self.is_locked(w, &leaf, &place, key)? {
                return Ok(Outcome::Locked);
            }
            let need = match place {
                EntryPlace::Wait(txn) => return Ok(Outcome::Wait(txn)),
                EntryPlace::Duplicate => return Ok(Outcome::Duplicate),
                EntryPlace::New(_) => size + SLOT_SIZE,
                EntryPlace::Reuse(slot) => size.saturating_sub(leaf.slot(slot)?.len()),
            };
            if need > leaf.free_bytes() {
                drop(leaf);
                self.make_room(key, need)?;
                continue;
            }
            return with_record(|rec| {
                match place {
                    EntryPlace::New(slot) => {
                        rec.insert_in((self.root, leaf.page_id()), slot, key, value)?
                    }
                    _ => {
                        rec.change_in(self.root, leaf.page_id());
                        add_entry(rec, &leaf, &place, 0, key, value)?;
                    }
                }
                self.space.store.change(w, rec, &mut [&mut leaf])?;
                Ok(Outcome::Done(()))
            });
        }
    }

    /// Inserts entries in ascending key order, with one log record per leaf. Returns how many are
    /// in, and why the next one is not: `Done` when all are, else as for `insert`. `fill` (1 to
    /// 100) is how full the pages become that are added at the end of the index, in per cent.
    ///
    /// # Errors
    /// As for `insert`; entries before the failing one may be in, and the caller rolls back.
    pub fn insert_batch(
        &self,
        w: &mut dyn Writer,
        rows: &[(&[u8], &[u8])],
        fill: u8,
    ) -> Result<(usize, Outcome<()>), AccessError> {
        let spare = pages::PAGE_SIZE * (FULL - usize::from(fill.clamp(1, 100))) / FULL;
        let mut route = DescentRoute::default();
        let mut done = 0;
        while done < rows.len() {
            let key = rows[done].0;
            let mut leaf = self.descend_write(key, Some(&mut route))?;
            let before = done;
            let stop = with_record(|rec| {
                let (n, stop) = self.collect_run(w, rec, &leaf, &rows[done..], &route, spare)?;
                if n > 0 {
                    self.space.store.change(w, rec, &mut [&mut leaf])?;
                    done += n;
                }
                Ok::<_, AccessError>(stop)
            })?;
            drop(leaf);
            match stop {
                InsertStop::Room(need) if done == before => self.make_room(key, need)?,
                InsertStop::Outcome(outcome) if done == before => return Ok((done, outcome)),
                _ => {}
            }
        }
        Ok((done, Outcome::Done(())))
    }

    /// Puts as many of the rows into the record as belong to this leaf and fit. The rows are
    /// ascending, so each earlier one of the run moves the slots of the later ones by one.
    fn collect_run(
        &self,
        w: &mut dyn Writer,
        rec: &mut RecordBuilder,
        leaf: &Page,
        rows: &[(&[u8], &[u8])],
        route: &DescentRoute,
        spare: usize,
    ) -> Result<(usize, InsertStop), AccessError> {
        rec.change().keep_to(w.room());
        rec.root(self.root)?;
        rec.page(leaf.id());
        let spare = if leaf.next().is_none() && leaf.slot_count() == 0 || at_end(leaf, rows[0].0)? {
            spare
        } else {
            0
        };
        let lockers = w.has_lockers(self.unit_id());
        let (mut free, mut new, mut used) = (leaf.free_bytes(), 0, leaf.slot_count());
        for (i, &(key, value)) in rows.iter().enumerate() {
            check_lengths(key, value)?;
            let outside = route.high.get().is_some_and(|high| key >= high);
            if i > 0 && (outside || key <= rows[i - 1].0) {
                return Ok((i, InsertStop::NextLeaf));
            }
            let size = LEAF_HEAD + key.len() + value.len();
            let place = find_place(leaf, key, w)?;
            if lockers && self.is_locked(w, leaf, &place, key)? {
                return Ok((i, InsertStop::Outcome(Outcome::Locked)));
            }
            let need = match place {
                EntryPlace::Wait(txn) => return Ok((i, InsertStop::Outcome(Outcome::Wait(txn)))),
                EntryPlace::Duplicate => return Ok((i, InsertStop::Outcome(Outcome::Duplicate))),
                EntryPlace::New(_) => size + SLOT_SIZE,
                EntryPlace::Reuse(slot) => size.saturating_sub(leaf.slot(slot)?.len()),
            };
            let keep = if used == 0 { 0 } else { spare };
            if need + keep > free {
                return Ok((i, InsertStop::Room(need + keep)));
            }
            let most = key.len() + 2 * (value.len() + pages::MAX_SLOT_LEN.min(size));
            if !rec.can_take(most) || !rec.should_take(size) {
                return Ok((i, InsertStop::NextLeaf));
            }
            add_entry(rec, leaf, &place, new, key, value)?;
            new += u16::from(matches!(place, EntryPlace::New(_)));
            used += 1;
            free -= need;
        }
        Ok((rows.len(), InsertStop::NextLeaf))
    }
}

impl BTree {
    /// Whether another transaction's lock keeps a new entry out of its place.
    fn is_locked(
        &self,
        w: &mut dyn Writer,
        leaf: &Page,
        place: &EntryPlace,
        key: &[u8],
    ) -> Result<bool, AccessError> {
        match *place {
            EntryPlace::New(slot) => {
                let next = self.next_key(leaf, slot)?;
                let next = next.as_deref().map_or(RowName::End, RowName::Key);
                Ok(w.gap_locked(self.unit_id(), key, next))
            }
            EntryPlace::Reuse(slot) if leaf_entry(leaf, slot)?.header.txn != w.txn() => {
                Ok(w.row_locked(self.unit_id(), RowName::Key(key)))
            }
            _ => Ok(false),
        }
    }

    /// The key at a slot of a latched leaf, or the first one after it; `None` at the end of the
    /// index.
    fn next_key(&self, leaf: &Page, slot: u16) -> Result<Option<Vec<u8>>, AccessError> {
        let key_at = |page: &Page, slot: u16| {
            let key = leaf_key(page.slot(slot)?);
            key.map(<[u8]>::to_vec).ok_or_else(|| corrupt(page.id(), "index entry is cut short"))
        };
        if slot < leaf.slot_count() {
            return key_at(leaf, slot).map(Some);
        }
        if leaf.next().is_none() {
            return Ok(None);
        }
        let mut page = self.space.store.read(leaf.next())?;
        loop {
            if page.slot_count() > 0 {
                return key_at(&page, 0).map(Some);
            }
            if page.next().is_none() {
                return Ok(None);
            }
            // An empty leaf names its neighbour only as long as it is latched itself.
            page = self.space.store.read(page.next())?;
        }
    }
}

/// Why a run of inserts into one leaf ended.
enum InsertStop {
    NextLeaf,
    /// The next row needs this many free bytes.
    Room(usize),
    Outcome(Outcome<()>),
}

/// Whether a key is above all of the index, whose leaf for it this is.
#[inline]
pub(super) fn at_end(leaf: &Page, key: &[u8]) -> Result<bool, AccessError> {
    let Some(last) = leaf.slot_count().checked_sub(1) else { return Ok(leaf.next().is_none()) };
    let last =
        leaf_key(leaf.slot(last)?).ok_or_else(|| corrupt(leaf.id(), "index entry is cut short"))?;
    Ok(leaf.next().is_none() && last < key)
}

pub(super) fn check_lengths(key: &[u8], value: &[u8]) -> Result<(), AccessError> {
    if key.len() > MAX_KEY_LEN {
        return Err(AccessError::KeyTooLong { len: key.len(), max: MAX_KEY_LEN });
    }
    let len = key.len() + value.len();
    if len > MAX_ENTRY_LEN {
        return Err(AccessError::RowTooLong { len, max: MAX_ENTRY_LEN });
    }
    Ok(())
}

fn find_place(leaf: &Page, key: &[u8], w: &dyn Writer) -> Result<EntryPlace, AccessError> {
    if at_end(leaf, key)? {
        return Ok(EntryPlace::New(leaf.slot_count()));
    }
    let (slot, found) = lower_bound(leaf, key)?;
    if !found {
        return Ok(EntryPlace::New(slot));
    }
    let header = leaf_entry(leaf, slot)?.header;
    Ok(if w.active_elsewhere(header.txn) {
        EntryPlace::Wait(header.txn)
    } else if header.is_ghost() {
        EntryPlace::Reuse(slot)
    } else {
        EntryPlace::Duplicate
    })
}

/// Adds the operation; `shift` new entries of the same record come before it on the leaf.
fn add_entry(
    rec: &mut RecordBuilder,
    leaf: &Page,
    place: &EntryPlace,
    shift: u16,
    key: &[u8],
    value: &[u8],
) -> Result<(), AccessError> {
    match *place {
        EntryPlace::New(slot) => rec.insert(slot + shift, 0, Some(key), value)?,
        EntryPlace::Reuse(slot) => {
            let e = leaf_entry(leaf, slot)?;
            rec.replace(slot + shift, 0, &e.header, Some(key), e.value, value)?;
        }
        EntryPlace::Wait(_) | EntryPlace::Duplicate => {
            debug_assert!(false, "not a place for an entry")
        }
    }
    Ok(())
}

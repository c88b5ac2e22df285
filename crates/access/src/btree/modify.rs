//! Changes of existing entries: many rows of a leaf with one record, each guarded by the header its
//! caller saw.

use super::BTree;
use super::insert::check_lengths;
use super::node::{LeafEntry, leaf_entry, leaf_key};
use super::search::lower_bound;
use crate::error::{AccessError, corrupt};
use crate::record::{difference, with_record};
use crate::{Change, Outcome, RowName, Writer, guard};
use pages::{BeforeImage, Page, PageMut, RecordBuilder, RowHeader, RowUpdate, UnitId};

/// One change of one entry.
#[derive(Debug)]
pub struct EntryChange<'a> {
    pub key: &'a [u8],
    /// Slot where the entry was seen: saves the search when it is still there.
    pub slot: u16,
    /// Header of the version that the caller decided on.
    pub header: RowHeader,
    pub change: Change<'a>,
    /// What came of it. `Done`, `Wait`, `Locked`, `Changed` or `Missing`.
    pub outcome: Outcome<()>,
}

/// What the leaf at hand is to a row.
enum LeafStep {
    /// Settled: outcome set, operation in the record if there is one.
    Settled,
    /// The record is full, or the row belongs to another leaf.
    Flush,
    /// The row needs this many free bytes more than the leaf has.
    Room(usize),
}

/// Whether the change before `at` is to be tried again.
fn stopped(changes: &[EntryChange<'_>], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|last| changes[last].outcome.is_to_retry())
}

impl BTree {
    /// Applies the changes, which are in ascending key order, with one record per leaf. Each row's
    /// outcome says what came of it. Stops after the first row that is to be tried again, so that
    /// the caller can wait for it before it holds any later row: rows are locked in the order in
    /// which they are given. Returns how many have an outcome.
    ///
    /// # Errors
    /// `RowTooLong`; I/O and the log's errors. Rows before the failing one may be changed, and the
    /// caller rolls back.
    pub fn apply_batch(
        &self,
        w: &mut dyn Writer,
        changes: &mut [EntryChange<'_>],
    ) -> Result<usize, AccessError> {
        let mut at = 0;
        while at < changes.len() && !stopped(changes, at) {
            let mut leaf = self.descend_write(changes[at].key, None)?;
            let before = at;
            let room = with_record(|rec| self.apply_leaf(w, rec, &mut leaf, changes, &mut at))?;
            let (page, deleted) = (leaf.id(), changes[before..at].iter().any(EntryChange::deleted));
            drop(leaf);
            if deleted {
                w.ghosted(self.unit_id(), page);
            }
            if let Some(need) = room {
                self.make_room(changes[at].key, need)?;
            }
        }
        Ok(at)
    }

    /// Deletes an entry: it becomes a ghost.
    ///
    /// # Errors
    /// As for `apply_batch`.
    pub fn delete(
        &self,
        w: &mut dyn Writer,
        key: &[u8],
        header: &RowHeader,
    ) -> Result<Outcome<()>, AccessError> {
        let mut one = [EntryChange::new(key, 0, *header, Change::Delete)];
        self.apply_batch(w, &mut one)?;
        let [one] = one;
        Ok(one.outcome)
    }

    /// Gives an entry another value.
    ///
    /// # Errors
    /// As for `apply_batch`.
    pub fn update(
        &self,
        w: &mut dyn Writer,
        key: &[u8],
        header: &RowHeader,
        value: &[u8],
    ) -> Result<Outcome<()>, AccessError> {
        let mut one = [EntryChange::new(key, 0, *header, Change::Update(value))];
        self.apply_batch(w, &mut one)?;
        let [one] = one;
        Ok(one.outcome)
    }

    /// Applies what belongs to this leaf, from `at` on. Returns the bytes that the row at `at`
    /// lacks, if that is why it stopped.
    fn apply_leaf(
        &self,
        w: &mut dyn Writer,
        rec: &mut RecordBuilder,
        leaf: &mut PageMut<'_>,
        changes: &mut [EntryChange<'_>],
        at: &mut usize,
    ) -> Result<Option<usize>, AccessError> {
        rec.change().keep_to(w.room());
        rec.root(self.root)?;
        rec.page(leaf.id());
        let first = *at;
        let mut free = leaf.free_bytes();
        let mut room = None;
        while let Some(change) = changes.get_mut(*at) {
            // A row twice in one batch: the second sees what the first made of it, so it goes into
            // the next record.
            match apply_entry(w, self.unit_id(), rec, leaf, change, *at == first, &mut free)? {
                LeafStep::Settled => *at += 1,
                LeafStep::Flush => break,
                LeafStep::Room(need) => {
                    room = (*at == first).then_some(need);
                    break;
                }
            }
            let follows = changes.get(*at).is_none_or(|next| next.key > changes[*at - 1].key);
            if !follows || stopped(changes, *at) {
                break;
            }
        }
        if rec.row_ops() > 0 {
            self.space.store.change(w, rec, &mut [leaf])?;
        }
        Ok(room)
    }
}

impl<'a> EntryChange<'a> {
    /// A change that has not been tried.
    pub fn new(key: &'a [u8], slot: u16, header: RowHeader, change: Change<'a>) -> EntryChange<'a> {
        EntryChange { key, slot, header, change, outcome: Outcome::Missing }
    }

    fn deleted(&self) -> bool {
        matches!((&self.change, &self.outcome), (Change::Delete, Outcome::Done(())))
    }
}

fn find(leaf: &Page, key: &[u8], hint: u16) -> Result<Option<u16>, AccessError> {
    if hint < leaf.slot_count() && leaf_key(leaf.slot(hint)?) == Some(key) {
        return Ok(Some(hint));
    }
    let (slot, found) = lower_bound(leaf, key)?;
    Ok(found.then_some(slot))
}

/// Whether the key may be on a leaf further right than this one.
fn beyond(leaf: &Page, key: &[u8]) -> Result<bool, AccessError> {
    let Some(last) = leaf.slot_count().checked_sub(1) else { return Ok(true) };
    let last =
        leaf_key(leaf.slot(last)?).ok_or_else(|| corrupt(leaf.id(), "index entry is cut short"))?;
    Ok(key > last)
}

fn apply_entry(
    w: &mut dyn Writer,
    unit: UnitId,
    rec: &mut RecordBuilder,
    leaf: &Page,
    change: &mut EntryChange<'_>,
    first: bool,
    free: &mut usize,
) -> Result<LeafStep, AccessError> {
    let Some(slot) = find(leaf, change.key, change.slot)? else {
        if !first && beyond(leaf, change.key)? {
            return Ok(LeafStep::Flush);
        }
        change.outcome = Outcome::Missing;
        return Ok(LeafStep::Settled);
    };
    let entry = leaf_entry(leaf, slot)?;
    if let Some(outcome) = guard(w, unit, RowName::Key(change.key), &entry.header, &change.header) {
        change.outcome = outcome;
        return Ok(LeafStep::Settled);
    }
    let step = match change.change {
        Change::Delete if rec.should_take(change.key.len()) => {
            rec.ghost(slot, &entry.header, Some(change.key))?;
            LeafStep::Settled
        }
        Change::Delete => LeafStep::Flush,
        Change::Update(value) => update_entry(w, rec, slot, &entry, value, free)?,
    };
    if matches!(step, LeafStep::Settled) {
        change.outcome = Outcome::Done(());
    }
    Ok(step)
}

fn update_entry(
    w: &dyn Writer,
    rec: &mut RecordBuilder,
    slot: u16,
    entry: &LeafEntry<'_>,
    value: &[u8],
    free: &mut usize,
) -> Result<LeafStep, AccessError> {
    check_lengths(entry.key, value)?;
    let (at, old, new) = difference(entry.value, value);
    if new > old && new - old > *free {
        return Ok(LeafStep::Room(new - old));
    }
    let offset = pages::value_offset(entry.key) + at;
    let before = BeforeImage::without(&entry.value[at..at + old], offset, w.wrote(&entry.header));
    if !rec.should_take(entry.key.len() + before.carried() + new) {
        return Ok(LeafStep::Flush);
    }
    rec.update(&RowUpdate {
        slot,
        flags: entry.header.flags,
        old: &entry.header,
        key: Some(entry.key),
        at: offset as u16,
        before,
        new_bytes: &value[at..at + new],
    })?;
    *free = *free + old - new;
    Ok(LeafStep::Settled)
}

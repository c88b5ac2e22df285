//! Entries of an index that a scan under locks reads.
//!
//! - One that holds all that is wanted is locked and read in place of its row, as the only thing
//!   that the scan has read. Whoever changes one of its values, its key or its locator, or deletes
//!   the row, takes the entry out and has to ask for its lock; whoever changes other columns of the
//!   row changes nothing that was read, and is not waited for. An entry tells by itself whether it
//!   is there: it is a ghost of a transaction of its own, which is asked like the writer of a row.
//! - Only under S locks: U and X are there to keep others from the row, whatever index they come
//!   by, so they are taken on the row too, and who is changing it is waited for.
//! - Else the entry and the row behind it are both locked and asked; so it is with an entry that
//!   lacks a value which did not fit.

use super::rows::Given;
use super::{LockedScan, Name, Rows};
use crate::operators::RowSet;
use crate::operators::decode::{base_row, entry_into, entry_passes, index_locator};
use crate::operators::rt::Rt;
use crate::operators::scan::locator_of;
use access::{BTree, IndexEntry, ReadMode, RowBatch};
use plan::nodes::{Path, ScanPlan};
use storage::left::is_own;
use storage::write::Locator;
use storage::{Base, IndexStore, access_error};
use types::SqlError;
use types::row::has_overflow;

/// Adds what an entry of a covering index holds to `out`, unless the condition rejects it: whether
/// it did. Nothing where the entry lacks a value: the row has it.
fn held_by(
    plan: &ScanPlan,
    index: &IndexStore,
    entry: IndexEntry<'_>,
    rt: &mut Rt<'_, '_>,
    out: &mut RowSet,
) -> Result<Option<bool>, SqlError> {
    let filled = entry_into(plan, index, entry, rt, out.push_row());
    let filled = out.or_pop(filled)?;
    if filled != Some(true) {
        out.pop_row();
    }
    Ok(filled)
}

impl LockedScan {
    /// Gives entry `i` of a covering index as it was read, if that can be.
    pub(super) fn covered(
        &mut self,
        plan: &ScanPlan,
        i: usize,
        index: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<Given, SqlError> {
        let index = &plan.store.indexes[index];
        match held_by(plan, index, self.batch.entry(i), rt, out)? {
            Some(true) if !self.sure => self.keep_as_read(plan, &Rows::Tree(&index.tree), i, rt, out),
            Some(_) => Ok(Given::Done),
            None => Ok(Given::Alone),
        }
    }

    /// Gives the row behind an entry of an index that was read, if that can be.
    pub(super) fn entry(
        &mut self,
        plan: &ScanPlan,
        i: usize,
        index: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<Given, SqlError> {
        if self.sure {
            let (batch, mut lookup) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.lookup));
            let given = self.behind(plan, rt, (index, batch.entry(i)), &mut lookup, out);
            (self.batch, self.lookup) = (batch, lookup);
            return given.map(|_| Given::Done);
        }
        if !self.is_momentary() {
            return Ok(Given::Alone);
        }
        let (store, fail) = (&plan.store, |e| access_error(&plan.db, e));
        if !entry_passes(plan, &store.indexes[index], self.batch.entry(i), rt, &mut self.tested)? {
            return Ok(Given::Done);
        }
        let locator = index_locator(&store.indexes[index], self.batch.entry(i), plan)?;
        let found = storage::fetch(&plan.db, store, &locator, ReadMode::Current, &mut self.lookup)?;
        let txn = rt.session().txn(&plan.db)?;
        let settled = found && self.ended.is_settled(txn, self.lookup.header(0).txn);
        // The row may have got another entry since this one was read.
        if !settled || !store.indexes[index].tree.is_as_read(&self.batch).map_err(fail)? {
            return Ok(Given::Again);
        }
        if self.lookup.is_ghost(0) {
            return Ok(Given::Done);
        }
        if has_overflow(self.lookup.row(0)) {
            return Ok(Given::Alone);
        }
        let (unit, name) = match (&store.base, Locator::of(&locator)?) {
            (Base::Heap(heap), Locator::Rid(rid)) => (heap.unit_id(), Name::Rid(rid)),
            (Base::Tree(tree), Locator::Key(key)) => (tree.unit_id(), Name::Key(key)),
            _ => return Err(SqlError::internal("a locator of another table")),
        };
        let before = out.len();
        base_row(plan, self.lookup.row(0), locator_of(plan, || locator.clone()), rt, out)?;
        if out.len() == before {
            return Ok(Given::Done);
        }
        let txn = rt.session().txn(&plan.db);
        let txn = out.or_pop(txn)?;
        if is_own(txn, &self.lookup, 0) || txn.row_is_free(unit, name.as_ref(), self.locks.mode) {
            return Ok(Given::Done);
        }
        out.pop_row();
        Ok(Given::Again)
    }

    /// An index entry by itself: it is locked, then the row behind it, where that is wanted.
    pub(super) fn indexed(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        (index, tree, name): (usize, &BTree, &Name),
        (entry, lookup): (&mut RowBatch, &mut RowBatch),
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        let Some(grant) = self.locked_row(plan, rt, &Rows::Tree(tree), name, entry)? else { return Ok(()) };
        let given = self.behind(plan, rt, (index, entry.entry(0)), lookup, out);
        self.leave(plan, rt, (tree.unit_id(), name, grant), matches!(given, Ok(true)))?;
        given.map(drop)
    }

    /// What an entry that is locked holds, or the base row behind it; whether it was given out.
    fn behind(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        (index, entry): (usize, IndexEntry<'_>),
        lookup: &mut RowBatch,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let index = &plan.store.indexes[index];
        if matches!(plan.path, Path::Index { covering: true, .. })
            && let Some(given) = held_by(plan, index, entry, rt, out)?
        {
            return Ok(given);
        }
        if !entry_passes(plan, index, entry, rt, &mut self.tested)? {
            return Ok(false);
        }
        let locator = index_locator(index, entry, plan)?;
        match (&plan.store.base, Locator::of(&locator)?) {
            (Base::Heap(heap), Locator::Rid(rid)) => {
                self.base(plan, rt, &Rows::Heap(heap), &Name::Rid(rid), lookup, out)
            }
            (Base::Tree(base), Locator::Key(key)) => {
                self.base(plan, rt, &Rows::Tree(base), &Name::Key(key), lookup, out)
            }
            _ => Err(SqlError::internal("a locator of another table")),
        }
    }
}

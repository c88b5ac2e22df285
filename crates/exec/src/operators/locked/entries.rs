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
//!
//! The row is locked before its entry, and nobody waits for a row with a lock of its entry that he
//! has taken for it: a change, too, locks the row first and its entries then. Which row it is, the
//! entry tells as it was read without a lock. A condition that fails on it then fails on what
//! perhaps nobody has committed: that is no error yet, it is tested again under the locks. A
//! reader that has locked the entry alone, because all columns are in it, may go on to the row: a
//! transaction that wants an X lock on the row waits for that reader first, as a change does
//! (`storage::write`).

use super::rows::RowOutcome;
use super::{LockedRows, LockedScan, Name};
use crate::operators::RowSet;
use crate::operators::condition::RowTest;
use crate::operators::decode::{base_row, entry_into, entry_passes, index_locator, index_place};
use crate::operators::pending::FEW;
use crate::operators::rt::Rt;
use crate::operators::scan::{locator_of, may_be_long};
use access::{IndexEntry, RowBatch, RowName};
use catalog::errors::db_error;
use expr::Pred;
use pages::UnitId;
use plan::nodes::{Path, ScanPlan};
use storage::left::is_own;
use storage::write::Locator;
use storage::{Base, IndexStore, RowPlace, access_error, corrupt_row};
use txn::{Grant, LockMode};
use types::row::has_overflow;
use types::{Corrupt, SqlError, Value};

/// A row that was looked for before its entry was locked.
struct RowLockedAhead<'p> {
    rows: LockedRows<'p>,
    name: Name,
    /// How it was locked; nothing where it is not there.
    grant: Option<Grant>,
}

/// What came of an entry that is locked.
enum EntryOutcome {
    /// Whether it, or its row, was given out.
    Given(bool),
    /// This row is to be locked before it.
    First(Value),
}

/// The row that a locator names.
fn row_at<'p>(plan: &'p ScanPlan, locator: &Value) -> Result<(LockedRows<'p>, Name), SqlError> {
    match (&plan.store.base, Locator::of(locator)?) {
        (Base::Heap(heap), Locator::Rid(rid)) => Ok((LockedRows::Heap(heap), Name::Rid(rid))),
        (Base::Tree(tree), Locator::Key(key)) => Ok((LockedRows::Tree(tree), Name::Key(key))),
        _ => Err(SqlError::internal("a locator of another table")),
    }
}

/// Whether the row behind an entry is wanted, as far as the entry tells; it is not where the entry
/// tells all that is wanted. `room` is for its values.
pub(super) fn is_row_wanted(
    plan: &ScanPlan,
    index: &IndexStore,
    entry: IndexEntry<'_>,
    rt: &mut Rt<'_, '_>,
    room: &mut Vec<Value>,
) -> Result<bool, SqlError> {
    match &plan.path {
        Path::Index { covering: true, .. } => lacks_value(plan, index, entry, room),
        // An error counts where the entry is locked.
        _ => Ok(entry_passes(plan, index, entry, rt, room).unwrap_or(true)),
    }
}

/// Whether an entry of a covering index leaves a wanted value to the base row.
fn lacks_value(
    plan: &ScanPlan,
    index: &IndexStore,
    entry: IndexEntry<'_>,
    room: &mut Vec<Value>,
) -> Result<bool, SqlError> {
    if !may_be_long(plan) {
        return Ok(false);
    }
    room.resize(plan.index_columns.len(), Value::Null);
    match index.decode(entry, &plan.index_columns, room) {
        Ok(()) => Ok(false),
        Err(Corrupt::OffRow { .. }) => Ok(true),
        Err(e) => Err(corrupt_row(&plan.store.table, &e)),
    }
}

/// Adds what an entry of a covering index holds to `out`, unless the condition rejects it: whether
/// it did. Nothing where the entry lacks a value: the row has it, and is locked whatever the other
/// values say, so values are made of all.
fn held_by(
    plan: &ScanPlan,
    pred: Option<&Pred>,
    index: &IndexStore,
    entry: IndexEntry<'_>,
    rt: &mut Rt<'_, '_>,
    out: &mut RowSet,
) -> Result<Option<bool>, SqlError> {
    let test = RowTest::of_values(pred);
    let filled = entry_into(plan, test, index, entry, rt, out.push_row());
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
    ) -> Result<RowOutcome, SqlError> {
        let index = &plan.store.indexes[index];
        match held_by(plan, self.condition.of(plan), index, self.batch.entry(i), rt, out)? {
            Some(true) if !self.sure => {
                self.keep_as_read(plan, &LockedRows::Tree(&index.tree), i, rt, out)
            }
            Some(_) => Ok(RowOutcome::Done),
            None => Ok(RowOutcome::Alone),
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
    ) -> Result<RowOutcome, SqlError> {
        if self.end >= FEW {
            self.near.expect_many(rt);
        }
        if self.sure {
            return self.locked_behind(plan, i, index, rt, out);
        }
        if !self.is_momentary() {
            // An error counts where the entry is locked.
            let (entry, index) = (self.batch.entry(i), &plan.store.indexes[index]);
            let passes = entry_passes(plan, index, entry, rt, &mut self.tested).unwrap_or(true);
            let rejected = !passes
                && index.tree.is_as_read(&self.batch).map_err(|e| access_error(&plan.db, e))?;
            return Ok(if rejected { RowOutcome::Done } else { RowOutcome::Alone });
        }
        let (store, fail) = (&plan.store, |e| access_error(&plan.db, e));
        if !entry_passes(plan, &store.indexes[index], self.batch.entry(i), rt, &mut self.tested)? {
            return Ok(RowOutcome::Done);
        }
        let locator = index_locator(&store.indexes[index], self.batch.entry(i), plan)?;
        let place = RowPlace::of(&locator)?;
        let found = self.near.read(plan, place, &mut self.lookup)?;
        let txn = rt.session().txn(&plan.db)?;
        let settled = found && self.ended.is_settled(txn, self.lookup.header(0).txn);
        // The row may have got another entry since this one was read.
        if !settled || !store.indexes[index].tree.is_as_read(&self.batch).map_err(fail)? {
            return Ok(RowOutcome::Again);
        }
        if self.lookup.is_ghost(0) {
            return Ok(RowOutcome::Done);
        }
        if has_overflow(self.lookup.row(0)) {
            return Ok(RowOutcome::Alone);
        }
        let (rows, name) = row_at(plan, &locator)?;
        let before = out.len();
        let test = self.condition.of_rows(plan);
        base_row(plan, test, self.lookup.row(0), locator_of(plan, || locator.clone()), rt, out)?;
        if out.len() == before {
            return Ok(RowOutcome::Done);
        }
        let txn = rt.session().txn(&plan.db);
        let txn = out.or_pop(txn)?;
        if is_own(txn, &self.lookup, 0)
            || txn.row_is_free(rows.unit(), name.as_ref(), self.locks.mode)
        {
            return Ok(RowOutcome::Done);
        }
        out.pop_row();
        Ok(RowOutcome::Again)
    }

    /// Gives the row behind entry `i` where nobody can be changing either: the table is locked, or
    /// both are ([`LockedScan::lock_rows_behind`]), after whoever changed them had ended. Neither
    /// is locked or asked for once more, and a row that was kept when it was locked is not read
    /// again.
    fn locked_behind(
        &mut self,
        plan: &ScanPlan,
        i: usize,
        index: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<RowOutcome, SqlError> {
        let index = &plan.store.indexes[index];
        if !entry_passes(plan, index, self.batch.entry(i), rt, &mut self.tested)? {
            return Ok(RowOutcome::Done);
        }
        if let Some(row) = self.rows_behind.row(i) {
            let locator = match plan.locator {
                true => Some(index_locator(index, self.batch.entry(i), plan)?),
                false => None,
            };
            base_row(plan, self.condition.of_rows(plan), row, locator, rt, out)?;
            return Ok(RowOutcome::Done);
        }
        let place = index_place(index, self.batch.entry(i), plan)?;
        let found = self.near.read(plan, place, &mut self.lookup)?;
        if found && !self.lookup.is_ghost(0) {
            let test = self.condition.of_rows(plan);
            base_row(plan, test, self.lookup.row(0), locator_of(plan, || place.value()), rt, out)?;
        }
        Ok(RowOutcome::Done)
    }

    /// Entry `i` of the page by itself: the row behind it is locked, where that is wanted, and the
    /// entry then. One that names another row than it did is given back, and so is what was locked
    /// for it: it begins again.
    pub(super) fn indexed(
        &mut self,
        plan: &ScanPlan,
        (i, index): (usize, usize),
        rt: &mut Rt<'_, '_>,
        (entry, lookup): (&mut RowBatch, &mut RowBatch),
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        let index = &plan.store.indexes[index];
        let (tree, name) = (LockedRows::Tree(&index.tree), Name::Key(self.batch.key(i).to_vec()));
        let mut wanted = None;
        if self.held.is_none()
            && self.waits()
            && is_row_wanted(plan, index, self.batch.entry(i), rt, &mut self.tested)?
        {
            wanted = Some(index_locator(index, self.batch.entry(i), plan)?);
        }
        loop {
            rt.check_cancel()?;
            let mut ahead = match wanted.take() {
                Some(locator) => {
                    self.wait_for_readers(plan, rt, tree.unit(), i)?;
                    Some(self.ahead(plan, rt, &locator, lookup)?)
                }
                None => None,
            };
            let (grant, as_read) = match self.locked_entry(plan, rt, &tree, (&name, i), entry) {
                Ok(Some(locked)) => locked,
                gone => {
                    self.give_back(plan, rt, ahead)?;
                    return gone.map(drop);
                }
            };
            // What an earlier part of the transaction holds is not given back.
            let again = grant == Grant::New && !self.locks.range && self.waits();
            let page = as_read.then(|| std::mem::take(&mut self.batch));
            let read = page.as_ref().map_or(entry.entry(0), |page| page.entry(i));
            let behind = self.behind(plan, rt, (index, read), (&mut ahead, again), lookup, out);
            if let Some(page) = page {
                self.batch = page;
            }
            self.give_back(plan, rt, ahead)?;
            let given = matches!(behind, Ok(EntryOutcome::Given(true)));
            self.leave(plan, rt, (tree.unit(), &name, grant), given)?;
            match behind? {
                EntryOutcome::Given(_) => return Ok(()),
                EntryOutcome::First(locator) => wanted = Some(locator),
            }
        }
    }

    /// Locks entry `i` of the page at hand. True: it is as the page had it; else it was read into
    /// `into`. Nothing: it is gone, or skipped, and not locked.
    fn locked_entry(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: &LockedRows<'_>,
        (name, i): (&Name, usize),
        into: &mut RowBatch,
    ) -> Result<Option<(Grant, bool)>, SqlError> {
        let txn = rt.session().txn(&plan.db)?;
        let was_left =
            self.ended.is_settled(txn, self.batch.header(i).txn) && !self.batch.is_ghost(i);
        if self.held.is_none() && was_left && !is_own(txn, &self.batch, i) {
            let grant = self.lock(plan, rt, tree.unit(), name.as_ref(), self.locks.mode)?;
            if grant == Grant::Busy {
                return Ok(None);
            }
            if tree.is_as_read(&self.batch).map_err(|e| access_error(&plan.db, e))? {
                return Ok(Some((grant, true)));
            }
            self.held = Some(grant);
        }
        let locked = self.locked_row(plan, rt, tree, name, into)?;
        self.moved |= locked.is_some() && into.header(0).txn != self.batch.header(i).txn;
        Ok(locked.map(|grant| (grant, false)))
    }

    /// Waits for those who have locked entry `i` of the page at hand, where the row behind it is to
    /// be locked in a mode that keeps them from it. An entry that the transaction has changed
    /// itself is locked by those alone who wait for the transaction.
    pub(super) fn wait_for_readers(
        &self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        unit: UnitId,
        i: usize,
    ) -> Result<(), SqlError> {
        if self.locks.mode != LockMode::X {
            return Ok(());
        }
        let txn = rt.session().txn(&plan.db)?;
        if is_own(txn, &self.batch, i) {
            return Ok(());
        }
        let free = txn.wait_for_lockers(unit, RowName::Key(self.batch.key(i)));
        free.map_err(|e| db_error(&plan.db, &e))
    }

    /// Whether a lock that somebody else holds is waited for.
    pub(super) fn waits(&self) -> bool {
        !self.locks.read_past && !self.whole
    }

    /// Locks a row before its entry, and reads it into `lookup`.
    fn ahead<'p>(
        &mut self,
        plan: &'p ScanPlan,
        rt: &mut Rt<'_, '_>,
        locator: &Value,
        lookup: &mut RowBatch,
    ) -> Result<RowLockedAhead<'p>, SqlError> {
        let (rows, name) = row_at(plan, locator)?;
        let grant = self.locked_row(plan, rt, &rows, &name, lookup)?;
        Ok(RowLockedAhead { rows, name, grant })
    }

    /// Gives a row back that was locked for an entry which turned out not to lead to it.
    fn give_back(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        ahead: Option<RowLockedAhead<'_>>,
    ) -> Result<(), SqlError> {
        match ahead {
            Some(RowLockedAhead { rows, name, grant: Some(grant) }) => {
                self.leave(plan, rt, (rows.unit(), &name, grant), false)
            }
            _ => Ok(()),
        }
    }

    /// What an entry that is locked holds, or the base row behind it. That is read already where it
    /// is the one that was looked for ahead; else, and if it is to be done `again`, it is only
    /// named.
    fn behind(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        (index, entry): (&IndexStore, IndexEntry<'_>),
        (ahead, again): (&mut Option<RowLockedAhead<'_>>, bool),
        lookup: &mut RowBatch,
        out: &mut RowSet,
    ) -> Result<EntryOutcome, SqlError> {
        if matches!(plan.path, Path::Index { covering: true, .. })
            && let Some(given) = held_by(plan, self.condition.of(plan), index, entry, rt, out)?
        {
            return Ok(EntryOutcome::Given(given));
        }
        if !entry_passes(plan, index, entry, rt, &mut self.tested)? {
            return Ok(EntryOutcome::Given(false));
        }
        let locator = index_locator(index, entry, plan)?;
        let (rows, name) = row_at(plan, &locator)?;
        match ahead.take_if(|row| row.name == name) {
            Some(RowLockedAhead { grant: Some(grant), .. }) => {
                let given = self.given_row(plan, rt, (&rows, &name, grant), lookup, out);
                return given.map(EntryOutcome::Given);
            }
            None if again => return Ok(EntryOutcome::First(locator)),
            // It is asked once more for a row that was not there.
            _ => {}
        }
        self.base(plan, rt, &rows, &name, lookup, out).map(EntryOutcome::Given)
    }
}

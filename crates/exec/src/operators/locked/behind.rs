//! Rows behind the entries of a page of a range: they are locked and read before their entries are
//! locked, and given as they were read when the entries turn out to be as the page had them.
//!
//! Guarantees: a row is kept only as it was read under its lock, after its writer had ended, and no
//! longer than the page whose entries lead to it; a row that is not kept is read again when it is
//! given. What is kept of a page is at most 64 KB; what goes beyond 8 KB is taken from the
//! statement's grant.

use super::entries::is_row_wanted;
use super::{LockedRows, LockedScan, Name};
use crate::operators::decode::index_place;
use crate::operators::pending::{FEW, Pending};
use crate::operators::rt::Rt;
use crate::operators::scan::may_be_long;
use access::{IndexEntry, Rid, RowBatch};
use plan::nodes::{Path, ScanPlan};
use session::query_memory::Share;
use std::ops::Range;
use storage::{Base, IndexStore, corrupt_row};
use types::row::has_overflow;
use types::{Corrupt, SqlError};

/// Most bytes of rows that are kept.
const MOST: usize = 64 << 10;
/// So many are no more than a batch of rows is: few rows ask for no memory.
const FREE: usize = 8 << 10;

/// Rows that were read when they were locked.
#[derive(Default)]
pub(super) struct RowsBehind {
    bytes: Vec<u8>,
    /// Where the row behind each entry of the page lies in them.
    places: Vec<Option<Range<usize>>>,
    share: Option<Share>,
    /// The rows whose pages are asked for.
    pending: Pending,
}

impl RowsBehind {
    /// Forgets the rows, keeps the room.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// The row behind an entry of the page, where it is kept.
    #[inline]
    pub fn row(&self, entry: usize) -> Option<&[u8]> {
        let place = self.places.get(entry)?.clone()?;
        self.bytes.get(place)
    }

    /// Keeps a row, if there is room for it.
    fn keep(&mut self, entry: usize, row: &[u8], rt: &mut Rt<'_, '_>) {
        let (begin, end) = (self.bytes.len(), self.bytes.len() + row.len());
        if end > MOST || (end > FREE && !self.has_share(rt)) {
            return;
        }
        self.bytes.extend_from_slice(row);
        if self.places.len() <= entry {
            self.places.resize(entry + 1, None);
        }
        self.places[entry] = Some(begin..end);
    }

    /// Whether there is memory for more than few rows.
    fn has_share(&mut self, rt: &mut Rt<'_, '_>) -> bool {
        if self.share.is_none() {
            let mut share = rt.share();
            if !share.take(MOST) {
                return false;
            }
            self.bytes.reserve_exact(MOST.saturating_sub(self.bytes.len()));
            self.share = Some(share);
        }
        true
    }
}

/// Names the row that an entry leads to; the room of the name before it is used again.
fn name_behind(
    plan: &ScanPlan,
    index: &IndexStore,
    entry: IndexEntry<'_>,
    name: &mut Name,
) -> Result<(), SqlError> {
    let damaged = |e: &Corrupt| corrupt_row(&plan.store.table, e);
    let locator = index.locator(entry).map_err(|e| damaged(&e))?;
    match (&plan.store.base, name) {
        (Base::Heap(_), name) => match <[u8; 8]>::try_from(locator) {
            Ok(rid) => *name = Name::Rid(Rid::from_bytes(rid)),
            Err(_) => return Err(damaged(&Corrupt::Value { column: index.columns.len() })),
        },
        (Base::Tree(_), Name::Key(key)) => {
            key.clear();
            key.extend_from_slice(locator);
        }
        (Base::Tree(_), name) => *name = Name::Key(locator.to_vec()),
    }
    Ok(())
}

impl LockedScan {
    /// Locks the rows behind the first entries of the page at hand, which are to be locked next and
    /// stay so, and keeps them as they are read then.
    pub(super) fn lock_rows_behind(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        entries: usize,
    ) -> Result<(), SqlError> {
        self.rows_behind.clear();
        let Path::Index { index, covering, .. } = &plan.path else { return Ok(()) };
        if !self.waits() || (*covering && !may_be_long(plan)) {
            return Ok(());
        }
        let index = &plan.store.indexes[*index];
        // For all of them before the first row is locked.
        for i in 0..entries {
            self.wait_for_readers(plan, rt, index.tree.unit_id(), i)?;
        }
        let (batch, mut lookup) =
            (std::mem::take(&mut self.batch), std::mem::take(&mut self.lookup));
        let locked = self.lock_and_keep(plan, rt, (index, &batch, entries), &mut lookup);
        (self.batch, self.lookup) = (batch, lookup);
        locked
    }

    fn lock_and_keep(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        (index, batch, entries): (&IndexStore, &RowBatch, usize),
        lookup: &mut RowBatch,
    ) -> Result<(), SqlError> {
        let rows = match &plan.store.base {
            Base::Heap(heap) => LockedRows::Heap(heap),
            Base::Tree(tree) => LockedRows::Tree(tree),
        };
        if entries >= FEW {
            self.near.expect_many(rt);
        }
        self.ask_for_rows(plan, rt, (index, batch, entries))?;
        let mut name = Name::End;
        for i in 0..entries {
            let entry = batch.entry(i);
            if batch.is_ghost(i) || !is_row_wanted(plan, index, entry, rt, &mut self.tested)? {
                continue;
            }
            name_behind(plan, index, entry, &mut name)?;
            let found = self.locked_row(plan, rt, &rows, &name, lookup)?.is_some();
            // A value outside a row goes when the transaction itself changes the row.
            if found && plan.store.lob.is_none() && !has_overflow(lookup.row(0)) {
                self.rows_behind.keep(i, lookup.row(0), rt);
            }
        }
        Ok(())
    }

    /// Has the pages of many rows read together, which are locked and read one by one then.
    fn ask_for_rows(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        (index, batch, entries): (&IndexStore, &RowBatch, usize),
    ) -> Result<(), SqlError> {
        let pending = &mut self.rows_behind.pending;
        if entries < FEW || pending.is_calm() {
            return Ok(());
        }
        pending.begin(Some(entries), rt);
        for i in (0..entries).filter(|i| !batch.is_ghost(*i)) {
            let entry = batch.entry(i);
            if is_row_wanted(plan, index, entry, rt, &mut self.tested)? {
                pending.push(index_place(index, entry, plan)?);
            }
        }
        pending.order(plan)
    }
}

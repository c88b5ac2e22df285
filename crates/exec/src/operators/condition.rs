//! The condition that a scan tests its rows by. When many rows are tested, what it computes of
//! variables alone is computed once, patterns are read once, and what the bytes of a row tell of it
//! is asked of them, before values are made. So it is with entries of a covering index.
//! Guarantee: it says of each row what the plan's own condition says.

use crate::operators::rt::Rt;
use access::IndexEntry;
use expr::{ConditionResult, InPlace, Pred};
use plan::nodes::{Path, ScanPlan};
use storage::IndexStore;

/// Of fewer rows it is less work to compute it for each.
const MANY: usize = 32;

/// The condition of a scan.
#[derive(Default)]
pub struct Condition {
    /// Rows that were read so far.
    seen: usize,
    /// What can be done for many rows was done.
    prepared: bool,
    /// In place of the plan's.
    own: Option<Box<Pred>>,
    /// What the bytes of base rows tell of it.
    in_place: Option<Box<InPlace>>,
    /// What the bytes of the entries of a covering index tell of it.
    in_entries: Option<Box<InPlace>>,
}

/// What base rows, or entries of a covering index, are tested by.
#[derive(Clone, Copy)]
pub struct RowTest<'c> {
    pub pred: Option<&'c Pred>,
    in_place: Option<&'c InPlace>,
}

impl<'c> RowTest<'c> {
    /// A condition on values alone.
    pub fn of_values(pred: Option<&'c Pred>) -> RowTest<'c> {
        RowTest { pred, in_place: None }
    }

    /// What the bytes of a base row tell of the condition.
    #[inline]
    pub fn tell(self, plan: &ScanPlan, row: &[u8]) -> ConditionResult {
        self.in_place
            .map_or(ConditionResult::Nothing, |test| test.tell(&plan.store.table.layout, row))
    }

    /// What the bytes of an entry of the index tell of the condition.
    #[inline]
    pub fn tell_entry(self, index: &IndexStore, entry: IndexEntry<'_>) -> ConditionResult {
        let Some(test) = self.in_place else { return ConditionResult::Nothing };
        let row = index.format.row_of(entry.value);
        row.map_or(ConditionResult::Nothing, |row| test.tell(index.format.row(), row))
    }
}

impl Condition {
    /// What rows are tested by.
    #[inline]
    pub fn of<'p>(&'p self, plan: &'p ScanPlan) -> Option<&'p Pred> {
        self.own.as_deref().or(plan.pred.as_ref())
    }

    /// What base rows are tested by.
    #[inline]
    pub fn of_rows<'p>(&'p self, plan: &'p ScanPlan) -> RowTest<'p> {
        RowTest { pred: self.of(plan), in_place: self.in_place.as_deref() }
    }

    /// What entries of the covering index are tested by.
    #[inline]
    pub fn of_entries<'p>(&'p self, plan: &'p ScanPlan) -> RowTest<'p> {
        RowTest { pred: self.of(plan), in_place: self.in_entries.as_deref() }
    }

    /// So many rows are to be tested next.
    #[inline]
    pub fn rows_come(&mut self, plan: &ScanPlan, rows: usize, rt: &mut Rt<'_, '_>) {
        if (plan.computes || plan.in_place) && !self.prepared {
            self.seen += rows;
            // Variables may have other values when a suspended run goes on.
            if self.seen >= MANY && !rt.is_suspendable() {
                self.prepare(plan, rt);
            }
        }
    }

    #[inline(never)]
    fn prepare(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) {
        self.prepared = true;
        let Some(pred) = &plan.pred else { return };
        if plan.computes {
            self.own = Some(Box::new(pred.with_computed(rt)));
        }
        if plan.in_place {
            let pred = self.own.as_deref().unwrap_or(pred);
            if let Path::Index { index, covering: true, .. } = &plan.path {
                let format = &plan.store.indexes[*index].format;
                // What is read from a key or a locator has no number in the row.
                let numbers = format.row_numbers(&plan.index_columns);
                let columns: Vec<u16> = numbers.map(|number| number.unwrap_or(u16::MAX)).collect();
                self.in_entries = InPlace::of(pred, format.row(), &columns, rt).map(Box::new);
            } else {
                let in_place = InPlace::of(pred, &plan.store.table.layout, &plan.columns, rt);
                self.in_place = in_place.map(Box::new);
            }
        }
    }
}

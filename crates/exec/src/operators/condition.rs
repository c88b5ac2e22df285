//! The condition that a scan tests its rows by. When many rows are tested, what it computes of
//! variables alone is computed once, and patterns are read once.
//! Guarantee: it says of each row what the plan's own condition says.

use crate::operators::rt::Rt;
use expr::Pred;
use plan::nodes::ScanPlan;

/// Of fewer rows it is less work to compute it for each.
const MANY: usize = 32;

/// The condition of a scan.
#[derive(Default)]
pub struct Condition {
    /// Rows that were read so far.
    seen: usize,
    /// In place of the plan's.
    own: Option<Box<Pred>>,
}

impl Condition {
    /// What rows are tested by.
    #[inline]
    pub fn of<'p>(&'p self, plan: &'p ScanPlan) -> Option<&'p Pred> {
        self.own.as_deref().or(plan.pred.as_ref())
    }

    /// So many rows are to be tested next.
    #[inline]
    pub fn rows_come(&mut self, plan: &ScanPlan, rows: usize, rt: &mut Rt<'_, '_>) {
        if plan.computes && self.own.is_none() {
            self.seen += rows;
            // Variables may have other values when a suspended run goes on.
            if self.seen >= MANY && !rt.is_suspendable() {
                self.own = plan.pred.as_ref().map(|pred| Box::new(pred.with_computed(rt)));
            }
        }
    }
}

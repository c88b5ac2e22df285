//! Which indexes the plan of a change uses: those by which it finds its rows, and those that have
//! to follow.

use exec::uses::Uses;

use crate::DmlPlan;
use crate::shown::Source;

impl DmlPlan {
    /// The indexes that it uses, and those that it would have liked to have.
    pub fn uses(&self) -> Uses {
        let mut uses = Uses::default();
        add(&mut uses, self);
        uses.subqueries(self.needs());
        uses
    }
}

fn add(uses: &mut Uses, plan: &DmlPlan) {
    let (store, source, changed) = match plan {
        DmlPlan::Insert(plan) => {
            if let Some(nested) = plan.nested() {
                add(uses, nested);
            }
            let (_, store, source) = plan.shown();
            (store, source, None)
        }
        DmlPlan::Update(plan) => {
            let (_, store, source) = plan.shown();
            (store, source, plan.changed())
        }
        DmlPlan::Delete(plan) => {
            let (_, store, source) = plan.shown();
            (store, source, None)
        }
        DmlPlan::Merge(plan) => {
            let (_, store, source) = plan.shown();
            (store, source, plan.changed())
        }
        DmlPlan::Instead(plan) => {
            return plan.shown().2.into_iter().for_each(|plan| uses.root(plan));
        }
        DmlPlan::SelectInto(plan) => return uses.root(plan.shown().1),
        DmlPlan::Partitioned(plan) => {
            for part in plan.parts() {
                part.source.into_iter().for_each(|source| rows_of(uses, source));
                part.subqueries.iter().for_each(|plan| uses.root(plan));
                uses.updates(part.store, part.changed);
            }
            return;
        }
    };
    rows_of(uses, source);
    uses.updates(store, changed);
}

/// Where the rows of a change come from.
fn rows_of(uses: &mut Uses, source: Source<'_>) {
    match source {
        Source::Constant => {}
        Source::Plan(plan) => uses.root(plan),
        Source::Scan(scan) => uses.change_scans(scan),
    }
}

//! Which indexes the plan of a change uses: those by which it finds its rows, and those that have
//! to follow.

use exec::uses::PlanUses;

use crate::DmlPlan;
use crate::shown::ChangeSource;

impl DmlPlan {
    /// The indexes that it uses, and those that it would have liked to have.
    pub fn uses(&self) -> PlanUses {
        let mut uses = PlanUses::default();
        add(&mut uses, self);
        uses.subqueries(self.needs());
        uses
    }
}

fn add(uses: &mut PlanUses, plan: &DmlPlan) {
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
fn rows_of(uses: &mut PlanUses, source: ChangeSource<'_>) {
    match source {
        ChangeSource::Constant => {}
        ChangeSource::Plan(plan) => uses.root(plan),
        ChangeSource::Scan(scan) => uses.change_scans(scan),
    }
}

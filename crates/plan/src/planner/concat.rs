//! Rows of several inputs: UNION ALL, and partitioned views.
//! Guarantees: conditions are tested in each input where they can be; no input computes what nobody reads.

use super::{Context, Planner};
use crate::logical::Logical;
use crate::nodes::{Node, Plan};
use crate::physical::exactly;
use expr::{ColId, Expr, Pred};
use types::SqlError;

impl Planner<'_, '_> {
    pub(super) fn concat(
        &mut self,
        inputs: Vec<(Logical, Vec<ColId>)>,
        cols: Vec<ColId>,
        preds: Vec<Pred>,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let (below, above): (Vec<_>, Vec<_>) = preds.into_iter().partition(|p| !p.has_subquery());
        // No input computes what nobody reads.
        let needed = cx.with(&above).needed;
        let wanted: Vec<usize> = (0..cols.len()).filter(|at| needed.contains(&cols[*at])).collect();
        let mut plans = Vec::with_capacity(inputs.len());
        for (logical, ids) in inputs {
            let mut own = below.clone();
            for pred in &mut own {
                pred.leaves_mut(&mut |leaf| {
                    if let Expr::Col(id) = leaf
                        && let Some(at) = cols.iter().position(|c| c == id)
                    {
                        *id = ids[at];
                    }
                });
            }
            let ids: Vec<ColId> = wanted.iter().map(|at| ids[*at]).collect();
            let context = Context { needed: ids.clone(), ..Context::default() }.with(&own);
            let plan = self.node(logical, own, &context)?;
            plans.push(exactly(plan, &ids)?);
        }
        let cols = wanted.into_iter().map(|at| cols[at]).collect();
        let rows = plans.iter().map(|p| p.rows).sum();
        self.above(Plan { node: Node::Concat(plans), cols, rows, ordered: false }, above)
    }
}

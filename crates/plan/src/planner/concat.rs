//! Rows of several inputs: UNION ALL, and partitioned views. Guarantees: conditions are tested in
//! each input where they can be; no input computes what nobody reads; inputs that all come in the
//! order that is wanted are merged instead of sorted.

use super::order::sort_slots;
use super::{Context, Planner};
use crate::columns::exactly;
use crate::cost::MERGED;
use crate::nodes::{CustomNode, Node, Plan, SortSlot};
use expr::{ColId, Expr, Pred};
use logical::order::SortKey;
use logical::tree::Logical;
use stack::Nested;
use types::SqlError;

/// Inputs that each come in the order of these keys; so do its rows.
#[derive(Debug)]
pub struct MergeConcat {
    pub inputs: Nested<Vec<Plan>>,
    pub keys: Vec<SortSlot>,
}

impl CustomNode for MergeConcat {
    fn inputs(&self) -> Vec<&Plan> {
        self.inputs.iter().collect()
    }

    fn exprs(&self) -> Vec<&Expr> {
        Vec::new()
    }

    fn cost(&self, rows: f64) -> f64 {
        rows * MERGED * (self.inputs.len() as f64).log2().max(1.0)
    }

    fn shown(&self) -> (&'static str, &'static str, String) {
        ("Merge Join", "Concatenation", format!("MERGE:({} keys)", self.keys.len()))
    }
}

/// Keys over some columns as keys over others in the same places; none where one is no such column.
fn mapped(keys: &[SortKey], from: &[ColId], to: &[ColId]) -> Option<Vec<SortKey>> {
    let one = |key: &SortKey| {
        let Expr::Col(id) = key.expr else { return None };
        let at = from.iter().position(|other| *other == id)?;
        Some(SortKey { expr: Expr::Col(to[at]), ..key.clone() })
    };
    keys.iter().map(one).collect()
}

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
        let cx = Context { goal: if above.is_empty() { cx.goal } else { None }, ..cx.clone() };
        let merged = match inputs.len() > 1 && !cx.order.is_empty() {
            true => self.concat_inputs(inputs.clone(), (&cols, &wanted), &below, &cx)?,
            false => Vec::new(),
        };
        // If not all come in the order that is asked for above, none has to.
        let merges = !merged.is_empty() && merged.iter().all(|plan| plan.ordered);
        let plans = match merges {
            true => merged,
            false => self.concat_inputs(inputs, (&cols, &wanted), &below, &Context::default())?,
        };
        let cols: Vec<ColId> = wanted.into_iter().map(|at| cols[at]).collect();
        let rows = plans.iter().map(|p| p.rows).sum();
        let node = match merges {
            true => Node::Own(Box::new(MergeConcat {
                keys: sort_slots(&cx.order, &cols)?,
                inputs: Nested::new(plans),
            })),
            false => Node::Concat(Nested::new(plans)),
        };
        self.above(Plan { node, cols, rows, ordered: merges }, above)
    }

    /// Plans the inputs, each with its own columns in the places of the wanted ones of `cols`, and
    /// in the order of the context. None where one cannot have that order.
    fn concat_inputs(
        &mut self,
        inputs: Vec<(Logical, Vec<ColId>)>,
        (cols, wanted): (&[ColId], &[usize]),
        preds: &[Pred],
        cx: &Context,
    ) -> Result<Vec<Plan>, SqlError> {
        let mut plans = Vec::with_capacity(inputs.len());
        for (logical, ids) in inputs {
            let mut own = preds.to_vec();
            for pred in &mut own {
                pred.leaves_mut(&mut |leaf| {
                    if let Expr::Col(id) = leaf
                        && let Some(at) = cols.iter().position(|c| c == id)
                    {
                        *id = ids[at];
                    }
                });
            }
            let Some(order) = mapped(&cx.order, cols, &ids) else { return Ok(Vec::new()) };
            let ids: Vec<ColId> = wanted.iter().map(|at| ids[*at]).collect();
            let context = Context { needed: ids.clone(), order, ..cx.clone() }.with(&own);
            let plan = self.node(logical, own, &context)?;
            plans.push(exactly(plan, &ids)?);
        }
        Ok(plans)
    }
}

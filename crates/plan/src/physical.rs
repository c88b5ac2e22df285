//! The physical plan: operators with slots instead of column ids. Made from the logical plan by
//! [`planner`].

use super::nodes::Plan;
use super::planner;
use super::rewrite::rewrite;
use crate::Needs;
use crate::columns::exactly;
use crate::deep_plan::DeepPlan;
use bind::Binder;
use expr::{ColId, Expr};
use logical::tree::input::Input;
use logical::tree::{Logical, Subquery};
use std::sync::Arc;
use types::{SqlError, Value};

/// Makes the physical plan of a query whose rows are to have exactly the wanted columns, in order.
/// `goal`: only so many rows will be taken.
pub fn plan_query(
    binder: &mut Binder<'_>,
    logical: Logical,
    wanted: &[ColId],
    goal: Option<u64>,
) -> Result<Plan, SqlError> {
    let logical = rewrite(logical, binder)?;
    plan_rewritten(binder, logical, wanted, goal)
}

/// The rows of a query with those values of which a subquery becomes a join, as in a SELECT of
/// them: the rewritten query, and the values' columns. `mark`, the newest column, is false in each
/// row. None, and nothing done, where no subquery is joined, but for the values that are wanted
/// anyhow (`ahead`).
///
/// # Errors
/// 3617.
pub fn joined_values(
    binder: &mut Binder<'_>,
    rows: Logical,
    values: Vec<(ColId, Expr)>,
    ahead: &[ColId],
    mark: ColId,
) -> Result<Option<(Logical, Vec<ColId>)>, SqlError> {
    let applied = binder.applied.clone();
    let ids: Vec<ColId> = values.iter().map(|(id, _)| *id).collect();
    let rewritten = rewrite(Logical::Project { input: Input::new(rows), exprs: values }, binder)?;
    if let Logical::Project { input, mut exprs } = rewritten {
        // What is joined has columns that were made for it.
        let is_joined = |e: &Expr| {
            let mut used = Vec::new();
            e.columns(&mut used);
            used.iter().any(|id| *id > mark)
        };
        exprs.retain(|(id, e)| !ids.contains(id) || ahead.contains(id) || is_joined(e));
        let joined: Vec<ColId> =
            ids.into_iter().filter(|id| exprs.iter().any(|(of, _)| of == id)).collect();
        if !joined.is_empty() {
            exprs.push((mark, Expr::Const(Value::Bit(false))));
            return Ok(Some((Logical::Project { input, exprs }, joined)));
        }
    }
    binder.applied = applied;
    Ok(None)
}

/// As [`plan_query`], of what the rewrites have been over.
///
/// # Errors
/// Those of planning.
pub fn plan_rewritten(
    binder: &mut Binder<'_>,
    logical: Logical,
    wanted: &[ColId],
    goal: Option<u64>,
) -> Result<Plan, SqlError> {
    let mut plan = planner::Planner { binder }.plan(logical, wanted, goal)?;
    if let Some(rows) = goal.and_then(|rows| usize::try_from(rows).ok()) {
        plan.wants_few(rows);
    }
    DeepPlan::root(exactly(plan, wanted)?)
}

/// What the bound statement needs when it runs: its tables, and the plans of its subqueries.
///
/// # Errors
/// Those of planning.
pub fn needs(binder: &mut Binder<'_>) -> Result<Needs, SqlError> {
    bind::table_hints::check_used(binder)?;
    let mut plans = Vec::with_capacity(binder.subqueries.len());
    // They may run for each row, and planning one may add others.
    binder.inner_plans += 1;
    while let Some(Subquery { logical, wanted, goal }) = binder.subqueries.get(plans.len()).cloned()
    {
        plans.push(Arc::new(plan_query(binder, Logical::clone(&logical), &wanted, goal)?));
    }
    binder.inner_plans -= 1;
    let (tables, modules) =
        (std::mem::take(&mut binder.tables), std::mem::take(&mut binder.modules));
    let watched = std::mem::take(&mut binder.watched);
    let sequences = std::mem::take(&mut binder.sequences);
    let rights = binder.rights.take();
    let masked = binder.masked_columns();
    let one_run = binder.one_run;
    Ok(Needs {
        tables,
        modules,
        sequences,
        rights,
        subqueries: plans,
        watched,
        masked,
        one_run,
        ..Needs::default()
    })
}

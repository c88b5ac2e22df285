//! The physical plan: operators with slots instead of column ids. Made from the logical plan by
//! [`planner`].

use super::nodes::Plan;
use super::planner;
use super::rewrite::rewrite;
use crate::Needs;
use crate::columns::exactly;
use crate::deep_plan::DeepPlan;
use crate::statement::Statement;
use expr::{ColId, Expr};
use logical::tree::input::Input;
use logical::tree::{Logical, Subquery};
use std::sync::Arc;
use types::{SqlError, Value};

/// Makes the physical plan of a query whose rows are to have exactly the wanted columns, in order.
/// `goal`: only so many rows will be taken.
pub fn plan_query(
    statement: &mut Statement<'_>,
    logical: Logical,
    wanted: &[ColId],
    goal: Option<u64>,
) -> Result<Plan, SqlError> {
    let logical = rewrite(logical, statement)?;
    plan_rewritten(statement, logical, wanted, goal)
}

/// The rows of a query with those values of which a subquery becomes a join, as in a SELECT of
/// them: the rewritten query, and the values' columns. `mark`, the newest column, is false in each
/// row. None, and nothing done, where no subquery is joined, but for the values that are wanted
/// anyhow (`ahead`).
///
/// # Errors
/// 3617.
pub fn joined_values(
    statement: &mut Statement<'_>,
    rows: Logical,
    values: Vec<(ColId, Expr)>,
    ahead: &[ColId],
    mark: ColId,
) -> Result<Option<(Logical, Vec<ColId>)>, SqlError> {
    let applied = statement.applied.clone();
    let ids: Vec<ColId> = values.iter().map(|(id, _)| *id).collect();
    let rewritten =
        rewrite(Logical::Project { input: Input::new(rows), exprs: values }, statement)?;
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
    statement.applied = applied;
    Ok(None)
}

/// As [`plan_query`], of what the rewrites have been over.
///
/// # Errors
/// Those of planning.
pub fn plan_rewritten(
    statement: &mut Statement<'_>,
    logical: Logical,
    wanted: &[ColId],
    goal: Option<u64>,
) -> Result<Plan, SqlError> {
    let mut plan = planner::Planner { statement }.plan(logical, wanted, goal)?;
    if let Some(rows) = goal.and_then(|rows| usize::try_from(rows).ok()) {
        plan.wants_few(rows);
    }
    DeepPlan::root(exactly(plan, wanted)?)
}

/// What the bound statement needs when it runs: its tables, and the plans of its subqueries.
///
/// # Errors
/// Those of planning.
pub fn needs(statement: &mut Statement<'_>) -> Result<Needs, SqlError> {
    bind::table_hints::check_used(statement)?;
    let mut plans = Vec::with_capacity(statement.subqueries.len());
    // They may run for each row, and planning one may add others.
    statement.inner_plans += 1;
    while let Some(Subquery { logical, wanted, goal }) =
        statement.subqueries.get(plans.len()).cloned()
    {
        plans.push(Arc::new(plan_query(statement, Logical::clone(&logical), &wanted, goal)?));
    }
    statement.inner_plans -= 1;
    let (tables, modules) =
        (std::mem::take(&mut statement.tables), std::mem::take(&mut statement.modules));
    let watched = std::mem::take(&mut statement.watched);
    let sequences = std::mem::take(&mut statement.sequences);
    let rights = statement.rights.take();
    let masked = statement.masked_columns();
    let one_run = statement.one_run;
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

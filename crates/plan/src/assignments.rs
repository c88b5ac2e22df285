//! `SELECT @v = x`: the values that variables get are expressions over the rows of a plan, computed
//! row by row, so that each row sees what the one before it set. The rewrites see them as the list
//! of the query: what they join in the place of a subquery belongs to the plan, the rest of each
//! expression stays above it. Guarantees: a subquery that reads a variable which the statement sets
//! stays where it is; the rows come in the order that the query asks for.

use crate::nodes::Plan;
use crate::physical;
use crate::rewrite::rewrite;
use crate::rewrite::visit::subqueries_read;
use crate::statement::Statement;
use expr::{ColId, Expr};
use logical::order::SortKey;
use logical::slots::slots;
use logical::tree::Logical;
use logical::tree::input::Input;
use types::{SqlError, Value};

/// Slot and value of each variable, in the order in which they are set.
pub(crate) type Assignments = Vec<(usize, Expr)>;

/// The plan of the rows that values are computed of, and the values over its slots.
///
/// # Errors
/// Those of planning.
pub(crate) fn plan(
    statement: &mut Statement<'_>,
    logical: Logical,
    assignments: Assignments,
) -> Result<(Plan, Assignments), SqlError> {
    let (logical, mut assignments) = rewritten(statement, logical, assignments)?;
    let mut wanted = Vec::new();
    assignments.iter().for_each(|(_, e)| e.columns(&mut wanted));
    let plan = physical::plan_rewritten(statement, logical, &wanted, None)?;
    for (_, e) in &mut assignments {
        slots(e, &plan.cols)?;
    }
    Ok((plan, assignments))
}

/// The rows as the rewrites make them, and the values over their columns.
fn rewritten(
    statement: &mut Statement<'_>,
    logical: Logical,
    mut assignments: Assignments,
) -> Result<(Logical, Assignments), SqlError> {
    let set: Vec<usize> = assignments.iter().map(|(slot, _)| *slot).collect();
    let is_listed = |e: &Expr| e.has_subquery() && !subqueries_read(e, &set, &statement.subqueries);
    let listed: Vec<usize> =
        (0..assignments.len()).filter(|at| is_listed(&assignments[*at].1)).collect();
    if listed.is_empty() {
        return Ok((rewrite(logical, statement)?, assignments));
    }
    let take = |at: &usize| {
        let e = std::mem::replace(&mut assignments[*at].1, Expr::Const(Value::Null));
        (statement.new_col(), e)
    };
    let exprs: Vec<(ColId, Expr)> = listed.iter().map(take).collect();
    let order = order_of(&logical);
    let (order, list) = match rewrite(with_list(logical, exprs), statement)? {
        Logical::Sort { input, keys } => (Some(keys), input.into_inner()),
        // TOP gives its rows in their order, what is joined with them may not.
        other => (order.filter(|_| !is_list_of_top(&other)), other),
    };
    let Logical::Project { input, exprs } = list else {
        return Err(SqlError::internal("a rewrite has lost the list of a query"));
    };
    for (at, (_, e)) in listed.into_iter().zip(exprs) {
        assignments[at].1 = e;
    }
    let logical = match order {
        Some(keys) => Logical::Sort { input, keys },
        None => input.into_inner(),
    };
    Ok((logical, assignments))
}

/// The rows with a list of values, which is computed before they are put in their order.
fn with_list(logical: Logical, exprs: Vec<(ColId, Expr)>) -> Logical {
    match logical {
        Logical::Sort { input, keys } => {
            let list = Logical::Project { input, exprs };
            Logical::Sort { input: Input::new(list), keys }
        }
        other => Logical::Project { input: Input::new(other), exprs },
    }
}

/// The order in which a query's rows come, if it has one.
fn order_of(logical: &Logical) -> Option<Vec<SortKey>> {
    match logical {
        Logical::Sort { keys, .. } => Some(keys.clone()),
        Logical::Top { input, .. } => order_of(input),
        _ => None,
    }
}

/// Whether a list is computed of the rows of a TOP as they are.
fn is_list_of_top(logical: &Logical) -> bool {
    matches!(logical, Logical::Project { input, .. } if matches!(**input, Logical::Top { .. }))
}

//! Which columns a plan gives.

use crate::nodes::{Node, Plan};
use expr::{ColId, Expr};
use logical::slots::slots;
use logical::tree::JoinKind;
use stack::Nested;
use types::SqlError;

/// The plan with exactly these columns. Error: internal, when it does not have one of them.
pub fn exactly(plan: Plan, wanted: &[ColId]) -> Result<Plan, SqlError> {
    if plan.cols == wanted {
        return Ok(plan);
    }
    let mut exprs: Vec<Expr> = wanted.iter().map(|id| Expr::Col(*id)).collect();
    for e in &mut exprs {
        slots(e, &plan.cols)?;
    }
    Ok(Plan {
        cols: wanted.to_vec(),
        rows: plan.rows,
        ordered: plan.ordered,
        node: Node::Project { input: Nested::new(plan), exprs },
    })
}

/// Whether a join gives columns of both sides.
pub fn gives_both(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Semi | JoinKind::Anti)
}

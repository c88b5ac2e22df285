//! Whether a value can be NULL in the rows of a logical plan.
//! Guarantee: what is said to have no NULL has none, whatever the tables' rows are; of what is not
//! known it is not said.

use crate::conversions::keeps_values;
use expr::{ColId, Expr, Pred};
use logical::tree::{JoinKind, Logical};

/// Whether an expression is NULL in none of the rows that satisfy conditions.
pub fn is_never_null(e: &Expr, rows: &Logical, preds: &[Pred]) -> bool {
    match e {
        Expr::Col(id) => is_tested(preds, *id) || has_no_null(*id, rows),
        Expr::Const(value) => !value.is_null(),
        Expr::Convert(c) => {
            !c.or_null && keeps_values(c.from, c.to) && is_never_null(&c.operand, rows, preds)
        }
        _ => false,
    }
}

/// Whether one of the conditions is that a column IS NOT NULL.
fn is_tested(preds: &[Pred], id: ColId) -> bool {
    let of_column = |pred: &Pred| match pred {
        Pred::IsNull(e, true) => matches!(**e, Expr::Col(column) if column == id),
        _ => false,
    };
    preds.iter().any(of_column)
}

/// Whether a column is NULL in none of a plan's rows.
fn has_no_null(id: ColId, rows: &Logical) -> bool {
    stack::with_room(|| match rows {
        Logical::Get(get) => get.position(id).is_some_and(|at| {
            let column = &get.table.columns[at];
            !column.nullable && column.computed.is_none()
        }),
        Logical::Filter { input, preds } => is_tested(preds, id) || has_no_null(id, input),
        Logical::Project { input, exprs } => match exprs.iter().find(|(made, _)| *made == id) {
            Some((_, e)) => is_never_null(e, input, &[]),
            None => has_no_null(id, input),
        },
        Logical::Sort { input, .. }
        | Logical::Top { input, .. }
        | Logical::Distinct { input, .. } => has_no_null(id, input),
        Logical::Join { kind, left, right, .. } => {
            let of_right = *kind == JoinKind::Inner && has_no_null(id, right);
            of_right || (*kind != JoinKind::Full && has_no_null(id, left))
        }
        Logical::Apply { outer, left, right, .. } => {
            has_no_null(id, left) || (!*outer && has_no_null(id, right))
        }
        _ => false,
    })
}

//! Expressions over the ids of columns become expressions over the slots of a row.

use expr::{ColId, Expr, Pred};
use types::SqlError;

/// Rewrites column ids to slots of a row. Error: internal, when a column is not there.
pub fn slots(e: &mut Expr, cols: &[ColId]) -> Result<(), SqlError> {
    let mut missing = None;
    e.leaves_mut(&mut |leaf| to_slot(leaf, cols, &mut missing));
    missing.map_or(Ok(()), |id| {
        Err(SqlError::internal(format!("column {id} is not in the plan's rows")))
    })
}

/// As [`slots`], for a condition.
pub fn pred_slots(p: &mut Pred, cols: &[ColId]) -> Result<(), SqlError> {
    let mut missing = None;
    p.leaves_mut(&mut |leaf| to_slot(leaf, cols, &mut missing));
    missing.map_or(Ok(()), |id| {
        Err(SqlError::internal(format!("column {id} is not in the plan's rows")))
    })
}

fn to_slot(leaf: &mut Expr, cols: &[ColId], missing: &mut Option<ColId>) {
    if let Expr::Col(id) = leaf {
        match cols.iter().position(|c| c == id) {
            Some(at) => *id = at as ColId,
            None => *missing = Some(*id),
        }
    }
}

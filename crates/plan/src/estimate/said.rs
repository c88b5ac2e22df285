//! What conditions say of one column alone: its value, or which part of its values is left. Where
//! both sides of an equality are limited in the same way, by a condition that has gone from the one
//! to the other or is written twice, the second limit takes no row away that the first has left.
//! Guarantee: a share lies above 0 and is at most 1.

use super::EstimatedSide;
use super::share::kept;
use expr::{ColId, Expr, Pred};
use logical::tree::{JoinKind, Logical};
use syntax::ast::CompareOp;
use types::Collation;

/// Nodes below which a column is not looked for, and conditions of each that are looked at: the
/// answer is an estimate's.
const WITHIN: usize = 16;

/// The column and the value of `column = value`.
pub fn fixed_by(pred: &Pred) -> Option<(ColId, &Expr, Collation)> {
    match pred {
        Pred::Compare(c) if c.op == CompareOp::Equal => match (&c.left, &c.right) {
            (Expr::Col(id), value) | (value, Expr::Col(id)) if value.is_one_value() => {
                Some((*id, value, c.collation))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The column of `column < value` and similar comparisons, and of `column IN (constants)`.
pub fn limited_by(pred: &Pred) -> Option<(ColId, Collation)> {
    match pred {
        Pred::Compare(c) if !matches!(c.op, CompareOp::Equal | CompareOp::NotEqual) => {
            match (&c.left, &c.right) {
                (Expr::Col(id), value) | (value, Expr::Col(id)) if value.is_one_value() => {
                    Some((*id, c.collation))
                }
                _ => None,
            }
        }
        Pred::InList(list) if !list.negated => match list.operand {
            Expr::Col(id) if list.list.iter().all(|e| e.as_const().is_some()) => {
                Some((id, list.collation))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Asks about conditions that hold of all rows of a plan under these, as far as they lie on the way
/// to a column's table, until one is what is looked for.
fn find<'l>(
    mut logical: &'l Logical,
    preds: &'l [Pred],
    id: ColId,
    is: &mut dyn FnMut(&'l Pred) -> bool,
) -> bool {
    let mut any = |preds: &'l [Pred]| preds.iter().take(WITHIN).any(&mut *is);
    if any(preds) {
        return true;
    }
    for _ in 0..WITHIN {
        let input = match logical {
            Logical::Filter { input, preds } => {
                if any(preds) {
                    return true;
                }
                input
            }
            Logical::Join { kind: JoinKind::Inner, left, right, on, .. } => {
                if any(on) {
                    return true;
                }
                if left.columns().contains(id) { left } else { right }
            }
            Logical::Join {
                kind: JoinKind::Left | JoinKind::Semi | JoinKind::Anti, left, ..
            } => left,
            _ => return false,
        };
        logical = input;
    }
    false
}

/// Whether a column has one value in all rows of a plan, as conditions on them say, or as these do
/// that are still to be tested on the plan.
pub fn is_fixed(logical: &Logical, preds: &[Pred], id: ColId) -> bool {
    let fixes = |pred: &Pred| fixed_by(pred).is_some_and(|(column, ..)| column == id);
    find(logical, preds, id, &mut |pred| fixes(pred))
}

/// The share of a column's values that its ranges and lists leave.
pub fn values_left(side: &EstimatedSide<'_>, id: ColId) -> f64 {
    let mut limits: Vec<&Pred> = Vec::new();
    find(side.logical, side.preds, id, &mut |pred| {
        if limited_by(pred).is_some_and(|(column, _)| column == id) {
            limits.push(pred);
        }
        false
    });
    if limits.is_empty() { 1.0 } else { kept(limits, side.logical).clamp(LEAST, 1.0) }
}

/// No limit leaves less.
const LEAST: f64 = 1e-9;

/// The share of the combinations of values of these pairs of columns that the limits of both sides
/// leave in common, as if the narrower one were that of both.
pub fn common_values(
    left: &EstimatedSide<'_>,
    right: &EstimatedSide<'_>,
    pairs: &[(ColId, ColId)],
) -> f64 {
    let common = |(a, b): &(ColId, ColId)| values_left(left, *a).max(values_left(right, *b));
    pairs.iter().map(common).product::<f64>().max(LEAST)
}

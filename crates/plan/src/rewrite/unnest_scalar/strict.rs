//! A comparison that is unknown when its subquery gives NULL: rows without a group are dropped, so
//! that an inner join does, which may be ordered with others.

use super::groups::Groups;
use crate::statement::Statement;
use expr::aggregate::{AggKind, Aggregate};
use expr::{ColId, Expr, Pred, SubRef};
use logical::tree::Logical;
use logical::tree::input::Input;

/// What to join, on what, and the condition over its column.
pub fn unnested(
    pred: &Pred,
    outer_rows: f64,
    statement: &mut Statement<'_>,
) -> Option<(Logical, Vec<Pred>, Pred)> {
    let Pred::Compare(compare) = pred else { return None };
    let sub = match (strict_subquery(&compare.left), strict_subquery(&compare.right)) {
        (Some(sub), None) if !compare.right.has_subquery() => sub,
        (None, Some(sub)) if !compare.left.has_subquery() => sub,
        _ => return None,
    };
    let (groups, column) = Groups::of(sub, outer_rows, statement)?;
    let outer = |leaf: &Expr| matches!(leaf, Expr::Param(slot) if groups.slots.contains(slot));
    let mut mentioned = false;
    let exprs = groups.exprs.iter().flatten();
    exprs.for_each(|(_, e)| e.leaves(&mut |leaf| mentioned |= outer(leaf)));
    let exprs = groups.exprs.as_deref();
    let computes = exprs.unwrap_or_default().iter().any(|(_, e)| e.has_subquery());
    if mentioned || computes || !is_null_without_rows(column, exprs, &groups.aggregates) {
        return None;
    }
    let mut right = groups.grouped();
    if let Some(exprs) = groups.exprs {
        right = Logical::Project { input: Input::new(right), exprs };
    }
    let mut compare = compare.clone();
    replace(&mut compare.left, column);
    replace(&mut compare.right, column);
    Some((right, groups.on, Pred::Compare(compare)))
}

/// The subquery in an expression that is NULL when the subquery is.
fn strict_subquery(e: &Expr) -> Option<&SubRef> {
    match e {
        Expr::Subquery(sub) => Some(sub),
        Expr::Convert(c) => strict_subquery(&c.operand),
        Expr::Negate(e, _) | Expr::BitNot(e, _) => strict_subquery(e),
        Expr::Deep(e) => stack::with_room(|| strict_subquery(e)),
        Expr::Binary(b) => match (strict_subquery(&b.left), strict_subquery(&b.right)) {
            (Some(sub), None) if !b.right.has_subquery() => Some(sub),
            (None, Some(sub)) if !b.left.has_subquery() => Some(sub),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the column is NULL when the aggregates have seen no row.
fn is_null_without_rows(
    column: ColId,
    exprs: Option<&[(ColId, Expr)]>,
    aggregates: &[Aggregate],
) -> bool {
    let nullable = |id: ColId| {
        let of = aggregates.iter().find(|a| a.output == id);
        of.is_some_and(|a| !matches!(a.kind, AggKind::Count | AggKind::CountBig))
    };
    let made = exprs.into_iter().flatten().find(|(id, _)| *id == column);
    made.map_or_else(|| nullable(column), |(_, e)| is_strict(e, &nullable))
}

fn is_strict(e: &Expr, nullable: &dyn Fn(ColId) -> bool) -> bool {
    match e {
        Expr::Col(id) => nullable(*id),
        Expr::Convert(c) => is_strict(&c.operand, nullable),
        Expr::Negate(e, _) | Expr::BitNot(e, _) => is_strict(e, nullable),
        Expr::Deep(e) => stack::with_room(|| is_strict(e, nullable)),
        Expr::Binary(b) => is_strict(&b.left, nullable) || is_strict(&b.right, nullable),
        _ => false,
    }
}

/// Puts the column in the place of the subquery.
fn replace(e: &mut Expr, column: ColId) {
    match e {
        Expr::Subquery(_) => *e = Expr::Col(column),
        Expr::Convert(c) => replace(&mut c.operand, column),
        Expr::Negate(e, _) | Expr::BitNot(e, _) => replace(e, column),
        Expr::Deep(e) => stack::with_room(|| replace(e, column)),
        Expr::Binary(b) => {
            replace(&mut b.left, column);
            replace(&mut b.right, column);
        }
        _ => {}
    }
}

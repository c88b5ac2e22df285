//! Correlated subqueries with an aggregate as joins: `x < (SELECT AVG(y) FROM t WHERE t.k = outer.k)` computes the
//! average of every `k` once and joins it, instead of running the subquery for each row.
//!
//! Only where the result is the same for rows without a partner: the comparison has to be unknown when the subquery gives
//! NULL, so that an inner join may drop the row. COUNT gives 0 instead, and is left alone. Left alone, too, is what costs less row by
//! row: few outer rows, or an inner table with an index on the correlated column.

use super::rule::{Pass, Rewrite};
use super::visit::{mentions, with_inputs};
use crate::access_path::{can_seek, with_conditions};
use crate::bind::Binder;
use crate::estimate;
use crate::input::Input;
use crate::logical::{GroupCol, JoinKind, Logical};
use expr::aggregate::{AggKind, Aggregate};
use expr::{ColId, CompareExpr, Expr, Pred, SubRef};
use syntax::ast::CompareOp;
use types::Collation;

/// With fewer outer rows the subquery runs for each.
const FEW_ROWS: f64 = 10.0;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "UnnestScalar", apply: node };

fn node(logical: Logical, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    let logical = with_inputs(logical, &mut |input| node(input, pass));
    let Logical::Filter { mut input, preds } = logical else { return logical };
    let (with, mut plain): (Vec<Pred>, Vec<Pred>) = preds.into_iter().partition(Pred::has_subquery);
    if with.is_empty() {
        return Logical::Filter { input, preds: plain };
    }
    let outer_rows = estimate::rows(&input) * estimate::kept(&plain, &input);
    for pred in with {
        match unnested(&pred, outer_rows, pass.binder) {
            Some((right, on, pred)) => {
                pass.changed();
                let (left, right) = (input, Input::new(right));
                input = Input::new(Logical::Join { kind: JoinKind::Inner, left, right, on, hint: None });
                plain.push(pred);
            }
            None => plain.push(pred),
        }
    }
    Logical::Filter { input, preds: plain }
}

/// What to join, on what, and the condition over its column.
fn unnested(pred: &Pred, outer_rows: f64, binder: &mut Binder<'_>) -> Option<(Logical, Vec<Pred>, Pred)> {
    let Pred::Compare(compare) = pred else { return None };
    let sub = match (strict_subquery(&compare.left), strict_subquery(&compare.right)) {
        (Some(sub), None) if !compare.right.has_subquery() => sub,
        (None, Some(sub)) if !compare.left.has_subquery() => sub,
        _ => return None,
    };
    if sub.cacheable || sub.args.is_empty() || outer_rows <= FEW_ROWS {
        return None;
    }
    let known = binder.subqueries.get(sub.id)?;
    let [column] = known.wanted[..] else { return None };
    let logical = known.logical.clone();
    let (exprs, aggregates, inner) = shape(&logical)?;
    if !is_null_without_rows(column, exprs, aggregates) {
        return None;
    }
    let Logical::Filter { input: source, preds } = inner else { return None };
    let slots: Vec<usize> = sub.args.iter().map(|(slot, _)| *slot).collect();
    let (mut keys, mut on, mut inside) = (Vec::new(), Vec::new(), Vec::new());
    for pred in preds {
        match correlated(pred, sub, &slots) {
            Some((own, outer, collation)) => {
                let output = binder.new_col();
                keys.push(GroupCol { output, expr: own, collation });
                on.push(Pred::Compare(Box::new(CompareExpr {
                    op: CompareOp::Equal,
                    left: outer,
                    right: Expr::Col(output),
                    collation,
                })));
            }
            None => inside.push(pred.clone()),
        }
    }
    let input = Logical::clone(source).filtered(inside);
    if keys.is_empty() || mentions(&input, &slots) || is_cheap(source, &keys, outer_rows) {
        return None;
    }
    let aggregates = aggregates.to_vec();
    let mut right =
        Logical::Aggregate { input: Input::new(input), keys, aggregates, scalar: false, totals: Vec::new() };
    if let Some(exprs) = exprs {
        right = Logical::Project { input: Input::new(right), exprs: exprs.to_vec() };
    }
    if mentions(&right, &slots) {
        return None;
    }
    let mut compare = compare.clone();
    replace(&mut compare.left, column);
    replace(&mut compare.right, column);
    Some((right, on, Pred::Compare(compare)))
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

/// The parts of a subquery that computes aggregates over all of its rows: the expressions over them, if any, the
/// aggregates, and what they read.
type Shape<'l> = (Option<&'l [(ColId, Expr)]>, &'l [Aggregate], &'l Logical);

fn shape(logical: &Logical) -> Option<Shape<'_>> {
    stack::with_room(|| match logical {
        Logical::Aggregate { input, keys, aggregates, scalar: true, .. } if keys.is_empty() => {
            Some((None, &aggregates[..], &**input))
        }
        Logical::Project { input, exprs } => match shape(input)? {
            (None, aggregates, inner) => Some((Some(&exprs[..]), aggregates, inner)),
            _ => None,
        },
        _ => None,
    })
}

/// Whether the column is NULL when the aggregates have seen no row.
fn is_null_without_rows(column: ColId, exprs: Option<&[(ColId, Expr)]>, aggregates: &[Aggregate]) -> bool {
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

/// The two sides of an equality between the subquery's own columns and outer values, the own side first.
fn correlated(pred: &Pred, sub: &SubRef, slots: &[usize]) -> Option<(Expr, Expr, Collation)> {
    let Pred::Compare(c) = pred else { return None };
    if c.op != CompareOp::Equal || pred.has_subquery() {
        return None;
    }
    let (own, outer) = match (is_made_of(&c.left, slots), is_made_of(&c.right, slots)) {
        (Made::Columns, Made::Outer) => (&c.left, &c.right),
        (Made::Outer, Made::Columns) => (&c.right, &c.left),
        _ => return None,
    };
    if own.is_volatile() || outer.is_volatile() {
        return None;
    }
    let mut outer = outer.clone();
    outer.leaves_mut(&mut |leaf| {
        if let Expr::Param(slot) = leaf
            && let Some((_, value)) = sub.args.iter().find(|(s, _)| s == slot)
        {
            *leaf = value.clone();
        }
    });
    Some((own.clone(), outer, c.collation))
}

/// What stands in an expression of a subquery.
#[derive(PartialEq, Eq)]
enum Made {
    /// Its own columns, no outer values.
    Columns,
    /// Outer values, no column.
    Outer,
    Other,
}

fn is_made_of(e: &Expr, slots: &[usize]) -> Made {
    let (mut columns, mut outer) = (false, false);
    e.leaves(&mut |leaf| match leaf {
        Expr::Col(_) => columns = true,
        Expr::Param(slot) => outer |= slots.contains(slot),
        _ => {}
    });
    match (columns, outer) {
        (true, false) => Made::Columns,
        (false, true) => Made::Outer,
        _ => Made::Other,
    }
}

/// Whether each run of the subquery is a seek that costs less than reading all of it once.
fn is_cheap(source: &Logical, keys: &[GroupCol], outer_rows: f64) -> bool {
    let columns: Vec<ColId> = keys
        .iter()
        .filter_map(|key| match key.expr {
            Expr::Col(id) => Some(id),
            _ => None,
        })
        .collect();
    with_conditions(source, &[]).is_some_and(|(get, own)| can_seek(get, &own, &columns, outer_rows, false))
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

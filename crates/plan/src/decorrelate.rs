//! EXISTS and IN with subqueries as semi and anti joins, where the subquery is simple enough: its outer references
//! stand only in the conditions of its WHERE. Everything else runs once per row, or once per statement.

use super::logical::{JoinKind, Logical};
use crate::input::Input;
use crate::nodes::Subquery;
use expr::{Expr, Pred, SubRef};

/// The join that a condition of WHERE is, or the condition back.
pub fn semi_join(pred: Pred, subqueries: &[Subquery]) -> Result<(JoinKind, Logical, Vec<Pred>), Box<Pred>> {
    match pred {
        Pred::Exists(sub) => {
            exists(*sub, JoinKind::Semi, subqueries).map_err(|sub| Box::new(Pred::Exists(sub)))
        }
        Pred::Not(inner) => match *inner {
            Pred::Exists(sub) => exists(*sub, JoinKind::Anti, subqueries)
                .map_err(|sub| Box::new(Pred::Not(Box::new(Pred::Exists(sub))))),
            other => Err(Box::new(Pred::Not(Box::new(other)))),
        },
        other => Err(Box::new(other)),
    }
}

/// A correlated EXISTS over `SELECT ... FROM ... WHERE conjuncts`.
fn exists(
    sub: SubRef,
    kind: JoinKind,
    subqueries: &[Subquery],
) -> Result<(JoinKind, Logical, Vec<Pred>), Box<SubRef>> {
    if sub.cacheable || sub.args.is_empty() {
        return Err(Box::new(sub));
    }
    let Some((input, preds)) = subqueries.get(sub.id).and_then(|of| simple(&of.logical)) else {
        return Err(Box::new(sub));
    };
    let slots: Vec<usize> = sub.args.iter().map(|(slot, _)| *slot).collect();
    if mentions(input, &slots) {
        return Err(Box::new(sub));
    }
    let (mut on, mut inside) = (Vec::new(), Vec::new());
    for pred in preds {
        if pred.has_subquery() {
            return Err(Box::new(sub));
        }
        let mut outer = false;
        pred.leaves(&mut |leaf| outer |= matches!(leaf, Expr::Param(slot) if slots.contains(slot)));
        if outer { on.push(pred.clone()) } else { inside.push(pred.clone()) }
    }
    if on.is_empty() {
        return Err(Box::new(sub));
    }
    for pred in &mut on {
        pred.leaves_mut(&mut |leaf| {
            if let Expr::Param(slot) = leaf
                && let Some((_, outer)) = sub.args.iter().find(|(s, _)| s == slot)
            {
                *leaf = outer.clone();
            }
        });
    }
    let mut right = input.clone();
    if !inside.is_empty() {
        right = Logical::Filter { input: Input::new(right), preds: inside };
    }
    Ok((kind, right, on))
}

/// A filter over tables and joins, below projections that EXISTS ignores.
fn simple(logical: &Logical) -> Option<(&Logical, &[Pred])> {
    stack::with_room(|| match logical {
        Logical::Project { input, .. } => simple(input),
        Logical::Filter { input, preds } if is_source(input) => Some((&**input, &preds[..])),
        _ => None,
    })
}

fn is_source(logical: &Logical) -> bool {
    stack::with_room(|| match logical {
        Logical::Get(_) | Logical::View(_) | Logical::Work(_) => true,
        Logical::Join { left, right, on, .. } => {
            is_source(left) && is_source(right) && !on.iter().any(Pred::has_subquery)
        }
        _ => false,
    })
}

/// Whether a source itself needs outer values.
fn mentions(logical: &Logical, slots: &[usize]) -> bool {
    stack::with_room(|| {
        let outer = |e: &Expr| {
            let mut found = false;
            e.leaves(&mut |leaf| found |= matches!(leaf, Expr::Param(slot) if slots.contains(slot)));
            found
        };
        match logical {
            Logical::View(view) => view.args.iter().any(outer),
            Logical::Join { left, right, on, .. } => {
                let mut found = mentions(left, slots) || mentions(right, slots);
                for pred in on {
                    pred.leaves(&mut |leaf| {
                        found |= matches!(leaf, Expr::Param(slot) if slots.contains(slot))
                    });
                }
                found
            }
            _ => false,
        }
    })
}

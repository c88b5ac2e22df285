//! Common terms out of OR: `(a AND b) OR (a AND c)` is `a AND (b OR c)`, in three-valued logic too. Without it an equality that
//! stands in each branch joins nothing.

use super::rule::{Pass, Rewrite};
use super::visit::{is_volatile, with_inputs};
use crate::logical::Logical;
use expr::Pred;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "OrFactors", apply: node };

fn node(logical: Logical, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Filter { input, preds } => Logical::Filter { input, preds: factored(preds, pass) },
        Logical::Join { kind, left, right, on, hint } => {
            Logical::Join { kind, left, right, on: factored(on, pass), hint }
        }
        other => other,
    }
}

fn factored(preds: Vec<Pred>, pass: &mut Pass<'_, '_>) -> Vec<Pred> {
    let (preds, changes) = terms(preds);
    (0..changes).for_each(|_| pass.changed());
    preds
}

/// The conditions with common terms of their ORs alone, and how many ORs had some.
fn terms(preds: Vec<Pred>) -> (Vec<Pred>, usize) {
    let mut out = Vec::with_capacity(preds.len());
    let mut changes = 0;
    for pred in preds {
        match pred {
            Pred::Or(branches) => changes += usize::from(factor(branches, &mut out)),
            other => out.push(other),
        }
    }
    (out, changes)
}

/// The conjuncts that an OR is; whether they are others than the OR.
fn factor(branches: Vec<Pred>, out: &mut Vec<Pred>) -> bool {
    let mut lists: Vec<Vec<Pred>> = Vec::with_capacity(branches.len());
    for branch in branches {
        let mut list = Vec::new();
        branch.into_conjuncts(&mut list);
        lists.push(list);
    }
    let Some((first, others)) = lists.split_first_mut() else { return false };
    let before = out.len();
    let mut at = 0;
    while let Some(candidate) = first.get(at) {
        let places: Option<Vec<usize>> =
            others.iter().map(|list| list.iter().position(|p| same(p, candidate))).collect();
        match places {
            Some(places) if !is_volatile(candidate) => {
                out.push(first.remove(at));
                others.iter_mut().zip(places).for_each(|(list, place)| drop(list.remove(place)));
            }
            _ => at += 1,
        }
    }
    let changed = out.len() > before;
    // A branch of nothing but common terms is true where they are.
    if lists.iter().all(|list| !list.is_empty()) {
        let rest = lists.into_iter().filter_map(Pred::from_conjuncts).collect();
        out.push(Pred::Or(rest));
    }
    changed
}

/// Whether two conditions are written the same way.
fn same(a: &Pred, b: &Pred) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b) && format!("{a:?}") == format!("{b:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expr::{CompareExpr, Expr};
    use syntax::ast::CompareOp;
    use types::{Collation, Value};

    fn is(column: u32, value: i32) -> Pred {
        Pred::Compare(Box::new(CompareExpr {
            op: CompareOp::Equal,
            left: Expr::Col(column),
            right: Expr::Const(Value::Int(value)),
            collation: Collation::DEFAULT,
        }))
    }

    fn shown(preds: &[Pred]) -> String {
        let one = |p: &Pred| match p {
            Pred::Compare(c) => match (&c.left, &c.right) {
                (Expr::Col(id), Expr::Const(value)) => format!("{id}={}", value.as_i64().unwrap_or(-1)),
                _ => "?".into(),
            },
            Pred::Or(list) => format!("or({})", shown(list)),
            Pred::And(list) => format!("and({})", shown(list)),
            _ => "?".into(),
        };
        preds.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn common_terms_stand_alone() {
        let or = |branches: Vec<Vec<Pred>>| Pred::Or(branches.into_iter().map(Pred::And).collect());
        let pred = or(vec![vec![is(1, 1), is(2, 2)], vec![is(3, 3), is(1, 1)], vec![is(1, 1), is(4, 4)]]);
        assert_eq!(shown(&terms(vec![pred]).0), "1=1 or(2=2 3=3 4=4)");
        let pred = or(vec![vec![is(1, 1)], vec![is(1, 1), is(2, 2)]]);
        assert_eq!(shown(&terms(vec![pred]).0), "1=1", "the first branch is implied");
        let pred = or(vec![vec![is(1, 1), is(2, 2)], vec![is(1, 2), is(2, 1)]]);
        assert_eq!(shown(&terms(vec![pred]).0), "or(and(1=1 2=2) and(1=2 2=1))");
    }
}

//! Common terms out of OR: `(a AND b) OR (a AND c)` is `a AND (b OR c)`, in three-valued logic too.
//! Without it an equality that stands in each branch joins nothing.

use super::rule::{Rewrite, RewritePass};
use super::visit::with_inputs;
use expr::Pred;
use logical::tree::Logical;
use std::collections::HashSet;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "OrFactors", apply: node };

fn node(logical: Logical, pass: &mut RewritePass<'_, '_>) -> Logical {
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

fn factored(preds: Vec<Pred>, pass: &mut RewritePass<'_, '_>) -> Vec<Pred> {
    let (preds, changes) = terms(preds, &|| pass.is_over());
    (0..changes).for_each(|_| pass.changed());
    preds
}

/// The conditions with common terms of their ORs alone, and how many ORs had some.
fn terms(preds: Vec<Pred>, over: &dyn Fn() -> bool) -> (Vec<Pred>, usize) {
    let mut out = Vec::with_capacity(preds.len());
    let mut changes = 0;
    for pred in preds {
        match pred {
            Pred::Or(branches) => changes += usize::from(factor(branches, &mut out, over)),
            other => out.push(other),
        }
    }
    (out, changes)
}

/// The conjuncts that an OR is; whether they are others than the OR.
fn factor(branches: Vec<Pred>, out: &mut Vec<Pred>, over: &dyn Fn() -> bool) -> bool {
    let mut lists: Vec<Vec<Pred>> = Vec::with_capacity(branches.len());
    for branch in branches {
        let mut list = Vec::new();
        branch.into_conjuncts(&mut list);
        lists.push(list);
    }
    let common = common(&lists, over);
    let mut factors = Vec::new();
    for (number, list) in lists.iter_mut().enumerate().filter(|_| !common.is_empty()) {
        // One that stands twice in a branch is common once.
        let mut left = common.clone();
        let (own, rest): (Vec<Pred>, Vec<Pred>) =
            std::mem::take(list).into_iter().partition(|pred| left.remove(&written(pred)));
        *list = rest;
        if number == 0 {
            factors = own;
        }
    }
    let changed = !factors.is_empty();
    out.extend(factors);
    // A branch of nothing but common terms is true where they are.
    if lists.iter().all(|list| !list.is_empty()) {
        let rest = lists.into_iter().filter_map(Pred::from_conjuncts).collect();
        out.push(Pred::Or(rest));
    }
    changed
}

/// How the terms are written that stand in every one of the lists; none when the session was told
/// to stop.
fn common(lists: &[Vec<Pred>], over: &dyn Fn() -> bool) -> HashSet<String> {
    let Some((first, others)) = lists.split_first() else { return HashSet::new() };
    let mut common: HashSet<String> =
        first.iter().filter(|pred| !pred.is_volatile()).map(written).collect();
    for list in others {
        if common.is_empty() || over() {
            return HashSet::new();
        }
        let own: HashSet<String> = list.iter().map(written).collect();
        common.retain(|term| own.contains(term));
    }
    common
}

/// How a condition is written: the same for two that are.
fn written(pred: &Pred) -> String {
    format!("{pred:?}")
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
                (Expr::Col(id), Expr::Const(value)) => {
                    format!("{id}={}", value.as_i64().unwrap_or(-1))
                }
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
        let pred =
            or(vec![vec![is(1, 1), is(2, 2)], vec![is(3, 3), is(1, 1)], vec![is(1, 1), is(4, 4)]]);
        assert_eq!(shown(&terms(vec![pred], &|| false).0), "1=1 or(2=2 3=3 4=4)");
        let pred = or(vec![vec![is(1, 1)], vec![is(1, 1), is(2, 2)]]);
        assert_eq!(shown(&terms(vec![pred], &|| false).0), "1=1", "the first branch is implied");
        let pred = or(vec![vec![is(1, 1), is(2, 2)], vec![is(1, 2), is(2, 1)]]);
        assert_eq!(shown(&terms(vec![pred], &|| false).0), "or(and(1=1 2=2) and(1=2 2=1))");
    }
}

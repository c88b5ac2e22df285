//! `x = 1 OR x = 2 OR ...` of many constants is `x IN (1, 2, ...)`, and `x <> 1 AND x <> 2 AND ...`
//! is `x NOT IN (1, 2, ...)`, in three-valued logic too: programs write such lists term by term. A
//! row's value is then looked up in the constants instead of compared with one after another.

use super::rule::{Rewrite, RewritePass};
use super::visit::with_inputs;
use crate::access_path::MOST_RANGES;
use expr::{CompareExpr, Expr, InListExpr, Pred};
use logical::tree::Logical;
use std::collections::HashMap;
use syntax::ast::CompareOp;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "EqualityList", apply: node };

fn node(logical: Logical, pass: &mut RewritePass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Filter { input, preds } => {
            Logical::Filter { input, preds: conjuncts(preds, pass) }
        }
        Logical::Join { kind, left, right, on, hint } => {
            Logical::Join { kind, left, right, on: conjuncts(on, pass), hint }
        }
        other => other,
    }
}

/// The terms of an AND, with lists in them, and in the terms.
fn conjuncts(preds: Vec<Pred>, pass: &mut RewritePass<'_, '_>) -> Vec<Pred> {
    let preds = preds.into_iter().map(|pred| within(pred, pass)).collect();
    with_lists(preds, CompareOp::NotEqual, pass)
}

/// A condition with lists in it.
fn within(pred: Pred, pass: &mut RewritePass<'_, '_>) -> Pred {
    stack::with_room(|| match pred {
        Pred::And(list) => single(conjuncts(list, pass), Pred::And),
        Pred::Or(list) => {
            let list = list.into_iter().map(|pred| within(pred, pass)).collect();
            single(with_lists(list, CompareOp::Equal, pass), Pred::Or)
        }
        Pred::Not(inner) => Pred::Not(Box::new(within(*inner, pass))),
        other => other,
    })
}

/// One term by itself, or several as they belong together.
fn single(mut list: Vec<Pred>, of: fn(Vec<Pred>) -> Pred) -> Pred {
    match list.len() {
        1 => list.remove(0),
        _ => of(list),
    }
}

/// Many comparisons of one column with constants by an operator as one list, in the place of the
/// first of them.
fn with_lists(preds: Vec<Pred>, op: CompareOp, pass: &mut RewritePass<'_, '_>) -> Vec<Pred> {
    if preds.len() <= MOST_RANGES {
        return preds;
    }
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, pred) in preds.iter().enumerate() {
        if let Some(compare) = term(pred, op) {
            let what = format!("{:?} {:?}", compare.left, compare.collation);
            places.entry(what).or_default().push(at);
        }
    }
    places.retain(|_, terms| terms.len() > MOST_RANGES);
    if places.is_empty() {
        return preds;
    }
    let mut preds: Vec<Option<Pred>> = preds.into_iter().map(Some).collect();
    for terms in places.into_values() {
        let Some(list) = list_of(&mut preds, &terms, op) else { continue };
        preds[terms[0]] = Some(list);
        pass.changed();
    }
    preds.into_iter().flatten().collect()
}

/// The list of the terms in these places, which are taken.
fn list_of(preds: &mut [Option<Pred>], terms: &[usize], op: CompareOp) -> Option<Pred> {
    let mut constants = Vec::with_capacity(terms.len());
    let mut first = None;
    for at in terms {
        let Some(Pred::Compare(compare)) = preds[*at].take() else {
            unreachable!("a term is a comparison")
        };
        let CompareExpr { left, right, collation, .. } = *compare;
        constants.push(right);
        if first.is_none() {
            first = Some((left, collation));
        }
    }
    let (operand, collation) = first?;
    let negated = op == CompareOp::NotEqual;
    Some(Pred::InList(Box::new(InListExpr::new(operand, constants, negated, collation))))
}

/// The comparison of a column, as it is or converted, with a constant.
fn term(pred: &Pred, op: CompareOp) -> Option<&CompareExpr> {
    let Pred::Compare(compare) = pred else { return None };
    let column = match &compare.left {
        Expr::Col(_) => true,
        Expr::Convert(c) => matches!(c.operand, Expr::Col(_)),
        _ => false,
    };
    (column && compare.op == op && compare.right.as_const().is_some()).then_some(compare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Collation, Value};

    fn compare(op: CompareOp, column: u32, value: i32) -> Pred {
        let (left, right) = (Expr::Col(column), Expr::Const(Value::Int(value)));
        Pred::Compare(Box::new(CompareExpr { op, left, right, collation: Collation::DEFAULT }))
    }

    #[test]
    fn terms_of_one_column_are_taken_and_the_others_stay() {
        let many = MOST_RANGES + 1;
        let mut preds: Vec<Option<Pred>> =
            (0..many as i32).map(|n| Some(compare(CompareOp::Equal, 1, n))).collect();
        preds.insert(1, Some(compare(CompareOp::Equal, 2, 0)));
        let terms: Vec<usize> = (0..=many).filter(|at| *at != 1).collect();
        let all = preds.iter().flatten();
        assert_eq!(all.filter(|pred| term(pred, CompareOp::Equal).is_some()).count(), many + 1);
        let Some(Pred::InList(list)) = list_of(&mut preds, &terms, CompareOp::Equal) else {
            panic!("a list")
        };
        assert_eq!((list.list.len(), list.negated, list.is_compared()), (many, false, false));
        assert_eq!(preds.iter().flatten().count(), 1);
        assert!(term(&compare(CompareOp::NotEqual, 1, 1), CompareOp::Equal).is_none());
    }
}

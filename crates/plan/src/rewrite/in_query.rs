//! `x IN (SELECT ...)` of a column that an index finds, where the subquery needs nothing of the row around it: its different values are
//! joined with the table, so that few of them are sought instead of all rows being tested. The search for an order of joins decides how.

use super::in_list::{joined, source_table};
use super::rule::{Pass, Rewrite};
use super::visit::with_inputs;
use crate::access_path::{read_cost, seek_cost};
use crate::bind::Binder;
use crate::estimate;
use crate::input::Input;
use crate::logical::{Get, Logical};
use crate::options::JoinMethods;
use expr::{ColId, ConvertExpr, Expr, Manner, Pred, QuantifiedExpr};
use syntax::ast::CompareOp;
use types::convert::Mode;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "InQuery", apply: node };

/// The share of what a read of the table costs that the seeks may cost: how many values there are is mostly guessed.
const SHARE: f64 = 0.5;

fn node(logical: Logical, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Filter { mut input, preds } => {
            let mut rest = Vec::with_capacity(preds.len());
            for at in 0..preds.len() {
                match test_of(&preds[at], &preds, &input, pass.binder) {
                    Some(test) => {
                        pass.changed();
                        let (values, value) = values_of(test, pass.binder);
                        let (operand, collation) = (test.operand.clone(), test.collation);
                        input = Input::new(joined(input.into_inner(), values, value, operand, collation));
                    }
                    None => rest.push(preds[at].clone()),
                }
            }
            match rest.is_empty() {
                true => input.into_inner(),
                false => Logical::Filter { input, preds: rest },
            }
        }
        other => other,
    }
}

/// The test that a condition, one of these on the rows of the input, is, when its column is better sought.
fn test_of<'p>(
    pred: &'p Pred,
    all: &[Pred],
    input: &Logical,
    binder: &Binder<'_>,
) -> Option<&'p QuantifiedExpr> {
    let Pred::Quantified(test) = pred else { return None };
    let Expr::Col(id) = test.operand else { return None };
    // A hint of how to join is for joins that are written.
    let free = binder.join_methods == JoinMethods::ALL;
    let once = free && test.op == CompareOp::Equal && !test.all && test.query.cacheable;
    let query = binder.subqueries.get(test.query.id).filter(|_| once)?;
    let [column] = query.wanted[..] else { return None };
    let rows = estimate::rows(&query.logical);
    let values = estimate::groups((&*query.logical, rows), std::iter::once(Some(column)));
    // A row that is locked is read without a join.
    let sought = |get: &Get| {
        let one = seek_cost(get, all, &[id]).filter(|_| get.locks.is_none());
        one.is_some_and(|one| values * one < read_cost(get, all) * SHARE)
    };
    source_table(input, id).is_some_and(sought).then_some(test)
}

/// The rows of the subquery, and their column in the type of the comparison.
fn values_of(test: &QuantifiedExpr, binder: &mut Binder<'_>) -> (Logical, ColId) {
    let query = &binder.subqueries[test.query.id];
    let (logical, column) = (Logical::clone(&query.logical), query.wanted[0]);
    let Some((from, to)) = test.query.convert else { return (logical, column) };
    let value = binder.new_col();
    let convert = ConvertExpr {
        operand: Expr::Col(column),
        from,
        to,
        style: 0,
        mode: Mode::Implicit,
        or_null: false,
        manner: Manner::default(),
        collation: test.collation,
    };
    let exprs = vec![(value, Expr::Convert(Box::new(convert)))];
    (Logical::Project { input: Input::new(logical), exprs }, value)
}

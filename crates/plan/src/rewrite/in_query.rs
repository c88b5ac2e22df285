//! `x IN (SELECT ...)` of a column that an index finds, where the subquery needs nothing of the row
//! around it: its different values are joined with the table where seeks of them cost less than a
//! read of it whose rows are looked up among them. The search for an order of joins decides how.

use super::in_list::{joined, source_table};
use super::rule::{Rewrite, RewritePass};
use super::visit::with_inputs;
use crate::access_path::{read_cost, seek_cost};
use crate::cost::{BUILD, PROBE};
use crate::estimate;
use crate::statement::Statement;
use crate::statistics::table_rows;
use bind::options::JoinMethods;
use expr::{ColId, ConvertExpr, ErrorRules, Expr, Pred, QuantifiedExpr};
use logical::tree::input::Input;
use logical::tree::{Get, Logical};
use std::sync::Arc;
use syntax::ast::CompareOp;
use types::convert::Mode;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "InQuery", apply: node };

fn node(logical: Logical, pass: &mut RewritePass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Filter { mut input, preds } => {
            let mut rest = Vec::with_capacity(preds.len());
            for at in 0..preds.len() {
                match test_of(&preds[at], &preds, &input, pass.statement) {
                    Some(test) => {
                        pass.changed();
                        let (values, value) = values_of(test, pass.statement);
                        let (operand, collation) = (test.operand.clone(), test.collation);
                        input = Input::new(joined(
                            input.into_inner(),
                            values,
                            value,
                            operand,
                            collation,
                        ));
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

/// The test that a condition, one of these on the rows of the input, is, when its column is better
/// sought.
fn test_of<'p>(
    pred: &'p Pred,
    all: &[Pred],
    input: &Logical,
    statement: &Statement<'_>,
) -> Option<&'p QuantifiedExpr> {
    let Pred::Quantified(test) = pred else { return None };
    let Expr::Col(id) = test.operand else { return None };
    // A hint of how to join is for joins that are written.
    let free = statement.join_methods == JoinMethods::ALL;
    let once = free && test.op == CompareOp::Equal && !test.all && test.query.cacheable;
    let query = statement.subqueries.get(test.query.id).filter(|_| once)?;
    let [column] = query.wanted[..] else { return None };
    let rows = estimate::rows(&query.logical);
    let values = estimate::groups((&*query.logical, rows), std::iter::once(Some(column)));
    // Whatever locks the table is read with: a condition with a subquery is tested above the read,
    // whose rows are all locked then. Those that are sought are fewer.
    let sought = |get: &Get| is_sought(get, all, id, values);
    source_table(input, id).is_some_and(sought).then_some(test)
}

/// Whether seeks of so many different values of a column cost less than to read the table under
/// these conditions and to look each row up among the values: the two ways that the order of joins
/// weighs, with its costs.
fn is_sought(get: &Get, preds: &[Pred], id: ColId, values: f64) -> bool {
    let Some(one) = seek_cost(get, preds, &[id]) else { return false };
    let read = read_cost(get, preds);
    let is_tested_before = |pred: &&Pred| {
        let mut used = Vec::new();
        pred.columns(&mut used);
        !pred.has_subquery() && used.iter().all(|id| get.position(*id).is_some())
    };
    let table = Logical::Get(Arc::new(get.clone()));
    let share = estimate::kept(preds.iter().filter(is_tested_before), &table);
    // No row is read for less than a unit.
    let looked_up = (table_rows(&get.table) * share).min(read);
    values * one < read + values * BUILD + looked_up * PROBE
}

/// The rows of the subquery, and their column in the type of the comparison.
fn values_of(test: &QuantifiedExpr, statement: &mut Statement<'_>) -> (Logical, ColId) {
    let query = &statement.subqueries[test.query.id];
    let (logical, column) = (Logical::clone(&query.logical), query.wanted[0]);
    let Some((from, to)) = test.query.convert else { return (logical, column) };
    let value = statement.new_col();
    let convert = ConvertExpr {
        operand: Expr::Col(column),
        from,
        to,
        style: 0,
        mode: Mode::Implicit,
        or_null: false,
        manner: ErrorRules::default(),
        collation: test.collation,
    };
    let exprs = vec![(value, Expr::Convert(Box::new(convert)))];
    (Logical::Project { input: Input::new(logical), exprs }, value)
}

//! `x IN (@a, @b, ...)` of many variables and expressions and a column that no index finds: the
//! list becomes a relation of different values that is joined with the table, so that a row is
//! looked up in a hash table instead of compared with one after another. A list of constants is
//! looked up anyhow (`expr::InListExpr`), and one that an index finds is ranges of a seek
//! (`access_path`).

use super::rule::{Pass, Rewrite};
use super::visit::with_inputs;
use crate::access_path::{MOST_RANGES, can_seek};
use crate::statement::Statement;
use bind::options::JoinMethods;
use expr::{ColId, CompareExpr, Expr, InListExpr, Pred};
use logical::tree::input::Input;
use logical::tree::{Get, JoinKind, Logical};
use syntax::ast::CompareOp;
use types::Collation;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "InList", apply: node };

fn node(logical: Logical, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Filter { input, mut preds } => {
            // A hint of how to join is for joins that are written.
            let free = pass.statement.join_methods == JoinMethods::ALL;
            let found = preds.iter().position(|pred| free && is_joined(pred, &preds, &input));
            let Some(at) = found else { return Logical::Filter { input, preds } };
            let Pred::InList(list) = preds.remove(at) else { unreachable!("it was a list") };
            pass.changed();
            let InListExpr { operand, list, collation, .. } = *list;
            let (values, value) = values_of(list, pass.statement);
            joined(input.into_inner(), values, value, operand, collation).filtered(preds)
        }
        other => other,
    }
}

/// Whether a condition, one of these on the rows of the input, is a list that is better joined.
fn is_joined(pred: &Pred, all: &[Pred], input: &Logical) -> bool {
    let Pred::InList(list) = pred else { return false };
    let Expr::Col(id) = list.operand else { return false };
    let plain = !list.negated
        && list.list.len() > MOST_RANGES
        && list.is_compared()
        && list.list.iter().all(|e| e.is_row_free() && !e.is_volatile());
    let values = list.list.len() as f64;
    // A row that is locked only if the conditions hold is read without a join.
    let free = |get: &Get| get.locks.is_none_or(|locks| locks.are_of_all_read());
    let scanned = |get: &Get| free(get) && !can_seek(get, all, &[id], values, false);
    plain && source_table(input, id).is_some_and(scanned)
}

/// The table that the column comes from, through filters and inner joins alone: nothing that a row
/// more or less would change.
pub fn source_table(input: &Logical, id: ColId) -> Option<&Get> {
    stack::with_room(|| match input {
        Logical::Get(get) => get.position(id).map(|_| &**get),
        Logical::Filter { input, .. } => source_table(input, id),
        Logical::Join { kind: JoinKind::Inner, left, right, hint: None, .. } => {
            source_table(left, id).or_else(|| source_table(right, id))
        }
        _ => None,
    })
}

/// The rows of a list, and their column.
fn values_of(list: Vec<Expr>, statement: &mut Statement<'_>) -> (Logical, ColId) {
    let value = statement.new_col();
    let rows = list.into_iter().map(|e| vec![e]).collect();
    (Logical::Values { rows, cols: vec![value] }, value)
}

/// The rows of the input whose operand equals a value, each once.
pub fn joined(
    input: Logical,
    values: Logical,
    value: ColId,
    operand: Expr,
    collation: Collation,
) -> Logical {
    let different = Logical::Distinct { input: Input::new(values), cols: vec![(value, collation)] };
    let compare =
        CompareExpr { op: CompareOp::Equal, left: Expr::Col(value), right: operand, collation };
    Logical::Join {
        kind: JoinKind::Inner,
        left: Input::new(different),
        right: Input::new(input),
        on: vec![Pred::Compare(Box::new(compare))],
        hint: None,
    }
}

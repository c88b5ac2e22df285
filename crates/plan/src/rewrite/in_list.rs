//! `x IN (1, 2, 3, ...)` of a column that an index begins with, with more values than one seek has ranges: a seek for each value, where that
//! is cheaper than a scan. The list becomes a relation of different values that is joined with the table; the search for an order
//! of joins decides how.

use super::rule::{Pass, Rewrite};
use super::visit::with_inputs;
use crate::access_path::{MOST_RANGES, can_seek};
use crate::bind::Binder;
use crate::estimate;
use crate::input::Input;
use crate::logical::{JoinKind, Logical};
use expr::{ColId, CompareExpr, Expr, InListExpr, Pred};
use syntax::ast::CompareOp;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "InList", apply: node };

fn node(logical: Logical, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Filter { input, mut preds } => {
            let found = preds.iter().position(|pred| list_of(pred, &input).is_some());
            let Some(at) = found else { return Logical::Filter { input, preds } };
            let Pred::InList(list) = preds.remove(at) else { unreachable!("it was a list") };
            pass.changed();
            joined(input.into_inner(), *list, pass.binder).filtered(preds)
        }
        other => other,
    }
}

/// The list that a condition is, when its column is better sought.
fn list_of<'p>(pred: &'p Pred, input: &Logical) -> Option<&'p InListExpr> {
    let Pred::InList(list) = pred else { return None };
    let Expr::Col(id) = list.operand else { return None };
    let sought = |list: &InListExpr| {
        let get = source_table(input, id)?;
        // A point query wants its row without a join.
        let values = list.list.len() as f64;
        (get.locks.is_none() && can_seek(get, &[], &[id], values, false)).then_some(())
    };
    let plain = !list.negated
        && list.list.len() > MOST_RANGES
        && list.list.iter().all(|e| e.is_row_free() && !e.is_volatile());
    (plain && sought(list).is_some()).then_some(list)
}

/// The table that the column comes from, through filters and inner joins alone: nothing that a row more or less would change.
fn source_table(input: &Logical, id: ColId) -> Option<&crate::logical::Get> {
    stack::with_room(|| match input {
        Logical::Get(get) => get.position(id).map(|_| &**get),
        Logical::Filter { input, .. } => source_table(input, id),
        Logical::Join { kind: JoinKind::Inner, left, right, hint: None, .. } => {
            source_table(left, id).or_else(|| source_table(right, id))
        }
        _ => None,
    })
}

fn joined(input: Logical, list: InListExpr, binder: &mut Binder<'_>) -> Logical {
    let value = binder.new_col();
    let rows = list.list.into_iter().map(|e| vec![e]).collect();
    let values = Logical::Values { rows, cols: vec![value] };
    let different = Logical::Distinct { input: Input::new(values), cols: vec![(value, list.collation)] };
    let compare = CompareExpr {
        op: CompareOp::Equal,
        left: Expr::Col(value),
        right: list.operand,
        collation: list.collation,
    };
    let on = vec![Pred::Compare(Box::new(compare))];
    debug_assert!(estimate::rows(&different) >= 1.0);
    Logical::Join {
        kind: JoinKind::Inner,
        left: Input::new(different),
        right: Input::new(input),
        on,
        hint: None,
    }
}

//! System views that are asked for the rows with a value: the equalities of a query that go to the
//! view itself, and whether a join asks the view once for each row of its other side. The
//! conditions stay above the view.

use expr::{ColId, Expr, Pred};
use logical::tree::ViewScan;
use syntax::ast::CompareOp;
use types::DataType;

/// Rows that a view is expected to find by a value.
pub const FOUND: f64 = 5.0;
/// What it costs to ask a view, in rows that it makes.
const ASK: f64 = 5.0;

/// The position of a column of the view, also where it is converted to a longer string type: equal
/// texts stay equal.
fn position(view: &ViewScan, e: &Expr) -> Option<usize> {
    let id = match e {
        Expr::Col(id) => *id,
        Expr::Convert(c) if widens(c.from, c.to) => match c.operand {
            Expr::Col(id) => id,
            _ => return None,
        },
        _ => return None,
    };
    let at = id.checked_sub(view.first)? as usize;
    (at < view.view.columns().len()).then_some(at)
}

fn widens(from: DataType, to: DataType) -> bool {
    from.is_string()
        && to.is_string()
        && (to.is_unicode() || !from.is_unicode())
        && to.length().is_none_or(|to| from.length().is_some_and(|from| to >= from))
}

/// Columns that the view seeks by, with the values that the conditions want of them.
pub fn wanted(view: &ViewScan, preds: &[Pred]) -> Vec<(usize, Expr)> {
    let sought = view.view.sought();
    if sought.is_empty() {
        return Vec::new();
    }
    let row_free = |e: &Expr| {
        let mut used = Vec::new();
        e.columns(&mut used);
        used.is_empty() && !e.is_volatile() && !e.has_subquery()
    };
    let equality = |pred: &Pred| {
        let Pred::Compare(c) = pred else { return None };
        if c.op != CompareOp::Equal {
            return None;
        }
        let side = |column: &Expr, value: &Expr| {
            let at = position(view, column).filter(|at| sought.contains(at))?;
            row_free(value).then(|| (at, value.clone()))
        };
        side(&c.left, &c.right).or_else(|| side(&c.right, &c.left))
    };
    preds.iter().filter_map(equality).collect()
}

/// Whether a join with so many rows on its other side is cheaper when it asks the view for each of
/// them.
pub fn pays(view: &ViewScan, columns: &[ColId], outer_rows: f64) -> bool {
    let sought = view.view.sought();
    let found = columns
        .iter()
        .any(|id| id.checked_sub(view.first).is_some_and(|at| sought.contains(&(at as usize))));
    found && outer_rows * (ASK + FOUND) < view.view.expected_rows(&view.db)
}

//! Whether a condition keeps only rows that pass a test of a filter: that of an index, or of
//! statistics. Guarantee: a condition that is said to imply a test does, whatever parameters and
//! variables are.

use crate::conversions::keeps_apart;
use catalog::defs::filter::{Constant, FilterTerm, FilterTest};
use expr::{ColId, CompareExpr, Expr, Pred, mirrored};
use std::cmp::Ordering;
use syntax::ast::CompareOp;
use types::convert::{Mode, convert};
use types::{Collation, DataType, Decimal, Value, ops};

/// Whether a condition alone implies the test.
pub(crate) fn implies(pred: &Pred, id: ColId, term: &FilterTerm) -> bool {
    match pred {
        Pred::Const(Some(false) | None) => true,
        Pred::And(list) => list.iter().any(|pred| implies(pred, id, term)),
        Pred::Or(list) => !list.is_empty() && list.iter().all(|pred| implies(pred, id, term)),
        Pred::IsNull(e, true) if is_column(e, id) => matches!(term.test, FilterTest::IsNotNull),
        Pred::IsNull(e, false) => {
            matches!(**e, Expr::Col(column) if column == id)
                && matches!(term.test, FilterTest::IsNull)
        }
        Pred::Like(like) if is_column(&like.operand, id) => {
            matches!(term.test, FilterTest::IsNotNull)
        }
        Pred::InList(list) if is_column(&list.operand, id) => match &term.test {
            FilterTest::IsNotNull => true,
            _ if list.negated || !is_same(&list.operand, id) => false,
            _ => list
                .list
                .iter()
                .all(|value| one_implies(CompareOp::Equal, value, list.collation, term)),
        },
        Pred::Compare(c) => compared(c, id, term),
        _ => false,
    }
}

/// The column itself, or what is NULL where the column is.
fn is_column(e: &Expr, id: ColId) -> bool {
    match e {
        Expr::Col(column) => *column == id,
        Expr::Convert(c) => is_column(&c.operand, id),
        _ => false,
    }
}

/// The column itself, or its value in a wider type.
fn is_same(e: &Expr, id: ColId) -> bool {
    match e {
        Expr::Col(column) => *column == id,
        Expr::Convert(c) => {
            c.mode == Mode::Implicit && keeps_apart(c.from, c.to) && is_same(&c.operand, id)
        }
        _ => false,
    }
}

fn compared(c: &CompareExpr, id: ColId, term: &FilterTerm) -> bool {
    if matches!(term.test, FilterTest::IsNotNull) {
        return is_column(&c.left, id) || is_column(&c.right, id);
    }
    sides(c, id).is_some_and(|(op, value)| one_implies(op, value, c.collation, term))
}

/// The comparison of a column with something, the column on the left.
fn sides(c: &CompareExpr, id: ColId) -> Option<(CompareOp, &Expr)> {
    if is_same(&c.left, id) {
        Some((c.op, &c.right))
    } else if is_same(&c.right, id) {
        Some((mirrored(c.op), &c.left))
    } else {
        None
    }
}

/// Whether `column op value` implies the test.
fn one_implies(op: CompareOp, value: &Expr, collation: Collation, term: &FilterTerm) -> bool {
    let Some(value) = value.as_const() else { return false };
    if value.is_null() {
        // Nothing is compared with NULL and true.
        return true;
    }
    let order = |constant: &Constant| order(value, constant, collation, term.collation);
    match &term.test {
        FilterTest::IsNull => false,
        FilterTest::IsNotNull => true,
        FilterTest::Compare(wanted, constant) => {
            order(constant).is_some_and(|order| follows(op, order, *wanted))
        }
        FilterTest::In(list) => {
            op == CompareOp::Equal && list.iter().any(|one| order(one) == Some(Ordering::Equal))
        }
    }
}

/// `column op value` where the value is in an order to the filter's constant: whether the column
/// then satisfies the filter's comparison.
fn follows(op: CompareOp, order: Ordering, wanted: CompareOp) -> bool {
    use CompareOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    match op {
        Equal => wanted.holds(order),
        NotEqual => wanted == NotEqual && order.is_eq(),
        Greater => match wanted {
            Greater | GreaterEqual | NotEqual => order.is_ge(),
            _ => false,
        },
        GreaterEqual => match wanted {
            GreaterEqual => order.is_ge(),
            Greater | NotEqual => order.is_gt(),
            _ => false,
        },
        Less => match wanted {
            Less | LessEqual | NotEqual => order.is_le(),
            _ => false,
        },
        LessEqual => match wanted {
            LessEqual => order.is_le(),
            Less | NotEqual => order.is_lt(),
            _ => false,
        },
    }
}

/// The order of two constants that one column is compared with; `None` where they are not of one
/// kind.
fn order(
    value: &Value,
    constant: &Constant,
    collation: Collation,
    own: Collation,
) -> Option<Ordering> {
    let text = matches!(value, Value::Str(_));
    if text && collation != own {
        return None;
    }
    match (value, &constant.value) {
        (a, b) if std::mem::discriminant(a) == std::mem::discriminant(b) => ops::compare(a, b, own),
        (a, b) => exact(a)?.partial_cmp(&exact(b)?),
    }
}

/// A number that is compared by its value whatever its type.
fn exact(value: &Value) -> Option<Decimal> {
    let ty = value.natural_type();
    if !ty.is_number() || matches!(ty, DataType::Float | DataType::Real) {
        return None;
    }
    if let Value::Decimal(d) = value {
        return Some(*d);
    }
    let wide = DataType::numeric(38, if ty.is_integer() { 0 } else { 6 });
    match convert(value, ty, wide, 0, Mode::Implicit).ok()? {
        Value::Decimal(d) => Some(d),
        _ => None,
    }
}

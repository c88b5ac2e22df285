//! Whether a condition cannot be true of a row in which some columns are all NULL, as an outer join
//! makes them. Guarantee: what is said holds whatever the other columns, variables and parameters
//! are. Only what is NULL for certain counts: not CASE, COALESCE, ISNULL, nor a subquery.

use expr::{CompareExpr, Expr, Pred};
use logical::columns::ColumnSet;
use types::DataType;

/// Whether a condition is never true when these columns are NULL.
pub fn is_never_true(pred: &Pred, nulls: &ColumnSet) -> bool {
    match pred {
        Pred::Const(truth) => *truth != Some(true),
        Pred::Compare(c) => is_null(&c.left, nulls) || is_null(&c.right, nulls),
        // NOT DISTINCT FROM a value is what NULL is not; the flag says NOT.
        Pred::Distinct(c, negated) => *negated && is_distinct(c, nulls),
        Pred::And(list) => stack::with_room(|| list.iter().any(|pred| is_never_true(pred, nulls))),
        Pred::Or(list) => stack::with_room(|| list.iter().all(|pred| is_never_true(pred, nulls))),
        Pred::Not(pred) => stack::with_room(|| is_never_false(pred, nulls)),
        Pred::IsNull(e, negated) => *negated && is_null(e, nulls),
        Pred::Like(like) => is_null(&like.operand, nulls) || is_null(&like.pattern, nulls),
        Pred::InList(list) => is_null(&list.operand, nulls),
        Pred::Exists(_) => false,
        // ALL is true of no rows.
        Pred::Quantified(q) => !q.all && is_null(&q.operand, nulls),
    }
}

/// Whether a condition is never false when these columns are NULL: its negation is never true.
fn is_never_false(pred: &Pred, nulls: &ColumnSet) -> bool {
    match pred {
        Pred::Const(truth) => *truth != Some(false),
        Pred::Distinct(c, negated) => !*negated && is_distinct(c, nulls),
        Pred::And(list) => stack::with_room(|| list.iter().all(|pred| is_never_false(pred, nulls))),
        Pred::Or(list) => stack::with_room(|| list.iter().any(|pred| is_never_false(pred, nulls))),
        Pred::Not(pred) => stack::with_room(|| is_never_true(pred, nulls)),
        Pred::IsNull(e, negated) => !*negated && is_null(e, nulls),
        // These are unknown when they are not true.
        Pred::Compare(_) | Pred::Like(_) | Pred::InList(_) => is_never_true(pred, nulls),
        Pred::Exists(_) | Pred::Quantified(_) => false,
    }
}

/// Whether one side is NULL and the other one a value.
fn is_distinct(c: &CompareExpr, nulls: &ColumnSet) -> bool {
    let value = |e: &Expr| e.as_const().is_some_and(|value| !value.is_null());
    (is_null(&c.left, nulls) && value(&c.right)) || (is_null(&c.right, nulls) && value(&c.left))
}

/// Whether an expression is NULL when these columns are.
fn is_null(e: &Expr, nulls: &ColumnSet) -> bool {
    match e {
        Expr::Const(value) => value.is_null(),
        Expr::Col(id) => nulls.contains(*id),
        Expr::Convert(c) => c.to != DataType::SqlVariant && is_null(&c.operand, nulls),
        Expr::Binary(b) => is_null(&b.left, nulls) || is_null(&b.right, nulls),
        Expr::Negate(e, _) | Expr::BitNot(e, _) => is_null(e, nulls),
        Expr::Call(call) => call.function.strict && call.args.iter().any(|e| is_null(e, nulls)),
        Expr::Routine(call) => call.strict && call.args.iter().any(|e| is_null(e, nulls)),
        Expr::Deep(e) => stack::with_room(|| is_null(e, nulls)),
        Expr::Var(_) | Expr::Param(_) | Expr::Case(_) | Expr::Coalesce(_) | Expr::Subquery(_) => {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expr::InListExpr;
    use syntax::ast::CompareOp;
    use types::{Collation, Value};

    const NULLS: [u32; 2] = [1, 2];

    fn compared(left: Expr, right: Expr) -> Box<CompareExpr> {
        Box::new(CompareExpr { op: CompareOp::Less, left, right, collation: Collation::DEFAULT })
    }

    fn less(column: u32, value: i32) -> Pred {
        Pred::Compare(compared(Expr::Col(column), Expr::Const(Value::Int(value))))
    }

    fn rejects(pred: &Pred) -> bool {
        is_never_true(pred, &ColumnSet::of_ids(&NULLS))
    }

    #[test]
    fn what_is_unknown_or_false_for_null_rejects_it() {
        let is_null = |negated| Pred::IsNull(Box::new(Expr::Col(1)), negated);
        let list = |negated| {
            let constants = vec![Expr::Const(Value::Int(1)), Expr::Const(Value::Null)];
            Pred::InList(Box::new(InListExpr::new(
                Expr::Col(2),
                constants,
                negated,
                Collation::DEFAULT,
            )))
        };
        let negate = |pred| Pred::Not(Box::new(pred));
        for pred in [
            less(1, 5),
            negate(less(2, 5)),
            is_null(true),
            negate(is_null(false)),
            list(false),
            list(true),
            Pred::And(vec![less(9, 1), less(1, 1)]),
            Pred::Or(vec![less(1, 1), less(2, 1)]),
            negate(Pred::And(vec![less(1, 1), is_null(false)])),
            Pred::Compare(compared(Expr::Col(9), Expr::Col(1))),
            Pred::Distinct(compared(Expr::Col(1), Expr::Const(Value::Int(1))), true),
        ] {
            assert!(rejects(&pred), "{pred:?}");
        }
    }

    #[test]
    fn what_may_be_true_for_null_does_not() {
        let is_null = |negated| Pred::IsNull(Box::new(Expr::Col(1)), negated);
        let coalesced = Expr::Coalesce(vec![Expr::Col(1), Expr::Const(Value::Int(0))]);
        let negate = |pred| Pred::Not(Box::new(pred));
        for pred in [
            less(9, 5),
            is_null(false),
            negate(is_null(true)),
            Pred::Or(vec![less(1, 1), less(9, 1)]),
            Pred::Or(vec![less(1, 1), is_null(false)]),
            negate(Pred::And(vec![less(1, 1), less(9, 1)])),
            Pred::Compare(compared(coalesced, Expr::Const(Value::Int(1)))),
            Pred::Distinct(compared(Expr::Col(1), Expr::Const(Value::Int(1))), false),
            Pred::Distinct(compared(Expr::Col(1), Expr::Col(9)), true),
            Pred::Const(Some(true)),
        ] {
            assert!(!rejects(&pred), "{pred:?}");
        }
    }
}

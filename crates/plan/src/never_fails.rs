//! Conditions that no row makes fail with an error, so that they may be asked of rows that would
//! not have come to them.

use expr::{ConvertExpr, Expr, Pred};
use types::convert::Mode;
use types::rounding::kept;

/// Whether no row makes the condition fail with an error: it may be asked of rows that would not
/// have come to it.
pub fn never_fails(pred: &Pred) -> bool {
    let value = value_never_fails;
    match pred {
        Pred::Const(_) => true,
        Pred::Compare(c) | Pred::Distinct(c, _) => value(&c.left) && value(&c.right),
        Pred::And(list) | Pred::Or(list) => stack::with_room(|| list.iter().all(never_fails)),
        Pred::Not(pred) => stack::with_room(|| never_fails(pred)),
        Pred::IsNull(e, _) => value(e),
        Pred::InList(list) => value(&list.operand) && list.list.iter().all(value),
        Pred::Like(like) => value(&like.operand) && like.compiled.is_some(),
        Pred::Exists(_) | Pred::Quantified(_) => false,
    }
}

fn value_never_fails(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => true,
        Expr::Convert(c) => {
            let numbers =
                c.from.is_number() && c.mode == Mode::Implicit && kept(c.from, c.to).is_some();
            (numbers || is_text(c)) && value_never_fails(&c.operand)
        }
        _ => false,
    }
}

/// Whether a conversion is one of a text into a longer type.
pub fn is_text(c: &ConvertExpr) -> bool {
    c.mode == Mode::Implicit && c.from.is_string() && c.to.is_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expr::CompareExpr;
    use syntax::ast::CompareOp;
    use types::{Collation, DataType, Value};

    fn compare(left: Expr, right: Value) -> Pred {
        let (op, right, collation) = (CompareOp::Equal, Expr::Const(right), Collation::DEFAULT);
        Pred::Compare(Box::new(CompareExpr { op, left, right, collation }))
    }

    #[test]
    fn what_computes_may_fail() {
        assert!(never_fails(&compare(Expr::Col(1), Value::Int(5))));
        let negated = Expr::Negate(Box::new(Expr::Col(1)), DataType::Int);
        assert!(!never_fails(&compare(negated, Value::Int(5))));
    }
}

//! Whole numbers and conditions that take variables, constants of type int and `+ - *` alone: what
//! loops and counters of procedures are made of. They are computed from the variables, without
//! the state that other expressions have.
//! Guarantees: a result is the one of [`Expr::eval`] and [`Pred::test`]; where those would give
//! NULL, unknown, an error or a value of another type, there is none.

use crate::{CompareExpr, Expr, Pred};
use std::cmp::Ordering;
use types::ops::BinaryOp;
use types::{DataType, Value};

/// Levels of operators that are looked at: no room on the stack is asked for.
const LEVELS: u32 = 16;

/// Whether [`int_of`] may have a result.
pub fn computes_int(e: &Expr) -> bool {
    is_int_math(e, LEVELS)
}

fn is_int_math(e: &Expr, levels: u32) -> bool {
    match e {
        Expr::Var(_) | Expr::Const(Value::Int(_)) => true,
        Expr::Binary(b) => {
            b.ty == DataType::Int
                && !b.lenient
                && matches!(b.op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
                && levels > 0
                && is_int_math(&b.left, levels - 1)
                && is_int_math(&b.right, levels - 1)
        }
        _ => false,
    }
}

/// Whether [`truth_of`] may have a result.
pub fn compares_ints(p: &Pred) -> bool {
    matches!(p, Pred::Compare(c) if computes_int(&c.left) && computes_int(&c.right))
}

/// The value of an expression of which [`computes_int`] holds, if it is an int.
pub fn int_of(e: &Expr, variables: &[Value]) -> Option<i32> {
    match e {
        Expr::Const(Value::Int(n)) => Some(*n),
        Expr::Var(slot) => match variables.get(*slot) {
            Some(Value::Int(n)) => Some(*n),
            _ => None,
        },
        Expr::Binary(b) => {
            let (left, right) = (int_of(&b.left, variables)?, int_of(&b.right, variables)?);
            match b.op {
                BinaryOp::Add => left.checked_add(right),
                BinaryOp::Sub => left.checked_sub(right),
                BinaryOp::Mul => left.checked_mul(right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a condition of which [`compares_ints`] holds is true or false, if both sides are ints.
pub fn truth_of(p: &Pred, variables: &[Value]) -> Option<bool> {
    let Pred::Compare(c) = p else { return None };
    let CompareExpr { op, left, right, .. } = &**c;
    let order: Ordering = int_of(left, variables)?.cmp(&int_of(right, variables)?);
    Some(op.holds(order))
}

//! Parts of conditions that have one value for a whole read of a table and take work: what is
//! computed of variables, and patterns of LIKE. A read of many rows computes them once. Guarantee:
//! a part that fails now stays as it is, and fails for the first row that asks for it, if there is
//! one; whatever else the condition says of a row stays the same.

use crate::functions::string_search::check_search_length;
use crate::{CompareExpr, Env, Expr, LikeExpr, Pred};
use std::sync::Arc;
use types::Value;
use types::like::LikePattern;

/// A longer value is not kept for a read.
const LONGEST: usize = 8000;

/// Whether it has one value for a whole read of a table and reads none itself.
fn is_same(e: &Expr) -> bool {
    e.is_fixed() && !e.has_subquery()
}

/// Whether there is something to compute.
fn is_computed(e: &Expr) -> bool {
    !matches!(e, Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_)) && is_same(e)
}

fn is_read(like: &LikeExpr) -> bool {
    like.compiled.is_none() && is_same(&like.pattern) && like.escape.as_ref().is_none_or(is_same)
}

impl Pred {
    /// Whether it has such parts.
    pub fn has_computed(&self) -> bool {
        match self {
            Pred::Compare(c) | Pred::Distinct(c, _) => {
                is_computed(&c.left) || is_computed(&c.right)
            }
            Pred::And(list) | Pred::Or(list) => {
                stack::with_room(|| list.iter().any(Pred::has_computed))
            }
            Pred::Like(like) => is_read(like),
            _ => false,
        }
    }

    /// The same condition with the values of these parts in their places.
    #[must_use]
    pub fn with_computed(&self, rt: &mut dyn Env) -> Pred {
        match self {
            Pred::Compare(c) => Pred::Compare(Box::new(compared(c, rt))),
            Pred::Distinct(c, negated) => Pred::Distinct(Box::new(compared(c, rt)), *negated),
            Pred::And(list) => Pred::And(all(list, rt)),
            Pred::Or(list) => Pred::Or(all(list, rt)),
            Pred::Like(like) if is_read(like) => Pred::Like(Box::new(read(like, rt))),
            other => other.clone(),
        }
    }
}

fn all(list: &[Pred], rt: &mut dyn Env) -> Vec<Pred> {
    stack::with_room(|| list.iter().map(|pred| pred.with_computed(rt)).collect())
}

fn compared(c: &CompareExpr, rt: &mut dyn Env) -> CompareExpr {
    let mut c = c.clone();
    for side in [&mut c.left, &mut c.right] {
        if is_computed(side)
            && let Ok(value) = side.eval(&[], rt)
            && value.heap_bytes() <= LONGEST
        {
            *side = Expr::Const(value);
        }
    }
    c
}

fn read(like: &LikeExpr, rt: &mut dyn Env) -> LikeExpr {
    let mut like = like.clone();
    let pattern = like.pattern.eval(&[], rt);
    let escape = like.escape.as_ref().map(|e| e.eval(&[], rt)).transpose();
    if let (Ok(pattern), Ok(escape)) = (pattern, escape)
        && let Some(text) = pattern.as_str()
        && text.len() <= LONGEST
        && !escape.as_ref().is_some_and(Value::is_null)
        && check_search_length(text, like.unicode).is_ok()
        && let Ok(read) = LikePattern::new(text, escape.as_ref().and_then(Value::as_str))
    {
        like.compiled = Some(Arc::new(read));
    }
    like
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Constant, mirrored};
    use syntax::ast::CompareOp;
    use types::{Collation, DataType};

    fn negated(number: i32) -> Expr {
        Expr::Negate(Box::new(Expr::Const(Value::Int(number))), DataType::Int)
    }

    fn compare(left: Expr, op: CompareOp, right: Expr) -> Pred {
        Pred::Compare(Box::new(CompareExpr { op, left, right, collation: Collation::DEFAULT }))
    }

    /// What is the same for all rows becomes a constant; what fails, and what is of the row, stays.
    #[test]
    fn what_is_the_same_for_all_rows_is_computed() {
        let like = |pattern: &str| {
            Pred::Like(Box::new(LikeExpr {
                operand: Expr::Col(0),
                pattern: Expr::Const(Value::str(pattern)),
                escape: None,
                compiled: None,
                unicode: false,
                negated: false,
                collation: Collation::DEFAULT,
            }))
        };
        let less = compare(Expr::Col(0), CompareOp::Less, negated(5));
        let fails = compare(negated(i32::MIN), mirrored(CompareOp::Less), Expr::Col(0));
        let of_row = compare(Expr::Col(0), CompareOp::Equal, Expr::Var(1));
        assert!(less.has_computed() && fails.has_computed() && !of_row.has_computed());
        let pred = Pred::Or(vec![less, fails, of_row, like("a%")]);
        assert!(pred.has_computed());
        let Pred::Or(list) = pred.with_computed(&mut Constant::default()) else {
            panic!("it was an OR")
        };
        assert!(!list[0].has_computed() && list[1].has_computed());
        assert!(
            matches!(&list[0], Pred::Compare(c) if matches!(c.right, Expr::Const(Value::Int(-5))))
        );
        assert!(matches!(&list[3], Pred::Like(like) if like.compiled.is_some()));
        let texts = ["abc", "cba"]
            .map(|text| list[3].is_true(&[Value::str(text)], &mut Constant::default()));
        assert!(matches!(texts, [Ok(true), Ok(false)]));
    }
}

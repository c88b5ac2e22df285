//! Whether a part of a plan gives the same rows whenever it runs in one run of its statement: it
//! may then run once. Guarantee: nothing in it has a value of its own for each row or an effect, in
//! its subqueries neither. A user's function counts as something that may have.

use super::visit::{NodePart, inputs, own_parts};
use expr::functions::Stability;
use expr::{Expr, Pred, SubRef};
use logical::tree::{Logical, Subquery};

/// Whether a plan gives the same rows each time; `subqueries`: those of its statement.
pub fn is_stable(logical: &Logical, subqueries: &[Subquery]) -> bool {
    stack::with_room(|| {
        if matches!(logical, Logical::Routine(_)) {
            return false;
        }
        let mut stable = true;
        own_parts(logical, &mut |part| {
            stable = stable
                && match part {
                    NodePart::Expr(e) => is_stable_value(e, subqueries),
                    NodePart::Pred(pred) => is_stable_condition(pred, subqueries),
                };
        });
        stable && inputs(logical).into_iter().all(|input| is_stable(input, subqueries))
    })
}

/// As [`is_stable`], of a value.
pub fn is_stable_value(e: &Expr, subqueries: &[Subquery]) -> bool {
    let all = |list: &[Expr]| list.iter().all(|e| is_stable_value(e, subqueries));
    match e {
        Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => true,
        Expr::Convert(c) => is_stable_value(&c.operand, subqueries),
        Expr::Binary(b) => {
            is_stable_value(&b.left, subqueries) && is_stable_value(&b.right, subqueries)
        }
        Expr::Negate(e, _) | Expr::BitNot(e, _) => is_stable_value(e, subqueries),
        Expr::Case(c) => {
            let branch = |(when, then): &(Pred, Expr)| {
                is_stable_condition(when, subqueries) && is_stable_value(then, subqueries)
            };
            is_stable_value(&c.otherwise, subqueries) && c.branches.iter().all(branch)
        }
        Expr::Coalesce(list) => all(list),
        Expr::Call(call) => call.function.stability != Stability::Row && all(&call.args),
        Expr::Routine(_) => false,
        Expr::Subquery(sub) => is_stable_query(sub, subqueries),
        Expr::Deep(e) => stack::with_room(|| is_stable_value(e, subqueries)),
    }
}

/// As [`is_stable`], of a condition.
pub fn is_stable_condition(pred: &Pred, subqueries: &[Subquery]) -> bool {
    let value = |e: &Expr| is_stable_value(e, subqueries);
    match pred {
        Pred::Const(_) => true,
        Pred::Compare(c) | Pred::Distinct(c, _) => value(&c.left) && value(&c.right),
        Pred::And(list) | Pred::Or(list) => {
            stack::with_room(|| list.iter().all(|pred| is_stable_condition(pred, subqueries)))
        }
        Pred::Not(pred) => stack::with_room(|| is_stable_condition(pred, subqueries)),
        Pred::IsNull(e, _) => value(e),
        Pred::Like(l) => {
            value(&l.operand) && value(&l.pattern) && l.escape.as_ref().is_none_or(value)
        }
        Pred::InList(l) => value(&l.operand) && l.list.iter().all(value),
        Pred::Exists(sub) => is_stable_query(sub, subqueries),
        Pred::Quantified(q) => value(&q.operand) && is_stable_query(&q.query, subqueries),
    }
}

fn is_stable_query(sub: &SubRef, subqueries: &[Subquery]) -> bool {
    sub.args.iter().all(|(_, e)| is_stable_value(e, subqueries))
        && subqueries.get(sub.id).is_some_and(|query| is_stable(&query.logical, subqueries))
}

//! Correlated subqueries with an aggregate as joins: `x < (SELECT AVG(y) FROM t WHERE t.k =
//! outer.k)` computes the average of every `k` once and joins it, instead of running the subquery
//! for each row.
//!
//! Where a comparison is unknown when the subquery gives NULL, an inner join may drop the rows
//! without a partner ([`strict`]). Elsewhere, and for COUNT, which gives 0 of no rows, a left join
//! keeps them ([`value`]); so it does for APPLY ([`applied`]).
//!
//! Left alone is what costs less row by row: few outer rows, or an inner table with an index on the
//! correlated column.

mod applied;
mod groups;
mod strict;
mod value;

use super::rule::{Pass, Rewrite};
use super::visit::with_inputs;
use crate::estimate;
use expr::{Expr, Pred};
use logical::tree::input::Input;
use logical::tree::{JoinKind, Logical, TopSpec};
use types::Value;
use value::Values;

/// With fewer outer rows the subquery runs for each.
const FEW_ROWS: f64 = 10.0;

/// The rewrite.
pub static RULE: Rewrite =
    Rewrite { name: "UnnestScalar", apply: |logical, pass| node(logical, None, pass) };

/// So many subqueries of a statement become joins. Each makes the plans of those above it larger;
/// the rest run for each row.
const MOST_JOINED: u64 = 64;

/// For each row that is wanted of a condition so many are taken to be tested.
const TESTED: f64 = 10.0;

/// `goal`: only so many rows of the node are wanted.
fn node(logical: Logical, goal: Option<f64>, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    let below = match &logical {
        Logical::Top { top, .. } => wanted(top),
        Logical::Project { .. } | Logical::Sort { .. } => goal,
        Logical::Filter { .. } => goal.map(|rows| rows * TESTED),
        _ => None,
    };
    match with_inputs(logical, &mut |input| node(input, below, pass)) {
        Logical::Filter { input, preds } if preds.iter().any(Pred::has_subquery) => {
            filtered(input, preds, below, pass)
        }
        Logical::Project { input, exprs } if exprs.iter().any(|(_, e)| e.has_subquery()) => {
            let mut exprs = exprs;
            let mut values = Values::new(estimate::rows(&input), goal, pass);
            exprs.iter_mut().for_each(|(_, e)| values.replace(e));
            let input = values.joined(input.into_inner());
            Logical::Project { input: Input::new(input), exprs }
        }
        Logical::Apply { outer, left, right, args } => {
            let rows = estimate::rows(&left);
            let asked = goal.map_or(rows, |goal| goal.min(rows));
            applied::joined(outer, left, right, args, (rows, asked), pass)
        }
        other => other,
    }
}

/// Whether no more subqueries become joins.
fn is_full(pass: &Pass<'_, '_>) -> bool {
    pass.changes() >= MOST_JOINED
}

/// So many rows are wanted below a TOP, if it says a number of rows.
fn wanted(top: &TopSpec) -> Option<f64> {
    let number = |e: &Option<Expr>| e.as_ref().and_then(Expr::as_const).and_then(Value::as_i64);
    let skipped = if top.offset.is_some() { number(&top.offset)? } else { 0 };
    let count = number(&top.count).filter(|_| !top.percent)?;
    Some((count as f64 + skipped as f64).max(1.0))
}

fn filtered(
    mut input: Input,
    preds: Vec<Pred>,
    goal: Option<f64>,
    pass: &mut Pass<'_, '_>,
) -> Logical {
    let (with, mut plain): (Vec<Pred>, Vec<Pred>) = preds.into_iter().partition(Pred::has_subquery);
    let outer_rows = estimate::rows(&input) * estimate::kept(&plain, &input);
    let mut others = Vec::new();
    for pred in with {
        let unnested = match is_full(pass) {
            true => None,
            false => strict::unnested(&pred, outer_rows, pass.statement),
        };
        match unnested {
            Some((right, on, pred)) => {
                pass.changed();
                let (left, right) = (input, Input::new(right));
                input = Input::new(Logical::Join {
                    kind: JoinKind::Inner,
                    left,
                    right,
                    on,
                    hint: None,
                });
                plain.push(pred);
            }
            None => others.push(pred),
        }
    }
    let mut values = Values::new(outer_rows, goal, pass);
    let mut above = Vec::new();
    for mut pred in others {
        match values.replace_in(&mut pred) {
            true => above.push(pred),
            false => plain.push(pred),
        }
    }
    // The others are tested before the left joins: the order of the joins below knows them.
    values.joined(filter(input, plain)).filtered(above)
}

fn filter(input: Input, preds: Vec<Pred>) -> Logical {
    match preds.is_empty() {
        true => input.into_inner(),
        false => Logical::Filter { input, preds },
    }
}

/// Whether an expression divides, reads a text as something else, or calls what may do so: computed
/// of all rows it may fail where it does not fail of the rows that are asked for.
fn may_fail(e: &Expr) -> bool {
    use types::ops::BinaryOp::{Div, Mod};
    match e {
        Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => false,
        Expr::Convert(c) => {
            (!c.or_null && c.from.is_string() && !c.to.is_string()) || may_fail(&c.operand)
        }
        Expr::Binary(b) => matches!(b.op, Div | Mod) || may_fail(&b.left) || may_fail(&b.right),
        Expr::Negate(e, _) | Expr::BitNot(e, _) => may_fail(e),
        Expr::Case(c) => {
            may_fail(&c.otherwise)
                || c.branches.iter().any(|(when, then)| condition_may_fail(when) || may_fail(then))
        }
        Expr::Coalesce(list) => list.iter().any(may_fail),
        Expr::Call(call) => call.args.iter().any(may_fail),
        Expr::Routine(_) | Expr::Subquery(_) => true,
        Expr::Deep(e) => stack::with_room(|| may_fail(e)),
    }
}

/// As [`may_fail`].
fn condition_may_fail(pred: &Pred) -> bool {
    match pred {
        Pred::Const(_) => false,
        Pred::Compare(c) | Pred::Distinct(c, _) => may_fail(&c.left) || may_fail(&c.right),
        Pred::And(list) | Pred::Or(list) => {
            stack::with_room(|| list.iter().any(condition_may_fail))
        }
        Pred::Not(pred) => stack::with_room(|| condition_may_fail(pred)),
        Pred::IsNull(e, _) => may_fail(e),
        Pred::Like(l) => may_fail(&l.operand) || l.compiled.is_none(),
        Pred::InList(l) => may_fail(&l.operand) || l.list.iter().any(may_fail),
        Pred::Exists(_) | Pred::Quantified(_) => true,
    }
}

//! The nodes of joins: columns become slots of the rows of both sides.

use super::conditions::Equalities;
use super::merge::MergeKeys;
use crate::columns::gives_both;
use crate::nodes::{ApplyPlan, HashJoinPlan, KeyOrder, LoopJoinPlan, MergeJoinPlan, Node, Plan};
use expr::{ColId, Expr, Pred};
use logical::slots::{pred_slots, slots};
use logical::tree::JoinKind;
use stack::Nested;
use types::SqlError;

fn combined(kind: JoinKind, left: &Plan, right: &Plan) -> (Vec<ColId>, Vec<ColId>) {
    let mut both = left.cols.clone();
    both.extend(&right.cols);
    let out = if gives_both(kind) { both.clone() } else { left.cols.clone() };
    (both, out)
}

fn residual(preds: Vec<Pred>, cols: &[ColId]) -> Result<Option<Pred>, SqlError> {
    let mut pred = Pred::from_conjuncts(preds);
    if let Some(pred) = &mut pred {
        pred_slots(pred, cols)?;
    }
    Ok(pred)
}

pub(super) fn hash_plan(
    kind: JoinKind,
    builds_left: bool,
    left: Plan,
    right: Plan,
    keys: Equalities,
) -> Result<Plan, SqlError> {
    let (both, cols) = combined(kind, &left, &right);
    let rows = left.rows;
    let mut plan = HashJoinPlan {
        kind,
        builds_left,
        left_keys: Vec::new(),
        right_keys: Vec::new(),
        collations: Vec::new(),
        residual: residual(keys.rest, &both)?,
        left_width: left.width(),
        right_width: right.width(),
    };
    for (mut l, mut r, collation) in keys.pairs {
        slots(&mut l, &left.cols)?;
        slots(&mut r, &right.cols)?;
        plan.left_keys.push(l);
        plan.right_keys.push(r);
        plan.collations.push(collation);
    }
    let node =
        Node::HashJoin { left: Nested::new(left), right: Nested::new(right), plan: Box::new(plan) };
    Ok(Plan { node, cols, rows, ordered: false })
}

pub(super) fn loop_plan(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    on: Vec<Pred>,
) -> Result<Plan, SqlError> {
    let (both, cols) = combined(kind, &left, &right);
    let rows = left.rows * right.rows;
    let plan = LoopJoinPlan {
        kind,
        on: residual(on, &both)?,
        left_width: left.width(),
        right_width: right.width(),
    };
    let node =
        Node::LoopJoin { left: Nested::new(left), right: Nested::new(right), plan: Box::new(plan) };
    Ok(Plan { node, cols, rows, ordered: false })
}

/// An apply of a right plan to each left row.
///
/// # Errors
/// Internal: a column that is not there.
pub fn apply_plan(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    mut args: Vec<(usize, Expr)>,
    on: Option<Pred>,
) -> Result<Plan, SqlError> {
    let (both, cols) = combined(kind, &left, &right);
    for (_, e) in &mut args {
        slots(e, &left.cols)?;
    }
    let residual = residual(on.into_iter().collect(), &both)?;
    let rows = left.rows * right.rows;
    let left_width = left.width();
    let plan = ApplyPlan { kind, args, right, residual, left_width };
    Ok(Plan {
        node: Node::Apply { left: Nested::new(left), plan: Box::new(plan) },
        cols,
        rows,
        ordered: false,
    })
}

pub(super) fn merge_plan(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    mut keys: Equalities,
    (merge, pairs): (&MergeKeys, f64),
) -> Result<Plan, SqlError> {
    let (both, cols) = combined(kind, &left, &right);
    let rows = left.rows;
    let (left_width, right_width) = (left.width(), right.width());
    let mut plan = MergeJoinPlan {
        kind,
        left_keys: Vec::new(),
        right_keys: Vec::new(),
        orders: Vec::new(),
        pairs,
        residual: None,
        left_width,
        right_width,
    };
    for key in &merge.keys {
        let (mut l, mut r, collation) = keys.pairs[key.pair].clone();
        let order = KeyOrder { collation, descending: key.descending };
        slots(&mut l, &left.cols)?;
        slots(&mut r, &right.cols)?;
        plan.left_keys.push(l);
        plan.right_keys.push(r);
        plan.orders.push(order);
    }
    let mut at = 0;
    keys.pairs.retain(|_| {
        at += 1;
        !merge.keys.iter().any(|key| key.pair == at - 1)
    });
    plan.residual = residual(keys.into_conditions(), &both)?;
    let node = Node::MergeJoin {
        left: Nested::new(left),
        right: Nested::new(right),
        plan: Box::new(plan),
    };
    Ok(Plan { node, cols, rows, ordered: false })
}

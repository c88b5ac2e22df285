//! Walks over logical plans: over the inputs of a node, over the expressions of a plan.

use crate::input::Input;
use crate::logical::{Logical, WindowKind};
use expr::{ColId, Expr, Pred};
use stack::Nested;

/// The node with each of its inputs replaced by what `f` makes of it.
pub fn with_inputs(logical: Logical, f: &mut dyn FnMut(Logical) -> Logical) -> Logical {
    let f = &mut |input: Logical| stack::with_room(|| f(input));
    let mut boxed = |input: Input| Input::new(f(input.into_inner()));
    match logical {
        Logical::One
        | Logical::Get(_)
        | Logical::View(_)
        | Logical::Routine(_)
        | Logical::Work(_)
        | Logical::Values { .. } => logical,
        Logical::Recursive { anchor, steps, cols, work, limit } => {
            let (anchor, ids) = anchor.into_inner();
            let anchor = Nested::new((f(anchor), ids));
            let steps = steps.into_inner().into_iter().map(|(step, ids)| (f(step), ids)).collect();
            let steps = Nested::new(steps);
            Logical::Recursive { anchor, steps, cols, work, limit }
        }
        Logical::Filter { input, preds } => Logical::Filter { input: boxed(input), preds },
        Logical::Join { kind, left, right, on, hint } => {
            Logical::Join { kind, left: boxed(left), right: boxed(right), on, hint }
        }
        Logical::Apply { outer, left, right, args } => {
            Logical::Apply { outer, left: boxed(left), right: boxed(right), args }
        }
        Logical::Project { input, exprs } => Logical::Project { input: boxed(input), exprs },
        Logical::Aggregate { input, keys, aggregates, scalar, totals } => {
            Logical::Aggregate { input: boxed(input), keys, aggregates, scalar, totals }
        }
        Logical::Window { input, calls } => Logical::Window { input: boxed(input), calls },
        Logical::Distinct { input, cols } => Logical::Distinct { input: boxed(input), cols },
        Logical::Sort { input, keys } => Logical::Sort { input: boxed(input), keys },
        Logical::Top { input, top } => Logical::Top { input: boxed(input), top },
        Logical::Document { input, cols, document, pieces, output } => {
            Logical::Document { input: boxed(input), cols, document, pieces, output }
        }
        Logical::Concat { inputs, cols } => {
            let inputs = inputs.into_inner().into_iter().map(|(input, ids)| (f(input), ids)).collect();
            let inputs = Nested::new(inputs);
            Logical::Concat { inputs, cols }
        }
        Logical::SetOp { except, left, right, cols } => {
            let ((left, left_ids), (right, right_ids)) = (left.into_inner(), right.into_inner());
            let left = Nested::new((f(left), left_ids));
            let right = Nested::new((f(right), right_ids));
            Logical::SetOp { except, left, right, cols }
        }
    }
}

/// The inputs of a node.
fn inputs(logical: &Logical) -> Vec<&Logical> {
    match logical {
        Logical::One
        | Logical::Get(_)
        | Logical::View(_)
        | Logical::Routine(_)
        | Logical::Work(_)
        | Logical::Values { .. } => Vec::new(),
        Logical::Recursive { anchor, steps, .. } => {
            std::iter::once(&anchor.0).chain(steps.iter().map(|(step, _)| step)).collect()
        }
        Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Aggregate { input, .. }
        | Logical::Window { input, .. }
        | Logical::Distinct { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Document { input, .. }
        | Logical::Top { input, .. } => vec![input],
        Logical::Join { left, right, .. } | Logical::Apply { left, right, .. } => vec![left, right],
        Logical::Concat { inputs, .. } => inputs.iter().map(|(input, _)| input).collect(),
        Logical::SetOp { left, right, .. } => vec![&left.0, &right.0],
    }
}

/// Calls `f` on the leaves of all expressions of a node, without its inputs.
fn own_leaves(logical: &Logical, f: &mut dyn FnMut(&Expr)) {
    match logical {
        Logical::One
        | Logical::Get(_)
        | Logical::Work(_)
        | Logical::Recursive { .. }
        | Logical::Concat { .. }
        | Logical::SetOp { .. } => {}
        Logical::View(view) => view.args.iter().for_each(|e| e.leaves(f)),
        Logical::Routine(scan) => scan.args.iter().for_each(|e| e.leaves(f)),
        Logical::Values { rows, .. } => rows.iter().flatten().for_each(|e| e.leaves(f)),
        Logical::Filter { preds, .. } => preds.iter().for_each(|p| p.leaves(f)),
        Logical::Join { on, .. } => on.iter().for_each(|p| p.leaves(f)),
        Logical::Apply { args, .. } => args.iter().for_each(|(_, e)| e.leaves(f)),
        Logical::Project { exprs, .. } => exprs.iter().for_each(|(_, e)| e.leaves(f)),
        Logical::Aggregate { keys, aggregates, .. } => {
            keys.iter().for_each(|k| k.expr.leaves(f));
            for a in aggregates {
                let all = a.arg.iter().chain(&a.separator).chain(a.order.iter().map(|(e, _)| e));
                all.for_each(|e| e.leaves(f));
            }
        }
        Logical::Window { calls, .. } => {
            for call in calls {
                call.partition.iter().for_each(|(e, _)| e.leaves(f));
                call.order.iter().for_each(|k| k.expr.leaves(f));
                match &call.kind {
                    WindowKind::Ntile(e) | WindowKind::FirstValue(e) | WindowKind::LastValue(e) => {
                        e.leaves(f)
                    }
                    WindowKind::Lag { arg, offset, default, .. } => {
                        [arg, offset, default].into_iter().for_each(|e| e.leaves(f));
                    }
                    WindowKind::Aggregate(a) => a.arg.iter().chain(&a.separator).for_each(|e| e.leaves(f)),
                    _ => {}
                }
            }
        }
        Logical::Document { cols, .. } => cols.iter().for_each(|id| f(&Expr::Col(*id))),
        Logical::Distinct { cols, .. } => cols.iter().for_each(|(id, _)| f(&Expr::Col(*id))),
        Logical::Sort { keys, .. } => keys.iter().for_each(|k| k.expr.leaves(f)),
        Logical::Top { top, .. } => {
            top.count.iter().chain(&top.offset).for_each(|e| e.leaves(f));
            top.ties.iter().flatten().for_each(|k| k.expr.leaves(f));
        }
    }
}

/// Whether one of these parameters is used somewhere in a plan.
pub fn mentions(logical: &Logical, slots: &[usize]) -> bool {
    stack::with_room(|| {
        let mut found = false;
        own_leaves(logical, &mut |leaf| found |= matches!(leaf, Expr::Param(slot) if slots.contains(slot)));
        found || inputs(logical).into_iter().any(|input| mentions(input, slots))
    })
}

/// Whether a condition has a part whose value may change from call to call.
pub fn is_volatile(pred: &Pred) -> bool {
    match pred {
        Pred::Const(_) => false,
        Pred::Compare(c) | Pred::Distinct(c, _) => c.left.is_volatile() || c.right.is_volatile(),
        Pred::And(list) | Pred::Or(list) => list.iter().any(is_volatile),
        Pred::Not(p) => is_volatile(p),
        Pred::IsNull(e, _) => e.is_volatile(),
        Pred::Like(l) => l.operand.is_volatile() || l.pattern.is_volatile(),
        Pred::InList(l) => l.operand.is_volatile() || l.list.iter().any(Expr::is_volatile),
        Pred::Exists(_) | Pred::Quantified(_) => true,
    }
}

/// A column that a node uses and none of its inputs offers; none in a sound plan.
pub fn missing_column(logical: &Logical) -> Option<ColId> {
    stack::with_room(|| {
        let below = inputs(logical);
        let offered: Vec<_> = below.iter().map(|input| input.columns()).collect();
        let mut missing = None;
        own_leaves(logical, &mut |leaf| {
            if let Expr::Col(id) = leaf
                && !offered.iter().any(|columns| columns.contains(*id))
            {
                missing = Some(*id);
            }
        });
        missing.or_else(|| below.into_iter().find_map(missing_column))
    })
}

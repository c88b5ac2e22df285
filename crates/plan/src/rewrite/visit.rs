//! Walks over logical plans: over the inputs of a node, over the expressions of a plan.

use expr::{ColId, Expr, Pred};
use logical::tree::input::Input;
use logical::tree::{Logical, Subquery};
use logical::window::{WindowCall, WindowKind};
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
            let inputs =
                inputs.into_inner().into_iter().map(|(input, ids)| (f(input), ids)).collect();
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
pub fn inputs(logical: &Logical) -> Vec<&Logical> {
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

/// What a node computes.
pub enum Part<'e> {
    Expr(&'e Expr),
    Pred(&'e Pred),
}

/// Calls `f` on all expressions and conditions of a node, without its inputs.
pub fn own_parts(logical: &Logical, f: &mut dyn FnMut(Part<'_>)) {
    match logical {
        Logical::One
        | Logical::Get(_)
        | Logical::Work(_)
        | Logical::Recursive { .. }
        | Logical::Concat { .. }
        | Logical::SetOp { .. } => {}
        Logical::View(view) => parts_of_list(&view.args, f),
        Logical::Routine(scan) => parts_of_list(&scan.args, f),
        Logical::Values { rows, .. } => rows.iter().for_each(|row| parts_of_list(row, f)),
        Logical::Filter { preds, .. } => preds.iter().for_each(|p| f(Part::Pred(p))),
        Logical::Join { on, .. } => on.iter().for_each(|p| f(Part::Pred(p))),
        Logical::Apply { args, .. } => args.iter().for_each(|(_, e)| f(Part::Expr(e))),
        Logical::Project { exprs, .. } => exprs.iter().for_each(|(_, e)| f(Part::Expr(e))),
        Logical::Aggregate { keys, aggregates, .. } => {
            keys.iter().for_each(|k| f(Part::Expr(&k.expr)));
            for a in aggregates {
                let all = a.arg.iter().chain(&a.separator).chain(a.order.iter().map(|(e, _)| e));
                all.for_each(|e| f(Part::Expr(e)));
            }
        }
        Logical::Window { calls, .. } => calls.iter().for_each(|call| parts_of_call(call, f)),
        Logical::Document { cols, .. } => cols.iter().for_each(|id| f(Part::Expr(&Expr::Col(*id)))),
        Logical::Distinct { cols, .. } => {
            cols.iter().for_each(|(id, _)| f(Part::Expr(&Expr::Col(*id))))
        }
        Logical::Sort { keys, .. } => keys.iter().for_each(|k| f(Part::Expr(&k.expr))),
        Logical::Top { top, .. } => {
            top.count.iter().chain(&top.offset).for_each(|e| f(Part::Expr(e)));
            top.ties.iter().flatten().for_each(|k| f(Part::Expr(&k.expr)));
        }
    }
}

fn parts_of_list(list: &[Expr], f: &mut dyn FnMut(Part<'_>)) {
    list.iter().for_each(|e| f(Part::Expr(e)));
}

fn parts_of_call(call: &WindowCall, f: &mut dyn FnMut(Part<'_>)) {
    call.partition.iter().for_each(|(e, _)| f(Part::Expr(e)));
    call.order.iter().for_each(|k| f(Part::Expr(&k.expr)));
    match &call.kind {
        WindowKind::Ntile(e) | WindowKind::FirstValue(e) | WindowKind::LastValue(e) => {
            f(Part::Expr(e))
        }
        WindowKind::Lag { arg, offset, default, .. } => {
            [arg, offset, default].into_iter().for_each(|e| f(Part::Expr(e)));
        }
        WindowKind::Aggregate(a) => a.arg.iter().chain(&a.separator).for_each(|e| f(Part::Expr(e))),
        WindowKind::RowNumber
        | WindowKind::Rank
        | WindowKind::DenseRank
        | WindowKind::PercentRank
        | WindowKind::CumeDist => {}
    }
}

/// Calls `f` on the leaves of all expressions of a node, without its inputs.
fn own_leaves(logical: &Logical, f: &mut dyn FnMut(&Expr)) {
    own_parts(logical, &mut |part| match part {
        Part::Expr(e) => e.leaves(f),
        Part::Pred(p) => p.leaves(f),
    });
}

/// Whether one of these parameters is used somewhere in a plan, or in a subquery of it;
/// `subqueries`: those of its statement.
pub fn mentions(logical: &Logical, slots: &[usize], subqueries: &[Subquery]) -> bool {
    has_leaf(logical, &is_one_of(slots), subqueries)
}

/// As [`mentions`], of something that a node computes.
pub fn part_mentions(part: &Part<'_>, slots: &[usize], subqueries: &[Subquery]) -> bool {
    part_has_leaf(part, &is_one_of(slots), subqueries)
}

/// Whether a leaf is one of these parameters.
fn is_one_of(slots: &[usize]) -> impl Fn(&Expr) -> bool {
    move |leaf: &Expr| matches!(leaf, Expr::Param(slot) if slots.contains(slot))
}

/// Whether a subquery of an expression reads one of these variables; `subqueries`: those of its
/// statement.
pub fn subqueries_read(e: &Expr, variables: &[usize], subqueries: &[Subquery]) -> bool {
    let is_read = |leaf: &Expr| matches!(leaf, Expr::Var(slot) if variables.contains(slot));
    let mut inside = Vec::new();
    subqueries_of(e, &mut inside);
    any_has_leaf(&inside, &is_read, subqueries)
}

/// Whether a leaf of this kind is somewhere in a plan, or in a subquery of it.
fn has_leaf(logical: &Logical, is: &dyn Fn(&Expr) -> bool, subqueries: &[Subquery]) -> bool {
    stack::with_room(|| {
        let mut found = false;
        own_parts(logical, &mut |part| found = found || part_has_leaf(&part, is, subqueries));
        found || inputs(logical).into_iter().any(|input| has_leaf(input, is, subqueries))
    })
}

/// As [`has_leaf`], of something that a node computes.
fn part_has_leaf(part: &Part<'_>, is: &dyn Fn(&Expr) -> bool, subqueries: &[Subquery]) -> bool {
    let mut found = false;
    let mut look = |leaf: &Expr| found = found || is(leaf);
    let mut inside = Vec::new();
    match part {
        Part::Expr(e) => {
            e.leaves(&mut look);
            subqueries_of(e, &mut inside);
        }
        Part::Pred(pred) => {
            pred.leaves(&mut look);
            subqueries_in(pred, &mut inside);
        }
    }
    found || any_has_leaf(&inside, is, subqueries)
}

/// As [`has_leaf`], of the subqueries with these numbers.
fn any_has_leaf(numbers: &[usize], is: &dyn Fn(&Expr) -> bool, subqueries: &[Subquery]) -> bool {
    let mut queries = numbers.iter().filter_map(|id| subqueries.get(*id));
    queries.any(|query| has_leaf(&query.logical, is, subqueries))
}

/// Adds the numbers of the subqueries in an expression.
pub fn subqueries_of(e: &Expr, out: &mut Vec<usize>) {
    match e {
        Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => {}
        Expr::Convert(c) => subqueries_of(&c.operand, out),
        Expr::Binary(b) => [&b.left, &b.right].into_iter().for_each(|e| subqueries_of(e, out)),
        Expr::Negate(e, _) | Expr::BitNot(e, _) => subqueries_of(e, out),
        Expr::Case(c) => {
            for (when, then) in &c.branches {
                subqueries_in(when, out);
                subqueries_of(then, out);
            }
            subqueries_of(&c.otherwise, out);
        }
        Expr::Coalesce(list) => list.iter().for_each(|e| subqueries_of(e, out)),
        Expr::Call(call) => call.args.iter().for_each(|e| subqueries_of(e, out)),
        Expr::Routine(call) => call.args.iter().for_each(|e| subqueries_of(e, out)),
        Expr::Subquery(sub) => out.push(sub.id),
        Expr::Deep(e) => stack::with_room(|| subqueries_of(e, out)),
    }
}

/// Adds the numbers of the subqueries in a condition.
pub fn subqueries_in(pred: &Pred, out: &mut Vec<usize>) {
    match pred {
        Pred::Const(_) => {}
        Pred::Compare(c) | Pred::Distinct(c, _) => {
            [&c.left, &c.right].into_iter().for_each(|e| subqueries_of(e, out));
        }
        Pred::And(list) | Pred::Or(list) => {
            stack::with_room(|| list.iter().for_each(|pred| subqueries_in(pred, out)));
        }
        Pred::Not(pred) => stack::with_room(|| subqueries_in(pred, out)),
        Pred::IsNull(e, _) => subqueries_of(e, out),
        Pred::Like(l) => {
            [&l.operand, &l.pattern]
                .into_iter()
                .chain(&l.escape)
                .for_each(|e| subqueries_of(e, out));
        }
        Pred::InList(l) => l.list.iter().chain([&l.operand]).for_each(|e| subqueries_of(e, out)),
        Pred::Exists(sub) => out.push(sub.id),
        Pred::Quantified(q) => {
            subqueries_of(&q.operand, out);
            out.push(q.query.id);
        }
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

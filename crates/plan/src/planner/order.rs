//! What depends on the order of rows: ORDER BY, TOP, windows. Guarantees: rows are sorted only
//! where they do not come in the order that is wanted; a condition goes below a window only where
//! it keeps all rows of each partition or none.

use super::same_keys::is_of_keys;
use super::{Context, Planner};
use crate::never_fails::never_fails;
use crate::nodes::{Node, Plan, SortSlot, TopPlan};
use expr::{ColId, Expr, Pred};
use logical::order::SortKey;
use logical::slots::slots;
use logical::tree::{Logical, TopSpec};
use logical::window::WindowCall;
use stack::Nested;
use std::collections::HashMap;
use types::{Collation, SqlError};

/// So many rows a TOP is taken to give whose number is a variable.
const SOME_ROWS: usize = 100;

impl Planner<'_, '_> {
    pub(super) fn window(
        &mut self,
        input: Logical,
        mut calls: Vec<WindowCall>,
        preds: Vec<Pred>,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let keys = partition_keys(&calls);
        // Asked of more rows than come out of the windows and the conditions before it, it must not
        // fail.
        let (below, preds): (Vec<Pred>, Vec<Pred>) = preds
            .into_iter()
            .partition(|pred| never_fails(pred) && is_of_keys(pred, &keys, &input));
        let cx = cx.with(&preds);
        let mut inner = Context::default();
        let made: Vec<ColId> = calls.iter().map(|c| c.output).collect();
        inner.needed.extend(cx.needed.iter().filter(|id| !made.contains(id)));
        for call in &mut calls {
            // A constant orders nothing: `ORDER BY (SELECT NULL)` takes the rows as they come.
            call.order.retain(|key| !key.expr.is_one_value());
            call.partition.retain(|(e, _)| !e.is_one_value());
            call.exprs_mut(&mut |e| e.columns(&mut inner.needed));
        }
        let mut windows = by_window(calls);
        // Rows come out in the order of the first call, as they do in SQL Server: its window is the
        // last one.
        windows.reverse();
        let order =
            |calls: Option<&Vec<WindowCall>>| calls.and_then(|calls| order_of(calls.first()?));
        inner.order = order(windows.first()).unwrap_or_default();
        inner.exact = true;
        let given = order(windows.last()).unwrap_or_default();
        let plan = self.node(input, below, &inner)?;
        let mut failed = None;
        for call in windows.iter_mut().flatten() {
            call.exprs_mut(&mut |e| {
                if let Err(error) = slots(e, &plan.cols) {
                    failed = Some(error);
                }
            });
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let mut streams = self.streams(&plan);
        let mut plan = plan;
        for calls in windows {
            let mut cols = plan.cols.clone();
            cols.extend(calls.iter().map(|call| call.output));
            let rows = plan.rows;
            // Without keys any order is the window's.
            streams |= calls.iter().all(|call| call.partition.is_empty() && call.order.is_empty());
            let node = Node::Window { input: Nested::new(plan), calls, streams };
            plan = Plan { node, cols, rows, ordered: false };
            streams = false;
        }
        plan.ordered = gives(&given, &cx);
        self.above(plan, preds)
    }

    pub(super) fn sort(
        &mut self,
        input: Logical,
        keys: Vec<SortKey>,
        preds: Vec<Pred>,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        // The first rows of another order may be any of these.
        let goal = cx.goal.filter(|_| cx.order.is_empty());
        let mut inner =
            Context { needed: cx.needed.clone(), order: keys.clone(), goal, ..Context::default() };
        keys.iter().for_each(|k| k.expr.columns(&mut inner.needed));
        let plan = self.node(input, preds, &inner)?;
        if plan.ordered {
            // `ordered` speaks of the order that was asked for here, not of the one asked for
            // above.
            return Ok(Plan { ordered: false, ..plan });
        }
        let keys = sort_slots(&keys, &plan.cols)?;
        let (cols, rows) = (plan.cols.clone(), plan.rows);
        let limit = goal.and_then(|n| usize::try_from(n).ok());
        Ok(Plan {
            node: Node::Sort { input: Nested::new(plan), keys, limit },
            cols,
            rows,
            ordered: false,
        })
    }

    pub(super) fn top(
        &mut self,
        input: Logical,
        top: TopSpec,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let number = |e: &Option<Expr>| match e {
            None => Some(0),
            Some(e) => {
                e.as_const().and_then(types::Value::as_i64).and_then(|n| u64::try_from(n).ok())
            }
        };
        let goal = match (number(&top.count), number(&top.offset)) {
            (Some(n), Some(skip)) if !top.percent && top.ties.is_none() && top.count.is_some() => {
                Some(n + skip)
            }
            _ => None,
        };
        let mut inner = Context { needed: cx.needed.clone(), goal, ..Context::default() };
        if let Some(ties) = &top.ties {
            ties.iter().for_each(|k| k.expr.columns(&mut inner.needed));
        }
        let mut plan = self.node(input, Vec::new(), &inner)?;
        if top.count.is_some() && !top.percent {
            plan.wants_few(goal.and_then(|n| usize::try_from(n).ok()).unwrap_or(SOME_ROWS));
        }
        let ties = top.ties.map(|keys| sort_slots(&keys, &plan.cols)).transpose()?;
        let own = TopPlan { count: top.count, percent: top.percent, ties, offset: top.offset };
        let (cols, ordered) = (plan.cols.clone(), false);
        let rows = goal.map_or(plan.rows, |n| plan.rows.min(n as f64));
        Ok(Plan {
            node: Node::Top { input: Nested::new(plan), plan: Box::new(own) },
            cols,
            rows,
            ordered,
        })
    }
}

/// Keys over slots; an error is a key that is not a column, which the binder never makes.
pub(crate) fn sort_slots(keys: &[SortKey], cols: &[ColId]) -> Result<Vec<SortSlot>, SqlError> {
    let slot = |key: &SortKey| {
        let mut e = key.expr.clone();
        slots(&mut e, cols)?;
        match e {
            Expr::Col(slot) => Ok(Some(SortSlot {
                slot: slot as usize,
                descending: key.descending,
                collation: key.collation,
            })),
            // A constant or variable orders nothing.
            _ => Ok(None),
        }
    };
    keys.iter().filter_map(|key| slot(key).transpose()).collect()
}

/// The columns by which all windows part the rows.
fn partition_keys(calls: &[WindowCall]) -> Vec<(ColId, Collation)> {
    let columns = |call: &WindowCall| -> Vec<(ColId, Collation)> {
        let column = |(e, collation): &(Expr, Collation)| match e {
            Expr::Col(id) => Some((*id, *collation)),
            _ => None,
        };
        call.partition.iter().filter_map(column).collect()
    };
    let Some((first, others)) = calls.split_first() else { return Vec::new() };
    let mut keys = columns(first);
    for call in others {
        let own = columns(call);
        keys.retain(|key| own.contains(key));
    }
    keys
}

/// The order of rows that a window wants, where its keys are columns; a key that is there twice
/// orders nothing the second time.
fn order_of(call: &WindowCall) -> Option<Vec<SortKey>> {
    let partition = call.partition.iter().map(|(e, collation)| SortKey {
        expr: e.clone(),
        descending: false,
        collation: *collation,
    });
    let mut keys: Vec<SortKey> = Vec::new();
    for key in partition.chain(call.order.iter().cloned()) {
        let Expr::Col(id) = key.expr else { return None };
        if !keys.iter().any(|other| matches!(other.expr, Expr::Col(other) if other == id)) {
            keys.push(key);
        }
    }
    Some(keys)
}

/// Whether rows in an order come as they are wanted above.
fn gives(given: &[SortKey], cx: &Context) -> bool {
    let same = |(a, b): (&SortKey, &SortKey)| {
        let column = matches!((&a.expr, &b.expr), (Expr::Col(a), Expr::Col(b)) if a == b);
        column && a.descending == b.descending && a.collation == b.collation
    };
    let first = given.get(..cx.grouping.len().max(cx.order.len())).unwrap_or_default();
    match (&cx.order[..], &cx.grouping[..]) {
        ([], []) => false,
        (order, []) => order.len() == first.len() && order.iter().zip(first).all(same),
        (_, grouping) => {
            let is = |key: &SortKey| {
                grouping.iter().any(|(id, collation)| {
                    matches!(key.expr, Expr::Col(other) if other == *id)
                        && *collation == key.collation
                })
            };
            grouping.len() == first.len() && first.iter().all(is)
        }
    }
}

/// Calls over the same partitions in the same order belong to one operator; in the order in which
/// they are met.
fn by_window(calls: Vec<WindowCall>) -> Vec<Vec<WindowCall>> {
    let mut windows: Vec<Vec<WindowCall>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for call in calls {
        let window = format!("{:?} {:?}", call.partition, call.order);
        let at = *known.entry(window).or_insert(windows.len());
        match windows.get_mut(at) {
            Some(calls) => calls.push(call),
            None => windows.push(vec![call]),
        }
    }
    windows
}

//! DISTINCT and aggregates: groups are made as the rows come where these come one group after
//! another, else in a table. Guarantees: a condition goes below only where it holds for all rows of
//! a group or for none.

use super::same_keys::is_of_keys;
use super::{Context, Planner};
use crate::columns::exactly;
use crate::estimate;
use crate::nodes::{AggregatePlan, Node, Plan};
use expr::aggregate::Aggregate;
use expr::{ColId, Expr, Pred};
use logical::columns::ColumnSet;
use logical::slots::slots;
use logical::tree::input::Input;
use logical::tree::{GroupCol, Logical};
use stack::Nested;
use std::collections::HashMap;
use types::{Collation, SqlError};

impl Planner<'_, '_> {
    pub(super) fn distinct(
        &mut self,
        input: Logical,
        cols: &[(ColId, Collation)],
        preds: Vec<Pred>,
    ) -> Result<Plan, SqlError> {
        let ids: Vec<ColId> = dedup(cols);
        let groups =
            estimate::groups((&input, estimate::rows(&input)), ids.iter().map(|id| Some(*id)));
        let grouping = ids.iter().map(|id| (*id, collation_in(cols, *id))).collect();
        let inner = Context { needed: ids.clone(), grouping, ..Context::default() };
        let plan = exactly(self.node(input, preds, &inner)?, &ids)?;
        let collations = ids.iter().map(|id| collation_in(cols, *id)).collect();
        let rows = groups.min(plan.rows).max(1.0);
        let streams = self.streams(&plan);
        let node = Node::Distinct { input: Nested::new(plan), collations, streams };
        Ok(Plan { node, cols: ids, rows, ordered: false })
    }

    /// Whether groups or windows are made as the rows come: they come in order, and chance has
    /// nothing against it.
    pub(super) fn streams(&mut self, input: &Plan) -> bool {
        input.ordered && self.statement.any_plan.as_mut().is_none_or(|chance| chance.one_of(2) == 0)
    }

    /// The conditions that go below a grouping, as they are there, and those that stay above it.
    fn around_groups(
        &mut self,
        preds: Vec<Pred>,
        sources: &HashMap<ColId, (ColId, Collation)>,
        input: &Logical,
    ) -> Result<(Vec<Pred>, Vec<Pred>), SqlError> {
        let (mut below, mut above) = (Vec::new(), Vec::new());
        for pred in preds {
            self.statement.check_cancel()?;
            match on_sources(&pred, sources, input) {
                Some(pred) => below.push(pred),
                None => above.push(pred),
            }
        }
        Ok((below, above))
    }

    pub(super) fn aggregate(
        &mut self,
        input: Logical,
        (keys, aggregates): (Vec<GroupCol>, Vec<Aggregate>),
        (scalar, totals): (bool, Vec<i32>),
        preds: Vec<Pred>,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let parts = !scalar && totals.is_empty();
        let sources = if parts { key_sources(&keys) } else { HashMap::new() };
        let (below, above) = self.around_groups(preds, &sources, &input)?;
        // What HAVING keeps is told of the groups as a node.
        let node =
            Logical::Aggregate { input: Input::new(input), keys, aggregates, scalar, totals };
        let share = if above.is_empty() { 1.0 } else { estimate::kept(&above, &node) };
        let Logical::Aggregate { input, keys, aggregates, totals, .. } = node else {
            return Err(SqlError::internal("groups are groups"));
        };
        let input = input.into_inner();
        let cx = cx.with(&above);
        let needed = ColumnSet::of_ids(&cx.needed);
        let aggregates: Vec<_> =
            aggregates.into_iter().filter(|a| needed.contains(a.output)).collect();
        let mut inner = Context::default();
        keys.iter().for_each(|k| k.expr.columns(&mut inner.needed));
        for a in &aggregates {
            let own = a.arg.iter().chain(&a.separator).chain(a.order.iter().map(|(e, _)| e));
            own.for_each(|e| e.columns(&mut inner.needed));
        }
        let plain = |key: &GroupCol| match key.expr {
            Expr::Col(id) => Some(id),
            _ => None,
        };
        let groups = if scalar {
            1.0
        } else {
            estimate::groups((&input, estimate::rows(&input)), keys.iter().map(plain))
        };
        let grouping: Option<Vec<_>> =
            keys.iter().map(|key| plain(key).map(|id| (id, key.collation))).collect();
        inner.grouping = grouping.unwrap_or_default();
        let plan = self.node(input, below, &inner)?;
        let streams = totals.is_empty() && !inner.grouping.is_empty() && self.streams(&plan);
        let mut cols: Vec<ColId> = keys.iter().map(|k| k.output).collect();
        cols.extend(aggregates.iter().map(|a| a.output));
        let rows = groups.min(plan.rows).max(1.0);
        let mut own = AggregatePlan { keys: Vec::new(), aggregates, scalar, totals, streams };
        for key in keys {
            let mut e = key.expr;
            slots(&mut e, &plan.cols)?;
            own.keys.push((e, key.collation));
        }
        for a in &mut own.aggregates {
            let parts =
                a.arg.iter_mut().chain(&mut a.separator).chain(a.order.iter_mut().map(|(e, _)| e));
            for e in parts {
                slots(e, &plan.cols)?;
            }
        }
        let node = Node::Aggregate { input: Nested::new(plan), plan: Box::new(own) };
        self.keeping(share, Plan { node, cols, rows, ordered: false }, above)
    }
}

/// The columns of the input that keys are, by the keys' own, with their collations.
fn key_sources(keys: &[GroupCol]) -> HashMap<ColId, (ColId, Collation)> {
    let source = |key: &GroupCol| match key.expr {
        Expr::Col(id) => Some((key.output, (id, key.collation))),
        _ => None,
    };
    keys.iter().filter_map(source).collect()
}

/// A condition on keys alone that is the same for all rows of a group, as one on the rows.
fn on_sources(
    pred: &Pred,
    sources: &HashMap<ColId, (ColId, Collation)>,
    input: &Logical,
) -> Option<Pred> {
    let mut used = Vec::new();
    pred.columns(&mut used);
    let keys: Option<Vec<(ColId, Collation)>> =
        used.iter().map(|id| sources.get(id).copied()).collect();
    let keys = keys?;
    let mut pred = pred.clone();
    pred.leaves_mut(&mut |leaf| {
        if let Expr::Col(id) = leaf
            && let Some((source, _)) = sources.get(id)
        {
            *id = *source;
        }
    });
    is_of_keys(&pred, &keys, input).then_some(pred)
}

fn dedup(cols: &[(ColId, Collation)]) -> Vec<ColId> {
    let mut ids = Vec::with_capacity(cols.len());
    for (id, _) in cols {
        if !ids.contains(id) {
            ids.push(*id);
        }
    }
    ids
}

fn collation_in(cols: &[(ColId, Collation)], id: ColId) -> Collation {
    cols.iter().find(|(c, _)| *c == id).map_or(Collation::DEFAULT, |(_, collation)| *collation)
}

//! The order of inner joins: not the one in which they are written, but one that keeps the intermediate results small.
//!
//! A tree of inner joins, with the conditions of the WHERE above it, is taken apart into relations and conditions. Each relation is
//! tried as the first one; the next is always the one that gives the fewest rows, relations that a condition connects before
//! others. The order with the smallest sum of intermediate rows wins, the written one when it is as good. The result is
//! left-deep. The cost of planning grows with the cube of the relations; beyond [`MOST_STARTS`] fewer firsts are tried.
//!
//! Left alone: joins with a hint, OPTION (FORCE ORDER), outer and semi joins (they are relations to the joins around them).

use super::rule::Rewrite;
use super::visit::{filtered, is_volatile, with_inputs};
use std::collections::HashMap;

use crate::bind::Binder;
use crate::estimate::{self, equality};
use crate::logical::{JoinKind, Logical};
use expr::{ColId, Pred};

pub struct JoinOrder;

/// Relations that are tried as the first one.
const MOST_STARTS: usize = 12;
/// An order has to be so much better than the written one.
const BETTER: f64 = 0.9;

impl Rewrite for JoinOrder {
    fn name(&self) -> &'static str {
        "join order"
    }

    fn apply(&self, logical: Logical, binder: &mut Binder<'_>) -> Logical {
        if binder.force_order { logical } else { node(logical) }
    }
}

fn node(logical: Logical) -> Logical {
    let mut tree = Tree::default();
    match logical {
        Logical::Filter { input, preds } if is_inner(&input) => {
            tree.take(*input);
            preds.into_iter().for_each(|pred| tree.condition(pred));
        }
        join if is_inner(&join) => tree.take(join),
        other => return with_inputs(other, &mut node),
    }
    tree.joined()
}

fn is_inner(logical: &Logical) -> bool {
    matches!(logical, Logical::Join { kind: JoinKind::Inner, hint: None, .. }) && !has_hint(logical)
}

/// Whether a tree of inner joins has a hint somewhere: its author wants the order that he wrote.
fn has_hint(logical: &Logical) -> bool {
    match logical {
        Logical::Join { kind: JoinKind::Inner, left, right, hint, .. } => {
            hint.is_some() || has_hint(left) || has_hint(right)
        }
        Logical::Filter { input, .. } => has_hint(input),
        _ => false,
    }
}

/// A tree of inner joins, taken apart.
#[derive(Default)]
struct Tree {
    relations: Vec<Relation>,
    /// Conditions over several relations.
    conditions: Vec<Condition>,
    /// What stays above the joins: conditions with subqueries, of no relation, or not to be moved.
    above: Vec<Pred>,
    /// Most different values of a column: of those that equalities tie together one may be a key, and the others refer to it.
    bounds: HashMap<ColId, f64>,
}

struct Relation {
    logical: Logical,
    offers: Vec<ColId>,
    /// Conditions on it alone.
    own: Vec<Pred>,
    rows: f64,
}

struct Condition {
    pred: Pred,
    /// Its relations.
    uses: Vec<usize>,
    columns: Option<(ColId, ColId)>,
}

impl Tree {
    fn take(&mut self, logical: Logical) {
        match logical {
            Logical::Join { kind: JoinKind::Inner, left, right, on, hint: None } => {
                self.take(*left);
                self.take(*right);
                on.into_iter().for_each(|pred| self.condition(pred));
            }
            Logical::Filter { input, preds } if is_inner(&input) => {
                self.take(*input);
                preds.into_iter().for_each(|pred| self.condition(pred));
            }
            relation => {
                let logical = node(relation);
                let mut offers = Vec::new();
                logical.offers(&mut offers);
                let rows = estimate::rows(&logical);
                self.relations.push(Relation { logical, offers, own: Vec::new(), rows });
            }
        }
    }

    fn condition(&mut self, pred: Pred) {
        let mut columns = Vec::new();
        pred.columns(&mut columns);
        let uses: Vec<usize> = (0..self.relations.len())
            .filter(|at| self.relations[*at].offers.iter().any(|id| columns.contains(id)))
            .collect();
        if uses.is_empty() || pred.has_subquery() || is_volatile(&pred) {
            self.above.push(pred);
        } else if let [one] = uses[..] {
            self.relations[one].own.push(pred);
        } else {
            let columns = equality(&pred);
            self.conditions.push(Condition { pred, uses, columns });
        }
    }

    fn joined(mut self) -> Logical {
        for relation in &mut self.relations {
            relation.rows = (relation.rows * estimate::kept(&relation.own, &relation.logical)).max(1.0);
        }
        self.bounds = self.value_bounds();
        let order = self.order();
        let mut slots: Vec<Option<Relation>> = self.relations.into_iter().map(Some).collect();
        let mut conditions = self.conditions;
        let mut seen = vec![false; slots.len()];
        let mut result: Option<Logical> = None;
        for at in order {
            let Some(relation) = slots[at].take() else { continue };
            seen[at] = true;
            let next = filtered(relation.logical, relation.own);
            result = Some(match result {
                None => next,
                Some(left) => {
                    let ready = |c: &mut Condition| c.uses.iter().all(|of| seen[*of]);
                    let on = conditions.extract_if(.., ready).map(|c| c.pred).collect();
                    Logical::Join {
                        kind: JoinKind::Inner,
                        left: Box::new(left),
                        right: Box::new(next),
                        on,
                        hint: None,
                    }
                }
            });
        }
        debug_assert!(conditions.is_empty(), "every condition belongs to a join");
        filtered(result.unwrap_or(Logical::One), self.above)
    }

    /// For each column that an equality ties to a key, directly or through others, the rows of the key's table.
    fn value_bounds(&self) -> HashMap<ColId, f64> {
        let mut classes: Vec<Vec<ColId>> = Vec::new();
        for (a, b) in self.conditions.iter().filter_map(|c| c.columns) {
            let (mut joined, others): (Vec<_>, Vec<_>) =
                classes.into_iter().partition(|class| class.contains(&a) || class.contains(&b));
            joined.push(vec![a, b]);
            classes = others;
            classes.push(joined.concat());
        }
        let key_rows = |id: &ColId| {
            let of = self.relations.iter().find(|relation| relation.offers.contains(id))?;
            estimate::unique_rows(&of.logical, &[*id])
        };
        let mut bounds = HashMap::new();
        for class in classes {
            if let Some(rows) = class.iter().filter_map(key_rows).reduce(f64::min) {
                bounds.extend(class.into_iter().map(|id| (id, rows)));
            }
        }
        bounds
    }

    /// Different values of a column of a relation.
    fn distinct(&self, relation: &Relation, id: ColId) -> f64 {
        let guess = estimate::distinct(&relation.logical, relation.rows, id);
        self.bounds.get(&id).map_or(guess, |most| most.min(relation.rows).max(1.0))
    }

    /// The numbers of the relations in the order in which they are joined.
    fn order(&self) -> Vec<usize> {
        let count = self.relations.len();
        let written: Vec<usize> = (0..count).collect();
        let mut best = (self.cost(&written) * BETTER, written);
        let mut starts: Vec<usize> = (0..count).collect();
        if count > MOST_STARTS {
            starts.sort_by(|a, b| self.relations[*a].rows.total_cmp(&self.relations[*b].rows));
            starts.truncate(1);
        }
        for start in starts {
            let order = self.greedy(start);
            let cost = self.cost(&order);
            if cost < best.0 {
                best = (cost, order);
            }
        }
        best.1
    }

    /// The sum of the intermediate results.
    fn cost(&self, order: &[usize]) -> f64 {
        let Some((first, rest)) = order.split_first() else { return 0.0 };
        let mut set = vec![*first];
        let mut rows = self.relations[*first].rows;
        let mut cost = rows;
        for next in rest {
            rows = self.with(&set, rows, *next).0;
            cost += rows;
            set.push(*next);
        }
        cost
    }

    fn greedy(&self, start: usize) -> Vec<usize> {
        let mut set = vec![start];
        let mut rows = self.relations[start].rows;
        while set.len() < self.relations.len() {
            let open = (0..self.relations.len()).filter(|at| !set.contains(at));
            let sized = open.map(|at| (at, self.with(&set, rows, at)));
            // Connected ones first, then the fewest rows.
            let next = sized.min_by(|a, b| b.1.1.cmp(&a.1.1).then(a.1.0.total_cmp(&b.1.0)));
            let Some((at, (after, _))) = next else { break };
            rows = after;
            set.push(at);
        }
        set
    }

    /// The rows of the joined relations `set` (which has `rows`) joined with one more, and whether a condition connects them.
    fn with(&self, set: &[usize], rows: f64, next: usize) -> (f64, bool) {
        let right = &self.relations[next];
        let all = rows * right.rows;
        let ready = |c: &&Condition| {
            c.uses.contains(&next) && c.uses.iter().all(|of| *of == next || set.contains(of))
        };
        let (mut pairs, mut others) = (Vec::new(), 0);
        for condition in self.conditions.iter().filter(ready) {
            match condition.columns {
                Some((a, b)) if right.offers.contains(&b) => pairs.push((a, b)),
                Some((a, b)) => pairs.push((b, a)),
                None => others += 1,
            }
        }
        let connected = others > 0 || !pairs.is_empty();
        let rows = all * 0.3f64.powi(others);
        if pairs.is_empty() {
            return (rows.max(1.0), connected);
        }
        let of_next: Vec<ColId> = pairs.iter().map(|(_, b)| *b).collect();
        let of_set: Vec<ColId> = pairs.iter().map(|(a, _)| *a).collect();
        let keyed_set =
            set.iter().filter_map(|at| estimate::unique_rows(&self.relations[*at].logical, &of_set));
        let keys = estimate::unique_rows(&right.logical, &of_next).into_iter().chain(keyed_set);
        let share = match keys.reduce(f64::max) {
            Some(key_rows) => 1.0 / key_rows,
            None => self.share(set, right, &pairs),
        };
        ((rows * share).max(1.0), connected)
    }

    /// The share of the pairs of rows that equalities keep of which neither side is a key.
    fn share(&self, set: &[usize], right: &Relation, pairs: &[(ColId, ColId)]) -> f64 {
        let mut weight = 1.0;
        pairs.iter().fold(1.0, |share, (a, b)| {
            let left = set.iter().map(|at| &self.relations[*at]).find(|r| r.offers.contains(a));
            let of_left = left.map_or(1.0, |left| self.distinct(left, *a));
            let most = of_left.max(self.distinct(right, *b));
            let next = share / most.powf(weight);
            weight /= 2.0;
            next
        })
    }
}

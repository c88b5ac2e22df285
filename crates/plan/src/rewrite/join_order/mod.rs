//! The order of inner joins: not the one in which they are written, but one that keeps the
//! intermediate results small.
//!
//! A tree of inner joins, with the conditions of the WHERE above it, is taken apart into relations
//! and conditions ([`graph`]). The tree with the smallest cost is looked for ([`search`]), with
//! orders of rows that are of use counted in ([`orders`]); the written order stays when it is as
//! good.
//!
//! Of more relations than are searched, the others are joined to the first ones as they are
//! written, each under the conditions that need no later one.
//!
//! Left alone: joins with a hint, OPTION (FORCE ORDER), outer and semi joins (they are relations to
//! the joins around them).

mod graph;
mod orders;
mod search;

use super::rule::{Rewrite, RewritePass};
use super::visit::with_inputs;
use crate::estimate;
use crate::owners::Owners;
use crate::statement::Statement;
use expr::{CompareExpr, Expr, Pred};
use graph::{Condition, Graph, MOST_RELATIONS, Relation, RelationSet, only};
use logical::tree::input::Input;
use logical::tree::{JoinHint, JoinKind, Logical};
use orders::{Orders, Wish};
use search::{SearchEffort, Tree};

/// Most conditions between the relations whose order is looked for: each is asked about for each
/// set that is weighed.
const MOST_CONDITIONS: usize = 1_000;

/// An order has to be so much better than the written one.
const BETTER: f64 = 0.95;

/// The rewrite.
pub static RULE: Rewrite = Rewrite {
    name: "JoinOrder",
    apply: |logical, pass| {
        if pass.statement.force_order { logical } else { node(logical, None, pass) }
    },
};

/// A node whose rows are wanted so.
fn node(logical: Logical, wish: Option<Wish>, pass: &mut RewritePass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    let mut tree = JoinTreeParts::default();
    match logical {
        Logical::Filter { input, preds } if is_inner(&input) => {
            tree.take(input.into_inner(), pass);
            preds.into_iter().for_each(|pred| tree.condition(pred, pass));
        }
        join if is_inner(&join) => tree.take(join, pass),
        other => {
            let passes = matches!(other, Logical::Filter { .. } | Logical::Project { .. });
            let wish = Wish::of(&other).or(wish.filter(|_| passes));
            return with_inputs(other, &mut |input| node(input, wish, pass));
        }
    }
    tree.joined(wish, pass)
}

fn is_inner(logical: &Logical) -> bool {
    matches!(logical, Logical::Join { kind: JoinKind::Inner, hint: None, .. }) && !has_hint(logical)
}

/// Whether a tree of inner joins has a hint somewhere: its author wants the order that he wrote.
fn has_hint(logical: &Logical) -> bool {
    stack::with_room(|| match logical {
        Logical::Join { kind: JoinKind::Inner, left, right, hint, .. } => {
            hint.is_some() || has_hint(left) || has_hint(right)
        }
        Logical::Filter { input, .. } => has_hint(input),
        _ => false,
    })
}

/// A tree of inner joins, taken apart.
#[derive(Default)]
struct JoinTreeParts {
    relations: Vec<Relation>,
    /// The relations after the most that are searched: these are joined as they are written.
    later: Vec<LaterRelation>,
    /// Which relation a column is of, by its number; those of `later` follow the others.
    owners: Owners,
    /// Conditions over several relations.
    conditions: Vec<Condition>,
    /// What stays above the joins: conditions with subqueries, of no relation, or not to be moved.
    above: Vec<Pred>,
}

/// A relation whose place is the written one.
struct LaterRelation {
    logical: Logical,
    /// Conditions on it alone.
    own: Vec<Pred>,
    /// Conditions on it and on relations before it.
    on: Vec<Pred>,
}

impl JoinTreeParts {
    fn take(&mut self, logical: Logical, pass: &mut RewritePass<'_, '_>) {
        stack::with_room(|| match logical {
            Logical::Join { kind: JoinKind::Inner, left, right, on, hint: None } => {
                self.take(left.into_inner(), pass);
                self.take(right.into_inner(), pass);
                on.into_iter().for_each(|pred| self.condition(pred, pass));
            }
            Logical::Filter { input, preds } if is_inner(&input) => {
                self.take(input.into_inner(), pass);
                preds.into_iter().for_each(|pred| self.condition(pred, pass));
            }
            relation => self.relation(node(relation, None, pass)),
        })
    }

    fn relation(&mut self, logical: Logical) {
        let offers = logical.columns();
        self.owners.add(&offers, self.relations.len() + self.later.len());
        if self.relations.len() < MOST_RELATIONS {
            let rows = estimate::rows(&logical);
            self.relations.push(Relation { logical, offers, own: Vec::new(), rows });
        } else {
            self.later.push(LaterRelation { logical, own: Vec::new(), on: Vec::new() });
        }
    }

    fn condition(&mut self, pred: Pred, pass: &RewritePass<'_, '_>) {
        if pass.is_over() {
            return self.above.push(pred);
        }
        let uses = self.owners.of(&pred);
        let with =
            |e: &Expr, value: &Expr| value.is_fixed() && !e.has_subquery() && !e.is_volatile();
        let fixed = |c: &CompareExpr| with(&c.left, &c.right) || with(&c.right, &c.left);
        let free = !pred.has_subquery() && !pred.is_volatile();
        if let [one] = uses[..]
            && (free || matches!(&pred, Pred::Compare(c) if fixed(c)))
        {
            match self.relations.get_mut(one) {
                Some(relation) => relation.own.push(pred),
                None => self.later[one - MOST_RELATIONS].own.push(pred),
            }
            return;
        }
        match uses.last() {
            Some(last) if free && *last >= MOST_RELATIONS => {
                self.later[last - MOST_RELATIONS].on.push(pred)
            }
            Some(_) if free => {
                let uses = uses.into_iter().fold(0, |set: RelationSet, at| set | only(at));
                self.conditions.push(Condition { pred, uses });
            }
            _ => self.above.push(pred),
        }
    }

    fn joined(mut self, wish: Option<Wish>, pass: &mut RewritePass<'_, '_>) -> Logical {
        for relation in self.relations.iter_mut().filter(|_| !pass.is_over()) {
            relation.rows =
                (relation.rows * estimate::kept(&relation.own, &relation.logical)).max(1.0);
        }
        let count = self.relations.len();
        let searched = self.conditions.len() <= MOST_CONDITIONS;
        let mut graph = match searched {
            true => Graph::new(self.relations, self.conditions),
            false => Graph::as_written(self.relations, self.conditions),
        };
        let searched = searched && !pass.is_over();
        let tree = match &mut pass.statement.any_plan {
            Some(chance) => search::any(count, chance),
            None if !searched => Tree::written(count),
            None => best(&mut graph, count, wish, pass.statement),
        };
        if tree != Tree::written(count) {
            pass.changed();
        }
        let mut relations: Vec<Option<Logical>> =
            graph.relations.iter_mut().map(|r| Some(built_relation(r))).collect();
        let result = built(&mut graph, &tree, &mut relations);
        debug_assert!(graph.others.is_empty(), "every condition belongs to a join");
        let with = |left, LaterRelation { logical, own, on }| {
            joined(left, logical.filtered(own), on, None)
        };
        self.later.into_iter().fold(result, with).filtered(self.above)
    }
}

fn best(
    graph: &mut Graph,
    count: usize,
    wish: Option<Wish>,
    statement: &mut Statement<'_>,
) -> Tree {
    let written = Tree::written(count);
    let over = || statement.check_cancel().is_err();
    let mut effort = SearchEffort { over: &over, steps: 0 };
    let orders =
        if statement.join_methods.merge { Orders::of(graph, wish) } else { Orders::default() };
    let found = search::search(graph, &orders, &mut effort);
    let steps = effort.steps;
    statement.applied.steps += steps;
    // The statement has been cancelled: any order will do.
    let Some((found, cost)) = found else { return written };
    if cost < search::cost(graph, &orders, &written) * BETTER { found } else { written }
}

fn built_relation(relation: &mut Relation) -> Logical {
    let logical = std::mem::replace(&mut relation.logical, Logical::One);
    logical.filtered(std::mem::take(&mut relation.own))
}

fn joined(left: Logical, right: Logical, on: Vec<Pred>, hint: Option<JoinHint>) -> Logical {
    Logical::Join {
        kind: JoinKind::Inner,
        left: Input::new(left),
        right: Input::new(right),
        on,
        hint,
    }
}

/// The plan of a tree: each join has the conditions that neither of its sides could have.
fn built(graph: &mut Graph, tree: &Tree, relations: &mut [Option<Logical>]) -> Logical {
    stack::with_room(|| match tree {
        Tree::Leaf(at) => relations[*at].take().unwrap_or(Logical::One),
        Tree::Join(left, right, merged) => {
            let (left_set, right_set) = (left.set(), right.set());
            let all = left_set | right_set;
            let left = built(graph, left, relations);
            let right = built(graph, right, relations);
            let mut on = graph.equalities(left_set, right_set, *merged);
            let ready = |c: &mut Condition| c.uses & !all == 0;
            on.extend(graph.others.extract_if(.., ready).map(|c| c.pred));
            joined(left, right, on, merged.map(|_| JoinHint::Ordered))
        }
    })
}

//! The search for a good tree of joins: every tree that needs no product, for up to [`MOST_EXACT`]
//! relations (dynamic programming over the subsets that hang together, bushy trees included);
//! beyond, the two trees whose join has the fewest rows are joined until one is left (greedy
//! operator ordering, Fegaras 1998).
//!
//! Costs are in rows of a scan. A join keeps its right side in a hash table, seeks the right side's
//! table for each row of the left, or merges two sides that come in order. The exact search keeps
//! for each set the best tree of all and the best in each order that is of use.

use super::graph::{Graph, RelationSet, members, only};
use super::orders::Orders;
use crate::cost::{BUILD, GIVEN, MERGED, PAIR, PROBE};
use crate::random_plan::RandomChoices;
use smallvec::SmallVec;

/// Relations for which every tree is looked at: 3^12 splits are a few milliseconds.
const MOST_EXACT: usize = 12;

/// A tree of joins; the right side is kept or sought, or both come in the order of a class of equal
/// columns and are merged by it.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Leaf(usize),
    Join(Box<Tree>, Box<Tree>, Option<usize>),
}

impl Tree {
    /// The relations in it.
    pub fn set(&self) -> RelationSet {
        match self {
            Tree::Leaf(at) => only(*at),
            Tree::Join(left, right, _) => left.set() | right.set(),
        }
    }

    fn join(left: Tree, right: Tree) -> Tree {
        Tree::Join(Box::new(left), Box::new(right), None)
    }

    /// As written: one after another.
    pub fn written(count: usize) -> Tree {
        (1..count).fold(Tree::Leaf(0), |left, at| Tree::join(left, Tree::Leaf(at)))
    }
}

/// A joined set, as far as costs need it.
#[derive(Clone, Copy)]
struct JoinedSet {
    set: RelationSet,
    /// Relations that a condition connects with it.
    near: RelationSet,
    rows: f64,
    cost: f64,
}

/// The cost of joining two sides whose join has so many rows.
fn join_cost(graph: &Graph, left: JoinedSet, right: JoinedSet, rows: f64) -> f64 {
    if left.near & right.set == 0 {
        return left.cost + right.cost + left.rows * right.rows * PAIR + rows * GIVEN;
    }
    let kept = left.cost + right.cost + right.rows * BUILD + left.rows * PROBE + rows * GIVEN;
    loop_cost(graph, left, right, rows).map_or(kept, |sought| sought.min(kept))
}

/// The cost of seeking the right side for each row of the left, whose order stays.
fn loop_cost(graph: &Graph, left: JoinedSet, right: JoinedSet, rows: f64) -> Option<f64> {
    let at = right.set.is_power_of_two().then(|| right.set.trailing_zeros() as usize)?;
    let one = graph.seek_cost(left.set, at)?;
    Some(left.cost + left.rows * one + rows * GIVEN)
}

/// The cost of merging two sides that come in an order, by its number.
fn merge_cost(
    graph: &Graph,
    (order, orders): (usize, &Orders),
    left: JoinedSet,
    right: JoinedSet,
    rows: f64,
) -> f64 {
    let by = (order, orders.classes(order));
    let pairs = graph.tested_pairs((left.set, left.rows), (right.set, right.rows), by);
    left.cost + right.cost + (left.rows + right.rows) * MERGED + pairs * PAIR + rows * GIVEN
}

/// The cost of a tree without merges, and of what its rows are wanted for.
pub fn cost(graph: &Graph, orders: &Orders, tree: &Tree) -> f64 {
    let side = side(graph, tree);
    side.cost + orders.afterwards(None, side.rows)
}

fn side(graph: &Graph, tree: &Tree) -> JoinedSet {
    let set = tree.set();
    let rows = graph.rows(set);
    let cost = match tree {
        Tree::Leaf(at) => graph.relations[*at].cost(),
        Tree::Join(left, right, _) => join_cost(graph, side(graph, left), side(graph, right), rows),
    };
    JoinedSet { set, near: graph.near(set), rows, cost }
}

/// What a search has done, and what ends it early.
pub struct SearchEffort<'c> {
    /// Whether the session was told to stop.
    pub over: &'c dyn Fn() -> bool,
    /// Ways to join two sets that were looked at.
    pub steps: u64,
}

impl SearchEffort<'_> {
    /// Looked at once for each set: a few thousand steps at most.
    fn is_over(&self) -> bool {
        (self.over)()
    }
}

/// A good tree of all relations and its cost; none when the search was ended.
pub fn search(
    graph: &mut Graph,
    orders: &Orders,
    effort: &mut SearchEffort<'_>,
) -> Option<(Tree, f64)> {
    connect_parts(graph);
    let count = graph.relations.len();
    if count <= MOST_EXACT {
        return exact(graph, orders, count, effort);
    }
    let tree = greedy(graph, count, effort)?;
    let cost = cost(graph, orders, &tree);
    Some((tree, cost))
}

/// Where no condition connects two parts, their smallest relations may be joined.
fn connect_parts(graph: &mut Graph) {
    let mut left: RelationSet = (0..graph.relations.len()).fold(0, |all, at| all | only(at));
    let mut smallest = Vec::new();
    while left != 0 {
        let mut part = only(left.trailing_zeros() as usize);
        while graph.near(part) != 0 {
            part |= graph.near(part);
        }
        left &= !part;
        let rows = |at: &usize| graph.relations[*at].rows;
        smallest.extend(members(part).min_by(|a, b| rows(a).total_cmp(&rows(b))));
    }
    for pair in smallest.windows(2) {
        graph.connect(pair[0], pair[1]);
    }
}

/// The best tree of a set: its cost, and its last join.
#[derive(Clone, Copy)]
struct BestTree {
    side: JoinedSet,
    /// The left part; none of a single relation.
    left: RelationSet,
    /// The orders that the parts come in, where that is made use of.
    by: (Option<usize>, Option<usize>),
    /// The class that is merged by.
    merged: Option<usize>,
}

/// The best trees of a set: of all, and of those that come in an order.
#[derive(Default)]
struct BestTrees {
    any: Option<BestTree>,
    ordered: SmallVec<[(usize, BestTree); 2]>,
}

impl BestTrees {
    fn of(&self, order: usize) -> Option<&BestTree> {
        self.ordered.iter().find(|(of, _)| *of == order).map(|(_, best)| best)
    }

    fn in_order(&self, order: Option<usize>) -> Option<&BestTree> {
        order.map_or(self.any.as_ref(), |order| self.of(order))
    }

    /// Takes a tree that is better than those that are known.
    fn offer(&mut self, order: Option<usize>, new: BestTree) {
        let is_better = |known: &BestTree| new.side.cost < known.side.cost;
        if self.any.as_ref().is_none_or(is_better) {
            self.any = Some(new);
        }
        let Some(order) = order else { return };
        match self.ordered.iter_mut().find(|(of, _)| *of == order) {
            Some((_, known)) if is_better(known) => *known = new,
            Some(_) => {}
            None => self.ordered.push((order, new)),
        }
    }
}

fn exact(
    graph: &Graph,
    orders: &Orders,
    count: usize,
    effort: &mut SearchEffort<'_>,
) -> Option<(Tree, f64)> {
    let mut known: Vec<BestTrees> = Vec::new();
    known.resize_with(1 << count, BestTrees::default);
    for set in 1..(1usize << count) {
        if effort.is_over() {
            return None;
        }
        known[set] = if set.is_power_of_two() {
            single(graph, orders, set.trailing_zeros() as usize)
        } else {
            joined(graph, orders, set, &known, effort)
        };
    }
    let all = known.last()?;
    let whole = |order: Option<usize>, best: &BestTree| {
        (order, best.side.cost + orders.afterwards(order, best.side.rows))
    };
    let ordered = all.ordered.iter().map(|(order, best)| whole(Some(*order), best));
    let trees = all.any.iter().map(|best| whole(None, best)).chain(ordered);
    let (order, cost) = trees.reduce(|a, b| if b.1 < a.1 { b } else { a })?;
    Some((tree_of(&known, (1 << count) - 1, order), cost))
}

fn single(graph: &Graph, orders: &Orders, at: usize) -> BestTrees {
    let relation = &graph.relations[at];
    let near = graph.near(only(at));
    let side = JoinedSet { set: only(at), near, rows: relation.rows, cost: relation.cost() };
    let best = BestTree { side, left: 0, by: (None, None), merged: None };
    let ordered = orders.of_relation(at).map(|order| (order, best)).collect();
    BestTrees { any: Some(best), ordered }
}

/// The best trees of a set by those of its parts.
fn joined(
    graph: &Graph,
    orders: &Orders,
    set: usize,
    known: &[BestTrees],
    effort: &mut SearchEffort<'_>,
) -> BestTrees {
    let whole = set as RelationSet;
    let (rows, near) = (graph.rows(whole), graph.near(whole));
    let best = |cost, left, by, merged| {
        let side = JoinedSet { set: whole, near, rows, cost };
        BestTree { side, left, by, merged }
    };
    let mut found = BestTrees::default();
    let mut part = (set - 1) & set;
    while part != 0 {
        effort.steps += 1;
        let (lefts, rights) = (&known[part], &known[set & !part]);
        if let (Some(left), Some(right)) = (&lefts.any, &rights.any)
            && left.side.near & right.side.set != 0
        {
            let least = found.any.map_or(f64::INFINITY, |known| known.side.cost);
            if left.side.cost < least {
                let cost = join_cost(graph, left.side, right.side, rows);
                found.offer(None, best(cost, part as RelationSet, (None, None), None));
            }
            for (order, left) in &lefts.ordered {
                let kept = orders.is_useful(*order, whole).then_some(*order);
                if kept.is_some()
                    && let Some(cost) = loop_cost(graph, left.side, right.side, rows)
                {
                    found.offer(kept, best(cost, part as RelationSet, (Some(*order), None), None));
                }
                for (other, right) in &rights.ordered {
                    let Some(by) = orders.meet(*order, *other) else { continue };
                    let Some((class, _)) = orders.classes(by).first() else { continue };
                    let kept = orders.is_useful(by, whole).then_some(by);
                    let cost = merge_cost(graph, (by, orders), left.side, right.side, rows);
                    found.offer(
                        kept,
                        best(cost, part as RelationSet, (Some(*order), Some(*other)), Some(*class)),
                    );
                }
            }
        }
        part = (part - 1) & set;
    }
    found
}

fn tree_of(known: &[BestTrees], set: usize, order: Option<usize>) -> Tree {
    match known[set].in_order(order) {
        Some(BestTree { left, by, merged, .. }) if *left != 0 => {
            let left = *left as usize;
            let (first, second) = (tree_of(known, left, by.0), tree_of(known, set & !left, by.1));
            Tree::Join(Box::new(first), Box::new(second), *merged)
        }
        _ => Tree::Leaf(set.trailing_zeros() as usize),
    }
}

fn greedy(graph: &Graph, count: usize, effort: &mut SearchEffort<'_>) -> Option<Tree> {
    let mut trees: Vec<(Tree, JoinedSet)> =
        (0..count).map(Tree::Leaf).map(|tree| (tree.clone(), side(graph, &tree))).collect();
    // Rows of the join of two trees, by their positions, the smaller one first.
    let sized = |a: &JoinedSet, b: &JoinedSet| {
        let connected = a.near & b.set != 0;
        if connected { graph.rows(a.set | b.set) } else { f64::INFINITY }
    };
    let mut sizes: Vec<Vec<f64>> =
        (0..count).map(|b| (0..b).map(|a| sized(&trees[a].1, &trees[b].1)).collect()).collect();
    while trees.len() > 1 {
        if effort.is_over() {
            return None;
        }
        effort.steps += (trees.len() * (trees.len() - 1) / 2) as u64;
        let all = (1..trees.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let Some((a, b)) = all.min_by(|x, y| sizes[x.1][x.0].total_cmp(&sizes[y.1][y.0])) else {
            break;
        };
        let (second, first) = (trees.remove(b), trees.remove(a));
        sizes.remove(b);
        sizes.iter_mut().for_each(|row| drop_at(row, b));
        sizes.remove(a);
        sizes.iter_mut().for_each(|row| drop_at(row, a));
        let rows = graph.rows(first.1.set | second.1.set);
        let one = join_cost(graph, first.1, second.1, rows);
        let other = join_cost(graph, second.1, first.1, rows);
        let set = first.1.set | second.1.set;
        let (tree, cost) = if one <= other {
            (Tree::join(first.0, second.0), one)
        } else {
            (Tree::join(second.0, first.0), other)
        };
        let side = JoinedSet { set, near: graph.near(set), rows, cost };
        sizes.push(trees.iter().map(|(_, known)| sized(known, &side)).collect());
        trees.push((tree, side));
    }
    trees.pop().map(|(tree, _)| tree)
}

/// Any tree, products included.
pub fn any(count: usize, chance: &mut RandomChoices) -> Tree {
    let mut trees: Vec<Tree> = (0..count).map(Tree::Leaf).collect();
    while trees.len() > 1 {
        let left = trees.swap_remove(chance.one_of(trees.len()));
        let right = trees.swap_remove(chance.one_of(trees.len()));
        trees.push(Tree::join(left, right));
    }
    trees.pop().unwrap_or(Tree::Leaf(0))
}

fn drop_at(row: &mut Vec<f64>, at: usize) {
    if at < row.len() {
        row.remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::Relation;
    use super::*;
    use logical::columns::ColumnSet;
    use logical::tree::Logical;

    #[test]
    fn a_search_that_is_cancelled_gives_nothing() {
        for count in [3, MOST_EXACT + 1] {
            let relation = |_| Relation {
                logical: Logical::One,
                offers: ColumnSet::default(),
                own: Vec::new(),
                rows: 5.0,
            };
            let mut graph = Graph::new((0..count).map(relation).collect(), Vec::new());
            let mut found = |on: bool| {
                let over = || on;
                let mut effort = SearchEffort { over: &over, steps: 0 };
                let found = search(&mut graph, &Orders::default(), &mut effort);
                (found.map(|(tree, _)| tree.set().count_ones()), effort.steps > 0)
            };
            assert_eq!(found(false), (Some(count as u32), true));
            assert_eq!(found(true), (None, false));
        }
    }
}

//! The search for a good tree of joins: every tree that needs no product, for up to [`MOST_EXACT`] relations (dynamic programming over
//! the subsets that hang together, bushy trees included); beyond, the two trees whose join has the fewest rows are joined until
//! one is left (greedy operator ordering, Fegaras 1998).
//!
//! Costs are in rows of a scan. A join either keeps its right side in a hash table or seeks the right side's table for each row of
//! the left.

use super::graph::{Graph, Set, members, only};
use crate::chance::Chance;
use crate::cost::{BUILD, GIVEN, PAIR, PROBE};
use std::sync::atomic::{AtomicBool, Ordering};

/// Relations for which every tree is looked at: 3^12 splits are a few milliseconds.
const MOST_EXACT: usize = 12;

/// A tree of joins; the right side is kept or sought.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Leaf(usize),
    Join(Box<Tree>, Box<Tree>),
}

impl Tree {
    /// The relations in it.
    pub fn set(&self) -> Set {
        match self {
            Tree::Leaf(at) => only(*at),
            Tree::Join(left, right) => left.set() | right.set(),
        }
    }

    fn join(left: Tree, right: Tree) -> Tree {
        Tree::Join(Box::new(left), Box::new(right))
    }

    /// As written: one after another.
    pub fn written(count: usize) -> Tree {
        (1..count).fold(Tree::Leaf(0), |left, at| Tree::join(left, Tree::Leaf(at)))
    }
}

/// A joined set, as far as costs need it.
#[derive(Clone, Copy)]
struct Side {
    set: Set,
    /// Relations that a condition connects with it.
    near: Set,
    rows: f64,
    cost: f64,
}

/// The cost of joining two sides whose join has so many rows.
fn join_cost(graph: &Graph, left: Side, right: Side, rows: f64) -> f64 {
    if left.near & right.set == 0 {
        return left.cost + right.cost + left.rows * right.rows * PAIR + rows * GIVEN;
    }
    let kept = left.cost + right.cost + right.rows * BUILD + left.rows * PROBE + rows * GIVEN;
    let single = right.set.is_power_of_two().then(|| right.set.trailing_zeros() as usize);
    let sought = single
        .and_then(|at| graph.seek_cost(left.set, at))
        .map(|one| left.cost + left.rows * one + rows * GIVEN);
    sought.map_or(kept, |sought| sought.min(kept))
}

/// The cost of a tree.
pub fn cost(graph: &Graph, tree: &Tree) -> f64 {
    side(graph, tree).cost
}

fn side(graph: &Graph, tree: &Tree) -> Side {
    let set = tree.set();
    let rows = graph.rows(set);
    let cost = match tree {
        Tree::Leaf(at) => graph.relations[*at].cost(),
        Tree::Join(left, right) => join_cost(graph, side(graph, left), side(graph, right), rows),
    };
    Side { set, near: graph.near(set), rows, cost }
}

/// What a search has done, and what ends it early.
pub struct Effort<'c> {
    /// The session was told to stop.
    pub cancel: &'c AtomicBool,
    /// Ways to join two sets that were looked at.
    pub steps: u64,
}

impl Effort<'_> {
    /// Looked at once for each set: a few thousand steps at most.
    fn is_over(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// A good tree of all relations; none when the search was ended.
pub fn search(graph: &mut Graph, effort: &mut Effort<'_>) -> Option<Tree> {
    connect_parts(graph);
    let count = graph.relations.len();
    if count <= MOST_EXACT { exact(graph, count, effort) } else { greedy(graph, count, effort) }
}

/// Where no condition connects two parts, their smallest relations may be joined.
fn connect_parts(graph: &mut Graph) {
    let mut left: Set = (0..graph.relations.len()).fold(0, |all, at| all | only(at));
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

/// The best tree of a set: its cost, and the left part of its last join.
#[derive(Clone, Copy)]
struct Best {
    side: Side,
    left: Set,
}

fn exact(graph: &Graph, count: usize, effort: &mut Effort<'_>) -> Option<Tree> {
    let mut best: Vec<Option<Best>> = vec![None; 1 << count];
    for set in 1..(1usize << count) {
        if effort.is_over() {
            return None;
        }
        let whole = set as Set;
        if set.is_power_of_two() {
            let at = set.trailing_zeros() as usize;
            let relation = &graph.relations[at];
            let near = graph.near(whole);
            let side = Side { set: whole, near, rows: relation.rows, cost: relation.cost() };
            best[set] = Some(Best { side, left: 0 });
            continue;
        }
        let (rows, near) = (graph.rows(whole), graph.near(whole));
        let mut part = (set - 1) & set;
        while part != 0 {
            effort.steps += 1;
            if let (Some(left), Some(right)) = (best[part], best[set & !part])
                && left.side.near & right.side.set != 0
            {
                let known = best[set].map_or(f64::INFINITY, |known| known.side.cost);
                if left.side.cost < known {
                    let cost = join_cost(graph, left.side, right.side, rows);
                    if cost < known {
                        let side = Side { set: whole, near, rows, cost };
                        best[set] = Some(Best { side, left: part as Set });
                    }
                }
            }
            part = (part - 1) & set;
        }
    }
    Some(tree_of(&best, (1 << count) - 1))
}

fn tree_of(best: &[Option<Best>], set: usize) -> Tree {
    match best[set] {
        Some(Best { left, .. }) if left != 0 => {
            let left = left as usize;
            Tree::join(tree_of(best, left), tree_of(best, set & !left))
        }
        _ => Tree::Leaf(set.trailing_zeros() as usize),
    }
}

fn greedy(graph: &Graph, count: usize, effort: &mut Effort<'_>) -> Option<Tree> {
    let mut trees: Vec<(Tree, Side)> =
        (0..count).map(Tree::Leaf).map(|tree| (tree.clone(), side(graph, &tree))).collect();
    // Rows of the join of two trees, by their positions, the smaller one first.
    let sized = |a: &Side, b: &Side| {
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
        let Some((a, b)) = all.min_by(|x, y| sizes[x.1][x.0].total_cmp(&sizes[y.1][y.0])) else { break };
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
        let side = Side { set, near: graph.near(set), rows, cost };
        sizes.push(trees.iter().map(|(_, known)| sized(known, &side)).collect());
        trees.push((tree, side));
    }
    trees.pop().map(|(tree, _)| tree)
}

/// Any tree, products included.
pub fn any(count: usize, chance: &mut Chance) -> Tree {
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
    use crate::logical::Logical;

    #[test]
    fn a_search_that_is_cancelled_gives_nothing() {
        for count in [3, MOST_EXACT + 1] {
            let relation =
                |_| Relation { logical: Logical::One, offers: Vec::new(), own: Vec::new(), rows: 5.0 };
            let mut graph = Graph::new((0..count).map(relation).collect(), Vec::new());
            let mut found = |on: bool| {
                let cancel = AtomicBool::new(on);
                let mut effort = Effort { cancel: &cancel, steps: 0 };
                (search(&mut graph, &mut effort).map(|tree| tree.set().count_ones()), effort.steps > 0)
            };
            assert_eq!(found(false), (Some(count as u32), true));
            assert_eq!(found(true), (None, false));
        }
    }
}

//! What operators cost: all constants in one file, and the cost of a finished plan. A unit is what
//! a row of a full scan costs; the constants are fitted by hand to the operators of today. Pages
//! are taken for cached: reading them is not counted.

use crate::nodes::{Node, Path, Plan, ScanPlan, SeekSpec};
use crate::statistics::table_rows;
use catalog::TableDef;

/// Opening an inner plan and going down a tree.
pub const SEEK: f64 = 15.0;
/// Each further range of a seek: another way down the tree.
pub const RANGE: f64 = 8.0;
/// A row that is looked up by its locator, and found beside another one or by a way that the thread
/// remembers.
pub const LOOKUP: f64 = 8.0;
/// The way down a tree, which such a row costs besides where it lies apart from the others.
const DESCENT: f64 = 12.0;
/// Rows of a table below a node right above leaves: of those that are looked up the first two cost
/// a way down.
const BELOW_NODE: f64 = 20_000.0;
/// A locator that is put in the order in which the rows lie, for each doubling from so many on to
/// as many as are put in order together.
const ORDERED: f64 = 0.1;
const ORDERED_FROM: f64 = 64.0;
const ORDERED_TO: f64 = 8_192.0;
/// A row that comes with its neighbours from a seek of the clustered index.
pub const SOUGHT: f64 = 1.5;
/// An entry of a covering index.
pub(crate) const COVERED: f64 = 0.3;
/// A row that is put into a hash table, and one that is looked up in it.
pub const BUILD: f64 = 3.0;
pub(crate) const PROBE: f64 = 1.5;
/// A row that a merge takes from one of its sides.
pub(crate) const MERGED: f64 = 0.8;
/// A row that a join gives.
pub(crate) const GIVEN: f64 = 0.5;
/// A pair of rows that a loop compares.
pub(crate) const PAIR: f64 = 1.0;
/// A row that is sorted, for each doubling of the rows.
pub(crate) const SORTED: f64 = 0.3;
/// A row that an aggregate takes; one whose group is that of the row before or a new one.
pub(crate) const GROUPED: f64 = 2.5;
pub const STREAMED: f64 = 0.8;
/// A row that a condition or an expression looks at.
pub const COMPUTED: f64 = 0.2;
/// An element of a list that a row's value is compared with, one after another.
pub(crate) const COMPARED: f64 = 0.05;
/// Rounds of a recursive query.
const ROUNDS: f64 = 10.0;
/// Seconds of a unit.
pub const SECONDS: f64 = 60e-9;

/// A cost in units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Of the operator alone.
    pub own: f64,
    /// With all that is below it.
    pub total: f64,
}

/// What a plan costs.
pub fn of(plan: &Plan) -> Cost {
    stack::with_room(|| over(plan, |input| of(input).total))
}

/// What a plan costs whose inputs cost in total what they are asked for, in the order of
/// [`Plan::inputs`].
pub fn over(plan: &Plan, mut total: impl FnMut(&Plan) -> f64) -> Cost {
    let (own, below) = match &plan.node {
        Node::One | Node::Values(_) | Node::Work { .. } => (plan.rows * GIVEN, 0.0),
        Node::Scan(scan) => (of_scan(scan, plan.rows), 0.0),
        Node::View { .. } | Node::Routine { .. } => (plan.rows, 0.0),
        Node::Recursive { anchor, steps, .. } => {
            (plan.rows * GIVEN, total(anchor) + ROUNDS * steps.iter().map(&mut total).sum::<f64>())
        }
        Node::Filter { input, .. } => (input.rows * COMPUTED, total(input)),
        Node::Lookup { input, scan } => {
            (input.rows * looked_up(input.rows, &scan.store.table), total(input))
        }
        Node::Project { input, exprs } => {
            (input.rows * COMPUTED * exprs.len() as f64, total(input))
        }
        Node::HashJoin { left, right, plan: join } => {
            let (build, probe) = if join.builds_left { (left, right) } else { (right, left) };
            (
                build.rows * BUILD + probe.rows * PROBE + plan.rows * GIVEN,
                total(left) + total(right),
            )
        }
        Node::MergeJoin { left, right, plan: join } => {
            // Pairs of equal keys of which a condition has to tell.
            let compared = if join.residual.is_some() { join.pairs * PAIR } else { 0.0 };
            let merged = (left.rows + right.rows) * MERGED + compared;
            (merged + plan.rows * GIVEN, total(left) + total(right))
        }
        Node::LoopJoin { left, right, .. } => {
            (left.rows * right.rows * PAIR + plan.rows * GIVEN, total(left) + total(right))
        }
        Node::Apply { left, plan: apply } => {
            (plan.rows * GIVEN, total(left) + left.rows.max(1.0) * total(&apply.right))
        }
        Node::Aggregate { input, plan } => {
            (input.rows * if plan.streams { STREAMED } else { GROUPED }, total(input))
        }
        Node::Distinct { input, streams, .. } => {
            (input.rows * if *streams { STREAMED } else { GROUPED }, total(input))
        }
        Node::Sort { input, .. } => (sorted(input.rows), total(input)),
        Node::Document { input, .. } => (input.rows * COMPUTED, total(input)),
        Node::Top { input, .. } => (plan.rows * COMPUTED, total(input)),
        Node::Window { input, calls, streams } => {
            let sort = if *streams { 0.0 } else { sorted(input.rows) };
            (sort + input.rows * calls.len() as f64, total(input))
        }
        Node::Concat(inputs) => (plan.rows * COMPUTED, inputs.iter().map(&mut total).sum()),
        Node::Own(node) => (node.cost(plan.rows), node.inputs().into_iter().map(&mut total).sum()),
        Node::SetOp { left, right, .. } => {
            (right.rows * BUILD + left.rows * PROBE, total(left) + total(right))
        }
    };
    Cost { own, total: own + below }
}

/// What each of so many rows of a table costs that are looked up in the order in which they lie.
pub(crate) fn looked_up(rows: f64, table: &TableDef) -> f64 {
    // A row of a heap is found without a tree.
    let clustered = table.storage.index_id == 1;
    looked_up_below(rows, if clustered { table_rows(table) / BELOW_NODE } else { 0.0 })
}

/// The same in a tree of so many nodes above leaves. The further apart the rows are, the more of
/// them cost a way down; below one node none does, as each thread remembers that. Few rows are not
/// put in order, and cost the one way that a seek has anyhow.
fn looked_up_below(rows: f64, nodes: f64) -> f64 {
    let together = rows.clamp(1.0, ORDERED_TO);
    let ways = if nodes > 1.0 { (2.0 * nodes).min(together) } else { 0.0 };
    let many = (together / ORDERED_FROM).min(1.0);
    let ordered = ORDERED * (together / ORDERED_FROM).log2().max(0.0);
    LOOKUP + ordered + DESCENT * many * ways / together
}

/// What sorting so many rows costs.
pub fn sorted(rows: f64) -> f64 {
    rows * rows.max(2.0).log2() * SORTED
}

/// What a read of one table costs that gives so many rows.
pub fn of_scan(scan: &ScanPlan, rows: f64) -> f64 {
    let all = table_rows(&scan.store.table);
    let further = |seek: &SeekSpec| seek.further_ways() * RANGE;
    match &scan.path {
        Path::Base => all,
        Path::Clustered(seek) => SEEK + further(seek) + rows * SOUGHT,
        Path::Point(_) => SEEK,
        Path::Index { seek, covering, point, .. } => {
            let read = if seek.is_empty() { all } else { rows };
            let each = match covering {
                true => COVERED,
                false if scan.any_order => looked_up(read, &scan.store.table),
                false => LOOKUP,
            };
            let down = SEEK + further(seek);
            if *point { down + each } else { down + read * each }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_lie_apart_cost_more_each() {
        // 1, 50 and 5,000 nodes: tables of 20,000, of a million and of a hundred million rows.
        let each = |rows: f64, nodes: f64| looked_up_below(rows, nodes);
        assert_eq!(each(10.0, 1.0), LOOKUP);
        assert!(each(10_000.0, 1.0) < LOOKUP + 1.0, "they are put in order");
        assert!(each(3.0, 5_000.0) < LOOKUP + 1.0, "few");
        assert!(each(1_000.0, 5_000.0) > LOOKUP + DESCENT, "each below another node");
        let dense = [100.0, 1_000.0, 8_192.0, 1e6].map(|rows| each(rows, 50.0));
        assert!(dense.is_sorted_by(|a, b| a >= b), "{dense:?}");
        assert!(dense[3] < LOOKUP + 1.0, "{dense:?}");
        // All of them cost more than fewer do.
        let all: Vec<f64> = (0..24).map(|n| f64::from(1 << n)).map(|n| n * each(n, 50.0)).collect();
        assert!(all.is_sorted(), "{all:?}");
    }
}

//! What the operators of a statement did, by the nodes of its plan.

use plan::nodes::Plan;
use std::collections::HashMap;
use std::time::Duration;

/// A node of a plan, as long as the plan is there: where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(usize);

impl NodeId {
    /// The id of a plan's first operator.
    pub fn of(plan: &Plan) -> NodeId {
        NodeId(std::ptr::from_ref(plan) as usize)
    }
}

/// What an operator did in all its runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeCounters {
    pub rows: u64,
    pub executions: u64,
    /// Runs that came to the end of their rows.
    pub ends: u64,
    /// Pairs of rows on which a join tested a condition.
    pub compared: u64,
    /// With what is below it.
    pub elapsed: Duration,
}

/// The counters of a statement that is profiled.
#[derive(Debug, Default)]
pub struct Profile(HashMap<NodeId, NodeCounters>);

impl Profile {
    /// The counters of a node, to be changed.
    pub fn of_mut(&mut self, node: NodeId) -> &mut NodeCounters {
        self.0.entry(node).or_default()
    }

    /// The counters of a node; all zero when it never ran.
    pub fn of(&self, node: NodeId) -> NodeCounters {
        self.0.get(&node).copied().unwrap_or_default()
    }
}

//! Operators of nodes that are no variants of `Node`: each is handed its own node at every call, in
//! its own type, and is started for a node of that type alone. Guarantee: an operator that is an
//! [`OwnOperator`] never meets another node than one that it was made for.

use super::rows_first::RowsFirst;
use super::{OpenPlan, Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use plan::nodes::{CustomNode, Plan};
use types::SqlError;

/// The state of an operator that runs nodes of one kind.
pub(super) trait OwnOperator: Send + Sized + 'static {
    /// What it runs.
    type Node: CustomNode;

    /// Its state before the first row; `open` starts the node's inputs.
    fn open(node: &Self::Node, open: OpenPlan) -> Self;

    /// As [`Operator::next`]; `width` is that of its rows.
    ///
    /// # Errors
    /// As there.
    fn next(
        &mut self,
        node: &Self::Node,
        width: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError>;
}

/// Starts a node, if it is of the kind that an operator runs.
pub(super) type OpenCustom = fn(&Plan, OpenPlan) -> Option<Box<dyn Operator>>;

/// Starts operators of one kind.
pub(super) fn own<O: OwnOperator>(plan: &Plan, open: OpenPlan) -> Option<Box<dyn Operator>> {
    let node = plan.node.own::<O::Node>()?;
    Some(Box::new(NodeFinder(O::open(node, open))))
}

/// Starts operators of one kind that give rows before they have all of them ([`RowsFirst`]).
pub(super) fn own_rows_first<O: OwnOperator>(
    plan: &Plan,
    open: OpenPlan,
) -> Option<Box<dyn Operator>> {
    let node = plan.node.own::<O::Node>()?;
    Some(RowsFirst::start(NodeFinder(O::open(node, open))))
}

/// Finds the operator's node in the plan.
struct NodeFinder<O>(O);

impl<O: OwnOperator> Operator for NodeFinder<O> {
    #[inline]
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        match plan.node.own::<O::Node>() {
            Some(node) => self.0.next(node, plan.width(), rt, out),
            None => Err(other_node()),
        }
    }
}

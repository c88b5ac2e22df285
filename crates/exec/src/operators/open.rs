//! Starting a plan: each node becomes its operator, a counted one when the statement is profiled.

use super::aggregate::HashAggregate;
use super::apply::Apply;
use super::basic;
use super::distinct::Distinct;
use super::document::Document;
use super::hash_join::HashJoin;
use super::locked::LockedScan;
use super::lookup::Lookup;
use super::loop_join::LoopJoin;
use super::merge_join::MergeJoin;
use super::profile::CountedOperator;
use super::routine::Routine;
use super::rows_first::RowsFirst;
use super::rt::Rt;
use super::scan::Scan;
use super::sort::Sort;
use super::stream::{StreamAggregate, StreamDistinct};
use super::top::Top;
use super::window::Window;
use super::work::{Recursive, Worktable};
use super::{OpenPlan, Operator, RowSet, own_operator};
use plan::nodes::{Node, Plan};
use types::SqlError;

/// A plan that runs: its operators, with the plan that they were started for.
pub struct StartedPlan<'p> {
    plan: &'p Plan,
    root: Box<dyn Operator>,
}

impl StartedPlan<'_> {
    /// Replaces `batch` by the next rows; false when there are none.
    ///
    /// # Errors
    /// Those of its expressions and of the storage. After an error it is not to be called again.
    #[inline]
    pub fn next(&mut self, rt: &mut Rt<'_, '_>, batch: &mut RowSet) -> Result<bool, SqlError> {
        self.root.next(self.plan, rt, batch)
    }
}

/// Starts a plan that ends within the statement.
pub fn start<'p>(plan: &'p Plan, rt: &mut Rt<'_, '_>) -> StartedPlan<'p> {
    StartedPlan { plan, root: operators(plan, rt) }
}

/// Starts a plan; its operators are counted when the session wants a profile of the statement.
/// Whoever keeps them hands them this plan.
pub(super) fn operators(plan: &Plan, rt: &mut Rt<'_, '_>) -> Box<dyn Operator> {
    if rt.session().run.profile.is_some() { open::<true>(plan) } else { open::<false>(plan) }
}

fn open<const COUNTED: bool>(plan: &Plan) -> Box<dyn Operator> {
    let own = operator::<COUNTED>(plan);
    if COUNTED { Box::new(CountedOperator::new(own)) } else { own }
}

fn operator<const COUNTED: bool>(plan: &Plan) -> Box<dyn Operator> {
    let open: OpenPlan = open::<COUNTED>;
    match &plan.node {
        Node::One => Box::new(basic::OneRow::default()),
        Node::Values(_) => RowsFirst::start(basic::Values::default()),
        Node::Scan(scan) if scan.locks.is_some() => RowsFirst::start(LockedScan::new(scan)),
        Node::Scan(_) => RowsFirst::start(Scan::default()),
        Node::View { .. } => Box::new(basic::View::default()),
        Node::Routine { .. } => Box::new(Routine::default()),
        Node::Work { .. } => Box::new(Worktable::default()),
        Node::Recursive { anchor, .. } => Box::new(Recursive::new(anchor, open)),
        Node::Filter { input, .. } => RowsFirst::start(basic::Filter::new(open(input))),
        Node::Lookup { input, .. } => RowsFirst::start(Lookup::new(open(input))),
        Node::Project { input, .. } => RowsFirst::start(basic::Project::new(open(input))),
        Node::HashJoin { left, right, plan } => {
            let (build, probe) = if plan.builds_left { (left, right) } else { (right, left) };
            RowsFirst::start(HashJoin::new(open(build), open(probe)))
        }
        Node::MergeJoin { left, right, .. } => {
            RowsFirst::start(MergeJoin::new(open(left), open(right)))
        }
        Node::LoopJoin { left, right, .. } => {
            RowsFirst::start(LoopJoin::new(open(left), open(right)))
        }
        Node::Apply { left, .. } => RowsFirst::start(Apply::new(open(left), open)),
        Node::Aggregate { input, plan } if plan.streams => {
            RowsFirst::start(StreamAggregate::new(open(input)))
        }
        Node::Aggregate { input, .. } => Box::new(HashAggregate::new(open(input))),
        Node::Distinct { input, streams: true, .. } => Box::new(StreamDistinct::new(open(input))),
        Node::Distinct { input, .. } => Box::new(Distinct::new(open(input))),
        Node::Sort { input, .. } => Box::new(Sort::new(open(input))),
        Node::Document { input, .. } => Box::new(Document::new(open(input))),
        Node::Top { input, .. } => Box::new(Top::new(open(input))),
        Node::Window { input, calls, .. } => RowsFirst::start(Window::new(open(input), calls)),
        Node::Concat(_) => Box::new(basic::Concat::new(open)),
        Node::Own(_) => own_operator(plan, open),
        Node::SetOp { left, right, .. } => {
            // Both run with the node of the set operation.
            Box::new(Distinct::new(RowsFirst::start(HashJoin::new(open(right), open(left)))))
        }
    }
}

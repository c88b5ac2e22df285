//! Starting a plan: each node becomes its operator, a counted one when the statement is profiled.

use super::aggregate::HashAggregate;
use super::apply::Apply;
use super::basic;
use super::distinct::Distinct;
use super::hash_join::HashJoin;
use super::locked::LockedScan;
use super::loop_join::LoopJoin;
use super::profile::Counted;
use super::rt::Rt;
use super::scan::Scan;
use super::sort::Sort;
use super::top::Top;
use super::window::Window;
use super::work::{Recursive, Work};
use super::{Open, Operator, RowSet};
use plan::nodes::{Node, Plan};

/// Starts a plan; its operators are counted when the session wants a profile of the statement.
pub fn start<'p>(plan: &'p Plan, rt: &mut Rt<'_, '_>) -> Box<dyn Operator + 'p> {
    if rt.session().profile.is_some() { open::<true>(plan) } else { open::<false>(plan) }
}

fn open<const COUNTED: bool>(plan: &Plan) -> Box<dyn Operator + '_> {
    let own = operator::<COUNTED>(plan);
    if COUNTED { Box::new(Counted::new(plan, own)) } else { own }
}

fn operator<const COUNTED: bool>(plan: &Plan) -> Box<dyn Operator + '_> {
    let open: Open = open::<COUNTED>;
    match &plan.node {
        Node::One => Box::new(basic::One { done: false }),
        Node::Values(rows) => Box::new(basic::Values { rows, at: 0 }),
        Node::Scan(scan) if scan.locks.is_some() => Box::new(LockedScan::new(scan)),
        Node::Scan(scan) => Box::new(Scan::new(scan)),
        Node::View { scan, keep, equal } => Box::new(basic::View::new(scan, keep, equal)),
        Node::Work { source, keep } => Box::new(Work::new(*source, keep)),
        Node::Recursive { anchor, steps, work, limit } => {
            Box::new(Recursive::new(anchor, steps, (*work, *limit), open))
        }
        Node::Filter { input, pred } => {
            Box::new(basic::Filter { input: open(input), pred, batch: RowSet::default() })
        }
        Node::Project { input, exprs } => {
            Box::new(basic::Project { input: open(input), exprs, batch: RowSet::default() })
        }
        Node::HashJoin { left, right, plan } => Box::new(HashJoin::new(open(left), open(right), plan)),
        Node::LoopJoin { left, right, plan } => Box::new(LoopJoin::new(open(left), open(right), plan)),
        Node::Apply { left, plan } => Box::new(Apply::new(open(left), plan, open)),
        Node::Aggregate { input, plan } => Box::new(HashAggregate::new(open(input), plan, input.width())),
        Node::Distinct { input, collations } => Box::new(Distinct::new(open(input), collations)),
        Node::Sort { input, keys, limit } => Box::new(Sort::new(open(input), keys, *limit, plan.width())),
        Node::Top { input, plan } => Box::new(Top { input: open(input), plan, state: None }),
        Node::Window { input, calls } => Box::new(Window::new(open(input), calls, input.width())),
        Node::Concat(inputs) => Box::new(basic::Concat { inputs, at: 0, current: None, open }),
        Node::SetOp { left, right, except, collations } => {
            let join = HashJoin::membership(open(left), open(right), collations, *except);
            Box::new(Distinct::new(Box::new(join), collations))
        }
    }
}

//! The root of operators that nest deeply: it has the stack for them ready before it calls them,
//! and before they are dropped.

use super::{Open, Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use plan::deep_plan::DeepPlan;
use plan::nodes::Plan;
use types::SqlError;

struct Deep {
    /// None when it has been dropped.
    input: Option<Box<dyn Operator>>,
    room: usize,
}

/// Starts it for its node.
pub(super) fn open(plan: &Plan, open: Open) -> Option<Box<dyn Operator>> {
    let node = plan.node.own::<DeepPlan>()?;
    let room = node.room();
    let input = stack::with(room, || open(&node.input));
    Some(Box::new(Deep { input: Some(input), room }))
}

impl Operator for Deep {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let (Some(node), Some(input)) = (plan.node.own::<DeepPlan>(), &mut self.input) else {
            return Err(other_node());
        };
        stack::with(self.room, || input.next(&node.input, rt, out))
    }
}

impl Drop for Deep {
    fn drop(&mut self) {
        let input = self.input.take();
        stack::with(self.room, || drop(input));
    }
}

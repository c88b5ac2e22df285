//! Operators around a whole input, whose rows they pass on as they are. The root of operators that
//! nest deeply has the stack for them ready before it calls them, and before they are dropped.

use super::own::{OpenOwn, OwnOperator, own};
use super::{Open, Operator, RowSet};
use crate::operators::rt::Rt;
use plan::deep_plan::DeepPlan;
use types::SqlError;

/// The operators of this file.
pub(super) const ALL: &[OpenOwn] = &[own::<Deep>];

struct Deep {
    /// None when it has been dropped.
    input: Option<Box<dyn Operator>>,
    room: usize,
}

impl OwnOperator for Deep {
    type Node = DeepPlan;

    fn open(node: &DeepPlan, open: Open) -> Deep {
        let room = node.room();
        let input = stack::with(room, || open(&node.input));
        Deep { input: Some(input), room }
    }

    fn next(
        &mut self,
        node: &DeepPlan,
        _: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        match &mut self.input {
            Some(input) => stack::with(self.room, || input.next(&node.input, rt, out)),
            None => Ok(false),
        }
    }
}

impl Drop for Deep {
    fn drop(&mut self) {
        let input = self.input.take();
        stack::with(self.room, || drop(input));
    }
}

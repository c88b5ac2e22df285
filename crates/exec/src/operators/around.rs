//! Operators around a whole input, whose rows they pass on as they are. The root of operators that
//! nest deeply has the stack for them ready before it calls them, and before they are dropped. An
//! input under a condition without columns is started where that holds.

use super::own::{OpenCustom, OwnOperator, own};
use super::{OpenPlan, Operator, RowSet};
use crate::operators::rt::Rt;
use plan::deep_plan::DeepPlan;
use plan::planner::filter::StartupFilter;
use types::SqlError;

/// The operators of this file.
pub(super) const ALL: &[OpenCustom] = &[own::<Deep>, own::<Startup>];

struct Deep {
    /// None when it has been dropped.
    input: Option<Box<dyn Operator>>,
    room: usize,
}

impl OwnOperator for Deep {
    type Node = DeepPlan;

    fn open(node: &DeepPlan, open: OpenPlan) -> Deep {
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

struct Startup {
    open: OpenPlan,
    tested: bool,
    /// None before the test, and where the condition does not hold.
    input: Option<Box<dyn Operator>>,
}

impl OwnOperator for Startup {
    type Node = StartupFilter;

    fn open(_: &StartupFilter, open: OpenPlan) -> Startup {
        Startup { open, tested: false, input: None }
    }

    fn next(
        &mut self,
        node: &StartupFilter,
        width: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        if !std::mem::replace(&mut self.tested, true) && node.pred.is_true(&[], rt)? {
            self.input = Some((self.open)(&node.input));
        }
        match &mut self.input {
            Some(input) => input.next(&node.input, rt, out),
            None => {
                out.reset(width);
                Ok(false)
            }
        }
    }
}

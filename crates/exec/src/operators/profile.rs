//! Operators that are counted: what SET STATISTICS PROFILE and XML show. Only a statement that is profiled has any.

use super::rt::Rt;
use super::{Operator, RowSet};
use crate::state::profile::NodeId;
use plan::nodes::Plan;
use std::time::Instant;
use types::SqlError;

/// An operator with its counters.
pub struct Counted {
    operator: Box<dyn Operator>,
    begun: bool,
}

impl Counted {
    /// Of an operator.
    pub fn new(operator: Box<dyn Operator>) -> Counted {
        Counted { operator, begun: false }
    }
}

impl Operator for Counted {
    fn next(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let before = Instant::now();
        let more = self.operator.next(plan, rt, out)?;
        if let Some(profile) = &mut rt.session().profile {
            let counters = profile.of_mut(NodeId::of(plan));
            counters.elapsed += before.elapsed();
            counters.executions += u64::from(!self.begun);
            counters.ends += u64::from(!more);
            counters.rows += if more { out.len() as u64 } else { 0 };
        }
        self.begun = true;
        Ok(more)
    }
}

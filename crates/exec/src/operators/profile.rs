//! Operators that are counted: what SET STATISTICS PROFILE and XML show. Only a statement that is
//! profiled has any.

use super::rt::Rt;
use super::{Operator, RowSet};
use plan::nodes::Plan;
use session::state::profile::NodeId;
use std::time::Instant;
use types::SqlError;

/// An operator with its counters.
pub struct CountedOperator {
    operator: Box<dyn Operator>,
    begun: bool,
    /// Of the pairs that it has compared so many are counted.
    compared: u64,
}

impl CountedOperator {
    /// An operator with counters at zero.
    pub fn new(operator: Box<dyn Operator>) -> CountedOperator {
        CountedOperator { operator, begun: false, compared: 0 }
    }
}

impl Operator for CountedOperator {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let before = Instant::now();
        let more = self.operator.next(plan, rt, out)?;
        let compared = self.operator.compared();
        if let Some(profile) = &mut rt.session().run.profile {
            let counters = profile.of_mut(NodeId::of(plan));
            counters.elapsed += before.elapsed();
            counters.executions += u64::from(!self.begun);
            counters.ends += u64::from(!more);
            counters.compared += compared.saturating_sub(self.compared);
            counters.rows += if more { out.len() as u64 } else { 0 };
        }
        self.begun = true;
        self.compared = compared;
        Ok(more)
    }
}

//! Executions become uses of indexes: of each plan that is kept when somebody asks, of a plan before a statement is bound to another one,
//! of a batch when it goes. So an execution costs nothing more than the count that it has anyway.
//! Guarantee: each execution that has come to its end is added once, to the indexes of the plan that the statement had, or has where another
//! session has bound it anew meanwhile.

use exec::explain::uses::Uses;
use types::SqlError;

use super::cache::BatchCache;
use super::counts::Count;
use super::program::Op;
use super::{Bound, Compiled};
use crate::instance::Instance;

impl Bound {
    fn uses(&self) -> Option<Uses> {
        match self {
            Bound::Query(plan) => Some(Uses::of_query(plan)),
            Bound::Dml(plan) => Some(Uses::of_dml(plan)),
            Bound::Cursor(plan) => Some(Uses::of_query(&plan.query)),
            Bound::Assign { .. }
            | Bound::Condition(_)
            | Bound::Scalars(_)
            | Bound::Call(_)
            | Bound::Into(_) => None,
        }
    }

    /// Expressions count for themselves.
    fn settle(&self) {
        match self {
            Bound::Assign { value, .. } => value.settle(),
            Bound::Condition(condition) => condition.settle(),
            Bound::Scalars(scalars) => scalars.iter().for_each(|scalar| scalar.settle()),
            Bound::Call(call) => call.arguments.iter().for_each(|scalar| scalar.settle()),
            Bound::Query(_) | Bound::Dml(_) | Bound::Cursor(_) | Bound::Into(_) => {}
        }
    }

    /// It was made: the indexes that it would have liked to have.
    pub(super) fn compiled(&self) {
        if let Bound::Query(_) | Bound::Dml(_) | Bound::Cursor(_) = self
            && let Some(uses) = self.uses()
        {
            uses.missing.iter().for_each(|missing| missing.compiled());
        }
    }

    /// What a session has counted is counted for the plan that it was.
    pub(super) fn settle_count(&self, count: &Count) {
        if let Some(times) = count.unsettled()
            && let Some(uses) = self.uses()
        {
            uses.ran(times);
        }
    }
}

impl Compiled {
    /// The number of the query or change that an operation is.
    pub(super) fn statement_at(&self, at: usize) -> Option<usize> {
        match self.program.ops.get(at) {
            Some(Op::Stmt(number)) => Some(*number as usize),
            _ => None,
        }
    }

    /// What all sessions have counted of it becomes uses of indexes.
    fn settle(&self) {
        let bound = self.bound.lock().clone();
        for (at, bound) in bound.iter().enumerate() {
            let Some((_, bound)) = bound else { continue };
            bound.settle();
            if let Some(number) = self.statement_at(at) {
                self.counts.each(number, |count| bound.settle_count(count));
            }
        }
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        self.settle();
    }
}

/// The uses of indexes are up to this moment.
///
/// # Errors
/// Internal: see [`BatchCache::of`].
pub fn settle(instance: &Instance) -> Result<(), SqlError> {
    BatchCache::of(instance)?.plans().iter().for_each(|plan| plan.batch.settle());
    Ok(())
}

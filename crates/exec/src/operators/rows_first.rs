//! Rows before an error: an operator works by batches, but a row that it has got is a row of the
//! result although a later one of the batch fails. So `SELECT 10 / n` gives the rows before the one
//! with 0, and a TOP that they are enough for, an EXISTS or a cursor never meets the error.
//! Guarantees: an error that waits is the next call's answer; what says that the statement, or more
//! than it, is at its end never waits.

use super::{Operator, RowSet};
use crate::operators::rt::Rt;
use plan::nodes::Plan;
use types::SqlError;

/// An operator whose rows come before its error. When the inner one fails, what it has put in `out`
/// must be whole rows of the result ([`RowSet::or_pop`]).
pub struct RowsFirst<O> {
    operator: O,
    /// Waits until the rows before it have been taken.
    error: Option<SqlError>,
}

impl<O: Operator + 'static> RowsFirst<O> {
    /// Around an operator.
    pub fn start(operator: O) -> Box<dyn Operator> {
        Box::new(RowsFirst { operator, error: None })
    }
}

/// Whether an error is one of a single row: of a value, a conversion, a condition. A cancel, a
/// deadlock's victim, no memory, damaged pages are not.
pub(super) fn is_of_a_row(e: &SqlError) -> bool {
    e.severity == 16 && e.number != catalog::errors::cancelled().number
}

impl<O: Operator> Operator for RowsFirst<O> {
    #[inline]
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        if let Some(e) = self.error.take() {
            return Err(e);
        }
        // What is in it is of the batch before.
        out.truncate(0);
        match self.operator.next(plan, rt, out) {
            Err(e) if !out.is_empty() && is_of_a_row(&e) => {
                self.error = Some(e);
                Ok(true)
            }
            answer => answer,
        }
    }

    fn compared(&self) -> u64 {
        self.operator.compared()
    }
}

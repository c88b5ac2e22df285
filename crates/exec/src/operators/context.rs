//! What one run of a statement works with, and where its rows go.

use crate::state::SessionCore;
use types::{SqlError, StoredCell, Value};

/// One statement's run.
pub struct ExecCtx<'s> {
    /// The session that runs it.
    pub session: &'s mut SessionCore,
    /// The batch's variables by slot.
    pub vars: &'s mut [Value],
}

/// Takes the rows of a query. An error stops the query.
pub trait RowSink {
    /// One row; valid for the call only.
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError>;
    /// Whether rows may come by [`RowSink::stored_row`].
    fn takes_stored(&self) -> bool {
        false
    }
    /// One row whose cells are borrowed from the stored one; valid for the call only.
    fn stored_row(&mut self, row: &[StoredCell<'_>]) -> Result<(), SqlError> {
        let values: Vec<Value> = row.iter().map(StoredCell::to_value).collect();
        self.row(&values)
    }
}

/// A sink that keeps what it gets: for small internal queries and tests.
impl RowSink for Vec<Vec<Value>> {
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.push(row.to_vec());
        Ok(())
    }
}

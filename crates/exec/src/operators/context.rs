//! What one run of a statement works with, and where its rows go.

use session::state::SessionCore;
use types::{ResultRows, SqlError, Value};

/// One statement's run.
pub struct ExecCtx<'s> {
    /// The session that runs it.
    pub session: &'s mut SessionCore,
    /// The batch's variables by slot.
    pub vars: &'s mut [Value],
}

/// Takes the rows of a query. An error stops the query.
pub trait RowSink {
    /// Some rows, at least one; valid for the call only.
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError>;
    /// Whether rows may come as they are stored.
    fn takes_stored(&self) -> bool {
        false
    }
}

/// A sink that keeps what it gets: for small internal queries and tests.
impl RowSink for Vec<Vec<Value>> {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.push(row.to_vec());
            Ok(())
        })
    }
}

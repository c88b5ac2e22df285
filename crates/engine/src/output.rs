//! What a batch says to its caller: result sets, row counts, messages and errors, in the order they happen.
//! The engine never buffers a result set for its caller: rows stream through [`Sink::row`].

use types::{SqlError, Value};

pub use plan::ColumnInfo;

/// Receives what a batch produces: what a sink does not take is dropped, but for errors. An error that the sink returns (a
/// client that went away) stops the batch.
pub trait Sink {
    /// A result set begins.
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        let _ = columns;
        Ok(())
    }
    /// A row of the current result set; valid for the call only.
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        let _ = row;
        Ok(())
    }
    /// A statement ended; `rows` is the count that `(n rows affected)` shows, `None` under SET NOCOUNT ON.
    /// After [`Sink::columns`] it also ends the result set.
    fn done(&mut self, rows: Option<u64>) -> Result<(), SqlError> {
        let _ = rows;
        Ok(())
    }
    /// PRINT, informational messages (severity up to 10).
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        let _ = message;
        Ok(())
    }
    /// An error that was not caught (severity 11 and more).
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError>;
}

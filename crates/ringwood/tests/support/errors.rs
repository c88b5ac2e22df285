//! Batches of which only the errors are looked at.
#![allow(dead_code)] // each test uses its part

use ringwood::{ColumnInfo, Session, Sink, SqlError};

/// A batch's errors in order.
#[derive(Default)]
pub struct Errors(pub Vec<SqlError>);

impl Sink for Errors {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
        Ok(())
    }
    fn done(&mut self, _: ringwood::StatementEnd) -> Result<(), SqlError> {
        Ok(())
    }
    fn message(&mut self, _: &SqlError) -> Result<(), SqlError> {
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.0.push(error.clone());
        Ok(())
    }
}

/// The numbers of a batch's errors in order.
pub fn errors_of(session: &mut Session, batch: &str) -> Vec<i32> {
    let mut errors = Errors::default();
    session.run(batch, &mut errors);
    errors.0.iter().map(|error| error.number).collect()
}

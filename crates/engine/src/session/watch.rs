//! What a batch shows on its way to the client: errors are counted, and a client that takes nothing
//! more ends the batch.

use session::output::{OutputParameter, SessionChange, Sink, StatementEnd};
use session::state::core::SessionShared;
use std::sync::atomic::Ordering;
use types::{ResultRows, SqlError};

/// Counts the errors that go by. A sink that fails cancels the batch: no CATCH takes that error,
/// nothing more runs for a client that is gone.
pub(super) struct Watch<'a> {
    pub(super) inner: &'a mut dyn Sink,
    pub(super) shared: &'a SessionShared,
    pub(super) errors: u64,
}

impl Watch<'_> {
    fn passed(&self, result: Result<(), SqlError>) -> Result<(), SqlError> {
        if result.is_err() {
            self.shared.attention.store(false, Ordering::Release);
            self.shared.cancel.store(true, Ordering::Release);
        }
        result
    }
}

impl Sink for Watch<'_> {
    fn columns(&mut self, columns: &[session::output::ColumnInfo]) -> Result<(), SqlError> {
        let result = self.inner.columns(columns);
        self.passed(result)
    }

    fn origins(&mut self, origins: &session::output::Origins) -> Result<(), SqlError> {
        let result = self.inner.origins(origins);
        self.passed(result)
    }

    fn ordered(&mut self, columns: &[u16]) -> Result<(), SqlError> {
        let result = self.inner.ordered(columns);
        self.passed(result)
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        let result = self.inner.rows(rows);
        self.passed(result)
    }

    fn takes_stored(&self) -> bool {
        self.inner.takes_stored()
    }

    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        let result = self.inner.done(end);
        self.passed(result)
    }

    fn step(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        let result = self.inner.step(end);
        self.passed(result)
    }

    fn changed(&mut self, change: &SessionChange<'_>) -> Result<(), SqlError> {
        let result = self.inner.changed(change);
        self.passed(result)
    }

    fn procedure_done(&mut self, status: i32) -> Result<(), SqlError> {
        let result = self.inner.procedure_done(status);
        self.passed(result)
    }

    fn output_parameter(&mut self, parameter: &OutputParameter<'_>) -> Result<(), SqlError> {
        let result = self.inner.output_parameter(parameter);
        self.passed(result)
    }

    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        let result = self.inner.message(message);
        self.passed(result)
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.errors += 1;
        let mut result = self.inner.error(error);
        for further in &error.after {
            self.errors += 1;
            result = result.and_then(|()| self.inner.error(further));
        }
        self.passed(result)
    }
}

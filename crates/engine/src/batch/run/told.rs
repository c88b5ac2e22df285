//! What a client is told of the end of a statement. Guarantee: in a procedure under NOCOUNT it is
//! told only of statements that have rows for it.

use programs::compiled::CompiledBatch;
use session::output::{Sink, StatementEnd, StatementKind};
use session::state::SessionCore;
use types::SqlError;

use super::{Failure, Run};

/// Tells the client what the statement at an operation had to say.
///
/// # Errors
/// Those of the sink.
#[inline]
pub(super) fn tell_notes(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    batch: &CompiledBatch,
    at: usize,
) -> Result<(), SqlError> {
    if core.run.notes.is_empty() { Ok(()) } else { tell_each_note(core, sink, batch, at) }
}

#[cold]
fn tell_each_note(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    batch: &CompiledBatch,
    at: usize,
) -> Result<(), SqlError> {
    std::mem::take(&mut core.run.notes)
        .into_iter()
        .try_for_each(|note| sink.message(&batch.placed(at, note)))
}

/// Tells the client that a statement ended. `shown`: rows of it, or their columns, went to the
/// client.
///
/// # Errors
/// Those of the sink.
#[inline]
pub(super) fn tell_end(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    header_sent: bool,
    statement: StatementKind,
    rows: Option<u64>,
) -> Result<(), SqlError> {
    core.tell_transactions(sink)?;
    let has_rows = header_sent
        || matches!(statement, StatementKind::Select | StatementKind::Dbcc | StatementKind::Other);
    if tells_rows_alone(core) && !has_rows {
        return Ok(());
    }
    sink.done(end_of(core, statement, rows))
}

/// Tells clients of the wire protocol that a statement ended that nobody else is told of.
///
/// # Errors
/// Those of the sink.
#[inline]
pub(super) fn tell_step(
    core: &SessionCore,
    sink: &mut dyn Sink,
    statement: StatementKind,
    rows: Option<u64>,
) -> Result<(), SqlError> {
    if tells_rows_alone(core) || core.in_function() {
        return Ok(());
    }
    sink.step(end_of(core, statement, rows))
}

/// NOCOUNT in a procedure: of what has no rows for the client nothing is said.
#[inline]
fn tells_rows_alone(core: &SessionCore) -> bool {
    core.options.nocount && core.run.nest_level > 0
}

/// The end of a statement that did not fail.
#[inline]
pub(super) fn end_of(
    core: &SessionCore,
    statement: StatementKind,
    rows: Option<u64>,
) -> StatementEnd {
    let rows = rows.filter(|_| !core.options.nocount);
    StatementEnd { statement, rows, error: false, nested: core.run.nest_level > 0 }
}

impl Run<'_> {
    /// [`tell_notes`] of this run.
    #[inline]
    pub(in crate::batch) fn tell_notes(&mut self, at: usize) -> Result<(), Failure> {
        Ok(tell_notes(self.core, self.sink, self.batch, at)?)
    }

    /// [`tell_end`] of this run.
    pub(in crate::batch) fn done(
        &mut self,
        statement: StatementKind,
        rows: Option<u64>,
    ) -> Result<(), Failure> {
        Ok(tell_end(self.core, self.sink, self.header_sent, statement, rows)?)
    }

    /// [`tell_step`] of this run.
    pub(in crate::batch) fn told(
        &mut self,
        statement: StatementKind,
        rows: Option<u64>,
    ) -> Result<(), Failure> {
        Ok(tell_step(self.core, self.sink, statement, rows)?)
    }
}

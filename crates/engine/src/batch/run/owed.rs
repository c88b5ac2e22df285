//! The columns of a result whose statement fails before its first row. Guarantees: a client is told
//! of the columns before it is told of the error, as by SQL Server, unless the statement was not
//! compiled or its caller may not run it; nothing is told of a statement that is compiled or run
//! again. Only statements that fail pay for it.

use types::SqlError;

use super::{Failure, Run};
use crate::batch::origins;
use bind::browse::Browse;
use plan::Needs;
use programs::compiled::BoundOperation;
use session::output::{ColumnInfo, Sink};
use session::state::SessionCore;

/// Tells the columns of a statement that has failed in its run; whether it did.
///
/// # Errors
/// Those of the sink: the columns are not those that were asked for, the client is gone.
#[cold]
fn tell_owed(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    needs: &Needs,
    columns: &[ColumnInfo],
    browse: Option<&Browse>,
) -> Result<bool, SqlError> {
    // Rights are checked before a statement begins to run.
    if columns.is_empty() || core.check_rights(&needs.rights).is_err() {
        return Ok(false);
    }
    sink.columns(columns)?;
    if let Some(browse) = browse {
        sink.origins(&origins::of_query(browse, columns, core.db().id()))?;
    }
    Ok(true)
}

impl Run<'_> {
    /// Tells the columns that a failed statement owes; gives what it has failed by: a caller that
    /// wants other columns than these (WITH RESULT SETS) is told that, and not of an error that
    /// comes after them.
    pub(super) fn with_columns(&mut self, at: usize, failure: Failure) -> Failure {
        if !std::mem::take(&mut self.header_owed) {
            return failure;
        }
        let Run { core, bound, sink, .. } = self;
        let told = match &bound[at] {
            Some((_, BoundOperation::Query(plan))) => {
                tell_owed(core, *sink, plan.needs(), plan.columns(), plan.browse.as_deref())
            }
            Some((_, BoundOperation::Dml(plan))) => {
                tell_owed(core, *sink, plan.needs(), plan.columns(), None)
            }
            _ => Ok(false),
        };
        match told {
            Ok(told) => {
                self.header_sent = told;
                failure
            }
            Err(error) => error.into(),
        }
    }

    /// What FETCH to the client fails by when it finds no row for an error: its columns are the
    /// cursor's.
    #[cold]
    pub(in crate::batch) fn fails_showing(
        &mut self,
        columns: &[ColumnInfo],
        error: SqlError,
    ) -> Failure {
        match self.sink.columns(columns) {
            Ok(()) => {
                self.header_sent = true;
                error.into()
            }
            Err(error) => error.into(),
        }
    }
}

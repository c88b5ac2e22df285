//! Texts that are described and not run: the columns of their first result set, the types of
//! parameters that nobody has declared. Guarantee: the session's options are afterwards what they
//! were.

use std::sync::Arc;

use compact_str::CompactString;
use types::{SqlError, Value};

use super::dynamic::declared_parameters;
use super::run::run_batch;
use bind::undeclared::DeducedParameter;
use instance::OfInstance;
use programs::compiled::{CompiledBatch, go_on};
use session::output::{ColumnInfo, FirstError, Sink};
use session::state::SessionCore;

/// Takes the first columns and the first error.
#[derive(Default)]
struct FirstResult {
    columns: Option<Vec<ColumnInfo>>,
    error: FirstError,
}

impl Sink for FirstResult {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.columns.get_or_insert_with(|| columns.to_vec());
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.error(error)
    }
}

/// The columns of the first result set of a text with declared parameters; none when it has no
/// result set.
///
/// # Errors
/// Those of compiling the text.
pub fn first_columns(
    core: &mut SessionCore,
    text: &str,
    declarations: &str,
) -> Result<Vec<ColumnInfo>, SqlError> {
    let params = declared_parameters(declarations, &core.db().catalog())?;
    let mut vars = vec![Value::Null; params.len()];
    let before = core.options.clone();
    core.options.fmtonly = true;
    let mut first = FirstResult::default();
    let compiled = core.instance().batches().get(core, text, &params);
    let ran = compiled.and_then(|batch| {
        run_batch(core, &mut first, &batch, &mut vars, false).map_err(|failure| failure.error)
    });
    *core.options = before;
    match first.columns {
        Some(columns) => ran.map(|_| columns),
        None => first.error.or(()).and(ran).map(|_| Vec::new()),
    }
}

/// The parameters of a text, with what its statements say of them.
///
/// # Errors
/// Those of compiling the text; 11502 to 11508 when a type cannot be deduced.
pub fn undeclared(
    core: &mut SessionCore,
    text: &str,
    declarations: &str,
) -> Result<Vec<(CompactString, DeducedParameter)>, SqlError> {
    let catalog = core.db().catalog();
    let params = declared_parameters(declarations, &catalog)?;
    let settings = core.options.parse_settings();
    let (batch, undeclared) =
        CompiledBatch::with_undeclared(text, &params, settings, &catalog, &|| go_on(core))?;
    let mut vars = vec![Value::Null; batch.parameters];
    let before = core.options.clone();
    core.options.noexec = true;
    let mut first = FirstError::default();
    let ran = run_batch(core, &mut first, &Arc::new(batch), &mut vars, false);
    *core.options = before;
    first.or(()).and(ran.map_err(|failure| failure.error))?;
    undeclared.deduced()
}

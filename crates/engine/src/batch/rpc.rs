//! Calls of procedures that do not come as T-SQL.

use std::sync::{Arc, OnceLock};

use types::{DataType, SqlError};

use super::run::{BatchEnd, Flow, Outputs, Run};
use programs::arguments::Arg;
use programs::compiled::CompiledBatch;
use session::output::Sink;
use session::state::SessionCore;

/// Calls a procedure. `output` of an argument is its position, `types` what the client declares the
/// arguments as; gives how the call ended and the values of OUTPUT parameters.
///
/// # Errors
/// None of the call's own: they go to the sink.
pub fn call(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    name: &str,
    args: Vec<Arg>,
    types: Vec<Option<DataType>>,
) -> Result<(BatchEnd, Outputs), SqlError> {
    let batch = nothing();
    let mut vars = Vec::new();
    let mut run = Run::new(core, sink, batch, &mut vars, false);
    run.outputs = Some(Outputs { types, values: Vec::new() });
    let end = match run.call_by_name(name, args) {
        Ok((Flow::Next, status)) => BatchEnd::Finished(status),
        Ok((Flow::Abort, _)) => BatchEnd::BatchAborted,
        Err(failure) => {
            run.failed(0, failure).map_err(|failure| failure.error)?;
            BatchEnd::ScopeAborted
        }
    };
    Ok((end, run.end_call().unwrap_or_default()))
}

/// The batch around a call: it has no text and no variables. All sessions of the process have the
/// same one: each keeps its bindings, so as not to meet the others at what is shared of it.
fn nothing() -> &'static Arc<CompiledBatch> {
    static NOTHING: OnceLock<Arc<CompiledBatch>> = OnceLock::new();
    NOTHING.get_or_init(|| Arc::new(CompiledBatch::empty()))
}

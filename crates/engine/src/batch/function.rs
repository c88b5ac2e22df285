//! Running functions. A function is a scope in the middle of the statement that calls it: its
//! statements read what that statement reads, and change nothing but its own table variables.
//! Guarantees: what the caller sees of the session is what it was; levels beyond 32 are error 217;
//! an error ends the function and is the statement's.

use types::{SqlError, Value};

use super::run::{End, run_batch};
use super::trigger::{MAX_NESTING, too_deep};
use bind::function::CalledFunction;
use catalog::errors;
use ddl::temps;
use instance::OfInstance;
use session::output::Sink;
use session::state::SessionCore;

/// The value of a scalar function; of a function that fills a table the rows go to `rows`.
///
/// # Errors
/// Those of the function; 217 functions nested too deeply.
pub fn run(
    core: &mut SessionCore,
    function: &CalledFunction,
    args: Vec<Value>,
    rows: &mut dyn Sink,
) -> Result<Value, SqlError> {
    if core.run.nest_level >= MAX_NESTING {
        return Err(too_deep());
    }
    let (db, module) = (&function.db, &function.module);
    let instance = core.instance().clone();
    let code = instance.batches().module(core, db, module)?;
    let scope = core.enter_module_scope(db, module)?;
    let visit = match core.visit_db(db) {
        Ok(visit) => visit,
        Err(closed) => {
            core.identity.leave_scope(scope);
            return Err(closed);
        }
    };
    // A function changes no option but these.
    let options = (core.options.quoted_identifier, core.options.ansi_nulls, core.options.nocount);
    core.options.quoted_identifier = module.settings.quoted_identifier;
    core.options.ansi_nulls = module.settings.ansi_nulls;
    let results = core.run.results;
    core.run.results.scope_identity = None;
    let (changes, profile) = (core.run.triggers.changes.take(), core.run.profile.take());
    core.run.nest_level += 1;
    core.objects.temps.level = core.run.nest_level;
    let mut vars = args;
    let end = run_batch(core, rows, &code.batch, &mut vars, true);
    core.identity.leave_scope(scope);
    core.run.nest_level -= 1;
    core.objects.temps.level = core.run.nest_level;
    temps::end_scope(core);
    (core.run.triggers.changes, core.run.profile) = (changes, profile);
    core.run.results = results;
    core.end_visit(visit);
    (core.options.quoted_identifier, core.options.ansi_nulls, core.options.nocount) = options;
    match end.map_err(|failure| failure.error)? {
        End::Finished(_) => {
            let result = code.batch.program.result;
            Ok(result.and_then(|slot| vars.get_mut(slot)).map_or(Value::Null, std::mem::take))
        }
        End::ScopeAborted | End::BatchAborted => Err(errors::batch_ended()),
    }
}

//! Running triggers. A trigger is a scope inside the statement that fired it, with XACT_ABORT on
//! and the changed rows as `inserted` and `deleted`. Guarantees: a trigger fires itself only under
//! RECURSIVE_TRIGGERS; levels beyond 32 are error 217; what the trigger sets of SET options ends
//! with it; an error that a CATCH around the statement takes dooms the transaction.

use std::sync::Arc;

use types::{SqlError, msg};

use super::run::{End, run_batch};
use catalog::{Db, ModuleDef, errors};
use ddl::temps;
use instance::OfInstance;
use session::output::Sink;
use session::state::SessionCore;
use session::state::changes::{Cause, FiredTriggers};
use session::state::inner::check_after_trigger;

/// Deepest nesting of scopes.
pub const MAX_NESTING: u32 = 32;

/// Runs one trigger after another. `catching`: a CATCH block around the statement waits for their
/// errors.
///
/// # Errors
/// Those of the triggers; [`errors::batch_ended`] when they were reported already.
pub fn run(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    fired: Vec<FiredTriggers>,
    catching: bool,
) -> Result<(), SqlError> {
    for FiredTriggers { db, triggers, cause } in fired {
        let (count, instead_of) = match &cause {
            Cause::Rows(changed) => {
                (changed.inserted.len().max(changed.deleted.len()) as u64, changed.instead_of)
            }
            Cause::Event(_) => (0, false),
        };
        for trigger in triggers.iter() {
            let id = (trigger.object_id, db.id());
            let again = core.run.triggers.running.last() == Some(&id) && !instead_of;
            if again && !db.has_recursive_triggers() {
                continue;
            }
            core.run.results.rowcount = count;
            core.run.triggers.running.push(id);
            let result = run_one(core, sink, &db, trigger, &cause, catching);
            core.run.triggers.running.pop();
            result?;
        }
    }
    Ok(())
}

/// 217.
pub fn too_deep() -> SqlError {
    SqlError::of(msg::NESTING_LEVEL, [&MAX_NESTING])
}

fn run_one(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    db: &Arc<Db>,
    trigger: &Arc<ModuleDef>,
    cause: &Cause,
    catching: bool,
) -> Result<(), SqlError> {
    if core.run.nest_level >= MAX_NESTING {
        return Err(too_deep());
    }
    let instance = core.instance().clone();
    let code = instance.batches().module(core, db, trigger)?;
    let scope = core.enter_module_scope(db, trigger)?;
    let visit = match core.visit_db(db) {
        Ok(visit) => visit,
        Err(closed) => {
            core.identity.leave_scope(scope);
            return Err(closed);
        }
    };
    let options = core.options.clone();
    let (rows, event) = match cause {
        Cause::Rows(changed) => (Some(changed.clone()), None),
        Cause::Event(data) => (None, Some(data.clone())),
    };
    let changes = std::mem::replace(&mut core.run.triggers.changes, rows);
    let event = std::mem::replace(&mut core.run.triggers.event_data, event);
    let identity = core.run.results.scope_identity.take();
    core.options.quoted_identifier = trigger.settings.quoted_identifier;
    core.options.ansi_nulls = trigger.settings.ansi_nulls;
    core.options.xact_abort = true;
    core.run.nest_level += 1;
    core.objects.temps.level = core.run.nest_level;
    let end = run_batch(core, sink, &code.batch, &mut Vec::new(), catching);
    core.identity.leave_scope(scope);
    core.run.nest_level -= 1;
    core.objects.temps.level = core.run.nest_level;
    temps::end_scope(core);
    core.end_visit(visit);
    *core.options = options;
    core.run.results.scope_identity = identity;
    core.run.triggers.changes = changes;
    core.run.triggers.event_data = event;
    match end {
        Ok(End::Finished(_)) => check_after_trigger(&core.transactions.client),
        Ok(End::ScopeAborted | End::BatchAborted) => Err(errors::batch_ended()),
        Err(failure) => {
            // No error that leaves a trigger lets its transaction go on, RAISERROR's neither.
            core.transactions.client.doomed |= core.trancount() > 0;
            Err(failure.error)
        }
    }
}

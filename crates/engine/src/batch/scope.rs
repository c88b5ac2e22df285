//! What EXECUTE and calls run is a scope inside the statement that calls it. Guarantees: database,
//! SET options and SCOPE_IDENTITY() of the caller are what they were when the scope has ended;
//! levels beyond 32 are error 217; an error of the scope does to the transaction what it does under
//! the scope's own options.

use std::sync::Arc;

use types::{SqlError, Value, msg};

use super::run::{BatchEnd, Effect, Failure, Flow, Run, run_batch};
use super::trigger::{MAX_NESTING, too_deep};
use bind::set_options::CurrentOptions;
use catalog::{Db, ModuleDef, ModuleSettings};
use ddl::temps;
use logical::rights::OwnershipChain;
use programs::compiled::CompiledBatch;
use session::output::SessionChange;

/// What runs in a scope.
#[derive(Clone, Copy)]
pub(super) enum Body<'m> {
    /// A text, with the settings that it was parsed with.
    Text,
    /// A procedure of a database.
    Module(&'m Arc<Db>, &'m ModuleDef),
    /// A procedure of the system that is T-SQL: everyone may run it, and its statements are
    /// everyone's.
    Script,
}

impl Body<'_> {
    /// Sets the options that it was compiled under: where they are set already nothing changes.
    fn set(self, options: &mut CurrentOptions, code: &CompiledBatch) {
        match self {
            Body::Text => {
                if options.parse_settings() != code.settings {
                    options.set_parse_settings(code.settings);
                }
            }
            Body::Module(_, module) => set_module(options, module.settings),
            Body::Script => {
                set_module(options, ModuleSettings { quoted_identifier: true, ansi_nulls: true });
            }
        }
    }
}

/// The settings under which a module was made.
fn set_module(options: &mut CurrentOptions, settings: ModuleSettings) {
    let ModuleSettings { quoted_identifier, ansi_nulls } = settings;
    if (options.quoted_identifier, options.ansi_nulls) != (quoted_identifier, ansi_nulls) {
        (options.quoted_identifier, options.ansi_nulls) = (quoted_identifier, ansi_nulls);
    }
}

impl Run<'_> {
    /// Runs compiled code in a scope of its own: SET options, the current database,
    /// SCOPE_IDENTITY() and what `inserted` means are the caller's again afterwards.
    pub(super) fn in_scope(
        &mut self,
        code: &Arc<CompiledBatch>,
        vars: &mut Vec<Value>,
        body: Body<'_>,
    ) -> Result<(Flow, i32), Failure> {
        if self.core.run.nest_level >= MAX_NESTING {
            return Err(too_deep().into());
        }
        let (options, numbered) = (self.core.options.clone(), self.core.options.changes());
        let left = self.core.left_databases();
        let trancount = self.core.trancount();
        let scope = match body {
            Body::Module(home, module) => self.core.enter_module_scope(home, module)?,
            Body::Text | Body::Script => self.core.enter_chain(OwnershipChain::None),
        };
        body.set(&mut self.core.options, code);
        self.core.run.nest_level += 1;
        self.core.objects.temps.level = self.core.run.nest_level;
        // No identity value was given in it yet.
        let scope_identity = self.core.run.results.scope_identity.take();
        let changes = self.core.run.triggers.changes.take();
        let catching = self.catches();
        let end = run_batch(self.core, self.sink, code, vars, catching);
        self.core.run.nest_level -= 1;
        self.core.objects.temps.level = self.core.run.nest_level;
        temps::end_scope(self.core);
        // What EXECUTE AS began in the scope ends with it.
        self.core.identity.leave_scope(scope);
        let implicit = self.core.options.implicit_transactions;
        // Where nothing has changed them they are not published again, and what was found out under
        // them holds.
        if self.core.options.changes() != numbered {
            *self.core.options = options;
        }
        self.core.run.results.scope_identity = scope_identity;
        self.core.run.triggers.changes = changes;
        self.return_to(left)?;
        // The error of an inner scope keeps its line and goes to this scope's CATCH.
        match end? {
            // What SET IMPLICIT_TRANSACTIONS ON has begun is not the scope's.
            BatchEnd::Finished(status) if self.core.trancount() == trancount || implicit => {
                Ok((Flow::Next, status))
            }
            BatchEnd::Finished(_) => {
                let error = SqlError::of(
                    msg::TRANSACTION_COUNT_MISMATCH,
                    [&trancount, &self.core.trancount()],
                );
                Err(Failure { error, effect: Effect::Raise })
            }
            BatchEnd::ScopeAborted => Ok((Flow::Next, -1)),
            BatchEnd::BatchAborted => Ok((Flow::Abort, -1)),
        }
    }

    /// The caller's database is the current one again: the one that was left first in a scope that
    /// began when so many were left.
    fn return_to(&mut self, left: usize) -> Result<(), SqlError> {
        if self.core.left_databases() == left {
            return Ok(());
        }
        let (id, old) = (self.core.db().id(), self.core.db().name());
        self.core.return_to_db(left);
        if self.core.db().id() == id {
            return Ok(());
        }
        let new = self.core.db().name();
        self.sink.changed(&SessionChange::Database { new: &new, old: &old })
    }
}

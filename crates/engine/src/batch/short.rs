//! A prepared batch that is one statement on one row by its key: it runs without the interpreter.
//! What was found out when it ran the usual way (its plan, and under what it was made) is kept by
//! the session that prepared it. Guarantees: the statement does what the interpreter would have had
//! it do, by the same functions of its plan and of the session's transaction; whatever needs more
//! (a plan that is out of date, a doomed transaction, an option that is not the one of before, a
//! row that is not to be changed in place) goes the usual way from the beginning, and nothing has
//! happened by then. Errors are the interpreter's too.

use std::sync::Arc;

use types::{SqlError, Value};

use super::bindings;
use super::kind::kind_of;
use super::run::{End, ToSink, fail_batch, tell_notes, tell_owed};
use catalog::errors;
use dml::{DmlPlan, ExpectedRow};
use exec::operators::context::ExecCtx;
use exec::operators::query::run_query;
use plan::QueryPlan;
use programs::compiled::{Bound, Compiled, Stamp};
use programs::counts::Counts;
use programs::program::Op;
use session::output::{Sink, StatementEnd, StatementKind};
use session::state::SessionCore;

/// A statement that may run this way.
enum Plan {
    Dml(Arc<DmlPlan>),
    Query(Arc<QueryPlan>),
}

/// The one statement of a batch.
pub(crate) struct Short {
    /// The options under which this was found, by their number.
    options: u64,
    stamp: Stamp,
    plan: Plan,
    kind: StatementKind,
    counts: Arc<Counts>,
}

impl Short {
    /// What a batch is that has run just now; nothing where it is more than one such statement.
    pub(crate) fn of(core: &mut SessionCore, batch: &Arc<Compiled>) -> Option<Short> {
        let program = &batch.program;
        let ([Op::Stmt(0)], [stmt], []) =
            (&program.ops[..], &program.stmts[..], &program.tries[..])
        else {
            return None;
        };
        let plain = core.options.runs() && !core.options.measures() && !core.options.profiles();
        if !plain
            || core.options.parse_settings() != batch.settings
            || program.vars.len() != batch.parameters
        {
            return None;
        }
        let (stamp, bound, counts) = bindings::of_first(core, batch)?;
        let plan = match bound {
            Bound::Dml(plan) if plan.is_point() => Plan::Dml(plan),
            Bound::Query(plan) if plan.point => Plan::Query(plan),
            _ => return None,
        };
        Some(Short {
            options: core.options.changes(),
            stamp,
            plan,
            kind: kind_of(&stmt.kind),
            counts,
        })
    }

    /// Whether all is as it was when this was found.
    #[inline]
    pub(crate) fn holds(&self, core: &SessionCore) -> bool {
        let db = core.db();
        let needs = match &self.plan {
            Plan::Dml(plan) => plan.needs(),
            Plan::Query(plan) => plan.needs(),
        };
        self.options == core.options.changes()
            && self.stamp.version == db.schema_version()
            && self.stamp.db == db.id()
            && self.stamp.temps.is_none_or(|generation| generation == core.objects.temps.generation)
            && !core.transactions.client.doomed
            && !core.cancelled()
            && needs.is_current()
    }

    /// Has the row that the statement will change brought near. Whether the statement will run this
    /// way is not asked, as nothing depends on the answer.
    #[inline]
    pub(crate) fn look_ahead(&self, core: &mut SessionCore, vars: &[Value]) -> Option<ExpectedRow> {
        match &self.plan {
            Plan::Dml(plan) => plan.look_ahead(&mut core.memory, vars),
            Plan::Query(_) => None,
        }
    }

    /// Runs the statement; nothing where the usual way is to be taken. Its errors go to the sink.
    /// `ahead` is what [`Short::look_ahead`] has found for the same variables.
    #[inline]
    pub(crate) fn run(
        &self,
        core: &mut SessionCore,
        sink: &mut dyn Sink,
        batch: &Arc<Compiled>,
        vars: &mut Vec<Value>,
        ahead: Option<ExpectedRow>,
    ) -> Option<Result<End, SqlError>> {
        let counts = &*self.counts;
        let (run, statement) = (counts.run.begin(), counts.statements[0].begin());
        let done = match &self.plan {
            Plan::Dml(plan) => change(plan, core, sink, vars, ahead),
            Plan::Query(plan) => read(plan, core, sink, vars),
        };
        let end = match done?.and_then(|done| self.tell(core, sink, batch, done)) {
            Ok(rows) => {
                counts.statements[0].end(statement, rows);
                Ok(End::Finished(0))
            }
            Err(error) => fail_batch(core, sink, batch, vars, error),
        };
        counts.run.ended(run);
        Some(end)
    }

    /// Tells the client of the statement's end; how many rows it had.
    #[inline]
    fn tell(
        &self,
        core: &mut SessionCore,
        sink: &mut dyn Sink,
        batch: &Compiled,
        (rows, counted): (u64, bool),
    ) -> Result<u64, SqlError> {
        if !core.run.notes.is_empty() {
            tell_notes(core, sink, batch, 0)?;
        }
        core.succeeded(rows);
        core.tell_transactions(sink)?;
        let shown = (!core.options.nocount).then_some(rows);
        let end = StatementEnd { statement: self.kind, rows: shown, error: false, nested: false };
        if counted {
            sink.done(end)?
        } else {
            sink.step(end)?
        }
        Ok(rows)
    }
}

/// Rows of a statement, and whether the client is told how many.
type Done = Option<Result<(u64, bool), SqlError>>;

/// Runs a change of one row as a statement.
#[inline]
fn change(
    plan: &DmlPlan,
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    vars: &mut [Value],
    ahead: Option<ExpectedRow>,
) -> Done {
    let result = core.begin_statement(true).and_then(|()| core.tell_transactions(sink));
    let result = result.and_then(|()| plan.run_point(&mut ExecCtx { session: core, vars }, ahead));
    let rows = match result {
        Ok(Some(rows)) => Ok(rows),
        // The usual way begins the statement once more.
        Ok(None) => return None,
        Err(error) => Err(error),
    };
    debug_assert!(
        core.run.triggers.fired.is_empty(),
        "a statement with triggers has run without them"
    );
    match core.end_statement(rows) {
        Ok(rows) => Some(Ok((rows, true))),
        // It is taken back. The interpreter compiles it again, or looks for room and runs it again.
        Err(error) if matches!(error.number, errors::SCHEMA_CHANGED | 1105) => None,
        Err(error) => Some(Err(error)),
    }
}

/// Runs a query of one row as a statement.
#[inline]
fn read(plan: &QueryPlan, core: &mut SessionCore, sink: &mut dyn Sink, vars: &mut [Value]) -> Done {
    let begun =
        core.begin_statement(plan.needs().reads_data()).and_then(|()| core.tell_transactions(sink));
    if let Err(error) = begun {
        return Some(Err(error));
    }
    let columns = plan.columns();
    let mut out = ToSink::new(sink, columns, core.options.textsize);
    out.order = plan.order();
    let result = run_query(plan, &mut ExecCtx { session: core, vars }, &mut out);
    let result = result.and_then(|rows| out.finish().map(|()| rows));
    let begun = out.begun;
    match core.end_statement(result) {
        Ok(rows) => Some(Ok((rows, !columns.is_empty()))),
        Err(error) if error.number == errors::SCHEMA_CHANGED => None,
        Err(error) if begun => Some(Err(error)),
        Err(error) => {
            Some(Err(tell_owed(core, sink, plan.needs(), columns, None).err().unwrap_or(error)))
        }
    }
}

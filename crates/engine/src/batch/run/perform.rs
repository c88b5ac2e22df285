//! A bound statement runs: assignments, conditions, queries, changes. Guarantees: each begins and
//! ends as a statement of the session does, and tells the client its rows, notes and end in that
//! order. Queries and changes are functions without a run around them: a statement that a session
//! has ready (`short`) is run by the same ones.

use syntax::ast::Expr;
use types::{ResultRows, SqlError, Value};

use super::to_sink::ToSink;
use super::told::{tell_end, tell_notes, tell_step};
use super::{Failure, Run};
use crate::batch::origins;
use catalog::errors;
use dml::{DmlPlan, ExpectedRow};
use exec::operators::context::{ExecCtx, RowSink};
use exec::operators::query::run_query;
use plan::QueryPlan;
use programs::compiled::{BoundOperation, CompiledBatch};
use session::output::{Sink, StatementKind};
use session::state::SessionCore;

impl Run<'_> {
    pub(super) fn assign(&mut self, at: usize) -> Result<(), Failure> {
        let Run { core, vars, bound, .. } = self;
        let Some((_, BoundOperation::Assign { slot, value })) = &bound[at] else {
            return Err(SqlError::internal("an assignment was expected").into());
        };
        let result = value.eval(&mut ExecCtx { session: core, vars });
        let result = core.end_expression(result)?;
        vars[*slot] = result;
        if !self.core.run.notes.is_empty() {
            self.tell_notes(at)?;
        }
        self.core.succeeded(1);
        self.told(StatementKind::Select, Some(1))
    }

    pub(super) fn test(&mut self, at: usize, condition: usize) -> Result<bool, Failure> {
        self.bind_condition(at, condition)?;
        let Run { core, vars, bound, .. } = self;
        let Some((_, BoundOperation::Condition(condition))) = &bound[at] else {
            return Err(SqlError::internal("a condition was expected").into());
        };
        let result = condition.test(&mut ExecCtx { session: core, vars });
        Ok(core.end_expression(result)?)
    }

    /// Compiles expressions of a utility statement (once per binding) and evaluates them.
    pub(in crate::batch) fn evaluate_at(
        &mut self,
        at: usize,
        exprs: &[&Expr],
    ) -> Result<Vec<Value>, Failure> {
        self.bind_scalars(at, exprs)?;
        let Run { core, vars, bound, .. } = self;
        let Some(scalars) = bound[at].as_ref().and_then(|(_, bound)| bound.scalars()) else {
            return Err(SqlError::internal("arguments were expected").into());
        };
        let mut ctx = ExecCtx { session: core, vars };
        let result: Result<Vec<Value>, SqlError> =
            scalars.iter().map(|s| s.eval(&mut ctx)).collect();
        Ok(core.end_expression(result)?)
    }
}

/// What a query or a change has come to.
pub(in crate::batch) struct StatementOutcome {
    /// Its rows, or why it was taken back.
    result: Result<u64, SqlError>,
    /// Rows of it, or their columns, went to the client.
    pub(in crate::batch) header_sent: bool,
    /// It returns rows and has failed before it had shown its columns.
    pub(in crate::batch) header_owed: bool,
    /// It assigns variables: its end is a step.
    is_step: bool,
}

impl StatementOutcome {
    fn failed(error: SqlError) -> StatementOutcome {
        StatementOutcome {
            result: Err(error),
            header_sent: false,
            header_owed: false,
            is_step: false,
        }
    }

    /// Tells the client what the statement had to say, and that it ended; gives its rows.
    ///
    /// # Errors
    /// Those of the statement, and of the sink.
    #[inline]
    pub(in crate::batch) fn tell(
        self,
        core: &mut SessionCore,
        sink: &mut dyn Sink,
        (batch, at): (&CompiledBatch, usize),
        statement: StatementKind,
    ) -> Result<u64, SqlError> {
        let rows = self.result?;
        tell_notes(core, sink, batch, at)?;
        core.succeeded(rows);
        if self.is_step {
            core.tell_transactions(sink)?;
            tell_step(core, sink, statement, Some(rows))?;
        } else {
            tell_end(core, sink, self.header_sent, statement, Some(rows))?;
        }
        Ok(rows)
    }
}

/// For a change that gives no rows.
struct NoRows;

impl RowSink for NoRows {
    fn rows(&mut self, _: &ResultRows<'_>) -> Result<(), SqlError> {
        Err(SqlError::internal("a statement without OUTPUT has given a row"))
    }
}

/// Runs a bound query as a statement.
#[inline]
pub(in crate::batch) fn query(
    plan: &QueryPlan,
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    vars: &mut [Value],
) -> StatementOutcome {
    core.run.notes.clear();
    let columns = plan.columns();
    let returns = !columns.is_empty();
    let begun = core.begin_statement(plan.needs().reads_data());
    if let Err(error) = begun.and_then(|()| core.tell_transactions(sink)) {
        return StatementOutcome::failed(error);
    }
    let mut out = ToSink::new(sink, columns, core.options.textsize);
    out.origins =
        plan.browse.as_ref().map(|browse| origins::of_query(browse, columns, core.db().id()));
    out.order = plan.order();
    let result = run_query(plan, &mut ExecCtx { session: core, vars }, &mut out);
    let result = result.and_then(|rows| out.finish().map(|()| rows));
    let begun = out.begun;
    let result = core.end_statement(result);
    StatementOutcome {
        result,
        header_sent: begun && returns,
        header_owed: !begun && returns,
        is_step: !returns,
    }
}

/// Runs a bound change of rows as a statement, with its triggers. `ahead` is what
/// [`DmlPlan::look_ahead`] has found, if it was asked; `catching`: a CATCH around the statement
/// waits for errors of its triggers.
#[inline]
pub(in crate::batch) fn change(
    plan: &DmlPlan,
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    vars: &mut [Value],
    ahead: Option<ExpectedRow>,
    catching: bool,
) -> StatementOutcome {
    if core.transactions.client.doomed {
        return StatementOutcome::failed(errors::doomed());
    }
    core.run.notes.clear();
    let begun = core.begin_statement(true);
    if let Err(error) = begun.and_then(|()| core.tell_transactions(sink)) {
        return StatementOutcome::failed(error);
    }
    let columns = plan.columns();
    let (mut header_sent, mut header_owed, mut refused) = (false, false, None);
    let mut result = if columns.is_empty() {
        plan.run(&mut ExecCtx { session: core, vars }, &mut NoRows, ahead)
    } else {
        let mut out = ToSink::new(sink, columns, core.options.textsize);
        let result = plan.run(&mut ExecCtx { session: core, vars }, &mut out, ahead);
        let result = result.and_then(|rows| out.finish().map(|()| rows));
        (header_sent, header_owed, refused) = (out.begun, !out.begun, out.refused.take());
        result
    };
    if result.is_ok() && !core.run.triggers.fired.is_empty() {
        // Statements of triggers have notes of their own.
        let notes = std::mem::take(&mut core.run.notes);
        let fired = core.fire_triggers(sink, catching);
        core.run.notes = notes;
        result = fired.and(result);
    }
    let result = refused_first(core.end_statement(result), refused);
    StatementOutcome { result, header_sent, header_owed, is_step: false }
}

/// Rows of OUTPUT that were gathered go out before the error that has ended their change: what was
/// wrong with them comes first. Whoever was chosen to end a deadlock hears of that.
fn refused_first(
    result: Result<u64, SqlError>,
    refused: Option<SqlError>,
) -> Result<u64, SqlError> {
    match (result, refused) {
        (Err(own), Some(refused)) if own.number != 1205 => Err(refused),
        (result, _) => result,
    }
}

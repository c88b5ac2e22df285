//! A bound statement runs: assignments, conditions, queries, changes. Guarantees: each begins and
//! ends as a statement of the session does, and tells the client its rows, notes and end in that
//! order.

use syntax::ast::{Expr, Query, Stmt};
use types::{SqlError, Value};

use super::to_sink::ToSink;
use super::{Failure, Run};
use crate::batch::kind::kind_of;
use crate::batch::origins;
use catalog::errors;
use exec::operators::context::ExecCtx;
use exec::operators::query::run_query;
use programs::compiled::Bound;
use session::output::StatementKind;

impl Run<'_> {
    pub(super) fn assign(&mut self, at: usize) -> Result<(), Failure> {
        let Run { core, vars, bound, .. } = self;
        let Some((_, Bound::Assign { slot, value })) = &bound[at] else {
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
        let Some((_, Bound::Condition(condition))) = &bound[at] else {
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

    pub(super) fn query(&mut self, at: usize, query: &Query) -> Result<(), Failure> {
        self.bind_query(at, query)?;
        self.core.run.notes.clear();
        let Run { core, vars, bound, sink, shown, owes, .. } = self;
        let Some((_, Bound::Query(plan))) = &bound[at] else {
            return Err(SqlError::internal("a query was expected").into());
        };
        core.begin_statement(plan.needs().reads_data())?;
        core.tell_transactions(*sink)?;
        let columns = plan.columns();
        let returns = !columns.is_empty();
        let mut out = ToSink::new(*sink, columns, core.options.textsize);
        out.origins =
            plan.browse.as_ref().map(|browse| origins::of_query(browse, columns, core.db().id()));
        out.order = plan.order();
        let result = run_query(plan, &mut ExecCtx { session: core, vars }, &mut out);
        let result = result.and_then(|rows| out.finish().map(|()| rows));
        (*shown, *owes) = (out.begun && returns, !out.begun && returns);
        let rows = core.end_statement(result)?;
        self.tell_notes(at)?;
        self.core.succeeded(rows);
        if !returns {
            self.core.tell_transactions(self.sink)?;
            return self.told(StatementKind::Select, Some(rows));
        }
        self.done(StatementKind::Select, Some(rows))
    }

    pub(super) fn dml(&mut self, at: usize, stmt: &Stmt) -> Result<(), Failure> {
        self.bind_dml(at, stmt)?;
        if self.core.transactions.client.doomed {
            return Err(errors::doomed().into());
        }
        let catching = self.catches();
        self.core.run.notes.clear();
        let Run { core, vars, bound, sink, shown, owes, .. } = self;
        let Some((_, Bound::Dml(plan))) = &bound[at] else {
            return Err(SqlError::internal("a data modification was expected").into());
        };
        core.begin_statement(true)?;
        core.tell_transactions(*sink)?;
        let columns = plan.columns();
        let mut out = ToSink::new(*sink, columns, core.options.textsize);
        let result = plan.run(&mut ExecCtx { session: core, vars }, &mut out);
        let result = result.and_then(|rows| out.finish().map(|()| rows));
        let returns = !columns.is_empty();
        (*shown, *owes) = (out.begun && returns, !out.begun && returns);
        let result = match result {
            Ok(rows) if !core.run.triggers.fired.is_empty() => {
                // Statements of triggers have notes of their own.
                let notes = std::mem::take(&mut core.run.notes);
                let fired = core.fire_triggers(*sink, catching);
                core.run.notes = notes;
                fired.map(|()| rows)
            }
            result => result,
        };
        let rows = core.end_statement(result)?;
        self.tell_notes(at)?;
        self.core.succeeded(rows);
        self.done(kind_of(&stmt.kind), Some(rows))
    }
}

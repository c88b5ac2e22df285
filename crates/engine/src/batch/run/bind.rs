//! Statements are bound when they first run, and again when what they were bound under has changed.
//! Guarantees: a statement that is bound costs no lookup by name; one session renews a plan whose
//! tables have changed much, the others go on with the old one until it is there.

use pages::PageTrace;
use syntax::ast::{Expr, ExprKind, Query, SetValue, SetVariable, Span, Stmt};
use types::SqlError;

use super::{Effect, Failure, Run};
use bind::env::CompileEnv;
use bind::select_list::compound;
use dml::compile_dml;
use exec::operators::scalar::{compile_condition, compile_scalar};
use plan::compile_query;
use programs::compiled::Bindings;
use programs::compiled::{BoundOperation, CompiledBatch};
use programs::counts::BatchCounts;
use session::state::phases::{self, Phase};

impl Run<'_> {
    #[inline]
    pub(in crate::batch) fn is_bound(&mut self, at: usize) -> bool {
        match &self.bound[at] {
            Some((bound_to, bound)) if bound_to.is_of(self.core) && bound.is_current() => true,
            _ => self.finds_binding(at),
        }
    }

    /// Looks whether another session has bound the statement for this schema. A plan whose tables
    /// have changed much since it was made is made again by one session; the others go on with the
    /// old one until it is there.
    #[cold]
    fn finds_binding(&mut self, at: usize) -> bool {
        let _plan = phases::enter(Phase::Plan);
        let shared = self.batch.bound.lock()[at].clone();
        if let Some((bound_to, _)) = &shared
            && bound_to.is_of(self.core)
        {
            settle(self.batch, &self.bound, &self.counts, at);
            self.bound[at] = shared;
        }
        let Some((bound_to, bound)) = &self.bound[at] else { return false };
        bound_to.is_of(self.core) && bound.outdated().is_none_or(|needs| !needs.claim())
    }

    /// Compiles with the environment of this moment.
    pub(in crate::batch) fn compile(
        &mut self,
        at: usize,
        make: impl Fn(&CompileEnv<'_>) -> Result<BoundOperation, SqlError>,
    ) -> Result<(), Failure> {
        let _plan = phases::enter(Phase::Plan);
        let made = self.compile_anew(at, make);
        if made.is_err()
            && let Some((_, old)) = &self.bound[at]
            && let Some(needs) = old.outdated()
        {
            needs.give_up();
        }
        made
    }

    fn compile_anew(
        &mut self,
        at: usize,
        make: impl Fn(&CompileEnv<'_>) -> Result<BoundOperation, SqlError>,
    ) -> Result<(), Failure> {
        // Statistics that a plan wants are measured now: not what the statement reads.
        let _apart = self.core.options.statistics_io.then(PageTrace::begin);
        let mut looked = self.core.looked();
        loop {
            match BoundOperation::make(self.core, &self.batch.program.vars, self.vars, &make) {
                Ok((stamp, bound)) => {
                    bound.compiled();
                    settle(self.batch, &self.bound, &self.counts, at);
                    match bound.is_for_one_run() {
                        true => self.one_run = true,
                        false => self.batch.bound.lock()[at] = Some((stamp, bound.clone())),
                    }
                    self.bound[at] = Some((stamp, bound));
                    return Ok(());
                }
                // Another transaction may have given the name up, and take it back.
                Err(error) if matches!(error.number, 208 | 5313) => {
                    if !self.core.wait_for_missing(&error, &mut looked)?
                        && !self.core.wait_in_named(&error, &self.batch.text, &looked)?
                    {
                        return Err(Failure { error, effect: Effect::Compile });
                    }
                }
                Err(error) => return Err(Failure { error, effect: Effect::Compile }),
            }
        }
    }

    pub(in crate::batch) fn bind_assignment(
        &mut self,
        at: usize,
        slot: usize,
        expr: impl Fn(&CompiledBatch) -> &Expr,
    ) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        let batch = self.batch;
        let ty = batch.program.vars.get(slot).map(|(_, ty)| ty);
        self.compile(at, |env| {
            let value = compile_scalar(expr(batch), env, ty)?;
            Ok(BoundOperation::Assign { slot, value })
        })
    }

    pub(in crate::batch) fn bind_set(
        &mut self,
        at: usize,
        set: &SetVariable,
        span: Span,
    ) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        let expr = match &set.value {
            SetValue::Expr(expr) => expr,
            SetValue::Cursor(def) => return self.bind_cursor(at, def),
        };
        if let Some(slot) = self.batch.program.vars.open(&set.name) {
            return self.deduce_target(at, slot, set.op, expr);
        }
        let (slot, ty) = self.batch.program.vars.find(&set.name)?;
        let whole = match compound(set.op) {
            None => expr.clone(),
            Some(op) => {
                let left = Expr { kind: ExprKind::Variable(set.name.clone()), span };
                let kind =
                    ExprKind::Binary { op, left: Box::new(left), right: Box::new(expr.clone()) };
                Expr { kind, span }
            }
        };
        self.compile(at, |env| {
            let value = compile_scalar(&whole, env, Some(ty))?;
            Ok(BoundOperation::Assign { slot, value })
        })
    }

    pub(in crate::batch) fn bind_condition(
        &mut self,
        at: usize,
        condition: usize,
    ) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        let batch = self.batch;
        self.compile(at, |env| {
            Ok(BoundOperation::Condition(compile_condition(&batch.program.exprs[condition], env)?))
        })
    }

    pub(in crate::batch) fn bind_scalars(
        &mut self,
        at: usize,
        exprs: &[&Expr],
    ) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        self.compile(at, |env| {
            let scalars: Result<Vec<_>, _> =
                exprs.iter().map(|e| compile_scalar(e, env, None)).collect();
            Ok(BoundOperation::Scalars(scalars?.into()))
        })
    }

    pub(in crate::batch) fn bind_query(&mut self, at: usize, query: &Query) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        self.compile(at, |env| {
            let plan = compile_query(query, env)?;
            plan.check_cost(env.options.cost_limit)?;
            Ok(BoundOperation::Query(plan))
        })
    }

    pub(in crate::batch) fn bind_dml(&mut self, at: usize, stmt: &Stmt) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        self.compile(at, |env| Ok(BoundOperation::Dml(compile_dml(stmt, env)?)))
    }
}

/// A statement loses the plan that it has: what it has counted was done by that.
pub(super) fn settle(batch: &CompiledBatch, bound: &Bindings, counts: &BatchCounts, at: usize) {
    if let Some(number) = batch.statement_at(at)
        && let Some((_, plan)) = &bound[at]
    {
        batch.settle_count(at, plan, &counts.statements[number]);
    }
}

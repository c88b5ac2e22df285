//! The interpreter: runs a compiled batch operation by operation, binds statements when they first run, and decides
//! what an error does: end the statement, jump to CATCH, end the batch, doom the transaction.
//! A bound statement costs no lookup by name and no allocation of the interpreter's.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pages::PageTrace;
use syntax::ast::{Assignment, Expr, ExprKind, SetValue, Span, Stmt, StmtKind};
use types::convert::{Mode, convert_with};
use types::{CodePage, DataType, Dialect, SqlError, Value};

use super::bindings::{self, Bindings};
use super::counts::{Counts, worker_time};
use super::kind::kind_of;
use super::origins;
use super::program::Op;
use super::{Bound, Compiled};
use catalog::errors;
use exec::dml::compile_dml;
use exec::operators::context::{ExecCtx, RowSink};
use exec::operators::query::run_query;
use exec::operators::scalar::{compile_condition, compile_scalar};
use exec::output::{Sink, StatementEnd, StatementKind};
use exec::state::SessionCore;
use exec::state::inner::was_reported;
use exec::state::room::MAX_RUNS;
use plan::bind::env::CompileEnv;
use plan::compile_query;

/// How often a statement is compiled again because the schema moved under it, before that is an error.
const MAX_RECOMPILES: u32 = 100;

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It came to its end or to RETURN; the status is 0 unless RETURN gave one.
    Finished(i32),
    /// An error ended this scope; the caller's goes on.
    ScopeAborted,
    /// An error ended the whole batch, callers included.
    BatchAborted,
}

/// What an error does beyond ending its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// What its number says.
    Usual,
    /// It was found while binding: this scope ends, and its own CATCH does not see it.
    Compile,
    /// THROW: the batch ends.
    Throw,
    /// RAISERROR: the batch goes on, XACT_ABORT or not.
    Raise,
}

/// A statement that failed.
#[derive(Debug)]
pub struct Failure {
    pub error: SqlError,
    pub effect: Effect,
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Failure {
        // What is not as WITH RESULT SETS says ends the batch as THROW does.
        let effect = match error.number {
            11_535..=11_538 | 11_553 => Effect::Throw,
            _ => Effect::Usual,
        };
        Failure { error, effect }
    }
}

/// What a statement tells the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on with the next operation.
    Next,
    /// The batch ends here, callers included.
    Abort,
}

/// One run of a batch.
pub struct Run<'a> {
    pub(super) core: &'a mut SessionCore,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) batch: &'a Arc<Compiled>,
    pub(super) vars: &'a mut Vec<Value>,
    pub(super) bound: Bindings,
    /// Where this session counts what its statements cost.
    counts: Arc<Counts>,
    /// A binding is for this run alone: the session does not keep them.
    one_run: bool,
    /// The operation that runs.
    pub(super) at: usize,
    /// A CATCH of a calling scope waits for errors of this one.
    pub(super) outer_try: bool,
    /// CATCH blocks of calling scopes.
    base_depth: usize,
    /// The running statement has begun a result set, or sent rows of OUTPUT.
    shown: bool,
    /// For a call by RPC, which has no variables: what its OUTPUT parameters become.
    pub(super) outputs: Option<Outputs>,
}

/// Values of OUTPUT parameters of a call.
#[derive(Debug, Default)]
pub struct Outputs {
    /// What the client declares each argument as; none for a NULL without a type.
    pub types: Vec<Option<DataType>>,
    /// Values by the positions of their arguments.
    pub values: Vec<(usize, DataType, Value)>,
}

impl Outputs {
    /// Takes a value, in the client's type as a variable would take it.
    pub fn put(
        &mut self,
        at: usize,
        ty: DataType,
        value: &Value,
        (dialect, page): (Dialect, CodePage),
    ) -> Result<(), SqlError> {
        let to = self.types.get(at).copied().flatten().unwrap_or(ty);
        let value = if to == ty {
            value.clone()
        } else {
            convert_with(value, ty, to, 0, Mode::Implicit, dialect, page)?
        };
        self.values.push((at, to, value));
        Ok(())
    }
}

/// Runs a batch to its end. `vars` holds its parameters and gets the rest of its variables, NULL at first.
///
/// Errors: one that no CATCH of this scope took, for the caller's CATCH; only when `outer_try`.
pub fn run_batch(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    batch: &Arc<Compiled>,
    vars: &mut Vec<Value>,
    outer_try: bool,
) -> Result<End, SqlError> {
    let gives_back = core.cursors.enter();
    let mut run = Run::new(core, sink, batch, vars, outer_try);
    let begun = run.counts.run.begin();
    let end = run.main();
    run.counts.run.ended(begun);
    run.core.caught.truncate(run.base_depth);
    run.core.cursors.leave(gives_back);
    let Run { core, bound, counts, one_run, .. } = run;
    if one_run {
        (0..bound.len()).for_each(|at| settle(batch, &bound, &counts, at));
    } else {
        bindings::keep(core, batch, (bound, counts));
    }
    end
}

/// Ends a batch whose one statement has failed outside of a run, as a run does.
///
/// # Errors
/// None: no scope is around it.
#[cold]
pub(super) fn fail_batch(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    batch: &Arc<Compiled>,
    vars: &mut Vec<Value>,
    error: SqlError,
) -> Result<End, SqlError> {
    let mut run = Run::new(core, sink, batch, vars, false);
    let end = match run.failed(0, error.into())? {
        After::Resume(_) => End::Finished(0),
        After::End(end) => end,
    };
    let Run { core, bound, counts, .. } = run;
    bindings::keep(core, batch, (bound, counts));
    Ok(end)
}

/// Tells the client what the statement at an operation had to say.
#[cold]
pub(super) fn tell_notes(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    batch: &Compiled,
    at: usize,
) -> Result<(), SqlError> {
    std::mem::take(&mut core.notes).into_iter().try_for_each(|note| sink.message(&batch.placed(at, note)))
}

/// A statement loses the plan that it has: what it has counted was done by that.
fn settle(batch: &Compiled, bound: &Bindings, counts: &Counts, at: usize) {
    if let Some(number) = batch.statement_at(at)
        && let Some((_, plan)) = &bound[at]
    {
        batch.settle_count(at, plan, &counts.statements[number]);
    }
}

impl<'a> Run<'a> {
    pub(super) fn new(
        core: &'a mut SessionCore,
        sink: &'a mut dyn Sink,
        batch: &'a Arc<Compiled>,
        vars: &'a mut Vec<Value>,
        outer_try: bool,
    ) -> Run<'a> {
        if vars.len() != batch.program.vars.len() {
            vars.resize(batch.program.vars.len(), Value::Null);
        }
        let (bound, counts) = bindings::take(core, batch);
        let base_depth = core.caught.len();
        Run {
            core,
            sink,
            batch,
            vars,
            bound,
            counts,
            one_run: false,
            at: 0,
            outer_try,
            base_depth,
            shown: false,
            outputs: None,
        }
    }

    fn main(&mut self) -> Result<End, SqlError> {
        let batch = self.batch;
        let program = &batch.program;
        let mut at = 0;
        while let Some(&op) = program.ops.get(at) {
            if let (Op::Jump(target), true) = (op, self.core.options.runs()) {
                at = self.jump(at, target as usize);
                continue;
            }
            self.at = at;
            if self.core.nest_level == 0 {
                self.core.shared.activity.reached(at);
            }
            match self.retry_step(at, op) {
                Ok(Step::Next) => at += 1,
                Ok(Step::To(target)) => at = target,
                Ok(Step::Return(status)) => return Ok(End::Finished(status)),
                Ok(Step::Abort) => return Ok(End::BatchAborted),
                Err(failure) => match self.failed(at, failure)? {
                    After::Resume(target) => at = target,
                    After::End(end) => return Ok(end),
                },
            }
        }
        Ok(End::Finished(0))
    }

    /// A jump out of CATCH blocks leaves their errors behind.
    fn jump(&mut self, from: usize, to: usize) -> usize {
        let depths = &self.batch.program.depths;
        if depths.get(from) != depths.get(to) {
            let depth = depths.get(to).copied().unwrap_or(0) as usize;
            self.core.caught.truncate(self.base_depth + depth);
        }
        to
    }

    fn step(&mut self, at: usize, op: Op) -> Result<Step, Failure> {
        self.core.check_cancel()?;
        if !self.core.options.runs() {
            return self.compile_only(at, op).map(|()| Step::Next);
        }
        if self.core.options.measures() && !self.core.in_function() {
            return self.measured(at, op);
        }
        self.do_step(at, op)
    }

    /// A step that tells what it took.
    #[cold]
    fn measured(&mut self, at: usize, op: Op) -> Result<Step, Failure> {
        let timer = self.core.options.statistics_time.then(StatementTimer::start);
        let step = match self.core.options.statistics_io && !self.makes_table(op) {
            true => self.with_reads(at, |run| run.do_step(at, op))?,
            false => self.do_step(at, op)?,
        };
        if let Some(timer) = timer
            && matches!(op, Op::Stmt(_))
        {
            let message = self.placed(at, timer.message());
            self.sink.message(&message)?;
        }
        Ok(step)
    }

    /// Whether a step makes a table: what it reads of that is not told.
    fn makes_table(&self, op: Op) -> bool {
        let Op::Stmt(index) = op else { return false };
        let kind = &self.batch.program.stmts[index as usize].kind;
        matches!(kind, StmtKind::CreateTable(_) | StmtKind::Declare(_))
    }

    #[inline]
    fn do_step(&mut self, at: usize, op: Op) -> Result<Step, Failure> {
        match op {
            Op::Stmt(index) => self.statement(at, index as usize),
            Op::Branch { condition, otherwise } => {
                let holds = self.test(at, condition as usize)?;
                self.core.succeeded(0);
                self.told(StatementKind::Condition, None)?;
                Ok(if holds { Step::Next } else { Step::To(otherwise as usize) })
            }
            Op::Init { slot, expr } => {
                self.bind_assignment(at, slot as usize, |batch| &batch.program.exprs[expr as usize])?;
                self.assign(at)?;
                Ok(Step::Next)
            }
            Op::Jump(target) => Ok(Step::To(target as usize)),
            Op::Goto(target) => {
                self.told(StatementKind::Goto, None)?;
                Ok(Step::To(self.jump(at, target as usize)))
            }
            Op::BeginTry => {
                self.told(StatementKind::BeginTry, None)?;
                Ok(Step::Next)
            }
            Op::EndTry(target) => {
                self.told(StatementKind::EndBlock, None)?;
                Ok(Step::To(target as usize))
            }
            Op::EndCatch => {
                self.core.caught.pop();
                self.told(StatementKind::EndBlock, None)?;
                Ok(Step::Next)
            }
            Op::Return(None) => {
                self.told(StatementKind::Return, None)?;
                Ok(Step::Return(0))
            }
            Op::Return(Some(expr)) => {
                let batch = self.batch;
                let values = self.evaluate_at(at, &[&batch.program.exprs[expr as usize]])?;
                let status = values.first().and_then(Value::as_i64).unwrap_or(0);
                self.told(StatementKind::Select, Some(1))?;
                Ok(Step::Return(i32::try_from(status).unwrap_or(0)))
            }
        }
    }

    /// Decides what an error does. Errors: the error itself, for a CATCH of a calling scope.
    pub(super) fn failed(&mut self, at: usize, failure: Failure) -> Result<After, SqlError> {
        let Failure { error, effect } = failure;
        if was_reported(&error) {
            return Ok(After::End(End::BatchAborted));
        }
        let program = &self.batch.program;
        let error = self.placed(at, error);
        self.core.error_number = error.number;
        self.core.rowcount = 0;
        // What a failed statement had to say is no later one's.
        self.core.notes.clear();
        let handler = if effect == Effect::Compile { None } else { program.handler(at) };
        let fatal = error.severity >= 20 || self.core.shared.cancel.load(Ordering::Relaxed);
        let aborts = fatal
            || match effect {
                Effect::Raise => false,
                Effect::Throw | Effect::Compile => self.core.options.xact_abort,
                Effect::Usual => {
                    let options = &self.core.options;
                    let arithmetic =
                        options.arithabort && !options.ansi_warnings && expr::eval::is_arithmetic(&error);
                    options.xact_abort || arithmetic || errors::ends_batch(&error)
                }
            };
        if let Some(region) = handler.filter(|_| !fatal) {
            if aborts && self.core.trancount > 0 {
                self.core.doomed = true;
            }
            self.core.caught.truncate(self.base_depth + region.depth as usize);
            self.core.caught.push(error);
            let catch = region.catch as usize;
            self.tell_caught(at);
            return Ok(After::Resume(catch));
        }
        if self.outer_try && (!fatal || self.core.in_function()) {
            if aborts && self.core.trancount > 0 {
                self.core.doomed = true;
            }
            return Err(error);
        }
        self.report(at, &error, aborts || effect == Effect::Compile);
        if aborts && (error.severity >= 20 || !self.core.keeps_transaction()) {
            if self.core.trancount > 0 {
                self.core.cursors.request_failed();
            }
            self.core.rollback_all();
        }
        // As for the report.
        let _ = self.core.tell_transactions(self.sink);
        // A call is no statement.
        if self.outputs.is_none() {
            let end = StatementEnd { error: true, ..self.end_of(self.kind(at), None) };
            let _ = self.sink.done(end);
        }
        if aborts {
            return Ok(After::End(End::BatchAborted));
        }
        Ok(match effect {
            Effect::Throw => After::End(End::BatchAborted),
            Effect::Compile => After::End(End::ScopeAborted),
            _ => After::Resume(match self.batch.program.ops.get(at) {
                // What may not be asked is not so.
                Some(Op::Branch { otherwise, .. }) if error.severity == 14 => *otherwise as usize,
                _ => at + 1,
            }),
        })
    }

    /// Sends an uncaught error to the client, and for DML that it stopped the note that SQL Server adds unless `silent`.
    fn report(&mut self, at: usize, error: &SqlError, silent: bool) {
        // A client that went away is noticed at the next result; an error report has nobody else to go to.
        let _ = self.sink.error(error);
        let program = &self.batch.program;
        let modifies = match program.ops.get(at) {
            Some(Op::Stmt(index)) => is_dml(&program.stmts[*index as usize].kind),
            _ => false,
        };
        if modifies && !silent && (11..17).contains(&error.severity) && error.number < 50_000 {
            let note = SqlError::new(3621, 0, 0, "The statement has been terminated.");
            let note = note.in_procedure(error.procedure()).at_line(error.line);
            let _ = self.sink.message(&note);
        }
    }

    fn statement(&mut self, at: usize, index: usize) -> Result<Step, Failure> {
        let batch = self.batch;
        let stmt = &batch.program.stmts[index];
        if !self.core.may_all() {
            crate::stmt::rights::check(self.core, stmt)?;
        }
        match &stmt.kind {
            StmtKind::Insert(insert) if insert.source.is_execute() => {
                self.insert_exec(at, insert)?;
            }
            StmtKind::Insert(_) | StmtKind::Update(_) | StmtKind::Delete(_) | StmtKind::Merge(_) => {
                self.counted(index, |run| run.profiled(at, stmt, |run| run.dml(at, stmt)))?;
            }
            StmtKind::SetVariable(set) if self.sets_cursor(set) => self.set_cursor(at, set, stmt.span)?,
            StmtKind::SetVariable(set) => {
                self.bind_set(at, set, stmt.span)?;
                self.assign(at)?;
            }
            StmtKind::Select(query) if query.body.first_select().into.is_some() => {
                self.counted(index, |run| run.profiled(at, stmt, |run| run.dml(at, stmt)))?;
            }
            StmtKind::Select(query) => {
                self.counted(index, |run| run.profiled(at, stmt, |run| run.query(at, query)))?;
            }
            _ => {
                return Ok(match self.other(at, stmt)? {
                    Flow::Next => Step::Next,
                    Flow::Abort => Step::Abort,
                });
            }
        }
        Ok(Step::Next)
    }

    /// Runs a query or change and counts it, if it comes to its end.
    #[inline]
    fn counted(
        &mut self,
        statement: usize,
        work: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let begun = self.counts.statements[statement].begin();
        work(self)?;
        self.counts.statements[statement].end(begun, self.core.rowcount);
        Ok(())
    }

    // ---- binding ----

    #[inline]
    pub(super) fn is_bound(&mut self, at: usize) -> bool {
        match &self.bound[at] {
            Some((bound_to, bound)) if bound_to.is_of(self.core) && bound.is_current() => true,
            _ => self.finds_binding(at),
        }
    }

    /// Looks whether another session has bound the statement for this schema. A plan whose tables have changed much since it was
    /// made is made anew by one session; the others go on with the old one until it is there.
    #[cold]
    fn finds_binding(&mut self, at: usize) -> bool {
        let shared = self.batch.bound.lock()[at].clone();
        if let Some((bound_to, _)) = &shared
            && bound_to.is_of(self.core)
        {
            settle(self.batch, &self.bound, &self.counts, at);
            self.bound[at] = shared;
        }
        let Some((bound_to, bound)) = &self.bound[at] else { return false };
        bound_to.is_of(self.core) && (bound.is_current() || !bound.needs().is_some_and(|needs| needs.claim()))
    }

    /// Compiles with the environment of this moment.
    pub(super) fn compile(
        &mut self,
        at: usize,
        make: impl Fn(&CompileEnv<'_>) -> Result<Bound, SqlError>,
    ) -> Result<(), Failure> {
        let made = self.compile_anew(at, make);
        if made.is_err()
            && let Some((_, old)) = &self.bound[at]
            && let Some(needs) = old.needs()
        {
            needs.give_up();
        }
        made
    }

    fn compile_anew(
        &mut self,
        at: usize,
        make: impl Fn(&CompileEnv<'_>) -> Result<Bound, SqlError>,
    ) -> Result<(), Failure> {
        // Statistics that a plan wants are measured now: not what the statement reads.
        let _apart = self.core.options.statistics_io.then(PageTrace::begin);
        let mut waited = false;
        loop {
            match Bound::make(self.core, &self.batch.program.vars, self.vars, &make) {
                Ok((stamp, bound)) => {
                    bound.compiled();
                    settle(self.batch, &self.bound, &self.counts, at);
                    match bound.needs() {
                        Some(needs) if needs.one_run => self.one_run = true,
                        _ => self.batch.bound.lock()[at] = Some((stamp, bound.clone())),
                    }
                    self.bound[at] = Some((stamp, bound));
                    return Ok(());
                }
                // The name may belong to a table that another transaction has dropped and not yet committed.
                Err(error) if error.number == 208 && !waited => {
                    waited = true;
                    if !self.core.wait_for_ddl_of_others()? {
                        return Err(Failure { error, effect: Effect::Compile });
                    }
                }
                Err(error) => return Err(Failure { error, effect: Effect::Compile }),
            }
        }
    }

    pub(super) fn bind_assignment(
        &mut self,
        at: usize,
        slot: usize,
        expr: impl Fn(&Compiled) -> &Expr,
    ) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        let batch = self.batch;
        let ty = batch.program.vars.get(slot).map(|(_, ty)| ty);
        self.compile(at, |env| {
            let value = compile_scalar(expr(batch), env, ty)?;
            Ok(Bound::Assign { slot, value })
        })
    }

    pub(super) fn bind_set(
        &mut self,
        at: usize,
        set: &syntax::ast::SetVariable,
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
        let whole = match super::flow::binary_of(set.op) {
            None => expr.clone(),
            Some(op) => {
                let left = Expr { kind: ExprKind::Variable(set.name.clone()), span };
                let kind = ExprKind::Binary { op, left: Box::new(left), right: Box::new(expr.clone()) };
                Expr { kind, span }
            }
        };
        self.compile(at, |env| {
            let value = compile_scalar(&whole, env, Some(ty))?;
            Ok(Bound::Assign { slot, value })
        })
    }

    // ---- running ----

    fn assign(&mut self, at: usize) -> Result<(), Failure> {
        self.with_retry(at, |run| {
            let Run { core, vars, bound, .. } = run;
            let Some((_, Bound::Assign { slot, value })) = &bound[at] else {
                return Err(SqlError::internal("an assignment was expected"));
            };
            let result = value.eval(&mut ExecCtx { session: core, vars });
            let result = core.end_expression(result)?;
            vars[*slot] = result;
            Ok(())
        })?;
        if !self.core.notes.is_empty() {
            self.tell_notes(at)?;
        }
        self.core.succeeded(1);
        self.told(StatementKind::Select, Some(1))
    }

    pub(super) fn bind_condition(&mut self, at: usize, condition: usize) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        let batch = self.batch;
        self.compile(at, |env| Ok(Bound::Condition(compile_condition(&batch.program.exprs[condition], env)?)))
    }

    fn test(&mut self, at: usize, condition: usize) -> Result<bool, Failure> {
        self.bind_condition(at, condition)?;
        self.with_retry(at, |run| {
            let Run { core, vars, bound, .. } = run;
            let Some((_, Bound::Condition(condition))) = &bound[at] else {
                return Err(SqlError::internal("a condition was expected"));
            };
            let result = condition.test(&mut ExecCtx { session: core, vars });
            core.end_expression(result)
        })
    }

    pub(super) fn bind_scalars(&mut self, at: usize, exprs: &[&Expr]) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        self.compile(at, |env| {
            let scalars: Result<Vec<_>, _> = exprs.iter().map(|e| compile_scalar(e, env, None)).collect();
            Ok(Bound::Scalars(scalars?.into()))
        })
    }

    /// Compiles expressions of a utility statement (once per binding) and evaluates them.
    pub(super) fn evaluate_at(&mut self, at: usize, exprs: &[&Expr]) -> Result<Vec<Value>, Failure> {
        self.bind_scalars(at, exprs)?;
        self.with_retry(at, |run| {
            let Run { core, vars, bound, .. } = run;
            let Some(scalars) = bound[at].as_ref().and_then(|(_, bound)| bound.scalars()) else {
                return Err(SqlError::internal("arguments were expected"));
            };
            let mut ctx = ExecCtx { session: core, vars };
            let result: Result<Vec<Value>, SqlError> = scalars.iter().map(|s| s.eval(&mut ctx)).collect();
            core.end_expression(result)
        })
    }

    pub(super) fn bind_query(&mut self, at: usize, query: &syntax::ast::Query) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        self.compile(at, |env| {
            let plan = compile_query(query, env)?;
            plan.check_cost(env.options.cost_limit)?;
            Ok(Bound::Query(plan))
        })
    }

    pub(super) fn bind_dml(&mut self, at: usize, stmt: &Stmt) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        self.compile(at, |env| Ok(Bound::Dml(compile_dml(stmt, env)?)))
    }

    fn query(&mut self, at: usize, query: &syntax::ast::Query) -> Result<(), Failure> {
        self.bind_query(at, query)?;
        self.core.notes.clear();
        let (rows, returns) = self.with_retry(at, |run| {
            let Run { core, vars, bound, sink, shown, .. } = run;
            let Some((_, Bound::Query(plan))) = &bound[at] else {
                return Err(SqlError::internal("a query was expected"));
            };
            core.begin_statement(plan.needs().reads_data())?;
            core.tell_transactions(*sink)?;
            let columns = plan.columns();
            let returns = !columns.is_empty();
            let mut out = ToSink::new(*sink, columns, core.options.textsize);
            out.origins =
                plan.browse.as_ref().map(|browse| origins::of_query(browse, columns, core.db().id()));
            let result = run_query(plan, &mut ExecCtx { session: core, vars }, &mut out);
            let result = result.and_then(|rows| out.finish().map(|()| rows));
            *shown = out.begun && returns;
            Ok((core.end_statement(result)?, returns))
        })?;
        self.tell_notes(at)?;
        self.core.succeeded(rows);
        if !returns {
            self.core.tell_transactions(self.sink)?;
            return self.told(StatementKind::Select, Some(rows));
        }
        self.done(StatementKind::Select, Some(rows))
    }

    fn dml(&mut self, at: usize, stmt: &Stmt) -> Result<(), Failure> {
        self.bind_dml(at, stmt)?;
        if self.core.doomed {
            return Err(errors::doomed().into());
        }
        let catching = self.catches();
        self.core.notes.clear();
        let rows = self.with_retry(at, |run| {
            let Run { core, vars, bound, sink, shown, .. } = run;
            let Some((_, Bound::Dml(plan))) = &bound[at] else {
                return Err(SqlError::internal("a data modification was expected"));
            };
            core.begin_statement(true)?;
            core.tell_transactions(*sink)?;
            let columns = plan.columns();
            let mut out = ToSink::new(*sink, columns, core.options.textsize);
            let result = plan.run(&mut ExecCtx { session: core, vars }, &mut out);
            let result = result.and_then(|rows| out.finish().map(|()| rows));
            *shown = out.begun && !columns.is_empty();
            let result = match result {
                Ok(rows) if !core.fired.is_empty() => {
                    // Statements of triggers have notes of their own.
                    let notes = std::mem::take(&mut core.notes);
                    let fired = core.fire_triggers(*sink, catching);
                    core.notes = notes;
                    fired.map(|()| rows)
                }
                result => result,
            };
            core.end_statement(result)
        })?;
        self.tell_notes(at)?;
        self.core.succeeded(rows);
        self.done(kind_of(&stmt.kind), Some(rows))
    }

    /// Tells the client what a statement had to say.
    #[inline]
    pub(super) fn tell_notes(&mut self, at: usize) -> Result<(), Failure> {
        if self.core.notes.is_empty() {
            return Ok(());
        }
        Ok(tell_notes(self.core, self.sink, self.batch, at)?)
    }

    /// Tells the client that a statement ended.
    pub(super) fn done(&mut self, statement: StatementKind, rows: Option<u64>) -> Result<(), Failure> {
        self.core.tell_transactions(self.sink)?;
        let has_rows = self.shown
            || matches!(statement, StatementKind::Select | StatementKind::Dbcc | StatementKind::Other);
        if self.tells_rows_alone() && !has_rows {
            return Ok(());
        }
        Ok(self.sink.done(self.end_of(statement, rows))?)
    }

    /// Tells clients of the wire protocol that a statement ended that nobody else is told of.
    pub(super) fn told(&mut self, statement: StatementKind, rows: Option<u64>) -> Result<(), Failure> {
        if self.tells_rows_alone() || self.core.in_function() {
            return Ok(());
        }
        Ok(self.sink.step(self.end_of(statement, rows))?)
    }

    /// NOCOUNT in a procedure: of what has no rows for the client nothing is said.
    fn tells_rows_alone(&self) -> bool {
        self.core.options.nocount && self.core.nest_level > 0
    }

    /// Tells that a statement ended whose error a CATCH block of this scope takes, and that the block begins. A client that is
    /// gone is noticed at the next statement.
    fn tell_caught(&mut self, at: usize) {
        let kind = self.kind(at);
        let counts = matches!(
            kind,
            StatementKind::Select
                | StatementKind::SelectInto
                | StatementKind::Insert
                | StatementKind::Update
                | StatementKind::Delete
                | StatementKind::Merge
        );
        let rows = counts.then_some(0);
        if self.shown {
            // The result set that had begun is over.
            let _ = self.sink.done(self.end_of(kind, rows));
        } else if kind != StatementKind::Execute {
            let kind = if kind == StatementKind::Quiet { StatementKind::RaisError } else { kind };
            let _ = self.told(kind, rows);
        }
        let _ = self.told(StatementKind::BeginCatch, None);
    }

    fn end_of(&self, statement: StatementKind, rows: Option<u64>) -> StatementEnd {
        let rows = rows.filter(|_| !self.core.options.nocount);
        StatementEnd { statement, rows, error: false, nested: self.core.nest_level > 0 }
    }

    /// What the operation is for clients.
    fn kind(&self, at: usize) -> StatementKind {
        let program = &self.batch.program;
        match program.ops.get(at) {
            Some(Op::Stmt(index)) => kind_of(&program.stmts[*index as usize].kind),
            Some(Op::Branch { .. }) => StatementKind::Condition,
            Some(Op::Init { .. } | Op::Return(Some(_))) => StatementKind::Select,
            _ => StatementKind::Other,
        }
    }

    /// An error or message with its place, unless it has one.
    pub(super) fn placed(&self, at: usize, error: SqlError) -> SqlError {
        self.batch.placed(at, error)
    }

    /// Runs a bound statement; binds and runs it again when the schema has moved under it.
    pub(super) fn with_retry<T>(
        &mut self,
        at: usize,
        mut body: impl FnMut(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, Failure> {
        match body(self) {
            Ok(value) => Ok(value),
            Err(e) if e.number == errors::SCHEMA_CHANGED => {
                self.bound[at] = None;
                self.batch.bound.lock()[at] = None;
                Err(Failure { error: e, effect: Effect::Usual })
            }
            Err(e) => Err(e.into()),
        }
    }

    /// [`Run::step`] again for as long as the schema keeps moving, and where a filegroup was full and is no more.
    fn retry_step(&mut self, at: usize, op: Op) -> Result<Step, Failure> {
        let mut runs = 1;
        for _ in 0..MAX_RECOMPILES {
            self.shown = false;
            match self.step(at, op) {
                Err(f) if f.error.number == errors::SCHEMA_CHANGED => {}
                Err(f) if f.error.number == 1105 && runs < MAX_RUNS && self.may_run_again(op) => {
                    runs += 1;
                    if !self.core.take_room() {
                        return if self.frees_space(op) { self.step_beyond_limits(at, op) } else { Err(f) };
                    }
                }
                other => return other,
            }
        }
        Err(SqlError::new(1205, 13, 1, "The schema of the statement's tables changed again and again.")
            .into())
    }
}

/// SET STATISTICS TIME ON: what a statement took, on the wall and of this thread's processor.
struct StatementTimer {
    began: Instant,
    cpu: Duration,
}

impl StatementTimer {
    fn start() -> StatementTimer {
        StatementTimer { began: Instant::now(), cpu: worker_time() }
    }

    /// 3613 with SQL Server's text.
    fn message(&self) -> SqlError {
        let cpu = worker_time().saturating_sub(self.cpu).as_millis();
        let elapsed = self.began.elapsed().as_millis();
        let text =
            format!("\n SQL Server Execution Times:\n   CPU time = {cpu} ms,  elapsed time = {elapsed} ms.");
        SqlError::new(3613, 10, 1, text)
    }
}

impl Run<'_> {
    /// Whether a statement that has found a filegroup full was taken back as a whole and has shown nothing. EXEC is not:
    /// its own statements run again. BULK INSERT is not: it may have committed batches.
    fn may_run_again(&self, op: Op) -> bool {
        let Op::Stmt(index) = op else { return false };
        let kind = &self.batch.program.stmts[index as usize].kind;
        let whole = matches!(
            kind,
            StmtKind::CreateTable(_)
                | StmtKind::AlterTable(_)
                | StmtKind::CreateIndex(_)
                | StmtKind::AlterIndex(_)
                | StmtKind::DropIndex(_)
                | StmtKind::Truncate(_)
                | StmtKind::Drop(_)
        );
        let bulk = matches!(kind, StmtKind::BulkInsert(_));
        let calls = matches!(kind, StmtKind::Insert(insert) if insert.source.is_execute());
        let possible = !self.core.doomed && !self.core.in_function();
        possible && (whole || (is_dml(kind) && !bulk && !calls && !assigns(kind) && !self.shown))
    }

    /// Whether the statement gives space back.
    fn frees_space(&self, op: Op) -> bool {
        let Op::Stmt(index) = op else { return false };
        matches!(
            self.batch.program.stmts[index as usize].kind,
            StmtKind::Truncate(_) | StmtKind::Drop(_) | StmtKind::DropIndex(_)
        )
    }

    /// A statement that gives space back must not fail because it needs a few pages for that.
    fn step_beyond_limits(&mut self, at: usize, op: Op) -> Result<Step, Failure> {
        let _beyond = pages::BeyondLimits::begin();
        self.step(at, op)
    }
}

enum Step {
    Next,
    To(usize),
    Return(i32),
    Abort,
}

pub(super) enum After {
    Resume(usize),
    End(End),
}

/// Passes a query's rows on; the header goes out with the first row, so that a statement that must be compiled
/// again has not shown anything yet.
pub(super) struct ToSink<'s> {
    sink: &'s mut dyn Sink,
    header: Option<&'s [exec::output::ColumnInfo]>,
    begun: bool,
    /// TEXTSIZE in bytes, when it is less than everything and there are (max) columns.
    limit: Option<usize>,
    cut: Vec<Value>,
    /// In browse mode: where the columns come from.
    origins: Option<exec::output::Origins>,
}

impl<'s> ToSink<'s> {
    /// No header without columns: the statement assigns variables or returns no rows.
    pub(super) fn new(
        sink: &'s mut dyn Sink,
        columns: &'s [exec::output::ColumnInfo],
        textsize: i32,
    ) -> ToSink<'s> {
        let limit = usize::try_from(textsize).ok().filter(|n| *n < i32::MAX as usize);
        let limit = limit.filter(|_| columns.iter().any(|c| is_cut(c.ty)));
        let header = (!columns.is_empty()).then_some(columns);
        ToSink { sink, header, begun: false, limit, cut: Vec::new(), origins: None }
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        if !self.begun {
            self.begun = true;
            if let Some(header) = self.header {
                self.sink.columns(header)?;
            }
            if let Some(origins) = self.origins.take() {
                self.sink.origins(&origins)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<(), SqlError> {
        self.begin()
    }

    /// The row with its (max) values cut to TEXTSIZE.
    fn cut_row(&mut self, row: &[Value], limit: usize) -> Result<(), SqlError> {
        self.cut.clear();
        let columns = self.header.unwrap_or_default();
        self.cut.extend(row.iter().zip(columns).map(|(value, column)| match (value, is_cut(column.ty)) {
            (Value::Str(text), true) => {
                let units = if column.ty.is_unicode() { limit / 2 } else { limit };
                Value::str(types::convert::first_units(text, units, column.ty, column.collation.code_page()))
            }
            (Value::Bytes(bytes), true) => Value::bytes(bytes[..limit.min(bytes.len())].to_vec()),
            _ => value.clone(),
        }));
        self.sink.row(&self.cut)
    }
}

impl RowSink for ToSink<'_> {
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        if !self.begun {
            self.begin()?;
        }
        match self.limit {
            Some(limit) => self.cut_row(row, limit),
            None => self.sink.row(row),
        }
    }
}

/// Whether TEXTSIZE cuts values of the type: a part of a document would be none.
fn is_cut(ty: DataType) -> bool {
    ty.is_lob() && ty != DataType::Xml
}

/// Whether an UPDATE sets variables, which nothing takes back.
fn assigns(kind: &StmtKind) -> bool {
    let StmtKind::Update(update) = kind else { return false };
    update.assignments.iter().any(|a| match a {
        Assignment::Column { variable, .. } => variable.is_some(),
        Assignment::Variable { .. } => true,
        Assignment::Write { .. } => false,
    })
}

/// INSERT, UPDATE, DELETE, MERGE, SELECT INTO, BULK INSERT.
fn is_dml(kind: &StmtKind) -> bool {
    match kind {
        StmtKind::Insert(_)
        | StmtKind::Update(_)
        | StmtKind::Delete(_)
        | StmtKind::Merge(_)
        | StmtKind::BulkInsert(_) => true,
        StmtKind::Select(query) => query.body.first_select().into.is_some(),
        _ => false,
    }
}

impl Run<'_> {
    /// Whether an error of a scope below would find a CATCH here or further up.
    pub(super) fn catches(&self) -> bool {
        self.outer_try || self.batch.program.handler(self.at).is_some()
    }
}

//! The interpreter: runs a compiled batch operation by operation. How statements are bound, run,
//! run again and fail is in the files below. Guarantees: a bound statement costs no lookup by name
//! and no allocation of the interpreter's.

use std::sync::Arc;

use syntax::ast::{Stmt, StmtKind};
use types::convert::{Mode, convert};
use types::{DataType, SqlError, Value};

use super::bindings;
use super::kind::kind_of;
use programs::compiled::{Bindings, BoundOperation, CompiledBatch};
use programs::counts::BatchCounts;
use programs::program::Op;
use session::output::{Sink, StatementKind};
use session::state::SessionCore;

mod again;
mod behind;
mod bind;
mod failed;
mod large_variables;
mod measured;
mod outputs;
mod owed;
mod perform;
mod to_sink;
mod told;

use again::RetryCounts;
use large_variables::LargeVariables;
pub use outputs::Outputs;
pub(super) use perform::{change, query};
pub(super) use to_sink::ToSink;

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEnd {
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
    /// It comes from a scope inside this one for a CATCH of this or a calling scope. What it does
    /// to the transaction was done where it arose, under the options there.
    Passed,
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
    pub(super) batch: &'a Arc<CompiledBatch>,
    pub(super) vars: &'a mut Vec<Value>,
    pub(super) bound: Bindings,
    /// Where this session counts what its statements cost.
    counts: Arc<BatchCounts>,
    /// A binding is for this run alone: the session does not keep them.
    one_run: bool,
    /// The operation that runs.
    pub(super) at: usize,
    /// A CATCH of a calling scope waits for errors of this one.
    pub(super) outer_try: bool,
    /// CATCH blocks of calling scopes.
    base_depth: usize,
    /// Large values of variables, once there is one: what is charged for them, and what is in
    /// tempdb.
    large: Option<Box<LargeVariables>>,
    /// The running statement has begun a result set, or sent rows of OUTPUT.
    header_sent: bool,
    /// It returns rows and has failed before it had shown its columns.
    header_owed: bool,
    /// For a call by RPC, which has no variables: what its OUTPUT parameters become.
    pub(super) outputs: Option<Outputs>,
    /// The value of the function that EXECUTE has called, for its variable.
    pub(super) returned: Option<Box<(Value, DataType)>>,
}

/// Runs a batch to its end. `vars` holds its parameters and gets the rest of its variables, NULL at
/// first.
///
/// # Errors
/// One that no CATCH of this scope took, for the caller's CATCH; only when `outer_try`.
pub fn run_batch(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    batch: &Arc<CompiledBatch>,
    vars: &mut Vec<Value>,
    outer_try: bool,
) -> Result<BatchEnd, Failure> {
    let gives_back = core.objects.cursors.enter();
    let mut run = Run::new(core, sink, batch, vars, outer_try);
    let begun = run.counts.run.begin();
    // A procedure or trigger is published as what runs.
    let around = if run.core.identity.module.is_some() { run.enters_module() } else { None };
    // Procedures, functions and triggers call one another.
    let mut end = stack::with_room(|| run.steps(around.is_some()));
    if let Some(around) = around {
        run.core.shared.activity.leaves(around);
    }
    if run.large.is_some() {
        end = end.and_then(|end| run.settle_variables(end));
    }
    run.counts.run.ended(begun);
    run.core.run.caught.truncate(run.base_depth);
    run.core.objects.cursors.leave(gives_back);
    let Run { core, bound, counts, one_run, .. } = run;
    if one_run {
        (0..bound.len()).for_each(|at| bind::settle(batch, &bound, &counts, at));
    } else {
        bindings::keep(core, batch, (bound, counts));
    }
    end
}

/// Ends a batch whose one statement has failed outside of a run, as a run does; with what
/// [`perform::StatementOutcome`] says of rows that it has shown and of columns that it owes.
///
/// # Errors
/// None: no scope is around it.
#[cold]
pub(super) fn fail_batch(
    core: &mut SessionCore,
    sink: &mut dyn Sink,
    batch: &Arc<CompiledBatch>,
    vars: &mut Vec<Value>,
    error: SqlError,
    (header_sent, header_owed): (bool, bool),
) -> Result<BatchEnd, Failure> {
    let mut run = Run::new(core, sink, batch, vars, false);
    (run.header_sent, run.header_owed) = (header_sent, header_owed);
    let end = match run.failed(0, error.into())? {
        AfterFailure::Resume(_) => BatchEnd::Finished(0),
        AfterFailure::End(end) => end,
    };
    let Run { core, bound, counts, .. } = run;
    bindings::keep(core, batch, (bound, counts));
    Ok(end)
}

impl<'a> Run<'a> {
    pub(super) fn new(
        core: &'a mut SessionCore,
        sink: &'a mut dyn Sink,
        batch: &'a Arc<CompiledBatch>,
        vars: &'a mut Vec<Value>,
        outer_try: bool,
    ) -> Run<'a> {
        if vars.len() != batch.program.vars.len() {
            vars.resize(batch.program.vars.len(), Value::Null);
        }
        let (bound, counts) = bindings::take(core, batch);
        let base_depth = core.run.caught.len();
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
            large: None,
            header_sent: false,
            header_owed: false,
            outputs: None,
            returned: None,
        }
    }

    /// A call that was made from outside of a batch has ended; gives its OUTPUT parameters.
    pub(super) fn end_call(self) -> Option<Outputs> {
        let Run { core, batch, bound, counts, outputs, .. } = self;
        bindings::keep(core, batch, (bound, counts));
        outputs
    }

    /// A procedure or trigger begins, if it is one: gives what ran before it.
    fn enters_module(&self) -> Option<u64> {
        let object_id = self.batch.object_id;
        let module =
            self.core.identity.module.as_ref().filter(|module| module.object_id == object_id);
        let db = module.filter(|_| !self.core.in_function())?.home;
        Some(self.core.shared.activity.enters(db, object_id))
    }

    /// Runs the operations in their order.
    fn steps(&mut self, of_module: bool) -> Result<BatchEnd, Failure> {
        let batch = self.batch;
        let program = &batch.program;
        let large = program.vars.has_large();
        let (mut at, mut tries) = (0, RetryCounts::default());
        while let Some(&op) = program.ops.get(at) {
            if let (Op::Jump(target), true) = (op, self.core.options.runs()) {
                at = self.jump(at, target as usize);
                continue;
            }
            self.at = at;
            if self.core.run.nest_level == 0 {
                self.core.shared.activity.reached(at);
            } else if of_module {
                self.core.shared.activity.reached_in_module(at);
            }
            let stepped = if large { self.placed_step(at, op) } else { self.step(at, op) };
            let stepped = match stepped {
                Err(failure) => match self.again(at, op, failure, &mut tries) {
                    Some(stepped) => stepped,
                    None => continue,
                },
                done => done,
            };
            tries = RetryCounts::default();
            match stepped {
                Ok(NextStep::Next) => at += 1,
                Ok(NextStep::To(target)) => at = target,
                Ok(NextStep::Return(status)) => return Ok(BatchEnd::Finished(status)),
                Ok(NextStep::Abort) => return Ok(BatchEnd::BatchAborted),
                Err(failure) => match self.failed(at, failure)? {
                    AfterFailure::Resume(target) => at = target,
                    AfterFailure::End(end) => return Ok(end),
                },
            }
        }
        Ok(BatchEnd::Finished(0))
    }

    /// A step of a batch that has variables without a bound.
    #[cold]
    fn placed_step(&mut self, at: usize, op: Op) -> Result<NextStep, Failure> {
        self.place_variables(at, op)?;
        self.step(at, op)
    }

    /// A jump out of CATCH blocks leaves their errors behind.
    fn jump(&mut self, from: usize, to: usize) -> usize {
        let depths = &self.batch.program.depths;
        if depths.get(from) != depths.get(to) {
            let depth = depths.get(to).copied().unwrap_or(0) as usize;
            self.core.run.caught.truncate(self.base_depth + depth);
        }
        to
    }

    /// Runs an operation once.
    fn step(&mut self, at: usize, op: Op) -> Result<NextStep, Failure> {
        (self.header_sent, self.header_owed) = (false, false);
        self.core.check_cancel()?;
        if !self.core.options.runs() {
            return self.compile_only(at, op).map(|()| NextStep::Next);
        }
        let measured = self.core.options.measures() && !self.core.in_function();
        let measuring = if measured { Some(self.begin_measuring(op)) } else { None };
        let stepped = match op {
            Op::Stmt(index) => self.statement(at, index as usize),
            Op::Branch { condition, otherwise } => {
                self.branch(at, condition as usize, otherwise as usize)
            }
            Op::Init { slot, expr } => self.init(at, slot as usize, expr as usize),
            Op::Jump(target) => Ok(NextStep::To(target as usize)),
            Op::Goto(target) => self
                .told(StatementKind::Goto, None)
                .map(|()| NextStep::To(self.jump(at, target as usize))),
            Op::BeginTry => self.told(StatementKind::BeginTry, None).map(|()| NextStep::Next),
            Op::EndTry(target) => {
                self.told(StatementKind::EndBlock, None).map(|()| NextStep::To(target as usize))
            }
            Op::EndCatch => {
                self.core.run.caught.pop();
                self.told(StatementKind::EndBlock, None).map(|()| NextStep::Next)
            }
            Op::Return(None) => {
                self.told(StatementKind::Return, None).map(|()| NextStep::Return(0))
            }
            Op::Return(Some(expr)) => self.return_value(at, expr as usize),
        };
        match measuring {
            None => stepped,
            Some(measuring) => self.end_measuring(at, measuring, stepped),
        }
    }

    /// IF and WHILE.
    fn branch(
        &mut self,
        at: usize,
        condition: usize,
        otherwise: usize,
    ) -> Result<NextStep, Failure> {
        let holds = self.test(at, condition)?;
        self.core.succeeded(0);
        self.told(StatementKind::Condition, None)?;
        Ok(if holds { NextStep::Next } else { NextStep::To(otherwise) })
    }

    /// DECLARE @v = x.
    fn init(&mut self, at: usize, slot: usize, expr: usize) -> Result<NextStep, Failure> {
        self.bind_assignment(at, slot, |batch| &batch.program.exprs[expr])?;
        self.assign(at)?;
        Ok(NextStep::Next)
    }

    /// RETURN x.
    fn return_value(&mut self, at: usize, expr: usize) -> Result<NextStep, Failure> {
        let batch = self.batch;
        let values = self.evaluate_at(at, &[&batch.program.exprs[expr]])?;
        let scalars = self.bound[at].as_ref().and_then(|(_, bound)| bound.scalars());
        let of = scalars.and_then(|scalars| scalars.first()).map(|scalar| scalar.ty());
        let status = values.first().zip(of).map_or(Ok(0), status_of)?;
        self.told(StatementKind::Select, Some(1))?;
        Ok(NextStep::Return(status))
    }

    /// Runs a statement.
    fn statement(&mut self, at: usize, index: usize) -> Result<NextStep, Failure> {
        let batch = self.batch;
        let stmt = &batch.program.stmts[index];
        if !self.core.may_all() {
            statements::rights::check(self.core, stmt)?;
        }
        // Queries are these; the rest of what is counted changes rows.
        let query = match &stmt.kind {
            StmtKind::Insert(insert) if insert.source.is_execute() => {
                self.insert_exec(at, insert)?;
                return Ok(NextStep::Next);
            }
            StmtKind::Insert(_)
            | StmtKind::Update(_)
            | StmtKind::Delete(_)
            | StmtKind::Merge(_) => None,
            StmtKind::Select(query) if query.body.first_select().into.is_some() => None,
            StmtKind::Select(query) => Some(query),
            _ => return self.without_rows(at, stmt),
        };
        let begun = self.counts.statements[index].begin();
        let profiled = self.core.options.profiles();
        // A statement of a trigger has counters of its own.
        let around = if profiled { self.core.run.profile.replace(Box::default()) } else { None };
        let done = match query {
            Some(query) => self.bind_query(at, query),
            None => self.bind_dml(at, stmt),
        };
        let done = done.and_then(|()| {
            let catching = self.catches();
            let Run { core, vars, bound, sink, .. } = &mut *self;
            let ran = match &bound[at] {
                Some((_, BoundOperation::Query(plan))) => perform::query(plan, core, *sink, vars),
                Some((_, BoundOperation::Dml(plan))) => {
                    change(plan, core, *sink, vars, None, catching)
                }
                _ => return Err(SqlError::internal("a plan was expected").into()),
            };
            (self.header_sent, self.header_owed) = (ran.header_sent, ran.header_owed);
            let kind = kind_of(&stmt.kind);
            Ok(ran.tell(self.core, self.sink, (&**self.batch, at), kind).map(drop)?)
        });
        if profiled {
            self.end_profile(at, stmt, around, done)?;
        } else {
            done?;
        }
        // Only what has come to its end.
        self.counts.statements[index].end(begun, self.core.run.results.rowcount);
        Ok(NextStep::Next)
    }

    /// A statement that is neither a query nor a change of rows.
    #[inline]
    fn without_rows(&mut self, at: usize, stmt: &Stmt) -> Result<NextStep, Failure> {
        let flow = match &stmt.kind {
            StmtKind::SetVariable(set) if self.sets_cursor(set) => {
                self.set_cursor(at, set, stmt.span)?;
                Flow::Next
            }
            StmtKind::SetVariable(set) => {
                self.bind_set(at, set, stmt.span)?;
                self.assign(at)?;
                Flow::Next
            }
            _ => self.other(at, stmt)?,
        };
        Ok(match flow {
            Flow::Next => NextStep::Next,
            Flow::Abort => NextStep::Abort,
        })
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
}

/// What RETURN gives back: the value as a whole number, 0 for NULL. Errors: those of the
/// conversion.
fn status_of((value, of): (&Value, DataType)) -> Result<i32, SqlError> {
    if let Value::Int(status) = value {
        return Ok(*status);
    }
    let status = convert(value, of, DataType::Int, 0, Mode::Implicit)?;
    Ok(status.as_i64().and_then(|status| i32::try_from(status).ok()).unwrap_or(0))
}

enum NextStep {
    Next,
    To(usize),
    Return(i32),
    Abort,
}

pub(super) enum AfterFailure {
    Resume(usize),
    End(BatchEnd),
}

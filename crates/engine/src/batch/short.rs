//! A prepared batch that is one statement on one row by its key, kept ready to run by the session
//! that prepared it: a cache in front of the interpreter. What the interpreter would look up and
//! ask for such a statement (its bindings, whether they hold, what kind of statement it is, whether
//! it is measured, profiled or only compiled) was found out when it ran that way, and holds as long
//! as `ShortStatement::holds`. Guarantees: from there on the statement is run, ended, told of and
//! counted by the functions that the interpreter calls (`change` and `query` of `run/perform.rs`),
//! and its errors do what they do there; where it is to run again, or anything is not as it was,
//! the interpreter runs it from the beginning, and nothing has happened by then.

use std::sync::Arc;

use types::{SqlError, Value};

use super::bindings;
use super::kind::kind_of;
use super::run::{BatchEnd, Failure, change, fail_batch, query};
use catalog::errors;
use dml::{DmlPlan, ExpectedRow};
use plan::QueryPlan;
use programs::compiled::{BoundOperation, CompiledBatch, Stamp};
use programs::counts::BatchCounts;
use programs::program::Op;
use session::output::{Sink, StatementKind};
use session::state::SessionCore;

/// A statement that may run this way.
enum ShortPlan {
    Dml(Arc<DmlPlan>),
    Query(Arc<QueryPlan>),
}

/// The one statement of a batch.
pub(crate) struct ShortStatement {
    /// The options under which this was found, by their number.
    options: u64,
    stamp: Stamp,
    plan: ShortPlan,
    kind: StatementKind,
    counts: Arc<BatchCounts>,
}

impl ShortStatement {
    /// What a batch is that has run just now; nothing where it is more than one such statement.
    pub(crate) fn of(core: &mut SessionCore, batch: &Arc<CompiledBatch>) -> Option<ShortStatement> {
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
            BoundOperation::Dml(plan) if plan.is_point() => ShortPlan::Dml(plan),
            BoundOperation::Query(plan) if plan.point => ShortPlan::Query(plan),
            _ => return None,
        };
        Some(ShortStatement {
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
        let needs = match &self.plan {
            ShortPlan::Dml(plan) => plan.needs(),
            ShortPlan::Query(plan) => plan.needs(),
        };
        // The options are the same, so those that it was compiled with are.
        self.options == core.options.changes()
            && self.stamp.is_of_schema(core)
            && !core.cancelled()
            && needs.is_current()
    }

    /// Whether the interpreter is to run the statement after this error, as it runs those again
    /// that it has begun itself: the schema has moved, or a filegroup was full and has room now.
    #[cold]
    fn runs_again(&self, core: &mut SessionCore, error: &SqlError) -> bool {
        let changes = matches!(self.plan, ShortPlan::Dml(_));
        error.number == errors::SCHEMA_CHANGED
            || changes
                && error.number == 1105
                && !core.transactions.client.doomed
                && core.take_space_freed()
    }

    /// Has the row that the statement will change brought near. Whether the statement will run this
    /// way is not asked, as nothing depends on the answer.
    #[inline]
    pub(crate) fn look_ahead(&self, core: &mut SessionCore, vars: &[Value]) -> Option<ExpectedRow> {
        match &self.plan {
            ShortPlan::Dml(plan) => plan.look_ahead(&mut core.memory, vars),
            ShortPlan::Query(_) => None,
        }
    }

    /// Runs the statement; nothing where the interpreter is to run it. Its errors go to the sink.
    /// `ahead` is what [`ShortStatement::look_ahead`] has found for the same variables.
    #[inline]
    pub(crate) fn run(
        &self,
        core: &mut SessionCore,
        sink: &mut dyn Sink,
        batch: &Arc<CompiledBatch>,
        vars: &mut Vec<Value>,
        ahead: Option<ExpectedRow>,
    ) -> Option<Result<BatchEnd, Failure>> {
        let counts = &*self.counts;
        let (run, statement) = (counts.run.begin(), counts.statements[0].begin());
        // No CATCH is around it.
        let ran = match &self.plan {
            ShortPlan::Dml(plan) => change(plan, core, sink, vars, ahead, false),
            ShortPlan::Query(plan) => query(plan, core, sink, vars),
        };
        let shown = (ran.header_sent, ran.header_owed);
        let end = match ran.tell(core, sink, (&**batch, 0), self.kind) {
            Ok(rows) => {
                counts.statements[0].end(statement, rows);
                Ok(BatchEnd::Finished(0))
            }
            Err(error) if self.runs_again(core, &error) => return None,
            Err(error) => fail_batch(core, sink, batch, vars, error, shown),
        };
        counts.run.ended(run);
        Some(end)
    }
}

//! The compiled batch of all texts of one shape, and whether it may run for them. Guarantee: it
//! runs only where its one statement is bound, under the schema and options of this moment, to a
//! plan that no other value would make better; a refusal is thought over from time to time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use syntax::ast::{Stmt, StmtKind};
use types::SqlError;

use super::compiled::{BoundOperation, CompiledBatch, Stamp};
use super::program::Op;
use dml::compile_dml;
use plan::compile_query;
use session::state::SessionCore;

/// The batch of all texts of one shape.
pub struct Shape {
    pub batch: Arc<CompiledBatch>,
    verdict: Mutex<Option<Verdict>>,
}

/// Whether a shape may run.
#[derive(Clone, Copy)]
struct Verdict {
    /// For what schema and options that was found.
    of: Stamp,
    may_run: bool,
    /// How often it might not.
    refused: u32,
}

impl Verdict {
    /// A small table is scanned and may have grown: a refusal is thought over after 64 texts, 128,
    /// 256 and so on.
    fn ask(&mut self, now: Stamp) -> Option<bool> {
        if self.of != now {
            self.refused = 0;
            return None;
        }
        self.refused = self.refused.saturating_add(u32::from(!self.may_run));
        let again = self.refused >= 64 && self.refused.is_power_of_two();
        (self.may_run || !again).then_some(self.may_run)
    }
}

impl Shape {
    /// A shape of which nothing is known yet.
    pub(crate) fn new(batch: Arc<CompiledBatch>) -> Shape {
        Shape { batch, verdict: Mutex::new(None) }
    }

    pub(crate) fn may_run(&self, core: &SessionCore) -> bool {
        let now = Stamp::now(core);
        let refused = match &mut *self.verdict.lock() {
            Some(verdict) => match verdict.ask(now) {
                Some(may_run) => return may_run,
                None => verdict.refused,
            },
            None => 0,
        };
        // A panic of the binder is reported by the text itself, which is bound again where panics
        // are caught.
        let may_run = catch_unwind(AssertUnwindSafe(|| self.bind(core))).unwrap_or(false);
        *self.verdict.lock() = Some(Verdict { of: now, may_run, refused });
        may_run
    }

    /// Binds its statement; whether that is one that may run.
    fn bind(&self, core: &SessionCore) -> bool {
        let program = &self.batch.program;
        let ([Op::Stmt(0)], [stmt]) = (program.ops.as_slice(), program.stmts.as_slice()) else {
            return false;
        };
        let bound = BoundOperation::make(core, &program.vars, &[], |env| bind_statement(stmt, env));
        let Ok((stamp, bound)) = bound else { return false };
        let may_run = stamp.temps.is_none() && bound.reads_points();
        if may_run && let Some(first) = self.batch.bound.lock().first_mut() {
            *first = Some((stamp, bound));
        }
        may_run
    }
}

fn bind_statement(
    stmt: &Stmt,
    env: &bind::env::CompileEnv<'_>,
) -> Result<BoundOperation, SqlError> {
    match &stmt.kind {
        StmtKind::Select(query) if query.body.first_select().into.is_none() => {
            compile_query(query, env).map(BoundOperation::Query)
        }
        StmtKind::Insert(_) | StmtKind::Update(_) | StmtKind::Delete(_) => {
            compile_dml(stmt, env).map(BoundOperation::Dml)
        }
        _ => Err(SqlError::internal("a shape is of one of four statements")),
    }
}

//! Statements that run again: the schema has moved under them, or a filegroup was full and has room
//! now. Guarantees: only what was taken back as a whole and has shown nothing runs again, and not
//! without end.

use syntax::ast::{Assignment, StmtKind};
use types::{SqlError, msg};

use super::{Failure, NextStep, Run};
use crate::batch::kind::is_dml;
use catalog::errors;
use programs::program::Op;
use session::state::space_retry::MAX_RUNS;

/// How often a statement is compiled again because the schema moved under it, before that is an
/// error.
const MAX_RECOMPILES: u32 = 100;

/// How often an operation has failed and run again.
#[derive(Default)]
pub(super) struct RetryCounts {
    all: u32,
    /// Of them those for which there was no room.
    without_room: u32,
}

impl Run<'_> {
    /// What comes of a step that has failed; nothing where it runs again: the schema has moved
    /// under it (what has moved is bound again), or a filegroup was full and is no more.
    #[cold]
    pub(super) fn again(
        &mut self,
        at: usize,
        op: Op,
        failure: Failure,
        tries: &mut RetryCounts,
    ) -> Option<Result<NextStep, Failure>> {
        match failure.error.number {
            errors::SCHEMA_CHANGED => self.forget_binding(at),
            1105 if tries.without_room + 1 < MAX_RUNS && self.may_run_again(op) => {
                tries.without_room += 1;
                if !self.core.take_space_freed() {
                    let frees = self.frees_space(op);
                    return Some(if frees {
                        self.step_beyond_limits(at, op)
                    } else {
                        Err(failure)
                    });
                }
            }
            _ => return Some(Err(failure)),
        }
        tries.all += 1;
        let kept_changing = || Err(SqlError::of(msg::SCHEMA_KEPT_CHANGING, []).into());
        (tries.all >= MAX_RECOMPILES).then(kept_changing)
    }

    /// What was bound for an operation is out of date, for the other sessions, too.
    #[cold]
    fn forget_binding(&mut self, at: usize) {
        self.bound[at] = None;
        self.batch.bound.lock()[at] = None;
    }

    /// Whether a statement that has found a filegroup full was taken back as a whole and has shown
    /// nothing. EXEC is not: its own statements run again. BULK INSERT is not: it may have
    /// committed batches.
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
        let possible = !self.core.transactions.client.doomed && !self.core.in_function();
        possible
            && (whole || (is_dml(kind) && !bulk && !calls && !assigns(kind) && !self.header_sent))
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
    fn step_beyond_limits(&mut self, at: usize, op: Op) -> Result<NextStep, Failure> {
        let _beyond = pages::BeyondLimits::begin();
        self.step(at, op)
    }
}

/// Whether an UPDATE sets variables, which nothing takes back.
pub(super) fn assigns(kind: &StmtKind) -> bool {
    let StmtKind::Update(update) = kind else { return false };
    update.assignments.iter().any(|a| match a {
        Assignment::Column { variable, .. } => variable.is_some(),
        Assignment::Variable { .. } => true,
        Assignment::Write { .. } => false,
    })
}

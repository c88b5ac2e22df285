//! What an error does: ends its statement, jumps to CATCH, ends the scope or the batch, dooms or
//! rolls back the transaction. Guarantees: an error that no CATCH takes is reported once, to the
//! client; what is kept of it (@@ERROR, the CATCH's error) is set here.

use std::sync::atomic::Ordering;

use types::{SqlError, msg};

use super::told::end_of;
use super::{AfterFailure, BatchEnd, Effect, Failure, Run};
use crate::batch::kind::is_dml;
use catalog::errors;
use programs::program::Op;
use session::output::{StatementEnd, StatementKind};
use session::state::inner::was_reported;

impl Run<'_> {
    /// Decides what an error does.
    ///
    /// # Errors
    /// The error itself, for a CATCH of a calling scope.
    pub(in crate::batch) fn failed(
        &mut self,
        at: usize,
        failure: Failure,
    ) -> Result<AfterFailure, Failure> {
        if was_reported(&failure.error) {
            return Ok(AfterFailure::End(BatchEnd::BatchAborted));
        }
        let Failure { error, effect } = self.with_columns(at, failure);
        let program = &self.batch.program;
        let mut error = self.placed(at, error);
        if effect == Effect::Compile {
            error = self.with_those_behind(at, error);
        }
        self.core.run.results.error_number = error.number;
        self.core.run.results.rowcount = 0;
        // What a failed statement had to say is no later one's.
        self.core.run.notes.clear();
        let handler = if effect == Effect::Compile { None } else { program.handler(at) };
        let fatal = error.severity >= 20 || self.core.shared.cancel.load(Ordering::Relaxed);
        let aborts = fatal || self.aborts(&error, effect);
        if let Some(region) = handler.filter(|_| !fatal) {
            if aborts && self.core.trancount() > 0 {
                self.core.transactions.client.doomed = true;
            }
            self.core.run.caught.truncate(self.base_depth + region.depth as usize);
            self.core.run.caught.push(error);
            let catch = region.catch as usize;
            self.tell_caught(at);
            return Ok(AfterFailure::Resume(catch));
        }
        if self.outer_try && (!fatal || self.core.in_function()) {
            // The statement that calls a function is taken back when a client cancels it, no more.
            if aborts && self.core.trancount() > 0 && !self.core.keeps_transaction() {
                self.core.transactions.client.doomed = true;
            }
            if self.header_sent {
                // The CATCH that takes it knows nothing of the result set that had begun.
                let _ = self.sink.done(end_of(self.core, self.kind(at), Some(0)));
            }
            return Err(Failure { error, effect: Effect::Passed });
        }
        self.report(at, &error, aborts || effect == Effect::Compile);
        if aborts && (error.severity >= 20 || !self.core.keeps_transaction()) {
            if self.core.trancount() > 0 {
                self.core.objects.cursors.request_failed();
            }
            self.core.rollback_all();
        }
        // As for the report.
        let _ = self.core.tell_transactions(self.sink);
        // A call is no statement.
        if self.outputs.is_none() {
            let end = StatementEnd { error: true, ..end_of(self.core, self.kind(at), None) };
            let _ = self.sink.done(end);
        }
        if aborts {
            return Ok(AfterFailure::End(BatchEnd::BatchAborted));
        }
        Ok(match effect {
            Effect::Throw => AfterFailure::End(BatchEnd::BatchAborted),
            Effect::Compile => AfterFailure::End(BatchEnd::ScopeAborted),
            _ => AfterFailure::Resume(match self.batch.program.ops.get(at) {
                // What may not be asked is not so.
                Some(Op::Branch { otherwise, .. }) if error.severity == 14 => *otherwise as usize,
                _ => at + 1,
            }),
        })
    }

    /// Whether an error that is not fatal ends more than its statement: the batch, and where there
    /// is a CATCH the transaction is doomed.
    fn aborts(&self, error: &SqlError, effect: Effect) -> bool {
        let options = &self.core.options;
        match effect {
            Effect::Raise | Effect::Passed => false,
            Effect::Throw | Effect::Compile => options.xact_abort,
            Effect::Usual => {
                let arithmetic = options.arithabort
                    && !options.ansi_warnings
                    && expr::eval::is_arithmetic(error);
                options.xact_abort || arithmetic || errors::ends_batch(error)
            }
        }
    }

    /// Sends an uncaught error to the client, and for DML that it stopped the note that SQL Server
    /// adds unless `silent`.
    fn report(&mut self, at: usize, error: &SqlError, silent: bool) {
        // A client that went away is noticed at the next result; an error report has nobody else to
        // go to.
        let _ = self.sink.error(error);
        let program = &self.batch.program;
        let modifies = match program.ops.get(at) {
            Some(Op::Stmt(index)) => is_dml(&program.stmts[*index as usize].kind),
            _ => false,
        };
        if modifies && !silent && (11..17).contains(&error.severity) && error.number < 50_000 {
            let note = SqlError::of(msg::STATEMENT_TERMINATED, []);
            let note = note.in_procedure(error.procedure()).at_line(error.line);
            let _ = self.sink.message(&note);
        }
    }

    /// Tells that a statement ended whose error a CATCH block of this scope takes, and that the
    /// block begins. A client that is gone is noticed at the next statement.
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
        if self.header_sent {
            // The result set that had begun is over.
            let _ = self.sink.done(end_of(self.core, kind, rows));
        } else if kind != StatementKind::Execute {
            let kind = if kind == StatementKind::Quiet { StatementKind::RaisError } else { kind };
            let _ = self.told(kind, rows);
        }
        let _ = self.told(StatementKind::BeginCatch, None);
    }

    /// Whether an error of a scope below would find a CATCH here or further up.
    pub(in crate::batch) fn catches(&self) -> bool {
        self.outer_try || self.batch.program.handler(self.at).is_some()
    }
}

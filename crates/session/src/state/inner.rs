//! Statements inside a statement: the body of a trigger runs within the statement that fired it,
//! the body of a function in the middle of the statement that calls it. Guarantees: statements
//! inside commit nothing; what they do is taken back with the statement around them; a transaction
//! that ends inside is error 3609 for the statement around. Those of a function are no statements
//! of the transaction at all: they read in the snapshot and keep to the locks of the statement
//! around, and what fails in them fails it.

use smallvec::SmallVec;
use types::{SqlError, Value, msg};

use super::client_transaction::ClientTransaction;
use super::core::SessionCore;
use crate::output::Sink;
use bind::function::CalledFunction;
use catalog::errors;
use expr::Routine;
use txn::Savepoint;

/// What of the statement around is kept while statements run inside it.
pub struct InnerScope {
    marks: SmallVec<[(i32, Savepoint); 2]>,
    ddl_mark: usize,
    counts: (usize, usize),
    trancount: u32,
}

impl SessionCore {
    /// Calls a user's function in the middle of the running statement.
    ///
    /// # Errors
    /// Those of the function.
    pub fn call_function(
        &mut self,
        routine: &dyn Routine,
        args: Vec<Value>,
        rows: &mut dyn Sink,
    ) -> Result<Value, SqlError> {
        let function = routine.as_any().downcast_ref::<CalledFunction>();
        let Some(function) = function else {
            return Err(SqlError::internal("a function of another kind"));
        };
        let above = self.host().above();
        self.transactions.in_function += 1;
        let result = above.call_function(self, function, args, rows);
        self.transactions.in_function -= 1;
        result
    }

    /// Whether the statements that run are those of a function.
    #[inline]
    pub fn in_function(&self) -> bool {
        self.transactions.in_function > 0
    }

    /// Statements inside the running one begin.
    pub fn enter_inner(&mut self) -> InnerScope {
        let scope = InnerScope {
            marks: self.transactions.open.iter().map(|open| (open.db.id(), open.mark)).collect(),
            ddl_mark: self.transactions.ddl_mark,
            counts: self.transactions.counts.enter(),
            trancount: self.trancount(),
        };
        if self.trancount() == 0 {
            self.set_trancount(1);
        }
        scope
    }

    /// They have ended; `failed`: with an error, and the statement around them is about to be taken
    /// back.
    ///
    /// Errors: 3609 the transaction has ended inside.
    pub fn leave_inner(&mut self, scope: InnerScope, failed: bool) -> Result<(), SqlError> {
        self.transactions.counts.leave(scope.counts);
        let ended = self.trancount() < scope.trancount.max(1);
        if !ended {
            for open in &mut self.transactions.open {
                let mark =
                    scope.marks.iter().find(|(db, _)| *db == open.db.id()).map(|(_, mark)| *mark);
                // A database that was first used inside goes back to its beginning.
                open.mark = mark.unwrap_or(open.start);
            }
            self.transactions.ddl_mark = scope.ddl_mark;
        }
        if scope.trancount == 0 {
            let left = self.trancount().saturating_sub(1);
            self.set_trancount(if failed { 0 } else { left });
            if failed {
                self.transactions.client.doomed = false;
            }
        }
        if ended && !failed { Err(transaction_ended()) } else { Ok(()) }
    }

    /// Runs the triggers that the running statement has called for, at its end.
    ///
    /// # Errors
    /// Those of the triggers, 3609.
    pub fn fire_triggers(&mut self, sink: &mut dyn Sink, catching: bool) -> Result<(), SqlError> {
        if self.run.triggers.fired.is_empty() {
            return Ok(());
        }
        let fired = std::mem::take(&mut self.run.triggers.fired);
        let above = self.host().above();
        let scope = self.enter_inner();
        let result = above.run_triggers(self, sink, fired, catching);
        let left = self.leave_inner(scope, result.is_err());
        result.and(left)
    }
}

fn transaction_ended() -> SqlError {
    SqlError::of(msg::ENDED_IN_TRIGGER, [])
}

/// Whether the transaction is still there after a trigger.
pub fn check_after_trigger(transaction: &ClientTransaction) -> Result<(), SqlError> {
    if transaction.trancount() == 0 {
        return Err(transaction_ended());
    }
    if transaction.xact_state() == -1 {
        return Err(SqlError::of(msg::RAISED_IN_TRIGGER, []));
    }
    Ok(())
}

/// Whether an error was told to the client already.
pub fn was_reported(error: &SqlError) -> bool {
    error.number == errors::BATCH_ENDED
}
